/* SPDX-License-Identifier: Apache-2.0
 *
 * Our driver with graphs, as far as recordings and replays of them need it: one graph at a time, made by capturing a
 * stream, whose nodes are kernels and memsets, in order. Linked to our libcuda.so.1 under another name (CMakeLists.txt), so
 * that it is not taken for the one that programs ask for.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT           __attribute__((visibility("default")))
#define REAL(type, name) ((type *)(uintptr_t)real(name))

/* Not by RTLD_NEXT: where a program is recorded that is the recorder. */
static void *real(const char *name)
{
	static void *driver;

	if (!driver)
		driver = dlopen("libdriver_under_graphs.so", RTLD_NOW | RTLD_NOLOAD);
	return dlsym(driver, name);
}

enum { MAX_NODES = 8, MAX_PARAMS = 8, KERNEL = 0, MEMSET = 2, INVALID = 1 };

/* CUDA_KERNEL_NODE_PARAMS_v2 and CUDA_MEMSET_NODE_PARAMS of cuda.h. */
struct kernel_params {
	void *function;
	unsigned grid[3], block[3], shared;
	void **params, **extra, *kernel, *context;
};
struct memset_params {
	uint64_t dst;
	size_t pitch;
	unsigned value, element_bytes;
	size_t width, height;
};

static struct node {
	int type;
	struct kernel_params kernel;
	struct memset_params memset;
	void *params[MAX_PARAMS];
	uint64_t values[MAX_PARAMS];
} nodes[MAX_NODES];
static size_t count;
static int capturing;

typedef int launch_fn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
		      void **, void **);
typedef int memset_fn(uint64_t, unsigned, size_t, void *);
typedef int param_info_fn(void *, size_t, size_t *, size_t *);

EXPORT launch_fn cuLaunchKernel;
EXPORT memset_fn cuMemsetD32Async;
EXPORT int cuStreamBeginCapture_v2(void *stream, int mode);
EXPORT int cuStreamEndCapture(void *stream, void **graph);
EXPORT int cuStreamIsCapturing(void *stream, int *status);
EXPORT int cuGraphGetNodes(void *graph, void **out, size_t *n);
EXPORT int cuGraphNodeGetType(struct node *node, int *type);
EXPORT int cuGraphKernelNodeGetParams_v2(struct node *node, struct kernel_params *params);
EXPORT int cuGraphMemsetNodeGetParams(struct node *node, struct memset_params *params);
EXPORT int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
EXPORT int cuGraphLaunch(void *exec, void *stream);
EXPORT int cuGraphDestroy(void *graph);
EXPORT int cuGraphExecDestroy(void *exec);

/* With the values of its parameters as they are now: one by one, or packed. */
static int keep_params(struct node *n, void **params, void **extra)
{
	const char *block = extra && extra[0] ? extra[1] : NULL;
	size_t offset, bytes;
	unsigned i;

	for (i = 0; i < MAX_PARAMS; i++) {
		if (REAL(param_info_fn, "cuFuncGetParamInfo")(n->kernel.function, i, &offset, &bytes))
			break;
		n->params[i] = &n->values[i];
		memcpy(&n->values[i], block ? (const void *)(block + offset) : params[i],
		       bytes < 8 ? bytes : 8);
	}
	return i == MAX_PARAMS ? INVALID : 0;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **params, void **extra)
{
	struct node *n = &nodes[count];

	if (!capturing)
		return REAL(launch_fn, "cuLaunchKernel")(f, gx, gy, gz, bx, by, bz, shared, stream, params,
							 extra);
	if (count == MAX_NODES)
		return INVALID;
	*n = (struct node){.type = KERNEL};
	n->kernel =
		(struct kernel_params){f, {gx, gy, gz}, {bx, by, bz}, shared, n->params, NULL, NULL, NULL};
	count++;
	return keep_params(n, params, extra);
}

int cuMemsetD32Async(uint64_t dst, unsigned value, size_t elements, void *stream)
{
	if (!capturing)
		return REAL(memset_fn, "cuMemsetD32Async")(dst, value, elements, stream);
	if (count == MAX_NODES)
		return INVALID;
	nodes[count++] = (struct node){.type = MEMSET, .memset = {dst, 0, value, 4, elements, 1}};
	return 0;
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
	(void)stream;
	(void)mode;
	count = 0;
	capturing = 1;
	return 0;
}

int cuStreamEndCapture(void *stream, void **graph)
{
	(void)stream;
	capturing = 0;
	*graph = nodes;
	return 0;
}

int cuStreamIsCapturing(void *stream, int *status)
{
	(void)stream;
	*status = capturing;
	return 0;
}

int cuGraphGetNodes(void *graph, void **out, size_t *n)
{
	(void)graph;
	for (size_t i = 0; out && i < *n && i < count; i++)
		out[i] = &nodes[i];
	*n = count;
	return 0;
}

int cuGraphNodeGetType(struct node *node, int *type)
{
	*type = node->type;
	return 0;
}

int cuGraphKernelNodeGetParams_v2(struct node *node, struct kernel_params *params)
{
	*params = node->kernel;
	return 0;
}

int cuGraphMemsetNodeGetParams(struct node *node, struct memset_params *params)
{
	*params = node->memset;
	return 0;
}

int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
	(void)flags;
	*exec = (char *)graph + 8;
	return 0;
}

int cuGraphLaunch(void *exec, void *stream)
{
	int rc = 0;

	(void)exec;
	for (size_t i = 0; i < count && !rc; i++) {
		const struct kernel_params *k = &nodes[i].kernel;
		const struct memset_params *m = &nodes[i].memset;

		rc = nodes[i].type == MEMSET
			     ? REAL(memset_fn, "cuMemsetD32Async")(m->dst, m->value, m->width, stream)
			     : REAL(launch_fn, "cuLaunchKernel")(
				       k->function, k->grid[0], k->grid[1], k->grid[2], k->block[0],
				       k->block[1], k->block[2], k->shared, stream, k->params, NULL);
	}
	return rc;
}

int cuGraphDestroy(void *graph)
{
	(void)graph;
	return 0;
}

int cuGraphExecDestroy(void *exec)
{
	(void)exec;
	return 0;
}
