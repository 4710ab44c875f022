/* SPDX-License-Identifier: Apache-2.0
 *
 * info: a trace's summary as tables of rows: each section is one query. cmd_info.c prints them.
 */
#ifndef CUTRACE_DUMP_INFO_H
#define CUTRACE_DUMP_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "trace/trace.h"

#define INFO_MAX_COLUMNS 10

struct info_cell {
	enum { INFO_NULL, INFO_INT, INFO_REAL, INFO_TEXT } kind;
	int64_t i;
	double real;
	const char *text;
};

struct info_table {
	const char *key, *title;
	unsigned ncolumns, nrows;
	const char *columns[INFO_MAX_COLUMNS];
	struct info_cell (*rows)[INFO_MAX_COLUMNS];
	bool more; /* the table is longer than what is here */
};

struct info {
	struct arena arena;
	const char *file;
	int64_t file_bytes;
	bool closed, has_row_hashes;
	const char *cut_off; /* why the recording ended early; NULL: it did not */
	uint64_t last_call;  /* then */
	int64_t errors;      /* that the recorder or its collector reported */
	unsigned ntables;
	struct info_table *tables; /* the first is one row of facts */
};

/* limit: rows of a table, 0 = all. */
int info_gather(struct info *info, struct trace *t, const char *file, unsigned limit, struct diag *d);
void info_free(struct info *info);

#endif
