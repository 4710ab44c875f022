/* SPDX-License-Identifier: Apache-2.0
 *
 * signals: handlers of the program run on threads of the program only.
 */
#include "core_test.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled, elsewhere;
static pthread_t program_thread;

static void handler(int signal)
{
	(void)signal;
	handled = 1;
	if (!pthread_equal(pthread_self(), program_thread))
		elsewhere = 1;
}

/* Work for the threads of queues and of the interpreter, so that all are there. */
static void keep_busy(CUfunction fill, CUdeviceptr buffer, CUstream stream)
{
	unsigned value = 1, n = 64 * 256;

	for (int i = 0; i < 20; i++)
		OK(cuLaunchKernel(fill, 64, 1, 1, 256, 1, 1, 0, stream, (void *[]){&buffer, &value, &n},
				  NULL));
	OK(cuStreamSynchronize(stream));
}

static void a_signal_for_the_process(void **state)
{
	struct sigaction action = {.sa_handler = handler};
	sigset_t user, before;
	CUdeviceptr buffer;
	CUstream stream;
	CUfunction fill;
	CUmodule module;

	(void)state;
	program_thread = pthread_self();
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	fill = load_function(&module, PTX_HEAD PTX_FILL, "fill");
	OK(cuMemAlloc(&buffer, 64 * 256 * 4));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	keep_busy(fill, buffer, stream);
	/* Whoever does not block it gets it: now that is nobody. */
	sigemptyset(&user);
	sigaddset(&user, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &user, &before);
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	keep_busy(fill, buffer, stream);
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	assert_int_equal(handled, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(handled, 1);
	assert_int_equal(elsewhere, 0);
	OK(cuStreamDestroy(stream));
	OK(cuMemFree(buffer));
	OK(cuModuleUnload(module));
}

int main(void)
{
	const struct CMUnitTest tests[] = {WITH_CONTEXT(a_signal_for_the_process)};

	setenv("CUTRACE_DEVICE", "interp:workers=4", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
