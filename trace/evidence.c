/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves evidence between traces of the same launches: what they wrote when they were first recorded, into a trace that
 * was made by making them again elsewhere.
 */
#include <stdlib.h>

#include "trace/internal.h"

struct taking {
	sqlite3 *db; /* the trace that takes, the other attached as "old" */
	const char *path;
	struct diag *d;
};

static sqlite3_stmt *prepare(const struct taking *t, const char *sql)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(t->db, sql, -1, &st, NULL) != SQLITE_OK)
		diag_set(t->d, CUTRACE_EIO, t->path, "%s", sqlite3_errmsg(t->db));
	return st;
}

/* Runs a statement with up to three numbers; the first column of its first row, 0 if it has none, -1 on failure. */
static int64_t run(const struct taking *t, const char *sql, int64_t a, int64_t b, int64_t c)
{
	sqlite3_stmt *st = prepare(t, sql);
	const int64_t values[] = {a, b, c};
	int64_t result = 0;
	int rc;

	for (int i = 0; st && i < sqlite3_bind_parameter_count(st) && i < 3; i++)
		sqlite3_bind_int64(st, i + 1, values[i]);
	rc = st ? sqlite3_step(st) : SQLITE_ERROR;
	if (rc == SQLITE_ROW)
		result = sqlite3_column_int64(st, 0);
	else if (rc != SQLITE_DONE)
		result = -1;
	if (st && rc != SQLITE_ROW && rc != SQLITE_DONE)
		diag_set(t->d, CUTRACE_EIO, t->path, "%s", sqlite3_errmsg(t->db));
	sqlite3_finalize(st);
	return result;
}

/* The old trace's buffer in this one, with its chunks; its id here, or -1. */
static int64_t copy_buffer(const struct taking *t, int64_t old)
{
	sqlite3_stmt *chunks;
	int64_t id;
	int rc = SQLITE_ERROR;
	bool ok = true;

	if (run(t, "INSERT INTO buffer (hash, bytes) SELECT hash, bytes FROM old.buffer WHERE id = ?1", old,
		0, 0) < 0)
		return -1;
	id = sqlite3_last_insert_rowid(t->db);
	chunks = prepare(t, "SELECT idx, chunk FROM old.buffer_chunk WHERE buffer = ? ORDER BY idx");
	if (chunks)
		sqlite3_bind_int64(chunks, 1, old);
	while (ok && chunks && (rc = sqlite3_step(chunks)) == SQLITE_ROW) {
		int64_t idx = sqlite3_column_int64(chunks, 0), chunk = sqlite3_column_int64(chunks, 1);

		ok = run(t,
			 "INSERT INTO chunk (hash, bytes, codec, data) SELECT hash, bytes, codec, data FROM "
			 "old.chunk "
			 "WHERE id = ?1",
			 chunk, 0, 0) >= 0 &&
		     run(t, "INSERT INTO buffer_chunk VALUES (?1, ?2, ?3)", id, idx,
			 sqlite3_last_insert_rowid(t->db)) >= 0;
	}
	sqlite3_finalize(chunks);
	if (ok && chunks && rc != SQLITE_DONE)
		diag_set(t->d, CUTRACE_EIO, t->path, "a buffer can't be copied: %s", sqlite3_errmsg(t->db));
	return rc == SQLITE_DONE ? id : -1;
}

static int take_payload(const struct taking *t, int64_t payload, int64_t launch, int64_t address, int64_t old)
{
	int64_t id = copy_buffer(t, old);

	if (id < 0 || run(t, "UPDATE payload SET buffer = ?2 WHERE id = ?1", payload, id, 0) < 0 ||
	    run(t,
		"UPDATE launch_hash SET hash = (SELECT hash FROM buffer WHERE id = ?3) WHERE launch = ?1 AND "
		"base = ?2",
		launch, address, id) < 0)
		return CUTRACE_EIO;
	return 0;
}

/* Launches in their order, and of each what it wrote in its order, stand opposite each other. */
static const char differing[] =
	"WITH mine AS (SELECT p.id, l.call, p.device_address, p.width, b.hash, dense_rank() OVER (ORDER BY "
	"l.call) AS launch,"
	" row_number() OVER (PARTITION BY l.call ORDER BY p.id) AS k FROM launch l, payload p, buffer b"
	" WHERE p.call = l.call AND p.kind = 'written' AND b.id = p.buffer),"
	" theirs AS (SELECT p.buffer, p.width, b.hash, dense_rank() OVER (ORDER BY l.call) AS launch,"
	" row_number() OVER (PARTITION BY l.call ORDER BY p.id) AS k FROM old.launch l, old.payload p, "
	"old.buffer b"
	" WHERE l.call BETWEEN ?1 AND ?2 AND p.call = l.call AND p.kind = 'written' AND b.id = p.buffer)"
	" SELECT m.id, m.call, m.device_address, t.buffer FROM mine m JOIN theirs t USING (launch, k)"
	" WHERE m.width = t.width AND m.hash <> t.hash";

/* A row of it. */
struct taken {
	int64_t payload, launch, address, old;
};

/* All rows, before the tables change; malloc'ed. */
static int read_differing(const struct taking *t, sqlite3_stmt *st, struct taken **rows, size_t *n)
{
	int rc;

	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct taken *more = reallocarray(*rows, *n + 1, sizeof(**rows));

		if (!more)
			return diag_set(t->d, CUTRACE_ENOMEM, t->path, "out of memory");
		*rows = more;
		more[(*n)++] = (struct taken){sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1),
					      sqlite3_column_int64(st, 2), sqlite3_column_int64(st, 3)};
	}
	return rc == SQLITE_DONE ? 0
				 : diag_set(t->d, CUTRACE_EIO, t->path, "what differs can't be read: %s",
					    sqlite3_errmsg(t->db));
}

static int take_all(const struct taking *t, uint64_t first, uint64_t last, size_t *n)
{
	sqlite3_stmt *st = prepare(t, differing);
	struct taken *rows = NULL;
	int rc = CUTRACE_EIO;

	if (st) {
		sqlite3_bind_int64(st, 1, (sqlite3_int64)first);
		sqlite3_bind_int64(st, 2, last > INT64_MAX ? INT64_MAX : (sqlite3_int64)last);
		rc = read_differing(t, st, &rows, n);
	}
	sqlite3_finalize(st);
	for (size_t i = 0; !rc && i < *n; i++)
		rc = take_payload(t, rows[i].payload, rows[i].launch, rows[i].address, rows[i].old);
	free(rows);
	return rc;
}

int trace_take_evidence(const char *path, const char *from, uint64_t first, uint64_t last, struct diag *d)
{
	struct taking t = {.path = path, .d = d};
	sqlite3_stmt *st;
	size_t taken = 0;
	int rc = 0;

	if (sqlite3_open_v2(path, &t.db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		rc = diag_set(d, CUTRACE_EIO, path, "can't be written: %s", sqlite3_errmsg(t.db));
	st = rc ? NULL : prepare(&t, "ATTACH ? AS old");
	if (st)
		sqlite3_bind_text(st, 1, from, -1, SQLITE_STATIC);
	if (!rc && (!st || sqlite3_step(st) != SQLITE_DONE))
		rc = diag_set(d, CUTRACE_EIO, from, "can't be read: %s", sqlite3_errmsg(t.db));
	sqlite3_finalize(st);
	if (!rc && run(&t, "SELECT EXISTS (SELECT 1 FROM old.chunk WHERE codec = 2)", 0, 0, 0) != 0)
		rc = diag_set(d, CUTRACE_EINVAL, from, "it was not closed; cutrace info --finish does that");
	if (!rc && run(&t, "SELECT NOT EXISTS (SELECT 1 FROM launch)", 0, 0, 0) != 0)
		rc = diag_set(d, CUTRACE_EINVAL, from,
			      "none of these calls is a launch, or this device can make none of them; "
			      "cutrace dump --launches numbers them");
	if (!rc && run(&t, "BEGIN", 0, 0, 0) < 0)
		rc = CUTRACE_EIO;
	if (!rc)
		rc = take_all(&t, first, last, &taken);
	if (!rc && taken && run(&t, "DELETE FROM row_hash", 0, 0, 0) < 0)
		rc = CUTRACE_EIO;
	if (!rc && run(&t, "COMMIT", 0, 0, 0) < 0)
		rc = CUTRACE_EIO;
	if (!rc && taken)
		rc = row_hash_write(t.db, path, NULL, d);
	sqlite3_close(t.db);
	return rc;
}
