/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/tolerances.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"

static int wrong(struct diag *d, const char *path, unsigned line, const char *what, const char *word)
{
	char where[4200];

	snprintf(where, sizeof(where), "%s:%u", path, line);
	diag_set(d, CUTRACE_EINVAL, where, "%s%.80s%s", what, word, *word ? "'" : "");
	diag_hint(
		d,
		"a rule is KERNEL BUFFER and one or more of rtol=X atol=X ulp=N, like: gemm_* c rtol=1e-3 atol=1e-6");
	return CUTRACE_EINVAL;
}

static bool number(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return *text && !*end && isfinite(*out) && *out >= 0;
}

static bool take_limit(struct compare_limits *l, const char *word)
{
	char *end;

	if (!strncmp(word, "rtol=", 5) || !strncmp(word, "atol=", 5)) {
		l->has_tol = true;
		return number(word + 5, *word == 'r' ? &l->rtol : &l->atol);
	}
	if (strncmp(word, "ulp=", 4) || word[4] < '0' || word[4] > '9')
		return false;
	errno = 0;
	l->has_ulp = true;
	l->ulp = strtoull(word + 4, &end, 10);
	return !*end && !errno;
}

static bool is_allocation(const char *text)
{
	return text[0] == '#' && text[1] && strspn(text + 1, "0123456789") == strlen(text + 1);
}

/* One line, which is cut into words. Nothing in it: no rule. */
static int take_line(struct tolerances *t, char *text, const char *path, unsigned line, struct diag *d)
{
	char *more, *kernel = strtok_r(text, BLANKS, &more), *buffer, *word;
	struct tolerance r = {.line = line}, *v;

	if (!kernel || *kernel == '#')
		return 0;
	buffer = strtok_r(NULL, BLANKS, &more);
	if (!buffer || (*buffer == '#' && !is_allocation(buffer)))
		return wrong(d, path, line, "the rule names no buffer", "");
	while ((word = strtok_r(NULL, BLANKS, &more)) && *word != '#')
		if (!take_limit(&r.limits, word))
			return wrong(d, path, line, "this is no limit: '", word);
	if (!r.limits.has_tol && !r.limits.has_ulp)
		return wrong(d, path, line, "the rule has no limit", "");
	v = realloc(t->v, (t->n + 1) * sizeof(*v));
	if (v)
		t->v = v;
	r.kernel = strdup(kernel);
	r.buffer = strdup(buffer);
	if (!v || !r.kernel || !r.buffer) {
		free(r.kernel);
		free(r.buffer);
		return diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
	}
	v[t->n++] = r;
	return 0;
}

int tolerances_read(struct tolerances *t, const char *path, struct diag *d)
{
	FILE *f = fopen(path, "re");
	unsigned line = 0;
	char *text = NULL;
	size_t room = 0;
	ssize_t bytes;
	int rc = 0;

	*t = (struct tolerances){.hash = 14695981039346656037u}; /* FNV-1a */
	if (!f)
		return diag_set(d, CUTRACE_ENOENT, path, "can't be read: %s", strerror(errno));
	while (!rc && (bytes = getline(&text, &room, f)) >= 0) {
		for (ssize_t i = 0; i < bytes; i++)
			t->hash = (t->hash ^ (unsigned char)text[i]) * 1099511628211u;
		line++;
		if (strlen(text) != (size_t)bytes)
			rc = wrong(d, path, line, "this is no text", "");
		else
			rc = take_line(t, text, path, line, d);
	}
	if (!rc && ferror(f))
		rc = diag_set(d, CUTRACE_EIO, path, "can't be read: %s", strerror(errno));
	if (!rc && !t->n)
		rc = diag_set(d, CUTRACE_EINVAL, path, "there is no rule in it");
	free(text);
	fclose(f);
	if (rc)
		tolerances_free(t);
	return rc;
}

void tolerances_free(struct tolerances *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].kernel);
		free(t->v[i].buffer);
	}
	free(t->v);
	t->v = NULL;
	t->n = 0;
}

static bool matches(const char *glob, const char *name)
{
	return !strcmp(glob, "*") || (name && *name && !fnmatch(glob, name, 0));
}

const struct tolerance *tolerances_find(const struct tolerances *t, const char *kernel, const char *buffer,
					uint64_t allocation)
{
	for (size_t i = 0; t && i < t->n; i++) {
		const struct tolerance *r = &t->v[i];
		bool here = is_allocation(r->buffer) ? strtoull(r->buffer + 1, NULL, 10) == allocation
						     : matches(r->buffer, buffer);

		if (here && matches(r->kernel, kernel))
			return r;
	}
	return NULL;
}
