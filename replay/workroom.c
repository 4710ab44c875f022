/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/workroom.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_COULD_NOT 125

struct workroom_path {
	struct workroom_path *next;
	char path[];
};

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP};
enum { NPASSED = sizeof(passed_on) / sizeof(passed_on[0]) };

static struct sigaction before[NPASSED];
static volatile sig_atomic_t came, group; /* group: of the child of the moment */
static sigset_t mask_before;

static void pass_on(int sig)
{
	came = sig;
	if (group > 0)
		kill(-(pid_t)group, sig);
}

bool workroom_interrupted(void)
{
	return came != 0;
}

/* With the signals that end the command held back, so that none comes between the folder and who removes it. */
static bool make_folder(struct workroom *w)
{
	struct sigaction a = {.sa_handler = pass_on};
	sigset_t held, old;
	bool made;

	sigemptyset(&a.sa_mask);
	sigemptyset(&held);
	for (unsigned i = 0; i < NPASSED; i++)
		sigaddset(&held, passed_on[i]);
	sigprocmask(SIG_BLOCK, &held, &old);
	made = mkdtemp(w->folder) != NULL;
	came = group = 0;
	for (unsigned i = 0; i < NPASSED && made; i++) {
		sigaction(passed_on[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN) /* nohup */
			sigaction(passed_on[i], &a, NULL);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return made;
}

int workroom_open(struct workroom *w, struct diag *d)
{
	const char *tmp = getenv("TMPDIR");
	sigset_t child;

	w->paths = calloc(1, sizeof(*w->paths));
	if (!w->paths)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	snprintf(w->folder, sizeof(w->folder), "%s/cutrace-work-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!make_folder(w)) {
		diag_set(d, CUTRACE_EIO, w->folder, "no temporary folder can be made: %s", strerror(errno));
		diag_hint(d, "set TMPDIR to a folder that may be written");
		w->folder[0] = '\0';
		free(w->paths);
		return CUTRACE_EIO;
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &mask_before);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	remove(path);
	return 0;
}

void workroom_remove_folder(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void workroom_close(struct workroom *w)
{
	if (!w->folder[0])
		return;
	workroom_remove_folder(w->folder);
	while (*w->paths) {
		struct workroom_path *p = *w->paths;

		*w->paths = p->next;
		free(p);
	}
	free(w->paths);
	w->folder[0] = '\0';
	for (unsigned i = 0; i < NPASSED; i++)
		sigaction(passed_on[i], &before[i], NULL);
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
	if (came) {
		fflush(NULL);
		raise(came);
	}
}

const char *workroom_path(const struct workroom *w, const char *name)
{
	size_t n = strlen(w->folder), bytes = n + strlen(name) + 2;
	struct workroom_path *p;

	for (p = *w->paths; p; p = p->next)
		if (!strcmp(p->path + n + 1, name))
			return p->path;
	p = malloc(sizeof(*p) + bytes);
	if (!p)
		return ""; /* no file has that name: who opens it says so */
	snprintf(p->path, bytes, "%s/%s", w->folder, name);
	p->next = *w->paths;
	*w->paths = p;
	return p->path;
}

/* ---- children --------------------------------------------------------------------------- */

static void divert(const struct workroom *w, int fd, const char *name)
{
	int to = name ? open(workroom_path(w, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (to >= 0)
		dup2(to, fd);
}

/* In the child. */
static void prepare(const struct workroom *w, const char *out, const char *err)
{
	setpgid(0, 0);
	for (unsigned i = 0; i < NPASSED; i++)
		sigaction(passed_on[i], &before[i], NULL);
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
	setenv("TMPDIR", w->folder, 1);
	divert(w, STDOUT_FILENO, out);
	divert(w, STDERR_FILENO, err);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* False: it took too long, and was ended. SIGCHLD is blocked, so it wakes sigtimedwait whenever it comes. */
static bool wait_for(pid_t pid, double limit_s, int *status)
{
	double end = now_s() + limit_s;
	bool in_time = true;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (waitpid(pid, status, WNOHANG) == 0) {
		double left = limit_s > 0 ? end - now_s() : 3600;
		struct timespec t = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};

		if (left > 0) {
			sigtimedwait(&child, NULL, &t);
			continue;
		}
		kill(-pid, SIGKILL);
		in_time = false;
		end += 3600;
	}
	return in_time;
}

int workroom_run(const struct workroom *w, int (*fn)(void *ctx), void *ctx, const char *out, const char *err,
		 double limit_s)
{
	int status = 0;
	bool in_time;
	pid_t pid;

	if (came)
		return WORKROOM_SIGNAL;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		prepare(w, out, err);
		status = fn(ctx);
		fflush(NULL);
		_exit(status);
	}
	if (pid < 0)
		return WORKROOM_SIGNAL;
	setpgid(pid, pid);
	group = pid;
	if (came) /* between the question and the child */
		kill(-pid, came);
	in_time = wait_for(pid, limit_s, &status);
	group = 0;
	kill(-pid, SIGKILL); /* what it left: none of it is wanted any more */
	if (!in_time)
		return WORKROOM_TOO_LONG;
	return WIFEXITED(status) && !came ? WEXITSTATUS(status) : WORKROOM_SIGNAL;
}

static int execute(void *ctx)
{
	static char exe[4096];
	const char *const *args = ctx;
	const char *argv[60] = {exe};
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct diag d = DIAG_INIT;

	exe[n > 0 ? n : 0] = '\0';
	for (unsigned i = 0; args[i] && i < 58; i++)
		argv[i + 1] = args[i];
	execv(exe, (char **)(uintptr_t)argv);
	diag_set(&d, CUTRACE_EIO, exe, "can't be executed: %s", strerror(errno));
	diag_print(&d, stderr);
	return EXIT_COULD_NOT;
}

int workroom_cutrace(const struct workroom *w, const char *const *args, const char *out, const char *err,
		     double limit_s)
{
	return workroom_run(w, execute, (void *)(uintptr_t)args, out, err, limit_s);
}

const char *workroom_reason(const struct workroom *w, const char *err)
{
	static char line[1024];
	FILE *f = fopen(workroom_path(w, err), "r");
	char *at, *found = NULL;

	while (f && !found && fgets(line, sizeof(line), f)) {
		at = strstr(line, "error: ");
		if (!at && !(at = strstr(line, "could not verify: ")))
			continue;
		found = strchr(at, ':') + 2;
		found[strcspn(found, "\n")] = '\0';
	}
	if (f)
		fclose(f);
	return found ? found : "";
}

/* By somebody else, who holds the lock on its log. */
static bool is_being_written(const char *path)
{
	char name[4200];
	bool is;
	int fd;

	snprintf(name, sizeof(name), "%s-payload", path);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	is = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return is;
}

void workroom_remove_trace(const char *path)
{
	static const char *const beside[] = {"", "-wal", "-shm", "-payload", "-journal"};
	char name[4200];

	if (is_being_written(path))
		return;
	for (unsigned i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", path, beside[i]);
		unlink(name);
	}
}
