/* SPDX-License-Identifier: Apache-2.0
 *
 * A shard is a range of a process's calls with as many launches as the others have. It makes and judges the launches
 * of its range; for those before it, what they wrote stands in, and nothing behind it is replayed. A search for the
 * line that stored an element is a shard of one launch.
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "replay/engine.h"

/* -1 in *n: there is no row. */
static int ask(struct engine *e, const char *sql, uint64_t offset, int64_t *n, struct diag *d)
{
	sqlite3 *db = trace_db(e->trace);
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	*n = -1;
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, e->process);
		if (sqlite3_bind_parameter_count(st) > 1)
			sqlite3_bind_int64(st, 2, (sqlite3_int64)offset);
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW)
			*n = sqlite3_column_int64(st, 0);
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		diag_set(d, CUTRACE_ECORRUPT, e->opt->trace_path, "its launches can't be counted: %s",
			 sqlite3_errmsg(db));
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : CUTRACE_ECORRUPT;
}

#define LAUNCHES                                                     \
	"FROM launch, call, thread WHERE call.id = launch.call AND " \
	"thread.id = call.thread AND thread.process = ?1"

/* The call at which shard k of n begins. */
static int first_call(struct engine *e, unsigned k, int64_t launches, uint64_t *first, struct diag *d)
{
	unsigned n = e->opt->shards;
	int64_t call = -1;
	int rc = 0;

	*first = 0;
	if (k == 0)
		return 0;
	if (k < n)
		rc = ask(e, "SELECT launch.call " LAUNCHES " ORDER BY launch.call LIMIT 1 OFFSET ?2",
			 (uint64_t)launches * k / n, &call, d);
	*first = call < 0 ? UINT64_MAX : (uint64_t)call;
	return rc;
}

static int plan_range(struct engine *e, struct diag *d)
{
	int64_t launches;
	int rc;

	e->shard_end = UINT64_MAX;
	if (e->probe_calls) {
		e->shard_end = 0;
		for (size_t k = 0; k < e->probe_calls->size; k++)
			if (e->probe_calls->slots[k].used && e->probe_calls->slots[k].key >= e->shard_end)
				e->shard_end = e->probe_calls->slots[k].key + 1;
		return 0;
	}
	if (e->opt->isolated && e->blame) {
		e->shard_first = e->blame->launch;
		return 0;
	}
	if (e->opt->excerpt && !e->opt->excerpt_remake) { /* none is made, and none behind it is looked at */
		e->shard_first = e->shard_end =
			e->opt->last_launch < UINT64_MAX ? e->opt->last_launch + 1 : UINT64_MAX;
		return 0;
	}
	if (e->opt->last_launch && !e->opt->excerpt) {
		e->shard_first = e->opt->first_launch;
		e->shard_end = e->opt->last_launch < UINT64_MAX ? e->opt->last_launch + 1 : UINT64_MAX;
		return 0;
	}
	if (!e->opt->shards)
		return 0;
	rc = ask(e, "SELECT count(*) " LAUNCHES, 0, &launches, d);
	if (!rc)
		rc = first_call(e, e->opt->shard, launches, &e->shard_first, d);
	if (!rc)
		rc = first_call(e, e->opt->shard + 1, launches, &e->shard_end, d);
	return rc;
}

/* The newest keyframe that the first launch that is wanted can begin with. */
static int plan_keyframe(struct engine *e, struct diag *d)
{
	uint64_t first = e->opt->excerpt ? e->opt->first_launch : e->shard_first;
	int64_t call = 0;
	int rc =
		!first || first > INT64_MAX || e->probe_calls
			? 0
			: ask(e,
			      "SELECT max(p.call) FROM payload p, call, thread WHERE p.kind = 'keyframe' AND call.id = p.call AND "
			      "thread.id = call.thread AND thread.process = ?1 AND p.call <= ?2",
			      first, &call, d);

	e->keyframe = e->next_keyframe = call > 0 ? (uint64_t)call : 0;
	if (!e->keyframe && trace_meta_int(e->trace, "ranged", 0))
		e->next_keyframe = shard_keyframe_behind(e, 0);
	return rc;
}

/* Of what was recorded in ranges, each begins with what memory was then: what came between is not in the trace. */
uint64_t shard_keyframe_behind(struct engine *e, uint64_t call)
{
	struct diag d = DIAG_INIT;
	int64_t next = 0;

	if (!trace_meta_int(e->trace, "ranged", 0) || call > INT64_MAX ||
	    ask(e,
		"SELECT min(p.call) FROM payload p, call, thread WHERE p.kind = 'keyframe' AND call.id = p.call AND "
		"thread.id = call.thread AND thread.process = ?1 AND p.call > ?2",
		call, &next, &d))
		return 0;
	return next > 0 ? (uint64_t)next : 0;
}

int shard_plan(struct engine *e, struct diag *d)
{
	int rc = plan_range(e, d);

	return rc ? rc : plan_keyframe(e, d);
}

bool shard_has(const struct engine *e, uint64_t call)
{
	if (e->probe_calls)
		return map_get(e->probe_calls, call, NULL);
	if (call < e->shard_first || call >= e->shard_end)
		return false;
	return !e->ledger || ledger_take(e->ledger, e->process, call, e->worker);
}

/* ---- what is done --------------------------------------------------------------------- */

bool shard_reaches(const struct engine *e, uint64_t call)
{
	return e->ledger && (!e->chunk || call >= e->chunk->end || call < e->chunk->first);
}

/* A blocking call that still waits for its turn keeps its chunk open. */
static void settle(struct engine *e, uint64_t waiting)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->nunsettled; i++) {
		struct ledger_range *r = &e->unsettled[i];

		if (r->end <= waiting)
			result_done(e->out, r->first, r->end);
		else
			e->unsettled[kept++] = *r;
	}
	e->nunsettled = kept;
}

/* What can't be noted will be judged again, should this replay be gone on with. */
static void leave_chunk(struct engine *e)
{
	struct ledger_range *v;

	if (!e->chunk || !shard_has(e, e->chunk->first > e->shard_first ? e->chunk->first : e->shard_first))
		return;
	v = realloc(e->unsettled, (e->nunsettled + 1) * sizeof(*v));
	if (!v)
		return;
	e->unsettled = v;
	v[e->nunsettled++] = *e->chunk;
}

bool shard_enter(struct engine *e, uint64_t call, uint64_t waiting)
{
	leave_chunk(e);
	if (e->nunsettled) {
		transfers_drain(e);
		engine_write_counts(e);
		settle(e, waiting);
	}
	e->chunk = ledger_chunk(e->ledger, e->process, call);
	return ledger_is_over(e->ledger, e->process, call, e->worker);
}

void shard_settle(struct engine *e, uint64_t before)
{
	if (!e->ledger)
		return;
	leave_chunk(e);
	e->chunk = NULL;
	for (size_t i = 0; i < e->nunsettled; i++)
		if (e->unsettled[i].end > before)
			e->unsettled[i].end = before;
	engine_write_counts(e);
	settle(e, UINT64_MAX);
}
