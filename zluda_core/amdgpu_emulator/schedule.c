/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns: the waves of a workgroup in rounds; the workgroups of a host thread one after another while each of them ends
 * soon, as hardware would place them, and in a ring when they don't: then they may wait for each other.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "zluda_core/amdgpu_emulator/dispatch.h"
#include "zluda_core/amdgpu_emulator/waits.h"

/* Wave-instructions. A wave runs SLICE before the next one of its workgroup; a workgroup PATIENCE before a further one
 * becomes resident beside it, and TURN from then on. Those of a cooperative launch wait for each other, probably. */
#define SLICE             4096
#define SLICE_COOPERATIVE 512
#define PATIENCE          (1u << 18)
#define TURN              (1u << 16)

enum outcome { GROUP_ENDED, GROUP_RUNS, GROUP_POLLS };

/* ---- memory of a resident workgroup: zero pages until they are touched */

static void *pages(size_t bytes)
{
	void *p =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void resident_free(struct resident *r)
{
	if (!r)
		return;
	if (r->waves)
		munmap(r->waves, r->wave_bytes);
	if (r->scratch)
		munmap(r->scratch, r->scratch_bytes);
	free(r->group.lds);
	free(r->waits);
	free(r);
}

static struct resident *resident_new(struct worker *k)
{
	const struct amdgpu_launch *l = k->d->l;
	const struct amdgpu_kernel *kern = l->kernel;
	struct resident *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->group = (struct group){.launch = l,
				  .object = k->d->object,
				  .lds_bytes = kern->group_bytes + l->dynamic_lds,
				  .nwaves = dispatch_waves(l),
				  .dispatch = k->d->memory,
				  .dispatch_bytes = k->d->bytes,
				  .fault = &k->fault};
	r->wave_bytes = r->group.nwaves * sizeof(struct wave);
	r->scratch_bytes = (size_t)r->group.nwaves * kern->wave_size * dispatch_scratch_bytes(l) + 4096;
	r->group.lds = aligned_alloc(64, (r->group.lds_bytes + 127u) & ~63u);
	r->waves = pages(r->wave_bytes);
	r->scratch = pages(r->scratch_bytes);
	r->waits = l->check_waits ? calloc(r->group.nwaves, sizeof *r->waits) : NULL;
	if (r->group.lds && r->waves && r->scratch && (r->waits || !l->check_waits))
		return r;
	resident_free(r);
	return NULL;
}

/* ---- waves */

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

/* A fault between instructions names the next one. */
static void point_at_next(struct wave *w)
{
	const struct amdgpu_object *o = w->group->object;

	w->current = w->pc / 4 < o->nslots ? o->insns[w->pc / 4] : NULL;
	w->pc += w->current ? w->current->size : 0;
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
		if (w->waits && !waits_check(w, in))
			break;
		in->exec(w, in);
	}
}

static void wake(struct group *g, struct wave *waves)
{
	for (unsigned i = 0; i < g->nwaves; i++)
		if (waves[i].status == WAVE_POLLS ||
		    (waves[i].status == WAVE_WAITS && waves[i].waits_for != g->phase))
			waves[i].status = WAVE_RUNS;
}

/* Whether a wave would go on, now that all had their slice: others have ended, sleep, or wait at a barrier. */
static bool can_run(const struct resident *r)
{
	for (unsigned i = 0; i < r->group.nwaves; i++)
		if (r->waves[i].status == WAVE_RUNS ||
		    (r->waves[i].status == WAVE_WAITS && r->waves[i].waits_for != r->group.phase))
			return true;
	return false;
}

/* False: a fault. *spent grows by the instructions. */
static bool run_wave(struct worker *k, struct wave *w, uint64_t slice, uint64_t *spent)
{
	uint64_t before = w->executed, n;

	run_slice(w, slice);
	n = w->executed - before;
	*spent += n;
	k->budget -= n < k->budget ? n : k->budget;
	if (!k->budget && !w->faulted) {
		point_at_next(w);
		wave_fault(w, AMDGPU_FAULT_BUDGET, 0, 0,
			   "the launch has not ended within its budget of instructions: an endless loop?");
	}
	return !w->faulted;
}

/* One slice for every wave that can run. */
static enum outcome run_round(struct worker *k, struct resident *r, uint64_t *spent)
{
	struct group *g = &r->group;
	bool ran = false;

	wake(g, r->waves);
	for (unsigned i = 0; i < g->nwaves; i++) {
		if (r->waves[i].status != WAVE_RUNS)
			continue;
		ran = true;
		if (!run_wave(k, &r->waves[i], k->d->l->cooperative ? SLICE_COOPERATIVE : SLICE, spent))
			return GROUP_ENDED;
	}
	if (!g->alive)
		return GROUP_ENDED;
	if (!ran) {
		wave_fault(&r->waves[0], AMDGPU_FAULT_DEADLOCK, 0, 0,
			   "deadlock: %u of %u waves wait at a barrier that cannot complete", g->alive,
			   g->nwaves);
		return GROUP_ENDED;
	}
	return can_run(r) ? GROUP_RUNS : GROUP_POLLS;
}

/* ---- workgroups */

uint64_t dispatch_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The launch ends, by a fault elsewhere, or from outside. */
static bool stopped(const struct dispatch *d)
{
	return atomic_load_explicit(&d->stop, memory_order_relaxed) ||
	       (d->l->stop_word && __atomic_load_n(d->l->stop_word, __ATOMIC_RELAXED));
}

static void start(struct worker *k, struct resident *r, uint64_t number)
{
	const struct amdgpu_launch *l = k->d->l;
	struct group *g = &r->group;

	g->id[0] = (uint32_t)(number % l->grid[0]);
	g->id[1] = (uint32_t)(number / l->grid[0] % l->grid[1]);
	g->id[2] = (uint32_t)(number / l->grid[0] / l->grid[1]);
	g->alive = g->nwaves;
	g->signalled = g->phase = 0;
	memset(g->lds, 0, g->lds_bytes);
	r->fresh = true;
	for (unsigned i = 0; i < g->nwaves; i++) {
		dispatch_start_wave(&r->waves[i], k->d, r, i);
		r->waves[i].waits = r->waits ? &r->waits[i] : NULL;
		if (r->waits)
			waits_reset(&r->waits[i]);
	}
}

/* One more workgroup behind the others. False: none is left, there is no room, or (with a fault) no memory. */
static bool add(struct worker *k)
{
	struct resident *r = k->spare;
	uint64_t n;

	if (k->count == k->d->resident_max || atomic_load(&k->d->next) >= k->d->groups)
		return false;
	if (k->count == k->room) {
		unsigned room = k->room ? 2 * k->room : 4;
		struct resident **more = realloc(k->residents, room * sizeof(struct resident *));
		if (!more)
			return false;
		k->residents = more;
		k->room = room;
	}
	k->spare = NULL;
	if (!r && !(r = resident_new(k))) {
		if (k->count)
			return false;
		k->fault.kind = AMDGPU_FAULT_MEMORY;
		snprintf(k->fault.message, sizeof k->fault.message, "no memory for the waves of kernel %s",
			 k->d->l->kernel->name);
		return false;
	}
	n = atomic_fetch_add_explicit(&k->d->next, 1, memory_order_relaxed);
	if (n >= k->d->groups) {
		k->spare = r;
		return false;
	}
	start(k, r, n);
	k->residents[k->count++] = r;
	return true;
}

static void leave(struct worker *k, struct resident *r)
{
	uint64_t executed = 0;

	for (unsigned i = 0; i < r->group.nwaves; i++)
		executed += r->waves[i].executed;
	atomic_fetch_add_explicit(&k->d->executed, executed, memory_order_relaxed);
	if (k->spare)
		resident_free(r);
	else
		k->spare = r;
}

/* The turn of the first workgroup of the ring, which then is the last one, or gone. */
static enum outcome turn(struct worker *k)
{
	struct resident *r = k->residents[0];
	uint64_t most = k->d->l->cooperative ? 1 : r->fresh ? PATIENCE : TURN, spent = 0;
	enum outcome o = GROUP_RUNS;

	r->fresh = false;
	while (o == GROUP_RUNS && spent < most && !stopped(k->d))
		o = run_round(k, r, &spent);
	memmove(k->residents, k->residents + 1, (k->count - 1) * sizeof(struct resident *));
	if (o == GROUP_ENDED) {
		k->count--;
		leave(k, r);
	} else {
		k->residents[k->count - 1] = r;
	}
	return o;
}

/* A newcomer is next: moved to the front. */
static bool add_in_front(struct worker *k)
{
	struct resident *r;

	if (!add(k))
		return false;
	r = k->residents[k->count - 1];
	memmove(k->residents + 1, k->residents, (k->count - 1) * sizeof(struct resident *));
	k->residents[0] = r;
	return true;
}

/* The fault of the workgroup with the lowest number is the launch's. */
static uint64_t group_number(const struct amdgpu_launch *l, const uint32_t *id)
{
	return id[0] + (uint64_t)l->grid[0] * (id[1] + (uint64_t)l->grid[1] * id[2]);
}

static void report(struct worker *k)
{
	struct dispatch *d = k->d;

	if (!k->fault.kind)
		return;
	pthread_mutex_lock(&d->lock);
	if (!d->fault->kind || group_number(d->l, k->fault.block) < group_number(d->l, d->fault->block))
		*d->fault = k->fault;
	pthread_mutex_unlock(&d->lock);
	atomic_store(&d->stop, true);
}

/* The one that was begun first. */
static struct resident *oldest(const struct worker *k)
{
	struct resident *r = k->residents[0];

	for (unsigned n = 1; n < k->count; n++)
		if (group_number(k->d->l, k->residents[n]->group.id) < group_number(k->d->l, r->group.id))
			r = k->residents[n];
	return r;
}

/* Time is up, which is told of the first wave that has not ended, of the workgroup that has had most of it. */
static void time_out(struct worker *k)
{
	struct resident *r = oldest(k);
	unsigned n = 0;

	while (n + 1 < r->group.nwaves && r->waves[n].status == WAVE_ENDED)
		n++;
	if (r->waves[n].status == WAVE_RUNS)
		point_at_next(&r->waves[n]);
	wave_fault(&r->waves[n], AMDGPU_FAULT_TIMEOUT, 0, 0, "the launch has not ended within %u ms%s",
		   k->d->l->watchdog_ms,
		   r->waves[n].status == WAVE_WAITS   ? "; this wave waits at a barrier"
		   : r->waves[n].status == WAVE_POLLS ? "; this wave sleeps between polls"
						      : "; this wave runs");
}

static void run(struct worker *k)
{
	unsigned polled = 0; /* workgroups in a row that had nothing to do */

	while (k->d->l->cooperative && add(k))
		;
	while (!k->fault.kind && !stopped(k->d)) {
		if (!k->count && !add(k))
			break;
		if (k->d->deadline != UINT64_MAX && dispatch_now() > k->d->deadline) {
			time_out(k);
			break;
		}
		enum outcome o = turn(k);
		polled = o == GROUP_POLLS ? polled + 1 : 0;
		if (o != GROUP_ENDED && add_in_front(k))
			polled = 0;
		if (polled >= k->count && polled) {
			sched_yield();
			polled = 0;
		}
	}
}

void *dispatch_work(void *dispatch)
{
	struct worker k = {.d = dispatch};

	k.budget = k.d->l->budget ? k.d->l->budget : 1ull << 40;
	pthread_mutex_lock(&k.d->lock); /* until all threads are there */
	pthread_mutex_unlock(&k.d->lock);
	run(&k);
	report(&k);
	while (k.count)
		leave(&k, k.residents[--k.count]);
	resident_free(k.spare);
	free(k.residents);
	return NULL;
}
