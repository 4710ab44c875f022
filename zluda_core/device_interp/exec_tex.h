/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_tex: textures and surfaces, PTX ISA 9.7.10 and 9.7.11, over the device's table of descriptors
 * (device_texture.h). exec_tex.c decodes and executes tex and tld4, exec_tex_sample.c is what a fetch
 * returns, exec_tex_surface.c has suld, sust and sured, exec_tex_query.c txq, suq and istypep, exec_tex_ref.c finds the
 * descriptor that an operand means. What NVIDIA's documents say and what they leave open: docs/textures.md.
 */
#ifndef CUTRACE_INTERP_EXEC_TEX_H
#define CUTRACE_INTERP_EXEC_TEX_H

#include "zluda_core/device_interp/decode.h"

/* ---- exec_tex_ref.c ------------------------------------------------------- */

/* An operand that names a descriptor: a handle, the address of a variable that holds one, or a parameter. */
struct tex_ref {
	uint32_t cell; /* of 64 bits, OPERAND_NONE = in the kernel's parameters */
	uint32_t param;
};
int tex_ref_source(struct decode *c, const struct ptx_operand *o, struct tex_ref *out);
/* NULL: a fault was recorded. */
const struct dev_texture *tex_find(struct warp *w, const struct xinst *i, unsigned lane,
				   const struct tex_ref *ref, enum dev_texture_kind kind);
/* Without faults: NULL when it names nothing. */
const struct dev_texture *tex_peek(struct warp *w, const struct xinst *i, unsigned lane,
				   const struct tex_ref *ref);

/* Geometry of an instruction (.1d ... .acube); false: not one that is executed. */
struct tex_geometry {
	uint8_t dims; /* coordinates; 3 for cubes */
	bool layered, cube;
};
bool tex_geometry(const struct ptx_inst *in, struct tex_geometry *out);

/* ---- exec_tex_sample.c ------------------------------------------------------ */

enum tex_lod { TEX_BASE, TEX_LEVEL, TEX_GRAD };

/* One lane's fetch. */
struct tex_fetch {
	struct warp *w;
	const struct xinst *i;
	unsigned lane;
	const struct dev_texture *t, *sampler;
	struct tex_geometry geometry;
	bool integer; /* coordinates are texels, whole */
	enum tex_lod mode;
	uint32_t layer;
	union {
		float f[3];
		int32_t s[3];
	} at;
	float level; /* TEX_LEVEL */
	float dx[3], dy[3];
	int32_t offset[3];
	int gather; /* channel of tld4, -1 = tex */
};
/* Four 32-bit results: floats, or integers where the texture is read as such. False: a fault was recorded. */
bool tex_fetch(const struct tex_fetch *f, uint32_t out[4]);

#endif
