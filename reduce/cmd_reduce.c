/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace reduce: of a trace with a launch that differs on a target, the smallest launch that still does: one launch, few
 * blocks and threads, small buffers, short PTX; or the fewest launches, where it takes several. Whatever is left out, the interpreter makes new results to compare with,
 * and the target is asked again.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/device_option.h"
#include "reduce/launches.h"
#include "reduce/passes.h"
#include "reduce/reduce.h"
#include "replay/excerpt.h"
#include "replay/replay.h"

static const char help[] =
	"usage: cutrace reduce FILE -o OUT [OPTIONS]\n\n"
	"Of a trace that differs on a device, the smallest launch that still does: other launches,\n"
	"functions, blocks, threads, buffers and PTX statements are left out as long as the kernel's\n"
	"results differ there. What it is to write is made anew by the interpreter at each step, so\n"
	"OUT has that, and not what was recorded; its note says so. What no launch shows alone is left as\n"
	"the fewest launches that show it one after the other. FILE must have been recorded with\n"
	"--check=contents, or enriched.\n\n"
	"  -o, --output OUT     the new trace\n"
	"  --device D           the device that is wrong (as of cutrace replay)\n"
	"  --driver PATH        another libcuda.so.1 instead\n"
	"  --launches A[-B]     look for the launch among these (default: the first that differs)\n"
	"  --time LIMIT         the best so far after LIMIT: 90s, 15m, 2h (default: until nothing goes);\n"
	"                       counted from when the launch was found\n"
	"  -q, --quiet          say nothing\n"
	"  -h, --help           this text\n\n"
	"Interrupted (Ctrl-C), the best so far is left in OUT, too.\n\n"
	"Exit status: 0 OUT is there, 2 wrong usage, 125 nothing differs, or it can't be reduced.\n";

#define NOTE \
	"made smaller from the trace excerpt_of: what its launch wrote is what the interpreter makes, no recording"

struct options {
	const char *input, *output, *device, *driver, *launches;
	double time_s;
	bool quiet;
};

/* ---- what is said -------------------------------------------------------------------------------- */

static double last_progress;

static void show_progress(const struct judge *j)
{
	struct scene_size z;

	if (judge_now() - last_progress < 0.2)
		return;
	last_progress = judge_now();
	scene_measure(j->current, &z);
	fprintf(stderr,
		"\rreduce: %u tried, %u held: %llu blocks of %llu threads, %u buffers, %llu bytes, %u statements\033[K",
		j->tried, j->held, (unsigned long long)z.blocks, (unsigned long long)z.threads, z.buffers,
		(unsigned long long)z.bytes, z.statements);
}

static void say(const char *what, uint64_t now, uint64_t before)
{
	printf("  %-12s %llu of %llu\n", what, (unsigned long long)now, (unsigned long long)before);
}

static void say_steps(const struct judge *j)
{
	printf("  %-12s %u tried, %u held%s\n", "steps", j->tried, j->held,
	       j->out_of_time           ? "; ended by --time"
	       : workroom_interrupted() ? "; interrupted"
					: "");
}

static void say_head(const struct options *o, const struct judge *j, const struct culprit *c)
{
	printf("%s: %s, call %llu of %s, still %s\n", o->output, c->kernel, (unsigned long long)c->call,
	       o->input, j->fault ? "faults" : "differs");
}

static void say_result(const struct options *o, const struct judge *j, const struct culprit *c,
		       const struct culprit *now, const struct scene_size *before)
{
	struct scene_size z;

	scene_measure(j->current, &z);
	say_head(o, j, c);
	say("launches", 1, c->launches);
	say("blocks", z.blocks, before->blocks);
	say("threads", z.threads, before->threads);
	say("buffers", z.buffers, before->buffers);
	say("bytes", z.bytes, before->bytes);
	say("functions", z.functions, before->functions);
	say("statements", z.statements, before->statements);
	if (now->line[0])
		printf("  %-12s %s\n", "wrong", now->line);
	if (c->op[0] && now->op[0] && strcmp(c->op, now->op))
		printf("  %-12s the whole launch is wrong first in %s: this may be another fault\n", "note",
		       c->line);
	say_steps(j);
}

static void say_several(const struct options *o, const struct judge *j, const struct culprit *c,
			unsigned left)
{
	say_head(o, j, c);
	say("launches", left, c->launches);
	printf("  %-12s the last of them alone is right: the trace differs where its launches are replayed one after the "
	       "other\n",
	       "note");
	say_steps(j);
}

/* ---- the work --------------------------------------------------------------------------------------- */

static bool is_smaller(const struct scene_size *a, const struct scene_size *b)
{
	return a->blocks < b->blocks || a->threads < b->threads || a->bytes < b->bytes ||
	       a->buffers < b->buffers || a->functions < b->functions || a->statements < b->statements;
}

static void reduce_all(struct judge *j, const struct culprit *c)
{
	struct scene_size before, after;

	do {
		scene_measure(j->current, &before);
		pass_unused_code(j);
		pass_drop_buffers(j);
		pass_grid(j, c->has_block ? c->block : NULL);
		pass_shrink_buffers(j);
		pass_statements(j);
		pass_unused_code(j);
		pass_shrink_buffers(j);
		scene_measure(j->current, &after);
	} while (is_smaller(&after, &before) && !judge_stopped(j));
}

/* Checked, so that nothing is left out that makes results depend on chance; unless the kernel is like that anyway. */
static int first_step(struct judge *j, bool *agrees, struct diag *d)
{
	static const char *const references[] = {"interp:check=uninit+races+barriers,check_error=1",
						 "interp"};
	double begin;

	for (unsigned i = 0; i < 2; i++) {
		begin = judge_now();
		j->reference = references[i];
		*d = (struct diag)DIAG_INIT;
		if (judge_scene(j, j->current, d)) {
			/* What takes much longer than the whole does not come to an end. */
			j->step_s = 5 + 20 * (judge_now() - begin);
			return 0;
		}
	}
	if (workroom_interrupted())
		return diag_set(d, CUTRACE_EIO, j->kernel, "interrupted");
	if (d->code)
		return d->code;
	*agrees = true;
	diag_set(
		d, CUTRACE_EINVAL, j->kernel,
		"the target makes of it what the interpreter does: it is the recording that differs, and nothing can be left "
		"out of that");
	diag_hint(d, "`cutrace trim` makes a trace of this launch alone");
	return d->code;
}

/* Once more, as a file to keep. */
static int keep(const struct judge *j, const char *to, struct diag *d)
{
	const char *whole = workroom_path(j->room, "whole.trace");
	const struct excerpt_request q = {
		.trace = j->best, .out = whole, .first = 1, .last = UINT64_MAX, .device = "interp"};

	if (workroom_interrupted()) /* no time */
		return move_file(j->best, to, d);
	return excerpt_make(j->room, &q, d) || move_file(whole, to, d) ? d->code : 0;
}

/* The launch that differs first; c->call 0: none does. */
static int find_launch(const struct options *o, struct judge *j, struct culprit *c, struct diag *d)
{
	const char *result = workroom_path(j->room, "first.db");
	int rc = culprit_replay(j, o->input, result, j->in_order ? NULL : o->launches, d);

	if (rc)
		return rc;
	culprit_find(c, result);
	c->launches = c->call ? launches_of(o->input, c->call, d) : 0;
	j->kernel = c->kernel;
	j->fault = c->fault;
	return d->code;
}

static int take_scene(const struct options *o, struct judge *j, const struct culprit *c, struct scene *s,
		      struct diag *d)
{
	const char *first = workroom_path(j->room, "first.trace");
	const struct excerpt_request q = {
		.trace = o->input, .out = first, .first = c->call, .last = c->call, .ptx_only = true};
	int rc = excerpt_make(j->room, &q, d);

	return rc ? rc : scene_load(s, first, d);
}

/* What is wrong first in the result; nothing where that can't be told. */
static void find_line(struct judge *j, const char *trace, struct culprit *now)
{
	const char *result = workroom_path(j->room, "last.db");
	struct diag ignored = DIAG_INIT;

	j->end_s = 0; /* the limit is that of the steps */
	if (!workroom_interrupted() && !culprit_replay(j, trace, result, NULL, &ignored))
		culprit_find(now, result);
}

/* One launch. *agrees: alone, the target makes of it what the interpreter does. */
static int reduce_one(const struct options *o, struct judge *j, const struct culprit *c, bool *agrees,
		      struct diag *d)
{
	struct culprit now = {0};
	struct scene_size before;
	struct scene s, first;
	int rc = take_scene(o, j, c, &s, d);

	if (rc)
		return rc;
	first = s; /* which owns the heap */
	rc = scene_copy(&s, &first);
	j->current = &s;
	scene_measure(&s, &before);
	if (!rc)
		rc = first_step(j, agrees, d);
	if (!rc) {
		j->end_s = o->time_s > 0 ? judge_now() + o->time_s : 0;
		reduce_all(j, c);
		if (j->progress)
			fputs("\r\033[K", stderr);
		rc = keep(j, o->output, d);
		if (!rc && !o->quiet)
			find_line(j, o->output, &now);
	}
	if (!rc && !o->quiet)
		say_result(o, j, c, &now, &before);
	scene_drop(&s);
	scene_free(&first);
	return rc;
}

/* What no launch shows by itself. 0 and *left 0 or 1: nor do these. */
static int reduce_several(const struct options *o, struct judge *j, struct culprit *c, unsigned *left,
			  struct diag *d)
{
	int rc;

	j->in_order = true;
	rc = find_launch(o, j, c, d);
	if (rc || !c->call)
		return rc;
	j->end_s = o->time_s > 0 ? judge_now() + o->time_s : 0;
	rc = launches_reduce(j, o->input, c, left, d);
	if (rc || *left < 2)
		return rc;
	rc = move_file(j->best, o->output, d);
	if (!rc && !o->quiet)
		say_several(o, j, c, *left);
	return rc;
}

/* What no excerpt can have: the launch with all calls before it, as `cutrace trim` makes that. 0, or *why stays. */
static int trim_instead(const struct options *o, struct judge *j, const struct culprit *c, struct diag *why)
{
	const char *whole = workroom_path(j->room, "whole.trace"),
		   *result = workroom_path(j->room, "target.db");
	char call[24];
	const char *const args[] = {"trim", "--launches", call, "-o", whole, "--", o->input, NULL};
	struct diag d = DIAG_INIT;
	int status;

	snprintf(call, sizeof(call), "%llu", (unsigned long long)c->call);
	if (workroom_cutrace(j->room, args, NULL, "trim.err", j->step_s))
		return why->code;
	status = judge_replay(j, whole, result, NULL);
	if (status != REPLAY_DIFFERS || !judge_shows(j, result) || move_file(whole, o->output, &d))
		return why->code;
	if (o->quiet)
		return 0;
	say_head(o, j, c);
	say("launches", 1, c->launches);
	printf("  %-12s %s; all calls before it are there, and nothing was made smaller\n", "note",
	       why->what);
	return 0;
}

static int reduce(const struct options *o, struct judge *j, struct diag *d)
{
	struct culprit c = {0};
	struct diag alone = DIAG_INIT, several = DIAG_INIT;
	bool agrees = false;
	unsigned left = 0;
	int rc = find_launch(o, j, &c, d);

	if (rc)
		return rc;
	if (c.call && (!reduce_one(o, j, &c, &agrees, &alone) || !agrees)) {
		if (alone.code != CUTRACE_ENOTSUP || trim_instead(o, j, &c, &alone))
			*d = alone;
		return d->code;
	}
	rc = reduce_several(o, j, &c, &left, &several);
	if (left > 1) {
		*d = several;
		return rc;
	}
	if (alone.code)
		*d = alone;
	else if (rc)
		*d = several;
	else
		diag_set(d, CUTRACE_ENOENT, o->input, "none of its launches differs on %s",
			 o->driver ? o->driver : o->device);
	return d->code;
}

static int run(const struct options *o)
{
	struct diag d = DIAG_INIT;
	struct workroom w;
	struct judge j = {.room = &w, .driver = o->driver, .device = o->device, .note = NOTE};
	char best[4200];

	if (workroom_open(&w, &d)) {
		diag_print(&d, stderr);
		return REPLAY_COULD_NOT;
	}
	snprintf(best, sizeof(best), "%s", workroom_path(&w, "best.trace"));
	j.best = best;
	j.step_s = 600;
	j.progress = !o->quiet && isatty(STDERR_FILENO) ? show_progress : NULL;
	setenv("CUTRACE_CACHE", workroom_path(&w, "cache"), 1); /* none of these kernels is met again */
	if (reduce(o, &j, &d))
		diag_print(&d, stderr);
	fflush(stdout);
	workroom_close(&w);
	return d.code ? REPLAY_COULD_NOT : REPLAY_MATCH;
}

/* ---- options ------------------------------------------------------------------------------------------ */

static int usage(const char *what, const char *word)
{
	fprintf(stderr, "cutrace reduce: error: %s%s\n`cutrace reduce --help` lists the options\n", what,
		word);
	return REPLAY_USAGE;
}

static int check(struct options *o, int argc, char **argv)
{
	uint64_t first, last;

	if (optind != argc - 1)
		return usage("name one trace", "");
	o->input = argv[optind];
	if (!o->output)
		return usage("name the new trace (-o OUT)", "");
	if (o->device && o->driver)
		return usage("--device names one of our devices, --driver another driver: not both", "");
	if (o->launches && !replay_parse_launches(o->launches, &first, &last))
		return usage("--launches: not A or A-B, calls from 1 on: ", o->launches);
	if (!o->device && !o->driver)
		o->device = device_option_default();
	if (access(o->input, R_OK)) {
		fprintf(stderr, "%s: error: %s\n", o->input, strerror(errno));
		return REPLAY_COULD_NOT;
	}
	if (!access(o->output, F_OK)) {
		fprintf(stderr, "%s: error: this exists; a trace is not overwritten\n", o->output);
		return REPLAY_COULD_NOT;
	}
	return 0;
}

int cmd_reduce(int argc, char **argv)
{
	static const struct option longs[] = {
		{"output", required_argument, NULL, 'o'}, {"device", required_argument, NULL, 'd'},
		{"driver", required_argument, NULL, 'D'}, {"launches", required_argument, NULL, 'l'},
		{"time", required_argument, NULL, 't'},   {"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
	};
	struct options o = {0};
	int c, rc;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":o:qh", longs, NULL)) != -1) {
		switch (c) {
		case 'o': o.output = optarg; break;
		case 'd': o.device = optarg; break;
		case 'D': o.driver = optarg; break;
		case 'l': o.launches = optarg; break;
		case 'q': o.quiet = true; break;
		case 't':
			if (!parse_duration(optarg, &o.time_s))
				return usage("--time: no duration like 90s, 15m or 2h: ", optarg);
			break;
		case 'h': fputs(help, stdout); return REPLAY_MATCH;
		case ':': return usage("a value is missing behind ", argv[optind - 1]);
		default: return usage("unknown option ", argv[optind - 1]);
		}
	}
	rc = check(&o, argc, argv);
	return rc ? rc : run(&o);
}
