/* SPDX-License-Identifier: Apache-2.0
 *
 * What came back from a call: recorded outputs are laid beside live ones, and every handle found at the same
 * place in both is the same object.
 */
#include <string.h>

#include "replay/engine.h"

const struct api_memory *engine_memory(struct engine *e, int phase)
{
	return &e->memory_view[phase];
}

static bool is_out_pointer(const struct api_func *f, unsigned p)
{
	const struct api_param *q = &f->params[p];

	return (q->dir & API_OUT) && q->payload == API_PAYLOAD_NONE && !(q->flags & API_PARAM_POLY_EACH) &&
	       api_types[q->type].kind == API_KIND_POINTER;
}

bool call_recorded_out(struct engine *e, const struct call *c, unsigned p, uint64_t *value)
{
	const struct api_type *t = api_pointee(c->f, p, c->rec->args);
	const struct api_memory *mem = engine_memory(e, API_PHASE_EXIT);
	int slot = api_out_slot(c->f, p);
	const void *bytes;

	*value = 0;
	if (!c->rec->args[p] || !t || t->size > 8)
		return false;
	if (slot >= 0 && slot < TRACE_MAX_OUTS && c->rec->outs_valid >> slot & 1) {
		*value = c->rec->outs[slot];
		return true;
	}
	bytes = mem->read(mem->ctx, c->rec->args[p], t->size);
	if (bytes)
		memcpy(value, bytes, t->size);
	return bytes != NULL;
}

static void learn(struct engine *e, const struct api_type *t, const uint8_t *rec, const uint8_t *live)
{
	uint64_t r = 0, l = 0;

	switch (t->kind) {
	case API_KIND_HANDLE:
		memcpy(&r, rec, t->size);
		memcpy(&l, live, t->size);
		if (r && l)
			handles_set(&e->handles, t->def, r, l);
		break;
	case API_KIND_ARRAY:
		for (unsigned i = 0; i < t->count; i++)
			learn(e, &api_types[t->elem], rec + (size_t)i * api_types[t->elem].size,
			      live + (size_t)i * api_types[t->elem].size);
		break;
	case API_KIND_STRUCT: {
		const struct api_struct *s = &api_structs[t->def];

		for (unsigned i = 0; i < s->nfields; i++)
			learn(e, &api_types[s->fields[i].type], rec + s->fields[i].offset,
			      live + s->fields[i].offset);
		break;
	}
	default: break;
	}
}

/* Elements that args.c made room for: the count before the call, which a trace may say was smaller. */
static uint64_t room(struct engine *e, const struct call *c, unsigned p)
{
	uint64_t n = api_param_len(c->f, p, c->rec->args, engine_memory(e, API_PHASE_ENTER));

	return c->f->params[p].flags & API_PARAM_LEN_AFTER && n < 512 ? 512 : n;
}

static void learn_array(struct engine *e, const struct call *c, unsigned p)
{
	const struct api_memory *mem = engine_memory(e, API_PHASE_EXIT);
	const struct api_type *t = api_pointee(c->f, p, c->rec->args);
	uint64_t n = t ? api_param_len(c->f, p, c->rec->args, mem) : 0;
	const uint8_t *live = (const uint8_t *)(uintptr_t)c->args[p];

	if (!t || t->kind == API_KIND_BYTES || !live)
		return;
	if (n && n > room(e, c, p))
		n = room(e, c, p);
	for (uint64_t i = 0; i < n; i++) {
		const uint8_t *rec = mem->read(mem->ctx, c->rec->args[p] + i * t->size, t->size);

		if (!rec)
			break;
		learn(e, t, rec, live + i * t->size);
	}
}

void call_learn(struct engine *e, struct call *c)
{
	for (unsigned p = 0; p < c->f->nparams; p++) {
		const struct api_type *t;
		uint64_t recorded;

		if (!is_out_pointer(c->f, p) || !c->args[p])
			continue;
		t = api_pointee(c->f, p, c->rec->args);
		if (t && t->size <= 8 && c->f->params[p].len < 0 && call_recorded_out(e, c, p, &recorded))
			learn(e, t, (const uint8_t *)&recorded, (const uint8_t *)(uintptr_t)c->args[p]);
		else
			learn_array(e, c, p);
	}
}

bool call_returns_unknown_handle(struct engine *e, const struct call *c)
{
	uint64_t recorded, live;

	for (unsigned p = 0; p < c->f->nparams; p++) {
		const struct api_type *t;

		if (!is_out_pointer(c->f, p))
			continue;
		t = api_pointee(c->f, p, c->rec->args);
		if (!t || t->kind != API_KIND_HANDLE || !c->rec->args[p])
			continue;
		if (!call_recorded_out(e, c, p, &recorded) ||
		    !handles_get(&e->handles, t->def, recorded, &live))
			return true;
	}
	return false;
}

void call_forget_destroyed(struct engine *e, const struct call *c)
{
	for (unsigned p = 0; p < c->f->nparams; p++) {
		const struct api_param *q = &c->f->params[p];
		const struct api_type *t = &api_types[q->type];

		if ((q->flags & API_PARAM_DESTROYS) && t->kind == API_KIND_HANDLE)
			handles_remove(&e->handles, t->def, c->rec->args[p]);
	}
}
