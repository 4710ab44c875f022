/* SPDX-License-Identifier: Apache-2.0
 *
 * Warp-level matrices, PTX ISA 9.7.14: mma.sync of dense row.col fragments and
 * ldmatrix. Fragment layouts are the ISA's: with g = lane / 4 and t = lane % 4
 * and E elements in a 32-bit register, register r of A (16 x K) holds row
 * g + 8 (r % 2), columns (r / 2) 4E + tE + e; register r of B (K x 8) holds rows
 * r 4E + tE + e of column g; C and D (16 x 8) hold row g + 8 (i / 2), column
 * 2t + i % 2 as element i. f64 (8 x 8 x 4) has one register each for A and B.
 *
 * The order of a sum is free (ISA 9.7.14.5): products are exact and summed in
 * double, rounded once to the result; integers wrap or saturate.
 */
#include <stdio.h>
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/lane.h"

enum { MAX_K = 64 };

struct element {
	uint8_t type, bits;
	bool integer, sign;
	int8_t format; /* enum small_format, -1 = f32-wide tf32, f64 or integer */
};

static const struct element elements[] = {
	{PTX_F16, 16, false, true, FMT_F16},  {PTX_BF16, 16, false, true, FMT_BF16},
	{PTX_TF32, 32, false, true, -1},      {PTX_F64, 64, false, true, -1},
	{PTX_S8, 8, true, true, -1},          {PTX_U8, 8, true, false, -1},
	{PTX_S4, 4, true, true, -1},          {PTX_U4, 4, true, false, -1},
	{PTX_E4M3, 8, false, true, FMT_E4M3}, {PTX_E5M2, 8, false, true, FMT_E5M2},
};

struct mma {
	const struct element *a, *b;
	unsigned m, k, na, nb, nc, nd; /* rows, depth, registers */
	uint8_t dtype, ctype;
	bool satfinite;
	uint32_t d[4], s[12]; /* cells: A, B, C after each other */
};

/* All living lanes must be here together: fragments that come earlier wait. */
static bool converged(struct warp *w, const struct xinst *i)
{
	for (uint32_t k = 0; k < LANES; k++) {
		struct fragment *f = &w->frags[k];

		if (f != w->cur && f->state == FRAG_COLLECTIVE && f->pc == i && f->frame == w->frame)
			warp_absorb(w, f);
	}
	if ((w->mask | w->exited) == FULL_MASK)
		return true;
	w->cur->state = FRAG_COLLECTIVE;
	w->cur->members = FULL_MASK;
	w->cur->pc = i;
	w->stop = STOP_SWITCH;
	return false;
}

static double float_element(const struct element *e, uint64_t bits)
{
	if (e->bits == 64)
		return f64_from(bits);
	if (e->format < 0) /* tf32: the low 13 bits are not looked at */
		return (double)f32_from((uint32_t)bits & 0xffffe000);
	return float_value((enum small_format)e->format, (uint32_t)bits & ((1u << e->bits) - 1));
}

static int64_t int_element(const struct element *e, uint64_t bits)
{
	bits &= (1u << e->bits) - 1;
	return e->sign && bits >> (e->bits - 1) ? (int64_t)(bits | ~0ull << e->bits) : (int64_t)bits;
}

union number {
	double f;
	int64_t i;
};

static union number element(struct warp *w, const struct element *e, uint32_t cell_pos, unsigned lane,
			    unsigned n)
{
	const void *p = cell(w, cell_pos);
	uint64_t bits =
		e->bits == 64 ? ((const uint64_t *)p)[lane] : ((const uint32_t *)p)[lane] >> (n * e->bits);

	return e->integer ? (union number){.i = int_element(e, bits)}
			  : (union number){.f = float_element(e, bits)};
}

/* Fragments to matrices. */
static void gather(struct warp *w, const struct mma *x, union number a[16][MAX_K], union number b[MAX_K][8])
{
	const unsigned per = x->a->bits < 32 ? 32 / x->a->bits : 1;

	for (unsigned l = 0; l < LANES; l++) {
		for (unsigned r = 0; r < x->na; r++)
			for (unsigned e = 0; e < per; e++)
				a[l / 4 + (x->m == 16 ? 8 * (r & 1) : 0)]
				 [(x->m == 16 ? r / 2 : r) * 4 * per + l % 4 * per + e] =
					 element(w, x->a, x->s[r], l, e);
		for (unsigned r = 0; r < x->nb; r++)
			for (unsigned e = 0; e < per; e++)
				b[r * 4 * per + l % 4 * per + e][l / 4] =
					element(w, x->b, x->s[x->na + r], l, e);
	}
}

/* Element i of an accumulator, whatever holds it: two f16 in a register, or one f32, s32 or f64. */
static union number accumulator(struct warp *w, const struct mma *x, unsigned lane, unsigned i)
{
	const uint32_t *c = x->s + x->na + x->nb;

	switch (x->ctype) {
	case PTX_F16:
		return (union number){
			.f = (double)f16_to_f32(
				(uint16_t)(((uint32_t *)cell(w, c[i / 2]))[lane] >> (16 * (i & 1))))};
	case PTX_F32: return (union number){.f = (double)((float *)cell(w, c[i]))[lane]};
	case PTX_F64: return (union number){.f = ((double *)cell(w, c[i]))[lane]};
	default: return (union number){.i = ((int32_t *)cell(w, c[i]))[lane]};
	}
}

static int32_t finish_int(const struct mma *x, int64_t v)
{
	if (x->satfinite)
		v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
	return (int32_t)(uint32_t)(uint64_t)v;
}

static void store(struct warp *w, const struct mma *x, unsigned lane, unsigned i, union number v)
{
	switch (x->dtype) {
	case PTX_F16: {
		uint32_t *d = (uint32_t *)cell(w, x->d[i / 2]) + lane;
		const unsigned shift = 16 * (i & 1);

		*d = (*d & ~(0xffffu << shift)) | (uint32_t)f16_from_f64(v.f) << shift;
		break;
	}
	case PTX_F32:
		((uint32_t *)cell(w, x->d[i]))[lane] = v.f != v.f ? 0x7fffffff : f32_bits((float)v.f);
		break;
	case PTX_F64: ((double *)cell(w, x->d[i]))[lane] = v.f; break;
	default: ((int32_t *)cell(w, x->d[i]))[lane] = finish_int(x, v.i); break;
	}
}

static const struct xinst *mma_sync(struct warp *w, const struct xinst *i)
{
	const struct mma *x = (const void *)(uintptr_t)i->imm;
	union number a[16][MAX_K] = {0}, b[MAX_K][8] = {0}, sum[LANES][4];
	const unsigned count = x->m == 16 ? 4 : 2;

	if (!converged(w, i))
		return NULL;
	gather(w, x, a, b);
	for (unsigned l = 0; l < LANES; l++) {
		for (unsigned n = 0; n < count; n++) {
			const unsigned row = l / 4 + 8 * (n / 2), col = 2 * (l % 4) + (n & 1);
			union number s = accumulator(w, x, l, n);

			for (unsigned k = 0; k < x->k; k++) {
				if (x->a->integer)
					s.i += a[row][k].i * b[k][col].i;
				else
					s.f = x->a->bits == 64 ? __builtin_fma(a[row][k].f, b[k][col].f, s.f)
							       : s.f + a[row][k].f * b[k][col].f;
			}
			sum[l][n] = s;
		}
	}
	FOR_LANES(l, w->mask)
	for (unsigned n = 0; n < count; n++)
		store(w, x, l, n, sum[l][n]);
	return i + 1;
}

static const struct element *element_of(unsigned type)
{
	for (unsigned k = 0; k < sizeof(elements) / sizeof(elements[0]); k++)
		if (elements[k].type == type)
			return &elements[k];
	return NULL;
}

/* Shape and types to register counts; false when this isn't done here. */
static bool describe(const struct ptx_inst *in, struct mma *x)
{
	const char *shape = strstr(in->mods, ".m");
	unsigned n = 0;

	x->a = element_of(in->type2);
	x->b = element_of(in->type3);
	x->dtype = in->type;
	x->ctype = in->type4;
	x->satfinite = in->flags & PTX_F_SATFINITE;
	if (!shape || sscanf(shape, ".m%un%uk%u", &x->m, &n, &x->k) != 3 || !x->a || !x->b ||
	    x->a->bits != x->b->bits)
		return false;
	const bool wide = x->a->bits == 64;

	if (n != 8 || x->m != (wide ? 8 : 16) || x->k > MAX_K || (in->layout & 3) != 2 ||
	    (wide && x->k != 4) || (x->a->integer != (x->dtype == PTX_S32)) ||
	    (x->dtype != PTX_F16 && x->dtype != x->ctype) ||
	    (x->ctype != PTX_F16 && x->ctype != PTX_F32 && x->ctype != PTX_F64 && x->ctype != PTX_S32))
		return false;
	x->na = wide ? 1 : x->k * x->a->bits / 64;
	x->nb = wide ? 1 : x->k * x->a->bits / 128;
	x->nc = wide ? 2 : x->ctype == PTX_F16 ? 2 : 4;
	x->nd = wide ? 2 : x->dtype == PTX_F16 ? 2 : 4;
	return x->na >= 1 && x->nb >= 1 && in->ndst == x->nd && in->nsrc == x->na + x->nb + x->nc;
}

static int emit_mma(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	struct mma *x = arena_zalloc(&c->program->arena, sizeof(*x));
	struct dest d[4];
	int rc = 0;

	if (!x || !describe(in, x))
		return refuse(c, "this matrix shape, type or layout is not executed");
	for (unsigned k = 0; k < in->nsrc && !rc; k++)
		rc = source(c, &in->src[k], x->a->bits == 64 ? 64 : 32, false, &x->s[k]);
	for (unsigned k = 0; k < x->nd && !rc; k++) {
		rc = dest(c, &in->dst[k], x->dtype == PTX_F64 ? 64 : 32, false, &d[k]);
		x->d[k] = d[k].pos;
	}
	if (rc)
		return rc;
	struct xinst *i = emit(c, row->fn);
	if (!i)
		return refuse(c, "out of memory");
	i->imm = (int64_t)(uintptr_t)x;
	for (unsigned k = 0; k < x->nd && !rc; k++)
		rc = dest_done(c, &d[k]);
	return rc;
}

/* ldmatrix: lane 8 m + r gives the address of row r of matrix m. o = destinations, addresses; u = count |
 * space << 8 | transposed << 16. */
static const struct xinst *ldmatrix(struct warp *w, const struct xinst *i)
{
	const unsigned count = i->u & 0xff;
	const enum ptx_space space = (enum ptx_space)(i->u >> 8 & 0xff);
	uint16_t m[4][8][8];

	if (!converged(w, i))
		return NULL;
	const uint64_t *a = cell(w, i->o[count]);

	for (unsigned l = 0; l < 8 * count; l++) {
		const uint8_t *p = mem_resolve_lane(w, i, space, a[l], 16, 16, 0, l);

		if (!p)
			return NULL;
		memcpy(m[l / 8][l % 8], p, 16);
	}
	for (unsigned n = 0; n < count; n++) {
		uint32_t *d = cell(w, i->o[n]);

		FOR_LANES(l, w->mask)
		{
			const unsigned r = l / 4, t = l % 4 * 2;

			d[l] = i->u >> 16 ? m[n][t][r] | (uint32_t)m[n][t + 1][r] << 16
					  : m[n][r][t] | (uint32_t)m[n][r][t + 1] << 16;
		}
	}
	return i + 1;
}

static int emit_ldmatrix(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	enum ptx_space space = (enum ptx_space)in->space;
	uint32_t base, pos;
	int64_t imm;
	struct dest d[4];
	int rc;

	if (!strstr(in->mods, ".m8n8.") || !strstr(in->mods, ".b16") || in->ndst > 4 || in->ndst == 3)
		return refuse(c, "this matrix shape or type is not executed");
	rc = address(c, &in->src[0], in->offset, &space, &base, &imm);
	if (!rc)
		rc = add_offset(c, base, imm, &pos);
	for (unsigned k = 0; k < in->ndst && !rc; k++)
		rc = dest(c, &in->dst[k], 32, false, &d[k]);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	for (unsigned k = 0; k < in->ndst; k++)
		x->o[k] = d[k].pos;
	x->o[in->ndst] = pos;
	x->u = in->ndst | (uint32_t)space << 8 | (in->flags & PTX_F_TRANS ? 1u << 16 : 0);
	for (unsigned k = 0; k < in->ndst && !rc; k++)
		rc = dest_done(c, &d[k]);
	return rc;
}

static const struct exec_row rows[] = {
	{.op = PTX_OP_MMA,
	 .ok = PTX_F_SYNC | PTX_F_SATFINITE,
	 .sig = "",
	 .fn = mma_sync,
	 .emit = emit_mma,
	 .splits = true},
	{.op = PTX_OP_LDMATRIX,
	 .ok = PTX_F_SYNC | PTX_F_TRANS,
	 .sig = "",
	 .fn = ldmatrix,
	 .emit = emit_ldmatrix,
	 .splits = true},
};

const struct exec_family exec_mma = {rows, sizeof(rows) / sizeof(rows[0])};
