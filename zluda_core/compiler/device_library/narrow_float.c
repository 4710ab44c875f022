/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions between f32 and the small formats, PTX ISA 9.7.9.21: f16, bf16, tf32 and OCP's floats of 8, 6 and 4 bits
 * (OCP Microscaling Formats 1.0, 5.3). tf32 is f32 whose lowest 13 bits are 0.
 */
#include "zluda_core/compiler/device_library/float_parts.h"

struct format {
	int32_t exponent, mantissa; /* bits */
	bool has_infinity, has_nan;
	uint32_t nan;
};

static const struct format formats[] = {
	[CT_F16] = {5, 10, true, true, 0x7fff},   [CT_BF16] = {8, 7, true, true, 0x7fff},
	[CT_TF32] = {8, 10, true, true, 0x3ffff}, [CT_E4M3] = {4, 3, false, true, 0x7f},
	[CT_E5M2] = {5, 2, true, true, 0x7f},     [CT_E2M1] = {2, 1, false, false, 0x7},
	[CT_E2M3] = {2, 3, false, false, 0x1f},   [CT_E3M2] = {3, 2, false, false, 0x1f},
};

/* Whether what is dropped behind a significand makes its magnitude one more. */
static bool rounds_up(bool negative, bool odd, bool half, bool rest, uint32_t mode)
{
	switch (mode) {
	case CT_RZ: return false;
	case CT_RM: return negative && (half || rest);
	case CT_RP: return !negative && (half || rest);
	case CT_RNA: return half;
	default: return half && (rest || odd);
	}
}

/* v without its last `drop` bits, 1 to 30. */
static uint32_t shortened(uint32_t v, int32_t drop, bool negative, uint32_t mode)
{
	uint32_t kept = v >> drop, dropped = v & ((1u << drop) - 1);
	bool half = dropped >> (drop - 1), rest = dropped & ((1u << (drop - 1)) - 1);

	return kept + rounds_up(negative, kept & 1, half, rest, mode);
}

/* The magnitude of a finite f32, rounded; exponent and mantissa are one number, so that a carry goes from one to the
 * other. May exceed the format. */
static uint32_t rounded(const struct format *f, uint32_t magnitude, bool negative, uint32_t mode)
{
	if (f->exponent == 8) /* as f32 */
		return shortened(magnitude, 23 - f->mantissa, negative, mode);
	int32_t least = 2 - (1 << (f->exponent - 1)); /* the exponent of the smallest normal number */
	int32_t biased = (int32_t)(magnitude >> 23), exponent = biased ? biased - 127 : -126;
	uint32_t significand = (magnitude & 0x7fffff) | (biased ? 0x800000 : 0);
	bool normal = biased && exponent >= least;
	int32_t drop = 23 - f->mantissa + (normal ? 0 : least - exponent);

	return shortened(significand, drop > 30 ? 30 : drop, negative, mode) +
	       (normal ? (uint32_t)(exponent - least) << f->mantissa : 0);
}

static bool overflows_to_largest(bool negative, uint32_t mode)
{
	return mode == CT_RZ || mode == (negative ? CT_RP : CT_RM);
}

/* Only powers of two from 2^-127 to 2^127, of the magnitude; .rz or .rp. What is smaller becomes 2^-127. */
static uint32_t to_ue8m0(uint32_t magnitude, uint32_t mode, bool satfinite)
{
	uint32_t e = magnitude >> 23, fraction = magnitude & 0x7fffff;

	if (magnitude > 0x7f800000)
		return 255;
	if (e == 0)
		return mode == CT_RP && fraction > 0x400000; /* 2^-127 is 0x400000 */
	e += mode == CT_RP && fraction && e < 255;
	return e < 255 ? e : satfinite ? 254 : 255;
}

static uint32_t finish(uint32_t format, uint32_t bits)
{
	return format == CT_TF32 ? bits << 13 : bits;
}

__attribute__((always_inline)) inline uint32_t ct_narrow(float v, uint32_t format, uint32_t mode,
							 uint32_t flags)
{
	const struct format *f = &formats[format];
	uint32_t magnitude = f32_bits(v) & 0x7fffffff;
	bool negative = f32_bits(v) >> 31, satfinite = flags & CT_SATFINITE;

	if (flags & CT_RELU && (negative || !magnitude) && magnitude <= 0x7f800000)
		return 0;
	if (format == CT_UE8M0)
		return to_ue8m0(magnitude, mode, satfinite);
	if (magnitude > 0x7f800000)
		return format == CT_TF32 ? 0x7fffffff : f->nan;
	uint32_t sign = (uint32_t)negative << (f->exponent + f->mantissa);
	uint32_t infinity = ((1u << f->exponent) - 1) << f->mantissa;
	uint32_t largest =
		f->has_infinity ? infinity - 1 : (1u << (f->exponent + f->mantissa)) - (f->has_nan ? 2 : 1);
	bool is_infinite = magnitude == 0x7f800000;
	uint32_t r = is_infinite ? UINT32_MAX : rounded(f, magnitude, negative, mode);

	if (r <= largest)
		return finish(format, sign | r);
	if (satfinite || !f->has_nan || (!is_infinite && overflows_to_largest(negative, mode)))
		return finish(format, sign | largest);
	return finish(format, sign | (f->has_infinity ? infinity : f->nan));
}

/* Exact. */
__attribute__((always_inline)) inline float ct_widen(uint32_t bits, uint32_t format)
{
	const struct format *f = &formats[format];

	if (format == CT_UE8M0)
		return f32_of(bits == 255 ? 0x7fffffff : bits ? bits << 23 : 0x400000);
	uint32_t sign = bits >> (f->exponent + f->mantissa) << 31;
	uint32_t mantissa = bits & ((1u << f->mantissa) - 1), top = (1u << f->exponent) - 1;
	uint32_t e = bits >> f->mantissa & top;

	if (e == top && f->has_infinity)
		return f32_of(sign | (mantissa ? 0x7fffffff : 0x7f800000));
	if (e == top && f->has_nan && mantissa == (1u << f->mantissa) - 1)
		return f32_of(sign | 0x7fffffff);
	int32_t bias = (1 << (f->exponent - 1)) - 1;
	uint32_t magnitude =
		e ? (e + 127 - (uint32_t)bias) << 23 | mantissa << (23 - f->mantissa)
		  : f32_bits((float)mantissa * f32_of((uint32_t)(128 - bias - f->mantissa) << 23));
	return f32_of(sign | magnitude);
}
