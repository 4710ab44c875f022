/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (64u << 10)

struct arena_block {
	struct arena_block *prev;
	char data[];
};

static int arena_grow(struct arena *a, size_t need)
{
	size_t bytes = need > BLOCK_BYTES ? need : BLOCK_BYTES;
	struct arena_block *b;

	if (bytes > SIZE_MAX - sizeof(*b))
		return -1;
	b = malloc(sizeof(*b) + bytes);
	if (!b)
		return -1;
	b->prev = a->head;
	a->head = b;
	a->next = b->data;
	a->end = b->data + bytes;
	return 0;
}

void *arena_alloc(struct arena *a, size_t size, size_t align)
{
	size_t pad = a->next ? (size_t)(-(uintptr_t)a->next & (align - 1)) : 0;
	void *p;

	if (!a->next || pad > (size_t)(a->end - a->next) || size > (size_t)(a->end - a->next) - pad) {
		if (size > SIZE_MAX - align || arena_grow(a, size + align))
			return NULL;
		pad = (size_t)(-(uintptr_t)a->next & (align - 1));
	}
	p = a->next + pad;
	a->next += pad + size;
	a->total_bytes += size;
	return p;
}

void *arena_zalloc(struct arena *a, size_t size)
{
	void *p = arena_alloc(a, size, 16);

	return p ? memset(p, 0, size) : NULL;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return arena_zalloc(a, bytes);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = n < SIZE_MAX ? arena_alloc(a, n + 1, 1) : NULL;

	if (!p)
		return NULL;
	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *p;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1, 1);
	if (p)
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

void arena_free(struct arena *a)
{
	struct arena_block *b = a->head;

	while (b) {
		struct arena_block *prev = b->prev;

		free(b);
		b = prev;
	}
	memset(a, 0, sizeof(*a));
}
