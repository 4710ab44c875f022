/* SPDX-License-Identifier: Apache-2.0
 *
 * own_app: a program for our own driver, whose memory and streams are real: copies that the recorder can only
 * take on their streams, contexts that end, a kernel that strays. Prints what the test is to find.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define CUDA_ABI_NO_MAPPING
#include "api/gen/cuda_abi.h"

static CUcontext context;
static CUstream stream;

#define OK(call)                                            \
	do {                                                \
		CUresult r_ = (call);                       \
		if (r_ != CUDA_SUCCESS) {                   \
			printf("%s: %d\n", #call, (int)r_); \
			exit(1);                            \
		}                                           \
	} while (0)

static void print_hash(const void *p, size_t n)
{
	XXH128_canonical_t h;

	XXH128_canonicalFromHash(&h, XXH3_128bits(p, n));
	for (int i = 0; i < 16; i++)
		printf("%02x", h.digest[i]);
	printf(" %zu\n", n);
}

static unsigned char *pinned(size_t n, unsigned seed)
{
	void *p;

	OK(cuMemHostAlloc(&p, n, 0));
	for (size_t i = 0; i < n; i++)
		((unsigned char *)p)[i] = (unsigned char)((i + seed) * 2654435761u >> 7);
	return p;
}

/* ---- boxes: rows and slices of pinned memory, there and back --------------------------- */

#define W 40
#define H 6
#define D 3

/* The box at (5, 2, 1) of a host volume of rows of 64 bytes and slices of 10 rows, as it lies packed. */
static void pack(unsigned char *to, const unsigned char *host)
{
	for (size_t z = 0; z < D; z++)
		for (size_t y = 0; y < H; y++)
			memcpy(to + (z * H + y) * W, host + ((1 + z) * 10 + 2 + y) * 64 + 5, W);
}

static int scenario_boxes(void)
{
	unsigned char *in = pinned(64 * 10 * 5, 1), *out = pinned(64 * 10 * 5, 2), packed[W * H * D];
	CUDA_MEMCPY3D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = in,
			    .srcXInBytes = 5,
			    .srcY = 2,
			    .srcZ = 1,
			    .srcPitch = 64,
			    .srcHeight = 10,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			    .dstPitch = 128,
			    .dstHeight = 8,
			    .dstXInBytes = 3,
			    .dstY = 1,
			    .WidthInBytes = W,
			    .Height = H,
			    .Depth = D};
	CUDA_MEMCPY3D down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcPitch = 128,
			      .srcHeight = 8,
			      .srcXInBytes = 3,
			      .srcY = 1,
			      .dstMemoryType = CU_MEMORYTYPE_HOST,
			      .dstHost = out,
			      .dstPitch = 64,
			      .dstHeight = 10,
			      .WidthInBytes = W,
			      .Height = H,
			      .Depth = D};
	CUDA_MEMCPY2D flat = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = in,
			      .srcXInBytes = 5,
			      .srcY = 12, /* slice 1, row 2 */
			      .srcPitch = 64,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstPitch = 128,
			      .WidthInBytes = W,
			      .Height = H};
	CUdeviceptr dev;

	OK(cuMemAlloc_v2(&dev, 128 * 8 * 4));
	up.dstDevice = down.srcDevice = flat.dstDevice = dev;
	pack(packed, in);
	OK(cuMemcpy3DAsync_v2(&up, stream));
	OK(cuMemcpy3DAsync_v2(&down, stream));
	OK(cuStreamSynchronize(stream));
	print_hash(packed, sizeof(packed));
	OK(cuMemcpy2DAsync_v2(&flat, stream));
	OK(cuStreamSynchronize(stream));
	print_hash(packed, W * H);
	return 0;
}

/* ---- a batch: two ways up, one down, one between devices ----------------------------------- */

static int scenario_batch(void)
{
	unsigned char *a = pinned(5000, 3), *back = pinned(3000, 5), pageable[700];
	CUdeviceptr dev, other;
	CUmemcpyAttributes how = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	size_t index = 0, sizes[] = {5000, 700, 3000, 1000};

	memset(pageable, 0x77, sizeof(pageable));
	OK(cuMemAlloc_v2(&dev, 5000));
	OK(cuMemAlloc_v2(&other, 5000));
	CUdeviceptr dsts[] = {dev, other, (uintptr_t)back, other + 2000};
	CUdeviceptr srcs[] = {(uintptr_t)a, (uintptr_t)pageable, dev, dev};
	OK(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 4, &how, &index, 1, stream));
	OK(cuStreamSynchronize(stream));
	print_hash(a, 5000);
	print_hash(pageable, 700);
	print_hash(a, 3000); /* back holds this now */
	return memcmp(a, back, 3000) != 0;
}

/* ---- contexts that end ------------------------------------------------------------------------ */

static int scenario_contexts(void)
{
	CUcontext first, again, second;
	CUstream of_first, of_second;

	OK(cuCtxSetCurrent(NULL));
	OK(cuDevicePrimaryCtxRetain(&first, 0));
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	OK(cuCtxSetCurrent(first));
	OK(cuStreamCreate(&of_first, CU_STREAM_NON_BLOCKING));
	OK(cuCtxCreate_v2(&second, 0, 0));
	OK(cuStreamCreateWithPriority(&of_second, 0, -1));
	OK(cuCtxDestroy_v2(second));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	OK(cuDevicePrimaryCtxReset_v2(0));
	printf("%llx %llx %llx %llx\n", (unsigned long long)(uintptr_t)first,
	       (unsigned long long)(uintptr_t)second, (unsigned long long)(uintptr_t)of_first,
	       (unsigned long long)(uintptr_t)of_second);
	return 0;
}

/* ---- a kernel that strays, copies behind it --------------------------------------------------------- */

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry stray(.param .u64 p)\n"
			  "{\n\t.reg .u64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n"
			  "\tst.global.u64 [%rd1], %rd1;\n\tret;\n}\n";

static void nap(void *unused)
{
	(void)unused;
	usleep(200000);
}

static int scenario_stray(void)
{
	unsigned char *host = pinned(4096, 1);
	uint64_t nowhere = 64;
	void *params[] = {&nowhere};
	CUdeviceptr dev;
	CUfunction f;
	CUmodule m;
	int copied;

	OK(cuMemAlloc_v2(&dev, 4096));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&f, m, "stray"));
	/* Everything is enqueued by the time the kernel runs. */
	OK(cuLaunchHostFunc(stream, nap, NULL));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
	copied = cuMemcpyDtoHAsync_v2(host, dev, 4096, stream);
	printf("%d %d\n", copied, (int)cuStreamSynchronize(stream));
	return 0;
}

/* A kernel with an instruction that does not exist, asked for twice. */
static int scenario_untranslatable(void)
{
	static const char text[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
				   ".visible .entry bad()\n{\n\tno.such.instruction %r1;\n\tret;\n}\n"
				   ".visible .entry good()\n{\n\tret;\n}\n";
	CUfunction f;
	CUmodule m;
	int first, second;

	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetFunction(&f, m, "good"));
	first = cuModuleGetFunction(&f, m, "bad");
	second = cuModuleGetFunction(&f, m, "bad");
	printf("%d %d\n", first != 0, second != 0);
	return 0;
}

/* ---- contexts that come and go: what was kept for one of them is nothing to the next ------------- */

#define ENTRY(params) \
	".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(" params ")\n{\n\tret;\n}\n"

static void one_context(bool eight, CUdeviceptr *dev)
{
	static const char one[] = ENTRY(".param .u64 a"),
			  more[] = ENTRY(".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, "
					 ".param .u64 e, .param .u64 f, .param .u64 g, .param .u64 h");
	uint64_t x = 0;
	void *all[8] = {&x, &x, &x, &x, &x, &x, &x, &x};
	/* As many as the kernel has: what follows is not to be looked at. */
	void *first[8] = {&x, (void *)8, (void *)8, (void *)8, (void *)8, (void *)8, (void *)8, (void *)8};
	unsigned char *host = pinned(4096, 1);
	CUmodule m;
	CUfunction f;

	OK(cuMemAlloc_v2(dev, 4096));
	OK(cuMemcpyHtoDAsync_v2(*dev, host, 4096, NULL));
	OK(cuModuleLoadData(&m, eight ? more : one));
	OK(cuModuleGetFunction(&f, m, "k"));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, eight ? all : first, NULL));
	OK(cuCtxSynchronize());
}

static int scenario_renewed(void)
{
	CUcontext c;
	CUdeviceptr dev;

	for (int i = 0; i < 20; i++) {
		OK(cuCtxCreate_v2(&c, 0, 0));
		one_context(i % 2 == 0, &dev);
		OK(cuCtxDestroy_v2(c));
	}
	for (int i = 0; i < 20; i++) {
		OK(cuDevicePrimaryCtxRetain(&c, 0));
		OK(cuCtxPushCurrent_v2(c));
		one_context(i % 2 == 0, &dev);
		OK(cuCtxPopCurrent_v2(&c));
		if (i % 4 < 2)
			OK(cuDevicePrimaryCtxReset_v2(0));
		OK(cuDevicePrimaryCtxRelease_v2(0));
	}
	return 0;
}

/* ---- what is linked, by both names of the call ---------------------------------------- */

static int scenario_linked(void)
{
	static char caller[] = ".version 7.0\n.target sm_80\n.address_size 64\n.extern .func f();\n"
			       ".visible .entry k()\n{\n\tcall f, ();\n\tret;\n}\n";
	static char callee[] =
		".version 7.0\n.target sm_80\n.address_size 64\n.visible .func f()\n{\n\tret;\n}\n";
	CUlinkState link;
	CUmodule m;
	void *image;
	size_t bytes;

	OK(cuLinkCreate_v2(0, NULL, NULL, &link));
	OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, caller, sizeof(caller), "caller", 0, NULL, NULL));
	OK(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, callee, sizeof(callee), "callee", 0, NULL, NULL));
	OK(cuLinkComplete(link, &image, &bytes));
	OK(cuModuleLoadData(&m, image));
	OK(cuLinkDestroy(link));
	print_hash(caller, sizeof(caller));
	print_hash(callee, sizeof(callee));
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} scenarios[] = {
	{"boxes", scenario_boxes},
	{"batch", scenario_batch},
	{"contexts", scenario_contexts},
	{"linked", scenario_linked},
	{"stray", scenario_stray},
	{"renewed", scenario_renewed},
	{"untranslatable", scenario_untranslatable},
};

int main(int argc, char **argv)
{
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (size_t i = 0; argc > 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (!strcmp(argv[1], scenarios[i].name))
			return scenarios[i].run();
	return 99;
}
