/* SPDX-License-Identifier: Apache-2.0
 *
 * Surface objects (CUDA driver API, cuSurfObjectCreate): arrays made with CUDA_ARRAY3D_SURFACE_LDST, that kernels
 * read and write.
 */
#include "texture.h"

CUresult surface_describe(struct texture *t)
{
	const struct array *a;

	if (t->resource.resType != CU_RESOURCE_TYPE_ARRAY || t->resource.flags)
		return CUDA_ERROR_INVALID_VALUE;
	a = array_find(t->resource.res.array.hArray);
	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!(a->desc.Flags & CUDA_ARRAY3D_SURFACE_LDST))
		return CUDA_ERROR_INVALID_VALUE;
	t->dev.texel = (uint8_t)a->format.texel;
	t->dev.channels = (uint8_t)a->format.channels;
	t->dev.texel_bytes = (uint8_t)texel_bytes(&a->format);
	t->dev.dims = (uint8_t)a->dims;
	t->dev.layers = a->layers;
	t->dev.cube = a->desc.Flags & CUDA_ARRAY3D_CUBEMAP;
	t->dev.nlevels = 1;
	t->dev.level[0] = a->level;
	t->dev.state = DEV_TEXTURE_LIVE;
	t->backing = a->mipmap ? (const void *)a->mipmap : a;
	return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *resource)
{
	struct texture t = {.dev.kind = DEV_SURFACE};
	CUresult r = context_enter(&t.ctx);

	if (r)
		return r;
	if (!out || !resource)
		return CUDA_ERROR_INVALID_VALUE;
	t.resource = *resource;
	r = surface_describe(&t);
	return r ? r : texture_object(&t, out);
}

CUresult cuSurfObjectDestroy(CUsurfObject handle)
{
	return texture_destroy(handle, DEV_SURFACE);
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject handle)
{
	return texture_resource(handle, DEV_SURFACE, out);
}
