/* SPDX-License-Identifier: Apache-2.0
 *
 * thread: one ring for each thread that calls the driver. A ring outlives its thread: the next new
 * thread takes it over. Everything here is off the hot path.
 */
#include "interpose/recorder.h"

#include <errno.h>
#include <linux/futex.h>
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
	t->limit = h->bytes;
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
	struct ring_thread *r = rec_reserve(t, sizeof(*r));

	if (!r)
		return;
	*r = (struct ring_thread){.r = {.bytes = sizeof(*r), .kind = RING_THREAD},
				  .tid = (uint64_t)syscall(SYS_gettid)};
	prctl(PR_GET_NAME, r->name);
	rec_commit(t, sizeof(*r));
}

static void thread_end(void *arg)
{
	struct rec_thread *t = arg;
	struct ring_record *r;

	if (!t->ring) /* a child's wiped page */
		return;
	r = rec_reserve(t, sizeof(*r));
	if (r) {
		*r = (struct ring_record){.bytes = sizeof(*r), .kind = RING_THREAD_END};
		rec_commit(t, sizeof(*r));
	}
	atomic_store_explicit(&t->ring->closed, 1, memory_order_release);
	rec_self = NULL;
	rec_returns_free();
	rec_lock(REC_LOCK_RINGS);
	t->next_free = free_rings;
	free_rings = t;
	rec_unlock(REC_LOCK_RINGS);
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

struct rec_thread *rec_thread_get(void)
{
	struct ring_session *s;
	struct rec_thread *t;
	int saved = errno;

	if (rec_self)
		return rec_self;
	if (rec_own_depth || !(s = rec_session()))
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
	errno = saved;
	return rec_self;
}

/* ---- waiting for room --------------------------------------------------------- */

static bool has_room(struct rec_thread *t, uint64_t bytes)
{
	t->limit = atomic_load_explicit(&t->ring->tail, memory_order_acquire) + t->mask + 1;
	return t->head + bytes <= t->limit;
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

/* False when the collector is gone: recording is over. */
static bool wait_room(struct rec_thread *t, uint64_t bytes)
{
	uint64_t begin = rec_clock();

	for (unsigned spins = 0; !has_room(t, bytes); spins++) {
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
	ok = t && (has_room(t, bytes) || wait_room(t, bytes));
	errno = saved;
	return ok ? t : NULL;
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
