/* SPDX-License-Identifier: Apache-2.0
 *
 * diag: how libraries report errors. A library function returns 0 or a
 * negative CUTRACE_E* code and fills a struct diag with what, where, why and
 * what to do; it never prints and never exits. Commands print the diag.
 */
#ifndef CUTRACE_DIAG_H
#define CUTRACE_DIAG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

enum cutrace_error {
	CUTRACE_OK = 0,
	CUTRACE_EINVAL = -1,  /* the caller or the input is wrong */
	CUTRACE_EIO = -2,     /* the system refused: file, socket, mapping */
	CUTRACE_ENOMEM = -3,
	CUTRACE_EFORMAT = -4, /* bytes that are not what they claim to be */
	CUTRACE_ENOTSUP = -5, /* understood, and not supported */
	CUTRACE_ENOENT = -6,
	CUTRACE_ECORRUPT = -7,
};

/* One problem. `where` is "file:line:col", a path, or empty. */
struct diag {
	int code;
	char where[256];
	char what[512];
	char hint[256]; /* what the user can do; may be empty */
};

#define DIAG_INIT { 0 }

#if defined(__GNUC__)
#define DIAG_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define DIAG_PRINTF(a, b)
#endif

/* Fills `d` (which may be NULL) and returns `code`, so that callers can write
 * `return diag_set(d, CUTRACE_EIO, path, "cannot open: %s", strerror(errno))`. */
int diag_set(struct diag *d, int code, const char *where, const char *fmt, ...) DIAG_PRINTF(4, 5);
int diag_vset(struct diag *d, int code, const char *where, const char *fmt, va_list ap) DIAG_PRINTF(4, 0);
/* Adds the remedy to a diag that is already set. */
void diag_hint(struct diag *d, const char *fmt, ...) DIAG_PRINTF(2, 3);
/* Two lines: "where: error: what", then "  hint: ..." when there is one. */
void diag_print(const struct diag *d, FILE *out);

#endif
