/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects of the runtime API: every address mode with a linear filter in two and three dimensions,
 * layers, fractions of bytes, mipmaps, plain memory, surface writes. What must come back is computed on the host after
 * the CUDA C++ Programming Guide, "Texture Fetching": weights have 8 bits behind the point.
 */
#include <cmath>

#include "check.h"

#define W 12
#define H 10
#define D 6
#define N 400

struct sample {
	float u, v, w;
};

extern "C" __global__ void fetch_2d(cudaTextureObject_t t, const sample *at, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex2D<float>(t, at[i].u, at[i].v);
}

extern "C" __global__ void fetch_3d(cudaTextureObject_t t, const sample *at, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex3D<float>(t, at[i].u, at[i].v, at[i].w);
}

extern "C" __global__ void fetch_layers(cudaTextureObject_t t, const sample *at, float4 *out, int layer,
					int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex2DLayered<float4>(t, at[i].u, at[i].v, layer);
}

extern "C" __global__ void fetch_levels(cudaTextureObject_t t, const sample *at, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex2DLod<float>(t, at[i].u, at[i].v, at[i].w);
}

extern "C" __global__ void fetch_linear(cudaTextureObject_t t, int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex1Dfetch<int>(t, i);
}

extern "C" __global__ void invert(cudaSurfaceObject_t s, int width, int height)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	uchar4 p;

	if (x >= width || y >= height)
		return;
	surf2Dread(&p, s, x * 4, y);
	surf2Dwrite(make_uchar4(255 - p.x, 255 - p.y, 255 - p.z, p.w), s, x * 4, y);
}

/* ---- the guide's formulas ------------------------------------------------------- */

static int below(double x, double *weight)
{
	*weight = floor((x - 0.5 - floor(x - 0.5)) * 256 + 0.5) / 256;
	return (int)floor(x - 0.5);
}

/* -1: outside, where a border is 0 */
static int texel(cudaTextureAddressMode mode, int i, int n)
{
	int m = ((i % (2 * n)) + 2 * n) % (2 * n);

	if (i >= 0 && i < n)
		return i;
	switch (mode) {
	case cudaAddressModeWrap: return m % n;
	case cudaAddressModeMirror: return m < n ? m : 2 * n - 1 - m;
	case cudaAddressModeClamp: return i < 0 ? 0 : n - 1;
	default: return -1;
	}
}

static float filtered(const float *image, const int *size, int dims, const float *at,
		      cudaTextureAddressMode mode)
{
	double weight[3], sum = 0;
	int first[3];

	for (int d = 0; d < dims; d++)
		first[d] = below((double)at[d] * size[d], &weight[d]);
	for (int corner = 0; corner < 1 << dims; corner++) {
		double part = 1, value;
		long index = 0;

		for (int d = dims - 1; d >= 0; d--) {
			int i = texel(mode, first[d] + (corner >> d & 1), size[d]);

			part *= corner >> d & 1 ? weight[d] : 1 - weight[d];
			index = i < 0 || index < 0 ? -1 : index * size[d] + i;
		}
		value = index < 0 ? 0 : image[index];
		sum += part * value;
	}
	return (float)sum;
}

/* ---- the tests -------------------------------------------------------------------- */

static const dim3 grid((N + 127) / 128), block(128);
static sample at[N], *device_at;
static float *device_out;

static cudaTextureObject_t make_texture(const cudaResourceDesc *resource, cudaTextureAddressMode mode,
					cudaTextureFilterMode filter, cudaTextureReadMode read,
					int normalized)
{
	cudaTextureDesc desc = {};
	cudaTextureObject_t t;

	desc.addressMode[0] = desc.addressMode[1] = desc.addressMode[2] = mode;
	desc.filterMode = filter;
	desc.mipmapFilterMode = filter;
	desc.readMode = read;
	desc.normalizedCoords = normalized;
	desc.maxMipmapLevelClamp = 10;
	CU(cudaCreateTextureObject(&t, resource, &desc, NULL));
	return t;
}

static cudaResourceDesc of_array(cudaArray_t a)
{
	cudaResourceDesc r = {};

	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	return r;
}

static void expect(const char *what, const float *expected)
{
	static float got[N];

	CU(cudaMemcpy(got, device_out, sizeof(got), cudaMemcpyDeviceToHost));
	compare(what, got, expected, N);
}

static const cudaTextureAddressMode modes[] = {cudaAddressModeWrap, cudaAddressModeClamp,
					       cudaAddressModeMirror, cudaAddressModeBorder};

static void planes(const float *image)
{
	const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	const int size[] = {W, H};
	static float expected[N];
	cudaResourceDesc resource;
	cudaArray_t a;

	CU(cudaMallocArray(&a, &format, W, H));
	CU(cudaMemcpy2DToArray(a, 0, 0, image, W * sizeof(float), W * sizeof(float), H,
			       cudaMemcpyHostToDevice));
	resource = of_array(a);
	for (int m = 0; m < 4; m++) {
		cudaTextureObject_t t =
			make_texture(&resource, modes[m], cudaFilterModeLinear, cudaReadModeElementType, 1);

		LAUNCH(fetch_2d, grid, block, 0, 0, t, device_at, device_out, N);
		for (int i = 0; i < N; i++)
			expected[i] = filtered(image, size, 2, &at[i].u, modes[m]);
		expect("2D", expected);
		CU(cudaDestroyTextureObject(t));
	}
	CU(cudaFreeArray(a));
}

static void volumes(const float *image)
{
	const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	const int size[] = {W, H, D};
	static float expected[N];
	cudaMemcpy3DParms copy = {};
	cudaResourceDesc resource;
	cudaArray_t a;

	CU(cudaMalloc3DArray(&a, &format, make_cudaExtent(W, H, D)));
	copy.srcPtr = make_cudaPitchedPtr((void *)image, W * sizeof(float), W, H);
	copy.dstArray = a;
	copy.extent = make_cudaExtent(W, H, D);
	copy.kind = cudaMemcpyHostToDevice;
	CU(cudaMemcpy3D(&copy));
	resource = of_array(a);
	for (int m = 0; m < 4; m++) {
		cudaTextureObject_t t =
			make_texture(&resource, modes[m], cudaFilterModeLinear, cudaReadModeElementType, 1);

		LAUNCH(fetch_3d, grid, block, 0, 0, t, device_at, device_out, N);
		for (int i = 0; i < N; i++)
			expected[i] = filtered(image, size, 3, &at[i].u, modes[m]);
		expect("3D", expected);
		CU(cudaDestroyTextureObject(t));
	}
	CU(cudaFreeArray(a));
}

/* Bytes as fractions of 255, four channels, nearest texel, layer by layer; one layer beyond the last. */
static void layers()
{
	const cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
	static unsigned char image[3 * W * H * 4];
	static float4 got[N], expected[N], *out;
	cudaMemcpy3DParms copy = {};
	cudaResourceDesc resource;
	cudaTextureObject_t t;
	cudaArray_t a;
	uint32_t seed = 21;

	for (size_t i = 0; i < sizeof(image); i++)
		image[i] = (unsigned char)next_random(&seed);
	CU(cudaMalloc3DArray(&a, &format, make_cudaExtent(W, H, 3), cudaArrayLayered));
	copy.srcPtr = make_cudaPitchedPtr(image, W * 4, W, H);
	copy.dstArray = a;
	copy.extent = make_cudaExtent(W, H, 3);
	copy.kind = cudaMemcpyHostToDevice;
	CU(cudaMemcpy3D(&copy));
	CU(cudaMalloc(&out, sizeof(got)));
	resource = of_array(a);
	t = make_texture(&resource, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeNormalizedFloat,
			 0);
	for (int layer = 0; layer < 4; layer++) {
		LAUNCH(fetch_layers, grid, block, 0, 0, t, device_at, out, layer, N);
		CU(cudaMemcpy(got, out, sizeof(got), cudaMemcpyDeviceToHost));
		for (int i = 0; i < N; i++) {
			int x = texel(cudaAddressModeClamp, (int)floorf(at[i].u), W);
			int y = texel(cudaAddressModeClamp, (int)floorf(at[i].v), H);
			const unsigned char *p = &image[(((layer < 3 ? layer : 2) * H + y) * W + x) * 4];

			expected[i] = make_float4((float)(p[0] / 255.0), (float)(p[1] / 255.0),
						  (float)(p[2] / 255.0), (float)(p[3] / 255.0));
		}
		compare("layer", &got[0].x, &expected[0].x, 4 * N);
	}
	CU(cudaDestroyTextureObject(t));
	CU(cudaFreeArray(a));
	CU(cudaFree(out));
}

/* Level k is all k + 1: what comes back is the level that was asked for, plus one. */
static void levels()
{
	const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	static float image[64], expected[N];
	cudaResourceDesc resource = {};
	cudaMipmappedArray_t m;
	cudaTextureObject_t t;

	CU(cudaMallocMipmappedArray(&m, &format, make_cudaExtent(8, 8, 0), 4));
	for (int k = 0; k < 4; k++) {
		cudaArray_t level;

		for (int i = 0; i < 64; i++)
			image[i] = (float)(k + 1);
		CU(cudaGetMipmappedArrayLevel(&level, m, k));
		CU(cudaMemcpy2DToArray(level, 0, 0, image, (8 >> k) * sizeof(float), (8 >> k) * sizeof(float),
				       8 >> k, cudaMemcpyHostToDevice));
	}
	resource.resType = cudaResourceTypeMipmappedArray;
	resource.res.mipmap.mipmap = m;
	t = make_texture(&resource, cudaAddressModeWrap, cudaFilterModeLinear, cudaReadModeElementType, 1);
	LAUNCH(fetch_levels, grid, block, 0, 0, t, device_at, device_out, N);
	for (int i = 0; i < N; i++) {
		double level = at[i].w < 0 ? 0 : at[i].w > 3 ? 3 : at[i].w;
		double low = floor(level), weight = floor((level - low) * 256 + 0.5) / 256;

		expected[i] = (float)(1 + low + weight);
	}
	expect("level", expected);
	CU(cudaDestroyTextureObject(t));
	CU(cudaFreeMipmappedArray(m));
}

static void linear_memory()
{
	static int data[N], got[N];
	cudaResourceDesc resource = {};
	cudaTextureObject_t t;
	int *device;

	for (int i = 0; i < N; i++)
		data[i] = i * i - 1000;
	CU(cudaMalloc(&device, sizeof(data)));
	CU(cudaMemcpy(device, data, sizeof(data), cudaMemcpyHostToDevice));
	resource.resType = cudaResourceTypeLinear;
	resource.res.linear.devPtr = device;
	resource.res.linear.desc = cudaCreateChannelDesc<int>();
	resource.res.linear.sizeInBytes = sizeof(data);
	t = make_texture(&resource, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, 0);
	LAUNCH(fetch_linear, grid, block, 0, 0, t, (int *)device_out, N);
	CU(cudaMemcpy(got, device_out, sizeof(got), cudaMemcpyDeviceToHost));
	compare("linear memory", got, data, N);
	CU(cudaDestroyTextureObject(t));
	CU(cudaFree(device));
}

static void surfaces()
{
	const cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
	static unsigned char image[W * H * 4], got[W * H * 4], expected[W * H * 4];
	dim3 tiles((W + 7) / 8, (H + 7) / 8), tile(8, 8);
	cudaResourceDesc resource;
	cudaSurfaceObject_t s;
	uint32_t seed = 31;
	cudaArray_t a;

	for (int i = 0; i < W * H * 4; i++) {
		image[i] = (unsigned char)next_random(&seed);
		expected[i] = i % 4 == 3 ? image[i] : 255 - image[i];
	}
	CU(cudaMallocArray(&a, &format, W, H, cudaArraySurfaceLoadStore));
	CU(cudaMemcpy2DToArray(a, 0, 0, image, W * 4, W * 4, H, cudaMemcpyHostToDevice));
	resource = of_array(a);
	CU(cudaCreateSurfaceObject(&s, &resource));
	LAUNCH(invert, tiles, tile, 0, 0, s, W, H);
	CU(cudaMemcpy2DFromArray(got, W * 4, a, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
	compare("surface", got, expected, W * H * 4);
	CU(cudaDestroySurfaceObject(s));
	CU(cudaFreeArray(a));
}

int main()
{
	static float image[W * H * D];
	uint32_t seed = 11;

	for (int i = 0; i < W * H * D; i++)
		image[i] = next_float(&seed) - 0.5f;
	for (int i = 0; i < N; i++) {
		at[i].u = 5 * next_float(&seed) - 2;
		at[i].v = 5 * next_float(&seed) - 2;
		at[i].w = 5 * next_float(&seed) - 1;
	}
	CU(cudaMalloc(&device_at, sizeof(at)));
	CU(cudaMalloc(&device_out, N * sizeof(float)));
	CU(cudaMemcpy(device_at, at, sizeof(at), cudaMemcpyHostToDevice));
	planes(image);
	volumes(image);
	layers();
	levels();
	linear_memory();
	surfaces();
	CU(cudaFree(device_at));
	CU(cudaFree(device_out));
	return finish();
}
