/* SPDX-License-Identifier: Apache-2.0
 *
 * txq, suq and istypep, PTX ISA 9.7.10.5, 9.7.10.6, 9.7.11.4. Enumerations: channel types and orders are OpenCL's
 * (ISA 5.3.3), filters and address modes count in the order in which the ISA names them.
 *
 * o[0] result, imm a struct query.
 */
#include <string.h>

#include "zluda_core/device_interp/exec_tex.h"
#include "zluda_core/device_interp/lane.h"

struct query {
	struct tex_ref ref;
	uint32_t (*answer)(const struct dev_texture *t, uint32_t level);
	uint32_t level; /* cell, OPERAND_NONE = level 0 */
	enum dev_texture_kind kind;
};

/* ---- answers -------------------------------------------------------------------- */

static const struct dev_texture_level *level_at(const struct dev_texture *t, uint32_t level)
{
	return level < t->nlevels ? &t->level[level] : NULL;
}

static uint32_t width(const struct dev_texture *t, uint32_t level)
{
	return level_at(t, level) ? level_at(t, level)->width : 0;
}

static uint32_t height(const struct dev_texture *t, uint32_t level)
{
	return level_at(t, level) && t->dims > 1 ? level_at(t, level)->height : 0;
}

static uint32_t depth(const struct dev_texture *t, uint32_t level)
{
	return level_at(t, level) && t->dims > 2 ? level_at(t, level)->depth : 0;
}

static uint32_t channel_data_type(const struct dev_texture *t, uint32_t level)
{
	static const uint16_t plain[] = {
		[DEV_TEXEL_U8] = 0x10da,   [DEV_TEXEL_U16] = 0x10db, [DEV_TEXEL_U32] = 0x10dc,
		[DEV_TEXEL_S8] = 0x10d7,   [DEV_TEXEL_S16] = 0x10d8, [DEV_TEXEL_S32] = 0x10d9,
		[DEV_TEXEL_F16] = 0x10dd,  [DEV_TEXEL_F32] = 0x10de, [DEV_TEXEL_UN8] = 0x10d2,
		[DEV_TEXEL_UN16] = 0x10d3, [DEV_TEXEL_SN8] = 0x10d0, [DEV_TEXEL_SN16] = 0x10d1,
	};
	static const uint8_t fractions[] = {
		[DEV_TEXEL_U8] = DEV_TEXEL_UN8,
		[DEV_TEXEL_S8] = DEV_TEXEL_SN8,
		[DEV_TEXEL_U16] = DEV_TEXEL_UN16,
		[DEV_TEXEL_S16] = DEV_TEXEL_SN16,
	};
	unsigned k = t->texel;

	(void)level;
	if (t->to_float && k < sizeof(fractions) && fractions[k])
		k = fractions[k];
	return k < sizeof(plain) / sizeof(plain[0]) ? plain[k] : 0;
}

static uint32_t channel_order(const struct dev_texture *t, uint32_t level)
{
	(void)level;
	return t->channels == 1 ? 0x10b0 : t->channels == 2 ? 0x10b2 : 0x10b5;
}

static uint32_t array_size(const struct dev_texture *t, uint32_t level)
{
	(void)level;
	return t->cube ? t->layers / 6 > 1 ? t->layers / 6 : 0 : t->layers;
}

static uint32_t num_mipmap_levels(const struct dev_texture *t, uint32_t level)
{
	(void)level;
	return t->nlevels > 1 ? t->nlevels : 0;
}

static uint32_t none(const struct dev_texture *t, uint32_t level)
{
	(void)t;
	(void)level;
	return 0;
}

static uint32_t normalized_coords(const struct dev_texture *t, uint32_t level)
{
	(void)level;
	return t->normalized;
}

static uint32_t force_unnormalized_coords(const struct dev_texture *t, uint32_t level)
{
	(void)level;
	return t->force_texels;
}

static uint32_t filter_mode(const struct dev_texture *t, uint32_t level)
{
	(void)level;
	return t->filter;
}

static uint32_t ptx_address_mode(uint8_t mode)
{
	static const uint8_t modes[] = {[DEV_ADDRESS_WRAP] = PTX_ADDR_WRAP,
					[DEV_ADDRESS_CLAMP] = PTX_ADDR_CLAMP_TO_EDGE,
					[DEV_ADDRESS_MIRROR] = PTX_ADDR_MIRROR,
					[DEV_ADDRESS_BORDER] = PTX_ADDR_CLAMP_TO_BORDER,
					[DEV_ADDRESS_CLAMP_OGL] = PTX_ADDR_CLAMP_OGL};

	return mode < sizeof(modes) ? modes[mode] : 0;
}

#define ADDR_MODE(k)                                                               \
	static uint32_t addr_mode_##k(const struct dev_texture *t, uint32_t level) \
	{                                                                          \
		(void)level;                                                       \
		return ptx_address_mode(t->address[k]);                            \
	}
ADDR_MODE(0)
ADDR_MODE(1)
ADDR_MODE(2)

enum { OF_TEXTURE = 1, OF_SAMPLER = 2, OF_SURFACE = 4, OF_LEVEL = 8 };
static const struct query_row {
	const char *name;
	unsigned of;
	uint32_t (*answer)(const struct dev_texture *t, uint32_t level);
} queries[] = {
	{".width", OF_TEXTURE | OF_SURFACE | OF_LEVEL, width},
	{".height", OF_TEXTURE | OF_SURFACE | OF_LEVEL, height},
	{".depth", OF_TEXTURE | OF_SURFACE | OF_LEVEL, depth},
	{".channel_data_type", OF_TEXTURE | OF_SURFACE, channel_data_type},
	{".channel_order", OF_TEXTURE | OF_SURFACE, channel_order},
	{".array_size", OF_TEXTURE | OF_SURFACE, array_size},
	{".num_mipmap_levels", OF_TEXTURE, num_mipmap_levels},
	{".num_samples", OF_TEXTURE, none},
	{".normalized_coords", OF_TEXTURE, normalized_coords},
	{".memory_layout", OF_SURFACE, none},
	{".force_unnormalized_coords", OF_SAMPLER, force_unnormalized_coords},
	{".filter_mode", OF_SAMPLER, filter_mode},
	{".addr_mode_0", OF_SAMPLER, addr_mode_0},
	{".addr_mode_1", OF_SAMPLER, addr_mode_1},
	{".addr_mode_2", OF_SAMPLER, addr_mode_2},
};

/* ---- execution ------------------------------------------------------------------------ */

/* Sampler queries take a texture in unified mode and a sampler in independent mode. */
static const struct dev_texture *subject(struct warp *w, const struct xinst *i, unsigned lane,
					 const struct query *q)
{
	const struct dev_texture *t = q->kind == DEV_SAMPLER ? tex_peek(w, i, lane, &q->ref) : NULL;

	if (t && t->kind == DEV_SAMPLER)
		return t;
	return tex_find(w, i, lane, &q->ref, q->kind == DEV_SURFACE ? DEV_SURFACE : DEV_TEXTURE);
}

static const struct xinst *query(struct warp *w, const struct xinst *i)
{
	const struct query *q = (const struct query *)(uintptr_t)i->imm;
	const uint32_t *level = q->level == OPERAND_NONE ? NULL : cell(w, q->level);
	uint32_t *d = cell(w, i->o[0]);

	FOR_LANES(l, w->exec)
	{
		const struct dev_texture *t = subject(w, i, l, q);

		if (!t)
			return NULL;
		d[l] = q->answer(t, level ? level[l] : 0);
	}
	return i + 1;
}

/* u = kind */
static const struct xinst *istypep(struct warp *w, const struct xinst *i)
{
	const struct tex_ref *ref = (const struct tex_ref *)(uintptr_t)i->imm;
	uint32_t bits = 0;

	FOR_LANES(l, w->exec)
	{
		const struct dev_texture *t = tex_peek(w, i, l, ref);

		bits |= (uint32_t)(t && t->kind == i->u) << l;
	}
	pred_store(w, i->o[0], bits);
	return i + 1;
}

/* ---- decoding ------------------------------------------------------------------------------ */

static const struct query_row *query_find(const struct ptx_inst *in)
{
	for (unsigned k = 0; k < sizeof(queries) / sizeof(queries[0]); k++) {
		const char *at = strstr(in->mods, queries[k].name);
		size_t n = strlen(queries[k].name);

		if (at && (at[n] == '.' || !at[n]))
			return &queries[k];
	}
	return NULL;
}

static int emit_query(struct decode *c, const struct exec_row *row)
{
	struct query *q = arena_zalloc(&c->program->arena, sizeof(*q));
	const struct query_row *what = query_find(c->in);
	bool surface = c->in->op == PTX_OP_SUQ, level = strstr(c->in->mods, ".level.");
	struct dest d;
	int rc;

	if (!q)
		return refuse(c, "out of memory");
	if (!what || !(what->of & (surface ? OF_SURFACE : OF_TEXTURE | OF_SAMPLER)) ||
	    (level && !(what->of & OF_LEVEL)) || c->in->nsrc != 1u + level)
		return refuse(c, "unknown query");
	q->answer = what->answer;
	q->kind = surface ? DEV_SURFACE : what->of & OF_SAMPLER ? DEV_SAMPLER : DEV_TEXTURE;
	q->level = OPERAND_NONE;
	rc = tex_ref_source(c, &c->in->src[0], &q->ref);
	if (!rc && level)
		rc = source(c, &c->in->src[1], 32, false, &q->level);
	if (!rc)
		rc = dest(c, &c->in->dst[0], 32, false, &d);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->imm = (int64_t)(uintptr_t)q;
	return dest_done(c, &d);
}

static int emit_istypep(struct decode *c, const struct exec_row *row)
{
	struct tex_ref *ref = arena_zalloc(&c->program->arena, sizeof(*ref));
	struct dest d;
	int rc = ref ? tex_ref_source(c, &c->in->src[0], ref) : refuse(c, "out of memory");

	if (!rc)
		rc = dest(c, &c->in->dst[0], 1, false, &d);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->u = c->in->type == PTX_SURFREF      ? DEV_SURFACE
	       : c->in->type == PTX_SAMPLERREF ? DEV_SAMPLER
					       : DEV_TEXTURE;
	x->imm = (int64_t)(uintptr_t)ref;
	return 0;
}

static const struct exec_row rows[] = {
	{.op = PTX_OP_TXQ, .sig = "", .fn = query, .emit = emit_query},
	{.op = PTX_OP_SUQ, .sig = "", .fn = query, .emit = emit_query},
	{.op = PTX_OP_ISTYPEP, .sig = "", .fn = istypep, .emit = emit_istypep},
};

const struct exec_family exec_tex_query = {rows, sizeof(rows) / sizeof(rows[0])};
