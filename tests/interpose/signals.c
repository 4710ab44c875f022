/* SPDX-License-Identifier: Apache-2.0
 *
 * signals: a program whose signal handlers call the driver while its threads do. argv[1] says how:
 *   restart, interrupt   a timer, with and without SA_RESTART; the handler returns
 *   alternate            a timer, on a stack of the handler's own
 *   jump                 a timer, whose handler leaves by siglongjmp
 *   threads              SIGUSR1 from threads that call the driver too
 *   many                 a handler that calls more often than a ring has room for
 * Says what it did, a line for each function: "function calls", and how many were begun.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define CUDA_ABI_NO_MAPPING
#include "api/gen/cuda_abi.h"

#define SIGNALS    3000
#define PER_SIGNAL 3
#define SENDERS    3

/* Main's calls are numbered by what they pass, and so are the handler's. */
static volatile unsigned long versions, handled, begun, returned, allocated;
static volatile sig_atomic_t jumping, in_handler;
static unsigned long target = SIGNALS * PER_SIGNAL, per_signal = PER_SIGNAL;
static sigjmp_buf back;

static void handler(int signo)
{
	(void)signo;
	if (versions >= target)
		return;
	in_handler = 1;
	for (unsigned long i = 0; i < per_signal; i++) {
		int version = 0;

		cuCtxSetFlags((unsigned)versions);
		if (cuDriverGetVersion(&version) != CUDA_SUCCESS)
			abort();
		versions++;
	}
	handled++;
	in_handler = 0;
	if (jumping)
		siglongjmp(back, 1);
}

static void catch (int signo, int flags)
{
	static char stack[65536];
	struct sigaction a = {.sa_handler = handler, .sa_flags = flags};
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};

	if ((flags & SA_ONSTACK) && sigaltstack(&alternate, NULL) != 0)
		abort();
	if (sigaction(signo, &a, NULL) != 0)
		abort();
}

/* Every kind of record: with and without outs, host memory, payloads, parameters, the recorder's own calls. */
static void calls(CUdeviceptr p)
{
	static uint64_t data[32];
	CUdeviceptr q;

	begun++;
	cuCtxSetCurrent((CUcontext)(uintptr_t)(1000000 + begun));
	returned++;
	if (jumping) /* the others hold locks of the driver's, which nobody would release */
		return;
	cuMemcpyHtoD_v2(p, data, sizeof(data));
	if (cuMemAlloc_v2(&q, 64) == CUDA_SUCCESS) {
		allocated++;
		cuMemFree_v2(q);
	}
}

static void until_handled(CUdeviceptr p)
{
	jumping = jumping == 2;
	while (sigsetjmp(back, 1) || versions < target)
		if (versions < target)
			calls(p);
		else
			break;
	jumping = 0;
}

static void timer(long us)
{
	struct itimerval t = {{0, us}, {0, us}};

	setitimer(ITIMER_REAL, &t, NULL);
}

static pthread_t receiver;
static volatile int stop;

static void *send(void *arg)
{
	sigset_t none_here;

	(void)arg;
	sigemptyset(&none_here);
	sigaddset(&none_here, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &none_here, NULL);
	while (!stop) {
		cuCtxGetFlags(&(unsigned){0});
		pthread_kill(receiver, SIGUSR1);
		usleep(20);
	}
	return NULL;
}

static void from_threads(CUdeviceptr p)
{
	pthread_t senders[SENDERS];

	receiver = pthread_self();
	for (int i = 0; i < SENDERS; i++)
		if (pthread_create(&senders[i], NULL, send, NULL) != 0)
			abort();
	until_handled(p);
	stop = 1;
	for (int i = 0; i < SENDERS; i++)
		pthread_join(senders[i], NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	CUdeviceptr p;
	CUcontext c;

	cuInit(0);
	cuCtxCreate_v2(&c, 0, 0);
	cuMemAlloc_v2(&p, 4096);
	catch (strcmp(how, "threads") ? SIGALRM : SIGUSR1, !strcmp(how, "interrupt") ? 0
							   : !strcmp(how, "alternate")
								   ? SA_ONSTACK | SA_RESTART
								   : SA_RESTART);
	if (!strcmp(how, "jump"))
		jumping = 2;
	if (!strcmp(how, "many"))
		per_signal = 200000, target = per_signal;
	if (!strcmp(how, "threads")) {
		from_threads(p);
	} else {
		timer(150);
		until_handled(p);
		timer(0);
	}
	printf("versions %lu begun %lu returned %lu\n", versions, begun, returned);
	return in_handler;
}
