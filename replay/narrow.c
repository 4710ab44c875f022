/* SPDX-License-Identifier: Apache-2.0
 *
 * The launches whose results are outside of what is legal, one after the other: who stored the element, what that block did
 * on the target and on the interpreter, and which instruction was the first that gave something wrong.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay/narrow.h"

#define LOG_BYTES    (96ull << 20) /* of one run */
#define THREAD_BYTES (4ull << 20)  /* of one thread, at most */
#define FIRST_BYTES  (64ull << 10) /* of one thread, at first */
#define MAX_PARTS    6             /* of a log, one after the other; of a grid likewise */
#define MAX_STOPS    8             /* lines of a kernel at which threads end, since they fault there */
#define RUN_TARGET   1000          /* what the launch with a log wrote, beside the runs of the envelope */

struct narrow_launch {
	struct session *s;
	struct trace *t;
	uint32_t process;
	uint64_t call, address; /* of the element, recorded */
	unsigned bytes;
	struct trace_launch row;
	const struct trace_kernel *kernel;
	uint64_t image, beyond; /* beyond: a device address behind all recorded ones */
	struct ptx_module *m;
	struct ptx_func *f;
	struct narrow_said *said; /* shared memory */
	uint64_t threads, blocks; /* of a block; of the grid */
	struct extension_hit hit; /* who stored it, on the interpreter */
	bool has_hit;
	bool faults;               /* the launch, on the target; no element is known then */
	uint32_t stops[MAX_STOPS]; /* PTX lines at which it does */
	unsigned nstops;
	char note[640], place_note[160];
	bool everywhere; /* what was found is no matter of a thread */
	struct narrow_finding best;
	uint64_t best_block, best_thread; /* in the grid, in the block */
};

/* ---- which is better -------------------------------------------------------------------------- */

bool narrow_is_better(const struct narrow_finding *f, const struct narrow_finding *than)
{
	if (than->how == NARROW_NOTHING || f->how != than->how)
		return than->how == NARROW_NOTHING || f->how < than->how;
	return f->rank != than->rank ? f->rank < than->rank : f->at < than->at;
}

void narrow_offer(struct narrow_finding *best, const struct narrow_finding *f)
{
	if (narrow_is_better(f, best))
		*best = *f;
}

unsigned narrow_rank(const struct narrow_place *p, uint64_t thread)
{
	if (p->thread == UINT64_MAX)
		return 0;
	if (thread == p->thread)
		return 0;
	if (thread / p->threads != p->thread / p->threads)
		return 3;
	return thread % p->threads / 32 == p->thread % p->threads / 32 ? 1 : 2;
}

/* ---- runs ------------------------------------------------------------------------------------------ */

/* --inject names a line of the recorded text. */
static void place_injection(const struct narrow_launch *l, const struct ptx_instrumented *code, char *out,
			    size_t size)
{
	const char *at = l->s->opt->inject, *colon = at ? strchr(at, ':') : NULL;
	char *rest;
	unsigned long line = colon ? strtoul(colon + 1, &rest, 10) : 0;

	out[0] = '\0';
	for (uint32_t k = 0; colon && k < code->nsites; k++)
		if (code->sites[k].line == line) {
			snprintf(out, size, "%.*s:%u%s", (int)(colon - at), at, code->sites[k].new_line,
				 rest);
			return;
		}
}

static void run_task(struct narrow_launch *l, struct narrow_task *t, bool on_target, const char *inject)
{
	struct probe p = {.folder = l->s->probe_folder,
			  .device = on_target ? l->s->opt->device : "interp:deterministic=1",
			  .run = on_target ? RUN_TARGET : RUN_TARGET + 1,
			  .on_target = on_target,
			  .inject = inject,
			  .narrow = t};
	struct run r = {.s = l->s,
			.process = l->process,
			.pass = 1,
			.probe = &p,
			.one_by_one = true,
			.give_up = true};

	*l->said = (struct narrow_said){0};
	t->said = l->said;
	t->call = l->call;
	if (!map_set(&p.calls, l->call, 1))
		run_process(&r);
	map_free(&p.calls);
}

static void find_who_stored(struct narrow_launch *l)
{
	struct narrow_task t = {.address = l->address, .watch_bytes = l->bytes};

	run_task(l, &t, false, NULL);
	l->has_hit = l->said->watched;
	l->hit = l->said->hit;
}

/* ---- one part of the log ---------------------------------------------------------------------------- */

struct part {
	uint64_t first_block, nblocks, skip, capacity;
};

static void log_path(const struct narrow_launch *l, bool on_target, char *out, size_t size)
{
	snprintf(out, size, "%s/log.%s", l->s->probe_folder, on_target ? "target" : "interp");
}

static bool make_log(struct narrow_launch *l, const struct ptx_instrumented *code, const struct part *part,
		     bool on_target, struct narrow_log *log)
{
	char path[PROBE_PATH], inject[512];
	struct narrow_task t = {.image = l->image,
				.text = code->text,
				.bytes = code->bytes,
				.threads = l->threads,
				.variable = l->beyond,
				.log_path = path,
				.log = {.first_block = part->first_block,
					.nblocks = part->nblocks,
					.capacity = part->capacity,
					.skip = part->skip}};

	log_path(l, on_target, path, sizeof(path));
	unlink(path);
	place_injection(l, code, inject, sizeof(inject));
	run_task(l, &t, on_target, inject[0] ? inject : NULL);
	if (!l->said->logged && !l->note[0])
		snprintf(l->note, sizeof(l->note), "the kernel's values could not be logged on %s: %s",
			 on_target ? "the target" : "the interpreter",
			 l->said->why[0] ? l->said->why : "it was not launched");
	return l->said->logged && narrow_log_open(log, path, code, l->threads);
}

/* Whether the launch with the log gave what it gave without. */
static void check_reproduction(struct narrow_launch *l)
{
	uint64_t before = 0, now = 0;

	/* What it gave may not have been kept: of many launches, or by a replay that was interrupted. */
	if (l->note[0] || l->faults ||
	    !probe_element(l->s, l->t, l->process, l->call, 0, l->address, l->bytes, &before) ||
	    (probe_element(l->s, l->t, l->process, l->call, RUN_TARGET, l->address, l->bytes, &now) &&
	     before == now))
		return;
	snprintf(l->note, sizeof(l->note),
		 "with its values logged the kernel gives another result for this element");
}

static bool is_longer(const struct narrow_log *log, const struct ptx_instrumented *code)
{
	for (uint64_t k = 0; k < log->nthreads; k++)
		if (narrow_log_used(log, k) > (int64_t)(log->control.capacity - 4ull * code->max_words))
			return true;
	return false;
}

static void keep_best(struct narrow_launch *l, const struct narrow_finding *f, const struct part *part)
{
	if (f->how == NARROW_NOTHING || (l->best.how != NARROW_NOTHING && l->best.how <= f->how))
		return;
	l->best = *f;
	l->best_block = part->first_block + f->thread / l->threads;
	l->best_thread = f->thread % l->threads;
}

/* True: the end of the search. */
static bool search_part(struct narrow_launch *l, const struct ptx_instrumented *code, const struct part *part,
			const struct narrow_place *p, bool *longer)
{
	struct narrow_finding f = {0};
	struct narrow_log here, interp;
	struct diag d = DIAG_INIT;

	*longer = false;
	if (!make_log(l, code, part, true, &here))
		return true;
	check_reproduction(l);
	*longer = is_longer(&here, code);
	if (narrow_judge(l->s, l->m, &here, p, &f, &d))
		snprintf(l->note, sizeof(l->note), "its instructions could not be judged: %s", d.what);
	if (f.how == NARROW_NOTHING) {
		narrow_stored(&here, p, &f);
		narrow_atomics(&here, p, &f);
		if (make_log(l, code, part, false, &interp)) {
			narrow_memory(&here, &interp, p, &f);
			narrow_log_close(&interp);
		}
	}
	narrow_log_close(&here);
	keep_best(l, &f, part);
	return f.how == NARROW_INSTRUCTION || (f.how == NARROW_VALUES && f.note);
}

static uint64_t capacity_for(uint64_t threads, const struct ptx_instrumented *code, uint64_t most)
{
	uint64_t each = LOG_BYTES / threads, least = 16ull * code->max_words;

	each = each > most ? most : each;
	return (each > least ? each : least) & ~15ull;
}

/* A block, as long as its log goes on. */
static bool search_block(struct narrow_launch *l, const struct ptx_instrumented *code, uint64_t first,
			 uint64_t nblocks, uint64_t thread)
{
	struct part part = {.first_block = first,
			    .nblocks = nblocks,
			    .capacity = capacity_for(nblocks * l->threads, code, FIRST_BYTES)};
	struct narrow_place p = {.thread = thread, .threads = l->threads};
	bool longer = true;

	for (unsigned k = 0; k < MAX_PARTS && longer; k++) {
		if (search_part(l, code, &part, &p, &longer))
			return true;
		/* A record that didn't fit any more is the first of the next part. */
		part.skip += part.capacity - 4ull * code->max_words;
		part.capacity = capacity_for(nblocks * l->threads, code, THREAD_BYTES);
	}
	return false;
}

static void search(struct narrow_launch *l, const struct ptx_instrumented *code)
{
	const uint32_t *b = l->hit.block, *t = l->hit.thread;
	uint64_t block = b[0] + l->row.grid[0] * (b[1] + (uint64_t)l->row.grid[1] * b[2]);
	uint64_t thread = t[0] + l->row.block[0] * (t[1] + (uint64_t)l->row.block[1] * t[2]);
	uint64_t step = LOG_BYTES / (64 << 10) / l->threads; /* 64 KiB a thread */

	if (l->has_hit && search_block(l, code, block, 1, thread))
		return;
	if (l->has_hit && l->faults) /* each look costs a fault, or the time until a watchdog ends it */
		return;
	/* Others may have given it what it used. */
	for (unsigned k = 0; k < MAX_PARTS && k * (step ? step : 1) < l->blocks; k++) {
		uint64_t first = k * (step ? step : 1), n = l->blocks - first;

		if (search_block(l, code, first, n < step || !step ? (step ? n : 1) : step, UINT64_MAX))
			return;
	}
}

/* ---- the row --------------------------------------------------------------------------------------- */

static void place_text(const uint32_t *size, uint64_t linear, const char *what, char *out, size_t bytes)
{
	snprintf(out, bytes, "%s (%llu,%llu,%llu)", what, (unsigned long long)(linear % size[0]),
		 (unsigned long long)(linear / size[0] % size[1]),
		 (unsigned long long)(linear / size[0] / size[1]));
}

static void write_row(struct narrow_launch *l, sqlite3 *db, const char *const *columns, uint32_t line)
{
	sqlite3_stmt *st = NULL;

	sqlite3_prepare_v2(
		db,
		"UPDATE verdict SET wrong_line = ?, wrong_ptx = ?, wrong_source = ?, wrong_operands = "
		"?, wrong_want = ?, wrong_got = ?, wrong_thread = ?, wrong_how = ?, note = CASE WHEN ?9 "
		"IS NULL THEN note ELSE coalesce(note || '; ', '') || ?9 END WHERE pass = 1 AND process = "
		"?10 AND ((call = ?11 AND kind = 'written' AND grade = 'differs') OR (launch = ?11 AND kind = "
		"'fault' AND grade = 'fault'))",
		-1, &st, NULL);
	if (line)
		sqlite3_bind_int64(st, 1, line);
	for (int k = 0; k < 7; k++)
		if (columns[k] && columns[k][0])
			sqlite3_bind_text(st, k + 2, columns[k], -1, SQLITE_STATIC);
	if (l->note[0])
		sqlite3_bind_text(st, 9, l->note, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 10, l->process);
	sqlite3_bind_int64(st, 11, (sqlite3_int64)l->call);
	sqlite3_step(st);
	sqlite3_finalize(st);
}

static void untab(char *s)
{
	for (; *s; s++)
		if (*s == '\t')
			*s = ' ';
}

static void write_finding(struct narrow_launch *l, sqlite3 *db)
{
	static const char *const hows[] = {
		[NARROW_INSTRUCTION] = "instruction", [NARROW_VALUES] = "values", [NARROW_STORE] = "store"};
	const struct narrow_finding *f = &l->best;
	char ptx[200] = "", source[200] = "", operands[600] = "", want[200] = "", got[200] = "", thread[160],
	     block[80], in_block[80];
	struct narrow_record r = {.site = f->site, .words = f->got};

	ptx_line_text(l->m, f->site->line, ptx, sizeof(ptx));
	untab(ptx);
	ptx_inst_source(l->m, narrow_inst(f->site), source, sizeof(source));
	if (f->has_got)
		narrow_operands_text(&r, operands, sizeof(operands));
	if (f->has_got && f->has_want && f->result) {
		narrow_result_text(f->site, f->result, f->want, want, sizeof(want));
		narrow_result_text(f->site, f->result, f->got, got, sizeof(got));
	}
	place_text(l->row.grid, l->best_block, "block", block, sizeof(block));
	place_text(l->row.block, l->best_thread, "thread", in_block, sizeof(in_block));
	snprintf(thread, sizeof(thread), "%s %s", block, in_block);
	if (f->note && !l->note[0])
		snprintf(l->note, sizeof(l->note), "PTX line %u: %s", f->site->line, f->note);
	write_row(l, db,
		  (const char *const[]){ptx, source, operands, want, got, l->everywhere ? NULL : thread,
					hows[f->how]},
		  f->site->line);
}

/* Only who stored it. */
static void write_store(struct narrow_launch *l, sqlite3 *db)
{
	char thread[160];

	snprintf(thread, sizeof(thread), "block (%u,%u,%u) thread (%u,%u,%u)", l->hit.block[0],
		 l->hit.block[1], l->hit.block[2], l->hit.thread[0], l->hit.thread[1], l->hit.thread[2]);
	write_row(l, db,
		  (const char *const[]){l->hit.text, l->hit.source, NULL, NULL, NULL,
					l->has_hit ? thread : NULL, l->has_hit ? "store" : NULL},
		  l->has_hit ? l->hit.line : 0);
}

static void write_result(struct narrow_launch *l)
{
	struct result_db *db;
	struct diag d = DIAG_INIT;

	if (result_open(&db, l->s->result_path, false, &d))
		return;
	if (l->best.how != NARROW_NOTHING)
		write_finding(l, result_sqlite(db));
	else if (!l->faults)
		write_store(l, result_sqlite(db));
	result_close(db);
}

/* Our devices place variables where they were; one more would be in the way of those that come later. */
static uint64_t address_beyond(struct trace *t)
{
	sqlite3_stmt *st = NULL;
	uint64_t end = 0;

	sqlite3_prepare_v2(
		trace_db(t),
		"SELECT max(base + bytes) FROM allocation WHERE kind IN ('device', 'managed', 'vmm', 'global')",
		-1, &st, NULL);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		end = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return end ? (end | ((64u << 20) - 1)) + 1 : 0;
}

/* ---- one launch ---------------------------------------------------------------------------------------- */

/* The kernel's module as the trace has it. */
static bool load_kernel(struct narrow_launch *l)
{
	static const char sql[] =
		"WITH RECURSIVE up(module, depth) AS (SELECT module, 0 FROM kernel WHERE id = ?1 UNION SELECT "
		"m.parent, depth + 1 FROM up JOIN module m ON m.id = up.module WHERE m.parent IS NOT NULL AND depth < "
		"4) SELECT i.buffer, i.ptx FROM up JOIN module m ON m.id = up.module JOIN image i ON i.buffer = "
		"m.image WHERE i.ptx IS NOT NULL ORDER BY depth LIMIT 1";
	sqlite3_stmt *st = NULL;
	struct diag d = DIAG_INIT;
	uint64_t ptx = 0;
	size_t bytes = 0;
	char *text;

	sqlite3_prepare_v2(trace_db(l->t), sql, -1, &st, NULL);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)l->row.kernel);
	if (st && sqlite3_step(st) == SQLITE_ROW) {
		l->image = (uint64_t)sqlite3_column_int64(st, 0);
		ptx = (uint64_t)sqlite3_column_int64(st, 1);
	}
	sqlite3_finalize(st);
	text = ptx ? trace_buffer_load(l->t, ptx, &bytes, &d) : NULL;
	l->m = text ? ptx_module_parse(text, bytes, "recorded.ptx", &d) : NULL;
	free(text);
	l->f = l->m ? ptx_func_find(l->m, l->kernel->name) : NULL;
	return l->f && !ptx_func_build(l->m, l->f);
}

static bool stop_where_it_faults(void *ctx, struct ptx_site *s)
{
	const struct narrow_launch *l = ctx;

	for (unsigned k = 0; k < l->nstops; k++)
		s->stops |= s->line == l->stops[k];
	return true;
}

/* The launch with the log faulted at another line: threads end there, too. False: that is not the reason. */
static bool add_stop(struct narrow_launch *l, const struct ptx_instrumented *code)
{
	const uint32_t line = l->said->fault_line;

	for (uint32_t k = 0; l->faults && line && k < code->nsites && l->nstops < MAX_STOPS; k++)
		if (code->sites[k].new_line == line && !code->sites[k].stops) {
			l->stops[l->nstops++] = code->sites[k].line;
			l->note[0] = '\0';
			return true;
		}
	return false;
}

/* A log in the host's memory is there behind a fault, too; else, or where it tells nothing, threads end before it. */
static bool begin_to_stop(struct narrow_launch *l)
{
	if (!l->faults || l->nstops || !l->stops[0])
		return false;
	l->nstops = 1;
	l->note[0] = '\0';
	return true;
}

/* Where the log told nothing, or could not be read. */
static void look_at_places(struct narrow_launch *l, const struct ptx_instrumented *code)
{
	const struct ptx_site *site = NULL;

	if (l->best.how == NARROW_NOTHING)
		site = narrow_places(l->s, l->m, code, l->row.grid, l->row.block, l->place_note,
				     sizeof(l->place_note));
	if (!site)
		return;
	l->best = (struct narrow_finding){.how = NARROW_INSTRUCTION, .site = site, .note = l->place_note};
	l->everywhere = true;
	l->note[0] = '\0';
}

static void narrow_code(struct narrow_launch *l)
{
	struct ptx_instrumented code;
	struct diag d = DIAG_INIT;
	bool again;

	do {
		if (ptx_instrument(l->m, l->f, stop_where_it_faults, l, &code, &d)) {
			snprintf(l->note, sizeof(l->note), "the kernel's values can't be logged: %s", d.what);
			write_result(l);
			return;
		}
		search(l, &code);
		again = l->best.how == NARROW_NOTHING && (begin_to_stop(l) || add_stop(l, &code));
		if (!again) {
			look_at_places(l, &code);
			write_result(l);
		}
		ptx_instrumented_free(&code);
	} while (again);
}

static void narrow_one(struct narrow_launch *l)
{
	if (!l->faults)
		find_who_stored(l);
	if (load_kernel(l)) {
		narrow_code(l);
		return;
	}
	snprintf(l->note, sizeof(l->note), "the trace has no PTX of the kernel");
	write_result(l);
}

static bool open_launch(struct narrow_launch *l)
{
	if (trace_launch_get(l->t, l->call, &l->row) || !l->row.kernel)
		return false;
	l->kernel = trace_kernel(l->t, l->row.kernel);
	l->beyond = address_beyond(l->t);
	l->threads = (uint64_t)l->row.block[0] * l->row.block[1] * l->row.block[2];
	l->blocks = (uint64_t)l->row.grid[0] * l->row.grid[1] * l->row.grid[2];
	return l->kernel && l->threads && l->threads <= 1024 && l->blocks;
}

/* ---- which launches -------------------------------------------------------------------------------------- */

struct chosen {
	uint32_t process;
	uint64_t call, address;
	unsigned bytes;
	uint32_t line; /* at which it faults */
	struct extension_hit hit;
	bool has_hit;
};

static bool read_triple(sqlite3_stmt *st, int column, uint32_t out[3])
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return text && sscanf(text, "%u,%u,%u", &out[0], &out[1], &out[2]) == 3;
}

static unsigned choose(struct session *s, const char *sql,
		       void (*read_row)(sqlite3_stmt *st, struct chosen *c), struct chosen *out, unsigned max)
{
	struct result_db *db;
	sqlite3_stmt *st = NULL;
	unsigned n = 0;

	if (result_open(&db, s->result_path, false, &s->error))
		return 0;
	sqlite3_prepare_v2(result_sqlite(db), sql, -1, &st, NULL);
	sqlite3_bind_int64(st, 1, max);
	while (st && n < max && sqlite3_step(st) == SQLITE_ROW) {
		out[n] = (struct chosen){.process = (uint32_t)sqlite3_column_int64(st, 0),
					 .call = (uint64_t)sqlite3_column_int64(st, 1)};
		read_row(st, &out[n++]);
	}
	sqlite3_finalize(st);
	result_close(db);
	return n;
}

/* The first ones, each with the first element that is wrong. */
static const char differing[] =
	"SELECT process, call, address, elem_type, min(id) FROM verdict WHERE pass = 1 AND kind = "
	"'written' AND grade = 'differs' AND address IS NOT NULL GROUP BY process, call ORDER BY "
	"process, call LIMIT ?";

static void read_differing(sqlite3_stmt *st, struct chosen *c)
{
	c->address = (uint64_t)sqlite3_column_int64(st, 2);
	c->bytes = elem_type_find((const char *)sqlite3_column_text(st, 3))->bytes;
}

/* Launches that fault, where the driver said at which line. */
static const char faulting[] =
	"SELECT process, launch, line, block, thread FROM verdict WHERE pass = 1 AND kind = 'fault' "
	"AND grade = 'fault' AND launch > 0 AND line > 0 GROUP BY process, launch ORDER BY process, "
	"launch LIMIT ?";

static void read_faulting(sqlite3_stmt *st, struct chosen *c)
{
	c->line = (uint32_t)sqlite3_column_int64(st, 2);
	c->has_hit = read_triple(st, 3, c->hit.block) && read_triple(st, 4, c->hit.thread);
}

static void narrow_chosen(struct session *s, struct trace *t, const struct chosen *c,
			  struct narrow_said *said)
{
	struct narrow_launch l = {.s = s,
				  .t = t,
				  .process = c->process,
				  .call = c->call,
				  .address = c->address,
				  .bytes = c->bytes,
				  .faults = c->line != 0,
				  .stops = {c->line},
				  .hit = c->hit,
				  .has_hit = c->has_hit,
				  .said = said};

	if (open_launch(&l))
		narrow_one(&l);
	if (l.m)
		ptx_module_free(l.m);
}

int narrow_differences(struct session *s)
{
	struct chosen *c = calloc(2 * s->opt->narrow + 1, sizeof(*c));
	struct narrow_said *said =
		mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned n = c ? choose(s, differing, read_differing, c, s->opt->narrow) : 0;
	struct trace *t = NULL;
	int rc;

	n += c ? choose(s, faulting, read_faulting, c + n, s->opt->narrow) : 0;
	rc = n && said != MAP_FAILED ? trace_open(&t, s->opt->trace_path, &s->error) : 0;

	progress_begin(&s->progress, "looking for the first wrong line");
	for (unsigned k = 0; k < n && t && !interrupted(s); k++)
		narrow_chosen(s, t, &c[k], said);
	if (t)
		trace_close(t);
	if (said != MAP_FAILED)
		munmap(said, sizeof(*said));
	free(c);
	return rc;
}
