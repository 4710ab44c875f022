/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/opcode: decodes an opcode with its modifiers in any order, by the rows of
 * ops.def and modifiers.def. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ptx/op_table.h"

#define CLASS(c) (UINT64_C(1) << PTX_CLASS_##c)
#define TYPE(t)  (UINT64_C(1) << PTX_##t)

/* The vocabulary of ops.def's columns. */
#define NONE        UINT64_C(0)
#define ROUND       CLASS(ROUND)
#define FLUSH       CLASS(FLUSH)
#define SATURATE    CLASS(SATURATE)
#define FLOAT       (CLASS(ROUND) | CLASS(FLUSH) | CLASS(SATURATE))
#define ROUNDINT    CLASS(ROUNDINT)
#define MINMAX      (CLASS(MINMAX) | CLASS(CVTFLAGS))
#define CARRY       CLASS(CARRY)
#define HALVES      CLASS(HALVES)
#define CLAMPS      CLASS(CLAMPS)
#define DIRECTION   CLASS(DIRECTION)
#define APPROX      CLASS(APPROX)
#define SHIFTAMT    CLASS(SHIFTAMT)
#define TESTPOP     CLASS(TESTPOP)
#define COMPARE     CLASS(COMPARE)
#define BOOLOP      CLASS(BOOLOP)
#define ALIGNED     CLASS(ALIGNED)
#define SYNC        (CLASS(SYNC) | CLASS(ALIGNED))
#define SHUFFLE     CLASS(SHUFFLE)
#define PERMUTE     CLASS(PERMUTE)
#define SPACE       CLASS(SPACE)
#define SCOPE       CLASS(SCOPE)
#define ORDER       (CLASS(SEM) | CLASS(SCOPE))
#define VECTOR      CLASS(VECTOR)
#define CACHE       CLASS(CACHE)
#define NONCOHERENT CLASS(NONCOHERENT)
#define REDUCTION   CLASS(REDUCTION)
#define TO          CLASS(TO)
#define CVTFLAGS    CLASS(CVTFLAGS)
#define VOTING      CLASS(VOTING)
#define UNIFORM     CLASS(UNIFORM)
#define BARRIER     CLASS(BARRIER)
#define SHAPE       CLASS(SHAPE)
#define LAYOUT      CLASS(LAYOUT)
#define REPEAT      CLASS(REPEAT)
#define TRANSPOSE   CLASS(TRANSPOSE)
#define GEOMETRY    CLASS(GEOMETRY)
#define NOINC       CLASS(NOINC)
#define OTHER       CLASS(OTHER)
#define VIDEO       (CLASS(SATURATE) | CLASS(CLAMPS) | CLASS(COMPARE) | CLASS(REDUCTION) | CLASS(OTHER))

#define NOTYPE      TYPE(TYPE_NONE)
#define PREDICATE   TYPE(PRED)
#define BIT32       TYPE(B32)
#define BIT64       TYPE(B64)
#define BIT128      TYPE(B128)
#define B32_64      (BIT32 | BIT64)
#define BITS        (TYPE(B16) | BIT32 | BIT64)
#define BITS_PRED   (BITS | PREDICATE)
#define INT32       (TYPE(U32) | TYPE(S32))
#define WORDS       (INT32 | TYPE(U64) | TYPE(S64))
#define INTS        (WORDS | TYPE(U16) | TYPE(S16))
#define FLOAT32     TYPE(F32)
#define F32_64      (TYPE(F32) | TYPE(F64))
#define HALF_FLOATS (TYPE(F16) | TYPE(F16X2) | TYPE(BF16) | TYPE(BF16X2))
#define FLOATS      (F32_64 | HALF_FLOATS | TYPE(F32X2))
#define HALF_SRC    (NOTYPE | TYPE(F16) | TYPE(BF16))
#define ARITH       (INTS | FLOATS | TYPE(U16X2) | TYPE(S16X2))
#define SET_RESULT  (INTS | FLOATS)
#define COMPARED    (BITS | INTS | FLOATS)
#define SCALARS     (BITS | INTS | F32_64 | TYPE(F16) | TYPE(BF16) | TYPE(F16X2) | TYPE(BF16X2))
#define SLCT_SIGN   (TYPE(S32) | FLOAT32)
#define MEMORY                                                                                        \
	(SCALARS | BIT128 | TYPE(B8) | TYPE(U8) | TYPE(S8) | TYPE(E4M3) | TYPE(E5M2) | TYPE(E4M3X4) | \
	 TYPE(E5M2X4) | TYPE(E4M3X2) | TYPE(E5M2X2))
#define ADDRESS    (TYPE(U32) | TYPE(U64) | BIT32 | BIT64)
#define EVERYTHING (~UINT64_C(0) >> (63 - PTX_NTYPES + 1))
#define CONVERTED  (EVERYTHING & ~(NOTYPE | PREDICATE))
#define FRAGMENT   EVERYTHING
#define PACKED     (TYPE(U16) | TYPE(S16) | TYPE(U8) | TYPE(S8) | TYPE(U4) | TYPE(S4) | TYPE(U2) | TYPE(S2))
#define TENSORMAP  (NOTYPE | B32_64)
#define F16X2_     (TYPE(F16) | TYPE(F16X2))
#define OPAQUE     (TYPE(TEXREF) | TYPE(SAMPLERREF) | TYPE(SURFREF))
#define BARTYPE    (NOTYPE | PREDICATE | TYPE(U32))
#define ATOMIC     (BITS | BIT128 | WORDS | F32_64 | HALF_FLOATS)

const struct ptx_op_row ptx_op_rows[PTX_NOPS] = {
#define PTX_OP(id, name, dst, src, modifiers, types, types2) \
	[PTX_OP_##id] = {name, dst, src, modifiers, types, types2, sizeof(name) - 1},
#include "ptx/ops.def"
#undef PTX_OP
};

static const struct ptx_modifier {
	const char *spelling;
	uint8_t length, class, field;
	uint32_t value;
} modifiers[] = {
#define PTX_MOD(spelling, class, field, value) \
	{spelling, sizeof(spelling) - 1, PTX_CLASS_##class, PTX_FIELD_##field, value},
#include "ptx/modifiers.def"
#undef PTX_MOD
};
#define NMODIFIERS (sizeof(modifiers) / sizeof(modifiers[0]))

const char *ptx_op_name(enum ptx_op op)
{
	return (unsigned)op < PTX_NOPS ? ptx_op_rows[op].name : "?";
}

const char *ptx_shape_name(unsigned shape)
{
	for (size_t i = 0; shape && i < NMODIFIERS; i++)
		if (modifiers[i].field == PTX_FIELD_SHAPE && modifiers[i].value == shape)
			return modifiers[i].spelling;
	return "";
}

/* The longest row whose components lead the text. */
static int find_op(const char *text, size_t n)
{
	int best = -1;
	for (int op = 0; op < PTX_NOPS; op++) {
		const struct ptx_op_row *row = &ptx_op_rows[op];
		size_t length = row->name_length;
		if (row->name[0] != text[0] || length > n || (length < n && text[length] != '.') ||
		    memcmp(row->name, text, length) != 0)
			continue;
		if (best < 0 || length > ptx_op_rows[best].name_length)
			best = op;
	}
	return best;
}

/* *known: the spelling exists for some op. */
static const struct ptx_modifier *find_modifier(const char *s, size_t n, uint64_t classes, bool *known)
{
	*known = false;
	for (size_t i = 0; i < NMODIFIERS; i++) {
		const struct ptx_modifier *m = &modifiers[i];
		if (m->length != n || memcmp(m->spelling, s, n) != 0)
			continue;
		*known = true;
		if (classes >> m->class & 1)
			return m;
	}
	return NULL;
}

static void set_layout(struct ptx_inst *i, uint32_t is_col, unsigned *nlayouts)
{
	if (*nlayouts < 2)
		i->layout |= is_col << *nlayouts;
	(*nlayouts)++;
}

static void set_space(struct ptx_inst *i, uint32_t space, unsigned *nspaces)
{
	if (*nspaces == 0)
		i->space = space;
	else if (*nspaces == 1)
		i->space2 = space;
	(*nspaces)++;
}

static bool set_type(struct ptx_inst *i, enum ptx_type t, unsigned *ntypes)
{
	switch ((*ntypes)++) {
	case 0: i->type = t; return true;
	case 1: i->type2 = t; return true;
	case 2: i->type3 = t; return true;
	case 3: i->type4 = t; return true;
	default: return true; /* scale types of block-scaled mma stay in the text */
	}
}

struct decode {
	struct ptx_inst *i;
	const struct ptx_op_row *row;
	unsigned ntypes, nspaces, nlayouts;
	char *detail;
	size_t detail_bytes;
};

static void apply(struct decode *d, const struct ptx_modifier *m)
{
	struct ptx_inst *i = d->i;
	switch ((enum ptx_mod_field)m->field) {
	case PTX_FIELD_NONE: break;
	case PTX_FIELD_FLAG: i->flags |= m->value; break;
	case PTX_FIELD_RND: i->rnd = m->value; break;
	case PTX_FIELD_CMP: i->cmp = m->value; break;
	case PTX_FIELD_BOOLOP: i->boolop = m->value; break;
	case PTX_FIELD_SEM: /* .mmio.relaxed is relaxed (ISA 9.7.9.8), in either order */
		i->sem = m->value == PTX_MMIO && i->sem ? i->sem : m->value;
		break;
	case PTX_FIELD_SCOPE: i->scope = m->value; break;
	case PTX_FIELD_SPACE: set_space(i, m->value, &d->nspaces); break;
	case PTX_FIELD_VEC: i->vec = m->value; break;
	case PTX_FIELD_SUB: i->sub = m->value; break;
	case PTX_FIELD_SHAPE: i->shape = m->value; break;
	case PTX_FIELD_LAYOUT: set_layout(i, m->value, &d->nlayouts); break;
	}
}

/* wgmma's shapes are a family of 256 (m64nNkK); they stay in the text. */
static bool is_wgmma_shape(const char *s, size_t n)
{
	return n > 4 && !memcmp(s, "m64n", 4) && isdigit((unsigned char)s[4]);
}

static bool modifier(struct decode *d, const char *s, size_t n)
{
	enum ptx_type t = ptx_type_parse(s, n);
	if (t != PTX_TYPE_NONE)
		return set_type(d->i, t, &d->ntypes);
	bool known;
	const struct ptx_modifier *m = find_modifier(s, n, d->row->modifiers, &known);
	if (m) {
		apply(d, m);
		return true;
	}
	if (is_wgmma_shape(s, n) && d->row->modifiers & CLASS(SHAPE))
		return true;
	if (n == 0)
		snprintf(d->detail, d->detail_bytes, "empty modifier in '%s'", d->row->name);
	else
		snprintf(d->detail, d->detail_bytes,
			 known ? "modifier '.%.*s' does not belong to '%s'"
			       : "unknown modifier '.%.*s' of '%s'",
			 (int)n, s, d->row->name);
	return false;
}

static bool types_fit(struct decode *d)
{
	const struct ptx_inst *i = d->i;
	if (!(d->row->types >> i->type & 1)) {
		if (i->type == PTX_TYPE_NONE)
			snprintf(d->detail, d->detail_bytes, "'%s' needs a type", d->row->name);
		else
			snprintf(d->detail, d->detail_bytes, "'%s' has no form for type .%s", d->row->name,
				 ptx_type_name(i->type));
		return false;
	}
	/* An op whose second type is NOTYPE has one type; OTHER leaves room for forms that are only kept as
	 * text. */
	if (d->row->types2 >> i->type2 & 1 || (d->row->modifiers & CLASS(OTHER) && i->op != PTX_OP_CVT))
		return true;
	if (i->type2 == PTX_TYPE_NONE)
		snprintf(d->detail, d->detail_bytes, "'%s' needs a second type", d->row->name);
	else
		snprintf(d->detail, d->detail_bytes, "'%s' can't have .%s as its second type", d->row->name,
			 ptx_type_name(i->type2));
	return false;
}

/* Modifiers without which an operation means nothing. */
static bool is_complete(struct decode *d)
{
	static const struct {
		enum ptx_op op;
		const char *what;
	} required[] = {
		{PTX_OP_SETP, "a comparison"},    {PTX_OP_SET, "a comparison"},
		{PTX_OP_TESTP, "a test"},         {PTX_OP_ATOM, "an operation"},
		{PTX_OP_RED, "an operation"},     {PTX_OP_REDUX, "an operation"},
		{PTX_OP_SHFL, "a mode"},          {PTX_OP_VOTE, "a mode"},
		{PTX_OP_MATCH, "a mode"},         {PTX_OP_BAR, "an operation"},
		{PTX_OP_BARRIER, "an operation"}, {PTX_OP_ISSPACEP, "a state space"},
		{PTX_OP_CVTA, "a state space"},
	};
	const struct ptx_inst *i = d->i;
	for (size_t k = 0; k < sizeof(required) / sizeof(required[0]); k++) {
		if (i->op != required[k].op || i->sub || i->cmp ||
		    (d->nspaces && i->op != PTX_OP_ATOM && i->op != PTX_OP_RED))
			continue;
		snprintf(d->detail, d->detail_bytes, "'%s' needs %s", d->row->name, required[k].what);
		return false;
	}
	return true;
}

/* mul and mad of integers say which half they want; those of floats can't. */
static bool halves_fit(struct decode *d)
{
	const struct ptx_inst *i = d->i;
	if (!(d->row->modifiers & CLASS(HALVES)) || i->op == PTX_OP_DP2A)
		return true;
	bool has = i->flags & (PTX_F_WIDE | PTX_F_HI | PTX_F_LO);
	if (has == !ptx_type_is_float(i->type))
		return true;
	snprintf(d->detail, d->detail_bytes,
		 has ? "'%s' of floats has no .lo, .hi or .wide" : "'%s' needs .lo, .hi or .wide",
		 d->row->name);
	return false;
}

static void defaults(struct decode *d)
{
	struct ptx_inst *i = d->i;
	if (!i->vec)
		i->vec = 1;
	if (i->op == PTX_OP_ADDC || i->op == PTX_OP_SUBC || i->op == PTX_OP_MADC)
		i->flags |= PTX_F_CARRY_IN;
}

bool ptx_opcode_decode(const char *text, size_t n, struct ptx_inst *fields, char *detail, size_t detail_bytes,
		       const char **at)
{
	memset(fields, 0, sizeof(*fields));
	*at = text;
	int op = n ? find_op(text, n) : -1;
	if (op < 0) {
		size_t base = 0;
		while (base < n && text[base] != '.')
			base++;
		snprintf(detail, detail_bytes, "unknown instruction '%.*s'", (int)(base > 60 ? 60 : base),
			 text);
		return false;
	}
	struct decode d = {
		.i = fields, .row = &ptx_op_rows[op], .detail = detail, .detail_bytes = detail_bytes};
	fields->op = op;
	const char *s = text + d.row->name_length, *end = text + n;
	while (s < end) {
		const char *start = ++s; /* past the dot */
		while (s < end && *s != '.')
			s++;
		*at = start - 1;
		if (!modifier(&d, start, (size_t)(s - start)))
			return false;
	}
	*at = text;
	defaults(&d);
	return types_fit(&d) && halves_fit(&d) && is_complete(&d);
}
