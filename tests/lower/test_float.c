/* SPDX-License-Identifier: Apache-2.0
 *
 * Floating point where the kernel as a whole matters: the same operations in a kernel in which all of them flush
 * subnormals, so that AMD's mode does it, in one in which only some do, and in functions that are called; in every
 * rounding. On the emulator, against C with the host's rounding modes. Argument: a target.
 */
#include "tests/ptx/fixture.h"

#include <fenv.h>
#include <math.h>

#include "base/half.h"
#include "load.h"
#include "zluda_core/compiler/compiler.h"

enum { THREADS = 512 };

static const char *target_name;
static uint32_t inputs[THREADS][3];

static float flushed(float v)
{
	return fpclassify(v) == FP_SUBNORMAL ? copysignf(0, v) : v;
}

enum op { ADD, SUB, MUL, FMA, DIV, RCP, SQRT, MIN, MAX, ABS, NEG, LESS, COPY, NOT_NEGATIVE, IS_ZERO };

/* The host's operation in a rounding mode; volatile: the compiler knows nothing of modes. */
static float host(enum op op, volatile float a, volatile float b, volatile float c, int mode)
{
	volatile float r = 0;

	fesetround(mode);
	switch (op) {
	case ADD: r = a + b; break;
	case SUB: r = a - b; break;
	case MUL: r = a * b; break;
	case FMA: r = fmaf(a, b, c); break;
	case DIV: r = a / b; break;
	case RCP: r = 1 / a; break;
	case SQRT: r = sqrtf(a); break;
	case MIN: r = a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b; break;
	case MAX: r = a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b; break;
	case ABS: r = fabsf(a); break;
	case NEG: r = -a; break;
	case COPY: r = a; break;
	case NOT_NEGATIVE: r = a >= 0 ? 1 : 0; break;
	case IS_ZERO: r = a == 0 ? 1 : 0; break;
	case LESS: r = a < b ? 1 : 0; break;
	}
	fesetround(FE_TONEAREST);
	return r;
}

static const struct row {
	const char *statement; /* of fa, fb, fc, result in fa */
	enum op op;
	int mode;
	bool ftz, sat;
} rows[] = {
	{"add.ftz.f32 fa, fa, fb;", ADD, FE_TONEAREST, true, false},
	{"sub.rn.ftz.f32 fa, fa, fb;", SUB, FE_TONEAREST, true, false},
	{"mul.ftz.f32 fa, fa, fb;", MUL, FE_TONEAREST, true, false},
	{"mul.ftz.sat.f32 fa, fa, fb;", MUL, FE_TONEAREST, true, true},
	{"fma.rn.ftz.f32 fa, fa, fb, fc;", FMA, FE_TONEAREST, true, false},
	{"mul.ftz.f32 fa, fa, 0f3f800000; add.ftz.f32 fa, fa, fb;", ADD, FE_TONEAREST, true, false},
	{"rcp.rn.ftz.f32 fa, fa;", RCP, FE_TONEAREST, true, false},
	{"sqrt.rn.ftz.f32 fa, fa;", SQRT, FE_TONEAREST, true, false},
	{"min.ftz.f32 fa, fa, fb;", MIN, FE_TONEAREST, true, false},
	{"max.ftz.f32 fa, fa, fb;", MAX, FE_TONEAREST, true, false},
	{"abs.ftz.f32 fa, fa;", ABS, FE_TONEAREST, true, false},
	{"neg.ftz.f32 fa, fa;", NEG, FE_TONEAREST, true, false},
	{"set.lt.ftz.f32.f32 fa, fa, fb;", LESS, FE_TONEAREST, true, false},
	{"setp.lt.ftz.f32 p, fa, fb; selp.f32 fa, 0f3f800000, 0f00000000, p;", LESS, FE_TONEAREST, true,
	 false},
	{"slct.ftz.f32.f32 fa, 0f3f800000, 0f00000000, fa;", NOT_NEGATIVE, FE_TONEAREST, true, false},
	{"setp.eq.ftz.f32 p, fa, 0f00000000; selp.f32 fa, 0f3f800000, 0f00000000, p;", IS_ZERO, FE_TONEAREST,
	 true, false},
	{"call (fa), scaled, (fa, fb);", MUL, FE_TONEAREST, true, false},
	{"mov.u32 x, own; mov.u32 y, %tid.x; mad.lo.u32 x, y, 4, x; st.shared.f32 [x], fa; "
	 "red.shared.add.f32 [x], fb; ld.shared.f32 fa, [x];",
	 ADD, FE_TONEAREST, false, false},
	{"cvt.rn.f32.u32 fc, a; cvt.rzi.s32.f32 x, fb; neg.f32 fa, fa; abs.f32 fb, fb; neg.f32 fa, fa; "
	 "copysign.f32 fa, fa, fa;",
	 COPY, FE_TONEAREST, false, false},
	/* from here on not all flush, or not to nearest: FLUSHING of them do */
	{"div.rn.ftz.f32 fa, fa, fb;", DIV, FE_TONEAREST, true, false},
	{"add.rz.ftz.f32 fa, fa, fb;", ADD, FE_TOWARDZERO, true, false},
	{"mul.rp.ftz.f32 fa, fa, fb;", MUL, FE_UPWARD, true, false},
	{"fma.rm.ftz.f32 fa, fa, fb, fc;", FMA, FE_DOWNWARD, true, false},
	{"add.f32 fa, fa, fb;", ADD, FE_TONEAREST, false, false},
	{"mul.f32 fa, fa, fb;", MUL, FE_TONEAREST, false, false},
	{"fma.rn.f32 fa, fa, fb, fc;", FMA, FE_TONEAREST, false, false},
	{"add.rz.f32 fa, fa, fb;", ADD, FE_TOWARDZERO, false, false},
	{"sub.rm.f32 fa, fa, fb;", SUB, FE_DOWNWARD, false, false},
	{"add.rp.sat.f32 fa, fa, fb;", ADD, FE_UPWARD, false, true},
	{"mul.rm.f32 fa, fa, fb;", MUL, FE_DOWNWARD, false, false},
	{"mad.rz.f32 fa, fa, fb, fc;", FMA, FE_TOWARDZERO, false, false},
	{"fma.rp.f32 fa, fa, fb, fc;", FMA, FE_UPWARD, false, false},
	{"div.rz.f32 fa, fa, fb;", DIV, FE_TOWARDZERO, false, false},
	{"div.rp.f32 fa, fa, fb;", DIV, FE_UPWARD, false, false},
	{"rcp.rm.f32 fa, fa;", RCP, FE_DOWNWARD, false, false},
	{"sqrt.rp.f32 fa, fa;", SQRT, FE_UPWARD, false, false},
	{"min.f32 fa, fa, fb;", MIN, FE_TONEAREST, false, false},
	{"set.lt.f32.f32 fa, fa, fb;", LESS, FE_TONEAREST, false, false},
	{"mov.b64 d, {fa, fb}; mov.b64 e, {fb, fa}; add.rm.f32x2 d, d, e; mov.b64 {fa, fc}, d;", ADD,
	 FE_DOWNWARD, false, false},
	{"mov.b64 d, {fb, fa}; mov.b64 e, {fb, fb}; mov.b64 o2, {fc, fc}; fma.rn.ftz.f32x2 d, d, e, o2; "
	 "mov.b64 {fb, fa}, d;",
	 FMA, FE_TONEAREST, true, false},
};
enum { NROWS = sizeof(rows) / sizeof(rows[0]), FLUSHING = 19 };

static float expected(const struct row *r, const uint32_t *in)
{
	float v[3];

	for (unsigned k = 0; k < 3; k++)
		v[k] = r->ftz ? flushed(f32_from(in[k])) : f32_from(in[k]);
	float x = host(r->op, v[0], v[1], v[2], r->mode);
	x = r->ftz ? flushed(x) : x;
	return !r->sat ? x : x > 0 ? fminf(x, 1) : 0;
}

/* Whether a result that was rounded up to the smallest normal number counts as subnormal isn't said: AMD's hardware and
 * flushing afterwards may differ. */
static bool is_borderline(const struct row *r, float want)
{
	return r->ftz && fabsf(want) == 0x1p-126f;
}

static const char head[] =
	".version 8.6\n.target sm_100\n.address_size 64\n"
	".func (.reg .f32 q) scaled(.reg .f32 m, .reg .f32 n) { mul.ftz.f32 q, m, n; ret; }\n"
	".shared .align 4 .b8 own[512];\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
	".reg .pred p; .reg .b32 a, b, c, r, t, x, y; .reg .b64 d, e, o, o2; .reg .f32 fa, fb, fc;\n"
	"mov.u32 t, %ctaid.x; mov.u32 x, %ntid.x; mov.u32 y, %tid.x; mad.lo.u32 t, t, x, y;\n"
	"ld.param.u64 o, [out]; ld.param.u64 d, [in]; mul.wide.u32 e, t, 12; add.u64 d, d, e; "
	"mul.wide.u32 e, t, 4; add.u64 o, o, e;\n"
	"ld.global.u32 a, [d]; ld.global.u32 b, [d+4]; ld.global.u32 c, [d+8];\n";

static struct ptx_module *make_module(unsigned nrows)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	fputs(head, out);
	for (unsigned k = 0; k < nrows; k++)
		fprintf(out, "mov.b32 fa, a; mov.b32 fb, b; mov.b32 fc, c; %s\nst.global.f32 [o+%u], fa;\n",
			rows[k].statement, k * THREADS * 4);
	fputs("ret;\n}\n", out);
	fclose(out);
	struct ptx_module *m = parse_text(text);
	free(text);
	for (unsigned k = 0; k < m->nerrors; k++)
		print_error("%s %s\n", m->errors[k].where, m->errors[k].what);
	assert_int_equal(m->nerrors, 0);
	return m;
}

/* Near 1, near the smallest normal number, subnormals, and the edges. */
static void make_inputs(void)
{
	static const uint32_t edges[] = {0,          0x80000000, 1,          0x80000001, 0x7fffff,
					 0x807fffff, 0x800000,   0x80800000, 0x3f800000, 0xbf800000,
					 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000};
	static const uint32_t exponents[] = {0, 1, 2, 0x0c, 0x18, 0x3e, 0x40, 0x7e, 0x7f, 0x80, 0xc0, 0xfe};
	uint32_t state = 4711;

	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned k = 0; k < 3; k++) {
			state = state * 1664525 + 1013904223;
			uint32_t v = state >> 7 ^ state << 13;
			inputs[t][k] = v % 5 == 0 ? edges[(v >> 4) % 15]
						  : (v & 0x807fffff) | exponents[(v >> 9) % 12] << 23;
		}
}

static unsigned check_row(const struct row *r, const uint32_t *got)
{
	unsigned wrong = 0;

	for (unsigned t = 0; t < THREADS; t++) {
		float want = expected(r, inputs[t]);
		bool same =
			f32_bits(want) == got[t] || (want != want && f32_from(got[t]) != f32_from(got[t]));
		if (!same && !is_borderline(r, want) && !wrong++)
			print_error("%s %s of %08x %08x %08x gives %08x, not %08x\n", target_name,
				    r->statement, inputs[t][0], inputs[t][1], inputs[t][2], got[t],
				    f32_bits(want));
	}
	return wrong != 0;
}

static void run_rows(unsigned nrows, bool flushes)
{
	static const uint32_t zeros[NROWS * THREADS];
	struct device_memory memory = {0};
	struct kernel_args args = {0};
	struct amdgpu_fault fault = {0};
	struct lowered l;
	uint32_t *out;
	void *unused;
	unsigned wrong = 0;

	make_inputs();
	struct ptx_module *m = make_module(nrows);
	struct amdgpu_object *o = lower_and_load(&memory, m, "k", target_name, &l);
	assert_true((strstr(l.text, "\"denormal-fp-math-f32\"=\"preserve-sign") != NULL) == flushes);
	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, zeros, sizeof(zeros), &out));
	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, inputs, sizeof(inputs), &unused));
	const struct device_launch launch = {
		.object = o, .kernel = "k", .grid = {THREADS / 128, 1}, .block = {128, 1}, .threads = 1};
	if (device_run(&memory, &launch, &args, &fault, NULL))
		fail_msg("%s", fault.message);
	for (unsigned k = 0; k < nrows; k++)
		wrong += check_row(&rows[k], out + k * THREADS);
	assert_int_equal(wrong, 0);
	device_release(&memory);
	amdgpu_object_close(o);
	ptx_module_free(m);
	lowered_free(&l);
}

static void all_flush(void **state)
{
	(void)state;
	run_rows(FLUSHING, true);
}

static void some_flush(void **state)
{
	(void)state;
	run_rows(NROWS, false);
}

/* How often the instruction "v_..." stands there, alone or as half of a dual one. */
static unsigned count(const char *assembly, const char *instruction)
{
	char dual[64];
	unsigned n = 0;

	for (const char *at = assembly; (at = strstr(at, instruction)); at++)
		n += at[-1] == '\t';
	snprintf(dual, sizeof(dual), "v_dual_%s", instruction + 2);
	for (const char *at = assembly; (at = strstr(at, dual)); at++)
		n++;
	return n;
}

static const struct plain {
	const char *statement, *instruction;
} plain[] = {
	{"add.f32 fa, fa, fb;", "v_add_f32"},        {"mul.f32 fa, fa, fb;", "v_mul_f32"},
	{"add.ftz.f32 fa, fa, fb;", "v_add_f32"},    {"min.f32 fa, fa, fb;", "v_min"},
	{"max.ftz.f32 fa, fa, fb;", "v_max"},        {"rcp.approx.ftz.f32 fa, fa;", "v_rcp"},
	{"ex2.approx.ftz.f32 fa, fa;", "v_exp_f32"},
};

/* What AMD has an instruction for is this instruction: nothing flushes, quiets or compares beside it. min and max are done
 * after flushing, which they don't by themselves. */
static void plain_operations_stay_plain(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(plain) / sizeof(plain[0]); k++) {
		char text[2048];
		struct diag d = DIAG_INIT;
		struct lowered l;
		struct compiled c;
		snprintf(text, sizeof(text),
			 "%smov.b32 fa, a; mov.b32 fb, b; %s st.global.f32 [o], fa; ret;\n}\n", head,
			 plain[k].statement);
		struct ptx_module *m = parse_text(text);
		const struct lower_target *t = lower_target_find(target_name);
		assert_int_equal(lower_kernel(m, ptx_func_find(m, "k"), t, &l, &d), 0);
		assert_int_equal(compiler_run(&l, "k", t, COMPILE_ASSEMBLY, &c, &d), 0);
		bool flushes = strstr(plain[k].statement, "max.ftz");
		if (count(c.assembly, plain[k].instruction) != 1 && strncmp(target_name, "gfx12", 5))
			fail_msg("%s is\n%s", plain[k].statement, c.assembly);
		if (!flushes && (count(c.assembly, "v_cmp") || count(c.assembly, "v_cndmask")))
			fail_msg("%s is\n%s", plain[k].statement, c.assembly);
		compiled_free(&c);
		lowered_free(&l);
		ptx_module_free(m);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_flush), cmocka_unit_test(some_flush),
					   cmocka_unit_test(plain_operations_stay_plain)};

	if (argc < 2)
		return 2;
	target_name = argv[1];
	compiler_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
