/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream memory operations: a stream that waits for, or writes, one word of memory (CUDA Driver API, "Stream
 * Memory Operations").
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct memop {
	struct op op;
	struct place place;
	uint64_t value;
	unsigned width, flags; /* bytes */
};

/* The word itself where the device lets the host see it: loads and stores are then atomic, as the program
 * expects. */
static void *word(const struct memop *m)
{
	const struct device_ops *ops;

	if (m->place.is_host)
		return m->place.host;
	ops = m->place.gpu->ops;
	return ops->host_view ? ops->host_view(m->place.gpu->dev, m->place.addr, m->width) : NULL;
}

static CUresult load(const struct memop *m, uint64_t *value)
{
	void *p = word(m);

	*value = 0;
	if (!p)
		return memory_read(m->place.gpu, value, m->place.addr, m->width);
	if (m->width == 4)
		*value = __atomic_load_n((uint32_t *)p, __ATOMIC_ACQUIRE);
	else
		*value = __atomic_load_n((uint64_t *)p, __ATOMIC_ACQUIRE);
	return CUDA_SUCCESS;
}

static bool satisfied(const struct memop *m, uint64_t value)
{
	int64_t diff =
		m->width == 4 ? (int32_t)((uint32_t)value - (uint32_t)m->value) : (int64_t)(value - m->value);

	switch (m->flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ: return diff >= 0;
	case CU_STREAM_WAIT_VALUE_EQ: return value == m->value;
	case CU_STREAM_WAIT_VALUE_AND: return (value & m->value) != 0;
	default: /* NOR: not all bits of value | m->value are set */
		return m->width == 4 ? (uint32_t) ~(value | m->value) != 0 : ~(value | m->value) != 0;
	}
}

/* Keeps a worker until the word has the value; the context's failure ends it. */
static CUresult run_wait(struct op *op)
{
	struct memop *m = (struct memop *)op;
	struct context *ctx = queue_context(op->queue);
	uint64_t value;

	for (unsigned spins = 0;; spins++) {
		CUresult r = load(m, &value);

		if (r || satisfied(m, value))
			return r;
		if (atomic_load(&ctx->error))
			return CUDA_SUCCESS;
		nanosleep(&(struct timespec){0, spins < 100 ? 1000 : 100000}, NULL);
	}
}

static CUresult run_write(struct op *op)
{
	struct memop *m = (struct memop *)op;
	void *p = word(m);

	if (!p)
		return memory_write(m->place.gpu, m->place.addr, &m->value, m->width);
	if (m->width == 4)
		__atomic_store_n((uint32_t *)p, (uint32_t)m->value, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint64_t *)p, m->value, __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}

static CUresult add(CUstream stream, CUresult (*run)(struct op *op), CUdeviceptr addr, uint64_t value,
		    unsigned width, unsigned flags)
{
	struct context *ctx;
	struct queue *q;
	struct memop *op;
	CUresult r = stream_resolve(stream, &ctx, &q);

	if (r)
		return r;
	if (addr % width || flags & ~7u || (run == run_write && flags & ~1u))
		return CUDA_ERROR_INVALID_VALUE;
	if (run == run_wait && flags & CU_STREAM_WAIT_VALUE_FLUSH)
		return CUDA_ERROR_NOT_SUPPORTED; /* as CAN_FLUSH_REMOTE_WRITES says */
	op = op_new(sizeof(*op), run);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = place_find(addr, width, PLACE_ANY, &op->place);
	if (!r && !op->place.range)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r) {
		free(op);
		return r;
	}
	op->value = value;
	op->width = width;
	op->flags = flags;
	queue_submit(q, &op->op);
	return CUDA_SUCCESS;
}

CUresult cuStreamWaitValue32_v2(CUstream s, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	return add(s, run_wait, addr, value, 4, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream s, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	return add(s, run_wait, addr, value, 8, flags);
}

CUresult cuStreamWriteValue32_v2(CUstream s, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	return add(s, run_write, addr, value, 4, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream s, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	return add(s, run_write, addr, value, 8, flags);
}

CUresult cuStreamWaitValue32(CUstream s, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	return cuStreamWaitValue32_v2(s, addr, value, flags);
}

CUresult cuStreamWaitValue64(CUstream s, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	return cuStreamWaitValue64_v2(s, addr, value, flags);
}

CUresult cuStreamWriteValue32(CUstream s, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	return cuStreamWriteValue32_v2(s, addr, value, flags);
}

CUresult cuStreamWriteValue64(CUstream s, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	return cuStreamWriteValue64_v2(s, addr, value, flags);
}

static CUresult batch_one(CUstream s, const CUstreamBatchMemOpParams *p)
{
	switch (p->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return add(s, run_wait, p->waitValue.address, p->waitValue.value, 4, p->waitValue.flags);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return add(s, run_wait, p->waitValue.address, p->waitValue.value64, 8, p->waitValue.flags);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return add(s, run_write, p->writeValue.address, p->writeValue.value, 4, p->writeValue.flags);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return add(s, run_write, p->writeValue.address, p->writeValue.value64, 8,
			   p->writeValue.flags);
	case CU_STREAM_MEM_OP_BARRIER: return CUDA_SUCCESS; /* every op of a queue is ordered and visible */
	default: return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuStreamBatchMemOp_v2(CUstream s, unsigned int count, CUstreamBatchMemOpParams *params,
			       unsigned int flags)
{
	struct context *ctx;
	struct queue *q;
	CUresult r = stream_resolve(s, &ctx, &q);

	if (r)
		return r;
	if (flags || !params || count > 256)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count && !r; i++)
		r = batch_one(s, &params[i]);
	return r;
}

CUresult cuStreamBatchMemOp(CUstream s, unsigned int count, CUstreamBatchMemOpParams *params,
			    unsigned int flags)
{
	return cuStreamBatchMemOp_v2(s, count, params, flags);
}
