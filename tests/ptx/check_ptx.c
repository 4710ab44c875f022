/* SPDX-License-Identifier: Apache-2.0
 *
 * check_ptx [--dump] [--access] [--time] [--analyses] [--each] [--quiet] FILE...: parses, builds, verifies and
 * analyses every function of PTX files; --time: without verifying and analysing; --analyses: with these analyses timed;
 * --each: a line for each file, its size, kernels, instructions, speed, and the memory of its module in multiples of
 * the text. Prints what fails with its caret; exits 1 if anything does. Used by the corpus test, and handy by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "all_analyses.h"

static struct {
	bool dump, access, time, analyses, quiet, each;
	unsigned long modules, functions, instructions, failures;
	double seconds, analysis_seconds;
	long facts;
	size_t bytes;
} totals;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static char *read_file(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END))
		return NULL;
	long n = ftell(f);
	rewind(f);
	char *text = malloc((size_t)n + 1);
	*bytes = fread(text, 1, (size_t)n, f);
	fclose(f);
	return text;
}

static void fail(const struct diag *d)
{
	totals.failures++;
	if (!totals.quiet)
		printf("%s: error: %s\n%s\n", d->where, d->what, d->hint);
}

static void print_access(const struct ptx_func *f)
{
	printf("%s%s%s:", f->name, f->writes_unknown ? " writes-unknown" : "",
	       f->writes_module_vars ? " writes-module-vars" : "");
	for (uint32_t k = 0; k < f->nparams; k++) {
		const struct ptx_access *x = &f->access[k];
		printf(" %u=%s%s%s%s", k, x->is_pointer ? "p" : "-", x->is_read ? "r" : "",
		       x->is_written ? "w" : "", x->is_atomic ? "a" : "");
		if (x->is_pointer)
			printf(":%s", ptx_type_name(x->elem_type));
	}
	printf("\n");
}

static void check_function(struct ptx_module *m, struct ptx_func *f)
{
	struct diag d = DIAG_INIT;
	totals.functions++;
	if (ptx_func_build(m, f)) {
		fail(&f->error);
		return;
	}
	totals.instructions += f->ninsts;
	if (!totals.time) {
		if (ptx_func_verify(m, f, &d))
			fail(&d);
		if (ptx_func_analyse(m, f))
			fail(&f->error);
		else if (totals.access)
			print_access(f);
	}
	if (!totals.time || totals.analyses) {
		double start = now();
		long facts = all_analyses(m, f);
		totals.analysis_seconds += now() - start;
		totals.facts += facts;
		totals.failures += facts < 0;
	}
	if (totals.dump)
		ptx_func_dump(m, f, stdout);
}

static void print_file(const char *path, const struct ptx_module *m, size_t bytes, double seconds,
		       unsigned long instructions)
{
	uint32_t kernels = 0;
	for (uint32_t k = 0; k < m->nfuncs; k++)
		kernels += m->funcs[k]->is_entry;
	printf("%s: %zu bytes, %u kernels, %lu instructions, %.1f MB/s, memory %.1f x text\n", path, bytes,
	       kernels, instructions, (double)bytes * 1e-6 / seconds,
	       (double)m->arena.total_bytes / (double)bytes);
}

static void check_file(const char *path)
{
	struct diag d = DIAG_INIT;
	size_t bytes;
	char *text = read_file(path, &bytes);
	if (!text) {
		perror(path);
		totals.failures++;
		return;
	}
	unsigned long instructions = totals.instructions;
	double start = now();
	struct ptx_module *m = ptx_module_parse(text, bytes, path, &d);
	totals.modules++;
	totals.bytes += bytes;
	if (!m)
		fail(&d);
	for (uint32_t k = 0; m && k < m->nerrors; k++)
		fail(&m->errors[k]);
	for (uint32_t k = 0; m && k < m->nfuncs; k++)
		if (!m->funcs[k]->is_decl)
			check_function(m, m->funcs[k]);
	double seconds = now() - start;
	totals.seconds += seconds;
	if (totals.each && m && bytes)
		print_file(path, m, bytes, seconds, totals.instructions - instructions);
	ptx_module_free(m);
	free(text);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		totals.dump |= !strcmp(argv[i], "--dump");
		totals.access |= !strcmp(argv[i], "--access");
		totals.time |= !strcmp(argv[i], "--time");
		totals.analyses |= !strcmp(argv[i], "--analyses");
		totals.each |= !strcmp(argv[i], "--each");
		totals.quiet |= !strcmp(argv[i], "--quiet");
		if (argv[i][0] != '-')
			check_file(argv[i]);
	}
	printf("%lu modules, %lu functions, %lu instructions, %lu failures\n", totals.modules,
	       totals.functions, totals.instructions, totals.failures);
	if (totals.time)
		printf("%.1f MB in %.3f s: %.1f MB/s\n", (double)totals.bytes * 1e-6, totals.seconds,
		       (double)totals.bytes * 1e-6 / totals.seconds);
	if (totals.analyses)
		printf("analyses %.3f s, %ld facts\n", totals.analysis_seconds, totals.facts);
	return totals.failures != 0;
}
