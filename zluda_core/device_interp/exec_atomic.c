/* SPDX-License-Identifier: Apache-2.0
 *
 * atom and red, PTX ISA 9.7.13, by the host's atomic operations: blocks run on
 * several cores and host threads may use the same memory. Lanes go in ascending
 * order.
 *
 * o = destinations (OPERAND_NONE for red), address, b's, c's; u = vector length |
 * space << 8 | sources << 16 | elements that the address is aligned to << 24. Eight
 * elements are two instructions of four.
 */
#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/lane.h"

typedef unsigned __int128 u128;

#define U_VEC(u)   ((u)&0xff)
#define U_SPACE(u) ((enum ptx_space)((u) >> 8 & 0xff))

/* f32 add flushes subnormals in global memory and keeps them in shared memory (ISA 9.7.13, atom). */
static inline float add_f32(float x, float y, bool flush)
{
	float r = flush ? flush32(flush32(x) + flush32(y)) : x + y;

	return r != r ? f32_from(0x7fffffff) : r;
}

static inline uint16_t add_half(uint16_t x, uint16_t y)
{
	return f16_from_f32(f16_to_f32(x) + f16_to_f32(y));
}

static inline uint16_t add_bhalf(uint16_t x, uint16_t y)
{
	return (uint16_t)float_round(FMT_BF16, (double)bf16_to_f32(x) + (double)bf16_to_f32(y), PTX_RN,
				     false);
}

/* NaN loses; both NaN: the canonical one. */
static inline uint16_t pick_half(float x, float y, uint16_t a, uint16_t b, bool max)
{
	if (x != x || y != y)
		return x != x && y != y ? 0x7fff : x != x ? b : a;
	bool less = x < y || (x == y && (a & 0x8000) > (b & 0x8000));

	return less != max ? a : b;
}

static inline uint16_t min_half(uint16_t x, uint16_t y)
{
	return pick_half(f16_to_f32(x), f16_to_f32(y), x, y, false);
}

static inline uint16_t max_half(uint16_t x, uint16_t y)
{
	return pick_half(f16_to_f32(x), f16_to_f32(y), x, y, true);
}

static inline uint16_t min_bhalf(uint16_t x, uint16_t y)
{
	return pick_half(bf16_to_f32(x), bf16_to_f32(y), x, y, false);
}

static inline uint16_t max_bhalf(uint16_t x, uint16_t y)
{
	return pick_half(bf16_to_f32(x), bf16_to_f32(y), x, y, true);
}
#define PAIRWISE(F, x, y)                            \
	((uint32_t)F((uint16_t)(x), (uint16_t)(y)) | \
	 (uint32_t)F((uint16_t)((x) >> 16), (uint16_t)((y) >> 16)) << 16)

static inline bool cas_u128(u128 *p, u128 *old, u128 v)
{
	u128 seen = __sync_val_compare_and_swap(p, *old, v);
	bool ok = seen == *old;

	*old = seen;
	return ok;
}

static inline u128 load_u128(u128 *p)
{
	return __sync_val_compare_and_swap(p, 0, 0);
}
#define LOAD(p)        __atomic_load_n(p, __ATOMIC_RELAXED)
#define CAS(p, old, v) __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/* One read-modify-write of T; x is the old value, y and z are the operands, flush: global f32. */
#define ATOMIC_LOOP(name, T, LOADER, CASER, EXPR)                                                   \
	static const struct xinst *name(struct warp *w, const struct xinst *i)                      \
	{                                                                                           \
		const uint32_t vec = U_VEC(i->u), n = i->u >> 16 & 0xff;                            \
		const uint64_t *base = cell(w, i->o[vec]);                                          \
		uint64_t a[LANES];                                                                  \
		uint8_t *p[LANES];                                                                  \
                                                                                                    \
		LANE_LOOP a[l] = base[l] + (uint64_t)i->imm;                                        \
		if (!mem_resolve(w, i, U_SPACE(i->u), a, vec * sizeof(T), (i->u >> 24) * sizeof(T), \
				 MEM_ATOMIC, p))                                                    \
			return NULL;                                                                \
		FOR_LANES(l, w->exec)                                                               \
		{                                                                                   \
			const bool flush = U_SPACE(i->u) != PTX_SPACE_SHARED && !(a[l] >> 47);      \
                                                                                                    \
			(void)flush;                                                                \
			for (uint32_t k = 0; k < vec; k++) {                                        \
				T *q = (T *)p[l] + k, y = ((T *)cell(w, i->o[vec + 1 + k]))[l];     \
				T z = n > 1 ? ((T *)cell(w, i->o[2 * vec + 1 + k]))[l] : 0;         \
				T x = LOADER(q);                                                    \
                                                                                                    \
				(void)z;                                                            \
				while (!CASER(q, &x, (T)(EXPR)))                                    \
					;                                                           \
				if (i->o[k] != OPERAND_NONE)                                        \
					((T *)cell(w, i->o[k]))[l] = x;                             \
			}                                                                           \
		}                                                                                   \
		spin(w);                                                                            \
		return i + 1;                                                                       \
	}
#define ATOMIC(name, T, EXPR) ATOMIC_LOOP(name, T, LOAD, CAS, EXPR)

#define ATOMIC_WORDS(N, T, S)                    \
	ATOMIC(add_##N, T, x + y)                \
	ATOMIC(and_##N, T, x &y)                 \
	ATOMIC(or_##N, T, x | y)                 \
	ATOMIC(xor_##N, T, x ^ y)                \
	ATOMIC(exch_##N, T, y)                   \
	ATOMIC(cas_##N, T, x == y ? z : x)       \
	ATOMIC(min_u##N, T, x < y ? x : y)       \
	ATOMIC(max_u##N, T, x > y ? x : y)       \
	ATOMIC(min_s##N, T, (S)x < (S)y ? x : y) \
	ATOMIC(max_s##N, T, (S)x > (S)y ? x : y)
ATOMIC_WORDS(32, uint32_t, int32_t)
ATOMIC_WORDS(64, uint64_t, int64_t)
ATOMIC(cas_16, uint16_t, x == y ? z : x)
ATOMIC_LOOP(cas_128, u128, load_u128, cas_u128, x == y ? z : x)
ATOMIC_LOOP(exch_128, u128, load_u128, cas_u128, y)
ATOMIC(inc_32, uint32_t, x >= y ? 0 : x + 1)
ATOMIC(dec_32, uint32_t, x == 0 || x > y ? y : x - 1)
ATOMIC(add_f32_, uint32_t, f32_bits(add_f32(f32_from(x), f32_from(y), flush)))
ATOMIC(add_f64_, uint64_t, f64_bits(f64_from(x) + f64_from(y)))
ATOMIC(add_f16_, uint16_t, add_half(x, y))
ATOMIC(add_bf16_, uint16_t, add_bhalf(x, y))
ATOMIC(add_f16x2_, uint32_t, PAIRWISE(add_half, x, y))
ATOMIC(add_bf16x2_, uint32_t, PAIRWISE(add_bhalf, x, y))
#define ATOMIC_MINMAX(OP)                                        \
	ATOMIC(OP##_f16_, uint16_t, OP##_half(x, y))             \
	ATOMIC(OP##_bf16_, uint16_t, OP##_bhalf(x, y))           \
	ATOMIC(OP##_f16x2_, uint32_t, PAIRWISE(OP##_half, x, y)) \
	ATOMIC(OP##_bf16x2_, uint32_t, PAIRWISE(OP##_bhalf, x, y))
ATOMIC_MINMAX(min)
ATOMIC_MINMAX(max)

struct atomic {
	uint32_t d[8], pos, data[8];
	unsigned vec, n;
	enum ptx_space space;
	int64_t imm;
};

/* Elements first to first + count of the vector. */
static int emit_part(struct decode *c, exec_fn fn, const struct atomic *a, unsigned first, unsigned count)
{
	struct xinst *x = emit(c, fn);

	if (!x)
		return refuse(c, "out of memory");
	for (unsigned k = 0; k < count; k++)
		x->o[k] = a->d[first + k];
	x->o[count] = a->pos;
	for (unsigned k = 0; k < count; k++)
		x->o[count + 1 + k] = a->data[first + k];
	if (a->n > 1)
		x->o[count + 2] = a->data[1]; /* c of cas, which has no vectors */
	x->imm = a->imm + (int64_t)(first * ptx_type_bits(c->in->type) / 8);
	x->u = count | (uint32_t)a->space << 8 | a->n << 16 | (first ? count : a->vec) << 24;
	return 0;
}

static const struct xinst *copy_half(struct warp *w, const struct xinst *i)
{
	uint16_t *d = cell(w, i->o[0]);
	const uint16_t *s = cell(w, i->o[1]);

	LANES_STORE(uint16_t, uint16_t x = s[l], x);
	return i + 1;
}

/* Eight halves: a result must not reach its register before the second part has read its sources. */
static int emit_eight(struct decode *c, exec_fn fn, const struct atomic *a)
{
	struct atomic part = *a;
	int rc = 0;

	for (unsigned k = 0; k < 8; k++)
		part.d[k] = a->d[k] == OPERAND_NONE ? OPERAND_NONE : temp(c, 16);
	rc = emit_part(c, fn, &part, 0, 4);
	if (!rc)
		rc = emit_part(c, fn, &part, 4, 4);
	for (unsigned k = 0; k < 8 && !rc; k++) {
		if (a->d[k] == OPERAND_NONE)
			continue;
		struct xinst *x = emit(c, copy_half);
		if (!x)
			return refuse(c, "out of memory");
		x->o[0] = a->d[k];
		x->o[1] = part.d[k];
	}
	return rc;
}

static int emit_atom(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	const unsigned bits = ptx_type_bits(in->type);
	struct atomic a = {.vec = in->vec ? in->vec : 1,
			   .n = in->sub == PTX_SUB_CAS ? 2 : 1,
			   .space = (enum ptx_space)in->space};
	const unsigned ndst = in->op == PTX_OP_ATOM ? a.vec : 0, ndata = a.n * a.vec;
	struct dest d[8];

	if (a.vec > 8 || (a.vec == 8 && bits != 16) || (a.vec > 1 && a.n > 1) || in->nsrc < 1 + ndata ||
	    in->ndst != ndst)
		return refuse(c, "this atomic operation is not executed");
	int rc = address(c, &in->src[0], in->offset, &a.space, &a.pos, &a.imm);
	for (unsigned k = 0; k < ndata && !rc; k++)
		rc = source(c, &in->src[1 + k], bits, false, &a.data[k]);
	if (!rc)
		rc = inject_stored(c, &a.data[ndata - 1], ndst ? 0 : bits);
	for (unsigned k = 0; k < a.vec && !rc; k++) {
		d[k] = (struct dest){.pos = OPERAND_NONE};
		if (ndst && in->dst[k].kind != PTX_OPND_SINK)
			rc = dest(c, &in->dst[k], bits, ptx_type_is_signed(in->type), &d[k]);
		a.d[k] = d[k].pos;
	}
	if (a.space == PTX_SPACE_SHARED_CLUSTER)
		a.space = PTX_SPACE_SHARED;
	if (!rc)
		rc = a.vec == 8 ? emit_eight(c, row->fn, &a) : emit_part(c, row->fn, &a, 0, a.vec);
	for (unsigned k = 0; k < ndst && !rc; k++)
		if (d[k].pos != OPERAND_NONE)
			rc = dest_done(c, &d[k]);
	return rc;
}

#define A(OP, SUB, T, FN)                                                                                  \
	{                                                                                                  \
		.op = PTX_OP_##OP, .match = MATCH_TYPE | MATCH_SUB, .type = PTX_##T, .sub = PTX_SUB_##SUB, \
		.ok = PTX_F_CACHE_HINT, .sig = "", .fn = FN, .emit = emit_atom                             \
	}
#define BOTH(SUB, T, FN) A(ATOM, SUB, T, FN), A(RED, SUB, T, FN)
#define HALF_MINMAX(SUB, N)                                                                 \
	BOTH(SUB, F16, N##_f16_), BOTH(SUB, BF16, N##_bf16_), BOTH(SUB, F16X2, N##_f16x2_), \
		BOTH(SUB, BF16X2, N##_bf16x2_)
#define LOGIC(T, W) BOTH(AND, T, and_##W), BOTH(OR, T, or_##W), BOTH(XOR, T, xor_##W)

static const struct exec_row rows[] = {
	HALF_MINMAX(MIN, min),
	HALF_MINMAX(MAX, max),
	LOGIC(B32, 32),
	LOGIC(B64, 64),
	BOTH(ADD, U32, add_32),
	BOTH(ADD, S32, add_32),
	BOTH(ADD, U64, add_64),
	BOTH(ADD, S64, add_64),
	BOTH(MIN, U32, min_u32),
	BOTH(MIN, S32, min_s32),
	BOTH(MIN, U64, min_u64),
	BOTH(MIN, S64, min_s64),
	BOTH(MAX, U32, max_u32),
	BOTH(MAX, S32, max_s32),
	BOTH(MAX, U64, max_u64),
	BOTH(MAX, S64, max_s64),
	BOTH(INC, U32, inc_32),
	BOTH(DEC, U32, dec_32),
	BOTH(ADD, F32, add_f32_),
	BOTH(ADD, F64, add_f64_),
	BOTH(ADD, F16, add_f16_),
	BOTH(ADD, BF16, add_bf16_),
	BOTH(ADD, F16X2, add_f16x2_),
	BOTH(ADD, BF16X2, add_bf16x2_),
	A(ATOM, EXCH, B32, exch_32),
	A(ATOM, EXCH, B64, exch_64),
	A(ATOM, EXCH, B128, exch_128),
	A(ATOM, EXCH, U32, exch_32),
	A(ATOM, EXCH, U64, exch_64),
	A(ATOM, EXCH, S32, exch_32),
	A(ATOM, EXCH, F32, exch_32),
	A(ATOM, CAS, B16, cas_16),
	A(ATOM, CAS, B32, cas_32),
	A(ATOM, CAS, B64, cas_64),
	A(ATOM, CAS, B128, cas_128),
	A(ATOM, CAS, U32, cas_32),
	A(ATOM, CAS, U64, cas_64),
	A(ATOM, CAS, S32, cas_32),
};

const struct exec_family exec_atomic = {rows, sizeof(rows) / sizeof(rows[0])};
