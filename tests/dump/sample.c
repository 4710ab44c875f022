/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"

/* Layouts and numbers below are the driver API's public ones, written as offsets on purpose: they don't come
 * from the tables under test. */

#define HOST  0x7ffd00001000ull /* addresses of the program */
#define DEV_A 0x550000000000ull
#define DEV_B 0x550000002000ull

enum { CTX = 0x5581000, STREAM = 0x5582000, MODULE = 0x5583000, FUNCTION = 0x5584000, EVENT = 0x5585000 };

const char sample_ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry saxpy() { ret; }\n";

struct sample {
	struct trace_writer *w;
	uint64_t id;
};

static void must(int rc)
{
	if (rc) {
		fprintf(stderr, "sample: a writer's call failed with %d\n", rc);
		abort();
	}
}

struct call_spec {
	const char *function;
	unsigned nargs;
	uint64_t args[12];
	unsigned nouts;
	uint64_t outs[4];
	int64_t result;
	bool in_flight, unknown;
	uint32_t thread;
	uint64_t parent;
};

static uint64_t put_call(struct sample *s, const struct call_spec *c)
{
	struct trace_call row = {
		.id = ++s->id,
		.thread = c->thread ? c->thread : 1,
		.parent = c->parent,
		.func = trace_writer_function(s->w, c->function, "cuda", !c->unknown,
					      c->unknown ? 0 : c->nargs, NULL),
		.t_enter = (int64_t)s->id * 1000000,
		.t_exit = (int64_t)s->id * 1000000 + 2500,
		.seq_seen = s->id,
		.done = !c->in_flight,
		.result = c->result,
		.nargs = c->nargs,
		.nouts = c->nouts,
		.outs_valid = (1u << c->nouts) - 1,
	};

	memcpy(row.args, c->args, sizeof(c->args));
	memcpy(row.outs, c->outs, sizeof(c->outs));
	must(trace_writer_call(s->w, &row));
	return s->id;
}

#define CALL(...) put_call(s, &(struct call_spec){__VA_ARGS__})

/* Memory of the last call. */
static void memory(struct sample *s, int phase, uint64_t address, uint32_t param, const void *p, uint32_t n)
{
	uint8_t block[1024] = {0};

	memcpy(block, &address, 8);
	memcpy(block + 8, &n, 4);
	memcpy(block + 12, &param, 4);
	memcpy(block + 16, p, n);
	must(trace_writer_call_memory(s->w, s->id, phase, block, 16 + ((n + 7) & ~7u)));
}

static uint64_t payload(struct sample *s, const char *kind, int param, const void *p, size_t n,
			uint64_t device)
{
	struct trace_payload row = {.call = s->id,
				    .param = param,
				    .kind = kind,
				    .address = HOST,
				    .width = n,
				    .height = 1,
				    .depth = 1,
				    .device_address = device};

	must(trace_writer_buffer(s->w, p, n, &row.buffer));
	must(trace_writer_payload(s->w, &row));
	return row.buffer;
}

static void allocation(struct sample *s, const char *kind, uint64_t base, uint64_t bytes, uint64_t host)
{
	struct trace_allocation a = {.process = 1,
				     .kind = kind,
				     .base = base,
				     .bytes = bytes,
				     .host_address = host,
				     .created = s->id};

	must(trace_writer_allocation(s->w, &a));
}

static void people(struct sample *s)
{
	struct trace_process p = {.id = 1,
				  .pid = 4000,
				  .exe = "/opt/app",
				  .argv_json = "[\"app\",\"-n\",\"4\"]",
				  .cwd = "/home",
				  .t_end = 30000000,
				  .end_kind = "exit",
				  .end_code = 0};
	struct trace_thread t = {.id = 1, .process = 1, .tid = 4000, .name = "main"};

	must(trace_writer_process(s->w, &p));
	must(trace_writer_thread(s->w, &t));
	t = (struct trace_thread){.id = 2, .process = 1, .tid = 4001, .name = "worker"};
	must(trace_writer_thread(s->w, &t));
	must(trace_writer_meta_text(s->w, "command", "app -n 4"));
	must(trace_writer_meta_text(s->w, "driver_path", "/usr/lib/libcuda.so.1"));
}

static void devices(struct sample *s)
{
	struct trace_device d = {.process = 1,
				 .name = "A \"test\" device",
				 .cc = 90,
				 .bytes = 16ull << 30,
				 .sm_count = 16,
				 .uuid = {1, 2, 3}};

	must(trace_writer_device(s->w, &d));
	CALL(.function = "cuInit", .nargs = 1, .args = {0});
	CALL(.function = "cuDeviceGet", .nargs = 2, .args = {HOST, 0}, .nouts = 1, .outs = {0});
	CALL(.function = "cuDeviceGetName", .nargs = 3, .args = {HOST, 64, 0});
	memory(s, 1, HOST, 0, "A \"test\" device\0and old bytes behind it that mean nothing at all", 64);
	CALL(.function = "cuDevicePrimaryCtxRetain", .nargs = 2, .args = {HOST, 0}, .nouts = 1,
	     .outs = {CTX});
}

static uint64_t module(struct sample *s)
{
	static struct trace_kernel_param params[] = {
		{"n", "u32", 0, 4, false, false, false, NULL},
		{"a", "f32", 4, 4, false, false, false, NULL},
		{"x", "u64", 8, 8, true, true, false, "f32"},
		{"y", "u64", 16, 8, true, true, true, "f32"},
		{"d", "f64", 24, 8, false, false, false, NULL},
		{"s", "b8", 32, 12, false, false, false, NULL},
		{"h", "f16", 44, 2, false, false, false, NULL},
		{"k", "s16", 46, 2, false, false, false, NULL},
	};
	struct trace_kernel k = {.name = "saxpy",
				 .has_ptx = true,
				 .param_bytes = 48,
				 .line = 4,
				 .nparams = 8,
				 .params = params};
	struct trace_image image = {.kind = "ptx", .archs = "ptx:80"};
	struct trace_module m = {.process = 1, .handle = MODULE};

	m.created = CALL(.function = "cuModuleLoadData", .nargs = 2, .args = {HOST, HOST + 64}, .nouts = 1,
			 .outs = {MODULE});
	m.image = payload(s, "image", 1, sample_ptx, strlen(sample_ptx) + 1, 0);
	image.buffer = image.ptx = m.image;
	must(trace_writer_image(s->w, &image));
	must(trace_writer_module(s->w, &m));
	k.module = m.id;
	must(trace_writer_kernel(s->w, &k));
	CALL(.function = "cuModuleGetFunction", .nargs = 3, .args = {HOST, MODULE, HOST + 32}, .nouts = 1,
	     .outs = {FUNCTION});
	memory(s, 0, HOST + 32, 2, "saxpy", 6);
	must(trace_writer_kernel_handle(s->w, 1, FUNCTION, k.id, s->id));
	return k.id;
}

static void transfers(struct sample *s)
{
	static const float floats[4] = {1.0f, -0.5f, 3.1415927f, 1e30f};
	uint8_t copy[128] = {0};
	uint64_t v;

	CALL(.function = "cuMemAlloc_v2", .nargs = 2, .args = {HOST, 4096}, .nouts = 1, .outs = {DEV_A});
	allocation(s, "device", DEV_A, 4096, 0);
	CALL(.function = "cuMemAlloc_v2", .nargs = 2, .args = {HOST, 1024}, .nouts = 1, .outs = {DEV_B});
	allocation(s, "device", DEV_B, 1024, 0);
	CALL(.function = "cuMemcpyHtoD_v2", .nargs = 3, .args = {DEV_A + 16, HOST + 128, 16});
	payload(s, "h2d", 1, floats, 16, DEV_A + 16);
	CALL(.function = "cuMemHostAlloc", .nargs = 3, .args = {HOST, 512, 3}, .nouts = 1,
	     .outs = {0x7fff20000000});
	allocation(s, "host", 0x7fff20000000, 512, 0x7fff20000000);
	/* CUDA_MEMCPY2D: from host memory (1) inside the pinned block to the device (2), 8 bytes by 2 rows */
	v = 1;
	memcpy(copy + 16, &v, 4);
	v = 0x7fff20000010;
	memcpy(copy + 24, &v, 8);
	v = 16;
	memcpy(copy + 48, &v, 8);
	v = 2;
	memcpy(copy + 72, &v, 4);
	v = DEV_B;
	memcpy(copy + 88, &v, 8);
	v = 64;
	memcpy(copy + 104, &v, 8);
	v = 8;
	memcpy(copy + 112, &v, 8);
	v = 2;
	memcpy(copy + 120, &v, 8);
	CALL(.function = "cuMemcpy2D_v2", .nargs = 1, .args = {HOST + 256});
	memory(s, 0, HOST + 256, 0, copy, 128);
}

static void launches(struct sample *s, uint64_t kernel)
{
	struct trace_launch l = {.kernel = kernel,
				 .stream = STREAM,
				 .grid = {2, 1, 1},
				 .block = {32, 4, 1},
				 .shared_bytes = 256};
	uint8_t block[48] = {0}, config[56] = {0}, attrs[144] = {0};
	uint32_t word;
	uint64_t v;
	float a = 2.5f;
	double d = 0.1;

	CALL(.function = "cuStreamCreate", .nargs = 2, .args = {HOST, 1}, .nouts = 1, .outs = {STREAM});
	word = 1000;
	memcpy(block, &word, 4);
	memcpy(block + 4, &a, 4);
	v = DEV_A;
	memcpy(block + 8, &v, 8);
	v = DEV_B + 0x40;
	memcpy(block + 16, &v, 8);
	memcpy(block + 24, &d, 8);
	memcpy(block + 32, "\0\1\2\3\4\5\6\7\10\11\12\13", 12);
	memcpy(block + 44, "\x00\xc0\xfe\xff", 4); /* f16 -2.0, s16 -2 */
	must(trace_writer_buffer(s->w, block, 48, &l.params));
	l.call = CALL(.function = "cuLaunchKernel", .nargs = 11,
		      .args = {FUNCTION, 2, 1, 1, 32, 4, 1, 256, STREAM, HOST, 0});
	must(trace_writer_launch(s->w, &l));
	must(trace_writer_diagnostic(s->w, 0, 1, s->id, "warning", "driver", "line 4: something odd\n  mov.b33;\n  ^"));

	word = 2;
	for (v = 0; v < 6; v++)
		memcpy(config + v * 4, &word, 4);
	v = HOST + 512;
	memcpy(config + 40, &v, 8);
	memcpy(config + 48, &word, 4);
	attrs[0] = 2; /* CU_LAUNCH_ATTRIBUTE_COOPERATIVE */
	attrs[8] = 1;
	attrs[72] = 4; /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */
	attrs[80] = 3;
	attrs[84] = 2;
	attrs[88] = 1;
	l.call = CALL(.function = "cuLaunchKernelEx", .nargs = 4, .args = {HOST + 448, FUNCTION, HOST, 0});
	memory(s, 0, HOST + 448, 0, config, 56);
	memory(s, 0, HOST + 512, 0, attrs, 144);
	l.cooperative = true;
	l.stream = l.params = l.shared_bytes = 0;
	must(trace_writer_launch(s->w, &l));
}

static void odd_ones(struct sample *s)
{
	static const int32_t options[] = {5, 0}; /* CU_JIT_ERROR_LOG_BUFFER, CU_JIT_MAX_REGISTERS */
	struct trace_payload gone = {
		.param = 0, .kind = "unavailable", .note = "the stream was being captured"};
	uint64_t parent, v;

	CALL(.function = "cuMemAlloc_v2", .nargs = 2, .args = {HOST, 1ull << 50},
	     .result = 2); /* CUDA_ERROR_OUT_OF_MEMORY */
	CALL(.function = "cuTomorrow", .nargs = 3, .args = {1, HOST, UINT64_MAX}, .unknown = true);
	parent = CALL(.function = "cuStreamSynchronize", .nargs = 1, .args = {1}, .thread = 2);
	CALL(.function = "cuCtxGetCurrent", .nargs = 1, .args = {HOST}, .nouts = 1, .outs = {CTX},
	     .thread = 2, .parent = parent);
	CALL(.function = "cuEventCreate", .nargs = 2, .args = {HOST, 2}, .nouts = 1, .outs = {EVENT});
	CALL(.function = "cuEventDestroy_v2", .nargs = 1, .args = {EVENT});
	CALL(.function = "cuEventCreate", .nargs = 2, .args = {HOST, 3}, .nouts = 1,
	     .outs = {EVENT}); /* the same value again is another event */
	CALL(.function = "cuModuleLoadDataEx", .nargs = 5,
	     .args = {HOST, HOST + 64, 2, HOST + 96, HOST + 112}, .result = 200);
	memory(s, 0, HOST + 96, 3, options, 8);
	v = 32;
	memory(s, 0, HOST + 112, 4, (uint64_t[]){HOST + 600, v}, 16);
	memory(s, 1, HOST + 112, 4, (uint64_t[]){HOST + 600, v}, 16);
	CALL(.function = "cuOccupancyMaxActiveBlocksPerMultiprocessor", .nargs = 4,
	     .args = {HOST, FUNCTION, 128, 0}, .nouts = 1, .outs = {16});
	CALL(.function = "cuMemcpyDtoHAsync_v2", .nargs = 4, .args = {HOST + 700, DEV_A, 64, 2});
	gone.call = s->id;
	must(trace_writer_payload(s->w, &gone));
	CALL(.function = "cuMemsetD32_v2", .nargs = 3, .args = {DEV_A + 4096, 0xffffffffdeadbeef, 4},
	     .nouts = 0, .outs = {0}, 1); /* garbage above a 32-bit argument */
	CALL(.function = "cuMemFree_v2", .nargs = 1, .args = {DEV_A}, .in_flight = true);
}

void sample_write(const char *path)
{
	struct diag d = DIAG_INIT;
	struct sample sample = {0}, *s = &sample;

	if (trace_writer_open(&s->w, path, &d)) {
		diag_print(&d, stderr);
		abort();
	}
	people(s);
	devices(s);
	{
		uint64_t kernel = module(s);

		transfers(s);
		launches(s, kernel);
	}
	odd_ones(s);
	if (trace_writer_close(s->w, &d)) {
		diag_print(&d, stderr);
		abort();
	}
}
