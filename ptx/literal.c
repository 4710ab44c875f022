/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/literal: numbers and constant expressions (ISA 4.4, 4.5), and their
 * conversion to the type of the operand that they stand for. */
#define _GNU_SOURCE /* strtod_l */
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/lexer.h"

enum { EXPRESSION_DEPTH = 64 };

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Digits of one base; false on overflow or when there are none. */
static bool digits(const char **pp, unsigned base, uint64_t *value)
{
	const char *p = *pp;
	uint64_t v = 0;
	while ((unsigned)digit_value(*p) < base) {
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit_value(*p), &v))
			return false;
		p++;
	}
	bool any = p != *pp;
	*pp = p;
	*value = v;
	return any;
}

/* 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX: the bits of a float. */
static bool float_bits(struct lexer *lx, unsigned width, struct literal *out, const char **why)
{
	const char *p = lx->p + 2;
	if (!digits(&p, 16, &out->bits) || p - (lx->p + 2) != (ptrdiff_t)width) {
		*why = width == 8 ? "a 0f constant has exactly 8 hexadecimal digits"
				  : "a 0d constant has exactly 16 hexadecimal digits";
		return false;
	}
	out->kind = width == 8 ? LITERAL_F32 : LITERAL_F64;
	lx->p = p;
	return true;
}

static bool looks_decimal_float(const char *p)
{
	while (lex_class[(uint8_t)*p] & LEX_DIGIT)
		p++;
	return *p == '.' || *p == 'e' || *p == 'E';
}

static bool decimal_float(struct lexer *lx, struct literal *out, const char **why)
{
	/* Bounds the text that strtod may look at; a float has no reason to be longer. */
	char text[64], *stop;
	size_t n = (size_t)(lx->end - lx->p);
	n = n < sizeof(text) - 1 ? n : sizeof(text) - 1;
	memcpy(text, lx->p, n);
	text[n] = 0;
	pthread_once(&c_locale_once, make_c_locale);
	double d = strtod_l(text, &stop, c_locale);
	if (stop == text || stop == text + sizeof(text) - 1) {
		*why = "malformed floating-point constant";
		return false;
	}
	out->kind = LITERAL_F64;
	memcpy(&out->bits, &d, sizeof(d));
	lx->p += stop - text;
	return true;
}

static bool integer(struct lexer *lx, struct literal *out, const char **why)
{
	const char *p = lx->p;
	unsigned base = 10;
	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		base = 16, p += 2;
	else if (p[0] == '0' && (p[1] == 'b' || p[1] == 'B'))
		base = 2, p += 2;
	else if (p[0] == '0' && lex_class[(uint8_t)p[1]] & LEX_DIGIT)
		base = 8, p += 1;
	if (!digits(&p, base, &out->bits)) {
		*why = "an integer constant must fit in 64 bits";
		return false;
	}
	out->kind = LITERAL_INT;
	out->is_unsigned = *p == 'U' || out->bits > INT64_MAX;
	p += *p == 'U';
	if (lex_class[(uint8_t)*p] & LEX_NAME) {
		*why = "malformed integer constant";
		return false;
	}
	lx->p = p;
	return true;
}

bool lex_number(struct lexer *lx, struct literal *out, const char **why)
{
	*why = "expected a number";
	int c = lex_peek(lx);
	const char *p = lx->p;
	if (!(lex_class[c] & LEX_DIGIT) && !(c == '.' && lex_class[(uint8_t)p[1]] & LEX_DIGIT))
		return false;
	*out = (struct literal){0};
	if (p[0] == '0' && (p[1] == 'f' || p[1] == 'F'))
		return float_bits(lx, 8, out, why);
	if (p[0] == '0' && (p[1] == 'd' || p[1] == 'D'))
		return float_bits(lx, 16, out, why);
	if (looks_decimal_float(p) && !(p[0] == '0' && (p[1] == 'x' || p[1] == 'X')))
		return decimal_float(lx, out, why);
	return integer(lx, out, why);
}

static double as_double(const struct literal *l)
{
	double d;
	float f;
	if (l->kind == LITERAL_F64) {
		memcpy(&d, &l->bits, sizeof(d));
		return d;
	}
	if (l->kind == LITERAL_F32) {
		uint32_t low = (uint32_t)l->bits;
		memcpy(&f, &low, sizeof(f));
		return f;
	}
	return l->is_unsigned ? (double)l->bits : (double)(int64_t)l->bits;
}

static struct literal from_double(double d)
{
	struct literal l = {.kind = LITERAL_F64};
	memcpy(&l.bits, &d, sizeof(d));
	return l;
}

static struct literal from_int(uint64_t bits, bool is_unsigned)
{
	return (struct literal){.kind = LITERAL_INT, .is_unsigned = is_unsigned, .bits = bits};
}

/* Binary operators with their precedence. Which results are unsigned, and so how they compare and shift, is
 * ISA 4.5.5 (table 6): of & | ^ ~ always, of % never, though its operands are taken as unsigned. */
enum binary {
	OR_ELSE,
	AND_ALSO,
	BIT_OR,
	BIT_XOR,
	BIT_AND,
	EQUAL,
	NOT_EQUAL,
	LESS_EQUAL,
	GREATER_EQUAL,
	SHIFT_LEFT,
	SHIFT_RIGHT,
	LESS,
	GREATER,
	ADD,
	SUB,
	MUL,
	DIV,
	REM
};
static const struct {
	const char *spelling;
	uint8_t op, level;
} binaries[] = {
	{"||", OR_ELSE, 1},    {"&&", AND_ALSO, 2},    {"==", EQUAL, 6},
	{"!=", NOT_EQUAL, 6},  {"<=", LESS_EQUAL, 7},  {">=", GREATER_EQUAL, 7},
	{"<<", SHIFT_LEFT, 8}, {">>", SHIFT_RIGHT, 8}, {"|", BIT_OR, 3},
	{"^", BIT_XOR, 4},     {"&", BIT_AND, 5},      {"<", LESS, 7},
	{">", GREATER, 7},     {"+", ADD, 9},          {"-", SUB, 9},
	{"*", MUL, 10},        {"/", DIV, 10},         {"%", REM, 10},
};

static int find_binary(struct lexer *lx, int min_level)
{
	int c = lex_peek(lx);
	if (!c || !strchr("|&=!<>^+-*/%", c))
		return -1;
	for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++) {
		size_t n = strlen(binaries[i].spelling);
		if (!strncmp(lx->p, binaries[i].spelling, n))
			return binaries[i].level >= min_level ? (int)i : -1;
	}
	return -1;
}

static bool divide(const struct literal *a, const struct literal *b, bool is_unsigned, bool rem,
		   struct literal *out, const char **why)
{
	if (b->bits == 0) {
		*why = "division by zero in a constant expression";
		return false;
	}
	int64_t x = (int64_t)a->bits, y = (int64_t)b->bits;
	if (is_unsigned)
		*out = from_int(rem ? a->bits % b->bits : a->bits / b->bits, true);
	else if (y == -1) /* the most negative number has no positive partner: wrap */
		*out = from_int(rem ? 0 : 0 - a->bits, false);
	else
		*out = from_int((uint64_t)(rem ? x % y : x / y), false);
	return true;
}

static uint64_t shift(const struct literal *a, uint64_t n, bool left)
{
	if (left)
		return n > 63 ? 0 : a->bits << n;
	if (a->is_unsigned)
		return n > 63 ? 0 : a->bits >> n;
	return (uint64_t)((int64_t)a->bits >> (n > 63 ? 63 : n));
}

static bool apply_int(enum binary op, const struct literal *a, const struct literal *b, struct literal *out,
		      const char **why)
{
	bool u = a->is_unsigned || b->is_unsigned;
	int64_t x = (int64_t)a->bits, y = (int64_t)b->bits;
	switch (op) {
	case OR_ELSE: *out = from_int(a->bits || b->bits, false); break;
	case AND_ALSO: *out = from_int(a->bits && b->bits, false); break;
	case BIT_OR: *out = from_int(a->bits | b->bits, true); break;
	case BIT_XOR: *out = from_int(a->bits ^ b->bits, true); break;
	case BIT_AND: *out = from_int(a->bits & b->bits, true); break;
	case EQUAL: *out = from_int(a->bits == b->bits, false); break;
	case NOT_EQUAL: *out = from_int(a->bits != b->bits, false); break;
	case LESS_EQUAL: *out = from_int(u ? a->bits <= b->bits : x <= y, false); break;
	case GREATER_EQUAL: *out = from_int(u ? a->bits >= b->bits : x >= y, false); break;
	case LESS: *out = from_int(u ? a->bits < b->bits : x < y, false); break;
	case GREATER: *out = from_int(u ? a->bits > b->bits : x > y, false); break;
	case SHIFT_LEFT: *out = from_int(shift(a, b->bits, true), a->is_unsigned); break;
	case SHIFT_RIGHT: *out = from_int(shift(a, b->bits, false), a->is_unsigned); break;
	case ADD: *out = from_int(a->bits + b->bits, u); break;
	case SUB: *out = from_int(a->bits - b->bits, u); break;
	case MUL: *out = from_int(a->bits * b->bits, u); break;
	case DIV: return divide(a, b, u, false, out, why);
	case REM:
		if (!divide(a, b, true, true, out, why))
			return false;
		out->is_unsigned = false;
		break;
	}
	return true;
}

static bool apply_float(enum binary op, double x, double y, struct literal *out, const char **why)
{
	switch (op) {
	case ADD: *out = from_double(x + y); break;
	case SUB: *out = from_double(x - y); break;
	case MUL: *out = from_double(x * y); break;
	case DIV: *out = from_double(x / y); break;
	case EQUAL: *out = from_int(x == y, false); break;
	case NOT_EQUAL: *out = from_int(x != y, false); break;
	case LESS_EQUAL: *out = from_int(x <= y, false); break;
	case GREATER_EQUAL: *out = from_int(x >= y, false); break;
	case LESS: *out = from_int(x < y, false); break;
	case GREATER: *out = from_int(x > y, false); break;
	default: *why = "this operator takes integers only"; return false;
	}
	return true;
}

static bool expression(struct lexer *lx, int min_level, int depth, struct literal *out, const char **why);

/* (.s64) and (.u64). */
static bool cast(struct lexer *lx, bool *to_unsigned)
{
	struct lexer before = *lx;
	struct lex_name w;
	if (lex_directive(lx, &w) && (lex_is(&w, "s64") || lex_is(&w, "u64")) && lex_accept(lx, ')')) {
		*to_unsigned = w.s[0] == 'u';
		return true;
	}
	*lx = before;
	return false;
}

static bool parenthesis(struct lexer *lx, int depth, struct literal *out, const char **why);

static bool apply_unary(int op, struct literal *l, const char **why)
{
	*why = "this operator takes integers only";
	if (op == '+')
		return true;
	if (op == '-' && l->kind == LITERAL_F32)
		l->bits ^= 0x80000000u;
	else if (op == '-' && l->kind == LITERAL_F64)
		*l = from_double(-as_double(l));
	else if (l->kind != LITERAL_INT)
		return false;
	else if (op == '-')
		l->bits = 0 - l->bits;
	else if (op == '~')
		*l = from_int(~l->bits, true);
	else
		*l = from_int(!l->bits, false);
	return true;
}

static bool unary(struct lexer *lx, int depth, struct literal *out, const char **why)
{
	*why = "a constant expression is nested too deeply";
	if (depth > EXPRESSION_DEPTH)
		return false;
	int c = lex_peek(lx);
	if (c == '(')
		return parenthesis(lx, depth, out, why);
	if (c == '+' || c == '-' || c == '!' || c == '~') {
		lx->p++;
		return unary(lx, depth + 1, out, why) && apply_unary(c, out, why);
	}
	struct lex_name name;
	struct lexer before = *lx;
	if (lex_name(lx, &name)) {
		if (lex_is(&name, "WARP_SZ")) {
			*out = from_int(32, false);
			return true;
		}
		*lx = before;
		*why = "expected a constant";
		return false;
	}
	return lex_number(lx, out, why);
}

static bool parenthesis(struct lexer *lx, int depth, struct literal *out, const char **why)
{
	bool to_unsigned;
	lx->p++;
	if (cast(lx, &to_unsigned)) {
		if (!unary(lx, depth + 1, out, why))
			return false;
		*why = "only integers can be cast in a constant expression";
		out->is_unsigned = to_unsigned;
		return out->kind == LITERAL_INT;
	}
	if (!expression(lx, 0, depth + 1, out, why))
		return false;
	*why = "expected ')'";
	return lex_accept(lx, ')');
}

static bool conditional(struct lexer *lx, int depth, struct literal *out, const char **why)
{
	struct literal yes, no;
	lx->p++;
	if (!expression(lx, 0, depth + 1, &yes, why))
		return false;
	*why = "expected ':'";
	if (!lex_accept(lx, ':') || !expression(lx, 0, depth + 1, &no, why))
		return false;
	*out = out->bits ? yes : no;
	return true;
}

static bool expression(struct lexer *lx, int min_level, int depth, struct literal *out, const char **why)
{
	*why = "a constant expression is nested too deeply";
	if (depth > EXPRESSION_DEPTH || !unary(lx, depth, out, why))
		return false;
	int i;
	while ((i = find_binary(lx, min_level)) >= 0) {
		struct literal left = *out, right;
		lx->p += strlen(binaries[i].spelling);
		if (!expression(lx, binaries[i].level + 1, depth + 1, &right, why))
			return false;
		bool ok =
			left.kind == LITERAL_INT && right.kind == LITERAL_INT
				? apply_int(binaries[i].op, &left, &right, out, why)
				: apply_float(binaries[i].op, as_double(&left), as_double(&right), out, why);
		if (!ok)
			return false;
	}
	return min_level == 0 && lex_peek(lx) == '?' ? conditional(lx, depth, out, why) : true;
}

bool lex_constant(struct lexer *lx, struct literal *out, const char **why)
{
	struct lexer before = *lx;
	if (expression(lx, 0, 0, out, why))
		return true;
	*lx = before;
	return false;
}

static uint64_t mask_bits(uint64_t v, unsigned width)
{
	return width >= 64 ? v : v & ((UINT64_C(1) << width) - 1);
}

const char *literal_to_bits(const struct literal *l, enum ptx_type t, uint64_t *bits)
{
	unsigned width = ptx_type_bits(t);
	if (t == PTX_TYPE_NONE || (l->kind == LITERAL_INT && !ptx_type_is_float(t))) {
		*bits = t == PTX_PRED        ? l->bits != 0
			: t == PTX_TYPE_NONE ? l->bits
					     : mask_bits(l->bits, width);
		return NULL;
	}
	if (l->kind == LITERAL_INT) {
		if (t == PTX_F32 || t == PTX_F64)
			return "an integer constant can't stand for a float; write 0f or 0d and the bits, or "
			       "a decimal point";
		*bits = mask_bits(l->bits, width); /* packed and small floats have no other notation */
		return NULL;
	}
	if (t == PTX_F64) {
		double d = as_double(l);
		memcpy(bits, &d, sizeof(d));
		return NULL;
	}
	if (t == PTX_F32 || (l->kind == LITERAL_F64 && t == PTX_B32)) {
		float f = (float)as_double(l);
		uint32_t low;
		memcpy(&low, &f, sizeof(low));
		*bits = l->kind == LITERAL_F32 ? l->bits : low; /* keep the bits of NaNs */
		return NULL;
	}
	unsigned own = l->kind == LITERAL_F32 ? 32 : 64;
	if (width < own || ptx_type_is_signed(t) != ptx_type_is_float(t))
		return "a floating-point constant doesn't fit here";
	*bits = l->bits;
	return NULL;
}
