/* SPDX-License-Identifier: Apache-2.0
 *
 * Two pieces of PTX, made apart from each other, become one module by the driver's linker. */
#include <stdint.h>
#include <string.h>

#include "host.h"

#define N 500

extern const char rules_ptx[]; /* of linked_pieces_rules.cu */

static uint32_t rule(uint32_t which, uint32_t v)
{
	const uint32_t results[] = {v + v, v * v, v ^ 7, v};

	return results[which] * 3 + 1000;
}

static uint32_t steps(uint32_t v)
{
	uint32_t n = 0;

	for (; v != 1; n++)
		v = v & 1 ? 3 * v + 1 : v / 2;
	return n;
}

static void add(CUlinkState link, const char *name, const char *ptx)
{
	CU(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx, strlen(ptx) + 1, name, 0, NULL,
			    NULL));
}

static void start_linked(void)
{
	CUlinkState link;
	size_t bytes;
	void *image;

	host_start_without_module();
	CU(cuLinkCreate_v2(0, NULL, NULL, &link));
	add(link, "kernels.ptx", program_ptx);
	CU_FAILS(CUDA_ERROR_INVALID_PTX, cuLinkComplete(link, &image, &bytes)); /* half of it is missing */
	CU(cuLinkDestroy(link));
	CU(cuLinkCreate_v2(0, NULL, NULL, &link));
	add(link, "kernels.ptx", program_ptx);
	add(link, "rules.ptx", rules_ptx);
	CU(cuLinkComplete(link, &image, &bytes));
	host_load(image);
	CU(cuLinkDestroy(link));
}

int main(void)
{
	uint32_t in[N], out[N], expected[N], n = N, seed = 5, uses[4];
	const struct dim grid = {(N + 127) / 128, 1, 1}, block = {128, 1, 1};

	start_linked();
	CUfunction apply = host_kernel("apply_rules"), collatz = host_kernel("collatz"),
		   read_uses = host_kernel("read_uses");

	for (uint32_t i = 0; i < N; i++)
		in[i] = host_random(&seed) >> 8;
	CUdeviceptr din = host_buffer(in, sizeof(in)), dout = host_buffer(NULL, sizeof(out));

	host_launch(apply, "apply_rules", grid, block, 0, NULL, (void *[]){&din, &dout, &n});
	host_read(out, dout, sizeof(out));
	for (uint32_t i = 0; i < N; i++)
		expected[i] = rule(i & 3, in[i]);
	host_compare_u32("out", out, expected, N);
	host_launch(collatz, "collatz", grid, block, 0, NULL, (void *[]){&din, &dout, &n});
	host_read(out, dout, sizeof(out));
	for (uint32_t i = 0; i < N; i++)
		expected[i] = steps(in[i] % 97 + 1);
	host_compare_u32("steps", out, expected, N);
	host_launch(read_uses, "read_uses", (struct dim){1, 1, 1}, (struct dim){4, 1, 1}, 0, NULL,
		    (void *[]){&dout});
	host_read(uses, dout, sizeof(uses));
	host_compare_u32("uses", uses, (uint32_t[]){1125, 1125, 1125, 1125}, 4);
	CU(cuMemFree_v2(din));
	CU(cuMemFree_v2(dout));
	return host_finish();
}
