/* SPDX-License-Identifier: Apache-2.0
 *
 * harness: runs programs under `cutrace record` and looks into the traces.
 */
#ifndef CUTRACE_TESTS_INTERPOSE_HARNESS_H
#define CUTRACE_TESTS_INTERPOSE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <sys/types.h>

#include "trace/trace.h"

struct outcome {
	int status;      /* as waitpid gives it */
	long max_rss_kb; /* of the largest process there was */
	char out[65536], err[65536];
};

/* Runs argv[0] (an absolute path) and waits. */
void run(struct outcome *o, char *const argv[]);
/* cutrace record -o TRACE --driver DRIVER [option] -- app args... (NULL-terminated); option may be NULL. */
void record(struct outcome *o, const char *trace, const char *option, const char *app, ...);
/* Starts and does not wait; the program's own pid is found by child_of. */
pid_t start_record(const char *trace, const char *app, ...);
/* Teardown of a test that uses start_record: when it fails halfway, what it has started must not run on (it
 * holds the pipe that ctest reads to its end). */
int end_started(void **state);
pid_t child_named(pid_t parent, const char *name); /* 0 when there is none (yet) */

struct trace *open_trace(const char *path);
/* One number out of a query on the trace. */
int64_t query(struct trace *t, const char *sql, ...) __attribute__((format(printf, 2, 3)));
/* One text, static storage; "" for NULL or no row. */
const char *query_text(struct trace *t, const char *sql, ...) __attribute__((format(printf, 2, 3)));

#define APP  HERE "/interpose_app"
#define BUSY HERE "/interpose_busy"
#endif
