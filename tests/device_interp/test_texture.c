/* SPDX-License-Identifier: Apache-2.0
 *
 * tex and tld4 against the formulas of the CUDA C++ Programming Guide ("Texture Fetching"), written down here once
 * more, one coordinate at a time.
 */
#include <math.h>
#include <string.h>

#include "tests/device_interp/texture_runner.h"

static const uint8_t modes[] = {DEV_ADDRESS_WRAP, DEV_ADDRESS_CLAMP, DEV_ADDRESS_MIRROR, DEV_ADDRESS_BORDER};

#define NX 5u
#define NY 4u
#define NZ 3u

static float image[6 * NX * NX * 4];

static void fill_image(void)
{
	uint32_t v = 1;

	for (unsigned k = 0; k < sizeof(image) / sizeof(image[0]); k++) {
		v = v * 1664525u + 1013904223u;
		image[k] = (float)(v >> 8) / 65536.0f - 100.0f;
	}
}

/* ---- the guide ---------------------------------------------------------------------- */

/* Nearest texel of a normalised coordinate: wrapping and mirroring act on the coordinate. -1: border. */
static int nearest(uint8_t mode, double x, int n)
{
	double f = floor(x);

	switch (mode) {
	case DEV_ADDRESS_WRAP: x -= f; break;
	case DEV_ADDRESS_MIRROR: x = fmod(f, 2) == 0 ? x - f : 1 - (x - f); break;
	case DEV_ADDRESS_CLAMP: x = x < 0 ? 0 : x >= 1 ? 1 - 1.0 / (2 * n) : x; break;
	default: break;
	}
	if (x < 0 || x >= 1)
		return mode == DEV_ADDRESS_MIRROR ? n - 1 : -1;
	return (int)floor(x * n);
}

/* Texel i of an axis that goes on beyond its ends. */
static int beyond(uint8_t mode, int i, int n)
{
	if (i >= 0 && i < n)
		return i;
	if (mode == DEV_ADDRESS_CLAMP)
		return i < 0 ? 0 : n - 1;
	if (mode == DEV_ADDRESS_WRAP)
		return ((i % n) + n) % n;
	if (mode == DEV_ADDRESS_MIRROR) {
		int p = ((i % (2 * n)) + 2 * n) % (2 * n);

		return p < n ? p : 2 * n - 1 - p;
	}
	return -1;
}

/* i = floor(xB), weight = frac(xB) in 1.8 fixed point. */
static int below(double x, double *weight)
{
	double b = x - 0.5;

	*weight = floor((b - floor(b)) * 256 + 0.5) / 256;
	return (int)floor(b);
}

static double at3(int x, int y, int z, float border)
{
	return x < 0 || y < 0 || z < 0 ? border : image[((unsigned)z * NY + (unsigned)y) * NX + (unsigned)x];
}

/* ---- tests ------------------------------------------------------------------------------ */

static void coordinates(struct texture_test *x, float from, float step)
{
	x->n = 256;
	for (uint32_t k = 0; k < x->n; k++) {
		x->in[k].f[0] = from + step * (float)k;
		x->in[k].f[1] = from * 0.7f + step * 1.3f * (float)(k * 7 % 256);
		x->in[k].f[2] = from * 0.9f + step * 1.1f * (float)(k * 13 % 256);
	}
}

static void point_1d(void **state)
{
	const uint32_t size[3] = {NX, 1, 1};

	(void)state;
	for (unsigned m = 0; m < 4; m++) {
		struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, 1, 0, image);

		x->t.address[0] = modes[m];
		x->t.normalized = true;
		x->t.border[0] = -7;
		coordinates(x, -2.013f, 0.0171f);
		texture_run(x, "tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}];");
		for (uint32_t k = 0; k < x->n; k++) {
			int i = nearest(modes[m], (double)x->in[k].f[0], NX);

			assert_true(x->out[k].f[0] == (i < 0 ? -7 : image[i]));
			assert_int_equal(x->out[k].u[1], 0);
			assert_int_equal(x->out[k].u[2], 0);
			assert_true(x->out[k].f[3] == 1);
		}
		texture_close(x);
	}
}

/* Without fractions a coordinate counts texels; -0.5 is outside, N - 0.5 is not. */
static void point_texels(void **state)
{
	const uint32_t size[3] = {NX, NY, 1};

	(void)state;
	for (unsigned m = 0; m < 2; m++) {
		struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, 2, 0, image);
		uint8_t mode = m ? DEV_ADDRESS_BORDER : DEV_ADDRESS_CLAMP;

		x->t.address[0] = x->t.address[1] = mode;
		coordinates(x, -3.0f, 0.0625f);
		texture_run(x, "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];");
		for (uint32_t k = 0; k < x->n; k++) {
			int i = beyond(mode, (int)floorf(x->in[k].f[0]), NX);
			int j = beyond(mode, (int)floorf(x->in[k].f[1]), NY);

			assert_true(x->out[k].f[0] == (float)at3(i, j, 0, 0));
		}
		texture_close(x);
	}
}

static void linear_of(unsigned dims, const char *instruction)
{
	const uint32_t size[3] = {NX, dims > 1 ? NY : 1, dims > 2 ? NZ : 1};

	for (unsigned m = 0; m < 4; m++) {
		struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, dims, 0, image);

		memset(x->t.address, modes[m], 3);
		x->t.normalized = x->t.filter = true;
		x->t.border[0] = 3.5f;
		coordinates(x, -1.27f, 0.0131f);
		texture_run(x, instruction);
		for (uint32_t k = 0; k < x->n; k++) {
			double w[3] = {0}, sum = 0;
			int i[3] = {0};

			for (unsigned d = 0; d < dims; d++)
				i[d] = below((double)x->in[k].f[d] * size[d], &w[d]);
			for (unsigned c = 0; c < 1u << dims; c++) {
				double weight = 1;
				int p[3] = {0};

				for (unsigned d = 0; d < dims; d++) {
					weight *= c >> d & 1 ? w[d] : 1 - w[d];
					p[d] = beyond(modes[m], i[d] + (int)(c >> d & 1), (int)size[d]);
				}
				sum += weight * at3(p[0], p[1], p[2], 3.5f);
			}
			if (x->out[k].f[0] != (float)sum)
				fail_msg("%ud mode %u at %g %g %g: %.9g, expected %.9g", dims, modes[m],
					 (double)x->in[k].f[0], (double)x->in[k].f[1], (double)x->in[k].f[2],
					 (double)x->out[k].f[0], sum);
		}
		texture_close(x);
	}
}

static void linear(void **state)
{
	(void)state;
	linear_of(1, "tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}];");
	linear_of(2, "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];");
	linear_of(2, "tex.base.2d.v4.f32.f32 {%o0, _, _, %o3}, [%t, {%f0, %f1, %f1, %f2}];");
	linear_of(3, "tex.3d.v4.f32.f32 {%o0, %o1, %o2, %o3}|%p, [%t, {%f0, %f1, %f2, %f2}];");
}

/* A weight of exactly one comes about by rounding: the next texel alone. A texel of weight zero doesn't count, though
 * it is infinite. */
static void weights(void **state)
{
	static const float line[4] = {1, 2, INFINITY, 4};
	static const struct {
		float at, want;
	} rows[] = {{0.5f, 1},
		    {1.0f, 1.5f},
		    {1.25f, 1.75f},
		    {1.4995f, 2},
		    {1.5f, 2},
		    {0.5f + 1 / 256.0f, 1 + 1 / 256.0f},
		    {0.5f + 1 / 1024.0f, 1},
		    {2.0f, INFINITY},
		    {3.5f, 4}};
	const uint32_t size[3] = {4, 1, 1};
	struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, 1, 0, line);

	(void)state;
	x->t.filter = true;
	x->n = sizeof(rows) / sizeof(rows[0]);
	for (uint32_t k = 0; k < x->n; k++)
		x->in[k].f[0] = rows[k].at;
	texture_run(x, "tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}];");
	for (uint32_t k = 0; k < x->n; k++)
		assert_true(x->out[k].f[0] == rows[k].want);
	texture_close(x);
}

/* The index of a layer is clamped; layers are not mixed. */
static void layers(void **state)
{
	static const char *const forms[] = {
		"tex.a2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%i0, %f1, %f2, %f2}];",
		"tex.a2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%i0, %f1, %f2}];",
		"tex.a1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%i0, %f1}];",
	};
	static const uint32_t indices[] = {0, 1, 2, 3, 1000, UINT32_MAX};

	(void)state;
	for (unsigned m = 0; m < 3; m++) {
		const uint32_t size[3] = {NX, m < 2 ? NY : 1, 1};
		struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, m < 2 ? 2 : 1, 3, image);

		x->n = 6;
		for (uint32_t k = 0; k < 6; k++) {
			x->in[k].u[0] = indices[k];
			x->in[k].f[1] = 2.5f;
			x->in[k].f[2] = 1.25f;
		}
		texture_run(x, forms[m]);
		for (uint32_t k = 0; k < 6; k++) {
			uint32_t layer = indices[k] > 2 ? 2 : indices[k];

			assert_true(x->out[k].f[0] == image[(layer * size[1] + (m < 2)) * NX + 2]);
		}
		texture_close(x);
	}
}

/* ---- formats -------------------------------------------------------------------------------- */

struct format_test {
	enum dev_texel texel;
	unsigned channels;
	bool to_float;
	uint8_t bytes[16];
	bool floats;
	double want[4];
};

/* c / 255, c / 65535; signed: c / 127, c / 32767, not below -1. Missing channels are 0, 0, 1. */
static const struct format_test format_tests[] = {
	{DEV_TEXEL_U8, 4, true, {0, 255, 51, 1}, true, {0, 1, 51 / 255.0, 1 / 255.0}},
	{DEV_TEXEL_U8, 4, false, {0, 255, 51, 1}, false, {0, 255, 51, 1}},
	{DEV_TEXEL_U8, 2, true, {3, 204}, true, {3 / 255.0, 204 / 255.0, 0, 1}},
	{DEV_TEXEL_U8, 1, false, {200}, false, {200, 0, 0, 1}},
	{DEV_TEXEL_S8, 4, true, {0x80, 0x81, 0x7f, 0xff}, true, {-1, -1, 1, -1 / 127.0}},
	{DEV_TEXEL_S8, 4, false, {0x80, 0x81, 0x7f, 0xff}, false, {-128, -127, 127, -1}},
	{DEV_TEXEL_U16, 2, true, {0xff, 0xff, 0x34, 0x12}, true, {1, 0x1234 / 65535.0, 0, 1}},
	{DEV_TEXEL_U16, 2, false, {0xff, 0xff, 0x34, 0x12}, false, {65535, 0x1234, 0, 1}},
	{DEV_TEXEL_S16, 2, true, {0x00, 0x80, 0x01, 0x00}, true, {-1, 1 / 32767.0, 0, 1}},
	{DEV_TEXEL_S16, 2, false, {0x00, 0x80, 0x01, 0x00}, false, {-32768, 1, 0, 1}},
	{DEV_TEXEL_U32, 2, false, {1, 2, 3, 4, 255, 0, 0, 0}, false, {0x04030201, 255, 0, 1}},
	{DEV_TEXEL_S32, 1, false, {0xfe, 0xff, 0xff, 0xff}, false, {-2, 0, 0, 1}},
	{DEV_TEXEL_F16, 2, false, {0x00, 0x3e, 0x01, 0x00}, true, {1.5, 5.9604644775390625e-08, 0, 1}},
	{DEV_TEXEL_F32, 1, false, {0, 0, 0xc0, 0xbf}, true, {-1.5, 0, 0, 1}},
	{DEV_TEXEL_UN8, 2, false, {51, 255}, true, {0.2, 1, 0, 1}},
	{DEV_TEXEL_SN8, 2, false, {0x80, 0x7f}, true, {-1, 1, 0, 1}},
	{DEV_TEXEL_UN16, 1, false, {0x01, 0x00}, true, {1 / 65535.0, 0, 0, 1}},
	{DEV_TEXEL_SN16, 1, false, {0xff, 0xff}, true, {-1 / 32767.0, 0, 0, 1}},
};

static void formats(void **state)
{
	const uint32_t size[3] = {1, 1, 1};

	(void)state;
	for (unsigned k = 0; k < sizeof(format_tests) / sizeof(format_tests[0]); k++) {
		const struct format_test *f = &format_tests[k];
		struct texture_test *x = texture_open(f->texel, f->channels, size, 1, 0, f->bytes);

		x->t.to_float = f->to_float;
		x->n = 1;
		texture_run(x, f->floats ? "tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%i0}];"
					 : "tex.1d.v4.s32.s32 {%o0, %o1, %o2, %o3}, [%t, {%i0}];");
		for (unsigned c = 0; c < 4; c++) {
			if (f->floats ? x->out[0].f[c] != (float)f->want[c]
				      : x->out[0].u[c] != (uint32_t)(int64_t)f->want[c])
				fail_msg("format %u channel %u: %.9g or 0x%x, expected %.9g", k, c,
					 (double)x->out[0].f[c], x->out[0].u[c], f->want[c]);
		}
		texture_close(x);
	}
}

/* IEC 61966-2-1: 0 and 1 stay, 10/255 is in the linear part, 188/255 is 0.502886... The fourth channel is not coded. */
static void srgb(void **state)
{
	static const uint8_t bytes[4] = {10, 188, 255, 188};
	const uint32_t size[3] = {1, 1, 1};
	struct texture_test *x = texture_open(DEV_TEXEL_U8, 4, size, 1, 0, bytes);

	(void)state;
	x->t.to_float = x->t.srgb = true;
	x->n = 1;
	texture_run(x, "tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%i0}];");
	assert_true(x->out[0].f[0] == (float)(10 / 255.0 / 12.92));
	assert_true(fabs((double)x->out[0].f[1] - 0.5028864580325687) < 1e-7);
	assert_true(x->out[0].f[2] == 1);
	assert_true(x->out[0].f[3] == (float)(188 / 255.0));
	texture_close(x);
}

static void halves(void **state)
{
	static const float data[4] = {1.5f, -2.0f, 0.25f, 65504.0f};
	const uint32_t size[3] = {1, 1, 1};
	struct texture_test *x = texture_open(DEV_TEXEL_F32, 4, size, 1, 0, data);

	(void)state;
	x->n = 1;
	texture_run(x, "tex.1d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [%t, {%f0}];");
	assert_int_equal(x->out[0].u[0], 0x3e00);
	assert_int_equal(x->out[0].u[1], 0xc000);
	assert_int_equal(x->out[0].u[2], 0x3400);
	assert_int_equal(x->out[0].u[3], 0x7bff);
	texture_run(x, "tex.1d.v2.f16x2.f32 {%o0, %o1}|%p, [%t, {%f0}];");
	assert_int_equal(x->out[0].u[0], 0xc0003e00);
	assert_int_equal(x->out[0].u[1], 0x7bff3400);
	assert_int_equal(x->out[0].u[7], 1);
	texture_close(x);
}

/* ---- whole coordinates, offsets, odd text ------------------------------------------------------- */

/* Plain memory is 0 outside, whatever the mode; an array does what the mode says. */
static void whole_coordinates(void **state)
{
	static const int32_t at[] = {0, 4, 5, -1, INT32_MAX, INT32_MIN};
	const uint32_t size[3] = {NX, 1, 1};

	(void)state;
	for (unsigned plain = 0; plain < 2; plain++) {
		struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, 1, 0, image);

		x->t.linear = plain;
		x->t.border[0] = 9;
		x->n = 6;
		for (unsigned k = 0; k < 6; k++)
			x->in[k].u[0] = (uint32_t)at[k];
		texture_run(x, "tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%i0}];");
		for (unsigned k = 0; k < 6; k++) {
			bool inside = at[k] >= 0 && at[k] < (int)NX;

			assert_true(x->out[k].f[0] == (inside  ? image[at[k]]
						       : plain ? 0
							       : image[at[k] < 0 ? 0 : NX - 1]));
		}
		texture_close(x);
	}
}

static void offsets(void **state)
{
	static const struct {
		const char *form;
		unsigned dims;
	} rows[] = {
		{"tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}], {%i4, %i5};", 2},
		{"tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}], {%i4};", 1},
		{"tex.3d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1, %f2, %f2}], {%i4, %i5, %i6, %i6};",
		 3},
		{"tex.level.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}], %f3, {%i4, %i5};", 2},
	};

	(void)state;
	for (unsigned r = 0; r < 4; r++) {
		const uint32_t size[3] = {NX, rows[r].dims > 1 ? NY : 1, rows[r].dims > 2 ? NZ : 1};
		struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, rows[r].dims, 0, image);

		x->n = 16;
		for (int k = 0; k < 16; k++) {
			for (unsigned d = 0; d < 3; d++) {
				x->in[k].f[d] = 1.5f;
				x->in[k].u[4 + d] = (uint32_t)(k - 8 + (int)d);
			}
		}
		texture_run(x, rows[r].form);
		for (int k = 0; k < 16; k++) {
			int p[3] = {0};

			for (unsigned d = 0; d < rows[r].dims; d++)
				p[d] = beyond(DEV_ADDRESS_CLAMP, 1 + k - 8 + (int)d, (int)size[d]);
			assert_true(x->out[k].f[0] == (float)at3(p[0], p[1], p[2], 0));
		}
		texture_close(x);
	}
}

/* Immediate coordinates, a vector register, no brackets (ISA 9.7.10.3, notes), a guard. */
static void spellings(void **state)
{
	static const char *const forms[] = {
		"tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {0f40200000, 0f3FC00000}];",
		"{ .reg .v4 .f32 %v, %w; mov.b32 %v.x, %f0; mov.b32 %v.y, %f1; tex.2d.v4.f32.f32 %w, [%t, "
		"%v];"
		"mov.b32 %o0, %w.x; }",
		"tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, %t, {%f0, %f1};",
		"setp.eq.u32 %p, %me, 0; @%p tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];",
	};
	const uint32_t size[3] = {NX, NY, 1};

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, 2, 0, image);

		x->n = 2;
		for (unsigned l = 0; l < 2; l++) {
			x->in[l].f[0] = 2.5f;
			x->in[l].f[1] = 1.5f;
		}
		texture_run(x, forms[k]);
		assert_true(x->out[0].f[0] == image[NX + 2]);
		assert_true(k < 3 ? x->out[1].f[0] == image[NX + 2] : x->out[1].u[0] == 0);
		texture_close(x);
	}
}

static void samplers(void **state)
{
	const uint32_t size[3] = {NX, 1, 1};
	struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, 1, 0, image);

	(void)state;
	x->t.normalized = true;
	x->s.force_texels = true;
	x->s.address[0] = DEV_ADDRESS_BORDER;
	x->n = 3;
	x->in[0].f[0] = 2.5f;
	x->in[1].f[0] = -1.0f;
	x->in[2].f[0] = 2.25f;
	texture_run(x, "tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, %s, {%f0}];");
	assert_true(x->out[0].f[0] == image[2]);
	assert_true(x->out[1].f[0] == 0);
	assert_true(x->out[2].f[0] == image[2]);
	/* OpenGL's old clamp: halfway into the border at the edge */
	x->s.address[0] = DEV_ADDRESS_CLAMP_OGL;
	x->s.filter = true;
	texture_run(x, "tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, %s, {%f0}];");
	assert_true(x->out[1].f[0] == image[0] / 2);
	texture_close(x);
}

/* ---- gathering ------------------------------------------------------------------------------------- */

static void gathers(void **state)
{
	static const char *const forms[] = {
		"tld4.r.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];",
		"tld4.g.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];",
		"tld4.b.a2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%i3, %f0, %f1, %f1}];",
		"tld4.a.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}|%p, [%t, {%f0, %f1}], {%i4, %i5};",
	};
	const uint32_t size[3] = {NX, NY, 1};

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		struct texture_test *x = texture_open(DEV_TEXEL_F32, 4, size, 2, k == 2 ? 1 : 0, image);
		unsigned dx = k == 3 ? 1 : 0;

		x->n = 1;
		x->in[0].f[0] = 2.25f; /* texels 1 and 2 */
		x->in[0].f[1] = 1.75f; /* texels 1 and 2 */
		x->in[0].u[4] = 1;
		texture_run(x, forms[k]);
		/* counter-clockwise from the lower left */
		assert_true(x->out[0].f[0] == image[(2 * NX + 1 + dx) * 4 + k]);
		assert_true(x->out[0].f[1] == image[(2 * NX + 2 + dx) * 4 + k]);
		assert_true(x->out[0].f[2] == image[(1 * NX + 2 + dx) * 4 + k]);
		assert_true(x->out[0].f[3] == image[(1 * NX + 1 + dx) * 4 + k]);
		texture_close(x);
	}
}

/* ---- cubes ---------------------------------------------------------------------------------------------- */

/* Face, m, s, t of the guide's table ("Cubemap Textures"). */
static unsigned face_of(const float d[3], float st[2])
{
	float x = fabsf(d[0]), y = fabsf(d[1]), z = fabsf(d[2]);

	if (x > y && x > z) {
		st[0] = d[0] < 0 ? d[2] / x : -d[2] / x;
		st[1] = -d[1] / x;
		return d[0] < 0;
	}
	if (y > x && y > z) {
		st[0] = d[0] / y;
		st[1] = d[1] < 0 ? -d[2] / y : d[2] / y;
		return 2 + (d[1] < 0);
	}
	st[0] = d[2] < 0 ? -d[0] / z : d[0] / z;
	st[1] = -d[1] / z;
	return 4 + (d[2] < 0);
}

static void cubes(void **state)
{
	static const char *const forms[] = {
		"tex.cube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1, %f2, %f2}];",
		"tex.acube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%i3, %f0, %f1, %f2}];",
	};
	const uint32_t size[3] = {NX, NX, 1};

	(void)state;
	for (unsigned m = 0; m < 2; m++) {
		struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, 2, 6, image);
		uint32_t v = 5;

		x->t.cube = true;
		x->n = 300;
		for (uint32_t k = 0; k < x->n; k++) {
			for (unsigned c = 0; c < 3; c++) {
				v = v * 1664525u + 1013904223u;
				x->in[k].f[c] = (float)(v >> 8) / 8388608.0f - 1;
			}
			x->in[k].u[3] = 7;
		}
		texture_run(x, forms[m]);
		for (uint32_t k = 0; k < x->n; k++) {
			float st[2];
			unsigned face = face_of(x->in[k].f, st);
			unsigned i = (unsigned)((st[0] + 1) / 2 * NX), j = (unsigned)((st[1] + 1) / 2 * NX);

			assert_true(x->out[k].f[0] == image[(face * NX + j) * NX + i]);
		}
		texture_close(x);
	}
}

/* At the middle of the edge of faces +z and +x both share it half and half when edges are filtered across. */
static void cube_edges(void **state)
{
	const uint32_t size[3] = {NX, NX, 1};

	(void)state;
	for (unsigned seamless = 0; seamless < 2; seamless++) {
		struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, 2, 6, image);
		float z = image[(4 * NX + 2) * NX + NX - 1], right = image[(0 * NX + 2) * NX];

		x->t.cube = x->t.filter = true;
		x->t.seamless = seamless;
		x->n = 1;
		x->in[0].f[0] = x->in[0].f[2] = 1;
		texture_run(x, "tex.cube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1, %f2, %f2}];");
		assert_true(x->out[0].f[0] == (seamless ? (z + right) / 2 : z));
		texture_close(x);
	}
}

/* ---- levels of detail --------------------------------------------------------------------------------------- */

/* Levels of 8, 4, 2, 1 texels; level k is all k + 1. */
static struct texture_test *open_levels(unsigned dims)
{
	static float texels[8 * 8 + 4 * 4 + 2 * 2 + 1];
	const uint32_t size[3] = {sizeof(texels) / sizeof(texels[0]), 1, 1};
	unsigned at = 0;

	for (unsigned k = 0; k < 4; k++)
		for (unsigned n = dims == 2 ? 64u >> 2 * k : 8u >> k; n--;)
			texels[at++] = (float)(k + 1);
	struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, dims, 0, texels);
	uint64_t base = x->memory;

	x->t.nlevels = 4;
	x->t.normalized = true;
	for (unsigned k = 0; k < 4; k++) {
		uint32_t w = 8u >> k, h = dims == 2 ? w : 1;

		x->t.level[k] = (struct dev_texture_level){base, w * 4, (uint64_t)w * h * 4, w, h, 1};
		base += (uint64_t)w * h * 4;
	}
	return x;
}

static void levels(void **state)
{
	static const struct {
		float level, bias, low, high, nearest, linear;
	} rows[] = {
		{0, 0, 0, 100, 1, 1},         {0.25f, 0, 0, 100, 1, 1.25f}, {0.75f, 0, 0, 100, 2, 1.75f},
		{2.5f, 0, 0, 100, 4, 3.5f},   {9, 0, 0, 100, 4, 4},         {-3, 0, 0, 100, 1, 1},
		{1, 1.25f, 0, 100, 3, 3.25f}, {3, 0, 0, 1.5f, 3, 2.5f},     {0, 0, 2, 100, 3, 3},
		{NAN, 0, 0, 100, 1, 1},
	};

	(void)state;
	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		for (unsigned mip = 0; mip < 2; mip++) {
			struct texture_test *x = open_levels(2);

			x->t.bias = rows[r].bias;
			x->t.min_level = rows[r].low;
			x->t.max_level = rows[r].high;
			x->t.mip_filter = mip;
			x->n = 1;
			x->in[0].f[0] = x->in[0].f[1] = 0.4f;
			x->in[0].f[2] = rows[r].level;
			if (rows[r].level == rows[r].level || rows[r].high == 100)
				texture_run(x, "tex.level.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, "
					       "%f1}], %f2;");
			if (rows[r].level == rows[r].level &&
			    x->out[0].f[0] != (mip ? rows[r].linear : rows[r].nearest))
				fail_msg("row %u mip %u: %g", r, mip, (double)x->out[0].f[0]);
			texture_run(x, "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];");
			assert_true(x->out[0].f[0] == 1); /* the base level, whatever the sampler says */
			texture_close(x);
		}
	}
}

/* log2 of the longer step in texels of the base level. */
static void gradients(void **state)
{
	static const struct {
		float dx[2], dy[2], want;
	} rows[] = {
		{{0.125f, 0}, {0, 0.125f}, 1}, {{0.25f, 0}, {0, 0}, 2},   {{0, 0}, {0, 0.5f}, 3},
		{{0, 0}, {0, 0}, 1},           {{0.3f, 0.4f}, {0, 0}, 3}, {{8, 0}, {0, 0}, 4},
	};
	struct texture_test *x = open_levels(2);

	(void)state;
	x->n = sizeof(rows) / sizeof(rows[0]);
	for (uint32_t k = 0; k < x->n; k++) {
		memcpy(&x->in[k].f[2], rows[k].dx, 8);
		memcpy(&x->in[k].f[4], rows[k].dy, 8);
	}
	texture_run(x,
		    "tex.grad.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}], {%f2, %f3}, {%f4, %f5};");
	for (uint32_t k = 0; k < x->n; k++)
		assert_true(x->out[k].f[0] == rows[k].want);
	texture_close(x);
	x = open_levels(1);
	x->n = 1;
	x->in[0].f[1] = 0.25f;
	texture_run(x, "tex.grad.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}], {%f1}, {%f2};");
	assert_true(x->out[0].f[0] == 2);
	texture_run(x, "tex.level.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%i0}], 3;");
	assert_true(x->out[0].f[0] == 4);
	texture_close(x);
}

/* ---- what goes wrong ------------------------------------------------------------------------------------------- */

static void faults(void **state)
{
	static const char fetch[] = "tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%i0}];";
	const uint32_t size[3] = {NX, 1, 1};
	struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, 1, 0, image);

	(void)state;
	x->n = 1;
	x->t.state = DEV_TEXTURE_DESTROYED;
	texture_faults(x, fetch, "use after free");
	x->t.state = DEV_TEXTURE_ARRAY_GONE;
	texture_faults(x, fetch, "the array that it was made of was destroyed");
	x->t.state = DEV_TEXTURE_UNBOUND;
	texture_faults(x, fetch, "nothing is bound");
	x->t.state = DEV_TEXTURE_LIVE;
	texture_faults(x, "mov.u64 %t, 99; tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%i0}];",
		       "there is no such object");
	texture_faults(x, "mov.u64 %t, 0; tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%i0}];",
		       "there is no such object");
	texture_faults(x, "mov.u64 %t, 0x660000000000; tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%t, {%i0}];",
		       "there is no such object");
	texture_faults(x, "tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%s, {%i0}];", "it is a sampler");
	texture_faults(x, "tex.cube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1, %f2, %f2}];", "is none");
	test_release(&x->dev, x->memory); /* the memory goes, the texture stays */
	texture_faults(x, fetch, "illegal load of 4 bytes");
	texture_close(x);
}

static void refusals(void **state)
{
	static const struct {
		const char *form, *why;
	} rows[] = {
		{"tex.2dms.v4.s32.s32 {%o0, %o1, %o2, %o3}, [%t, {%i0, %i1, %i2, %i2}];",
		 "multi-sample textures (target sm_30 and later) are not executed; this module targets "
		 "sm_90"},
		{"tex.a2dms.v4.s32.s32 {%o0, %o1, %o2, %o3}, [%t, {%i0, %i1, %i2, %i2}];",
		 "multi-sample textures"},
		{"tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}], %f2;",
		 "comparisons of depths (target sm_30 and later)"},
		{"tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}], %f2;", "depths"},
		{"tex.a2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%i0, %f1, %f2}], {%i1, %i2}, %f2;",
		 "depths"},
		{"tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}];", "missing"},
	};
	const uint32_t size[3] = {NX, 1, 1};
	struct texture_test *x = texture_open(DEV_TEXEL_F32, 1, size, 1, 0, image);

	(void)state;
	for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
		texture_refused(x, rows[k].form, rows[k].why);
	texture_close(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(point_1d),
		cmocka_unit_test(point_texels),
		cmocka_unit_test(linear),
		cmocka_unit_test(weights),
		cmocka_unit_test(layers),
		cmocka_unit_test(formats),
		cmocka_unit_test(srgb),
		cmocka_unit_test(halves),
		cmocka_unit_test(whole_coordinates),
		cmocka_unit_test(offsets),
		cmocka_unit_test(spellings),
		cmocka_unit_test(samplers),
		cmocka_unit_test(gathers),
		cmocka_unit_test(cubes),
		cmocka_unit_test(cube_edges),
		cmocka_unit_test(levels),
		cmocka_unit_test(gradients),
		cmocka_unit_test(faults),
		cmocka_unit_test(refusals),
	};

	fill_image();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
