/* SPDX-License-Identifier: Apache-2.0
 *
 * What atomic operations make of the old value where no instruction of AMD does it, and swaps of 128 bits. PTX ISA
 * 9.7.13.5.
 */
#include "zluda_core/compiler/device_library/float_parts.h"

static uint32_t flushed(uint32_t bits, bool flush)
{
	return flush && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
}

/* Sums of subnormals are exact in f64, and others rounded as if at once: 53 >= 2 * 24 + 2 bits. */
uint32_t ct_atomic_sum_f32(uint32_t old, uint32_t y, uint32_t flush)
{
	double sum = f64_of_f32_bits(flushed(old, flush)) + f64_of_f32_bits(flushed(y, flush));

	return sum != sum ? 0x7fffffff : flushed(f32_bits_of_f64(sum), flush);
}

static uint32_t add_f16(uint32_t x, uint32_t y)
{
	union {
		uint16_t u;
		_Float16 f;
	} a = {.u = (uint16_t)x}, b = {.u = (uint16_t)y}, sum = {.f = a.f + b.f};

	return sum.f != sum.f ? 0x7fff : sum.u;
}

/* f32 has more than twice bf16's bits: rounding to it first changes nothing. */
static uint32_t add_bf16(uint32_t x, uint32_t y)
{
	uint32_t sum = ct_atomic_sum_f32(x << 16, y << 16, false);

	if ((sum & 0x7fffffff) > 0x7f800000)
		return 0x7fff;
	return (sum + 0x7fff + (sum >> 16 & 1)) >> 16;
}

/* A number that orders halves as their values, -0 before +0. */
static int32_t rank(uint32_t x)
{
	return x & 0x8000 ? -1 - (int32_t)(x & 0x7fff) : (int32_t)x;
}

/* The number where one of them is no NaN. */
static uint32_t pick(uint32_t x, uint32_t y, uint32_t infinity, bool max)
{
	bool x_nan = (x & 0x7fff) > infinity, y_nan = (y & 0x7fff) > infinity;

	if (x_nan || y_nan)
		return x_nan && y_nan ? 0x7fff : x_nan ? y : x;
	return (rank(x) < rank(y)) != max ? x : y;
}

enum { INFINITY_F16 = 0x7c00, INFINITY_BF16 = 0x7f80 };

#define PAIRWISE(name, low, high)                              \
	uint32_t ct_atomic_##name(uint32_t x, uint32_t y)      \
	{                                                      \
		const uint32_t a = x & 0xffff, b = y & 0xffff; \
		const uint32_t c = x >> 16, d = y >> 16;       \
                                                               \
		return (low) | (high) << 16;                   \
	}
PAIRWISE(add_f16x2, add_f16(a, b), add_f16(c, d))
PAIRWISE(min_f16x2, pick(a, b, INFINITY_F16, false), pick(c, d, INFINITY_F16, false))
PAIRWISE(max_f16x2, pick(a, b, INFINITY_F16, true), pick(c, d, INFINITY_F16, true))
PAIRWISE(add_bf16x2, add_bf16(a, b), add_bf16(c, d))
PAIRWISE(min_bf16x2, pick(a, b, INFINITY_BF16, false), pick(c, d, INFINITY_BF16, false))
PAIRWISE(max_bf16x2, pick(a, b, INFINITY_BF16, true), pick(c, d, INFINITY_BF16, true))

#ifdef __AMDGCN__
typedef uint32_t words __attribute__((ext_vector_type(4), may_alias)); /* one access of 16 bytes */
union quad {
	words w;
	ct_u128 u;
};

/* Lanes of a wave may want the same lock: the one that gets it has to have freed it before the wave goes on to try
 * again, so that nothing of it may move behind the loop. The lock is taken by a generic address: what it orders is
 * global or shared memory. */
#	define UNDER_LOCK(change)                                                                         \
		uint32_t *lock = (uint32_t *)(locks + ((uintptr_t)p >> 4) % LOWER_LOCKS);                  \
		volatile words *at = p;                                                                    \
		union quad old = {0};                                                                      \
                                                                                                           \
		for (uint32_t done = 0; !done;) {                                                          \
			uint32_t is_free = 0;                                                              \
			if (__scoped_atomic_compare_exchange_n(lock, &is_free, 1, false, __ATOMIC_ACQUIRE, \
							       __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)) { \
				old.w = *at;                                                               \
				change;                                                                    \
				__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");                         \
				__scoped_atomic_store_n(lock, 0, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE); \
				done = 1;                                                                  \
			}                                                                                  \
			__asm__ volatile("" : "+v"(done));                                                 \
		}                                                                                          \
		return old.u

ct_u128 ct_atomic_cas_128(void *p, ct_u128 expected, ct_u128 value, ct_global uint32_t *locks)
{
	UNDER_LOCK(if (old.u == expected) *at = ((union quad){.u = value}).w);
}

ct_u128 ct_atomic_exch_128(void *p, ct_u128 value, ct_global uint32_t *locks)
{
	UNDER_LOCK(*at = ((union quad){.u = value}).w);
}
#endif
