/* SPDX-License-Identifier: Apache-2.0
 *
 * meaning: what PTX operations mean, in C, for the emitted programs to include. Written from the PTX ISA document;
 * the numbers of its sections are in the comments (ISA 9.0). Needs -frounding-math -ffp-contract=off.
 */
#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HELPER static inline __attribute__((unused))

HELPER float bits_f32(uint32_t x)
{
	float f;

	memcpy(&f, &x, 4);
	return f;
}
HELPER uint32_t f32_bits(float f)
{
	uint32_t x;

	memcpy(&x, &f, 4);
	return x;
}
HELPER double bits_f64(uint64_t x)
{
	double f;

	memcpy(&f, &x, 8);
	return f;
}
HELPER uint64_t f64_bits(double f)
{
	uint64_t x;

	memcpy(&x, &f, 8);
	return x;
}
HELPER _Float16 bits_f16(uint16_t x)
{
	_Float16 f;

	memcpy(&f, &x, 2);
	return f;
}
HELPER uint16_t f16_bits(_Float16 f)
{
	uint16_t x;

	memcpy(&x, &f, 2);
	return x;
}

/* NaNs in one form: which payload a result has is not what these programs are about. */
HELPER uint32_t same_nan_f32(float f)
{
	return f != f ? 0x7fffffff : f32_bits(f);
}
HELPER uint64_t same_nan_f64(double f)
{
	return f != f ? 0x7fffffffffffffff : f64_bits(f);
}
HELPER uint16_t same_nan_f16(uint16_t x)
{
	return (x & 0x7fff) > 0x7c00 ? 0x7fff : x;
}

/* 9.7.8: shifts by more than the width clamp. */
HELPER uint64_t shift_left(uint64_t x, uint32_t n, uint32_t width)
{
	return n >= width ? 0 : x << n;
}
HELPER uint64_t shift_right(uint64_t x, uint32_t n, uint32_t width)
{
	return n >= width ? 0 : x >> n;
}
HELPER int64_t shift_right_signed(int64_t x, uint32_t n, uint32_t width)
{
	return x >> (n >= width ? width - 1 : n);
}
/* shf: the upper or lower half of {high, low} shifted. */
HELPER uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t n)
{
	uint64_t both = (uint64_t)high << 32 | low;

	return n >= 32 ? low : (uint32_t)(both << n >> 32);
}
HELPER uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t n)
{
	uint64_t both = (uint64_t)high << 32 | low;

	return n >= 32 ? high : (uint32_t)(both >> n);
}
HELPER uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* 9.7.1: bit counting and fields. */
HELPER uint64_t reverse_bits(uint64_t x, unsigned width)
{
	uint64_t result = 0;

	for (unsigned i = 0; i < width; i++)
		result |= (x >> i & 1) << (width - 1 - i);
	return result;
}
/* The place of the highest bit that is not a copy of the sign; all ones if there is none. */
HELPER uint32_t find_high(uint64_t x, unsigned width, bool is_signed)
{
	if (is_signed && x >> (width - 1) & 1)
		x = ~x;
	for (unsigned i = width; i-- > 0;)
		if (x >> i & 1)
			return i;
	return 0xffffffff;
}
HELPER uint32_t find_shift(uint64_t x, unsigned width, bool is_signed)
{
	uint32_t place = find_high(x, width, is_signed);

	return place == 0xffffffff ? place : width - 1 - place;
}
/* Position and length are the low 8 bits of the operands; past the end is the sign of the field as far as it goes. */
HELPER uint64_t extract_field(uint64_t a, uint32_t b, uint32_t c, unsigned width, bool is_signed)
{
	uint32_t position = b & 255, length = c & 255, top = position + length - 1;
	uint64_t sign = 0, result = 0;

	if (is_signed && length > 0)
		sign = a >> (top < width ? top : width - 1) & 1;
	for (uint32_t i = 0; i < width; i++)
		result |= (i < length && position + i < width ? a >> (position + i) & 1 : sign) << i;
	return result;
}
HELPER uint64_t insert_field(uint64_t a, uint64_t b, uint32_t c, uint32_t d, unsigned width)
{
	uint32_t position = c & 255, length = d & 255;
	uint64_t result = b;

	for (uint32_t i = 0; i < length && position + i < width; i++)
		result = (result & ~(1ull << (position + i))) | (a >> i & 1) << (position + i);
	return result;
}
/* bmsk: `length` ones from `position` on. */
HELPER uint32_t mask_bits(uint32_t position, uint32_t length)
{
	uint32_t result = 0;

	for (uint32_t i = 0; i < length && position + i < 32; i++)
		result |= 1u << (position + i);
	return result;
}
/* szext: sign or zero extension of the low `n` bits. */
HELPER uint32_t extend_sign(uint32_t a, uint32_t n)
{
	if (n == 0)
		return 0;
	return n >= 32 ? a : (uint32_t)((int32_t)(a << (32 - n)) >> (32 - n));
}
HELPER uint32_t extend_zero(uint32_t a, uint32_t n)
{
	return n >= 32 ? a : a & ((1u << n) - 1);
}
/* prmt: bit 3 of a selector replicates the sign of the byte. */
HELPER uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
	uint64_t bytes = (uint64_t)b << 32 | a;
	uint32_t result = 0;

	for (unsigned i = 0; i < 4; i++) {
		uint32_t s = selector >> 4 * i & 15, byte = bytes >> 8 * (s & 7) & 255;

		if (s & 8)
			byte = byte & 128 ? 255 : 0;
		result |= byte << 8 * i;
	}
	return result;
}
/* prmt's modes: one selector of 2 bits. */
HELPER uint32_t permute_forward(uint32_t a, uint32_t b, uint32_t n, int step)
{
	uint64_t bytes = (uint64_t)b << 32 | a;
	uint32_t result = 0;

	for (int i = 0; i < 4; i++)
		result |= (uint32_t)(bytes >> 8 * ((n % 4 + step * i) & 7) & 255) << 8 * i;
	return result;
}
HELPER uint32_t logic3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
	uint32_t result = 0;

	for (unsigned i = 0; i < 32; i++)
		result |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
	return result;
}
HELPER int32_t byte_of(uint32_t x, unsigned i, bool is_signed)
{
	return is_signed ? (int32_t)(int8_t)(x >> 8 * i) : (int32_t)(x >> 8 * i & 255);
}
HELPER uint32_t dot4(uint32_t a, bool sa, uint32_t b, bool sb, uint32_t c)
{
	for (unsigned i = 0; i < 4; i++)
		c += (uint32_t)(byte_of(a, i, sa) * byte_of(b, i, sb));
	return c;
}
HELPER uint32_t dot2(uint32_t a, bool sa, uint32_t b, bool sb, uint32_t c, unsigned high)
{
	for (unsigned i = 0; i < 2; i++) {
		int32_t x = sa ? (int32_t)(int16_t)(a >> 16 * i) : (int32_t)(a >> 16 * i & 0xffff);

		c += (uint32_t)x * (uint32_t)byte_of(b, 2 * high + i, sb);
	}
	return c;
}
HELPER uint32_t saturate_s32(int64_t x)
{
	return (uint32_t)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}
HELPER int64_t clamp_signed(int64_t x, int64_t low, int64_t high)
{
	return x < low ? low : x > high ? high : x;
}
HELPER uint64_t clamp_unsigned(uint64_t x, uint64_t high)
{
	return x > high ? high : x;
}
HELPER uint64_t high_unsigned(uint64_t a, uint64_t b)
{
	return (unsigned __int128)a * b >> 64;
}
HELPER uint64_t high_signed(int64_t a, int64_t b)
{
	return (uint64_t)((__int128)a * b >> 64);
}
/* Two's complement of the smaller of 24 bits. */
HELPER int64_t low24(uint32_t x)
{
	return (int32_t)(x << 8) >> 8;
}

/* 9.7.3: floating point. */
HELPER float flush(float x)
{
	return x != 0 && __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x;
}
/* .sat: to [0, 1], NaN to +0. */
HELPER float saturate_f32(float x)
{
	return !(x > 0) ? 0.0f : x > 1 ? 1.0f : x;
}
HELPER double saturate_f64(double x)
{
	return !(x > 0) ? 0.0 : x > 1 ? 1.0 : x;
}

#define ROUNDED_HELPER(name, type, parameters, expression)            \
	static __attribute__((unused, noinline)) type name parameters \
	{                                                             \
		fesetround(mode);                                     \
		volatile type result = expression;                    \
		fesetround(FE_TONEAREST);                             \
		return result;                                        \
	}
#define ROUNDED_HELPERS(type, T)                                                     \
	ROUNDED_HELPER(type##_add, T, (volatile T a, volatile T b, int mode), a + b) \
	ROUNDED_HELPER(type##_sub, T, (volatile T a, volatile T b, int mode), a - b) \
	ROUNDED_HELPER(type##_mul, T, (volatile T a, volatile T b, int mode), a *b)  \
	ROUNDED_HELPER(type##_div, T, (volatile T a, volatile T b, int mode), a / b) \
	ROUNDED_HELPER(type##_of_u32, T, (volatile uint32_t a, int mode), (T)a)      \
	ROUNDED_HELPER(type##_of_s32, T, (volatile int32_t a, int mode), (T)a)       \
	ROUNDED_HELPER(type##_of_u64, T, (volatile uint64_t a, int mode), (T)a)      \
	ROUNDED_HELPER(type##_of_s64, T, (volatile int64_t a, int mode), (T)a)
ROUNDED_HELPERS(f32, float)
ROUNDED_HELPERS(f64, double)
ROUNDED_HELPER(f32_fma, float, (volatile float a, volatile float b, volatile float c, int mode),
	       __builtin_fmaf(a, b, c))
ROUNDED_HELPER(f64_fma, double, (volatile double a, volatile double b, volatile double c, int mode),
	       __builtin_fma(a, b, c))
ROUNDED_HELPER(f32_sqrt, float, (volatile float a, int mode), __builtin_sqrtf(a))
ROUNDED_HELPER(f64_sqrt, double, (volatile double a, int mode), __builtin_sqrt(a))
ROUNDED_HELPER(f32_of_f64, float, (volatile double a, int mode), (float)a)
ROUNDED_HELPER(f32_to_integer, float, (volatile float a, int mode), __builtin_rintf(a))
ROUNDED_HELPER(f64_to_integer, double, (volatile double a, int mode), __builtin_rint(a))

/* 9.7.9.21 cvt: a value that was rounded to an integer; out of range clamps. NaN is 0, unless the source is f64 or
 * the destination has 64 bits: then it is the middle of the unsigned or the end of the signed range. */
HELPER uint64_t whole_unsigned(double x, unsigned width, bool wide_nan)
{
	if (x != x)
		return wide_nan ? 1ull << (width - 1) : 0;
	if (x <= 0)
		return 0;
	if (x >= __builtin_ldexp(1, (int)width))
		return width == 64 ? UINT64_MAX : (1ull << width) - 1;
	return (uint64_t)x;
}
HELPER int64_t whole_signed(double x, unsigned width, bool wide_nan)
{
	double end = __builtin_ldexp(1, (int)width - 1);

	if (x != x)
		return wide_nan ? (int64_t)(UINT64_MAX << (width - 1)) : 0;
	if (x < -end)
		return (int64_t)(UINT64_MAX << (width - 1));
	return x >= end ? (int64_t)((1ull << (width - 1)) - 1) : (int64_t)x;
}

/* min and max: a number wins over NaN, +0 is more than -0; .NaN lets NaN win. */
#define MIN_MAX_HELPERS(type, T, signbit_)          \
	HELPER T type##_min(T a, T b)               \
	{                                           \
		if (a != a)                         \
			return b;                   \
		if (b != b)                         \
			return a;                   \
		if (a == 0 && b == 0)               \
			return signbit_(a) ? a : b; \
		return a < b ? a : b;               \
	}                                           \
	HELPER T type##_max(T a, T b)               \
	{                                           \
		if (a != a)                         \
			return b;                   \
		if (b != b)                         \
			return a;                   \
		if (a == 0 && b == 0)               \
			return signbit_(a) ? b : a; \
		return a > b ? a : b;               \
	}
MIN_MAX_HELPERS(f32, float, __builtin_signbitf)
MIN_MAX_HELPERS(f64, double, __builtin_signbit)

/* Half precision: sums and products of two halves are exact or rounded the same way in single precision. */
HELPER uint16_t f16_of_f32(float x)
{
	return f16_bits((_Float16)x);
}
HELPER float f32_of_f16(uint16_t x)
{
	return (float)bits_f16(x);
}
HELPER uint16_t f16_fma(uint16_t a, uint16_t b, uint16_t c)
{
	return f16_bits((_Float16)((__float128)bits_f16(a) * bits_f16(b) + bits_f16(c)));
}
HELPER uint16_t f16_saturate(uint16_t x)
{
	return f16_of_f32(saturate_f32(f32_of_f16(x)));
}
HELPER uint16_t f16_flush(uint16_t x)
{
	return x & 0x7c00 ? x : x & 0x8000;
}
HELPER uint16_t f16_min(uint16_t a, uint16_t b)
{
	return f16_of_f32(f32_min(f32_of_f16(a), f32_of_f16(b)));
}
HELPER uint16_t f16_max(uint16_t a, uint16_t b)
{
	return f16_of_f32(f32_max(f32_of_f16(a), f32_of_f16(b)));
}
/* bf16 is the upper half of an f32, rounded to nearest even. */
HELPER uint16_t bf16_of_f32(float x)
{
	uint32_t bits = f32_bits(x);

	return x != x ? 0x7fff : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Memory of a thread, little-endian. */
#define MEMORY_HELPERS(bits)                                             \
	HELPER uint##bits##_t load##bits(const unsigned char *memory)    \
	{                                                                \
		uint##bits##_t x;                                        \
                                                                         \
		memcpy(&x, memory, sizeof(x));                           \
		return x;                                                \
	}                                                                \
	HELPER void store##bits(unsigned char *memory, uint##bits##_t x) \
	{                                                                \
		memcpy(memory, &x, sizeof(x));                           \
	}
MEMORY_HELPERS(8)
MEMORY_HELPERS(16)
MEMORY_HELPERS(32)
MEMORY_HELPERS(64)
