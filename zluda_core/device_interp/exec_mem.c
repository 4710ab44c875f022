/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads and stores, PTX ISA 9.7.9: ld, ldu, st. u of an instruction: vector
 * length, space and whether it is strong (a spinning thread reads with those).
 *
 * A load of `vec` elements: o[0..vec-1] destinations, o[vec] address (64-bit
 * cells), imm offset. A store: o[0] address, then the data.
 */
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/device_interp/lane.h"

typedef unsigned __int128 u128;

/* Addresses of consecutive lanes that follow each other without gaps: one check and one copy for all. */
static inline bool contiguous(const uint64_t *base, uint64_t step)
{
	uint64_t bad = 0;

	for (uint32_t l = 0; l < LANES; l++)
		bad |= base[l] ^ (base[0] + l * step);
	return !bad;
}

static inline bool uniform(const uint64_t *base)
{
	uint64_t bad = 0;

	for (uint32_t l = 0; l < LANES; l++)
		bad |= base[l] ^ base[0];
	return !bad;
}

/* Pointer to all the warp's bytes when they are one range of one memory. */
static inline uint8_t *warp_range(struct warp *w, const struct xinst *i, enum ptx_space space, uint64_t first,
				  uint64_t bytes, uint32_t align)
{
	if (first & (align - 1))
		return NULL;
	if (space == PTX_SPACE_SHARED)
		return first < w->block->shared_bytes && bytes <= w->block->shared_bytes - first
			       ? w->block->shared + first
			       : NULL;
	if (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_CONST ||
	    (space == PTX_SPACE_GENERIC && !(first >> 47)))
		return mem_range(w, i, first, bytes);
	return NULL;
}

/* A strong access is one host access and orders as acquire or release; x86-64 does that for free. */
#define ORDERED(W, T)                                                                          \
	static inline T read_##W(const T *p, bool strong)                                      \
	{                                                                                      \
		return strong ? __atomic_load_n(p, __ATOMIC_ACQUIRE) : *(const volatile T *)p; \
	}                                                                                      \
	static inline void write_##W(T *p, T v, bool strong)                                   \
	{                                                                                      \
		if (strong)                                                                    \
			__atomic_store_n(p, v, __ATOMIC_RELEASE);                              \
		else                                                                           \
			*(volatile T *)p = v;                                                  \
	}
ORDERED(8, uint8_t)
ORDERED(16, uint16_t)
ORDERED(32, uint32_t)
ORDERED(64, uint64_t)

/* Weak ones only: exec_mem_whole.c has the others. */
static inline u128 read_128(const u128 *p, bool strong)
{
	(void)strong;
	return *(const volatile u128 *)p;
}

static inline void write_128(u128 *p, u128 v, bool strong)
{
	(void)strong;
	*(volatile u128 *)p = v;
}

#define MEM_OPS(W, T)                                                                                      \
	static const struct xinst *ld_##W(struct warp *w, const struct xinst *i)                           \
	{                                                                                                  \
		const bool strong = U_STRONG(i->u);                                                        \
		const uint32_t vec = U_VEC(i->u), bytes = sizeof(T) * vec;                                 \
		const enum ptx_space space = U_SPACE(i->u);                                                \
		const uint64_t *base = cell(w, i->o[vec]);                                                 \
		uint64_t a[LANES];                                                                         \
		uint8_t *p[LANES];                                                                         \
                                                                                                           \
		if (w->exec == FULL_MASK && space != PTX_SPACE_LOCAL) {                                    \
			uint64_t first = base[0] + (uint64_t)i->imm;                                       \
			if (uniform(base)) {                                                               \
				uint8_t *q = warp_range(w, i, space, first, bytes, bytes);                 \
				if (q) {                                                                   \
					for (uint32_t k = 0; k < vec; k++) {                               \
						T *d = cell(w, i->o[k]),                                   \
						  v = read_##W((const T *)q + k, strong);                  \
						LANE_LOOP d[l] = v;                                        \
					}                                                                  \
					goto done;                                                         \
				}                                                                          \
			} else if (!strong && contiguous(base, bytes)) {                                   \
				uint8_t *q = warp_range(w, i, space, first, LANES * bytes, bytes);         \
				if (q && vec == 1) {                                                       \
					memcpy(cell(w, i->o[0]), q, LANES * sizeof(T));                    \
					goto done;                                                         \
				}                                                                          \
				for (uint32_t k = 0; q && k < vec; k++) {                                  \
					T *d = cell(w, i->o[k]);                                           \
					const T *s = (const T *)q + k;                                     \
					LANE_LOOP d[l] = s[l * vec];                                       \
				}                                                                          \
				if (q)                                                                     \
					goto done;                                                         \
			}                                                                                  \
		}                                                                                          \
		LANE_LOOP a[l] = base[l] + (uint64_t)i->imm;                                               \
		if (!mem_resolve(w, i, space, a, bytes, bytes, 0, p))                                      \
			return NULL;                                                                       \
		for (uint32_t k = 0; k < vec; k++) {                                                       \
			T *d = cell(w, i->o[k]);                                                           \
			FOR_LANES(l, w->exec)                                                              \
			d[l] = read_##W((const T *)p[l] + k, strong);                                      \
		}                                                                                          \
	done:                                                                                              \
		if (unlikely(strong))                                                                      \
			spin(w);                                                                           \
		return i + 1;                                                                              \
	}                                                                                                  \
	static const struct xinst *st_##W(struct warp *w, const struct xinst *i)                           \
	{                                                                                                  \
		const bool strong = U_STRONG(i->u);                                                        \
		const uint32_t vec = U_VEC(i->u), bytes = sizeof(T) * vec;                                 \
		const enum ptx_space space = U_SPACE(i->u);                                                \
		const uint64_t *base = cell(w, i->o[0]);                                                   \
		uint64_t a[LANES];                                                                         \
		uint8_t *p[LANES];                                                                         \
                                                                                                           \
		if (w->exec == FULL_MASK && vec == 1 && !strong && !w->watch && contiguous(base, bytes)) { \
			uint8_t *q =                                                                       \
				warp_range(w, i, space, base[0] + (uint64_t)i->imm, LANES * bytes, bytes); \
			if (q) {                                                                           \
				memcpy(q, cell(w, i->o[1]), LANES * sizeof(T));                            \
				return i + 1;                                                              \
			}                                                                                  \
		}                                                                                          \
		LANE_LOOP a[l] = base[l] + (uint64_t)i->imm;                                               \
		if (!mem_resolve(w, i, space, a, bytes, bytes, MEM_STORE, p))                              \
			return NULL;                                                                       \
		for (uint32_t k = 0; k < vec; k++) {                                                       \
			const T *s = cell(w, i->o[1 + k]);                                                 \
			FOR_LANES(l, w->exec)                                                              \
			write_##W((T *)p[l] + k, s[l], strong);                                            \
		}                                                                                          \
		return i + 1;                                                                              \
	}                                                                                                  \
	/* Own parameters and results at a fixed place: of the kernel (imm offset in its block) ... */     \
	static const struct xinst *ld_param_##W(struct warp *w, const struct xinst *i)                     \
	{                                                                                                  \
		const uint8_t *s = w->block->grid->params + i->imm;                                        \
		const uint32_t m = w->exec;                                                                \
                                                                                                           \
		for (uint32_t k = 0; k < i->u; k++) {                                                      \
			T *d = cell(w, i->o[k]), v = ((const T *)s)[k];                                    \
			if (m == FULL_MASK)                                                                \
				LANE_LOOP d[l] = v;                                                        \
			else                                                                               \
				LANE_LOOP d[l] = LANE_ON(m, l) ? v : d[l];                                 \
		}                                                                                          \
		return i + 1;                                                                              \
	}                                                                                                  \
	/* ... and of functions, in the lane's stack. */                                                   \
	static const struct xinst *ld_frame_##W(struct warp *w, const struct xinst *i)                     \
	{                                                                                                  \
		const uint8_t *s = w->local + w->local_base + i->imm;                                      \
                                                                                                           \
		for (uint32_t k = 0; k < i->u; k++) {                                                      \
			T *d = cell(w, i->o[k]);                                                           \
			FOR_LANES(l, w->exec)                                                              \
			memcpy(&d[l], s + (size_t)l * w->local_stride + k * sizeof(T), sizeof(T));         \
		}                                                                                          \
		return i + 1;                                                                              \
	}                                                                                                  \
	static const struct xinst *st_frame_##W(struct warp *w, const struct xinst *i)                     \
	{                                                                                                  \
		uint8_t *p = w->local + w->local_base + i->imm;                                            \
                                                                                                           \
		for (uint32_t k = 0; k < i->u; k++) {                                                      \
			const T *s = cell(w, i->o[1 + k]);                                                 \
			FOR_LANES(l, w->exec)                                                              \
			memcpy(p + (size_t)l * w->local_stride + k * sizeof(T), &s[l], sizeof(T));         \
		}                                                                                          \
		return i + 1;                                                                              \
	}
MEM_OPS(8, uint8_t)
MEM_OPS(16, uint16_t)
MEM_OPS(32, uint32_t)
MEM_OPS(64, uint64_t)
MEM_OPS(128, u128)

/* The forms that inner loops are made of: weak, all lanes on. Addresses are checked as vectors, then loaded
 * by a gather; anything unusual goes to the general form above.
 *
 * ldg, stg: global, constant or generic without windows; 64-bit addresses. lds, sts: shared, 32-bit
 * addresses. Each is compiled for one element and for `vec` of them (suffix v). */
static inline __attribute__((always_inline)) bool global_offsets(struct warp *w, const struct xinst *i,
								 const uint64_t *base, uint32_t bytes,
								 uint64_t *off, uint8_t **host)
{
	const uint64_t first = base[0] + (uint64_t)i->imm;
	uint64_t bad = 0, low = 0;

	if (!mem_range(w, i, first, bytes))
		return false;
	const struct tlb *t = &w->worker->tlb[i->index % TLB_ENTRIES];
	const uint64_t start = t->base, limit = t->end - t->base - bytes;

	LANE_LOOP
	{
		uint64_t a = base[l] + (uint64_t)i->imm, o = a - start;

		off[l] = o;
		low |= a;
		bad |= (limit - o) | o; /* the sign says outside */
	}
	*host = t->host;
	return !(bad >> 63) && !(low & (bytes - 1)) && !(low >> 47);
}

static inline __attribute__((always_inline)) bool shared_offsets(struct warp *w, const struct xinst *i,
								 const uint32_t *base, uint32_t bytes,
								 uint32_t unit, uint32_t *off)
{
	const uint32_t imm = (uint32_t)i->imm, limit = w->block->shared_bytes - bytes;
	uint32_t bad = 0, low = 0;

	if (w->block->shared_bytes < bytes)
		return false;
	LANE_LOOP
	{
		uint32_t o = base[l] + imm;

		off[l] = o / unit;
		low |= o;
		bad |= (limit - o) | o;
	}
	return !(bad >> 31) && !(low & (bytes - 1));
}

static inline __attribute__((always_inline)) bool without_gaps(const uint64_t *off, uint64_t step)
{
	uint64_t gap = 0;

	for (uint32_t l = 0; l < LANES; l++)
		gap |= off[l] ^ (off[0] + l * step);
	return !gap;
}

#define INLINE static inline __attribute__((always_inline)) const struct xinst *
#define FAST_OPS(W, T)                                                                                     \
	INLINE ldg_n_##W(struct warp *w, const struct xinst *i, uint32_t vec)                              \
	{                                                                                                  \
		uint64_t off[LANES];                                                                       \
		uint8_t *host;                                                                             \
                                                                                                           \
		if (w->exec != FULL_MASK ||                                                                \
		    !global_offsets(w, i, cell(w, i->o[vec]), vec * sizeof(T), off, &host))                \
			return ld_##W(w, i);                                                               \
		if (vec == 1 && without_gaps(off, sizeof(T))) {                                            \
			memcpy(cell(w, i->o[0]), host + off[0], LANES * sizeof(T));                        \
			return i + 1;                                                                      \
		}                                                                                          \
		for (uint32_t k = 0; k < vec; k++) {                                                       \
			T *d = cell(w, i->o[k]);                                                           \
			const uint8_t *s = host + k * sizeof(T);                                           \
			LANE_LOOP d[l] = *(const T *)(s + off[l]);                                         \
		}                                                                                          \
		return i + 1;                                                                              \
	}                                                                                                  \
	INLINE stg_n_##W(struct warp *w, const struct xinst *i, uint32_t vec)                              \
	{                                                                                                  \
		uint64_t off[LANES];                                                                       \
		uint8_t *host;                                                                             \
                                                                                                           \
		if (w->exec != FULL_MASK || w->watch ||                                                    \
		    !global_offsets(w, i, cell(w, i->o[0]), vec * sizeof(T), off, &host))                  \
			return st_##W(w, i);                                                               \
		if (vec == 1 && without_gaps(off, sizeof(T))) {                                            \
			memcpy(host + off[0], cell(w, i->o[1]), LANES * sizeof(T));                        \
			return i + 1;                                                                      \
		}                                                                                          \
		for (uint32_t k = 0; k < vec; k++) {                                                       \
			const T *s = cell(w, i->o[1 + k]);                                                 \
			uint8_t *p = host + k * sizeof(T);                                                 \
			for (uint32_t l = 0; l < LANES; l++)                                               \
				*(T *)(p + off[l]) = s[l];                                                 \
		}                                                                                          \
		return i + 1;                                                                              \
	}                                                                                                  \
	INLINE lds_n_##W(struct warp *w, const struct xinst *i, uint32_t vec)                              \
	{                                                                                                  \
		const uint32_t *base = cell(w, i->o[vec]), bytes = vec * (uint32_t)sizeof(T);              \
		uint32_t off[LANES];                                                                       \
		const uint8_t *p[LANES];                                                                   \
                                                                                                           \
		if (w->exec == FULL_MASK && shared_offsets(w, i, base, bytes, sizeof(T), off)) {           \
			for (uint32_t k = 0; k < vec; k++) {                                               \
				T *d = cell(w, i->o[k]);                                                   \
				const T *s = (const T *)w->block->shared + k;                              \
				LANE_LOOP d[l] = s[(int32_t)off[l]];                                       \
			}                                                                                  \
			return i + 1;                                                                      \
		}                                                                                          \
		FOR_LANES(l, w->exec)                                                                      \
		{                                                                                          \
			p[l] = mem_resolve_lane(w, i, PTX_SPACE_SHARED, base[l] + (uint32_t)i->imm, bytes, \
						bytes, 0, l);                                              \
			if (!p[l])                                                                         \
				return NULL;                                                               \
		}                                                                                          \
		for (uint32_t k = 0; k < vec; k++) {                                                       \
			T *d = cell(w, i->o[k]);                                                           \
			FOR_LANES(l, w->exec)                                                              \
			d[l] = ((const T *)p[l])[k];                                                       \
		}                                                                                          \
		return i + 1;                                                                              \
	}                                                                                                  \
	INLINE sts_n_##W(struct warp *w, const struct xinst *i, uint32_t vec)                              \
	{                                                                                                  \
		const uint32_t *base = cell(w, i->o[0]), bytes = vec * (uint32_t)sizeof(T);                \
		uint32_t off[LANES];                                                                       \
                                                                                                           \
		if (w->exec == FULL_MASK && shared_offsets(w, i, base, bytes, sizeof(T), off)) {           \
			for (uint32_t k = 0; k < vec; k++) {                                               \
				const T *s = cell(w, i->o[1 + k]);                                         \
				T *p = (T *)w->block->shared + k;                                          \
				for (uint32_t l = 0; l < LANES; l++)                                       \
					p[off[l]] = s[l];                                                  \
			}                                                                                  \
			return i + 1;                                                                      \
		}                                                                                          \
		FOR_LANES(l, w->exec)                                                                      \
		{                                                                                          \
			uint8_t *p = mem_resolve_lane(w, i, PTX_SPACE_SHARED, base[l] + (uint32_t)i->imm,  \
						      bytes, bytes, MEM_STORE, l);                         \
			if (!p)                                                                            \
				return NULL;                                                               \
			for (uint32_t k = 0; k < vec; k++)                                                 \
				((T *)p)[k] = ((const T *)cell(w, i->o[1 + k]))[l];                        \
		}                                                                                          \
		return i + 1;                                                                              \
	}                                                                                                  \
	ONE_AND_MORE(ldg, W)                                                                               \
	ONE_AND_MORE(stg, W)                                                                               \
	ONE_AND_MORE(lds, W)                                                                               \
	ONE_AND_MORE(sts, W)
#define ONE_AND_MORE(N, W)                                                         \
	static const struct xinst *N##_##W(struct warp *w, const struct xinst *i)  \
	{                                                                          \
		return N##_n_##W(w, i, 1);                                         \
	}                                                                          \
	static const struct xinst *N##v_##W(struct warp *w, const struct xinst *i) \
	{                                                                          \
		return N##_n_##W(w, i, U_VEC(i->u));                               \
	}
FAST_OPS(8, uint8_t)
FAST_OPS(16, uint16_t)
FAST_OPS(32, uint32_t)
FAST_OPS(64, uint64_t)

/* [0] one element, [1] several */
#define FAST_ROW(W)                                                            \
	{                                                                      \
		{ldg_##W, ldgv_##W}, {stg_##W, stgv_##W}, {lds_##W, ldsv_##W}, \
		{                                                              \
			sts_##W, stsv_##W                                      \
		}                                                              \
	}
static const struct fast_fns {
	exec_fn ldg[2], stg[2], lds[2], sts[2];
} fast_fns[] = {FAST_ROW(8), FAST_ROW(16), FAST_ROW(32), FAST_ROW(64)};

static const struct mem_fns {
	uint8_t bits;
	exec_fn ld, st, ld_param, ld_frame, st_frame;
} mem_fns[] = {
	{8, ld_8, st_8, ld_param_8, ld_frame_8, st_frame_8},
	{16, ld_16, st_16, ld_param_16, ld_frame_16, st_frame_16},
	{32, ld_32, st_32, ld_param_32, ld_frame_32, st_frame_32},
	{64, ld_64, st_64, ld_param_64, ld_frame_64, st_frame_64},
	{128, ld_128, st_128, ld_param_128, ld_frame_128, st_frame_128},
};

static const struct mem_fns *fns_for(struct decode *c)
{
	unsigned bits = ptx_type_bits(c->in->type);

	for (unsigned k = 0; k < sizeof(mem_fns) / sizeof(mem_fns[0]); k++)
		if (mem_fns[k].bits == bits)
			return &mem_fns[k];
	return NULL;
}

/* A fixed place in a parameter area. */
struct place {
	bool fixed, kernel, outside;
	int64_t offset;
};

static bool is_outside(const struct decode *c, uint64_t offset, uint64_t size)
{
	uint64_t element = ptx_type_bits(c->in->type) / 8, bytes = element * (c->in->vec ? c->in->vec : 1);

	return !element || offset % element || bytes > size || offset > size - bytes;
}

static struct place param_place(struct decode *c, const struct ptx_operand *o)
{
	struct place p = {0};

	if (o->kind == PTX_OPND_PARAM) {
		p = (struct place){true, c->func->is_entry, .offset = (int64_t)o->imm};
		p.outside = is_outside(c, o->imm, o->index == 1 ? c->func->ret_bytes : param_room(c->func));
		if (!p.kernel)
			p.offset = param_area(c, o);
	} else if (o->kind == PTX_OPND_SYMBOL &&
		   c->module->ptx->symbols[o->index]->space == PTX_SPACE_PARAM) {
		p = (struct place){true, .offset = (int64_t)o->imm + c->symbol_offset[o->index]};
		p.outside = is_outside(c, o->imm, c->module->ptx->symbols[o->index]->size);
	}
	return p;
}

static bool is_strong(const struct ptx_inst *in)
{
	return in->sem != PTX_SEM_NONE && in->sem != PTX_WEAK;
}

/* Whether all its bytes must be accessed at once: it is strong, or as good as that by its cache operator
 * (`.cg`, `.cv` and `.wt` go past the incoherent L1). */
static bool is_whole(const struct ptx_inst *in, unsigned bits)
{
	return (in->vec > 1 || bits == 128) && (is_strong(in) || strstr(in->mods, ".cg") ||
						strstr(in->mods, ".cv") || strstr(in->mods, ".wt"));
}

static uint32_t mem_space(const struct ptx_inst *in, enum ptx_space s)
{
	(void)in;
	return s == PTX_SPACE_SHARED_CLUSTER ? PTX_SPACE_SHARED : s;
}

/* Shared memory by a 32-bit register needs no 64-bit address. */
static bool is_narrow_shared(struct decode *c, unsigned bits)
{
	const struct ptx_inst *in = c->in;
	const struct ptx_operand *o = &in->src[0];

	return bits <= 64 && !is_strong(in) && o->kind == PTX_OPND_VALUE && o->index &&
	       operand_bits(c, o) == 32 &&
	       (in->space == PTX_SPACE_SHARED || in->space == PTX_SPACE_SHARED_CLUSTER);
}

static bool is_plain_global(const struct ptx_inst *in, enum ptx_space space, unsigned bits)
{
	return bits <= 64 && !is_strong(in) &&
	       (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_CONST || space == PTX_SPACE_GENERIC);
}

/* The address of a load or store that is at no fixed place, and which handler uses it. */
static int memory_address(struct decode *c, const struct mem_fns *f, unsigned vec, enum ptx_space *space,
			  uint32_t *pos, int64_t *imm, exec_fn *ld, exec_fn *st)
{
	const struct ptx_inst *in = c->in;
	const struct fast_fns *fast = &fast_fns[f - mem_fns];
	int rc = 0;

	*ld = f->ld;
	*st = f->st;
	if (is_narrow_shared(c, f->bits)) {
		*pos = c->slot_offset[c->func->values[in->src[0].index].slot];
		*imm = in->offset;
		*ld = fast->lds[vec > 1];
		*st = fast->sts[vec > 1];
		return 0;
	}
	rc = address(c, &in->src[0], in->offset, space, pos, imm);
	if (!rc && is_whole(in, f->bits)) {
		*ld = exec_ld_whole;
		*st = exec_st_whole;
	} else if (!rc && is_plain_global(in, *space, f->bits)) {
		*ld = fast->ldg[vec > 1];
		*st = fast->stg[vec > 1];
	}
	return rc;
}

static int emit_ld(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	const struct mem_fns *f = fns_for(c);
	const unsigned vec = in->vec ? in->vec : 1;
	struct place place = param_place(c, &in->src[0]);
	enum ptx_space space = (enum ptx_space)in->space;
	struct dest d[8];
	uint32_t pos = 0;
	exec_fn ld = NULL, st = NULL;
	int64_t imm = place.offset;
	int rc = 0;

	(void)row;
	if (!f || vec > 8 || in->ndst != vec || place.outside)
		return refuse(c, "this load is not executed");
	if (!place.fixed)
		rc = memory_address(c, f, vec, &space, &pos, &imm, &ld, &st);
	for (unsigned k = 0; k < vec && !rc; k++)
		rc = dest(c, &in->dst[k], f->bits, ptx_type_is_signed(in->type), &d[k]);
	if (rc)
		return rc;
	struct xinst *x = emit(c, !place.fixed ? ld : place.kernel ? f->ld_param : f->ld_frame);
	if (!x)
		return refuse(c, "out of memory");
	for (unsigned k = 0; k < vec; k++)
		x->o[k] = d[k].pos;
	x->o[vec] = pos;
	x->imm = imm;
	x->u = place.fixed ? vec : U_PACK(vec, mem_space(in, space), is_strong(in), f->bits / 8);
	for (unsigned k = 0; k < vec && !rc; k++)
		rc = dest_done(c, &d[k]);
	return rc;
}

static int emit_st(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	const struct mem_fns *f = fns_for(c);
	const unsigned vec = in->vec ? in->vec : 1;
	struct place place = param_place(c, &in->src[0]);
	enum ptx_space space = (enum ptx_space)in->space;
	uint32_t pos = 0, data[8];
	exec_fn ld = NULL, st = NULL;
	int64_t imm = place.offset;
	int rc = 0;

	(void)row;
	if (!f || vec > 8 || in->nsrc < vec + 1u || (place.fixed && place.kernel) || place.outside)
		return refuse(c, "this store is not executed");
	if (!place.fixed)
		rc = memory_address(c, f, vec, &space, &pos, &imm, &ld, &st);
	for (unsigned k = 0; k < vec && !rc; k++)
		rc = source(c, &in->src[1 + k], f->bits, false, &data[k]);
	if (!rc)
		rc = inject_stored(c, &data[0], f->bits);
	if (rc)
		return rc;
	struct xinst *x = emit(c, place.fixed ? f->st_frame : st);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = pos;
	for (unsigned k = 0; k < vec; k++)
		x->o[1 + k] = data[k];
	x->imm = imm;
	x->u = place.fixed ? vec : U_PACK(vec, mem_space(in, space), is_strong(in), f->bits / 8);
	return 0;
}

#define ANY_MEM (PTX_F_NC | PTX_F_CACHE_HINT | PTX_F_UNIFIED | PTX_F_NOINC)
static const struct exec_row rows[] = {
	{.op = PTX_OP_LD, .ok = ANY_MEM, .sig = "", .emit = emit_ld},
	{.op = PTX_OP_LDU, .ok = ANY_MEM, .sig = "", .emit = emit_ld},
	{.op = PTX_OP_ST, .ok = ANY_MEM, .sig = "", .emit = emit_st},
};

const struct exec_family EXEC_FAMILY(exec_mem) = {rows, sizeof(rows) / sizeof(rows[0])};
