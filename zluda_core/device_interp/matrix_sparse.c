/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the stored elements of a sparse A belong, PTX ISA 9.7.14.6: the metadata operand
 * of mma.sp.
 */
#include "zluda_core/device_interp/matrix.h"

/* Metadata of one row, lowest column first. Rows g and g + 8 share the threads of group g: with a quarter or half
 * of the threads and elements of 16 bits or more, the halves of a register are the two rows; otherwise each thread
 * has one row. (Figures 119 to 147 of ISA 9.7.14.6.2.) */
static uint64_t row_metadata(const struct matrix_op *x, const uint32_t *e, unsigned row)
{
	const unsigned first = row % 8 * 4, half = row / 8;

	if (x->sparse_bits == 16)
		return e[first + x->selector] >> (16 * half) & 0xffff;
	if (x->sparse_bits == 64)
		return e[first + half] | (uint64_t)e[first + 2 + half] << 32;
	if (x->a->bits <= 8)
		return e[first + 2 * x->selector + half];
	const uint32_t lo = e[first + 2 * x->selector], hi = e[first + 2 * x->selector + 1];

	return (lo >> (16 * half) & 0xffff) | (hi >> (16 * half) & 0xffff) << 16;
}

/* Columns that the stored elements of A have: 9.7.14.6.1. Four bits name two places among four; with 4-bit
 * elements a place is two of them, with tf32 half of one. */
void matrix_sparse_columns(const struct matrix_op *x, const uint32_t *e, uint8_t *columns)
{
	for (unsigned row = 0; row < x->m; row++) {
		const uint64_t bits = row_metadata(x, e, row);
		uint8_t *to = columns + row * x->stored_k;

		for (unsigned j = 0; j < x->stored_k; j++) {
			if (x->a->type == PTX_TF32)
				to[j] = (uint8_t)(2 * j + (bits >> (4 * j + 1) & 1));
			else if (x->a->bits == 4)
				to[j] = (uint8_t)(j / 4 * 8 + 2 * (bits >> (2 * (j / 2)) & 3) + j % 2);
			else
				to[j] = (uint8_t)(j / 2 * 4 + (bits >> (2 * j) & 3));
		}
	}
}
