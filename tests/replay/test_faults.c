/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults that the recording did not have, on our own driver: the kernel that faults is named with its line, what
 * depends on it is not judged, everything else is compared as if nothing had happened.
 */
#include "scene.h"

#define R     UINT64_C(0x310000a00200)
#define X     R
#define Y     (R + 0x1000)
#define Z     (R + 0x2000)
#define LIST  (R + 0x3000)
#define BYTES 32u

static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
			  ".visible .global .align 4 .f32 scale = 0f40000000;\n"
/* A kernel over p (and q): thread i works on element i. */
#define ENTRY(name, params)                                      \
	".visible .entry " name "(" params ")\n{\n"              \
	".reg .b64 %a<8>;\n.reg .b32 %r<3>;\n.reg .f32 %f<4>;\n" \
	"mov.u32 %r0, %tid.x;\nmul.wide.u32 %a1, %r0, 4;\n"
	/* p[i] *= 2 */
	ENTRY("twice", ".param .u64 p") "ld.param.u64 %a0, [p];\nadd.s64 %a2, %a0, %a1;\nld.global.f32 %f0, "
					"[%a2];\nadd.f32 %f1, %f0, %f0;\n"
					"st.global.f32 [%a2], %f1;\nret;\n}\n"
	/* p[i] += 1 */
	ENTRY("add_one",
	      ".param .u64 p") "ld.param.u64 %a0, [p];\nadd.s64 %a2, %a0, %a1;\nld.global.f32 %f0, [%a2];\n"
			       "add.f32 %f1, %f0, 0f3f800000;\nst.global.f32 [%a2], %f1;\nret;\n}\n"
	/* q[i] = p[i] */
	ENTRY("move", ".param .u64 p, .param .u64 q") "ld.param.u64 %a0, [p];\nadd.s64 %a2, %a0, "
						      "%a1;\nld.global.f32 %f0, [%a2];\n"
						      "ld.param.u64 %a3, [q];\nadd.s64 %a4, %a3, "
						      "%a1;\nst.global.f32 [%a4], %f0;\nret;\n}\n"
	/* q[i] = (*p)[i]: through a pointer in memory */
	ENTRY("follow",
	      ".param .u64 p, .param .u64 q") "ld.param.u64 %a0, [p];\nld.global.u64 %a5, [%a0];\nadd.s64 "
					      "%a2, %a5, %a1;\nld.global.f32 %f0, [%a2];\n"
					      "ld.param.u64 %a3, [q];\nadd.s64 %a4, %a3, %a1;\nst.global.f32 "
					      "[%a4], %f0;\nret;\n}\n"
	/* scale = p[i]; and q[i] = scale */
	ENTRY("set_scale",
	      ".param .u64 p") "ld.param.u64 %a0, [p];\nadd.s64 %a2, %a0, %a1;\nld.global.f32 %f0, [%a2];\n"
			       "st.global.f32 [scale], %f0;\nret;\n}\n" ENTRY(
				       "get_scale",
				       ".param .u64 q") "ld.param.u64 %a3, [q];\nadd.s64 %a4, %a3, "
							"%a1;\nld.global.f32 %f0, [scale];\n"
							"st.global.f32 [%a4], %f0;\nret;\n}\n";

#define POINTER(at, reads, writes)                                                                          \
	{                                                                                                   \
		.name = "p", .type = "u64", .offset = at, .bytes = 8, .is_pointer = true, .is_read = reads, \
		.is_written = writes, .elem_type = "f32"                                                    \
	}
enum { TWICE, ADD_ONE, MOVE, FOLLOW, SET_SCALE, GET_SCALE, NKERNELS };
static struct described {
	const char *name;
	unsigned nparams;
	struct trace_kernel_param params[2];
	uint64_t row;
} kernels[NKERNELS] = {
	{"twice", 1, {POINTER(0, true, true)}, 0},
	{"add_one", 1, {POINTER(0, true, true)}, 0},
	{"move", 2, {POINTER(0, true, false), POINTER(8, false, true)}, 0},
	{"follow", 2, {POINTER(0, true, false), POINTER(8, false, true)}, 0},
	{"set_scale", 1, {POINTER(0, true, false)}, 0},
	{"get_scale", 1, {POINTER(0, false, true)}, 0},
};

static const float one_to_eight[8] = {1, 2, 3, 4, 5, 6, 7, 8}, doubled[8] = {2, 4, 6, 8, 10, 12, 14, 16},
		   plus_one[8] = {2, 3, 4, 5, 6, 7, 8, 9};

/* The line of kernel TWICE whose result is the offset of an element: bit 40 of it leads nowhere. */
static const char *injection(void)
{
	static char text[64];
	const char *at = strstr(strstr(ptx, ".entry twice"), "mul.wide");
	int line = 1;

	for (const char *p = ptx; p < at; p++)
		line += *p == '\n';
	snprintf(text, sizeof(text), "twice:%d:40", line);
	return text;
}

/* The line that faults then: the load, three below. */
static int faulting_line(void)
{
	return atoi(strchr(injection(), ':') + 1) + 3;
}

static void start(void)
{
	struct trace_image image = {.kind = "ptx", .archs = "ptx:50"};
	uint64_t load;

	builder_open(&b, trace_path);
	CALL(&b, "cuInit", 0);
	make_context(CTX, 0);
	builder_out(&b, 0, MODULE);
	load = CALL(&b, "cuModuleLoadData", HOST, HOST + 64);
	builder_payload(&b, load, 1, "image", HOST + 64, 0, ptx, sizeof(ptx));
	assert_int_equal(trace_writer_buffer(b.w, ptx, sizeof(ptx), &image.buffer), 0);
	image.ptx = image.buffer;
	assert_int_equal(trace_writer_image(b.w, &image), 0);
	b.image = image.buffer;
	for (unsigned i = 0; i < NKERNELS; i++) {
		kernels[i].row = builder_kernel(&b, load, MODULE, kernels[i].name, kernels[i].nparams,
						kernels[i].params);
		builder_out(&b, 0, FUNCTION + i);
		name_memory(CALL(&b, "cuModuleGetFunction", HOST + 8, MODULE, HOST), 2, kernels[i].name);
	}
	for (unsigned i = 0; i < 4; i++)
		allocate(R + i * 0x1000u, BYTES);
	upload(X, one_to_eight, BYTES);
	upload(Y, one_to_eight, BYTES);
}

static uint64_t launch(unsigned which, uint64_t p, uint64_t q)
{
	const uint64_t params[2] = {p, q};
	uint64_t call = CALL(&b, "cuLaunchKernel", FUNCTION + which, 1, 1, 1, 8, 1, 1, 0, 0, HOST, 0);

	builder_launch(&b, call, kernels[which].row, params, 8 * kernels[which].nparams);
	return call;
}

static int replay_with(const char *inject)
{
	struct replay_options o = {.trace_path = trace_path,
				   .device = "interp",
				   .result_path = result_path,
				   .inject = inject,
				   .quiet = true};

	return replay_run(&o);
}

/* Both ways: as recorded it matches, which shows that the trace is right. */
static void replay_faulty(void)
{
	builder_close(&b);
	assert_int_equal(replay_with(NULL), REPLAY_MATCH);
	assert_int_equal(replay_with(injection()), REPLAY_DIFFERS);
}

static const char *grade(uint64_t call)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "SELECT group_concat(grade) FROM verdict WHERE kind = 'copy' AND call = %d", (int)call);
	return result(sql);
}

static void test_independent_buffers(void **state)
{
	uint64_t faulty, x, y, z;
	char expected[160];

	(void)state;
	start();
	faulty = launch(TWICE, X, 0);
	launch(MOVE, X, Z);
	launch(ADD_ONE, Y, 0);
	x = download(X, doubled, BYTES);
	y = download(Y, plus_one, BYTES);
	z = download(Z, doubled, BYTES);
	replay_faulty();
	snprintf(expected, sizeof(expected),
		 "fault %d twice CUDA_ERROR_ILLEGAL_ADDRESS %d ld.global.f32 %%f0, [%%a2];", (int)faulty,
		 faulting_line());
	assert_string_equal(result("SELECT group_concat(grade || ' ' || launch || ' ' || kernel_name || ' ' "
				   "|| got || ' ' "
				   "|| line || ' ' || text) FROM verdict WHERE kind = 'fault'"),
			    expected);
	assert_string_equal(grade(x), "unverified");
	assert_string_equal(grade(z), "unverified"); /* made of X */
	assert_string_equal(grade(y), "equal");
	snprintf(expected, sizeof(expected),
		 "may depend on the launch of call %d (twice), which is left out because of a fault",
		 (int)faulty);
	assert_string_equal(result("SELECT DISTINCT note FROM verdict WHERE grade = 'unverified'"), expected);
	assert_string_equal(result("SELECT n FROM count WHERE what = 'launches_left_out'"), "1");
	assert_string_equal(result("SELECT n FROM count WHERE what = 'launches'"), "2");
	assert_string_equal(result("SELECT count(*) FROM diagnostic WHERE severity IN ('error', 'fatal')"),
			    "0");
}

/* A difference elsewhere is found all the same, and its line. */
static void test_difference_beside_a_fault(void **state)
{
	uint64_t y;

	(void)state;
	start();
	launch(TWICE, X, 0);
	launch(ADD_ONE, Y, 0);
	y = download(Y, one_to_eight, BYTES); /* as if the recording driver had not added */
	builder_close(&b);
	assert_int_equal(replay_with(injection()), REPLAY_DIFFERS);
	assert_string_equal(grade(y), "differs");
	assert_string_equal(result("SELECT kernel_name || ' ' || how FROM store"), "add_one watched");
}

/* What is overwritten as a whole is good again; in part it is not. */
static void test_doubt_ends(void **state)
{
	uint64_t part, whole;

	(void)state;
	start();
	launch(TWICE, X, 0);
	upload(X, one_to_eight, BYTES / 2);
	part = download(X + BYTES / 2, doubled + 4, BYTES / 2);
	upload(X, one_to_eight, BYTES);
	launch(ADD_ONE, X, 0);
	whole = download(X, plus_one, BYTES);
	replay_faulty();
	assert_string_equal(grade(part), "unverified");
	assert_string_equal(grade(whole), "equal");
}

/* From device to device, whole and back. */
static void test_copies_carry_doubt(void **state)
{
	uint64_t y, z;

	(void)state;
	start();
	launch(TWICE, X, 0);
	CALL(&b, "cuMemcpyDtoD_v2", Z, X, BYTES);
	z = download(Z, doubled, BYTES);
	CALL(&b, "cuMemcpyDtoD_v2", X, Y, BYTES);
	y = download(X, one_to_eight, BYTES);
	replay_faulty();
	assert_string_equal(grade(z), "unverified");
	assert_string_equal(grade(y), "equal");
}

/* What can't be followed by parameters is in doubt: pointers in memory, variables. */
static void test_hidden_ways(void **state)
{
	const uint64_t node[4] = {X};
	uint64_t z, scale, y;

	(void)state;
	start();
	upload(LIST, node, BYTES);
	launch(TWICE, X, 0);
	launch(FOLLOW, LIST, Z);
	z = download(Z, doubled, BYTES);
	launch(ADD_ONE, Y, 0);
	y = download(Y, plus_one, BYTES);
	replay_faulty();
	assert_string_equal(grade(z), "unverified");
	assert_string_equal(grade(y), "equal");

	start();
	upload(Z, doubled, BYTES);
	launch(TWICE, X, 0);
	launch(SET_SCALE, X + BYTES - 32, 0);
	launch(GET_SCALE, Y, 0);
	scale = download(Y, doubled, 4);
	builder_close(&b);
	assert_int_equal(replay_with(injection()), REPLAY_DIFFERS);
	assert_string_equal(grade(scale), "unverified");
}

/* Each launch of the kernel faults: after some of them it is not tried any more. */
static void test_many_faults(void **state)
{
	uint64_t y;

	(void)state;
	start();
	for (int i = 0; i < 40; i++) {
		launch(TWICE, X, 0);
		launch(ADD_ONE, Y, 0);
		upload(Y, one_to_eight, BYTES);
	}
	launch(ADD_ONE, Y, 0);
	y = download(Y, plus_one, BYTES);
	replay_faulty();
	assert_string_equal(grade(y), "equal");
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE kind = 'fault'"), "3");
	assert_string_equal(result("SELECT n FROM count WHERE what = 'launches_left_out'"), "40");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_independent_buffers), cmocka_unit_test(test_difference_beside_a_fault),
		cmocka_unit_test(test_doubt_ends),          cmocka_unit_test(test_copies_carry_doubt),
		cmocka_unit_test(test_hidden_ways),         cmocka_unit_test(test_many_faults),
	};

	setenv("CUTRACE_REPLAY_LIBDIR", LIBDIR, 1);
	return scene_begin() ? scene_end(cmocka_run_group_tests(tests, NULL, NULL)) : 1;
}
