/* SPDX-License-Identifier: Apache-2.0
 * Buffers and chunks while recording: cut, hash, look up, append what is new. Small chunks become rows at
 * once, others go to the payload log and become rows when the trace is closed (finish.c). The log is written
 * before the row that refers to it is committed; whoever dies in between leaves unused bytes at the end of
 * the log, nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/internal.h"

struct trace_buffer_writer {
	struct trace_writer *w;
	uint8_t *stage; /* the chunk being filled */
	size_t staged, stage_capacity;
	uint64_t bytes; /* in whole chunks so far */
	uint64_t *chunks;
	size_t nchunks, chunks_capacity;
	struct trace_hash hash; /* of the last chunk */
	XXH3_state_t *whole;    /* once there may be more than one chunk */
	int error;
};

/* The lock on the log says that a recording is going on here. */
static int lock_log(struct trace_writer *w, struct diag *d)
{
	if (!flock(w->log_fd, LOCK_EX | LOCK_NB))
		return 0;
	diag_set(d, CUTRACE_EIO, w->path, "another recording is being written to this file");
	diag_hint(d, "wait for it to end, or name another file with -o");
	return CUTRACE_EIO;
}

/* Whoever held the lock before may have removed the file that we opened: then we lock a file without a name. */
static bool is_named(int fd, const char *path)
{
	struct stat ours, there;

	return !fstat(fd, &ours) && !stat(path, &there) && ours.st_dev == there.st_dev &&
	       ours.st_ino == there.st_ino;
}

int log_create(struct trace_writer *w, struct diag *d)
{
	static const char header[TRACE_LOG_HEADER] = TRACE_LOG_MAGIC;
	const char *path = w->log_path;

	for (;;) {
		w->log_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (w->log_fd < 0) { /* the first file in the folder that is to hold the trace */
			diag_set(d, CUTRACE_EIO, w->path, "no trace can be made there: %s", strerror(errno));
			diag_hint(d, "check that the folder exists and may be written, or name another file "
				     "with -o");
			return CUTRACE_EIO;
		}
		if (lock_log(w, d))
			return CUTRACE_EIO;
		if (is_named(w->log_fd, path))
			break;
		close(w->log_fd);
	}
	if (ftruncate(w->log_fd, 0) ||
	    pwrite(w->log_fd, header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return diag_set(d, CUTRACE_EIO, path, "cannot write the payload log: %s", strerror(errno));
	w->log_end = sizeof(header);
	return 0;
}

int log_reopen(struct trace_writer *w, struct diag *d)
{
	struct stat st;

	w->log_fd = open(w->log_path, O_RDWR | O_CLOEXEC);
	if (w->log_fd < 0)
		return errno == ENOENT ? 0 : diag_set(d, CUTRACE_EIO, w->log_path, "%s", strerror(errno));
	if (lock_log(w, d))
		return CUTRACE_EIO;
	if (!is_named(w->log_fd, w->log_path)) { /* another one has just finished the trace */
		close(w->log_fd);
		w->log_fd = -1;
		return 0;
	}
	w->log_end = fstat(w->log_fd, &st) ? 0 : (uint64_t)st.st_size;
	return 0;
}

static int log_append(struct trace_writer *w, const uint8_t *p, size_t n, uint64_t *offset)
{
	*offset = w->log_end;
	while (n) {
		ssize_t k = pwrite(w->log_fd, p, n, (off_t)w->log_end);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			errno = k ? errno : ENOSPC;
			writer_set(w, CUTRACE_EIO, "cannot write the payload log: %s", strerror(errno));
			diag_hint(&w->error, "make room on the disk, or choose another place with -o");
			return w->error.code;
		}
		p += k;
		n -= (size_t)k;
		w->log_end += (uint64_t)k;
	}
	return 0;
}

/* Row id of known contents, 0 when new. */
static uint64_t find(struct trace_writer *w, struct content_map *map, enum writer_stmt id,
		     const struct trace_hash *h, uint64_t bytes)
{
	uint64_t found = content_map_find(map, h, bytes);
	sqlite3_stmt *s;

	if (found || bytes <= SMALL_BYTES)
		return found;
	s = writer_stmt(w, id);
	if (!s)
		return 0;
	sqlite3_bind_blob(s, 1, h->b, sizeof(h->b), SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, (int64_t)bytes);
	if (sqlite3_step(s) == SQLITE_ROW)
		found = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return found;
}

static int insert_chunk(struct trace_writer *w, const uint8_t *p, size_t n, const struct trace_hash *h,
			uint64_t *id)
{
	bool logged = w->tuning.use_log && n > w->tuning.inline_bytes;
	uint64_t offset = 0;

	if (writer_begin(w) || (logged && log_append(w, p, n, &offset)))
		return w->error.code;
	if (logged)
		writer_row(w, W_CHUNK, "buizz", h->b, sizeof(h->b), (uint64_t)n, (int64_t)CHUNK_LOGGED,
			   offset, (uint64_t)0);
	else
		writer_row(w, W_CHUNK, "buizb", h->b, sizeof(h->b), (uint64_t)n, (int64_t)CHUNK_STORED,
			   (uint64_t)0, p, n);
	*id = (uint64_t)sqlite3_last_insert_rowid(w->db);
	if (logged) /* packing changes it */
		row_live_spoil(w->live, LIVE_CHUNK, *id);
	return writer_grown(w, n);
}

static int put_chunk(struct trace_writer *w, const uint8_t *p, size_t n, struct trace_hash *h, uint64_t *id)
{
	*h = trace_hash_bytes(p, n);
	*id = find(w, w->chunks, W_CHUNK_FIND, h, n);
	if (!*id && insert_chunk(w, p, n, h, id))
		return w->error.code;
	content_map_put(w->chunks, h, n, *id);
	return w->error.code;
}

struct trace_buffer_writer *trace_buffer_begin(struct trace_writer *w)
{
	struct trace_buffer_writer *b = w->error.code ? NULL : calloc(1, sizeof(*b));

	if (b)
		b->w = w;
	else
		writer_set(w, CUTRACE_ENOMEM, "out of memory for a buffer");
	return b;
}

static int no_memory(struct trace_buffer_writer *b)
{
	b->error = writer_set(b->w, CUTRACE_ENOMEM, "out of memory for a buffer of %llu bytes",
			      (unsigned long long)b->bytes);
	return b->error;
}

static int add_chunk_id(struct trace_buffer_writer *b, uint64_t id)
{
	size_t more = b->chunks_capacity ? b->chunks_capacity * 2 : 4;
	uint64_t *p;

	if (b->nchunks == b->chunks_capacity) {
		p = reallocarray(b->chunks, more, sizeof(*p));
		if (!p)
			return no_memory(b);
		b->chunks = p;
		b->chunks_capacity = more;
	}
	b->chunks[b->nchunks++] = id;
	return 0;
}

static int end_chunk(struct trace_buffer_writer *b, const uint8_t *p, size_t n)
{
	uint64_t id;

	b->error = put_chunk(b->w, p, n, &b->hash, &id);
	if (b->error || add_chunk_id(b, id))
		return b->error;
	b->bytes += n;
	/* A short chunk is the last: alone, its hash is the whole's. */
	if (!b->whole && n == TRACE_CHUNK_BYTES) {
		b->whole = XXH3_createState();
		if (!b->whole)
			return no_memory(b);
		XXH3_128bits_reset(b->whole);
	}
	if (b->whole)
		XXH3_128bits_update(b->whole, p, n);
	return 0;
}

/* Room for n more staged bytes: a small buffer should not cost a whole chunk of memory. */
static int stage_room(struct trace_buffer_writer *b, size_t n)
{
	size_t want = b->stage_capacity ? b->stage_capacity : 4096;
	uint8_t *p;

	while (want < b->staged + n)
		want *= 2;
	if (want == b->stage_capacity)
		return 0;
	p = realloc(b->stage, want);
	if (!p)
		return no_memory(b);
	b->stage = p;
	b->stage_capacity = want;
	return 0;
}

static size_t stage_some(struct trace_buffer_writer *b, const uint8_t *p, size_t n)
{
	if (n > TRACE_CHUNK_BYTES - b->staged)
		n = TRACE_CHUNK_BYTES - b->staged;
	if (stage_room(b, n))
		return 0;
	memcpy(b->stage + b->staged, p, n);
	b->staged += n;
	if (b->staged == TRACE_CHUNK_BYTES) {
		end_chunk(b, b->stage, b->staged);
		b->staged = 0;
	}
	return n;
}

int trace_buffer_append(struct trace_buffer_writer *b, const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n && !b->error) {
		size_t k = TRACE_CHUNK_BYTES;

		if (!b->staged && n >= k)
			end_chunk(b, p, k); /* no copy */
		else
			k = stage_some(b, p, n);
		p += k;
		n -= k;
	}
	return b->error;
}

static struct trace_hash whole_hash(struct trace_buffer_writer *b)
{
	XXH128_canonical_t canonical;
	struct trace_hash h;

	if (!b->nchunks)
		return trace_hash_bytes("", 0);
	if (b->nchunks == 1 || !b->whole)
		return b->hash;
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(b->whole));
	memcpy(h.b, canonical.digest, sizeof(h.b));
	return h;
}

static int insert_buffer(struct trace_writer *w, const struct trace_hash *h, uint64_t bytes,
			 const uint64_t *chunks, size_t n, uint64_t *id)
{
	size_t i;

	if (writer_row(w, W_BUFFER, "bu", h->b, sizeof(h->b), bytes))
		return w->error.code;
	*id = (uint64_t)sqlite3_last_insert_rowid(w->db);
	for (i = 0; i < n && !w->error.code; i++)
		writer_row(w, W_BUFFER_CHUNK, "uuu", *id, (uint64_t)i, chunks[i]);
	if (!w->error.code)
		content_map_put(w->buffers, h, bytes, *id);
	return w->error.code;
}

/* A small buffer is one chunk, found by the buffer: the maps and rows of chunks need no look. */
static int put_small(struct trace_writer *w, const uint8_t *p, size_t n, uint64_t *id, struct trace_hash *h)
{
	uint64_t chunk;

	*h = trace_hash_bytes(p, n);
	*id = content_map_find(w->buffers, h, n);
	if (*id || (n && insert_chunk(w, p, n, h, &chunk)))
		return w->error.code;
	return insert_buffer(w, h, n, &chunk, n ? 1 : 0, id);
}

int trace_buffer_end(struct trace_buffer_writer *b, uint64_t *id, struct trace_hash *hash)
{
	struct trace_hash h;
	int rc;
	bool small = !b->nchunks && b->staged <= SMALL_BYTES;

	if (b->staged && !b->error && !small)
		end_chunk(b, b->stage, b->staged);
	rc = b->error;
	if (!rc && small) {
		rc = put_small(b->w, b->stage, b->staged, id, &h);
		if (hash)
			*hash = h;
	} else if (!rc) {
		h = whole_hash(b);
		*id = find(b->w, b->w->buffers, W_BUFFER_FIND, &h, b->bytes);
		if (!*id)
			rc = insert_buffer(b->w, &h, b->bytes, b->chunks, b->nchunks, id);
		if (hash)
			*hash = h;
	}
	trace_buffer_abort(b);
	return rc;
}

void trace_buffer_abort(struct trace_buffer_writer *b)
{
	XXH3_freeState(b->whole);
	free(b->stage);
	free(b->chunks);
	free(b);
}

int trace_writer_buffer(struct trace_writer *w, const void *data, size_t bytes, uint64_t *id)
{
	struct trace_buffer_writer *b;
	struct trace_hash h;

	if (w->error.code)
		return w->error.code;
	if (bytes <= SMALL_BYTES) /* the usual case needs no memory */
		return put_small(w, data, bytes, id, &h);
	b = trace_buffer_begin(w);
	if (!b)
		return w->error.code;
	trace_buffer_append(b, data, bytes);
	return trace_buffer_end(b, id, NULL);
}
