/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/ddmin.h"

#include <stdlib.h>
#include <string.h>

static size_t count(const struct ddmin *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += d->keep[i] != 0;
	return n;
}

/* Leaves out the next `size` units from *at on that are there; how many they are. *at is behind them then. */
static size_t leave_out(struct ddmin *d, size_t *at, size_t size)
{
	size_t n = 0;

	for (; *at < d->n && n < size; ++*at) {
		n += d->keep[*at] != 0;
		d->keep[*at] = 0;
	}
	return n;
}

/* All groups of this size once, the last first: what is computed last needs what comes before it. How many units went. */
static size_t try_groups(struct ddmin *d, size_t size, uint8_t *before, size_t *starts)
{
	size_t n = 0, at = 0, gone = 0;

	for (size_t there = 0; at < d->n; at++) {
		if (!d->keep[at])
			continue;
		if (there++ % size == 0)
			starts[n++] = at;
	}
	while (n-- && !d->stop(d->ctx)) {
		size_t group;

		memcpy(before, d->keep, d->n);
		at = starts[n];
		group = leave_out(d, &at, size);
		if (d->test(d->ctx, d->keep))
			gone += group;
		else
			memcpy(d->keep, before, d->n);
	}
	return gone;
}

size_t ddmin_run(struct ddmin *d)
{
	uint8_t *before = malloc(d->n + 1);
	size_t *starts = calloc(d->n + 1, sizeof(*starts));
	size_t size = count(d), gone = 0, now;

	while (before && starts && size && !d->stop(d->ctx)) {
		now = try_groups(d, size, before, starts);
		gone += now;
		if (size == 1 && !now)
			break;
		size = size > 1 ? (size + 1) / 2 : 1;
	}
	free(before);
	free(starts);
	return gone;
}
