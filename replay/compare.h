/* SPDX-License-Identifier: Apache-2.0
 *
 * compare: two buffers of the same size, element by element. Bytes decide first; what differs is then
 * measured in units in the last place, absolutely and relatively, according to an element type. Pure
 * functions.
 */
#ifndef CUTRACE_REPLAY_COMPARE_H
#define CUTRACE_REPLAY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum elem_class { ELEM_BITS, ELEM_UINT, ELEM_SINT, ELEM_FLOAT };

struct elem_type {
	const char *name; /* "f32"; what reports print */
	uint8_t bytes;    /* of one element */
	uint8_t cls;      /* enum elem_class */
	uint8_t mantissa; /* ELEM_FLOAT: explicit mantissa bits */
	uint8_t exponent; /* ELEM_FLOAT: exponent bits */
};

/* By PTX type name ("f32", "f16x2", "b64"); packed types give their component. Never NULL: unknown names and
 * NULL give single bytes. */
const struct elem_type *elem_type_find(const char *ptx_name);

/* What may differ. Without any limit only equal bytes, and NaN against NaN, pass. */
struct compare_limits {
	bool has_ulp, has_tol;
	uint64_t ulp;
	double rtol, atol; /* |got - want| <= atol + rtol * |want| */
};

#define COMPARE_NO_ULP UINT64_MAX /* a NaN on one side only: no distance */

struct compare_result {
	uint64_t elements;
	uint64_t differing;   /* bytes differ, NaN against NaN not counted */
	uint64_t beyond;      /* of those, outside the limits */
	uint64_t nan_payload; /* NaN on both sides with different bits */
	uint64_t max_ulp;
	double max_abs, max_rel;
	uint64_t first; /* index of the first element beyond the limits, else of the first differing one */
	uint64_t want, got; /* its bits */
};

/* Adds to *r, which starts zeroed. A tail shorter than an element is compared as one zero-extended element.
 */
void compare_buffers(const struct elem_type *type, const struct compare_limits *limits, const void *want,
		     const void *got, size_t bytes, struct compare_result *r);

/* Adds the result of a piece whose first element is element `index` of the whole. */
void compare_merge(struct compare_result *whole, const struct compare_result *piece, uint64_t index);

/* Distance in units in the last place; 0 for equal bits and for -0 against +0. */
uint64_t elem_ulp(const struct elem_type *type, uint64_t a, uint64_t b);
bool elem_is_nan(const struct elem_type *type, uint64_t bits);
double elem_value(const struct elem_type *type, uint64_t bits);
/* "0.5", "-3", "0x1f", "nan(0x7fc00000)". */
void elem_format(const struct elem_type *type, uint64_t bits, char *buf, size_t size);

#endif
