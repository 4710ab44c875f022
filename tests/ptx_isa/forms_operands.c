/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands: immediates of every kind, constant expressions (PTX ISA 4.5), scopes and vector registers
 * (4.3, 5.4.2), and registers that are written under a guard or go round a loop.
 */
#include "form.h"

#include <math.h>
#include <string.h>

static float f32(uint64_t bits)
{
	uint32_t b = (uint32_t)bits;
	float v;

	memcpy(&v, &b, 4);
	return v;
}

static uint64_t f32_bits(float v)
{
	uint32_t b;

	memcpy(&b, &v, 4);
	return b;
}

static double f64(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, 8);
	return v;
}

static uint64_t f64_bits(double v)
{
	uint64_t b;

	memcpy(&b, &v, 8);
	return b;
}

#define S32(v) ((int64_t)(int32_t)(uint32_t)(v))
#define S16(v) ((int64_t)(int16_t)(uint16_t)(v))

/* X(id, operands, text, result): one output, up to three inputs a, b, c. */
#define ROWS(X)                                                                                             \
	X(add64, "d=d", "add.s64 %0, %1, -5;", a - 5)                                                       \
	X(add16, "h=h", "add.s16 %0, %1, -32768;", (a + 0x8000) & 0xffff)                                   \
	X(sub32, "w=w", "sub.s32 %0, 10, %1;", (uint32_t)(10 - a))                                          \
	X(wide_s, "d=w", "mul.wide.s32 %0, %1, -3;", (uint64_t)(S32(a) * -3))                               \
	X(wide_u, "d=w", "mul.wide.u32 %0, %1, -3;", a * 0xfffffffd)                                        \
	X(wide_mad, "w=h", "mad.wide.s16 %0, %1, -7, -9;", (uint32_t)(S16(a) * -7 - 9))                     \
	X(and32, "w=w", "and.b32 %0, %1, -16;", a & 0xfffffff0)                                             \
	X(and64, "d=d", "and.b64 %0, %1, -16;", a & ~15ull)                                                 \
	X(or64, "d=d", "or.b64 %0, %1, 0x80000000;", a | 0x80000000)                                        \
	X(xor16, "h=h", "xor.b16 %0, %1, -1;", a ^ 0xffff)                                                  \
	X(shl64, "d=d", "shl.b64 %0, %1, 33;", a << 33)                                                     \
	X(shr16, "h=h", "shr.s16 %0, %1, 3;", (uint64_t)(S16(a) >> 3) & 0xffff)                             \
	X(shl_by, "w=s", "shl.b32 %0, 1, %1;", a > 31 ? 0 : 1u << a)                                        \
	X(mov64, "d=w", "mov.u64 %0, -1;", (void)a, UINT64_MAX)                                             \
	X(mov16, "h=w", "mov.b16 %0, -2;", (void)a, 0xfffe)                                                 \
	X(mov_hex, "w=w", "mov.u32 %0, 0x80000000U;", (void)a, 0x80000000)                                  \
	X(mov_bin, "w=w", "mov.u32 %0, 0b1011;", (void)a, 11)                                               \
	X(mov_oct, "w=w", "mov.u32 %0, 017;", (void)a, 15)                                                  \
	X(mov_f32, "w=w", "mov.f32 %0, 0.1;", (void)a, 0x3dcccccd)                                          \
	X(mov_f64, "d=w", "mov.f64 %0, 1e300;", (void)a, 0x7e37e43c8800759c)                                \
	X(lt_s32, "p=w", "setp.lt.s32 %0, %1, -1;", S32(a) < -1)                                            \
	X(lo_u32, "p=w", "setp.lo.u32 %0, %1, -1;", a < 0xffffffff)                                         \
	X(gt_u64, "p=d", "setp.gt.u64 %0, %1, 0x7fffffffffffffff;", a > INT64_MAX)                          \
	X(gt_s64, "p=d", "setp.gt.s64 %0, %1, -2;", (int64_t)a > -2)                                        \
	X(ge_s16, "p=h", "setp.ge.s16 %0, %1, -3;", S16(a) >= -3)                                           \
	X(lt_f32, "p=f", "setp.lt.f32 %0, %1, 0f3F800000;", f32(a) < 1)                                     \
	X(geu_f64, "p=D", "setp.geu.f64 %0, %1, 0.5;", !(f64(a) < 0.5))                                     \
	X(min_s, "w=w", "min.s32 %0, %1, -1;", (uint32_t)(S32(a) < -1 ? S32(a) : -1))                       \
	X(max_u, "w=w", "max.u32 %0, %1, -2;", a > 0xfffffffe ? a : 0xfffffffe)                             \
	X(selp, "w=p", "selp.b32 %0, -1, 7, %1;", a ? 0xffffffff : 7)                                       \
	X(slct, "w=w", "slct.u32.s32 %0, 1, 2, %1;", S32(a) >= 0 ? 1 : 2)                                   \
	X(fma, "f=f", "fma.rn.f32 %0, %1, 0f40000000, 0fBF800000;", f32_bits(fmaf(f32(a), 2, -1)))          \
	X(mul_f64, "D=D", "mul.rn.f64 %0, %1, 0.5;", f64_bits(f64(a) * 0.5))                                \
	X(bfe, "w=w", "bfe.u32 %0, %1, 4, 8;", a >> 4 & 0xff)                                               \
	X(bfe_s, "d=d", "bfe.s64 %0, %1, 60, 4;", (uint64_t)((int64_t)a >> 60))                             \
	X(bfi, "w=w", "bfi.b32 %0, 0xab, %1, 8, 8;", (a & 0xffff00ff) | 0xab00)                             \
	X(prmt, "w=w", "prmt.b32 %0, %1, 0, 0x4140;", (a & 0xff) | (a & 0xff00) << 8)                       \
	X(st_imm, "d=w", "st.global.b64 [outp], -2; ld.global.b64 %0, [outp];", (void)a, (uint64_t)-2)      \
	X(guard_true, "w=w", "mov.u32 %0, 1; { .reg .pred p; setp.eq.u32 p, 0, 0; @p mov.u32 %0, %1; }", a) \
	X(cvt_chain, "w=w", "{ .reg .b64 t; cvt.s64.s32 t, %1; shr.s64 t, t, 40; cvt.u32.u64 %0, t; }",     \
	  S32(a) < 0 ? 0xffffffff : 0)

#define DEFINE(id, sig, text, ...)                                                       \
	static void row_##id(const struct form *f, const uint64_t *in, struct want *out) \
	{                                                                                \
		uint64_t a = in[0];                                                      \
                                                                                         \
		(void)f;                                                                 \
		out->bits = (uint64_t)(__VA_ARGS__);                                     \
	}
ROWS(DEFINE)

static void add_rows(struct suite *s)
{
#define ADD(id, sig, text, ...) form_add(s, sig, row_##id, text, "%s", text);
	ROWS(ADD)
}

/* Constant expressions, evaluated in 64 bits by the rules of 4.5.5. */
static const struct {
	const char *text;
	uint64_t value;
} expressions[] = {
	{"2 + 3 * 4", 14},
	{"5 - 3 - 1", 1},
	{"1 << 2 + 1", 8},
	{"(1 << 40) >> 38", 4},
	{"-1 >> 1", UINT64_MAX},         /* arithmetic: the literal is signed */
	{"0xffffffffffffffff >> 63", 1}, /* doesn't fit .s64: unsigned */
	{"~0 >> 60", 15},                /* ~ makes unsigned */
	{"7 / -2", (uint64_t)-3},
	{"-7 % 3", (uint64_t)-7 % 3}, /* remainder is unsigned, unlike C's */
	{"-1 < 1U", 0},               /* one operand unsigned: both are */
	{"-1 < 1", 1},
	{"(.s64)0xffffffffffffffff < 0", 1},
	{"(.u64)-1 > 0", 1},
	{"!5 + 1", 1},
	{"3 == 3 && 2 > 1", 1},
	{"0 || 0", 0},
	{"6 & 3 == 3", 0},
	{"1 | 2 ^ 3 & 2", 1},
	{"0 ? 2 : 3", 3},
	{"1 ? 10 : 20 + 5", 10},
	{"- -4", 4},
	{"10 - (2 - (3 - 4))", 7},
	{"0x10 * WARP_SZ", 512},
};

static void ref_value(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)in;
	out->bits = (uint64_t)f->k[0];
}

static void add_expressions(struct suite *s)
{
	for (unsigned i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++)
		form_add(s, "d=w", ref_value, text_of("mov.b64 %%0, %s;", expressions[i].text), "constant %s",
			 expressions[i].text)
			->k[0] = (long)expressions[i].value;
	form_add(s, "d=w", ref_value, "mov.f64 %0, 1.0 / 3.0;", "constant 1.0 / 3.0")->k[0] =
		0x3fd5555555555555;
	form_add(s, "w=w", ref_value, "mov.f32 %0, (0.1 + 0.2) * 2.0;", "constant (0.1 + 0.2) * 2.0 in f32")
		->k[0] = (long)f32_bits((float)((0.1 + 0.2) * 2.0));
}

static void ref_plus3(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out->bits = (uint32_t)(in[0] + 3);
}

static void ref_swap_n(const struct form *f, const uint64_t *in, struct want *out)
{
	bool odd = in[2] & 1;

	(void)f;
	out[0].bits = odd ? in[1] : in[0];
	out[1].bits = odd ? in[0] : in[1];
}

static void ref_rotate_n(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = in[3] % 7 % 3;

	(void)f;
	for (unsigned i = 0; i < 3; i++)
		out[i].bits = in[(i + n) % 3];
}

static void ref_guarded_walk(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t x = (uint32_t)in[0];

	(void)f;
	for (unsigned i = 0; i < 32; i++) {
		if (in[1] >> i & 1)
			x = x * 3;
		else
			x = ~x;
	}
	out->bits = x;
}

static void ref_guarded_pair(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out[0].bits = in[0] ? (uint32_t)in[1] : 5;
	out[1].bits = in[0] ? in[1] >> 32 : 6;
}

static void ref_old_predicate(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	/* p = (a == b) and not p, with p = g before */
	out->bits = in[0] == in[1] && !in[2];
}

static void ref_vector_sum(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out->bits = (uint32_t)(in[0] + 2 * in[1]);
}

static void add_registers(struct suite *s)
{
	form_add(s, "w=w", ref_plus3,
		 "{ .reg .b32 x; mov.u32 x, 1; { .reg .b32 x; mov.u32 x, 2; add.u32 %0, x, %1; } add.u32 %0, "
		 "%0, x; }",
		 "inner register hides the outer one");
	form_add(s, "w=w", ref_plus3,
		 "mov.u32 %0, %1; { bra L; add.u32 %0, %0, 9; L: add.u32 %0, %0, 1; } { bra L; add.u32 %0, "
		 "%0, 9; L: add.u32 %0, %0, 2; }",
		 "labels are local to their scope");
	form_add(s, "w=w", ref_plus3,
		 "{ .reg .b32 r<4>; mov.u32 r0, %1; add.u32 r3, r0, 3; mov.u32 %0, r3; }",
		 "register range r<4>");
	form_add(s, "w=ww", ref_vector_sum,
		 "{ .reg .v2 .b32 v; mov.u32 v.x, %1; mov.u32 v.y, %2; mad.lo.u32 %0, v.y, 2, v.x; }",
		 "vector register .v2");
	form_add(s, "ww=www", ref_swap_n,
		 "{ .reg .b32 i, t; .reg .pred p; mov.u32 %0, %2; mov.u32 %1, %3; and.b32 i, %4, 15;\n"
		 "TOP: setp.eq.u32 p, i, 0; @p bra OUT; mov.u32 t, %0; mov.u32 %0, %1; mov.u32 %1, t; "
		 "sub.u32 i, i, 1; bra TOP; OUT: }",
		 "two registers swapped in a loop");
	form_add(s, "www=wwww", ref_rotate_n,
		 "{ .reg .b32 i, t; .reg .pred p; mov.u32 %0, %3; mov.u32 %1, %4; mov.u32 %2, %5; rem.u32 i, "
		 "%6, 7;\n"
		 "TOP: setp.eq.u32 p, i, 0; @!p mov.u32 t, %0; @!p mov.u32 %0, %1; @!p mov.u32 %1, %2; @!p "
		 "mov.u32 %2, t;\n"
		 "\t@!p sub.u32 i, i, 1; @!p bra TOP; }",
		 "three registers rotated under a guard");
	form_add(s, "w=ww", ref_guarded_walk,
		 "{ .reg .b32 m; .reg .pred p, q; mov.u32 %0, %1; mov.u32 m, 1;\n"
		 "TOP: and.b32 m, m, m; { .reg .b32 t; and.b32 t, %2, m; setp.ne.u32 p, t, 0; }\n"
		 "\t@p mul.lo.u32 %0, %0, 3; @!p not.b32 %0, %0; shl.b32 m, m, 1; setp.ne.u32 q, m, 0; @q "
		 "bra TOP; }",
		 "both guards write one register, in a loop");
	form_add(s, "ww=pd", ref_guarded_pair, "mov.u32 %0, 5; mov.u32 %1, 6; @%2 mov.b64 {%0, %1}, %3;",
		 "guarded unpacking mov");
	form_add(s, "ww=pd", ref_guarded_pair,
		 "mov.u32 %0, 5; mov.u32 %1, 6; @%2 ld.global.v2.u32 {%0, %1}, [inp+8];",
		 "guarded vector load");
	form_add(s, "p=wwp", ref_old_predicate,
		 "{ .reg .pred p; mov.pred p, %3; setp.eq.and.u32 p, %1, %2, !p; mov.pred %0, p; }",
		 "setp reads the predicate that it writes");
}

void forms_operands(struct suite *s)
{
	add_rows(s);
	add_expressions(s);
	add_registers(s);
}
