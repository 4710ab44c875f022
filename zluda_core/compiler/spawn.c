/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zluda_core/compiler/wire.h"

extern char **environ;

enum { STACK_BYTES = 256 << 10, HIGH_FD = 400, MAX_ENV = 32 };

struct start {
	const char *compiler;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	char *argv[3], *env[MAX_ENV + 1];
	pid_t pid;
	int error; /* of posix_spawn */
};

/* What a worker may need of the program's environment; above all not LD_PRELOAD and LD_AUDIT. */
static void choose_environment(char **env)
{
	static const char *const names[] = {"PATH=",
					    "HOME=",
					    "TMPDIR=",
					    "XDG_CACHE_HOME=",
					    "LD_LIBRARY_PATH=",
					    "CUTRACE_CACHE=",
					    "CUTRACE_CACHE_SIZE=",
					    "ASAN_OPTIONS=",
					    "UBSAN_OPTIONS=",
					    "TSAN_OPTIONS="};
	unsigned n = 0;

	for (char **e = environ; e && *e && n < MAX_ENV; e++)
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (!strncmp(*e, names[k], strlen(names[k]))) {
				env[n++] = *e;
				break;
			}
	env[n] = NULL;
}

static int describe_files(posix_spawn_file_actions_t *files, int socket)
{
	int e = posix_spawn_file_actions_init(files);

	/* The socket first: it may be one of 0 to 2, where a program closed them. */
	if (!e)
		e = posix_spawn_file_actions_adddup2(files, socket, WIRE_FD);
	for (int fd = 0; fd < 3 && !e; fd++)
		e = posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_RDWR, 0);
	return e;
}

static int describe_signals(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int e = posix_spawnattr_init(attr);

	sigemptyset(&none);
	sigfillset(&all);
	if (!e)
		e = posix_spawnattr_setsigmask(attr, &none);
	if (!e)
		e = posix_spawnattr_setsigdefault(attr, &all);
	if (!e)
		e = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
							   POSIX_SPAWN_SETSID);
	return e;
}

/* In a process that shares the program's memory, while the calling thread sleeps: starts the worker and ends, so that
 * the worker is no child of the program. All else is done before, for this stack is none that the sanitizers know. */
__attribute__((no_sanitize_address)) static int start_worker(void *ctx)
{
	struct start *s = ctx;

	s->error = posix_spawn(&s->pid, s->compiler, &s->files, &s->attr, s->argv, s->env);
	return 0; /* ends the process, without what exit() does */
}

/* Without an exit signal a child is one that wait() ignores (wait(2), __WCLONE); exec would give it SIGCHLD again, hence
 * the process in between. */
static int run_between(struct start *s)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	sigset_t all, before;
	int status, e = 0;

	if (stack == MAP_FAILED)
		return errno;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pid_t pid = clone(start_worker, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, s);
	if (pid < 0)
		e = errno;
	while (pid > 0 && waitpid(pid, &status, __WCLONE) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	munmap(stack, STACK_BYTES);
	return e ? e : s->error;
}

/* Out of the way of programs that count on low numbers. */
static int move_up(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* The worker's end is `socket`. 0 or an error number. */
static int start(const char *compiler, int socket)
{
	struct start s = {.compiler = compiler,
			  .argv = {(char *)(uintptr_t)compiler, (char *)(uintptr_t) "--worker", NULL}};
	int e = describe_files(&s.files, socket);

	if (e)
		return e;
	e = describe_signals(&s.attr);
	if (!e) {
		choose_environment(s.env);
		e = run_between(&s);
		posix_spawnattr_destroy(&s.attr);
	}
	posix_spawn_file_actions_destroy(&s.files);
	return e;
}

int spawn_worker(const char *compiler, int *fd, struct diag *d)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return diag_set(d, CUTRACE_EIO, compiler, "no socket for a compile worker: %s",
				strerror(errno));
	int theirs = move_up(pair[1]);
	int e = start(compiler, theirs);
	close(theirs);
	if (!e) {
		*fd = move_up(pair[0]);
		return 0;
	}
	close(pair[0]);
	diag_set(d, CUTRACE_EIO, compiler, "can't start the compile worker: %s", strerror(e));
	diag_hint(d, "build or install all of cutrace, LLVM 19 included");
	return CUTRACE_EIO;
}
