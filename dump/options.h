/* SPDX-License-Identifier: Apache-2.0
 *
 * options: the command line of `cutrace dump`.
 */
#ifndef CUTRACE_DUMP_OPTIONS_H
#define CUTRACE_DUMP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

enum result_filter { RESULT_ANY, RESULT_OK, RESULT_ERROR, RESULT_IN_FLIGHT, RESULT_VALUE };

struct dump_options {
	const char *file;
	bool help, json, stable, launches, verify;
	const char *functions;    /* comma-separated globs, or NULL */
	uint32_t thread, process; /* 0 = all */
	enum result_filter result;
	int64_t result_value;
	bool has_time;
	double time_from_ms, time_to_ms;
	uint64_t first, last; /* calls */
	const char *modules;  /* folder */
	bool has_buffer, has_payload;
	uint64_t buffer, payload;
	const char *type;       /* of elements; NULL: bytes in hexadecimal */
	uint64_t offset, count; /* elements; count UINT64_MAX = all */
};

extern const char dump_usage[];
/* 0, or CUTRACE_EINVAL with what is wrong. */
int dump_options_parse(struct dump_options *o, int argc, char **argv, struct diag *d);
bool dump_match_function(const char *globs, const char *name);

#endif
