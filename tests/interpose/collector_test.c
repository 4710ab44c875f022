/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector's parts without processes: order of events, handles over time, and rings that make no sense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose/collector/internal.h"

/* ---- handles ------------------------------------------------------------------- */

static void test_object_versions(void **state)
{
	struct object_map m = {0};
	struct version *first, *second;

	(void)state;
	first = object_add(&m, OBJECT_MODULE, 0x10, 5);
	assert_ptr_equal(object_at(&m, OBJECT_MODULE, 0x10, 5), first);
	assert_null(object_at(&m, OBJECT_MODULE, 0x10, 4));
	assert_null(object_at(&m, OBJECT_KERNEL, 0x10, 6));
	first->destroyed = 9;
	assert_ptr_equal(object_at(&m, OBJECT_MODULE, 0x10, 8), first);
	assert_null(object_at(&m, OBJECT_MODULE, 0x10, 9));
	/* the handle again, for something else; what was meant before is still known */
	second = object_add(&m, OBJECT_MODULE, 0x10, 11);
	assert_ptr_equal(object_at(&m, OBJECT_MODULE, 0x10, 8), first);
	assert_null(object_at(&m, OBJECT_MODULE, 0x10, 10));
	assert_ptr_equal(object_at(&m, OBJECT_MODULE, 0x10, 11), second);
	object_map_free(&m);
}

static void count(void *ctx, uint64_t handle, struct version *v)
{
	(void)handle;
	(void)v;
	++*(int *)ctx;
}

static void test_object_ranges(void **state)
{
	struct object_map m = {0};
	int n = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		object_add(&m, OBJECT_ALLOCATION, 0x1000 * i, 1);
	object_at(&m, OBJECT_ALLOCATION, 0x5000, 2)->destroyed = 3;
	object_each(&m, OBJECT_ALLOCATION, 0x3000, 0x8000, 10, count, &n);
	assert_int_equal(n, 4);
	object_map_free(&m);
}

/* ---- order of events --------------------------------------------------------------- */

static uint64_t ran[64];
static unsigned nran;

static void note(struct collector *c, struct event *e)
{
	(void)c;
	ran[nran++] = e->key;
}

static struct collector *new_collector(void)
{
	struct collector *c = calloc(1, sizeof(*c));
	static struct ring_session session;

	memset(&session, 0, sizeof(session));
	atomic_store(&session.numbering, RING_SHARED);
	c->session = &session;
	c->function_rows = calloc(api_nfuncs, sizeof(*c->function_rows));
	nran = 0;
	return c;
}

static void free_collector(struct collector *c)
{
	events_run(c, UINT64_MAX);
	free(c->heap);
	free(c->seen);
	free(c->function_rows);
	free(c);
}

static void add_event(struct collector *c, uint64_t key)
{
	struct event e = {.key = key, .run = note};

	assert_true(event_add(c, &e));
}

/* Nothing runs before every number up to its own was seen, and one round more has passed. */
static void test_events_wait(void **state)
{
	struct collector *c = new_collector();

	(void)state;
	atomic_store(&c->session->sequence, 4);
	events_entered(c, 1);
	events_round(c);
	assert_int_equal(c->settled, 1);
	events_entered(c, 3);
	add_event(c, 2 * 3); /* entered third */
	events_round(c);
	events_round(c);
	assert_int_equal(nran, 0); /* number 2 is missing */
	events_entered(c, 2);
	add_event(c, 2 * 1 + 1); /* what the third needs: exit that had seen number 1 */
	events_round(c);
	/* The exit is settled; for the third call a ring read earlier in this round may hold a cause. */
	assert_int_equal(nran, 1);
	assert_int_equal(ran[0], 3);
	events_round(c);
	assert_int_equal(nran, 2);
	assert_int_equal(ran[1], 6);
	free_collector(c);
}

static void test_events_in_order_of_key(void **state)
{
	struct collector *c = new_collector();
	static const uint64_t keys[] = {9, 3, 27, 4, 4, 1, 81, 2};

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		add_event(c, keys[i]);
	events_run(c, 27);
	assert_int_equal(nran, 7);
	for (unsigned i = 1; i < nran; i++)
		assert_true(ran[i - 1] <= ran[i]);
	free_collector(c);
}

/* The number that is left free when the second ring comes is not waited for. */
static void test_numbers_shared(void **state)
{
	struct collector *c = new_collector();
	struct ring_session *s = c->session;

	(void)state;
	atomic_store(&s->numbering, RING_ALONE);
	atomic_store(&s->alone, 41);
	assert_int_equal(ring_newest(s), 41);
	session_share_numbers(c);
	assert_int_equal(atomic_load(&s->numbering), RING_SHARED);
	assert_int_equal(c->unused_number, 42);
	assert_int_equal(ring_newest(s), 42);
	/* once */
	atomic_store(&s->sequence, 50);
	session_share_numbers(c);
	assert_int_equal(c->unused_number, 42);
	assert_int_equal(ring_newest(s), 50);
	free_collector(c);
}

/* ---- rings that make no sense ---------------------------------------------------------- */

#define RING_BYTES 65536

struct bench {
	struct collector *c;
	struct process process;
	struct ring *ring;
	uint8_t *data;
};

static void setup(struct bench *b)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct ring_header *h;

	memset(b, 0, sizeof(*b));
	assert_int_equal(ftruncate(fd, RING_DATA_OFFSET + RING_BYTES), 0);
	h = mmap(NULL, RING_DATA_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	h->magic = RING_MAGIC;
	h->version = RING_VERSION;
	h->bytes = RING_BYTES;
	b->c = new_collector();
	b->ring = ring_map(fd, &b->process);
	assert_non_null(b->ring);
	b->c->rings = b->ring;
	munmap(h, RING_DATA_OFFSET);
	b->data = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, RING_DATA_OFFSET);
	close(fd);
}

static void teardown(struct bench *b)
{
	ring_free(b->ring);
	munmap(b->data, RING_BYTES);
	for (unsigned i = 0; i < b->process.nfunctions; i++)
		free(b->process.functions[i].name);
	free(b->process.functions);
	free_collector(b->c);
}

static void put(struct bench *b, const void *record, size_t bytes, size_t published)
{
	memcpy(b->data + (b->ring->header->head & (RING_BYTES - 1)), record, bytes);
	atomic_fetch_add(&b->ring->header->head, published);
}

static void put_thread(struct bench *b)
{
	struct ring_thread t = {.r = {.bytes = sizeof(t), .kind = RING_THREAD}, .tid = 1, .name = "test"};

	put(b, &t, sizeof(t), sizeof(t));
}

/* A sound ring first, so that the tests below could fail. */
static void test_ring_sound(void **state)
{
	struct bench b;
	struct {
		struct ring_enter e;
		uint64_t arg;
	} in = {{.r = {.bytes = sizeof(in), .kind = RING_ENTER, .flags = 0}, .seq = 1}, 7};
	struct ring_exit out = {
		.r = {.bytes = sizeof(out), .kind = RING_EXIT}, .seq_seen = 1, .result = 5, .seq = 1};

	(void)state;
	setup(&b);
	put_thread(&b);
	put(&b, &in, sizeof(in), sizeof(in));
	put(&b, &out, sizeof(out), sizeof(out));
	assert_int_equal(drain_all(b.c), sizeof(struct ring_thread) + sizeof(in) + sizeof(out));
	assert_false(b.ring->broken);
	assert_int_equal(b.c->calls, 1);
	assert_int_equal(atomic_load(&b.ring->header->tail), atomic_load(&b.ring->header->head));
	teardown(&b);
}

static void check_broken(const void *record, size_t bytes, size_t published)
{
	struct bench b;

	setup(&b);
	put_thread(&b);
	put(&b, record, bytes, published);
	drain_all(b.c);
	assert_true(b.ring->broken);
	assert_int_equal(b.c->refused, 1); /* the summary of the recording says so */
	/* the producer must not wait for ever */
	assert_int_equal(atomic_load(&b.ring->header->tail), atomic_load(&b.ring->header->head));
	teardown(&b);
}

static void test_ring_broken(void **state)
{
	static const struct {
		struct ring_record r;
		uint64_t words[8];
		size_t published;
	} cases[] = {
		{{.bytes = 0, .kind = RING_ENTER}, {0}, 64},         /* would not get on */
		{{.bytes = 12, .kind = RING_ENTER}, {0}, 64},        /* not a multiple of 8 */
		{{.bytes = 1 << 20, .kind = RING_PAYLOAD}, {0}, 64}, /* more than is published */
		{{.bytes = 64, .kind = 999}, {0}, 64},               /* no such kind */
		{{.bytes = 16, .kind = RING_ENTER}, {0}, 16},        /* too short for what it is */
		{{.bytes = 16, .kind = RING_EXIT}, {0}, 16},
		{{.bytes = 32, .kind = RING_EXIT}, {0}, 32}, /* of no call */
		{{.bytes = 16, .kind = RING_HASH}, {0}, 16},
		{{.bytes = 24, .kind = RING_DIAG}, {1, ~0ull}, 24}, /* text without an end */
		{{.bytes = 24, .kind = RING_FUNCTION}, {1, ~0ull}, 24},
		{{.bytes = 32, .kind = RING_MEMORY, .flags = 0}, {9}, 32}, /* of no call */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_broken(&cases[i], sizeof(cases[i].r) + sizeof(cases[i].words), cases[i].published);
}

/* A payload that says it has more bytes than its record. */
static void test_ring_payload_too_long(void **state)
{
	struct ring_payload p = {.r = {.bytes = sizeof(p), .kind = RING_PAYLOAD, .flags = 3},
				 .data_bytes = 1 << 30};

	(void)state;
	check_broken(&p, sizeof(p), sizeof(p));
}

/* The pieces of one payload that lie in the rings of several threads may be read in any order. */
static void test_payload_pieces_in_any_order(void **state)
{
	enum { PIECE = 1000, PIECES = 6 };
	static const unsigned orders[][PIECES] = {
		{0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {3, 0, 5, 1, 4, 2}, {1, 2, 3, 4, 5, 0}};
	char path[] = "/tmp/cutrace-pieces-XXXXXX", expected[PIECE * PIECES], got[PIECE * PIECES];
	struct {
		struct ring_payload p;
		uint8_t data[PIECE];
	} piece = {.p = {.r = {.bytes = sizeof(piece), .kind = RING_PAYLOAD, .flags = RING_PAYLOAD_STAGED},
			 .kind = RING_D2H,
			 .total = sizeof(expected),
			 .width = sizeof(expected),
			 .height = 1,
			 .depth = 1,
			 .data_bytes = PIECE}};
	const struct trace_payload *row;
	struct trace *t;
	struct bench b;
	unsigned n;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	setup(&b);
	assert_int_equal(trace_writer_open(&b.c->w, path, NULL), 0);
	for (size_t i = 0; i < sizeof(expected); i++)
		expected[i] = (char)(i * 7 + i / PIECE);
	for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++) {
		piece.p.seq = piece.p.id = o + 1;
		for (unsigned i = 0; i < PIECES; i++) {
			unsigned k = orders[o][i];

			piece.p.offset = k * PIECE;
			piece.p.r.flags = RING_PAYLOAD_STAGED | (k == 0 ? RING_PAYLOAD_FIRST : 0) |
					  (k == PIECES - 1 ? RING_PAYLOAD_LAST : 0);
			memcpy(piece.data, expected + k * PIECE, PIECE);
			payload_piece(b.c, b.ring, &piece.p);
		}
	}
	assert_null(b.process.payloads);
	payloads_abort(b.c, &b.process);
	assert_int_equal(trace_writer_close(b.c->w, NULL), 0);
	b.c->w = NULL;
	teardown(&b);

	assert_int_equal(trace_open(&t, path, NULL), 0);
	for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++) {
		row = trace_payloads(t, o + 1, &n);
		assert_int_equal(n, 1);
		assert_string_equal(row->kind, "d2h");
		assert_int_equal(trace_buffer_bytes(t, row->buffer), sizeof(expected));
		assert_int_equal(trace_buffer_read(t, row->buffer, 0, got, sizeof(got), NULL), 0);
		assert_memory_equal(got, expected, sizeof(got));
	}
	trace_close(t);
	unlink(path);
}

/* Publishing more than the ring holds: the producer overran us. */
static void test_ring_overrun(void **state)
{
	uint64_t nothing = 0;

	(void)state;
	check_broken(&nothing, 8, RING_BYTES * 2);
}

static void test_memory_lookup(void **state)
{
	/* one block of 11 bytes at 0x1000, padded */
	struct {
		uint64_t address;
		uint32_t bytes, param;
		char data[16];
	} block = {0x1000, 11, 0, "hello"};
	struct bytes m = {(uint8_t *)&block, sizeof(block), sizeof(block)};

	(void)state;
	assert_string_equal(memory_string(&m, 0x1000), "hello");
	assert_string_equal(memory_string(&m, 0x1003), "lo");
	assert_null(memory_string(&m, 0x2000));
	assert_null(memory_string(&m, 0));
	assert_null(memory_find(&m, 0x1000, 12));
	assert_non_null(memory_find(&m, 0x1000, 11));
	block.bytes = 1000; /* says more than there is */
	assert_null(memory_find(&m, 0x1000, 11));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object_versions),
		cmocka_unit_test(test_object_ranges),
		cmocka_unit_test(test_events_wait),
		cmocka_unit_test(test_events_in_order_of_key),
		cmocka_unit_test(test_numbers_shared),
		cmocka_unit_test(test_ring_sound),
		cmocka_unit_test(test_ring_broken),
		cmocka_unit_test(test_ring_payload_too_long),
		cmocka_unit_test(test_payload_pieces_in_any_order),
		cmocka_unit_test(test_ring_overrun),
		cmocka_unit_test(test_memory_lookup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
