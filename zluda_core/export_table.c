/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetExportTable: the private tables by which the CUDA runtime and libraries use a driver, and our own
 * (extension.h). The names are descriptive. Slot 0 of most holds the table's size in bytes. A slot whose
 * meaning is not known says so when it is called, instead of crashing.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#include "api/extension.h"

#define SIZE_SLOT(n) ((void *)(8ul * (n)))
#define FN(f)        ((void *)(f))

static CUresult unknown_slot(void)
{
	static atomic_bool said;

	if (!atomic_exchange(&said, true))
		say("a slot of a private driver table was called whose meaning is not known");
	return CUDA_ERROR_NOT_SUPPORTED;
}
#define U FN(unknown_slot)

/* ---- CUDART_INTERFACE: how runtimes up to 11.x load code --------------------------- */

static CUresult module_from_wrapper(CUmodule *out, const void *wrapper)
{
	return cuModuleLoadData(out, wrapper);
}

static CUresult primary_context(CUcontext *out, CUdevice dev)
{
	struct gpu *gpu = gpu_get(dev);
	struct context *ctx;
	CUresult r = core_check();

	if (r)
		return r;
	if (!gpu || !out)
		return CUDA_ERROR_INVALID_VALUE;
	r = context_primary(gpu, &ctx);
	if (!r)
		*out = (CUcontext)ctx;
	return r;
}

static CUresult module_from_wrapper_ext(CUmodule *out, const void *wrapper, void *a, void *b, unsigned c)
{
	(void)a;
	(void)b;
	(void)c;
	return cuModuleLoadData(out, wrapper);
}

static CUresult module_from_fatbin_ext(const void *fatbin, CUmodule *out, void *a, void *b, unsigned c)
{
	(void)a;
	(void)b;
	(void)c;
	return cuModuleLoadData(out, fatbin);
}

static void ignore_size(size_t n)
{
	(void)n;
}

static CUresult load_compilers(void)
{
	return CUDA_SUCCESS;
}

static void *const cudart_interface[13] = {
	SIZE_SLOT(13),
	FN(module_from_wrapper),
	FN(primary_context),
	U,
	U,
	U,
	FN(module_from_wrapper_ext),
	FN(ignore_size),
	FN(module_from_fatbin_ext),
	U,
	U,
	U,
	FN(load_compilers),
};

/* ---- TOOLS_TLS, TOOLS_RUNTIME_CALLBACK_HOOKS ------------------------------------------- */

static void *const tools_tls[4] = {SIZE_SLOT(4), U, U, U};

/* One flag a runtime function, all off. 1024 is what callers are told, but flags behind it are read too
 * (observed with cudaMallocAsync of CUDA 13.0): they must be off as well. */
#define HOOK_BYTES 1024
static uint8_t hook_scratch[64 * HOOK_BYTES], hook_flags[HOOK_BYTES];
#define HOOK_FLAG_BYTES 14

static void hook_buffer(void **p, size_t *n)
{
	*p = hook_scratch;
	*n = HOOK_BYTES;
}

static void hook_flag_buffer(void **p, size_t *n)
{
	*p = hook_flags;
	*n = HOOK_FLAG_BYTES;
}

static void *const callback_hooks[7] = {SIZE_SLOT(7), U, FN(hook_buffer), U, U, U, FN(hook_flag_buffer)};

/* ---- CONTEXT_LOCAL_STORAGE ---------------------------------------------------------------- */

struct local_value {
	struct local_value *next;
	void *key, *value;
	void (*destroy)(CUcontext ctx, void *key, void *value);
};

static CUresult local_put(CUcontext handle, void *key, void *value,
			  void (*destroy)(CUcontext, void *, void *))
{
	struct local_value *v;
	struct context *ctx;
	CUresult r = context_resolve(handle, &ctx);

	if (r)
		return r;
	v = malloc(sizeof(*v));
	if (!v)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&core.lock);
	*v = (struct local_value){ctx->locals, key, value, destroy};
	ctx->locals = v;
	pthread_mutex_unlock(&core.lock);
	return CUDA_SUCCESS;
}

static CUresult local_delete(CUcontext handle, void *key)
{
	struct local_value *found = NULL;
	struct context *ctx;
	CUresult r = context_resolve(handle, &ctx);

	if (r)
		return r;
	pthread_mutex_lock(&core.lock);
	for (struct local_value **at = &ctx->locals; *at; at = &(*at)->next) {
		if ((*at)->key == key) {
			found = *at;
			*at = found->next;
			break;
		}
	}
	pthread_mutex_unlock(&core.lock);
	free(found);
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult local_get(void **value, CUcontext handle, void *key)
{
	struct context *ctx;
	CUresult r = context_resolve(handle, &ctx);

	if (r)
		return r;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	r = CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&core.lock);
	for (struct local_value *v = ctx->locals; v && r; v = v->next) {
		if (v->key == key) {
			*value = v->value;
			r = CUDA_SUCCESS;
		}
	}
	pthread_mutex_unlock(&core.lock);
	return r;
}

/* Destructors may use the table again. */
void local_values_clear(struct context *ctx)
{
	struct local_value *v;

	do {
		pthread_mutex_lock(&core.lock);
		v = ctx->locals;
		if (v)
			ctx->locals = v->next;
		pthread_mutex_unlock(&core.lock);
		if (v && v->destroy)
			v->destroy((CUcontext)ctx, v->key, v->value);
		free(v);
	} while (v);
}

static void *const context_local_storage[4] = {FN(local_put), FN(local_delete), FN(local_get), U};

/* ---- CONTEXT_CHECKS, INTEGRITY_CHECK ------------------------------------------------------------- */

static CUresult context_check(CUcontext ctx, uint32_t *result, const void **detail)
{
	(void)ctx;
	(void)detail;
	*result = 0;
	return CUDA_SUCCESS;
}

static uint32_t check_zero(void)
{
	return 0;
}

static void *const context_checks[4] = {SIZE_SLOT(4), U, FN(context_check), FN(check_zero)};

static CUresult integrity_check(uint32_t version, uint64_t unix_seconds, uint64_t out[2]);

static void *const integrity_table[3] = {SIZE_SLOT(3), FN(integrity_check), U};

static CUresult integrity_check(uint32_t version, uint64_t unix_seconds, uint64_t out[2])
{
	integrity_answer(version, unix_seconds, cudart_interface, integrity_table, integrity_table[1], out);
	return CUDA_SUCCESS;
}

/* ---- the others --------------------------------------------------------------------------------------- */

static void *const ctx_create_bypass[2] = {SIZE_SLOT(2), FN(cuCtxCreate_v2)};

/* A record of two words that the caller gives and gets back. */
struct heap_record {
	size_t first, second;
};

static CUresult heap_record_alloc(void **out, size_t first, size_t second)
{
	struct heap_record *h;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	h = malloc(sizeof(*h));
	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*h = (struct heap_record){first, second};
	*out = h;
	return CUDA_SUCCESS;
}

static CUresult heap_record_free(void *record, size_t *second)
{
	struct heap_record *h = record;

	if (!h)
		return CUDA_ERROR_INVALID_VALUE;
	if (second)
		*second = h->second;
	free(h);
	return CUDA_SUCCESS;
}

static void *const heap_access[3] = {SIZE_SLOT(3), FN(heap_record_alloc), FN(heap_record_free)};

static CUresult device_byte(unsigned char *result, CUdevice dev)
{
	if (!result || !gpu_get(dev))
		return CUDA_ERROR_INVALID_VALUE;
	*result = 0;
	return CUDA_SUCCESS;
}

static void *const device_extended_rt[26] = {
	SIZE_SLOT(26),   U, U, U, U, U, U, U, U, U, U, U, U,
	FN(device_byte), U, U, U, U, U, U, U, U, U, U, U, U,
};

static const struct {
	uint8_t uuid[16];
	const void *table;
} tables[] = {
	{{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9},
	 cudart_interface},
	{{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc},
	 tools_tls},
	{{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66},
	 callback_hooks},
	{{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93},
	 context_local_storage},
	{{0x0c, 0xa5, 0x0b, 0x8c, 0x10, 0x04, 0x92, 0x9a, 0x89, 0xa7, 0xd0, 0xdf, 0x10, 0xe7, 0x72, 0x86},
	 ctx_create_bypass},
	{{0x19, 0x5b, 0xcb, 0xf4, 0xd6, 0x7d, 0x02, 0x4a, 0xac, 0xc5, 0x1d, 0x29, 0xce, 0xa6, 0x31, 0xae},
	 heap_access},
	{{0xb1, 0x05, 0x41, 0xe1, 0xf7, 0xc7, 0xc7, 0x4a, 0x9f, 0x64, 0xf2, 0x23, 0xbe, 0x99, 0xf1, 0xe2},
	 device_extended_rt},
	{{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2},
	 integrity_table},
	{{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e},
	 context_checks},
};

/* Tables may be asked for before cuInit. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	static const CUuuid own = CUTRACE_EXTENSION_UUID;

	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*table = NULL;
	if (!memcmp(id, &own, sizeof(own)))
		*table = &extension_table;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (!memcmp(id, tables[i].uuid, 16))
			*table = tables[i].table;
	return *table ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
