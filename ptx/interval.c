/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/interval.h"

struct interval interval_one(int64_t x)
{
	return (struct interval){x, x};
}

bool interval_is_none(struct interval a)
{
	return a.low > a.high;
}

bool interval_is_all(struct interval a)
{
	return a.low == INT64_MIN && a.high == INT64_MAX;
}

bool interval_is_one(struct interval a)
{
	return a.low == a.high;
}

bool interval_same(struct interval a, struct interval b)
{
	return (a.low == b.low && a.high == b.high) || (interval_is_none(a) && interval_is_none(b));
}

struct interval interval_union(struct interval a, struct interval b)
{
	if (interval_is_none(a))
		return b;
	if (interval_is_none(b))
		return a;
	return (struct interval){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

struct interval interval_meet(struct interval a, struct interval b)
{
	return (struct interval){a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
}

static struct interval of_type(unsigned bits, bool is_signed)
{
	if (bits >= 64)
		return is_signed ? INTERVAL_ALL : (struct interval){0, INT64_MAX};
	if (is_signed)
		return (struct interval){-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1};
	return (struct interval){0, (INT64_C(1) << bits) - 1};
}

struct interval interval_as(struct interval a, unsigned bits, bool is_signed, bool *lost)
{
	struct interval t = of_type(bits, is_signed);
	if (interval_is_none(a) || (a.low >= t.low && a.high <= t.high))
		return a;
	if (bits < 64 && !interval_is_all(a)) { /* moved by a multiple of 2^bits */
		__int128 size = (__int128)1 << bits, low = a.low, high = a.high;
		__int128 turns = (low - t.low) / size - ((low - t.low) % size < 0);
		low -= turns * size;
		high -= turns * size;
		if (high <= t.high)
			return (struct interval){(int64_t)low, (int64_t)high};
	}
	*lost = true;
	return bits >= 64 ? INTERVAL_ALL : t;
}

static bool either_none(struct interval a, struct interval b)
{
	return interval_is_none(a) || interval_is_none(b);
}

struct interval interval_add(struct interval a, struct interval b)
{
	struct interval r;
	if (either_none(a, b))
		return INTERVAL_NONE;
	if (__builtin_add_overflow(a.low, b.low, &r.low) || __builtin_add_overflow(a.high, b.high, &r.high))
		return INTERVAL_ALL;
	return r;
}

struct interval interval_subtract(struct interval a, struct interval b)
{
	struct interval r;
	if (either_none(a, b))
		return INTERVAL_NONE;
	if (__builtin_sub_overflow(a.low, b.high, &r.low) || __builtin_sub_overflow(a.high, b.low, &r.high))
		return INTERVAL_ALL;
	return r;
}

/* The least and the greatest of the products of ends. */
static void products(struct interval a, struct interval b, __int128 *low, __int128 *high)
{
	const int64_t x[] = {a.low, a.high}, y[] = {b.low, b.high};
	*low = *high = (__int128)a.low * b.low;
	for (unsigned k = 1; k < 4; k++) {
		__int128 p = (__int128)x[k & 1] * y[k >> 1];
		*low = p < *low ? p : *low;
		*high = p > *high ? p : *high;
	}
}

struct interval interval_multiply(struct interval a, struct interval b)
{
	__int128 low, high;
	if (either_none(a, b))
		return INTERVAL_NONE;
	if (interval_is_all(a) || interval_is_all(b))
		return INTERVAL_ALL;
	products(a, b, &low, &high);
	if (low < INT64_MIN || high > INT64_MAX)
		return INTERVAL_ALL;
	return (struct interval){(int64_t)low, (int64_t)high};
}

struct interval interval_multiply_high(struct interval a, struct interval b, unsigned bits)
{
	__int128 low, high;
	if (either_none(a, b))
		return INTERVAL_NONE;
	if (interval_is_all(a) || interval_is_all(b))
		return INTERVAL_ALL;
	products(a, b, &low, &high);
	return (struct interval){(int64_t)(low >> bits), (int64_t)(high >> bits)};
}

struct interval interval_divide(struct interval a, struct interval b)
{
	if (either_none(a, b))
		return INTERVAL_NONE;
	if (interval_is_all(a) || b.low < 1)
		return INTERVAL_ALL;
	return (struct interval){a.low < 0 ? a.low / b.low : a.low / b.high,
				 a.high < 0 ? a.high / b.high : a.high / b.low};
}

struct interval interval_remainder(struct interval a, struct interval b)
{
	if (either_none(a, b))
		return INTERVAL_NONE;
	if (b.low < 1)
		return INTERVAL_ALL;
	int64_t last = b.high - 1;
	if (a.low >= 0)
		return (struct interval){0, a.high < last ? a.high : last};
	return (struct interval){-last, last};
}

struct interval interval_shift_right(struct interval a, struct interval by)
{
	if (either_none(a, by))
		return INTERVAL_NONE;
	if (by.low < 0)
		return INTERVAL_ALL;
	int64_t least = by.low > 63 ? 63 : by.low, most = by.high > 63 ? 63 : by.high;
	return (struct interval){a.low >> (a.low < 0 ? least : most), a.high >> (a.high < 0 ? most : least)};
}

/* Up to the highest bit that one of the numbers may have. */
static int64_t all_bits_of(int64_t high)
{
	return high ? (int64_t)(UINT64_MAX >> __builtin_clzll((uint64_t)high)) : 0;
}

struct interval interval_and(struct interval a, struct interval b, unsigned bits)
{
	bool lost = false;
	struct interval mask = interval_as(b, bits, true, &lost);
	if (either_none(a, b))
		return INTERVAL_NONE;
	/* -(2^k): rounds down, whatever the numbers are */
	if (interval_is_one(mask) && mask.low < 0 && !(-(uint64_t)mask.low & (-(uint64_t)mask.low - 1)))
		return interval_is_all(a) ? a : (struct interval){a.low & mask.low, a.high & mask.low};
	if (a.low < 0 && b.low < 0)
		return INTERVAL_ALL;
	int64_t high = a.low >= 0 && (b.low < 0 || a.high < b.high) ? a.high : b.high;
	return (struct interval){0, high};
}

struct interval interval_or(struct interval a, struct interval b)
{
	int64_t sum;
	if (either_none(a, b))
		return INTERVAL_NONE;
	if (a.low < 0 || b.low < 0)
		return INTERVAL_ALL;
	struct interval r = {a.low > b.low ? a.low : b.low, all_bits_of(a.high | b.high)};
	if (!__builtin_add_overflow(a.high, b.high, &sum) && sum < r.high)
		r.high = sum;
	return r;
}

struct interval interval_xor(struct interval a, struct interval b)
{
	if (either_none(a, b))
		return INTERVAL_NONE;
	if (a.low < 0 || b.low < 0)
		return INTERVAL_ALL;
	return (struct interval){0, all_bits_of(a.high | b.high)};
}

static struct interval without(struct interval a, int64_t x)
{
	if (a.low == x && a.high == x)
		return INTERVAL_NONE;
	a.low += a.low == x;
	a.high -= a.high == x;
	return a;
}

struct interval interval_where(struct interval a, enum ptx_cmp cmp, struct interval b)
{
	if (either_none(a, b))
		return INTERVAL_NONE;
	switch (cmp) {
	case PTX_EQ: return interval_meet(a, b);
	case PTX_NE: return interval_is_one(b) ? without(a, b.low) : a;
	case PTX_LT:
	case PTX_LO:
		if (b.high == INT64_MIN)
			return INTERVAL_NONE;
		a.high = a.high < b.high - 1 ? a.high : b.high - 1;
		return a;
	case PTX_LE:
	case PTX_LS: a.high = a.high < b.high ? a.high : b.high; return a;
	case PTX_GT:
	case PTX_HI:
		if (b.low == INT64_MAX)
			return INTERVAL_NONE;
		a.low = a.low > b.low + 1 ? a.low : b.low + 1;
		return a;
	case PTX_GE:
	case PTX_HS: a.low = a.low > b.low ? a.low : b.low; return a;
	default: return a;
	}
}
