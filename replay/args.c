/* SPDX-License-Identifier: Apache-2.0
 *
 * A call's arguments for the target: recorded host memory is laid out again in the call's arena, with handles
 * and addresses inside it exchanged for live ones, guided by api/'s description. What the call writes gets
 * zeroed memory.
 */
#include <string.h>

#include "replay/engine.h"

#define MAX_DEPTH         8
#define OUT_SLACK         64          /* bytes after an output: a newer driver may know a longer struct */
#define MAX_OUTPUT        (64u << 20) /* of one described output; more is a misread length */
#define MAX_STRING        (1u << 20)
#define STREAM_PER_THREAD 2 /* CU_STREAM_PER_THREAD */

struct rebuild {
	struct engine *e;
	struct call *c;
	const struct api_memory *mem;
	unsigned depth;
};

static void relocate(struct rebuild *r, const struct api_type *t, const uint8_t *rec, uint8_t *live,
		     const struct api_struct *in, const uint8_t *base, size_t left);

static void refuse(struct call *c, const char *why)
{
	if (!c->refused)
		c->refused = why;
}

/* Stands for every callback of the program: its code is not here. */
static uint64_t callback(void)
{
	return 0;
}

static uint64_t callback_address(void)
{
	return (uint64_t)(uintptr_t)callback;
}

static uint64_t live_handle(struct rebuild *r, const struct api_type *t, uint64_t recorded)
{
	uint64_t live;

	/* The default stream of a thread is a stream of ours: one dispatcher stands for all threads. */
	if (t->def == r->e->handles.stream_kind &&
	    (recorded == STREAM_PER_THREAD || (!recorded && r->c->f->flags & API_FUNC_PTSZ)))
		return contexts_thread_stream(r->e, r->c->thread);
	if (handles_get(&r->e->handles, t->def, recorded, &live))
		return live;
	refuse(r->c, arena_printf(&r->c->arena,
				  "%s 0x%llx was not created in the recorded part, or its creation failed",
				  api_handles[t->def].name, (unsigned long long)recorded));
	return 0;
}

/* A host pointer whose target is not described: memory that the driver knows, a buffer of ours, or nothing.
 */
static uint64_t live_opaque(struct rebuild *r, uint64_t recorded)
{
	bool found;
	uint64_t sub = transfers_substitute(r->c, recorded, &found);

	if (found)
		return sub;
	return addresses_find(&r->e->addresses, recorded) ? addresses_to_live(&r->e->addresses, recorded) : 0;
}

static const char *read_string(const struct api_memory *mem, uint64_t addr)
{
	for (size_t n = 1; n < MAX_STRING; n++) {
		const char *s = mem->read(mem->ctx, addr, n);

		if (!s)
			return NULL;
		if (!s[n - 1])
			return s;
	}
	return NULL;
}

static uint64_t rebuild_string(struct rebuild *r, uint64_t addr)
{
	const char *s = addr ? read_string(r->mem, addr) : NULL;

	if (addr && !s)
		r->c->memory_missing = true;
	return s ? (uint64_t)(uintptr_t)arena_strdup(&r->c->arena, s) : 0;
}

/* `count` elements of type t that the call reads at recorded address addr. */
static uint64_t rebuild_input(struct rebuild *r, const struct api_type *t, uint64_t addr, uint64_t count)
{
	size_t size = t->kind == API_KIND_BYTES ? 1 : t->size, bytes;
	const uint8_t *rec;
	uint8_t *live;

	if (!addr || !count)
		return 0;
	if (r->depth >= MAX_DEPTH || __builtin_mul_overflow(count, size, &bytes) || !bytes)
		return 0;
	rec = r->mem->read(r->mem->ctx, addr, bytes);
	live = rec ? arena_zalloc(&r->c->arena, bytes + OUT_SLACK) : NULL;
	if (!live) {
		r->c->memory_missing = true;
		return 0;
	}
	memcpy(live, rec, bytes);
	r->depth++;
	for (uint64_t i = 0; i < count && t->kind != API_KIND_BYTES; i++)
		relocate(r, t, rec + i * size, live + i * size, NULL, NULL, size);
	r->depth--;
	return (uint64_t)(uintptr_t)live;
}

static void relocate_word(struct rebuild *r, const struct api_type *t, const uint8_t *rec, uint8_t *live)
{
	uint64_t w = 0;
	size_t n = t->size < 8 ? t->size : 8;

	memcpy(&w, rec, n);
	switch (t->kind) {
	case API_KIND_HANDLE: w = live_handle(r, t, w); break;
	case API_KIND_DEVPTR: {
		bool found;
		uint64_t sub = transfers_substitute(r->c, w, &found);

		w = found ? sub : addresses_to_live(&r->e->addresses, w);
		break;
	}
	case API_KIND_CALLBACK: w = w ? callback_address() : 0; break;
	case API_KIND_STRING: w = rebuild_string(r, w); break;
	default: w = live_opaque(r, w); break;
	}
	memcpy(live, &w, n);
}

static void relocate_pointer(struct rebuild *r, const struct api_field *f, const struct api_struct *in,
			     const uint8_t *base, const uint8_t *rec, uint8_t *live)
{
	const struct api_type *t = &api_types[f->type];
	int64_t count = 1;
	uint64_t w;
	bool found;

	memcpy(&w, rec, 8);
	if (f->len >= 0)
		count = api_eval(f->len, r->c->f, r->c->rec->args, base, in, r->mem);
	if (f->payload)
		w = 0; /* kernel arguments: launches.c */
	else if (t->kind == API_KIND_STRING)
		w = rebuild_string(r, w);
	else if (w) {
		uint64_t sub = transfers_substitute(r->c, w, &found);

		w = found ? sub : rebuild_input(r, &api_types[t->elem], w, count < 0 ? 0 : (uint64_t)count);
	}
	memcpy(live, &w, 8);
}

static bool field_is_active(struct rebuild *r, const struct api_field *f, const struct api_struct *s,
			    const uint8_t *own, const struct api_struct *in, const uint8_t *base)
{
	const uint8_t *tag_base = !s->is_union || s->self_tagged ? own : base;
	const struct api_struct *tag = !s->is_union || s->self_tagged ? s : in;

	if (f->active < 0)
		return !s->is_union || s->nfields == 1;
	return tag_base && api_eval(f->active, r->c->f, r->c->rec->args, tag_base, tag, r->mem);
}

/* A program built for an older CUDA passes a shorter struct: fields beyond what was recorded are left alone.
 */
static void relocate_fields(struct rebuild *r, const struct api_struct *s, const uint8_t *rec, uint8_t *live,
			    const struct api_struct *in, const uint8_t *base, size_t left)
{
	for (unsigned i = 0; i < s->nfields; i++) {
		const struct api_field *f = &s->fields[i];
		const struct api_type *t = &api_types[f->type];

		if ((size_t)f->offset + t->size > left || !field_is_active(r, f, s, rec, in, base))
			continue;
		if (t->kind == API_KIND_POINTER || t->kind == API_KIND_STRING)
			relocate_pointer(r, f, s->is_union ? in : s, s->is_union ? base : rec,
					 rec + f->offset, live + f->offset);
		else
			relocate(r, t, rec + f->offset, live + f->offset, s, rec, left - f->offset);
	}
}

static void relocate(struct rebuild *r, const struct api_type *t, const uint8_t *rec, uint8_t *live,
		     const struct api_struct *in, const uint8_t *base, size_t left)
{
	switch (t->kind) {
	case API_KIND_HANDLE:
	case API_KIND_DEVPTR:
	case API_KIND_CALLBACK:
	case API_KIND_OPAQUE:
	case API_KIND_STRING:
	case API_KIND_POINTER: relocate_word(r, t, rec, live); break;
	case API_KIND_ARRAY:
		for (unsigned i = 0; i < t->count; i++) {
			size_t at = (size_t)i * api_types[t->elem].size;

			relocate(r, &api_types[t->elem], rec + at, live + at, in, base, left - at);
		}
		break;
	case API_KIND_STRUCT:
	case API_KIND_UNION: relocate_fields(r, &api_structs[t->def], rec, live, in, base, left); break;
	default: break;
	}
}

static uint64_t output_bytes(struct rebuild *r, unsigned p)
{
	const struct api_type *t = api_pointee(r->c->f, p, r->c->rec->args);
	uint64_t n = api_param_len(r->c->f, p, r->c->rec->args, r->mem), bytes;
	size_t size = !t || t->kind == API_KIND_BYTES || !t->size ? 1 : t->size;

	/* A length that is only known after the call: a parameter of its own says how much room there is;
	 * when even that is not recorded, room for any fixed-size answer. */
	if (r->c->f->params[p].flags & API_PARAM_LEN_AFTER)
		n = n > 512 ? n : 512;
	if (__builtin_mul_overflow(n, size, &bytes) || bytes > MAX_OUTPUT) {
		refuse(r->c, "an output's recorded length is out of range");
		return OUT_SLACK;
	}
	return bytes + OUT_SLACK;
}

/* An array of pointers to values: the array is ours, each value gets room of its own. */
static uint64_t output_pointers(struct rebuild *r, unsigned p)
{
	uint64_t n = api_param_len(r->c->f, p, r->c->rec->args, r->mem);
	uint64_t *array = n < 4096 ? arena_array(&r->c->arena, n + 1, sizeof(*array)) : NULL;

	for (uint64_t i = 0; array && i < n; i++)
		array[i] = (uint64_t)(uintptr_t)arena_zalloc(&r->c->arena, 256);
	return (uint64_t)(uintptr_t)array;
}

static uint64_t rebuild_pointer(struct rebuild *r, unsigned p)
{
	const struct api_param *q = &r->c->f->params[p];
	uint64_t addr = r->c->rec->args[p];
	const struct api_type *t = api_pointee(r->c->f, p, r->c->rec->args);

	if (!addr)
		return 0;
	if (q->flags & API_PARAM_POLY_EACH)
		return output_pointers(r, p);
	if (!t) {
		refuse(r->c, "a parameter's type depends on a value that is not known");
		return 0;
	}
	if (q->dir & API_IN) {
		uint64_t n = api_param_len(r->c->f, p, r->c->rec->args, r->mem);

		return rebuild_input(r, t, addr, n);
	}
	return (uint64_t)(uintptr_t)arena_zalloc(&r->c->arena, output_bytes(r, p));
}

static uint64_t rebuild_by_value(struct rebuild *r, const struct api_type *t, uint64_t addr)
{
	const uint8_t *rec = r->mem->read(r->mem->ctx, addr, t->size);
	uint8_t *live = arena_zalloc(&r->c->arena, t->size + 8u);

	if (!rec || !live) {
		r->c->memory_missing = true;
		return (uint64_t)(uintptr_t)live;
	}
	memcpy(live, rec, t->size);
	relocate(r, t, rec, live, NULL, NULL, t->size);
	return (uint64_t)(uintptr_t)live;
}

static uint64_t rebuild_param(struct rebuild *r, unsigned p)
{
	const struct api_param *q = &r->c->f->params[p];
	const struct api_type *t = &api_types[q->type];
	uint64_t w = r->c->rec->args[p];

	if (q->payload != API_PAYLOAD_NONE && t->kind != API_KIND_DEVPTR)
		return 0; /* bound afterwards */
	if (q->abi == API_ABI_MEMORY)
		return rebuild_by_value(r, t, w);
	switch (t->kind) {
	case API_KIND_HANDLE: return live_handle(r, t, w);
	case API_KIND_DEVPTR: return addresses_to_live(&r->e->addresses, w);
	case API_KIND_STRING: return rebuild_string(r, w);
	case API_KIND_CALLBACK: return w ? callback_address() : 0;
	case API_KIND_OPAQUE: return q->flags & API_PARAM_USERDATA ? 0 : live_opaque(r, w);
	case API_KIND_POINTER:
		if (q->flags & API_PARAM_HOSTADDR)
			return live_opaque(r, w);
		return rebuild_pointer(r, p);
	default: return w;
	}
}

bool call_rebuild(struct engine *e, struct call *c)
{
	struct rebuild r = {.e = e, .c = c, .mem = engine_memory(e, API_PHASE_ENTER)};

	if (c->rec->nargs < c->f->nparams) {
		refuse(c, "fewer arguments were recorded than the function has");
		return false;
	}
	if (!driver_call_fits(c->f)) {
		refuse(c, "its arguments need more stack than the replayer passes");
		return false;
	}
	for (unsigned p = 0; p < c->f->nparams; p++)
		c->args[p] = rebuild_param(&r, p);
	if (c->memory_missing)
		refuse(c, "host memory that it read was not recorded");
	return !c->refused;
}

bool call_takes_image(const struct api_func *f)
{
	for (unsigned p = 0; p < f->nparams; p++)
		if (f->params[p].payload == API_PAYLOAD_IMAGE)
			return true;
	return !strcmp(f->base, "cuModuleLoad") || !strcmp(f->base, "cuLibraryLoadFromFile") ||
	       !strcmp(f->base, "cuLinkAddFile"); /* by file name */
}

bool call_takes_payload(const struct api_func *f)
{
	for (unsigned p = 0; p < f->nparams; p++)
		if (f->params[p].payload != API_PAYLOAD_NONE)
			return true;
	/* copies whose host side is a field of a struct, an array element or a unified address */
	return !strncmp(f->base, "cuMemcpy", 8) || !strncmp(f->base, "cuGraph", 7) || call_takes_image(f) ||
	       !strcmp(f->base, "cuLinkComplete"); /* the image that came out */
}

int call_param_index(const struct api_func *f, const char *name)
{
	for (unsigned p = 0; p < f->nparams; p++)
		if (!strcmp(f->params[p].name, name))
			return (int)p;
	return -1;
}
