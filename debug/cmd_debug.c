/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace debug: options, the launch that is meant, and the hooks that the driver calls (api/debugger.h). */
#include "debug/debug.h"

#include <getopt.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api/extension.h"
#include "debug/session.h"
#include "trace/trace.h"

enum { EXIT_DONE = 0, EXIT_SCRIPT = 1, EXIT_USAGE = 2, EXIT_COULD_NOT = 125 };

static const char help[] =
	"usage: cutrace debug FILE [--launch N] [OPTIONS]\n"
	"\n"
	"Executes one launch of a trace on the interpreter, under a debugger: breakpoints, steps forwards and\n"
	"backwards, registers, shared and global memory, in gdb's words (`help` lists them). The launch begins\n"
	"with the memory that it had when it was recorded (record --check=contents); else what launches before\n"
	"it wrote is computed anew.\n"
	"\n"
	"  --launch N           the launch of call N (cutrace dump numbers them); may be left out when there is one\n"
	"  -x, --script FILE    do the commands of a file first; may be given again\n"
	"  -e, --execute CMD    do a command first; may be given again\n"
	"  --batch              end with the last of these commands\n"
	"  --echo               show the commands of scripts before what they print\n"
	"  --device D           interp, or interp:OPTIONS (default: interp)\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: 0 the session ended, 1 a command of a script failed, 2 wrong usage, 125 it can't be debugged.\n";

/* ---- hooks -------------------------------------------------------------------------------- */

static void give_up(struct session *s, const struct diag *d) __attribute__((noreturn));
static void give_up(struct session *s, const struct diag *d)
{
	diag_print(d, stderr);
	s->sh->status = EXIT_COULD_NOT;
	timeline_leave(s);
}

static void on_begin(void *ctx, const struct debug_launch *l, const struct debug_view *view)
{
	struct session *s = ctx;
	struct diag d = DIAG_INIT;

	s->launch = *l;
	s->view = *view;
	snprintf(s->kernel, sizeof(s->kernel), "%s", l->kernel);
	s->sh->arrived = true;
	if (code_open(s, &d))
		give_up(s, &d);
	s->sh->motion = (struct motion){.goal = GOAL_TIME, .stop = {.reason = STOP_BEGIN}};
	timeline_begin(s);
}

static void on_instruction(void *ctx, const struct debug_at *at)
{
	timeline_arrive(ctx, at);
}

static void on_fault(void *ctx, const struct dev_fault *fault)
{
	timeline_over(ctx, STATE_FAULTED, fault->message);
}

static void on_end(void *ctx, const struct dev_fault *fault)
{
	timeline_over(ctx, STATE_ENDED, fault ? fault->message : NULL);
}

/* Time goes forwards again after each step back: text is shown when it is printed for the first time. */
static void on_print(void *ctx, const char *text, size_t bytes)
{
	struct session *s = ctx;
	struct shared *sh = s->sh;

	if (s->print_at != s->now)
		s->nprints = 0;
	s->print_at = s->now;
	s->nprints++;
	if (s->now < sh->printed_at || (s->now == sh->printed_at && s->nprints <= sh->printed))
		return;
	sh->printed_at = s->now;
	sh->printed = s->nprints;
	fwrite(text, 1, bytes, stdout);
}

/* ---- the visit ------------------------------------------------------------------------------- */

static void arrived(void *ctx, const struct cutrace_extension *x, const struct visit_memory *memory, size_t n)
{
	struct session *s = ctx;
	int rc = -1;

	s->memory = memory;
	s->nmemory = n;
	s->hooks = (struct debugger){.version = DEBUGGER_VERSION,
				     .ctx = s,
				     .begin = on_begin,
				     .instruction = on_instruction,
				     .fault = on_fault,
				     .print = on_print,
				     .end = on_end};
	if (x && x->size >= offsetof(struct cutrace_extension, attach_debugger) + sizeof(x->attach_debugger))
		rc = x->attach_debugger(&s->hooks);
	if (rc)
		snprintf(s->sh->why, sizeof(s->sh->why),
			 "our libcuda.so.1 can't be debugged: is it of another version?");
}

static void left(void *ctx, const char *why)
{
	struct session *s = ctx;

	if (!s->sh->why[0])
		snprintf(s->sh->why, sizeof(s->sh->why), "the launch can't be made: %s",
			 why ? why : "nothing was executed");
}

/* ---- which launch ------------------------------------------------------------------------------- */

static const char nearest_sql[] =
	"SELECT l.call, k.name FROM launch l LEFT JOIN kernel k ON k.id = l.kernel ORDER BY abs(l.call - ?1), l.call LIMIT 8";
static const char one_sql[] =
	"SELECT thread.process, k.has_ptx, k.name FROM launch l JOIN call ON call.id = l.call JOIN thread ON "
	"thread.id = call.thread LEFT JOIN kernel k ON k.id = l.kernel WHERE l.call = ?1";
static const char only_sql[] = "SELECT min(call), count(*) FROM launch";

static void add_near(struct trace *t, uint64_t call, struct diag *d)
{
	sqlite3_stmt *st = NULL;
	char list[240] = "";
	size_t n = 0;

	sqlite3_prepare_v2(trace_db(t), nearest_sql, -1, &st, NULL);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)call);
	while (st && sqlite3_step(st) == SQLITE_ROW && n < 200) {
		const char *name = (const char *)sqlite3_column_text(st, 1);

		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%lld (%.40s)", n ? ", " : "",
				      (long long)sqlite3_column_int64(st, 0), name ? name : "?");
		if (n >= sizeof(list))
			n = sizeof(list) - 1;
	}
	sqlite3_finalize(st);
	diag_hint(d, *list ? "launches near it: %s" : "the trace has no launches%s", list);
}

static int only_launch(struct trace *t, uint64_t *call, const char *path, struct diag *d)
{
	sqlite3_stmt *st = NULL;
	int64_t n = 0;

	sqlite3_prepare_v2(trace_db(t), only_sql, -1, &st, NULL);
	if (st && sqlite3_step(st) == SQLITE_ROW) {
		*call = (uint64_t)sqlite3_column_int64(st, 0);
		n = sqlite3_column_int64(st, 1);
	}
	sqlite3_finalize(st);
	if (n == 1)
		return 0;
	diag_set(d, CUTRACE_EINVAL, path,
		 n ? "which of its %lld launches? Say --launch N" : "it has no launches", (long long)n);
	add_near(t, 0, d);
	return CUTRACE_EINVAL;
}

static int find_launch(struct visit *v, const char *path, struct diag *d)
{
	sqlite3_stmt *st = NULL;
	struct trace *t;
	bool found;
	int rc = trace_open(&t, path, d);

	if (rc)
		return rc;
	if (!v->call)
		rc = only_launch(t, &v->call, path, d);
	sqlite3_prepare_v2(trace_db(t), one_sql, -1, &st, NULL);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)v->call);
	found = !rc && st && sqlite3_step(st) == SQLITE_ROW;
	if (found) {
		const char *name = (const char *)sqlite3_column_text(st, 2);

		v->process = (uint32_t)sqlite3_column_int64(st, 0);
		if (!sqlite3_column_int(st, 1))
			rc = diag_set(d, CUTRACE_ENOTSUP, path,
				      "%.100s is there as machine code only, which is not executed",
				      name ? name : "its kernel");
	} else if (!rc) {
		rc = diag_set(d, CUTRACE_ENOENT, path, "call %llu is not the launch of a kernel",
			      (unsigned long long)v->call);
		add_near(t, v->call, d);
	}
	sqlite3_finalize(st);
	trace_close(t);
	return rc;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static int debug(struct session *s, const char *path, struct diag *d)
{
	struct visit v = *s->visit;
	int rc = find_launch(&v, path, d);

	if (rc)
		return rc;
	v.ctx = s;
	v.arrived = arrived;
	v.left = left;
	s->visit = &v;
	signal(SIGINT, SIG_IGN); /* it is for the process that executes */
	rc = replay_visit(path, &v, d);
	if (!rc && s->sh->why[0])
		rc = diag_set(d, CUTRACE_ENOTSUP, path, "%s", s->sh->why);
	else if (!rc && !s->sh->arrived)
		rc = diag_set(d, CUTRACE_ENOTSUP, path, "the replay did not reach call %llu",
			      (unsigned long long)v.call);
	else if (!rc && !s->sh->over)
		rc = diag_set(d, CUTRACE_EIO, path, "the process that executes the launch has gone");
	return rc;
}

static bool parse_call(const char *text, uint64_t *call)
{
	char *end;

	*call = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	return *call && !*end && *call <= INT64_MAX;
}

static int bad_usage(const char *what, const char *word)
{
	fprintf(stderr, "cutrace debug: %s%s\n`cutrace debug --help` lists the options\n", what, word);
	return EXIT_USAGE;
}

enum { OPT_LAUNCH = 256, OPT_BATCH, OPT_ECHO, OPT_DEVICE };

static const struct option longs[] = {
	{"launch", required_argument, NULL, OPT_LAUNCH},
	{"script", required_argument, NULL, 'x'},
	{"execute", required_argument, NULL, 'e'},
	{"batch", no_argument, NULL, OPT_BATCH},
	{"echo", no_argument, NULL, OPT_ECHO},
	{"device", required_argument, NULL, OPT_DEVICE},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* A script's commands come behind those that are there: what is pending is put before, so it is read into a line each. */
static int add_script(struct shared *sh, const char *path, struct diag *d)
{
	char line[MAX_LINE];

	snprintf(line, sizeof(line), "source %s", path);
	return strlen(path) + 8 > sizeof(line) ? diag_set(d, CUTRACE_EINVAL, path, "the name is too long")
					       : input_text(sh, line, d);
}

/* -1: go on. */
static int take_options(struct shared *sh, struct visit *v, int argc, char **argv, struct diag *d)
{
	int c;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":x:e:h", longs, NULL)) != -1) {
		switch (c) {
		case 'h': fputs(help, stdout); return EXIT_DONE;
		case OPT_LAUNCH:
			if (!parse_call(optarg, &v->call))
				return bad_usage("--launch wants the number of a call, not ", optarg);
			break;
		case 'x':
			if (add_script(sh, optarg, d))
				return EXIT_COULD_NOT;
			break;
		case 'e':
			if (input_text(sh, optarg, d))
				return EXIT_COULD_NOT;
			break;
		case OPT_BATCH: sh->batch = true; break;
		case OPT_ECHO: sh->echo = true; break;
		case OPT_DEVICE:
			if (strncmp(optarg, "interp", 6) || (optarg[6] && optarg[6] != ':'))
				return bad_usage(
					"launches are debugged on the interpreter: --device interp[:OPTIONS], not ",
					optarg);
			v->device = optarg;
			break;
		case ':': return bad_usage("a value is missing after ", argv[optind - 1]);
		default: return bad_usage("unknown option ", argv[optind - 1]);
		}
	}
	return optind + 1 == argc ? -1
				  : bad_usage(optind == argc ? "which trace?" : "one trace at a time", "");
}

int cmd_debug(int argc, char **argv)
{
	struct visit v = {.device = "interp"};
	struct session *s = calloc(1, sizeof(*s));
	struct diag d = DIAG_INIT;
	int status;
	void *m = mmap(NULL, sizeof(*s->sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (!s || m == MAP_FAILED) {
		fputs("cutrace debug: error: out of memory\n", stderr);
		return EXIT_COULD_NOT;
	}
	s->sh = m;
	s->sh->next_number = 1;
	s->visit = &v;
	status = take_options(s->sh, &v, argc, argv, &d);
	if (status < 0) {
		status = debug(s, argv[optind], &d);
		status = status ? EXIT_COULD_NOT : s->sh->status;
	}
	if (d.code)
		diag_print(&d, stderr);
	munmap(m, sizeof(*s->sh));
	free(s);
	return status;
}
