/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector instructions that look beyond their own lane, and those whose operands are chosen per instruction: RDNA 3
 * ISA, 16.7 to 16.12 and 11.6 (LDS permutes); RDNA 4 ISA for the _VAR forms.
 */
#include <fenv.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/control.h"
#include "zluda_core/amdgpu_emulator/lanes.h"
#include "zluda_core/amdgpu_emulator/wave.h"

static uint32_t source(const struct wave *w, const struct operand *o, unsigned lane)
{
	return o->kind == OPD_VGPR ? w->v[o->reg][lane] : scalar_read32(w, o);
}

static void write_active(struct wave *w, const struct operand *dst, const uint32_t *v)
{
	uint64_t exec = wave_exec(w);

	for (unsigned l = 0; l < w->size; l++)
		if (exec >> l & 1)
			w->v[dst->reg][l] = v[l];
}

void exec_readfirstlane(struct wave *w, const struct insn *in)
{
	uint64_t exec = wave_exec(w);

	scalar_write32(w, &in->dst, source(w, &in->src[0], exec ? (unsigned)__builtin_ctzll(exec) : 0));
}

void exec_readlane(struct wave *w, const struct insn *in)
{
	scalar_write32(w, &in->dst, source(w, &in->src[0], scalar_read32(w, &in->src[1]) & (w->size - 1)));
}

void exec_writelane(struct wave *w, const struct insn *in)
{
	w->v[in->dst.reg][scalar_read32(w, &in->src[1]) & (w->size - 1)] = scalar_read32(w, &in->src[0]);
}

/* op_sel[0]: fetch from inactive lanes; op_sel[1]: lanes without a source give 0 rather than keep their value. */
static void permlane(struct wave *w, const struct insn *in, bool other_row, bool per_lane)
{
	uint64_t exec = wave_exec(w), select = 0;
	uint32_t out[LANES_MAX], *d = w->v[in->dst.reg];

	if (!per_lane)
		select = scalar_read32(w, &in->src[1]) | (uint64_t)scalar_read32(w, &in->src[2]) << 32;
	for (unsigned l = 0; l < w->size; l++) {
		unsigned row = (l & ~15u) ^ (other_row ? 16 : 0);
		unsigned s = row | (per_lane ? source(w, &in->src[1], l) & 15
					     : (unsigned)(select >> 4 * (l & 15)) & 15);
		bool there = (exec >> s & 1) || (in->op_sel & 1);
		out[l] = there ? source(w, &in->src[0], s) : in->op_sel & 2 ? 0 : d[l];
	}
	write_active(w, &in->dst, out);
}

void exec_permlane16(struct wave *w, const struct insn *in)
{
	permlane(w, in, false, false);
}

void exec_permlanex16(struct wave *w, const struct insn *in)
{
	permlane(w, in, true, false);
}

void exec_permlane16_var(struct wave *w, const struct insn *in)
{
	permlane(w, in, false, true);
}

void exec_permlanex16_var(struct wave *w, const struct insn *in)
{
	permlane(w, in, true, true);
}

void exec_permlane64(struct wave *w, const struct insn *in)
{
	uint32_t out[LANES_MAX];

	if (w->size == 32)
		return;
	for (unsigned l = 0; l < 64; l++)
		out[l] = source(w, &in->src[0], l ^ 32);
	write_active(w, &in->dst, out);
}

void exec_swap(struct wave *w, const struct insn *in)
{
	uint32_t a[LANES_MAX], b[LANES_MAX];

	memcpy(a, w->v[in->dst.reg], sizeof a);
	memcpy(b, w->v[in->src[0].reg], sizeof b);
	write_active(w, &in->dst, b);
	write_active(w, &in->src[0], a);
}

/* V_MOVREL*: register numbers plus M0 (or, for the _2 form, two fields of it). */
static void move_relative(struct wave *w, const struct insn *in, unsigned from, unsigned to)
{
	uint32_t out[LANES_MAX];
	struct operand dst = in->dst, src = in->src[0];

	if (src.reg + from >= VGPRS || dst.reg + to >= VGPRS || from >= VGPRS || to >= VGPRS) {
		wave_fault(w, AMDGPU_FAULT_INSTRUCTION, 0, 0, "index of VGPRs out of range");
		return;
	}
	src.reg = (uint16_t)(src.reg + from);
	dst.reg = (uint16_t)(dst.reg + to);
	for (unsigned l = 0; l < w->size; l++)
		out[l] = source(w, &src, l);
	write_active(w, &dst, out);
}

void exec_movrels(struct wave *w, const struct insn *in)
{
	move_relative(w, in, w->s[SREG_M0], 0);
}

void exec_movreld(struct wave *w, const struct insn *in)
{
	move_relative(w, in, 0, w->s[SREG_M0]);
}

void exec_movrelsd(struct wave *w, const struct insn *in)
{
	move_relative(w, in, w->s[SREG_M0], w->s[SREG_M0]);
}

void exec_movrelsd_2(struct wave *w, const struct insn *in)
{
	move_relative(w, in, w->s[SREG_M0] & 0x3ff, w->s[SREG_M0] >> 16 & 0x3ff);
}

/* V_PK_MOV_B32 (CDNA): the halves of the result come from source 0 and source 1. */
void exec_pk_mov(struct wave *w, const struct insn *in)
{
	uint32_t lo[LANES_MAX], hi[LANES_MAX];
	struct operand dst = in->dst;

	for (unsigned l = 0; l < w->size; l++) {
		for (unsigned k = 0; k < 2; k++) {
			struct operand o = in->src[k];
			bool high = (k ? in->op_sel_hi : in->op_sel) >> k & 1;
			if (o.kind == OPD_VGPR || o.kind == OPD_SGPR)
				o.reg = (uint16_t)(o.reg + high);
			(k ? hi : lo)[l] = source(w, &o, l);
		}
	}
	write_active(w, &dst, lo);
	dst.reg++;
	write_active(w, &dst, hi);
}

/* Sources of V_FMA_MIX: binary32, or a half of a register when op_sel_hi says so. neg_hi means abs here. */
static float mix_source(const struct wave *w, const struct insn *in, unsigned k, unsigned lane)
{
	uint32_t u = source(w, &in->src[k], lane);
	float f = in->op_sel_hi >> k & 1 ? half_of(u, in->op_sel >> k & 1) : f32_from(u);

	if ((in->neg_hi >> k & 1) || in->src[k].abs)
		f = fabsf(f);
	return (in->neg_lo >> k & 1) || in->src[k].neg ? -f : f;
}

static const int host_rounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static void fma_mix(struct wave *w, const struct insn *in, bool half, bool high)
{
	uint32_t out[LANES_MAX];

	fesetround(host_rounding[w->mode >> (half ? 2 : 0) & 3]);
	for (unsigned l = 0; l < w->size; l++) {
		float a = mix_source(w, in, 0, l), b = mix_source(w, in, 1, l), c = mix_source(w, in, 2, l);
		uint32_t old = w->v[in->dst.reg][l];
		float r = fmaf(a, b, c);
		if (in->clamp)
			r = r > 0 ? (r < 1 ? r : 1) : 0;
		uint32_t h = f16_of((double)r);
		out[l] = !half ? f32_bits(r) : high ? (old & 0xffff) | h << 16 : (old & 0xffff0000) | h;
	}
	fesetround(FE_TONEAREST);
	write_active(w, &in->dst, out);
}

void exec_fma_mix(struct wave *w, const struct insn *in)
{
	fma_mix(w, in, false, false);
}

void exec_fma_mixlo(struct wave *w, const struct insn *in)
{
	fma_mix(w, in, true, false);
}

void exec_fma_mixhi(struct wave *w, const struct insn *in)
{
	fma_mix(w, in, true, true);
}

/* ---- LDS permutes: no memory is touched */

static uint32_t reverse5(uint32_t v)
{
	return brev32(v) >> 27;
}

/* Which lane of its 32 a lane reads: DS_SWIZZLE_B32's modes (RDNA 3 ISA, 16.15; gfx9 has the FFT mode, too). */
static unsigned swizzle_lane(uint32_t offset, unsigned lane)
{
	unsigned l = lane & 31, base = lane & 32;

	if (offset >= 0xe000) { /* FFT */
		unsigned mask = offset & 31;
		unsigned j = reverse5(l) >> __builtin_popcount(mask);
		return base | ((j | (l & mask)) & 31);
	}
	if (offset >= 0xc000) { /* rotate */
		unsigned mask = offset & 31, by = offset >> 5 & 31;
		unsigned j = offset >> 10 & 1 ? l - by : l + by;
		return base | (l & mask) | (j & 31 & ~mask);
	}
	if (offset & 0x8000) /* quad permute */
		return (lane & ~3u) | (offset >> 2 * (lane & 3) & 3);
	return base | (((l & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31));
}

void exec_ds_swizzle(struct wave *w, const struct insn *in)
{
	uint64_t exec = wave_exec(w);
	uint32_t out[LANES_MAX];

	for (unsigned l = 0; l < w->size; l++) {
		unsigned s = swizzle_lane((uint32_t)in->offset & 0xffff, l);
		out[l] = exec >> s & 1 ? source(w, &in->src[0], s) : 0;
	}
	write_active(w, &in->dst, out);
}

/* The lane that an address names. RDNA 3 ISA: modulo 32 whatever the wave's size, each half of a wave of 64 on its own
 * (the document's pseudocode leaves the half out); CDNA 3 ISA, RDNA 4 ISA: modulo the wave's size. */
static unsigned permuted_lane(const struct wave *w, const struct insn *in, unsigned lane)
{
	unsigned to = (source(w, &in->src[0], lane) + (uint32_t)in->offset) / 4;

	return w->gfx == 10 || w->gfx == 11 ? (lane & 32) | (to & 31) : to % w->size;
}

void exec_ds_bpermute(struct wave *w, const struct insn *in)
{
	uint64_t exec = wave_exec(w);
	uint32_t out[LANES_MAX];

	for (unsigned l = 0; l < w->size; l++) {
		unsigned s = permuted_lane(w, in, l);
		out[l] = exec >> s & 1 ? source(w, &in->src[1], s) : 0;
	}
	write_active(w, &in->dst, out);
}

void exec_ds_permute(struct wave *w, const struct insn *in)
{
	uint64_t exec = wave_exec(w);
	uint32_t out[LANES_MAX] = {0};

	for (unsigned l = 0; l < w->size; l++)
		if (exec >> l & 1)
			out[permuted_lane(w, in, l)] = source(w, &in->src[1], l);
	write_active(w, &in->dst, out);
}
