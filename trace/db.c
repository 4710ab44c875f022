/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "trace/internal.h"

static const struct {
	int sqlite, code;
	const char *hint;
} codes[] = {
	{SQLITE_NOTADB, CUTRACE_ECORRUPT, "the file is damaged; copy it again from where it was recorded"},
	{SQLITE_CORRUPT, CUTRACE_ECORRUPT, "the file is damaged; copy it again from where it was recorded"},
	{SQLITE_ERROR, CUTRACE_ECORRUPT,
	 "tables or columns are missing; copy it again from where it was recorded"},
	{SQLITE_FULL, CUTRACE_EIO, "make room on the disk, or choose another place with -o"},
	{SQLITE_BUSY, CUTRACE_EIO, "another program holds the file; end it and try again"},
	{SQLITE_READONLY, CUTRACE_EIO, "the file or its folder is not writable; copy it to one that is"},
	{SQLITE_CANTOPEN, CUTRACE_EIO, "check that the file exists and may be read, and its folder written"},
	{SQLITE_NOMEM, CUTRACE_ENOMEM, ""},
};

/* SQLite makes a path absolute and needs room for "-journal" behind it. */
bool trace_path_too_long(const char *path, struct diag *d)
{
	const sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	char folder[PATH_MAX] = "";
	size_t n = strlen(path), most = vfs ? (size_t)vfs->mxPathname - strlen("-journal") : SIZE_MAX;

	if (path[0] != '/' && getcwd(folder, sizeof(folder)))
		n += strlen(folder) + 1;
	if (n <= most)
		return false;
	diag_set(d, CUTRACE_EINVAL, path,
		 "the path is too long for SQLite: %zu characters from the root, of at most %zu", n, most);
	diag_hint(d, "use a folder with a shorter path");
	return true;
}

int db_fail(sqlite3 *db, const char *path, struct diag *d, const char *doing)
{
	int rc = sqlite3_errcode(db) & 0xff;
	const char *hint = "";
	int code = CUTRACE_EIO;
	size_t i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].sqlite == rc) {
			code = codes[i].code;
			hint = codes[i].hint;
		}
	if (rc == SQLITE_CANTOPEN && trace_path_too_long(path, d))
		return CUTRACE_EINVAL;
	diag_set(d, code, path, "%s: %s", doing, sqlite3_errmsg(db));
	if (*hint)
		diag_hint(d, "%s", hint);
	return code;
}

int db_exec(sqlite3 *db, const char *path, struct diag *d, const char *sql)
{
	char doing[64];
	const char *end;

	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	end = strpbrk(sql, "\n(;");
	snprintf(doing, sizeof(doing), "%.*s", (int)(end && end - sql < 60 ? end - sql : 60), sql);
	return db_fail(db, path, d, doing);
}

int db_int(sqlite3 *db, const char *path, struct diag *d, const char *sql, int64_t otherwise, int64_t *out)
{
	sqlite3_stmt *s;
	int rc;

	*out = otherwise;
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return db_fail(db, path, d, "cannot query the trace");
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL)
		*out = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : db_fail(db, path, d, "cannot query the trace");
}

static int bind_one(sqlite3_stmt *s, int i, char kind, va_list *ap)
{
	const char *text;
	const void *blob;
	uint64_t v;

	switch (kind) {
	case 'i': return sqlite3_bind_int64(s, i, va_arg(*ap, int64_t));
	case 'u': return sqlite3_bind_int64(s, i, (int64_t)va_arg(*ap, uint64_t));
	case 'z':
		v = va_arg(*ap, uint64_t);
		return v ? sqlite3_bind_int64(s, i, (int64_t)v) : sqlite3_bind_null(s, i);
	case 'r': return sqlite3_bind_double(s, i, va_arg(*ap, double)); /* a NaN becomes NULL */
	case 't':
		text = va_arg(*ap, const char *);
		return text ? sqlite3_bind_text(s, i, text, -1, SQLITE_STATIC) : sqlite3_bind_null(s, i);
	case 'b':
		blob = va_arg(*ap, const void *);
		/* a NULL pointer would bind NULL instead of an empty blob */
		return sqlite3_bind_blob64(s, i, blob ? blob : "", va_arg(*ap, size_t), SQLITE_STATIC);
	case 'n': /* a blob that isn't there */
		(void)va_arg(*ap, const void *);
		(void)va_arg(*ap, size_t);
		return sqlite3_bind_null(s, i);
	default: return SQLITE_MISUSE;
	}
}

int db_bind(sqlite3_stmt *s, const char *format, va_list ap)
{
	va_list args;
	int i, rc = SQLITE_OK;

	va_copy(args, ap);
	for (i = 0; format[i] && rc == SQLITE_OK; i++)
		rc = bind_one(s, i + 1, format[i], &args);
	va_end(args);
	return rc;
}

struct trace_hash trace_hash_bytes(const void *p, size_t n)
{
	XXH128_canonical_t canonical;
	struct trace_hash h;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits(p, n));
	memcpy(h.b, canonical.digest, sizeof(h.b));
	return h;
}
