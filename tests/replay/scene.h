/* SPDX-License-Identifier: Apache-2.0
 *
 * scene: what the tests of whole replays share: a folder with a trace made by hand (trace_builder.h), the result
 * database of its replay, and the calls that most traces have. `b` is the trace being made.
 */
#ifndef CUTRACE_TESTS_REPLAY_SCENE_H
#define CUTRACE_TESTS_REPLAY_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/replay.h"
#include "trace_builder.h"

/* Handles and the host address of the recording. */
#define CTX      0x1000
#define MODULE   0x2000
#define FUNCTION 0x3000
#define STREAM   0x4000
#define HOST     UINT64_C(0x7ffe00001000)

extern char dir[64], trace_path[128], log_path[128], result_path[128];
extern struct builder b;

bool scene_begin(void); /* makes the folder */
int scene_end(int rc);  /* removes it when rc is 0; returns the program's status */
void name_memory(uint64_t call, unsigned param, const char *name);
void make_context(uint64_t ctx, uint64_t device);
uint64_t allocate(uint64_t base, uint64_t bytes);
uint64_t upload(uint64_t dst, const void *data, size_t bytes);
uint64_t download(uint64_t src, const void *data, size_t bytes);
/* First value of a query over the result database, as text. */
const char *result(const char *sql);

#endif
