/* SPDX-License-Identifier: Apache-2.0
 * Buffers: sizes around chunk boundaries, pieces, sharing, compression, hashes. */
#include "scratch.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MIB ((size_t)1 << 20)

static const size_t sizes[] = {0,   1,       8,           4095,    4096,        4097,           MIB - 1,
			       MIB, MIB + 1, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 5 * MIB + 12345};
#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Half noise, half compressible, so that both codecs occur. */
static uint8_t *content(size_t n, uint64_t seed)
{
	uint8_t *p = malloc(n + 1);
	size_t i;

	assert_non_null(p);
	scratch_noise(p, n, seed);
	for (i = n / 2; i < n; i++)
		p[i] = (uint8_t)(i >> 12);
	return p;
}

static void check_hash(const struct trace_hash *h, const uint8_t *p, size_t n)
{
	XXH128_canonical_t want; /* the library's own one-shot function */

	XXH128_canonicalFromHash(&want, XXH3_128bits(p, n));
	assert_memory_equal(h->b, want.digest, 16);
}

static void append_in_pieces(struct trace_buffer_writer *b, const uint8_t *p, size_t n, size_t piece)
{
	size_t at;

	for (at = 0; at < n; at += piece)
		assert_int_equal(trace_buffer_append(b, p + at, n - at < piece ? n - at : piece), 0);
}

static void check_buffer(struct trace *t, uint64_t id, const uint8_t *p, size_t n)
{
	static const size_t at[] = {0, 1, 4095, MIB - 3, MIB, 2 * MIB - 1};
	uint8_t got[16];
	size_t i, bytes;
	uint8_t *all;

	assert_int_equal(trace_buffer_bytes(t, id), n);
	all = trace_buffer_load(t, id, &bytes, NULL);
	assert_non_null(all);
	assert_int_equal(bytes, n);
	assert_memory_equal(all, p, n);
	assert_int_equal(all[n], 0);
	free(all);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		int want = at[i] + sizeof(got) <= n ? 0 : CUTRACE_EINVAL;

		assert_int_equal(trace_buffer_read(t, id, at[i], got, sizeof(got), NULL), want);
		if (!want)
			assert_memory_equal(got, p + at[i], sizeof(got));
	}
	assert_int_equal(trace_buffer_read(t, id, n, got, 0, NULL), 0);
	assert_int_equal(trace_buffer_read(t, id, n + 1, got, 0, NULL), CUTRACE_EINVAL);
}

static void test_sizes(void **state)
{
	static const size_t pieces[] = {SIZE_MAX, 777777, MIB, 65536 + 1};
	uint64_t ids[NSIZES], again;
	struct trace_writer *w = scratch_writer("sizes");
	struct trace_hash h;
	struct trace *t;
	size_t i, k;

	(void)state;
	for (i = 0; i < NSIZES; i++) {
		uint8_t *p = content(sizes[i], i);

		for (k = 0; k < 4; k++) {
			struct trace_buffer_writer *b = trace_buffer_begin(w);

			append_in_pieces(b, p, sizes[i], pieces[k] > sizes[i] ? sizes[i] + 1 : pieces[k]);
			assert_int_equal(trace_buffer_end(b, &again, &h), 0);
			check_hash(&h, p, sizes[i]);
			if (k == 0)
				ids[i] = again;
			assert_int_equal(again, ids[i]); /* the same contents, however cut */
		}
		assert_int_equal(trace_writer_buffer(w, p, sizes[i], &again), 0);
		assert_int_equal(again, ids[i]);
		free(p);
	}
	scratch_close(w);
	t = scratch_open("sizes");
	for (i = 0; i < NSIZES; i++) {
		uint8_t *p = content(sizes[i], i);

		check_buffer(t, ids[i], p, sizes[i]);
		free(p);
	}
	assert_int_equal(trace_check(t, NULL, NULL, NULL), 0);
	assert_int_equal(trace_buffer_bytes(t, 999), -1);
	trace_close(t);
	/* everything is in the file, and both codecs were used */
	assert_int_equal(scratch_query(scratch_path("sizes"), "SELECT count(*) FROM chunk WHERE codec=2"), 0);
	assert_true(scratch_query(scratch_path("sizes"), "SELECT count(*) FROM chunk WHERE codec=1") > 0);
	assert_true(scratch_query(scratch_path("sizes"),
				  "SELECT count(*) FROM chunk WHERE codec=0 AND bytes>8192") > 0);
}

static void test_sharing(void **state)
{
	struct trace_writer *w = scratch_writer("sharing");
	uint8_t *p = malloc(4 * MIB), *zeros = calloc(8, MIB);
	uint64_t a, b, c, d;

	(void)state;
	assert_non_null(p);
	assert_non_null(zeros);
	scratch_noise(p, 4 * MIB, 1);
	assert_int_equal(trace_writer_buffer(w, p, 4 * MIB, &a), 0);
	p[3 * MIB + 5] ^= 1; /* only the last chunk differs */
	assert_int_equal(trace_writer_buffer(w, p, 4 * MIB, &b), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(trace_writer_buffer(w, zeros, 8 * MIB, &c), 0);
	assert_int_equal(trace_writer_buffer(w, zeros, MIB, &d), 0); /* one chunk of the others */
	scratch_close(w);
	assert_int_equal(scratch_query(scratch_path("sharing"), "SELECT count(*) FROM chunk"), 4 + 1 + 1);
	assert_int_equal(scratch_query(scratch_path("sharing"), "SELECT count(*) FROM buffer_chunk"),
			 4 + 4 + 8 + 1);
	free(p);
	free(zeros);
}

/* More different buffers than the cache in front of the index holds: still each stored once. */
static void test_sharing_beyond_cache(void **state)
{
	struct trace_writer *w = scratch_writer("many");
	uint64_t id, again;
	uint32_t i;

	(void)state;
	for (i = 0; i < 100000; i++)
		assert_int_equal(trace_writer_buffer(w, &i, sizeof(i), &id), 0);
	for (i = 0; i < 100000; i += 97) {
		assert_int_equal(trace_writer_buffer(w, &i, sizeof(i), &again), 0);
		assert_int_equal(again, i + 1);
	}
	scratch_close(w);
	assert_int_equal(scratch_query(scratch_path("many"), "SELECT count(*) FROM chunk"), 100000);
}

static void test_interleaved(void **state)
{
	struct trace_writer *w = scratch_writer("interleaved");
	struct trace_buffer_writer *b[3];
	uint8_t *p[3];
	uint64_t id[3];
	struct trace *t;
	size_t at, k;

	(void)state;
	for (k = 0; k < 3; k++) {
		p[k] = content(3 * MIB, 10 + k);
		b[k] = trace_buffer_begin(w);
	}
	for (at = 0; at < 3 * MIB; at += MIB / 4)
		for (k = 0; k < 3; k++)
			assert_int_equal(trace_buffer_append(b[k], p[k] + at, MIB / 4), 0);
	trace_buffer_abort(b[1]);
	assert_int_equal(trace_buffer_end(b[0], &id[0], NULL), 0);
	assert_int_equal(trace_buffer_end(b[2], &id[2], NULL), 0);
	scratch_close(w);
	t = scratch_open("interleaved");
	check_buffer(t, id[0], p[0], 3 * MIB);
	check_buffer(t, id[2], p[2], 3 * MIB);
	trace_close(t);
	for (k = 0; k < 3; k++)
		free(p[k]);
}

/* A damaged chunk is noticed, whichever way it is damaged, and named. */
static void test_damage(void **state)
{
	static const struct {
		const char *sql, *says;
	} cases[] = {
		{"UPDATE chunk SET data=zeroblob(length(data)) WHERE id=1", "hash"},
		{"UPDATE chunk SET data=zeroblob(3) WHERE id=1", "length"},
		{"UPDATE chunk SET data=zeroblob(length(data)) WHERE codec=1", "chunk"},
		{"UPDATE chunk SET bytes=bytes-1 WHERE id=2", "chunk"},
		{"UPDATE chunk SET bytes=1<<40 WHERE id=2", "length"},
		{"UPDATE chunk SET codec=9 WHERE id=1", "codec"},
		{"UPDATE chunk SET codec=2, log_offset=16 WHERE id=1", "payload log"},
		{"DELETE FROM chunk WHERE id=2", "chunk"},
		{"DELETE FROM buffer_chunk WHERE idx=1", "missing"},
		{"UPDATE buffer SET hash=zeroblob(16)", "buffer"},
		{"UPDATE buffer SET bytes=bytes-1", "buffer"},
	};
	struct trace_writer *w = scratch_writer("good");
	uint8_t *p = content(2 * MIB + 100, 3);
	uint64_t id;
	size_t i;

	(void)state;
	assert_int_equal(trace_writer_buffer(w, p, 2 * MIB + 100, &id), 0);
	scratch_close(w);
	free(p);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct diag d = DIAG_INIT;
		struct trace *t;
		size_t n;

		scratch_copy("good", "bad");
		scratch_change(scratch_path("bad"), cases[i].sql);
		t = scratch_open("bad");
		assert_null(trace_buffer_load(t, id, &n, &d));
		if (d.code != CUTRACE_ECORRUPT || !strstr(d.what, cases[i].says))
			fail_msg("%s: %s", cases[i].sql, d.what);
		assert_int_equal(trace_check(t, NULL, NULL, &d), CUTRACE_ECORRUPT);
		trace_close(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_sharing_beyond_cache),
		cmocka_unit_test(test_interleaved),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
