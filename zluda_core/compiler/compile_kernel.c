/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/compile_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "zluda_core/compiler/compile_options.h"
#include "zluda_core/compiler/contract.h"
#include "zluda_core/compiler/service.h"

static int find(const struct compile_job *job, struct ptx_func **f, const struct lower_target **target,
		struct diag *d)
{
	const char *name = job->module->name ? job->module->name : "";

	*f = ptx_func_find(job->module, job->kernel);
	*target = lower_target_find(job->target);
	if (!*target)
		return diag_set(d, CUTRACE_ENOTSUP, name, "there is no target %s", job->target);
	if (!*f || !(*f)->is_entry)
		return diag_set(d, CUTRACE_ENOENT, name, "there is no kernel %s", job->kernel);
	return compile_options_check(job->options, d);
}

static void describe(const struct compile_job *job, const struct ptx_func *f, const struct compile_result *r,
		     struct contract *c)
{
	const struct compile_stats *s = &r->compiled.stats;
	const struct lowered *l = &r->lowered;
	/* What the program declared counts, also where LLVM found that nobody reads it; LLVM may have added some. */
	const uint32_t shared =
		f->shared_bytes > s->shared_bytes ? (uint32_t)f->shared_bytes : s->shared_bytes;

	*c = (struct contract){.kernel = job->kernel,
			       .target = job->target,
			       .build = job->build,
			       .param_bytes = f->param_bytes,
			       .variables_offset = l->variables_offset,
			       .nvariables = l->nvariables,
			       .runtime_offset = l->runtime_offset,
			       .kernarg_bytes = l->kernarg_bytes,
			       .segment_bytes = s->kernarg_bytes,
			       .wave = s->wave,
			       .max_threads = s->max_threads,
			       .shared_bytes = shared,
			       .scratch_bytes = s->scratch_bytes,
			       .vgprs = s->vgprs,
			       .agprs = s->agprs,
			       .sgprs = s->sgprs,
			       .spilled_vgprs = s->spilled_vgprs,
			       .spilled_sgprs = s->spilled_sgprs,
			       .code_bytes = s->code_bytes,
			       .uses = (f->uses_dynamic_shared ? CONTRACT_DYNAMIC_SHARED : 0u) |
				       (l->runtime_offset ? CONTRACT_RUNTIME : 0u) |
				       (s->dynamic_stack ? CONTRACT_DYNAMIC_STACK : 0u)};
	memcpy(c->text_hash, job->text_hash, sizeof(c->text_hash));
}

static int attach(const struct compile_job *job, const struct ptx_func *f, struct compile_result *r,
		  struct diag *d)
{
	const char **names = calloc(r->lowered.nvariables + 1, sizeof(*names));
	struct contract c;
	void *linked = r->code_object;

	if (!names)
		return diag_set(d, CUTRACE_ENOMEM, job->kernel, "out of memory");
	for (uint32_t k = 0; k < r->lowered.nvariables; k++)
		names[k] = job->module->symbols[r->lowered.variables[k]]->name;
	describe(job, f, r, &c);
	int rc = contract_attach(linked, r->bytes, &c, names, &r->code_object, &r->bytes, d);
	free(linked);
	free(names);
	if (rc)
		r->code_object = NULL;
	return rc;
}

/* LLVM says so too, without saying which kernel and what to do. */
static int check_shared(const struct ptx_func *f, const struct lower_target *target, struct compile_result *r,
			struct diag *d)
{
	if (f->shared_bytes <= target->shared_bytes)
		return 0;
	r->lowered.line = f->line;
	snprintf(r->lowered.reason, sizeof(r->lowered.reason),
		 "it needs %llu bytes of shared memory, and %s gives a block %u",
		 (unsigned long long)f->shared_bytes, target->name, target->shared_bytes);
	diag_set(d, CUTRACE_ENOTSUP, f->name, "kernel %s can't be compiled for %s: %s", f->name, target->name,
		 r->lowered.reason);
	diag_hint(d, "make the block's tiles smaller, or its shared memory dynamic");
	return CUTRACE_ENOTSUP;
}

int compile_kernel(const struct compile_job *job, struct compile_result *out, struct diag *d)
{
	unsigned wanted = (job->want & SERVICE_OPTIMIZED ? COMPILE_OPTIMIZED : 0u) |
			  (job->want & SERVICE_ASSEMBLY ? COMPILE_ASSEMBLY : 0u);
	const struct lower_target *target;
	struct lower_options options;
	struct ptx_func *f;
	int rc;

	memset(out, 0, sizeof(*out));
	lower_options_read(job->options, &options);
	rc = find(job, &f, &target, d);
	if (!rc && !ptx_func_build(job->module, f))
		rc = check_shared(f, target, out, d);
	if (!rc)
		rc = lower_kernel_as(job->module, f, target, &options, &out->lowered, d);
	if (!rc)
		rc = compiler_run_at(&out->lowered, job->kernel, target, compile_options_level(job->options),
				     wanted, &out->compiled, d);
	if (!rc)
		rc = compiler_link_object(out->compiled.object, out->compiled.object_bytes, &out->code_object,
					  &out->bytes, d);
	return rc ? rc : attach(job, f, out, d);
}

void compile_result_free(struct compile_result *r)
{
	free(r->code_object);
	lowered_free(&r->lowered);
	compiled_free(&r->compiled);
	memset(r, 0, sizeof(*r));
}
