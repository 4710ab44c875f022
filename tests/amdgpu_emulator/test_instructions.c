/* SPDX-License-Identifier: Apache-2.0
 *
 * Single instructions: instructions.def's lines, assembled by llvm-mc-19 for one target, each in a kernel of its own
 * around which inputs and results are moved. usage: test_instructions LLVM-MC LD.LLD TARGET
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/half.h"
#include "tests/amdgpu_emulator/assemble.h"

enum { LANES = 64, INPUTS = 8, RESULTS = 8, ROUNDS = 6 };
enum kind { U32, U64, F32, F64, H16, MASK, S32, S64, SCC };

#define OLD 0x11223344u

/* One lane of one wave: its inputs and those of the wave's others. */
struct lane {
	const uint32_t *in, *wave;
	uint32_t l, high; /* high: what a 16-bit result keeps of OLD, or 0 */
	uint32_t nan16;   /* the NaN that the target gave, of a 16-bit result in an SGPR */
	uint64_t exec;    /* all lanes of the wave */
};

static uint32_t reversed(uint32_t v)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i++)
		r |= (v >> i & 1) << (31 - i);
	return r;
}

static uint32_t quads(uint32_t v)
{
	uint32_t r = 0;

	for (int i = 0; i < 8; i++)
		r |= (uint32_t)((v >> 4 * i & 15) != 0) << i;
	return r;
}

static uint64_t doubled(uint32_t v)
{
	uint64_t r = 0;

	for (int i = 0; i < 64; i++)
		r |= (uint64_t)(v >> i / 2 & 1) << i;
	return r;
}

static uint32_t saturated(int64_t v)
{
	return (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

static uint32_t median(int32_t a, int32_t b, int32_t c)
{
	int32_t lo = a < b ? a : b, hi = a < b ? b : a;

	return (uint32_t)(c < lo ? lo : c > hi ? hi : c);
}

/* V_CMP_CLASS's bit of a binary32. */
static uint32_t classes(uint32_t v)
{
	float f = f32_from(v);
	int neg = v >> 31;

	if (f != f)
		return v & 0x400000 ? 2 : 1;
	switch (fpclassify((double)f) == FP_NORMAL && !isnormal(f) ? FP_SUBNORMAL : fpclassify(f)) {
	case FP_INFINITE: return neg ? 4 : 512;
	case FP_NORMAL: return neg ? 8 : 256;
	case FP_SUBNORMAL: return neg ? 16 : 128;
	default: return neg ? 32 : 64;
	}
}

static bool is_snan(uint32_t v)
{
	return (v & 0x7f800000) == 0x7f800000 && (v & 0x3fffff) && !(v & 0x400000);
}

/* maxNum, with +0 above -0. */
static float bigger(float a, float b)
{
	if (a != a)
		return b;
	if (b != b)
		return a;
	return a > b || (a == b && !signbit(a)) ? a : b;
}

static float flushed(float f)
{
	return f != 0 && fabsf(f) < 0x1p-126f ? copysignf(0, f) : f;
}

static float half(uint32_t v)
{
	return f16_to_f32((uint16_t)v);
}

static uint32_t half_bits(double v)
{
	_Float16 h = (_Float16)v;
	uint16_t u;

	memcpy(&u, &h, 2);
	return u;
}

static uint32_t bytes_dot(uint32_t a, uint32_t b)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i += 8)
		r += (a >> i & 255) * (b >> i & 255);
	return r;
}

static int32_t mixed_dot(uint32_t a, uint32_t b)
{
	int32_t r = 0;

	for (int i = 0; i < 32; i += 8)
		r += (int8_t)(a >> i) * (int32_t)(b >> i & 255);
	return r;
}

static uint32_t permuted(uint32_t a, uint32_t b, uint32_t select)
{
	uint64_t both = (uint64_t)a << 32 | b;
	uint32_t r = 0;

	for (int i = 0; i < 32; i += 8) {
		uint32_t s = select >> i & 255, byte;
		if (s >= 13)
			byte = 255;
		else if (s == 12)
			byte = 0;
		else if (s >= 8)
			byte = both >> (16 * (s - 8) + 15) & 1 ? 255 : 0;
		else
			byte = both >> 8 * s & 255;
		r |= byte << i;
	}
	return r;
}

static uint32_t byte_distance(uint32_t a, uint32_t b, bool masked)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i += 8)
		if (!masked || (b >> i & 255))
			r += (uint32_t)abs((int)(a >> i & 255) - (int)(b >> i & 255));
	return r;
}

static uint32_t bytes_lerp(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i += 8)
		r |= ((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) / 2 << i;
	return r;
}

static uint32_t nibbles_dot(uint32_t a, uint32_t b)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i += 4)
		r += (a >> i & 15) * (b >> i & 15);
	return r;
}

static int32_t least(int32_t a, int32_t b, int32_t c)
{
	int32_t m = a < b ? a : b;

	return m < c ? m : c;
}

static int32_t clamped(uint32_t v, int32_t low, int32_t high)
{
	return (int32_t)v < low ? low : (int32_t)v > high ? high : (int32_t)v;
}

/* V_CUBEID. */
static float face(float x, float y, float z)
{
	if (fabsf(z) >= fabsf(x) && fabsf(z) >= fabsf(y))
		return z < 0 ? 5 : 4;
	if (fabsf(y) >= fabsf(x))
		return y < 0 ? 3 : 2;
	return x < 0 ? 1 : 0;
}

/* V_DIV_FIXUP of quotient, denominator, numerator; a quotient that could not be had means an overflow. */
static float fixed_up(float q, float d, float n)
{
	float sign = !signbit(d) == !signbit(n) ? 1 : -1;
	int distance = (int)(f32_bits(n) >> 23 & 255) - (int)(f32_bits(d) >> 23 & 255);

	if (n != n || d != d || (d == 0 && n == 0) || (isinf(d) && isinf(n)))
		return NAN;
	if (d == 0 || isinf(n))
		return sign * INFINITY;
	if (isinf(d) || n == 0 || distance < -150)
		return sign * 0;
	return q != q ? sign * INFINITY : copysignf(q, sign);
}

#define FBITS(f)   f32_bits(f)
#define DBITS(f)   f64_bits(f)
#define HBITS(f)   half_bits((double)(f))
#define lane_of(n) x->wave[(n)*INPUTS]
#define BEFORE     lane_of(l - 1)
#define FIRST      lane_of(0)

#define NAME_(line) want_##line
#define NAME(line)  NAME_(line)
#define UNUSED                                                                                         \
	(void)b, (void)c, (void)d, (void)l, (void)in, (void)fa, (void)fb, (void)fc, (void)fe, (void)A, \
		(void)B, (void)da, (void)db, (void)dc, (void)ha, (void)hb, (void)hc
#define I(targets, kind, assembly, expect)                                                                 \
	static uint64_t NAME(__LINE__)(const struct lane *x)                                               \
	{                                                                                                  \
		const uint32_t a = x->in[0], b = x->in[1], c = x->in[2], d = x->in[3], l = x->l,           \
			       in = l % 8 < 4;                                                             \
		const float fa = f32_from(a), fb = f32_from(b), fc = f32_from(c), fe = f32_from(x->in[4]); \
		const uint64_t A = a | (uint64_t)b << 32, B = c | (uint64_t)d << 32;                       \
		const double da = f64_from(A), db = f64_from(B);                                           \
		const double dc = f64_from(x->in[4] | (uint64_t)x->in[5] << 32);                           \
		const float ha = half(a), hb = half(b), hc = half(c);                                      \
		UNUSED;                                                                                    \
		return expect;                                                                             \
	}
#include "tests/amdgpu_emulator/instructions.def"
#undef I

#define I(targets, kind, assembly, expect) {targets, kind, assembly, NAME(__LINE__)},
static const struct instruction {
	uint8_t targets;
	enum kind kind;
	const char *assembly;
	uint64_t (*want)(const struct lane *x);
} instructions[] = {
#include "tests/amdgpu_emulator/instructions.def"
};
#undef I
enum { COUNT = sizeof instructions / sizeof *instructions };

static const struct asm_target *target;
static struct device_memory memory;
static struct amdgpu_object *object;
static uint64_t inputs_address, results_address;
static uint32_t *inputs, *results;

/* ---- assembling */

static void write_kernel(struct assembly *asmb, unsigned number)
{
	FILE *f = asmb->text;
	char name[16];

	snprintf(name, sizeof name, "t%u", number);
	asm_kernel_begin(asmb, name);
	fputs(" s_load_dwordx2 s[4:5], s[0:1], 0x0\n s_load_dwordx2 s[6:7], s[0:1], 0x8\n"
	      " v_lshlrev_b32 v20, 5, v0\n global_load_dwordx4 v[8:11], v20, s[4:5]\n"
	      " global_load_dwordx4 v[12:15], v20, s[4:5] offset:16\n",
	      f);
	for (unsigned i = 0; i < INPUTS; i++)
		fprintf(f, " v_readfirstlane_b32 s%u, v%u\n", 12 + i, 8 + i);
	fputs(" v_mov_b32 v2, 0x11223344\n v_mov_b32 v3, 0\n s_mov_b32 s20, 0\n s_mov_b32 s21, 0\n"
	      " s_mov_b32 vcc_lo, 0x0f0f0f0f\n s_mov_b32 vcc_hi, 0x0f0f0f0f\n s_cmp_eq_u32 s20, s20\n ",
	      f);
	asm_body(asmb, instructions[number].assembly);
	fputs(" s_cselect_b32 s30, 1, 0\n s_mov_b32 exec_lo, -1\n s_mov_b32 exec_hi, -1\n v_mov_b32 v4, "
	      "vcc_lo\n v_mov_b32 v5, vcc_hi\n v_mov_b32 v16, s20\n v_mov_b32 v17, s21\n"
	      " v_mov_b32 v18, s30\n global_store_dwordx4 v20, v[2:5], s[6:7]\n"
	      " global_store_dwordx3 v20, v[16:18], s[6:7] offset:16\n",
	      f);
	asm_kernel_end(asmb, name);
}

static struct amdgpu_object *assemble(const char *mc, const char *lld)
{
	struct assembly a;

	if (asm_begin(&a, target))
		return NULL;
	for (unsigned i = 0; i < COUNT; i++)
		if (instructions[i].targets & target->bit)
			write_kernel(&a, i);
	return asm_load(&a, mc, "", lld, &memory);
}

/* ---- running */

static uint32_t state = 12345;

static uint32_t rnd(void)
{
	state = state * 1664525 + 1013904223;
	return state ^ state >> 13;
}

static uint32_t input(unsigned round, unsigned lane, unsigned word)
{
	static const uint32_t special[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000,
					   0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
					   0x3f800000, 0xbf000000, 0xffffffff, 0x7fffffff, 0x3fc03c00,
					   0x40200000, 0x7ff00000, 0x41efffff, 0xc1e00000, 5};
	uint32_t v = rnd();

	if (round < 3)
		return special[(lane * (word + 1) + round * 7 + v % (1 + round)) %
			       (sizeof special / sizeof *special)];
	if (round == 3) /* numbers of ordinary size */
		return word % 2 ? 0x3f000000 + (v >> 6) : 0x3c003c00 + (v & 0x0fff0fff);
	return v;
}

static bool same(enum kind kind, uint64_t got, uint64_t want)
{
	float f = f32_from((uint32_t)got), g = f32_from((uint32_t)want);
	double p = f64_from(got), q = f64_from(want);

	if (kind == F32 && f != f && g != g)
		return true;
	if (kind == F64 && p != p && q != q)
		return true;
	if (kind == H16) {
		f = half((uint32_t)got);
		g = half((uint32_t)want);
		return (f != f && g != g) || (uint16_t)got == (uint16_t)want;
	}
	return got == want;
}

static void check_lane(const struct instruction *t, unsigned lane)
{
	unsigned base = lane / target->wave * target->wave;
	const uint32_t *r = results + lane * RESULTS;
	bool scalar = t->kind >= S32;
	struct lane x = {.in = inputs + (scalar ? base : lane) * INPUTS,
			 .wave = inputs + base * INPUTS,
			 .l = lane - base,
			 .high = target->bit & G9 ? 0 : OLD,
			 .nan16 = r[4],
			 .exec = target->wave == 64 ? ~0ull : 0xffffffff};
	uint64_t want = t->want(&x), got;

	switch (t->kind) {
	case U64:
	case F64: got = r[0] | (uint64_t)r[1] << 32; break;
	case MASK:
		got = (r[2] | (uint64_t)r[3] << 32) >> x.l & 1;
		want = want != 0;
		break;
	case S32: got = r[4]; break;
	case S64: got = r[4] | (uint64_t)r[5] << 32; break;
	case SCC: got = r[6]; break;
	default:
		got = r[0];
		want = (uint32_t)want;
		break;
	}
	if (t->kind == S32)
		want = (uint32_t)want;
	if (!same(t->kind, got, want))
		fail_msg("%s: `%s`, lane %u, inputs %08x %08x %08x %08x: got %llx, expected %llx",
			 target->name, t->assembly, lane, x.in[0], x.in[1], x.in[2], x.in[3],
			 (unsigned long long)got, (unsigned long long)want);
}

static void test_instruction(void **arg)
{
	const struct instruction *t = *arg;
	char name[16];
	struct kernel_args k = {0};
	struct amdgpu_fault f;

	snprintf(name, sizeof name, "t%d", (int)(t - instructions));
	ARGS_VALUE(&k, uint64_t, inputs_address);
	ARGS_VALUE(&k, uint64_t, results_address);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct device_launch l = {
			.object = object, .kernel = name, .grid = {1, 1}, .block = {LANES, 1}, .threads = 1};
		for (unsigned i = 0; i < LANES * INPUTS; i++)
			inputs[i] = input(round, i / INPUTS, i % INPUTS);
		if (device_run(&memory, &l, &k, &f, NULL))
			fail_msg("%s", f.message);
		for (unsigned i = 0; i < LANES; i++)
			check_lane(t, i);
	}
}

static int run_all(void)
{
	static struct CMUnitTest tests[COUNT];
	unsigned n = 0;

	inputs_address = device_buffer(&memory, NULL, LANES * INPUTS * 4, &inputs);
	results_address = device_buffer(&memory, NULL, LANES * RESULTS * 4, &results);
	for (unsigned i = 0; i < COUNT; i++)
		if (instructions[i].targets & target->bit)
			tests[n++] = (struct CMUnitTest){instructions[i].assembly, test_instruction, NULL,
							 NULL, (void *)&instructions[i]};
	return _cmocka_run_group_tests(target->name, tests, n, NULL, NULL);
}

int main(int argc, char **argv)
{
	int rc = 1;

	target = argc == 4 ? asm_target_find(argv[3]) : NULL;
	if (!target)
		return 1;
	object = assemble(argv[1], argv[2]);
	if (object) {
		rc = run_all();
		device_release(&memory);
		amdgpu_object_close(object);
	}
	return rc != 0;
}
