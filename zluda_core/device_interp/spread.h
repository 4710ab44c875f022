/* SPDX-License-Identifier: Apache-2.0
 *
 * spread: option "approx": what another GPU's approximation of the same value might be. A result moves by a part of
 * the bound that the ISA states (docs/precision.md), chosen by the seed, the operation and the exact result, so that the
 * same value gives the same result as a table in hardware would. Zeros, ones, infinities and NaNs stay.
 */
#ifndef CUTRACE_INTERP_SPREAD_H
#define CUTRACE_INTERP_SPREAD_H

#include <math.h>

#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/interp.h"

/* Bounds of an operation, less what rounding the result takes. */
struct spread {
	unsigned op; /* results of different operations move differently */
	double relative, absolute;
	double limit; /* of the magnitude; 0: none */
};

static inline bool spreads(const struct warp *w)
{
	return unlikely(w->block->grid->dev->approx_seeded);
}

static inline double spread(const struct warp *w, double exact, const struct spread *s)
{
	uint64_t h = w->block->grid->dev->approx_seed * 0x9e3779b97f4a7c15ull ^ f64_bits(exact) ^
		     (uint64_t)s->op << 56;

	if (!isfinite(exact) || exact == 0 || fabs(exact) == 1)
		return exact;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 27) * 0x94d049bb133111ebull;
	h ^= h >> 31;
	double part = (double)(int64_t)h * 0x1p-63; /* -1 to 1 */
	double moved = exact + part * (fabs(exact) * s->relative + s->absolute);
	return s->limit != 0 && fabs(moved) > s->limit ? copysign(s->limit, exact) : moved;
}

#endif
