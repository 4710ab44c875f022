/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/target.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/device_option.h"
#include "interpose/ring.h"

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* ---- our libraries --------------------------------------------------------------- */

const char *target_libdir(struct diag *d)
{
	static char dir[PATH_MAX];
	static const char *const places[] = {"../lib/cutrace", "../" CUTRACE_LIBDIR "/cutrace"};
	char exe[PATH_MAX], probe[PATH_MAX * 2];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0) {
		diag_set(d, CUTRACE_EIO, "/proc/self/exe", "cutrace can't find itself: %s", strerror(errno));
		return NULL;
	}
	exe[n] = '\0';
	*strrchr(exe, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(probe, sizeof(probe), "%s/%s", exe, places[i]);
		if (!realpath(probe, dir))
			continue;
		snprintf(probe, sizeof(probe), "%s/libcutrace-redirect.so", dir);
		if (is_file(probe))
			return dir;
	}
	diag_set(d, CUTRACE_ENOENT, exe,
		 "cutrace's libraries are not where they belong, ../lib/cutrace from here");
	diag_hint(d, "build all of cutrace, or install it with `cmake --install`");
	return NULL;
}

/* ---- drivers ------------------------------------------------------------------------ */

/* What the loader itself finds, in a child: a driver may do anything in its constructors. */
static bool system_driver(char *path, size_t n)
{
	int ends[2], status = 1;
	ssize_t got;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	pid = fork();
	if (pid == 0) {
		void *handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
		struct link_map *map = NULL;

		if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] == '/' &&
		    write(ends[1], map->l_name, strlen(map->l_name)) > 0)
			_exit(0);
		_exit(1);
	}
	close(ends[1]);
	got = read(ends[0], path, n - 1);
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	path[got > 0 ? got : 0] = '\0';
	return got > 0 && status == 0;
}

static int use_ours(struct target *t, const char *device, struct diag *d)
{
	const char *dir = target_libdir(d);

	if (!dir)
		return d->code;
	if (strlen(device) >= sizeof(t->device))
		return diag_set(d, CUTRACE_EINVAL, "--device", "the name is too long");
	strcpy(t->device, device);
	if (snprintf(t->driver, sizeof(t->driver), "%s/zluda/libcuda.so.1", dir) >= (int)sizeof(t->driver) ||
	    !is_file(t->driver))
		return diag_set(d, CUTRACE_ENOENT, t->driver, "this build has no driver of its own");
	return device_option_check(device, t->driver, d);
}

static int use_file(struct target *t, const char *path, struct diag *d)
{
	if (!realpath(path, t->driver))
		return diag_set(d, CUTRACE_ENOENT, path, "%s", strerror(errno));
	if (!is_file(t->driver)) {
		diag_set(d, CUTRACE_EINVAL, path, "this is not a file");
		diag_hint(d, "--driver takes the path of a libcuda.so.1");
		return CUTRACE_EINVAL;
	}
	return 0;
}

int target_find(struct target *t, const char *device, const char *driver, struct diag *d)
{
	memset(t, 0, sizeof(*t));
	if (device && driver)
		return diag_set(d, CUTRACE_EINVAL, "", "--device and --driver exclude each other");
	if (driver)
		return use_file(t, driver, d);
	if (device)
		return use_ours(t, device, d);
	if (system_driver(t->driver, sizeof(t->driver)))
		return 0;
	t->chosen_by_us = true;
	return use_ours(t, device_option_default(), d);
}

static int set(const char *name, const char *value, struct diag *d)
{
	if ((value ? setenv(name, value, 1) : unsetenv(name)) != 0)
		return diag_set(d, CUTRACE_ENOMEM, name, "the environment can't be set: %s", strerror(errno));
	return 0;
}

int target_environment(const struct target *t, const char *redirect, const char *socket, struct diag *d)
{
	const char *dir = target_libdir(d), *others = getenv("LD_AUDIT");
	char audit[PATH_MAX * 2];
	int rc = 0;

	if (!dir)
		return d->code;
	if (strchr(dir, ':')) {
		diag_set(d, CUTRACE_EINVAL, dir, "LD_AUDIT can't name a path with a colon in it");
		diag_hint(d, "install cutrace elsewhere");
		return CUTRACE_EINVAL;
	}
	snprintf(audit, sizeof(audit), "%s/libcutrace-redirect.so%s%s", dir, others && *others ? ":" : "",
		 others ? others : "");
	rc = set("LD_AUDIT", audit, d);
	rc = rc ? rc : set(RING_ENV_REDIRECT, redirect, d);
	rc = rc ? rc : set(RING_ENV_DRIVER, socket ? t->driver : NULL, d);
	rc = rc ? rc : set(RING_ENV_SOCKET, socket, d);
	if (!rc && t->device[0])
		rc = set("CUTRACE_DEVICE", t->device, d);
	return rc;
}

/* ---- the program -------------------------------------------------------------------- */

/* Where execvp would find it. False when nowhere. */
static bool search_path(const char *program, char *found, size_t n)
{
	const char *path = getenv("PATH");

	if (strchr(program, '/')) {
		snprintf(found, n, "%s", program);
		return access(found, F_OK) == 0;
	}
	for (const char *p = path ? path : "/usr/bin:/bin"; *p; p += strspn(p, ":")) {
		size_t len = strcspn(p, ":");

		if (snprintf(found, n, "%.*s/%s", (int)len, p, program) < (int)n &&
		    access(found, X_OK) == 0 && is_file(found))
			return true;
		p += len;
	}
	return false;
}

/* ELF gABI, "Program Header": a dynamically linked program names its loader in PT_INTERP. */
static bool is_static_elf(int fd)
{
	Elf64_Ehdr e;

	if (pread(fd, &e, sizeof(e), 0) != sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
	    e.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		Elf64_Phdr p;

		if (pread(fd, &p, sizeof(p), (off_t)(e.e_phoff + i * (uint64_t)e.e_phentsize)) == sizeof(p) &&
		    p.p_type == PT_INTERP)
			return false;
	}
	return true;
}

static bool is_32_bit_elf(int fd)
{
	unsigned char ident[EI_NIDENT];

	return pread(fd, ident, sizeof(ident), 0) == sizeof(ident) && !memcmp(ident, ELFMAG, SELFMAG) &&
	       ident[EI_CLASS] == ELFCLASS32;
}

static void warn(int fd, const char *path, struct diag *w)
{
	struct stat st;

	if (is_static_elf(fd)) {
		diag_set(w, CUTRACE_ENOTSUP, path,
			 "this program is statically linked: its driver calls can't be redirected");
		diag_hint(w, "only dynamically linked programs can load a CUDA driver at all; this may be a "
			     "launcher");
	} else if (is_32_bit_elf(fd)) {
		diag_set(w, CUTRACE_ENOTSUP, path, "this is a 32-bit program: it can't be redirected");
	} else if (fstat(fd, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) &&
		   (st.st_uid != geteuid() || (st.st_mode & S_ISGID))) {
		diag_set(w, CUTRACE_ENOTSUP, path,
			 "this program is set-user-ID or set-group-ID: the loader ignores LD_AUDIT for it");
		diag_hint(w, "run a copy of it without that bit, or as the user it changes to");
	}
}

/* execve(2): the interpreter is the first word behind "#!"; a script of a script is followed by the kernel a few
 * times. An interpreter that is not there gives ENOENT, as if the script were not. */
static int check_interpreter(int fd, const char *program, int depth, int *status, struct diag *d)
{
	char line[257], *name;
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	int next, rc;

	line[n > 0 ? n : 0] = '\0';
	if (strncmp(line, "#!", 2) != 0)
		return 0;
	line[strcspn(line, "\n")] = '\0';
	name = line + 2 + strspn(line + 2, " \t");
	name[strcspn(name, " \t")] = '\0';
	if (!*name)
		return 0; /* execvp gives it to the shell */
	if (access(name, X_OK) != 0 || !is_file(name)) {
		*status = access(name, F_OK) != 0 ? 127 : 126;
		diag_set(d, CUTRACE_ENOENT, program, "the interpreter in its first line, %s, %s", name,
			 *status == 127 ? "does not exist" : "can't be executed");
		if (strchr(name, '\r'))
			diag_hint(d, "the line ends with a carriage return: give the script Unix line ends");
		else
			diag_hint(d, "correct that line, install the interpreter, or name another one before "
				     "the script");
		return d->code;
	}
	next = depth < 4 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	rc = next >= 0 ? check_interpreter(next, name, depth + 1, status, d) : 0;
	if (next >= 0)
		close(next);
	return rc;
}

int target_check_program(const char *program, struct diag *warning, int *status, struct diag *d)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, rc = 0;

	warning->code = 0;
	*status = 127;
	if (!search_path(program, path, sizeof(path)))
		return diag_set(d, CUTRACE_ENOENT, program, "there is no such program");
	*status = 126;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return diag_set(d, CUTRACE_EINVAL, program, "this is a directory");
	if (access(path, X_OK) != 0) {
		diag_set(d, CUTRACE_EINVAL, program, "this can't be executed: %s", strerror(errno));
		diag_hint(d, "chmod +x, or name the interpreter that is to run it");
		return CUTRACE_EINVAL;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		rc = check_interpreter(fd, program, 0, status, d);
		if (!rc)
			warn(fd, path, warning);
		close(fd);
	}
	return rc;
}
