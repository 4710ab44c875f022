/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"

/* IEEE 754-2019 tables 3.1-3.5 for f16, f32, f64; bf16 is the upper half of f32 (PTX ISA, "Alternate
 * Floating-Point Data Formats"), tf32 is stored as f32. Types of less than a byte, and fp8, are compared as
 * bytes. */
static const struct elem_type types[] = {
	{"f64", 8, ELEM_FLOAT, 52, 11}, {"f32", 4, ELEM_FLOAT, 23, 8}, {"f16", 2, ELEM_FLOAT, 10, 5},
	{"bf16", 2, ELEM_FLOAT, 7, 8},  {"u8", 1, ELEM_UINT, 0, 0},    {"u16", 2, ELEM_UINT, 0, 0},
	{"u32", 4, ELEM_UINT, 0, 0},    {"u64", 8, ELEM_UINT, 0, 0},   {"s8", 1, ELEM_SINT, 0, 0},
	{"s16", 2, ELEM_SINT, 0, 0},    {"s32", 4, ELEM_SINT, 0, 0},   {"s64", 8, ELEM_SINT, 0, 0},
	{"b8", 1, ELEM_BITS, 0, 0},     {"b16", 2, ELEM_BITS, 0, 0},   {"b32", 4, ELEM_BITS, 0, 0},
	{"b64", 8, ELEM_BITS, 0, 0},
};

static const struct {
	const char *name, *as;
} aliases[] = {
	{"f16x2", "f16"}, {"bf16x2", "bf16"}, {"f32x2", "f32"}, {"tf32", "f32"}, {"b128", "b64"},
	{"u16x2", "u16"}, {"s16x2", "s16"},   {"u8x4", "u8"},   {"s8x4", "s8"},
};

static const struct elem_type *find(const char *name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, name))
			return &types[i];
	return NULL;
}

const struct elem_type *elem_type_find(const char *ptx_name)
{
	const struct elem_type *t;

	if (!ptx_name)
		return find("b8");
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (!strcmp(aliases[i].name, ptx_name))
			return find(aliases[i].as);
	t = find(ptx_name);
	return t ? t : find("b8");
}

static uint64_t load(const void *p, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes); /* little-endian */
	return v;
}

static int64_t sign_extend(uint64_t v, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return (int64_t)(v << shift) >> shift;
}

static uint64_t magnitude_mask(const struct elem_type *t)
{
	return (UINT64_C(1) << (t->mantissa + t->exponent)) - 1;
}

bool elem_is_nan(const struct elem_type *t, uint64_t bits)
{
	uint64_t inf;

	if (t->cls != ELEM_FLOAT)
		return false;
	inf = ((UINT64_C(1) << t->exponent) - 1) << t->mantissa;
	return (bits & magnitude_mask(t)) > inf;
}

static double float_value(const struct elem_type *t, uint64_t bits)
{
	if (t->bytes == 8)
		return f64_from(bits);
	if (t->bytes == 4)
		return (double)f32_from((uint32_t)bits);
	return (double)(t->exponent == 5 ? f16_to_f32((uint16_t)bits) : bf16_to_f32((uint16_t)bits));
}

double elem_value(const struct elem_type *t, uint64_t bits)
{
	switch (t->cls) {
	case ELEM_FLOAT: return float_value(t, bits);
	case ELEM_SINT: return (double)sign_extend(bits, t->bytes);
	default: return (double)bits;
	}
}

/* Floats as integers in order of value: sign and magnitude to two's complement. */
static int64_t ordered(const struct elem_type *t, uint64_t bits)
{
	int64_t mag = (int64_t)(bits & magnitude_mask(t));

	return bits >> (8 * t->bytes - 1) & 1 ? -mag : mag;
}

static uint64_t distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

uint64_t elem_ulp(const struct elem_type *t, uint64_t a, uint64_t b)
{
	if (a == b)
		return 0;
	switch (t->cls) {
	case ELEM_FLOAT:
		if (elem_is_nan(t, a) || elem_is_nan(t, b))
			return elem_is_nan(t, a) && elem_is_nan(t, b) ? 0 : COMPARE_NO_ULP;
		return distance(ordered(t, a), ordered(t, b));
	case ELEM_SINT: return distance(sign_extend(a, t->bytes), sign_extend(b, t->bytes));
	default: return a > b ? a - b : b - a;
	}
}

/* An infinite difference (overflow on one side) stays infinite; two equal infinities give 0. */
static double difference(double a, double b)
{
	return a == b ? 0 : fabs(a - b);
}

static bool within(const struct compare_limits *l, uint64_t ulp, double want, double diff)
{
	if (ulp == COMPARE_NO_ULP)
		return false;
	if (l->has_ulp && ulp <= l->ulp)
		return true;
	/* inf against a number: diff is inf and so is rtol * |inf|; that must not pass. */
	return l->has_tol && isfinite(diff) && diff <= l->atol + l->rtol * fabs(want);
}

static void note_difference(struct compare_result *r, const struct elem_type *t,
			    const struct compare_limits *l, uint64_t index, uint64_t want, uint64_t got)
{
	uint64_t ulp = elem_ulp(t, want, got);
	double w = elem_value(t, want), diff = difference(elem_value(t, got), w);
	double rel = diff == 0 ? 0 : w == 0 ? INFINITY : diff / fabs(w);
	bool beyond = !within(l, ulp, w, diff);

	if ((beyond && !r->beyond) || !r->differing) {
		r->first = index;
		r->want = want;
		r->got = got;
	}
	r->differing++;
	r->beyond += beyond;
	if (ulp > r->max_ulp)
		r->max_ulp = ulp;
	if (diff > r->max_abs)
		r->max_abs = diff;
	if (rel > r->max_rel)
		r->max_rel = rel;
}

static void compare_element(const struct elem_type *t, const struct compare_limits *l, uint64_t index,
			    uint64_t want, uint64_t got, struct compare_result *r)
{
	if (want == got)
		return;
	if (elem_is_nan(t, want) && elem_is_nan(t, got))
		r->nan_payload++;
	else
		note_difference(r, t, l, index, want, got);
}

static void compare_whole(const struct elem_type *t, const struct compare_limits *l, const void *want,
			  const void *got, size_t bytes, struct compare_result *r)
{
	const uint8_t *w = want, *g = got;
	size_t block = 4096; /* a multiple of every element size; equal blocks are skipped by memcmp */

	r->elements += bytes / t->bytes;
	for (size_t at = 0; at < bytes; at += block) {
		size_t n = bytes - at < block ? bytes - at : block;

		if (!memcmp(w + at, g + at, n))
			continue;
		for (size_t i = at; i + t->bytes <= at + n; i += t->bytes)
			compare_element(t, l, i / t->bytes, load(w + i, t->bytes), load(g + i, t->bytes), r);
	}
}

void compare_buffers(const struct elem_type *t, const struct compare_limits *l, const void *want,
		     const void *got, size_t bytes, struct compare_result *r)
{
	size_t tail = bytes % t->bytes, whole = bytes - tail;

	compare_whole(t, l, want, got, whole, r);
	if (!tail)
		return;
	r->elements++;
	compare_element(t, l, whole / t->bytes, load((const uint8_t *)want + whole, (unsigned)tail),
			load((const uint8_t *)got + whole, (unsigned)tail), r);
}

void compare_merge(struct compare_result *whole, const struct compare_result *piece, uint64_t index)
{
	if (piece->differing && ((piece->beyond && !whole->beyond) || !whole->differing)) {
		whole->first = index + piece->first;
		whole->want = piece->want;
		whole->got = piece->got;
	}
	whole->elements += piece->elements;
	whole->differing += piece->differing;
	whole->beyond += piece->beyond;
	whole->nan_payload += piece->nan_payload;
	if (piece->max_ulp > whole->max_ulp)
		whole->max_ulp = piece->max_ulp;
	if (piece->max_abs > whole->max_abs)
		whole->max_abs = piece->max_abs;
	if (piece->max_rel > whole->max_rel)
		whole->max_rel = piece->max_rel;
}

void elem_format(const struct elem_type *t, uint64_t bits, char *buf, size_t size)
{
	if (elem_is_nan(t, bits))
		snprintf(buf, size, "nan(0x%0*" PRIx64 ")", 2 * t->bytes, bits);
	else if (t->cls == ELEM_FLOAT)
		snprintf(buf, size, "%.*g", t->bytes == 8 ? 17 : t->bytes == 4 ? 9 : 5, elem_value(t, bits));
	else if (t->cls == ELEM_SINT)
		snprintf(buf, size, "%" PRId64, sign_extend(bits, t->bytes));
	else if (t->cls == ELEM_UINT)
		snprintf(buf, size, "%" PRIu64, bits);
	else
		snprintf(buf, size, "0x%0*" PRIx64, 2 * t->bytes, bits);
}
