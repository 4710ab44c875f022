/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between host and device. The program's host memory is not here: each upload reads the recorded
 * bytes, each download gets a buffer of its own, so that a staging buffer that the program used again at once
 * loses nothing. Buffers of asynchronous copies live, and results wait, until the copy's stream is known to
 * be done.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"

#define MAX_PENDING       1024u        /* copies that nothing waited for; then the replayer does */
#define MAX_PENDING_BYTES (256u << 20) /* likewise */

/* ---- before the call ---------------------------------------------------- */

static void bind_range(struct engine *e, struct binding *b)
{
	struct address_range *r = b->device_address ? addresses_find(&e->addresses, b->device_address) : NULL;

	b->doubt = doubt_of(e, r);
	b->wrong = r ? r->wrong : 0;
	if (!r)
		return;
	if (r->owner)
		recorded_ptx_describe_variable(e, r);
	b->allocation = r->id;
	b->base = r->base;
	b->writer_call = r->writer_call;
	b->writer_kernel = r->writer_kernel;
	memcpy(b->elem_type, r->elem_type, sizeof(b->elem_type));
}

/* Words are aligned on the device: a row that starts at an odd address has its first word a little later. */
static void rewrite_upload(struct engine *e, struct binding *b)
{
	size_t row = b->width ? b->width : b->bytes;

	if (!e->addresses.nmoved || !row)
		return;
	for (size_t at = 0; at + row <= b->bytes; at += row) {
		size_t skip = (8 - (b->device_address & 7)) & 7;

		if (skip < row)
			e->addresses.rewritten_words +=
				addresses_rewrite(&e->addresses, b->data + at + skip, row - skip);
	}
}

static int load_upload(struct engine *e, struct binding *b, struct diag *d)
{
	size_t bytes = 0;

	b->data = trace_buffer_load(e->trace, b->buffer, &bytes, d);
	b->bytes = bytes;
	return b->data ? 0 : d->code;
}

/* Bytes that the call's arguments say; 0 when only a struct does. */
static uint64_t described_bytes(struct engine *e, const struct call *c, int p)
{
	uint64_t n = 0;
	int count;

	if (!c->f || p < 0 || (unsigned)p >= c->f->nparams)
		return 0;
	count = call_param_index(c->f, "ByteCount");
	if (api_types[c->f->params[p].type].kind == API_KIND_POINTER &&
	    c->f->params[p].payload != API_PAYLOAD_NONE)
		n = api_param_len(c->f, (unsigned)p, c->rec->args, engine_memory(e, API_PHASE_ENTER));
	else if (api_types[c->f->params[p].type].kind == API_KIND_DEVPTR && count >= 0)
		n = c->rec->args[count];
	return n < UINT64_C(1) << 40 ? n : 0;
}

/* The driver is going to read, or write, what the arguments say, whatever the trace has. */
static int make_room(struct engine *e, const struct call *c, struct binding *b, struct diag *d)
{
	uint64_t described = described_bytes(e, c, b->param);

	if (b->kind == BIND_H2D && described > b->bytes)
		return diag_set(d, CUTRACE_ECORRUPT, "",
				"only %zu of the %llu bytes that it read are in the trace", b->bytes,
				(unsigned long long)described);
	if (b->kind == BIND_H2D)
		return 0;
	if (!b->buffer)
		b->bytes = described;
	b->data = calloc(1, (described > b->bytes ? described : b->bytes) + 64);
	return b->data ? 0 : diag_set(d, CUTRACE_ENOMEM, "", "no memory for its result");
}

static int add_binding(struct engine *e, struct call *c, const struct trace_payload *p,
		       enum binding_kind kind, struct diag *d)
{
	struct binding *b = &c->bindings[c->nbindings];
	int64_t bytes;

	if (c->nbindings == CALL_MAX_BINDINGS)
		return diag_set(d, CUTRACE_ENOTSUP, "", "it has more than %d payloads", CALL_MAX_BINDINGS);
	*b = (struct binding){.kind = kind,
			      .param = p->param,
			      .address = p->address,
			      .device_address = p->device_address,
			      .width = p->width,
			      .height = p->height,
			      .depth = p->depth,
			      .buffer = p->buffer};
	bind_range(e, b);
	c->nbindings++;
	if (kind == BIND_H2D && load_upload(e, b, d))
		return d->code;
	if (kind == BIND_D2H && b->buffer) {
		bytes = trace_buffer_bytes(e->trace, b->buffer);
		b->bytes = bytes > 0 ? (size_t)bytes : 0;
	}
	return make_room(e, c, b, d);
}

static bool is_download(const struct call *c, int p)
{
	return c->f && p >= 0 && (unsigned)p < c->f->nparams && c->f->params[p].payload == API_PAYLOAD_D2H;
}

static int bind_one(struct engine *e, struct call *c, const struct trace_payload *p, struct diag *d)
{
	if (!strcmp(p->kind, "h2d"))
		return add_binding(e, c, p, BIND_H2D, d);
	if (!strcmp(p->kind, "d2h"))
		return add_binding(e, c, p, BIND_D2H, d);
	if (!strcmp(p->kind, "image") && p->buffer)
		c->image = *p;
	if (!strcmp(p->kind, "unavailable") && is_download(c, p->param))
		return add_binding(e, c, p, BIND_D2H, d);
	if (!strcmp(p->kind, "unavailable")) {
		c->unavailable = true;
		c->why_unavailable =
			arena_strdup(&c->arena, p->note && *p->note ? p->note : "no reason recorded");
	}
	return 0;
}

static bool has_binding(const struct call *c, int p)
{
	for (unsigned i = 0; i < c->nbindings; i++)
		if (c->bindings[i].param == p)
			return true;
	return false;
}

/* A download whose result was not recorded is made all the same: it costs little and keeps the order. */
static int bind_unrecorded_downloads(struct engine *e, struct call *c, struct diag *d)
{
	int rc = 0;

	for (unsigned p = 0; c->f && p < c->f->nparams && !rc; p++) {
		struct trace_payload none = {.param = (int)p, .address = c->rec->args[p]};

		if (is_download(c, (int)p) && c->rec->args[p] && !has_binding(c, (int)p))
			rc = add_binding(e, c, &none, BIND_D2H, d);
	}
	return rc;
}

int transfers_bind(struct engine *e, struct call *c, struct diag *d)
{
	unsigned n = 0;
	const struct trace_payload *rows =
		!c->f || call_takes_payload(c->f) ? trace_payloads(e->trace, c->rec->id, &n) : NULL;
	struct trace_payload *copy = n ? arena_array(&c->arena, n, sizeof(*copy)) : NULL;
	int rc = 0;

	if (n && !copy)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	if (n)
		memcpy(copy, rows, n * sizeof(*copy));
	for (unsigned i = 0; i < n && !rc; i++)
		rc = bind_one(e, c, &copy[i], d);
	return rc ? rc : bind_unrecorded_downloads(e, c, d);
}

uint64_t transfers_substitute(const struct call *c, uint64_t recorded, bool *found)
{
	*found = false;
	for (unsigned i = 0; recorded && i < c->nbindings; i++)
		if (c->bindings[i].address == recorded) {
			*found = true;
			return word(c->bindings[i].data);
		}
	return 0;
}

/* Pinned and managed memory may be read by kernels where it lies: it gets the bytes that the program's had.
 */
static void mirror(struct engine *e, const struct binding *b)
{
	const struct address_range *r = addresses_find(&e->addresses, b->address);

	if (r && r->host_visible && b->depth <= 1 && b->height <= 1 &&
	    b->bytes <= r->bytes - (b->address - r->base)) {
		memcpy((void *)(uintptr_t)(r->live + (b->address - r->base)), b->data, b->bytes);
		doubt_write(e, b->address, b->bytes, b->kind == BIND_D2H ? b->doubt : 0);
	}
}

/* ---- copies described by a struct --------------------------------------- */

static const struct api_field *field(const struct api_struct *s, const char *side, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "%s%s", side, name);
	for (unsigned i = 0; i < s->nfields; i++)
		if (!strcmp(s->fields[i].name, full))
			return &s->fields[i];
	return NULL;
}

static void set_field(const struct api_struct *s, uint8_t *base, const char *side, const char *name,
		      uint64_t value)
{
	const struct api_field *f = field(s, side, name);

	if (f)
		memcpy(base + f->offset, &value, api_types[f->type].size);
}

static uint64_t get_field(const struct api_struct *s, const uint8_t *base, const char *side, const char *name)
{
	const struct api_field *f = field(s, side, name);
	uint64_t v = 0;

	if (f)
		memcpy(&v, base + f->offset, api_types[f->type].size);
	return v;
}

static uint64_t struct_bytes(const struct api_struct *s, const uint8_t *rec)
{
	uint64_t width = get_field(s, rec, "", "WidthInBytes"), height = get_field(s, rec, "", "Height");
	uint64_t depth = get_field(s, rec, "", "Depth"), bytes;

	if (__builtin_mul_overflow(width, height ? height : 1, &bytes) ||
	    __builtin_mul_overflow(bytes, depth ? depth : 1, &bytes))
		return UINT64_MAX;
	return bytes;
}

/* The host side of a CUDA_MEMCPY2D or 3D becomes our packed buffer. CU_MEMORYTYPE_HOST is 1. */
static void patch_struct(struct engine *e, struct call *c, const struct api_struct *s, uint8_t *live,
			 const uint8_t *rec, struct binding *b)
{
	const char *host = b->kind == BIND_H2D ? "src" : "dst", *dev = b->kind == BIND_H2D ? "dst" : "src";

	if (struct_bytes(s, rec) > b->bytes) {
		c->refused = "fewer bytes are in the trace than it copied";
		return;
	}
	set_field(s, live, host, "XInBytes", 0);
	set_field(s, live, host, "Y", 0);
	set_field(s, live, host, "Z", 0);
	set_field(s, live, host, "MemoryType", 1);
	set_field(s, live, host, "Host", word(b->data));
	/* Packed, whatever shape the trace's row claims: only the struct's own product was checked. */
	b->width = get_field(s, rec, "", "WidthInBytes");
	b->height = get_field(s, rec, "", "Height");
	set_field(s, live, host, "Pitch", b->width);
	set_field(s, live, host, "Height", b->height);
	b->pitch = get_field(s, rec, dev, "Pitch");
	b->slice = b->pitch * get_field(s, rec, dev, "Height");
	if (!b->device_address) {
		b->device_address = get_field(s, rec, dev, "Device") + get_field(s, rec, dev, "XInBytes") +
				    get_field(s, rec, dev, "Y") * b->pitch +
				    get_field(s, rec, dev, "Z") * b->slice;
		bind_range(e, b);
	}
}

void transfers_patch(struct engine *e, struct call *c)
{
	const struct api_memory *mem = engine_memory(e, API_PHASE_ENTER);

	for (unsigned i = 0; i < c->nbindings; i++) {
		struct binding *b = &c->bindings[i];
		const struct api_param *q;
		const struct api_type *t, *elem;
		const uint8_t *rec;

		if (b->kind == BIND_H2D) {
			rewrite_upload(e, b);
			mirror(e, b);
		}
		if (b->param < 0 || (unsigned)b->param >= c->f->nparams)
			continue;
		q = &c->f->params[b->param];
		t = &api_types[q->type];
		elem = t->kind == API_KIND_POINTER ? &api_types[t->elem] : t;
		if (t->kind == API_KIND_POINTER && elem->kind == API_KIND_STRUCT) {
			rec = mem->read(mem->ctx, c->rec->args[b->param], elem->size);
			if (rec && field(&api_structs[elem->def], "src", "Host"))
				patch_struct(e, c, &api_structs[elem->def],
					     (uint8_t *)(uintptr_t)c->args[b->param], rec, b);
		} else if (q->payload != API_PAYLOAD_NONE || t->kind == API_KIND_DEVPTR ||
			   t->kind == API_KIND_OPAQUE) {
			c->args[b->param] = word(b->data);
		}
	}
}

/* ---- after the call ----------------------------------------------------- */

static void free_bindings(struct binding *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(b[i].data);
}

/* not_made: why nothing filled the buffers, or NULL. */
static void check_bindings(struct engine *e, uint64_t call, const char *func, struct binding *b, unsigned n,
			   const char *not_made)
{
	for (unsigned i = 0; i < n; i++)
		if (b[i].kind == BIND_D2H) {
			if (!not_made)
				mirror(e, &b[i]);
			check_copy(e, call, func, &b[i], not_made);
		}
}

static uint64_t live_stream(const struct call *c)
{
	for (unsigned p = 0; p < c->f->nparams; p++)
		if (c->f->params[p].flags & API_PARAM_STREAM)
			return c->args[p];
	return 0;
}

void pending_free(struct pending *p)
{
	free_bindings(p->bindings, p->n);
	free(p->bindings);
	free(p);
}

static void keep_pending(struct engine *e, struct call *c)
{
	struct pending *p = calloc(1, sizeof(*p)), **at = &e->pending;

	if (p)
		p->bindings = malloc(c->nbindings * sizeof(*p->bindings));
	if (!p || !p->bindings) {
		free(p);
		return; /* the buffers leak, which is safe; the result is not checked */
	}
	memcpy(p->bindings, c->bindings, c->nbindings * sizeof(*p->bindings));
	p->n = c->nbindings;
	p->call = c->rec->id;
	p->func = c->name;
	p->live_stream = live_stream(c);
	p->live_context = e->contexts.current;
	if (e->capturing) {
		captures_keep(e, p);
		return;
	}
	e->npending++;
	for (unsigned i = 0; i < p->n; i++)
		e->pending_bytes += p->bindings[i].bytes;
	while (*at)
		at = &(*at)->next;
	*at = p;
}

static const char *why_not_made(const struct call *c)
{
	return c->refused ? c->refused : c->result ? driver_error_name(c->result) : NULL;
}

void transfers_finish(struct engine *e, struct call *c)
{
	bool done = !c->refused && !c->result && !c->rec->result;

	if (!c->nbindings)
		return;
	if (done && (c->f->flags & API_FUNC_ASYNC)) {
		keep_pending(e, c);
		if ((e->pending_bytes > MAX_PENDING_BYTES || e->npending > MAX_PENDING) && !e->capturing)
			transfers_drain(e);
		return;
	}
	if (!c->rec->result)
		check_bindings(e, c->rec->id, c->name, c->bindings, c->nbindings, why_not_made(c));
	free_bindings(c->bindings, c->nbindings);
}

/* Checks and frees those of the list that `of` selects. */
static void settle(struct engine *e, bool (*of)(const struct pending *p, const void *arg), const void *arg)
{
	struct pending **at = &e->pending, *p;

	while ((p = *at)) {
		if (!of(p, arg)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		check_bindings(e, p->call, p->func, p->bindings, p->n, p->not_made);
		for (unsigned i = 0; i < p->n; i++)
			e->pending_bytes -= p->bindings[i].bytes;
		e->npending--;
		pending_free(p);
	}
}

static bool of_context(const struct pending *p, const void *arg)
{
	return p->live_context == *(const uint64_t *)arg;
}

/* NULL, CU_STREAM_LEGACY (1) and CU_STREAM_PER_THREAD (2) are another stream in each context. */
static bool of_stream(const struct pending *p, const void *arg)
{
	const struct pending *waited = arg;

	return p->live_stream == waited->live_stream &&
	       (p->live_stream > 2 || p->live_context == waited->live_context);
}

static bool of_any(const struct pending *p, const void *arg)
{
	(void)p;
	(void)arg;
	return true;
}

void transfers_completed(struct engine *e, struct call *c)
{
	if (!e->pending)
		return;
	if (!strcmp(c->f->base, "cuCtxSynchronize")) {
		/* cuCtxSynchronize_v2 names its context. */
		settle(e, of_context, c->f->nparams ? &c->args[0] : &e->contexts.current);
	} else if (!strcmp(c->f->base, "cuStreamSynchronize")) {
		struct pending waited = {.live_stream = live_stream(c), .live_context = e->contexts.current};

		settle(e, of_stream, &waited);
	}
}

void transfers_drain(struct engine *e)
{
	if (!e->pending)
		return;
	for (struct pending *p = e->pending; p; p = p->next) {
		if (p->live_context != UINT64_MAX && p->live_context != e->contexts.current &&
		    !driver_plain(&e->drv, "cuCtxSetCurrent", 1, p->live_context))
			e->contexts.current = p->live_context;
		if (engine_sync_failed(e, p->call,
				       driver_plain(&e->drv, "cuStreamSynchronize", 1, p->live_stream)))
			p->not_made = "waiting for it failed";
	}
	settle(e, of_any, NULL);
}

void transfers_abandon(struct engine *e)
{
	struct pending *p;

	while ((p = e->pending)) {
		e->pending = p->next;
		pending_free(p);
	}
}

/* ---- who wrote what ----------------------------------------------------- */

static void note_write(struct engine *e, const struct call *c, uint64_t address, uint64_t bytes,
		       const struct address_range *src)
{
	struct address_range *r = addresses_find(&e->addresses, address);

	doubt_write(e, address, bytes, src ? doubt_of(e, src) : 0);
	if (!r)
		return;
	doubt_carry(r, address, bytes, src ? src->wrong : 0);
	r->writer_call = c->rec->id;
	r->writer_kernel = src ? src->writer_kernel : 0;
	if (src && src->elem_type[0])
		memcpy(r->elem_type, src->elem_type, sizeof(r->elem_type));
}

static bool is_device_pointer(const struct api_func *f, unsigned p)
{
	return p < f->nparams && api_types[f->params[p].type].kind == API_KIND_DEVPTR;
}

/* Bytes of a linear copy or fill; 0 when they are not told by one number. */
static uint64_t linear_bytes(const struct call *c)
{
	int count = call_param_index(c->f, "ByteCount"), n = call_param_index(c->f, "N");
	const char *fill = strstr(c->f->base, "MemsetD");

	if (count >= 0)
		return c->rec->args[count];
	if (!fill || n < 0 || strstr(fill, "2D"))
		return 0;
	return c->rec->args[n] * (!strncmp(fill + 7, "32", 2) ? 4 : !strncmp(fill + 7, "16", 2) ? 2 : 1);
}

/* From device to device. cuMemcpyPeer has a context between its addresses. */
static void note_copy(struct engine *e, const struct call *c)
{
	unsigned p = is_device_pointer(c->f, 1) ? 1 : 2;
	const struct address_range *src =
		is_device_pointer(c->f, p) ? addresses_find(&e->addresses, c->rec->args[p]) : NULL;

	note_write(e, c, c->rec->args[0], linear_bytes(c), src);
	if (!src)
		doubt_unknown(e, c);
}

void transfers_note_writes(struct engine *e, const struct call *c)
{
	bool copy = !strncmp(c->f->base, "cuMemcpy", 8), fill = !strncmp(c->f->base, "cuMemset", 8);

	for (unsigned i = 0; i < c->nbindings; i++) {
		const struct binding *b = &c->bindings[i];

		if (b->kind == BIND_H2D && b->device_address)
			note_write(e, c, b->device_address, b->pitch ? 0 : b->bytes, NULL);
	}
	if (c->nbindings || (!copy && !fill))
		return;
	if (!is_device_pointer(c->f, 0))
		doubt_unknown(e, c);
	else if (copy)
		note_copy(e, c);
	else
		note_write(e, c, c->rec->args[0], linear_bytes(c), NULL);
}

/* ---- what the device could see change without a call -------------------- */

static void apply_host_write(struct engine *e, uint64_t call, uint64_t address, uint64_t buffer)
{
	const struct address_range *r = addresses_find(&e->addresses, address);
	struct diag d = DIAG_INIT;
	size_t bytes = 0;
	uint8_t *data = trace_buffer_load(e->trace, buffer, &bytes, &d);
	uint64_t live = addresses_to_live(&e->addresses, address);

	if (!r || !data || bytes > r->bytes - (address - r->base)) {
		engine_taint(e, call, "what the program wrote to 0x%llx without a call can't be restored",
			     (unsigned long long)address);
	} else {
		addresses_rewrite(&e->addresses, data, bytes);
		if (r->host_visible)
			memcpy((void *)(uintptr_t)live, data, bytes);
		else
			driver_plain(&e->drv, "cuMemcpyHtoD_v2", 3, live, word(data), (uint64_t)bytes);
	}
	free(data);
}

void transfers_host_writes(struct engine *e, const struct call *c)
{
	sqlite3_stmt *st;

	if (!e->has_host_writes ||
	    sqlite3_prepare_v2(trace_db(e->trace),
			       "SELECT address, buffer FROM host_write WHERE call = ? ORDER BY id", -1, &st,
			       NULL) != SQLITE_OK)
		return;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)c->rec->id);
	while (sqlite3_step(st) == SQLITE_ROW)
		apply_host_write(e, c->rec->id, (uint64_t)sqlite3_column_int64(st, 0),
				 (uint64_t)sqlite3_column_int64(st, 1));
	sqlite3_finalize(st);
}
