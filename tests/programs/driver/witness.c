/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's own word for each call that it makes. Linked with --wrap for every function of cu.h, so that no program
 * can forget one; written by hand from the CUDA driver API's reference and kept apart from api/ and dump/ on purpose, as
 * cu.h is. A line is what `cutrace dump --stable` should print for the call: what is wrong in the description, the recorder
 * or the decoder is wrong in one of the two only. Lines go to the file that PROGRAM_CALLS names; without it there are none.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- names of what the driver gave: numbered in order of appearance --------- */

enum kind {
	CONTEXT,
	MODULE,
	FUNCTION,
	STREAM,
	EVENT,
	ALLOCATION,
	LINK,
	ARRAY,
	TEXTURE,
	SURFACE,
	TEXREF,
	SURFREF,
	NKINDS
};
static const char *const kind_names[NKINDS] = {"CUcontext",   "CUmodule",     "CUfunction",  "CUstream",
					       "CUevent",     "alloc",        "CUlinkState", "CUarray",
					       "CUtexObject", "CUsurfObject", "CUtexref",    "CUsurfref"};

static struct object {
	enum kind kind;
	uint64_t value, bytes;
	unsigned number;
	const char *name; /* of a kernel, of a variable */
	int alive;
} objects[256];
static unsigned nobjects, numbers[NKINDS];

static void made(enum kind kind, uint64_t value, uint64_t bytes, const char *name)
{
	if (nobjects == sizeof(objects) / sizeof(objects[0]))
		abort();
	objects[nobjects++] = (struct object){kind, value, bytes, ++numbers[kind], name, 1};
}

static struct object *find(enum kind kind, uint64_t value)
{
	for (unsigned i = nobjects; i-- > 0;) {
		struct object *o = &objects[i];

		if (o->kind == kind && o->alive && value - o->value < (o->bytes ? o->bytes : 1))
			return o;
	}
	return NULL;
}

static void ended(enum kind kind, uint64_t value)
{
	struct object *o = find(kind, value);

	if (o)
		o->alive = 0;
}

/* Several may be used in one line. */
static const char *name(enum kind kind, uint64_t value)
{
	static char text[4][160];
	static unsigned next;
	char *to = text[next++ % 4];
	const struct object *o = find(kind, value);
	int n;

	if (!value)
		return "NULL";
	if (!o)
		return "unknown";
	n = snprintf(to, sizeof(text[0]), "%s#%u", kind_names[kind], o->number);
	if (o->name)
		n += snprintf(to + n, sizeof(text[0]) - (size_t)n, kind == FUNCTION ? "<%s>" : "(%s)",
			      o->name);
	if (value > o->value)
		snprintf(to + n, sizeof(text[0]) - (size_t)n, "+0x%llx",
			 (unsigned long long)(value - o->value));
	return to;
}

#define HANDLE(kind, handle)     name(kind, (uint64_t)(uintptr_t)(handle))
#define MADE(kind, handle, name) made(kind, (uint64_t)(uintptr_t)(handle), 0, name)
#define ENDED(kind, handle)      ended(kind, (uint64_t)(uintptr_t)(handle))

/* ---- a line ----------------------------------------------------------------- */

static const char *result_name(CUresult r)
{
	return r == CUDA_SUCCESS                 ? "CUDA_SUCCESS"
	       : r == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
	       : r == CUDA_ERROR_INVALID_PTX     ? "CUDA_ERROR_INVALID_PTX"
						 : "another result";
}

/* One write for a line: a child may be writing too. */
static void write_line(const char *line, size_t n)
{
	const char *path = getenv("PROGRAM_CALLS");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;

	if (fd < 0)
		return;
	if (write(fd, line, n) != (ssize_t)n)
		abort();
	close(fd);
}

__attribute__((format(printf, 2, 3))) static void say(CUresult r, const char *fmt, ...)
{
	char line[900];
	size_t n;
	va_list ap;

	va_start(ap, fmt);
	n = (size_t)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < sizeof(line))
		n += (size_t)snprintf(line + n, sizeof(line) - n, " = %s\n", result_name(r));
	if (n >= sizeof(line))
		abort();
	write_line(line, n);
}

/* What the kernel was given, by the declaration in the program's PTX: numbers are of .u32 and .f32, a .u64 is a
 * texture or surface object, or a pointer, in all our kernels. What it points to the witness can't know. */
static int say_object(char *to, size_t bytes, const char *comma, const char *param, uint64_t value)
{
	enum kind kind = find(TEXTURE, value) ? TEXTURE : SURFACE;

	return snprintf(to, bytes, "%s%s %s=%s", comma, kind_names[kind], param, name(kind, value));
}

static void say_kernel(const struct object *f, const unsigned *grid, const unsigned *block, unsigned shared,
		       void **params)
{
	char line[1200], entry[160], type[8], param[160], dynamic[32] = "";
	const char *at;
	size_t n;

	if (shared)
		snprintf(dynamic, sizeof(dynamic), ", shared %u", shared);
	n = (size_t)snprintf(line, sizeof(line), "kernel %s<<<%ux%ux%u, %ux%ux%u%s>>>(", f->name, grid[0],
			     grid[1], grid[2], block[0], block[1], block[2], dynamic);
	snprintf(entry, sizeof(entry), ".entry %s(", f->name);
	at = strstr(program_ptx, entry);
	if (!at)
		abort();
	for (at += strlen(entry), at += strspn(at, " \t\n");
	     sscanf(at, ".param .%7s %150[a-zA-Z0-9_]", type, param) == 2;
	     at += strcspn(at, ",)"), at += strspn(at, ", \t\n"), params++) {
		const char *comma = line[n - 1] == '(' ? "" : ", ";

		if (!strcmp(type, "u32"))
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%su32 %s=%u", comma, param,
					      *(unsigned *)*params);
		else if (!strcmp(type, "f32"))
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%sf32 %s=%g", comma, param,
					      (double)*(float *)*params);
		else if (!strcmp(type, "u64") &&
			 (find(TEXTURE, *(uint64_t *)*params) || find(SURFACE, *(uint64_t *)*params)))
			n += (size_t)say_object(line + n, sizeof(line) - n, comma, param,
						*(uint64_t *)*params);
		else if (!strcmp(type, "u64"))
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%s* %s=%s", comma, param,
					      find(ALLOCATION, *(uint64_t *)*params)
						      ? name(ALLOCATION, *(uint64_t *)*params)
						      : "device");
		else
			abort();
		if (n >= sizeof(line) - 3)
			abort();
	}
	n += (size_t)snprintf(line + n, sizeof(line) - n, ")\n");
	write_line(line, n);
}

/* Host memory of a copy: its size when it was made, else the pointer. */
static const char *host_bytes(CUresult r, size_t bytes)
{
	static char text[40];

	if (r)
		return "host";
	snprintf(text, sizeof(text), "<%zu bytes>", bytes);
	return text;
}

/* WITNESS(function, (parameters), (arguments), what it made or ended, and the line) */
#define WITNESS(f, params, args, ...)         \
	CUresult __real_##f params;           \
	CUresult __wrap_##f params;           \
	CUresult __wrap_##f params            \
	{                                     \
		CUresult r = __real_##f args; \
                                              \
		pthread_mutex_lock(&lock);    \
		__VA_ARGS__;                  \
		pthread_mutex_unlock(&lock);  \
		return r;                     \
	}

WITNESS(cuInit, (unsigned flags), (flags), say(r, "cuInit(Flags=%u)", flags))
WITNESS(cuDeviceGet, (CUdevice * device, int ordinal), (device, ordinal),
	say(r, "cuDeviceGet(device=&%d, ordinal=%d)", *device, ordinal))
WITNESS(cuCtxCreate_v2, (CUcontext * ctx, unsigned flags, CUdevice device), (ctx, flags, device),
	MADE(CONTEXT, *ctx, NULL);
	say(r, "cuCtxCreate_v2(pctx=&%s, flags=%s, dev=%d)", HANDLE(CONTEXT, *ctx),
	    flags ? "?" : "CU_CTX_SCHED_AUTO", device))
WITNESS(cuCtxDestroy_v2, (CUcontext ctx), (ctx), say(r, "cuCtxDestroy_v2(ctx=%s)", HANDLE(CONTEXT, ctx));
	ENDED(CONTEXT, ctx))
WITNESS(cuCtxSetCurrent, (CUcontext ctx), (ctx), say(r, "cuCtxSetCurrent(ctx=%s)", HANDLE(CONTEXT, ctx)))
WITNESS(cuCtxSynchronize, (void), (), say(r, "cuCtxSynchronize()"))
WITNESS(cuModuleLoadData, (CUmodule * module, const void *image), (module, image),
	MADE(MODULE, *module, NULL);
	say(r, "cuModuleLoadData(module=&%s, image=<bytes>)", HANDLE(MODULE, *module)))
WITNESS(cuLinkCreate_v2, (unsigned n, int *options, void **values, CUlinkState *link),
	(n, options, values, link), MADE(LINK, *link, NULL);
	say(r, "cuLinkCreate_v2(numOptions=%u, options=NULL, optionValues=NULL, stateOut=&%s)", n,
	    HANDLE(LINK, *link)))
WITNESS(cuLinkAddData_v2,
	(CUlinkState link, int type, void *data, size_t bytes, const char *input, unsigned n, int *options,
	 void **values),
	(link, type, data, bytes, input, n, options, values),
	say(r,
	    "cuLinkAddData_v2(state=%s, type=%s, data=<bytes>, size=N, name=\"%s\", numOptions=%u, "
	    "options=NULL, "
	    "optionValues=NULL)",
	    HANDLE(LINK, link), type == CU_JIT_INPUT_PTX ? "CU_JIT_INPUT_PTX" : "?", input, n))
WITNESS(cuLinkComplete, (CUlinkState link, void **image, size_t *bytes), (link, image, bytes),
	say(r, "cuLinkComplete(state=%s, cubinOut=%s, sizeOut=%s)", HANDLE(LINK, link), r ? "host" : "&host",
	    r ? "host" : "&N"))
WITNESS(cuLinkDestroy, (CUlinkState link), (link), say(r, "cuLinkDestroy(state=%s)", HANDLE(LINK, link));
	ENDED(LINK, link))
WITNESS(cuModuleUnload, (CUmodule module), (module),
	say(r, "cuModuleUnload(hmod=%s)", HANDLE(MODULE, module));
	ENDED(MODULE, module))
WITNESS(cuModuleGetFunction, (CUfunction * f, CUmodule module, const char *kernel), (f, module, kernel),
	MADE(FUNCTION, *f, kernel);
	say(r, "cuModuleGetFunction(hfunc=&%s, hmod=%s, name=\"%s\")", HANDLE(FUNCTION, *f),
	    HANDLE(MODULE, module), kernel))
WITNESS(cuModuleGetGlobal_v2, (CUdeviceptr * address, size_t *bytes, CUmodule module, const char *variable),
	(address, bytes, module, variable), made(ALLOCATION, *address, *bytes, variable);
	say(r, "cuModuleGetGlobal_v2(dptr=&%s, bytes=&%zu, hmod=%s, name=\"%s\")", name(ALLOCATION, *address),
	    *bytes, HANDLE(MODULE, module), variable))
WITNESS(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes), (address, bytes),
	made(ALLOCATION, *address, bytes, NULL);
	say(r, "cuMemAlloc_v2(dptr=&%s, bytesize=%zu)", name(ALLOCATION, *address), bytes))
WITNESS(cuMemFree_v2, (CUdeviceptr address), (address),
	say(r, "cuMemFree_v2(dptr=%s)", name(ALLOCATION, address));
	if (!r) ended(ALLOCATION, address))
WITNESS(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t bytes), (dst, src, bytes),
	say(r, "cuMemcpyHtoD_v2(dstDevice=%s, srcHost=%s, ByteCount=%zu)", name(ALLOCATION, dst),
	    host_bytes(r, bytes), bytes))
WITNESS(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t bytes), (dst, src, bytes),
	say(r, "cuMemcpyDtoH_v2(dstHost=%s, srcDevice=%s, ByteCount=%zu)", host_bytes(r, bytes),
	    name(ALLOCATION, src), bytes))
WITNESS(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream),
	(dst, src, bytes, stream),
	say(r, "cuMemcpyHtoDAsync_v2(dstDevice=%s, srcHost=%s, ByteCount=%zu, hStream=%s)",
	    name(ALLOCATION, dst), host_bytes(r, bytes), bytes, HANDLE(STREAM, stream)))
WITNESS(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream),
	(dst, src, bytes, stream),
	say(r, "cuMemcpyDtoHAsync_v2(dstHost=%s, srcDevice=%s, ByteCount=%zu, hStream=%s)",
	    host_bytes(r, bytes), name(ALLOCATION, src), bytes, HANDLE(STREAM, stream)))
WITNESS(cuMemsetD32_v2, (CUdeviceptr dst, unsigned value, size_t n), (dst, value, n),
	say(r, "cuMemsetD32_v2(dstDevice=%s, ui=%u, N=%zu)", name(ALLOCATION, dst), value, n))
WITNESS(cuMemsetD32Async, (CUdeviceptr dst, unsigned value, size_t n, CUstream stream),
	(dst, value, n, stream),
	say(r, "cuMemsetD32Async(dstDevice=%s, ui=%u, N=%zu, hStream=%s)", name(ALLOCATION, dst), value, n,
	    HANDLE(STREAM, stream)))
WITNESS(cuMemHostAlloc, (void **host, size_t bytes, unsigned flags), (host, bytes, flags),
	made(ALLOCATION, (uint64_t)(uintptr_t)*host, bytes, NULL);
	say(r, "cuMemHostAlloc(pp=&%s, bytesize=%zu, Flags=%u)", HANDLE(ALLOCATION, *host), bytes, flags))
WITNESS(cuMemFreeHost, (void *host), (host), say(r, "cuMemFreeHost(p=%s)", HANDLE(ALLOCATION, host));
	ENDED(ALLOCATION, host))
/* The values that the programs use. */
static const char *format_name(unsigned format)
{
	return format == CU_AD_FORMAT_FLOAT            ? "CU_AD_FORMAT_FLOAT"
	       : format == CU_AD_FORMAT_UNSIGNED_INT8  ? "CU_AD_FORMAT_UNSIGNED_INT8"
	       : format == CU_AD_FORMAT_UNSIGNED_INT32 ? "CU_AD_FORMAT_UNSIGNED_INT32"
						       : "?";
}

static const char *array_flags(unsigned flags)
{
	return !flags                               ? "0"
	       : flags == CUDA_ARRAY3D_LAYERED      ? "CUDA_ARRAY3D_LAYERED"
	       : flags == CUDA_ARRAY3D_SURFACE_LDST ? "CUDA_ARRAY3D_SURFACE_LDST"
						    : "?";
}

static const char *memory_type(unsigned type)
{
	return type == CU_MEMORYTYPE_HOST    ? "CU_MEMORYTYPE_HOST"
	       : type == CU_MEMORYTYPE_ARRAY ? "CU_MEMORYTYPE_ARRAY"
					     : "?";
}

static const char *address_mode(unsigned mode)
{
	return mode == CU_TR_ADDRESS_MODE_WRAP     ? "CU_TR_ADDRESS_MODE_WRAP"
	       : mode == CU_TR_ADDRESS_MODE_MIRROR ? "CU_TR_ADDRESS_MODE_MIRROR"
	       : mode == CU_TR_ADDRESS_MODE_BORDER ? "CU_TR_ADDRESS_MODE_BORDER"
						   : "?";
}

static void say_copy_2d(CUresult r, const CUDA_MEMCPY2D *p)
{
	say(r,
	    "cuMemcpy2D_v2(pCopy=&{srcXInBytes=%zu, srcY=%zu, srcMemoryType=%s, srcHost=%s, srcDevice=%s, "
	    "srcArray=%s, "
	    "srcPitch=%zu, dstXInBytes=%zu, dstY=%zu, dstMemoryType=%s, dstHost=%s, dstDevice=%s, "
	    "dstArray=%s, "
	    "dstPitch=%zu, WidthInBytes=%zu, Height=%zu})",
	    p->srcXInBytes, p->srcY, memory_type(p->srcMemoryType), p->srcHost ? "host" : "NULL",
	    name(ALLOCATION, p->srcDevice), HANDLE(ARRAY, p->srcArray), p->srcPitch, p->dstXInBytes, p->dstY,
	    memory_type(p->dstMemoryType), p->dstHost ? "host" : "NULL", name(ALLOCATION, p->dstDevice),
	    HANDLE(ARRAY, p->dstArray), p->dstPitch, p->WidthInBytes, p->Height);
}

static const char *resource(const CUDA_RESOURCE_DESC *d)
{
	static char text[120];

	snprintf(text, sizeof(text), "&{resType=%s, res={array={hArray=%s}}, flags=%u}",
		 d->resType == CU_RESOURCE_TYPE_ARRAY ? "CU_RESOURCE_TYPE_ARRAY" : "?",
		 HANDLE(ARRAY, d->res.array), d->flags);
	return text;
}

static const char *sampler(const CUDA_TEXTURE_DESC *d)
{
	static char text[400];

	snprintf(
		text, sizeof(text),
		"&{addressMode=[%s, %s, %s], filterMode=%s, flags=%s, maxAnisotropy=%u, mipmapFilterMode=%s, "
		"mipmapLevelBias=%g, minMipmapLevelClamp=%g, maxMipmapLevelClamp=%g, borderColor=[%g, %g, "
		"%g, %g]}",
		address_mode(d->addressMode[0]), address_mode(d->addressMode[1]),
		address_mode(d->addressMode[2]),
		d->filterMode == CU_TR_FILTER_MODE_LINEAR ? "CU_TR_FILTER_MODE_LINEAR" : "?",
		d->flags == CU_TRSF_NORMALIZED_COORDINATES ? "CU_TRSF_NORMALIZED_COORDINATES" : "?",
		d->maxAnisotropy, d->mipmapFilterMode ? "?" : "CU_TR_FILTER_MODE_POINT",
		(double)d->mipmapLevelBias, (double)d->minMipmapLevelClamp, (double)d->maxMipmapLevelClamp,
		(double)d->borderColor[0], (double)d->borderColor[1], (double)d->borderColor[2],
		(double)d->borderColor[3]);
	return text;
}

WITNESS(cuArray3DCreate_v2, (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR *d), (array, d),
	MADE(ARRAY, *array, NULL);
	say(r,
	    "cuArray3DCreate_v2(pHandle=&%s, pAllocateArray=&{Width=%zu, Height=%zu, Depth=%zu, Format=%s, "
	    "NumChannels=%u, "
	    "Flags=%s})",
	    HANDLE(ARRAY, *array), d->Width, d->Height, d->Depth, format_name(d->Format), d->NumChannels,
	    array_flags(d->Flags)))
WITNESS(cuArrayDestroy, (CUarray array), (array), say(r, "cuArrayDestroy(hArray=%s)", HANDLE(ARRAY, array));
	ENDED(ARRAY, array))
WITNESS(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *p), (p), say_copy_2d(r, p))
WITNESS(cuMemcpyHtoA_v2, (CUarray dst, size_t offset, const void *src, size_t bytes),
	(dst, offset, src, bytes),
	say(r, "cuMemcpyHtoA_v2(dstArray=%s, dstOffset=%zu, srcHost=%s, ByteCount=%zu)", HANDLE(ARRAY, dst),
	    offset, host_bytes(r, bytes), bytes))
WITNESS(cuTexObjectCreate,
	(CUtexObject * texture, const CUDA_RESOURCE_DESC *from, const CUDA_TEXTURE_DESC *how,
	 const void *view),
	(texture, from, how, view), made(TEXTURE, *texture, 0, NULL);
	say(r, "cuTexObjectCreate(pTexObject=&%s, pResDesc=%s, pTexDesc=%s, pResViewDesc=%s)",
	    name(TEXTURE, *texture), resource(from), sampler(how), view ? "?" : "NULL"))
WITNESS(cuTexObjectDestroy, (CUtexObject texture), (texture),
	say(r, "cuTexObjectDestroy(texObject=%s)", name(TEXTURE, texture));
	ended(TEXTURE, texture))
WITNESS(cuSurfObjectCreate, (CUsurfObject * surface, const CUDA_RESOURCE_DESC *from), (surface, from),
	made(SURFACE, *surface, 0, NULL);
	say(r, "cuSurfObjectCreate(pSurfObject=&%s, pResDesc=%s)", name(SURFACE, *surface), resource(from)))
WITNESS(cuSurfObjectDestroy, (CUsurfObject surface), (surface),
	say(r, "cuSurfObjectDestroy(surfObject=%s)", name(SURFACE, surface));
	ended(SURFACE, surface))
WITNESS(cuModuleGetTexRef, (CUtexref * reference, CUmodule module, const char *variable),
	(reference, module, variable), MADE(TEXREF, *reference, NULL);
	say(r, "cuModuleGetTexRef(pTexRef=&%s, hmod=%s, name=\"%s\")", HANDLE(TEXREF, *reference),
	    HANDLE(MODULE, module), variable))
WITNESS(cuModuleGetSurfRef, (CUsurfref * reference, CUmodule module, const char *variable),
	(reference, module, variable), MADE(SURFREF, *reference, NULL);
	say(r, "cuModuleGetSurfRef(pSurfRef=&%s, hmod=%s, name=\"%s\")", HANDLE(SURFREF, *reference),
	    HANDLE(MODULE, module), variable))
WITNESS(cuTexRefSetArray, (CUtexref reference, CUarray array, unsigned flags), (reference, array, flags),
	say(r, "cuTexRefSetArray(hTexRef=%s, hArray=%s, Flags=%u)", HANDLE(TEXREF, reference),
	    HANDLE(ARRAY, array), flags))
WITNESS(cuTexRefSetAddressMode, (CUtexref reference, int dim, unsigned mode), (reference, dim, mode),
	say(r, "cuTexRefSetAddressMode(hTexRef=%s, dim=%d, am=%s)", HANDLE(TEXREF, reference), dim,
	    address_mode(mode)))
WITNESS(cuTexRefSetFlags, (CUtexref reference, unsigned flags), (reference, flags),
	say(r, "cuTexRefSetFlags(hTexRef=%s, Flags=%s)", HANDLE(TEXREF, reference),
	    flags == CU_TRSF_NORMALIZED_COORDINATES ? "CU_TRSF_NORMALIZED_COORDINATES" : "?"))
WITNESS(cuSurfRefSetArray, (CUsurfref reference, CUarray array, unsigned flags), (reference, array, flags),
	say(r, "cuSurfRefSetArray(hSurfRef=%s, hArray=%s, Flags=%u)", HANDLE(SURFREF, reference),
	    HANDLE(ARRAY, array), flags))
WITNESS(cuStreamCreate, (CUstream * stream, unsigned flags), (stream, flags), MADE(STREAM, *stream, NULL);
	say(r, "cuStreamCreate(phStream=&%s, Flags=%s)", HANDLE(STREAM, *stream),
	    flags == CU_STREAM_NON_BLOCKING ? "CU_STREAM_NON_BLOCKING" : "?"))
WITNESS(cuStreamSynchronize, (CUstream stream), (stream),
	say(r, "cuStreamSynchronize(hStream=%s)", HANDLE(STREAM, stream)))
WITNESS(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags),
	say(r, "cuStreamWaitEvent(hStream=%s, hEvent=%s, Flags=%s)", HANDLE(STREAM, stream),
	    HANDLE(EVENT, event), flags ? "?" : "CU_EVENT_WAIT_DEFAULT"))
WITNESS(cuStreamDestroy_v2, (CUstream stream), (stream),
	say(r, "cuStreamDestroy_v2(hStream=%s)", HANDLE(STREAM, stream));
	ENDED(STREAM, stream))
WITNESS(cuEventCreate, (CUevent * event, unsigned flags), (event, flags), MADE(EVENT, *event, NULL);
	say(r, "cuEventCreate(phEvent=&%s, Flags=%s)", HANDLE(EVENT, *event),
	    flags == CU_EVENT_DISABLE_TIMING ? "CU_EVENT_DISABLE_TIMING" : "?"))
WITNESS(cuEventRecord, (CUevent event, CUstream stream), (event, stream),
	say(r, "cuEventRecord(hEvent=%s, hStream=%s)", HANDLE(EVENT, event), HANDLE(STREAM, stream)))
WITNESS(cuEventSynchronize, (CUevent event), (event),
	say(r, "cuEventSynchronize(hEvent=%s)", HANDLE(EVENT, event)))
WITNESS(cuEventDestroy_v2, (CUevent event), (event),
	say(r, "cuEventDestroy_v2(hEvent=%s)", HANDLE(EVENT, event));
	ENDED(EVENT, event))
WITNESS(cuLaunchKernel,
	(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	 unsigned shared, CUstream stream, void **params, void **extra),
	(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra),
	say(r,
	    "cuLaunchKernel(f=%s, gridDimX=%u, gridDimY=%u, gridDimZ=%u, blockDimX=%u, blockDimY=%u, "
	    "blockDimZ=%u, "
	    "sharedMemBytes=%u, hStream=%s, kernelParams=%s, extra=%s)",
	    HANDLE(FUNCTION, f), gx, gy, gz, bx, by, bz, shared, HANDLE(STREAM, stream),
	    params ? "host" : "NULL", extra ? "host" : "NULL");
	say_kernel(find(FUNCTION, (uint64_t)(uintptr_t)f), (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz},
		   shared, params))
