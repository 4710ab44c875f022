/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/rerecord.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "replay/replay.h"
#include "replay/workroom.h"

/* ---- options ---- */

static const struct {
	const char *name;
	size_t field;
	const char *missing; /* NULL: it may be left out */
	const char *only;    /* NULL: both commands have it */
	bool is_flag;        /* it has no value */
} options[] = {
	{"output", offsetof(struct rerecord, output), "name the new trace (-o OUT)", NULL, false},
	{"driver", offsetof(struct rerecord, driver), NULL, NULL, false},
	{"device", offsetof(struct rerecord, device), NULL, NULL, false},
	{"check", offsetof(struct rerecord, check), NULL, "enrich", false},
	{"self-replays", offsetof(struct rerecord, self_replays), NULL, "enrich", false},
	{"launches", offsetof(struct rerecord, launches), "name the launches (--launches A-B)", "trim",
	 false},
	{"no-verify", offsetof(struct rerecord, no_verify), NULL, "trim", true},
};
enum { NOPTIONS = sizeof(options) / sizeof(options[0]), FIRST_KEY = 256 };

static const char **field_of(struct rerecord *r, unsigned k)
{
	return (const char **)(void *)((char *)r + options[k].field);
}

static bool has_option(const char *command, unsigned k)
{
	return !options[k].only || !strcmp(options[k].only, command);
}

static void long_options(struct option *longs, const char *command)
{
	for (unsigned k = 0; k < NOPTIONS; k++)
		if (has_option(command, k))
			*longs++ = (struct option){options[k].name,
						   options[k].is_flag ? no_argument : required_argument, NULL,
						   FIRST_KEY + (int)k};
	*longs++ = (struct option){"help", no_argument, NULL, 'h'};
	*longs = (struct option){0};
}

static const char *what_is_wrong(struct rerecord *r, const char *command)
{
	if (!r->input)
		return "name one trace";
	for (unsigned k = 0; k < NOPTIONS; k++)
		if (options[k].missing && has_option(command, k) && !*field_of(r, k))
			return options[k].missing;
	if (r->driver && r->device)
		return "--device names one of our devices, --driver another driver: not both";
	return NULL;
}

static int wrong_usage(const char *command, const char *what, const char *word, struct diag *d)
{
	char where[64];

	snprintf(where, sizeof(where), "cutrace %s", command);
	diag_set(d, CUTRACE_EINVAL, where, "%s%s", what, word);
	diag_hint(d, "`cutrace %s --help` lists the options", command);
	return CUTRACE_EINVAL;
}

int rerecord_parse(struct rerecord *r, const char *command, int argc, char **argv, struct diag *d)
{
	struct option longs[NOPTIONS + 2];
	const char *wrong;
	int c;

	long_options(longs, command);
	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "o:h", longs, NULL)) != -1) {
		if (c == 'h')
			return 1;
		if (c == 'o')
			r->output = optarg;
		else if (c >= FIRST_KEY)
			*field_of(r, (unsigned)(c - FIRST_KEY)) = optarg ? optarg : "";
		else
			return wrong_usage(command,
					   "unknown option, or one without its value: ", argv[optind - 1], d);
	}
	r->input = optind == argc - 1 ? argv[optind] : NULL;
	wrong = what_is_wrong(r, command);
	return wrong ? wrong_usage(command, wrong, "", d) : 0;
}

int rerecord_check(const struct rerecord *r, struct diag *d)
{
	if (access(r->input, R_OK))
		return diag_set(d, CUTRACE_EIO, r->input, "%s", strerror(errno));
	if (!access(r->output, F_OK))
		return diag_set(d, CUTRACE_EINVAL, r->output, "this exists; a trace is not overwritten");
	return 0;
}

/* ---- cutrace, from within ---- */

static char exe[4096];

static const char *own_path(void)
{
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	return exe;
}

int rerecord_run(const struct rerecord *r, const struct workroom *w, const char *output)
{
	const char *target = r->driver ? "--driver" : "--device";
	const char *which = r->driver ? r->driver : r->device ? r->device : "interp";
	char check[1100];
	const char *args[20] = {"record", "-q",       check,    "-o",   output, target, which,
				"--",     own_path(), "replay", target, which,  "-q"};
	unsigned n = 13;

	snprintf(check, sizeof(check), "--check=contents%s%s", r->check ? "," : "", r->check ? r->check : "");
	if (r->launches) {
		args[n++] = "--no-compare";
		args[n++] = "--launches";
		args[n++] = r->launches;
	}
	args[n++] = "--";
	args[n++] = r->input;
	return workroom_cutrace(w, args, NULL, NULL, 0);
}
