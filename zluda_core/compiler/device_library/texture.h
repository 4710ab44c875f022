/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures and surfaces of kernels on AMD GPUs, in software, over the table of descriptors that the run-time block
 * names (zluda_core/device_texture.h). docs/textures.md says what a fetch returns. texture.c finds descriptors and
 * fetches, texture_texel.c reads texels, surface.c has surfaces and queries.
 */
#ifndef CUTRACE_DEVICE_LIBRARY_TEXTURE_H
#define CUTRACE_DEVICE_LIBRARY_TEXTURE_H

#include "zluda_core/compiler/device_library/float_parts.h"
#include "zluda_core/device_texture.h"

typedef const ct_global struct dev_texture texture;
typedef const ct_global struct dev_texture_level texture_level;

/* texture_texel.c. Whether channels are read as floats; the texel's channels, those that it lacks filled in. */
bool ct_reads_floats(texture *t);
struct ct_texel {
	uint32_t channel[4];
};
struct ct_texel ct_border(texture *t);
struct ct_texel ct_texel_at(texture *t, uint64_t address);
bool ct_is_signed_texel(texture *t);

#endif
