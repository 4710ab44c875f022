/* SPDX-License-Identifier: Apache-2.0
 *
 * The hull of n samples is narrower than what is legal: of many elements, a legal result of its own would lie outside
 * somewhere. How far, the samples tell themselves: each is measured against the hull of the others.
 */
#include "replay/envelope.h"

#include <math.h>
#include <string.h>

/* A legal result may lie so many times as far outside as any sample lies outside the others. */
#define MARGIN 2
/* Mean width, relative to the values' root mean square. */
#define CHAOTIC 0.25

/* One element of all samples. */
struct hull {
	double low, next_low, high, next_high;
	unsigned at_low, at_high; /* samples */
	unsigned numbers, nans;
};

static uint64_t element(const struct elem_type *t, const void *data, uint64_t k)
{
	uint64_t bits = 0;

	memcpy(&bits, (const char *)data + k * t->bytes, t->bytes);
	return bits;
}

static struct hull hull_of(const struct elem_type *t, const void *const *legal, unsigned n, uint64_t k)
{
	struct hull h = {INFINITY, INFINITY, -INFINITY, -INFINITY, 0, 0, 0, 0};

	for (unsigned i = 0; i < n; i++) {
		uint64_t bits = element(t, legal[i], k);
		double v;

		if (elem_is_nan(t, bits)) {
			h.nans++;
			continue;
		}
		v = elem_value(t, bits);
		h.numbers++;
		if (v < h.low) {
			h.next_low = h.low;
			h.low = v;
			h.at_low = i;
		} else if (v < h.next_low) {
			h.next_low = v;
		}
		if (v > h.high) {
			h.next_high = h.high;
			h.high = v;
			h.at_high = i;
		} else if (v > h.next_high) {
			h.next_high = v;
		}
	}
	return h;
}

static double width(double low, double high)
{
	double w = high - low;

	return w > 0 && isfinite(w) ? w : 0;
}

/* What a width is where the samples agree by chance: half the usual one, absolute or relative to the value. */
struct usual {
	double absolute, relative; /* geometric means; 0: no element varies */
};

static double least_width(const struct usual *u, double v)
{
	return 0.5 * fmin(u->absolute, v != 0 ? u->relative * fabs(v) : u->absolute);
}

/* How far a value lies outside a hull: in widths of it, as a number, relative to the values. Rounding to a short format
 * makes steps that are many widths, and small beside the values; a value near zero is many times itself away, and by a
 * small number. What is legal is farther than the samples by one of the three at most. */
enum { WIDTHS, ABSOLUTE, RELATIVE, MEASURES };
struct outside {
	double by[MEASURES];
};

static struct outside distance(double v, double low, double high, const struct usual *u)
{
	double d = v < low ? low - v : v > high ? v - high : 0, w, size;
	struct outside o = {{0, 0, 0}};

	if (d == 0 || v != v)
		return o;
	w = fmax(width(low, high), least_width(u, low));
	size = fmax(fabs(low), fabs(high));
	o.by[WIDTHS] = w > 0 ? d / w : INFINITY;
	o.by[ABSOLUTE] = d;
	o.by[RELATIVE] = size > 0 ? d / size : INFINITY;
	return o;
}

/* Over all elements. */
struct sums {
	struct usual usual;
	double width, square;
	uint64_t varying, values;
};

static struct sums sum_up(const struct elem_type *t, const void *const *legal, unsigned n, uint64_t elements)
{
	struct sums s = {0};
	double log_absolute = 0, log_relative = 0;
	uint64_t widths = 0;

	for (uint64_t k = 0; k < elements; k++) {
		struct hull h = hull_of(t, legal, n, k);
		double w = width(h.low, h.high), v = fmax(fabs(h.low), fabs(h.high));

		s.varying += w > 0 || (h.nans && h.numbers);
		s.width += w;
		if (w > 0) {
			log_absolute += log(w);
			log_relative += log(w / v);
			widths++;
		}
		if (h.numbers && isfinite(v)) {
			s.square += v * v;
			s.values++;
		}
	}
	if (widths) {
		s.usual.absolute = exp(log_absolute / (double)widths);
		s.usual.relative = exp(log_relative / (double)widths);
	}
	return s;
}

static void widen(struct outside *allowed, const struct outside *o)
{
	for (unsigned k = 0; k < MEASURES; k++)
		if (isfinite(o->by[k]) && o->by[k] > allowed->by[k])
			allowed->by[k] = o->by[k];
}

/* How far the samples that are farthest out lie outside the others. */
static struct outside measure_samples(const struct elem_type *t, const void *const *legal, unsigned n,
				      uint64_t elements, const struct usual *u)
{
	struct outside allowed = {{0, 0, 0}};

	for (uint64_t k = 0; k < elements; k++) {
		struct hull h = hull_of(t, legal, n, k);
		struct outside low, high;

		if (h.numbers < 3)
			continue;
		low = distance(h.low, h.next_low, h.high, u);
		high = distance(h.high, h.low, h.next_high, u);
		widen(&allowed, &low);
		widen(&allowed, &high);
	}
	for (unsigned k = 0; k < MEASURES; k++)
		allowed.by[k] *= MARGIN;
	return allowed;
}

/* In multiples of what is allowed, by the second of the three measures. INFINITY: of nothing, a NaN that no sample has, or no NaN where all have one. */
static double excess(const struct elem_type *t, const struct hull *h, uint64_t bits, const struct usual *u,
		     const struct outside *allowed)
{
	struct outside o;
	double worst = 0, second = 0;

	if (elem_is_nan(t, bits))
		return h->nans ? 0 : INFINITY;
	if (!h->numbers)
		return INFINITY;
	o = distance(elem_value(t, bits), h->low, h->high, u);
	for (unsigned k = 0; k < MEASURES; k++) {
		double r = o.by[k] <= 0 ? 0 : allowed->by[k] > 0 ? o.by[k] / allowed->by[k] : INFINITY;

		second = fmax(second, fmin(r, worst));
		worst = fmax(worst, r);
	}
	return second;
}

void envelope_grade(const struct elem_type *type, const void *const *legal, unsigned n, const void *got,
		    size_t bytes, struct envelope *out)
{
	uint64_t elements = bytes / type->bytes;
	struct sums s = sum_up(type, legal, n, elements);
	struct outside allowed = measure_samples(type, legal, n, elements, &s.usual);
	double mean = s.varying ? s.width / (double)s.varying : 0;
	double size = s.values ? sqrt(s.square / (double)s.values) : 0;

	memset(out, 0, sizeof(*out));
	out->elements = elements;
	out->varying = s.varying;
	out->width = size > 0 ? mean / size : mean > 0 ? INFINITY : 0;
	for (uint64_t k = 0; k < elements; k++) {
		struct hull h = hull_of(type, legal, n, k);
		double e = excess(type, &h, element(type, got, k), &s.usual, &allowed);

		if (e <= 1)
			continue;
		if (!out->outside++)
			out->first = k;
		out->worst = fmax(out->worst, e);
	}
	out->grade = out->outside           ? ENVELOPE_OUTSIDE
		     : out->width > CHAOTIC ? ENVELOPE_CHAOTIC
					    : ENVELOPE_INSIDE;
}
