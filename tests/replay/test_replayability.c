/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be replayed, of traces whose kernels have no PTX or one that is broken.
 */
#include "scene.h"

#include "replay/replayability.h"

static void read_plan(struct replayability *p, bool isolated)
{
	struct replay_options o = {.trace_path = trace_path, .isolated = isolated};
	struct session s = {.opt = &o};

	assert_int_equal(replayability_read(p, &s, false), 0);
}

/* Three launches of a kernel without PTX, two of which have what they wrote; a call that no target makes again, and one that
 * failed. */
static void record(void)
{
	struct trace_kernel_param none = {.name = "p"};
	uint64_t load, kernel, launch;
	uint32_t data = 7;

	builder_open(&b, trace_path);
	make_context(CTX, 0);
	builder_out(&b, 0, MODULE);
	load = CALL(&b, "cuModuleLoadData", HOST, HOST);
	kernel = builder_kernel(&b, load, MODULE, "opaque", 0, &none);
	allocate(0x500000000000, 4);
	for (int i = 0; i < 3; i++) {
		launch = CALL(&b, "cuLaunchKernel", FUNCTION, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
		builder_launch(&b, launch, kernel, NULL, 0);
		if (i)
			builder_payload(&b, launch, -1, "written", 0, 0x500000000000, &data, sizeof(data));
	}
	CALL(&b, "cuProfilerStart");
	b.result = 1;
	CALL(&b, "cuMemFree_v2", 5);
	builder_close(&b);
}

static void test_opaque(void **state)
{
	struct replayability p;

	(void)state;
	record();
	read_plan(&p, true);
	assert_int_equal(p.launches[CLASS_TRANSLATABLE], 0);
	assert_int_equal(p.launches[CLASS_INJECTED], 2);
	assert_int_equal(p.launches[CLASS_REFUSED], 1);
	assert_int_equal(p.calls[CLASS_REFUSED], 1);
	assert_int_equal(p.calls[CLASS_NOT_NEEDED], 1);
	assert_int_equal(p.calls[CLASS_TRANSLATABLE], 6);
	assert_int_equal(p.nreasons, 3);
	assert_string_equal(p.reasons[0].name, "opaque");
	assert_int_equal(p.reasons[0].count, 2);
	assert_non_null(strstr(p.reasons[0].why, "machine code only"));
	assert_string_equal(p.reasons[2].name, "cuProfilerStart");
	replayability_free(&p);
	read_plan(&p, false); /* in a stream nothing stands in */
	assert_int_equal(p.launches[CLASS_INJECTED], 0);
	assert_int_equal(p.launches[CLASS_REFUSED], 3);
	replayability_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_opaque)};

	if (!scene_begin())
		return 1;
	return scene_end(cmocka_run_group_tests(tests, NULL, NULL));
}
