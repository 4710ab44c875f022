/* SPDX-License-Identifier: Apache-2.0
 *
 * Values and their arithmetic: C's, but that a literal takes the type of what it meets, and that single precision stays it. */
#include <math.h>
#include <string.h>

#include "debug/expression.h"

void value_set_integer(struct value *v, enum ptx_type t, uint64_t bits)
{
	*v = (struct value){.type = (uint8_t)t};
	memcpy(v->bytes, &bits, type_bytes(t) < 8 ? type_bytes(t) : 8);
}

void value_set_float(struct value *v, enum ptx_type t, double x)
{
	float f = (float)x;

	*v = (struct value){.type = (uint8_t)t};
	if (t == PTX_F32)
		memcpy(v->bytes, &f, 4);
	else
		memcpy(v->bytes, &x, 8);
}

uint64_t value_integer(const struct value *v)
{
	unsigned n = v->pointer ? 8 : type_bytes((enum ptx_type)v->type);
	uint64_t bits = 0;

	if (!v->pointer && typed_is_float((enum ptx_type)v->type)) {
		double x = typed_float(v->bytes, (enum ptx_type)v->type);

		return !(x > -0x1p63 && x < 0x1p63) ? 0 : (uint64_t)(int64_t)x;
	}
	memcpy(&bits, v->bytes, n < 8 ? n : 8);
	if (!v->pointer && ptx_type_is_signed((enum ptx_type)v->type) && n < 8)
		bits = (uint64_t)((int64_t)(bits << (64 - 8 * n)) >> (64 - 8 * n));
	return bits;
}

bool value_is_float(const struct value *v)
{
	return !v->pointer && typed_is_float((enum ptx_type)v->type);
}

static bool is_unsigned(const struct value *v)
{
	return v->pointer || !ptx_type_is_signed((enum ptx_type)v->type);
}

double value_float(const struct value *v)
{
	if (value_is_float(v))
		return typed_float(v->bytes, (enum ptx_type)v->type);
	return is_unsigned(v) ? (double)value_integer(v) : (double)(int64_t)value_integer(v);
}

bool value_true(const struct value *v)
{
	return value_is_float(v) ? value_float(v) != 0 : value_integer(v) != 0;
}

static double float_op(uint8_t op, double a, double b)
{
	switch (op) {
	case OP_ADD: return a + b;
	case OP_SUB: return a - b;
	case OP_MUL: return a * b;
	default: return a / b;
	}
}

static int compare_result(uint8_t op, bool less, bool equal, bool unordered)
{
	switch (op) {
	case OP_EQ: return equal;
	case OP_NE: return !equal;
	case OP_LT: return less && !unordered;
	case OP_LE: return (less || equal) && !unordered;
	case OP_GT: return !less && !equal && !unordered;
	default: return !less && !unordered; /* >= */
	}
}

static bool compares(uint8_t op)
{
	return op >= OP_EQ && op <= OP_GT;
}

static int float_binary(uint8_t op, const struct value *a, const struct value *b, struct value *out,
			struct diag *d)
{
	bool wide = (a->type == PTX_F64 && !a->literal) || (b->type == PTX_F64 && !b->literal) ||
		    (a->literal && b->literal);
	double x = value_float(a), y = value_float(b);

	if (!wide) { /* a literal meets single precision or less */
		x = (double)(float)x;
		y = (double)(float)y;
	}
	if (compares(op)) {
		value_set_integer(out, PTX_S32,
				  (uint64_t)compare_result(op, x < y, x == y, isnan(x) || isnan(y)));
		return 0;
	}
	if (op < OP_ADD || op > OP_DIV)
		return diag_set(d, CUTRACE_EINVAL, "", "this operator is not for floats");
	value_set_float(out, wide ? PTX_F64 : PTX_F32, float_op(op, x, y));
	return 0;
}

static const uint8_t signed_types[] = {[1] = PTX_S8, [2] = PTX_S16, [4] = PTX_S32, [8] = PTX_S64};
static const uint8_t unsigned_types[] = {[1] = PTX_U8, [2] = PTX_U16, [4] = PTX_U32, [8] = PTX_U64};

static unsigned width_of(const struct value *v)
{
	unsigned n = v->pointer ? 8 : type_bytes((enum ptx_type)v->type);

	return n == 1 || n == 2 || n == 4 ? n : 8;
}

/* A literal has the width and sign of the other, where it fits. */
static enum ptx_type common_type(const struct value *a, const struct value *b)
{
	unsigned wa = width_of(a), wb = width_of(b), w = wa > wb ? wa : wb;
	bool un = (is_unsigned(a) && wa == w) || (is_unsigned(b) && wb == w);

	if (a->literal != b->literal) {
		const struct value *typed = a->literal ? b : a, *lit = a->literal ? a : b;
		unsigned wt = width_of(typed);
		uint64_t bits = value_integer(lit), top = wt < 8 ? bits >> 8 * wt : 0;

		if (!top || (lit->type == PTX_S64 && (int64_t)bits < 0 &&
			     (int64_t)bits >= -(int64_t)(1ull << (8 * wt - 1)))) {
			w = wt;
			un = is_unsigned(typed);
		}
	}
	return (enum ptx_type)(un ? unsigned_types : signed_types)[w];
}

static uint64_t cut(uint64_t v, enum ptx_type t)
{
	unsigned shift = 64 - ptx_type_bits(t);

	return ptx_type_is_signed(t) ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

static uint64_t integer_op(uint8_t op, uint64_t x, uint64_t y, bool un, unsigned bits)
{
	switch (op) {
	case OP_BOR: return x | y;
	case OP_XOR: return x ^ y;
	case OP_BAND: return x & y;
	case OP_SHL: return y < bits ? x << y : 0;
	case OP_SHR: return y < bits ? (un ? x >> y : (uint64_t)((int64_t)x >> y)) : 0;
	case OP_ADD: return x + y;
	case OP_SUB: return x - y;
	case OP_MUL: return x * y;
	case OP_DIV: return un ? x / y : y == UINT64_MAX ? 0 - x : (uint64_t)((int64_t)x / (int64_t)y);
	default: return un ? x % y : y == UINT64_MAX ? 0 : (uint64_t)((int64_t)x % (int64_t)y);
	}
}

static int integer_binary(uint8_t op, const struct value *a, const struct value *b, struct value *out,
			  struct diag *d)
{
	enum ptx_type t = common_type(a, b);
	bool un = !ptx_type_is_signed(t);
	uint64_t x = cut(value_integer(a), t), y = cut(value_integer(b), t);
	const struct value *base = a->pointer || a->space ? a : b->pointer || b->space ? b : NULL;

	if (compares(op)) {
		value_set_integer(
			out, PTX_S32,
			(uint64_t)compare_result(op, un ? x < y : (int64_t)x < (int64_t)y, x == y, false));
		return 0;
	}
	if ((op == OP_DIV || op == OP_REM) && !y)
		return diag_set(d, CUTRACE_EINVAL, "", "division by zero");
	if (a->pointer != b->pointer && (op == OP_ADD || op == OP_SUB)) { /* in elements, as in C */
		uint64_t size = type_bytes((enum ptx_type)(a->pointer ? a : b)->type);

		x *= a->pointer ? 1 : size;
		y *= b->pointer ? 1 : size;
	}
	value_set_integer(out, t, integer_op(op, x, y, un, ptx_type_bits(t)));
	out->literal = a->literal && b->literal;
	if (base && !base->stored && (op == OP_ADD || op == OP_SUB)) {
		out->space = base->space;
		if (base->pointer) {
			value_set_integer(out, PTX_U64, integer_op(op, x, y, un, 64));
			out->type = base->type;
			out->pointer = true;
			out->space = base->space;
		}
	}
	return 0;
}

int value_binary(uint8_t op, const struct value *a, const struct value *b, struct value *out, struct diag *d)
{
	return value_is_float(a) || value_is_float(b) ? float_binary(op, a, b, out, d)
						      : integer_binary(op, a, b, out, d);
}
