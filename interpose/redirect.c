/* SPDX-License-Identifier: Apache-2.0
 *
 * redirect: the LD_AUDIT library. It sees every search of the dynamic loader (DT_NEEDED with and without
 * RPATH and RUNPATH, dlopen of a name or of an absolute path) and answers requests for libcuda.so.1 with the
 * file that $CUTRACE_REDIRECT names. It uses no library at all, not even libc: auditors live in a namespace
 * of their own, where a second libc costs a millisecond and static TLS that sanitizers run out of.
 *
 * The recorder has a DT_NEEDED entry REDIRECT_DRIVER_NAME that resolves to the real driver here. So
 * names that only a newer driver exports are found behind the recorder, by dlsym and by the linker alike.
 * la_symbind64 sees such dlsym results, and the bindings of calls, and asks the recorder for a recording
 * thunk. (The loader does not tell of a program that takes the function's address from its linker: that one
 * runs unrecorded.)
 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/redirect.h"
#include "interpose/ring.h"

#define EXPORT __attribute__((visibility("default")))

/* Where the kernel put argc; exported by ld.so since GLIBC_2.2.5. */
extern void *__libc_stack_end;

enum cookie { COOKIE_OTHER, COOKIE_RECORDER, COOKIE_DRIVER };

static const char *target; /* $CUTRACE_REDIRECT */
static const char *driver; /* $CUTRACE_DRIVER */
static redirect_thunk_fn *thunk;

unsigned int la_version(unsigned int version);
char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag);
unsigned int la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie);
uintptr_t la_symbind64(Elf64_Sym *sym, unsigned int ndx, uintptr_t *refcook, uintptr_t *defcook,
		       unsigned int *flags, const char *symname);

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static const char *environment(const char *name)
{
	long argc = *(long *)__libc_stack_end;
	char **env = (char **)__libc_stack_end + argc + 2;

	for (; *env; env++) {
		const char *e = *env, *n = name;

		while (*n && *n == *e)
			n++, e++;
		if (!*n && *e == '=' && e[1])
			return e + 1;
	}
	return NULL;
}

static const char *last_component(const char *path)
{
	const char *last = path;

	for (; *path; path++)
		if (*path == '/')
			last = path + 1;
	return last;
}

/* The loader keeps the path that a program asked for as a name of the recorder: who wants the driver itself, and has its
 * path, says "/." before it (driver.c, zluda_core/proc_address.c). */
static int is_driver(const char *path)
{
	return driver && (same(path, driver) || (path[0] == '/' && path[1] == '.' && same(path + 2, driver)));
}

EXPORT unsigned int la_version(unsigned int version)
{
	target = environment(RING_ENV_REDIRECT);
	driver = environment(RING_ENV_DRIVER);
	/* 0 tells the loader to go on without this auditor. */
	return target ? (version < LAV_CURRENT ? version : LAV_CURRENT) : 0;
}

EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag)
{
	const char *last = last_component(name);

	(void)flag;
	if (*cookie == COOKIE_RECORDER && driver && same(last, REDIRECT_DRIVER_NAME))
		return (char *)driver;
	if ((*cookie == COOKIE_RECORDER || *cookie == COOKIE_DRIVER) && is_driver(name))
		return (char *)name;
	if (same(last, "libcuda.so.1") || same(last, "libcuda.so"))
		return (char *)target;
	return (char *)name;
}

/* The recorder's thunk maker, found in its dynamic symbol table by name; the table is linked with DT_HASH,
 * which says how many symbols there are. */
static redirect_thunk_fn *find_thunk(const struct link_map *map)
{
	const Elf64_Sym *symbols = NULL;
	const char *strings = NULL;
	const uint32_t *hash = NULL;

	for (const Elf64_Dyn *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		/* The loader has relocated these addresses, or not (read-only dynamic sections). */
		uintptr_t p = d->d_un.d_ptr < map->l_addr ? d->d_un.d_ptr + map->l_addr : d->d_un.d_ptr;

		if (d->d_tag == DT_SYMTAB)
			symbols = (const Elf64_Sym *)p;
		else if (d->d_tag == DT_STRTAB)
			strings = (const char *)p;
		else if (d->d_tag == DT_HASH)
			hash = (const uint32_t *)p;
	}
	if (!symbols || !strings || !hash)
		return NULL;
	for (uint32_t i = 1; i < hash[1]; i++)
		if (symbols[i].st_shndx != SHN_UNDEF &&
		    same(strings + symbols[i].st_name, REDIRECT_THUNK_SYMBOL))
			return (redirect_thunk_fn *)(map->l_addr + symbols[i].st_value);
	return NULL;
}

EXPORT unsigned int la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	(void)lmid;
	*cookie = COOKIE_OTHER;
	if (same(map->l_name, target)) {
		*cookie = COOKIE_RECORDER;
		thunk = find_thunk(map);
		return 0;
	}
	if (is_driver(map->l_name)) {
		*cookie = COOKIE_DRIVER;
		return LA_FLG_BINDTO;
	}
	/* Look-ups from anywhere that end in the real driver are of interest. */
	return LA_FLG_BINDFROM;
}

EXPORT uintptr_t la_symbind64(Elf64_Sym *sym, unsigned int ndx, uintptr_t *refcook, uintptr_t *defcook,
			      unsigned int *flags, const char *symname)
{
	(void)ndx;
	*flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
	/* The driver's own references, the recorder's, and data are left alone. */
	if (*defcook != COOKIE_DRIVER || *refcook != COOKIE_OTHER || !thunk ||
	    ELF64_ST_TYPE(sym->st_info) != STT_FUNC)
		return sym->st_value;
	return thunk(symname, sym->st_value);
}
