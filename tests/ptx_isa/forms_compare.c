/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparison and selection: PTX ISA 9.7.6 and 9.7.7. set, setp, selp, slct for integers and all floating
 * formats, ordered and unordered, with Boolean combinations and the second destination.
 */
#include "form.h"
#include "reference.h"
#include "values.h"

#include <stdio.h>
#include <string.h>

enum cmp { EQ, NE, LT, LE, GT, GE, LO, LS, HI, HS, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN_, NCMP };
static const char *const cmp_names[NCMP] = {"eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
					    "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
/* less, equal, greater, unordered: what makes each comparison true */
static const char *const cmp_truth[NCMP] = {"0100", "1010", "1000", "1100", "0010", "0110",
					    "1000", "1100", "0010", "0110", "0101", "1011",
					    "1001", "1101", "0011", "0111", "1110", "0001"};

enum boolop { NONE, AND, OR, XOR };
static const char *const bool_names[] = {"", ".and", ".or", ".xor"};

static bool combine(long op, bool t, bool c)
{
	return op == AND ? t && c : op == OR ? t || c : op == XOR ? t != c : t;
}

/* 0 less, 1 equal, 2 greater, 3 unordered */
static int order_float(enum float_format fmt, bool ftz, uint64_t a, uint64_t b)
{
	mpfr_t x, y;
	int r;

	if (is_nan(fmt, a) || is_nan(fmt, b))
		return 3;
	mpfr_inits2(53, x, y, (mpfr_ptr)0);
	decode(fmt, ftz ? flush(fmt, a) : a, x);
	decode(fmt, ftz ? flush(fmt, b) : b, y);
	r = mpfr_cmp(x, y);
	mpfr_clears(x, y, (mpfr_ptr)0);
	return r < 0 ? 0 : r > 0 ? 2 : 1;
}

static bool relation(long cmp, int order)
{
	return cmp_truth[cmp][order] == '1';
}

/* k[0] comparison, k[1] Boolean operator, k[2] complement of c, k[3] .ftz, k[4] format (0 = integer of
 * f->type). */
static bool compared(const struct form *f, uint64_t a, uint64_t b)
{
	i128 x, y;

	if (f->k[4])
		return relation(f->k[0], order_float((enum float_format)f->k[4], f->k[3], a, b));
	x = as_int(f->type, a);
	y = as_int(f->type, b);
	return relation(f->k[0], x < y ? 0 : x > y ? 2 : 1);
}

static void ref_setp(const struct form *f, const uint64_t *in, struct want *out)
{
	bool t = compared(f, in[0], in[1]), c = f->k[1] != NONE && (in[2] != 0) != (f->k[2] != 0);

	out[0].bits = combine(f->k[1], t, c);
	if (f->outs[1])
		out[1].bits = combine(f->k[1], !t, c);
}

/* Packed halves: p is the lower half's result, q the upper one's. */
static void ref_setp2(const struct form *f, const uint64_t *in, struct want *out)
{
	bool c = f->k[1] != NONE && (in[2] != 0) != (f->k[2] != 0);

	for (unsigned i = 0; i < 2; i++)
		out[i].bits = combine(f->k[1],
				      compared(f, in[0] >> (16 * i) & 0xffff, in[1] >> (16 * i) & 0xffff), c);
}

/* arg: the destination's true value; `packed` by the letter of the inputs */
static void ref_set(const struct form *f, const uint64_t *in, struct want *out)
{
	bool packed = f->ins[0] == 'E' || f->ins[0] == 'G';
	bool c = f->k[1] != NONE && (in[2] != 0) != (f->k[2] != 0);
	uint64_t yes = (uint64_t)f->k[5];

	if (!packed) {
		out->bits = combine(f->k[1], compared(f, in[0], in[1]), c) ? yes : 0;
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		if (combine(f->k[1], compared(f, in[0] >> (16 * i) & 0xffff, in[1] >> (16 * i) & 0xffff), c))
			out->bits |= (yes & 0xffff) << (16 * i);
}

struct stype {
	const char *name;
	char letter;
	const char *cmps; /* i: signed, u: unsigned, b: bits, f: floating */
};

static const struct stype stypes[] = {
	{"b16", 'h', "b"}, {"b32", 'w', "b"}, {"b64", 'd', "b"},  {"u16", 'h', "u"},   {"u32", 'w', "u"},
	{"u64", 'd', "u"}, {"s16", 'h', "i"}, {"s32", 'w', "i"},  {"s64", 'd', "i"},   {"f32", 'f', "f"},
	{"f64", 'D', "f"}, {"f16", 'e', "f"}, {"bf16", 'g', "f"}, {"f16x2", 'E', "f"}, {"bf16x2", 'G', "f"},
};
#define NSTYPES (sizeof(stypes) / sizeof(stypes[0]))

static bool allowed(const struct stype *t, int cmp)
{
	switch (t->cmps[0]) {
	case 'b': return cmp <= NE;
	case 'i': return cmp <= GE;
	case 'u': return cmp <= HS;
	default: return cmp <= GE || cmp >= EQU;
	}
}

static bool is_packed(const struct stype *t)
{
	return t->letter == 'E' || t->letter == 'G';
}

static void finish(struct form *f, const struct stype *t, int cmp, int op, bool negate, bool ftz)
{
	f->type = int_type_find(t->name);
	f->k[0] = cmp;
	f->k[1] = op;
	f->k[2] = negate;
	f->k[3] = ftz;
	f->k[4] = t->cmps[0] == 'f' ? (long)letter_format(t->letter) : 0;
}

static void add_setp(struct suite *s, const struct stype *t, int cmp, int op, bool negate, bool ftz, bool two)
{
	char sig[8];
	bool packed = is_packed(t);
	const char *z = ftz ? ".ftz" : "", *c = negate ? "!" : "";
	char *text;

	two = packed || (two && t->letter != 'e' && t->letter != 'g');
	snprintf(sig, sizeof(sig), "%s=%c%c%s", two ? "pp" : "p", t->letter, t->letter, op ? "p" : "");
	if (two)
		text = text_of("setp.%s%s%s.%s %%0|%%1, %%2, %%3%s%s%s;", cmp_names[cmp], bool_names[op], z,
			       t->name, op ? ", " : "", op ? c : "", op ? "%4" : "");
	else
		text = text_of("setp.%s%s%s.%s %%0, %%1, %%2%s%s%s;", cmp_names[cmp], bool_names[op], z,
			       t->name, op ? ", " : "", op ? c : "", op ? "%3" : "");
	finish(form_add(s, sig, packed ? ref_setp2 : ref_setp, text, "setp.%s%s%s.%s%s%s", cmp_names[cmp],
			bool_names[op], z, t->name, two ? " p|q" : "", negate ? " !c" : ""),
	       t, cmp, op, negate, ftz);
}

static void add_set(struct suite *s, const char *dtype, char dletter, uint64_t yes, const struct stype *t,
		    int cmp, int op, bool ftz)
{
	char sig[8];
	const char *z = ftz ? ".ftz" : "";
	struct form *f;

	snprintf(sig, sizeof(sig), "%c=%c%c%s", dletter, t->letter, t->letter, op ? "p" : "");
	f = form_add(s, sig, ref_set,
		     text_of("set.%s%s%s.%s.%s %%0, %%1, %%2%s;", cmp_names[cmp], bool_names[op], z, dtype,
			     t->name, op ? ", !%3" : ""),
		     "set.%s%s%s.%s.%s", cmp_names[cmp], bool_names[op], z, dtype, t->name);
	finish(f, t, cmp, op, op, ftz);
	f->k[5] = (long)yes;
}

static void add_setps(struct suite *s)
{
	for (unsigned i = 0; i < NSTYPES; i++) {
		const struct stype *t = &stypes[i];

		for (int cmp = 0; cmp < NCMP; cmp++)
			if (allowed(t, cmp))
				add_setp(s, t, cmp, NONE, false, false, false);
		for (int op = AND; op <= XOR; op++) {
			add_setp(s, t, NE, op, false, false, true);
			add_setp(s, t, EQ, op, true, false, op == OR);
		}
		add_setp(s, t, EQ, NONE, false, false, true);
		if (t->letter == 'f' || t->letter == 'e' || t->letter == 'E')
			for (int cmp = LT; cmp <= GEU; cmp += 2)
				if (allowed(t, cmp))
					add_setp(s, t, cmp, NONE, false, true, false);
	}
}

static const struct dtype {
	const char *name;
	char letter;
	uint64_t yes;
	const char *sources;
} dtypes[] = {
	{"u32", 'w', 0xffffffff, "hwdfDegEG"},
	{"s32", 'w', 0xffffffff, "hwdfDegEG"},
	{"f32", 'f', 0x3f800000, "hwdfD"},
	{"u16", 'h', 0xffff, "eg"},
	{"s16", 'h', 0xffff, "eg"},
	{"f16", 'e', 0x3c00, "hwdfDe"},
	{"bf16", 'g', 0x3f80, "hwdfDg"},
	{"f16x2", 'E', 0x3c00, "E"},
	{"bf16x2", 'G', 0x3f80, "G"},
};
#define NDTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

static void add_sets(struct suite *s)
{
	for (unsigned k = 0; k < NDTYPES; k++)
		for (unsigned i = 0; i < NSTYPES; i++) {
			const struct stype *t = &stypes[i];

			if (!strchr(dtypes[k].sources, t->letter))
				continue;
			add_set(s, dtypes[k].name, dtypes[k].letter, dtypes[k].yes, t, NE, NONE, false);
			add_set(s, dtypes[k].name, dtypes[k].letter, dtypes[k].yes, t, EQ, XOR, false);
			if (allowed(t, LT))
				add_set(s, dtypes[k].name, dtypes[k].letter, dtypes[k].yes, t, LT, OR, false);
			if (allowed(t, GEU))
				add_set(s, dtypes[k].name, dtypes[k].letter, dtypes[k].yes, t, GEU, AND,
					t->letter == 'f' && dtypes[k].letter != 'g');
		}
}

/* Types whose comparisons have .ftz. */
static bool flushes(const struct stype *t)
{
	return t->letter == 'f' || t->letter == 'e' || t->letter == 'E';
}

/* Without and with .ftz. The half formats as destinations have no lo, ls, hi, hs. */
static void add_set_twice(struct suite *s, const struct dtype *d, const struct stype *t, int cmp, int op)
{
	bool half = strchr("egEG", d->letter);

	if (half && cmp >= LO && cmp <= HS)
		return;
	for (unsigned ftz = 0; ftz < (flushes(t) && d->letter != 'g' ? 2u : 1u); ftz++) {
		add_set(s, d->name, d->letter, d->yes, t, cmp, op, ftz);
		s->forms[s->n - 1].most = 128;
	}
}

/* Every comparison with every Boolean operator, few values each. */
static void add_all_setps(struct suite *s)
{
	for (unsigned i = 0; i < NSTYPES; i++)
		for (int cmp = 0; cmp < NCMP; cmp++)
			for (int op = NONE; allowed(&stypes[i], cmp) && op <= XOR; op++)
				for (unsigned ftz = 0; ftz < (flushes(&stypes[i]) ? 2u : 1u); ftz++) {
					add_setp(s, &stypes[i], cmp, op, op && (cmp & 1), ftz, cmp & 2);
					s->forms[s->n - 1].most = 128;
				}
}

static void add_all_sets(struct suite *s)
{
	for (unsigned k = 0; k < NDTYPES; k++)
		for (unsigned i = 0; i < NSTYPES; i++)
			for (int cmp = 0; cmp < NCMP && strchr(dtypes[k].sources, stypes[i].letter); cmp++)
				for (int op = NONE; allowed(&stypes[i], cmp) && op <= XOR; op++)
					add_set_twice(s, &dtypes[k], &stypes[i], cmp, op);
}

static void ref_selp(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out->bits = in[2] ? in[0] : in[1];
	out->kind = WANT_CANONICAL; /* copied without modification */
}

/* k[0]: c is f32; k[3]: .ftz */
static void ref_slct(const struct form *f, const uint64_t *in, struct want *out)
{
	bool first;

	if (!f->k[0])
		first = (int32_t)(uint32_t)in[2] >= 0;
	else
		first = relation(GE, order_float(FORMAT_F32, f->k[3], in[2], 0));
	out->bits = first ? in[0] : in[1];
	out->kind = WANT_CANONICAL;
}

static void add_selections(struct suite *s)
{
	for (unsigned i = 0; i < 11; i++) {
		const struct stype *t = &stypes[i];
		char sig[8] = {t->letter, '=', t->letter, t->letter, 'p', 0};

		form_add(s, sig, ref_selp, text_of("selp.%s %%0, %%1, %%2, %%3;", t->name), "selp.%s",
			 t->name);
		for (long k = 0; k < 3; k++) {
			struct form *f;

			sig[4] = k ? 'f' : 'w';
			f = form_add(s, sig, ref_slct,
				     text_of("slct%s.%s.%s %%0, %%1, %%2, %%3;", k == 2 ? ".ftz" : "",
					     t->name, k ? "f32" : "s32"),
				     "slct%s.%s.%s", k == 2 ? ".ftz" : "", t->name, k ? "f32" : "s32");
			f->k[0] = k > 0;
			f->k[3] = k == 2;
		}
	}
}

void forms_compare(struct suite *s)
{
	add_setps(s);
	add_sets(s);
	add_selections(s);
	add_all_setps(s);
	add_all_sets(s);
}
