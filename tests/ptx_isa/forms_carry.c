/* SPDX-License-Identifier: Apache-2.0
 *
 * Extended precision: PTX ISA 9.7.2. Chains of add.cc, addc, sub.cc, subc, mad.cc, madc against arithmetic on
 * twice the width. The last carry is made visible by addc (subc) of zeros.
 */
#include "form.h"

#define UNIT (f->type->bits)

/* outs: low, high, carry; ins: a0 a1 b0 b1 */
static void ref_add2(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = UNIT;
	u128 low = (u128)in[0] + in[2], high = (u128)in[1] + in[3] + (low >> n);

	out[0].bits = low_bits((uint64_t)low, n);
	out[1].bits = low_bits((uint64_t)high, n);
	out[2].bits = (uint64_t)(high >> n);
}

static void ref_sub2(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = UNIT;
	i128 low = (i128)in[0] - in[2], high = (i128)in[1] - in[3] - (low < 0);

	out[0].bits = low_bits((uint64_t)low, n);
	out[1].bits = low_bits((uint64_t)high, n);
	/* 0 - (0 + borrow) */
	out[2].bits = low_bits(high < 0 ? UINT64_MAX : 0, n);
}

/* a + b with carry, then a second addition without .cc must leave the carry for the third. */
static void ref_keeps_carry(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = UNIT;
	uint64_t carry = (uint64_t)(((u128)in[0] + in[1]) >> n);

	out[0].bits = low_bits(in[0] + in[1], n);
	out[1].bits = low_bits(in[0] * in[1] + in[0] + carry, n);
	out[2].bits = carry;
}

static u128 product_half(const struct int_type *t, uint64_t a, uint64_t b, bool hi)
{
	u128 p = (u128)as_int(t, a) * (u128)as_int(t, b);

	return low_bits((uint64_t)(hi ? p >> t->bits : p), t->bits);
}

/* mad{.hi,.lo}.cc d, a, b, c; then madc{.hi,.lo}.cc e, a, b, d; then the carry. k[0], k[1]: first, second is
 * .hi. */
static void ref_mad_chain(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = UNIT;
	u128 t = product_half(f->type, in[0], in[1], f->k[0]) + in[2];

	out[0].bits = low_bits((uint64_t)t, n);
	t = product_half(f->type, in[0], in[1], f->k[1]) + out[0].bits + (t >> n);
	out[1].bits = low_bits((uint64_t)t, n);
	out[2].bits = (uint64_t)(t >> n);
}

/* [r3,r2,r1,r0] = [a1,a0] * [b1,b0] of 32-bit words, as the document's example arranges it. */
static void ref_mul_words(const struct form *f, const uint64_t *in, struct want *out)
{
	u128 a = (u128)in[1] << 32 | in[0], b = (u128)in[3] << 32 | in[2], p = a * b;

	(void)f;
	for (unsigned i = 0; i < 4; i++)
		out[i].bits = (uint32_t)(p >> (32 * i));
}

static void add_type(struct suite *s, const char *name)
{
	const struct int_type *t = int_type_find(name);
	bool wide = t->bits == 64;
	static const char *const half[] = {"lo", "hi"};

	form_add(s, wide ? "ddd=dddd" : "www=wwww", ref_add2,
		 text_of("add.cc.%s %%0, %%3, %%5; addc.cc.%s %%1, %%4, %%6; addc.%s %%2, 0, 0;", name, name,
			 name),
		 "add.cc addc.cc addc .%s", name)
		->type = t;
	form_add(s, wide ? "ddd=dddd" : "www=wwww", ref_sub2,
		 text_of("sub.cc.%s %%0, %%3, %%5; subc.cc.%s %%1, %%4, %%6; subc.%s %%2, 0, 0;", name, name,
			 name),
		 "sub.cc subc.cc subc .%s", name)
		->type = t;
	form_add(s, wide ? "ddd=dd" : "www=ww", ref_keeps_carry,
		 text_of("add.cc.%s %%0, %%3, %%4; mul.lo.%s %%1, %%3, %%4; addc.%s %%1, %%1, %%3; addc.%s "
			 "%%2, 0, 0;",
			 name, name, name, name),
		 "addc.%s without .cc keeps the carry", name)
		->type = t;
	for (unsigned i = 0; i < 4; i++) {
		struct form *f =
			form_add(s, wide ? "ddd=ddd" : "www=www", ref_mad_chain,
				 text_of("mad.%s.cc.%s %%0, %%3, %%4, %%5; madc.%s.cc.%s %%1, %%3, %%4, %%0; "
					 "addc.%s %%2, 0, 0;",
					 half[i & 1], name, half[i >> 1], name, name),
				 "mad.%s.cc madc.%s.cc .%s", half[i & 1], half[i >> 1], name);

		f->type = t;
		f->k[0] = i & 1;
		f->k[1] = i >> 1;
	}
}

/* mad.lo.cc, then madc without .cc, which uses the carry and leaves it as it is. k[0]: second is .hi */
static void ref_mad_end(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = UNIT;
	u128 t = product_half(f->type, in[0], in[1], 0) + in[2];

	out[0].bits = low_bits((uint64_t)t, n);
	out[1].bits =
		low_bits((uint64_t)(product_half(f->type, in[0], in[1], f->k[0]) + in[2] + (t >> n)), n);
	out[2].bits = (uint64_t)(t >> n);
}

static void add_ends(struct suite *s, const char *name)
{
	static const char *const half[] = {"lo", "hi"};
	const struct int_type *t = int_type_find(name);

	for (unsigned i = 0; i < 2; i++) {
		struct form *f =
			form_add(s, t->bits == 64 ? "ddd=ddd" : "www=www", ref_mad_end,
				 text_of("mad.lo.cc.%s %%0, %%3, %%4, %%5; madc.%s.%s %%1, %%3, %%4, %%5; "
					 "addc.%s %%2, 0, 0;",
					 name, half[i], name, name),
				 "madc.%s.%s without .cc", half[i], name);

		f->type = t;
		f->k[0] = i;
	}
}

void forms_carry(struct suite *s)
{
	add_ends(s, "u32");
	add_ends(s, "s32");
	add_ends(s, "u64");
	add_ends(s, "s64");
	add_type(s, "u32");
	add_type(s, "s32");
	add_type(s, "u64");
	add_type(s, "s64");
	form_add(s, "wwww=wwww", ref_mul_words,
		 "mul.lo.u32 %0, %4, %6; mul.hi.u32 %1, %4, %6;\n"
		 "\tmad.lo.cc.u32 %1, %4, %7, %1; madc.hi.u32 %2, %4, %7, 0;\n"
		 "\tmad.lo.cc.u32 %1, %5, %6, %1; madc.hi.cc.u32 %2, %5, %6, %2; addc.u32 %3, 0, 0;\n"
		 "\tmad.lo.cc.u32 %2, %5, %7, %2; madc.hi.u32 %3, %5, %7, %3;",
		 "64 x 64 bit product of 32-bit words by mad.cc and madc");
}
