/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparison and selection, PTX ISA 9.7.6 and 9.7.7: setp, set, selp, slct, and
 * testp (9.7.3).
 *
 * A comparison handler leaves one bit a lane; setp and set share it. For
 * setp: o = p, q, c, a, b (q, c may be OPERAND_NONE), u = boolop.
 */
#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/lane.h"

static const uint32_t lane_bit[LANES] = {
	1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
	1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
	1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
	1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31,
};

static inline uint32_t bool_combine(uint32_t op, uint32_t t, uint32_t c)
{
	return op == PTX_BOOL_AND ? t & c : op == PTX_BOOL_OR ? t | c : t ^ c;
}

static inline const struct xinst *setp_finish(struct warp *w, const struct xinst *i, uint32_t t)
{
	uint32_t p = t, q = ~t;

	if (i->o[2] != OPERAND_NONE) {
		uint32_t c = pred_load(w, i->o[2]);

		p = bool_combine(i->u, t, c);
		q = bool_combine(i->u, ~t, c);
	}
	if (i->o[0] != OPERAND_NONE)
		pred_store(w, i->o[0], p);
	if (i->o[1] != OPERAND_NONE)
		pred_store(w, i->o[1], q);
	return i + 1;
}

/* set: the result is all ones or 1.0 (imm holds its bits); o = d, -, c, a, b. */
#define SET_STORE(T)                                              \
	do {                                                      \
		T *d = cell(w, i->o[0]);                          \
		T yes = (T)i->imm;                                \
		LANES_STORE(T, (void)0, LANE_ON(t, l) ? yes : 0); \
	} while (0)

static inline const struct xinst *set_finish(struct warp *w, const struct xinst *i, uint32_t t)
{
	if (i->o[2] != OPERAND_NONE)
		t = bool_combine(i->u & 0xff, t, pred_load(w, i->o[2]));
	if (i->u >> 8 == 16)
		SET_STORE(uint16_t);
	else
		SET_STORE(uint32_t);
	return i + 1;
}

#define COMPARE(name, T, EXPR)                                                        \
	static inline uint32_t bits_##name(struct warp *w, const struct xinst *i)     \
	{                                                                             \
		const T *a = cell(w, i->o[3]), *b = cell(w, i->o[4]);                 \
		uint32_t r = 0;                                                       \
                                                                                      \
		for (uint32_t l = 0; l < LANES; l++) {                                \
			T x = a[l], y = b[l];                                         \
			r |= (EXPR) ? lane_bit[l] : 0;                                \
		}                                                                     \
		return r;                                                             \
	}                                                                             \
	static const struct xinst *setp_##name(struct warp *w, const struct xinst *i) \
	{                                                                             \
		return setp_finish(w, i, bits_##name(w, i));                          \
	}                                                                             \
	static const struct xinst *set_##name(struct warp *w, const struct xinst *i)  \
	{                                                                             \
		return set_finish(w, i, bits_##name(w, i));                           \
	}

#define COMPARE_INT(N, T)          \
	COMPARE(eq_##N, T, x == y) \
	COMPARE(ne_##N, T, x != y) \
	COMPARE(lt_##N, T, x < y)  \
	COMPARE(le_##N, T, x <= y) \
	COMPARE(gt_##N, T, x > y)  \
	COMPARE(ge_##N, T, x >= y)
COMPARE_INT(u16, uint16_t)
COMPARE_INT(s16, int16_t)
COMPARE_INT(u32, uint32_t)
COMPARE_INT(s32, int32_t)
COMPARE_INT(u64, uint64_t)
COMPARE_INT(s64, int64_t)

/* V turns the cell's type into the compared value. */
#define COMPARE_FLOAT(N, T, V)                             \
	COMPARE(eq_##N, T, V(x) == V(y))                   \
	COMPARE(ne_##N, T, V(x) < V(y) || V(x) > V(y))     \
	COMPARE(lt_##N, T, V(x) < V(y))                    \
	COMPARE(le_##N, T, V(x) <= V(y))                   \
	COMPARE(gt_##N, T, V(x) > V(y))                    \
	COMPARE(ge_##N, T, V(x) >= V(y))                   \
	COMPARE(equ_##N, T, !(V(x) < V(y) || V(x) > V(y))) \
	COMPARE(neu_##N, T, V(x) != V(y))                  \
	COMPARE(ltu_##N, T, !(V(x) >= V(y)))               \
	COMPARE(leu_##N, T, !(V(x) > V(y)))                \
	COMPARE(gtu_##N, T, !(V(x) <= V(y)))               \
	COMPARE(geu_##N, T, !(V(x) < V(y)))                \
	COMPARE(num_##N, T, V(x) == V(x) && V(y) == V(y))  \
	COMPARE(nan_##N, T, V(x) != V(x) || V(y) != V(y))
#define AS_IS(x) (x)
COMPARE_FLOAT(f32, float, AS_IS)
COMPARE_FLOAT(f64, double, AS_IS)
COMPARE_FLOAT(ftz, float, flush32)
COMPARE_FLOAT(f16, uint16_t, f16_to_f32)
COMPARE_FLOAT(h16z, uint16_t, f16_to_f32_ftz)
COMPARE_FLOAT(b16, uint16_t, bf16_to_f32)

/* setp.f16x2 p|q: p for the low half, q for the high half; u = cmp << 8 | boolop, imm: 1 = bf16, 2 = ftz. */
static inline bool compare_value(unsigned cmp, float x, float y)
{
	switch (cmp) {
	case PTX_EQ: return x == y;
	case PTX_NE: return x < y || x > y;
	case PTX_LT: return x < y;
	case PTX_LE: return x <= y;
	case PTX_GT: return x > y;
	case PTX_GE: return x >= y;
	case PTX_EQU: return !(x < y || x > y);
	case PTX_NEU: return x != y;
	case PTX_LTU: return !(x >= y);
	case PTX_LEU: return !(x > y);
	case PTX_GTU: return !(x <= y);
	case PTX_GEU: return !(x < y);
	case PTX_NUM: return x == x && y == y;
	default: return x != x || y != y;
	}
}

static inline float half_value(uint16_t v, int64_t how)
{
	return how & 1 ? bf16_to_f32(v) : how & 2 ? f16_to_f32_ftz(v) : f16_to_f32(v);
}

static inline void pair_bits(struct warp *w, const struct xinst *i, int64_t how, unsigned cmp, uint32_t t[2])
{
	const uint32_t *a = cell(w, i->o[3]), *b = cell(w, i->o[4]);

	t[0] = t[1] = 0;
	FOR_LANES(l, w->exec)
	{
		t[0] |= (uint32_t)compare_value(cmp, half_value((uint16_t)a[l], how),
						half_value((uint16_t)b[l], how))
			<< l;
		t[1] |= (uint32_t)compare_value(cmp, half_value((uint16_t)(a[l] >> 16), how),
						half_value((uint16_t)(b[l] >> 16), how))
			<< l;
	}
}

static const struct xinst *setp_pair(struct warp *w, const struct xinst *i)
{
	const bool combine = i->o[2] != OPERAND_NONE;
	const uint32_t c = combine ? pred_load(w, i->o[2]) : 0;
	uint32_t t[2];

	pair_bits(w, i, i->imm, i->u >> 8, t);
	for (unsigned k = 0; k < 2; k++) {
		if (combine)
			t[k] = bool_combine(i->u & 0xff, t[k], c);
		if (i->o[k] != OPERAND_NONE)
			pred_store(w, i->o[k], t[k]);
	}
	return i + 1;
}

/* set.f16x2: 0 or 1.0 in each half; .u32 and friends: the 16 bits all ones. imm: low byte how, above the
 * "yes" value. */
static const struct xinst *set_pair(struct warp *w, const struct xinst *i)
{
	uint32_t t[2], *d = cell(w, i->o[0]);
	uint32_t yes = (uint32_t)(i->imm >> 8) & 0xffff;

	pair_bits(w, i, i->imm & 0xff, i->u >> 8, t);
	for (unsigned k = 0; k < 2 && i->o[2] != OPERAND_NONE; k++)
		t[k] = bool_combine(i->u & 0xff, t[k], pred_load(w, i->o[2]));
	FOR_LANES(l, w->exec)
	d[l] = (LANE_ON(t[0], l) ? yes : 0) | (LANE_ON(t[1], l) ? yes << 16 : 0);
	return i + 1;
}

static int optional_dest(struct decode *c, unsigned k, struct dest *d)
{
	*d = (struct dest){.pos = OPERAND_NONE, .reg = OPERAND_NONE};
	if (k >= c->in->ndst || c->in->dst[k].kind == PTX_OPND_SINK)
		return 0;
	return dest(c, &c->in->dst[k], 1, false, d);
}

static int compare_sources(struct decode *c, unsigned bits, bool sign, uint32_t pos[3])
{
	int rc = source(c, &c->in->src[0], bits, sign, &pos[0]);

	if (!rc)
		rc = source(c, &c->in->src[1], bits, sign, &pos[1]);
	pos[2] = OPERAND_NONE;
	if (!rc && c->in->nsrc == 3)
		rc = source(c, &c->in->src[2], 1, false, &pos[2]);
	return rc;
}

static int emit_setp(struct decode *c, const struct exec_row *row)
{
	uint32_t pos[3];
	struct dest p, q;
	int rc = optional_dest(c, 0, &p);

	if (!rc)
		rc = optional_dest(c, 1, &q);
	if (!rc)
		rc = compare_sources(c, sig_bits(row->sig[0]), ptx_type_is_signed(c->in->type), pos);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = p.pos;
	x->o[1] = q.pos;
	x->o[2] = pos[2];
	x->o[3] = pos[0];
	x->o[4] = pos[1];
	x->u = c->in->boolop;
	if (row->u) { /* pairs */
		x->u |= (uint32_t)c->in->cmp << 8;
		x->imm = (int64_t)(row->u >> 1) | (c->in->flags & PTX_F_FTZ ? 2 : 0);
	}
	if (p.pos != OPERAND_NONE)
		rc = dest_done(c, &p);
	if (!rc && q.pos != OPERAND_NONE)
		rc = dest_done(c, &q);
	return rc;
}

static uint32_t set_yes(enum ptx_type t)
{
	switch (t) {
	case PTX_F32: return 0x3f800000;
	case PTX_F16:
	case PTX_F16X2: return 0x3c00;
	case PTX_BF16:
	case PTX_BF16X2: return 0x3f80;
	default: return ptx_type_bits(t) == 16 ? 0xffff : 0xffffffff;
	}
}

/* set.cmp.dtype.stype: rows are found by the source type, which is type2; type is the result's. */
static int emit_set(struct decode *c, const struct exec_row *row)
{
	unsigned bits = ptx_type_bits(c->in->type);
	uint32_t pos[3];
	struct dest d;
	int rc = dest(c, &c->in->dst[0], bits, false, &d);

	if (bits != 16 && bits != 32)
		return refuse(c, "a result of %u bits is not executed", bits);
	if (!rc)
		rc = compare_sources(c, sig_bits(row->sig[0]), ptx_type_is_signed(c->in->type2), pos);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->o[2] = pos[2];
	x->o[3] = pos[0];
	x->o[4] = pos[1];
	x->u = c->in->boolop | bits << 8;
	x->imm = set_yes(c->in->type);
	if (row->u) {
		x->u = c->in->boolop | (uint32_t)c->in->cmp << 8;
		x->imm = (row->u >> 1) | (c->in->flags & PTX_F_FTZ ? 2 : 0) | (x->imm & 0xffff) << 8;
	}
	return dest_done(c, &d);
}

#define SELP_OP(W, T)                                                              \
	static const struct xinst *selp_##W(struct warp *w, const struct xinst *i) \
	{                                                                          \
		T *d = cell(w, i->o[0]);                                           \
		const T *a = cell(w, i->o[1]), *b = cell(w, i->o[2]);              \
		const uint32_t p = pred_load(w, i->o[3]);                          \
                                                                                   \
		LANES_STORE(T, T x = a[l]; T y = b[l], LANE_ON(p, l) ? x : y);     \
		return i + 1;                                                      \
	}                                                                          \
	DEF3(slct_s32_##W, T, T, T, int32_t, z >= 0 ? x : y)                       \
	DEF3(slct_f32_##W, T, T, T, float, z >= 0 ? x : y)                         \
	DEF3(slct_ftz_##W, T, T, T, float, flush32(z) >= 0 ? x : y)
SELP_OP(16, uint16_t)
SELP_OP(32, uint32_t)
SELP_OP(64, uint64_t)

/* testp */
#define TESTP_OP(N, T, U, EXPBITS, MANBITS)                                                      \
	static inline bool test_##N(U u, uint32_t what)                                          \
	{                                                                                        \
		U man = u & (((U)1 << MANBITS) - 1), e = u >> MANBITS & (((U)1 << EXPBITS) - 1); \
		const U top = ((U)1 << EXPBITS) - 1;                                             \
                                                                                                 \
		switch (what) {                                                                  \
		case PTX_SUB_FINITE: return e != top;                                            \
		case PTX_SUB_INFINITE: return e == top && !man;                                  \
		case PTX_SUB_NUMBER: return e != top || !man;                                    \
		case PTX_SUB_NOTANUMBER: return e == top && man;                                 \
		case PTX_SUB_NORMAL: return e != top && (e != 0 || !man); /* zeros too */        \
		default: return e == 0 && man;                                                   \
		}                                                                                \
	}                                                                                        \
	static const struct xinst *testp_##N(struct warp *w, const struct xinst *i)              \
	{                                                                                        \
		const U *a = cell(w, i->o[1]);                                                   \
		uint32_t r = 0;                                                                  \
                                                                                                 \
		for (uint32_t l = 0; l < LANES; l++)                                             \
			r |= (uint32_t)test_##N(a[l], i->u) << l;                                \
		pred_store(w, i->o[0], r);                                                       \
		return i + 1;                                                                    \
	}
TESTP_OP(f32, float, uint32_t, 8, 23)
TESTP_OP(f64, double, uint64_t, 11, 52)

#define CMP_ROW(T, C, N, CMP, F)                                                                            \
	ROW(SETP, T, C, setp_##N, .match = MATCH_TYPE | MATCH_CMP, .cmp = PTX_##CMP, .emit = emit_setp, F), \
	{                                                                                                   \
		.op = PTX_OP_SET, .match = MATCH_TYPE2 | MATCH_CMP, .type2 = PTX_##T, .cmp = PTX_##CMP,     \
		.sig = C, .fn = set_##N, .emit = emit_set, F                                                \
	}
#define CMP_BITS(T, N, C) CMP_ROW(T, C, eq_##N, EQ, OK(0)), CMP_ROW(T, C, ne_##N, NE, OK(0))
#define CMP_INT(T, N, C)                                                                       \
	CMP_BITS(T, N, C), CMP_ROW(T, C, lt_##N, LT, OK(0)), CMP_ROW(T, C, le_##N, LE, OK(0)), \
		CMP_ROW(T, C, gt_##N, GT, OK(0)), CMP_ROW(T, C, ge_##N, GE, OK(0))
#define CMP_UINT(T, N, C)                                                                     \
	CMP_INT(T, N, C), CMP_ROW(T, C, lt_##N, LO, OK(0)), CMP_ROW(T, C, le_##N, LS, OK(0)), \
		CMP_ROW(T, C, gt_##N, HI, OK(0)), CMP_ROW(T, C, ge_##N, HS, OK(0))
#define CMP_FLOAT(T, N, C, F)                                                                             \
	CMP_ROW(T, C, eq_##N, EQ, F), CMP_ROW(T, C, ne_##N, NE, F), CMP_ROW(T, C, lt_##N, LT, F),         \
		CMP_ROW(T, C, le_##N, LE, F), CMP_ROW(T, C, gt_##N, GT, F), CMP_ROW(T, C, ge_##N, GE, F), \
		CMP_ROW(T, C, equ_##N, EQU, F), CMP_ROW(T, C, neu_##N, NEU, F),                           \
		CMP_ROW(T, C, ltu_##N, LTU, F), CMP_ROW(T, C, leu_##N, LEU, F),                           \
		CMP_ROW(T, C, gtu_##N, GTU, F), CMP_ROW(T, C, geu_##N, GEU, F),                           \
		CMP_ROW(T, C, num_##N, NUM, F), CMP_ROW(T, C, nan_##N, NAN, F)
#define PAIR_ROWS(T, n, F)                                                                            \
	ROW(SETP, T, "w", setp_pair, .emit = emit_setp, .u = n, F),                                   \
	{                                                                                             \
		.op = PTX_OP_SET, .match = MATCH_TYPE2, .type2 = PTX_##T, .sig = "w", .fn = set_pair, \
		.emit = emit_set, .u = n, F                                                           \
	}
#define SELP_ROWS(T, W, C)                                                                   \
	ROW(SELP, T, C ":" C C "p", selp_##W),                                               \
		ROW(SLCT, T, C ":" C C "w", slct_s32_##W, .match = MATCH_TYPE | MATCH_TYPE2, \
		    .type2 = PTX_S32),                                                       \
		ROW(SLCT, T, C ":" C C "w", slct_f32_##W, .match = MATCH_TYPE | MATCH_TYPE2, \
		    .type2 = PTX_F32),                                                       \
		ROW(SLCT, T, C ":" C C "w", slct_ftz_##W, .match = MATCH_TYPE | MATCH_TYPE2, \
		    .type2 = PTX_F32, NEED(PTX_F_FTZ))
#define TESTP_ROW(T, N, C, S)                                                                 \
	ROW(TESTP, T, "p:" C, testp_##N, .match = MATCH_TYPE | MATCH_SUB, .sub = PTX_SUB_##S, \
	    .u = PTX_SUB_##S)
#define TESTP_ROWS(T, N, C)                                                                   \
	TESTP_ROW(T, N, C, FINITE), TESTP_ROW(T, N, C, INFINITE), TESTP_ROW(T, N, C, NUMBER), \
		TESTP_ROW(T, N, C, NOTANUMBER), TESTP_ROW(T, N, C, NORMAL), TESTP_ROW(T, N, C, SUBNORMAL)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct exec_row rows[] = {
	CMP_BITS(B16, u16, "h"),
	CMP_BITS(B32, u32, "w"),
	CMP_BITS(B64, u64, "d"),
	CMP_UINT(U16, u16, "h"),
	CMP_INT(S16, s16, "h"),
	CMP_UINT(U32, u32, "w"),
	CMP_INT(S32, s32, "w"),
	CMP_UINT(U64, u64, "d"),
	CMP_INT(S64, s64, "d"),
	CMP_FLOAT(F32, f32, "w", OK(0)),
	CMP_FLOAT(F32, ftz, "w", NEED(PTX_F_FTZ)),
	CMP_FLOAT(F64, f64, "d", OK(0)),
	CMP_FLOAT(F16, f16, "h", OK(0)),
	CMP_FLOAT(F16, h16z, "h", NEED(PTX_F_FTZ)),
	CMP_FLOAT(BF16, b16, "h", OK(0)),
	PAIR_ROWS(F16X2, 1, OK(PTX_F_FTZ)),
	PAIR_ROWS(BF16X2, 3, OK(0)),
	SELP_ROWS(B16, 16, "h"),
	SELP_ROWS(U16, 16, "h"),
	SELP_ROWS(S16, 16, "h"),
	SELP_ROWS(B32, 32, "w"),
	SELP_ROWS(U32, 32, "w"),
	SELP_ROWS(S32, 32, "w"),
	SELP_ROWS(F32, 32, "w"),
	SELP_ROWS(B64, 64, "d"),
	SELP_ROWS(U64, 64, "d"),
	SELP_ROWS(S64, 64, "d"),
	SELP_ROWS(F64, 64, "d"),
	TESTP_ROWS(F32, f32, "w"),
	TESTP_ROWS(F64, f64, "d"),
};
#pragma GCC diagnostic pop

const struct exec_family EXEC_FAMILY(exec_compare) = {rows, sizeof(rows) / sizeof(rows[0])};
