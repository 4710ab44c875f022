/* SPDX-License-Identifier: Apache-2.0
 *
 * tex, tld4, txq: PTX ISA 9.7.10, judged by texture_model.c. Coordinates are odd multiples of a sixteenth of a texel:
 * never on an edge, and with weights that 8 bits of fraction hold, so that filtered values are exact.
 */
#include "form.h"
#include "reference.h"
#include "texture_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 64, WIDTH = 8, HEIGHT = 4, DEPTH = 4, LAYERS = 3, CUBE = 4, LEVELS = 3 };

static struct texture_case cases[MAX_CASES];
static unsigned ncases;
static uint64_t used_bytes;
static uint8_t memory[TEXEL_BYTES];
static struct dev_texture table[MAX_CASES];

struct geometry {
	const char *name;
	unsigned dims, layers;
	bool cube;
};
static const struct geometry geometries[] = {
	{"1d", 1, 0, false},       {"2d", 2, 0, false},  {"3d", 3, 0, false},    {"a1d", 1, LAYERS, false},
	{"a2d", 2, LAYERS, false}, {"cube", 2, 6, true}, {"acube", 2, 12, true},
};

struct texture_options {
	enum dev_texel texel;
	unsigned channels, levels;
	bool normalized, filter, to_float;
	enum dev_address_mode address;
};

static struct texture_case *add_case(const struct geometry *g, const struct texture_options *o)
{
	struct texture_case *t = &cases[ncases];

	if (ncases >= MAX_CASES)
		abort();
	memset(t, 0, sizeof(*t));
	t->d.handle = 7 + ncases++;
	t->d.kind = DEV_TEXTURE;
	t->d.state = DEV_TEXTURE_LIVE;
	t->d.dims = (uint8_t)g->dims;
	t->d.cube = g->cube;
	t->d.texel = (uint8_t)o->texel;
	t->d.channels = (uint8_t)o->channels;
	t->d.normalized = o->normalized;
	t->d.filter = o->filter;
	t->d.to_float = o->to_float;
	memset(t->d.address, o->address, sizeof(t->d.address));
	t->d.max_level = (float)(o->levels - 1);
	texture_place(t, g->cube ? CUBE : WIDTH,
		      g->dims < 2 ? 1
		      : g->cube   ? CUBE
				  : HEIGHT,
		      g->dims < 3 ? 1 : DEPTH, g->layers, o->levels, &used_bytes);
	if (used_bytes > TEXEL_BYTES)
		abort();
	texture_fill(t, memory);
	return t;
}

/* arg: the case. k[0]: geometry, k[1]: 's' or 'f' coordinates, k[2]: destination: 'f' 'w' 'e' 'E', k[3]: mode 0 plain, 1
 * base, 2 level, 3 grad, k[4]: component of tld4 + 1 */
static uint64_t float_bits(double v)
{
	float single = (float)v;
	uint32_t bits;

	memcpy(&bits, &single, 4);
	return bits;
}

static double float_of(uint64_t bits)
{
	float v;
	uint32_t b = (uint32_t)bits;

	memcpy(&v, &b, 4);
	return v;
}

static uint64_t hash(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ x >> 29;
}

/* inputs: x, y, z, layer, level of detail */
static void fill_coordinates(const struct form *f, unsigned t, uint64_t *in)
{
	const struct texture_case *x = f->arg;
	const struct geometry *g = &geometries[f->k[0]];
	const struct dev_texture_level *v = &x->d.level[0];
	double size[3] = {v->width, v->height, v->depth};
	uint64_t h = hash(t + 1);
	unsigned major = t % 3;

	for (unsigned a = 0; a < 3; a++) {
		double c = ((double)((long)(h >> (10 * a + 8) & 0x3ff) % (long)(48 * size[a])) * 2 + 1) / 16 -
			   size[a];
		double odd = ((double)(h >> (4 * a + 4) & 7) * 2 + 1) / 16 * (h >> (40 + a) & 1 ? -1 : 1);

		if (x->d.normalized)
			c /= size[a];
		if (g->cube)
			c = a == major ? (h >> 50 & 1 ? -1 : 1) : odd;
		in[a] = f->k[1] == 's' ? (uint32_t)(int32_t)floor(c) : float_bits(c);
	}
	in[3] = g->layers ? h >> 44 & 0xff : 0;
	in[3] %= g->cube ? g->layers / 6 : g->layers ? g->layers : 1;
	in[4] = f->k[1] == 's' ? h >> 54 & 1 : float_bits((double)(h >> 54 & 1));
}

static void want_value(const struct form *f, double v, struct want *out)
{
	mpfr_t m;

	switch (f->k[2]) {
	case 'w': out->bits = (uint32_t)(int64_t)v; return;
	case 'e':
		mpfr_init2(m, 53);
		mpfr_set_d(m, v, MPFR_RNDN);
		out->bits = encode(FORMAT_F16, m, MPFR_RNDN);
		mpfr_clear(m);
		return;
	default: break;
	}
	out->kind = WANT_RANGE;
	/* fractions of 255 and the like are rounded somewhere on the way */
	out->lo = v - fabs(v) * 0x1p-18;
	out->hi = v + fabs(v) * 0x1p-18;
}

static double value_of(const struct form *f, const uint64_t *in, unsigned c)
{
	const struct texture_case *x = f->arg;
	const struct geometry *g = &geometries[f->k[0]];
	unsigned level = f->k[3] == 2 ? (f->k[1] == 's' ? (unsigned)in[4] : (unsigned)float_of(in[4])) : 0;
	double coord[3], st[2];
	unsigned layer = (unsigned)in[3];

	for (unsigned a = 0; a < 3; a++)
		coord[a] = f->k[1] == 's' ? (double)(int32_t)(uint32_t)in[a] : float_of(in[a]);
	if (g->cube) {
		layer = layer * 6 + cube_face(coord, st);
		coord[0] = st[0];
		coord[1] = st[1];
	}
	if (f->k[3] == 2 && x->d.nlevels <= level)
		level = x->d.nlevels - 1;
	return texture_fetch(x, level, coord, layer, c);
}

static void ref_tex(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct texture_case *x = f->arg;

	for (unsigned c = 0; c < 4; c++) {
		if (c >= x->d.channels) {
			out[c].kind = WANT_ANY;
			continue;
		}
		want_value(f, value_of(f, in, c), &out[c]);
	}
}

/* Packed: two registers of two f16. */
static void ref_tex_packed(const struct form *f, const uint64_t *in, struct want *out)
{
	struct form g = *f;
	struct want w[4];

	g.k[2] = 'e';
	for (unsigned c = 0; c < 4; c++)
		w[c] = (struct want){.mask = ~0ull};
	ref_tex(&g, in, w);
	for (unsigned i = 0; i < 2; i++)
		out[i].bits = w[2 * i].bits | w[2 * i + 1].bits << 16;
}

static void ref_gather(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct texture_case *x = f->arg;
	const struct geometry *g = &geometries[f->k[0]];
	double coord[3], st[2], four[4];
	unsigned layer = (unsigned)in[3];

	for (unsigned a = 0; a < 3; a++)
		coord[a] = float_of(in[a]);
	if (g->cube) {
		layer = layer * 6 + cube_face(coord, st);
		coord[0] = st[0];
		coord[1] = st[1];
	}
	texture_gather(x, coord, layer, (unsigned)f->k[4] - 1, four);
	for (unsigned k = 0; k < 4; k++)
		want_value(f, four[k], &out[k]);
}

/* The coordinate operand of a geometry; first is the number of the first input. */
static char *coordinates(const struct geometry *g, unsigned first)
{
	unsigned x = first, y = first + 1, z = first + 2, layer = first + 3;

	if (g->cube)
		return g->layers > 6 ? text_of("{v%u, v%u, v%u, v%u}", layer, x, y, z)
				     : text_of("{v%u, v%u, v%u, v%u}", x, y, z, x);
	if (g->layers)
		return g->dims == 1 ? text_of("{v%u, v%u}", layer, x)
				    : text_of("{v%u, v%u, v%u, v%u}", layer, x, y, x);
	return g->dims == 1   ? text_of("{v%u}", x)
	       : g->dims == 2 ? text_of("{v%u, v%u}", x, y)
			      : text_of("{v%u, v%u, v%u, v%u}", x, y, z, x);
}

static char *gradients(const struct geometry *g)
{
	const char *v = g->cube || g->dims == 3 ? "{z, z, z, z}" : g->dims == 2 ? "{z, z}" : "{z}";

	return text_of(", %s, %s", v, v);
}

static const char *const modes[] = {"", ".base", ".level", ".grad"};

static struct form *add_tex(struct suite *s, const struct texture_case *t, unsigned geometry, unsigned mode,
			    char dst, char coord, const char *dtype, const char *note)
{
	const struct geometry *g = &geometries[geometry];
	bool packed = dst == 'E';
	const char *outs = packed ? "EE" : dst == 'f' ? "ffff" : dst == 'e' ? "eeee" : "wwww";
	const char *ctype = coord == 's' ? "s32" : "f32";
	char *extra = mode == 2   ? text_of(", v%u", packed ? 6u : 8u)
		      : mode == 3 ? gradients(g)
				  : text_of("%s", "");
	struct form *f = form_add(
		s, text_of("%s=wwwww", outs), packed ? ref_tex_packed : ref_tex,
		text_of("{ .reg .b64 h; .reg .f32 z; mov.f32 z, 0f00000000; mov.u64 h, %llu;\n"
			"\ttex%s.%s.%s.%s.%s %s, [h, %s]%s; }",
			(unsigned long long)t->d.handle, modes[mode], g->name, packed ? "v2" : "v4", dtype,
			ctype, packed ? "{v0, v1}" : "{v0, v1, v2, v3}", coordinates(g, packed ? 2 : 4),
			extra),
		"tex%s.%s.%s.%s.%s %s", modes[mode], g->name, packed ? "v2" : "v4", dtype, ctype, note);

	f->arg = t;
	f->k[0] = geometry;
	f->k[1] = coord;
	f->k[2] = dst;
	f->k[3] = mode;
	f->fill = fill_coordinates;
	f->ntuples = 512;
	return f;
}

/* Wrapping and mirroring are for normalised coordinates; the direction into a cube is always such, and what an address
 * mode makes of the place beyond a face's edge isn't said. In 2d all the others, elsewhere half of them. */
static bool is_swept(unsigned geometry, const struct texture_options *o)
{
	bool repeats = o->address == DEV_ADDRESS_WRAP || o->address == DEV_ADDRESS_MIRROR;

	if (!o->normalized && (repeats || geometries[geometry].cube))
		return false;
	if (geometries[geometry].cube)
		return o->address == DEV_ADDRESS_CLAMP;
	return geometry == 1 || (o->address + o->filter) % 2 == 0;
}

/* Address modes and filters. */
static void add_sampling(struct suite *s, unsigned geometry)
{
	static const char *const names[] = {"wrap", "clamp", "mirror", "border"};

	for (unsigned i = 0; i < 16; i++) {
		struct texture_options o = {.texel = DEV_TEXEL_F32,
					    .channels = 4,
					    .levels = 1,
					    .normalized = i & 1,
					    .filter = i & 2,
					    .address = (enum dev_address_mode)(i >> 2)};

		if (is_swept(geometry, &o))
			add_tex(s, add_case(&geometries[geometry], &o), geometry, 0, 'f', 'f', "f32",
				text_of("%s, %s, %s", names[i >> 2], o.filter ? "linear" : "nearest",
					o.normalized ? "normalised" : "in texels"));
	}
}

/* Destination types, integer coordinates, mipmap modes. */
static void add_types(struct suite *s, unsigned geometry)
{
	const struct geometry *g = &geometries[geometry];
	struct texture_options floats = {DEV_TEXEL_F32, 4, LEVELS, true, false, false, DEV_ADDRESS_CLAMP},
			       halves = {DEV_TEXEL_F16, 4, LEVELS, true, false, false, DEV_ADDRESS_CLAMP},
			       u32s = {DEV_TEXEL_U32, 4, LEVELS, true, false, false, DEV_ADDRESS_CLAMP},
			       s32s = {DEV_TEXEL_S32, 4, LEVELS, true, false, false, DEV_ADDRESS_CLAMP};
	const struct texture_case *f32 = add_case(g, &floats), *f16 = add_case(g, &halves),
				  *u32 = add_case(g, &u32s), *s32 = add_case(g, &s32s);

	for (unsigned mode = 0; mode < 4; mode++) {
		add_tex(s, f32, geometry, mode, 'f', 'f', "f32", "");
		add_tex(s, u32, geometry, mode, 'w', 'f', "u32", "");
		add_tex(s, s32, geometry, mode, 'w', 'f', "s32", "");
		add_tex(s, f16, geometry, mode, 'e', 'f', "f16", "");
		add_tex(s, f16, geometry, mode, 'E', 'f', "f16x2", "");
	}
	if (g->cube)
		return;
	floats.normalized = halves.normalized = u32s.normalized = s32s.normalized = false;
	floats.levels = halves.levels = u32s.levels = s32s.levels = 1;
	add_tex(s, add_case(g, &floats), geometry, 0, 'f', 's', "f32", "");
	add_tex(s, add_case(g, &u32s), geometry, 0, 'w', 's', "u32", "");
	add_tex(s, add_case(g, &s32s), geometry, 0, 'w', 's', "s32", "");
	add_tex(s, add_case(g, &halves), geometry, 0, 'e', 's', "f16", "");
}

static void start(void)
{
	ncases = 0;
	used_bytes = 0;
}

static void finish(struct suite *s)
{
	for (unsigned i = 0; i < ncases; i++)
		table[i] = cases[i].d;
	s->textures = table;
	s->ntextures = ncases;
	s->texels = memory;
	s->texel_bytes = (size_t)used_bytes;
}

void forms_texture_sampling(struct suite *s)
{
	start();
	for (unsigned g = 0; g < 7; g++)
		add_sampling(s, g);
	finish(s);
}

void forms_texture_types(struct suite *s)
{
	start();
	for (unsigned g = 0; g < 7; g++)
		add_types(s, g);
	finish(s);
}

/* Integers as integers and as fractions, of one, two and four channels. */
void forms_texture_texels(struct suite *s)
{
	static const struct {
		enum dev_texel texel;
		const char *dtype, *name;
	} rows[] = {{DEV_TEXEL_U8, "u32", "u8"},
		    {DEV_TEXEL_U16, "u32", "u16"},
		    {DEV_TEXEL_S8, "s32", "s8"},
		    {DEV_TEXEL_S16, "s32", "s16"}};
	static const unsigned channels[] = {1, 2, 4};

	start();
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 3; k++) {
			struct texture_options o = {rows[i].texel, channels[k],      1, true, false,
						    false,         DEV_ADDRESS_CLAMP};

			add_tex(s, add_case(&geometries[1], &o), 1, 0, 'w', 'f', rows[i].dtype,
				text_of("%s, %u channels", rows[i].name, channels[k]));
			o.to_float = true;
			add_tex(s, add_case(&geometries[1], &o), 1, 0, 'f', 'f', "f32",
				text_of("%s as fractions, %u channels", rows[i].name, channels[k]));
			o.filter = true;
			add_tex(s, add_case(&geometries[1], &o), 1, 0, 'f', 'f', "f32",
				text_of("%s as fractions, %u channels, linear", rows[i].name, channels[k]));
		}
	finish(s);
}

static void ref_constant(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)in;
	out->bits = (uint64_t)f->k[0];
}

static void add_query(struct suite *s, const struct texture_case *t, const char *query, const char *lod,
		      uint64_t v)
{
	struct form *f = form_add(s, "w=w", ref_constant,
				  text_of("{ .reg .b64 h; mov.u64 h, %llu; txq.%s.b32 %%0, [h]%s; }",
					  (unsigned long long)t->d.handle, query, lod),
				  "txq.%s.b32%s", query, lod);

	f->k[0] = (long)v;
	f->most = 32;
}

static void add_gathers(struct suite *s)
{
	static const unsigned geoms[] = {1, 4, 5, 6};
	static const struct {
		enum dev_texel texel;
		const char *dtype;
		char dst;
	} types[] = {{DEV_TEXEL_F32, "f32", 'f'}, {DEV_TEXEL_U32, "u32", 'w'}, {DEV_TEXEL_S32, "s32", 'w'}};

	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 3; k++) {
			const struct geometry *g = &geometries[geoms[i]];
			struct texture_options o = {types[k].texel,   4, 1, true, false, false,
						    DEV_ADDRESS_CLAMP};
			const struct texture_case *t = add_case(g, &o);

			for (unsigned c = 0; c < 4; c++) {
				struct form *f = form_add(
					s, types[k].dst == 'f' ? "ffff=wwwww" : "wwww=wwwww", ref_gather,
					text_of("{ .reg .b64 h; mov.u64 h, %llu; tld4.%c.%s.v4.%s.f32 {v0, "
						"v1, v2, v3}, "
						"[h, %s]; }",
						(unsigned long long)t->d.handle, "rgba"[c], g -> name,
						types[k].dtype, coordinates(g, 4)),
					"tld4.%c.%s.v4.%s.f32", "rgba"[c], g -> name, types[k].dtype);

				f->arg = t;
				f->k[0] = geoms[i];
				f->k[1] = 'f';
				f->k[2] = types[k].dst;
				f->k[4] = c + 1;
				f->fill = fill_coordinates;
				f->ntuples = 256;
			}
		}
}

static void add_attribute(struct suite *s, const struct texture_case *t, const char *query, const char *of,
			  uint64_t v)
{
	add_query(s, t, query, "", v);
	s->forms[s->n - 1].name = text_of("txq.%s.b32 of %s", query, of);
}

/* Channel types and orders are OpenCL's numbers (5.3.3, table 12). */
static void add_channels(struct suite *s)
{
	static const struct {
		enum dev_texel texel;
		unsigned channels;
		bool to_float;
		unsigned type, order;
		const char *name;
	} rows[] = {{DEV_TEXEL_F32, 4, false, 0x10de, 0x10b5, "f32"},
		    {DEV_TEXEL_F16, 2, false, 0x10dd, 0x10b2, "f16"},
		    {DEV_TEXEL_U8, 4, false, 0x10da, 0x10b5, "u8"},
		    {DEV_TEXEL_S16, 1, false, 0x10d8, 0x10b0, "s16"},
		    {DEV_TEXEL_U32, 1, false, 0x10dc, 0x10b0, "u32"},
		    {DEV_TEXEL_U8, 1, true, 0x10d2, 0x10b0, "u8 as fractions"},
		    {DEV_TEXEL_S16, 2, true, 0x10d1, 0x10b2, "s16 as fractions"}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct texture_options o = {rows[i].texel,    rows[i].channels, 1, true, false,
					    rows[i].to_float, DEV_ADDRESS_CLAMP};
		const struct texture_case *t = add_case(&geometries[1], &o);

		add_attribute(s, t, "channel_data_type", rows[i].name, rows[i].type);
		add_attribute(s, t, "channel_order", rows[i].name, rows[i].order);
	}
}

/* Modes are numbered as the document lists their names: wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border; nearest,
 * linear (5.3.1, 5.3.2). */
static void add_samplers(struct suite *s)
{
	static const struct {
		enum dev_address_mode address[3];
		unsigned modes[3];
		bool filter, sampler;
		const char *name;
	} rows[] = {{{DEV_ADDRESS_WRAP, DEV_ADDRESS_CLAMP, DEV_ADDRESS_MIRROR},
		     {0, 3, 1},
		     true,
		     false,
		     "a texture"},
		    {{DEV_ADDRESS_BORDER, DEV_ADDRESS_WRAP, DEV_ADDRESS_CLAMP_OGL},
		     {4, 0, 2},
		     false,
		     true,
		     "a sampler"}};

	for (unsigned i = 0; i < 2; i++) {
		struct texture_options o = {DEV_TEXEL_F32,    4, 1, true, rows[i].filter, false,
					    DEV_ADDRESS_CLAMP};
		struct texture_case *t = add_case(&geometries[2], &o);

		for (unsigned k = 0; k < 3; k++)
			t->d.address[k] = (uint8_t)rows[i].address[k];
		t->d.kind = rows[i].sampler ? DEV_SAMPLER : DEV_TEXTURE;
		t->d.force_texels = rows[i].sampler;
		add_attribute(s, t, "force_unnormalized_coords", rows[i].name, rows[i].sampler);
		add_attribute(s, t, "filter_mode", rows[i].name, rows[i].filter);
		add_attribute(s, t, "addr_mode_0", rows[i].name, rows[i].modes[0]);
		add_attribute(s, t, "addr_mode_1", rows[i].name, rows[i].modes[1]);
		add_attribute(s, t, "addr_mode_2", rows[i].name, rows[i].modes[2]);
	}
}

static void add_kinds(struct suite *s)
{
	static const struct {
		enum dev_texture_kind kind;
		const char *type, *name;
	} rows[] = {{DEV_TEXTURE, "texref", "a texture"},
		    {DEV_SAMPLER, "samplerref", "a sampler"},
		    {DEV_SURFACE, "surfref", "a surface"}};
	struct texture_options o = {DEV_TEXEL_F32, 4, 1, true, false, false, DEV_ADDRESS_CLAMP};

	for (unsigned i = 0; i < 3; i++) {
		struct texture_case *t = add_case(&geometries[1], &o);

		t->d.kind = (uint8_t)rows[i].kind;
		for (unsigned k = 0; k < 3; k++) {
			struct form *f = form_add(
				s, "w=w", ref_constant,
				text_of("{ .reg .b64 h; .reg .pred p; mov.u64 h, %llu; istypep.%s p, h; "
					"selp.u32 %%0, 1, 0, p; }",
					(unsigned long long)t->d.handle, rows[k].type),
				"istypep.%s of %s", rows[k].type, rows[i].name);

			f->k[0] = i == k;
			f->most = 32;
		}
	}
}

void forms_texture_queries(struct suite *s)
{
	struct texture_options o = {DEV_TEXEL_F32, 4, LEVELS, true, true, false, DEV_ADDRESS_MIRROR};
	const struct texture_case *t, *layered;

	start();
	add_gathers(s);
	t = add_case(&geometries[2], &o);
	layered = add_case(&geometries[4], &o);
	add_query(s, t, "width", "", WIDTH);
	add_query(s, t, "height", "", HEIGHT);
	add_query(s, t, "depth", "", DEPTH);
	add_query(s, t, "normalized_coords", "", 1);
	add_query(s, t, "num_mipmap_levels", "", LEVELS);
	add_query(s, t, "array_size", "", 0);
	add_query(s, layered, "array_size", "", LAYERS);
	add_query(s, t, "level.width", ", 1", WIDTH / 2);
	add_query(s, t, "level.height", ", 2", HEIGHT / 4);
	add_query(s, t, "level.depth", ", 1", DEPTH / 2);
	add_channels(s);
	add_samplers(s);
	add_kinds(s);
	finish(s);
}
