/* SPDX-License-Identifier: Apache-2.0
 *
 * old_glibc: the recorder is loaded into programs of any age, in containers with their own libc. A library
 * built on glibc 2.34 or newer asks for these functions at that version, because they moved into libc.so.6
 * then; the versions named here exist everywhere on x86-64 since 2.2.5. Force-included into the recorder's
 * sources.
 */
#ifndef CUTRACE_INTERPOSE_OLD_GLIBC_H
#define CUTRACE_INTERPOSE_OLD_GLIBC_H

__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver pthread_key_create, pthread_key_create@GLIBC_2.2.5");
__asm__(".symver pthread_setspecific, pthread_setspecific@GLIBC_2.2.5");

/* Young wrappers of system calls: called as such. */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int old_fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

static inline int old_memfd_create(const char *name, unsigned flags)
{
	return (int)syscall(SYS_memfd_create, name, flags);
}

#endif
