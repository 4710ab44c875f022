/* SPDX-License-Identifier: Apache-2.0
 *
 * judge: compares results with what evaluate.c says, measures the errors of approximations, prints the table.
 */
#include "sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool same_bits(const struct sweep_form *f, uint64_t got, const struct verdict *v)
{
	if (got == v->bits || (v->second && got == v->alternative))
		return true;
	/* "some NaN", except where the canonical one is promised */
	return f->format != FORMAT_NONE && !(f->flags & (RELU | NAN_MOD)) && is_nan(f->format, v->bits) &&
	       is_nan(f->format, got);
}

static double last_place(enum float_format fmt, long double v)
{
	const struct format_info *i = format_info(fmt);
	int e;

	frexpl(v, &e);
	e -= 1;
	if (v == 0 || e < 1 - i->bias)
		e = 1 - i->bias;
	return ldexp(1, e - (int)i->mantissa < -1074 ? -1074 : e - (int)i->mantissa);
}

static void keep(double value, double *worst, uint64_t *where, const uint64_t *in)
{
	if (value <= *worst)
		return;
	*worst = value;
	memcpy(where, in, 3 * sizeof(*in));
}

/* The bound for this operand; negative: none is given. */
static double bound_here(const struct group *g, const struct sweep_form *f, long double x,
			 enum bound_kind *kind)
{
	long double mag = fabsl(x);

	*kind = f->kind;
	if (g->fn == FN_LG2 && x > 0.5L && x < 2)
		*kind = ABSOLUTE;
	if ((g->fn == FN_SIN || g->fn == FN_COS) && mag > 2 * (long double)M_PI)
		return mag <= 100 * (long double)M_PI ? exp2(-14.7) : -1;
	return f->kind == UNSTATED ? -1 : f->bound;
}

/* Is `got` within the bound of the exact value? Values that the format does not hold may become infinity; with
 * flushing, zero. */
static bool near_enough(const struct group *g, const struct sweep_form *f, struct sweep_result *r,
			const uint64_t *in, uint64_t got, const struct verdict *v)
{
	const struct format_info *i = format_info(f->format);
	long double want = exact_value(&v->value), is, error;
	long double reference = f->kind == ULP && g->fn == FN_EX2
					? (long double)to_double(f->format, v->bits)
					: want; /* "from the correctly rounded result" */
	struct exact x = exact_of_bits(g->format, in[0]);
	enum bound_kind kind;
	double bound = bound_here(g, f, exact_value(&x), &kind), ulp = last_place(f->format, want);

	if (is_nan(f->format, got))
		return false;
	if (is_inf(f->format, got) || is_inf(f->format, v->bits))
		return got == v->bits || fabsl(want) + ulp * 4 > ldexpl(1, i->bias + 1);
	if (f->flags & FTZ && fabsl(want) < ldexpl(1, 1 - i->bias)) {
		if (is_zero(f->format, got))
			return !v->value.m || !((got & sign_bit(f->format)) != 0) == !v->value.negative;
	}
	is = (long double)to_double(f->format, got);
	error = fabsl(is - reference);
	keep((double)(fabsl(is - want) / ulp), &r->worst_ulp, r->worst_ulp_in, in);
	if (kind == RELATIVE || kind == UNSTATED) {
		/* below the normal numbers no relative error can be held: one unit there */
		if (fabsl(want) < ldexpl(1, 1 - i->bias))
			return error <= ulp;
		error /= fabsl(want);
	} else if (kind == ULP) {
		error /= ulp;
	}
	if (bound < 0) {
		r->open++;
		if (f->kind == UNSTATED)
			keep((double)error, &r->worst, r->worst_in, in);
		return true;
	}
	if (bound == f->bound)
		keep((double)error, &r->worst, r->worst_in, in);
	else
		keep((double)error, &r->where_bound, (uint64_t[3]){0}, in);
	return error <= bound;
}

static bool is_special(const struct sweep_form *f, const struct verdict *v)
{
	return v->value.nan || v->value.inf || is_nan(f->format, v->bits) || !v->value.m;
}

/* The gross approximations see the upper word alone, and give one (9.7.3.14, 9.7.3.17). */
static bool upper_word_ok(const struct group *g, struct sweep_result *r, const uint64_t *in, uint64_t got,
			  struct verdict *v)
{
	uint64_t cut[3] = {in[0] & 0xffffffff00000000ull};
	struct evaluation e;
	long double want;

	cut[0] = flush(FORMAT_F64, cut[0]);
	if (is_nan(FORMAT_F64, in[0]))
		return !is_nan(FORMAT_F64, cut[0]) || got == 0x7fffffff00000000ull;
	if (low_bits(got, 32))
		return false;
	evaluate(g, cut, &e);
	v->value = e.value;
	want = exact_value(&e.value);
	if (e.value.nan)
		return is_nan(FORMAT_F64, got);
	if (e.value.inf || want == 0 || fabsl(want) < 0x1p-1021L)
		return is_nan(FORMAT_F64, got) == false;
	long double error = fabsl((long double)to_double(FORMAT_F64, got) - want) / fabsl(want);

	keep((double)error, &r->worst, r->worst_in, in);
	return error < 0x1p-16L; /* 20 bits of mantissa; no bound is stated */
}

static void judge_one(const struct group *g, const struct sweep_form *f, struct sweep_result *r,
		      const uint64_t *in, const struct evaluation *e, uint64_t got)
{
	struct verdict v;
	bool ok;

	verdict_of(g, f, in, e, &v);
	r->checked++;
	if (v.open) {
		r->open++;
		return;
	}
	if (f->flags & UPPER_WORD)
		ok = upper_word_ok(g, r, in, got, &v);
	else if (f->kind == EXACT || is_special(f, &v))
		ok = same_bits(f, got, &v);
	else
		ok = near_enough(g, f, r, in, got, &v);
	if (ok)
		return;
	if (!r->wrong++) {
		memcpy(r->first_in, in, sizeof(r->first_in));
		r->first_got = got;
		r->first_want = v.bits;
	}
}

/* Element i; those of 6 bits lie in bytes. */
static uint64_t lane(uint64_t v, unsigned i, unsigned bits)
{
	return low_bits(v >> (i * (bits == 6 ? 8 : bits)), bits);
}

/* One tuple under all forms; packed elements one by one. */
static void judge_tuple(struct group *g, const uint64_t *in, const uint64_t *out)
{
	unsigned lanes = g->format != FORMAT_NONE && g->bits > format_info(g->format)->bits ? 2 : 1;
	struct evaluation e = {.same = true};

	for (unsigned part = 0; part < lanes; part++) {
		uint64_t args[3] = {0};

		memcpy(args, in, g->nin * sizeof(*in));
		if (lanes == 2)
			args[0] = lane(in[0], part, format_info(g->format)->bits);
		evaluate(g, args, &e);
		for (unsigned i = 0; i < g->n; i++) {
			const struct sweep_form *f = &g->forms[i];
			unsigned bits =
				f->format == FORMAT_NONE ? f->integer->bits : format_info(f->format)->bits;
			uint64_t got = f->format == FORMAT_TF32 ? lane(out[i], 0, 32) >> 13
								: lane(out[i], part, bits);

			judge_one(g, f, &g->results[i], args, &e, got);
			if (f->same)
				judge_one(g, f, &g->results[i], args, &e, lane(out[i], 1, bits));
		}
	}
}

void judge(struct group *g, const uint64_t *in, const uint64_t *out, unsigned count)
{
	for (unsigned t = 0; t < count; t++)
		judge_tuple(g, in + (size_t)t * g->nin, out + (size_t)t * g->n);
}

static const char *operands(char *buf, size_t bytes, const struct group *g, const uint64_t *in)
{
	int n = 0;

	for (unsigned i = 0; i < g->nin; i++)
		n += snprintf(buf + n, bytes - (size_t)n, "%s%#llx", i ? "," : "", (unsigned long long)in[i]);
	return buf;
}

static void print_approximation(const struct group *g, const struct sweep_form *f,
				const struct sweep_result *r)
{
	static const char *const kinds[] = {"", "ulp", "relative", "absolute", "relative (no bound stated)"};
	char at[80], ulp_at[80];

	printf("  %-22s %12llu checked, %s error %.5g", f->opcode, (unsigned long long)r->checked,
	       kinds[f->kind], r->worst);
	if (f->kind == RELATIVE || f->kind == ABSOLUTE || f->kind == UNSTATED)
		printf(" = 2^%.2f", log2(r->worst));
	if (f->kind == RELATIVE || f->kind == ABSOLUTE)
		printf(" (bound 2^%.2f)", log2(f->bound));
	else if (f->kind == ULP)
		printf(" (bound %g)", f->bound);
	printf(" at %s", operands(at, sizeof(at), g, r->worst_in));
	if (r->where_bound > 0)
		printf("; elsewhere 2^%.2f", log2(r->where_bound));
	if (!(f->flags & UPPER_WORD))
		printf("; %.4f ulp at %s", r->worst_ulp,
		       operands(ulp_at, sizeof(ulp_at), g, r->worst_ulp_in));
	printf("\n");
}

unsigned report(const struct group *g, bool every_form)
{
	unsigned wrong = 0, exact = 0;
	uint64_t checked = 0;
	char at[80];

	for (unsigned i = 0; i < g->n; i++) {
		const struct sweep_form *f = &g->forms[i];
		const struct sweep_result *r = &g->results[i];

		exact += f->kind == EXACT;
		checked += f->kind == EXACT ? r->checked : 0;
		if (f->kind != EXACT)
			print_approximation(g, f, r);
		else if (every_form)
			printf("  %-40s %12llu checked\n", f->opcode, (unsigned long long)r->checked);
		if (!r->wrong)
			continue;
		wrong++;
		printf("WRONG   %s: %llu of %llu, first: of %s got %#llx, expected %#llx\n", f->opcode,
		       (unsigned long long)r->wrong, (unsigned long long)r->checked,
		       operands(at, sizeof(at), g, r->first_in), (unsigned long long)r->first_got,
		       (unsigned long long)r->first_want);
	}
	if (exact)
		printf("  %-22s %u exact forms, %llu results\n", g->name, exact, (unsigned long long)checked);
	return wrong;
}
