/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies, images and launches of the program app.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define CUDA_ABI_NO_MAPPING
#include "api/gen/cuda_abi.h"
#include "scenarios.h"

/* ---- payloads ----------------------------------------------------------------------------------- */

static void print_hash(const char *what, const void *p, size_t n)
{
	XXH128_canonical_t h;

	XXH128_canonicalFromHash(&h, XXH3_128bits(p, n));
	printf("%s ", what);
	for (int i = 0; i < 16; i++)
		printf("%02x", h.digest[i]);
	printf(" %zu\n", n);
}

/* Pointers that are no host memory at all: the driver answers, the recorder must not touch them. */
int scenario_bad_pointers(void)
{
	CUdeviceptr dev, other;

	cuMemAlloc_v2(&dev, 4096);
	cuMemAlloc_v2(&other, 4096);
	printf("%d", cuMemcpyHtoD_v2(dev, NULL, 0));
	printf(" %d", cuMemcpyHtoD_v2(dev, (void *)(uintptr_t)other, 4096));
	printf(" %d", cuMemcpyDtoH_v2((void *)(uintptr_t)other, dev, 4096));
	printf(" %d", cuModuleLoadData(&(CUmodule){0}, NULL));
	printf(" %d\n", cuMemcpy2D_v2(NULL));
	return 0;
}

#define PINNED_BYTES (3u << 20)
/* One staging buffer for all copies, refilled as soon as each has been read. */
int scenario_pinned(void)
{
	CUdeviceptr dev;
	unsigned char *stage, *back;
	CUstream s;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, PINNED_BYTES);
	cuMemHostAlloc((void **)&stage, PINNED_BYTES, 0);
	cuMemHostAlloc((void **)&back, PINNED_BYTES, 0);
	for (int round = 0; round < 4; round++) {
		for (unsigned i = 0; i < PINNED_BYTES; i++)
			stage[i] = (unsigned char)(i * 7 + (unsigned)round * 13);
		cuMemcpyHtoDAsync_v2(dev, stage, PINNED_BYTES, s);
		cuMemcpyDtoHAsync_v2(back, dev, PINNED_BYTES, s);
		cuStreamSynchronize(s);
		print_hash("round", back, PINNED_BYTES);
		memset(stage, 0xee, PINNED_BYTES);
	}
	return 0;
}

/* As many announcements as bytes, from two threads' rings. */
int scenario_pinned_many(void)
{
	CUdeviceptr dev;
	uint64_t *stage;
	CUstream s;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, 64);
	cuMemHostAlloc((void **)&stage, 64, 0);
	for (uint64_t i = 0; i < 3000; i++) {
		stage[0] = i;
		cuMemcpyHtoDAsync_v2(dev, stage, 64, s);
		cuStreamSynchronize(s);
	}
	return 0;
}

/* The stream faults before it comes to the second copy; both are enqueued by then. */
int scenario_faulted(void)
{
	unsigned char *stage;
	CUdeviceptr dev;
	CUfunction f;
	CUstream s;
	int first;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, 4096);
	cuMemHostAlloc((void **)&stage, 4096, 0);
	cuMemcpyDtoHAsync_v2(stage, dev, 4096, s);
	first = cuStreamSynchronize(s);
	cuModuleGetFunction(&f, NULL, "fault");
	cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
	cuMemcpyDtoHAsync_v2(stage, dev, 4096, s);
	printf("%d %d\n", first, cuStreamSynchronize(s));
	return 0;
}

int scenario_capture(void)
{
	CUdeviceptr dev;
	void *stage;
	CUstream s;
	CUgraph g;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, 4096);
	cuMemHostAlloc(&stage, 4096, 0);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	cuMemcpyHtoDAsync_v2(dev, stage, 4096, s);
	cuStreamEndCapture(s, &g);
	return 0;
}

int scenario_pitched(void)
{
	static unsigned char host[64][96];
	unsigned char packed[16][40];
	CUdeviceptr dev;
	CUDA_MEMCPY2D m = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = host,
			   .srcPitch = 96,
			   .srcXInBytes = 5,
			   .srcY = 3,
			   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			   .dstPitch = 64,
			   .WidthInBytes = 40,
			   .Height = 16};

	for (unsigned i = 0; i < sizeof(host); i++)
		host[i / 96][i % 96] = (unsigned char)(i * 31 >> 3);
	for (unsigned y = 0; y < 16; y++)
		memcpy(packed[y], &host[3 + y][5], 40);
	cuMemAlloc_v2(&dev, 64 * 64);
	m.dstDevice = dev;
	cuMemcpy2D_v2(&m);
	print_hash("packed", packed, sizeof(packed));
	return 0;
}

/* Far more than any ring holds. */
int scenario_large(void)
{
	size_t n = 24u << 20;
	unsigned char *host = malloc(n);
	CUdeviceptr dev;

	for (size_t i = 0; i < n; i++)
		host[i] = (unsigned char)(i ^ i >> 9);
	cuMemAlloc_v2(&dev, n);
	cuMemcpyHtoD_v2(dev, host, n);
	print_hash("large", host, n);
	free(host);
	return 0;
}

/* Nothing that could be compressed. */
int scenario_noise(void)
{
	size_t n = 24u << 20;
	uint64_t *host = malloc(n), x = 88172645463325252ull;
	CUdeviceptr dev;

	for (size_t i = 0; i < n / 8; i++) {
		/* xorshift64 (Marsaglia 2003) */
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		host[i] = x;
	}
	cuMemAlloc_v2(&dev, n);
	cuMemcpyHtoD_v2(dev, host, n);
	cuMemFree_v2(dev);
	puts("done");
	free(host);
	return 0;
}

/* ---- launches -------------------------------------------------------------------------------------- */

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry askfill(.param .u64 p, .param .u32 v, .param .u64 n)\n"
			  "{\n\t.reg .u64 %rd<5>;\n\t.reg .u32 %r<2>;\n\t.reg .pred %p<2>;\n"
			  "\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [v];\n\tld.param.u64 %rd2, [n];\n"
			  "\tmov.u64 %rd3, 0;\nNEXT:\n\tsetp.ge.u64 %p1, %rd3, %rd2;\n\t@%p1 bra END;\n"
			  "\tadd.s64 %rd4, %rd1, %rd3;\n\tst.global.u8 [%rd4], %r1;\n"
			  "\tadd.s64 %rd3, %rd3, 1;\n\tbra NEXT;\nEND:\n\tret;\n}\n";

static int launches(const char *name)
{
	CUmodule m;
	CUfunction f;
	CUdeviceptr a, b;
	int value = 0x5a;
	uint64_t n = 1000;
	void *params[] = {&a, &value, &n};
	struct {
		CUdeviceptr p;
		int value;
		uint64_t n;
	} block;
	size_t bytes = sizeof(block);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			 CU_LAUNCH_PARAM_END};

	cuMemAlloc_v2(&a, 1000);
	cuMemAlloc_v2(&b, 500);
	cuModuleLoadData(&m, ptx);
	cuModuleGetFunction(&f, m, name);
	cuLaunchKernel(f, 2, 3, 4, 5, 6, 7, 128, (CUstream)0x5010, params, NULL);
	print_hash("a", (void *)(uintptr_t)a, 1000);
	block.p = a;
	block.value = 0x5b;
	block.n = 10;
	cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, extra);
	print_hash("b", (void *)(uintptr_t)b, 500);
	printf("a %llx b %llx\n", (unsigned long long)a, (unsigned long long)b);
	return 0;
}

/* A kernel of args[2], machine code alone; test_launch_cubin says what its parameters are. */
int scenario_launch_cubin(void)
{
	struct {
		int a;
		char b[5];
	} t = {0x11223344, "abcd"};
	int fd = open(args[2], O_RDONLY);
	static char image[1 << 20];
	char c = 0x21;
	double d = 1.5;
	short s = 0x4243;
	uint64_t p = 0x1122334455667788;
	void *params[] = {&c, &d, &s, &p, &t};
	CUmodule m;
	CUfunction f;

	if (fd < 0 || read(fd, image, sizeof(image)) <= 0)
		return 1;
	cuModuleLoadData(&m, image);
	cuModuleGetFunction(&f, m, "ask_mixed");
	cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
	return 0;
}

/* The same kernel, which is given memory of the device. */
int scenario_launch_opaque(void)
{
	struct {
		int a;
		char b[5];
	} t = {1, "abcd"};
	int fd = open(args[2], O_RDONLY);
	static char image[1 << 20];
	char c = 1;
	double d = 1.5;
	short s = 2;
	CUdeviceptr p, other;
	CUcontext context;
	CUdevice device;
	void *params[] = {&c, &d, &s, &p, &t};
	CUmodule m;
	CUfunction f;

	if (fd < 0 || read(fd, image, sizeof(image)) <= 0)
		return 1;
	cuInit(0);
	cuDeviceGet(&device, 0);
	cuCtxCreate_v2(&context, 0, device);
	cuMemAlloc_v2(&p, 1000);
	cuMemAlloc_v2(&other, 300);
	memset((void *)(uintptr_t)p, 7, 1000);
	cuModuleLoadData(&m, image);
	cuModuleGetFunction(&f, m, "ask_mixed");
	for (int i = 0; i < 3; i++)
		cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
	print_hash("a", (void *)(uintptr_t)p, 1000);
	cuMemcpyDtoH_v2(image, p, 1000);
	return 0;
}

/* args[2] modules one after the other, each of another text that is long and has to be parsed. */
int scenario_reload(void)
{
	static char text[200000];
	int n = atoi(args[2]);
	CUmodule m;
	CUfunction f;

	for (int i = 0; i < n; i++) {
		char *o = text + sprintf(text,
					 ".version 7.0\n.target sm_80\n.address_size 64\n"
					 ".visible .entry ask%d(.param .u64 p)\n{\n\t.reg .u64 %%rd<3>;\n"
					 "\tld.param.u64 %%rd1, [p];\n",
					 i);

		for (int k = 0; k < 3000; k++)
			o += sprintf(o, "\tadd.u64 %%rd1, %%rd1, %d;\n", k);
		sprintf(o, "\tst.global.u64 [%%rd1], %%rd1;\n\tret;\n}\n");
		cuModuleLoadData(&m, text);
		sprintf(text + sizeof(text) - 32, "ask%d", i);
		cuModuleGetFunction(&f, m, text + sizeof(text) - 32);
		cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&(uint64_t){16}}, NULL);
		cuModuleUnload(m);
	}
	return 0;
}

int scenario_launch(void)
{
	return launches("fill");
}

int scenario_launch_ask(void)
{
	return launches("askfill");
}

/* More results under way than the recorder takes page-locked memory for. */
int scenario_pinned_flood(void)
{
	enum { COPIES = 300, BYTES = 256 << 10 };
	unsigned char *stage;
	CUdeviceptr dev;
	CUstream s;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, BYTES);
	cuMemHostAlloc((void **)&stage, BYTES, 0);
	for (int i = 0; i < COPIES; i++)
		cuMemcpyDtoHAsync_v2(stage, dev, BYTES, s);
	cuStreamSynchronize(s);
	/* It is given back. */
	for (int i = 0; i < 4; i++) {
		cuMemcpyDtoHAsync_v2(stage, dev, BYTES, s);
		cuStreamSynchronize(s);
	}
	return 0;
}

/* Many small ones at once are taken, all of them. */
int scenario_pinned_small(void)
{
	uint64_t *stage;
	CUdeviceptr dev;
	CUstream s;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, 4096);
	cuMemHostAlloc((void **)&stage, 4096, 0);
	for (int i = 0; i < 3000; i++)
		cuMemcpyDtoHAsync_v2(stage, dev, 8 + (unsigned)i % 4000, s);
	cuStreamSynchronize(s);
	return 0;
}

/* Relocatable code of many translation units: a wrapper of version 2 with a list of containers. */
#define UNITS 3000
int scenario_many_parts(void)
{
	static struct {
		uint32_t magic;
		uint16_t version, header;
		uint64_t bytes;
		char data[16];
	} unit[UNITS];
	static const void *list[UNITS + 1];
	const struct {
		uint32_t magic, version;
		const void *data, *list;
	} wrapper = {0x466243b1u, 2, &unit[0], list};
	CUmodule m;

	for (int i = 0; i < UNITS; i++) {
		unit[i].magic = 0xba55ed50u;
		unit[i].version = 1;
		unit[i].header = 16;
		unit[i].bytes = sizeof(unit[i].data);
		memset(unit[i].data, i, sizeof(unit[i].data));
		if (i)
			list[i - 1] = &unit[i];
	}
	cuModuleLoadFatBinary(&m, &wrapper);
	print_hash("image", unit, sizeof(unit));
	return 0;
}
