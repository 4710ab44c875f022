/* SPDX-License-Identifier: Apache-2.0
 *
 * random_programs: makes random programs, runs each on a device and natively, and compares. A program that
 * disagrees is made as small as it gets and left behind as PTX and C. Exit status: 0 all agree, 1 some do not, 2 usage or no
 * compiler, 77 (a skipped test) when there is no C compiler to be had.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"

#define BATCH          50
#define MAX_REDUCTIONS 2 /* each compiles the program some dozens of times */

static struct {
	const char *driver, *compiler, *keep;
	uint64_t seed;
	unsigned long count;
	bool emit_only, whole;
} options = {.driver = RANDOM_PROGRAMS_DRIVER, .compiler = "cc", .seed = 1, .count = 200};

static char folder[] = "/tmp/random_programs.XXXXXX";

static void usage(FILE *out)
{
	fputs("usage: random_programs [--count N] [--seed S] [--driver PATH] [--cc COMPILER] [--keep DIR] "
	      "[--emit]\n"
	      "\n"
	      "Runs random programs on the device of a driver and natively, and compares what they compute.\n"
	      "\n"
	      "  --count N      number of programs (200)\n"
	      "  --seed S       the first program's seed; program i has seed S + i (1)\n"
	      "  --driver PATH  the libcuda.so.1 to run them on\n"
	      "  --cc COMPILER  the C compiler (cc)\n"
	      "  --keep DIR     where programs that disagree are left (the current folder)\n"
	      "  --whole        don't reduce them\n"
	      "  --emit         write the programs to DIR instead of running them\n",
	      out);
}

/* The PTX as a string, to be freed. */
static char *ptx_of(const struct program *p)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	program_emit_ptx(p, out);
	return fclose(out) == 0 ? text : NULL;
}

struct outcome {
	bool agrees;
	const char *what; /* the call that failed */
	int code;
	unsigned cell;
	uint64_t device, native;
};

static void run_both(const struct program *p, const struct native *n, unsigned number, struct outcome *o)
{
	static uint64_t in[PROGRAM_CELLS], device[PROGRAM_CELLS], native[PROGRAM_CELLS];
	char *ptx = ptx_of(p);

	memset(o, 0, sizeof(*o));
	memset(device, 0, sizeof(device));
	memset(native, 0, sizeof(native));
	program_input(p, in);
	native_run(n, number, in, native);
	if (!ptx || !device_run(ptx, in, device, &o->what, &o->code)) {
		free(ptx);
		return;
	}
	free(ptx);
	o->what = NULL;
	for (o->cell = 0; o->cell < PROGRAM_CELLS && device[o->cell] == native[o->cell]; o->cell++)
		;
	o->agrees = o->cell == PROGRAM_CELLS;
	if (!o->agrees) {
		o->device = device[o->cell];
		o->native = native[o->cell];
	}
}

static bool still_fails(const struct program *p, struct outcome *o)
{
	struct native n;
	bool fails = false;

	if (native_compile(&n, options.compiler, folder, p, 1)) {
		run_both(p, &n, 0, o);
		fails = !o->agrees;
	}
	native_close(&n);
	return fails;
}

/* Marks a statement, and what is inside it. */
static void mark(struct program *p, uint32_t i, bool removed)
{
	p->statements[i].removed = removed;
	for (unsigned b = 0; b < MAX_BRANCHES; b++)
		for (uint32_t j = p->statements[i].branch[b]; j != NO_STATEMENT; j = p->statements[j].next)
			mark(p, j, removed);
}

/* Takes out every statement without which the program still fails in the same register. Statements come before what is
 * inside them. */
static void reduce(struct program *p, const struct outcome *first)
{
	struct outcome o;

	for (uint32_t i = 0; i < p->nstatements; i++) {
		if (p->statements[i].removed)
			continue;
		mark(p, i, true);
		if (!still_fails(p, &o) || o.code != first->code || o.cell % CELLS != first->cell % CELLS)
			mark(p, i, false);
	}
}

static const char *cell_name(unsigned cell, char *buffer, size_t bytes)
{
	static const char *classes[] = {"%p", "%h", "%rs", "%r", "%rd", "%f", "%fd"};
	unsigned c = cell % CELLS;

	snprintf(buffer, bytes, "block %u thread %u %s%u", cell / CELLS / THREADS, cell / CELLS % THREADS,
		 classes[c / REGISTERS], c % REGISTERS);
	return buffer;
}

static bool write_program(const struct program *p, const char *directory)
{
	char path[4096];
	FILE *ptx, *c;

	snprintf(path, sizeof(path), "%s/program_%llu.ptx", directory, (unsigned long long)p->seed);
	ptx = fopen(path, "w");
	snprintf(path, sizeof(path), "%s/program_%llu.c", directory, (unsigned long long)p->seed);
	c = fopen(path, "w");
	if (ptx && c) {
		program_emit_ptx(p, ptx);
		fprintf(c, "#include \"together.h\"\n");
		program_emit_c(p, 0, c);
	}
	if (!ptx || !c || fclose(ptx) || fclose(c)) {
		fprintf(stderr, "random_programs: can't write to %s: %s\n", directory, strerror(errno));
		return false;
	}
	return true;
}

static void report(struct program *p, const struct outcome *first)
{
	static unsigned reductions;
	struct outcome o = *first;
	char name[64];
	bool again = still_fails(p, &o);

	if (again && !options.whole && reductions++ < MAX_REDUCTIONS) {
		reduce(p, first);
		still_fails(p, &o);
	} else if (!again) {
		o = *first;
	}
	if (o.what)
		printf("seed %llu: %s returns %d\n", (unsigned long long)p->seed, o.what, o.code);
	else
		printf("seed %llu: %s is 0x%llx on the device, 0x%llx natively%s\n",
		       (unsigned long long)p->seed, cell_name(o.cell, name, sizeof(name)),
		       (unsigned long long)o.device, (unsigned long long)o.native,
		       again ? "" : " (once: it agrees when it is run again)");
	write_program(p, options.keep);
}

/* Number of programs that disagree, or -1. */
static int run_batch(uint64_t seed, unsigned count)
{
	static struct program programs[BATCH];
	struct native n;
	struct outcome o;
	int bad = 0;

	for (unsigned i = 0; i < count; i++)
		program_generate(&programs[i], seed + i);
	if (!native_compile(&n, options.compiler, folder, programs, count)) {
		native_close(&n);
		return -1;
	}
	for (unsigned i = 0; i < count; i++) {
		run_both(&programs[i], &n, i, &o);
		if (!o.agrees) {
			report(&programs[i], &o);
			bad++;
		}
	}
	native_close(&n);
	return bad;
}

static int run_all(void)
{
	unsigned long bad = 0;

	for (unsigned long done = 0; done < options.count; done += BATCH) {
		unsigned long left = options.count - done;
		int n = run_batch(options.seed + done, (unsigned)(left < BATCH ? left : BATCH));

		if (n < 0)
			return 2;
		bad += (unsigned)n;
		if (isatty(2))
			fprintf(stderr, "\r%lu of %lu", left < BATCH ? options.count : done + BATCH,
				options.count);
	}
	if (isatty(2))
		fputc('\n', stderr);
	printf("%lu programs from seed %llu: %lu disagree\n", options.count, (unsigned long long)options.seed,
	       bad);
	return bad ? 1 : 0;
}

static int emit_all(void)
{
	static struct program p;

	for (unsigned long i = 0; i < options.count; i++) {
		program_generate(&p, options.seed + i);
		if (!write_program(&p, options.keep))
			return 2;
	}
	return 0;
}

static int parse_options(int argc, char **argv)
{
	static const struct option names[] = {
		{"count", 1, NULL, 'n'}, {"seed", 1, NULL, 's'}, {"driver", 1, NULL, 'd'},
		{"cc", 1, NULL, 'c'},    {"keep", 1, NULL, 'k'}, {"emit", 0, NULL, 'e'},
		{"whole", 0, NULL, 'w'}, {"help", 0, NULL, 'h'}, {0}};
	int c;

	while ((c = getopt_long(argc, argv, "h", names, NULL)) != -1) {
		switch (c) {
		case 'n': options.count = strtoul(optarg, NULL, 0); break;
		case 's': options.seed = strtoull(optarg, NULL, 0); break;
		case 'd': options.driver = optarg; break;
		case 'c': options.compiler = optarg; break;
		case 'k': options.keep = optarg; break;
		case 'e': options.emit_only = true; break;
		case 'w': options.whole = true; break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); return -1;
		}
	}
	if (optind != argc) {
		usage(stderr);
		return -1;
	}
	if (!options.keep)
		options.keep = ".";
	return 0;
}

int main(int argc, char **argv)
{
	int status;

	if (parse_options(argc, argv))
		return 2;
	if (options.emit_only)
		return emit_all();
	if (!mkdtemp(folder)) {
		fprintf(stderr, "random_programs: can't make a folder in /tmp: %s\n", strerror(errno));
		return 2;
	}
	status = device_open(options.driver) ? run_all() : 2;
	device_close();
	rmdir(folder);
	return status;
}
