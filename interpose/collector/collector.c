/* SPDX-License-Identifier: Apache-2.0
 *
 * collector: the loop. In each round sockets are served first, then every ring is read to where it was
 * published, then what has settled is derived. Between rounds it sleeps as long as little is coming.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "interpose/collector/internal.h"

#define BUSY_NAP_NS 100000
#define IDLE_NAP_NS 1000000
#define IDLE_ROUNDS 200
#define QUIET_NS    50000000
#define FLIGHT_NS   100000000 /* calls in flight are told to the writer so often */

void collector_diag(struct collector *c, struct process *p, uint64_t call, const char *severity,
		    const char *source, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (c->w)
		trace_writer_diagnostic(c->w, session_now(c), p ? p->row.id : 0, call, severity, source,
					text);
}

static void cpu_name(char *buf, size_t n)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	buf[0] = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		snprintf(buf, n, "%s", colon + 2);
		buf[strcspn(buf, "\n")] = '\0';
		break;
	}
	if (f)
		fclose(f);
}

static void write_meta(struct collector *c)
{
	const struct collector_options *o = c->o;
	struct utsname u;
	char text[1024];

	if (!c->w)
		return;
	if (uname(&u) == 0) {
		snprintf(text, sizeof(text), "%s %s %s", u.sysname, u.release, u.machine);
		trace_writer_meta_text(c->w, "host_os", text);
	}
	cpu_name(text, sizeof(text));
	trace_writer_meta_text(c->w, "cpu", text);
	trace_writer_meta_text(c->w, "cutrace_version", CUTRACE_VERSION);
	if (o->command)
		trace_writer_meta_text(c->w, "command", o->command);
	if (o->driver_path)
		trace_writer_meta_text(c->w, "driver_path", o->driver_path);
	if (o->device_option)
		trace_writer_meta_text(c->w, "device_option", o->device_option);
	if (o->options_text)
		trace_writer_meta_text(c->w, "options", o->options_text);
	if (o->record.ranged)
		trace_writer_meta_int(c->w, "ranged", 1);
}

static int open_all(struct collector *c, struct diag *d)
{
	int rc;

	c->function_rows = calloc(api_nfuncs, sizeof(*c->function_rows));
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	c->last_process = &c->processes;
	if (!c->function_rows || c->epoll_fd < 0)
		return diag_set(d, CUTRACE_EIO, "", "the collector can't start: %s", strerror(errno));
	if (clients_watch(c, c->o->listen_fd, SOURCE_LISTEN, NULL) ||
	    clients_watch(c, c->o->control_fd, SOURCE_CONTROL, NULL))
		return diag_set(d, CUTRACE_EIO, "", "the collector can't wait for programs: %s",
				strerror(errno));
	derive_init();
	rc = session_make(c, d);
	/* Last, so that a recording that can't begin leaves no file, nor replaces one. */
	return !rc && c->o->output ? trace_writer_open(&c->w, c->o->output, d) : rc;
}

static void nap(long ns)
{
	struct timespec t = {0, ns};

	nanosleep(&t, NULL);
}

static void round_once(struct collector *c, unsigned *idle, int64_t *flights)
{
	uint64_t bytes;

	clients_poll(c);
	bytes = drain_all(c);
	events_round(c);
	if (session_now(c) - *flights > FLIGHT_NS) {
		drain_tell_flights(c);
		*flights = session_now(c);
	}
	if (c->w)
		trace_writer_tick(c->w);
	if (bytes) {
		*idle = 0;
		/* More than a few records: there is more by now. */
		if (bytes < 65536)
			nap(BUSY_NAP_NS);
	} else {
		++*idle;
		nap(*idle < IDLE_ROUNDS ? BUSY_NAP_NS : IDLE_NAP_NS);
	}
}

/* The parent has said so, everybody is gone, and for a while nobody new has come: a child may be on its way.
 */
static bool over(struct collector *c)
{
	int64_t now = session_now(c);

	if (!c->finishing || clients_alive(c)) {
		c->alone_since = now;
		return false;
	}
	return c->nobody_left || now - c->alone_since > QUIET_NS;
}

static void loop(struct collector *c)
{
	int64_t flights = 0;
	unsigned idle = 0;

	while (!c->quitting && !over(c))
		round_once(c, &idle, &flights);
	atomic_store(&c->session->collector_alive, 0);
	/* What came meanwhile, of processes that live on. */
	clients_poll(c);
	clients_hang_up(c);
	drain_all(c);
	drain_all(c);
	events_run(c, UINT64_MAX);
	clients_free(c);
}

static void report(struct collector *c, uint32_t ready, const struct diag *error)
{
	struct collector_report r = {.ready = ready,
				     .processes = c->nprocesses,
				     .refused = c->refused,
				     .calls = c->calls,
				     .payload_bytes = c->payload_bytes};

	if (error)
		r.error = *error;
	send(c->o->control_fd, &r, sizeof(r), MSG_NOSIGNAL);
}

static int close_all(struct collector *c, struct diag *d)
{
	int rc = 0;

	events_run(c, UINT64_MAX);
	if (c->w) {
		/* The first error is the one that matters; close would only stumble over it again. */
		struct diag first = DIAG_INIT, at_close = DIAG_INIT;
		int failed = trace_writer_error(c->w, &first);

		rc = trace_writer_close(c->w, &at_close);
		if (failed)
			*d = first;
		else if (rc)
			*d = at_close;
		rc = failed ? failed : rc;
	}
	images_free(c);
	while (c->rings) {
		struct ring *r = c->rings;

		c->rings = r->next;
		ring_free(r);
	}
	clients_close(c);
	free(c->heap);
	free(c->seen);
	free(c->function_rows);
	if (c->session)
		munmap(c->session, RING_DATA_OFFSET);
	return rc;
}

/* The terminal's ^C goes to the program; it ends the recording by ending. */
void collector_ignore_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGXFSZ};

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
}

/* Two descriptors for each process that is recorded at a time. */
static void allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int collector_run(const struct collector_options *o, struct diag *d)
{
	struct collector c = {.o = o, .epoll_fd = -1};
	struct diag own = DIAG_INIT;
	int rc, closing;

	d = d ? d : &own;
	collector_ignore_signals();
	allow_files();
	prctl(PR_SET_NAME, "cutrace-collect");
	rc = open_all(&c, d);
	if (rc) {
		report(&c, 0, d);
		return rc;
	}
	write_meta(&c);
	report(&c, 1, NULL);
	loop(&c);
	closing = close_all(&c, d);
	report(&c, 0, closing ? d : NULL);
	return closing;
}
