/* SPDX-License-Identifier: Apache-2.0
 *
 * Code per function: stubs of the core, entry points of the recorder, function ids, and
 * the prototypes that a test compiles against the vendor's own header.
 */
#include "apigen.h"

#include <string.h>

static bool is_exported(const struct func *f)
{
	return !(f->flags & API_FUNC_PRIVATE);
}

/* Weak, so that a real definition in another object of the same library wins. */
void emit_stubs(struct apigen *g, FILE *out)
{
	emit_head(out, "A weak default definition of every exported function.");
	fputs("#define CUDA_ABI_NO_MAPPING\n#include \"api/gen/cuda_abi.h\"\n\n"
	      "/* Says once that the function is not supported. */\nint core_unsupported(const char "
	      "*name);\n\n"
	      "#define STUB __attribute__((weak, visibility(\"default\")))\n"
	      "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n\n",
	      out);
	for (size_t i = 0; i < g->funcs.n; i++) {
		const struct func *f = g->funcs.v[i];
		if (!is_exported(f))
			continue;
		fputs("STUB ", out);
		emit_prototype(g, out, f);
		fprintf(out, "\n{\n\treturn (%s)core_unsupported(\"%s\");\n}\n", f->ret_text, f->name);
	}
}

void emit_ids(struct apigen *g, FILE *out)
{
	emit_head(out, "Function ids of this build: indices into api_funcs.");
	fputs("#ifndef CUTRACE_API_IDS_H\n#define CUTRACE_API_IDS_H\n\nenum api_id {\n", out);
	for (size_t i = 0; i < g->funcs.n; i++)
		fprintf(out, "\tAPI_ID_%s = %zu,\n", g->funcs.v[i]->name, i);
	fprintf(out, "\tAPI_ID_COUNT = %zu\n};\n\n#endif\n", g->funcs.n);
}

static const char *arg_macro(const struct apigen *g, const struct param *q)
{
	const struct type *t = &g->types.v[q->type];
	if (q->abi == API_ABI_MEMORY)
		return "REC_ARG_MEMORY";
	if (q->abi == API_ABI_FLOAT)
		return t->size == 4 ? "REC_ARG_FLOAT" : "REC_ARG_DOUBLE";
	if (t->kind == API_KIND_STRUCT || t->kind == API_KIND_UNION)
		return "REC_ARG_STRUCT";
	if (q->ctype.stars || (q->ctype.base->kind == DEF_CALLBACK) ||
	    (q->ctype.base->base && strchr(q->ctype.base->base, '*')))
		return "REC_ARG_POINTER";
	return q->ctype.base->is_signed ? "REC_ARG_INT" : "REC_ARG_UINT";
}

static void emit_arguments(FILE *out, const struct func *f)
{
	fputc('(', out);
	for (size_t i = 0; i < f->params.n; i++)
		fprintf(out, "%s%s", i ? ", " : "", f->params.v[i].name);
	fputc(')', out);
}

static void emit_entry(struct apigen *g, FILE *out, const struct func *f)
{
	const char *fast = f->flags & (API_FUNC_HAS_IN | API_FUNC_HAS_OUT) ? "REC" : "REC";
	emit_prototype(g, out, f);
	fprintf(out, "\n{\n\ttypedef %s (*real_fn)", f->ret_text);
	emit_params(g, out, f);
	fprintf(out, ";\n\treal_fn real_ = (real_fn)%s_REAL(API_ID_%s);\n\tif (%s_OFF())\n\t\treturn real_",
		fast, f->name, fast);
	emit_arguments(out, f);
	fprintf(out, ";\n\tuint64_t args_[%zu] = { ", f->params.n ? f->params.n : 1);
	for (size_t i = 0; i < f->params.n; i++)
		fprintf(out, "%s%s(%s)", i ? ", " : "", arg_macro(g, &f->params.v[i]), f->params.v[i].name);
	fprintf(out, "%s };\n\tREC_ENTER(API_ID_%s, args_, %zu);\n\t%s = real_", f->params.n ? "" : "0",
		f->name, f->params.n, ctype_declare(g, f->ret_text, "result_"));
	emit_arguments(out, f);
	fprintf(out, ";\n\tREC_EXIT(API_ID_%s, args_, (uint64_t)result_);\n\treturn result_;\n}\n", f->name);
}

void emit_entries(struct apigen *g, FILE *out)
{
	emit_head(out, "The recorder's entry points: one for every exported function.");
	fputs("#define CUDA_ABI_NO_MAPPING\n#include \"api/gen/cuda_abi.h\"\n\n#include "
	      "\"api/gen/api_ids.h\"\n"
	      "#include \"interpose/entry.h\"\n\n",
	      out);
	for (size_t i = 0; i < g->funcs.n; i++)
		if (is_exported(g->funcs.v[i]))
			emit_entry(g, out, g->funcs.v[i]);
}

/* Redeclares every function with the types as the description spells them; compiling it
 * after the vendor's header proves that they are the same. */
void emit_check(struct apigen *g, FILE *out)
{
	emit_head(out, "Prototypes for a check against the vendor's headers.");
	for (size_t i = 0; i < g->funcs.n; i++) {
		const struct func *f = g->funcs.v[i];
		if (!is_exported(f))
			continue;
		emit_prototype(g, out, f);
		fputs(";\n", out);
	}
}
