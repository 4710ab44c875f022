/* SPDX-License-Identifier: Apache-2.0
 *
 * From an operand to a descriptor. Handles are below 2^32; anything above is the address of a .texref,
 * .samplerref or .surfref variable, which holds its handle (ISA 9.7.10.3, indirect access).
 */
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/device_interp/exec_tex.h"

bool tex_geometry(const struct ptx_inst *in, struct tex_geometry *out)
{
	static const struct {
		const char *name;
		struct tex_geometry g;
	} rows[] = {
		{"1d", {1, false, false}},  {"2d", {2, false, false}}, {"3d", {3, false, false}},
		{"a1d", {1, true, false}},  {"a2d", {2, true, false}}, {"cube", {3, false, true}},
		{"acube", {3, true, true}},
	};
	const char *name = ptx_shape_name(in->shape);

	for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
		if (!strcmp(rows[k].name, name)) {
			*out = rows[k].g;
			return true;
		}
	return false;
}

int tex_ref_source(struct decode *c, const struct ptx_operand *o, struct tex_ref *out)
{
	if (o->kind == PTX_OPND_PARAM && c->func->is_entry) {
		*out = (struct tex_ref){OPERAND_NONE, (uint32_t)o->imm};
		return o->imm + 8 <= c->func->param_bytes
			       ? 0
			       : refuse(c, "the parameter is no reference to a texture or surface");
	}
	if (o->kind != PTX_OPND_VALUE && o->kind != PTX_OPND_SYMBOL)
		return refuse(c, "this operand names no texture or surface");
	return source(c, o, 64, false, &out->cell);
}

static bool read_handle(struct warp *w, const struct xinst *i, unsigned lane, const struct tex_ref *ref,
			uint64_t *handle)
{
	if (ref->cell == OPERAND_NONE)
		memcpy(handle, w->block->grid->params + ref->param, 8);
	else
		*handle = ((const uint64_t *)cell(w, ref->cell))[lane];
	if (*handle <= UINT32_MAX)
		return true;
	const uint8_t *p = mem_range(w, i, *handle, 8);

	if (p)
		memcpy(handle, p, 8);
	return p != NULL;
}

static const struct dev_texture *entry(const struct warp *w, uint64_t handle)
{
	const struct dev_texture *table = atomic_load(&w->worker->dev->textures);
	const struct dev_texture *t = table ? &table[handle % DEV_TEXTURES] : NULL;

	return t && handle && t->handle == handle ? t : NULL;
}

const struct dev_texture *tex_peek(struct warp *w, const struct xinst *i, unsigned lane,
				   const struct tex_ref *ref)
{
	uint64_t handle;

	return read_handle(w, i, lane, ref, &handle) ? entry(w, handle) : NULL;
}

static const char *kind_name(enum dev_texture_kind kind)
{
	return kind == DEV_SURFACE ? "surface" : kind == DEV_SAMPLER ? "sampler" : "texture";
}

static const char *why_unusable(const struct dev_texture *t, enum dev_texture_kind kind)
{
	if (t->kind != kind)
		return t->kind == DEV_SURFACE   ? "it is a surface"
		       : t->kind == DEV_SAMPLER ? "it is a sampler"
						: "it is a texture";
	switch (t->state) {
	case DEV_TEXTURE_UNBOUND: return "nothing is bound to the reference";
	case DEV_TEXTURE_DESTROYED: return "use after free: the object was destroyed";
	case DEV_TEXTURE_ARRAY_GONE: return "use after free: the array that it was made of was destroyed";
	default: return NULL;
	}
}

const struct dev_texture *tex_find(struct warp *w, const struct xinst *i, unsigned lane,
				   const struct tex_ref *ref, enum dev_texture_kind kind)
{
	uint64_t handle = 0;
	const struct dev_texture *t = read_handle(w, i, lane, ref, &handle) ? entry(w, handle) : NULL;
	const char *why = t ? why_unusable(t, kind) : "there is no such object";

	if (likely(!why))
		return t;
	fault_lane(w, i, DEV_FAULT_ILLEGAL_ADDRESS, lane, "%s 0x%llx can't be used, %s", kind_name(kind),
		   (unsigned long long)handle, why);
	return NULL;
}
