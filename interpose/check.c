/* SPDX-License-Identifier: Apache-2.0
 *
 * check: `record --check`, and kernels without PTX. Before a launch, finds the ranges that it may write (ranges.c);
 * behind it, waits for it, and puts into the trace what these hold: a sketch in a few numbers, a hash, and the contents
 * where they are kept. On the device, when its driver is not our own (check_device.c): then ranges are hashed before and
 * behind the launch, and of contents the chunks that changed are taken. Else on the host, which has to copy all of it.
 */
#include "interpose/recorder.h"

#include <errno.h>

#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

#define PIECE      (4u << 20) /* a multiple of SKETCH_CHUNK */
#define MAX_CHUNKS (1u << 20) /* 64 GB; the host takes what is more */

struct rec_look {
	struct rec_checked c;
	uint8_t packed[REC_PARAM_BYTES_MAX + 8];
	struct rec_range ranges[REC_MAX_RANGES], more[REC_MAX_RANGES];
	unsigned n;
	bool anywhere; /* what it may write is not known, or too much */
	bool contents, took_any;
	const char *why_not;
	struct rec_device *device;
	uint64_t chunks; /* of all ranges */
	char buffer[PIECE];
};

static _Atomic(struct rec_look *) spare;

/* ---- the trace -------------------------------------------------------------------- */

static void digest(XXH3_state_t *state, uint8_t out[16])
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
	memcpy(out, canonical.digest, 16);
}

static bool read_piece(void *to, CUdeviceptr from, size_t n)
{
	struct rec_thread *t = rec_own_begin();
	CUresult r = REAL(cuMemcpyDtoH_v2)(to, from, n);

	rec_own_end(t);
	return r == CUDA_SUCCESS;
}

static struct rec_payload written_row(const struct rec_look *l, uint64_t base, uint64_t bytes)
{
	return (struct rec_payload){.seq = l->c.seq,
				    .kind = RING_WRITTEN,
				    .param = -1,
				    .device_address = base,
				    .width = bytes,
				    .height = 1,
				    .depth = 1};
}

/* ---- on the host -------------------------------------------------------------------- */

static void sketch_piece(struct sketch *s, uint64_t at, const char *data, size_t n)
{
	for (size_t done = 0; done < n && s->type; done += SKETCH_CHUNK) {
		struct sketch_chunk c = {0};

		sketch_numbers(&c, s->type, data + done, n - done < SKETCH_CHUNK ? n - done : SKETCH_CHUNK);
		sketch_add(s, (at + done) / SKETCH_CHUNK, &c);
	}
	sketch_take_samples(s, at, data, n);
}

/* Freed meanwhile by another thread, or not readable from this context: no row. */
static void look_at(struct rec_look *l, const struct rec_range *r)
{
	struct rec_payload written = written_row(l, r->base, r->bytes);
	uint64_t id = l->contents ? rec_unique() : 0;
	XXH3_state_t state;
	struct sketch s;
	uint8_t hash[16];

	XXH3_INITSTATE(&state);
	XXH3_128bits_reset(&state);
	sketch_begin(&s, (enum sketch_type)r->type, r->bytes);
	for (uint64_t done = 0; done < r->bytes; done += PIECE) {
		size_t n = r->bytes - done < PIECE ? r->bytes - done : PIECE;

		if (!read_piece(l->buffer, r->base + done, n))
			return;
		XXH3_128bits_update(&state, l->buffer, n);
		sketch_piece(&s, done, l->buffer, n);
		if (!l->contents)
			continue;
		written.offset = done;
		rec_payload_piece(&written, id, r->bytes,
				  (done ? 0 : RING_PAYLOAD_FIRST) |
					  (done + n == r->bytes ? RING_PAYLOAD_LAST : 0),
				  l->buffer, n);
	}
	digest(&state, hash);
	rec_hash_record(l->c.seq, r->base, r->bytes, hash);
	if (s.type)
		rec_sketch_record(l->c.seq, r->base, &s, NULL);
}

/* Too many for a list. */
static void look_at_all(struct rec_look *l)
{
	struct rec_allocation a;

	for (size_t i = 0; rec_allocation_at(i, &a); i++)
		if (!a.host)
			look_at(l, &(struct rec_range){a.base, a.bytes, SKETCH_NONE});
}

/* ---- on the device ------------------------------------------------------------------- */

static uint64_t chunks_of(const struct rec_range *r)
{
	return (r->bytes + SKETCH_CHUNK - 1) / SKETCH_CHUNK;
}

/* Of all ranges, into the half of the results that is for before, or behind. */
static bool enqueue(struct rec_look *l, bool behind)
{
	uint64_t first = behind ? l->chunks : 0;

	for (unsigned i = 0; i < l->n; first += chunks_of(&l->ranges[i++]))
		if (!rec_device_enqueue(l->device, &l->ranges[i], first, behind, l->c.stream,
					l->c.per_thread))
			return false;
	return true;
}

/* Chunks [at, end) of a range. */
static void take_run(struct rec_look *l, const struct rec_range *r, uint64_t at, uint64_t end)
{
	uint64_t stop = end * SKETCH_CHUNK < r->bytes ? end * SKETCH_CHUNK : r->bytes;
	uint64_t bytes = stop - at * SKETCH_CHUNK, id = rec_unique();
	struct rec_payload p = written_row(l, r->base + at * SKETCH_CHUNK, bytes);

	l->took_any = true;
	for (uint64_t done = 0; done < bytes; done += PIECE) {
		size_t k = bytes - done < PIECE ? bytes - done : PIECE;

		if (!read_piece(l->buffer, p.device_address + done, k))
			return;
		p.offset = done;
		rec_payload_piece(&p, id, bytes,
				  (done ? 0 : RING_PAYLOAD_FIRST) |
					  (done + k == bytes ? RING_PAYLOAD_LAST : 0),
				  l->buffer, k);
	}
}

static void take_changed(struct rec_look *l, const struct rec_range *r, const struct sketch_chunk *before,
			 const struct sketch_chunk *behind)
{
	uint64_t n = chunks_of(r), end;

	for (uint64_t at = 0; at < n; at = end + 1) {
		for (end = at; end < n && (before[end].a != behind[end].a || before[end].b != behind[end].b);
		     end++)
			;
		if (end > at)
			take_run(l, r, at, end);
	}
}

static void read_samples(const struct rec_range *r, struct sketch *s)
{
	unsigned bytes = sketch_type_bytes(s->type);
	uint64_t element = 0;

	for (unsigned k = 0; k < s->nsamples; k++) {
		uint64_t at = sketch_sample(s, k) * bytes;

		if (read_piece(&element, r->base + at, bytes))
			sketch_take_samples(s, at, &element, bytes);
	}
}

static void take_range(struct rec_look *l, const struct rec_range *r, const struct sketch_chunk *before,
		       const struct sketch_chunk *behind)
{
	XXH3_state_t state;
	struct sketch s;
	uint8_t hash[16];

	XXH3_INITSTATE(&state);
	XXH3_128bits_reset(&state);
	sketch_begin(&s, (enum sketch_type)r->type, r->bytes);
	for (uint64_t k = 0; k < chunks_of(r); k++) {
		XXH3_128bits_update(&state, &behind[k].a, 16);
		sketch_add(&s, k, &behind[k]);
	}
	digest(&state, hash);
	read_samples(r, &s);
	rec_sketch_record(l->c.seq, r->base, &s, hash);
	if (l->contents)
		take_changed(l, r, before, behind);
}

static bool take_results(struct rec_look *l)
{
	size_t bytes = 2 * l->chunks * sizeof(struct sketch_chunk);
	struct sketch_chunk *all = rec_pages(bytes);
	uint64_t first = 0;
	bool ok = all && rec_device_results(l->device, 0, 2 * l->chunks, all);

	for (unsigned i = 0; ok && i < l->n; first += chunks_of(&l->ranges[i++]))
		take_range(l, &l->ranges[i], all + first, all + l->chunks + first);
	/* It left everything as it was: one chunk says that this is known. */
	if (ok && l->contents && !l->took_any)
		take_run(l, &l->ranges[0], 0, 1);
	rec_pages_free(all, bytes);
	return ok;
}

/* ---- around a launch -------------------------------------------------------------------- */

static CUresult wait_for(CUstream stream, bool per_thread)
{
	struct rec_thread *t = rec_own_begin();
	CUresult r;

	rec_signals_restore(); /* it may take long; handlers' calls are not recorded meanwhile */
	if (per_thread && rec_driver_has(API_ID_cuStreamSynchronize_ptsz))
		r = REAL(cuStreamSynchronize_ptsz)(stream);
	else
		r = REAL(cuStreamSynchronize)(stream);
	rec_signals_block();
	rec_own_end(t);
	return r;
}

/* Others may capture streams meanwhile, which what is done here has no part in. */
static CUstreamCaptureMode relax(CUstreamCaptureMode mode)
{
	struct rec_thread *t = rec_own_begin();

	if (rec_driver_has(API_ID_cuThreadExchangeStreamCaptureMode))
		REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	rec_own_end(t);
	return mode;
}

static void open_device(struct rec_look *l)
{
	for (unsigned i = 0; i < l->n; i++)
		l->chunks += chunks_of(&l->ranges[i]);
	if (!rec_check_on_device || !l->chunks || l->chunks > MAX_CHUNKS)
		return;
	l->device = rec_device_open(l->c.seq, 2 * l->chunks, l->c.stream, l->c.per_thread);
	if (l->device && !enqueue(l, false)) {
		rec_device_close(l->device);
		l->device = NULL;
	}
}

static void close_look(struct rec_look *l)
{
	if (l->device)
		rec_device_close(l->device);
	l->device = NULL;
	rec_pages_free(atomic_exchange(&spare, l), sizeof(*l));
}

uint8_t *rec_look_params(struct rec_look *l)
{
	return l->packed;
}

struct rec_look *rec_look_new(void)
{
	struct rec_look *l = atomic_exchange(&spare, NULL);

	return l ? l : rec_pages(sizeof(*l));
}

void rec_look_start(struct rec_look *l, const struct rec_checked *c, bool contents)
{
	l->c = *c;
	l->n = 0;
	l->anywhere = false;
	l->chunks = 0;
	l->device = NULL;
	l->why_not = NULL;
	l->took_any = false;
	l->contents = contents;
}

void rec_look_add(struct rec_look *l, const struct rec_checked *kernel)
{
	unsigned n;

	if (l->anywhere)
		return;
	if (!rec_ranges(kernel, l->more, &n) || !rec_ranges_join(l->ranges, &l->n, l->more, n))
		l->anywhere = true;
}

void rec_look_add_allocation(struct rec_look *l, uint64_t address)
{
	struct rec_allocation a;

	if (!l->anywhere && rec_allocation_find(address, &a) &&
	    !rec_ranges_join(l->ranges, &l->n, &(struct rec_range){a.base, a.bytes, SKETCH_NONE}, 1))
		l->anywhere = true;
}

void rec_look_add_all(struct rec_look *l)
{
	l->anywhere = true;
}

void rec_look_go(struct rec_look *l)
{
	CUstreamCaptureMode mode;
	int saved = errno;

	if (rec_capturing(l->c.stream, l->c.per_thread)) {
		l->why_not = "no hash: launched while its stream is being captured";
	} else if (!l->anywhere || rec_ranges_of_all(l->ranges, &l->n)) {
		mode = relax(CU_STREAM_CAPTURE_MODE_RELAXED);
		open_device(l);
		relax(mode);
	} else {
		l->n = REC_MAX_RANGES + 1;
	}
	errno = saved;
}

void rec_look_begin(struct rec_look *l, const struct rec_checked *c)
{
	rec_look_start(l, c,
		       c->layout ? c->layout->checked & RING_CHECKED_CONTENTS
				 : rec_session()->flags & RING_SESSION_CONTENTS);
	rec_look_add(l, c);
	rec_look_go(l);
}

static void look(struct rec_look *l)
{
	bool done = l->device && enqueue(l, true);

	/* An error here is the program's to find at its next call. */
	if (wait_for(l->c.stream, l->c.per_thread) != CUDA_SUCCESS) {
		l->why_not = "no hash: the launch failed";
		return;
	}
	if (done && take_results(l))
		return;
	for (unsigned i = 0; i < l->n && l->n <= REC_MAX_RANGES; i++)
		look_at(l, &l->ranges[i]);
	if (l->n > REC_MAX_RANGES)
		look_at_all(l);
}

void rec_look_end(struct rec_look *l, bool launched)
{
	struct rec_payload none = {.seq = l->c.seq, .param = -1};
	CUstreamCaptureMode mode;
	int saved = errno;

	if (launched && !l->why_not) {
		mode = relax(CU_STREAM_CAPTURE_MODE_RELAXED);
		look(l);
		relax(mode);
	}
	if (launched && l->why_not)
		rec_unavailable(&none, l->why_not);
	close_look(l);
	errno = saved;
}
