/* SPDX-License-Identifier: Apache-2.0
 *
 * What a texture fetch returns (CUDA C++ Programming Guide, "Texture Fetching"; where it leaves freedom,
 * docs/textures.md says what is done here). Coordinates are scaled exactly in f64; weights are fractions of 256;
 * the weighted sum is made in f64 and rounded to f32 once.
 */
#include <math.h>
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/device_interp/exec_tex.h"
#include "zluda_core/device_interp/half.h"

#define WEIGHT_ONE 256
#define FAR        1099511627776.0 /* 2^40: beyond any texel, and whole in f64 */
#define OUTSIDE    INT64_MIN
#define FACES      6u

/* ---- texels ------------------------------------------------------------------- */

/* A channel's bits as they are handed out. */
struct channel_format {
	uint8_t bytes;
	bool is_signed, is_float;
	bool always_fraction;
	float most; /* what 1.0 is stored as */
};
static const struct channel_format channel_formats[] = {
	[DEV_TEXEL_U8] = {1, false, false, false, 255},   [DEV_TEXEL_U16] = {2, false, false, false, 65535},
	[DEV_TEXEL_U32] = {4, false, false, false, 0},    [DEV_TEXEL_S8] = {1, true, false, false, 127},
	[DEV_TEXEL_S16] = {2, true, false, false, 32767}, [DEV_TEXEL_S32] = {4, true, false, false, 0},
	[DEV_TEXEL_F16] = {2, false, true, false, 0},     [DEV_TEXEL_F32] = {4, false, true, false, 0},
	[DEV_TEXEL_UN8] = {1, false, false, true, 255},   [DEV_TEXEL_UN16] = {2, false, false, true, 65535},
	[DEV_TEXEL_SN8] = {1, true, false, true, 127},    [DEV_TEXEL_SN16] = {2, true, false, true, 32767},
};

static const struct channel_format *format_of(const struct dev_texture *t)
{
	return &channel_formats[t->texel <= DEV_TEXEL_SN16 ? t->texel : DEV_TEXEL_U32];
}

static bool reads_fractions(const struct dev_texture *t)
{
	return format_of(t)->always_fraction || (t->to_float && format_of(t)->most != 0);
}

static bool reads_floats(const struct dev_texture *t)
{
	return format_of(t)->is_float || reads_fractions(t);
}

static uint32_t stored(const struct channel_format *f, const uint8_t *p)
{
	uint32_t v = 0;

	memcpy(&v, p, f->bytes);
	if (f->is_signed && f->bytes < 4)
		v = (uint32_t)((int32_t)(v << (32 - 8 * f->bytes)) >> (32 - 8 * f->bytes));
	return v;
}

/* IEC 61966-2-1 */
static float linear_of_srgb(double c)
{
	return (float)(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
}

static float fraction(const struct channel_format *f, uint32_t v, bool srgb)
{
	double c = (f->is_signed ? (double)(int32_t)v : (double)v) / (double)f->most;

	if (srgb)
		return linear_of_srgb(c);
	return (float)(c < -1 ? -1 : c);
}

static uint32_t channel(const struct dev_texture *t, const uint8_t *p, unsigned k)
{
	const struct channel_format *f = format_of(t);
	uint32_t v = stored(f, p + k * f->bytes);

	if (f->is_float)
		return f->bytes == 2 ? f32_bits(f16_to_f32((uint16_t)v)) : v;
	if (reads_fractions(t))
		return f32_bits(fraction(f, v, t->srgb && f->bytes == 1 && !f->is_signed && k < 3));
	return v;
}

/* Channels that the format lacks are 0, the fourth is 1. */
static void fill_missing(const struct dev_texture *t, uint32_t out[4])
{
	for (unsigned k = t->channels; k < 4; k++)
		out[k] = k < 3 ? 0 : reads_floats(t) ? f32_bits(1) : 1;
}

static void border(const struct tex_fetch *f, uint32_t out[4])
{
	const struct dev_texture *t = f->t;

	memset(out, 0, 4 * sizeof(out[0]));
	if (!t->linear)
		memcpy(out, t->border, t->channels * sizeof(out[0]));
	fill_missing(t, out);
}

/* Indices are inside, or OUTSIDE. */
static bool texel(const struct tex_fetch *f, const struct dev_texture_level *l, const int64_t x[3],
		  uint32_t layer, uint32_t out[4])
{
	const struct dev_texture *t = f->t;

	if (x[0] == OUTSIDE || x[1] == OUTSIDE || x[2] == OUTSIDE) {
		border(f, out);
		return true;
	}
	uint64_t plane = t->layers ? layer : (uint64_t)x[2];
	uint64_t a = l->base + plane * l->slice + (uint64_t)x[1] * l->row + (uint64_t)x[0] * t->texel_bytes;
	const uint8_t *p = mem_resolve_lane(f->w, f->i, PTX_SPACE_GLOBAL, a, t->texel_bytes, 1, 0, f->lane);

	if (!p)
		return false;
	for (unsigned k = 0; k < t->channels; k++)
		out[k] = channel(t, p, k);
	fill_missing(t, out);
	return true;
}

/* ---- addresses ------------------------------------------------------------------ */

static int64_t modulo(int64_t i, int64_t n)
{
	return i % n < 0 ? i % n + n : i % n;
}

static int64_t wrapped(uint8_t mode, int64_t i, int64_t n)
{
	int64_t m;

	if (i >= 0 && i < n)
		return i;
	switch (mode) {
	case DEV_ADDRESS_WRAP: return modulo(i, n);
	case DEV_ADDRESS_MIRROR: m = modulo(i, 2 * n); return m < n ? m : 2 * n - 1 - m;
	case DEV_ADDRESS_CLAMP: return i < 0 ? 0 : n - 1;
	default: return OUTSIDE;
	}
}

/* A coordinate in texels of a level. */
static double scaled(const struct tex_fetch *f, unsigned axis, uint32_t n)
{
	uint8_t mode = f->sampler->address[axis];
	double u = (double)f->at.f[axis];

	if (u != u)
		return 0;
	if (f->t->normalized && !f->sampler->force_texels)
		u *= n;
	if (mode == DEV_ADDRESS_CLAMP_OGL)
		u = u < 0 ? 0 : u > n ? n : u;
	if (u > -FAR && u < FAR)
		return u;
	if ((mode == DEV_ADDRESS_WRAP || mode == DEV_ADDRESS_MIRROR) && u - u == 0)
		return fmod(u, 2.0 * n);
	return u < 0 ? -FAR : FAR;
}

/* ---- one level ---------------------------------------------------------------------- */

struct axis {
	int64_t first;   /* texel below */
	uint32_t weight; /* of the one after it, of WEIGHT_ONE */
};

static struct axis axis_nearest(double u, int32_t offset)
{
	return (struct axis){(int64_t)floor(u) + offset, 0};
}

static struct axis axis_linear(double u, int32_t offset)
{
	double below = floor(u - 0.5);

	return (struct axis){(int64_t)below + offset, (uint32_t)floor((u - 0.5 - below) * WEIGHT_ONE + 0.5)};
}

/* Face and place in it of a direction (Programming Guide, "Cubemap Textures"): s and t from -1 to 1. Of equal
 * magnitudes z is taken before y, y before x. */
static uint32_t cube_face(const double d[3], double st[2])
{
	double x = fabs(d[0]), y = fabs(d[1]), z = fabs(d[2]), m = z;
	uint32_t face;

	if (z >= x && z >= y) {
		face = d[2] < 0 ? 5 : 4;
		st[0] = d[2] < 0 ? -d[0] : d[0];
		st[1] = -d[1];
	} else if (y >= x) {
		face = d[1] < 0 ? 3 : 2;
		st[0] = d[0];
		st[1] = d[1] < 0 ? -d[2] : d[2];
		m = y;
	} else {
		face = d[0] < 0 ? 1 : 0;
		st[0] = d[0] < 0 ? d[2] : -d[2];
		st[1] = -d[1];
		m = x;
	}
	st[0] = m > 0 ? st[0] / m : 0;
	st[1] = m > 0 ? st[1] / m : 0;
	return face;
}

static void cube_direction(uint32_t face, double s, double t, double d[3])
{
	const double directions[FACES][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t},
					     {s, -1, -t}, {s, -t, 1},  {-s, -t, -1}};

	memcpy(d, directions[face], sizeof(directions[face]));
}

/* A texel off a face is the one of the neighbouring face that lies in the same direction. */
static uint32_t cube_neighbour(uint32_t face, int64_t x[3], int64_t n)
{
	double d[3], st[2];

	cube_direction(face, (2.0 * (double)x[0] + 1) / (double)n - 1,
		       (2.0 * (double)x[1] + 1) / (double)n - 1, d);
	face = cube_face(d, st);
	for (unsigned k = 0; k < 2; k++)
		x[k] = wrapped(DEV_ADDRESS_CLAMP, (int64_t)floor((st[k] + 1) / 2 * (double)n), n);
	return face;
}

struct level_place {
	const struct dev_texture_level *l;
	struct axis axis[3];
	unsigned dims;
	uint32_t layer, face;
};

static bool corner(const struct tex_fetch *f, const struct level_place *p, unsigned which, uint32_t out[4])
{
	const uint32_t size[3] = {p->l->width, p->l->height, p->l->depth};
	uint32_t face = p->face;
	int64_t x[3] = {0, 0, 0};

	for (unsigned k = 0; k < p->dims; k++)
		x[k] = p->axis[k].first + (which >> k & 1);
	bool off = x[0] < 0 || x[1] < 0 || x[0] >= size[0] || x[1] >= size[1];

	if (f->geometry.cube && f->t->seamless && off)
		face = cube_neighbour(face, x, size[0]);
	for (unsigned k = 0; k < p->dims; k++)
		x[k] = wrapped(f->geometry.cube ? DEV_ADDRESS_CLAMP
			       : f->t->linear   ? DEV_ADDRESS_BORDER
						: f->sampler->address[k],
			       x[k], size[k]);
	return texel(f, p->l, x, p->layer + face, out);
}

static uint32_t clamp_layer(const struct tex_fetch *f)
{
	uint32_t per = f->geometry.cube ? FACES : 1, n = f->t->layers / per;

	if (!f->geometry.layered || !n)
		return 0;
	return (f->layer < n ? f->layer : n - 1) * per;
}

static void place_axes(const struct tex_fetch *f, struct level_place *p, bool linear)
{
	const uint32_t size[3] = {p->l->width, p->l->height, p->l->depth};

	for (unsigned k = 0; k < p->dims; k++) {
		double u = f->integer ? 0 : scaled(f, k, size[k]);

		if (f->integer)
			p->axis[k] = (struct axis){(int64_t)f->at.s[k] + f->offset[k], 0};
		else
			p->axis[k] = linear ? axis_linear(u, f->offset[k]) : axis_nearest(u, f->offset[k]);
	}
}

static void place_cube(const struct tex_fetch *f, struct level_place *p, bool linear)
{
	const double d[3] = {f->at.f[0], f->at.f[1], f->at.f[2]};
	double st[2];

	p->face = cube_face(d, st);
	for (unsigned k = 0; k < 2; k++) {
		double u = (st[k] + 1) / 2 * p->l->width;

		u = u - u == 0 ? u : 0;
		p->axis[k] = linear ? axis_linear(u, 0) : axis_nearest(u, 0);
	}
}

static struct level_place place(const struct tex_fetch *f, uint32_t level, bool linear)
{
	struct level_place p = {.l = &f->t->level[level], .layer = clamp_layer(f)};

	p.dims = f->geometry.cube ? 2 : f->geometry.dims < f->t->dims ? f->geometry.dims : f->t->dims;
	if (f->geometry.cube)
		place_cube(f, &p, linear);
	else
		place_axes(f, &p, linear);
	return p;
}

/* Texels of weight 0 don't count, whatever they hold. */
static bool filtered(const struct tex_fetch *f, const struct level_place *p, double sum[4])
{
	double whole = 1;

	memset(sum, 0, 4 * sizeof(sum[0]));
	for (unsigned k = 0; k < p->dims; k++)
		whole *= WEIGHT_ONE;
	for (unsigned which = 0; which < 1u << p->dims; which++) {
		uint32_t bits[4];
		double weight = 1;

		for (unsigned k = 0; k < p->dims; k++)
			weight *= which >> k & 1 ? p->axis[k].weight : WEIGHT_ONE - p->axis[k].weight;
		if (weight == 0)
			continue;
		if (!corner(f, p, which, bits))
			return false;
		for (unsigned k = 0; k < 4; k++)
			sum[k] += weight / whole * (double)f32_from(bits[k]);
	}
	return true;
}

/* ---- levels of detail ------------------------------------------------------------------ */

/* Length of a step in texels of level 0. */
static double step_length(const struct tex_fetch *f, const float d[3])
{
	const struct dev_texture_level *l = &f->t->level[0];
	const uint32_t size[3] = {l->width, l->height, l->depth};
	bool fractions = f->t->normalized && !f->sampler->force_texels;
	double sum = 0;

	for (unsigned k = 0; k < f->geometry.dims; k++) {
		double step = (double)d[k] * (fractions ? size[k] : 1);

		sum += step * step;
	}
	return sqrt(sum);
}

/* The derivative of the place in the face: by the quotient rule from that of the direction. */
static double cube_step(const struct tex_fetch *f, const float d[3])
{
	const double at[3] = {f->at.f[0], f->at.f[1], f->at.f[2]};
	const double e = 0.0009765625; /* 2^-10: a central difference is exact to 2^-20 */
	double ahead[3], behind[3], a[2], b[2], st[2], sum = 0;
	uint32_t face = cube_face(at, st);

	for (unsigned k = 0; k < 3; k++) {
		ahead[k] = at[k] + e * (double)d[k];
		behind[k] = at[k] - e * (double)d[k];
	}
	if (cube_face(ahead, a) != face)
		memcpy(a, st, sizeof(a));
	if (cube_face(behind, b) != face)
		memcpy(b, st, sizeof(b));
	for (unsigned k = 0; k < 2; k++) {
		double step = (a[k] - b[k]) / (2 * e) / 2 * f->t->level[0].width;

		sum += step * step;
	}
	return sqrt(sum);
}

static double level_of(const struct tex_fetch *f)
{
	const struct dev_texture *s = f->sampler;
	double most = f->t->nlevels - 1, level;

	if (f->mode == TEX_BASE || f->t->nlevels == 1)
		return 0;
	level = f->level;
	if (f->mode == TEX_GRAD) {
		double x = f->geometry.cube ? cube_step(f, f->dx) : step_length(f, f->dx);
		double y = f->geometry.cube ? cube_step(f, f->dy) : step_length(f, f->dy);

		level = log2(x > y ? x : y);
	}
	level += s->bias;
	level = level < s->max_level ? level : s->max_level;
	level = level > s->min_level ? level : s->min_level;
	level = level < most ? level : most;
	return level > 0 ? level : 0; /* and not NaN */
}

static bool sample_level(const struct tex_fetch *f, uint32_t level, double out[4])
{
	struct level_place p = place(f, level, f->sampler->filter && !f->integer);

	return filtered(f, &p, out);
}

static bool sample_floats(const struct tex_fetch *f, uint32_t out[4])
{
	double level = level_of(f), below = floor(level), a[4], b[4];
	uint32_t first = (uint32_t)below, weight = (uint32_t)floor((level - below) * WEIGHT_ONE + 0.5);

	if (!f->sampler->mip_filter) {
		first = (uint32_t)floor(level + 0.5);
		weight = 0;
	} else if (weight == WEIGHT_ONE) {
		first++;
		weight = 0;
	}
	if (!sample_level(f, first, a) || (weight && !sample_level(f, first + 1, b)))
		return false;
	for (unsigned k = 0; k < 4; k++) {
		double v =
			weight ? (a[k] * (WEIGHT_ONE - (double)weight) + b[k] * weight) / WEIGHT_ONE : a[k];

		out[k] = f32_bits((float)v);
	}
	return true;
}

/* Integers, and floats that need no arithmetic, come out bit by bit. */
static bool sample_nearest(const struct tex_fetch *f, uint32_t out[4])
{
	struct level_place p = place(f, (uint32_t)floor(level_of(f) + 0.5), false);

	return corner(f, &p, 0, out);
}

/* tld4: counter-clockwise from the lower left of the footprint (ISA 9.7.10.4). */
static bool gather(const struct tex_fetch *f, uint32_t out[4])
{
	static const uint8_t order[] = {2, 3, 1, 0}; /* bit 0: right, bit 1: below */
	struct level_place p = place(f, 0, true);

	for (unsigned k = 0; k < 4; k++) {
		uint32_t bits[4];

		if (!corner(f, &p, order[k], bits))
			return false;
		out[k] = bits[f->gather];
	}
	return true;
}

bool tex_fetch(const struct tex_fetch *f, uint32_t out[4])
{
	bool arithmetic = reads_floats(f->t) && !f->integer && (f->sampler->filter || f->sampler->mip_filter);

	if (f->geometry.cube && !f->t->cube) {
		fault_lane(f->w, f->i, DEV_FAULT_ILLEGAL_INSTRUCTION, f->lane,
			   "texture 0x%llx is read as a cubemap and is none",
			   (unsigned long long)f->t->handle);
		return false;
	}
	if (f->gather >= 0)
		return gather(f, out);
	return arithmetic && !f->t->linear ? sample_floats(f, out) : sample_nearest(f, out);
}
