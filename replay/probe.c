/* SPDX-License-Identifier: Apache-2.0
 *
 * Grades what differs in an isolated replay: the launches in question are made again on the interpreter, a few times,
 * with the freedom of the PTX ISA left to chance, and what the target made is judged by the spread (envelope.h). What the
 * recording's own driver made of them, asked again, is legal, too.
 *
 * What a launch wrote is kept in files of a folder: FOLDER/PROCESS.CALL.RUN, the ranges one behind the other in
 * the order of the trace's payloads. Run 0 is the target's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/envelope.h"
#include "replay/session.h"

#define BATCH 64 /* launches that are made in one run, and whose results are on the disk at a time */

/* A difference has a note when it is judged. ?1: the process. */
#define UNJUDGED "pass = 1 AND process = ?1 AND kind = 'written' AND grade = 'differs' AND note IS NULL"

enum { MAX_RERUNS = 64 };

/* ---- files ------------------------------------------------------------------------------ */

static void file_name(char *out, size_t size, const char *folder, uint32_t process, uint64_t call,
		      unsigned run)
{
	snprintf(out, size, "%s/%u.%llu.%u", folder, process, (unsigned long long)call, run);
}

FILE *probe_file(const struct engine *e, uint64_t call)
{
	char path[PROBE_PATH];

	file_name(path, sizeof(path), e->probe_folder, e->process, call, e->probe_run);
	return fopen(path, "wb");
}

struct view {
	void *p; /* NULL: there is none */
	size_t bytes;
};

static bool view_open(struct view *v, const char *folder, uint32_t process, uint64_t call, unsigned run)
{
	char path[PROBE_PATH];
	struct stat st;
	int fd;

	file_name(path, sizeof(path), folder, process, call, run);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	v->p = NULL;
	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0) {
		v->bytes = (size_t)st.st_size;
		v->p = mmap(NULL, v->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (v->p == MAP_FAILED)
			v->p = NULL;
	}
	if (fd >= 0)
		close(fd);
	return v->p != NULL;
}

static void view_close(struct view *v)
{
	if (v->p)
		munmap(v->p, v->bytes);
}

int probe_folder_make(struct session *s)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(s->probe_folder, sizeof(s->probe_folder), "%s/cutrace-probe-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (mkdtemp(s->probe_folder))
		return 0;
	diag_set(&s->error, CUTRACE_EIO, s->probe_folder, "no temporary folder can be made: %s",
		 strerror(errno));
	s->probe_folder[0] = '\0';
	return CUTRACE_EIO;
}

void probe_folder_remove(struct session *s)
{
	DIR *dir = s->probe_folder[0] ? opendir(s->probe_folder) : NULL;
	struct dirent *f;

	while (dir && (f = readdir(dir)))
		if (f->d_name[0] != '.')
			unlinkat(dirfd(dir), f->d_name, 0);
	if (dir) {
		closedir(dir);
		rmdir(s->probe_folder);
	}
}

/* ---- the runs ------------------------------------------------------------------------------ */

/* The first run is the interpreter's own choice, the second fuses what may be fused; the others are chance. */
static void device_of_run(unsigned run, char *out, size_t size)
{
	if (run == 1)
		snprintf(out, size, "interp:deterministic=1");
	else if (run == 2)
		snprintf(out, size, "interp:contract=all,order=seed:2,tensor=seed:2,approx=seed:2");
	else
		snprintf(out, size, "interp:contract=seed:%u,order=seed:%u,tensor=seed:%u,approx=seed:%u",
			 run, run, run, run);
}

struct batch {
	struct map calls;
	uint32_t process;
};

/* One that fails makes too few legal results: said launch by launch. */
static void make_run(struct session *s, unsigned k, void *ctx)
{
	const struct batch *b = ctx;
	char device[128];
	struct probe p = {.folder = s->probe_folder, .calls = b->calls, .device = device, .run = k + 1};
	struct run r = {
		.s = s, .process = b->process, .pass = 1, .probe = &p, .one_by_one = true, .give_up = true};

	device_of_run(p.run, device, sizeof(device));
	run_process(&r);
}

/* The target's stay: others look into them (narrow.c). */
static void remove_runs(struct session *s, const struct batch *b)
{
	char path[PROBE_PATH];

	for (size_t k = 0; k < b->calls.size; k++)
		for (unsigned run = 1; b->calls.slots[k].used && run <= s->opt->envelope; run++) {
			file_name(path, sizeof(path), s->probe_folder, b->process, b->calls.slots[k].key,
				  run);
			unlink(path);
		}
}

/* ---- grading --------------------------------------------------------------------------------- */

struct question {
	int64_t verdict;
	uint64_t call, at, bytes, base, address; /* at: in the file */
	const struct elem_type *type;
};

static void set_grade(sqlite3 *db, const struct question *q, const char *grade, const char *note)
{
	sqlite3_stmt *st = NULL;

	sqlite3_prepare_v2(db, "UPDATE verdict SET grade = ?, note = ? WHERE id = ?", -1, &st, NULL);
	sqlite3_bind_text(st, 1, grade, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, note, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, q->verdict);
	sqlite3_step(st);
	sqlite3_finalize(st);
}

static void leave_unjudged(sqlite3 *db, const struct question *q, const char *why)
{
	char note[160];

	snprintf(note, sizeof(note), "not judged by an envelope: %s", why);
	set_grade(db, q, "differs", note);
}

/* The first element that differs may be legal: the first one that is not is reported. */
static void set_first(sqlite3 *db, const struct question *q, uint64_t first, const void *want,
		      const void *got)
{
	uint64_t x = 0, y = 0, at = first * q->type->bytes;
	sqlite3_stmt *st = NULL;
	char a[48], b[48];

	memcpy(&x, (const char *)want + at, q->type->bytes);
	memcpy(&y, (const char *)got + at, q->type->bytes);
	elem_format(q->type, x, a, sizeof(a));
	elem_format(q->type, y, b, sizeof(b));
	sqlite3_prepare_v2(db,
			   "UPDATE verdict SET first = ?2, live = live + ?3 - byte_offset, "
			   "address = address + ?3 - byte_offset, byte_offset = ?3, want = ?4, got = ?5 "
			   "WHERE id = ?1",
			   -1, &st, NULL);
	sqlite3_bind_int64(st, 1, q->verdict);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)first);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)(q->address - q->base + at));
	sqlite3_bind_text(st, 4, a, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 5, b, -1, SQLITE_STATIC);
	sqlite3_step(st);
	sqlite3_finalize(st);
}

/* Legal results of one range. */
struct samples {
	struct view runs[ENVELOPE_MAX_RUNS + 1]; /* 0: the target's, which is none of them */
	void *reruns[MAX_RERUNS];                /* of the recording's own driver: enrich --self-replays */
	const void *legal[ENVELOPE_MAX_RUNS + MAX_RERUNS];
	unsigned n, nreruns;
};

/* whose: "" for what the device made, else what comes before the note. */
static void set_judged(sqlite3 *db, const struct question *q, const struct envelope *v,
		       const struct samples *m, const char *whose)
{
	static const char *const grades[] = {
		[ENVELOPE_INSIDE] = "inside", [ENVELOPE_OUTSIDE] = "differs", [ENVELOPE_CHAOTIC] = "chaotic"};
	char note[384], reruns[64] = "";

	if (m->nreruns)
		snprintf(reruns, sizeof(reruns), " (%u of them self-replays)", m->nreruns);
	if (v->grade == ENVELOPE_OUTSIDE)
		snprintf(
			note, sizeof(note),
			"%soutside the envelope of %u legal results%s: %llu elements, up to %.3g times as far "
			"as legal ones lie outside each other (%llu of %llu elements vary)",
			whose, m->n, reruns, (unsigned long long)v->outside, v->worst,
			(unsigned long long)v->varying, (unsigned long long)v->elements);
	else
		snprintf(note, sizeof(note),
			 "inside the envelope of %u legal results%s, %.3g wide on the average%s", m->n,
			 reruns, v->width, v->grade == ENVELOPE_CHAOTIC ? ": too wide to tell anything" : "");
	set_grade(db, q, grades[v->grade], note);
}

/* The recording is judged first: what it has may be what is not legal, and the device right. */
static void judge_elements(sqlite3 *db, const struct question *q, const struct samples *m,
			   const void *recorded, const void *got)
{
	const char *whose = "what was recorded is ";
	struct envelope e;

	envelope_grade(q->type, m->legal, m->n, recorded, q->bytes, &e);
	if (e.grade != ENVELOPE_OUTSIDE) {
		whose = "";
		envelope_grade(q->type, m->legal, m->n, got, q->bytes, &e);
	}
	set_judged(db, q, &e, m, whose);
	if (e.grade == ENVELOPE_OUTSIDE)
		set_first(db, q, e.first, recorded, got);
}

static bool samples_open(struct samples *m, const struct session *s, uint32_t process,
			 const struct question *q)
{
	for (unsigned run = 0; run <= s->opt->envelope; run++) {
		bool have = view_open(&m->runs[run], s->probe_folder, process, q->call, run);

		if (!run && (!have || q->at > m->runs[0].bytes || q->bytes > m->runs[0].bytes - q->at))
			return false;
		if (run && have && m->runs[run].bytes == m->runs[0].bytes)
			m->legal[m->n++] = (const char *)m->runs[run].p + q->at;
	}
	return true;
}

/* What the recording's own driver made of the launch when it was asked again, where that was something else. */
static void samples_add_reruns(struct samples *m, struct trace *t, const struct question *q)
{
	unsigned n;
	const struct trace_payload *p = trace_payloads(t, q->call, &n);

	for (unsigned i = 0; i < n && m->nreruns < MAX_RERUNS; i++) {
		size_t bytes = 0;
		void *content;

		if (strcmp(p[i].kind, "rerun") || p[i].device_address != q->address || p[i].width != q->bytes)
			continue;
		content = trace_buffer_load(t, p[i].buffer, &bytes, NULL);
		if (!content || bytes < q->bytes) {
			free(content);
			continue;
		}
		m->reruns[m->nreruns++] = content;
		m->legal[m->n++] = content;
	}
}

static void samples_close(struct samples *m)
{
	for (unsigned run = 0; run <= ENVELOPE_MAX_RUNS; run++)
		view_close(&m->runs[run]);
	for (unsigned k = 0; k < m->nreruns; k++)
		free(m->reruns[k]);
}

static void judge(sqlite3 *db, struct session *s, uint32_t process, struct trace *t, const struct question *q,
		  const void *recorded)
{
	struct samples m = {0};
	bool have = samples_open(&m, s, process, q);

	if (have)
		samples_add_reruns(&m, t, q);
	if (have && m.n >= 3)
		judge_elements(db, q, &m, recorded, (const char *)m.runs[0].p + q->at);
	else
		leave_unjudged(db, q, "too few runs of the interpreter came to their end");
	samples_close(&m);
}

/* Where the range lies in the files, and its recorded contents; malloc'ed, NULL when they can't be read. */
static void *locate(struct trace *t, struct question *q)
{
	unsigned n;
	const struct trace_payload *p = trace_payloads(t, q->call, &n);
	uint64_t at = 0, buffer = 0;
	size_t bytes = 0;
	void *recorded;

	for (unsigned i = 0; i < n && !buffer; i++) {
		if (strcmp(p[i].kind, "written") || !p[i].buffer)
			continue;
		if (q->address - p[i].device_address < p[i].width) {
			q->at = at;
			q->bytes = p[i].width;
			q->address = p[i].device_address;
			buffer = p[i].buffer;
		}
		at += p[i].width;
	}
	recorded = buffer ? trace_buffer_load(t, buffer, &bytes, NULL) : NULL;
	if (bytes >= q->bytes)
		return recorded;
	free(recorded);
	return NULL;
}

bool probe_element(const struct session *s, struct trace *t, uint32_t process, uint64_t call, unsigned run,
		   uint64_t address, unsigned bytes, uint64_t *value)
{
	struct question q = {.call = call, .address = address};
	void *recorded = locate(t, &q);
	struct view v = {0};
	uint64_t at = q.at + (address - q.address);
	bool found = recorded && view_open(&v, s->probe_folder, process, call, run) && at + bytes <= v.bytes;

	*value = 0;
	if (found)
		memcpy(value, (const char *)v.p + at, bytes);
	view_close(&v);
	free(recorded);
	return found;
}

/* Of a batch that was made. Without one, of what is in none: how many launches that are. */
static unsigned judge_all(sqlite3 *db, struct session *s, const struct batch *b, uint32_t process,
			  struct trace *t)
{
	sqlite3_stmt *st = NULL;
	uint64_t last = 0;
	unsigned left = 0;

	sqlite3_prepare_v2(
		db, "SELECT id, call, base, address, elem_type FROM verdict WHERE " UNJUDGED " ORDER BY id",
		-1, &st, NULL);
	sqlite3_bind_int64(st, 1, process);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		struct question q = {.verdict = sqlite3_column_int64(st, 0),
				     .call = (uint64_t)sqlite3_column_int64(st, 1),
				     .base = (uint64_t)sqlite3_column_int64(st, 2),
				     .address = (uint64_t)sqlite3_column_int64(st, 3),
				     .type = elem_type_find((const char *)sqlite3_column_text(st, 4))};
		void *recorded;

		if (!b) {
			leave_unjudged(db, &q, "too many launches differ (--most-judged)");
			left += q.call != last;
			last = q.call;
			continue;
		}
		if (!map_get(&b->calls, q.call, NULL))
			continue;
		recorded = locate(t, &q);
		if (recorded)
			judge(db, s, process, t, &q, recorded);
		else
			leave_unjudged(db, &q, "what was recorded can't be read");
		free(recorded);
	}
	sqlite3_finalize(st);
	return left;
}

static void say_left(struct result_db *db, uint32_t process, unsigned left)
{
	char text[160];

	if (!left)
		return;
	snprintf(
		text, sizeof(text),
		"%u more launches differ and are not judged by an envelope: --most-judged all judges them, too",
		left);
	result_scope(db, process, 1);
	result_diagnostic(db, 0, "warning", text);
}

/* The launches to judge, in their order; malloc'ed. Those are the ones whose results were kept (written.c). */
static int collect(sqlite3 *db, const struct session *s, uint32_t process, uint64_t **calls, size_t *n)
{
	sqlite3_stmt *st = NULL;
	size_t room = 0;
	int rc = 0;

	*calls = NULL;
	*n = 0;
	sqlite3_prepare_v2(
		db,
		"SELECT call FROM (SELECT call, row_number() OVER (ORDER BY call) AS n, row_number() OVER "
		"(PARTITION BY kernel ORDER BY call) AS k FROM (SELECT DISTINCT call, kernel FROM verdict WHERE " UNJUDGED
		")) WHERE n <= ?2 OR k <= ?3 ORDER BY call",
		-1, &st, NULL);
	sqlite3_bind_int64(st, 1, process);
	sqlite3_bind_int64(st, 2, s->opt->most_judged ? s->opt->most_judged : INT64_MAX);
	sqlite3_bind_int64(st, 3, PROBE_OF_KERNEL);
	while (st && !rc && sqlite3_step(st) == SQLITE_ROW) {
		if (*n == room) {
			uint64_t *grown = reallocarray(*calls, room = 2 * room + 64, sizeof(*grown));

			rc = grown ? 0 : CUTRACE_ENOMEM;
			*calls = grown ? grown : *calls;
		}
		if (!rc)
			(*calls)[(*n)++] = (uint64_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	return rc;
}

/* With the result closed while there are runs: they are processes that open it, too. */
static int judge_batch(struct session *s, struct batch *b, struct trace *t)
{
	struct result_db *db;
	int rc;

	pool_run(s, s->opt->envelope, make_run, b);
	if (interrupted(s))
		return 0;
	rc = result_open(&db, s->result_path, false, &s->error);
	if (!rc) {
		judge_all(result_sqlite(db), s, b, b->process, t);
		result_close(db);
	}
	remove_runs(s, b);
	return rc;
}

static int judge_in_batches(struct session *s, uint32_t process, const uint64_t *calls, size_t n,
			    struct trace *t)
{
	int rc = 0;

	for (size_t at = 0; at < n && !rc && !interrupted(s); at += BATCH) {
		struct batch b = {.process = process};

		for (size_t k = at; k < n && k < at + BATCH && !rc; k++)
			rc = map_set(&b.calls, calls[k], 1);
		rc = rc ? diag_set(&s->error, rc, "", "out of memory") : judge_batch(s, &b, t);
		map_free(&b.calls);
	}
	return rc;
}

static int judge_process(struct session *s, uint32_t process, struct trace *t)
{
	struct result_db *db;
	uint64_t *calls = NULL;
	size_t n = 0;
	int rc = result_open(&db, s->result_path, false, &s->error);

	if (rc)
		return rc;
	rc = collect(result_sqlite(db), s, process, &calls, &n);
	result_close(db);
	if (!rc && n)
		rc = judge_in_batches(s, process, calls, n, t);
	free(calls);
	if (rc || interrupted(s))
		return rc;
	rc = result_open(&db, s->result_path, false, &s->error);
	if (rc)
		return rc;
	say_left(db, process, judge_all(result_sqlite(db), s, NULL, process, t));
	result_close(db);
	return 0;
}

int probe_differences(struct session *s, const uint32_t *processes, unsigned n)
{
	struct trace *t;
	int rc = trace_open(&t, s->opt->trace_path, &s->error);

	if (rc)
		return rc;
	for (unsigned i = 0; i < n && !rc; i++)
		rc = judge_process(s, processes[i], t);
	trace_close(t);
	return rc;
}
