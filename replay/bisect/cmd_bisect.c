/* SPDX-License-Identifier: Apache-2.0
 *
 * `cutrace bisect`: options, and the order of the questions.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/bisect/bisect.h"

static const char help[] =
	"usage: cutrace bisect FILE [--good DIR] [--bad DIR] [OPTIONS]\n\n"
	"Finds what makes the difference between two sides: two builds, two drivers, two devices, or two ways of\n"
	"compiling. The first launch that is right on the good side and differs on the bad one, each from the\n"
	"memory it had when it was recorded; and, where kernels are compiled by LLVM (amdemu, hip), the first of\n"
	"its passes that makes the difference. A trace without what its launches wrote (record --check=contents)\n"
	"gets that from a replay on the good side.\n\n"
	"  --good DIR, --bad DIR    a build's or installation's folder, or a libcuda.so.1 (default: this one)\n"
	"  --device D               the device of both sides (default: interp)\n"
	"  --good-device D, --bad-device D     of one side\n"
	"  --good-options O, --bad-options O   added to its device's options: opt=0, contract=all...\n"
	"  --launches A[-B]         look only at the launches of calls A to B\n"
	"  --mix                    instead: the kernel whose code makes the results of the whole program differ,\n"
	"                           by mixing code of both sides (amdemu, hip)\n"
	"  --no-passes              don't look for the pass\n"
	"  --envelope N             as of replay: runs that show what is legal (default 8; 0: any difference)\n"
	"  --ulp N, --rtol X, --atol X         differences that are none\n"
	"  -j, --jobs N             replay in N processes at a time; 0: one a core\n"
	"  --json                   the answer as JSON\n"
	"  -q, --quiet              no progress\n"
	"  -h, --help               this text\n\n"
	"Exit status: 0 found, 1 there is no difference, 2 wrong usage, 125 it could not be found out.\n";

enum {
	OPT_GOOD = 256,
	OPT_BAD,
	OPT_DEVICE,
	OPT_GOOD_DEVICE,
	OPT_BAD_DEVICE,
	OPT_GOOD_OPTIONS,
	OPT_BAD_OPTIONS,
	OPT_LAUNCHES,
	OPT_MIX,
	OPT_NO_PASSES,
	OPT_ENVELOPE,
	OPT_ULP,
	OPT_RTOL,
	OPT_ATOL,
	OPT_JSON
};

static const struct option long_options[] = {
	{"good", required_argument, NULL, OPT_GOOD},
	{"bad", required_argument, NULL, OPT_BAD},
	{"device", required_argument, NULL, OPT_DEVICE},
	{"good-device", required_argument, NULL, OPT_GOOD_DEVICE},
	{"bad-device", required_argument, NULL, OPT_BAD_DEVICE},
	{"good-options", required_argument, NULL, OPT_GOOD_OPTIONS},
	{"bad-options", required_argument, NULL, OPT_BAD_OPTIONS},
	{"launches", required_argument, NULL, OPT_LAUNCHES},
	{"mix", no_argument, NULL, OPT_MIX},
	{"no-passes", no_argument, NULL, OPT_NO_PASSES},
	{"envelope", required_argument, NULL, OPT_ENVELOPE},
	{"ulp", required_argument, NULL, OPT_ULP},
	{"rtol", required_argument, NULL, OPT_RTOL},
	{"atol", required_argument, NULL, OPT_ATOL},
	{"jobs", required_argument, NULL, 'j'},
	{"json", no_argument, NULL, OPT_JSON},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static bool number(const char *text, uint64_t most, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *out <= most;
}

static bool limit(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return *text && !*end && isfinite(*out) && *out >= 0;
}

static bool take_jobs(struct bisect *b, const char *text)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t n;

	if (!number(text, 1024, &n))
		return false;
	b->jobs = n ? (unsigned)n : cores > 0 ? (unsigned)cores : 1;
	return true;
}

static bool take_envelope(struct bisect *b, const char *text)
{
	uint64_t n;

	if (!number(text, 64, &n) || (n && n < 3))
		return false;
	b->envelope = (unsigned)n;
	return true;
}

/* NULL, or what a right value is. */
static const char *take_option(struct bisect *b, int c, const char *arg)
{
	switch (c) {
	case OPT_GOOD: b->good.where = arg; return NULL;
	case OPT_BAD: b->bad.where = arg; return NULL;
	case OPT_DEVICE:
		b->good.device = b->good.device ? b->good.device : arg;
		b->bad.device = b->bad.device ? b->bad.device : arg;
		return NULL;
	case OPT_GOOD_DEVICE: b->good.device = arg; return NULL;
	case OPT_BAD_DEVICE: b->bad.device = arg; return NULL;
	case OPT_GOOD_OPTIONS: b->good.options = arg; return NULL;
	case OPT_BAD_OPTIONS: b->bad.options = arg; return NULL;
	case OPT_LAUNCHES:
		return replay_parse_launches(arg, &b->first, &b->last)
			       ? NULL
			       : "A or A-B, calls of launches, from 1";
	case OPT_MIX: b->mix = true; return NULL;
	case OPT_NO_PASSES: b->no_passes = true; return NULL;
	case OPT_ENVELOPE: return take_envelope(b, arg) ? NULL : "a number of runs, 0 or from 3 to 64";
	case OPT_ULP:
		b->limits.has_ulp = true;
		return number(arg, UINT64_MAX, &b->limits.ulp) ? NULL
							       : "a whole number of units in the last place";
	case OPT_RTOL:
	case OPT_ATOL:
		b->limits.has_tol = true;
		return limit(arg, c == OPT_RTOL ? &b->limits.rtol : &b->limits.atol)
			       ? NULL
			       : "a number that is 0 or more";
	case 'j': return take_jobs(b, arg) ? NULL : "a number of processes up to 1024, 0 for one a core";
	case OPT_JSON: b->json = true; return NULL;
	case 'q': b->quiet = true; return NULL;
	default: return "";
	}
}

static int usage(const char *what, const char *word)
{
	fprintf(stderr, "cutrace bisect: error: %s%s\n  hint: `cutrace bisect --help` lists the options\n",
		what, word);
	return REPLAY_USAGE;
}

/* -1: go on; else the exit status. */
static int parse(struct bisect *b, int argc, char **argv)
{
	char message[128];
	int c;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "j:qh", long_options, NULL)) != -1) {
		const char *expected;

		if (c == 'h') {
			fputs(help, stdout);
			return REPLAY_MATCH;
		}
		if (c == '?')
			return usage("unknown option, or one without its value: ", argv[optind - 1]);
		expected = take_option(b, c, optarg);
		if (!expected)
			continue;
		snprintf(message, sizeof(message), "this is not %s: ", expected);
		return usage(message, optarg);
	}
	if (optind != argc - 1)
		return usage(optind == argc ? "which trace?" : "one trace at a time", "");
	b->input = argv[optind];
	return -1;
}

static bool are_the_same(const struct bisect *b)
{
	return !strcmp(b->good.driver, b->bad.driver) && !strcmp(b->good.device_text, b->bad.device_text);
}

/* What is asked of a trace in order; the exit status. */
static int ask(struct bisect *b, struct diag *d)
{
	struct found_launch l = {0};
	struct found_pass p = {0};
	struct found_kernel k = {0};
	bool found;
	int rc = b->mix ? bisect_mix(b, &k, d) : bisect_first_launch(b, &l, d);

	if (!rc && l.found && !b->no_passes)
		bisect_passes(b, &l, &p);
	if (!rc && workroom_interrupted())
		rc = diag_set(d, CUTRACE_EIO, b->input, "interrupted");
	if (rc)
		return REPLAY_COULD_NOT;
	found = b->mix ? k.found : l.found;
	bisect_print(b, &l, &p, &k);
	return found ? REPLAY_MATCH : REPLAY_DIFFERS;
}

int cmd_bisect(int argc, char **argv)
{
	struct bisect b = {.good = {.name = "good"}, .bad = {.name = "bad"}, .envelope = 8};
	struct diag d = DIAG_INIT;
	struct workroom w;
	int status = parse(&b, argc, argv);

	if (status >= 0)
		return status;
	status = REPLAY_COULD_NOT;
	b.progress = !b.quiet;
	if (!side_resolve(&b.good, &d) && !side_resolve(&b.bad, &d)) {
		if (are_the_same(&b))
			return usage(
				"good and bad are the same: name two builds, drivers, devices or options",
				"");
		if (!workroom_open(&w, &d)) {
			b.w = &w;
			status = ask(&b, &d);
			fflush(stdout);
			workroom_close(&w);
		}
	}
	if (d.code)
		diag_print(&d, stderr);
	arena_free(&b.arena);
	return status;
}
