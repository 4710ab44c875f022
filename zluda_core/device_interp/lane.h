/* SPDX-License-Identifier: Apache-2.0
 *
 * lane: how a handler visits the 32 lanes. A handler of a pure operation
 * computes all lanes; with some lanes off the old value is blended back, which
 * the compiler turns into vector code as well. `#pragma GCC ivdep` is right
 * here: destination and sources are the same cell or disjoint cells.
 */
#ifndef CUTRACE_INTERP_LANE_H
#define CUTRACE_INTERP_LANE_H

#include "zluda_core/device_interp/decode.h"

#define LANE_ON(m, l) ((m) >> (l)&1u)
#define LANE_LOOP     _Pragma("GCC ivdep") for (uint32_t l = 0; l < LANES; l++)

/* Body sets `r` from the sources x, y, z (scalars of lane l). */
#define LANES_STORE(TD, LOADS, EXPR)                              \
	do {                                                      \
		const uint32_t m = w->exec;                       \
		if (likely(m == FULL_MASK)) {                     \
			LANE_LOOP                                 \
			{                                         \
				LOADS;                            \
				d[l] = (TD)(EXPR);                \
			}                                         \
		} else {                                          \
			LANE_LOOP                                 \
			{                                         \
				LOADS;                            \
				TD r_ = (TD)(EXPR);               \
				d[l] = LANE_ON(m, l) ? r_ : d[l]; \
			}                                         \
		}                                                 \
	} while (0)

#define DEF1(name, TD, TA, EXPR)                                               \
	static const struct xinst *name(struct warp *w, const struct xinst *i) \
	{                                                                      \
		TD *d = cell(w, i->o[0]);                                      \
		const TA *a = cell(w, i->o[1]);                                \
		LANES_STORE(TD, TA x = a[l], EXPR);                            \
		return i + 1;                                                  \
	}

#define DEF2(name, TD, TA, TB, EXPR)                                           \
	static const struct xinst *name(struct warp *w, const struct xinst *i) \
	{                                                                      \
		TD *d = cell(w, i->o[0]);                                      \
		const TA *a = cell(w, i->o[1]);                                \
		const TB *b = cell(w, i->o[2]);                                \
		LANES_STORE(TD, TA x = a[l]; TB y = b[l], EXPR);               \
		return i + 1;                                                  \
	}

#define DEF3(name, TD, TA, TB, TC, EXPR)                                       \
	static const struct xinst *name(struct warp *w, const struct xinst *i) \
	{                                                                      \
		TD *d = cell(w, i->o[0]);                                      \
		const TA *a = cell(w, i->o[1]);                                \
		const TB *b = cell(w, i->o[2]);                                \
		const TC *c = cell(w, i->o[3]);                                \
		LANES_STORE(TD, TA x = a[l]; TB y = b[l]; TC z = c[l], EXPR);  \
		return i + 1;                                                  \
	}

#define DEF4(name, TD, TA, TB, TC, TE, EXPR)                                               \
	static const struct xinst *name(struct warp *w, const struct xinst *i)             \
	{                                                                                  \
		TD *d = cell(w, i->o[0]);                                                  \
		const TA *a = cell(w, i->o[1]);                                            \
		const TB *b = cell(w, i->o[2]);                                            \
		const TC *c = cell(w, i->o[3]);                                            \
		const TE *e = cell(w, i->o[4]);                                            \
		LANES_STORE(TD, TA x = a[l]; TB y = b[l]; TC z = c[l]; TE v = e[l], EXPR); \
		return i + 1;                                                              \
	}

/* Stores the lanes of `bits` that are on into a predicate. */
static inline void pred_store(struct warp *w, uint32_t o, uint32_t bits)
{
	uint32_t *p = cell(w, o);

	*p = (*p & ~w->exec) | (bits & w->exec);
}

static inline uint32_t pred_load(struct warp *w, uint32_t o)
{
	return *(const uint32_t *)cell(w, o);
}

/* Row of a table: matches operation and type only, unless fields are added. */
#define ROW(op_, type_, sig_, fn_, ...)                                                               \
	{                                                                                             \
		.op = PTX_OP_##op_, .match = MATCH_TYPE, .type = PTX_##type_, .sig = sig_, .fn = fn_, \
		##__VA_ARGS__                                                                         \
	}
#define NEED(f) .need = (f)
#define OK(f)   .ok = (f)

#endif
