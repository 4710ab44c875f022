/* SPDX-License-Identifier: Apache-2.0
 *
 * What a launch's waves begin with: AMDGPUUsage, "Initial Kernel Execution State", "Kernel Descriptor", "Kernarg
 * segment".
 */
#include <stdlib.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/dispatch.h"

#define PACKET_BYTES 64

/* ---- kernarg segment and packet */

static uint64_t hidden_value(const struct amdgpu_launch *l, enum amdgpu_arg_kind kind)
{
	if (kind >= AMDGPU_ARG_BLOCK_COUNT && kind < AMDGPU_ARG_BLOCK_COUNT + 3)
		return l->grid[kind - AMDGPU_ARG_BLOCK_COUNT];
	if (kind >= AMDGPU_ARG_GROUP_SIZE && kind < AMDGPU_ARG_GROUP_SIZE + 3)
		return l->block[kind - AMDGPU_ARG_GROUP_SIZE];
	switch (kind) {
	case AMDGPU_ARG_GRID_DIMS:
		return l->grid[2] * l->block[2] > 1 ? 3 : l->grid[1] * l->block[1] > 1 ? 2 : 1;
	case AMDGPU_ARG_PRIVATE_BASE: return APERTURE_PRIVATE >> 32;
	case AMDGPU_ARG_SHARED_BASE: return APERTURE_SHARED >> 32;
	case AMDGPU_ARG_DYNAMIC_LDS: return l->dynamic_lds;
	default: return 0;
	}
}

/* hsa_kernel_dispatch_packet_t (HSA system architecture, 2.9.6). */
static void fill_packet(const struct amdgpu_launch *l, uint8_t *p)
{
	uint32_t sizes[5] = {l->grid[0] * l->block[0], l->grid[1] * l->block[1], l->grid[2] * l->block[2],
			     dispatch_scratch_bytes(l), l->kernel->group_bytes + l->dynamic_lds};
	uint64_t kernarg = DISPATCH_ADDRESS;

	for (unsigned i = 0; i < 3; i++) {
		uint16_t size = (uint16_t)l->block[i];
		memcpy(p + 4 + 2 * i, &size, 2);
	}
	memcpy(p + 12, sizes, sizeof sizes);
	memcpy(p + 40, &kernarg, 8);
}

bool dispatch_prepare_memory(struct dispatch *d)
{
	const struct amdgpu_launch *l = d->l;
	const struct amdgpu_kernel *k = l->kernel;
	size_t explicit_bytes = l->args_bytes < k->kernarg_bytes ? l->args_bytes : k->kernarg_bytes;

	d->packet_at = (k->kernarg_bytes + 63u) & ~63u;
	d->bytes = d->packet_at + PACKET_BYTES;
	d->memory = calloc(1, d->bytes);
	if (!d->memory)
		return false;
	if (explicit_bytes)
		memcpy(d->memory, l->args, explicit_bytes);
	for (unsigned i = 0; i < k->nargs; i++) {
		const struct amdgpu_arg *a = &k->args[i];
		uint64_t v = hidden_value(l, a->kind);
		if (a->kind != AMDGPU_ARG_VALUE)
			memcpy(d->memory + a->offset, &v, a->size < 8 ? a->size : 8);
	}
	fill_packet(l, d->memory + d->packet_at);
	return true;
}

/* ---- a wave's initial registers */

static void put64(struct wave *w, unsigned *at, uint64_t v)
{
	w->s[(*at)++] = (uint32_t)v;
	w->s[(*at)++] = (uint32_t)(v >> 32);
}

/* The resource of the scratch of gfx9 and gfx10: swizzled per lane, dword by dword. */
static void put_scratch_resource(struct wave *w, unsigned *at)
{
	uint64_t base = SCRATCH_BACKING;

	w->s[(*at)++] = (uint32_t)base;
	w->s[(*at)++] = (uint32_t)(base >> 32) | 1u << 31;
	w->s[(*at)++] = 4 * w->scratch_dwords * w->size;
	w->s[(*at)++] = (w->size == 64 ? 3u : 2u) << 21 | 1u << 23;
}

static void preload_kernarg(struct wave *w, const struct dispatch *d, unsigned *at)
{
	unsigned count = d->l->kernel->preload & 127, offset = d->l->kernel->preload >> 7;

	for (unsigned i = 0; i < count && *at < 16; i++) {
		uint32_t v = 0;
		if ((offset + i + 1) * 4 <= d->packet_at)
			memcpy(&v, d->memory + 4 * (offset + i), 4);
		w->s[(*at)++] = v;
	}
	if (count) /* hardware that preloads enters behind the code for firmware that does not */
		w->pc += 256;
}

static void set_sgprs(struct wave *w, const struct dispatch *d)
{
	const struct amdgpu_kernel *kern = d->l->kernel;
	unsigned at = 0, p = kern->properties, ids = kern->rsrc2 >> 7 & 7, user = kern->rsrc2 >> 1 & 31;
	const uint32_t *id = w->group->id;

	if (p & 1)
		put_scratch_resource(w, &at);
	if (p & 2)
		put64(w, &at, DISPATCH_ADDRESS + d->packet_at);
	if (p & 4)
		put64(w, &at, 0); /* no queue */
	if (p & 8)
		put64(w, &at, DISPATCH_ADDRESS);
	if (p & 16)
		put64(w, &at, 0); /* dispatch id */
	if (p & 32)
		put64(w, &at, SCRATCH_BACKING);
	if (p & 64)
		w->s[at++] = dispatch_scratch_bytes(d->l);
	preload_kernarg(w, d, &at);
	at = user > at ? user : at;
	if (w->gfx >= 12) {
		w->s[SREG_TTMP + 9] = id[0];
		w->s[SREG_TTMP + 7] = (id[1] & 0xffff) | id[2] << 16;
		w->s[SREG_TTMP + 8] = w->number << 25;
	} else {
		for (unsigned i = 0; i < 3; i++)
			if (ids >> i & 1)
				w->s[at++] = id[i];
	}
	if (kern->rsrc2 >> 10 & 1)
		w->s[at++] = 0; /* workgroup info */
	if ((kern->rsrc2 & 1) && !d->object->target->flat_scratch)
		w->s[at++] = 0; /* the wave's offset in scratch: each wave has a backing of its own */
}

static void set_ids(struct wave *w, const struct dispatch *d)
{
	const uint32_t *b = d->l->block;
	uint64_t total = (uint64_t)b[0] * b[1] * b[2], exec = 0;

	for (unsigned l = 0; l < w->size; l++) {
		uint64_t t = (uint64_t)w->number * w->size + l;
		uint32_t x = (uint32_t)(t % b[0]), y = (uint32_t)(t / b[0] % b[1]),
			 z = (uint32_t)(t / b[0] / b[1]);
		if (t >= total)
			break;
		exec |= 1ull << l;
		if (d->object->target->packed_ids) {
			w->v[0][l] = x | y << 10 | z << 20;
			continue;
		}
		w->v[0][l] = x;
		if (d->l->kernel->rsrc2 >> 11 & 3)
			w->v[1][l] = y;
		if ((d->l->kernel->rsrc2 >> 11 & 3) > 1)
			w->v[2][l] = z;
	}
	wave_set_mask(w, SREG_EXEC, exec);
}

void dispatch_start_wave(struct wave *w, const struct dispatch *d, struct resident *r, unsigned number)
{
	const struct amdgpu_kernel *kern = d->l->kernel;
	uint32_t fill = d->l->register_fill;
	/* GCN's FP_DENORM, FP_ROUND; DX10_CLAMP and IEEE_MODE up to gfx11 */
	uint32_t mode = kern->rsrc1 >> 12 & 0xff;

	w->size = kern->wave_size;
	w->number = number;
	w->gfx = d->object->target->gfx;
	w->group = &r->group;
	w->pc = kern->entry;
	w->current = NULL;
	w->scc = w->faulted = w->indexed = false;
	w->status = WAVE_RUNS;
	w->executed = 0;
	w->scratch_dwords = dispatch_scratch_bytes(d->l) / 4;
	w->scratch = r->scratch + (size_t)number * w->scratch_dwords * w->size;
	if (w->gfx < 12)
		mode |= (kern->rsrc1 >> 21 & 1 ? MODE_DX10_CLAMP : 0) |
			(kern->rsrc1 >> 23 & 1 ? MODE_IEEE : 0);
	wave_set_mode(w, mode);
	for (unsigned i = 0; i < kern->vgprs; i++)
		for (unsigned l = 0; l < w->size; l++)
			w->v[i][l] = fill;
	for (unsigned i = 0; i < SREG_COUNT; i++)
		w->s[i] = fill;
	set_sgprs(w, d);
	set_ids(w, d);
}
