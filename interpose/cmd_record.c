/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace record: starts the collector, then the program, waits for both, and ends as the program ended. It
 * adopts the program's orphans (PR_SET_CHILD_SUBREAPER), so it knows whether somebody may still call the
 * driver.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/collector/collector.h"
#include "interpose/record.h"
#include "interpose/record_options.h"
#include "interpose/target.h"

enum { EXIT_USAGE = 2, EXIT_COULD_NOT = 125 };

struct recording {
	struct target target;
	char output[PATH_MAX];
	char dir[PATH_MAX], socket[PATH_MAX + 16];
	char command[4096];
	const char *device, *driver, *out_option;
	uint32_t ring_bytes;
	bool quiet, no_wait, ignores_children, made_trace;
	uint64_t app_start; /* clock ticks since boot */
	int listen_fd, control_fd;
	pid_t collector, app;
	struct record_options record;
	const char *check_text;   /* words of --check */
	sigset_t signals, before; /* what is waited for; the mask the program gets */
};

static void usage(FILE *out)
{
	fputs("usage: cutrace record [OPTIONS] [--] APP [ARG]...\n\n"
	      "Runs APP and records what it asks of its GPU, its children included, into one file.\n\n"
	      "  -o, --output FILE  the trace (default: APP.cutrace; an existing one is kept, the new one\n"
	      "                     is APP-2.cutrace)\n"
	      "  --device D         run on a device of our own driver: hip[:N], interp[:OPTIONS],\n"
	      "                     amdemu:gfxNNNN[,OPTIONS] (cutrace run --help tells about them)\n"
	      "  --driver PATH      run on this libcuda.so.1 (default: the system's; without one, our own)\n"
	      "  --check[=WORDS]    after every launch, wait and hash what it may have written, so that a\n"
	      "                     replay can name the first wrong kernel (slow). WORDS, separated by\n"
	      "                     commas: contents keeps what was written, too, so that launches can be\n"
	      "                     replayed each on its own; opaque does so for kernels without PTX only;\n"
	      "                     every:N, launch:A-B, kernel:GLOB choose launches; device and host say where\n"
	      "                     hashes are computed (default: on the device, but for our own drivers)\n"
	      "  --keyframe WHEN    every:N: before each N-th launch of a process keep all its device memory, so\n"
	      "                     that a replay can begin there; request: when this process gets SIGUSR2,\n"
	      "                     which with --keyframe isn't passed on, at the next launch\n"
	      "  --launches WHICH   A-B (numbers from 1, graphs count as one): record these launches only, and\n"
	      "                     copies between them; begins with a keyframe, keeps what they write unless\n"
	      "                     --check says otherwise, and leaves the rest out; request: from a SIGUSR2 to\n"
	      "                     this process until the next one\n"
	      "  --payloads WHICH   all, or none: copies are recorded without their bytes (cheaper; such a\n"
	      "                     trace can be looked at and not replayed)\n"
	      "  --no-opaque        don't keep what kernels without PTX write; otherwise each of their\n"
	      "                     launches is waited for, and a replay puts there what it wrote\n"
	      "  --reference ptx    hide machine code from the driver, so that it runs the PTX that a\n"
	      "                     replay executes; code without PTX is left, and the trace says so\n"
	      "  --as sm_NN         tell the program that its devices have this compute capability\n"
	      "  --ring-kb N        size of each thread's ring, a power of two (default 2048)\n"
	      "  --no-wait          don't wait for children of APP that have not called the driver when\n"
	      "                     APP ends\n"
	      "  -q, --quiet        no summary\n"
	      "  -h, --help         this text\n\n"
	      "Exits as APP does: with its status, or by its signal, when APP's last child has ended;\n"
	      "what APP leaves running is told after three seconds, and ^C ends the recording without it.\n"
	      "2: wrong usage (an unknown option, device or option of a device); 125: the recording could\n"
	      "not be started; 126 and 127: APP can't be executed. The trace is complete up to the last\n"
	      "call, however APP ends.\n",
	      out);
}

static int fail(const struct diag *d, int status)
{
	fputs("cutrace record: ", stderr);
	diag_print(d, stderr);
	return status;
}

/* ---- before the start ------------------------------------------------------------ */

static int parse_ring(const char *text, uint32_t *bytes)
{
	char *end;
	unsigned long kb = strtoul(text, &end, 10);

	if (*end || kb < 64 || kb > (1u << 20) || (kb & (kb - 1)))
		return CUTRACE_EINVAL;
	*bytes = (uint32_t)(kb * 1024);
	return 0;
}

static int keep(struct recording *r, int option, const char *text, struct diag *d)
{
	switch (option) {
	case 'p': return record_options_payloads(&r->record, text, d);
	case 'k': return record_options_keyframe(&r->record, text, d);
	case 'l': return record_options_launches(&r->record, text, d);
	case 'R': return record_options_reference(&r->record, text, d);
	case 'a': return record_options_as(&r->record, text, d);
	default: r->check_text = text; return check_options_parse(&r->record.check, text, d);
	}
}

/* Returns -1 to go on, else an exit status. */
static int parse(struct recording *r, int argc, char **argv)
{
	static const struct option longs[] = {
		{"output", required_argument, NULL, 'o'},
		{"device", required_argument, NULL, 'd'},
		{"driver", required_argument, NULL, 'D'},
		{"check", optional_argument, NULL, 'c'},
		{"payloads", required_argument, NULL, 'p'},
		{"keyframe", required_argument, NULL, 'k'},
		{"no-opaque", no_argument, NULL, 'O'},
		{"reference", required_argument, NULL, 'R'},
		{"launches", required_argument, NULL, 'l'},
		{"as", required_argument, NULL, 'a'},
		{"ring-kb", required_argument, NULL, 'r'},
		{"quiet", no_argument, NULL, 'q'},
		{"no-wait", no_argument, NULL, 'w'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct diag d = DIAG_INIT;
	int option;

	optind = 1;
	while ((option = getopt_long(argc, argv, "+o:qh", longs, NULL)) != -1) {
		switch (option) {
		case 'o':
			if (!*optarg) {
				fprintf(stderr, "cutrace record: -o needs a file name\n");
				return EXIT_USAGE;
			}
			r->out_option = optarg;
			break;
		case 'd': r->device = optarg; break;
		case 'D': r->driver = optarg; break;
		case 'c':
		case 'p':
		case 'R':
		case 'k':
		case 'l':
		case 'a':
			if (keep(r, option, optarg, &d))
				return fail(&d, EXIT_USAGE);
			break;
		case 'O': r->record.no_opaque = true; break;
		case 'q': r->quiet = true; break;
		case 'w': r->no_wait = true; break;
		case 'r':
			if (parse_ring(optarg, &r->ring_bytes) == 0)
				break;
			fprintf(stderr,
				"cutrace record: --ring-kb: '%s' is not a power of two from 64 to 1048576\n",
				optarg);
			return EXIT_USAGE;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return EXIT_USAGE;
		}
	}
	if (r->record.ranged && !r->record.check.on)
		keep(r, 'c', "contents", &d);
	if (optind < argc)
		return -1;
	fprintf(stderr, "cutrace record: no program to run: it is named behind the options\n");
	usage(stderr);
	return EXIT_USAGE;
}

static void join_command(struct recording *r, char **argv)
{
	size_t used = 0;

	for (; *argv && used < sizeof(r->command); argv++)
		used += (size_t)snprintf(r->command + used, sizeof(r->command) - used, "%s%s",
					 used ? " " : "", *argv);
}

static void name_output(struct recording *r, const char *program)
{
	char copy[PATH_MAX];

	if (r->out_option) {
		snprintf(r->output, sizeof(r->output), "%s", r->out_option);
		return;
	}
	snprintf(copy, sizeof(copy), "%s", program);
	snprintf(r->output, sizeof(r->output), "%s.cutrace", basename(copy));
	for (unsigned i = 2; access(r->output, F_OK) == 0; i++)
		snprintf(r->output, sizeof(r->output), "%s-%u.cutrace", basename(copy), i);
}

static int open_socket(struct recording *r, struct diag *d)
{
	const char *base[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	r->dir[0] = '\0';
	for (size_t i = 0; i < 3 && !r->dir[0]; i++) {
		/* A socket's path ends at 107 characters (unix(7)). */
		if (!base[i] || !*base[i] || strlen(base[i]) > 80)
			continue;
		snprintf(r->dir, sizeof(r->dir), "%s/cutrace-XXXXXX", base[i]);
		if (!mkdtemp(r->dir))
			r->dir[0] = '\0';
	}
	if (!r->dir[0])
		return diag_set(d, CUTRACE_EIO, "/tmp", "no directory for a socket: %s", strerror(errno));
	snprintf(r->socket, sizeof(r->socket), "%s/socket", r->dir);
	snprintf(a.sun_path, sizeof(a.sun_path), "%.100s", r->socket);
	r->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (r->listen_fd < 0 || bind(r->listen_fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    listen(r->listen_fd, 128) != 0)
		return diag_set(d, CUTRACE_EIO, r->socket, "no socket: %s", strerror(errno));
	return 0;
}

static void remove_socket(const struct recording *r)
{
	if (!r->dir[0])
		return;
	unlink(r->socket);
	rmdir(r->dir);
}

/* ---- the collector ------------------------------------------------------------------ */

static void collector_child(const struct recording *r, int control_fd)
{
	char options[1100];
	struct collector_options o = {.listen_fd = r->listen_fd,
				      .control_fd = control_fd,
				      .output = r->output,
				      .ring_bytes = r->ring_bytes,
				      .record = r->record,
				      .command = r->command,
				      .driver_path = r->target.driver,
				      .options_text = options,
				      .device_option = r->target.device[0] ? r->target.device : NULL};
	struct diag d = DIAG_INIT;

	record_options_text(&r->record, r->check_text, options, sizeof(options));
	collector_ignore_signals(); /* also those that wait */
	sigprocmask(SIG_SETMASK, &r->before, NULL);
	_exit(collector_run(&o, &d) ? 1 : 0);
}

/* Waits for its next message. False when it is gone. */
static bool hear(const struct recording *r, struct collector_report *report)
{
	ssize_t n;

	do
		n = recv(r->control_fd, report, sizeof(*report), 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*report);
}

static void tell(const struct recording *r, enum collector_command command, pid_t pid, int status)
{
	struct collector_control m = {.command = command, .pid = pid, .status = status};

	send(r->control_fd, &m, sizeof(m), MSG_NOSIGNAL);
}

static int start_collector(struct recording *r, struct diag *d)
{
	struct collector_report report;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return diag_set(d, CUTRACE_EIO, "", "no socket pair: %s", strerror(errno));
	r->control_fd = ends[0];
	r->collector = fork();
	if (r->collector < 0)
		return diag_set(d, CUTRACE_EIO, "", "the collector can't be started: %s", strerror(errno));
	if (r->collector == 0) {
		close(ends[0]);
		collector_child(r, ends[1]);
	}
	close(ends[1]);
	close(r->listen_fd);
	r->made_trace = hear(r, &report) && report.ready;
	if (r->made_trace)
		return 0;
	if (report.error.code)
		*d = report.error;
	else
		diag_set(d, CUTRACE_EIO, r->output, "the collector ended before it began");
	return d->code;
}

/* ---- the program ---------------------------------------------------------------------- */

static void block_signals(struct recording *r)
{
	static const int waited[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,   SIGQUIT,
				     SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGALRM};

	sigemptyset(&r->signals);
	for (size_t i = 0; i < sizeof(waited) / sizeof(waited[0]); i++)
		sigaddset(&r->signals, waited[i]);
	sigprocmask(SIG_BLOCK, &r->signals, &r->before);
	/* Whoever starts us may ignore it: children would vanish without a status (sigaction(2)). */
	r->ignores_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
}

/* Of /proc/PID/stat, behind the name in parentheses: field 4 is the parent, field 22 the time of start
 * (proc(5)). `text` becomes "PID (NAME)". */
static bool read_stat(const char *pid, char *text, size_t n, int *parent, uint64_t *start)
{
	char path[300], *end;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : read(fd, text, n - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %d", parent) != 1)
		return false;
	*end++ = '\0';
	for (int field = 3; field < 22 && end; field++)
		end = strchr(end + 1, ' ');
	*start = end ? strtoull(end, NULL, 10) : 0;
	strcat(text, ")");
	return true;
}

static int start_app(struct recording *r, char **argv, struct diag *d, int *status)
{
	char pid[16], stat_text[512];
	int ends[2], error = 0, parent;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return diag_set(d, CUTRACE_EIO, "", "no pipe: %s", strerror(errno));
	r->app = fork();
	if (r->app < 0)
		return diag_set(d, CUTRACE_EIO, argv[0], "can't be started: %s", strerror(errno));
	if (r->app == 0) {
		char recorder[PATH_MAX];
		struct diag mine = DIAG_INIT;

		snprintf(recorder, sizeof(recorder), "%s/interpose/libcuda.so.1", target_libdir(&mine));
		if (target_environment(&r->target, recorder, r->socket, &mine) == 0) {
			if (r->ignores_children)
				signal(SIGCHLD, SIG_IGN);
			sigprocmask(SIG_SETMASK, &r->before, NULL);
			execvp(argv[0], argv);
		}
		error = errno ? errno : EINVAL;
		if (write(ends[1], &error, sizeof(error)) < 0)
			_exit(126);
		_exit(127);
	}
	close(ends[1]);
	snprintf(pid, sizeof(pid), "%d", (int)r->app);
	read_stat(pid, stat_text, sizeof(stat_text), &parent, &r->app_start);
	if (read(ends[0], &error, sizeof(error)) == sizeof(error)) {
		*status = error == ENOENT ? 127 : 126;
		diag_set(d, CUTRACE_EIO, argv[0], "can't be executed: %s", strerror(error));
		if (error == ENOENT)
			diag_hint(d, "the file is there: the loader that it was linked for may not be "
				     "(`readelf -l` names it)");
	}
	close(ends[0]);
	return d->code;
}

/* The terminal sends its signals to the program as well; only what somebody sent to cutrace itself is passed
 * on. */
static void forward(const struct recording *r, const siginfo_t *info)
{
	if (info->si_signo == SIGUSR2 &&
	    (r->record.keyframes || (r->record.ranged && !r->record.range_first))) {
		tell(r, COLLECTOR_KEYFRAME, 0, 0);
		return;
	}
	if (info->si_code <= 0 || info->si_signo == SIGCONT)
		kill(r->app, info->si_signo);
}

/* Everybody who has ended: the program, its orphans, or even the collector. True when the program has. */
static bool reap(struct recording *r, int *app_status)
{
	bool ended = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (WIFSTOPPED(status)) {
			/* ^Z: whoever started cutrace is to see it stopped. */
			if (pid == r->app)
				raise(SIGSTOP);
		} else if (pid == r->collector) {
			r->collector = 0;
		} else {
			tell(r, COLLECTOR_EXITED, pid, status);
			if (pid == r->app) {
				*app_status = status;
				ended = true;
			}
		}
	}
	return ended;
}

static int wait_for_app(struct recording *r)
{
	int status = 0;
	siginfo_t info;

	for (;;) {
		int signo = sigwaitinfo(&r->signals, &info);

		if (signo == SIGCHLD || signo < 0) {
			if (reap(r, &status))
				return status;
		} else {
			forward(r, &info);
		}
	}
}

/* ---- the end ------------------------------------------------------------------------------ */

/* Whoever was our child before the program began is none of its own. */
static bool is_orphan(const struct recording *r, const char *pid, char *text, size_t n)
{
	uint64_t start;
	int parent;

	return pid[0] >= '1' && pid[0] <= '9' && atoi(pid) != r->collector &&
	       read_stat(pid, text, n, &parent, &start) && parent == getpid() && start >= r->app_start;
}

/* A child that the program has left to us: "PID (NAME)". False when there is none. */
static bool find_orphan(const struct recording *r, char *text, size_t n)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d)))
		found = is_orphan(r, e->d_name, text, n);
	if (d)
		closedir(d);
	return found;
}

static void say_what_is_awaited(const struct recording *r, const char *orphan)
{
	if (r->quiet)
		return;
	fputs("cutrace record: the program has ended; waiting for ", stderr);
	if (orphan)
		fprintf(stderr, "what it left running, such as process %s", orphan);
	else
		fputs("the trace to be packed", stderr);
	fputs(" (^C ends the recording now)\n", stderr);
}

/* Other processes of the recording may outlive the program, and have yet to call the driver; a signal ends
 * the wait. */
static bool wait_for_collector(struct recording *r, struct collector_report *report)
{
	struct pollfd p = {.fd = r->control_fd, .events = POLLIN};
	const struct timespec none = {0, 0};
	bool finishing = false, said = false;
	char orphan[512];

	for (int waited = 0; poll(&p, 1, waited ? 20 : 0) == 0; waited++) {
		int signo = sigtimedwait(&r->signals, NULL, &none), unused;

		if (signo == SIGINT || signo == SIGTERM || signo == SIGHUP || signo == SIGQUIT)
			tell(r, COLLECTOR_QUIT, 0, 0);
		reap(r, &unused);
		if (!finishing && (r->no_wait || !find_orphan(r, orphan, sizeof(orphan)))) {
			finishing = true;
			tell(r, r->no_wait ? COLLECTOR_FINISH : COLLECTOR_FINISH_NOW, 0, 0);
		}
		if (waited == 150 && !said) {
			said = true;
			say_what_is_awaited(r, finishing ? NULL : orphan);
		}
	}
	return hear(r, report);
}

static void human(char *buf, size_t n, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
	double x = (double)bytes;
	unsigned u = 0;

	for (; x >= 1000 && u < 4; u++)
		x /= 1000;
	snprintf(buf, n, u ? "%.1f %s" : "%.0f %s", x, units[u]);
}

static void summary(const struct recording *r, const struct collector_report *report)
{
	struct stat st;
	char size[32];

	human(size, sizeof(size), stat(r->output, &st) == 0 ? (uint64_t)st.st_size : 0);
	if (r->quiet)
		return;
	fprintf(stderr, "cutrace record: %s: %llu call%s, %s", r->output, (unsigned long long)report->calls,
		report->calls == 1 ? "" : "s", size);
	if (report->processes > 1)
		fprintf(stderr, ", %u processes", report->processes);
	if (r->target.chosen_by_us)
		fputs(" (there is no CUDA driver on this machine: ran on our own)", stderr);
	fputc('\n', stderr);
	if (report->refused)
		fprintf(stderr,
			"  warning: the recording is not complete, %u time%s a process or thread could not "
			"be recorded "
			"(`cutrace info` says why)\n",
			report->refused, report->refused == 1 ? "" : "s");
	else if (!report->processes)
		fputs("  hint: the program never called the CUDA driver\n", stderr);
}

/* Ends cutrace as the program ended, so that shells and scripts see no difference. */
static int end_like(int status)
{
	struct rlimit none = {0, 0};
	sigset_t set;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none); /* the core that matters is the program's */
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int finish(struct recording *r, int status)
{
	struct collector_report report = {0};

	if (!wait_for_collector(r, &report)) {
		fprintf(stderr,
			"cutrace record: %s: error: the collector died; the trace holds what it had "
			"written\n",
			r->output);
	} else {
		summary(r, &report);
		if (report.error.code) {
			fputs("cutrace record: the trace is incomplete: ", stderr);
			diag_print(&report.error, stderr);
		}
	}
	if (r->collector > 0)
		waitpid(r->collector, NULL, 0);
	remove_socket(r);
	return end_like(status);
}

/* Nothing ran: what the collector made is a trace of nothing. */
static int abandon(struct recording *r, const struct diag *d, int status)
{
	remove_socket(r);
	if (r->collector > 0) {
		close(r->control_fd);
		waitpid(r->collector, NULL, 0);
	}
	if (r->made_trace)
		unlink(r->output);
	return fail(d, status);
}

int cmd_record(int argc, char **argv)
{
	static struct recording r;
	struct diag d = DIAG_INIT, warning = DIAG_INIT;
	int status = parse(&r, argc, argv), rc;
	char **app = argv + optind;

	if (status >= 0)
		return status;
	rc = target_find(&r.target, r.device, r.driver, &d);
	if (rc)
		return fail(&d, rc == CUTRACE_EINVAL ? EXIT_USAGE : EXIT_COULD_NOT);
	if (target_check_program(app[0], &warning, &status, &d))
		return fail(&d, status);
	if (warning.code)
		fail(&warning, 0);
	join_command(&r, app);
	name_output(&r, app[0]);
	block_signals(&r);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	status = EXIT_COULD_NOT;
	if (open_socket(&r, &d) || start_collector(&r, &d) || start_app(&r, app, &d, &status))
		return abandon(&r, &d, status);
	return finish(&r, wait_for_app(&r));
}
