/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer arithmetic: PTX ISA 9.7.1.1 to 9.7.1.13 (add ... max), every width and sign.
 */
#include "form.h"

#include <stdio.h>
#include <string.h>

/* Operands as mathematical integers of the form's type. */
#define A as_int(f->type, in[0])
#define B as_int(f->type, in[1])
#define C as_int(f->type, in[2])

#define REF(name, expr)                                                              \
	static void name(const struct form *f, const uint64_t *in, struct want *out) \
	{                                                                            \
		out->bits = low_bits((uint64_t)(expr), f->type->bits);               \
	}

static i128 absolute(i128 v)
{
	return v < 0 ? -v : v;
}

/* Bits n.. of the product; the product of two 64-bit values needs all 128 bits. */
static uint64_t high(const struct int_type *t, i128 a, i128 b)
{
	return (uint64_t)((u128)a * (u128)b >> t->bits);
}

REF(ref_add, A + B)
REF(ref_sub, A - B)
REF(ref_add_sat, clamp_to(f->type, A + B))
REF(ref_sub_sat, clamp_to(f->type, A - B))
REF(ref_mul_lo, (u128)A *(u128)B)
REF(ref_mul_hi, high(f->type, A, B))
REF(ref_mad_lo, (u128)A *(u128)B + (u128)C)
REF(ref_mad_hi, high(f->type, A, B) + (uint64_t)C)
REF(ref_sad, C + absolute(A - B))
REF(ref_abs, absolute(A))
REF(ref_neg, -A)
REF(ref_min, A < B ? A : B)
REF(ref_max, A > B ? A : B)

static i128 high_signed(const struct form *f, const uint64_t *in)
{
	return as_int(f->type, high(f->type, A, B));
}
REF(ref_mad_hi_sat, clamp_to(f->type, high_signed(f, in) + C))

static i128 relu(i128 v)
{
	return v < 0 ? 0 : v;
}
REF(ref_min_relu, relu(A < B ? A : B))
REF(ref_max_relu, relu(A > B ? A : B))

/* Results twice as wide; c too. */
static void ref_mul_wide(const struct form *f, const uint64_t *in, struct want *out)
{
	out->bits = low_bits((uint64_t)(A * B), 2u * f->type->bits);
}

static void ref_mad_wide(const struct form *f, const uint64_t *in, struct want *out)
{
	out->bits = low_bits((uint64_t)(A * B) + in[2], 2u * f->type->bits);
}

/* Division by zero is unspecified; MININT / -1 has no result in the type. rem's sign for negative operands is
 * "machine-dependent"; CUDA C's % on these machines truncates, and is made of this instruction. */
static bool divides(const struct form *f, const uint64_t *in)
{
	return B != 0 && !(f->type->is_signed && A == type_min(f->type) && B == -1);
}

static void ref_div(const struct form *f, const uint64_t *in, struct want *out)
{
	if (!divides(f, in))
		out->kind = WANT_ANY;
	else
		out->bits = low_bits((uint64_t)(A / B), f->type->bits);
}

static void ref_rem(const struct form *f, const uint64_t *in, struct want *out)
{
	if (!divides(f, in))
		out->kind = WANT_ANY;
	else
		out->bits = low_bits((uint64_t)(A % B), f->type->bits);
}

/* Operands are 24-bit values (generated so); the product has 48 bits. */
#define P24 ((uint64_t)(A * B))
REF(ref_mul24_lo, P24)
REF(ref_mul24_hi, P24 >> 16)
REF(ref_mad24_lo, P24 + (uint64_t)C)
REF(ref_mad24_hi, (P24 >> 16) + (uint64_t)C)
REF(ref_mad24_hi_sat, clamp_to(f->type, as_int(f->type, P24 >> 16) + C))

#define ALL    "u16 u32 u64 s16 s32 s64"
#define SIGNED "s16 s32 s64"

static const struct row {
	const char *op, *types;
	unsigned nsrc;
	lane_ref ref;
} rows[] = {
	{"add", ALL, 2, ref_add},
	{"sub", ALL, 2, ref_sub},
	{"add.sat", "s32", 2, ref_add_sat},
	{"sub.sat", "s32", 2, ref_sub_sat},
	{"mul.lo", ALL, 2, ref_mul_lo},
	{"mul.hi", ALL, 2, ref_mul_hi},
	{"mad.lo", ALL, 3, ref_mad_lo},
	{"mad.hi", ALL, 3, ref_mad_hi},
	{"mad.hi.sat", "s32", 3, ref_mad_hi_sat},
	{"sad", ALL, 3, ref_sad},
	{"div", ALL, 2, ref_div},
	{"rem", ALL, 2, ref_rem},
	{"abs", SIGNED, 1, ref_abs},
	{"neg", SIGNED, 1, ref_neg},
	{"min", ALL, 2, ref_min},
	{"max", ALL, 2, ref_max},
	{"min.relu", "s32", 2, ref_min_relu},
	{"max.relu", "s32", 2, ref_max_relu},
};

static const struct row rows24[] = {
	{"mul24.lo", "u32 s32", 2, ref_mul24_lo},     {"mul24.hi", "u32 s32", 2, ref_mul24_hi},
	{"mad24.lo", "u32 s32", 3, ref_mad24_lo},     {"mad24.hi", "u32 s32", 3, ref_mad24_hi},
	{"mad24.hi.sat", "s32", 3, ref_mad24_hi_sat},
};

static char width_letter(const struct int_type *t)
{
	return t->bits == 16 ? 'h' : t->bits == 64 ? 'd' : 'w';
}

static void add_row(struct suite *s, const struct row *r, const struct int_type *t, const char *sig)
{
	static const char *const operands[] = {"", "%1", "%1, %2", "%1, %2, %3"};
	char *text = text_of("%s.%s %%0, %s;", r->op, t->name, operands[r->nsrc]);

	form_add(s, sig, r->ref, text, "%s.%s", r->op, t->name)->type = t;
}

static void add_rows(struct suite *s, const struct row *r, unsigned n, bool is24)
{
	for (unsigned i = 0; i < n; i++, r++) {
		char types[64], *save = NULL;

		snprintf(types, sizeof(types), "%s", r->types);
		for (char *t = strtok_r(types, " ", &save); t; t = strtok_r(NULL, " ", &save)) {
			const struct int_type *type = int_type_find(t);
			char w = width_letter(type), v = is24 ? (type->is_signed ? 't' : 'u') : w;
			char sig[8] = {w, '=', v, r->nsrc > 1 ? v : 0, r->nsrc > 2 ? w : 0};

			add_row(s, r, type, sig);
		}
	}
}

static void add_wide(struct suite *s)
{
	static const char *const types[] = {"u16", "s16", "u32", "s32"};

	for (unsigned i = 0; i < 4; i++) {
		const struct int_type *t = int_type_find(types[i]);
		bool half = t->bits == 16;

		form_add(s, half ? "w=hh" : "d=ww", ref_mul_wide,
			 text_of("mul.wide.%s %%0, %%1, %%2;", types[i]), "mul.wide.%s", types[i])
			->type = t;
		form_add(s, half ? "w=hhw" : "d=wwd", ref_mad_wide,
			 text_of("mad.wide.%s %%0, %%1, %%2, %%3;", types[i]), "mad.wide.%s", types[i])
			->type = t;
	}
}

/* Two halves of a 32-bit register, by the same scalar reference. */
static void ref_halves(const struct form *f, const uint64_t *in, struct want *out)
{
	lane_ref scalar = *(const lane_ref *)f->arg;

	for (unsigned i = 0; i < 2; i++) {
		uint64_t half[2] = {in[0] >> (16 * i) & 0xffff, in[1] >> (16 * i) & 0xffff};
		struct want w = {0};

		scalar(f, half, &w);
		out->bits |= w.bits << (16 * i);
	}
}

static void add_halves(struct suite *s)
{
	static const struct {
		const char *op;
		lane_ref ref;
		bool only_signed;
	} ops[] = {{"add", ref_add, false},
		   {"min", ref_min, false},
		   {"max", ref_max, false},
		   {"min.relu", ref_min_relu, true},
		   {"max.relu", ref_max_relu, true}};

	for (unsigned i = 0; i < 5; i++)
		for (unsigned k = ops[i].only_signed; k < 2; k++) {
			const char *t = k ? "s16" : "u16";
			struct form *f = form_add(s, "w=ww", ref_halves,
						  text_of("%s.%sx2 %%0, %%1, %%2;", ops[i].op, t), "%s.%sx2",
						  ops[i].op, t);

			f->type = int_type_find(t);
			f->arg = &ops[i].ref;
		}
}

/* Immediates are converted to the operation's type. */
static void add_immediates(struct suite *s)
{
	struct form *f = form_add(s, "w=w", ref_neg, "sub.s32 %0, 0, %1;", "sub.s32 with immediate 0");

	f->type = int_type_find("s32");
	f = form_add(s, "d=d", ref_neg, "mul.lo.s64 %0, %1, -1;", "mul.lo.s64 with immediate -1");
	f->type = int_type_find("s64");
	f = form_add(s, "h=h", ref_neg, "mul.lo.u16 %0, %1, 0xffff;", "mul.lo.u16 with immediate 0xffff");
	f->type = int_type_find("u16");
	f = form_add(s, "d=d", ref_neg, "mul.lo.u64 %0, %1, 0xffffffffffffffff;",
		     "mul.lo.u64 with immediate 2^64-1");
	f->type = int_type_find("u64");
	f = form_add(s, "w=w", ref_neg, "mul.lo.s32 %0, %1, (3 - 4) * ((1 << 4) >> 4);",
		     "mul.lo.s32 with a constant expression");
	f->type = int_type_find("s32");
}

void forms_integer(struct suite *s)
{
	add_rows(s, rows, sizeof(rows) / sizeof(rows[0]), false);
	add_rows(s, rows24, sizeof(rows24) / sizeof(rows24[0]), true);
	add_wide(s);
	add_halves(s);
	add_immediates(s);
}
