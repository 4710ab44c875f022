/* SPDX-License-Identifier: Apache-2.0
 *
 * mma, mma.sp and wmma.mma, PTX ISA 9.7.14: calls of the device library, which has a function for each shape
 * (matrix_shapes.def) and makes the product across the lanes of the warp. A target's own matrix instructions (WMMA,
 * MFMA) would be chosen in product_function(); they add in another order, so that they are not chosen unasked.
 */
#include "ptx/lower/writer.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/lower/device_calls.h"

enum of { MMA = 1, WMMA = 2, SPARSE = 4 };

static const struct shape {
	const char *family;
	uint16_t m, n, k;
	uint8_t of;
} shapes[] = {
#define MATRIX_DENSE(family, m, n, k, of) {#family, m, n, k, of},
#define MATRIX_SPARSE(family, m, n, k)    {#family, m, n, k, SPARSE},
#include "ptx/lower/matrix_shapes.def"
#undef MATRIX_DENSE
#undef MATRIX_SPARSE
};

static const struct multiplicand {
	uint8_t type, bits;
	const char *family;
	bool is_signed, is_e5m2;
} multiplicands[] = {
	{PTX_F16, 16, "f16", false, false},   {PTX_BF16, 16, "bf16", false, false},
	{PTX_TF32, 32, "tf32", false, false}, {PTX_F64, 64, "f64", false, false},
	{PTX_S8, 8, "s8", true, false},       {PTX_U8, 8, "s8", false, false},
	{PTX_S4, 4, "s4", true, false},       {PTX_U4, 4, "s4", false, false},
	{PTX_E4M3, 8, "f8", false, false},    {PTX_E5M2, 8, "f8", false, true},
	{PTX_B1, 1, "b1", false, false},
};

struct product {
	const struct multiplicand *a, *b;
	uint8_t ctype, dtype;
	enum of of;
	unsigned m, n, k;
	bool is_quads;           /* mma.m8n8k4 of f16 */
	unsigned na, nb, nc, nd; /* registers that the instruction has */
	unsigned used_a, used_b; /* of those, before they repeat */
	unsigned metadata_bits;  /* of a row */
	uint32_t how;
};

static const struct multiplicand *multiplicand_of(unsigned type)
{
	for (size_t k = 0; k < sizeof(multiplicands) / sizeof(multiplicands[0]); k++)
		if (multiplicands[k].type == type)
			return &multiplicands[k];
	return NULL;
}

bool ir_matrix_shape(const struct ptx_inst *i, unsigned *m, unsigned *n, unsigned *k)
{
	unsigned *const to[] = {m, n, k};
	const char *p = ptx_shape_name(i->shape);

	*m = *n = *k = 0;
	for (unsigned at = 0; at < 3 && *p == "mnk"[at]; at++) {
		char *end;
		*to[at] = (unsigned)strtoul(p + 1, &end, 10);
		p = end;
	}
	return *m && *n;
}

bool ir_has_word(const struct ptx_inst *i, const char *word)
{
	const size_t length = strlen(word);

	for (const char *p = i->mods; (p = strchr(p, '.')); p++)
		if (!strncmp(p + 1, word, length) && (p[1 + length] == '.' || !p[1 + length]))
			return true;
	return false;
}

static bool needs_later_target(const struct ptx_inst *i)
{
	const uint8_t types[] = {i->type2, i->type3};

	for (unsigned k = 0; k < 2; k++)
		if (types[k] == PTX_E2M1 || types[k] == PTX_E2M3 || types[k] == PTX_E3M2)
			return true;
	return strstr(i->mods, ".kind::") || strstr(i->mods, ".block_scale");
}

static bool is_family(const struct product *x, const char *name)
{
	return !strcmp(x->a->family, name);
}

static bool shape_exists(const struct product *x)
{
	for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++)
		if (shapes[k].m == x->m && shapes[k].n == x->n && shapes[k].k == x->k &&
		    shapes[k].of & x->of && is_family(x, shapes[k].family))
			return true;
	return x->is_quads;
}

/* Types of C and D: 9.7.14.2 and the restrictions of mma and wmma.mma. */
static bool accumulators_fit(const struct product *x)
{
	const bool floats =
		(x->ctype == PTX_F16 || x->ctype == PTX_F32) && (x->dtype == PTX_F16 || x->dtype == PTX_F32);

	if (is_family(x, "f64"))
		return x->ctype == PTX_F64 && x->dtype == PTX_F64;
	if (is_family(x, "bf16") || is_family(x, "tf32"))
		return x->ctype == PTX_F32 && x->dtype == PTX_F32;
	if (is_family(x, "f8"))
		return floats && x->ctype == x->dtype && (x->of == MMA || x->dtype == PTX_F32);
	if (!is_family(x, "f16"))
		return x->ctype == PTX_S32 && x->dtype == PTX_S32;
	if (x->is_quads)
		return floats && (x->ctype == PTX_F16 || x->dtype == PTX_F32);
	return floats && (x->of == WMMA || x->ctype == x->dtype);
}

static unsigned accumulator_registers(const struct product *x, unsigned type)
{
	const unsigned count = x->is_quads ? 8 : x->m * x->n / 32;

	return type == PTX_F16 ? count / 2 : count;
}

static void count_registers(struct product *x)
{
	const unsigned lane_bits = 32 * (x->a->bits == 64 ? 64 : 32),
		       stored_k = x->of == SPARSE ? x->k / 2 : x->k;

	x->used_a = x->na = x->is_quads ? 2 : x->m * stored_k * x->a->bits / lane_bits;
	x->used_b = x->nb = x->is_quads ? 2 : x->k * x->n * x->a->bits / lane_bits;
	if (x->of == WMMA && is_family(x, "f16"))
		x->na = x->nb = 8; /* whatever the shape: repeated */
	x->nc = accumulator_registers(x, x->ctype);
	x->nd = accumulator_registers(x, x->dtype);
	if (x->of == SPARSE)
		x->metadata_bits = x->a->bits == 32 ? 2 * x->k : x->a->bits == 4 ? x->k / 2 : x->k;
}

static void set_how(const struct ptx_inst *i, struct product *x)
{
	x->how = (x->ctype == PTX_F16 ? CT_MMA_C_F16 : 0) | (x->dtype == PTX_F16 ? CT_MMA_D_F16 : 0) |
		 (x->a->is_signed ? CT_MMA_A_SIGNED : 0) | (x->b->is_signed ? CT_MMA_B_SIGNED : 0) |
		 (x->a->is_e5m2 ? CT_MMA_A_E5M2 : 0) | (x->b->is_e5m2 ? CT_MMA_B_E5M2 : 0) |
		 (i->flags & PTX_F_SATFINITE ? CT_MMA_SATFINITE : 0) |
		 (i->boolop == PTX_BOOL_AND ? CT_MMA_AND : 0) | (i->layout & 1 ? CT_MMA_A_BY_COLUMNS : 0) |
		 (i->layout & 2 ? 0 : CT_MMA_B_BY_ROWS);
}

static bool set_selector(struct lower *l, struct product *x)
{
	const struct ptx_operand *f = &l->i->src[l->i->nsrc - 1];
	const unsigned most =
		4 / (x->metadata_bits / 16); /* of the four threads of a group, some have metadata */

	if (f->kind != PTX_OPND_IMM || f->imm >= most)
		return lower_refuse(l, "the sparsity selector of this shape is a constant below %u", most);
	x->how |= (uint32_t)f->imm << CT_MMA_SELECTOR;
	return true;
}

static bool read_types(const struct ptx_inst *i, struct product *x)
{
	const bool implicit = x->of == WMMA && i->type3 == PTX_TYPE_NONE; /* f16 times f16 */

	x->dtype = i->type;
	x->ctype = implicit ? i->type2 : i->type4;
	x->a = multiplicand_of(implicit ? PTX_F16 : i->type2);
	x->b = multiplicand_of(implicit ? PTX_F16 : i->type3);
	return x->a && x->b && !strcmp(x->a->family, x->b->family) && (x->of != WMMA || x->a == x->b);
}

static bool describe(struct lower *l, struct product *x)
{
	const struct ptx_inst *i = l->i;
	const unsigned more = i->op == PTX_OP_MMA || i->op == PTX_OP_WMMA_MMA ? 0 : 2;

	x->of = i->op == PTX_OP_WMMA_MMA ? WMMA : more ? SPARSE : MMA;
	if (needs_later_target(i))
		return lower_refuse(l, "block scaling and elements of less than 8 bits need target sm_120a");
	if (!read_types(i, x) || !ir_matrix_shape(i, &x->m, &x->n, &x->k))
		return lower_refuse(l, "there is no such product of matrices (ISA 9.7.14.1)");
	x->is_quads = x->of == MMA && x->m == 8 && x->n == 8 && x->k == 4 && is_family(x, "f16");
	if (!shape_exists(x) || !accumulators_fit(x))
		return lower_refuse(l, "there is no such product of matrices up to sm_90 (ISA 9.7.14.1)");
	if (x->of != WMMA && !x->is_quads && i->layout != 2)
		return lower_refuse(l, "this shape multiplies a .row by a .col matrix");
	if (i->rnd > PTX_RN && !is_family(x, "f64"))
		return lower_refuse(l, "only products of f64 have a rounding mode");
	if (is_family(x, "b1") &&
	    ((i->boolop != PTX_BOOL_AND && i->boolop != PTX_BOOL_XOR) || !ir_has_word(i, "popc")))
		return lower_refuse(l, "products of single bits are .xor.popc or .and.popc");
	count_registers(x);
	if (i->ndst != x->nd || i->nsrc != x->na + x->nb + x->nc + more)
		return lower_refuse(l, "its operands have %u, %u, %u and %u registers", x->nd, x->na, x->nb,
				    x->nc);
	set_how(i, x);
	return x->of != SPARSE || set_selector(l, x);
}

/* The device library's function for it. */
static struct ir product_function(const struct product *x)
{
	if (x->is_quads)
		return ir_text("ct_mma_quads");
	return ir_text("ct_mma_%s%s_%u_%u_%u", x->of == SPARSE ? "sp_" : "", x->a->family, x->m, x->n, x->k);
}

/* Registers as a vector of `width`; what isn't used is poison. */
static struct ir fragment(struct lower *l, const struct ptx_operand *o, unsigned n, unsigned width,
			  bool is_f64)
{
	const char *type = is_f64 ? "double" : "i32";
	struct ir v = ir_text("poison");

	for (unsigned k = 0; k < n; k++) {
		struct ir e = is_f64 ? read_typed(l, &o[k], PTX_F64) : read_bits(l, &o[k], 32);
		v = ir_op(l, "insertelement <%u x %s> %s, %s %s, i32 %u", width, type, v.s, type, e.s, k);
	}
	return v;
}

static void take_result(struct lower *l, struct ir d, unsigned width, bool is_f64)
{
	for (unsigned k = 0; k < l->i->ndst; k++) {
		struct ir e = ir_op(l, "extractelement <%u x %s> %s, i32 %u", width,
				    is_f64 ? "double" : "i32", d.s, k);
		if (is_f64)
			write_typed(l, &l->i->dst[k], e, PTX_F64);
		else
			write_bits(l, &l->i->dst[k], e, 32, false);
	}
}

static bool lower_product(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct product x = {0};

	if (!describe(l, &x))
		return false;
	const bool is_f64 = x.a->bits == 64;
	const struct ptx_operand *o = i->src;
	struct ir f = product_function(&x), a = fragment(l, o, x.used_a, 8, is_f64);
	struct ir b = fragment(l, o + x.na, x.used_b, is_f64 ? 4 : 8, is_f64);
	struct ir c = fragment(l, o + x.na + x.nb, x.nc, is_f64 ? 4 : 8, is_f64), d;

	if (is_f64)
		d = ir_op(l,
			  "call <4 x double> @%s(<8 x double> %s, <4 x double> %s, <4 x double> %s, i32 %u)",
			  f.s, a.s, b.s, c.s, i->rnd ? i->rnd : PTX_RN);
	else if (x.of == SPARSE)
		d = ir_op(l, "call <8 x i32> @%s(<8 x i32> %s, <8 x i32> %s, <8 x i32> %s, i32 %s, i32 %u)",
			  f.s, a.s, b.s, c.s, read_bits(l, &o[x.na + x.nb + x.nc], 32).s, x.how);
	else
		d = ir_op(l, "call <8 x i32> @%s(<8 x i32> %s, <8 x i32> %s, <8 x i32> %s, i32 %u)", f.s, a.s,
			  b.s, c.s, x.how);
	take_result(l, d, is_f64 ? 4 : 8, is_f64);
	return true;
}

bool lower_matrix(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_MMA:
	case PTX_OP_MMA_SP:
	case PTX_OP_MMA_SP_ORDERED_METADATA:
	case PTX_OP_WMMA_MMA: return lower_product(l);
	default: return false;
	}
}
