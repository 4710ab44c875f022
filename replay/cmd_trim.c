/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace trim: a few launches of a trace as a trace of their own, for a bug report or a test. What was in memory before
 * them comes from the recorded evidence; what they wrote stays what the recording says.
 */
#include <getopt.h>
#include <inttypes.h>
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

enum { OPT_DRIVER = 256, OPT_DEVICE, OPT_LAUNCHES };

/* 0; 1: nothing is left to do; -1: wrong usage. */
static int parse(struct rerecord *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{"output", required_argument, NULL, 'o'},
		{"driver", required_argument, NULL, OPT_DRIVER},
		{"device", required_argument, NULL, OPT_DEVICE},
		{"launches", required_argument, NULL, OPT_LAUNCHES},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "o:h", longs, NULL)) != -1) {
		switch (c) {
		case 'o': o->output = optarg; break;
		case OPT_DRIVER: o->driver = optarg; break;
		case OPT_DEVICE: o->device = optarg; break;
		case OPT_LAUNCHES: o->launches = optarg; break;
		case 'h': fputs(help, stdout); return 1;
		default:
			fprintf(stderr, "cutrace trim: unknown option, or one without its value: %s\n",
				argv[optind - 1]);
			return -1;
		}
	}
	o->input = optind == argc - 1 ? argv[optind] : NULL;
	if (o->input && o->output && o->launches && !(o->driver && o->device))
		return 0;
	fprintf(stderr, "cutrace trim: %s\n",
		!o->input      ? "name one trace"
		: !o->output   ? "name the new trace (-o OUT)"
		: !o->launches ? "name the launches (--launches A-B)"
			       : "--device names one of our devices, --driver another driver: not both");
	return -1;
}

static int replay_status(const struct rerecord *o, const char *trace, const char *launches)
{
	const char *args[] = {"replay",
			      "-q",
			      "--isolated",
			      "--envelope",
			      "0",
			      o->driver ? "--driver" : "--device",
			      o->driver   ? o->driver
			      : o->device ? o->device
					  : "interp",
			      launches ? "--launches" : "--",
			      launches ? launches : trace,
			      launches ? trace : NULL,
			      NULL};

	return rerecord_cutrace(args, "trim");
}

/* The same verdict on both: then the new trace shows what the old one does. */
static int verify(const struct rerecord *o, int before)
{
	int after = replay_status(o, o->output, NULL);

	if (after == before)
		return 0;
	fprintf(stderr,
		"cutrace trim: error: the new trace does not show what %s does (replay's exit status %d "
		"instead of %d); "
		"it was removed\n",
		o->input, after, before);
	unlink(o->output);
	return REPLAY_COULD_NOT;
}

static int trim(const struct rerecord *o, uint64_t first, uint64_t last)
{
	struct diag d = DIAG_INIT;
	int status = rerecord_run(o, "trim");

	if (status != REPLAY_MATCH) {
		unlink(o->output);
		fprintf(stderr,
			"cutrace trim: error: no trace of these launches was made (exit status %d of their "
			"replay)\n",
			status);
		return status == REPLAY_USAGE ? REPLAY_USAGE : REPLAY_COULD_NOT;
	}
	if (trace_take_evidence(o->output, o->input, first, last, &d)) {
		diag_print(&d, stderr);
		unlink(o->output);
		return REPLAY_COULD_NOT;
	}
	return verify(o, replay_status(o, o->input, o->launches));
}

int cmd_trim(int argc, char **argv)
{
	struct rerecord o = {0};
	uint64_t first, last;
	int rc = parse(&o, argc, argv);

	if (!rc && !replay_parse_launches(o.launches, &first, &last)) {
		fprintf(stderr, "cutrace trim: --launches: error: '%s' is not A or A-B, calls from 1 on\n",
			o.launches);
		rc = -1;
	}
	if (rc) {
		if (rc < 0)
			fputs("`cutrace trim --help` lists the options\n", stderr);
		return rc < 0 ? REPLAY_USAGE : REPLAY_MATCH;
	}
	rc = rerecord_check(&o, "trim");
	return rc ? rc : trim(&o, first, last);
}
