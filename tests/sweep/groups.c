/* SPDX-License-Identifier: Apache-2.0
 *
 * groups: which functions are swept, in which forms: PTX ISA 9.7.3, 9.7.4 and 9.7.9.21. Error bounds are those of
 * the ISA's text.
 */
#include "sweep.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const float_modes[] = {"rn", "rz", "rm", "rp"};
static const char *const int_modes[] = {"rni", "rzi", "rmi", "rpi"};

static const struct float_name {
	const char *name;
	enum float_format format;
} floats[] = {{"f16", FORMAT_F16}, {"bf16", FORMAT_BF16}, {"f32", FORMAT_F32}, {"f64", FORMAT_F64}};

struct list {
	struct group *groups;
	unsigned n, cap;
};

static struct group *add_group(struct list *l, const char *name, enum fn fn, enum float_format format,
			       unsigned nin)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 16;
		l->groups = realloc(l->groups, l->cap * sizeof(*l->groups));
		if (!l->groups)
			abort();
	}
	struct group *g = &l->groups[l->n++];

	memset(g, 0, sizeof(*g));
	g->name = name;
	g->fn = fn;
	g->format = format;
	g->bits = format == FORMAT_NONE ? 0 : format_info(format)->bits;
	g->nin = nin;
	g->cost = 1;
	return g;
}

__attribute__((format(printf, 3, 4))) static struct sweep_form *
add_form(struct group *g, enum float_format format, const char *opcode, ...)
{
	struct sweep_form *f = &g->forms[g->n++];
	va_list ap;

	if (g->n > MAX_FORMS)
		abort();
	va_start(ap, opcode);
	vsnprintf(f->opcode, sizeof(f->opcode), opcode, ap);
	va_end(ap);
	f->format = format;
	f->lanes = 1;
	return f;
}

/* cvt from a floating format to integers: four modes, saturating or not, with and without .ftz. */
static void cvt_to_ints(struct list *l, unsigned from)
{
	static const char *const ints[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
	static const char *const names[] = {"cvt integers <- f16", "cvt integers <- bf16",
					    "cvt integers <- f32", "cvt integers <- f64"};
	enum float_format src = floats[from].format;
	struct group *g = add_group(l, names[from], FN_MOVE, src, 1);

	for (unsigned i = src == FORMAT_BF16 ? 2 : 0; i < 8; i++)
		for (unsigned m = 0; m < 4; m++)
			for (unsigned ftz = 0; ftz < (src == FORMAT_F32 ? 2u : 1u); ftz++) {
				struct sweep_form *f =
					add_form(g, FORMAT_NONE, "cvt.%s%s.%s.%s", int_modes[m],
						 ftz ? ".ftz" : "", ints[i], floats[from].name);

				f->integer = int_type_find(ints[i]);
				f->mode = (enum rounding)m;
				f->flags = ftz ? FTZ : 0;
			}
}

static void cvt_from_ints(struct list *l)
{
	static const struct {
		const char *group, *type;
	} ints[] = {{"cvt floats <- u8", "u8"},   {"cvt floats <- s8", "s8"},   {"cvt floats <- u16", "u16"},
		    {"cvt floats <- s16", "s16"}, {"cvt floats <- u32", "u32"}, {"cvt floats <- s32", "s32"},
		    {"cvt floats <- u64", "u64"}, {"cvt floats <- s64", "s64"}};

	for (unsigned i = 0; i < 8; i++) {
		struct group *g = add_group(l, ints[i].group, FN_MOVE, FORMAT_NONE, 1);

		g->integer = int_type_find(ints[i].type);
		g->bits = g->integer->bits;
		for (unsigned k = 0; k < 4; k++)
			for (unsigned m = 0; m < 4; m++) {
				struct sweep_form *f = add_form(g, floats[k].format, "cvt.%s.%s.%s",
								float_modes[m], floats[k].name, ints[i].type);

				f->mode = (enum rounding)m;
			}
	}
}

static void cvt_integral(struct group *g, const char *name, enum float_format format)
{
	for (unsigned m = 0; m < 4; m++)
		for (unsigned flags = 0; flags < 4; flags++) {
			if (flags & FTZ && format != FORMAT_F32)
				continue;
			struct sweep_form *f =
				add_form(g, format, "cvt.%s%s%s.%s.%s", int_modes[m],
					 flags & FTZ ? ".ftz" : "", flags & SAT ? ".sat" : "", name, name);

			f->integral = 1 + (int)m;
			f->flags = flags;
		}
}

/* cvt.rn{.relu}{.satfinite} to the halves, and .sat from f32 */
static void cvt_narrowing(struct group *g)
{
	static const struct {
		const char *name;
		enum float_format format;
		bool sat;
	} to[] = {{"f16", FORMAT_F16, true}, {"bf16", FORMAT_BF16, false}, {"tf32", FORMAT_TF32, false}};

	for (unsigned k = 0; k < 3; k++)
		for (unsigned m = 0; m < 2; m++)
			for (unsigned mods = 0; mods < 4; mods++) {
				if (to[k].format == FORMAT_TF32 && mods & 2)
					continue; /* sm_100 */
				struct sweep_form *f = add_form(g, to[k].format, "cvt.%s%s%s.%s.f32",
								float_modes[m], mods & 1 ? ".relu" : "",
								mods & 2 ? ".satfinite" : "", to[k].name);

				f->mode = (enum rounding)m;
				f->flags = (mods & 1 ? RELU : 0) | (mods & 2 ? SATFINITE : 0);
			}
	add_form(g, FORMAT_TF32, "cvt.rna.tf32.f32")->mode = RNA;
	for (unsigned m = 0; m < 4; m++)
		for (unsigned flags = m < 2 ? 1 : 0; flags < 4; flags++) {
			struct sweep_form *f = add_form(g, FORMAT_F16, "cvt.%s%s%s.f16.f32", float_modes[m],
							flags & FTZ ? ".ftz" : "", flags & SAT ? ".sat" : "");

			f->mode = (enum rounding)m;
			f->flags = flags;
		}
}

static void cvt_tiny(struct group *g)
{
	static const struct {
		const char *name;
		enum float_format format;
	} to[] = {{"e4m3x2", FORMAT_E4M3},
		  {"e5m2x2", FORMAT_E5M2},
		  {"e2m3x2", FORMAT_E2M3},
		  {"e3m2x2", FORMAT_E3M2},
		  {"e2m1x2", FORMAT_E2M1}};

	for (unsigned k = 0; k < 5; k++)
		for (unsigned relu = 0; relu < 2; relu++) {
			struct sweep_form *f = add_form(g, to[k].format, "cvt.rn.satfinite%s.%s.f32",
							relu ? ".relu" : "", to[k].name);

			f->lanes = 2;
			f->same = true;
			f->flags = SATFINITE | (relu ? RELU : 0);
		}
}

static void cvt_f32(struct list *l)
{
	struct group *g = add_group(l, "cvt floats <- f32", FN_MOVE, FORMAT_F32, 1);

	cvt_narrowing(g);
	cvt_tiny(g);
	for (unsigned flags = 0; flags < 4; flags++) {
		const char *ftz = flags & FTZ ? ".ftz" : "", *sat = flags & SAT ? ".sat" : "";

		add_form(g, FORMAT_F64, "cvt%s%s.f64.f32", ftz, sat)->flags = flags;
		if (flags)
			add_form(g, FORMAT_F32, "cvt%s%s.f32.f32", ftz, sat)->flags = flags;
	}
	cvt_integral(g, "f32", FORMAT_F32);
}

static void cvt_f64(struct list *l)
{
	struct group *g = add_group(l, "cvt floats <- f64", FN_MOVE, FORMAT_F64, 1);

	for (unsigned m = 0; m < 4; m++)
		for (unsigned flags = 0; flags < 4; flags++) {
			struct sweep_form *f = add_form(g, FORMAT_F32, "cvt.%s%s%s.f32.f64", float_modes[m],
							flags & FTZ ? ".ftz" : "", flags & SAT ? ".sat" : "");

			f->mode = (enum rounding)m;
			f->flags = flags;
			if (flags & FTZ)
				continue;
			f = add_form(g, FORMAT_F16, "cvt.%s%s.f16.f64", float_modes[m],
				     flags & SAT ? ".sat" : "");
			f->mode = (enum rounding)m;
			f->flags = flags;
		}
	add_form(g, FORMAT_BF16, "cvt.rn.bf16.f64");
	cvt_integral(g, "f64", FORMAT_F64);
}

static void cvt_halves(struct list *l)
{
	struct group *g = add_group(l, "cvt floats <- f16", FN_MOVE, FORMAT_F16, 1);

	for (unsigned flags = 0; flags < 4; flags++)
		add_form(g, FORMAT_F32, "cvt%s%s.f32.f16", flags & FTZ ? ".ftz" : "",
			 flags & SAT ? ".sat" : "")
			->flags = flags;
	add_form(g, FORMAT_F64, "cvt.f64.f16");
	add_form(g, FORMAT_F64, "cvt.sat.f64.f16")->flags = SAT;
	add_form(g, FORMAT_BF16, "cvt.rn.bf16.f16");
	cvt_integral(g, "f16", FORMAT_F16);
	g = add_group(l, "cvt floats <- bf16", FN_MOVE, FORMAT_BF16, 1);
	add_form(g, FORMAT_F32, "cvt.f32.bf16");
	add_form(g, FORMAT_F64, "cvt.f64.bf16");
	add_form(g, FORMAT_F16, "cvt.rn.f16.bf16");
}

/* Two 8-bit elements, all pairs: to f16x2, and f16x2 (one value twice) to them. */
static void cvt_packed(struct list *l)
{
	static const struct {
		const char *name, *group;
		enum float_format format;
	} from[] = {{"e4m3x2", "cvt f16x2 <- e4m3x2", FORMAT_E4M3},
		    {"e5m2x2", "cvt f16x2 <- e5m2x2", FORMAT_E5M2}};

	for (unsigned k = 0; k < 2; k++) {
		struct group *g = add_group(l, from[k].group, FN_MOVE, from[k].format, 1);

		g->bits = 16;
		for (unsigned relu = 0; relu < 2; relu++) {
			struct sweep_form *f = add_form(g, FORMAT_F16, "cvt.rn%s.f16x2.%s",
							relu ? ".relu" : "", from[k].name);

			f->lanes = 2;
			f->flags = relu ? RELU : 0;
		}
	}
}

static void sign_changes(struct list *l)
{
	static const struct {
		const char *group;
		enum fn fn;
		const char *op;
		unsigned type;
	} rows[] = {{"neg f16", FN_NEG, "neg", 0},  {"abs f16", FN_ABS, "abs", 0},
		    {"neg bf16", FN_NEG, "neg", 1}, {"abs bf16", FN_ABS, "abs", 1},
		    {"neg f32", FN_NEG, "neg", 2},  {"abs f32", FN_ABS, "abs", 2}};

	for (unsigned i = 0; i < 6; i++) {
		struct group *g = add_group(l, rows[i].group, rows[i].fn, floats[rows[i].type].format, 1);

		add_form(g, g->format, "%s.%s", rows[i].op, floats[rows[i].type].name);
		if (rows[i].type != 1)
			add_form(g, g->format, "%s.ftz.%s", rows[i].op, floats[rows[i].type].name)->flags =
				FTZ;
	}
}

static void approx(struct group *g, const char *opcode, enum bound_kind kind, double bound)
{
	struct sweep_form *f = add_form(g, g->format, "%s", opcode);

	f->kind = kind;
	f->bound = bound;
	f->flags = strstr(opcode, ".ftz") ? FTZ : 0;
}

/* The bounds: 9.7.3.13 to 9.7.3.22, 9.7.4.9, 9.7.4.10. */
static void approximations(struct list *l)
{
	static const struct {
		const char *group, *opcode;
		enum fn fn;
		enum float_format format;
		enum bound_kind kind;
		double bound, log2_bound; /* the one, or 2 to the power of the other */
	} rows[] = {
		{"rsqrt f32", "rsqrt.approx", FN_RSQRT, FORMAT_F32, RELATIVE, 0, -22.9},
		{"sin f32", "sin.approx", FN_SIN, FORMAT_F32, ABSOLUTE, 0, -20.5},
		{"cos f32", "cos.approx", FN_COS, FORMAT_F32, ABSOLUTE, 0, -20.5},
		{"lg2 f32", "lg2.approx", FN_LG2, FORMAT_F32, RELATIVE, 0, -22},
		{"ex2 f32", "ex2.approx", FN_EX2, FORMAT_F32, ULP, 2, 0},
	};
	char name[48];

	for (unsigned i = 0; i < 5; i++) {
		struct group *g = add_group(l, rows[i].group, rows[i].fn, rows[i].format, 1);
		double bound = rows[i].bound ? rows[i].bound : exp2(rows[i].log2_bound);

		g->cost = rows[i].fn == FN_RSQRT ? 2 : 8;
		for (unsigned ftz = 0; ftz < 2; ftz++) {
			snprintf(name, sizeof(name), "%s%s.f32", rows[i].opcode, ftz ? ".ftz" : "");
			approx(g, name, rows[i].kind, bound);
		}
	}
	struct group *g = add_group(l, "tanh f32", FN_TANH, FORMAT_F32, 1);

	g->cost = 8;
	approx(g, "tanh.approx.f32", RELATIVE, 0x1p-11);
	approx(add_group(l, "tanh f16", FN_TANH, FORMAT_F16, 1), "tanh.approx.f16", ABSOLUTE, exp2(-10.987));
	approx(add_group(l, "tanh bf16", FN_TANH, FORMAT_BF16, 1), "tanh.approx.bf16", ABSOLUTE, 0x1p-8);
	approx(add_group(l, "ex2 f16", FN_EX2, FORMAT_F16, 1), "ex2.approx.f16", RELATIVE, exp2(-9.9));
	approx(add_group(l, "ex2 bf16", FN_EX2, FORMAT_BF16, 1), "ex2.approx.ftz.bf16", RELATIVE, 0x1p-7);
}

static void rounded(struct group *g, const char *op, const char *type, bool ftz, bool sat)
{
	for (unsigned m = 0; m < 4; m++)
		for (unsigned flags = 0; flags < 4; flags++) {
			if ((flags & FTZ && !ftz) || (flags & SAT && !sat))
				continue;
			struct sweep_form *f =
				add_form(g, g->format, "%s.%s%s%s.%s", op, float_modes[m],
					 flags & FTZ ? ".ftz" : "", flags & SAT ? ".sat" : "", type);

			f->mode = (enum rounding)m;
			f->flags = flags;
		}
}

/* rcp, sqrt, div of f32 and f64: correctly rounded, and the approximations of the same function. */
static void quotients(struct list *l)
{
	struct group *g = add_group(l, "rcp f32", FN_RCP, FORMAT_F32, 1);

	rounded(g, "rcp", "f32", true, false);
	approx(g, "rcp.approx.f32", ULP, 1);
	approx(g, "rcp.approx.ftz.f32", ULP, 1);
	g = add_group(l, "sqrt f32", FN_SQRT, FORMAT_F32, 1);
	rounded(g, "sqrt", "f32", true, false);
	approx(g, "sqrt.approx.f32", RELATIVE, 0x1p-23);
	approx(g, "sqrt.approx.ftz.f32", RELATIVE, 0x1p-23);
	g = add_group(l, "div f32", FN_DIV, FORMAT_F32, 2);
	rounded(g, "div", "f32", true, false);
	approx(g, "div.full.f32", ULP, 2);
	approx(g, "div.full.ftz.f32", ULP, 2);
	approx(g, "div.approx.f32", ULP, 2);
	approx(g, "div.approx.ftz.f32", ULP, 2);
	g = add_group(l, "rcp f64", FN_RCP, FORMAT_F64, 1);
	rounded(g, "rcp", "f64", false, false);
	approx(g, "rcp.approx.ftz.f64", UNSTATED, 0);
	g->forms[g->n - 1].flags |= UPPER_WORD;
	g = add_group(l, "sqrt f64", FN_SQRT, FORMAT_F64, 1);
	rounded(g, "sqrt", "f64", false, false);
	g = add_group(l, "rsqrt f64", FN_RSQRT, FORMAT_F64, 1);
	approx(g, "rsqrt.approx.f64", UNSTATED, 0);
	approx(g, "rsqrt.approx.ftz.f64", UNSTATED, 0);
	g->forms[g->n - 1].flags |= UPPER_WORD;
	rounded(add_group(l, "div f64", FN_DIV, FORMAT_F64, 2), "div", "f64", false, false);
}

/* rn only, with the modifiers of the half formats */
static void half_form(struct group *g, const char *op, const char *mods, const char *type, unsigned flags)
{
	struct sweep_form *f = add_form(g, g->format, "%s.rn%s.%s", op, mods, type);

	f->flags = flags;
}

static void arithmetic(struct list *l)
{
	static const struct {
		const char *op, *names[4];
		enum fn fn;
		unsigned nin;
	} rows[] = {{"add", {"add f16", "add bf16", "add f32", "add f64"}, FN_ADD, 2},
		    {"sub", {"sub f16", "sub bf16", "sub f32", "sub f64"}, FN_SUB, 2},
		    {"mul", {"mul f16", "mul bf16", "mul f32", "mul f64"}, FN_MUL, 2},
		    {"fma", {"fma f16", "fma bf16", "fma f32", "fma f64"}, FN_FMA, 3}};

	for (unsigned i = 0; i < 4; i++) {
		struct group *g = add_group(l, rows[i].names[0], rows[i].fn, FORMAT_F16, rows[i].nin);
		const char *op = rows[i].op;

		half_form(g, op, "", "f16", 0);
		half_form(g, op, ".ftz", "f16", FTZ);
		half_form(g, op, ".sat", "f16", SAT);
		half_form(g, op, ".ftz.sat", "f16", FTZ | SAT);
		if (rows[i].fn == FN_FMA) {
			half_form(g, op, ".relu", "f16", RELU);
			half_form(g, op, ".ftz.relu", "f16", FTZ | RELU);
		}
		g = add_group(l, rows[i].names[1], rows[i].fn, FORMAT_BF16, rows[i].nin);
		half_form(g, op, "", "bf16", 0);
		if (rows[i].fn == FN_FMA)
			half_form(g, op, ".relu", "bf16", RELU);
		rounded(add_group(l, rows[i].names[2], rows[i].fn, FORMAT_F32, rows[i].nin), op, "f32", true,
			true);
		rounded(add_group(l, rows[i].names[3], rows[i].fn, FORMAT_F64, rows[i].nin), op, "f64", false,
			false);
	}
}

static void extremes(struct list *l)
{
	static const char *const names[2][3] = {{"min f16", "min bf16", "min f32"},
						{"max f16", "max bf16", "max f32"}};

	for (unsigned op = 0; op < 2; op++)
		for (unsigned t = 0; t < 3; t++) {
			struct group *g =
				add_group(l, names[op][t], op ? FN_MAX : FN_MIN, floats[t].format, 2);

			for (unsigned m = 0; m < 8; m++) {
				if (m & 1 && t == 1)
					continue;
				add_form(g, g->format, "%s%s%s%s.%s", op ? "max" : "min", m & 1 ? ".ftz" : "",
					 m & 2 ? ".NaN" : "", m & 4 ? ".xorsign.abs" : "", floats[t].name)
					->flags =
					(m & 1 ? FTZ : 0) | (m & 2 ? NAN_MOD : 0) | (m & 4 ? XORSIGN : 0);
			}
		}
}

struct group *groups_make(unsigned *n)
{
	struct list l = {0};

	for (unsigned from = 0; from < 4; from++)
		cvt_to_ints(&l, from);
	cvt_from_ints(&l);
	cvt_halves(&l);
	cvt_packed(&l);
	cvt_f32(&l);
	cvt_f64(&l);
	sign_changes(&l);
	quotients(&l);
	approximations(&l);
	arithmetic(&l);
	extremes(&l);
	*n = l.n;
	return l.groups;
}
