/* SPDX-License-Identifier: Apache-2.0
 *
 * layouts: where a kernel's parameters lie, asked once per function handle. Looked up without a lock;
 * entries are never freed, an unload or the end of a context makes all of them stale (handles are used
 * again), and one that turns out to hold still is used again, so that there are as many as there are
 * different ones.
 */
#include "interpose/recorder.h"

#define BUCKETS 4096u

struct entry {
	struct entry *_Atomic next;
	_Atomic uint64_t generation;
	struct rec_layout layout;
};

static struct entry *_Atomic buckets[BUCKETS];
static _Atomic uint64_t generation = 1;
static char *arena, *arena_end;

static void *arena_take(size_t bytes)
{
	char *p;

	bytes = (bytes + 15) & ~(size_t)15;
	rec_lock(REC_LOCK_LAYOUTS);
	if ((size_t)(arena_end - arena) < bytes) {
		arena = rec_pages(65536);
		arena_end = arena ? arena + 65536 : NULL;
	}
	p = arena;
	if (p)
		arena += bytes;
	rec_unlock(REC_LOCK_LAYOUTS);
	return p;
}

void rec_layouts_flush(void)
{
	atomic_fetch_add(&generation, 1);
}

uint64_t rec_layouts_generation(void)
{
	return atomic_load(&generation);
}

static struct entry *_Atomic *bucket_of(uint64_t function)
{
	return &buckets[(function * 0x9e3779b97f4a7c15ull) >> 52];
}

typedef CUresult param_info_fn(void *function, size_t index, size_t *offset, size_t *bytes);

/* Returns the number of parameters that the driver tells about, or -1 when it can't. */
static int ask_driver(param_info_fn *info, uint64_t function, size_t (*out)[2])
{
	int n;

	for (n = 0; n < REC_MAX_PARAMS; n++) {
		CUresult r = info((void *)(uintptr_t)function, (size_t)n, &out[n][0], &out[n][1]);

		if (r == CUDA_ERROR_INVALID_VALUE)
			return n; /* there is no parameter of that index */
		if (r != CUDA_SUCCESS || out[n][0] + out[n][1] > 32768)
			return -1;
	}
	return n;
}

static int driver_layout(uint64_t function, size_t (*out)[2])
{
	struct rec_thread *t = rec_own_begin();
	int n = -1;

	if (rec_driver_has(API_ID_cuFuncGetParamInfo))
		n = ask_driver((param_info_fn *)rec_true(API_ID_cuFuncGetParamInfo), function, out);
	/* A CUkernel passes for a CUfunction in launches, but not in every driver's query. */
	if (n <= 0 && rec_driver_has(API_ID_cuKernelGetParamInfo)) {
		int m = ask_driver((param_info_fn *)rec_true(API_ID_cuKernelGetParamInfo), function, out);

		n = m > n ? m : n;
	}
	rec_own_end(t);
	return n;
}

union scratch {
	struct rec_layout layout;
	char bytes[sizeof(struct rec_layout) + REC_MAX_PARAMS * 8];
};
_Static_assert(sizeof(((struct rec_layout *)0)->p[0]) <= 8, "a scratch holds all parameters");

static size_t layout_bytes(const struct rec_layout *l)
{
	return sizeof(*l) + l->nparams * sizeof(l->p[0]);
}

static void set_params(struct rec_layout *l, size_t (*at)[2])
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < l->nparams; i++) {
		l->p[i].offset = (uint16_t)at[i][0];
		l->p[i].bytes = (uint16_t)at[i][1];
		if (at[i][0] + at[i][1] > l->total)
			l->total = (uint32_t)(at[i][0] + at[i][1]);
		bytes += (uint32_t)at[i][1];
	}
	l->gaps = bytes != l->total;
	l->known = l->known && l->total <= REC_PARAM_BYTES_MAX;
}

static void set_access(struct rec_layout *l, const struct ring_params *answer)
{
	l->writes_known = answer->known && answer->nparams == l->nparams;
	l->writes_unknown = answer->writes_unknown;
	for (uint32_t i = 0; l->writes_known && i < l->nparams; i++) {
		l->p[i].is_pointer = answer->p[i].is_pointer;
		l->p[i].is_written = answer->p[i].is_written;
	}
}

static bool valid_answer(const struct ring_params *a)
{
	if (!a->known || a->nparams > REC_MAX_PARAMS)
		return false;
	for (uint32_t i = 0; i < a->nparams; i++)
		if (a->p[i].offset > 32768 || a->p[i].bytes > 32768)
			return false;
	return true;
}

/* Where a handle came from does not matter then: an enumeration, a graph, a private table. */
static void name_kernel(uint64_t function)
{
	void *f = (void *)(uintptr_t)function;
	const char *name = NULL;
	void *module = NULL;
	struct rec_thread *t = rec_own_begin();
	bool ok;

	ok = rec_driver_has(API_ID_cuFuncGetName) && rec_driver_has(API_ID_cuFuncGetModule) &&
	     REAL(cuFuncGetName)(&name, f) == CUDA_SUCCESS && name &&
	     REAL(cuFuncGetModule)((CUmodule *)&module, f) == CUDA_SUCCESS;
	if (!ok)
		ok = rec_driver_has(API_ID_cuKernelGetName) && rec_driver_has(API_ID_cuKernelGetLibrary) &&
		     REAL(cuKernelGetName)(&name, f) == CUDA_SUCCESS && name &&
		     REAL(cuKernelGetLibrary)((CUlibrary *)&module, f) == CUDA_SUCCESS;
	rec_own_end(t);
	if (ok)
		rec_kernel_record(function, (uintptr_t)module, name);
}

static void learn(uint64_t function, uint64_t seq, union scratch *to)
{
	size_t at[REC_MAX_PARAMS][2];
	int n = driver_layout(function, at);
	struct ring_params *answer = NULL;
	uint8_t checked = rec_checking ? RING_CHECKED : 0;

	name_kernel(function);
	if (n < 0 || rec_looking) {
		bool asked;

		answer = rec_pages(sizeof(*answer));
		asked = answer && rec_ask_params(function, seq, answer);
		if (asked)
			checked = (uint8_t)answer->checked;
		if (answer && (!asked || !valid_answer(answer))) {
			rec_pages_free(answer, sizeof(*answer));
			answer = NULL;
		}
	}
	if (n < 0 && answer) {
		n = (int)answer->nparams;
		for (int i = 0; i < n; i++) {
			at[i][0] = answer->p[i].offset;
			at[i][1] = answer->p[i].bytes;
		}
	}
	memset(to, 0, sizeof(*to));
	to->layout.function = function;
	to->layout.nparams = n > 0 ? (uint32_t)n : 0;
	to->layout.known = n >= 0;
	to->layout.checked = checked;
	set_params(&to->layout, at);
	if (answer)
		set_access(&to->layout, answer);
	rec_pages_free(answer, sizeof(*answer));
}

/* Nothing in it is written again: another thread may be reading. */
static struct entry *same_as(struct entry *e, const struct rec_layout *l)
{
	for (; e; e = atomic_load_explicit(&e->next, memory_order_relaxed))
		if (e->layout.function == l->function && e->layout.nparams == l->nparams &&
		    !memcmp(&e->layout, l, layout_bytes(l)))
			return e;
	return NULL;
}

static struct entry *publish(struct entry *_Atomic *bucket, const struct rec_layout *l, uint64_t now)
{
	struct entry *e = same_as(atomic_load_explicit(bucket, memory_order_acquire), l), *head;

	if (e) {
		atomic_store_explicit(&e->generation, now, memory_order_relaxed);
		return e;
	}
	e = arena_take(sizeof(*e) + layout_bytes(l) - sizeof(*l));
	if (!e)
		return NULL;
	memcpy(&e->layout, l, layout_bytes(l));
	atomic_init(&e->generation, now);
	head = atomic_load(bucket);
	do
		atomic_init(&e->next, head);
	while (!atomic_compare_exchange_weak(bucket, &head, e));
	return e;
}

static const struct rec_layout *learn_and_publish(struct entry *_Atomic *bucket, uint64_t function,
						  uint64_t seq, uint64_t now)
{
	union scratch found;
	struct entry *e;

	learn(function, seq, &found);
	e = publish(bucket, &found.layout, now);
	return e ? &e->layout : NULL;
}

const struct rec_layout *rec_layout(uint64_t function, uint64_t seq)
{
	uint64_t now = atomic_load_explicit(&generation, memory_order_relaxed);
	struct entry *_Atomic *bucket = bucket_of(function);
	struct entry *e = atomic_load_explicit(bucket, memory_order_acquire);

	for (; e; e = atomic_load_explicit(&e->next, memory_order_relaxed))
		if (e->layout.function == function &&
		    atomic_load_explicit(&e->generation, memory_order_relaxed) == now)
			return &e->layout;
	return learn_and_publish(bucket, function, seq, now);
}
