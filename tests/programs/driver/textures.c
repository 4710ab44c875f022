/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, a texture object, a texture reference, a surface object and a surface reference. What a fetch must return is
 * computed here after the CUDA C++ Programming Guide, "Texture Fetching".
 */
#include <math.h>
#include <string.h>

#include "host.h"

#define WIDTH  16
#define HEIGHT 12
#define LAYERS 3
#define N      300
#define BLOCKS ((struct dim){(N + 127) / 128, 1, 1})
#define BLOCK  ((struct dim){128, 1, 1})

static float u[N], v[N];
static CUdeviceptr du, dv;

static CUarray make_array(size_t width, size_t height, size_t depth, unsigned format, unsigned channels,
			  unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {width, height, depth, format, channels, flags};
	CUarray a;

	CU(cuArray3DCreate_v2(&a, &d));
	return a;
}

/* Rows of the host to a whole array, or back. */
static void copy_rows(CUarray a, void *host, size_t bytes, size_t rows, int to_array)
{
	CUDA_MEMCPY2D p = {0};

	p.srcMemoryType = to_array ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
	p.dstMemoryType = to_array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
	if (to_array) {
		p.srcHost = host;
		p.srcPitch = bytes;
		p.dstArray = a;
	} else {
		p.srcArray = a;
		p.dstHost = host;
		p.dstPitch = bytes;
	}
	p.WidthInBytes = bytes;
	p.Height = rows;
	CU(cuMemcpy2D_v2(&p));
}

/* ---- a texture object: linear filter, wrapped and mirrored fractions --------------- */

/* floor(x - 0.5), and the fraction in 1.8 fixed point */
static int below(double x, double *weight)
{
	*weight = floor((x - 0.5 - floor(x - 0.5)) * 256 + 0.5) / 256;
	return (int)floor(x - 0.5);
}

static int wrap(int i, int n)
{
	return (i % n + n) % n;
}

static int mirror(int i, int n)
{
	i = wrap(i, 2 * n);
	return i < n ? i : 2 * n - 1 - i;
}

static float filtered(const float *image, float x, float y)
{
	double a, b, sum = 0;
	int i = below((double)x * WIDTH, &a), j = below((double)y * HEIGHT, &b);

	for (int k = 0; k < 4; k++) {
		double weight = (k & 1 ? a : 1 - a) * (k & 2 ? b : 1 - b);

		sum += weight * (double)image[mirror(j + k / 2, HEIGHT) * WIDTH + wrap(i + k % 2, WIDTH)];
	}
	return (float)sum;
}

static void texture_object(void)
{
	static float image[WIDTH * HEIGHT], got[N], expected[N];
	CUDA_RESOURCE_DESC resource = {CU_RESOURCE_TYPE_ARRAY, {.array = NULL}, 0};
	CUDA_TEXTURE_DESC sampler = {.addressMode = {CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_MIRROR},
				     .filterMode = CU_TR_FILTER_MODE_LINEAR,
				     .flags = CU_TRSF_NORMALIZED_COORDINATES};
	CUdeviceptr out = host_buffer(NULL, sizeof(got));
	CUfunction sample = host_kernel("sample_object");
	CUarray array = make_array(WIDTH, HEIGHT, 0, CU_AD_FORMAT_FLOAT, 1, 0);
	uint32_t n = N, seed = 3;
	CUtexObject texture;

	for (int i = 0; i < WIDTH * HEIGHT; i++)
		image[i] = host_random_float(&seed) - 0.5f;
	copy_rows(array, image, WIDTH * sizeof(float), HEIGHT, 1);
	resource.res.array = array;
	CU(cuTexObjectCreate(&texture, &resource, &sampler, NULL));
	host_launch(sample, "sample_object", BLOCKS, BLOCK, 0, NULL,
		    (void *[]){&texture, &du, &dv, &out, &n});
	host_read(got, out, sizeof(got));
	for (int i = 0; i < N; i++)
		expected[i] = filtered(image, u[i], v[i]);
	host_compare_f32("texture object", got, expected, N);
	CU(cuTexObjectDestroy(texture));
	CU(cuArrayDestroy(array));
	CU(cuMemFree_v2(out));
}

/* ---- a texture reference: 8-bit channels read as fractions, layers, a border ------------- */

static void texture_reference(void)
{
	static uint8_t image[LAYERS * WIDTH * 4];
	static float got[4 * N], expected[4 * N];
	CUfunction sample = host_kernel("sample_reference");
	CUdeviceptr out = host_buffer(NULL, sizeof(got));
	CUarray array = make_array(WIDTH, 0, LAYERS, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_LAYERED);
	uint32_t n = N, layer = 1, seed = 5;
	CUtexref reference;

	for (size_t i = 0; i < sizeof(image); i++)
		image[i] = (uint8_t)host_random(&seed);
	CU(cuMemcpyHtoA_v2(array, 0, image, sizeof(image)));
	CU(cuModuleGetTexRef(&reference, host_module(), "image"));
	CU(cuTexRefSetArray(reference, array, CU_TRSA_OVERRIDE_FORMAT));
	CU(cuTexRefSetAddressMode(reference, 0, CU_TR_ADDRESS_MODE_BORDER));
	CU(cuTexRefSetFlags(reference, CU_TRSF_NORMALIZED_COORDINATES));
	host_launch(sample, "sample_reference", BLOCKS, BLOCK, 0, NULL, (void *[]){&du, &out, &layer, &n});
	host_read(got, out, sizeof(got));
	for (int i = 0; i < N; i++)
		for (int c = 0; c < 4; c++) {
			int x = (int)floorf(u[i] * WIDTH); /* exact: the width is a power of two */
			int inside = x >= 0 && x < WIDTH;

			expected[4 * i + c] =
				inside ? (float)(image[((int)layer * WIDTH + x) * 4 + c] / 255.0) : 0;
		}
	host_compare_f32("texture reference", got, expected, 4 * N);
	CU(cuArrayDestroy(array));
	CU(cuMemFree_v2(out));
}

/* ---- surfaces: 20 threads a row of 16 texels ------------------------------------------------ */

static void surfaces(void)
{
	static uint32_t image[WIDTH * HEIGHT], got[WIDTH * HEIGHT], expected[WIDTH * HEIGHT];
	CUDA_RESOURCE_DESC resource = {CU_RESOURCE_TYPE_ARRAY, {.array = NULL}, 0};
	CUfunction copy = host_kernel("copy_plus_one");
	CUarray from =
		make_array(WIDTH, HEIGHT, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST);
	CUarray to = make_array(WIDTH, HEIGHT, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST);
	CUsurfObject surface;
	CUsurfref canvas;
	uint32_t seed = 7;

	for (int i = 0; i < WIDTH * HEIGHT; i++) {
		image[i] = host_random(&seed);
		expected[i] = image[i] + 1;
	}
	copy_rows(from, image, WIDTH * 4, HEIGHT, 1);
	resource.res.array = from;
	CU(cuSurfObjectCreate(&surface, &resource));
	CU(cuModuleGetSurfRef(&canvas, host_module(), "canvas"));
	CU(cuSurfRefSetArray(canvas, to, 0));
	host_launch(copy, "copy_plus_one", (struct dim){HEIGHT + 2, 1, 1}, (struct dim){WIDTH + 4, 1, 1}, 0,
		    NULL, (void *[]){&surface});
	copy_rows(to, got, WIDTH * 4, HEIGHT, 0);
	host_compare_u32("surface", got, expected, WIDTH * HEIGHT);
	CU(cuSurfObjectDestroy(surface));
	CU(cuArrayDestroy(from));
	CU(cuArrayDestroy(to));
}

int main(void)
{
	uint32_t seed = 1;

	for (int i = 0; i < N; i++) {
		u[i] = 4 * host_random_float(&seed) - 1.5f;
		v[i] = 4 * host_random_float(&seed) - 1.5f;
	}
	host_start();
	du = host_buffer(u, sizeof(u));
	dv = host_buffer(v, sizeof(v));
	texture_object();
	texture_reference();
	surfaces();
	CU(cuMemFree_v2(du));
	CU(cuMemFree_v2(dv));
	return host_finish();
}
