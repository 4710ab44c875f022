/* SPDX-License-Identifier: Apache-2.0
 *
 * The search in one launch: who stored the element, what that block did on the target and on the interpreter, part by part of
 * the log, and which instruction was the first that gave something wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/narrow_search.h"

#define LOG_BYTES    (96ull << 20) /* of one run */
#define THREAD_BYTES (4ull << 20)  /* of one thread, at most */
#define FIRST_BYTES  (64ull << 10) /* of one thread, at first */
#define MAX_PARTS    6             /* of a log, one after the other; of a grid likewise */
#define LEGAL_PARTS  2             /* where nothing says that anything is wrong */
#define MAX_LISTED   6             /* PTX lines in a note */
#define RUN_TARGET   1000          /* what the launch with a log wrote, beside the runs of the envelope */
#define OTHER_RESULT "with its values logged the kernel gives another result for this element"

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
	snprintf(out, size, "%s/log.%u.%llu.%s", l->s->probe_folder, l->process, (unsigned long long)l->call,
		 on_target ? "target" : "interp");
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
	if (l->note[0] || l->faults || l->legal ||
	    !probe_element(l->s, l->t, l->process, l->call, 0, l->address, l->bytes, &before) ||
	    (probe_element(l->s, l->t, l->process, l->call, RUN_TARGET, l->address, l->bytes, &now) &&
	     before == now))
		return;
	l->other_result = true;
	snprintf(l->note, sizeof(l->note), OTHER_RESULT);
}

static bool is_longer(const struct narrow_log *log)
{
	uint64_t k = 0;

	while (k < log->nthreads && !narrow_log_is_cut(log, k))
		k++;
	return k < log->nthreads;
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
	struct narrow_finding f = {0}, by_barrier = {0};
	struct narrow_log here, interp;
	struct diag d = DIAG_INIT;
	bool barrier;

	*longer = false;
	if (!make_log(l, code, part, true, &here))
		return true;
	check_reproduction(l);
	*longer = is_longer(&here);
	if (narrow_judge(l->s, l->m, &here, p, &f, &d))
		snprintf(l->note, sizeof(l->note), "its instructions could not be judged: %s", d.what);
	if (f.how == NARROW_NOTHING && !l->legal) {
		narrow_stored(&here, p, &f);
		narrow_atomics(&here, p, &f);
		barrier = (f.how == NARROW_NOTHING || narrow_stored_rarely(&here, f.site)) &&
			  narrow_barriers(&here, p, &by_barrier);
		if (barrier)
			f = by_barrier;
		if (!barrier && make_log(l, code, part, false, &interp)) {
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
	struct narrow_place p = {
		.thread = thread, .threads = l->threads, .exact = l->legal, .whole = nblocks == l->blocks};
	bool longer = true;

	for (unsigned k = 0; k < (l->legal ? LEGAL_PARTS : MAX_PARTS) && longer; k++) {
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
	/* Each look at a fault costs one, or the time until a watchdog ends it. */
	if (l->legal || (l->has_hit && l->faults))
		return;
	/* Others may have given it what it used. */
	for (unsigned k = 0; k < MAX_PARTS && k * (step ? step : 1) < l->blocks; k++) {
		uint64_t first = k * (step ? step : 1), n = l->blocks - first;

		if (search_block(l, code, first, n < step || !step ? (step ? n : 1) : step, UINT64_MAX))
			return;
	}
}
/* ---- launches that fault ------------------------------------------------------------------------------ */

static bool is_logged(void *ctx, struct ptx_site *s)
{
	struct narrow_launch *l = ctx;

	for (unsigned k = 0; k < l->nstops; k++)
		s->stops |= s->line == l->stops[k];
	if (l->spares)
		l->any_spared |= narrow_spare(s);
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

/* ---- launches whose fault the log hides ------------------------------------------------------------------ */

static bool begin_to_spare(struct narrow_launch *l)
{
	if (!l->other_result || l->spares)
		return false;
	l->spares = true;
	l->note[0] = '\0';
	return true;
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

/* Where the log told nothing, or could not be read. */
static void look_at_places(struct narrow_launch *l, const struct ptx_instrumented *code)
{
	const struct ptx_site *site = NULL;

	if (l->best.how == NARROW_NOTHING && !l->legal)
		site = narrow_places(l->s, l->m, code, l->row.grid, l->row.block, l->place_note,
				     sizeof(l->place_note));
	if (!site)
		return;
	l->best = (struct narrow_finding){.how = NARROW_INSTRUCTION, .site = site, .note = l->place_note};
	l->everywhere = true;
	l->note[0] = '\0';
}

/* "; its barriers: PTX lines 92, 125" */
static void list_lines(struct narrow_launch *l, const struct ptx_instrumented *code, const char *what,
		       bool (*fn)(const struct ptx_site *s))
{
	size_t used = strlen(l->note);
	unsigned n = 0;

	for (uint32_t k = 0; k < code->nsites && used < sizeof(l->note); k++) {
		if (!fn(&code->sites[k]))
			continue;
		if (++n > MAX_LISTED)
			break;
		used += (size_t)snprintf(l->note + used, sizeof(l->note) - used,
					 n == 1 ? "; %s: PTX line %u" : "%s, %u", n == 1 ? what : "",
					 code->sites[k].line);
	}
	if (n > MAX_LISTED && used < sizeof(l->note))
		snprintf(l->note + used, sizeof(l->note) - used, ", ...");
}

static bool is_barrier(const struct ptx_site *s)
{
	return s->kind == PTX_SITE_BARRIER;
}

static bool is_sum_of_products(const struct ptx_site *s)
{
	const uint16_t op = narrow_inst(s)->op;

	return s->is_partial && (op == PTX_OP_ADD || op == PTX_OP_SUB);
}

/* What depends on what stands beside it, as a log does. */
static void note_candidates(struct narrow_launch *l, const struct ptx_instrumented *code)
{
	if (l->best.how != NARROW_NOTHING || !l->other_result)
		return;
	snprintf(l->note, sizeof(l->note), OTHER_RESULT);
	list_lines(l, code, "what may depend on that: its barriers", is_barrier);
	list_lines(l, code, "products in sums", is_sum_of_products);
}

static void narrow_code(struct narrow_launch *l)
{
	struct ptx_instrumented code;
	struct diag d = DIAG_INIT;
	bool again;

	do {
		if (ptx_instrument(l->m, l->f, is_logged, l, &code, &d)) {
			snprintf(l->note, sizeof(l->note), "the kernel's values can't be logged: %s", d.what);
			narrow_write(l);
			return;
		}
		search(l, &code);
		again = l->best.how == NARROW_NOTHING &&
			(begin_to_stop(l) || add_stop(l, &code) || begin_to_spare(l));
		if (!again) {
			look_at_places(l, &code);
			note_candidates(l, &code);
			narrow_write(l);
		}
		ptx_instrumented_free(&code);
	} while (again);
}

void narrow_search(struct narrow_launch *l)
{
	if (!l->faults)
		find_who_stored(l);
	if (l->f) {
		narrow_code(l);
		return;
	}
	snprintf(l->note, sizeof(l->note), "the trace has no PTX of the kernel");
	narrow_write(l);
}
