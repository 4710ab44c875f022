/* SPDX-License-Identifier: Apache-2.0
 *
 * payloads: large data arrives in pieces, which may belong to a call of another thread (asynchronous copies).
 * Those are announced in the calling thread's ring; either ring may be read first. The pieces of one payload
 * may lie in the rings of several threads (a driver is free to choose who runs a host function), so that they
 * arrive in any order: what comes early is kept until its turn.
 */
#include <stdlib.h>
#include <string.h>

#include "interpose/collector/internal.h"

#define IMAGE_MAX (1ull << 31) /* larger code images are stored and not analysed */

struct early {
	struct early *next; /* by offset */
	uint64_t offset, bytes;
	uint8_t data[];
};

struct payload {
	struct payload *next;
	uint64_t id, seen; /* seen: bytes written, from the start without a gap */
	struct early *early;
	struct trace_buffer_writer *buffer;
	struct bytes image; /* code is kept for analysis */
};

struct announced {
	struct announced *next;
	struct ring_payload p; /* without data */
	bool arrived;          /* read before the announcement */
};

#define ANNOUNCED_BUCKETS 1024 /* about as many as a stream takes before it makes its program wait */

static struct payload **find(struct process *p, uint64_t id)
{
	struct payload **at = &p->payloads;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static const char *const kinds[] = {[RING_H2D] = "h2d",
				    [RING_D2H] = "d2h",
				    [RING_IMAGE] = "image",
				    [RING_WRITTEN] = "written",
				    [RING_KEYFRAME] = "keyframe"};

/* ---- announcements --------------------------------------------------------------- */

static struct announced **find_announced(struct process *p, uint64_t id)
{
	struct announced **at;

	if (!p->announced)
		p->announced = calloc(ANNOUNCED_BUCKETS, sizeof(*p->announced));
	if (!p->announced)
		return NULL;
	for (at = &p->announced[id % ANNOUNCED_BUCKETS]; *at && (*at)->p.id != id; at = &(*at)->next)
		;
	return at;
}

/* The second of the two removes what the first one left. */
static void announce_or_arrive(struct process *process, const struct ring_payload *p, bool arrived)
{
	struct announced **at = find_announced(process, p->id), *a = at ? *at : NULL;

	if (a && a->arrived != arrived) {
		*at = a->next;
		free(a);
	} else if (at && !a && (a = calloc(1, sizeof(*a)))) {
		memcpy(&a->p, p, sizeof(a->p));
		a->arrived = arrived;
		*at = a;
	}
}

/* Once for a payload: when it is whole, or known to be unavailable. */
static void arrive(struct process *process, const struct ring_payload *p)
{
	if (p->r.flags & RING_PAYLOAD_STAGED)
		announce_or_arrive(process, p, true);
}

/* ---- pieces ---------------------------------------------------------------------- */

static struct payload *begin(struct collector *c, struct process *p, uint64_t id)
{
	struct payload *y = calloc(1, sizeof(*y));

	if (!y)
		return NULL;
	y->id = id;
	y->buffer = c->w ? trace_buffer_begin(c->w) : NULL;
	y->next = p->payloads;
	p->payloads = y;
	p->payload_count++;
	return y;
}

static void write_row(struct collector *c, const struct ring_payload *p, const char *kind, uint64_t buffer,
		      const char *note)
{
	struct trace_payload row = {.call = p->seq,
				    .param = p->param,
				    .kind = kind,
				    .address = p->address,
				    .device_address = p->device_address,
				    .width = p->width,
				    .height = p->height,
				    .depth = p->depth,
				    .buffer = buffer,
				    .note = note};

	if (c->w)
		trace_writer_payload(c->w, &row);
}

static void unavailable(struct collector *c, const struct ring_payload *p)
{
	char note[256];
	size_t n = p->data_bytes < sizeof(note) - 1 ? p->data_bytes : sizeof(note) - 1;

	memcpy(note, p->data, n);
	note[n] = '\0';
	write_row(c, p, "unavailable", 0, note);
}

static void finish(struct collector *c, struct ring *r, struct payload *y, const struct ring_payload *p)
{
	uint64_t buffer = 0;

	if (y->buffer && trace_buffer_end(y->buffer, &buffer, NULL) != 0)
		return;
	write_row(c, p, kinds[p->kind], buffer, NULL);
	if (p->kind == RING_IMAGE) {
		struct open_call *o = drain_find_call(r, p->seq);
		struct image *i = image_add(c, buffer, &y->image);

		if (o) {
			image_drop(c, o->image);
			o->image = i;
		} else {
			image_drop(c, i);
		}
	}
}

static void count(struct collector *c, struct process *process, uint64_t bytes)
{
	process->payload_bytes += bytes;
	c->payload_bytes += bytes;
}

/* In one piece. */
static bool whole(struct collector *c, struct process *process, const struct ring_payload *p)
{
	uint64_t buffer = 0;

	if (p->kind == RING_IMAGE || (~p->r.flags & (RING_PAYLOAD_FIRST | RING_PAYLOAD_LAST)))
		return false;
	if (c->w && trace_writer_buffer(c->w, p->data, p->data_bytes, &buffer) == 0)
		write_row(c, p, kinds[p->kind], buffer, NULL);
	process->payload_count++;
	count(c, process, p->data_bytes);
	arrive(process, p);
	return true;
}

bool payload_copy(struct collector *c, struct ring *r, const struct ring_copy *p)
{
	unsigned kind = p->r.flags & 0xff;
	struct ring_payload row = {.seq = p->seq,
				   .param = p->r.flags >> 8,
				   .address = p->address,
				   .device_address = p->device_address,
				   .width = p->data_bytes,
				   .height = 1,
				   .depth = 1};
	uint64_t buffer = 0;

	if (kind != RING_H2D && kind != RING_D2H)
		return false;
	if (c->w && trace_writer_buffer(c->w, p->data, p->data_bytes, &buffer) == 0)
		write_row(c, &row, kinds[kind], buffer, NULL);
	r->process->payload_count++;
	count(c, r->process, p->data_bytes);
	return true;
}

static void keep_early(struct payload *y, const struct ring_payload *p)
{
	struct early **at = &y->early, *e = malloc(sizeof(*e) + p->data_bytes);

	if (!e)
		return; /* the payload stays incomplete, and is unavailable in the end */
	while (*at && (*at)->offset < p->offset)
		at = &(*at)->next;
	e->offset = p->offset;
	e->bytes = p->data_bytes;
	memcpy(e->data, p->data, p->data_bytes);
	e->next = *at;
	*at = e;
}

static void append(struct payload *y, const void *data, uint64_t bytes, bool is_image)
{
	if (y->buffer)
		trace_buffer_append(y->buffer, data, bytes);
	if (is_image)
		bytes_append(&y->image, data, bytes);
	y->seen += bytes;
}

static void append_early(struct payload *y, bool is_image)
{
	struct early *e;

	while ((e = y->early) && e->offset == y->seen) {
		y->early = e->next;
		append(y, e->data, e->bytes, is_image);
		free(e);
	}
}

static void free_payload(struct payload *y)
{
	struct early *e;

	while ((e = y->early)) {
		y->early = e->next;
		free(e);
	}
	free(y->image.p);
	free(y);
}

void payload_piece(struct collector *c, struct ring *r, const struct ring_payload *p)
{
	struct process *process = r->process;
	struct payload **at, *y;
	bool is_image;

	if (p->kind == RING_ANNOUNCED) {
		announce_or_arrive(process, p, false);
		return;
	}
	if (p->kind == RING_UNAVAILABLE) {
		arrive(process, p);
		unavailable(c, p);
		return;
	}
	if ((p->kind > RING_IMAGE && p->kind != RING_WRITTEN && p->kind != RING_KEYFRAME) ||
	    whole(c, process, p))
		return;
	y = *find(process, p->id);
	if (!y)
		y = begin(c, process, p->id);
	if (!y)
		return;
	is_image = p->kind == RING_IMAGE && p->total <= IMAGE_MAX;
	if (p->offset == y->seen)
		append(y, p->data, p->data_bytes, is_image);
	else
		keep_early(y, p);
	append_early(y, is_image);
	count(c, process, p->data_bytes);
	if (y->seen < p->total)
		return;
	arrive(process, p);
	finish(c, r, y, p);
	at = find(process, p->id);
	*at = y->next;
	free_payload(y);
}

static const char never_arrived[] = "the copy had not been read back from its stream when the process ended: "
				    "the stream faulted, or was not waited for";

static void abort_announced(struct collector *c, struct process *p)
{
	for (unsigned i = 0; p->announced && i < ANNOUNCED_BUCKETS; i++)
		for (struct announced *a = p->announced[i], *next; a; a = next) {
			next = a->next;
			if (!a->arrived)
				write_row(c, &a->p, "unavailable", 0, never_arrived);
			free(a);
		}
	free(p->announced);
	p->announced = NULL;
}

void payloads_abort(struct collector *c, struct process *p)
{
	abort_announced(c, p);
	while (p->payloads) {
		struct payload *y = p->payloads;

		p->payloads = y->next;
		if (y->buffer)
			trace_buffer_abort(y->buffer);
		free_payload(y);
	}
}
