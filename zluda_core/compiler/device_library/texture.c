/* SPDX-License-Identifier: Apache-2.0
 *
 * From a handle to a descriptor, and what a fetch returns: tex and tld4, PTX ISA 9.7.10. docs/textures.md says what is
 * NVIDIA's word and what our choice. Coordinates are scaled exactly in f64, weights are fractions of 256, the weighted
 * sum is made in f64 and rounded to f32 once.
 */
#include "zluda_core/compiler/device_library/texture.h"

#define APART __attribute__((noinline)) /* long, and rarely reached */

#define WEIGHT_ONE 256.0
#define FAR        1099511627776.0 /* 2^40: beyond any texel, and whole in f64 */

/* ---- descriptors --------------------------------------------------------------------------- */

/* Handles are below 2^32; what is above is the address of a variable that holds one (9.7.10.3). */
static uint64_t handle_of(uint64_t operand)
{
	return operand <= UINT32_MAX ? operand : *(const ct_global uint64_t *)operand;
}

static texture *entry(const ct_global struct lower_runtime *rt, uint64_t operand)
{
	uint64_t handle = handle_of(operand);
	texture *t = (texture *)rt->textures + handle % DEV_TEXTURES;

	return rt->textures && handle && t->handle == handle ? t : 0;
}

static uint32_t state_fault(uint32_t state)
{
	switch (state) {
	case DEV_TEXTURE_UNBOUND: return CT_TEXTURE_UNBOUND;
	case DEV_TEXTURE_DESTROYED: return CT_TEXTURE_DESTROYED;
	case DEV_TEXTURE_ARRAY_GONE: return CT_TEXTURE_ARRAY_GONE;
	default: return 0;
	}
}

/* Queries of samplers take a texture in unified mode and a sampler in independent mode. */
static uint32_t kind_wanted(texture *t, uint32_t kind)
{
	if (kind != CT_SAMPLER_OF_EITHER)
		return kind;
	return t->kind == DEV_SAMPLER ? DEV_SAMPLER : DEV_TEXTURE;
}

_Static_assert((int)CT_TEXTURE == DEV_TEXTURE && (int)CT_SURFACE == DEV_SURFACE &&
		       (int)CT_SAMPLER == DEV_SAMPLER,
	       "");

uint64_t ct_texture_find(const ct_global struct lower_runtime *rt, uint64_t operand, uint32_t kind)
{
	texture *t = entry(rt, operand);
	uint32_t fault;

	if (!t)
		return CT_TEXTURE_UNKNOWN;
	if (t->kind != kind_wanted(t, kind & ~CT_AS_CUBE))
		return CT_TEXTURE_OTHER_KIND;
	fault = state_fault(t->state);
	if (!fault && kind & CT_AS_CUBE && !t->cube)
		fault = CT_TEXTURE_NO_CUBE;
	return fault ? fault : (uint64_t)t;
}

uint32_t ct_texture_is(const ct_global struct lower_runtime *rt, uint64_t operand, uint32_t kind)
{
	texture *t = entry(rt, operand);

	return t && t->kind == kind;
}

/* ---- a fetch ---------------------------------------------------------------------------------- */

struct fetch {
	texture *t, *s;
	uint32_t how, layer;
	uint32_t at[3];
	double level;
	uint32_t dx[3], dy[3];
	int32_t offset[3];
};

/* Places are whole numbers in f64; below 2^41 division and floor find multiples exactly. */
struct axis {
	double first;  /* texel below */
	double weight; /* of the one after it, of WEIGHT_ONE */
};

struct place {
	texture_level *l;
	struct axis axis[3];
	uint32_t dims, layer, face;
};

static bool is_cube(const struct fetch *f)
{
	return f->how & CT_TEX_CUBE;
}

static uint32_t size_of(texture_level *l, unsigned axis)
{
	return axis == 0 ? l->width : axis == 1 ? l->height : l->depth;
}

/* The quotient may be a little off where hardware's division is. */
static double modulo(double i, double n)
{
	double r = i - __builtin_floor(i / n) * n;

	return r < 0 ? r + n : r >= n ? r - n : r;
}

/* The index of a texel inside; below 0: outside. */
static double wrapped(uint32_t mode, double i, double n)
{
	double m;

	if (i >= 0 && i < n)
		return i;
	switch (mode) {
	case DEV_ADDRESS_WRAP: return modulo(i, n);
	case DEV_ADDRESS_MIRROR: m = modulo(i, 2 * n); return m < n ? m : 2 * n - 1 - m;
	case DEV_ADDRESS_CLAMP: return i < 0 ? 0 : n - 1;
	default: return -1;
	}
}

/* u modulo n, exactly, of a number as large as f32 times 65536: n is whole and below 2^18. */
APART static double remainder_of_large(double u, double n)
{
	uint64_t bits = f64_bits(u) & INT64_MAX, m = (uint64_t)n;
	int32_t shift = (int32_t)(bits >> 52) - 1075;
	uint64_t r = (bits & 0xfffffffffffff) | 0x10000000000000;
	double v;

	if (shift < 0) { /* below 2^53: see struct axis */
		double size = __builtin_fabs(u);
		double q = __builtin_floor(size / n);
		v = __builtin_fma(-q, n, size);
		v = v < 0 ? v + n : v >= n ? v - n : v;
		return u < 0 ? -v : v;
	}
	r %= m;
	for (; shift > 0; shift -= 32)
		r = (r << (shift < 32 ? shift : 32)) % m;
	v = (double)r;
	return u < 0 ? -v : v;
}

/* A coordinate in texels of a level. */
static double scaled(const struct fetch *f, unsigned axis, uint32_t n)
{
	uint32_t mode = f->s->address[axis];
	double u = f64_of_f32_bits(f->at[axis]);

	if (u != u)
		return 0;
	if (f->t->normalized && !f->s->force_texels)
		u *= n;
	if (mode == DEV_ADDRESS_CLAMP_OGL)
		u = u < 0 ? 0 : u > n ? n : u;
	if (u > -FAR && u < FAR)
		return u;
	if ((mode == DEV_ADDRESS_WRAP || mode == DEV_ADDRESS_MIRROR) && u - u == 0)
		return remainder_of_large(u, 2.0 * n);
	return u < 0 ? -FAR : FAR;
}

static struct axis axis_of(double u, int32_t offset, bool linear)
{
	double below = __builtin_floor(linear ? u - 0.5 : u);
	double weight = linear ? __builtin_floor((u - 0.5 - below) * WEIGHT_ONE + 0.5) : 0;

	return (struct axis){below + offset, weight};
}

/* ---- cubemaps ----------------------------------------------------------------------------------- */

struct on_face {
	uint32_t face;
	double s, t; /* -1 to 1 */
};

/* Face and place in it of a direction (Programming Guide, "Cubemap Textures"). Of equal magnitudes z is taken before y,
 * y before x. */
static struct on_face face_of(double dx, double dy, double dz)
{
	double x = __builtin_fabs(dx), y = __builtin_fabs(dy), z = __builtin_fabs(dz), m;
	struct on_face r;

	if (z >= x && z >= y) {
		r = (struct on_face){dz < 0 ? 5 : 4, dz < 0 ? -dx : dx, -dy};
		m = z;
	} else if (y >= x) {
		r = (struct on_face){dy < 0 ? 3 : 2, dx, dy < 0 ? -dz : dz};
		m = y;
	} else {
		r = (struct on_face){dx < 0 ? 1 : 0, dx < 0 ? dz : -dz, -dy};
		m = x;
	}
	r.s = m > 0 ? r.s / m : 0;
	r.t = m > 0 ? r.t / m : 0;
	return r;
}

static struct on_face face_in_direction(uint32_t face, double s, double t)
{
	switch (face) {
	case 0: return face_of(1, -t, -s);
	case 1: return face_of(-1, -t, s);
	case 2: return face_of(s, 1, t);
	case 3: return face_of(s, -1, -t);
	case 4: return face_of(s, -t, 1);
	default: return face_of(-s, -t, -1);
	}
}

static double texel_of_face(double st, double n)
{
	return wrapped(DEV_ADDRESS_CLAMP, __builtin_floor((st + 1) / 2 * n), n);
}

static struct on_face direction(const struct fetch *f)
{
	return face_of(f64_of_f32_bits(f->at[0]), f64_of_f32_bits(f->at[1]), f64_of_f32_bits(f->at[2]));
}

/* ---- one level -------------------------------------------------------------------------------------- */

static void place_axes(const struct fetch *f, struct place *p, bool linear)
{
#pragma unroll
	for (unsigned k = 0; k < 3; k++) {
		if (k >= p->dims)
			p->axis[k] = (struct axis){0, 0};
		else if (f->how & CT_TEX_INTEGER)
			p->axis[k] = (struct axis){(double)(int32_t)f->at[k] + f->offset[k], 0};
		else
			p->axis[k] = axis_of(scaled(f, k, size_of(p->l, k)), f->offset[k], linear);
	}
}

static void place_cube(const struct fetch *f, struct place *p, bool linear)
{
	struct on_face on = direction(f);

	p->face = on.face;
	p->axis[2] = (struct axis){0, 0};
#pragma unroll
	for (unsigned k = 0; k < 2; k++) {
		double u = ((k ? on.t : on.s) + 1) / 2 * p->l->width;

		p->axis[k] = axis_of(u - u == 0 ? u : 0, 0, linear);
	}
}

static uint32_t clamped_layer(const struct fetch *f)
{
	uint32_t per = is_cube(f) ? 6 : 1, n = f->t->layers / per;

	if (!(f->how & CT_TEX_LAYERED) || !n)
		return 0;
	return (f->layer < n ? f->layer : n - 1) * per;
}

static struct place place(const struct fetch *f, uint32_t level, bool linear)
{
	struct place p = {.l = &f->t->level[level], .layer = clamped_layer(f)};
	uint32_t dims = f->how & CT_TEX_DIMS;

	p.dims = is_cube(f) ? 2 : dims < f->t->dims ? dims : f->t->dims;
	if (is_cube(f))
		place_cube(f, &p, linear);
	else
		place_axes(f, &p, linear);
	return p;
}

/* Texels off a face of a seamless cube are those of the neighbouring face that lie in the same direction. */
static void cross_edge(const struct place *p, double x[3], uint32_t *face)
{
	double n = p->l->width;
	struct on_face on;

	if (x[0] >= 0 && x[1] >= 0 && x[0] < n && x[1] < p->l->height)
		return;
	on = face_in_direction(*face, (2 * x[0] + 1) / n - 1, (2 * x[1] + 1) / n - 1);
	*face = on.face;
	x[0] = texel_of_face(on.s, n);
	x[1] = texel_of_face(on.t, n);
}

static struct ct_texel corner(const struct fetch *f, const struct place *p, unsigned which)
{
	double x[3];
	uint32_t face = p->face, plane;
	bool outside = false;
#pragma unroll
	for (unsigned k = 0; k < 3; k++)
		x[k] = k < p->dims ? p->axis[k].first + (which >> k & 1) : 0;
	if (is_cube(f) && f->t->seamless)
		cross_edge(p, x, &face);
#pragma unroll
	for (unsigned k = 0; k < 3; k++) {
		uint32_t mode = is_cube(f)     ? DEV_ADDRESS_CLAMP
				: f->t->linear ? DEV_ADDRESS_BORDER
					       : f->s->address[k];

		if (k < p->dims)
			x[k] = wrapped(mode, x[k], size_of(p->l, k));
		outside |= x[k] < 0;
	}
	if (outside)
		return ct_border(f->t);
	plane = f->t->layers ? p->layer + face : (uint32_t)x[2];
	return ct_texel_at(f->t, p->l->base + plane * p->l->slice + (uint32_t)x[1] * p->l->row +
					 (uint64_t)(uint32_t)x[0] * f->t->texel_bytes);
}

/* ---- levels of detail ----------------------------------------------------------------------------------- */

/* log2 of a normal number in f64, not negative: of 2^e (1 + x), the series of atanh for x in [sqrt(1/2) - 1, sqrt(2) - 1]. */
APART static double log2_of(double v)
{
	uint64_t bits = f64_bits(v);
	int32_t e = (int32_t)(bits >> 52) - 1023;
	double m = f64_of((bits & 0xfffffffffffff) | 0x3ff0000000000000), z, z2, sum = 0;

	if (!(v > 0) || bits >> 52 == 0x7ff) /* 0, infinite, NaN */
		return v == 0 ? -__builtin_inf() : v;
	if (m > 0x1.6a09e667f3bcdp+0) {
		m /= 2;
		e++;
	}
	z = (m - 1) / (m + 1);
	z2 = z * z;
#pragma unroll
	for (int32_t k = 25; k >= 1; k -= 2)
		sum = sum * z2 + 1.0 / k;
	return e + 2 * z * sum * 0x1.71547652b82fep+0; /* 1 / ln 2 */
}

/* Square of the length of a step in texels of level 0. */
static double step_squared(const struct fetch *f, const uint32_t d[3])
{
	bool fractions = f->t->normalized && !f->s->force_texels;
	double sum = 0;
#pragma unroll
	for (unsigned k = 0; k < 3; k++) {
		double step = f64_of_f32_bits(d[k]) * (fractions ? size_of(&f->t->level[0], k) : 1);

		if (k < (f->how & CT_TEX_DIMS))
			sum += step * step;
	}
	return sum;
}

static struct on_face moved(const struct fetch *f, const uint32_t d[3], double by)
{
	return face_of(f64_of_f32_bits(f->at[0]) + by * f64_of_f32_bits(d[0]),
		       f64_of_f32_bits(f->at[1]) + by * f64_of_f32_bits(d[1]),
		       f64_of_f32_bits(f->at[2]) + by * f64_of_f32_bits(d[2]));
}

/* The derivative of the place in the face, as a central difference, which is exact to 2^-20. */
static double cube_step_squared(const struct fetch *f, const uint32_t d[3])
{
	const double e = 0x1p-10;
	struct on_face here = direction(f), ahead = moved(f, d, e), behind = moved(f, d, -e);
	double ds, dt;

	ahead = ahead.face == here.face ? ahead : here;
	behind = behind.face == here.face ? behind : here;
	ds = (ahead.s - behind.s) / (2 * e) / 2 * f->t->level[0].width;
	dt = (ahead.t - behind.t) / (2 * e) / 2 * f->t->level[0].width;
	return ds * ds + dt * dt;
}

static double level_of(const struct fetch *f)
{
	double most = f->t->nlevels - 1, level = f->level;

	if (!(f->how & (CT_TEX_LEVEL | CT_TEX_GRAD)) || f->t->nlevels == 1)
		return 0;
	if (f->how & CT_TEX_GRAD) {
		double x = is_cube(f) ? cube_step_squared(f, f->dx) : step_squared(f, f->dx);
		double y = is_cube(f) ? cube_step_squared(f, f->dy) : step_squared(f, f->dy);

		level = log2_of(x > y ? x : y) / 2;
	}
	level += f64_of_f32_bits(f32_bits(f->s->bias));
	level = level < (double)f->s->max_level ? level : (double)f->s->max_level;
	level = level > (double)f->s->min_level ? level : (double)f->s->min_level;
	level = level < most ? level : most;
	return level > 0 ? level : 0; /* and not NaN */
}

/* ---- results --------------------------------------------------------------------------------------------- */

struct sum {
	double v[4];
	struct ct_texel last;
};

/* Adds a level, weighted; texels of weight 0 don't count, whatever they hold. The nearest texel is a sum of one. */
static void add_level(const struct fetch *f, uint32_t level, bool linear, double level_weight,
		      struct sum *sum)
{
	struct place p = place(f, level, linear);
	double one = 1, v[4] = {0, 0, 0, 0};
#pragma unroll
	for (unsigned k = 0; k < 3; k++)
		one *= k < p.dims ? 1 / WEIGHT_ONE : 1;
#pragma nounroll
	for (unsigned which = 0; which < (linear ? 1u << p.dims : 1); which++) {
		double weight = 1;
#pragma unroll
		for (unsigned k = 0; k < 3; k++)
			if (k < p.dims)
				weight *= which >> k & 1 ? p.axis[k].weight : WEIGHT_ONE - p.axis[k].weight;
		if (weight == 0)
			continue;
		sum->last = corner(f, &p, which);
#pragma unroll
		for (unsigned k = 0; k < 4; k++)
			v[k] += weight * one * f64_of_f32_bits(sum->last.channel[k]);
	}
#pragma unroll
	for (unsigned k = 0; k < 4; k++)
		sum->v[k] += v[k] * level_weight;
}

/* The levels that count, and the second one's weight. */
struct levels {
	uint32_t first;
	double weight;
};

static struct levels levels_of(const struct fetch *f, bool linear)
{
	double level = level_of(f), below = __builtin_floor(level);
	double weight = __builtin_floor((level - below) * WEIGHT_ONE + 0.5);

	if (!linear)
		return (struct levels){(uint32_t)__builtin_floor(level + 0.5), 0};
	if (weight == WEIGHT_ONE)
		return (struct levels){(uint32_t)below + 1, 0};
	return (struct levels){(uint32_t)below, weight};
}

/* Integers, and floats that need no arithmetic, come out bit by bit. */
static struct ct_texel sample(const struct fetch *f)
{
	bool arithmetic = ct_reads_floats(f->t) && !(f->how & CT_TEX_INTEGER) && !f->t->linear &&
			  (f->s->filter || f->s->mip_filter);
	struct levels levels = levels_of(f, arithmetic && f->s->mip_filter);
	struct sum sum = {{0, 0, 0, 0}, {{0, 0, 0, 0}}};
	struct ct_texel out;
#pragma nounroll
	for (uint32_t k = 0; k < (levels.weight > 0 ? 2 : 1); k++)
		add_level(f, levels.first + k, arithmetic && f->s->filter,
			  k ? levels.weight : WEIGHT_ONE - levels.weight, &sum);
	if (!arithmetic)
		return sum.last;
#pragma unroll
	for (unsigned n = 0; n < 4; n++)
		out.channel[n] = f32_bits_of_f64(sum.v[n] * (1 / WEIGHT_ONE));
	return out;
}

/* tld4: counter-clockwise from the lower left of the footprint (9.7.10.4); bit 0: right, bit 1: below. */
static struct ct_texel gather(const struct fetch *f)
{
	struct place p = place(f, 0, true);
	struct ct_texel out = {{0, 0, 0, 0}};
#pragma nounroll
	for (unsigned k = 0; k < 4; k++) {
		struct ct_texel texel = corner(f, &p, 0xb4 >> 2 * (3 - k) & 3);
		uint32_t v = texel.channel[f->how / CT_TEX_CHANNEL & 3];
#pragma unroll
		for (unsigned n = 0; n < 4; n++)
			out.channel[n] = k == n ? v : out.channel[n];
	}
	return out;
}

/* .f16: integers that aren't read as floats give their low halves. */
static uint32_t half_of(texture *t, uint32_t bits)
{
	union {
		_Float16 f;
		uint16_t u;
	} x = {.f = (_Float16)f32_of(bits)};

	if (!ct_reads_floats(t))
		return bits & 0xffff;
	return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : x.u;
}

__attribute__((noinline)) ct_words4 ct_tex(uint64_t t, uint64_t s, uint32_t how, uint32_t layer, ct_words4 at,
					   ct_words4 dx, ct_words4 dy, ct_words4 offset)
{
	struct fetch f = {.t = (texture *)t, .s = (texture *)s, .how = how, .layer = layer};
	struct ct_texel texel;
	ct_words4 out;
#pragma unroll
	for (unsigned k = 0; k < 3; k++) {
		f.at[k] = at[k];
		f.dx[k] = dx[k];
		f.dy[k] = dy[k];
		f.offset[k] = (int32_t)offset[k];
	}
	f.level = how & CT_TEX_INTEGER ? (double)(int32_t)at[3] : f64_of_f32_bits(at[3]);
	texel = how & CT_TEX_GATHER ? gather(&f) : sample(&f);
#pragma unroll
	for (unsigned k = 0; k < 4; k++)
		out[k] = how & CT_TEX_HALVES ? half_of(f.t, texel.channel[k]) : texel.channel[k];
	return out;
}

void ct_texture_fault(ct_global struct lower_runtime *rt, uint32_t line, uint64_t operand, uint32_t fault)
{
	static const char text[][64] = {
		[CT_TEXTURE_UNKNOWN] = "there is no such object",
		[CT_TEXTURE_OTHER_KIND] = "it is an object of another kind",
		[CT_TEXTURE_UNBOUND] = "nothing is bound to the reference",
		[CT_TEXTURE_DESTROYED] = "use after free: the object was destroyed",
		[CT_TEXTURE_ARRAY_GONE] = "use after free: the array that it was made of was destroyed",
		[CT_TEXTURE_NO_CUBE] = "it is read as a cubemap and is none",
		[CT_TEXTURE_OUTSIDE] = "an access is outside of the surface",
		[CT_TEXTURE_MISALIGNED] = "the byte offset is no multiple of the access's size",
	};

	ct_fault_text(rt, LOWER_FAULT_TEXTURE, line, handle_of(operand), text[fault]);
}
