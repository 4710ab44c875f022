/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/locate.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef CUTRACE_LLVM_FILE
#	define CUTRACE_LLVM_FILE ""
#endif
#ifndef CUTRACE_LIBDIR
#	define CUTRACE_LIBDIR "lib"
#endif

static const char program[] = "cutrace-compile";

/* The folder of the file that holds this function: libcuda.so.1, or the command. */
static bool own_folder(char *folder, size_t room)
{
	Dl_info info;
	char *slash;

	if (!dladdr((void *)(uintptr_t)locate_compiler, &info) || !info.dli_fname)
		return false;
	/* A program's own name is what it was started with. */
	if (!strchr(info.dli_fname, '/') || !realpath(info.dli_fname, folder)) {
		ssize_t n = readlink("/proc/self/exe", folder, room - 1);
		if (n <= 0)
			return false;
		folder[n] = '\0';
	}
	slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

int locate_compiler(char *path, size_t room, struct diag *d)
{
	/* libcuda.so.1 is in lib/cutrace/zluda, cutrace in bin. */
	static const char *const places[] = {"..", ".", "../lib/cutrace", "../" CUTRACE_LIBDIR "/cutrace"};
	const char *given = secure_getenv("CUTRACE_COMPILER");
	char folder[PATH_MAX];

	if (given && given[0]) {
		snprintf(path, room, "%s", given);
		if (!access(path, X_OK))
			return 0;
		diag_set(d, CUTRACE_ENOENT, given, "CUTRACE_COMPILER can't be executed: %s", strerror(errno));
		diag_hint(d, "it names the file of a cutrace-compile; without it the installed one is used");
		return CUTRACE_ENOENT;
	}
	for (size_t k = 0; own_folder(folder, sizeof(folder)) && k < sizeof(places) / sizeof(places[0]); k++)
		if ((size_t)snprintf(path, room, "%s/%s/%s", folder, places[k], program) < room &&
		    !access(path, X_OK))
			return 0;
	diag_set(d, CUTRACE_ENOENT, program, "the compiler for AMD GPUs isn't there");
	diag_hint(d, "build or install cutrace where LLVM 19 is (Debian: llvm-19-dev, lld-19, clang-19)");
	return CUTRACE_ENOENT;
}

/* ---- its build id ----------------------------------------------------------------------------------- */

static bool read_at(int fd, void *p, size_t bytes, uint64_t at)
{
	return at < INT64_MAX && pread(fd, p, bytes, (off_t)at) == (ssize_t)bytes;
}

static void put_hex(const uint8_t *p, size_t n, char *out, size_t room)
{
	for (size_t k = 0; k < n && 2 * k + 3 <= room; k++)
		snprintf(out + 2 * k, 3, "%02x", p[k]);
}

/* Records {name bytes, bytes, type, "GNU\0", data}, 4-byte aligned. */
static bool read_note(int fd, const Elf64_Phdr *p, char *id, size_t room)
{
	uint8_t note[4096];
	size_t bytes = p->p_filesz < sizeof(note) ? p->p_filesz : sizeof(note);

	if (!read_at(fd, note, bytes, p->p_offset))
		return false;
	for (size_t at = 0; at + 12 <= bytes;) {
		uint32_t h[3];

		memcpy(h, note + at, 12);
		uint64_t data = at + 12 + (((uint64_t)h[0] + 3) & ~3ull);
		uint64_t end = data + (((uint64_t)h[1] + 3) & ~3ull);
		if (end > bytes)
			return false;
		if (h[2] == NT_GNU_BUILD_ID && h[0] == 4 && !memcmp(note + at + 12, "GNU", 4) && h[1]) {
			put_hex(note + data, h[1], id, room);
			return true;
		}
		at = end;
	}
	return false;
}

static bool read_build_id(int fd, char *id, size_t room)
{
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (!read_at(fd, &h, sizeof(h), 0) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof(p))
		return false;
	for (unsigned k = 0; k < h.e_phnum; k++)
		if (read_at(fd, &p, sizeof(p), h.e_phoff + k * sizeof(p)) && p.p_type == PT_NOTE &&
		    read_note(fd, &p, id, room))
			return true;
	return false;
}

int locate_build_id(const char *path, char *id, size_t room, struct diag *d)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat file, llvm;
	char own[96] = "";

	if (fd < 0 || fstat(fd, &file)) {
		diag_set(d, CUTRACE_EIO, path, "can't read the compiler: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return CUTRACE_EIO;
	}
	if (!read_build_id(fd, own, sizeof(own)))
		snprintf(own, sizeof(own), "%llx.%llx", (unsigned long long)file.st_size,
			 (unsigned long long)file.st_mtim.tv_sec * 1000000000ull +
				 (unsigned long long)file.st_mtim.tv_nsec);
	close(fd);
	if (!CUTRACE_LLVM_FILE[0] || stat(CUTRACE_LLVM_FILE, &llvm))
		memset(&llvm, 0, sizeof(llvm));
	snprintf(id, room, "%s-%llx-%llx", own, (unsigned long long)llvm.st_size,
		 (unsigned long long)llvm.st_mtim.tv_sec);
	return 0;
}
