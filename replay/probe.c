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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/envelope.h"
#include "replay/session.h"

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

/* Run `first`, and each `step`-th after it. */
static void make_every(struct session *s, struct probe *p, uint32_t process, unsigned first, unsigned step)
{
	for (unsigned run = first; run <= s->opt->envelope; run += step) {
		struct run r = {.s = s,
				.process = process,
				.pass = 1,
				.probe = p,
				.one_by_one = true,
				.give_up = true};
		char device[128];

		p->run = run;
		p->device = device;
		device_of_run(run, device, sizeof(device));
		if (run_process(&r))
			return; /* too few legal results: said launch by launch */
	}
}

/* As many at a time as there are jobs. */
static void make_runs(struct session *s, struct probe *p, uint32_t process)
{
	unsigned jobs = s->opt->jobs < s->opt->envelope ? s->opt->jobs : s->opt->envelope, started = 0;
	pid_t pids[ENVELOPE_MAX_RUNS];
	int status;

	if (jobs <= 1) {
		make_every(s, p, process, 1, 1);
		return;
	}
	fflush(NULL);
	for (; started < jobs; started++) {
		pids[started] = fork();
		if (pids[started] < 0)
			break;
		if (pids[started])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		s->in_front = false;
		make_every(s, p, process, started + 1, jobs);
		_exit(0);
	}
	for (unsigned k = 0; k < started; k++)
		session_wait(s, pids[k], &status);
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

/* How many launches were too many. */
static unsigned judge_all(sqlite3 *db, struct session *s, const struct probe *p, uint32_t process,
			  struct trace *t)
{
	sqlite3_stmt *st = NULL;
	uint64_t last = 0;
	unsigned left = 0;

	sqlite3_prepare_v2(db,
			   "SELECT id, call, base, address, elem_type FROM verdict WHERE pass = 1 AND "
			   "process = ? AND kind = "
			   "'written' AND grade = 'differs' AND note IS NULL ORDER BY id",
			   -1, &st, NULL);
	sqlite3_bind_int64(st, 1, process);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		struct question q = {.verdict = sqlite3_column_int64(st, 0),
				     .call = (uint64_t)sqlite3_column_int64(st, 1),
				     .base = (uint64_t)sqlite3_column_int64(st, 2),
				     .address = (uint64_t)sqlite3_column_int64(st, 3),
				     .type = elem_type_find((const char *)sqlite3_column_text(st, 4))};
		void *recorded;

		if (!map_get(&p->calls, q.call, NULL)) {
			leave_unjudged(db, &q, "too many launches differ (--most-judged)");
			left += q.call != last;
			last = q.call;
			continue;
		}
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

static int collect(sqlite3 *db, uint32_t process, unsigned most, struct probe *p)
{
	sqlite3_stmt *st = NULL;
	int rc = 0;

	sqlite3_prepare_v2(db,
			   "SELECT DISTINCT call FROM verdict WHERE pass = 1 AND process = ?1 AND kind = "
			   "'written' AND grade = "
			   "'differs' AND note IS NULL ORDER BY call LIMIT ?2",
			   -1, &st, NULL);
	sqlite3_bind_int64(st, 1, process);
	sqlite3_bind_int64(st, 2, most ? (sqlite3_int64)most : -1);
	while (st && !rc && sqlite3_step(st) == SQLITE_ROW)
		rc = map_set(&p->calls, (uint64_t)sqlite3_column_int64(st, 0), 1);
	sqlite3_finalize(st);
	return rc;
}

/* With the result closed: the runs are processes that open it, too. */
static int judge_process(struct session *s, uint32_t process, struct trace *t)
{
	struct probe p = {.folder = s->probe_folder};
	struct result_db *db;
	int rc = result_open(&db, s->result_path, false, &s->error);

	if (rc)
		return rc;
	rc = collect(result_sqlite(db), process, s->opt->most_judged, &p);
	result_close(db);
	if (!rc && p.calls.used) {
		make_runs(s, &p, process);
		rc = result_open(&db, s->result_path, false, &s->error);
		if (!rc) {
			say_left(db, process, judge_all(result_sqlite(db), s, &p, process, t));
			result_close(db);
		}
	}
	map_free(&p.calls);
	return rc;
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
