/* SPDX-License-Identifier: Apache-2.0
 *
 * range: whether what a file says of its parts lies within it; nothing overflows.
 */
#ifndef CUTRACE_RANGE_H
#define CUTRACE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* `bytes` from `offset` on end at `limit` at the latest. */
static inline bool range_inside(uint64_t offset, uint64_t bytes, uint64_t limit)
{
	return offset <= limit && bytes <= limit - offset;
}

#endif
