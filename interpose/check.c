/* SPDX-License-Identifier: Apache-2.0
 *
 * check: `record --check`. After a launch, waits for it and hashes what it may have written: the ranges that the
 * kernel's PTX gives for this launch, or all allocations when that is not known. The hash is XXH3-128 in canonical form,
 * as everywhere in a trace.
 */
#include "interpose/recorder.h"

#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

#define PIECE (4u << 20)

static char *_Atomic spare; /* a buffer, for the next launch */

/* ---- hashing ------------------------------------------------------------------ */

static bool read_piece(void *to, CUdeviceptr from, size_t n)
{
	struct rec_thread *t = rec_own_begin();
	CUresult r = REAL(cuMemcpyDtoH_v2)(to, from, n);

	rec_own_end(t);
	return r == CUDA_SUCCESS;
}

/* With `written`, the contents become a payload as well. */
static bool hash_range(const struct rec_range *r, char *buffer, struct rec_payload *written, uint8_t out[16])
{
	uint64_t id = written ? rec_unique() : 0;
	XXH3_state_t state;
	XXH128_canonical_t canonical;

	XXH3_INITSTATE(&state);
	XXH3_128bits_reset(&state);
	for (uint64_t done = 0; done < r->bytes; done += PIECE) {
		size_t n = r->bytes - done < PIECE ? r->bytes - done : PIECE;

		if (!read_piece(buffer, r->base + done, n))
			return false;
		XXH3_128bits_update(&state, buffer, n);
		if (written) {
			written->offset = done;
			rec_payload_piece(written, id, r->bytes,
					  (done ? 0 : RING_PAYLOAD_FIRST) |
						  (done + n == r->bytes ? RING_PAYLOAD_LAST : 0),
					  buffer, n);
		}
	}
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
	memcpy(out, canonical.digest, 16);
	return true;
}

static void hash_one(const struct rec_checked *c, const struct rec_range *r, char *buffer)
{
	struct rec_payload written = {.seq = c->seq,
				      .kind = RING_WRITTEN,
				      .param = -1,
				      .device_address = r->base,
				      .width = r->bytes,
				      .height = 1,
				      .depth = 1};
	bool contents = c->layout ? c->layout->checked & RING_CHECKED_CONTENTS
				  : rec_session()->flags & RING_SESSION_CONTENTS;
	uint8_t hash[16];
	bool ok = hash_range(r, buffer, contents ? &written : NULL, hash);

	/* Freed meanwhile by another thread, or not readable from this context. */
	if (ok)
		rec_hash_record(c->seq, r->base, r->bytes, hash);
}

static void hash_all(const struct rec_checked *c, char *buffer)
{
	struct rec_allocation a;

	for (size_t i = 0; rec_allocation_at(i, &a); i++)
		hash_one(c, &(struct rec_range){a.base, a.bytes}, buffer);
}

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

void rec_check_launch(const struct rec_checked *c)
{
	struct rec_payload p = {.seq = c->seq, .param = -1};
	struct rec_range ranges[REC_MAX_RANGES];
	unsigned n;
	char *buffer;

	if (rec_capturing(c->stream, c->per_thread)) {
		rec_unavailable(&p, "no hash: launched while its stream is being captured");
		return;
	}
	/* An error here is the program's to find at its next call. */
	if (wait_for(c->stream, c->per_thread) != CUDA_SUCCESS) {
		rec_unavailable(&p, "no hash: the launch failed");
		return;
	}
	buffer = atomic_exchange(&spare, NULL);
	if (!buffer)
		buffer = rec_pages(PIECE);
	if (!buffer) {
		rec_unavailable(&p, "no hash: out of memory");
		return;
	}
	if (rec_ranges(c, ranges, &n))
		for (unsigned i = 0; i < n; i++)
			hash_one(c, &ranges[i], buffer);
	else
		hash_all(c, buffer);
	buffer = atomic_exchange(&spare, buffer);
	rec_pages_free(buffer, PIECE);
}
