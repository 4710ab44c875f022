/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as text: by a PTX type, or by a letter as in gdb (x/8xw). */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/session.h"
#include "replay/compare.h"

enum ptx_type typed_by_name(const char *name, size_t n)
{
	static const struct {
		const char *name;
		uint8_t type;
	} others[] = {{"float", PTX_F32},    {"double", PTX_F64}, {"half", PTX_F16},  {"int", PTX_S32},
		      {"unsigned", PTX_U32}, {"char", PTX_S8},    {"short", PTX_S16}, {"long", PTX_S64}};

	for (unsigned t = PTX_PRED; t < PTX_NTYPES; t++)
		if (strlen(ptx_type_name((enum ptx_type)t)) == n &&
		    !strncmp(ptx_type_name((enum ptx_type)t), name, n))
			return (enum ptx_type)t;
	for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
		if (strlen(others[k].name) == n && !strncmp(others[k].name, name, n))
			return (enum ptx_type)others[k].type;
	return PTX_TYPE_NONE;
}

unsigned type_bytes(enum ptx_type t)
{
	return (ptx_type_bits(t) + 7) / 8;
}

/* ---- what a packed type holds ------------------------------------------------------------- */

static const struct {
	uint8_t packed, element;
} packs[] = {
	{PTX_F16X2, PTX_F16},   {PTX_BF16X2, PTX_BF16}, {PTX_F32X2, PTX_F32},   {PTX_U16X2, PTX_U16},
	{PTX_S16X2, PTX_S16},   {PTX_U8X4, PTX_U8},     {PTX_S8X4, PTX_S8},     {PTX_E4M3X2, PTX_E4M3},
	{PTX_E5M2X2, PTX_E5M2}, {PTX_E4M3X4, PTX_E4M3}, {PTX_E5M2X4, PTX_E5M2},
};

static enum ptx_type element_of(enum ptx_type t)
{
	for (size_t k = 0; k < sizeof(packs) / sizeof(packs[0]); k++)
		if (packs[k].packed == t)
			return (enum ptx_type)packs[k].element;
	return t;
}

bool typed_is_float(enum ptx_type t)
{
	return ptx_type_is_float(t) && element_of(t) == t;
}

/* e4m3: no infinities, one NaN. e5m2: as IEEE (PTX ISA 5.2.3, "Alternate Floating-Point Data Formats"). */
static double small_float(unsigned bits, bool e5m2)
{
	const unsigned mantissa_bits = e5m2 ? 2 : 3, bias = e5m2 ? 15 : 7, exponent_max = e5m2 ? 31 : 15;
	const unsigned mantissa = bits & ((1u << mantissa_bits) - 1),
		       exponent = bits >> mantissa_bits & exponent_max;
	double v = exponent ? ldexp(1 + ldexp(mantissa, -(int)mantissa_bits), (int)exponent - (int)bias)
			    : ldexp(mantissa, 1 - (int)bias - (int)mantissa_bits);

	if (e5m2 && exponent == exponent_max)
		v = mantissa ? NAN : INFINITY;
	if (!e5m2 && (bits & 0x7f) == 0x7f)
		v = NAN;
	return bits & 0x80 ? -v : v;
}

double typed_float(const void *bytes, enum ptx_type type)
{
	uint64_t bits = 0;

	if (type == PTX_E4M3 || type == PTX_E5M2)
		return small_float(*(const uint8_t *)bytes, type == PTX_E5M2);
	memcpy(&bits, bytes, type_bytes(type) < 8 ? type_bytes(type) : 8);
	return elem_value(elem_type_find(ptx_type_name(type)), bits);
}

/* ---- formats ------------------------------------------------------------------------------------ */

static int bad_format(const char *text, size_t n, struct diag *d)
{
	diag_set(d, CUTRACE_EINVAL, "", "'/%.*s' is no format", (int)n, text);
	diag_hint(
		d,
		"a count, a letter of xduotcf or a PTX type (f16, bf16, s32...), a size of bhwg: /8f /4xg /2f16");
	return CUTRACE_EINVAL;
}

static uint8_t size_of_letter(char c)
{
	return c == 'b' ? 1 : c == 'h' ? 2 : c == 'w' ? 4 : c == 'g' ? 8 : 0;
}

int format_parse(const char *text, size_t n, struct format *f, struct diag *d)
{
	const char *p = text, *end = text + n;

	*f = (struct format){0};
	while (p < end && isdigit((unsigned char)*p) && f->count < 100000)
		f->count = f->count * 10 + (uint32_t)(*p++ - '0');
	if (f->count >= 100000 || (p > text && !f->count))
		return bad_format(text, n, d);
	if (p == end)
		return 0;
	f->type = typed_by_name(p, (size_t)(end - p));
	if (f->type)
		return 0;
	for (; p < end; p++) {
		if (strchr("xduotcfa", *p) && !f->letter)
			f->letter = *p;
		else if (size_of_letter(*p) && !f->bytes)
			f->bytes = size_of_letter(*p);
		else
			return bad_format(text, n, d);
	}
	return 0;
}

static void append(char *out, size_t size, const char *text)
{
	size_t n = strlen(out);

	if (n < size)
		snprintf(out + n, size - n, "%s", text);
}

static void binary(uint64_t v, unsigned bits, char *out, size_t size)
{
	unsigned k = bits;

	while (k > 1 && !(v >> (k - 1) & 1))
		k--;
	for (size_t at = 0; k-- && at + 1 < size; at++) {
		out[at] = (char)('0' + (v >> k & 1));
		out[at + 1] = '\0';
	}
}

/* One piece of up to 8 bytes by a letter. */
static void by_letter(uint64_t v, unsigned bytes, char letter, char *out, size_t size)
{
	unsigned shift = 64 - 8 * bytes;
	int64_t s = (int64_t)(v << shift) >> shift;

	switch (letter) {
	case 'd': snprintf(out, size, "%" PRId64, s); break;
	case 'u': snprintf(out, size, "%" PRIu64, v); break;
	case 'o': snprintf(out, size, "0%" PRIo64, v); break;
	case 't': binary(v, bytes * 8, out, size); break;
	case 'c':
		if (v >= 32 && v < 127)
			snprintf(out, size, "%" PRId64 " '%c'", s, (int)v);
		else
			snprintf(out, size, "%" PRId64, s);
		break;
	default: snprintf(out, size, "0x%" PRIx64, v); break;
	}
}

static enum ptx_type float_of(unsigned bytes)
{
	return bytes == 8 ? PTX_F64 : bytes == 2 ? PTX_F16 : PTX_F32;
}

static void by_type(const uint8_t *p, enum ptx_type t, char *out, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, p, type_bytes(t) < 8 ? type_bytes(t) : 8);
	if (t == PTX_PRED)
		snprintf(out, size, "%u", (unsigned)(v & 1));
	else if (t == PTX_E4M3 || t == PTX_E5M2)
		snprintf(out, size, "%.9g", typed_float(p, t));
	else
		elem_format(elem_type_find(ptx_type_name(t)), v, out, size);
}

/* Types that elem_format does not know, and what has no type, as hexadecimal digits. */
static bool has_text(enum ptx_type t)
{
	return t == PTX_PRED || t == PTX_E4M3 || t == PTX_E5M2 || t == PTX_TF32 ||
	       (type_bytes(t) <= 8 && !strcmp(elem_type_find(ptx_type_name(t))->name, ptx_type_name(t)));
}

static void one(const uint8_t *p, unsigned bytes, enum ptx_type t, char letter, char *out, size_t size)
{
	uint64_t v = 0;

	if (letter == 'f' && !typed_is_float(t))
		t = float_of(bytes);
	if (!letter || letter == 'f') {
		if (has_text(t)) {
			by_type(p, t, out, size);
			return;
		}
		letter = 'x';
	}
	memcpy(&v, p, bytes < 8 ? bytes : 8);
	by_letter(v, bytes < 8 ? bytes : 8, letter == 'a' ? 'x' : letter, out, size);
}

/* The pieces of a value: by the format's type or size, by the packed type, by 8 bytes at most. */
static unsigned piece_bytes(unsigned nbytes, enum ptx_type *t, const struct format *f)
{
	unsigned n = nbytes;

	if (f->type)
		*t = (enum ptx_type)f->type;
	*t = element_of(*t);
	if (f->type || (!f->letter && !f->bytes))
		n = *t ? type_bytes(*t) : nbytes;
	if (f->bytes)
		n = f->bytes;
	if (n > nbytes || !n)
		n = nbytes;
	return n > 8 ? 8 : n;
}

void typed_format(const void *bytes, unsigned nbytes, enum ptx_type type, const struct format *f, char *out,
		  size_t size)
{
	unsigned n = piece_bytes(nbytes, &type, f);
	char text[80];

	out[0] = '\0';
	if (nbytes > n)
		append(out, size, "{");
	for (unsigned at = 0; at < nbytes; at += n) {
		one((const uint8_t *)bytes + at, n, type, f->letter, text, sizeof(text));
		append(out, size, at ? ", " : "");
		append(out, size, text);
	}
	if (nbytes > n)
		append(out, size, "}");
}
