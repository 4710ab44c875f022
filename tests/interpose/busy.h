/* SPDX-License-Identifier: Apache-2.0
 *
 * busy: the log that a busy program keeps of its own calls, in memory it shares with the test that kills it.
 * An entry is counted when the call it tells of has returned.
 */
#ifndef CUTRACE_TESTS_INTERPOSE_BUSY_H
#define CUTRACE_TESTS_INTERPOSE_BUSY_H

#include <stdatomic.h>
#include <stdint.h>

#define BUSY_THREADS 4
#define BUSY_CALLS   400000 /* a thread stops when its log is full */

enum busy_function {
	BUSY_INIT,
	BUSY_CTX_CREATE,
	BUSY_CTX_SET,
	BUSY_CTX_FLAGS,
	BUSY_ALLOC,
	BUSY_FREE,
	BUSY_H2D,
	BUSY_D2H,
	BUSY_MEMSET,
	BUSY_FUNCTIONS
};
#define BUSY_NAMES                                                                               \
	{                                                                                        \
		"cuInit", "cuCtxCreate_v2", "cuCtxSetCurrent", "cuCtxSetFlags", "cuMemAlloc_v2", \
			"cuMemFree_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemsetD8_v2"    \
	}

struct busy_entry {
	uint32_t function;
	int32_t result;
	uint64_t args[3]; /* as the prototype has them, zero-extended */
	uint64_t out;     /* what came out of it: a handle, or the first 8 bytes that were copied */
};

struct busy_log {
	_Atomic uint64_t completed;
	uint64_t tid; /* 0: the thread has not begun */
	struct busy_entry entries[BUSY_CALLS];
};

#endif
