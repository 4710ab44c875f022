/* SPDX-License-Identifier: Apache-2.0
 *
 * emit_c: all threads of a block, one after the other, from one statement that they do together to the next.
 */
#include "program.h"

static const char *const names[NCLASSES] = {
	[PRED] = "s->p", [H16] = "s->h", [R16] = "s->rs", [R32] = "s->r",
	[R64] = "s->rd", [F32] = "s->f", [F64] = "s->fd",
};

struct emitter {
	const struct program *program;
	FILE *out;
	unsigned number;
	uint32_t loop;
};

static void write_operand_c(FILE *out, enum reg_class class, struct operand operand)
{
	if (!operand.constant)
		fprintf(out, "%s[%u]", names[class], operand.reg);
	else if (class == F32)
		fprintf(out, "bits_f32(0x%xu)", (uint32_t)operand.bits);
	else if (class == F64)
		fprintf(out, "bits_f64(0x%llxull)", (unsigned long long)operand.bits);
	else if (class == R64)
		fprintf(out, "0x%llxull", (unsigned long long)operand.bits);
	else
		fprintf(out, "0x%xu", (uint32_t)operand.bits);
}

static void emit_operation(struct emitter *e, const struct statement *s)
{
	bool expression = s->op->c[0] != '{';

	if (s->guarded)
		fprintf(e->out, "if (%ss->p[%u]) ", s->negated ? "!" : "", s->guard);
	if (expression)
		fprintf(e->out, "%s[%u] = ", names[s->op->dst], s->dst);
	program_expand(e->out, s->op->c, s->op, s, write_operand_c);
	fprintf(e->out, expression ? ";\n" : "\n");
}

static void emit_sequence(struct emitter *e, uint32_t first);

static void emit_loop_start(struct emitter *e, const struct statement *s)
{
	fprintf(e->out, "{ uint32_t count = 0, limit = ");
	if (s->mode)
		fprintf(e->out, "s->r[%u] & 3;\n", s->args[0].reg);
	else
		fprintf(e->out, "%u;\n", s->k);
}

static void emit_loop(struct emitter *e, const struct statement *s)
{
	uint32_t outer = e->loop;

	emit_loop_start(e, s);
	fprintf(e->out, "do {\n");
	e->loop = s->id;
	emit_sequence(e, s->branch[0]);
	e->loop = outer;
	fprintf(e->out, "} while (count++ < limit); }\nend_%u: ;\n", s->id);
}

static void emit_two_entry(struct emitter *e, const struct statement *s)
{
	emit_loop_start(e, s);
	fprintf(e->out, "if (%ss->p[%u]) goto middle_%u;\ntop_%u: ;\n", s->negated ? "!" : "", s->args[0].reg,
		s->id, s->id);
	emit_sequence(e, s->branch[0]);
	fprintf(e->out, "middle_%u: ;\n", s->id);
	emit_sequence(e, s->branch[1]);
	fprintf(e->out, "if (count++ < limit) goto top_%u; }\n", s->id);
}

static void emit_switch(struct emitter *e, const struct statement *s)
{
	fprintf(e->out, "switch (s->r[%u] & 3) {\n", s->args[0].reg);
	for (unsigned i = 0; i < 4; i++) {
		fprintf(e->out, "case %u: ;\n", i);
		emit_sequence(e, s->branch[i]);
		fprintf(e->out, "break;\n");
	}
	fprintf(e->out, "}\n");
}

static void emit_if(struct emitter *e, const struct statement *s)
{
	fprintf(e->out, "if (%ss->p[%u]) {\n", s->negated ? "!" : "", s->args[0].reg);
	emit_sequence(e, s->branch[0]);
	fprintf(e->out, "} else {\n");
	emit_sequence(e, s->branch[1]);
	fprintf(e->out, "}\n");
}

static void emit_call(struct emitter *e, const struct statement *s)
{
	unsigned other = (s->callee + 1) % e->program->nfunctions;

	fprintf(e->out, "s->r[%u] = ", s->dst);
	if (s->mode)
		fprintf(e->out, "(s->p[%u] ? function_%u_%u : function_%u_%u)", s->args[0].reg, e->number,
			s->callee, e->number, other);
	else
		fprintf(e->out, "function_%u_%u", e->number, s->callee);
	fprintf(e->out, "(s->r[%u], s->rd[%u], s->f[%u], table);\n", s->args[0].reg, s->args[1].reg,
		s->args[2].reg);
}

static void emit_alone(struct emitter *e, const struct statement *s)
{
	switch (s->kind) {
	case IF: emit_if(e, s); break;
	case LOOP: emit_loop(e, s); break;
	case BREAK:
		fprintf(e->out, "if (%ss->p[%u]) goto end_%u;\n", s->negated ? "!" : "", s->args[0].reg,
			e->loop);
		break;
	case TWO_ENTRY: emit_two_entry(e, s); break;
	case SWITCH: emit_switch(e, s); break;
	case CALL: emit_call(e, s); break;
	default: emit_operation(e, s); break;
	}
}

/* What all threads do at once: helpers of together.h over the array of their states. */
static void emit_together(struct emitter *e, const struct statement *s)
{
	unsigned dst = s->dst, a = s->args[0].reg;

	switch (s->kind) {
	case SHUFFLE:
		fprintf(e->out, "shuffle(block, %u, %u, %u, %d, %u, %u);\n", s->mode & 3u, dst, a,
			s->mode & 4 ? s->args[1].reg : -1, s->k >> 5 & 31, s->k & 0x1f1f);
		break;
	case VOTE: fprintf(e->out, "vote(block, %u, %u, %u);\n", s->mode & 3u, dst, a); break;
	case MATCH: fprintf(e->out, "match(block, %u, %u, %u, %u);\n", s->mode & 1u, dst, a, s->k & 3); break;
	case REDUX: fprintf(e->out, "reduce(block, %u, %u, %u);\n", s->mode, dst, a); break;
	case EXCHANGE:
		fprintf(e->out, "exchange(block, %u, %u, %u, %u);\n", dst, a, 2u * s->mode + 1, s->k);
		break;
	case BARRIER_RED:
		fprintf(e->out, "barrier_reduce(block, %u, %u, %u);\n", s->mode % 3u, dst, a);
		break;
	default: fprintf(e->out, "combine(block, %u, %u, %u, %u);\n", s->mode, dst, a, s->k); break;
	}
}

static void emit_sequence(struct emitter *e, uint32_t first)
{
	for (uint32_t i = first; i != NO_STATEMENT; i = e->program->statements[i].next)
		if (!e->program->statements[i].removed)
			emit_alone(e, &e->program->statements[i]);
}

static void emit_function(struct emitter *e, unsigned f)
{
	fprintf(e->out,
		"static uint32_t function_%u_%u(uint32_t a, uint64_t b, float c, const uint32_t *table)\n{\n",
		e->number, f);
	fprintf(e->out, "struct state local = {0}, *s = &local;\nunsigned char *memory = s->memory;\n"
			"for (int i = 0; i < 4; i++) { s->r[i] = a; s->rd[i] = b; s->f[i] = c; }\n");
	emit_sequence(e, e->program->functions[f]);
	fprintf(e->out, "return (uint32_t)s->rd[1] ^ s->r[1];\n}\n");
}

/* A loop over the threads is opened before the first statement that each does alone. */
static void emit_body(struct emitter *e)
{
	const struct statement *s;
	bool open = false;

	for (uint32_t i = e->program->body; i != NO_STATEMENT; i = s->next) {
		s = &e->program->statements[i];
		if (s->removed)
			continue;
		if (s->kind < SHUFFLE && !open)
			fprintf(e->out, "for (int t = 0; t < THREADS; t++) { struct state *s = &block[t]; "
					"unsigned char *memory = s->memory;\n");
		if (s->kind >= SHUFFLE && open)
			fprintf(e->out, "}\n");
		open = s->kind < SHUFFLE;
		if (open)
			emit_alone(e, s);
		else
			emit_together(e, s);
	}
	if (open)
		fprintf(e->out, "}\n");
}

void program_emit_c(const struct program *p, unsigned number, FILE *out)
{
	struct emitter e = {p, out, number, NO_STATEMENT};

	for (unsigned f = 0; f < p->nfunctions; f++)
		emit_function(&e, f);
	fprintf(out,
		"__attribute__((visibility(\"default\"))) void program_%u(const uint64_t *in, uint64_t "
		"*out)\n{\n",
		number);
	fprintf(out, "static const uint32_t table[16] = {");
	for (unsigned i = 0; i < 16; i++)
		fprintf(out, "0x%x, ", p->table[i]);
	fprintf(out, "};\nfor (int b = 0; b < BLOCKS; b++) {\nstruct state "
		     "block[THREADS];\nload_block(block, in + b * THREADS * CELLS);\n");
	emit_body(&e);
	fprintf(out, "store_block(block, out + b * THREADS * CELLS);\n}\n}\n");
}
