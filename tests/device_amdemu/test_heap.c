/* SPDX-License-Identifier: Apache-2.0
 *
 * The heap of kernels, compiled for the host: what it gives is inside the arena, aligned, never given twice; all comes
 * back as one block; what isn't a block is refused; several threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the above */

#include <pthread.h>

#include "zluda_core/compiler/device_library/device_library.h"

enum { ARENA = 1 << 20, LIVE = 200, STEPS = 40000, THREADS = 4 };

struct world {
	struct lower_runtime r;
	struct lower_heap h;
	uint8_t *arena;
};

static void make(struct world *w, uint64_t bytes)
{
	memset(w, 0, sizeof(*w));
	w->arena = aligned_alloc(16, ARENA);
	assert_non_null(w->arena);
	w->h.address = (uint64_t)(uintptr_t)w->arena;
	w->h.bytes = bytes;
	w->r.heap = (uint64_t)(uintptr_t)&w->h;
}

/* What was given back is one block again: most of it can be had at once. */
static void check_whole(struct world *w)
{
	uint64_t all = w->h.bytes / 16 * 16 - 48, p;

	for (unsigned k = 0; k < 2; k++) {
		p = ct_malloc(&w->r, all / 4 * 3);
		assert_int_not_equal(p, 0);
		assert_int_equal(ct_free(&w->r, 1, p), 0);
	}
	assert_int_equal(ct_malloc(&w->r, all + 16), 0);
}

struct client {
	struct world *w;
	uint32_t seed, failed, wrong;
};

static uint32_t next(uint32_t *seed)
{
	return *seed = *seed * 1664525 + 1013904223;
}

struct live {
	uint64_t address;
	uint32_t bytes;
	uint8_t mark;
};

static void take(struct client *c, struct live *l)
{
	l->bytes = next(&c->seed) >> 20 & 63 ? next(&c->seed) >> 22 : next(&c->seed) >> 15;
	l->bytes += l->bytes == 0;
	l->mark = (uint8_t)(next(&c->seed) >> 24);
	l->address = ct_malloc(&c->w->r, l->bytes);
	if (!l->address) {
		c->failed++;
		return;
	}
	c->wrong += l->address % 16 != 0 || l->address < c->w->h.address ||
		    l->address + l->bytes > c->w->h.address + c->w->h.bytes;
	memset((void *)(uintptr_t)l->address, l->mark, l->bytes);
}

static void give(struct client *c, struct live *l)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)l->address;

	for (uint32_t k = 0; k < l->bytes; k++)
		c->wrong += p[k] != l->mark;
	c->wrong += ct_free(&c->w->r, 1, l->address) != 0;
	l->address = 0;
}

static void *client(void *arg)
{
	struct client *c = arg;
	struct live live[LIVE] = {0};

	for (unsigned k = 0; k < STEPS; k++) {
		struct live *l = &live[next(&c->seed) >> 8 & 0xffff ? (next(&c->seed) >> 10) % LIVE : 0];

		if (l->address)
			give(c, l);
		else
			take(c, l);
	}
	for (unsigned k = 0; k < LIVE; k++)
		if (live[k].address)
			give(c, &live[k]);
	return NULL;
}

static void one_client(void **state)
{
	static const uint64_t sizes[] = {ARENA, 100000, 4096 + 7, 64};
	struct world w;

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		make(&w, sizes[k]);
		struct client c = {&w, 12345 + k, 0, 0};

		client(&c);
		assert_int_equal(c.wrong, 0);
		assert_true(k == 0 || c.failed > 0); /* the small ones are full at times */
		if (sizes[k] > 1000)
			check_whole(&w);
		free(w.arena);
	}
}

static void many_clients(void **state)
{
	pthread_t threads[THREADS];
	struct client c[THREADS];
	struct world w;

	(void)state;
	make(&w, ARENA);
	for (unsigned k = 0; k < THREADS; k++) {
		c[k] = (struct client){&w, 77 * (k + 1), 0, 0};
		assert_int_equal(pthread_create(&threads[k], NULL, client, &c[k]), 0);
	}
	for (unsigned k = 0; k < THREADS; k++) {
		pthread_join(threads[k], NULL);
		assert_int_equal(c[k].wrong, 0);
	}
	check_whole(&w);
	free(w.arena);
}

static void refused(void **state)
{
	struct world w;
	uint64_t p;

	(void)state;
	make(&w, ARENA);
	assert_int_equal(ct_malloc(&w.r, 0), 0);
	assert_int_equal(ct_malloc(&w.r, ARENA), 0);
	assert_int_equal(ct_malloc(&w.r, UINT64_MAX), 0);
	assert_int_equal(ct_free(&w.r, 5, 0), 0);
	p = ct_malloc(&w.r, 100);
	const uint64_t wrong[] = {
		p + 16, p + 1, p - 16, w.h.address, w.h.address + 16, w.h.address + ARENA, 8, UINT64_MAX - 7};
	for (unsigned k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
		memset(&w.r.fault, 0, sizeof(w.r.fault));
		assert_int_not_equal(ct_free(&w.r, 5, wrong[k]), 0);
		assert_int_equal(w.r.fault.state, LOWER_FAULT_COMPLETE);
		assert_int_equal(w.r.fault.kind, LOWER_FAULT_FREE);
		assert_int_equal(w.r.fault.line, 5);
		assert_int_equal(w.r.fault.address, wrong[k]);
	}
	assert_int_equal(ct_free(&w.r, 6, p), 0);
	assert_int_not_equal(ct_free(&w.r, 6, p), 0); /* twice */
	w.r.heap = 0;
	assert_int_equal(ct_malloc(&w.r, 100), 0);
	assert_int_not_equal(ct_free(&w.r, 6, p), 0);
	free(w.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_client), cmocka_unit_test(many_clients),
					   cmocka_unit_test(refused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
