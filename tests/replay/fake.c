/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

uint64_t kernel, launch_call, download_call;

bool fake_begin(void)
{
	if (!scene_begin())
		return false;
	setenv("FAKE_LOG", log_path, 1);
	return true;
}

int fake_setup(void **state)
{
	static const char *const variables[] = {"FAKE_BASE",    "FAKE_WRONG",   "FAKE_FAULT",
						"FAKE_NO_CODE", "FAKE_DIE",     "FAKE_VMM",
						"FAKE_EXIT",    "FAKE_NO_COPY", "FAKE_SYNC_FAILS"};

	(void)state;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	return 0;
}

uint64_t load_module(const char *kernel_name, unsigned nparams, struct trace_kernel_param *params)
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

uint64_t launch(const void *params, size_t bytes, uint64_t stream)
{
	uint64_t call = CALL(&b, "cuLaunchKernel", FUNCTION, 1, 2, 3, 4, 5, 6, 7, stream, HOST, 0);

	builder_launch(&b, call, kernel, params, bytes);
	return call;
}

struct trace_kernel_param add_one_described[2] = {
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

void open_trace(void)
{
	builder_open(&b, trace_path);
	CALL(&b, "cuInit", 0);
	make_context(CTX, 0);
}

/* cuInit, context, module, one buffer of four floats, add_one: ids 1 to 8. */
void record_add_one(void)
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

int replay_with(struct replay_options o)
{
	o.trace_path = trace_path;
	o.driver = FAKE_PATH;
	o.result_path = result_path;
	o.quiet = true;
	unlink(log_path);
	return replay_run(&o);
}

int replay(void)
{
	return replay_with((struct replay_options){0});
}

char *log_text(void)
{
	static char text[65536];
	FILE *f = fopen(log_path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	return text;
}

void assert_order(const char *first, const char *second)
{
	const char *a = strstr(log_text(), first), *z = strstr(log_text(), second);

	if (!a || !z || a >= z)
		fail_msg("'%s' does not come before '%s' in:\n%s", first, second, log_text());
}

void assert_logged(const char *line, unsigned times)
{
	unsigned n = 0;

	for (const char *p = log_text(); (p = strstr(p, line)); p += strlen(line))
		n++;
	if (n != times)
		fail_msg("'%s' occurs %u times, not %u, in:\n%s", line, n, times, log_text());
}
