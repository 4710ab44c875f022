/* SPDX-License-Identifier: Apache-2.0
 *
 * busy: several threads that do nothing but call the driver, and log what they did (busy.h) into the file
 * argv[1].
 */
#include "busy.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CUDA_ABI_NO_MAPPING
#include "api/gen/cuda_abi.h"

#define BYTES 256

static struct busy_log *logs;
static CUcontext context;

static void done(struct busy_log *log, enum busy_function function, CUresult result, uint64_t a, uint64_t b,
		 uint64_t c, uint64_t out)
{
	uint64_t n = atomic_load_explicit(&log->completed, memory_order_relaxed);

	log->entries[n] = (struct busy_entry){function, (int32_t)result, {a, b, c}, out};
	atomic_store_explicit(&log->completed, n + 1, memory_order_release);
	while (n + 1 == BUSY_CALLS)
		pause();
}

static void copies(struct busy_log *log, CUdeviceptr p, uint64_t stamp)
{
	static __thread uint64_t data[BYTES / 8];
	uint64_t address = (uintptr_t)data;
	CUresult r;

	for (unsigned i = 0; i < BYTES / 8; i++)
		data[i] = stamp;
	r = cuMemcpyHtoD_v2(p, data, BYTES);
	done(log, BUSY_H2D, r, p, address, BYTES, stamp);
	r = cuMemsetD8_v2(p, (unsigned char)stamp, 3);
	done(log, BUSY_MEMSET, r, p, (unsigned char)stamp, 3, 0);
	r = cuMemcpyDtoH_v2(data, p, BYTES);
	done(log, BUSY_D2H, r, address, p, BYTES, data[0]);
}

static void *busy(void *arg)
{
	uint64_t thread = (uintptr_t)arg;
	struct busy_log *log = &logs[thread];
	CUdeviceptr p = 0, q;
	CUresult r;

	log->tid = (uint64_t)syscall(SYS_gettid);
	if (thread) {
		r = cuCtxSetCurrent(context);
		done(log, BUSY_CTX_SET, r, (uintptr_t)context, 0, 0, 0);
	} else {
		r = cuInit(0);
		done(log, BUSY_INIT, r, 0, 0, 0, 0);
		r = cuCtxCreate_v2(&context, 0, 0);
		done(log, BUSY_CTX_CREATE, r, (uintptr_t)&context, 0, 0, (uintptr_t)context);
		for (uintptr_t i = 1; i < BUSY_THREADS; i++)
			pthread_create(&(pthread_t){0}, NULL, busy, (void *)i);
	}
	r = cuMemAlloc_v2(&p, BYTES);
	done(log, BUSY_ALLOC, r, (uintptr_t)&p, BYTES, 0, p);
	for (uint64_t n = 1;; n++) {
		copies(log, p, thread << 56 | n);
		r = cuCtxSetFlags((unsigned)n);
		done(log, BUSY_CTX_FLAGS, r, (unsigned)n, 0, 0, 0);
		r = cuMemAlloc_v2(&q, 1 + n % 1000);
		done(log, BUSY_ALLOC, r, (uintptr_t)&q, 1 + n % 1000, 0, q);
		r = cuMemFree_v2(q);
		done(log, BUSY_FREE, r, q, 0, 0, 0);
		r = cuMemFree_v2(n); /* fails: nothing is there */
		done(log, BUSY_FREE, r, n, 0, 0, 0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	size_t bytes = BUSY_THREADS * sizeof(struct busy_log);
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		return 1;
	logs = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (logs == MAP_FAILED)
		return 1;
	busy(NULL);
	return 0;
}
