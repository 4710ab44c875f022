/* SPDX-License-Identifier: Apache-2.0
 *
 * replay: issues a recorded trace's calls again, as an ordinary client of whichever libcuda.so.1 it is
 * given, and compares what comes back with what was recorded. This header is what commands and tests use; the
 * module's inside is replay/engine.h. The trace is only read; results go into a database of their own
 * (result.c).
 */
#ifndef CUTRACE_REPLAY_H
#define CUTRACE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "replay/compare.h"

/* Exit status, as everywhere in cutrace. */
enum replay_exit { REPLAY_MATCH = 0, REPLAY_DIFFERS = 1, REPLAY_USAGE = 2, REPLAY_COULD_NOT = 125 };

struct replay_options {
	const char *trace_path;
	const char *driver;      /* path of another libcuda.so.1; NULL: ours */
	const char *device;      /* for our libcuda.so.1: "interp" */
	const char *result_path; /* NULL: a temporary file that is removed */
	const char *inject;      /* "KERNEL:PTXLINE:BIT", a test aid of our devices */
	struct compare_limits limits;
	const struct tolerances *tolerances; /* of kernels and buffers; NULL: none */
	const char *tolerances_path;
	uint64_t stop_at;       /* last call to issue; 0 = all */
	bool isolated;          /* each launch from what it began with when it was recorded */
	unsigned shard, shards; /* of an isolated replay: shard 0 to shards - 1; shards 0: not a shard */
	unsigned
		envelope; /* runs of the interpreter that show what is legal, where an isolated launch differs; 0: none */
	unsigned
		most_judged; /* launches of a recorded process that differ and are judged so, the first ones; 0: all */
	unsigned
		narrow; /* launches of an isolated replay in which the first wrong PTX line is looked for; 0: none */
	uint64_t first_launch, last_launch; /* of an isolated replay: calls; 0: all */
	unsigned jobs;                      /* shards at a time, in processes of their own; 0 or 1: none */
	unsigned repeat, warm_up;           /* of launches, to time them (repeat.h); repeat 0: none */
	bool no_compare;                    /* what launches wrote: put back unseen */
	const char *keep; /* of an isolated replay: a folder for what launches wrote where it differs; NULL */
	const char *resume_path; /* the result of an interrupted replay, to go on with; NULL */
	char *resumed_path;      /* result_path where the command line does not name it */
	bool json, verbose, quiet;
	bool plan;             /* only what can be replayed */
	bool progress;         /* also where nobody watches: as lines */
	bool may_restart;      /* the process may be executed again, without address randomisation */
	bool verify_addresses; /* replay again at a second base when addresses were translated */
	/* A trace of the launches of first_launch to last_launch alone (excerpt.h); no path: none is made. */
	const char *excerpt;
	const uint64_t
		*excerpt_calls; /* NULL: all launches of that range; else those among these, in order */
	size_t excerpt_ncalls;
	bool excerpt_remake; /* with what they write here, instead of what they wrote when they were recorded */
	bool excerpt_scratch;    /* it is read and thrown away */
	bool excerpt_ptx_only;   /* without machine code */
	bool excerpt_all_memory; /* also what no pointer leads to */
	char *(*excerpt_edit)(const char *ptx,
			      size_t bytes); /* NULL: as it is; else malloc'ed, NULL: it can't be */
};

/* Replays all recorded processes and returns an enum replay_exit. The report goes to stdout, progress and
 * problems to stderr. */
int replay_run(const struct replay_options *opt);

/* `cutrace replay`; argv[0] is the sub-command's name. */
int cmd_replay(int argc, char **argv);
int cmd_merge_results(int argc, char **argv);
int cmd_enrich(int argc, char **argv);
int cmd_trim(int argc, char **argv);
int cmd_extract(int argc, char **argv); /* extract/ */
int cmd_bisect(int argc, char **argv);  /* bisect/ */
/* "A" or "A-B", calls from 1 on. */
bool replay_parse_launches(const char *text, uint64_t *first, uint64_t *last);

#endif
