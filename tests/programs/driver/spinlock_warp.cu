/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* Every thread takes the same lock in turn: the lanes of a warp wait for each other, which only
 * ends where each lane makes progress of its own (independent thread scheduling). The protected
 * counter is updated without an atomic, so a lock that does not exclude loses updates. */
__global__ void spinlock_count(u32 *lock, volatile u32 *counter, u32 rounds)
{
	for (u32 r = 0; r < rounds; r++) {
		while (atomic_cas(lock, 0, 1) != 0)
			;
		fence();
		counter[0] = counter[0] + 1;
		fence();
		atomic_exchange(lock, 0);
	}
}
