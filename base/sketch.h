/* SPDX-License-Identifier: Apache-2.0
 *
 * sketch: a buffer in a few numbers, so that two of which only hashes are kept can be told apart by more than
 * "differs": counts of NaN, infinities and zeros, least and greatest, sums, sums of parts, some elements. And a hash of
 * chunks that a GPU computes as easily as a CPU. Libc only; the in-process recorder links it, kernels of the
 * recorder's compute the same on devices.
 */
#ifndef CUTRACE_BASE_SKETCH_H
#define CUTRACE_BASE_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKETCH_CHUNK   65536u
#define SKETCH_BLOCKS  64
#define SKETCH_SAMPLES 16

enum sketch_type {
	SKETCH_NONE, /* not numbers, or not known */
	SKETCH_F16,
	SKETCH_BF16,
	SKETCH_F32,
	SKETCH_F64,
	SKETCH_S32,
	SKETCH_U32,
	SKETCH_S64,
	SKETCH_U64,
};
enum sketch_type sketch_type_find(const char *name); /* "f32" */
const char *sketch_type_name(enum sketch_type t);    /* NULL: none */
unsigned sketch_type_bytes(enum sketch_type t);

/* One chunk, as kernels leave it. Sums, least and greatest are of finite elements. */
struct sketch_chunk {
	uint64_t a, b; /* hash */
	double sum, magnitude;
	uint64_t greatest, least; /* keys of sketch_key; `least` is inverted; 0: there is no element */
	uint32_t nan, infinite, zero, pad;
};
/* Keys have the order of the numbers. */
uint64_t sketch_key(double x);
double sketch_from_key(uint64_t key);

void sketch_hash_chunk(struct sketch_chunk *c, const void *data, size_t bytes);
void sketch_numbers(struct sketch_chunk *c, enum sketch_type t, const void *data, size_t bytes);
/* The i-th element. */
double sketch_element(enum sketch_type t, const void *data, uint64_t i);

/* Of a buffer. */
struct sketch {
	enum sketch_type type;
	uint64_t bytes, elements, nan, infinite, zero;
	double least, greatest, sum, magnitude; /* least > greatest: no element is finite */
	uint64_t block_bytes;
	uint32_t nblocks, nsamples;
	double blocks[SKETCH_BLOCKS];
	double samples[SKETCH_SAMPLES]; /* elements 0, n/16, 2n/16, ... */
};
void sketch_begin(struct sketch *s, enum sketch_type t, uint64_t bytes);
/* Chunk by chunk; `index`: its number in the buffer. */
void sketch_add(struct sketch *s, uint64_t index, const struct sketch_chunk *c);
/* Which element the k-th sample is. */
uint64_t sketch_sample(const struct sketch *s, unsigned k);
/* Those samples that lie in bytes [at, at + n) of the buffer, which are at `data`. */
void sketch_take_samples(struct sketch *s, uint64_t at, const void *data, size_t n);
/* How they differ, in words; false when they don't (sums are compared with room for the order of additions). */
bool sketch_difference(const struct sketch *want, const struct sketch *got, char *text, size_t n);

#endif
