/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's memory as the host sees it: made, mapped, read, written, copied and filled. The checked mode is told
 * of everything that is written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "zluda_core/device_interp/check.h"

int interp_mem_create(struct device *device, uint64_t bytes, struct dev_mem **out, struct diag *d)
{
	struct dev_mem *m = calloc(1, sizeof(*m));
	void *host = MAP_FAILED;

	(void)device;
	if (m && bytes)
		host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    -1, 0);
	if (host == MAP_FAILED) {
		free(m);
		return diag_set(d, CUTRACE_ENOMEM, "", "no host memory for %llu bytes: %s",
				(unsigned long long)bytes, strerror(errno));
	}
	*m = (struct dev_mem){.host = host, .bytes = bytes};
	if (interp_own(device)->checker)
		check_memory_created(interp_own(device)->checker, m->host, bytes);
	*out = m;
	return 0;
}

int interp_mem_import(struct device *device, void *host, uint64_t bytes, struct dev_mem **out, struct diag *d)
{
	struct dev_mem *m = calloc(1, sizeof(*m));

	(void)device;
	if (!m)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	*m = (struct dev_mem){.host = host, .bytes = bytes, .imported = true};
	*out = m;
	return 0;
}

void interp_mem_destroy(struct device *device, struct dev_mem *m)
{
	if (m && interp_own(device)->checker)
		check_memory_gone(interp_own(device)->checker, m->host, m->bytes);
	if (m && !m->imported)
		munmap(m->host, m->bytes);
	free(m);
}

int interp_map(struct device *device, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
	       bool adjacent, struct diag *d)
{
	if (offset > mem->bytes || bytes > mem->bytes - offset)
		return diag_set(d, CUTRACE_EINVAL, "",
				"mapping %llu bytes at offset %llu of a memory of %llu bytes",
				(unsigned long long)bytes, (unsigned long long)offset,
				(unsigned long long)mem->bytes);
	return memory_map_add(&interp_own(device)->map, addr, bytes, mem->host + offset, adjacent, d);
}

int interp_unmap(struct device *device, uint64_t addr, uint64_t bytes, struct diag *d)
{
	return memory_map_remove(&interp_own(device)->map, addr, bytes, d);
}

void *interp_host_view(struct device *device, uint64_t addr, uint64_t bytes)
{
	struct memory_map *map = &interp_own(device)->map;
	void *p = NULL;

	pthread_mutex_lock(&map->lock);
	const struct mapping *m = map_find(atomic_load(&map->current), addr);
	if (m && bytes <= m->end - addr)
		p = m->host + (addr - m->base);
	pthread_mutex_unlock(&map->lock);
	if (p && interp_own(device)->checker) /* whoever asks may write there */
		check_written(interp_own(device)->checker, p, bytes);
	return p;
}

/* Transfers: a cursor over host memory, moved along as pieces of device memory come. */
struct transfer {
	struct interp_device *dev;
	uint8_t *host;
	uint64_t dst;
	uint32_t value;
	unsigned width;
	uint64_t done;
	struct diag *d;
	bool from_device; /* host is memory of the device */
};

static int read_piece(void *ctx, uint8_t *host, uint64_t n)
{
	struct transfer *t = ctx;

	memmove(t->host, host, n);
	t->host += n;
	return 0;
}

static int write_piece(void *ctx, uint8_t *host, uint64_t n)
{
	struct transfer *t = ctx;

	if (t->dev->checker && t->from_device)
		check_copied(t->dev->checker, host, t->host, n);
	else if (t->dev->checker)
		check_written(t->dev->checker, host, n);
	memmove(host, t->host, n);
	t->host += n;
	return 0;
}

static int copy_piece(void *ctx, uint8_t *host, uint64_t n)
{
	struct transfer *t = ctx;
	struct transfer inner = {.dev = t->dev, .host = host, .from_device = true};
	int rc = memory_map_walk(&t->dev->map, t->dst, n, write_piece, &inner, t->d);

	t->dst += n;
	return rc;
}

static int fill_piece(void *ctx, uint8_t *host, uint64_t n)
{
	struct transfer *t = ctx;
	const uint8_t *v = (const uint8_t *)&t->value;

	if (t->dev->checker)
		check_written(t->dev->checker, host, n);
	if (t->width == 1) {
		memset(host, v[0], n);
	} else {
		for (uint64_t k = 0; k < n; k++)
			host[k] = v[(t->done + k) % t->width];
	}
	t->done += n;
	return 0;
}

static int walk_locked(struct interp_device *dev, uint64_t addr, uint64_t bytes,
		       int (*fn)(void *ctx, uint8_t *host, uint64_t n), struct transfer *t, struct diag *d)
{
	pthread_rwlock_rdlock(&dev->map.host_lock);
	int rc = memory_map_walk(&dev->map, addr, bytes, fn, t, d);

	pthread_rwlock_unlock(&dev->map.host_lock);
	return rc;
}

int interp_read(struct device *device, void *dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	struct transfer t = {.host = dst};

	return walk_locked(interp_own(device), src, bytes, read_piece, &t, d);
}

int interp_write(struct device *device, uint64_t dst, const void *src, uint64_t bytes, struct diag *d)
{
	struct transfer t = {.dev = interp_own(device), .host = (uint8_t *)(uintptr_t)src};

	return walk_locked(interp_own(device), dst, bytes, write_piece, &t, d);
}

int interp_copy(struct device *device, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	struct transfer t = {.dev = interp_own(device), .dst = dst, .d = d};

	return walk_locked(interp_own(device), src, bytes, copy_piece, &t, d);
}

int interp_fill(struct device *device, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
		struct diag *d)
{
	struct transfer t = {.dev = interp_own(device), .value = value, .width = width};

	if ((width != 1 && width != 2 && width != 4) || count > UINT64_MAX / 4)
		return diag_set(d, CUTRACE_EINVAL, "", "a fill of %llu values of %u bytes",
				(unsigned long long)count, width);
	return walk_locked(interp_own(device), dst, count * width, fill_piece, &t, d);
}
