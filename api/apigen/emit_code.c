/* SPDX-License-Identifier: Apache-2.0
 *
 * Code per function: stubs of the core, and function ids.
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
