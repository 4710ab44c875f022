/* SPDX-License-Identifier: Apache-2.0
 *
 * The program app where it is killed, and where recorder and collector are at odds.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CUDA_ABI_NO_MAPPING
#include "api/gen/cuda_abi.h"
#include "interpose/ring.h"
#include "scenarios.h"

/* ---- for being killed ---------------------------------------------------------------------------- */

/* In flight when it dies: the driver never returns from this. */
static void forever(void *unused)
{
	(void)unused;
	for (;;)
		pause();
}

int scenario_stuck(void)
{
	cuInit(0);
	cuLaunchHostFunc(NULL, forever, NULL);
	puts("stuck");
	fflush(stdout);
	cuStreamSynchronize(NULL);
	return 0;
}

/* ---- the collector: gone in the middle of a call, or not of our mind ----------------------------- */

static void kill_collector(void)
{
	char path[64];
	FILE *f;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
	f = fopen(path, "r");
	while (f && fscanf(f, "%d", &pid) == 1)
		if (pid != getpid())
			kill(pid, SIGKILL);
	if (f)
		fclose(f);
	usleep(100000);
}

/* More than any ring holds. */
static int fill_ring(void *unused)
{
	int version;

	(void)unused;
	kill_collector();
	for (int i = 0; i < 400000; i++)
		cuDriverGetVersion(&version);
	return 7;
}

int scenario_orphaned_inside(void)
{
	int (*call)(int (*)(void *), void *) = NULL, version;

	cuDriverGetVersion(&version);
	cuGetProcAddress_v2("cuBrandNewCallback", (void **)&call, 15000, 0, NULL);
	printf("returned %d\n", call ? call(fill_ring, NULL) : -1);
	return 0;
}

static int hello(struct ring_hello *h, unsigned version)
{
	const char *where = getenv(RING_ENV_SOCKET);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct timeval limit = {10, 0};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	memcpy(a.sun_path, where, strlen(where));
	if (a.sun_path[0] == '@')
		a.sun_path[0] = '\0';
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	memset(h, 0, sizeof(*h));
	h->m = (struct ring_message){RING_MSG_HELLO, sizeof(*h)};
	h->version = version;
	h->pid = (uint32_t)getpid();
	h->ppid = (uint32_t)getppid();
	if (connect(fd, (struct sockaddr *)&a,
		    offsetof(struct sockaddr_un, sun_path) + strlen(where) + (where[0] != '@')) != 0 ||
	    send(fd, h, sizeof(*h), 0) != sizeof(*h))
		puts("not connected");
	return fd;
}

int scenario_other_version(void)
{
	static struct ring_hello h;
	char answer[64];

	printf("%zd\n", recv(hello(&h, RING_VERSION + 1), answer, sizeof(answer), 0));
	return 0;
}

/* A ring whose descriptor did not arrive. */
int scenario_refused_ring(void)
{
	static struct ring_hello h;
	struct ring_message m = {RING_MSG_RING, sizeof(m)}, answer = {0, 0};
	int fd = hello(&h, RING_VERSION);

	recv(fd, &answer, sizeof(answer), 0);
	printf("%d ", answer.kind == RING_MSG_WELCOME);
	send(fd, &m, sizeof(m), 0);
	recv(fd, &answer, sizeof(answer), 0);
	printf("%d\n", answer.kind == RING_MSG_REFUSED);
	return 0;
}

static void *call_once(void *result)
{
	int version = 0;

	*(int *)result = cuDriverGetVersion(&version) == 0 && version == 13000;
	return NULL;
}

/* No memory file may be made for the second thread's ring. */
int scenario_no_ring(void)
{
	struct rlimit none = {0, RLIM_INFINITY};
	int first = 0, second = 0;
	pthread_t t;

	call_once(&first);
	getrlimit(RLIMIT_FSIZE, &none);
	none.rlim_cur = 0;
	setrlimit(RLIMIT_FSIZE, &none);
	pthread_create(&t, NULL, call_once, &second);
	pthread_join(t, NULL);
	none.rlim_cur = none.rlim_max;
	setrlimit(RLIMIT_FSIZE, &none);
	printf("%d %d\n", first, second);
	return 0;
}

/* Children that all live at the same time: more than a collector with few descriptors can know. */
#define KIDS 30
int scenario_many_children(void)
{
	int called[2], go[2], ok = 0, version;
	char byte;

	if (pipe(called) != 0 || pipe(go) != 0)
		return 1;
	alarm(60); /* a child that is left waiting leaves us waiting */
	for (int i = 0; i < KIDS; i++)
		if (fork() == 0) {
			close(go[1]);
			byte = (char)cuDriverGetVersion(&version);
			if (write(called[1], &byte, 1) != 1)
				_exit(1);
			_exit(read(go[0], &byte, 1) != 0);
		}
	for (int i = 0; i < KIDS; i++)
		ok += read(called[0], &byte, 1) == 1 && byte == 0;
	close(go[1]);
	while (wait(&version) > 0)
		ok += version == 0;
	printf("%d\n", ok);
	return 0;
}

/* The socket takes the last descriptor there is; none is left for the page behind it. */
int scenario_no_descriptor(void)
{
	int next = dup(0), version = 0, result;
	struct rlimit limit = {0, 0};

	close(next);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = (rlim_t)next + 1;
	setrlimit(RLIMIT_NOFILE, &limit);
	result = cuDriverGetVersion(&version);
	printf("%d %d\n", result, version);
	return 0;
}

/* Children are forked while a thread is adding to the recorder's tables. */
static _Atomic int forking = 1;
static char functions[64 << 20]; /* a handle of the empty driver is a name: here, many empty ones */

static void *learn_kernels(void *arg)
{
	for (char *f = functions; forking && f < functions + sizeof(functions); f += 16)
		cuLaunchKernel((CUfunction)f, 1, 1, 1, 1, 1, 1, 0, NULL, arg, NULL);
	return NULL;
}

int scenario_fork_learning(void)
{
	int status, ok = 0;
	pthread_t t;

	pthread_create(&t, NULL, learn_kernels, NULL);
	for (uintptr_t i = 0; i < 100; i++) {
		if (fork() == 0) {
			alarm(20);
			cuLaunchKernel((CUfunction)(functions + 8 + 16 * i), 1, 1, 1, 1, 1, 1, 0, NULL, NULL,
				       NULL);
			_exit(0);
		}
		wait(&status);
		ok += status == 0;
	}
	forking = 0;
	pthread_join(t, NULL);
	printf("%d\n", ok);
	return 0;
}
