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
#define RETURNS_BYTES  4096
#define MAX_RETURNS    ((RETURNS_BYTES - sizeof(struct rec_returns)) / sizeof(struct rec_return))

struct rec_return {
	uint64_t address, sp, seq, outer, out;
	struct rec_thread *ring; /* that the call was entered in */
	uint32_t index;
};

/* Lives as long as its thread, whatever becomes of the recording: who was called is to return. A forked child
 * needs its copy too. */
struct rec_returns {
	uint64_t n;
	struct rec_return of[];
};
static __thread struct rec_returns *returns __attribute__((tls_model("initial-exec")));

struct thunk {
	void *real;
	int16_t image_param, out_param;
	bool is_void;
	char name[NAME_MAX_BYTES];
};

static struct thunk thunks[THUNK_COUNT];
static _Atomic uint32_t count;

static void *stub(uint32_t index)
{
	return thunk_stubs + (size_t)index * THUNK_STRIDE;
}

static uint32_t find_or_add(const char *name, void *real, const struct rec_thunk_traits *traits)
{
	uint32_t n, i;

	rec_lock(REC_LOCK_THUNKS);
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
	rec_unlock(REC_LOCK_THUNKS);
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
	rec_diag2(1, 0,
		  strlen(name) < NAME_MAX_BYTES
			  ? "calls of this function are not recorded, there are too many unknown ones: "
			  : "calls of this function are not recorded, its name is too long: ",
		  name);
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

	/* A signal handler may come and do the same: a name told twice does no harm. */
	for (uint32_t i = t->functions_told; i < n; i++)
		rec_function_record(RING_UNKNOWN + i, thunks[i].name);
	t->functions_told = n;
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

static bool room_to_return(void)
{
	if (!returns)
		returns = rec_pages(RETURNS_BYTES);
	return returns && returns->n < MAX_RETURNS;
}

void rec_returns_free(void)
{
	rec_pages_free(returns, RETURNS_BYTES);
	returns = NULL;
}

void *thunk_enter(struct thunk_registers *r, uint32_t index, uint64_t *return_slot)
{
	struct thunk *k = &thunks[index];
	struct rec_thread *t = rec_thread_get();
	int saved = errno;
	struct rec_frame f;
	uint64_t *w;

	if (!t || !room_to_return())
		return k->real;
	if (t->functions_told <= index)
		name_functions(t);
	w = rec_enter(&f, RING_UNKNOWN + index, 14 + THUNK_STACK_WORDS);
	if (w) {
		fill(w, r, return_slot + 1);
		rec_publish_enter(&f);
		returns->of[returns->n++] =
			(struct rec_return){.address = *return_slot,
					    .sp = (uintptr_t)(return_slot + 1),
					    .seq = f.seq,
					    .outer = f.outer,
					    .ring = f.t,
					    .index = index,
					    .out = k->out_param >= 0 ? r->integer[k->out_param] : 0};
		*return_slot = (uintptr_t)thunk_return;
		if (k->image_param >= 0) {
			struct rec_steered stays; /* nothing says how long it is looked at */
			uint64_t *image = &r->integer[k->image_param];

			*image = (uintptr_t)rec_steer_image(f.seq, (void *)*image, &stays);
			rec_image(f.seq, k->image_param, (void *)*image);
		}
	}
	errno = saved;
	return k->real;
}

static struct rec_return pop_return(uint64_t sp)
{
	struct rec_return e;
	uint64_t i;

	/* Entries above ours were left by longjmp, or belong to another stack of this thread. */
	for (i = returns->n; i > 0 && returns->of[i - 1].sp != sp; i--)
		;
	if (i == 0)
		__builtin_trap(); /* the stack was moved under the call: nobody knows the way back */
	e = returns->of[i - 1];
	memmove(&returns->of[i - 1], &returns->of[i], (returns->n - i) * sizeof(e));
	returns->n--;
	return e;
}

uint64_t thunk_exit(uint64_t rax, uint64_t sp)
{
	struct rec_return e = pop_return(sp);
	struct rec_frame f = {.t = e.ring, .seq = e.seq, .outer = e.outer, .func = RING_UNKNOWN + e.index};
	uint64_t *w;

	/* Recording has ended meanwhile, or this is a child that was forked inside the call. */
	if (rec_self != e.ring)
		return e.address;
	w = rec_leave(&f, thunks[e.index].is_void ? 0 : (int32_t)rax, e.out ? 1 : 0);
	if (e.out)
		rec_out(&f, w, 0, e.out, 8);
	rec_publish_exit(&f);
	return e.address;
}
