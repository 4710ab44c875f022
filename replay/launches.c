/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel launches. The recorded parameter block goes to the driver as one packed buffer, so a launch can be
 * repeated without knowing the kernel's parameters; they are needed only where pointers have to be rewritten.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"
#include "replay/extension_client.h"
#include "replay/narrow.h"
#include "replay/repeat.h"
#include "replay/visit.h"

/* CU_LAUNCH_PARAM_END, _BUFFER_POINTER, _BUFFER_SIZE of cuLaunchKernel's `extra`. */
enum { EXTRA_END = 0, EXTRA_POINTER = 1, EXTRA_SIZE = 2 };

struct params {
	uint8_t *bytes;
	size_t size;
};

static int param_of(const struct api_func *f, enum api_payload payload)
{
	for (unsigned p = 0; p < f->nparams; p++)
		if (f->params[p].payload == payload)
			return (int)p;
	return -1;
}

static bool load_params(struct engine *e, struct call *c, const struct trace_launch *l, struct params *out)
{
	struct diag d = DIAG_INIT;
	void *bytes;

	memset(out, 0, sizeof(*out));
	if (!l->params)
		return true;
	bytes = trace_buffer_load(e->trace, l->params, &out->size, &d);
	out->bytes = bytes ? arena_alloc(&c->arena, out->size + 16, 16) : NULL;
	if (out->bytes)
		memcpy(out->bytes, bytes, out->size);
	free(bytes);
	if (!out->bytes)
		c->refused = arena_printf(&c->arena, "its parameters can't be read: %s", d.what);
	return out->bytes != NULL;
}

/* Handles of textures and surfaces that the driver made with other values than when it was recorded. */
static void rewrite_handles(struct engine *e, const struct trace_kernel *k, struct params *p)
{
	for (unsigned i = 0; k && i < k->nparams; i++) {
		const struct trace_kernel_param *q = &k->params[i];
		bool texture = q->elem_type && !strcmp(q->elem_type, "texref");
		bool surface = q->elem_type && !strcmp(q->elem_type, "surfref");
		uint64_t recorded, live;

		if (q->is_pointer || q->bytes != 8 || (!texture && !surface) || q->offset > p->size ||
		    p->size - q->offset < 8)
			continue;
		memcpy(&recorded, p->bytes + q->offset, 8);
		if (handles_get(&e->handles, handle_kind_find(texture ? "CUtexObject" : "CUsurfObject"),
				recorded, &live))
			memcpy(p->bytes + q->offset, &live, 8);
	}
}

/* A typed pointer is rewritten as such; inside a struct passed by value any aligned word may be one; a
 * scalar never is. Without a description every aligned word may be. */
static void rewrite_params(struct engine *e, const struct trace_kernel *k, struct params *p)
{
	struct addresses *a = &e->addresses;

	if (!a->nmoved)
		return;
	if (!k || !k->nparams)
		a->rewritten_words += addresses_rewrite(a, p->bytes, p->size);
	for (unsigned i = 0; k && i < k->nparams; i++) {
		const struct trace_kernel_param *q = &k->params[i];

		if (q->bytes < 8 || q->offset > p->size || q->bytes > p->size - q->offset)
			continue;
		/* A 64-bit number may be an address that the kernel converts (cvta): nothing but its value
		 * tells. */
		if (q->is_pointer || q->bytes == 8)
			a->rewritten_params += addresses_rewrite(a, p->bytes + q->offset, 8);
		else
			a->rewritten_words += addresses_rewrite(a, p->bytes + q->offset, q->bytes);
	}
}

/* Which allocations the kernel writes, and as what type: comparisons of later copies need it. */
static void note_access(struct engine *e, const struct call *c, const struct trace_launch *l,
			const struct trace_kernel *k, const struct params *recorded)
{
	for (unsigned i = 0; k && i < k->nparams; i++) {
		const struct trace_kernel_param *q = &k->params[i];
		struct address_range *r;
		uint64_t w;

		if (!q->is_pointer || q->bytes != 8 || q->offset > recorded->size ||
		    recorded->size - q->offset < 8)
			continue;
		memcpy(&w, recorded->bytes + q->offset, 8);
		r = addresses_find(&e->addresses, w);
		if (!r)
			continue;
		if (q->is_read && r->host_visible && !e->has_host_writes && !e->tainted &&
		    e->keyframe_at != c->rec->id)
			engine_taint(e, c->rec->id,
				     "%s reads %s memory that the program's CPU code may have written; "
				     "traces of this "
				     "version do not have such writes",
				     k->name, r->kind);
		if (q->is_written) {
			r->writer_call = c->rec->id;
			r->writer_kernel = l->kernel;
			snprintf(r->param, sizeof(r->param), "%s", q->name ? q->name : "");
		}
		if (q->elem_type && (q->is_written || !r->elem_type[0]))
			snprintf(r->elem_type, sizeof(r->elem_type), "%s", q->elem_type);
	}
}

static bool pass_by_pointers(struct call *c, const struct trace_kernel *k, const struct params *p, int slot)
{
	void **v;

	if (!p->size)
		return true;
	if (!k || !k->nparams) {
		c->refused = "it takes parameters one by one, and the kernel's parameters are not known";
		return false;
	}
	v = arena_array(&c->arena, k->nparams, sizeof(*v));
	for (unsigned i = 0; v && i < k->nparams; i++) {
		if (k->params[i].offset > p->size || k->params[i].bytes > p->size - k->params[i].offset) {
			c->refused = "the recorded parameter block is shorter than the kernel's parameters";
			return false;
		}
		v[i] = p->bytes + k->params[i].offset;
	}
	c->args[slot] = word(v);
	return v != NULL;
}

static bool pass_packed(struct call *c, const struct params *p, int slot)
{
	uint64_t *extra = arena_array(&c->arena, 8, sizeof(*extra));

	if (!p->size)
		return true;
	if (!extra)
		return false;
	extra[5] = p->size;
	extra[0] = EXTRA_POINTER;
	extra[1] = word(p->bytes);
	extra[2] = EXTRA_SIZE;
	extra[3] = word(&extra[5]);
	extra[4] = EXTRA_END;
	c->args[slot] = word(extra);
	return true;
}

/* A keyframe has those variables whose addresses the program asked for. */
static void doubt_variables(struct engine *e, const struct call *c, const struct trace_kernel *k)
{
	if (e->keyframe_at && !e->keyframe_has_variables && !e->tainted && k &&
	    recorded_ptx_reads_written_variables(e, k))
		engine_taint(
			e, c->rec->id,
			"%s reads variables of its module that kernels write: the keyframe has not what they "
			"held",
			k->name);
}

static bool bind_params(struct engine *e, struct call *c, const struct trace_launch *l,
			const struct trace_kernel *k)
{
	int extra = param_of(c->f, API_PAYLOAD_EXTRA), pointers = param_of(c->f, API_PAYLOAD_PARAMS);
	struct params p, recorded;

	if (!load_params(e, c, l, &p))
		return false;
	if (!p.size && k && k->param_bytes) {
		c->refused = "its parameters were not recorded";
		return false;
	}
	recorded.size = p.size;
	recorded.bytes = arena_alloc(&c->arena, p.size + 1, 16);
	if (!recorded.bytes)
		return false;
	if (p.size)
		memcpy(recorded.bytes, p.bytes, p.size);
	note_access(e, c, l, k, &recorded);
	doubt_variables(e, c, k);
	doubt_launch(e, c, l, k, recorded.bytes, recorded.size);
	rewrite_params(e, k, &p);
	rewrite_handles(e, k, &p);
	if (extra >= 0)
		return pass_packed(c, &p, extra);
	return pointers < 0 || pass_by_pointers(c, k, &p, pointers);
}

static void after_launch(struct engine *e, struct call *c, const struct trace_launch *l)
{
	if (shard_has(e, c->rec->id))
		e->counts.launches++;
	e->last_launch = c->rec->id;
	e->last_kernel = l->kernel;
	recorded_ptx_note_launch(e, c->rec->id, l->kernel ? trace_kernel(e->trace, l->kernel) : NULL);
	if (e->blame)
		blame_note_launch(e, c->rec->id);
}

static void make_launch(struct engine *e, struct call *c, const struct trace_launch *known)
{
	struct trace_launch l = {0};
	const struct trace_kernel *k;
	const char *why;

	if (known)
		l = *known;
	k = l.kernel ? trace_kernel(e->trace, l.kernel) : NULL;
	why = k ? module_missing(e, k->module) : NULL;
	if (why) {
		c->refused = why;
		return;
	}
	if (!known && (param_of(c->f, API_PAYLOAD_PARAMS) >= 0 || param_of(c->f, API_PAYLOAD_EXTRA) >= 0)) {
		c->refused = "its parameters were not recorded";
		return;
	}
	if (!strcmp(c->f->base, "cuLaunchCooperativeKernelMultiDevice")) {
		c->refused = "launches on several devices at once are not replayed";
		return;
	}
	if (!call_rebuild(e, c) || !bind_params(e, c, &l, k))
		return;
	if (doubt_leaves_out(e, c->rec->id, l.kernel)) {
		e->counts.launches_left_out++;
		c->left_out = true;
		return;
	}
	if (contexts_enter(e, c->thread)) {
		blame_arm(e);
		narrow_before(e, c);
	}
	repeat_before(e, c, &l, k);
	visit_arrived(e, c);
	call_issue(e, c);
	narrow_after(e, c);
	if (!c->refused && !c->result)
		after_launch(e, c, &l);
}

/* Types and writers of buffers, which later comparisons need, without the launch. */
static void note_only(struct engine *e, struct call *c, const struct trace_launch *l)
{
	const struct trace_kernel *k = l->kernel ? trace_kernel(e->trace, l->kernel) : NULL;
	struct params p;

	if (load_params(e, c, l, &p))
		note_access(e, c, l, k, &p);
	c->refused = NULL;
}

/* NULL: it was made. */
static const char *why_not_made(const struct call *c)
{
	if (c->left_out)
		return "it faults here";
	if (c->refused)
		return c->refused;
	return c->result && !driver_error_is_fault(c->result) ? driver_error_name(c->result) : NULL;
}

static void count_launch(struct engine *e, const struct call *c)
{
	if (e->board && !e->blame && !e->probe_calls && shard_has(e, c->rec->id))
		atomic_fetch_add(&e->board->launches, 1);
}

bool launch_stands_in(struct engine *e, struct call *c)
{
	const struct trace_kernel *k;
	struct trace_launch l;

	if (!c->f || !(c->f->flags & API_FUNC_LAUNCH) || c->rec->result || shard_has(e, c->rec->id) ||
	    excerpt_wants(e, c->rec->id) || trace_launch_get(e->trace, c->rec->id, &l))
		return false;
	/* Variables whose address the program never asked for are in no recorded contents: it is made, though not judged. */
	k = l.kernel ? trace_kernel(e->trace, l.kernel) : NULL;
	if ((k && recorded_ptx_writes_variables(e, k)) || !written_stand_in(e, c))
		return false;
	note_only(e, c, &l);
	return true;
}

void launch_replay(struct engine *e, struct call *c)
{
	struct trace_launch l;
	bool known = trace_launch_get(e->trace, c->rec->id, &l) == 0;
	const char *why;
	bool wanted = known && !c->rec->result && excerpt_wants(e, c->rec->id);

	if (wanted)
		excerpt_before(e, c, &l);
	if (wanted && !shard_has(e, c->rec->id) && written_stand_in(e, c)) {
		note_only(e, c, &l);
		return;
	}
	count_launch(e, c);
	written_flush(e, c);
	make_launch(e, c, known ? &l : NULL);
	visit_left(e, c);
	why = why_not_made(c);
	if (known && why && !c->rec->result && written_stand_in(e, c)) {
		note_only(e, c, &l);
		c->result = 0;
		written_injected(e, c, why, l.kernel);
	}
	if (wanted)
		excerpt_after(e, c);
}
