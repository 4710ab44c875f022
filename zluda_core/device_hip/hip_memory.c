/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a GPU and of the host that it sees, and moving bytes. Device memory is only counted here: hip_window.c backs
 * it where it is mapped.
 */
#include "zluda_core/device_hip/hip_backend.h"

#include <stdlib.h>
#include <string.h>

static struct dev_mem *new_mem(uint64_t bytes, struct diag *d)
{
	struct dev_mem *m = calloc(1, sizeof(*m));

	if (m)
		m->bytes = bytes;
	else
		diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	return m;
}

int hip_mem_create(struct amd_backend *b, uint64_t bytes, struct dev_mem **out, struct diag *d)
{
	int dead = atomic_load(&b->dead);

	if (dead)
		return hip_failed(dead, "an earlier kernel", d);
	*out = new_mem(bytes, d);
	return *out ? 0 : CUTRACE_ENOMEM;
}

/* ---- memory of the host ---- */

static int device_address(struct amd_backend *b, void *host, uint64_t *out, struct diag *d)
{
	void *device = NULL;
	int rc = hip_check(b, b->lib->fn.hipHostGetDevicePointer(&device, host, 0), "hipHostGetDevicePointer",
			   d);

	*out = (uint64_t)device;
	return rc;
}

int hip_mem_import(struct amd_backend *b, void *host, uint64_t bytes, struct dev_mem **out, struct diag *d)
{
	struct dev_mem *m;
	int rc = hip_enter(b, d);

	if (rc)
		return rc;
	m = new_mem(bytes, d);
	if (!m)
		return CUTRACE_ENOMEM;
	m->host = host;
	rc = hip_check(b, b->lib->fn.hipHostRegister(host, bytes, HIP_HOST_PORTABLE | HIP_HOST_MAPPED),
		       "hipHostRegister", d);
	m->registered = !rc;
	if (!rc)
		rc = device_address(b, host, &m->host_device, d);
	if (rc) {
		hip_mem_destroy(b, m);
		return rc;
	}
	*out = m;
	return 0;
}

static int allocate_host(struct amd_backend *b, uint64_t bytes, bool managed, void **out, struct diag *d)
{
	const unsigned flags = HIP_HOST_PORTABLE | HIP_HOST_MAPPED | HIP_HOST_COHERENT;

	*out = NULL;
	if (managed && b->lib->fn.hipMallocManaged &&
	    !b->lib->fn.hipMallocManaged(out, bytes, HIP_ATTACH_GLOBAL) && *out)
		return 0;
	return hip_check(b, b->lib->fn.hipHostMalloc(out, bytes, flags), "hipHostMalloc", d);
}

int hip_host_alloc(struct amd_backend *b, uint64_t bytes, bool managed, void **host, struct dev_mem **out,
		   struct diag *d)
{
	struct dev_mem *m;
	int rc = hip_enter(b, d);

	if (rc)
		return rc;
	m = new_mem(bytes, d);
	if (!m)
		return CUTRACE_ENOMEM;
	rc = allocate_host(b, bytes, managed, &m->host, d);
	m->allocated = !rc;
	if (!rc)
		rc = device_address(b, m->host, &m->host_device, d);
	if (!rc && m->host_device != (uint64_t)m->host)
		rc = diag_set(d, CUTRACE_ENOTSUP, "",
			      "hipHostMalloc: the device sees %p at another address, %#llx", m->host,
			      (unsigned long long)m->host_device);
	if (rc) {
		hip_mem_destroy(b, m);
		return rc;
	}
	*host = m->host;
	*out = m;
	return 0;
}

uint64_t hip_mem_address(struct amd_backend *b, struct dev_mem *mem)
{
	(void)b;
	return mem->host_device;
}

/* Memory of hipMallocManaged is hipFree's, that of hipHostMalloc is hipHostFree's; each says so of the other's. */
static void free_host(struct amd_backend *b, void *host)
{
	if (b->lib->fn.hipHostFree(host))
		b->lib->fn.hipFree(host);
}

void hip_mem_destroy(struct amd_backend *b, struct dev_mem *m)
{
	if (!m)
		return;
	if (!hip_enter(b, NULL)) {
		if (m->registered)
			b->lib->fn.hipHostUnregister(m->host);
		if (m->allocated)
			free_host(b, m->host);
		if (m->handle)
			b->lib->fn.hipMemRelease(m->handle);
	}
	free(m);
}

/* ---- addresses ---- */

int hip_map(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
	    bool adjacent, struct diag *d)
{
	int rc = hip_enter(b, d);

	(void)adjacent; /* hardware has no exact bounds */
	if (rc)
		return rc;
	if (mem->host) /* at its own address, or where hip_mem_address says */
		return 0;
	if (hip_window_has(addr, bytes))
		return hip_window_map(b, addr, bytes, mem, offset, d);
	return diag_set(d, CUTRACE_ENOTSUP, "",
			"HIP can't put memory at %#llx: it gave other addresses to work with",
			(unsigned long long)addr);
}

int hip_unmap(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct diag *d)
{
	hip_enter(b, NULL); /* also of a dead GPU: the address is free again */
	return hip_window_has(addr, bytes) ? hip_window_unmap(b, addr, bytes, d) : 0;
}

/* ---- for device_amd itself ---- */

/* On the device: kernels count and lock in it by atomic operations, which need not reach memory of the host. */
int hip_own_alloc(struct amd_backend *b, uint64_t bytes, uint64_t *addr, void **host, struct diag *d)
{
	void *p = NULL;
	int rc = hip_enter(b, d);

	if (!rc)
		rc = hip_check(b, b->lib->fn.hipMalloc(&p, bytes), "hipMalloc", d);
	if (rc)
		return rc;
	*addr = (uint64_t)p;
	if (host)
		*host = NULL;
	rc = hip_fill(b, *addr, 0, 1, bytes, d);
	if (rc)
		hip_own_free(b, *addr);
	return rc;
}

void hip_own_free(struct amd_backend *b, uint64_t addr)
{
	if (!hip_enter(b, NULL))
		b->lib->fn.hipFree((void *)addr);
}

/* ---- bytes ---- */

/* One transfer or fill, cut where HIP's allocations end. */
struct transfer {
	enum { READ, WRITE, COPY, FILL } kind;
	uint64_t dst, src, bytes; /* of the host or of the device, as the kind has it */
	uint32_t value;
	unsigned width;
};

static uint64_t piece_of(const struct transfer *t)
{
	uint64_t n = t->bytes;

	if (t->kind != READ)
		n = hip_window_piece(t->dst, n);
	if (t->kind == READ || t->kind == COPY)
		n = hip_window_piece(t->src, n);
	return n;
}

static int fill_piece(struct amd_backend *b, const struct transfer *t, uint64_t n, hip_handle stream,
		      struct diag *d)
{
	const struct hip_entries *fn = &b->lib->fn;
	void *dst = (void *)t->dst;

	switch (t->width) {
	case 1:
		return hip_check(b, fn->hipMemsetD8Async(dst, (unsigned char)t->value, n, stream),
				 "hipMemsetD8Async", d);
	case 2:
		return hip_check(b, fn->hipMemsetD16Async(dst, (unsigned short)t->value, n / 2, stream),
				 "hipMemsetD16Async", d);
	default:
		return hip_check(b, fn->hipMemsetD32Async(dst, (int)t->value, n / 4, stream),
				 "hipMemsetD32Async", d);
	}
}

static int move_piece(struct amd_backend *b, const struct transfer *t, uint64_t n, hip_handle stream,
		      struct diag *d)
{
	const struct hip_entries *fn = &b->lib->fn;
	void *dst = (void *)t->dst, *src = (void *)t->src;

	switch (t->kind) {
	case READ: return hip_check(b, fn->hipMemcpyDtoHAsync(dst, src, n, stream), "hipMemcpyDtoHAsync", d);
	case WRITE: return hip_check(b, fn->hipMemcpyHtoDAsync(dst, src, n, stream), "hipMemcpyHtoDAsync", d);
	case COPY: return hip_check(b, fn->hipMemcpyDtoDAsync(dst, src, n, stream), "hipMemcpyDtoDAsync", d);
	default: return fill_piece(b, t, n, stream, d);
	}
}

static int transfer(struct amd_backend *b, struct transfer t, struct diag *d)
{
	struct hip_stream *s;
	int rc, end;

	if (!t.bytes)
		return 0;
	rc = hip_stream_take(b, &s, d);
	if (rc)
		return rc;
	while (t.bytes && !rc) {
		uint64_t n = piece_of(&t);

		rc = move_piece(b, &t, n, hip_stream_handle(s), d);
		t.dst += n;
		t.src += n;
		t.bytes -= n;
	}
	end = b->lib->fn.hipStreamSynchronize(hip_stream_handle(s));
	hip_stream_give(b, s);
	return rc ? rc : hip_check(b, end, "hipStreamSynchronize", d);
}

int hip_read(struct amd_backend *b, void *dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	return transfer(b, (struct transfer){READ, (uint64_t)dst, src, bytes, 0, 0}, d);
}

int hip_write(struct amd_backend *b, uint64_t dst, const void *src, uint64_t bytes, struct diag *d)
{
	return transfer(b, (struct transfer){WRITE, dst, (uint64_t)src, bytes, 0, 0}, d);
}

int hip_copy(struct amd_backend *b, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	return transfer(b, (struct transfer){COPY, dst, src, bytes, 0, 0}, d);
}

int hip_fill(struct amd_backend *b, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
	     struct diag *d)
{
	return transfer(b, (struct transfer){FILL, dst, 0, count * width, value, width}, d);
}
