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

static inline void *begin(struct rec_thread *t, uint64_t bytes, uint16_t kind, uint16_t flags)
{
	return rec_reserve(t, (struct ring_record){.bytes = (uint32_t)bytes, .kind = kind, .flags = flags});
}

static uint64_t round8(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

#define DIAG_BYTES 1000

void rec_diag2(int severity, uint64_t seq, const char *text, const char *name)
{
	static const char cut[] = "...";
	struct rec_thread *t = rec_thread_now();
	size_t n = strlen(text), m = name ? strlen(name) : 0, more = 0;
	struct ring_diag *d;

	if (n + m > DIAG_BYTES) {
		n = n < DIAG_BYTES ? n : DIAG_BYTES;
		m = DIAG_BYTES - n;
		more = sizeof(cut) - 1;
	}
	d = t ? begin(t, round8(sizeof(*d) + n + m + more + 1), RING_DIAG, (uint16_t)severity) : NULL;
	if (!d)
		return;
	d->seq = seq;
	memcpy(d->text, text, n);
	memcpy(d->text + n, name ? name : "", m);
	memcpy(d->text + n + m, cut, more);
	d->text[n + m + more] = '\0';
	rec_commit(t, d);
}

void rec_diag(int severity, uint64_t seq, const char *text)
{
	rec_diag2(severity, seq, text, NULL);
}

static inline struct ring_payload *begin_payload(struct rec_thread *t, const struct rec_payload *p,
						 uint64_t id, uint64_t total, unsigned flags, size_t done,
						 size_t bytes)
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
	r->offset = p->offset + done;
	r->data_bytes = bytes;
	return r;
}

void rec_payload_piece(const struct rec_payload *p, uint64_t id, uint64_t total, unsigned flags,
		       const void *data, size_t bytes)
{
	struct rec_thread *t = rec_thread_now();
	uint64_t max = t ? piece_bytes(t) : 0;
	size_t done = 0;

	if (!t)
		return;
	do {
		size_t n = bytes - done < max ? bytes - done : max;
		bool first = done == 0, last = done + n == bytes;
		unsigned f = (flags & RING_PAYLOAD_STAGED) | (first ? flags & RING_PAYLOAD_FIRST : 0) |
			     (last ? flags & RING_PAYLOAD_LAST : 0);
		struct ring_payload *r = begin_payload(t, p, id, total, f, done, n);

		if (!r)
			return;
		memcpy(r->data, (const char *)data + done, n);
		rec_commit(t, r);
		done += n;
	} while (done < bytes);
}

/* Rows that do not lie one behind the other are gathered, as many at a time as make a piece. */
struct gather {
	const char *base;
	uint64_t row, pitch, slice, height;
};

static void gather_rows(const struct gather *g, uint8_t *to, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++, to += g->row)
		memcpy(to, g->base + i / g->height * g->slice + i % g->height * g->pitch, g->row);
}

static void payload_rows(const struct rec_payload *p, const struct gather *g, uint64_t id, uint64_t total)
{
	struct rec_thread *t = rec_thread_now();
	uint64_t rows = p->height * p->depth, step = t ? piece_bytes(t) / g->row : 0;

	for (uint64_t done = 0; step && done < rows; done += step) {
		uint64_t n = rows - done < step ? rows - done : step;
		unsigned flags = (done ? 0 : RING_PAYLOAD_FIRST) | (done + n == rows ? RING_PAYLOAD_LAST : 0);
		struct ring_payload *r = begin_payload(t, p, id, total, flags, done * g->row, n * g->row);

		if (!r)
			return;
		gather_rows(g, r->data, done, n);
		rec_commit(t, r);
	}
}

static void payload_long_rows(const struct rec_payload *p, const struct gather *g, uint64_t id,
			      uint64_t total)
{
	uint64_t rows = p->height * p->depth;
	struct rec_payload row = *p;

	for (uint64_t i = 0; i < rows; i++, row.offset += g->row)
		rec_payload_piece(&row, id, total,
				  (i ? 0 : RING_PAYLOAD_FIRST) | (i + 1 == rows ? RING_PAYLOAD_LAST : 0),
				  g->base + i / g->height * g->slice + i % g->height * g->pitch, g->row);
}

static void linear_in_pieces(uint64_t seq, enum ring_payload_kind kind, int param, const void *host,
			     uint64_t device, size_t bytes)
{
	struct rec_payload p = {.seq = seq,
				.kind = kind,
				.param = param,
				.address = (uintptr_t)host,
				.device_address = device,
				.width = bytes,
				.height = 1,
				.depth = 1};

	rec_payload_piece(&p, rec_unique(), bytes, RING_PAYLOAD_FIRST | RING_PAYLOAD_LAST, host, bytes);
}

/* Most copies are small and go into the ring in one piece, which needs no number to be joined by. */
void rec_payload_linear(uint64_t seq, enum ring_payload_kind kind, int param, const void *host,
			uint64_t device, size_t bytes)
{
	struct rec_thread *t = rec_thread_now();
	struct ring_copy *r;

	if (!t)
		return;
	if (REC_UNLIKELY(bytes > piece_bytes(t))) {
		linear_in_pieces(seq, kind, param, host, device, bytes);
		return;
	}
	r = begin(t, sizeof(*r) + round8(bytes), RING_COPY, (uint16_t)(kind | (unsigned)param << 8));
	if (!r)
		return;
	rec_fetch_ahead((uint8_t *)r + REC_AHEAD + 64);
	rec_fetch_ahead((uint8_t *)r + REC_AHEAD + 128);
	r->seq = seq;
	r->address = (uintptr_t)host;
	r->device_address = device;
	r->data_bytes = bytes;
	memcpy(r->data, host, bytes);
	rec_commit(t, r);
}

void rec_payload(const struct rec_payload *p, const void *data)
{
	struct gather g = {.base = data, .row = p->width, .height = p->height};
	uint64_t total = p->width * p->height * p->depth, id = rec_unique();

	g.pitch = p->pitch ? p->pitch : g.row;
	g.slice = p->slice ? p->slice : g.pitch * g.height;
	if (g.pitch == g.row && g.slice == g.row * g.height)
		rec_payload_piece(p, id, total, RING_PAYLOAD_FIRST | RING_PAYLOAD_LAST, data, total);
	else if (g.row <= 65536)
		payload_rows(p, &g, id, total);
	else
		payload_long_rows(p, &g, id, total);
}

static void say_unavailable(const struct rec_payload *p, uint64_t id, unsigned flags, const char *why)
{
	struct rec_payload q = *p;

	q.kind = RING_UNAVAILABLE;
	rec_payload_piece(&q, id, strlen(why), flags | RING_PAYLOAD_FIRST | RING_PAYLOAD_LAST, why,
			  strlen(why));
}

void rec_unavailable(const struct rec_payload *p, const char *why)
{
	say_unavailable(p, rec_unique(), 0, why);
}

uint64_t rec_announce(const struct rec_payload *p)
{
	struct rec_payload q = *p;
	uint64_t id = rec_unique();

	q.kind = RING_ANNOUNCED;
	rec_payload_piece(&q, id, 0, 0, "", 0);
	return id;
}

void rec_announced_unavailable(const struct rec_payload *p, uint64_t id, const char *why)
{
	say_unavailable(p, id, RING_PAYLOAD_STAGED, why);
}

void rec_stream_record(uint64_t seq, uint64_t stream, uint64_t context)
{
	struct rec_thread *t = rec_thread_now();
	struct ring_stream *s = t ? begin(t, sizeof(*s), RING_STREAM, 0) : NULL;

	if (!s)
		return;
	s->seq = seq;
	s->stream = stream;
	s->context = context;
	rec_commit(t, s);
}

void rec_device_record(const struct ring_device *d)
{
	struct rec_thread *t = rec_thread_now();
	struct ring_device *r = t ? begin(t, sizeof(*r), RING_DEVICE, 0) : NULL;

	if (!r)
		return;
	memcpy((char *)r + sizeof(r->r), (const char *)d + sizeof(d->r), sizeof(*d) - sizeof(d->r));
	rec_commit(t, r);
}

void rec_kernel_record(uint64_t function, uint64_t module, const char *name)
{
	struct rec_thread *t = rec_thread_now();
	size_t n = strlen(name);
	struct ring_kernel *k = t && n < 8192 ? begin(t, round8(sizeof(*k) + n + 1), RING_KERNEL, 0) : NULL;

	if (!k)
		return;
	k->function = function;
	k->module = module;
	memcpy(k->name, name, n + 1);
	rec_commit(t, k);
}

void rec_hash_record(uint64_t seq, uint64_t base, uint64_t bytes, const uint8_t hash[16])
{
	struct rec_thread *t = rec_thread_now();
	struct ring_hash *h = t ? begin(t, sizeof(*h), RING_HASH, 0) : NULL;

	if (!h)
		return;
	h->seq = seq;
	h->base = base;
	h->bytes = bytes;
	memcpy(h->hash, hash, sizeof(h->hash));
	rec_commit(t, h);
}

void rec_sketch_record(uint64_t seq, uint64_t base, const struct sketch *s, const uint8_t *hash)
{
	struct rec_thread *t = rec_thread_now();
	struct ring_sketch *r = t ? begin(t, round8(sizeof(*r)), RING_SKETCH, hash != NULL) : NULL;

	if (!r)
		return;
	r->seq = seq;
	r->base = base;
	memset(r->hash, 0, sizeof(r->hash));
	if (hash)
		memcpy(r->hash, hash, sizeof(r->hash));
	r->sketch = *s;
	rec_commit(t, r);
}

void rec_function_record(uint32_t id, const char *name)
{
	struct rec_thread *t = rec_thread_now();
	size_t n = strlen(name);
	struct ring_function *f = t ? begin(t, round8(sizeof(*f) + n + 1), RING_FUNCTION, 0) : NULL;

	if (!f)
		return;
	f->func = id;
	f->pad = 0;
	memcpy(f->name, name, n + 1);
	rec_commit(t, f);
}
