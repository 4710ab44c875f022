/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: what is refused, host threads, faults.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/worker_thread.h"
#include "zluda_core/amdgpu_emulator/dispatch.h"

#define THREADS_MAX   256
#define SCRATCH_MAX   (1u << 20) /* of a work-item */
#define KERNARG_MAX   (1u << 20)
#define RESIDENT_MAX  1024         /* workgroups, as far as they fit in */
#define RESIDENT_ROOM (2ull << 30) /* bytes of host memory */

/* Scratch of a work-item: what the descriptor says, and what the launch grants beyond it; 16 KiB for a kernel whose
 * stack the compiler could not bound (descriptor: USES_DYNAMIC_STACK). */
uint32_t dispatch_scratch_bytes(const struct amdgpu_launch *l)
{
	uint32_t more = l->kernel->properties >> 11 & 1 ? 16u << 10 : 0;

	return l->kernel->private_bytes + (l->stack_bytes ? l->stack_bytes & ~3u : more);
}

unsigned dispatch_waves(const struct amdgpu_launch *l)
{
	uint64_t items = (uint64_t)l->block[0] * l->block[1] * l->block[2];

	return (unsigned)((items + l->kernel->wave_size - 1) / l->kernel->wave_size);
}

uint64_t dispatch_resident_bytes(const struct amdgpu_launch *l)
{
	const struct amdgpu_kernel *k = l->kernel;
	uint64_t wave = sizeof(struct wave) - sizeof(((struct wave *)0)->v) + 4ull * LANES_MAX * k->vgprs +
			(uint64_t)k->wave_size * dispatch_scratch_bytes(l);

	return dispatch_waves(l) * (wave + 4096) + k->group_bytes + l->dynamic_lds + 4096;
}

/* ---- faults */

static void place_of(const struct wave *w, unsigned lane, struct amdgpu_fault *f)
{
	const uint32_t *b = w->group->launch->block;
	uint32_t t = w->number * w->size + lane;

	memcpy(f->block, w->group->id, sizeof f->block);
	f->thread[0] = t % b[0];
	f->thread[1] = t / b[0] % b[1];
	f->thread[2] = t / b[0] / b[1];
	f->wave = w->number;
	f->lane = lane;
}

static void describe(const struct wave *w, struct amdgpu_fault *f, uint64_t pc)
{
	const struct group *g = w->group;
	char source[160] = "";

	if (amdgpu_object_source(g->object, pc, &f->file, &f->line))
		snprintf(source, sizeof source, ", %.120s:%u", f->file, f->line);
	snprintf(f->message, sizeof f->message,
		 "%s: kernel %s, block (%u,%u,%u), thread (%u,%u,%u), wave %u, lane %u, pc 0x%llx (image "
		 "offset 0x%llx%s), `%.100s`: %s",
		 g->object->target->name, g->launch->kernel->name, f->block[0], f->block[1], f->block[2],
		 f->thread[0], f->thread[1], f->thread[2], f->wave, f->lane, (unsigned long long)f->pc,
		 (unsigned long long)pc, source, f->instruction, f->what);
}

bool wave_fault(struct wave *w, enum amdgpu_fault_kind kind, unsigned lane, uint64_t address, const char *fmt,
		...)
{
	struct group *g = w->group;
	struct amdgpu_fault *f = g->fault;
	uint64_t pc = w->pc - (w->current ? w->current->size : 0);
	va_list ap;

	w->faulted = true;
	w->status = WAVE_ENDED;
	if (f->kind)
		return false;
	va_start(ap, fmt);
	vsnprintf(f->what, sizeof f->what, fmt, ap);
	va_end(ap);
	f->kind = kind;
	f->pc = pc + g->object->address;
	f->address = address;
	place_of(w, lane, f);
	snprintf(f->instruction, sizeof f->instruction, "%s", w->current ? w->current->text : "");
	describe(w, f, pc);
	return true;
}

/* ---- threads */

/* How many workgroups a worker may have at once. */
static uint64_t resident_max(const struct dispatch *d, uint64_t threads)
{
	uint64_t fit = RESIDENT_ROOM / dispatch_resident_bytes(d->l);
	uint64_t most = d->l->cooperative ? d->groups : fit < RESIDENT_MAX ? fit : RESIDENT_MAX;

	most = most > threads ? most : threads;
	return (most + threads - 1) / threads;
}

static void run_threads(struct dispatch *d)
{
	pthread_t threads[THREADS_MAX];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t n = d->l->threads ? d->l->threads : processors > 0 ? (uint64_t)processors : 1;
	unsigned started = 0;

	if (n > d->groups)
		n = d->groups;
	if (n > THREADS_MAX)
		n = THREADS_MAX;
	pthread_mutex_lock(&d->lock);
	while (started + 1 < n && !worker_thread_create(&threads[started], NULL, dispatch_work, d))
		started++;
	d->resident_max = resident_max(d, started + 1);
	pthread_mutex_unlock(&d->lock);
	dispatch_work(d);
	while (started)
		pthread_join(threads[--started], NULL);
}

static int refuse(struct amdgpu_fault *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct amdgpu_fault *f, const char *fmt, ...)
{
	va_list ap;

	f->kind = AMDGPU_FAULT_LAUNCH;
	va_start(ap, fmt);
	vsnprintf(f->message, sizeof f->message, fmt, ap);
	va_end(ap);
	return CUTRACE_EINVAL;
}

static int check_launch(const struct amdgpu_launch *l, struct amdgpu_fault *f)
{
	const struct amdgpu_kernel *k = l->kernel;
	uint64_t lds = (uint64_t)k->group_bytes + l->dynamic_lds;

	for (unsigned i = 0; i < 3; i++)
		if (!l->grid[i] || !l->block[i] || l->block[i] > 1024)
			return refuse(f, "%s: an impossible size of grid or block", k->name);
	if ((uint64_t)l->block[0] * l->block[1] * l->block[2] > 1024)
		return refuse(f, "%s: more than 1024 work-items in a workgroup", k->name);
	if ((uint64_t)l->grid[0] * l->block[0] > UINT32_MAX ||
	    (uint64_t)l->grid[1] * l->block[1] > UINT32_MAX ||
	    (uint64_t)l->grid[2] * l->block[2] > UINT32_MAX || (uint64_t)l->grid[0] * l->grid[1] > UINT32_MAX)
		return refuse(f, "%s: more than 2^32 work-items in a dimension", k->name);
	if (lds > k->object->target->lds_bytes)
		return refuse(f, "%s needs %llu bytes of LDS, %s has %u", k->name, (unsigned long long)lds,
			      k->object->target->name, k->object->target->lds_bytes);
	if (k->private_bytes > SCRATCH_MAX || k->private_bytes % 4 || l->stack_bytes > SCRATCH_MAX)
		return refuse(f, "%s wants %u bytes of scratch a work-item and %u of stack", k->name,
			      k->private_bytes, l->stack_bytes);
	if (l->cooperative &&
	    (double)l->grid[0] * l->grid[1] * l->grid[2] * (double)dispatch_resident_bytes(l) >
		    (double)RESIDENT_ROOM)
		return refuse(
			f,
			"%s: a cooperative launch of %u x %u x %u workgroups, more than can be resident at "
			"once",
			k->name, l->grid[0], l->grid[1], l->grid[2]);
	if (k->kernarg_bytes > KERNARG_MAX)
		return refuse(f, "%s wants %u bytes of arguments", k->name, k->kernarg_bytes);
	return 0;
}

static uint64_t deadline(const struct amdgpu_launch *l)
{
	return l->watchdog_ms ? dispatch_now() + 1000000ull * l->watchdog_ms : UINT64_MAX;
}

int amdgpu_launch_run(const struct amdgpu_launch *l, struct amdgpu_fault *fault, struct amdgpu_stats *stats)
{
	struct dispatch d = {.l = l, .object = l->kernel->object, .fault = fault};
	int rc;

	memset(fault, 0, sizeof *fault);
	rc = check_launch(l, fault);
	if (rc)
		return rc;
	if (!dispatch_prepare_memory(&d))
		return refuse(fault, "%s: no memory for its arguments", l->kernel->name);
	d.deadline = deadline(l);
	d.groups = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	pthread_mutex_init(&d.lock, NULL);
	run_threads(&d);
	pthread_mutex_destroy(&d.lock);
	free(d.memory);
	if (stats)
		stats->instructions = d.executed;
	return fault->kind ? CUTRACE_EINVAL : 0;
}
