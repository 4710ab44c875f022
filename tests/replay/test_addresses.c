/* SPDX-License-Identifier: Apache-2.0
 * Recorded addresses: had again, had through virtual memory management, or translated. */
#include "fake.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_same_addresses, fake_setup),
		cmocka_unit_test_setup(test_translation_at_two_bases, fake_setup),
		cmocka_unit_test_setup(test_missed_pointer, fake_setup),
		cmocka_unit_test_setup(test_recorded_addresses_by_vmm, fake_setup),
	};

	return fake_begin() ? scene_end(cmocka_run_group_tests(tests, NULL, NULL)) : 1;
}
