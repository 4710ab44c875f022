/* SPDX-License-Identifier: Apache-2.0
 *
 * abi_check.inc: everything that the description claims about names, layout and values, as macro calls,
 * to be compiled after the vendor's headers.
 */
#include "apigen.h"

#include <string.h>

static void check_type(FILE *out, const char *name, const struct def *d)
{
	fprintf(out, "API_CHECK_TYPE(%s, %u, %u)\n", name, d->size, d->align);
}

static void check_fields(struct apigen *g, FILE *out, const struct def *top, const struct def *d,
			 const char *path, unsigned base)
{
	for (size_t i = 0; i < d->fields.n; i++) {
		const struct field *f = &d->fields.v[i];
		const char *name =
			arena_printf(&g->arena, "%s%s%s", path, *path && *f->name ? "." : "", f->name);
		if (*f->name)
			fprintf(out, "API_CHECK_FIELD(%s, %s, %u, %u)\n", top->name, name, base + f->offset,
				f->size);
		if (f->def && f->def->nested && !f->count)
			check_fields(g, out, top, f->def, name, base + f->offset);
	}
}

static void check_def(struct apigen *g, FILE *out, const struct def *d)
{
	bool is_type =
		d->kind != DEF_CONST && !d->macros && (d->kind != DEF_CALLBACK || strstr(d->base, "(*)"));
	if (is_type)
		check_type(out, d->name, d);
	for (size_t i = 0; i < d->aka.n; i++)
		check_type(out, d->aka.v[i], d);
	for (size_t i = 0; i < d->values.n; i++)
		fprintf(out, "API_CHECK_VALUE(%s, %lld)\n", d->values.v[i].name,
			(long long)d->values.v[i].value);
	check_fields(g, out, d, d, "", 0);
}

void emit_check(struct apigen *g, FILE *out)
{
	emit_head(out,
		  "The description's claims, for a check against the vendor's headers:\n"
		  " * prototypes, API_CHECK_TYPE(type, size, alignment), API_CHECK_FIELD(type, member, "
		  "offset, size),\n"
		  " * API_CHECK_VALUE(constant, value), API_CHECK_PROC(function, base, version, suffix).");
	fputs("#ifdef API_CHECK_PROTOTYPES\n", out);
	for (size_t i = 0; i < g->funcs.n; i++)
		if (!(g->funcs.v[i]->flags & API_FUNC_PRIVATE)) {
			emit_prototype(g, out, g->funcs.v[i]);
			fputs(";\n", out);
		}
	fputs("#endif\n", out);
	for (size_t i = 0; i < g->defs.n; i++)
		check_def(g, out, g->defs.v[i]);
	for (size_t i = 0; i < g->funcs.n; i++) {
		const struct func *f = g->funcs.v[i];
		if (!(f->flags & API_FUNC_PRIVATE))
			fprintf(out, "API_CHECK_PROC(%s, %s, %u, %s)\n", f->name, f->base, f->since,
				f->legacy ? f->legacy->pt_suffix : "");
	}
}
