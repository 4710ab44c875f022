/* SPDX-License-Identifier: Apache-2.0
 *
 * arena: memory for things that die together (a parsed module, one page of a
 * loaded trace). Allocation never fails half-way: on exhaustion NULL is
 * returned and the arena stays valid.
 */
#ifndef CUTRACE_ARENA_H
#define CUTRACE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *head;
	char *next, *end;
	size_t total_bytes; /* handed out, for statistics */
};

/* A zeroed struct arena is ready for use. */
void *arena_alloc(struct arena *a, size_t size, size_t align); /* uninitialised */
void *arena_zalloc(struct arena *a, size_t size);	       /* zeroed, 16-aligned */
void *arena_array(struct arena *a, size_t n, size_t size);     /* zeroed, overflow-checked */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a); /* leaves it empty and ready */

#endif
