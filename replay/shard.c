/* SPDX-License-Identifier: Apache-2.0
 *
 * A shard is a range of a process's calls with as many launches as the others have. It makes and judges the launches
 * of its range; for those before it, what they wrote stands in, and nothing behind it is replayed. A search for the
 * line that stored an element is a shard of one launch.
 */
#include <sqlite3.h>

#include "replay/engine.h"

static int64_t ask(struct engine *e, const char *sql, uint64_t offset)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	if (sqlite3_prepare_v2(trace_db(e->trace), sql, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, e->process);
		if (sqlite3_bind_parameter_count(st) > 1)
			sqlite3_bind_int64(st, 2, (sqlite3_int64)offset);
		if (sqlite3_step(st) == SQLITE_ROW)
			n = sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	return n;
}

#define LAUNCHES                                                     \
	"FROM launch, call, thread WHERE call.id = launch.call AND " \
	"thread.id = call.thread AND thread.process = ?1"

/* The call at which shard k of n begins. */
static uint64_t first_call(struct engine *e, unsigned k, unsigned n, int64_t launches)
{
	if (k == 0)
		return 0;
	if (k == n)
		return UINT64_MAX;
	int64_t call = ask(e, "SELECT launch.call " LAUNCHES " ORDER BY launch.call LIMIT 1 OFFSET ?2",
			   (uint64_t)launches * k / n);
	return call < 0 ? UINT64_MAX : (uint64_t)call;
}

int shard_plan(struct engine *e, struct diag *d)
{
	unsigned n = e->opt->shards;
	int64_t launches;

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
	if (e->opt->last_launch) {
		e->shard_first = e->opt->first_launch;
		e->shard_end = e->opt->last_launch < UINT64_MAX ? e->opt->last_launch + 1 : UINT64_MAX;
		return 0;
	}
	if (!n)
		return 0;
	launches = ask(e, "SELECT count(*) " LAUNCHES, 0);
	if (launches < 0)
		return diag_set(d, CUTRACE_ECORRUPT, e->opt->trace_path, "its launches can't be counted");
	e->shard_first = first_call(e, e->opt->shard, n, launches);
	e->shard_end = first_call(e, e->opt->shard + 1, n, launches);
	return 0;
}

bool shard_has(const struct engine *e, uint64_t call)
{
	if (e->probe_calls)
		return map_get(e->probe_calls, call, NULL);
	return call >= e->shard_first && call < e->shard_end;
}
