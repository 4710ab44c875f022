/* SPDX-License-Identifier: Apache-2.0
 *
 * Which thread of one trace does what which thread of the other does. The first threads of the n-th processes are a
 * pair; of the others, those whose profiles (how often which function, which kernel, what contents) are nearest, in order of
 * appearance where several are alike.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "diff/side.h"

enum { BUCKETS = 256, UNPAIRED = UINT32_MAX };

struct profile {
	uint32_t thread, process; /* process: ordinal in its trace */
	bool first;               /* of its process */
	uint32_t count[BUCKETS];
};

struct profiles {
	struct profile *v;
	unsigned n;
};

static unsigned bucket(const char *text)
{
	uint32_t h = 2166136261u;

	for (; text && *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return (h ^ h >> 16) % BUCKETS;
}

/* Rows of (thread, text, count). */
static const char *const profile_sql[] = {
	"SELECT thread, function.name, count(*) FROM call, function WHERE function.id = func GROUP BY 1, 2",
	"SELECT thread, 'k' || kernel.name || gx || 'x' || gy, count(*) FROM launch, call, kernel "
	"WHERE call.id = launch.call AND kernel.id = launch.kernel GROUP BY 1, 2",
	"SELECT thread, hex(buffer.hash), count(*) FROM payload, call, buffer "
	"WHERE call.id = payload.call AND buffer.id = payload.buffer GROUP BY 1, 2",
};

static int count_rows(struct side *side, const char *sql, struct profiles *p, const uint32_t *index,
		      struct diag *d)
{
	sqlite3 *db = trace_db(side->trace);
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

	while (s && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t thread = (uint64_t)sqlite3_column_int64(s, 0);

		if (thread < side->nthreads && index[thread] != UNPAIRED)
			p->v[index[thread]].count[bucket((const char *)sqlite3_column_text(s, 1))] +=
				(uint32_t)sqlite3_column_int64(s, 2);
	}
	if (rc != SQLITE_DONE)
		diag_set(d, CUTRACE_ECORRUPT, side->path, "what its threads do can't be counted: %s",
			 sqlite3_errmsg(db));
	sqlite3_finalize(s);
	return rc == SQLITE_DONE ? 0 : CUTRACE_ECORRUPT;
}

static int profiles_make(struct side *s, struct profiles *p, struct diag *d)
{
	const struct trace_thread *threads = trace_threads(s->trace, &p->n);
	uint32_t *index = malloc((s->nthreads + 1) * sizeof(*index));
	int rc = 0;

	p->v = calloc(p->n + 1, sizeof(*p->v));
	if (!index || !p->v) {
		free(index);
		return diag_set(d, CUTRACE_ENOMEM, s->path, "out of memory");
	}
	memset(index, 0xff, (s->nthreads + 1) * sizeof(*index));
	for (unsigned i = 0; i < p->n; i++) {
		p->v[i].thread = threads[i].id;
		p->v[i].first = true;
		p->v[i].process = threads[i].process;
		for (unsigned k = 0; k < i; k++)
			p->v[i].first &= threads[k].process != threads[i].process;
		index[threads[i].id] = i;
	}
	for (size_t k = 0; k < sizeof(profile_sql) / sizeof(profile_sql[0]) && !rc; k++)
		rc = count_rows(s, profile_sql[k], p, index, d);
	free(index);
	return rc;
}

static uint64_t distance(const struct profile *a, const struct profile *b)
{
	uint64_t sum = a->process == b->process ? 0 : 1;

	for (unsigned k = 0; k < BUCKETS; k++)
		sum += a->count[k] > b->count[k] ? a->count[k] - b->count[k] : b->count[k] - a->count[k];
	return sum;
}

/* The thread of b without a role that is nearest; NULL: none is left. */
static const struct profile *nearest(const struct profile *a, const struct profiles *b, const uint32_t *roles)
{
	const struct profile *best = NULL;
	uint64_t least = UINT64_MAX;

	for (unsigned k = 0; k < b->n; k++) {
		uint64_t x;

		if (roles[b->v[k].thread] != UNPAIRED || a->first != b->v[k].first)
			continue;
		if (a->first && a->process != b->v[k].process)
			continue;
		if ((x = distance(a, &b->v[k])) < least) {
			least = x;
			best = &b->v[k];
		}
	}
	return best;
}

/* A replay has one thread for all of a process: the threads of the n-th processes that made calls are one role. */
static unsigned pair_processes(struct side *s)
{
	sqlite3_stmt *st = NULL;
	unsigned roles = 0;
	int64_t process = -1;

	memset(s->roles, 0, s->nthreads * sizeof(*s->roles));
	sqlite3_prepare_v2(
		trace_db(s->trace),
		"SELECT t.process, t.id FROM thread t WHERE EXISTS (SELECT 1 FROM call c WHERE c.thread = "
		"t.id) ORDER BY 1, 2",
		-1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		int64_t thread = sqlite3_column_int64(st, 1);

		roles += sqlite3_column_int64(st, 0) != process;
		process = sqlite3_column_int64(st, 0);
		if (thread >= 0 && thread < s->nthreads)
			s->roles[thread] = roles - 1;
	}
	sqlite3_finalize(st);
	return roles;
}

int sides_pair(struct side *a, struct side *b, unsigned *nroles, struct diag *d)
{
	struct profiles pa = {0}, pb = {0};
	unsigned roles = 0;
	int rc;

	if (a->loose) {
		unsigned na = pair_processes(a), nb = pair_processes(b);

		*nroles = na > nb ? na : nb;
		*nroles += !*nroles;
		return 0;
	}
	rc = profiles_make(a, &pa, d);

	if (!rc)
		rc = profiles_make(b, &pb, d);
	if (!rc) {
		memset(b->roles, 0xff, b->nthreads * sizeof(*b->roles));
		for (unsigned i = 0; i < pa.n; i++) {
			const struct profile *p = nearest(&pa.v[i], &pb, b->roles);

			if (p)
				b->roles[p->thread] = roles;
			a->roles[pa.v[i].thread] = roles++;
		}
		for (unsigned k = 0; k < pb.n; k++)
			if (b->roles[pb.v[k].thread] == UNPAIRED)
				b->roles[pb.v[k].thread] = roles++;
		roles += !roles; /* traces without a thread */
	}
	free(pa.v);
	free(pb.v);
	*nroles = roles;
	return rc;
}
