/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#define BLOCKS 2
#define BLOCK  64
#define ROUNDS 3

int main(void)
{
	uint32_t lock = 0, counter = 0, rounds = ROUNDS, expected = BLOCKS * BLOCK * ROUNDS;

	host_start();
	CUfunction count = host_kernel("spinlock_count");
	CUdeviceptr dlock = host_buffer(&lock, sizeof(lock)),
		    dcounter = host_buffer(&counter, sizeof(counter));

	host_launch(count, "spinlock_count", (struct dim){BLOCKS, 1, 1}, (struct dim){BLOCK, 1, 1}, 0, NULL,
		    (void *[]){&dlock, &dcounter, &rounds});
	host_read(&counter, dcounter, sizeof(counter));
	host_compare_u32("counter", &counter, &expected, 1);
	host_read(&lock, dlock, sizeof(lock));
	host_compare_u32("lock", &lock, &(uint32_t){0}, 1);
	CU(cuMemFree_v2(dlock));
	CU(cuMemFree_v2(dcounter));
	return host_finish();
}
