/* SPDX-License-Identifier: Apache-2.0
 *
 * What `cutrace cache` shows and does.
 */
#include <string.h>
#include <sys/stat.h>

#include "zluda_core/compiler/cache_file.h"

static int sql_failed(const struct cache_file *f, int rc, struct diag *d)
{
	return diag_set(d, cache_file_is_damage(rc) ? CUTRACE_ECORRUPT : CUTRACE_EIO, f->path, "%s",
			f->sql->errmsg(f->db));
}

static int read_totals(const struct cache_file *f, struct cache_info *out, struct diag *d)
{
	static const char sql[] =
		"SELECT count(*), coalesce(sum(bytes), 0), count(DISTINCT CASE kind WHEN 1 THEN kernel "
		"|| char(0) || target END), coalesce(min(used), 0), coalesce(max(used), 0) FROM entry";
	sqlite3_stmt *s = NULL;
	int rc = f->sql->prepare_v2(f->db, sql, -1, &s, NULL);

	if (!rc)
		rc = f->sql->step(s);
	if (rc == SQLITE_ROW) {
		out->entries = (uint64_t)f->sql->column_int64(s, 0);
		out->data_bytes = (uint64_t)f->sql->column_int64(s, 1);
		out->kernels = (uint64_t)f->sql->column_int64(s, 2);
		out->oldest = f->sql->column_int64(s, 3);
		out->newest = f->sql->column_int64(s, 4);
		rc = 0;
	}
	f->sql->finalize(s);
	return rc ? sql_failed(f, rc, d) : 0;
}

int cache_info(struct cache *c, struct cache_info *out, struct diag *d)
{
	struct cache_file f;
	struct stat st;
	int rc = cache_file_open(c, &f, d);

	*out = (struct cache_info){.limit_bytes = c->limit};
	if (rc)
		return rc;
	snprintf(out->path, sizeof(out->path), "%s", f.path);
	if (!stat(f.path, &st))
		out->file_bytes = (uint64_t)st.st_size;
	rc = read_totals(&f, out, d);
	cache_file_close(&f);
	return rc;
}

static const char *text(const struct cache_file *f, sqlite3_stmt *s, int column)
{
	const char *t = (const char *)f->sql->column_text(s, column);

	return t ? t : "";
}

static bool is_intact(const struct cache_file *f, sqlite3_stmt *s)
{
	const void *hash = f->sql->column_blob(s, 8), *data = f->sql->column_blob(s, 9);
	int bytes = f->sql->column_bytes(s, 9);
	uint8_t is[16];

	if (!data || bytes <= 0 || !hash || f->sql->column_bytes(s, 8) != 16 ||
	    f->sql->column_int64(s, 5) != bytes)
		return false;
	cache_hash(data, (size_t)bytes, is);
	return !memcmp(is, hash, 16);
}

static void visit_row(const struct cache_file *f, sqlite3_stmt *s, bool check, cache_visit visit, void *ctx)
{
	struct cache_entry e = {.kind = f->sql->column_int64(s, 0) == CACHE_LINES ? CACHE_LINES : CACHE_CODE,
				.kernel = text(f, s, 1),
				.target = text(f, s, 2),
				.options = text(f, s, 3),
				.build = text(f, s, 4),
				.bytes = (uint64_t)f->sql->column_int64(s, 5),
				.made = f->sql->column_int64(s, 6),
				.used = f->sql->column_int64(s, 7),
				.intact = !check || is_intact(f, s)};

	visit(ctx, &e);
	if (!e.intact && f->writable) {
		char sql[80];

		snprintf(sql, sizeof(sql), "DELETE FROM entry WHERE rowid=%lld",
			 (long long)f->sql->column_int64(s, 10));
		f->sql->exec(f->db, sql, NULL, NULL, NULL);
	}
}

static int visit_all(struct cache *c, bool check, cache_visit visit, void *ctx, struct diag *d)
{
	static const char head[] =
		"SELECT kind, kernel, target, options, build, bytes, made, used, %s, rowid FROM entry "
		"ORDER BY kernel, target, kind";
	sqlite3_stmt *s = NULL;
	struct cache_file f;
	char sql[200];
	int rc = cache_file_open(c, &f, d);

	if (rc)
		return rc;
	snprintf(sql, sizeof(sql), head, check ? "hash, data" : "0, 0");
	rc = f.sql->prepare_v2(f.db, sql, -1, &s, NULL);
	while (!rc && (rc = f.sql->step(s)) == SQLITE_ROW) {
		visit_row(&f, s, check, visit, ctx);
		rc = 0;
	}
	f.sql->finalize(s);
	rc = rc == SQLITE_DONE || !rc ? 0 : sql_failed(&f, rc, d);
	cache_file_close(&f);
	return rc;
}

int cache_list(struct cache *c, cache_visit visit, void *ctx, struct diag *d)
{
	return visit_all(c, false, visit, ctx, d);
}

static int check_pages(struct cache *c, struct diag *d)
{
	sqlite3_stmt *s = NULL;
	struct cache_file f;
	int rc = cache_file_open(c, &f, d);

	if (rc)
		return rc;
	rc = f.sql->prepare_v2(f.db, "PRAGMA integrity_check(1)", -1, &s, NULL);
	if (!rc)
		rc = f.sql->step(s);
	bool good = rc == SQLITE_ROW && !strcmp(text(&f, s, 0), "ok");
	if (!good)
		diag_set(d, CUTRACE_ECORRUPT, f.path, "the file was damaged, and is removed: %s",
			 rc == SQLITE_ROW ? text(&f, s, 0) : f.sql->errmsg(f.db));
	f.sql->finalize(s);
	if (!good)
		cache_file_discard(c, &f);
	cache_file_close(&f);
	return good ? 0 : CUTRACE_ECORRUPT;
}

int cache_verify(struct cache *c, cache_visit visit, void *ctx, struct diag *d)
{
	int rc = check_pages(c, d);

	return rc ? rc : visit_all(c, true, visit, ctx, d);
}

int cache_clear(struct cache *c, struct diag *d)
{
	struct cache_file f;
	int rc = cache_file_open(c, &f, d);

	if (rc)
		return rc;
	rc = f.sql->exec(f.db, "DELETE FROM entry; VACUUM", NULL, NULL, NULL);
	rc = rc ? sql_failed(&f, rc, d) : 0;
	cache_file_close(&f);
	return rc;
}
