/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory management, with HIP's conditions: granules, no offset, whole mappings. HIP 5.2 has the functions, and
 * no device that supports them.
 */
#include "stand_in.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct physical {
	uint64_t bytes;
	uint8_t *host;
	int refs;
};

struct allocation { /* hipMemAllocationProp since 5.3 */
	int type, handle_type;
	int location_type, location;
	void *win32;
	unsigned char compression, rdma;
	unsigned short usage;
	int padding;
};
_Static_assert(sizeof(struct allocation) == 32, "hipMemAllocationProp");

struct access {
	int location_type, location, flags;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_allocation(const struct allocation *p)
{
	return p && p->type == 1 && p->location_type == 1 && p->location >= 0 &&
	       p->location < device_count() && !p->handle_type;
}

EXPORT int hipMemGetAllocationGranularity(size_t *out, const struct allocation *p, int which);
int hipMemGetAllocationGranularity(size_t *out, const struct allocation *p, int which)
{
	if (!HAS_VMM)
		return result(E_NOT_SUPPORTED);
	if (!out || !is_allocation(p) || which < 0 || which > 1)
		return result(E_VALUE);
	*out = which ? GRANULE : 4096;
	return result(E_OK);
}

EXPORT int hipMemAddressReserve(void **out, size_t bytes, size_t alignment, void *wanted,
				unsigned long long flags);
int hipMemAddressReserve(void **out, size_t bytes, size_t alignment, void *wanted, unsigned long long flags)
{
	uint64_t at;

	if (!HAS_VMM)
		return result(E_NOT_SUPPORTED);
	if (!out || !bytes || bytes % 4096 || (alignment & (alignment - 1)) || flags)
		return result(E_VALUE);
	at = reserve_addresses(refuses_addresses() ? 0 : (uint64_t)wanted, bytes + GRANULE);
	if (!at)
		return result(E_MEMORY);
	*out = (void *)((at + GRANULE - 1) / GRANULE * GRANULE);
	return result(E_OK);
}

EXPORT int hipMemAddressFree(void *p, size_t bytes);
int hipMemAddressFree(void *p, size_t bytes)
{
	return result(p && bytes && !munmap(p, bytes) ? E_OK : E_VALUE);
}

EXPORT int hipMemCreate(struct physical **out, size_t bytes, const struct allocation *p,
			unsigned long long flags);
int hipMemCreate(struct physical **out, size_t bytes, const struct allocation *p, unsigned long long flags)
{
	struct physical *m;

	if (!HAS_VMM)
		return result(E_NOT_SUPPORTED);
	if (!out || !bytes || bytes % 4096 || !is_allocation(p) || flags)
		return result(E_VALUE);
	m = calloc(1, sizeof(*m));
	if (!m || !take_bytes(bytes)) {
		free(m);
		return result(E_MEMORY);
	}
	m->host =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	m->bytes = bytes;
	m->refs = 1;
	*out = m;
	return result(m->host == MAP_FAILED ? E_MEMORY : E_OK);
}

static void unref(struct physical *m)
{
	int refs;

	pthread_mutex_lock(&lock);
	refs = --m->refs;
	pthread_mutex_unlock(&lock);
	if (refs)
		return;
	munmap(m->host, m->bytes);
	give_bytes(m->bytes);
	free(m);
}

EXPORT int hipMemRelease(struct physical *m);
int hipMemRelease(struct physical *m)
{
	if (!m)
		return result(E_VALUE);
	unref(m);
	return result(E_OK);
}

EXPORT int hipMemMap(void *at, size_t bytes, size_t offset, struct physical *m, unsigned long long flags);
int hipMemMap(void *at, size_t bytes, size_t offset, struct physical *m, unsigned long long flags)
{
	int r;

	if (!HAS_VMM)
		return result(E_NOT_SUPPORTED);
	if (!at || !m || !bytes || bytes % 4096 || offset || flags || bytes > m->bytes || (uint64_t)at % 4096)
		return result(E_VALUE);
	r = add_area(AREA_MAPPED, (uint64_t)at, bytes, m->host, 0, m);
	if (r)
		return result(r);
	pthread_mutex_lock(&lock);
	m->refs++;
	pthread_mutex_unlock(&lock);
	return result(E_OK);
}

EXPORT int hipMemUnmap(void *at, size_t bytes);
int hipMemUnmap(void *at, size_t bytes)
{
	struct area a;

	if (!find_area((uint64_t)at, &a) || a.kind != AREA_MAPPED || a.address != (uint64_t)at ||
	    a.bytes != bytes)
		return result(E_VALUE);
	remove_area((uint64_t)at, AREA_MAPPED, &a);
	unref(a.owner);
	return result(E_OK);
}

EXPORT int hipMemSetAccess(void *at, size_t bytes, const struct access *access, size_t count);
int hipMemSetAccess(void *at, size_t bytes, const struct access *access, size_t count)
{
	if (!HAS_VMM)
		return result(E_NOT_SUPPORTED);
	if (!at || !bytes || !access || !count)
		return result(E_VALUE);
	for (size_t i = 0; i < count; i++)
		if (access[i].location_type != 1 || access[i].location < 0 ||
		    access[i].location >= device_count() || access[i].flags != 3 ||
		    !set_access((uint64_t)at, bytes, (unsigned)access[i].location))
			return result(E_VALUE);
	return result(E_OK);
}
