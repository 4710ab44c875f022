/* SPDX-License-Identifier: Apache-2.0
 *
 * thread: one ring for each thread that calls the driver. A ring outlives its thread: the next new
 * thread takes it over. Everything here is off the hot path.
 */
#include "interpose/recorder.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__thread struct rec_thread *rec_self __attribute__((tls_model("initial-exec")));
__thread uint64_t rec_scrap[REC_MAX_OUTS] __attribute__((tls_model("initial-exec")));
__thread unsigned rec_own_depth __attribute__((tls_model("initial-exec")));
__thread struct rec_thread *rec_aside __attribute__((tls_model("initial-exec")));

static struct rec_thread *free_rings;
static pthread_key_t end_key;
static bool have_key;

#define SPINS        2000 /* a few microseconds: the collector polls every few hundred while anything comes */
#define NAP_NS       10000000
#define THREAD_BYTES 4096

/* ---- records that a signal interrupted --------------------------------------------- */

/* The kernel puts at least 1080 bytes between a function and the handler that interrupts it: what the red zone,
 * siginfo, ucontext and FXSAVE take (x86-64 psABI 3.2.2, rt_sigframe). */
#define SIGNAL_FRAME_BYTES 1024u
/* Stack pointers that are farther apart are on different stacks. */
#define STACK_BYTES (64u << 20)

static bool within(uint64_t sp, const stack_t *s)
{
	return sp - (uintptr_t)s->ss_sp <= s->ss_size;
}

/* Something is taken and not published: has its writer been left by siglongjmp, or is it waiting for this
 * handler to return? */
static bool is_abandoned(const struct rec_thread *t)
{
	uint64_t now = rec_stack_pointer();
	stack_t alternate;

	if (sigaltstack(NULL, &alternate) == 0 && alternate.ss_size) {
		bool was_there = within(t->sp, &alternate), is_there = alternate.ss_flags & SS_ONSTACK;

		if (was_there != is_there)
			return was_there;
	}
	return now + SIGNAL_FRAME_BYTES > t->sp && now < t->sp + STACK_BYTES;
}

/* Returns the bytes of the record at `at`, which is marked unless it is whole. */
static uint32_t next_abandoned(const struct rec_thread *t, uint64_t at)
{
	struct ring_record *r = (struct ring_record *)(t->data + (at & t->mask));

	if (at == t->open_at) { /* perhaps not even begun */
		*r = t->open;
		if (r->kind == RING_ENTER)
			((struct ring_enter *)r)->seq = t->open_seq;
	}
	if (!(r->kind & RING_NESTED)) {
		r->flags = r->kind & RING_KIND_MASK;
		r->kind = RING_ABANDONED | RING_NESTED;
	}
	return r->bytes;
}

/* Publishes what is whole. */
static void end_abandoned(struct rec_thread *t)
{
	uint64_t at, head;

	rec_signals_block();
	at = rec_published(t);
	head = rec_head(t);
	while (at < head)
		at += next_abandoned(t, at);
	atomic_store_explicit(&t->ring->head, head, memory_order_release);
	rec_signals_restore();
}

/* ---- rings ----------------------------------------------------------------- */

/* Header page, then the data twice in a row: a record that crosses the end continues in the second view. */
static struct ring_header *map_ring(int memfd, uint64_t bytes)
{
	uint8_t *p = mmap(NULL, RING_DATA_OFFSET + 2 * bytes, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int prot = PROT_READ | PROT_WRITE;

	if (p == MAP_FAILED)
		return NULL;
	/* Touched now: a page fault costs as much as twenty records. */
	if (mmap(p, RING_DATA_OFFSET + bytes, prot, MAP_SHARED | MAP_FIXED | MAP_POPULATE, memfd, 0) !=
		    MAP_FAILED &&
	    mmap(p + RING_DATA_OFFSET + bytes, bytes, prot, MAP_SHARED | MAP_FIXED, memfd,
		 RING_DATA_OFFSET) != MAP_FAILED)
		return (struct ring_header *)p;
	munmap(p, RING_DATA_OFFSET + 2 * bytes);
	return NULL;
}

/* A file that grows beyond the limit brings SIGXFSZ upon the program (setrlimit(2)), memory files included.
 */
static bool file_size_allowed(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

static struct ring_header *make_ring(uint64_t bytes)
{
	int memfd = file_size_allowed(RING_DATA_OFFSET + bytes)
			    ? old_memfd_create("cutrace-ring", MFD_CLOEXEC)
			    : -1;
	struct ring_header *h = NULL;

	if (memfd < 0)
		return NULL;
	if (ftruncate(memfd, (off_t)(RING_DATA_OFFSET + bytes)) == 0)
		h = map_ring(memfd, bytes);
	if (h) {
		h->magic = RING_MAGIC;
		h->version = RING_VERSION;
		h->pid = (uint32_t)getpid();
		h->tid = (uint32_t)syscall(SYS_gettid);
		h->bytes = bytes;
		if (!rec_announce_ring(memfd)) {
			munmap(h, RING_DATA_OFFSET + 2 * bytes);
			h = NULL;
		}
	}
	close(memfd);
	return h;
}

static struct rec_thread *new_thread(struct ring_session *s)
{
	struct rec_thread *t = rec_pages(THREAD_BYTES);
	struct ring_header *h;

	if (!t)
		return NULL;
	/* A child that was forked without our knowledge finds zeros here, hence no room, hence rec_make_room.
	 */
	madvise(t, THREAD_BYTES, MADV_WIPEONFORK);
	h = make_ring(s->ring_bytes);
	if (!h) {
		rec_pages_free(t, THREAD_BYTES);
		return NULL;
	}
	t->ring = h;
	t->session = s;
	t->data = (uint8_t *)h + RING_DATA_OFFSET;
	t->mask = h->bytes - 1;
	t->limit = rec_ranged ? 0 : h->bytes;
	return t;
}

static struct rec_thread *take_free_ring(void)
{
	struct rec_thread *t;

	rec_lock(REC_LOCK_RINGS);
	t = free_rings;
	if (t)
		free_rings = t->next_free;
	rec_unlock(REC_LOCK_RINGS);
	return t;
}

static void say_thread(struct rec_thread *t)
{
	struct ring_thread *r =
		rec_reserve(t, (struct ring_record){.bytes = sizeof(*r), .kind = RING_THREAD});

	if (!r)
		return;
	r->tid = (uint64_t)syscall(SYS_gettid);
	memset(r->name, 0, sizeof(r->name));
	prctl(PR_GET_NAME, r->name);
	rec_commit(t, r);
}

static void thread_end(void *arg)
{
	struct rec_thread *t = arg;
	struct ring_record *r;

	if (!t->ring) /* a child's wiped page */
		return;
	rec_signals_block();
	if (rec_head(t) != rec_published(t)) /* it ended in a handler */
		end_abandoned(t);
	r = rec_reserve(t, (struct ring_record){.bytes = sizeof(*r), .kind = RING_THREAD_END});
	if (r)
		rec_commit(t, r);
	atomic_store_explicit(&t->ring->closed, 1, memory_order_release);
	rec_self = NULL;
	rec_returns_free();
	rec_lock(REC_LOCK_RINGS);
	t->next_free = free_rings;
	free_rings = t;
	rec_unlock(REC_LOCK_RINGS);
	rec_signals_restore();
}

__attribute__((constructor)) static void thread_init(void)
{
	have_key = pthread_key_create(&end_key, thread_end) == 0;
}

void rec_threads_forget(void)
{
	if (have_key)
		pthread_setspecific(end_key, NULL);
	rec_self = NULL;
	free_rings = NULL;
}

static struct rec_thread *start_thread(void)
{
	struct ring_session *s;
	struct rec_thread *t;

	if (rec_self) /* by a signal handler just now */
		return rec_self;
	s = rec_session();
	if (!s)
		return NULL;
	/* What is below calls nothing of the driver, but the allocator hooks of some programs do. */
	rec_own_depth++;
	t = take_free_ring();
	if (!t)
		t = new_thread(s);
	rec_own_depth--;
	if (t) {
		atomic_store_explicit(&t->ring->closed, 0, memory_order_relaxed);
		rec_self = t;
		say_thread(t);
		if (have_key)
			pthread_setspecific(end_key, t);
	} else {
		rec_say("a thread could not be given a ring (limits on files or memory): "
			"the process is not recorded from here on");
		rec_stop();
	}
	return rec_self;
}

struct rec_thread *rec_thread_get(void)
{
	struct rec_thread *t;
	int saved = errno;

	if (rec_self)
		return rec_self;
	if (rec_own_depth || rec_off)
		return NULL;
	rec_signals_block();
	t = start_thread();
	rec_signals_restore();
	errno = saved;
	return t;
}

/* What a handler did before it left by siglongjmp, and nothing was called since. */
__attribute__((destructor)) static void program_end(void)
{
	struct rec_thread *t = rec_self;

	if (t && t->ring && rec_head(t) != rec_published(t) && is_abandoned(t))
		end_abandoned(t);
}

/* ---- waiting for room --------------------------------------------------------- */

static bool has_room(struct rec_thread *t, uint64_t bytes)
{
	t->limit = atomic_load_explicit(&t->ring->tail, memory_order_acquire) + t->mask + 1;
	return rec_head(t) + bytes <= t->limit;
}

static void nap(struct ring_header *h)
{
	struct timespec timeout = {0, NAP_NS};

	atomic_store(&h->producer_waits, 1);
	/* The collector moves the tail, then looks at the flag: one of the two sees the other. */
	if (atomic_load(&h->tail) + h->bytes - atomic_load(&h->head) < h->bytes / 2)
		syscall(SYS_futex, &h->producer_waits, FUTEX_WAIT, 1, &timeout, NULL, 0);
	atomic_store(&h->producer_waits, 0);
}

/* A signal handler has filled the ring behind the record that it interrupted: nothing can be published before
 * it returns. */
static bool room_never_comes(const struct rec_thread *t, uint64_t bytes)
{
	return rec_head(t) + bytes > rec_published(t) + t->mask + 1;
}

/* False when the collector is gone: recording is over. */
static bool wait_room(struct rec_thread *t, uint64_t bytes)
{
	uint64_t begin = rec_clock();

	for (unsigned spins = 0; !has_room(t, bytes); spins++) {
		if (room_never_comes(t, bytes)) {
			t->ring->lost++;
			t->seq = 0; /* to hooks it looks unrecorded */
			return false;
		}
		if (spins < SPINS) {
			_mm_pause();
			continue;
		}
		if (!rec_collector_lives()) {
			rec_stop();
			rec_self = NULL;
			return false;
		}
		nap(t->ring);
	}
	t->ring->waits++;
	t->ring->waited_ns += rec_clock() - begin;
	return true;
}

struct rec_thread *rec_make_room(uint64_t bytes)
{
	struct rec_thread *t = rec_self;
	int saved;
	bool ok;

	if (REC_LIKELY(rec_off)) {
		rec_self = NULL;
		return NULL;
	}
	saved = errno;

	if (t && !t->ring) /* wiped by a fork */
		rec_threads_forget();
	t = rec_thread_get();
	if (t && rec_head(t) != rec_published(t) && is_abandoned(t))
		end_abandoned(t);
	ok = t && (has_room(t, bytes) || wait_room(t, bytes));
	errno = saved;
	return ok ? t : NULL;
}

/* With signals blocked. Behind a record that is being written the header says which state this one is in. */
static void *take_slowly(struct rec_thread *t, struct ring_record r, uint64_t seq)
{
	uint64_t head = rec_head(t);
	struct ring_record *at = (struct ring_record *)(t->data + (head & t->mask));

	if (head + r.bytes > t->limit) /* a handler has taken the room that there was */
		return NULL;
	if (head != rec_published(t)) {
		r.kind |= RING_NESTED_OPEN;
	} else {
		t->open_seq = seq;
		rec_note(t, head, r);
	}
	*at = r;
	if (seq)
		((struct ring_enter *)at)->seq = seq;
	return rec_take(t, head, r.bytes) ? at : NULL;
}

void *rec_reserve_slowly(struct rec_thread *t, struct ring_record r, uint64_t seq)
{
	void *at;

	do {
		if (rec_make_room(r.bytes) != t)
			return NULL;
		rec_signals_block();
		at = take_slowly(t, r, seq);
		rec_signals_restore();
	} while (!at);
	if (rec_ranged)
		t->limit = 0;
	return at;
}

uint64_t *rec_enter_slowly(struct rec_frame *f, struct ring_record r)
{
	struct rec_thread *t;
	struct ring_enter *e;

	if (rec_ranged && rec_range_omits(r.flags))
		return NULL;
	t = rec_make_room(r.bytes);
	if (!t)
		return NULL;
	f->t = t;
	f->seq = rec_number(t->session);
	f->record = e = rec_reserve_slowly(t, r, f->seq);
	if (!e)
		return NULL;
	f->outer = t->seq;
	t->seq = f->seq;
	e->tsc = rec_now();
	return e->args;
}

void rec_commit_nested(void *record)
{
	struct ring_record *r = record;

	atomic_signal_fence(memory_order_seq_cst);
	*(volatile uint16_t *)&r->kind = (uint16_t)((r->kind & RING_KIND_MASK) | RING_NESTED);
}

/* ---- numbers ---------------------------------------------------------------------- */

void rec_numbers_begin(struct ring_session *s)
{
	uint64_t none = 0;

	/* Ours do not change any more: this thread has seen that it is not alone. */
	atomic_compare_exchange_strong(&s->sequence, &none, atomic_load(&s->alone) + 1);
}

/* ---- own calls ------------------------------------------------------------------- */

/* What the driver says during a call of the recorder's own concerns the program all the same. */
void rec_driver_says(uint64_t call, const char *line)
{
	unsigned depth = rec_own_depth;

	rec_own_depth = 0;
	if (depth)
		rec_self = rec_aside;
	if (!strncmp(line, "cutrace: ", 9))
		line += 9;
	rec_diag(RING_DIAG_DRIVER | 1, call ? call : rec_current(), line);
	rec_own_depth = depth;
	if (depth)
		rec_self = NULL;
}
