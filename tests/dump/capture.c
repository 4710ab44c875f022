/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample.h"

#define MAX_ARGS 16

static char *slurp(FILE *f)
{
	static char *kept[4];
	static unsigned turn;
	char **p = &kept[turn++ % 4];
	size_t n;

	fseek(f, 0, SEEK_END);
	n = (size_t)ftell(f);
	rewind(f);
	free(*p);
	*p = malloc(n + 1);
	if (!*p || fread(*p, 1, n, f) != n)
		abort();
	(*p)[n] = '\0';
	return *p;
}

const char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text;

	if (!f)
		return NULL;
	text = slurp(f);
	fclose(f);
	return text;
}

/* Points a descriptor to a temporary file; returns a copy of what it was. */
static int divert(FILE *stream, FILE *to)
{
	int saved = dup(fileno(stream));

	fflush(stream);
	dup2(fileno(to), fileno(stream));
	return saved;
}

static void restore(FILE *stream, int saved)
{
	fflush(stream);
	dup2(saved, fileno(stream));
	close(saved);
}

struct captured capture(int (*command)(int argc, char **argv), ...)
{
	FILE *out = tmpfile(), *err = tmpfile();
	char *argv[MAX_ARGS + 1];
	struct captured c;
	int argc = 0, saved_out, saved_err;
	va_list ap;

	if (!out || !err)
		abort();
	va_start(ap, command);
	while (argc < MAX_ARGS && (argv[argc] = va_arg(ap, char *)))
		argc++;
	argv[argc] = NULL;
	va_end(ap);
	saved_out = divert(stdout, out);
	saved_err = divert(stderr, err);
	c.status = command(argc, argv);
	restore(stdout, saved_out);
	restore(stderr, saved_err);
	c.out = slurp(out);
	c.err = slurp(err);
	fclose(out);
	fclose(err);
	return c;
}

void make_folder(char *path, unsigned bytes)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, bytes, "%s/cutrace-dump-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(path))
		abort();
}

void remove_folder(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char name[1024];

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (unlink(name))
			remove_folder(name);
	}
	if (d)
		closedir(d);
	rmdir(path);
}
