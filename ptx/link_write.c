/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of the linked module: first what others may refer to (prototypes, dynamic shared memory, variables whose
 * address an initialiser of another module takes), then variables, functions, aliases. Each piece says in a
 * comment where it is from. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/link_parts.h"
#include "ptx/op_table.h"

struct text {
	char *s;
	size_t n, capacity;
	bool failed;
};

static void put(struct text *t, const char *s, size_t n)
{
	if (t->capacity - t->n <= n && !t->failed) {
		size_t capacity = t->capacity * 2 + n + 4096;
		char *grown = realloc(t->s, capacity);
		t->failed = !grown;
		if (grown) {
			t->s = grown;
			t->capacity = capacity;
		}
	}
	if (t->failed)
		return;
	memcpy(t->s + t->n, s, n);
	t->n += n;
	t->s[t->n] = 0;
}

static void puts_to(struct text *t, const char *s)
{
	put(t, s, strlen(s));
}

static void putf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void putf(struct text *t, const char *fmt, ...)
{
	char line[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	puts_to(t, line);
}

struct writer {
	struct link *l;
	struct text t;
	const char **files; /* of the result, by number - 1 */
	uint32_t nfiles;
	struct name_table numbers; /* of files */
};

/* ---- pieces, with names and numbers of the result ----------------------------------------- */

static void put_token(struct writer *w, const struct link_module *m, const struct link_token *token)
{
	const struct link_symbol *s;
	if (token->is_file) {
		uint32_t n = token->name.hash; /* link_tokens.c: the number */
		putf(&w->t, "%u", n < m->ptx->nfiles && m->files[n] ? m->files[n] : n);
		return;
	}
	s = link_find(m, &token->name);
	if (s && s->renamed)
		puts_to(&w->t, s->renamed);
	else
		put(&w->t, token->name.s, token->name.n);
}

static void put_piece(struct writer *w, const struct link_module *m, const struct link_span *span,
		      bool is_body)
{
	struct link_tokens tokens;
	struct link_token token;
	const char *at = span->begin;
	bool plain = !m->any_renamed && !m->ptx->nfiles;
	link_tokens_open(&tokens, span, is_body);
	while (!plain && link_token_next(&tokens, &token)) {
		put(&w->t, at, (size_t)(token.name.s - at));
		put_token(w, m, &token);
		at = token.name.s + token.name.n;
	}
	put(&w->t, at, (size_t)(span->end - at));
}

static const char *linkage_word(uint8_t linkage)
{
	switch (linkage) {
	case PTX_LINK_VISIBLE: return ".visible ";
	case PTX_LINK_EXTERN: return ".extern ";
	case PTX_LINK_WEAK: return ".weak ";
	case PTX_LINK_COMMON: return ".common ";
	default: return "";
	}
}

static void put_origin(struct writer *w, const struct link_module *m, const struct link_symbol *s)
{
	putf(&w->t, "// %.300s:%u\n", m->name, s->line);
}

static void put_prototype(struct writer *w, const struct link_module *m, const struct link_symbol *s)
{
	bool is_extern = !s->defined;
	puts_to(&w->t, is_extern ? ".extern " : linkage_word(s->linkage));
	put_piece(w, m, &s->head, false);
	puts_to(&w->t, ";\n");
}

/* ".global .align 4 .u32" with another alignment: before the type. */
static void put_type(struct writer *w, const struct link_symbol *s, uint32_t align)
{
	struct lexer lx;
	struct lex_name word;
	uint64_t n;
	const char *end = s->head.end, *from;
	bool put_align = false;
	lex_init(&lx, s->head.begin, end, 1);
	while (lex_peek(&lx), from = lx.p, lx.p < end && lex_directive(&lx, &word)) {
		if (lex_is(&word, "align")) {
			lex_uint(&lx, &n);
			continue;
		}
		const char *to = lx.p;
		if (lex_peek(&lx) == '(') { /* .attribute(.managed) */
			while (lx.p < end && *lx.p++ != ')')
				;
			to = lx.p;
		}
		if (*lx.p == '[' && lx.p < end) /* .const[2] of ISA 1.x */
			while (lx.p < end && *lx.p++ != ']')
				;
		bool is_type = ptx_type_parse(word.s, word.n) != PTX_TYPE_NONE || lex_is(&word, "v2") ||
			       lex_is(&word, "v4");
		if (is_type && !put_align) {
			putf(&w->t, ".align %u ", align);
			put_align = true;
		}
		put(&w->t, from, (size_t)(to - from));
		puts_to(&w->t, " ");
	}
}

static bool is_opaque(const struct ptx_symbol *s)
{
	return s->type == PTX_TEXREF || s->type == PTX_SAMPLERREF || s->type == PTX_SURFREF;
}

/* With its initialiser, or for .extern without. */
static void put_variable(struct writer *w, const struct link_module *m, const struct link_symbol *s,
			 uint8_t linkage)
{
	struct link_span body = s->body;
	const char *equals =
		linkage == PTX_LINK_EXTERN ? memchr(body.begin, '=', (size_t)(body.end - body.begin)) : NULL;
	uint32_t align = s->var->align;
	if (s->global != PTX_NONE && w->l->globals[s->global].align > align)
		align = w->l->globals[s->global].align;
	if (equals)
		body.end = equals;
	puts_to(&w->t, linkage_word(linkage));
	if (is_opaque(s->var)) {
		put_piece(w, m, &s->head, false);
		puts_to(&w->t, " ");
	} else {
		put_type(w, s, align);
	}
	put_piece(w, m, &body, false);
	puts_to(&w->t, ";\n");
}

/* ---- the parts of the result ----------------------------------------------------------------- */

typedef void piece_fn(struct writer *w, const struct link_module *m, const struct link_symbol *s);

static void each_kept(struct writer *w, piece_fn *fn)
{
	for (uint32_t k = 0; k < w->l->nmodules; k++)
		for (uint32_t i = 0; i < w->l->modules[k].nsymbols; i++)
			if (link_is_kept(w->l, k, i))
				fn(w, &w->l->modules[k], &w->l->modules[k].symbols[i]);
}

/* Of the functions that are defined nowhere only those are left that are used: the system's. */
static void declare_function(struct writer *w, const struct link_module *m, const struct link_symbol *s)
{
	if (s->kind != LINK_FUNC || !s->head.begin)
		return;
	for (uint32_t k = 0; !s->defined && k < w->l->nmodules; k++) {
		const struct link_symbol *other = link_find(&w->l->modules[k], &s->name);
		if (other && other->use && other->global == s->global) {
			put_prototype(w, m, s);
			return;
		}
	}
	if (s->defined)
		put_prototype(w, m, s);
}

static void declare_variable(struct writer *w, const struct link_module *m, const struct link_symbol *s)
{
	if (s->kind != LINK_VARIABLE || s->global == PTX_NONE)
		return;
	if (s->var->dynamic || (s->defined && w->l->globals[s->global].forward))
		put_variable(w, m, s, PTX_LINK_EXTERN);
}

static void define_variable(struct writer *w, const struct link_module *m, const struct link_symbol *s)
{
	if (s->kind != LINK_VARIABLE || !s->defined)
		return;
	put_origin(w, m, s);
	put_variable(w, m, s, s->linkage);
}

static void define_function(struct writer *w, const struct link_module *m, const struct link_symbol *s)
{
	if ((s->kind != LINK_FUNC && s->kind != LINK_ENTRY) || !s->body.begin)
		return;
	put_origin(w, m, s);
	puts_to(&w->t, linkage_word(s->linkage));
	put_piece(w, m, &s->head, false);
	put_piece(w, m, &s->body, true);
	puts_to(&w->t, "\n");
}

static void define_alias(struct writer *w, const struct link_module *m, const struct link_symbol *s)
{
	struct link_token alias = {.name = s->name}, of = {.name = s->alias_of};
	if (!s->alias_of.n)
		return;
	puts_to(&w->t, ".alias ");
	put_token(w, m, &alias);
	puts_to(&w->t, ", ");
	put_token(w, m, &of);
	puts_to(&w->t, ";\n");
}

static void put_header(struct writer *w)
{
	const struct ptx_module *newest = w->l->modules[0].ptx;
	unsigned version = 0;
	for (unsigned k = 0; k < w->l->nmodules; k++) {
		const struct ptx_module *m = w->l->modules[k].ptx;
		version = m->version > version ? m->version : version;
		if (m->target > newest->target || (m->target == newest->target && m->target_suffix))
			newest = m;
	}
	puts_to(&w->t, LINK_FIRST_LINE);
	for (unsigned k = 0; k < w->l->nmodules; k++)
		putf(&w->t, " %.300s", w->l->modules[k].name);
	putf(&w->t, "\n.version %u.%u\n.target sm_%u", version / 10, version % 10, newest->target);
	if (newest->target_suffix)
		put(&w->t, &newest->target_suffix, 1);
	if (w->l->modules[0].texmode_independent)
		puts_to(&w->t, ", texmode_independent");
	putf(&w->t, "\n.address_size %u\n", newest->address_size);
	for (unsigned k = 0; k < w->l->nmodules; k++) {
		const struct link_span *pragma = &w->l->modules[k].pragma;
		if (!pragma->begin)
			continue;
		puts_to(&w->t, ".pragma ");
		put(&w->t, pragma->begin, (size_t)(pragma->end - pragma->begin));
		puts_to(&w->t, ";\n");
	}
}

/* The number of a file in the result, where each is listed once. */
static uint32_t number_of(struct writer *w, const char *file)
{
	struct lex_name name = {file, (uint32_t)strlen(file), 0};
	const struct name_slot *slot;
	name.hash = lex_hash(name.s, name.n);
	slot = name_table_find(&w->numbers, &name);
	if (slot)
		return slot->index;
	w->files[w->nfiles++] = file;
	w->t.failed |= name_table_put(&w->numbers, &name, NAME_SYMBOL, w->nfiles) != 0;
	return w->nfiles;
}

static int number_files(struct writer *w)
{
	uint32_t total = 0;
	for (unsigned k = 0; k < w->l->nmodules; k++)
		total += w->l->modules[k].ptx->nfiles;
	w->files = arena_array(&w->l->arena, total + 1, sizeof(*w->files));
	for (unsigned k = 0; k < w->l->nmodules; k++) {
		struct link_module *m = &w->l->modules[k];
		m->files = arena_array(&w->l->arena, m->ptx->nfiles + 1, sizeof(*m->files));
		if (!w->files || !m->files)
			return link_out_of_memory(w->l);
		for (uint32_t i = 0; i < m->ptx->nfiles; i++)
			if (m->ptx->files[i])
				m->files[i] = number_of(w, m->ptx->files[i]);
	}
	return 0;
}

static void put_files(struct writer *w)
{
	for (uint32_t n = 0; n < w->nfiles; n++) {
		putf(&w->t, ".file %u \"", n + 1);
		puts_to(&w->t, w->files[n]);
		puts_to(&w->t, "\"\n");
	}
}

/* The strings of all modules in one section. */
static void put_debug_strings(struct writer *w)
{
	bool any = false;
	for (unsigned k = 0; k < w->l->nmodules; k++) {
		const struct link_module *m = &w->l->modules[k];
		if (!m->debug_str.begin)
			continue;
		puts_to(&w->t, any ? "\n" : ".section .debug_str\n{\n");
		any = true;
		put_piece(w, m, &m->debug_str, false);
	}
	if (any)
		puts_to(&w->t, "\n}\n");
}

int link_write(struct link *l, struct ptx_linked *out)
{
	struct writer w = {.l = l};
	int rc = number_files(&w);
	if (rc) {
		name_table_free(&w.numbers);
		return rc;
	}
	put_header(&w);
	put_files(&w);
	each_kept(&w, declare_function);
	each_kept(&w, declare_variable);
	each_kept(&w, define_variable);
	each_kept(&w, define_function);
	each_kept(&w, define_alias);
	put_debug_strings(&w);
	name_table_free(&w.numbers);
	if (w.t.failed) {
		free(w.t.s);
		return link_out_of_memory(l);
	}
	out->text = w.t.s;
	out->bytes = w.t.n;
	return 0;
}
