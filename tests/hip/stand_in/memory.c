/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: what device addresses are made of, copies, host memory.
 */
#include "stand_in.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct area *areas;
static uint64_t used;

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- areas ---- */

uint64_t reserve_addresses(uint64_t wanted, uint64_t bytes)
{
	void *at =
		mmap((void *)wanted, bytes, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (wanted ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (at != MAP_FAILED && wanted && (uint64_t)at != wanted)
		munmap(at, bytes);
	else if (at != MAP_FAILED)
		return (uint64_t)at;
	return wanted ? reserve_addresses(0, bytes) : 0;
}

int add_area(enum area_kind kind, uint64_t address, uint64_t bytes, uint8_t *host, unsigned access,
	     void *owner)
{
	struct area *a = malloc(sizeof(*a)), *other;

	if (!a)
		return E_MEMORY;
	pthread_mutex_lock(&lock);
	for (other = areas; other; other = other->next)
		if (address < other->address + other->bytes && other->address < address + bytes)
			break;
	if (!other) {
		*a = (struct area){areas, kind, address, bytes, host, access, owner};
		areas = a;
	}
	pthread_mutex_unlock(&lock);
	if (!other)
		return E_OK;
	free(a);
	return kind == AREA_REGISTERED ? E_ALREADY_REGISTERED : E_VALUE;
}

bool remove_area(uint64_t address, enum area_kind kind, struct area *out)
{
	struct area **at, *a;

	pthread_mutex_lock(&lock);
	for (at = &areas; *at; at = &(*at)->next)
		if ((*at)->address == address && (*at)->kind == kind)
			break;
	a = *at;
	if (a)
		*at = a->next;
	pthread_mutex_unlock(&lock);
	if (!a)
		return false;
	*out = *a;
	free(a);
	return true;
}

/* Whole mappings only. */
bool set_access(uint64_t address, uint64_t bytes, unsigned device)
{
	uint64_t covered = 0;

	pthread_mutex_lock(&lock);
	for (struct area *a = areas; a; a = a->next) {
		if (a->kind != AREA_MAPPED || a->address < address || a->address + a->bytes > address + bytes)
			continue;
		a->access |= 1u << device;
		covered += a->bytes;
	}
	pthread_mutex_unlock(&lock);
	return covered == bytes;
}

bool find_area(uint64_t address, struct area *out)
{
	struct area *a;

	pthread_mutex_lock(&lock);
	for (a = areas; a; a = a->next)
		if (address >= a->address && address - a->address < a->bytes)
			break;
	if (a)
		*out = *a;
	pthread_mutex_unlock(&lock);
	return a;
}

uint8_t *host_of(uint64_t address, uint64_t bytes)
{
	struct area a;

	if (!find_area(address, &a) || bytes > a.bytes - (address - a.address) ||
	    !(a.access >> current_device() & 1))
		return NULL;
	return a.host + (address - a.address);
}

bool take_bytes(uint64_t bytes)
{
	bool ok;

	pthread_mutex_lock(&lock);
	ok = bytes <= device_bytes() - used;
	used += ok ? bytes : 0;
	pthread_mutex_unlock(&lock);
	return ok;
}

void give_bytes(uint64_t bytes)
{
	pthread_mutex_lock(&lock);
	used -= bytes;
	pthread_mutex_unlock(&lock);
}

/* ---- of the device ---- */

EXPORT int hipMalloc(void **out, size_t bytes);
int hipMalloc(void **out, size_t bytes)
{
	uint64_t pages = round_up(bytes, 4096), at;
	uint8_t *host;

	if (!out)
		return result(E_VALUE);
	if (!bytes || !take_bytes(pages))
		return result(bytes ? E_MEMORY : E_OK);
	at = reserve_addresses(0, pages);
	host = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!at || host == MAP_FAILED)
		return result(E_MEMORY);
	*out = (void *)at;
	return result(add_area(AREA_DEVICE, at, pages, host, 1u << current_device(), NULL));
}

EXPORT int hipFree(void *p);
int hipFree(void *p)
{
	struct area a;

	if (!p)
		return result(E_OK);
	if (remove_area((uint64_t)p, AREA_DEVICE, &a)) {
		munmap(a.host, a.bytes);
		give_bytes(a.bytes);
	} else if (!remove_area((uint64_t)p, AREA_MANAGED, &a)) {
		return result(E_VALUE);
	}
	munmap(p, a.bytes);
	return result(E_OK);
}

/* ---- of the host: one address for both sides, but for what was registered ---- */

static int allocate_host(void **out, size_t bytes, enum area_kind kind)
{
	uint64_t pages = round_up(bytes, 4096);
	void *p;

	if (!out || !bytes)
		return result(E_VALUE);
	p = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return result(E_MEMORY);
	*out = p;
	return result(add_area(kind, (uint64_t)p, pages, p, ~0u, NULL));
}

EXPORT int hipHostMalloc(void **out, size_t bytes, unsigned flags);
int hipHostMalloc(void **out, size_t bytes, unsigned flags)
{
	return flags & ~0xe0000007u ? result(E_VALUE) : allocate_host(out, bytes, AREA_HOST);
}

EXPORT int hipMallocManaged(void **out, size_t bytes, unsigned flags);
int hipMallocManaged(void **out, size_t bytes, unsigned flags)
{
	return flags != 1 ? result(E_VALUE) : allocate_host(out, bytes, AREA_MANAGED);
}

EXPORT int hipHostFree(void *p);
int hipHostFree(void *p)
{
	struct area a;

	if (!p)
		return result(E_OK);
	if (!remove_area((uint64_t)p, AREA_HOST, &a))
		return result(E_VALUE);
	munmap(p, a.bytes);
	return result(E_OK);
}

static bool find_registered(const void *host, struct area *out)
{
	struct area *a;

	pthread_mutex_lock(&lock);
	for (a = areas; a; a = a->next)
		if (a->kind == AREA_REGISTERED && (uint8_t *)host >= a->host &&
		    (uint64_t)((uint8_t *)host - a->host) < a->bytes)
			break;
	if (a)
		*out = *a;
	pthread_mutex_unlock(&lock);
	return a;
}

EXPORT int hipHostRegister(void *p, size_t bytes, unsigned flags);
int hipHostRegister(void *p, size_t bytes, unsigned flags)
{
	uint64_t at = (uint64_t)p;
	struct area a;

	if (!p || !bytes || flags & ~0xfu)
		return result(E_VALUE);
	if (find_registered(p, &a))
		return result(E_ALREADY_REGISTERED);
	if (FLAVOUR != 5)
		at = reserve_addresses(0, round_up(bytes + at % 4096, 4096)) + at % 4096;
	return result(add_area(AREA_REGISTERED, at, bytes, p, ~0u, NULL));
}

EXPORT int hipHostUnregister(void *p);
int hipHostUnregister(void *p)
{
	struct area a;

	if (!find_registered(p, &a) || a.host != p)
		return result(E_NOT_REGISTERED);
	remove_area(a.address, AREA_REGISTERED, &a);
	if (a.address != (uint64_t)p)
		munmap((void *)(a.address / 4096 * 4096), round_up(a.bytes + a.address % 4096, 4096));
	return result(E_OK);
}

EXPORT int hipHostGetDevicePointer(void **out, void *p, unsigned flags);
int hipHostGetDevicePointer(void **out, void *p, unsigned flags)
{
	struct area a;

	if (!out || flags)
		return result(E_VALUE);
	if (find_registered(p, &a))
		*out = (void *)(a.address + (uint64_t)((uint8_t *)p - a.host));
	else if (find_area((uint64_t)p, &a) && (a.kind == AREA_HOST || a.kind == AREA_MANAGED))
		*out = p;
	else
		return result(E_VALUE);
	return result(E_OK);
}

/* ---- bytes ---- */

EXPORT int hipMemcpyHtoDAsync(void *dst, const void *src, size_t bytes, void *stream);
int hipMemcpyHtoDAsync(void *dst, const void *src, size_t bytes, void *stream)
{
	uint8_t *to = host_of((uint64_t)dst, bytes);

	(void)stream;
	if (!to)
		return result(E_VALUE);
	memcpy(to, src, bytes);
	return result(E_OK);
}

EXPORT int hipMemcpyDtoHAsync(void *dst, void *src, size_t bytes, void *stream);
int hipMemcpyDtoHAsync(void *dst, void *src, size_t bytes, void *stream)
{
	uint8_t *from = host_of((uint64_t)src, bytes);

	(void)stream;
	if (!from)
		return result(E_VALUE);
	memcpy(dst, from, bytes);
	return result(E_OK);
}

EXPORT int hipMemcpyDtoDAsync(void *dst, void *src, size_t bytes, void *stream);
int hipMemcpyDtoDAsync(void *dst, void *src, size_t bytes, void *stream)
{
	uint8_t *from = host_of((uint64_t)src, bytes), *to = host_of((uint64_t)dst, bytes);

	(void)stream;
	if (!from || !to)
		return result(E_VALUE);
	memmove(to, from, bytes);
	return result(E_OK);
}

static int fill(void *dst, const void *pattern, size_t width, size_t count)
{
	uint8_t *to = host_of((uint64_t)dst, width * count);

	if (!to)
		return result(E_VALUE);
	for (size_t i = 0; i < count; i++)
		memcpy(to + i * width, pattern, width);
	return result(E_OK);
}

EXPORT int hipMemsetD8Async(void *dst, unsigned char value, size_t count, void *stream);
int hipMemsetD8Async(void *dst, unsigned char value, size_t count, void *stream)
{
	(void)stream;
	return fill(dst, &value, 1, count);
}

EXPORT int hipMemsetD16Async(void *dst, unsigned short value, size_t count, void *stream);
int hipMemsetD16Async(void *dst, unsigned short value, size_t count, void *stream)
{
	(void)stream;
	return fill(dst, &value, 2, count);
}

EXPORT int hipMemsetD32Async(void *dst, int value, size_t count, void *stream);
int hipMemsetD32Async(void *dst, int value, size_t count, void *stream)
{
	(void)stream;
	return fill(dst, &value, 4, count);
}
