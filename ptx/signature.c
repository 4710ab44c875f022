/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/signature: gives the operands that were read the types that the op's row
 * in ops.def demands, and checks their number, kind and width (ISA chapter 9.4). */
#include <string.h>

#include "ptx/body.h"

/* add.f32.f16 and fma.f32.bf16: all sources but the last are of the second type (ISA 9.7.5). */
static bool is_mixed_precision(const struct ptx_inst *i)
{
	return i->type2 != PTX_TYPE_NONE &&
	       (i->op == PTX_OP_ADD || i->op == PTX_OP_SUB || i->op == PTX_OP_FMA);
}

enum ptx_type ptx_letter_type(const struct ptx_inst *i, char letter, int n, unsigned *bits,
			      bool *may_be_wider)
{
	enum ptx_type t = i->type;
	*may_be_wider = letter == 'T' || letter == 'U' || letter == 'M';
	switch (letter) {
	case 't':
		if (n >= 0 && n < (i->op == PTX_OP_FMA ? 2 : 1) && is_mixed_precision(i))
			t = i->type2;
		break;
	case 'T':
	case 'm':
	case 'M': break;
	case 'w':
		if (i->flags & PTX_F_WIDE) {
			*bits = 2 * ptx_type_bits(t);
			return *bits == 64 ? PTX_B64 : PTX_B32;
		}
		break;
	case 'u':
	case 'U': t = i->type2; break;
	case 'v': t = i->type3; break;
	case 'p': t = PTX_PRED; break;
	case 'h': t = PTX_B16; break;
	case 'b': t = PTX_B32; break;
	case 'd': t = PTX_B64; break;
	case 'f': t = PTX_F32; break;
	default: *bits = 0; return PTX_TYPE_NONE;
	}
	*bits = ptx_type_bits(t);
	return t;
}

/* Operations whose destination isn't always written (`?` first in the row). */
static bool has_destination(const struct body *b, const struct ptx_inst *i, const struct ptx_op_row *row)
{
	if (!row->dst[0])
		return false;
	if (row->dst[0] != '?')
		return true;
	if (i->op == PTX_OP_BAR || i->op == PTX_OP_BARRIER)
		return i->sub == PTX_SUB_RED;
	return b->noperands && !b->operands[0].is_address;
}

static bool is_relaxed_width(unsigned want, unsigned have, bool may_be_wider)
{
	return have == want || (may_be_wider && have > want) ||
	       (may_be_wider && want < 8 && have >= 8); /* sub-byte floats live in bytes */
}

static int check_width(struct body *b, const struct ptx_inst *i, const struct operand_text *t, char letter,
		       int n)
{
	unsigned want;
	bool wider;
	if (t->o.kind != PTX_OPND_VALUE)
		return 0;
	if (t->is_address) {
		if (ptx_type_is_float(b->slots[t->o.index].type))
			return body_fail(b, t->at, "a floating-point register can't be an address");
		if (t->bits != 32 && t->bits != 64)
			return body_fail(b, t->at, "an address register has 32 or 64 bits, this one has %u",
					 t->bits);
		return 0;
	}
	ptx_letter_type(i, letter, n, &want, &wider);
	if (!want || is_relaxed_width(want, t->bits, wider))
		return 0;
	if (want == 1)
		return body_fail(b, t->at, "'%s' needs a predicate here", i->mods);
	return body_fail(b, t->at, "'%s' needs %s%u bits here, '%s' has %u", i->mods,
			 wider ? "at least " : "", want, b->slots[t->o.index].name, t->bits);
}

static int check_kind(struct body *b, const struct ptx_inst *i, const struct operand_text *t, char letter,
		      bool is_dst)
{
	bool open = letter == 'n' || letter == '*';
	if (is_dst && t->o.kind != PTX_OPND_VALUE && t->o.kind != PTX_OPND_SINK)
		return body_fail(b, t->at, "'%s' writes here: expected a register", i->mods);
	if (!is_dst && t->o.kind == PTX_OPND_SINK && !open)
		return body_fail(b, t->at, "'_' can't be read");
	if (letter == 'a' && !t->is_address && !t->is_element)
		return body_fail(b, t->at, "'%s' needs an address in brackets here", i->mods);
	if (t->is_address && letter != 'a' && letter != '*')
		return body_fail(b, t->at, "'%s' takes no address in brackets here", i->mods);
	if (letter == 'i' && t->o.kind != PTX_OPND_IMM)
		return body_fail(b, t->at, "'%s' needs a constant here", i->mods);
	if (t->o.negate && letter != 'p' && !open && i->op != PTX_OP_VMAD)
		return body_fail(b, t->at, "only a predicate can be negated");
	if (t->o.select && !(i->op >= PTX_OP_VADD && i->op <= PTX_OP_VSET4))
		return body_fail(b, t->at, "'%s' takes no selector of bytes or halves", i->mods);
	return 0;
}

static int convert_literal(struct body *b, const struct ptx_inst *i, struct operand_text *t, char letter,
			   int n)
{
	unsigned want;
	bool wider;
	if (t->is_address)
		return t->literal.kind == LITERAL_INT ? 0
						      : body_fail(b, t->at, "an address must be an integer");
	const char *why =
		literal_to_bits(&t->literal, ptx_letter_type(i, letter, n, &want, &wider), &t->o.imm);
	return why ? body_fail(b, t->at, "%s", why) : 0;
}

static int check_operand(struct body *b, const struct ptx_inst *i, struct operand_text *t, char letter, int n)
{
	t->is_address |= t->is_element && letter == 'a';
	int rc = check_kind(b, i, t, letter, n < 0);
	if (rc || (rc = check_width(b, i, t, letter, n)))
		return rc;
	return t->is_literal ? convert_literal(b, i, t, letter, n) : 0;
}

/* Destinations: group 0, its part behind the bar by the letter behind the bar. */
static int match_destination(struct body *b, const struct ptx_inst *i, const struct ptx_op_row *row,
			     uint32_t ngroups, uint32_t *next)
{
	const char *s = row->dst[0] == '?' ? row->dst + 1 : row->dst;
	const char *bar = strchr(s, '|');
	bool vector = strpbrk(s, "mM*") != NULL;
	uint32_t count = 0;
	for (; *next < b->noperands && b->operands[*next].group < ngroups; ++*next) {
		struct operand_text *t = &b->operands[*next];
		if (t->after_bar && !bar)
			return body_fail(b, t->at, "'%s' has no second destination", i->mods);
		if (!t->after_bar && count++ && !vector)
			return body_fail(b, t->at, "'%s' takes no vector here", i->mods);
		int rc = check_operand(b, i, t, t->after_bar ? bar[1] : s[0], -1);
		if (rc)
			return rc;
	}
	bool exact = s[0] == 'm' || s[0] == 'M';
	if (exact && count != i->vec)
		return body_fail(b, b->operands[0].at, "'%s' needs %u elements here, found %u", i->mods,
				 i->vec, count);
	return 0;
}

static uint32_t group_size(const struct body *b, uint32_t first)
{
	uint32_t n = 1;
	while (first + n < b->noperands && b->operands[first + n].group == b->operands[first].group)
		n++;
	return n;
}

static int match_source_group(struct body *b, const struct ptx_inst *i, const char *letters, uint32_t first,
			      uint32_t size, int n)
{
	char letter = letters[0];
	bool in_address = letter == 'a' && b->operands[first].is_address; /* [map, {x, y}]: coordinates */
	bool open = letter == '*' || letters[0] == 0 || letters[1] == '*';
	open |= in_address && ptx_op_rows[i->op].modifiers >> PTX_CLASS_GEOMETRY & 1;
	bool vector = letter == 'm' || letter == 'M';
	if (vector && size != i->vec)
		return body_fail(b, b->operands[first].at, "'%s' needs %u elements here, found %u", i->mods,
				 i->vec, size);
	if (size > 1 && !vector && !open)
		return body_fail(b, b->operands[first].at, "'%s' takes no vector here", i->mods);
	for (uint32_t k = 0; k < size; k++) {
		int rc = check_operand(b, i, &b->operands[first + k], k && in_address ? '*' : letter, n);
		if (rc)
			return rc;
	}
	return 0;
}

/* Walks groups and letters in parallel; '?' makes the rest optional, '*' repeats. */
static int match_sources(struct body *b, const struct ptx_inst *i, const struct ptx_op_row *row,
			 uint32_t next)
{
	const char *s = row->src;
	bool optional = false;
	int n = 0;
	while (next < b->noperands) {
		uint32_t size = group_size(b, next);
		if (*s == '?') {
			optional = true;
			s++;
		}
		bool policy = (!*s || optional) && i->flags & PTX_F_CACHE_HINT && next + size == b->noperands;
		if (!*s && !policy)
			return body_fail(b, b->operands[next].at, "'%s' has too many operands", i->mods);
		int rc = match_source_group(b, i, policy ? "d" : s, next, size, n++);
		if (rc)
			return rc;
		if (*s && *s != '*')
			s++;
		next += size;
	}
	if (*s && *s != '?' && *s != '*' && !optional)
		return body_fail(b, b->statement, "'%s' has too few operands", i->mods);
	return 0;
}

/* mov packs or unpacks, not both, and the parts make up the whole (ISA 9.7.9.2). */
/* mov.v4 copies element by element. */
static int check_vector_mov(struct body *b, const struct ptx_inst *i)
{
	if (i->ndst != i->vec || i->nsrc != i->vec || b->ngroups != 2)
		return body_fail(b, b->statement, "'%s' needs %u elements on both sides", i->mods, i->vec);
	for (uint32_t k = 0; k < b->noperands; k++) {
		struct operand_text *t = &b->operands[k];
		unsigned want = ptx_type_bits(i->type);
		if (t->o.kind == PTX_OPND_VALUE && t->bits != want)
			return body_fail(b, t->at, "'%s' needs %u bits here, '%s' has %u", i->mods, want,
					 b->slots[t->o.index].name, t->bits);
		const char *why = t->is_literal ? literal_to_bits(&t->literal, i->type, &t->o.imm) : NULL;
		if (why)
			return body_fail(b, t->at, "%s", why);
	}
	return 0;
}

static int check_mov(struct body *b, const struct ptx_inst *i)
{
	if (i->vec > 1)
		return check_vector_mov(b, i);
	uint32_t parts = i->ndst > i->nsrc ? i->ndst : i->nsrc;
	unsigned whole = ptx_type_bits(i->type);
	if ((i->ndst != 1 && i->nsrc != 1) || b->ngroups != 2 || (parts & (parts - 1)) || parts > 8)
		return body_fail(b, b->statement,
				 "'%s' needs one destination and one source, one of which may be a vector",
				 i->mods);
	for (uint32_t k = 0; k < b->noperands; k++) {
		struct operand_text *t = &b->operands[k];
		bool in_vector = parts > 1 && (i->ndst > 1) == (k < i->ndst);
		unsigned want = in_vector ? whole / parts : whole;
		if (t->o.kind == PTX_OPND_VALUE && t->bits != want)
			return body_fail(b, t->at, "'%s' needs %u bits here, '%s' has %u", i->mods, want,
					 b->slots[t->o.index].name, t->bits);
		if (!t->is_literal)
			continue;
		static const uint8_t part_types[] = {PTX_B8, PTX_B16, PTX_B32, PTX_B64};
		enum ptx_type type =
			in_vector ? part_types[__builtin_ctz(want / 8 ? want / 8 : 1) & 3] : i->type;
		const char *why = literal_to_bits(&t->literal, type, &t->o.imm);
		if (why)
			return body_fail(b, t->at, "%s", why);
	}
	return 0;
}

int match_operands(struct body *b, struct ptx_inst *i)
{
	const struct ptx_op_row *row = &ptx_op_rows[i->op];
	uint32_t ngroups = has_destination(b, i, row) ? i->op == PTX_OP_TCGEN05_LD_RED ? 2 : 1 : 0;
	uint32_t next = 0;
	if (ngroups > b->ngroups)
		return body_fail(b, b->statement, "'%s' has too few operands", i->mods);
	int rc = ngroups ? match_destination(b, i, row, ngroups, &next) : 0;
	if (rc || (rc = match_sources(b, i, row, next)))
		return rc;
	if (next > UINT8_MAX - 1 || b->noperands - next > UINT8_MAX - 1)
		return body_fail(b, b->statement, "'%s' has more than 254 operands", i->mods);
	i->ndst = (uint8_t)next;
	i->nsrc = (uint8_t)(b->noperands - next);
	return i->op == PTX_OP_MOV ? check_mov(b, i) : 0;
}
