/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/ledger.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_CHUNK  256 /* launches */
#define MIN_CHUNKS 64  /* where there are launches enough: a few for each process at the end */

#define LAUNCHES                                                     \
	"FROM launch, call, thread WHERE call.id = launch.call AND " \
	"thread.id = call.thread AND thread.process = ?1 AND launch.call >= ?2 AND launch.call < ?3"

static int before(const void *x, const void *y)
{
	const struct ledger_range *a = x, *b = y;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* The last range that does not begin behind the call; NULL. */
static const struct ledger_range *find(const struct ledger_range *v, size_t n, uint32_t process,
				       uint64_t call)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (v[mid].process < process || (v[mid].process == process && v[mid].first <= call))
			low = mid + 1;
		else
			high = mid;
	}
	return low && v[low - 1].process == process ? &v[low - 1] : NULL;
}

static bool is_done(const struct ledger *l, uint32_t process, uint64_t call)
{
	const struct ledger_range *r = find(l->done, l->ndone, process, call);

	return r && call < r->end;
}

/* ---- the plan ----------------------------------------------------------------------------- */

static int failed(const struct ledger_plan *p, struct diag *d)
{
	return diag_set(d, CUTRACE_ECORRUPT, p->trace_path, "its launches can't be counted: %s",
			sqlite3_errmsg(p->trace));
}

static sqlite3_stmt *ask(const struct ledger_plan *p, const char *sql, uint32_t process)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(p->trace, sql, -1, &st, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_int64(st, 1, process);
	sqlite3_bind_int64(st, 2, p->first > INT64_MAX ? INT64_MAX : (sqlite3_int64)p->first);
	sqlite3_bind_int64(st, 3, p->end > INT64_MAX ? INT64_MAX : (sqlite3_int64)p->end);
	return st;
}

static int count_launches(const struct ledger_plan *p, uint32_t process, uint64_t *n, struct diag *d)
{
	sqlite3_stmt *st = ask(p, "SELECT count(*) " LAUNCHES, process);
	int rc = st && sqlite3_step(st) == SQLITE_ROW ? 0 : failed(p, d);

	*n = rc ? 0 : (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc;
}

static int add_chunk(struct ledger *l, uint32_t process, uint64_t first)
{
	struct ledger_range *v = l->chunks;

	if (!(l->nchunks & (l->nchunks + 1))) { /* grows at 0, 1, 3, 7, ... */
		v = realloc(v, (2 * l->nchunks + 2) * sizeof(*v));
		if (!v)
			return CUTRACE_ENOMEM;
		l->chunks = v;
	}
	v[l->nchunks++] = (struct ledger_range){process, first, UINT64_MAX};
	return 0;
}

/* Its launches from the a-th to before the b-th; what of them is done already takes no part. */
static int plan_process(struct ledger *l, const struct ledger_plan *p, uint32_t process, uint64_t a,
			uint64_t b, struct diag *d)
{
	uint64_t size = (b - a + MIN_CHUNKS - 1) / MIN_CHUNKS, k = 0;
	sqlite3_stmt *st = ask(p, "SELECT launch.call " LAUNCHES " ORDER BY launch.call", process);
	size_t mine = l->nchunks;
	int rc = st ? 0 : failed(p, d), step = SQLITE_DONE;

	if (!p->share && !l->ndone) {
		l->launches += b - a;
		b = 0;
	}
	size = !size ? 1 : size > MAX_CHUNK ? MAX_CHUNK : size;
	while (!rc && k < b && (step = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t call = (uint64_t)sqlite3_column_int64(st, 0);

		if (k++ < a)
			continue;
		if (is_done(l, process, call))
			l->launches_done++;
		else
			l->launches++;
		if (p->share && (k - 1 - a) % size == 0)
			rc = add_chunk(l, process, call);
	}
	if (!rc && step != SQLITE_ROW && step != SQLITE_DONE)
		rc = failed(p, d);
	sqlite3_finalize(st);
	/* Copies before the first launch and behind the last one are somebody's, too. */
	for (size_t i = mine; i + 1 < l->nchunks; i++)
		l->chunks[i].end = l->chunks[i + 1].first;
	if (l->nchunks > mine && !a)
		l->chunks[mine].first = 0;
	else if (!rc && p->share && !a)
		rc = add_chunk(l, process, 0);
	return rc;
}

static int make_board(struct ledger *l, struct diag *d)
{
	l->board_bytes = sizeof(*l->board) + l->nchunks * sizeof(l->board->owner[0]);
	l->board = mmap(NULL, l->board_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l->board != MAP_FAILED)
		return 0;
	l->board = NULL;
	return diag_set(d, CUTRACE_ENOMEM, "", "no memory for the processes of the replay to share");
}

int ledger_make(struct ledger *l, const struct ledger_plan *p, struct diag *d)
{
	int rc = 0;

	*l = (struct ledger){.done = p->done, .ndone = p->ndone};
	if (l->ndone)
		qsort(l->done, l->ndone, sizeof(*l->done), before);
	for (unsigned i = 0; i < p->nprocesses && !rc; i++) {
		uint64_t n, a = 0, b;

		rc = count_launches(p, p->processes[i], &n, d);
		b = n;
		if (p->shards) {
			a = n * p->shard / p->shards;
			b = n * (p->shard + 1) / p->shards;
		}
		if (!rc)
			rc = plan_process(l, p, p->processes[i], a, b, d);
	}
	return rc ? rc : make_board(l, d);
}

void ledger_free(struct ledger *l)
{
	if (l->board)
		munmap(l->board, l->board_bytes);
	free(l->chunks);
	free(l->done);
	memset(l, 0, sizeof(*l));
}

/* ---- who judges what ------------------------------------------------------------------------ */

const struct ledger_range *ledger_chunk(const struct ledger *l, uint32_t process, uint64_t call)
{
	return find(l->chunks, l->nchunks, process, call);
}

bool ledger_take(const struct ledger *l, uint32_t process, uint64_t call, unsigned worker)
{
	const struct ledger_range *c = ledger_chunk(l, process, call);
	uint32_t nobody = 0;

	if (!c || call >= c->end || is_done(l, process, call))
		return false;
	return atomic_compare_exchange_strong(&l->board->owner[c - l->chunks], &nobody, worker) ||
	       nobody == worker;
}

bool ledger_is_over(const struct ledger *l, uint32_t process, uint64_t call, unsigned worker)
{
	const struct ledger_range *c = ledger_chunk(l, process, call);
	size_t i = c ? (size_t)(c - l->chunks) : 0;

	for (; i < l->nchunks && l->chunks[i].process <= process; i++) {
		uint32_t owner = atomic_load(&l->board->owner[i]);

		if (l->chunks[i].process == process && (!owner || owner == worker))
			return false;
	}
	return true;
}
