/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_bench [FILE.ptx...]: how fast and large the PTX front end is.
 *
 * For generated modules of 1 to 50 MB, and for the files together: the time to load a module (directives, where bodies
 * are), to build everything (lexing, parsing, SSA), its speed on one core in MB of text a second, and the most memory it
 * took in multiples of the text, the text itself not counted. For the largest module also what a program sees:
 * cuModuleLoadData, one kernel, one launch on the interpreter.
 *
 * ptx_bench --generate MB KERNELS prints such a module.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>

#include "bench/ptx_generate.h"
#include "ptx/ir.h"

struct figures {
	double load_s, build_s;
	unsigned long bytes, kernels, instructions, failures, memory_bytes;
};

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A line of /proc/self/status in bytes. */
static unsigned long status_of(const char *name)
{
	char line[256];
	unsigned long kb = 0;
	FILE *in = fopen("/proc/self/status", "r");
	while (in && fgets(line, sizeof(line), in))
		if (!strncmp(line, name, strlen(name)))
			kb = strtoul(line + strlen(name) + 1, NULL, 10);
	if (in)
		fclose(in);
	return kb * 1024;
}

static void reset_peak(void)
{
	FILE *out = fopen("/proc/self/clear_refs", "w");
	if (!out)
		return;
	fputs("5", out); /* proc(5): the peak becomes the present size */
	fclose(out);
}

static void measure(const char *text, size_t bytes, struct figures *f)
{
	struct diag d = DIAG_INIT;
	reset_peak();
	unsigned long before = status_of("VmRSS:");
	double start = now(CLOCK_PROCESS_CPUTIME_ID);
	struct ptx_module *m = ptx_module_parse(text, bytes, "bench.ptx", &d);
	if (!m || m->nerrors) {
		f->failures++;
		return;
	}
	double loaded = now(CLOCK_PROCESS_CPUTIME_ID);
	for (uint32_t k = 0; k < m->nfuncs; k++) {
		struct ptx_func *func = m->funcs[k];
		if (func->is_decl)
			continue;
		f->failures += ptx_func_build(m, func) != 0;
		f->kernels += func->is_entry;
		f->instructions += func->ninsts;
	}
	f->build_s += now(CLOCK_PROCESS_CPUTIME_ID) - start;
	f->load_s += loaded - start;
	f->memory_bytes += status_of("VmHWM:") - before;
	f->bytes += bytes;
	ptx_module_free(m);
}

/* In a process of its own, so that nothing is left of the one before. */
static bool in_child(void (*work)(const char *, size_t, struct figures *), const char *text, size_t bytes,
		     struct figures *sum)
{
	int fds[2];
	struct figures f = {0};
	if (pipe(fds))
		return false;
	pid_t pid = fork();
	if (!pid) {
		work(text, bytes, &f);
		_exit(write(fds[1], &f, sizeof(f)) != sizeof(f));
	}
	close(fds[1]);
	bool ok = pid > 0 && read(fds[0], &f, sizeof(f)) == sizeof(f);
	close(fds[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	sum->load_s += f.load_s;
	sum->build_s += f.build_s;
	sum->bytes += f.bytes;
	sum->kernels += f.kernels;
	sum->instructions += f.instructions;
	sum->failures += f.failures + !ok;
	sum->memory_bytes += f.memory_bytes;
	return ok;
}

static void print_row(const char *name, const struct figures *f)
{
	printf("%-22s %7.2f %8lu %10lu %9.1f %9.3f %8.1f %8.1f %9lu\n", name, (double)f->bytes * 1e-6,
	       f->kernels, f->instructions, f->load_s * 1e3, f->build_s, (double)f->bytes * 1e-6 / f->build_s,
	       (double)f->memory_bytes / (double)f->bytes, f->failures);
}

static void check(CUresult r, const char *what)
{
	if (r)
		fprintf(stderr, "ptx_bench: %s: error %d\n", what, (int)r);
}

/* As a program does it, until the kernel has run: load_s by the clock, build_s of processor time. */
static void load_and_launch(const char *text, size_t bytes, struct figures *f)
{
	CUdevice dev;
	CUcontext ctx;
	CUmodule m;
	CUfunction k;
	CUdeviceptr p;
	int n = 256;
	void *params[] = {&p, &n};
	check(cuInit(0), "cuInit");
	check(cuDeviceGet(&dev, 0), "cuDeviceGet");
	check(cuCtxCreate(&ctx, NULL, 0, dev), "cuCtxCreate");
	check(cuMemAlloc(&p, 1 << 20), "cuMemAlloc");
	double start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	CUresult r = cuModuleLoadData(&m, text);
	check(r, "cuModuleLoadData");
	r = r ? r : cuModuleGetFunction(&k, m, "kernel_17");
	check(r, "cuModuleGetFunction");
	r = r ? r : cuLaunchKernel(k, 1, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
	r = r ? r : cuCtxSynchronize();
	check(r, "cuLaunchKernel");
	f->load_s = now(CLOCK_MONOTONIC) - start;
	f->build_s = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	f->failures = r != CUDA_SUCCESS;
	f->bytes = bytes;
}

static char *read_file(const char *path, size_t *bytes)
{
	FILE *in = fopen(path, "rb");
	if (!in || fseek(in, 0, SEEK_END))
		return NULL;
	long n = ftell(in);
	rewind(in);
	char *text = n < 0 ? NULL : malloc((size_t)n + 1);
	*bytes = text ? fread(text, 1, (size_t)n, in) : 0;
	if (text)
		text[*bytes] = 0;
	fclose(in);
	return text;
}

static int bench_generated(void)
{
	static const struct {
		unsigned mb, kernels;
	} sizes[] = {{1, 100}, {5, 500}, {10, 1000}, {25, 2500}, {50, 5000}, {50, 50}};
	unsigned long failures = 0;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct figures f = {0}, run = {0};
		char name[64];
		size_t bytes;
		char *text = ptx_generate((size_t)sizes[k].mb * 1000000, sizes[k].kernels, &bytes);
		if (!text)
			return 1;
		in_child(measure, text, bytes, &f);
		snprintf(name, sizeof(name), "%u MB, %u kernels", sizes[k].mb, sizes[k].kernels);
		print_row(name, &f);
		if (sizes[k].kernels == 5000) {
			in_child(load_and_launch, text, bytes, &run);
			printf("  cuModuleLoadData, one kernel, one launch: %.0f ms, %.0f ms of processor "
			       "time\n",
			       run.load_s * 1e3, run.build_s * 1e3);
		}
		failures += f.failures + run.failures;
		free(text);
	}
	return failures != 0;
}

static int bench_files(char **paths, int n)
{
	struct figures f = {0};
	char name[64];
	for (int k = 0; k < n; k++) {
		size_t bytes;
		char *text = read_file(paths[k], &bytes);
		if (!text) {
			perror(paths[k]);
			return 1;
		}
		in_child(measure, text, bytes, &f);
		free(text);
	}
	snprintf(name, sizeof(name), "%d files", n);
	print_row(name, &f);
	return f.failures != 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--generate")) {
		size_t bytes;
		char *text = ptx_generate(strtoul(argv[2], NULL, 10) * 1000000,
					  (unsigned)strtoul(argv[3], NULL, 10) | 1, &bytes);
		return !text || fwrite(text, 1, bytes, stdout) != bytes;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%-22s %7s %8s %10s %9s %9s %8s %8s %9s\n", "module", "MB", "kernels", "instr.", "load ms",
	       "build s", "MB/s", "memory/x", "failures");
	int rc = bench_generated();
	return argc > 1 ? bench_files(argv + 1, argc - 1) | rc : rc;
}
