/* SPDX-License-Identifier: Apache-2.0
 *
 * entry_points.c: the recorder's definitions of the exported functions, as
 * interpose/entry.h prescribes. They need no types: a parameter is an integer register, a float, or
 * bytes on the stack.
 */
#include "apigen.h"

#include <string.h>

bool is_out_scalar(const struct apigen *g, const struct param *q)
{
	const struct type *t = &g->types.v[q->type];
	if (!(q->dir & API_OUT) || t->kind != API_KIND_POINTER || q->len >= 0 || q->payload || q->poly >= 0)
		return false;
	switch (g->types.v[t->elem].kind) {
	case API_KIND_VOID:
	case API_KIND_CHAR:
	case API_KIND_ARRAY:
	case API_KIND_STRUCT:
	case API_KIND_UNION:
	case API_KIND_BYTES: return false;
	default: return true;
	}
}

static bool is_pointer_like(const struct param *q)
{
	const struct def *d = q->ctype.base;
	return q->ctype.stars || d->kind == DEF_CALLBACK || d->kind == DEF_HANDLE || d->kind == DEF_STRUCT ||
	       d->kind == DEF_UNION;
}

static const char *register_type(struct apigen *g, const struct param *q)
{
	const struct def *d = q->ctype.base;
	if (q->abi == API_ABI_MEMORY)
		return arena_printf(&g->arena, "struct rec_bytes_%u", d->size);
	if (q->abi == API_ABI_FLOAT)
		return d->size == 4 ? "float" : "double";
	if (q->ctype.stars || (is_pointer_like(q) && d->kind != DEF_HANDLE))
		return "uint64_t";
	return arena_printf(&g->arena, "%sint%u_t", d->is_signed ? "" : "u", d->size * 8);
}

static const char *word(struct apigen *g, const struct param *q, size_t i)
{
	const struct def *d = q->ctype.base;
	if (q->abi == API_ABI_MEMORY)
		return arena_printf(&g->arena, "(uintptr_t)&a%zu", i);
	if (q->abi == API_ABI_FLOAT)
		return arena_printf(&g->arena, "rec_f%u(a%zu)", d->size * 8, i);
	if (!is_pointer_like(q) || (d->kind == DEF_HANDLE && !q->ctype.stars))
		return arena_printf(&g->arena, d->is_signed ? "(uint64_t)(int64_t)a%zu" : "a%zu", i);
	return arena_printf(&g->arena, "a%zu", i);
}

/* Is more to be recorded than argument words and the values of inline outs? */
static bool needs_memory(const struct apigen *g, const struct func *f)
{
	unsigned slot = 0;
	for (size_t i = 0; i < f->params.n; i++) {
		const struct param *q = &f->params.v[i];
		uint8_t kind = g->types.v[q->type].kind;
		bool inline_out = is_out_scalar(g, q) && slot++ < MAX_OUT_SLOTS;
		if (q->abi == API_ABI_MEMORY || (kind == API_KIND_STRING && !q->payload))
			return true;
		if (kind == API_KIND_POINTER && !q->payload && (q->dir != API_OUT || !inline_out))
			return true;
		if (inline_out && g->types.v[g->types.v[q->type].elem].kind == API_KIND_STRING)
			return true; /* the text behind it, too */
	}
	return false;
}

static void emit_types_of(struct apigen *g, FILE *out, const struct func *f, bool names)
{
	fputc('(', out);
	for (size_t i = 0; i < f->params.n; i++) {
		fprintf(out, "%s%s", i ? ", " : "", register_type(g, &f->params.v[i]));
		if (names)
			fprintf(out, " a%zu", i);
	}
	fputs(f->params.n ? ")" : "void)", out);
}

static void emit_call(FILE *out, const struct func *f)
{
	fprintf(out, "((fn *)rec_real[API_ID_%s])(", f->name);
	for (size_t i = 0; i < f->params.n; i++)
		fprintf(out, "%sa%zu", i ? ", " : "", i);
	fputs(");\n", out);
}

static void emit_outs(struct apigen *g, FILE *out, const struct func *f)
{
	unsigned slot = 0;
	for (size_t i = 0; i < f->params.n && slot < MAX_OUT_SLOTS; i++) {
		const struct type *t;
		if (!is_out_scalar(g, &f->params.v[i]))
			continue;
		t = &g->types.v[g->types.v[f->params.v[i].type].elem];
		bool is_signed = t->kind == API_KIND_INT || t->kind == API_KIND_ENUM ||
				 (t->kind == API_KIND_HANDLE && t->d->is_signed);
		fprintf(out, "\trec_out(&f, w, %u, a%zu, %s%u);\n", slot++, i, is_signed ? "-" : "", t->size);
	}
}

static unsigned count_outs(const struct apigen *g, const struct func *f)
{
	unsigned n = 0;
	for (size_t i = 0; i < f->params.n; i++)
		n += is_out_scalar(g, &f->params.v[i]);
	return n < MAX_OUT_SLOTS ? n : MAX_OUT_SLOTS;
}

static void emit_plain_body(struct apigen *g, FILE *out, const struct func *f)
{
	unsigned nouts = count_outs(g, f);
	fprintf(out, "\tuint64_t *w = rec_enter(&f, API_ID_%s, %zu);\n\tif (REC_UNLIKELY(!w))\n\t\treturn ",
		f->name, f->params.n);
	emit_call(out, f);
	for (size_t i = 0; i < f->params.n; i++)
		fprintf(out, "\tw[%zu] = %s;\n", i, word(g, &f->params.v[i], i));
	fputs("\trec_publish_enter(&f);\n\tr = ", out);
	emit_call(out, f);
	fprintf(out, "\t%srec_leave(&f, (int32_t)r, %u);\n", nouts ? "w = " : "", nouts);
	emit_outs(g, out, f);
	fputs("\trec_publish_exit(&f);\n\treturn r;\n}\n\n", out);
}

static void emit_memory_body(struct apigen *g, FILE *out, const struct func *f)
{
	fprintf(out, "\tuint64_t args[%zu] = { ", f->params.n);
	for (size_t i = 0; i < f->params.n; i++)
		fprintf(out, "%s%s", i ? ", " : "", word(g, &f->params.v[i], i));
	fprintf(out, " };\n\tif (REC_UNLIKELY(!rec_enter_memory(&f, API_ID_%s, %zu, args)))\n\t\treturn ",
		f->name, f->params.n);
	emit_call(out, f);
	fputs("\tr = ", out);
	emit_call(out, f);
	fputs("\trec_leave_memory(&f, (int32_t)r, args);\n\treturn r;\n}\n\n", out);
}

static void emit_entry(struct apigen *g, FILE *out, const struct func *f)
{
	fprintf(out, "REC_EXPORT uint32_t %s", f->name);
	emit_types_of(g, out, f, true);
	fputs(";\nREC_EXPORT uint32_t ", out);
	fputs(f->name, out);
	emit_types_of(g, out, f, true);
	fputs("\n{\n\ttypedef uint32_t fn", out);
	emit_types_of(g, out, f, false);
	fputs(";\n\tstruct rec_frame f;\n\tuint32_t r;\n", out);
	if (needs_memory(g, f))
		emit_memory_body(g, out, f);
	else
		emit_plain_body(g, out, f);
}

static void emit_struct_bytes(struct apigen *g, FILE *out)
{
	bool done[4096] = {false};
	for (size_t i = 0; i < g->funcs.n; i++)
		for (size_t j = 0; j < g->funcs.v[i]->params.n; j++) {
			const struct param *q = &g->funcs.v[i]->params.v[j];
			unsigned size = q->ctype.base->size;
			if (q->abi != API_ABI_MEMORY || size >= 4096 || done[size])
				continue;
			fprintf(out, "struct rec_bytes_%u {\n\tuint8_t b[%u];\n};\n", size, size);
			done[size] = true;
		}
	fputc('\n', out);
}

void emit_entries(struct apigen *g, FILE *out)
{
	emit_head(out, "The recorder's entry points: one for every exported function.");
	fputs("#include \"interpose/entry.h\"\n\n#include \"api/gen/api_ids.h\"\n\n", out);
	emit_struct_bytes(g, out);
	for (size_t i = 0; i < g->funcs.n; i++)
		if (!(g->funcs.v[i]->flags & API_FUNC_PRIVATE))
			emit_entry(g, out, g->funcs.v[i]);
	fputs("void *rec_real[API_ID_COUNT];\n\nvoid *const rec_entries[API_ID_COUNT] = {\n", out);
	for (size_t i = 0; i < g->funcs.n; i++)
		if (!(g->funcs.v[i]->flags & API_FUNC_PRIVATE))
			fprintf(out, "\t[API_ID_%s] = (void *)%s,\n", g->funcs.v[i]->name,
				g->funcs.v[i]->name);
	fputs("};\n", out);
}
