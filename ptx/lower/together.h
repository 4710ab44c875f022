/* SPDX-License-Identifier: Apache-2.0
 *
 * together: branches that lanes take together although what decides them isn't the same for all threads: one thread of
 * the block alone is there, or all lanes that are there read one place in one instruction, whose result is made one.
 */
#ifndef CUTRACE_PTX_LOWER_TOGETHER_H
#define CUTRACE_PTX_LOWER_TOGETHER_H

#include "ptx/analysis.h"
#include "ptx/lower/writer.h"

/* Lowers u->divergent where that is so. reads[n] = 1: instruction n, one of `spins` (spin.h), is a read whose result must
 * be made that of the first lane. `level`: within which addresses must be the same. */
void together_find(const struct ptx_func *f, struct ptx_uniformity *u, const uint8_t *spins,
		   enum ptx_level level, uint8_t *reads);

#endif
