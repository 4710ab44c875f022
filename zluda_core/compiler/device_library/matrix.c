/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of matrices whose elements lie in the registers of a warp's 32 lanes: mma.sync, mma.sp and wmma.mma, PTX ISA
 * 9.7.14. With g = lane / 4, t = lane % 4 and E elements in a register of 32 bits (one of 64 for f64):
 *
 *	A (M x K)  register r: row 8 (r % (M / 8)) + g, columns 4E (r / (M / 8)) + tE and on
 *	B (K x N)  register r: column 8 (r / (K / 4E)) + g, rows 4E (r % (K / 4E)) + tE and on
 *	C, D       element i, p = i / 2: row 8 (p % (M / 8)) + g, column 8 (p / (M / 8)) + 2t + i % 2
 *
 * as the ISA has it for mma; for wmma it is our choice (docs/tensor.md). A lane makes its own elements of D: it takes
 * the rows of A from the four lanes of its group, the columns of B from the eight lanes that have them.
 *
 * Sums, as docs/tensor.md says: products are exact; C and the products are added in f64 in ascending k, and the sum is
 * rounded once, to nearest even. f64 is a chain of fused multiply-adds. Integers wrap, or are limited at the end.
 */
#include "zluda_core/compiler/device_library/lanes.h"

#include "zluda_core/compiler/device_library/float_parts.h"

#define INLINE static inline __attribute__((always_inline))

enum family { CT_f16, CT_bf16, CT_tf32, CT_f8, CT_s8, CT_s4, CT_b1 };

/* A constant where product() is inlined. */
struct shape {
	unsigned m, n, k, bits; /* of an element of A and B */
	enum family family;
	bool is_sparse;
};

/* ---- elements ------------------------------------------------------------------------- */

INLINE double f64_of_half(uint32_t bits)
{
	union {
		uint16_t u;
		_Float16 f;
	} x = {.u = (uint16_t)bits};

	return (double)x.f;
}

/* e5m2 is the upper half of an f16. e4m3's exponent is eight less than that of the f16 with the same bits; it has no
 * infinity and one NaN. */
INLINE double f64_of_f8(uint32_t v, bool e5m2)
{
	double x = f64_of_half((v & 0x80) << 8 | (v & 0x7f) << 7) * 256.0;

	if (e5m2)
		return f64_of_half(v << 8);
	return (v & 0x7f) == 0x7f ? __builtin_nan("") : x;
}

INLINE double float_element(enum family f, uint32_t v, bool e5m2)
{
	switch (f) {
	case CT_f16: return f64_of_half(v);
	case CT_bf16: return f64_of_f32_bits(v << 16);
	case CT_tf32: return f64_of_f32_bits(v & 0xffffe000);
	default: return f64_of_f8(v & 0xff, e5m2);
	}
}

INLINE int32_t int_element(uint32_t v, unsigned bits, bool is_signed)
{
	v <<= 32 - bits;
	return is_signed ? (int32_t)v >> (32 - bits) : (int32_t)(v >> (32 - bits));
}

/* ---- sums ------------------------------------------------------------------------------- */

union sum {
	double f;
	int32_t i;
};

INLINE void add_product(struct shape s, union sum *sum, uint32_t a, uint32_t b, uint32_t how)
{
	if (s.family == CT_b1)
		sum->i += __builtin_popcount(how & CT_MMA_AND ? a & b : a ^ b);
	else if (s.family == CT_s8 || s.family == CT_s4)
		sum->i += int_element(a, s.bits, how & CT_MMA_A_SIGNED) *
			  int_element(b, s.bits, how & CT_MMA_B_SIGNED);
	else
		sum->f += float_element(s.family, a, how & CT_MMA_A_E5M2) *
			  float_element(s.family, b, how & CT_MMA_B_E5M2);
}

/* Elements of one register of A and the register of B in the same rows. */
INLINE void add_word(struct shape s, union sum *sum, uint32_t a, uint32_t b, uint32_t how)
{
	const unsigned bits = s.family == CT_b1 ? 32 : s.bits;
#pragma unroll
	for (unsigned e = 0; e < 32 / bits; e++)
		add_product(s, sum, a >> bits * e, b >> bits * e, how);
}

/* Sparse: stored elements of A belong to elements of two registers of B. Two bits choose one of four places (of tf32
 * two places, of 4-bit elements pairs of them): 9.7.14.6.1. */
INLINE void add_sparse_word(struct shape s, union sum *sum, uint32_t a, uint64_t b, uint32_t places,
			    uint32_t how)
{
#pragma unroll
	for (unsigned e = 0; e < 32 / s.bits; e++) {
		uint32_t at;

		if (s.bits == 32)
			at = places >> 1 & 1;
		else if (s.bits == 4)
			at = e / 4 * 8 + 2 * (places >> (2 * (e / 2)) & 3) + e % 2;
		else
			at = e / 2 * 4 + (places >> 2 * e & 3);
		add_product(s, sum, a >> s.bits % 32 * e, (uint32_t)(b >> s.bits * at), how);
	}
}

/* ---- metadata ----------------------------------------------------------------------------- */

/* Bits of a row that name places: docs/tensor.md. */
INLINE unsigned metadata_bits(struct shape s)
{
	return s.bits == 32 ? 2 * s.k : s.bits == 4 ? s.k / 2 : s.k;
}

/* Those of row g (half 0) or g + 8 (half 1), lowest column first. */
INLINE uint64_t metadata_of_row(struct shape s, uint32_t e, unsigned half, uint32_t selector)
{
	const uint32_t first = warp_lane() & 28;

	if (metadata_bits(s) == 16)
		return from_lane(e, first + selector) >> 16 * half & 0xffff;
	if (metadata_bits(s) == 64)
		return from_lane(e, first + half) | (uint64_t)from_lane(e, first + 2 + half) << 32;
	if (s.bits <= 8)
		return from_lane(e, first + 2 * selector + half);
	return (from_lane(e, first + 2 * selector) >> 16 * half & 0xffff) |
	       (uint64_t)(from_lane(e, first + 2 * selector + 1) >> 16 * half & 0xffff) << 16;
}

/* ---- products -------------------------------------------------------------------------------- */

INLINE uint32_t half_of_f64(double v)
{
	union {
		_Float16 f;
		uint16_t u;
	} x = {.f = (_Float16)v};

	return v != v ? 0x7fff : x.u;
}

INLINE void read_accumulators(struct shape s, union sum *sum, ct_fragment c, uint32_t how)
{
#pragma unroll
	for (unsigned i = 0; i < s.m * s.n / 32; i++) {
		if (s.family >= CT_s8)
			sum[i].i = 0;
		else if (how & CT_MMA_C_F16)
			sum[i].f = f64_of_half(c[i / 2] >> 16 * (i & 1));
		else
			sum[i].f = f64_of_f32_bits(c[i]);
	}
}

INLINE uint32_t finish_int(int32_t c, int32_t sum, uint32_t how)
{
	int64_t v = (int64_t)c + sum;

	if (how & CT_MMA_SATFINITE)
		v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
	return (uint32_t)v;
}

INLINE uint32_t finish_float(double v)
{
	return v != v ? 0x7fffffff : f32_bits_of_f64(v);
}

INLINE ct_fragment result(struct shape s, const union sum *sum, ct_fragment c, uint32_t how)
{
	ct_fragment d = c;
#pragma unroll
	for (unsigned i = 0; i < s.m * s.n / 32; i++) {
		if (s.family >= CT_s8)
			d[i] = finish_int((int32_t)c[i], sum[i].i, how);
		else if (!(how & CT_MMA_D_F16))
			d[i] = finish_float(sum[i].f);
		else if (i & 1)
			d[i / 2] = half_of_f64(sum[i - 1].f) | half_of_f64(sum[i].f) << 16;
	}
	return d;
}

INLINE ct_fragment product(struct shape s, ct_fragment a, ct_fragment b, ct_fragment c, uint32_t e,
			   uint32_t how)
{
	const unsigned rows = s.m / 8, columns = s.n / 8; /* tiles of eight */
	const unsigned steps = s.k * s.bits / (s.is_sparse ? 256 : 128),
		       of_b = s.is_sparse ? 2 * steps : steps;
	const uint32_t group = warp_lane() & 28, column = warp_lane() % 4 * 8;
	const unsigned width = s.is_sparse ? metadata_bits(s) / (4 * steps) : 0;
	uint64_t places[2] = {0, 0};
	union sum sum[8];

	read_accumulators(s, sum, c, how);
#pragma unroll
	for (unsigned i = 0; s.is_sparse && i < 2; i++)
		places[i] = metadata_of_row(s, e, i, how >> CT_MMA_SELECTOR & 3);
#pragma unroll
	for (unsigned step = 0; step < steps; step++) {
#pragma nounroll
		for (uint32_t t = 0; t < 4; t++) {
			uint32_t row[4];
#pragma unroll
			for (unsigned i = 0; i < rows; i++)
				row[i] = from_lane(a[rows * step + i], group + t);
#pragma unroll
			for (unsigned j = 0; j < 2 * columns; j++) {
				const unsigned first = j / 2 * of_b;
				const uint32_t from = column + j % 2 * 4;

				if (!s.is_sparse) {
					uint32_t w = from_lane(b[first + step], from + t);
#pragma unroll
					for (unsigned i = 0; i < rows; i++)
						add_word(s, &sum[2 * (j / 2 * rows + i) + j % 2], row[i], w,
							 how);
					continue;
				}
				uint32_t w = t < 2 ? b[first + 2 * step] : b[first + 2 * step + 1];
				uint64_t pair = from_lane(w, from + t % 2 * 2);

				pair |= (uint64_t)from_lane(w, from + t % 2 * 2 + 1) << 32;
#pragma unroll
				for (unsigned i = 0; i < rows; i++)
					add_sparse_word(s, &sum[2 * (j / 2 * rows + i) + j % 2], row[i], pair,
							(uint32_t)(places[i] >> width * (4 * step + t)), how);
			}
		}
	}
	return result(s, sum, c, how);
}

/* ---- f64 -------------------------------------------------------------------------------------- */

INLINE double double_from_lane(double v, uint32_t lane)
{
	uint64_t u = f64_bits(v);

	return f64_of(from_lane((uint32_t)u, lane) | (uint64_t)from_lane((uint32_t)(u >> 32), lane) << 32);
}

INLINE double fused(double a, double b, double c, uint32_t rounding)
{
	return rounding <= CT_RN ? __builtin_fma(a, b, c) : ct_fma_f64(a, b, c, rounding);
}

INLINE ct_doubles product_f64(struct shape s, ct_doubles8 a, ct_doubles b, ct_doubles c, uint32_t rounding)
{
	const unsigned rows = s.m / 8;
	const uint32_t group = warp_lane() & 28, column = warp_lane() % 4 * 8;
#pragma unroll
	for (unsigned step = 0; step < s.k / 4; step++) {
#pragma nounroll
		for (uint32_t t = 0; t < 4; t++) {
			double w[2] = {double_from_lane(b[step], column + t),
				       double_from_lane(b[step], column + 4 + t)};
#pragma unroll
			for (unsigned i = 0; i < rows; i++) {
				double v = double_from_lane(a[rows * step + i], group + t);

				c[2 * i] = fused(v, w[0], c[2 * i], rounding);
				c[2 * i + 1] = fused(v, w[1], c[2 * i + 1], rounding);
			}
		}
	}
	return c;
}

/* ---- mma.m8n8k4 of f16 --------------------------------------------------------------------------- */

/* Lanes 4q to 4q + 3 and those 16 further on make product q, 9.7.14.5.1. Half `i` of what a lane of it holds. */
INLINE uint32_t half_from(ct_fragment v, uint32_t lane, uint32_t i)
{
	uint32_t lo = from_lane(v[0], lane), hi = from_lane(v[1], lane);

	return (i & 2 ? hi : lo) >> 16 * (i & 1);
}

INLINE double quad_a(ct_fragment a, uint32_t first, uint32_t row, uint32_t k, bool by_columns)
{
	uint32_t lane = first + row / 4 * 16;

	return f64_of_half(by_columns ? half_from(a, lane + k, row % 4) : half_from(a, lane + row % 4, k));
}

INLINE double quad_b(ct_fragment b, uint32_t first, uint32_t k, uint32_t column, bool by_rows)
{
	uint32_t lane = first + column / 4 * 16;

	return f64_of_half(by_rows ? half_from(b, lane + k, column % 4) : half_from(b, lane + column % 4, k));
}

/* Row and column of element i of an accumulator. */
INLINE void quad_place(uint32_t lane, unsigned i, bool is_half, uint32_t *row, uint32_t *column)
{
	const uint32_t high = lane / 16 * 4;

	*row = (is_half ? lane % 4 : (lane & 1) + (i & 2)) + high;
	*column = is_half ? i : (i & 4) + (lane & 2) + (i & 1);
}

/* Where D is f32, C may be f16: its elements then lie in other lanes. */
INLINE double quad_c(ct_fragment c, uint32_t first, uint32_t row, uint32_t column, unsigned i, uint32_t how)
{
	const uint32_t lane = first + row / 4 * 16 + row % 4;
	uint32_t v = 0;

	if (!(how & CT_MMA_C_F16))
		return f64_of_f32_bits(c[i]);
#pragma unroll
	for (unsigned r = 0; r < 4; r++) {
		uint32_t w = from_lane(c[r], lane);
		v = column / 2 == r ? w : v;
	}
	return f64_of_half(v >> 16 * (column & 1));
}

__attribute__((noinline)) ct_fragment ct_mma_quads(ct_fragment a, ct_fragment b, ct_fragment c, uint32_t how)
{
	const uint32_t lane = warp_lane(), first = lane & 12;
	const struct shape s = {8, 32, 4, 16, CT_f16, false}; /* eight elements a lane */
	union sum sum[8];
#pragma unroll
	for (unsigned i = 0; i < 8; i++) {
		uint32_t row, column;

		quad_place(lane, i, how & CT_MMA_D_F16, &row, &column);
		sum[i].f = quad_c(c, first, row, column, i, how);
#pragma nounroll
		for (uint32_t k = 0; k < 4; k++)
			sum[i].f += quad_a(a, first, row, k, how & CT_MMA_A_BY_COLUMNS) *
				    quad_b(b, first, k, column, how & CT_MMA_B_BY_ROWS);
	}
	return result(s, sum, c, how);
}

/* For movmatrix, ldmatrix and stmatrix. */
__attribute__((always_inline)) uint32_t ct_from_lane(uint32_t v, uint32_t lane)
{
	return from_lane(v, lane);
}

/* ---- one function a shape; kernels call it, so that sixteen products are not sixteen copies ----------- */

enum { BITS_f16 = 16, BITS_bf16 = 16, BITS_tf32 = 32, BITS_f8 = 8, BITS_s8 = 8, BITS_s4 = 4, BITS_b1 = 1 };

#define PRODUCT_f64(m, n, k)                                                                                \
	__attribute__((noinline))                                                                           \
	ct_doubles ct_mma_f64_##m##_##n##_##k(ct_doubles8 a, ct_doubles b, ct_doubles c, uint32_t rounding) \
	{                                                                                                   \
		return product_f64((struct shape){m, n, k, 64, CT_f16, false}, a, b, c, rounding);          \
	}
#define PRODUCT(family, m, n, k)                                                                             \
	__attribute__((noinline)) ct_fragment ct_mma_##family##_##m##_##n##_##k(                             \
		ct_fragment a, ct_fragment b, ct_fragment c, uint32_t how)                                   \
	{                                                                                                    \
		return product((struct shape){m, n, k, BITS_##family, CT_##family, false}, a, b, c, 0, how); \
	}
#define PRODUCT_OF_f16(m, n, k)  PRODUCT(f16, m, n, k)
#define PRODUCT_OF_bf16(m, n, k) PRODUCT(bf16, m, n, k)
#define PRODUCT_OF_tf32(m, n, k) PRODUCT(tf32, m, n, k)
#define PRODUCT_OF_f8(m, n, k)   PRODUCT(f8, m, n, k)
#define PRODUCT_OF_f64(m, n, k)  PRODUCT_f64(m, n, k)
#define PRODUCT_OF_s8(m, n, k)   PRODUCT(s8, m, n, k)
#define PRODUCT_OF_s4(m, n, k)   PRODUCT(s4, m, n, k)
#define PRODUCT_OF_b1(m, n, k)   PRODUCT(b1, m, n, k)

#define MATRIX_DENSE(family, m, n, k, of) PRODUCT_OF_##family(m, n, k)
#define MATRIX_SPARSE(family, m, n, k)                                                                      \
	__attribute__((noinline)) ct_fragment ct_mma_sp_##family##_##m##_##n##_##k(                         \
		ct_fragment a, ct_fragment b, ct_fragment c, uint32_t e, uint32_t how)                      \
	{                                                                                                   \
		return product((struct shape){m, n, k, BITS_##family, CT_##family, true}, a, b, c, e, how); \
	}
#include "ptx/lower/matrix_shapes.def"
