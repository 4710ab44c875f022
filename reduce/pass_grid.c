/* SPDX-License-Identifier: Apache-2.0
 *
 * Fewer blocks and threads. Blocks are numbered from 0: to be left with another one, the kernel is told its number, and how
 * many there were, by constants in place of %ctaid and %nctaid.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/passes.h"

static const char axis_names[3] = {'x', 'y', 'z'};

/* The text with each `%name` replaced by a number; malloc'ed. */
static char *replace_register(const char *text, const char *name, uint32_t value)
{
	size_t n = strlen(name), bytes = strlen(text);
	char number[16], *out = malloc(2 * bytes + 1), *to = out;
	const char *at;

	snprintf(number, sizeof(number), "%u", value);
	while (out && (at = strstr(text, name))) {
		char after = at[n];
		bool whole =
			!((after >= 'a' && after <= 'z') || (after >= '0' && after <= '9') || after == '_');

		memcpy(to, text, (size_t)(at - text));
		to += at - text;
		to = stpcpy(to, whole ? number : name);
		text = at + n;
	}
	if (out)
		strcpy(to, text);
	return out;
}

/* Constants for the special registers of an axis, in all modules. */
static bool fix_axis(struct judge *j, struct scene *s, const char *of, unsigned axis, uint32_t value)
{
	char name[16];

	snprintf(name, sizeof(name), "%%%s.%c", of, axis_names[axis]);
	for (unsigned i = 0; i < s->nmodules; i++) {
		char *text = scene_keep(j->current, replace_register(s->modules[i].ptx, name, value));

		if (!text)
			return false;
		s->modules[i].ptx = text;
		s->modules[i].bytes = strlen(text);
	}
	return true;
}

static bool try_blocks(struct judge *j, const uint32_t *grid)
{
	struct scene s;

	if (!memcmp(grid, j->current->grid, sizeof(s.grid)) || scene_copy(&s, j->current))
		return false;
	memcpy(s.grid, grid, sizeof(s.grid));
	return judge_take(j, &s);
}

/* One block, which takes itself for that one of the whole grid. */
static bool try_one_block(struct judge *j, const uint32_t *block)
{
	const uint32_t one[3] = {1, 1, 1};
	struct scene s;

	if (judge_stopped(j) || scene_copy(&s, j->current))
		return false;
	for (unsigned a = 0; a < 3; a++) {
		if (!fix_axis(j, &s, "ctaid", a, block[a]) || !fix_axis(j, &s, "nctaid", a, s.grid[a])) {
			scene_drop(&s);
			return false;
		}
	}
	memcpy(s.grid, one, sizeof(s.grid));
	memset(s.cluster, 0, sizeof(s.cluster));
	return judge_take(j, &s);
}

static void halve_grid(struct judge *j)
{
	for (unsigned a = 0; a < 3; a++)
		for (uint32_t g = j->current->grid[a] / 2; g && !judge_stopped(j); g /= 2) {
			uint32_t grid[3];

			memcpy(grid, j->current->grid, sizeof(grid));
			grid[a] = g;
			if (!try_blocks(j, grid))
				break;
		}
}

/* Some of few blocks: nobody said which one. */
static bool try_some(struct judge *j)
{
	uint64_t n = (uint64_t)j->current->grid[0] * j->current->grid[1] * j->current->grid[2];
	uint64_t step = n > 32 ? n / 32 : 1;

	for (uint64_t i = n; i && !judge_stopped(j); i = i > step ? i - step : 0) {
		uint64_t k = i - 1;
		const uint32_t *g = j->current->grid;
		const uint32_t block[3] = {(uint32_t)(k % g[0]), (uint32_t)(k / g[0] % g[1]),
					   (uint32_t)(k / g[0] / g[1])};

		if (try_one_block(j, block))
			return true;
	}
	return false;
}

static void shrink_grid(struct judge *j, const uint32_t *block)
{
	const uint32_t one[3] = {1, 1, 1};

	if (!memcmp(j->current->grid, one, sizeof(one)) || try_blocks(j, one))
		return;
	if (block && block[0] < j->current->grid[0] && block[1] < j->current->grid[1] &&
	    block[2] < j->current->grid[2] && try_one_block(j, block))
		return;
	halve_grid(j);
	if (memcmp(j->current->grid, one, sizeof(one)))
		try_some(j);
}

static bool try_threads(struct judge *j, unsigned axis, uint32_t n, bool fixed)
{
	struct scene s;

	if (judge_stopped(j) || scene_copy(&s, j->current))
		return false;
	if (fixed && !fix_axis(j, &s, "ntid", axis, s.block[axis])) {
		scene_drop(&s);
		return false;
	}
	s.block[axis] = n;
	return judge_take(j, &s);
}

static void shrink_blocks(struct judge *j)
{
	for (unsigned a = 3; a-- > 0;) {
		if (j->current->block[a] > 1 && !try_threads(j, a, 1, true))
			try_threads(j, a, 1, false);
		for (uint32_t n = j->current->block[a] / 2; n && !judge_stopped(j); n /= 2)
			if (!try_threads(j, a, n, true) && !try_threads(j, a, n, false))
				break;
	}
}

void pass_grid(struct judge *j, const uint32_t *block)
{
	shrink_grid(j, block);
	shrink_blocks(j);
}
