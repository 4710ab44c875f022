/* SPDX-License-Identifier: Apache-2.0
 *
 * drain: reads rings and puts calls together. What is in a ring was written by a process that may be broken:
 * every length is checked, and a ring that makes no sense is reported and left alone.
 */
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/collector/internal.h"

#define RELEASE_BYTES 131072u /* room is given back in steps of so much */

/* ---- mapping ------------------------------------------------------------------- */

struct ring *ring_map(int memfd, struct process *p)
{
	struct stat st;
	struct ring *r = calloc(1, sizeof(*r));
	uint64_t bytes;
	uint8_t *at;

	if (!r || fstat(memfd, &st) != 0 || st.st_size <= RING_DATA_OFFSET)
		goto fail;
	bytes = (uint64_t)st.st_size - RING_DATA_OFFSET;
	if (bytes & (bytes - 1))
		goto fail;
	at = mmap(NULL, RING_DATA_OFFSET + 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		  -1, 0);
	if (at == MAP_FAILED)
		goto fail;
	if (mmap(at, RING_DATA_OFFSET + bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memfd, 0) ==
		    MAP_FAILED ||
	    mmap(at + RING_DATA_OFFSET + bytes, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, memfd,
		 RING_DATA_OFFSET) == MAP_FAILED) {
		munmap(at, RING_DATA_OFFSET + 2 * bytes);
		goto fail;
	}
	r->process = p;
	r->header = (struct ring_header *)at;
	r->data = at + RING_DATA_OFFSET;
	r->mask = bytes - 1;
	if (r->header->magic == RING_MAGIC && r->header->version == RING_VERSION)
		return r;
	munmap(at, RING_DATA_OFFSET + 2 * bytes);
fail:
	free(r);
	return NULL;
}

static void call_free(struct open_call *o)
{
	free(o->memory[0].p);
	free(o->memory[1].p);
	memset(o->memory, 0, sizeof(o->memory));
}

void ring_free(struct ring *r)
{
	for (unsigned i = 0; i < r->thread.capacity; i++)
		call_free(&r->thread.calls[i]);
	free(r->thread.calls);
	munmap(r->header, RING_DATA_OFFSET + 2 * (r->mask + 1));
	free(r);
}

/* ---- memory of a call ------------------------------------------------------------ */

bool bytes_append(struct bytes *b, const void *p, size_t n)
{
	if (b->n + n > b->capacity) {
		size_t capacity = b->capacity ? b->capacity : 256;
		uint8_t *bigger;

		while (capacity < b->n + n)
			capacity *= 2;
		bigger = realloc(b->p, capacity);
		if (!bigger)
			return false;
		b->p = bigger;
		b->capacity = capacity;
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	return true;
}

struct block {
	uint64_t address;
	uint32_t bytes, param;
	uint8_t data[];
};

const void *memory_find(const struct bytes *m, uint64_t address, size_t bytes)
{
	for (size_t at = 0; at + sizeof(struct block) <= m->n;) {
		const struct block *b = (const struct block *)(m->p + at);

		if (b->bytes > m->n - at - sizeof(*b))
			return NULL;
		if (address >= b->address && address - b->address + bytes <= b->bytes)
			return b->data + (address - b->address);
		at += sizeof(*b) + ((b->bytes + 7) & ~7u);
	}
	return NULL;
}

const char *memory_string(const struct bytes *m, uint64_t address)
{
	const char *s = address ? memory_find(m, address, 1) : NULL;

	return s && memchr(s, 0, (size_t)((const char *)m->p + m->n - s)) ? s : NULL;
}

/* ---- threads ---------------------------------------------------------------------- */

static void write_thread(struct collector *c, struct ring *r, int64_t end)
{
	struct trace_thread t = {.id = r->thread.id,
				 .process = r->process->row.id,
				 .tid = r->thread.tid,
				 .t_start = r->thread.start,
				 .t_end = end,
				 .name = r->thread.name};

	if (c->w)
		trace_writer_thread(c->w, &t);
}

static void flight(struct collector *c, struct open_call *o)
{
	o->row.done = false;
	if (!c->w || o->told)
		return;
	trace_writer_call(c->w, &o->row);
	if (o->memory[0].n)
		trace_writer_call_memory(c->w, o->row.id, 0, o->memory[0].p, o->memory[0].n);
	o->told = true;
}

static void release_image(struct collector *c, struct open_call *o)
{
	image_drop(c, o->image);
	o->image = NULL;
}

/* It has no end, and none will come. */
static void lose_call(struct collector *c, struct open_call *o)
{
	flight(c, o);
	if (c->w)
		trace_writer_call_lost(c->w, o->row.id);
	release_image(c, o);
}

static void end_thread(struct collector *c, struct ring *r)
{
	if (!r->has_thread)
		return;
	for (unsigned i = 0; i < r->thread.depth; i++)
		lose_call(c, &r->thread.calls[i]);
	r->thread.depth = 0;
	write_thread(c, r, session_now(c));
	r->has_thread = false;
}

static void begin_thread(struct collector *c, struct ring *r, const struct ring_thread *t)
{
	end_thread(c, r);
	r->thread.id = ++c->nthreads;
	r->thread.tid = (int64_t)t->tid;
	r->thread.start = session_now(c);
	memcpy(r->thread.name, t->name, sizeof(r->thread.name));
	r->thread.name[sizeof(r->thread.name) - 1] = '\0';
	r->has_thread = true;
	write_thread(c, r, 0);
}

/* ---- calls ---------------------------------------------------------------------------- */

static struct open_call *push_call(struct thread *t)
{
	struct open_call *o;

	if (t->depth == t->capacity) {
		unsigned n = t->capacity ? 2 * t->capacity : 4;
		struct open_call *bigger = reallocarray(t->calls, n, sizeof(*bigger));

		if (!bigger)
			return NULL;
		memset(bigger + t->capacity, 0, (n - t->capacity) * sizeof(*bigger));
		t->calls = bigger;
		t->capacity = n;
	}
	o = &t->calls[t->depth++];
	o->memory[0].n = o->memory[1].n = 0;
	o->context = 0;
	o->told = false;
	o->row.nouts = 0;
	o->row.outs_valid = 0;
	return o;
}

static uint32_t function_row(struct collector *c, struct process *p, uint32_t func)
{
	if (func < api_nfuncs)
		return c->function_rows[func];
	for (unsigned i = 0; i < p->nfunctions; i++)
		if (p->functions[i].id == func)
			return p->functions[i].row;
	return 0;
}

/* The thread that may have taken it did not, or has by now been read. */
static void number_is_unused(struct collector *c)
{
	events_entered(c, c->unused_number);
	c->counted_alone = NULL;
}

static bool on_enter(struct collector *c, struct ring *r, const struct ring_enter *e)
{
	uint32_t nargs = (e->r.bytes - (uint32_t)sizeof(*e)) / 8, func = e->r.flags;
	struct open_call *o;

	if (e->r.bytes < sizeof(*e) || nargs > TRACE_MAX_ARGS || !r->has_thread)
		return false;
	if (func < api_nfuncs && !c->function_rows[func])
		derive_name(c, r->process, func, api_funcs[func].name);
	o = push_call(&r->thread);
	if (!o)
		return false;
	o->func = func;
	o->row.id = e->seq;
	o->row.thread = r->thread.id;
	o->row.parent = r->thread.depth > 1 ? o[-1].row.id : 0;
	o->row.func = function_row(c, r->process, func);
	o->row.t_enter = session_time(c, e->tsc);
	o->row.nargs = nargs;
	memcpy(o->row.args, e->args, nargs * 8);
	events_entered(c, e->seq);
	if (r == c->counted_alone && e->seq > c->unused_number)
		number_is_unused(c);
	c->calls++;
	r->process->calls++;
	return true;
}

static void finish_call(struct collector *c, struct ring *r, struct open_call *o)
{
	o->row.done = true;
	if (c->w) {
		trace_writer_call(c->w, &o->row);
		for (int phase = o->told ? 1 : 0; phase < 2; phase++)
			if (o->memory[phase].n)
				trace_writer_call_memory(c->w, o->row.id, phase, o->memory[phase].p,
							 o->memory[phase].n);
	}
	derive_exit(c, r, o);
	release_image(c, o);
	/* Large pieces are not kept for the next call. */
	for (int phase = 0; phase < 2; phase++)
		if (o->memory[phase].capacity > 65536) {
			free(o->memory[phase].p);
			o->memory[phase] = (struct bytes){0};
		}
}

static bool on_exit_record(struct collector *c, struct ring *r, const struct ring_exit *e)
{
	uint32_t nouts = (e->r.bytes - (uint32_t)sizeof(*e)) / 8;
	struct thread *t = &r->thread;
	struct open_call *o;

	if (e->r.bytes < sizeof(*e) || nouts > TRACE_MAX_OUTS)
		return false;
	/* Calls that were left by longjmp or an exception have no exit. */
	while (t->depth && (uint32_t)t->calls[t->depth - 1].row.id != e->seq)
		lose_call(c, &t->calls[--t->depth]);
	if (!t->depth)
		return false;
	o = &t->calls[t->depth - 1];
	o->row.t_exit = session_time(c, e->tsc);
	o->row.seq_seen = e->seq_seen;
	o->row.result = e->result;
	o->row.nouts = nouts;
	o->row.outs_valid = e->r.flags;
	memcpy(o->row.outs, e->outs, nouts * 8);
	t->depth--;
	finish_call(c, r, o);
	return true;
}

struct open_call *drain_find_call(struct ring *r, uint64_t seq)
{
	for (unsigned i = r->thread.depth; i > 0; i--)
		if (r->thread.calls[i - 1].row.id == seq)
			return &r->thread.calls[i - 1];
	return NULL;
}

static bool on_memory(struct ring *r, const struct ring_memory *m)
{
	struct open_call *o = m->r.bytes >= sizeof(*m) && m->r.flags < 2 ? drain_find_call(r, m->seq) : NULL;

	return o && bytes_append(&o->memory[m->r.flags], m->blocks, m->r.bytes - sizeof(*m));
}

static bool on_launch(struct collector *c, struct ring *r, const struct ring_launch *l)
{
	struct open_call *o = l->r.bytes >= sizeof(*l) && l->param_bytes <= l->r.bytes - sizeof(*l)
				      ? drain_find_call(r, l->seq)
				      : NULL;

	if (!o)
		return false;
	derive_launch(c, r, o, l);
	return true;
}

static bool on_stream(struct ring *r, const struct ring_stream *s)
{
	struct open_call *o = s->r.bytes >= sizeof(*s) ? drain_find_call(r, s->seq) : NULL;

	if (o)
		o->context = s->context;
	return o != NULL;
}

static bool on_device(struct collector *c, struct ring *r, const struct ring_device *d)
{
	struct process *p = r->process;
	struct trace_device row = {.process = p->row.id,
				   .ordinal = d->ordinal,
				   .name = d->name,
				   .cc = d->cc_major * 10 + d->cc_minor,
				   .bytes = d->bytes,
				   .sm_count = d->sm_count};

	if (d->r.bytes < sizeof(*d) || !memchr(d->name, '\0', sizeof(d->name)))
		return false;
	memcpy(row.uuid, d->uuid, sizeof(row.uuid));
	p->is_ours |= d->is_ours != 0;
	if (!p->cc)
		p->cc = row.cc;
	if (c->w)
		trace_writer_device(c->w, &row);
	if (c->w && !c->driver_version_known && d->driver_version)
		trace_writer_meta_int(c->w, "driver_version", d->driver_version);
	c->driver_version_known |= d->driver_version != 0;
	return true;
}

static bool on_hash(struct collector *c, const struct ring_hash *h)
{
	struct trace_launch_hash row = {.launch = h->seq, .base = h->base, .bytes = h->bytes};

	if (h->r.bytes < sizeof(*h))
		return false;
	memcpy(row.hash.b, h->hash, sizeof(row.hash.b));
	if (c->w)
		trace_writer_launch_hash(c->w, &row);
	return true;
}

static bool on_sketch(struct collector *c, const struct ring_sketch *s)
{
	struct trace_launch_sketch row = {.launch = s->seq, .base = s->base, .has_hash = s->r.flags & 1};

	if (s->r.bytes < sizeof(*s) || s->sketch.nblocks > SKETCH_BLOCKS ||
	    s->sketch.nsamples > SKETCH_SAMPLES)
		return false;
	row.sketch = s->sketch;
	memcpy(row.hash.b, s->hash, sizeof(row.hash.b));
	if (c->w)
		trace_writer_launch_sketch(c->w, &row);
	return true;
}

/* The text at the end of a record whose fixed part has `fixed` bytes; NULL when it does not end. */
static const char *text_of(const struct ring_record *rec, size_t fixed)
{
	const char *text = (const char *)rec + fixed;

	return rec->bytes > fixed && memchr(text, 0, rec->bytes - fixed) ? text : NULL;
}

static bool on_diag(struct collector *c, struct ring *r, const struct ring_diag *d)
{
	static const char *const severities[] = {"info", "warning", "error"};
	const char *text = text_of(&d->r, sizeof(*d));
	unsigned severity = d->r.flags & 0xff;

	if (text)
		collector_diag(c, r->process, d->seq, severities[severity < 3 ? severity : 2],
			       d->r.flags & RING_DIAG_DRIVER ? "driver" : "recorder", "%s", text);
	return text != NULL;
}

static bool on_function(struct collector *c, struct ring *r, const struct ring_function *f)
{
	const char *name = text_of(&f->r, sizeof(*f));

	if (name)
		derive_name(c, r->process, f->func, name);
	return name != NULL;
}

/* Recorded on the way to a launch: at that call. */
static bool on_kernel(struct collector *c, struct ring *r, const struct ring_kernel *k)
{
	const char *name = text_of(&k->r, sizeof(*k));

	if (name && r->thread.depth)
		derive_kernel_name(c, r->process, r->thread.calls[r->thread.depth - 1].row.id, k, name);
	return name != NULL;
}

static bool on_payload(struct collector *c, struct ring *r, const struct ring_payload *p)
{
	if (p->r.bytes < sizeof(*p) || p->data_bytes > p->r.bytes - sizeof(*p))
		return false;
	payload_piece(c, r, p);
	return true;
}

static bool on_copy(struct collector *c, struct ring *r, const struct ring_copy *p)
{
	return p->r.bytes >= sizeof(*p) && p->data_bytes <= p->r.bytes - sizeof(*p) && payload_copy(c, r, p);
}

/* Nothing came of it, but a call's number was taken. */
static bool on_abandoned(struct collector *c, struct ring *r, const struct ring_record *rec)
{
	const struct ring_enter *e = (const struct ring_enter *)rec;

	if (rec->flags != RING_ENTER)
		return true;
	if (rec->bytes < sizeof(*e))
		return false;
	events_entered(c, e->seq);
	if (r == c->counted_alone && e->seq > c->unused_number)
		number_is_unused(c);
	return true;
}

static bool on_record(struct collector *c, struct ring *r, const struct ring_record *rec)
{
	switch ((enum ring_kind)(rec->kind & RING_KIND_MASK)) {
	case RING_ENTER: return on_enter(c, r, (const struct ring_enter *)rec);
	case RING_EXIT: return on_exit_record(c, r, (const struct ring_exit *)rec);
	case RING_MEMORY: return on_memory(r, (const struct ring_memory *)rec);
	case RING_PAYLOAD: return on_payload(c, r, (const struct ring_payload *)rec);
	case RING_COPY: return on_copy(c, r, (const struct ring_copy *)rec);
	case RING_LAUNCH: return on_launch(c, r, (const struct ring_launch *)rec);
	case RING_STREAM: return on_stream(r, (const struct ring_stream *)rec);
	case RING_DEVICE: return on_device(c, r, (const struct ring_device *)rec);
	case RING_HASH: return on_hash(c, (const struct ring_hash *)rec);
	case RING_SKETCH: return on_sketch(c, (const struct ring_sketch *)rec);
	case RING_FUNCTION: return on_function(c, r, (const struct ring_function *)rec);
	case RING_DIAG: return on_diag(c, r, (const struct ring_diag *)rec);
	case RING_KERNEL: return on_kernel(c, r, (const struct ring_kernel *)rec);
	case RING_THREAD:
		if (rec->bytes >= sizeof(struct ring_thread))
			begin_thread(c, r, (const struct ring_thread *)rec);
		return rec->bytes >= sizeof(struct ring_thread);
	case RING_ABANDONED: return on_abandoned(c, r, rec);
	case RING_THREAD_END: end_thread(c, r); return true;
	}
	return false;
}

/* ---- rings -------------------------------------------------------------------------------- */

static void release(struct ring *r)
{
	atomic_store(&r->header->tail, r->tail);
	if (atomic_load(&r->header->producer_waits) && atomic_exchange(&r->header->producer_waits, 0))
		syscall(SYS_futex, &r->header->producer_waits, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void break_ring(struct collector *c, struct ring *r)
{
	collector_diag(c, r->process, 0, "error", "collector",
		       "a record of thread %lld makes no sense: the rest of this thread is not recorded",
		       (long long)r->thread.tid);
	r->broken = true;
	c->refused++;
}

static uint64_t drain_ring(struct collector *c, struct ring *r)
{
	uint64_t head = atomic_load_explicit(&r->header->head, memory_order_acquire), begin = r->tail,
		 released = r->tail;

	if (head == r->tail)
		return 0;
	if (head - r->tail > r->mask + 1)
		break_ring(c, r);
	while (r->tail != head && !r->broken) {
		const struct ring_record *rec = (const struct ring_record *)(r->data + (r->tail & r->mask));
		uint32_t bytes = rec->bytes;

		if (bytes < sizeof(*rec) || bytes % 8 || bytes > head - r->tail || !on_record(c, r, rec)) {
			break_ring(c, r);
			break;
		}
		r->tail += bytes;
		if (r->tail - released >= RELEASE_BYTES) {
			release(r);
			released = r->tail;
		}
	}
	if (r->broken)
		r->tail = head;
	release(r);
	r->process->ring_bytes += r->tail - begin;
	return r->tail - begin;
}

uint64_t drain_all(struct collector *c)
{
	uint64_t bytes = 0;

	for (struct ring *r = c->rings; r; r = r->next)
		bytes += drain_ring(c, r);
	return bytes;
}

void drain_tell_flights(struct collector *c)
{
	for (struct ring *r = c->rings; r; r = r->next)
		for (unsigned i = 0; i < r->thread.depth; i++)
			if (!r->thread.calls[i].told)
				flight(c, &r->thread.calls[i]);
}

void drain_process_end(struct collector *c, struct process *p)
{
	struct ring **at = &c->rings, *r;
	uint64_t lost = 0;

	while ((r = *at)) {
		if (r->process != p) {
			at = &r->next;
			continue;
		}
		drain_ring(c, r);
		end_thread(c, r);
		lost += r->header->lost;
		p->waits += r->header->waits;
		p->waited_ns += r->header->waited_ns;
		*at = r->next;
		if (r == c->counted_alone)
			number_is_unused(c);
		ring_free(r);
	}
	if (lost)
		collector_diag(c, p, 0, "warning", "recorder",
			       "%llu calls of signal handlers, or parts of them, are not recorded: the ring "
			       "was full "
			       "of what they had done since they interrupted the recorder",
			       (unsigned long long)lost);
	payloads_abort(c, p);
}
