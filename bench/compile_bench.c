/* SPDX-License-Identifier: Apache-2.0
 *
 * compile_bench: what compiling costs through the compile service, as lines for compile.sh.
 *
 * compile_bench cold TARGET ROUNDS FILE.ptx   processor time of all kernels in a running worker, ms, the least and the
 *                                             median of the rounds; "refused N" when some can't be compiled
 * compile_bench warm TARGET FILE.ptx          from the cache: time to open the service and get the first kernel, time of
 *                                             the others (the cache is filled first)
 * compile_bench module MB KERNELS TARGET      a generated module: reading its directives, its hash, one kernel from the
 *                                             cache; and compiled
 * compile_bench run ROUNDS COMMAND...         a command's processor time (user and system), ms, least and median; and by the
 *                                             clock
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/ptx_generate.h"
#include "ptx/ir.h"
#include "zluda_core/compiler/service.h"

enum { MAX_ROUNDS = 1000 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Of the processor, by this process: what other processes do meanwhile counts less. */
static double used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_least_and_median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), compare);
	printf("%.2f %.2f", v[0], v[n / 2]);
}

static char *read_text(const char *path, size_t *bytes)
{
	FILE *in = fopen(path, "rb");
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);
	int c;

	while (in && out && (c = getc(in)) != EOF)
		putc(c, out);
	if (!in || !out || fclose(out)) {
		fprintf(stderr, "%s: can't be read\n", path);
		exit(1);
	}
	fclose(in);
	return text;
}

struct bench {
	struct service *service;
	struct service_module module;
	struct ptx_module *parsed;
	const char *target;
};

static struct bench open_bench(const char *text, size_t bytes, const char *target)
{
	struct bench b = {.target = target, .module = {.text = text, .name = "bench.ptx", .bytes = bytes}};
	const struct service_config config = {.workers = 1};
	struct diag d = DIAG_INIT;

	service_hash(text, bytes, b.module.hash);
	b.parsed = ptx_module_parse(text, bytes, "bench.ptx", &d);
	if (!b.parsed || service_open(&b.service, &config, &d)) {
		diag_print(&d, stderr);
		exit(1);
	}
	return b;
}

static void close_bench(struct bench *b)
{
	ptx_module_free(b->parsed);
	service_close(b->service);
}

/* Negative: refused. */
static double compile(struct bench *b, const char *kernel, bool fresh, bool *cached)
{
	struct service_request r = {.module = &b->module,
				    .kernel = kernel,
				    .target = b->target,
				    .want = fresh ? SERVICE_FRESH : 0};
	struct service_answer a;
	struct diag d = DIAG_INIT;
	int rc = service_compile(b->service, &r, &a, &d);
	double ms = a.seconds * 1e3;

	if (rc && rc != CUTRACE_ENOTSUP) {
		diag_print(&d, stderr);
		exit(1);
	}
	if (cached)
		*cached = a.cached;
	service_answer_free(&a);
	return rc ? -1 : ms;
}

static int cold(char **argv)
{
	size_t bytes;
	char *text = read_text(argv[2], &bytes);
	struct bench b = open_bench(text, bytes, argv[0]);
	unsigned rounds = (unsigned)atoi(argv[1]), refused = 0;
	double ms[MAX_ROUNDS];

	for (unsigned k = 0; k < rounds && k < MAX_ROUNDS; k++) {
		ms[k] = refused = 0;
		for (uint32_t f = 0; f < b.parsed->nfuncs; f++) {
			double t = b.parsed->funcs[f]->is_entry
					   ? compile(&b, b.parsed->funcs[f]->name, true, NULL)
					   : 0;

			refused += t < 0;
			ms[k] += t < 0 ? 0 : t;
		}
	}
	if (refused)
		printf("refused %u", refused);
	else
		print_least_and_median(ms, rounds);
	putchar('\n');
	close_bench(&b);
	free(text);
	return 0;
}

static int warm(char **argv)
{
	size_t bytes;
	char *text = read_text(argv[1], &bytes);
	struct bench b = open_bench(text, bytes, argv[0]);
	const char *kernel = NULL;
	double first[100], others[100];
	bool cached;

	for (uint32_t f = 0; f < b.parsed->nfuncs && !kernel; f++)
		kernel = b.parsed->funcs[f]->is_entry ? b.parsed->funcs[f]->name : NULL;
	compile(&b, kernel, false, NULL);
	for (unsigned k = 0; k < 100; k++) {
		double start = now_ms();

		service_close(b.service);
		service_open(&b.service, NULL, NULL);
		compile(&b, kernel, false, &cached);
		first[k] = now_ms() - start;
		start = now_ms();
		compile(&b, kernel, false, &cached);
		others[k] = now_ms() - start;
	}
	printf("first ");
	print_least_and_median(first, 100);
	printf(" others ");
	print_least_and_median(others, 100);
	puts(cached ? "" : " not cached");
	close_bench(&b);
	free(text);
	return 0;
}

static int module(char **argv)
{
	size_t bytes;
	char *text = ptx_generate((size_t)atoi(argv[0]) << 20, (unsigned)atoi(argv[1]), &bytes);
	double start = used_ms();
	struct bench b = open_bench(text, bytes, argv[2]);
	double parsed = used_ms() - start;
	uint8_t hash[16];
	bool cached;

	start = now_ms();
	compile(&b, "kernel_0", false, NULL);
	printf("compiled %.1f ", now_ms() - start);
	start = used_ms();
	service_hash(text, bytes, hash);
	printf("hash %.2f ", used_ms() - start);
	start = used_ms();
	compile(&b, "kernel_0", false, &cached);
	printf("cached %.2f directives %.1f%s\n", used_ms() - start, parsed, cached ? "" : " not cached");
	close_bench(&b);
	free(text);
	return 0;
}

static double processor_ms(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e3 +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1e-3;
}

static int run(char **argv)
{
	unsigned rounds = (unsigned)atoi(argv[0]);
	double used[MAX_ROUNDS], clock[MAX_ROUNDS];

	for (unsigned k = 0; k < rounds && k < MAX_ROUNDS; k++) {
		struct rusage u;
		int status;
		double start = now_ms();
		pid_t pid = fork();

		if (!pid) {
			if (!freopen("/dev/null", "w", stdout))
				_exit(127);
			execvp(argv[1], argv + 1);
			_exit(127);
		}
		if (wait4(pid, &status, 0, &u) != pid || status) {
			printf("failed\n");
			return 1;
		}
		used[k] = processor_ms(&u);
		clock[k] = now_ms() - start;
	}
	print_least_and_median(used, rounds);
	putchar(' ');
	print_least_and_median(clock, rounds);
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int arguments;
		int (*run)(char **argv);
	} commands[] = {{"cold", 3, cold}, {"warm", 2, warm}, {"module", 3, module}, {"run", 2, run}};

	for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++)
		if (argc >= 2 + commands[k].arguments && !strcmp(argv[1], commands[k].name))
			return commands[k].run(argv + 2);
	fputs("usage: compile_bench cold|warm|module|run ...\n", stderr);
	return 2;
}
