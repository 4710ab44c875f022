/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of module loads: those that ask for something (logs, times) are served; those that steer a compiler
 * to machine code are checked and have no effect here.
 */
#include "core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Options for a compiler to machine code: on a device that executes PTX as it is they change nothing. The log says
 * so of those from which a program expects something that it could notice. */
static const struct {
	CUjit_option option;
	const char *name; /* NULL: not said */
} without_effect[] = {
	{CU_JIT_MAX_REGISTERS, "CU_JIT_MAX_REGISTERS"},
	{CU_JIT_OPTIMIZATION_LEVEL, NULL},
	{CU_JIT_TARGET_FROM_CUCONTEXT, NULL}, /* that is the default */
	{CU_JIT_FALLBACK_STRATEGY, NULL},
	{CU_JIT_GENERATE_DEBUG_INFO, NULL}, /* lines are kept always */
	{CU_JIT_GENERATE_LINE_INFO, NULL},
	{CU_JIT_CACHE_MODE, NULL},
	{CU_JIT_NEW_SM3X_OPT, NULL},
	{CU_JIT_FAST_COMPILE, NULL},
	{CU_JIT_LTO, "CU_JIT_LTO"},
	{CU_JIT_FTZ, NULL}, /* of link-time optimisation, like those that follow */
	{CU_JIT_PREC_DIV, NULL},
	{CU_JIT_PREC_SQRT, NULL},
	{CU_JIT_FMA, NULL},
	{CU_JIT_REFERENCED_KERNEL_NAMES, NULL},
	{CU_JIT_REFERENCED_KERNEL_COUNT, NULL},
	{CU_JIT_REFERENCED_VARIABLE_NAMES, NULL},
	{CU_JIT_REFERENCED_VARIABLE_COUNT, NULL},
	{CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES, NULL},
	{CU_JIT_POSITION_INDEPENDENT_CODE, NULL},
	{CU_JIT_MIN_CTA_PER_SM, "CU_JIT_MIN_CTA_PER_SM"},
	{CU_JIT_MAX_THREADS_PER_BLOCK, "CU_JIT_MAX_THREADS_PER_BLOCK"},
	{CU_JIT_OVERRIDE_DIRECTIVE_VALUES, "CU_JIT_OVERRIDE_DIRECTIVE_VALUES"},
	{CU_JIT_SPLIT_COMPILE, NULL},
};

static bool has_no_effect(CUjit_option option)
{
	for (size_t i = 0; i < ARRAY_SIZE(without_effect); i++)
		if (without_effect[i].option == option)
			return true;
	return false;
}

static void note_no_effect(struct jit *jit, CUjit_option option)
{
	for (size_t i = 0; i < ARRAY_SIZE(without_effect); i++)
		if (without_effect[i].option == option && without_effect[i].name)
			jit_log(jit, false, "info: %s has no effect on this device\n",
				without_effect[i].name);
}

static CUresult parse_one(struct jit *jit, CUjit_option option, void **v)
{
	unsigned value = (unsigned)(uintptr_t)*v;

	switch (option) {
	case CU_JIT_INFO_LOG_BUFFER: jit->info = *v; break;
	case CU_JIT_ERROR_LOG_BUFFER: jit->error = *v; break;
	case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
		jit->info_size = value;
		jit->info_size_out = v;
		break;
	case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
		jit->error_size = value;
		jit->error_size_out = v;
		break;
	case CU_JIT_LOG_VERBOSE: jit->verbose = value; break;
	case CU_JIT_TARGET: jit->target = value % 1000; break; /* 10000 and more: a or f, the same PTX */
	case CU_JIT_WALL_TIME: jit->wall_time_out = v; break;
	case CU_JIT_THREADS_PER_BLOCK:
		jit->threads = value;
		jit->threads_out = v;
		break;
	case CU_JIT_GLOBAL_SYMBOL_NAMES:
	case CU_JIT_GLOBAL_SYMBOL_ADDRESSES: break; /* as many as the count says */
	case CU_JIT_GLOBAL_SYMBOL_COUNT:
		if (!value)
			break;
		say("CU_JIT_GLOBAL_SYMBOL_NAMES is not supported: define the variables in a module that is "
		    "linked");
		return CUDA_ERROR_NOT_SUPPORTED;
	default: return has_no_effect(option) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult jit_parse(struct jit *jit, unsigned n, const CUjit_option *options_in, void **values)
{
	CUresult r = CUDA_SUCCESS;

	memset(jit, 0, sizeof(*jit));
	jit->started_ns = now_ns();
	if (n && (!options_in || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n && !r; i++)
		r = parse_one(jit, options_in[i], &values[i]);
	if (r)
		return r;
	if (jit->info && jit->info_size)
		jit->info[0] = 0;
	if (jit->error && jit->error_size)
		jit->error[0] = 0;
	for (unsigned i = 0; i < n; i++)
		note_no_effect(jit, options_in[i]);
	return CUDA_SUCCESS;
}

CUresult jit_check_module(struct jit *jit, const struct ptx_module *m)
{
	if (jit->target && m->target > jit->target) {
		struct diag d = DIAG_INIT;

		diag_set(&d, CUTRACE_EINVAL, m->name,
			 "this module is for sm_%u, CU_JIT_TARGET asks for sm_%u", m->target, jit->target);
		jit_diag(jit, &d);
		return CUDA_ERROR_INVALID_PTX;
	}
	for (uint32_t i = 0; jit->verbose && i < m->nfuncs; i++)
		if (m->funcs[i]->is_entry)
			jit_log(jit, false, "info: %s:%u: kernel %s, %u bytes of parameters\n", m->name,
				m->funcs[i]->line, m->funcs[i]->name, m->funcs[i]->param_bytes);
	return CUDA_SUCCESS;
}

void jit_log(struct jit *jit, bool error, const char *fmt, ...)
{
	char *buf = error ? jit->error : jit->info;
	size_t size = error ? jit->error_size : jit->info_size;
	size_t *used = error ? &jit->error_used : &jit->info_used;
	va_list ap;
	int n;

	if (!buf || *used + 1 >= size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(buf + *used, size - *used, fmt, ap);
	va_end(ap);
	if (n > 0)
		*used = *used + (size_t)n < size ? *used + (size_t)n : size - 1;
}

/* "where: error: what (hint)"; on stderr when the program gave no log, so that it is not lost. */
void jit_diag(struct jit *jit, const struct diag *d)
{
	if (!jit->error || !jit->error_size) {
		say_diag(d);
		return;
	}
	jit_log(jit, true, "%s%serror: %s%s%s\n", d->where, d->where[0] ? ": " : "", d->what,
		d->hint[0] ? "\n" : "", d->hint);
}

void jit_finish(struct jit *jit)
{
	float ms = (float)((double)(now_ns() - jit->started_ns) / 1e6);

	if (jit->info_size_out)
		*jit->info_size_out = (void *)jit->info_used;
	if (jit->error_size_out)
		*jit->error_size_out = (void *)jit->error_used;
	if (jit->wall_time_out)
		memcpy(jit->wall_time_out, &ms, sizeof(ms));
	if (jit->threads_out)
		*jit->threads_out = (void *)(uintptr_t)jit->threads;
}
