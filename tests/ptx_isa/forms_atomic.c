/* SPDX-License-Identifier: Apache-2.0
 *
 * atom and red: PTX ISA 9.7.13.5 and 9.7.13.6. Each thread has its own cell, so that the value before, the
 * operation and the value after are certain; sums of many threads into one cell are in add_contended.
 */
#include "form.h"
#include "reference.h"
#include "values.h"

#include <string.h>

enum op { AND, OR, XOR, EXCH, CAS, ADD, INC, DEC, MIN, MAX };
static const char *const op_names[] = {"and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"};

static uint64_t apply(const struct form *f, enum op op, uint64_t r, uint64_t s, uint64_t t)
{
	i128 x = as_int(f->type, r), y = as_int(f->type, s);

	switch (op) {
	case AND: return r & s;
	case OR: return r | s;
	case XOR: return r ^ s;
	case EXCH: return s;
	case CAS: return r == s ? t : r;
	case ADD: return r + s;
	case INC: return r >= s ? 0 : r + 1;
	case DEC: return r == 0 || r > s ? s : r - 1;
	case MIN: return x < y ? r : s;
	default: return x > y ? r : s;
	}
}

/* in: cell, b, c; out: old (atom only), new. k[0] operation, k[1] red */
static void ref_atom(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = f->type->bits;
	uint64_t now =
		low_bits(apply(f, (enum op)f->k[0], in[0], in[1], f->ins[1] && f->ins[2] ? in[2] : 0), n);

	if (!f->k[1])
		(out++)->bits = in[0];
	out->bits = now;
}

/* k[2]: format. Rounds to nearest even; f32 in global memory flushes subnormals, in shared memory not; f16,
 * bf16, f64 never. */
static void ref_atom_float(const struct form *f, const uint64_t *in, struct want *out)
{
	enum float_format fmt = letter_format(f->ins[0]);
	unsigned step = format_info(fmt)->bits, bits = letter_bits(f->ins[0]);
	struct float_mods m = {.rnd = MPFR_RNDN, .ftz = f->k[3]};
	struct want w, sum = {.mask = UINT64_MAX};

	for (unsigned at = 0; at < bits; at += step) {
		uint64_t args[2] = {low_bits(in[0] >> at, step), low_bits(in[1] >> at, step)};

		w = (struct want){.mask = UINT64_MAX};
		float_op(OP_ADD, fmt, fmt, &m, args, &w);
		sum.bits |= w.bits << at;
		if (w.kind == WANT_ANY)
			sum.kind = WANT_ANY;
	}
	if (!f->k[1]) {
		out->bits = in[0];
		out->kind = WANT_CANONICAL;
		out++;
	}
	*out = sum;
}

enum space { GLOBAL, GENERIC, SHARED, CLUSTER };
static const char *const space_names[] = {".global", "", ".shared", ".shared::cluster"};
/* Semantics and scope of what is added next, and whether it has a cache policy: they change nothing for one thread. */
static const char *order = "";
static bool hinted;

/* Puts the value into the thread's cell, does the operation on it, reads the cell. %X are cells, `cell` the
 * address. */
static char *cell_text(enum space sp, const char *type, const char *value, const char *insn,
		       const char *after)
{
	static const char *const cells[] = {
		/* the thread's first output cell is its own piece of global memory */
		"mov.b64 cell, outp;",
		"cvta.global.u64 cell, outp;",
		"mov.u32 t, %tid.x; mov.u64 cell, shcells; mul.wide.u32 w, t, 8; add.u64 cell, cell, w;",
		"mov.u32 t, %tid.x; mov.u64 cell, shcells; mul.wide.u32 w, t, 8; add.u64 cell, cell, w;",
	};

	return text_of(
		"{ .reg .b64 cell, w; .reg .b32 t; %s st%s.%s [cell], %s;\n\t%s\n\tld%s.%s %s, [cell]; }",
		cells[sp], space_names[sp], type, value, insn, space_names[sp], type, after);
}

static const char *bit_type(unsigned bits)
{
	return bits == 16 ? "b16" : bits == 32 ? "b32" : "b64";
}

static struct form *add_cell(struct suite *s, enum space sp, bool is_red, bool cas, char letter,
			     unsigned bits, lane_ref ref, const char *insn, const char *mods)
{
	char sig[10] = {letter, letter, '=', letter, letter, cas ? letter : 0};
	unsigned first = is_red ? 1 : 2;
	const char *policy =
		hinted ? ".reg .b64 pol; createpolicy.fractional.L2::evict_last.b64 pol, 1.0; " : "";
	char *operands, *text;
	struct form *f;

	if (is_red)
		memmove(sig, sig + 1, sizeof(sig) - 1);
	operands = is_red ? text_of("%sred%s%s.%s [cell], %%2%s;", policy, order, space_names[sp], insn,
				    hinted ? ", pol" : "")
			  : text_of("%satom%s%s.%s %%0, [cell], %%3%s%s;", policy, order, space_names[sp],
				    insn, cas ? ", %4" : "", hinted ? ", pol" : "");
	text = cell_text(sp, bit_type(bits), first == 1 ? "%1" : "%2", operands, is_red ? "%0" : "%1");
	f = form_add(s, sig, ref, text, "%s%s%s.%s%s", is_red ? "red" : "atom", order, space_names[sp], insn,
		     mods);
	f->k[1] = is_red;
	f->most = *order || hinted ? 32 : 0;
	return f;
}

/* .acquire and .acq_rel are for atom only. */
static bool atom_only;

static void add_op(struct suite *s, enum op op, const char *type)
{
	const struct int_type *t = int_type_find(type);
	char letter = t->bits == 64 ? 'd' : t->bits == 16 ? 'h' : 'w';

	if (hinted && op == CAS)
		return;
	for (unsigned sp = GLOBAL; sp <= (hinted ? GENERIC : CLUSTER); sp++)
		for (unsigned red = 0; red < (op == CAS || op == EXCH || atom_only ? 1u : 2u); red++) {
			struct form *f = add_cell(
				s, (enum space)sp, red, op == CAS, letter, t->bits, ref_atom,
				text_of("%s%s.%s", op_names[op], hinted ? ".L2::cache_hint" : "", type), "");

			f->type = t;
			f->k[0] = op;
		}
}

static void add_ints(struct suite *s)
{
	static const struct {
		enum op op;
		const char *types[4];
	} rows[] = {
		{AND, {"b32", "b64"}},
		{OR, {"b32", "b64"}},
		{XOR, {"b32", "b64"}},
		{EXCH, {"b32", "b64"}},
		{CAS, {"b16", "b32", "b64"}},
		{ADD, {"u32", "s32", "u64"}},
		{INC, {"u32"}},
		{DEC, {"u32"}},
		{MIN, {"u32", "s32", "u64", "s64"}},
		{MAX, {"u32", "s32", "u64", "s64"}},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned k = 0; k < 4 && rows[i].types[k]; k++)
			add_op(s, rows[i].op, rows[i].types[k]);
}

/* The hint stands before the type. */
static const char *float_name(const char *insn)
{
	const char *type = strrchr(insn, '.');

	return hinted ? text_of("%.*s.L2::cache_hint%s", (int)(type - insn), insn, type) : insn;
}

static void add_floats(struct suite *s)
{
	static const struct {
		const char *insn;
		char letter;
		unsigned bits;
	} rows[] = {{"add.f32", 'f', 32},         {"add.f64", 'D', 64},        {"add.noftz.f16", 'e', 16},
		    {"add.noftz.f16x2", 'E', 32}, {"add.noftz.bf16", 'g', 16}, {"add.noftz.bf16x2", 'G', 32}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned sp = GLOBAL; sp <= (hinted ? GENERIC : CLUSTER); sp++)
			for (unsigned red = 0; red < (atom_only ? 1u : 2u); red++) {
				struct form *f =
					add_cell(s, (enum space)sp, red, false, rows[i].letter, rows[i].bits,
						 ref_atom_float, float_name(rows[i].insn), "");

				f->k[3] = rows[i].letter == 'f' && sp < SHARED;
			}
}

static void add_orders(struct suite *s)
{
	static const char *const sems[] = {"", ".relaxed", ".acquire", ".release", ".acq_rel"};
	static const char *const scopes[] = {"", ".cta", ".cluster", ".gpu", ".sys"};

	for (unsigned i = 0; i < 5; i++)
		for (unsigned k = !i; k < 5; k++) {
			order = text_of("%s%s", sems[i], scopes[k]);
			atom_only = i == 2 || i == 4;
			add_ints(s);
			add_floats(s);
		}
	order = "";
	atom_only = false;
	hinted = true;
	add_ints(s);
	add_floats(s);
	hinted = false;
}

/* All threads of a block add into one shared cell: the sum is certain, and the old values are all different.
 */
static void ref_contended(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = f->block;

	(void)in;
	for (unsigned i = 0; i < n; i++) {
		out[2 * i].bits = n;
		out[2 * i + 1].bits = 1; /* old value is below n and was seen by one thread */
	}
}

static void add_contended(struct suite *s)
{
	struct form *f = form_add(s, "ww=w", NULL,
				  "{ .reg .b64 c, w; .reg .b32 t, o, z; .reg .pred p;\n"
				  "\tmov.u32 t, %tid.x; mov.u64 c, shcells; setp.eq.u32 p, t, 0; "
				  "mul.wide.u32 w, t, 8; add.u64 w, w, c;\n"
				  "\tst.shared.u32 [w], 0; st.shared.u32 [w+4], 0; bar.sync 0;\n"
				  "\tatom.shared.add.u32 o, [c], 1; mul.wide.u32 w, o, 8; add.u64 w, w, c;\n"
				  "\tred.shared.add.u32 [w+4], 1; bar.sync 0;\n"
				  "\tld.shared.u32 %0, [c]; ld.shared.u32 %1, [w+4]; }",
				  "atom.shared.add.u32 of a whole block into one cell");

	f->gref = ref_contended;
	f->block = 96;
}

static void ref_add_five(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out->bits = (uint32_t)(in[0] + 5);
}

void forms_atomic(struct suite *s)
{
	struct form *f =
		form_add(s, "w=w", ref_add_five,
			 "st.global.u32 [outp], %1; red.global.add.u32 [outp], 5; ld.global.u32 %0, [outp];",
			 "red.global.add.u32 of an immediate");

	f->decl = ".shared .align 16 .b8 shcells[1024];"; /* for all forms of the module */
	add_ints(s);
	add_floats(s);
	add_orders(s);
	add_contended(s);
}
