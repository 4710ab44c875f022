/* SPDX-License-Identifier: Apache-2.0
 *
 * Several errors in one module, and what an opcode needs of its target. That
 * each of the statements is wrong (or right, for another target) is also what
 * ptxas says. */
#include "fixture.h"

/* Each comment names the column of what is wrong. */
static const char several[] = ".version 9.0\n"
			      ".target sm_80\n"
			      ".address_size 64\n"
			      ".global .u32 fine;\n"
			      ".global .foo bad;\n" /* 5:9 */
			      ".visible .entry a(.param .u64 p)\n"
			      "{\n"
			      "\t.reg .b32 r<4>;\n"
			      "\tadd.s32 r0, r1;\n"             /* 9:2 */
			      "\tmul.s32 r0, r1, r2;\n"         /* 10:2 */
			      "\tadd.s32 r0, r1, undeclared;\n" /* 11:18 */
			      "\tadd.s32 r0, undeclared, r1;\n" /* the same name: once */
			      "\tbra NOWHERE;\n"                /* 13:6, after the body */
			      "\tret;\n"
			      "}\n"
			      ".visible .entry good() { ret; }\n"
			      ".visible .entry b()\n"
			      "{\n"
			      "\t.reg .b32 r<4>;\n"
			      "\tadd.s32 r0, r1, r2\n" /* 21:2: expected ';' */
			      "\tadd.s32 r0, r1, r2;\n"
			      "\t{ mov.b64 r0, 1; }\n"        /* 22:12 */
			      "\twgmma.fence.sync.aligned;\n" /* 23:2 */
			      "\tfrobnicate.u32 r0;\n"        /* 24:2 */
			      "}\n"
			      "nonsense;\n" /* 26:1 */
			      ".visible .entry also_good() { ret; }\n";

static const struct {
	const char *where, *what;
} errors[] = {
	{"test.ptx:5:9", "unexpected '.foo' in a declaration"},
	{"test.ptx:26:1", "expected a directive"},
	{"test.ptx:9:2", "'add.s32' has too few operands"},
	{"test.ptx:10:2", "'mul' needs .lo, .hi or .wide"},
	{"test.ptx:11:18", "unknown name 'undeclared'"},
	{"test.ptx:13:6", "unknown label 'NOWHERE'"},
	{"test.ptx:21:2", "expected ';'"},
	{"test.ptx:22:12", "'mov.b64' needs 64 bits here, 'r0' has 32"},
	{"test.ptx:23:2", "wgmma.fence needs target sm_90a; this module targets sm_80"},
	{"test.ptx:24:2", "unknown instruction 'frobnicate'"},
};
enum { NERRORS = sizeof(errors) / sizeof(errors[0]) };

static void all_are_found(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(several);
	assert_int_equal(m->nerrors, 2); /* bodies are read later */
	assert_int_equal(ptx_module_check(m), NERRORS);
	assert_int_equal(m->nown_errors, 2);
	for (unsigned k = 0; k < NERRORS; k++) {
		assert_string_equal(m->errors[k].where, errors[k].where);
		assert_string_equal(m->errors[k].what, errors[k].what);
		assert_non_null(strchr(m->errors[k].hint, '^'));
	}
	assert_string_equal(m->errors[4].hint, "\tadd.s32 r0, r1, undeclared;\n\t                ^");
	assert_int_equal(ptx_module_check(m), NERRORS); /* not twice */
	ptx_module_free(m);
}

/* Only the last is merely not known; the others make the text invalid. */
static void codes(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(several);
	ptx_module_check(m);
	for (unsigned k = 0; k < NERRORS; k++)
		assert_int_equal(m->errors[k].code, k == NERRORS - 1 ? CUTRACE_ENOTSUP : CUTRACE_EFORMAT);
	ptx_module_free(m);
}

/* Kernels without errors are built; the others keep all of theirs, the first as the reason. */
static void kernels_of_their_own(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(several);
	build(m, "good");
	build(m, "also_good");
	struct ptx_func *a = ptx_func_find(m, "a"), *b = ptx_func_find(m, "b");
	assert_int_equal(ptx_func_build(m, a), CUTRACE_EFORMAT);
	assert_int_equal(a->nerrors, 4);
	assert_string_equal(a->error.what, errors[2].what);
	assert_string_equal(a->errors[3].what, errors[5].what);
	assert_int_equal(ptx_func_build(m, b), CUTRACE_EFORMAT);
	assert_int_equal(b->nerrors, 4);
	ptx_module_free(m);
}

/* As many as anybody reads, and no more work than that. */
static void at_most_twenty(void **state)
{
	(void)state;
	static char text[1 << 20];
	size_t n = (size_t)snprintf(text, sizeof(text), ".version 9.0\n.target sm_80\n.entry k() {\n");
	for (unsigned k = 0; k < 10000; k++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "bra L%u;\nfrob%u;\n", k, k);
	snprintf(text + n, sizeof(text) - n, "}\n");
	struct ptx_module *m = parse_text(text);
	assert_int_equal(ptx_module_check(m), PTX_MAX_ERRORS);
	assert_int_equal(ptx_func_find(m, "k")->nerrors, PTX_MAX_ERRORS);
	assert_string_equal(m->errors[19].where, "test.ptx:43:1");
	ptx_module_free(m);
}

/* Damage at the ends of statements, scopes and bodies must not hide what follows. */
static void recovery(void **state)
{
	(void)state;
	static const struct {
		const char *statements;
		unsigned nerrors;
	} rows[] = {
		{"add.s32 r0, r1, ; add.s32 r0, r1; add.s32 r0, r1, r2;", 2},
		{"add.s32 r0, {r1, r2}, r3; mov.b64 r0, d0;", 2},
		{"@p9 add.s32 r0, r1, r2; @r0 add.s32 r0, r1, r2; bra;", 3},
		{"{ add.s32 r0; } { add.s32 r1; }", 2},
		{"} add.s32 r0;", 2},
		{"{ add.s32 r0;", 2}, /* and a scope that isn't closed */
		{".reg .nope x; .shared .u32; add.s32 r0;", 3},
		{"ld.global.u32 r0, [d1; ld.global.u32 r0, d1;", 2},
		{"call nope, (r0); call callee, (r0, r1); call callee, (r0);", 2},
		{"T: .branchtargets A, B; brx.idx r0, T; A: ret;", 1},
		{"mov.u32 r0, 1 / 0; mov.f32 f0, 0f3F8; mov.u32 r0, 12abc;", 3},
	};
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct ptx_module *m = parse_statements(rows[k].statements);
		struct ptx_func *f = ptx_func_find(m, "k");
		if (!f) { /* unbalanced braces end the body elsewhere: then the module is wrong, too */
			assert_true(m->nerrors > 0);
			ptx_module_free(m);
			continue;
		}
		ptx_func_build(m, f);
		if (f->nerrors != rows[k].nerrors && !m->nerrors) {
			print_error("%s\n", rows[k].statements);
			for (uint32_t e = 0; e < f->nerrors; e++)
				print_error("  %s: %s\n", f->errors[e].where, f->errors[e].what);
			assert_int_equal(f->nerrors, rows[k].nerrors);
		}
		ptx_module_free(m);
	}
}

/* Target ISA Notes of the instructions: what is refused on `low` is accepted on `high`. */
static const struct {
	const char *low, *high, *statement, *what;
} targets[] = {
	{"sm_80", "sm_90a", "wgmma.fence.sync.aligned;",
	 "wgmma.fence needs target sm_90a; this module targets sm_80"},
	{"sm_90", "sm_90a", "wgmma.commit_group.sync.aligned;",
	 "wgmma.commit_group needs target sm_90a; this module targets sm_90"},
	{"sm_100a", "sm_90a", "wgmma.wait_group.sync.aligned 0;",
	 "wgmma.wait_group needs target sm_90a; this module targets sm_100a"},
	{"sm_100", "sm_100a", "tcgen05.fence::before_thread_sync;",
	 "tcgen05.fence::before_thread_sync needs target sm_100a, sm_103a or sm_110a; this module targets "
	 "sm_100"},
	{"sm_90a", "sm_103f", "tcgen05.wait::ld.sync.aligned;",
	 "tcgen05.wait::ld needs target sm_100a, sm_103a or sm_110a; this module targets sm_90a"},
	{"sm_90", "sm_90a", "setmaxnreg.inc.sync.aligned.u32 64;",
	 "setmaxnreg needs target sm_90a, sm_100a or a later architecture-specific one; this module targets "
	 "sm_90"},
	{"sm_80", "sm_90", "cp.async.bulk.commit_group;",
	 "cp.async.bulk.commit_group needs target sm_90 or later; this module targets sm_80"},
	{"sm_75", "sm_80", "cp.async.commit_group;",
	 "cp.async.commit_group needs target sm_80 or later; this module targets sm_75"},
	{"sm_80", "sm_90", "cp.async.bulk.prefetch.tensor.1d.L2.global [d1, {r2}];",
	 "cp.async.bulk.prefetch.tensor needs target sm_90 or later; this module targets sm_80"},
	{"sm_80", "sm_90", "barrier.cluster.arrive;",
	 "barrier.cluster.arrive needs target sm_90 or later; this module targets sm_80"},
	{"sm_80", "sm_90", "multimem.red.relaxed.gpu.global.add.u32 [d1], r0;",
	 "multimem.red needs target sm_90 or later; this module targets sm_80"},
	{"sm_80", "sm_90", "mapa.shared::cluster.u32 r0, r1, r2;",
	 "mapa needs target sm_90 or later; this module targets sm_80"},
	{"sm_90", "sm_100", "st.bulk [d0], d1, 0;",
	 "st.bulk needs target sm_100 or later; this module targets sm_90"},
	{"sm_75", "sm_80", "redux.sync.add.u32 r0, r1, r2;",
	 "redux needs target sm_80 or later; this module targets sm_75"},
	{"sm_80", "sm_90", "elect.sync r0|p0, -1;",
	 "elect needs target sm_90 or later; this module targets sm_80"},
	{"sm_75", "sm_80", "mbarrier.init.shared.b64 [r1], 1;",
	 "mbarrier.init needs target sm_80 or later; this module targets sm_75"},
	{"sm_80", "sm_90", "mbarrier.try_wait.shared.b64 p0, [r1], d1;",
	 "mbarrier.try_wait needs target sm_90 or later; this module targets sm_80"},
	{"sm_70", "sm_75", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [r1];",
	 "ldmatrix needs target sm_75 or later; this module targets sm_70"},
	{"sm_80", "sm_90", "add.bf16 h0, h1, h2;",
	 "add.bf16 needs target sm_90 or later; this module targets sm_80"},
	{"sm_90", "sm_100", "add.f32x2 d0, d1, d2;",
	 "add.f32x2 needs target sm_100 or later; this module targets sm_90"},
	{"sm_80", "sm_89", "cvt.rn.satfinite.e4m3x2.f32 h0, f0, f1;",
	 "cvt.rn.satfinite.e4m3x2.f32 needs target sm_89 or later; this module targets sm_80"},
	{"sm_80", "sm_90", "ld.shared::cluster.u32 r0, [r1];",
	 "ld.shared::cluster.u32 needs target sm_90 or later; this module targets sm_80"},
	{"sm_80", "sm_90", "fence.acq_rel.cluster;",
	 "fence.acq_rel.cluster needs target sm_90 or later; this module targets sm_80"},
	{"sm_53", "sm_60", "atom.global.add.f64 g0, [d0], g1;",
	 "atom.global.add.f64 needs target sm_60 or later; this module targets sm_53"},
	{"sm_52", "sm_53", "fma.rn.f16 h0, h1, h2, h3;",
	 "fma.rn.f16 needs target sm_53 or later; this module targets sm_52"},
	{"sm_60", "sm_70", "ld.acquire.gpu.global.u32 r0, [d0];",
	 "ld.acquire.gpu.global.u32 needs target sm_70 or later; this module targets sm_60"},
	{"sm_60", "sm_70", "atom.global.cas.b16 h0, [d0], h1, h2;",
	 "atom.global.cas.b16 needs target sm_70 or later; this module targets sm_60"},
	{"sm_75", "sm_80", "min.NaN.f32 f0, f1, f2;",
	 "min.NaN.f32 needs target sm_80 or later; this module targets sm_75"},
	{"sm_80", "sm_86", "max.xorsign.abs.f32 f0, f1, f2;",
	 "max.xorsign.abs.f32 needs target sm_86 or later; this module targets sm_80"},
	{"sm_75", "sm_80", "cvt.rn.bf16.f32 h0, f1;",
	 "cvt.rn.bf16.f32 needs target sm_80 or later; this module targets sm_75"},
	{"sm_80", "sm_90", "cvt.rn.bf16.s32 h0, r1;",
	 "cvt.rn.bf16.s32 needs target sm_90 or later; this module targets sm_80"},
	{"sm_80", "sm_90", "atom.global.v2.f32.add {f0, f1}, [d0], {f2, f3};",
	 "atom.global.v2.f32.add needs target sm_90 or later; this module targets sm_80"},
	{"sm_75", "sm_80",
	 "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {r0,r1}, {r2,r3,r4,r5}, {r6,r7}, {r0,r1};",
	 "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 needs target sm_80 or later; this module targets "
	 "sm_75"},
	{"sm_80", "sm_90", "fence.proxy.async;",
	 "fence.proxy.async needs target sm_90 or later; this module targets sm_80"},
	{"sm_90", "sm_100", "add.f32.bf16 f0, h1, f2;",
	 "add.f32.bf16 needs target sm_100 or later; this module targets sm_90"},
	{"sm_90", "sm_100", "ld.global.v4.b64 {d0,d1,d2,d3}, [d0];",
	 "ld.global.v4.b64 needs target sm_100 or later; this module targets sm_90"},
	{"sm_90", "sm_100", "ld.global.v8.b32 {r0,r1,r2,r3,r4,r5,r6,r7}, [d0];",
	 "ld.global.v8.b32 needs target sm_100 or later; this module targets sm_90"},
};

static struct ptx_func *kernel_for(const char *target, const char *statement, struct ptx_module **m)
{
	char text[2048];
	snprintf(text, sizeof(text),
		 ".version 9.0\n.target %s\n.address_size 64\n.entry k() {\n.reg .pred p<4>; .reg .b16 h<4>; "
		 ".reg .b32 r<8>; .reg .b64 d<4>; .reg .f32 f<4>; .reg .f64 g<4>;\n\t%s\n}\n",
		 target, statement);
	*m = parse_text(text);
	assert_int_equal((*m)->nerrors, 0);
	return ptx_func_find(*m, "k");
}

static void needs_of_targets(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(targets) / sizeof(targets[0]); k++) {
		struct ptx_module *m;
		struct ptx_func *f = kernel_for(targets[k].low, targets[k].statement, &m);
		assert_int_equal(ptx_func_build(m, f), CUTRACE_EFORMAT);
		assert_string_equal(f->error.where, "test.ptx:6:2");
		assert_string_equal(f->error.what, targets[k].what);
		ptx_module_free(m);
		kernel_for(targets[k].high, targets[k].statement, &m);
		build(m, "k");
		ptx_module_free(m);
	}
}

/* ISA 11.1.2: which instructions compute in single precision under this option; copies don't. */
static void doubles_as_singles(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(
		".version 1.4\n.target sm_10, map_f64_to_f32\n.entry k() { .reg .f64 g<4>; .reg .u32 "
		"r; mov.u32 r, 0; ld.global.f64 g0, [r]; mov.f64 g1, g0; st.global.f64 [r], g1; "
		"add.f64 g0, g1, g2; cvt.rzi.u32.f64 r, g0; ret; }\n");
	static const bool computes[] = {false, false, false, false, true, true, false};
	const struct ptx_func *f = build(m, "k");
	assert_int_equal(f->ninsts, sizeof(computes));
	for (uint32_t k = 0; k < f->ninsts; k++)
		assert_int_equal(ptx_is_f64_as_f32(m, &f->insts[k]), computes[k]);
	ptx_module_free(m);
	m = parse_text(".version 1.4\n.target sm_13, map_f64_to_f32\n");
	assert_int_equal(m->nerrors, 1);
	assert_string_equal(m->errors[0].what, "map_f64_to_f32 is for targets before sm_13");
	ptx_module_free(m);
}

/* ISA 7.2, 11.2.2: an array without size is a function's last parameter; at most 4096 bytes are passed. */
static void open_parameters(void **state)
{
	(void)state;
	static const struct {
		const char *call, *what;
	} rows[] = {
		{"call any, (n, v);", NULL},
		{"call any, (n);", NULL},
		{"call any, (n, w);", "what is passed as 'values' must be an array of at most 4096 bytes"},
		{"call any, (n, 1);", "what is passed as 'values' must be an array of at most 4096 bytes"},
		{"call any;", "this call has 0 arguments, the function 2"},
	};
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		char text[512];
		snprintf(text, sizeof(text),
			 ".version 9.0\n.target sm_80\n.func any(.param .b32 n, .param .align 4 .b8 "
			 "values[]) { ret; }\n"
			 ".entry k() { .param .b32 n; .param .b8 v[8]; .param .b8 w[4100]; %s }\n",
			 rows[k].call);
		struct ptx_module *m = parse_text(text);
		struct ptx_func *f = ptx_func_find(m, "k");
		assert_int_equal(ptx_func_build(m, f), rows[k].what ? CUTRACE_EFORMAT : 0);
		if (rows[k].what)
			assert_string_equal(f->error.what, rows[k].what);
		ptx_module_free(m);
	}
	struct ptx_module *m =
		parse_text(".version 9.0\n.target sm_80\n.func f(.param .b8 a[], .param .b32 b);\n");
	assert_int_equal(m->nerrors, 1);
	ptx_module_free(m);
	m = parse_text(".version 9.0\n.target sm_80\n.entry k(.param .b8 a[]) { ret; }\n");
	assert_int_equal(m->nerrors, 1);
	ptx_module_free(m);
}

/* ISA 9.7.3, PTX ISA Notes: what can be left out before 1.4, and sm_1x flushes subnormals. */
static void legacy_defaults(void **state)
{
	(void)state;
	static const struct {
		const char *head, *statement;
		uint32_t flags;
		uint8_t rnd;
	} rows[] = {
		{".version 1.3 .target sm_13", "div.f32 f0, f1, f2;", PTX_F_APPROX | PTX_F_FTZ, PTX_RND_NONE},
		{".version 1.0 .target sm_10", "sin.f32 f0, f1;", PTX_F_APPROX | PTX_F_FTZ, PTX_RND_NONE},
		{".version 1.3 .target sm_13", "div.f64 g0, g1, g2;", 0, PTX_RN},
		{".version 1.3 .target sm_13", "rsqrt.f64 g0, g1;", PTX_F_APPROX, PTX_RND_NONE},
		{".version 1.3 .target sm_13", "mad.f64 g0, g1, g2, g3;", 0, PTX_RN},
		{".version 1.4 .target sm_13", "div.approx.f32 f0, f1, f2;", PTX_F_APPROX | PTX_F_FTZ,
		 PTX_RND_NONE},
		{".version 1.4 .target sm_13", "add.f32 f0, f1, f2;", PTX_F_FTZ, PTX_RND_NONE},
		{".version 1.4 .target sm_10", "mad.f32 f0, f1, f2, f3;", PTX_F_FTZ, PTX_RN},
		{".version 1.4 .target sm_13", "cvt.rzi.s32.f32 r0, f1;", PTX_F_FTZ, PTX_RZI},
		{".version 1.4 .target sm_13", "cvt.rzi.s64.f32 d0, f1;", 0, PTX_RZI},
		{".version 1.4 .target sm_13", "cvt.f64.f32 g0, f1;", 0, PTX_RND_NONE},
		{".version 2.0 .target sm_20", "add.f32 f0, f1, f2;", 0, PTX_RND_NONE},
		{".version 9.0 .target sm_80", "div.rn.f32 f0, f1, f2;", 0, PTX_RN},
	};
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		char text[512];
		snprintf(text, sizeof(text),
			 "%s\n.entry k() { .reg .b32 r<4>; .reg .b64 d<4>; .reg .f32 f<4>; .reg .f64 g<4>; "
			 "%s }\n",
			 rows[k].head, rows[k].statement);
		struct ptx_module *m = parse_text(text);
		const struct ptx_inst *i = build(m, "k")->insts;
		assert_int_equal(i->flags, rows[k].flags);
		assert_int_equal(i->rnd, rows[k].rnd);
		ptx_module_free(m);
	}
}

/* ISA 11.2.1: before 1.4 the parameters stand in the body. */
static void parameters_in_the_body(void **state)
{
	(void)state;
	struct ptx_module *m =
		parse_text(".version 1.3\n.target sm_10\n.entry k\n{\n.reg .u32 r; .reg .f64 f;\n"
			   "{ .reg .u32 inner; }\n.param .u32 a, b; .param .f64 c;\n"
			   "ld.param.u32 r, [b]; ld.param.f64 f, [c]; exit;\n}\n");
	struct ptx_func *f = build(m, "k");
	assert_int_equal(f->nparams, 3);
	assert_string_equal(f->params[1].name, "b");
	assert_int_equal(f->params[1].offset, 4);
	assert_int_equal(f->params[2].offset, 8);
	assert_int_equal(f->param_bytes, 16);
	assert_int_equal(f->insts[0].src[0].kind, PTX_OPND_PARAM);
	assert_int_equal(f->insts[0].src[0].imm, 4);
	assert_int_equal(f->insts[1].src[0].imm, 8);
	ptx_module_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_found),
		cmocka_unit_test(codes),
		cmocka_unit_test(kernels_of_their_own),
		cmocka_unit_test(at_most_twenty),
		cmocka_unit_test(recovery),
		cmocka_unit_test(needs_of_targets),
		cmocka_unit_test(doubles_as_singles),
		cmocka_unit_test(open_parameters),
		cmocka_unit_test(legacy_defaults),
		cmocka_unit_test(parameters_in_the_body),
	};
	return cmocka_run_group_tests_name("ptx errors", tests, NULL, NULL);
}
