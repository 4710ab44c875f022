/* SPDX-License-Identifier: Apache-2.0
 *
 * app: the program that the recorder's tests record. argv[1] names a scenario; each prints what the test is
 * to find.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CUDA_ABI_NO_MAPPING
#include "api/gen/cuda_abi.h"
#include "scenarios.h"

char **args;

/* ---- plain calls ------------------------------------------------------------ */

static int scenario_calls(void)
{
	int version = 0, n = 0;
	CUdevice dev;
	CUdeviceptr p;
	char host[64] = "a source of 64 bytes";
	char back[64];

	cuInit(0);
	cuDriverGetVersion(&version);
	cuDeviceGetCount(&n);
	cuDeviceGet(&dev, 7); /* fails: invalid device */
	cuMemAlloc_v2(&p, sizeof(host));
	cuMemcpyHtoD_v2(p, host, sizeof(host));
	cuMemcpyDtoH_v2(back, p, sizeof(back));
	cuMemFree_v2(p);
	printf("%d %d %llx %s\n", version, n, (unsigned long long)p, back);
	return 42;
}

static int scenario_errno(void)
{
	int ok = 1, version;

	for (int i = 0; i < 100000; i++) {
		errno = 77;
		cuDriverGetVersion(&version);
		ok &= errno == 77;
	}
	errno = 78;
	cuGetProcAddress_v2("cuInit", &(void *){NULL}, 12000, 0, NULL);
	ok &= errno == 78;
	puts(ok ? "kept" : "lost");
	return 0;
}

/* Descriptors above the standard ones vanish, as daemons do it. */
static int scenario_closefds(void)
{
	int version;
	pthread_t t;

	cuInit(0);
	for (int fd = 3; fd < 2000; fd++)
		close(fd);
	for (int i = 0; i < 10; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			return 1;
	cuDriverGetVersion(&version);
	/* A new thread needs the socket again. */
	pthread_create(&t, NULL, (void *(*)(void *))(void *)cuDriverGetVersion, &version);
	pthread_join(t, NULL);
	usleep(100000);
	cuDriverGetVersion(&version);
	return 0;
}

/* ---- ends -------------------------------------------------------------------------- */

static int scenario_abort(void)
{
	cuInit(0);
	abort();
}

static int scenario__exit(void)
{
	cuInit(0);
	_exit(3);
}

static int scenario_segv(void)
{
	cuInit(0);
	raise(SIGSEGV);
	return 0;
}

static int scenario_term(void)
{
	cuInit(0);
	raise(SIGTERM);
	return 0;
}

/* ---- threads ------------------------------------------------------------------------- */

#define NTHREADS 16
#define NCALLS   20000

static void *thread_main(void *arg)
{
	int version;

	for (int i = 0; i < NCALLS; i++)
		cuCtxSetFlags((unsigned)((uintptr_t)arg * NCALLS) + (unsigned)i);
	cuDriverGetVersion(&version);
	return NULL;
}

static int scenario_threads(void)
{
	pthread_t t[NTHREADS];

	for (uintptr_t i = 0; i < NTHREADS; i++)
		pthread_create(&t[i], NULL, thread_main, (void *)i);
	for (int i = 0; i < NTHREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* A second thread begins while the first is calling; then each waits for the other's call to end. */
static _Atomic int turn;

static void *second_main(void *arg)
{
	(void)arg;
	cuCtxSetFlags(1000000);
	for (int i = 1; i < 50; i += 2) {
		while (turn != i)
			;
		cuCtxSetFlags(1000000u + (unsigned)i);
		turn = i + 1;
	}
	return NULL;
}

static int scenario_second_thread(void)
{
	unsigned n = 0;
	pthread_t t;

	for (; n < 1000; n++)
		cuCtxSetFlags(n);
	pthread_create(&t, NULL, second_main, NULL);
	for (int i = 0; i < 50; i += 2) {
		/* once into the change from one way of numbering to the other */
		for (unsigned k = 0; k < (i ? 1u : 100000u); k++)
			cuCtxSetFlags(n++);
		turn = i + 1;
		while (turn != i + 2)
			;
	}
	pthread_join(t, NULL);
	printf("%u\n", n);
	return 0;
}

/* Many short threads use rings again. */
static int scenario_short_threads(void)
{
	for (uintptr_t i = 0; i < 200; i++) {
		pthread_t t;

		pthread_create(&t, NULL, (void *(*)(void *))(void *)cuInit, (void *)i);
		pthread_join(t, NULL);
	}
	return 0;
}

/* ---- processes --------------------------------------------------------------------------- */

static int scenario_fork(void)
{
	int version, status;
	pid_t pid;

	cuInit(0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 10; i++)
			cuDriverGetVersion(&version);
		_exit(5);
	}
	cuDriverGetVersion(&version);
	waitpid(pid, &status, 0);
	printf("%d %d\n", (int)pid, WEXITSTATUS(status));
	return 0;
}

static int scenario_exec(void)
{
	cuInit(0);
	execl("/proc/self/exe", args[0], "calls", NULL);
	return 1;
}

static int scenario_sigchld(void)
{
	puts(signal(SIGCHLD, SIG_DFL) == SIG_IGN ? "ignored" : "not ignored");
	return 0;
}

/* The parent is long gone when its child first calls the driver. */
static int leave_child(void)
{
	int version;

	if (fork() != 0) {
		usleep(50000);
		return 3;
	}
	usleep(700000);
	cuInit(0);
	cuDriverGetVersion(&version);
	_exit(6);
}

static int scenario_late_child(void)
{
	cuInit(0);
	return leave_child();
}

static int scenario_late_only(void)
{
	return leave_child();
}

/* ---- unknown functions --------------------------------------------------------------------- */

typedef double brand_new_fn(int a, double b, void *c, float d, long e1, long e2, long e3, long e4,
			    long on_stack);

static int call_brand_new(brand_new_fn *f)
{
	double x = f(1, 2.5, args, 0.25f, 3, 4, 5, 6, 1000);

	printf("%.2f\n", x);
	return x == 1 + 2.5 + 1 + 0.25 + 18 + 1000 ? 0 : 1;
}

static int scenario_unknown_proc(void)
{
	void *f = NULL;

	cuGetProcAddress_v2("cuBrandNewFunction", &f, 15000, 0, NULL);
	return f ? call_brand_new((brand_new_fn *)f) : 2;
}

static int scenario_unknown_dlsym(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW), *f = dlsym(handle, "cuBrandNewFunction");

	return f ? call_brand_new((brand_new_fn *)f) : 2;
}

brand_new_fn cuBrandNewFunction;
static int scenario_unknown_linked(void)
{
	/* Called, not pointed to: the loader tells auditors of calls' bindings only. */
	double x = cuBrandNewFunction(1, 2.5, args, 0.25f, 3, 4, 5, 6, 1000);

	printf("%.2f\n", x);
	return 0;
}

/* Known ones through cuGetProcAddress are our entry points. */
static int scenario_known_proc(void)
{
	int (*f)(int *) = NULL, version = 0;

	cuGetProcAddress_v2("cuDriverGetVersion", (void **)&f, 12000, 0, NULL);
	f(&version);
	printf("%d %d\n", version, (void *)f == dlsym(RTLD_DEFAULT, "cuDriverGetVersion"));
	return 0;
}

int cuBrandNewNesting(int *version);
static int scenario_nesting(void)
{
	int (*f)(int *) = NULL, version = 0;

	cuGetProcAddress_v2("cuBrandNewNesting", (void **)&f, 15000, 0, NULL);
	printf("%d\n", f(&version));
	return version == 13000 ? 0 : 1;
}

static int scenario_export_table(void)
{
	static const unsigned char uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	const struct {
		size_t bytes;
		int (*one)(int, int);
		const void *data;
	} *table = NULL;

	cuGetExportTable((const void **)&table, (const CUuuid *)uuid);
	printf("%d %d\n", table->one(3, 4), table->data == table);
	return 0;
}

/* Daemons do that. */
static int scenario_clearenv(void)
{
	int version;

	clearenv();
	return cuDriverGetVersion(&version);
}

#define S(name)                        \
	{                              \
#		name, scenario_##name \
	}
static const struct {
	const char *name;
	int (*run)(void);
} scenarios[] = {
	S(calls),         S(errno),         S(closefds),       S(abort),
	S(_exit),         S(segv),          S(term),           S(threads),
	S(short_threads), S(second_thread), S(fork),           S(exec),
	S(unknown_proc),  S(unknown_dlsym), S(unknown_linked), S(known_proc),
	S(nesting),       S(export_table),  S(pinned),         S(bad_pointers),
	S(capture),       S(pitched),       S(large),          S(noise),
	S(launch),        S(launch_ask),    S(stuck),          S(late_child),
	S(late_only),     S(pinned_many),   S(faulted),        S(sigchld),
	S(reload),        S(launch_cubin),  S(launch_opaque),  S(orphaned_inside),
	S(other_version), S(refused_ring),  S(no_ring),        S(many_parts),
	S(many_children), S(no_descriptor), S(fork_learning),  S(pinned_flood),
	S(pinned_small),  S(clearenv),
};

int main(int argc, char **argv)
{
	args = argv;
	for (size_t i = 0; argc > 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (!strcmp(argv[1], scenarios[i].name))
			return scenarios[i].run();
	return 99;
}
