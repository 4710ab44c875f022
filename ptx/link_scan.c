/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits a module, which has been parsed without errors, into the pieces of text that its symbols are made of (ISA
 * chapters 4.2, 5.4, 11). */
#include <stdlib.h>
#include <string.h>

#include "ptx/link_parts.h"
#include "ptx/parse.h"

struct scan {
	struct link *l;
	struct link_module *m;
	struct lexer lx;
};

static int not_understood(struct scan *s)
{
	return link_fail(s->l, s->m, CUTRACE_ENOTSUP, s->lx.p, "this can't be linked");
}

/* Of two pieces for one name, the one that is more of a definition. */
static unsigned rank(const struct link_symbol *s)
{
	if (!s->defined)
		return 0;
	return s->linkage == PTX_LINK_WEAK || s->linkage == PTX_LINK_COMMON ? 1 : 2;
}

static int grow_symbols(struct link_module *m)
{
	uint32_t capacity = m->symbols_capacity ? m->symbols_capacity * 2 : 64;
	struct link_symbol *grown = realloc(m->symbols, capacity * sizeof(*grown));
	if (!grown)
		return CUTRACE_ENOMEM;
	m->symbols = grown;
	m->symbols_capacity = capacity;
	return 0;
}

/* The parser's view of a name; with an alias that of the function it stands for. */
static bool describe(struct link_module *m, struct link_symbol *s)
{
	const struct name_slot *slot = name_table_find(&module_state(m->ptx)->names, &s->name);
	if (s->kind == LINK_LABEL)
		return true;
	if (!slot || (slot->kind == NAME_SYMBOL) != (s->kind == LINK_VARIABLE))
		return false;
	if (s->kind == LINK_VARIABLE)
		s->var = m->ptx->symbols[slot->index];
	else
		s->func = m->ptx->funcs[slot->index];
	return true;
}

static int add(struct scan *s, struct link_symbol *new)
{
	struct link_module *m = s->m;
	struct link_symbol *old = link_find(m, &new->name);
	new->global = PTX_NONE;
	if (!describe(m, new))
		return not_understood(s);
	if (old) {
		if (rank(new) > rank(old))
			*old = *new;
		return 0;
	}
	if ((m->nsymbols == m->symbols_capacity && grow_symbols(m)) ||
	    name_table_put(&m->names, &new->name, NAME_SYMBOL, m->nsymbols))
		return link_out_of_memory(s->l);
	m->symbols[m->nsymbols++] = *new;
	return 0;
}

static bool skip_parens(struct lexer *lx)
{
	if (!lex_accept(lx, '(') || !lex_skip_to(lx, ")"))
		return false;
	lx->p++;
	return true;
}

/* ".func (rets) name (params) .noreturn ;" or "{...}"; `head` is where ".func" begins. */
static int scan_function(struct scan *s, const char *head, bool is_entry, uint8_t linkage)
{
	struct link_symbol new = {.kind = is_entry ? LINK_ENTRY : LINK_FUNC, .linkage = linkage};
	struct lex_name word;
	if (lex_directive(&s->lx, &word) && !skip_parens(&s->lx)) /* .attribute(...) */
		return not_understood(s);
	if (lex_peek(&s->lx) == '(' && !skip_parens(&s->lx))
		return not_understood(s);
	if (!lex_name(&s->lx, &new.name))
		return not_understood(s);
	new.line = s->lx.line;
	if (!lex_skip_to(&s->lx, ";{"))
		return not_understood(s);
	new.head = (struct link_span){head, s->lx.p};
	if (*s->lx.p == '{') {
		new.defined = true;
		new.body.begin = s->lx.p;
		if (!lex_skip_braces(&s->lx))
			return not_understood(s);
		new.body.end = s->lx.p;
	} else {
		s->lx.p++;
	}
	return add(s, &new);
}

/* ".global .attribute(.managed) .align 8 .v2 .u32"; .const[2] of ISA 1.x loses its bank. */
static bool scan_type(struct lexer *lx)
{
	struct lex_name word;
	uint64_t n;
	if (lx->p < lx->end && lex_accept(lx, '[') && (!lex_uint(lx, &n) || !lex_accept(lx, ']')))
		return false;
	while (lex_directive(lx, &word)) {
		if (lex_is(&word, "align") && !lex_uint(lx, &n))
			return false;
		if (lex_is(&word, "attribute") && !skip_parens(lx))
			return false;
	}
	return true;
}

static int scan_variables(struct scan *s, const char *head, uint8_t linkage)
{
	struct link_symbol new = {
		.kind = LINK_VARIABLE, .linkage = linkage, .defined = linkage != PTX_LINK_EXTERN};
	new.head.begin = head;
	if (!scan_type(&s->lx))
		return not_understood(s);
	lex_peek(&s->lx);
	new.head.end = s->lx.p;
	do {
		lex_peek(&s->lx);
		new.body.begin = s->lx.p;
		if (!lex_name(&s->lx, &new.name))
			return not_understood(s);
		new.line = s->lx.line;
		if (!lex_skip_to(&s->lx, ",;"))
			return not_understood(s);
		new.body.end = s->lx.p;
		int rc = add(s, &new);
		if (rc)
			return rc;
	} while (lex_accept(&s->lx, ','));
	return lex_accept(&s->lx, ';') ? 0 : not_understood(s);
}

static int scan_alias(struct scan *s)
{
	struct link_symbol new = {.kind = LINK_FUNC, .defined = true};
	const struct link_symbol *declared;
	new.line = s->lx.line;
	if (!lex_name(&s->lx, &new.name) || !lex_accept(&s->lx, ',') || !lex_name(&s->lx, &new.alias_of) ||
	    !lex_accept(&s->lx, ';'))
		return not_understood(s);
	declared = link_find(s->m, &new.name);
	if (declared && declared->defined)
		return link_fail(s->l, s->m, CUTRACE_EINVAL, new.name.s,
				 "'%.*s' is defined already, in line %u", (int)new.name.n, new.name.s,
				 declared->line);
	if (declared) { /* ISA 11.1.5: the alias is declared first, which says who sees it */
		new.head = declared->head;
		new.linkage = declared->linkage == PTX_LINK_EXTERN ? PTX_LINK_VISIBLE : declared->linkage;
	}
	return add(s, &new);
}

/* The labels of .debug_str: names that .loc refers to. */
static int scan_labels(struct scan *s, const struct link_span *section)
{
	struct link_symbol new = {.kind = LINK_LABEL, .defined = true};
	struct lexer lx;
	lex_init(&lx, section->begin, section->end, 1);
	while (lex_peek(&lx) && lx.p < lx.end) {
		if (!lex_name(&lx, &new.name)) {
			lx.p++;
			while (lx.p < lx.end && lex_class[(uint8_t)*lx.p] & LEX_NAME)
				lx.p++;
		} else if (lex_accept(&lx, ':')) {
			int rc = add(s, &new);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int scan_section(struct scan *s)
{
	struct lex_name name;
	if (!lex_directive(&s->lx, &name) || lex_peek(&s->lx) != '{')
		return not_understood(s);
	struct link_span inside = {s->lx.p + 1, NULL};
	if (!lex_skip_braces(&s->lx))
		return not_understood(s);
	inside.end = s->lx.p - 1;
	if (!lex_is(&name, "debug_str"))
		return 0;
	s->m->debug_str = inside;
	return scan_labels(s, &inside);
}

static int scan_pragma(struct scan *s)
{
	lex_peek(&s->lx);
	s->m->pragma.begin = s->lx.p;
	if (!lex_skip_to(&s->lx, ";"))
		return not_understood(s);
	s->m->pragma.end = s->lx.p++;
	return 0;
}

/* .version 9.0, .target sm_90a, debug, .address_size 64, .file 1 "a.cu": the parser knows them; here they are
 * passed over. */
static int scan_header(struct scan *s)
{
	struct lexer *lx = &s->lx;
	const char *string;
	struct lex_name w;
	size_t n;
	for (int c; (c = lex_peek(lx)) && lx->p < lx->end && c != '.' && c != '@' && c != ';';) {
		if (c == '"' && !lex_string(lx, &string, &n))
			return not_understood(s);
		else if (c == '"')
			continue;
		if (lex_name(lx, &w)) {
			s->m->texmode_independent |= lex_is(&w, "texmode_independent");
			continue;
		}
		lx->p++;
		while (lex_class[c] & LEX_DIGIT && /* "8.0.global" is two words */
		       (lex_class[(uint8_t)*lx->p] & LEX_NAME ||
			(*lx->p == '.' && lex_class[(uint8_t)lx->p[1]] & LEX_DIGIT)))
			lx->p++;
	}
	return 0;
}

static int scan_declared(struct scan *s, const char *head, struct lex_name *w)
{
	uint8_t linkage = PTX_LINK_LOCAL;
	while (linkage_word(w, &linkage)) {
		lex_peek(&s->lx);
		head = s->lx.p;
		if (!lex_directive(&s->lx, w))
			return not_understood(s);
	}
	if (lex_is(w, "entry") || lex_is(w, "func"))
		return scan_function(s, head, lex_is(w, "entry"), linkage);
	return scan_variables(s, head, linkage);
}

static int scan_statement(struct scan *s)
{
	static const struct {
		const char *word;
		int (*scan)(struct scan *s);
	} directives[] = {
		{"version", scan_header}, {"target", scan_header},   {"address_size", scan_header},
		{"file", scan_header},    {"section", scan_section}, {"alias", scan_alias},
		{"pragma", scan_pragma},  {"loc", scan_header},
	};
	const char *head = s->lx.p;
	struct lex_name w;
	if (!lex_directive(&s->lx, &w))
		return not_understood(s);
	for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
		if (lex_is(&w, directives[i].word))
			return directives[i].scan(s);
	return scan_declared(s, head, &w);
}

int link_scan(struct link *l, struct link_module *m)
{
	struct scan s = {.l = l, .m = m};
	int rc = 0;
	lex_init(&s.lx, m->ptx->text, m->ptx->text + m->ptx->text_bytes, 1);
	while (!rc && lex_peek(&s.lx) && s.lx.p < s.lx.end) {
		if (*s.lx.p == ';') {
			s.lx.p++;
		} else if (*s.lx.p == '@') { /* @@DWARF lines of ISA 1.x */
			const char *nl = memchr(s.lx.p, '\n', (size_t)(s.lx.end - s.lx.p));
			s.lx.p = nl ? nl : s.lx.end;
		} else {
			rc = scan_statement(&s);
		}
	}
	return rc;
}

struct link_symbol *link_find(const struct link_module *m, const struct lex_name *name)
{
	const struct name_slot *slot = name_table_find(&m->names, name);
	return slot ? &m->symbols[slot->index] : NULL;
}
