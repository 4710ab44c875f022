/* SPDX-License-Identifier: Apache-2.0 */
#include "dump/options.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

const char dump_usage[] =
	"usage: cutrace dump [options] FILE\n"
	"\n"
	"Prints the calls of a trace, one a line, in the order in which they began: number, thread, function,\n"
	"arguments, result. Kernel launches have a second line with the kernel's own arguments.\n"
	"\n"
	"Which calls (all of these must hold):\n"
	"  --func GLOB[,GLOB]   functions by name; '*' and '?' stand for anything, '!' excludes:\n"
	"                       'cuMem*,cuLaunch*', '!cuGetProcAddress*'\n"
	"  --thread N           thread N of the trace (see cutrace info)\n"
	"  --process N          process N of the trace\n"
	"  --result R           ok, error, in-flight, or a result's name or number\n"
	"  --time A-B           that began between A and B milliseconds after the start\n"
	"  --calls A-B          by number; A, A- and -B work too\n"
	"  --launches           kernel launches only\n"
	"How:\n"
	"  --json               one JSON object a line\n"
	"  --stable             without what differs from run to run: host addresses, times, thread ids;\n"
	"                       handles are numbered in order of appearance\n"
	"  --verify             checks the rows of the whole trace against their hashes first\n"
	"Contents instead of calls:\n"
	"  --modules DIR        writes the code images (PTX, cubin, fatbin) into DIR\n"
	"  --payload CALL       prints what a call copied, or the code it loaded\n"
	"  --buffer ID          prints a buffer by its number (as --payload names it)\n"
	"    --type T           element type: u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64; without it\n"
	"                       hexadecimal\n"
	"    --offset N         first element\n"
	"    --count N          number of elements\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: 0, 2 wrong usage, 125 the trace can't be read or is damaged.\n";

enum {
	OPT_HELP = 256,
	OPT_FUNC,
	OPT_THREAD,
	OPT_PROCESS,
	OPT_RESULT,
	OPT_TIME,
	OPT_CALLS,
	OPT_LAUNCHES,
	OPT_JSON,
	OPT_STABLE,
	OPT_VERIFY,
	OPT_MODULES,
	OPT_BUFFER,
	OPT_PAYLOAD,
	OPT_TYPE,
	OPT_OFFSET,
	OPT_COUNT
};

static const struct option longs[] = {
	{"help", no_argument, NULL, OPT_HELP},           {"func", required_argument, NULL, OPT_FUNC},
	{"thread", required_argument, NULL, OPT_THREAD}, {"process", required_argument, NULL, OPT_PROCESS},
	{"result", required_argument, NULL, OPT_RESULT}, {"time", required_argument, NULL, OPT_TIME},
	{"calls", required_argument, NULL, OPT_CALLS},   {"launches", no_argument, NULL, OPT_LAUNCHES},
	{"json", no_argument, NULL, OPT_JSON},           {"stable", no_argument, NULL, OPT_STABLE},
	{"verify", no_argument, NULL, OPT_VERIFY},       {"modules", required_argument, NULL, OPT_MODULES},
	{"buffer", required_argument, NULL, OPT_BUFFER}, {"payload", required_argument, NULL, OPT_PAYLOAD},
	{"type", required_argument, NULL, OPT_TYPE},     {"offset", required_argument, NULL, OPT_OFFSET},
	{"count", required_argument, NULL, OPT_COUNT},   {NULL, 0, NULL, 0},
};

static int parse_u64(const char *option, const char *text, uint64_t *out, struct diag *d)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || errno)
		return diag_set(d, CUTRACE_EINVAL, option, "'%s' is no number", text);
	return 0;
}

static int parse_u32(const char *option, const char *text, uint32_t *out, struct diag *d)
{
	uint64_t v;

	if (parse_u64(option, text, &v, d))
		return CUTRACE_EINVAL;
	if (!v || v > UINT32_MAX)
		return diag_set(d, CUTRACE_EINVAL, option, "they are numbered from 1; %s is none of them",
				text);
	*out = (uint32_t)v;
	return 0;
}

/* A, A-, -B, A-B */
static int parse_calls(const char *text, struct dump_options *o, struct diag *d)
{
	const char *dash = strchr(text, '-');
	char first[32] = "";

	if (!dash) {
		if (parse_u64("--calls", text, &o->first, d))
			return CUTRACE_EINVAL;
		o->last = o->first;
		return 0;
	}
	if ((size_t)(dash - text) >= sizeof(first) || (dash == text && !dash[1]))
		return diag_set(d, CUTRACE_EINVAL, "--calls", "'%s' is no range like 10-20", text);
	memcpy(first, text, (size_t)(dash - text));
	if (*first && parse_u64("--calls", first, &o->first, d))
		return CUTRACE_EINVAL;
	if (dash[1] && parse_u64("--calls", dash + 1, &o->last, d))
		return CUTRACE_EINVAL;
	if (o->first > o->last)
		return diag_set(d, CUTRACE_EINVAL, "--calls", "'%s' ends before it begins", text);
	return 0;
}

static int parse_time(const char *text, struct dump_options *o, struct diag *d)
{
	char *end;

	o->has_time = true;
	o->time_from_ms = *text == '-' ? 0 : strtod(text, &end);
	if (*text == '-')
		end = (char *)text;
	o->time_to_ms = 1e300;
	if (*end == '-' && end[1])
		o->time_to_ms = strtod(end + 1, &end);
	else if (*end == '-' && end != text)
		end++;
	if (*end || end == text || !strchr(text, '-'))
		return diag_set(d, CUTRACE_EINVAL, "--time", "'%s' is no range of milliseconds like 10-20.5",
				text);
	if (o->time_from_ms > o->time_to_ms)
		return diag_set(d, CUTRACE_EINVAL, "--time", "'%s' ends before it begins", text);
	return 0;
}

static int parse_result(const char *text, struct dump_options *o, struct diag *d)
{
	static const struct {
		const char *name;
		enum result_filter filter;
	} words[] = {{"ok", RESULT_OK}, {"error", RESULT_ERROR}, {"in-flight", RESULT_IN_FLIGHT}};
	const struct api_enum *e = api_enum_find("CUresult");
	char *end;
	unsigned i;

	for (i = 0; i < 3; i++)
		if (strcmp(text, words[i].name) == 0) {
			o->result = words[i].filter;
			return 0;
		}
	o->result = RESULT_VALUE;
	for (i = 0; e && i < e->nvalues; i++)
		if (strcmp(text, e->values[i].name) == 0) {
			o->result_value = e->values[i].value;
			return 0;
		}
	o->result_value = strtoll(text, &end, 0);
	if (!*text || *end)
		return diag_set(d, CUTRACE_EINVAL, "--result",
				"'%s' is neither ok, error, in-flight nor a result", text);
	return 0;
}

static int take(struct dump_options *o, int option, const char *arg, struct diag *d)
{
	switch (option) {
	case OPT_HELP: o->help = true; return 0;
	case OPT_FUNC: o->functions = arg; return 0;
	case OPT_THREAD: return parse_u32("--thread", arg, &o->thread, d);
	case OPT_PROCESS: return parse_u32("--process", arg, &o->process, d);
	case OPT_RESULT: return parse_result(arg, o, d);
	case OPT_TIME: return parse_time(arg, o, d);
	case OPT_CALLS: return parse_calls(arg, o, d);
	case OPT_LAUNCHES: o->launches = true; return 0;
	case OPT_JSON: o->json = true; return 0;
	case OPT_STABLE: o->stable = true; return 0;
	case OPT_VERIFY: o->verify = true; return 0;
	case OPT_MODULES: o->modules = arg; return 0;
	case OPT_BUFFER: o->has_buffer = true; return parse_u64("--buffer", arg, &o->buffer, d);
	case OPT_PAYLOAD: o->has_payload = true; return parse_u64("--payload", arg, &o->payload, d);
	case OPT_TYPE: o->type = arg; return 0;
	case OPT_OFFSET: return parse_u64("--offset", arg, &o->offset, d);
	case OPT_COUNT: return parse_u64("--count", arg, &o->count, d);
	default: return CUTRACE_EINVAL;
	}
}

/* No option is ignored: what has no effect on what is asked for is wrong usage. */
static int check_combination(const struct dump_options *o, struct diag *d)
{
	unsigned others = (o->modules != NULL) + o->has_buffer + o->has_payload;
	bool element = o->type || o->offset || o->count != UINT64_MAX;
	bool calls = o->functions || o->thread || o->process || o->result != RESULT_ANY || o->has_time ||
		     o->first || o->last != UINT64_MAX || o->launches || o->stable;

	if (others > 1)
		return diag_set(d, CUTRACE_EINVAL, "cutrace dump",
				"--modules, --buffer and --payload exclude each other");
	if (element && !o->has_buffer && !o->has_payload)
		return diag_set(d, CUTRACE_EINVAL, "cutrace dump",
				"--type, --offset and --count go with --buffer or --payload");
	if (others && calls)
		return diag_set(d, CUTRACE_EINVAL, "cutrace dump",
				"--modules, --buffer and --payload show no calls: options that choose calls "
				"don't go with them");
	return 0;
}

int dump_options_parse(struct dump_options *o, int argc, char **argv, struct diag *d)
{
	int option;

	memset(o, 0, sizeof(*o));
	o->last = o->count = UINT64_MAX;
	optind = 0; /* glibc: start over */
	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (option == '?' || option == ':')
			return diag_set(d, CUTRACE_EINVAL, "cutrace dump",
					"unknown option, or one without its value: %s", argv[optind - 1]);
		if (take(o, option == 'h' ? OPT_HELP : option, optarg, d))
			return CUTRACE_EINVAL;
	}
	if (o->help)
		return 0;
	if (optind != argc - 1)
		return diag_set(d, CUTRACE_EINVAL, "cutrace dump", "name one trace file");
	o->file = argv[optind];
	return check_combination(o, d);
}

bool dump_match_function(const char *globs, const char *name)
{
	bool shown = *globs == '!'; /* only exclusions: all others */
	char glob[256];

	while (*globs) {
		size_t n = strcspn(globs, ",");

		if (n < sizeof(glob)) {
			memcpy(glob, globs, n);
			glob[n] = '\0';
			if (*glob == '!' && fnmatch(glob + 1, name, 0) == 0)
				return false;
			if (*glob != '!' && fnmatch(glob, name, 0) == 0)
				shown = true;
		}
		globs += n + (globs[n] == ',');
	}
	return shown;
}
