/* SPDX-License-Identifier: Apache-2.0
 * Opening a trace, with the reasons for which a file is refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/internal.h"

#define CALL_COLUMN_NAMES                                                                                 \
	"id,thread,parent,func,t_enter,t_exit,seq_seen,result,a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12," \
	"a13,"                                                                                            \
	"a14,a15,o0,o1,o2,o3,o4,o5,o6,o7"

static const char *const statements[R_NSTMTS] = {
	[R_META] = "SELECT value FROM meta WHERE key=?",
	[R_CALL] = "SELECT " CALL_COLUMN_NAMES " FROM call WHERE id=?",
	[R_OVERFLOW] = "SELECT idx,value FROM call_overflow WHERE call=? ORDER BY idx",
	[R_BUFFER] = "SELECT bytes,hash FROM buffer WHERE id=?",
	[R_BUFFER_CHUNK] = "SELECT chunk FROM buffer_chunk WHERE buffer=? AND idx=?",
	[R_CHUNK] = "SELECT hash,bytes,codec,log_offset,data FROM chunk WHERE id=?",
	[R_KERNEL] = "SELECT module,name,has_ptx,param_bytes,line FROM kernel WHERE id=?",
	[R_KERNEL_PARAMS] = "SELECT name,type,offset,bytes,is_pointer,is_read,is_written,elem_type "
			    "FROM kernel_param WHERE kernel=? ORDER BY idx",
	[R_IMAGE] = "SELECT kind,ptx,archs FROM image WHERE buffer=?",
	[R_LAUNCH_SKETCHES] =
		"SELECT base,bytes,hash,type,elements,nan,infinite,zero,least,greatest,sum,magnitude,block_bytes,"
		"blocks,samples FROM launch_sketch WHERE launch=? ORDER BY base",
	[R_LAUNCH_HASHES] = "SELECT base,bytes,hash FROM launch_hash WHERE launch=? ORDER BY base",
};

int reader_fail(struct trace *t, struct diag *d, const char *doing)
{
	return db_fail(t->db, t->path, d, doing);
}

sqlite3_stmt *reader_stmt(struct trace *t, enum reader_stmt id)
{
	sqlite3_stmt **s = &t->stmts[id];

	if (!*s &&
	    sqlite3_prepare_v3(t->db, statements[id], -1, SQLITE_PREPARE_PERSISTENT, s, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_reset(*s);
	return *s;
}

const char *reader_text(struct arena *a, sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text ? arena_strdup(a, text) : NULL;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* https://www.sqlite.org/fileformat2.html#the_database_header */
enum {
	H_PAGE_SIZE = 16,
	H_WRITE_VERSION = 18, /* 2: WAL */
	H_CHANGE_COUNTER = 24,
	H_PAGES = 28,
	H_USER_VERSION = 60,
	H_APPLICATION_ID = 68,
	H_VALID_FOR = 92,
	H_BYTES = 100
};

static int refuse(struct diag *d, int code, const char *path, const char *hint, const char *why)
{
	diag_set(d, code, path, "%s", why);
	diag_hint(d, "%s", hint);
	return code;
}

static int check_identity(const uint8_t *h, size_t n, const char *path, struct diag *d)
{
	static const char other[] = "traces are written by `cutrace record`; is this the right file?";
	uint32_t version;

	if (!n)
		return refuse(d, CUTRACE_EFORMAT, path, "record again",
			      "the file is empty: the recording never began");
	if (n < 16 || memcmp(h, "SQLite format 3", 16) != 0)
		return refuse(d, CUTRACE_EFORMAT, path, other, "this is no trace: it is not an SQLite file");
	if (n < H_BYTES)
		return refuse(d, CUTRACE_ECORRUPT, path, "copy it again from where it was recorded",
			      "the trace is truncated in its first page");
	if (be32(h + H_APPLICATION_ID) != TRACE_APPLICATION_ID)
		return refuse(d, CUTRACE_EFORMAT, path, other, "this is an SQLite database, but no trace");
	version = be32(h + H_USER_VERSION);
	if (version > TRACE_SCHEMA_VERSION) {
		diag_set(d, CUTRACE_ENOTSUP, path, "made by a newer cutrace; schema %u, this one reads %u",
			 version, TRACE_SCHEMA_VERSION);
		diag_hint(d, "use a newer cutrace");
		return CUTRACE_ENOTSUP;
	}
	if (version < 1)
		return refuse(d, CUTRACE_ECORRUPT, path, "copy it again from where it was recorded",
			      "the trace does not say which version it is");
	return 0;
}

static bool exists(const char *path, const char *suffix, uint64_t *bytes)
{
	char name[4096];
	struct stat st;

	if (snprintf(name, sizeof(name), "%s%s", path, suffix) >= (int)sizeof(name) || stat(name, &st))
		return false;
	*bytes = (uint64_t)st.st_size;
	return true;
}

/* Shorter than its header says? Only when no journal or WAL holds the rest of the truth. */
static int check_length(const uint8_t *h, uint64_t bytes, const char *path, struct diag *d)
{
	uint64_t page = (uint64_t)h[H_PAGE_SIZE] << 8 | h[H_PAGE_SIZE + 1], pages = be32(h + H_PAGES), side;

	page = page == 1 ? 65536 : page;
	if (exists(path, "-wal", &side) || (exists(path, "-journal", &side) && side))
		return 0;
	if (be32(h + H_CHANGE_COUNTER) != be32(h + H_VALID_FOR) || page * pages <= bytes)
		return 0;
	diag_set(d, CUTRACE_ECORRUPT, path, "the trace is truncated: it has %llu bytes of %llu",
		 (unsigned long long)bytes, (unsigned long long)(page * pages));
	diag_hint(d, "copy it again from where it was recorded");
	return CUTRACE_ECORRUPT;
}

static int check_file(const char *path, struct diag *d)
{
	uint8_t head[H_BYTES] = {0};
	struct stat st;
	ssize_t n;
	int fd, rc;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not make us wait */
	if (fd < 0) {
		diag_set(d, errno == ENOENT ? CUTRACE_ENOENT : CUTRACE_EIO, path, "%s", strerror(errno));
		return d ? d->code : CUTRACE_EIO;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (n = read(fd, head, sizeof(head))) < 0) {
		close(fd);
		return refuse(d, CUTRACE_EFORMAT, path, "name the file that `cutrace record` wrote",
			      "this is no trace: not a regular file that can be read");
	}
	close(fd);
	rc = check_identity(head, (size_t)n, path, d);
	return rc ? rc : check_length(head, (uint64_t)st.st_size, path, d);
}

/* A journal that a killed writer left must be rolled back, which takes a connection that may write. One that
 * belongs to a living writer is not touched: SQLite sees its lock. */
static void roll_back(const char *path)
{
	uint64_t bytes;
	sqlite3 *db;

	if (!exists(path, "-journal", &bytes) || !bytes)
		return;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
		sqlite3_exec(db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
	sqlite3_close(db);
}

static int open_db(struct trace *t, struct diag *d)
{
	int rc;

	roll_back(t->path);
	rc = sqlite3_open_v2(t->path, &t->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc != SQLITE_OK)
		return reader_fail(t, d, "cannot open");
	/* The file may come from anyone: nothing in it may run code or write. And an unclosed trace is left
	 * as it is. */
	sqlite3_db_config(t->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(t->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(t->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_busy_timeout(t->db, 5000);
	return db_exec(t->db, t->path, d,
		       "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA query_only=ON");
}

/* Every table and column that is read must be there. */
static int check_schema(struct trace *t, struct diag *d)
{
	static const char *const cursors[] = {SQL_PAYLOADS, SQL_LAUNCHES, SQL_MEMORY};
	sqlite3_stmt *s;
	int64_t version;
	unsigned i;

	for (i = 0; i < sizeof(cursors) / sizeof(cursors[0]); i++) {
		if (sqlite3_prepare_v2(t->db, cursors[i], -1, &s, NULL) != SQLITE_OK)
			return reader_fail(t, d, "this is no whole trace");
		sqlite3_finalize(s);
	}
	if (db_int(t->db, t->path, d, "PRAGMA user_version", 0, &version))
		return d->code;
	for (i = 0; i < (version < 2 ? (unsigned)R_NSTMTS_1 : (unsigned)R_NSTMTS); i++)
		if (!reader_stmt(t, i))
			return reader_fail(t, d, "this is no whole trace");
	return 0;
}

static int check_log_bytes(struct trace *t, int64_t needed, struct diag *d)
{
	char magic[8] = {0};
	struct stat st;

	if (fstat(t->log_fd, &st) || pread(t->log_fd, magic, sizeof(magic), 0) < 0)
		return diag_set(d, CUTRACE_EIO, t->log_path, "cannot be read: %s", strerror(errno));
	if (memcmp(magic, TRACE_LOG_MAGIC, sizeof(magic)) != 0)
		return refuse(d, CUTRACE_EFORMAT, t->log_path, "bring the file that lay beside the trace",
			      "this is no payload log");
	if (st.st_size >= needed)
		return 0;
	diag_set(d, CUTRACE_ECORRUPT, t->log_path,
		 "the payload log is truncated: %lld bytes of at least %lld", (long long)st.st_size,
		 (long long)needed);
	diag_hint(d, "copy it again from where it was recorded");
	return CUTRACE_ECORRUPT;
}

/* The log is needed as long as chunks are in it: those that are, are the last ones (packing goes by id). */
static int open_log(struct trace *t, struct diag *d)
{
	int64_t needed;
	int rc;

	if (t->closed)
		return 0;
	rc = db_int(t->db, t->path, d,
		    "SELECT log_offset+bytes FROM chunk WHERE codec=2 ORDER BY id DESC LIMIT 1", 0, &needed);
	if (rc || !needed)
		return rc;
	t->log_fd = open(t->log_path, O_RDONLY | O_CLOEXEC);
	if (t->log_fd >= 0)
		return check_log_bytes(t, needed, d);
	diag_set(d, CUTRACE_ENOENT, t->log_path,
		 "the recording was not closed, and the payload log that belongs to it can't be opened: %s",
		 strerror(errno));
	diag_hint(d, "bring this file too: it lies beside the trace where that was recorded");
	return CUTRACE_ENOENT;
}

static struct trace *trace_alloc(const char *path)
{
	struct trace *t = calloc(1, sizeof(*t));
	size_t n = strlen(path) + sizeof(TRACE_LOG_SUFFIX);

	if (!t)
		return NULL;
	t->log_fd = -1;
	t->path = strdup(path);
	t->log_path = malloc(n);
	t->chunk = malloc(TRACE_CHUNK_BYTES);
	if (!t->path || !t->log_path || !t->chunk) {
		trace_close(t);
		return NULL;
	}
	snprintf(t->log_path, n, "%s%s", path, TRACE_LOG_SUFFIX);
	return t;
}

int trace_open(struct trace **out, const char *path, struct diag *d)
{
	struct trace *t;
	int rc = check_file(path, d);

	*out = NULL;
	if (rc)
		return rc;
	t = trace_alloc(path);
	if (!t)
		return diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
	rc = open_db(t, d);
	if (!rc)
		rc = check_schema(t, d);
	if (!rc) {
		t->closed = trace_meta_int(t, "closed", 0) == 1;
		rc = open_log(t, d);
	}
	if (!rc)
		rc = reader_load_tables(t, d);
	if (rc) {
		trace_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

void trace_close(struct trace *t)
{
	unsigned i;

	if (!t)
		return;
	for (i = 0; i < R_NSTMTS; i++)
		sqlite3_finalize(t->stmts[i]);
	reader_cursor_close(&t->payload_cursor);
	reader_cursor_close(&t->launch_cursor);
	sqlite3_close_v2(t->db); /* iterators that are still around keep it until they go */
	if (t->log_fd >= 0)
		close(t->log_fd);
	arena_free(&t->arena);
	arena_free(&t->transient);
	free(t->payloads);
	free(t->hashes);
	free(t->sketches);
	free(t->chunk);
	free(t->path);
	free(t->log_path);
	free(t);
}

struct sqlite3 *trace_db(struct trace *t)
{
	return t->db;
}
