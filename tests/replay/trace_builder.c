/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"

void builder_open(struct builder *b, const char *path)
{
	struct trace_process p = {
		.id = 1, .pid = 100, .exe = "/bin/app", .argv_json = "[\"app\"]", .cwd = "/"};
	struct diag d = DIAG_INIT;

	memset(b, 0, sizeof(*b));
	unlink(path);
	if (trace_writer_open(&b->w, path, &d))
		fail_msg("%s", d.what);
	assert_int_equal(trace_writer_process(b->w, &p), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		struct trace_thread t = {.id = i, .process = 1, .tid = 100 + i, .name = "app"};

		assert_int_equal(trace_writer_thread(b->w, &t), 0);
	}
	b->next = 1;
	b->thread = 1;
}

void builder_close(struct builder *b)
{
	struct diag d = DIAG_INIT;

	if (trace_writer_close(b->w, &d))
		fail_msg("%s", d.what);
}

uint64_t builder_call(struct builder *b, const char *name, unsigned nargs, const uint64_t *args)
{
	struct trace_call c = {.id = b->next,
			       .thread = b->thread,
			       .parent = b->parent,
			       .t_enter = (int64_t)b->next * 10,
			       .t_exit = (int64_t)b->next * 10 + 5,
			       .seq_seen = b->seq_seen ? b->seq_seen : b->next,
			       .done = !b->in_flight,
			       .result = b->result,
			       .nargs = nargs,
			       .nouts = TRACE_MAX_OUTS,
			       .outs_valid = b->outs_valid};

	c.func = trace_writer_function(b->w, name, "cuda", api_func_find(name) != NULL, nargs, NULL);
	memcpy(c.args, args, nargs * sizeof(*args));
	memcpy(c.outs, b->outs, sizeof(c.outs));
	assert_int_equal(trace_writer_call(b->w, &c), 0);
	b->result = 0;
	b->parent = b->seq_seen = 0;
	b->in_flight = false;
	b->outs_valid = 0;
	return b->next++;
}

void builder_out(struct builder *b, unsigned slot, uint64_t value)
{
	b->outs[slot] = value;
	b->outs_valid |= 1u << slot;
}

void builder_memory(struct builder *b, uint64_t call, unsigned param, uint64_t address, const void *data,
		    size_t bytes)
{
	uint8_t block[4096] = {0};
	uint32_t n = (uint32_t)bytes, p = param;

	assert_true(bytes + 24 < sizeof(block));
	memcpy(block, &address, 8);
	memcpy(block + 8, &n, 4);
	memcpy(block + 12, &p, 4);
	memcpy(block + 16, data, bytes);
	assert_int_equal(trace_writer_call_memory(b->w, call, 0, block, 16 + ((bytes + 7) & ~(size_t)7)), 0);
}

void builder_payload_2d(struct builder *b, uint64_t call, int param, const char *kind, uint64_t address,
			uint64_t device, const void *data, size_t width, size_t height)
{
	struct trace_payload p = {.call = call,
				  .param = param,
				  .kind = kind,
				  .address = address,
				  .device_address = device,
				  .width = width,
				  .height = height,
				  .depth = 1};

	if (data)
		assert_int_equal(trace_writer_buffer(b->w, data, width * height, &p.buffer), 0);
	else
		p.note = "left out by the test";
	assert_int_equal(trace_writer_payload(b->w, &p), 0);
}

void builder_payload(struct builder *b, uint64_t call, int param, const char *kind, uint64_t address,
		     uint64_t device, const void *data, size_t bytes)
{
	builder_payload_2d(b, call, param, kind, address, device, data, bytes, 1);
}

void builder_allocation(struct builder *b, uint64_t call, uint64_t base, uint64_t bytes)
{
	struct trace_allocation a = {
		.process = 1, .base = base, .bytes = bytes, .kind = "device", .created = call};

	assert_int_equal(trace_writer_allocation(b->w, &a), 0);
}

uint64_t builder_kernel(struct builder *b, uint64_t load_call, uint64_t module, const char *name,
			unsigned nparams, struct trace_kernel_param *params)
{
	struct trace_module m = {.process = 1, .handle = module, .created = load_call, .image = b->image};
	struct trace_kernel k = {.name = name, .has_ptx = nparams > 0, .nparams = nparams, .params = params};

	assert_int_equal(trace_writer_module(b->w, &m), 0);
	k.module = m.id;
	for (unsigned i = 0; i < nparams; i++)
		k.param_bytes = params[i].offset + params[i].bytes;
	assert_int_equal(trace_writer_kernel(b->w, &k), 0);
	return k.id;
}

void builder_launch(struct builder *b, uint64_t call, uint64_t kernel, const void *params, size_t bytes)
{
	struct trace_launch l = {.call = call, .kernel = kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}};

	assert_int_equal(trace_writer_buffer(b->w, params, bytes, &l.params), 0);
	assert_int_equal(trace_writer_launch(b->w, &l), 0);
}
