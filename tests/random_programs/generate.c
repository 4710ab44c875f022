/* SPDX-License-Identifier: Apache-2.0
 *
 * generate: a program and its input out of a seed. The sizes are bounded: at most MAX_STATEMENTS statements, loops of
 * at most four rounds, four levels of nesting.
 */
#include "program.h"

#include <string.h>

#define MAX_DEPTH 4

struct generator {
	struct program *program;
	uint64_t state;
	bool in_function, in_loop;
};

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint32_t below(struct generator *g, uint32_t n)
{
	return (uint32_t)(next(&g->state) >> 32) % n;
}

static bool one_in(struct generator *g, uint32_t n)
{
	return below(g, n) == 0;
}

/* Values at which arithmetic changes its ways. */
static uint64_t edge_integer(uint64_t random)
{
	static const uint64_t edges[] = {0,
					 1,
					 2,
					 31,
					 32,
					 33,
					 63,
					 64,
					 0x7f,
					 0x80,
					 0xff,
					 0x7fff,
					 0x8000,
					 0xffff,
					 0x10000,
					 0x7fffffff,
					 0x80000000,
					 0xffffffff,
					 0x100000000,
					 0x7fffffffffffffff,
					 0x8000000000000000,
					 0xffffffffffffffff,
					 0xfffffffffffffffe};
	uint64_t pick = edges[(random >> 8) % (sizeof(edges) / sizeof(*edges))];

	return random & 1 ? pick : random & 2 ? -pick : random >> (random >> 2 & 63);
}

static uint64_t edge_f32(uint64_t random)
{
	static const uint32_t edges[] = {
		0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fffffff,
		1,          0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x4b800000, 0x4f000000,
		0xcf000000, 0x4f800000, 0x5f000000, 0x3f000000, 0x33800000, 0x477fe000, 0x38800000};

	switch (random & 3) {
	case 0: return edges[(random >> 8) % (sizeof(edges) / sizeof(*edges))];
	case 1: return (uint32_t)(random >> 32); /* any bits */
	default:                                 /* magnitudes of 2^-16 to 2^15 */
		return (random >> 32 & 0x807fffff) | (uint32_t)(111 + (random >> 8 & 31)) << 23;
	}
}

static uint64_t edge_f64(uint64_t random)
{
	static const uint64_t edges[] = {0,
					 0x8000000000000000,
					 0x3ff0000000000000,
					 0x7ff0000000000000,
					 0xfff0000000000000,
					 0x7fffffffffffffff,
					 1,
					 0x000fffffffffffff,
					 0x0010000000000000,
					 0x7fefffffffffffff,
					 0x41dfffffffc00000,
					 0x41f0000000000000,
					 0x43e0000000000000,
					 0x43f0000000000000,
					 0x47efffffe0000000,
					 0x36a0000000000000,
					 0x3ca0000000000000};

	switch (random & 3) {
	case 0: return edges[(random >> 8) % (sizeof(edges) / sizeof(*edges))];
	case 1: return random * 0x9e3779b97f4a7c15;
	default: return (random & 0x800fffffffffffff) | (uint64_t)(1007 + (random >> 2 & 31)) << 52;
	}
}

static uint64_t edge_f16(uint64_t random)
{
	static const uint16_t edges[] = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00,
					 0x7fff, 1,      0x3ff,  0x400,  0x7bff, 0x6400};

	return random & 3 ? random >> 16 & 0xffff : edges[(random >> 8) % (sizeof(edges) / sizeof(*edges))];
}

static uint64_t edge_value(enum reg_class class, uint64_t random)
{
	switch (class) {
	case PRED: return random & 1;
	case H16: return edge_f16(random);
	case R16: return edge_integer(random) & 0xffff;
	case R32: return edge_integer(random) & 0xffffffff;
	case F32: return edge_f32(random);
	case F64: return edge_f64(random);
	default: return edge_integer(random);
	}
}

static struct operand random_register(struct generator *g)
{
	return (struct operand){.reg = (uint8_t)below(g, REGISTERS)};
}

/* Constants only where every assembler takes them: not first, not in braces, no predicates and halves. */
static struct operand random_operand(struct generator *g, const struct operation *op, unsigned i)
{
	enum reg_class class = op->args[i];
	uint64_t bits;

	if (i == 0 || class == PRED || class == H16 || strchr(op->ptx, '{') || !one_in(g, 4))
		return random_register(g);
	bits = edge_value(class, next(&g->state));
	/* Position and length of bfe and bfi: larger constants are refused. */
	if (!strncmp(op->ptx, "bf", 2) && i + 2 >= op->nargs)
		bits &= 255;
	return (struct operand){.constant = true, .bits = bits};
}

static struct statement *add_statement(struct generator *g, enum statement_kind kind)
{
	struct program *p = g->program;
	struct statement *s = &p->statements[p->nstatements];

	*s = (struct statement){.kind = kind, .id = p->nstatements++, .next = NO_STATEMENT};
	for (unsigned i = 0; i < MAX_BRANCHES; i++)
		s->branch[i] = NO_STATEMENT;
	return s;
}

static void make_operation(struct generator *g, struct statement *s)
{
	const struct operation *op = &operations[below(g, noperations)];

	s->op = op;
	s->dst = (uint8_t)below(g, REGISTERS);
	s->k = op->kmax ? below(g, op->kmax + 1) : 0;
	for (unsigned i = 0; i < op->nargs; i++)
		s->args[i] = random_operand(g, op, i);
	s->guarded = one_in(g, 8);
	s->negated = one_in(g, 2);
	s->guard = (uint8_t)below(g, REGISTERS);
}

static uint32_t make_sequence(struct generator *g, unsigned length, unsigned depth);

/* How much room a nested statement may take; 0 when it is too deep or the program is full. */
static unsigned room_for_nesting(const struct generator *g, unsigned depth)
{
	return depth < MAX_DEPTH && g->program->nstatements + 64 < MAX_STATEMENTS ? 5 - depth : 0;
}

static void make_nested(struct generator *g, struct statement *s, unsigned branches, bool loop,
			unsigned depth)
{
	bool outer = g->in_loop;

	s->args[0] = random_register(g);
	s->negated = one_in(g, 2);
	s->k = below(g, 4);
	s->mode = (uint8_t)below(g, 2);
	g->in_loop = outer || loop;
	for (unsigned i = 0; i < branches; i++)
		s->branch[i] = make_sequence(g, 1 + below(g, 5 - depth), depth + 1);
	g->in_loop = outer;
}

static void make_call(struct generator *g, struct statement *s)
{
	s->callee = (uint8_t)below(g, g->program->nfunctions);
	s->mode = (uint8_t)below(g, 2);
	s->dst = (uint8_t)below(g, REGISTERS);
	for (unsigned i = 0; i < 3; i++)
		s->args[i] = random_register(g);
}

static struct statement *make_statement(struct generator *g, unsigned depth)
{
	static const enum statement_kind nested[] = {IF, IF, LOOP, SWITCH, TWO_ENTRY};
	struct statement *s;
	uint32_t pick = below(g, 16);

	if (pick < 3 && room_for_nesting(g, depth)) {
		s = add_statement(g, nested[below(g, 5)]);
		make_nested(g, s, s->kind == SWITCH ? 4 : s->kind == LOOP ? 1 : 2, s->kind == LOOP, depth);
	} else if (pick == 3 && !g->in_function && g->program->nfunctions) {
		s = add_statement(g, CALL);
		make_call(g, s);
	} else if (pick == 4 && g->in_loop) {
		s = add_statement(g, BREAK);
		s->args[0] = random_register(g);
		s->negated = one_in(g, 2);
	} else {
		s = add_statement(g, OPERATION);
		make_operation(g, s);
	}
	return s;
}

/* Something that all threads do together. */
static struct statement *make_together(struct generator *g)
{
	struct statement *s = add_statement(g, SHUFFLE + below(g, SHARED_ATOMIC - SHUFFLE + 1));

	s->dst = (uint8_t)below(g, REGISTERS);
	s->mode = (uint8_t)below(g, 8);
	s->k = below(g, 1u << 13);
	for (unsigned i = 0; i < MAX_ARGS; i++)
		s->args[i] = random_register(g);
	return s;
}

static uint32_t make_sequence(struct generator *g, unsigned length, unsigned depth)
{
	uint32_t first = NO_STATEMENT;
	struct statement *last = NULL;

	for (unsigned i = 0; i < length && g->program->nstatements + 8 < MAX_STATEMENTS; i++) {
		bool together = depth == 0 && !g->in_function && one_in(g, 8);
		struct statement *s = together ? make_together(g) : make_statement(g, depth);

		if (last)
			last->next = s->id;
		else
			first = s->id;
		last = s;
	}
	return first;
}

void program_generate(struct program *p, uint64_t seed)
{
	struct generator g = {.program = p, .state = seed};

	memset(p, 0, sizeof(*p));
	p->seed = seed;
	for (unsigned i = 0; i < 16; i++)
		p->table[i] = (uint32_t)edge_integer(next(&g.state));
	g.in_function = true;
	p->nfunctions = below(&g, MAX_FUNCTIONS + 1);
	for (unsigned i = 0; i < p->nfunctions; i++)
		p->functions[i] = make_sequence(&g, 3 + below(&g, 8), 1);
	g.in_function = false;
	p->body = make_sequence(&g, 10 + below(&g, 25), 0);
}

void program_input(const struct program *p, uint64_t *cells)
{
	uint64_t state = ~p->seed;

	for (unsigned i = 0; i < BLOCKS * THREADS * CELLS; i++)
		cells[i] = edge_value(i % CELLS / REGISTERS, next(&state));
}

void program_expand(FILE *out, const char *text, const struct operation *op, const struct statement *s,
		    write_operand *write)
{
	for (; *text; text++) {
		if (text[0] == '%' && text[1] == 'd')
			write(out, op->dst, (struct operand){.reg = s->dst});
		else if (text[0] == '%' && text[1] == 'k')
			fprintf(out, "%u", s->k);
		else if (text[0] == '%' && text[1] >= '0' && text[1] < '0' + MAX_ARGS)
			write(out, op->args[text[1] - '0'], s->args[text[1] - '0']);
		else {
			fputc(*text, out);
			continue;
		}
		text++;
	}
}
