/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sketch.h"

#include <stdio.h>
#include <string.h>

enum { LANES = 8 };

static const struct {
	const char *name;
	unsigned bytes;
} types[] = {[SKETCH_NONE] = {NULL, 0}, [SKETCH_F16] = {"f16", 2}, [SKETCH_BF16] = {"bf16", 2},
	     [SKETCH_F32] = {"f32", 4}, [SKETCH_F64] = {"f64", 8}, [SKETCH_S32] = {"s32", 4},
	     [SKETCH_U32] = {"u32", 4}, [SKETCH_S64] = {"s64", 8}, [SKETCH_U64] = {"u64", 8}};

enum sketch_type sketch_type_find(const char *name)
{
	for (unsigned i = 1; name && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, name))
			return (enum sketch_type)i;
	return SKETCH_NONE;
}

const char *sketch_type_name(enum sketch_type t)
{
	return t <= SKETCH_U64 ? types[t].name : NULL;
}

unsigned sketch_type_bytes(enum sketch_type t)
{
	return t <= SKETCH_U64 ? types[t].bytes : 0;
}

/* ---- chunks ------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

void sketch_hash_chunk(struct sketch_chunk *c, const void *data, size_t bytes)
{
	for (size_t i = 0; i * 8 < bytes; i++) {
		uint64_t w = 0;

		memcpy(&w, (const uint8_t *)data + i * 8, bytes - i * 8 < 8 ? bytes - i * 8 : 8);
		c->a += mixed(w + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
		c->b += mixed(w ^ (i + 1) * UINT64_C(0xd1b54a32d192ed03));
	}
}

uint64_t sketch_key(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, 8);
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

double sketch_from_key(uint64_t key)
{
	uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
	double x;

	memcpy(&x, &bits, 8);
	return x;
}

static float f32_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static double f16_of(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;

	if (exponent == 31)
		return (double)f32_of(sign | 0x7f800000 | fraction << 13);
	if (exponent)
		return (double)f32_of(sign | (exponent + 112) << 23 | fraction << 13);
	return (sign ? -1.0 : 1.0) * (double)fraction / 16777216.0;
}

double sketch_element(enum sketch_type t, const void *data, uint64_t i)
{
	const uint8_t *at = (const uint8_t *)data + i * sketch_type_bytes(t);
	uint64_t w = 0;
	double d;

	memcpy(&w, at, sketch_type_bytes(t));
	switch (t) {
	case SKETCH_F16: return f16_of((uint16_t)w);
	case SKETCH_BF16: return (double)f32_of((uint32_t)w << 16);
	case SKETCH_F32: return (double)f32_of((uint32_t)w);
	case SKETCH_F64: memcpy(&d, &w, 8); return d;
	case SKETCH_S32: return (int32_t)(uint32_t)w;
	case SKETCH_U32: return (double)(uint32_t)w;
	case SKETCH_S64: return (double)(int64_t)w;
	case SKETCH_U64: return (double)w;
	default: return 0;
	}
}

/* Sums in lanes, which the compiler makes vectors of. */
struct lanes {
	double sum[LANES], magnitude[LANES], least[LANES], greatest[LANES];
	uint32_t nan[LANES], infinite[LANES], zero[LANES], finite[LANES];
};

static inline void add_lane(struct lanes *l, unsigned k, double x)
{
	bool nan = x != x, finite = x - x == 0, infinite = !nan && !finite;
	double y = finite ? x : 0;

	l->nan[k] += nan;
	l->infinite[k] += infinite;
	l->zero[k] += x == 0;
	l->finite[k] += finite;
	l->sum[k] += y;
	l->magnitude[k] += y < 0 ? -y : y;
	l->least[k] = finite && x < l->least[k] ? x : l->least[k];
	l->greatest[k] = finite && x > l->greatest[k] ? x : l->greatest[k];
}

static void add_lanes(struct sketch_chunk *c, const struct lanes *l)
{
	uint64_t key;

	for (unsigned k = 0; k < LANES; k++) {
		c->sum += l->sum[k];
		c->magnitude += l->magnitude[k];
		c->nan += l->nan[k];
		c->infinite += l->infinite[k];
		c->zero += l->zero[k];
		if (!l->finite[k])
			continue;
		key = sketch_key(l->greatest[k]);
		c->greatest = key > c->greatest ? key : c->greatest;
		key = ~sketch_key(l->least[k]);
		c->least = key > c->least ? key : c->least;
	}
}

/* Most buffers. In integers, whose order is that of the numbers once those below zero are turned around. */
static uint64_t add_f32(struct lanes *l, const void *data, uint64_t n)
{
	int32_t least[LANES], greatest[LANES];
	uint64_t i = 0;

	for (unsigned k = 0; k < LANES; k++) {
		least[k] = INT32_MAX;
		greatest[k] = INT32_MIN;
	}
	for (; i + LANES <= n; i += LANES) {
		uint32_t w[LANES];
		float f[LANES], m[LANES];

		memcpy(w, (const uint8_t *)data + i * 4, sizeof(w));
		for (unsigned k = 0; k < LANES; k++) {
			int32_t a = (int32_t)(w[k] & 0x7fffffff), x = (int32_t)w[k] < 0 ? -a : a;
			int32_t finite = -(a < 0x7f800000);

			l->nan[k] += a > 0x7f800000;
			l->infinite[k] += a == 0x7f800000;
			l->zero[k] += a == 0;
			l->finite[k] -= (uint32_t)finite;
			int32_t low = (x & finite) | (INT32_MAX & ~finite);
			int32_t high = (x & finite) | (INT32_MIN & ~finite);

			least[k] = low < least[k] ? low : least[k];
			greatest[k] = high > greatest[k] ? high : greatest[k];
			w[k] &= (uint32_t)finite;
		}
		memcpy(f, w, sizeof(f));
		for (unsigned k = 0; k < LANES; k++)
			w[k] &= 0x7fffffff;
		memcpy(m, w, sizeof(m));
		for (unsigned k = 0; k < LANES; k++) {
			l->sum[k] += (double)f[k];
			l->magnitude[k] += (double)m[k];
		}
	}
	for (unsigned k = 0; k < LANES; k++) {
		if (!l->finite[k])
			continue;
		l->least[k] =
			(double)f32_of(least[k] < 0 ? 0x80000000u | (uint32_t)-least[k] : (uint32_t)least[k]);
		l->greatest[k] = (double)f32_of(greatest[k] < 0 ? 0x80000000u | (uint32_t)-greatest[k]
								: (uint32_t)greatest[k]);
	}
	return i;
}

#define NUMBERS(type)                                                               \
	do {                                                                        \
		for (; i + LANES <= n; i += LANES)                                  \
			for (unsigned k = 0; k < LANES; k++)                        \
				add_lane(&l, k, sketch_element(type, data, i + k)); \
		for (; i < n; i++)                                                  \
			add_lane(&l, 0, sketch_element(type, data, i));             \
	} while (0)

void sketch_numbers(struct sketch_chunk *c, enum sketch_type t, const void *data, size_t bytes)
{
	uint64_t n = sketch_type_bytes(t) ? bytes / sketch_type_bytes(t) : 0, i = 0;
	struct lanes l = {.nan = {0}};

	for (unsigned k = 0; k < LANES; k++) {
		l.least[k] = 1.7976931348623157e308;
		l.greatest[k] = -1.7976931348623157e308;
	}
	switch (t) { /* one loop each */
	case SKETCH_F32:
		i = add_f32(&l, data, n);
		NUMBERS(SKETCH_F32);
		break;
	case SKETCH_F64: NUMBERS(SKETCH_F64); break;
	case SKETCH_S32: NUMBERS(SKETCH_S32); break;
	case SKETCH_U32: NUMBERS(SKETCH_U32); break;
	default: NUMBERS(t); break;
	}
	add_lanes(c, &l);
}

/* ---- buffers -------------------------------------------------------------------------- */

void sketch_begin(struct sketch *s, enum sketch_type t, uint64_t bytes)
{
	*s = (struct sketch){
		.type = t, .bytes = bytes, .least = 1, .greatest = 0, .block_bytes = SKETCH_CHUNK};
	if (!t)
		return;
	s->elements = bytes / sketch_type_bytes(t);
	while (bytes > s->block_bytes * SKETCH_BLOCKS)
		s->block_bytes *= 2;
	s->nblocks = (uint32_t)((bytes + s->block_bytes - 1) / s->block_bytes);
	s->nsamples = s->elements < SKETCH_SAMPLES ? (uint32_t)s->elements : SKETCH_SAMPLES;
}

void sketch_add(struct sketch *s, uint64_t index, const struct sketch_chunk *c)
{
	if (!s->type)
		return;
	s->nan += c->nan;
	s->infinite += c->infinite;
	s->zero += c->zero;
	s->sum += c->sum;
	s->magnitude += c->magnitude;
	if (index * SKETCH_CHUNK < s->bytes)
		s->blocks[index * SKETCH_CHUNK / s->block_bytes] += c->sum;
	if (!c->greatest)
		return;
	double greatest = sketch_from_key(c->greatest), least = sketch_from_key(~c->least);

	if (s->least > s->greatest) {
		s->least = least;
		s->greatest = greatest;
	}
	s->least = least < s->least ? least : s->least;
	s->greatest = greatest > s->greatest ? greatest : s->greatest;
}

uint64_t sketch_sample(const struct sketch *s, unsigned k)
{
	return s->elements / SKETCH_SAMPLES ? s->elements / SKETCH_SAMPLES * k : k;
}

void sketch_take_samples(struct sketch *s, uint64_t at, const void *data, size_t n)
{
	unsigned bytes = sketch_type_bytes(s->type);

	for (unsigned k = 0; k < s->nsamples; k++) {
		uint64_t place = sketch_sample(s, k) * bytes;

		if (place >= at && place - at + bytes <= n)
			s->samples[k] = sketch_element(s->type, (const uint8_t *)data + (place - at), 0);
	}
}

/* ---- differences ------------------------------------------------------------------------ */

static double distance(double a, double b)
{
	return a < b ? b - a : a - b;
}

struct words {
	char *at;
	size_t n, used;
};

static void say(struct words *w, const char *what, double want, double got)
{
	int n = snprintf(w->at + w->used, w->n - w->used, "%s%s %.9g, here %.9g", w->used ? "; " : "", what,
			 want, got);

	w->used = n < 0 || (size_t)n >= w->n - w->used ? w->n - 1 : w->used + (size_t)n;
}

bool sketch_difference(const struct sketch *want, const struct sketch *got, char *text, size_t n)
{
	/* Sums of n numbers in another order differ by less than n units in the last place of their magnitudes. */
	double room = 1.1102230246251565e-16 * (double)(want->elements + 1) * want->magnitude;
	struct words w = {text, n, 0};

	text[0] = '\0';
	if (!want->type || want->type != got->type || want->bytes != got->bytes)
		return false;
	if (want->nan != got->nan)
		say(&w, "NaNs", (double)want->nan, (double)got->nan);
	if (want->infinite != got->infinite)
		say(&w, "infinities", (double)want->infinite, (double)got->infinite);
	if (want->zero != got->zero)
		say(&w, "zeros", (double)want->zero, (double)got->zero);
	if (distance(want->sum, got->sum) > room)
		say(&w, "sum", want->sum, got->sum);
	if (distance(want->magnitude, got->magnitude) > room)
		say(&w, "sum of magnitudes", want->magnitude, got->magnitude);
	if (want->least < got->least || want->least > got->least)
		say(&w, "least", want->least, got->least);
	if (want->greatest < got->greatest || want->greatest > got->greatest)
		say(&w, "greatest", want->greatest, got->greatest);
	for (unsigned k = 0; k < want->nblocks && k < got->nblocks; k++)
		if (distance(want->blocks[k], got->blocks[k]) > room) {
			char what[48];

			snprintf(what, sizeof(what), "first block that differs: %u, its sum", k);
			say(&w, what, want->blocks[k], got->blocks[k]);
			break;
		}
	return w.used != 0;
}
