/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUcontext context;
static CUmodule module;
static _Atomic unsigned ncalls;

void host_wrong(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void host_expect(CUresult got, CUresult expected, const char *call, const char *file, int line)
{
	ncalls++;
	if (got != expected)
		host_wrong("%s:%d: %s: error %d, expected %d", file, line, call, got, expected);
}

void host_start_without_module(void)
{
	CUdevice device;

	/* Lines must not be lost when a kernel prints between them. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	CU(cuInit(0));
	CU(cuDeviceGet(&device, 0));
	CU(cuCtxCreate_v2(&context, 0, device));
}

void host_load(const void *image)
{
	CU(cuModuleLoadData(&module, image));
}

void host_start(void)
{
	host_start_without_module();
	host_load(program_ptx);
}

void host_enter_thread(void)
{
	CU(cuCtxSetCurrent(context));
}

CUmodule host_module(void)
{
	return module;
}

CUfunction host_kernel(const char *name)
{
	CUfunction f;

	CU(cuModuleGetFunction(&f, module, name));
	return f;
}

CUdeviceptr host_symbol(const char *name, size_t bytes)
{
	CUdeviceptr address;
	size_t got;

	CU(cuModuleGetGlobal_v2(&address, &got, module, name));
	if (got != bytes)
		host_wrong("%s has %zu bytes, expected %zu", name, got, bytes);
	return address;
}

CUdeviceptr host_buffer(const void *data, size_t bytes)
{
	CUdeviceptr address;

	CU(cuMemAlloc_v2(&address, bytes));
	if (data)
		CU(cuMemcpyHtoD_v2(address, data, bytes));
	return address;
}

void host_say_launch(const char *name, struct dim grid, struct dim block)
{
	printf("launch %s grid %u %u %u block %u %u %u\n", name, grid.x, grid.y, grid.z, block.x, block.y,
	       block.z);
}

void host_launch(CUfunction f, const char *name, struct dim grid, struct dim block, unsigned shared_bytes,
		 CUstream stream, void **params)
{
	host_say_launch(name, grid, block);
	CU(cuLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes, stream, params,
			  NULL));
}

void host_read(void *dst, CUdeviceptr src, size_t bytes)
{
	CU(cuMemcpyDtoH_v2(dst, src, bytes));
}

int host_finish(void)
{
	CU(cuModuleUnload(module));
	CU(cuCtxDestroy_v2(context));
	return host_finish_faulted();
}

int host_finish_faulted(void)
{
	printf("calls %u\nok\n", ncalls);
	return fflush(stdout) == 0 ? 0 : 1;
}

uint32_t host_random(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

float host_random_float(uint32_t *state)
{
	return (float)(host_random(state) >> 8) / 16777216.0f;
}

void host_compare_u32(const char *what, const uint32_t *got, const uint32_t *expected, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (got[i] != expected[i])
			host_wrong("%s[%zu] is %u, expected %u", what, i, got[i], expected[i]);
	}
}

void host_compare_f32(const char *what, const float *got, const float *expected, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (memcmp(&got[i], &expected[i], sizeof(float)) != 0)
			host_wrong("%s[%zu] is %.9g, expected %.9g", what, i, (double)got[i],
				   (double)expected[i]);
	}
}
