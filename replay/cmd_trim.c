/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace trim: a few launches of a trace as a trace of their own, for a bug report or a test. What was in memory before
 * them comes from the recorded evidence; what they wrote stays what the recording says.
 */
#include <stdio.h>
#include <unistd.h>

#include "replay/replay.h"
#include "replay/rerecord.h"
#include "trace/trace.h"

static const char help[] =
	"usage: cutrace trim FILE --launches A[-B] -o OUT [OPTIONS]\n\n"
	"Makes a trace of the launches of calls A to B only (cutrace dump numbers them),\n"
	"which begins with the memory that they had. FILE must have been recorded with\n"
	"--check=contents, or enriched. The new trace is replayed before it is left there.\n\n"
	"  --launches A[-B]     the launches' calls\n"
	"  -o, --output OUT     the new trace\n"
	"  --device D           the device to make them on (default: interp)\n"
	"  --driver PATH        another libcuda.so.1 instead\n"
	"  -h, --help           this text\n\n"
	"Exit status: 0 the new trace is there, 2 wrong usage, 125 it can't be made.\n";

static int replay_status(const struct rerecord *o, const char *trace, const char *launches, struct diag *d)
{
	const char *args[16] = {"replay", "-q", "--isolated", "--envelope", "0"};
	unsigned n = 5;

	args[n++] = o->driver ? "--driver" : "--device";
	args[n++] = o->driver ? o->driver : o->device ? o->device : "interp";
	if (launches) {
		args[n++] = "--launches";
		args[n++] = launches;
	}
	args[n++] = "--";
	args[n] = trace;
	return rerecord_cutrace(args, d);
}

/* The same verdict on both: then the new trace shows what the old one does. */
static int verify(const struct rerecord *o, struct diag *d)
{
	int after, before = replay_status(o, o->input, o->launches, d);

	if (d->code)
		return d->code;
	after = replay_status(o, o->output, NULL, d);
	if (d->code || after == before)
		return d->code;
	return diag_set(d, CUTRACE_EINVAL, "cutrace trim",
			"the new trace does not show what %s does (replay's exit status %d instead of %d); "
			"it was removed",
			o->input, after, before);
}

/* An exit status. */
static int trim(const struct rerecord *o, uint64_t first, uint64_t last)
{
	struct diag d = DIAG_INIT;
	int status = rerecord_run(o, &d);

	if (status == REPLAY_MATCH && !trace_take_evidence(o->output, o->input, first, last, &d) &&
	    !verify(o, &d))
		return REPLAY_MATCH;
	if (d.code)
		diag_print(&d, stderr);
	unlink(o->output);
	return status == REPLAY_USAGE ? REPLAY_USAGE : REPLAY_COULD_NOT;
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
