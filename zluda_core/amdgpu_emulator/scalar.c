/* SPDX-License-Identifier: Apache-2.0
 *
 * SALU ops of scalar.def, and scalar operands. RDNA 3 ISA, chapter 5.
 */
#include "zluda_core/amdgpu_emulator/scalar.h"

#include <fenv.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/lanes.h"
#include "zluda_core/amdgpu_emulator/wave.h"

uint32_t scalar_read32(const struct wave *w, const struct operand *o)
{
	switch (o->kind) {
	case OPD_SGPR: return w->s[o->reg];
	case OPD_IMM: return (uint32_t)o->imm;
	case OPD_SCC: return w->scc;
	case OPD_VCCZ: return !wave_mask(w, SREG_VCC);
	case OPD_EXECZ: return !wave_exec(w);
	}
	return 0;
}

uint64_t scalar_read64(const struct wave *w, const struct operand *o)
{
	if (o->kind == OPD_SGPR)
		return w->s[o->reg] | (uint64_t)w->s[o->reg + 1] << 32;
	return o->kind == OPD_IMM ? o->imm : scalar_read32(w, o);
}

uint64_t mask_read(const struct wave *w, const struct operand *o)
{
	return o->kind == OPD_SGPR ? wave_mask(w, o->reg) : scalar_read64(w, o);
}

void mask_write(struct wave *w, const struct operand *o, uint64_t m)
{
	if (o->kind == OPD_SGPR)
		wave_set_mask(w, o->reg, m);
}

void scalar_write32(struct wave *w, const struct operand *o, uint32_t v)
{
	if (o->kind == OPD_SGPR)
		w->s[o->reg] = v;
}

void scalar_write64(struct wave *w, const struct operand *o, uint64_t v)
{
	if (o->kind != OPD_SGPR)
		return;
	w->s[o->reg] = (uint32_t)v;
	w->s[o->reg + 1] = (uint32_t)(v >> 32);
}

/* S_BFE: a field of `bits` bits; the document's mask for 64 and more is all ones. */
static uint64_t field_u(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((1ull << bits) - 1);
}

static int64_t field_i(int64_t v, unsigned bits)
{
	if (!bits)
		return 0;
	return bits >= 64 ? v : (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits);
}

static uint64_t bit_replicate(uint32_t v)
{
	uint64_t r = 0;

	for (unsigned i = 0; i < 32; i++)
		r |= (v >> i & 1 ? 3ull : 0) << 2 * i;
	return r;
}

static uint64_t quad_mask(uint64_t v)
{
	uint64_t r = 0;

	for (unsigned i = 0; i < 16; i++)
		r |= (uint64_t)((v >> 4 * i & 15) != 0) << i;
	return r;
}

static uint64_t whole_quads(uint64_t v)
{
	uint64_t r = 0;

	for (unsigned i = 0; i < 16; i++)
		r |= (v >> 4 * i & 15 ? 15ull : 0) << 4 * i;
	return r;
}

#define C_NO  uint32_t
#define C_U32 uint32_t
#define C_I32 int32_t
#define C_F32 float
#define C_F16 float
#define C_U64 uint64_t
#define C_I64 int64_t

#define READ_NO(o)  0
#define READ_U32(o) scalar_read32(w, o)
#define READ_I32(o) (int32_t) scalar_read32(w, o)
#define READ_F32(o) read_float(w, o)
#define READ_F16(o) read_half(w, o)
#define READ_U64(o) scalar_read64(w, o)
#define READ_I64(o) (int64_t) scalar_read64(w, o)

#define WRITE_U32(v) scalar_write32(w, &in->dst, (uint32_t)(v))
#define WRITE_I32(v) scalar_write32(w, &in->dst, (uint32_t)(v))
#define WRITE_F32(v) scalar_write32(w, &in->dst, flush_result(w, f32_bits(v)))
#define WRITE_F16(v) scalar_write32(w, &in->dst, f16_of((double)(v)))
#define WRITE_U64(v) scalar_write64(w, &in->dst, (uint64_t)(v))
#define WRITE_I64(v) scalar_write64(w, &in->dst, (uint64_t)(v))

static float read_float(const struct wave *w, const struct operand *o)
{
	uint32_t u = scalar_read32(w, o);

	if (!(w->mode >> 4 & 1) && !(u & 0x7f800000))
		u &= 0x80000000;
	if (o->abs)
		u &= 0x7fffffff;
	return f32_from(o->neg ? u ^ 0x80000000 : u);
}

static float read_half(const struct wave *w, const struct operand *o)
{
	uint16_t u = (uint16_t)scalar_read32(w, o);

	return f16_to_f32(!(w->mode >> 6 & 1) && !(u & 0x7c00) ? u & 0x8000 : u);
}

static uint32_t flush_result(const struct wave *w, uint32_t u)
{
	return !(w->mode >> 5 & 1) && !(u & 0x7f800000) ? u & 0x80000000 : u;
}

/* Float rows round as MODE says; the others cost nothing for it. */
static void enter_rounding(const struct wave *w, unsigned flags, bool half)
{
	static const int host[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

	if ((flags & OPF_FLOAT) && !w->float_default)
		fesetround(host[w->mode >> (half ? 2 : 0) & 3]);
}

static void leave_rounding(const struct wave *w, unsigned flags)
{
	if ((flags & OPF_FLOAT) && !w->float_default)
		fesetround(FE_TONEAREST);
}

#define SCC     ((uint32_t)w->scc)
#define IEEE    (w->gfx >= 12 ? NAN_IS_QUIETED : w->mode & MODE_IEEE ? NAN_SIGNALS : NAN_LOSES)
#define KEEP    w->scc
#define NONZERO r != 0

#define S(name, R, A, B, flags, scc_becomes, meaning)                  \
	static void exec_##name(struct wave *w, const struct insn *in) \
	{                                                              \
		C_##A a = READ_##A(&in->src[0]);                       \
		C_##B b = READ_##B(&in->src[1]);                       \
		uint64_t d = scalar_read64(w, &in->dst);               \
		(void)b, (void)d;                                      \
		enter_rounding(w, flags, T_##R == T_F16);              \
		C_##R r = (C_##R)(meaning);                            \
		bool scc = scc_becomes;                                \
		WRITE_##R(r);                                          \
		leave_rounding(w, flags);                              \
		w->scc = scc;                                          \
	}
#define X(name, T, flags, meaning)                                     \
	static void exec_##name(struct wave *w, const struct insn *in) \
	{                                                              \
		C_##T a = READ_##T(&in->src[0]);                       \
		C_##T b = READ_##T(&in->src[1]);                       \
		w->scc = meaning;                                      \
	}
#include "zluda_core/amdgpu_emulator/scalar.def"
#undef S
#undef X

/* S_*_SAVEEXEC, S_*_WREXEC: operations on EXEC and the source. */
#define EXEC_OPS(E)                                                                           \
	E(and, s &x)                                                                          \
	E(or, s | x)                                                                          \
	E(xor, s ^ x) E(nand, ~(s & x)) E(nor, ~(s | x)) E(xnor, ~(s ^ x)) E(and_not0, ~s &x) \
		E(or_not0, ~s | x) E(and_not1, s & ~x) E(or_not1, s | ~x)

#define E(name, meaning)                                                                         \
	static void exec_##name##_saveexec_b32(struct wave *w, const struct insn *in)            \
	{                                                                                        \
		uint32_t s = scalar_read32(w, &in->src[0]), x = w->s[SREG_EXEC], r = meaning;    \
		w->s[SREG_EXEC] = r;                                                             \
		scalar_write32(w, &in->dst, x);                                                  \
		w->scc = r != 0;                                                                 \
	}                                                                                        \
	static void exec_##name##_saveexec_b64(struct wave *w, const struct insn *in)            \
	{                                                                                        \
		uint64_t s = scalar_read64(w, &in->src[0]);                                      \
		uint64_t x = w->s[SREG_EXEC] | (uint64_t)w->s[SREG_EXEC + 1] << 32, r = meaning; \
		w->s[SREG_EXEC] = (uint32_t)r;                                                   \
		w->s[SREG_EXEC + 1] = (uint32_t)(r >> 32);                                       \
		scalar_write64(w, &in->dst, x);                                                  \
		w->scc = r != 0;                                                                 \
	}                                                                                        \
	static void exec_##name##_wrexec_b32(struct wave *w, const struct insn *in)              \
	{                                                                                        \
		uint32_t s = scalar_read32(w, &in->src[0]), x = w->s[SREG_EXEC], r = meaning;    \
		w->s[SREG_EXEC] = r;                                                             \
		scalar_write32(w, &in->dst, r);                                                  \
		w->scc = r != 0;                                                                 \
	}                                                                                        \
	static void exec_##name##_wrexec_b64(struct wave *w, const struct insn *in)              \
	{                                                                                        \
		uint64_t s = scalar_read64(w, &in->src[0]);                                      \
		uint64_t x = w->s[SREG_EXEC] | (uint64_t)w->s[SREG_EXEC + 1] << 32, r = meaning; \
		w->s[SREG_EXEC] = (uint32_t)r;                                                   \
		w->s[SREG_EXEC + 1] = (uint32_t)(r >> 32);                                       \
		scalar_write64(w, &in->dst, r);                                                  \
		w->scc = r != 0;                                                                 \
	}
EXEC_OPS(E)
#undef E

/* S_FMAAK, S_FMAMK: sources as the text has them. */
static void exec_s_fma(struct wave *w, const struct insn *in)
{
	float a = read_float(w, &in->src[0]), b = read_float(w, &in->src[1]), c = read_float(w, &in->src[2]);

	enter_rounding(w, OPF_FLOAT, false);
	WRITE_F32(fmaf(a, b, c));
	leave_rounding(w, OPF_FLOAT);
}

#define S(name, R, A, B, flags, scc_becomes, meaning) \
	{#name, T_##R, {T_##A, T_##B, T_NO}, flags, exec_##name, NULL},
#define X(name, T, flags, meaning) {#name, T_NO, {T_##T, T_##T, T_NO}, flags, exec_##name, NULL},
#define E(name, meaning)                                                                           \
	{"s_" #name "_saveexec_b32", T_U32, {T_U32}, 0, exec_##name##_saveexec_b32, NULL},         \
		{"s_" #name "_saveexec_b64", T_U64, {T_U64}, 0, exec_##name##_saveexec_b64, NULL}, \
		{"s_" #name "_wrexec_b32", T_U32, {T_U32}, 0, exec_##name##_wrexec_b32, NULL},     \
		{"s_" #name "_wrexec_b64", T_U64, {T_U64}, 0, exec_##name##_wrexec_b64, NULL},
const struct op scalar_ops[] = {
#include "zluda_core/amdgpu_emulator/scalar.def"
	EXEC_OPS(E){"s_fmaak_f32", T_F32, {T_F32, T_F32, T_F32}, OPF_FLOAT, exec_s_fma, NULL},
	{"s_fmamk_f32", T_F32, {T_F32, T_F32, T_F32}, OPF_FLOAT, exec_s_fma, NULL},
	{NULL, 0, {0}, 0, NULL, NULL},
};
