/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of calls, and what is done with each. Asynchronous calls are issued in the order in which the
 * program entered them, blocking ones when they had returned: at that moment everything they had waited for
 * was issued. Calls that make something are issued when they had returned, too: the address or handle that
 * one thread got may be the one that another gave back while the call was under way. The outermost recorded
 * level that can be replayed is issued; what happened inside it is the target's business.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"
#include "replay/extension_client.h"
#include "replay/repeat.h"

/* ---- blocking calls wait here for their turn ---------------------------- */

struct waiting {
	struct trace_call *heap; /* smallest (seq_seen, id) first */
	size_t n, cap;
};

static bool earlier(const struct trace_call *a, const struct trace_call *b)
{
	return a->seq_seen != b->seq_seen ? a->seq_seen < b->seq_seen : a->id < b->id;
}

static void swap(struct trace_call *a, struct trace_call *b)
{
	struct trace_call t = *a;

	*a = *b;
	*b = t;
}

static int waiting_push(struct waiting *w, const struct trace_call *c)
{
	size_t i = w->n;

	if (w->n == w->cap) {
		size_t cap = w->cap ? 2 * w->cap : 16;
		struct trace_call *heap = realloc(w->heap, cap * sizeof(*heap));

		if (!heap)
			return CUTRACE_ENOMEM;
		w->heap = heap;
		w->cap = cap;
	}
	w->heap[w->n++] = *c;
	for (; i && earlier(&w->heap[i], &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&w->heap[i], &w->heap[(i - 1) / 2]);
	return 0;
}

static void waiting_pop(struct waiting *w, struct trace_call *out)
{
	size_t i = 0;

	*out = w->heap[0];
	w->heap[0] = w->heap[--w->n];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= w->n)
			break;
		if (child + 1 < w->n && earlier(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!earlier(&w->heap[child], &w->heap[i]))
			break;
		swap(&w->heap[i], &w->heap[child]);
		i = child;
	}
}

/* ---- what is replayed --------------------------------------------------- */

/* Functions that the description knows and that take no image are not looked up. */
static bool has_image(struct engine *e, const struct api_func *f, uint64_t call)
{
	unsigned n = 0;
	const struct trace_payload *p;

	if (f && !call_takes_image(f))
		return false;
	p = trace_payloads(e->trace, call, &n);
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(p[i].kind, "image") && p[i].buffer)
			return true;
	return false;
}

static const struct api_func *known_function(struct engine *e, const struct trace_call *rec)
{
	const struct trace_function *tf;
	const struct api_func *f;
	uint64_t id;

	if (map_get(&e->functions, rec->func, &id))
		return id < api_nfuncs ? &api_funcs[id] : NULL;
	tf = trace_function(e->trace, rec->func);
	f = tf && tf->known ? api_func_find(tf->name) : NULL;
	if (f && f->flags & API_FUNC_PRIVATE)
		f = NULL;
	map_set(&e->functions, rec->func, f ? api_func_id(f) : UINT64_MAX);
	return f;
}

/* Whether the call itself is issued in some form: then calls nested in it are not. */
static bool is_replayed(struct engine *e, const struct trace_call *rec)
{
	const struct api_func *f = known_function(e, rec);

	if (has_image(e, f, rec->id))
		return true;
	return f && f->replay != API_REPLAY_SKIP;
}

/* A call that never returned (left by longjmp, or the program crashed in it) is not issued: what was called
 * below it is. Parents begin earlier; where a damaged trace says otherwise they could go round in a circle. */
static bool is_nested(struct engine *e, const struct trace_call *rec)
{
	struct trace_call up = *rec;
	uint64_t inner;

	do {
		inner = up.id;
		if (!up.parent || up.parent >= inner || trace_call_get(e->trace, up.parent, &up))
			return false;
	} while (!up.done || !is_replayed(e, &up));
	return true;
}

/* cuStreamQuery and cuEventQuery said "done": from there on the program relied on it. */
static const struct api_func *wait_form(const struct api_func *f)
{
	const char *at = strstr(f->name, "Query");
	char name[128];

	if (!at)
		return NULL;
	snprintf(name, sizeof(name), "%.*sSynchronize%s", (int)(at - f->name), f->name, at + 5);
	return api_func_find(name);
}

/* A call that failed when recorded is worth repeating when it failed for reasons that lie in the call or in
 * the code (CUresult: invalid value, image, PTX; no binary; no source; not found; launch resources;
 * cooperative size). */
static bool failure_is_repeatable(int64_t result)
{
	static const int16_t errors[] = {1, 200, 209, 218, 300, 500, 701, 720};

	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i] == result)
			return true;
	return false;
}

/* The first call that meets a recorded fault shows it here too; the others only say that it is still there.
 */
static bool repeats_failure(struct engine *e, const struct call *c)
{
	if (driver_error_is_fault(c->rec->result))
		return c->rec->result != e->sticky && c->rec->result != e->met_early && c->f &&
		       c->f->replay != API_REPLAY_SKIP;
	return c->f && c->f->replay == API_REPLAY_DO && failure_is_repeatable(c->rec->result);
}

static const struct {
	const char *base, *why;
} not_replayed[] = {
	{"cuStreamWaitValue", "it waits for a word that the program's CPU code wrote"},
	{"cuStreamBatchMemOp", "it may wait for a word that the program's CPU code wrote"},
	{"cuIpc", "memory of another process is not there"},
	{"cuImportExternal", "the external object is not there"},
	{"cuExternal", "the external object is not there"},
	{"cuSignalExternal", "the external object is not there"},
	{"cuWaitExternal", "the external object is not there"},
	{"cuDestroyExternal", "the external object is not there"},
	{"cuMemImport", "the shared object is not there"},
	{"cuMemPoolImport", "the shared object is not there"},
	{"cuCheckpoint", "checkpoints are of the recorded process"},
	{"cuCoredump", "core dumps are of the recorded process"},
	{"cuProfiler", "no profiler is attached"},
	{"cuEGL", "the graphics object is not there"},
	{"cuVDPAU", "the graphics object is not there"},
};

const char *call_why_not_replayed(const struct api_func *f)
{
	if (f->flags & API_FUNC_INTEROP)
		return "the graphics object is not there";
	for (unsigned i = 0; i < sizeof(not_replayed) / sizeof(not_replayed[0]); i++)
		if (!strncmp(f->base, not_replayed[i].base, strlen(not_replayed[i].base)))
			return not_replayed[i].why;
	return NULL;
}

/* ---- one call ----------------------------------------------------------- */

void call_issue(struct engine *e, struct call *c)
{
	void *fn = driver_function(&e->drv, c->f);

	if (!fn) {
		c->refused = "the driver does not have it";
		return;
	}
	if (!contexts_enter(e, c->thread)) {
		c->refused = "its context could not be made";
		return;
	}
	c->result = (int32_t)driver_call(fn, c->f, c->args);
	if (api_types[c->f->ret].kind == API_KIND_VOID)
		c->result = 0;
	e->counts.issued++;
}

static bool takes_stream(const struct api_func *f)
{
	for (unsigned p = 0; p < f->nparams; p++)
		if (f->params[p].flags & API_PARAM_STREAM)
			return true;
	return false;
}

/* A copy or fill of the per-thread flavour without a stream parameter works on the thread's default stream;
 * here that is a stream of ours, so both are made to meet before and after. CU_STREAM_PER_THREAD is 2. */
static void issue_per_thread(struct engine *e, struct call *c)
{
	uint64_t stream;

	if (!contexts_enter(e, c->thread)) {
		c->refused = "its context could not be made";
		return;
	}
	stream = contexts_thread_stream(e, c->thread);
	engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuStreamSynchronize", 1, stream));
	call_issue(e, c);
	if (!c->refused && !c->result)
		c->result = driver_plain(&e->drv, "cuStreamSynchronize", 1, UINT64_C(2));
}

static bool ends_streams(const struct api_func *f)
{
	return !strcmp(f->base, "cuStreamDestroy") || !strcmp(f->base, "cuCtxDestroy") ||
	       !strncmp(f->base, "cuDevicePrimaryCtxRe", 20);
}

/* Texture and surface objects: the recorded handle, where the driver takes wishes. */
static void place_texture(struct engine *e, const struct call *c)
{
	uint64_t handle;

	if ((!strcmp(c->f->base, "cuTexObjectCreate") || !strcmp(c->f->base, "cuSurfObjectCreate")) &&
	    !c->rec->result && call_recorded_out(e, c, 0, &handle))
		extension_place_texture(e, handle);
}

static void issue_generic(struct engine *e, struct call *c)
{
	if (c->unavailable) {
		c->refused = arena_printf(&c->arena, "the bytes it read were not recorded: %s",
					  c->why_unavailable);
		return;
	}
	if (!call_rebuild(e, c))
		return;
	transfers_patch(e, c);
	if (c->refused)
		return;
	if (ends_streams(c->f))
		transfers_drain(e);
	place_texture(e, c);
	if (c->f->flags & API_FUNC_PTSZ && !takes_stream(c->f))
		issue_per_thread(e, c);
	else
		call_issue(e, c);
}

static void after_success(struct engine *e, struct call *c)
{
	if (!c->f)
		return;
	call_learn(e, c);
	call_forget_destroyed(e, c);
	contexts_follow(e, c);
	transfers_note_writes(e, c);
	if (!strcmp(c->f->base, "cuModuleUnload") || !strcmp(c->f->base, "cuLibraryUnload")) {
		allocs_forget_globals(e, c->rec->args[0]);
		module_unloaded(e, c->rec->args[0]);
	}
	captures_follow(e, c);
	if (!strncmp(c->f->base, "cuStreamBeginCapture", 20))
		e->capturing++;
	if (!strcmp(c->f->base, "cuStreamEndCapture") && e->capturing)
		e->capturing--;
	if (c->f->replay == API_REPLAY_WAIT || c->f->replay == API_REPLAY_POLL)
		transfers_completed(e, c);
}

static void note_refused(struct engine *e, struct call *c)
{
	bool launch = c->f && c->f->flags & API_FUNC_LAUNCH;

	e->counts.launches_refused += launch && !c->rec->result; /* a failed one launched nothing */
	e->counts.refused++;
	if (c->rec->result) /* it did nothing when recorded either */
		engine_say(e, c->rec->id, "info", "%s, which failed when recorded, was not repeated: %s",
			   c->name, c->refused);
	else if (call_has_effect(c))
		engine_taint(e, c->rec->id, "%s was not replayed: %s", c->name, c->refused);
	else
		engine_say(e, c->rec->id, "warning", "%s was not replayed: %s", c->name, c->refused);
}

static void issue(struct engine *e, struct call *c)
{
	if (module_is_load(c))
		module_replay(e, c);
	else if (c->f->flags & API_FUNC_LAUNCH)
		launch_replay(e, c);
	else if (!alloc_replay(e, c) && !link_replay(e, c))
		issue_generic(e, c);
}

/* Everything of a call that is going to be issued. */
static void perform(struct engine *e, struct call *c)
{
	struct diag d = DIAG_INIT;

	if (transfers_bind(e, c, &d))
		c->refused = arena_printf(&c->arena, "%s", d.what);
	if (!c->f && !c->image.buffer)
		c->refused = "its description is not known";
	if (c->f && !c->refused)
		c->refused = call_why_not_replayed(c->f);
	if (!c->refused) {
		if (!c->f || !(c->f->flags & API_FUNC_LAUNCH))
			written_flush(e, c);
		transfers_host_writes(e, c);
		issue(e, c);
	}
	if (c->refused) {
		note_refused(e, c);
	} else {
		check_result(e, c);
		if (!c->rec->result && c->f &&
		    (c->f->flags & API_FUNC_LAUNCH || c->f->replay == API_REPLAY_WAIT))
			e->sticky = 0; /* the program has a working context again */
		if (!c->rec->result && !c->result && c->f &&
		    (c->f->flags & API_FUNC_LAUNCH || c->f->replay == API_REPLAY_WAIT))
			e->met_early = 0;
		if (!c->result && !c->rec->result)
			after_success(e, c);
	}
	transfers_finish(e, c);
	if (c->f && c->f->flags & API_FUNC_LAUNCH)
		check_launch_hashes(e, c);
	repeat_after(e, c);
}

static void load_memory(struct engine *e, const struct call *c)
{
	/* What the last one left must not be read for this one: a call that has none is never asked for any.
	 */
	if (!c->f || c->f->flags & API_FUNC_HAS_IN)
		trace_memory_load(e->memory[0], c->rec->id, 0);
	if (!c->f || c->f->flags & API_FUNC_HAS_OUT)
		trace_memory_load(e->memory[1], c->rec->id, 1);
}

/* The code is loaded with arguments of the replay's own: those that were invalid are not repeated. */
static bool image_is_wanted(const struct call *c)
{
	enum { INVALID_VALUE = 1 };

	return !c->rec->result || (c->rec->result != INVALID_VALUE && failure_is_repeatable(c->rec->result));
}

static bool is_wanted(struct engine *e, struct call *c)
{
	if (has_image(e, c->f, c->rec->id))
		return image_is_wanted(c);
	if (!c->f) {
		e->counts.foreign++;
		return false;
	}
	if (c->rec->result && !repeats_failure(e, c)) {
		e->counts.failed_skipped++;
		return false;
	}
	if (contexts_is_stack_call(c->f)) {
		contexts_follow(e, c);
		return false;
	}
	if (c->f->replay == API_REPLAY_SKIP)
		return call_returns_unknown_handle(e, c) || alloc_is_query(c->f);
	return true;
}

static void replay_call(struct engine *e, const struct trace_call *rec, const struct api_func *f)
{
	const struct trace_function *tf = trace_function(e->trace, rec->func);
	struct call *c = e->scratch;

	memset(c, 0, sizeof(*c));
	c->rec = rec;
	c->f = f;
	c->name = tf ? tf->name : "unknown function";
	c->thread = rec->thread;
	if (launch_stands_in(e, c)) {
		transfers_host_writes(e, c);
		e->sticky = 0;
		arena_free(&c->arena);
		return;
	}
	load_memory(e, c);
	if (is_wanted(e, c))
		perform(e, c);
	else
		e->counts.skipped++;
	arena_free(&c->arena);
}

/* ---- the stream of calls ------------------------------------------------ */

static int issue_waiting(struct engine *e, struct waiting *w, uint64_t before)
{
	struct trace_call rec;

	while (w->n && w->heap[0].seq_seen < before) {
		const struct api_func *f;

		waiting_pop(w, &rec);
		f = known_function(e, &rec);
		if (f && f->replay == API_REPLAY_POLL)
			f = wait_form(f);
		replay_call(e, &rec, f);
	}
	return 0;
}

static bool creates(const struct api_func *f)
{
	for (unsigned p = 0; p < f->nparams; p++)
		if (f->params[p].flags & API_PARAM_CREATES)
			return true;
	return false;
}

static bool is_issued_at_exit(const struct api_func *f, const struct trace_call *rec)
{
	if (!f)
		return false;
	if (f->replay == API_REPLAY_WAIT || f->replay == API_REPLAY_POLL)
		return true;
	return rec->seq_seen > rec->id && creates(f); /* else nothing happened meanwhile */
}

static int take_call(struct engine *e, struct waiting *w, const struct trace_call *rec)
{
	const struct api_func *f = known_function(e, rec);

	e->counts.calls++;
	if (!rec->done) {
		const struct trace_function *tf = trace_function(e->trace, rec->func);

		e->counts.in_flight++;
		engine_say(e, rec->id, "info", "%s had not returned when the recording ended: not replayed",
			   tf ? tf->name : "a call");
		return 0;
	}
	if (rec->parent && is_nested(e, rec)) {
		e->counts.nested++;
		return 0;
	}
	if (f && f->replay == API_REPLAY_POLL && rec->result) {
		e->counts.skipped++;
		return 0;
	}
	if (is_issued_at_exit(f, rec))
		return waiting_push(w, rec);
	replay_call(e, rec, f);
	return 0;
}

static uint64_t oldest_waiting(const struct waiting *w)
{
	uint64_t id = UINT64_MAX;

	for (size_t i = 0; i < w->n; i++)
		id = w->heap[i].id < id ? w->heap[i].id : id;
	return id;
}

/* The end, for good or because a signal came; *rec is the call that is not made any more. */
static int end_stream(struct engine *e, struct waiting *w, const struct trace_call *rec)
{
	uint64_t waiting = oldest_waiting(w);

	if (e->interrupted) {
		transfers_drain(e);
		shard_settle(e, waiting < rec->id ? waiting : rec->id);
		return 0;
	}
	issue_waiting(e, w, UINT64_MAX);
	transfers_drain(e);
	if (e->faulted && e->stop_at_fault)
		return 0;
	shard_settle(e, UINT64_MAX);
	if (e->counts.captured)
		engine_say(
			e, 0, "info",
			"%llu copies were captured into graphs; what graph launches returned is not compared",
			(unsigned long long)e->counts.captured);
	return 0;
}

static int run_stream(struct engine *e, struct waiting *w, struct trace_call_iter *it)
{
	uint64_t stop = e->blame ? e->blame->stop_at : e->opt->stop_at;
	struct trace_call rec;
	int rc;

	while ((rc = trace_call_next(it, &rec)) > 0) {
		if ((stop && rec.id > stop) || rec.id >= e->shard_end)
			break;
		e->interrupted = e->board && atomic_load(&e->board->stop);
		if (e->interrupted || (shard_reaches(e, rec.id) && shard_enter(e, rec.id, oldest_waiting(w))))
			break;
		issue_waiting(e, w, rec.id);
		if (take_call(e, w, &rec))
			return CUTRACE_ENOMEM;
		if (e->no_device || (e->faulted && e->stop_at_fault))
			return 0;
		if (e->board)
			atomic_store(&e->board->call, rec.id);
	}
	return rc < 0 ? rc : end_stream(e, w, &rec);
}

int engine_run(struct engine *e, struct diag *d)
{
	struct waiting w = {0};
	struct trace_call_iter *it = trace_calls_of(e->trace, e->process);
	int rc = it ? run_stream(e, &w, it) : CUTRACE_ENOMEM;
	int taken = excerpt_take_end(e, !rc && !e->faulted && !e->no_device, d);

	free(w.heap);
	if (it)
		trace_call_iter_free(it);
	if (rc)
		return diag_set(d, rc, e->opt->trace_path, "cannot read its calls");
	if (taken)
		return taken;
	if (e->no_device)
		return diag_set(d, CUTRACE_EIO, e->drv.path, "the driver can't be initialised%s%s: %s",
				e->opt->device && !e->opt->driver ? " with device " : "",
				e->opt->device && !e->opt->driver ? e->opt->device : "",
				driver_error_name(e->no_device));
	return 0;
}
