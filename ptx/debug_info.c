/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/debug_info: .file, .loc and the one section that .loc refers to
 * (ISA chapter 11.5). DWARF itself isn't read. */
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include "ptx/parse.h"

enum { MAX_FUNCTION_NAME = 4096 };

static int grow_files(struct parser *p, uint32_t n)
{
	struct ptx_module *m = p->m;
	if (n < m->nfiles)
		return 0;
	uint32_t capacity = m->nfiles ? m->nfiles : 4;
	while (capacity <= n)
		capacity *= 2;
	const char **files = realloc(m->files, capacity * sizeof(*files));
	if (!files)
		return parser_out_of_memory(p);
	memset(files + m->nfiles, 0, (capacity - m->nfiles) * sizeof(*files));
	m->files = files;
	m->nfiles = capacity;
	return 0;
}

/* .file 1 "path" [, timestamp, size] */
int parse_file(struct parser *p)
{
	uint64_t n, ignored;
	const char *s;
	size_t bytes;
	lex_peek(&p->lx);
	const char *at = p->lx.p;
	if (!lex_uint(&p->lx, &n) || n >= PTX_MAX_FILES || !lex_string(&p->lx, &s, &bytes))
		return parser_fail(p, CUTRACE_EFORMAT, at, "expected the number and name of a file");
	while (lex_accept(&p->lx, ','))
		if (!lex_uint(&p->lx, &ignored))
			return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected a number");
	int rc = grow_files(p, (uint32_t)n);
	if (rc)
		return rc;
	p->m->files[n] = arena_strndup(&p->m->arena, s, bytes);
	return p->m->files[n] ? 0 : parser_out_of_memory(p);
}

static int parse_position(struct parser *p, struct ptx_loc *l)
{
	uint64_t v[3];
	lex_peek(&p->lx);
	const char *at = p->lx.p;
	for (int i = 0; i < 3; i++)
		if (!lex_uint(&p->lx, &v[i]) || v[i] > UINT32_MAX - 1)
			return parser_fail(p, CUTRACE_EFORMAT, at, "expected file, line and column");
	*l = (struct ptx_loc){(uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[2], PTX_NONE, NULL};
	return 0;
}

static int add_loc(struct parser *p, const struct ptx_loc *l, uint32_t *index)
{
	struct ptx_module *m = p->m;
	if (m->nlocs && !memcmp(&m->locs[m->nlocs - 1], l, sizeof(*l))) {
		*index = m->nlocs - 1;
		return 0;
	}
	if (m->nlocs == p->ms->locs_capacity) {
		uint32_t capacity = m->nlocs ? m->nlocs * 2 : 64;
		struct ptx_loc *locs = realloc(m->locs, capacity * sizeof(*locs));
		if (!locs)
			return parser_out_of_memory(p);
		m->locs = locs;
		p->ms->locs_capacity = capacity;
	}
	*index = m->nlocs;
	m->locs[m->nlocs++] = *l;
	return 0;
}

/* The bytes behind "label:" in .debug_str, given as ".b8 95,90,...,0" over any number of lines. */
static const char *decode_string(struct parser *p, const char *at)
{
	char name[MAX_FUNCTION_NAME];
	size_t n = 0;
	struct lexer lx;
	struct lex_name word;
	uint64_t c = 1;
	lex_init(&lx, at, p->ms->debug_str_end, 1);
	while (c && n < sizeof(name) && lex_directive(&lx, &word) && lex_is(&word, "b8")) {
		do {
			if (!lex_uint(&lx, &c) || !c || n == sizeof(name))
				break;
			name[n++] = (char)c;
		} while (lex_accept(&lx, ','));
	}
	return arena_strndup(&p->m->arena, name, n);
}

static const char *find_string(struct parser *p, const struct lex_name *label)
{
	const char *s = p->ms->debug_str, *end = p->ms->debug_str_end;
	while (s && (s = memmem(s, (size_t)(end - s), label->s, label->n))) {
		s += label->n;
		if (*s == ':')
			return decode_string(p, s + 1);
	}
	return NULL;
}

/* NULL when there is no such label: then the name is simply not known. */
static const char *debug_string(struct parser *p, const struct lex_name *label)
{
	struct module_state *ms = p->ms;
	const struct name_slot *slot = name_table_find(&ms->debug_names, label);
	if (slot)
		return ms->debug_strings[slot->index];
	if (ms->ndebug_strings == ms->debug_strings_capacity) {
		uint32_t capacity = ms->ndebug_strings ? ms->ndebug_strings * 2 : 16;
		const char **grown = realloc(ms->debug_strings, capacity * sizeof(*grown));
		if (!grown)
			return NULL;
		ms->debug_strings = grown;
		ms->debug_strings_capacity = capacity;
	}
	const char *s = find_string(p, label);
	if (name_table_put(&ms->debug_names, label, NAME_SYMBOL, ms->ndebug_strings))
		return s;
	return ms->debug_strings[ms->ndebug_strings++] = s;
}

static int parse_inlined(struct parser *p, struct ptx_loc *l)
{
	struct lex_name word, label;
	uint64_t offset;
	struct ptx_loc outer;
	while (lex_accept(&p->lx, ',')) {
		lex_peek(&p->lx);
		const char *at = p->lx.p;
		if (!lex_name(&p->lx, &word))
			return parser_fail(p, CUTRACE_EFORMAT, at, "expected function_name or inlined_at");
		if (lex_is(&word, "function_name")) {
			if (!lex_name(&p->lx, &label))
				return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected a label");
			if (lex_accept(&p->lx, '+') && !lex_uint(&p->lx, &offset))
				return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected a number");
			l->function = debug_string(p, &label);
		} else if (lex_is(&word, "inlined_at")) {
			int rc = parse_position(p, &outer);
			if (rc || (rc = add_loc(p, &outer, &l->inlined_at)))
				return rc;
		} else {
			return parser_fail(p, CUTRACE_EFORMAT, at, "expected function_name or inlined_at");
		}
	}
	return 0;
}

/* .loc 1 17 5 [, function_name label [+ n], inlined_at 1 30 3] */
int parse_loc(struct parser *p, uint32_t *loc)
{
	struct ptx_loc l;
	int rc = parse_position(p, &l);
	if (rc || (rc = parse_inlined(p, &l)))
		return rc;
	return add_loc(p, &l, loc);
}

/* .section .debug_info { ... } */
int parse_section(struct parser *p)
{
	struct lex_name name;
	if (!lex_directive(&p->lx, &name))
		return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected the name of a section");
	if (lex_peek(&p->lx) != '{')
		return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected '{'");
	const char *begin = p->lx.p + 1;
	if (!lex_skip_braces(&p->lx))
		return parser_fail(p, CUTRACE_EFORMAT, begin - 1, "section '.%.*s' has no closing brace",
				   (int)name.n, name.s);
	if (lex_is(&name, "debug_str")) {
		p->ms->debug_str = begin;
		p->ms->debug_str_end = p->lx.p - 1;
	}
	return 0;
}
