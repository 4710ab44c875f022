/* SPDX-License-Identifier: Apache-2.0
 *
 * What the names of several modules mean together: which definition counts, what does not fit, what is missing, and new
 * names for what must stay apart. */
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include "ptx/link_parts.h"

/* A symbol with its module, for what is said of it. */
struct place {
	const struct link_module *m;
	const struct link_symbol *s;
};

static struct place place_of(const struct link *l, const struct link_global *g)
{
	const struct link_module *m = &l->modules[g->module];
	return (struct place){m, &m->symbols[g->symbol]};
}

/* "'f' WHAT a.ptx:3" */
static void clash(struct link *l, const struct place *now, const struct place *before, const char *what)
{
	link_fail(l, now->m, CUTRACE_EINVAL, now->s->name.s, "'%.*s' %s %s:%u", (int)now->s->name.n,
		  now->s->name.s, what, before->m->name, before->s->line);
}

/* ---- do two declarations fit? -------------------------------------------------- */

enum type_class { CLASS_BITS, CLASS_INTEGER, CLASS_FLOAT, CLASS_OTHER };

static enum type_class class_of(enum ptx_type t)
{
	if (t >= PTX_B8 && t <= PTX_B128)
		return CLASS_BITS;
	if (t >= PTX_U8 && t <= PTX_S64)
		return CLASS_INTEGER;
	return ptx_type_is_float(t) ? CLASS_FLOAT : CLASS_OTHER;
}

/* Compilers differ in signs, and in whether they say .b32 or .u32; an array of bytes is a struct. */
static bool types_fit(enum ptx_type a, enum ptx_type b)
{
	if (a == b || a == PTX_B8 || b == PTX_B8)
		return true;
	if (ptx_type_bits(a) != ptx_type_bits(b))
		return false;
	return class_of(a) == CLASS_BITS || class_of(b) == CLASS_BITS ||
	       (class_of(a) == CLASS_INTEGER && class_of(b) == CLASS_INTEGER);
}

static bool params_fit(const struct ptx_param *a, uint32_t na, const struct ptx_param *b, uint32_t nb)
{
	bool fit = na == nb;
	for (uint32_t i = 0; fit && i < na; i++)
		fit = a[i].size == b[i].size && a[i].offset == b[i].offset &&
		      types_fit(a[i].type, b[i].type) && (a[i].slot == PTX_NONE) == (b[i].slot == PTX_NONE);
	return fit;
}

static const char *variables_differ(const struct ptx_symbol *a, const struct ptx_symbol *b)
{
	bool both_common = a->linkage == PTX_LINK_COMMON && b->linkage == PTX_LINK_COMMON;
	if (a->space != b->space)
		return "is in another state space than in";
	if (a->managed != b->managed)
		return "is managed in one module only: see";
	if (!types_fit(a->type, b->type))
		return "has another type than in";
	if (a->size && b->size && a->size != b->size && !both_common)
		return "has another size than in";
	return NULL;
}

static const char *differ(const struct link_symbol *a, const struct link_symbol *b)
{
	if ((a->kind == LINK_VARIABLE) != (b->kind == LINK_VARIABLE))
		return "is not a variable and a function at once: see";
	if (a->kind == LINK_VARIABLE)
		return variables_differ(a->var, b->var);
	if (a->kind != b->kind)
		return "is not a kernel and a function at once: see";
	if (!params_fit(a->func->params, a->func->nparams, b->func->params, b->func->nparams))
		return "has other parameters than in";
	if (!params_fit(a->func->rets, a->func->nrets, b->func->rets, b->func->nrets))
		return "has another result than in";
	return NULL;
}

/* ---- which one counts ------------------------------------------------------------- */

/* ELF's rules (gABI, "Symbol Table"): strong before common before weak. Dynamic shared memory is one
 * piece under all of its names, and no definition. */
static unsigned rank(const struct link_symbol *s)
{
	if (s->var && s->var->dynamic)
		return 1;
	if (!s->defined)
		return 0;
	return s->linkage == PTX_LINK_WEAK ? 2 : s->linkage == PTX_LINK_COMMON ? 3 : 4;
}

static bool replaces(struct link *l, const struct place *now, const struct place *before)
{
	unsigned a = rank(now->s), b = rank(before->s);
	if (a == 4 && b == 4) {
		clash(l, now, before, "is defined already in");
		return false;
	}
	return a > b || (a == 3 && b == 3 && now->s->var && now->s->var->size > before->s->var->size);
}

static struct link_global *new_global(struct link *l, uint32_t module, uint32_t symbol)
{
	const struct link_symbol *s = &l->modules[module].symbols[symbol];
	if (l->nglobals == l->globals_capacity) {
		uint32_t capacity = l->globals_capacity ? l->globals_capacity * 2 : 256;
		struct link_global *grown = realloc(l->globals, capacity * sizeof(*grown));
		if (!grown)
			return NULL;
		l->globals = grown;
		l->globals_capacity = capacity;
	}
	if (name_table_put(&l->names, &s->name, NAME_SYMBOL, l->nglobals))
		return NULL;
	struct link_global *g = &l->globals[l->nglobals++];
	*g = (struct link_global){.name = s->name, .module = module, .symbol = symbol};
	return g;
}

static int join(struct link *l, uint32_t module, uint32_t symbol)
{
	struct link_module *m = &l->modules[module];
	struct link_symbol *s = &m->symbols[symbol];
	const struct name_slot *slot = name_table_find(&l->names, &s->name);
	struct link_global *g = slot ? &l->globals[slot->index] : new_global(l, module, symbol);
	if (!g)
		return link_out_of_memory(l);
	s->global = (uint32_t)(g - l->globals);
	if (slot) {
		const struct place now = {m, s}, before = place_of(l, g);
		const char *what = differ(s, before.s);
		if (what) {
			clash(l, &now, &before, what);
			return 0;
		}
		if (replaces(l, &now, &before)) {
			g->module = module;
			g->symbol = symbol;
		}
	}
	if (s->var && s->var->align > g->align)
		g->align = s->var->align;
	return 0;
}

/* A function that is declared without linkage and defined nowhere in its module is meant to be elsewhere. */
static bool is_shared(const struct link_symbol *s)
{
	return s->kind != LINK_LABEL && (s->linkage != PTX_LINK_LOCAL || !s->defined);
}

bool link_is_kept(const struct link *l, uint32_t module, uint32_t symbol)
{
	const struct link_symbol *s = &l->modules[module].symbols[symbol];
	if (s->global == PTX_NONE)
		return true;
	const struct link_global *g = &l->globals[s->global];
	return g->module == module && g->symbol == symbol;
}

/* ---- references ------------------------------------------------------------------------ */

static void note_use(struct link *l, uint32_t module, const struct link_symbol *user,
		     const struct lex_name *name)
{
	struct link_symbol *used = link_find(&l->modules[module], name);
	if (!used || used->global == PTX_NONE || used == user)
		return;
	if (!used->use)
		used->use = name->s;
	if (user->kind == LINK_VARIABLE)
		l->globals[used->global].forward = true;
}

static void note_uses(struct link *l, uint32_t module, const struct link_symbol *s)
{
	struct link_tokens t;
	struct link_token token;
	if (s->alias_of.n)
		note_use(l, module, s, &s->alias_of);
	link_tokens_open(&t, &s->body, s->kind != LINK_VARIABLE);
	while (s->body.begin && link_token_next(&t, &token))
		if (!token.is_file)
			note_use(l, module, s, &token.name);
}

static void missing(struct link *l, const struct link_module *m, const struct link_symbol *s)
{
	const struct place first = place_of(l, &l->globals[s->global]);
	const char *kind = s->kind == LINK_VARIABLE ? "variable" : "function";
	if (first.m == m)
		link_fail(l, m, CUTRACE_EINVAL, s->use,
			  "undefined %s '%.*s' is used here (declared in line %u)", kind, (int)s->name.n,
			  s->name.s, s->line);
	else
		link_fail(l, m, CUTRACE_EINVAL, s->use,
			  "undefined %s '%.*s' is used here (declared in line %u, and in %s:%u)", kind,
			  (int)s->name.n, s->name.s, s->line, first.m->name, first.s->line);
}

static void check_uses(struct link *l, const struct link_module *m)
{
	char name[64];
	for (uint32_t i = 0; i < m->nsymbols; i++) {
		const struct link_symbol *s = &m->symbols[i];
		if (!s->use || rank(place_of(l, &l->globals[s->global]).s))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)s->name.n, s->name.s);
		if (s->kind == LINK_VARIABLE || !ptx_is_system_function(name))
			missing(l, m, s);
	}
}

/* ---- new names ----------------------------------------------------------------------------- */

static bool is_taken(const struct link *l, const struct lex_name *name)
{
	return name_table_find(&l->names, name) || name_table_find(&l->taken, name);
}

/* How many underscores follow "$m" at the most: the endings of new names have one more, so that no module has them. */
static unsigned longest_tag(const struct link *l)
{
	unsigned longest = 0;
	for (unsigned k = 0; k < l->nmodules; k++) {
		const struct ptx_module *m = l->modules[k].ptx;
		const char *p = m->text, *end = m->text + m->text_bytes;
		while ((p = memmem(p, (size_t)(end - p), "$m", 2))) {
			unsigned n = 1;
			for (p += 2; *p == '_'; p++)
				n++;
			longest = n > longest ? n : longest;
		}
	}
	return longest;
}

/* "name$m2" in module 2. */
static int rename_symbol(struct link *l, struct link_module *m, struct link_symbol *s)
{
	static const char underscores[] = "________________________________";
	unsigned n = l->tag < sizeof(underscores) ? l->tag : (unsigned)sizeof(underscores) - 1;
	if (l->tag > n)
		return link_fail(l, m, CUTRACE_ENOTSUP, s->name.s, "no name is left for '%.*s'",
				 (int)s->name.n, s->name.s);
	s->renamed = arena_printf(&l->arena, "%.*s$m%.*s%u", (int)s->name.n, s->name.s, (int)n, underscores,
				  (unsigned)(m - l->modules) + 1);
	m->any_renamed = true;
	return s->renamed ? 0 : link_out_of_memory(l);
}

static int name_own(struct link *l, struct link_module *m)
{
	int rc = 0;
	for (uint32_t i = 0; i < m->nsymbols && !rc; i++) {
		struct link_symbol *s = &m->symbols[i];
		if (s->global != PTX_NONE)
			continue;
		if (is_taken(l, &s->name))
			rc = rename_symbol(l, m, s);
		else if (name_table_put(&l->taken, &s->name, NAME_SYMBOL, 0))
			rc = link_out_of_memory(l);
	}
	return rc;
}

int link_resolve(struct link *l)
{
	int rc = 0;
	for (uint32_t m = 0; m < l->nmodules; m++)
		for (uint32_t i = 0; i < l->modules[m].nsymbols && !rc; i++)
			if (is_shared(&l->modules[m].symbols[i]))
				rc = join(l, m, i);
	for (uint32_t m = 0; m < l->nmodules && !rc; m++)
		for (uint32_t i = 0; i < l->modules[m].nsymbols; i++)
			if (link_is_kept(l, m, i))
				note_uses(l, m, &l->modules[m].symbols[i]);
	for (uint32_t m = 0; m < l->nmodules && !rc; m++)
		check_uses(l, &l->modules[m]);
	l->tag = longest_tag(l);
	for (uint32_t m = 0; m < l->nmodules && !rc && !l->nerrors; m++)
		rc = name_own(l, &l->modules[m]);
	return rc ? rc : l->code;
}
