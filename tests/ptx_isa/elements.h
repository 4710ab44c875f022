/* SPDX-License-Identifier: Apache-2.0
 *
 * elements: values of matrix elements, by type. Floating elements are small integers, so that every order of
 * accumulation gives the same sum, which the ISA leaves open; integers take their whole range.
 */
#ifndef TESTS_PTX_ISA_ELEMENTS_H
#define TESTS_PTX_ISA_ELEMENTS_H

#include "form.h"
#include "reference.h"

struct etype {
	const char *name;
	unsigned bits;
	enum float_format format; /* FORMAT_NONE: integer */
	bool is_signed;
	unsigned shift; /* of the element in its bits */
};

/* By name: f16 bf16 tf32 f32 f64 e4m3 e5m2 e2m3 e3m2 e2m1 (in bytes) s8 u8 s4 u4 b1 s32. */
const struct etype *etype_find(const char *name);
uint64_t hash_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
/* Bits of the element that hash `h` stands for, and its value. */
uint64_t etype_pick(const struct etype *t, uint64_t h);
long double etype_value(const struct etype *t, uint64_t bits);
/* Bits of a value: rounded (floats); wrapped, or clamped if `sat` (s32). */
uint64_t etype_bits(const struct etype *t, long double v, mpfr_rnd_t rnd, bool sat);

#endif
