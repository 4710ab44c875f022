/* SPDX-License-Identifier: Apache-2.0
 *
 * texture_model: see texture_model.h.
 */
#include "texture_model.h"
#include "reference.h"

#include <math.h>
#include <string.h>

static const struct {
	unsigned bits;
	bool is_signed, is_float;
} texels[] = {
	[DEV_TEXEL_U8] = {8, false, false},   [DEV_TEXEL_U16] = {16, false, false},
	[DEV_TEXEL_U32] = {32, false, false}, [DEV_TEXEL_S8] = {8, true, false},
	[DEV_TEXEL_S16] = {16, true, false},  [DEV_TEXEL_S32] = {32, true, false},
	[DEV_TEXEL_F16] = {16, true, true},   [DEV_TEXEL_F32] = {32, true, true},
};

void texture_place(struct texture_case *t, uint32_t width, uint32_t height, uint32_t depth, uint32_t layers,
		   unsigned levels, uint64_t *at)
{
	struct dev_texture *d = &t->d;

	d->texel_bytes = (uint8_t)(d->channels * texels[d->texel].bits / 8);
	d->layers = layers;
	d->nlevels = levels;
	t->offset = *at;
	for (unsigned l = 0; l < levels; l++) {
		struct dev_texture_level *v = &d->level[l];

		v->width = width >> l ? width >> l : 1;
		v->height = height >> l ? height >> l : 1;
		v->depth = depth >> l ? depth >> l : 1;
		v->base = TEXEL_BASE + *at;
		v->row = (v->width * d->texel_bytes + 63u) / 64 * 64;
		v->slice = v->row * v->height;
		*at += v->slice * (layers ? layers : v->depth);
	}
}

/* A different small number for each texel and channel. */
static int number(unsigned level, unsigned x, unsigned y, unsigned z, unsigned c)
{
	return (int)((x * 3 + y * 29 + z * 71 + c * 101 + level * 13) % 127) + 1;
}

static int stored(const struct texture_case *t, unsigned level, unsigned x, unsigned y, unsigned z,
		  unsigned c)
{
	int v = number(level, x, y, z, c);

	return texels[t->d.texel].is_signed && v & 1 ? -v : v;
}

void texture_fill(const struct texture_case *t, uint8_t *memory)
{
	const struct dev_texture *d = &t->d;
	unsigned bits = texels[d->texel].bits;

	for (unsigned l = 0; l < d->nlevels; l++) {
		const struct dev_texture_level *v = &d->level[l];

		for (unsigned z = 0; z < (d->layers ? d->layers : v->depth); z++)
			for (unsigned y = 0; y < v->height; y++)
				for (unsigned x = 0; x < v->width; x++)
					for (unsigned c = 0; c < d->channels; c++) {
						uint64_t at = v->base - TEXEL_BASE + z * v->slice +
							      y * v->row + x * d->texel_bytes + c * bits / 8;
						int n = stored(t, l, x, y, z, c);
						float single = (float)n;
						uint32_t raw = (uint32_t)n;
						mpfr_t m;

						if (texels[d->texel].is_float && bits == 32) {
							memcpy(&raw, &single, 4);
						} else if (texels[d->texel].is_float) {
							mpfr_init2(m, 53);
							mpfr_set_si(m, n, MPFR_RNDN);
							raw = (uint32_t)encode(FORMAT_F16, m, MPFR_RNDN);
							mpfr_clear(m);
						}
						memcpy(memory + at, &raw, bits / 8);
					}
	}
}

double texel_value(const struct texture_case *t, unsigned level, unsigned x, unsigned y, unsigned z,
		   unsigned c)
{
	double v = stored(t, level, x, y, z, c);

	/* [0, 1] or [-1, 1] */
	if (t->d.to_float)
		v /= exp2(texels[t->d.texel].bits - texels[t->d.texel].is_signed) - 1;
	return v;
}

/* A coordinate in texels after the address mode; NAN: outside, where the border is. */
static double addressed(const struct texture_case *t, unsigned axis, double x, double n)
{
	double whole;

	switch (t->d.address[axis]) {
	case DEV_ADDRESS_WRAP: return (x / n - floor(x / n)) * n;
	case DEV_ADDRESS_MIRROR:
		whole = floor(x / n);
		x = x / n - whole;
		return (fmod(whole, 2) != 0 ? 1 - x : x) * n;
	case DEV_ADDRESS_CLAMP: return x < 0 ? 0 : x > n - 0.0625 ? n - 0.0625 : x;
	default: return x;
	}
}

/* An index after the address mode; -1: the border. */
static long indexed(const struct texture_case *t, unsigned axis, long i, long n)
{
	if (i >= 0 && i < n)
		return i;
	switch (t->d.address[axis]) {
	case DEV_ADDRESS_WRAP: return (i % n + n) % n;
	case DEV_ADDRESS_MIRROR:
	case DEV_ADDRESS_CLAMP: return i < 0 ? 0 : n - 1;
	default: return -1;
	}
}

static double texel_at(const struct texture_case *t, unsigned level, const long *i, unsigned layer,
		       unsigned c)
{
	const struct dev_texture_level *v = &t->d.level[level];
	long n[3] = {v->width, v->height, v->depth}, k[3] = {0};

	for (unsigned a = 0; a < t->d.dims; a++) {
		k[a] = indexed(t, a, i[a], n[a]);
		if (k[a] < 0)
			return 0; /* the border's colour */
	}
	return texel_value(t, level, (unsigned)k[0], (unsigned)k[1], t->d.layers ? layer : (unsigned)k[2], c);
}

/* Coordinates in texels of the level. */
static void in_texels(const struct texture_case *t, unsigned level, const double *coord, double *x)
{
	const struct dev_texture_level *v = &t->d.level[level];
	double n[3] = {v->width, v->height, v->depth};

	for (unsigned a = 0; a < t->d.dims; a++)
		x[a] = addressed(t, a, t->d.normalized ? coord[a] * n[a] : coord[a], n[a]);
}

double texture_fetch(const struct texture_case *t, unsigned level, const double *coord, unsigned layer,
		     unsigned c)
{
	double x[3] = {0}, sum = 0;
	long i[3] = {0};

	in_texels(t, level, coord, x);
	if (!t->d.filter) {
		for (unsigned a = 0; a < t->d.dims; a++)
			i[a] = (long)floor(x[a]);
		return texel_at(t, level, i, layer, c);
	}
	for (unsigned corner = 0; corner < 1u << t->d.dims; corner++) {
		double w = 1;

		for (unsigned a = 0; a < t->d.dims; a++) {
			double b = x[a] - 0.5, f = b - floor(b);

			i[a] = (long)floor(b) + (corner >> a & 1);
			w *= corner >> a & 1 ? f : 1 - f;
		}
		sum += w * texel_at(t, level, i, layer, c);
	}
	return sum;
}

void texture_gather(const struct texture_case *t, const double *coord, unsigned layer, unsigned c,
		    double *four)
{
	static const uint8_t corners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
	double x[3] = {0};

	in_texels(t, 0, coord, x);
	for (unsigned k = 0; k < 4; k++) {
		long i[3] = {(long)floor(x[0] - 0.5) + corners[k][0], (long)floor(x[1] - 0.5) + corners[k][1],
			     0};

		four[k] = texel_at(t, 0, i, layer, c);
	}
}

unsigned cube_face(const double *d, double *st)
{
	double ax = fabs(d[0]), ay = fabs(d[1]), az = fabs(d[2]), m, s, t;
	unsigned face;

	if (ax >= ay && ax >= az) {
		face = d[0] >= 0 ? 0 : 1;
		m = ax;
		s = d[0] >= 0 ? -d[2] : d[2];
		t = -d[1];
	} else if (ay >= az) {
		face = d[1] >= 0 ? 2 : 3;
		m = ay;
		s = d[0];
		t = d[1] >= 0 ? d[2] : -d[2];
	} else {
		face = d[2] >= 0 ? 4 : 5;
		m = az;
		s = d[2] >= 0 ? d[0] : -d[0];
		t = -d[1];
	}
	st[0] = (s / m + 1) / 2;
	st[1] = (t / m + 1) / 2;
	return face;
}
