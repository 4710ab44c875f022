/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled code on the emulator: one kernel with a statement per row of the table, r = f(a, b, c), executed by two
 * blocks of 96 threads, compared with what C's arithmetic and the ISA's pseudo-code say. Argument: a target.
 */
#include "tests/ptx/fixture.h"

#include <fenv.h>
#include <math.h>

#include "base/half.h"
#include "load.h"
#include "zluda_core/compiler/compiler.h"

enum { BLOCK = 96, BLOCKS = 2, THREADS = BLOCK * BLOCKS };

static const char *target_name;
static uint32_t inputs[THREADS][3];

#define f f32_from
#define u f32_bits

static float ftz(float v)
{
	return fpclassify(v) == FP_SUBNORMAL ? copysignf(0, v) : v;
}

static float sat(float v)
{
	return v != v || v <= 0 ? 0 : v > 1 ? 1 : v;
}

#define S(x) ((int32_t)(x))
#define CASE(name, expr)                                                     \
	static uint32_t name(uint32_t a, uint32_t b, uint32_t c, unsigned t) \
	{                                                                    \
		(void)a, (void)b, (void)c, (void)t;                          \
		return (uint32_t)(expr);                                     \
	}

static int64_t clamp32(int64_t v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}
CASE(add, a + b)
CASE(add_sat, clamp32((int64_t)S(a) + S(b)))
CASE(sub_sat, clamp32((int64_t)S(a) - S(b)))
CASE(mul_lo, a *b)
CASE(mul_hi_u, (uint64_t)a *b >> 32)
CASE(mul_hi_s, (int64_t)S(a) * S(b) >> 32)
CASE(mad_wide_hi, ((uint64_t)a * b + c) >> 32)
CASE(sad_u, (a > b ? a - b : b - a) + c)
CASE(sad_s, (S(a) > S(b) ? a - b : b - a) + c)
CASE(div_u, a / (b | 1))
/* Of numbers that are negative as signed ones, and have few bits then. */
CASE(rem_extended, (uint64_t)(S(a) >> 31) % ((uint64_t)(int64_t)S(b) | 1))
CASE(div_extended, (uint32_t)(S(a) >> 31) / ((uint32_t)(int32_t)(int8_t)b | 1))
/* Words of 64 bits that are all ones. */
CASE(inserted, (c & 255) < 32 ? (a | ~0u << (c & 31)) + 1 : a + 1)
CASE(or_ones, 32 + __builtin_popcount(a | ~b))
CASE(div_s, (int64_t)S(a) / S(b | 1))
CASE(rem_s, (int64_t)S(a) % S(b | 1))
CASE(min_s, S(a) < S(b) ? a : b)
CASE(max_u, a > b ? a : b)
CASE(popc, __builtin_popcount(a))
CASE(clz, a ? __builtin_clz(a) : 32)
CASE(bfind_u, a ? 31 - __builtin_clz(a) : -1)
static uint32_t bfind_s(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
	return bfind_u(S(a) < 0 ? ~a : a, b, c, t);
}
/* The ISA's own loops (9.7.1.19, .20). */
static uint32_t bfe(uint32_t a, unsigned pos, unsigned len, bool is_signed)
{
	unsigned last = pos + len - 1 < 31 ? pos + len - 1 : 31;
	unsigned fill = !is_signed || len == 0 ? 0 : a >> last & 1;
	uint32_t d = 0;

	for (unsigned k = 0; k < 32; k++)
		d |= (k < len && pos + k <= 31 ? a >> (pos + k) & 1 : fill) << k;
	return d;
}
CASE(bfe_u, bfe(a, b & 255, c & 255, false))
CASE(bfe_s, bfe(a, b & 255, c & 255, true))
CASE(bfe_s_in, bfe(a, b & 31, c & 31, true))
static uint32_t bfi(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
	unsigned pos = c & 31, len = c >> 8 & 31;

	(void)t;
	for (unsigned k = 0; k < len && pos + k <= 31; k++)
		b = (b & ~(1u << (pos + k))) | (a >> k & 1) << (pos + k);
	return b;
}
CASE(shl, (b & 63) < 32 ? a << (b & 63) : 0)
CASE(shr_u, (b & 63) < 32 ? a >> (b & 63) : 0)
CASE(shr_s, S(a) >> ((b & 63) < 32 ? (b & 63) : 31))
CASE(shf_l_wrap, (uint64_t)b << 32 >> 32 << (c & 31) >> 0 | (c & 31 ? (uint64_t)a >> (32 - (c & 31)) : 0))
CASE(shf_r_clamp, (c & 63) > 31 ? b : (((uint64_t)b << 32 | a) >> (c & 63)))
CASE(lop3, (a & b) ^ (~a & c))
CASE(lop3_other, (a | ~b) & (b ^ c))
static uint32_t prmt(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
	uint64_t both = (uint64_t)b << 32 | a;
	uint32_t d = 0;

	(void)t;
	for (unsigned k = 0; k < 4; k++) {
		unsigned digit = c >> 4 * k & 15;
		uint32_t byte = both >> 8 * (digit & 7) & 255;
		d |= (digit & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * k;
	}
	return d;
}
/* Bytes of b:a for places 3 to 0, by the tables of 9.7.9.7, as digits of c's lowest two bits. */
static uint32_t by_table(uint32_t a, uint32_t b, uint32_t c, const uint16_t *digits, unsigned t)
{
	return prmt(a, b, digits[c & 3], t);
}
CASE(prmt_f4e, by_table(a, b, c, (const uint16_t[]){0x3210, 0x4321, 0x5432, 0x6543}, t))
CASE(prmt_b4e, by_table(a, b, c, (const uint16_t[]){0x5670, 0x6701, 0x7012, 0x0123}, t))
CASE(prmt_rc8, by_table(a, b, c, (const uint16_t[]){0x0000, 0x1111, 0x2222, 0x3333}, t))
CASE(prmt_ecl, by_table(a, b, c, (const uint16_t[]){0x3210, 0x3211, 0x3222, 0x3333}, t))
CASE(prmt_ecr, by_table(a, b, c, (const uint16_t[]){0x0000, 0x1110, 0x2210, 0x3210}, t))
CASE(prmt_rc16, by_table(a, b, c, (const uint16_t[]){0x1010, 0x3232, 0x1010, 0x3232}, t))
static uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
	(void)t;
	for (unsigned k = 0; k < 4; k++)
		c += (a >> 8 * k & 255) * (uint32_t)(int8_t)(b >> 8 * k);
	return c;
}
CASE(dp2a_hi, c + (uint32_t)((int16_t)a * (int32_t)(b >> 16 & 255)) +
		      (uint32_t)((int16_t)(a >> 16) * (int32_t)(b >> 24)))
/* Of parts 0 to 3: a.b0 and a.b3, a.b1 and b.b3, a.b2 and a.b1, a.b3 and b.b1. */
static uint32_t averages(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
	uint32_t other = (a >> 24) | (b >> 24) << 8 | (a >> 8 & 255) << 16 | (b >> 8 & 255) << 24, r = 0;

	(void)c, (void)t;
	for (unsigned k = 0; k < 32; k += 8)
		r |= ((a >> k & 255) + (other >> k & 255) + 1) / 2 << k;
	return r;
}
CASE(second, b)
CASE(part_of_second, b &(0xffffffffu >> (32 - 8 * (t % 4 + 1))))
CASE(second_or_zero, t & 1 ? 0 : b)
CASE(szext_s, (c & 31) ? (uint32_t)((int32_t)(a << (32 - (c & 31))) >> (32 - (c & 31))) : 0)
CASE(carry, (((uint64_t)a << 32 | b) + ((uint64_t)c << 32 | a)) >> 32)
CASE(borrow, (((uint64_t)a << 32 | b) - ((uint64_t)c << 32 | a)) >> 32)
CASE(fadd, u(f(a) + f(b)))
CASE(fmul, u(f(a) * f(b)))
CASE(ffma, u(fmaf(f(a), f(b), f(c))))
CASE(fmul_ftz, u(ftz(ftz(f(a)) * ftz(f(b)))))
CASE(fadd_sat, u(sat(f(a) + f(b))))
CASE(fdiv, u(f(a) / f(b)))
CASE(fsqrt, u(sqrtf(f(a))))
CASE(frcp, u(1.0f / f(a)))
static uint32_t rounded_sum(uint32_t a, uint32_t b, int mode)
{
	volatile float x = f(a), y = f(b), sum;

	fesetround(mode);
	sum = x + y;
	fesetround(FE_TONEAREST);
	return u(sum);
}
CASE(fadd_rz, rounded_sum(a, b, FE_TOWARDZERO))
CASE(fmin_, u(fminf(f(a), f(b))))
CASE(fmax_, u(fmaxf(f(a), f(b))))
CASE(fneg_ftz, u(-ftz(f(a))))
static uint32_t to_s32(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
	double v = nearbyint((double)f(a));

	(void)b, (void)c, (void)t;
	return v != v ? 0 : v >= 0x1p31 ? INT32_MAX : v < -0x1p31 ? 1u << 31 : (uint32_t)(int32_t)v;
}
static uint32_t to_u32(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
	double v = trunc((double)f(a));

	(void)b, (void)c, (void)t;
	return v != v || v < 0 ? 0 : v >= 0x1p32 ? UINT32_MAX : (uint32_t)v;
}
CASE(from_s32, u((float)S(a)))
CASE(from_u32, u((float)a))
CASE(sat_u8, S(a) < 0 ? 0 : S(a) > 255 ? 255 : a)
CASE(sext_s16, (int16_t)a)
CASE(set_ltu, f(a) < f(b) || f(a) != f(a) || f(b) != f(b) ? 0xffffffff : 0)
CASE(setp_and, S(a) < S(b) && (c & 1) ? a : b)
CASE(setp_not, !(S(a) < S(b)) && (c & 1) ? a : b)
CASE(f64_sum, (uint64_t)((double)a * 3.0 + (double)b) >> 4)
/* Across the warp: thread t's block has rows of 32. */
CASE(laneid, t % BLOCK % 32)
CASE(warpid, t % BLOCK / 32)
CASE(lanemask, (1u << t % BLOCK % 32) - 1)
CASE(bfly, inputs[(t & ~31u) | ((t ^ 5) & 31)][0])
CASE(down, inputs[t % 32 + 7 > 31 ? t : t + 7][0])
CASE(up_8, inputs[t % 8 < 3 ? t : t - 3][0])
CASE(idx, inputs[(t & ~31u) | (inputs[t][1] & 31)][0])
static uint32_t ballot_odd(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
	uint32_t r = 0;

	(void)a, (void)b, (void)c;
	for (unsigned k = 0; k < 32; k++)
		r |= (inputs[(t & ~31u) | k][0] & 1) << k;
	return r;
}
static uint32_t warp_sum(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
	uint32_t r = 0;

	(void)a, (void)b, (void)c;
	for (unsigned k = 0; k < 32; k++)
		r += inputs[(t & ~31u) | k][0];
	return r;
}
static uint32_t warp_min(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
	int32_t r = INT32_MAX;

	(void)a, (void)b, (void)c;
	for (unsigned k = 0; k < 32; k++)
		r = S(inputs[(t & ~31u) | k][0]) < r ? S(inputs[(t & ~31u) | k][0]) : r;
	return (uint32_t)r;
}
static uint32_t match_low(uint32_t a, uint32_t b, uint32_t c, unsigned t)
{
	uint32_t r = 0;

	(void)b, (void)c;
	for (unsigned k = 0; k < 32; k++)
		r |= (uint32_t)((inputs[(t & ~31u) | k][0] & 3) == (a & 3)) << k;
	return r;
}
/* Half of the threads are in the branch. */
CASE(active_even, t & 1 ? 0 : 0x55555555)
CASE(shared_turn, inputs[t / BLOCK * BLOCK + (BLOCK - 1 - t % BLOCK)][1])
CASE(table, a % 4 * 10 + 5)
CASE(called, a * 3 + b)
CASE(constant, 7 + a % 4)

static const struct row {
	const char *name, *statement;
	uint32_t (*expected)(uint32_t a, uint32_t b, uint32_t c, unsigned t);
	bool is_float;
} rows[] = {
	{"add", "add.s32 r, a, b;", add, false},
	{"add.sat", "add.sat.s32 r, a, b;", add_sat, false},
	{"sub.sat", "sub.sat.s32 r, a, b;", sub_sat, false},
	{"mul.lo", "mul.lo.s32 r, a, b;", mul_lo, false},
	{"mul.hi.u32", "mul.hi.u32 r, a, b;", mul_hi_u, false},
	{"mul.hi.s32", "mul.hi.s32 r, a, b;", mul_hi_s, false},
	{"mad.wide", "cvt.u64.u32 d, c; mad.wide.u32 d, a, b, d; mov.b64 {x, r}, d;", mad_wide_hi, false},
	{"sad.u32", "sad.u32 r, a, b, c;", sad_u, false},
	{"sad.s32", "sad.s32 r, a, b, c;", sad_s, false},
	{"div.u32", "or.b32 x, b, 1; div.u32 r, a, x;", div_u, false},
	{"div.s32", "or.b32 x, b, 1; div.s32 r, a, x;", div_s, false},
	{"rem.s32", "or.b32 x, b, 1; rem.s32 r, a, x;", rem_s, false},
	{"min.s32", "min.s32 r, a, b;", min_s, false},
	{"max.u32", "max.u32 r, a, b;", max_u, false},
	{"popc", "popc.b32 r, a;", popc, false},
	{"clz", "clz.b32 r, a;", clz, false},
	{"bfind.u32", "bfind.u32 r, a;", bfind_u, false},
	{"bfind.s32", "bfind.s32 r, a;", bfind_s, false},
	{"bfe.u32", "bfe.u32 r, a, b, c;", bfe_u, false},
	{"bfe.s32", "bfe.s32 r, a, b, c;", bfe_s, false},
	{"bfe.s32 inside", "and.b32 x, b, 31; and.b32 y, c, 31; bfe.s32 r, a, x, y;", bfe_s_in, false},
	{"bfi", "and.b32 x, c, 31; shr.u32 y, c, 8; and.b32 y, y, 31; bfi.b32 r, a, b, x, y;", bfi, false},
	{"shl", "and.b32 x, b, 63; shl.b32 r, a, x;", shl, false},
	{"shr.u32", "and.b32 x, b, 63; shr.u32 r, a, x;", shr_u, false},
	{"shr.s32", "and.b32 x, b, 63; shr.s32 r, a, x;", shr_s, false},
	{"shf.l.wrap", "shf.l.wrap.b32 r, a, b, c;", shf_l_wrap, false},
	{"shf.r.clamp", "and.b32 x, c, 63; shf.r.clamp.b32 r, a, b, x;", shf_r_clamp, false},
	{"lop3 0xca", "lop3.b32 r, a, b, c, 0xca;", lop3, false},
	{"lop3 0x62", "lop3.b32 r, a, b, c, 0x62;", lop3_other, false},
	{"prmt", "prmt.b32 r, a, b, c;", prmt, false},
	{"prmt.f4e", "prmt.b32.f4e r, a, b, c;", prmt_f4e, false},
	{"prmt.b4e", "prmt.b32.b4e r, a, b, c;", prmt_b4e, false},
	{"prmt.rc8", "prmt.b32.rc8 r, a, b, c;", prmt_rc8, false},
	{"prmt.ecl", "prmt.b32.ecl r, a, b, c;", prmt_ecl, false},
	{"prmt.ecr", "prmt.b32.ecr r, a, b, c;", prmt_ecr, false},
	{"prmt.rc16", "prmt.b32.rc16 r, a, b, c;", prmt_rc16, false},
	{"dp4a.u32.s32", "dp4a.u32.s32 r, a, b, c;", dp4a, false},
	{"dp2a.hi.s32.u32", "dp2a.hi.s32.u32 r, a, b, c;", dp2a_hi, false},
	{"szext.wrap.s32", "szext.wrap.s32 r, a, c;", szext_s, false},
	{"rem.u64 of extended",
	 "{ .reg .b64 x, y; cvt.s64.s32 x, a; shr.s64 x, x, 63; cvt.s64.s32 y, b; or.b64 y, y, 1; rem.u64 x, "
	 "x, y; "
	 "cvt.u32.u64 r, x; }",
	 rem_extended, false},
	{"div.u32 of extended",
	 "{ .reg .b32 x, y; shr.s32 x, a, 31; cvt.s32.s8 y, b; or.b32 y, y, 1; div.u32 r, x, y; }",
	 div_extended, false},
	{"bfi.b64 into ones",
	 "{ .reg .b64 x, y; mov.b64 x, {a, b}; bfi.b64 y, x, 0xffffffffffffffff, 32, c; add.u64 y, y, 1; shr.u64 "
	 "y, y, 32; cvt.u32.u64 r, y; }",
	 inserted, false},
	{"or.b64, high ones",
	 "{ .reg .b64 x, y; mov.b64 x, {a, c}; cvt.u64.u32 y, b; not.b64 y, y; or.b64 x, x, y; popc.b64 r, x; }",
	 or_ones, false},
	{"vavrg4", "vavrg4.u32.u32.u32 r, a, b.b5173, c;", averages, false},
	{"cp.async",
	 "mov.u32 x, %tid.x; shl.b32 y, x, 2; mov.u32 z, turn; add.u32 y, y, z; ld.param.u64 d, [in]; "
	 "mul.wide.u32 e, t, 12; add.u64 d, d, e; cp.async.ca.shared.global [y], [d+4], 4; "
	 "cp.async.commit_group; "
	 "cp.async.wait_group 0; ld.shared.u32 r, [y]; bar.sync 0;",
	 second, false},
	{"cp.async of a part",
	 "mov.u32 x, %tid.x; shl.b32 y, x, 2; mov.u32 z, turn; add.u32 y, y, z; ld.param.u64 d, [in]; "
	 "mul.wide.u32 e, t, 12; add.u64 d, d, e; and.b32 x, t, 3; add.u32 x, x, 1; "
	 "cp.async.ca.shared.global [y], [d+4], 4, x; cp.async.wait_all; ld.shared.u32 r, [y]; bar.sync 0;",
	 part_of_second, false},
	{"cp.async ignored",
	 "mov.u32 x, %tid.x; shl.b32 y, x, 2; mov.u32 z, turn; add.u32 y, y, z; ld.param.u64 d, [in]; "
	 "mul.wide.u32 e, t, 12; add.u64 d, d, e; and.b32 x, t, 1; setp.ne.u32 p, x, 0; "
	 "cp.async.ca.shared.global [y], [d+4], 4, p; cp.async.wait_all; ld.shared.u32 r, [y]; bar.sync 0;",
	 second_or_zero, false},
	{"add.cc addc", "add.cc.u32 x, b, a; addc.u32 r, a, c;", carry, false},
	{"sub.cc subc", "sub.cc.u32 x, b, a; subc.u32 r, a, c;", borrow, false},
	{"add.rn.f32", "mov.b32 fa, a; mov.b32 fb, b; add.rn.f32 fa, fa, fb; mov.b32 r, fa;", fadd, true},
	{"mul.rn.f32", "mov.b32 fa, a; mov.b32 fb, b; mul.rn.f32 fa, fa, fb; mov.b32 r, fa;", fmul, true},
	{"fma.rn.f32",
	 "mov.b32 fa, a; mov.b32 fb, b; mov.b32 fc, c; fma.rn.f32 fa, fa, fb, fc; mov.b32 r, fa;", ffma,
	 true},
	{"mul.ftz.f32", "mov.b32 fa, a; mov.b32 fb, b; mul.ftz.f32 fa, fa, fb; mov.b32 r, fa;", fmul_ftz,
	 true},
	{"add.sat.f32", "mov.b32 fa, a; mov.b32 fb, b; add.sat.f32 fa, fa, fb; mov.b32 r, fa;", fadd_sat,
	 true},
	{"add.rz.f32", "mov.b32 fa, a; mov.b32 fb, b; add.rz.f32 fa, fa, fb; mov.b32 r, fa;", fadd_rz, true},
	{"div.rn.f32", "mov.b32 fa, a; mov.b32 fb, b; div.rn.f32 fa, fa, fb; mov.b32 r, fa;", fdiv, true},
	{"sqrt.rn.f32", "mov.b32 fa, a; sqrt.rn.f32 fa, fa; mov.b32 r, fa;", fsqrt, true},
	{"rcp.rn.f32", "mov.b32 fa, a; rcp.rn.f32 fa, fa; mov.b32 r, fa;", frcp, true},
	{"min.f32", "mov.b32 fa, a; mov.b32 fb, b; min.f32 fa, fa, fb; mov.b32 r, fa;", fmin_, true},
	{"max.f32", "mov.b32 fa, a; mov.b32 fb, b; max.f32 fa, fa, fb; mov.b32 r, fa;", fmax_, true},
	{"neg.ftz.f32", "mov.b32 fa, a; neg.ftz.f32 fa, fa; mov.b32 r, fa;", fneg_ftz, true},
	{"cvt.rni.s32.f32", "mov.b32 fa, a; cvt.rni.s32.f32 r, fa;", to_s32, false},
	{"cvt.rzi.u32.f32", "mov.b32 fa, a; cvt.rzi.u32.f32 r, fa;", to_u32, false},
	{"cvt.rn.f32.s32", "cvt.rn.f32.s32 fa, a; mov.b32 r, fa;", from_s32, true},
	{"cvt.rn.f32.u32", "cvt.rn.f32.u32 fa, a; mov.b32 r, fa;", from_u32, true},
	{"cvt.sat.u8.s32", "cvt.sat.u8.s32 r, a;", sat_u8, false},
	{"cvt.s32.s16", "cvt.u16.u32 h, a; cvt.s32.s16 r, h;", sext_s16, false},
	{"set.ltu", "mov.b32 fa, a; mov.b32 fb, b; set.ltu.u32.f32 r, fa, fb;", set_ltu, false},
	{"setp.and",
	 "and.b32 x, c, 1; setp.ne.u32 q, x, 0; setp.lt.and.s32 p|q, a, b, q; selp.b32 r, a, b, p;", setp_and,
	 false},
	{"setp p|q",
	 "and.b32 x, c, 1; setp.ne.u32 q, x, 0; setp.lt.and.s32 p|q, a, b, q; selp.b32 r, a, b, q;", setp_not,
	 false},
	{"f64",
	 "cvt.rn.f64.u32 ga, a; cvt.rn.f64.u32 gb, b; fma.rn.f64 ga, ga, 0d4008000000000000, gb; "
	 "cvt.rzi.u64.f64 d, ga; shr.u64 d, d, 4; cvt.u32.u64 r, d;",
	 f64_sum, false},
	{"laneid", "mov.u32 r, %laneid;", laneid, false},
	{"warpid", "mov.u32 r, %warpid;", warpid, false},
	{"lanemask_lt", "mov.u32 r, %lanemask_lt;", lanemask, false},
	{"shfl.bfly", "shfl.sync.bfly.b32 r, a, 5, 31, -1;", bfly, false},
	{"shfl.down", "shfl.sync.down.b32 r, a, 7, 31, -1;", down, false},
	{"shfl.up width 8", "shfl.sync.up.b32 r, a, 3, 0x1800, -1;", up_8, false},
	{"shfl.idx", "shfl.sync.idx.b32 r, a, b, 31, -1;", idx, false},
	{"vote.ballot", "and.b32 x, a, 1; setp.ne.u32 p, x, 0; vote.sync.ballot.b32 r, p, -1;", ballot_odd,
	 false},
	{"redux.add", "redux.sync.add.s32 r, a, -1;", warp_sum, false},
	{"redux.min", "redux.sync.min.s32 r, a, -1;", warp_min, false},
	{"match.any", "and.b32 x, a, 3; match.any.sync.b32 r, x, -1;", match_low, false},
	{"activemask",
	 "mov.u32 r, 0; and.b32 x, t, 1; setp.eq.u32 p, x, 0; @!p bra L1; activemask.b32 r; L1:", active_even,
	 false},
	{"shared, bar.sync",
	 "mov.u32 x, %tid.x; shl.b32 y, x, 2; mov.u32 z, turn; add.u32 y, y, z; st.shared.u32 [y], b; "
	 "bar.sync 0; "
	 "sub.u32 x, 95, x; shl.b32 y, x, 2; add.u32 y, y, z; ld.shared.u32 r, [y]; bar.sync 0;",
	 shared_turn, false},
	{"brx.idx",
	 "and.b32 x, a, 3; ts: .branchtargets T0, T1, T2, T3; brx.idx x, ts; T0: mov.u32 r, 5; bra TE; T1: "
	 "mov.u32 r, 15; "
	 "bra TE; T2: mov.u32 r, 25; bra TE; T3: mov.u32 r, 35; TE:",
	 table, false},
	{"call", "call (r), times3, (a, b);", called, false},
	{"ld.const",
	 "and.b32 x, a, 3; mul.wide.u32 d, x, 4; mov.u64 e, numbers; add.u64 e, e, d; ld.const.u32 r, [e];",
	 constant, false},
	{"local, generic",
	 "st.local.v2.u32 [pair], {a, b}; mov.u64 d, pair; cvta.local.u64 d, d; ld.u32 x, [d]; ld.u32 y, "
	 "[d+4]; "
	 "add.u32 r, x, y;",
	 add, false},
};
enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

static const char head[] =
	".version 8.5\n.target sm_80\n.address_size 64\n.const .u32 numbers[4] = {7, 8, 9, 10};\n"
	".shared .u32 turn[96];\n"
	".func (.reg .b32 q) times3(.reg .b32 m, .reg .b32 n) { mad.lo.u32 q, m, 3, n; ret; }\n"
	".visible .entry k(.param .u64 out, .param .u64 in, .param .u64 sum)\n{\n"
	".reg .pred p, q; .reg .b16 h; .reg .b32 a, b, c, r, t, x, y, z; .reg .b64 d, e, o; .reg .f32 fa, "
	"fb, fc;\n"
	".reg .f64 ga, gb;\n.local .align 8 .b8 pair[8];\n"
	"mov.u32 t, %ctaid.x; mov.u32 x, %ntid.x; mov.u32 y, %tid.x; mad.lo.u32 t, t, x, y;\n"
	"ld.param.u64 o, [out]; ld.param.u64 d, [in]; cvta.to.global.u64 o, o;\n"
	"mul.wide.u32 e, t, 12; add.u64 d, d, e; mul.wide.u32 e, t, 4; add.u64 o, o, e;\n"
	"ld.global.u32 a, [d]; ld.global.u32 b, [d+4]; ld.global.u32 c, [d+8];\n"
	"ld.param.u64 d, [sum]; red.global.add.u32 [d], a; atom.global.max.u32 x, [d+4], b; "
	"atom.global.inc.u32 x, [d+8], 1000;\n";

static struct ptx_module *make_module(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	fputs(head, out);
	for (unsigned k = 0; k < NROWS; k++)
		fprintf(out, "%s\nst.global.u32 [o+%u], r;\n", rows[k].statement, k * THREADS * 4);
	fputs("ret;\n}\n", out);
	fclose(out);
	struct ptx_module *m = parse_text(text);
	free(text);
	for (unsigned k = 0; k < m->nerrors; k++)
		print_error("%s %s\n", m->errors[k].where, m->errors[k].what);
	assert_int_equal(m->nerrors, 0);
	return m;
}

static void make_inputs(void)
{
	static const uint32_t edges[] = {0,          1,          31,         32,         0x7fffffff,
					 0x80000000, 0xffffffff, 0x3f800000, 0xbf800000, 0x7f800000,
					 0xff800000, 0x7fc00000, 0x00000001, 0x807fffff, 0x4f000000,
					 0x3f000000, 0x40200000, 0x5f000000, 0x00800000, 0x80000000};
	uint32_t state = 12345;

	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned k = 0; k < 3; k++) {
			state = state * 1664525 + 1013904223;
			uint32_t v = state >> 8 ^ state << 11;
			inputs[t][k] = v % 3 ? v : edges[(v >> 5) % (sizeof(edges) / sizeof(edges[0]))];
		}
}

static bool same(const struct row *r, uint32_t want, uint32_t got)
{
	return want == got || (r->is_float && f(want) != f(want) && f(got) != f(got));
}

static unsigned check_row(const struct row *r, const uint32_t *got)
{
	unsigned wrong = 0;

	for (unsigned t = 0; t < THREADS; t++) {
		const uint32_t *i = inputs[t];
		uint32_t want = r->expected(i[0], i[1], i[2], t);
		if (!same(r, want, got[t]) && !wrong++)
			print_error("%s %s: thread %u of %08x %08x %08x gives %08x, not %08x\n", target_name,
				    r->name, t, i[0], i[1], i[2], got[t], want);
	}
	return wrong != 0;
}

static void check_atomics(const uint32_t *got)
{
	uint32_t sum = 0, most = 0;

	for (unsigned t = 0; t < THREADS; t++) {
		sum += inputs[t][0];
		most = inputs[t][1] > most ? inputs[t][1] : most;
	}
	assert_int_equal(got[0], sum);
	assert_int_equal(got[1], most);
	assert_int_equal(got[2], THREADS);
}

static void every_row(void **state)
{
	static const uint32_t numbers[] = {7, 8, 9, 10};
	static const uint32_t zeros[NROWS * THREADS];
	struct device_memory memory = {0};
	struct kernel_args args = {0};
	struct amdgpu_fault fault = {0};
	struct lowered l;
	uint32_t *out, *sums;
	void *unused;
	unsigned wrong = 0;

	(void)state;
	make_inputs();
	struct ptx_module *m = make_module();
	struct amdgpu_object *o = lower_and_load(&memory, m, "k", target_name, &l);
	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, zeros, sizeof(zeros), &out));
	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, inputs, sizeof(inputs), &unused));
	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, zeros, 12, &sums));
	assert_int_equal(l.nvariables, 1);
	assert_int_equal(args.used, l.variables_offset);
	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, numbers, sizeof(numbers), &unused));
	const struct device_launch launch = {
		.object = o, .kernel = "k", .grid = {BLOCKS, 1}, .block = {BLOCK, 1}, .threads = 1};
	if (device_run(&memory, &launch, &args, &fault, NULL))
		fail_msg("%s", fault.message);
	for (unsigned k = 0; k < NROWS; k++)
		wrong += check_row(&rows[k], out + k * THREADS);
	check_atomics(sums);
	print_message("%s: %u rows x %u threads, %u rows differ\n", target_name, NROWS, THREADS, wrong);
	assert_int_equal(wrong, 0);
	device_release(&memory);
	amdgpu_object_close(o);
	ptx_module_free(m);
	lowered_free(&l);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_row)};

	if (argc < 2)
		return 2;
	target_name = argv[1];
	compiler_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
