/* SPDX-License-Identifier: Apache-2.0
 *
 * records: everything in a ring besides enter, exit and host memory. When a thread can't record (no ring),
 * these do nothing.
 */
#include "interpose/recorder.h"

#include <stdio.h>

/* Small enough that copying into the ring and the collector's copying out overlap. */
static uint64_t piece_bytes(const struct rec_thread *t)
{
	uint64_t eighth = (t->mask + 1) / 8;

	return eighth > 262144 ? 262144 : eighth;
}

static void *begin(struct rec_thread *t, uint64_t bytes, uint16_t kind, uint16_t flags)
{
	struct ring_record *r = rec_reserve(t, bytes);

	if (r)
		*r = (struct ring_record){.bytes = (uint32_t)bytes, .kind = kind, .flags = flags};
	return r;
}

static uint64_t round8(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

void rec_diag2(int severity, uint64_t seq, const char *text, const char *name)
{
	struct rec_thread *t = rec_thread_get();
	size_t n = strlen(text), m = name ? strlen(name) : 0;
	struct ring_diag *d;

	if (!t || n + m > 1000)
		return;
	d = begin(t, round8(sizeof(*d) + n + m + 1), RING_DIAG, (uint16_t)severity);
	if (!d)
		return;
	d->seq = seq;
	memcpy(d->text, text, n);
	memcpy(d->text + n, name ? name : "", m);
	d->text[n + m] = '\0';
	rec_commit(t, d->r.bytes);
}

void rec_diag(int severity, uint64_t seq, const char *text)
{
	rec_diag2(severity, seq, text, NULL);
}

static struct ring_payload *begin_payload(struct rec_thread *t, const struct rec_payload *p, uint64_t id,
					  uint64_t total, unsigned flags, size_t bytes)
{
	struct ring_payload *r = begin(t, sizeof(*r) + round8(bytes), RING_PAYLOAD, (uint16_t)flags);

	if (!r)
		return NULL;
	r->seq = p->seq;
	r->kind = p->kind;
	r->param = p->param;
	r->id = id;
	r->total = total;
	r->address = p->address;
	r->device_address = p->device_address;
	r->width = p->width;
	r->height = p->height;
	r->depth = p->depth;
	r->data_bytes = bytes;
	return r;
}

void rec_payload_piece(const struct rec_payload *p, uint64_t id, uint64_t total, unsigned flags,
		       const void *data, size_t bytes)
{
	struct rec_thread *t = rec_thread_get();
	uint64_t max = t ? piece_bytes(t) : 0;
	size_t done = 0;

	if (!t)
		return;
	do {
		size_t n = bytes - done < max ? bytes - done : max;
		bool first = done == 0, last = done + n == bytes;
		unsigned f =
			(first ? flags & RING_PAYLOAD_FIRST : 0) | (last ? flags & RING_PAYLOAD_LAST : 0);
		struct ring_payload *r = begin_payload(t, p, id, total, f, n);

		if (!r)
			return;
		memcpy(r->data, (const char *)data + done, n);
		rec_commit(t, r->r.bytes);
		done += n;
	} while (done < bytes);
}

void rec_payload(const struct rec_payload *p, const void *data)
{
	uint64_t row = p->width, pitch = p->pitch ? p->pitch : row,
		 slice = p->slice ? p->slice : pitch * p->height;
	uint64_t total = row * p->height * p->depth, id = rec_unique(), done = 0;
	const char *base = data;

	if (pitch == row && slice == row * p->height) {
		rec_payload_piece(p, id, total, RING_PAYLOAD_FIRST | RING_PAYLOAD_LAST, data, total);
		return;
	}
	for (uint64_t z = 0; z < p->depth; z++)
		for (uint64_t y = 0; y < p->height; y++) {
			unsigned flags = (done == 0 ? RING_PAYLOAD_FIRST : 0) |
					 (done + row == total ? RING_PAYLOAD_LAST : 0);

			rec_payload_piece(p, id, total, flags, base + z * slice + y * pitch, row);
			done += row;
		}
}

void rec_unavailable(const struct rec_payload *p, const char *why)
{
	struct rec_payload q = *p;

	q.kind = RING_UNAVAILABLE;
	rec_payload_piece(&q, rec_unique(), strlen(why), RING_PAYLOAD_FIRST | RING_PAYLOAD_LAST, why,
			  strlen(why));
}

void rec_launch_record(uint64_t seq, uint64_t function, unsigned nparams, const void *params, uint32_t bytes,
		       bool known)
{
	struct rec_thread *t = rec_thread_get();
	struct ring_launch *l = t ? begin(t, round8(sizeof(*l) + bytes), RING_LAUNCH, known) : NULL;

	if (!l)
		return;
	l->seq = seq;
	l->function = function;
	l->nparams = nparams;
	l->param_bytes = bytes;
	memcpy(l->params, params, bytes);
	rec_commit(t, l->r.bytes);
}

void rec_hash_record(uint64_t seq, uint64_t base, uint64_t bytes, const uint8_t hash[16])
{
	struct rec_thread *t = rec_thread_get();
	struct ring_hash *h = t ? begin(t, sizeof(*h), RING_HASH, 0) : NULL;

	if (!h)
		return;
	h->seq = seq;
	h->base = base;
	h->bytes = bytes;
	memcpy(h->hash, hash, sizeof(h->hash));
	rec_commit(t, sizeof(*h));
}

void rec_function_record(uint32_t id, const char *name)
{
	struct rec_thread *t = rec_thread_get();
	size_t n = strlen(name);
	struct ring_function *f = t ? begin(t, round8(sizeof(*f) + n + 1), RING_FUNCTION, 0) : NULL;

	if (!f)
		return;
	f->func = id;
	f->pad = 0;
	memcpy(f->name, name, n + 1);
	rec_commit(t, f->r.bytes);
}
