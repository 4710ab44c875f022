/* SPDX-License-Identifier: Apache-2.0
 *
 * Linking: ld.lld in a process of its own; 30 to 60 ms, and nothing of its C++ here.
 */
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "zluda_core/compiler/compiler.h"

extern char **environ;

static const char *const linkers[] = {"ld.lld-19", "ld.lld"};

/* The first linker that can be started. */
static int start(const char *object, const char *out, pid_t *pid)
{
	int error = ENOENT;

	for (size_t k = 0; k < sizeof(linkers) / sizeof(linkers[0]) && error; k++) {
		const char *argv[] = {linkers[k], "-shared", "--no-undefined", "-o", out, object, NULL};
		error = posix_spawnp(pid, linkers[k], NULL, NULL, (char **)(void *)argv, environ);
	}
	return error;
}

int compiler_link(const char *object_path, const char *code_object_path, struct diag *d)
{
	pid_t pid;
	int status, error = start(object_path, code_object_path, &pid);

	if (error) {
		diag_set(d, CUTRACE_ENOENT, object_path, "can't start the linker ld.lld-19: %s",
			 strerror(error));
		diag_hint(d, "install the package lld-19");
		return CUTRACE_ENOENT;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return diag_set(d, CUTRACE_EIO, object_path, "waiting for ld.lld: %s",
					strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return diag_set(d, CUTRACE_EFORMAT, object_path, "ld.lld failed with status %d", status);
	return 0;
}
