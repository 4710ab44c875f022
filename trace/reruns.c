/* SPDX-License-Identifier: Apache-2.0
 *
 * What launches wrote when they were made again, added to a closed trace: beside what they wrote when they were recorded,
 * that is what else the same driver makes of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "trace/internal.h"

struct adding {
	sqlite3 *db;
	const char *path;
	struct diag *d;
	void *packed; /* room for a chunk */
	size_t capacity;
};

__attribute__((format(printf, 3, 0))) static sqlite3_stmt *bound(const struct adding *a, const char *sql,
								 const char *format, va_list ap)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(a->db, sql, -1, &st, NULL) == SQLITE_OK &&
	    db_bind(st, format, ap) == SQLITE_OK)
		return st;
	sqlite3_finalize(st);
	return NULL;
}

/* 0 or an error; *id: its first column, if it has a row. */
static int run(const struct adding *a, int64_t *id, const char *sql, const char *format, ...)
{
	sqlite3_stmt *st;
	va_list ap;
	int rc;

	va_start(ap, format);
	st = bound(a, sql, format, ap);
	va_end(ap);
	rc = st ? sqlite3_step(st) : SQLITE_ERROR;
	if (rc == SQLITE_ROW && id)
		*id = sqlite3_column_int64(st, 0);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		db_fail(a->db, a->path, a->d, "what launches wrote when made again can't be added");
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : CUTRACE_EIO;
}

static int add_chunk(const struct adding *a, const void *data, size_t n, int64_t *id)
{
	struct trace_hash h = trace_hash_bytes(data, n);
	size_t packed;
	bool smaller;
	int rc;

	*id = 0;
	rc = run(a, id, "SELECT id FROM chunk WHERE hash = ? AND bytes = ?", "bi", h.b, sizeof(h.b),
		 (int64_t)n);
	if (rc || *id)
		return rc;
	packed = ZSTD_compress(a->packed, a->capacity, data, n, 1);
	smaller = !ZSTD_isError(packed) && packed <= n - n / 16;
	rc = run(a, NULL, "INSERT INTO chunk (hash, bytes, codec, data) VALUES (?, ?, ?, ?)", "biib", h.b,
		 sizeof(h.b), (int64_t)n, (int64_t)(smaller ? CHUNK_ZSTD : CHUNK_STORED),
		 smaller ? a->packed : data, smaller ? packed : n);
	*id = sqlite3_last_insert_rowid(a->db);
	return rc;
}

static int add_buffer(const struct adding *a, const char *data, size_t n, int64_t *id)
{
	struct trace_hash h = trace_hash_bytes(data, n);
	int64_t chunk;
	int rc;

	*id = 0;
	rc = run(a, id, "SELECT id FROM buffer WHERE hash = ? AND bytes = ?", "bi", h.b, sizeof(h.b),
		 (int64_t)n);
	if (rc || *id)
		return rc;
	rc = run(a, NULL, "INSERT INTO buffer (hash, bytes) VALUES (?, ?)", "bi", h.b, sizeof(h.b),
		 (int64_t)n);
	*id = sqlite3_last_insert_rowid(a->db);
	for (size_t at = 0; !rc && at < n; at += TRACE_CHUNK_BYTES) {
		size_t k = n - at < TRACE_CHUNK_BYTES ? n - at : TRACE_CHUNK_BYTES;

		rc = add_chunk(a, data + at, k, &chunk);
		if (!rc)
			rc = run(a, NULL, "INSERT INTO buffer_chunk VALUES (?, ?, ?)", "iii", *id,
				 (int64_t)(at / TRACE_CHUNK_BYTES), chunk);
	}
	return rc;
}

static int add_row(const struct adding *a, const struct trace_rerun *r, unsigned runs)
{
	int fd = open(r->contents, O_RDONLY | O_CLOEXEC);
	void *data = MAP_FAILED;
	struct stat st;
	int64_t buffer;
	char note[64];
	int rc;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (data == MAP_FAILED)
		return diag_set(a->d, CUTRACE_EIO, r->contents, "can't be read: %s", strerror(errno));
	snprintf(note, sizeof(note), "in %u of %u self-replays", r->times, runs);
	rc = add_buffer(a, data, (size_t)st.st_size, &buffer);
	if (!rc)
		rc = run(
			a, NULL,
			"INSERT INTO payload (call, param, kind, address, device_address, width, height, depth, "
			"buffer, note) VALUES (?, -1, 'rerun', 0, ?, ?, 1, 1, ?, ?)",
			"iiiit", (int64_t)r->launch, (int64_t)r->base, (int64_t)st.st_size, buffer, note);
	munmap(data, (size_t)st.st_size);
	return rc;
}

static int add_all(const struct adding *a, const struct trace_rerun *rows, size_t n, unsigned runs)
{
	int rc = db_exec(
		a->db, a->path, a->d,
		"BEGIN; CREATE INDEX rerun_chunk ON chunk(hash); CREATE INDEX rerun_buffer ON buffer(hash)");

	for (size_t i = 0; !rc && i < n; i++)
		rc = add_row(a, &rows[i], runs);
	if (!rc)
		rc = run(a, NULL, "INSERT OR REPLACE INTO meta VALUES ('self_replays', ?)", "i",
			 (int64_t)runs);
	return rc ? rc
		  : db_exec(a->db, a->path, a->d,
			    "DROP INDEX rerun_chunk; DROP INDEX rerun_buffer; DELETE FROM row_hash; COMMIT");
}

int trace_add_reruns(const char *path, const struct trace_rerun *rows, size_t n, unsigned runs,
		     struct diag *d)
{
	struct adding a = {.path = path, .d = d, .capacity = ZSTD_compressBound(TRACE_CHUNK_BYTES)};
	int rc = 0;

	a.packed = malloc(a.capacity);
	if (!a.packed)
		rc = diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
	else if (sqlite3_open_v2(path, &a.db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		rc = db_fail(a.db, path, d, "it can't be written");
	if (!rc)
		rc = add_all(&a, rows, n, runs);
	if (!rc)
		rc = row_hash_write(a.db, path, NULL, d);
	sqlite3_close(a.db);
	free(a.packed);
	return rc;
}
