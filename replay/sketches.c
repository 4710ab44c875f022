/* SPDX-License-Identifier: Apache-2.0
 *
 * What launches wrote, where the trace has hashes and sketches of it and not the contents: compared by hash, and of what
 * differs it is said how, as far as a few numbers tell.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"

static const struct trace_launch_sketch *find(const struct trace_launch_sketch *s, unsigned n,
					      const struct sketch_range *r)
{
	for (unsigned i = 0; i < n; i++)
		if (s[i].base == r->base && s[i].sketch.bytes == r->bytes)
			return &s[i];
	return NULL;
}

/* As the recorder's kernels compute it: of the hashes of chunks, one behind the other. */
static struct trace_hash hash_of_chunks(const uint8_t *data, uint64_t bytes)
{
	uint64_t n = (bytes + SKETCH_CHUNK - 1) / SKETCH_CHUNK, (*hashes)[2] = calloc(n + 1, sizeof(*hashes));
	struct trace_hash h = {{0}};

	for (uint64_t i = 0; hashes && i < n; i++) {
		uint64_t at = i * SKETCH_CHUNK;
		struct sketch_chunk c = {0};

		sketch_hash_chunk(&c, data + at, bytes - at < SKETCH_CHUNK ? bytes - at : SKETCH_CHUNK);
		hashes[i][0] = c.a;
		hashes[i][1] = c.b;
	}
	if (hashes)
		h = trace_hash_bytes(hashes, n * sizeof(*hashes));
	free(hashes);
	return h;
}

static bool describe(const struct sketch *want, const uint8_t *data, char *text, size_t n)
{
	struct sketch got;

	sketch_begin(&got, want->type, want->bytes);
	for (uint64_t at = 0; want->type && at < want->bytes; at += SKETCH_CHUNK) {
		struct sketch_chunk c = {0};
		size_t k = want->bytes - at < SKETCH_CHUNK ? want->bytes - at : SKETCH_CHUNK;

		sketch_numbers(&c, want->type, data + at, k);
		sketch_add(&got, at / SKETCH_CHUNK, &c);
	}
	return sketch_difference(want, &got, text, n);
}

bool sketches_differ(struct engine *e, uint64_t launch, const struct sketch_range *r,
		     const struct trace_hash *hash, const uint8_t *data, char *text, size_t n)
{
	unsigned count;
	const struct trace_launch_sketch *all = trace_launch_sketches(e->trace, launch, &count);
	const struct trace_launch_sketch *s = find(all, count, r);
	struct trace_hash got;
	bool differ = false;

	text[0] = '\0';
	if (hash) {
		got = trace_hash_bytes(data, r->bytes);
		differ = memcmp(&got, hash, sizeof(got)) != 0;
	} else if (s && s->has_hash) {
		got = hash_of_chunks(data, r->bytes);
		differ = memcmp(&got, &s->hash, sizeof(got)) != 0;
	}
	if (differ && s && !describe(&s->sketch, data, text, n) && s->sketch.type)
		snprintf(
			text, n,
			"counts, extremes and sums are alike: a few elements differ by little, or have changed places");
	return differ;
}
