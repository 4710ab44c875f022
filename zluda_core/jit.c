/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of module loads: those that ask for something (logs, times) are served; those that steer a compiler
 * to machine code are checked and have no effect here.
 */
#include "core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

CUresult jit_parse(struct jit *jit, unsigned n, const CUjit_option *options_in, void **values)
{
	memset(jit, 0, sizeof(*jit));
	jit->started_ns = now_ns();
	if (n && (!options_in || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		void **v = &values[i];

		switch (options_in[i]) {
		case CU_JIT_INFO_LOG_BUFFER: jit->info = *v; break;
		case CU_JIT_ERROR_LOG_BUFFER: jit->error = *v; break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			jit->info_size = (unsigned)(uintptr_t)*v;
			jit->info_size_out = v;
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			jit->error_size = (unsigned)(uintptr_t)*v;
			jit->error_size_out = v;
			break;
		case CU_JIT_WALL_TIME: jit->wall_time_out = v; break;
		case CU_JIT_THREADS_PER_BLOCK:
			jit->threads = (unsigned)(uintptr_t)*v;
			jit->threads_out = v;
			break;
		default:
			if ((unsigned)options_in[i] > CU_JIT_MIN_CTA_PER_SM + 8u)
				return CUDA_ERROR_INVALID_VALUE;
		}
	}
	if (jit->info && jit->info_size)
		jit->info[0] = 0;
	if (jit->error && jit->error_size)
		jit->error[0] = 0;
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
