/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace trim: a few launches of a trace as a trace of their own, for a bug report or a test. What was in memory before
 * them comes from the recorded evidence; what they wrote stays what the recording says.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/excerpt.h"
#include "replay/replay.h"
#include "replay/rerecord.h"
#include "replay/workroom.h"
#include "trace/trace.h"

static const char help[] =
	"usage: cutrace trim FILE --launches A[-B] -o OUT [OPTIONS]\n\n"
	"Makes a trace of the launches of calls A to B only (cutrace dump numbers them),\n"
	"which begins with the memory that they had and the modules that they need. FILE must\n"
	"have been recorded with --check=contents, or enriched. Before OUT is there, both traces'\n"
	"launches are replayed: where the verdicts are not the same, nothing is written.\n\n"
	"  --launches A[-B]     the launches' calls\n"
	"  -o, --output OUT     the new trace\n"
	"  --device D           the device to compare them on (default: interp)\n"
	"  --driver PATH        another libcuda.so.1 instead\n"
	"  --no-verify          replay nothing, and believe it\n"
	"  -h, --help           this text\n\n"
	"Exit status: 0 the new trace is there, 2 wrong usage, 125 it can't be made.\n";

/* ---- the new trace -------------------------------------------------------------------------- */

static int64_t count(const char *trace, const char *sql, uint64_t first, uint64_t last, struct diag *d)
{
	struct trace *t;
	sqlite3_stmt *st = NULL;
	int64_t n = 0;

	if (trace_open(&t, trace, d))
		return -1;
	sqlite3_prepare_v2(trace_db(t), sql, -1, &st, NULL);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)first);
	sqlite3_bind_int64(st, 2, last > INT64_MAX ? INT64_MAX : (sqlite3_int64)last);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	trace_close(t);
	return n;
}

/* What excerpts don't have is made by recording the replay of these launches. */
static int record_replay(const struct rerecord *o, const struct workroom *w, const char *out, uint64_t first,
			 uint64_t last, struct diag *d)
{
	int status = rerecord_run(o, w, out);

	if (status == REPLAY_MATCH)
		return trace_take_evidence(out, o->input, first, last, d);
	return diag_set(d, CUTRACE_EIO, o->input, "%s",
			status < 0 ? "interrupted" : "these launches can't be replayed");
}

#define OF_PROCESSES                                                                                       \
	"SELECT count(DISTINCT t.process) FROM launch l, call c, thread t WHERE l.call BETWEEN ?1 AND ?2 " \
	"AND c.id = l.call AND t.id = c.thread"

static int make(const struct rerecord *o, const struct workroom *w, const char *out, uint64_t first,
		uint64_t last, struct diag *d)
{
	const struct excerpt_request q = {.trace = o->input, .out = out, .first = first, .last = last};
	int64_t launches =
		count(o->input, "SELECT count(*) FROM launch WHERE call BETWEEN ?1 AND ?2", first, last, d);
	int rc = launches < 0 ? d->code : 0;

	if (!launches) {
		rc = diag_set(d, CUTRACE_EINVAL, o->input, "none of these calls is a launch");
		diag_hint(d, "`cutrace dump --launches` numbers them");
	}
	if (!rc && !count(o->input, "SELECT count(*) FROM payload WHERE kind = 'written'", 0, 0, d)) {
		rc = diag_set(d, CUTRACE_ENOENT, o->input, "the trace does not have what its launches wrote");
		diag_hint(d, "record it with --check=contents, or let `cutrace enrich` add that");
	}
	if (!rc && count(o->input, OF_PROCESSES, first, last, d) > 1)
		rc = diag_set(d, CUTRACE_ENOTSUP, o->input, "these launches are those of several processes");
	if (!rc)
		rc = excerpt_make(w, &q, d);
	if (rc != CUTRACE_ENOTSUP || workroom_interrupted())
		return rc;
	fprintf(stderr, "cutrace trim: %s; made by recording their replay, with all calls before them\n",
		d->what);
	*d = (struct diag)DIAG_INIT;
	return record_replay(o, w, out, first, last, d);
}

/* ---- the same verdict on both ------------------------------------------------------------------ */

/* malloc'ed, or NULL with *d filled. */
static char *grades(const struct rerecord *o, const struct workroom *w, const char *trace,
		    const char *launches, struct diag *d)
{
	const char *result = workroom_path(w, "verify.db"),
		   *args[20] = {"replay", "-q", "--isolated", "--envelope", "0", "--no-narrow"};
	unsigned n = 6;
	int status;
	char *text;

	args[n++] = o->driver ? "--driver" : "--device";
	args[n++] = o->driver ? o->driver : o->device ? o->device : "interp";
	args[n++] = "-o";
	args[n++] = result;
	if (launches) {
		args[n++] = "--launches";
		args[n++] = launches;
	}
	args[n++] = "--";
	args[n] = trace;
	unlink(result);
	status = workroom_cutrace(w, args, NULL, "verify.err", 0);
	text = excerpt_grades(result);
	if (!text)
		diag_set(d, CUTRACE_EIO, trace, "%s",
			 status < 0 ? "interrupted" : workroom_reason(w, "verify.err"));
	return text;
}

/* The first lines that differ. */
static void say_difference(const char *before, const char *after, const struct rerecord *o, struct diag *d)
{
	diag_set(d, CUTRACE_EINVAL, "cutrace trim",
		 "the new trace does not show what %s does on %s: '%.*s' instead of '%.*s'; nothing was "
		 "written",
		 o->input,
		 o->driver   ? o->driver
		 : o->device ? o->device
			     : "interp",
		 (int)strcspn(after, "\n"), after, (int)strcspn(before, "\n"), before);
	diag_hint(d, "try more launches, from an earlier one on; --no-verify writes it as it is");
}

/* Whole words are told: back to where the lines begin. */
static const char *line_begin(const char *text, const char *at)
{
	while (at > text && at[-1] != '\n')
		at--;
	return at;
}

static int verify(const struct rerecord *o, const struct workroom *w, const char *out, struct diag *d)
{
	char *before = grades(o, w, o->input, o->launches, d);
	char *after = before ? grades(o, w, out, NULL, d) : NULL;

	if (before && after && strcmp(before, after)) {
		size_t at = 0;

		while (before[at] && before[at] == after[at])
			at++;
		say_difference(line_begin(before, before + at), line_begin(after, after + at), o, d);
	}
	free(before);
	free(after);
	return d->code;
}

/* ---- the command ------------------------------------------------------------------------------- */

/* An exit status. */
static int trim(const struct rerecord *o, uint64_t first, uint64_t last)
{
	struct diag d = DIAG_INIT;
	struct workroom w;
	char part[4200];

	snprintf(part, sizeof(part), "%s.part", o->output);
	if (!access(part, F_OK))
		diag_set(&d, CUTRACE_EINVAL, part, "this exists; a trace is not overwritten");
	if (d.code || workroom_open(&w, &d)) {
		diag_print(&d, stderr);
		return REPLAY_COULD_NOT;
	}
	if (!make(o, &w, part, first, last, &d) && !o->no_verify)
		verify(o, &w, part, &d);
	if (!d.code && workroom_interrupted())
		diag_set(&d, CUTRACE_EIO, o->input, "interrupted");
	if (!d.code && rename(part, o->output))
		diag_set(&d, CUTRACE_EIO, o->output, "it can't be put there: %m");
	if (d.code) {
		diag_print(&d, stderr);
		workroom_remove_trace(part);
	}
	workroom_close(&w);
	return d.code ? REPLAY_COULD_NOT : REPLAY_MATCH;
}

int cmd_trim(int argc, char **argv)
{
	struct rerecord o = {0};
	struct diag d = DIAG_INIT;
	uint64_t first, last;
	int rc = rerecord_parse(&o, "trim", argc, argv, &d);

	if (rc > 0) {
		fputs(help, stdout);
		return REPLAY_MATCH;
	}
	if (!rc && !replay_parse_launches(o.launches, &first, &last)) {
		rc = diag_set(&d, CUTRACE_EINVAL, "cutrace trim: --launches",
			      "'%s' is not A or A-B, calls from 1 on", o.launches);
		diag_hint(&d, "`cutrace trim --help` lists the options");
	}
	if (!rc && !rerecord_check(&o, &d))
		return trim(&o, first, last);
	diag_print(&d, stderr);
	return rc ? REPLAY_USAGE : REPLAY_COULD_NOT;
}
