/* SPDX-License-Identifier: Apache-2.0
 *
 * The module as the debugger sees it: parsed anew from its text, so that nothing is shared with the driver but indices.
 * Lines, names of places, registers and which of them are live. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/session.h"

enum {
	BUILD_ALL = 512
}; /* modules of more functions: only what the kernel calls is known by name and line */

static int build(struct session *s, struct diag *d)
{
	struct ptx_module *m = s->module;
	int rc = ptx_func_build(m, s->entry);

	if (rc) {
		*d = s->entry->error;
		return rc;
	}
	for (uint32_t k = 0; k < m->nfuncs && m->nfuncs <= BUILD_ALL; k++)
		if (!m->funcs[k]->is_decl && !m->funcs[k]->is_entry)
			ptx_func_build(m, m->funcs[k]); /* of one that can't be, nothing is known */
	return 0;
}

int code_open(struct session *s, struct diag *d)
{
	const struct debug_launch *l = &s->launch;

	s->module = ptx_module_parse(l->text, l->text_bytes, l->module, d);
	s->entry = s->module ? ptx_func_find(s->module, l->kernel) : NULL;
	if (!s->entry)
		return d->code ? d->code
			       : diag_set(d, CUTRACE_ECORRUPT, l->module, "it has no kernel %s", l->kernel);
	int rc = build(s, d);

	if (rc)
		return rc;
	s->flags = calloc(s->module->nfuncs + 1, sizeof(*s->flags));
	for (uint32_t k = 0; s->flags && k < s->module->nfuncs; k++) {
		s->flags[k] = calloc((size_t)s->module->funcs[k]->ninsts + 1, 1);
		if (!s->flags[k])
			return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	}
	return s->flags ? 0 : diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
}

struct ptx_func *code_func(const struct session *s, uint32_t func)
{
	return func < s->module->nfuncs && s->module->funcs[func]->state == PTX_BUILT ? s->module->funcs[func]
										      : NULL;
}

const struct ptx_inst *code_inst(const struct session *s, uint32_t func, uint32_t inst)
{
	const struct ptx_func *f = code_func(s, func);

	return f && inst < f->ninsts ? &f->insts[inst] : NULL;
}

bool code_executes(const struct session *s, uint32_t func, uint32_t inst)
{
	return s->view.stops_at(s->view.state, func, inst);
}

/* ---- lines ---------------------------------------------------------------------------- */

bool code_source(const struct session *s, uint32_t func, uint32_t inst, uint32_t *file, uint32_t *line)
{
	const struct ptx_inst *i = code_inst(s, func, inst);
	const struct ptx_loc *l = i && i->loc < s->module->nlocs ? &s->module->locs[i->loc] : NULL;

	*file = *line = 0;
	if (!l || !l->line) /* line 0: of no line in particular */
		return false;
	*file = l->file;
	*line = l->line;
	return true;
}

const char *code_file_name(const struct session *s, uint32_t file)
{
	const char *name = file < s->module->nfiles && s->module->files[file] ? s->module->files[file] : "?";

	while (!strncmp(name, "./", 2))
		name += 2;
	return name;
}

void code_describe(const struct session *s, uint32_t func, uint32_t inst, char *out, size_t size)
{
	const struct ptx_inst *i = code_inst(s, func, inst);
	uint32_t file, line;

	if (!i)
		snprintf(out, size, "%.100s", s->module->name);
	else if (code_source(s, func, inst, &file, &line))
		snprintf(out, size, "%.100s:%u (%.100s:%u)", s->module->name, i->line,
			 code_file_name(s, file), line);
	else
		snprintf(out, size, "%.100s:%u", s->module->name, i->line);
}

void code_line_text(const struct session *s, uint32_t line, char *out, size_t size)
{
	if (!ptx_line_text(s->module, line, out, size))
		out[0] = '\0';
	for (char *p = out; *p; p++)
		if (*p == '\t')
			*p = ' ';
}

uint32_t code_nlines(const struct session *s)
{
	uint32_t n = 0;

	for (const char *p = s->module->text; p && *p; p++)
		n += *p == '\n' || !p[1];
	return n;
}

/* ---- where to break -------------------------------------------------------------------- */

static void add_place(struct breakpoint *b, uint32_t func, uint32_t inst)
{
	if (b->nplaces < MAX_PLACES)
		b->places[b->nplaces++] = (struct code_place){func, inst};
}

/* The first instruction of a function that is executed. */
static bool at_entry(const struct session *s, uint32_t func, struct breakpoint *b)
{
	const struct ptx_func *f = code_func(s, func);

	for (uint32_t k = 0; f && k < f->ninsts; k++)
		if (code_executes(s, func, k)) {
			add_place(b, func, k);
			return true;
		}
	return false;
}

/* Lines of instructions around a line that has none. */
struct nearest {
	uint32_t below, above; /* 0: none */
};

static void note_line(struct nearest *n, uint32_t line, uint32_t wanted)
{
	if (line < wanted && line > n->below)
		n->below = line;
	if (line > wanted && (!n->above || line < n->above))
		n->above = line;
}

static int no_such_line(const struct nearest *n, const char *what, uint32_t line, struct diag *d)
{
	diag_set(d, CUTRACE_EINVAL, "", "no instruction of this kernel is at line %u%s%s", line,
		 *what ? " of " : "", what);
	if (n->below && n->above)
		diag_hint(d, "the nearest lines with one are %u and %u", n->below, n->above);
	else if (n->below || n->above)
		diag_hint(d, "the nearest line with one is %u", n->below ? n->below : n->above);
	return CUTRACE_EINVAL;
}

static int at_ptx_line(const struct session *s, uint32_t line, struct breakpoint *b, struct diag *d)
{
	struct nearest near = {0};

	for (uint32_t f = 0; f < s->module->nfuncs; f++) {
		const struct ptx_func *fn = code_func(s, f);

		for (uint32_t k = 0; fn && k < fn->ninsts; k++) {
			if (!code_executes(s, f, k))
				continue;
			if (fn->insts[k].line == line)
				add_place(b, f, k);
			else
				note_line(&near, fn->insts[k].line, line);
		}
	}
	return b->nplaces ? 0 : no_such_line(&near, "", line, d);
}

static bool is_file(const struct session *s, uint32_t file, const char *name, size_t n)
{
	const char *have = code_file_name(s, file);
	size_t len = strlen(have);

	return len >= n && !strncmp(have + len - n, name, n) && (len == n || have[len - n - 1] == '/');
}

static bool starts_block(const struct ptx_func *f, uint32_t inst)
{
	for (uint32_t k = 0; k < f->nblocks; k++)
		if (f->blocks[k].first == inst)
			return true;
	return false;
}

/* Where a line begins: its instructions that don't come behind others of it. */
static int at_source_line(const struct session *s, const char *name, size_t n, uint32_t line,
			  struct breakpoint *b, struct diag *d)
{
	struct nearest near = {0};
	bool known = false;
	char file[128];

	for (uint32_t f = 0; f < s->module->nfuncs; f++) {
		const struct ptx_func *fn = code_func(s, f);
		bool inside = false;

		for (uint32_t k = 0; fn && k < fn->ninsts; k++) {
			uint32_t at_file, at_line;

			if (!code_executes(s, f, k))
				continue;
			if (starts_block(fn, k))
				inside = false;
			if (!code_source(s, f, k, &at_file, &at_line) || !is_file(s, at_file, name, n)) {
				inside = false;
				continue;
			}
			known = true;
			if (at_line == line && !inside)
				add_place(b, f, k);
			note_line(&near, at_line, line);
			inside = at_line == line;
		}
	}
	if (b->nplaces)
		return 0;
	snprintf(file, sizeof(file), "%.*s", (int)(n < 120 ? n : 120), name);
	if (known)
		return no_such_line(&near, file, line, d);
	return diag_set(d, CUTRACE_EINVAL, "", "no instruction of this kernel has a source line in %s", file);
}

/* "mix" for "_ZL3mixj": a mangled name says how long its parts are. */
static bool is_named(const char *whole, const char *name)
{
	char part[300];
	const char *at;

	if (!strcmp(whole, name))
		return true;
	snprintf(part, sizeof(part), "%zu%s", strlen(name), name);
	at = !strncmp(whole, "_Z", 2) ? strstr(whole, part) : NULL;
	return at && (at[-1] < '0' || at[-1] > '9');
}

static int at_function(const struct session *s, const char *name, struct breakpoint *b, struct diag *d)
{
	bool known = false;

	for (uint32_t f = 0; f < s->module->nfuncs; f++)
		known |= is_named(s->module->funcs[f]->name, name) && !at_entry(s, f, b);
	if (b->nplaces)
		return 0;
	if (known)
		return diag_set(d, CUTRACE_EINVAL, "", "%s is not a part of this kernel", name);
	diag_set(d, CUTRACE_EINVAL, "", "there is no function %s", name);
	diag_hint(d, "a place is a line of the PTX (212), of a source (saxpy.cu:17), or a function's name");
	return CUTRACE_EINVAL;
}

static bool is_number(const char *text, uint32_t *out)
{
	char *end;
	unsigned long v = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;

	if (!v || *end || v > UINT32_MAX - 1)
		return false;
	*out = (uint32_t)v;
	return true;
}

int code_resolve(const struct session *s, const char *text, struct breakpoint *b, struct diag *d)
{
	const char *colon = strrchr(text, ':');
	uint32_t line;

	b->nplaces = 0;
	if (is_number(text, &line))
		return at_ptx_line(s, line, b, d);
	if (colon && is_number(colon + 1, &line)) {
		size_t n = (size_t)(colon - text);

		if (strlen(s->module->name) == n && !strncmp(text, s->module->name, n))
			return at_ptx_line(s, line, b, d);
		return at_source_line(s, text, n, line, b, d);
	}
	if (!strcmp(text, "entry"))
		return at_function(s, s->entry->name, b, d);
	return at_function(s, text, b, d);
}

/* ---- registers ------------------------------------------------------------------------------ */

uint32_t code_register(const struct ptx_func *f, const char *name)
{
	for (uint32_t k = 1; k < f->nslots; k++)
		if (f->slots[k].name && !strcmp(f->slots[k].name, name))
			return k;
	return PTX_NONE;
}

struct votes {
	uint32_t by_type[PTX_NTYPES];
	bool address;
};

/* mov, selp and loads move bits of any type; what is computed with them tells more. */
static void vote(struct votes *v, const struct ptx_inst *i, enum ptx_type t, unsigned bits)
{
	bool untyped = t == PTX_B8 || t == PTX_B16 || t == PTX_B32 || t == PTX_B64 || t == PTX_B128;
	bool moves = i->op == PTX_OP_LD || i->op == PTX_OP_ST;
	unsigned weight = i->op == PTX_OP_MOV || i->op == PTX_OP_SELP ? 1 : moves ? 2 : 4;

	if (t && !untyped && ptx_type_bits(t) == bits)
		v->by_type[t] += weight;
}

static bool takes_address(const struct ptx_inst *i)
{
	return i->op == PTX_OP_LD || i->op == PTX_OP_ST || i->op == PTX_OP_ATOM || i->op == PTX_OP_RED ||
	       i->op == PTX_OP_LDU;
}

static void vote_all(const struct ptx_func *f, uint32_t slot, struct votes *v)
{
	for (uint32_t k = 0; k < f->ninsts; k++) {
		const struct ptx_inst *i = &f->insts[k];

		for (uint32_t n = 0; n < (uint32_t)i->ndst + i->nsrc; n++) {
			const struct ptx_operand *o = &i->dst[n];
			bool source = n >= i->ndst;

			if (o->kind != PTX_OPND_VALUE || f->values[o->index].slot != slot)
				continue;
			if (n == i->ndst && takes_address(i)) {
				v->address = true;
				continue;
			}
			vote(v, i, (enum ptx_type)(source && i->op == PTX_OP_CVT ? i->type2 : i->type),
			     f->slots[slot].bits);
		}
	}
}

enum ptx_type code_register_type(const struct ptx_func *f, uint32_t slot)
{
	const struct ptx_slot *s = &f->slots[slot];
	enum ptx_type best = s->bits == 1     ? PTX_PRED
			     : s->bits == 8   ? PTX_B8
			     : s->bits == 16  ? PTX_B16
			     : s->bits == 32  ? PTX_B32
			     : s->bits == 128 ? PTX_B128
					      : PTX_B64;
	struct votes v = {0};
	uint32_t most = 0;

	if (s->type && ptx_type_bits((enum ptx_type)s->type) == s->bits && s->type != best)
		return (enum ptx_type)s->type; /* it is declared as something */
	vote_all(f, slot, &v);
	if (v.address)
		return best;
	for (unsigned t = 1; t < PTX_NTYPES; t++)
		if (v.by_type[t] > most) {
			most = v.by_type[t];
			best = (enum ptx_type)t;
		}
	return best;
}

static uint32_t block_of(const struct ptx_func *f, uint32_t inst)
{
	for (uint32_t k = 0; k < f->nblocks; k++)
		if (inst - f->blocks[k].first < f->blocks[k].ninsts)
			return k;
	return PTX_NONE;
}

/* What is live before the instruction: before it is executed its operands matter, its results don't. */
int code_live(const struct ptx_func *f, uint32_t inst, bool *live)
{
	uint32_t block = block_of(f, inst);
	struct ptx_liveness l;
	struct ptx_live_walk w;
	int rc = block == PTX_NONE ? CUTRACE_EINVAL : ptx_liveness_find(f, &l);

	memset(live, 0, f->nslots * sizeof(*live));
	if (rc)
		return rc;
	rc = ptx_live_walk_open(&w, f);
	if (!rc) {
		ptx_live_walk_begin(&w, &l, block);
		while (w.inst != inst && ptx_live_walk_back(&w))
			;
		ptx_live_walk_back(&w);
		for (uint32_t k = 0; k < w.n; k++)
			live[f->values[w.values[k]].slot] = true;
		ptx_live_walk_close(&w);
	}
	ptx_liveness_free(&l);
	return rc;
}
