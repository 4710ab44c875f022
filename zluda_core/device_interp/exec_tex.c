/* SPDX-License-Identifier: Apache-2.0
 *
 * tex and tld4, PTX ISA 9.7.10.3 and 9.7.10.4. The operands don't fit an instruction: imm points to a struct tex_op of
 * the program.
 */
#include <string.h>

#include "zluda_core/device_interp/exec_tex.h"
#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/lane.h"

enum tex_result { TEX_WORDS, TEX_HALVES, TEX_PACKED };

struct tex_op {
	struct tex_geometry geometry;
	struct tex_ref texture, sampler;
	bool has_sampler, integer, has_pred;
	enum tex_lod mode;
	enum tex_result result;
	int gather;
	/* cells */
	uint32_t dst[4], pred;
	uint32_t layer, at[3], level, dx[3], dy[3], offset[3]; /* OPERAND_NONE = absent */
};

static uint32_t word(struct warp *w, uint32_t o, unsigned lane)
{
	return o == OPERAND_NONE ? 0 : ((const uint32_t *)cell(w, o))[lane];
}

static void load_fetch(struct warp *w, const struct tex_op *t, unsigned lane, struct tex_fetch *f)
{
	f->layer = word(w, t->layer, lane);
	for (unsigned k = 0; k < 3; k++) {
		f->at.s[k] = (int32_t)word(w, t->at[k], lane);
		f->dx[k] = f32_from(word(w, t->dx[k], lane));
		f->dy[k] = f32_from(word(w, t->dy[k], lane));
		f->offset[k] = (int32_t)word(w, t->offset[k], lane);
	}
	f->level = t->integer ? (float)(int32_t)word(w, t->level, lane) : f32_from(word(w, t->level, lane));
}

/* An integer texture read as f16 gives its low halves. */
static uint16_t half_of(const struct dev_texture *t, uint32_t bits)
{
	bool is_integer = t->texel <= DEV_TEXEL_S32 &&
			  !(t->to_float && t->texel != DEV_TEXEL_U32 && t->texel != DEV_TEXEL_S32);

	return is_integer ? (uint16_t)bits : f16_from_f32(f32_from(bits));
}

static void store(struct warp *w, const struct tex_op *op, const struct dev_texture *t, unsigned lane,
		  const uint32_t v[4])
{
	for (unsigned k = 0; k < 4; k++) {
		if (op->result == TEX_WORDS)
			((uint32_t *)cell(w, op->dst[k]))[lane] = v[k];
		else if (op->result == TEX_HALVES)
			((uint16_t *)cell(w, op->dst[k]))[lane] = half_of(t, v[k]);
		else
			((uint16_t *)cell(w, op->dst[k / 2]))[2 * lane + k % 2] = half_of(t, v[k]);
	}
}

static const struct xinst *tex(struct warp *w, const struct xinst *i)
{
	const struct tex_op *op = (const struct tex_op *)(uintptr_t)i->imm;
	struct tex_fetch f = {.w = w,
			      .i = i,
			      .geometry = op->geometry,
			      .integer = op->integer,
			      .mode = op->mode,
			      .gather = op->gather};
	uint32_t v[4];

	FOR_LANES(l, w->exec)
	{
		f.lane = l;
		f.t = f.sampler = tex_find(w, i, l, &op->texture, DEV_TEXTURE);
		if (f.t && op->has_sampler)
			f.sampler = tex_find(w, i, l, &op->sampler, DEV_SAMPLER);
		if (!f.t || !f.sampler)
			return NULL;
		load_fetch(w, op, l, &f);
		if (!tex_fetch(&f, v))
			return NULL;
		store(w, op, f.t, l, v);
	}
	if (op->has_pred) /* all of an array is resident: there are no sparse ones */
		pred_store(w, op->pred, FULL_MASK);
	return i + 1;
}

/* ---- decoding --------------------------------------------------------------------- */

/* Takes the next sources one by one. */
struct cursor {
	struct decode *c;
	unsigned at, end;
	int rc;
};

static uint32_t take(struct cursor *s)
{
	uint32_t pos = OPERAND_NONE;

	if (!s->rc && s->at >= s->end)
		s->rc = refuse(s->c, "an operand is missing");
	else if (!s->rc && s->c->in->src[s->at].kind == PTX_OPND_SINK)
		s->at++;
	else if (!s->rc)
		s->rc = source(s->c, &s->c->in->src[s->at++], 32, false, &pos);
	return pos;
}

static void take_vector(struct cursor *s, uint32_t *out, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		out[k] = take(s);
}

static bool is_sampler(const struct decode *c, const struct ptx_operand *o)
{
	return o->kind == PTX_OPND_SYMBOL || o->kind == PTX_OPND_PARAM ||
	       (o->kind == PTX_OPND_VALUE && operand_bits(c, o) == 64 && o->index);
}

static void take_brackets(struct cursor *s, struct tex_op *op)
{
	const struct ptx_operand *src = s->c->in->src;

	s->end = s->c->in->layout;
	s->rc = tex_ref_source(s->c, &src[0], &op->texture);
	s->at = 1;
	op->has_sampler = s->end > 1 && is_sampler(s->c, &src[1]);
	if (!s->rc && op->has_sampler)
		s->rc = tex_ref_source(s->c, &src[s->at++], &op->sampler);
	op->layer = op->geometry.layered ? take(s) : OPERAND_NONE;
	take_vector(s, op->at, op->geometry.dims);
	s->at = s->end; /* what is left pads the vector */
	s->end = s->c->in->nsrc;
}

/* What exists and is not executed, with the first target that has it. */
static int refuse_known(struct decode *c, const char *what, const char *target)
{
	const struct ptx_module *m = c->module->ptx;

	return refuse(c, "%s (target %s and later) are not executed; this module targets sm_%u%.1s", what,
		      target, m->target, m->target_suffix ? &m->target_suffix : "");
}

/* Partial derivatives: vectors of dims elements, for three dimensions padded to four. */
static void take_gradients(struct cursor *s, struct tex_op *op)
{
	unsigned dims = op->geometry.dims, width = dims;

	if (dims == 3 && s->end - s->at >= 8)
		width = 4;
	take_vector(s, op->dx, dims);
	s->at += width - dims;
	take_vector(s, op->dy, dims);
	s->at += width - dims;
}

static bool is_float_register(const struct decode *c, const struct ptx_operand *o)
{
	return o->kind == PTX_OPND_VALUE && o->index &&
	       ptx_type_is_float((enum ptx_type)c->func->slots[c->func->values[o->index].slot].type);
}

/* What follows coordinates and level: an offset, a depth to compare with, both, or neither. */
static void take_rest(struct cursor *s, struct tex_op *op)
{
	unsigned left = s->end - s->at, dims = op->geometry.dims;
	const struct ptx_operand *next = &s->c->in->src[s->at];

	if (s->rc || !left)
		return;
	if (op->geometry.cube || left < dims || left == dims + 1u + (dims == 3) ||
	    (dims == 1 && left == 1 && is_float_register(s->c, next)) || left > dims + 1u) {
		s->rc = refuse_known(s->c, "comparisons of depths", "sm_30");
		return;
	}
	take_vector(s, op->offset, dims);
}

static bool has(const struct decode *c, const char *modifier)
{
	const char *at = strstr(c->in->mods, modifier);
	size_t n = strlen(modifier);

	return at && (at[n] == '.' || !at[n]);
}

static int set_results(struct decode *c, struct tex_op *op, struct dest *d, unsigned *nd)
{
	const struct ptx_inst *in = c->in;
	unsigned bits = 32, n = 4;
	int rc = 0;

	op->result = in->type == PTX_F16X2 ? TEX_PACKED : in->type == PTX_F16 ? TEX_HALVES : TEX_WORDS;
	if (op->result == TEX_PACKED)
		n = 2;
	else if (op->result == TEX_HALVES)
		bits = 16;
	if (in->type != PTX_F16X2 && in->type != PTX_F16 && in->type != PTX_F32 && in->type != PTX_U32 &&
	    in->type != PTX_S32)
		return refuse(c, "textures are read as .u32, .s32, .f32, .f16 or .f16x2");
	op->has_pred = in->ndst == n + 1;
	if (in->ndst != n && !op->has_pred)
		return refuse(c, "expected %u results", n);
	for (unsigned k = 0; k < in->ndst && !rc; k++) {
		rc = dest(c, &in->dst[k], k == n ? 1 : bits, false, &d[k]);
		*(k == n ? &op->pred : &op->dst[k]) = d[k].pos;
	}
	*nd = in->ndst;
	return rc;
}

static int set_mode(struct decode *c, struct tex_op *op)
{
	const struct ptx_inst *in = c->in;

	op->gather = -1;
	op->mode = has(c, ".level") ? TEX_LEVEL : has(c, ".grad") ? TEX_GRAD : TEX_BASE;
	op->integer = in->type2 == PTX_S32;
	if (in->type2 != PTX_S32 && in->type2 != PTX_F32)
		return refuse(c, "coordinates are .s32 or .f32");
	if (in->op == PTX_OP_TLD4)
		op->gather = has(c, ".r") ? 0 : has(c, ".g") ? 1 : has(c, ".b") ? 2 : 3;
	if (!tex_geometry(in, &op->geometry))
		return strstr(ptx_shape_name(in->shape), "2dms")
			       ? refuse_known(c, "multi-sample textures", "sm_30")
			       : refuse(c, "there are no textures of geometry .%s",
					ptx_shape_name(in->shape));
	if ((op->geometry.cube || op->gather >= 0) && op->integer)
		return refuse(c, "cubemaps and tld4 need coordinates of type .f32");
	return 0;
}

static int emit_tex(struct decode *c, const struct exec_row *row)
{
	struct tex_op *op = arena_zalloc(&c->program->arena, sizeof(*op));
	struct cursor s = {.c = c};
	struct dest d[5];
	unsigned nd = 0;

	if (!op)
		return refuse(c, "out of memory");
	memset(op->at, 0xff, sizeof(op->at));
	memset(op->dx, 0xff, sizeof(op->dx));
	memset(op->dy, 0xff, sizeof(op->dy));
	memset(op->offset, 0xff, sizeof(op->offset));
	op->level = OPERAND_NONE;
	s.rc = set_mode(c, op);
	if (!s.rc)
		take_brackets(&s, op);
	if (op->mode == TEX_LEVEL)
		op->level = take(&s);
	else if (op->mode == TEX_GRAD)
		take_gradients(&s, op);
	take_rest(&s, op);
	if (!s.rc)
		s.rc = set_results(c, op, d, &nd);
	if (s.rc)
		return s.rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->imm = (int64_t)(uintptr_t)op;
	for (unsigned k = 0; k < nd && !s.rc; k++)
		s.rc = dest_done(c, &d[k]);
	return s.rc;
}

static const struct exec_row rows[] = {
	{.op = PTX_OP_TEX, .sig = "", .fn = tex, .emit = emit_tex},
	{.op = PTX_OP_TLD4, .sig = "", .fn = tex, .emit = emit_tex},
};

const struct exec_family exec_tex = {rows, sizeof(rows) / sizeof(rows[0])};
