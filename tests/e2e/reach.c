/* SPDX-License-Identifier: Apache-2.0
 *
 * A program whose kernels read what is easily forgotten: memory of two contexts in turn, page-locked memory through
 * its device pointer, managed memory. Eight launches, four in each context; each result depends on all that came before.
 * With "load", "library", "link" or "link-data" and a file: brings the fatbin there to the driver in that way, and no more.
 * With the argument "graph": four launches of a graph of a memset and two kernels.
 * With the argument "sum": two launches whose floating-point atomics give what the order of blocks makes of them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_calls.h"

#define N 64u

static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
			  ".visible .entry mix(.param .u64 out, .param .u64 in, .param .u64 more)\n{\n"
			  ".reg .b64 a<4>; .reg .b32 r<5>;\n"
			  "ld.param.u64 a0, [out]; ld.param.u64 a1, [in]; ld.param.u64 a2, [more];\n"
			  "cvta.to.global.u64 a0, a0; cvta.to.global.u64 a1, a1; cvta.to.global.u64 a2, a2;\n"
			  "mov.u32 r0, %tid.x; mul.wide.u32 a3, r0, 4;\n"
			  "add.u64 a0, a0, a3; add.u64 a1, a1, a3; add.u64 a2, a2, a3;\n"
			  "ld.global.u32 r1, [a0]; ld.global.u32 r2, [a1]; ld.global.u32 r3, [a2];\n"
			  "mad.lo.u32 r4, r1, 3, r2; add.u32 r4, r4, r3; st.global.u32 [a0], r4; ret;\n}\n"
			  /* 2^24 more and less in turn, and 1 each time, which the larger sum swallows */
			  ".visible .entry sum(.param .u64 out)\n{\n"
			  ".reg .b64 a<2>; .reg .b32 r<3>; .reg .f32 f<2>; .reg .pred p0;\n"
			  "ld.param.u64 a0, [out]; cvta.to.global.u64 a0, a0;\n"
			  "mov.u32 r0, %tid.x; mul.wide.u32 a1, r0, 4; add.u64 a0, a0, a1;\n"
			  "mov.u32 r1, %ctaid.x; and.b32 r2, r1, 1; setp.eq.u32 p0, r2, 0;\n"
			  "selp.f32 f0, 0f4B800000, 0fCB800000, p0; mov.f32 f1, 0f3F800000;\n"
			  "red.global.add.f32 [a0], f1; red.global.add.f32 [a0], f0; ret;\n}\n";

struct side {
	void *context, *module, *function;
	uint64_t out;
	uint32_t got[N], want[N];
};

static void start(struct side *s, int device)
{
	CU(cuCtxCreate_v2, &s->context, 0, device);
	CU(cuModuleLoadData, &s->module, ptx);
	CU(cuModuleGetFunction, &s->function, s->module, "mix");
	CU(cuMemAlloc_v2, &s->out, N * sizeof(uint32_t));
	CU(cuMemsetD32_v2, s->out, 1, (size_t)N);
	for (uint32_t i = 0; i < N; i++)
		s->want[i] = 1;
}

static void step(struct side *s, uint64_t in, uint64_t more, const uint32_t *a, const uint32_t *b)
{
	void *params[] = {&s->out, &in, &more};

	CU(cuCtxSetCurrent, s->context);
	CU(cuLaunchKernel, s->function, 1, 1, 1, N, (uint64_t)1, (uint64_t)1, (uint64_t)0, NULL, params,
	   NULL);
	CU(cuCtxSynchronize, 0);
	for (uint32_t i = 0; i < N; i++)
		s->want[i] = s->want[i] * 3 + a[i] + b[i];
}

static void compare(struct side *s)
{
	CU(cuCtxSetCurrent, s->context);
	CU(cuMemcpyDtoH_v2, s->got, s->out, sizeof(s->got));
	for (uint32_t i = 0; i < N; i++)
		call("a wrong result", s->got[i] != s->want[i]);
}

static int add_up(struct side *s)
{
	void *params[] = {&s->out};

	CU(cuModuleGetFunction, &s->function, s->module, "sum");
	for (unsigned i = 0; i < 2; i++)
		CU(cuLaunchKernel, s->function, 8, 1, 1, N, (uint64_t)1, (uint64_t)1, (uint64_t)0, NULL,
		   params, NULL);
	CU(cuMemcpyDtoH_v2, s->got, s->out, sizeof(s->got));
	puts("ok");
	return 0;
}

static int launch_graph(struct side *s)
{
	uint64_t other;
	void *params[] = {&s->out, &other, &other};
	void *stream, *graph, *exec;

	CU(cuMemAlloc_v2, &other, N * sizeof(uint32_t));
	CU(cuStreamCreate, &stream, 0);
	CU(cuStreamBeginCapture_v2, stream, 0);
	CU(cuMemsetD32Async, other, 5, (size_t)N, stream);
	for (unsigned i = 0; i < 2; i++)
		CU(cuLaunchKernel, s->function, 1, 1, 1, N, (uint64_t)1, (uint64_t)1, (uint64_t)0, stream,
		   params, NULL);
	CU(cuStreamEndCapture, stream, &graph);
	CU(cuGraphInstantiateWithFlags, &exec, graph, (uint64_t)0);
	for (unsigned i = 0; i < 4; i++)
		CU(cuGraphLaunch, exec, stream);
	CU(cuStreamSynchronize, stream);
	for (uint32_t i = 0; i < 8 * N; i++)
		s->want[i % N] = s->want[i % N] * 3 + 5 + 5;
	compare(s);
	CU(cuGraphExecDestroy, exec);
	CU(cuGraphDestroy, graph);
	puts("ok");
	return 0;
}

static void link_file(const char *path, void *data, size_t bytes)
{
	const int fatbinary = 2;
	void *state, *cubin;
	size_t n;

	CU(cuLinkCreate_v2, 0, NULL, NULL, &state);
	if (data)
		CU(cuLinkAddData_v2, state, fatbinary, data, bytes, "data", 0, NULL, NULL);
	else
		CU(cuLinkAddFile_v2, state, fatbinary, path, 0, NULL, NULL);
	CU(cuLinkComplete, state, &cubin, &n);
	CU(cuLinkDestroy, state);
}

static int bring(const char *how, const char *path)
{
	static char data[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(data, 1, sizeof(data), f) : 0;
	void *handle;

	call("open", !f);
	fclose(f);
	if (!strcmp(how, "load"))
		CU(cuModuleLoad, &handle, path);
	else if (!strcmp(how, "library"))
		CU(cuLibraryLoadFromFile, &handle, path, NULL, NULL, 0, NULL, (void *)0, (uint64_t)0);
	else
		link_file(path, strcmp(how, "link") ? data : NULL, n);
	puts("ok");
	return 0;
}

int main(int argc, char **argv)
{
	static struct side sides[2];
	uint32_t *pinned;
	uint64_t pinned_address, managed;
	int device;

	driver = dlopen("libcuda.so.1", RTLD_NOW);
	call("dlopen", !driver);
	CU(cuInit, 0);
	CU(cuDeviceGet, &device, 0);
	start(&sides[0], device);
	if (argc > 2)
		return bring(argv[1], argv[2]);
	if (argc > 1 && !strcmp(argv[1], "graph"))
		return launch_graph(&sides[0]);
	if (argc > 1 && !strcmp(argv[1], "sum"))
		return add_up(&sides[0]);
	CU(cuMemHostAlloc, &pinned, N * sizeof(*pinned), 3); /* portable, mapped */
	CU(cuMemHostGetDevicePointer_v2, &pinned_address, pinned, 0);
	CU(cuMemAllocManaged, &managed, N * sizeof(*pinned), 1);
	for (uint32_t i = 0; i < N; i++) {
		pinned[i] = 7 * i + 5;
		((uint32_t *)(uintptr_t)managed)[i] = 11 * i + 2;
	}
	start(&sides[1], device);
	for (unsigned i = 0; i < 8; i++)
		step(&sides[i % 2], pinned_address, managed, pinned, (uint32_t *)(uintptr_t)managed);
	compare(&sides[0]);
	compare(&sides[1]);
	puts("ok");
	return 0;
}
