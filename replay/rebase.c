/* SPDX-License-Identifier: Apache-2.0
 *
 * Proof of a translation. The same trace is replayed at two bases; the first run writes its results, with
 * addresses put back to recorded ones, to a file, the second reads along. Results must be the same: a word
 * that differs exactly as an allocation's two live addresses do is a pointer that no rule has found.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"

struct record {
	uint64_t call, bytes, nranges;
};
struct range {
	uint64_t base, bytes, live;
};

static void write_first(struct engine *e, uint64_t call, const struct binding *b)
{
	struct record r = {call, b->bytes, e->addresses.n};

	fwrite(&r, sizeof(r), 1, e->results);
	for (size_t i = 0; i < e->addresses.n; i++) {
		const struct address_range *a = e->addresses.by_base[i];
		struct range range = {a->base, a->bytes, a->live};

		fwrite(&range, sizeof(range), 1, e->results);
	}
	fwrite(b->data, 1, b->bytes, e->results);
}

/* The allocation in which w1 lay in the first run and w2 at the same place in the second. */
static const struct range *missed(struct engine *e, const struct range *ranges, size_t n, uint64_t w1,
				  uint64_t w2)
{
	for (size_t i = 0; i < n; i++) {
		const struct address_range *now;

		if (w1 - ranges[i].live > ranges[i].bytes)
			continue;
		now = addresses_find(&e->addresses, ranges[i].base);
		if (now && now->base == ranges[i].base && w2 - now->live == w1 - ranges[i].live)
			return &ranges[i];
	}
	return NULL;
}

static void report(struct engine *e, uint64_t call, const struct binding *b, size_t at,
		   const struct range *range, uint64_t w)
{
	struct verdict v = {.call = call,
			    .kind = "address",
			    .func = "second base",
			    .grade = "differs",
			    .bytes = b->bytes,
			    .base = b->base,
			    .allocation = b->allocation,
			    .launch = b->writer_call,
			    .kernel = b->writer_kernel,
			    .elem_type = "b64"};
	char note[256];

	v.r = (struct compare_result){.elements = b->bytes / 8, .differing = 1, .beyond = 1, .first = at / 8};
	if (range)
		snprintf(note, sizeof(note),
			 "byte %zu is an address that was not translated: 0x%" PRIx64
			 " inside the allocation at 0x%" PRIx64,
			 at, w, range->base);
	else
		snprintf(note, sizeof(note), "byte %zu depends on where the allocations lie", at);
	v.note = note;
	v.address = b->device_address ? b->device_address + at : 0;
	result_verdict(e->out, &v);
}

static void compare_second(struct engine *e, uint64_t call, const struct binding *b,
			   const struct range *ranges, size_t nranges, const uint8_t *first)
{
	size_t at = 0;

	while (at < b->bytes && first[at] == b->data[at])
		at++;
	if (at == b->bytes)
		return;
	/* A pointer may start up to seven bytes before the first byte that differs. */
	for (size_t start = at < 7 ? 0 : at - 7; start <= at && start + 8 <= b->bytes; start++) {
		const struct range *r;
		uint64_t w1, w2;

		memcpy(&w1, first + start, 8);
		memcpy(&w2, b->data + start, 8);
		r = missed(e, ranges, nranges, w1, w2);
		if (r) {
			report(e, call, b, start, r, w1);
			return;
		}
	}
	report(e, call, b, at, NULL, 0);
}

static void read_second(struct engine *e, uint64_t call, const struct binding *b)
{
	struct record r;
	struct range *ranges = NULL;
	uint8_t *first = NULL;

	if (fread(&r, sizeof(r), 1, e->results) == 1 && r.call == call && r.bytes == b->bytes) {
		ranges = calloc(r.nranges + 1, sizeof(*ranges));
		first = malloc(r.bytes + 1);
	}
	if (ranges && first && fread(ranges, sizeof(*ranges), r.nranges, e->results) == r.nranges &&
	    fread(first, 1, r.bytes, e->results) == r.bytes) {
		compare_second(e, call, b, ranges, r.nranges, first);
	} else {
		engine_say(e, call, "error",
			   "the replay at the second base took another course than the first");
		fclose(e->results);
		e->results = NULL;
	}
	free(ranges);
	free(first);
}

void rebase_result(struct engine *e, uint64_t call, const struct binding *b)
{
	if (e->pass == 1)
		write_first(e, call, b);
	else
		read_second(e, call, b);
}
