/* SPDX-License-Identifier: Apache-2.0
 *
 * The handler of checked instructions: the lanes' places are found without faulting (mem_resolve.c does that when
 * the access itself is made), bytes and marks are looked at and noted, then the real handler runs. Both happen in one
 * step of the fragment, so no other warp of the block comes between. */
#include <string.h>

#include "zluda_core/device_interp/check.h"
#include "zluda_core/device_interp/exec_mem.h"

static const struct check_site *site_of(const struct warp *w, const struct xinst *i)
{
	const struct xcode *code = w->frame->code;

	return code->sites[i - code->insts];
}

/* Where lane `lane` accesses `bytes` at a; false: nowhere, or in memory that isn't checked. */
static bool place_of(struct warp *w, const struct xinst *i, enum ptx_space space, uint64_t a, uint32_t bytes,
		     unsigned lane, struct check_place *p)
{
	*p = (struct check_place){.address = a, .bytes = bytes, .lane = lane};
	if (space == PTX_SPACE_GENERIC)
		space = generic_space(&a);
	p->offset = (uint32_t)a;
	switch (space) {
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER:
		p->is_shared = true;
		p->address = a;
		p->host = w->block->shared + a;
		return a < w->block->shared_bytes && bytes <= w->block->shared_bytes - a;
	case PTX_SPACE_LOCAL: p->address = a; return a < w->local_stride && bytes <= w->local_stride - a;
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_CONST: p->host = mem_range(w, i, a, bytes); return p->host != NULL;
	default: return false;
	}
}

static uint8_t *local_bits(struct warp *w, const struct check_place *p, uint64_t *first)
{
	*first = (uint64_t)p->lane * w->local_stride + p->offset;
	return w->block->check->local_written[w->number];
}

static bool is_written(struct warp *w, const struct check_place *p)
{
	uint64_t first;

	if (p->is_shared)
		return bits_all_set(w->block->check->shared_written, p->offset, p->bytes);
	if (p->host)
		return shadow_is_written(w->worker->dev->checker, p->host, p->bytes);
	uint8_t *bits = local_bits(w, p, &first);

	return !bits || bits_all_set(bits, first, p->bytes);
}

static void set_written(struct warp *w, const struct check_place *p)
{
	uint64_t first;

	if (p->is_shared) {
		bits_set(w->block->check->shared_written, p->offset, p->bytes, true);
	} else if (p->host) {
		shadow_set_written(w->worker->dev->checker, p->host, p->bytes);
	} else {
		uint8_t *bits = local_bits(w, p, &first);

		if (bits)
			bits_set(bits, first, p->bytes, true);
	}
}

static void report_unwritten(struct warp *w, const struct xinst *i, const struct check_site *s,
			     const struct check_place *p)
{
	char place[300];

	check_describe_place(w, p, place, sizeof(place));
	check_report(w, i, p->lane, FINDING_UNINIT, 0, "%s of %u bytes that were never written, at %s",
		     s->a[0].read && s->a[0].write ? "atomic operation on"
		     : s->naccesses > 1            ? "copy"
						   : "load",
		     p->bytes, place);
}

/* A store that changes nothing. */
static bool is_silent(struct warp *w, const struct check_site *s, const struct check_place *p)
{
	if (!s->ndata || !p->host)
		return false;
	for (unsigned k = 0; k < s->ndata; k++)
		if (memcmp(p->host + k * s->data_bytes,
			   (const uint8_t *)cell(w, s->data[k]) + p->lane * s->data_bytes, s->data_bytes))
			return false;
	return true;
}

static void check_place(struct warp *w, const struct xinst *i, const struct check_site *s,
			const struct check_access *a, const struct check_place *p)
{
	const uint8_t what = w->worker->dev->checker->what;

	if (what & CHECK_UNINIT && a->read && !is_written(w, p))
		report_unwritten(w, i, s, p);
	if (what & CHECK_RACES && p->host) {
		if (s->publishes)
			race_publish(w, s, p);
		if (a->write)
			race_write(w, i, s, p, is_silent(w, s, p));
		else
			race_read(w, i, s, p);
	}
	if (what & CHECK_UNINIT && a->write)
		set_written(w, p);
}

/* Calls fn for each place that the access touches. */
static void each_place(struct warp *w, const struct xinst *i, const struct check_site *s,
		       const struct check_access *a,
		       void (*fn)(struct warp *w, const struct xinst *i, const struct check_site *s,
				  const struct check_access *a, const struct check_place *p))
{
	const uint64_t *base = cell(w, a->address);
	const uint32_t *length = a->length == OPERAND_NONE ? NULL : cell(w, a->length);
	const uint32_t *stride = a->stride == OPERAND_NONE ? NULL : cell(w, a->stride);
	struct check_place p;

	if (a->stride_bytes) { /* one tile for the warp */
		uint32_t lane = first_lane(w->mask),
			 step = stride ? stride[lane] * a->stride_bytes : a->stride_bytes;

		for (uint32_t r = 0; r < a->rows; r++)
			if (place_of(w, i, (enum ptx_space)a->space,
				     base[lane] + (uint64_t)a->offset + (uint64_t)r * step, a->bytes, lane,
				     &p))
				fn(w, i, s, a, &p);
		return;
	}
	FOR_LANES(l, a->rows ? w->mask : w->exec)
	{
		uint32_t bytes = length && length[l] < a->bytes ? length[l] : a->bytes;

		if ((!a->rows || l < a->rows) && bytes &&
		    place_of(w, i, (enum ptx_space)a->space, base[l] + (uint64_t)a->offset, bytes, l, &p))
			fn(w, i, s, a, &p);
	}
}

static void acquire_place(struct warp *w, const struct xinst *i, const struct check_site *s,
			  const struct check_access *a, const struct check_place *p)
{
	(void)i;
	(void)s;
	(void)a;
	if (p->host)
		race_acquire(w, p);
}

/* Two lanes of one store, two values, one place: which of them stays isn't defined (ISA 8.7, 9.7.9.11). */
static void check_lanes(struct warp *w, const struct xinst *i, const struct check_site *s)
{
	const struct check_access *a = &s->a[0];
	const uint64_t *base = cell(w, a->address);
	uint64_t last = 0;
	bool ascending = true, any = false;
	struct check_place p;
	char place[300];

	FOR_LANES(l, w->exec)
	{
		ascending &= !any || base[l] > last;
		last = base[l];
		any = true;
	}
	for (uint32_t x = 0; x < LANES && !ascending; x++)
		for (uint32_t y = x + 1; y < LANES; y++) {
			bool differ = false;

			if (!(w->exec >> x & 1) || !(w->exec >> y & 1) || base[x] != base[y])
				continue;
			for (unsigned k = 0; k < s->ndata && !differ; k++) {
				const uint8_t *d = cell(w, s->data[k]);

				differ = memcmp(d + x * s->data_bytes, d + y * s->data_bytes,
						s->data_bytes) != 0;
			}
			if (!differ ||
			    !place_of(w, i, (enum ptx_space)a->space, base[y] + (uint64_t)a->offset, a->bytes,
				      y, &p) ||
			    !p.host)
				continue;
			check_describe_place(w, &p, place, sizeof(place));
			check_report(w, i, y, FINDING_RACE, 0,
				     "store of %u bytes at %s, where thread (%u,%u,%u) stores another value "
				     "in the same instruction",
				     a->bytes, place, w->tids[0][x], w->tids[1][x], w->tids[2][x]);
			return;
		}
}

static void look(struct warp *w, const struct xinst *i, const struct check_site *s)
{
	struct checker *c = w->worker->dev->checker;

	pthread_mutex_lock(&c->lock);
	if (s->fence)
		race_fence(w);
	for (uint32_t k = 0; k < s->naccesses; k++)
		each_place(w, i, s, &s->a[k], check_place);
	if (s->ndata && c->what & CHECK_RACES)
		check_lanes(w, i, s);
	pthread_mutex_unlock(&c->lock);
}

const struct xinst *exec_checked(struct warp *w, const struct xinst *i)
{
	const struct check_site *s = site_of(w, i);
	struct checker *c = w->worker->dev->checker;

	if (!s->afterwards && w->block->check)
		look(w, i, s);
	const struct xinst *next = s->fn(w, i);

	if (!next || !w->block->check)
		return next;
	if (s->afterwards)
		look(w, i, s);
	if (s->acquires && c->what & CHECK_RACES) {
		pthread_mutex_lock(&c->lock);
		for (uint32_t k = 0; k < s->naccesses; k++)
			each_place(w, i, s, &s->a[k], acquire_place);
		pthread_mutex_unlock(&c->lock);
	}
	return next;
}

const struct xinst *exec_check_entry(struct warp *w, const struct xinst *i)
{
	const struct xcode *code = (const struct xcode *)(uintptr_t)i->imm;
	uint8_t *bits = w->block->check ? w->block->check->local_written[w->number] : NULL;

	FOR_LANES(l, bits ? w->mask : 0)
	{
		uint64_t first = (uint64_t)l * w->local_stride + w->local_base;

		bits_set(bits, first, code->call_offset, false);
		bits_set(bits, first + code->call_offset, code->local_bytes - code->call_offset, true);
	}
	return i + 1;
}
