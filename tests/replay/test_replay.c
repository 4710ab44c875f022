/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole replays of traces made by hand, on the fake driver of fake_cuda.c. What is asserted is the driver's
 * log (what was asked of it, in which order) and the result database.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/replay.h"
#include "trace_builder.h"

/* Addresses and handles of the recording. R is what the fake driver gives first when it is not told
 * otherwise. */
#define R         UINT64_C(0x200000000000)
#define ELSEWHERE "0x210000000000"
#define CTX       0x1000
#define MODULE    0x2000
#define FUNCTION  0x3000
#define STREAM    0x4000
#define HOST      UINT64_C(0x7ffe00001000)

static char dir[64], trace_path[128], log_path[128], result_path[128];
static struct builder b;
static uint64_t kernel;

/* ---- a recording -------------------------------------------------------- */

static void name_memory(uint64_t call, unsigned param, const char *name)
{
	builder_memory(&b, call, param, HOST, name, strlen(name) + 1);
}

static uint64_t load_module(const char *kernel_name, unsigned nparams, struct trace_kernel_param *params)
{
	uint64_t load, get;
	static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n";

	builder_out(&b, 0, MODULE);
	load = CALL(&b, "cuModuleLoadData", HOST, HOST + 64);
	builder_payload(&b, load, 1, "image", HOST + 64, 0, image, sizeof(image));
	kernel = builder_kernel(&b, load, MODULE, kernel_name, nparams, params);
	builder_out(&b, 0, FUNCTION);
	get = CALL(&b, "cuModuleGetFunction", HOST + 8, MODULE, HOST);
	name_memory(get, 2, kernel_name);
	return load;
}

static void make_context(uint64_t ctx, uint64_t device)
{
	builder_out(&b, 0, ctx);
	CALL(&b, "cuCtxCreate_v2", HOST, 0, device);
}

static uint64_t allocate(uint64_t base, uint64_t bytes)
{
	uint64_t call;

	builder_out(&b, 0, base);
	call = CALL(&b, "cuMemAlloc_v2", HOST, bytes);
	builder_allocation(&b, call, base, bytes);
	return call;
}

static uint64_t upload(uint64_t dst, const void *data, size_t bytes)
{
	uint64_t call = CALL(&b, "cuMemcpyHtoD_v2", dst, HOST, bytes);

	builder_payload(&b, call, 1, "h2d", HOST, dst, data, bytes);
	return call;
}

static uint64_t download(uint64_t src, const void *data, size_t bytes)
{
	uint64_t call = CALL(&b, "cuMemcpyDtoH_v2", HOST, src, bytes);

	builder_payload(&b, call, 0, "d2h", HOST, src, data, bytes);
	return call;
}

static uint64_t launch(const void *params, size_t bytes, uint64_t stream)
{
	uint64_t call = CALL(&b, "cuLaunchKernel", FUNCTION, 1, 2, 3, 4, 5, 6, 7, stream, HOST, 0);

	builder_launch(&b, call, kernel, params, bytes);
	return call;
}

struct add_one_params {
	uint64_t p;
	uint32_t n, pad;
};
static struct trace_kernel_param add_one_described[] = {
	{.name = "p",
	 .type = "u64",
	 .offset = 0,
	 .bytes = 8,
	 .is_pointer = true,
	 .is_read = true,
	 .is_written = true,
	 .elem_type = "f32"},
	{.name = "n", .type = "u32", .offset = 8, .bytes = 4},
};

static void open_trace(void)
{
	builder_open(&b, trace_path);
	CALL(&b, "cuInit", 0);
	make_context(CTX, 0);
}

/* cuInit, context, module, one buffer of four floats, add_one: ids 1 to 8. */
static uint64_t launch_call, download_call;
static void record_add_one(void)
{
	static const float in[4] = {1, 2, 3, 4}, out[4] = {2, 3, 4, 5};
	struct add_one_params p = {R, 4, 0};

	open_trace();
	load_module("add_one", 2, add_one_described);
	allocate(R, 16);
	upload(R, in, 16);
	launch_call = launch(&p, 12, 0);
	download_call = download(R, out, 16);
}

/* ---- a replay ----------------------------------------------------------- */

static int replay_with(struct replay_options o)
{
	o.trace_path = trace_path;
	o.driver = FAKE_PATH;
	o.result_path = result_path;
	o.quiet = true;
	unlink(log_path);
	return replay_run(&o);
}

static int replay(void)
{
	return replay_with((struct replay_options){0});
}

static char *log_text(void)
{
	static char text[65536];
	FILE *f = fopen(log_path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	return text;
}

/* First value of a query over the result database, as text. */
static const char *result(const char *sql)
{
	static char value[1024];
	sqlite3 *db;
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_open_v2(result_path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	snprintf(value, sizeof(value), "%s",
		 sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0)
			 ? (const char *)sqlite3_column_text(st, 0)
			 : "");
	sqlite3_finalize(st);
	sqlite3_close(db);
	return value;
}

static void assert_order(const char *first, const char *second)
{
	const char *a = strstr(log_text(), first), *z = strstr(log_text(), second);

	if (!a || !z || a >= z)
		fail_msg("'%s' does not come before '%s' in:\n%s", first, second, log_text());
}

static void assert_logged(const char *line, unsigned times)
{
	unsigned n = 0;

	for (const char *p = log_text(); (p = strstr(p, line)); p += strlen(line))
		n++;
	if (n != times)
		fail_msg("'%s' occurs %u times, not %u, in:\n%s", line, n, times, log_text());
}

static int setup(void **state)
{
	static const char *const variables[] = {"FAKE_BASE",    "FAKE_WRONG", "FAKE_FAULT",
						"FAKE_NO_CODE", "FAKE_DIE",   "FAKE_VMM"};

	(void)state;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	return 0;
}

/* ---- tests -------------------------------------------------------------- */

static void test_match(void **state)
{
	(void)state;
	record_add_one();
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(log_text() + strcspn(log_text(), "\n") + 1,
			    "cuCtxCreate 0 0\n"
			    "cuModuleLoadData .version\n"
			    "cuModuleGetFunction add_one of 7020\n"
			    "cuMemAlloc 16\n"
			    "cuMemcpyHtoD 16 in 7010\n"
			    "cuLaunchKernel add_one 1,2,3 4,5,6 7 on 0\n"
			    "cuMemcpyDtoH 16\n");
	assert_string_equal(result("SELECT grade || ' ' || elem_type || ' ' || elements || ' ' || "
				   "kernel_name FROM verdict"),
			    "equal f32 4 add_one");
	assert_string_equal(result("SELECT policy FROM allocation"), "same");
	assert_string_equal(result("SELECT n FROM count WHERE what = 'launches'"), "1");
}

static void test_differs(void **state)
{
	char call[32];

	(void)state;
	record_add_one();
	builder_close(&b);
	setenv("FAKE_WRONG", "1", 1);
	assert_int_equal(replay(), REPLAY_DIFFERS);
	assert_string_equal(
		result("SELECT grade || ' ' || first || ' ' || want || ' ' || got || ' ' || differing || ' ' "
		       "||"
		       " max_abs || ' ' || byte_offset || ' ' || base || ' ' || address FROM verdict"),
		"differs 3 5 5.5 1 0.5 12 35184372088832 35184372088844");
	snprintf(call, sizeof(call), "%d %d", (int)download_call, (int)launch_call);
	assert_string_equal(result("SELECT call || ' ' || launch FROM verdict"), call);
	assert_string_equal(result("SELECT count(*) > 0 FROM store"), "1");
}

static void test_limits(void **state)
{
	(void)state;
	record_add_one();
	builder_close(&b);
	setenv("FAKE_WRONG", "1", 1);
	assert_int_equal(replay_with((struct replay_options){.limits = {.has_tol = true, .rtol = 0.1}}),
			 REPLAY_MATCH);
	assert_string_equal(result("SELECT grade FROM verdict"), "tolerated");
	assert_string_equal(result("SELECT value FROM meta WHERE key = 'rtol'"), "0.1");
	/* 5.5 - 5 = 2^-1; an ulp in [4, 8) is 2^-21. */
	assert_int_equal(replay_with((struct replay_options){.limits = {.has_ulp = true, .ulp = 1 << 20}}),
			 REPLAY_MATCH);
	assert_int_equal(
		replay_with((struct replay_options){.limits = {.has_ulp = true, .ulp = (1 << 20) - 1}}),
		REPLAY_DIFFERS);
}

static void test_hash_names_first_launch(void **state)
{
	static const float in[4] = {1, 2, 3, 4}, after[2][4] = {{2, 3, 4, 5}, {3, 4, 5, 6}};
	struct add_one_params p = {R, 4, 0};
	uint64_t calls[2];
	char expected[64];

	(void)state;
	open_trace();
	load_module("add_one", 2, add_one_described);
	allocate(R, 16);
	upload(R, in, 16);
	for (int i = 0; i < 2; i++) {
		struct trace_launch_hash h = {.base = R, .bytes = 16, .hash = trace_hash_bytes(after[i], 16)};

		h.launch = calls[i] = launch(&p, 12, 0);
		assert_int_equal(trace_writer_launch_hash(b.w, &h), 0);
	}
	download(R, after[1], 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE kind = 'hash' AND grade = 'equal'"),
			    "2");
	setenv("FAKE_WRONG", "2", 1);
	assert_int_equal(replay(), REPLAY_DIFFERS);
	snprintf(expected, sizeof(expected), "hash %d add_one", (int)calls[1]);
	assert_string_equal(result("SELECT kind || ' ' || launch || ' ' || kernel_name FROM verdict WHERE "
				   "grade = 'differs'"
				   " ORDER BY id LIMIT 1"),
			    expected);
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE grade = 'differs'"), "2");
}

/* ---- addresses ---------------------------------------------------------- */

static struct trace_kernel_param list_sum_described[] = {
	{.name = "head",
	 .type = "u64",
	 .offset = 0,
	 .bytes = 8,
	 .is_pointer = true,
	 .is_read = true,
	 .elem_type = "u64"},
	{.name = "out",
	 .type = "u64",
	 .offset = 8,
	 .bytes = 8,
	 .is_pointer = true,
	 .is_written = true,
	 .elem_type = "u64"},
};

/* Three nodes in two allocations, the sum and the last node's address in a third. */
static void record_list(void)
{
	const uint64_t second = R + 512, third = R + 1024;
	const uint64_t first_nodes[4] = {second, 10, 0, 30}, second_node[2] = {R + 16, 20},
		       out[2] = {60, R + 16};
	const uint64_t params[2] = {R, third};

	open_trace();
	load_module("list_sum", 2, list_sum_described);
	allocate(R, 32);
	allocate(second, 16);
	allocate(third, 16);
	upload(R, first_nodes, 32);
	upload(second, second_node, 16);
	launch(params, 16, 0);
	download(third, out, 16);
	builder_close(&b);
}

static void test_same_addresses(void **state)
{
	(void)state;
	record_list();
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT group_concat(DISTINCT policy) FROM allocation"), "same");
	assert_string_equal(result("SELECT sum(n) FROM count WHERE what LIKE 'rewritten%'"), "0");
}

static void test_translation_at_two_bases(void **state)
{
	(void)state;
	record_list();
	setenv("FAKE_BASE", ELSEWHERE, 1);
	assert_int_equal(replay_with((struct replay_options){.verify_addresses = true}), REPLAY_MATCH);
	assert_string_equal(result("SELECT group_concat(DISTINCT policy) FROM allocation"), "translated");
	assert_string_equal(result("SELECT n FROM count WHERE pass = 1 AND what = 'rewritten_params'"), "2");
	assert_string_equal(result("SELECT n FROM count WHERE pass = 1 AND what = 'rewritten_words'"), "2");
	/* The second replay really was elsewhere, and its result the same. */
	assert_string_equal(result("SELECT count(*) FROM allocation a JOIN allocation z ON a.base = z.base "
				   "WHERE a.pass = 1 AND"
				   " z.pass = 2 AND a.live <> z.live"),
			    "3");
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE pass = 2 AND grade = 'equal'"), "1");
}

static void test_missed_pointer(void **state)
{
	static struct trace_kernel_param described[] = {{.name = "p",
							 .type = "u64",
							 .bytes = 8,
							 .is_pointer = true,
							 .is_written = true,
							 .elem_type = "b64"}};
	const uint64_t params[1] = {R};
	uint8_t out[16] = {0}, in[16] = {0};

	(void)state;
	memcpy(out + 4, params, 8);
	open_trace();
	load_module("store_unaligned", 1, described);
	allocate(R, 16);
	upload(R, in, 16);
	launch(params, 8, 0);
	download(R, out, 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	setenv("FAKE_BASE", ELSEWHERE, 1);
	assert_int_equal(replay_with((struct replay_options){.verify_addresses = true}), REPLAY_DIFFERS);
	assert_non_null(strstr(result("SELECT note FROM verdict WHERE kind = 'address'"),
			       "byte 4 is an address that was not translated"));
}

/* Two allocations in one granule, one that crosses into the next; then all of them freed. */
static void test_recorded_addresses_by_vmm(void **state)
{
	static const float in[4] = {1, 2, 3, 4};
	const uint64_t third = R + (UINT64_C(2) << 20) - 512;

	(void)state;
	open_trace();
	allocate(R + 512, 16);
	allocate(R + 1024, 16);
	upload(R + 512, in, 16);
	upload(R + 1024, in, 16);
	allocate(third, 1024);
	upload(third + 508, in, 16);
	CALL(&b, "cuMemFree_v2", R + 512);
	download(R + 1024, in, 16);
	CALL(&b, "cuMemFree_v2", R + 1024);
	download(third + 508, in, 16);
	CALL(&b, "cuMemFree_v2", third);
	builder_close(&b);
	setenv("FAKE_VMM", "1", 1);
	setenv("FAKE_BASE", ELSEWHERE, 1);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(
		result("SELECT group_concat(DISTINCT policy) || ' ' || sum(base = live) FROM allocation"),
		"vmm 3");
	assert_logged("cuMemAddressReserve 2097152", 2);
	assert_logged("cuMemUnmap 2097152", 2);
	assert_logged("cuMemAlloc", 0);
	assert_order("cuMemcpyDtoH", "cuMemUnmap");
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE grade = 'equal'"), "2");
}

/* ---- order -------------------------------------------------------------- */

/* One thread's allocation is under way when another frees: it got the address that was freed. The call began
 * earlier, and yet comes after. */
static void test_address_reused_while_allocating(void **state)
{
	static const uint8_t in[16] = "first tenant...", after[16] = "second tenant..";
	uint64_t call;

	(void)state;
	open_trace();
	allocate(R, 16);
	b.thread = 2;
	CALL(&b, "cuCtxSetCurrent", CTX);
	b.seq_seen = b.next + 3; /* that is cuMemFree_v2 */
	builder_out(&b, 0, R);
	call = CALL(&b, "cuMemAlloc_v2", HOST, 24);
	b.thread = 1;
	upload(R, in, 16);
	download(R, in, 16);
	CALL(&b, "cuMemFree_v2", R);
	builder_allocation(&b, call, R, 24);
	b.thread = 2;
	upload(R, after, 16);
	download(R, after, 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_order("cuMemFree", "cuMemAlloc 24");
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE grade = 'equal'"), "2");
}

static void test_blocking_calls_at_their_exit(void **state)
{
	(void)state;
	open_trace();
	allocate(R, 16);
	b.thread = 2;
	CALL(&b, "cuCtxSetCurrent", CTX);
	b.seq_seen = b.next + 2; /* ended after the next two had begun */
	CALL(&b, "cuCtxSynchronize", 0);
	b.thread = 1;
	CALL(&b, "cuMemsetD8_v2", R, 1, 16);
	CALL(&b, "cuMemsetD8_v2", R, 2, 8);
	CALL(&b, "cuMemsetD8_v2", R, 3, 4);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_order("cuMemsetD8 2 8", "cuCtxSynchronize");
	assert_order("cuCtxSynchronize", "cuMemsetD8 3 4");
}

static void test_staging_buffer_is_used_again(void **state)
{
	static const float in[4] = {1, 2, 3, 4}, out1[4] = {2, 3, 4, 5}, out2[4] = {3, 4, 5, 6};
	struct add_one_params p = {R, 4, 0};
	uint64_t call;

	(void)state;
	open_trace();
	load_module("add_one", 2, add_one_described);
	builder_out(&b, 0, STREAM);
	CALL(&b, "cuStreamCreate", HOST, 1);
	allocate(R, 16);
	call = CALL(&b, "cuMemcpyHtoDAsync_v2", R, HOST, 16, STREAM);
	builder_payload(&b, call, 1, "h2d", HOST, R, in, 16);
	launch(&p, 12, STREAM);
	call = CALL(&b, "cuMemcpyDtoHAsync_v2", HOST, R, 16, STREAM);
	builder_payload(&b, call, 0, "d2h", HOST, R, out1, 16);
	launch(&p, 12, STREAM);
	call = CALL(&b, "cuMemcpyDtoHAsync_v2", HOST, R, 16, STREAM);
	builder_payload(&b, call, 0, "d2h", HOST, R, out2, 16);
	CALL(&b, "cuStreamSynchronize", STREAM);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE kind = 'copy' AND grade = 'equal'"),
			    "2");
	assert_logged("on 4000", 0); /* the recorded handle is no handle here */
}

static void test_nothing_waited(void **state)
{
	static const float out[4] = {0};
	uint64_t call;

	(void)state;
	open_trace();
	allocate(R, 16);
	CALL(&b, "cuMemsetD8_v2", R, 0, 16);
	call = CALL(&b, "cuMemcpyDtoHAsync_v2", HOST, R, 16, 0);
	builder_payload(&b, call, 0, "d2h", HOST, R, out, 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH); /* the replayer waits itself before it compares */
	assert_string_equal(result("SELECT grade FROM verdict"), "equal");
}

static void test_polls(void **state)
{
	(void)state;
	open_trace();
	builder_out(&b, 0, STREAM);
	CALL(&b, "cuStreamCreate", HOST, 1);
	b.result = 600; /* CUDA_ERROR_NOT_READY */
	CALL(&b, "cuStreamQuery", STREAM);
	CALL(&b, "cuStreamQuery", STREAM);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_logged("cuStreamSynchronize", 1);
}

static void test_nested_and_in_flight(void **state)
{
	static const float in[4] = {1, 2, 3, 4};
	uint64_t outer, inner;

	(void)state;
	open_trace();
	allocate(R, 16);
	outer = upload(R, in, 16);
	b.parent = outer;
	inner = CALL(&b, "cuMemcpyHtoDAsync_v2", R, HOST, 16, 0);
	builder_payload(&b, inner, 1, "h2d", HOST, R, in, 16);
	b.parent = outer;
	CALL(&b, "cuCtxSynchronize", 0);
	b.in_flight = true;
	CALL(&b, "cuMemsetD8_v2", R, 9, 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_logged("cuMemcpyHtoD 16", 1);
	assert_logged("cuMemcpyHtoDAsync", 0);
	assert_logged("cuMemsetD8", 0);
	assert_string_equal(result("SELECT group_concat(n) FROM count WHERE what IN ('in_flight', 'nested') "
				   "ORDER BY what"),
			    "1,2");
}

/* ---- contexts and streams ----------------------------------------------- */

static void test_contexts_by_thread(void **state)
{
	static const float in[4] = {1, 2, 3, 4};
	char *text;
	unsigned ctx[3];

	(void)state;
	open_trace(); /* thread 1: CTX */
	allocate(R, 16);
	b.thread = 2;
	make_context(CTX + 0x100, 0);
	b.thread = 1;
	upload(R, in, 16);
	b.thread = 2;
	upload(R, in, 16);
	CALL(&b, "cuCtxPushCurrent_v2", CTX);
	upload(R, in, 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	text = log_text();
	for (int i = 0; i < 3; i++) {
		text = strstr(text, "cuMemcpyHtoD 16 in ");
		assert_non_null(text);
		assert_int_equal(sscanf(text, "cuMemcpyHtoD 16 in %x", &ctx[i]), 1);
		text++;
	}
	assert_int_not_equal(ctx[0], ctx[1]);
	assert_int_equal(ctx[0], ctx[2]);
}

static void test_default_stream_of_each_thread(void **state)
{
	static const float in[4] = {1, 2, 3, 4};
	static const uint32_t threads[] = {2, 3, 2};
	unsigned stream[3];
	char *text;

	(void)state;
	open_trace();
	allocate(R, 16);
	for (int i = 0; i < 3; i++) {
		uint64_t call;

		b.thread = threads[i];
		CALL(&b, "cuCtxSetCurrent", CTX);
		call = CALL(&b, "cuMemcpyHtoDAsync_v2_ptsz", R, HOST, 16, i == 2 ? 2 : 0);
		builder_payload(&b, call, 1, "h2d", HOST, R, in, 16);
	}
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	text = log_text();
	for (int i = 0; i < 3; i++) {
		text = strstr(text, "cuMemcpyHtoDAsync 16 on ");
		assert_non_null(text);
		assert_int_equal(sscanf(text, "cuMemcpyHtoDAsync 16 on %x", &stream[i]), 1);
		text++;
	}
	assert_true(stream[0] > 2 && stream[1] > 2 && stream[0] != stream[1] && stream[0] == stream[2]);
	assert_logged("cuStreamCreate", 2);
}

/* ---- copies described by a struct --------------------------------------- */

/* CUDA_MEMCPY2D_v2. */
struct copy2d {
	uint64_t src_x, src_y;
	uint32_t src_type, pad0;
	uint64_t src_host, src_device, src_array, src_pitch, dst_x, dst_y;
	uint32_t dst_type, pad1;
	uint64_t dst_host, dst_device, dst_array, dst_pitch, width, height;
};

static void test_pitched_copies(void **state)
{
	/* 3 rows of 8 bytes; in device memory at pitch 32, from column 16 of row 1 on. */
	struct copy2d up = {.src_x = 4,
			    .src_type = 1,
			    .src_host = HOST,
			    .src_pitch = 100,
			    .dst_x = 16,
			    .dst_y = 1,
			    .dst_type = 2,
			    .dst_device = R,
			    .dst_pitch = 32,
			    .width = 8,
			    .height = 3};
	struct copy2d down = {.src_x = 16,
			      .src_y = 1,
			      .src_type = 2,
			      .src_device = R,
			      .src_pitch = 32,
			      .dst_type = 1,
			      .dst_host = HOST,
			      .dst_pitch = 8,
			      .width = 8,
			      .height = 3};
	static const uint8_t rows[24] = "0row0000"
					"1row1111"
					"2row222";
	uint8_t plane[128] = {0};
	uint64_t call;

	(void)state;
	for (int i = 0; i < 3; i++)
		memcpy(plane + (i + 1) * 32 + 16, rows + 8 * i, 8);
	open_trace();
	allocate(R, 128);
	CALL(&b, "cuMemsetD8_v2", R, 0, 128);
	call = CALL(&b, "cuMemcpy2D_v2", HOST + 0x200);
	builder_memory(&b, call, 0, HOST + 0x200, &up, sizeof(up));
	builder_payload_2d(&b, call, 0, "h2d", HOST + 4, R + 48, rows, 8, 3);
	download(R, plane, 128);
	call = CALL(&b, "cuMemcpy2D_v2", HOST + 0x200);
	builder_memory(&b, call, 0, HOST + 0x200, &down, sizeof(down));
	builder_payload_2d(&b, call, 0, "d2h", HOST, R + 48, rows, 8, 3);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE grade = 'equal'"), "2");
	setenv("FAKE_BASE", ELSEWHERE, 1);
	assert_int_equal(replay(), REPLAY_MATCH);
}

/* ---- failures ----------------------------------------------------------- */

static void record_lookup(const char *name, int64_t outcome)
{
	uint64_t call;

	open_trace();
	load_module("add_one", 2, add_one_described);
	b.result = outcome;
	call = CALL(&b, "cuModuleGetFunction", HOST + 8, MODULE, HOST);
	name_memory(call, 2, name);
	builder_close(&b);
}

static void test_recorded_failures(void **state)
{
	(void)state;
	record_lookup("absent", 500);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_logged("cuModuleGetFunction absent", 1);
	record_lookup("present", 500);
	assert_int_equal(replay(), REPLAY_DIFFERS);
	assert_string_equal(result("SELECT kind || ' ' || want || ' ' || got FROM verdict"),
			    "result CUDA_ERROR_NOT_FOUND CUDA_SUCCESS");
	open_trace();
	b.result = 2; /* CUDA_ERROR_OUT_OF_MEMORY depends on the machine */
	CALL(&b, "cuMemAlloc_v2", HOST, UINT64_C(1) << 40);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_logged("cuMemAlloc", 0);
}

static void test_new_fault(void **state)
{
	(void)state;
	record_add_one();
	builder_close(&b);
	setenv("FAKE_FAULT", "1", 1);
	assert_int_equal(replay(), REPLAY_DIFFERS);
	assert_string_equal(result("SELECT grade || ' ' || want || ' ' || got || ' ' || kernel_name FROM "
				   "verdict WHERE kind = 'fault'"),
			    "fault CUDA_SUCCESS CUDA_ERROR_ILLEGAL_ADDRESS add_one");
	assert_string_equal(result("SELECT grade FROM verdict WHERE kind = 'copy'"), "unverified");
}

static void test_recorded_fault(void **state)
{
	struct add_one_params p = {R, 4, 0};

	(void)state;
	open_trace();
	load_module("add_one", 2, add_one_described);
	allocate(R, 16);
	launch(&p, 12, 0);
	b.result = 700;
	CALL(&b, "cuCtxSynchronize", 0);
	b.result = 700; /* it stays */
	CALL(&b, "cuMemAlloc_v2", HOST, 16);
	builder_close(&b);
	setenv("FAKE_FAULT", "1", 1);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT grade || ' ' || kernel_name FROM verdict WHERE kind = 'fault'"),
			    "equal add_one");
	unsetenv("FAKE_FAULT");
	assert_int_equal(replay(), REPLAY_DIFFERS);
	assert_string_equal(result("SELECT grade FROM verdict WHERE kind = 'fault'"), "differs");
}

static void test_code_that_the_driver_refuses(void **state)
{
	(void)state;
	record_add_one();
	builder_close(&b);
	setenv("FAKE_NO_CODE", "1", 1);
	assert_int_equal(replay(), REPLAY_COULD_NOT);
	assert_logged("cuLaunchKernel", 0);
	assert_non_null(strstr(result("SELECT message FROM diagnostic WHERE message LIKE 'cuLaunchKernel%'"),
			       "could not be loaded on this driver: CUDA_ERROR_NO_BINARY_FOR_GPU"));
	assert_string_equal(result("SELECT grade FROM verdict WHERE kind = 'copy'"), "unverified");
}

static void test_unavailable_source(void **state)
{
	static const float out[4] = {1, 2, 3, 4};
	uint64_t call;

	(void)state;
	open_trace();
	allocate(R, 16);
	call = CALL(&b, "cuMemcpyHtoD_v2", R, HOST, 16);
	builder_payload(&b, call, 1, "unavailable", HOST, R, NULL, 16);
	download(R, out, 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_COULD_NOT);
	assert_non_null(strstr(result("SELECT message FROM diagnostic WHERE severity = 'error'"),
			       "left out by the test"));
	assert_string_equal(result("SELECT grade FROM verdict"), "unverified");
}

static void test_driver_dies(void **state)
{
	(void)state;
	open_trace();
	CALL(&b, "cuCtxSynchronize", 0);
	builder_close(&b);
	setenv("FAKE_DIE", "1", 1);
	assert_int_equal(replay(), REPLAY_COULD_NOT);
	assert_non_null(
		strstr(result("SELECT message FROM diagnostic WHERE severity = 'fatal'"), "signal 6"));
}

static void test_function_that_is_not_there(void **state)
{
	(void)state;
	open_trace();
	CALL(&b, "cuCtxSetLimit", 0,
	     1024); /* the fake driver has no such function; no result depends on it */
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_non_null(
		strstr(result("SELECT message FROM diagnostic WHERE severity = 'warning'"), "cuCtxSetLimit"));
}

/* The recorder was killed: what it had committed is replayed up to its end. */
static void test_recording_without_end(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		record_add_one();
		usleep(1200000);
		trace_writer_tick(b.w);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT value FROM meta WHERE key = 'closed'"), "0");
	assert_string_equal(result("SELECT n FROM count WHERE what = 'calls'"), "8");
	assert_string_equal(result("SELECT grade FROM verdict"), "equal");
}

/* A kernel that reads managed memory: what the program's CPU code stored there is in no call. */
static void test_memory_without_calls(void **state)
{
	static const float out[4] = {9, 9, 9, 9};
	struct add_one_params p = {R, 4, 0};

	(void)state;
	open_trace();
	load_module("add_one", 2, add_one_described);
	builder_out(&b, 0, R);
	CALL(&b, "cuMemAllocManaged", HOST, 16, 1);
	launch(&p, 12, 0);
	download(R, out, 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_COULD_NOT);
	assert_string_equal(result("SELECT grade FROM verdict"), "unverified");
	assert_non_null(strstr(result("SELECT message FROM diagnostic WHERE severity = 'error'"),
			       "add_one reads managed memory"));
}

/* The trace has less than the call copied: nothing beyond it may be read. */
static void test_short_payload(void **state)
{
	static const float in[4] = {1, 2, 3, 4};
	uint64_t call;

	(void)state;
	open_trace();
	allocate(R, 4096);
	call = CALL(&b, "cuMemcpyHtoD_v2", R, HOST, 4096);
	builder_payload(&b, call, 1, "h2d", HOST, R, in, 16);
	builder_close(&b);
	replay();
	assert_logged("cuMemcpyHtoD", 0);
	assert_non_null(strstr(result("SELECT message FROM diagnostic WHERE severity = 'error'"),
			       "only 16 of the 4096 bytes"));
}

/* ---- refusals, options -------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_refuses_bad_traces(void **state)
{
	struct replay_options o = {.driver = FAKE_PATH, .quiet = true};
	char path[160];

	(void)state;
	snprintf(path, sizeof(path), "%s/text", dir);
	write_file(path,
		   "not a trace, but long enough to be looked at as if it were one, or nearly so .......\n");
	o.trace_path = path;
	assert_int_equal(replay_run(&o), REPLAY_COULD_NOT);
	o.trace_path = "/nonexistent/trace";
	assert_int_equal(replay_run(&o), REPLAY_COULD_NOT);
	record_add_one();
	builder_close(&b);
	o.trace_path = trace_path;
	o.driver = "/nonexistent/libcuda.so.1";
	assert_int_equal(replay_run(&o), REPLAY_COULD_NOT);
}

static void test_options(void **state)
{
	static const struct {
		const char *args[6];
		int status;
	} rows[] = {
		{{"replay"}, REPLAY_USAGE},
		{{"replay", "a", "b"}, REPLAY_USAGE},
		{{"replay", "--no-such-option", "a"}, REPLAY_USAGE},
		{{"replay", "--ulp", "x", "a"}, REPLAY_USAGE},
		{{"replay", "--ulp", "-1", "a"}, REPLAY_USAGE},
		{{"replay", "--rtol", "nan", "a"}, REPLAY_USAGE},
		{{"replay", "--stop-at", "0", "a"}, REPLAY_USAGE},
		{{"replay", "--inject", "kernel:5", "a"}, REPLAY_USAGE},
		{{"replay", "a", "--ulp"}, REPLAY_USAGE},
		{{"replay", "--device", "interp", "--driver", "x"}, REPLAY_USAGE},
		{{"replay", "--driver", "x", "/nonexistent/trace"}, REPLAY_COULD_NOT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *argv[7] = {0};
		int argc = 0;

		while (argc < 6 && rows[i].args[argc]) {
			argv[argc] = (char *)(uintptr_t)rows[i].args[argc];
			argc++;
		}
		assert_int_equal(cmd_replay(argc, argv), rows[i].status);
	}
}

static void test_stop_at(void **state)
{
	(void)state;
	record_add_one();
	builder_close(&b);
	assert_int_equal(replay_with((struct replay_options){.stop_at = launch_call}), REPLAY_MATCH);
	assert_logged("cuLaunchKernel", 1);
	assert_logged("cuMemcpyDtoH", 0);
}

static void test_json(void **state)
{
	static char text[65536], sql[70000];
	char path[160],
		*argv[] = {"replay", "--json", "--driver", FAKE_PATH, "-o", result_path, trace_path, NULL};
	int saved;
	FILE *f;
	size_t n;

	(void)state;
	record_add_one();
	builder_close(&b);
	setenv("FAKE_WRONG", "1", 1);
	snprintf(path, sizeof(path), "%s/json", dir);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_non_null(freopen(path, "w", stdout));
	assert_int_equal(cmd_replay(7, argv), REPLAY_DIFFERS);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	/* SQLite's own JSON reader is the judge. */
	sqlite3_snprintf(
		sizeof(sql), sql,
		"SELECT json_extract(%Q, '$.status') || json_extract(%Q, '$.differences[0].first') ||"
		" json_extract(%Q, '$.differences[0].got')",
		text, text, text);
	assert_string_equal(result(sql), "differs35.5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_match, setup),
		cmocka_unit_test_setup(test_differs, setup),
		cmocka_unit_test_setup(test_limits, setup),
		cmocka_unit_test_setup(test_hash_names_first_launch, setup),
		cmocka_unit_test_setup(test_same_addresses, setup),
		cmocka_unit_test_setup(test_translation_at_two_bases, setup),
		cmocka_unit_test_setup(test_missed_pointer, setup),
		cmocka_unit_test_setup(test_recorded_addresses_by_vmm, setup),
		cmocka_unit_test_setup(test_address_reused_while_allocating, setup),
		cmocka_unit_test_setup(test_blocking_calls_at_their_exit, setup),
		cmocka_unit_test_setup(test_staging_buffer_is_used_again, setup),
		cmocka_unit_test_setup(test_nothing_waited, setup),
		cmocka_unit_test_setup(test_polls, setup),
		cmocka_unit_test_setup(test_nested_and_in_flight, setup),
		cmocka_unit_test_setup(test_contexts_by_thread, setup),
		cmocka_unit_test_setup(test_default_stream_of_each_thread, setup),
		cmocka_unit_test_setup(test_pitched_copies, setup),
		cmocka_unit_test_setup(test_recorded_failures, setup),
		cmocka_unit_test_setup(test_new_fault, setup),
		cmocka_unit_test_setup(test_recorded_fault, setup),
		cmocka_unit_test_setup(test_code_that_the_driver_refuses, setup),
		cmocka_unit_test_setup(test_unavailable_source, setup),
		cmocka_unit_test_setup(test_driver_dies, setup),
		cmocka_unit_test_setup(test_recording_without_end, setup),
		cmocka_unit_test_setup(test_memory_without_calls, setup),
		cmocka_unit_test_setup(test_short_payload, setup),
		cmocka_unit_test_setup(test_function_that_is_not_there, setup),
		cmocka_unit_test_setup(test_refuses_bad_traces, setup),
		cmocka_unit_test_setup(test_options, setup),
		cmocka_unit_test_setup(test_stop_at, setup),
		cmocka_unit_test_setup(test_json, setup),
	};
	int rc;

	snprintf(dir, sizeof(dir), "/tmp/cutrace-test-replay-XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	snprintf(trace_path, sizeof(trace_path), "%s/trace", dir);
	snprintf(log_path, sizeof(log_path), "%s/log", dir);
	snprintf(result_path, sizeof(result_path), "%s/result.db", dir);
	setenv("FAKE_LOG", log_path, 1);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	if (!rc) {
		char command[128];

		snprintf(command, sizeof(command), "rm -r '%s'", dir);
		rc = system(command) != 0;
	}
	return rc;
}
