/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier: the object in shared memory of PTX's mbarrier operations (ISA 9.7.13.16), which is opaque. Ours is: bits 0
 * to 19 pending arrivals, 20 to 39 expected arrivals, 40 to 60 tx-count (two's complement), 61 to 63 number of the phase. A
 * state is the object as it was before the arrival. What changes it is the device library's.
 */
#ifndef CUTRACE_PTX_LOWER_MBARRIER_H
#define CUTRACE_PTX_LOWER_MBARRIER_H

enum { CT_MBARRIER_COUNT_MAX = (1 << 20) - 1 };

enum ct_mbarrier_action {
	CT_MBARRIER_INIT,
	CT_MBARRIER_INVAL,
	CT_MBARRIER_EXPECT_TX,
	CT_MBARRIER_COMPLETE_TX,
	CT_MBARRIER_ARRIVE,
	CT_MBARRIER_DROP,          /* arrives, and is expected no longer */
	CT_MBARRIER_ARRIVE_EXPECT, /* one thread arrives; the operand is a tx-count */
	CT_MBARRIER_DROP_EXPECT,
};

#endif
