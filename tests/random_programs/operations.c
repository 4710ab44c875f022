/* SPDX-License-Identifier: Apache-2.0
 *
 * operations: one row each, PTX beside its meaning in C. Only results that the PTX ISA defines: no approximations, no
 * division by zero, masks where an operand's range is limited.
 */
#include "program.h"

#define ROW(dst, ptx, c, ...)                                                                            \
	{                                                                                                \
		dst, sizeof((enum reg_class[]){__VA_ARGS__}) / sizeof(enum reg_class), {__VA_ARGS__}, 0, \
			ptx, c                                                                           \
	}
#define ROW_K(dst, kmax, ptx, c, ...)                                                                       \
	{                                                                                                   \
		dst, sizeof((enum reg_class[]){__VA_ARGS__}) / sizeof(enum reg_class), {__VA_ARGS__}, kmax, \
			ptx, c                                                                              \
	}

/* The same for each rounding mode. */
#define ROUNDED(dst, before, after, call, ...)                                  \
	ROW(dst, before ".rn" after, call(FE_TONEAREST), __VA_ARGS__),          \
		ROW(dst, before ".rz" after, call(FE_TOWARDZERO), __VA_ARGS__), \
		ROW(dst, before ".rm" after, call(FE_DOWNWARD), __VA_ARGS__),   \
		ROW(dst, before ".rp" after, call(FE_UPWARD), __VA_ARGS__)
/* Rounding to an integer in floating point. */
#define ROUNDED_WHOLE(dst, before, after, call, ...)                             \
	ROW(dst, before ".rni" after, call(FE_TONEAREST), __VA_ARGS__),          \
		ROW(dst, before ".rzi" after, call(FE_TOWARDZERO), __VA_ARGS__), \
		ROW(dst, before ".rmi" after, call(FE_DOWNWARD), __VA_ARGS__),   \
		ROW(dst, before ".rpi" after, call(FE_UPWARD), __VA_ARGS__)

/* Arithmetic that every integer width has: register class, bits, C types. */
#define INTEGER_ROWS(R, bits, U, S)                                                                          \
	ROW(R, "add.u" #bits " %d, %0, %1;", "%0 + %1", R, R),                                               \
		ROW(R, "sub.s" #bits " %d, %0, %1;", "%0 - %1", R, R),                                       \
		ROW(R, "mul.lo.u" #bits " %d, %0, %1;", "(" U ")((uint64_t)%0 * %1)", R, R),                 \
		ROW(R, "mad.lo.s" #bits " %d, %0, %1, %2;", "(" U ")((uint64_t)%0 * %1 + %2)", R, R, R),     \
		ROW(R, "min.u" #bits " %d, %0, %1;", "%0 < %1 ? %0 : %1", R, R),                             \
		ROW(R, "max.u" #bits " %d, %0, %1;", "%0 > %1 ? %0 : %1", R, R),                             \
		ROW(R, "min.s" #bits " %d, %0, %1;", "(" S ")%0 < (" S ")%1 ? %0 : %1", R, R),               \
		ROW(R, "max.s" #bits " %d, %0, %1;", "(" S ")%0 > (" S ")%1 ? %0 : %1", R, R),               \
		ROW(R, "neg.s" #bits " %d, %0;", "-%0", R),                                                  \
		ROW(R, "abs.s" #bits " %d, %0;", "(" S ")%0 < 0 ? -%0 : %0", R),                             \
		ROW(R, "and.b" #bits " %d, %0, %1;", "%0 & %1", R, R),                                       \
		ROW(R, "or.b" #bits " %d, %0, %1;", "%0 | %1", R, R),                                        \
		ROW(R, "xor.b" #bits " %d, %0, %1;", "%0 ^ %1", R, R),                                       \
		ROW(R, "not.b" #bits " %d, %0;", "~%0", R), ROW(R, "cnot.b" #bits " %d, %0;", "%0 == 0", R), \
		ROW(R, "shl.b" #bits " %d, %0, %1;", "shift_left(%0, %1, " #bits ")", R, R32),               \
		ROW(R, "shr.u" #bits " %d, %0, %1;", "shift_right(%0, %1, " #bits ")", R, R32),              \
		ROW(R, "shr.s" #bits " %d, %0, %1;", "shift_right_signed((" S ")%0, %1, " #bits ")", R,      \
		    R32),                                                                                    \
		ROW_K(R, 70, "shl.b" #bits " %d, %0, %k;", "shift_left(%0, %k, " #bits ")", R),              \
		ROW_K(R, 70, "shr.s" #bits " %d, %0, %k;", "shift_right_signed((" S ")%0, %k, " #bits ")",   \
		      R),                                                                                    \
		ROW(R, "sad.u" #bits " %d, %0, %1, %2;", "%2 + (%0 < %1 ? %1 - %0 : %0 - %1)", R, R, R),     \
		ROW(R, "sad.s" #bits " %d, %0, %1, %2;", "%2 + ((" S ")%0 < (" S ")%1 ? %1 - %0 : %0 - %1)", \
		    R, R, R),                                                                                \
		ROW(R, "{ .reg .b" #bits " t; or.b" #bits " t, %1, 1; div.u" #bits " %d, %0, t; }",          \
		    "%0 / (" U ")(%1 | 1)", R, R),                                                           \
		ROW(R, "{ .reg .b" #bits " t; or.b" #bits " t, %1, 1; rem.u" #bits " %d, %0, t; }",          \
		    "%0 % (" U ")(%1 | 1)", R, R),                                                           \
		ROW(R,                                                                                       \
		    "{ .reg .b" #bits " t; shr.u" #bits " t, %1, 1; or.b" #bits " t, t, 2; div.s" #bits      \
		    " %d, %0, t; }",                                                                         \
		    "(" S ")%0 / (" S ")(%1 >> 1 | 2)", R, R),                                               \
		ROW(R,                                                                                       \
		    "{ .reg .b" #bits " t; shr.u" #bits " t, %1, 1; or.b" #bits " t, t, 2; neg.s" #bits      \
		    " t, t; rem.s" #bits " %d, %0, t; }",                                                    \
		    "(" S ")%0 % -(" S ")(%1 >> 1 | 2)", R, R),                                              \
		ROW(R, "selp.b" #bits " %d, %0, %1, %2;", "%2 ? %0 : %1", R, R, PRED),                       \
		ROW(R, "slct.u" #bits ".s32 %d, %0, %1, %2;", "(int32_t)%2 >= 0 ? %0 : %1", R, R, R32),      \
		ROW(R, "slct.s" #bits ".f32 %d, %0, %1, %2;", "%2 >= 0 ? %0 : %1", R, R, F32),               \
		ROW(R, "mov.b" #bits " %d, %0;", "%0", R),                                                   \
		ROW(PRED, "setp.eq.u" #bits " %d, %0, %1;", "%0 == %1", R, R),                               \
		ROW(PRED, "setp.ne.s" #bits " %d, %0, %1;", "%0 != %1", R, R),                               \
		ROW(PRED, "setp.lo.u" #bits " %d, %0, %1;", "%0 < %1", R, R),                                \
		ROW(PRED, "setp.lt.s" #bits " %d, %0, %1;", "(" S ")%0 < (" S ")%1", R, R),                  \
		ROW(PRED, "setp.ge.s" #bits " %d, %0, %1;", "(" S ")%0 >= (" S ")%1", R, R),                 \
		ROW(PRED, "setp.hs.u" #bits " %d, %0, %1;", "%0 >= %1", R, R),                               \
		ROW(PRED, "setp.gt.and.u" #bits " %d, %0, %1, %2;", "%0 > %1 & %2", R, R, PRED),             \
		ROW(PRED, "setp.le.or.s" #bits " %d, %0, %1, !%2;", "(" S ")%0 <= (" S ")%1 | !%2", R, R,    \
		    PRED),                                                                                   \
		ROW(PRED, "setp.ls.xor.u" #bits " %d, %0, %1, %2;", "(%0 <= %1) ^ %2", R, R, PRED),          \
		ROW(R32, "set.hi.u32.u" #bits " %d, %0, %1;", "%0 > %1 ? 0xffffffff : 0", R, R),             \
		ROW(F32, "set.lt.f32.s" #bits " %d, %0, %1;", "(" S ")%0 < (" S ")%1 ? 1.0f : 0.0f", R, R)

/* Bit counting and fields: 32 and 64 bits. */
#define BIT_ROWS(R, bits)                                                                                  \
	ROW(R32, "popc.b" #bits " %d, %0;", "__builtin_popcountll(%0)", R),                                \
		ROW(R32, "clz.b" #bits " %d, %0;", "%0 ? __builtin_clzll(%0) - (64 - " #bits ") : " #bits, \
		    R),                                                                                    \
		ROW(R, "brev.b" #bits " %d, %0;", "reverse_bits(%0, " #bits ")", R),                       \
		ROW(R32, "bfind.u" #bits " %d, %0;", "find_high(%0, " #bits ", false)", R),                \
		ROW(R32, "bfind.s" #bits " %d, %0;", "find_high(%0, " #bits ", true)", R),                 \
		ROW(R32, "bfind.shiftamt.u" #bits " %d, %0;", "find_shift(%0, " #bits ", false)", R),      \
		ROW(R32, "bfind.shiftamt.s" #bits " %d, %0;", "find_shift(%0, " #bits ", true)", R),       \
		ROW(R, "bfe.u" #bits " %d, %0, %1, %2;", "extract_field(%0, %1, %2, " #bits ", false)", R, \
		    R32, R32),                                                                             \
		ROW(R, "bfe.s" #bits " %d, %0, %1, %2;", "extract_field(%0, %1, %2, " #bits ", true)", R,  \
		    R32, R32),                                                                             \
		ROW_K(R, 40, "bfe.s" #bits " %d, %0, 3, %k;", "extract_field(%0, 3, %k, " #bits ", true)", \
		      R),                                                                                  \
		ROW(R, "bfi.b" #bits " %d, %0, %1, %2, %3;", "insert_field(%0, %1, %2, %3, " #bits ")", R, \
		    R, R32, R32)

/* min, max, comparison, conversion to integers: register class, name, C prefix. */
#define FLOAT_ROWS(R, name, wide)                                                                       \
	ROW(R, "min." #name " %d, %0, %1;", #name "_min(%0, %1)", R, R),                                \
		ROW(R, "max." #name " %d, %0, %1;", #name "_max(%0, %1)", R, R),                        \
		ROW(R, "neg." #name " %d, %0;", "-%0", R),                                              \
		ROW(R, "abs." #name " %d, %0;", "__builtin_fabs(%0)", R),                               \
		ROW(R, "selp." #name " %d, %0, %1, %2;", "%2 ? %0 : %1", R, R, PRED),                   \
		ROW(R, "mov." #name " %d, %0;", "%0", R),                                               \
		ROW(PRED, "setp.lt." #name " %d, %0, %1;", "%0 < %1", R, R),                            \
		ROW(PRED, "setp.ne." #name " %d, %0, %1;", "%0 < %1 | %0 > %1", R, R),                  \
		ROW(PRED, "setp.geu." #name " %d, %0, %1;", "!(%0 < %1)", R, R),                        \
		ROW(PRED, "setp.equ." #name " %d, %0, %1;", "!(%0 < %1 | %0 > %1)", R, R),              \
		ROW(PRED, "setp.neu.and." #name " %d, %0, %1, %2;", "%0 != %1 & %2", R, R, PRED),       \
		ROW(PRED, "setp.num.or." #name " %d, %0, %1, %2;", "(%0 == %0 & %1 == %1) | %2", R, R,  \
		    PRED),                                                                              \
		ROW(PRED, "setp.nan.xor." #name " %d, %0, %1, %2;", "(%0 != %0 | %1 != %1) ^ %2", R, R, \
		    PRED),                                                                              \
		ROW(R32, "set.gtu.s32." #name " %d, %0, %1;", "!(%0 <= %1) ? 0xffffffff : 0", R, R),    \
		ROW(PRED, "testp.finite." #name " %d, %0;", "__builtin_isfinite(%0)", R),               \
		ROW(PRED, "testp.subnormal." #name " %d, %0;",                                          \
		    "__builtin_fpclassify(0, 1, 4, 3, 2, %0) == 3", R),                                 \
		ROW(R32, "cvt.rzi.s32." #name " %d, %0;",                                               \
		    "whole_signed(" #name "_to_integer(%0, FE_TOWARDZERO), 32, " #wide ")", R),         \
		ROW(R32, "cvt.rni.u32." #name " %d, %0;",                                               \
		    "whole_unsigned(" #name "_to_integer(%0, FE_TONEAREST), 32, " #wide ")", R),        \
		ROW(R64, "cvt.rmi.s64." #name " %d, %0;",                                               \
		    "whole_signed(" #name "_to_integer(%0, FE_DOWNWARD), 64, true)", R),                \
		ROW(R64, "cvt.rpi.u64." #name " %d, %0;",                                               \
		    "whole_unsigned(" #name "_to_integer(%0, FE_UPWARD), 64, true)", R),                \
		ROW(R16, "cvt.rzi.s16." #name " %d, %0;",                                               \
		    "whole_signed(" #name "_to_integer(%0, FE_TOWARDZERO), 16, " #wide ")", R),         \
		ROW(R16, "cvt.rni.u16." #name " %d, %0;",                                               \
		    "whole_unsigned(" #name "_to_integer(%0, FE_TONEAREST), 16, " #wide ")", R)

/* Calls of the helpers in meaning.h with a rounding mode at the end. */
#define ADD32(mode)    "f32_add(%0, %1, " #mode ")"
#define SUB32(mode)    "f32_sub(%0, %1, " #mode ")"
#define MUL32(mode)    "f32_mul(%0, %1, " #mode ")"
#define DIV32(mode)    "f32_div(%0, %1, " #mode ")"
#define FMA32(mode)    "f32_fma(%0, %1, %2, " #mode ")"
#define RCP32(mode)    "f32_div(1, %0, " #mode ")"
#define SQRT32(mode)   "f32_sqrt(%0, " #mode ")"
#define ADD64(mode)    "f64_add(%0, %1, " #mode ")"
#define SUB64(mode)    "f64_sub(%0, %1, " #mode ")"
#define MUL64(mode)    "f64_mul(%0, %1, " #mode ")"
#define DIV64(mode)    "f64_div(%0, %1, " #mode ")"
#define FMA64(mode)    "f64_fma(%0, %1, %2, " #mode ")"
#define RCP64(mode)    "f64_div(1, %0, " #mode ")"
#define SQRT64(mode)   "f64_sqrt(%0, " #mode ")"
#define NARROW(mode)   "f32_of_f64(%0, " #mode ")"
#define WHOLE32(mode)  "f32_to_integer(%0, " #mode ")"
#define WHOLE64(mode)  "f64_to_integer(%0, " #mode ")"
#define F32_U32(mode)  "f32_of_u32(%0, " #mode ")"
#define F32_S32(mode)  "f32_of_s32((int32_t)%0, " #mode ")"
#define F32_U64(mode)  "f32_of_u64(%0, " #mode ")"
#define F32_S64(mode)  "f32_of_s64((int64_t)%0, " #mode ")"
#define F64_U64(mode)  "f64_of_u64(%0, " #mode ")"
#define F64_S64(mode)  "f64_of_s64((int64_t)%0, " #mode ")"
#define ADD_FTZ(mode)  "flush(f32_add(flush(%0), flush(%1), " #mode "))"
#define MUL_FTZ(mode)  "flush(f32_mul(flush(%0), flush(%1), " #mode "))"
#define FMA_FTZ(mode)  "flush(f32_fma(flush(%0), flush(%1), flush(%2), " #mode "))"
#define DIV_FTZ(mode)  "flush(f32_div(flush(%0), flush(%1), " #mode "))"
#define SQRT_FTZ(mode) "flush(f32_sqrt(flush(%0), " #mode "))"
#define ADD_SAT(mode)  "saturate_f32(f32_add(%0, %1, " #mode "))"
#define FMA_SAT(mode)  "saturate_f32(f32_fma(%0, %1, %2, " #mode "))"

const struct operation operations[] = {
	INTEGER_ROWS(R16, 16, "uint16_t", "int16_t"),
	INTEGER_ROWS(R32, 32, "uint32_t", "int32_t"),
	INTEGER_ROWS(R64, 64, "uint64_t", "int64_t"),
	BIT_ROWS(R32, 32),
	BIT_ROWS(R64, 64),

	/* Products' other halves. */
	ROW(R16, "mul.hi.u16 %d, %0, %1;", "(uint32_t)%0 * %1 >> 16", R16, R16),
	ROW(R16, "mul.hi.s16 %d, %0, %1;", "(int32_t)(int16_t)%0 * (int16_t)%1 >> 16", R16, R16),
	ROW(R32, "mul.hi.u32 %d, %0, %1;", "(uint64_t)%0 * %1 >> 32", R32, R32),
	ROW(R32, "mul.hi.s32 %d, %0, %1;", "(int64_t)(int32_t)%0 * (int32_t)%1 >> 32", R32, R32),
	ROW(R64, "mul.hi.u64 %d, %0, %1;", "high_unsigned(%0, %1)", R64, R64),
	ROW(R64, "mul.hi.s64 %d, %0, %1;", "high_signed((int64_t)%0, (int64_t)%1)", R64, R64),
	ROW(R32, "mad.hi.u32 %d, %0, %1, %2;", "(uint32_t)((uint64_t)%0 * %1 >> 32) + %2", R32, R32, R32),
	ROW(R32, "mad.hi.sat.s32 %d, %0, %1, %2;",
	    "saturate_s32(((int64_t)(int32_t)%0 * (int32_t)%1 >> 32) + (int32_t)%2)", R32, R32, R32),
	ROW(R64, "mad.hi.s64 %d, %0, %1, %2;", "high_signed((int64_t)%0, (int64_t)%1) + %2", R64, R64, R64),
	ROW(R32, "mul.wide.u16 %d, %0, %1;", "(uint32_t)%0 * %1", R16, R16),
	ROW(R32, "mul.wide.s16 %d, %0, %1;", "(uint32_t)((int16_t)%0 * (int16_t)%1)", R16, R16),
	ROW(R64, "mul.wide.u32 %d, %0, %1;", "(uint64_t)%0 * %1", R32, R32),
	ROW(R64, "mul.wide.s32 %d, %0, %1;", "(uint64_t)((int64_t)(int32_t)%0 * (int32_t)%1)", R32, R32),
	ROW(R64, "mad.wide.u32 %d, %0, %1, %2;", "(uint64_t)%0 * %1 + %2", R32, R32, R64),
	ROW(R64, "mad.wide.s32 %d, %0, %1, %2;", "(uint64_t)((int64_t)(int32_t)%0 * (int32_t)%1) + %2", R32,
	    R32, R64),
	ROW(R32, "mad.wide.s16 %d, %0, %1, %2;", "(uint32_t)((int16_t)%0 * (int16_t)%1) + %2", R16, R16, R32),
	ROW(R32, "mul24.lo.u32 %d, %0, %1;", "(uint64_t)(%0 & 0xffffff) * (%1 & 0xffffff)", R32, R32),
	ROW(R32, "mul24.hi.u32 %d, %0, %1;", "(uint64_t)(%0 & 0xffffff) * (%1 & 0xffffff) >> 16", R32, R32),
	ROW(R32, "mul24.lo.s32 %d, %0, %1;", "low24(%0) * low24(%1)", R32, R32),
	ROW(R32, "mul24.hi.s32 %d, %0, %1;", "low24(%0) * low24(%1) >> 16", R32, R32),
	ROW(R32, "mad24.lo.u32 %d, %0, %1, %2;", "(uint64_t)(%0 & 0xffffff) * (%1 & 0xffffff) + %2", R32, R32,
	    R32),
	ROW(R32, "add.sat.s32 %d, %0, %1;", "saturate_s32((int64_t)(int32_t)%0 + (int32_t)%1)", R32, R32),
	ROW(R32, "sub.sat.s32 %d, %0, %1;", "saturate_s32((int64_t)(int32_t)%0 - (int32_t)%1)", R32, R32),

	/* Carries: two words at a time. */
	ROW(R32, "{ .reg .b32 t; add.cc.u32 t, %0, %1; addc.u32 %d, %2, %3; xor.b32 %d, %d, t; }",
	    "{ uint32_t t = %0 + %1; %d = (%2 + %3 + (t < (uint32_t)%0)) ^ t; }", R32, R32, R32, R32),
	ROW(R32, "{ .reg .b32 t; sub.cc.u32 t, %0, %1; subc.u32 %d, %2, %3; xor.b32 %d, %d, t; }",
	    "{ uint32_t t = %0 - %1; uint32_t b = (uint32_t)%0 < (uint32_t)%1; %d = (%2 - %3 - b) ^ t; }",
	    R32, R32, R32, R32),
	ROW(R32,
	    "{ .reg .b32 t; mad.lo.cc.u32 t, %0, %1, %2; madc.hi.u32 %d, %0, %1, %3; xor.b32 %d, %d, t; }",
	    "{ uint64_t q = (uint64_t)%0 * %1; uint32_t t = (uint32_t)q + %2, c = t < (uint32_t)q; "
	    "%d = ((uint32_t)(q >> 32) + %3 + c) ^ t; }",
	    R32, R32, R32, R32),
	ROW(R64, "{ .reg .b64 t; add.cc.u64 t, %0, %1; addc.u64 %d, %2, 0; xor.b64 %d, %d, t; }",
	    "{ uint64_t t = %0 + %1; %d = (%2 + (t < (uint64_t)%0)) ^ t; }", R64, R64, R64),

	/* Bits between words. */
	ROW(R32, "shf.l.wrap.b32 %d, %0, %1, %2;", "funnel_left(%0, %1, %2 & 31)", R32, R32, R32),
	ROW(R32, "shf.l.clamp.b32 %d, %0, %1, %2;", "funnel_left(%0, %1, least(%2, 32))", R32, R32, R32),
	ROW(R32, "shf.r.wrap.b32 %d, %0, %1, %2;", "funnel_right(%0, %1, %2 & 31)", R32, R32, R32),
	ROW(R32, "shf.r.clamp.b32 %d, %0, %1, %2;", "funnel_right(%0, %1, least(%2, 32))", R32, R32, R32),
	ROW(R32, "prmt.b32 %d, %0, %1, %2;", "permute(%0, %1, %2)", R32, R32, R32),
	ROW_K(R32, 0xffff, "prmt.b32 %d, %0, %1, %k;", "permute(%0, %1, %k)", R32, R32),
	ROW(R32, "prmt.b32.f4e %d, %0, %1, %2;", "permute_forward(%0, %1, %2, 1)", R32, R32, R32),
	ROW(R32, "prmt.b32.b4e %d, %0, %1, %2;", "permute_forward(%0, %1, %2, -1)", R32, R32, R32),
	ROW(R32, "prmt.b32.rc8 %d, %0, %1, %2;", "permute_forward(%0, %1, %2, 0)", R32, R32, R32),
	ROW_K(R32, 255, "lop3.b32 %d, %0, %1, %2, %k;", "logic3(%0, %1, %2, %k)", R32, R32, R32),
	ROW(R32, "bmsk.clamp.b32 %d, %0, %1;", "mask_bits(least(%0, 32), least(%1, 32))", R32, R32),
	ROW(R32, "bmsk.wrap.b32 %d, %0, %1;", "mask_bits(%0 & 31, %1 & 31)", R32, R32),
	ROW(R32, "szext.clamp.s32 %d, %0, %1;", "extend_sign(%0, least(%1, 32))", R32, R32),
	ROW(R32, "szext.wrap.s32 %d, %0, %1;", "extend_sign(%0, %1 & 31)", R32, R32),
	ROW(R32, "szext.clamp.u32 %d, %0, %1;", "extend_zero(%0, least(%1, 32))", R32, R32),
	ROW(R32, "dp4a.u32.u32 %d, %0, %1, %2;", "dot4(%0, false, %1, false, %2)", R32, R32, R32),
	ROW(R32, "dp4a.s32.s32 %d, %0, %1, %2;", "dot4(%0, true, %1, true, %2)", R32, R32, R32),
	ROW(R32, "dp4a.s32.u32 %d, %0, %1, %2;", "dot4(%0, true, %1, false, %2)", R32, R32, R32),
	ROW(R32, "dp2a.lo.u32.s32 %d, %0, %1, %2;", "dot2(%0, false, %1, true, %2, 0)", R32, R32, R32),
	ROW(R32, "dp2a.hi.s32.s32 %d, %0, %1, %2;", "dot2(%0, true, %1, true, %2, 1)", R32, R32, R32),
	ROW(R64, "mov.b64 %d, {%0, %1};", "(uint64_t)%1 << 32 | %0", R32, R32),
	ROW(R32, "mov.b32 %d, {%0, %1};", "(uint32_t)%1 << 16 | %0", R16, R16),
	ROW(R32, "{ .reg .b32 t; mov.b64 {%d, t}, %0; xor.b32 %d, %d, t; }",
	    "(uint32_t)%0 ^ (uint32_t)(%0 >> 32)", R64),
	ROW(R16, "{ .reg .b16 t; mov.b32 {t, %d}, %0; add.u16 %d, %d, t; }",
	    "(uint16_t)%0 + (uint16_t)(%0 >> 16)", R32),

	/* Predicates. */
	ROW(PRED, "and.pred %d, %0, %1;", "%0 & %1", PRED, PRED),
	ROW(PRED, "or.pred %d, %0, %1;", "%0 | %1", PRED, PRED),
	ROW(PRED, "xor.pred %d, %0, %1;", "%0 ^ %1", PRED, PRED),
	ROW(PRED, "not.pred %d, %0;", "!%0", PRED),
	ROW(PRED, "{ .reg .pred q; setp.lt.or.s32 %d|q, %0, %1, %2; xor.pred %d, %d, q; }",
	    "(((int32_t)%0 < (int32_t)%1) | %2) ^ (!((int32_t)%0 < (int32_t)%1) | %2)", R32, R32, PRED),

	/* Between integers. */
	ROW(R32, "cvt.u32.u16 %d, %0;", "%0", R16),
	ROW(R32, "cvt.s32.s16 %d, %0;", "(uint32_t)(int16_t)%0", R16),
	ROW(R32, "cvt.s32.s8 %d, %0;", "(uint32_t)(int8_t)%0", R32),
	ROW(R32, "cvt.u32.u8 %d, %0;", "(uint8_t)%0", R32),
	ROW(R16, "cvt.u16.u32 %d, %0;", "%0", R32),
	ROW(R16, "cvt.s16.s64 %d, %0;", "%0", R64),
	ROW(R16, "cvt.sat.s16.s32 %d, %0;", "clamp_signed((int32_t)%0, -32768, 32767)", R32),
	ROW(R16, "cvt.sat.u16.s32 %d, %0;", "clamp_signed((int32_t)%0, 0, 65535)", R32),
	ROW(R16, "cvt.sat.u16.u32 %d, %0;", "clamp_unsigned(%0, 65535)", R32),
	ROW(R32, "cvt.sat.s8.s32 %d, %0;", "(uint32_t)clamp_signed((int32_t)%0, -128, 127)", R32),
	ROW(R32, "cvt.sat.u8.s32 %d, %0;", "(uint32_t)clamp_signed((int32_t)%0, 0, 255)", R32),
	ROW(R32, "cvt.sat.s32.s64 %d, %0;", "(uint32_t)clamp_signed((int64_t)%0, INT32_MIN, INT32_MAX)", R64),
	ROW(R32, "cvt.sat.u32.s64 %d, %0;", "(uint32_t)clamp_signed((int64_t)%0, 0, UINT32_MAX)", R64),
	ROW(R32, "cvt.sat.s32.u64 %d, %0;", "(uint32_t)clamp_unsigned(%0, INT32_MAX)", R64),
	ROW(R32, "cvt.u32.u64 %d, %0;", "(uint32_t)%0", R64),
	ROW(R64, "cvt.u64.u32 %d, %0;", "%0", R32),
	ROW(R64, "cvt.s64.s32 %d, %0;", "(uint64_t)(int32_t)%0", R32),
	ROW(R64, "cvt.s64.s16 %d, %0;", "(uint64_t)(int16_t)%0", R16),
	ROW(R64, "cvt.sat.u64.s32 %d, %0;", "(int32_t)%0 < 0 ? 0 : %0", R32),

	/* Single and double precision. */
	FLOAT_ROWS(F32, f32, false),
	FLOAT_ROWS(F64, f64, true),
	ROUNDED(F32, "add", ".f32 %d, %0, %1;", ADD32, F32, F32),
	ROUNDED(F32, "sub", ".f32 %d, %0, %1;", SUB32, F32, F32),
	ROUNDED(F32, "mul", ".f32 %d, %0, %1;", MUL32, F32, F32),
	ROUNDED(F32, "div", ".f32 %d, %0, %1;", DIV32, F32, F32),
	ROUNDED(F32, "fma", ".f32 %d, %0, %1, %2;", FMA32, F32, F32, F32),
	ROUNDED(F32, "rcp", ".f32 %d, %0;", RCP32, F32),
	ROUNDED(F32, "sqrt", ".f32 %d, %0;", SQRT32, F32),
	ROUNDED(F64, "add", ".f64 %d, %0, %1;", ADD64, F64, F64),
	ROUNDED(F64, "sub", ".f64 %d, %0, %1;", SUB64, F64, F64),
	ROUNDED(F64, "mul", ".f64 %d, %0, %1;", MUL64, F64, F64),
	ROUNDED(F64, "div", ".f64 %d, %0, %1;", DIV64, F64, F64),
	ROUNDED(F64, "fma", ".f64 %d, %0, %1, %2;", FMA64, F64, F64, F64),
	ROUNDED(F64, "rcp", ".f64 %d, %0;", RCP64, F64),
	ROUNDED(F64, "sqrt", ".f64 %d, %0;", SQRT64, F64),
	ROUNDED(F32, "add", ".ftz.f32 %d, %0, %1;", ADD_FTZ, F32, F32),
	ROUNDED(F32, "mul", ".ftz.f32 %d, %0, %1;", MUL_FTZ, F32, F32),
	ROUNDED(F32, "fma", ".ftz.f32 %d, %0, %1, %2;", FMA_FTZ, F32, F32, F32),
	ROUNDED(F32, "div", ".ftz.f32 %d, %0, %1;", DIV_FTZ, F32, F32),
	ROUNDED(F32, "sqrt", ".ftz.f32 %d, %0;", SQRT_FTZ, F32),
	ROUNDED(F32, "add", ".sat.f32 %d, %0, %1;", ADD_SAT, F32, F32),
	ROUNDED(F32, "fma", ".sat.f32 %d, %0, %1, %2;", FMA_SAT, F32, F32, F32),
	ROUNDED(F32, "cvt", ".f32.f64 %d, %0;", NARROW, F64),
	ROUNDED(F32, "cvt", ".f32.u32 %d, %0;", F32_U32, R32),
	ROUNDED(F32, "cvt", ".f32.s32 %d, %0;", F32_S32, R32),
	ROUNDED(F32, "cvt", ".f32.u64 %d, %0;", F32_U64, R64),
	ROUNDED(F32, "cvt", ".f32.s64 %d, %0;", F32_S64, R64),
	ROUNDED(F64, "cvt", ".f64.u64 %d, %0;", F64_U64, R64),
	ROUNDED(F64, "cvt", ".f64.s64 %d, %0;", F64_S64, R64),
	ROUNDED_WHOLE(F32, "cvt", ".f32.f32 %d, %0;", WHOLE32, F32),
	ROUNDED_WHOLE(F64, "cvt", ".f64.f64 %d, %0;", WHOLE64, F64),
	ROW(F64, "cvt.f64.f32 %d, %0;", "%0", F32),
	ROW(F64, "cvt.rn.f64.u32 %d, %0;", "%0", R32),
	ROW(F32, "cvt.rn.f32.s16 %d, %0;", "(int16_t)%0", R16),
	ROW(F32, "cvt.sat.f32.f32 %d, %0;", "saturate_f32(%0)", F32),
	ROW(F64, "cvt.sat.f64.f64 %d, %0;", "saturate_f64(%0)", F64),
	ROW(F32, "max.ftz.f32 %d, %0, %1;", "f32_max(flush(%0), flush(%1))", F32, F32),
	ROW(F32, "min.NaN.f32 %d, %0, %1;", "%0 != %0 || %1 != %1 ? bits_f32(0x7fffffff) : f32_min(%0, %1)",
	    F32, F32),
	ROW(F32, "neg.ftz.f32 %d, %0;", "-flush(%0)", F32),
	ROW(PRED, "setp.eq.ftz.f32 %d, %0, %1;", "flush(%0) == flush(%1)", F32, F32),
	/* Signs from integers: that of a NaN is not defined. */
	ROW(F32,
	    "{ .reg .b32 t; and.b32 t, %0, 0x80000000; or.b32 t, t, 0x3f800000; copysign.f32 %d, t, %1; }",
	    "__builtin_copysignf(%1, (int32_t)%0 < 0 ? -1 : 1)", R32, F32),
	ROW(F64,
	    "{ .reg .b64 t; and.b64 t, %0, 0x8000000000000000; or.b64 t, t, 1; copysign.f64 %d, t, %1; }",
	    "__builtin_copysign(%1, (int64_t)%0 < 0 ? -1 : 1)", R64, F64),
	/* Bits of floats, with one kind of NaN. */
	ROW(R32,
	    "{ .reg .pred q; .reg .f32 t; setp.nan.f32 q, %0, %0; selp.f32 t, 0f7fffffff, %0, q; mov.b32 %d, "
	    "t; }",
	    "same_nan_f32(%0)", F32),
	ROW(R64,
	    "{ .reg .pred q; .reg .f64 t; setp.nan.f64 q, %0, %0; selp.f64 t, 0d7fffffffffffffff, %0, q; "
	    "mov.b64 %d, t; }",
	    "same_nan_f64(%0)", F64),
	ROW(F32, "mov.b32 %d, %0;", "bits_f32(%0)", R32),
	ROW(F64, "mov.b64 %d, %0;", "bits_f64(%0)", R64),

	/* Half precision. */
	ROW(H16, "add.rn.f16 %d, %0, %1;", "f16_of_f32(f32_of_f16(%0) + f32_of_f16(%1))", H16, H16),
	ROW(H16, "sub.rn.f16 %d, %0, %1;", "f16_of_f32(f32_of_f16(%0) - f32_of_f16(%1))", H16, H16),
	ROW(H16, "mul.rn.f16 %d, %0, %1;", "f16_of_f32(f32_of_f16(%0) * f32_of_f16(%1))", H16, H16),
	ROW(H16, "fma.rn.f16 %d, %0, %1, %2;", "f16_fma(%0, %1, %2)", H16, H16, H16),
	ROW(H16, "add.rn.sat.f16 %d, %0, %1;", "f16_saturate(f16_of_f32(f32_of_f16(%0) + f32_of_f16(%1)))",
	    H16, H16),
	ROW(H16, "mul.rn.ftz.f16 %d, %0, %1;",
	    "f16_flush(f16_of_f32(f32_of_f16(f16_flush(%0)) * f32_of_f16(f16_flush(%1))))", H16, H16),
	ROW(H16, "min.f16 %d, %0, %1;", "f16_min(%0, %1)", H16, H16),
	ROW(H16, "max.f16 %d, %0, %1;", "f16_max(%0, %1)", H16, H16),
	ROW(H16, "neg.f16 %d, %0;", "%0 ^ 0x8000", H16),
	ROW(H16, "abs.f16 %d, %0;", "%0 & 0x7fff", H16),
	ROW(H16, "cvt.rn.f16.f32 %d, %0;", "f16_of_f32(%0)", F32),
	ROW(H16, "cvt.rn.f16.f64 %d, %0;", "f16_bits((_Float16)%0)", F64),
	ROW(H16, "cvt.rn.f16.s32 %d, %0;", "f16_bits((_Float16)(double)(int32_t)%0)", R32),
	ROW(F32, "cvt.f32.f16 %d, %0;", "f32_of_f16(%0)", H16),
	ROW(F64, "cvt.f64.f16 %d, %0;", "f32_of_f16(%0)", H16),
	ROW(R32, "cvt.rzi.s32.f16 %d, %0;",
	    "whole_signed(f32_to_integer(f32_of_f16(%0), FE_TOWARDZERO), 32, false)", H16),
	ROW(PRED, "setp.gt.f16 %d, %0, %1;", "f32_of_f16(%0) > f32_of_f16(%1)", H16, H16),
	ROW(PRED, "setp.ltu.f16 %d, %0, %1;", "!(f32_of_f16(%0) >= f32_of_f16(%1))", H16, H16),
	ROW(R16, "{ .reg .b16 t; cvt.rn.bf16.f32 t, %0; mov.b16 %d, t; }", "bf16_of_f32(%0)", F32),
	ROW(F32, "{ .reg .b32 t; cvt.u32.u16 t, %0; shl.b32 t, t, 16; mov.b32 %d, t; }",
	    "bits_f32((uint32_t)%0 << 16)", R16),

	/* Memory: a thread's own bytes, read-only tables. `scratch` is the address in .local, generic in `generic`. */
	ROW(R32,
	    "{ .reg .b32 o; .reg .b64 a; and.b32 o, %0, 60; cvt.u64.u32 a, o; add.u64 a, a, scratch; "
	    "ld.local.u32 %d, [a]; }",
	    "load32(memory + (%0 & 60))", R32),
	ROW(R32,
	    "{ .reg .b32 o; .reg .b64 a; and.b32 o, %0, 31; cvt.u64.u32 a, o; add.u64 a, a, scratch; "
	    "ld.local.s8 %d, [a+32]; }",
	    "(uint32_t)(int8_t)load8(memory + 32 + (%0 & 31))", R32),
	ROW(R64,
	    "{ .reg .b32 o; .reg .b64 a; and.b32 o, %0, 62; cvt.u64.u32 a, o; add.u64 a, a, generic; ld.s16 "
	    "%d, [a]; }",
	    "(uint64_t)(int16_t)load16(memory + (%0 & 62))", R32),
	ROW(R64,
	    "{ .reg .b32 o; .reg .b64 a, t; and.b32 o, %0, 48; cvt.u64.u32 a, o; add.u64 a, a, generic; "
	    "ld.v2.u64 {%d, t}, [a]; xor.b64 %d, %d, t; }",
	    "load64(memory + (%0 & 48)) ^ load64(memory + (%0 & 48) + 8)", R32),
	ROW(R32,
	    "{ .reg .b32 o; .reg .b64 a; and.b32 o, %0, 60; cvt.u64.u32 a, o; add.u64 a, a, scratch; "
	    "st.local.u32 [a], %1; mov.b32 %d, o; }",
	    "{ uint32_t o = %0 & 60; store32(memory + o, %1); %d = o; }", R32, R32),
	ROW(R32,
	    "{ .reg .b32 o; .reg .b64 a; and.b32 o, %0, 63; cvt.u64.u32 a, o; add.u64 a, a, generic; st.u8 "
	    "[a], %1; mov.b32 %d, o; }",
	    "{ uint32_t o = %0 & 63; store8(memory + o, %1); %d = o; }", R32, R32),
	ROW(R32,
	    "{ .reg .b32 o; .reg .b64 a; and.b32 o, %0, 56; cvt.u64.u32 a, o; add.u64 a, a, generic; st.b64 "
	    "[a], %1; mov.b32 %d, o; }",
	    "{ uint32_t o = %0 & 56; store64(memory + o, %1); %d = o; }", R32, R64),
	ROW(R16,
	    "{ .reg .b32 o; .reg .b64 a; and.b32 o, %0, 48; cvt.u64.u32 a, o; add.u64 a, a, scratch; "
	    "st.local.v4.u16 [a+8], {%1, %2, %1, %2}; add.u16 %d, %1, %2; }",
	    "{ unsigned char *m = memory + 8 + (%0 & 48); uint16_t x = %1, y = %2; store16(m, x); store16(m "
	    "+ 2, y); "
	    "store16(m + 4, x); store16(m + 6, y); %d = x + y; }",
	    R32, R16, R16),
	ROW(R32,
	    "{ .reg .b32 o; .reg .b64 a, b; and.b32 o, %0, 15; mul.wide.u32 a, o, 4; mov.u64 b, const_table; "
	    "add.u64 a, a, b; "
	    "ld.const.u32 %d, [a]; }",
	    "table[%0 & 15]", R32),
	ROW(R32,
	    "{ .reg .b32 o; .reg .b64 a, b; and.b32 o, %0, 15; mul.wide.u32 a, o, 4; mov.u64 b, "
	    "global_table; add.u64 a, a, b; "
	    "ld.global.nc.u32 %d, [a]; }",
	    "table[%0 & 15]", R32),
	ROW_K(R32, 15, "{ .reg .b64 a; mov.u64 a, global_table; cvta.global.u64 a, a; ld.u32 %d, [a+4*%k]; }",
	      "table[%k]", R32),
};
const unsigned noperations = sizeof(operations) / sizeof(*operations);
