/* SPDX-License-Identifier: Apache-2.0
 *
 * matrix: warp-level matrix operations, PTX ISA 9.7.14: what an instruction
 * multiplies (shape, types, registers), where an element of a fragment lies, and
 * how sums are made. The handlers are in exec_mma.c (mma, mma.sp, wmma.mma) and
 * exec_matrix_move.c (ldmatrix, stmatrix, movmatrix, wmma.load, wmma.store).
 *
 * One layout serves mma, where the ISA gives it, and wmma, where it is ours to
 * choose. With g = lane / 4, t = lane % 4, E elements in a register and T = M / 8:
 *   A (M x K)  register r: row 8 (r % T) + g, columns 4E (r / T) + tE + e
 *   B (K x N)  register r: column 8 (r / R) + g, rows 4E (r % R) + tE + e, R = K / 4E
 *   C, D       element i, p = i / 2: row 8 (p % T) + g, column 8 (p / T) + 2t + i % 2
 * wmma's f16 fragments of A and B have eight registers whatever the shape: the
 * registers that the matrix needs, repeated. mma.m8n8k4 of f16 is four products
 * with a layout of its own (ISA 9.7.14.5.1).
 */
#ifndef CUTRACE_INTERP_MATRIX_H
#define CUTRACE_INTERP_MATRIX_H

#include "zluda_core/device_interp/decode.h"

enum matrix_kind { MATRIX_FLOAT, MATRIX_F64, MATRIX_INT, MATRIX_BIT };

struct matrix_element {
	uint8_t type, bits, kind;
	bool sign;
};

#define MATRIX_REGS 8
struct matrix_op {
	uint8_t kind; /* enum matrix_kind */
	const struct matrix_element *a, *b;
	uint16_t m, n, k;       /* of the product; k in words of 32 for single bits */
	uint16_t stored_k;      /* columns of A that are stored: half of k when sparse */
	uint8_t per;            /* elements in a register of A and B */
	uint8_t na, nb, nc, nd; /* registers that the instruction has */
	uint8_t used_a, used_b; /* of those, before they repeat */
	uint8_t ctype, dtype;
	uint8_t rnd;              /* of f64 */
	bool quads, a_col, b_row; /* mma.m8n8k4 of f16 */
	bool satfinite, bit_and;
	uint8_t sparse_bits; /* metadata bits of a row of A; 0 = dense */
	uint8_t selector;
	uint32_t d_at[MATRIX_REGS], a_at[MATRIX_REGS], b_at[MATRIX_REGS], c_at[MATRIX_REGS], metadata_at;
};

/* matrix_shapes.c: fills all but the positions; otherwise refuses the instruction. */
int matrix_describe(struct decode *c, struct matrix_op *x);
const struct matrix_element *matrix_element_of(unsigned type);
/* M, N and K of in->shape; n and k are 0 when the shape has none. */
bool matrix_shape(const struct ptx_inst *in, unsigned *m, unsigned *n, unsigned *k);
/* Is `.word` one of the opcode's components? */
bool matrix_has_word(const struct ptx_inst *in, const char *word);
/* Registers that an A or B fragment needs before it repeats. */
static inline unsigned matrix_registers(unsigned rows, unsigned cols, unsigned bits)
{
	return rows * cols * bits / (LANES * (bits == 64 ? 64 : 32));
}

/* exec_matrix_move.c: all living lanes must be here together; fragments that come earlier wait. False: the
 * handler returns NULL. */
bool matrix_converged(struct warp *w, const struct xinst *i);

struct matrix_place {
	unsigned row, col;
};

/* First of the elements that register r of A holds for a lane: the others follow in the row. */
static inline struct matrix_place place_a(unsigned m, unsigned per, unsigned r, unsigned lane)
{
	const unsigned tiles = m / 8;

	return (struct matrix_place){8 * (r % tiles) + lane / 4, r / tiles * 4 * per + lane % 4 * per};
}

/* First of the elements that register r of B holds: the others follow in the column. */
static inline struct matrix_place place_b(unsigned k, unsigned per, unsigned r, unsigned lane)
{
	const unsigned tiles = k / (4 * per);

	return (struct matrix_place){r % tiles * 4 * per + lane % 4 * per, r / tiles * 8 + lane / 4};
}

/* Element i of an accumulator. */
static inline struct matrix_place place_c(unsigned m, unsigned i, unsigned lane)
{
	const unsigned tiles = m / 8, pair = i / 2;

	return (struct matrix_place){8 * (pair % tiles) + lane / 4,
				     pair / tiles * 8 + lane % 4 * 2 + (i & 1)};
}

/* matrix_sparse.c: column of each stored element of A, row after row, by the metadata of all lanes. */
void matrix_sparse_columns(const struct matrix_op *x, const uint32_t *metadata, uint8_t *columns);

/* matrix_sum.c: sums as some hardware might make them, chosen by a seed (docs/tensor.md). */
#define MATRIX_SUM_MAX 64 /* products of one sum */
struct sum_model {
	uint8_t order[MATRIX_SUM_MAX];
	unsigned count; /* products */
	unsigned group; /* products that are added at once */
	bool c_last;    /* the accumulator is added to the finished sum */
	unsigned extra; /* bits below those of f32 that an aligned term keeps */
	bool nearest;   /* results of a group are rounded to nearest, else cut off */
	bool half;      /* and are f16, else f32 */
};
void sum_model_draw(struct sum_model *s, uint64_t seed, const struct matrix_op *x);
double sum_model_add(const struct sum_model *s, const double *products, double c);

#endif
