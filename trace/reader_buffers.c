/* SPDX-License-Identifier: Apache-2.0
 * Buffers' bytes. Every chunk is checked against its hash before a byte of it is handed out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "trace/internal.h"

static int damaged(struct trace *t, struct diag *d, uint64_t chunk, const char *why)
{
	diag_set(d, CUTRACE_ECORRUPT, t->path, "chunk %llu is damaged: %s", (unsigned long long)chunk, why);
	diag_hint(d, "copy the trace again from where it was recorded");
	return CUTRACE_ECORRUPT;
}

static int read_log(struct trace *t, uint64_t id, uint64_t offset, size_t n, struct diag *d)
{
	size_t got = 0;

	if (t->log_fd < 0)
		return damaged(t, d, id, "it is in the payload log, which a closed trace doesn't have");
	while (got < n) {
		ssize_t k = pread(t->log_fd, t->chunk + got, n - got, (off_t)(offset + got));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return damaged(t, d, id, k ? strerror(errno) : "the payload log is cut off");
		got += (size_t)k;
	}
	return 0;
}

/* The plain bytes of the row s into t->chunk. */
static int unpack(struct trace *t, sqlite3_stmt *s, uint64_t id, size_t n, struct diag *d)
{
	const void *data = sqlite3_column_blob(s, 4);
	size_t stored = (size_t)sqlite3_column_bytes(s, 4), k;

	switch (sqlite3_column_int(s, 2)) {
	case CHUNK_STORED:
		if (stored != n)
			return damaged(t, d, id, "its length is wrong");
		memcpy(t->chunk, data ? data : "", n);
		return 0;
	case CHUNK_ZSTD:
		k = ZSTD_decompress(t->chunk, TRACE_CHUNK_BYTES, data, stored);
		if (ZSTD_isError(k) || k != n)
			return damaged(t, d, id,
				       ZSTD_isError(k) ? ZSTD_getErrorName(k) : "its length is wrong");
		return 0;
	case CHUNK_LOGGED: return read_log(t, id, (uint64_t)sqlite3_column_int64(s, 3), n, d);
	default: return damaged(t, d, id, "its codec is not known");
	}
}

static int load_chunk(struct trace *t, uint64_t id, struct diag *d)
{
	sqlite3_stmt *s = reader_stmt(t, R_CHUNK);
	struct trace_hash h;
	int64_t n;
	int rc;

	if (!s)
		return reader_fail(t, d, "cannot read a chunk");
	sqlite3_bind_int64(s, 1, (int64_t)id);
	rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		rc = rc == SQLITE_DONE ? damaged(t, d, id, "it is missing")
				       : reader_fail(t, d, "cannot read a chunk");
	else
		rc = 0;
	n = rc ? 0 : sqlite3_column_int64(s, 1);
	if (!rc && (n < 0 || n > TRACE_CHUNK_BYTES || sqlite3_column_bytes(s, 0) != sizeof(h.b)))
		rc = damaged(t, d, id, "its length is wrong");
	if (!rc)
		rc = unpack(t, s, id, (size_t)n, d);
	if (!rc) {
		h = trace_hash_bytes(t->chunk, (size_t)n);
		if (memcmp(h.b, sqlite3_column_blob(s, 0), sizeof(h.b)) != 0)
			rc = damaged(t, d, id, "its bytes do not have the hash that was recorded");
	}
	sqlite3_reset(s);
	t->cached_chunk = rc ? 0 : id;
	t->cached_bytes = rc ? 0 : (size_t)n;
	return rc;
}

int reader_chunk(struct trace *t, uint64_t id, struct diag *d)
{
	int rc;

	if (id && t->cached_chunk == id)
		return 0;
	rc = load_chunk(t, id, d);
	/* A recording that is being closed moves chunks from the log into rows: look at the row again. */
	if (rc && t->log_fd >= 0)
		rc = load_chunk(t, id, d);
	return rc;
}

static int buffer_row(struct trace *t, uint64_t buffer, int64_t *bytes, struct trace_hash *h)
{
	sqlite3_stmt *s;
	bool found;

	if (buffer && t->known_buffer == buffer) {
		*bytes = t->known_bytes;
		*h = t->known_hash;
		return 0;
	}
	s = reader_stmt(t, R_BUFFER);
	if (!s)
		return CUTRACE_ECORRUPT;
	sqlite3_bind_int64(s, 1, (int64_t)buffer);
	found = sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int64(s, 0) >= 0 &&
		sqlite3_column_bytes(s, 1) == sizeof(h->b);
	if (found) {
		*bytes = sqlite3_column_int64(s, 0);
		memcpy(h->b, sqlite3_column_blob(s, 1), sizeof(h->b));
		t->known_buffer = buffer;
		t->known_bytes = *bytes;
		t->known_hash = *h;
	}
	sqlite3_reset(s);
	return found ? 0 : CUTRACE_ENOENT;
}

int64_t trace_buffer_bytes(struct trace *t, uint64_t buffer)
{
	struct trace_hash h;
	int64_t bytes;

	return buffer_row(t, buffer, &bytes, &h) ? -1 : bytes;
}

static int broken(struct trace *t, struct diag *d, uint64_t buffer, const char *why)
{
	diag_set(d, CUTRACE_ECORRUPT, t->path, "buffer %llu is damaged: %s", (unsigned long long)buffer, why);
	diag_hint(d, "copy the trace again from where it was recorded");
	return CUTRACE_ECORRUPT;
}

static uint64_t chunk_of(struct trace *t, uint64_t buffer, uint64_t index)
{
	sqlite3_stmt *s;
	uint64_t id = 0;

	if (t->known_chunk && t->known_link == buffer && t->known_index == index)
		return t->known_chunk;
	s = reader_stmt(t, R_BUFFER_CHUNK);
	if (!s)
		return 0;
	sqlite3_bind_int64(s, 1, (int64_t)buffer);
	sqlite3_bind_int64(s, 2, (int64_t)index);
	if (sqlite3_step(s) == SQLITE_ROW)
		id = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	t->known_link = buffer;
	t->known_index = index;
	t->known_chunk = id;
	return id;
}

int trace_buffer_read(struct trace *t, uint64_t buffer, uint64_t offset, void *dst, size_t bytes,
		      struct diag *d)
{
	int64_t total = trace_buffer_bytes(t, buffer);
	uint8_t *out = dst;

	if (total < 0)
		return diag_set(d, CUTRACE_ENOENT, t->path, "there is no buffer %llu",
				(unsigned long long)buffer);
	if (offset > (uint64_t)total || bytes > (uint64_t)total - offset)
		return diag_set(
			d, CUTRACE_EINVAL, t->path, "buffer %llu has %lld bytes; %zu at %llu are not in it",
			(unsigned long long)buffer, (long long)total, bytes, (unsigned long long)offset);
	while (bytes) {
		uint64_t id = chunk_of(t, buffer, offset / TRACE_CHUNK_BYTES);
		size_t in = offset % TRACE_CHUNK_BYTES, k;
		int rc = id ? reader_chunk(t, id, d) : broken(t, d, buffer, "a chunk is missing");

		if (rc)
			return rc;
		if (in >= t->cached_bytes)
			return broken(t, d, buffer, "a chunk is too short");
		k = t->cached_bytes - in < bytes ? t->cached_bytes - in : bytes;
		memcpy(out, t->chunk + in, k);
		out += k;
		offset += k;
		bytes -= k;
	}
	return 0;
}

void *trace_buffer_load(struct trace *t, uint64_t buffer, size_t *bytes, struct diag *d)
{
	struct trace_hash want, have;
	int64_t total;
	uint8_t *p;

	*bytes = 0;
	if (buffer_row(t, buffer, &total, &want)) {
		diag_set(d, CUTRACE_ENOENT, t->path, "there is no buffer %llu", (unsigned long long)buffer);
		return NULL;
	}
	if (total && !chunk_of(t, buffer,
			       (uint64_t)(total - 1) / TRACE_CHUNK_BYTES)) { /* before memory is asked for */
		broken(t, d, buffer, "a chunk is missing");
		return NULL;
	}
	p = malloc((size_t)total + 1);
	if (!p) {
		diag_set(d, CUTRACE_ENOMEM, t->path, "out of memory for buffer %llu of %lld bytes",
			 (unsigned long long)buffer, (long long)total);
		return NULL;
	}
	if (trace_buffer_read(t, buffer, 0, p, (size_t)total, d)) {
		free(p);
		return NULL;
	}
	have = trace_hash_bytes(p, (size_t)total);
	if (memcmp(have.b, want.b, sizeof(want.b)) != 0) {
		broken(t, d, buffer, "it does not have the hash that was recorded");
		free(p);
		return NULL;
	}
	p[total] = '\0';
	*bytes = (size_t)total;
	return p;
}
