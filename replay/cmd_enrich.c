/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace enrich: what launches wrote, for a trace that was recorded without it. The replayer is an ordinary client of the
 * driver, so the trace is replayed, and the replay recorded with --check=contents: the new trace makes the same
 * launches, and has what they wrote on that driver.
 */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "replay/replay.h"
#include "replay/rerecord.h"

static const char help[] =
	"usage: cutrace enrich FILE -o OUT [OPTIONS]\n\n"
	"Makes a trace that has what each launch wrote (as record --check=contents does) of\n"
	"one that was recorded without, so that recording stays cheap: replays FILE on the\n"
	"driver that it was recorded on, or another, and records that.\n\n"
	"  -o, --output OUT     the new trace\n"
	"  --driver PATH        the libcuda.so.1 to replay on, e.g. NVIDIA's\n"
	"  --device D           one of our devices instead (default: interp)\n"
	"  --check WORDS        as of record --check (default: contents)\n"
	"  -h, --help           this text\n\n"
	"Exit status: as of the replay: 0 its results are those of FILE, 1 they differ (the\n"
	"new trace then holds other results than FILE), 2 wrong usage, 125 could not replay.\n";

enum { OPT_DRIVER = 256, OPT_DEVICE, OPT_CHECK };

/* 0; 1: nothing is left to do; -1: wrong usage. */
static int parse(struct rerecord *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{"output", required_argument, NULL, 'o'},
		{"driver", required_argument, NULL, OPT_DRIVER},
		{"device", required_argument, NULL, OPT_DEVICE},
		{"check", required_argument, NULL, OPT_CHECK},
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
		case OPT_CHECK: o->check = optarg; break;
		case 'h': fputs(help, stdout); return 1;
		default:
			fprintf(stderr, "cutrace enrich: unknown option, or one without its value: %s\n",
				argv[optind - 1]);
			return -1;
		}
	}
	o->input = optind == argc - 1 ? argv[optind] : NULL;
	if (o->input && o->output && !(o->driver && o->device))
		return 0;
	fprintf(stderr, "cutrace enrich: %s\n",
		!o->input    ? "name one trace"
		: !o->output ? "name the new trace (-o OUT)"
			     : "--device names one of our devices, --driver another driver: not both");
	return -1;
}

int cmd_enrich(int argc, char **argv)
{
	struct rerecord o = {0};
	int rc = parse(&o, argc, argv);

	if (rc) {
		if (rc < 0)
			fputs("`cutrace enrich --help` lists the options\n", stderr);
		return rc < 0 ? REPLAY_USAGE : REPLAY_MATCH;
	}
	rc = rerecord_check(&o, "enrich");
	if (rc)
		return rc;
	rc = rerecord_run(&o, "enrich");
	if (rc != REPLAY_MATCH && rc != REPLAY_DIFFERS)
		unlink(o.output); /* what there is of it has not what its name says */
	if (rc == REPLAY_DIFFERS)
		fprintf(stderr,
			"cutrace enrich: warning: the replay did not have the results of %s: what %s has of "
			"launches is this replay's\n",
			o.input, o.output);
	return rc;
}
