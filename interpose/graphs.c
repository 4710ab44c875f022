/* SPDX-License-Identifier: Apache-2.0
 *
 * graphs: what a graph's nodes may write, so that its launches are looked at as those of kernels are (check.c): at once, by all
 * that its kernels, copies and memsets may have written. Nodes are asked for when a graph is instantiated or updated; an
 * executable graph doesn't tell them. Where one can't be told (conditional nodes, nodes that were changed to something
 * unknown), anything may be written.
 */
#include "interpose/recorder.h"

#include <errno.h>

enum { MAX_DEPTH = 8 };

/* One after the other in memory, each followed by its kernel's parameters. */
struct node {
	CUgraphNode handle;
	uint64_t function; /* 0: not a kernel; `address` lies in what it writes */
	uint64_t address;
	uint32_t grid[3], block[3];
	uint32_t bytes, room; /* of parameters; of all this in memory */
	bool params_known, gone;
};

struct nodes {
	uint8_t *p;
	size_t used, capacity;
	bool anywhere;
};

struct exec {
	struct exec *next;
	CUgraphExec handle;
	struct nodes nodes;
};

static struct exec *execs, *unused; /* under the lock */

/* ---- a list of nodes --------------------------------------------------------------- */

static struct node *first_node(const struct nodes *l)
{
	return l->used ? (struct node *)l->p : NULL;
}

static struct node *next_node(const struct nodes *l, struct node *n)
{
	uint8_t *next = (uint8_t *)n + n->room;

	return next < l->p + l->used ? (struct node *)next : NULL;
}

static void append(struct nodes *l, const struct node *n, const void *params)
{
	size_t room = sizeof(*n) + ((n->bytes + 7u) & ~7u);
	struct node *to;

	if (l->capacity - l->used < room) {
		size_t capacity = l->capacity ? 2 * l->capacity : 65536;
		uint8_t *bigger = rec_pages(capacity);

		if (!bigger) {
			l->anywhere = true;
			return;
		}
		if (l->used)
			memcpy(bigger, l->p, l->used);
		rec_pages_free(l->p, l->capacity);
		l->p = bigger;
		l->capacity = capacity;
	}
	to = (struct node *)(l->p + l->used);
	*to = *n;
	to->room = (uint32_t)room;
	memcpy(to + 1, params, n->bytes);
	l->used += room;
}

static void add_kernel(struct nodes *l, uint64_t seq, CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct node n = {.handle = handle,
			 .function = p->func ? (uintptr_t)p->func : (uintptr_t)p->kern,
			 .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
			 .block = {p->blockDimX, p->blockDimY, p->blockDimZ}};
	uint8_t params[REC_PARAM_BYTES_MAX + 8];

	n.params_known =
		rec_params_pack(params, rec_layout(n.function, seq), p->kernelParams, p->extra, &n.bytes);
	append(l, &n, params);
}

static void add_written(struct nodes *l, CUgraphNode handle, uint64_t address)
{
	append(l, &(struct node){.handle = handle, .address = address}, "");
}

/* ---- nodes of a graph -------------------------------------------------------------------- */

static void take_kernel(struct nodes *l, uint64_t seq, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS p = {0};
	struct rec_thread *t = rec_own_begin();
	CUresult r = rec_driver_has(API_ID_cuGraphKernelNodeGetParams_v2)
			     ? REAL(cuGraphKernelNodeGetParams_v2)(node, &p)
			     /* the first form is a part of the second */
			     : REAL(cuGraphKernelNodeGetParams)(node, (CUDA_KERNEL_NODE_PARAMS_v1 *)&p);

	rec_own_end(t);
	if (r == CUDA_SUCCESS)
		add_kernel(l, seq, node, &p);
	else
		l->anywhere = true;
}

static void take_memset(struct nodes *l, CUgraphNode node)
{
	CUDA_MEMSET_NODE_PARAMS p = {0};
	struct rec_thread *t = rec_own_begin();
	CUresult r = REAL(cuGraphMemsetNodeGetParams)(node, &p);

	rec_own_end(t);
	if (r == CUDA_SUCCESS)
		add_written(l, node, p.dst);
	else
		l->anywhere = true;
}

/* To arrays and to the host: nothing that is looked at. */
static void take_memcpy(struct nodes *l, CUgraphNode node)
{
	CUDA_MEMCPY3D p = {0};
	struct rec_thread *t = rec_own_begin();
	CUresult r = REAL(cuGraphMemcpyNodeGetParams)(node, &p);

	rec_own_end(t);
	if (r != CUDA_SUCCESS)
		l->anywhere = true;
	else if (p.dstMemoryType == CU_MEMORYTYPE_DEVICE || p.dstMemoryType == CU_MEMORYTYPE_UNIFIED)
		add_written(l, node, p.dstDevice);
}

static void take_graph(struct nodes *l, uint64_t seq, CUgraph graph, unsigned depth);

static void take_child(struct nodes *l, uint64_t seq, CUgraphNode node, unsigned depth)
{
	CUgraph child = NULL;
	struct rec_thread *t = rec_own_begin();
	CUresult r = REAL(cuGraphChildGraphNodeGetGraph)(node, &child);

	rec_own_end(t);
	if (r == CUDA_SUCCESS && depth < MAX_DEPTH)
		take_graph(l, seq, child, depth + 1);
	else
		l->anywhere = true;
}

static void take_node(struct nodes *l, uint64_t seq, CUgraphNode node, unsigned depth)
{
	CUgraphNodeType type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
	struct rec_thread *t = rec_own_begin();

	if (REAL(cuGraphNodeGetType)(node, &type) != CUDA_SUCCESS)
		type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
	rec_own_end(t);
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: take_kernel(l, seq, node); break;
	case CU_GRAPH_NODE_TYPE_MEMSET: take_memset(l, node); break;
	case CU_GRAPH_NODE_TYPE_MEMCPY: take_memcpy(l, node); break;
	case CU_GRAPH_NODE_TYPE_GRAPH: take_child(l, seq, node, depth); break;
	case CU_GRAPH_NODE_TYPE_HOST:
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE: break;
	default: l->anywhere = true;
	}
}

static CUresult nodes_of(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	struct rec_thread *t = rec_own_begin();
	CUresult r = REAL(cuGraphGetNodes)(graph, nodes, n);

	rec_own_end(t);
	return r;
}

static void take_graph(struct nodes *l, uint64_t seq, CUgraph graph, unsigned depth)
{
	size_t n = 0, room;
	CUgraphNode *nodes;

	if (nodes_of(graph, NULL, &n) != CUDA_SUCCESS) {
		l->anywhere = true;
		return;
	}
	room = n;
	nodes = n ? rec_pages(n * sizeof(*nodes)) : NULL;
	if (n && (!nodes || nodes_of(graph, nodes, &n) != CUDA_SUCCESS || n > room)) {
		l->anywhere = true;
		n = 0;
	}
	for (size_t i = 0; i < n; i++)
		take_node(l, seq, nodes[i], depth);
	rec_pages_free(nodes, nodes ? room * sizeof(*nodes) : 0);
}

/* ---- executable graphs ------------------------------------------------------------------- */

static struct exec *find_exec(CUgraphExec handle)
{
	struct exec *e;

	rec_lock(REC_LOCK_GRAPHS);
	for (e = execs; e && e->handle != handle; e = e->next)
		;
	rec_unlock(REC_LOCK_GRAPHS);
	return e;
}

static void free_nodes(struct nodes *l)
{
	rec_pages_free(l->p, l->capacity);
	*l = (struct nodes){0};
}

static void drop_exec(CUgraphExec handle)
{
	struct exec **at, *e;

	rec_lock(REC_LOCK_GRAPHS);
	for (at = &execs; *at && (*at)->handle != handle; at = &(*at)->next)
		;
	e = *at;
	if (e) {
		*at = e->next;
		free_nodes(&e->nodes);
		e->next = unused;
		unused = e;
	}
	rec_unlock(REC_LOCK_GRAPHS);
}

/* From a page at a time, none of which is given back. Under the lock. */
static struct exec *new_exec(void)
{
	enum { AT_ONCE = 4096 / sizeof(struct exec) };
	struct exec *page = unused ? NULL : rec_pages(AT_ONCE * sizeof(*page)), *e;

	for (unsigned i = 0; page && i < AT_ONCE; i++) {
		page[i].next = unused;
		unused = &page[i];
	}
	e = unused;
	if (e)
		unused = e->next;
	return e;
}

static CUresult instantiated(uint64_t seq, CUresult r, const CUgraphExec *handle, CUgraph graph)
{
	struct nodes l = {0};
	int saved = errno;
	struct exec *e;

	if (r != CUDA_SUCCESS || !handle || !seq)
		return r;
	drop_exec(*handle);
	take_graph(&l, seq, graph, 0);
	rec_lock(REC_LOCK_GRAPHS);
	e = new_exec();
	if (e) {
		*e = (struct exec){execs, *handle, l};
		execs = e;
	}
	rec_unlock(REC_LOCK_GRAPHS);
	if (!e)
		free_nodes(&l);
	errno = saved;
	return r;
}

static CUresult updated(uint64_t seq, CUresult r, CUgraphExec handle, CUgraph graph)
{
	struct exec *e = r == CUDA_SUCCESS ? find_exec(handle) : NULL;
	int saved = errno;

	if (e && seq) {
		free_nodes(&e->nodes);
		take_graph(&e->nodes, seq, graph, 0);
	} else if (e) {
		e->nodes.anywhere = true;
	}
	errno = saved;
	return r;
}

/* params NULL: it became what is not known. */
static CUresult changed(uint64_t seq, CUresult r, CUgraphExec handle, CUgraphNode node,
			const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct exec *e = r == CUDA_SUCCESS ? find_exec(handle) : NULL;

	if (!e)
		return r;
	for (struct node *n = first_node(&e->nodes); n; n = next_node(&e->nodes, n))
		n->gone |= n->handle == node;
	if (params && seq)
		add_kernel(&e->nodes, seq, node, params);
	else
		e->nodes.anywhere = true;
	return r;
}

/* ---- launches ------------------------------------------------------------------------------- */

static unsigned checked_of(const struct exec *e, uint64_t seq)
{
	unsigned checked = 0;

	if (!e || e->nodes.anywhere)
		checked = rec_checking ? RING_CHECKED : 0u;
	for (struct node *n = e ? first_node(&e->nodes) : NULL; n; n = next_node(&e->nodes, n)) {
		const struct rec_layout *y = n->function && !n->gone ? rec_layout(n->function, seq) : NULL;

		checked |= y ? y->checked : 0u;
	}
	if (checked && rec_session()->flags & RING_SESSION_CONTENTS)
		checked |= RING_CHECKED_CONTENTS;
	return checked;
}

static void add_nodes(struct rec_look *l, const struct rec_checked *c, const struct exec *e)
{
	struct node *n = e ? first_node(&e->nodes) : NULL;

	if (!e || e->nodes.anywhere)
		rec_look_add_all(l);
	for (; n; n = next_node(&e->nodes, n)) {
		struct rec_checked k = *c;

		if (n->gone)
			continue;
		if (!n->function) {
			rec_look_add_allocation(l, n->address);
			continue;
		}
		k.function = n->function;
		k.layout = rec_layout(n->function, c->seq);
		k.params = n->params_known && n->bytes ? (const uint8_t *)(n + 1) : NULL;
		k.bytes = n->bytes;
		memcpy(k.grid, n->grid, sizeof(k.grid));
		memcpy(k.block, n->block, sizeof(k.block));
		rec_look_add(l, &k);
	}
}

static struct rec_look *begin(CUgraphExec handle, CUstream stream, bool per_thread)
{
	struct rec_checked c = {.seq = rec_current(), .stream = stream, .per_thread = per_thread};
	struct rec_look *l = NULL;
	int saved = errno;
	const struct exec *e;
	unsigned checked;

	if (!c.seq)
		return NULL;
	e = find_exec(handle);
	checked = checked_of(e, c.seq);
	if (rec_launch_is_chosen(checked, c.seq, stream, per_thread))
		l = rec_look_new();
	if (l) {
		rec_look_start(l, &c, checked & RING_CHECKED_CONTENTS);
		add_nodes(l, &c, e);
		rec_look_go(l);
	}
	errno = saved;
	return l;
}

static CUresult end(struct rec_look *l, CUresult r)
{
	if (l)
		rec_look_end(l, r == CUDA_SUCCESS);
	return r;
}

#define LAUNCH(fn, per_thread)                                        \
	static CUresult hook_##fn(CUgraphExec exec, CUstream stream)  \
	{                                                             \
		struct rec_look *l = begin(exec, stream, per_thread); \
                                                                      \
		return end(l, REAL(fn)(exec, stream));                \
	}
#define INSTANTIATE(fn, parameters, ...)                                      \
	static CUresult hook_##fn parameters                                  \
	{                                                                     \
		uint64_t seq = rec_current();                                 \
                                                                              \
		return instantiated(seq, REAL(fn)(__VA_ARGS__), exec, graph); \
	}
#define UPDATE(fn, parameters, ...)                                      \
	static CUresult hook_##fn parameters                             \
	{                                                                \
		uint64_t seq = rec_current();                            \
                                                                         \
		return updated(seq, REAL(fn)(__VA_ARGS__), exec, graph); \
	}

LAUNCH(cuGraphLaunch, false)
LAUNCH(cuGraphLaunch_ptsz, true)
INSTANTIATE(cuGraphInstantiate,
	    (CUgraphExec * exec, CUgraph graph, CUgraphNode *error, char *log, size_t bytes), exec, graph,
	    error, log, bytes)
INSTANTIATE(cuGraphInstantiate_v2,
	    (CUgraphExec * exec, CUgraph graph, CUgraphNode *error, char *log, size_t bytes), exec, graph,
	    error, log, bytes)
INSTANTIATE(cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags), exec,
	    graph, flags)
INSTANTIATE(cuGraphInstantiateWithParams,
	    (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params), exec, graph, params)
INSTANTIATE(cuGraphInstantiateWithParams_ptsz,
	    (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params), exec, graph, params)
UPDATE(cuGraphExecUpdate,
       (CUgraphExec exec, CUgraph graph, CUgraphNode *error, CUgraphExecUpdateResult *result), exec, graph,
       error, result)
UPDATE(cuGraphExecUpdate_v2, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *result), exec,
       graph, result)

static CUresult hook_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
						    const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	uint64_t seq = rec_current();
	CUresult r = REAL(cuGraphExecKernelNodeSetParams)(exec, node, params);
	CUDA_KERNEL_NODE_PARAMS whole = {0};

	if (r == CUDA_SUCCESS)
		memcpy(&whole, params, sizeof(*params));
	return changed(seq, r, exec, node, &whole);
}

static CUresult hook_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
						       const CUDA_KERNEL_NODE_PARAMS *params)
{
	uint64_t seq = rec_current();

	return changed(seq, REAL(cuGraphExecKernelNodeSetParams_v2)(exec, node, params), exec, node, params);
}

static CUresult hook_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
						    const CUDA_MEMCPY3D *params, CUcontext context)
{
	return changed(0, REAL(cuGraphExecMemcpyNodeSetParams)(exec, node, params, context), exec, node,
		       NULL);
}

static CUresult hook_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
						    const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
	return changed(0, REAL(cuGraphExecMemsetNodeSetParams)(exec, node, params, context), exec, node,
		       NULL);
}

static CUresult hook_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	return changed(0, REAL(cuGraphExecChildGraphNodeSetParams)(exec, node, child), exec, node, NULL);
}

static CUresult hook_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
	return changed(0, REAL(cuGraphExecNodeSetParams)(exec, node, params), exec, node, NULL);
}

static CUresult hook_cuGraphExecDestroy(CUgraphExec exec)
{
	drop_exec(exec);
	return REAL(cuGraphExecDestroy)(exec);
}

#define HOOK(fn)                               \
	{                                      \
		API_ID_##fn, (void *)hook_##fn \
	}
const struct rec_hook rec_graph_hooks[] = {
	HOOK(cuGraphLaunch),
	HOOK(cuGraphLaunch_ptsz),
	HOOK(cuGraphInstantiate),
	HOOK(cuGraphInstantiate_v2),
	HOOK(cuGraphInstantiateWithFlags),
	HOOK(cuGraphInstantiateWithParams),
	HOOK(cuGraphInstantiateWithParams_ptsz),
	HOOK(cuGraphExecUpdate),
	HOOK(cuGraphExecUpdate_v2),
	HOOK(cuGraphExecKernelNodeSetParams),
	HOOK(cuGraphExecKernelNodeSetParams_v2),
	HOOK(cuGraphExecMemcpyNodeSetParams),
	HOOK(cuGraphExecMemsetNodeSetParams),
	HOOK(cuGraphExecChildGraphNodeSetParams),
	HOOK(cuGraphExecNodeSetParams),
	HOOK(cuGraphExecDestroy),
};
const unsigned rec_ngraph_hooks = sizeof(rec_graph_hooks) / sizeof(rec_graph_hooks[0]);
