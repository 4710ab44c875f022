/* SPDX-License-Identifier: Apache-2.0
 *
 * derive: the verbs for modules, libraries, their variables and their kernels.
 */
#include <stdlib.h>
#include <string.h>

#include "interpose/collector/derive.h"

static struct module *new_module(struct collector *c, struct event *e, uint64_t handle, bool is_library,
				 struct module *parent)
{
	struct trace_module row = {.process = e->process->row.id,
				   .handle = handle,
				   .is_library = is_library,
				   .parent = parent ? parent->row : 0,
				   .created = e->seq};
	struct version *v = object_add(&e->process->objects, OBJECT_MODULE, handle, e->key);
	struct module *m = calloc(1, sizeof(*m));

	if (!v || !m) {
		free(m);
		return NULL;
	}
	m->is_library = is_library;
	m->parent = parent;
	m->image = image_hold(e->image);
	if (m->image) {
		image_choose(c, m->image, e->process->cc);
		image_ran(c, m->image, e->process);
		row.image = image_buffer(m->image);
	}
	if (c->w)
		trace_writer_module(c->w, &row);
	m->row = v->row = row.id;
	v->context = is_library ? 0 : e->context;
	v->object = m;
	return m;
}

void derive_load_module(struct collector *c, struct event *e)
{
	const struct rule *r = e->rule;

	new_module(c, e, e->outs[r->handle], r->b != 0, NULL);
}

static struct module *module_at(struct process *p, uint64_t handle, uint64_t key)
{
	struct version *v = object_at(&p->objects, OBJECT_MODULE, handle, key);

	return v ? v->object : NULL;
}

/* The module that a library has in the current context. */
void derive_library_module(struct collector *c, struct event *e)
{
	struct module *library = module_at(e->process, e->args[1], e->key);

	if (library && !module_at(e->process, e->outs[0], e->key))
		new_module(c, e, e->outs[0], false, library);
}

/* ---- the end of modules: nothing may point to them or their kernels afterwards */

struct unloading {
	struct collector *c;
	uint64_t seq; /* of the call; 0: the process has ended */
	const struct module *module;
};

static bool is_kernel_of(void *ctx, void *object)
{
	const struct unloading *x = ctx;

	return ((const struct kernel *)object)->owner == x->module;
}

static void end_module(const struct unloading *x, uint64_t row_id)
{
	struct trace_module row = {.id = row_id, .destroyed = x->seq};

	if (x->c->w && row_id && x->seq)
		trace_writer_module(x->c->w, &row);
}

/* Frees the modules that a library had in contexts: they have no kernels of their own. */
static bool is_module_of(void *ctx, void *object)
{
	const struct unloading *x = ctx;
	struct module *m = object;

	if (m->parent != x->module)
		return false;
	end_module(x, m->row);
	module_free(x->c, m);
	return true;
}

void derive_end_module(struct collector *c, struct event *e, struct version *v)
{
	struct object_map *map = &e->process->objects;
	struct module *m = v->object;
	struct unloading x = {c, e->seq, m};

	v->destroyed = e->key;
	v->object = NULL;
	end_module(&x, v->row);
	if (!m)
		return;
	object_clear(map, OBJECT_KERNEL, e->key, is_kernel_of, &x);
	object_clear(map, OBJECT_MODULE, e->key, is_module_of, &x);
	module_free(c, m);
}

void derive_unload(struct collector *c, struct event *e)
{
	struct version *v = object_at(&e->process->objects, OBJECT_MODULE, e->args[0], e->key);

	if (v)
		derive_end_module(c, e, v);
}

static bool free_module(void *ctx, void *object)
{
	struct unloading *x = ctx;

	module_free(x->c, object);
	return true;
}

void derive_forget(struct collector *c, struct process *p)
{
	struct unloading x = {.c = c};

	object_clear(&p->objects, OBJECT_MODULE, 0, free_module, &x);
	object_map_free(&p->objects);
	p->forgotten = true;
}

/* A variable of a module counts from when the program asks for it, once. Not every program asks for its size.
 */
void derive_find_global(struct collector *c, struct event *e)
{
	struct version *v = object_at(&e->process->objects, OBJECT_MODULE, e->args[2], e->key);
	struct module *m = v ? v->object : NULL;
	uint64_t bytes = e->outs[1];

	if (!bytes && m && e->text)
		bytes = module_variable_bytes(m, e->text);
	e->context = v ? v->context : 0;
	if (!object_at(&e->process->objects, OBJECT_ALLOCATION, e->outs[0], e->key))
		derive_allocation(c, e, e->outs[0], bytes, 0);
}

static void bind_kernel(struct collector *c, struct event *e, uint64_t handle, struct kernel *k)
{
	struct version *v = object_at(&e->process->objects, OBJECT_KERNEL, handle, e->key);

	if (!k || (v && v->object == k))
		return;
	v = object_add(&e->process->objects, OBJECT_KERNEL, handle, e->key);
	if (!v)
		return;
	v->object = k;
	if (c->w)
		trace_writer_kernel_handle(c->w, e->process->row.id, handle, k->row.id, e->seq);
}

void derive_get_kernel(struct collector *c, struct event *e)
{
	struct module *m = module_at(e->process, e->args[1], e->key);

	if (m && e->text)
		bind_kernel(c, e, e->outs[0], module_kernel(c, m, e->text));
}

struct kernel *derive_kernel(struct process *p, uint64_t handle, uint64_t key)
{
	struct version *v = object_at(&p->objects, OBJECT_KERNEL, handle, key);

	return v ? v->object : NULL;
}

void derive_kernel_function(struct collector *c, struct event *e)
{
	bind_kernel(c, e, e->outs[0], derive_kernel(e->process, e->args[1], e->key));
}

/* What the driver said of a handle that is launched for the first time; most are known by then. */
static void said_kernel(struct collector *c, struct event *e)
{
	struct module *m = module_at(e->process, e->args[1], e->key);

	if (m && !derive_kernel(e->process, e->args[0], e->key))
		bind_kernel(c, e, e->args[0], module_kernel(c, m, e->text));
}

void derive_kernel_name(struct collector *c, struct process *p, uint64_t seq, const struct ring_kernel *k,
			const char *name)
{
	struct event e = {.key = 2 * seq, .seq = seq, .process = p, .run = said_kernel, .text = strdup(name)};

	e.args[0] = k->function;
	e.args[1] = k->module;
	if (!e.text || !event_add(c, &e))
		free(e.text);
}
