/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGS 32

static pid_t started; /* the last one of start_record */

static pid_t start(char *const argv[], int out, int err)
{
	pid_t pid = fork();

	if (pid == 0) {
		dup2(out, 1);
		dup2(err, 2);
		setenv("EMPTY_DRIVER_PATH", EMPTY_DRIVER, 1);
		execv(argv[0], argv);
		_exit(124);
	}
	assert_true(pid > 0);
	return pid;
}

static bool take(int fd, char *buf, size_t *used, size_t max)
{
	ssize_t n = read(fd, buf + *used, max - 1 - *used);

	if (n <= 0)
		return false;
	*used += (size_t)n;
	return true;
}

void run(struct outcome *o, char *const argv[])
{
	int out[2], err[2];
	size_t nout = 0, nerr = 0;
	struct rusage usage = {0};
	struct pollfd p[2];
	pid_t pid;

	memset(o, 0, sizeof(*o));
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(err, O_CLOEXEC), 0);
	pid = start(argv, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	p[0] = (struct pollfd){out[0], POLLIN, 0};
	p[1] = (struct pollfd){err[0], POLLIN, 0};
	while (p[0].fd >= 0 || p[1].fd >= 0) {
		poll(p, 2, -1);
		if (p[0].revents && !take(out[0], o->out, &nout, sizeof(o->out)))
			p[0].fd = -1;
		if (p[1].revents && !take(err[0], o->err, &nerr, sizeof(o->err)))
			p[1].fd = -1;
	}
	wait4(pid, &o->status, 0, &usage);
	o->max_rss_kb = usage.ru_maxrss;
	close(out[0]);
	close(err[0]);
}

static void command(char **argv, const char *trace, const char *option, const char *app, va_list ap)
{
	char *driver = getenv("CUTRACE_TEST_DRIVER");
	int n = 0;

	argv[n++] = (char *)CUTRACE_BIN;
	argv[n++] = (char *)"record";
	argv[n++] = (char *)"-o";
	argv[n++] = (char *)trace;
	argv[n++] = (char *)"--driver";
	argv[n++] = driver ? driver : (char *)EMPTY_DRIVER;
	if (option)
		argv[n++] = (char *)option;
	argv[n++] = (char *)"--";
	argv[n++] = (char *)app;
	while (n < MAX_ARGS && (argv[n] = va_arg(ap, char *)))
		n++;
	unlink(trace);
}

void record(struct outcome *o, const char *trace, const char *option, const char *app, ...)
{
	char *argv[MAX_ARGS + 1];
	va_list ap;

	va_start(ap, app);
	command(argv, trace, option, app, ap);
	va_end(ap);
	run(o, argv);
	if (strstr(o->err, "error"))
		print_message("%s", o->err);
}

pid_t start_record(const char *trace, const char *app, ...)
{
	char *argv[MAX_ARGS + 1];
	va_list ap;

	va_start(ap, app);
	command(argv, trace, "-q", app, ap);
	va_end(ap);
	return started = start(argv, 1, 2);
}

int end_started(void **state)
{
	static const char *const names[] = {"interpose_app", "interpose_busy", "cutrace-collect"};
	pid_t child;

	(void)state;
	if (started <= 0 || waitpid(started, NULL, WNOHANG) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		while ((child = child_named(started, names[i])) > 0 && kill(child, SIGKILL) == 0)
			usleep(10000);
	kill(started, SIGKILL);
	waitpid(started, NULL, 0);
	return 0;
}

static bool is_child(const char *pid, pid_t parent, const char *name)
{
	char path[300], text[512], *p;
	int fd, ppid = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	p = strrchr(text, ')');
	if (!p || sscanf(p + 1, " %*c %d", &ppid) != 1 || ppid != parent)
		return false;
	*p = '\0';
	p = strchr(text, '(');
	return p && !strncmp(p + 1, name, 15);
}

pid_t child_named(pid_t parent, const char *name)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t found = 0;

	while (d && !found && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && is_child(e->d_name, parent, name))
			found = atoi(e->d_name);
	if (d)
		closedir(d);
	return found;
}

struct trace *open_trace(const char *path)
{
	struct trace *t = NULL;
	struct diag d = DIAG_INIT;

	if (trace_open(&t, path, &d) != 0)
		fail_msg("%s: %s %s", d.where, d.what, d.hint);
	return t;
}

static sqlite3_stmt *prepare(struct trace *t, const char *fmt, va_list ap)
{
	char sql[2048];
	sqlite3_stmt *s = NULL;

	vsnprintf(sql, sizeof(sql), fmt, ap);
	if (sqlite3_prepare_v2(trace_db(t), sql, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(trace_db(t)));
	return s;
}

int64_t query(struct trace *t, const char *sql, ...)
{
	va_list ap;
	sqlite3_stmt *s;
	int64_t n = INT64_MIN;

	va_start(ap, sql);
	s = prepare(t, sql, ap);
	va_end(ap);
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL)
		n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return n;
}

const char *query_text(struct trace *t, const char *sql, ...)
{
	static char buf[4096];
	va_list ap;
	sqlite3_stmt *s;

	buf[0] = '\0';
	va_start(ap, sql);
	s = prepare(t, sql, ap);
	va_end(ap);
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_text(s, 0))
		snprintf(buf, sizeof(buf), "%s", (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return buf;
}
