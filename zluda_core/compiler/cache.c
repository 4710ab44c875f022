/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/cache.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "zluda_core/compiler/cache_file.h"

#define DEFAULT_LIMIT (1ull << 30)
#define MAX_ENTRY     (256u << 20)

enum {
	TOUCH_SECONDS = 3600 /* how exact `used` is */,
	KEEP_PERCENT = 90 /* of the limit, after eviction */,
	PAGE = 4096,
	MORE_PAGES = 6 /* of an entry: its row, the indexes */
};

/* ---- where ------------------------------------------------------------------------------------------ */

bool cache_parse_size(const char *s, uint64_t *bytes)
{
	char *end;

	if (*s < '0' || *s > '9') /* nor a sign */
		return false;
	errno = 0;
	unsigned long long v = strtoull(s, &end, 10);
	unsigned shift = *end == 'K' || *end == 'k'   ? 10
			 : *end == 'M' || *end == 'm' ? 20
			 : *end == 'G' || *end == 'g' ? 30
						      : 0;
	if (errno || end[shift ? 1 : 0] || !v || v > UINT64_MAX >> shift)
		return false;
	*bytes = (uint64_t)v << shift;
	return true;
}

static char *joined(const char *a, const char *b)
{
	size_t n = strlen(a) + strlen(b) + 1;
	char *p = malloc(n);

	if (p)
		snprintf(p, n, "%s%s", a, b);
	return p;
}

static char *choose_folder(struct cache *c, const char *where)
{
	const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");

	if (!where || !where[0])
		where = secure_getenv("CUTRACE_CACHE");
	if (where && !strcmp(where, "off")) {
		snprintf(c->off_reason, sizeof(c->off_reason), "the cache is off");
		return NULL;
	}
	if (where && where[0])
		return strdup(where);
	if (xdg && xdg[0] == '/')
		return joined(xdg, "/cutrace");
	if (home && home[0] == '/')
		return joined(home, "/.cache/cutrace");
	snprintf(c->off_reason, sizeof(c->off_reason),
		 "there is no place for a cache: neither CUTRACE_CACHE, XDG_CACHE_HOME nor HOME is set");
	return NULL;
}

struct cache *cache_open(const char *where, uint64_t limit_bytes)
{
	struct cache *c = calloc(1, sizeof(*c));
	const char *size = secure_getenv("CUTRACE_CACHE_SIZE");

	if (!c)
		return NULL;
	c->folder = choose_folder(c, where);
	c->limit = limit_bytes ? limit_bytes : DEFAULT_LIMIT;
	if (!limit_bytes && size)
		cache_parse_size(size, &c->limit);
	return c;
}

void cache_close(struct cache *c)
{
	if (c)
		free(c->folder);
	free(c);
}

const char *cache_folder(const struct cache *c)
{
	return c->folder;
}

const char *cache_off_reason(const struct cache *c)
{
	return c->off_reason;
}

uint64_t cache_limit(const struct cache *c)
{
	return c->limit;
}

/* ---- keys ------------------------------------------------------------------------------------------- */

void cache_hash(const void *data, size_t bytes, uint8_t hash[16])
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, bytes));
	memcpy(hash, canonical.digest, 16);
}

static void add(XXH3_state_t *x, const char *s)
{
	XXH3_128bits_update(x, s, strlen(s) + 1);
}

static void key_hash(const struct cache_key *k, uint8_t hash[16])
{
	XXH128_canonical_t canonical;
	uint8_t kind = (uint8_t)k->kind;
	XXH3_state_t x;

	XXH3_INITSTATE(&x);
	XXH3_128bits_reset(&x);
	XXH3_128bits_update(&x, &kind, 1);
	XXH3_128bits_update(&x, k->hash, 16);
	add(&x, k->kernel);
	add(&x, k->target);
	add(&x, k->options);
	add(&x, k->build);
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&x));
	memcpy(hash, canonical.digest, 16);
}

/* ---- a limit of the program's ---------------------------------------------------------------------- */

/* Writing beyond RLIMIT_FSIZE raises a signal that would end the program: this thread holds and drops it. */
struct held_signal {
	sigset_t before;
	bool was_pending;
};

static void hold_signal(struct held_signal *h)
{
	sigset_t limit, pending;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	sigpending(&pending);
	h->was_pending = sigismember(&pending, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, &h->before);
}

static void release_signal(const struct held_signal *h)
{
	const struct timespec now = {0, 0};
	sigset_t limit;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	while (!h->was_pending && sigtimedwait(&limit, NULL, &now) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &h->before, NULL);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

/* Also updates when it was used, unless that is nearly so. */
struct row {
	int64_t id, used;
	void *data;
	size_t bytes;
	bool found, damaged;
};

static bool is_text(const struct cache_file *f, sqlite3_stmt *s, int column, const char *text)
{
	const char *t = (const char *)f->sql->column_text(s, column);

	return t && !strcmp(t, text);
}

/* Columns: rowid, used, hash, data, kernel, target, options, build, source. */
static void take_row(const struct cache_file *f, sqlite3_stmt *s, const struct cache_key *k, struct row *r)
{
	const void *data = f->sql->column_blob(s, 3), *hash = f->sql->column_blob(s, 2);
	const void *source = f->sql->column_blob(s, 8);
	int bytes = f->sql->column_bytes(s, 3);
	uint8_t is[16];

	r->found = true;
	r->id = f->sql->column_int64(s, 0);
	r->used = f->sql->column_int64(s, 1);
	r->damaged = true;
	if (!data || bytes <= 0 || !hash || f->sql->column_bytes(s, 2) != 16 || !source ||
	    f->sql->column_bytes(s, 8) != 16 || memcmp(source, k->hash, 16) || !is_text(f, s, 4, k->kernel) ||
	    !is_text(f, s, 5, k->target) || !is_text(f, s, 6, k->options) || !is_text(f, s, 7, k->build))
		return;
	cache_hash(data, (size_t)bytes, is);
	if (memcmp(is, hash, 16))
		return;
	r->damaged = false;
	r->data = malloc((size_t)bytes);
	r->bytes = (size_t)bytes;
	if (r->data)
		memcpy(r->data, data, r->bytes);
}

static int select_row(const struct cache_file *f, const struct cache_key *k, struct row *r)
{
	sqlite3_stmt *s = NULL;
	uint8_t key[16];
	int rc;

	key_hash(k, key);
	rc = f->sql->prepare_v2(
		f->db,
		"SELECT rowid, used, hash, data, kernel, target, options, build, source FROM entry "
		"WHERE key=?",
		-1, &s, NULL);
	if (!rc)
		rc = f->sql->bind_blob(s, 1, key, 16, SQLITE_STATIC);
	if (!rc)
		rc = f->sql->step(s);
	if (rc == SQLITE_ROW)
		take_row(f, s, k, r);
	f->sql->finalize(s);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : rc;
}

static void change_row(const struct cache_file *f, const char *sql, int64_t id, int64_t value)
{
	sqlite3_stmt *s = NULL;

	if (!f->writable || f->sql->prepare_v2(f->db, sql, -1, &s, NULL))
		return;
	f->sql->bind_int64(s, 1, id);
	f->sql->bind_int64(s, 2, value);
	f->sql->step(s);
	f->sql->finalize(s);
}

static void get(struct cache *c, const struct cache_key *key, struct row *out)
{
	struct row r = {0};
	struct cache_file f;
	int64_t now = time(NULL);

	if (cache_file_open(c, &f, NULL))
		return;
	int rc = select_row(&f, key, &r);
	if (r.damaged)
		change_row(&f, "DELETE FROM entry WHERE rowid=?1 AND ?2=?2", r.id, 0);
	else if (r.found && (r.used + TOUCH_SECONDS < now || r.used > now))
		change_row(&f, "UPDATE entry SET used=?2 WHERE rowid=?1", r.id, now);
	if (cache_file_is_damage(rc))
		cache_file_discard(c, &f);
	cache_file_close(&f);
	*out = r;
}

bool cache_get(struct cache *c, const struct cache_key *key, void **data, size_t *bytes)
{
	struct held_signal held;
	struct row r = {0};

	hold_signal(&held);
	get(c, key, &r);
	release_signal(&held);
	*data = r.data;
	*bytes = r.bytes;
	return r.data != NULL;
}

bool cache_knows(struct cache *c, const uint8_t hash[16], const char *build)
{
	sqlite3_stmt *s = NULL;
	struct held_signal held;
	struct cache_file f;
	bool found = false;

	hold_signal(&held); /* a new file is written */
	if (cache_file_open(c, &f, NULL)) {
		release_signal(&held);
		return false;
	}
	if (!f.sql->prepare_v2(f.db, "SELECT 1 FROM entry WHERE source=? AND build=? LIMIT 1", -1, &s,
			       NULL) &&
	    !f.sql->bind_blob(s, 1, hash, 16, SQLITE_STATIC) &&
	    !f.sql->bind_text(s, 2, build, -1, SQLITE_STATIC))
		found = f.sql->step(s) == SQLITE_ROW;
	f.sql->finalize(s);
	cache_file_close(&f);
	release_signal(&held);
	return found;
}

/* ---- writing ---------------------------------------------------------------------------------------- */

static int64_t pragma(const struct cache_file *f, const char *sql)
{
	sqlite3_stmt *s = NULL;
	int64_t v = 0;

	if (!f->sql->prepare_v2(f->db, sql, -1, &s, NULL) && f->sql->step(s) == SQLITE_ROW)
		v = f->sql->column_int64(s, 0);
	f->sql->finalize(s);
	return v;
}

static uint64_t bytes_used(const struct cache_file *f)
{
	int64_t pages = pragma(f, "PRAGMA page_count") - pragma(f, "PRAGMA freelist_count");

	return (uint64_t)pages * (uint64_t)pragma(f, "PRAGMA page_size");
}

/* Freed pages are used again, so that the file stays at its size. */
static int evict(const struct cache *c, const struct cache_file *f, uint64_t coming)
{
	uint64_t keep = c->limit / 100 * KEEP_PERCENT;
	int rc = 0;

	coming = (coming / PAGE + MORE_PAGES) * PAGE;
	if (bytes_used(f) + coming <= c->limit)
		return 0;
	while (!rc && bytes_used(f) + coming > keep) {
		rc = f->sql->exec(
			f->db,
			"DELETE FROM entry WHERE rowid IN (SELECT rowid FROM entry ORDER BY used, rowid "
			"LIMIT 16)",
			NULL, NULL, NULL);
		if (!rc && !f->sql->changes(f->db))
			break;
	}
	return rc;
}

static int insert(const struct cache_file *f, const struct cache_key *k, const void *data, size_t bytes)
{
	uint8_t key[16], hash[16];
	sqlite3_stmt *s = NULL;
	int rc = f->sql->prepare_v2(
		f->db,
		"INSERT OR REPLACE INTO entry(key, kind, kernel, target, options, build, source, "
		"bytes, made, used, hash, data) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?9,?10,?11)",
		-1, &s, NULL);

	if (rc)
		return rc;
	key_hash(k, key);
	cache_hash(data, bytes, hash);
	f->sql->bind_blob(s, 1, key, 16, SQLITE_STATIC);
	f->sql->bind_int64(s, 2, k->kind);
	f->sql->bind_text(s, 3, k->kernel, -1, SQLITE_STATIC);
	f->sql->bind_text(s, 4, k->target, -1, SQLITE_STATIC);
	f->sql->bind_text(s, 5, k->options, -1, SQLITE_STATIC);
	f->sql->bind_text(s, 6, k->build, -1, SQLITE_STATIC);
	f->sql->bind_blob(s, 7, k->hash, 16, SQLITE_STATIC);
	f->sql->bind_int64(s, 8, (int64_t)bytes);
	f->sql->bind_int64(s, 9, time(NULL));
	f->sql->bind_blob(s, 10, hash, 16, SQLITE_STATIC);
	rc = f->sql->bind_blob(s, 11, data, (int)bytes, SQLITE_STATIC);
	if (!rc)
		rc = f->sql->step(s);
	f->sql->finalize(s);
	return rc == SQLITE_DONE ? 0 : rc;
}

static int put(const struct cache *c, const struct cache_file *f, const struct cache_key *key,
	       const void *data, size_t bytes)
{
	int rc = f->sql->exec(f->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (!rc)
		rc = evict(c, f, bytes);
	if (!rc)
		rc = insert(f, key, data, bytes);
	if (!rc)
		rc = f->sql->exec(f->db, "COMMIT", NULL, NULL, NULL);
	if (rc && !f->sql->get_autocommit(f->db))
		f->sql->exec(f->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

void cache_put(struct cache *c, const struct cache_key *key, const void *data, size_t bytes)
{
	struct cache_file f;
	struct held_signal held;

	if (!bytes || bytes > MAX_ENTRY || bytes > c->limit / 4)
		return;
	hold_signal(&held);
	if (!cache_file_open(c, &f, NULL)) {
		if (f.writable && cache_file_is_damage(put(c, &f, key, data, bytes)))
			cache_file_discard(c, &f);
		cache_file_close(&f);
	}
	release_signal(&held);
}

void cache_drop(struct cache *c, const struct cache_key *key)
{
	struct held_signal held;
	struct cache_file f;
	struct row r = {0};

	hold_signal(&held);
	if (!cache_file_open(c, &f, NULL)) {
		if (!select_row(&f, key, &r) && r.found)
			change_row(&f, "DELETE FROM entry WHERE rowid=?1 AND ?2=?2", r.id, 0);
		free(r.data);
		cache_file_close(&f);
	}
	release_signal(&held);
}
