/* SPDX-License-Identifier: Apache-2.0
 *
 * internal: what the files of trace/ share, not for others. db_*: SQLite with this project's errors.
 * struct trace_writer is open to the writer's files only, struct trace to the reader's.
 */
#ifndef CUTRACE_TRACE_INTERNAL_H
#define CUTRACE_TRACE_INTERNAL_H

#include <sqlite3.h>
#include <xxhash.h>

#include "base/arena.h"
#include "trace/trace.h"

enum chunk_codec { CHUNK_STORED = 0, CHUNK_ZSTD = 1, CHUNK_LOGGED = 2 };

extern const char trace_schema_sql[]; /* schema.sql */
extern const char trace_indexes_sql[]; /* indexes.sql */
extern const char trace_finish_sql[]; /* finish.sql: views made at close */

#define TRACE_LOG_SUFFIX "-payload"
#define TRACE_LOG_MAGIC  "CUTRLOG1"
#define TRACE_LOG_HEADER 16u /* magic, how it ended (ending.c); the first chunk follows */
#define ENDING_OFFSET    8

/* Contents up to this size are not indexed by hash in the file (schema.sql). */
#define SMALL_BYTES 4096u

/* ---- db.c --------------------------------------------------------------- */

/* Fills d with what SQLite says about its last failure, with our code and a remedy. Returns the code. */
int db_fail(sqlite3 *db, const char *path, struct diag *d, const char *doing);
int db_exec(sqlite3 *db, const char *path, struct diag *d, const char *sql);
/* One integer out of a query; `otherwise` when there is no row or it is NULL. */
int db_int(sqlite3 *db, const char *path, struct diag *d, const char *sql, int64_t otherwise, int64_t *out);
/* Binds by format: i int64_t, u uint64_t, z uint64_t with 0 as NULL, t text or NULL, b pointer and size_t.
 * Pointers must live until the statement has run. */
int db_bind(sqlite3_stmt *s, const char *format, va_list ap);

/* ---- writer ------------------------------------------------------------- */

/* Found by bench/trace_bench.c; figures in docs/format.md. */
struct trace_tuning {
	unsigned page_bytes;
	bool wal;              /* while recording; a closed file is always in mode DELETE */
	bool use_log;          /* chunks larger than inline_bytes go to the payload log */
	unsigned inline_bytes; /* chunks up to this size are rows from the start */
	unsigned txn_ms;
	size_t txn_bytes; /* of rows and payloads */
	unsigned cache_kib;
	bool scratch; /* nobody keeps it: neither synced nor made small at close */
};
extern const struct trace_tuning trace_tuning_default;
int trace_writer_open_tuned(struct trace_writer **out, const char *path, const struct trace_tuning *tuning,
			    struct diag *d);

enum writer_stmt {
	W_META,
	W_PROCESS,
	W_THREAD,
	W_FUNCTION,
	W_CALL_AGAIN,
	W_CALL,
	W_CALLS, /* CALLS_PER_INSERT rows */
	W_OVERFLOW,
	W_MEMORY,
	W_CHUNK,
	W_CHUNK_FIND,
	W_BUFFER,
	W_BUFFER_FIND,
	W_BUFFER_CHUNK,
	W_PAYLOAD,
	W_ALLOCATION,
	W_ALLOCATION_END,
	W_MODULE,
	W_MODULE_END,
	W_IMAGE,
	W_KERNEL,
	W_KERNEL_PARAM,
	W_KERNEL_HANDLE,
	W_LAUNCH,
	W_LAUNCH_HASH,
	W_LAUNCH_SKETCH,
	W_IMAGE_RUN,
	W_CONTEXT,
	W_CONTEXT_END,
	W_STREAM,
	W_STREAM_END,
	W_DEVICE,
	W_HOST_WRITE,
	W_DIAGNOSTIC,
	W_OVERHEAD,
	W_NSTMTS
};

#define CALL_COLUMNS     32u
#define CALL_ARG_COLUMNS 16u /* further arguments are rows of call_overflow */
#define CALLS_PER_INSERT 8u
#define CALL_BATCH       512u

/* A call in flight: entered, not yet known to have ended. */
struct flight {
	struct trace_call call;
	bool written; /* the row exists */
};

struct interned {
	char *name;
	uint32_t id;
};

struct trace_writer {
	char *path, *log_path;
	struct trace_tuning tuning;
	sqlite3 *db;
	sqlite3_stmt *stmts[W_NSTMTS];
	struct diag error; /* first one; code 0 = none */

	bool in_txn;
	int64_t txn_start_ns;
	size_t txn_bytes_now;

	struct trace_call *batch; /* ended calls, not yet rows */
	unsigned nbatch;
	struct flight *flights;
	unsigned nflights, flights_capacity;

	struct interned *functions; /* open addressing by name */
	unsigned nfunctions, functions_capacity;

	struct content_map *chunks, *buffers;
	struct row_live *live; /* NULL when only closing */
	int file_fd;           /* to have the file written out */
	int log_fd;
	uint64_t log_end;
};

int64_t writer_now_ns(void);
/* Records the first error; returns the code of it. */
int writer_fail(struct trace_writer *w, const char *doing);
int writer_set(struct trace_writer *w, int code, const char *fmt, ...) DIAG_PRINTF(3, 4);
/* The prepared statement, reset and ready to be bound; NULL after an error. */
sqlite3_stmt *writer_stmt(struct trace_writer *w, enum writer_stmt id);
/* Binds (db_bind's format) and runs; opens a transaction when there is none. */
int writer_row(struct trace_writer *w, enum writer_stmt id, const char *format, ...);
int writer_begin(struct trace_writer *w);
int writer_commit(struct trace_writer *w);
/* Accounts for bytes written in this transaction and commits when it has grown too large. */
int writer_grown(struct trace_writer *w, size_t bytes);
int writer_flush_calls(struct trace_writer *w);   /* writer_calls.c: ended calls */
int writer_flush_flights(struct trace_writer *w); /* calls in flight that have no row yet */
void writer_end_flights(struct trace_writer *w);
void writer_free_calls(struct trace_writer *w);
int writer_finish(struct trace_writer *w, struct diag *d); /* finish.c: pack, views */
/* ending.c: a word about the end of the recording, for who finds it unclosed. error: errno, or 0. */
void ending_failed(struct trace_writer *w, int error);
void ending_all_written(struct trace_writer *w);
enum ending {
	ENDING_UNKNOWN,      /* zeros: the writer vanished, or is still at work */
	ENDING_WRITE_FAILED, /* with errno */
	ENDING_ALL_WRITTEN,  /* only packing was interrupted */
};
/* `why` is filled unless everything was written. log_fd < 0: there is no log. */
enum ending ending_read(int log_fd, char *why, size_t size);
/* Moves it into the trace: meta's cut_off, cut_off_after and finished_utc, and a warning. */
int ending_keep(struct trace_writer *w, struct diag *d);
/* row_hash.c: hashes of all rows as they are now, in a transaction of its own. live: of what was hashed while it was
 * written; NULL: nothing was. */
#define ROW_GROUP 256u /* rows, at least */
struct row_live;
int row_hash_write(sqlite3 *db, const char *path, const struct row_live *live, struct diag *d);

/* ---- row_live.c: rows hashed as they are written -------------------------------- */

enum live_table {
	LIVE_NONE, /* hashed at close */
	LIVE_CALL,
	LIVE_OVERFLOW,
	LIVE_MEMORY,
	LIVE_CHUNK,
	LIVE_BUFFER,
	LIVE_BUFFER_CHUNK,
	LIVE_PAYLOAD,
	LIVE_LAUNCH,
	LIVE_LAUNCH_HASH,
	LIVE_NTABLES
};
struct live_group {
	int64_t first, last;
	XXH128_canonical_t hash;
	bool spoilt; /* the hash is not that of its rows, which must be read */
};
struct row_live *row_live_new(void);
void row_live_free(struct row_live *l);
/* What a statement wrote, its values as for writer_row; nothing, if it is not for one of these tables. */
void row_live_values(struct row_live *l, enum writer_stmt id, int64_t rowid, const char *format, va_list ap);
/* A call that has ended, or never will; in any order. */
void row_live_call(struct row_live *l, const struct trace_call *c);
/* The row was or will be changed. */
void row_live_spoil(struct row_live *l, enum live_table table, uint64_t key);
/* No more rows. */
void row_live_end(struct row_live *l);
/* Without a gap from the least number to the largest; NULL: there was no memory for them. */
const struct live_group *row_live_groups(const struct row_live *l, enum live_table table, size_t *n);

/* content_map.c: hash -> row of what was written lately; bounded. */
struct content_map;
struct content_map *content_map_new(void);
void content_map_free(struct content_map *m);
uint64_t content_map_find(const struct content_map *m, const struct trace_hash *h,
			  uint64_t bytes); /* 0 = not here */
void content_map_put(struct content_map *m, const struct trace_hash *h, uint64_t bytes, uint64_t id);

int log_create(struct trace_writer *w, struct diag *d); /* chunk_store.c */
int log_reopen(struct trace_writer *w,
	       struct diag *d); /* of a writer that was killed; without one log_fd stays -1 */
struct trace_writer *writer_alloc(const char *path, const struct trace_tuning *tuning);
int writer_open_file(struct trace_writer *w, int flags, struct diag *d);
void writer_free(struct trace_writer *w);

/* ---- reader ------------------------------------------------------------- */

enum reader_stmt {
	R_META,
	R_CALL,
	R_OVERFLOW,
	R_BUFFER,
	R_BUFFER_CHUNK,
	R_CHUNK,
	R_KERNEL,
	R_KERNEL_PARAMS,
	R_IMAGE,
	R_LAUNCH_HASHES,
	R_NSTMTS_1, /* up to here in traces of schema 1 */
	R_LAUNCH_SKETCHES = R_NSTMTS_1,
	R_NSTMTS
};

#define KERNEL_BUCKETS 1024u

/* Rows by call, asked for in ascending order as a rule: a statement that stays open and steps along is
 * several times cheaper than a query per call. Not while a trace is being written: the statement would hold
 * its snapshot. */
struct call_cursor {
	sqlite3_stmt *s;
	uint64_t at;   /* call of the row it stands on, UINT64_MAX: none left */
	uint64_t from; /* rows before this call are behind it */
	bool valid;
};

/* Text that must live until close, each string once. */
struct meta_text {
	struct meta_text *next;
	const char *key, *value;
};

struct trace {
	char *path, *log_path;
	sqlite3 *db;
	sqlite3_stmt *stmts[R_NSTMTS];
	struct arena arena;     /* small tables, kernels, images */
	struct arena transient; /* of trace_payloads */
	int log_fd;             /* -1: none */
	bool closed;
	struct meta_text *meta;

	struct trace_function *functions;
	unsigned nfunctions;
	struct trace_process *processes;
	unsigned nprocesses;
	struct trace_thread *threads;
	unsigned nthreads;

	struct kernel_node {
		struct kernel_node *next;
		struct trace_kernel kernel;
	} * kernels[KERNEL_BUCKETS]; /* loaded on demand */
	struct image_node {
		struct image_node *next;
		struct trace_image image;
	} * images;

	struct call_cursor payload_cursor, launch_cursor;
	struct trace_payload *payloads; /* of the last call asked for */
	uint64_t payloads_call;
	unsigned npayloads;
	unsigned payloads_capacity;
	struct trace_launch_hash *hashes;
	unsigned hashes_capacity;
	struct trace_launch_sketch *sketches; /* of trace_launch_sketches */
	unsigned sketches_capacity;

	/* the last chunk read */
	uint64_t cached_chunk;
	/* The last answers: most questions come several times in a row. 0: none. */
	uint64_t known_buffer, known_link, known_index, known_chunk;
	int64_t known_bytes;
	struct trace_hash known_hash;
	size_t cached_bytes;
	uint8_t *chunk;
};

/* sql selects the call as its first column, from `call>=?` on, in order of call. True when a row of the call
 * is there; then read it and go on with reader_cursor_next, which tells whether there is another one of the
 * same call. */
#define SQL_PAYLOADS                                                                                    \
	"SELECT call,id,param,kind,address,device_address,width,height,depth,buffer,note FROM payload " \
	"WHERE call>=? ORDER BY call,id"
#define SQL_LAUNCHES                                                                               \
	"SELECT call,kernel,stream,gx,gy,gz,bx,by,bz,shared_bytes,cooperative,params FROM launch " \
	"WHERE call>=? ORDER BY call"
#define SQL_MEMORY "SELECT call,phase,data FROM call_memory WHERE call>=? ORDER BY call,phase"
bool reader_cursor_seek(struct trace *t, struct call_cursor *c, const char *sql, uint64_t call);
bool reader_cursor_next(struct call_cursor *c, uint64_t call);
void reader_cursor_close(struct call_cursor *c);

sqlite3_stmt *reader_stmt(struct trace *t, enum reader_stmt id);
int reader_fail(struct trace *t, struct diag *d, const char *doing);
const char *reader_text(struct arena *a, sqlite3_stmt *s, int column); /* copy, or NULL */
int reader_load_tables(struct trace *t, struct diag *d);
/* Loads a chunk into t->chunk and checks its hash. */
int reader_chunk(struct trace *t, uint64_t id, struct diag *d);

#endif
