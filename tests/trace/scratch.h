/* SPDX-License-Identifier: Apache-2.0
 *
 * scratch: a folder for the files of one test program, removed at its end, and helpers that fail the test.
 */
#ifndef CUTRACE_TESTS_SCRATCH_H
#define CUTRACE_TESTS_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/trace.h"

int scratch_setup(void **state);    /* cmocka group setup */
int scratch_teardown(void **state); /* removes the folder */
const char *scratch_path(const char *name);
struct trace_writer *scratch_writer(const char *name);
void scratch_close(struct trace_writer *w);
struct trace *scratch_open(const char *name);
bool scratch_exists(const char *name, const char *suffix);
void scratch_copy(const char *from, const char *to);
/* A process, a thread and a function: what a call refers to. Returns function.id. */
uint32_t scratch_basics(struct trace_writer *w);
struct trace_call scratch_call(uint64_t id, uint32_t func);
/* First column of the first row as an integer. */
int64_t scratch_query(const char *path, const char *sql);
/* Runs SQL that changes the file. */
void scratch_change(const char *path, const char *sql);
/* n bytes that do not compress, the same for the same seed. */
void scratch_noise(uint8_t *p, size_t n, uint64_t seed);

#endif
