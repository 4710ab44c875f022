/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/visit.h"

#include <sqlite3.h>
#include <unistd.h>

#include "replay/engine.h"
#include "replay/extension_client.h"
#include "replay/session.h"

void visit_arrived(struct engine *e, const struct call *c)
{
	struct visit_memory *m;
	size_t n = e->addresses.n;

	if (!e->visit || e->visit->call != c->rec->id)
		return;
	m = arena_array(&e->arena, n + 1, sizeof(*m)); /* the visitor may keep it */
	for (size_t i = 0; m && i < n; i++) {
		const struct address_range *r = e->addresses.by_base[i];

		m[i] = (struct visit_memory){.base = r->base,
					     .bytes = r->bytes,
					     .kind = r->kind,
					     .elem_type = r->elem_type,
					     .name = plan_global_name(e, r->base)};
	}
	e->visit->arrived(e->visit->ctx, extension_table_of(e), m, m ? n : 0);
}

void visit_left(struct engine *e, const struct call *c)
{
	if (!e->visit || e->visit->call != c->rec->id)
		return;
	e->visit->left(e->visit->ctx, c->left_out  ? "it faults here"
				      : c->refused ? c->refused
				      : c->result  ? driver_error_name(c->result)
						   : NULL);
}

static unsigned devices_used(const char *path, struct diag *d)
{
	sqlite3_stmt *st = NULL;
	unsigned n = 0;
	struct trace *t;

	if (trace_open(&t, path, d))
		return 0;
	sqlite3_prepare_v2(trace_db(t), "SELECT max(device) + 1 FROM context", -1, &st, NULL);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		n = (unsigned)sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	trace_close(t);
	return n;
}

static int visit_run(struct session *s, const struct visit *v)
{
	struct probe p = {.folder = "", .device = v->device, .run = 1};
	struct recorded rec = {0};
	struct run r = {.s = s,
			.process = v->process,
			.pass = 1,
			.probe = &p,
			.visit = v,
			.one_by_one = true,
			.give_up = true};
	int rc = map_set(&p.calls, v->call, 1);

	if (!rc)
		rc = session_make_result(s, &rec);
	if (!rc)
		rc = run_process(&r);
	map_free(&p.calls);
	return rc;
}

int replay_visit(const char *trace, const struct visit *v, struct diag *d)
{
	struct replay_options opt = {.trace_path = trace,
				     .device = v->device,
				     .isolated = true,
				     .no_compare = true,
				     .quiet = true};
	struct session s = {.opt = &opt, .ndevices = devices_used(trace, d)};
	int rc = d->code;

	if (!rc)
		rc = replay_own_driver(s.own_driver_path, sizeof(s.own_driver_path), &s.error);
	if (!rc)
		rc = session_choose_result_path(&s);
	if (!rc)
		rc = visit_run(&s, v);
	if (s.result_is_temporary)
		unlink(s.result_path);
	if (rc && !d->code)
		*d = s.error;
	return rc;
}
