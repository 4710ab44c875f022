/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace enrich: what launches wrote, for a trace that was recorded without it. The replayer is an ordinary client of the
 * driver, so the trace is replayed, and the replay recorded with --check=contents: the new trace makes the same
 * launches, and has what they wrote on that driver.
 */
#include <stdio.h>
#include <stdlib.h>

#include "replay/replay.h"
#include "replay/rerecord.h"
#include "replay/self_replays.h"
#include "replay/workroom.h"

static const char help[] =
	"usage: cutrace enrich FILE -o OUT [OPTIONS]\n\n"
	"Makes a trace that has what each launch wrote (as record --check=contents does) of\n"
	"one that was recorded without, so that recording stays cheap: replays FILE on the\n"
	"driver that it was recorded on, or another, and records that.\n\n"
	"  -o, --output OUT     the new trace\n"
	"  --driver PATH        the libcuda.so.1 to replay on, e.g. NVIDIA's\n"
	"  --device D           one of our devices instead (default: interp)\n"
	"  --check WORDS        as of record --check (default: contents)\n"
	"  --self-replays K     then replay the new trace K times on that driver, each launch by\n"
	"                       itself, and keep what comes out otherwise: what the driver leaves\n"
	"                       to chance (the order of atomics) is legal (K up to 64)\n"
	"  -h, --help           this text\n\n"
	"Exit status: as of the replay: 0 its results are those of FILE, 1 they differ (the\n"
	"new trace then holds other results than FILE), 2 wrong usage, 125 could not replay.\n";

/* As many as it says; 0: none, or what it says is no number. */
static unsigned count_of(const char *text)
{
	char *end;
	unsigned long n = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;

	return n && !*end && n <= SELF_REPLAYS_MAX ? (unsigned)n : 0;
}

static int replay_itself(const struct rerecord *o, const struct workroom *w, struct diag *d)
{
	return self_replays_make(o->output, o->driver ? "--driver" : "--device",
				 o->driver   ? o->driver
				 : o->device ? o->device
					     : "interp",
				 count_of(o->self_replays), w, d);
}

static int enrich(const struct rerecord *o)
{
	struct workroom w = {.folder = ""};
	struct diag d = DIAG_INIT;
	int status = workroom_open(&w, &d) ? REPLAY_COULD_NOT : rerecord_run(o, &w, o->output);

	if (o->self_replays && (status == REPLAY_MATCH || status == REPLAY_DIFFERS) &&
	    replay_itself(o, &w, &d))
		status = REPLAY_COULD_NOT;
	if (d.code)
		diag_print(&d, stderr);
	if (status == REPLAY_DIFFERS)
		fprintf(stderr,
			"cutrace enrich: warning: the replay did not have the results of %s: what %s has of "
			"launches is this replay's\n",
			o->input, o->output);
	else if (status != REPLAY_MATCH)
		workroom_remove_trace(o->output); /* what there is of it has not what its name says */
	if (w.folder[0])
		workroom_close(&w);
	return status < 0 ? REPLAY_COULD_NOT : status;
}

int cmd_enrich(int argc, char **argv)
{
	struct rerecord o = {0};
	struct diag d = DIAG_INIT;
	int rc = rerecord_parse(&o, "enrich", argc, argv, &d);

	if (rc > 0) {
		fputs(help, stdout);
		return REPLAY_MATCH;
	}
	if (!rc && o.self_replays && !count_of(o.self_replays))
		rc = diag_set(&d, CUTRACE_EINVAL, "cutrace enrich",
			      "--self-replays %s: expected a number from 1 to %d", o.self_replays,
			      SELF_REPLAYS_MAX);
	if (!rc && !rerecord_check(&o, &d))
		return enrich(&o);
	diag_print(&d, stderr);
	return rc ? REPLAY_USAGE : REPLAY_COULD_NOT;
}
