/* SPDX-License-Identifier: Apache-2.0
 *
 * trace: the file. Everything that knows SQLite, chunks and the schema is behind this
 * header. The writer is fed by the collector, in any order of threads; the
 * reader serves dump, replay and the viewer, streaming: memory does not grow with the
 * length of a trace.
 *
 * Crash safety: rows are committed in transactions a fraction of a second apart;
 * large payloads go to an append-only log FILE-payload beside the trace while
 * recording and are packed in at trace_writer_close. A reader accepts the unpacked pair.
 */
#ifndef CUTRACE_TRACE_H
#define CUTRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/sketch.h"

#define TRACE_APPLICATION_ID 0x43555452
#define TRACE_SCHEMA_VERSION 2
#define TRACE_MAX_ARGS	     40
#define TRACE_MAX_OUTS	     8
#define TRACE_CHUNK_BYTES    (1u << 20)

struct trace_hash {
	uint8_t b[16]; /* XXH3-128, canonical */
};
struct trace_hash trace_hash_bytes(const void *p, size_t n);

/* ---- rows (shared by writer and reader) -------------------------------- */

/* A call, complete or in flight. */
struct trace_call {
	uint64_t id;
	uint32_t thread;
	uint64_t parent;	/* 0 = none */
	uint32_t func;		/* function.id */
	int64_t t_enter, t_exit;
	uint64_t seq_seen;
	bool done;		/* false: in flight; t_exit, seq_seen, result, outs are void */
	int64_t result;
	unsigned nargs, nouts;
	uint64_t args[TRACE_MAX_ARGS];
	uint64_t outs[TRACE_MAX_OUTS];
	uint32_t outs_valid;	/* bit i: outs[i] holds a value */
};

struct trace_process {
	uint32_t id, parent;
	int64_t pid, t_start, t_end;
	const char *exe, *argv_json, *cwd, *end_kind;
	int64_t end_code;
};
struct trace_thread {
	uint32_t id, process;
	int64_t tid, t_start, t_end;
	const char *name;
};
struct trace_device {
	uint32_t process, ordinal;
	const char *name;
	unsigned cc; /* 10 * major + minor */
	uint64_t bytes;
	unsigned sm_count;
	uint8_t uuid[16];
};
struct trace_function {
	uint32_t id;
	const char *name, *library, *signature;
	bool known;
	unsigned nparams;
};
struct trace_payload {
	uint64_t id, call;
	int param;
	const char *kind; /* 'h2d', 'd2h', 'image', 'unavailable' */
	uint64_t address, device_address;
	uint64_t width, height, depth;
	uint64_t buffer; /* 0 = none */
	const char *note;
};
struct trace_allocation {
	uint64_t id;
	uint32_t process;
	uint64_t base, bytes, host_address;
	const char *kind;
	uint64_t created, destroyed; /* call ids, 0 = none */
};
struct trace_module {
	uint64_t id;
	uint32_t process;
	uint64_t handle;
	bool is_library;
	uint64_t parent, image, created, destroyed;
};
struct trace_image {
	uint64_t buffer;
	const char *kind;
	uint64_t ptx; /* buffer, 0 = none */
	const char *archs;
};
struct trace_kernel_param {
	const char *name, *type;
	uint32_t offset, bytes;
	bool is_pointer, is_read, is_written;
	const char *elem_type; /* "f32", or NULL */
};
struct trace_kernel {
	uint64_t id, module;
	const char *name;
	bool has_ptx;
	uint32_t param_bytes, line;
	unsigned nparams;
	struct trace_kernel_param *params;
};
struct trace_launch {
	uint64_t call, kernel, stream;
	uint32_t grid[3], block[3], shared_bytes;
	bool cooperative;
	uint64_t params; /* buffer */
};
struct trace_launch_hash {
	uint64_t launch, base, bytes;
	struct trace_hash hash;
};

/* What a range held after a launch, in numbers; the hash is of the hashes of its chunks (base/sketch.h). */
struct trace_launch_sketch {
	uint64_t launch, base;
	bool has_hash;
	struct trace_hash hash;
	struct sketch sketch;
};

/* ---- writer ------------------------------------------------------------ */

struct trace_writer;

int trace_writer_open(struct trace_writer **out, const char *path, struct diag *d); /* refuses to overwrite a file that is no trace */
/* A file that is read at once and then thrown away: neither written through to the disk nor made small when it is closed. */
int trace_writer_open_scratch(struct trace_writer **out, const char *path, struct diag *d);
int trace_writer_meta_text(struct trace_writer *w, const char *key, const char *value);
int trace_writer_meta_int(struct trace_writer *w, const char *key, int64_t value);
uint32_t trace_writer_function(struct trace_writer *w, const char *name, const char *library, bool known,
			       unsigned nparams, const char *signature); /* interned; returns function.id */
int trace_writer_process(struct trace_writer *w, const struct trace_process *p); /* insert or replace */
int trace_writer_thread(struct trace_writer *w, const struct trace_thread *t);	 /* insert or replace */
int trace_writer_device(struct trace_writer *w, const struct trace_device *d);    /* insert or replace */
/* Enter only (done == false) or a whole call. A call first written in flight is completed by a second write. */
int trace_writer_call(struct trace_writer *w, const struct trace_call *c);
/* A call written in flight will never be completed: its row stays as it is. */
int trace_writer_call_lost(struct trace_writer *w, uint64_t id);
/* phase 0 or 1; data in the format of call_memory.data. */
int trace_writer_call_memory(struct trace_writer *w, uint64_t call, int phase, const void *data, size_t bytes);

/* Buffers arrive in pieces. Returns a buffer id through *id at end; identical contents get the same id. */
struct trace_buffer_writer;
struct trace_buffer_writer *trace_buffer_begin(struct trace_writer *w);
int trace_buffer_append(struct trace_buffer_writer *b, const void *data, size_t bytes);
int trace_buffer_end(struct trace_buffer_writer *b, uint64_t *id, struct trace_hash *hash); /* frees b */
void trace_buffer_abort(struct trace_buffer_writer *b);
int trace_writer_buffer(struct trace_writer *w, const void *data, size_t bytes, uint64_t *id); /* whole, in one go */

int trace_writer_payload(struct trace_writer *w, const struct trace_payload *p);
int trace_writer_allocation(struct trace_writer *w, struct trace_allocation *a); /* id 0: insert, id returned in a; else update of destroyed */
int trace_writer_module(struct trace_writer *w, struct trace_module *m);	 /* likewise */
int trace_writer_image(struct trace_writer *w, const struct trace_image *i);
int trace_writer_kernel(struct trace_writer *w, struct trace_kernel *k);	 /* with its params; id returned */
int trace_writer_kernel_handle(struct trace_writer *w, uint32_t process, uint64_t handle, uint64_t kernel, uint64_t created);
int trace_writer_launch(struct trace_writer *w, const struct trace_launch *l);
int trace_writer_launch_hash(struct trace_writer *w, const struct trace_launch_hash *h);
int trace_writer_launch_sketch(struct trace_writer *w, const struct trace_launch_sketch *s);
int trace_writer_image_run(struct trace_writer *w, uint64_t image, uint32_t process, const char *what);
int trace_writer_context(struct trace_writer *w, uint32_t process, uint64_t handle, int device, bool primary, uint64_t created, uint64_t destroyed);
int trace_writer_stream(struct trace_writer *w, uint32_t process, uint64_t handle, uint64_t context, uint32_t flags, int priority, uint64_t created, uint64_t destroyed);
int trace_writer_host_write(struct trace_writer *w, uint64_t call, uint64_t address, uint64_t bytes, uint64_t buffer);
int trace_writer_diagnostic(struct trace_writer *w, int64_t t, uint32_t process, uint64_t call, const char *severity, const char *source, const char *message);
int trace_writer_overhead(struct trace_writer *w, uint32_t process, const char *what, uint64_t count, uint64_t bytes, uint64_t ns);
/* Call often (each drain round): commits when a transaction is old or large enough. */
int trace_writer_tick(struct trace_writer *w);
/* First error of any writer call since open (disk full...), or 0. */
int trace_writer_error(const struct trace_writer *w, struct diag *d);
/* Packs the payload log, makes views (only for functions that occur), switches to journal mode DELETE,
 * sets meta.closed = 1. The file is complete when this returns 0. */
int trace_writer_close(struct trace_writer *w, struct diag *d);
/* For a trace that was not closed: packs what is there into one closed file, as trace_writer_close would have, and
 * leaves in it what is known of the end of the recording. Nothing happens to a closed one; refused while
 * somebody is writing. */
int trace_finish(const char *path, struct diag *d);
/* For a closed trace whose launches are those of calls `first` to `last` of another closed trace, made again: what they
 * wrote becomes what they wrote in that one. */
int trace_take_evidence(const char *path, const char *from, uint64_t first, uint64_t last, struct diag *d);
/* For a closed trace with contents: what a range of a launch held when the launch was made again, where that is not what was
 * recorded. */
struct trace_rerun {
	uint64_t launch, base;
	const char *contents; /* a file */
	unsigned times;	      /* in how many of the runs */
};
int trace_add_reruns(const char *path, const struct trace_rerun *rows, size_t n, unsigned runs, struct diag *d);
/* SQLite refuses such a path and does not say why. */
bool trace_path_too_long(const char *path, struct diag *d);

/* ---- reader ------------------------------------------------------------ */

struct trace;

/* Refuses with the reason: not a trace, newer schema, corrupt, truncated. */
int trace_open(struct trace **out, const char *path, struct diag *d);
void trace_close(struct trace *t);
/* NULL when the key is absent. Valid until close. */
const char *trace_meta_text(struct trace *t, const char *key);
int64_t trace_meta_int(struct trace *t, const char *key, int64_t otherwise);
/* Why the recording ended before the program did, and its last call; NULL when it did not, or nothing is known of its
 * end (it may still go on). */
const char *trace_cut_off(struct trace *t, uint64_t *last);
/* For commands that want SQL of their own (info, filters). A read-only connection. */
struct sqlite3 *trace_db(struct trace *t);

/* Small tables are loaded once and owned by the trace. */
const struct trace_function *trace_function(struct trace *t, uint32_t id);
const struct trace_process *trace_processes(struct trace *t, unsigned *n);
const struct trace_thread *trace_threads(struct trace *t, unsigned *n);
const struct trace_thread *trace_thread(struct trace *t, uint32_t id);

/* Calls in order of id, from first to last inclusive (0, UINT64_MAX = all). next returns 1, 0 at the end, < 0 on error. */
struct trace_call_iter;
struct trace_call_iter *trace_calls(struct trace *t, uint64_t first, uint64_t last);
/* Likewise all those of one process; the others' are not read. */
struct trace_call_iter *trace_calls_of(struct trace *t, uint32_t process);
int trace_call_next(struct trace_call_iter *it, struct trace_call *out);
void trace_call_iter_free(struct trace_call_iter *it);
int trace_call_get(struct trace *t, uint64_t id, struct trace_call *out); /* 0, or CUTRACE_ENOENT */

/* Recorded host memory of a call, both phases, as an api_memory: loads once per call. The result is valid until the next load. */
struct trace_memory;
struct trace_memory *trace_memory_new(struct trace *t);
void trace_memory_free(struct trace_memory *m);
int trace_memory_load(struct trace_memory *m, uint64_t call, int phase);
const void *trace_memory_read(void *m, uint64_t addr, size_t bytes); /* for struct api_memory */

/* Payloads of a call, n of them; valid until the next call of this function. */
const struct trace_payload *trace_payloads(struct trace *t, uint64_t call, unsigned *n);
int64_t trace_buffer_bytes(struct trace *t, uint64_t buffer); /* -1 unknown */
int trace_buffer_read(struct trace *t, uint64_t buffer, uint64_t offset, void *dst, size_t bytes, struct diag *d); /* checks hashes */
void *trace_buffer_load(struct trace *t, uint64_t buffer, size_t *bytes, struct diag *d); /* malloc'ed, whole, NUL added after the end */

int trace_launch_get(struct trace *t, uint64_t call, struct trace_launch *out);	      /* 0 or ENOENT */
const struct trace_kernel *trace_kernel(struct trace *t, uint64_t id);		      /* cached */
const struct trace_image *trace_image(struct trace *t, uint64_t buffer);
const struct trace_launch_hash *trace_launch_hashes(struct trace *t, uint64_t launch, unsigned *n);
/* Likewise; none in traces of schema 1. Valid until the next call of this function. */
const struct trace_launch_sketch *trace_launch_sketches(struct trace *t, uint64_t launch, unsigned *n);
/* All allocations (of process, 0 = all) in order of creation. */
int trace_allocations(struct trace *t, uint32_t process, int (*fn)(void *ctx, const struct trace_allocation *a), void *ctx);
int trace_modules(struct trace *t, uint32_t process, int (*fn)(void *ctx, const struct trace_module *m), void *ctx);
/* Whether the rows are those that were recorded, table by table; contents are checked when they are read. 0 too where
 * there is nothing to check by: an unclosed trace, or one of before there were row hashes (trace_has_row_hashes). */
int trace_check_rows(struct trace *t, void (*progress)(void *ctx, int permille), void *ctx, struct diag *d);
bool trace_has_row_hashes(struct trace *t);
/* Integrity: structure, rows, references, hashes of all chunks. Progress in per mille. */
int trace_check(struct trace *t, void (*progress)(void *ctx, int permille), void *ctx, struct diag *d);

#endif
