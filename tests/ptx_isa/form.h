/* SPDX-License-Identifier: Apache-2.0
 *
 * form: tests of what single PTX instructions compute. A form is one spelling of an instruction
 * ("shf.l.wrap.b32") with input values and a reference written from the PTX ISA document alone, in C integer
 * arithmetic or MPFR. Reference functions must not be derived from the code under test; where
 * the document leaves a result open they answer "anything".
 *
 * A suite is a list of forms that becomes one PTX module, one kernel a form (harness.c).
 */
#ifndef TESTS_PTX_ISA_FORM_H
#define TESTS_PTX_ISA_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_OPERANDS 32

typedef __int128 i128;
typedef unsigned __int128 u128;

enum want_kind {
	WANT_BITS,      /* these bits; a NaN where the operand is floating means "some NaN" */
	WANT_CANONICAL, /* these bits even when they are a NaN */
	WANT_ANY,       /* the document leaves it open */
	WANT_ZERO,      /* zero of either sign, in every element that is zero in `bits` */
	WANT_RANGE,     /* a floating value in [lo, hi] (one element) */
};

struct want {
	uint64_t bits;
	uint64_t mask; /* bits that count; preset to all ones */
	double lo, hi;
	enum want_kind kind;
};

struct form;
struct dev_texture;
/* What one thread computes. `in` holds the inputs, zero-extended. */
typedef void (*lane_ref)(const struct form *f, const uint64_t *in, struct want *out);
/* What a whole block computes: in[thread * nin + i], out[thread * nout + i]. */
typedef void (*group_ref)(const struct form *f, const uint64_t *in, struct want *out);
/* Replaces the generated input values: tuple `t` of the form. */
typedef void (*input_fill)(const struct form *f, unsigned t, uint64_t *in);

struct int_type {
	const char *name;
	uint8_t bits;
	bool is_signed;
};

/* Operands are described by letters; the letter chooses the register, the input values and how results
 * compare: h w d   16, 32, 64 bits of integer     b   8 bits in a 32-bit register       p   predicate e g
 * f16, bf16                      E G  f16x2, bf16x2                    f D  f32, f64      F   f32x2 s 32-bit
 * shift amount            m    member of 0..31                  t   24-bit signed  u  24-bit unsigned q x
 * e4m3x2, e5m2x2 in 16 bits */
struct form {
	char *name;
	const char *outs, *ins; /* letters */
	char *text;             /* %0, %1, ...: outputs, then inputs */
	lane_ref ref;
	group_ref gref;
	input_fill fill;
	unsigned ntuples;   /* with fill: how many (a multiple of the block size); else 0 */
	unsigned most;      /* at most so many generated tuples; 0 = as many as values_count says */
	const char *decl;   /* text before the kernel: functions, variables */
	unsigned block;     /* threads of a block; 0 = 32 */
	unsigned dims[6];   /* block x y z, grid x y z of one launch that gref judges as a whole; or zeros */
	const char *params; /* further parameters of the kernel, and their bytes */
	const void *param_data;
	unsigned param_bytes;
	unsigned shared_bytes; /* dynamic */
	bool faults;           /* the launch must end in a trap */
	const void *arg;       /* for the reference */
	long k[6];
	const struct int_type *type;
	const uint64_t *inputs; /* of the first thread, while references run */
	enum form_result { FORM_NOT_RUN, FORM_PASSED, FORM_FAILED, FORM_REFUSED } result;
};

struct suite {
	const char *name, *target; /* "sm_90" */
	const char *version;       /* of PTX; NULL: 9.0 */
	struct form *forms;
	unsigned n, cap;
	/* texture_model.h: descriptors, and what lies at TEXEL_BASE */
	const struct dev_texture *textures;
	unsigned ntextures;
	const void *texels;
	size_t texel_bytes;
};

/* Adds a form and returns it for further fields; the pointer is valid until the next one is added. `sig` is
 * "outs=ins". */
struct form *form_add(struct suite *s, const char *sig, lane_ref ref, const char *text, const char *name, ...)
	__attribute__((format(printf, 5, 6)));
/* Text as by printf, for `text` above; gone with suite_free. */
char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What runs the forms (device.c). */
struct device_ops;
struct runner {
	const struct device_ops *device; /* the one that is judged */
	const char *options;             /* of its open function */
	/* Where results are written: "equal" (to the interpreter's), "bound" (other bits, but as the document allows), "differs",
	 * "refused" or "neither" (the interpreter refuses it, too), suite, form, reason; NULL: nowhere. */
	FILE *results;
	unsigned stride, phase; /* one form in `stride` */
	unsigned seen;
};
extern struct runner runner;
/* "interp", "amdemu:gfx1100[,options]": false when there is none of that name. */
bool runner_choose(const char *name);
bool runner_wants(void); /* whether the next form is one of those that run */
void runner_note(const char *result, const char *suite, const char *form, const char *reason);

struct tally {
	unsigned passed, failed, refused;
	unsigned bound;   /* of those that passed, without the interpreter's bits */
	unsigned neither; /* of those that are refused, by the interpreter as well */
};
/* Runs every form whose name contains `filter`; prints a line each. */
void suite_run(struct suite *s, const char *filter, struct tally *t);
/* Writes the module's text to a file, for checking with another assembler. */
int suite_emit(struct suite *s, const char *path);
void suite_free(struct suite *s);

/* Integer types by name; NULL when unknown. */
const struct int_type *int_type_find(const char *name);
static inline uint64_t low_bits(uint64_t v, unsigned n)
{
	return n >= 64 ? v : v & ((1ull << n) - 1);
}
static inline i128 as_int(const struct int_type *t, uint64_t v)
{
	v = low_bits(v, t->bits);
	if (t->is_signed && v >> (t->bits - 1))
		return (i128)v - ((i128)1 << t->bits);
	return (i128)v;
}
static inline i128 type_min(const struct int_type *t)
{
	return t->is_signed ? -((i128)1 << (t->bits - 1)) : 0;
}
static inline i128 type_max(const struct int_type *t)
{
	return ((i128)1 << (t->bits - (t->is_signed ? 1 : 0))) - 1;
}
static inline i128 clamp_to(const struct int_type *t, i128 v)
{
	return v < type_min(t) ? type_min(t) : v > type_max(t) ? type_max(t) : v;
}

/* The suites, one file each. */
void forms_integer(struct suite *s);
void forms_bits(struct suite *s);
void forms_carry(struct suite *s);
void forms_compare(struct suite *s);
void forms_float(struct suite *s);
void forms_half(struct suite *s);
void forms_convert(struct suite *s);
void forms_narrow(struct suite *s);
void forms_approx(struct suite *s);
void forms_warp(struct suite *s);
void forms_atomic(struct suite *s);
void forms_memory(struct suite *s);
void forms_control(struct suite *s);
void forms_operands(struct suite *s);
void forms_vector_atomic(struct suite *s);
void forms_tiny(struct suite *s);
void forms_more(struct suite *s);
void forms_launch(struct suite *s);
void forms_blackwell(struct suite *s);
void forms_access(struct suite *s);
void forms_mma(struct suite *s);
void forms_mma_sparse(struct suite *s);
void forms_mma_narrow(struct suite *s);
void forms_wmma(struct suite *s);
void forms_video(struct suite *s);
void forms_mbarrier(struct suite *s);
void forms_policy(struct suite *s);
void forms_setmaxnreg(struct suite *s);
void forms_old(struct suite *s);
void forms_special(struct suite *s);
void forms_texture_sampling(struct suite *s);
void forms_texture_types(struct suite *s);
void forms_texture_texels(struct suite *s);
void forms_texture_queries(struct suite *s);
void forms_surface(struct suite *s);
void forms_unsynchronised(struct suite *s);
void forms_matrix_move(struct suite *s);
void forms_wide_access(struct suite *s);

#endif
