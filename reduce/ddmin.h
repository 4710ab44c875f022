/* SPDX-License-Identifier: Apache-2.0
 *
 * ddmin: delta debugging (A. Zeller, R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002), the part
 * that tries complements: of n units, groups are left out while a test still holds, in ever smaller groups, down to one.
 */
#ifndef CUTRACE_REDUCE_DDMIN_H
#define CUTRACE_REDUCE_DDMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ddmin {
	size_t n;
	uint8_t *keep; /* one byte a unit: 1 those to begin with; after it, those that are left */
	bool (*test)(void *ctx, const uint8_t *keep); /* whether it still holds with these alone */
	bool (*stop)(void *ctx);                      /* whether to leave it at that */
	void *ctx;
};
/* How many units went. */
size_t ddmin_run(struct ddmin *d);

#endif
