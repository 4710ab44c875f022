/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks, dominators, post-dominators and SSA: on graphs with known answers, and
 * on random programs against definitions: a dominates b when b can't be reached
 * without a; a value is right when it equals what the register of that name holds
 * on a random walk. */
#include "fixture.h"

enum { MAX_BLOCKS = 24, REGISTERS = 6 };

/* A kernel from letters: block k is "L<k>:" and ends as edges[k] says: "" falls through, "2" jumps, "2?"
 * jumps if, "x" leaves, "1,2" is a table. */
static struct ptx_module *graph(const char *const *edges, unsigned n)
{
	char text[8192];
	size_t at = (size_t)snprintf(text, sizeof(text), "mov.u32 r1, 0;\n");
	for (unsigned k = 0; k < n; k++) {
		const char *e = edges[k];
		at += (size_t)snprintf(text + at, sizeof(text) - at, "L%u: add.s32 r1, r1, 1;\n", k);
		if (strchr(e, ','))
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "T%u: .branchtargets L%c, L%c;\nbrx.idx r1, T%u;\n", k, e[0],
					       e[2], k);
		else if (e[0] == 'x')
			at += (size_t)snprintf(text + at, sizeof(text) - at, "exit;\n");
		else if (e[0])
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%sbra L%c;\n",
					       e[1] ? "@p0 " : "", e[0]);
	}
	return parse_statements(text);
}

static uint32_t block_named(const struct ptx_func *f, unsigned k)
{
	char name[8];
	snprintf(name, sizeof(name), "L%u", k);
	for (uint32_t b = 0; b < f->nblocks; b++)
		if (f->blocks[b].label && !strcmp(f->blocks[b].label, name))
			return b;
	return k == 0 ? 0 : PTX_NONE; /* a block that no branch leads to has no name of its own */
}

static void known_graphs(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		unsigned n;
		const char *edges[8], *idom; /* of L1, L2, ...; '?' = has no label of its own */
	} rows[] = {
		{"diamond", 4, {"2?", "3", "", "x"}, "?00"},
		{"loop", 3, {"", "1?", "x"}, "0?"},
		{"if without else", 3, {"2?", "", "x"}, "?0"},
		{"two ways into a loop", 4, {"2?", "", "1?", "x"}, "00?"},
		{"nested loops", 5, {"", "", "2?", "1?", "x"}, "01??"},
		{"breaks", 5, {"", "4?", "4?", "1", "x"}, "0??1"},
		{"cross edges", 6, {"3?", "4?", "5", "4?", "5?", "x"}, "??000"},
		{"table", 4, {"1,3", "", "", "x"}, "0?0"},
	};
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct ptx_module *m = graph(rows[r].edges, rows[r].n);
		struct ptx_func *f = build(m, "k");
		for (unsigned k = 1; k < rows[r].n; k++) {
			char want = rows[r].idom[k - 1];
			if (want == '?')
				continue;
			uint32_t b = block_named(f, k), expected = block_named(f, (unsigned)(want - '0'));
			if (f->blocks[b].idom != expected)
				print_error("%s: L%u\n", rows[r].what, k);
			assert_int_equal(f->blocks[b].idom, expected);
		}
		ptx_module_free(m);
	}
}

/* The graph of a built function, with what the definitions say about it. */
struct reference {
	uint32_t n;
	bool edge[2 * MAX_BLOCKS + 8][2 * MAX_BLOCKS + 8];
};

static bool reaches(const struct reference *g, uint32_t from, uint32_t to, uint32_t without)
{
	bool seen[2 * MAX_BLOCKS + 8] = {false};
	uint32_t stack[2 * MAX_BLOCKS + 8], depth = 0;
	if (from == without)
		return false;
	seen[from] = true;
	stack[depth++] = from;
	while (depth) {
		uint32_t k = stack[--depth];
		if (k == to)
			return true;
		for (uint32_t s = 0; s < g->n; s++)
			if (g->edge[k][s] && !seen[s] && s != without) {
				seen[s] = true;
				stack[depth++] = s;
			}
	}
	return false;
}

static bool is_dominator(const struct reference *g, uint32_t root, uint32_t a, uint32_t b)
{
	return a == b || !reaches(g, root, b, a);
}

/* The strict dominator that all other strict dominators dominate. */
static uint32_t reference_idom(const struct reference *g, uint32_t root, uint32_t b)
{
	for (uint32_t a = 0; a < g->n; a++) {
		if (a == b || !reaches(g, root, a, PTX_NONE) || !is_dominator(g, root, a, b))
			continue;
		bool closest = true;
		for (uint32_t c = 0; c < g->n && closest; c++)
			if (c != b && c != a && reaches(g, root, c, PTX_NONE) && is_dominator(g, root, c, b))
				closest = is_dominator(g, root, c, a);
		if (closest)
			return a;
	}
	return PTX_NONE;
}

static void forward_graph(const struct ptx_func *f, struct reference *g)
{
	memset(g, 0, sizeof(*g));
	g->n = f->nblocks;
	for (uint32_t k = 0; k < f->nblocks; k++)
		for (uint32_t s = 0; s < f->blocks[k].nsuccs; s++)
			g->edge[k][f->blocks[k].succs[s]] = true;
}

static void check_dominators(const struct ptx_func *f)
{
	struct reference g;
	forward_graph(f, &g);
	for (uint32_t b = 0; b < f->nblocks; b++) {
		uint32_t want = b && reaches(&g, 0, b, PTX_NONE) ? reference_idom(&g, 0, b) : PTX_NONE;
		assert_int_equal(f->blocks[b].idom, want);
	}
}

/* Only where every block can leave: what the others reconverge at is our choice. Returns whether it was
 * checked. */
static bool check_post_dominators(const struct ptx_func *f)
{
	struct reference forward, g;
	forward_graph(f, &forward);
	memset(&g, 0, sizeof(g));
	uint32_t leave = f->nblocks;
	g.n = f->nblocks + 1;
	for (uint32_t k = 0; k < f->nblocks; k++) {
		if (!reaches(&forward, 0, k, PTX_NONE))
			continue;
		for (uint32_t s = 0; s < f->blocks[k].nsuccs; s++)
			g.edge[f->blocks[k].succs[s]][k] = true;
		g.edge[leave][k] |= f->blocks[k].nsuccs == 0;
	}
	for (uint32_t k = 0; k < f->nblocks; k++)
		if (reaches(&forward, 0, k, PTX_NONE) && !reaches(&g, leave, k, PTX_NONE))
			return false;
	for (uint32_t k = 0; k < f->nblocks; k++) {
		if (!reaches(&forward, 0, k, PTX_NONE))
			continue;
		uint32_t want = reference_idom(&g, leave, k);
		assert_int_equal(f->blocks[k].ipdom, want == leave ? PTX_NONE : want);
	}
	return true;
}

static uint32_t random_state;
static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % n;
}

/* Blocks of additions between random registers, some guarded, joined at random. */
static struct ptx_module *random_program(unsigned n)
{
	static char text[32768];
	size_t at = 0;
	text[0] = 0;
	for (unsigned k = 0; k < n; k++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "L%u:\n", k);
		for (unsigned i = random_below(4); i-- > 0;)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%sadd.s32 r%u, r%u, %u;\n",
					       random_below(4) ? "" : "@p0 ", random_below(REGISTERS),
					       random_below(REGISTERS), random_below(1000));
		switch (random_below(8)) {
		case 0:
			at += (size_t)snprintf(text + at, sizeof(text) - at, "bra L%u;\n", random_below(n));
			break;
		case 1:
		case 2:
		case 3:
			at += (size_t)snprintf(text + at, sizeof(text) - at, "@p0 bra L%u;\n",
					       random_below(n));
			break;
		case 4:
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "T%u: .branchtargets L%u, L%u, L%u;\nbrx.idx r0, T%u;\n", k,
					       random_below(n), random_below(n), random_below(n), k);
			break;
		case 5:
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%sexit;\n",
					       random_below(2) ? "@p0 " : "");
			break;
		default: break;
		}
	}
	return parse_statements(text);
}

struct walk {
	const struct ptx_module *m;
	const struct ptx_func *f;
	uint64_t registers[REGISTERS]; /* by the name in the text */
	uint64_t *values;              /* by SSA value */
};

static uint64_t value(const struct walk *w, uint32_t v)
{
	return v ? w->values[v] : 0;
}

static void step(struct walk *w, const struct ptx_inst *i)
{
	char line[256];
	unsigned d, a, imm;
	if (i->op != PTX_OP_ADD)
		return;
	assert_true(ptx_line_text(w->m, i->line, line, sizeof(line)));
	const char *s = strstr(line, "add.s32");
	assert_non_null(s);
	assert_int_equal(sscanf(s, "add.s32 r%u, r%u, %u;", &d, &a, &imm), 3);
	assert_int_equal(value(w, i->src[0].index), w->registers[a]);
	bool executes = !i->guarded || random_below(2);
	if (executes)
		w->registers[d] = w->registers[a] + imm;
	else
		assert_int_equal(value(w, i->prev[0]), w->registers[d]);
	w->values[i->dst[0].index] = w->registers[d];
}

static void enter(struct walk *w, uint32_t from, uint32_t to)
{
	const struct ptx_block *b = &w->f->blocks[to];
	uint64_t incoming[REGISTERS];
	uint32_t p = 0;
	while (b->preds[p] != from)
		p++;
	assert_true(b->nphis <= REGISTERS);
	for (uint32_t k = 0; k < b->nphis; k++)
		incoming[k] = value(w, b->phis[k].args[p]);
	for (uint32_t k = 0; k < b->nphis; k++)
		w->values[b->phis[k].value] = incoming[k];
}

static void random_walk(const struct ptx_module *m, const struct ptx_func *f)
{
	struct walk w = {.m = m, .f = f, .values = calloc(f->nvalues, sizeof(uint64_t))};
	assert_non_null(w.values);
	uint32_t block = 0;
	for (int steps = 0; steps < 60; steps++) {
		const struct ptx_block *b = &f->blocks[block];
		for (uint32_t k = b->first; k < b->first + b->ninsts; k++)
			step(&w, &f->insts[k]);
		if (!b->nsuccs)
			break;
		uint32_t next = b->succs[random_below(b->nsuccs)];
		enter(&w, block, next);
		block = next;
	}
	free(w.values);
}

static void random_programs(void **state)
{
	(void)state;
	unsigned checked = 0;
	for (uint32_t seed = 1; seed <= 600; seed++) {
		random_state = seed;
		struct ptx_module *m = random_program(2 + random_below(MAX_BLOCKS - 2));
		struct ptx_func *f = build(m, "k");
		check_dominators(f);
		checked += check_post_dominators(f);
		for (int k = 0; k < 8; k++)
			random_walk(m, f);
		ptx_module_free(m);
	}
	assert_true(checked > 50);
}

/* A phi only where two versions meet and somebody reads the register. */
static void phis_are_pruned(void **state)
{
	(void)state;
	struct ptx_module *m =
		parse_statements("mov.u32 r0, 1; mov.u32 r1, 1; @p0 bra A; mov.u32 r0, 2; mov.u32 r1, 2; A: "
				 "st.global.u32 [d1], r0; bra LAB;");
	struct ptx_func *f = build(m, "k");
	unsigned phis = 0;
	for (uint32_t k = 0; k < f->nblocks; k++)
		phis += f->blocks[k].nphis;
	assert_int_equal(phis, 1);
	ptx_module_free(m);
}

static void entry_has_no_predecessors(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(
		".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{ .reg .pred p; .reg .b32 r;\n"
		"L: add.s32 r, r, 1;\n@p bra L;\nT: .branchtargets L, E; brx.idx r, T;\nE:\n}\n");
	struct ptx_func *f = build(m, "k");
	assert_int_equal(f->blocks[0].npreds, 0);
	assert_int_equal(f->insts[0].op, PTX_OP_BRA);
	assert_int_equal(f->blocks[1].npreds, 3);
	assert_int_equal(f->blocks[1].nphis, 1); /* 0 from outside, r + 1 from inside */
	assert_int_equal(f->insts[f->ninsts - 1].op, PTX_OP_RET);
	ptx_module_free(m);
}

static void infinite_loops_have_post_dominators(void **state)
{
	(void)state;
	struct ptx_module *m =
		parse_statements("A: @p0 bra B; add.s32 r0, r0, 1; bra C; B: add.s32 r0, r0, 2; C: bra A;");
	struct ptx_func *f = build(m, "k");
	uint32_t head = PTX_NONE, join = PTX_NONE;
	for (uint32_t k = 0; k < f->nblocks; k++) {
		if (f->blocks[k].label && !strcmp(f->blocks[k].label, "A"))
			head = k;
		if (f->blocks[k].label && !strcmp(f->blocks[k].label, "C"))
			join = k;
	}
	assert_int_equal(f->blocks[head].ipdom, join); /* the branch inside still reconverges */
	ptx_module_free(m);
}

static void unreachable_code_is_kept_apart(void **state)
{
	(void)state;
	struct ptx_module *m = parse_statements("mov.u32 r0, 1; exit; add.s32 r0, r0, r0; U: bra U;");
	struct ptx_func *f = build(m, "k");
	for (uint32_t k = 1; k < f->nblocks; k++) {
		assert_int_equal(f->blocks[k].idom, PTX_NONE);
		assert_int_equal(f->blocks[k].npreds, 0);
	}
	assert_int_equal(f->insts[2].src[0].index, 0);
	ptx_module_free(m);
}

/* The dump names everything once; compared as a whole. */
static void dump(void **state)
{
	(void)state;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct ptx_module *m = parse_statements(
		"mov.u32 r0, %tid.x;\n\tL: @!p0 add.s32 r0, r0, -1;\n\tsetp.ne.s32 p1, r0, 0;\n\t@p1 bra L;"
		"\n\tst.global.u32 [d1+4], r0;");
	ptx_func_dump(m, build(m, "k"), out);
	fclose(out);
	assert_string_equal(
		text, "entry k\nparam param0 .u64 x 1 at 0\n"
		      "b0: idom - ipdom b1 -> b1\n  r0.1 = mov.u32 %tid.x\n"
		      "b1: L idom b0 ipdom b2 -> b1 b2\n  r0.2 = phi b0: r0.1, b1: r0.3\n"
		      "  @!undef r0.3 = add.s32 r0.2, 0xffffffff else r0.2\n  p1.4 = setp.ne.s32 r0.3, 0x0\n"
		      "  @p1.4 bra b1\n"
		      "b2: idom b1 ipdom -\n  st.global.u32 undef+4, r0.3\n  ret\n");
	free(text);
	ptx_module_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_graphs),
		cmocka_unit_test(random_programs),
		cmocka_unit_test(phis_are_pruned),
		cmocka_unit_test(entry_has_no_predecessors),
		cmocka_unit_test(infinite_loops_have_post_dominators),
		cmocka_unit_test(unreachable_code_is_kept_apart),
		cmocka_unit_test(dump),
	};
	return cmocka_run_group_tests_name("ptx control flow", tests, NULL, NULL);
}
