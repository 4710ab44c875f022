/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk: functions that no description knows: names of a newer driver, and slots of export tables. They are
 * recorded by name with raw registers. Where the caller would return to is kept on a shadow stack of the
 * thread.
 */
#include "interpose/thunk.h"

#include "interpose/recorder.h"
#include "interpose/redirect.h"

#include <errno.h>

#define NAME_MAX_BYTES 104
#define MAX_RETURNS    ((4096 - sizeof(struct rec_thread)) / sizeof(struct rec_return))

struct rec_return {
	uint64_t address, sp, seq, out;
	uint32_t index;
};

struct thunk {
	void *real;
	int16_t image_param, out_param;
	bool is_void;
	char name[NAME_MAX_BYTES];
};

static struct thunk thunks[THUNK_COUNT];
static _Atomic uint32_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *stub(uint32_t index)
{
	return thunk_stubs + (size_t)index * THUNK_STRIDE;
}

static uint32_t find_or_add(const char *name, void *real, const struct rec_thunk_traits *traits)
{
	uint32_t n, i;

	pthread_mutex_lock(&lock);
	n = atomic_load_explicit(&count, memory_order_relaxed);
	for (i = 0; i < n && (thunks[i].real != real || strcmp(thunks[i].name, name)); i++)
		;
	if (i == n && n < THUNK_COUNT && strlen(name) < NAME_MAX_BYTES) {
		strcpy(thunks[i].name, name);
		thunks[i].real = real;
		thunks[i].image_param = (int16_t)(traits ? traits->image_param : -1);
		thunks[i].out_param = (int16_t)(traits ? traits->out_param : -1);
		thunks[i].is_void = traits && traits->is_void;
		atomic_store_explicit(&count, n + 1, memory_order_release);
		n++;
	}
	pthread_mutex_unlock(&lock);
	return i < n ? i : THUNK_COUNT;
}

void *rec_thunk(const char *name, void *real, const struct rec_thunk_traits *traits)
{
	uint32_t i;

	/* Already one of ours. */
	if ((char *)real >= thunk_stubs && (char *)real < thunk_stubs + THUNK_COUNT * THUNK_STRIDE)
		return real;
	i = find_or_add(name, real, traits);
	if (i < THUNK_COUNT)
		return stub(i);
	rec_diag2(1, 0, "calls of this function are not recorded, there are too many unknown ones: ", name);
	return real;
}

/* The auditor asks when dlsym, or the linker, found a function in the real driver that the recorder does not
 * export. */
__attribute__((visibility("default"))) redirect_thunk_fn cutrace_thunk_for;
__attribute__((visibility("default"))) uintptr_t cutrace_thunk_for(const char *name, uintptr_t real)
{
	return (uintptr_t)rec_thunk(name, (void *)real, NULL);
}

/* A ring names a function before it uses its number. */
static void name_functions(struct rec_thread *t)
{
	uint32_t n = atomic_load_explicit(&count, memory_order_acquire);

	for (; t->functions_told < n; t->functions_told++)
		rec_function_record(RING_UNKNOWN + t->functions_told, thunks[t->functions_told].name);
}

static void fill(uint64_t *w, const struct thunk_registers *r, const uint64_t *stack)
{
	for (unsigned i = 0; i < 6; i++)
		w[i] = r->integer[i];
	for (unsigned i = 0; i < 8; i++)
		w[6 + i] = r->xmm[i].low;
	for (unsigned i = 0; i < THUNK_STACK_WORDS; i++)
		w[14 + i] = stack[i];
}

void *thunk_enter(struct thunk_registers *r, uint32_t index, uint64_t *return_slot)
{
	struct thunk *k = &thunks[index];
	struct rec_thread *t = rec_thread_get();
	int saved = errno;
	struct rec_frame f;
	uint64_t *w;

	if (!t || t->nreturns == MAX_RETURNS)
		return k->real;
	if (t->functions_told <= index)
		name_functions(t);
	w = rec_enter(&f, RING_UNKNOWN + index, 14 + THUNK_STACK_WORDS);
	if (w) {
		fill(w, r, return_slot + 1);
		rec_publish_enter(&f);
		if (k->image_param >= 0)
			rec_image(f.seq, k->image_param, (void *)r->integer[k->image_param]);
		t->returns[t->nreturns++] =
			(struct rec_return){.address = *return_slot,
					    .sp = (uintptr_t)(return_slot + 1),
					    .seq = f.seq,
					    .index = index,
					    .out = k->out_param >= 0 ? r->integer[k->out_param] : 0};
		*return_slot = (uintptr_t)thunk_return;
	}
	errno = saved;
	return k->real;
}

static struct rec_thread *owner(void)
{
	/* Inside a call that the recorder makes itself nothing is pushed, so whoever comes here has a ring.
	 */
	return rec_self ? rec_self : rec_thread_get();
}

uint64_t thunk_exit(uint64_t rax, uint64_t sp)
{
	struct rec_thread *t = owner();
	struct rec_return e;
	struct rec_frame f;
	uint64_t *w;
	uint32_t i;

	/* Entries above ours were left by longjmp, or belong to another stack of this thread. */
	for (i = t->nreturns; i > 0 && t->returns[i - 1].sp != sp; i--)
		;
	e = t->returns[i - 1];
	memmove(&t->returns[i - 1], &t->returns[i], (t->nreturns - i) * sizeof(e));
	t->nreturns--;
	f = (struct rec_frame){.t = t, .seq = e.seq, .func = RING_UNKNOWN + e.index};
	w = rec_leave(&f, thunks[e.index].is_void ? 0 : (int32_t)rax, e.out ? 1 : 0);
	if (e.out)
		rec_out(&f, w, 0, e.out, 8);
	rec_publish_exit(&f);
	return e.address;
}
