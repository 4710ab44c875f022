/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/bisect/bisect.h"
#include "replay/session.h"

/* ---- what a side is -------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* FOLDER/NAME if that is there, else "". */
static bool beside(const char *folder, const char *name, char *out, size_t size)
{
	if ((size_t)snprintf(out, size, "%s/%s", folder, name) < size && !access(out, R_OK))
		return true;
	out[0] = '\0';
	return false;
}

static int find_in_folder(struct side *s, struct diag *d)
{
	static const char *const places[] = {"lib/cutrace/zluda/libcuda.so.1", "zluda/libcuda.so.1",
					     "lib/libcuda.so.1", "libcuda.so.1"};

	for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++)
		if (beside(s->where, places[k], s->driver, sizeof(s->driver)))
			return 0;
	diag_set(d, CUTRACE_ENOENT, s->where, "there is no libcuda.so.1 in it");
	diag_hint(
		d,
		"name a build's folder, an installation's (with lib/cutrace/zluda/libcuda.so.1), or the file");
	return CUTRACE_ENOENT;
}

static int find_driver(struct side *s, struct diag *d)
{
	if (!s->where)
		return replay_own_driver(s->driver, sizeof(s->driver), d);
	if (is_folder(s->where))
		return find_in_folder(s, d);
	if ((size_t)snprintf(s->driver, sizeof(s->driver), "%s", s->where) < sizeof(s->driver) &&
	    !access(s->driver, R_OK))
		return 0;
	return diag_set(d, CUTRACE_ENOENT, s->where, "there is no such folder or file");
}

/* From .../lib/cutrace/zluda/libcuda.so.1: the compiler and the command that belong to it. */
static void find_neighbours(struct side *s)
{
	char folder[4200], path[4200];
	char *slash;

	s->command[0] = s->compiler[0] = '\0';
	if (!realpath(s->driver, folder) || !(slash = strrchr(folder, '/')))
		return;
	*slash = '\0';
	if (beside(folder, "../cutrace-compile", path, sizeof(path)) && !realpath(path, s->compiler))
		s->compiler[0] = 0;
	beside(folder, "../../../bin/cutrace", s->command, sizeof(s->command));
}

int side_resolve(struct side *s, struct diag *d)
{
	const char *device = s->device ? s->device : "interp";
	int n = snprintf(s->device_text, sizeof(s->device_text), "%s%s%s", device,
			 !s->options           ? ""
			 : strchr(device, ':') ? ","
					       : ":",
			 s->options ? s->options : "");
	int rc = find_driver(s, d);

	if (!rc && n >= (int)sizeof(s->device_text))
		rc = diag_set(d, CUTRACE_EINVAL, s->name, "its device has too many options");
	if (!rc)
		find_neighbours(s);
	return rc;
}

const char *side_target(const struct side *s, char *room, size_t size)
{
	const char *d = s->device_text;

	if (!strncmp(d, "hip", 3) && (!d[3] || d[3] == ':'))
		return "";
	if (strncmp(d, "amdemu:", 7) != 0)
		return NULL;
	snprintf(room, size, "%.*s", (int)strcspn(d + 7, ","), d + 7);
	return room;
}

static void option_of(const char *device, const char *key, const char *otherwise, char *out, size_t size)
{
	const char *at = device + strcspn(device, ":");

	snprintf(out, size, "%s%s", key, otherwise);
	while (*at) {
		at++;
		if (!strncmp(at, key, strlen(key)))
			snprintf(out, size, "%.*s", (int)strcspn(at, ","), at);
		at += strcspn(at, ",");
	}
}

void side_compile_options(const struct side *s, char *out, size_t size)
{
	char level[64], contract[64];

	option_of(s->device_text, "opt=", "3", level, sizeof(level));
	option_of(s->device_text, "contract=", "none", contract, sizeof(contract));
	snprintf(out, size, "%s,%s", level, contract);
}

/* ---- a replay ------------------------------------------------------------------------------------ */

struct child {
	struct replay_options options;
	const struct side *side;
	const char *compile;
};

static int replay(void *ctx)
{
	const struct child *c = ctx;

	if (c->compile)
		setenv("CUTRACE_COMPILE_OPTIONS", c->compile, 1);
	return replay_run(&c->options);
}

int bisect_replay(struct bisect *b, const struct replay_request *q, const char *result)
{
	struct child c = {.side = q->side, .compile = q->compile};

	c.options = (struct replay_options){.trace_path = q->trace,
					    .driver = q->side->driver,
					    .device = q->side->device_text,
					    .result_path = workroom_path(b->w, result),
					    .limits = b->limits,
					    .isolated = !q->stream,
					    .envelope = q->stream ? 0 : b->envelope,
					    .narrow = q->stream ? 0 : q->narrow,
					    .first_launch = q->first,
					    .last_launch = q->last,
					    .jobs = q->stream || q->first ? 0 : b->jobs,
					    .quiet = true};
	unlink(c.options.result_path);
	b->replays++;
	return workroom_run(b->w, replay, &c, NULL, "replay.err", 0);
}

sqlite3 *bisect_open(struct bisect *b, const char *result)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(workroom_path(b->w, result), &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
		return db;
	sqlite3_close(db);
	return NULL;
}

const char *bisect_reason(struct bisect *b, const char *result)
{
	sqlite3 *db = bisect_open(b, result);
	sqlite3_stmt *st = NULL;
	const char *why = NULL;

	if (db &&
	    sqlite3_prepare_v2(db,
			       "SELECT message FROM diagnostic WHERE severity = 'fatal' UNION ALL SELECT "
			       "note FROM verdict WHERE grade = 'injected' AND note IS NOT NULL LIMIT 1",
			       -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		why = arena_strdup(&b->arena, (const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	sqlite3_close(db);
	if (!why && *workroom_reason(b->w, "replay.err"))
		why = arena_strdup(&b->arena, workroom_reason(b->w, "replay.err"));
	return why ? why : "the replay did not come to its end";
}

/* Rows of differing grades, of those that tell nothing, and of all. */
static void count(sqlite3 *db, uint64_t call, bool stream, int64_t n[3])
{
	sqlite3_stmt *st = NULL;
	const char *sql =
		"SELECT total(grade IN ('differs', 'fault')), total(grade IN ('injected', 'unverified', "
		"'chaotic')), count(*) FROM verdict WHERE pass = 1 AND (?1 = 0 OR call = ?1) AND (?2 OR kind IN "
		"('written', 'launch', 'fault'))";

	n[0] = n[1] = n[2] = 0;
	sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)call);
	sqlite3_bind_int(st, 2, stream);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		for (int k = 0; k < 3; k++)
			n[k] = sqlite3_column_int64(st, k);
	sqlite3_finalize(st);
}

enum verdict_of bisect_verdict(struct bisect *b, const char *result, uint64_t call, bool stream)
{
	sqlite3 *db = bisect_open(b, result);
	int64_t n[3] = {0, 0, 0};

	if (db)
		count(db, call, stream, n);
	sqlite3_close(db);
	return n[0] ? IS_BAD : n[1] || !n[2] ? IS_UNKNOWN : IS_GOOD;
}

void bisect_say(struct bisect *b, const char *fmt, ...)
{
	va_list ap;

	if (!b->progress)
		return;
	va_start(ap, fmt);
	fputs("bisect: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}
