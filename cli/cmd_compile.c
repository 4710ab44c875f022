/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace compile: a program of its own, cutrace-compile, because only it links LLVM, whose fatal errors end the
 * process. It lies where cutrace's libraries do.
 */
#include "cli/cmd_compile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_COULD_NOT = 125 };

int cmd_compile(int argc, char **argv)
{
	static const char *const places[] = {"../lib/cutrace", "../" CUTRACE_LIBDIR "/cutrace"};
	char exe[PATH_MAX], path[PATH_MAX * 2];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	(void)argc;
	if (n <= 0) {
		fprintf(stderr, "/proc/self/exe: error: cutrace can't find itself: %s\n", strerror(errno));
		return EXIT_COULD_NOT;
	}
	exe[n] = '\0';
	*strrchr(exe, '/') = '\0';
	for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
		snprintf(path, sizeof(path), "%s/%s/cutrace-compile", exe, places[k]);
		execv(path, argv);
	}
	fprintf(stderr,
		"%s: error: can't start: %s\n  hint: build all of cutrace, or install it with `cmake "
		"--install`\n",
		path, strerror(errno));
	return EXIT_COULD_NOT;
}
