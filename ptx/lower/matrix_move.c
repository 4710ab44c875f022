/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices between memory and the registers of a warp, PTX ISA 9.7.14: ldmatrix, stmatrix and movmatrix (8 x 8 matrices
 * of 16 bits: lane 4r + t holds elements 2t and 2t + 1 of row r), wmma.load and wmma.store (layouts: docs/tensor.md).
 * Each lane accesses what it holds; only addresses, and movmatrix's elements, come from other lanes.
 */
#include "ptx/lower/writer.h"

static struct ir from_lane(struct lower *l, struct ir v, struct ir lane)
{
	return ir_op(l, "call i32 @ct_from_lane(i32 %s, i32 %s)", v.s, lane.s);
}

/* ---- 8 x 8 matrices ------------------------------------------------------------------------- */

/* Where this lane's elements are: g = lane / 4, t = lane % 4. */
struct position {
	struct ir g, t;
};

static struct position position(struct lower *l)
{
	struct ir lane = warp_lane(l);

	return (struct position){ir_op(l, "lshr i32 %s, 2", lane.s), ir_op(l, "and i32 %s, 3", lane.s)};
}

/* An address that each lane may ask another one for: one or two words. */
struct address {
	unsigned as;
	struct ir word[2];
};

static struct address address_of(struct lower *l)
{
	struct address a;
	struct ir p = read_pointer(l, &l->i->src[0], l->i->space, 0, &a.as);

	if (a.as == AS_LDS) {
		a.word[0] = ir_op(l, "ptrtoint %s to i32", p.s);
		return a;
	}
	p = ir_op(l, "ptrtoint %s to i64", p.s);
	a.word[0] = ir_op(l, "trunc i64 %s to i32", p.s);
	p = ir_op(l, "lshr i64 %s, 32", p.s);
	a.word[1] = ir_op(l, "trunc i64 %s to i32", p.s);
	return a;
}

/* "ptr addrspace(3) %t": `offset` bytes behind the address that lane `lane` gives. */
static struct ir row_of_lane(struct lower *l, const struct address *a, struct ir lane, struct ir offset)
{
	struct ir v = from_lane(l, a->word[0], lane);

	if (a->as != AS_LDS) {
		struct ir hi = ir_op(l, "zext i32 %s to i64", from_lane(l, a->word[1], lane).s);
		v = ir_op(l, "zext i32 %s to i64", v.s);
		v = ir_op(l, "or i64 %s, %s", v.s, ir_op(l, "shl i64 %s, 32", hi.s).s);
	}
	v = ir_op(l, "inttoptr i%u %s to ptr addrspace(%u)", a->as == AS_LDS ? 32 : 64, v.s, a->as);
	v = ir_op(l, "getelementptr i8, ptr addrspace(%u) %s, i32 %s", a->as, v.s, offset.s);
	return ir_text("ptr addrspace(%u) %.40s", a->as, v.s);
}

static struct ir shifted(struct lower *l, struct ir v, unsigned by)
{
	return ir_op(l, "shl i32 %s, %u", v.s, by);
}

static struct ir plus(struct lower *l, struct ir v, unsigned n)
{
	return ir_op(l, "add i32 %s, %u", v.s, n);
}

/* The place of this lane's elements of matrix n: both at *first, or, transposed, one at each. */
static void places(struct lower *l, const struct address *a, const struct position *at, unsigned n,
		   struct ir *first, struct ir *second)
{
	struct ir t2 = plus(l, shifted(l, at->t, 1), 8 * n);

	if (!(l->i->flags & PTX_F_TRANS)) {
		*first = row_of_lane(l, a, plus(l, at->g, 8 * n), shifted(l, at->t, 2));
		return;
	}
	*first = row_of_lane(l, a, t2, shifted(l, at->g, 1));
	*second = row_of_lane(l, a, plus(l, t2, 1), shifted(l, at->g, 1));
}

static struct ir joined(struct lower *l, struct ir lo, struct ir hi)
{
	struct ir v = ir_op(l, "zext i16 %s to i32", hi.s);

	v = ir_op(l, "shl i32 %s, 16", v.s);
	return ir_op(l, "or i32 %s, %s", v.s, ir_op(l, "zext i16 %s to i32", lo.s).s);
}

static bool lower_ldmatrix(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct address a = address_of(l);
	struct position at = position(l);
	struct ir v[4], p, q;

	for (unsigned n = 0; n < i->ndst; n++) {
		places(l, &a, &at, n, &p, &q);
		if (i->flags & PTX_F_TRANS) {
			p = ir_op(l, "load i16, %s, align 2", p.s);
			v[n] = joined(l, p, ir_op(l, "load i16, %s, align 2", q.s));
		} else {
			v[n] = ir_op(l, "load i32, %s, align 4", p.s);
		}
	}
	for (unsigned n = 0; n < i->ndst; n++)
		write_bits(l, &i->dst[n], v[n], 32, false);
	return true;
}

static bool lower_stmatrix(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct address a = address_of(l);
	struct position at = position(l);

	for (unsigned n = 0; n < i->vec; n++) {
		struct ir v = read_bits(l, &i->src[1 + n], 32), p, q;

		places(l, &a, &at, n, &p, &q);
		if (!(i->flags & PTX_F_TRANS)) {
			ir_line(l, "store i32 %s, %s, align 4", v.s, p.s);
			continue;
		}
		ir_line(l, "store i16 %s, %s, align 2", ir_op(l, "trunc i32 %s to i16", v.s).s, p.s);
		v = ir_op(l, "lshr i32 %s, 16", v.s);
		ir_line(l, "store i16 %s, %s, align 2", ir_op(l, "trunc i32 %s to i16", v.s).s, q.s);
	}
	return true;
}

/* Elements (2t, g) and (2t + 1, g): halves of what lanes 8t + g / 2 and four further on hold. */
static bool lower_movmatrix(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct position at = position(l);
	struct ir v = read_bits(l, &i->src[0], 32), half[2];
	struct ir from =
		ir_op(l, "add i32 %s, %s", shifted(l, at.t, 3).s, ir_op(l, "lshr i32 %s, 1", at.g.s).s);
	struct ir shift = shifted(l, ir_op(l, "and i32 %s, 1", at.g.s), 4);

	for (unsigned k = 0; k < 2; k++) {
		half[k] = from_lane(l, v, plus(l, from, 4 * k));
		half[k] = ir_op(l, "lshr i32 %s, %s", half[k].s, shift.s);
		half[k] = ir_op(l, "trunc i32 %s to i16", half[k].s);
	}
	write_bits(l, &i->dst[0], joined(l, half[0], half[1]), 32, false);
	return true;
}

static bool lower_small(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned m, n, k;

	if (!ir_matrix_shape(i, &m, &n, &k) || m != 8 || n != 8 || i->type != PTX_B16)
		return lower_refuse(
			l, "shapes and types other than .m8n8 and .b16 need target sm_100a or later");
	if (i->vec > 4 || (i->op == PTX_OP_LDMATRIX && i->ndst != i->vec) ||
	    (i->op == PTX_OP_STMATRIX && i->nsrc != 1u + i->vec))
		return lower_refuse(l, "it moves 1, 2 or 4 matrices");
	if (i->op == PTX_OP_LDMATRIX)
		return lower_ldmatrix(l);
	if (i->op == PTX_OP_STMATRIX)
		return lower_stmatrix(l);
	return i->flags & PTX_F_TRANS ? lower_movmatrix(l) : lower_refuse(l, "it needs .trans");
}

/* ---- wmma.load, wmma.store -------------------------------------------------------------------- */

enum operand { OPERAND_A, OPERAND_B, OPERAND_C };

struct fragment {
	enum operand operand;
	unsigned m, n, k, bits, per; /* of an element; elements in a register */
	unsigned registers, used;
	bool by_columns;
	unsigned line; /* elements of a row, or column, in memory */
	struct position at;
	struct ir base, stride;
	unsigned as;
};

/* Which types a shape has: 9.7.14.1. */
static bool memory_shape_exists(const struct fragment *x, unsigned type)
{
	const bool large = x->m * x->n == 256 && x->k == 16;

	if (x->operand == OPERAND_C)
		switch (type) {
		case PTX_F64: return x->k == 4;
		case PTX_F32: return large || x->k == 8;
		case PTX_F16: return large;
		case PTX_S32: return large || x->k == 32 || x->k == 128;
		default: return false;
		}
	switch (type) {
	case PTX_F16:
	case PTX_BF16:
	case PTX_S8:
	case PTX_U8: return large;
	case PTX_TF32: return x->k == 8;
	case PTX_F64: return x->k == 4;
	case PTX_S4:
	case PTX_U4: return x->k == 32 && x->by_columns == (x->operand == OPERAND_B);
	case PTX_B1: return x->k == 128 && x->by_columns == (x->operand == OPERAND_B);
	default: return false;
	}
}

static bool is_wmma_shape(const struct fragment *x)
{
	if (x->k == 16)
		return (x->m == 16 && x->n == 16) || (x->m == 8 && x->n == 32) || (x->m == 32 && x->n == 8);
	if (x->k == 8)
		return x->m == 16 && x->n == 16;
	return x->m == 8 && x->n == 8 && (x->k == 4 || x->k == 32 || x->k == 128);
}

static bool describe(struct lower *l, struct fragment *x)
{
	const struct ptx_inst *i = l->i;
	const bool load = i->op == PTX_OP_WMMA_LOAD;

	x->operand = load && ir_has_word(i, "a")   ? OPERAND_A
		     : load && ir_has_word(i, "b") ? OPERAND_B
						   : OPERAND_C;
	x->bits = ptx_type_bits(i->type);
	x->by_columns = i->layout & 1;
	if (!ir_matrix_shape(i, &x->m, &x->n, &x->k) || !is_wmma_shape(x) || !memory_shape_exists(x, i->type))
		return lower_refuse(l, "wmma has no such shape, type and layout (ISA 9.7.14.1)");
	const unsigned rows = x->operand == OPERAND_B ? x->k : x->m,
		       columns = x->operand == OPERAND_A ? x->k : x->n;

	x->per = x->bits < 32 ? 32 / x->bits : 1;
	x->used = x->registers = rows * columns * x->bits / (32 * (x->bits == 64 ? 64 : 32));
	if (i->type == PTX_F16 && x->operand != OPERAND_C)
		x->registers = 8; /* whatever the shape: repeated */
	x->line = x->by_columns ? rows : columns;
	return true;
}

/* A number of elements: constant + g_factor * g + t_factor * t. */
struct index {
	unsigned constant, g, t;
};

/* Row and column of element e of register r. */
static void place(const struct fragment *x, unsigned r, unsigned e, struct index *row, struct index *column)
{
	const unsigned tiles = x->operand == OPERAND_B ? x->k / (4 * x->per) : x->m / 8;
	const unsigned element = r * x->per + e, pair = element / 2;

	switch (x->operand) {
	case OPERAND_A:
		*row = (struct index){8 * (r % tiles), 1, 0};
		*column = (struct index){4 * x->per * (r / tiles) + e, 0, x->per};
		break;
	case OPERAND_B:
		*row = (struct index){4 * x->per * (r % tiles) + e, 0, x->per};
		*column = (struct index){8 * (r / tiles), 1, 0};
		break;
	default:
		*row = (struct index){8 * (pair % tiles), 1, 0};
		*column = (struct index){8 * (pair / tiles) + element % 2, 0, 2};
	}
}

static struct ir index_value(struct lower *l, const struct fragment *x, struct index n)
{
	struct ir v =
		n.g ? ir_op(l, "mul i32 %s, %u", x->at.g.s, n.g) : ir_op(l, "mul i32 %s, %u", x->at.t.s, n.t);

	return ir_op(l, "zext i32 %s to i64", plus(l, v, n.constant).s);
}

static struct ir element_pointer(struct lower *l, const struct fragment *x, unsigned r, unsigned e)
{
	struct index row, column;

	place(x, r, e, &row, &column);
	struct ir line = index_value(l, x, x->by_columns ? column : row);
	struct ir at = index_value(l, x, x->by_columns ? row : column);
	at = ir_op(l, "add i64 %s, %s", at.s, ir_op(l, "mul i64 %s, %s", line.s, x->stride.s).s);
	at = ir_op(l, "mul i64 %s, %u", at.s, x->bits);
	at = ir_op(l, "lshr i64 %s, 3", at.s);
	at = ir_op(l, "getelementptr i8, %s, i64 %s", x->base.s, at.s);
	return ir_text("ptr addrspace(%u) %.40s", x->as, at.s);
}

/* Whether the elements of a register are neighbours in memory. */
static bool is_contiguous(const struct fragment *x)
{
	return x->per == 1 || x->by_columns == (x->operand == OPERAND_B);
}

static unsigned alignment(const struct fragment *x)
{
	return x->bits < 8 ? 4 : x->bits / 8;
}

static bool memory_operands(struct lower *l, struct fragment *x, unsigned before)
{
	const struct ptx_inst *i = l->i;

	if (i->nsrc != before && i->nsrc != before + 1)
		return lower_refuse(l, "it has %u registers", x->registers);
	x->base = read_pointer(l, &i->src[0], i->space, 0, &x->as);
	x->at = position(l);
	x->stride = i->nsrc > before ? ir_resize(l, read_bits(l, &i->src[before], 32), 32, 64, false)
				     : ir_text("%u", x->line);
	return true;
}

static struct ir load_register(struct lower *l, const struct fragment *x, unsigned r)
{
	const unsigned bits = x->bits == 64 ? 64 : 32;
	struct ir v = ir_text("0");

	if (is_contiguous(x))
		return ir_op(l, "load i%u, %s, align %u", bits, element_pointer(l, x, r, 0).s, alignment(x));
	for (unsigned e = 0; e < x->per; e++) {
		struct ir p = element_pointer(l, x, r, e);
		p = ir_op(l, "load i%u, %s, align %u", x->bits, p.s, alignment(x));
		p = ir_op(l, "zext i%u %s to i32", x->bits, p.s);
		v = ir_op(l, "or i32 %s, %s", v.s, shifted(l, p, e * x->bits).s);
	}
	return v;
}

static bool lower_wmma_load(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct fragment x = {0};
	struct ir v[8];

	if (!describe(l, &x))
		return false;
	if (i->ndst != x.registers)
		return lower_refuse(l, "it has %u registers", x.registers);
	if (!memory_operands(l, &x, 1))
		return false;
	for (unsigned r = 0; r < x.used; r++)
		v[r] = load_register(l, &x, r);
	for (unsigned r = 0; r < x.registers; r++)
		write_bits(l, &i->dst[r], v[r % x.used], x.bits == 64 ? 64 : 32, false);
	return true;
}

static void store_register(struct lower *l, const struct fragment *x, unsigned r, struct ir v)
{
	if (is_contiguous(x)) {
		ir_line(l, "store i%u %s, %s, align %u", x->bits == 64 ? 64 : 32, v.s,
			element_pointer(l, x, r, 0).s, alignment(x));
		return;
	}
	for (unsigned e = 0; e < x->per; e++) {
		struct ir p = element_pointer(l, x, r, e),
			  part = ir_op(l, "lshr i32 %s, %u", v.s, e * x->bits);
		part = ir_op(l, "trunc i32 %s to i%u", part.s, x->bits);
		ir_line(l, "store i%u %s, %s, align %u", x->bits, part.s, p.s, alignment(x));
	}
}

static bool lower_wmma_store(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct fragment x = {0};

	if (!describe(l, &x) || !memory_operands(l, &x, 1 + x.registers))
		return false;
	for (unsigned r = 0; r < x.used; r++)
		store_register(l, &x, r, read_bits(l, &i->src[1 + r], x.bits == 64 ? 64 : 32));
	return true;
}

bool lower_matrix_move(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_LDMATRIX:
	case PTX_OP_STMATRIX:
	case PTX_OP_MOVMATRIX: return lower_small(l);
	case PTX_OP_WMMA_LOAD: return lower_wmma_load(l);
	case PTX_OP_WMMA_STORE: return lower_wmma_store(l);
	default: return false;
	}
}
