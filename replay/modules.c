/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that load code. Whatever the program used (a file, a fatbin behind a wrapper, the runtime's private
 * table), the recorded image is handed over by cuModuleLoadData or cuLibraryLoadData, without the program's
 * just-in-time options: they name buffers of the program. A target that can't take an image makes that
 * module's launches opaque; each of them then says why.
 */
#include <stdlib.h>
#include <string.h>

#include "base/image.h"
#include "replay/engine.h"
#include "replay/extension_client.h"

/* What cuLibraryLoadData gets for a fatbin: the struct that nvcc puts around it. */
struct fatbin_wrapper {
	uint32_t magic, version;
	const void *fatbin;
	void *more;
};

bool module_is_load(const struct call *c)
{
	/* cuLinkAddData and cuLinkAddFile take images too, but as input of a link. */
	return c->image.buffer && (!c->f || strncmp(c->f->name, "cuLink", 6));
}

struct image_copy {
	size_t bytes;
	unsigned users; /* modules loaded from it */
	struct fatbin_wrapper *wrapper;
	uint8_t data[];
};

static struct image_copy *find_image(struct engine *e, uint64_t buffer)
{
	uint64_t kept;

	return map_get(&e->images, buffer, &kept) ? (struct image_copy *)(uintptr_t)kept : NULL;
}

static void drop_image(struct engine *e, uint64_t buffer, struct image_copy *copy)
{
	map_remove(&e->images, buffer);
	free(copy->wrapper);
	free(copy);
}

static struct image_copy *load_image(struct engine *e, uint64_t buffer, struct diag *d)
{
	int64_t bytes = trace_buffer_bytes(e->trace, buffer);
	struct image_copy *copy = find_image(e, buffer);

	if (copy)
		return copy;
	copy = bytes < 0 ? NULL : malloc(sizeof(*copy) + (size_t)bytes + 1);
	if (!copy) {
		diag_set(d, CUTRACE_ENOMEM, "", "no memory for it");
		return NULL;
	}
	*copy = (struct image_copy){.bytes = (size_t)bytes};
	copy->data[bytes] = '\0'; /* PTX is text */
	if (!trace_buffer_read(e->trace, buffer, 0, copy->data, copy->bytes, d) &&
	    !map_set(&e->images, buffer, word(copy)))
		return copy;
	free(copy);
	return NULL;
}

void module_use_image(struct engine *e, uint64_t buffer, const void *data, size_t bytes)
{
	struct image_copy *copy;

	if (!data || find_image(e, buffer) || !(copy = malloc(sizeof(*copy) + bytes + 1)))
		return;
	*copy = (struct image_copy){.bytes = bytes};
	memcpy(copy->data, data, bytes);
	copy->data[bytes] = '\0';
	if (map_set(&e->images, buffer, word(copy)))
		free(copy);
}

static void note_loaded(struct engine *e, uint64_t handle, uint64_t buffer, struct image_copy *copy)
{
	if (!handle) { /* nobody will unload it */
		copy->users++;
		return;
	}
	module_unloaded(e, handle); /* a handle given again: its module went with its context */
	if (!map_set(&e->loaded, handle, buffer))
		copy->users++;
}

void module_unloaded(struct engine *e, uint64_t handle)
{
	struct image_copy *copy;
	uint64_t buffer;

	if (!map_get(&e->loaded, handle, &buffer))
		return;
	map_remove(&e->loaded, handle);
	copy = find_image(e, buffer);
	if (copy && !--copy->users)
		drop_image(e, buffer, copy);
}

void module_free_images(struct engine *e)
{
	for (size_t i = 0; i < e->images.size; i++) {
		struct image_copy *copy = (struct image_copy *)(uintptr_t)e->images.slots[i].value;

		if (!e->images.slots[i].used)
			continue;
		free(copy->wrapper);
		free(copy);
	}
	map_free(&e->images);
	map_free(&e->loaded);
}

/* A recorded fatbin is one container, or several laid one after the other: relocatable device code, which the
 * program gave as a version 2 wrapper with a list of what to link. */
static const void *wrap(struct image_copy *image)
{
	struct fatbin_wrapper *w = image->wrapper;
	const uint8_t *p = image->data;
	const void **list;
	size_t n = 0, at, step;

	if (w)
		return w;
	for (at = 0; (step = image_container_size(p + at, image->bytes - at)); at += step)
		n++;
	w = calloc(1, sizeof(*w) + (n + 1) * sizeof(*list));
	if (!w)
		return NULL;
	*w = (struct fatbin_wrapper){IMAGE_WRAPPER_MAGIC, n < 2 ? 1 : 2, image->data, NULL};
	if (n >= 2) {
		list = (const void **)(w + 1);
		w->more = list;
		for (at = image_container_size(p, image->bytes);
		     (step = image_container_size(p + at, image->bytes - at)); at += step)
			*list++ = p + at;
	}
	image->wrapper = w;
	return w;
}

static const char *describe_image(struct engine *e, const struct call *c)
{
	const struct trace_image *i = trace_image(e->trace, c->image.buffer);

	return i && i->archs && *i->archs ? i->archs : i && i->kind ? i->kind : "unknown code";
}

static void note_missing(struct engine *e, struct call *c)
{
	char **grown = realloc(e->reasons, (e->nreasons + 1) * sizeof(*grown)), *why;

	if (!grown)
		return;
	e->reasons = grown;
	if (asprintf(&why, "its module (call %llu: %s) could not be loaded on this driver: %s",
		     (unsigned long long)c->rec->id, describe_image(e, c), driver_error_name(c->result)) < 0)
		return;
	e->reasons[e->nreasons] = why;
	map_set(&e->missing_modules, c->rec->id, e->nreasons++);
	engine_say(e, c->rec->id, "warning", "%s: %s; launches of its kernels are not replayed", c->name,
		   why + 4 /* "module ..." */);
}

/* CUmodule or CUlibrary that the call gave the program. */
static bool recorded_handle(struct engine *e, struct call *c, uint64_t *handle, bool *is_library)
{
	const struct trace_module *row = plan_module_created(e, c->rec->id);

	*is_library = c->f && !strncmp(c->f->name, "cuLibrary", 9);
	if (row) {
		*handle = row->handle;
		*is_library = row->is_library;
		return true;
	}
	return c->f && call_recorded_out(e, c, 0, handle);
}

static int64_t load(struct engine *e, struct image_copy *copy, bool is_library, uint64_t *live)
{
	const struct api_func *f = api_func_find("cuLibraryLoadData");
	/* library, code, and options, values, counts of both kinds: none */
	uint64_t args[8] = {word(live)};
	const void *image = copy->data;
	uint32_t magic;

	memcpy(&magic, image, sizeof(magic));
	if (magic == IMAGE_FATBIN_MAGIC &&
	    (is_library || image_container_size(image, copy->bytes) < copy->bytes))
		image = wrap(copy);
	if (!image)
		return 2;
	if (!is_library)
		return driver_plain(&e->drv, "cuModuleLoadData", 2, word(live), word(image));
	args[1] = word(image);
	if (!f || !driver_function(&e->drv, f))
		return 500;
	return (int32_t)driver_call(driver_function(&e->drv, f), f, args);
}

void module_replay(struct engine *e, struct call *c)
{
	uint64_t handle = 0, live = 0;
	struct diag d = DIAG_INIT;
	bool is_library;
	struct image_copy *image = load_image(e, c->image.buffer, &d);

	if (!image || image->bytes < 4) {
		c->refused = arena_printf(&c->arena, "its image can't be read: %s",
					  image ? "it is empty" : d.what);
		return;
	}
	if (!contexts_enter(e, c->thread)) {
		c->refused = "its context could not be made";
		return;
	}
	recorded_handle(e, c, &handle, &is_library);
	extension_place_globals(e, c->rec->id);
	c->result = load(e, image, is_library, &live);
	e->counts.issued++;
	if (c->result) {
		if (!image->users)
			drop_image(e, c->image.buffer, image);
		if (!c->rec->result)
			note_missing(e, c);
		return;
	}
	note_loaded(e, handle, c->image.buffer, image);
	handles_set(&e->handles, is_library ? e->handles.library_kind : e->handles.module_kind, handle, live);
}

const char *module_missing(struct engine *e, uint64_t id)
{
	const struct trace_module *m = plan_module(e, id);
	uint64_t i;

	while (m) {
		if (map_get(&e->missing_modules, m->created, &i))
			return e->reasons[i];
		m = m->parent && m->parent != m->id ? plan_module(e, m->parent) : NULL;
	}
	return NULL;
}
