/* SPDX-License-Identifier: Apache-2.0
 *
 * suld, sust, sured, txq, suq and istypep. What must be in memory, or come out, is counted here by the ISA's rules
 * (9.7.10.5, 9.7.11): bytes in the first dimension, .trap, .clamp and .zero outside.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/texture_runner.h"

#define W 8u
#define H 4u
#define D 3u

static uint8_t pattern[D * H * W * 16];

static void fill_pattern(void)
{
	for (unsigned k = 0; k < sizeof(pattern); k++)
		pattern[k] = (uint8_t)(k * 7 + k / 251);
}

static struct texture_test *surface(enum dev_texel texel, unsigned channels, unsigned dims, uint32_t layers)
{
	const uint32_t size[3] = {W, dims > 1 ? H : 1, dims > 2 ? D : 1};
	struct texture_test *x = texture_open(texel, channels, size, dims, layers, pattern);

	x->t.kind = DEV_SURFACE;
	x->n = 1;
	return x;
}

/* Byte b of row y of plane z. */
static size_t place(const struct texture_test *x, int b, int y, int z)
{
	return (size_t)z * x->t.level[0].slice + (size_t)y * x->t.level[0].row + (size_t)b;
}

static const struct geometry {
	const char *name, *coordinates;
	unsigned dims;
	bool layered;
} geometries[] = {
	{"1d", "{%i0}", 1, false},
	{"2d", "{%i0, %i1}", 2, false},
	{"3d", "{%i0, %i1, %i2, %i2}", 3, false},
	{"a1d", "{%i2, %i0}", 1, true},
	{"a2d", "{%i2, %i0, %i1, %i1}", 2, true},
};
static const struct access {
	const char *type, *values;
	unsigned bytes;
} accesses[] = {
	{"b8", "%h0", 1},
	{"b16", "%h0", 2},
	{"b32", "%o0", 4},
	{"b64", "%e0", 8},
	{"v2.b8", "{%h0, %h1}", 2},
	{"v4.b8", "{%h0, %h1, %h2, %h3}", 4},
	{"v2.b16", "{%h0, %h1}", 4},
	{"v4.b16", "{%h0, %h1, %h2, %h3}", 8},
	{"v2.b32", "{%o0, %o1}", 8},
	{"v4.b32", "{%o0, %o1, %o2, %o3}", 16},
	{"v2.b64", "{%e0, %e1}", 16},
};
static const char *const outsides[] = {"trap", "clamp", "zero"};

/* Results of a load, packed as they lay in memory. */
static void packed(const struct texture_test *x, const struct access *a, uint8_t *out)
{
	unsigned n = a->type[0] == 'v' ? (unsigned)(a->type[1] - '0') : 1, size = a->bytes / n;

	for (unsigned k = 0; k < n; k++)
		memcpy(out + k * size, (const uint8_t *)x->out[0].u + k * (size == 8 ? 8 : 4), size);
}

static void at(struct texture_test *x, int b, int y, int z)
{
	x->in[0].u[0] = (uint32_t)b;
	x->in[0].u[1] = (uint32_t)y;
	x->in[0].u[2] = (uint32_t)z;
}

static void load_one(const struct geometry *g, const struct access *a, unsigned outside)
{
	struct texture_test *x = surface(DEV_TEXEL_U32, 4, g->dims, g->layered ? D : 0);
	int b = 3 * (int)a->bytes, y = g->dims > 1 ? 2 : 0, z = g->dims > 2 || g->layered ? 1 : 0;
	char text[200];
	uint8_t got[32], want[32] = {0};

	snprintf(text, sizeof(text), "suld.b.%s.%s.%s %s, [%%t, %s];", g->name, a->type, outsides[outside],
		 a->values, g->coordinates);
	at(x, b, y, z);
	texture_run(x, text);
	packed(x, a, got);
	assert_memory_equal(got, pattern + place(x, b, y, z), a->bytes);
	at(x, (int)(W * 16), y, z);
	if (outside == 0) {
		texture_faults(x, text, "is outside of surface 0x1: 128 bytes");
		at(x, -(int)a->bytes, y, z);
		texture_faults(x, text, "load of");
	} else {
		texture_run(x, text);
		packed(x, a, got);
		if (outside == 1)
			memcpy(want, pattern + place(x, (int)(W * 16 - a->bytes), y, z), a->bytes);
		assert_memory_equal(got, want, a->bytes);
	}
	texture_close(x);
}

static void loads(void **state)
{
	(void)state;
	for (unsigned g = 0; g < 5; g++)
		for (unsigned a = 0; a < sizeof(accesses) / sizeof(accesses[0]); a++)
			for (unsigned o = 0; o < 3; o++)
				load_one(&geometries[g], &accesses[a], o);
}

/* A store outside: .clamp writes the nearest place, .zero nothing, .trap faults; nothing else changes. */
static void stores(void **state)
{
	static const int rows[][3] = {{16, 1, 2}, {-16, 1, 2}, {128, 0, 0}, {8, 4, 0},
				      {8, -1, 1}, {8, 0, 3},   {8, 0, -5}};

	(void)state;
	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		for (unsigned o = 0; o < 3; o++) {
			struct texture_test *x = surface(DEV_TEXEL_U32, 4, 3, 0);
			static uint8_t want[sizeof(pattern)], got[sizeof(pattern)];
			int p[3], last[3] = {(int)W * 16 - 8, H - 1, D - 1};
			bool off = false;
			char text[200];

			for (unsigned k = 0; k < 3; k++) {
				p[k] = rows[r][k] < 0 ? 0 : rows[r][k] > last[k] ? last[k] : rows[r][k];
				off |= p[k] != rows[r][k];
			}
			snprintf(text, sizeof(text),
				 "sust.b.3d.v2.b32.%s [%%t, {%%i0, %%i1, %%i2, %%i2}], {%%i4, %%i5};",
				 outsides[o]);
			at(x, rows[r][0], rows[r][1], rows[r][2]);
			x->in[0].u[4] = 0x11223344;
			x->in[0].u[5] = 0x55667788;
			if (off && o == 0)
				texture_faults(x, text, "store of 8 bytes");
			else
				texture_run(x, text);
			memcpy(want, pattern, sizeof(want));
			if (!off || o == 1)
				memcpy(want + place(x, p[0], p[1], p[2]), &x->in[0].u[4], 8);
			test_read(&x->dev, got, x->memory, x->t.level[0].slice * D);
			assert_memory_equal(got, want, x->t.level[0].slice * D);
			texture_close(x);
		}
	}
}

/* Without .trap, .clamp or .zero it traps; a misaligned place faults. */
static void traps(void **state)
{
	struct texture_test *x = surface(DEV_TEXEL_U32, 1, 2, 0);

	(void)state;
	at(x, W * 4, 0, 0);
	texture_faults(x, "suld.b.2d.b32 %o0, [%t, {%i0, %i1}];", "is outside of surface");
	at(x, 2, 0, 0);
	texture_faults(x, "suld.b.2d.b32.zero %o0, [%t, {%i0, %i1}];", "no place for 4 bytes");
	x->t.kind = DEV_TEXTURE;
	texture_faults(x, "suld.b.2d.b32.zero %o0, [%t, {%i0, %i1}];", "it is a texture");
	x->t.kind = DEV_SURFACE;
	x->t.state = DEV_TEXTURE_ARRAY_GONE;
	texture_faults(x, "sust.b.2d.b32.zero [%t, {%i0, %i1}], %i2;", "use after free");
	texture_refused(x, "suld.p.2d.v4.b32.trap {%o0, %o1, %o2, %o3}, [%t, {%i0, %i1}];", "formatted");
	texture_refused(x, "suld.b.cube.b32.trap %o0, [%t, {%i0, %i1, %i2, %i2}];", "cube");
	texture_close(x);
}

/* ---- formatted stores ------------------------------------------------------------------------ */

/* Coordinates count texels; the values are converted to the surface's format (ISA 9.7.11.2). */
static void formatted(void **state)
{
	static const struct {
		enum dev_texel texel;
		unsigned channels, bytes;
		union {
			float f[4];
			int32_t s[4];
		} v;
		uint8_t want[16];
	} rows[] = {
		{DEV_TEXEL_UN8, 4, 4, {.f = {0, 1, 0.2f, 7}}, {0, 255, 51, 255}},
		{DEV_TEXEL_UN8, 2, 2, {.f = {-1, NAN, 9, 9}}, {0, 0}},
		{DEV_TEXEL_SN8, 4, 4, {.f = {-1, 1, -5, 0}}, {0x81, 0x7f, 0x81, 0}},
		{DEV_TEXEL_UN16, 1, 2, {.f = {1}}, {0xff, 0xff}},
		{DEV_TEXEL_SN16, 1, 2, {.f = {-1}}, {0x01, 0x80}},
		{DEV_TEXEL_F32, 2, 8, {.f = {1, -2}}, {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
		{DEV_TEXEL_F16, 2, 4, {.f = {1.5f, -2}}, {0, 0x3e, 0, 0xc0}},
		{DEV_TEXEL_U8, 2, 2, {.s = {255, 256}}, {255, 255}},
		{DEV_TEXEL_S8, 2, 2, {.s = {-200, 5}}, {0x80, 5}},
		{DEV_TEXEL_S16, 1, 2, {.s = {-2}}, {0xfe, 0xff}},
		{DEV_TEXEL_U32, 1, 4, {.s = {-2}}, {0xfe, 0xff, 0xff, 0xff}},
	};

	(void)state;
	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct texture_test *x = surface(rows[r].texel, rows[r].channels, 2, 0);
		uint8_t got[16];

		at(x, 3, 2, 0);
		memcpy(&x->in[0].u[4], &rows[r].v, 16);
		texture_run(x, "sust.p.2d.v4.b32.trap [%t, {%i0, %i1}], {%i4, %i5, %i6, %i7};");
		test_read(&x->dev, got, x->memory + place(x, 3 * (int)rows[r].bytes, 2, 0), rows[r].bytes);
		if (memcmp(got, rows[r].want, rows[r].bytes))
			fail_msg("row %u: %02x %02x %02x %02x", r, got[0], got[1], got[2], got[3]);
		texture_close(x);
	}
}

/* ---- reductions ---------------------------------------------------------------------------------- */

static void reductions(void **state)
{
	static const struct {
		const char *form;
		enum dev_texel texel;
		uint64_t before, operand, want;
		unsigned bytes;
	} rows[] = {
		{"sured.b.add.2d.u32.trap [%t, {%i0, %i1}], %i4;", DEV_TEXEL_U32, 5, 7, 12, 4},
		{"sured.b.add.2d.s32.clamp [%t, {%i0, %i1}], %i4;", DEV_TEXEL_U32, 5, 0xfffffffe, 3, 4},
		{"sured.b.min.2d.s32.zero [%t, {%i0, %i1}], %i4;", DEV_TEXEL_U32, 5, 0xfffffffe, 0xfffffffe,
		 4},
		{"sured.b.min.2d.u32.trap [%t, {%i0, %i1}], %i4;", DEV_TEXEL_U32, 5, 0xfffffffe, 5, 4},
		{"sured.b.max.2d.u32.trap [%t, {%i0, %i1}], %i4;", DEV_TEXEL_U32, 5, 0xfffffffe, 0xfffffffe,
		 4},
		{"sured.b.and.2d.b32.trap [%t, {%i0, %i1}], %i4;", DEV_TEXEL_U32, 0xff0, 0x3c3, 0x3c0, 4},
		{"sured.b.or.2d.b32.trap [%t, {%i0, %i1}], %i4;", DEV_TEXEL_U32, 0xff0, 0x3c3, 0xff3, 4},
		{"sured.b.add.2d.u64.trap [%t, {%i0, %i1}], %d2;", DEV_TEXEL_U32, 1ull << 33, 1ull << 34,
		 3ull << 33, 8},
		{"sured.b.max.2d.s64.trap [%t, {%i0, %i1}], %d2;", DEV_TEXEL_U32, 3, UINT64_MAX, 3, 8},
		{"sured.b.max.2d.u64.trap [%t, {%i0, %i1}], %d2;", DEV_TEXEL_U32, 3, UINT64_MAX, UINT64_MAX,
		 8},
		{"sured.p.min.2d.b32.trap [%t, {%i0, %i1}], %i4;", DEV_TEXEL_S32, 5, 0xfffffffe, 0xfffffffe,
		 4},
		{"sured.p.min.2d.b32.trap [%t, {%i0, %i1}], %i4;", DEV_TEXEL_U32, 5, 0xfffffffe, 5, 4},
	};

	(void)state;
	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct texture_test *x = surface(rows[r].texel, 1, 2, 0);
		bool samples = strstr(rows[r].form, ".p.");
		uint64_t got = 0, where = x->memory + place(x, 8, 1, 0);
		struct diag d = DIAG_INIT;

		assert_int_equal(device_interp.write(x->dev.dev, where, &rows[r].before, 8, &d), 0);
		at(x, samples ? 2 : 8, 1, 0);
		memcpy(&x->in[0].u[4], &rows[r].operand, 8);
		texture_run(x, rows[r].form);
		test_read(&x->dev, &got, where, rows[r].bytes);
		if (got != rows[r].want)
			fail_msg("%s: 0x%llx", rows[r].form, (unsigned long long)got);
		texture_close(x);
	}
}

/* All lanes add to one place. */
static void reduction_by_all(void **state)
{
	struct texture_test *x = surface(DEV_TEXEL_U32, 1, 1, 0);
	struct diag d = DIAG_INIT;
	uint32_t v = 1;

	(void)state;
	assert_int_equal(device_interp.write(x->dev.dev, x->memory + 4, &v, 4, &d), 0);
	x->n = 200;
	for (uint32_t k = 0; k < x->n; k++) {
		x->in[k].u[0] = 4;
		x->in[k].u[4] = k;
	}
	texture_run(x, "sured.b.add.1d.u32.trap [%t, {%i0}], %i4;");
	test_read(&x->dev, &v, x->memory + 4, 4);
	assert_int_equal(v, 1 + 199 * 200 / 2);
	texture_close(x);
}

/* ---- queries ---------------------------------------------------------------------------------------- */

static void texture_queries(void **state)
{
	static const struct {
		const char *form;
		uint32_t want;
	} rows[] = {
		{"txq.width.b32 %o0, [%t];", 8},
		{"txq.height.b32 %o0, [%t];", 4},
		{"txq.depth.b32 %o0, [%t];", 0},
		{"txq.array_size.b32 %o0, [%t];", 3},
		{"txq.num_mipmap_levels.b32 %o0, [%t];", 2},
		{"txq.num_samples.b32 %o0, [%t];", 0},
		{"txq.normalized_coords.b32 %o0, [%t];", 1},
		{"txq.channel_data_type.b32 %o0, [%t];", 0x10d2}, /* CL_UNORM_INT8 */
		{"txq.channel_order.b32 %o0, [%t];", 0x10b5},     /* CL_RGBA */
		{"txq.filter_mode.b32 %o0, [%t];", 1},
		{"txq.addr_mode_0.b32 %o0, [%t];", 1},
		{"txq.addr_mode_1.b32 %o0, [%t];", 4},
		{"txq.addr_mode_2.b32 %o0, [%s];", 2},
		{"txq.force_unnormalized_coords.b32 %o0, [%s];", 1},
		{"txq.filter_mode.b32 %o0, [%s];", 0},
		{"txq.level.width.b32 %o0, [%t], 1;", 4},
		{"txq.level.height.b32 %o0, [%t], %i0;", 2},
		{"txq.level.width.b32 %o0, [%t], 2;", 0},
		{"istypep.texref %p, %t; selp.u32 %o0, 1, 0, %p;", 1},
		{"istypep.surfref %p, %t; selp.u32 %o0, 1, 0, %p;", 0},
		{"istypep.samplerref %p, %s; selp.u32 %o0, 1, 0, %p;", 1},
		{"mov.u64 %t, 77; istypep.texref %p, %t; selp.u32 %o0, 1, 0, %p;", 0},
	};
	struct texture_test *x = surface(DEV_TEXEL_U8, 4, 2, 3);

	(void)state;
	x->t.kind = DEV_TEXTURE;
	x->t.to_float = x->t.normalized = x->t.filter = true;
	x->t.address[0] = DEV_ADDRESS_MIRROR;
	x->t.address[1] = DEV_ADDRESS_BORDER;
	x->t.nlevels = 2;
	x->t.level[1] = x->t.level[0];
	x->t.level[1].width = 4;
	x->t.level[1].height = 2;
	x->s.address[2] = DEV_ADDRESS_CLAMP_OGL;
	x->s.force_texels = true;
	x->in[0].u[0] = 1;
	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		texture_run(x, rows[r].form);
		if (x->out[0].u[0] != rows[r].want)
			fail_msg("%s: 0x%x", rows[r].form, x->out[0].u[0]);
	}
	texture_refused(x, "txq.level.num_samples.b32 %o0, [%t], 1;", "unknown query");
	texture_close(x);
}

static void surface_queries(void **state)
{
	static const struct {
		const char *form;
		uint32_t want;
	} rows[] = {
		{"suq.width.b32 %o0, [%t];", 8},
		{"suq.height.b32 %o0, [%t];", 4},
		{"suq.depth.b32 %o0, [%t];", 3},
		{"suq.array_size.b32 %o0, [%t];", 0},
		{"suq.memory_layout.b32 %o0, [%t];", 0},
		{"suq.channel_data_type.b32 %o0, [%t];", 0x10de}, /* CL_FLOAT */
		{"suq.channel_order.b32 %o0, [%t];", 0x10b2},     /* CL_RG */
		{"istypep.surfref %p, %t; selp.u32 %o0, 1, 0, %p;", 1},
	};
	struct texture_test *x = surface(DEV_TEXEL_F32, 2, 3, 0);

	(void)state;
	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		texture_run(x, rows[r].form);
		assert_int_equal(x->out[0].u[0], rows[r].want);
	}
	texture_refused(x, "suq.filter_mode.b32 %o0, [%t];", "unknown query");
	texture_close(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads),           cmocka_unit_test(stores),
		cmocka_unit_test(traps),           cmocka_unit_test(formatted),
		cmocka_unit_test(reductions),      cmocka_unit_test(reduction_by_all),
		cmocka_unit_test(texture_queries), cmocka_unit_test(surface_queries),
	};

	fill_pattern();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
