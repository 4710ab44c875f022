/* SPDX-License-Identifier: Apache-2.0
 *
 * training_step [STEPS [ELEMENTS]]: what a training loop asks of the driver. In each step a batch is copied in; every
 * layer runs a dozen small kernels forwards and backwards on two streams, ordered by events, and its optimiser's on a
 * third; a number comes back. Prints the nanoseconds that the steps took. Linked against training_driver.c; any other
 * libcuda.so.1 takes its place.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/gen/cuda_abi.h"

enum { LAYERS = 8, FORWARD = 6, BACKWARD = 10, OPTIMISER = 4, BATCH = 64 << 10 };

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry combine(.param .u64 out, .param .u64 a, .param .u64 b, .param .u32 n, .param .f32 s)\n"
	"{\n.reg .b64 d<10>; .reg .b32 r<6>; .reg .f32 f<5>; .reg .pred p<2>;\n"
	"ld.param.u64 d1, [out]; ld.param.u64 d2, [a]; ld.param.u64 d3, [b]; ld.param.u32 r1, [n]; ld.param.f32 f1, [s];\n"
	"mov.u32 r2, %ctaid.x; mov.u32 r3, %ntid.x; mov.u32 r4, %tid.x; mad.lo.s32 r5, r2, r3, r4;\n"
	"setp.ge.s32 p1, r5, r1; @p1 bra END;\n"
	"mul.wide.s32 d4, r5, 4; add.s64 d5, d1, d4; add.s64 d6, d2, d4; add.s64 d7, d3, d4;\n"
	"ld.global.f32 f2, [d6]; ld.global.f32 f3, [d7]; fma.rn.f32 f4, f2, f1, f3; st.global.f32 [d5], f4;\n"
	"END: ret;\n}\n";

#define CHECK(call)                                                       \
	do {                                                              \
		CUresult result_ = (call);                                \
		if (result_ != CUDA_SUCCESS) {                            \
			fprintf(stderr, "%s: %d\n", #call, (int)result_); \
			exit(1);                                          \
		}                                                         \
	} while (0)

static CUfunction combine;
static uint32_t elements = 16384;

static void run(CUstream s, CUdeviceptr out, CUdeviceptr a, CUdeviceptr b, float scale)
{
	void *params[] = {&out, &a, &b, &elements, &scale};

	CHECK(cuLaunchKernel(combine, (elements + 127) / 128, 1, 1, 128, 1, 1, 0, s, params, NULL));
}

struct layer {
	CUdeviceptr weights, activations, gradients, moments;
	CUevent done;
};

static void step(struct layer *l, CUdeviceptr batch, CUstream *s)
{
	CUdeviceptr from = batch;

	for (int i = 0; i < LAYERS; i++) {
		for (int k = 0; k < FORWARD; k++)
			run(s[0], l[i].activations, k ? l[i].activations : from, l[i].weights, 0.5f);
		from = l[i].activations;
	}
	for (int i = LAYERS - 1; i >= 0; i--) {
		for (int k = 0; k < BACKWARD; k++)
			run(s[k & 1], l[i].gradients, l[i].activations, l[i].gradients, 0.25f);
		CHECK(cuEventRecord(l[i].done, s[0]));
		CHECK(cuStreamWaitEvent(s[2], l[i].done, 0));
		for (int k = 0; k < OPTIMISER; k++)
			run(s[2], k & 1 ? l[i].weights : l[i].moments, l[i].gradients, l[i].moments, 0.125f);
	}
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 100;
	static float input[BATCH / 4];
	struct layer layers[LAYERS];
	struct timespec t[2];
	CUdeviceptr batch;
	CUcontext context;
	CUmodule module;
	CUstream streams[3];
	CUdevice device;
	float loss = 0;

	elements = argc > 2 ? (uint32_t)atoi(argv[2]) : elements;
	if (elements < 1 || elements > BATCH / 4)
		elements = BATCH / 4;
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuCtxCreate_v2(&context, 0, device));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&combine, module, "combine"));
	CHECK(cuMemAlloc_v2(&batch, BATCH));
	for (int i = 0; i < LAYERS; i++) {
		CHECK(cuMemAlloc_v2(&layers[i].weights, BATCH));
		CHECK(cuMemAlloc_v2(&layers[i].activations, BATCH));
		CHECK(cuMemAlloc_v2(&layers[i].gradients, BATCH));
		CHECK(cuMemAlloc_v2(&layers[i].moments, BATCH));
		CHECK(cuEventCreate(&layers[i].done, 0));
	}
	for (int i = 0; i < 3; i++)
		CHECK(cuStreamCreate(&streams[i], 0));
	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	for (int i = 0; i < steps; i++) {
		for (unsigned k = 0; k < BATCH / 4; k++)
			input[k] = (float)((k * 7 + (unsigned)i) % 1000);
		CHECK(cuMemcpyHtoD_v2(batch, input, BATCH));
		step(layers, batch, streams);
		CHECK(cuCtxSynchronize());
		CHECK(cuMemcpyDtoH_v2(&loss, layers[LAYERS - 1].activations, sizeof(loss)));
	}
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	printf("%lld\n",
	       (long long)(t[1].tv_sec - t[0].tv_sec) * 1000000000LL + (t[1].tv_nsec - t[0].tv_nsec));
	return 0;
}
