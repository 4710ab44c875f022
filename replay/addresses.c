/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded addresses and where they live now. Two sorted arrays: look-ups are frequent (every aligned
 * word of an upload when something had to move), changes are not.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"

const char *const address_policy_names[ADDRESS_NPOLICIES] = {"placed", "same", "vmm", "translated"};

static uint64_t key(const struct address_range *r, bool live)
{
	return live ? r->live : r->base;
}

/* Index of the first range that starts above addr. */
static size_t above(struct address_range *const *v, size_t n, uint64_t addr, bool live)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (key(v[mid], live) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct address_range *find(struct address_range *const *v, size_t n, uint64_t addr, bool live)
{
	size_t i = above(v, n, addr, live);
	struct address_range *r = i ? v[i - 1] : NULL;
	uint64_t offset = r ? addr - key(r, live) : 0;

	/* A pointer to the end of an array is a pointer into it, unless the next one starts there. */
	return r && offset <= r->bytes ? r : NULL;
}

struct address_range *addresses_find(const struct addresses *a, uint64_t recorded)
{
	return find(a->by_base, a->n, recorded, false);
}

struct address_range *addresses_find_live(const struct addresses *a, uint64_t live)
{
	return find(a->by_live, a->n, live, true);
}

struct address_range *addresses_pointee(const struct addresses *a, const struct trace_kernel_param *p,
					const uint8_t *params, size_t bytes)
{
	uint64_t address;

	if (!p->is_pointer || p->bytes != 8 || p->offset > bytes || bytes - p->offset < 8)
		return NULL;
	memcpy(&address, params + p->offset, 8);
	return addresses_find(a, address);
}

static int reserve(struct addresses *a)
{
	size_t cap = a->cap ? 2 * a->cap : 64;
	struct address_range **base, **live;

	if (a->n < a->cap)
		return 0;
	base = realloc(a->by_base, cap * sizeof(*base));
	if (base)
		a->by_base = base;
	live = realloc(a->by_live, cap * sizeof(*live));
	if (live)
		a->by_live = live;
	if (!base || !live)
		return CUTRACE_ENOMEM;
	a->cap = cap;
	return 0;
}

static void insert(struct address_range **v, size_t n, struct address_range *r, bool live)
{
	size_t i = above(v, n, key(r, live), live);

	memmove(v + i + 1, v + i, (n - i) * sizeof(*v));
	v[i] = r;
}

static void widen(uint64_t *lo, uint64_t *hi, uint64_t base, uint64_t bytes)
{
	if (!*hi || base < *lo)
		*lo = base;
	if (base + bytes > *hi)
		*hi = base + bytes;
}

/* Whatever was there is gone if the driver gave its addresses away. */
static void remove_under(struct addresses *a, const struct address_range *range)
{
	uint64_t last = range->bytes ? range->base + (range->bytes - 1) : range->base;
	size_t i;

	addresses_remove(a, range->base);
	while ((i = above(a->by_base, a->n, last, false)) && a->by_base[i - 1]->base > range->base)
		addresses_remove(a, a->by_base[i - 1]->base);
	if (i && range->base - a->by_base[i - 1]->base < a->by_base[i - 1]->bytes)
		addresses_remove(a, a->by_base[i - 1]->base);
}

int addresses_add(struct addresses *a, const struct address_range *range)
{
	struct address_range *r;

	remove_under(a, range);
	if (reserve(a))
		return CUTRACE_ENOMEM;
	r = malloc(sizeof(*r));
	if (!r)
		return CUTRACE_ENOMEM;
	*r = *range;
	insert(a->by_base, a->n, r, false);
	insert(a->by_live, a->n, r, true);
	a->n++;
	a->nmoved += r->live != r->base;
	widen(&a->lo, &a->hi, r->base, r->bytes);
	widen(&a->live_lo, &a->live_hi, r->live, r->bytes);
	return 0;
}

static void drop(struct address_range **v, size_t n, const struct address_range *r, bool live)
{
	size_t i = above(v, n, key(r, live), live);

	while (i && v[i - 1] != r)
		i--;
	if (i)
		memmove(v + i - 1, v + i, (n - i) * sizeof(*v));
}

void addresses_remove(struct addresses *a, uint64_t base)
{
	struct address_range *r = addresses_find(a, base);

	if (!r || r->base != base)
		return;
	drop(a->by_base, a->n, r, false);
	drop(a->by_live, a->n, r, true);
	a->n--;
	a->nmoved -= r->live != r->base;
	free(r);
}

void addresses_free(struct addresses *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->by_base[i]);
	free(a->by_base);
	free(a->by_live);
	memset(a, 0, sizeof(*a));
}

uint64_t addresses_to_live(const struct addresses *a, uint64_t recorded)
{
	const struct address_range *r;

	if (!a->nmoved || recorded < a->lo || recorded > a->hi)
		return recorded;
	r = addresses_find(a, recorded);
	return r ? r->live + (recorded - r->base) : recorded;
}

uint64_t addresses_to_recorded(const struct addresses *a, uint64_t live)
{
	const struct address_range *r;

	if (!a->nmoved || live < a->live_lo || live > a->live_hi)
		return live;
	r = addresses_find_live(a, live);
	return r ? r->base + (live - r->live) : live;
}

static size_t rewrite(const struct addresses *a, void *words, size_t bytes,
		      uint64_t (*translate)(const struct addresses *, uint64_t))
{
	uint8_t *p = words;
	size_t n = 0;

	if (!a->nmoved)
		return 0;
	for (size_t i = 0; i + 8 <= bytes; i += 8) {
		uint64_t w, t;

		memcpy(&w, p + i, 8);
		t = translate(a, w);
		if (t != w) {
			memcpy(p + i, &t, 8);
			n++;
		}
	}
	return n;
}

size_t addresses_rewrite(const struct addresses *a, void *words, size_t bytes)
{
	return rewrite(a, words, bytes, addresses_to_live);
}

size_t addresses_rewrite_back(const struct addresses *a, void *words, size_t bytes)
{
	return rewrite(a, words, bytes, addresses_to_recorded);
}
