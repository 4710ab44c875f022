/* SPDX-License-Identifier: Apache-2.0
 *
 * alloca, stacksave, stackrestore, PTX ISA 9.7.17. A lane's stack has frames of
 * variables from below and what alloca gives from above. A function with alloca
 * keeps the pointer that it found in a cell of its frame and puts it back when it
 * returns.
 */
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/device_interp/lane.h"

#define DEFAULT_ALIGN 8

/* Frames must stay below the lowest pointer of all lanes. */
static void find_floor(struct warp *w)
{
	w->dynamic_floor = w->local_stride;
	for (unsigned l = 0; l < LANES; l++)
		if (w->dynamic[l] < w->dynamic_floor)
			w->dynamic_floor = w->dynamic[l];
}

static uint64_t frames_end(const struct warp *w)
{
	return (uint64_t)w->local_base + w->frame->code->local_bytes;
}

/* o = pointer, size; u = alignment. */
static const struct xinst *alloca_(struct warp *w, const struct xinst *i)
{
	const uint64_t *size = cell(w, i->o[1]);
	uint64_t *d = cell(w, i->o[0]);

	FOR_LANES(l, w->exec)
	{
		const uint64_t top = w->dynamic[l], low = frames_end(w);
		const uint64_t at = size[l] <= top ? (top - size[l]) & ~(uint64_t)(i->u - 1) : 0;

		if (size[l] > top || at < low)
			return fault_lane(w, i, DEV_FAULT_STACK, l,
					  "alloca of %llu bytes: %llu of %u are free (option stack_bytes)",
					  (unsigned long long)size[l],
					  (unsigned long long)(top > low ? top - low : 0), w->local_stride);
		memset(w->local + (size_t)l * w->local_stride + at, 0, size[l]);
		w->dynamic[l] = (uint32_t)at;
		d[l] = at;
	}
	find_floor(w);
	return i + 1;
}

static const struct xinst *stacksave(struct warp *w, const struct xinst *i)
{
	uint64_t *d = cell(w, i->o[0]);

	FOR_LANES(l, w->exec) d[l] = w->dynamic[l];
	return i + 1;
}

static const struct xinst *stackrestore(struct warp *w, const struct xinst *i)
{
	const uint64_t *a = cell(w, i->o[0]);

	FOR_LANES(l, w->exec)
	{
		if (a[l] > w->local_stride || a[l] < frames_end(w))
			return fault_lane(w, i, DEV_FAULT_STACK, l, "0x%llx is not what stacksave gave",
					  (unsigned long long)a[l]);
		w->dynamic[l] = (uint32_t)a[l];
	}
	find_floor(w);
	return i + 1;
}

const struct xinst *exec_stack_keep(struct warp *w, const struct xinst *i)
{
	uint32_t *d = cell(w, i->o[0]);

	FOR_LANES(l, w->exec) d[l] = w->dynamic[l];
	return i + 1;
}

const struct xinst *exec_stack_return(struct warp *w, const struct xinst *i)
{
	const uint32_t *s = cell(w, i->o[0]);

	FOR_LANES(l, w->exec) w->dynamic[l] = s[l];
	find_floor(w);
	return i + 1;
}

static int emit_alloca(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	const uint64_t align = in->nsrc > 1 ? in->src[1].imm : DEFAULT_ALIGN;
	uint32_t size;
	struct dest d;
	int rc = 0;

	if (!align || (align & (align - 1)) || align > 1u << 23)
		return refuse(c, "the alignment must be a power of 2 up to 2^23");
	rc = source(c, &in->src[0], 64, false, &size);
	if (!rc)
		rc = dest(c, &in->dst[0], 64, false, &d);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->o[1] = size;
	x->u = align < DEFAULT_ALIGN ? DEFAULT_ALIGN : (uint32_t)align;
	return dest_done(c, &d);
}

static const struct exec_row rows[] = {
	{.op = PTX_OP_ALLOCA, .sig = "", .fn = alloca_, .emit = emit_alloca},
	{.op = PTX_OP_STACKSAVE, .sig = "d:", .fn = stacksave},
	{.op = PTX_OP_STACKRESTORE, .sig = ":d", .fn = stackrestore},
};

const struct exec_family exec_stack = {rows, sizeof(rows) / sizeof(rows[0])};
