/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier: operations on the objects of ptx/lower/mbarrier.h.
 */
#ifndef CUTRACE_DEVICE_LIBRARY_MBARRIER_H
#define CUTRACE_DEVICE_LIBRARY_MBARRIER_H

#include <stdint.h>

#include "ptx/lower/mbarrier.h"

/* The object before. */
uint64_t ct_mbarrier_change(uint64_t *object, uint32_t action, uint32_t n);
/* Whether the phase of a state, or with by_parity the one of that parity, is over. */
uint32_t ct_mbarrier_done(const uint64_t *object, uint64_t phase, uint32_t by_parity);

#endif
