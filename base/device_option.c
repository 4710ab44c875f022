/* SPDX-License-Identifier: Apache-2.0 */
#include "base/device_option.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const devices[] = {"auto", "interp", "hip", "amdemu"};

const char *device_option_default(void)
{
	const char *given = getenv("CUTRACE_DEVICE");

	return given && *given ? given : "auto";
}

static int check_name(const char *option, struct diag *d)
{
	size_t n = strcspn(option, ":");
	char all[128] = "";

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		if (strlen(devices[i]) == n && !memcmp(devices[i], option, n))
			return 0;
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", devices[i]);
	}
	diag_set(d, CUTRACE_EINVAL, "--device", "this build has no device '%.*s'", (int)n, option);
	diag_hint(d, "devices: %s; --driver PATH names any other libcuda.so.1", all);
	return CUTRACE_EINVAL;
}

/* In the child: cuInit's result. What the driver says goes to `out`. */
static int initialise(const char *option, const char *driver, int out)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int (*init)(unsigned);
	void *handle;

	dup2(null, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	unsetenv("LD_AUDIT");
	unsetenv("CUDA_VISIBLE_DEVICES"); /* of none is no fault of the option */
	setenv("CUTRACE_DEVICE", option, 1);
	handle = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
	*(void **)&init = handle ? dlsym(handle, "cuInit") : NULL;
	return init ? init(0) : 0;
}

static size_t read_all(int fd, char *text, size_t size)
{
	size_t used = 0;
	ssize_t n;

	while (used < size - 1 &&
	       ((n = read(fd, text + used, size - 1 - used)) > 0 || (n < 0 && errno == EINTR)))
		used += n > 0 ? (size_t)n : 0;
	text[used] = '\0';
	return used;
}

enum { NO_DEVICE = 100, JIT_COMPILER_NOT_FOUND = 221 }; /* CUDA_ERROR_... */

/* The last line is why. What isn't installed is no wrong usage. */
static int refuse(const char *option, char *text, int status, struct diag *d)
{
	char *line;

	text[strlen(text) - 1] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (!strncmp(line, "cutrace: ", 9))
		line += 9;
	diag_set(d, status == NO_DEVICE || status == JIT_COMPILER_NOT_FOUND ? CUTRACE_ENOENT : CUTRACE_EINVAL,
		 "--device", "'%s': %s", option, line);
	return d->code;
}

int device_option_check(const char *option, const char *driver, struct diag *d)
{
	char text[480];
	int ends[2], status = 0, rc = check_name(option, d);
	pid_t pid;

	if (rc || !strcmp(option, "interp") || pipe2(ends, O_CLOEXEC) != 0)
		return rc;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(initialise(option, driver, ends[1]));
	close(ends[1]);
	read_all(ends[0], text, sizeof(text));
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !text[0])
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !strstr(text, "CUTRACE_DEVICE"))
		return 0;
	return refuse(option, text, WIFEXITED(status) ? WEXITSTATUS(status) : 1, d);
}
