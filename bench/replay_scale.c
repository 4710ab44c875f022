/* SPDX-License-Identifier: Apache-2.0
 *
 * A long program for replay_scale.sh: N launches of two small kernels over sixteen buffers, in the manner of a training
 * loop, with a copy back to the host every thousand. What a launch writes depends on all before it, and no two write
 * the same.
 *
 *   replay_scale [N]      default 100000
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/gen/cuda_abi.h"

enum { BUFFERS = 16, ELEMENTS = 1024, BLOCK = 128 };

/* mix: integers, no two launches alike. smooth: a multiply-add, so that there is what may be fused. */
static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry mix(.param .u64 to, .param .u64 from, .param .u32 salt)\n{\n"
	"	.reg .pred %p<2>;\n	.reg .b32 %r<10>;\n	.reg .b64 %d<6>;\n"
	"	ld.param.u64 %d1, [to];\n	ld.param.u64 %d2, [from];\n	ld.param.u32 %r1, [salt];\n"
	"	mov.u32 %r2, %tid.x;\n	mov.u32 %r3, %ctaid.x;\n	mov.u32 %r4, %ntid.x;\n"
	"	mad.lo.u32 %r5, %r3, %r4, %r2;\n"
	"	mul.wide.u32 %d3, %r5, 4;\n	add.u64 %d1, %d1, %d3;\n	add.u64 %d2, %d2, %d3;\n"
	"	ld.global.u32 %r6, [%d2];\n	add.u32 %r6, %r6, %r1;\n	mov.u32 %r7, 200;\n"
	"again:\n"
	"	mad.lo.u32 %r6, %r6, 1664525, %r5;\n	shr.u32 %r8, %r6, 13;\n	xor.b32 %r6, %r6, %r8;\n"
	"	sub.u32 %r7, %r7, 1;\n	setp.ne.u32 %p1, %r7, 0;\n	@%p1 bra again;\n"
	"	st.global.u32 [%d1], %r6;\n	ret;\n}\n"
	".visible .entry smooth(.param .u64 to, .param .u64 from, .param .u32 salt)\n{\n"
	"	.reg .b32 %r<10>;\n	.reg .f32 %f<6>;\n	.reg .b64 %d<6>;\n"
	"	ld.param.u64 %d1, [to];\n	ld.param.u64 %d2, [from];\n	ld.param.u32 %r1, [salt];\n"
	"	mov.u32 %r2, %tid.x;\n	mov.u32 %r3, %ctaid.x;\n	mov.u32 %r4, %ntid.x;\n"
	"	mad.lo.u32 %r5, %r3, %r4, %r2;\n"
	"	mul.wide.u32 %d3, %r5, 4;\n	add.u64 %d1, %d1, %d3;\n	add.u64 %d2, %d2, %d3;\n"
	"	ld.global.u32 %r6, [%d2];\n	add.u32 %r6, %r6, %r1;\n	and.b32 %r6, %r6, 65535;\n"
	"	cvt.rn.f32.u32 %f1, %r6;\n	mul.f32 %f2, %f1, 0f3F7F1235;\n	add.f32 %f3, %f2, 0f3EAAAAAB;\n"
	"	st.global.f32 [%d1], %f3;\n	ret;\n}\n";

static void check(CUresult r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "replay_scale: %s: error %d\n", what, (int)r);
	exit(1);
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100000;
	static unsigned host[ELEMENTS];
	CUdeviceptr buffer[BUFFERS];
	CUfunction kernels[2];
	CUcontext context;
	CUmodule module;

	check(cuInit(0), "cuInit");
	check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	check(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	check(cuModuleGetFunction(&kernels[0], module, "mix"), "mix");
	check(cuModuleGetFunction(&kernels[1], module, "smooth"), "smooth");
	for (unsigned i = 0; i < BUFFERS; i++) {
		check(cuMemAlloc_v2(&buffer[i], sizeof(host)), "cuMemAlloc");
		check(cuMemsetD32_v2(buffer[i], i, ELEMENTS), "cuMemsetD32");
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned salt = i;
		void *params[] = {&buffer[i * 7 % BUFFERS], &buffer[(i * 5 + 3) % BUFFERS], &salt};

		check(cuLaunchKernel(kernels[i % 4 == 3], ELEMENTS / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, params,
				     NULL),
		      "cuLaunchKernel");
		if (i % 1000 == 999)
			check(cuMemcpyDtoH_v2(host, buffer[i * 7 % BUFFERS], sizeof(host)), "cuMemcpyDtoH");
	}
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
