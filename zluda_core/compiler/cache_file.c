/* SPDX-License-Identifier: Apache-2.0
 *
 * A rollback journal, not a write-ahead log: the latter can't be read where nothing may be written, and needs shared
 * memory that network file systems lack. Nothing is synchronised: a power cut may cost the cache, whose damage is found
 * by hashes, and by SQLite.
 */
#include "zluda_core/compiler/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APPLICATION_ID = 0x43544343 /* "CTCC" */, SCHEMA = 2, BUSY_MS = 2000 };

static const char schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE IF NOT EXISTS entry(key BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, kernel TEXT NOT "
	"NULL, "
	"target TEXT NOT NULL, options TEXT NOT NULL, build TEXT NOT NULL, source BLOB NOT NULL, "
	"bytes INTEGER NOT NULL, made INTEGER NOT NULL, used INTEGER NOT NULL, hash BLOB NOT NULL, data BLOB "
	"NOT NULL);"
	"CREATE INDEX IF NOT EXISTS entry_used ON entry(used);"
	"CREATE INDEX IF NOT EXISTS entry_source ON entry(source);"
	"PRAGMA application_id=1129595715; PRAGMA user_version=2;"
	"COMMIT";

void cache_file_path(const struct cache *c, char *path, size_t room)
{
	snprintf(path, room, "%s/code-objects.sqlite", c->folder);
}

bool cache_file_is_damage(int code)
{
	return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

/* ---- the folder ------------------------------------------------------------------------------------- */

static bool make_folders(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		if (mkdir(path, 0700) && errno != EEXIST && errno != EROFS && errno != EACCES) {
			*at = '/';
			return false;
		}
	}
	return !mkdir(path, 0700) || errno == EEXIST;
}

/* Code that others could have put there would be executed: the folder must be ours or
 * root's, and not everybody's to write. */
static int check_folder(const struct cache *c, struct diag *d)
{
	struct stat st;

	if (stat(c->folder, &st)) {
		if (!make_folders(c->folder) || stat(c->folder, &st))
			return diag_set(d, CUTRACE_EIO, c->folder, "can't make the cache's folder: %s",
					strerror(errno));
	}
	if (!S_ISDIR(st.st_mode))
		return diag_set(d, CUTRACE_EIO, c->folder, "the cache's folder is no folder");
	if ((st.st_uid != geteuid() && st.st_uid != 0) || st.st_mode & S_IWOTH) {
		diag_set(d, CUTRACE_EIO, c->folder, "others may write the cache's folder: it isn't used");
		diag_hint(d, "chmod o-w it, or set CUTRACE_CACHE to a folder of your own");
		return CUTRACE_EIO;
	}
	return 0;
}

/* ---- the file --------------------------------------------------------------------------------------- */

static int64_t number_of(struct cache_file *f, const char *sql, int *rc)
{
	sqlite3_stmt *s = NULL;
	int64_t v = -1;

	*rc = f->sql->prepare_v2(f->db, sql, -1, &s, NULL);
	if (!*rc && (*rc = f->sql->step(s)) == SQLITE_ROW) {
		v = f->sql->column_int64(s, 0);
		*rc = 0;
	}
	f->sql->finalize(s);
	return v;
}

static int sql_error(const struct cache_file *f, struct diag *d, int rc)
{
	diag_set(d, cache_file_is_damage(rc) ? CUTRACE_ECORRUPT : CUTRACE_EIO, f->path, "%s",
		 f->db ? f->sql->errmsg(f->db) : "out of memory");
	return d ? d->code : CUTRACE_EIO;
}

static bool is_foreign(int64_t id, int64_t version)
{
	return id != APPLICATION_ID || version != SCHEMA;
}

/* A new file has neither number; one with others is not ours, and is replaced. */
static int prepare(struct cache_file *f, struct diag *d)
{
	int rc;
	int64_t id = number_of(f, "PRAGMA application_id", &rc), version, tables;

	version = rc ? 0 : number_of(f, "PRAGMA user_version", &rc);
	if (rc)
		return sql_error(f, d, rc);
	if (!is_foreign(id, version))
		return 0;
	tables = number_of(f, "SELECT count(*) FROM sqlite_master", &rc);
	if (rc)
		return sql_error(f, d, rc);
	if (tables || id || version)
		return diag_set(d, CUTRACE_ECORRUPT, f->path, "is not a cache of this version");
	rc = f->sql->exec(f->db, schema, NULL, NULL, NULL);
	return rc ? sql_error(f, d, rc) : 0;
}

static int open_database(struct cache_file *f, struct diag *d)
{
	struct stat st;
	int rc = f->sql->open_v2(f->path, &f->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	f->writable = !rc && !access(f->path, W_OK);
	if (rc == SQLITE_CANTOPEN) {
		f->sql->close_v2(f->db);
		f->db = NULL;
		rc = f->sql->open_v2(f->path, &f->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	}
	if (rc)
		return sql_error(f, d, rc);
	if (!stat(f->path, &st)) {
		f->device = st.st_dev;
		f->inode = st.st_ino;
	}
	f->sql->busy_timeout(f->db, BUSY_MS);
	f->sql->exec(f->db, "PRAGMA synchronous=OFF; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON",
		     NULL, NULL, NULL);
	return prepare(f, d);
}

static int open_again(const struct cache *c, struct cache_file *f, struct diag *d)
{
	int rc = open_database(f, d);

	/* Once: made anew by whoever comes first. */
	if (rc == CUTRACE_ECORRUPT) {
		cache_file_discard(c, f);
		rc = open_database(f, d);
	}
	return rc;
}

int cache_file_open(const struct cache *c, struct cache_file *f, struct diag *d)
{
	struct diag own = DIAG_INIT;
	int rc;

	*f = (struct cache_file){.sql = sqlite_api()};
	if (!c->folder)
		return diag_set(d, CUTRACE_ENOENT, "cache", "%s", c->off_reason);
	if (!f->sql)
		return diag_set(d, CUTRACE_ENOENT, "cache", "libsqlite3.so.0 isn't installed");
	d = d ? d : &own;
	cache_file_path(c, f->path, sizeof(f->path));
	rc = check_folder(c, d);
	if (!rc)
		rc = open_again(c, f, d);
	if (rc)
		cache_file_close(f);
	return rc;
}

void cache_file_close(struct cache_file *f)
{
	if (f->db)
		f->sql->close_v2(f->db);
	f->db = NULL;
}

void cache_file_discard(const struct cache *c, struct cache_file *f)
{
	char lock[4200], journal[4200];
	struct stat st;

	cache_file_close(f);
	snprintf(lock, sizeof(lock), "%s/lock", c->folder);
	snprintf(journal, sizeof(journal), "%s-journal", f->path);
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	while (flock(fd, LOCK_EX) && errno == EINTR)
		;
	if (!stat(f->path, &st) && st.st_dev == f->device && st.st_ino == f->inode) {
		unlink(journal);
		unlink(f->path);
	}
	close(fd);
}
