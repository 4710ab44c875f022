/* SPDX-License-Identifier: Apache-2.0
 *
 * Shadow of memory, by host page, so that two addresses of one memory share it. Pages come into being when they are
 * first asked for: unwritten where the device made the memory, written where a host range was imported. */
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/check.h"

#define BUCKETS      (1u << 16)
#define CELL_LIMIT   (4ull << 30) /* bytes of marks */
#define CELLS_A_PAGE (CHECK_PAGE / 4)

bool bits_all_set(const uint8_t *bits, uint64_t first, uint64_t n)
{
	for (uint64_t k = first; k < first + n; k++)
		if (!(bits[k / 8] >> (k % 8) & 1))
			return false;
	return true;
}

void bits_set(uint8_t *bits, uint64_t first, uint64_t n, bool value)
{
	uint64_t k = first, end = first + n;

	for (; k < end && k % 8; k++)
		bits[k / 8] = (uint8_t)(value ? bits[k / 8] | 1u << k % 8 : bits[k / 8] & ~(1u << k % 8));
	if (end > k && (end - k) / 8) {
		memset(bits + k / 8, value ? 0xff : 0, (end - k) / 8);
		k += (end - k) / 8 * 8;
	}
	for (; k < end; k++)
		bits[k / 8] = (uint8_t)(value ? bits[k / 8] | 1u << k % 8 : bits[k / 8] & ~(1u << k % 8));
}

/* Index of the first range whose end is above addr. */
static uint32_t range_after(const struct checker *c, uint64_t addr)
{
	uint32_t low = 0, high = c->nranges;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (c->ranges[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool starts_unwritten(const struct checker *c, uint64_t addr)
{
	uint32_t k = range_after(c, addr);

	return k < c->nranges && c->ranges[k].begin <= addr;
}

static struct check_page **bucket(struct checker *c, uint64_t number)
{
	return &c->buckets[(number * 0x9e3779b97f4a7c15ull >> 40) % BUCKETS];
}

/* NULL: out of memory; the page counts as written. */
static struct check_page *page_of(struct checker *c, const uint8_t *host)
{
	uint64_t number = (uint64_t)(uintptr_t)host / CHECK_PAGE;

	if (!c->buckets && !(c->buckets = calloc(BUCKETS, sizeof(*c->buckets))))
		return NULL;
	struct check_page **head = bucket(c, number), *p = *head;

	while (p && p->number != number)
		p = p->next;
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->number = number;
	if (!starts_unwritten(c, number * CHECK_PAGE))
		memset(p->written, 0xff, sizeof(p->written));
	p->next = *head;
	*head = p;
	return p;
}

bool shadow_is_written(struct checker *c, const uint8_t *host, uint32_t bytes)
{
	while (bytes) {
		uint32_t at = (uint32_t)((uintptr_t)host % CHECK_PAGE),
			 n = CHECK_PAGE - at < bytes ? CHECK_PAGE - at : bytes;
		const struct check_page *p = page_of(c, host);

		if (p && !bits_all_set((const uint8_t *)p->written, at, n))
			return false;
		host += n;
		bytes -= n;
	}
	return true;
}

void shadow_set_written(struct checker *c, const uint8_t *host, uint64_t bytes)
{
	while (bytes) {
		uint64_t at = (uintptr_t)host % CHECK_PAGE,
			 n = CHECK_PAGE - at < bytes ? CHECK_PAGE - at : bytes;
		struct check_page *p = page_of(c, host);

		if (p)
			bits_set((uint8_t *)p->written, at, n, true);
		host += n;
		bytes -= n;
	}
}

struct check_cell *shadow_cell(struct checker *c, const uint8_t *host)
{
	struct check_page *p = page_of(c, host);

	if (!p)
		return NULL;
	if (!p->cells && c->cell_bytes < CELL_LIMIT) {
		p->cells = calloc(CELLS_A_PAGE, sizeof(*p->cells));
		c->cell_bytes += p->cells ? CELLS_A_PAGE * sizeof(*p->cells) : 0;
	}
	if (!p->cells) {
		c->cells_refused = true;
		return NULL;
	}
	return &p->cells[(uintptr_t)host % CHECK_PAGE / 4];
}

void shadow_drop_cells(struct checker *c)
{
	for (uint32_t k = 0; c->buckets && k < BUCKETS; k++)
		for (struct check_page *p = c->buckets[k]; p; p = p->next) {
			free(p->cells);
			p->cells = NULL;
		}
	c->cell_bytes = 0;
}

void check_memory_created(struct checker *c, const uint8_t *host, uint64_t bytes)
{
	pthread_mutex_lock(&c->lock);
	uint64_t begin = (uintptr_t)host;
	uint32_t k = range_after(c, begin);

	if (c->nranges == c->ranges_capacity) {
		uint32_t more = c->ranges_capacity ? 2 * c->ranges_capacity : 64;
		struct check_range *r = realloc(c->ranges, more * sizeof(*r));

		if (!r) { /* it counts as written */
			pthread_mutex_unlock(&c->lock);
			return;
		}
		c->ranges = r;
		c->ranges_capacity = more;
	}
	memmove(c->ranges + k + 1, c->ranges + k, (c->nranges - k) * sizeof(*c->ranges));
	c->ranges[k] = (struct check_range){begin, begin + bytes};
	c->nranges++;
	pthread_mutex_unlock(&c->lock);
}

static void drop_page(struct checker *c, struct check_page **at)
{
	struct check_page *p = *at;

	*at = p->next;
	c->cell_bytes -= p->cells ? CELLS_A_PAGE * sizeof(*p->cells) : 0;
	free(p->cells);
	free(p);
}

static void drop_pages(struct checker *c, uint64_t first, uint64_t last)
{
	if (last - first < BUCKETS) {
		for (uint64_t n = first; n <= last; n++)
			for (struct check_page **p = bucket(c, n); *p; p = &(*p)->next)
				if ((*p)->number == n) {
					drop_page(c, p);
					break;
				}
		return;
	}
	for (uint32_t k = 0; k < BUCKETS; k++)
		for (struct check_page **p = &c->buckets[k]; *p;) {
			if ((*p)->number >= first && (*p)->number <= last)
				drop_page(c, p);
			else
				p = &(*p)->next;
		}
}

void check_memory_gone(struct checker *c, const uint8_t *host, uint64_t bytes)
{
	pthread_mutex_lock(&c->lock);
	uint64_t begin = (uintptr_t)host;
	uint32_t k = range_after(c, begin);

	if (c->buckets && bytes)
		drop_pages(c, begin / CHECK_PAGE, (begin + bytes - 1) / CHECK_PAGE);
	if (k < c->nranges && c->ranges[k].begin == begin) {
		c->nranges--;
		memmove(c->ranges + k, c->ranges + k + 1, (c->nranges - k) * sizeof(*c->ranges));
	}
	pthread_mutex_unlock(&c->lock);
}

void check_written(struct checker *c, const uint8_t *host, uint64_t bytes)
{
	pthread_mutex_lock(&c->lock);
	shadow_set_written(c, host, bytes);
	pthread_mutex_unlock(&c->lock);
}

/* Byte by byte where anything of the source is unwritten. */
static void copy_bits(struct checker *c, const uint8_t *to, const uint8_t *from, uint64_t n)
{
	if (shadow_is_written(c, from, (uint32_t)n)) {
		shadow_set_written(c, to, n);
		return;
	}
	uint8_t bits[CHECK_PAGE / 8] = {0};

	for (uint64_t k = 0; k < n; k++)
		if (shadow_is_written(c, from + k, 1))
			bits_set(bits, k, 1, true);
	for (uint64_t k = 0; k < n; k++) {
		struct check_page *p = page_of(c, to + k);

		if (p)
			bits_set((uint8_t *)p->written, (uintptr_t)(to + k) % CHECK_PAGE, 1,
				 bits[k / 8] >> (k % 8) & 1);
	}
}

void check_copied(struct checker *c, const uint8_t *to, const uint8_t *from, uint64_t bytes)
{
	pthread_mutex_lock(&c->lock);
	for (uint64_t at = 0; at < bytes; at += CHECK_PAGE)
		copy_bits(c, to + at, from + at, bytes - at < CHECK_PAGE ? bytes - at : CHECK_PAGE);
	pthread_mutex_unlock(&c->lock);
}
