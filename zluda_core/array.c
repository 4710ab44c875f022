/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays and mipmapped arrays. Shapes and their limits: CUDA driver API, cuArray3DCreate,
 * cuMipmappedArrayCreate.
 */
#include "texture.h"

#include <stdlib.h>
#include <string.h>

#define LEVEL_ALIGN 512u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct array *arrays; /* but those that are levels */
static struct mipmap *mipmaps;

struct array *array_find(CUarray handle)
{
	return handle_is(handle, HANDLE_ARRAY) ? (struct array *)handle : NULL;
}

struct mipmap *mipmap_find(CUmipmappedArray handle)
{
	return handle_is(handle, HANDLE_MIPMAP) ? (struct mipmap *)handle : NULL;
}

/* ---- shapes ------------------------------------------------------------------------ */

/* One row for each shape: what identifies it, and the attributes that limit width, height and depth for textures and
 * for surfaces (0: not limited there). A cube's depth is 6, that of cubes in layers a multiple of 6. */
static const struct shape {
	unsigned flags;
	bool has_height, has_depth;
	uint8_t dims;
	int texture[3], surface[3];
} shapes[] = {
#define L(x) CU_DEVICE_ATTRIBUTE_MAXIMUM_##x
	{0, false, false, 1, {L(TEXTURE1D_WIDTH)}, {L(SURFACE1D_WIDTH)}},
	{0,
	 true,
	 false,
	 2,
	 {L(TEXTURE2D_WIDTH), L(TEXTURE2D_HEIGHT)},
	 {L(SURFACE2D_WIDTH), L(SURFACE2D_HEIGHT)}},
	{0,
	 true,
	 true,
	 3,
	 {L(TEXTURE3D_WIDTH), L(TEXTURE3D_HEIGHT), L(TEXTURE3D_DEPTH)},
	 {L(SURFACE3D_WIDTH), L(SURFACE3D_HEIGHT), L(SURFACE3D_DEPTH)}},
	{CUDA_ARRAY3D_LAYERED,
	 false,
	 true,
	 1,
	 {L(TEXTURE1D_LAYERED_WIDTH), 0, L(TEXTURE1D_LAYERED_LAYERS)},
	 {L(SURFACE1D_LAYERED_WIDTH), 0, L(SURFACE1D_LAYERED_LAYERS)}},
	{CUDA_ARRAY3D_LAYERED,
	 true,
	 true,
	 2,
	 {L(TEXTURE2D_LAYERED_WIDTH), L(TEXTURE2D_LAYERED_HEIGHT), L(TEXTURE2D_LAYERED_LAYERS)},
	 {L(SURFACE2D_LAYERED_WIDTH), L(SURFACE2D_LAYERED_HEIGHT), L(SURFACE2D_LAYERED_LAYERS)}},
	{CUDA_ARRAY3D_CUBEMAP, true, true, 2, {L(TEXTURECUBEMAP_WIDTH)}, {L(SURFACECUBEMAP_WIDTH)}},
	{CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED,
	 true,
	 true,
	 2,
	 {L(TEXTURECUBEMAP_LAYERED_WIDTH), 0, L(TEXTURECUBEMAP_LAYERED_LAYERS)},
	 {L(SURFACECUBEMAP_LAYERED_WIDTH), 0, L(SURFACECUBEMAP_LAYERED_LAYERS)}},
#undef L
};

static const struct shape *shape_find(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	unsigned flags = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);

	for (unsigned i = 0; i < ARRAY_SIZE(shapes); i++)
		if (shapes[i].flags == flags && shapes[i].has_height == (d->Height != 0) &&
		    shapes[i].has_depth == (d->Depth != 0))
			return &shapes[i];
	return NULL;
}

static bool fits(const struct gpu *gpu, const int *attributes, const size_t *size)
{
	for (unsigned k = 0; k < 3; k++) {
		int limit = 0;

		if (attributes[k] &&
		    (cuDeviceGetAttribute(&limit, (CUdevice_attribute)attributes[k], gpu->ordinal) ||
		     size[k] > (size_t)limit))
			return false;
	}
	return true;
}

/* 3D arrays have a second set of limits: some may be deeper and less wide. */
static bool fits_texture(const struct gpu *gpu, const struct shape *s, const size_t *size)
{
	static const int deep[] = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
				   CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
				   CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE};

	return fits(gpu, s->texture, size) || (s->dims == 3 && fits(gpu, deep, size));
}

static CUresult check_flags(const CUDA_ARRAY3D_DESCRIPTOR *d, const struct shape *s)
{
	const unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
			       CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE |
			       CUDA_ARRAY3D_COLOR_ATTACHMENT | CUDA_ARRAY3D_SPARSE |
			       CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

	if (d->Flags & ~known || (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER && s->dims != 2))
		return CUDA_ERROR_INVALID_VALUE;
	if (d->Flags & CUDA_ARRAY3D_CUBEMAP &&
	    (d->Width != d->Height || d->Depth % 6 || (!(d->Flags & CUDA_ARRAY3D_LAYERED) && d->Depth != 6)))
		return CUDA_ERROR_INVALID_VALUE;
	if (d->Flags &
	    (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE)) {
		say("arrays with CUDA_ARRAY3D_SPARSE, _DEFERRED_MAPPING or _VIDEO_ENCODE_DECODE are not "
		    "supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

static CUresult check_shape(const struct gpu *gpu, const CUDA_ARRAY3D_DESCRIPTOR *d, const struct shape **out)
{
	const size_t size[3] = {d->Width, d->Height, d->Depth};
	const struct shape *s = shape_find(d);
	CUresult r;

	if (!d->Width || !s)
		return CUDA_ERROR_INVALID_VALUE;
	r = check_flags(d, s);
	if (!r && (!fits_texture(gpu, s, size) ||
		   (d->Flags & CUDA_ARRAY3D_SURFACE_LDST && !fits(gpu, s->surface, size))))
		r = CUDA_ERROR_INVALID_VALUE;
	*out = s;
	return r;
}

/* The limits keep products far below 2^64. */
static void set_shape(struct array *a, const struct shape *s)
{
	const CUDA_ARRAY3D_DESCRIPTOR *d = &a->desc;

	a->dims = s->dims;
	a->layers = s->flags ? (uint32_t)d->Depth : 0;
	a->level.width = (uint32_t)d->Width;
	a->level.height = d->Height ? (uint32_t)d->Height : 1;
	a->level.depth = s->dims == 3 ? (uint32_t)d->Depth : 1;
	a->level.row = (uint64_t)a->level.width * texel_bytes(&a->format);
	a->level.slice = a->level.row * a->level.height;
	a->bytes = a->level.slice * (a->layers ? a->layers : a->level.depth);
}

/* ---- life ------------------------------------------------------------------------------ */

static CUresult array_new(struct context *ctx, const CUDA_ARRAY3D_DESCRIPTOR *d, struct array **out)
{
	struct texel_format format;
	const struct shape *s;
	struct array *a;
	CUresult r = texel_format_find(d->Format, d->NumChannels, &format);

	if (!r)
		r = check_shape(ctx->gpu, d, &s);
	if (r)
		return r;
	a = calloc(1, sizeof(*a));
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->ctx = ctx;
	a->desc = *d;
	a->format = format;
	set_shape(a, s);
	if (!handle_add(a, HANDLE_ARRAY)) {
		free(a);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = a;
	return CUDA_SUCCESS;
}

static void array_free(struct array *a)
{
	handle_remove(a);
	textures_lose(a);
	if (a->range)
		memory_free(a->range);
	free(a);
}

static CUresult back(struct context *ctx, uint64_t bytes, struct range **out)
{
	return memory_alloc(
		&(struct range_request){.bytes = bytes, .kind = RANGE_ARRAY, .gpu = ctx->gpu, .ctx = ctx},
		out);
}

static CUresult create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct context *ctx;
	struct array *a;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	r = array_new(ctx, d, &a);
	if (r)
		return r;
	r = back(ctx, a->bytes, &a->range);
	if (r) {
		array_free(a);
		return r;
	}
	a->level.base = a->range->addr;
	pthread_mutex_lock(&lock);
	a->next = arrays;
	arrays = a;
	pthread_mutex_unlock(&lock);
	*out = (CUarray)a;
	return CUDA_SUCCESS;
}

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	if (!d)
		return core_check() ? core_check() : CUDA_ERROR_INVALID_VALUE;
	return create(out, d);
}

CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR d3 = {0};

	if (!d)
		return core_check() ? core_check() : CUDA_ERROR_INVALID_VALUE;
	d3.Width = d->Width;
	d3.Height = d->Height;
	d3.Format = d->Format;
	d3.NumChannels = d->NumChannels;
	return create(out, &d3);
}

static void unlink_array(struct array *a)
{
	pthread_mutex_lock(&lock);
	for (struct array **at = &arrays; *at; at = &(*at)->next) {
		if (*at == a) {
			*at = a->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

CUresult cuArrayDestroy(CUarray handle)
{
	struct array *a;
	CUresult r = core_check();

	if (r)
		return r;
	a = array_find(handle);
	if (!a || a->mipmap) /* a level goes with its mipmapped array */
		return CUDA_ERROR_INVALID_HANDLE;
	gpu_wait(a->ctx->gpu);
	unlink_array(a);
	array_free(a);
	return CUDA_SUCCESS;
}

/* ---- queries ------------------------------------------------------------------------------ */

static CUresult enter_array(CUarray handle, struct array **a)
{
	CUresult r = core_check();

	if (r)
		return r;
	*a = array_find(handle);
	return *a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle)
{
	struct array *a;
	CUresult r = enter_array(handle, &a);

	if (!r && !out)
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		*out = a->desc;
	return r;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *out, CUarray handle)
{
	struct array *a;
	CUresult r = enter_array(handle, &a);

	if (!r && !out)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	out->Width = a->desc.Width;
	out->Height = a->desc.Height;
	out->Format = a->desc.Format;
	out->NumChannels = a->desc.NumChannels;
	return CUDA_SUCCESS;
}

/* Planes are a property of video formats, which no array here has. */
CUresult cuArrayGetPlane(CUarray *out, CUarray handle, unsigned int plane)
{
	struct array *a;
	CUresult r = enter_array(handle, &a);

	(void)out;
	(void)plane;
	return r ? r : CUDA_ERROR_INVALID_VALUE;
}

/* Documented errors for arrays that are not sparse, or not mapped later. */
CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *out, CUarray handle)
{
	struct array *a;
	CUresult r = enter_array(handle, &a);

	(void)out;
	return r ? r : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray handle, CUdevice device)
{
	struct array *a;
	CUresult r = enter_array(handle, &a);

	(void)out;
	(void)device;
	return r ? r : CUDA_ERROR_INVALID_VALUE;
}

/* ---- mipmapped arrays ---------------------------------------------------------------------------- */

static size_t halve(size_t n, unsigned level)
{
	return n && !(n >> level) ? 1 : n >> level;
}

static CUDA_ARRAY3D_DESCRIPTOR level_desc(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned level)
{
	CUDA_ARRAY3D_DESCRIPTOR l = *d;

	l.Width = halve(d->Width, level);
	l.Height = halve(d->Height, level);
	if (!(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
		l.Depth = halve(d->Depth, level);
	return l;
}

/* 1 + floor(log2(the longest side)). */
static unsigned count_levels(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned wanted)
{
	bool layered = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
	size_t side = d->Width > d->Height ? d->Width : d->Height;
	unsigned n = 0;

	if (!layered && d->Depth > side)
		side = d->Depth;
	for (; side; side >>= 1)
		n++;
	n = n > DEV_TEXTURE_LEVELS ? DEV_TEXTURE_LEVELS : n;
	return wanted < 1 ? 1 : wanted < n ? wanted : n;
}

static void mipmap_free(struct mipmap *m)
{
	handle_remove(m);
	textures_lose(m);
	for (unsigned k = 0; k < m->nlevels; k++)
		array_free(m->levels[k]);
	if (m->range)
		memory_free(m->range);
	free(m);
}

static CUresult make_levels(struct mipmap *m, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned n)
{
	uint64_t bytes = 0;
	CUresult r = CUDA_SUCCESS;

	for (; m->nlevels < n && !r; m->nlevels += !r) {
		CUDA_ARRAY3D_DESCRIPTOR l = level_desc(d, m->nlevels);
		struct array *a;

		r = array_new(m->ctx, &l, &a);
		if (r)
			return r;
		a->mipmap = m;
		a->level.base = bytes;
		bytes += (a->bytes + LEVEL_ALIGN - 1) / LEVEL_ALIGN * LEVEL_ALIGN;
		m->levels[m->nlevels] = a;
	}
	r = back(m->ctx, bytes, &m->range);
	for (unsigned k = 0; k < n && !r; k++)
		m->levels[k]->level.base += m->range->addr;
	return r;
}

static bool fits_mipmapped(const struct gpu *gpu, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	static const int line[3] = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH};
	static const int plane[3] = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH,
				     CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT};
	const size_t size[3] = {d->Width, d->Height, d->Depth};

	return d->Depth || fits(gpu, d->Height ? plane : line, size);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels)
{
	struct context *ctx;
	struct mipmap *m;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || !d || !fits_mipmapped(ctx->gpu, d))
		return CUDA_ERROR_INVALID_VALUE;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->ctx = ctx;
	r = make_levels(m, d, count_levels(d, levels));
	if (!r && !handle_add(m, HANDLE_MIPMAP))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r) {
		mipmap_free(m);
		return r;
	}
	pthread_mutex_lock(&lock);
	m->next = mipmaps;
	mipmaps = m;
	pthread_mutex_unlock(&lock);
	*out = (CUmipmappedArray)m;
	return CUDA_SUCCESS;
}

static CUresult enter_mipmap(CUmipmappedArray handle, struct mipmap **m)
{
	CUresult r = core_check();

	if (r)
		return r;
	*m = mipmap_find(handle);
	return *m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray handle, unsigned int level)
{
	struct mipmap *m;
	CUresult r = enter_mipmap(handle, &m);

	if (r)
		return r;
	if (!out || level >= m->nlevels)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUarray)m->levels[level];
	return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
	struct mipmap *m;
	CUresult r = enter_mipmap(handle, &m);

	if (r)
		return r;
	gpu_wait(m->ctx->gpu);
	pthread_mutex_lock(&lock);
	for (struct mipmap **at = &mipmaps; *at; at = &(*at)->next) {
		if (*at == m) {
			*at = m->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	mipmap_free(m);
	return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *out, CUmipmappedArray handle)
{
	struct mipmap *m;
	CUresult r = enter_mipmap(handle, &m);

	(void)out;
	return r ? r : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUmipmappedArray handle,
					       CUdevice device)
{
	struct mipmap *m;
	CUresult r = enter_mipmap(handle, &m);

	(void)out;
	(void)device;
	return r ? r : CUDA_ERROR_INVALID_VALUE;
}

void arrays_destroy(struct context *ctx)
{
	struct array *a, *dead = NULL;
	struct mipmap *m, *dead_mipmaps = NULL;

	pthread_mutex_lock(&lock);
	for (struct array **at = &arrays; (a = *at);) {
		if (a->ctx != ctx) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		a->next = dead;
		dead = a;
	}
	for (struct mipmap **at = &mipmaps; (m = *at);) {
		if (m->ctx != ctx) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		m->next = dead_mipmaps;
		dead_mipmaps = m;
	}
	pthread_mutex_unlock(&lock);
	while ((a = dead)) {
		dead = a->next;
		array_free(a);
	}
	while ((m = dead_mipmaps)) {
		dead_mipmaps = m->next;
		mipmap_free(m);
	}
}
