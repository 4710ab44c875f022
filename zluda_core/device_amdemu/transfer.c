/* SPDX-License-Identifier: Apache-2.0
 *
 * Transfers between the host and the emulated GPU's memory: piece by piece, a mapping at a time.
 */
#include "zluda_core/device_amdemu/amdemu.h"

#include <string.h>

/* The host memory at addr, and how much of `bytes` lies in the same mapping. */
static uint8_t *piece(struct emu_memory *m, uint64_t addr, uint64_t *bytes, struct diag *d)
{
	struct amdgpu_window w;
	bool found;

	pthread_mutex_lock(&m->lock);
	found = emu_find(m, addr, &w);
	pthread_mutex_unlock(&m->lock);
	if (!found) {
		diag_set(d, CUTRACE_EINVAL, "", "0x%llx is not mapped on the device",
			 (unsigned long long)addr);
		return NULL;
	}
	if (*bytes > w.bytes - (addr - w.address))
		*bytes = w.bytes - (addr - w.address);
	return w.host + (addr - w.address);
}

int emu_read(struct emu_memory *m, void *dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	int rc = 0;

	pthread_rwlock_rdlock(&m->host_lock);
	for (uint64_t done = 0, n; done < bytes && !rc; done += n) {
		n = bytes - done;
		const uint8_t *from = piece(m, src + done, &n, d);
		if (from)
			memmove((uint8_t *)dst + done, from, n);
		else
			rc = CUTRACE_EINVAL;
	}
	pthread_rwlock_unlock(&m->host_lock);
	return rc;
}

int emu_write(struct emu_memory *m, uint64_t dst, const void *src, uint64_t bytes, struct diag *d)
{
	int rc = 0;

	pthread_rwlock_rdlock(&m->host_lock);
	for (uint64_t done = 0, n; done < bytes && !rc; done += n) {
		n = bytes - done;
		uint8_t *to = piece(m, dst + done, &n, d);
		if (to)
			memmove(to, (const uint8_t *)src + done, n);
		else
			rc = CUTRACE_EINVAL;
	}
	pthread_rwlock_unlock(&m->host_lock);
	return rc;
}

int emu_copy(struct emu_memory *m, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	int rc = 0;

	pthread_rwlock_rdlock(&m->host_lock);
	for (uint64_t done = 0, n; done < bytes && !rc; done += n) {
		n = bytes - done;
		const uint8_t *from = piece(m, src + done, &n, d);
		uint8_t *to = from ? piece(m, dst + done, &n, d) : NULL;
		if (to)
			memmove(to, from, n);
		else
			rc = CUTRACE_EINVAL;
	}
	pthread_rwlock_unlock(&m->host_lock);
	return rc;
}

static void repeat(uint8_t *to, uint64_t n, const uint8_t *pattern, unsigned width, uint64_t from)
{
	if (width == 1)
		memset(to, pattern[0], n);
	else
		for (uint64_t k = 0; k < n; k++)
			to[k] = pattern[(from + k) % width];
}

int emu_fill(struct emu_memory *m, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
	     struct diag *d)
{
	uint64_t bytes = count * width;
	int rc = 0;

	if ((width != 1 && width != 2 && width != 4) || count > UINT64_MAX / 4)
		return diag_set(d, CUTRACE_EINVAL, "", "a fill of %llu values of %u bytes",
				(unsigned long long)count, width);
	pthread_rwlock_rdlock(&m->host_lock);
	for (uint64_t done = 0, n; done < bytes && !rc; done += n) {
		n = bytes - done;
		uint8_t *to = piece(m, dst + done, &n, d);
		if (to)
			repeat(to, n, (const uint8_t *)&value, width, done);
		else
			rc = CUTRACE_EINVAL;
	}
	pthread_rwlock_unlock(&m->host_lock);
	return rc;
}
