/* SPDX-License-Identifier: Apache-2.0
 * The writer's frame: file, statements, transactions, errors. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/internal.h"

const struct trace_tuning trace_tuning_default = {
	.page_bytes = 16384,
	.wal = true,
	.use_log = true,
	.inline_bytes = 4096,
	.txn_ms = 100,
	.txn_bytes = 32u << 20,
	.cache_kib = 64 << 10,
};

#define CALL_ROW   "(?,?,?,?,?,?,?,?, ?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?, ?,?,?,?,?,?,?,?)"
#define CALL_ROWS4 CALL_ROW "," CALL_ROW "," CALL_ROW "," CALL_ROW

static const char *const statements[W_NSTMTS] = {
	[W_META] = "INSERT OR REPLACE INTO meta VALUES(?,?)",
	[W_PROCESS] =
		"INSERT OR REPLACE INTO process(id,pid,parent,exe,argv,cwd,t_start,t_end,end_kind,end_code) "
		"VALUES(?,?,?,?,?,?,?,?,?,?)",
	[W_THREAD] = "INSERT OR REPLACE INTO thread(id,process,tid,name,t_start,t_end) VALUES(?,?,?,?,?,?)",
	[W_FUNCTION] = "INSERT INTO function(id,name,library,known,nparams,signature) VALUES(?,?,?,?,?,?)",
	/* REPLACE makes SQLite keep a copy of each page that the statement changes, as there are indexes */
	[W_CALL_AGAIN] = "INSERT OR REPLACE INTO call VALUES" CALL_ROW,
	[W_CALL] = "INSERT OR IGNORE INTO call VALUES" CALL_ROW,
	[W_CALLS] = "INSERT OR IGNORE INTO call VALUES" CALL_ROWS4 "," CALL_ROWS4,
	[W_OVERFLOW] = "INSERT OR REPLACE INTO call_overflow VALUES(?,?,?)",
	/* a call's memory may come in several records: blocks are appended */
	[W_MEMORY] = "INSERT INTO call_memory VALUES(?,?,?) ON CONFLICT(call,phase) DO UPDATE "
		     "SET data=CAST(data||excluded.data AS BLOB)",
	[W_CHUNK] = "INSERT INTO chunk(hash,bytes,codec,log_offset,data) VALUES(?,?,?,?,?)",
	[W_CHUNK_FIND] = "SELECT id FROM chunk WHERE hash=? AND bytes=? AND bytes>4096",
	[W_BUFFER] = "INSERT INTO buffer(hash,bytes) VALUES(?,?)",
	[W_BUFFER_FIND] = "SELECT id FROM buffer WHERE hash=? AND bytes=? AND bytes>4096",
	[W_BUFFER_CHUNK] = "INSERT INTO buffer_chunk VALUES(?,?,?)",
	[W_PAYLOAD] =
		"INSERT INTO payload(call,param,kind,address,device_address,width,height,depth,buffer,note) "
		"VALUES(?,?,?,?,?,?,?,?,?,?)",
	[W_ALLOCATION] = "INSERT INTO allocation(process,base,bytes,kind,host_address,created,destroyed) "
			 "VALUES(?,?,?,?,?,?,?)",
	[W_ALLOCATION_END] = "UPDATE allocation SET destroyed=? WHERE id=?",
	[W_MODULE] = "INSERT INTO module(process,handle,is_library,parent,image,created,destroyed) "
		     "VALUES(?,?,?,?,?,?,?)",
	[W_MODULE_END] = "UPDATE module SET destroyed=? WHERE id=?",
	[W_IMAGE] = "INSERT OR REPLACE INTO image(buffer,kind,ptx,archs) VALUES(?,?,?,?)",
	[W_KERNEL] = "INSERT INTO kernel(module,name,has_ptx,param_bytes,line) VALUES(?,?,?,?,?)",
	[W_KERNEL_PARAM] = "INSERT INTO kernel_param VALUES(?,?,?,?,?,?,?,?,?,?)",
	[W_KERNEL_HANDLE] = "INSERT INTO kernel_handle VALUES(?,?,?,?)",
	[W_LAUNCH] = "INSERT OR IGNORE INTO launch VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
	[W_LAUNCH_HASH] = "INSERT OR REPLACE INTO launch_hash VALUES(?,?,?,?)",
	[W_LAUNCH_SKETCH] = "INSERT OR REPLACE INTO launch_sketch VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[W_IMAGE_RUN] = "INSERT OR REPLACE INTO image_run VALUES(?,?,?)",
	[W_CONTEXT] = "INSERT INTO context(process,handle,device,primary_ctx,created,destroyed) "
		      "VALUES(?,?,?,?,?,?)",
	[W_CONTEXT_END] =
		"UPDATE context SET destroyed=? WHERE id=(SELECT max(id) FROM context WHERE process=? "
		"AND handle=? AND destroyed IS NULL)",
	[W_STREAM] = "INSERT INTO stream(process,handle,context,flags,priority,created,destroyed) "
		     "VALUES(?,?,?,?,?,?,?)",
	[W_STREAM_END] = "UPDATE stream SET destroyed=? WHERE id=(SELECT max(id) FROM stream WHERE process=? "
			 "AND handle=? AND destroyed IS NULL)",
	[W_DEVICE] = "INSERT OR REPLACE INTO device(process,ordinal,name,cc,bytes,sm_count,uuid) "
		     "VALUES(?,?,?,?,?,?,?)",
	[W_HOST_WRITE] = "INSERT INTO host_write(call,address,bytes,buffer) VALUES(?,?,?,?)",
	[W_DIAGNOSTIC] = "INSERT INTO diagnostic(t,process,call,severity,source,message) VALUES(?,?,?,?,?,?)",
	[W_OVERHEAD] = "INSERT INTO overhead VALUES(?,?,?,?,?)",
};

int64_t writer_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int writer_fail(struct trace_writer *w, const char *doing)
{
	if (!w->error.code) {
		db_fail(w->db, w->path, &w->error, doing);
		ending_failed(w, (sqlite3_errcode(w->db) & 0xff) == SQLITE_FULL
					 ? ENOSPC
					 : sqlite3_system_errno(w->db));
	}
	return w->error.code;
}

int writer_set(struct trace_writer *w, int code, const char *fmt, ...)
{
	va_list ap;

	if (!w->error.code) {
		va_start(ap, fmt);
		diag_vset(&w->error, code, w->path, fmt, ap);
		va_end(ap);
		ending_failed(w, code == CUTRACE_ENOMEM ? ENOMEM : code == CUTRACE_EIO ? errno : 0);
	}
	return w->error.code;
}

sqlite3_stmt *writer_stmt(struct trace_writer *w, enum writer_stmt id)
{
	sqlite3_stmt **s = &w->stmts[id];

	if (w->error.code)
		return NULL;
	if (!*s &&
	    sqlite3_prepare_v3(w->db, statements[id], -1, SQLITE_PREPARE_PERSISTENT, s, NULL) != SQLITE_OK) {
		writer_fail(w, "cannot write the trace");
		return NULL;
	}
	return *s;
}

int writer_begin(struct trace_writer *w)
{
	if (w->in_txn || w->error.code)
		return w->error.code;
	if (sqlite3_exec(w->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
		return writer_fail(w, "cannot begin a transaction");
	w->in_txn = true;
	w->txn_start_ns = writer_now_ns();
	w->txn_bytes_now = 0;
	return 0;
}

int writer_row(struct trace_writer *w, enum writer_stmt id, const char *format, ...)
{
	sqlite3_stmt *s;
	va_list ap;
	int rc;

	if (writer_begin(w))
		return w->error.code;
	s = writer_stmt(w, id);
	if (!s)
		return w->error.code;
	va_start(ap, format);
	rc = db_bind(s, format, ap);
	va_end(ap);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc != SQLITE_DONE)
		writer_fail(w, "cannot write the trace");
	sqlite3_reset(s);
	va_start(ap, format);
	if (w->live && !w->error.code)
		row_live_values(w->live, id, sqlite3_last_insert_rowid(w->db), format, ap);
	va_end(ap);
	return w->error.code;
}

int writer_commit(struct trace_writer *w)
{
	if (writer_flush_calls(w) || writer_flush_flights(w))
		return w->error.code;
	if (!w->in_txn)
		return w->error.code;
	if (sqlite3_exec(w->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		return writer_fail(w, "cannot commit to the trace");
	w->in_txn = false;
	/* Begins to write out what went into the file, so that the sync at the end has little left to wait for. */
	if (!w->tuning.scratch)
		sync_file_range(w->file_fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	return 0;
}

int writer_grown(struct trace_writer *w, size_t bytes)
{
	w->txn_bytes_now += bytes;
	return w->txn_bytes_now >= w->tuning.txn_bytes ? writer_commit(w) : w->error.code;
}

int trace_writer_tick(struct trace_writer *w)
{
	int64_t age_ns;

	if (w->error.code)
		return w->error.code;
	if (!w->in_txn) /* then nothing waits: a call begins a transaction */
		return 0;
	age_ns = writer_now_ns() - w->txn_start_ns;
	return age_ns >= (int64_t)w->tuning.txn_ms * 1000000 ? writer_commit(w) : 0;
}

int trace_writer_error(const struct trace_writer *w, struct diag *d)
{
	if (w->error.code && d)
		*d = w->error;
	return w->error.code;
}

/* 0 when the path is free, empty, or a trace (which may be overwritten). */
static int check_target(const char *path, struct diag *d)
{
	uint8_t head[72] = {0};
	struct stat st;
	size_t n;
	FILE *f;

	if (stat(path, &st))
		return errno == ENOENT ? 0 : diag_set(d, CUTRACE_EIO, path, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode)) {
		diag_set(d, CUTRACE_EINVAL, path, "this is not a regular file");
		diag_hint(d, "a trace needs a file it can go back in; name one with -o");
		return CUTRACE_EINVAL;
	}
	f = fopen(path, "rb");
	if (!f)
		return diag_set(d, CUTRACE_EIO, path, "%s", strerror(errno));
	n = fread(head, 1, sizeof(head), f);
	fclose(f);
	/* https://www.sqlite.org/fileformat2.html: magic at 0, application id at 68, big-endian */
	if (!n ||
	    (n == sizeof(head) && !memcmp(head, "SQLite format 3", 16) && !memcmp(head + 68, "CUTR", 4)))
		return 0;
	diag_set(d, CUTRACE_EINVAL, path, "this file exists and is no trace; it is not overwritten");
	diag_hint(d, "remove it, or name another file with -o");
	return CUTRACE_EINVAL;
}

static int remove_old(const char *path, struct diag *d)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	char name[4096];
	size_t i;

	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (snprintf(name, sizeof(name), "%s%s", path, suffixes[i]) >= (int)sizeof(name))
			return diag_set(d, CUTRACE_EINVAL, path, "the path is too long");
		if (unlink(name) && errno != ENOENT)
			return diag_set(d, CUTRACE_EIO, name, "cannot be replaced: %s", strerror(errno));
	}
	return 0;
}

static int create_schema(struct trace_writer *w, struct diag *d)
{
	char sql[512];
	int rc;

	/* In this order: the page size must be set first, and the header must say what this file is before
	 * WAL mode keeps changes out of it. Nothing is synced: a killed process loses nothing, and close
	 * syncs. */
	snprintf(sql, sizeof(sql),
		 "PRAGMA page_size=%u; PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF;"
		 "PRAGMA cache_size=-%u; PRAGMA temp_store=MEMORY;"
		 "BEGIN; PRAGMA application_id=%d; PRAGMA user_version=%d;",
		 w->tuning.page_bytes, w->tuning.cache_kib, TRACE_APPLICATION_ID, TRACE_SCHEMA_VERSION);
	rc = db_exec(w->db, w->path, d, sql);
	if (!rc)
		rc = db_exec(w->db, w->path, d, trace_schema_sql);
	if (!rc)
		rc = db_exec(w->db, w->path, d, trace_indexes_sql);
	if (!rc) /* until finish.sql drops them */
		rc = db_exec(
			w->db, w->path, d,
			"CREATE INDEX stream_alive ON stream(process, handle) WHERE destroyed IS NULL;"
			"CREATE INDEX context_alive ON context(process, handle) WHERE destroyed IS NULL;");
	if (!rc)
		rc = db_exec(w->db, w->path, d, "COMMIT");
	if (!rc && w->tuning.wal)
		rc = db_exec(w->db, w->path, d, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=128;");
	return rc;
}

static int write_identity(struct trace_writer *w)
{
	struct timespec now;
	struct tm tm;
	uint8_t r[16];
	char text[40];

	if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r))
		return writer_set(w, CUTRACE_EIO, "no random numbers: %s", strerror(errno));
	r[6] = (r[6] & 0x0f) | 0x40; /* RFC 9562, version 4 */
	r[8] = (r[8] & 0x3f) | 0x80;
	snprintf(text, sizeof(text), "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13],
		 r[14], r[15]);
	trace_writer_meta_text(w, "uuid", text);
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	trace_writer_meta_text(w, "created_utc", text);
	trace_writer_meta_int(w, "start_unix_ns", (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
	return writer_commit(w);
}

void writer_free(struct trace_writer *w)
{
	unsigned i;

	for (i = 0; i < W_NSTMTS; i++)
		sqlite3_finalize(w->stmts[i]);
	sqlite3_close(w->db);
	if (w->file_fd >= 0) /* not before: with it SQLite's locks end (fcntl(2)) */
		close(w->file_fd);
	writer_free_calls(w);
	for (i = 0; i < w->functions_capacity; i++)
		free(w->functions[i].name);
	free(w->functions);
	content_map_free(w->chunks);
	content_map_free(w->buffers);
	row_live_free(w->live);
	if (w->log_fd >= 0)
		close(w->log_fd);
	free(w->path);
	free(w->log_path);
	free(w);
}

struct trace_writer *writer_alloc(const char *path, const struct trace_tuning *tuning)
{
	struct trace_writer *w = calloc(1, sizeof(*w));
	size_t n = strlen(path) + sizeof(TRACE_LOG_SUFFIX);

	if (!w)
		return NULL;
	w->tuning = *tuning;
	w->log_fd = -1;
	w->file_fd = -1;
	w->path = strdup(path);
	w->log_path = malloc(n);
	w->batch = calloc(CALL_BATCH, sizeof(*w->batch));
	w->chunks = content_map_new();
	w->buffers = content_map_new();
	if (!w->path || !w->log_path || !w->batch || !w->chunks || !w->buffers) {
		writer_free(w);
		return NULL;
	}
	snprintf(w->log_path, n, "%s%s", path, TRACE_LOG_SUFFIX);
	return w;
}

/* flags: SQLITE_OPEN_CREATE, or 0. */
int writer_open_file(struct trace_writer *w, int flags, struct diag *d)
{
	if (sqlite3_open_v2(w->path, &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | flags, NULL) !=
	    SQLITE_OK)
		return db_fail(w->db, w->path, d, flags ? "cannot create the trace" : "cannot open");
	w->file_fd = open(w->path, O_RDONLY | O_CLOEXEC);
	return w->file_fd >= 0 ? 0 : diag_set(d, CUTRACE_EIO, w->path, "cannot open: %s", strerror(errno));
}

int trace_writer_open_tuned(struct trace_writer **out, const char *path, const struct trace_tuning *tuning,
			    struct diag *d)
{
	struct diag ignored = DIAG_INIT;
	struct trace_writer *w;
	int rc;

	*out = NULL;
	rc = check_target(path, d);
	if (rc)
		return rc;
	w = writer_alloc(path, tuning);
	if (!w)
		return diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
	w->live = row_live_new();
	if (!w->live) {
		writer_free(w);
		return diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
	}
	rc = log_create(w, d); /* its lock also says that nobody else is recording here */
	if (!rc)
		rc = remove_old(path, d);
	if (!rc)
		rc = writer_open_file(w, SQLITE_OPEN_CREATE, d);
	if (!rc)
		rc = create_schema(w, d);
	if (!rc && write_identity(w))
		rc = trace_writer_error(w, d);
	/* Nothing was recorded; while the log is there, nobody else writes here. */
	if (rc && w->db)
		remove_old(path, &ignored);
	if (rc && w->log_end)
		unlink(w->log_path);
	if (rc) {
		writer_free(w);
		return rc;
	}
	*out = w;
	return 0;
}

int trace_writer_open(struct trace_writer **out, const char *path, struct diag *d)
{
	return trace_writer_open_tuned(out, path, &trace_tuning_default, d);
}

int trace_writer_open_scratch(struct trace_writer **out, const char *path, struct diag *d)
{
	struct trace_tuning tuning = trace_tuning_default;

	tuning.scratch = true;
	tuning.wal = false;
	tuning.page_bytes = 4096;
	return trace_writer_open_tuned(out, path, &tuning, d);
}

int trace_writer_close(struct trace_writer *w, struct diag *d)
{
	int rc = writer_commit(w);

	if (rc) {
		trace_writer_error(w, d);
	} else {
		ending_all_written(w);
		writer_end_flights(w);
		row_live_end(w->live);
		rc = writer_finish(w, d);
	}
	writer_free(w);
	return rc;
}
