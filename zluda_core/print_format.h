/* SPDX-License-Identifier: Apache-2.0
 *
 * print_format: what printf makes of a format and arguments that come from a kernel (CUDA C++ Programming Guide,
 * "Formatted Output"). Where they come from is the caller's: device memory, or a record of it.
 *
 * Depends on libc.
 */
#ifndef CUTRACE_PRINT_FORMAT_H
#define CUTRACE_PRINT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing text, NUL-terminated once something was appended; the owner frees s. */
struct print_text {
	char *s;
	size_t n, cap;
};
void print_text_append(struct print_text *t, const char *s, size_t n);

struct print_source {
	void *ctx;
	/* The next argument, naturally aligned, of 4 or 8 bytes; false ends the text. */
	bool (*argument)(void *ctx, unsigned bytes, uint64_t *value);
	/* Appends the string at an address, which is that of a %s and not null. */
	bool (*string)(void *ctx, uint64_t address, struct print_text *out);
};

/* Appends to out; the number of arguments printed, or -1 when the source ended it. */
int print_format(struct print_text *out, const char *format, const struct print_source *source);

#endif
