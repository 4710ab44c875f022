/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: kernarg segment and dispatch packet, waves' initial state (AMDGPUUsage, "Initial Kernel Execution State"),
 * the waves of a workgroup in turn, workgroups on host threads in order of their number.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/worker_thread.h"
#include "zluda_core/amdgpu_emulator/wave.h"

#define PACKET_BYTES 64
#define SLICE        4096 /* instructions that a wave runs before the next one's turn */
#define THREADS_MAX  256
#define SCRATCH_MAX  (1u << 20) /* of a work-item */
#define KERNARG_MAX  (1u << 20)

/* A launch on its way. */
struct dispatch {
	const struct amdgpu_launch *l;
	const struct amdgpu_object *object;
	uint8_t *memory; /* kernarg segment, then the packet */
	uint32_t bytes, packet_at;
	uint64_t groups;
	_Atomic uint64_t next, executed;
	_Atomic bool stop;
	struct amdgpu_fault *fault;
	pthread_mutex_t lock;
};

/* What one host thread needs for a workgroup. */
struct worker {
	struct dispatch *d;
	struct group group;
	struct wave *waves;
	uint32_t *scratch;
	struct amdgpu_fault fault;
	uint64_t budget;
};

/* Scratch of a work-item: what the descriptor says, and what the launch grants beyond it; 16 KiB for a kernel whose
 * stack the compiler could not bound (descriptor: USES_DYNAMIC_STACK). */
static uint32_t scratch_bytes(const struct amdgpu_launch *l)
{
	uint32_t more = l->kernel->properties >> 11 & 1 ? 16u << 10 : 0;

	return l->kernel->private_bytes + (l->stack_bytes ? l->stack_bytes & ~3u : more);
}

/* ---- faults */

void wave_fault(struct wave *w, enum amdgpu_fault_kind kind, unsigned lane, uint64_t address, const char *fmt,
		...)
{
	struct group *g = w->group;
	struct amdgpu_fault *f = g->fault;
	const char *text = w->current ? w->current->text : "";
	uint64_t pc = w->pc - (w->current ? w->current->size : 0);
	char what[256];
	va_list ap;

	w->faulted = true;
	w->status = WAVE_ENDED;
	if (f->kind)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	f->kind = kind;
	f->pc = pc + g->object->address;
	f->address = address;
	memcpy(f->block, g->id, sizeof f->block);
	f->wave = w->number;
	f->lane = lane;
	snprintf(f->instruction, sizeof f->instruction, "%s", text);
	snprintf(f->message, sizeof f->message,
		 "%s: kernel %s, block (%u,%u,%u), wave %u, lane %u, pc 0x%llx (image offset 0x%llx), "
		 "`%.100s`: %s",
		 g->object->target->name, g->launch->kernel->name, g->id[0], g->id[1], g->id[2], w->number,
		 lane, (unsigned long long)f->pc, (unsigned long long)pc, text, what);
}

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
			     scratch_bytes(l), l->kernel->group_bytes + l->dynamic_lds};
	uint64_t kernarg = DISPATCH_ADDRESS;

	for (unsigned i = 0; i < 3; i++) {
		uint16_t size = (uint16_t)l->block[i];
		memcpy(p + 4 + 2 * i, &size, 2);
	}
	memcpy(p + 12, sizes, sizeof sizes);
	memcpy(p + 40, &kernarg, 8);
}

static bool prepare_memory(struct dispatch *d)
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

static void preload_kernarg(struct wave *w, const struct worker *k, unsigned *at)
{
	unsigned count = k->d->l->kernel->preload & 127, offset = k->d->l->kernel->preload >> 7;

	for (unsigned i = 0; i < count && *at < 16; i++) {
		uint32_t v = 0;
		if ((offset + i + 1) * 4 <= k->d->packet_at)
			memcpy(&v, k->d->memory + 4 * (offset + i), 4);
		w->s[(*at)++] = v;
	}
	if (count) /* hardware that preloads enters behind the code for firmware that does not */
		w->pc += 256;
}

static void set_sgprs(struct wave *w, const struct worker *k)
{
	const struct amdgpu_kernel *kern = k->d->l->kernel;
	unsigned at = 0, p = kern->properties, ids = kern->rsrc2 >> 7 & 7, user = kern->rsrc2 >> 1 & 31;
	const uint32_t *id = w->group->id;

	if (p & 1)
		put_scratch_resource(w, &at);
	if (p & 2)
		put64(w, &at, DISPATCH_ADDRESS + k->d->packet_at);
	if (p & 4)
		put64(w, &at, 0); /* no queue */
	if (p & 8)
		put64(w, &at, DISPATCH_ADDRESS);
	if (p & 16)
		put64(w, &at, 0); /* dispatch id */
	if (p & 32)
		put64(w, &at, SCRATCH_BACKING);
	if (p & 64)
		w->s[at++] = scratch_bytes(k->d->l);
	preload_kernarg(w, k, &at);
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
	if ((kern->rsrc2 & 1) && !k->d->object->target->flat_scratch)
		w->s[at++] = 0; /* the wave's offset in scratch: each wave has a backing of its own */
}

static void set_ids(struct wave *w, const struct worker *k)
{
	const uint32_t *b = k->d->l->block;
	uint64_t total = (uint64_t)b[0] * b[1] * b[2], exec = 0;

	for (unsigned l = 0; l < w->size; l++) {
		uint64_t t = (uint64_t)w->number * w->size + l;
		uint32_t x = (uint32_t)(t % b[0]), y = (uint32_t)(t / b[0] % b[1]),
			 z = (uint32_t)(t / b[0] / b[1]);
		if (t >= total)
			break;
		exec |= 1ull << l;
		if (k->d->object->target->packed_ids) {
			w->v[0][l] = x | y << 10 | z << 20;
			continue;
		}
		w->v[0][l] = x;
		if (k->d->l->kernel->rsrc2 >> 11 & 3)
			w->v[1][l] = y;
		if ((k->d->l->kernel->rsrc2 >> 11 & 3) > 1)
			w->v[2][l] = z;
	}
	wave_set_mask(w, SREG_EXEC, exec);
}

static void start_wave(struct wave *w, struct worker *k, unsigned number)
{
	const struct amdgpu_kernel *kern = k->d->l->kernel;
	uint32_t fill = k->d->l->register_fill;
	/* GCN's FP_DENORM, FP_ROUND; DX10_CLAMP and IEEE_MODE up to gfx11 */
	uint32_t mode = kern->rsrc1 >> 12 & 0xff;

	w->size = kern->wave_size;
	w->number = number;
	w->gfx = k->d->object->target->gfx;
	w->group = &k->group;
	w->pc = kern->entry;
	w->current = NULL;
	w->scc = w->faulted = w->indexed = false;
	w->status = WAVE_RUNS;
	w->executed = 0;
	w->scratch_dwords = scratch_bytes(k->d->l) / 4;
	w->scratch = k->scratch + (size_t)number * w->scratch_dwords * w->size;
	if (w->gfx < 12)
		mode |= (kern->rsrc1 >> 21 & 1 ? MODE_DX10_CLAMP : 0) |
			(kern->rsrc1 >> 23 & 1 ? MODE_IEEE : 0);
	wave_set_mode(w, mode);
	for (unsigned i = 0; i < kern->vgprs; i++)
		for (unsigned l = 0; l < w->size; l++)
			w->v[i][l] = fill;
	for (unsigned i = 0; i < SREG_COUNT; i++)
		w->s[i] = fill;
	set_sgprs(w, k);
	set_ids(w, k);
}

/* ---- running */

static const struct insn *fetch(struct wave *w)
{
	const struct amdgpu_object *o = w->group->object;
	const struct insn *in = w->pc / 4 < o->nslots && w->pc % 4 == 0 ? o->insns[w->pc / 4] : NULL;

	if (!in) {
		w->current = NULL;
		wave_fault(w, AMDGPU_FAULT_INSTRUCTION, 0, 0, "no instruction begins here");
	}
	return in;
}

static void run_slice(struct wave *w, uint64_t instructions)
{
	uint64_t n = instructions;

	while (n-- && w->status == WAVE_RUNS) {
		const struct insn *in = fetch(w);
		if (!in)
			break;
		w->current = in;
		w->pc += in->size;
		w->executed++;
		in->exec(w, in);
	}
}

static void wake(struct group *g, struct wave *waves)
{
	for (unsigned i = 0; i < g->nwaves; i++)
		if (waves[i].status == WAVE_WAITS && waves[i].waits_for != g->phase)
			waves[i].status = WAVE_RUNS;
}

/* One turn for every wave. False: the workgroup is done or has failed. */
static bool run_round(struct worker *k)
{
	struct group *g = &k->group;
	bool ran = false;

	wake(g, k->waves);
	for (unsigned i = 0; i < g->nwaves; i++) {
		struct wave *w = &k->waves[i];
		uint64_t before = w->executed;
		if (w->status != WAVE_RUNS)
			continue;
		ran = true;
		run_slice(w, SLICE);
		k->budget -= w->executed - before < k->budget ? w->executed - before : k->budget;
		if (w->faulted)
			return false;
		if (!k->budget) {
			wave_fault(w, AMDGPU_FAULT_BUDGET, 0, 0,
				   "the launch has not ended within its budget of instructions: an endless "
				   "loop?");
			return false;
		}
	}
	if (!ran && g->alive)
		wave_fault(&k->waves[0], AMDGPU_FAULT_DEADLOCK, 0, 0,
			   "deadlock: %u of %u waves wait at a barrier that cannot complete", g->alive,
			   g->nwaves);
	return ran && g->alive;
}

static void run_group(struct worker *k, uint64_t number)
{
	const struct amdgpu_launch *l = k->d->l;
	struct group *g = &k->group;
	uint64_t executed = 0;

	g->id[0] = (uint32_t)(number % l->grid[0]);
	g->id[1] = (uint32_t)(number / l->grid[0] % l->grid[1]);
	g->id[2] = (uint32_t)(number / l->grid[0] / l->grid[1]);
	g->alive = g->nwaves;
	g->signalled = g->phase = 0;
	memset(g->lds, 0, g->lds_bytes);
	for (unsigned i = 0; i < g->nwaves; i++)
		start_wave(&k->waves[i], k, i);
	while (run_round(k) && !atomic_load_explicit(&k->d->stop, memory_order_relaxed))
		;
	for (unsigned i = 0; i < g->nwaves; i++)
		executed += k->waves[i].executed;
	atomic_fetch_add_explicit(&k->d->executed, executed, memory_order_relaxed);
}

/* The fault of the workgroup with the lowest number is the launch's. */
static uint64_t group_number(const struct amdgpu_launch *l, const uint32_t *id)
{
	return id[0] + (uint64_t)l->grid[0] * (id[1] + (uint64_t)l->grid[1] * id[2]);
}

static void report(struct worker *k)
{
	struct dispatch *d = k->d;

	pthread_mutex_lock(&d->lock);
	if (!d->fault->kind || group_number(d->l, k->fault.block) < group_number(d->l, d->fault->block))
		*d->fault = k->fault;
	pthread_mutex_unlock(&d->lock);
	atomic_store(&d->stop, true);
}

static bool prepare_worker(struct worker *k, struct dispatch *d)
{
	const struct amdgpu_launch *l = d->l;
	const struct amdgpu_kernel *kern = l->kernel;
	uint64_t items = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	unsigned nwaves = (unsigned)((items + kern->wave_size - 1) / kern->wave_size);
	size_t scratch = (size_t)nwaves * kern->wave_size * (scratch_bytes(l) / 4) * 4;

	memset(k, 0, sizeof *k);
	k->d = d;
	k->budget = l->budget ? l->budget : 1ull << 40;
	k->group = (struct group){.launch = l,
				  .object = d->object,
				  .lds_bytes = kern->group_bytes + l->dynamic_lds,
				  .nwaves = nwaves,
				  .dispatch = d->memory,
				  .dispatch_bytes = d->bytes,
				  .fault = &k->fault};
	k->group.lds = aligned_alloc(64, (k->group.lds_bytes + 127u) & ~63u);
	k->waves = aligned_alloc(64, nwaves * sizeof(struct wave));
	k->scratch = calloc(1, scratch + 4);
	if (!k->group.lds || !k->waves || !k->scratch)
		return false;
	memset(k->waves, 0, nwaves * sizeof(struct wave));
	return true;
}

static void *work(void *arg)
{
	struct dispatch *d = arg;
	struct worker k;

	if (!prepare_worker(&k, d)) {
		k.fault.kind = AMDGPU_FAULT_MEMORY;
		snprintf(k.fault.message, sizeof k.fault.message, "no memory for the waves of kernel %s",
			 d->l->kernel->name);
		report(&k);
	}
	while (!atomic_load_explicit(&d->stop, memory_order_relaxed)) {
		uint64_t n = atomic_fetch_add_explicit(&d->next, 1, memory_order_relaxed);
		if (n >= d->groups)
			break;
		run_group(&k, n);
		if (k.fault.kind)
			report(&k);
	}
	free(k.group.lds);
	free(k.waves);
	free(k.scratch);
	return NULL;
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
	while (started + 1 < n && !worker_thread_create(&threads[started], NULL, work, d))
		started++;
	work(d);
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
	if (k->kernarg_bytes > KERNARG_MAX)
		return refuse(f, "%s wants %u bytes of arguments", k->name, k->kernarg_bytes);
	return 0;
}

int amdgpu_launch_run(const struct amdgpu_launch *l, struct amdgpu_fault *fault, struct amdgpu_stats *stats)
{
	struct dispatch d = {.l = l, .object = l->kernel->object, .fault = fault};
	int rc;

	memset(fault, 0, sizeof *fault);
	rc = check_launch(l, fault);
	if (rc)
		return rc;
	if (!prepare_memory(&d))
		return refuse(fault, "%s: no memory for its arguments", l->kernel->name);
	d.groups = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	pthread_mutex_init(&d.lock, NULL);
	run_threads(&d);
	pthread_mutex_destroy(&d.lock);
	free(d.memory);
	if (stats)
		stats->instructions = d.executed;
	return fault->kind ? CUTRACE_EINVAL : 0;
}
