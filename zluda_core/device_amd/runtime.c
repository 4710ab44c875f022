/* SPDX-License-Identifier: Apache-2.0
 *
 * Run-time blocks (ptx/lower/runtime.h): made when a launch needs one and none is idle, kept for the next. The heap of
 * malloc and the locks of 128-bit atomics are the device's, and are made with the first block.
 */
#include "zluda_core/device_amd/device_amd.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { GRID_WORKSPACE_BYTES = 64 };

/* With run_lock held. The heap has the size that is asked for when the first launch needs it. After a fault all is
 * made new as soon as nobody uses it: what was on the heap was of a context that is lost. */
static int make_common(struct amd_device *dev, struct diag *d)
{
	struct amd_common c = {0};
	int rc = 0;

	if (dev->common && (!dev->common_suspect || dev->in_flight))
		return 0;
	if (!dev->common) {
		rc = dev->ops->own_alloc(dev->backend, sizeof(c), &dev->common, NULL, d);
		if (!rc && dev->heap_bytes)
			rc = dev->ops->own_alloc(dev->backend, dev->heap_bytes, &dev->heap_arena, NULL, d);
		if (rc)
			return rc;
		dev->heap_arena_bytes = dev->heap_bytes;
	}
	dev->common_suspect = false;
	c.heap.address = dev->heap_arena;
	c.heap.bytes = dev->heap_arena_bytes;
	return dev->ops->write(dev->backend, dev->common, &c, sizeof(c), d);
}

static void block_free(struct amd_device *dev, struct amd_run_block *b)
{
	if (b->address)
		dev->ops->own_free(dev->backend, b->address);
	if (b->print_address)
		dev->ops->own_free(dev->backend, b->print_address);
	free(b);
}

/* The workspace of a grid's barrier lies behind the block. */
static struct amd_run_block *block_new(struct amd_device *dev, uint64_t print_bytes, struct diag *d)
{
	struct amd_run_block *b = calloc(1, sizeof(*b));
	const uint64_t size = (sizeof(b->r) + 63) & ~63ull;
	int rc;

	if (!b) {
		diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
		return NULL;
	}
	rc = dev->ops->own_alloc(dev->backend, size + GRID_WORKSPACE_BYTES, &b->address, NULL, d);
	b->grid_address = b->address + size;
	b->print_bytes = print_bytes & ~7ull;
	if (!rc && b->print_bytes)
		rc = dev->ops->own_alloc(dev->backend, b->print_bytes, &b->print_address, NULL, d);
	if (!rc)
		return b;
	block_free(dev, b);
	return NULL;
}

/* An idle one whose print buffer still has the size that the program wants. */
static struct amd_run_block *take(struct amd_device *dev, struct diag *d)
{
	struct amd_run_block *b;
	uint64_t print_bytes;
	int rc;

	pthread_mutex_lock(&dev->run_lock);
	rc = make_common(dev, d);
	dev->in_flight += !rc;
	b = dev->idle;
	if (b)
		dev->idle = b->next;
	print_bytes = dev->print_bytes;
	pthread_mutex_unlock(&dev->run_lock);
	if (b && (rc || b->print_bytes != (print_bytes & ~7ull))) {
		block_free(dev, b);
		b = NULL;
	}
	if (!rc && !b)
		b = block_new(dev, print_bytes, d);
	if (!rc && !b) {
		pthread_mutex_lock(&dev->run_lock);
		dev->in_flight--;
		pthread_mutex_unlock(&dev->run_lock);
	}
	return rc ? NULL : b;
}

struct amd_run_block *amd_run_begin(struct amd_device *dev, const struct dev_launch *l, struct diag *d)
{
	static const uint8_t zeros[GRID_WORKSPACE_BYTES];
	struct amd_run_block *b = take(dev, d);
	int rc;

	if (!b)
		return NULL;
	b->r = (struct lower_runtime){
		.print = {.address = b->print_address, .bytes = b->print_bytes},
		.heap = dev->heap_arena ? dev->common + offsetof(struct amd_common, heap) : 0,
		.locks = dev->common + offsetof(struct amd_common, locks),
		.textures = dev->textures,
		.grid_workspace = l->cooperative ? b->grid_address : 0,
		.launch_id = l->launch_id,
		.dynamic_shared_bytes = l->shared_bytes,
		.compute_units = dev->props.compute_units,
		.timer_scale = dev->props.timer_khz ? (1000000ull << 32) / dev->props.timer_khz : 0,
	};
	rc = dev->ops->write(dev->backend, b->address, &b->r, sizeof(b->r), d);
	if (!rc && l->cooperative)
		rc = dev->ops->write(dev->backend, b->grid_address, zeros, sizeof(zeros), d);
	if (!rc)
		return b;
	amd_run_done(dev, b, false);
	return NULL;
}

static void say_lost(struct amd_device *dev, const struct lower_runtime *r)
{
	char text[200];

	if (!r->print.lost || !dev->host.report)
		return;
	snprintf(text, sizeof(text),
		 "%u calls of printf in a kernel were lost: the buffer of %llu bytes was full "
		 "(cudaLimitPrintfFifoSize)",
		 r->print.lost, (unsigned long long)r->print.bytes);
	dev->host.report(dev->host.ctx, r->launch_id, text);
}

static int drain(struct amd_device *dev, struct amd_run_block *b, struct diag *d)
{
	uint64_t used = b->r.print.used < b->print_bytes ? b->r.print.used : b->print_bytes;
	uint8_t *records = used ? malloc(used) : NULL;
	int rc;

	if (!used)
		return 0;
	if (!records)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	rc = dev->ops->read(dev->backend, records, b->print_address, used, d);
	if (!rc)
		amd_print_records(dev, records, used);
	free(records);
	return rc;
}

int amd_run_end(struct amd_device *dev, struct amd_run_block *b, struct diag *d)
{
	int rc = dev->ops->read(dev->backend, &b->r, b->address, sizeof(b->r), d);

	if (rc)
		return rc;
	rc = drain(dev, b, d);
	say_lost(dev, &b->r);
	return rc;
}

void amd_run_done(struct amd_device *dev, struct amd_run_block *b, bool failed)
{
	pthread_mutex_lock(&dev->run_lock);
	dev->in_flight--;
	dev->common_suspect |= failed;
	b->next = dev->idle;
	dev->idle = b;
	pthread_mutex_unlock(&dev->run_lock);
}

void amd_run_close(struct amd_device *dev)
{
	while (dev->idle) {
		struct amd_run_block *b = dev->idle;

		dev->idle = b->next;
		block_free(dev, b);
	}
	if (dev->common)
		dev->ops->own_free(dev->backend, dev->common);
	if (dev->heap_arena)
		dev->ops->own_free(dev->backend, dev->heap_arena);
	if (dev->textures)
		dev->ops->own_free(dev->backend, dev->textures);
}
