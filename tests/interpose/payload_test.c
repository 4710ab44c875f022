/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that a program moved, images that it loaded, kernels that it launched: what the trace has of them against the
 * program's own hashes.
 */
#include "recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- payloads ----------------------------------------------------------------------------- */

/* The program prints "NAME hash bytes" for what it moved. */
static void check_hash(struct trace *t, const char *line, const char *kind, int nth)
{
	char hash[40];
	long bytes;

	assert_int_equal(sscanf(line, "%*s %39s %ld", hash, &bytes), 2);
	assert_string_equal(query_text(t,
				       "SELECT lower(hex(b.hash)) || ' ' || b.bytes FROM payload p JOIN "
				       "buffer b ON b.id = buffer "
				       "WHERE kind = '%s' ORDER BY call LIMIT 1 OFFSET %d",
				       kind, nth),
			    (snprintf(trace, sizeof(trace), "%s %ld", hash, bytes), trace));
}

/* The staging buffer is overwritten right after each copy, and 3 MiB take several staging pieces. */
static void test_pinned(void **state)
{
	struct trace *t = recorded("pinned", NULL);
	const char *line = o.out;

	(void)state;
	for (int round = 0; round < 4; round++) {
		check_hash(t, line, "h2d", round);
		check_hash(t, line, "d2h", round);
		line = strchr(line, '\n') + 1;
	}
	/* the recorder's own calls are not in the trace */
	assert_int_equal(calls_of(t, "cuMemHostAlloc"), 2);
	assert_int_equal(calls_of(t, "cuLaunchHostFunc"), 0);
	assert_int_equal(calls_of(t, "cuPointerGetAttribute"), 0);
	trace_close(t);
}

/* Each copy has its bytes, in whichever order announcements and bytes were read. */
static void test_pinned_many(void **state)
{
	struct trace *t = recorded("pinned_many", NULL);

	(void)state;
	assert_int_equal(query(t, "SELECT count(*) FROM payload"), 3000);
	assert_int_equal(query(t, "SELECT count(*) FROM payload WHERE kind = 'h2d' AND buffer IS NOT NULL"),
			 3000);
	assert_int_equal(query(t, "SELECT count(DISTINCT buffer) FROM payload"), 3000);
	trace_close(t);
}

/* What a stream that faulted never came to is a row that says so. */
static void test_faulted_stream(void **state)
{
	struct trace *t = recorded("faulted", NULL);

	(void)state;
	assert_string_equal(o.out, "0 700\n");
	assert_string_equal(
		query_text(t, "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM payload ORDER BY "
			      "call)"),
		"d2h unavailable");
	assert_non_null(
		strstr(query_text(t, "SELECT note FROM payload WHERE kind = 'unavailable'"), "faulted"));
	assert_int_equal(query(t, "SELECT width FROM payload WHERE kind = 'unavailable'"), 4096);
	assert_int_equal(
		query(t, "SELECT f.name = 'cuMemcpyDtoHAsync_v2' FROM payload p JOIN call c ON c.id = p.call "
			 "JOIN function f ON f.id = c.func WHERE p.kind = 'unavailable'"),
		1);
	trace_close(t);
}

static void test_bad_pointers(void **state)
{
	struct trace *t = recorded("bad_pointers", NULL);

	(void)state;
	assert_exit(0);
	assert_string_equal(o.out, "0 0 0 0 1\n");
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 7);
	assert_int_equal(query(t, "SELECT count(*) FROM payload WHERE kind IN ('h2d', 'd2h')"), 0);
	trace_close(t);
}

static void test_capture(void **state)
{
	struct trace *t = recorded("capture", NULL);

	(void)state;
	assert_string_equal(query_text(t, "SELECT kind FROM payload"), "unavailable");
	assert_non_null(strstr(query_text(t, "SELECT note FROM payload"), "captured"));
	trace_close(t);
}

static void test_pitched(void **state)
{
	struct trace *t = recorded("pitched", NULL);

	(void)state;
	check_hash(t, o.out, "h2d", 0);
	assert_int_equal(query(t, "SELECT width * 1000 + height FROM payload"), 40016);
	trace_close(t);
}

static void test_large(void **state)
{
	struct trace *t = recorded("large", NULL);

	(void)state;
	check_hash(t, o.out, "h2d", 0);
	trace_close(t);
}

/* ---- launches --------------------------------------------------------------------------------- */

static void check_launches(struct trace *t, int64_t first_value)
{
	uint64_t block;
	uint8_t params[24];
	unsigned long long a, b;
	uint64_t got;
	uint32_t value;

	assert_int_equal(sscanf(strstr(o.out, "a 7"), "a %llx b %llx", &a, &b), 2);
	assert_int_equal(query(t, "SELECT count(*) FROM launch"), 2);
	assert_string_equal(query_text(t, "SELECT gx||','||gy||','||gz||' '||bx||','||by||','||bz||' "
					  "'||shared_bytes||' '||stream FROM "
					  "launch ORDER BY call"),
			    "2,3,4 5,6,7 128 20496");
	block = (uint64_t)query(t, "SELECT params FROM launch ORDER BY call");
	assert_int_equal(trace_buffer_bytes(t, block), 24);
	assert_int_equal(trace_buffer_read(t, block, 0, params, sizeof(params), NULL), 0);
	memcpy(&got, params, 8);
	assert_int_equal(got, a);
	memcpy(&value, params + 8, 4);
	assert_int_equal(value, first_value);
	memcpy(&got, params + 16, 8);
	assert_int_equal(got, 1000);
	/* the second one came as a block of the program's own */
	block = (uint64_t)query(t, "SELECT params FROM launch ORDER BY call DESC");
	assert_int_equal(trace_buffer_read(t, block, 0, params, sizeof(params), NULL), 0);
	memcpy(&value, params + 8, 4);
	assert_int_equal(value, first_value + 1);
}

/* The driver tells the layout. */
static void test_launch(void **state)
{
	struct trace *t = recorded("launch", NULL);

	(void)state;
	check_launches(t, 0x5a);
	trace_close(t);
}

/* It does not; the collector reads it out of the PTX. */
static void test_launch_ask(void **state)
{
	struct trace *t = recorded("launch_ask", NULL);

	(void)state;
	check_launches(t, 0x5a);
	assert_string_equal(query_text(t, "SELECT k.name FROM launch l JOIN kernel k ON k.id = l.kernel"),
			    "askfill");
	assert_string_equal(query_text(t, "SELECT group_concat(type || '@' || offset, ' ') FROM (SELECT * "
					  "FROM kernel_param ORDER BY idx)"),
			    "u64@0 u32@8 u64@16");
	assert_string_equal(query_text(t, "SELECT kind FROM image"), "ptx");
	assert_int_equal(query(t, "SELECT m.image = i.buffer FROM module m, image i"), 1);
	trace_close(t);
}

static void hash_line(const char *name, char *hash)
{
	char prefix[8];
	const char *at;

	snprintf(prefix, sizeof(prefix), "%s ", name);
	at = strstr(o.out, prefix);
	assert_non_null(at);
	assert_int_equal(sscanf(at + 2, "%39s", hash), 1);
}

#ifdef MIXED_CUBIN
/* Machine code alone, and a driver that tells no layout: .nv.info does. The offsets are what the C ABI makes
 * of (char, double, short, pointer, struct { int; char[5]; }). */
static void test_launch_cubin(void **state)
{
	static const uint8_t expected[44] = {[0] = 0x21,  [14] = 0xf8, [15] = 0x3f, /* 1.5 */
					     [16] = 0x43, [17] = 0x42, [24] = 0x88, 0x77, 0x66,        0x55,
					     0x44,        0x33,        0x22,        0x11, [32] = 0x44, 0x33,
					     0x22,        0x11,        'a',         'b',  'c',         'd'};
	uint8_t got[44];
	struct trace *t;

	(void)state;
	record(&o, HERE "/launch_cubin.cutrace", NULL, APP, "launch_cubin", MIXED_CUBIN, NULL);
	assert_exit(0);
	t = open_trace(HERE "/launch_cubin.cutrace");
	assert_string_equal(query_text(t, "SELECT kind || ' ' || (ptx IS NULL) FROM image"), "cubin 1");
	assert_string_equal(
		query_text(t, "SELECT k.name || ' ' || k.has_ptx FROM launch l JOIN kernel k ON k.id = "
			      "l.kernel"),
		"ask_mixed 0");
	assert_string_equal(query_text(t,
				       "SELECT group_concat(offset || '+' || bytes, ' ') FROM (SELECT * FROM "
				       "kernel_param ORDER BY idx)"),
			    "0+1 8+8 16+2 24+8 32+12");
	assert_int_equal(query(t, "SELECT count(*) FROM kernel_param WHERE type IS NOT NULL"), 0);
	assert_int_equal(trace_buffer_bytes(t, (uint64_t)query(t, "SELECT params FROM launch")),
			 sizeof(expected));
	assert_int_equal(trace_buffer_read(t, (uint64_t)query(t, "SELECT params FROM launch"), 0, got,
					   sizeof(got), NULL),
			 0);
	assert_memory_equal(got, expected, sizeof(got) - 3); /* the struct ends with padding */
	trace_close(t);
}

/* What machine code wrote nothing but its result tells: it is kept without being asked for, of every launch. */
static void test_launch_opaque(void **state)
{
	struct trace *t;
	char hash[40];

	(void)state;
	record(&o, HERE "/launch_opaque.cutrace", NULL, APP, "launch_opaque", MIXED_CUBIN, NULL);
	assert_exit(0);
	t = open_trace(HERE "/launch_opaque.cutrace");
	assert_string_equal(
		query_text(t, "SELECT group_concat(n || '*' || width, ' ') FROM (SELECT count(*) AS n, "
			      "width FROM payload WHERE kind = 'written' GROUP BY width ORDER BY width)"),
		"3*300 3*1000");
	hash_line("a", hash);
	assert_string_equal(
		query_text(t, "SELECT DISTINCT lower(hex(b.hash)) FROM payload p, buffer b WHERE b.id = "
			      "p.buffer AND p.width = 1000"),
		hash);
	trace_close(t);
	/* Our device has no use for machine code: what it wrote stands in, and the copy behind it is as recorded. */
	assert_int_equal(system(CUTRACE_BIN " replay '" HERE "/launch_opaque.cutrace' 2>/dev/null | grep -q "
					    "'1 copy compared, 0 differ; 3 launches injected'"),
			 0);
	record(&o, HERE "/launch_opaque.cutrace", "--no-opaque", APP, "launch_opaque", MIXED_CUBIN, NULL);
	t = open_trace(HERE "/launch_opaque.cutrace");
	assert_int_equal(query(t, "SELECT count(*) FROM payload WHERE kind = 'written'"), 0);
	trace_close(t);
}
#endif

static long reload_kb(const char *modules)
{
	struct trace *t;

	record(&o, HERE "/reload.cutrace", NULL, APP, "reload", modules, NULL);
	assert_exit(0);
	t = open_trace(HERE "/reload.cutrace");
	assert_int_equal(query(t, "SELECT count(*) FROM module WHERE destroyed IS NOT NULL"), atoi(modules));
	assert_int_equal(
		query(t, "SELECT count(DISTINCT k.name) FROM launch l JOIN kernel k ON k.id = l.kernel"),
		atoi(modules));
	trace_close(t);
	return o.max_rss_kb;
}

/* Memory does not grow with the number of modules that came and went: 300 more are 25 MB of text alone. */
static void test_reload(void **state)
{
	long few = reload_kb("60"), many = reload_kb("360");

	(void)state;
	print_message("%ld KB for 60 modules, %ld for 360\n", few, many);
	assert_true(many - few < 12000);
}

/* The kernel stores through its pointer parameter only, as many bytes as another one says: those are hashed after each
 * launch, the first time with the hash that the program computes itself. */
static void test_check_written(void **state)
{
	struct trace *t = recorded("launch_ask", "--check");
	char hash[40];

	(void)state;
	hash_line("a", hash);
	assert_int_equal(query(t, "SELECT count(*) FROM launch_hash"), 2);
	assert_string_equal(
		query_text(t, "SELECT lower(hex(hash)) FROM launch_hash WHERE bytes = 1000 ORDER BY launch"),
		hash);
	assert_string_equal(query_text(t, "SELECT group_concat(bytes) FROM (SELECT bytes FROM launch_hash "
					  "ORDER BY launch)"),
			    "1000,16");
	trace_close(t);
}

/* Nothing is known of "fill": all allocations are hashed. */
static void test_check_unknown(void **state)
{
	struct trace *t = recorded("launch", "--check");
	char hash[40];

	(void)state;
	assert_int_equal(query(t, "SELECT count(*) FROM launch_hash"), 4);
	hash_line("a", hash);
	assert_string_equal(
		query_text(t, "SELECT lower(hex(hash)) FROM launch_hash WHERE bytes = 1000 ORDER BY launch"),
		hash);
	hash_line("b", hash);
	assert_string_equal(
		query_text(t, "SELECT lower(hex(hash)) FROM launch_hash WHERE bytes = 500 ORDER BY launch"),
		hash);
	trace_close(t);
}

/* 300 results of 256 KB at once: 64 MB are taken, and more as room comes back from copies that are done; of the others the
 * trace says why not. */
static void test_pinned_flood(void **state)
{
	struct trace *t = recorded("pinned_flood", NULL);
	int64_t taken;

	(void)state;
	assert_exit(0);
	assert_int_equal(query(t, "SELECT count(*) FROM payload"), 304);
	taken = query(t, "SELECT count(*) FROM payload WHERE kind = 'd2h'");
	assert_in_range(taken, 256 + 4, 304);
	assert_int_equal(query(t, "SELECT count(*) FROM payload WHERE kind = 'unavailable' AND note LIKE "
				  "'%%64 MB of page-locked memory%%'"),
			 304 - taken);
	trace_close(t);
}

static void test_pinned_small(void **state)
{
	struct trace *t = recorded("pinned_small", NULL);

	(void)state;
	assert_exit(0);
	assert_int_equal(query(t, "SELECT count(*) FROM payload WHERE kind = 'd2h'"), 3000);
	trace_close(t);
}

static void test_many_parts(void **state)
{
	struct trace *t = recorded("many_parts", NULL);

	(void)state;
	assert_exit(0);
	check_hash(t, o.out, "image", 0);
	trace_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pinned),         cmocka_unit_test(test_pinned_many),
		cmocka_unit_test(test_faulted_stream), cmocka_unit_test(test_bad_pointers),
		cmocka_unit_test(test_capture),        cmocka_unit_test(test_pitched),
		cmocka_unit_test(test_large),          cmocka_unit_test(test_launch),
		cmocka_unit_test(test_launch_ask),
#ifdef MIXED_CUBIN
		cmocka_unit_test(test_launch_cubin),   cmocka_unit_test(test_launch_opaque),
#endif
		cmocka_unit_test(test_reload),         cmocka_unit_test(test_check_written),
		cmocka_unit_test(test_check_unknown),  cmocka_unit_test(test_pinned_flood),
		cmocka_unit_test(test_pinned_small),   cmocka_unit_test(test_many_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
