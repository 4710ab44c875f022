/* SPDX-License-Identifier: Apache-2.0
 *
 * A fork before the driver is used (a context does not survive one): both processes then work on the device,
 * and both belong into the trace. The parent waits first, so that there is one order; the calls said at the
 * end are those of both. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

#define N 256

static int work(uint32_t factor)
{
	uint32_t v[N], expected[N];

	for (uint32_t i = 0; i < N; i++)
		expected[i] = i * factor;
	host_start();
	CUfunction fill = host_kernel("fill");
	CUdeviceptr dv = host_buffer(NULL, sizeof(v));

	host_launch(fill, "fill", (struct dim){1, 1, 1}, (struct dim){N, 1, 1}, 0, NULL,
		    (void *[]){&dv, &factor});
	host_read(v, dv, sizeof(v));
	host_compare_u32("v", v, expected, N);
	CU(cuMemFree_v2(dv));
	return host_finish();
}

int main(void)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		return work(3);
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		host_wrong("the child failed");
	return work(5);
}
