/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define MAX_ERRORS_SHOWN 50
#define MAX_SOURCE_BYTES (16u << 20)

void list_grow(struct apigen *g, void **v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return;
	size_t cap_new = *cap ? *cap * 2 : 8;
	void *mem = arena_array(&g->arena, cap_new, size);
	if (!mem) {
		fputs("apigen: out of memory\n", stderr);
		_Exit(2);
	}
	if (n)
		memcpy(mem, *v, n * size);
	*v = mem;
	*cap = cap_new;
}

struct source *source_load(struct apigen *g, const char *path)
{
	struct source *src = arena_zalloc(&g->arena, sizeof(*src));
	FILE *f = fopen(path, "rb");
	if (!f) {
		fprintf(g->err, "%s: error: cannot open: %s\n", path, strerror(errno));
		g->errors++;
		return NULL;
	}
	src->path = arena_strdup(&g->arena, path);
	src->text = arena_alloc(&g->arena, MAX_SOURCE_BYTES + 1, 1);
	src->size = src->text ? fread(src->text, 1, MAX_SOURCE_BYTES, f) : 0;
	bool bad = !src->text || ferror(f) || src->size == MAX_SOURCE_BYTES;
	fclose(f);
	if (bad) {
		fprintf(g->err, "%s: error: cannot read, or larger than 16 MiB\n", path);
		g->errors++;
		return NULL;
	}
	src->text[src->size] = '\0';
	return src;
}

static void show_line(FILE *err, const struct loc *loc)
{
	size_t len = strcspn(loc->line_text, "\n");
	fprintf(err, "%5u | %.*s\n      | ", loc->line, (int)len, loc->line_text);
	for (unsigned i = 0; i + 1 < loc->col && i < len; i++)
		fputc(loc->line_text[i] == '\t' ? '\t' : ' ', err);
	fputc('^', err);
	for (unsigned i = 1; i < loc->len; i++)
		fputc('~', err);
	fputc('\n', err);
}

static void say(struct apigen *g, struct loc loc, const char *grade, const char *fmt, va_list ap)
{
	if (g->errors > MAX_ERRORS_SHOWN)
		return;
	fprintf(g->err, "%s:%u:%u: %s: ", loc.src ? loc.src->path : "<built in>", loc.line, loc.col, grade);
	vfprintf(g->err, fmt, ap);
	fputc('\n', g->err);
	if (loc.line_text)
		show_line(g->err, &loc);
}

void error_at(struct apigen *g, struct loc loc, const char *fmt, ...)
{
	va_list ap;
	g->errors++;
	va_start(ap, fmt);
	say(g, loc, "error", fmt, ap);
	va_end(ap);
}

void note_at(struct apigen *g, struct loc loc, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(g, loc, "note", fmt, ap);
	va_end(ap);
}
