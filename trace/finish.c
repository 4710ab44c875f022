/* SPDX-License-Identifier: Apache-2.0
 * Closing a trace: the payload log is packed into rows, views are made, the journal mode becomes
 * DELETE, and only then is the trace marked as closed and the log removed. Whenever this is interrupted the
 * pair stays readable. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "api/api.h"
#include "api/api_sql.h"
#include "trace/internal.h"

#define PACK_TXN_BYTES (64u << 20)
#define PUNCH_LOG_BYTES \
	(128u << 20) /* give space (and page cache) back while packing when the log is larger than this */
#define SAMPLE_BYTES       (64u << 10)
#define SHRINK_BELOW_BYTES (4 << 20)
#define BUSY_WAIT_MS       10000

struct packer {
	struct trace_writer *w;
	struct diag *d;
	sqlite3_stmt *next, *update;
	ZSTD_CCtx *zstd;
	uint8_t *plain, *packed;
	size_t packed_capacity;
	uint64_t last_id, txn_bytes, punched;
};

/* Compressed by at least a sixteenth? A chunk whose middle does not compress is not tried further. */
static bool compress(struct packer *p, size_t n, size_t *out)
{
	size_t k;

	if (n > 4 * SAMPLE_BYTES) {
		k = ZSTD_compressCCtx(p->zstd, p->packed, p->packed_capacity, p->plain + n / 2, SAMPLE_BYTES,
				      1);
		if (ZSTD_isError(k) || k > SAMPLE_BYTES - SAMPLE_BYTES / 16)
			return false;
	}
	*out = ZSTD_compressCCtx(p->zstd, p->packed, p->packed_capacity, p->plain, n, 1);
	return !ZSTD_isError(*out) && *out <= n - n / 16;
}

static int read_log(struct packer *p, uint64_t offset, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = pread(p->w->log_fd, p->plain + got, n - got, (off_t)(offset + got));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return diag_set(p->d, CUTRACE_EIO, p->w->log_path, "cannot read the payload log: %s",
					k ? strerror(errno) : "it is cut off");
		got += (size_t)k;
	}
	return 0;
}

static int pack_row(struct packer *p, uint64_t id, size_t n, uint64_t offset, const void *hash)
{
	struct trace_hash h;
	size_t bytes = n;
	bool packed;
	int rc = read_log(p, offset, n);

	if (rc)
		return rc;
	h = trace_hash_bytes(p->plain, n);
	if (memcmp(h.b, hash, sizeof(h.b)) != 0)
		return diag_set(p->d, CUTRACE_ECORRUPT, p->w->log_path,
				"bytes at %llu are not what was recorded", (unsigned long long)offset);
	packed = compress(p, n, &bytes);
	sqlite3_bind_int(p->update, 1, packed ? CHUNK_ZSTD : CHUNK_STORED);
	sqlite3_bind_blob64(p->update, 2, packed ? p->packed : p->plain, packed ? bytes : n, SQLITE_STATIC);
	sqlite3_bind_int64(p->update, 3, (int64_t)id);
	if (sqlite3_step(p->update) != SQLITE_DONE)
		return db_fail(p->w->db, p->w->path, p->d, "cannot pack the payload log");
	sqlite3_reset(p->update);
	p->txn_bytes += n;
	return 0;
}

/* What is committed as rows is not needed in the log any more. */
static void punch(struct packer *p, uint64_t end)
{
	if (p->w->log_end < PUNCH_LOG_BYTES || end <= p->punched)
		return;
	fallocate(p->w->log_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)p->punched,
		  (off_t)(end - p->punched));
	p->punched = end;
}

/* Packs about PACK_TXN_BYTES in one transaction. *more is false when nothing was left. */
static int pack_some(struct packer *p, bool *more)
{
	uint64_t end = 0;
	int rc = db_exec(p->w->db, p->w->path, p->d, "BEGIN IMMEDIATE"), step;

	*more = false;
	sqlite3_bind_int64(p->next, 1, (int64_t)p->last_id);
	p->txn_bytes = 0;
	while (!rc && p->txn_bytes < PACK_TXN_BYTES && (step = sqlite3_step(p->next)) != SQLITE_DONE) {
		int64_t n = sqlite3_column_int64(p->next, 1);

		if (step != SQLITE_ROW || n < 0 || n > TRACE_CHUNK_BYTES ||
		    sqlite3_column_bytes(p->next, 3) != 16) {
			rc = db_fail(p->w->db, p->w->path, p->d, "cannot read a chunk's row");
			break;
		}
		p->last_id = (uint64_t)sqlite3_column_int64(p->next, 0);
		end = (uint64_t)sqlite3_column_int64(p->next, 2);
		rc = pack_row(p, p->last_id, (size_t)n, end, sqlite3_column_blob(p->next, 3));
		end += (uint64_t)n;
		*more = true;
	}
	sqlite3_reset(p->next);
	if (!rc)
		rc = db_exec(p->w->db, p->w->path, p->d, "COMMIT");
	if (!rc)
		punch(p, end);
	return rc;
}

static int packer_open(struct packer *p)
{
	sqlite3 *db = p->w->db;

	p->packed_capacity = ZSTD_compressBound(TRACE_CHUNK_BYTES);
	p->plain = malloc(TRACE_CHUNK_BYTES);
	p->packed = malloc(p->packed_capacity);
	p->zstd = ZSTD_createCCtx();
	if (!p->plain || !p->packed || !p->zstd)
		return diag_set(p->d, CUTRACE_ENOMEM, p->w->path, "out of memory");
	if (sqlite3_prepare_v2(
		    db, "SELECT id, bytes, log_offset, hash FROM chunk WHERE codec=2 AND id>? ORDER BY id",
		    -1, &p->next, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "UPDATE chunk SET codec=?, log_offset=NULL, data=? WHERE id=?", -1,
			       &p->update, NULL) != SQLITE_OK)
		return db_fail(db, p->w->path, p->d, "cannot pack the payload log");
	posix_fadvise(p->w->log_fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	p->punched = TRACE_LOG_HEADER + 4096;
	return 0;
}

static void packer_close(struct packer *p)
{
	sqlite3_finalize(p->next);
	sqlite3_finalize(p->update);
	ZSTD_freeCCtx(p->zstd);
	free(p->plain);
	free(p->packed);
}

static int pack(struct trace_writer *w, struct diag *d)
{
	struct packer p = {.w = w, .d = d};
	bool more = true;
	int rc = packer_open(&p);

	while (!rc && more)
		rc = pack_some(&p, &more);
	packer_close(&p);
	/* Nothing is in the log any more; what is not written out yet, syncing the trace would make the disk write. */
	if (!rc && w->log_fd >= 0 && ftruncate(w->log_fd, TRACE_LOG_HEADER))
		rc = diag_set(d, CUTRACE_EIO, w->log_path, "cannot be emptied: %s", strerror(errno));
	return rc;
}

static int leave_wal(struct trace_writer *w, struct diag *d)
{
	sqlite3_stmt *s = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(w->db, "PRAGMA journal_mode=DELETE", -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW || strcmp((const char *)sqlite3_column_text(s, 0), "delete") != 0)
		rc = db_fail(w->db, w->path, d, "cannot close the trace");
	sqlite3_finalize(s);
	return rc;
}

/* Names of the results that occur, so that plain SQL can show them. */
static int result_names(struct trace_writer *w, struct diag *d)
{
	const struct api_enum *e = api_enum_find("CUresult");
	sqlite3_stmt *s;
	unsigned i;
	int rc = SQLITE_DONE;

	if (!e)
		return 0;
	if (sqlite3_prepare_v2(w->db, "INSERT OR IGNORE INTO result_name VALUES('cuda',?,?)", -1, &s, NULL) !=
	    SQLITE_OK)
		return db_fail(w->db, w->path, d, "cannot name results");
	for (i = 0; i < e->nvalues && rc == SQLITE_DONE; i++) {
		sqlite3_bind_int64(s, 1, e->values[i].value);
		sqlite3_bind_text(s, 2, e->values[i].name, -1, SQLITE_STATIC);
		rc = sqlite3_step(s);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	return rc == SQLITE_DONE ? 0 : db_fail(w->db, w->path, d, "cannot name results");
}

/* Views by parameter name, for the functions that occur. */
static int function_views(struct trace_writer *w, struct diag *d)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < w->functions_capacity && !rc; i++) {
		const struct api_func *f = w->functions[i].name ? api_func_find(w->functions[i].name) : NULL;

		if (f)
			rc = db_exec(w->db, w->path, d, api_sql_views[api_func_id(f)]);
	}
	return rc;
}

/* Each process is replayed by itself. */
static int index_threads(struct trace_writer *w, struct diag *d)
{
	int64_t n;
	int rc = db_int(w->db, w->path, d, "SELECT count(*) FROM process", 0, &n);

	return rc || n < 2 ? rc : db_exec(w->db, w->path, d, "CREATE INDEX call_thread ON call(thread)");
}

/* All in one transaction: a close that was interrupted has made all of it or nothing. */
static int make_views(struct trace_writer *w, struct diag *d)
{
	int64_t made;
	int rc = db_int(w->db, w->path, d, "SELECT count(*) FROM sqlite_master WHERE name='result_name'", 0,
			&made);

	if (rc || made)
		return rc;
	rc = db_exec(w->db, w->path, d, "BEGIN IMMEDIATE");
	if (!rc)
		rc = db_exec(w->db, w->path, d, trace_indexes_sql); /* of an older recording */
	if (!rc)
		rc = db_exec(w->db, w->path, d, trace_finish_sql);
	if (!rc)
		rc = index_threads(w, d);
	if (!rc)
		rc = result_names(w, d);
	if (!rc)
		rc = function_views(w, d);
	if (!rc)
		rc = db_exec(w->db, w->path, d, "COMMIT");
	return rc;
}

static int sync_file(struct trace_writer *w, struct diag *d)
{
	if (w->tuning.scratch || !fsync(w->file_fd))
		return 0;
	return diag_set(d, CUTRACE_EIO, w->path, "cannot be written out: %s", strerror(errno));
}

/* A small trace is sent around: small pages make it several times smaller (each table takes a page at least).
 */
static void shrink(struct trace_writer *w)
{
	struct stat st;
	struct diag ignored = DIAG_INIT;

	if (stat(w->path, &st) || st.st_size > SHRINK_BELOW_BYTES)
		return;
	/* Needs room for a second copy: a trace is whole without. */
	db_exec(w->db, w->path, &ignored, "PRAGMA page_size=1024; VACUUM");
}

int writer_finish(struct trace_writer *w, struct diag *d)
{
	unsigned i;
	int rc;

	for (i = 0; i < W_NSTMTS; i++) {
		sqlite3_finalize(w->stmts[i]);
		w->stmts[i] = NULL;
	}
	sqlite3_busy_timeout(w->db, BUSY_WAIT_MS); /* somebody may be reading */
	rc = leave_wal(w, d);
	if (!rc)
		rc = pack(w, d);
	if (!rc)
		rc = make_views(w, d);
	if (!rc)
		rc = row_hash_write(w->db, w->path, w->live, d);
	if (!rc && !w->tuning.scratch)
		shrink(w);
	if (!rc)
		rc = sync_file(w, d);
	if (!rc)
		rc = db_exec(w->db, w->path, d, "INSERT OR REPLACE INTO meta VALUES('closed',1)");
	if (!rc)
		rc = sync_file(w, d);
	if (!rc && unlink(w->log_path) && errno != ENOENT)
		rc = diag_set(d, CUTRACE_EIO, w->log_path, "cannot be removed: %s", strerror(errno));
	return rc;
}

/* The functions that occur, so that their views are made. */
static int load_functions(struct trace_writer *w, struct diag *d)
{
	sqlite3_stmt *s;
	unsigned n = 0;
	int64_t count;
	int rc = db_int(w->db, w->path, d, "SELECT count(*) FROM function", 0, &count);

	if (rc)
		return rc;
	w->functions = calloc((size_t)count + 1, sizeof(*w->functions));
	if (!w->functions)
		return diag_set(d, CUTRACE_ENOMEM, w->path, "out of memory");
	w->functions_capacity = (unsigned)count;
	if (sqlite3_prepare_v2(w->db, "SELECT name FROM function", -1, &s, NULL) != SQLITE_OK)
		return db_fail(w->db, w->path, d, "cannot finish the trace");
	while (n < w->functions_capacity && sqlite3_step(s) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);

		w->functions[n++].name = strdup(name ? name : "");
	}
	sqlite3_finalize(s);
	return 0;
}

static int finish_unclosed(const char *path, struct diag *d)
{
	struct trace_writer *w = writer_alloc(path, &trace_tuning_default);
	int64_t closed = 0;
	int rc;

	if (!w)
		return diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
	rc = log_reopen(w, d);
	if (!rc)
		rc = writer_open_file(w, 0, d);
	/* Now that the log is ours: somebody else may have finished it while we opened it. */
	if (!rc)
		rc = db_int(w->db, path, d, "SELECT value=1 FROM meta WHERE key='closed'", 0, &closed);
	if (!rc && !closed)
		rc = load_functions(w, d);
	if (!rc && !closed)
		rc = ending_keep(w, d);
	if (!rc && !closed)
		rc = writer_finish(w, d);
	writer_free(w);
	return rc;
}

/* Killed between its last sync and the removal of the log, which nothing needs any more. */
static int remove_log(const char *path, struct diag *d)
{
	struct trace_writer *w = writer_alloc(path, &trace_tuning_default);
	int rc = w ? log_reopen(w, d) : diag_set(d, CUTRACE_ENOMEM, path, "out of memory");

	if (!rc && unlink(w->log_path) && errno != ENOENT)
		rc = diag_set(d, CUTRACE_EIO, w->log_path, "cannot be removed: %s", strerror(errno));
	if (w)
		writer_free(w);
	return rc;
}

int trace_finish(const char *path, struct diag *d)
{
	struct trace *t;
	bool closed;
	int rc = trace_open(&t, path, d); /* all its refusals hold here too */

	if (rc)
		return rc;
	closed = t->closed;
	trace_close(t);
	return closed ? remove_log(path, d) : finish_unclosed(path, d);
}
