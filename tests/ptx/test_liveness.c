/* SPDX-License-Identifier: Apache-2.0
 *
 * Liveness: hand-written cases (what is live across the barriers), and the textbook's iteration over sets of
 * registers as an independent second opinion, on functions with every kind of control flow. */
#include "fixture.h"

#include "ptx/analysis.h"

#define KERNEL(body)                                                                                    \
	".version 8.3\n.target sm_90\n.address_size 64\n.entry k(.param .u64 a, .param .u32 n) { .reg " \
	".b64 d<8>; .reg .b32 r<16>; .reg .f32 f<8>; .reg .pred p<8>;\n" body "\nret; }\n"

/* Registers live behind each barrier, in order of the barriers; ascending by name. */
static const struct {
	const char *what, *text, *live;
} rows[] = {
	{"straight",
	 KERNEL("ld.param.u64 d1, [a]; mov.u32 r1, %tid.x; mov.u32 r9, 4; bar.sync 0; add.u32 r2, r1, 1; "
		"st.global.u32 [d1], r2;"),
	 "d1 r1;"},
	{"nothing", KERNEL("mov.u32 r1, 1; bar.sync 0;"), ";"},
	{"loop",
	 KERNEL("ld.param.u64 d1, [a]; mov.u32 r1, 0; ld.param.u32 r2, [n]; L: bar.sync 0; st.global.u32 "
		"[d1], r1; "
		"bar.sync 1; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, r2; @p1 bra L; bar.sync 2; st.global.u32 "
		"[d1], 0;"),
	 "d1 r1 r2; d1 r1 r2; d1;"},
	{"what a guard keeps",
	 KERNEL("ld.param.u64 d1, [a]; mov.u32 r1, 1; setp.eq.u32 p1, r3, 0; bar.sync 0; @p1 mov.u32 r1, 2; "
		"st.global.u32 [d1], r1;"),
	 "d1 p1 r1;"},
	{"overwritten",
	 KERNEL("ld.param.u64 d1, [a]; mov.u32 r1, 1; bar.sync 0; mov.u32 r1, 2; st.global.u32 [d1], r1;"),
	 "d1;"},
	{"one way only",
	 KERNEL("ld.param.u64 d1, [a]; mov.u32 r1, 1; mov.u32 r2, 2; setp.eq.u32 p1, r4, 0; bar.sync 0; @p1 "
		"bra A; "
		"bar.sync 1; mov.u32 r3, r1; bra.uni B; A: bar.sync 2; mov.u32 r3, r2; B: bar.sync 3; "
		"st.global.u32 [d1], r3;"),
	 "d1 p1 r1 r2; d1 r1; d1 r2; d1 r3;"},
	{"its own result",
	 KERNEL("ld.param.u64 d1, [a]; bar.red.popc.u32 r1, 0, p1; st.global.u32 [d1], r1;"), "d1 r1;"},
	{"undefined registers don't live",
	 KERNEL("ld.param.u64 d1, [a]; bar.sync 0; st.global.u32 [d1], r7;"), "d1;"},
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void list_live(const struct ptx_func *f, const struct ptx_liveness *l, char *out, size_t n)
{
	struct ptx_live_walk w;
	assert_int_equal(ptx_live_walk_open(&w, f), 0);
	char *parts[16];
	unsigned count = 0;
	for (uint32_t b = f->nblocks; b-- > 0;) {
		if (b && !f->blocks[b].npreds)
			continue;
		ptx_live_walk_begin(&w, l, b);
		do {
			const char *names[32];
			char text[128] = "";
			if (f->insts[w.inst].op != PTX_OP_BAR)
				continue;
			for (uint32_t k = 0; k < w.n; k++)
				names[k] = f->slots[f->values[w.values[k]].slot].name;
			qsort(names, w.n, sizeof(names[0]), by_name);
			for (uint32_t k = 0; k < w.n; k++)
				snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
					 k ? " " : "", names[k]);
			parts[count++] = strdup(text);
		} while (ptx_live_walk_back(&w));
	}
	out[0] = 0;
	for (unsigned k = count; k-- > 0;) {
		snprintf(out + strlen(out), n - strlen(out), "%s;%s", parts[k], k ? " " : "");
		free(parts[k]);
	}
	ptx_live_walk_close(&w);
}

static void across_barriers(void **state)
{
	(void)state;
	unsigned failures = 0;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct ptx_module *m = parse_text(rows[k].text);
		struct ptx_func *f = build(m, "k");
		struct ptx_liveness l;
		char got[256];
		assert_int_equal(ptx_liveness_find(f, &l), 0);
		list_live(f, &l, got, sizeof(got));
		if (strcmp(got, rows[k].live)) {
			print_error("%s: got %s\n", rows[k].what, got);
			failures++;
		}
		ptx_liveness_free(&l);
		ptx_module_free(m);
	}
	assert_int_equal(failures, 0);
}

/* The second opinion: live[b][slot] before block b by iteration. A read of a register on a way where nothing wrote it
 * (value 0 of a phi) lets the register live there, but no value; so those ways are left out of the comparison. */
struct sets {
	const struct ptx_func *f;
	uint8_t *in; /* nblocks x nslots */
	uint8_t *now;
};

static void reads_slot(void *ctx, uint32_t v)
{
	struct sets *s = ctx;
	s->now[s->f->values[v].slot] = 1;
}

static void block_in(struct sets *s, uint32_t b)
{
	const struct ptx_func *f = s->f;
	for (uint32_t n = f->blocks[b].first + f->blocks[b].ninsts; n-- > f->blocks[b].first;) {
		const struct ptx_inst *i = &f->insts[n];
		for (unsigned k = 0; k < i->ndst && !i->guarded; k++)
			if (i->dst[k].kind == PTX_OPND_VALUE)
				s->now[f->values[i->dst[k].index].slot] = 0;
		ptx_inst_reads(i, reads_slot, s);
	}
}

static void iterate(struct sets *s)
{
	const struct ptx_func *f = s->f;
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t b = f->nblocks; b-- > 0;) {
			if (b && !f->blocks[b].npreds)
				continue;
			memset(s->now, 0, f->nslots);
			for (uint32_t k = 0; k < f->blocks[b].nsuccs; k++)
				for (uint32_t n = 0; n < f->nslots; n++)
					s->now[n] |= s->in[(size_t)f->blocks[b].succs[k] * f->nslots + n];
			block_in(s, b);
			s->now[0] = 0;
			changed |= memcmp(s->now, s->in + (size_t)b * f->nslots, f->nslots) != 0;
			memcpy(s->in + (size_t)b * f->nslots, s->now, f->nslots);
		}
	}
}

static bool reads_nothing_undefined(const struct ptx_func *f)
{
	for (uint32_t b = 0; b < f->nblocks; b++)
		for (uint32_t k = 0; k < f->blocks[b].nphis; k++)
			for (uint32_t a = 0; a < f->blocks[b].npreds; a++)
				if (!f->blocks[b].phis[k].args[a])
					return false;
	for (uint32_t n = 0; n < f->ninsts; n++)
		for (unsigned k = 0; f->insts[n].prev && k < f->insts[n].ndst; k++)
			if (!f->insts[n].prev[k])
				return false;
	return true;
}

static void compare(const struct ptx_func *f)
{
	struct ptx_liveness l;
	struct sets s = {.f = f, .in = calloc(f->nblocks, f->nslots), .now = calloc(f->nslots, 1)};
	assert_int_equal(ptx_liveness_find(f, &l), 0);
	iterate(&s);
	bool exact = reads_nothing_undefined(f);
	for (uint32_t b = 0; b < f->nblocks; b++) {
		uint8_t *want = s.in + (size_t)b * f->nslots;
		uint32_t phis = 0, lives = 0;
		for (uint32_t k = l.first_in[b]; k < l.first_in[b + 1]; k++) {
			assert_true(want[f->values[l.in[k]].slot]);
			assert_true(k == l.first_in[b] || l.in[k] > l.in[k - 1]);
		}
		for (uint32_t k = 0; k < f->blocks[b].nphis;
		     k++) /* pruned: a phi's register is live where it is made */
			phis += want[f->values[f->blocks[b].phis[k].value].slot];
		for (uint32_t n = 0; n < f->nslots; n++)
			lives += want[n];
		if (exact)
			assert_int_equal(lives, phis + l.first_in[b + 1] - l.first_in[b]);
	}
	free(s.in);
	free(s.now);
	ptx_liveness_free(&l);
}

/* A function of `blocks` blocks that branch at random, each reading and writing random registers. */
static char *random_kernel(unsigned seed, unsigned blocks)
{
	size_t room = 400 + blocks * 400, at;
	char *text = malloc(room);
	assert_non_null(text);
	srand(seed);
	at = (size_t)snprintf(text, room,
			      ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .b32 r<8>; "
			      ".reg .pred p<4>;\n");
	for (unsigned k = 0; k < 8; k++)
		at += (size_t)snprintf(text + at, room - at, "mov.u32 r%u, %u;\n", k, k);
	at += (size_t)snprintf(text + at, room - at,
			       "setp.eq.u32 p0, r0, r1; setp.eq.u32 p1, r2, r3; setp.eq.u32 p2, r1, r1;\n");
	for (unsigned b = 0; b < blocks; b++) {
		at += (size_t)snprintf(text + at, room - at, "L%u:\n", b);
		for (int k = rand() % 4; k >= 0; k--)
			at += (size_t)snprintf(text + at, room - at, "%sadd.u32 r%d, r%d, r%d;\n",
					       rand() % 5 ? "" : "@p1 ", rand() % 8, rand() % 8, rand() % 8);
		if (rand() % 3 == 0)
			at += (size_t)snprintf(text + at, room - at, "setp.lt.u32 p%d, r%d, 5;\n", rand() % 3,
					       rand() % 8);
		at += (size_t)snprintf(text + at, room - at, rand() % 4 ? "@p%d bra L%u;\n" : "@p%d exit;\n",
				       rand() % 3, (unsigned)rand() % blocks);
	}
	snprintf(text + at, room - at, "ret; }\n");
	return text;
}

static void agrees_with_iteration(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 300; seed++) {
		char *text = random_kernel(seed, 1 + seed % 40);
		struct ptx_module *m = parse_text(text);
		compare(build(m, "k"));
		ptx_module_free(m);
		free(text);
	}
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct ptx_module *m = parse_text(rows[k].text);
		compare(build(m, "k"));
		ptx_module_free(m);
	}
}

/* The other analyses on the same random graphs, irreducible ones among them: they end, with facts that hold by
 * construction: nothing here depends on the thread. */
static void random_graphs_are_uniform(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 300; seed++) {
		char *text = random_kernel(seed, 1 + seed % 40);
		struct ptx_module *m = parse_text(text);
		struct ptx_func *f = build(m, "k");
		struct ptx_uniformity u;
		assert_int_equal(ptx_uniformity_find(f, m, &u), 0);
		for (uint32_t v = 0; v < f->nvalues; v++)
			assert_int_equal(u.values[v].level, PTX_LEVEL_GRID);
		for (uint32_t b = 0; b < f->nblocks; b++)
			assert_int_equal(u.control[b], PTX_LEVEL_GRID);
		ptx_uniformity_free(&u);
		ptx_module_free(m);
		free(text);
	}
}

/* 4,000 branches that all go to one block behind them, each divergent: the work is bounded, and the answer still
 * says that what is chosen there differs. */
static void many_branches(void **state)
{
	(void)state;
	enum { BRANCHES = 4000 };
	size_t room = BRANCHES * 80 + 1000, at;
	char *text = malloc(room);
	assert_non_null(text);
	at = (size_t)snprintf(text, room,
			      ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .b32 r<8>; "
			      ".reg .pred p<4>;\n"
			      "mov.u32 r1, %%tid.x; mov.u32 r2, 0;\n");
	for (int k = 0; k < BRANCHES; k++)
		at += (size_t)snprintf(text + at, room - at,
				       "setp.eq.u32 p1, r1, %d; @p1 bra E; add.u32 r2, r2, 1;\n", k);
	snprintf(text + at, room - at, "E: add.u32 r3, r2, 0; bar.sync 0; ret; }\n");
	struct ptx_module *m = parse_text(text);
	struct ptx_func *f = build(m, "k");
	struct ptx_uniformity u;
	struct ptx_liveness l;
	assert_int_equal(ptx_uniformity_find(f, m, &u), 0);
	assert_true(u.bounded);
	assert_int_equal(ptx_liveness_find(f, &l), 0);
	assert_int_equal(u.values[f->nvalues - 1].level, PTX_LEVEL_THREAD); /* r3 */
	assert_int_equal(u.control[f->nblocks - 1], PTX_LEVEL_GRID);
	ptx_liveness_free(&l);
	ptx_uniformity_free(&u);
	ptx_module_free(m);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(across_barriers), cmocka_unit_test(agrees_with_iteration),
		cmocka_unit_test(random_graphs_are_uniform), cmocka_unit_test(many_branches)};
	return cmocka_run_group_tests_name("ptx liveness", tests, NULL, NULL);
}
