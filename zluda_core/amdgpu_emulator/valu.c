/* SPDX-License-Identifier: Apache-2.0
 *
 * VALU instructions around their loops: sources with modifiers, DPP and SDWA, float modes, results with omod, clamp
 * and the lanes' mask. RDNA 3 ISA, chapters 6 and 7; CDNA 3 ISA, chapter 6; SDWA and DPP: RDNA 2 ISA, 6.4 and 13.
 */
#include "zluda_core/amdgpu_emulator/valu.h"

#include <fenv.h>
#include <string.h>

#include "base/half.h"
#include "zluda_core/amdgpu_emulator/lanes.h"
#include "zluda_core/amdgpu_emulator/wave.h"

/* Lanes of one operand: 32-bit elements, or 64-bit ones. */
union vector {
	uint32_t w[LANES_MAX];
	uint64_t d[LANES_MAX];
};

/* MODE.FP_DENORM: bit 0 (f32: 4, others: 6) lets denormal sources pass, bit 1 results. */
static bool flushes(const struct wave *w, const struct op *op, unsigned type, bool result)
{
	if (!(op->flags & OPF_FLOAT))
		return false;
	if (type == T_F32 && (op->flags & OPF_APPROX))
		return true;
	if (w->float_default)
		return false;
	if (type == T_F32)
		return !(w->mode >> (4 + result) & 1);
	return (type == T_F16 || type == T_F16D || type == T_F64) && !(w->mode >> (6 + result) & 1);
}

static void flush(union vector *v, unsigned type, unsigned n)
{
	for (unsigned l = 0; l < n; l++) {
		if (type == T_F32)
			v->w[l] = v->w[l] & 0x7f800000 ? v->w[l] : v->w[l] & 0x80000000;
		else if (type == T_F64)
			v->d[l] = v->d[l] & 0x7ffull << 52 ? v->d[l] : v->d[l] & 1ull << 63;
		else
			v->w[l] = v->w[l] & 0x7c00 ? v->w[l] : v->w[l] & 0x8000;
	}
}

/* Which lane a lane reads under DPP16, or -1. Control values: the ISA's DPP_CTRL. */
static int dpp_lane(const struct wave *w, const struct insn *in, int l)
{
	int row = l & ~15, c = in->dpp_ctrl, amount = c & 15, last = (int)w->size - 1;

	if (c < 0x100) /* quad_perm */
		return (l & ~3) | (c >> 2 * (l & 3) & 3);
	switch (c & ~15) {
	case 0x100: return l + amount <= row + 15 ? l + amount : -1; /* row_shl */
	case 0x110: return l - amount >= row ? l - amount : -1;      /* row_shr */
	case 0x120: return row | ((l - amount) & 15);                /* row_ror */
	case 0x150: return row | amount;                             /* row_share, row_newbcast */
	case 0x160: return l ^ amount;                               /* row_xmask */
	}
	switch (c) {
	case 0x130: return l < last ? l + 1 : -1; /* wave_shl:1 */
	case 0x134: return (l + 1) & last;        /* wave_rol:1 */
	case 0x138: return l - 1;                 /* wave_shr:1 */
	case 0x13c: return (l - 1) & last;        /* wave_ror:1 */
	case 0x140: return row | (15 - (l & 15)); /* row_mirror */
	case 0x141: return (l & ~7) | (7 - (l & 7));
	case 0x142: return row - 1;           /* row_bcast:15: row 0 has no source */
	case 0x143: return l >= 32 ? 31 : -1; /* row_bcast:31 */
	}
	return -1;
}

/* Source 0 of a DPP instruction. *written loses the lanes that keep their destination. */
static void permute(const struct wave *w, const struct insn *in, union vector *v, bool wide,
		    uint64_t *written)
{
	uint64_t exec = wave_exec(w);
	union vector from = *v;

	for (int l = 0; l < (int)w->size; l++) {
		int s = in->dpp == DPP_8 ? (l & ~7) | in->dpp8[l & 7] : dpp_lane(w, in, l);
		bool masked = in->dpp == DPP_16 &&
			      (!(in->row_mask >> (l >> 4 & 3) & 1) || !(in->bank_mask >> (l >> 2 & 3) & 1));
		bool inactive = s >= 0 && !(exec >> s & 1) && !in->fetch_inactive;

		if (masked || (in->dpp == DPP_16 && (s < 0 || inactive) && !in->bound_ctrl))
			*written &= ~(1ull << l);
		bool zero = s < 0 || inactive;
		if (wide)
			v->d[l] = zero ? 0 : from.d[s];
		else
			v->w[l] = zero ? 0 : from.w[s];
	}
}

static uint32_t select_part(uint32_t v, unsigned sel, bool sign)
{
	if (sel <= SEL_BYTE_3) {
		v = v >> 8 * sel & 0xff;
		return sign ? (uint32_t)(int8_t)v : v;
	}
	if (sel <= SEL_WORD_1) {
		v = v >> 16 * (sel - SEL_WORD_0) & 0xffff;
		return sign ? (uint32_t)(int16_t)v : v;
	}
	return v;
}

static void adjust(const struct operand *o, union vector *v, unsigned type, unsigned n)
{
	unsigned top = type_is_16(type) ? 15 : 31;
	uint32_t keep = o->abs ? ~(1u << top) : ~0u, flip = o->neg ? 1u << top : 0;

	if (type_is_64(type)) {
		for (unsigned l = 0; l < n; l++)
			v->d[l] = (v->d[l] & (o->abs ? ~(1ull << 63) : ~0ull)) ^ (uint64_t)o->neg << 63;
		return;
	}
	for (unsigned l = 0; l < n; l++) {
		uint32_t e = v->w[l];
		if (o->high && type_is_16(type))
			e >>= 16;
		if (o->sel != SEL_DWORD)
			e = select_part(e, o->sel, o->sext);
		v->w[l] = (e & keep) ^ flip;
	}
}

static void broadcast(const struct wave *w, const struct operand *o, union vector *v, bool wide)
{
	if (wide) {
		uint64_t s = scalar_read64(w, o);
		for (unsigned l = 0; l < w->size; l++)
			v->d[l] = s;
	} else {
		uint32_t s = scalar_read32(w, o);
		for (unsigned l = 0; l < w->size; l++)
			v->w[l] = s;
	}
}

static const void *fetch(struct wave *w, const struct insn *in, unsigned k, union vector *v,
			 uint64_t *written)
{
	const struct operand *o = &in->src[k];
	unsigned type = in->op->type[k];
	bool wide = type_is_64(type), dpp = k == 0 && in->dpp, flushed = flushes(w, in->op, type, false);

	if (o->kind != OPD_VGPR) {
		broadcast(w, o, v, wide);
	} else if (wide) {
		for (unsigned l = 0; l < w->size; l++)
			v->d[l] = w->v[o->reg][l] | (uint64_t)w->v[o->reg + 1][l] << 32;
	} else {
		if (!dpp && !o->adjust && !flushed)
			return w->v[o->reg];
		memcpy(v->w, w->v[o->reg], 4ul * w->size);
	}
	if (dpp)
		permute(w, in, v, wide, written);
	if (o->adjust)
		adjust(o, v, type, w->size);
	if (flushed)
		flush(v, type, w->size);
	return v;
}

static const int host_rounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/* MODE.FP_ROUND: bits 1:0 for binary32, 3:2 for the others. */
static int rounding_of(const struct wave *w, const struct op *op)
{
	unsigned wide = op->result == T_F64 || op->result == T_F16 || op->result == T_F16D;

	if (w->float_default || !(op->flags & OPF_FLOAT) || (op->flags & OPF_APPROX))
		return FE_TONEAREST;
	return host_rounding[w->mode >> (wide ? 2 : 0) & 3];
}

static void run_lanes(struct wave *w, const struct insn *in, struct lanes *x)
{
	int rounding = rounding_of(w, in->op);

	x->n = w->size;
	x->clamp = in->clamp;
	x->ieee = w->gfx >= 12 ? NAN_IS_QUIETED : w->mode & MODE_IEEE ? NAN_SIGNALS : NAN_LOSES;
	x->seed = w->group->launch->perturb;
	x->neg_lo = in->neg_lo;
	if (in->op->flags & OPF_CIN)
		x->in = mask_read(w, &in->mask_in);
	if (rounding != FE_TONEAREST)
		fesetround(rounding);
	in->op->lane(x);
	if (rounding != FE_TONEAREST)
		fesetround(FE_TONEAREST);
}

static double modify(double v, const struct insn *in, bool dx10)
{
	static const double factor[] = {1, 2, 4, 0.5};

	v *= factor[in->omod];
	if (!in->clamp)
		return v;
	if (v != v)
		return dx10 ? 0 : v;
	return v < 0 ? 0 : v > 1 ? 1 : v == 0 ? 0 : v;
}

static void modify_results(const struct wave *w, const struct insn *in, union vector *r)
{
	bool dx10 = (w->mode & MODE_DX10_CLAMP) || w->gfx >= 12;

	for (unsigned l = 0; l < w->size; l++) {
		if (in->op->result == T_F32)
			r->w[l] = f32_bits((float)modify((double)f32_from(r->w[l]), in, dx10));
		else if (in->op->result == T_F64)
			r->d[l] = f64_bits(modify(f64_from(r->d[l]), in, dx10));
		else
			r->w[l] = f16_of(modify((double)f16_to_f32((uint16_t)r->w[l]), in, dx10));
	}
}

static void finish_floats(const struct wave *w, const struct insn *in, union vector *r)
{
	unsigned t = in->op->result;

	if (t != T_F32 && t != T_F64 && t != T_F16 && t != T_F16D)
		return;
	if (flushes(w, in->op, t, true))
		flush(r, t, w->size);
	if (in->clamp || in->omod)
		modify_results(w, in, r);
}

static uint64_t compute(struct wave *w, const struct insn *in, union vector *r, uint64_t *mask_out)
{
	union vector t[3];
	struct lanes x = {.r = r};
	uint64_t written = wave_exec(w);

	x.a = fetch(w, in, 0, &t[0], &written);
	if (in->nsrc > 1)
		x.b = fetch(w, in, 1, &t[1], &written);
	if (in->nsrc > 2)
		x.c = fetch(w, in, 2, &t[2], &written);
	run_lanes(w, in, &x);
	if (in->op->flags & OPF_FLOAT)
		finish_floats(w, in, r);
	*mask_out = x.out;
	return written;
}

static void store_register(struct wave *w, unsigned reg, const uint32_t *v, uint64_t mask)
{
	uint32_t *d = w->v[reg];

	if (mask == wave_all(w)) {
		memcpy(d, v, 4ul * w->size);
		return;
	}
	for (unsigned l = 0; l < w->size; l++)
		d[l] = mask >> l & 1 ? v[l] : d[l];
}

/* 16-bit results: the other half of the register is kept, or zeroed (gfx9, most ops). */
static void place_halves(const struct wave *w, const struct insn *in, union vector *r)
{
	const uint32_t *old = w->v[in->dst.reg];

	for (unsigned l = 0; l < w->size; l++) {
		uint32_t v = r->w[l] & 0xffff;
		if (in->dst_high)
			r->w[l] = (old[l] & 0xffff) | v << 16;
		else if (in->dst_keep)
			r->w[l] = (old[l] & 0xffff0000) | v;
	}
}

/* SDWA's dst_sel and dst_unused. */
static void place_part(const struct wave *w, const struct insn *in, union vector *r)
{
	const uint32_t *old = w->v[in->dst.reg];
	unsigned sel = in->dst_sel, width = sel <= SEL_BYTE_3 ? 8 : 16;
	unsigned at = sel <= SEL_BYTE_3 ? 8 * sel : 16 * (sel - SEL_WORD_0);
	uint32_t ones = (1u << width) - 1;

	for (unsigned l = 0; l < w->size; l++) {
		uint32_t v = r->w[l] & ones, sign = v >> (width - 1) & 1 ? ~0u : 0;
		if (in->dst_unused == UNUSED_PRESERVE)
			r->w[l] = (old[l] & ~(ones << at)) | v << at;
		else if (in->dst_unused == UNUSED_SEXT)
			r->w[l] = v << at | (at + width < 32 ? sign << (at + width) : 0);
		else
			r->w[l] = v << at;
	}
}

static void store(struct wave *w, const struct insn *in, union vector *r, uint64_t mask)
{
	uint32_t part[LANES_MAX];

	if (in->dst.kind == OPD_SGPR) { /* scalar results of vector ops: v_s_rcp_f32 and the like */
		scalar_write32(w, &in->dst, r->w[0]);
		return;
	}
	if (!type_is_64(in->op->result)) {
		if (in->sdwa && in->dst_sel != SEL_DWORD)
			place_part(w, in, r);
		else if (type_is_16(in->op->result) && (in->dst_high || in->dst_keep))
			place_halves(w, in, r);
		store_register(w, in->dst.reg, r->w, mask);
		return;
	}
	for (unsigned l = 0; l < w->size; l++)
		part[l] = (uint32_t)r->d[l];
	store_register(w, in->dst.reg, part, mask);
	for (unsigned l = 0; l < w->size; l++)
		part[l] = (uint32_t)(r->d[l] >> 32);
	store_register(w, in->dst.reg + 1u, part, mask);
}

/* S_SET_GPR_IDX_ON: M0[7:0] is added to the registers of the chosen operands (CDNA 3 ISA, 4.9.2). */
static void exec_indexed(struct wave *w, const struct insn *in)
{
	struct insn moved = *in;
	unsigned by = w->s[SREG_M0] & 0xff;

	for (unsigned k = 0; k < in->nsrc; k++)
		if (w->index_what >> k & 1 && moved.src[k].kind == OPD_VGPR)
			moved.src[k].reg = (uint16_t)(moved.src[k].reg + by);
	if (w->index_what & 8)
		moved.dst.reg = (uint16_t)(moved.dst.reg + by);
	if (moved.dst.reg >= VGPRS || moved.src[0].reg >= VGPRS || moved.src[1].reg >= VGPRS ||
	    moved.src[2].reg >= VGPRS) {
		wave_fault(w, AMDGPU_FAULT_INSTRUCTION, 0, 0, "index of VGPRs out of range");
		return;
	}
	w->indexed = false;
	exec_valu(w, &moved);
	w->indexed = true;
}

void exec_valu(struct wave *w, const struct insn *in)
{
	union vector r;

	if (w->indexed) {
		exec_indexed(w, in);
		return;
	}
	uint64_t out, mask = compute(w, in, &r, &out);
	store(w, in, &r, mask);
	if (in->op->flags & OPF_COUT)
		mask_write(w, &in->mask_out, out & mask);
}

/* VOPD: both halves read before either writes (RDNA 3 ISA, 7.6). */
void exec_dual(struct wave *w, const struct insn *in)
{
	union vector r, s;
	uint64_t out, first = compute(w, in, &r, &out), second = compute(w, in->dual, &s, &out);

	store(w, in, &r, first);
	store(w, in->dual, &s, second);
}

/* A bit per active lane; inactive lanes give 0. V_CMPX writes EXEC, on gfx9 the destination too. */
void exec_compare(struct wave *w, const struct insn *in)
{
	union vector t[2];
	struct lanes x = {0};
	uint64_t written = wave_exec(w), result;

	x.a = fetch(w, in, 0, &t[0], &written);
	x.b = fetch(w, in, 1, &t[1], &written);
	run_lanes(w, in, &x);
	result = x.out & written;
	if (in->mask_out.kind != OPD_NONE)
		mask_write(w, &in->mask_out, result);
	if (in->exec_too)
		wave_set_mask(w, SREG_EXEC, result);
}

/* ---- packed math: the same op on both halves (RDNA 3 ISA, 6.4; CDNA 3 ISA, 6.7) */

static void packed_source(struct wave *w, const struct insn *in, unsigned k, unsigned half, union vector *v)
{
	const struct operand *o = &in->src[k];
	bool high = (half ? in->op_sel_hi : in->op_sel) >> k & 1;
	bool neg = (half ? in->neg_hi : in->neg_lo) >> k & 1;
	unsigned width = in->packed;

	for (unsigned l = 0; l < w->size; l++) {
		uint64_t both;
		if (o->kind == OPD_VGPR)
			both = width == 16 ? w->v[o->reg][l] : w->v[o->reg + high][l];
		else if (width == 16 || o->kind != OPD_SGPR)
			both = scalar_read32(w, o);
		else
			both = scalar_read64(w, o) >> (high ? 32 : 0);
		if (width == 16)
			both = both >> (high ? 16 : 0) & 0xffff;
		v->w[l] = (uint32_t)both ^ (neg ? 1u << (width - 1) : 0);
	}
	if (flushes(w, in->op, in->op->type[k], false))
		flush(v, in->op->type[k], w->size);
}

static void packed_half(struct wave *w, const struct insn *in, unsigned half, union vector *r)
{
	union vector t[3];
	struct lanes x = {.a = &t[0], .b = &t[1], .c = &t[2], .r = r};

	for (unsigned k = 0; k < in->nsrc; k++)
		packed_source(w, in, k, half, &t[k]);
	run_lanes(w, in, &x);
	if (in->op->flags & OPF_FLOAT)
		finish_floats(w, in, r);
}

void exec_packed(struct wave *w, const struct insn *in)
{
	union vector lo, hi;
	uint64_t exec = wave_exec(w);

	packed_half(w, in, 0, &lo);
	packed_half(w, in, 1, &hi);
	if (in->packed == 16) {
		for (unsigned l = 0; l < w->size; l++)
			lo.w[l] = pack16(lo.w[l], hi.w[l]);
		store_register(w, in->dst.reg, lo.w, exec);
		return;
	}
	store_register(w, in->dst.reg, lo.w, exec);
	store_register(w, in->dst.reg + 1u, hi.w, exec);
}
