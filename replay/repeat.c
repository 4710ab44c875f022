/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/repeat.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ptx/analysis.h"

/* Memory that the launch may write. */
struct saved {
	uint64_t live, bytes;
	uint8_t *before, *after; /* NULL: nothing needs to be put there */
};

struct repetition {
	uint64_t call; /* of the launch at hand; 0: it is not repeated */
	struct trace_launch launch;
	const char *kernel;
	bool restores; /* its memory has to be as it was, each time */
	struct saved *v;
	size_t n, capacity;
	uint64_t *ns;        /* of the timed runs */
	uint64_t start, end; /* events */
};

/* ---- which memory ------------------------------------------------------------------------------- */

static bool add(struct repetition *r, uint64_t live, uint64_t bytes)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].live == live && r->v[i].bytes == bytes)
			return true;
	if (r->n == r->capacity) {
		size_t more = r->capacity ? 2 * r->capacity : 16;
		struct saved *grown = reallocarray(r->v, more, sizeof(*grown));

		if (!grown)
			return false;
		r->v = grown;
		r->capacity = more;
	}
	r->v[r->n++] = (struct saved){.live = live, .bytes = bytes};
	return true;
}

/* What is known of the kernel; NULL: it has no PTX. */
static struct ptx_func *analysed(struct engine *e, const struct trace_kernel *k, struct ptx_module **m)
{
	struct ptx_func *f = k ? recorded_ptx_func(e, k, m) : NULL;

	return f && !ptx_func_analyse(*m, f) ? f : NULL;
}

/* Whether the kernel may read something that it may write; also where that is not known. */
static bool reads_what_it_writes(struct engine *e, const struct ptx_func *f, const struct trace_kernel *k,
				 const uint8_t *params, size_t bytes)
{
	if (f->writes_unknown || f->reads_unknown || f->writes_module_vars)
		return true;
	for (unsigned i = 0; i < k->nparams; i++) {
		struct address_range *w =
			k->params[i].is_written
				? addresses_pointee(&e->addresses, &k->params[i], params, bytes)
				: NULL;

		for (unsigned j = 0; w && j < k->nparams; j++)
			if (k->params[j].is_read &&
			    addresses_pointee(&e->addresses, &k->params[j], params, bytes) == w)
				return true;
	}
	return false;
}

static bool add_variable(struct engine *e, struct repetition *r, const struct trace_module *row,
			 const char *name)
{
	uint64_t module, address = 0, bytes = 0;
	int64_t rc = 500;

	if (handles_get(&e->handles, e->handles.module_kind, row->handle, &module))
		rc = driver_plain(&e->drv, "cuModuleGetGlobal_v2", 4, word(&address), word(&bytes), module,
				  word(name));
	while (rc && row->parent && row->parent != row->id && plan_module(e, row->parent))
		row = plan_module(e, row->parent);
	if (rc && handles_get(&e->handles, e->handles.library_kind, row->handle, &module))
		rc = driver_plain(&e->drv, "cuLibraryGetGlobal", 4, word(&address), word(&bytes), module,
				  word(name));
	return !rc && add(r, address, bytes);
}

/* Also those that the program never asked the address of. */
static bool add_variables(struct engine *e, struct repetition *r, const struct ptx_module *m,
			  const struct trace_module *row)
{
	bool ok = row != NULL;

	for (uint32_t i = 0; ok && i < m->nsymbols; i++) {
		const struct ptx_symbol *s = m->symbols[i];

		if (s->space == PTX_SPACE_GLOBAL && s->size)
			ok = add_variable(e, r, row, s->name);
	}
	return ok;
}

/* What it wrote when it was recorded, or else all that there is: what a kernel writes is known for certain only so. */
static bool choose(struct engine *e, struct repetition *r)
{
	struct written *w;
	unsigned n = written_of(e, r->call, &w);
	bool ok = true;

	for (unsigned i = 0; ok && i < n; i++)
		ok = add(r, addresses_to_live(&e->addresses, w[i].base), w[i].bytes);
	free(w);
	for (size_t i = 0; ok && !n && r->restores && i < e->addresses.n; i++) {
		const struct address_range *a = e->addresses.by_base[i];
		uint8_t byte;

		/* Address space without memory, and memory that only the host has, is nothing that it writes. */
		if (a->bytes && engine_read_device(e, a->live, &byte, 1))
			ok = add(r, a->live, a->bytes);
	}
	return ok;
}

static bool save(struct engine *e, const struct saved *s, uint8_t **where)
{
	*where = *where ? *where : malloc(s->bytes);
	return *where && engine_read_device(e, s->live, *where, s->bytes);
}

static bool restore(struct engine *e, const struct repetition *r, bool after)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct saved *s = &r->v[i];
		const uint8_t *p = after ? s->after : s->before;

		if (p && driver_plain(&e->drv, "cuMemcpyHtoD_v2", 3, s->live, word(p), s->bytes))
			return false;
	}
	return true;
}

/* ---- before --------------------------------------------------------------------------------------- */

static void forget(struct repetition *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].before);
		free(r->v[i].after);
	}
	r->n = 0;
	r->call = 0;
}

static bool is_wanted(const struct engine *e, const struct call *c, const struct trace_launch *l)
{
	return e->opt->repeat && e->pass == 1 && !e->blame && !e->probe_calls && !e->visit && !e->capturing &&
	       !e->dead && !c->refused && l->call && !c->rec->result;
}

static void *params_of(struct engine *e, const struct trace_launch *l, size_t *bytes)
{
	struct diag d = DIAG_INIT;

	*bytes = 0;
	return l->params ? trace_buffer_load(e->trace, l->params, bytes, &d) : NULL;
}

static bool prepare(struct engine *e, const struct call *c, struct repetition *r,
		    const struct trace_launch *l, const struct trace_kernel *k)
{
	size_t bytes;
	void *params = params_of(e, l, &bytes);
	struct ptx_module *m;
	struct ptx_func *f = analysed(e, k, &m);
	bool ok = contexts_enter(e, c->thread) &&
		  !engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuCtxSynchronize", 0));

	r->call = c->rec->id;
	r->launch = *l;
	r->kernel = k ? k->name : "?";
	r->restores = f && reads_what_it_writes(e, f, k, params, bytes);
	free(params);
	ok = ok && f && choose(e, r);
	if (ok && f->writes_module_vars)
		ok = add_variables(e, r, m, plan_module(e, k->module));
	for (size_t i = 0; ok && r->restores && i < r->n; i++)
		ok = save(e, &r->v[i], &r->v[i].before);
	return ok;
}

void repeat_before(struct engine *e, const struct call *c, const struct trace_launch *l,
		   const struct trace_kernel *k)
{
	if (!is_wanted(e, c, l))
		return;
	if (!e->repetition) {
		e->repetition = calloc(1, sizeof(*e->repetition));
		if (e->repetition)
			e->repetition->ns = calloc(e->opt->repeat, sizeof(uint64_t));
	}
	if (!e->repetition || !e->repetition->ns)
		return;
	if (prepare(e, c, e->repetition, l, k))
		return;
	forget(e->repetition);
	engine_say(e, c->rec->id, "warning", "%s is not timed: what it writes is not known, or can't be kept",
		   k ? k->name : "this launch");
}

/* ---- after ------------------------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Our own driver's events are times of the host; others' are the GPU's. */
static bool has_events(struct engine *e, const struct call *c, int *stream)
{
	*stream = call_param_index(c->f, "hStream");
	return !e->drv.ext && *stream >= 0 && driver_symbol(&e->drv, "cuEventElapsedTime") != NULL;
}

static bool issue_again(struct engine *e, struct call *c)
{
	call_issue(e, c);
	e->counts.issued--;
	return !c->refused && !c->result;
}

/* False: it failed, which is said. */
static bool time_by_events(struct engine *e, struct call *c, int stream, uint64_t *ns)
{
	struct repetition *r = e->repetition;
	float ms = 0;
	bool ok = (r->start || !driver_plain(&e->drv, "cuEventCreate", 2, word(&r->start), UINT64_C(0))) &&
		  (r->end || !driver_plain(&e->drv, "cuEventCreate", 2, word(&r->end), UINT64_C(0))) &&
		  !driver_plain(&e->drv, "cuEventRecord", 2, r->start, c->args[stream]) &&
		  issue_again(e, c) && !driver_plain(&e->drv, "cuEventRecord", 2, r->end, c->args[stream]);

	if (engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuCtxSynchronize", 0)))
		return false;
	ok = ok && !driver_plain(&e->drv, "cuEventElapsedTime", 3, word(&ms), r->start, r->end);
	*ns = (uint64_t)((double)ms * 1e6);
	return ok;
}

static bool time_by_clock(struct engine *e, struct call *c, uint64_t *ns)
{
	uint64_t begin = now_ns();
	bool ok = issue_again(e, c);

	if (engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuCtxSynchronize", 0)))
		return false;
	*ns = now_ns() - begin;
	return ok;
}

static bool time_once(struct engine *e, struct call *c, uint64_t *ns)
{
	int stream;

	if (e->repetition->restores &&
	    (!restore(e, e->repetition, false) ||
	     engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuCtxSynchronize", 0))))
		return false;
	return has_events(e, c, &stream) ? time_by_events(e, c, stream, ns) : time_by_clock(e, c, ns);
}

static void drop_events(struct engine *e)
{
	struct repetition *r = e->repetition;

	if (r->start)
		driver_plain(&e->drv, "cuEventDestroy_v2", 1, r->start);
	if (r->end)
		driver_plain(&e->drv, "cuEventDestroy_v2", 1, r->end);
	r->start = r->end = 0;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void keep_times(struct engine *e, struct call *c)
{
	struct repetition *r = e->repetition;
	struct timing_row row = {.launch = &r->launch, .kernel_name = r->kernel, .n = e->opt->repeat};
	unsigned n = row.n;
	int stream;

	qsort(r->ns, n, sizeof(*r->ns), by_value);
	for (unsigned i = 0; i < n; i++)
		row.sum += r->ns[i];
	row.least = r->ns[0];
	row.most = r->ns[n - 1];
	row.median = (r->ns[(n - 1) / 2] + r->ns[n / 2]) / 2;
	row.restored = r->restores;
	row.by_events = has_events(e, c, &stream);
	result_timing(e->out, &row);
}

static bool repeat(struct engine *e, struct call *c)
{
	uint64_t ns;

	for (unsigned i = 0; i < e->opt->warm_up; i++)
		if (!time_once(e, c, &ns))
			return false;
	for (unsigned i = 0; i < e->opt->repeat; i++)
		if (!time_once(e, c, &e->repetition->ns[i]))
			return false;
	return true;
}

void repeat_after(struct engine *e, struct call *c)
{
	struct repetition *r = e->repetition;
	bool ok = true;

	if (!r || r->call != c->rec->id)
		return;
	if (c->left_out || c->stood_in || c->refused || c->result || e->dead ||
	    !contexts_enter(e, c->thread) ||
	    engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuCtxSynchronize", 0))) {
		forget(r);
		return;
	}
	for (size_t i = 0; ok && i < r->n; i++)
		ok = save(e, &r->v[i], &r->v[i].after);
	if (ok && repeat(e, c))
		keep_times(e, c);
	else if (!e->dead)
		engine_say(e, c->rec->id, "warning", "%s is not timed: it can't be made again", r->kernel);
	drop_events(e);
	if (!e->dead && !restore(e, r, true))
		engine_taint(e, c->rec->id, "its results could not be put back after it was repeated");
	c->result = 0;
	forget(r);
}

void repeat_free(struct engine *e)
{
	if (!e->repetition)
		return;
	forget(e->repetition);
	free(e->repetition->v);
	free(e->repetition->ns);
	free(e->repetition);
	e->repetition = NULL;
}
