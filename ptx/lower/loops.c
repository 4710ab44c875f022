/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/lower/loops.h"

#include <stdlib.h>

enum { UNSEEN, ON_THE_WAY, DONE };

static void walk(const struct ptx_func *f, uint32_t *path, uint32_t *edge, uint8_t *visit,
		 void (*fn)(void *ctx, uint32_t from, uint32_t to), void *ctx)
{
	uint32_t n = 0;

	path[n++] = 0;
	visit[0] = ON_THE_WAY;
	while (n) {
		uint32_t b = path[n - 1];
		if (edge[b] == f->blocks[b].nsuccs) {
			visit[b] = DONE;
			n--;
			continue;
		}
		uint32_t to = f->blocks[b].succs[edge[b]++];
		if (visit[to] == ON_THE_WAY)
			fn(ctx, b, to);
		if (visit[to] != UNSEEN)
			continue;
		visit[to] = ON_THE_WAY;
		path[n++] = to;
	}
}

int loops_walk(const struct ptx_func *f, void (*fn)(void *ctx, uint32_t from, uint32_t to), void *ctx)
{
	size_t n = (size_t)f->nblocks + 1;
	uint32_t *words = calloc(2 * n, sizeof(*words));
	uint8_t *visit = calloc(n, 1);
	int rc = words && visit ? 0 : CUTRACE_ENOMEM;

	if (!rc)
		walk(f, words, words + n, visit, fn, ctx);
	free(words);
	free(visit);
	return rc;
}

bool loops_dominates(const struct ptx_func *f, uint32_t a, uint32_t b)
{
	while (b != a && b != PTX_NONE)
		b = f->blocks[b].idom;
	return b == a;
}

struct irreducible {
	const struct ptx_func *f;
	bool found;
};

static void look(void *ctx, uint32_t from, uint32_t to)
{
	struct irreducible *i = ctx;

	i->found |= !loops_dominates(i->f, to, from);
}

int loops_irreducible(const struct ptx_func *f, bool *found)
{
	struct irreducible i = {.f = f};
	int rc = loops_walk(f, look, &i);

	*found = i.found;
	return rc;
}
