/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace extract: one launch as a folder with a program that makes it on any libcuda.so.1 and checks itself.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/extract/extract.h"
#include "replay/replay.h"
#include "replay/workroom.h"

static const char help[] =
	"usage: cutrace extract FILE --launch N -o DIR [OPTIONS]\n\n"
	"Makes a folder of the launch of call N (cutrace dump numbers them): a trace of that launch alone, its\n"
	"PTX and data, and a C program that makes it on any libcuda.so.1 and compares the results with the\n"
	"recorded ones; its exit status says whether they are equal. It needs nothing but a C compiler. FILE must\n"
	"have been recorded with --check=contents, or enriched.\n\n"
	"  --launch N           the launch's call\n"
	"  -o, --output DIR     the folder, which is not there yet\n"
	"  --device D           the device to compare both traces on (default: interp)\n"
	"  --driver PATH        another libcuda.so.1 instead\n"
	"  --no-verify          replay nothing, and believe it\n"
	"  -h, --help           this text\n\n"
	"Launches that read textures, and those of graphs, can't be taken out.\n\n"
	"Exit status: 0 the folder is there, 2 wrong usage, 125 it can't be made.\n";

struct options {
	const char *input, *launch, *output, *device, *driver;
	bool no_verify;
};

/* ---- the folder ------------------------------------------------------------------------------ */

/* What the command that failed said is to be done. */
static void take_hint(const struct workroom *w, struct diag *d)
{
	FILE *f = fopen(workroom_path(w, "trim.err"), "r");
	char line[1024];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "  hint: ", 8))
			diag_hint(d, "%.*s", (int)strcspn(line + 8, "\n"), line + 8);
	if (f)
		fclose(f);
}

/* A trace of the launch alone, whose verdict is the same. */
static int make_trace(const struct options *o, const struct workroom *w, const char *trace, struct diag *d)
{
	const char *args[16] = {"trim", "--launches", o->launch, "-o", trace};
	unsigned n = 5;
	int status;

	if (o->driver || o->device) {
		args[n++] = o->driver ? "--driver" : "--device";
		args[n++] = o->driver ? o->driver : o->device;
	}
	if (o->no_verify)
		args[n++] = "--no-verify";
	args[n++] = "--";
	args[n] = o->input;
	status = workroom_cutrace(w, args, NULL, "trim.err", 0);
	if (!status)
		return 0;
	diag_set(d, CUTRACE_EIO, o->input, "%s",
		 status < 0                        ? "interrupted"
		 : *workroom_reason(w, "trim.err") ? workroom_reason(w, "trim.err")
						   : "a trace of this launch alone can't be made");
	take_hint(w, d);
	return d->code;
}

/* Launches that no excerpt can have are made by recording their replay: trim says why on stderr. */
static int say_why_not(const struct options *o, const struct workroom *w, struct diag *d)
{
	char line[1024] = "", *end;
	FILE *f;

	f = fopen(workroom_path(w, "trim.err"), "r");
	if (!f || !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	end = strstr(line, "; made by recording");
	if (end)
		*end = '\0';
	return diag_set(d, CUTRACE_ENOTSUP, o->input, "%s",
			!strncmp(line, "cutrace trim: ", 14)
				? line + 14
				: "the launch can't be taken out of its program");
}

static int fill(const struct options *o, const struct workroom *w, const char *folder, struct diag *d)
{
	struct extract_source s = {.trace = strrchr(o->input, '/') ? strrchr(o->input, '/') + 1 : o->input};
	struct extract x = {0};
	char trace[4400];
	uint64_t last;
	int rc;

	replay_parse_launches(o->launch, &s.call, &last);
	snprintf(trace, sizeof(trace), "%s/launch.trace", folder);
	rc = make_trace(o, w, trace, d);
	if (rc)
		return rc;
	rc = extract_read(&x, trace, d);
	if (x.trace && !trace_meta_text(x.trace, "excerpt_of"))
		rc = say_why_not(o, w, d);
	if (!rc) {
		s.uuid = trace_meta_text(x.trace, "excerpt_of");
		rc = extract_write(&x, folder, &s, d);
	}
	extract_free(&x);
	return rc;
}

/* An exit status. */
static int extract(const struct options *o)
{
	struct diag d = DIAG_INIT;
	struct workroom w;
	char part[4200];

	snprintf(part, sizeof(part), "%s.part", o->output);
	if (!access(o->output, F_OK))
		diag_set(&d, CUTRACE_EINVAL, o->output, "this exists; it is not overwritten");
	if (!d.code && !workroom_open(&w, &d) && mkdir(part, 0777)) {
		diag_set(&d, CUTRACE_EIO, part, "the folder can't be made: %s", strerror(errno));
		workroom_close(&w);
	}
	if (d.code) {
		diag_print(&d, stderr);
		return REPLAY_COULD_NOT;
	}
	fill(o, &w, part, &d);
	if (!d.code && workroom_interrupted())
		diag_set(&d, CUTRACE_EIO, o->input, "interrupted");
	if (!d.code && rename(part, o->output))
		diag_set(&d, CUTRACE_EIO, o->output, "the folder can't be put there: %s", strerror(errno));
	if (d.code) {
		diag_print(&d, stderr);
		workroom_remove_folder(part);
	}
	workroom_close(&w);
	return d.code ? REPLAY_COULD_NOT : REPLAY_MATCH;
}

/* ---- options ------------------------------------------------------------------------------------ */

static int usage(const char *what, const char *word)
{
	fprintf(stderr, "cutrace extract: error: %s%s\n  hint: `cutrace extract --help` lists the options\n",
		what, word);
	return REPLAY_USAGE;
}

static const char *what_is_wrong(const struct options *o)
{
	if (!o->input)
		return "name one trace";
	if (!o->launch)
		return "name the launch (--launch N)";
	if (!o->output)
		return "name the folder (-o DIR)";
	if (o->driver && o->device)
		return "--device names one of our devices, --driver another driver: not both";
	return NULL;
}

static bool take_option(struct options *o, int c)
{
	switch (c) {
	case 'l': o->launch = optarg; return true;
	case 'o': o->output = optarg; return true;
	case 'd': o->device = optarg; return true;
	case 'D': o->driver = optarg; return true;
	case 'n': o->no_verify = true; return true;
	default: return false;
	}
}

int cmd_extract(int argc, char **argv)
{
	static const struct option longs[] = {{"launch", required_argument, NULL, 'l'},
					      {"output", required_argument, NULL, 'o'},
					      {"device", required_argument, NULL, 'd'},
					      {"driver", required_argument, NULL, 'D'},
					      {"no-verify", no_argument, NULL, 'n'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	struct options o = {0};
	uint64_t first, last;
	int c;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "o:h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return REPLAY_MATCH;
		}
		if (!take_option(&o, c))
			return usage("unknown option, or one without its value: ", argv[optind - 1]);
	}
	o.input = optind == argc - 1 ? argv[optind] : NULL;
	if (what_is_wrong(&o))
		return usage(what_is_wrong(&o), "");
	if (!replay_parse_launches(o.launch, &first, &last) || first != last)
		return usage("--launch: this is not one call, from 1 on: ", o.launch);
	return extract(&o);
}
