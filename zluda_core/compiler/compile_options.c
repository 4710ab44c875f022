/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/compile_options.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char variable[] = "CUTRACE_COMPILE_OPTIONS";

/* ---- one word ---------------------------------------------------------------------------- */

static bool is_level(const char *v, size_t n)
{
	return n == 1 && *v >= '0' && *v <= '3';
}

static bool is_contraction(const char *v, size_t n)
{
	return (n == 3 && !memcmp(v, "all", 3)) || (n == 4 && !memcmp(v, "none", 4));
}

static bool is_number(const char *v, size_t n)
{
	return n > 0 && n <= 9 && strspn(v, "0123456789") >= n;
}

static const struct {
	const char *key; /* with its '=' */
	bool (*is_value)(const char *v, size_t n);
	const char *expected;
} words[] = {
	{"opt=", is_level, "opt=0 to opt=3"},
	{"contract=", is_contraction, "contract=all or contract=none"},
	{"opt-bisect=", is_number, "opt-bisect=N, a number of passes"},
};
enum { NWORDS = sizeof(words) / sizeof(words[0]) };

static unsigned find(const char *word)
{
	unsigned k = 0;

	while (k < NWORDS && strncmp(word, words[k].key, strlen(words[k].key)) != 0)
		k++;
	return k;
}

bool compile_option_is_known(const char *word)
{
	return find(word) < NWORDS;
}

static int check_word(const char *word, size_t n, struct diag *d)
{
	unsigned k = find(word);
	size_t key = k < NWORDS ? strlen(words[k].key) : 0;

	if (k < NWORDS && n >= key && words[k].is_value(word + key, n - key))
		return 0;
	if (k < NWORDS)
		return diag_set(d, CUTRACE_EINVAL, "", "%.*s: expected %s", (int)n, word, words[k].expected);
	diag_set(d, CUTRACE_EINVAL, "compiler", "there is no option '%.*s'", (int)n, word);
	diag_hint(d, "there are opt=0 to opt=3, contract=all, contract=none and opt-bisect=N");
	return CUTRACE_EINVAL;
}

/* ---- lists --------------------------------------------------------------------------------- */

int compile_options_check(const char *options, struct diag *d)
{
	int rc = 0;

	for (size_t n; !rc && *options; options += n + (options[n] == ',')) {
		n = strcspn(options, ",");
		rc = n ? check_word(options, n, d) : 0;
	}
	return rc;
}

/* The value of a key, or NULL. */
static const char *value_of(const char *options, const char *key)
{
	for (size_t n; *options; options += n + (options[n] == ',')) {
		n = strcspn(options, ",");
		if (!strncmp(options, key, strlen(key)))
			return options + strlen(key);
	}
	return NULL;
}

unsigned compile_options_level(const char *options)
{
	const char *v = value_of(options, "opt=");

	return v && is_level(v, 1) ? (unsigned)(*v - '0') : 3;
}

bool compile_options_bisect(const char *options, unsigned *limit)
{
	const char *v = value_of(options, "opt-bisect=");

	if (v)
		*limit = (unsigned)strtoul(v, NULL, 10);
	return v != NULL;
}

/* ---- of one kernel ---------------------------------------------------------------------------- */

static bool append(char *out, const char *word, size_t n)
{
	size_t at = strlen(out);

	if (at + n + 2 > COMPILE_OPTIONS_ROOM)
		return false;
	if (at)
		out[at++] = ',';
	memcpy(out + at, word, n);
	out[at + n] = '\0';
	return true;
}

static bool matches(const char *glob, size_t n, const char *kernel)
{
	char *copy = strndup(glob, n);
	bool yes = copy && !fnmatch(copy, kernel, 0);

	free(copy);
	return yes;
}

/* What the variable says of the kernel, up to ';'; NULL: nothing. */
static const char *said_of(const char *kernel, const char *text)
{
	for (size_t n; *text; text += n + (text[n] == ';')) {
		size_t colon = strcspn(text, ":;");

		n = strcspn(text, ";");
		if (text[colon] == ':' && matches(text, colon, kernel))
			return text + colon + 1;
	}
	return NULL;
}

static bool is_well_formed(const char *text)
{
	for (size_t n; *text; text += n + (text[n] == ';')) {
		n = strcspn(text, ";");
		if (n && !memchr(text, ':', n))
			return false;
	}
	return true;
}

/* The words of `given`, but for those of whose key `said` has one. */
static bool append_others(char *out, const char *given, const char *said)
{
	bool ok = true;

	for (size_t n; ok && *given; given += n + (given[n] == ',')) {
		char key[32];
		size_t m = strcspn(given, "=,");

		n = strcspn(given, ",");
		snprintf(key, sizeof(key), "%.*s=", (int)(m < 30 ? m : 30), given);
		if (n && !value_of(said, key))
			ok = append(out, given, n);
	}
	return ok;
}

int compile_options_of_kernel(const char *kernel, const char *options, char *out, char *compiler,
			      struct diag *d)
{
	const char *text = secure_getenv(variable), *said = text ? said_of(kernel, text) : NULL;
	char mine[COMPILE_OPTIONS_ROOM] = "";
	bool ok = true;

	out[0] = compiler[0] = '\0';
	if (text && !is_well_formed(text))
		return diag_set(d, CUTRACE_EINVAL, variable,
				"'%.200s': expected GLOB:OPTIONS;GLOB:OPTIONS...", text);
	for (size_t n; ok && said && *said && *said != ';'; said += n + (said[n] == ',')) {
		n = strcspn(said, ",;");
		if (n > 9 && n < COMPILE_OPTIONS_ROOM && !strncmp(said, "compiler=", 9))
			snprintf(compiler, COMPILE_OPTIONS_ROOM, "%.*s", (int)(n - 9), said + 9);
		else if (n)
			ok = append(mine, said, n);
	}
	ok = ok && append_others(out, options, mine) && (!mine[0] || append(out, mine, strlen(mine)));
	if (!ok)
		return diag_set(d, CUTRACE_EINVAL, variable, "too many options for one kernel");
	return mine[0] ? compile_options_check(out, d) : 0;
}
