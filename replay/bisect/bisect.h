/* SPDX-License-Identifier: Apache-2.0
 *
 * bisect: what makes the difference between two drivers, or between two ways of compiling by one of them: the first
 * launch that is right on the good side and wrong on the bad one, the pass of LLVM, or the kernel whose code is to blame
 * for a result at the end.
 *
 * - side.c: what the two sides are, and a replay on one of them
 * - first.c: the first launch; passes.c: the pass; mix.c: the kernel, by mixing code of both
 * - print.c: the answer; cmd_bisect.c: options
 *
 * Everything is found by replays, each in a child process with an environment of its own.
 */
#ifndef CUTRACE_BISECT_H
#define CUTRACE_BISECT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "replay/replay.h"
#include "replay/workroom.h"

/* ---- sides --------------------------------------------------------------------------------- */

struct side {
	const char *name;  /* "good", "bad" */
	const char *where; /* a build's or installation's folder, or a libcuda.so.1; NULL: this one */
	const char *device, *options;       /* options: added to the device's */
	char driver[4200];                  /* its libcuda.so.1 */
	char command[4200], compiler[4200]; /* its cutrace and cutrace-compile; "": there is none */
	char device_text[512];
};
/* 0, or why there is no such driver. */
int side_resolve(struct side *s, struct diag *d);
/* "gfx1100", when its code is made by our LLVM compiler; "": on the GPU that is there; NULL: it is not. */
const char *side_target(const struct side *s, char *room, size_t size);
/* opt= and contract= as they are there, "opt=3,contract=none". */
void side_compile_options(const struct side *s, char *out, size_t size);

struct bisect {
	struct workroom *w;
	struct side good, bad;
	const char *trace;    /* that is replayed: what was given, or what was made of it */
	const char *input;    /* what was given */
	uint64_t first, last; /* launches that are looked at; 0: all */
	unsigned jobs, envelope;
	struct compare_limits limits;
	bool json, quiet, progress, no_passes, mix;
	struct arena arena; /* of the answer's texts */
	unsigned replays;
};

enum verdict_of { IS_GOOD, IS_BAD, IS_UNKNOWN };

struct replay_request {
	const struct side *side;
	const char *trace;
	uint64_t first, last; /* launches; 0: all */
	bool stream;          /* the program's whole stream instead of launches on their own */
	unsigned narrow;
	const char *compile; /* CUTRACE_COMPILE_OPTIONS, or NULL */
};
/* Leaves its result in the workroom's file `result`; an enum replay_exit, or below 0: interrupted. */
int bisect_replay(struct bisect *b, const struct replay_request *q, const char *result);
/* Of one launch, or (0) of all. */
enum verdict_of bisect_verdict(struct bisect *b, const char *result, uint64_t call, bool stream);
/* Why it could not; of the last replay. */
const char *bisect_reason(struct bisect *b, const char *result);
sqlite3 *bisect_open(struct bisect *b, const char *result);                /* NULL: it can't be read */
void bisect_say(struct bisect *b, const char *fmt, ...) DIAG_PRINTF(2, 3); /* progress, on stderr */

/* ---- answers --------------------------------------------------------------------------------- */

struct found_launch {
	bool found;
	uint64_t call;
	unsigned differing; /* launches that differ on the bad side */
	unsigned alike;     /* of those before this one: wrong on both */
	bool good_recorded; /* the trace's contents were made by the good side */
	const char *kernel, *kind, *grade, *elem_type, *want, *got, *note, *good_grade;
	uint64_t address, elements, differ, element;
	uint64_t wrong_line;
	const char *wrong_ptx, *wrong_source;
};

struct found_pass {
	bool looked, found;
	uint64_t number, of;
	uint64_t first;        /* not 0: passes first to number could not be told apart */
	const char *name, *on; /* "InstCombinePass", "function (saxpy)"; NULL: not known */
	const char *why_not;
};

struct found_kernel {
	bool looked, found;
	const char *kernel, *why_not;
	unsigned number, of;
};

/* 0, or CUTRACE_E*: it could not be found out. */
int bisect_first_launch(struct bisect *b, struct found_launch *out, struct diag *d);
void bisect_passes(struct bisect *b, const struct found_launch *l, struct found_pass *out);
int bisect_mix(struct bisect *b, struct found_kernel *out, struct diag *d);

void bisect_print(const struct bisect *b, const struct found_launch *l, const struct found_pass *p,
		  const struct found_kernel *k);

#endif
