/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace report: a difference as a bundle for a bug tracker: a trace of the launch that differs and nothing else, what its
 * replay says, and what there is to say of the machine. Nothing is written before it was shown what it holds.
 */
#include <errno.h>
#include <getopt.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/device_option.h"
#include "reduce/bundle.h"
#include "reduce/report_parts.h"
#include "replay/excerpt.h"
#include "replay/replay.h"

static const char help[] =
	"usage: cutrace report FILE -o BUNDLE [OPTIONS]\n\n"
	"Makes a bundle for a bug tracker of a trace that differs on a device: a trace of the launch\n"
	"that differs first and nothing else of the program, what its replay says, this machine and\n"
	"cutrace's view of it. Left out or replaced are the environment, command lines, paths, names of\n"
	"host, user, files and threads, comments and source paths in PTX, what kernels print, other\n"
	"kernels, buffers and parts of buffers that the launch does not need. What is in it is shown\n"
	"first. FILE must have been recorded with --check=contents, or enriched.\n\n"
	"  -o, --output BUNDLE  NAME.tar.zst, or a folder\n"
	"  --device D           the device that is wrong (as of cutrace replay)\n"
	"  --driver PATH        another libcuda.so.1 instead\n"
	"  --launches A[-B]     the launches of calls A to B, instead of the first that differs\n"
	"  --all                all launches\n"
	"  --synthetic          other values of the same kind in the buffers, that still differ; results\n"
	"                       are then the interpreter's, not the recorded ones (one launch only)\n"
	"  --dry-run            show what would be in it, write nothing\n"
	"  -y, --yes            don't ask; needed where standard input is no terminal\n"
	"  -h, --help           this text\n\n"
	"Exit status: 0 the bundle is there (or was shown), 2 wrong usage, or nobody to ask and no\n"
	"--yes, 125 it can't be made, or was not wanted.\n";

/* ---- the trace in it ---------------------------------------------------------------------------- */

static char *redact(const char *ptx, size_t bytes)
{
	return ptx_redact(ptx, bytes, true, NULL);
}

static char *redact_but_strings(const char *ptx, size_t bytes)
{
	return ptx_redact(ptx, bytes, false, NULL);
}

static bool same_grades(const struct report_job *r, const char *trace)
{
	const char *result = workroom_path(r->j->room, "range.db");
	struct diag d = DIAG_INIT;
	char *now = culprit_replay(r->j, trace, result, NULL, &d) ? NULL : excerpt_grades(result);
	bool same = now && r->grades && !strcmp(now, r->grades);

	free(now);
	return same;
}

/* Several launches: their texts are redacted, their memory is what their pointers lead to. */
static int make_range(struct report_job *r, struct diag *d)
{
	struct excerpt_request q = {.trace = r->input,
				    .out = r->trace,
				    .first = r->first,
				    .last = r->last,
				    .ptx_only = true,
				    .edit = redact};
	int rc = excerpt_make(r->j->room, &q, d);

	if (rc || same_grades(r, r->trace))
		return rc;
	q.edit = redact_but_strings;
	r->notes.strings_kept = true;
	rc = excerpt_make(r->j->room, &q, d);
	if (rc || same_grades(r, r->trace))
		return rc;
	diag_set(d, CUTRACE_EINVAL, r->input,
		 "without the rest of their program these launches do not show the same any more");
	diag_hint(d, "name fewer or other launches (--launches)");
	return d->code;
}

static int make_one(struct report_job *r, struct diag *d)
{
	const char *plain = workroom_path(r->j->room, "plain.trace"),
		   *fit = workroom_path(r->j->room, "fit.trace");
	const struct excerpt_request take = {
		.trace = r->input, .out = plain, .first = r->first, .last = r->first, .ptx_only = true};
	const struct excerpt_request keep = {.trace = r->synthetic ? r->j->best : fit,
					     .out = r->trace,
					     .first = 1,
					     .last = UINT64_MAX,
					     .all_memory = true};
	struct scene first, s;
	int rc = excerpt_make(r->j->room, &take, d);

	if (rc || (rc = scene_load(&first, plain, d)))
		return rc;
	r->j->current = &s;
	rc = fit_scene(r->j, &first, &r->notes, d);
	if (!rc && r->synthetic)
		rc = fit_synthetic(r->j, &r->notes, d);
	if (!rc && !r->synthetic)
		rc = scene_save(&s, fit, NULL, d);
	if (!rc)
		rc = excerpt_make(r->j->room, &keep, d);
	if (!rc)
		report_note_scene(r, &s);
	scene_drop(&s);
	scene_free(&first);
	return rc;
}

/* ---- which launches -------------------------------------------------------------------------------- */

static int choose(struct report_job *r, struct diag *d)
{
	const char *result = workroom_path(r->j->room, "first.db");
	int rc = culprit_replay(r->j, r->input, result, r->launches, d);

	if (rc)
		return rc;
	r->grades = excerpt_grades(result);
	r->differs = culprit_find(&r->culprit, result);
	r->j->kernel = r->culprit.kernel;
	r->j->fault = r->culprit.fault;
	if (r->launches && !replay_parse_launches(r->launches, &r->first, &r->last))
		return CUTRACE_EINVAL;
	if (r->all) {
		r->first = 1;
		r->last = INT64_MAX;
	}
	if (r->last)
		return 0;
	r->first = r->last = r->culprit.call;
	if (r->differs)
		return 0;
	diag_set(d, CUTRACE_ENOENT, r->input, "none of its launches differs on %s",
		 r->j->driver ? r->j->driver : r->j->device);
	diag_hint(d, "--launches or --all makes a bundle all the same");
	return d->code;
}

/* ---- shown, asked, written -------------------------------------------------------------------------- */

static bool is_wanted(const char *path)
{
	char answer[16];

	printf("Write %s? [y/N] ", path);
	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static int show_and_write(struct report_job *r, struct diag *d)
{
	struct bundle_file files[8];
	unsigned n = report_files(r, files);

	report_show(r, files, n, stdout);
	if (r->dry_run) {
		puts("Nothing was written (--dry-run).");
		return REPLAY_MATCH;
	}
	if (!r->yes && !isatty(STDIN_FILENO)) {
		fflush(stdout);
		fprintf(stderr,
			"cutrace report: error: nothing was written: standard input is no terminal, so nobody can be asked\n"
			"  hint: read what is above, then run it again with --yes; --dry-run only shows it\n");
		return REPLAY_USAGE;
	}
	if (!r->yes && !is_wanted(r->output)) {
		puts("Nothing was written.");
		return REPLAY_COULD_NOT;
	}
	if (bundle_write(r->output, files, n, d))
		return REPLAY_COULD_NOT;
	printf("%s is written.\n", r->output);
	return REPLAY_MATCH;
}

/* An exit status. */
static int report(struct report_job *r, struct diag *d)
{
	bool single;
	int rc = scrub_open(&r->scrub, r->input, d);

	if (rc)
		return REPLAY_COULD_NOT;
	rc = choose(r, d);
	single = r->first == r->last;
	if (!rc && r->synthetic && (!single || !r->differs))
		rc = diag_set(d, CUTRACE_EINVAL, r->input, "--synthetic is for one launch that differs");
	if (!rc)
		rc = single ? make_one(r, d) : make_range(r, d);
	if (!rc)
		rc = report_make_texts(r, d);
	if (!rc && workroom_interrupted())
		rc = diag_set(d, CUTRACE_EIO, r->input, "interrupted");
	rc = rc ? REPLAY_COULD_NOT : show_and_write(r, d);
	free(r->grades);
	scrub_close(&r->scrub);
	return rc;
}

static int run(struct report_job *r, struct judge *j)
{
	struct diag d = DIAG_INIT;
	struct workroom w;
	char best[4200], trace[4200];
	int rc;

	if (workroom_open(&w, &d)) {
		diag_print(&d, stderr);
		return REPLAY_COULD_NOT;
	}
	snprintf(best, sizeof(best), "%s", workroom_path(&w, "best.trace"));
	snprintf(trace, sizeof(trace), "%s", workroom_path(&w, "bundle.trace"));
	j->room = &w;
	j->best = best;
	j->step_s = 600;
	r->trace = trace;
	r->j = j;
	rc = report(r, &d);
	if (d.code)
		diag_print(&d, stderr);
	fflush(stdout);
	workroom_close(&w);
	return rc;
}

/* ---- options ------------------------------------------------------------------------------------------ */

static int usage(const char *what, const char *word)
{
	fprintf(stderr, "cutrace report: error: %s%s\n`cutrace report --help` lists the options\n", what,
		word);
	return REPLAY_USAGE;
}

static int check(struct report_job *r, struct judge *j, int argc, char **argv)
{
	struct diag d = DIAG_INIT;
	uint64_t first, last;

	if (optind != argc - 1)
		return usage("name one trace", "");
	r->input = argv[optind];
	if (!r->output && !r->dry_run)
		return usage("name the bundle (-o BUNDLE)", "");
	if (j->device && j->driver)
		return usage("--device names one of our devices, --driver another driver: not both", "");
	if (r->launches && r->all)
		return usage("--all are all launches, --launches some: not both", "");
	if (r->launches && !replay_parse_launches(r->launches, &first, &last))
		return usage("--launches: not A or A-B, calls from 1 on: ", r->launches);
	if (!j->device && !j->driver)
		j->device = device_option_default();
	if (access(r->input, R_OK))
		diag_set(&d, CUTRACE_EIO, r->input, "%s", strerror(errno));
	else if (r->output)
		bundle_check(r->output, &d);
	if (d.code)
		diag_print(&d, stderr);
	return d.code ? REPLAY_COULD_NOT : 0;
}

int cmd_report(int argc, char **argv)
{
	static const struct option longs[] = {
		{"output", required_argument, NULL, 'o'}, {"device", required_argument, NULL, 'd'},
		{"driver", required_argument, NULL, 'D'}, {"launches", required_argument, NULL, 'l'},
		{"all", no_argument, NULL, 'a'},          {"synthetic", no_argument, NULL, 's'},
		{"dry-run", no_argument, NULL, 'n'},      {"yes", no_argument, NULL, 'y'},
		{"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
	};
	struct report_job r = {0};
	struct judge j = {0};
	int c, rc;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":o:yh", longs, NULL)) != -1) {
		switch (c) {
		case 'o': r.output = optarg; break;
		case 'd': j.device = optarg; break;
		case 'D': j.driver = optarg; break;
		case 'l': r.launches = optarg; break;
		case 'a': r.all = true; break;
		case 's': r.synthetic = true; break;
		case 'n': r.dry_run = true; break;
		case 'y': r.yes = true; break;
		case 'h': fputs(help, stdout); return REPLAY_MATCH;
		case ':': return usage("a value is missing behind ", argv[optind - 1]);
		default: return usage("unknown option ", argv[optind - 1]);
		}
	}
	rc = check(&r, &j, argc, argv);
	return rc ? rc : run(&r, &j);
}
