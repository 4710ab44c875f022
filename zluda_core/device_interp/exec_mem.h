/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_mem: from a lane's address to a host pointer, with every check. Used by
 * loads, stores, atomics and asynchronous copies.
 */
#ifndef CUTRACE_INTERP_EXEC_MEM_H
#define CUTRACE_INTERP_EXEC_MEM_H

#include "zluda_core/device_interp/interp.h"

/* How many instructions an operation counts for that a spinning thread would repeat: after a few dozen of
 * them without progress the fragment gives way. */
#define SPIN_COST 4000

/* u of memory instructions */
enum { MEM_STORE = 1, MEM_ATOMIC = 2, MEM_SPIN = 4, MEM_SIGNED = 8 };

/* Pointers of `bytes` (natural alignment required) at a[l] for the lanes of w->exec. False: a fault was
 * recorded. */
bool mem_resolve(struct warp *w, const struct xinst *i, enum ptx_space space, const uint64_t *a,
		 uint32_t bytes, uint32_t align, uint32_t how, uint8_t **p);
/* One lane. */
uint8_t *mem_resolve_lane(struct warp *w, const struct xinst *i, enum ptx_space space, uint64_t a,
			  uint32_t bytes, uint32_t align, uint32_t how, unsigned lane);
/* Global range for a whole warp: pointer to `first`, or NULL when it is not in one mapping (no fault
 * recorded). */
uint8_t *mem_range(struct warp *w, const struct xinst *i, uint64_t first, uint64_t bytes);
/* Which space a generic address belongs to; *a becomes the address in it. */
enum ptx_space generic_space(uint64_t *a);

/* u of a load or store: elements, space, whether it is strong, bytes of an element */
#define U_PACK(vec, space, strong, bytes) \
	((uint32_t)(vec) | (uint32_t)(space) << 8 | (uint32_t)(strong) << 16 | (uint32_t)(bytes) << 24)
#define U_VEC(u)     ((u)&0xff)
#define U_SPACE(u)   ((enum ptx_space)((u) >> 8 & 0xff))
#define U_STRONG(u)  ((u) >> 16 & 1)
#define U_ELEMENT(u) ((u) >> 24)

/* All of a vector, or 128 bits, in one access. Operands as for other loads and stores. */
const struct xinst *exec_ld_whole(struct warp *w, const struct xinst *i);
const struct xinst *exec_st_whole(struct warp *w, const struct xinst *i);

static inline void spin(struct warp *w)
{
	w->left -= SPIN_COST;
	w->spin_units += SPIN_COST;
}

#endif
