/* SPDX-License-Identifier: Apache-2.0
 *
 * Linking: by elf_link, or by ld.lld in a process of its own, whose start alone takes longer than a small kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zluda_core/compiler/compiler.h"
#include "zluda_core/compiler/elf_link.h"

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

/* ---- ld.lld wants files ------------------------------------------------------------------------------ */

static int write_all(int fd, const void *data, size_t bytes)
{
	const char *p = data;

	while (bytes) {
		ssize_t n = write(fd, p, bytes);

		if (n < 0 && errno != EINTR)
			return -1;
		p += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static void *read_file(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *p = NULL;

	if (fd >= 0 && !fstat(fd, &st) && (p = malloc((size_t)st.st_size + 1)) &&
	    read(fd, p, (size_t)st.st_size) != st.st_size) {
		free(p);
		p = NULL;
	}
	if (fd >= 0)
		close(fd);
	*bytes = p ? (size_t)st.st_size : 0;
	return p;
}

static int link_by_files(const void *object, size_t bytes, void **out, size_t *out_bytes, struct diag *d)
{
	const char *folder = getenv("TMPDIR");
	char in[PATH_MAX], linked[PATH_MAX + 8];

	snprintf(in, sizeof(in), "%s/cutrace-link-XXXXXX", folder && folder[0] ? folder : "/tmp");
	int fd = mkostemp(in, O_CLOEXEC);
	if (fd < 0)
		return diag_set(d, CUTRACE_EIO, in, "can't write: %s", strerror(errno));
	snprintf(linked, sizeof(linked), "%s.co", in);
	int rc = write_all(fd, object, bytes)
			 ? diag_set(d, CUTRACE_EIO, in, "can't write: %s", strerror(errno))
			 : compiler_link(in, linked, d);
	close(fd);
	if (!rc) {
		*out = read_file(linked, out_bytes);
		rc = *out ? 0 : diag_set(d, CUTRACE_EIO, linked, "can't read what ld.lld wrote");
	}
	unlink(in);
	unlink(linked);
	return rc;
}

int compiler_link_object(const void *object, size_t bytes, void **out, size_t *out_bytes, struct diag *d)
{
	int rc = elf_link(object, bytes, out, out_bytes, d);

	return rc == CUTRACE_ENOTSUP ? link_by_files(object, bytes, out, out_bytes, d) : rc;
}
