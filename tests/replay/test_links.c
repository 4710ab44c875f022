/* SPDX-License-Identifier: Apache-2.0
 *
 * Replays of hand-made traces with a linker in them, on our own libcuda.so.1: inputs from memory and from files, options
 * that point into the recorded program, and what another driver's linker made.
 */
#include "scene.h"

#define LINK UINT64_C(0x5000)
#define R    UINT64_C(0x310000a00200)

#define HEAD ".version 7.0\n.target sm_50\n.address_size 64\n"

static const char caller[] = HEAD ".extern .func (.param .b32 r) seven (.param .b32 x);\n"
				  ".visible .entry put(.param .u64 p)\n"
				  "{\n"
				  "	.reg .b64 %a;\n"
				  "	.reg .b32 %r;\n"
				  "	.param .b32 x, y;\n"
				  "	ld.param.u64 %a, [p];\n"
				  "	st.param.b32 [x], 6;\n"
				  "	call (y), seven, (x);\n"
				  "	ld.param.b32 %r, [y];\n"
				  "	st.global.u32 [%a], %r;\n"
				  "	ret;\n"
				  "}\n";
/* x * 7 */
static const char callee[] = HEAD ".visible .func (.param .b32 r) seven (.param .b32 x)\n"
				  "{\n"
				  "	.reg .b32 %r;\n"
				  "	ld.param.b32 %r, [x];\n"
				  "	mul.lo.u32 %r, %r, 7;\n"
				  "	st.param.b32 [r], %r;\n"
				  "	ret;\n"
				  "}\n";
/* As far as anybody looks. */
static const unsigned char machine_code[64] = {0x7f, 'E', 'L',      'F',        2,        1,        1,
					       0x33, 7,   [16] = 2, [18] = 190, [20] = 1, [52] = 64};

/* The program's memory from HOST on: a name; an error log's buffer and its size, which point into the program. */
static void program_memory(uint64_t call, const char *name)
{
	struct {
		char name[16];
		uint32_t options[4];
		uint64_t values[2];
	} memory = {.options = {5 /* CU_JIT_ERROR_LOG_BUFFER */, 6 /* ..._SIZE_BYTES */},
		    .values = {HOST + 8192, 4096}};

	snprintf(memory.name, sizeof(memory.name), "%s", name);
	builder_memory(&b, call, 0, HOST, &memory, sizeof(memory));
}

static void begin(void)
{
	builder_open(&b, trace_path);
	CALL(&b, "cuInit", 0);
	builder_out(&b, 0, CTX);
	CALL(&b, "cuCtxCreate_v2", HOST, 0, 0);
	builder_out(&b, 0, LINK);
	/* Buffers that are not there in the replay must not be written to. */
	program_memory(CALL(&b, "cuLinkCreate_v2", 2, HOST + 16, HOST + 32, HOST), "");
}

static void add_data(const char *text, size_t bytes)
{
	uint64_t call =
		CALL(&b, "cuLinkAddData_v2", LINK, 1, HOST + 64, bytes, HOST, 2, HOST + 16, HOST + 32);

	program_memory(call, "data.ptx");
	builder_payload(&b, call, 2, "image", HOST + 64, 0, text, bytes);
}

static void add_file(const char *text, size_t bytes)
{
	uint64_t call = CALL(&b, "cuLinkAddFile_v2", LINK, 1, HOST, 0, 0, 0);

	name_memory(call, 2, "/not/on/this/machine.ptx");
	if (text)
		builder_payload(&b, call, 2, "image", HOST, 0, text, bytes);
}

static void complete(const char *kind, const void *image, size_t bytes)
{
	struct trace_image row = {.kind = kind};
	uint64_t call;

	builder_out(&b, 0, HOST + 4096);
	builder_out(&b, 1, bytes);
	call = CALL(&b, "cuLinkComplete", LINK, HOST, HOST + 8);
	builder_payload(&b, call, 1, "image", HOST + 4096, 0, image, bytes);
	assert_int_equal(trace_writer_buffer(b.w, image, bytes, &row.buffer), 0);
	assert_int_equal(trace_writer_image(b.w, &row), 0);
	b.image = row.buffer;
}

/* The module that was made of the image puts 42 at R. */
static void load_and_launch(const void *image, size_t bytes)
{
	struct trace_kernel_param p = {.name = "p",
				       .type = "u64",
				       .bytes = 8,
				       .is_pointer = true,
				       .is_written = true,
				       .elem_type = "u32"};
	const uint64_t params[1] = {R};
	const uint32_t result_word = 42;
	uint64_t call, kernel;

	builder_out(&b, 0, MODULE);
	call = CALL(&b, "cuModuleLoadData", HOST, HOST + 4096);
	builder_payload(&b, call, 1, "image", HOST + 4096, 0, image, bytes);
	kernel = builder_kernel(&b, call, MODULE, "put", 1, &p);
	CALL(&b, "cuLinkDestroy", LINK);
	builder_out(&b, 0, FUNCTION);
	call = CALL(&b, "cuModuleGetFunction", HOST + 8, MODULE, HOST);
	name_memory(call, 2, "put");
	allocate(R, 4);
	call = CALL(&b, "cuLaunchKernel", FUNCTION, 1, 1, 1, 1, 1, 1, 0, 0, HOST, 0);
	builder_launch(&b, call, kernel, params, sizeof(params));
	download(R, &result_word, 4);
	builder_close(&b);
}

static int replay(void)
{
	return replay_run(&(struct replay_options){
		.trace_path = trace_path, .device = "interp", .result_path = result_path, .quiet = true});
}

/* The recorded image is machine code: the replay's own linker makes the module. */
static void test_machine_code_of_another_linker(void **state)
{
	(void)state;
	begin();
	add_data(caller, sizeof(caller));
	add_file(callee, sizeof(callee) - 1); /* a file has no NUL at its end */
	complete("cubin", machine_code, sizeof(machine_code));
	load_and_launch(machine_code, sizeof(machine_code));
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE grade = 'equal'"), "1");
}

/* It is PTX: that text is loaded, so that its lines are those of the trace. */
static void test_recorded_ptx(void **state)
{
	static const char whole[] =
		HEAD ".visible .entry put(.param .u64 p)\n{\n	.reg .b64 %a;\n"
		     "	ld.param.u64 %a, [p];\n	st.global.u32 [%a], 42;\n	ret;\n}\n";

	(void)state;
	begin();
	add_data(caller, sizeof(caller));
	add_data(callee, sizeof(callee));
	complete("ptx", whole, sizeof(whole));
	load_and_launch(whole, sizeof(whole));
	assert_int_equal(replay(), REPLAY_MATCH);
}

/* What was linked is not in the trace: said, and the launch is not replayed. */
static void test_input_missing(void **state)
{
	(void)state;
	begin();
	add_data(caller, sizeof(caller));
	add_file(NULL, 0);
	complete("cubin", machine_code, sizeof(machine_code));
	load_and_launch(machine_code, sizeof(machine_code));
	assert_int_not_equal(replay(), REPLAY_MATCH);
	assert_string_equal(
		result("SELECT count(*) > 0 FROM diagnostic WHERE message LIKE '%cuLinkAddFile_v2 was not "
		       "replayed: what it links can''t be read%'"),
		"1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machine_code_of_another_linker),
		cmocka_unit_test(test_recorded_ptx),
		cmocka_unit_test(test_input_missing),
	};

	setenv("CUTRACE_REPLAY_LIBDIR", LIBDIR, 1);
	return scene_begin() ? scene_end(cmocka_run_group_tests(tests, NULL, NULL)) : 1;
}
