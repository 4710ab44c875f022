/* SPDX-License-Identifier: Apache-2.0 */
#include "dump/info.h"

#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"

/* A poll that found work unfinished (600) is no error. What private functions return is not known to be a
 * result. */
#define FAILED                                                                                           \
	"c.result<>0 AND c.result<>600 AND c.func IN (SELECT id FROM function WHERE known AND name NOT " \
	"LIKE 'export:%')"

static const struct section {
	const char *key, *title, *sql;
} sections[] = {
	{"devices", "Devices",
	 "SELECT ordinal AS device, name, printf('%d.%d', cc / 10, cc % 10) AS cc, sm_count AS sms,"
	 " bytes, group_concat(process, ',') AS processes FROM device"
	 " GROUP BY ordinal, name, cc, sm_count, bytes, uuid ORDER BY ordinal"},
	{"counts", "Counts",
	 "SELECT (SELECT count(*) FROM call) AS calls,"
	 " (SELECT count(*) FROM call c WHERE " FAILED ") AS failed,"
	 " (SELECT count(*) FROM call WHERE t_exit IS NULL) AS in_flight,"
	 " (SELECT count(*) FROM launch) AS launches, (SELECT count(*) FROM kernel) AS kernels,"
	 " (SELECT count(*) FROM image) AS images, (SELECT count(*) FROM allocation) AS allocations,"
	 " (SELECT count(*) FROM buffer) AS buffers, (SELECT coalesce(sum(bytes),0) FROM buffer) AS "
	 "buffer_bytes,"
	 " (SELECT coalesce(sum(bytes),0) FROM chunk) AS unique_bytes"},
	{"processes", "Processes",
	 "SELECT p.id AS process, p.pid AS pid, p.parent AS parent,"
	 " (SELECT count(*) FROM thread t WHERE t.process=p.id) AS threads,"
	 " coalesce(p.end_kind,'unknown') AS end, p.end_code AS code, p.exe AS exe, p.argv AS argv FROM "
	 "process p"
	 " ORDER BY p.id"},
	{"threads", "Threads",
	 "SELECT t.id AS thread, t.process AS process, t.tid AS tid, coalesce(c.n,0) AS calls, t.name AS name"
	 " FROM thread t LEFT JOIN (SELECT thread, count(*) AS n FROM call GROUP BY thread) c ON "
	 "c.thread=t.id ORDER BY t.id"},
	{"kernels", "Kernels by launches",
	 "SELECT count(*) AS launches, sum(l.gx*l.gy*l.gz*l.bx*l.by*l.bz) AS threads,"
	 " CASE k.has_ptx WHEN 1 THEN 'PTX' ELSE 'no PTX' END AS code, k.name AS kernel"
	 " FROM launch l JOIN kernel k ON k.id=l.kernel GROUP BY k.name, k.has_ptx ORDER BY launches DESC, "
	 "k.name"},
	{"functions", "Functions by calls",
	 "SELECT count(*) AS calls, sum(" FAILED
	 ") AS failed, round(sum(c.t_exit-c.t_enter)/1e6,3) AS total_ms,"
	 " f.name AS function FROM call c JOIN function f ON f.id=c.func GROUP BY c.func ORDER BY calls "
	 "DESC, f.name"},
	{"errors", "Failed calls",
	 "SELECT count(*) AS times, c.result AS result, f.name AS function, min(c.id) AS first_call"
	 " FROM call c JOIN function f ON f.id=c.func WHERE " FAILED
	 " GROUP BY c.func, c.result ORDER BY first_call"},
	{"in_flight", "Incomplete: calls in flight when the recording ended",
	 "SELECT c.id AS call, t.process AS process, c.thread AS thread, f.name AS function"
	 " FROM call c JOIN function f ON f.id=c.func JOIN thread t ON t.id=c.thread WHERE c.t_exit IS NULL "
	 "ORDER BY c.id"},
	{"unavailable", "Incomplete: data that could not be recorded",
	 "SELECT count(*) AS times, min(p.call) AS first_call, coalesce(p.note,'no reason given') AS reason"
	 " FROM payload p WHERE p.kind='unavailable' GROUP BY p.note ORDER BY first_call"},
	{"no_ptx", "Kernels that came without PTX",
	 "SELECT (SELECT count(*) FROM launch l WHERE l.kernel=k.id) AS launches, i.archs AS image, k.name "
	 "AS kernel"
	 " FROM kernel k LEFT JOIN module m ON m.id=k.module LEFT JOIN image i ON i.buffer=m.image"
	 " WHERE k.has_ptx=0 ORDER BY launches DESC, k.name"},
	{"machine_code",
	 "Code of which the driver ran machine code (record --reference ptx makes it run PTX)",
	 "SELECT r.what AS ran, i.archs AS image, (SELECT group_concat(name, ' ') FROM (SELECT k.name FROM kernel k, module m"
	 " WHERE k.module=m.id AND m.image=r.image ORDER BY k.name LIMIT 4)) AS kernels FROM image_run r JOIN image i ON"
	 " i.buffer=r.image WHERE r.what LIKE 'elf%' GROUP BY r.image"},
	{"unknown_functions",
	 "Functions that this recorder did not know: recorded by name, with raw registers",
	 "SELECT count(*) AS calls, f.name AS function FROM call c JOIN function f ON f.id=c.func WHERE "
	 "f.known=0"
	 " GROUP BY f.id ORDER BY f.name"},
	{"diagnostics", "Messages of the recording",
	 "SELECT count(*) AS times, severity, source, min(call) AS first_call, message FROM diagnostic"
	 " GROUP BY severity, source, message ORDER BY min(id)"},
	{"overhead", "The recorder's own cost",
	 "SELECT process, what, sum(count) AS count, sum(bytes) AS bytes, round(sum(ns)/1e6,3) AS ms FROM "
	 "overhead"
	 " GROUP BY process, what ORDER BY process, what"},
};

static struct info_cell cell(struct info *info, sqlite3_stmt *s, int i)
{
	struct info_cell c = {.kind = INFO_NULL};
	const char *text;

	switch (sqlite3_column_type(s, i)) {
	case SQLITE_INTEGER:
		c.kind = INFO_INT;
		c.i = sqlite3_column_int64(s, i);
		break;
	case SQLITE_FLOAT:
		c.kind = INFO_REAL;
		c.real = sqlite3_column_double(s, i);
		break;
	case SQLITE_TEXT:
		text = arena_strdup(&info->arena, (const char *)sqlite3_column_text(s, i));
		c.kind = text ? INFO_TEXT : INFO_NULL;
		c.text = text;
		break;
	default: break;
	}
	return c;
}

/* Result codes by name; a trace that was not closed has no table of them. */
static void name_result(const char *column, struct info_cell *c)
{
	const struct api_enum *e;
	const char *name;

	if (c->kind != INFO_INT || strcmp(column, "result") != 0)
		return;
	e = api_enum_find("CUresult");
	name = e ? api_enum_name(e, c->i) : NULL;
	if (!name)
		return;
	c->kind = INFO_TEXT;
	c->text = name;
}

static bool add_row(struct info *info, struct info_table *t, unsigned *capacity, sqlite3_stmt *s)
{
	unsigned i;

	if (t->nrows == *capacity) {
		unsigned more = *capacity ? *capacity * 2 : 16;
		void *p = arena_array(&info->arena, more, sizeof(*t->rows));

		if (!p)
			return false;
		if (t->nrows)
			memcpy(p, t->rows, t->nrows * sizeof(*t->rows));
		t->rows = p;
		*capacity = more;
	}
	for (i = 0; i < t->ncolumns; i++) {
		t->rows[t->nrows][i] = cell(info, s, (int)i);
		name_result(t->columns[i], &t->rows[t->nrows][i]);
	}
	t->nrows++;
	return true;
}

/* Not in traces of schema 1. */
static bool has_image_runs(struct trace *t)
{
	sqlite3_stmt *s = NULL;
	bool yes;

	sqlite3_prepare_v2(trace_db(t), "SELECT 1 FROM sqlite_master WHERE name = 'image_run'", -1, &s, NULL);
	yes = sqlite3_step(s) == SQLITE_ROW;
	sqlite3_finalize(s);
	return yes;
}

static int gather(struct info *info, struct trace *trace, const struct section *section, unsigned limit,
		  struct diag *d)
{
	struct info_table *t = &info->tables[info->ntables++];
	unsigned capacity = 0, i;
	sqlite3_stmt *s;
	int rc = SQLITE_DONE;

	t->key = section->key;
	t->title = section->title;
	if (!strcmp(section->key, "machine_code") && !has_image_runs(trace))
		return 0;
	if (sqlite3_prepare_v2(trace_db(trace), section->sql, -1, &s, NULL) != SQLITE_OK)
		return diag_set(d, CUTRACE_ECORRUPT, info->file, "%s", sqlite3_errmsg(trace_db(trace)));
	t->ncolumns = (unsigned)sqlite3_column_count(s);
	t->ncolumns = t->ncolumns < INFO_MAX_COLUMNS ? t->ncolumns : INFO_MAX_COLUMNS;
	for (i = 0; i < t->ncolumns; i++)
		t->columns[i] = arena_strdup(&info->arena, sqlite3_column_name(s, (int)i));
	while ((!limit || t->nrows < limit) && (rc = sqlite3_step(s)) == SQLITE_ROW)
		if (!add_row(info, t, &capacity, s))
			break;
	t->more = rc == SQLITE_ROW && sqlite3_step(s) == SQLITE_ROW;
	sqlite3_finalize(s);
	if (rc == SQLITE_DONE || rc == SQLITE_ROW)
		return 0;
	return diag_set(d, CUTRACE_ECORRUPT, info->file, "%s", sqlite3_errmsg(trace_db(trace)));
}

/* A thread or process that could not be recorded, and the like. */
static int64_t count_errors(struct trace *t)
{
	sqlite3_stmt *s = NULL;
	int64_t n = 0;

	sqlite3_prepare_v2(trace_db(t),
			   "SELECT count(*) FROM diagnostic WHERE severity='error' AND source IN "
			   "('recorder','collector')",
			   -1, &s, NULL);
	if (sqlite3_step(s) == SQLITE_ROW)
		n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return n;
}

int info_gather(struct info *info, struct trace *t, const char *file, unsigned limit, struct diag *d)
{
	static const struct section meta = {"recording", "Recording",
					    "SELECT key, value FROM meta ORDER BY key"};
	const size_t n = sizeof(sections) / sizeof(sections[0]);
	struct stat st;
	size_t i;
	int rc;

	memset(info, 0, sizeof(*info));
	info->file = file;
	info->file_bytes = stat(file, &st) ? 0 : (int64_t)st.st_size;
	info->closed = trace_meta_int(t, "closed", 0) == 1;
	info->has_row_hashes = trace_has_row_hashes(t);
	info->cut_off = trace_cut_off(t, &info->last_call);
	info->errors = count_errors(t);
	info->tables = arena_array(&info->arena, n + 1, sizeof(*info->tables));
	if (!info->tables)
		return diag_set(d, CUTRACE_ENOMEM, file, "out of memory");
	rc = gather(info, t, &meta, 0, d);
	for (i = 0; i < n && !rc; i++)
		rc = gather(info, t, &sections[i], limit, d);
	return rc;
}

void info_free(struct info *info)
{
	arena_free(&info->arena);
}
