/* SPDX-License-Identifier: Apache-2.0
 *
 * The launches whose results are outside of what is legal, one after the other.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "replay/narrow_search.h"

/* ---- one launch ---------------------------------------------------------------------------------------- */

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

/* The kernel's module as the trace has it. */
static void load_kernel(struct narrow_launch *l)
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
	if (l->f && ptx_func_build(l->m, l->f))
		l->f = NULL;
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
	bool legal;
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

/* Of each kernel the first one of which the results may be legal, since products of matrices, approximations, atomics leave
 * much open. */
static const char legal[] =
	"SELECT process, call, address, elem_type, min(id) FROM verdict WHERE pass = 1 AND kind = 'written' AND grade IN "
	"('inside', 'chaotic') AND address IS NOT NULL AND elem_type IN ('f16', 'bf16', 'f32', 'f64') GROUP BY kernel_name "
	"ORDER BY process, call LIMIT ?";

static void read_legal(sqlite3_stmt *st, struct chosen *c)
{
	read_differing(st, c);
	c->legal = true;
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
				  .legal = c->legal,
				  .stops = {c->line},
				  .hit = c->hit,
				  .has_hit = c->has_hit,
				  .said = said};

	if (open_launch(&l)) {
		load_kernel(&l);
		narrow_search(&l);
	}
	if (l.m)
		ptx_module_free(l.m);
}

/* With a trace of its own: it may be in a process of its own. */
static void narrow_one(struct session *s, unsigned k, void *ctx)
{
	const struct chosen *c = ctx;
	struct narrow_said *said =
		mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct diag d = DIAG_INIT;
	struct trace *t;

	if (said == MAP_FAILED)
		return;
	if (!trace_open(&t, s->opt->trace_path, &d)) {
		narrow_chosen(s, t, &c[k], said);
		trace_close(t);
	}
	munmap(said, sizeof(*said));
}

int narrow_differences(struct session *s)
{
	struct chosen *c = calloc(3 * s->opt->narrow + 1, sizeof(*c));
	unsigned n = 0;

	if (!c)
		return diag_set(&s->error, CUTRACE_ENOMEM, "", "out of memory");
	n += choose(s, differing, read_differing, c, s->opt->narrow);
	n += choose(s, faulting, read_faulting, c + n, s->opt->narrow);
	n += choose(s, legal, read_legal, c + n, s->opt->narrow);
	progress_begin(&s->progress, "looking for the first wrong line");
	pool_run(s, n, narrow_one, c);
	free(c);
	return 0;
}
