/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that writes far past its buffer. The error must come at the next synchronisation and stay:
 * after an illegal address a context answers nothing else (CUDA driver API, CUDA_ERROR_ILLEGAL_ADDRESS:
 * "leaves the process in an inconsistent state and any further CUDA work will return the same error").
 * The distance is more than a driver may have mapped around the buffer. */
#include <stdio.h>

#include "host.h"

#define N      1024
#define BEYOND 0x10000000u /* elements: 1 GiB */

int main(void)
{
	static uint32_t out[N];
	uint32_t n = 0xffffffffu;

	host_start();
	CUfunction fill = host_kernel("fill_squares");
	CUdeviceptr dout = host_buffer(NULL, sizeof(out)), beyond = dout + 4ull * BEYOND;

	/* In bounds first: the same kernel is innocent then. */
	n = N;
	host_launch(fill, "fill_squares", (struct dim){N / 256, 1, 1}, (struct dim){256, 1, 1}, 0, NULL,
		    (void *[]){&dout, &n});
	host_read(out, dout, sizeof(out));
	for (uint32_t i = 0; i < N; i++) {
		if (out[i] != i * i)
			host_wrong("out[%u] is %u, expected %u", i, out[i], i * i);
	}
	host_launch(fill, "fill_squares", (struct dim){1, 1, 1}, (struct dim){32, 1, 1}, 0, NULL,
		    (void *[]){&beyond, &n});
	CU_FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	CU_FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemcpyDtoH_v2(out, dout, sizeof(out)));
	CU_FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree_v2(dout));
	puts("fault fill_squares");
	return host_finish_faulted();
}
