/* SPDX-License-Identifier: Apache-2.0
 *
 * atom and red of vectors and of 128 bits: PTX ISA 9.7.13.5, 9.7.13.6.
 */
#include "form.h"
#include "reference.h"
#include "values.h"

#include <string.h>

enum { ADD, MIN, MAX };
/* Semantics and scope, and the space's name, of what is added next. */
static const char *order = "", *space = ".global";

/* One element. What min and max make of NaNs, and whether f32 elements flush, isn't said. */
static void element(long op, enum float_format fmt, uint64_t a, uint64_t b, struct want *w)
{
	struct float_mods m = {.rnd = MPFR_RNDN};
	uint64_t args[2] = {a, b}, top = sign_bit(fmt);
	int64_t x = a & top ? -(int64_t)(a & ~top) - 1 : (int64_t)a,
		y = b & top ? -(int64_t)(b & ~top) - 1 : (int64_t)b;

	if (op == ADD) {
		float_op(OP_ADD, fmt, fmt, &m, args, w);
		if (fmt == FORMAT_F32 &&
		    (is_subnormal(fmt, a) || is_subnormal(fmt, b) || is_subnormal(fmt, w->bits)))
			w->kind = WANT_ANY;
	} else if (is_nan(fmt, a) || is_nan(fmt, b)) {
		w->kind = WANT_ANY;
	} else {
		w->bits = (x < y) == (op == MIN) ? a : b;
	}
}

/* in: cells c0.., then operands b0..; out: old (atom), new. k[0] operation, k[1] red, k[2] elements of the
 * vector */
static void ref_vector(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = (unsigned)f->k[2];
	enum float_format fmt = letter_format(f->ins[0]);
	unsigned step = format_info(fmt)->bits, bits = letter_bits(f->ins[0]);

	for (unsigned i = 0; i < n; i++) {
		struct want *now = &out[f->k[1] ? i : n + i];

		if (!f->k[1]) {
			out[i].bits = in[i];
			out[i].kind = WANT_CANONICAL;
		}
		for (unsigned at = 0; at < bits; at += step) {
			struct want w = {.mask = UINT64_MAX};

			element(f->k[0], fmt, low_bits(in[i] >> at, step), low_bits(in[n + i] >> at, step),
				&w);
			now->bits |= w.bits << at;
			if (w.kind == WANT_ANY)
				now->kind = WANT_ANY;
		}
	}
}

static char *list(unsigned first, unsigned n)
{
	char *s = text_of("{%%%u", first);

	for (unsigned i = 1; i < n; i++)
		s = text_of("%s, %%%u", s, first + i);
	return text_of("%s}", s);
}

/* The thread's cells are its inputs in memory, one in 8 bytes; the vector wants them side by side and
 * aligned: shared memory of the block won't do (vectors are for .global), so they go to a global array first.
 */
static void add_vector(struct suite *s, const char *op, long id, bool red, char letter, unsigned n,
		       const char *type, const char *noftz)
{
	unsigned bytes = letter_bits(letter) / 8, nout = red ? n : 2 * n;
	char sig[MAX_OPERANDS * 4] = {0}, *puts = text_of("%s", ""), *gets = text_of("%s", "");
	struct form *f;

	memset(sig, letter, nout);
	sig[nout] = '=';
	memset(sig + nout + 1, letter, 2 * n);
	for (unsigned i = 0; i < n; i++) {
		puts = text_of("%s st.global.b%u [cell+%u], %%%u;", puts, bytes * 8, i * bytes, nout + i);
		gets = text_of("%s ld.global.b%u %%%u, [cell+%u];", gets, bytes * 8, (red ? 0 : n) + i,
			       i * bytes);
	}
	f = form_add(s, sig, ref_vector,
		     text_of("{ .reg .b64 cell, w; mov.u64 cell, vcells; mul.wide.u32 w, idx, 16; add.u64 "
			     "cell, cell, w; cvta.global.u64 cell, cell;\n\t%s\n"
			     "\t%s%s%s.%s%s.v%u.%s %s%s[cell], %s;\n\t%s }",
			     puts, red ? "red" : "atom", order, space, op, noftz, n, type,
			     red ? "" : list(0, n), red ? "" : ", ", list(nout + n, n), gets),
		     "%s%s%s.%s%s.v%u.%s", red ? "red" : "atom", order, space, op, noftz, n, type);
	f->k[0] = id;
	f->k[1] = red;
	f->k[2] = n;
	f->most = *order || !*space ? 32 : 0;
}

static void add_vectors(struct suite *s, bool atom_only)
{
	static const char *const ops[] = {"add", "min", "max"};
	static const struct {
		const char *type;
		char letter;
		unsigned bytes;
	} types[] = {{"f16", 'e', 2}, {"bf16", 'g', 2}, {"f16x2", 'E', 4}, {"bf16x2", 'G', 4}};

	for (unsigned red = 0; red < (atom_only ? 1u : 2u); red++) {
		add_vector(s, "add", ADD, red, 'f', 2, "f32", "");
		add_vector(s, "add", ADD, red, 'f', 4, "f32", "");
		for (unsigned i = 0; i < 4; i++)
			for (unsigned op = 0; op < 3; op++)
				for (unsigned n = 2; n * types[i].bytes <= 16; n *= 2)
					add_vector(s, ops[op], op, red, types[i].letter, n, types[i].type,
						   ".noftz");
	}
}

static void add_orders(struct suite *s)
{
	static const char *const sems[] = {"", ".relaxed", ".acquire", ".release", ".acq_rel"};
	static const char *const scopes[] = {"", ".cta", ".cluster", ".gpu", ".sys"};

	for (unsigned sp = 0; sp < 2; sp++)
		for (unsigned i = 0; i < 5; i++)
			for (unsigned k = 0; k < 5; k++) {
				if (!sp && !i && !k)
					continue;
				order = text_of("%s%s", sems[i], scopes[k]);
				space = sp ? "" : ".global";
				add_vectors(s, i == 2 || i == 4);
			}
	order = "";
	space = ".global";
}

/* in: cell (2), compared (2), new (2); out: old (2), now (2); the cell equals the compared value in half of
 * the threads */
static void ref_cas128(const struct form *f, const uint64_t *in, struct want *out)
{
	bool same = in[0] == in[2] && in[1] == in[3];

	(void)f;
	for (unsigned i = 0; i < 2; i++) {
		out[i].bits = in[i];
		out[2 + i].bits = same ? in[4 + i] : in[i];
	}
}

static void fill_cas128(const struct form *f, unsigned t, uint64_t *in)
{
	values_of(f->ins, t, 2048, in);
	if (t & 1) {
		in[2] = in[0];
		in[3] = t & 2 ? in[1] : in[1] ^ 1;
	}
}

static void ref_exch128(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	memcpy(&out[0].bits, &in[0], 8);
	out[1].bits = in[1];
	out[2].bits = in[2];
	out[3].bits = in[3];
}

/* 128 bits: in every space with every order; shared memory has a place for each thread of a warp. */
static void add_128(struct suite *s, bool cas, const char *what, const char *sp, bool hinted)
{
	const char *cells = strstr(sp, "shared") ? "vshared" : "vcells",
		   *at = strstr(sp, "shared") ? ".shared" : ".global";
	char *text = text_of(
		"{ .reg .b64 cell, w, pol; .reg .b32 t; .reg .b128 o, b, c; mov.u64 cell, %s; rem.u32 t, idx, %u; "
		"mul.wide.u32 w, t, 16; add.u64 cell, cell, w; %s\n"
		"\tst%s.v2.b64 [cell], {%%4, %%5}; mov.b128 b, {%%6, %%7}; %s\n"
		"\tatom%s%s.%s%s.b128 o, [cell], b%s; mov.b128 {%%0, %%1}, o; ld%s.v2.b64 {%%2, %%3}, [cell]; "
		"}",
		cells, at[1] == 's' ? 32u : 4096u, *sp ? "" : "cvta.global.u64 cell, cell;", at,
		cas      ? "mov.b128 c, {%8, %9};"
		: hinted ? "createpolicy.fractional.L2::evict_last.b64 pol, 1.0;"
			 : "",
		what, sp, cas ? "cas" : "exch", hinted ? ".L2::cache_hint" : "",
		cas      ? ", c"
		: hinted ? ", pol"
			 : "",
		at);
	struct form *f = form_add(s, cas ? "dddd=dddddd" : "dddd=dddd", cas ? ref_cas128 : ref_exch128, text,
				  "atom%s%s.%s%s.b128", what, sp, cas ? "cas" : "exch",
				  hinted ? ".L2::cache_hint" : "");

	if (cas) {
		f->fill = fill_cas128;
		f->ntuples = *what ? 64 : 2048;
	}
	f->most = *what ? 64 : 0;
}

static void add_wide(struct suite *s)
{
	static const char *const sems[] = {"", ".relaxed", ".acquire", ".release", ".acq_rel"};
	static const char *const scopes[] = {"", ".cta", ".cluster", ".gpu", ".sys"};
	static const char *const spaces[] = {".global", "", ".shared", ".shared::cluster"};

	for (unsigned i = 0; i < 200; i++)
		add_128(s, i / 100, text_of("%s%s", sems[i / 20 % 5], scopes[i / 4 % 5]), spaces[i % 4],
			false);
	add_128(s, false, "", ".global", true);
	add_128(s, false, "", "", true);
}

void forms_vector_atomic(struct suite *s)
{
	add_vectors(s, false);
	s->forms[0].decl = ".global .align 16 .b8 vcells[65536];\n.shared .align 16 .b8 vshared[512];";
	add_orders(s);
	add_wide(s);
}
