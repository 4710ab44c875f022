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
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#define CUDA_ABI_NO_MAPPING
#include "api/gen/cuda_abi.h"
#include "interpose/ring.h"

static char **args;

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

/* ---- payloads ----------------------------------------------------------------------------------- */

static void print_hash(const char *what, const void *p, size_t n)
{
	XXH128_canonical_t h;

	XXH128_canonicalFromHash(&h, XXH3_128bits(p, n));
	printf("%s ", what);
	for (int i = 0; i < 16; i++)
		printf("%02x", h.digest[i]);
	printf(" %zu\n", n);
}

/* Pointers that are no host memory at all: the driver answers, the recorder must not touch them. */
static int scenario_bad_pointers(void)
{
	CUdeviceptr dev, other;

	cuMemAlloc_v2(&dev, 4096);
	cuMemAlloc_v2(&other, 4096);
	printf("%d", cuMemcpyHtoD_v2(dev, NULL, 0));
	printf(" %d", cuMemcpyHtoD_v2(dev, (void *)(uintptr_t)other, 4096));
	printf(" %d", cuMemcpyDtoH_v2((void *)(uintptr_t)other, dev, 4096));
	printf(" %d", cuModuleLoadData(&(CUmodule){0}, NULL));
	printf(" %d\n", cuMemcpy2D_v2(NULL));
	return 0;
}

#define PINNED_BYTES (3u << 20)
/* One staging buffer for all copies, refilled as soon as each has been read. */
static int scenario_pinned(void)
{
	CUdeviceptr dev;
	unsigned char *stage, *back;
	CUstream s;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, PINNED_BYTES);
	cuMemHostAlloc((void **)&stage, PINNED_BYTES, 0);
	cuMemHostAlloc((void **)&back, PINNED_BYTES, 0);
	for (int round = 0; round < 4; round++) {
		for (unsigned i = 0; i < PINNED_BYTES; i++)
			stage[i] = (unsigned char)(i * 7 + (unsigned)round * 13);
		cuMemcpyHtoDAsync_v2(dev, stage, PINNED_BYTES, s);
		cuMemcpyDtoHAsync_v2(back, dev, PINNED_BYTES, s);
		cuStreamSynchronize(s);
		print_hash("round", back, PINNED_BYTES);
		memset(stage, 0xee, PINNED_BYTES);
	}
	return 0;
}

/* As many announcements as bytes, from two threads' rings. */
static int scenario_pinned_many(void)
{
	CUdeviceptr dev;
	uint64_t *stage;
	CUstream s;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, 64);
	cuMemHostAlloc((void **)&stage, 64, 0);
	for (uint64_t i = 0; i < 3000; i++) {
		stage[0] = i;
		cuMemcpyHtoDAsync_v2(dev, stage, 64, s);
		cuStreamSynchronize(s);
	}
	return 0;
}

/* The stream faults before it comes to the second copy; both are enqueued by then. */
static int scenario_faulted(void)
{
	unsigned char *stage;
	CUdeviceptr dev;
	CUfunction f;
	CUstream s;
	int first;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, 4096);
	cuMemHostAlloc((void **)&stage, 4096, 0);
	cuMemcpyDtoHAsync_v2(stage, dev, 4096, s);
	first = cuStreamSynchronize(s);
	cuModuleGetFunction(&f, NULL, "fault");
	cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
	cuMemcpyDtoHAsync_v2(stage, dev, 4096, s);
	printf("%d %d\n", first, cuStreamSynchronize(s));
	return 0;
}

static int scenario_capture(void)
{
	CUdeviceptr dev;
	void *stage;
	CUstream s;
	CUgraph g;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, 4096);
	cuMemHostAlloc(&stage, 4096, 0);
	cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	cuMemcpyHtoDAsync_v2(dev, stage, 4096, s);
	cuStreamEndCapture(s, &g);
	return 0;
}

static int scenario_pitched(void)
{
	static unsigned char host[64][96];
	unsigned char packed[16][40];
	CUdeviceptr dev;
	CUDA_MEMCPY2D m = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = host,
			   .srcPitch = 96,
			   .srcXInBytes = 5,
			   .srcY = 3,
			   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			   .dstPitch = 64,
			   .WidthInBytes = 40,
			   .Height = 16};

	for (unsigned i = 0; i < sizeof(host); i++)
		host[i / 96][i % 96] = (unsigned char)(i * 31 >> 3);
	for (unsigned y = 0; y < 16; y++)
		memcpy(packed[y], &host[3 + y][5], 40);
	cuMemAlloc_v2(&dev, 64 * 64);
	m.dstDevice = dev;
	cuMemcpy2D_v2(&m);
	print_hash("packed", packed, sizeof(packed));
	return 0;
}

/* Far more than any ring holds. */
static int scenario_large(void)
{
	size_t n = 24u << 20;
	unsigned char *host = malloc(n);
	CUdeviceptr dev;

	for (size_t i = 0; i < n; i++)
		host[i] = (unsigned char)(i ^ i >> 9);
	cuMemAlloc_v2(&dev, n);
	cuMemcpyHtoD_v2(dev, host, n);
	print_hash("large", host, n);
	free(host);
	return 0;
}

/* Nothing that could be compressed. */
static int scenario_noise(void)
{
	size_t n = 24u << 20;
	uint64_t *host = malloc(n), x = 88172645463325252ull;
	CUdeviceptr dev;

	for (size_t i = 0; i < n / 8; i++) {
		/* xorshift64 (Marsaglia 2003) */
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		host[i] = x;
	}
	cuMemAlloc_v2(&dev, n);
	cuMemcpyHtoD_v2(dev, host, n);
	cuMemFree_v2(dev);
	puts("done");
	free(host);
	return 0;
}

/* ---- launches -------------------------------------------------------------------------------------- */

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry askfill(.param .u64 p, .param .u32 v, .param .u64 n)\n"
			  "{\n\t.reg .u64 %rd<3>;\n\t.reg .u32 %r<2>;\n"
			  "\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [v];\n"
			  "\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n";

static int launches(const char *name)
{
	CUmodule m;
	CUfunction f;
	CUdeviceptr a, b;
	int value = 0x5a;
	uint64_t n = 1000;
	void *params[] = {&a, &value, &n};
	struct {
		CUdeviceptr p;
		int value;
		uint64_t n;
	} block;
	size_t bytes = sizeof(block);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			 CU_LAUNCH_PARAM_END};

	cuMemAlloc_v2(&a, 1000);
	cuMemAlloc_v2(&b, 500);
	cuModuleLoadData(&m, ptx);
	cuModuleGetFunction(&f, m, name);
	cuLaunchKernel(f, 2, 3, 4, 5, 6, 7, 128, (CUstream)0x5010, params, NULL);
	print_hash("a", (void *)(uintptr_t)a, 1000);
	block.p = a;
	block.value = 0x5b;
	block.n = 10;
	cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, extra);
	print_hash("b", (void *)(uintptr_t)b, 500);
	printf("a %llx b %llx\n", (unsigned long long)a, (unsigned long long)b);
	return 0;
}

/* A kernel of args[2], machine code alone; test_launch_cubin says what its parameters are. */
static int scenario_launch_cubin(void)
{
	struct {
		int a;
		char b[5];
	} t = {0x11223344, "abcd"};
	int fd = open(args[2], O_RDONLY);
	static char image[1 << 20];
	char c = 0x21;
	double d = 1.5;
	short s = 0x4243;
	uint64_t p = 0x1122334455667788;
	void *params[] = {&c, &d, &s, &p, &t};
	CUmodule m;
	CUfunction f;

	if (fd < 0 || read(fd, image, sizeof(image)) <= 0)
		return 1;
	cuModuleLoadData(&m, image);
	cuModuleGetFunction(&f, m, "ask_mixed");
	cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
	return 0;
}

/* args[2] modules one after the other, each of another text that is long and has to be parsed. */
static int scenario_reload(void)
{
	static char text[200000];
	int n = atoi(args[2]);
	CUmodule m;
	CUfunction f;

	for (int i = 0; i < n; i++) {
		char *o = text + sprintf(text,
					 ".version 7.0\n.target sm_80\n.address_size 64\n"
					 ".visible .entry ask%d(.param .u64 p)\n{\n\t.reg .u64 %%rd<3>;\n"
					 "\tld.param.u64 %%rd1, [p];\n",
					 i);

		for (int k = 0; k < 3000; k++)
			o += sprintf(o, "\tadd.u64 %%rd1, %%rd1, %d;\n", k);
		sprintf(o, "\tst.global.u64 [%%rd1], %%rd1;\n\tret;\n}\n");
		cuModuleLoadData(&m, text);
		sprintf(text + sizeof(text) - 32, "ask%d", i);
		cuModuleGetFunction(&f, m, text + sizeof(text) - 32);
		cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&(uint64_t){16}}, NULL);
		cuModuleUnload(m);
	}
	return 0;
}

static int scenario_launch(void)
{
	return launches("fill");
}

static int scenario_launch_ask(void)
{
	return launches("askfill");
}

/* ---- for being killed ---------------------------------------------------------------------------- */

/* In flight when it dies: the driver never returns from this. */
static void forever(void *unused)
{
	(void)unused;
	for (;;)
		pause();
}

static int scenario_stuck(void)
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

static int scenario_orphaned_inside(void)
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

static int scenario_other_version(void)
{
	static struct ring_hello h;
	char answer[64];

	printf("%zd\n", recv(hello(&h, RING_VERSION + 1), answer, sizeof(answer), 0));
	return 0;
}

/* A ring whose descriptor did not arrive. */
static int scenario_refused_ring(void)
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
static int scenario_no_ring(void)
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
static int scenario_many_children(void)
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
static int scenario_no_descriptor(void)
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

static int scenario_fork_learning(void)
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

/* More results under way than the recorder takes page-locked memory for. */
static int scenario_pinned_flood(void)
{
	enum { COPIES = 300, BYTES = 256 << 10 };
	unsigned char *stage;
	CUdeviceptr dev;
	CUstream s;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, BYTES);
	cuMemHostAlloc((void **)&stage, BYTES, 0);
	for (int i = 0; i < COPIES; i++)
		cuMemcpyDtoHAsync_v2(stage, dev, BYTES, s);
	cuStreamSynchronize(s);
	/* It is given back. */
	for (int i = 0; i < 4; i++) {
		cuMemcpyDtoHAsync_v2(stage, dev, BYTES, s);
		cuStreamSynchronize(s);
	}
	return 0;
}

/* Many small ones at once are taken, all of them. */
static int scenario_pinned_small(void)
{
	uint64_t *stage;
	CUdeviceptr dev;
	CUstream s;

	cuStreamCreate(&s, 0);
	cuMemAlloc_v2(&dev, 4096);
	cuMemHostAlloc((void **)&stage, 4096, 0);
	for (int i = 0; i < 3000; i++)
		cuMemcpyDtoHAsync_v2(stage, dev, 8 + (unsigned)i % 4000, s);
	cuStreamSynchronize(s);
	return 0;
}

/* Relocatable code of many translation units: a wrapper of version 2 with a list of containers. */
#define UNITS 3000
static int scenario_many_parts(void)
{
	static struct {
		uint32_t magic;
		uint16_t version, header;
		uint64_t bytes;
		char data[16];
	} unit[UNITS];
	static const void *list[UNITS + 1];
	const struct {
		uint32_t magic, version;
		const void *data, *list;
	} wrapper = {0x466243b1u, 2, &unit[0], list};
	CUmodule m;

	for (int i = 0; i < UNITS; i++) {
		unit[i].magic = 0xba55ed50u;
		unit[i].version = 1;
		unit[i].header = 16;
		unit[i].bytes = sizeof(unit[i].data);
		memset(unit[i].data, i, sizeof(unit[i].data));
		if (i)
			list[i - 1] = &unit[i];
	}
	cuModuleLoadFatBinary(&m, &wrapper);
	print_hash("image", unit, sizeof(unit));
	return 0;
}

#define S(name)                        \
	{                              \
#		name, scenario_##name \
	}
static const struct {
	const char *name;
	int (*run)(void);
} scenarios[] = {
	S(calls),         S(errno),         S(closefds),     S(abort),         S(_exit),
	S(segv),          S(term),          S(threads),      S(short_threads), S(second_thread),
	S(fork),          S(exec),          S(unknown_proc), S(unknown_dlsym), S(unknown_linked),
	S(known_proc),    S(nesting),       S(export_table), S(pinned),        S(bad_pointers),
	S(capture),       S(pitched),       S(large),        S(noise),         S(launch),
	S(launch_ask),    S(stuck),         S(late_child),   S(late_only),     S(pinned_many),
	S(faulted),       S(sigchld),       S(reload),       S(launch_cubin),  S(orphaned_inside),
	S(other_version), S(refused_ring),  S(no_ring),      S(many_parts),    S(many_children),
	S(no_descriptor), S(fork_learning), S(pinned_flood), S(pinned_small),
};

int main(int argc, char **argv)
{
	args = argv;
	for (size_t i = 0; argc > 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (!strcmp(argv[1], scenarios[i].name))
			return scenarios[i].run();
	return 99;
}
