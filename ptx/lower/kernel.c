/* SPDX-License-Identifier: Apache-2.0
 *
 * The module around a kernel: what it calls, shared memory, attributes, lines. Functions come before the kernel, whose
 * kernarg lists the variables that all of them name.
 */
#include "ptx/lower/barrier.h"
#include "ptx/lower/call_graph.h"
#include "ptx/lower/convergence.h"

#include <stdlib.h>
#include <string.h>

/* Of LLVM 19's AMDGPU back end. */
static const char layout[] = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:"
			     "32-p8:128:128-p9:192:256:256:32-"
			     "i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:"
			     "1024-v2048:2048-n32:64-S32-A5-G1-"
			     "ni:7:8:9";

enum { METADATA_FIRST_FUNCTION = 10 };

static void write_shared(const struct lower *l, FILE *out)
{
	if (l->uses_static_shared)
		fprintf(out, "@shared.static = internal addrspace(3) global [%llu x i8] poison, align 128\n",
			(unsigned long long)(barrier_shared_bytes(l) ? barrier_shared_bytes(l) : 1));
	if (l->uses_dynamic_shared)
		fprintf(out, "@shared.dynamic = external addrspace(3) global [0 x i8], align 16\n");
}

static uint32_t block_limit(const struct ptx_func *f)
{
	const uint32_t *n = f->reqntid[0] ? f->reqntid : f->maxntid;
	uint64_t threads = 1;

	for (unsigned axis = 0; axis < 3; axis++)
		threads *= n[axis] ? n[axis] : 1;
	return !n[0] || threads > 1024 ? 1024 : (uint32_t)threads;
}

/* Of the device library. */
static void write_declarations(struct lower *l, FILE *out)
{
	if (l->declared.out && fclose(l->declared.out))
		lower_no_memory(l);
	else if (l->declared.out)
		fprintf(out, "%s\n", l->declared.text);
	free(l->declared.text);
	l->declared = (struct ir_declarations){0};
}

/* "amdgpu-ieee" off: minima of signaling NaNs are the other operand, as PTX has it, without a step that quiets them. */
static void write_attributes(const struct lower *l, FILE *out)
{
	const char *f32 = l->flushes ? "preserve-sign,preserve-sign" : "ieee,ieee";
	char modes[160];

	snprintf(modes, sizeof(modes),
		 "\"amdgpu-ieee\"=\"false\" \"denormal-fp-math-f32\"=\"%s\" "
		 "\"denormal-fp-math\"=\"ieee,ieee\"",
		 f32);
	fprintf(out,
		"attributes #0 = { nounwind \"amdgpu-flat-work-group-size\"=\"1,%u\" "
		"\"uniform-work-group-size\"=\"true\" %s }\nattributes #1 = { nounwind alwaysinline %s }\n"
		"attributes #2 = { nounwind noinline \"amdgpu-flat-work-group-size\"=\"1,%u\" "
		"\"uniform-work-group-size\"=\"true\" %s }\n",
		block_limit(l->kernel), modes, modes, block_limit(l->kernel), modes);
}

/* Names of files are the user's; a quote or backslash would end the string. */
static void write_quoted(const char *s, FILE *out)
{
	for (; *s; s++)
		if ((unsigned char)*s < 32 || *s == '"' || *s == '\\' || (unsigned char)*s > 126)
			fprintf(out, "\\%02X", (unsigned char)*s);
		else
			fputc(*s, out);
}

static void write_metadata(const struct lower *l, FILE *out)
{
	fprintf(out,
		"\n!0 = !{}\n!llvm.dbg.cu = !{!1}\n!llvm.module.flags = !{!3, !4}\n"
		"!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, producer: \"cutrace\", "
		"isOptimized: true, "
		"runtimeVersion: 0, emissionKind: LineTablesOnly)\n"
		"!3 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
		"!5 = !DISubroutineType(types: !0)\n"
		"!4 = !{i32 1, !\"amdhsa_code_object_version\", i32 %u}\n!2 = !DIFile(filename: \"",
		l->target->code_object * 100);
	write_quoted(l->m->name ? l->m->name : "module.ptx", out);
	fprintf(out, "\", directory: \".\")\n");
	for (uint32_t k = 0; k < l->norder; k++)
		fprintf(out,
			"!%u = distinct !DISubprogram(name: \"%s\", scope: !2, file: !2, line: %u, type: !5, "
			"unit: !1, "
			"spFlags: DISPFlagDefinition | DISPFlagOptimized)\n",
			METADATA_FIRST_FUNCTION + k, l->m->funcs[l->order[k]]->name,
			l->m->funcs[l->order[k]]->line);
}

/* The kernel is the last. */
static void write_functions(struct lower *l, FILE *out)
{
	for (uint32_t k = l->norder; k-- > 0 && !l->refused;) {
		l->f = l->m->funcs[l->order[k]];
		l->subprogram = METADATA_FIRST_FUNCTION + k;
		if (l->f->is_entry || !l->facts[l->f->index].merged)
			lower_function(l, out);
	}
}

static int no_memory(struct lower *l)
{
	l->out->reason[0] = '\0'; /* of a refusal */
	return diag_set(l->d, CUTRACE_ENOMEM, l->kernel->name, "out of memory");
}

static int write_module(struct lower *l)
{
	char *code = NULL;
	size_t bytes = 0;
	FILE *functions = open_memstream(&code, &bytes);
	FILE *out = functions ? open_memstream(&l->out->text, &l->out->bytes) : NULL;
	bool failed = !out;

	if (out) {
		write_functions(l, functions);
		fflush(functions);
		fprintf(out, "target datalayout = \"%s\"\ntarget triple = \"amdgcn-amd-amdhsa\"\n\n", layout);
		write_shared(l, out);
		fprintf(out, "\n%s", code);
		if (l->uses_runtime)
			fprintf(out, "@runtime.offset = internal unnamed_addr addrspace(4) constant i64 %u\n",
				l->out->runtime_offset);
		write_declarations(l, out);
		write_attributes(l, out);
		write_metadata(l, out);
		failed = ferror(functions) || ferror(out);
		failed |= fclose(out) != 0;
	}
	if (functions)
		failed |= fclose(functions) != 0;
	free(code);
	return failed ? no_memory(l) : 0;
}

static int say_refused(struct lower *l)
{
	char where[200];

	snprintf(where, sizeof(where), "%s:%u", l->m->name ? l->m->name : "", l->out->line);
	diag_set(l->d, CUTRACE_ENOTSUP, where, "kernel %s can't be compiled for %s: %s%s%s", l->kernel->name,
		 l->target->name, l->out->op, l->out->op[0] ? ": " : "", l->out->reason);
	return CUTRACE_ENOTSUP;
}

/* Which functions there are, and whether their control flow stays as it is. */
static bool prepare(struct lower *l)
{
	bool apart;

	l->i = NULL;
	if (!call_graph_find(l) || !convergence_find(l, &apart))
		return false;
	l->flushes = kernel_flushes(l);
	for (uint32_t k = 0; apart && k < l->norder; k++)
		l->facts[l->order[k]].merged = l->facts[l->order[k]].waits;
	barrier_find_counted(l, apart);
	return check_kernel(l);
}

static int lower_built(struct lower *l)
{
	int rc = prepare(l) ? write_module(l) : 0;

	call_graph_free(l);
	if (l->no_memory)
		return no_memory(l);
	return !rc && l->refused ? say_refused(l) : rc;
}

void lower_options_read(const char *text, struct lower_options *out)
{
	static const char key[] = "contract=all";
	const char *at = text ? strstr(text, key) : NULL;

	*out = (struct lower_options){0};
	out->contract =
		at && (at == text || at[-1] == ',') && (!at[sizeof(key) - 1] || at[sizeof(key) - 1] == ',');
}

int lower_kernel(struct ptx_module *m, struct ptx_func *kernel, const struct lower_target *target,
		 struct lowered *out, struct diag *d)
{
	return lower_kernel_as(m, kernel, target, &(struct lower_options){0}, out, d);
}

int lower_kernel_as(struct ptx_module *m, struct ptx_func *kernel, const struct lower_target *target,
		    const struct lower_options *options, struct lowered *out, struct diag *d)
{
	struct lower l = {.m = m, .kernel = kernel, .target = target, .options = options, .out = out, .d = d};
	int rc = ptx_func_build(m, kernel);

	memset(out, 0, sizeof(*out));
	if (rc) {
		if (d)
			*d = kernel->error;
		return rc;
	}
	if (!kernel->is_entry)
		return diag_set(d, CUTRACE_EINVAL, m->name ? m->name : "", "%s is no kernel", kernel->name);
	out->variables_offset = (kernel->param_bytes + 7) & ~7u;
	rc = lower_built(&l);
	free(l.params_read);
	if (rc) {
		free(out->text);
		out->text = NULL;
	}
	return rc;
}

void lowered_free(struct lowered *l)
{
	free(l->text);
	free(l->variables);
	memset(l, 0, sizeof(*l));
}
