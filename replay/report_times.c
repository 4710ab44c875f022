/* SPDX-License-Identifier: Apache-2.0
 *
 * How long kernels took (replay --repeat): launches of one kernel with the same grid are one line.
 */
#include <inttypes.h>

#include "replay/report.h"

/* The median of a line is that of its launches' medians; total: of the medians, so as often as the program launches it. */
const char *const report_times_sql =
	"WITH t AS (SELECT *, row_number() OVER (PARTITION BY kernel_name, grid, block, shared_bytes ORDER BY median) AS r, "
	"count(*) OVER (PARTITION BY kernel_name, grid, block, shared_bytes) AS k FROM timing) "
	"SELECT kernel_name AS kernel, grid, block, shared_bytes, count(*) AS launches, min(n) AS runs, min(min) AS min_ns, "
	"CAST(avg(CASE WHEN r IN ((k + 1) / 2, k / 2 + 1) THEN median END) AS INTEGER) AS median_ns, "
	"CAST(sum(sum) * 1.0 / sum(n) AS INTEGER) AS mean_ns, max(max) AS max_ns, sum(median) AS total_ns, "
	"sum(median) * 1.0 / max(1, (SELECT sum(median) FROM timing)) AS share, max(restored) AS restored, "
	"min(by_events) AS by_events FROM t GROUP BY kernel_name, grid, block, shared_bytes ORDER BY total_ns DESC, kernel_name";
enum {
	T_KERNEL,
	T_GRID,
	T_BLOCK,
	T_SHARED,
	T_LAUNCHES,
	T_RUNS,
	T_MIN,
	T_MEDIAN,
	T_MEAN,
	T_MAX,
	T_TOTAL,
	T_SHARE,
	T_RESTORED,
	T_EVENTS
};

static void print_row(FILE *out, sqlite3_stmt *st)
{
	char shape[112];

	snprintf(shape, sizeof(shape), "%s of %s", text(st, T_GRID), text(st, T_BLOCK));
	fprintf(out, "  %-28.60s %-24s %8" PRId64 " %11.3f %11.3f %11.3f %11.3f %6.1f %%\n",
		text(st, T_KERNEL), shape, integer(st, T_LAUNCHES), (double)integer(st, T_MIN) / 1e3,
		(double)integer(st, T_MEDIAN) / 1e3, (double)integer(st, T_MEAN) / 1e3,
		(double)integer(st, T_MAX) / 1e3, 100 * sqlite3_column_double(st, T_SHARE));
}

void report_times(sqlite3 *db, FILE *out)
{
	sqlite3_stmt *st = NULL;
	bool any = false;

	sqlite3_prepare_v2(db, report_times_sql, -1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		if (!any)
			fprintf(out,
				"\ntimes in microseconds, by the %s clock, of %" PRId64
				" runs of each launch after the one that was compared\n"
				"  %-28s %-24s %8s %11s %11s %11s %11s %8s\n",
				integer(st, T_EVENTS) ? "GPU's" : "host's", integer(st, T_RUNS), "kernel",
				"grid of block", "launches", "min", "median", "mean", "max", "share");
		any = true;
		print_row(out, st);
	}
	sqlite3_finalize(st);
}
