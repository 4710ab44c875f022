/* SPDX-License-Identifier: Apache-2.0
 *
 * fork: a child of a process that had initialised CUDA is told so and doesn't hang; one forked before works.
 */
#include "core_test.h"

#include <sys/wait.h>
#include <unistd.h>

/* Exit status of the child, or -1. */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(20);
		_exit(fn());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int works(void)
{
	CUcontext ctx;
	CUdeviceptr p;

	return cuInit(0) || cuCtxCreate_v2(&ctx, 0, 0) || cuMemAlloc(&p, 100) || cuMemsetD8(p, 0, 100) ||
	       cuCtxSynchronize();
}

static int refused(void)
{
	CUdeviceptr p;
	CUcontext ctx;
	CUgraph graph;
	int n;

	return cuDeviceGetCount(&n) != CUDA_ERROR_NOT_INITIALIZED ||
	       cuCtxGetCurrent(&ctx) != CUDA_ERROR_NOT_INITIALIZED ||
	       cuCtxPushCurrent(NULL) != CUDA_ERROR_NOT_INITIALIZED ||
	       cuMemAlloc(&p, 4) != CUDA_ERROR_NOT_INITIALIZED ||
	       cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED || cuInit(0) != CUDA_ERROR_NOT_INITIALIZED ||
	       cuGraphCreate(&graph, 0) != CUDA_ERROR_NOT_INITIALIZED;
}

static int exits(void)
{
	exit(7); /* destructors and atexit handlers run */
}

static void before_init(void **state)
{
	(void)state;
	assert_int_equal(in_child(works), 0);
}

static void after_init(void **state)
{
	(void)state;
	assert_int_equal(works(), 0);
	assert_int_equal(in_child(refused), 0);
	assert_int_equal(in_child(exits), 7);
	assert_int_equal(cuCtxSynchronize(), 0); /* the parent goes on */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(before_init), cmocka_unit_test(after_init)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
