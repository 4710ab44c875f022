/* SPDX-License-Identifier: Apache-2.0
 *
 * record_options: what of a program `cutrace record` keeps, and what it makes the program meet. The command line fills
 * it, the collector puts it into the page that traced processes share.
 */
#ifndef CUTRACE_INTERPOSE_RECORD_OPTIONS_H
#define CUTRACE_INTERPOSE_RECORD_OPTIONS_H

#include "interpose/check_options.h"

struct record_options {
	struct check_options check;
	bool no_payloads;        /* copies are recorded without their bytes */
	bool no_opaque;          /* what kernels without PTX write isn't kept */
	bool reference_ptx;      /* the driver gets PTX wherever there is any */
	bool keyframes;          /* taken when asked for, and */
	uint64_t keyframe_every; /* before each N-th launch of a process; 0: not */
	bool ranged; /* launches and copies are recorded inside a range only, which begins with a keyframe: */
	uint64_t range_first, range_last; /* launches by number, from 1; 0: while somebody asks */
	unsigned
		as_cc; /* the compute capability that programs are told, 10 * major + minor; 0: the device's */
};

/* CUTRACE_EINVAL with *d filled when a value is none. */
int record_options_payloads(struct record_options *o, const char *text, struct diag *d);
int record_options_reference(struct record_options *o, const char *text, struct diag *d);
int record_options_keyframe(struct record_options *o, const char *text, struct diag *d);
int record_options_launches(struct record_options *o, const char *text, struct diag *d);
int record_options_as(struct record_options *o, const char *text, struct diag *d);
/* As they are given again on a command line. */
void record_options_text(const struct record_options *o, const char *check_words, char *buf, size_t bytes);

#endif
