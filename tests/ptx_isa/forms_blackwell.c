/* SPDX-License-Identifier: Apache-2.0
 *
 * What needs sm_100 or later: f32x2 (9.7.3), three-input min and max (9.7.3.11), mixed precision (9.7.5).
 */
#include "form.h"
#include "reference.h"
#include "values.h"

static const char *const modes[] = {".rn", ".rz", ".rm", ".rp", ""};

/* k[0] operation, k[1] rounding, k[2] bit 0 .ftz bit 1 .sat, k[3] source format of mixed precision */
static void ref_pair(const struct form *f, const uint64_t *in, struct want *out)
{
	struct float_mods m = {.rnd = (mpfr_rnd_t)f->k[1], .ftz = f->k[2] & 1};

	for (unsigned i = 0; i < 2; i++) {
		uint64_t x[3] = {0};
		struct want w = {.mask = UINT64_MAX};

		for (unsigned k = 0; f->ins[k]; k++)
			x[k] = in[k] >> (32 * i) & 0xffffffff;
		float_op((enum float_op)f->k[0], FORMAT_F32, FORMAT_F32, &m, x, &w);
		out->bits |= w.bits << (32 * i);
		if (w.kind == WANT_ANY)
			out->kind = WANT_ANY;
	}
}

static void ref_mixed(const struct form *f, const uint64_t *in, struct want *out)
{
	struct float_mods m = {.rnd = (mpfr_rnd_t)f->k[1], .sat = f->k[2] & 2};

	float_op((enum float_op)f->k[0], FORMAT_F32, (enum float_format)f->k[3], &m, in, out);
}

static const struct {
	const char *op;
	enum float_op id;
	unsigned n;
} ops[] = {{"add", OP_ADD, 2}, {"sub", OP_SUB, 2}, {"mul", OP_MUL, 2}, {"fma", OP_FMA, 3}};

static void add_pairs(struct suite *s)
{
	for (unsigned i = 0; i < 4; i++)
		for (unsigned m = 0; m < (ops[i].n == 3 ? 4u : 5u); m++)
			for (unsigned ftz = 0; ftz < 2; ftz++) {
				bool three = ops[i].n == 3;
				struct form *f =
					form_add(s, three ? "F=FFF" : "F=FF", ref_pair,
						 text_of("%s%s%s.f32x2 %%0, %%1, %%2%s;", ops[i].op, modes[m],
							 ftz ? ".ftz" : "", three ? ", %3" : ""),
						 "%s%s%s.f32x2", ops[i].op, modes[m], ftz ? ".ftz" : "");

				f->k[0] = ops[i].id;
				f->k[1] = rounding_of(m < 4 ? modes[m] + 1 : "rn");
				f->k[2] = ftz;
			}
}

static void add_mixed(struct suite *s)
{
	for (unsigned b = 0; b < 2; b++)
		for (unsigned i = 0; i < 4; i++)
			for (unsigned m = 0; m < (ops[i].n == 3 ? 4u : 5u); m++)
				for (unsigned sat = 0; sat < 2; sat++) {
					bool three = ops[i].n == 3;
					const char *t = b ? "bf16" : "f16", *z = sat ? ".sat" : "";
					const char *sig =
						three ? (b ? "f=ggf" : "f=eef") : (b ? "f=gf" : "f=ef");
					struct form *f;

					if (ops[i].id == OP_MUL)
						continue;
					f = form_add(s, sig, ref_mixed,
						     text_of("%s%s%s.f32.%s %%0, %%1, %%2%s;", ops[i].op,
							     modes[m], z, t, three ? ", %3" : ""),
						     "%s%s%s.f32.%s", ops[i].op, modes[m], z, t);
					f->k[0] = ops[i].id;
					f->k[1] = rounding_of(m < 4 ? modes[m] + 1 : "rn");
					f->k[2] = sat ? 2 : 0;
					f->k[3] = b ? FORMAT_BF16 : FORMAT_F16;
				}
}

static uint64_t select2(const struct form *f, uint64_t a, uint64_t b)
{
	bool nan_a = is_nan(FORMAT_F32, a), nan_b = is_nan(FORMAT_F32, b);
	int64_t x = a & 0x80000000 ? -(int64_t)(a & 0x7fffffff) - 1 : (int64_t)a;
	int64_t y = b & 0x80000000 ? -(int64_t)(b & 0x7fffffff) - 1 : (int64_t)b;

	if ((nan_a && nan_b) || (f->k[1] && (nan_a || nan_b)))
		return 0x7fffffff;
	if (nan_a || nan_b)
		return nan_a ? b : a;
	return (x < y) != (f->k[0] != 0) ? a : b;
}

/* k[0] max, k[1] .NaN, k[2] .ftz, k[3] .abs */
static void ref_three(const struct form *f, const uint64_t *in, struct want *out)
{
	uint64_t v[3];

	for (unsigned i = 0; i < 3; i++) {
		v[i] = f->k[2] ? flush(FORMAT_F32, in[i]) : in[i];
		if (f->k[3])
			v[i] &= 0x7fffffff;
	}
	out->bits = select2(f, select2(f, v[0], v[1]), v[2]);
	if (f->k[1])
		out->kind = WANT_CANONICAL;
}

static void add_three(struct suite *s)
{
	for (unsigned max = 0; max < 2; max++)
		for (unsigned m = 0; m < 8; m++) {
			const char *op = max ? "max" : "min", *z = m & 1 ? ".ftz" : "",
				   *n = m & 2 ? ".NaN" : "", *a = m & 4 ? ".abs" : "";
			struct form *f = form_add(s, "f=fff", ref_three,
						  text_of("%s%s%s%s.f32 %%0, %%1, %%2, %%3;", op, z, n, a),
						  "%s%s%s%s.f32 of three", op, z, n, a);

			f->k[0] = max;
			f->k[1] = !!(m & 2);
			f->k[2] = m & 1;
			f->k[3] = !!(m & 4);
		}
}

void forms_blackwell(struct suite *s)
{
	add_pairs(s);
	add_mixed(s);
	add_three(s);
}
