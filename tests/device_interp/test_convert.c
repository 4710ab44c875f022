/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt between all integers, f16, bf16, f32 and f64, in every rounding mode, with
 * .sat and .ftz, against MPFR and C's integers; packed and 8-bit forms against
 * tables of the format (OCP 8-bit floating point).
 */
#include <stdio.h>
#include <string.h>

#include "tests/device_interp/float_ref.h"
#include "tests/device_interp/op_runner.h"

#define CASES 1200

struct num {
	const char *name;
	unsigned bits;
	bool sign;
	const struct fmt *f; /* NULL: integer */
};
static const struct num nums[] = {
	{"u8", 8, false, NULL},        {"s8", 8, true, NULL},       {"u16", 16, false, NULL},
	{"s16", 16, true, NULL},       {"u32", 32, false, NULL},    {"s32", 32, true, NULL},
	{"u64", 64, false, NULL},      {"s64", 64, true, NULL},     {"f16", 16, true, &fmt_f16},
	{"bf16", 16, true, &fmt_bf16}, {"f32", 32, true, &fmt_f32}, {"f64", 64, true, &fmt_f64},
};

static uint64_t in[CASES], got[CASES];

static void make_values(const struct num *s)
{
	for (uint32_t k = 0; k < CASES; k++)
		in[k] = s->f ? ref_value(s->f, k) : op_integer(s->bits, k);
	if (!s->f)
		return;
	/* values around the integers' limits and halves */
	for (uint32_t k = REF_EDGES; k < CASES; k += 3) {
		mpfr_t x;

		mpfr_init2(x, 64);
		mpfr_set_si_2exp(x, (long)(op_random() % 4096) - 2048, (long)(op_random() % 76) - 12,
				 MPFR_RNDN);
		in[k] = ref_encode(x, s->f, MPFR_RNDZ);
		mpfr_clear(x);
	}
}

/* Largest and smallest of an integer type, as 128-bit. */
static __int128 limit(const struct num *d, bool high)
{
	if (d->sign)
		return high ? ((__int128)1 << (d->bits - 1)) - 1 : -((__int128)1 << (d->bits - 1));
	return high ? ((__int128)1 << d->bits) - 1 : 0;
}

static uint64_t clamp(const struct num *d, __int128 v)
{
	return (uint64_t)(v > limit(d, true) ? limit(d, true) : v < limit(d, false) ? limit(d, false) : v);
}

static uint64_t int_from_float(const struct num *d, const struct num *s, uint64_t bits, mpfr_rnd_t rnd)
{
	mpfr_t x;
	__int128 v;

	/* ISA 9.7.9.21, Integer Notes */
	if (ref_is_nan(s->f, bits))
		return s->bits == 64 || d->bits == 64 ? 1ull << (d->bits - 1) : 0;
	mpfr_init2(x, 64);
	ref_decode(x, s->f, bits);
	mpfr_rint(x, x, rnd);
	if (mpfr_cmp_si_2exp(x, 1, 65) > 0)
		v = (__int128)1 << 66;
	else if (mpfr_cmp_si_2exp(x, -1, 65) < 0)
		v = -((__int128)1 << 66);
	else
		v = mpfr_signbit(x) ? (mpfr_neg(x, x, MPFR_RNDN), -(__int128)mpfr_get_uj(x, MPFR_RNDN))
				    : (__int128)mpfr_get_uj(x, MPFR_RNDN);
	mpfr_clear(x);
	return clamp(d, v);
}

static uint64_t float_from_int(const struct num *d, const struct num *s, uint64_t bits, mpfr_rnd_t rnd)
{
	mpfr_t x;

	mpfr_init2(x, 64);
	if (s->sign)
		mpfr_set_sj(x, op_sign(bits, s->bits), MPFR_RNDN);
	else
		mpfr_set_uj(x, bits, MPFR_RNDN);
	uint64_t r = ref_encode(x, d->f, rnd);

	mpfr_clear(x);
	return r;
}

static uint64_t saturate(const struct num *d, uint64_t bits)
{
	const uint64_t one = ((1ull << (d->f->exp_bits - 1)) - 1) << (d->f->bits - 1 - d->f->exp_bits);

	if (ref_is_nan(d->f, bits) || bits >> (d->f->bits - 1))
		return 0;
	return bits > one ? one : bits;
}

/* Rounded to an integer in its own format. */
static uint64_t round_in_place(const struct fmt *f, uint64_t bits, mpfr_rnd_t rnd)
{
	mpfr_t x;

	if (ref_is_nan(f, bits))
		return (1ull << (f->bits - 1)) - 1;
	mpfr_init2(x, f->prec);
	ref_decode(x, f, bits);
	mpfr_rint(x, x, rnd);
	uint64_t r = ref_encode(x, f, MPFR_RNDN);

	mpfr_clear(x);
	return r;
}

struct mode {
	const char *suffix;
	mpfr_rnd_t rnd;
	bool sat, ftz;
};
static const struct mode to_float[] = {{".rn", MPFR_RNDN, false, false},
				       {".rz", MPFR_RNDZ, false, false},
				       {".rm", MPFR_RNDD, false, false},
				       {".rp", MPFR_RNDU, false, false}};
static const struct mode to_int[] = {{".rni", MPFR_RNDN, false, false},
				     {".rzi", MPFR_RNDZ, false, false},
				     {".rmi", MPFR_RNDD, false, false},
				     {".rpi", MPFR_RNDU, false, false}};
static const struct mode plain[] = {{"", MPFR_RNDN, false, false}};
static const struct mode saturating[] = {{".sat", MPFR_RNDN, true, false}};
static const struct mode narrow_sat[] = {{".rn.sat", MPFR_RNDN, true, false}};
static const struct mode flushing[] = {{".rn.ftz", MPFR_RNDN, false, true}};
static const struct mode int_flushing[] = {{".rzi.ftz", MPFR_RNDZ, false, true}};

static uint64_t expected(const struct num *d, const struct num *s, const struct mode *m, uint64_t bits)
{
	uint64_t v[3] = {m->ftz && s->bits == 32 && s->f ? ref_flush(s->f, bits) : bits}, r;

	if (!d->f)
		return s->f     ? int_from_float(d, s, v[0], m->rnd)
		       : m->sat ? clamp(d, s->sign ? (__int128)op_sign(bits, s->bits) : (__int128)bits)
				: (uint64_t)(s->sign ? op_sign(bits, s->bits) : (int64_t)bits);
	if (!s->f)
		r = float_from_int(d, s, bits, m->rnd);
	else if (d->f == s->f && m->suffix[0] && m->suffix[3] == 'i')
		r = round_in_place(d->f, bits, m->rnd);
	else
		r = ref_compute(REF_MOVE, s->f, d->f, m->rnd, v);
	if (m->ftz && d->bits == 32)
		r = ref_flush(d->f, r);
	return m->sat ? saturate(d, r) : r;
}

static char letter(unsigned bits)
{
	return bits == 8 ? '8' : bits == 16 ? 'w' : bits == 32 ? '4' : 'd';
}

static void check(struct test_device *t, const struct num *d, const struct num *s, const struct mode *m)
{
	const uint64_t *src[OP_SOURCES] = {in};
	/* a narrow result is extended to its 16-bit register as its type says */
	const unsigned out = d->bits < 16 ? 16 : d->bits;
	char text[100], shape[4] = {letter(d->bits), ':', letter(s->bits), 0};

	snprintf(text, sizeof(text), "cvt%s.%s.%s d, a;", m->suffix, d->name, s->name);
	op_run(t, text, shape, 32, src, got, CASES);
	for (uint32_t k = 0; k < CASES; k++) {
		uint64_t want = expected(d, s, m, in[k]), g = op_mask(got[k], out);

		want = op_mask(d->sign && !d->f ? (uint64_t)op_sign(op_mask(want, d->bits), d->bits)
						: op_mask(want, d->bits),
			       out);
		if (g != want && !(d->bits == 64 && d->f && ref_is_nan(d->f, g) && ref_is_nan(d->f, want)))
			fail_msg("%s a=%llx: %llx, expected %llx", text, (unsigned long long)in[k],
				 (unsigned long long)g, (unsigned long long)want);
	}
}

static void check_modes(struct test_device *t, const struct num *d, const struct num *s, const struct mode *m,
			unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		check(t, d, s, &m[k]);
}

static void check_pair(struct test_device *t, const struct num *d, const struct num *s)
{
	make_values(s);
	if (!d->f && !s->f) {
		check_modes(t, d, s, plain, 1);
		check_modes(t, d, s, saturating, 1);
	} else if (!d->f) {
		check_modes(t, d, s, to_int, 4);
		if (s->bits == 32)
			check_modes(t, d, s, int_flushing, 1);
	} else if (!s->f) {
		check_modes(t, d, s, to_float, 4);
		check_modes(t, d, s, narrow_sat, 1);
	} else if (d->f == s->f) {
		if (d->f != &fmt_bf16)
			check_modes(t, d, s, to_int, 4);
	} else if (d->bits > s->bits) {
		check_modes(t, d, s, plain, 1);
		check_modes(t, d, s, saturating, 1);
	} else if (d->bits < s->bits) {
		check_modes(t, d, s, to_float, 4);
		check_modes(t, d, s, narrow_sat, 1);
		if (d->bits == 32 || s->bits == 32)
			check_modes(t, d, s, flushing, 1);
	}
}

static void all_pairs(const char *options)
{
	const unsigned n = sizeof(nums) / sizeof(nums[0]);
	struct test_device t;

	test_open(&t, options);
	for (unsigned d = 0; d < n; d++)
		for (unsigned s = 0; s < n; s++)
			check_pair(&t, &nums[d], &nums[s]);
	test_close(&t);
}

static void vector(void **state)
{
	(void)state;
	all_pairs("workers=1");
}

static void scalar(void **state)
{
	(void)state;
	all_pairs("workers=1,simd=0");
}

/* Forms with a few well-known values each. */
static const struct {
	const char *text, *shape;
	uint64_t a, b, c, want;
} values[] = {
	/* first source is the upper half */
	{"cvt.rn.f16x2.f32 d, a, b;", "4:44", 0x3f800000, 0xc0000000, 0, 0x3c00c000},
	{"cvt.rn.bf16x2.f32 d, a, b;", "4:44", 0x3f800000, 0x3fc00000, 0, 0x3f803fc0},
	{"cvt.rn.relu.f16x2.f32 d, a, b;", "4:44", 0xbf800000, 0x3f800000, 0, 0x00003c00},
	{"cvt.rz.bf16x2.f32 d, a, b;", "4:44", 0x3f80ffff, 0x3f808000, 0, 0x3f803f80},
	/* tf32: ten bits of fraction, ties away */
	{"cvt.rna.tf32.f32 d, a;", "4:4", 0x3f801000, 0, 0, 0x3f802000},
	{"cvt.rna.tf32.f32 d, a;", "4:4", 0x3f800fff, 0, 0, 0x3f800000},
	{"cvt.rna.tf32.f32 d, a;", "4:4", 0xbf801000, 0, 0, 0xbf802000},
	/* e4m3: 448 = 0x7e is the largest, 1 = 0x38, smallest subnormal 2^-9 = 0x01, NaN 0x7f */
	{"cvt.rn.satfinite.e4m3x2.f32 d, a, b;", "w:44", 0x3f800000, 0x43e00000, 0, 0x387e},
	{"cvt.rn.satfinite.e4m3x2.f32 d, a, b;", "w:44", 0x47000000, 0xc7000000, 0, 0x7efe},
	{"cvt.rn.satfinite.e4m3x2.f32 d, a, b;", "w:44", 0x3b000000, 0x7fc00000, 0, 0x017f},
	/* e5m2: 57344 = 0x7b, 1 = 0x3c, 2^-16 = 0x01 */
	{"cvt.rn.satfinite.e5m2x2.f32 d, a, b;", "w:44", 0x3f800000, 0x47600000, 0, 0x3c7b},
	{"cvt.rn.satfinite.e5m2x2.f32 d, a, b;", "w:44", 0x7f000000, 0x37800000, 0, 0x7b01},
	{"cvt.rn.f16x2.e4m3x2 d, a;", "4:w", 0x387e, 0, 0, 0x3c005f00},
	{"cvt.rn.f16x2.e5m2x2 d, a;", "4:w", 0x3c01, 0, 0, 0x3c000100},
	{"cvt.rn.satfinite.e4m3x2.f16x2 d, a;", "w:4", 0x3c005f00, 0, 0, 0x387e},
	/* cvt.pack: first source above the second, the third's low bits above both */
	{"cvt.pack.sat.u16.s32 d, a, b;", "4:44", 70000, (uint64_t)-5, 0, 0xffff0000},
	{"cvt.pack.sat.s16.s32 d, a, b;", "4:44", 40000, (uint64_t)-40000, 0, 0x7fff8000},
	{"cvt.pack.sat.u8.s32.b32 d, a, b, c;", "4:444", 300, 7, 0x1234abcd, 0xabcdff07},
	{"cvt.pack.sat.s8.s32.b32 d, a, b, c;", "4:444", 200, (uint64_t)-200, 0x0000ffff, 0xffff7f80},
	/* narrow sources out of wide registers, and into wide ones (ISA 9.4.1) */
	{"cvt.u32.u8 d, a;", "4:4", 0x12345678, 0, 0, 0x78},
	{"cvt.s32.s8 d, a;", "4:4", 0x12345680, 0, 0, 0xffffff80},
	{"cvt.s64.s16 d, a;", "d:4", 0x12348000, 0, 0, 0xffffffffffff8000},
	{"cvt.u8.u32 d, a;", "4:4", 0x123456f8, 0, 0, 0xf8},
	{"cvt.s8.s32 d, a;", "4:4", 0x123456f8, 0, 0, 0xfffffff8},
	/* mov packs low first */
	{"mov.b64 d, {a, b};", "d:44", 0x11111111, 0x22222222, 0, 0x2222222211111111},
	{"{ .reg .b32 x; mov.b64 {_, x}, a; mov.b32 d, x; }", "4:d", 0x2222222211111111, 0, 0, 0x22222222},
	{"{ .reg .b16 x; mov.b32 {x, _}, a; mov.b16 d, x; }", "w:4", 0x22221111, 0, 0, 0x1111},
	{"mov.b32 d, {a, b};", "4:ww", 0x1111, 0x2222, 0, 0x22221111},
};

static void well_known(void **state)
{
	struct test_device t;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned r = 0; r < sizeof(values) / sizeof(values[0]); r++) {
		const uint64_t *src[OP_SOURCES] = {&values[r].a, &values[r].b, &values[r].c};
		uint64_t d;

		op_run(&t, values[r].text, values[r].shape, 32, src, &d, 1);
		if (d != values[r].want)
			fail_msg("%s a=%llx b=%llx: %llx, expected %llx", values[r].text,
				 (unsigned long long)values[r].a, (unsigned long long)values[r].b,
				 (unsigned long long)d, (unsigned long long)values[r].want);
	}
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector),
		cmocka_unit_test(scalar),
		cmocka_unit_test(well_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
