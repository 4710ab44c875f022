/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/parse_body: the statements of a body: declarations, scopes, labels,
 * directives, instructions. */
#include <stdlib.h>
#include <string.h>

#include "ptx/body.h"

int body_fail(struct body *b, const char *at, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return parser_fail(&b->p, CUTRACE_EFORMAT, at, "%s", text);
}

/* Keeps the error that was just reported. An unknown name is reported where it is met first. 0, or an error with which
 * reading can't go on. */
static int keep_error(struct body *b)
{
	const struct diag *d = b->p.error;
	if (d->code == CUTRACE_ENOMEM)
		return d->code;
	if (!b->errors && !(b->errors = malloc(PTX_MAX_ERRORS * sizeof(*b->errors))))
		return parser_out_of_memory(&b->p);
	for (uint32_t k = 0; k < b->nerrors; k++)
		if (!strncmp(d->what, "unknown ", 8) && !strcmp(d->what, b->errors[k].what))
			return 0;
	b->errors[b->nerrors++] = *d;
	return b->nerrors == PTX_MAX_ERRORS ? d->code : 0;
}

/* To behind the statement that wasn't understood. A line that ended before its ';' is over when the next one has begun. */
static int recover(struct body *b, const char *start, uint32_t line)
{
	struct lexer *lx = &b->p.lx;
	int rc = keep_error(b);
	if (rc)
		return rc;
	if (lx->p == start)
		lx->p++;
	else if (lx->line > line && lex_class[lex_peek(lx)] & (LEX_START | LEX_OPCODE))
		return 0;
	for (int c; (c = lex_peek(lx), lx->p < lx->end) && c != '}' && c != ';'; lx->p++)
		if (c == '{' && !lex_skip_braces(lx))
			lx->p = lx->end;
		else if (c == '{')
			lx->p--;
	if (lx->p < lx->end && *lx->p == ';')
		lx->p++;
	return 0;
}

static int open_scope(struct body *b)
{
	if (b->depth >= PTX_MAX_DEPTH)
		return body_fail(b, b->p.lx.p, "scopes are nested more than %d deep", PTX_MAX_DEPTH);
	if (!grow(&b->open, &b->open_capacity, b->depth, sizeof(*b->open)) ||
	    !grow(&b->scope_parents, &b->scope_parents_capacity, b->nscopes, sizeof(*b->scope_parents)))
		return parser_out_of_memory(&b->p);
	b->open[b->depth++] = (struct body_scope){b->scope, b->names.nentries, b->call_param_bytes};
	b->scope_parents[b->nscopes] = b->scope;
	b->scope = b->nscopes++;
	b->p.lx.p++;
	return 0;
}

/* The names end, and the frame of call parameters is free again. */
static int close_scope(struct body *b)
{
	if (!b->depth)
		return body_fail(b, b->p.lx.p, "unexpected '}'");
	struct body_scope *s = &b->open[--b->depth];
	scope_close(&b->names, s->nentries);
	b->call_param_bytes = s->call_param_bytes;
	b->scope = s->id;
	b->p.lx.p++;
	return 0;
}

/* Places a variable in the function's frame of its space. */
static int place_variable(struct body *b, struct ptx_symbol *s)
{
	uint64_t *frame = s->space == PTX_SPACE_SHARED  ? &b->shared_bytes
			  : s->space == PTX_SPACE_LOCAL ? &b->local_bytes
			  : s->space == PTX_SPACE_PARAM ? &b->call_param_bytes
							: NULL;
	if (!frame || s->dynamic)
		return 0;
	s->offset = align_up(*frame, s->align);
	*frame = s->offset + s->size;
	if (*frame > UINT32_MAX)
		return body_fail(b, b->p.lx.p, "the variables of this function take more than 4 GiB");
	if (b->call_param_bytes > b->call_param_max)
		b->call_param_max = b->call_param_bytes;
	return 0;
}

static int name_variable(void *ctx, const struct lex_name *name, uint32_t index)
{
	struct body *b = ctx;
	int rc = scope_add(&b->names, name, NAME_SYMBOL, index, (uint16_t)b->depth);
	if (rc == CUTRACE_ENOMEM)
		return parser_out_of_memory(&b->p);
	if (rc)
		return body_fail(b, name->s, "'%.*s' is declared already", (int)name->n, name->s);
	return place_variable(b, b->p.m->symbols[index]);
}

static const struct {
	const char *word;
	uint8_t space;
} variable_spaces[] = {
	{"param", PTX_SPACE_PARAM},   {"shared", PTX_SPACE_SHARED}, {"local", PTX_SPACE_LOCAL},
	{"global", PTX_SPACE_GLOBAL}, {"const", PTX_SPACE_CONST},
};

static int skip_pragma(struct body *b)
{
	const char *s;
	size_t n;
	do {
		if (!lex_string(&b->p.lx, &s, &n))
			return body_fail(b, b->p.lx.p, "expected a string");
	} while (lex_accept(&b->p.lx, ','));
	return parser_expect(&b->p, ';');
}

static int skip_statement(struct body *b)
{
	while (lex_peek(&b->p.lx) != ';' && b->p.lx.p < b->p.lx.end)
		b->p.lx.p++;
	return parser_expect(&b->p, ';');
}

static int parse_body_directive(struct body *b)
{
	struct lex_name w;
	enum ptx_linkage linkage = PTX_LINK_LOCAL;
	if (!lex_directive(&b->p.lx, &w))
		return body_fail(b, b->p.lx.p, "expected a directive");
	if (lex_is(&w, "reg"))
		return declare_registers(b);
	if (lex_is(&w, "loc"))
		return parse_loc(&b->p, &b->loc);
	if (lex_is(&w, "pragma"))
		return skip_pragma(b);
	if (lex_is(&w, "extern") || lex_is(&w, "visible") || lex_is(&w, "weak")) {
		linkage = w.s[0] == 'e' ? PTX_LINK_EXTERN : PTX_LINK_LOCAL;
		if (!lex_directive(&b->p.lx, &w))
			return body_fail(b, b->p.lx.p, "expected a variable");
	}
	if (lex_is(&w, "param") && b->p.f->is_entry && b->p.m->version < 14)
		return skip_statement(b); /* the kernel's own, see parse_func.c */
	for (size_t i = 0; i < sizeof(variable_spaces) / sizeof(variable_spaces[0]); i++)
		if (lex_is(&w, variable_spaces[i].word))
			return parse_variables(&b->p, variable_spaces[i].space, linkage, b->func_index,
					       name_variable, b);
	return body_fail(b, w.s - 1, "unknown directive '.%.*s'", (int)w.n, w.s);
}

static int parse_guarded(struct body *b)
{
	struct lexer *lx = &b->p.lx;
	struct lex_name name;
	uint32_t slot;
	if (lx->p[1] == '@') { /* @@DWARF lines of ISA 1.x */
		while (lx->p < lx->end && *lx->p != '\n')
			lx->p++;
		return 0;
	}
	lx->p++;
	bool negate = lex_accept(lx, '!');
	if (!lex_name(lx, &name))
		return body_fail(b, lx->p, "expected a predicate");
	int found = find_register(b, name.s, name.n, name.hash, &slot);
	if (found < 0)
		return found;
	if (!found)
		return body_fail(b, name.s, "unknown predicate '%.*s'", (int)name.n, name.s);
	if (b->slots[slot].bits != 1)
		return body_fail(b, name.s, "'%.*s' is not a predicate", (int)name.n, name.s);
	return parse_instruction(b, true, negate, slot);
}

static int define_label(struct body *b, const struct lex_name *name)
{
	struct lex_name w;
	struct lexer before;
	lex_peek(&b->p.lx);
	before = b->p.lx;
	if (*before.p == '.' && lex_directive(&b->p.lx, &w) &&
	    (lex_is(&w, "branchtargets") || lex_is(&w, "calltargets") || lex_is(&w, "callprototype")))
		return parse_list(b, name, &w);
	b->p.lx = before;
	int rc = label_add(&b->labels, name, b->scope, b->ninsts, false);
	if (rc == CUTRACE_ENOMEM)
		return parser_out_of_memory(&b->p);
	if (rc)
		return body_fail(b, name->s, "label '%.*s' is defined already", (int)name->n, name->s);
	return 0;
}

static int parse_word(struct body *b)
{
	struct lexer before = b->p.lx;
	struct lex_name name;
	if (!lex_name(&b->p.lx, &name))
		return body_fail(b, b->p.lx.p, "expected a statement");
	if (*b->p.lx.p != '.' && lex_peek(&b->p.lx) == ':' && b->p.lx.p[1] != ':') {
		if (lex_is(&name, "_"))
			return body_fail(b, name.s, "'_' can't be a label");
		b->p.lx.p++;
		return define_label(b, &name);
	}
	b->p.lx = before;
	return parse_instruction(b, false, false, PTX_NONE);
}

static int parse_statement(struct body *b, int c)
{
	switch (c) {
	case '{': return open_scope(b);
	case '}': return close_scope(b);
	case '.': return parse_body_directive(b);
	case '@': return parse_guarded(b);
	case ';': b->p.lx.p++; return 0;
	default: return parse_word(b);
	}
}

static const struct label *resolve(const struct body *b, const struct body_reference *r)
{
	for (uint32_t scope = r->scope;; scope = b->scope_parents[scope]) {
		const struct label *l = label_find(&b->labels, &r->name, scope);
		if (l || !scope)
			return l;
	}
}

/* Turns references into instruction and list indices. */
static int resolve_references(struct body *b)
{
	for (uint32_t i = 0; i < b->nreferences; i++) {
		struct body_reference *r = &b->references[i];
		const struct label *l = resolve(b, r);
		if (!l || l->is_list != (r->kind == REFERENCE_TABLE)) {
			if (!l)
				body_fail(b, r->name.s, "unknown label '%.*s'", (int)r->name.n, r->name.s);
			else
				body_fail(b, r->name.s, "'%.*s' is not a %s", (int)r->name.n, r->name.s,
					  l->is_list ? "place in the code"
						     : "list of targets or a prototype");
			int rc = keep_error(b);
			if (rc)
				return rc;
			continue;
		}
		if (r->kind == REFERENCE_TARGET)
			b->insts[r->inst].target = l->inst;
		else if (r->kind == REFERENCE_TABLE)
			b->insts[r->inst].table = l->inst;
		else
			b->lists[r->list].items[r->item] = l->inst;
	}
	return 0;
}

/* brx.idx must have a list of labels, a call functions or a prototype. */
static int check_tables(struct body *b)
{
	for (uint32_t k = 0; k < b->ninsts; k++) {
		const struct ptx_inst *i = &b->insts[k];
		if (i->op == PTX_OP_BRX_IDX && !b->lists[i->table].n)
			return body_fail(b, b->p.lx.p, "line %u: 'brx.idx' needs a list of targets", i->line);
	}
	return 0;
}

static bool falls_off(const struct body *b)
{
	if (!b->ninsts)
		return true;
	const struct ptx_inst *last = &b->insts[b->ninsts - 1];
	bool ends = last->op == PTX_OP_RET || last->op == PTX_OP_EXIT || last->op == PTX_OP_BRA ||
		    last->op == PTX_OP_BRX_IDX;
	if (!ends || last->guarded)
		return true;
	for (uint32_t i = 0; i < b->labels.nlabels; i++)
		if (!b->labels.labels[i].is_list && b->labels.labels[i].inst == b->ninsts)
			return true;
	return false;
}

/* Running off the end returns. */
static int finish(struct body *b)
{
	if (!falls_off(b))
		return 0;
	if (!grow(&b->insts, &b->insts_capacity, b->ninsts, sizeof(*b->insts)))
		return parser_out_of_memory(&b->p);
	struct ptx_inst i = {.op = PTX_OP_RET,
			     .vec = 1,
			     .target = PTX_NONE,
			     .table = PTX_NONE,
			     .guard = PTX_NONE,
			     .line = b->p.lx.line,
			     .col = lex_column(&b->p.lx, b->p.lx.p),
			     .loc = b->loc,
			     .mods = "ret"};
	b->noperands = 0;
	int rc = store_operands(b, &i);
	if (!rc)
		b->insts[b->ninsts++] = i;
	return rc;
}

int parse_body(struct body *b)
{
	int c, rc = 0;
	while (!rc && (c = lex_peek(&b->p.lx), b->p.lx.p < b->p.lx.end)) {
		const char *start = b->p.lx.p;
		uint32_t line = b->p.lx.line;
		if (parse_statement(b, c))
			rc = recover(b, start, line);
	}
	if (!rc && b->depth && body_fail(b, b->p.lx.p, "a scope is not closed"))
		rc = keep_error(b);
	if (rc || (rc = finish(b)) || (rc = resolve_references(b)))
		return rc;
	return b->nerrors ? b->errors[0].code : check_tables(b);
}
