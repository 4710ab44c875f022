/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/check_options.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number from 1 on; *end is what follows it. */
static bool read_number(const char *text, uint64_t *n, char **end)
{
	errno = 0;
	*n = *text >= '0' && *text <= '9' ? strtoull(text, end, 10) : 0;
	return *n && !errno;
}

static bool read_every(struct check_options *o, const char *text)
{
	char *end;

	return read_number(text, &o->every, &end) && !*end;
}

bool check_options_range(const char *text, uint64_t *first, uint64_t *last)
{
	char *end;

	if (!read_number(text, first, &end) || (*end && *end != '-'))
		return false;
	*last = *end ? UINT64_MAX : *first;
	if (!*end || !end[1])
		return true;
	return read_number(end + 1, last, &end) && !*end && *last >= *first;
}

static bool add_kernel(struct check_options *o, const char *text)
{
	size_t used = strlen(o->kernels), n = strlen(text);

	if (!n || used + n + 2 > sizeof(o->kernels))
		return false;
	snprintf(o->kernels + used, sizeof(o->kernels) - used, "%s%s", used ? ":" : "", text);
	return true;
}

static bool read_word(struct check_options *o, const char *word)
{
	if (!strcmp(word, "contents"))
		o->contents = true;
	else if (!strcmp(word, "opaque"))
		o->contents = o->opaque = true;
	else if (!strcmp(word, "device"))
		o->on_device = true;
	else if (!strcmp(word, "host"))
		o->on_host = true;
	else if (!strncmp(word, "every:", 6))
		return read_every(o, word + 6);
	else if (!strncmp(word, "launch:", 7))
		return check_options_range(word + 7, &o->first, &o->last);
	else if (!strncmp(word, "kernel:", 7))
		return add_kernel(o, word + 7);
	else
		return !strcmp(word, "hashes") || !strcmp(word, "all");
	return true;
}

int check_options_parse(struct check_options *o, const char *text, struct diag *d)
{
	char words[1024], *save, *word;

	*o = (struct check_options){.on = true, .every = 1, .first = 1, .last = UINT64_MAX};
	if (!text)
		return 0;
	if (strlen(text) >= sizeof(words))
		return diag_set(d, CUTRACE_EINVAL, "--check", "more than %zu letters", sizeof(words) - 1);
	strcpy(words, text);
	word = strtok_r(words, ",", &save);
	for (; word; word = strtok_r(NULL, ",", &save)) {
		if (read_word(o, word))
			continue;
		diag_set(d, CUTRACE_EINVAL, "--check", "'%s' is none of its words, or has no usable value",
			 word);
		diag_hint(
			d,
			"contents, hashes, all, opaque, every:N, kernel:GLOB, launch:A-B, device, host, separated by "
			"commas");
		return CUTRACE_EINVAL;
	}
	return 0;
}

bool check_options_kernel(const struct check_options *o, const char *name, bool is_opaque)
{
	char globs[sizeof(o->kernels)], *save, *glob;

	if (!o->on || (o->opaque && !is_opaque))
		return false;
	if (!o->kernels[0])
		return true;
	memcpy(globs, o->kernels, sizeof(globs));
	glob = strtok_r(globs, ":", &save);
	for (; name && glob; glob = strtok_r(NULL, ":", &save))
		if (!fnmatch(glob, name, 0))
			return true;
	return false;
}
