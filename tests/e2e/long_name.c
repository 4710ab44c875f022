/* SPDX-License-Identifier: Apache-2.0
 *
 * A program whose kernel has a name as templates of C++ give it: argv[1] letters. What it computes differs where a product
 * and a sum are fused.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_calls.h"

enum { N = 64 };

static const char head[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry ";
static const char body[] = "(.param .u64 data)\n{\n.reg .b64 a<3>; .reg .b32 r<2>; .reg .f32 f<3>;\n"
			   "ld.param.u64 a0, [data];\ncvta.to.global.u64 a0, a0;\nmov.u32 r0, %tid.x;\n"
			   "mul.wide.u32 a1, r0, 4;\nadd.u64 a0, a0, a1;\nld.global.f32 f0, [a0];\n"
			   "mul.f32 f1, f0, f0;\nadd.f32 f2, f1, f0;\nst.global.f32 [a0], f2;\nret;\n}\n";

int main(int argc, char **argv)
{
	size_t letters = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	char *name = calloc(1, letters + 1), *text = calloc(1, sizeof(head) + sizeof(body) + letters);
	void *context, *module, *kernel;
	uint64_t data;
	float x[N];

	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver || !letters || !name || !text)
		return 1;
	memset(name, 'k', letters);
	sprintf(text, "%s%s%s", head, name, body);
	for (int i = 0; i < N; i++)
		x[i] = (float)i * 1.1f;
	CU(cuInit, 0);
	CU(cuCtxCreate_v2, &context, (uintptr_t)0, (uintptr_t)0);
	CU(cuModuleLoadData, &module, text);
	CU(cuModuleGetFunction, &kernel, module, name);
	CU(cuMemAlloc_v2, &data, (uintptr_t)sizeof(x));
	CU(cuMemcpyHtoD_v2, data, x, (uintptr_t)sizeof(x));
	CU(cuLaunchKernel, kernel, (uintptr_t)1, (uintptr_t)1, (uintptr_t)1, (uintptr_t)N, (uintptr_t)1,
	   (uintptr_t)1, (uintptr_t)0, NULL, (void *[]){&data}, NULL);
	CU(cuMemcpyDtoH_v2, x, data, (uintptr_t)sizeof(x));
	free(name);
	free(text);
	return 0;
}
