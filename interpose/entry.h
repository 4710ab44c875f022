/* SPDX-License-Identifier: Apache-2.0
 *
 * entry: what generated entry points (entry_points.c of libcuda.so.1) are made of.
 * The whole hot path is inline here: reserve room in this thread's ring, take a
 * sequence number, store the raw arguments in place, publish, call on, publish the exit.
 * No lock, no allocation, no system call, errno untouched.
 *
 * What apigen emits. For every exported function with id ID (index into api_funcs), N
 * parameters, in parameter types of the right width (int32_t, uint32_t, uint64_t for every
 * pointer, handle and device pointer, float, double, struct rec_bytes_<n> { uint8_t b[n]; } for
 * structs by value):
 *
 *	REC_EXPORT uint32_t cuMemAlloc_v2(uint64_t a0, uint64_t a1)
 *	{
 *		typedef uint32_t fn(uint64_t, uint64_t);
 *		struct rec_frame f;
 *		uint64_t *w = rec_enter(&f, ID, 2);
 *		uint32_t r;
 *
 *		if (REC_UNLIKELY(!w))
 *			return ((fn *)rec_real[ID])(a0, a1);
 *		w[0] = a0;	(uint64_t)(int64_t)a for signed, rec_f32(a), rec_f64(a), (uintptr_t)&a for structs
 *		w[1] = a1;
 *		rec_publish_enter(&f);
 *		r = ((fn *)rec_real[ID])(a0, a1);
 *		w = rec_leave(&f, (int32_t)r, 1);	number of inline outs; 0 for none
 *		rec_out(&f, w, 0, a0, 8);		n-th inline out, the pointer argument, bytes (negative: signed)
 *		rec_publish_exit(&f);
 *		return r;
 *	}
 *
 * An "inline out" is a parameter whose api_out_slot() is 0 .. REC_MAX_OUTS - 1; the slot is its number.
 *
 * A function that reads or writes host memory beyond inline outs (a STRING parameter, a non-payload pointer
 * parameter that is IN or INOUT, an OUT one that is not an inline out, an API_ABI_MEMORY parameter) is emitted
 * in the second form:
 *
 *		uint64_t args[N] = { ...words as above... };
 *		if (REC_UNLIKELY(!rec_enter_memory(&f, ID, N, args)))
 *			return ((fn *)rec_real[ID])(...);
 *		r = ((fn *)rec_real[ID])(...);
 *		rec_leave_memory(&f, (int32_t)r, args);
 *		return r;
 *
 * and at the end: `void *rec_real[NFUNCS];` and `void *const rec_entries[NFUNCS] = { (void *)cuInit, ... };`
 * with NULL for functions that have no exported symbol (API_FUNC_PRIVATE). Nothing special is generated for
 * launches, copies, cuGetProcAddress or cuGetExportTable: the runtime puts its own functions into rec_real[]
 * for those (hooks.c).
 */
#ifndef CUTRACE_INTERPOSE_ENTRY_H
#define CUTRACE_INTERPOSE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <x86intrin.h>

#include "interpose/ring.h"

#define REC_EXPORT      __attribute__((visibility("default")))
#define REC_HIDDEN      __attribute__((visibility("hidden")))
#define REC_LIKELY(x)   __builtin_expect(!!(x), 1)
#define REC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define REC_INLINE      __attribute__((always_inline))
#define REC_MAX_OUTS    8

/* What an entry calls: the real driver's function, or the runtime's hook around it. Never NULL once
 * rec_enter has been called: a function that the real driver lacks answers CUDA_ERROR_NOT_SUPPORTED. */
extern REC_HIDDEN void *rec_real[];
/* Our own entry points by function id; NULL where nothing is exported. */
extern REC_HIDDEN void *const rec_entries[];

/* One per thread that has called the driver. Only its thread writes it. */
struct rec_thread {
	uint8_t *data; /* the ring's bytes, mapped twice in a row: no record wraps */
	uint64_t mask;
	uint64_t head;  /* bytes taken; the ring's header has those published */
	uint64_t limit; /* there is known to be room up to here */
	struct ring_header *ring;
	struct ring_session *session;
	uint64_t seq; /* call entered last */
	uint64_t sp, open_at,
		open_seq;        /* of the record that is being written, or was last: stack pointer of who
					   does, where, an enter's number */
	struct ring_record open; /* its header */
	uint32_t functions_told; /* ids of unknown functions that this ring has named (thunk.c) */
	struct rec_thread *next_free;
};

/* The ring of this thread, or NULL: not started yet, switched off, or inside a driver call of the recorder's
 * own. */
extern REC_HIDDEN __thread struct rec_thread *rec_self __attribute__((tls_model("initial-exec")));
extern REC_HIDDEN bool rec_use_tsc;

struct rec_frame {
	struct rec_thread *t;
	uint64_t seq, outer; /* of the call, and of the one that it interrupted or is made by */
	uint32_t func;
	void *record; /* being written */
};

/* This thread's ring with room for one record of `bytes`: starts recording on the thread, waits for the
 * collector to make room. NULL when calls are to pass through unrecorded. */
REC_HIDDEN struct rec_thread *rec_make_room(uint64_t bytes);
/* Takes the room for a record when that is not simple: nothing is free, a signal came between, or this is a
 * signal handler that interrupted the writing of a record. seq: of an enter. */
struct rec_frame;
REC_HIDDEN void *rec_reserve_slowly(struct rec_thread *t, struct ring_record r, uint64_t seq);
REC_HIDDEN uint64_t *rec_enter_slowly(struct rec_frame *f, struct ring_record r);
/* The end of a record that a signal handler wrote behind the one that it interrupted. */
REC_HIDDEN void rec_commit_nested(void *record);
REC_HIDDEN uint64_t rec_clock(void);

/* The second form's two halves. */
REC_HIDDEN bool rec_enter_memory(struct rec_frame *f, uint32_t func, uint32_t nargs, const uint64_t *args);
REC_HIDDEN void rec_leave_memory(struct rec_frame *f, int64_t result, const uint64_t *args);

static inline REC_INLINE uint64_t rec_now(void)
{
	return REC_LIKELY(rec_use_tsc) ? __rdtsc() : rec_clock();
}

static inline uint64_t rec_f32(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline uint64_t rec_f64(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* ---- writing a record ------------------------------------------------------
 * A signal handler may call the driver at any moment, also between two instructions of what follows. So room is
 * taken by one instruction, after it has been noted what for; a handler that comes later writes
 * behind it and publishes nothing, and whoever commits the first record that is not published publishes what
 * handlers have left behind it as well. thread.c has the rare cases.
 */

static inline REC_INLINE uint64_t rec_stack_pointer(void)
{
	uint64_t sp;

	__asm__ volatile("movq %%rsp, %0" : "=r"(sp));
	return sp;
}

static inline REC_INLINE uint64_t rec_head(const struct rec_thread *t)
{
	return *(const volatile uint64_t *)&t->head;
}

static inline REC_INLINE uint64_t rec_published(const struct rec_thread *t)
{
	return atomic_load_explicit(&t->ring->head, memory_order_relaxed);
}

/* Room is known and no record is being written. (A wiped page has no room, and no ring to look into.) */
static inline REC_INLINE bool rec_simple(const struct rec_thread *t, uint64_t head, uint64_t bytes)
{
	return REC_LIKELY(head + bytes <= t->limit) && REC_LIKELY(head == rec_published(t));
}

/* False when a signal handler has taken the room meanwhile. */
static inline REC_INLINE bool rec_take(struct rec_thread *t, uint64_t head, uint64_t bytes)
{
	uint64_t next = head + bytes;
	bool ok;

	__asm__ volatile("cmpxchgq %3, %1" : "=@ccz"(ok), "+m"(t->head), "+a"(head) : "r"(next) : "memory");
	return ok;
}

static inline REC_INLINE void rec_note(struct rec_thread *t, uint64_t head, struct ring_record r)
{
	t->open = r;
	t->open_at = head;
	t->sp = rec_stack_pointer();
}

/* Room for one record, with its header; NULL when recording is over. Nothing is published yet. */
static inline REC_INLINE void *rec_reserve(struct rec_thread *t, struct ring_record r)
{
	uint64_t head = rec_head(t);
	struct ring_record *at = (struct ring_record *)(t->data + (head & t->mask));

	if (REC_UNLIKELY(!rec_simple(t, head, r.bytes)))
		return rec_reserve_slowly(t, r, 0);
	rec_note(t, head, r);
	if (REC_UNLIKELY(!rec_take(t, head, r.bytes)))
		return rec_reserve_slowly(t, r, 0);
	*at = r;
	return at;
}

static inline REC_INLINE void rec_commit(struct rec_thread *t, void *record)
{
	uint64_t head;

	if (REC_UNLIKELY(record != t->data + (rec_published(t) & t->mask))) {
		rec_commit_nested(record);
		return;
	}
	do {
		head = rec_head(t);
		atomic_store_explicit(&t->ring->head, head, memory_order_release);
	} while (REC_UNLIKELY(rec_head(t) > rec_published(t)));
}

/* The collector has read these lines since they were written last. Fetched for writing ahead of use they cost
 * nothing, when used they cost 15 ns a call. Written out, because compilers make a fetch for reading of
 * __builtin_prefetch unless told of a newer processor; where PREFETCHW is unknown it does nothing (Intel SDM
 * volume 2, PREFETCHW). */
#ifndef REC_AHEAD
#	define REC_AHEAD 256
#endif
static inline REC_INLINE void rec_fetch_ahead(const void *at)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
}

/* RING_CHANGING: makes the common counter begin unless somebody has. */
REC_HIDDEN void rec_numbers_begin(struct ring_session *s);

/* The number of a call that begins (ring.h says how they are given). One instruction, so that nothing that
 * interrupts the thread can come between. */
static inline REC_INLINE uint64_t rec_number(struct ring_session *s)
{
	uint32_t numbering = atomic_load_explicit(&s->numbering, memory_order_relaxed);
	uint64_t n = 1;

	if (REC_LIKELY(numbering == RING_ALONE)) {
		__asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(s->alone));
		return n + 1;
	}
	if (REC_UNLIKELY(numbering == RING_CHANGING))
		rec_numbers_begin(s);
	return 1 + atomic_fetch_add_explicit(&s->sequence, 1, memory_order_relaxed);
}

static inline REC_INLINE uint64_t *rec_enter(struct rec_frame *f, uint32_t func, uint32_t nargs)
{
	struct ring_record r = {.bytes = (uint32_t)sizeof(struct ring_enter) + 8 * nargs,
				.kind = RING_ENTER,
				.flags = (uint16_t)func};
	struct rec_thread *t = rec_self;
	struct ring_enter *e;
	uint64_t head = 0;

	f->func = func;
	if (REC_UNLIKELY(!t || (head = rec_head(t), !rec_simple(t, head, r.bytes))))
		return rec_enter_slowly(f, r);
	e = (struct ring_enter *)(t->data + (head & t->mask));
	rec_fetch_ahead((uint8_t *)e + REC_AHEAD);
	rec_fetch_ahead((uint8_t *)e + REC_AHEAD + 64);
	f->t = t;
	/* Taken after the room is had, so that a number is followed by its record within nanoseconds. */
	f->seq = rec_number(t->session);
	t->open_seq = f->seq;
	rec_note(t, head, r);
	if (REC_LIKELY(rec_take(t, head, r.bytes))) {
		e->r = r;
		e->seq = f->seq;
	} else if (!(e = rec_reserve_slowly(t, r, f->seq))) {
		return NULL;
	}
	f->record = e;
	f->outer = t->seq;
	t->seq = f->seq;
	e->tsc = rec_now();
	return e->args;
}

static inline REC_INLINE void rec_publish_enter(struct rec_frame *f)
{
	rec_commit(f->t, f->record);
}

/* A place for outs that nobody will read: recording ended while the call ran. */
extern REC_HIDDEN __thread uint64_t rec_scrap[REC_MAX_OUTS] __attribute__((tls_model("initial-exec")));

static inline REC_INLINE uint64_t *rec_leave(struct rec_frame *f, int64_t result, uint32_t nouts)
{
	struct rec_thread *t = f->t;
	struct ring_exit *e;

	t->seq = f->outer;
	e = f->record = rec_reserve(
		t, (struct ring_record){.bytes = (uint32_t)sizeof(*e) + 8 * nouts, .kind = RING_EXIT});
	if (REC_UNLIKELY(!e))
		return rec_scrap;
	e->seq_seen = ring_newest(t->session);
	e->tsc = rec_now();
	e->result = (int32_t)result;
	e->seq = (uint32_t)f->seq;
	return e->outs;
}

/* CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE fills its outs although it is an error. */
#define REC_RESULT_FILLS_OUTS 910

static inline REC_INLINE void rec_out(struct rec_frame *f, uint64_t *w, unsigned i, uint64_t pointer,
				      int bytes)
{
	struct ring_exit *e = f->record;

	w[i] = 0;
	if (REC_UNLIKELY(!e) || !pointer || (e->result != 0 && e->result != REC_RESULT_FILLS_OUTS))
		return;
	switch (bytes) {
	case 1: w[i] = *(const uint8_t *)(uintptr_t)pointer; break;
	case 2: w[i] = *(const uint16_t *)(uintptr_t)pointer; break;
	case 4: w[i] = *(const uint32_t *)(uintptr_t)pointer; break;
	case 8:
	case -8: w[i] = *(const uint64_t *)(uintptr_t)pointer; break;
	case -1: w[i] = (uint64_t)(int64_t) * (const int8_t *)(uintptr_t)pointer; break;
	case -2: w[i] = (uint64_t)(int64_t) * (const int16_t *)(uintptr_t)pointer; break;
	case -4: w[i] = (uint64_t)(int64_t) * (const int32_t *)(uintptr_t)pointer; break;
	default: return;
	}
	e->r.flags |= (uint16_t)(1u << i);
}

static inline REC_INLINE void rec_publish_exit(struct rec_frame *f)
{
	if (REC_LIKELY(f->record != NULL))
		rec_commit(f->t, f->record);
}

#endif
