/* SPDX-License-Identifier: Apache-2.0
 *
 * A very small CUDA driver, for tests of the replayer: device memory is a mapping at a base of the test's
 * choice, asynchronous work happens at the next wait and not before, kernels are the C functions below. It
 * writes the name of each call, and what it was given, to the file FAKE_LOG. Environment: FAKE_LOG,
 * FAKE_BASE, CUTRACE_VA_BASE (wins over FAKE_BASE), FAKE_FAULT=N (the N-th launch faults), FAKE_WRONG=N (the
 * N-th launch stores one wrong element), FAKE_VMM=1 (virtual
 * memory management, which follows hints), FAKE_NO_CODE=1 (cuModuleLoadData refuses), FAKE_DIE=1
 * (cuCtxSynchronize crashes), FAKE_EXIT=N (it ends the process with that status), FAKE_NO_COPY=1 (downloads
 * fail), FAKE_SYNC_FAILS=1 (cuStreamSynchronize fails, and so does what it would have waited for).
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define ARENA     (16u << 20)
#define MAX_OPS   4096
#define NOT_FOUND 500
#define ILLEGAL   700

#define INVALID_VALUE 1

typedef uint64_t u64;

static uint8_t *arena;
static u64 used, handles = 0x7000;
static u64 current;
static int fault;
static unsigned launches;

struct op {
	void (*run)(struct op *o);
	void *dst;
	const void *src;
	size_t bytes;
	char kernel[32];
	uint8_t params[64];
	unsigned number;
	u64 context, stream;
};
static struct op ops[MAX_OPS];
static unsigned nops;

static void say(const char *fmt, ...)
{
	const char *path = getenv("FAKE_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;
	va_list ap;

	if (!f)
		return;
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fputc('\n', f);
	fclose(f);
}

static unsigned env(const char *name)
{
	const char *s = getenv(name);

	return s ? (unsigned)atoi(s) : 0;
}

static void start(void)
{
	const char *base = getenv("CUTRACE_VA_BASE");
	u64 at;

	if (arena)
		return;
	if (!base)
		base = getenv("FAKE_BASE");
	at = base ? strtoull(base, NULL, 0) : UINT64_C(0x200000000000);
	arena = mmap((void *)(uintptr_t)at, ARENA, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (arena == MAP_FAILED)
		abort();
}

static struct op *add(void (*run)(struct op *))
{
	struct op *o = &ops[nops++];

	if (nops > MAX_OPS)
		abort();
	memset(o, 0, sizeof(*o));
	o->run = run;
	o->context = current;
	return o;
}

/* One graph: what was added since a stream's capture began. */
static struct op graph[16];
static unsigned ngraph, capture_start = MAX_OPS;

static void flush(void)
{
	for (unsigned i = 0; i < nops && !fault; i++)
		ops[i].run(&ops[i]);
	nops = 0;
}

/* All but downloads that another stream of the same name owns: that of another context. */
static void flush_of(u64 stream)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < nops && !fault; i++)
		if (stream <= 2 && ops[i].stream == stream && ops[i].context != current)
			ops[kept++] = ops[i];
		else
			ops[i].run(&ops[i]);
	nops = kept;
}

static void run_copy(struct op *o)
{
	memmove(o->dst, o->src, o->bytes);
}

/* add_one(float *p, uint32_t n): p[i] += 1 */
static void add_one(const struct op *o)
{
	float *p;
	uint32_t n;

	memcpy(&p, o->params, 8);
	memcpy(&n, o->params + 8, 4);
	for (uint32_t i = 0; i < n; i++)
		p[i] += 1;
	if (o->number == env("FAKE_WRONG") && n > 3)
		p[3] += 0.5f;
}

struct node {
	struct node *next;
	u64 value;
};

/* list_sum(node *head, u64 *out): out[0] = sum, out[1] = address of the last node */
static void list_sum(const struct op *o)
{
	const struct node *n;
	u64 *out, sum = 0, last = 0;

	memcpy(&n, o->params, 8);
	memcpy(&out, o->params + 8, 8);
	for (; n; n = n->next) {
		sum += n->value;
		last = (u64)(uintptr_t)n;
	}
	out[0] = sum;
	out[1] = last;
}

/* store_unaligned(u8 *p): the pointer itself at p + 4, where no aligned word is */
static void store_unaligned(const struct op *o)
{
	uint8_t *p;

	memcpy(&p, o->params, 8);
	memcpy(p + 4, &p, 8);
}

static void run_kernel(struct op *o)
{
	if (o->number == env("FAKE_FAULT")) {
		fault = ILLEGAL;
		return;
	}
	if (!strcmp(o->kernel, "add_one"))
		add_one(o);
	else if (!strcmp(o->kernel, "list_sum"))
		list_sum(o);
	else if (!strcmp(o->kernel, "store_unaligned"))
		store_unaligned(o);
}

EXPORT int cuDriverGetVersion(int *v)
{
	*v = 13000;
	return 0;
}

EXPORT int cuInit(unsigned flags)
{
	say("cuInit %u", flags);
	return 0;
}

EXPORT int cuDevicePrimaryCtxRetain(u64 *ctx, int dev)
{
	*ctx = 0x6000 + (u64)dev;
	return 0;
}

EXPORT int cuCtxCreate_v2(u64 *ctx, unsigned flags, int dev)
{
	*ctx = handles += 0x10;
	current = *ctx;
	say("cuCtxCreate %u %d", flags, dev);
	return 0;
}

EXPORT int cuCtxDestroy_v2(u64 ctx)
{
	say("cuCtxDestroy %d", ctx == current);
	return 0;
}

EXPORT int cuCtxSetCurrent(u64 ctx)
{
	current = ctx;
	return 0;
}

EXPORT int cuCtxSynchronize(void)
{
	say("cuCtxSynchronize");
	if (env("FAKE_DIE"))
		abort();
	if (env("FAKE_EXIT"))
		exit((int)env("FAKE_EXIT"));
	flush();
	return fault;
}

EXPORT int cuStreamCreate(u64 *s, unsigned flags)
{
	*s = handles += 0x10;
	say("cuStreamCreate %u -> %llx", flags, (unsigned long long)*s);
	return fault;
}

EXPORT int cuStreamSynchronize(u64 s)
{
	say("cuStreamSynchronize %llx", (unsigned long long)s);
	if (env("FAKE_SYNC_FAILS")) {
		nops = 0;
		return INVALID_VALUE;
	}
	flush_of(s);
	return fault;
}

EXPORT int cuStreamDestroy_v2(u64 s)
{
	say("cuStreamDestroy %llx", (unsigned long long)s);
	return 0;
}

EXPORT int cuMemAlloc_v2(u64 *p, size_t bytes)
{
	start();
	if (bytes > ARENA - used)
		return 2;
	*p = (u64)(uintptr_t)arena + used;
	used += (bytes + 511) & ~(size_t)511;
	say("cuMemAlloc %zu", bytes);
	return fault;
}

EXPORT int cuCtxGetDevice(int *dev)
{
	*dev = 0;
	return 0;
}

EXPORT int cuMemAddressReserve(u64 *p, size_t bytes, size_t align, u64 hint, u64 flags)
{
	void *at;

	if (!env("FAKE_VMM"))
		return 801;
	at = mmap((void *)(uintptr_t)hint, bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	say("cuMemAddressReserve %zu", bytes);
	*p = (u64)(uintptr_t)at;
	return at == MAP_FAILED || align != 2u << 20 || flags ? 2 : 0;
}

EXPORT int cuMemCreate(u64 *handle, size_t bytes, const int *prop, u64 flags)
{
	*handle = bytes;
	return prop[0] != 1 || prop[2] != 1 || flags; /* pinned, on a device */
}

EXPORT int cuMemMap(u64 p, size_t bytes, size_t offset, u64 handle, u64 flags)
{
	return !p || handle != bytes || offset || flags;
}

EXPORT int cuMemSetAccess(u64 p, size_t bytes, const int *desc, size_t n)
{
	return !p || !bytes || desc[0] != 1 || desc[2] != 3 || n != 1; /* the device reads and writes */
}

EXPORT int cuMemUnmap(u64 p, size_t bytes)
{
	say("cuMemUnmap %zu", bytes);
	return !p;
}

EXPORT int cuMemRelease(u64 handle)
{
	return !handle;
}

EXPORT int cuMemAddressFree(u64 p, size_t bytes)
{
	return munmap((void *)(uintptr_t)p, bytes);
}

EXPORT int cuMemAllocManaged(u64 *p, size_t bytes, unsigned flags)
{
	return flags == 1 ? cuMemAlloc_v2(p, bytes) : 1;
}

EXPORT int cuMemFree_v2(u64 p)
{
	say("cuMemFree +%llx", (unsigned long long)(p - (u64)(uintptr_t)arena));
	flush();
	return fault;
}

EXPORT int cuMemcpyHtoD_v2(u64 dst, const void *src, size_t n)
{
	say("cuMemcpyHtoD %zu in %llx", n, (unsigned long long)current);
	flush();
	if (!fault)
		memcpy((void *)(uintptr_t)dst, src, n);
	return fault;
}

EXPORT int cuMemcpyDtoH_v2(void *dst, u64 src, size_t n)
{
	say("cuMemcpyDtoH %zu", n);
	if (env("FAKE_NO_COPY"))
		return INVALID_VALUE;
	flush();
	if (!fault)
		memcpy(dst, (const void *)(uintptr_t)src, n);
	return fault;
}

EXPORT int cuMemcpyHtoDAsync_v2(u64 dst, const void *src, size_t n, u64 stream)
{
	struct op *o = add(run_copy);

	say("cuMemcpyHtoDAsync %zu on %llx", n, (unsigned long long)stream);
	o->dst = (void *)(uintptr_t)dst;
	o->src = src;
	o->bytes = n;
	return fault;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *dst, u64 src, size_t n, u64 stream)
{
	struct op *o;

	if (env("FAKE_NO_COPY"))
		return INVALID_VALUE;
	o = add(run_copy);
	say("cuMemcpyDtoHAsync %zu on %llx", n, (unsigned long long)stream);
	o->stream = stream;
	o->dst = dst;
	o->src = (const void *)(uintptr_t)src;
	o->bytes = n;
	return fault;
}

EXPORT int cuMemcpyHtoDAsync_v2_ptsz(u64 dst, const void *src, size_t n, u64 stream)
{
	return cuMemcpyHtoDAsync_v2(dst, src, n, stream);
}

struct copy2d {
	size_t src_x, src_y;
	unsigned src_type;
	const void *src_host;
	u64 src_device, src_array;
	size_t src_pitch, dst_x, dst_y;
	unsigned dst_type;
	void *dst_host;
	u64 dst_device, dst_array;
	size_t dst_pitch, width, height;
};

static uint8_t *side(unsigned type, const void *host, u64 device, size_t x, size_t y, size_t pitch)
{
	return (uint8_t *)(type == 1 ? (uintptr_t)host : (uintptr_t)device) + y * pitch + x;
}

EXPORT int cuMemcpy2D_v2(const struct copy2d *c)
{
	say("cuMemcpy2D %zux%zu", c->width, c->height);
	flush();
	for (size_t i = 0; i < c->height; i++)
		memcpy(side(c->dst_type, c->dst_host, c->dst_device, c->dst_x, c->dst_y + i, c->dst_pitch),
		       side(c->src_type, c->src_host, c->src_device, c->src_x, c->src_y + i, c->src_pitch),
		       c->width);
	return fault;
}

EXPORT int cuMemsetD8_v2(u64 dst, unsigned char v, size_t n)
{
	say("cuMemsetD8 %u %zu", v, n);
	flush();
	memset((void *)(uintptr_t)dst, v, n);
	return fault;
}

EXPORT int cuModuleLoadData(u64 *m, const void *image)
{
	say("cuModuleLoadData %.8s", (const char *)image);
	*m = handles += 0x10;
	return env("FAKE_NO_CODE") ? 209 : 0;
}

EXPORT int cuModuleUnload(u64 m)
{
	say("cuModuleUnload %llx", (unsigned long long)m);
	return 0;
}

static char names[64][32];

EXPORT int cuModuleGetFunction(u64 *f, u64 m, const char *name)
{
	static unsigned n;

	say("cuModuleGetFunction %s of %llx", name, (unsigned long long)m);
	if (!strcmp(name, "absent"))
		return NOT_FOUND;
	snprintf(names[n], sizeof(names[n]), "%s", name);
	*f = (u64)(uintptr_t)names[n++];
	return 0;
}

EXPORT int cuLaunchKernel(u64 f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			  unsigned shared, u64 stream, void **params, void **extra)
{
	struct op *o = add(run_kernel);

	say("cuLaunchKernel %s %u,%u,%u %u,%u,%u %u on %llx%s", (char *)(uintptr_t)f, gx, gy, gz, bx, by, bz,
	    shared, (unsigned long long)stream, params ? " with kernelParams" : "");
	snprintf(o->kernel, sizeof(o->kernel), "%s", (char *)(uintptr_t)f);
	o->number = ++launches;
	if (extra && extra[0] == (void *)1 && extra[2] == (void *)2 && !extra[4])
		memcpy(o->params, extra[1], *(size_t *)extra[3]);
	return fault;
}

EXPORT int cuStreamBeginCapture_v2(u64 stream, int mode)
{
	capture_start = nops;
	say("cuStreamBeginCapture %llx %d", (unsigned long long)stream, mode);
	return 0;
}

EXPORT int cuStreamEndCapture(u64 stream, u64 *g)
{
	ngraph = nops - capture_start;
	if (ngraph > sizeof(graph) / sizeof(graph[0]))
		abort();
	memcpy(graph, ops + capture_start, ngraph * sizeof(*graph));
	nops = capture_start;
	*g = handles += 0x10;
	say("cuStreamEndCapture %llx", (unsigned long long)stream);
	return 0;
}

EXPORT int cuGraphInstantiateWithFlags(u64 *exec, u64 g, u64 flags)
{
	*exec = handles += 0x10;
	return !g || flags;
}

EXPORT int cuGraphLaunch(u64 exec, u64 stream)
{
	say("cuGraphLaunch of %u", ngraph);
	for (unsigned i = 0; i < ngraph; i++) {
		struct op *o = add(graph[i].run);

		*o = graph[i];
		o->stream = stream;
	}
	return !exec;
}

EXPORT int cuGraphGetNodes(u64 g, u64 *nodes, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		nodes[i] = 0xa000 + i;
	return !g;
}

EXPORT int cuGraphDestroyNode(u64 node)
{
	say("cuGraphDestroyNode %llx", (unsigned long long)node);
	return !node;
}

EXPORT int cuGraphDestroy(u64 g)
{
	return !g;
}

EXPORT int cuGraphExecDestroy(u64 exec)
{
	return !exec;
}

EXPORT int cuProfilerStart(void)
{
	say("cuProfilerStart");
	return 0;
}
