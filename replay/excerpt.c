/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/excerpt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"

/* Made up. What the program had there is nobody's business. */
#define HOST     UINT64_C(0x7ffe00001000)
#define CONTEXT  UINT64_C(0x1000)
#define MODULE   UINT64_C(0x200000)
#define FUNCTION UINT64_C(0x300000)

struct excerpt {
	struct trace_writer *w;
	char *path;
	struct trace_buffer_writer *buffer; /* of the copy under way */
	uint64_t call;                      /* the last one */
	unsigned nmodules, nkernels;
	uint64_t *modules; /* row of the trace, by number */
	uint64_t *kernels; /* likewise */
	bool failed;
	struct diag error;
};

static void fail(struct excerpt *x, int rc)
{
	if (!rc || x->failed)
		return;
	x->failed = true;
	if (!trace_writer_error(x->w, &x->error))
		diag_set(&x->error, rc, x->path, "it can't be written");
}

int excerpt_error(const struct excerpt *x, struct diag *d)
{
	if (x->failed && d)
		*d = x->error;
	return x->failed ? x->error.code : 0;
}

/* ---- calls ------------------------------------------------------------------------------- */

struct out {
	unsigned n;
	uint64_t v[2];
};

static uint64_t call(struct excerpt *x, const char *name, unsigned nargs, const uint64_t *args,
		     struct out outs)
{
	struct trace_call c = {.id = ++x->call, .thread = 1, .done = true, .nargs = nargs, .nouts = outs.n};

	if (x->failed)
		return c.id;
	c.seq_seen = c.id;
	c.t_enter = (int64_t)c.id * 1000;
	c.t_exit = c.t_enter + 500;
	c.func = trace_writer_function(x->w, name, "cuda", true, nargs, NULL);
	memcpy(c.args, args, nargs * sizeof(*args));
	for (unsigned i = 0; i < outs.n; i++) {
		c.outs[i] = outs.v[i];
		c.outs_valid |= 1u << i;
	}
	fail(x, c.func ? trace_writer_call(x->w, &c) : CUTRACE_EIO);
	return c.id;
}

#define CALL(x, name, outs, ...)                                                            \
	call((x), (name), (unsigned)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), \
	     (uint64_t[]){__VA_ARGS__}, (outs))
#define NO_OUT ((struct out){0})

/* A block of call_memory (docs/format.md): what the call read at a host address. */
static void memory(struct excerpt *x, uint64_t id, unsigned param, uint64_t address, const void *data,
		   size_t bytes)
{
	size_t padded = (bytes + 7) & ~(size_t)7;
	uint32_t n = (uint32_t)bytes, p = param;
	uint8_t *block = x->failed ? NULL : calloc(1, 16 + padded);

	if (x->failed)
		return;
	if (!block) {
		fail(x, CUTRACE_ENOMEM);
		return;
	}
	memcpy(block, &address, 8);
	memcpy(block + 8, &n, 4);
	memcpy(block + 12, &p, 4);
	memcpy(block + 16, data, bytes);
	fail(x, trace_writer_call_memory(x->w, id, 0, block, 16 + padded));
	free(block);
}

/* ---- frame --------------------------------------------------------------------------------- */

static void begin(struct excerpt *x, const struct trace_device *device)
{
	const struct trace_process p = {.id = 1, .pid = 1, .exe = "", .argv_json = "[]", .cwd = ""};
	const struct trace_thread t = {.id = 1, .process = 1, .tid = 1, .name = ""};

	fail(x, trace_writer_process(x->w, &p));
	fail(x, trace_writer_thread(x->w, &t));
	if (device) {
		struct trace_device copy = *device;

		copy.process = 1;
		copy.ordinal = 0;
		memset(copy.uuid, 0, sizeof(copy.uuid));
		fail(x, trace_writer_device(x->w, &copy));
	}
	CALL(x, "cuInit", NO_OUT, 0);
	CALL(x, "cuCtxCreate_v2", ((struct out){1, {CONTEXT}}), HOST, 0, 0);
	if (!x->failed)
		fail(x, trace_writer_context(x->w, 1, CONTEXT, 0, false, x->call, 0));
}

int excerpt_open(struct excerpt **out, const char *path, const struct trace_device *device, bool scratch,
		 struct diag *d)
{
	struct excerpt *x = calloc(1, sizeof(*x));
	int rc;

	*out = NULL;
	if (!x || !(x->path = strdup(path))) {
		free(x);
		return diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
	}
	unlink(path);
	rc = scratch ? trace_writer_open_scratch(&x->w, path, d) : trace_writer_open(&x->w, path, d);
	if (rc) {
		free(x->path);
		free(x);
		return rc;
	}
	begin(x, device);
	*out = x;
	return 0;
}

void excerpt_meta(struct excerpt *x, const char *key, const char *value)
{
	if (!x->failed)
		fail(x, trace_writer_meta_text(x->w, key, value));
}

static int finish(struct excerpt *x, bool keep, struct diag *d)
{
	struct trace_process p = {
		.id = 1, .pid = 1, .exe = "", .argv_json = "[]", .cwd = "", .end_kind = "exit"};
	struct diag closing = DIAG_INIT;
	int rc;

	if (x->buffer)
		trace_buffer_abort(x->buffer);
	p.t_end = (int64_t)(x->call + 1) * 1000;
	if (!x->failed)
		fail(x, trace_writer_process(x->w, &p));
	rc = trace_writer_close(x->w, &closing);
	if (x->failed)
		rc = x->error.code;
	if (d && rc)
		*d = x->failed ? x->error : closing;
	if (rc || !keep)
		unlink(x->path);
	free(x->modules);
	free(x->kernels);
	free(x->path);
	free(x);
	return rc;
}

int excerpt_close(struct excerpt *x, struct diag *d)
{
	return finish(x, true, d);
}

void excerpt_abandon(struct excerpt *x)
{
	finish(x, false, NULL);
}

/* ---- memory -------------------------------------------------------------------------------- */

static void allocation(struct excerpt *x, uint64_t base, uint64_t bytes, const char *kind)
{
	struct trace_allocation a = {
		.process = 1, .base = base, .bytes = bytes, .kind = kind, .created = x->call};

	if (!x->failed)
		fail(x, trace_writer_allocation(x->w, &a));
}

void excerpt_allocate(struct excerpt *x, uint64_t base, uint64_t bytes)
{
	CALL(x, "cuMemAlloc_v2", ((struct out){1, {base}}), HOST, bytes);
	allocation(x, base, bytes, "device");
}

void excerpt_free(struct excerpt *x, uint64_t base)
{
	CALL(x, "cuMemFree_v2", NO_OUT, base);
}

static void buffer_begin(struct excerpt *x)
{
	if (x->failed)
		return;
	x->buffer = trace_buffer_begin(x->w);
	if (!x->buffer)
		fail(x, CUTRACE_ENOMEM);
}

void excerpt_copy_begin(struct excerpt *x)
{
	buffer_begin(x);
}

void excerpt_piece(struct excerpt *x, const void *data, size_t bytes)
{
	if (x->buffer && !x->failed)
		fail(x, trace_buffer_append(x->buffer, data, bytes));
}

static uint64_t buffer_end(struct excerpt *x, struct trace_hash *hash)
{
	uint64_t id = 0;

	memset(hash, 0, sizeof(*hash));
	if (x->buffer)
		fail(x, trace_buffer_end(x->buffer, &id, hash));
	x->buffer = NULL;
	fail(x, trace_writer_tick(x->w));
	return id;
}

static uint64_t whole_buffer(struct excerpt *x, const void *data, size_t bytes)
{
	struct trace_hash unused;

	buffer_begin(x);
	for (size_t at = 0; at < bytes; at += TRACE_CHUNK_BYTES)
		excerpt_piece(x, (const char *)data + at,
			      bytes - at < TRACE_CHUNK_BYTES ? bytes - at : TRACE_CHUNK_BYTES);
	return buffer_end(x, &unused);
}

static void payload(struct excerpt *x, int param, const char *kind, uint64_t address, uint64_t bytes,
		    uint64_t buffer)
{
	const struct trace_payload p = {.call = x->call,
					.param = param,
					.kind = kind,
					.address = param < 0 ? 0 : HOST,
					.device_address = address,
					.width = bytes,
					.height = 1,
					.depth = 1,
					.buffer = buffer};

	if (!x->failed)
		fail(x, trace_writer_payload(x->w, &p));
}

struct trace_hash excerpt_copy_end(struct excerpt *x, uint64_t address, uint64_t bytes,
				   const struct trace_hash *known)
{
	struct trace_hash hash;
	uint64_t buffer = buffer_end(x, &hash);

	if (known && !memcmp(known, &hash, sizeof(hash)))
		return hash;
	CALL(x, "cuMemcpyHtoD_v2", NO_OUT, address, HOST, bytes);
	payload(x, 1, "h2d", address, bytes, buffer);
	return hash;
}

struct trace_hash excerpt_written_end(struct excerpt *x, uint64_t address, uint64_t bytes)
{
	struct trace_launch_hash h = {.launch = x->call, .base = address, .bytes = bytes};
	uint64_t buffer = buffer_end(x, &h.hash);

	payload(x, -1, "written", address, bytes, buffer);
	if (!x->failed)
		fail(x, trace_writer_launch_hash(x->w, &h));
	return h.hash;
}

/* ---- code ---------------------------------------------------------------------------------- */

static unsigned number(struct excerpt *x, uint64_t **rows, unsigned *n, uint64_t row)
{
	uint64_t *grown = reallocarray(*rows, *n + 1, sizeof(**rows));

	if (!grown) {
		fail(x, CUTRACE_ENOMEM);
		return 0;
	}
	*rows = grown;
	grown[*n] = row;
	return (*n)++;
}

unsigned excerpt_module(struct excerpt *x, const void *image, size_t bytes, const char *kind,
			const char *archs, const void *ptx, size_t ptx_bytes)
{
	struct trace_module m = {.process = 1, .handle = MODULE + 16 * x->nmodules};
	struct trace_image i = {.kind = kind, .archs = archs};

	m.image = i.buffer = whole_buffer(x, image, bytes);
	i.ptx = ptx ? whole_buffer(x, ptx, ptx_bytes) : !strcmp(kind, "ptx") ? i.buffer : 0;
	m.created = CALL(x, "cuModuleLoadData", ((struct out){1, {m.handle}}), HOST, HOST);
	payload(x, 1, "image", 0, bytes, i.buffer);
	if (!x->failed)
		fail(x, trace_writer_image(x->w, &i));
	if (!x->failed)
		fail(x, trace_writer_module(x->w, &m));
	return number(x, &x->modules, &x->nmodules, m.id);
}

void excerpt_variable(struct excerpt *x, unsigned module, const char *name, uint64_t base, uint64_t bytes)
{
	uint64_t id = CALL(x, "cuModuleGetGlobal_v2", ((struct out){2, {base, bytes}}), HOST, HOST + 8,
			   MODULE + 16 * module, HOST + 64);

	memory(x, id, 3, HOST + 64, name, strlen(name) + 1);
	allocation(x, base, bytes, "global");
}

unsigned excerpt_kernel(struct excerpt *x, unsigned module, const struct trace_kernel *k)
{
	struct trace_kernel row = *k;
	uint64_t handle = FUNCTION + 16 * x->nkernels, id;

	row.id = 0;
	row.module = module < x->nmodules ? x->modules[module] : 0;
	id = CALL(x, "cuModuleGetFunction", ((struct out){1, {handle}}), HOST, MODULE + 16 * module,
		  HOST + 64);
	memory(x, id, 2, HOST + 64, k->name, strlen(k->name) + 1);
	if (!x->failed)
		fail(x, trace_writer_kernel(x->w, &row));
	if (!x->failed)
		fail(x, trace_writer_kernel_handle(x->w, 1, handle, row.id, id));
	return number(x, &x->kernels, &x->nkernels, row.id);
}

/* ---- launches ------------------------------------------------------------------------------- */

/* CUlaunchConfig and its one attribute, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, as cuda.h lays them out. */
struct launch_config {
	uint32_t grid[3], block[3], shared_bytes, unused;
	uint64_t stream, attributes;
	uint32_t nattributes, unused2;
};
struct launch_attribute {
	uint32_t id, unused;
	uint32_t cluster[3];
	uint8_t more[52];
};
enum { CLUSTER_DIMENSION = 4 };

static uint64_t launch_in_clusters(struct excerpt *x, uint64_t function, const struct excerpt_launch *l)
{
	struct launch_attribute a = {.id = CLUSTER_DIMENSION};
	struct launch_config c = {
		.shared_bytes = l->row.shared_bytes, .attributes = EXCERPT_CLUSTER, .nattributes = 1};
	uint64_t id = CALL(x, "cuLaunchKernelEx", NO_OUT, HOST + 128, function, HOST, 0);

	memcpy(c.grid, l->row.grid, sizeof(c.grid));
	memcpy(c.block, l->row.block, sizeof(c.block));
	memcpy(a.cluster, l->cluster, sizeof(a.cluster));
	memory(x, id, 0, HOST + 128, &c, sizeof(c));
	memory(x, id, 0, EXCERPT_CLUSTER, &a, sizeof(a));
	return id;
}

void excerpt_launch(struct excerpt *x, unsigned kernel, const struct excerpt_launch *l)
{
	const uint32_t *g = l->row.grid, *b = l->row.block;
	uint64_t function = FUNCTION + 16 * kernel;
	struct trace_launch row = l->row;

	row.params = l->param_bytes ? whole_buffer(x, l->params, l->param_bytes) : 0;
	row.stream = 0;
	row.kernel = kernel < x->nkernels ? x->kernels[kernel] : 0;
	if (l->cluster[0])
		row.call = launch_in_clusters(x, function, l);
	else if (row.cooperative)
		row.call = CALL(x, "cuLaunchCooperativeKernel", NO_OUT, function, g[0], g[1], g[2], b[0],
				b[1], b[2], row.shared_bytes, 0, HOST);
	else
		row.call = CALL(x, "cuLaunchKernel", NO_OUT, function, g[0], g[1], g[2], b[0], b[1], b[2],
				row.shared_bytes, 0, HOST, 0);
	if (!x->failed)
		fail(x, trace_writer_launch(x->w, &row));
}
