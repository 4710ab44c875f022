/* SPDX-License-Identifier: Apache-2.0
 *
 * texture_model: what a texture fetch gives, from the CUDA programming guide's appendix on texture fetching and PTX ISA
 * 9.7.10: the texels, their places in memory, address modes, filters, faces of cubes.
 */
#ifndef TESTS_PTX_ISA_TEXTURE_MODEL_H
#define TESTS_PTX_ISA_TEXTURE_MODEL_H

#include "form.h"

#include "zluda_core/device_texture.h"

#define TEXEL_BASE  0x550030000000ull
#define TEXEL_BYTES (1u << 20)

/* Everything about one texture that a test chooses. Sizes are powers of two, so that coordinates are exact. */
struct texture_case {
	struct dev_texture d;
	uint64_t offset; /* of level 0 in texel memory */
};

/* Lays the case's levels out in texel memory from *at on, and fills in its descriptor. */
void texture_place(struct texture_case *t, uint32_t width, uint32_t height, uint32_t depth, uint32_t layers,
		   unsigned levels, uint64_t *at);
/* Writes its texels. */
void texture_fill(const struct texture_case *t, uint8_t *memory);
/* Channel c of texel (x, y, z or layer) of a level, as the type reads it; indices are within the level. */
double texel_value(const struct texture_case *t, unsigned level, unsigned x, unsigned y, unsigned z,
		   unsigned c);
/* The fetch: coordinates as the program gives them (x, y, z; layer apart), channel c. */
double texture_fetch(const struct texture_case *t, unsigned level, const double *coord, unsigned layer,
		     unsigned c);
/* Face and the two coordinates in [0, 1] of a direction. */
unsigned cube_face(const double *dir, double *st);
/* The four texels of the linear footprint in the order of tld4. */
void texture_gather(const struct texture_case *t, const double *coord, unsigned layer, unsigned c,
		    double *four);

#endif
