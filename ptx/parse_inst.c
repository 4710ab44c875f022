/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/parse_inst: one instruction: opcode, operands, and the fields of struct
 * ptx_inst that follow from them. */
#include <string.h>

#include "ptx/body.h"
#include "ptx/op_table.h"

int add_reference(struct body *b, const struct body_reference *r)
{
	if (!grow(&b->references, &b->references_capacity, b->nreferences, sizeof(*b->references)))
		return parser_out_of_memory(&b->p);
	b->references[b->nreferences++] = *r;
	return 0;
}

/* "ld.const[2].f32": the number of the bank (ISA 5.1.3.1) changes nothing. */
static bool skip_bank(struct lexer *lx)
{
	const char *p = lx->p;
	if (*p != '[' || lx->end - p < 4)
		return false;
	for (p++; lex_class[(uint8_t)*p] & LEX_DIGIT; p++)
		;
	if (p[0] != ']' || p[1] != '.')
		return false;
	lx->p = p + 1;
	return true;
}

/* "ld .global .u32": blanks between the parts are legal and rare. */
static const struct ptx_inst *spaced_opcode(struct body *b, const char *start)
{
	char text[256];
	size_t n = 0;
	struct lexer *lx = &b->p.lx;
	lx->p = start;
	while (lex_class[(uint8_t)*lx->p] & LEX_OPCODE || (n && lex_peek(lx) == '.')) {
		if (n == sizeof(text)) {
			body_fail(b, start, "an opcode of more than %zu characters", sizeof(text));
			return NULL;
		}
		text[n++] = *lx->p++;
		skip_bank(lx);
	}
	char *copy = arena_strndup(&b->p.m->arena, text, n);
	if (!copy) {
		parser_out_of_memory(&b->p);
		return NULL;
	}
	return opcode_lookup(&b->p, copy, (uint32_t)n, lex_hash(copy, n));
}

static const struct ptx_inst *read_opcode(struct body *b)
{
	struct lexer *lx = &b->p.lx;
	const char *start = lx->p, *p = start;
	uint32_t h = LEX_HASH_INIT;
	while (lex_class[(uint8_t)*p] & LEX_OPCODE) {
		h = LEX_HASH_ADD(h, *p);
		p++;
	}
	lx->p = p;
	if (lex_peek(lx) == '.' || (*lx->p == '[' && skip_bank(lx)))
		return spaced_opcode(b, start);
	return opcode_lookup(&b->p, start, (uint32_t)(p - start), h);
}

static int read_operands(struct body *b)
{
	uint16_t group = 0;
	bool after_bar = false;
	if (lex_peek(&b->p.lx) == ';')
		return 0;
	for (;;) {
		int rc = parse_operand(b, group, after_bar);
		if (rc)
			return rc;
		after_bar = lex_accept(&b->p.lx, '|');
		if (after_bar)
			continue;
		group++;
		if (!lex_accept(&b->p.lx, ',')) {
			b->ngroups = group;
			return 0;
		}
	}
}

static int read_label(struct body *b, int kind)
{
	struct body_reference r = {.scope = b->scope, .kind = kind, .inst = b->ninsts};
	if (!lex_name(&b->p.lx, &r.name))
		return body_fail(b, b->p.lx.p, "expected a label");
	return add_reference(b, &r);
}

/* brx.idx index, table; */
static int read_branch_table(struct body *b, struct ptx_inst *i)
{
	int rc = parse_operand(b, 0, false);
	if (rc || (rc = parser_expect(&b->p, ',')) || (rc = read_label(b, REFERENCE_TABLE)))
		return rc;
	if (b->noperands != 1 || b->operands[0].is_address ||
	    (b->operands[0].bits && b->operands[0].bits != 32))
		return body_fail(b, b->statement, "'%s' needs a 32-bit index and a table", i->mods);
	i->nsrc = 1;
	return 0;
}

static int read_all(struct body *b, struct ptx_inst *i)
{
	int rc;
	switch (i->op) {
	case PTX_OP_BRA: return read_label(b, REFERENCE_TARGET);
	case PTX_OP_BRX_IDX: return read_branch_table(b, i);
	case PTX_OP_CALL: return parse_call(b, i);
	default: rc = read_operands(b); return rc ? rc : match_operands(b, i);
	}
}

/* Operands that modifiers imply: the carry, last in dst and in src; the values that `ret` returns in
 * registers. */
static int implied_operands(struct body *b, struct ptx_inst *i, bool *carry_out, bool *carry_in)
{
	*carry_out = i->flags & PTX_F_CC;
	*carry_in = i->flags & PTX_F_CARRY_IN;
	const struct ptx_func *f = b->p.f;
	if (i->op != PTX_OP_RET)
		return 0;
	for (uint32_t k = 0; k < f->nrets && b->noperands < UINT8_MAX - 1; k++) {
		if (f->rets[k].slot == PTX_NONE)
			continue;
		struct operand_text *t = &b->operands[b->noperands++];
		memset(t, 0, sizeof(*t));
		t->o = (struct ptx_operand){.kind = PTX_OPND_VALUE, .index = f->rets[k].slot};
		i->nsrc++;
	}
	return 0;
}

/* Where the coordinates of a texture or surface end: what follows in brackets, or in old text (ISA 9.7.10.3, notes) the
 * reference and the next operand. */
static uint8_t bracketed(const struct body *b, const struct ptx_inst *i)
{
	const struct operand_text *t = &b->operands[i->ndst];
	uint16_t last = t->group;
	unsigned n = 0;
	if (!(ptx_op_rows[i->op].modifiers >> PTX_CLASS_GEOMETRY & 1) || !i->nsrc)
		return i->layout;
	if (!t->is_address)
		last++;
	while (n < i->nsrc && t[n].group <= last)
		n++;
	return (uint8_t)n;
}

int store_operands(struct body *b, struct ptx_inst *i)
{
	bool carry_out, carry_in;
	uint32_t cc = 0;
	int rc = implied_operands(b, i, &carry_out, &carry_in);
	if (rc || ((carry_out || carry_in) && (rc = carry_slot(b, &cc))))
		return rc;
	unsigned total = i->ndst + i->nsrc + carry_out + carry_in;
	struct ptx_operand *out = arena_alloc(&b->p.m->arena, total ? total * sizeof(*out) : 1, 8);
	if (!out)
		return parser_out_of_memory(&b->p);
	const struct ptx_operand carry = {.kind = PTX_OPND_VALUE, .index = cc};
	i->dst = out;
	for (unsigned k = 0; k < i->ndst; k++)
		*out++ = b->operands[k].o;
	if (carry_out)
		*out++ = carry;
	i->src = out;
	i->layout = bracketed(b, i);
	for (unsigned k = 0; k < i->nsrc; k++)
		*out++ = b->operands[i->ndst + k].o;
	if (carry_in)
		*out++ = carry;
	if (i->nsrc && i->src[0].kind == PTX_OPND_VALUE && b->operands[i->ndst].is_address)
		i->offset = (int64_t)i->src[0].imm;
	i->ndst += carry_out;
	i->nsrc += carry_in;
	return 0;
}

/* Parameters and the variables of calls lie at places fixed now: nothing is checked when they are read. */
static int check_bounds(struct body *b, const struct ptx_inst *i, const struct operand_text *t)
{
	const struct ptx_func *f = b->p.f;
	uint64_t element = ptx_type_bits(i->type) / 8, bytes = element * (i->vec ? i->vec : 1), size;
	if (t->o.kind == PTX_OPND_PARAM)
		size = t->o.index ? f->ret_bytes : f->param_bytes;
	else if (t->o.kind == PTX_OPND_SYMBOL && b->p.m->symbols[t->o.index]->space == PTX_SPACE_PARAM)
		size = b->p.m->symbols[t->o.index]->size;
	else
		return 0;
	if (t->o.kind == PTX_OPND_PARAM && !t->o.index && ptx_has_open_param(f->params, f->nparams))
		return 0; /* values[]: as long as the caller made it (ISA 11.2.2) */
	if (element && t->o.imm % element)
		return body_fail(b, t->at, "%llu bytes at offset %lld are not aligned",
				 (unsigned long long)element, (long long)t->o.imm);
	if (bytes <= size && t->o.imm <= size - bytes)
		return 0;
	return body_fail(b, t->at, "%llu bytes at offset %lld are outside the %llu bytes of %s",
			 (unsigned long long)bytes, (long long)t->o.imm, (unsigned long long)size,
			 t->o.kind == PTX_OPND_SYMBOL ? "the variable" : "the parameters");
}

/* Places that can't be written or read this way. */
static int check_space(struct body *b, const struct ptx_inst *i)
{
	const struct operand_text *t = &b->operands[i->ndst];
	bool is_access = i->op == PTX_OP_LD || i->op == PTX_OP_ST;
	if (!is_access || !i->nsrc)
		return 0;
	if (t->o.kind == PTX_OPND_PARAM && i->space != PTX_SPACE_PARAM)
		return body_fail(b, t->at, "a parameter needs '%s.param'", i->op == PTX_OP_LD ? "ld" : "st");
	if (i->space == PTX_SPACE_CONST && i->op == PTX_OP_ST)
		return body_fail(b, b->statement, "constant memory can't be written");
	if (t->o.kind == PTX_OPND_FUNC)
		return body_fail(b, t->at, "a function can't be read or written");
	return check_bounds(b, i, t);
}

int parse_instruction(struct body *b, bool guarded, bool negate, uint32_t guard)
{
	struct lexer *lx = &b->p.lx;
	lex_peek(lx);
	b->statement = lx->p;
	b->line = lx->line;
	b->col = lex_column(lx, lx->p);
	b->noperands = b->ngroups = 0;
	b->unified = false;
	const struct ptx_inst *fields = read_opcode(b);
	if (!fields)
		return b->p.error->code;
	struct ptx_inst i = *fields;
	i.guarded = guarded;
	i.guard_negate = negate;
	i.guard = guard;
	i.target = i.table = PTX_NONE;
	i.line = b->line;
	i.col = b->col;
	i.loc = b->loc;
	int rc = read_all(b, &i);
	if (rc || (rc = check_space(b, &i)) || (rc = parser_expect(&b->p, ';')))
		return rc;
	if (b->unified && i.op != PTX_OP_LD)
		return body_fail(b, b->statement, "only 'ld' takes '.unified'");
	i.flags |= b->unified ? PTX_F_UNIFIED : 0;
	if (i.op == PTX_OP_MOV && i.vec > 1)
		return expand_vector_move(b, &i);
	/* Its operands may have needed instructions of their own (expand.c). */
	if ((rc = store_operands(b, &i)))
		return rc;
	if (!grow(&b->insts, &b->insts_capacity, b->ninsts, sizeof(*b->insts)))
		return parser_out_of_memory(&b->p);
	b->insts[b->ninsts++] = i;
	return 0;
}
