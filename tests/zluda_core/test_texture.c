/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects and references: what is accepted, what is told back, and that kernels read and write
 * what was bound, at the time of the launch. What a fetch computes is tests/device_interp/test_texture.c's matter.
 */
#include "core_test.h"

#include <pthread.h>

/* get(out, t): out[i] = texel (i, 0). put(s): texel i of the surface = 100 + i. Both by objects, and by references. */
static const char ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".global .texref tex_a;\n.global .texref tex_b = { filter_mode = linear };\n"
	".global .samplerref smp;\n.global .surfref surf_a;\n"
	".visible .entry get(.param .u64 out, .param .u64 t)\n{\n"
	"	.reg .b32 %i, %z; .reg .f32 %f<5>; .reg .b64 %a, %t;\n"
	"	mov.u32 %i, %tid.x; mov.u32 %z, 0; ld.param.u64 %t, [t]; cvt.rn.f32.u32 %f4, %i;\n"
	"	tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, {%f4, 0f00000000}];\n"
	"	ld.param.u64 %a, [out]; mad.wide.u32 %a, %i, 4, %a; st.global.f32 [%a], %f0; ret;\n}\n"
	".visible .entry put(.param .u64 s)\n{\n"
	"	.reg .b32 %i, %b, %v; .reg .f32 %f; .reg .b64 %s;\n"
	"	mov.u32 %i, %tid.x; ld.param.u64 %s, [s]; shl.b32 %b, %i, 2; add.u32 %v, %i, 100; "
	"cvt.rn.f32.u32 %f, %v;\n"
	"	mov.b32 %v, %f; sust.b.2d.b32.trap [%s, {%b, 0}], {%v}; ret;\n}\n"
	".visible .entry get_ref(.param .u64 out)\n{\n"
	"	.reg .b32 %i; .reg .f32 %f<5>; .reg .b64 %a;\n"
	"	mov.u32 %i, %tid.x; cvt.rn.f32.u32 %f4, %i;\n"
	"	tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [tex_a, {%f4, 0f00000000}];\n"
	"	ld.param.u64 %a, [out]; mad.wide.u32 %a, %i, 4, %a; st.global.f32 [%a], %f0; ret;\n}\n"
	".visible .entry get_linear(.param .u64 out)\n{\n"
	"	.reg .b32 %i; .reg .b32 %f<4>; .reg .b64 %a, %t;\n"
	"	mov.u32 %i, %tid.x; mov.u64 %t, tex_a;\n"
	"	tex.1d.v4.u32.s32 {%f0, %f1, %f2, %f3}, [%t, {%i}];\n"
	"	ld.param.u64 %a, [out]; mad.wide.u32 %a, %i, 4, %a; st.global.u32 [%a], %f0; ret;\n}\n"
	".visible .entry put_ref()\n{\n"
	"	.reg .b32 %i, %b, %v; .reg .f32 %f; .reg .b64 %s;\n"
	"	mov.u32 %i, %tid.x; shl.b32 %b, %i, 2; add.u32 %v, %i, 100; cvt.rn.f32.u32 %f, %v;\n"
	"	mov.b32 %v, %f; sust.b.2d.b32.trap [surf_a, {%b, 0}], {%v}; ret;\n}\n";

#define N 8u

static CUarray make_array(unsigned flags, float first)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = N, .Height = 1, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = flags};
	float data[N];
	CUarray a;

	for (unsigned k = 0; k < N; k++)
		data[k] = first + (float)k;
	OK(cuArray3DCreate(&a, &d));
	OK(cuMemcpyHtoA(a, 0, data, sizeof(data)));
	return a;
}

static CUDA_RESOURCE_DESC of_array(CUarray a)
{
	return (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a};
}

static CUmodule module;
static CUdeviceptr out;

static CUfunction start(const char *name)
{
	CUfunction f = load_function(&module, ptx, name);

	OK(cuMemAlloc(&out, N * 4));
	return f;
}

static void finish(void)
{
	OK(cuMemFree(out));
	OK(cuModuleUnload(module));
}

static CUresult launch(CUfunction f, void **args)
{
	CUresult r = cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, args, NULL);

	return r ? r : cuCtxSynchronize();
}

static void expect(float first)
{
	float got[N];

	OK(cuMemcpyDtoH(got, out, sizeof(got)));
	for (unsigned k = 0; k < N; k++)
		assert_true(got[k] == first + (float)k);
}

/* ---- objects ------------------------------------------------------------------------------ */

static void textures(void **state)
{
	CUfunction get = start("get");
	CUarray a = make_array(0, 10), b = make_array(0, 20);
	CUDA_RESOURCE_DESC ra = of_array(a), rb = of_array(b), resource;
	CUDA_TEXTURE_DESC d = {.maxAnisotropy = 3}, desc;
	CUDA_RESOURCE_VIEW_DESC view;
	CUtexObject t[2];

	(void)state;
	OK(cuTexObjectCreate(&t[0], &ra, &d, NULL));
	OK(cuTexObjectCreate(&t[1], &rb, &d, NULL));
	assert_int_not_equal(t[0], t[1]);
	for (unsigned k = 0; k < 2; k++) {
		OK(launch(get, (void *[]){&out, &t[k]}));
		expect(k ? 20 : 10);
	}
	OK(cuTexObjectGetResourceDesc(&resource, t[1]));
	assert_ptr_equal(resource.res.array.hArray, b);
	OK(cuTexObjectGetTextureDesc(&desc, t[0]));
	assert_memory_equal(&desc, &d, sizeof(d));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetResourceViewDesc(&view, t[0]));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectDestroy(t[0]));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(12345));
	OK(cuTexObjectDestroy(t[0]));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(t[0]));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetTextureDesc(&desc, t[0]));
	OK(cuTexObjectDestroy(t[1]));
	OK(cuArrayDestroy(a));
	OK(cuArrayDestroy(b));
	finish();
}

/* A destroyed object, and one whose array is gone, fail the launch. */
static void use_after_free(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		CUfunction get;
		CUarray a;
		CUtexObject t;
		CUDA_TEXTURE_DESC d = {0};
		CUDA_RESOURCE_DESC r;
		CUcontext own;

		OK(cuCtxCreate_v2(&own, 0, 0));
		get = start("get");
		a = make_array(0, 10);
		r = of_array(a);
		OK(cuTexObjectCreate(&t, &r, &d, NULL));
		OK(k ? cuArrayDestroy(a) : cuTexObjectDestroy(t));
		FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, launch(get, (void *[]){&out, &t}));
		OK(cuCtxDestroy(own));
	}
	OK(cuCtxSetCurrent(test_ctx));
}

static void texture_errors(void **state)
{
	CUarray a = make_array(0, 0);
	CUDA_RESOURCE_DESC array = of_array(a), linear = {.resType = CU_RESOURCE_TYPE_LINEAR}, pitch, r;
	CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = N}, v;
	CUDA_TEXTURE_DESC d = {0}, e;
	CUdeviceptr p;
	CUtexObject t;

	(void)state;
	OK(cuMemAlloc(&p, 4096));
	linear.res.linear.devPtr = p;
	linear.res.linear.format = CU_AD_FORMAT_FLOAT;
	linear.res.linear.numChannels = 4;
	linear.res.linear.sizeInBytes = 4096;
	pitch = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D};
	pitch.res.pitch2D.devPtr = p;
	pitch.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
	pitch.res.pitch2D.numChannels = 1;
	pitch.res.pitch2D.width = 60;
	pitch.res.pitch2D.height = 64;
	pitch.res.pitch2D.pitchInBytes = 64;
#define GOOD(res, desc, vw)                               \
	do {                                              \
		OK(cuTexObjectCreate(&t, res, desc, vw)); \
		OK(cuTexObjectDestroy(t));                \
	} while (0)
#define BAD(res, desc, vw) FAILS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&t, res, desc, vw))
	GOOD(&array, &d, NULL);
	GOOD(&array, &d, &view);
	GOOD(&linear, &d, NULL);
	GOOD(&pitch, &d, NULL);
	BAD(NULL, &d, NULL);
	BAD(&array, NULL, NULL);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(NULL, &array, &d, NULL));
	r = array, r.flags = 1;
	BAD(&r, &d, NULL);
	r = array, r.resType = (CUresourcetype)9;
	BAD(&r, &d, NULL);
	r = array, r.res.array.hArray = NULL;
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuTexObjectCreate(&t, &r, &d, NULL));
	e = d, e.flags = 0x80;
	BAD(&array, &e, NULL);
	e = d, e.filterMode = (CUfilter_mode)2;
	BAD(&array, &e, NULL);
	e = d, e.addressMode[1] = (CUaddress_mode)4;
	BAD(&array, &e, NULL);
	r = linear, r.res.linear.devPtr = p + 256; /* not aligned to CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT */
	BAD(&r, &d, NULL);
	r = linear, r.res.linear.sizeInBytes = 4112; /* beyond the allocation */
	BAD(&r, &d, NULL);
	r = linear, r.res.linear.sizeInBytes = 15;
	BAD(&r, &d, NULL);
	r = linear, r.res.linear.numChannels = 3;
	BAD(&r, &d, NULL);
	BAD(&linear, &d, &view);                    /* views are of arrays */
	r = pitch, r.res.pitch2D.pitchInBytes = 80; /* no multiple of TEXTURE_PITCH_ALIGNMENT */
	BAD(&r, &d, NULL);
	r = pitch, r.res.pitch2D.width = 65;
	BAD(&r, &d, NULL);
	r = pitch, r.res.pitch2D.height = 65;
	BAD(&r, &d, NULL);
	v = view, v.format = CU_RES_VIEW_FORMAT_FLOAT_2X32;
	BAD(&array, &d, &v);
	v = view, v.lastMipmapLevel = 1;
	BAD(&array, &d, &v);
	v = view, v.lastLayer = 1;
	BAD(&array, &d, &v);
	v = view, v.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1;
	FAILS(CUDA_ERROR_NOT_SUPPORTED, cuTexObjectCreate(&t, &array, &d, &v));
	OK(cuMemFree(p));
	OK(cuArrayDestroy(a));
}

/* A view reads the same bits as another format; one layer of several. */
static void views(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR ad = {.Width = N,
				      .Height = 1,
				      .Depth = 3,
				      .Format = CU_AD_FORMAT_UNSIGNED_INT32,
				      .NumChannels = 1,
				      .Flags = CUDA_ARRAY3D_LAYERED};
	CUDA_RESOURCE_VIEW_DESC v = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32,
				     .width = N,
				     .height = 1,
				     .firstLayer = 2,
				     .lastLayer = 2,
				     .depth = 1};
	CUfunction get = start("get");
	CUDA_RESOURCE_DESC r;
	CUDA_TEXTURE_DESC d = {0};
	float data[3 * N];
	CUtexObject t;
	CUarray a;

	(void)state;
	for (unsigned k = 0; k < 3 * N; k++)
		data[k] = (float)k;
	OK(cuArray3DCreate(&a, &ad));
	OK(cuMemcpyHtoA(a, 0, data, sizeof(data)));
	r = of_array(a);
	OK(cuTexObjectCreate(&t, &r, &d, &v));
	OK(launch(get, (void *[]){&out, &t}));
	expect(2 * N);
	OK(cuTexObjectDestroy(t));
	OK(cuArrayDestroy(a));
	finish();
}

static void surfaces(void **state)
{
	CUarray a = make_array(CUDA_ARRAY3D_SURFACE_LDST, 0), plain = make_array(0, 0);
	CUDA_RESOURCE_DESC r = of_array(a), bad = of_array(plain), got;
	CUfunction put = start("put");
	float data[N];
	CUsurfObject s;

	(void)state;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&s, &bad)); /* no CUDA_ARRAY3D_SURFACE_LDST */
	bad.resType = CU_RESOURCE_TYPE_LINEAR;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&s, &bad));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(NULL, &r));
	OK(cuSurfObjectCreate(&s, &r));
	OK(cuSurfObjectGetResourceDesc(&got, s));
	assert_ptr_equal(got.res.array.hArray, a);
	OK(launch(put, (void *[]){&s}));
	OK(cuMemcpyAtoH(data, a, 0, sizeof(data)));
	for (unsigned k = 0; k < N; k++)
		assert_true(data[k] == 100 + (float)k);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(s));
	OK(cuSurfObjectDestroy(s));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectDestroy(s));
	OK(cuArrayDestroy(a));
	OK(cuArrayDestroy(plain));
	finish();
}

/* ---- references --------------------------------------------------------------------------------- */

static void texture_references(void **state)
{
	CUfunction get = start("get_ref");
	CUarray a = make_array(0, 10), b = make_array(0, 20), bound;
	CUtexref ref, other;
	CUsurfref none;
	CUdeviceptr p;
	size_t offset = 99;
	CUDA_ARRAY_DESCRIPTOR flat = {
		.Width = N, .Height = 2, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	float data[64];

	(void)state;
	OK(cuModuleGetTexRef(&ref, module, "tex_a"));
	FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetTexRef(&other, module, "surf_a"));
	FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetSurfRef(&none, module, "tex_a"));
	FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&p, NULL, module, "tex_a"));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetArray(&bound, ref));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexRefSetArray(ref, a, 0));
	OK(cuTexRefSetArray(ref, a, CU_TRSA_OVERRIDE_FORMAT));
	OK(cuTexRefGetArray(&bound, ref));
	assert_ptr_equal(bound, a);
	OK(launch(get, (void *[]){&out}));
	expect(10);
	OK(cuTexRefSetArray(ref, b, CU_TRSA_OVERRIDE_FORMAT)); /* bound anew between launches */
	OK(launch(get, (void *[]){&out}));
	expect(20);
	for (unsigned k = 0; k < 64; k++)
		data[k] = 30 + (float)k;
	OK(cuMemAlloc(&p, 512 + sizeof(data)));
	OK(cuMemcpyHtoD(p + 512, data, sizeof(data)));
	OK(cuTexRefSetAddress2D(ref, &flat, p + 512, 32));
	OK(launch(get, (void *[]){&out}));
	expect(30);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddress2D(ref, &flat, p + 256, 32));
	OK(cuTexRefSetFormat(ref, CU_AD_FORMAT_FLOAT, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddress(NULL, ref, p + 516, 4 * N));
	OK(cuTexRefSetAddress(&offset, ref, p + 516, 4 * N));
	assert_int_equal(offset, 4); /* bytes to add to what the kernel asks for */
	OK(cuModuleGetFunction(&get, module, "get_linear"));
	OK(launch(get, (void *[]){&out}));
	expect(30);
	OK(cuTexRefSetAddress(NULL, ref, 0, 0));
	OK(cuMemFree(p));
	OK(cuArrayDestroy(a));
	OK(cuArrayDestroy(b));
	finish();
}

static void reference_properties(void **state)
{
	CUtexref ref, own;
	CUaddress_mode mode;
	CUfilter_mode filter;
	CUarray_format format;
	float border[4] = {1, 2, 3, 4}, got[4], low, high, bias;
	unsigned flags;
	int channels, aniso;

	(void)state;
	start("get_ref");
	OK(cuModuleGetTexRef(&ref, module, "tex_b"));
	OK(cuTexRefGetFilterMode(&filter, ref));
	assert_int_equal(filter, CU_TR_FILTER_MODE_LINEAR); /* its initialiser */
	OK(cuTexRefCreate(&own));
	OK(cuTexRefSetAddressMode(own, 2, CU_TR_ADDRESS_MODE_MIRROR));
	OK(cuTexRefGetAddressMode(&mode, own, 2));
	assert_int_equal(mode, CU_TR_ADDRESS_MODE_MIRROR);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddressMode(own, 3, CU_TR_ADDRESS_MODE_MIRROR));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddressMode(own, 0, (CUaddress_mode)7));
	OK(cuTexRefSetFlags(own, CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_READ_AS_INTEGER));
	OK(cuTexRefGetFlags(&flags, own));
	assert_int_equal(flags, 3);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexRefSetFlags(own, 0x100));
	OK(cuTexRefSetFormat(own, CU_AD_FORMAT_HALF, 2));
	OK(cuTexRefGetFormat(&format, &channels, own));
	assert_int_equal(format, CU_AD_FORMAT_HALF);
	assert_int_equal(channels, 2);
	OK(cuTexRefSetBorderColor(own, border));
	OK(cuTexRefGetBorderColor(got, own));
	assert_memory_equal(got, border, sizeof(border));
	OK(cuTexRefSetMipmapLevelClamp(own, 1, 2));
	OK(cuTexRefGetMipmapLevelClamp(&low, &high, own));
	assert_true(low == 1 && high == 2);
	OK(cuTexRefSetMipmapLevelBias(own, 0.5f));
	OK(cuTexRefGetMipmapLevelBias(&bias, own));
	assert_true(bias == 0.5f);
	OK(cuTexRefSetMipmapFilterMode(own, CU_TR_FILTER_MODE_LINEAR));
	OK(cuTexRefGetMipmapFilterMode(&filter, own));
	assert_int_equal(filter, CU_TR_FILTER_MODE_LINEAR);
	OK(cuTexRefSetMaxAnisotropy(own, 4));
	OK(cuTexRefGetMaxAnisotropy(&aniso, own));
	assert_int_equal(aniso, 4);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexRefDestroy(ref)); /* goes with its module */
	OK(cuTexRefDestroy(own));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexRefDestroy(own));
	finish();
	FAILS(CUDA_ERROR_INVALID_VALUE, cuTexRefGetFlags(&flags, ref));
}

static void surface_references(void **state)
{
	CUarray a = make_array(CUDA_ARRAY3D_SURFACE_LDST, 0), plain = make_array(0, 0), bound;
	CUfunction put = start("put_ref");
	float data[N];
	CUsurfref ref;

	(void)state;
	OK(cuModuleGetSurfRef(&ref, module, "surf_a"));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuSurfRefGetArray(&bound, ref));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuSurfRefSetArray(ref, plain, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuSurfRefSetArray(ref, a, 1));
	OK(cuSurfRefSetArray(ref, a, 0));
	OK(cuSurfRefGetArray(&bound, ref));
	assert_ptr_equal(bound, a);
	OK(launch(put, NULL));
	OK(cuMemcpyAtoH(data, a, 0, sizeof(data)));
	for (unsigned k = 0; k < N; k++)
		assert_true(data[k] == 100 + (float)k);
	OK(cuArrayDestroy(a));
	OK(cuArrayDestroy(plain));
	finish();
}

/* A reference that nothing is bound to can't be read. */
static void unbound(void **state)
{
	CUcontext own;
	CUfunction get;

	(void)state;
	OK(cuCtxCreate_v2(&own, 0, 0));
	get = start("get_ref");
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, launch(get, (void *[]){&out}));
	OK(cuCtxDestroy(own));
	OK(cuCtxSetCurrent(test_ctx));
}

/* Handles are used again late; thousands can live at once. */
static void many(void **state)
{
	static CUtexObject t[5000];
	CUarray a = make_array(0, 1);
	CUDA_RESOURCE_DESC r = of_array(a);
	CUDA_TEXTURE_DESC d = {0};
	CUtexObject again;

	(void)state;
	for (unsigned k = 0; k < 5000; k++)
		OK(cuTexObjectCreate(&t[k], &r, &d, NULL));
	OK(cuTexObjectDestroy(t[17]));
	OK(cuTexObjectCreate(&again, &r, &d, NULL));
	for (unsigned k = 0; k < 5000; k++)
		assert_int_not_equal(again, t[k]);
	for (unsigned k = 0; k < 5000; k++)
		if (k != 17)
			OK(cuTexObjectDestroy(t[k]));
	OK(cuTexObjectDestroy(again));
	OK(cuArrayDestroy(a));
}

/* One thread destroys arrays while another destroys the textures of them. */
#define PAIRS 300
static CUtexObject pair_textures[PAIRS];

static void *destroy_textures(void *arg)
{
	(void)arg;
	if (cuCtxSetCurrent(test_ctx))
		return (void *)1;
	for (unsigned k = 0; k < PAIRS; k++)
		if (cuTexObjectDestroy(pair_textures[k]))
			return (void *)1;
	return NULL;
}

static void two_threads(void **state)
{
	static CUarray arrays[PAIRS];
	CUDA_TEXTURE_DESC d = {0};
	pthread_t thread;
	void *failed;

	(void)state;
	for (unsigned k = 0; k < PAIRS; k++) {
		CUDA_RESOURCE_DESC r = of_array(arrays[k] = make_array(0, 1));

		OK(cuTexObjectCreate(&pair_textures[k], &r, &d, NULL));
	}
	assert_int_equal(pthread_create(&thread, NULL, destroy_textures, NULL), 0);
	for (unsigned k = 0; k < PAIRS; k++)
		OK(cuArrayDestroy(arrays[k]));
	pthread_join(thread, &failed);
	assert_null(failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CONTEXT(textures),
		WITH_CONTEXT(use_after_free),
		WITH_CONTEXT(texture_errors),
		WITH_CONTEXT(views),
		WITH_CONTEXT(surfaces),
		WITH_CONTEXT(texture_references),
		WITH_CONTEXT(reference_properties),
		WITH_CONTEXT(surface_references),
		WITH_CONTEXT(unbound),
		WITH_CONTEXT(many),
		WITH_CONTEXT(two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
