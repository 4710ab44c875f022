/* SPDX-License-Identifier: Apache-2.0
 *
 * What is in a trace against what the program did and printed, and that the program did not notice.
 */
#include "harness.h"
#include "interpose/ring.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct outcome o;
static char trace[512];

static struct trace *recorded(const char *scenario, const char *option)
{
	snprintf(trace, sizeof(trace), HERE "/%s%s.cutrace", scenario, option ? option : "");
	record(&o, trace, option, APP, scenario, NULL);
	return open_trace(trace);
}

static void assert_exit(int code)
{
	assert_true(WIFEXITED(o.status));
	assert_int_equal(WEXITSTATUS(o.status), code);
}

static int64_t calls_of(struct trace *t, const char *name)
{
	return query(t, "SELECT count(*) FROM call JOIN function f ON f.id = func WHERE f.name = '%s'", name);
}

/* ---- calls --------------------------------------------------------------------- */

static void test_calls(void **state)
{
	struct trace *t = recorded("calls", NULL);
	unsigned long long p;
	int version, n;

	(void)state;
	assert_exit(42);
	assert_int_equal(sscanf(o.out, "%d %d %llx", &version, &n, &p), 3);
	assert_int_equal(version, 13000);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 8);
	assert_int_equal(query(t, "SELECT count(*) FROM call WHERE t_exit IS NULL"), 0);
	assert_int_equal(query(t, "SELECT min(id) FROM call"), 1);
	assert_int_equal(query(t, "SELECT max(id) FROM call"), 8);
	/* arguments, out-values, results, of failed calls too */
	assert_int_equal(query(t, "SELECT o0 FROM call WHERE id = 2"), version);
	assert_int_equal(query(t, "SELECT o0 FROM call WHERE id = 3"), n);
	assert_int_equal(query(t, "SELECT a1 FROM call WHERE id = 4"), 7);
	assert_int_equal(query(t, "SELECT result FROM call WHERE id = 4"),
			 101); /* CUDA_ERROR_INVALID_DEVICE */
	assert_int_equal(query(t, "SELECT o0 IS NULL FROM call WHERE id = 4"), 1);
	assert_int_equal(query(t, "SELECT o0 FROM call WHERE id = 5"), (int64_t)p);
	assert_int_equal(query(t, "SELECT a1 FROM call WHERE id = 5"), 64);
	/* the next call begins after the one before has ended */
	assert_int_equal(
		query(t, "SELECT count(*) FROM call a JOIN call b ON b.id = a.id + 1 WHERE a.seq_seen < b.id "
			 "AND a.t_enter <= a.t_exit AND a.t_exit <= b.t_enter"),
		7);
	assert_int_equal(query(t,
			       "SELECT count(*) FROM allocation WHERE base = %lld AND bytes = 64 AND kind = "
			       "'device' AND "
			       "created = 5 AND destroyed = 8",
			       (long long)p),
			 1);
	assert_int_equal(query(t,
			       "SELECT count(*) FROM payload WHERE kind = 'h2d' AND call = 6 AND "
			       "device_address = %lld AND "
			       "width = 64",
			       (long long)p),
			 1);
	assert_int_equal(query(t, "SELECT buffer FROM payload WHERE call = 6"),
			 query(t, "SELECT buffer FROM payload WHERE call = 7"));
	assert_string_equal(query_text(t, "SELECT end_kind || end_code FROM process"), "exit42");
	trace_close(t);
}

/* The bytes themselves, from the program's own output. */
static void test_payload_bytes(void **state)
{
	struct trace *t = recorded("calls", NULL);
	char expected[64] = "a source of 64 bytes", got[64];
	uint64_t buffer = (uint64_t)query(t, "SELECT buffer FROM payload WHERE kind = 'd2h'");

	(void)state;
	assert_int_equal(trace_buffer_bytes(t, buffer), 64);
	assert_int_equal(trace_buffer_read(t, buffer, 0, got, sizeof(got), NULL), 0);
	assert_memory_equal(got, expected, sizeof(got));
	trace_close(t);
}

static void test_errno(void **state)
{
	struct trace *t = recorded("errno", NULL);

	(void)state;
	assert_string_equal(o.out, "kept\n");
	assert_int_equal(calls_of(t, "cuDriverGetVersion"), 100000);
	trace_close(t);
}

static void test_descriptors_closed(void **state)
{
	struct trace *t = recorded("closefds", NULL);

	(void)state;
	assert_exit(0);
	assert_int_equal(calls_of(t, "cuDriverGetVersion"), 3);
	assert_int_equal(query(t, "SELECT count(*) FROM process"), 1);
	assert_int_equal(query(t, "SELECT count(*) FROM thread"), 2);
	trace_close(t);
}

/* ---- threads and processes -------------------------------------------------------- */

static void test_threads(void **state)
{
	struct trace *t = recorded("threads", NULL);

	(void)state;
	assert_exit(0);
	assert_int_equal(query(t, "SELECT count(*) FROM thread"), 16);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 16 * 20001);
	/* thread i passes i * 20000 + n for n = 0, 1, ...: each value once, in order within its thread */
	assert_int_equal(
		query(t, "SELECT count(DISTINCT a0) FROM call JOIN function f ON f.id = func WHERE f.name = "
			 "'cuCtxSetFlags'"),
		320000);
	assert_int_equal(query(t, "SELECT count(*) FROM (SELECT a0 - lag(a0) OVER (PARTITION BY thread ORDER "
				  "BY c.id) AS step FROM "
				  "call c JOIN function f ON f.id = func WHERE f.name = 'cuCtxSetFlags') "
				  "WHERE step <> 1"),
			 0);
	/* every number was used, but perhaps the one that is left free when the second thread comes */
	assert_in_range(query(t, "SELECT max(id) - min(id) + 1 - count(*) FROM call"), 0, 1);
	trace_close(t);
}

/* Numbers stay different and in order when a second thread comes and they are counted otherwise. */
static void test_second_thread(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct trace *t = recorded("second_thread", NULL);

		assert_exit(0);
		assert_int_equal(query(t, "SELECT count(*) FROM call"), atoi(o.out) + 26);
		assert_int_equal(
			query(t, "SELECT count(*) FROM (SELECT c.a0 - lag(c.a0) OVER (PARTITION BY thread "
				 "ORDER BY c.id) AS step, c.a0 FROM call c) WHERE step NOT IN (1, 2) AND "
				 "a0 <> 1000001"),
			0);
		/* What the second thread calls begins after what the first one called before, ends before what
		 * it calls behind. */
		assert_int_equal(
			query(t,
			      "SELECT count(*) FROM call y JOIN call x ON x.a0 = %d + (y.a0 - 1000001) / 2 "
			      "WHERE y.a0 > 1000000 AND (x.id >= y.id OR x.seq_seen >= y.id)",
			      1000 + 100000 - 1),
			0);
		assert_int_equal(
			query(t,
			      "SELECT count(*) FROM call y JOIN call x ON x.a0 = %d + (y.a0 - 1000001) / 2 "
			      "WHERE y.a0 > 1000000 AND (x.id <= y.id OR y.seq_seen >= x.id)",
			      1000 + 100000),
			0);
		trace_close(t);
	}
}

static void test_short_threads(void **state)
{
	struct trace *t = recorded("short_threads", NULL);

	(void)state;
	assert_int_equal(query(t, "SELECT count(*) FROM thread"), 200);
	assert_int_equal(query(t, "SELECT count(*) FROM call c WHERE a0 = (SELECT count(*) FROM call d WHERE "
				  "d.id < c.id)"),
			 200);
	assert_int_equal(query(t, "SELECT count(*) FROM thread WHERE t_end IS NULL"), 0);
	trace_close(t);
}

static void test_fork(void **state)
{
	struct trace *t = recorded("fork", NULL);
	int pid, status;

	(void)state;
	assert_int_equal(sscanf(o.out, "%d %d", &pid, &status), 2);
	assert_int_equal(status, 5);
	assert_int_equal(query(t, "SELECT count(*) FROM process"), 2);
	assert_int_equal(query(t, "SELECT parent FROM process WHERE pid = %d", pid),
			 query(t, "SELECT id FROM process WHERE pid <> %d", pid));
	assert_int_equal(query(t,
			       "SELECT count(*) FROM call JOIN thread ON thread.id = thread JOIN process p "
			       "ON p.id = process WHERE "
			       "pid = %d",
			       pid),
			 10);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 12);
	trace_close(t);
}

static void test_exec(void **state)
{
	struct trace *t = recorded("exec", NULL);

	(void)state;
	assert_exit(42);
	assert_int_equal(query(t, "SELECT count(DISTINCT pid) FROM process"), 1);
	assert_string_equal(
		query_text(
			t,
			"SELECT group_concat(end_kind, ' ') FROM (SELECT end_kind FROM process ORDER BY id)"),
		"exec exit");
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 9);
	trace_close(t);
}

/* A child that first calls the driver long after its parent has ended is waited for. */
static void test_late_child(void **state)
{
	struct trace *t = recorded("late_child", NULL);

	(void)state;
	assert_exit(3);
	assert_int_equal(query(t, "SELECT count(*) FROM process"), 2);
	assert_int_equal(query(t, "SELECT parent FROM process WHERE id = 2"), 1);
	assert_string_equal(query_text(t, "SELECT end_kind || end_code FROM process WHERE id = 2"), "exit6");
	assert_int_equal(calls_of(t, "cuDriverGetVersion"), 1);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 3);
	trace_close(t);
	/* the parent never calls it */
	t = recorded("late_only", NULL);
	assert_exit(3);
	assert_int_equal(query(t, "SELECT count(*) FROM process"), 1);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 2);
	trace_close(t);
	/* and is not waited for when that is asked */
	t = recorded("late_only", "--no-wait");
	assert_exit(3);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 0);
	trace_close(t);
}

/* A process that was there before the program is not waited for: it would take a minute. */
static void test_foreign_child(void **state)
{
	const char *command =
		"sleep 60 >/dev/null 2>&1 & sleep 0.1; echo $! >&2; exec " CUTRACE_BIN " record -q -o " HERE
		"/foreign.cutrace --driver " EMPTY_DRIVER " -- " APP " calls";
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
	time_t begin = time(NULL);

	(void)state;
	unlink(HERE "/foreign.cutrace");
	run(&o, argv);
	assert_exit(42);
	assert_true(time(NULL) - begin < 30);
	assert_int_equal(kill(atoi(o.err), SIGKILL), 0);
}

/* Started by somebody who ignores SIGCHLD, cutrace still learns that the program ended; and the program finds
 * the signal ignored, as it would have. */
static void test_ignored_sigchld(void **state)
{
	char *argv[] = {(char *)CUTRACE_BIN,
			(char *)"record",
			(char *)"-q",
			(char *)"-o",
			(char *)HERE "/sigchld.cutrace",
			(char *)"--driver",
			(char *)EMPTY_DRIVER,
			(char *)"--",
			(char *)APP,
			(char *)"sigchld",
			NULL};

	(void)state;
	unlink(HERE "/sigchld.cutrace");
	signal(SIGCHLD, SIG_IGN);
	run(&o, argv);
	signal(SIGCHLD, SIG_DFL);
	assert_string_equal(o.out, "ignored\n");
	assert_string_equal(o.err, "");
}

/* ---- functions that no description knows ---------------------------------------------- */

/* cuBrandNewFunction(1, 2.5, pointer, 0.25f, 3, 4, 5, 6, 1000): System V puts the integers into rdi, rsi,
 * rdx, rcx, r8, r9, the floats into xmm0 and xmm1, and what is left on the stack. */
static void check_brand_new(const char *scenario)
{
	struct trace *t = recorded(scenario, NULL);
	const char *f = "FROM call JOIN function f ON f.id = func WHERE f.name = 'cuBrandNewFunction'";

	assert_exit(0);
	assert_string_equal(o.out, "1022.75\n");
	assert_int_equal(query(t, "SELECT known %s", f), 0);
	assert_int_equal(query(t, "SELECT a0 & 0xffffffff %s", f), 1);
	assert_int_equal(query(t, "SELECT a1 <> 0 %s", f), 1);
	assert_int_equal(query(t, "SELECT a2 %s", f), 3);
	assert_int_equal(query(t, "SELECT a5 %s", f), 6);
	assert_int_equal(query(t, "SELECT a6 %s", f), 0x4004000000000000);      /* 2.5 */
	assert_int_equal(query(t, "SELECT a7 & 0xffffffff %s", f), 0x3e800000); /* 0.25f */
	assert_int_equal(query(t, "SELECT a14 %s", f), 1000);
	assert_int_equal(query(t, "SELECT t_exit IS NOT NULL %s", f), 1);
	trace_close(t);
}

static void test_unknown_proc(void **state)
{
	(void)state;
	check_brand_new("unknown_proc");
}

static void test_unknown_dlsym(void **state)
{
	(void)state;
	check_brand_new("unknown_dlsym");
}

static void test_unknown_linked(void **state)
{
	(void)state;
	check_brand_new("unknown_linked");
}

static void test_known_proc(void **state)
{
	struct trace *t = recorded("known_proc", NULL);

	(void)state;
	assert_string_equal(o.out, "13000 1\n");
	assert_int_equal(calls_of(t, "cuDriverGetVersion"), 1);
	assert_int_equal(calls_of(t, "cuGetProcAddress_v2"), 1);
	trace_close(t);
}

static void test_nesting(void **state)
{
	struct trace *t = recorded("nesting", NULL);

	(void)state;
	assert_string_equal(o.out, "7\n");
	assert_exit(0);
	assert_int_equal(
		query(t,
		      "SELECT c.parent = p.id FROM call c JOIN function f ON f.id = c.func JOIN call p JOIN "
		      "function g ON "
		      "g.id = p.func WHERE f.name = 'cuDriverGetVersion' AND g.name = 'cuBrandNewNesting'"),
		1);
	assert_int_equal(query(t, "SELECT result FROM call JOIN function f ON f.id = func WHERE f.name = "
				  "'cuBrandNewNesting'"),
			 7);
	trace_close(t);
}

static void test_export_table(void **state)
{
	struct trace *t = recorded("export_table", NULL);
	const char *f = "FROM call JOIN function f ON f.id = func WHERE f.name = "
			"'export:01020304-0506-0708-090a-0b0c0d0e0f10:1'";

	(void)state;
	assert_string_equal(o.out, "34 1\n");
	assert_int_equal(query(t, "SELECT a0 & 0xffffffff %s", f), 3);
	assert_int_equal(query(t, "SELECT a1 & 0xffffffff %s", f), 4);
	assert_int_equal(query(t, "SELECT result %s", f), 34);
	trace_close(t);
}

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

static void hash_line(const char *name, char *hash)
{
	char prefix[8];
	const char *at;

	snprintf(prefix, sizeof(prefix), "%s ", name);
	at = strstr(o.out, prefix);
	assert_non_null(at);
	assert_int_equal(sscanf(at + 2, "%39s", hash), 1);
}

/* The kernel stores through its pointer parameter only: one allocation is hashed after each launch, with the
 * hash that the program computes itself. */
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

/* ---- the command -------------------------------------------------------------------------------- */

static void run_words(const char *a, const char *b, const char *c, const char *d, const char *e)
{
	char *argv[] = {(char *)CUTRACE_BIN, (char *)a, (char *)b, (char *)c, (char *)d, (char *)e, NULL};

	run(&o, argv);
}

static void test_usage(void **state)
{
	(void)state;
	run_words("record", NULL, NULL, NULL, NULL);
	assert_exit(2);
	run_words("record", "--device", "nonsense", "/bin/true", NULL);
	assert_exit(2);
	assert_non_null(strstr(o.err, "nonsense"));
	assert_non_null(strstr(o.err, "interp"));
	run_words("record", "--driver", "/nonexistent/libcuda.so.1", "/bin/true", NULL);
	assert_exit(125);
	run_words("record", "--driver", EMPTY_DRIVER, "/nonexistent/program", NULL);
	assert_exit(127);
	run_words("record", "--driver", EMPTY_DRIVER, HERE, NULL);
	assert_exit(126);
	run_words("record", "--ring-kb", "100", "/bin/true", NULL);
	assert_exit(2);
}

static void test_refuses_foreign_file(void **state)
{
	const char *path = HERE "/not_a_trace.txt";
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char *argv[] = {(char *)CUTRACE_BIN, (char *)"record",   (char *)"-o",
			(char *)path,        (char *)"--driver", (char *)EMPTY_DRIVER,
			(char *)APP,         (char *)"calls",    NULL};

	(void)state;
	assert_int_equal(write(fd, "precious\n", 9), 9);
	close(fd);
	run(&o, argv);
	assert_exit(125);
	assert_string_equal(o.out, "");
}

/* The default name is the program's; an existing trace is kept. */
static void test_default_name(void **state)
{
	char *argv[] = {(char *)CUTRACE_BIN,  (char *)"record", (char *)"-q",    (char *)"--driver",
			(char *)EMPTY_DRIVER, (char *)APP,      (char *)"calls", NULL};

	(void)state;
	assert_int_equal(chdir(HERE), 0);
	unlink("interpose_app.cutrace");
	unlink("interpose_app-2.cutrace");
	run(&o, argv);
	assert_string_equal(o.err, "");
	assert_int_equal(access("interpose_app.cutrace", R_OK), 0);
	run(&o, argv);
	assert_int_equal(access("interpose_app-2.cutrace", R_OK), 0);
}

/* ---- recorder and collector at odds ------------------------------------------------------------ */

/* The collector dies while a function is called whose return goes through us. */
static void test_orphaned_inside(void **state)
{
	(void)state;
	snprintf(trace, sizeof(trace), HERE "/orphaned_inside.cutrace");
	record(&o, trace, NULL, APP, "orphaned_inside", NULL);
	assert_true(WIFEXITED(o.status));
	assert_string_equal(o.out, "returned 7\n");
}

static void test_other_version(void **state)
{
	struct trace *t = recorded("other_version", NULL);

	(void)state;
	assert_string_equal(o.out, "0\n"); /* hung up on, not left waiting */
	assert_int_equal(query(t,
			       "SELECT count(*) FROM diagnostic WHERE severity = 'error' AND "
			       "source = 'collector' AND message LIKE '%%version %u of%%'",
			       RING_VERSION + 1),
			 1);
	trace_close(t);
}

static void test_refused_ring(void **state)
{
	struct trace *t = recorded("refused_ring", NULL);

	(void)state;
	assert_string_equal(o.out, "1 1\n");
	assert_int_equal(query(t, "SELECT count(*) FROM diagnostic WHERE severity = 'error' AND process = 1 "
				  "AND message LIKE '%%ring%%'"),
			 1);
	trace_close(t);
}

static void test_no_ring(void **state)
{
	struct trace *t = recorded("no_ring", NULL);

	(void)state;
	assert_non_null(strstr(o.err, "the recording is not complete"));
	assert_string_equal(o.out, "1 1\n");
	assert_int_equal(calls_of(t, "cuDriverGetVersion"), 1);
	assert_int_equal(query(t, "SELECT count(*) FROM diagnostic WHERE severity = 'error' AND "
				  "source = 'recorder' AND message LIKE '%%not recorded from here on%%'"),
			 1);
	trace_close(t);
}

/* A collector out of descriptors: nobody is left waiting, and the trace says who is not in it. */
static void test_many_children(void **state)
{
	const char *command = "ulimit -n 40; exec " CUTRACE_BIN " record -o " HERE
			      "/many_children.cutrace --driver " EMPTY_DRIVER " -- " APP " many_children";
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
	int64_t recorded_processes, refused;
	struct trace *t;

	(void)state;
	unlink(HERE "/many_children.cutrace");
	run(&o, argv);
	assert_exit(0);
	assert_string_equal(o.out, "60\n");
	assert_non_null(strstr(o.err, "the recording is not complete"));
	t = open_trace(HERE "/many_children.cutrace");
	recorded_processes =
		query(t, "SELECT count(DISTINCT t.process) FROM call c JOIN thread t ON t.id = c.thread");
	refused = query(
		t, "SELECT count(*) FROM diagnostic WHERE severity = 'error' AND source = 'collector' AND "
		   "message LIKE '%%too many open files%%'");
	assert_in_range(recorded_processes, 0, 29); /* it depends on who comes first */
	assert_in_range(refused, 30 - recorded_processes, 60);
	trace_close(t);
}

static void test_no_descriptor(void **state)
{
	struct trace *t = recorded("no_descriptor", NULL);

	(void)state;
	assert_exit(0);
	assert_string_equal(o.out, "0 13000\n");
	assert_int_equal(
		query(t,
		      "SELECT count(*) FROM diagnostic WHERE severity = 'error' AND source = 'recorder' AND "
		      "message LIKE 'this process is not recorded: it had no descriptor%%'"),
		1);
	trace_close(t);
}

static void test_fork_learning(void **state)
{
	struct trace *t = recorded("fork_learning", NULL);

	(void)state;
	assert_exit(0);
	assert_string_equal(o.out, "100\n");
	assert_int_equal(query(t, "SELECT count(*) FROM process"), 101);
	trace_close(t);
}

/* 300 results of 256 KB at once: 64 MB are taken, of the others the trace says why not. */
static void test_pinned_flood(void **state)
{
	struct trace *t = recorded("pinned_flood", NULL);

	(void)state;
	assert_exit(0);
	assert_int_equal(query(t, "SELECT count(*) FROM payload"), 304);
	assert_int_equal(query(t, "SELECT count(*) FROM payload WHERE kind = 'd2h'"), 256 + 4);
	assert_int_equal(query(t, "SELECT count(*) FROM payload WHERE kind = 'unavailable' AND note LIKE "
				  "'%%64 MB of page-locked memory%%'"),
			 300 - 256);
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
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_payload_bytes),
		cmocka_unit_test(test_errno),
		cmocka_unit_test(test_descriptors_closed),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_second_thread),
		cmocka_unit_test(test_short_threads),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_late_child),
		cmocka_unit_test(test_foreign_child),
		cmocka_unit_test(test_ignored_sigchld),
		cmocka_unit_test(test_unknown_proc),
		cmocka_unit_test(test_unknown_dlsym),
		cmocka_unit_test(test_unknown_linked),
		cmocka_unit_test(test_known_proc),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_export_table),
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_pinned_many),
		cmocka_unit_test(test_faulted_stream),
		cmocka_unit_test(test_capture),
		cmocka_unit_test(test_bad_pointers),
		cmocka_unit_test(test_pitched),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_launch),
		cmocka_unit_test(test_launch_ask),
		cmocka_unit_test(test_reload),
#ifdef MIXED_CUBIN
		cmocka_unit_test(test_launch_cubin),
#endif
		cmocka_unit_test(test_check_written),
		cmocka_unit_test(test_check_unknown),
		cmocka_unit_test(test_orphaned_inside),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_refused_ring),
		cmocka_unit_test(test_no_ring),
		cmocka_unit_test(test_many_parts),
		cmocka_unit_test(test_many_children),
		cmocka_unit_test(test_no_descriptor),
		cmocka_unit_test(test_fork_learning),
		cmocka_unit_test(test_pinned_flood),
		cmocka_unit_test(test_pinned_small),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_refuses_foreign_file),
		cmocka_unit_test(test_default_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
