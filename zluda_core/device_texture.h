/* SPDX-License-Identifier: Apache-2.0
 *
 * device_texture: textures, surfaces and samplers as a device sees them: a plain table of descriptors that the
 * core fills and code on the device reads. CUDA's handles, arrays and references are the core's
 * (zluda_core/texture.c); a device knows only this table and the memory that the descriptors point to, which is
 * mapped like any other. No layout is hidden: rows of texels one after another, so that any device can sample
 * in software. docs/textures.md says what a fetch returns.
 *
 * A program names a descriptor by its handle (a CUtexObject, a CUsurfObject). The entry of a handle is
 * handle % DEV_TEXTURES; the entry holds the whole handle, so that a stale or invented one is found out. A .texref,
 * .samplerref or .surfref variable of a module is 8 bytes of memory that hold the handle of its descriptor; PTX
 * passes such a variable by its address. Handles are below 2^32, addresses are not.
 */
#ifndef CUTRACE_DEVICE_TEXTURE_H
#define CUTRACE_DEVICE_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#define DEV_TEXTURES       65536u
#define DEV_TEXTURE_LEVELS 17 /* of a mipmapped array 65536 wide */

enum dev_texture_kind { DEV_TEXTURE = 1, DEV_SURFACE, DEV_SAMPLER };

enum dev_texture_state {
	DEV_TEXTURE_NONE, /* never used */
	DEV_TEXTURE_LIVE,
	DEV_TEXTURE_UNBOUND,    /* a reference that nothing was bound to */
	DEV_TEXTURE_DESTROYED,  /* the object is gone */
	DEV_TEXTURE_ARRAY_GONE, /* the array it was made of is gone */
};

/* How the channels of a texel are stored. UN and SN are integers that stand for [0, 1] and [-1, 1]. */
enum dev_texel {
	DEV_TEXEL_U8,
	DEV_TEXEL_U16,
	DEV_TEXEL_U32,
	DEV_TEXEL_S8,
	DEV_TEXEL_S16,
	DEV_TEXEL_S32,
	DEV_TEXEL_F16,
	DEV_TEXEL_F32,
	DEV_TEXEL_UN8,
	DEV_TEXEL_UN16,
	DEV_TEXEL_SN8,
	DEV_TEXEL_SN16,
};

/* CLAMP_OGL is PTX's clamp_ogl: the coordinate is clamped, texels outside are border. */
enum dev_address_mode {
	DEV_ADDRESS_WRAP,
	DEV_ADDRESS_CLAMP,
	DEV_ADDRESS_MIRROR,
	DEV_ADDRESS_BORDER,
	DEV_ADDRESS_CLAMP_OGL,
};

/* One level of detail. Texel (x, y, z), or (x, y) of layer z, is at base + z * slice + y * row + x * texel bytes. */
struct dev_texture_level {
	uint64_t base, row, slice;
	uint32_t width, height, depth; /* texels, each at least 1; depth is 1 when there are layers */
};

struct dev_texture {
	uint64_t handle;
	uint8_t kind, state;
	uint8_t dims;        /* 1 to 3; of one layer */
	uint8_t texel;       /* enum dev_texel */
	uint8_t channels;    /* 1, 2, 4 */
	uint8_t texel_bytes; /* of all channels */
	bool cube;           /* layers are faces: 6 of each cube */
	bool linear;         /* plain memory: no filter, no address mode, outside is zero */
	/* sampler */
	bool normalized;   /* coordinates are fractions of the size */
	bool to_float;     /* integer channels of 8 and 16 bits are read as fractions */
	bool srgb;         /* 8-bit channels but the fourth are sRGB */
	bool seamless;     /* filters across the edges of a cube */
	bool force_texels; /* sampler: coordinates are texels whatever the texture says */
	uint8_t address[3];
	bool filter, mip_filter; /* linear; else the nearest */
	float bias, min_level, max_level;
	float border[4];
	uint32_t layers; /* 0 = not layered */
	uint32_t nlevels;
	struct dev_texture_level level[DEV_TEXTURE_LEVELS];
};

#endif
