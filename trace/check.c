/* SPDX-License-Identifier: Apache-2.0
 * Integrity: SQLite's own structure, hashes of rows, references between tables, hashes of all chunks and buffers. */
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

struct checker {
	struct trace *t;
	void (*progress)(void *ctx, int permille);
	void *ctx;
	struct diag *d;
};

static void report(const struct checker *c, int permille)
{
	if (c->progress)
		c->progress(c->ctx, permille);
}

/* Rows that refer to nothing. Each query gives the first culprit's id. */
static const struct {
	const char *what, *sql;
} references[] = {
	{"call %lld has a function that is not in the trace",
	 "SELECT id FROM call WHERE func NOT IN (SELECT id FROM function) LIMIT 1"},
	{"call %lld has a thread that is not in the trace",
	 "SELECT id FROM call WHERE thread NOT IN (SELECT id FROM thread) LIMIT 1"},
	{"call %lld has a parent that did not begin before it",
	 "SELECT id FROM call WHERE parent >= id LIMIT 1"},
	{"thread %lld has a process that is not in the trace",
	 "SELECT id FROM thread WHERE process NOT IN (SELECT id FROM process) LIMIT 1"},
	{"a payload of call %lld refers to a buffer that is not in the trace",
	 "SELECT call FROM payload p WHERE buffer IS NOT NULL AND NOT EXISTS "
	 "(SELECT 1 FROM buffer b WHERE b.id=p.buffer) LIMIT 1"},
	{"a payload belongs to call %lld, which is not in the trace",
	 "SELECT call FROM payload p WHERE NOT EXISTS (SELECT 1 FROM call c WHERE c.id=p.call) LIMIT 1"},
	{"buffer %lld has a chunk that is not in the trace",
	 "SELECT buffer FROM buffer_chunk x WHERE NOT EXISTS (SELECT 1 FROM chunk c WHERE c.id=x.chunk) "
	 "LIMIT 1"},
	{"the launch of call %lld refers to a kernel that is not in the trace",
	 "SELECT call FROM launch l WHERE kernel IS NOT NULL AND NOT EXISTS "
	 "(SELECT 1 FROM kernel k WHERE k.id=l.kernel) LIMIT 1"},
	{"module %lld refers to an image that is not in the trace",
	 "SELECT id FROM module m WHERE image IS NOT NULL AND NOT EXISTS "
	 "(SELECT 1 FROM buffer b WHERE b.id=m.image) LIMIT 1"},
	{"kernel %lld refers to a module that is not in the trace",
	 "SELECT id FROM kernel k WHERE module IS NOT NULL AND NOT EXISTS "
	 "(SELECT 1 FROM module m WHERE m.id=k.module) LIMIT 1"},
};

static int check_structure(struct checker *c)
{
	struct trace *t = c->t;
	sqlite3_stmt *s;
	int rc = 0;

	if (sqlite3_prepare_v2(t->db, "PRAGMA quick_check(1)", -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		rc = reader_fail(t, c->d, "cannot be checked");
	else if (strcmp((const char *)sqlite3_column_text(s, 0), "ok") != 0)
		rc = diag_set(c->d, CUTRACE_ECORRUPT, t->path, "the file is damaged: %s",
			      sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return rc;
}

static int check_references(struct checker *c)
{
	size_t i;

	for (i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
		char what[160];
		int64_t id;
		int rc = db_int(c->t->db, c->t->path, c->d, references[i].sql, INT64_MIN, &id);

		if (rc)
			return rc;
		if (id == INT64_MIN)
			continue;
		/* the formats are the table's */
		sqlite3_snprintf(sizeof(what), what, references[i].what, (long long)id);
		return diag_set(c->d, CUTRACE_ECORRUPT, c->t->path, "%s", what);
	}
	return 0;
}

static int check_chunks(struct checker *c)
{
	struct trace *t = c->t;
	int64_t total, done = 0;
	sqlite3_stmt *s;
	int rc = db_int(t->db, t->path, c->d, "SELECT count(*) FROM chunk", 0, &total), step = SQLITE_DONE;

	if (rc)
		return rc;
	if (sqlite3_prepare_v2(t->db, "SELECT id FROM chunk ORDER BY id", -1, &s, NULL) != SQLITE_OK)
		return reader_fail(t, c->d, "cannot be checked");
	while (!rc && (step = sqlite3_step(s)) == SQLITE_ROW) {
		rc = reader_chunk(t, (uint64_t)sqlite3_column_int64(s, 0), c->d);
		report(c, 100 + (int)(done++ * 600 / (total ? total : 1)));
	}
	sqlite3_finalize(s);
	return rc ? rc : step == SQLITE_DONE ? 0 : reader_fail(t, c->d, "cannot be checked");
}

/* A buffer of one chunk has that chunk's hash; others are hashed whole. */
static int check_buffer(struct checker *c, uint64_t id, uint64_t bytes, const void *want, XXH3_state_t *state)
{
	XXH128_canonical_t have;
	uint64_t at;
	uint8_t *piece = malloc(TRACE_CHUNK_BYTES);
	int rc = piece ? 0 : diag_set(c->d, CUTRACE_ENOMEM, c->t->path, "out of memory");

	XXH3_128bits_reset(state);
	for (at = 0; at < bytes && !rc;) {
		size_t n = bytes - at < TRACE_CHUNK_BYTES ? (size_t)(bytes - at) : TRACE_CHUNK_BYTES;

		rc = trace_buffer_read(c->t, id, at, piece, n, c->d);
		if (!rc)
			XXH3_128bits_update(state, piece, n);
		at += n;
	}
	free(piece);
	XXH128_canonicalFromHash(&have, XXH3_128bits_digest(state));
	if (!rc && memcmp(have.digest, want, sizeof(have.digest)) != 0)
		rc = diag_set(c->d, CUTRACE_ECORRUPT, c->t->path,
			      "buffer %llu does not have the hash that was recorded", (unsigned long long)id);
	return rc;
}

static int check_buffers(struct checker *c)
{
	struct trace *t = c->t;
	XXH3_state_t *state = XXH3_createState();
	sqlite3_stmt *s = NULL;
	int rc = 0, step = SQLITE_DONE;

	if (!state)
		return diag_set(c->d, CUTRACE_ENOMEM, t->path, "out of memory");
	if (sqlite3_prepare_v2(t->db, "SELECT id,bytes,hash FROM buffer ORDER BY id", -1, &s, NULL) !=
	    SQLITE_OK)
		rc = reader_fail(t, c->d, "cannot be checked");
	while (!rc && (step = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t id = (uint64_t)sqlite3_column_int64(s, 0);

		if (sqlite3_column_bytes(s, 2) != 16 || sqlite3_column_int64(s, 1) < 0)
			rc = diag_set(c->d, CUTRACE_ECORRUPT, t->path, "buffer %llu has no hash",
				      (unsigned long long)id);
		else
			rc = check_buffer(c, id, (uint64_t)sqlite3_column_int64(s, 1),
					  sqlite3_column_blob(s, 2), state);
	}
	sqlite3_finalize(s);
	XXH3_freeState(state);
	return rc ? rc : step == SQLITE_DONE ? 0 : reader_fail(t, c->d, "cannot be checked");
}

int trace_check(struct trace *t, void (*progress)(void *ctx, int permille), void *ctx, struct diag *d)
{
	struct checker c = {.t = t, .progress = progress, .ctx = ctx, .d = d};
	int rc = check_structure(&c);

	report(&c, 30);
	if (!rc)
		rc = trace_check_rows(t, NULL, NULL, d);
	report(&c, 60);
	if (!rc)
		rc = check_references(&c);
	report(&c, 100);
	if (!rc)
		rc = check_chunks(&c);
	if (!rc)
		rc = check_buffers(&c);
	if (!rc)
		report(&c, 1000);
	return rc;
}
