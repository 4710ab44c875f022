/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

/* The kernel's text appears on stdout before cuCtxSynchronize returns; the test compares it. */
int main(void)
{
	float x[] = {0.5f, -1.25f, 1024.0f, 1.0f / 3.0f}, doubled[COUNT(x)];
	uint32_t n = COUNT(x);

	for (uint32_t i = 0; i < n; i++)
		doubled[i] = 2.0f * x[i];
	host_start();
	CUfunction print = host_kernel("print_and_double");
	CUdeviceptr dx = host_buffer(x, sizeof(x));

	host_launch(print, "print_and_double", (struct dim){2, 1, 1}, (struct dim){32, 1, 1}, 0, NULL,
		    (void *[]){&n, &dx});
	CU(cuCtxSynchronize());
	host_read(x, dx, sizeof(x));
	host_compare_f32("x", x, doubled, n);
	CU(cuMemFree_v2(dx));
	return host_finish();
}
