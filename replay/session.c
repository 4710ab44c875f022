/* SPDX-License-Identifier: Apache-2.0
 *
 * A replay as a whole: one child process for each recorded process, one after the other, each with a driver
 * of its own; a further run per trace where the first difference needs its PTX line, or a translation its
 * proof. All of them write into one result database, from which the report is made.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/engine.h"
#include "replay/narrow.h"
#include "replay/replayability.h"
#include "replay/session.h"

#define SECOND_BASE "0x550800000000" /* of our devices, 32 GiB above the first */

#define EXIT_RESTART 99 /* of a child: ENGINE_RESTART */
#define EXIT_FAULTED 98 /* a fault that the recording did not have: the last verdict */

/* ---- one process -------------------------------------------------------- */

static void write_target(struct engine *e)
{
	char version[32];

	snprintf(version, sizeof(version), "%d.%d", e->drv.version / 1000, e->drv.version % 1000 / 10);
	result_meta(e->out, "driver", e->drv.path);
	result_meta(e->out, "driver_version", version);
}

/* As many devices as the program used. */
static void set_device(const struct run *r)
{
	const char *name = r->probe ? r->probe->device : r->s->opt->device;
	char text[512];

	if (!name)
		return;
	if (r->s->ndevices > 1 && !strstr(name, "devices="))
		snprintf(text, sizeof(text), "%s%cdevices=%u", name, strchr(name, ':') ? ',' : ':',
			 r->s->ndevices);
	else
		snprintf(text, sizeof(text), "%s", name);
	setenv("CUTRACE_DEVICE", text, 1);
}

static void set_environment(const struct run *r)
{
	const struct replay_options *o = r->s->opt;

	set_device(r);
	if (o->inject && (!r->probe || r->probe->on_target))
		setenv("CUTRACE_INJECT", r->probe && r->probe->inject ? r->probe->inject : o->inject, 1);
	if (r->va_base)
		setenv("CUTRACE_VA_BASE", r->va_base, 1);
	setenv("CUTRACE_DETERMINISTIC", "1", 0);
	/* The device's launch numbers are then ours, and a fault is met at its launch. */
	if (r->blame || r->one_by_one)
		setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
	unsetenv("LD_AUDIT"); /* a recorder around the replayer is for the replayer, not for what it forks */
}

static int run_engine(const struct run *r, struct engine *e, struct diag *d)
{
	int rc = result_open(&e->out, r->s->result_path, false, d);

	if (rc)
		return rc;
	result_scope(e->out, r->process, r->pass);
	if (r->blame || r->probe)
		result_mute(e->out);
	else
		result_watch(e->out, e->board);
	rc = engine_init(e, r->probe && !r->probe->on_target ? r->s->own_driver_path : r->s->driver_path, d);
	if (!rc && doubt_load(e, r->s->left_out, r->s->nleft_out))
		rc = diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	if (rc)
		return rc;
	if (e->narrow) /* a launch that faulted, too */
		map_remove(&e->left_out, e->narrow->call);
	if (!r->blame && !r->probe)
		write_target(e);
	narrow_use_text(e);
	rc = engine_run(e, d);
	if (rc)
		return rc;
	if (r->blame)
		blame_collect(e);
	else if (!r->probe && (!e->faulted || !e->stop_at_fault)) {
		engine_write_counts(e);
		result_count(e->out, "ended", 1);
	}
	return 0;
}

/* What kernels print is not part of the report: shown on stderr when asked for. */
static void divert_output(const struct run *r)
{
	int fd;

	if (r->visit) /* they are the visitor's */
		return;
	fd = r->s->opt->verbose && !r->blame && !r->probe ? dup(STDERR_FILENO) : open("/dev/null", O_WRONLY);

	if (fd < 0)
		return;
	dup2(fd, STDOUT_FILENO);
	if (r->probe && r->probe->narrow) /* what was said is said again */
		dup2(fd, STDERR_FILENO);
	close(fd);
}

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* In the child. Problems are handed to the parent as a diagnostic row where the database works, else on
 * stderr. */
static int child(const struct run *r)
{
	struct engine *e = calloc(1, sizeof(*e));
	struct diag d = DIAG_INIT;
	int rc;

	if (!e)
		return REPLAY_COULD_NOT;
	/* Whatever handlers the caller has: a driver that crashes ends this process, and the parent says so.
	 */
	for (size_t i = 0; i < sizeof(fatal_signals) / sizeof(fatal_signals[0]); i++)
		signal(fatal_signals[i], SIG_DFL);
	set_environment(r);
	divert_output(r);
	e->opt = r->s->opt;
	e->process = r->process;
	e->pass = r->pass;
	e->blame = r->blame;
	e->probe_folder = r->s->probe_folder[0] && !r->blame ? r->s->probe_folder : NULL;
	e->probe_calls = r->probe ? &r->probe->calls : NULL;
	e->probe_run = r->probe ? r->probe->run : 0;
	e->narrow = r->probe ? r->probe->narrow : NULL;
	e->one_by_one = r->one_by_one || r->blame;
	e->visit = r->visit;
	e->stop_at_fault = !r->blame && !r->give_up;
	e->results = r->results;
	e->board = r->s->ledger ? r->s->ledger->board : NULL;
	if (!r->blame && !r->probe && r->s->opt->isolated && !r->s->opt->excerpt)
		e->ledger = r->s->ledger;
	e->worker = r->s->worker;
	rc = run_engine(r, e, &d);
	if (rc == ENGINE_RESTART)
		_exit(EXIT_RESTART);
	if (rc && e->out && !r->blame && !r->probe) {
		char text[1024];

		snprintf(text, sizeof(text), "%s%s%s", d.where, d.where[0] ? ": " : "", d.what);
		result_diagnostic(e->out, 0, "fatal", text);
	} else if (rc && !e->out) {
		diag_print(&d, stderr);
	}
	if (e->results)
		fflush(e->results);
	result_close(e->out);
	/* Without engine_free and exit handlers: the driver's threads may still run. */
	fflush(NULL);
	_exit(rc ? REPLAY_COULD_NOT : e->faulted && e->stop_at_fault ? EXIT_FAULTED : 0);
}

/* Whether the child came to the end of its process, or said why it could not: counts are its last rows. */
static bool has_ended(struct result_db *db, const struct run *r)
{
	sqlite3_stmt *st = NULL;
	bool yes = false;

	if (sqlite3_prepare_v2(
		    result_sqlite(db),
		    "SELECT EXISTS (SELECT 1 FROM count WHERE process = ?1 AND pass = ?2 AND what = 'ended') OR EXISTS "
		    "(SELECT 1 FROM diagnostic WHERE process = ?1 AND pass = ?2 AND severity = 'fatal')",
		    -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, r->process);
		sqlite3_bind_int64(st, 2, r->pass);
		yes = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0);
	}
	sqlite3_finalize(st);
	return yes;
}

/* A driver may crash, or call exit: without the child's last rows nothing is known of its process. */
static int note_death(struct session *s, const struct run *r, int status)
{
	struct result_db *db;
	char text[256];
	int rc;

	if (r->blame || r->probe || interrupted(s))
		return 0;
	rc = result_open(&db, s->result_path, false, &s->error);
	if (rc)
		return rc;
	result_scope(db, r->process, r->pass);
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text),
			 "the replaying process ended by signal %d (%s) inside the driver", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(text, sizeof(text),
			 "the replaying process ended with exit status %d before the replay was through",
			 WEXITSTATUS(status));
	if (WIFSIGNALED(status) || !has_ended(db, r))
		result_diagnostic(db, 0, "fatal", text);
	result_close(db);
	return 0;
}

int run_process(struct run *r)
{
	pid_t pid;
	int status = 0;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return diag_set(&r->s->error, CUTRACE_EIO, "", "cannot fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(child(r));
	}
	session_wait(r->s, pid, &status);
	r->s->restart = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_RESTART;
	/* A run that goes on whatever happens has no such end of its own. */
	r->faulted = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAULTED && !r->give_up && !r->blame;
	if (r->faulted)
		return 0;
	return r->s->restart ? ENGINE_RESTART : note_death(r->s, r, status);
}

/* ---- which processes ---------------------------------------------------- */

/* Several processes go on meanwhile: what they made of rows that are damaged is thrown away. */
int session_check_rows(struct session *s)
{
	struct trace *t;
	int rc = trace_open(&t, s->opt->trace_path, &s->error);

	if (rc)
		return rc;
	rc = trace_check_rows(t, progress_checking, &s->progress, &s->error);
	trace_close(t);
	return rc;
}

/* Processes that made calls. */
static int list_processes(struct session *s, struct recorded *out)
{
	struct trace *t;
	sqlite3_stmt *st = NULL;
	const char *uuid;
	uint64_t last;
	int rc = trace_open(&t, s->opt->trace_path, &s->error);

	if (rc)
		return rc;
	memset(out, 0, sizeof(*out));
	out->verified = trace_has_row_hashes(t);
	uuid = trace_meta_text(t, "uuid");
	snprintf(out->uuid, sizeof(out->uuid), "%s", uuid ? uuid : "");
	out->closed = trace_meta_int(t, "closed", 0) == 1 && !trace_cut_off(t, &last);
	sqlite3_prepare_v2(
		trace_db(t),
		"SELECT id FROM process p WHERE EXISTS (SELECT 1 FROM thread t WHERE t.process = p.id AND"
		" EXISTS (SELECT 1 FROM call WHERE call.thread = t.id)) ORDER BY id",
		-1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		uint32_t *grown = realloc(out->ids, (out->n + 1) * sizeof(*grown));

		if (!grown)
			break;
		out->ids = grown;
		grown[out->n++] = (uint32_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	st = NULL;
	sqlite3_prepare_v2(trace_db(t),
			   "SELECT EXISTS (SELECT 1 FROM payload WHERE kind = 'written' OR "
			   "(kind = 'unavailable' AND note = 'no hash: the launch failed'))",
			   -1, &st, NULL);
	out->has_contents = st && sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	st = NULL;
	sqlite3_prepare_v2(trace_db(t),
			   "SELECT (SELECT max(device) + 1 FROM context), (SELECT max(id) FROM call)", -1,
			   &st, NULL);
	if (st && sqlite3_step(st) == SQLITE_ROW) {
		s->ndevices = (unsigned)sqlite3_column_int(st, 0);
		s->last_call = (uint64_t)sqlite3_column_int64(st, 1);
	}
	sqlite3_finalize(st);
	trace_close(t);
	return 0;
}

/* ---- the line that stored it -------------------------------------------- */

static bool read_request(sqlite3 *db, const char *sql, struct blame_request *b, uint32_t *process)
{
	sqlite3_stmt *st = NULL;
	bool found = false;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
		const char *elem = (const char *)sqlite3_column_text(st, 6);

		*process = (uint32_t)sqlite3_column_int64(st, 0);
		b->verdict = (uint64_t)sqlite3_column_int64(st, 1);
		b->live = (uint64_t)sqlite3_column_int64(st, 2);
		b->address = (uint64_t)sqlite3_column_int64(st, 3);
		b->stop_at = (uint64_t)sqlite3_column_int64(st, 4);
		b->launch = (uint64_t)sqlite3_column_int64(st, 5);
		b->bytes = elem_type_find(elem)->bytes;
		b->by_hash = sqlite3_column_int(st, 7);
		found = true;
	}
	sqlite3_finalize(st);
	return found;
}

/* The first differing copy knows the element. When a hash showed the same buffer wrong at an earlier launch,
 * the replay stops there: that launch is the first wrong one. */
static void find_store(struct session *s)
{
	static const char with_element[] =
		"SELECT c.process, c.id, c.live, c.address, coalesce(h.call, c.call), coalesce(h.launch, "
		"c.launch), c.elem_type, h.id IS NOT NULL"
		" FROM (SELECT * FROM verdict WHERE kind IN ('copy', 'written') AND grade = 'differs' AND "
		"pass = 1 ORDER BY inherited IS NOT NULL, call, id LIMIT 1) c LEFT JOIN verdict h ON h.id = (SELECT min(id) FROM verdict WHERE kind = "
		"'hash' AND"
		"  grade = 'differs' AND pass = 1 AND process = c.process AND base <= c.address AND"
		"  c.address < base + bytes AND call < c.call)";
	static const char hash_only[] =
		"SELECT process, id, NULL, address, call, launch, elem_type, 1 FROM verdict"
		" WHERE kind = 'hash' AND grade = 'differs' AND pass = 1 ORDER BY call, id LIMIT 1";
	struct blame_request b;
	struct run r = {.s = s, .pass = 1, .blame = &b};
	struct result_db *db;
	struct diag d = DIAG_INIT;
	bool found;

	if (result_open(&db, s->result_path, false, &d))
		return;
	found = read_request(result_sqlite(db), with_element, &b, &r.process) ||
		read_request(result_sqlite(db), hash_only, &b, &r.process);
	result_close(db);
	if (found)
		run_process(&r);
}

/* ---- two bases ---------------------------------------------------------- */

static bool was_translated(struct session *s)
{
	struct result_db *db;
	sqlite3_stmt *st = NULL;
	struct diag d = DIAG_INIT;
	bool yes = false;

	if (result_open(&db, s->result_path, false, &d))
		return false;
	if (sqlite3_prepare_v2(result_sqlite(db),
			       "SELECT EXISTS (SELECT 1 FROM allocation WHERE policy = 'translated')", -1,
			       &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		yes = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	result_close(db);
	return yes;
}

static int replay_all(struct session *s, const struct recorded *rec, unsigned pass, const char *va_base,
		      FILE *results)
{
	int rc = 0;

	for (unsigned i = 0; i < rec->n && !rc && !interrupted(s); i++) {
		struct run r = {.s = s,
				.process = rec->ids[i],
				.pass = pass,
				.va_base = va_base,
				.results = results,
				.one_by_one = s->opt->isolated};

		rc = run_to_the_end(&r);
	}
	return rc;
}

/* Proof needs that something moved between the two replays. */
static void note_bases(struct result_db *db)
{
	sqlite3_stmt *st = NULL;
	int64_t moved = 0;

	sqlite3_prepare_v2(result_sqlite(db),
			   "SELECT count(*) FROM allocation a JOIN allocation z USING (process, created, "
			   "base) WHERE a.pass = 1 AND "
			   "z.pass = 2 AND a.live <> z.live",
			   -1, &st, NULL);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		moved = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	result_meta(db, "second_base", moved ? "moved" : "same");
	if (moved)
		return;
	result_scope(db, 0, 2);
	result_diagnostic(db, 0, "warning",
			  "the second replay got the addresses of the first: the translation of pointers is "
			  "not verified");
}

static int verify_addresses(struct session *s, const struct recorded *rec, FILE *results)
{
	struct result_db *db;
	struct diag d = DIAG_INIT;
	int rc;

	if (!was_translated(s))
		return 0;
	fflush(results);
	rewind(results);
	rc = replay_all(s, rec, 2, SECOND_BASE, results);
	if (!rc && !result_open(&db, s->result_path, false, &d)) {
		note_bases(db);
		result_close(db);
	}
	return rc;
}

static int replay_part(struct session *part, void *ctx)
{
	int rc = session_make_result(part, ctx);

	return rc ? rc : replay_all(part, ctx, 1, NULL, NULL);
}

/* ---- all of it ---------------------------------------------------------- */

static int check_wishes(struct session *s, const struct recorded *rec)
{
	if (s->opt->isolated && !rec->has_contents) {
		diag_set(&s->error, CUTRACE_ENOENT, s->opt->trace_path,
			 "launches can't be replayed each on its own: the trace does not have what they "
			 "wrote");
		diag_hint(&s->error,
			  "record it with --check=contents, or replay without --isolated, --shard and -j");
		return s->error.code;
	}
	return s->opt->inject ? injection_check(s) : 0;
}

static int plan_work(struct session *s, const struct recorded *rec, struct ledger *ledger)
{
	const struct replay_options *o = s->opt;
	struct ledger_plan p = {.processes = rec->ids,
				.nprocesses = rec->n,
				.shard = o->shard,
				.shards = o->shards,
				.first = o->first_launch,
				.end = o->last_launch && o->last_launch < UINT64_MAX ? o->last_launch + 1
										     : UINT64_MAX,
				.share = o->isolated,
				.trace_path = o->trace_path};
	struct trace *t;
	int rc = o->resume_path ? resume_begin(s, &p.done, &p.ndone) : 0;

	if (!rc)
		rc = trace_open(&t, o->trace_path, &s->error);
	if (rc) {
		free(p.done);
		return rc;
	}
	p.trace = trace_db(t);
	rc = ledger_make(ledger, &p, &s->error);
	s->launches_before = ledger->launches_done;
	trace_close(t);
	s->ledger = ledger;
	s->worker = 1;
	return rc;
}

/* To who watches a long replay, before it. */
static void tell_plan(struct session *s)
{
	struct replayability p;
	struct diag none = s->error;

	if (s->progress.how == PROGRESS_NONE)
		return;
	progress_end(&s->progress);
	if (replayability_read(&p, s, false))
		s->error = none; /* the replay will say it */
	else
		replayability_text(&p, stderr, true);
	replayability_free(&p);
}

/* The launches, and what is asked of them afterwards. */
static int replay_and_judge(struct session *s, const struct recorded *rec, FILE *results)
{
	int rc = 0;

	tell_plan(s);
	progress_begin(&s->progress, "");
	if (s->opt->isolated && (s->opt->envelope || s->opt->narrow) && !s->opt->no_compare)
		rc = probe_folder_make(s);
	if (!rc && s->opt->jobs > 1)
		rc = shards_run(s, replay_part, (void *)(uintptr_t)rec);
	else if (!rc)
		rc = replay_all(s, rec, 1, NULL, results);
	if (!rc && s->base_path[0])
		rc = resume_end(s);
	progress_begin(&s->progress, "looking at what differs");
	if (!rc && results && !interrupted(s))
		rc = verify_addresses(s, rec, results);
	if (!rc && s->probe_folder[0] && s->opt->envelope && !interrupted(s))
		rc = probe_differences(s, rec->ids, rec->n);
	if (!rc && s->probe_folder[0] && s->opt->narrow && !interrupted(s))
		rc = narrow_differences(s);
	/* Nobody reads of it. */
	if (!rc && !interrupted(s) && !s->opt->stop_at && (!s->opt->quiet || s->opt->result_path))
		find_store(s);
	probe_folder_remove(s);
	progress_end(&s->progress);
	if (!rc && s->opt->inject && !interrupted(s))
		injection_note(s);
	return rc;
}

int session_run(struct session *s)
{
	struct recorded rec = {0};
	struct ledger ledger = {0};
	FILE *results = s->opt->verify_addresses ? tmpfile() : NULL;
	int rc;

	s->in_front = true;
	progress_begin(&s->progress, "checking the trace");
	rc = s->opt->jobs > 1 ? 0 : session_check_rows(s);
	if (!rc)
		rc = list_processes(s, &rec);
	interrupt_hold();
	if (!rc)
		rc = check_wishes(s, &rec);
	if (!rc && s->opt->verify_addresses && !results)
		rc = diag_set(&s->error, CUTRACE_EIO, "", "cannot create a temporary file: %s",
			      strerror(errno));
	if (!rc)
		rc = session_choose_result_path(s);
	if (!rc)
		rc = session_make_result(s, &rec);
	if (!rc)
		rc = plan_work(s, &rec, &ledger);
	if (!rc) {
		interrupt_begin(s);
		rc = replay_and_judge(s, &rec, results);
	}
	s->interrupted = interrupted(s);
	s->launches = ledger.launches;
	s->launches_done = ledger.board ? atomic_load(&ledger.board->launches) : 0;
	interrupt_end();
	if (results)
		fclose(results);
	resume_forget(s);
	s->ledger = NULL;
	ledger_free(&ledger);
	free(rec.ids);
	free(s->left_out);
	s->left_out = NULL;
	s->nleft_out = 0;
	return rc;
}
