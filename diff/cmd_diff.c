/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "diff/compare.h"
#include "diff/diff.h"
#include "dump/dump.h"

enum { EXIT_SAME = 0, EXIT_DIFFERS = 1, EXIT_USAGE = 2, EXIT_COULD_NOT = 125, MAX_LIMIT = 100000 };

static const char usage[] =
	"usage: cutrace diff A B [OPTIONS]\n"
	"\n"
	"Compares two traces: calls, launches and their arguments, contents that were copied, code, times.\n"
	"Threads are paired by what they do and their calls aligned, so that one call more or less is one\n"
	"difference. Handles, addresses, times and how threads interleave are none: objects are known by who\n"
	"saw them first.\n"
	"\n"
	"  --limit N    differences to show (default 20)\n"
	"  --all        whole tables, not only what differs\n"
	"  --durations[=R]  calls of a function that take R times as long (default 2) are a difference, too\n"
	"  --json       one JSON object\n"
	"  -q, --quiet  only the exit status\n"
	"  -h, --help   this text\n"
	"\n"
	"Exit status: 0 the traces do the same, 1 they differ, 2 wrong usage, 125 could not compare.\n";

struct diff_options {
	const char *a, *b;
	unsigned limit;
	double ratio; /* 0: durations are no difference */
	bool json, all, quiet, help;
};

static int parse_limit(struct diff_options *o, const char *text, struct diag *d)
{
	char *end;

	errno = 0;
	unsigned long n = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || n > MAX_LIMIT)
		return diag_set(d, CUTRACE_EINVAL, "--limit", "'%s' is no number up to %u", text, MAX_LIMIT);
	o->limit = (unsigned)n;
	return 0;
}

static int parse_ratio(struct diff_options *o, const char *text, struct diag *d)
{
	char *end = NULL;

	o->ratio = text ? strtod(text, &end) : 2;
	if (!text || (end != text && !*end && o->ratio > 1 && o->ratio < 1e9))
		return 0;
	return diag_set(d, CUTRACE_EINVAL, "--durations", "'%s' is no ratio above 1", text);
}

static int parse(struct diff_options *o, int argc, char **argv, struct diag *d)
{
	static const struct option longs[] = {
		{"limit", required_argument, NULL, 'l'},
		{"all", no_argument, NULL, 'a'},
		{"json", no_argument, NULL, 'j'},
		{"quiet", no_argument, NULL, 'q'},
		{"durations", optional_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option, rc = 0;

	optind = 0; /* glibc: start over */
	opterr = 0;
	while (!rc && (option = getopt_long(argc, argv, "qh", longs, NULL)) != -1) {
		switch (option) {
		case 'l': rc = parse_limit(o, optarg, d); break;
		case 'a': o->all = true; break;
		case 'j': o->json = true; break;
		case 'q': o->quiet = true; break;
		case 'd': rc = parse_ratio(o, optarg, d); break;
		case 'h': o->help = true; break;
		default:
			return diag_set(d, CUTRACE_EINVAL, "cutrace diff", "unknown option %s",
					argv[optind - 1]);
		}
	}
	if (rc || o->help)
		return rc;
	if (optind != argc - 2)
		return diag_set(d, CUTRACE_EINVAL, "cutrace diff", "name two trace files");
	o->a = argv[optind];
	o->b = argv[optind + 1];
	return 0;
}

static void show_progress(void *ctx, const char *path, uint64_t calls)
{
	(void)ctx;
	fprintf(stderr, "\r%s: %" PRIu64 " calls read", path, calls);
}

static int compare(const struct diff_options *o)
{
	struct comparison c;
	struct diag d = DIAG_INIT;
	struct diff_print print = {.all = o->all};
	bool progress = !o->quiet && isatty(STDERR_FILENO);
	int rc = comparison_make(&c, o->a, o->b, o->limit, progress ? show_progress : NULL, NULL, &d), status;

	c.ratio = o->ratio;
	if (progress)
		fputs("\r\033[K", stderr);
	if (rc) {
		diag_print(&d, stderr);
		comparison_free(&c);
		return EXIT_COULD_NOT;
	}
	if (o->json)
		comparison_print_json(&c);
	else if (!o->quiet)
		comparison_print_text(&c, &print);
	status = comparison_differs(&c) ? EXIT_DIFFERS : EXIT_SAME;
	comparison_free(&c);
	int written = dump_finish_output("diff");
	return written ? written : status;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_options o = {.limit = 20};
	struct diag d = DIAG_INIT;

	if (parse(&o, argc, argv, &d)) {
		diag_print(&d, stderr);
		fputs("  cutrace diff --help lists the options\n", stderr);
		return EXIT_USAGE;
	}
	if (o.help) {
		fputs(usage, stdout);
		return dump_finish_output("diff");
	}
	return compare(&o);
}
