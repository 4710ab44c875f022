/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills. All are asynchronous to the host, except the functions without Async on memory that the host sees
 * too.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

struct fill {
	struct op op;
	struct place dst;
	uint32_t value;
	unsigned width; /* bytes of an element */
	uint64_t pitch, columns, rows;
};

static void fill_host(char *p, const struct fill *f)
{
	if (f->width == 1) {
		memset(p, (int)f->value, f->columns);
		return;
	}
	for (uint64_t i = 0; i < f->columns; i++)
		memcpy(p + i * f->width, &f->value, f->width); /* little-endian: the low bytes */
}

static CUresult run_fill(struct op *op)
{
	struct fill *f = (struct fill *)op;
	struct gpu *gpu = f->dst.gpu;

	for (uint64_t y = 0; y < f->rows; y++) {
		if (f->dst.is_host)
			fill_host((char *)f->dst.host + y * f->pitch, f);
		else if (gpu->ops->fill(gpu->dev, f->dst.addr + y * f->pitch, f->value, f->width, f->columns,
					NULL))
			return CUDA_ERROR_ILLEGAL_ADDRESS;
	}
	return CUDA_SUCCESS;
}

static CUresult fill(CUstream stream, bool async, CUdeviceptr dst, size_t pitch, uint32_t value,
		     unsigned width, size_t columns, size_t rows)
{
	struct context *ctx;
	struct queue *q;
	struct fill *f;
	size_t row, all;
	CUresult r = stream_resolve(stream, &ctx, &q);

	if (r || !columns || !rows)
		return r;
	if (dst % width || __builtin_mul_overflow(columns, width, &row) ||
	    (rows > 1 && (pitch < row || pitch % width)) || __builtin_mul_overflow(pitch, rows - 1, &all) ||
	    __builtin_add_overflow(all, row, &all))
		return CUDA_ERROR_INVALID_VALUE;
	f = op_new(sizeof(*f), run_fill);
	if (!f)
		return CUDA_ERROR_OUT_OF_MEMORY;
	f->value = value;
	f->width = width;
	f->pitch = pitch;
	f->columns = columns;
	f->rows = rows;
	r = place_find(dst, all, PLACE_DEVICE, &f->dst);
	if (r) {
		free(f);
		return r;
	}
	if (f->dst.is_host && !async)
		return queue_run(q, &f->op);
	queue_submit(q, &f->op);
	return CUDA_SUCCESS;
}

#define FILL(bits, type)                                                                              \
	CUresult cuMemsetD##bits##_v2(CUdeviceptr d, type v, size_t n)                                \
	{                                                                                             \
		return fill(CU_STREAM_LEGACY, false, d, 0, v, bits / 8, n, 1);                        \
	}                                                                                             \
	CUresult cuMemsetD##bits##_v2_ptds(CUdeviceptr d, type v, size_t n)                           \
	{                                                                                             \
		return fill(CU_STREAM_PER_THREAD, false, d, 0, v, bits / 8, n, 1);                    \
	}                                                                                             \
	CUresult cuMemsetD##bits##Async(CUdeviceptr d, type v, size_t n, CUstream s)                  \
	{                                                                                             \
		return fill(s, true, d, 0, v, bits / 8, n, 1);                                        \
	}                                                                                             \
	CUresult cuMemsetD2D##bits##_v2(CUdeviceptr d, size_t pitch, type v, size_t w, size_t h)      \
	{                                                                                             \
		return fill(CU_STREAM_LEGACY, false, d, pitch, v, bits / 8, w, h);                    \
	}                                                                                             \
	CUresult cuMemsetD2D##bits##_v2_ptds(CUdeviceptr d, size_t pitch, type v, size_t w, size_t h) \
	{                                                                                             \
		return fill(CU_STREAM_PER_THREAD, false, d, pitch, v, bits / 8, w, h);                \
	}                                                                                             \
	CUresult cuMemsetD2D##bits##Async(CUdeviceptr d, size_t pitch, type v, size_t w, size_t h,    \
					  CUstream s)                                                 \
	{                                                                                             \
		return fill(s, true, d, pitch, v, bits / 8, w, h);                                    \
	}

FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)
