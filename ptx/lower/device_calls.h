/* SPDX-License-Identifier: Apache-2.0
 *
 * device_calls: numbers that calls of the device library pass and return. ptx/lower writes the calls,
 * zluda_core/compiler/device_library answers them. Depends on nothing.
 */
#ifndef CUTRACE_PTX_LOWER_DEVICE_CALLS_H
#define CUTRACE_PTX_LOWER_DEVICE_CALLS_H

/* The small formats of ct_narrow and ct_widen; `flags` of ct_narrow. */
enum ct_format { CT_F16, CT_BF16, CT_TF32, CT_E4M3, CT_E5M2, CT_E2M1, CT_E2M3, CT_E3M2, CT_UE8M0 };
enum { CT_SATFINITE = 1, CT_RELU = 2 };

/* What products of matrices need to know beyond their shape: `how` of ct_mma_*, by the names that matrix_shapes.def
 * gives. */
enum {
	CT_MMA_C_F16 = 1, /* else f32 */
	CT_MMA_D_F16 = 2,
	CT_MMA_A_SIGNED = 4,
	CT_MMA_B_SIGNED = 8,
	CT_MMA_A_E5M2 = 16, /* else e4m3 */
	CT_MMA_B_E5M2 = 32,
	CT_MMA_SATFINITE = 64,
	CT_MMA_AND = 128, /* of single bits, else xor */
	CT_MMA_A_BY_COLUMNS = 256,
	CT_MMA_B_BY_ROWS = 512,
	CT_MMA_SELECTOR = 10, /* shift: sparsity selector */
};
/* texture.c, surface.c. What is found of a handle, or of the address of a variable that holds one, is the address of
 * its descriptor, or one of these. */
enum ct_texture_fault {
	CT_TEXTURE_UNKNOWN = 1,
	CT_TEXTURE_OTHER_KIND,
	CT_TEXTURE_UNBOUND,
	CT_TEXTURE_DESTROYED,
	CT_TEXTURE_ARRAY_GONE,
	CT_TEXTURE_NO_CUBE,
	CT_TEXTURE_OUTSIDE,    /* of a surface, with .trap */
	CT_TEXTURE_MISALIGNED, /* byte offset of a surface */
	CT_TEXTURE_FAULTS
};

/* `kind` of ct_texture_find; the first three are enum dev_texture_kind's. */
enum { CT_TEXTURE = 1, CT_SURFACE, CT_SAMPLER, CT_SAMPLER_OF_EITHER, CT_AS_CUBE = 8 };

/* `how` of ct_tex. */
enum {
	CT_TEX_DIMS = 3, /* coordinates: 1 to 3 */
	CT_TEX_LAYERED = 4,
	CT_TEX_CUBE = 8,
	CT_TEX_INTEGER = 16, /* coordinates are texels, whole */
	CT_TEX_LEVEL = 32,
	CT_TEX_GRAD = 64,
	CT_TEX_GATHER = 128, /* tld4 of the channel in CT_TEX_CHANNEL */
	CT_TEX_HALVES = 256, /* results are f16, each in a word */
	CT_TEX_CHANNEL = 512 /* a factor */
};

/* What a surface access does outside, in `how` of ct_surface_place; the rest are numbers of bytes and flags. */
enum {
	CT_SURFACE_TRAP,
	CT_SURFACE_CLAMP,
	CT_SURFACE_ZERO,
	CT_SURFACE_OUTSIDE = 3, /* mask */
	CT_SURFACE_LAYERED = 4,
	CT_SURFACE_FORMATTED = 8, /* x counts texels */
	CT_SURFACE_TEXEL = 16,    /* the access is of a whole texel */
	CT_SURFACE_BYTES = 256    /* factor: of the access */
};

/* Reductions, and the questions of txq and suq. */
enum { CT_REDUCE_ADD, CT_REDUCE_MIN, CT_REDUCE_MAX, CT_REDUCE_AND, CT_REDUCE_OR };
enum ct_query {
	CT_QUERY_WIDTH,
	CT_QUERY_HEIGHT,
	CT_QUERY_DEPTH,
	CT_QUERY_CHANNEL_DATA_TYPE,
	CT_QUERY_CHANNEL_ORDER,
	CT_QUERY_ARRAY_SIZE,
	CT_QUERY_NUM_MIPMAP_LEVELS,
	CT_QUERY_NORMALIZED_COORDS,
	CT_QUERY_FORCE_UNNORMALIZED_COORDS,
	CT_QUERY_FILTER_MODE,
	CT_QUERY_ADDR_MODE_0,
	CT_QUERY_ADDR_MODE_1,
	CT_QUERY_ADDR_MODE_2,
	CT_QUERY_NOTHING /* 0: samples, layout of memory */
};

#endif
