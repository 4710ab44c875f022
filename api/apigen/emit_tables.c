/* SPDX-License-Identifier: Apache-2.0
 *
 * api_tables.c: the constant tables of api/api.h.
 */
#include "apigen.h"

#include <stdlib.h>
#include <string.h>

#define NAMES(...) ((const char *const[]){__VA_ARGS__})

static const char *name_in(const char *const *names, unsigned n, unsigned i)
{
	return i < n ? names[i] : "?";
}

static const char *kind_name(unsigned k)
{
	return name_in(NAMES("VOID", "INT", "UINT", "FLOAT", "CHAR", "ENUM", "MASK", "HANDLE", "DEVPTR",
			     "POINTER", "STRING", "ARRAY", "STRUCT", "UNION", "CALLBACK", "OPAQUE", "BYTES"),
		       17, k);
}

static const char *op_name(unsigned op)
{
	return name_in(NAMES("CONST", "PARAM", "DEREF", "FIELD", "STRLEN", "IMAGE", "MEMBER", "ADD", "SUB",
			     "MUL", "DIV", "MIN", "MAX", "EQ", "NE", "AND", "OR", "COND"),
		       18, op);
}

/* "CUgraphNodeParams.(anonymous)" is no C name. */
static const char *c_name(struct apigen *g, const struct def *d)
{
	char *s = arena_strdup(&g->arena, d->name);
	for (char *c = s; *c; c++)
		if (strchr(".() ", *c))
			*c = '_';
	return s;
}

static int compare_values(const void *a, const void *b)
{
	const struct value *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	if (x->loc.line != y->loc.line)
		return x->loc.line < y->loc.line ? -1 : 1;
	return 0;
}

static void emit_value_array(struct apigen *g, FILE *out, const struct def *d, const char *prefix)
{
	if (!d->values.n)
		return;
	struct value *sorted = arena_array(&g->arena, d->values.n, sizeof(*sorted));
	memcpy(sorted, d->values.v, d->values.n * sizeof(*sorted));
	qsort(sorted, d->values.n, sizeof(*sorted), compare_values);
	fprintf(out, "static const struct api_enum_value %s_%s[] = {\n", prefix, d->name);
	for (size_t i = 0; i < d->values.n; i++)
		fprintf(out, "\t{ \"%s\", %lldLL },\n", sorted[i].name, (long long)sorted[i].value);
	fputs("};\n", out);
}

static void emit_enums(struct apigen *g, FILE *out)
{
	for (size_t i = 0; i < g->enums.n; i++) {
		g->enums.v[i]->index = (unsigned)i;
		emit_value_array(g, out, g->enums.v[i], "enum");
	}
	fputs("const struct api_enum api_enums[] = {\n", out);
	for (size_t i = 0; i < g->enums.n; i++) {
		const struct def *d = g->enums.v[i];
		fprintf(out, "\t{ \"%s\", %s, %zu, enum_%s },\n", d->name,
			d->kind == DEF_MASK ? "true" : "false", d->values.n, d->name);
	}
	fprintf(out, "\t{ 0 }\n};\nconst unsigned api_nenums = %zu;\n\n", g->enums.n);
}

static void emit_handles(struct apigen *g, FILE *out)
{
	for (size_t i = 0; i < g->handles.n; i++) {
		g->handles.v[i]->index = (unsigned)i;
		emit_value_array(g, out, g->handles.v[i], "handle");
	}
	fputs("const struct api_handle api_handles[] = {\n", out);
	for (size_t i = 0; i < g->handles.n; i++) {
		const struct def *d = g->handles.v[i];
		fprintf(out, "\t{ \"%s\", %u, %zu, %s%s },\n", d->name,
			d->handle_alias ? d->handle_alias->index : API_NONE, d->values.n,
			d->values.n ? "handle_" : "NULL", d->values.n ? d->name : "");
	}
	fprintf(out, "\t{ 0 }\n};\nconst unsigned api_nhandles = %zu;\n\n", g->handles.n);
}

static void emit_types(struct apigen *g, FILE *out)
{
	fputs("const struct api_type api_types[] = {\n", out);
	for (size_t i = 0; i < g->types.n; i++) {
		const struct type *t = &g->types.v[i];
		fprintf(out, "\t{ \"%s\", API_KIND_%s, %u, %u, %u, %u, %u }, /* %zu */\n", t->name,
			kind_name(t->kind), t->size, t->align, t->elem, t->count, t->d ? t->d->index : 0, i);
	}
	fprintf(out, "\t{ 0 }\n};\nconst unsigned api_ntypes = %zu;\n\n", g->types.n);
}

static void emit_exprs(struct apigen *g, FILE *out)
{
	fputs("const struct api_expr api_exprs[] = {\n", out);
	for (size_t i = 0; i < g->exprs.n; i++) {
		const struct api_expr *e = &g->exprs.v[i];
		fprintf(out, "\t{ API_EXPR_%s, %d, %d, %d, %lldLL }, /* %zu */\n", op_name(e->op), e->a, e->b,
			e->c, (long long)e->value, i);
	}
	fputs("\t{ 0 }\n};\n\n", out);
}

static unsigned align_up(unsigned v, unsigned align)
{
	return (v + align - 1) / align * align;
}

/* Size of the struct as CUDA version `since` had it: fields that came later left out. */
static unsigned size_at(const struct def *d, unsigned since)
{
	unsigned end = 0;
	for (size_t i = 0; i < d->fields.n; i++) {
		const struct field *f = &d->fields.v[i];
		if (f->since <= since && f->offset + f->size > end)
			end = f->offset + f->size;
	}
	return align_up(end, d->align);
}

static unsigned next_since(const struct def *d, unsigned after)
{
	unsigned best = 0;
	for (size_t i = 0; i < d->fields.n; i++)
		if (d->fields.v[i].since > after && (!best || d->fields.v[i].since < best))
			best = d->fields.v[i].since;
	return best;
}

static unsigned emit_sizes(FILE *out, const struct def *d, const char *name)
{
	unsigned n = 0;
	if (!next_since(d, 0))
		return 0;
	fprintf(out, "static const struct api_struct_size sizes_%s[] = {\n", name);
	for (unsigned since = 0; !n || since; since = next_since(d, since), n++)
		fprintf(out, "\t{ %u, %u },\n", since, size_at(d, since));
	fputs("};\n", out);
	return n;
}

static void emit_struct_parts(struct apigen *g, FILE *out, const struct def *d, unsigned *nsizes)
{
	const char *name = c_name(g, d);
	fprintf(out, "static const struct api_field fields_%s[] = {\n", name);
	for (size_t i = 0; i < d->fields.n; i++) {
		const struct field *f = &d->fields.v[i];
		fprintf(out, "\t{ \"%s\", %u, %u, %u, %d, %d, %u },\n", f->name, f->type, f->offset, f->since,
			f->len, f->active, f->payload);
	}
	fputs("};\n", out);
	*nsizes = emit_sizes(out, d, name);
}

static void emit_structs(struct apigen *g, FILE *out)
{
	unsigned *nsizes = arena_array(&g->arena, g->structs.n + 1, sizeof(*nsizes));
	for (size_t i = 0; i < g->structs.n; i++)
		emit_struct_parts(g, out, g->structs.v[i], &nsizes[i]);
	fputs("const struct api_struct api_structs[] = {\n", out);
	for (size_t i = 0; i < g->structs.n; i++) {
		const struct def *d = g->structs.v[i];
		const char *name = c_name(g, d);
		fprintf(out, "\t{ \"%s\", %s, %u, %u, %zu, %u, fields_%s, %s%s, %s }, /* %zu */\n", d->name,
			d->kind == DEF_UNION ? "true" : "false", d->size, d->align, d->fields.n, nsizes[i],
			name, nsizes[i] ? "sizes_" : "NULL", nsizes[i] ? name : "",
			d->self_tag ? "true" : "false", i);
	}
	fprintf(out, "\t{ 0 }\n};\nconst unsigned api_nstructs = %zu;\n\n", g->structs.n);
}

static void emit_polys(struct apigen *g, FILE *out)
{
	for (size_t i = 0; i < g->polys.n; i++) {
		const struct poly_block *b = g->polys.v[i];
		fprintf(out, "static const struct api_poly_case poly_%s[] = {\n", b->name);
		for (size_t j = 0; j < b->cases.n; j++)
			fprintf(out, "\t{ %lldLL, %u },\n", (long long)b->cases.v[j].value,
				b->cases.v[j].type);
		fputs("\t{ 0 }\n};\n", out);
	}
	fputs("const struct api_poly api_polys[] = {\n", out);
	for (size_t i = 0; i < g->poly_uses.n; i++) {
		const struct poly_use *u = &g->poly_uses.v[i];
		fprintf(out, "\t{ %u, %zu, poly_%s },\n", u->selector, u->block->cases.n, u->block->name);
	}
	fputs("\t{ 0 }\n};\n\n", out);
}

static void emit_params_of(FILE *out, const struct func *f)
{
	if (!f->params.n || f->legacy)
		return;
	fprintf(out, "static const struct api_param params_%s[] = {\n", f->name);
	for (size_t i = 0; i < f->params.n; i++) {
		const struct param *q = &f->params.v[i];
		fprintf(out, "\t{ \"%s\", %u, %u, %u, %u, %u, %d, %d },\n", q->name, q->type, q->dir, q->abi,
			q->payload, q->flags, q->len, q->poly);
	}
	fputs("};\n", out);
}

static void emit_funcs(struct apigen *g, FILE *out)
{
	for (size_t i = 0; i < g->funcs.n; i++)
		emit_params_of(out, g->funcs.v[i]);
	fputs("const struct api_func api_funcs[] = {\n", out);
	for (size_t i = 0; i < g->funcs.n; i++) {
		const struct func *f = g->funcs.v[i];
		fprintf(out, "\t{ \"%s\", \"%s\", %u, %u, %u, %zu, %u, %s%s }, /* %zu */\n", f->name, f->base,
			f->since, f->flags, f->replay, f->params.n, f->ret, f->params.n ? "params_" : "NULL",
			f->params.n ? (f->legacy ? f->legacy->name : f->name) : "", i);
	}
	fprintf(out, "\t{ 0 }\n};\nconst unsigned api_nfuncs = %zu;\n\n", g->funcs.n);
}

/* ---- cuGetProcAddress --------------------------------------------------- */

struct proc {
	const char *name;
	unsigned since;
};

static int compare_procs(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;
	int c = strcmp(x->name, y->name);
	return c ? c : (x->since > y->since) - (x->since < y->since);
}

/* The newest form of `name` in CUDA `version`, of one flavour. */
static const struct func *newest(const struct apigen *g, const char *name, unsigned version, bool per_thread)
{
	const struct func *best = NULL;
	for (size_t i = 0; i < g->funcs.n; i++) {
		const struct func *f = g->funcs.v[i];
		if ((f->flags & API_FUNC_PRIVATE) || strcmp(f->base, name) || f->since > version ||
		    per_thread != !!(f->flags & API_FUNC_PTSZ))
			continue;
		if (!best || f->since > best->since)
			best = f;
	}
	return best;
}

static void emit_proc(const struct apigen *g, FILE *out, const struct proc *p)
{
	const struct func *legacy = newest(g, p->name, p->since, false);
	const struct func *pt = newest(g, p->name, p->since, true);
	if (!legacy)
		legacy = pt;
	/* A per-thread form of an older signature must not answer for a newer one. */
	if (!pt || (pt->legacy && pt->legacy->since < legacy->since))
		pt = legacy;
	fprintf(out, "\t{ \"%s\", %u, %u, %u },\n", p->name, p->since, legacy->index, pt->index);
}

static void emit_procs(struct apigen *g, FILE *out)
{
	struct proc *procs = arena_array(&g->arena, g->funcs.n + 1, sizeof(*procs));
	size_t n = 0, kept = 0;
	for (size_t i = 0; i < g->funcs.n; i++)
		if (!(g->funcs.v[i]->flags & API_FUNC_PRIVATE))
			procs[n++] = (struct proc){g->funcs.v[i]->base, g->funcs.v[i]->since};
	qsort(procs, n, sizeof(*procs), compare_procs);
	fputs("const struct api_proc api_procs[] = {\n", out);
	for (size_t i = 0; i < n; i++) {
		if (i && !compare_procs(&procs[i], &procs[i - 1]))
			continue;
		emit_proc(g, out, &procs[i]);
		kept++;
	}
	fprintf(out, "\t{ 0 }\n};\nconst unsigned api_nprocs = %zu;\n\n", kept);
}

/* ---- the compiler checks our layout ------------------------------------- */

static void emit_layout_checks(struct apigen *g, FILE *out)
{
	for (size_t i = 0; i < g->structs.n; i++) {
		const struct def *d = g->structs.v[i];
		if (d->nested)
			continue;
		fprintf(out, "_Static_assert(sizeof(%s) == %u && _Alignof(%s) == %u, \"%s\");\n", d->name,
			d->size, d->name, d->align, d->name);
		for (size_t j = 0; j < d->fields.n; j++)
			if (*d->fields.v[j].name)
				fprintf(out, "_Static_assert(offsetof(%s, %s) == %u, \"%s.%s\");\n", d->name,
					d->fields.v[j].name, d->fields.v[j].offset, d->name,
					d->fields.v[j].name);
	}
}

void emit_tables(struct apigen *g, FILE *out)
{
	emit_head(out, "What is known about the described functions; see api/api.h.");
	fputs("#include \"api/gen/cuda_abi.h\"\n\n#include \"api/api.h\"\n\n"
	      "#pragma GCC diagnostic ignored \"-Wmissing-field-initializers\"\n\n",
	      out);
	for (size_t i = 0; i < g->structs.n; i++)
		g->structs.v[i]->index = (unsigned)i;
	emit_enums(g, out);
	emit_handles(g, out);
	emit_types(g, out);
	emit_exprs(g, out);
	emit_structs(g, out);
	emit_polys(g, out);
	emit_funcs(g, out);
	emit_procs(g, out);
	emit_layout_checks(g, out);
}
