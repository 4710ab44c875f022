/* SPDX-License-Identifier: Apache-2.0
 *
 * The host memory of a call: which blocks it reads or has written, pointers inside structs
 * followed. Also the extent of code images.
 */
#include "api/api.h"

#include <elf.h>
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

/* ---- code images -------------------------------------------------------- */

#define FATBIN_WRAPPER_MAGIC 0x466243b1u /* {u32 magic, u32 version, u64 data, u64 more} */
#define FATBIN_MAGIC         0xba55ed50u /* {u32 magic, u16 version, u16 header bytes, u64 bytes of entries} */

static const void *image_read(const struct api_memory *mem, uint64_t addr, size_t bytes)
{
	return addr + bytes < addr ? NULL : mem->read(mem->ctx, addr, bytes);
}

static uint64_t fatbin_bytes(const struct api_memory *mem, uint64_t addr)
{
	const char *h = image_read(mem, addr, 16);
	uint16_t header;
	uint64_t entries, total;
	if (!h)
		return 0;
	memcpy(&header, h + 6, sizeof(header));
	memcpy(&entries, h + 8, sizeof(entries));
	return __builtin_add_overflow(entries, header, &total) ? 0 : total;
}

/* Headers and sections lie in any order; the file ends where the last of them does. */
static uint64_t elf_bytes(const struct api_memory *mem, uint64_t addr)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;
	uint64_t end, part;
	const void *p = image_read(mem, addr, sizeof(h));
	if (!p)
		return 0;
	memcpy(&h, p, sizeof(h));
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || (h.e_shnum && h.e_shentsize != sizeof(s)))
		return 0;
	end = h.e_shoff + (uint64_t)h.e_shnum * sizeof(s);
	part = h.e_phoff + (uint64_t)h.e_phnum * h.e_phentsize;
	end = part > end ? part : end;
	for (unsigned i = 0; i < h.e_shnum; i++) {
		p = image_read(mem, addr + h.e_shoff + i * sizeof(s), sizeof(s));
		if (!p)
			return 0;
		memcpy(&s, p, sizeof(s));
		if (s.sh_type != SHT_NOBITS && s.sh_offset + s.sh_size > end)
			end = s.sh_offset + s.sh_size;
	}
	return end > sizeof(h) ? end : sizeof(h);
}

/* PTX is text: starts with white space, a comment or a directive. */
static uint64_t text_bytes(const struct api_memory *mem, uint64_t addr, const char *first)
{
	uint64_t n = 0;
	if (!strchr("\n\r\t ./", *first) || !*first)
		return 0;
	if (mem == &api_live_memory)
		return strlen((const char *)(uintptr_t)addr) + 1;
	for (const char *c; (c = image_read(mem, addr + n, 1)); n++)
		if (!*c)
			return n + 1;
	return n; /* a recorded text that ends without its NUL */
}

uint64_t api_image_bytes(uint64_t addr, const struct api_memory *mem, uint64_t *inner)
{
	const char *p = addr ? image_read(mem, addr, 4) : NULL;
	uint32_t magic;
	if (inner)
		*inner = 0;
	if (!p)
		return 0;
	if (mem == &api_live_memory && strchr("\n\r\t ./", *p) &&
	    *p) /* a short text may end before 4 bytes */
		return text_bytes(mem, addr, p);
	memcpy(&magic, p, sizeof(magic));
	if (magic == FATBIN_WRAPPER_MAGIC) {
		p = image_read(mem, addr, 24);
		if (p && inner)
			memcpy(inner, p + 8, sizeof(*inner));
		return p ? 24 : 0;
	}
	if (magic == FATBIN_MAGIC)
		return fatbin_bytes(mem, addr);
	if (!memcmp(p, ELFMAG, SELFMAG))
		return elf_bytes(mem, addr);
	return text_bytes(mem, addr, p);
}
