/* SPDX-License-Identifier: Apache-2.0
 *
 * The _ptsz forms of functions that take a stream: NULL means the calling thread's default stream.
 * (The _ptds forms, which take none, are beside the functions they belong to.)
 */
#include "core.h"

#define PTSZ(name, params, args)          \
	CUresult name##_ptsz params       \
	{                                 \
		s = stream_per_thread(s); \
		return name args;         \
	}

PTSZ(cuMemcpyAsync, (CUdeviceptr d, CUdeviceptr f, size_t n, CUstream s), (d, f, n, s))
PTSZ(cuMemcpyHtoDAsync_v2, (CUdeviceptr d, const void *f, size_t n, CUstream s), (d, f, n, s))
PTSZ(cuMemcpyDtoHAsync_v2, (void *d, CUdeviceptr f, size_t n, CUstream s), (d, f, n, s))
PTSZ(cuMemcpyDtoDAsync_v2, (CUdeviceptr d, CUdeviceptr f, size_t n, CUstream s), (d, f, n, s))
PTSZ(cuMemcpyPeerAsync, (CUdeviceptr d, CUcontext dc, CUdeviceptr f, CUcontext fc, size_t n, CUstream s),
     (d, dc, f, fc, n, s))
PTSZ(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *p, CUstream s), (p, s))
PTSZ(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *p, CUstream s), (p, s))
PTSZ(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *p, CUstream s), (p, s))
PTSZ(cuMemcpyBatchAsync,
     (CUdeviceptr * d, CUdeviceptr *f, size_t *n, size_t count, CUmemcpyAttributes *a, size_t *idx, size_t na,
      size_t *fail, CUstream s),
     (d, f, n, count, a, idx, na, fail, s))
PTSZ(cuMemcpyBatchAsync_v2,
     (CUdeviceptr * d, CUdeviceptr *f, size_t *n, size_t count, CUmemcpyAttributes *a, size_t *idx, size_t na,
      CUstream s),
     (d, f, n, count, a, idx, na, s))

PTSZ(cuMemsetD8Async, (CUdeviceptr d, unsigned char v, size_t n, CUstream s), (d, v, n, s))
PTSZ(cuMemsetD16Async, (CUdeviceptr d, unsigned short v, size_t n, CUstream s), (d, v, n, s))
PTSZ(cuMemsetD32Async, (CUdeviceptr d, unsigned int v, size_t n, CUstream s), (d, v, n, s))
PTSZ(cuMemsetD2D8Async, (CUdeviceptr d, size_t p, unsigned char v, size_t w, size_t h, CUstream s),
     (d, p, v, w, h, s))
PTSZ(cuMemsetD2D16Async, (CUdeviceptr d, size_t p, unsigned short v, size_t w, size_t h, CUstream s),
     (d, p, v, w, h, s))
PTSZ(cuMemsetD2D32Async, (CUdeviceptr d, size_t p, unsigned int v, size_t w, size_t h, CUstream s),
     (d, p, v, w, h, s))

PTSZ(cuMemAllocAsync, (CUdeviceptr * d, size_t n, CUstream s), (d, n, s))
PTSZ(cuMemAllocFromPoolAsync, (CUdeviceptr * d, size_t n, CUmemoryPool p, CUstream s), (d, n, p, s))
PTSZ(cuMemFreeAsync, (CUdeviceptr d, CUstream s), (d, s))
PTSZ(cuMemPrefetchAsync, (CUdeviceptr d, size_t n, CUdevice dev, CUstream s), (d, n, dev, s))
PTSZ(cuMemPrefetchAsync_v2, (CUdeviceptr d, size_t n, CUmemLocation l, unsigned int f, CUstream s),
     (d, n, l, f, s))

PTSZ(cuStreamGetPriority, (CUstream s, int *v), (s, v))
PTSZ(cuStreamGetId, (CUstream s, unsigned long long *v), (s, v))
PTSZ(cuStreamGetFlags, (CUstream s, unsigned int *v), (s, v))
PTSZ(cuStreamGetDevice, (CUstream s, CUdevice *v), (s, v))
PTSZ(cuStreamGetCtx, (CUstream s, CUcontext *v), (s, v))
PTSZ(cuStreamGetCtx_v2, (CUstream s, CUcontext *v, CUgreenCtx *g), (s, v, g))
PTSZ(cuStreamWaitEvent, (CUstream s, CUevent e, unsigned int f), (s, e, f))
PTSZ(cuStreamAddCallback, (CUstream s, CUstreamCallback c, void *u, unsigned int f), (s, c, u, f))
PTSZ(cuStreamAttachMemAsync, (CUstream s, CUdeviceptr d, size_t n, unsigned int f), (s, d, n, f))
PTSZ(cuStreamQuery, (CUstream s), (s))
PTSZ(cuStreamSynchronize, (CUstream s), (s))
PTSZ(cuStreamIsCapturing, (CUstream s, CUstreamCaptureStatus *v), (s, v))
PTSZ(cuStreamGetCaptureInfo, (CUstream s, CUstreamCaptureStatus *v, cuuint64_t *id), (s, v, id))
PTSZ(cuStreamGetCaptureInfo_v2,
     (CUstream s, CUstreamCaptureStatus *v, cuuint64_t *id, CUgraph *g, const CUgraphNode **d, size_t *n),
     (s, v, id, g, d, n))
PTSZ(cuStreamGetCaptureInfo_v3,
     (CUstream s, CUstreamCaptureStatus *v, cuuint64_t *id, CUgraph *g, const CUgraphNode **d,
      const CUgraphEdgeData **e, size_t *n),
     (s, v, id, g, d, e, n))
PTSZ(cuStreamGetAttribute, (CUstream s, CUstreamAttrID a, CUstreamAttrValue *v), (s, a, v))
PTSZ(cuStreamSetAttribute, (CUstream s, CUstreamAttrID a, const CUstreamAttrValue *v), (s, a, v))
PTSZ(cuStreamWaitValue32, (CUstream s, CUdeviceptr d, cuuint32_t v, unsigned int f), (s, d, v, f))
PTSZ(cuStreamWaitValue32_v2, (CUstream s, CUdeviceptr d, cuuint32_t v, unsigned int f), (s, d, v, f))
PTSZ(cuStreamWaitValue64, (CUstream s, CUdeviceptr d, cuuint64_t v, unsigned int f), (s, d, v, f))
PTSZ(cuStreamWaitValue64_v2, (CUstream s, CUdeviceptr d, cuuint64_t v, unsigned int f), (s, d, v, f))
PTSZ(cuStreamWriteValue32, (CUstream s, CUdeviceptr d, cuuint32_t v, unsigned int f), (s, d, v, f))
PTSZ(cuStreamWriteValue32_v2, (CUstream s, CUdeviceptr d, cuuint32_t v, unsigned int f), (s, d, v, f))
PTSZ(cuStreamWriteValue64, (CUstream s, CUdeviceptr d, cuuint64_t v, unsigned int f), (s, d, v, f))
PTSZ(cuStreamWriteValue64_v2, (CUstream s, CUdeviceptr d, cuuint64_t v, unsigned int f), (s, d, v, f))
PTSZ(cuStreamBatchMemOp, (CUstream s, unsigned int n, CUstreamBatchMemOpParams *p, unsigned int f),
     (s, n, p, f))
PTSZ(cuStreamBatchMemOp_v2, (CUstream s, unsigned int n, CUstreamBatchMemOpParams *p, unsigned int f),
     (s, n, p, f))

PTSZ(cuEventRecord, (CUevent e, CUstream s), (e, s))
PTSZ(cuEventRecordWithFlags, (CUevent e, CUstream s, unsigned int f), (e, s, f))
PTSZ(cuLaunchHostFunc, (CUstream s, CUhostFn fn, void *u), (s, fn, u))
PTSZ(cuLaunchKernel,
     (CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
      unsigned int bz, unsigned int shared, CUstream s, void **p, void **e),
     (f, gx, gy, gz, bx, by, bz, shared, s, p, e))
PTSZ(cuLaunchCooperativeKernel,
     (CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
      unsigned int bz, unsigned int shared, CUstream s, void **p),
     (f, gx, gy, gz, bx, by, bz, shared, s, p))

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	CUlaunchConfig c;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	c = *config;
	c.hStream = stream_per_thread(c.hStream);
	return cuLaunchKernelEx(&c, f, params, extra);
}

CUresult cuStreamCopyAttributes_ptsz(CUstream dst, CUstream src)
{
	return cuStreamCopyAttributes(stream_per_thread(dst), stream_per_thread(src));
}
