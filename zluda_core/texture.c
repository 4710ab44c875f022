/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture objects: from CUDA's descriptions of resource, sampler and view (CUDA driver API, cuTexObjectCreate) to
 * descriptors.
 */
#include "texture.h"

#include <stdlib.h>
#include <string.h>

#define TEXREF_FLAGS                                                               \
	(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | \
	 CU_TRSF_SEAMLESS_CUBEMAP | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION)

/* ---- resources ------------------------------------------------------------------------ */

static void set_format(struct dev_texture *d, const struct texel_format *f)
{
	d->texel = (uint8_t)f->texel;
	d->channels = (uint8_t)f->channels;
	d->texel_bytes = (uint8_t)texel_bytes(f);
}

static void set_array(struct dev_texture *d, const struct array *a)
{
	set_format(d, &a->format);
	d->dims = (uint8_t)a->dims;
	d->layers = a->layers;
	d->cube = a->desc.Flags & CUDA_ARRAY3D_CUBEMAP;
	d->nlevels = 1;
	d->level[0] = a->level;
}

static CUresult resource_array(struct texture *t)
{
	const struct array *a = array_find(t->resource.res.array.hArray);

	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	set_array(&t->dev, a);
	t->backing = a->mipmap ? (const void *)a->mipmap : a;
	return CUDA_SUCCESS;
}

static CUresult resource_mipmap(struct texture *t)
{
	const struct mipmap *m = mipmap_find(t->resource.res.mipmap.hMipmappedArray);

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	set_array(&t->dev, m->levels[0]);
	t->dev.nlevels = m->nlevels;
	for (unsigned k = 1; k < m->nlevels; k++)
		t->dev.level[k] = m->levels[k]->level;
	t->backing = m;
	return CUDA_SUCCESS;
}

static bool within(const struct context *ctx, CUdevice_attribute limit, uint64_t value)
{
	int most = 0;

	return !cuDeviceGetAttribute(&most, limit, ctx->gpu->ordinal) && value <= (uint64_t)most;
}

static bool aligned(const struct context *ctx, CUdevice_attribute which, uint64_t value)
{
	int align = 1;

	return !cuDeviceGetAttribute(&align, which, ctx->gpu->ordinal) && value % (unsigned)align == 0;
}

/* The memory may go while the texture stays: a fetch finds out. */
static CUresult check_memory(CUdeviceptr ptr, uint64_t bytes)
{
	struct place place;

	return place_find(ptr, bytes, PLACE_DEVICE, &place);
}

static CUresult resource_linear(struct texture *t)
{
	struct texel_format f;
	uint64_t texels, bytes;
	CUresult r = texel_format_find(t->resource.res.linear.format, t->resource.res.linear.numChannels, &f);

	if (r)
		return r;
	texels = t->resource.res.linear.sizeInBytes / texel_bytes(&f);
	bytes = texels * texel_bytes(&f);
	if (!texels ||
	    !aligned(t->ctx, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, t->resource.res.linear.devPtr) ||
	    !within(t->ctx, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, texels))
		return CUDA_ERROR_INVALID_VALUE;
	set_format(&t->dev, &f);
	t->dev.dims = 1;
	t->dev.linear = true;
	t->dev.nlevels = 1;
	t->dev.level[0] = (struct dev_texture_level){.base = t->resource.res.linear.devPtr,
						     .row = bytes,
						     .slice = bytes,
						     .width = (uint32_t)texels,
						     .height = 1,
						     .depth = 1};
	return check_memory(t->resource.res.linear.devPtr, bytes);
}

static CUresult resource_pitch(struct texture *t)
{
	uint64_t width = t->resource.res.pitch2D.width, height = t->resource.res.pitch2D.height;
	uint64_t pitch = t->resource.res.pitch2D.pitchInBytes, ptr = t->resource.res.pitch2D.devPtr;
	const struct context *ctx = t->ctx;
	struct texel_format f;
	CUresult r =
		texel_format_find(t->resource.res.pitch2D.format, t->resource.res.pitch2D.numChannels, &f);

	if (r)
		return r;
	if (!width || !height || !aligned(ctx, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, ptr) ||
	    !aligned(ctx, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, pitch) ||
	    !within(ctx, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, width) ||
	    !within(ctx, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, height) ||
	    !within(ctx, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, pitch) ||
	    pitch < width * texel_bytes(&f))
		return CUDA_ERROR_INVALID_VALUE;
	set_format(&t->dev, &f);
	t->dev.dims = 2;
	t->dev.nlevels = 1;
	t->dev.level[0] = (struct dev_texture_level){.base = ptr,
						     .row = pitch,
						     .slice = pitch * height,
						     .width = (uint32_t)width,
						     .height = (uint32_t)height,
						     .depth = 1};
	return check_memory(ptr, pitch * (height - 1) + width * texel_bytes(&f));
}

static CUresult describe_resource(struct texture *t)
{
	if (t->resource.flags)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((unsigned)t->resource.resType) {
	case CU_RESOURCE_TYPE_ARRAY: return resource_array(t);
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: return resource_mipmap(t);
	case CU_RESOURCE_TYPE_LINEAR: return resource_linear(t);
	case CU_RESOURCE_TYPE_PITCH2D: return resource_pitch(t);
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

/* ---- samplers ----------------------------------------------------------------------------- */

static bool is_small_integer(enum dev_texel t)
{
	return t == DEV_TEXEL_U8 || t == DEV_TEXEL_S8 || t == DEV_TEXEL_U16 || t == DEV_TEXEL_S16;
}

/* Wrapping and mirroring need coordinates that are fractions; otherwise they are clamping (CUDA runtime API,
 * cudaTextureDesc). */
static uint8_t address_mode(const struct dev_texture *d, CUaddress_mode m)
{
	bool needs_fractions = m == CU_TR_ADDRESS_MODE_WRAP || m == CU_TR_ADDRESS_MODE_MIRROR;

	return !d->normalized && needs_fractions ? DEV_ADDRESS_CLAMP : (uint8_t)m;
}

static CUresult describe_sampler(struct texture *t)
{
	const CUDA_TEXTURE_DESC *s = &t->desc;
	struct dev_texture *d = &t->dev;

	if (s->flags & ~(unsigned)TEXREF_FLAGS || (unsigned)s->filterMode > CU_TR_FILTER_MODE_LINEAR ||
	    (unsigned)s->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	d->normalized = !d->linear && s->flags & CU_TRSF_NORMALIZED_COORDINATES;
	d->to_float = !(s->flags & CU_TRSF_READ_AS_INTEGER) && is_small_integer((enum dev_texel)d->texel);
	d->srgb = s->flags & CU_TRSF_SRGB;
	d->seamless = s->flags & CU_TRSF_SEAMLESS_CUBEMAP;
	d->filter = s->filterMode == CU_TR_FILTER_MODE_LINEAR;
	d->mip_filter = s->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
	for (unsigned k = 0; k < 3; k++) {
		if ((unsigned)s->addressMode[k] > CU_TR_ADDRESS_MODE_BORDER)
			return CUDA_ERROR_INVALID_VALUE;
		d->address[k] = address_mode(d, s->addressMode[k]);
	}
	d->bias = s->mipmapLevelBias;
	d->min_level = s->minMipmapLevelClamp;
	d->max_level = s->maxMipmapLevelClamp;
	memcpy(d->border, s->borderColor, sizeof(d->border));
	return CUDA_SUCCESS;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Another format of the same size; some of the levels; some of the layers. */
static CUresult describe_view(struct texture *t)
{
	const CUDA_RESOURCE_VIEW_DESC *v = &t->view;
	struct dev_texture *d = &t->dev;
	struct texel_format f;
	CUresult r;

	if (t->resource.resType != CU_RESOURCE_TYPE_ARRAY &&
	    t->resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	if (v->format != CU_RES_VIEW_FORMAT_NONE) {
		r = texel_format_of_view(v->format, &f);
		if (r)
			return r;
		if (texel_bytes(&f) != d->texel_bytes)
			return CUDA_ERROR_INVALID_VALUE;
		set_format(d, &f);
	}
	if (v->firstMipmapLevel > v->lastMipmapLevel || v->lastMipmapLevel >= d->nlevels ||
	    v->firstLayer > v->lastLayer || v->lastLayer >= (d->layers ? d->layers : 1))
		return CUDA_ERROR_INVALID_VALUE;
	d->nlevels = v->lastMipmapLevel - v->firstMipmapLevel + 1;
	memmove(d->level, d->level + v->firstMipmapLevel, d->nlevels * sizeof(d->level[0]));
	for (unsigned k = 0; k < d->nlevels; k++)
		d->level[k].base += v->firstLayer * d->level[k].slice;
	if (d->layers)
		d->layers = v->lastLayer - v->firstLayer + 1;
	return d->cube && d->layers % 6 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult texture_describe(struct texture *t)
{
	CUresult r;

	t->dev.linear = false;
	t->dev.layers = 0;
	t->dev.cube = false;
	t->backing = NULL;
	r = describe_resource(t);
	if (!r && t->has_view)
		r = describe_view(t);
	if (!r)
		r = describe_sampler(t);
	t->dev.state = DEV_TEXTURE_LIVE;
	return r;
}

/* ---- objects ----------------------------------------------------------------------------------- */

CUresult cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *resource,
			   const CUDA_TEXTURE_DESC *desc, const CUDA_RESOURCE_VIEW_DESC *view)
{
	struct texture t = {.dev.kind = DEV_TEXTURE};
	CUresult r = context_enter(&t.ctx);

	if (r)
		return r;
	if (!out || !resource || !desc)
		return CUDA_ERROR_INVALID_VALUE;
	t.resource = *resource;
	t.desc = *desc;
	t.has_view = view != NULL;
	if (view)
		t.view = *view;
	r = texture_describe(&t);
	return r ? r : texture_object(&t, out);
}

CUresult cuTexObjectDestroy(CUtexObject handle)
{
	return texture_destroy(handle, DEV_TEXTURE);
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject handle)
{
	return texture_resource(handle, DEV_TEXTURE, out);
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out, CUtexObject handle)
{
	struct texture *t;
	CUresult r = texture_enter(handle, DEV_TEXTURE, out, &t);

	if (!r)
		*out = t->desc;
	return r;
}

/* An object without a view: documented as an error. */
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *out, CUtexObject handle)
{
	struct texture *t;
	CUresult r = texture_enter(handle, DEV_TEXTURE, out, &t);

	if (!r && !t->has_view)
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		*out = t->view;
	return r;
}
