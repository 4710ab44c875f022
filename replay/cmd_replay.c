/* SPDX-License-Identifier: Apache-2.0
 *
 * `cutrace replay`: options, where our driver lies, the exit status.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/device_option.h"
#include "replay/engine.h"
#include "replay/replayability.h"
#include "replay/session.h"
#include "replay/tolerances.h"

#ifndef PATH_MAX
#	define PATH_MAX 4096
#endif

static const char help[] =
	"usage: cutrace replay FILE [OPTIONS]\n\n"
	"Issues the calls of a trace again and compares what the device returns with what was recorded.\n"
	"Bytes must be equal (NaN payloads aside) unless a limit below allows more. The report names the\n"
	"first difference: call, kernel, buffer, element, and the PTX line that stored it.\n\n"
	"  --device D           run on one of our devices: hip[:N], AMD GPUs; interp[:OPTIONS], an\n"
	"                       interpreter on the CPU; amdemu:gfxNNNN[,OPTIONS], code for that AMD GPU on an\n"
	"                       emulator (gfx90a, gfx942, gfx1030, gfx1100, gfx1151, gfx1201) (default:\n"
	"                       CUTRACE_DEVICE, else hip if there is an AMD GPU, else interp)\n"
	"  --driver PATH        run on another libcuda.so.1, e.g. NVIDIA's\n"
	"  -o, --output FILE    keep the results in FILE, an SQLite database; it may overwrite an earlier\n"
	"                       result, nothing else\n"
	"  --ulp N              accept differences of up to N units in the last place\n"
	"  --rtol X, --atol X   accept |got - want| <= atol + rtol * |want|\n"
	"  --tolerances FILE    the same by kernel and buffer: lines KERNEL BUFFER [rtol=X] [atol=X] [ulp=N], globs over the\n"
	"                       names of the kernel and of its parameter; # begins a comment\n"
	"  --stop-at CALL       end after this call (cutrace dump numbers them)\n"
	"  --isolated           each launch from the memory it had when it was recorded, so that a wrong kernel\n"
	"                       can't spoil the next (for traces of record --check=contents)\n"
	"  -j, --jobs N         isolated, in N processes at a time; 0: one a core\n"
	"  --shard I/N          isolated, the I-th of N parts of the launches (I from 1); with -o, for\n"
	"                       cutrace merge-results\n"
	"  --resume FILE        isolated: go on with a replay that was interrupted by SIGINT, SIGTERM or SIGHUP,\n"
	"                       and left OUT.partial; what it has judged is not made again\n"
	"  --plan               replay nothing: say which launches and calls can be, and why others can't; the target is\n"
	"                       asked for each kernel\n"
	"  --progress           how far it is, on stderr also where that is no terminal\n"
	"  --launches A[-B]     isolated: make only the launches of calls A to B\n"
	"  --no-compare         isolated: compare nothing after launches\n"
	"  --keep DIR           isolated: leave what a launch wrote, where it differs, in DIR/PROCESS.CALL.ADDRESS\n"
	"  --envelope N         isolated: what differs is judged by the spread of N legal results, which the\n"
	"                       interpreter makes with fusing, order, grouping and approximations left to\n"
	"                       chance (default 8; 0: every difference counts)\n"
	"  --most-judged N      isolated: so many of a process's launches that differ, or `all` (default 64); each\n"
	"                       costs as many runs of it; with -j, these run at a time\n"
	"  --narrow N           isolated: in the first N launches that differ, look for the first PTX line "
	"that\n"
	"                       gives what its operands don't (default 8)\n"
	"  --no-narrow          don't: the line that stored the element is all\n"
	"  --repeat N           make each launch N times more, and print how long kernels take. What is compared is\n"
	"                       the first time; each further one begins with the same memory\n"
	"  --warm-up M          before these, M times that are not counted (default 1)\n"
	"  --verify-addresses   where allocations could not have their recorded addresses, replay again at\n"
	"                       others: results that change with them show a pointer that was missed\n"
	"  --inject KERNEL:PTXLINE:BIT[:BLOCK[:THREAD]]\n"
	"                       flip one bit of the result of the instruction on that line, in every launch\n"
	"                       of KERNEL, to see how a fault shows (device interp only; the PTX is\n"
	"                       written by cutrace dump --modules)\n"
	"  --json               the report as JSON\n"
	"  --verbose            every comparison, every remark, and (on stderr) what kernels print\n"
	"  -q, --quiet          no report, only the exit status\n"
	"  -h, --help           this text\n\n"
	"Exit status: 0 all results match, 1 something differs, 2 wrong usage (an unknown option, device or\n"
	"option of a device), 125 could not replay or verify (git bisect run skips such a commit).\n";

enum {
	OPT_DEVICE = 256,
	OPT_DRIVER,
	OPT_ULP,
	OPT_RTOL,
	OPT_ATOL,
	OPT_STOP,
	OPT_VERIFY,
	OPT_INJECT,
	OPT_JSON,
	OPT_VERBOSE,
	OPT_ISOLATED,
	OPT_ENVELOPE,
	OPT_MOST_JUDGED,
	OPT_NARROW,
	OPT_NO_NARROW,
	OPT_LAUNCHES,
	OPT_NO_COMPARE,
	OPT_SHARD,
	OPT_REPEAT,
	OPT_WARM_UP,
	OPT_RESUME,
	OPT_TOLERANCES,
	OPT_PLAN,
	OPT_KEEP,
	OPT_PROGRESS
};

static const struct option long_options[] = {
	{"device", required_argument, NULL, OPT_DEVICE},
	{"driver", required_argument, NULL, OPT_DRIVER},
	{"output", required_argument, NULL, 'o'},
	{"ulp", required_argument, NULL, OPT_ULP},
	{"rtol", required_argument, NULL, OPT_RTOL},
	{"atol", required_argument, NULL, OPT_ATOL},
	{"stop-at", required_argument, NULL, OPT_STOP},
	{"isolated", no_argument, NULL, OPT_ISOLATED},
	{"no-compare", no_argument, NULL, OPT_NO_COMPARE},
	{"launches", required_argument, NULL, OPT_LAUNCHES},
	{"envelope", required_argument, NULL, OPT_ENVELOPE},
	{"most-judged", required_argument, NULL, OPT_MOST_JUDGED},
	{"keep", required_argument, NULL, OPT_KEEP},
	{"narrow", required_argument, NULL, OPT_NARROW},
	{"no-narrow", no_argument, NULL, OPT_NO_NARROW},
	{"jobs", required_argument, NULL, 'j'},
	{"shard", required_argument, NULL, OPT_SHARD},
	{"repeat", required_argument, NULL, OPT_REPEAT},
	{"warm-up", required_argument, NULL, OPT_WARM_UP},
	{"resume", required_argument, NULL, OPT_RESUME},
	{"plan", no_argument, NULL, OPT_PLAN},
	{"tolerances", required_argument, NULL, OPT_TOLERANCES},
	{"progress", no_argument, NULL, OPT_PROGRESS},
	{"verify-addresses", no_argument, NULL, OPT_VERIFY},
	{"inject", required_argument, NULL, OPT_INJECT},
	{"json", no_argument, NULL, OPT_JSON},
	{"verbose", no_argument, NULL, OPT_VERBOSE},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static bool parse_u64(const char *s, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(s, &end, 0);
	return *s && *s != '-' && !*end && !errno;
}

static bool parse_limit(const char *s, double *out)
{
	char *end;

	*out = strtod(s, &end);
	return *s && !*end && isfinite(*out) && *out >= 0;
}

/* KERNEL:PTXLINE:BIT[:BLOCK[:THREAD]]; blocks and threads are numbers or '*'. */
static bool inject_is_well_formed(const char *s)
{
	const char *p = strchr(s, ':');
	unsigned parts = 0;
	char *end;

	if (!p || p == s)
		return false;
	for (; *p == ':' && parts < 4; parts++) {
		end = (char *)(uintptr_t)(p + 1);
		if (parts >= 2 && *end == '*')
			end++;
		else if (*end >= '0' && *end <= '9')
			strtoull(end, &end, 10);
		if (end == p + 1)
			return false;
		p = end;
	}
	return !*p && parts >= 2;
}

/* What each value is, for who got it wrong. */
static const char *expected(int option)
{
	switch (option) {
	case OPT_ULP: return "a whole number of units in the last place";
	case OPT_RTOL:
	case OPT_ATOL: return "a number that is 0 or more, like 1e-5";
	case 'j': return "a number of processes up to 1024, 0 for one a core";
	case OPT_LAUNCHES: return "A or A-B, calls of launches, from 1 (see cutrace dump)";
	case OPT_NARROW: return "a number of launches, up to 1000";
	case OPT_MOST_JUDGED: return "a number of launches, from 1, or `all`";
	case OPT_ENVELOPE: return "a number of runs, 0 or from 3 to 64";
	case OPT_SHARD: return "I/N, like 2/8, with I from 1 to N";
	case OPT_REPEAT:
	case OPT_WARM_UP: return "a number of times, up to 100000";
	case OPT_STOP: return "a call's number, from 1 (see cutrace dump)";
	default: return "KERNEL:PTXLINE:BIT[:BLOCK[:THREAD]], like saxpy:31:20";
	}
}

static bool take_jobs(struct replay_options *o, const char *arg)
{
	uint64_t n;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (!parse_u64(arg, &n) || n > 1024)
		return false;
	o->jobs = n ? (unsigned)n : cores > 0 ? (unsigned)cores : 1;
	o->isolated = true;
	return true;
}

bool replay_parse_launches(const char *text, uint64_t *first, uint64_t *last)
{
	char *end;

	errno = 0;
	*first = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	*last = *first;
	if (!*first || errno || (*end && *end != '-'))
		return false;
	if (*end == '-') {
		text = end + 1;
		*last = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	}
	return !*end && !errno && *last >= *first;
}

static bool take_envelope(struct replay_options *o, const char *arg)
{
	uint64_t n;

	if (!parse_u64(arg, &n) || (n && n < 3) || n > 64)
		return false;
	o->envelope = (unsigned)n;
	return true;
}

static bool take_most_judged(struct replay_options *o, const char *arg)
{
	uint64_t n = 0;

	if (strcmp(arg, "all") && (!parse_u64(arg, &n) || !n || n > UINT32_MAX))
		return false;
	o->most_judged = (unsigned)n;
	return true;
}

static bool take_narrow(struct replay_options *o, const char *arg)
{
	uint64_t n;

	if (!parse_u64(arg, &n) || n > 1000)
		return false;
	o->narrow = (unsigned)n;
	return true;
}

static bool take_times(const char *arg, unsigned least, unsigned *out)
{
	uint64_t n;

	if (!parse_u64(arg, &n) || n < least || n > 100000)
		return false;
	*out = (unsigned)n;
	return true;
}

static bool take_shard(struct replay_options *o, const char *arg)
{
	char *end;
	unsigned long i = *arg >= '0' && *arg <= '9' ? strtoul(arg, &end, 10) : 0, n;

	if (!i || *end != '/' || end[1] < '0' || end[1] > '9')
		return false;
	n = strtoul(end + 1, &end, 10);
	if (*end || n < i || n > 1000000)
		return false;
	o->shard = (unsigned)i - 1;
	o->shards = (unsigned)n;
	o->isolated = true;
	return true;
}

/* The option's name when its value is wrong, or NULL. */
static const char *take_option(struct replay_options *o, int c, const char *arg)
{
	switch (c) {
	case OPT_DEVICE: o->device = arg; return NULL;
	case OPT_DRIVER: o->driver = arg; return NULL;
	case 'o': o->result_path = arg; return NULL;
	case OPT_ULP: o->limits.has_ulp = true; return parse_u64(arg, &o->limits.ulp) ? NULL : "--ulp";
	case OPT_RTOL: o->limits.has_tol = true; return parse_limit(arg, &o->limits.rtol) ? NULL : "--rtol";
	case OPT_ATOL: o->limits.has_tol = true; return parse_limit(arg, &o->limits.atol) ? NULL : "--atol";
	case OPT_STOP: return parse_u64(arg, &o->stop_at) && o->stop_at ? NULL : "--stop-at";
	case OPT_ISOLATED: o->isolated = true; return NULL;
	case 'j': return take_jobs(o, arg) ? NULL : "--jobs";
	case OPT_NO_COMPARE: o->isolated = o->no_compare = true; return NULL;
	case OPT_LAUNCHES:
		o->isolated = true;
		return replay_parse_launches(arg, &o->first_launch, &o->last_launch) ? NULL : "--launches";
	case OPT_NARROW: return take_narrow(o, arg) ? NULL : "--narrow";
	case OPT_NO_NARROW: o->narrow = 0; return NULL;
	case OPT_MOST_JUDGED: return take_most_judged(o, arg) ? NULL : "--most-judged";
	case OPT_ENVELOPE: return take_envelope(o, arg) ? NULL : "--envelope";
	case OPT_SHARD: return take_shard(o, arg) ? NULL : "--shard";
	case OPT_REPEAT: return take_times(arg, 1, &o->repeat) ? NULL : "--repeat";
	case OPT_WARM_UP: return take_times(arg, 0, &o->warm_up) ? NULL : "--warm-up";
	case OPT_RESUME:
		o->isolated = true;
		o->resume_path = arg;
		return NULL;
	case OPT_KEEP:
		o->isolated = true;
		o->keep = arg;
		return NULL;
	case OPT_PLAN: o->plan = true; return NULL;
	case OPT_TOLERANCES: o->tolerances_path = arg; return NULL;
	case OPT_PROGRESS: o->progress = true; return NULL;
	case OPT_VERIFY: o->verify_addresses = true; return NULL;
	case OPT_INJECT: o->inject = arg; return inject_is_well_formed(arg) ? NULL : "--inject";
	case OPT_JSON: o->json = true; return NULL;
	case OPT_VERBOSE: o->verbose = true; return NULL;
	case 'q': o->quiet = true; return NULL;
	default: return "option";
	}
}

/* build/bin/cutrace and /usr/bin/cutrace both have their libraries in ../lib/cutrace. */
int replay_own_driver(char *path, size_t size, struct diag *d)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *given = getenv("CUTRACE_REPLAY_LIBDIR");

	if (n <= 0)
		return diag_set(d, CUTRACE_EIO, "/proc/self/exe", "cannot read: %s", strerror(errno));
	exe[n] = '\0';
	if (given && *given)
		n = snprintf(path, size, "%s/zluda/libcuda.so.1", given);
	else
		n = snprintf(path, size, "%s/../lib/cutrace/zluda/libcuda.so.1", dirname(exe));
	if (n < 0 || (size_t)n >= size)
		return diag_set(d, CUTRACE_EINVAL, exe, "path too long");
	if (access(path, R_OK))
		return diag_set(d, CUTRACE_ENOENT, path, "our driver is not there: %s", strerror(errno));
	if (realpath(path, exe) && strlen(exe) < size) /* without the ".." */
		memcpy(path, exe, strlen(exe) + 1);
	return 0;
}

static void print_report(const struct replay_options *o, struct sqlite3 *db)
{
	if (o->json)
		report_json(db, stdout);
	else if (!o->quiet)
		report_text(db, stdout, o->verbose);
}

/* Does who reads stderr read stdout too? Both are one file, or a terminal shows both, perhaps through a pager. */
static bool report_is_seen(void)
{
	struct stat out, err;

	if (fstat(STDOUT_FILENO, &out) || fstat(STDERR_FILENO, &err))
		return false;
	if (out.st_dev == err.st_dev && out.st_ino == err.st_ino)
		return true;
	return isatty(STDOUT_FILENO) || (isatty(STDERR_FILENO) && S_ISFIFO(out.st_mode));
}

/* The result is where it belongs, or gone, before a reader of the report can end this process. */
static int put_result(struct session *s)
{
	if (s->opt->result_path)
		return session_keep_result(s);
	unlink(s->result_path);
	s->result_is_temporary = false;
	return 0;
}

static int finish(struct session *s)
{
	struct result_db *db;
	int status = REPLAY_COULD_NOT;

	if (result_open(&db, s->result_path, false, &s->error) || put_result(s)) {
		diag_print(&s->error, stderr);
		return REPLAY_COULD_NOT;
	}
	status = report_status(result_sqlite(db));
	print_report(s->opt, result_sqlite(db));
	/* The reason is on stderr too, unless that shows it twice. */
	if (status == REPLAY_COULD_NOT && (s->opt->json || s->opt->quiet || !report_is_seen()))
		report_reasons(result_sqlite(db), stderr);
	result_close(db);
	return status;
}

/* As if the signal had not been caught, for who waits for this process. */
static void end_by(int signal_number)
{
	fflush(NULL);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* Executes this command again without address randomisation (personality(2)). Returns when that can't be
 * done. */
static void restart(void)
{
	static char text[1 << 16];
	char *argv[1024];
	int fd = open("/proc/self/cmdline", O_RDONLY), n = 0;
	ssize_t bytes = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	int current = personality(0xffffffff);

	if (fd >= 0)
		close(fd);
	for (ssize_t at = 0; at < bytes && n < 1023; at += (ssize_t)strlen(text + at) + 1)
		argv[n++] = text + at;
	argv[n] = NULL;
	if (setenv("CUTRACE_REPLAY_NO_ASLR", "1", 1) || current < 0 || bytes == (ssize_t)sizeof(text) - 1)
		return;
	personality((unsigned long)current | ADDR_NO_RANDOMIZE);
	fflush(NULL);
	execv("/proc/self/exe", argv);
}

/* A report that can't be written is none. A reader that has seen enough (head) is no error. */
static int finish_output(int status)
{
	bool good;

	errno = 0;
	good = !fflush(stdout) && !ferror(stdout);
	/* When a part of it failed earlier, that reason is gone; a further byte meets it again. */
	if (!good && !errno && write(STDOUT_FILENO, "\n", 1) == 1)
		errno = EIO;
	if (good || errno == EPIPE)
		return status;
	fprintf(stderr, "cutrace replay: error: the report can't be written: %s\n", strerror(errno));
	return REPLAY_COULD_NOT;
}

static int plan_only(struct session *s)
{
	struct replayability p;
	int rc = session_check_rows(s);

	s->in_front = true;
	if (!rc)
		rc = replayability_read(&p, s, true);
	if (rc) {
		diag_print(&s->error, stderr);
		return REPLAY_COULD_NOT;
	}
	if (s->opt->json)
		replayability_json(&p, stdout);
	else if (!s->opt->quiet)
		replayability_text(&p, stdout, false);
	replayability_free(&p);
	return REPLAY_MATCH;
}

/* OUT.partial, which was kept for this. */
static bool is_ours(const struct replay_options *o)
{
	size_t n = o->result_path ? strlen(o->result_path) : 0;

	return n && !strncmp(o->resume_path, o->result_path, n) && !strcmp(o->resume_path + n, ".partial");
}

int replay_run(const struct replay_options *opt)
{
	struct session s = {.opt = opt};
	int status = REPLAY_COULD_NOT, rc = 0;

	if (!opt->quiet && isatty(STDERR_FILENO))
		s.progress.how = PROGRESS_TERMINAL;
	else if (opt->progress)
		s.progress.how = PROGRESS_LINES;
	if (opt->isolated && (opt->envelope || opt->narrow))
		rc = replay_own_driver(s.own_driver_path, sizeof(s.own_driver_path), &s.error);
	if (opt->driver)
		snprintf(s.driver_path, sizeof(s.driver_path), "%s", opt->driver);
	else if (!rc)
		rc = replay_own_driver(s.driver_path, sizeof(s.driver_path), &s.error);
	if (!rc && opt->plan) {
		status = plan_only(&s);
		return finish_output(status);
	}
	if (!rc)
		rc = session_run(&s);
	if (rc && s.restart) {
		if (s.result_is_temporary)
			unlink(s.result_path);
		restart();
		rc = session_run(&s); /* as it is, then */
	}
	if (!rc && s.interrupted)
		rc = resume_keep(&s);
	else if (!rc)
		status = finish(&s);
	if (rc)
		diag_print(&s.error, stderr);
	if (s.result_is_temporary)
		unlink(s.result_path);
	if (s.interrupted)
		end_by(s.interrupted);
	if (!rc && opt->resume_path && is_ours(opt))
		unlink(opt->resume_path);
	return finish_output(status);
}

static int usage_hint(void)
{
	fputs("`cutrace replay --help` lists the options\n", stderr);
	return REPLAY_USAGE;
}

static int usage(const char *fmt, const char *what)
{
	fputs("cutrace replay: ", stderr);
	fprintf(stderr, fmt, what);
	fputc('\n', stderr);
	return usage_hint();
}

/* A driver that is not there is said later: that is no wrong usage. */
static int check_device(const char *device)
{
	char path[PATH_MAX];
	struct diag d = DIAG_INIT;
	int rc;

	if (replay_own_driver(path, sizeof(path), &d))
		return 0;
	rc = device_option_check(device, path, &d);
	if (!rc)
		return 0;
	fputs("cutrace replay: ", stderr);
	diag_print(&d, stderr);
	return rc == CUTRACE_EINVAL ? REPLAY_USAGE : REPLAY_COULD_NOT;
}

/* OUT of OUT.partial. */
static bool name_result(struct replay_options *o)
{
	static const char ending[] = ".partial";
	size_t n = strlen(o->resume_path), k = sizeof(ending) - 1;

	if (n <= k || strcmp(o->resume_path + n - k, ending) != 0)
		return false;
	o->resumed_path = strndup(o->resume_path, n - k);
	o->result_path = o->resumed_path;
	return o->result_path != NULL;
}

int cmd_replay(int argc, char **argv)
{
	struct replay_options o = {
		.may_restart = true, .envelope = 8, .most_judged = 64, .narrow = 8, .warm_up = 1};
	struct tolerances tolerances = {0};
	struct diag d = DIAG_INIT;
	const char *bad;
	int c, rc;

	optind = 0; /* also when a test calls this twice */
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":o:j:qh", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return finish_output(REPLAY_MATCH);
		}
		if (c == '?')
			return usage("unknown option %s", argv[optind - 1]);
		if (c == ':')
			return usage("%s needs a value", argv[optind - 1]);
		bad = take_option(&o, c, optarg);
		if (bad) {
			fprintf(stderr, "cutrace replay: %s: error: '%s' is not %s\n", bad, optarg,
				expected(c));
			return usage_hint();
		}
	}
	if (optind + 1 != argc)
		return usage(optind == argc ? "which trace?%s" : "one trace at a time%s", "");
	if (o.device && o.driver)
		return usage("--device names one of our devices, --driver another driver: not both%s", "");
	if (o.last_launch && o.shards)
		return usage("--launches names the part itself: no --shard with it%s", "");
	if (o.repeat && (o.shards || o.jobs > 1))
		return usage("--repeat measures one process at a time: no --shard or -j with it%s", "");
	if (o.isolated && o.verify_addresses)
		return usage("--verify-addresses compares whole replays, not isolated launches%s", "");
	if (!o.device && !o.driver)
		o.device = device_option_default();
	rc = o.device ? check_device(o.device) : 0;
	if (rc)
		return rc;
	o.trace_path = argv[optind];
	if (o.resume_path && !o.result_path && !name_result(&o))
		return usage("name the whole result with -o: %s does not end with .partial", o.resume_path);
	rc = o.tolerances_path ? tolerances_read(&tolerances, o.tolerances_path, &d) : 0;
	if (rc) {
		fputs("cutrace replay: --tolerances: ", stderr);
		diag_print(&d, stderr);
		return rc == CUTRACE_EINVAL ? REPLAY_USAGE : REPLAY_COULD_NOT;
	}
	o.tolerances = o.tolerances_path ? &tolerances : NULL;
	rc = replay_run(&o);
	tolerances_free(&tolerances);
	free(o.resumed_path);
	return rc;
}
