/* SPDX-License-Identifier: Apache-2.0
 *
 * Bits: logic and shift (PTX ISA 9.7.8), bit counting and fields (9.7.1), prmt
 * (9.7.9).
 */
#include "zluda_core/device_interp/lane.h"

#define LOGIC_OPS(W, T)                                                    \
	DEF2(and_##W, T, T, T, x &y)                                       \
	DEF2(or_##W, T, T, T, x | y)                                       \
	DEF2(xor_##W, T, T, T, x ^ y)                                      \
	DEF1(not_##W, T, T, ~x)                                            \
	DEF1(cnot_##W, T, T, x == 0)                                       \
	DEF2(shl_##W, T, T, uint32_t, y < W ? (uint64_t)x << (y & 63) : 0) \
	DEF2(shr_u##W, T, T, uint32_t, y < W ? (uint64_t)x >> (y & 63) : 0)
LOGIC_OPS(16, uint16_t)
LOGIC_OPS(32, uint32_t)
LOGIC_OPS(64, uint64_t)
DEF2(shr_s16, int16_t, int16_t, uint32_t, x >> (y < 15 ? y : 15))
DEF2(shr_s32, int32_t, int32_t, uint32_t, x >> (y < 31 ? y : 31))
DEF2(shr_s64, int64_t, int64_t, uint32_t, x >> (y < 63 ? y : 63))

#define PRED_OP(name, EXPR)                                                    \
	static const struct xinst *name(struct warp *w, const struct xinst *i) \
	{                                                                      \
		uint32_t x = pred_load(w, i->o[1]), y = pred_load(w, i->o[2]); \
                                                                               \
		pred_store(w, i->o[0], EXPR);                                  \
		return i + 1;                                                  \
	}
PRED_OP(and_pred, x &y)
PRED_OP(or_pred, x | y)
PRED_OP(xor_pred, x ^ y)

static const struct xinst *not_pred(struct warp *w, const struct xinst *i)
{
	pred_store(w, i->o[0], ~pred_load(w, i->o[1]));
	return i + 1;
}

/* lop3: the table's bit (a << 2 | b << 1 | c) is the result; a = 0xf0, b = 0xcc, c = 0xaa. */
static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t t)
{
	uint32_t m[8];

	for (unsigned k = 0; k < 8; k++)
		m[k] = 0u - (t >> k & 1);
	uint32_t l0 = (m[0] & ~c) | (m[1] & c), l1 = (m[2] & ~c) | (m[3] & c);
	uint32_t h0 = (m[4] & ~c) | (m[5] & c), h1 = (m[6] & ~c) | (m[7] & c);

	return (~a & ((~b & l0) | (b & l1))) | (a & ((~b & h0) | (b & h1)));
}
DEF4(lop3_b32, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, lop3(x, y, z, v))

/* lop3.BoolOp d|p, a, b, c, table, q: p = (d != 0) BoolOp q. u = boolop; o = p, d, a, b, c, table, q. */
static const struct xinst *lop3_pred(struct warp *w, const struct xinst *i)
{
	uint32_t *d = i->o[0] == OPERAND_NONE ? NULL : cell(w, i->o[0]);
	const uint32_t *a = cell(w, i->o[2]), *b = cell(w, i->o[3]), *c = cell(w, i->o[4]),
		       *t = cell(w, i->o[5]);
	uint32_t q = pred_load(w, i->o[6]), p = 0;

	FOR_LANES(l, w->exec)
	{
		uint32_t r = lop3(a[l], b[l], c[l], t[l]);

		p |= (uint32_t)(r != 0) << l;
		if (d)
			d[l] = r;
	}
	pred_store(w, i->o[1], i->u == PTX_BOOL_AND ? p & q : p | q);
	return i + 1;
}

static int emit_lop3(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	uint32_t pos[5];
	struct dest d = {.pos = OPERAND_NONE}, p;
	int rc = 0;

	if (in->boolop != PTX_BOOL_AND && in->boolop != PTX_BOOL_OR)
		return refuse(c, "this lop3 is not understood");
	for (unsigned k = 0; k < 5 && !rc; k++)
		rc = source(c, &in->src[k], k == 4 ? 1 : 32, false, &pos[k]);
	if (!rc && in->ndst == 2 && in->dst[0].kind != PTX_OPND_SINK)
		rc = dest(c, &in->dst[0], 32, false, &d);
	if (!rc)
		rc = dest(c, &in->dst[in->ndst - 1], 1, false, &p);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->o[1] = p.pos;
	for (unsigned k = 0; k < 5; k++)
		x->o[2 + k] = pos[k];
	x->u = in->boolop;
	if (d.pos != OPERAND_NONE)
		rc = dest_done(c, &d);
	return rc ? rc : dest_done(c, &p);
}

/* shf: a holds the low half, b the high one. */
static inline uint32_t shf_l(uint32_t a, uint32_t b, uint32_t n)
{
	return n >= 32 ? a : n ? b << n | a >> (32 - n) : b;
}

static inline uint32_t shf_r(uint32_t a, uint32_t b, uint32_t n)
{
	return n >= 32 ? b : n ? b << (32 - n) | a >> n : a;
}
DEF3(shf_l_clamp, uint32_t, uint32_t, uint32_t, uint32_t, shf_l(x, y, z < 32 ? z : 32))
DEF3(shf_l_wrap, uint32_t, uint32_t, uint32_t, uint32_t, shf_l(x, y, z & 31))
DEF3(shf_r_clamp, uint32_t, uint32_t, uint32_t, uint32_t, shf_r(x, y, z < 32 ? z : 32))
DEF3(shf_r_wrap, uint32_t, uint32_t, uint32_t, uint32_t, shf_r(x, y, z & 31))

DEF1(popc_32, uint32_t, uint32_t, __builtin_popcount(x))
DEF1(popc_64, uint32_t, uint64_t, __builtin_popcountll(x))
DEF1(clz_32, uint32_t, uint32_t, x ? __builtin_clz(x) : 32)
DEF1(clz_64, uint32_t, uint64_t, x ? __builtin_clzll(x) : 64)

static inline uint32_t bfind(uint64_t v, uint32_t msb, bool amount)
{
	if (!v)
		return ~0u;
	uint32_t pos = 63 - (uint32_t)__builtin_clzll(v);

	return amount ? msb - pos : pos;
}
#define SIGNLESS(T, x) ((x) < 0 ? ~(uint64_t)(x) & (T)~0ull : (uint64_t)(x))
DEF1(bfind_u32, uint32_t, uint32_t, bfind(x, 31, false))
DEF1(bfind_s32, uint32_t, int32_t, bfind(SIGNLESS(uint32_t, x), 31, false))
DEF1(bfind_u64, uint32_t, uint64_t, bfind(x, 63, false))
DEF1(bfind_s64, uint32_t, int64_t, bfind(SIGNLESS(uint64_t, x), 63, false))
DEF1(bfind_shift_u32, uint32_t, uint32_t, bfind(x, 31, true))
DEF1(bfind_shift_s32, uint32_t, int32_t, bfind(SIGNLESS(uint32_t, x), 31, true))
DEF1(bfind_shift_u64, uint32_t, uint64_t, bfind(x, 63, true))
DEF1(bfind_shift_s64, uint32_t, int64_t, bfind(SIGNLESS(uint64_t, x), 63, true))

static inline uint32_t brev32(uint32_t v)
{
	v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
	v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(v);
}
DEF1(brev_32, uint32_t, uint32_t, brev32(x))
DEF1(brev_64, uint64_t, uint64_t, (uint64_t)brev32((uint32_t)x) << 32 | brev32((uint32_t)(x >> 32)))

/* fns: the offset-th set bit from base, up or down. */
static inline uint32_t fns(uint32_t mask, uint32_t base, int32_t offset)
{
	int32_t step = offset > 0 ? 1 : -1;
	int64_t count = (offset > 0 ? (int64_t)offset : -(int64_t)offset) - 1;

	if (base > 31)
		return ~0u;
	if (offset == 0)
		return mask >> base & 1 ? base : ~0u;
	for (int32_t pos = (int32_t)base; pos >= 0 && pos < 32; pos += step)
		if ((mask >> pos & 1) && count-- == 0)
			return (uint32_t)pos;
	return ~0u;
}
DEF3(fns_b32, uint32_t, uint32_t, uint32_t, int32_t, fns(x, y, z))

static inline uint64_t bfe(uint64_t a, uint32_t pos, uint32_t len, uint32_t bits, bool sign)
{
	pos &= 0xff;
	len &= 0xff;
	uint32_t top = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
	bool fill = sign && len && (a >> top & 1);
	uint64_t v = pos < bits ? a >> pos : 0;
	uint32_t have = pos < bits ? (len < bits - pos ? len : bits - pos) : 0;
	uint64_t mask = have >= 64 ? ~0ull : (1ull << have) - 1;

	return (v & mask) | (fill ? ~mask : 0);
}
DEF3(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, bfe(x, y, z, 32, false))
DEF3(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, bfe(x, y, z, 32, true))
DEF3(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, bfe(x, y, z, 64, false))
DEF3(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, bfe(x, y, z, 64, true))

static inline uint64_t bfi(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, uint32_t bits)
{
	pos &= 0xff;
	len &= 0xff;
	if (pos >= bits || !len)
		return b;
	uint32_t have = len < bits - pos ? len : bits - pos;
	uint64_t mask = (have >= 64 ? ~0ull : (1ull << have) - 1) << pos;

	return (b & ~mask) | (a << pos & mask);
}
DEF4(bfi_32, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, bfi(x, y, z, v, 32))
DEF4(bfi_64, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t, bfi(x, y, z, v, 64))

static inline uint32_t szext(uint32_t a, uint32_t b, bool clamp, bool sign)
{
	uint32_t n = b & 31;
	bool large = clamp && b >= 32;
	uint32_t mask = large ? 0 : ~0u << n;
	bool fill = sign && n && !large && (a >> (n - 1) & 1);

	return (a & ~mask) | (fill ? mask : 0);
}
DEF2(szext_clamp_u32, uint32_t, uint32_t, uint32_t, szext(x, y, true, false))
DEF2(szext_clamp_s32, uint32_t, uint32_t, uint32_t, szext(x, y, true, true))
DEF2(szext_wrap_u32, uint32_t, uint32_t, uint32_t, szext(x, y, false, false))
DEF2(szext_wrap_s32, uint32_t, uint32_t, uint32_t, szext(x, y, false, true))

static inline uint32_t bmsk(uint32_t a, uint32_t b, bool clamp)
{
	uint32_t lo = a & 31, n = b & 31;

	if (clamp && a >= 32)
		return 0;
	if ((clamp && b >= 32) || lo + n >= 32)
		return ~0u << lo;
	return ((1u << n) - 1) << lo;
}
DEF2(bmsk_clamp, uint32_t, uint32_t, uint32_t, bmsk(x, y, true))
DEF2(bmsk_wrap, uint32_t, uint32_t, uint32_t, bmsk(x, y, false))

/* prmt. Selectors of the special modes for c = 0..3, most significant nibble first; bit 3 of a nibble repeats
 * the sign. */
static const uint16_t prmt_modes[6][4] = {
	{0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
	{0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
	{0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
	{0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
	{0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
	{0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
};

static inline uint32_t prmt_byte(uint64_t ba, uint32_t sel)
{
	uint32_t v = (uint32_t)(ba >> (8 * (sel & 7))) & 0xff;

	return sel & 8 ? (v & 0x80 ? 0xff : 0) : v;
}

static inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t sel)
{
	uint64_t ba = (uint64_t)b << 32 | a;

	return prmt_byte(ba, sel) | prmt_byte(ba, sel >> 4) << 8 | prmt_byte(ba, sel >> 8) << 16 |
	       prmt_byte(ba, sel >> 12) << 24;
}
DEF3(prmt_b32, uint32_t, uint32_t, uint32_t, uint32_t, prmt(x, y, z))
DEF3(prmt_mode, uint32_t, uint32_t, uint32_t, uint32_t, prmt(x, y, prmt_modes[i->u][z & 3]))

#define LOGIC_ROWS(T, W, C)                                                                              \
	ROW(AND, T, C ":" C C, and_##W), ROW(OR, T, C ":" C C, or_##W), ROW(XOR, T, C ":" C C, xor_##W), \
		ROW(NOT, T, C ":" C, not_##W), ROW(CNOT, T, C ":" C, cnot_##W),                          \
		ROW(SHL, T, C ":" C "w", shl_##W), ROW(SHR, T, C ":" C "w", shr_u##W)
#define FIELD_ROWS(U, N, C)                                                   \
	ROW(BFE, U, C ":" C "ww", bfe_##N), ROW(BFIND, U, "w:" C, bfind_##N), \
		ROW(BFIND, U, "w:" C, bfind_shift_##N, NEED(PTX_F_SHIFTAMT))
#define PRMT_ROW(S, n) \
	ROW(PRMT, B32, "w:www", prmt_mode, .match = MATCH_TYPE | MATCH_SUB, .sub = PTX_SUB_##S, .u = n)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct exec_row rows[] = {
	LOGIC_ROWS(B16, 16, "h"),
	LOGIC_ROWS(B32, 32, "w"),
	LOGIC_ROWS(B64, 64, "d"),
	ROW(SHR, U16, "h:hw", shr_u16),
	ROW(SHR, U32, "w:ww", shr_u32),
	ROW(SHR, U64, "d:dw", shr_u64),
	ROW(SHR, S16, "h:hw", shr_s16),
	ROW(SHR, S32, "w:ww", shr_s32),
	ROW(SHR, S64, "d:dw", shr_s64),
	ROW(AND, PRED, "p:pp", and_pred),
	ROW(OR, PRED, "p:pp", or_pred),
	ROW(XOR, PRED, "p:pp", xor_pred),
	ROW(NOT, PRED, "p:p", not_pred),
	ROW(LOP3, B32, "w:wwww", lop3_b32, .match = MATCH_TYPE | MATCH_CMP),
	ROW(LOP3, B32, "", lop3_pred, .emit = emit_lop3),
	ROW(SHF, B32, "w:www", shf_l_clamp, NEED(PTX_F_LEFT | PTX_F_CLAMP)),
	ROW(SHF, B32, "w:www", shf_l_wrap, NEED(PTX_F_LEFT | PTX_F_WRAP)),
	ROW(SHF, B32, "w:www", shf_r_clamp, NEED(PTX_F_RIGHT | PTX_F_CLAMP)),
	ROW(SHF, B32, "w:www", shf_r_wrap, NEED(PTX_F_RIGHT | PTX_F_WRAP)),
	ROW(POPC, B32, "w:w", popc_32),
	ROW(POPC, B64, "w:d", popc_64),
	ROW(CLZ, B32, "w:w", clz_32),
	ROW(CLZ, B64, "w:d", clz_64),
	ROW(BREV, B32, "w:w", brev_32),
	ROW(BREV, B64, "d:d", brev_64),
	ROW(FNS, B32, "w:www", fns_b32),
	FIELD_ROWS(U32, u32, "w"),
	FIELD_ROWS(S32, s32, "w"),
	FIELD_ROWS(U64, u64, "d"),
	FIELD_ROWS(S64, s64, "d"),
	ROW(BFI, B32, "w:wwww", bfi_32),
	ROW(BFI, B64, "d:ddww", bfi_64),
	ROW(SZEXT, U32, "w:ww", szext_clamp_u32, NEED(PTX_F_CLAMP)),
	ROW(SZEXT, U32, "w:ww", szext_wrap_u32, NEED(PTX_F_WRAP)),
	ROW(SZEXT, S32, "w:ww", szext_clamp_s32, NEED(PTX_F_CLAMP)),
	ROW(SZEXT, S32, "w:ww", szext_wrap_s32, NEED(PTX_F_WRAP)),
	ROW(BMSK, B32, "w:ww", bmsk_clamp, NEED(PTX_F_CLAMP)),
	ROW(BMSK, B32, "w:ww", bmsk_wrap, NEED(PTX_F_WRAP)),
	ROW(PRMT, B32, "w:www", prmt_b32, .match = MATCH_TYPE | MATCH_SUB, .sub = PTX_SUB_NONE),
	PRMT_ROW(F4E, 0),
	PRMT_ROW(B4E, 1),
	PRMT_ROW(RC8, 2),
	PRMT_ROW(ECL, 3),
	PRMT_ROW(ECR, 4),
	PRMT_ROW(RC16, 5),
};
#pragma GCC diagnostic pop

const struct exec_family EXEC_FAMILY(exec_bits) = {rows, sizeof(rows) / sizeof(rows[0])};
