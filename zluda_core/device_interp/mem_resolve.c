/* SPDX-License-Identifier: Apache-2.0
 *
 * Address translation and checks for executing warps. Every instruction has an
 * entry in its worker's small cache of mappings (direct mapped by instruction).
 */
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"

static struct tlb *tlb_entry(struct warp *w, const struct xinst *i)
{
	return &w->worker->tlb[i->index % TLB_ENTRIES];
}

static bool tlb_fill(struct warp *w, struct tlb *t, uint64_t a)
{
	const struct mapping *m = map_find(w->worker->mappings, a);

	if (!m)
		return false;
	*t = (struct tlb){m->base, m->end, m->host};
	return true;
}

uint8_t *mem_range(struct warp *w, const struct xinst *i, uint64_t first, uint64_t bytes)
{
	struct tlb *t = tlb_entry(w, i);

	if (unlikely(first < t->base || first >= t->end || bytes > t->end - first)) {
		if (!tlb_fill(w, t, first) || bytes > t->end - first)
			return NULL;
	}
	return t->host + (first - t->base);
}

enum ptx_space generic_space(uint64_t *a)
{
	if (likely(!(*a >> 47)))
		return PTX_SPACE_GLOBAL;
	if (*a - WINDOW_SHARED < WINDOW_BYTES) {
		*a -= WINDOW_SHARED;
		return PTX_SPACE_SHARED;
	}
	if (*a - WINDOW_LOCAL < WINDOW_BYTES) {
		*a -= WINDOW_LOCAL;
		return PTX_SPACE_LOCAL;
	}
	if (*a - WINDOW_PARAM < WINDOW_BYTES) {
		*a -= WINDOW_PARAM;
		return PTX_SPACE_PARAM;
	}
	return PTX_SPACE_GLOBAL;
}

static const char *space_name(enum ptx_space s)
{
	switch (s) {
	case PTX_SPACE_SHARED: return "shared";
	case PTX_SPACE_LOCAL: return "local";
	case PTX_SPACE_PARAM: return "param";
	case PTX_SPACE_CONST: return "const";
	default: return "global";
	}
}

/* An access may run into the next mapping when the mappings are marked adjacent; the bytes must then be
 * adjacent on the host as well. */
static uint8_t *across(struct warp *w, uint64_t a, uint32_t bytes)
{
	const struct mapping *m = map_find(w->worker->mappings, a);

	if (!m || !m->adjacent)
		return NULL;
	const struct mapping *n = map_find(w->worker->mappings, m->end);
	if (!n || n->base != m->end || n->host != m->host + (m->end - m->base) || bytes > n->end - a)
		return NULL;
	return m->host + (a - m->base);
}

/* Small memories: offset and limit. */
static uint8_t *in_block(uint8_t *base, uint64_t limit, uint64_t a, uint32_t bytes)
{
	return a < limit && bytes <= limit - a ? base + a : NULL;
}

uint8_t *mem_resolve_lane(struct warp *w, const struct xinst *i, enum ptx_space space, uint64_t a,
			  uint32_t bytes, uint32_t align, uint32_t how, unsigned lane)
{
	uint64_t original = a;
	uint8_t *p = NULL;
	enum ptx_space s = space == PTX_SPACE_GENERIC ? generic_space(&a) : space;

	switch (s) {
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER:
		p = in_block(w->block->shared, w->block->shared_bytes, a, bytes);
		break;
	case PTX_SPACE_LOCAL:
		p = in_block(w->local + (size_t)lane * w->local_stride, w->local_stride, a, bytes);
		break;
	case PTX_SPACE_PARAM:
		p = how & (MEM_STORE | MEM_ATOMIC)
			    ? NULL
			    : in_block(w->block->grid->params, w->block->grid->launch->param_bytes, a, bytes);
		break;
	default:
		p = mem_range(w, i, a, bytes);
		if (!p)
			p = across(w, a, bytes);
		if (p && unlikely(w->watch) && (how & (MEM_STORE | MEM_ATOMIC)))
			watch_store(w, i, lane, a, bytes);
	}
	struct access acc = {original, bytes, how & MEM_STORE, how & MEM_ATOMIC,
			     space == PTX_SPACE_CONST ? "const" : space_name(s)};

	if (unlikely(a & (align - 1))) {
		fault_access(w, i, lane, DEV_FAULT_MISALIGNED, &acc);
		return NULL;
	}
	if (unlikely(!p))
		fault_access(w, i, lane, DEV_FAULT_ILLEGAL_ADDRESS, &acc);
	return p;
}

/* All lanes in one mapping: the usual case of global memory. */
static bool resolve_global(struct warp *w, const struct xinst *i, const uint64_t *a, uint32_t bytes,
			   uint32_t align, uint8_t **p)
{
	struct tlb *t = tlb_entry(w, i);
	uint32_t first = first_lane(w->exec);

	if (unlikely(a[first] - t->base >= t->end - t->base) && !tlb_fill(w, t, a[first]))
		return false;
	const uint64_t base = t->base, size = t->end - t->base;
	uint8_t *host = t->host;
	uint64_t bad = 0;

	if (bytes > size)
		return false;
	FOR_LANES(l, w->exec)
	{
		uint64_t off = a[l] - base;

		bad |= (uint64_t)(off > size - bytes) | (a[l] & (align - 1));
		p[l] = host + off;
	}
	return !bad;
}

static bool resolve_linear(struct warp *w, const uint64_t *a, uint8_t *base, uint64_t stride, uint64_t limit,
			   uint32_t bytes, uint32_t align, uint8_t **p)
{
	uint64_t bad = 0;

	if (bytes > limit)
		return false;
	FOR_LANES(l, w->exec)
	{
		bad |= (uint64_t)(a[l] > limit - bytes) | (a[l] & (align - 1));
		p[l] = base + stride * l + a[l];
	}
	return !bad;
}

bool mem_resolve(struct warp *w, const struct xinst *i, enum ptx_space space, const uint64_t *a,
		 uint32_t bytes, uint32_t align, uint32_t how, uint8_t **p)
{
	bool ok = false;

	if (likely(!w->watch || !(how & (MEM_STORE | MEM_ATOMIC)))) {
		uint64_t high = 0;

		switch (space) {
		case PTX_SPACE_SHARED:
			ok = resolve_linear(w, a, w->block->shared, 0, w->block->shared_bytes, bytes, align,
					    p);
			break;
		case PTX_SPACE_LOCAL:
			ok = resolve_linear(w, a, w->local, w->local_stride, w->local_stride, bytes, align,
					    p);
			break;
		case PTX_SPACE_GENERIC:
			FOR_LANES(l, w->exec)
			high |= a[l] >> 47;
			ok = !high && resolve_global(w, i, a, bytes, align, p);
			break;
		case PTX_SPACE_GLOBAL:
		case PTX_SPACE_CONST: ok = resolve_global(w, i, a, bytes, align, p); break;
		default: break;
		}
	}
	if (likely(ok))
		return true;
	FOR_LANES(l, w->exec)
	{
		p[l] = mem_resolve_lane(w, i, space, a[l], bytes, align, how, l);
		if (!p[l])
			return false;
	}
	return true;
}
