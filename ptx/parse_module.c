/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/parse_module: the directives of a module (ISA chapter 11). */
#include <stdlib.h>
#include <string.h>

#include "ptx/parse.h"

/* .version 9.0 */
static int parse_version(struct parser *p)
{
	uint32_t v[2] = {0, 0};
	lex_peek(&p->lx);
	const char *s = p->lx.p;
	for (int i = 0; i < 2; i++) {
		const char *start = s;
		while (lex_class[(uint8_t)*s] & LEX_DIGIT && v[i] < 1000)
			v[i] = v[i] * 10 + (uint32_t)(*s++ - '0');
		if (s == start || (i == 0 && *s++ != '.'))
			return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected a version such as 9.0");
	}
	p->m->version = (uint16_t)(v[0] * 10 + v[1]);
	p->lx.p = s;
	return 0;
}

/* .target sm_90a, debug */
static int parse_target(struct parser *p)
{
	struct lex_name w;
	do {
		if (!lex_name(&p->lx, &w))
			return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected a target such as sm_80");
		bool synonym = w.n > 8 && !memcmp(w.s, "compute_", 8); /* ISA 11.1.2, Notes */
		if ((w.n > 3 && !memcmp(w.s, "sm_", 3)) || synonym) {
			uint32_t sm = 0, i = synonym ? 8 : 3;
			for (; i < w.n && lex_class[(uint8_t)w.s[i]] & LEX_DIGIT && sm < 10000; i++)
				sm = sm * 10 + (uint32_t)(w.s[i] - '0');
			p->m->target = (uint16_t)sm;
			p->m->target_suffix = i < w.n ? w.s[i] : 0;
		} else if (lex_is(&w, "debug")) {
			p->m->debug = true;
		} else if (lex_is(&w, "map_f64_to_f32")) {
			p->m->map_f64_to_f32 = true;
		} else if (!lex_is(&w, "texmode_unified") && !lex_is(&w, "texmode_independent")) {
			return parser_fail(p, CUTRACE_EFORMAT, w.s, "unknown target '%.*s'", (int)w.n, w.s);
		}
	} while (lex_accept(&p->lx, ','));
	if (p->m->map_f64_to_f32 && p->m->target >= 13) /* ISA 11.1.2 */
		return parser_fail(p, CUTRACE_EFORMAT, w.s, "map_f64_to_f32 is for targets before sm_13");
	return 0;
}

static int parse_address_size(struct parser *p)
{
	uint64_t n;
	lex_peek(&p->lx);
	const char *at = p->lx.p;
	if (!lex_uint(&p->lx, &n) || (n != 32 && n != 64))
		return parser_fail(p, CUTRACE_EFORMAT, at, "the address size is 32 or 64");
	p->m->address_size = (uint8_t)n;
	return 0;
}

/* .alias f, g; */
static int parse_alias(struct parser *p)
{
	struct lex_name alias, aliasee;
	if (!lex_name(&p->lx, &alias) || !lex_accept(&p->lx, ',') || !lex_name(&p->lx, &aliasee))
		return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected two names");
	const struct name_slot *slot = name_table_find(&p->ms->names, &aliasee);
	if (!slot || slot->kind != NAME_FUNC)
		return parser_fail(p, CUTRACE_EFORMAT, aliasee.s, "unknown function '%.*s'", (int)aliasee.n,
				   aliasee.s);
	if (name_table_put(&p->ms->names, &alias, NAME_FUNC, slot->index))
		return parser_out_of_memory(p);
	return parser_expect(p, ';');
}

static int skip_statement(struct parser *p)
{
	while (lex_peek(&p->lx) && *p->lx.p != ';')
		p->lx.p++;
	return parser_expect(p, ';');
}

/* A module's variable may be declared .extern (or .common, .weak) and defined once. */
static int name_variable(void *ctx, const struct lex_name *name, uint32_t index)
{
	struct parser *p = ctx;
	struct ptx_module *m = p->m;
	const struct name_slot *slot = name_table_find(&p->ms->names, name);
	if (!slot)
		return name_table_put(&p->ms->names, name, NAME_SYMBOL, index) ? parser_out_of_memory(p) : 0;
	struct ptx_symbol *now = m->symbols[index];
	if (slot->kind != NAME_SYMBOL)
		return parser_fail(p, CUTRACE_EFORMAT, name->s, "'%s' is a function already", now->name);
	struct ptx_symbol *old = m->symbols[slot->index];
	if (old->linkage == PTX_LINK_EXTERN || old->linkage == PTX_LINK_COMMON ||
	    old->linkage == PTX_LINK_WEAK)
		*old = now->linkage == PTX_LINK_EXTERN ? *old : *now;
	else if (now->linkage != PTX_LINK_EXTERN)
		return parser_fail(p, CUTRACE_EFORMAT, name->s, "'%s' is defined already, in line %u",
				   now->name, old->line);
	m->nsymbols--;
	return 0;
}

static const struct {
	const char *word;
	uint8_t space;
} variable_spaces[] = {
	{"global", PTX_SPACE_GLOBAL}, {"const", PTX_SPACE_CONST}, {"shared", PTX_SPACE_SHARED},
	{"local", PTX_SPACE_LOCAL},   {"tex", PTX_SPACE_TEX},     {"param", PTX_SPACE_PARAM},
};

bool linkage_word(const struct lex_name *w, uint8_t *linkage)
{
	static const struct {
		const char *word;
		uint8_t linkage;
	} words[] = {
		{"visible", PTX_LINK_VISIBLE},
		{"extern", PTX_LINK_EXTERN},
		{"weak", PTX_LINK_WEAK},
		{"common", PTX_LINK_COMMON},
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (lex_is(w, words[i].word)) {
			*linkage = words[i].linkage;
			return true;
		}
	}
	return false;
}

static int parse_declared(struct parser *p, const struct lex_name *w, enum ptx_linkage linkage)
{
	if (lex_is(w, "entry") || lex_is(w, "func"))
		return parse_function(p, lex_is(w, "entry"), linkage);
	for (size_t i = 0; i < sizeof(variable_spaces) / sizeof(variable_spaces[0]); i++)
		if (lex_is(w, variable_spaces[i].word))
			return parse_variables(p, variable_spaces[i].space, linkage, PTX_NONE, name_variable,
					       p);
	return parser_fail(p, CUTRACE_EFORMAT, w->s - 1, "unknown directive '.%.*s'", (int)w->n, w->s);
}

static int parse_with_linkage(struct parser *p, struct lex_name *w)
{
	uint8_t linkage = PTX_LINK_LOCAL;
	while (linkage_word(w, &linkage)) /* more than one may stand there */
		if (!lex_directive(&p->lx, w))
			return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected a function or variable");
	return parse_declared(p, w, linkage);
}

static int parse_directive(struct parser *p)
{
	static const struct {
		const char *word;
		int (*parse)(struct parser *p);
	} directives[] = {
		{"version", parse_version}, {"target", parse_target},   {"address_size", parse_address_size},
		{"file", parse_file},       {"section", parse_section}, {"alias", parse_alias},
		{"pragma", skip_statement},
	};
	struct lex_name w;
	if (!lex_directive(&p->lx, &w))
		return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected a directive");
	for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
		if (lex_is(&w, directives[i].word))
			return directives[i].parse(p);
	uint32_t loc;
	if (lex_is(&w, "loc"))
		return parse_loc(p, &loc);
	return parse_with_linkage(p, &w);
}

bool module_add_error(struct ptx_module *m, const struct diag *d)
{
	if (m->nerrors == PTX_MAX_ERRORS)
		return true;
	if (!m->errors)
		m->errors = arena_array(&m->arena, PTX_MAX_ERRORS, sizeof(*m->errors));
	if (!m->errors)
		return false;
	m->errors[m->nerrors++] = *d;
	return true;
}

/* To behind the statement that wasn't understood: ';' or a whole body. */
static void recover(struct parser *p, const char *start)
{
	if (p->lx.p == start && p->lx.p < p->lx.end)
		p->lx.p++;
	for (int c; (c = lex_peek(&p->lx)) && p->lx.p < p->lx.end; p->lx.p++) {
		if (c == ';') {
			p->lx.p++;
			return;
		}
		if (c == '{') {
			if (lex_skip_braces(&p->lx))
				return;
			p->lx.p = p->lx.end;
			return;
		}
	}
}

static int parse_text(struct parser *p)
{
	while (lex_peek(&p->lx) || p->lx.p < p->lx.end) {
		struct diag error = DIAG_INIT;
		const char *start = p->lx.p;
		if (start[0] == '@' && start[1] == '@') { /* @@DWARF lines of ISA 1.x */
			const char *nl = memchr(start, '\n', (size_t)(p->lx.end - start));
			p->lx.p = nl ? nl : p->lx.end;
			continue;
		}
		if (*start == ';') {
			p->lx.p++;
			continue;
		}
		p->error = p->m->nerrors < PTX_MAX_ERRORS
				   ? &error
				   : NULL; /* reporting costs time: no more than are kept */
		int rc = parse_directive(p);
		if (rc == CUTRACE_ENOMEM || (rc && !module_add_error(p->m, &error)))
			return CUTRACE_ENOMEM;
		if (rc)
			recover(p, start);
	}
	return 0;
}

static int check_version(struct parser *p)
{
	struct diag error = DIAG_INIT;
	if (p->m->version)
		return 0;
	p->error = &error;
	parser_fail(p, CUTRACE_EFORMAT, p->m->text, "a PTX module begins with .version");
	return module_add_error(p->m, &error) ? 0 : CUTRACE_ENOMEM;
}

static bool is_nothing(const struct ptx_module *m)
{
	return !m->version && !m->nfuncs && !m->nsymbols;
}

static struct module_state *new_module(const char *text, size_t bytes, const char *name)
{
	lex_seed();
	struct module_state *ms = calloc(1, sizeof(*ms));
	if (!ms)
		return NULL;
	struct ptx_module *m = &ms->m;
	char *copy = bytes < SIZE_MAX ? arena_alloc(&m->arena, bytes + 1, 16) : NULL;
	m->name = arena_strdup(&m->arena, name ? name : "ptx");
	if (!copy || !m->name) {
		ptx_module_free(m);
		return NULL;
	}
	memcpy(copy, text, bytes);
	copy[bytes] = 0;
	m->text = copy;
	m->text_bytes = bytes;
	m->address_size = 32; /* ISA 11.1.3: the default when the directive is missing */
	return ms;
}

struct ptx_module *ptx_module_parse(const char *text, size_t bytes, const char *name, struct diag *d)
{
	struct module_state *ms = new_module(text, bytes, name);
	if (!ms) {
		diag_set(d, CUTRACE_ENOMEM, name, "out of memory");
		return NULL;
	}
	struct ptx_module *m = &ms->m;
	struct parser p = {.ms = ms, .m = m};
	/* Fatbins pad PTX with NULs. */
	while (m->text_bytes && !m->text[m->text_bytes - 1])
		m->text_bytes--;
	lex_init(&p.lx, m->text, m->text + m->text_bytes, 1);
	if (parse_text(&p) || check_version(&p)) {
		diag_set(d, CUTRACE_ENOMEM, name, "out of memory");
		ptx_module_free(m);
		return NULL;
	}
	m->nown_errors = m->nerrors;
	if (is_nothing(m)) {
		if (d && m->nerrors)
			*d = m->errors[0];
		ptx_module_free(m);
		return NULL;
	}
	return m;
}

void ptx_module_free(struct ptx_module *m)
{
	if (!m)
		return;
	struct module_state *ms = module_state(m);
	name_table_free(&ms->names);
	name_table_free(&ms->debug_names);
	opcode_cache_free(&ms->opcodes);
	free(ms->debug_strings);
	free(m->funcs);
	free(m->symbols);
	free(m->locs);
	free(m->files);
	arena_free(&m->arena);
	free(ms);
}

static const struct name_slot *find(struct ptx_module *m, const char *s, enum name_kind kind)
{
	size_t n = strlen(s);
	if (n > UINT32_MAX)
		return NULL;
	struct lex_name name = {s, (uint32_t)n, lex_hash(s, n)};
	const struct name_slot *slot = name_table_find(&module_state(m)->names, &name);
	return slot && slot->kind == (uint32_t)kind ? slot : NULL;
}

struct ptx_func *ptx_func_find(struct ptx_module *m, const char *name)
{
	const struct name_slot *slot = find(m, name, NAME_FUNC);
	return slot ? m->funcs[slot->index] : NULL;
}

struct ptx_symbol *ptx_symbol_find(struct ptx_module *m, const char *name)
{
	const struct name_slot *slot = find(m, name, NAME_SYMBOL);
	return slot ? m->symbols[slot->index] : NULL;
}
