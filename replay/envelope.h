/* SPDX-License-Identifier: Apache-2.0
 *
 * envelope: is a result one that the PTX ISA allows? Products and sums may be fused, atomics and blocks come in any
 * order, approximations have bounds, matrix products are summed in groups. Legal results of a launch, from runs of the
 * interpreter with these left to chance and from the recording, show how far such freedom moves each element; a
 * result is judged by that, and not by a tolerance that somebody guessed. Pure functions.
 */
#ifndef CUTRACE_REPLAY_ENVELOPE_H
#define CUTRACE_REPLAY_ENVELOPE_H

#include "replay/compare.h"

enum envelope_grade { ENVELOPE_INSIDE, ENVELOPE_OUTSIDE, ENVELOPE_CHAOTIC };

struct envelope {
	enum envelope_grade grade;
	uint64_t elements, varying; /* varying: those whose legal results are not all the same */
	uint64_t outside, first;    /* elements of the result that are outside, and the first of them */
	double worst; /* of those: how many times as far as a legal result may lie outside the others; INFINITY */
	double width; /* mean width, relative to the root mean square of the values */
};

enum { ENVELOPE_MAX_RUNS = 64 };

/* legal: n >= 3 results, each of `bytes` bytes, as is `got`. */
void envelope_grade(const struct elem_type *type, const void *const *legal, unsigned n, const void *got,
		    size_t bytes, struct envelope *out);

#endif
