/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver with a fault: our libcuda.so.1, which this one needs and whose other functions it hands on, but each PTX text
 * that is loaded has CUTRACE_TEST_WRONG's second word instead of its first ("add.s32 sub.s32").
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef int (*load_function)(void **module, const void *image);

int cuModuleLoadData(void **module, const void *image);

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

__attribute__((visibility("default"))) int cuModuleLoadData(void **module, const void *image)
{
	load_function next = (load_function)dlsym(RTLD_NEXT, "cuModuleLoadData");
	const char *rule = getenv("CUTRACE_TEST_WRONG"), *text = image;
	char *edited = rule && memchr("./\n \t", *text, 5) ? edit(text, rule) : NULL;
	int rc = next(module, edited ? edited : image);

	free(edited);
	return rc;
}
