/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "reduce/ddmin.h"
#include "reduce/passes.h"

#define GRAIN 16u  /* bytes: what a buffer's end is found to */
#define ALIGN 256u /* of a buffer's begin */

static bool holds_with(void *ctx, const uint8_t *keep)
{
	struct judge *j = ctx;
	struct diag d = DIAG_INIT;
	struct scene s;
	unsigned n = 0;
	bool holds;

	if (scene_copy(&s, j->current))
		return false;
	for (unsigned i = 0; i < s.nbuffers; i++)
		if (keep[i])
			s.buffers[n++] = s.buffers[i];
	s.nbuffers = n;
	holds = judge_scene(j, &s, &d);
	scene_drop(&s);
	return holds;
}

/* ddmin works on the list as it was; what is left is taken at the end. */
void pass_drop_buffers(struct judge *j)
{
	struct ddmin d = {.n = j->current->nbuffers, .test = holds_with, .stop = judge_stopped, .ctx = j};
	unsigned n = 0;

	d.keep = malloc(d.n + 1);
	if (!d.keep)
		return;
	memset(d.keep, 1, d.n);
	ddmin_run(&d);
	for (unsigned i = 0; i < d.n; i++)
		if (d.keep[i])
			j->current->buffers[n++] = j->current->buffers[i];
	j->current->nbuffers = n;
	free(d.keep);
}

static bool try_range(struct judge *j, unsigned i, uint64_t from, uint64_t bytes)
{
	struct scene s;

	if (judge_stopped(j) || scene_copy(&s, j->current))
		return false;
	s.buffers[i].base += from;
	s.buffers[i].data += from;
	if (s.buffers[i].after)
		s.buffers[i].after += from;
	s.buffers[i].bytes = bytes;
	return judge_take(j, &s);
}

/* The smallest end that holds, by halves. */
static void shrink_end(struct judge *j, unsigned i)
{
	uint64_t low = 0, high = (j->current->buffers[i].bytes + GRAIN - 1) / GRAIN;

	while (high - low > 1 && !judge_stopped(j)) {
		uint64_t mid = low + (high - low) / 2;

		if (try_range(j, i, 0, mid * GRAIN))
			high = mid;
		else
			low = mid;
	}
}

static void shrink_begin(struct judge *j, unsigned i)
{
	uint64_t low = 0, high = (j->current->buffers[i].bytes + ALIGN - 1) / ALIGN, gone = 0;

	while (high - low > 1 && !judge_stopped(j)) {
		uint64_t mid = low + (high - low) / 2;
		const struct scene_buffer *b = &j->current->buffers[i];

		if (try_range(j, i, mid * ALIGN - gone, b->bytes - (mid * ALIGN - gone))) {
			low = mid;
			gone = mid * ALIGN;
		} else {
			high = mid;
		}
	}
}

/* Variables are as large as their module says. */
void pass_shrink_buffers(struct judge *j)
{
	for (unsigned i = 0; i < j->current->nbuffers && !judge_stopped(j); i++) {
		if (j->current->buffers[i].name)
			continue;
		shrink_end(j, i);
		shrink_begin(j, i);
	}
}
