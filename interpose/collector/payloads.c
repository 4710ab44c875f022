/* SPDX-License-Identifier: Apache-2.0
 *
 * payloads: large data arrives in pieces, which may belong to a call of another thread (asynchronous copies).
 * Those are announced in the calling thread's ring; either ring may be read first.
 */
#include <stdlib.h>
#include <string.h>

#include "interpose/collector/internal.h"

#define IMAGE_MAX (1ull << 31) /* larger code images are stored and not analysed */

struct payload {
	struct payload *next;
	uint64_t id, seen;
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

static const char *const kinds[] = {[RING_H2D] = "h2d", [RING_D2H] = "d2h", [RING_IMAGE] = "image"};

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

static void arrive(struct process *process, const struct ring_payload *p)
{
	if ((p->r.flags & RING_PAYLOAD_STAGED) && (p->r.flags & RING_PAYLOAD_LAST))
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

/* Most copies come in one piece. */
static bool whole(struct collector *c, struct process *process, const struct ring_payload *p)
{
	uint64_t buffer = 0;

	if (p->kind == RING_IMAGE || (~p->r.flags & (RING_PAYLOAD_FIRST | RING_PAYLOAD_LAST)))
		return false;
	if (c->w && trace_writer_buffer(c->w, p->data, p->data_bytes, &buffer) == 0)
		write_row(c, p, kinds[p->kind], buffer, NULL);
	process->payload_count++;
	process->payload_bytes += p->data_bytes;
	c->payload_bytes += p->data_bytes;
	return true;
}

void payload_piece(struct collector *c, struct ring *r, const struct ring_payload *p)
{
	struct process *process = r->process;
	struct payload **at, *y;

	if (p->kind == RING_ANNOUNCED) {
		announce_or_arrive(process, p, false);
		return;
	}
	arrive(process, p);
	if (p->kind == RING_UNAVAILABLE) {
		unavailable(c, p);
		return;
	}
	if (p->kind > RING_IMAGE || whole(c, process, p))
		return;
	y = (p->r.flags & RING_PAYLOAD_FIRST) ? begin(c, process, p->id) : *find(process, p->id);
	if (!y)
		return;
	if (y->buffer)
		trace_buffer_append(y->buffer, p->data, p->data_bytes);
	if (p->kind == RING_IMAGE && p->total <= IMAGE_MAX)
		bytes_append(&y->image, p->data, p->data_bytes);
	y->seen += p->data_bytes;
	process->payload_bytes += p->data_bytes;
	c->payload_bytes += p->data_bytes;
	if (!(p->r.flags & RING_PAYLOAD_LAST))
		return;
	finish(c, r, y, p);
	at = find(process, p->id);
	*at = y->next;
	free(y->image.p);
	free(y);
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
		free(y->image.p);
		free(y);
	}
}
