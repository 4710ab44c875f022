/* SPDX-License-Identifier: Apache-2.0
 *
 * The result database of a replay: SQLite, application_id 0x43555244 ("CURD"), user_version 1. The schema
 * below is its documentation. `pass` is 1, or 2 for the second base of --verify-addresses; `process` and all
 * ids (call, kernel, allocation, launch) are those of the trace. Addresses are recorded addresses unless
 * named live.
 */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "replay/engine.h"
#include "replay/extension_client.h"

#define COMMIT_ROWS 2000
#define BUSY_MS     60000

static const char schema[] =
	"PRAGMA application_id = 0x43555244; PRAGMA user_version = 1;"
	/* trace, uuid, target, device, driver_version, limits, status, note... */
	"CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	/* One row per comparison. kind: 'copy' a device-to-host result, 'hash' an allocation after a launch,
	 * 'fault', 'result' a call's return value. grade: equal, tolerated (inside --ulp/--rtol/--atol),
	 * differs, unverified (could not be compared, or something before it could not be replayed), fault
	 * (the recording had none). launch, kernel: who wrote the bytes last; kernel_name also when the trace
	 * has no row for it. first: index of the first differing element in the copy; byte_offset: its offset
	 * in the allocation; address, live: its device address as recorded and here; want, got: its values as
	 * text. max_ulp NULL: a NaN on one side only. line, text, source (of the PTX), block, thread: where a fault was.
	 * wrong_*: inside the kernel, the first PTX line that is wrong (narrow.c): its line in the module's PTX, text, place in
	 * the source, operands, result as it should be and as it was here, who executed it; wrong_how: 'instruction'
	 * (judged on its own operands), 'values' (the first value that is another than in the interpreter), 'store' (only the line
	 * that stored the element is known). inherited: the launch that made wrong what this one read, or left here. */
	"CREATE TABLE IF NOT EXISTS verdict (id INTEGER PRIMARY KEY, pass INTEGER, process INTEGER, call "
	"INTEGER,"
	" kind TEXT, grade TEXT, func TEXT, launch INTEGER, kernel INTEGER, kernel_name TEXT, allocation "
	"INTEGER,"
	" base INTEGER, bytes INTEGER, elem_type TEXT, elements INTEGER, differing INTEGER, beyond INTEGER,"
	" max_ulp INTEGER, max_abs REAL, max_rel REAL, first INTEGER, byte_offset INTEGER, address INTEGER,"
	" live INTEGER, want TEXT, got TEXT, note TEXT, line INTEGER, text TEXT, source TEXT, block TEXT, "
	"thread TEXT,"
	" wrong_line INTEGER, wrong_ptx TEXT, wrong_source TEXT, wrong_operands TEXT, wrong_want TEXT, "
	"wrong_got TEXT, wrong_thread TEXT, wrong_how TEXT, inherited INTEGER);"
	"CREATE TABLE IF NOT EXISTS diagnostic (id INTEGER PRIMARY KEY, pass INTEGER, process INTEGER, call "
	"INTEGER,"
	" severity TEXT, message TEXT);"
	/* policy: placed, same, vmm, translated; created: call. */
	"CREATE TABLE IF NOT EXISTS allocation (pass INTEGER, process INTEGER, id INTEGER, created INTEGER,"
	" kind TEXT, base INTEGER, bytes INTEGER, live INTEGER, policy TEXT);"
	/* calls, issued, skipped, nested, launches, copies, hashes, ... */
	"CREATE TABLE IF NOT EXISTS count (pass INTEGER, process INTEGER, what TEXT, n INTEGER,"
	" PRIMARY KEY (pass, process, what)) WITHOUT ROWID;"
	/* Who stored the first differing element. how: 'watched' (the device told the last store before the
	 * end of the launch or call), 'analysis' (stores of the kernel that may reach the buffer). Blocks,
	 * threads: 'x,y,z'. */
	"CREATE TABLE IF NOT EXISTS store (id INTEGER PRIMARY KEY, process INTEGER, verdict INTEGER, how "
	"TEXT,"
	" launch INTEGER, kernel_name TEXT, line INTEGER, text TEXT, source TEXT, block TEXT, thread TEXT, "
	"note TEXT);"
	/* --repeat: nanoseconds of n runs of a launch, median and all. restored: each began with what was there before the launch;
	 * by_events: by the GPU's clock, else the host's. */
	"CREATE TABLE IF NOT EXISTS timing (process INTEGER, launch INTEGER, kernel_name TEXT, grid TEXT, block TEXT, "
	"shared_bytes INTEGER, n INTEGER, min INTEGER, median INTEGER, sum INTEGER, max INTEGER, restored INTEGER, "
	"by_events INTEGER);"
	/* Of an isolated replay: calls from first to before `end` are judged. */
	"CREATE TABLE IF NOT EXISTS done (process INTEGER, first INTEGER, \"end\" INTEGER);";

struct result_db {
	sqlite3 *db;
	sqlite3_stmt *verdict, *diagnostic, *allocation, *count;
	uint32_t process;
	unsigned pass, rows;
	const struct engine *shard; /* only rows of its calls are written; NULL: all */
	struct ledger_board *board;
	struct timespec flushed;
	bool mute; /* only stores are written: a run that repeats another */
};

static sqlite3_stmt *prepare(struct result_db *r, const char *sql)
{
	sqlite3_stmt *st = NULL;

	sqlite3_prepare_v2(r->db, sql, -1, &st, NULL);
	return st;
}

static int open_failed(const struct result_db *r, const char *path, struct diag *d)
{
	int error = r->db ? sqlite3_system_errno(r->db) : ENOMEM;

	if (trace_path_too_long(path, d))
		return CUTRACE_EINVAL;
	diag_set(d, CUTRACE_EIO, path, "the results can't be written there: %s",
		 error ? strerror(error) : sqlite3_errmsg(r->db));
	diag_hint(d, "check that the folder exists and may be written, or name another file with -o");
	return CUTRACE_EIO;
}

static int open_file(struct result_db *r, const char *path, bool create, struct diag *d)
{
	char *error = NULL;
	int rc;

	if (sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), NULL) !=
	    SQLITE_OK)
		return open_failed(r, path, d);
	/* A replay can be repeated: nothing is worth waiting for the disk. But one that is killed leaves what can be
	 * read, and gone on with. */
	sqlite3_busy_timeout(r->db, BUSY_MS); /* of several processes that look into what differs */
	sqlite3_exec(r->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
	if (!create)
		return 0;
	rc = sqlite3_exec(r->db, schema, NULL, NULL, &error);
	if (rc != SQLITE_OK)
		diag_set(d, CUTRACE_EIO, path, "cannot write the result database: %s",
			 error ? error : "unknown");
	sqlite3_free(error);
	return rc == SQLITE_OK ? 0 : CUTRACE_EIO;
}

int result_check_target(const char *path, struct diag *d)
{
	uint8_t head[72] = {0};
	struct stat st;
	size_t n;
	FILE *f;

	if (stat(path, &st))
		return errno == ENOENT ? 0 : diag_set(d, CUTRACE_EIO, path, "%s", strerror(errno));
	f = S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
	n = f ? fread(head, 1, sizeof(head), f) : 0;
	if (f)
		fclose(f);
	/* https://www.sqlite.org/fileformat2.html: magic at 0, application id at 68, big-endian */
	if (f && (!n || (n == sizeof(head) && !memcmp(head, "SQLite format 3", 16) &&
			 !memcmp(head + 68, "CURD", 4))))
		return 0;
	diag_set(d, CUTRACE_EINVAL, path, "this exists and is no result of a replay; it is not overwritten");
	diag_hint(d, "-o names the file for the results, not the trace; choose another name, or remove it");
	return CUTRACE_EINVAL;
}

int result_open(struct result_db **out, const char *path, bool create, struct diag *d)
{
	struct result_db *r = calloc(1, sizeof(*r));
	int rc = r ? open_file(r, path, create, d) : diag_set(d, CUTRACE_ENOMEM, path, "out of memory");

	*out = r;
	if (rc) {
		result_close(r);
		*out = NULL;
		return rc;
	}
	sqlite3_exec(r->db, "BEGIN", NULL, NULL, NULL);
	r->verdict = prepare(r, "INSERT INTO verdict VALUES "
				"(NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
				"NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,?)");
	r->diagnostic = prepare(r, "INSERT INTO diagnostic VALUES (NULL,?,?,?,?,?)");
	r->allocation = prepare(r, "INSERT INTO allocation VALUES (?,?,?,?,?,?,?,?,?)");
	r->count = prepare(r, "INSERT OR REPLACE INTO count VALUES (?,?,?,?)");
	if (r->verdict && r->diagnostic && r->allocation && r->count)
		return 0;
	diag_set(d, CUTRACE_EFORMAT, path, "is no result database of this version: %s",
		 sqlite3_errmsg(r->db));
	result_close(r);
	*out = NULL;
	return CUTRACE_EFORMAT;
}

void result_close(struct result_db *r)
{
	if (!r)
		return;
	sqlite3_finalize(r->verdict);
	sqlite3_finalize(r->diagnostic);
	sqlite3_finalize(r->allocation);
	sqlite3_finalize(r->count);
	if (r->db && !sqlite3_get_autocommit(r->db))
		sqlite3_exec(r->db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(r->db);
	free(r);
}

struct sqlite3 *result_sqlite(struct result_db *r)
{
	return r->db;
}

void result_mute(struct result_db *r)
{
	r->mute = true;
}

void result_of_shard(struct result_db *r, const struct engine *e)
{
	r->shard = e;
}

void result_watch(struct result_db *r, struct ledger_board *board)
{
	r->board = board;
}

static bool in_range(const struct result_db *r, uint64_t call)
{
	return !call || !r->shard || shard_has(r->shard, call);
}

void result_scope(struct result_db *r, uint32_t process, unsigned pass)
{
	r->process = process;
	r->pass = pass;
}

void result_flush(struct result_db *r)
{
	sqlite3_exec(r->db, "COMMIT; BEGIN", NULL, NULL, NULL);
	r->rows = 0;
}

static void step(struct result_db *r, sqlite3_stmt *st)
{
	if (!r->mute)
		sqlite3_step(st);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	if (++r->rows >= COMMIT_ROWS)
		result_flush(r);
}

void result_meta(struct result_db *r, const char *key, const char *value)
{
	sqlite3_stmt *st = prepare(r, "INSERT OR REPLACE INTO meta VALUES (?,?)");

	sqlite3_bind_text(st, 1, key, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(st, 2, value, -1, SQLITE_TRANSIENT);
	sqlite3_step(st);
	sqlite3_finalize(st);
}

void result_meta_text(struct result_db *r, const char *key, char *out, size_t size)
{
	sqlite3_stmt *st = NULL;

	out[0] = '\0';
	sqlite3_prepare_v2(r->db, "SELECT value FROM meta WHERE key = ?", -1, &st, NULL);
	sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	if (st && sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0))
		snprintf(out, size, "%s", (const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
}

void result_count(struct result_db *r, const char *what, uint64_t n)
{
	sqlite3_bind_int64(r->count, 1, r->pass);
	sqlite3_bind_int64(r->count, 2, r->process);
	sqlite3_bind_text(r->count, 3, what, -1, SQLITE_STATIC);
	sqlite3_bind_int64(r->count, 4, (sqlite3_int64)n);
	step(r, r->count);
}

/* Ids that are 0 mean "none". */
static void bind_id(sqlite3_stmt *st, int i, uint64_t id)
{
	if (id)
		sqlite3_bind_int64(st, i, (sqlite3_int64)id);
}

static void bind_text(sqlite3_stmt *st, int i, const char *s)
{
	if (s && *s)
		sqlite3_bind_text(st, i, s, -1, SQLITE_TRANSIENT);
}

static void bind_difference(sqlite3_stmt *st, const struct verdict *v)
{
	if (!v->r.differing)
		return;
	if (v->r.max_ulp != COMPARE_NO_ULP)
		sqlite3_bind_int64(st, 17, (sqlite3_int64)v->r.max_ulp);
	sqlite3_bind_double(st, 18, v->r.max_abs);
	sqlite3_bind_double(st, 19, v->r.max_rel);
	if (!v->r.elements) /* a hash: which element is not known */
		return;
	sqlite3_bind_int64(st, 20, (sqlite3_int64)v->r.first);
	sqlite3_bind_int64(st, 21, (sqlite3_int64)v->offset);
}

static void bind_place(sqlite3_stmt *st, const struct extension_fault *f)
{
	char block[48], thread[48];

	snprintf(block, sizeof(block), "%u,%u,%u", f->block[0], f->block[1], f->block[2]);
	snprintf(thread, sizeof(thread), "%u,%u,%u", f->thread[0], f->thread[1], f->thread[2]);
	bind_id(st, 27, f->line);
	bind_text(st, 28, f->text);
	bind_text(st, 29, f->source);
	bind_text(st, 30, f->line ? block : NULL);
	bind_text(st, 31, f->line ? thread : NULL);
}

/* What matters survives a driver that dies; where nearly all differs, most of it does. */
static void flush_now_and_then(struct result_db *r)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((now.tv_sec - r->flushed.tv_sec) * 1000 + (now.tv_nsec - r->flushed.tv_nsec) / 1000000 < 20)
		return;
	result_flush(r);
	r->flushed = now;
}

void result_verdict(struct result_db *r, const struct verdict *v)
{
	sqlite3_stmt *st = r->verdict;

	if (!in_range(r, v->call))
		return;
	sqlite3_bind_int64(st, 1, r->pass);
	sqlite3_bind_int64(st, 2, r->process);
	bind_id(st, 3, v->call);
	bind_text(st, 4, v->kind);
	bind_text(st, 5, v->grade);
	bind_text(st, 6, v->func);
	bind_id(st, 7, v->launch);
	bind_id(st, 8, v->kernel);
	bind_text(st, 9, v->kernel_name);
	bind_id(st, 10, v->allocation);
	bind_id(st, 11, v->base);
	sqlite3_bind_int64(st, 12, (sqlite3_int64)v->bytes);
	bind_text(st, 13, v->elem_type);
	sqlite3_bind_int64(st, 14, (sqlite3_int64)v->r.elements);
	sqlite3_bind_int64(st, 15, (sqlite3_int64)v->r.differing);
	sqlite3_bind_int64(st, 16, (sqlite3_int64)v->r.beyond);
	bind_difference(st, v);
	bind_id(st, 22, v->address);
	bind_id(st, 23, v->live);
	bind_text(st, 24, v->want);
	bind_text(st, 25, v->got);
	bind_text(st, 26, v->note);
	bind_id(st, 32, v->inherited);
	if (v->fault)
		bind_place(st, v->fault);
	step(r, st);
	if (!v->r.beyond && strcmp(v->grade, "fault") != 0)
		return;
	if (r->board)
		atomic_fetch_add(&r->board->differences, 1);
	flush_now_and_then(r);
}

void result_done(struct result_db *r, uint64_t first, uint64_t end)
{
	sqlite3_stmt *st = prepare(r, "INSERT INTO done VALUES (?,?,?)");

	sqlite3_bind_int64(st, 1, r->process);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)first);
	sqlite3_bind_int64(st, 3, end > INT64_MAX ? INT64_MAX : (sqlite3_int64)end);
	sqlite3_step(st);
	sqlite3_finalize(st);
	result_flush(r);
}

void result_diagnostic(struct result_db *r, uint64_t call, const char *severity, const char *message)
{
	if (!in_range(r, call))
		return;
	sqlite3_bind_int64(r->diagnostic, 1, r->pass);
	sqlite3_bind_int64(r->diagnostic, 2, r->process);
	bind_id(r->diagnostic, 3, call);
	bind_text(r->diagnostic, 4, severity);
	bind_text(r->diagnostic, 5, message);
	step(r, r->diagnostic);
}

void result_allocation(struct result_db *r, const struct address_range *a)
{
	sqlite3_stmt *st = r->allocation;

	sqlite3_bind_int64(st, 1, r->pass);
	sqlite3_bind_int64(st, 2, r->process);
	bind_id(st, 3, a->id);
	bind_id(st, 4, a->created);
	bind_text(st, 5, a->kind);
	sqlite3_bind_int64(st, 6, (sqlite3_int64)a->base);
	sqlite3_bind_int64(st, 7, (sqlite3_int64)a->bytes);
	sqlite3_bind_int64(st, 8, (sqlite3_int64)a->live);
	bind_text(st, 9, address_policy_names[a->policy]);
	step(r, st);
}

void result_store(struct result_db *r, const struct store_row *s)
{
	sqlite3_stmt *st = prepare(r, "INSERT INTO store VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?)");
	char block[48], thread[48];

	snprintf(block, sizeof(block), "%u,%u,%u", s->block[0], s->block[1], s->block[2]);
	snprintf(thread, sizeof(thread), "%u,%u,%u", s->thread[0], s->thread[1], s->thread[2]);
	sqlite3_bind_int64(st, 1, r->process);
	bind_id(st, 2, s->verdict);
	bind_text(st, 3, s->how);
	bind_id(st, 4, s->launch);
	bind_text(st, 5, s->kernel_name);
	bind_id(st, 6, s->line);
	bind_text(st, 7, s->text);
	bind_text(st, 8, s->source);
	if (s->has_place) {
		bind_text(st, 9, block);
		bind_text(st, 10, thread);
	}
	bind_text(st, 11, s->note);
	sqlite3_step(st);
	sqlite3_finalize(st);
}

void result_timing(struct result_db *r, const struct timing_row *t)
{
	sqlite3_stmt *st = prepare(r, "INSERT INTO timing VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)");
	const uint32_t *g = t->launch->grid, *b = t->launch->block;
	char grid[48], block[48];

	snprintf(grid, sizeof(grid), "%ux%ux%u", g[0], g[1], g[2]);
	snprintf(block, sizeof(block), "%ux%ux%u", b[0], b[1], b[2]);
	sqlite3_bind_int64(st, 1, r->process);
	bind_id(st, 2, t->launch->call);
	bind_text(st, 3, t->kernel_name);
	bind_text(st, 4, grid);
	bind_text(st, 5, block);
	sqlite3_bind_int64(st, 6, t->launch->shared_bytes);
	sqlite3_bind_int64(st, 7, t->n);
	sqlite3_bind_int64(st, 8, (sqlite3_int64)t->least);
	sqlite3_bind_int64(st, 9, (sqlite3_int64)t->median);
	sqlite3_bind_int64(st, 10, (sqlite3_int64)t->sum);
	sqlite3_bind_int64(st, 11, (sqlite3_int64)t->most);
	sqlite3_bind_int(st, 12, t->restored);
	sqlite3_bind_int(st, 13, t->by_events);
	sqlite3_step(st);
	sqlite3_finalize(st);
}
