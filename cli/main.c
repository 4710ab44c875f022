/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace: dispatches to the sub-commands. Each lives in the folder of what it does; this file knows
 * their names, one line about each, and which of them this build has.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CUTRACE_HAVE_RECORD
#	include "interpose/record.h"
#endif
#ifdef CUTRACE_HAVE_DUMP
#	include "dump/dump.h"
#endif
#ifdef CUTRACE_HAVE_DIFF
#	include "diff/diff.h"
#endif
#ifdef CUTRACE_HAVE_REPLAY
#	include "replay/replay.h"
#endif
#ifdef CUTRACE_HAVE_DEBUG
#	include "debug/debug.h"
#endif
#ifdef CUTRACE_HAVE_REDUCE
#	include "reduce/reduce.h"
#endif
#ifdef CUTRACE_HAVE_PTX
#	include "cli/ptx_report.h"
#endif
#ifdef CUTRACE_HAVE_COMPILE
#	include "cli/compile.h"
#endif
#ifdef CUTRACE_HAVE_DOCTOR
#	include "cli/doctor.h"
#endif

/* Exit status of every sub-command; 125 is what `git bisect run` skips. */
enum { EXIT_MATCH = 0, EXIT_DIFFERS = 1, EXIT_USAGE = 2, EXIT_COULD_NOT = 125 };

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is "cutrace NAME" */
	const char *arguments;
	const char *help;
	bool starts_program; /* which inherits what signals do here */
};

static const struct command commands[] = {
#ifdef CUTRACE_HAVE_RECORD
	{"record", cmd_record, "[-o FILE] [--device D] -- APP...",
	 "run a program and record what it asks of its GPU", true},
	{"run", cmd_run, "[--device D] -- APP...", "run a program on another libcuda.so.1, without recording",
	 true},
#endif
#ifdef CUTRACE_HAVE_DUMP
	{"info", cmd_info, "FILE", "what a trace holds: program, machine, kernels, counts, errors", false},
	{"dump", cmd_dump, "FILE", "the calls as text or JSON lines; modules; buffers", false},
#endif
#ifdef CUTRACE_HAVE_DIFF
	{"diff", cmd_diff, "A B", "what differs between two traces: calls, kernels, contents, code, times",
	 false},
#endif
#ifdef CUTRACE_HAVE_REPLAY
	{"replay", cmd_replay, "FILE [--device D]", "issue the calls again and compare the results", false},
	{"enrich", cmd_enrich, "FILE -o OUT", "replay a trace and record what its launches write", false},
	{"trim", cmd_trim, "FILE --launches A-B -o OUT", "a few launches of a trace as a trace of their own",
	 false},
	{"extract", cmd_extract, "FILE --launch N -o DIR", "a launch as a program that runs and checks it",
	 false},
	{"bisect", cmd_bisect, "FILE [--good DIR] [--bad DIR]",
	 "what makes two builds, devices or options differ", false},
	{"merge-results", cmd_merge_results, "-o FILE RESULT...", "one result of those of a replay's shards",
	 false},
#endif
#ifdef CUTRACE_HAVE_DEBUG
	{"debug", cmd_debug, "FILE [--launch N]", "one launch under a debugger, forwards and backwards",
	 false},
#endif
#ifdef CUTRACE_HAVE_REDUCE
	{"reduce", cmd_reduce, "FILE -o OUT [--device D]",
	 "the smallest launch that still differs on a device", false},
	{"report", cmd_report, "FILE -o BUNDLE [--device D]",
	 "a launch that differs as a bundle for a bug tracker, redacted", false},
#endif
#ifdef CUTRACE_HAVE_PTX
	{"ptx", cmd_ptx, "FILE.ptx",
	 "what kernels a PTX file has, what they do, which can't be executed and why", false},
#endif
#ifdef CUTRACE_HAVE_COMPILE
	{"compile", cmd_compile, "FILE [--arch gfxNNNN,...] [-o DIR]",
	 "the kernels of a PTX file, program or library as code objects of AMD GPUs", false},
	{"cache", cmd_cache, "[info | list | verify | clear]", "what is compiled already, on disk", false},
#endif
#ifdef CUTRACE_HAVE_DOCTOR
	{"doctor", cmd_doctor, "[--json]", "what of this machine cutrace can use, what is wrong, what to do",
	 false},
#endif
	{NULL, NULL, NULL, NULL, false},
};

static void print_help(FILE *out)
{
	fprintf(out, "usage: cutrace COMMAND [OPTIONS] ...\n\n"
		     "Records what a CUDA program asks of its GPU into one SQLite file, and replays it\n"
		     "elsewhere, down to the first kernel, buffer, element and PTX line that differ.\n\n");
	for (const struct command *c = commands; c->name; c++)
		fprintf(out, "  %-13s %-34s %s\n", c->name, c->arguments, c->help);
	fprintf(out,
		"\n`cutrace COMMAND --help` tells more; `cutrace --version` the version.\n"
		"Exit status: %d ran (and matches), %d ran and differs, %d wrong usage, %d could not.\n"
		"`record` and `run` exit with the program's own status, `bisect` with 0 where it found what differs.\n",
		EXIT_MATCH, EXIT_DIFFERS, EXIT_USAGE, EXIT_COULD_NOT);
}

/* Levenshtein distance; the words are short, anything longer is far. */
static unsigned edit_distance(const char *a, const char *b)
{
	enum { MAX = 16 };
	size_t na = strlen(a), nb = strlen(b);
	unsigned row[MAX + 1];

	if (na > MAX || nb > MAX)
		return MAX;
	for (unsigned j = 0; j <= nb; j++)
		row[j] = j;
	for (unsigned i = 1; i <= na; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= nb; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[nb];
}

/* The known command that is at most two edits away, or NULL. */
static const char *nearest_command(const char *name)
{
	const char *nearest = NULL;
	unsigned best = 3;

	for (const struct command *c = commands; c->name; c++) {
		unsigned d = edit_distance(name, c->name);

		if (d < best) {
			best = d;
			nearest = c->name;
		}
	}
	return nearest;
}

static int unknown_command(const char *name)
{
	const char *nearest = nearest_command(name);

	fprintf(stderr, "cutrace: unknown command '%s'", name);
	if (nearest)
		fprintf(stderr, "; did you mean '%s'?\n", nearest);
	else
		fprintf(stderr, "; `cutrace --help` lists them\n");
	return EXIT_USAGE;
}

/* Output that can't be written is none. A command that could not has said why. */
static int finish_output(const char *name, int status)
{
	errno = 0;
	if (status == EXIT_COULD_NOT || (!fflush(stdout) && !ferror(stdout)) || errno == EPIPE)
		return status;
	fprintf(stderr, "%s: error: cannot write the output%s%s\n", name, errno ? ": " : "",
		errno ? strerror(errno) : ""); /* none: it was an earlier write that failed */
	return EXIT_COULD_NOT;
}

/* A file that may not grow is an error like a full disk, not our end. Programs that we run keep what they had. */
static void survive_file_limits(const char *command)
{
	if (strcmp(command, "record") && strcmp(command, "run"))
		signal(SIGXFSZ, SIG_IGN);
}

/* getopt's messages begin with argv[0]. */
static int run_command(const struct command *c, int argc, char **argv)
{
	char name[64];

	snprintf(name, sizeof(name), "cutrace %s", c->name);
	survive_file_limits(c->name);
	argv[0] = name;
	/* Whoever starts us may ignore it: children would vanish without a status (sigaction(2)). */
	if (!c->starts_program)
		signal(SIGCHLD, SIG_DFL);
	return finish_output(name, c->run(argc, argv));
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return finish_output("cutrace", EXIT_MATCH);
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("cutrace " CUTRACE_VERSION);
		return finish_output("cutrace", EXIT_MATCH);
	}
	for (const struct command *c = commands; c->name; c++) {
		if (strcmp(argv[1], c->name) == 0)
			return run_command(c, argc - 1, argv + 1);
	}
	return unknown_command(argv[1]);
}
