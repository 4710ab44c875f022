/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface references (CUDA driver API, "Texture Reference Management" and "Surface Reference
 * Management", deprecated): descriptors that .texref and .surfref variables of a module name, or that stand alone.
 * What is bound may change between launches; a change waits for those that run. Samplers of independent texturing
 * mode have no functions: their initialisers say all.
 */
#include "texture.h"

#include <stdlib.h>
#include <string.h>

struct reference {
	struct reference *next;
	struct module *module; /* NULL: cuTexRefCreate's */
	const char *name;
	struct texture *texture;
	bool bound;
	CUarray_format format; /* of linear and pitch memory */
	int channels;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reference *references;

bool is_reference_type(const struct ptx_symbol *s)
{
	return s->type == PTX_TEXREF || s->type == PTX_SAMPLERREF || s->type == PTX_SURFREF;
}

/* ---- life ------------------------------------------------------------------------------- */

static void unlink_reference(struct reference *ref)
{
	pthread_mutex_lock(&lock);
	for (struct reference **at = &references; *at; at = &(*at)->next) {
		if (*at == ref) {
			*at = ref->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

static CUresult reference_new(struct context *ctx, enum dev_texture_kind kind, struct reference **out)
{
	struct texture t = {.dev = {.kind = (uint8_t)kind, .state = DEV_TEXTURE_UNBOUND},
			    .ctx = ctx,
			    .is_reference = true};
	struct reference *ref = calloc(1, sizeof(*ref));
	CUresult r = ref ? texture_add(&t, &ref->texture) : CUDA_ERROR_OUT_OF_MEMORY;

	if (r) {
		free(ref);
		return r;
	}
	ref->format = CU_AD_FORMAT_FLOAT;
	ref->channels = 1;
	for (unsigned k = 0; k < 3; k++)
		ref->texture->desc.addressMode[k] = CU_TR_ADDRESS_MODE_CLAMP;
	if (!handle_add(ref, kind == DEV_SURFACE ? HANDLE_SURFREF : HANDLE_TEXREF)) {
		texture_remove(ref->texture);
		free(ref);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&lock);
	ref->next = references;
	references = ref;
	pthread_mutex_unlock(&lock);
	*out = ref;
	return CUDA_SUCCESS;
}

static void reference_free(struct reference *ref)
{
	handle_remove(ref);
	unlink_reference(ref);
	texture_remove(ref->texture);
	free(ref);
}

/* ---- variables of modules ------------------------------------------------------------------------ */

static const uint8_t device_modes[] = {[PTX_ADDR_WRAP] = DEV_ADDRESS_WRAP,
				       [PTX_ADDR_MIRROR] = DEV_ADDRESS_MIRROR,
				       [PTX_ADDR_CLAMP_OGL] = DEV_ADDRESS_CLAMP_OGL,
				       [PTX_ADDR_CLAMP_TO_EDGE] = DEV_ADDRESS_CLAMP,
				       [PTX_ADDR_CLAMP_TO_BORDER] = DEV_ADDRESS_BORDER};

static CUresult initialise_sampler(struct texture *t, const struct ptx_opaque *init)
{
	t->dev.state = DEV_TEXTURE_LIVE;
	for (unsigned k = 0; k < 3; k++)
		t->dev.address[k] = init && init->addr_mode[k] != PTX_OPAQUE_UNSET
					    ? device_modes[init->addr_mode[k]]
					    : DEV_ADDRESS_CLAMP;
	t->dev.filter = init && init->filter_mode == 1;
	t->dev.force_texels = init && init->force_unnormalized_coords == 1;
	return texture_update(t);
}

/* What the API sets later replaces it. */
static void initialise_texture(CUDA_TEXTURE_DESC *desc, const struct ptx_opaque *init)
{
	static const CUaddress_mode modes[] = {[DEV_ADDRESS_WRAP] = CU_TR_ADDRESS_MODE_WRAP,
					       [DEV_ADDRESS_CLAMP] = CU_TR_ADDRESS_MODE_CLAMP,
					       [DEV_ADDRESS_MIRROR] = CU_TR_ADDRESS_MODE_MIRROR,
					       [DEV_ADDRESS_BORDER] = CU_TR_ADDRESS_MODE_BORDER,
					       [DEV_ADDRESS_CLAMP_OGL] = CU_TR_ADDRESS_MODE_CLAMP};

	if (init->normalized_coords == 1)
		desc->flags |= CU_TRSF_NORMALIZED_COORDINATES;
	if (init->filter_mode == 1)
		desc->filterMode = CU_TR_FILTER_MODE_LINEAR;
	for (unsigned k = 0; k < 3; k++)
		if (init->addr_mode[k] != PTX_OPAQUE_UNSET)
			desc->addressMode[k] = modes[device_modes[init->addr_mode[k]]];
}

static CUresult reference_create(struct module *m, const struct ptx_symbol *s, uint64_t addr)
{
	const struct ptx_opaque *init = (const struct ptx_opaque *)s->init;
	struct reference *ref;
	CUresult r = reference_new(m->ctx,
				   s->type == PTX_TEXREF    ? DEV_TEXTURE
				   : s->type == PTX_SURFREF ? DEV_SURFACE
							    : DEV_SAMPLER,
				   &ref);

	if (r)
		return r;
	ref->module = m;
	ref->name = s->name;
	if (s->type == PTX_SAMPLERREF)
		r = initialise_sampler(ref->texture, init);
	else if (s->type == PTX_TEXREF && init)
		initialise_texture(&ref->texture->desc, init);
	return r ? r : memory_write(m->ctx->gpu, addr, &ref->texture->dev.handle, sizeof(uint64_t));
}

CUresult references_create(struct module *m)
{
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = 0; i < m->nglobals && !r; i++) {
		const struct ptx_symbol *s = m->ptx->symbols[m->globals[i].symbol];

		if (is_reference_type(s) && s->size == sizeof(uint64_t))
			r = reference_create(m, s, m->globals[i].range->addr);
	}
	return r;
}

static struct reference *find_of(const struct module *m, const char *name, enum dev_texture_kind kind)
{
	struct reference *ref;

	pthread_mutex_lock(&lock);
	for (ref = references; ref; ref = ref->next)
		if (ref->module == m &&
		    (!name || (!strcmp(ref->name, name) && ref->texture->dev.kind == kind)))
			break;
	pthread_mutex_unlock(&lock);
	return ref;
}

void references_destroy(struct module *m)
{
	struct reference *ref;

	while ((ref = find_of(m, NULL, DEV_TEXTURE)))
		reference_free(ref);
}

void references_drop(struct context *ctx)
{
	struct reference *ref;

	do {
		pthread_mutex_lock(&lock);
		for (ref = references; ref && ref->texture->ctx != ctx; ref = ref->next)
			;
		pthread_mutex_unlock(&lock);
		if (ref)
			reference_free(ref);
	} while (ref);
}

static CUresult module_reference(void **out, CUmodule module, const char *name, enum dev_texture_kind kind)
{
	struct context *ctx;
	struct reference *ref;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!handle_is(module, HANDLE_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	ref = find_of((struct module *)module, name, kind);
	if (ref)
		*out = ref;
	return ref ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetTexRef(CUtexref *out, CUmodule module, const char *name)
{
	return module_reference((void **)out, module, name, DEV_TEXTURE);
}

CUresult cuModuleGetSurfRef(CUsurfref *out, CUmodule module, const char *name)
{
	return module_reference((void **)out, module, name, DEV_SURFACE);
}

CUresult cuTexRefCreate(CUtexref *out)
{
	struct context *ctx;
	struct reference *ref;
	CUresult r = context_enter(&ctx);

	if (!r && !out)
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		r = reference_new(ctx, DEV_TEXTURE, &ref);
	if (!r)
		*out = (CUtexref)ref;
	return r;
}

static CUresult enter(const void *handle, enum handle_kind kind, struct reference **ref)
{
	CUresult r = core_check();

	if (r)
		return r;
	*ref = (struct reference *)(uintptr_t)handle;
	return handle_is(handle, kind) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexRefDestroy(CUtexref handle)
{
	struct reference *ref;
	CUresult r = enter(handle, HANDLE_TEXREF, &ref);

	if (!r && ref->module) /* goes with its module */
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		reference_free(ref);
	return r;
}

/* Kernels find their references by name; naming one again does nothing (CU_PARAM_TR_DEFAULT is the only unit). */
CUresult cuParamSetTexRef(CUfunction function, int unit, CUtexref handle)
{
	struct reference *ref;
	CUresult r = enter(handle, HANDLE_TEXREF, &ref);

	if (!r && !handle_is(function, HANDLE_FUNCTION))
		r = CUDA_ERROR_INVALID_HANDLE;
	return r ? r : unit == CU_PARAM_TR_DEFAULT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- setters ---------------------------------------------------------------------------------------- */

/* Describes the texture anew from `next`; an error leaves it as it was. */
static CUresult change(struct reference *ref, const struct texture *next)
{
	struct texture t = *next;
	CUresult r = CUDA_SUCCESS;

	if (ref->bound)
		r = t.dev.kind == DEV_SURFACE ? surface_describe(&t) : texture_describe(&t);
	if (r)
		return r;
	t.dev.state = ref->bound ? DEV_TEXTURE_LIVE : DEV_TEXTURE_UNBOUND;
	gpu_wait(t.ctx->gpu);
	*ref->texture = t;
	return texture_update(ref->texture);
}

static CUresult bind(struct reference *ref, const CUDA_RESOURCE_DESC *resource)
{
	struct texture t = *ref->texture;
	bool was = ref->bound;
	CUresult r;

	if (resource)
		t.resource = *resource;
	t.backing = NULL;
	ref->bound = resource != NULL;
	r = change(ref, &t);
	if (r)
		ref->bound = was;
	return r;
}

CUresult cuTexRefSetArray(CUtexref handle, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
	struct reference *ref;
	CUresult r = enter(handle, HANDLE_TEXREF, &ref);

	if (!r && array && flags != CU_TRSA_OVERRIDE_FORMAT)
		r = CUDA_ERROR_INVALID_VALUE;
	return r ? r : bind(ref, array ? &d : NULL);
}

CUresult cuTexRefSetMipmappedArray(CUtexref handle, CUmipmappedArray mipmap, unsigned int flags)
{
	CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
				.res.mipmap.hMipmappedArray = mipmap};
	struct reference *ref;
	CUresult r = enter(handle, HANDLE_TEXREF, &ref);

	if (!r && mipmap && flags != CU_TRSA_OVERRIDE_FORMAT)
		r = CUDA_ERROR_INVALID_VALUE;
	return r ? r : bind(ref, mipmap ? &d : NULL);
}

/* The address is brought down to the alignment; what a fetch must add is handed out. */
CUresult cuTexRefSetAddress_v2(size_t *byte_offset, CUtexref handle, CUdeviceptr ptr, size_t bytes)
{
	CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_LINEAR};
	struct reference *ref;
	int align = 512;
	CUresult r = enter(handle, HANDLE_TEXREF, &ref);

	if (r)
		return r;
	if (!ptr || !bytes)
		return bind(ref, NULL);
	cuDeviceGetAttribute(&align, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, ref->texture->ctx->gpu->ordinal);
	if (!byte_offset && ptr % (unsigned)align)
		return CUDA_ERROR_INVALID_VALUE;
	d.res.linear.devPtr = ptr - ptr % (unsigned)align;
	d.res.linear.sizeInBytes = bytes + ptr % (unsigned)align;
	d.res.linear.format = ref->format;
	d.res.linear.numChannels = (unsigned)ref->channels;
	r = bind(ref, &d);
	if (!r && byte_offset)
		*byte_offset = ptr % (unsigned)align;
	return r;
}

CUresult cuTexRefSetAddress2D_v3(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr ptr,
				 size_t pitch)
{
	CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_PITCH2D};
	struct reference *ref;
	CUresult r = enter(handle, HANDLE_TEXREF, &ref);

	if (!r && !desc)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	d.res.pitch2D.devPtr = ptr;
	d.res.pitch2D.format = desc->Format;
	d.res.pitch2D.numChannels = desc->NumChannels;
	d.res.pitch2D.width = desc->Width;
	d.res.pitch2D.height = desc->Height;
	d.res.pitch2D.pitchInBytes = pitch;
	r = bind(ref, &d);
	if (!r) {
		ref->format = desc->Format;
		ref->channels = (int)desc->NumChannels;
	}
	return r;
}

CUresult cuTexRefSetAddress2D_v2(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr ptr,
				 size_t pitch)
{
	return cuTexRefSetAddress2D_v3(handle, desc, ptr, pitch);
}

CUresult cuTexRefSetFormat(CUtexref handle, CUarray_format format, int channels)
{
	struct texel_format f;
	struct reference *ref;
	struct texture t;
	CUresult r = enter(handle, HANDLE_TEXREF, &ref);

	if (!r)
		r = texel_format_find(format, (unsigned)channels, &f);
	if (r)
		return r;
	ref->format = format;
	ref->channels = channels;
	if (!ref->bound || ref->texture->resource.resType != CU_RESOURCE_TYPE_LINEAR)
		return CUDA_SUCCESS; /* an array's own format counts */
	t = *ref->texture;
	t.resource.res.linear.format = format;
	t.resource.res.linear.numChannels = (unsigned)channels;
	return change(ref, &t);
}

/* One row a setter: parameters, what makes a value invalid, what it changes. */
#define SETTER(name, params, invalid, assignment)                \
	CUresult name params                                     \
	{                                                        \
		struct reference *ref;                           \
		struct texture t;                                \
		CUresult r = enter(handle, HANDLE_TEXREF, &ref); \
                                                                 \
		if (!r && (invalid))                             \
			r = CUDA_ERROR_INVALID_VALUE;            \
		if (r)                                           \
			return r;                                \
		t = *ref->texture;                               \
		assignment;                                      \
		return change(ref, &t);                          \
	}

SETTER(cuTexRefSetAddressMode, (CUtexref handle, int dim, CUaddress_mode mode),
       dim<0 || dim> 2 || (unsigned)mode > CU_TR_ADDRESS_MODE_BORDER, t.desc.addressMode[dim] = mode)
SETTER(cuTexRefSetFilterMode, (CUtexref handle, CUfilter_mode mode),
       (unsigned)mode > CU_TR_FILTER_MODE_LINEAR, t.desc.filterMode = mode)
SETTER(cuTexRefSetMipmapFilterMode, (CUtexref handle, CUfilter_mode mode),
       (unsigned)mode > CU_TR_FILTER_MODE_LINEAR, t.desc.mipmapFilterMode = mode)
SETTER(cuTexRefSetMipmapLevelBias, (CUtexref handle, float bias), false, t.desc.mipmapLevelBias = bias)
SETTER(cuTexRefSetMipmapLevelClamp, (CUtexref handle, float low, float high), false,
       (t.desc.minMipmapLevelClamp = low, t.desc.maxMipmapLevelClamp = high))
SETTER(cuTexRefSetMaxAnisotropy, (CUtexref handle, unsigned int most), false, t.desc.maxAnisotropy = most)
SETTER(cuTexRefSetBorderColor, (CUtexref handle, float *color), !color,
       memcpy(t.desc.borderColor, color, sizeof(t.desc.borderColor)))
SETTER(cuTexRefSetFlags, (CUtexref handle, unsigned int flags), flags & ~0x73u, t.desc.flags = flags)

/* ---- getters ------------------------------------------------------------------------------------------ */

#define GETTER(name, params, out, available, value)              \
	CUresult name params                                     \
	{                                                        \
		struct reference *ref;                           \
		CUresult r = enter(handle, HANDLE_TEXREF, &ref); \
                                                                 \
		if (!r && (!(out) || !(available)))              \
			r = CUDA_ERROR_INVALID_VALUE;            \
		if (!r)                                          \
			*(out) = (value);                        \
		return r;                                        \
	}
#define DESC         (ref->texture->desc)
#define RESOURCE     (ref->texture->resource)
#define IS_BOUND(to) (ref->bound && RESOURCE.resType == CU_RESOURCE_TYPE_##to)

GETTER(cuTexRefGetAddress_v2, (CUdeviceptr * out, CUtexref handle), out,
       IS_BOUND(LINEAR) || IS_BOUND(PITCH2D),
       IS_BOUND(LINEAR) ? RESOURCE.res.linear.devPtr : RESOURCE.res.pitch2D.devPtr)
GETTER(cuTexRefGetArray, (CUarray * out, CUtexref handle), out, IS_BOUND(ARRAY), RESOURCE.res.array.hArray)
GETTER(cuTexRefGetMipmappedArray, (CUmipmappedArray * out, CUtexref handle), out, IS_BOUND(MIPMAPPED_ARRAY),
       RESOURCE.res.mipmap.hMipmappedArray)
GETTER(cuTexRefGetAddressMode, (CUaddress_mode * out, CUtexref handle, int dim), out, dim >= 0 && dim <= 2,
       DESC.addressMode[dim])
GETTER(cuTexRefGetFilterMode, (CUfilter_mode * out, CUtexref handle), out, true, DESC.filterMode)
GETTER(cuTexRefGetMipmapFilterMode, (CUfilter_mode * out, CUtexref handle), out, true, DESC.mipmapFilterMode)
GETTER(cuTexRefGetMipmapLevelBias, (float *out, CUtexref handle), out, true, DESC.mipmapLevelBias)
GETTER(cuTexRefGetMaxAnisotropy, (int *out, CUtexref handle), out, true, (int)DESC.maxAnisotropy)
GETTER(cuTexRefGetFlags, (unsigned int *out, CUtexref handle), out, true, DESC.flags)

CUresult cuTexRefGetMipmapLevelClamp(float *low, float *high, CUtexref handle)
{
	struct reference *ref;
	CUresult r = enter(handle, HANDLE_TEXREF, &ref);

	if (!r && (!low || !high))
		r = CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	*low = DESC.minMipmapLevelClamp;
	*high = DESC.maxMipmapLevelClamp;
	return CUDA_SUCCESS;
}

CUresult cuTexRefGetBorderColor(float *out, CUtexref handle)
{
	struct reference *ref;
	CUresult r = enter(handle, HANDLE_TEXREF, &ref);

	if (!r && !out)
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		memcpy(out, DESC.borderColor, sizeof(DESC.borderColor));
	return r;
}

CUresult cuTexRefGetFormat(CUarray_format *format, int *channels, CUtexref handle)
{
	struct reference *ref;
	const struct array *a;
	CUresult r = enter(handle, HANDLE_TEXREF, &ref);

	if (!r && (!format || !channels))
		r = CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	a = IS_BOUND(ARRAY) ? array_find(RESOURCE.res.array.hArray) : NULL;
	*format = a ? a->desc.Format : ref->format;
	*channels = a ? (int)a->desc.NumChannels : ref->channels;
	return CUDA_SUCCESS;
}

/* ---- surface references --------------------------------------------------------------------------------- */

CUresult cuSurfRefSetArray(CUsurfref handle, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
	struct reference *ref;
	CUresult r = enter(handle, HANDLE_SURFREF, &ref);

	if (!r && flags)
		r = CUDA_ERROR_INVALID_VALUE;
	return r ? r : bind(ref, &d);
}

CUresult cuSurfRefGetArray(CUarray *out, CUsurfref handle)
{
	struct reference *ref;
	CUresult r = enter(handle, HANDLE_SURFREF, &ref);

	if (!r && (!out || !ref->bound))
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		*out = RESOURCE.res.array.hArray;
	return r;
}
