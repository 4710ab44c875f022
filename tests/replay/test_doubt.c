/* SPDX-License-Identifier: Apache-2.0
 *
 * When a replay must not say "match", and traces that say what can't be true. On the fake driver of
 * fake_cuda.c; what is asserted is its log and the result database.
 */
#include "fake.h"

static void download_on(uint64_t stream, uint64_t src, const void *data, size_t bytes)
{
	uint64_t call = CALL(&b, "cuMemcpyDtoHAsync_v2", HOST, src, bytes, stream);

	builder_payload(&b, call, 0, "d2h", HOST, src, data, bytes);
}

static int close_and_replay(void)
{
	builder_close(&b);
	return replay();
}

/* ---- tests -------------------------------------------------------------- */

/* Whatever its status: without the end of the process nothing is known. */
static void test_driver_exits(void **state)
{
	static const char *const statuses[] = {"1", "98", "125", "256"}; /* 256 is 0 to the parent */

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		open_trace();
		CALL(&b, "cuCtxSynchronize", 0);
		setenv("FAKE_EXIT", statuses[i], 1);
		assert_int_equal(close_and_replay(), REPLAY_COULD_NOT);
		assert_string_equal(result("SELECT count(*) FROM diagnostic WHERE severity = 'fatal'"), "1");
	}
	unsetenv("FAKE_EXIT");
	open_trace();
	CALL(&b, "cuCtxSynchronize", 0);
	assert_int_equal(close_and_replay(), REPLAY_MATCH);
}

/* The recorded bytes are zeros, as a buffer is that nobody filled. */
static void test_failed_download_of_zeros(void **state)
{
	static const uint8_t zeros[16];

	(void)state;
	for (int async = 0; async < 2; async++) {
		open_trace();
		allocate(R, 16);
		upload(R, zeros, 16);
		if (async)
			download_on(0, R, zeros, 16);
		else
			download(R, zeros, 16);
		setenv("FAKE_NO_COPY", "1", 1);
		assert_int_equal(close_and_replay(), REPLAY_COULD_NOT);
		assert_string_equal(result("SELECT grade || ' ' || note FROM verdict"),
				    "unverified CUDA_ERROR_INVALID_VALUE");
	}
}

static void test_refused_download_of_zeros(void **state)
{
	static const uint8_t zeros[16];

	(void)state;
	open_trace();
	allocate(R, 16);
	download_on(0x4000, R, zeros, 16); /* a stream that nothing made */
	assert_int_equal(close_and_replay(), REPLAY_COULD_NOT);
	assert_string_equal(result("SELECT group_concat(DISTINCT grade) FROM verdict"), "unverified");
	assert_logged("cuMemcpyDtoHAsync", 0);
}

static void test_wait_for_download_fails(void **state)
{
	static const uint8_t zeros[16];

	(void)state;
	open_trace();
	allocate(R, 16);
	download_on(0, R, zeros, 16); /* nothing recorded waits for it */
	setenv("FAKE_SYNC_FAILS", "1", 1);
	assert_int_equal(close_and_replay(), REPLAY_COULD_NOT);
	assert_string_equal(result("SELECT grade FROM verdict"), "unverified");
}

/* Stream NULL of one context is not stream NULL of another. */
static void test_default_streams_of_two_contexts(void **state)
{
	static const uint32_t one[4] = {1, 2, 3, 4}, two[4] = {5, 6, 7, 8};

	(void)state;
	open_trace();
	allocate(R, 16);
	upload(R, one, 16);
	download_on(0, R, one, 16);
	make_context(0x1100, 0);
	allocate(R + 512, 16);
	upload(R + 512, two, 16);
	download_on(0, R + 512, two, 16);
	CALL(&b, "cuStreamSynchronize", 0);
	CALL(&b, "cuCtxSetCurrent", 0x1000);
	CALL(&b, "cuStreamSynchronize", 0);
	assert_int_equal(close_and_replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT group_concat(call || ' ' || grade) FROM (SELECT * FROM verdict "
				   "ORDER BY id)"),
			    "9 equal,5 equal");
}

/* The address right behind an allocation is not that allocation, nor is one inside it. */
static void test_free_of_unknown_address(void **state)
{
	static const uint32_t data[4] = {1, 2, 3, 4};
	static const uint64_t strange[] = {R + 512, R + 16};

	(void)state;
	for (int vmm = 0; vmm < 2; vmm++)
		for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
			open_trace();
			allocate(R, 512);
			upload(R, data, 16);
			CALL(&b, "cuMemFree_v2", strange[i]);
			download(R, data, 16);
			setenv("FAKE_VMM", vmm ? "1" : "0", 1);
			assert_int_equal(close_and_replay(), REPLAY_MATCH);
			assert_logged("cuMemFree", 0);
			assert_logged("cuMemUnmap", 0);
			assert_string_equal(
				result("SELECT count(*) FROM diagnostic WHERE severity = "
				       "'warning' AND message LIKE 'cuMemFree_v2 was not replayed%'"),
				"1");
		}
}

/* CUDA_MEMCPY2D; CU_MEMORYTYPE_HOST is 1, DEVICE 2. */
struct copy2d {
	uint64_t src_x, src_y, src_type, src_host, src_device, src_array, src_pitch;
	uint64_t dst_x, dst_y, dst_type, dst_host, dst_device, dst_array, dst_pitch, width, height;
};

/* The row of the payload has another shape than the struct: rows would lie 1 MiB apart in 1 KiB. */
static void test_payload_of_another_shape(void **state)
{
	static uint8_t data[64 * 16];
	const struct copy2d m = {.src_type = 2,
				 .src_device = R,
				 .src_pitch = 16,
				 .dst_type = 1,
				 .dst_host = HOST + 4096,
				 .dst_pitch = 16,
				 .width = 16,
				 .height = 64};
	struct trace_payload p = {.kind = "d2h",
				  .address = HOST + 4096,
				  .device_address = R,
				  .width = 1 << 20,
				  .height = 1,
				  .depth = 1};

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	open_trace();
	allocate(R, sizeof(data));
	upload(R, data, sizeof(data));
	p.call = CALL(&b, "cuMemcpy2D_v2", HOST);
	builder_memory(&b, p.call, 0, HOST, &m, sizeof(m));
	assert_int_equal(trace_writer_buffer(b.w, data, sizeof(data), &p.buffer), 0);
	assert_int_equal(trace_writer_payload(b.w, &p), 0);
	assert_int_equal(close_and_replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT grade || ' ' || bytes FROM verdict"), "equal 1024");
}

/* A graph's buffers live while it or what was instantiated from it does, and no longer. */
static void test_captured_copies_end_with_their_graph(void **state)
{
	static const uint32_t data[4] = {1, 2, 3, 4};
	const uint64_t stream = 0x4000, graph = 0x5000, exec = 0x5100;

	(void)state;
	for (int destroyed = 0; destroyed < 2; destroyed++) {
		open_trace();
		allocate(R, 16);
		upload(R, data, 16);
		builder_out(&b, 0, stream);
		CALL(&b, "cuStreamCreate", HOST, 0);
		for (int i = 0; i < 3; i++) { /* the handles are given again */
			CALL(&b, "cuStreamBeginCapture_v2", stream, 0);
			download_on(stream, R, data, 16);
			builder_out(&b, 0, graph);
			CALL(&b, "cuStreamEndCapture", stream, HOST);
			builder_out(&b, 0, exec);
			CALL(&b, "cuGraphInstantiateWithFlags", HOST, graph, 0);
			CALL(&b, "cuGraphDestroy", graph);
			CALL(&b, "cuGraphLaunch", exec, stream);
			if (i < 2 || destroyed)
				CALL(&b, "cuGraphExecDestroy", exec);
		}
		CALL(&b, "cuStreamSynchronize", stream);
		assert_int_equal(close_and_replay(), REPLAY_MATCH);
		assert_logged("cuGraphLaunch of 1", 3);
		assert_string_equal(result("SELECT n FROM count WHERE what = 'captured'"), "3");
		assert_string_equal(result("SELECT n FROM count WHERE what = 'captured_alive'"),
				    destroyed ? "0" : "1");
	}
}

static void upload_per_thread(uint64_t dst, const void *data, size_t bytes)
{
	uint64_t call = CALL(&b, "cuMemcpyHtoDAsync_v2_ptsz", dst, HOST, bytes, 0);

	builder_payload(&b, call, 1, "h2d", HOST, dst, data, bytes);
}

/* Each thread has one in each context, and a context's handle may be given again. */
static void test_default_streams_of_threads(void **state)
{
	static const uint32_t data[4] = {1, 2, 3, 4};
	struct trace_thread far = {.id = 65537, .process = 1, .tid = 300, .name = "app"};

	(void)state;
	open_trace();
	assert_int_equal(trace_writer_thread(b.w, &far), 0);
	allocate(R, 16);
	upload_per_thread(R, data, 16);
	b.thread = far.id;
	CALL(&b, "cuCtxSetCurrent", 0x1000);
	upload_per_thread(R, data, 16);
	upload_per_thread(R, data, 16);
	assert_int_equal(close_and_replay(), REPLAY_MATCH);
	assert_logged("cuStreamCreate 0", 2);

	open_trace();
	allocate(R, 16);
	upload_per_thread(R, data, 16);
	CALL(&b, "cuCtxDestroy_v2", 0x1000);
	make_context(0x1000, 0);
	allocate(R, 16);
	upload_per_thread(R, data, 16);
	assert_int_equal(close_and_replay(), REPLAY_MATCH);
	assert_logged("cuStreamCreate 0", 2);
}

/* Appends (address, bytes, parameter, data) of 8-byte words to a block of call memory. */
static uint64_t *put_words(uint64_t *at, uint64_t address, uint32_t param, const uint64_t *words, uint32_t n)
{
	const uint32_t head[2] = {n * 8, param};

	at[0] = address;
	memcpy(&at[1], head, 8);
	memcpy(&at[2], words, n * UINT64_C(8));
	return at + 2 + n;
}

static void record_graph_nodes(uint64_t before, uint64_t after)
{
	const uint64_t graph = 0x5000, at = UINT64_C(0x7f0000000000), count = HOST + 64;
	uint64_t *block = calloc(after + 5, 8), *nodes = calloc(after, 8), *end, call;

	assert_non_null(block);
	assert_non_null(nodes);
	open_trace();
	builder_out(&b, 0, 0x4000);
	CALL(&b, "cuStreamCreate", HOST, 0);
	CALL(&b, "cuStreamBeginCapture_v2", 0x4000, 0);
	builder_out(&b, 0, graph);
	CALL(&b, "cuStreamEndCapture", 0x4000, HOST);
	call = CALL(&b, "cuGraphGetNodes", graph, at, count);
	builder_memory(&b, call, 2, count, &before, sizeof(before));
	for (uint64_t i = 0; i < after; i++)
		nodes[i] = 0x6000 + i;
	end = put_words(block, at, 1, nodes, (uint32_t)after);
	end = put_words(end, count, 2, &after, 1);
	assert_int_equal(trace_writer_call_memory(b.w, call, 1, block, (size_t)(end - block) * 8), 0);
	free(block);
	free(nodes);
}

/* Each handle of an array is known afterwards, not only the first. */
static void test_array_of_handles(void **state)
{
	(void)state;
	record_graph_nodes(3, 3);
	CALL(&b, "cuGraphDestroyNode", 0x6002);
	CALL(&b, "cuGraphDestroyNode", 0x6000);
	assert_int_equal(close_and_replay(), REPLAY_MATCH);
	assert_logged("cuGraphDestroyNode a002", 1);
	assert_logged("cuGraphDestroyNode a000", 1);
}

/* Room for the answer was made by the count before the call: reading more is seen by the sanitizers. */
static void test_more_answers_than_room(void **state)
{
	(void)state;
	record_graph_nodes(1, 1 << 14);
	assert_int_equal(close_and_replay(), REPLAY_MATCH);
}

/* An image is kept as long as something is loaded from it: a program that compiles as it runs has any number. */
static void test_images_end_with_their_modules(void **state)
{
	char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n// 0\n";
	uint64_t load;

	(void)state;
	open_trace();
	for (unsigned i = 0; i < 8; i++) {
		image[sizeof(image) - 3] = (char)('0' + i / 2); /* each twice at a time */
		builder_out(&b, 0, 0x2000 + i % 2);
		load = CALL(&b, "cuModuleLoadData", HOST, HOST + 64);
		builder_payload(&b, load, 1, "image", HOST + 64, 0, image, sizeof(image));
		if (i % 2) {
			CALL(&b, "cuModuleUnload", 0x2000);
			CALL(&b, "cuModuleUnload", 0x2001);
		}
	}
	builder_out(&b, 0, 0x2000);
	load = CALL(&b, "cuModuleLoadData", HOST, HOST + 64);
	builder_payload(&b, load, 1, "image", HOST + 64, 0, image, sizeof(image));
	assert_int_equal(close_and_replay(), REPLAY_MATCH);
	assert_logged("cuModuleLoadData", 9);
	assert_string_equal(result("SELECT n FROM count WHERE what = 'images_alive'"), "1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_driver_exits, fake_setup),
		cmocka_unit_test_setup(test_failed_download_of_zeros, fake_setup),
		cmocka_unit_test_setup(test_refused_download_of_zeros, fake_setup),
		cmocka_unit_test_setup(test_wait_for_download_fails, fake_setup),
		cmocka_unit_test_setup(test_default_streams_of_two_contexts, fake_setup),
		cmocka_unit_test_setup(test_free_of_unknown_address, fake_setup),
		cmocka_unit_test_setup(test_payload_of_another_shape, fake_setup),
		cmocka_unit_test_setup(test_captured_copies_end_with_their_graph, fake_setup),
		cmocka_unit_test_setup(test_default_streams_of_threads, fake_setup),
		cmocka_unit_test_setup(test_array_of_handles, fake_setup),
		cmocka_unit_test_setup(test_more_answers_than_room, fake_setup),
		cmocka_unit_test_setup(test_images_end_with_their_modules, fake_setup),
	};

	return fake_begin() ? scene_end(cmocka_run_group_tests(tests, NULL, NULL)) : 1;
}
