/* SPDX-License-Identifier: Apache-2.0
 *
 * Every spelling of ld, ldu and st: type x vector x state space x ordering x cache operator and hint: PTX ISA
 * 9.7.9.8 to 9.7.9.11. A thread has 32 bytes in the space under test; they are the form's four 64-bit inputs, or, for
 * constants and parameters, what the variable holds.
 */
#include "form.h"

#include <stdio.h>
#include <string.h>

#define CELLS 4

static const char *const types[] = {"b8",  "u8",  "s8",  "b16", "u16", "s16", "f32",
				    "b32", "u32", "s32", "b64", "u64", "s64", "f64"};
#define NTYPES (sizeof(types) / sizeof(types[0]))

static unsigned type_bits(const char *t)
{
	return t[1] == '8' ? 8 : t[1] == '1' ? 16 : t[1] == '3' ? 32 : 64;
}

/* A register of 16 bits for 8-bit types: the smallest that there is. */
static char type_letter(const char *t)
{
	return type_bits(t) <= 16 ? 'h' : type_bits(t) == 32 ? 'w' : 'd';
}

/* k[0] elements; arg: the type. Loads extend by the type's sign (9.4.1). */
static void ref_load(const struct form *f, const uint64_t *in, struct want *out)
{
	const char *type = f->arg;
	unsigned bytes = type_bits(type) / 8;

	for (long i = 0; i < f->k[0]; i++) {
		uint64_t v = 0;

		memcpy(&v, (const char *)in + (size_t)i * bytes, bytes);
		if (type[0] == 's' && bytes == 1 && v & 0x80)
			v |= 0xff00;
		out[i].bits = v;
	}
}

/* Stores of the inputs' complements, element by element, over the inputs. */
static void ref_store(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned bytes = type_bits(f->arg) / 8;
	uint64_t cells[CELLS];

	memcpy(cells, in, sizeof(cells));
	for (long i = 0; i < f->k[0]; i++) {
		uint64_t v = ~in[(size_t)i * bytes / 8] >> (8 * ((size_t)i * bytes % 8));

		memcpy((char *)cells + (size_t)i * bytes, &v, bytes);
	}
	for (unsigned i = 0; i < CELLS; i++)
		out[i].bits = cells[i];
}

/* Where the 32 bytes are: `before` leaves their address in `a` and their contents equal to the inputs %I0 to %I3,
 * which the text of a form names v<n>. */
struct place {
	const char *space, *before;
	bool to_shared, to_local;
};

static const struct place places[] = {
	{".global", "mov.b64 a, inp;", false, false},
	{"", "cvta.global.u64 a, inp;", false, false},
	{".shared", "mov.u64 a, accsh; mul.wide.u32 b, lane, 32; add.u64 a, a, b;", true, false},
	{".shared::cta", "mov.u64 a, accsh; mul.wide.u32 b, lane, 32; add.u64 a, a, b;", true, false},
	{".shared::cluster", "mov.u64 a, accsh; mul.wide.u32 b, lane, 32; add.u64 a, a, b;", true, false},
	{".local", "mov.u64 a, lbuf;", false, true},
	{".const", "mov.u64 a, accconst; mul.wide.u32 b, lane, 32; add.u64 a, a, b;", false, false},
};
enum { GLOBAL, GENERIC, SHARED, SHARED_CTA, SHARED_CLUSTER, LOCAL, CONST };

static char *registers(unsigned first, unsigned n)
{
	char *s = text_of("v%u", first);

	for (unsigned i = 1; i < n; i++)
		s = text_of("%s, v%u", s, first + i);
	return n > 1 ? text_of("{%s}", s) : s;
}

static char *fill_text(const struct place *p, unsigned first)
{
	const char *space = p->to_shared ? "shared" : "local";
	char *s = text_of("%s", p->before);

	for (unsigned i = 0; (p->to_shared || p->to_local) && i < CELLS; i++)
		s = text_of("%s st.%s.b64 [a+%u], v%u;", s, space, i * 8, first + i);
	return s;
}

#define TEMPS \
	"{ .reg .b64 a, b, pol; .reg .b32 lane; .local .align 32 .b8 lbuf[32];\n\tmov.u32 lane, %%tid.x; "

static bool wants_policy(const char *op)
{
	return strstr(op, ".L2::cache_hint") != NULL;
}

static const char *policy_text(const char *op)
{
	return wants_policy(op) ? "createpolicy.fractional.L2::evict_first.b64 pol, 1.0; " : "";
}

static const char *vector_name(unsigned n)
{
	return n == 1 ? "" : n == 2 ? ".v2" : n == 4 ? ".v4" : ".v8";
}

/* `op` is everything before the vector and type. */
static struct form *add_load(struct suite *s, const char *op, const struct place *p, unsigned n,
			     const char *type)
{
	char sig[16] = {0};

	memset(sig, type_letter(type), n);
	strcat(sig, "=dddd");
	struct form *f =
		form_add(s, sig, ref_load,
			 text_of(TEMPS "%s%s\n\t%s%s.%s %s, [a]%s; }", policy_text(op), fill_text(p, n), op,
				 vector_name(n), type, registers(0, n), wants_policy(op) ? ", pol" : ""),
			 "%s%s.%s", op, vector_name(n), type);

	f->arg = type;
	f->k[0] = (long)n;
	f->most = 64;
	return f;
}

/* Registers with the complement of each element, from the inputs. */
static char *elements_text(unsigned n, const char *type)
{
	unsigned bits = type_bits(type);
	const char *reg = bits <= 16 ? "b16" : bits == 32 ? "b32" : "b64";
	char *s = text_of(".reg .b64 x; .reg .%s e<%u>;", reg, n);

	for (unsigned i = 0; i < n; i++) {
		unsigned at = i * bits;

		s = text_of("%s not.b64 x, v%u; shr.u64 x, x, %u; %s e%u, x;", s, CELLS + at / 64, at % 64,
			    bits == 64   ? "mov.b64"
			    : bits == 32 ? "cvt.u32.u64"
					 : "cvt.u16.u64",
			    i);
	}
	return s;
}

static char *element_list(unsigned n)
{
	char *s = text_of("e0");

	for (unsigned i = 1; i < n; i++)
		s = text_of("%s, e%u", s, i);
	return n > 1 ? text_of("{%s}", s) : s;
}

static struct form *add_store(struct suite *s, const char *op, const struct place *p, unsigned n,
			      const char *type)
{
	const char *space = p->to_shared ? "shared" : p->to_local ? "local" : "global";
	char *reads = text_of("%s", "");

	for (unsigned i = 0; i < CELLS; i++)
		reads = text_of("%s ld.%s.b64 v%u, [a+%u];", reads, space, i, i * 8);
	struct form *f = form_add(s, "dddd=dddd", ref_store,
				  text_of(TEMPS "%s%s\n\t%s\n\t%s%s.%s [a], %s%s;\n\t%s }", policy_text(op),
					  fill_text(p, CELLS), elements_text(n, type), op, vector_name(n),
					  type, element_list(n), wants_policy(op) ? ", pol" : "", reads),
				  "%s%s.%s", op, vector_name(n), type);

	f->arg = type;
	f->k[0] = (long)n;
	f->most = 64;
	return f;
}

/* The constants that each thread of a warp reads, and the text of their array. */
static uint8_t const_byte(unsigned i)
{
	return (uint8_t)(i * 151u + (i >> 5) * 7u + 3u);
}

static void fill_const(const struct form *f, unsigned t, uint64_t *in)
{
	uint8_t bytes[CELLS * 8];

	(void)f;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = const_byte(t % 32 * 32 + i);
	memcpy(in, bytes, sizeof(bytes));
}

static char *const_array(void)
{
	char *s = text_of("%u", const_byte(0));

	for (unsigned i = 1; i < 1024; i++)
		s = text_of("%s,%u", s, const_byte(i));
	return s;
}

typedef struct form *(*adder)(struct suite *s, const char *op, const struct place *p, unsigned n,
			      const char *type);

static void each_type(struct suite *s, adder add, const char *op, const struct place *p, bool vectors)
{
	for (unsigned i = 0; i < NTYPES; i++)
		for (unsigned n = 1; n <= (vectors ? 4u : 1u) && n * type_bits(types[i]) <= 128; n *= 2) {
			struct form *f = add(s, op, p, n, types[i]);

			if (p == &places[CONST]) {
				f->fill = fill_const;
				f->ntuples = 32;
			}
		}
}

static const char *const scopes[] = {".cta", ".cluster", ".gpu", ".sys"};

static void add_ordered(struct suite *s, adder add, const char *op, const char *const *orders)
{
	for (unsigned sp = GLOBAL; sp <= LOCAL; sp++)
		each_type(s, add, text_of("%s%s", op, places[sp].space), &places[sp], true);
	/* the ISA allows .local here, assemblers don't */
	for (unsigned sp = GLOBAL; sp <= LOCAL; sp++)
		if (sp != SHARED_CTA && sp != SHARED_CLUSTER)
			each_type(s, add, text_of("%s.volatile%s", op, places[sp].space), &places[sp], true);
	for (unsigned o = 0; o < 2; o++)
		for (unsigned k = 0; k < 4; k++)
			for (unsigned sp = GLOBAL; sp <= SHARED_CLUSTER; sp++)
				if (sp != SHARED_CTA)
					each_type(s, add,
						  text_of("%s%s%s%s", op, orders[o], scopes[k],
							  places[sp].space),
						  &places[sp], true);
	for (unsigned sp = GLOBAL; sp <= GENERIC; sp++)
		each_type(s, add, text_of("%s.mmio.relaxed.sys%s", op, places[sp].space), &places[sp], false);
}

static const char *const hints[] = {
	".L1::evict_normal", ".L1::evict_unchanged", ".L1::evict_first", ".L1::evict_last",
	".L1::no_allocate",  ".L2::cache_hint",      ".L2::64B",         ".L2::128B",
	".L2::256B"};

static void add_hinted(struct suite *s)
{
	static const char *const load_ops[] = {".ca", ".cg", ".cs", ".lu", ".cv"};
	static const char *const store_ops[] = {".wb", ".cg", ".cs", ".wt"};
	static const char *const nc[] = {".nc", ".ca.nc", ".cg.nc", ".cs.nc"};

	for (unsigned sp = GLOBAL; sp <= GENERIC; sp++) {
		for (unsigned i = 0; i < 5; i++)
			each_type(s, add_load, text_of("ld%s%s", places[sp].space, load_ops[i]), &places[sp],
				  true);
		for (unsigned i = 0; i < 4; i++)
			each_type(s, add_store, text_of("st%s%s", places[sp].space, store_ops[i]),
				  &places[sp], true);
		each_type(s, add_load, text_of("ldu%s", places[sp].space), &places[sp], true);
	}
	for (unsigned i = 0; i < 9; i++) {
		each_type(s, add_load, text_of("ld.global%s", hints[i]), &places[GLOBAL], true);
		each_type(s, add_load, text_of("ld.global.nc%s", hints[i]), &places[GLOBAL], true);
		if (i < 6)
			each_type(s, add_store, text_of("st.global%s", hints[i]), &places[GLOBAL], true);
	}
	for (unsigned i = 0; i < 4; i++)
		each_type(s, add_load, text_of("ld.global%s", nc[i]), &places[GLOBAL], true);
}

/* A function gets 32 bytes, loads elements of its parameter and stores them into what it returns; all bytes that the
 * elements don't cover come back as zero. */
static void ref_call(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned bytes = type_bits(f->arg) / 8;
	uint64_t cells[CELLS] = {0};

	memcpy(cells, in, (size_t)f->k[0] * bytes);
	for (unsigned i = 0; i < CELLS; i++)
		out[i].bits = cells[i];
}

static void add_call(struct suite *s, const char *func, unsigned n, const char *type)
{
	static unsigned serial;
	unsigned id = serial++;
	const char *reg = type_bits(type) <= 16 ? "b16" : type_bits(type) == 32 ? "b32" : "b64";
	struct form *f = form_add(
		s, "dddd=dddd", ref_call,
		text_of("{ .param .align 16 .b8 pa[32]; .param .align 16 .b8 re[32];\n"
			"\tst.param.b64 [pa], v4; st.param.b64 [pa+8], v5; st.param.b64 [pa+16], v6; "
			"st.param.b64 [pa+24], v7;\n"
			"\tcall (re), accf%u, (pa);\n\tld.param.b64 v0, [re]; ld.param.b64 v1, [re+8]; "
			"ld.param.b64 v2, [re+16]; ld.param.b64 v3, [re+24]; }",
			id),
		"ld.param%s and st.param%s%s.%s in a function", func, func, vector_name(n), type);

	f->decl =
		text_of(".func (.param .align 16 .b8 r[32]) accf%u(.param .align 16 .b8 p[32])\n{\n"
			"\t.reg .%s e<%u>;\n\tst.param.v2.b64 [r], {0, 0}; st.param.v2.b64 [r+16], {0, 0};\n"
			"\tld.param%s%s.%s %s, [p]; st.param%s%s.%s [r], %s; ret;\n}",
			id, reg, n, func, vector_name(n), type, element_list(n), func, vector_name(n), type,
			element_list(n));
	f->arg = type;
	f->k[0] = (long)n;
	f->most = 64;
}

/* Parameters of a kernel: the same 32 bytes for all threads. */
static const uint64_t param_bytes[CELLS] = {0x8091a2b3c4d5e6f7, 0x00ff7f80fe017e81, 0x0123456789abcdef,
					    0xf0e1d2c3b4a59687};

static void fill_param(const struct form *f, unsigned t, uint64_t *in)
{
	(void)f;
	(void)t;
	memcpy(in, param_bytes, sizeof(param_bytes));
}

static void add_param(struct suite *s, const char *op, unsigned n, const char *type)
{
	char sig[16] = {0};

	memset(sig, type_letter(type), n);
	strcat(sig, "=dddd");
	struct form *f = form_add(s, sig, ref_load,
				  text_of("%s%s.%s %s, [pbytes];", op, vector_name(n), type, registers(0, n)),
				  "%s%s.%s", op, vector_name(n), type);

	f->arg = type;
	f->k[0] = (long)n;
	f->params = ", .param .align 16 .b8 pbytes[32]";
	f->param_data = param_bytes;
	f->param_bytes = sizeof(param_bytes);
	f->fill = fill_param;
	f->ntuples = 32;
}

static void add_params(struct suite *s)
{
	for (unsigned i = 0; i < NTYPES; i++)
		for (unsigned n = 1; n <= 4 && n * type_bits(types[i]) <= 128; n *= 2) {
			add_call(s, "", n, types[i]);
			add_call(s, "::func", n, types[i]);
			add_param(s, "ld.param", n, types[i]);
			add_param(s, "ld.param::entry", n, types[i]);
		}
}

static void ref_copy(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out[0].bits = in[0];
	out[1].bits = in[1];
}

/* 128 bits: through a register of that width. */
static void add_b128(struct suite *s)
{
	for (unsigned sp = GLOBAL; sp <= CONST; sp++) {
		const struct place *p = &places[sp];
		char *text = text_of(TEMPS ".reg .b128 q; %s\n\tld%s.b128 q, [a]; mov.b128 {v0, v1}, q; }",
				     fill_text(p, 2), p->space);
		struct form *f = form_add(s, "dd=dddd", ref_copy, text, "ld%s.b128", p->space);

		if (sp == CONST) {
			f->fill = fill_const;
			f->ntuples = 32;
			continue;
		}
		if (sp <= GENERIC)
			form_add(s, "dd=dddd", ref_copy,
				 text_of(TEMPS
					 ".reg .b128 q; %s\n\tldu%s.b128 q, [a]; mov.b128 {v0, v1}, q; }",
					 fill_text(p, 2), p->space),
				 "ldu%s.b128", p->space);
		form_add(s, "dd=dddd", ref_copy,
			 text_of(TEMPS ".reg .b128 q; %s\n\tmov.b128 q, {v2, v3}; st%s.b128 [a+16], q; "
				       "ld%s.v2.b64 {v0, v1}, [a+16]; }",
				 fill_text(p, 2), p->space, p->space),
			 "st%s.b128", p->space);
	}
}

void forms_access(struct suite *s)
{
	static const char *const load_orders[] = {".relaxed", ".acquire"}, *const store_orders[] = {
										   ".relaxed", ".release"};

	add_ordered(s, add_load, "ld", load_orders);
	s->forms[0].decl =
		text_of(".shared .align 32 .b8 accsh[1024];\n.const .align 32 .u8 accconst[1024] = {%s};",
			const_array());
	add_ordered(s, add_store, "st", store_orders);
	each_type(s, add_load, "ld.const", &places[CONST], true);
	add_hinted(s);
	add_params(s);
	add_b128(s);
}

/* Vectors of 256 bits, sm_100 and later. */
void forms_wide_access(struct suite *s)
{
	static const char *const evictions[] = {"", ".L2::evict_last", ".L2::evict_normal",
						".L2::evict_first"};

	for (unsigned i = 0; i < NTYPES; i++) {
		unsigned n = 256 / type_bits(types[i]);

		if (type_bits(types[i]) < 32)
			continue;
		for (unsigned k = 0; k < 4; k++) {
			add_load(s, text_of("ld.global%s", evictions[k]), &places[GLOBAL], n, types[i]);
			add_load(s, text_of("ld.global.nc%s", evictions[k]), &places[GLOBAL], n, types[i]);
			add_store(s, text_of("st.global%s", evictions[k]), &places[GLOBAL], n, types[i]);
		}
	}
}
