/* SPDX-License-Identifier: Apache-2.0
 *
 * The host memory of a call: which blocks it reads or has written, pointers inside structs
 * followed.
 */
#include "api/api.h"

#include <string.h>

#define MAX_WALK_DEPTH 8

struct walk {
	const struct api_func *f;
	const uint64_t *args;
	const struct api_memory *mem;
	api_piece_fn *piece;
	void *ctx;
	unsigned param, depth;
};

static void walk_elements(struct walk *w, const struct api_type *t, uint64_t addr, uint64_t n);

static uint64_t string_length(const struct walk *w, uint64_t addr)
{
	uint64_t n = 0;
	if (w->mem == &api_live_memory)
		return strlen((const char *)(uintptr_t)addr) + 1;
	for (const char *c; (c = w->mem->read(w->mem->ctx, addr + n, 1)); n++)
		if (!*c)
			return n + 1;
	return 0;
}

static void walk_string(struct walk *w, uint64_t addr)
{
	uint64_t n = addr ? string_length(w, addr) : 0;
	if (n)
		w->piece(w->ctx, w->param, addr, n);
}

static void walk_struct(struct walk *w, const struct api_struct *s, const char *base, const char *outer,
			const struct api_struct *outer_struct);

static void walk_pointer_field(struct walk *w, const struct api_struct *s, const char *base,
			       const struct api_field *f)
{
	const struct api_type *t = &api_types[f->type];
	uint64_t addr, n = 1;
	memcpy(&addr, base + f->offset, sizeof(addr));
	if (t->kind == API_KIND_STRING) {
		walk_string(w, addr);
		return;
	}
	if (f->len >= 0) {
		int64_t len = api_eval(f->len, w->f, w->args, base, s, w->mem);
		n = len < 0 ? 0 : (uint64_t)len;
	}
	walk_elements(w, &api_types[t->elem], addr, n);
}

static void walk_field(struct walk *w, const struct api_struct *s, const char *base,
		       const struct api_field *f)
{
	const struct api_type *t = &api_types[f->type];
	uint64_t count = 1, size = t->size;
	if (t->kind == API_KIND_ARRAY) {
		count = t->count;
		t = &api_types[t->elem];
		size = t->size;
	}
	if (t->kind == API_KIND_POINTER || t->kind == API_KIND_STRING) {
		if (!f->payload && count == 1)
			walk_pointer_field(w, s, base, f);
		return;
	}
	if (t->kind != API_KIND_STRUCT && t->kind != API_KIND_UNION)
		return;
	for (uint64_t i = 0; i < count; i++)
		walk_struct(w, &api_structs[t->def], base + f->offset + i * size, base, s);
}

/* A union's members are chosen by a field of the struct around it. */
static void walk_struct(struct walk *w, const struct api_struct *s, const char *base, const char *outer,
			const struct api_struct *outer_struct)
{
	const char *tag_base = s->self_tagged ? base : outer;
	const struct api_struct *tag_struct = s->self_tagged ? s : outer_struct;
	if (w->depth >= MAX_WALK_DEPTH)
		return;
	w->depth++;
	for (unsigned i = 0; i < s->nfields; i++) {
		const struct api_field *f = &s->fields[i];
		if (s->is_union && f->active < 0 && s->nfields > 1)
			continue; /* padding, reserved words, or a union that nothing tags */
		if (f->active >= 0 &&
		    (!tag_base || !api_eval(f->active, w->f, w->args, tag_base, tag_struct, w->mem)))
			continue;
		walk_field(w, s, base, f);
	}
	w->depth--;
}

/* Names that a call hands out (cuFuncGetName), or an array of names. */
static void walk_strings(struct walk *w, uint64_t addr, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		const void *at = w->mem->read(w->mem->ctx, addr + i * sizeof(addr), sizeof(addr));
		uint64_t string;
		if (!at)
			return;
		memcpy(&string, at, sizeof(string));
		walk_string(w, string);
	}
}

static bool has_pointers(const struct api_type *t)
{
	return t->kind == API_KIND_STRUCT || t->kind == API_KIND_UNION;
}

static void walk_elements(struct walk *w, const struct api_type *t, uint64_t addr, uint64_t n)
{
	uint64_t bytes;
	if (!addr || !n || __builtin_mul_overflow(n, (uint64_t)t->size, &bytes) || !bytes ||
	    addr + bytes < addr)
		return;
	w->piece(w->ctx, w->param, addr, bytes);
	if (t->kind == API_KIND_STRING)
		walk_strings(w, addr, n);
	if (!has_pointers(t))
		return;
	for (uint64_t i = 0; i < n; i++) {
		const char *at = w->mem->read(w->mem->ctx, addr + i * t->size, t->size);
		if (!at)
			return;
		walk_struct(w, &api_structs[t->def], at, NULL, NULL);
	}
}

/* An array of pointers, each to a value whose type the i-th selector tells. */
static void walk_each(struct walk *w, const struct api_param *q, uint64_t n)
{
	const struct api_poly *poly = &api_polys[q->poly];
	const struct api_type *selector = api_pointee(w->f, poly->selector, w->args);
	for (uint64_t i = 0; selector && selector->size == 4 && i < n; i++) {
		const uint64_t *pp = w->mem->read(w->mem->ctx, w->args[w->param] + i * 8, 8);
		const int32_t *sp = w->mem->read(w->mem->ctx, w->args[poly->selector] + i * 4, 4);
		uint64_t addr;
		int32_t value;
		if (!pp || !sp)
			return;
		memcpy(&addr, pp, sizeof(addr));
		memcpy(&value, sp, sizeof(value));
		for (unsigned c = 0; c < poly->ncases; c++)
			if (poly->cases[c].value == value)
				walk_elements(w, &api_types[poly->cases[c].type], addr, 1);
	}
}

static void walk_pointer(struct walk *w, const struct api_param *q, enum api_phase phase)
{
	uint64_t n;
	if (!w->args[w->param])
		return;
	if (q->flags &
	    API_PARAM_POLY_EACH) { /* the pointers are the caller's, what they point to is written */
		n = api_param_len(w->f, w->param, w->args, w->mem);
		if (phase == API_PHASE_ENTER && w->args[w->param])
			walk_elements(w, &api_types[api_types[q->type].elem], w->args[w->param], n);
		else if (phase == API_PHASE_EXIT)
			walk_each(w, q, n);
		return;
	}
	if (!(q->dir & (phase == API_PHASE_ENTER ? API_IN : API_OUT)))
		return;
	if (phase == API_PHASE_ENTER && (q->flags & API_PARAM_LEN_AFTER) && q->dir != API_INOUT)
		return;
	n = api_param_len(w->f, w->param, w->args, w->mem);
	walk_elements(w, api_pointee(w->f, w->param, w->args), w->args[w->param], n);
}

void api_walk(const struct api_func *f, const uint64_t *args, enum api_phase phase,
	      const struct api_memory *mem, api_piece_fn *piece, void *ctx)
{
	struct walk w = {f, args, mem, piece, ctx, 0, 0};
	for (w.param = 0; w.param < f->nparams; w.param++) {
		const struct api_param *q = &f->params[w.param];
		const struct api_type *t = &api_types[q->type];
		if (q->payload != API_PAYLOAD_NONE)
			continue;
		if (t->kind == API_KIND_STRING && phase == API_PHASE_ENTER)
			walk_string(&w, args[w.param]);
		else if (t->kind == API_KIND_POINTER)
			walk_pointer(&w, q, phase);
		else if (q->abi == API_ABI_MEMORY && phase == API_PHASE_ENTER && args[w.param])
			walk_elements(&w, t, args[w.param], 1);
	}
}
