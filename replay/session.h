/* SPDX-License-Identifier: Apache-2.0
 *
 * session: one run of one recorded process, in a child; shared by the files that decide which runs there are.
 */
#ifndef CUTRACE_REPLAY_SESSION_H
#define CUTRACE_REPLAY_SESSION_H

#include <sys/types.h>

#include "replay/engine.h"

#define PROBE_PATH 4400

/* Launches that are made again on the interpreter, to see what is legal. */
struct probe {
	struct map calls; /* of these launches */
	const char *folder, *device;
	unsigned run;
	bool on_target;             /* not on the interpreter */
	const char *inject;         /* in place of the option's, whose line is elsewhere in another text */
	struct narrow_task *narrow; /* narrow.h */
};

struct run {
	struct session *s;
	uint32_t process;
	unsigned pass;
	const struct blame_request *blame;
	const struct probe *probe;
	const struct visit *visit; /* visit.h; of a probe */
	const char *va_base;
	FILE *results;
	bool faulted;    /* the last run ended so */
	bool one_by_one; /* launches are waited for, so that the one that faults is known */
	bool give_up;    /* the next fault ends what can be compared */
	int64_t guess;   /* verdict of a fault whose launch is not known for certain */
};

/* What the trace says of itself. */
struct recorded {
	uint32_t *ids;
	unsigned n;
	char uuid[64];
	bool closed, verified; /* its rows, by their hashes */
	bool has_contents;     /* of what launches wrote */
};

/* session_result.c: fills s->result_path, and makes the database there. */
int session_choose_result_path(struct session *s);
/* The result goes to where -o says, if it does. */
int session_keep_result(struct session *s);
int session_make_result(struct session *s, const struct recorded *rec);

/* shards.c: opt->jobs parts of the trace at a time. `replay` makes a part's result and returns 0, ENGINE_RESTART or an
 * error with part->error filled. */
int shards_run(struct session *s, int (*replay)(struct session *part, void *ctx), void *ctx);

/* pool.c: work(s, 0) to work(s, n - 1), in opt->jobs processes at a time, or here: what it changes in memory may be lost. */
void pool_run(struct session *s, unsigned n, void (*work)(struct session *s, unsigned k, void *ctx),
	      void *ctx);

/* probe.c: judges the differences of an isolated replay by what is legal. */
int probe_folder_make(struct session *s);
void probe_folder_remove(struct session *s);
int probe_differences(struct session *s, const uint32_t *processes, unsigned n);
/* The bytes at a recorded address of what the launch wrote in a run. */
bool probe_element(const struct session *s, struct trace *t, uint32_t process, uint64_t call, unsigned run,
		   uint64_t address, unsigned bytes, uint64_t *value);

/* narrow.c: the first wrong PTX line of launches that are graded "differs". */
int narrow_differences(struct session *s);

/* cmd_replay.c: our libcuda.so.1, of this installation */
int replay_own_driver(char *path, size_t size, struct diag *d);

/* progress.c: what is shown meanwhile; phase as in struct progress. */
void progress_begin(struct progress *p, const char *phase);
void progress_end(struct progress *p);
void progress_checking(void *progress, int permille);
/* Waits for a child, shows progress, and ends it when the replay shall end and it doesn't. */
void session_wait(struct session *s, pid_t pid, int *status);
/* Signals that end programs from now on only end what is being done, and are remembered. */
void interrupt_hold(void); /* they wait */
void interrupt_begin(struct session *s);
void interrupt_end(void);
int interrupted(const struct session *s); /* the signal's number, or 0 */

/* resume.c: what an interrupted replay has judged */
int resume_begin(struct session *s, struct ledger_range **done, size_t *ndone);
int resume_end(struct session *s); /* its rows become this result's */
void resume_forget(struct session *s);
int resume_keep(
	struct session *s); /* this one was interrupted: its result stays, for another to go on with */

int session_check_rows(struct session *s); /* of the trace, by their hashes */
int run_process(struct run *r);            /* session.c: once */
int run_to_the_end(struct run *r);         /* retry.c: again without what faulted */

#endif
