/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded results against live ones. What is found goes into the result database as verdicts; nothing
 * stops the replay. Once something could not be replayed a difference proves nothing any more and is graded
 * "unverified".
 */
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"
#include "replay/extension_client.h"
#include "replay/tolerances.h"

#define PIECE (4u << 20)

void engine_say(struct engine *e, uint64_t call, const char *severity, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	result_diagnostic(e->out, call, severity, text);
}

void engine_taint(struct engine *e, uint64_t call, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!e->tainted)
		snprintf(e->taint, sizeof(e->taint), "since call %llu: %.200s", (unsigned long long)call,
			 text);
	e->tainted = true;
	result_diagnostic(e->out, call, "error", text);
}

static const char *kernel_name(struct engine *e, uint64_t id)
{
	const struct trace_kernel *k = id ? trace_kernel(e->trace, id) : NULL;

	return k ? k->name : NULL;
}

const char *check_grade(struct engine *e, const struct compare_result *r, uint64_t doubt)
{
	if (!r->differing)
		return "equal";
	if (!r->beyond)
		return "tolerated";
	return e->tainted || e->dead || doubt ? "unverified" : "differs";
}

/* Why a result that differs proves nothing. */
const char *check_why_unverified(struct engine *e, uint64_t doubt)
{
	return doubt ? doubt_note(e, doubt) : e->taint;
}

const struct compare_limits *check_limits(struct engine *e, const char *kernel, const struct address_range *r,
					  unsigned *line)
{
	const char *name = !r ? NULL : r->param[0] ? r->param : plan_global_name(e, r->base);
	const struct tolerance *t = tolerances_find(e->opt->tolerances, kernel, name, r ? r->id : 0);

	*line = t ? t->line : 0;
	return t ? &t->limits : &e->opt->limits;
}

const char *check_tolerance_note(unsigned line)
{
	static char text[64];

	snprintf(text, sizeof(text), "within what line %u of the tolerances accepts", line);
	return text;
}

/* ---- copies ------------------------------------------------------------- */

/* Device address of byte `at` of a packed copy. */
static uint64_t element_address(const struct binding *b, uint64_t at)
{
	uint64_t row = b->width && b->pitch ? at / b->width : 0, slice = 0;

	if (!b->device_address)
		return 0;
	if (!b->pitch || !b->width)
		return b->device_address + at;
	if (b->slice && b->height) {
		slice = row / b->height;
		row %= b->height;
	}
	return b->device_address + slice * b->slice + row * b->pitch + at % b->width;
}

/* Addresses in the result are those of this replay: back to what the program saw. */
static void translate_back(struct engine *e, struct binding *b)
{
	size_t skip = (8 - (b->device_address & 7)) & 7, row = b->width ? b->width : b->bytes;

	for (size_t at = 0; e->addresses.nmoved && row && at + row <= b->bytes; at += row)
		if (skip < row)
			addresses_rewrite_back(&e->addresses, b->data + at + skip, row - skip);
}

static int compare_with_buffer(struct engine *e, const struct elem_type *t, struct binding *b,
			       struct verdict *v, unsigned *rule, struct diag *d)
{
	const struct compare_limits *limits =
		check_limits(e, v->kernel_name, addresses_find(&e->addresses, b->base), rule);
	uint8_t *want = malloc(PIECE);
	size_t at = 0;
	int rc = want ? 0 : CUTRACE_ENOMEM;

	while (!rc && at < b->bytes) {
		size_t n = b->bytes - at < PIECE ? b->bytes - at : PIECE;
		struct compare_result piece = {0};

		rc = trace_buffer_read(e->trace, b->buffer, at, want, n, d);
		if (rc)
			break;
		compare_buffers(t, limits, want, b->data + at, n, &piece);
		compare_merge(&v->r, &piece, at / t->bytes);
		at += n;
	}
	free(want);
	return rc;
}

static void describe_first(struct engine *e, const struct elem_type *t, const struct binding *b,
			   struct verdict *v)
{
	if (!v->r.differing)
		return;
	v->address = element_address(b, v->r.first * t->bytes);
	v->live = v->address ? addresses_to_live(&e->addresses, v->address) : 0;
	v->offset = b->base && v->address ? v->address - b->base : v->r.first * t->bytes;
	elem_format(t, v->r.want, v->want, sizeof(v->want));
	elem_format(t, v->r.got, v->got, sizeof(v->got));
}

/* As the kernels load and store it; where that is not known, words, which most data consists of. */
static const struct elem_type *element_type(const struct binding *b)
{
	bool words = b->bytes % 4 == 0 && b->device_address % 4 == 0;

	return elem_type_find(b->elem_type[0] ? b->elem_type : words ? "b32" : "b8");
}

void check_copy(struct engine *e, uint64_t call, const char *func, struct binding *b, const char *not_made)
{
	const struct elem_type *t = element_type(b);
	struct verdict v = {.call = call,
			    .kind = "copy",
			    .func = func,
			    .launch = b->writer_kernel ? b->writer_call : 0,
			    .kernel = b->writer_kernel,
			    .kernel_name = kernel_name(e, b->writer_kernel),
			    .allocation = b->allocation,
			    .base = b->base,
			    .bytes = b->bytes,
			    .elem_type = t->name};
	struct diag d = DIAG_INIT;
	unsigned rule = 0;

	e->counts.copies++;
	translate_back(e, b);
	if (!b->buffer) {
		v.grade = "unverified";
		v.note = "its result was not recorded";
	} else if (e->dead) {
		v.grade = "unverified";
		v.note = "the context had ended by a fault";
	} else if (not_made) {
		v.grade = "unverified";
		v.note = not_made;
	} else if (compare_with_buffer(e, t, b, &v, &rule, &d)) {
		v.grade = "unverified";
		v.note = d.what;
	} else {
		v.grade = check_grade(e, &v.r, b->doubt);
		v.inherited = v.r.beyond && b->wrong != v.launch ? b->wrong : 0;
		v.note = !strcmp(v.grade, "unverified")         ? check_why_unverified(e, b->doubt)
			 : v.r.nan_payload                      ? "NaN payloads differ"
			 : rule && v.r.differing && !v.r.beyond ? check_tolerance_note(rule)
								: NULL;
		describe_first(e, t, b, &v);
	}
	result_verdict(e->out, &v);
	if (e->results && b->buffer)
		rebase_result(e, call, b);
}

/* ---- contents after a launch -------------------------------------------- */

bool engine_read_device(struct engine *e, uint64_t live, void *dst, size_t bytes)
{
	return driver_plain(&e->drv, "cuMemcpyDtoH_v2", 3, word(dst), live, (uint64_t)bytes) == 0;
}

/* Of the last launch. */
const char *check_kernel_name(struct engine *e, const struct call *c)
{
	return e->last_kernel                                 ? kernel_name(e, e->last_kernel)
	       : c->f && !strcmp(c->f->base, "cuGraphLaunch") ? "(graph)"
							      : NULL;
}

/* hash: NULL where the trace has one of chunks. */
static void check_hash(struct engine *e, struct call *c, const struct sketch_range *h,
		       const struct trace_hash *hash)
{
	struct address_range *r = addresses_find(&e->addresses, h->base);
	struct verdict v = {.call = c->rec->id,
			    .kind = "hash",
			    .func = c->name,
			    .launch = c->rec->id,
			    .kernel = e->last_kernel,
			    .kernel_name = check_kernel_name(e, c),
			    .base = h->base,
			    .bytes = h->bytes,
			    .address = h->base,
			    .allocation = r ? r->id : 0,
			    .elem_type = r && r->elem_type[0] ? elem_type_find(r->elem_type)->name : NULL};
	uint8_t *data = malloc(h->bytes ? h->bytes : 1);
	char how[512];

	e->counts.hashes++;
	v.grade = "unverified";
	if (!data || !engine_read_device(e, addresses_to_live(&e->addresses, h->base), data, h->bytes)) {
		v.note = "its contents can't be read";
	} else {
		addresses_rewrite_back(&e->addresses, data, h->bytes);
		v.r.differing = v.r.beyond =
			sketches_differ(e, c->rec->id, &(struct sketch_range){h->base, h->bytes}, hash, data,
					how, sizeof(how));
		v.grade = check_grade(e, &v.r, doubt_of(e, r));
		v.inherited = doubt_inherited(e, r, c->rec->id, v.r.beyond);
		v.note = !strcmp(v.grade, "unverified") ? check_why_unverified(e, doubt_of(e, r))
			 : how[0]                       ? how
							: NULL;
	}
	result_verdict(e->out, &v);
	free(data);
}

static unsigned ranges_of(const struct trace_launch_sketch *s, unsigned n, struct sketch_range *r)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < n; i++)
		if (s[i].has_hash)
			r[kept++] = (struct sketch_range){s[i].base, s[i].sketch.bytes};
	return kept;
}

void check_launch_hashes(struct engine *e, struct call *c)
{
	unsigned n = 0, m = 0;
	const struct trace_launch_hash *h;
	const struct trace_launch_sketch *s;
	struct sketch_range *r;
	bool has_contents;

	if (c->refused || c->result || e->dead || e->capturing)
		return;
	if (c->stood_in)
		return;
	/* Of contents that were hashed on the device only what changed is there: the hash is of all. */
	has_contents = written_check(e, c);
	h = trace_launch_hashes(e->trace, c->rec->id, &n);
	n = has_contents ? 0 : n;
	s = trace_launch_sketches(e->trace, c->rec->id, &m);
	r = n + m ? calloc(n + m, sizeof(*r)) : NULL;
	if (!r || engine_sync_failed(e, c->rec->id, driver_plain(&e->drv, "cuCtxSynchronize", 0))) {
		free(r);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		check_hash(e, c, &(struct sketch_range){h[i].base, h[i].bytes}, &h[i].hash);
	m = ranges_of(s, n ? 0 : m, r); /* what is asked about a sketch ends what was asked before */
	for (unsigned i = 0; i < m; i++)
		check_hash(e, c, &r[i], NULL);
	free(r);
}

/* ---- results of calls --------------------------------------------------- */

/* A launch that fails is the one that faulted when launches run one by one (retry.c); else the last one may be. */
static void fault_verdict(struct engine *e, struct call *c, const char *grade, const char *note)
{
	struct extension_fault f;
	struct trace_launch l;
	bool known = extension_last_fault(e, &f);
	char text[1024];
	struct verdict v = {.call = c->rec->id,
			    .kind = "fault",
			    .func = c->name,
			    .grade = grade,
			    .launch = e->last_launch,
			    .kernel = e->last_kernel,
			    .fault = known ? &f : NULL,
			    .note = text};

	if (e->one_by_one && c->f && c->f->flags & API_FUNC_LAUNCH) {
		bool known_launch = !trace_launch_get(e->trace, c->rec->id, &l);

		v.launch = known_launch ? l.call : 0;
		v.kernel = known_launch ? l.kernel : 0;
	}
	snprintf(text, sizeof(text), "%s%s%s", note, known ? ": " : "", known ? f.message : "");
	v.kernel_name = known && f.kernel[0] ? f.kernel : kernel_name(e, v.kernel);
	snprintf(v.want, sizeof(v.want), "%s", driver_error_name(c->rec->result));
	snprintf(v.got, sizeof(v.got), "%s", driver_error_name(c->result));
	result_verdict(e->out, &v);
	e->counts.faults++;
}

/* Launches that are made one by one are waited for: a fault that the recording met later, where the program waited, is met
 * at its launch. Not behind a wait that was successful then. */
static bool recorded_later(struct engine *e, uint64_t call, int64_t result)
{
	static const char sql[] =
		"SELECT c.result FROM call c JOIN thread t ON t.id = c.thread JOIN function f ON f.id = c.func"
		" WHERE t.process = ?1 AND c.id > ?2 AND c.parent IS NULL AND (c.result = ?3 OR (c.result = 0 AND"
		" (f.name GLOB 'cu*Synchronize*' OR f.name GLOB 'cuMemcpyDtoH_v2*'))) ORDER BY c.id LIMIT 1";
	sqlite3_stmt *st = NULL;
	bool yes = false;

	if (sqlite3_prepare_v2(trace_db(e->trace), sql, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, e->process);
		sqlite3_bind_int64(st, 2, (sqlite3_int64)call);
		sqlite3_bind_int64(st, 3, result);
		yes = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int64(st, 0) == result;
	}
	sqlite3_finalize(st);
	return yes;
}

static void new_fault(struct engine *e, struct call *c)
{
	if (e->dead || c->result == e->met_early)
		return; /* the same one, met again */
	if (e->one_by_one && recorded_later(e, c->rec->id, c->result)) {
		fault_verdict(e, c, "equal", "the recorded fault was reproduced");
		e->met_early = c->result;
		return;
	}
	fault_verdict(e, c, "fault", "the recording did not have this fault");
	e->faulted = true;
	engine_taint(e, c->rec->id,
		     "a fault that the recording did not have; nothing after it in this context is verified");
	e->dead = true;
}

bool engine_sync_failed(struct engine *e, uint64_t call, int64_t result)
{
	struct trace_call rec = {.id = call};
	struct call *c;

	if (!result)
		return false;
	c = calloc(1, sizeof(*c));
	if (c && driver_error_is_fault(result)) {
		c->rec = &rec;
		c->name = "wait after it";
		c->result = result;
		new_fault(e, c);
	} else {
		engine_taint(e, call, "waiting for it failed: %s", driver_error_name(result));
	}
	free(c);
	return true;
}

/* Calls whose failure leaves later results without meaning. */
static bool has_effect(const struct call *c)
{
	static const char *const prefixes[] = {"cuMemcpy",
					       "cuMemset",
					       "cuMemAlloc",
					       "cuMemMap",
					       "cuMemCreate",
					       "cuMemAddress",
					       "cuMemHost",
					       "cuMemSetAccess",
					       "cuModule",
					       "cuLibrary",
					       "cuLink",
					       "cuArray",
					       "cuGraph",
					       "cuStreamCreate",
					       "cuEventCreate",
					       "cuCtxCreate",
					       "cuDevicePrimaryCtxRetain",
					       "cuInit"};

	if (!c->f || c->f->flags & API_FUNC_LAUNCH)
		return true;
	if (!strcmp(c->f->base, "cuModuleGetFunction")) /* its launches are refused, if there are any */
		return false;
	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(c->f->base, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

bool call_has_effect(const struct call *c)
{
	return has_effect(c);
}

static void check_recorded_failure(struct engine *e, struct call *c)
{
	struct verdict v = {.call = c->rec->id,
			    .kind = "result",
			    .func = c->name,
			    .grade = "differs",
			    .note = "the call failed when recorded and did not fail alike here"};

	if (driver_error_is_fault(c->rec->result)) {
		if (e->dead)
			fault_verdict(e, c, "unverified", "the context had already ended by another fault");
		else if (c->result == c->rec->result)
			fault_verdict(e, c, "equal", "the recorded fault was reproduced");
		else if (e->any_doubt)
			fault_verdict(e, c, "unverified", doubt_note(e, e->any_doubt));
		else
			fault_verdict(e, c, e->tainted ? "unverified" : "differs",
				      c->result ? "another error than recorded"
						: "the recorded fault did not occur");
		e->sticky = c->rec->result;
		return;
	}
	if (c->result == c->rec->result)
		return;
	snprintf(v.want, sizeof(v.want), "%s", driver_error_name(c->rec->result));
	snprintf(v.got, sizeof(v.got), "%s", driver_error_name(c->result));
	result_verdict(e->out, &v);
	e->counts.result_differs++;
}

void check_result(struct engine *e, struct call *c)
{
	if (c->rec->result)
		check_recorded_failure(e, c);
	else if (driver_error_is_fault(c->result))
		new_fault(e, c);
	else if (c->result && module_is_load(c) && !(c->f && !strncmp(c->f->base, "cuLink", 6)))
		return; /* said by modules.c; its launches are refused one by one */
	else if (c->result && c->f && !strcmp(c->f->base, "cuInit"))
		e->no_device = c->result;
	else if (c->result && has_effect(c))
		engine_taint(e, c->rec->id, "%s failed: %s", c->name, driver_error_name(c->result));
	else if (c->result)
		engine_say(e, c->rec->id, "warning", "%s succeeded when recorded and failed here: %s",
			   c->name, driver_error_name(c->result));
}
