/* SPDX-License-Identifier: Apache-2.0
 *
 * An excerpt of one launch: a few kinds of calls, whose meaning is known (replay/excerpt.c).
 */
#include <stdlib.h>
#include <string.h>

#include "replay/compare.h"
#include "replay/extract/extract.h"

struct reader {
	struct extract *x;
	struct trace_memory *memory;
	struct diag *d;
	const char *path;
	unsigned launches;
};

static int refuse(struct reader *r, const char *why)
{
	return diag_set(r->d, CUTRACE_ENOTSUP, r->path, "%s", why);
}

/* One more at the end of a list. NULL: too many, or no memory. */
static void *more(struct reader *r, void *list, unsigned *n, size_t bytes)
{
	void **v = list;
	void *grown = *n < EXTRACT_MAX ? reallocarray(*v, *n + 1, bytes) : NULL;

	if (!grown) {
		refuse(r, "it has too many parts");
		return NULL;
	}
	*v = grown;
	memset((char *)grown + *n * bytes, 0, bytes);
	return (char *)grown + (*n)++ * bytes;
}

static const struct trace_payload *payload_of(struct reader *r, uint64_t call, const char *kind)
{
	unsigned n;
	const struct trace_payload *p = trace_payloads(r->x->trace, call, &n);

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(p[i].kind, kind) && p[i].buffer)
			return &p[i];
	return NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int read_module(struct reader *r, const struct trace_call *c)
{
	const struct trace_payload *p = payload_of(r, c->id, "image");
	const struct trace_image *i = p ? trace_image(r->x->trace, p->buffer) : NULL;
	struct extract_module *m = i ? more(r, &r->x->modules, &r->x->nmodules, sizeof(*m)) : NULL;

	if (!m)
		return r->d->code ? r->d->code : refuse(r, "a module's image is not in it");
	m->handle = c->outs[0];
	m->is_ptx = i->ptx != 0;
	m->buffer = i->ptx ? i->ptx : i->buffer;
	m->kind = i->kind ? arena_strdup(&r->x->arena, i->kind) : "";
	return 0;
}

static int read_memory(struct reader *r, uint64_t address, uint64_t bytes)
{
	struct extract_memory *m = more(r, &r->x->memories, &r->x->nmemories, sizeof(*m));

	if (!m)
		return r->d->code;
	*m = (struct extract_memory){.address = address, .bytes = bytes, .module = -1};
	return 0;
}

static int read_alloc(struct reader *r, const struct trace_call *c)
{
	return read_memory(r, c->outs[0], c->args[1]);
}

static int module_of(const struct extract *x, uint64_t handle)
{
	for (unsigned i = 0; i < x->nmodules; i++)
		if (x->modules[i].handle == handle)
			return (int)i;
	return -1;
}

/* A string that the call read; NULL: it is not there, or doesn't end. */
static const char *recorded_string(struct reader *r, uint64_t call, uint64_t address)
{
	enum { LONGEST = 4096 };
	size_t n = 0;
	const char *c;

	if (trace_memory_load(r->memory, call, 0))
		return NULL;
	while (n < LONGEST && (c = trace_memory_read(r->memory, address + n, 1)) && *c)
		n++;
	c = n < LONGEST && n ? trace_memory_read(r->memory, address, n + 1) : NULL;
	return c ? arena_strdup(&r->x->arena, c) : NULL;
}

static int read_variable(struct reader *r, const struct trace_call *c)
{
	const char *name = recorded_string(r, c->id, c->args[3]);
	int module = module_of(r->x, c->args[2]), rc;

	if (!name || module < 0)
		return refuse(r, "a variable's name or module is not in it");
	rc = read_memory(r, c->outs[0], c->outs[1]);
	if (rc)
		return rc;
	r->x->memories[r->x->nmemories - 1].module = module;
	r->x->memories[r->x->nmemories - 1].variable = name;
	return 0;
}

static int read_copy(struct reader *r, const struct trace_call *c)
{
	const struct trace_payload *p = payload_of(r, c->id, "h2d");

	for (unsigned i = 0; p && i < r->x->nmemories; i++) {
		struct extract_memory *m = &r->x->memories[i];

		if (m->address != p->device_address || m->bytes != p->width)
			continue;
		m->buffer = p->buffer;
		return 0;
	}
	return refuse(r, "a copy goes to a part of an allocation");
}

/* CUlaunchConfig and CUlaunchAttribute; as excerpt.c writes them. */
static void read_cluster(struct reader *r, const struct trace_call *c)
{
	enum { CLUSTER_DIMENSION = 4 };
	const uint8_t *config, *attribute;
	uint64_t address;
	uint32_t id;

	if (trace_memory_load(r->memory, c->id, 0) ||
	    !(config = trace_memory_read(r->memory, c->args[0], 56)))
		return;
	memcpy(&address, config + 40, 8);
	attribute = trace_memory_read(r->memory, address, 72);
	if (!attribute)
		return;
	memcpy(&id, attribute, 4);
	if (id == CLUSTER_DIMENSION)
		memcpy(r->x->cluster, attribute + 8, sizeof(r->x->cluster));
}

static int read_launch(struct reader *r, const struct trace_call *c)
{
	struct extract *x = r->x;

	if (r->launches++ || trace_launch_get(x->trace, c->id, &x->launch) || !x->launch.kernel)
		return refuse(r, "it is not one launch of a known kernel");
	x->kernel = trace_kernel(x->trace, x->launch.kernel);
	if (x->launch.params)
		x->params = trace_buffer_load(x->trace, x->launch.params, &x->param_bytes, r->d);
	if (r->d->code)
		return r->d->code;
	if (!x->params && x->kernel && x->kernel->param_bytes)
		return refuse(r, "the launch's parameters were not recorded");
	return x->kernel ? 0 : refuse(r, "the launch's kernel is not in it");
}

static int read_cluster_launch(struct reader *r, const struct trace_call *c)
{
	read_cluster(r, c);
	return read_launch(r, c);
}

static int nothing(struct reader *r, const struct trace_call *c)
{
	(void)r;
	(void)c;
	return 0;
}

static const struct {
	const char *name;
	int (*read)(struct reader *r, const struct trace_call *c);
} calls[] = {
	{"cuInit", nothing},
	{"cuCtxCreate_v2", nothing},
	{"cuModuleGetFunction", nothing},
	{"cuModuleLoadData", read_module},
	{"cuMemAlloc_v2", read_alloc},
	{"cuModuleGetGlobal_v2", read_variable},
	{"cuMemcpyHtoD_v2", read_copy},
	{"cuLaunchKernel", read_launch},
	{"cuLaunchCooperativeKernel", read_launch},
	{"cuLaunchKernelEx", read_cluster_launch},
};

static int read_call(struct reader *r, const struct trace_call *c)
{
	const struct trace_function *f = trace_function(r->x->trace, c->func);

	for (size_t k = 0; f && k < sizeof(calls) / sizeof(calls[0]); k++)
		if (!strcmp(f->name, calls[k].name))
			return calls[k].read(r, c);
	return diag_set(r->d, CUTRACE_ENOTSUP, r->path, "%s is a call that the program would not make",
			f ? f->name : "an unknown function");
}

static int read_calls(struct reader *r)
{
	struct trace_call_iter *it = trace_calls(r->x->trace, 0, UINT64_MAX);
	struct trace_call c;
	int rc = it ? 0 : CUTRACE_ENOMEM, got = 0;

	while (!rc && (got = trace_call_next(it, &c)) > 0)
		rc = read_call(r, &c);
	trace_call_iter_free(it);
	if (!rc && got < 0)
		rc = refuse(r, "its calls can't be read");
	return rc || r->launches ? rc : refuse(r, "there is no launch in it");
}

/* ---- what follows from them --------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct extract_memory *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* The memory that an address lies in, or else ends at. */
static struct extract_memory *memory_at(struct extract *x, uint64_t address)
{
	struct extract_memory *end = NULL;

	for (unsigned i = 0; i < x->nmemories; i++) {
		uint64_t at = address - x->memories[i].address;

		if (at < x->memories[i].bytes)
			return &x->memories[i];
		if (at == x->memories[i].bytes)
			end = &x->memories[i];
	}
	return end;
}

static int add_pointer(struct reader *r, uint32_t at, bool is_word)
{
	struct extract *x = r->x;
	struct extract_pointer *p;
	struct extract_memory *m;
	uint64_t w;

	memcpy(&w, x->params + at, 8);
	m = memory_at(x, w);
	if (!m)
		return 0;
	p = more(r, &x->pointers, &x->npointers, sizeof(*p));
	if (!p)
		return r->d->code;
	*p = (struct extract_pointer){at, (uint32_t)(m - x->memories), w - m->address, is_word};
	return 0;
}

static int add_words(struct reader *r, size_t from, size_t bytes)
{
	int rc = 0;

	for (size_t at = 0; !rc && at + 8 <= bytes; at += 8)
		rc = add_pointer(r, (uint32_t)(from + at), true);
	return rc;
}

/* As the replayer does: a parameter that is as wide as an address may be one, also any word of a struct, never a number of
 * fewer bytes. */
static int find_pointers(struct reader *r)
{
	const struct trace_kernel *k = r->x->kernel;
	size_t size = r->x->param_bytes;
	int rc = 0;

	if (!k->nparams)
		return add_words(r, 0, size);
	for (unsigned i = 0; !rc && i < k->nparams; i++) {
		const struct trace_kernel_param *q = &k->params[i];

		if (q->bytes < 8 || q->offset > size || q->bytes > size - q->offset)
			continue;
		rc = q->is_pointer || q->bytes == 8 ? add_pointer(r, q->offset, false)
						    : add_words(r, q->offset, q->bytes);
	}
	return rc;
}

/* With which type the kernel stores there, or else reads. */
static const char *type_at(struct extract *x, const struct extract_memory *m, uint64_t bytes)
{
	const char *type = NULL;

	for (unsigned i = 0; i < x->kernel->nparams; i++) {
		const struct trace_kernel_param *q = &x->kernel->params[i];
		uint64_t w;

		if (!q->is_pointer || q->bytes != 8 || !q->elem_type || q->offset > x->param_bytes ||
		    x->param_bytes - q->offset < 8)
			continue;
		memcpy(&w, x->params + q->offset, 8);
		if (memory_at(x, w) == m && (q->is_written || !type))
			type = q->elem_type;
	}
	return elem_type_find(type ? type : bytes % 4 ? "b8" : "b32")->name;
}

static int find_results(struct reader *r)
{
	struct extract *x = r->x;
	unsigned n;
	const struct trace_payload *p = trace_payloads(x->trace, x->launch.call, &n);

	for (unsigned i = 0; i < n; i++) {
		struct extract_memory *m = memory_at(x, p[i].device_address);
		struct extract_result *out;

		if (strcmp(p[i].kind, "written") != 0 || !p[i].buffer)
			continue;
		if (!m || p[i].device_address - m->address > m->bytes ||
		    p[i].width > m->bytes - (p[i].device_address - m->address))
			return refuse(r, "the launch wrote to memory that is not in it");
		out = more(r, &x->results, &x->nresults, sizeof(*out));
		if (!out)
			return r->d->code;
		*out = (struct extract_result){.memory = (uint32_t)(m - x->memories),
					       .offset = p[i].device_address - m->address,
					       .bytes = p[i].width,
					       .buffer = p[i].buffer,
					       .type = type_at(x, m, p[i].width)};
	}
	return x->nresults ? 0 : refuse(r, "it does not have what the launch wrote");
}

/* Of the kernel: the module that it was asked of. */
static int read_kernel_module(void *ctx, const struct trace_module *m)
{
	struct extract *x = ctx;

	if (m->id == x->kernel->module)
		x->kernel_module = module_of(x, m->handle);
	return 0;
}

static int check(struct reader *r)
{
	struct extract *x = r->x;

	trace_modules(x->trace, 0, read_kernel_module, x);
	if (x->kernel_module < 0)
		return refuse(r, "the kernel's module is not in it");
	if ((x->launch.cooperative || x->cluster[0]) && x->param_bytes && !x->kernel->nparams)
		return refuse(r, "a cooperative launch passes its parameters one by one, and those of this "
				 "kernel are not known");
	for (unsigned i = 0; i < x->kernel->nparams; i++) {
		const struct trace_kernel_param *q = &x->kernel->params[i];

		if (q->offset > x->param_bytes || q->bytes > x->param_bytes - q->offset)
			return refuse(r,
				      "the recorded parameter block is shorter than the kernel's parameters");
	}
	return 0;
}

int extract_read(struct extract *x, const char *path, struct diag *d)
{
	struct reader r = {.x = x, .d = d, .path = path};
	int rc;

	memset(x, 0, sizeof(*x));
	x->kernel_module = -1;
	rc = trace_open(&x->trace, path, d);
	if (!rc && !(r.memory = trace_memory_new(x->trace)))
		rc = diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
	if (!rc)
		rc = read_calls(&r);
	if (!rc && x->nmemories)
		qsort(x->memories, x->nmemories, sizeof(*x->memories), by_address);
	if (!rc)
		rc = find_pointers(&r);
	if (!rc)
		rc = find_results(&r);
	if (!rc)
		rc = check(&r);
	trace_memory_free(r.memory);
	return rc;
}

void extract_free(struct extract *x)
{
	trace_close(x->trace);
	arena_free(&x->arena);
	free(x->modules);
	free(x->memories);
	free(x->pointers);
	free(x->results);
	free(x->params);
	memset(x, 0, sizeof(*x));
}
