/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver with a fault: our libcuda.so.1, which this one needs and whose other functions it hands on, but
 *
 * - each PTX text that is loaded has CUTRACE_TEST_WRONG's second word instead of its first ("add.s32 sub.s32");
 * - CUTRACE_TEST_STALE names two kernels ("fill use"): the second one's launches find, where their first parameter
 *   points, 256 bytes as they were before the last launch of the first one, as through a cache that missed the stores.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef int (*load_function)(void **module, const void *image);
typedef int (*get_function)(void **function, void *module, const char *name);
typedef int (*launch_function)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			       unsigned bz, unsigned shared, void *stream, void **params, void **extra);
typedef int (*copy_function)(uint64_t to, uint64_t from, size_t bytes);

EXPORT int cuModuleLoadData(void **module, const void *image);
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name);
EXPORT int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			  unsigned bz, unsigned shared, void *stream, void **params, void **extra);

/* malloc'ed; NULL: as it is. */
static char *edit(const char *text, const char *rule)
{
	const char *second = strchr(rule, ' '), *at;
	size_t n = second ? (size_t)(second - rule) : 0;
	char *out = n ? malloc(8 * strlen(text) + 64) : NULL, *to = out, word[64];

	if (!out || n >= sizeof(word))
		return NULL;
	memcpy(word, rule, n);
	word[n] = '\0';
	while ((at = strstr(text, word))) {
		to = mempcpy(to, text, (size_t)(at - text));
		to = stpcpy(to, second + 1);
		text = at + n;
	}
	strcpy(to, text);
	return out;
}

int cuModuleLoadData(void **module, const void *image)
{
	load_function next = (load_function)dlsym(RTLD_NEXT, "cuModuleLoadData");
	const char *rule = getenv("CUTRACE_TEST_WRONG"), *text = image;
	char *edited = rule && memchr("./\n \t", *text, 5) ? edit(text, rule) : NULL;
	int rc = next(module, edited ? edited : image);

	free(edited);
	return rc;
}

/* ---- stale memory -------------------------------------------------------------------------------- */

enum { STALE = 256 };

static void *writer, *reader;
static uint8_t before[STALE];
static uint64_t where;

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	int rc = ((get_function)dlsym(RTLD_NEXT, "cuModuleGetFunction"))(function, module, name);
	const char *names = getenv("CUTRACE_TEST_STALE"), *second = names ? strchr(names, ' ') : NULL;

	if (rc || !second)
		return rc;
	if (!strncmp(names, name, (size_t)(second - names)) && !name[second - names])
		writer = *function;
	if (!strcmp(second + 1, name))
		reader = *function;
	return rc;
}

static void read_device(void *to, uint64_t from)
{
	((copy_function)dlsym(RTLD_NEXT, "cuMemcpyDtoH_v2"))((uint64_t)(uintptr_t)to, from, STALE);
}

static void write_device(uint64_t to, const void *from)
{
	((copy_function)dlsym(RTLD_NEXT, "cuMemcpyHtoD_v2"))(to, (uint64_t)(uintptr_t)from, STALE);
}

/* The replayer gives parameters as one block: {1, block, 2, size, 0}. */
static uint64_t first_parameter(void **extra)
{
	uint64_t first = 0;

	for (; extra && *extra; extra += 2)
		if ((uintptr_t)*extra == 1)
			memcpy(&first, extra[1], sizeof(first));
	return first;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **params, void **extra)
{
	launch_function next = (launch_function)dlsym(RTLD_NEXT, "cuLaunchKernel");
	uint64_t first = f == writer || f == reader ? first_parameter(extra) : 0;

	if (first && f == writer) {
		where = first;
		read_device(before, where);
	} else if (first && where == first) {
		write_device(where, before);
	}
	return next(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}
