/* SPDX-License-Identifier: Apache-2.0
 *
 * Which products of matrices there are: the tables of PTX ISA 9.7.14.1 and
 * 9.7.14.5.14 for targets up to sm_90. What needs a later target is refused by
 * name.
 */
#include <stdio.h>
#include <string.h>

#include "zluda_core/device_interp/matrix.h"

static const struct matrix_element elements[] = {
	{PTX_F16, 16, MATRIX_FLOAT, true},  {PTX_BF16, 16, MATRIX_FLOAT, true},
	{PTX_TF32, 32, MATRIX_FLOAT, true}, {PTX_F64, 64, MATRIX_F64, true},
	{PTX_S8, 8, MATRIX_INT, true},      {PTX_U8, 8, MATRIX_INT, false},
	{PTX_S4, 4, MATRIX_INT, true},      {PTX_U4, 4, MATRIX_INT, false},
	{PTX_E4M3, 8, MATRIX_FLOAT, true},  {PTX_E5M2, 8, MATRIX_FLOAT, true},
	{PTX_B1, 1, MATRIX_BIT, false},
};

enum { DENSE = 1, SPARSE = 2, WMMA = 4 };

/* `type` stands for the types that multiply in the same shapes: S8 for U8, S4 for U4, E4M3 for E5M2. */
static const struct shape {
	uint16_t m, n, k;
	uint8_t type, where;
} shapes[] = {
	{8, 8, 4, PTX_F16, DENSE},
	{16, 8, 8, PTX_F16, DENSE},
	{16, 8, 16, PTX_F16, DENSE | SPARSE},
	{16, 8, 32, PTX_F16, SPARSE},
	{16, 8, 8, PTX_BF16, DENSE},
	{16, 8, 16, PTX_BF16, DENSE | SPARSE},
	{16, 8, 32, PTX_BF16, SPARSE},
	{16, 8, 4, PTX_TF32, DENSE},
	{16, 8, 8, PTX_TF32, DENSE | SPARSE},
	{16, 8, 16, PTX_TF32, SPARSE},
	{16, 8, 16, PTX_E4M3, DENSE},
	{16, 8, 32, PTX_E4M3, DENSE},
	{16, 8, 64, PTX_E4M3, SPARSE},
	{8, 8, 4, PTX_F64, DENSE | WMMA},
	{16, 8, 4, PTX_F64, DENSE},
	{16, 8, 8, PTX_F64, DENSE},
	{16, 8, 16, PTX_F64, DENSE},
	{8, 8, 16, PTX_S8, DENSE},
	{16, 8, 16, PTX_S8, DENSE},
	{16, 8, 32, PTX_S8, DENSE | SPARSE},
	{16, 8, 64, PTX_S8, SPARSE},
	{8, 8, 32, PTX_S4, DENSE | WMMA},
	{16, 8, 32, PTX_S4, DENSE},
	{16, 8, 64, PTX_S4, DENSE | SPARSE},
	{16, 8, 128, PTX_S4, SPARSE},
	{8, 8, 128, PTX_B1, DENSE | WMMA},
	{16, 8, 128, PTX_B1, DENSE},
	{16, 8, 256, PTX_B1, DENSE},
	{16, 16, 16, PTX_F16, WMMA},
	{8, 32, 16, PTX_F16, WMMA},
	{32, 8, 16, PTX_F16, WMMA},
	{16, 16, 16, PTX_BF16, WMMA},
	{8, 32, 16, PTX_BF16, WMMA},
	{32, 8, 16, PTX_BF16, WMMA},
	{16, 16, 16, PTX_S8, WMMA},
	{8, 32, 16, PTX_S8, WMMA},
	{32, 8, 16, PTX_S8, WMMA},
	{16, 16, 8, PTX_TF32, WMMA},
};

const struct matrix_element *matrix_element_of(unsigned type)
{
	for (unsigned k = 0; k < sizeof(elements) / sizeof(elements[0]); k++)
		if (elements[k].type == type)
			return &elements[k];
	return NULL;
}

bool matrix_shape(const struct ptx_inst *in, unsigned *m, unsigned *n, unsigned *k)
{
	*n = *k = 0;
	return sscanf(ptx_shape_name(in->shape), "m%un%uk%u", m, n, k) >= 2;
}

bool matrix_has_word(const struct ptx_inst *in, const char *word)
{
	const size_t length = strlen(word);

	for (const char *p = in->mods; (p = strchr(p, '.')); p++)
		if (!strncmp(p + 1, word, length) && (p[1 + length] == '.' || !p[1 + length]))
			return true;
	return false;
}

static uint8_t family(unsigned type)
{
	return type == PTX_U8 ? PTX_S8 : type == PTX_U4 ? PTX_S4 : type == PTX_E5M2 ? PTX_E4M3 : type;
}

static bool shape_exists(const struct matrix_op *x, unsigned k, unsigned where)
{
	for (unsigned s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
		if (shapes[s].m == x->m && shapes[s].n == x->n && shapes[s].k == k &&
		    shapes[s].type == family(x->a->type) && (shapes[s].where & where))
			return true;
	return false;
}

/* Types of C and D: 9.7.14.2 and the restrictions of mma and wmma.mma. */
static bool accumulators_fit(const struct matrix_op *x, unsigned where)
{
	const bool halves =
		(x->ctype == PTX_F16 || x->ctype == PTX_F32) && (x->dtype == PTX_F16 || x->dtype == PTX_F32);

	switch (family(x->a->type)) {
	case PTX_F16:
		if (where == WMMA)
			return halves;
		if (x->quads)
			return halves && (x->ctype == PTX_F16 || x->dtype == PTX_F32);
		return halves && x->ctype == x->dtype;
	case PTX_E4M3: return halves && x->ctype == x->dtype && (where == DENSE || x->dtype == PTX_F32);
	case PTX_BF16:
	case PTX_TF32: return x->ctype == PTX_F32 && x->dtype == PTX_F32;
	case PTX_F64: return x->ctype == PTX_F64 && x->dtype == PTX_F64;
	default: return x->ctype == PTX_S32 && x->dtype == PTX_S32;
	}
}

static bool multiplicands_fit(const struct matrix_op *x, unsigned where)
{
	if (!x->a || !x->b || family(x->a->type) != family(x->b->type))
		return false;
	return where != WMMA || x->a == x->b;
}

static unsigned accumulator_registers(const struct matrix_op *x, unsigned type)
{
	const unsigned count = x->quads ? 8u : x->m * x->n / LANES;

	return type == PTX_F16 ? count / 2 : count;
}

/* Metadata of a row: two 2-bit indices for every four elements (of 16 and 8 bits), eight (of 4) or two (tf32) of
 * the row: ISA 9.7.14.6.1. */
static unsigned metadata_bits(const struct matrix_op *x)
{
	return x->a->type == PTX_TF32 ? 2u * x->k : x->a->bits == 4 ? x->k / 2u : x->k;
}

static void count_registers(struct matrix_op *x, unsigned where)
{
	x->per = x->a->bits == 1 ? 1 : x->a->bits < 32 ? 32 / x->a->bits : 1;
	if (x->kind == MATRIX_BIT)
		x->k /= 32;
	x->stored_k = x->sparse_bits ? x->k / 2 : x->k;
	const unsigned bits = x->kind == MATRIX_BIT ? 32 : x->a->bits;

	x->used_a = x->na = (uint8_t)(x->quads ? 2 : matrix_registers(x->m, x->stored_k, bits));
	x->used_b = x->nb = (uint8_t)(x->quads ? 2 : matrix_registers(x->k, x->n, bits));
	if (where == WMMA && x->a->type == PTX_F16)
		x->na = x->nb = MATRIX_REGS;
	x->nc = (uint8_t)accumulator_registers(x, x->ctype);
	x->nd = (uint8_t)accumulator_registers(x, x->dtype);
}

static int check_selector(struct decode *c, struct matrix_op *x)
{
	const struct ptx_operand *f = &c->in->src[c->in->nsrc - 1];
	const unsigned threads = x->sparse_bits * 16u / 32u / 8u; /* of a group of four that have metadata */

	if (f->kind != PTX_OPND_IMM || f->imm >= 4 / threads)
		return refuse(c, "the sparsity selector of this shape is a constant below %u", 4 / threads);
	x->selector = (uint8_t)f->imm;
	return 0;
}

static int needs_later_target(struct decode *c)
{
	const struct ptx_inst *in = c->in;
	const uint8_t types[] = {in->type2, in->type3};

	if (strstr(in->mods, ".kind::") || strstr(in->mods, ".block_scale"))
		return refuse(c, "block scaling and .kind need target sm_120a, which is not executed");
	for (unsigned k = 0; k < 2; k++)
		if (types[k] == PTX_E2M1 || types[k] == PTX_E2M3 || types[k] == PTX_E3M2)
			return refuse(c, "type .%s needs target sm_120a, which is not executed",
				      ptx_type_name(types[k]));
	return 0;
}

static void read_types(const struct ptx_inst *in, struct matrix_op *x, unsigned where)
{
	const bool implicit = where == WMMA && in->type3 == PTX_TYPE_NONE; /* f16 times f16 */

	x->dtype = in->type;
	x->ctype = implicit ? in->type2 : in->type4;
	x->a = matrix_element_of(implicit ? (unsigned)PTX_F16 : in->type2);
	x->b = matrix_element_of(implicit ? (unsigned)PTX_F16 : in->type3);
}

int matrix_describe(struct decode *c, struct matrix_op *x)
{
	const struct ptx_inst *in = c->in;
	const unsigned where = in->op == PTX_OP_WMMA_MMA ? WMMA : in->op == PTX_OP_MMA ? DENSE : SPARSE;
	unsigned m = 0, n = 0, k = 0;
	int rc = needs_later_target(c);

	if (rc)
		return rc;
	read_types(in, x, where);
	if (!matrix_shape(in, &m, &n, &k) || !k || !multiplicands_fit(x, where))
		return refuse(c, "there is no such product of matrices (ISA 9.7.14.1)");
	x->kind = x->a->kind;
	x->m = (uint16_t)m;
	x->n = (uint16_t)n;
	x->k = (uint16_t)k;
	x->quads = where == DENSE && m == 8 && k == 4 && x->a->type == PTX_F16;
	x->a_col = in->layout & 1;
	x->b_row = !(in->layout & 2);
	x->satfinite = in->flags & PTX_F_SATFINITE;
	x->bit_and = in->boolop == PTX_BOOL_AND;
	x->rnd = in->rnd;
	if (!shape_exists(x, k, where) || !accumulators_fit(x, where))
		return refuse(c, "there is no such product of matrices up to sm_90 (ISA 9.7.14.1)");
	if (where != WMMA && !x->quads && (x->a_col || x->b_row))
		return refuse(c, "this shape multiplies a .row by a .col matrix");
	if (x->rnd > PTX_RN && x->kind != MATRIX_F64)
		return refuse(c, "only products of f64 have a rounding mode");
	if (x->kind == MATRIX_BIT &&
	    (in->boolop == PTX_BOOL_NONE || in->boolop == PTX_BOOL_OR || !matrix_has_word(in, "popc")))
		return refuse(c, "products of single bits are .xor.popc or .and.popc");
	if (where == SPARSE)
		x->sparse_bits = (uint8_t)metadata_bits(x);
	count_registers(x, where);
	const unsigned more = where == SPARSE ? 2 : 0;

	if (in->ndst != x->nd || in->nsrc != x->na + x->nb + x->nc + more)
		return refuse(c, "its operands have %u, %u, %u and %u registers", x->nd, x->na, x->nb, x->nc);
	return where == SPARSE ? check_selector(c, x) : 0;
}
