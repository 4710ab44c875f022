/* SPDX-License-Identifier: Apache-2.0
 *
 * texture: the inside of arrays, texture and surface objects, and references (array.c, texel_format.c,
 * texture_table.c, texture.c, surface.c, texture_ref.c). An array is memory in rows without gaps, at addresses that
 * programs are never told. What kernels read and write through is a descriptor (device_texture.h) in one table of
 * 65535 entries for all devices; texture_table.c owns it. Everything that changes a live descriptor, or memory
 * behind one, waits for the device first.
 */
#ifndef CUTRACE_CORE_TEXTURE_H
#define CUTRACE_CORE_TEXTURE_H

#include "core.h"

/* ---- texel_format.c -------------------------------------------------------- */

struct texel_format {
	enum dev_texel texel;
	unsigned channels, channel_bytes;
};
/* CUDA_ERROR_INVALID_VALUE: no such format or number of channels; NOT_SUPPORTED, said by name: one that is not
 * implemented. */
CUresult texel_format_find(CUarray_format format, unsigned channels, struct texel_format *out);
CUresult texel_format_of_view(CUresourceViewFormat format, struct texel_format *out);
static inline unsigned texel_bytes(const struct texel_format *f)
{
	return f->channels * f->channel_bytes;
}

/* ---- array.c ----------------------------------------------------------------- */

struct mipmap;

struct array {
	struct array *next;
	struct context *ctx;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	struct texel_format format;
	unsigned dims;   /* of one layer */
	uint32_t layers; /* 0 = not layered */
	struct dev_texture_level level;
	uint64_t bytes;
	struct range *range;
	struct mipmap *mipmap; /* that it is a level of, or NULL */
};

struct mipmap {
	struct mipmap *next;
	struct context *ctx;
	unsigned nlevels;
	struct array *levels[DEV_TEXTURE_LEVELS];
	struct range *range;
};

struct array *array_find(CUarray handle); /* NULL: not a live one */
struct mipmap *mipmap_find(CUmipmappedArray handle);
void arrays_destroy(struct context *ctx);

/* ---- texture_table.c --------------------------------------------------------------- */

struct texture {
	struct dev_texture dev;
	struct context *ctx;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC desc;
	CUDA_RESOURCE_VIEW_DESC view;
	bool has_view, is_reference;
	const void *backing; /* the array or mipmapped array, or NULL */
};

/* A copy of *t with a handle, known to the device. */
CUresult texture_add(const struct texture *t, struct texture **out);
CUresult texture_update(struct texture *t); /* t->dev has changed; waits for the device */
void texture_remove(struct texture *t);     /* waits, frees t */
/* A described *t as an object of the program's; its handle. */
CUresult texture_object(const struct texture *t, unsigned long long *handle);
/* For a call about an object that answers into `out`: the object, or the call's error. */
CUresult texture_enter(uint64_t handle, enum dev_texture_kind kind, const void *out, struct texture **t);
CUresult texture_resource(uint64_t handle, enum dev_texture_kind kind, CUDA_RESOURCE_DESC *out);
/* An object of the program's. CUDA_ERROR_INVALID_VALUE: there is none. */
CUresult texture_destroy(uint64_t handle, enum dev_texture_kind kind);
/* A live object (not a reference) of that kind, or NULL. */
struct texture *texture_find(uint64_t handle, enum dev_texture_kind kind);
void textures_lose(const void *backing); /* an array is going */
void textures_destroy(struct context *ctx);
/* The calling thread's next object gets this handle if it is free (extension.h). */
void texture_place_next(uint64_t handle);

/* ---- texture.c --------------------------------------------------------------------- */

/* Fills t->dev and t->backing from t->resource, t->desc and the view. */
CUresult texture_describe(struct texture *t);
CUresult surface_describe(struct texture *t);

/* ---- texture_ref.c ------------------------------------------------------------------- */

/* .texref, .samplerref and .surfref variables of a module: descriptors for them, their handles into memory. */
CUresult references_create(struct module *m);
void references_destroy(struct module *m);
void references_drop(struct context *ctx); /* all that are left */
bool is_reference_type(const struct ptx_symbol *s);

#endif
