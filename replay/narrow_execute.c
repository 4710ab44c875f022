/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of one statement on the interpreter: a process for each choice of what the ISA leaves open, which gives its
 * results by shared memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/narrow_judge.h"

static size_t rows_of(const struct batch *b)
{
	return (b->n + LANES - 1) / LANES * LANES;
}

/* Shared with the processes that judge: results, and whether there are any. */
static bool share(struct judging *j)
{
	uint8_t *p;
	size_t bytes = 0;

	for (uint32_t k = 0; k < j->n; k++)
		bytes += (j->batches[k].approximate ? RUNS : 1) * rows_of(&j->batches[k]) * 4 *
				 j->batches[k].out_words +
			 64;
	p = mmap(NULL, bytes + 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	j->shared = p;
	j->shared_bytes = bytes + 64;
	for (uint32_t k = 0; k < j->n; k++) {
		struct batch *b = &j->batches[k];

		b->done = p;
		p += 64;
		for (unsigned run = 0; run < (b->approximate ? RUNS : 1); run++) {
			b->out[run] = (uint32_t *)(void *)p;
			p += rows_of(b) * 4 * b->out_words;
		}
	}
	return true;
}

typedef int (*launch_fn)(uint64_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			 unsigned bz, unsigned shared, uint64_t stream, void **params, void **extra);

static bool launch(struct driver *drv, uint64_t f, size_t blocks, uint64_t *in, uint64_t *out)
{
	void *params[] = {in, out}, *sym = driver_symbol(drv, "cuLaunchKernel");
	launch_fn fn;

	if (!sym)
		return false;
	memcpy(&fn, &sym, sizeof(fn));
	return !fn(f, (unsigned)blocks, 1, 1, LANES, 1, 1, 0, 0, params, NULL) &&
	       !driver_plain(drv, "cuCtxSynchronize", 0);
}

static bool judge_batch(struct driver *drv, uint64_t module, const struct batch *b, unsigned run)
{
	uint64_t f = 0, in = 0, out = 0, rows = rows_of(b);
	uint64_t in_bytes = rows * 4 * b->in_words, out_bytes = rows * 4 * b->out_words;
	bool ok = !driver_plain(drv, "cuModuleGetFunction", 3, word(&f), module, word(b->judge.name)) &&
		  !driver_plain(drv, "cuMemAlloc_v2", 2, word(&in), in_bytes) &&
		  !driver_plain(drv, "cuMemAlloc_v2", 2, word(&out), out_bytes) &&
		  !driver_plain(drv, "cuMemsetD8_v2", 3, in, (uint64_t)0, in_bytes) &&
		  !driver_plain(drv, "cuMemsetD8_v2", 3, out, (uint64_t)0, out_bytes) &&
		  !driver_plain(drv, "cuMemcpyHtoD_v2", 3, in, word(b->rows), b->n * 4 * b->in_words) &&
		  launch(drv, f, rows / LANES, &in, &out) &&
		  !driver_plain(drv, "cuMemcpyDtoH_v2", 3, word(b->out[run]), out, out_bytes);

	driver_plain(drv, "cuMemFree_v2", 1, in);
	driver_plain(drv, "cuMemFree_v2", 1, out);
	return ok;
}

static void judge_on(const struct judging *j, const char *text, unsigned run)
{
	struct driver *drv = calloc(1, sizeof(*drv));
	struct diag d = DIAG_INIT;
	uint64_t context = 0, module = 0;
	char device[96];

	snprintf(device, sizeof(device), run ? "interp:approx=seed:%u,tensor=seed:%u" : "interp", run, run);
	setenv("CUTRACE_DEVICE", device, 1);
	unsetenv("CUTRACE_INJECT");
	unsetenv("LD_AUDIT");
	if (!drv || driver_open(drv, j->s->own_driver_path, &d) ||
	    driver_plain(drv, "cuInit", 1, (uint64_t)0) ||
	    driver_plain(drv, "cuCtxCreate_v2", 3, word(&context), (uint64_t)0, (uint64_t)0) ||
	    driver_plain(drv, "cuModuleLoadData", 2, word(&module), word(text)))
		return;
	for (uint32_t k = 0; k < j->n; k++)
		if (j->batches[k].n && (!run || j->batches[k].approximate))
			j->batches[k].done[run] = judge_batch(drv, module, &j->batches[k], run);
}

static void judge_in_child(const struct judging *j, const char *text, unsigned run)
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		judge_on(j, text, run);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

int judging_execute(struct judging *j, struct diag *d)
{
	struct ptx_judge *judges = calloc(j->n + 1, sizeof(*judges));
	char *text = NULL;
	size_t bytes;
	bool seeds = false, any = false;
	int rc = judges && share(j) ? 0 : diag_set(d, CUTRACE_ENOMEM, "", "out of memory");

	for (uint32_t k = 0; !rc && k < j->n; k++) {
		judges[k] = j->batches[k].judge;
		seeds |= j->batches[k].approximate && j->batches[k].n;
	}
	if (!rc)
		rc = ptx_judge_text(j->m, j->log->code, judges, j->n, &text, &bytes, d);
	for (uint32_t k = 0; !rc && k < j->n; k++)
		j->batches[k].judge = judges[k];
	for (unsigned run = 0; !rc && run < (seeds ? RUNS : 1); run++)
		judge_in_child(j, text, run);
	for (uint32_t k = 0; !rc && k < j->n; k++)
		any |= j->batches[k].done[0] || !j->batches[k].n;
	if (!rc && j->n && !any)
		rc = diag_set(d, CUTRACE_ENOTSUP, "", "the interpreter does not take them");
	free(text);
	free(judges);
	return rc;
}
