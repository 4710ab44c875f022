/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/rerecord.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/replay.h"

static char exe[4096];

static const char *own_path(void)
{
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	return exe;
}

int rerecord_cutrace(const char *const *args, const char *command)
{
	const char *argv[40] = {own_path()};
	int status = 0;
	pid_t pid;

	for (unsigned i = 0; args[i] && i < 38; i++)
		argv[i + 1] = args[i];
	fflush(NULL);
	pid = fork();
	if (!pid) {
		execv(exe, (char **)(uintptr_t)argv);
		fprintf(stderr, "cutrace %s: error: %s can't be executed: %s\n", command, exe,
			strerror(errno));
		_exit(REPLAY_COULD_NOT);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "cutrace %s: error: %s\n", command,
		pid < 0 ? strerror(errno) : "cutrace itself was ended by a signal");
	return REPLAY_COULD_NOT;
}

int rerecord_check(const struct rerecord *r, const char *command)
{
	if (access(r->input, R_OK)) {
		fprintf(stderr, "cutrace %s: %s: error: %s\n", command, r->input, strerror(errno));
		return REPLAY_COULD_NOT;
	}
	if (!access(r->output, F_OK)) {
		fprintf(stderr, "cutrace %s: %s: error: this exists; a trace is not overwritten\n", command,
			r->output);
		return REPLAY_COULD_NOT;
	}
	return 0;
}

int rerecord_run(const struct rerecord *r, const char *command)
{
	const char *target = r->driver ? "--driver" : "--device";
	const char *which = r->driver ? r->driver : r->device ? r->device : "interp";
	char check[1100];
	const char *args[20] = {"record", "-q",       check,    "-o",   r->output, target, which,
				"--",     own_path(), "replay", target, which,     "-q"};
	unsigned n = 13;

	snprintf(check, sizeof(check), "--check=contents%s%s", r->check ? "," : "", r->check ? r->check : "");
	if (r->launches) {
		args[n++] = "--no-compare";
		args[n++] = "--launches";
		args[n++] = r->launches;
	}
	args[n++] = "--";
	args[n++] = r->input;
	return rerecord_cutrace(args, command);
}
