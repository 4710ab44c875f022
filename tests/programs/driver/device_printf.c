/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

/* The kernel's text appears on stdout before cuCtxSynchronize returns; the test compares it. */
int main(void)
{
	float x[] = {0.5f, -1.25f, 1024.0f, 1.0f / 3.0f};
	uint32_t n = COUNT(x);

	host_start();
	CUfunction print = host_kernel("print_line");
	CUdeviceptr dx = host_buffer(x, sizeof(x));

	host_launch(print, "print_line", (struct dim){2, 1, 1}, (struct dim){32, 1, 1}, 0, NULL,
		    (void *[]){&n, &dx});
	CU(cuCtxSynchronize());
	CU(cuMemFree_v2(dx));
	return host_finish();
}
