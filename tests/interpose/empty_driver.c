/* SPDX-License-Identifier: Apache-2.0
 *
 * empty_driver: a libcuda.so.1 for tests of the recorder. Every function returns success at once (the
 * generated stubs, whose answer is core_unsupported below); a few do what a test needs: "device" memory is
 * the process's own, streams run in order on one thread of the driver's, and function handles are strings.
 *
 * EMPTY_DRIVER_NEWER adds functions that no description knows.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA_ABI_NO_MAPPING
#pragma GCC visibility push(default)
#include "api/gen/cuda_abi.h"
#pragma GCC visibility pop
#include "api/api.h"

int core_unsupported(const char *name);
int core_unsupported(const char *name)
{
	(void)name;
	return CUDA_SUCCESS;
}

/* ---- memory ------------------------------------------------------------------- */

#define MAX_BLOCKS 4096
static struct block {
	char *p;
	size_t n;
	bool pinned;
} blocks[MAX_BLOCKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult block_new(void **out, size_t n, bool pinned)
{
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (!n || !out)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_BLOCKS && r; i++)
		if (!blocks[i].p) {
			blocks[i] = (struct block){calloc(1, n), n, pinned};
			*out = blocks[i].p;
			r = CUDA_SUCCESS;
		}
	pthread_mutex_unlock(&lock);
	return r;
}

static CUresult block_free(const void *p)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_BLOCKS; i++)
		if (p && blocks[i].p == p) {
			free(blocks[i].p);
			blocks[i].p = NULL;
			r = CUDA_SUCCESS;
		}
	pthread_mutex_unlock(&lock);
	return r;
}

static struct block *block_of(const void *p)
{
	struct block *b = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_BLOCKS && !b; i++)
		if (blocks[i].p && (const char *)p >= blocks[i].p &&
		    (const char *)p < blocks[i].p + blocks[i].n)
			b = &blocks[i];
	pthread_mutex_unlock(&lock);
	return b;
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	return block_new((void **)p, n, false);
}

CUresult cuMemFree_v2(CUdeviceptr p)
{
	return block_free((void *)(uintptr_t)p);
}

CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags)
{
	(void)flags;
	return block_new(p, n, true);
}

CUresult cuMemFreeHost(void *p)
{
	return block_free(p);
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr p)
{
	struct block *b = block_of((void *)(uintptr_t)p);

	if (!b || attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
		return CUDA_ERROR_INVALID_VALUE;
	*(unsigned *)data = b->pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t n)
{
	memcpy((void *)(uintptr_t)dst, src, n);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t n)
{
	memcpy(dst, (void *)(uintptr_t)src, n);
	return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	memcpy((void *)(uintptr_t)dst, (void *)(uintptr_t)src, n);
	return CUDA_SUCCESS;
}

CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t n)
{
	memset((void *)(uintptr_t)dst, value, n);
	return CUDA_SUCCESS;
}

static void copy_rows(const CUDA_MEMCPY2D *m)
{
	const char *src =
		m->srcMemoryType == CU_MEMORYTYPE_HOST ? m->srcHost : (void *)(uintptr_t)m->srcDevice;
	char *dst = m->dstMemoryType == CU_MEMORYTYPE_HOST ? m->dstHost : (void *)(uintptr_t)m->dstDevice;

	for (size_t y = 0; y < m->Height; y++)
		memcpy(dst + (m->dstY + y) * m->dstPitch + m->dstXInBytes,
		       src + (m->srcY + y) * m->srcPitch + m->srcXInBytes, m->WidthInBytes);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *m)
{
	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	copy_rows(m);
	return CUDA_SUCCESS;
}

/* ---- one queue, one thread ------------------------------------------------------ */

struct work {
	struct work *next;
	void *dst;
	const void *src;
	size_t n;
	CUhostFn fn;
	void *arg;
};
static struct work *first, **last = &first;
static unsigned pending;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool capturing, synchronizing, faulted;

/* A kernel named "fault" is one that strays; it waits until the program waits for it. */
static void fault(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&queue_lock);
	while (!synchronizing)
		pthread_cond_wait(&changed, &queue_lock);
	faulted = true;
	pthread_mutex_unlock(&queue_lock);
}

static void *worker(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&queue_lock);
	for (;;) {
		struct work *w = first;

		if (!w) {
			pthread_cond_wait(&changed, &queue_lock);
			continue;
		}
		first = w->next;
		if (!first)
			last = &first;
		pthread_mutex_unlock(&queue_lock);
		if (faulted)
			; /* as real streams do: nothing runs any more */
		else if (w->fn)
			w->fn(w->arg);
		else
			memcpy(w->dst, w->src, w->n);
		free(w);
		pthread_mutex_lock(&queue_lock);
		pending--;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

static void start(void)
{
	pthread_t t;

	pthread_create(&t, NULL, worker, NULL);
	pthread_detach(t);
}

static CUresult enqueue(struct work w)
{
	struct work *copy = malloc(sizeof(*copy));

	pthread_once(&once, start);
	*copy = w;
	copy->next = NULL;
	pthread_mutex_lock(&queue_lock);
	*last = copy;
	last = &copy->next;
	pending++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&queue_lock);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, CUstream s)
{
	(void)s;
	return capturing ? CUDA_SUCCESS
			 : enqueue((struct work){.dst = (void *)(uintptr_t)dst, .src = src, .n = n});
}

CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, CUstream s)
{
	(void)s;
	return capturing ? CUDA_SUCCESS
			 : enqueue((struct work){.dst = dst, .src = (void *)(uintptr_t)src, .n = n});
}

CUresult cuLaunchHostFunc(CUstream s, CUhostFn fn, void *arg)
{
	(void)s;
	return enqueue((struct work){.fn = fn, .arg = arg});
}

CUresult cuStreamSynchronize(CUstream s)
{
	(void)s;
	pthread_mutex_lock(&queue_lock);
	synchronizing = true;
	pthread_cond_broadcast(&changed);
	while (pending)
		pthread_cond_wait(&changed, &queue_lock);
	synchronizing = false;
	pthread_mutex_unlock(&queue_lock);
	return faulted ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode mode)
{
	(void)s;
	(void)mode;
	capturing = true;
	return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream s, CUgraph *g)
{
	(void)s;
	*g = (CUgraph)0x6aa;
	capturing = false;
	return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus *status)
{
	(void)s;
	*status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

/* ---- answers that tests look at ---------------------------------------------------- */

#ifndef EMPTY_DRIVER_VERSION
#	define EMPTY_DRIVER_VERSION 13000
#endif
CUresult cuDriverGetVersion(int *version)
{
	*version = EMPTY_DRIVER_VERSION;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *c)
{
	*c = (CUcontext)0xc0de;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *c, unsigned flags, CUdevice dev)
{
	(void)flags;
	(void)dev;
	*c = (CUcontext)0xc0de;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *s, unsigned flags)
{
	static _Atomic uintptr_t next = 0x5000;

	(void)flags;
	*s = (CUstream)(next += 16);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *n)
{
	*n = 1;
	return CUDA_SUCCESS;
}

/* A failure with a recognisable code. */
CUresult cuDeviceGet(CUdevice *dev, int ordinal)
{
	if (ordinal != 0)
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = 0;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
	*m = (CUmodule)image;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	(void)m;
	*f = (CUfunction)strdup(name);
	return CUDA_SUCCESS;
}

/* Functions named "fill..." take (pointer, byte value as u32, count as u64) and fill; "ask" tells no layout.
 */
CUresult cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *size)
{
	static const size_t at[3][2] = {{0, 8}, {8, 4}, {16, 8}};

	if (!strncmp((char *)f, "ask", 3))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (strncmp((char *)f, "fill", 4) || i >= 3)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = at[i][0];
	*size = at[i][1];
	return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel f, size_t i, size_t *offset, size_t *size)
{
	return cuFuncGetParamInfo((CUfunction)f, i, offset, size);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
{
	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)s, (void)extra;
	if (f && params && strstr((char *)f, "fill"))
		memset(*(void **)params[0], *(int *)params[1], *(uint64_t *)params[2]);
	if (f && !strcmp((char *)f, "fault"))
		return enqueue((struct work){.fn = fault});
	return CUDA_SUCCESS;
}

/* ---- functions of a newer driver ------------------------------------------------------- */

double cuBrandNewFunction(int a, double b, void *c, float d, long e1, long e2, long e3, long e4,
			  long on_stack);
__attribute__((visibility("default"))) double cuBrandNewFunction(int a, double b, void *c, float d, long e1,
								 long e2, long e3, long e4, long on_stack)
{
	return a + b + (c != NULL) + d + (double)(e1 + e2 + e3 + e4) + (double)on_stack;
}

int cuBrandNewCallback(int (*f)(void *), void *p);
__attribute__((visibility("default"))) int cuBrandNewCallback(int (*f)(void *), void *p)
{
	return f(p);
}

/* Calls an exported function through the PLT, as drivers do. */
int cuBrandNewNesting(int *version);
__attribute__((visibility("default"))) int cuBrandNewNesting(int *version)
{
	return (int)cuDriverGetVersion(version) + 7;
}

/* ---- look-up ------------------------------------------------------------------------------ */

#include <dlfcn.h>

CUresult cuGetProcAddress_v2(const char *name, void **p, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	const struct api_func *f = api_proc_find(name, (unsigned)version, (flags & 2) != 0);
	void *self = dlopen(getenv("EMPTY_DRIVER_PATH"), RTLD_NOW | RTLD_NOLOAD);

	*p = self ? dlsym(self, f ? f->name : name) : NULL;
	if (status)
		*status = *p ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

/* ---- a private table, in read-only memory ---------------------------------------------------- */

static int slot_one(int a, int b)
{
	return a * 10 + b;
}

struct export_table {
	size_t bytes;
	int (*one)(int, int);
	const void *data;
};
static const struct export_table table = {sizeof(table), slot_one, &table};

CUresult cuGetExportTable(const void **out, const CUuuid *uuid)
{
	static const unsigned char known[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

	if (memcmp(uuid, known, 16) != 0)
		return CUDA_ERROR_NOT_FOUND;
	*out = &table;
	return CUDA_SUCCESS;
}
