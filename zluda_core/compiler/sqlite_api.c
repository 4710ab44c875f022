/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/sqlite_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static struct sqlite_api api;
static bool usable;

static void *find(void *library, const char *name)
{
	void *p = dlsym(library, name);

	usable &= p != NULL;
	return p;
}

static void load(void)
{
	void *library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
	void *p;

	if (!library)
		return;
	usable = true;
	/* POSIX's way to get a function out of a void pointer. */
#define X(name)                              \
	p = find(library, "sqlite3_" #name); \
	memcpy(&api.name, &p, sizeof(api.name));
	SQLITE_API_LIST(X)
#undef X
}

const struct sqlite_api *sqlite_api(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return usable ? &api : NULL;
}
