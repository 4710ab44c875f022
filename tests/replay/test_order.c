/* SPDX-License-Identifier: Apache-2.0
 * In which order, in which context and stream calls are made. */
#include "fake.h"

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

/* A program that leaves calls by longjmp, and goes on: what it calls then looks as if called by those. */
static void test_below_calls_that_never_returned(void **state)
{
	static const float in[4] = {1, 2, 3, 4};
	uint64_t outer, left;

	(void)state;
	open_trace();
	allocate(R, 16);
	b.in_flight = true;
	left = CALL(&b, "cuMemcpyHtoD_v2", R, 8, 16);
	b.parent = left;
	b.in_flight = true;
	left = CALL(&b, "cuMemAlloc_v2", 8, 16);
	b.parent = left;
	outer = upload(R, in, 16);
	b.parent = outer;
	CALL(&b, "cuCtxSynchronize", 0);
	b.parent = left;
	download(R, in, 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_logged("cuMemcpyHtoD 16", 1);
	assert_string_equal(result("SELECT group_concat(grade) FROM verdict"), "equal");
	assert_string_equal(result("SELECT n FROM count WHERE what = 'nested'"), "1");
}

/* A damaged trace: parents in a circle. */
static void test_parents_in_a_circle(void **state)
{
	static const float in[4] = {1, 2, 3, 4};

	(void)state;
	open_trace();
	allocate(R, 16);
	b.parent = b.next;
	CALL(&b, "cuDriverGetVersion", HOST);
	b.parent = b.next + 1;
	CALL(&b, "cuDriverGetVersion", HOST);
	b.parent = b.next - 1;
	CALL(&b, "cuDriverGetVersion", HOST);
	b.parent = b.next - 1;
	upload(R, in, 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_logged("cuMemcpyHtoD 16", 1);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_address_reused_while_allocating, fake_setup),
		cmocka_unit_test_setup(test_blocking_calls_at_their_exit, fake_setup),
		cmocka_unit_test_setup(test_staging_buffer_is_used_again, fake_setup),
		cmocka_unit_test_setup(test_nothing_waited, fake_setup),
		cmocka_unit_test_setup(test_polls, fake_setup),
		cmocka_unit_test_setup(test_nested_and_in_flight, fake_setup),
		cmocka_unit_test_setup(test_below_calls_that_never_returned, fake_setup),
		cmocka_unit_test_setup(test_parents_in_a_circle, fake_setup),
		cmocka_unit_test_setup(test_contexts_by_thread, fake_setup),
		cmocka_unit_test_setup(test_default_stream_of_each_thread, fake_setup),
		cmocka_unit_test_setup(test_pitched_copies, fake_setup),
	};

	return fake_begin() ? scene_end(cmocka_run_group_tests(tests, NULL, NULL)) : 1;
}
