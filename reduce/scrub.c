/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/scrub.h"

#include <errno.h>
#include <pwd.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "trace/trace.h"

extern char **environ;

/* ---- the words ------------------------------------------------------------------------------- */

#define SHORTEST 4 /* shorter ones are part of other words */

static int add(struct scrub *s, const char *text, const char *with, size_t shortest)
{
	struct scrub_word *grown;

	if (!text || strlen(text) < shortest)
		return 0;
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->v[i].text, text))
			return 0;
	grown = reallocarray(s->v, s->n + 1, sizeof(*grown));
	if (!grown)
		return CUTRACE_ENOMEM;
	s->v = grown;
	grown[s->n].with = with;
	grown[s->n].text = strdup(text);
	return grown[s->n].text ? (s->n++, 0) : CUTRACE_ENOMEM;
}

/* Says nothing of anybody, and words of it would be missed in reports. */
static bool is_public_variable(const char *entry)
{
	static const char *const names[] = {"TERM=",           "LANG=",
					    "LANGUAGE=",       "LC_",
					    "SHELL=",          "PATH=",
					    "SHLVL=",          "PWD=",
					    "OLDPWD=",         "TZ=",
					    "CUTRACE_DEVICE=", "CUTRACE_WATCHDOG_MS=",
					    "COLORTERM=",      "DEBIAN_FRONTEND=",
					    "XDG_SESSION",     "LS_COLORS="};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(entry, names[i], strlen(names[i])))
			return true;
	return false;
}

static int add_machine(struct scrub *s)
{
	const struct passwd *p = getpwuid(getuid());
	struct utsname u;
	char folder[4096];
	int rc = 0;

	if (!uname(&u)) {
		rc |= add(s, u.nodename, "<host>", SHORTEST);
		u.nodename[strcspn(u.nodename, ".")] = '\0';
		rc |= add(s, u.nodename, "<host>", SHORTEST);
	}
	rc |= add(s, getenv("HOSTNAME"), "<host>", SHORTEST);
	if (p) {
		char name[256];

		rc |= add(s, p->pw_dir, "<home>", 6); /* "/root" is everybody's */
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p->pw_gecos, ","), p->pw_gecos);
		rc |= strcmp(p->pw_name, "root") ? add(s, p->pw_name, "<user>", SHORTEST) : 0;
		rc |= strcmp(name, "root") ? add(s, name, "<user>", SHORTEST) : 0;
	}
	rc |= add(s, getenv("USER"), "<user>", 5);
	rc |= add(s, getenv("LOGNAME"), "<user>", 5);
	rc |= add(s, getenv("HOME"), "<home>", 6);
	if (getcwd(folder, sizeof(folder)))
		rc |= add(s, folder, "<folder>", 6);
	for (char **e = environ; *e && !rc; e++)
		if (!is_public_variable(*e) && strchr(*e, '='))
			rc = add(s, strchr(*e, '=') + 1, "<environment>", 8);
	return rc;
}

static int add_column(struct scrub *s, struct trace *t, const char *sql, const char *with)
{
	sqlite3_stmt *st = NULL;
	int rc = 0;

	sqlite3_prepare_v2(trace_db(t), sql, -1, &st, NULL);
	while (st && !rc && sqlite3_step(st) == SQLITE_ROW)
		rc = add(s, (const char *)sqlite3_column_text(st, 0), with, 6);
	sqlite3_finalize(st);
	return rc;
}

static int by_length(const void *a, const void *b)
{
	const struct scrub_word *x = a, *y = b;
	size_t n = strlen(x->text), m = strlen(y->text);

	return n < m ? 1 : n > m ? -1 : strcmp(x->text, y->text);
}

int scrub_open(struct scrub *s, const char *trace, struct diag *d)
{
	struct trace *t = NULL;
	int rc = trace_open(&t, trace, d);

	memset(s, 0, sizeof(*s));
	if (rc)
		return rc;
	rc = add_machine(s);
	if (s->n) /* the longest first: a name may be part of a path */
		qsort(s->v, s->n, sizeof(*s->v), by_length);
	s->nreplaced = s->n;
	if (!rc)
		rc = add_column(s, t, "SELECT cwd FROM process UNION SELECT exe FROM process",
				"<path of the program>");
	if (!rc)
		rc = add_column(s, t,
				"SELECT j.value FROM process p, json_each(p.argv) j WHERE json_valid(p.argv)",
				"<command line>");
	trace_close(t);
	if (rc) {
		scrub_close(s);
		diag_set(d, CUTRACE_ENOMEM, trace, "out of memory");
	}
	return rc;
}

void scrub_close(struct scrub *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].text);
	free(s->v);
	memset(s, 0, sizeof(*s));
}

const char *scrub_look(const struct scrub *s, const void *data, size_t bytes)
{
	for (size_t i = 0; i < s->n; i++)
		if (memmem(data, bytes, s->v[i].text, strlen(s->v[i].text)))
			return s->v[i].with;
	return NULL;
}

/* ---- text --------------------------------------------------------------------------------------- */

struct out {
	char *text;
	size_t n, capacity;
};

static bool put(struct out *o, const char *s, size_t n)
{
	if (o->n + n + 1 > o->capacity) {
		size_t more = 2 * (o->n + n + 64);
		char *grown = realloc(o->text, more);

		if (!grown)
			return false;
		o->text = grown;
		o->capacity = more;
	}
	memcpy(o->text + o->n, s, n);
	o->n += n;
	o->text[o->n] = '\0';
	return true;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '-' || c == '.' || c == '~' || c == '+' || c == '@' || c == '%' || (c & 0x80);
}

/* How much of a path begins here; 0: none. */
static size_t path_length(const char *text, const char *at)
{
	size_t n = 0;

	if (*at != '/' || (at > text && (is_word(at[-1]) || at[-1] == '/' || at[-1] == '>')) ||
	    !is_word(at[1]))
		return 0;
	while (at[n] == '/' || is_word(at[n]))
		n++;
	while (n > 1 && (at[n - 1] == '.' || at[n - 1] == '/'))
		n--;
	return n;
}

static bool is_system_path(const char *p, size_t n)
{
	static const char *const roots[] = {"/usr/", "/lib/", "/lib64/", "/etc/",  "/proc/",
					    "/sys/", "/dev/", "/bin/",   "/sbin/", "/opt/rocm"};

	for (unsigned i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (n >= strlen(roots[i]) && !strncmp(p, roots[i], strlen(roots[i])))
			return strncmp(p, "/usr/local/", 11) || !strncmp(p, "/usr/local/cuda", 15);
	return false;
}

static bool put_path(struct out *o, const char *p, size_t n)
{
	const char *base = memrchr(p, '/', n);

	if (is_system_path(p, n))
		return put(o, p, n);
	if (!strncmp(base, "/libcuda.so", 11) || !strncmp(base, "/cutrace-compile", 16))
		return put(o, "<path>", 6) && put(o, base, n - (size_t)(base - p));
	return put(o, "<path>", 6);
}

char *scrub_text(const struct scrub *s, const char *text)
{
	struct out o = {0};
	bool ok = put(&o, "", 0);

	for (const char *at = text; ok && *at;) {
		size_t n = path_length(text, at), i;

		for (i = 0; i < s->nreplaced && strncmp(at, s->v[i].text, strlen(s->v[i].text)); i++)
			;
		if (n && (i == s->nreplaced || n >= strlen(s->v[i].text))) {
			ok = put_path(&o, at, n);
			at += n;
		} else if (i < s->nreplaced) {
			ok = put(&o, s->v[i].with, strlen(s->v[i].with));
			at += strlen(s->v[i].text);
		} else {
			ok = put(&o, at++, 1);
		}
	}
	if (ok)
		return o.text;
	free(o.text);
	return NULL;
}

int scrub_file(const struct scrub *s, const char *path, struct diag *d)
{
	char *text = NULL, *clean = NULL;
	size_t n = 0;
	FILE *f = fopen(path, "r");
	int rc = 0;

	if (!f || (getdelim(&text, &n, '\0', f) < 0 && !feof(f)))
		rc = diag_set(d, CUTRACE_EIO, path, "%s", strerror(errno));
	if (f)
		fclose(f);
	if (!rc && !(clean = scrub_text(s, text ? text : "")))
		rc = diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
	f = rc ? NULL : fopen(path, "w");
	if (!rc && (!f || fputs(clean, f) < 0))
		rc = diag_set(d, CUTRACE_EIO, path, "%s", strerror(errno));
	if (f && fclose(f) && !rc)
		rc = diag_set(d, CUTRACE_EIO, path, "%s", strerror(errno));
	free(text);
	free(clean);
	return rc;
}

/* ---- databases ------------------------------------------------------------------------------------ */

static void scrub_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	const struct scrub *s = sqlite3_user_data(c);
	char *clean = scrub_text(s, (const char *)sqlite3_value_text(v[0]));

	(void)n;
	if (clean)
		sqlite3_result_text(c, clean, -1, free);
	else
		sqlite3_result_error_nomem(c);
}

/* "UPDATE t SET c = scrub(c) ..." for each column of each table. */
static int scrub_columns(sqlite3 *db)
{
	sqlite3_stmt *st = NULL;
	int step,
		rc = sqlite3_prepare_v2(
			db,
			"SELECT printf('UPDATE \"%w\" SET \"%w\" = scrub(\"%w\") WHERE typeof(\"%w\") = ''text''', m.name, c.name, "
			"c.name, c.name) FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND NOT (c.pk AND m.sql "
			"LIKE '%WITHOUT ROWID%')",
			-1, &st, NULL);

	while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		rc = sqlite3_exec(db, (const char *)sqlite3_column_text(st, 0), NULL, NULL, NULL);
	step = sqlite3_finalize(st);
	return rc == SQLITE_OK ? step : rc;
}

int scrub_database(const struct scrub *s, const char *path, struct diag *d)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(db, "scrub", 1, SQLITE_UTF8, (void *)(uintptr_t)s,
					     scrub_function, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = scrub_columns(db);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "PRAGMA journal_mode = DELETE; VACUUM", NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		diag_set(d, CUTRACE_EIO, path, "its texts can't be cleaned: %s", sqlite3_errmsg(db));
	sqlite3_close(db);
	return d->code;
}
