/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures and surfaces, PTX ISA 9.7.10 and 9.7.11, in software: a call finds the descriptor of a handle in the device's
 * table, which the run-time block names, and calls of the device library do the rest. docs/textures.md says what they
 * return.
 */
#include "ptx/lower/writer.h"

#include <string.h>

#include "ptx/lower/device_calls.h"

/* ---- references ------------------------------------------------------------------------------- */

/* A handle, or the address of a variable that holds one; a parameter holds it itself. */
static bool read_reference(struct lower *l, const struct ptx_operand *o, struct ir *out)
{
	if (o->kind == PTX_OPND_PARAM && l->f->is_entry) {
		*out = ir_op(l, "getelementptr i8, ptr addrspace(4) %%kernarg, i64 %llu",
			     (unsigned long long)o->imm);
		*out = ir_op(l, "load i64, ptr addrspace(4) %s, align 8", out->s);
		return true;
	}
	if (o->kind != PTX_OPND_VALUE && o->kind != PTX_OPND_SYMBOL)
		return lower_refuse(l, "this operand names no texture or surface");
	*out = read_bits(l, o, 64);
	return true;
}

/* Ends the lane where `found` is the number of a fault. */
static void check_found(struct lower *l, struct ir found, struct ir reference)
{
	unsigned then = l->next++, end = l->next++;
	struct ir bad = ir_op(l, "icmp ult i64 %s, %u", found.s, CT_TEXTURE_FAULTS), code;

	bad = ir_op(l, "and i1 %s, %s", bad.s, ir_op(l, "icmp ne i64 %s, 0", found.s).s);
	ir_line(l, "br i1 %s, label %%l%u, label %%l%u", bad.s, then, end);
	ir_label(l, then);
	code = ir_op(l, "trunc i64 %s to i32", found.s);
	ir_line(l, "call void @ct_texture_fault(ptr addrspace(1) %s, i32 %u, i64 %s, i32 %s)",
		runtime_pointer(l).s, l->i->line, reference.s, code.s);
	end_lane(l);
	ir_line(l, "br label %%l%u", end);
	ir_label(l, end);
}

static bool find(struct lower *l, const struct ptx_operand *o, unsigned kind, struct ir *descriptor)
{
	struct ir reference;

	if (!read_reference(l, o, &reference))
		return false;
	*descriptor = ir_op(l, "call i64 @ct_texture_find(ptr addrspace(1) %s, i64 %s, i32 %u)",
			    runtime_pointer(l).s, reference.s, kind);
	check_found(l, *descriptor, reference);
	return true;
}

/* ---- tex, tld4 ----------------------------------------------------------------------------------- */

struct geometry {
	uint8_t dims; /* coordinates; 3 for cubes */
	bool is_layered, is_cube;
};

static bool geometry_of(const struct ptx_inst *i, struct geometry *out)
{
	static const struct {
		const char *name;
		struct geometry g;
	} rows[] = {
		{"1d", {1, false, false}},  {"2d", {2, false, false}}, {"3d", {3, false, false}},
		{"a1d", {1, true, false}},  {"a2d", {2, true, false}}, {"cube", {3, false, true}},
		{"acube", {3, true, true}},
	};
	const char *name = ptx_shape_name(i->shape);

	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
		if (!strcmp(rows[k].name, name)) {
			*out = rows[k].g;
			return true;
		}
	return false;
}

/* Sources, one by one. */
struct cursor {
	struct lower *l;
	unsigned at, end;
};

static struct ir take(struct cursor *s)
{
	const struct ptx_operand *o = &s->l->i->src[s->at];

	if (s->at >= s->end)
		lower_refuse(s->l, "an operand is missing");
	if (s->at++ >= s->end || o->kind == PTX_OPND_SINK)
		return ir_text("0");
	return read_bits(s->l, o, 32);
}

/* Elements `first` on of a vector of four. */
static struct ir take_vector(struct cursor *s, struct ir v, unsigned first, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		v = ir_op(s->l, "insertelement <4 x i32> %s, i32 %s, i32 %u", v.s, take(s).s, first + k);
	return v;
}

struct texture_read {
	struct geometry geometry;
	struct ir texture, sampler, layer, at, dx, dy, offset;
	uint32_t how;
	unsigned results;
	bool is_packed; /* two f16 in a register */
};

static bool set_how(struct lower *l, struct texture_read *t)
{
	const struct ptx_inst *i = l->i;
	static const char *const channels[] = {"r", "g", "b", "a"};

	if (!geometry_of(i, &t->geometry))
		return lower_refuse(l, "multi-sample textures, or no geometry: .%s",
				    ptx_shape_name(i->shape));
	if (i->type2 != PTX_S32 && i->type2 != PTX_F32)
		return lower_refuse(l, "coordinates are .s32 or .f32");
	t->how = t->geometry.dims | (t->geometry.is_layered ? CT_TEX_LAYERED : 0) |
		 (t->geometry.is_cube ? CT_TEX_CUBE : 0) | (i->type2 == PTX_S32 ? CT_TEX_INTEGER : 0) |
		 (ir_has_word(i, "level")  ? CT_TEX_LEVEL
		  : ir_has_word(i, "grad") ? CT_TEX_GRAD
					   : 0);
	if (i->op == PTX_OP_TLD4) {
		t->how |= CT_TEX_GATHER;
		for (unsigned k = 0; k < 4; k++)
			t->how |= ir_has_word(i, channels[k]) ? k * CT_TEX_CHANNEL : 0;
	}
	if (t->how & CT_TEX_INTEGER && (t->geometry.is_cube || i->op == PTX_OP_TLD4))
		return lower_refuse(l, "cubemaps and tld4 need coordinates of type .f32");
	return true;
}

static bool set_results(struct lower *l, struct texture_read *t)
{
	const struct ptx_inst *i = l->i;

	if (i->type != PTX_F16X2 && i->type != PTX_F16 && i->type != PTX_F32 && i->type != PTX_U32 &&
	    i->type != PTX_S32)
		return lower_refuse(l, "textures are read as .u32, .s32, .f32, .f16 or .f16x2");
	t->is_packed = i->type == PTX_F16X2;
	t->results = t->is_packed ? 2 : 4;
	if (t->is_packed || i->type == PTX_F16)
		t->how |= CT_TEX_HALVES;
	if (i->ndst != t->results && i->ndst != t->results + 1)
		return lower_refuse(l, "expected %u results", t->results);
	return true;
}

static bool is_sampler(const struct lower *l, const struct ptx_operand *o)
{
	return o->kind == PTX_OPND_SYMBOL || o->kind == PTX_OPND_PARAM ||
	       (o->kind == PTX_OPND_VALUE && o->index && l->f->values[o->index].bits == 64);
}

static bool take_brackets(struct cursor *s, struct texture_read *t)
{
	struct lower *l = s->l;
	const struct ptx_operand *src = l->i->src;

	s->at = 1;
	s->end = l->i->layout;
	if (!find(l, &src[0], CT_TEXTURE | (t->geometry.is_cube ? CT_AS_CUBE : 0), &t->texture))
		return false;
	t->sampler = t->texture;
	if (s->end > 1 && is_sampler(l, &src[1]) && !find(l, &src[s->at++], CT_SAMPLER, &t->sampler))
		return false;
	t->layer = t->geometry.is_layered ? take(s) : ir_text("0");
	t->at = take_vector(s, ir_text("zeroinitializer"), 0, t->geometry.dims);
	s->at = s->end; /* what is left pads the vector */
	s->end = l->i->nsrc;
	return true;
}

/* Partial derivatives: vectors of dims elements, for three dimensions padded to four. */
static void take_gradients(struct cursor *s, struct texture_read *t)
{
	unsigned dims = t->geometry.dims, width = dims == 3 && s->end - s->at >= 8 ? 4 : dims;

	t->dx = take_vector(s, t->dx, 0, dims);
	s->at += width - dims;
	t->dy = take_vector(s, t->dy, 0, dims);
	s->at += width - dims;
}

static bool is_float_register(const struct lower *l, const struct ptx_operand *o)
{
	return o->kind == PTX_OPND_VALUE && o->index &&
	       ptx_type_is_float((enum ptx_type)l->f->slots[l->f->values[o->index].slot].type);
}

/* What follows coordinates and level: an offset, a depth to compare with, both, or neither. */
static bool take_rest(struct cursor *s, struct texture_read *t)
{
	unsigned left = s->end - s->at, dims = t->geometry.dims;
	const struct ptx_operand *next = &s->l->i->src[s->at];

	if (s->l->refused || !left)
		return !s->l->refused;
	if (t->geometry.is_cube || left < dims || left > dims + 1u || left == dims + 1u + (dims == 3) ||
	    (dims == 1 && left == 1 && is_float_register(s->l, next)))
		return lower_refuse(s->l, "comparisons of depths");
	t->offset = take_vector(s, t->offset, 0, dims);
	return !s->l->refused;
}

static void write_results(struct lower *l, const struct texture_read *t, struct ir v)
{
	const struct ptx_inst *i = l->i;
	struct ir e[4];

	for (unsigned k = 0; k < 4; k++)
		e[k] = ir_op(l, "extractelement <4 x i32> %s, i32 %u", v.s, k);
	for (unsigned k = 0; k < t->results; k++) {
		struct ir r = e[k];
		if (t->is_packed)
			r = ir_op(l, "or i32 %s, %s", e[2 * k].s,
				  ir_op(l, "shl i32 %s, 16", e[2 * k + 1].s).s);
		if (i->type == PTX_F16)
			r = ir_op(l, "trunc i32 %s to i16", r.s);
		write_bits(l, &i->dst[k], r, i->type == PTX_F16 ? 16 : 32, i->type == PTX_S32);
	}
	if (i->ndst > t->results) /* all of an array is resident: there are no sparse ones */
		write_bits(l, &i->dst[t->results], ir_text("true"), 1, false);
}

static bool lower_tex(struct lower *l)
{
	const struct ir zeros = ir_text("zeroinitializer");
	struct texture_read t = {.dx = zeros, .dy = zeros, .offset = zeros};
	struct cursor s = {.l = l};

	if (!set_how(l, &t) || !set_results(l, &t) || !take_brackets(&s, &t))
		return false;
	if (t.how & CT_TEX_LEVEL)
		t.at = take_vector(&s, t.at, 3, 1);
	else if (t.how & CT_TEX_GRAD)
		take_gradients(&s, &t);
	if (!take_rest(&s, &t))
		return false;
	struct ir v =
		ir_op(l,
		      "call <4 x i32> @ct_tex(i64 %s, i64 %s, i32 %u, i32 %s, <4 x i32> %s, <4 x i32> %s, "
		      "<4 x i32> %s, <4 x i32> %s)",
		      t.texture.s, t.sampler.s, t.how, t.layer.s, t.at.s, t.dx.s, t.dy.s, t.offset.s);
	write_results(l, &t, v);
	return true;
}

/* ---- txq, suq, istypep ------------------------------------------------------------------------------ */

enum { OF_TEXTURE = 1, OF_SAMPLER = 2, OF_SURFACE = 4, OF_LEVEL = 8 };

static const struct query {
	const char *name;
	uint8_t of, number;
} queries[] = {
	{"width", OF_TEXTURE | OF_SURFACE | OF_LEVEL, CT_QUERY_WIDTH},
	{"height", OF_TEXTURE | OF_SURFACE | OF_LEVEL, CT_QUERY_HEIGHT},
	{"depth", OF_TEXTURE | OF_SURFACE | OF_LEVEL, CT_QUERY_DEPTH},
	{"channel_data_type", OF_TEXTURE | OF_SURFACE, CT_QUERY_CHANNEL_DATA_TYPE},
	{"channel_order", OF_TEXTURE | OF_SURFACE, CT_QUERY_CHANNEL_ORDER},
	{"array_size", OF_TEXTURE | OF_SURFACE, CT_QUERY_ARRAY_SIZE},
	{"num_mipmap_levels", OF_TEXTURE, CT_QUERY_NUM_MIPMAP_LEVELS},
	{"num_samples", OF_TEXTURE, CT_QUERY_NOTHING},
	{"normalized_coords", OF_TEXTURE, CT_QUERY_NORMALIZED_COORDS},
	{"memory_layout", OF_SURFACE, CT_QUERY_NOTHING},
	{"force_unnormalized_coords", OF_SAMPLER, CT_QUERY_FORCE_UNNORMALIZED_COORDS},
	{"filter_mode", OF_SAMPLER, CT_QUERY_FILTER_MODE},
	{"addr_mode_0", OF_SAMPLER, CT_QUERY_ADDR_MODE_0},
	{"addr_mode_1", OF_SAMPLER, CT_QUERY_ADDR_MODE_1},
	{"addr_mode_2", OF_SAMPLER, CT_QUERY_ADDR_MODE_2},
};

static const struct query *query_of(const struct ptx_inst *i)
{
	for (size_t k = 0; k < sizeof(queries) / sizeof(queries[0]); k++)
		if (ir_has_word(i, queries[k].name))
			return &queries[k];
	return NULL;
}

static bool lower_query(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	const bool is_surface = i->op == PTX_OP_SUQ, has_level = ir_has_word(i, "level");
	const struct query *q = query_of(i);
	struct ir t, level = ir_text("0");

	if (!q || !(q->of & (is_surface ? OF_SURFACE : OF_TEXTURE | OF_SAMPLER)) ||
	    (has_level && !(q->of & OF_LEVEL)) || i->nsrc != 1u + has_level)
		return lower_refuse(l, "an unknown query");
	if (!find(l, &i->src[0],
		  is_surface           ? CT_SURFACE
		  : q->of & OF_SAMPLER ? CT_SAMPLER_OF_EITHER
				       : CT_TEXTURE,
		  &t))
		return false;
	if (has_level)
		level = read_bits(l, &i->src[1], 32);
	t = ir_op(l, "call i32 @ct_texture_query(i64 %s, i32 %u, i32 %s)", t.s, q->number, level.s);
	write_bits(l, &i->dst[0], t, 32, false);
	return true;
}

static bool lower_istypep(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned kind = i->type == PTX_SURFREF      ? CT_SURFACE
			: i->type == PTX_SAMPLERREF ? CT_SAMPLER
						    : CT_TEXTURE;
	struct ir r;

	if (!read_reference(l, &i->src[0], &r))
		return false;
	r = ir_op(l, "call i32 @ct_texture_is(ptr addrspace(1) %s, i64 %s, i32 %u)", runtime_pointer(l).s,
		  r.s, kind);
	write_bits(l, &i->dst[0], ir_op(l, "icmp ne i32 %s, 0", r.s), 1, false);
	return true;
}

/* ---- suld, sust, sured -------------------------------------------------------------------------------- */

struct surface_access {
	struct geometry geometry;
	bool is_formatted;
	unsigned vec, bytes; /* of an element */
	uint32_t how;
	struct ir surface, address;
};

static bool describe(struct lower *l, struct surface_access *a)
{
	const struct ptx_inst *i = l->i;
	const bool store = i->op == PTX_OP_SUST, red = i->op == PTX_OP_SURED;

	a->vec = i->vec ? i->vec : 1;
	a->bytes = ptx_type_bits(i->type) / 8;
	a->is_formatted = ir_has_word(i, "p");
	if (!geometry_of(i, &a->geometry) || a->geometry.is_cube)
		return lower_refuse(l, "there are no surfaces of geometry .%s", ptx_shape_name(i->shape));
	if (i->layout < 1u + a->geometry.dims + a->geometry.is_layered)
		return lower_refuse(l, "a coordinate is missing");
	if (a->vec > 4 || !a->bytes || a->bytes > 8)
		return lower_refuse(l, "surfaces are accessed by up to four elements of 8 to 64 bits");
	if (i->op == PTX_OP_SULD ? i->ndst != a->vec : i->nsrc != i->layout + a->vec)
		return lower_refuse(l, "expected %u values", a->vec);
	if (i->op == PTX_OP_SULD && a->is_formatted)
		return lower_refuse(l, "formatted loads of surfaces are no longer part of PTX");
	if (store && a->is_formatted && (a->bytes != 4 || a->geometry.is_layered))
		return lower_refuse(l, "formatted stores take .b32 and no layers");
	if (red && (a->bytes < 4 || a->vec != 1 || a->geometry.is_layered))
		return lower_refuse(l, "no reduction of surfaces has this form");
	a->how = (ir_has_word(i, "clamp")  ? CT_SURFACE_CLAMP
		  : ir_has_word(i, "zero") ? CT_SURFACE_ZERO
					   : CT_SURFACE_TRAP) |
		 (a->geometry.is_layered ? CT_SURFACE_LAYERED : 0) |
		 (a->is_formatted ? CT_SURFACE_FORMATTED : 0) |
		 (a->is_formatted && store ? CT_SURFACE_TEXEL : 0) | CT_SURFACE_BYTES * a->vec * a->bytes;
	return true;
}

static bool find_place(struct lower *l, struct surface_access *a)
{
	struct cursor s = {.l = l, .at = 1, .end = l->i->layout};
	struct ir layer = ir_text("0"), at[3] = {layer, layer, layer}, reference;

	if (!describe(l, a) || !find(l, &l->i->src[0], CT_SURFACE, &a->surface) ||
	    !read_reference(l, &l->i->src[0], &reference))
		return false;
	if (a->geometry.is_layered)
		layer = take(&s);
	for (unsigned k = 0; k < a->geometry.dims; k++)
		at[k] = take(&s);
	a->address = ir_op(l, "call i64 @ct_surface_place(i64 %s, i32 %u, i32 %s, i32 %s, i32 %s, i32 %s)",
			   a->surface.s, a->how, layer.s, at[0].s, at[1].s, at[2].s);
	check_found(l, a->address, reference);
	return !l->refused;
}

/* Begins what is done inside only; the label of where it goes on. */
static unsigned if_inside(struct lower *l, const struct surface_access *a)
{
	unsigned then = l->next++, end = l->next++;

	ir_line(l, "br i1 %s, label %%l%u, label %%l%u", ir_op(l, "icmp ne i64 %s, 0", a->address.s).s, then,
		end);
	ir_label(l, then);
	return end;
}

static void end_inside(struct lower *l, unsigned end)
{
	ir_line(l, "br label %%l%u", end);
	ir_label(l, end);
}

static struct ir element_place(struct lower *l, const struct surface_access *a, unsigned k)
{
	struct ir p = ir_op(l, "add i64 %s, %u", a->address.s, k * a->bytes);

	return ir_text("ptr addrspace(1) %.40s", ir_op(l, "inttoptr i64 %s to ptr addrspace(1)", p.s).s);
}

/* Outside: zeros, written first, unless the address comes from a destination: all is read before. */
static bool lower_suld(struct lower *l)
{
	struct surface_access a = {0};
	struct ir v[4];

	if (!find_place(l, &a))
		return false;
	for (unsigned k = 0; k < a.vec; k++)
		write_bits(l, &l->i->dst[k], ir_text("0"), a.bytes * 8, false);
	unsigned end = if_inside(l, &a);
	for (unsigned k = 0; k < a.vec; k++)
		v[k] = ir_op(l, "load i%u, %s, align 1", a.bytes * 8, element_place(l, &a, k).s);
	for (unsigned k = 0; k < a.vec; k++)
		write_bits(l, &l->i->dst[k], v[k], a.bytes * 8, false);
	end_inside(l, end);
	return true;
}

static bool lower_sust(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct surface_access a = {0};
	struct ir v = ir_text("zeroinitializer");

	if (!find_place(l, &a))
		return false;
	unsigned end = if_inside(l, &a);
	for (unsigned k = 0; k < a.vec; k++) {
		struct ir e = read_bits(l, &i->src[i->layout + k], a.bytes * 8);
		if (a.is_formatted)
			v = ir_op(l, "insertelement <4 x i32> %s, i32 %s, i32 %u", v.s, e.s, k);
		else
			ir_line(l, "store i%u %s, %s, align 1", a.bytes * 8, e.s, element_place(l, &a, k).s);
	}
	if (a.is_formatted)
		ir_line(l, "call void @ct_surface_store_texel(i64 %s, i64 %s, i32 %u, <4 x i32> %s)",
			a.surface.s, a.address.s, a.vec, v.s);
	end_inside(l, end);
	return true;
}

static bool lower_sured(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	static const struct {
		uint8_t sub, op;
	} ops[] = {{PTX_SUB_ADD, CT_REDUCE_ADD},
		   {PTX_SUB_MIN, CT_REDUCE_MIN},
		   {PTX_SUB_MAX, CT_REDUCE_MAX},
		   {PTX_SUB_AND, CT_REDUCE_AND},
		   {PTX_SUB_OR, CT_REDUCE_OR}};
	struct surface_access a = {0};
	unsigned k = 0, bits = ptx_type_bits(i->type);

	while (k < sizeof(ops) / sizeof(ops[0]) && ops[k].sub != i->sub)
		k++;
	if (k == sizeof(ops) / sizeof(ops[0]))
		return lower_refuse(l, "no reduction of surfaces has this form");
	if (!find_place(l, &a))
		return false;
	unsigned end = if_inside(l, &a);
	ir_line(l, "call void @ct_surface_reduce_%u(i64 %s, i64 %s, i32 %u, i32 %u, i%u %s)", bits,
		a.surface.s, a.address.s, ops[k].op, a.is_formatted ? 2 : ptx_type_is_signed(i->type), bits,
		read_bits(l, &i->src[i->layout], bits).s);
	end_inside(l, end);
	return true;
}

bool lower_texture(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_TEX:
	case PTX_OP_TLD4: return lower_tex(l);
	case PTX_OP_TXQ:
	case PTX_OP_SUQ: return lower_query(l);
	case PTX_OP_ISTYPEP: return lower_istypep(l);
	case PTX_OP_SULD: return lower_suld(l);
	case PTX_OP_SUST: return lower_sust(l);
	case PTX_OP_SURED: return lower_sured(l);
	default: return false;
	}
}
