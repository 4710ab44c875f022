/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/parse_operand: operands as written: registers, special registers,
 * addresses, vectors, constants (ISA chapter 6.4). What a constant means is
 * decided later, with the operation (signature.c). */
#include <string.h>

#include "ptx/body.h"

static struct operand_text *new_operand(struct body *b, const char *at, uint16_t group, bool after_bar)
{
	if (b->noperands == PTX_MAX_OPERANDS) {
		body_fail(b, at, "an instruction has at most %d operands", PTX_MAX_OPERANDS);
		return NULL;
	}
	struct operand_text *t = &b->operands[b->noperands++];
	memset(t, 0, sizeof(*t));
	t->at = at;
	t->group = group;
	t->after_bar = after_bar;
	return t;
}

static int constant(struct body *b, struct operand_text *t)
{
	const char *why;
	lex_peek(&b->p.lx);
	const char *at = b->p.lx.p;
	if (!lex_constant(&b->p.lx, &t->literal, &why))
		return body_fail(b, at, "%s", why);
	t->o.kind = PTX_OPND_IMM;
	t->o.imm = t->literal.bits;
	t->is_literal = true;
	return 0;
}

static void set_slot(struct body *b, struct operand_text *t, uint32_t slot)
{
	t->o.kind = PTX_OPND_VALUE;
	t->o.index = slot;
	t->bits = b->slots[slot].bits;
}

/* ".b2", ".h10", ".b3210" behind a register (video instructions, ISA 9.7.18). */
static int set_selector(struct body *b, struct operand_text *t)
{
	const char *at = b->p.lx.p, *p = at + 2;
	bool halves = at[1] == 'h';
	unsigned n = 0, digits = 0, limit = halves ? 2 : 4;
	for (; n < limit && *p >= '0' && *p <= (halves ? '3' : '7'); p++, n++)
		digits = digits << 3 | (unsigned)(*p - '0');
	if ((at[1] != 'b' && !halves) || !n || lex_class[(uint8_t)*p] & LEX_NAME)
		return body_fail(b, at, "expected a selector such as .b0, .h1 or .b3210");
	t->o.select = (uint16_t)(digits | n << 12 | (halves ? PTX_SELECT_HALVES : 0));
	b->p.lx.p = p;
	return 0;
}

static int set_register(struct body *b, struct operand_text *t, uint32_t slot)
{
	set_slot(b, t, slot);
	return b->p.lx.p[0] == '.' ? set_selector(b, t) : 0;
}

/* Which element "v.y" or "v.g" names; n when there is none of that name. */
static uint32_t element_index(const char *selector, uint32_t n)
{
	static const char names[] = "xyzwrgba";
	const char *at = *selector ? strchr(names, *selector) : NULL;
	uint32_t lane = at ? (uint32_t)(at - names) % 4 : n;
	return lane < n && !(lex_class[(uint8_t)selector[1]] & LEX_NAME) ? lane : n;
}

/* A vector register: v.x is one register, v alone all of them in a row. */
static int set_vector(struct body *b, struct operand_text *t, uint32_t first)
{
	const char *p = b->p.lx.p;
	uint32_t slot, n = b->registers[first].lanes, lane = 0;
	if (p[0] == '.') {
		lane = element_index(p + 1, n);
		if (lane == n)
			return body_fail(b, p, "no such element of a vector register");
		b->p.lx.p += 2;
		n = lane + 1;
	}
	for (uint16_t group = t->group; lane < n; lane++) {
		int rc = register_slot(b, first + lane, &slot);
		if (rc)
			return rc;
		set_slot(b, t, slot);
		if (lane + 1 < n && !(t = new_operand(b, t->at, group, t->after_bar)))
			return b->p.error->code;
	}
	return 0;
}

/* %tid alone: its four components, for mov.v4. */
static bool set_special_vector(struct body *b, struct operand_text *t, const struct lex_name *name)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%.*s.x", (int)(name->n < 60 ? name->n : 60), name->s);
	enum ptx_sreg first = ptx_sreg_find(text, (uint32_t)n);
	if (first == PTX_NSREGS)
		return false;
	for (uint32_t k = 0; k < 4; k++) {
		if (k && !(t = new_operand(b, name->s, t->group, t->after_bar)))
			return false;
		t->o.kind = PTX_OPND_SREG;
		t->o.index = first + k;
	}
	return true;
}

/* %tid.x: the component belongs to the name. */
static bool set_special(struct body *b, struct operand_text *t, const struct lex_name *name)
{
	uint32_t n = name->n;
	const char *p = b->p.lx.p;
	if (p == name->s + n && p[0] == '.' && p[1] >= 'w' && p[1] <= 'z' &&
	    !(lex_class[(uint8_t)p[2]] & LEX_NAME))
		n += 2;
	enum ptx_sreg r = ptx_sreg_find(name->s, n);
	if (r == PTX_NSREGS)
		return set_special_vector(b, t, name);
	b->p.lx.p = name->s + n;
	t->o.kind = PTX_OPND_SREG;
	t->o.index = r;
	return true;
}

static int set_scoped(struct body *b, struct operand_text *t, const struct scope_entry *e)
{
	const struct ptx_func *f = b->p.f;
	if (e->kind == NAME_SYMBOL) {
		t->o.kind = PTX_OPND_SYMBOL;
		t->o.index = e->index;
		return 0;
	}
	t->o.kind = PTX_OPND_PARAM;
	t->o.index = e->kind == NAME_RET;
	t->o.imm = (e->kind == NAME_RET ? f->rets : f->params)[e->index].offset;
	return 0;
}

static int set_named(struct body *b, struct operand_text *t, const struct lex_name *name)
{
	uint32_t slot;
	int found = find_register(b, name->s, name->n, name->hash, &slot);
	if (found < 0)
		return found;
	if (found)
		return set_register(b, t, slot);
	if (name->n == 1 && name->s[0] == '_') {
		t->o.kind = PTX_OPND_SINK;
		return 0;
	}
	if (name->s[0] == '%' && set_special(b, t, name))
		return 0;
	const struct scope_entry *e = scope_find(&b->names, name->s, name->n, name->hash);
	if (e && e->kind == NAME_VECTOR)
		return set_vector(b, t, e->index);
	if (e)
		return set_scoped(b, t, e);
	const struct name_slot *global = name_table_find(&b->p.ms->names, name);
	if (!global)
		return body_fail(b, name->s, "unknown name '%.*s'", (int)name->n, name->s);
	t->o.kind = global->kind == NAME_FUNC ? PTX_OPND_FUNC : PTX_OPND_SYMBOL;
	t->o.index = global->index;
	return 0;
}

/* "+ constant" behind a name; adds to imm. */
static int offset(struct body *b, struct operand_text *t)
{
	const char *why;
	struct literal l;
	int c = lex_peek(&b->p.lx);
	if (c != '+' && c != '-')
		return 0;
	const char *at = b->p.lx.p;
	if (c == '+')
		b->p.lx.p++;
	if (!lex_constant(&b->p.lx, &l, &why) || l.kind != LITERAL_INT)
		return body_fail(b, at, "an offset must be an integer constant");
	t->o.imm += l.bits;
	return 0;
}

static bool starts_constant(struct body *b)
{
	int c = lex_peek(&b->p.lx);
	return lex_class[c] & LEX_DIGIT || c == '-' || c == '+' || c == '(' || c == '~' || c == '.' ||
	       (c == 'W' && !strncmp(b->p.lx.p, "WARP_SZ", 7));
}

/* "-" in front of a register (vmad) and not of a constant. */
static bool minus_register(struct body *b)
{
	struct lexer before = b->p.lx;
	if (!lex_accept(&b->p.lx, '-'))
		return false;
	int c = lex_peek(&b->p.lx);
	if (lex_class[c] & LEX_START && strncmp(b->p.lx.p, "WARP_SZ", 7) != 0)
		return true;
	b->p.lx = before;
	return false;
}

/* "!" belongs to a constant or negates a predicate. */
static bool negates_register(struct body *b)
{
	struct lexer before = b->p.lx;
	if (!lex_accept(&b->p.lx, '!'))
		return false;
	bool constant_follows = starts_constant(b) || lex_peek(&b->p.lx) == '!';
	if (constant_follows)
		b->p.lx = before;
	return !constant_follows;
}

static int scalar(struct body *b, struct operand_text *t)
{
	struct lex_name name;
	bool negate = negates_register(b) || minus_register(b);
	if (!negate && (starts_constant(b) || lex_peek(&b->p.lx) == '!'))
		return constant(b, t);
	if (!lex_name(&b->p.lx, &name))
		return body_fail(b, b->p.lx.p, "expected an operand");
	int rc = set_named(b, t, &name);
	t->o.negate = negate;
	return rc;
}

/* "%r1+4", "sym", "64"; in texture operations more of them, and vectors. */
static int address_item(struct body *b, uint16_t group, bool first)
{
	if (!first && lex_peek(&b->p.lx) == '{')
		return parse_operand(b, group, false);
	lex_peek(&b->p.lx);
	struct operand_text *t = new_operand(b, b->p.lx.p, group, false);
	if (!t)
		return -1;
	t->is_address = first;
	int rc = scalar(b, t);
	return rc ? rc : offset(b, t);
}

static int address(struct body *b, uint16_t group)
{
	b->p.lx.p++;
	bool first = true;
	do {
		int rc = address_item(b, group, first);
		if (rc)
			return rc;
		first = false;
	} while (lex_accept(&b->p.lx, ','));
	int rc = parser_expect(&b->p, ']');
	if (rc || *b->p.lx.p != '.')
		return rc;
	struct lex_name word;
	if (!lex_directive(&b->p.lx, &word) || !lex_is(&word, "unified"))
		return body_fail(b, b->p.lx.p, "expected '.unified'");
	b->unified = true;
	return 0;
}

/* array[n], array[r], array[r + n]: elements, not bytes (ISA 6.4.2). A register makes for instructions in front of this
 * one: its product with the element's size, added to the array's address. */
static int element(struct body *b, struct operand_text *t)
{
	const struct ptx_symbol *s = b->p.m->symbols[t->o.index];
	uint64_t size = ptx_type_bits(s->type) / 8;
	struct operand_text index = {.at = ++b->p.lx.p};
	int rc = scalar(b, &index);
	if (!rc)
		rc = offset(b, &index);
	if (rc || (rc = parser_expect(&b->p, ']')))
		return rc;
	t->is_element = true;
	if (index.is_literal || index.o.kind == PTX_OPND_VALUE)
		t->o.imm += index.o.imm * size;
	if (index.is_literal)
		return index.literal.kind == LITERAL_INT
			       ? 0
			       : body_fail(b, index.at, "the index of an array is an integer");
	if (index.o.kind != PTX_OPND_VALUE || (index.bits != 32 && index.bits != 64))
		return body_fail(b, index.at,
				 "the index of an array is a constant or a register of 32 or 64 bits");
	return index_by_register(b, t, &index, size);
}

static int vector(struct body *b, uint16_t group, bool after_bar)
{
	b->p.lx.p++;
	do {
		lex_peek(&b->p.lx);
		struct operand_text *t = new_operand(b, b->p.lx.p, group, after_bar);
		if (!t)
			return -1;
		int rc = scalar(b, t);
		if (rc)
			return rc;
	} while (lex_accept(&b->p.lx, ','));
	return parser_expect(&b->p, '}');
}

int parse_operand(struct body *b, uint16_t group, bool after_bar)
{
	int c = lex_peek(&b->p.lx);
	if (c == '[')
		return address(b, group);
	if (c == '{')
		return vector(b, group, after_bar);
	struct operand_text *t = new_operand(b, b->p.lx.p, group, after_bar);
	if (!t)
		return -1;
	int rc = scalar(b, t);
	if (rc || t->is_literal)
		return rc;
	if (t->o.kind == PTX_OPND_SYMBOL && lex_peek(&b->p.lx) == '[')
		return element(b, t);
	return t->o.kind == PTX_OPND_VALUE ? 0 : offset(b, t);
}
