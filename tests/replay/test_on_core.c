/* SPDX-License-Identifier: Apache-2.0
 *
 * Replays of hand-made traces on our own libcuda.so.1 with the interpreter: exact addresses, the line that
 * stored a wrong element, refused addresses, recorded addresses by virtual memory management, variables,
 * faults.
 */
#include "scene.h"

/* Where no allocator of ours would put something by itself. */
#define R      UINT64_C(0x310000a00200)
#define GLOBAL UINT64_C(0x320000000100)

static const char ptx[] = ".version 7.0\n"
			  ".target sm_50\n"
			  ".address_size 64\n"
			  ".visible .global .align 4 .u32 counter = 5;\n"
			  /* p[tid] += 1 for tid < n */
			  ".visible .entry add_one(.param .u64 p, .param .u32 n)\n"
			  "{\n"
			  "	.reg .b64 %a<4>;\n"
			  "	.reg .b32 %r<3>;\n"
			  "	.reg .f32 %f<3>;\n"
			  "	.reg .pred %q;\n"
			  "	ld.param.u64 %a0, [p];\n"
			  "	ld.param.u32 %r0, [n];\n"
			  "	mov.u32 %r1, %tid.x;\n"
			  "	setp.ge.u32 %q, %r1, %r0;\n"
			  "	@%q bra done;\n"
			  "	mul.wide.u32 %a1, %r1, 4;\n"
			  "	add.s64 %a2, %a0, %a1;\n"
			  "	ld.global.f32 %f0, [%a2];\n"
			  "	add.f32 %f1, %f0, 0f3f800000;\n"
			  "	st.global.f32 [%a2], %f1;\n"
			  "done:\n"
			  "	ret;\n"
			  "}\n"
			  /* out[0] = sum over the list, out[1] = address of its last node */
			  ".visible .entry list_sum(.param .u64 head, .param .u64 out)\n"
			  "{\n"
			  "	.reg .b64 %a<6>;\n"
			  "	.reg .pred %q;\n"
			  "	ld.param.u64 %a0, [head];\n"
			  "	ld.param.u64 %a1, [out];\n"
			  "	mov.u64 %a2, 0;\n"
			  "next:\n"
			  "	ld.u64 %a3, [%a0+8];\n"
			  "	add.u64 %a2, %a2, %a3;\n"
			  "	mov.u64 %a4, %a0;\n"
			  "	ld.u64 %a0, [%a0];\n"
			  "	setp.ne.u64 %q, %a0, 0;\n"
			  "	@%q bra next;\n"
			  "	st.global.u64 [%a1], %a2;\n"
			  "	st.global.u64 [%a1+8], %a4;\n"
			  "	ret;\n"
			  "}\n"
			  /* p[0] = address of counter, counter += 1 */
			  ".visible .entry where(.param .u64 p)\n"
			  "{\n"
			  "	.reg .b64 %a<3>;\n"
			  "	.reg .b32 %r<2>;\n"
			  "	ld.param.u64 %a0, [p];\n"
			  "	mov.u64 %a1, counter;\n"
			  "	cvta.global.u64 %a2, %a1;\n"
			  "	st.global.u64 [%a0], %a2;\n"
			  "	ld.global.u32 %r0, [counter];\n"
			  "	add.u32 %r1, %r0, 1;\n"
			  "	st.global.u32 [counter], %r1;\n"
			  "	ret;\n"
			  "}\n"
			  /* out[0] = texel 2, out[1] = the texture's handle */
			  ".visible .entry fetch(.param .u64 out, .param .u64 t)\n"
			  "{\n"
			  "	.reg .b64 %a<2>;\n"
			  "	.reg .b32 %r<6>;\n"
			  "	ld.param.u64 %a0, [out];\n"
			  "	ld.param.u64 %a1, [t];\n"
			  "	tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%a1, {2}];\n"
			  "	cvt.u32.u64 %r4, %a1;\n"
			  "	st.global.v2.u32 [%a0], {%r0, %r4};\n"
			  "	ret;\n"
			  "}\n";

static uint64_t kernel;

/* Line (from 1) of the n-th occurrence of text. */
static int line_of(const char *text, unsigned n)
{
	const char *at = ptx;
	int line = 1;

	for (at = strstr(at, text); at && n > 1; n--)
		at = strstr(at + 1, text);
	assert_non_null(at);
	for (const char *p = ptx; p < at; p++)
		line += *p == '\n';
	return line;
}

static const struct {
	const char *name;
	unsigned nparams;
	struct trace_kernel_param params[2];
} kernels[] = {
	{"add_one",
	 2,
	 {{.name = "p",
	   .type = "u64",
	   .bytes = 8,
	   .is_pointer = true,
	   .is_read = true,
	   .is_written = true,
	   .elem_type = "f32"},
	  {.name = "n", .type = "u32", .offset = 8, .bytes = 4}}},
	{"list_sum",
	 2,
	 {{.name = "head",
	   .type = "u64",
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
	   .elem_type = "u64"}}},
	{"where",
	 1,
	 {{.name = "p",
	   .type = "u64",
	   .bytes = 8,
	   .is_pointer = true,
	   .is_written = true,
	   .elem_type = "u64"}}},
	{"fetch",
	 2,
	 {{.name = "out",
	   .type = "u64",
	   .bytes = 8,
	   .is_pointer = true,
	   .is_written = true,
	   .elem_type = "u32"},
	  {.name = "t", .type = "u64", .offset = 8, .bytes = 8, .elem_type = "texref"}}},
};

static void start(unsigned which)
{
	struct trace_kernel_param params[2];
	struct trace_image image = {.kind = "ptx", .archs = "ptx:50"};
	uint64_t call;

	memcpy(params, kernels[which].params, sizeof(params));
	builder_open(&b, trace_path);
	CALL(&b, "cuInit", 0);
	builder_out(&b, 0, CTX);
	CALL(&b, "cuCtxCreate_v2", HOST, 0, 0);
	builder_out(&b, 0, MODULE);
	call = CALL(&b, "cuModuleLoadData", HOST, HOST + 64);
	builder_payload(&b, call, 1, "image", HOST + 64, 0, ptx, sizeof(ptx));
	assert_int_equal(trace_writer_buffer(b.w, ptx, sizeof(ptx), &image.buffer), 0);
	image.ptx = image.buffer;
	assert_int_equal(trace_writer_image(b.w, &image), 0);
	b.image = image.buffer;
	kernel = builder_kernel(&b, call, MODULE, kernels[which].name, kernels[which].nparams, params);
	builder_out(&b, 0, FUNCTION);
	call = CALL(&b, "cuModuleGetFunction", HOST + 8, MODULE, HOST);
	name_memory(call, 2, kernels[which].name);
}

static uint64_t launch(const void *params, size_t bytes)
{
	uint64_t call = CALL(&b, "cuLaunchKernel", FUNCTION, 1, 1, 1, 8, 1, 1, 0, 0, HOST, 0);

	builder_launch(&b, call, kernel, params, bytes);
	return call;
}

static int replay_with(struct replay_options o)
{
	o.trace_path = trace_path;
	o.device = "interp";
	o.result_path = result_path;
	o.quiet = true;
	return replay_run(&o);
}

static int replay(void)
{
	return replay_with((struct replay_options){0});
}

static int setup(void **state)
{
	(void)state;
	unsetenv("CUTRACE_REFUSE_ADDRESSES");
	unsetenv("CUTRACE_REPLAY_NO_EXTENSION");
	return 0;
}

static const float before[8] = {1, 2, 3, 4, 5, 6, 7, 8}, once[8] = {2, 3, 4, 5, 6, 7, 8, 9},
		   twice[8] = {3, 4, 5, 6, 7, 8, 9, 10};
struct add_one_params {
	uint64_t p;
	uint32_t n, pad;
};
static uint64_t launches[2];

static void record_add_one(bool hashes)
{
	struct add_one_params p = {R, 8, 0};

	start(0);
	allocate(R, sizeof(before));
	upload(R, before, sizeof(before));
	for (int i = 0; i < 2; i++) {
		struct trace_launch_hash h = {.base = R,
					      .bytes = sizeof(once),
					      .hash = trace_hash_bytes(i ? twice : once, sizeof(once))};

		h.launch = launches[i] = launch(&p, 12);
		if (hashes)
			assert_int_equal(trace_writer_launch_hash(b.w, &h), 0);
	}
	download(R, twice, sizeof(twice));
	builder_close(&b);
}

static void test_placed(void **state)
{
	(void)state;
	record_add_one(true);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT policy || ' ' || (base = live) FROM allocation"), "placed 1");
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE grade = 'equal'"), "3");
}

/* Bit 22 of the sum of thread 3 is flipped in both launches, 5 to 7 and 8 to 12: the second stored what the
 * copy shows. */
static void test_line_that_stored(void **state)
{
	char inject[64], expected[160];

	(void)state;
	record_add_one(false);
	snprintf(inject, sizeof(inject), "add_one:%d:22:0:3", line_of("add.f32 %f1", 1));
	assert_int_equal(replay_with((struct replay_options){.inject = inject}), REPLAY_DIFFERS);
	assert_string_equal(result("SELECT first || ' ' || differing || ' ' || want FROM verdict WHERE grade "
				   "= 'differs'"),
			    "3 1 6");
	snprintf(expected, sizeof(expected), "watched add_one %d st.global.f32 [%%a2], %%f1; 0,0,0 3,0,0 %d",
		 line_of("st.global.f32", 1), (int)launches[1]);
	assert_string_equal(result("SELECT how || ' ' || kernel_name || ' ' || line || ' ' || text || ' ' || "
				   "block || ' ' ||"
				   " thread || ' ' || launch FROM store"),
			    expected);
}

static void test_first_wrong_launch(void **state)
{
	char inject[64], expected[160];

	(void)state;
	record_add_one(true);
	snprintf(inject, sizeof(inject), "add_one:%d:22:0:3", line_of("add.f32 %f1", 1));
	assert_int_equal(replay_with((struct replay_options){.inject = inject}), REPLAY_DIFFERS);
	snprintf(expected, sizeof(expected), "hash %d", (int)launches[0]);
	assert_string_equal(result("SELECT kind || ' ' || launch FROM verdict WHERE grade = 'differs' ORDER "
				   "BY id LIMIT 1"),
			    expected);
	/* The replay for the line stopped at that launch. */
	snprintf(expected, sizeof(expected), "watched %d %d", (int)launches[0], line_of("st.global.f32", 1));
	assert_string_equal(result("SELECT how || ' ' || launch || ' ' || line FROM store"), expected);
}

/* Without a watch the recorded PTX is searched. */
static void test_line_by_analysis(void **state)
{
	char inject[64], expected[160];

	(void)state;
	record_add_one(false);
	setenv("CUTRACE_REPLAY_NO_EXTENSION", "1", 1);
	snprintf(inject, sizeof(inject), "add_one:%d:22:0:3", line_of("add.f32 %f1", 1));
	assert_int_equal(replay_with((struct replay_options){.inject = inject}), REPLAY_DIFFERS);
	snprintf(expected, sizeof(expected), "analysis %d 1", line_of("st.global.f32", 1));
	assert_string_equal(result("SELECT how || ' ' || line || ' ' || count(*) FROM store"), expected);
}

static void record_list(void)
{
	const uint64_t second = R + 4096, third = R + 3 * 4096;
	const uint64_t first_nodes[4] = {second, 10, 0, 30}, second_node[2] = {R + 16, 20},
		       out[2] = {60, R + 16};
	const uint64_t params[2] = {R, third};

	start(1);
	allocate(R, 32);
	allocate(second, 16);
	allocate(third, 16);
	upload(R, first_nodes, 32);
	upload(second, second_node, 16);
	CALL(&b, "cuMemsetD8_v2", third, 0, 16);
	{
		uint64_t call = CALL(&b, "cuLaunchKernel", FUNCTION, 1, 1, 1, 1, 1, 1, 0, 0, HOST, 0);

		builder_launch(&b, call, kernel, params, sizeof(params));
	}
	download(third, out, 16);
	builder_close(&b);
}

static void test_refused_addresses_at_two_bases(void **state)
{
	(void)state;
	record_list();
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT group_concat(DISTINCT policy) FROM allocation"), "placed");
	setenv("CUTRACE_REFUSE_ADDRESSES", "1", 1);
	assert_int_equal(replay_with((struct replay_options){.verify_addresses = true}), REPLAY_MATCH);
	assert_string_equal(result("SELECT group_concat(DISTINCT policy) FROM allocation"), "translated");
	assert_string_equal(result("SELECT count(*) FROM allocation a JOIN allocation z ON a.base = z.base "
				   "WHERE a.pass = 1 AND"
				   " z.pass = 2 AND a.live <> z.live"),
			    "3");
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE pass = 2 AND grade = 'equal'"), "1");
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE grade <> 'equal'"), "0");
}

static void test_recorded_addresses_by_vmm(void **state)
{
	(void)state;
	record_list();
	setenv("CUTRACE_REPLAY_NO_EXTENSION", "1", 1);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(
		result("SELECT group_concat(DISTINCT policy) || ' ' || sum(base = live) FROM allocation"),
		"vmm 3");
}

static void test_variables_at_their_addresses(void **state)
{
	const uint64_t params[1] = {R}, out[1] = {GLOBAL};
	const uint32_t counter = 6;
	uint64_t call;

	(void)state;
	start(2);
	allocate(R, 8);
	{
		uint64_t run = CALL(&b, "cuLaunchKernel", FUNCTION, 1, 1, 1, 1, 1, 1, 0, 0, HOST, 0);

		builder_launch(&b, run, kernel, params, sizeof(params));
	}
	download(R, out, 8);
	builder_out(&b, 0, GLOBAL);
	builder_out(&b, 1, 4);
	call = CALL(&b, "cuModuleGetGlobal_v2", HOST + 8, HOST + 16, MODULE, HOST);
	name_memory(call, 3, "counter");
	download(GLOBAL, &counter, 4);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT policy FROM allocation WHERE kind = 'global'"), "placed");
}

static void record_stray(int64_t outcome)
{
	struct add_one_params p = {R, 8, 0};

	start(0);
	allocate(R, sizeof(before) - 8); /* two floats too short */
	upload(R, before, sizeof(before) - 8);
	launch(&p, 12);
	b.result = outcome;
	CALL(&b, "cuCtxSynchronize", 0);
	builder_close(&b);
}

static void test_faults(void **state)
{
	char place[64];

	(void)state;
	record_stray(700);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT grade || ' ' || kernel_name FROM verdict WHERE kind = 'fault'"),
			    "equal add_one");
	record_stray(0);
	assert_int_equal(replay(), REPLAY_DIFFERS);
	assert_string_equal(result("SELECT grade || ' ' || kernel_name FROM verdict WHERE kind = 'fault'"),
			    "fault add_one");
	snprintf(place, sizeof(place), ":%d", line_of("ld.global.f32", 1));
	assert_non_null(strstr(result("SELECT note FROM verdict WHERE kind = 'fault'"), place));
}

static void test_unknown_device(void **state)
{
	struct replay_options o = {.trace_path = trace_path, .device = "no-such-device", .quiet = true};

	(void)state;
	record_add_one(false);
	assert_int_equal(replay_run(&o), REPLAY_COULD_NOT);
}

/* The resource and the sampler as the CUDA driver API lays them out: 144 and 104 bytes. */
static void record_texture(uint64_t handle, size_t compared)
{
	const uint32_t texels[4] = {11, 22, 33, 44}, out[2] = {33, (uint32_t)handle};
	struct {
		uint32_t type, pad;
		uint64_t pointer;
		uint32_t format, channels;
		uint64_t bytes;
		uint8_t rest[112];
	} resource = {2, 0, R, 3, 1, sizeof(texels), {0}}; /* linear memory, 32-bit unsigned integers */
	const uint8_t sampler[104] = {0};
	const uint64_t params[2] = {R + 4096, handle};
	uint64_t call;

	start(3);
	allocate(R, sizeof(texels));
	allocate(R + 4096, 8);
	upload(R, texels, sizeof(texels));
	builder_out(&b, 0, handle);
	call = CALL(&b, "cuTexObjectCreate", HOST, HOST + 64, HOST + 512, 0);
	builder_memory(&b, call, 1, HOST + 64, &resource, sizeof(resource));
	builder_memory(&b, call, 2, HOST + 512, sampler, sizeof(sampler));
	launch(params, sizeof(params));
	download(R + 4096, out, compared);
	CALL(&b, "cuTexObjectDestroy", handle);
	builder_close(&b);
}

/* Our driver gives the handle that was recorded; one that it can't have is translated in the kernel's parameters. */
static void test_texture_handles(void **state)
{
	(void)state;
	record_texture(9, 8);
	assert_int_equal(replay(), REPLAY_MATCH);
	record_texture(UINT64_C(0x700000009), 4);
	assert_int_equal(replay(), REPLAY_MATCH);
	setenv("CUTRACE_REPLAY_NO_EXTENSION", "1", 1);
	record_texture(9, 4);
	assert_int_equal(replay(), REPLAY_MATCH);
}

/* Arguments that were invalid when recorded are so here too; what can't be repeated of a failed call proves nothing
 * against the replay. */
static void test_invalid_when_recorded(void **state)
{
	static const uint8_t bytes[16] = {0};
	uint64_t call;

	(void)state;
	builder_open(&b, trace_path);
	CALL(&b, "cuInit", 0);
	make_context(CTX, 0);
	b.result = 1;
	CALL(&b, "cuMemAlloc_v2", HOST, 0);
	b.result = 1;
	CALL(&b, "cuMemAlloc_v2", 0, 16);
	b.result = 1;
	CALL(&b, "cuMemAllocHost_v2", 0, 16);
	b.result = 1;
	CALL(&b, "cuMemAllocPitch_v2", HOST, HOST + 8, 0, 4, 4);
	b.result = 1;
	CALL(&b, "cuMemAddressReserve", HOST, 0, 0, 0, 0);
	b.result = 1;
	call = CALL(&b, "cuModuleLoadData", 0, HOST); /* nowhere to put the module */
	builder_payload(&b, call, 1, "image", HOST, 0, ptx, sizeof(ptx));
	b.result = 400; /* of no function: its parameters could not be recorded */
	CALL(&b, "cuLaunchKernel", 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
	b.result = 1;
	CALL(&b, "cuLaunchKernel", 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0);
	upload(allocate(R, sizeof(bytes)) ? R : 0, bytes, sizeof(bytes));
	download(R, bytes, sizeof(bytes));
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT group_concat(want) FROM verdict WHERE kind = 'result'"), "");
	assert_string_equal(result("SELECT group_concat(grade) FROM verdict"), "equal");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_placed, setup),
		cmocka_unit_test_setup(test_line_that_stored, setup),
		cmocka_unit_test_setup(test_first_wrong_launch, setup),
		cmocka_unit_test_setup(test_line_by_analysis, setup),
		cmocka_unit_test_setup(test_refused_addresses_at_two_bases, setup),
		cmocka_unit_test_setup(test_recorded_addresses_by_vmm, setup),
		cmocka_unit_test_setup(test_variables_at_their_addresses, setup),
		cmocka_unit_test_setup(test_texture_handles, setup),
		cmocka_unit_test_setup(test_faults, setup),
		cmocka_unit_test_setup(test_invalid_when_recorded, setup),
		cmocka_unit_test_setup(test_unknown_device, setup),
	};

	setenv("CUTRACE_REPLAY_LIBDIR", LIBDIR, 1);
	return scene_begin() ? scene_end(cmocka_run_group_tests(tests, NULL, NULL)) : 1;
}
