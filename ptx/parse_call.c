/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/parse_call: the operands of call (ISA 9.7.12.5), and the lists that
 * indirect calls and branches refer to. */
#include <stdlib.h>
#include <string.h>

#include "ptx/body.h"

enum { MAX_LABEL_RANGE = 1 << 16 };

/* "(a, b)": registers, .param variables, constants. Returns the number of operands or a negative error. */
static int argument_list(struct body *b, uint16_t group)
{
	uint32_t before = b->noperands;
	b->p.lx.p++;
	while (lex_peek(&b->p.lx) != ')') {
		int rc = parse_operand(b, group, false);
		if (rc)
			return rc;
		if (!lex_accept(&b->p.lx, ','))
			break;
	}
	int rc = parser_expect(&b->p, ')');
	return rc ? rc : (int)(b->noperands - before);
}

static bool is_argument(const struct operand_text *t)
{
	return t->o.kind == PTX_OPND_VALUE || t->o.kind == PTX_OPND_IMM || t->o.kind == PTX_OPND_SYMBOL ||
	       t->o.kind == PTX_OPND_PARAM || t->o.kind == PTX_OPND_SREG;
}

/* A variable is passed whole. */
static bool has_offset(const struct body *b, const struct operand_text *t)
{
	return t->o.kind == PTX_OPND_SYMBOL && t->o.imm &&
	       b->p.m->symbols[t->o.index]->space == PTX_SPACE_PARAM;
}

static uint64_t argument_bytes(const struct body *b, const struct operand_text *t)
{
	return t->o.kind == PTX_OPND_SYMBOL ? b->p.m->symbols[t->o.index]->size : 0;
}

/* An argument passed in memory must have the size that the callee expects. */
static int check_arguments(struct body *b, const struct ptx_param *params, uint32_t n, uint32_t first,
			   uint32_t count, const char *what)
{
	bool left_out = count + 1 == n && ptx_has_open_param(params, n);
	if (count != n && !left_out)
		return body_fail(b, b->statement, "this call has %u %s, the function %u", count, what, n);
	for (uint32_t k = 0; k < count; k++) {
		struct operand_text *t = &b->operands[first + k];
		if (t->o.select || (t->o.negate && t->bits != 1))
			return body_fail(b, t->at, "a call takes whole registers, as they are");
		uint64_t bytes = argument_bytes(b, t);
		if (bytes && params[k].size && bytes < params[k].size)
			return body_fail(b, t->at, "this argument has %llu bytes, the function expects %u",
					 (unsigned long long)bytes, params[k].size);
		if (params[k].is_open && (!bytes || bytes > PTX_OPEN_PARAM_BYTES))
			return body_fail(b, t->at,
					 "what is passed as '%s' must be an array of at most %d bytes",
					 params[k].name, PTX_OPEN_PARAM_BYTES);
		if (!t->is_literal)
			continue;
		const char *why = literal_to_bits(&t->literal, params[k].type, &t->o.imm);
		if (why)
			return body_fail(b, t->at, "%s", why);
	}
	return 0;
}

static int check_callee(struct body *b, struct ptx_inst *i)
{
	const struct ptx_func *callee = b->p.m->funcs[i->target];
	int rc = check_arguments(b, callee->rets, callee->nrets, 0, i->ndst, "results");
	return rc ? rc : check_arguments(b, callee->params, callee->nparams, i->ndst, i->nsrc, "arguments");
}

/* The name of a function, or a register that holds its address. Moves the address in front of the arguments.
 */
static int read_callee(struct body *b, struct ptx_inst *i, struct operand_text *address)
{
	uint32_t slot = b->noperands;
	int rc = parse_operand(b, 1, false);
	if (rc)
		return rc;
	*address = b->operands[slot];
	if (address->o.kind == PTX_OPND_FUNC) {
		if (b->p.m->funcs[address->o.index]->is_entry)
			return body_fail(b, address->at, "an entry can't be called");
		b->noperands = slot;
		i->target = address->o.index;
		return 0;
	}
	if (address->o.kind != PTX_OPND_VALUE)
		return body_fail(b, address->at, "expected a function or a register with its address");
	i->nsrc = 1;
	return 0;
}

int parse_call(struct body *b, struct ptx_inst *i)
{
	struct operand_text callee;
	int n = 0, rc;
	if (lex_peek(&b->p.lx) == '(') {
		n = argument_list(b, 0);
		if (n < 0)
			return n;
		if ((rc = parser_expect(&b->p, ',')))
			return rc;
	}
	i->ndst = (uint8_t)n;
	if ((rc = read_callee(b, i, &callee)))
		return rc;
	bool list = lex_accept(&b->p.lx, ',');
	if (list && lex_peek(&b->p.lx) == '(') {
		int args = argument_list(b, 2);
		if (args < 0)
			return args;
		if (args + n > UINT8_MAX - 2)
			return body_fail(b, b->statement, "a call with more than %d operands", UINT8_MAX - 2);
		i->nsrc += (uint8_t)args;
		list = lex_accept(&b->p.lx, ',');
	}
	for (uint32_t k = 0; k < b->noperands; k++) {
		const struct operand_text *t = &b->operands[k];
		if ((!is_argument(t) && t->o.kind != PTX_OPND_SINK) || has_offset(b, t))
			return body_fail(b, t->at, "this can't be an argument of a call");
	}
	if (list) { /* prototype or targets of an indirect call */
		struct body_reference r = {.scope = b->scope, .kind = REFERENCE_TABLE, .inst = b->ninsts};
		if (!lex_name(&b->p.lx, &r.name))
			return body_fail(b, b->p.lx.p, "expected the label of a prototype");
		return add_reference(b, &r);
	}
	return i->target == PTX_NONE ? body_fail(b, callee.at, "an indirect call needs a prototype")
				     : check_callee(b, i);
}

static int add_item(struct body *b, struct ptx_list *l, uint32_t *capacity, uint32_t item)
{
	if (!grow(&l->items, capacity, l->n, sizeof(*l->items)))
		return parser_out_of_memory(&b->p);
	l->items[l->n++] = item;
	return 0;
}

static int add_label(struct body *b, struct ptx_list *l, uint32_t *capacity, const struct lex_name *name)
{
	struct body_reference r = {
		.name = *name, .scope = b->scope, .kind = REFERENCE_ITEM, .list = b->nlists, .item = l->n};
	int rc = add_reference(b, &r);
	return rc ? rc : add_item(b, l, capacity, 0);
}

/* "N<5>" is N0, N1, ... N4 (ISA 11.3.1). */
static int add_labels(struct body *b, struct ptx_list *l, uint32_t *capacity, const struct lex_name *prefix)
{
	uint64_t count;
	lex_peek(&b->p.lx);
	const char *at = b->p.lx.p;
	if (!lex_uint(&b->p.lx, &count) || count > MAX_LABEL_RANGE)
		return body_fail(b, at, "expected the number of labels, at most %d", MAX_LABEL_RANGE);
	int rc = parser_expect(&b->p, '>');
	for (uint64_t k = 0; k < count && !rc; k++) {
		char *s = arena_printf(&b->p.m->arena, "%.*s%u", (int)prefix->n, prefix->s, (unsigned)k);
		if (!s)
			return parser_out_of_memory(&b->p);
		struct lex_name name = {s, (uint32_t)strlen(s), 0};
		name.hash = lex_hash(name.s, name.n);
		rc = add_label(b, l, capacity, &name);
	}
	return rc;
}

static int read_target(struct body *b, struct ptx_list *l, uint32_t *capacity)
{
	struct lex_name name;
	lex_peek(&b->p.lx);
	const char *at = b->p.lx.p;
	if (!lex_name(&b->p.lx, &name))
		return body_fail(b, at, "expected a name");
	if (!l->is_functions)
		return lex_accept(&b->p.lx, '<') ? add_labels(b, l, capacity, &name)
						 : add_label(b, l, capacity, &name);
	const struct name_slot *slot = name_table_find(&b->p.ms->names, &name);
	if (!slot || slot->kind != NAME_FUNC)
		return body_fail(b, at, "unknown function '%.*s'", (int)name.n, name.s);
	return add_item(b, l, capacity, slot->index);
}

/* .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn; */
static int read_prototype(struct body *b, struct ptx_list *l, bool *noreturn)
{
	uint32_t bytes;
	struct lex_name name, word;
	int rc = lex_peek(&b->p.lx) == '(' ? parse_params(&b->p, false, &l->rets, &l->nrets, &bytes) : 0;
	if (rc)
		return rc;
	if (!lex_name(&b->p.lx, &name))
		return body_fail(b, b->p.lx.p, "expected '_'");
	if (lex_peek(&b->p.lx) == '(' && (rc = parse_params(&b->p, false, &l->params, &l->nparams, &bytes)))
		return rc;
	while (lex_directive(&b->p.lx, &word)) {
		uint64_t value;
		*noreturn |= lex_is(&word, "noreturn");
		if (!lex_is(&word, "noreturn"))
			lex_uint(&b->p.lx, &value); /* .abi_preserve n */
	}
	return 0;
}

int parse_list(struct body *b, const struct lex_name *label, const struct lex_name *directive)
{
	uint32_t capacity = 0, flags_capacity = b->lists_capacity;
	bool noreturn = false;
	int rc = 0;
	if (!grow(&b->lists, &b->lists_capacity, b->nlists, sizeof(*b->lists)) ||
	    !grow(&b->list_noreturn, &flags_capacity, b->nlists, sizeof(*b->list_noreturn)))
		return parser_out_of_memory(&b->p);
	struct ptx_list l = {0};
	if (lex_is(directive, "callprototype")) {
		l.is_prototype = true;
		rc = read_prototype(b, &l, &noreturn);
	} else {
		l.is_functions = lex_is(directive, "calltargets");
		do {
			rc = read_target(b, &l, &capacity);
		} while (!rc && lex_accept(&b->p.lx, ','));
	}
	b->list_noreturn[b->nlists] = noreturn;
	b->lists[b->nlists++] = l; /* kept on failure too, so that its memory is freed with the body */
	if (rc)
		return rc;
	rc = label_add(&b->labels, label, b->scope, b->nlists - 1, true);
	if (rc == CUTRACE_ENOMEM)
		return parser_out_of_memory(&b->p);
	if (rc)
		return body_fail(b, label->s, "label '%.*s' is defined already", (int)label->n, label->s);
	return parser_expect(&b->p, ';');
}
