/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "ptx/pieces.h"
#include "reduce/ddmin.h"
#include "reduce/passes.h"

bool pass_try_text(struct judge *j, unsigned module, char *text)
{
	struct scene s;

	if (!text || !scene_keep(j->current, text) || scene_copy(&s, j->current))
		return false;
	s.modules[module].ptx = text;
	s.modules[module].bytes = strlen(text);
	return judge_take(j, &s);
}

/* ---- what the kernel reaches by names ------------------------------------------------------------ */

struct name {
	const char *s;
	size_t n, piece;
};

static int compare_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	size_t n = x->n < y->n ? x->n : y->n;
	int c = memcmp(x->s, y->s, n);

	return c ? c : x->n < y->n ? -1 : x->n > y->n;
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '$' || c == '%';
}

struct reach {
	const char *text;
	const struct ptx_pieces *p;
	struct name *names; /* sorted; a prototype and its function have the same */
	size_t nnames;
	uint8_t *keep;
	size_t *queue, nqueue;
};

static void reach_piece(struct reach *r, size_t piece)
{
	if (r->keep[piece])
		return;
	r->keep[piece] = 1;
	r->queue[r->nqueue++] = piece;
}

static void reach_name(struct reach *r, const char *s, size_t n)
{
	const struct name key = {s, n, 0};
	const struct name *found = bsearch(&key, r->names, r->nnames, sizeof(key), compare_names);

	if (!found)
		return;
	while (found > r->names && !compare_names(found - 1, &key))
		found--;
	for (; found < r->names + r->nnames && !compare_names(found, &key); found++)
		reach_piece(r, found->piece);
}

static void reach_names_in(struct reach *r, const struct ptx_piece *p)
{
	for (size_t at = p->begin; at < p->end;) {
		size_t begin = at;

		while (at < p->end && is_name_char(r->text[at]))
			at++;
		if (at > begin)
			reach_name(r, r->text + begin, at - begin);
		else
			at++;
	}
}

static bool has_name(const struct ptx_piece *p)
{
	return (p->kind == PTX_PIECE_FUNCTION || p->kind == PTX_PIECE_PROTOTYPE ||
		p->kind == PTX_PIECE_VARIABLE) &&
	       p->name_n;
}

/* keep: 0 for functions and variables that nothing leads to. False: out of memory, or the kernel is not here. */
static bool find_reachable(const char *text, const struct ptx_pieces *p, const struct scene *s,
			   unsigned module, uint8_t *keep)
{
	struct reach r = {.text = text, .p = p, .keep = keep};
	bool found;

	r.names = calloc(p->n + 1, sizeof(*r.names));
	r.queue = calloc(p->n + 1, sizeof(*r.queue));
	for (size_t i = 0; r.names && r.queue && i < p->n; i++) {
		keep[i] = !has_name(&p->v[i]);
		if (!keep[i])
			r.names[r.nnames++] = (struct name){text + p->v[i].name, p->v[i].name_n, i};
	}
	if (r.names && r.queue) {
		qsort(r.names, r.nnames, sizeof(*r.names), compare_names);
		if (module == s->module)
			reach_name(&r, s->kernel, strlen(s->kernel));
		for (unsigned i = 0; i < s->nbuffers; i++) /* the program asked for them */
			if (s->buffers[i].name && s->buffers[i].module == module)
				reach_name(&r, s->buffers[i].name, strlen(s->buffers[i].name));
		for (size_t i = 0; i < r.nqueue; i++)
			reach_names_in(&r, &p->v[r.queue[i]]);
	}
	found = r.names && r.queue && (module != s->module || r.nqueue);
	free(r.names);
	free(r.queue);
	return found;
}

static void drop_kinds(const struct ptx_pieces *p, uint8_t *keep, unsigned kinds)
{
	for (size_t i = 0; i < p->n; i++)
		if (kinds >> p->v[i].kind & 1)
			keep[i] = 0;
}

static void clean_module(struct judge *j, unsigned module)
{
	unsigned lines =
		j->keep_lines ? 0 : 1u << PTX_PIECE_FILE | 1u << PTX_PIECE_SECTION | 1u << PTX_PIECE_LOC;
	const struct scene_module text = j->current->modules[module];
	struct ptx_pieces p;
	uint8_t *keep;

	if (ptx_pieces_cut(text.ptx, text.bytes, &p))
		return;
	keep = malloc(p.n + 1);
	if (keep && find_reachable(text.ptx, &p, j->current, module, keep)) {
		drop_kinds(&p, keep, lines | (j->keep_lines ? 0 : 1u << PTX_PIECE_PRAGMA));
		if (!pass_try_text(j, module, ptx_pieces_join(text.ptx, text.bytes, &p, keep)) &&
		    !judge_stopped(j)) {
			memset(keep, 1, p.n);
			drop_kinds(&p, keep, lines);
			pass_try_text(j, module, ptx_pieces_join(text.ptx, text.bytes, &p, keep));
		}
	}
	free(keep);
	ptx_pieces_free(&p);
}

static void drop_module(struct judge *j, unsigned module)
{
	struct scene s;

	if (module == j->current->module || scene_copy(&s, j->current))
		return;
	for (unsigned i = s.nbuffers; i-- > 0;)
		if (s.buffers[i].name && s.buffers[i].module == module)
			s.buffers[i] = s.buffers[--s.nbuffers];
		else if (s.buffers[i].name && s.buffers[i].module > module)
			s.buffers[i].module--;
	s.nmodules--;
	memmove(&s.modules[module], &s.modules[module + 1], (s.nmodules - module) * sizeof(*s.modules));
	s.module -= s.module > module;
	judge_take(j, &s);
}

void pass_unused_code(struct judge *j)
{
	for (unsigned i = j->current->nmodules; i-- > 0 && !judge_stopped(j);)
		drop_module(j, i);
	for (unsigned i = 0; i < j->current->nmodules && !judge_stopped(j); i++)
		clean_module(j, i);
}

/* ---- statements ------------------------------------------------------------------------------------- */

struct cutting {
	struct judge *j;
	unsigned module;
	struct scene_module text; /* as cut into pieces */
	struct ptx_pieces p;
	size_t *units; /* pieces that may go */
	uint8_t *keep; /* of all pieces */
};

static bool holds_without(void *ctx, const uint8_t *keep)
{
	struct cutting *c = ctx;
	size_t n = 0;

	memset(c->keep, 1, c->p.n);
	for (size_t i = 0; i < c->p.n; i++)
		if (c->units[n] == i)
			c->keep[i] = keep[n++];
	return pass_try_text(c->j, c->module, ptx_pieces_join(c->text.ptx, c->text.bytes, &c->p, c->keep));
}

static bool stopped(void *ctx)
{
	return judge_stopped(((struct cutting *)ctx)->j);
}

static void cut_kinds(struct judge *j, unsigned module, unsigned kinds)
{
	struct cutting c = {.j = j, .module = module, .text = j->current->modules[module]};
	struct ddmin d = {.test = holds_without, .stop = stopped, .ctx = &c};

	if (ptx_pieces_cut(c.text.ptx, c.text.bytes, &c.p))
		return;
	c.units = calloc(c.p.n + 1, sizeof(*c.units));
	c.keep = malloc(c.p.n + 1);
	d.keep = malloc(c.p.n + 1);
	for (size_t i = 0; c.units && i < c.p.n; i++)
		if (kinds >> c.p.v[i].kind & 1)
			c.units[d.n++] = i;
	if (c.units && c.keep && d.keep) {
		c.units[d.n] = SIZE_MAX;
		memset(d.keep, 1, d.n);
		ddmin_run(&d);
	}
	free(c.units);
	free(c.keep);
	free(d.keep);
	ptx_pieces_free(&c.p);
}

void pass_statements(struct judge *j)
{
	for (unsigned i = 0; i < j->current->nmodules && !judge_stopped(j); i++) {
		cut_kinds(j, i, 1u << PTX_PIECE_STATEMENT);
		cut_kinds(j, i,
			  1u << PTX_PIECE_LABEL | 1u << PTX_PIECE_DECLARATION | 1u << PTX_PIECE_VARIABLE);
	}
}
