/* SPDX-License-Identifier: Apache-2.0
 *
 * Surfaces, PTX ISA 9.7.11, and queries of textures, samplers and surfaces, 9.7.10.5 and 9.7.11.4. Enumerations: channel
 * types and orders are OpenCL's (ISA 5.3.3), filters and address modes count in the order in which the ISA names them.
 */
#include "zluda_core/compiler/device_library/texture.h"

/* ---- places -------------------------------------------------------------------------------- */

struct extent {
	int64_t at, size, bytes; /* of the access: 1 but along x */
};

/* Moved inside; what lies across the end of a row is moved to a multiple of its size. */
static int64_t clamped(struct extent e)
{
	int64_t last = e.size - e.bytes;

	if (e.at < 0 || last < 0)
		return 0;
	return e.at > last ? last - last % e.bytes : e.at;
}

static bool is_off(struct extent e)
{
	return e.at < 0 || e.at > e.size - e.bytes;
}

uint64_t ct_surface_place(uint64_t surface, uint32_t how, uint32_t layer, uint32_t x, uint32_t y, uint32_t z)
{
	texture *t = (texture *)surface;
	texture_level *l = &t->level[0];
	uint32_t bytes = how & CT_SURFACE_TEXEL ? t->texel_bytes : how / CT_SURFACE_BYTES;
	int64_t scale = !(how & CT_SURFACE_FORMATTED) ? 1 : bytes;
	struct extent ex = {(int64_t)(int32_t)x * scale, (int64_t)l->row, bytes},
		      ey = {(int32_t)y, l->height, 1};
	struct extent ez = {how & CT_SURFACE_LAYERED ? (int64_t)layer : (int32_t)z,
			    t->layers ? t->layers : l->depth, 1};
	bool off = is_off(ex) || is_off(ey) || is_off(ez);

	if (ex.at % bytes)
		return CT_TEXTURE_MISALIGNED;
	if (off && (how & CT_SURFACE_OUTSIDE) == CT_SURFACE_TRAP)
		return CT_TEXTURE_OUTSIDE;
	if ((off && (how & CT_SURFACE_OUTSIDE) == CT_SURFACE_ZERO) || ex.size < (int64_t)bytes)
		return 0;
	return l->base + (uint64_t)clamped(ez) * l->slice + (uint64_t)clamped(ey) * l->row +
	       (uint64_t)clamped(ex);
}

/* ---- formatted stores ------------------------------------------------------------------------ */

/* Nearest integer of [low, high] to a scaled float; NaN is 0. */
static uint32_t quantised(uint32_t bits, double scale, double low, double high)
{
	double v = f64_of_f32_bits(bits) * scale;

	if (v != v)
		return 0;
	return (uint32_t)(int32_t)__builtin_rint(v < low ? low : v > high ? high : v);
}

static uint32_t limited(uint32_t bits, int32_t low, int32_t high)
{
	int32_t v = (int32_t)bits;

	return (uint32_t)(v < low ? low : v > high ? high : v);
}

static uint32_t half_bits(uint32_t bits)
{
	union {
		_Float16 f;
		uint16_t u;
	} x = {.f = (_Float16)f32_of(bits)};

	return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : x.u;
}

/* A channel as the surface stores it: .f32 to fractions and floats, .u32 and .s32 to integers (9.7.11.2). */
static uint32_t formatted(uint32_t texel, uint32_t bits)
{
	switch (texel) {
	case DEV_TEXEL_U8: return bits > 255 ? 255 : bits;
	case DEV_TEXEL_U16: return bits > 65535 ? 65535 : bits;
	case DEV_TEXEL_S8: return limited(bits, -128, 127);
	case DEV_TEXEL_S16: return limited(bits, -32768, 32767);
	case DEV_TEXEL_F16: return half_bits(bits);
	case DEV_TEXEL_UN8: return quantised(bits, 255, 0, 255);
	case DEV_TEXEL_UN16: return quantised(bits, 65535, 0, 65535);
	case DEV_TEXEL_SN8: return quantised(bits, 127, -127, 127);
	case DEV_TEXEL_SN16: return quantised(bits, 32767, -32767, 32767);
	default: return bits;
	}
}

/* `channels` values are given; the texel's others become 0. */
__attribute__((noinline)) void ct_surface_store_texel(uint64_t surface, uint64_t address, uint32_t channels,
						      ct_words4 v)
{
	texture *t = (texture *)surface;
	uint32_t bytes = t->texel_bytes / t->channels;
#pragma unroll
	for (unsigned k = 0; k < 4; k++) {
		ct_global uint8_t *p = (ct_global uint8_t *)(address + k * bytes);
		uint32_t bits = k < channels ? formatted(t->texel, v[k]) : 0;

		if (k >= t->channels)
			break;
		p[0] = (uint8_t)bits;
		if (bytes > 1)
			p[1] = (uint8_t)(bits >> 8);
		if (bytes > 2) {
			p[2] = (uint8_t)(bits >> 16);
			p[3] = (uint8_t)(bits >> 24);
		}
	}
}

/* ---- reductions --------------------------------------------------------------------------------- */

#define REDUCE(bits, unsigned_type, signed_type)                                                           \
	void ct_surface_reduce_##bits(uint64_t surface, uint64_t address, uint32_t op, uint32_t is_signed, \
				      unsigned_type v)                                                     \
	{                                                                                                  \
		ct_global unsigned_type *p = (ct_global unsigned_type *)address;                           \
		ct_global signed_type *s = (ct_global signed_type *)address;                               \
		bool sign = is_signed == 2 ? ct_is_signed_texel((texture *)surface) : is_signed;           \
                                                                                                           \
		if (op == CT_REDUCE_ADD)                                                                   \
			__scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);          \
		else if (op == CT_REDUCE_AND)                                                              \
			__scoped_atomic_fetch_and(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);          \
		else if (op == CT_REDUCE_OR)                                                               \
			__scoped_atomic_fetch_or(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);           \
		else if (op == CT_REDUCE_MIN && sign)                                                      \
			__scoped_atomic_fetch_min(s, (signed_type)v, __ATOMIC_RELAXED,                     \
						  __MEMORY_SCOPE_DEVICE);                                  \
		else if (op == CT_REDUCE_MIN)                                                              \
			__scoped_atomic_fetch_min(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);          \
		else if (sign)                                                                             \
			__scoped_atomic_fetch_max(s, (signed_type)v, __ATOMIC_RELAXED,                     \
						  __MEMORY_SCOPE_DEVICE);                                  \
		else                                                                                       \
			__scoped_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);          \
	}
REDUCE(32, uint32_t, int32_t)
REDUCE(64, uint64_t, int64_t)

/* ---- queries --------------------------------------------------------------------------------------- */

static uint32_t channel_data_type(texture *t)
{
	static const uint16_t plain[] = {
		[DEV_TEXEL_U8] = 0x10da,   [DEV_TEXEL_U16] = 0x10db, [DEV_TEXEL_U32] = 0x10dc,
		[DEV_TEXEL_S8] = 0x10d7,   [DEV_TEXEL_S16] = 0x10d8, [DEV_TEXEL_S32] = 0x10d9,
		[DEV_TEXEL_F16] = 0x10dd,  [DEV_TEXEL_F32] = 0x10de, [DEV_TEXEL_UN8] = 0x10d2,
		[DEV_TEXEL_UN16] = 0x10d3, [DEV_TEXEL_SN8] = 0x10d0, [DEV_TEXEL_SN16] = 0x10d1,
	};
	uint32_t texel = t->texel;

	if (t->to_float)
		texel = texel == DEV_TEXEL_U8    ? DEV_TEXEL_UN8
			: texel == DEV_TEXEL_S8  ? DEV_TEXEL_SN8
			: texel == DEV_TEXEL_U16 ? DEV_TEXEL_UN16
			: texel == DEV_TEXEL_S16 ? DEV_TEXEL_SN16
						 : texel;
	return texel < sizeof(plain) / sizeof(plain[0]) ? plain[texel] : 0;
}

/* PTX: wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border. */
static uint32_t address_mode(uint32_t mode)
{
	static const uint8_t modes[] = {[DEV_ADDRESS_WRAP] = 0,
					[DEV_ADDRESS_MIRROR] = 1,
					[DEV_ADDRESS_CLAMP_OGL] = 2,
					[DEV_ADDRESS_CLAMP] = 3,
					[DEV_ADDRESS_BORDER] = 4};

	return mode < sizeof(modes) ? modes[mode] : 0;
}

static uint32_t array_size(texture *t)
{
	uint32_t cubes = t->layers / 6;

	return !t->cube ? t->layers : cubes > 1 ? cubes : 0;
}

uint32_t ct_texture_query(uint64_t descriptor, uint32_t query, uint32_t level)
{
	texture *t = (texture *)descriptor;
	texture_level *l = &t->level[level < t->nlevels ? level : 0];
	bool exists = level < t->nlevels;

	switch (query) {
	case CT_QUERY_WIDTH: return exists ? l->width : 0;
	case CT_QUERY_HEIGHT: return exists && t->dims > 1 ? l->height : 0;
	case CT_QUERY_DEPTH: return exists && t->dims > 2 ? l->depth : 0;
	case CT_QUERY_CHANNEL_DATA_TYPE: return channel_data_type(t);
	case CT_QUERY_CHANNEL_ORDER: return t->channels == 1 ? 0x10b0 : t->channels == 2 ? 0x10b2 : 0x10b5;
	case CT_QUERY_ARRAY_SIZE: return array_size(t);
	case CT_QUERY_NUM_MIPMAP_LEVELS: return t->nlevels > 1 ? t->nlevels : 0;
	case CT_QUERY_NORMALIZED_COORDS: return t->normalized;
	case CT_QUERY_FORCE_UNNORMALIZED_COORDS: return t->force_texels;
	case CT_QUERY_FILTER_MODE: return t->filter;
	case CT_QUERY_ADDR_MODE_0: return address_mode(t->address[0]);
	case CT_QUERY_ADDR_MODE_1: return address_mode(t->address[1]);
	case CT_QUERY_ADDR_MODE_2: return address_mode(t->address[2]);
	default: return 0;
	}
}
