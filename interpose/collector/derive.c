/* SPDX-License-Identifier: Apache-2.0
 *
 * derive: what calls mean for the trace's tables of contexts, streams, allocations, modules, kernels and
 * launches. One table says which call does what with which argument; its verbs are the functions below and
 * those of derive_modules.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/gen/api_ids.h"
#include "interpose/collector/derive.h"

static const struct rule *rules_by_id[API_ID_COUNT];

/* ---- verbs: memory ------------------------------------------------------------ */

void derive_allocation(struct collector *c, struct event *e, uint64_t base, uint64_t bytes, uint64_t host)
{
	const struct rule *r = e->rule;
	struct trace_allocation row = {.process = e->process->row.id,
				       .base = base,
				       .bytes = bytes,
				       .host_address = host,
				       .kind = r->kind,
				       .created = e->seq};
	struct version *v;

	if (!base || !bytes)
		return;
	if (c->w && trace_writer_allocation(c->w, &row) != 0)
		return;
	v = object_add(&e->process->objects, OBJECT_ALLOCATION, base, e->key);
	if (v) {
		v->row = row.id;
		v->bytes = bytes;
		v->context = e->context;
	}
}

static void allocate(struct collector *c, struct event *e)
{
	const struct rule *r = e->rule;

	derive_allocation(c, e, e->outs[r->handle], e->args[r->a], 0);
}

static void allocate_pitched(struct collector *c, struct event *e)
{
	derive_allocation(c, e, e->outs[0], e->outs[1] * e->args[3], 0);
}

static void allocate_host(struct collector *c, struct event *e)
{
	const struct rule *r = e->rule;

	derive_allocation(c, e, e->outs[r->handle], e->args[r->a], e->outs[r->handle]);
}

static void register_host(struct collector *c, struct event *e)
{
	derive_allocation(c, e, e->args[0], e->args[1], e->args[0]);
}

static void map_memory(struct collector *c, struct event *e)
{
	derive_allocation(c, e, e->args[0], e->args[1], 0);
}

struct ending {
	struct collector *c;
	struct event *e;
};

static void end_allocation(void *ctx, uint64_t handle, struct version *v)
{
	struct ending *x = ctx;
	struct trace_allocation row = {.id = v->row, .destroyed = x->e->seq};

	(void)handle;
	v->destroyed = x->e->key;
	if (x->c->w && v->row)
		trace_writer_allocation(x->c->w, &row);
}

static void free_memory(struct collector *c, struct event *e)
{
	struct ending x = {c, e};
	struct version *v = object_at(&e->process->objects, OBJECT_ALLOCATION, e->args[0], e->key);

	if (v)
		end_allocation(&x, e->args[0], v);
}

static void unmap_memory(struct collector *c, struct event *e)
{
	struct ending x = {c, e};

	object_each(&e->process->objects, OBJECT_ALLOCATION, e->args[0], e->args[0] + e->args[1], e->key,
		    end_allocation, &x);
}

/* ---- verbs: contexts, streams, devices --------------------------------------------- */

static void make_context(struct collector *c, struct event *e)
{
	const struct rule *r = e->rule;
	uint64_t device = (uint32_t)e->args[r->a];
	struct version *v;

	if (r->b && device < MAX_DEVICES) {
		e->process->primary[device].handle = e->outs[0];
		e->process->primary[device].references++;
	}
	/* Retaining a primary context again gives the same handle. */
	if (object_at(&e->process->objects, OBJECT_CONTEXT, e->outs[0], e->key))
		return;
	v = object_add(&e->process->objects, OBJECT_CONTEXT, e->outs[0], e->key);
	if (v)
		v->bytes = e->args[r->a]; /* the device */
	if (c->w)
		trace_writer_context(c->w, e->process->row.id, e->outs[0], (int)e->args[r->a], r->b != 0,
				     e->seq, 0);
}

static void make_stream(struct collector *c, struct event *e)
{
	const struct rule *r = e->rule;
	struct version *v = object_add(&e->process->objects, OBJECT_STREAM, e->outs[0], e->key);

	if (v)
		v->bytes = e->context;
	if (c->w)
		trace_writer_stream(c->w, e->process->row.id, e->outs[0], e->context, (uint32_t)e->args[r->a],
				    r->b >= 0 ? (int)(int64_t)e->args[r->b] : 0, e->seq, 0);
}

static void stream_ended(struct collector *c, struct event *e, uint64_t handle, struct version *v)
{
	v->destroyed = e->key;
	if (c->w)
		trace_writer_stream(c->w, e->process->row.id, handle, 0, 0, 0, 0, e->seq);
}

static void end_stream(struct collector *c, struct event *e)
{
	struct version *v = object_at(&e->process->objects, OBJECT_STREAM, e->args[0], e->key);

	if (v)
		stream_ended(c, e, e->args[0], v);
}

struct context_ending {
	struct collector *c;
	struct event *e;
	uint64_t context;
};

static void end_stream_of(void *ctx, uint64_t handle, struct version *v)
{
	struct context_ending *x = ctx;

	if (v->bytes == x->context)
		stream_ended(x->c, x->e, handle, v);
}

static void end_module_in(void *ctx, uint64_t handle, struct version *v)
{
	struct context_ending *x = ctx;

	(void)handle;
	if (v->context == x->context)
		derive_end_module(x->c, x->e, v);
}

static void end_allocation_in(void *ctx, uint64_t handle, struct version *v)
{
	struct context_ending *x = ctx;
	struct ending y = {x->c, x->e};

	if (v->context == x->context)
		end_allocation(&y, handle, v);
}

/* A context takes what was made in it with it. */
static void context_ended(struct collector *c, struct event *e, uint64_t handle)
{
	struct context_ending x = {c, e, handle};
	struct version *v = object_at(&e->process->objects, OBJECT_CONTEXT, handle, e->key);

	if (!v)
		return;
	object_each(&e->process->objects, OBJECT_STREAM, 0, UINT64_MAX, e->key, end_stream_of, &x);
	object_each(&e->process->objects, OBJECT_ALLOCATION, 0, UINT64_MAX, e->key, end_allocation_in, &x);
	object_each(&e->process->objects, OBJECT_MODULE, 0, UINT64_MAX, e->key, end_module_in, &x);
	v->destroyed = e->key;
	if (c->w)
		trace_writer_context(c->w, e->process->row.id, handle, (int)v->bytes, false, 0, e->seq);
}

static void end_context(struct collector *c, struct event *e)
{
	context_ended(c, e, e->args[0]);
}

/* CUDA driver API, "Primary Context Management": destroyed by the last release. The runtime may hold it
 * in ways that no call shows; then the recorder says that it lives on. */
static void release_primary(struct collector *c, struct event *e)
{
	uint64_t device = (uint32_t)e->args[0];
	__typeof__(&e->process->primary[0]) p = &e->process->primary[device % MAX_DEVICES];

	if (device < MAX_DEVICES && p->references && --p->references == 0 && !e->context)
		context_ended(c, e, p->handle);
}

/* Destroyed at once, whoever holds it; the references stay, the next to retain it makes it again. */
static void reset_primary(struct collector *c, struct event *e)
{
	uint64_t device = (uint32_t)e->args[0];

	if (device < MAX_DEVICES)
		context_ended(c, e, e->process->primary[device].handle);
}

/* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75, _MINOR = 76 */
static void device_attribute(struct collector *c, struct event *e)
{
	unsigned *cc = &e->process->cc, value = (unsigned)e->outs[0];

	(void)c;
	if (e->args[1] == 75)
		*cc = value * 10 + *cc % 10;
	else if (e->args[1] == 76)
		*cc = *cc - *cc % 10 + value;
}

static void driver_version(struct collector *c, struct event *e)
{
	if (c->w && !c->driver_version_known)
		trace_writer_meta_int(c->w, "driver_version", (int64_t)e->outs[0]);
	c->driver_version_known = true;
}

/* ---- verbs: launches ---------------------------------------------------------------------- */

static void launch(struct collector *c, struct event *e)
{
	struct kernel *k = derive_kernel(e->process, e->args[0], e->key);

	e->launch.kernel = k ? k->row.id : 0;
	if (c->w)
		trace_writer_launch(c->w, &e->launch);
}

/* ---- the table -------------------------------------------------------------------------------- */

#define F(fn) API_ID_##fn
static const struct rule rules[] = {
	/* id, verb, at_enter, handle, a, b, kind, text */
	{F(cuMemAlloc_v2), allocate, false, 0, 1, 0, "device", -1},
	{F(cuMemAllocPitch_v2), allocate_pitched, false, 0, 0, 0, "device", -1},
	{F(cuMemAllocManaged), allocate, false, 0, 1, 0, "managed", -1},
	{F(cuMemAllocAsync), allocate, false, 0, 1, 0, "pool", -1},
	{F(cuMemAllocAsync_ptsz), allocate, false, 0, 1, 0, "pool", -1},
	{F(cuMemAllocFromPoolAsync), allocate, false, 0, 1, 0, "pool", -1},
	{F(cuMemAllocFromPoolAsync_ptsz), allocate, false, 0, 1, 0, "pool", -1},
	{F(cuMemAllocHost_v2), allocate_host, false, 0, 1, 0, "host", -1},
	{F(cuMemHostAlloc), allocate_host, false, 0, 1, 0, "host", -1},
	{F(cuMemHostRegister_v2), register_host, false, 0, 0, 0, "registered", -1},
	{F(cuMemMap), map_memory, false, 0, 0, 0, "vmm", -1},
	{F(cuModuleGetGlobal_v2), derive_find_global, false, 0, 0, 0, "global", 3},
	{F(cuLibraryGetGlobal), derive_find_global, false, 0, 0, 0, "global", 3},
	{F(cuLibraryGetManaged), derive_find_global, false, 0, 0, 0, "managed", 3},
	{F(cuMemFree_v2), free_memory, true, 0, 0, 0, NULL, -1},
	{F(cuMemFreeAsync), free_memory, true, 0, 0, 0, NULL, -1},
	{F(cuMemFreeAsync_ptsz), free_memory, true, 0, 0, 0, NULL, -1},
	{F(cuMemFreeHost), free_memory, true, 0, 0, 0, NULL, -1},
	{F(cuMemHostUnregister), free_memory, true, 0, 0, 0, NULL, -1},
	{F(cuMemUnmap), unmap_memory, true, 0, 0, 0, NULL, -1},

	/* a: the device's parameter, b: primary */
	{F(cuCtxCreate), make_context, false, 0, 2, 0, NULL, -1},
	{F(cuCtxCreate_v2), make_context, false, 0, 2, 0, NULL, -1},
	{F(cuCtxCreate_v3), make_context, false, 0, 4, 0, NULL, -1},
	{F(cuCtxCreate_v4), make_context, false, 0, 3, 0, NULL, -1},
	{F(cuDevicePrimaryCtxRetain), make_context, false, 0, 1, 1, NULL, -1},
	{F(cuDevicePrimaryCtxRelease), release_primary, true, 0, 0, 0, NULL, -1},
	{F(cuDevicePrimaryCtxRelease_v2), release_primary, true, 0, 0, 0, NULL, -1},
	{F(cuDevicePrimaryCtxReset), reset_primary, true, 0, 0, 0, NULL, -1},
	{F(cuDevicePrimaryCtxReset_v2), reset_primary, true, 0, 0, 0, NULL, -1},
	{F(cuCtxDestroy), end_context, true, 0, 0, 0, NULL, -1},
	{F(cuCtxDestroy_v2), end_context, true, 0, 0, 0, NULL, -1},
	/* a: flags, b: priority */
	{F(cuStreamCreate), make_stream, false, 0, 1, -1, NULL, -1},
	{F(cuStreamCreateWithPriority), make_stream, false, 0, 1, 2, NULL, -1},
	{F(cuGreenCtxStreamCreate), make_stream, false, 0, 2, 3, NULL, -1},
	{F(cuStreamDestroy), end_stream, true, 0, 0, 0, NULL, -1},
	{F(cuStreamDestroy_v2), end_stream, true, 0, 0, 0, NULL, -1},
	{F(cuDeviceGetAttribute), device_attribute, false, 0, 0, 0, NULL, -1},
	{F(cuDriverGetVersion), driver_version, false, 0, 0, 0, NULL, -1},

	/* b: library */
	{F(cuModuleLoad), derive_load_module, false, 0, 0, 0, NULL, -1},
	{F(cuModuleLoadData), derive_load_module, false, 0, 0, 0, NULL, -1},
	{F(cuModuleLoadDataEx), derive_load_module, false, 0, 0, 0, NULL, -1},
	{F(cuModuleLoadFatBinary), derive_load_module, false, 0, 0, 0, NULL, -1},
	{F(cuLibraryLoadData), derive_load_module, false, 0, 0, 1, NULL, -1},
	{F(cuLibraryLoadFromFile), derive_load_module, false, 0, 0, 1, NULL, -1},
	{F(cuLibraryGetModule), derive_library_module, false, 0, 0, 0, NULL, -1},
	{F(cuModuleUnload), derive_unload, true, 0, 0, 0, NULL, -1},
	{F(cuLibraryUnload), derive_unload, true, 0, 0, 0, NULL, -1},
	{F(cuModuleGetFunction), derive_get_kernel, false, 0, 0, 0, NULL, 2},
	{F(cuLibraryGetKernel), derive_get_kernel, false, 0, 0, 0, NULL, 2},
	{F(cuKernelGetFunction), derive_kernel_function, false, 0, 0, 0, NULL, -1},
};

/* Slots of the runtime's private table that load modules; recorded by generic thunks. */
static const struct rule load_by_slot = {0, derive_load_module, false, 0, 0, 0, NULL, -1};
static const struct rule launch_rule = {0, launch, true, 0, 0, 0, NULL, -1};

void derive_init(void)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		rules_by_id[rules[i].id] = &rules[i];
}

/* ---- calls become events ---------------------------------------------------------------------- */

static bool is_load_slot(const char *name)
{
	static const char table[] = "export:6bd5fb6c-5bf4-e74a-8987-d93912fd9df9:";

	return !strncmp(name, table, sizeof(table) - 1) && strchr("168", name[sizeof(table) - 1]) &&
	       !name[sizeof(table)];
}

static const struct rule *rule_of(const struct process *p, const struct open_call *o)
{
	if (o->func < API_ID_COUNT)
		return rules_by_id[o->func];
	for (unsigned i = 0; i < p->nfunctions; i++)
		if (p->functions[i].id == o->func)
			return is_load_slot(p->functions[i].name) ? &load_by_slot : NULL;
	return NULL;
}

void derive_exit(struct collector *c, struct ring *r, struct open_call *o)
{
	const struct rule *rule = rule_of(r->process, o);
	const char *text;
	struct event e = {.seq = o->row.id,
			  .process = r->process,
			  .rule = rule,
			  .image = o->image,
			  .context = o->context};

	/* Code that went to the driver for other ends (linking), or was refused. */
	if (o->image && (!rule || rule->run != derive_load_module || o->row.result != 0))
		image_choose(c, o->image, r->process->cc);
	if (!rule || o->row.result != 0)
		return;
	e.run = rule->run;
	e.key = rule->at_enter ? 2 * o->row.id : 2 * o->row.seq_seen + 1;
	memcpy(e.args, o->row.args, sizeof(e.args));
	memcpy(e.outs, o->row.outs, sizeof(e.outs));
	e.outs_valid = o->row.outs_valid;
	for (unsigned i = 0; i < TRACE_MAX_OUTS; i++)
		if (!(e.outs_valid & 1u << i))
			e.outs[i] = 0;
	text = rule->text >= 0 ? memory_string(&o->memory[0], o->row.args[rule->text]) : NULL;
	if (text)
		e.text = strdup(text);
	event_add(c, &e);
}

/* CUlaunchConfig: grid and block are its first six words, then shared bytes, at 32 the stream, at 40 the
 * attributes and at 48 their number; an attribute has 72 bytes, its number first, its value at 8. COOPERATIVE
 * is 2. */
static void launch_from_config(struct trace_launch *l, const struct open_call *o)
{
	const struct bytes *m = &o->memory[0];
	const uint32_t *config = memory_find(m, o->row.args[0], 52);
	uint64_t attributes, stream;

	if (!config)
		return;
	for (int i = 0; i < 3; i++) {
		l->grid[i] = config[i];
		l->block[i] = config[3 + i];
	}
	l->shared_bytes = config[6];
	memcpy(&stream, config + 8, 8);
	memcpy(&attributes, config + 10, 8);
	l->stream = stream;
	for (uint32_t i = 0; i < config[12] && i < 64; i++) {
		const uint32_t *a = memory_find(m, attributes + 72ull * i, 12);

		if (a && a[0] == 2)
			l->cooperative = a[2] != 0;
	}
}

static void launch_from_args(struct trace_launch *l, const uint64_t *a, bool cooperative)
{
	for (int i = 0; i < 3; i++) {
		l->grid[i] = (uint32_t)a[1 + i];
		l->block[i] = (uint32_t)a[4 + i];
	}
	l->shared_bytes = (uint32_t)a[7];
	l->stream = a[8];
	l->cooperative = cooperative;
}

void derive_launch(struct collector *c, struct ring *r, struct open_call *o, const struct ring_launch *l)
{
	struct event e = {.key = 2 * o->row.id,
			  .seq = o->row.id,
			  .process = r->process,
			  .run = launch,
			  .rule = &launch_rule};

	e.launch.call = o->row.id;
	e.args[0] = l->function;
	switch (o->func) {
	case F(cuLaunchKernelEx):
	case F(cuLaunchKernelEx_ptsz): launch_from_config(&e.launch, o); break;
	case F(cuLaunchKernel):
	case F(cuLaunchKernel_ptsz): launch_from_args(&e.launch, o->row.args, false); break;
	case F(cuLaunchCooperativeKernel):
	case F(cuLaunchCooperativeKernel_ptsz): launch_from_args(&e.launch, o->row.args, true); break;
	case F(cuLaunchGrid):
	case F(cuLaunchGridAsync):
		e.launch.grid[0] = (uint32_t)o->row.args[1];
		e.launch.grid[1] = (uint32_t)o->row.args[2];
		e.launch.grid[2] = 1;
		e.launch.stream = o->row.nargs > 3 ? o->row.args[3] : 0;
		break;
	default: break;
	}
	if (c->w && (l->r.flags & 1))
		trace_writer_buffer(c->w, l->params, l->param_bytes, &e.launch.params);
	event_add(c, &e);
}

/* ---- functions ------------------------------------------------------------------------------------ */

static void prototype(char *buf, size_t n, const struct api_func *f)
{
	size_t used = (size_t)snprintf(buf, n, "%s %s(", api_types[f->ret].name, f->name);

	for (unsigned i = 0; i < f->nparams && used < n; i++) {
		const char *type = api_types[f->params[i].type].name;
		bool star = type[0] && type[strlen(type) - 1] == '*';

		used += (size_t)snprintf(buf + used, n - used, "%s%s%s%s", i ? ", " : "", type,
					 star ? "" : " ", f->params[i].name);
	}
	if (used < n)
		snprintf(buf + used, n - used, f->nparams ? ")" : "void)");
}

void derive_name(struct collector *c, struct process *p, uint32_t func, const char *name)
{
	struct function_name *bigger;
	char signature[1024];

	if (func < api_nfuncs) {
		prototype(signature, sizeof(signature), &api_funcs[func]);
		c->function_rows[func] = c->w ? trace_writer_function(c->w, name, "cuda", true,
								      api_funcs[func].nparams, signature)
					      : 1;
		return;
	}
	for (unsigned i = 0; i < p->nfunctions; i++)
		if (p->functions[i].id == func)
			return;
	bigger = reallocarray(p->functions, p->nfunctions + 1, sizeof(*bigger));
	if (!bigger)
		return;
	p->functions = bigger;
	bigger += p->nfunctions;
	bigger->id = func;
	bigger->name = strdup(name);
	if (!bigger->name)
		return;
	/* Raw registers: 6 integers, 8 xmm, 6 words of stack. */
	bigger->row = c->w ? trace_writer_function(c->w, name, "cuda", false, 20, NULL) : 1;
	p->nfunctions++;
}
