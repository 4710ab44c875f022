/* SPDX-License-Identifier: Apache-2.0
 *
 * mma.sync, mma.sp and wmma.mma, PTX ISA 9.7.14: fragments become matrices, these
 * are multiplied, and the result becomes fragments again (layouts: matrix.h).
 *
 * Sums (docs/tensor.md): products are exact; C and the products are added in f64
 * in ascending k and the sum is rounded once, to nearest, to D's type. f64 is a
 * chain of fused multiply-adds, integers wrap or saturate at the end. With option
 * tensor=seed:N sums of floats are made as matrix_sum.c says.
 */
#include <immintrin.h>
#include <pthread.h>
#include <string.h>

#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/lane.h"
#include "zluda_core/device_interp/matrix.h"

enum { MAX_A = 2048, MAX_B = 1024, MAX_C = 256 };

/* A is m x stored_k, B is k x n, C is m x n, each row after row. Single bits: words. */
struct matrices {
	union {
		double af[MAX_A];
		int32_t ai[MAX_A];
	};
	union {
		double bf[MAX_B];
		int32_t bi[MAX_B];
	};
	union {
		double cf[MAX_C];
		int64_t ci[MAX_C];
	};
	uint8_t column[MAX_A]; /* of sparse A's elements, in the row of k */
};

/* 8-bit floats by value, filled before the first instruction that reads them is decoded. */
static double e4m3_values[256], e5m2_values[256];
static pthread_once_t values_once = PTHREAD_ONCE_INIT;

static void fill_values(void)
{
	for (unsigned v = 0; v < 256; v++) {
		e4m3_values[v] = float_value(FMT_E4M3, v);
		e5m2_values[v] = float_value(FMT_E5M2, v);
	}
}

/* Both halves of every lane's register, lane after lane. */
static inline void widen_halves(const uint32_t *cells, double *to)
{
	float f[2 * LANES];

#ifdef __F16C__
	for (unsigned k = 0; k < 2 * LANES; k += 8)
		_mm256_storeu_ps(f + k, _mm256_cvtph_ps(_mm_loadu_si128(
						(const __m128i *)(const void *)(cells + k / 2))));
#else
	for (unsigned l = 0; l < LANES; l++) {
		f[2 * l] = f16_to_f32((uint16_t)cells[l]);
		f[2 * l + 1] = f16_to_f32((uint16_t)(cells[l] >> 16));
	}
#endif
	for (unsigned k = 0; k < 2 * LANES; k++)
		to[k] = (double)f[k];
}

/* One register of all lanes: its elements, lane after lane. */
static void unpack_float(unsigned type, const void *cells, double *to)
{
	const uint32_t *w = cells;

	switch (type) {
	case PTX_F16: widen_halves(w, to); break;
	case PTX_BF16:
		for (unsigned l = 0; l < LANES; l++) {
			to[2 * l] = (double)f32_from(w[l] << 16);
			to[2 * l + 1] = (double)f32_from(w[l] & 0xffff0000);
		}
		break;
	case PTX_TF32: /* the low 13 bits are not looked at */
		for (unsigned l = 0; l < LANES; l++)
			to[l] = (double)f32_from(w[l] & 0xffffe000);
		break;
	case PTX_F64: memcpy(to, cells, LANES * sizeof(double)); break;
	default: {
		const double *values = type == PTX_E4M3 ? e4m3_values : e5m2_values;

		for (unsigned l = 0; l < LANES; l++)
			for (unsigned e = 0; e < 4; e++)
				to[4 * l + e] = values[w[l] >> (8 * e) & 0xff];
		break;
	}
	}
}

static inline void unpack_bits(const uint32_t *w, unsigned bits, bool sign, int32_t *to)
{
	for (unsigned l = 0; l < LANES; l++)
		for (unsigned e = 0; e < 32 / bits; e++) {
			const uint32_t v = w[l] << (32 - bits - bits * e);

			to[l * (32 / bits) + e] =
				sign ? (int32_t)v >> (32 - bits) : (int32_t)(v >> (32 - bits));
		}
}

static void unpack_int(const struct matrix_element *t, const void *cells, int32_t *to)
{
	const int8_t *s = cells;
	const uint8_t *u = cells;

	if (t->bits == 8)
		for (unsigned k = 0; k < 4 * LANES; k++)
			to[k] = t->sign ? s[k] : u[k];
	else if (t->bits == 4)
		unpack_bits(cells, 4, t->sign, to);
	else
		memcpy(to, cells, LANES * sizeof(*to));
}

/* A group of four lanes has `width` adjacent elements of a row of A, or of a column of B. */
#define GATHER(SUFFIX, T, UNPACK)                                                               \
	static void gather_a_##SUFFIX(struct warp *w, const struct matrix_op *x, T *a)          \
	{                                                                                       \
		const unsigned width = 4u * x->per, tiles = x->m / 8;                           \
		T v[LANES * 8];                                                                 \
                                                                                                \
		for (unsigned r = 0; r < x->used_a; r++) {                                      \
			T *to = a + 8 * (r % tiles) * x->stored_k + r / tiles * width;          \
                                                                                                \
			UNPACK(x->a, cell(w, x->a_at[r]), v);                                   \
			for (unsigned g = 0; g < 8; g++)                                        \
				memcpy(to + g * x->stored_k, v + g * width, width * sizeof(T)); \
		}                                                                               \
	}                                                                                       \
	static void gather_b_##SUFFIX(struct warp *w, const struct matrix_op *x, T *b)          \
	{                                                                                       \
		const unsigned width = 4u * x->per, tiles = x->k / width;                       \
		T v[LANES * 8];                                                                 \
                                                                                                \
		for (unsigned r = 0; r < x->used_b; r++) {                                      \
			T *to = b + r % tiles * width * x->n + 8 * (r / tiles);                 \
                                                                                                \
			UNPACK(x->b, cell(w, x->b_at[r]), v);                                   \
			for (unsigned e = 0; e < width; e++)                                    \
				for (unsigned g = 0; g < 8; g++)                                \
					to[e * x->n + g] = v[g * width + e];                    \
		}                                                                               \
	}
#define UNPACK_FLOAT(element, cells, to) unpack_float((element)->type, cells, to)
GATHER(float, double, UNPACK_FLOAT)
GATHER(int, int32_t, unpack_int)

/* Element i of an accumulator of a floating-point type. */
static inline double accumulator(struct warp *w, unsigned type, const uint32_t *at, unsigned lane, unsigned i)
{
	if (type == PTX_F16)
		return (double)f16_to_f32(
			(uint16_t)(((const uint32_t *)cell(w, at[i / 2]))[lane] >> (16 * (i & 1))));
	return type == PTX_F32 ? (double)((const float *)cell(w, at[i]))[lane]
			       : ((const double *)cell(w, at[i]))[lane];
}

/* Where a pair of elements of every lane begins: they are eight rows of eight columns. */
static unsigned pair_place(const struct matrix_op *x, unsigned pair)
{
	const unsigned tiles = x->m / 8;

	return 8 * (pair % tiles) * x->n + 8 * (pair / tiles);
}

static void gather_c_float(struct warp *w, const struct matrix_op *x, double *c)
{
	for (unsigned pair = 0; pair < x->m * x->n / (2u * LANES); pair++) {
		double *to = c + pair_place(x, pair), v[2 * LANES];

		if (x->ctype == PTX_F16) {
			widen_halves(cell(w, x->c_at[pair]), v);
		} else if (x->ctype == PTX_F32) {
			const float *even = cell(w, x->c_at[2 * pair]), *odd = cell(w, x->c_at[2 * pair + 1]);

			for (unsigned l = 0; l < LANES; l++) {
				v[2 * l] = (double)even[l];
				v[2 * l + 1] = (double)odd[l];
			}
		} else {
			const double *even = cell(w, x->c_at[2 * pair]),
				     *odd = cell(w, x->c_at[2 * pair + 1]);

			for (unsigned l = 0; l < LANES; l++) {
				v[2 * l] = even[l];
				v[2 * l + 1] = odd[l];
			}
		}
		for (unsigned g = 0; g < 8; g++)
			memcpy(to + g * x->n, v + 8 * g, 8 * sizeof(double));
	}
}

static void gather_c_int(struct warp *w, const struct matrix_op *x, int64_t *c)
{
	for (unsigned pair = 0; pair < x->m * x->n / (2u * LANES); pair++) {
		const int32_t *even = cell(w, x->c_at[2 * pair]), *odd = cell(w, x->c_at[2 * pair + 1]);
		const unsigned n = x->n, first = pair_place(x, pair);

		for (unsigned l = 0; l < LANES; l++) {
			c[first + l / 4 * n + l % 4 * 2] = even[l];
			c[first + l / 4 * n + l % 4 * 2 + 1] = odd[l];
		}
	}
}

static void gather(struct warp *w, const struct matrix_op *x, struct matrices *v)
{
	if (x->kind <= MATRIX_F64) {
		gather_a_float(w, x, v->af);
		gather_b_float(w, x, v->bf);
		gather_c_float(w, x, v->cf);
	} else {
		gather_a_int(w, x, v->ai);
		gather_b_int(w, x, v->bi);
		gather_c_int(w, x, v->ci);
	}
}

/* f64 to f16 by one rounding: f32 rounded to odd keeps all that the second step has to know. */
static inline uint16_t f16_rounded(double d)
{
	float f = (float)d;
	uint32_t u = f32_bits(f);

	if (d != d)
		return 0x7fff;
	if ((double)f != d) {
		u -= __builtin_fabs((double)f) > __builtin_fabs(d);
		f = f32_from(u | 1);
	}
	return f16_from_f32(f);
}

static inline void set_float(struct warp *w, unsigned type, const uint32_t *at, unsigned lane, unsigned i,
			     double v)
{
	if (type == PTX_F16) {
		uint32_t *d = (uint32_t *)cell(w, at[i / 2]) + lane;
		const unsigned shift = 16 * (i & 1);

		*d = (*d & ~(0xffffu << shift)) | (uint32_t)f16_rounded(v) << shift;
	} else if (type == PTX_F32) {
		((uint32_t *)cell(w, at[i]))[lane] = v != v ? 0x7fffffff : f32_bits((float)v);
	} else {
		((double *)cell(w, at[i]))[lane] = v;
	}
}

static inline uint32_t finish_int(bool limit, int64_t v)
{
	if (limit)
		v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
	return (uint32_t)(uint64_t)v;
}

static void store_words(struct warp *w, uint32_t at, const uint32_t *words)
{
	uint32_t *d = cell(w, at);

	FOR_LANES(l, w->mask) d[l] = words[l];
}

static void scatter_float(struct warp *w, const struct matrix_op *x, const double *c)
{
	uint32_t even[LANES], odd[LANES];

	for (unsigned pair = 0; pair < x->m * x->n / (2u * LANES); pair++) {
		const unsigned n = x->n, first = pair_place(x, pair);

		if (x->dtype != PTX_F32) {
			FOR_LANES(l, w->mask)
			for (unsigned i = 0; i < 2; i++)
				set_float(w, x->dtype, x->d_at, l, 2 * pair + i,
					  c[first + l / 4 * n + l % 4 * 2 + i]);
			continue;
		}
		for (unsigned l = 0; l < LANES; l++) {
			const double *v = c + first + l / 4 * n + l % 4 * 2;

			even[l] = v[0] != v[0] ? 0x7fffffff : f32_bits((float)v[0]);
			odd[l] = v[1] != v[1] ? 0x7fffffff : f32_bits((float)v[1]);
		}
		store_words(w, x->d_at[2 * pair], even);
		store_words(w, x->d_at[2 * pair + 1], odd);
	}
}

static void scatter_int(struct warp *w, const struct matrix_op *x, const int64_t *c)
{
	uint32_t even[LANES], odd[LANES];
	const bool limit = x->satfinite;

	for (unsigned pair = 0; pair < x->m * x->n / (2u * LANES); pair++) {
		const unsigned n = x->n, first = pair_place(x, pair);

		for (unsigned l = 0; l < LANES; l++) {
			const int64_t *v = c + first + l / 4 * n + l % 4 * 2;

			even[l] = finish_int(limit, v[0]);
			odd[l] = finish_int(limit, v[1]);
		}
		store_words(w, x->d_at[2 * pair], even);
		store_words(w, x->d_at[2 * pair + 1], odd);
	}
}

static void scatter(struct warp *w, const struct matrix_op *x, const struct matrices *v)
{
	if (x->kind <= MATRIX_F64)
		scatter_float(w, x, v->cf);
	else
		scatter_int(w, x, v->ci);
}

static inline unsigned column_of(const struct matrix_op *x, const struct matrices *v, unsigned row,
				 unsigned j)
{
	return x->sparse_bits ? v->column[row * x->stored_k + j] : j;
}

/* n is a constant where this is inlined: a row of sums stays in vector registers. */
static inline __attribute__((always_inline)) void multiply_columns(const struct matrix_op *x,
								   struct matrices *v, unsigned n)
{
	const unsigned m = x->m, depth = x->stored_k;

	for (unsigned i = 0; i < m; i++) {
		double sum[32];

		memcpy(sum, v->cf + i * n, n * sizeof(*sum));
		for (unsigned j = 0; j < depth; j++) {
			const double a = v->af[i * depth + j];
			const double *b = v->bf + column_of(x, v, i, j) * n;

			for (unsigned c = 0; c < n; c++)
				sum[c] += a * b[c];
		}
		memcpy(v->cf + i * n, sum, n * sizeof(*sum));
	}
}

static void multiply_float(const struct matrix_op *x, struct matrices *v)
{
	if (x->n == 8)
		multiply_columns(x, v, 8);
	else if (x->n == 16)
		multiply_columns(x, v, 16);
	else
		multiply_columns(x, v, 32);
}

static void multiply_seeded(const struct matrix_op *x, struct matrices *v, uint64_t seed)
{
	double products[MATRIX_SUM_MAX];
	struct sum_model s;

	sum_model_draw(&s, seed, x);
	for (unsigned i = 0; i < x->m; i++)
		for (unsigned c = 0; c < x->n; c++) {
			for (unsigned j = 0; j < x->stored_k; j++)
				products[j] =
					v->af[i * x->stored_k + j] * v->bf[column_of(x, v, i, j) * x->n + c];
			v->cf[i * x->n + c] = sum_model_add(&s, products, v->cf[i * x->n + c]);
		}
}

/* MXCSR bits 13 and 14. */
static void set_rounding(unsigned rnd)
{
	static const uint8_t rc[] = {[PTX_RM] = 1, [PTX_RP] = 2, [PTX_RZ] = 3, [PTX_RN] = 0};

	_mm_setcsr((_mm_getcsr() & ~(3u << 13)) | (unsigned)rc[rnd] << 13);
}

/* The order of the chain is free as well. */
static void multiply_f64(const struct matrix_op *x, struct matrices *v, bool seeded, uint64_t seed)
{
	struct sum_model s = {.count = x->k};

	for (unsigned k = 0; k < x->k; k++)
		s.order[k] = (uint8_t)k;
	if (seeded)
		sum_model_draw(&s, seed, x);
	if (x->rnd > PTX_RN)
		set_rounding(x->rnd);
	for (unsigned i = 0; i < x->m; i++)
		for (unsigned k = 0; k < x->k; k++) {
			const double a = v->af[i * x->k + s.order[k]];

			for (unsigned c = 0; c < x->n; c++)
				v->cf[i * x->n + c] =
					__builtin_fma(a, v->bf[s.order[k] * x->n + c], v->cf[i * x->n + c]);
		}
	if (x->rnd > PTX_RN)
		set_rounding(PTX_RN);
}

/* At most 128 products of 16 bits: 32 bits hold their sum. */
static inline __attribute__((always_inline)) void multiply_int_columns(const struct matrix_op *x,
								       struct matrices *v, unsigned n)
{
	const unsigned m = x->m, depth = x->stored_k;

	for (unsigned i = 0; i < m; i++) {
		int32_t sum[32] = {0};

		for (unsigned j = 0; j < depth; j++) {
			const int32_t a = v->ai[i * depth + j], *b = v->bi + column_of(x, v, i, j) * n;

			for (unsigned c = 0; c < n; c++)
				sum[c] += a * b[c];
		}
		for (unsigned c = 0; c < n; c++)
			v->ci[i * n + c] += sum[c];
	}
}

static void multiply_int(const struct matrix_op *x, struct matrices *v)
{
	if (x->n == 8)
		multiply_int_columns(x, v, 8);
	else if (x->n == 16)
		multiply_int_columns(x, v, 16);
	else
		multiply_int_columns(x, v, 32);
}

static void multiply_bits(const struct matrix_op *x, struct matrices *v)
{
	for (unsigned i = 0; i < x->m; i++)
		for (unsigned k = 0; k < x->k; k++)
			for (unsigned c = 0; c < x->n; c++) {
				const uint32_t a = (uint32_t)v->ai[i * x->k + k],
					       b = (uint32_t)v->bi[k * x->n + c];

				v->ci[i * x->n + c] += __builtin_popcount(x->bit_and ? a & b : a ^ b);
			}
}

static void multiply(struct warp *w, const struct matrix_op *x, struct matrices *v)
{
	const struct interp_device *dev = w->block->grid->dev;

	switch ((enum matrix_kind)x->kind) {
	case MATRIX_FLOAT:
		if (dev->tensor_seeded)
			multiply_seeded(x, v, dev->tensor_seed);
		else
			multiply_float(x, v);
		break;
	case MATRIX_F64: multiply_f64(x, v, dev->tensor_seeded, dev->tensor_seed); break;
	case MATRIX_INT: multiply_int(x, v); break;
	case MATRIX_BIT: multiply_bits(x, v); break;
	}
}

static const struct xinst *product(struct warp *w, const struct xinst *i)
{
	const struct matrix_op *x = (const void *)(uintptr_t)i->imm;
	struct matrices v;

	if (!matrix_converged(w, i))
		return NULL;
	gather(w, x, &v);
	if (x->sparse_bits)
		matrix_sparse_columns(x, cell(w, x->metadata_at), v.column);
	multiply(w, x, &v);
	scatter(w, x, &v);
	return i + 1;
}

/* mma.m8n8k4 of f16: lanes 4q to 4q + 3 and those 16 further on make product q (ISA 9.7.14.5.1). */
static struct matrix_place quad_place_a(const struct matrix_op *x, unsigned lane, unsigned i)
{
	const unsigned high = lane / 16 * 4;

	return x->a_col ? (struct matrix_place){i + high, lane % 4}
			: (struct matrix_place){lane % 4 + high, i};
}

static struct matrix_place quad_place_b(const struct matrix_op *x, unsigned lane, unsigned i)
{
	const unsigned high = lane / 16 * 4;

	return x->b_row ? (struct matrix_place){lane % 4, i + high}
			: (struct matrix_place){i, lane % 4 + high};
}

static struct matrix_place quad_place_c(unsigned type, unsigned lane, unsigned i)
{
	const unsigned high = lane / 16 * 4;

	if (type == PTX_F16)
		return (struct matrix_place){lane % 4 + high, i};
	return (struct matrix_place){(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)};
}

static uint16_t half_of(struct warp *w, const uint32_t *at, unsigned lane, unsigned i)
{
	return (uint16_t)(((const uint32_t *)cell(w, at[i / 2]))[lane] >> (16 * (i & 1)));
}

static void gather_quad(struct warp *w, const struct matrix_op *x, unsigned lane, struct matrices *v)
{
	for (unsigned i = 0; i < 4; i++) {
		const struct matrix_place a = quad_place_a(x, lane, i), b = quad_place_b(x, lane, i);

		v->af[a.row * 4 + a.col] = (double)f16_to_f32(half_of(w, x->a_at, lane, i));
		v->bf[b.row * 8 + b.col] = (double)f16_to_f32(half_of(w, x->b_at, lane, i));
	}
	for (unsigned i = 0; i < 8; i++) {
		const struct matrix_place c = quad_place_c(x->ctype, lane, i);

		v->cf[c.row * 8 + c.col] = accumulator(w, x->ctype, x->c_at, lane, i);
	}
}

static const struct xinst *four_products(struct warp *w, const struct xinst *i)
{
	const struct matrix_op *x = (const void *)(uintptr_t)i->imm;
	struct matrices v;

	if (!matrix_converged(w, i))
		return NULL;
	for (unsigned q = 0; q < 4; q++) {
		const uint32_t lanes = 0xf000fu << (4 * q);

		FOR_LANES(l, lanes)
		gather_quad(w, x, l, &v);
		multiply(w, x, &v);
		FOR_LANES(l, lanes & w->mask)
		for (unsigned n = 0; n < 8; n++) {
			const struct matrix_place d = quad_place_c(x->dtype, l, n);

			set_float(w, x->dtype, x->d_at, l, n, v.cf[d.row * 8 + d.col]);
		}
	}
	return i + 1;
}

static int matrix_sources(struct decode *c, struct matrix_op *x)
{
	const struct ptx_operand *o = c->in->src;
	const unsigned bits = x->kind == MATRIX_F64 ? 64 : 32;
	int rc = 0;

	for (unsigned k = 0; k < x->na && !rc; k++)
		rc = source(c, o++, bits, false, &x->a_at[k]);
	for (unsigned k = 0; k < x->nb && !rc; k++)
		rc = source(c, o++, bits, false, &x->b_at[k]);
	for (unsigned k = 0; k < x->nc && !rc; k++)
		rc = source(c, o++, bits, false, &x->c_at[k]);
	if (x->sparse_bits && !rc)
		rc = source(c, o, 32, false, &x->metadata_at);
	return rc;
}

static int emit_mma(struct decode *c, const struct exec_row *row)
{
	struct matrix_op *x = arena_zalloc(&c->program->arena, sizeof(*x));
	struct dest d[MATRIX_REGS];
	int rc = x ? matrix_describe(c, x) : refuse(c, "out of memory");

	(void)row;
	pthread_once(&values_once, fill_values);
	if (!rc)
		rc = matrix_sources(c, x);
	for (unsigned k = 0; !rc && k < x->nd; k++) {
		rc = dest(c, &c->in->dst[k], x->kind == MATRIX_F64 ? 64 : 32, false, &d[k]);
		x->d_at[k] = d[k].pos;
	}
	if (rc)
		return rc;
	struct xinst *i = emit(c, x->quads ? four_products : product);
	if (!i)
		return refuse(c, "out of memory");
	i->imm = (int64_t)(uintptr_t)x;
	for (unsigned k = 0; k < x->nd && !rc; k++)
		rc = dest_done(c, &d[k]);
	return rc;
}

#define PRODUCT(OP)                                                                                \
	{                                                                                          \
		.op = PTX_OP_##OP, .ok = PTX_F_SYNC | PTX_F_SATFINITE, .any_rnd = true, .sig = "", \
		.emit = emit_mma, .splits = true                                                   \
	}
static const struct exec_row rows[] = {
	PRODUCT(MMA),
	PRODUCT(MMA_SP),
	PRODUCT(MMA_SP_ORDERED_METADATA),
	PRODUCT(WMMA_MMA),
};

const struct exec_family EXEC_FAMILY(exec_mma) = {rows, sizeof(rows) / sizeof(rows[0])};
