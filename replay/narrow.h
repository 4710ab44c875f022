/* SPDX-License-Identifier: Apache-2.0
 *
 * narrow: which line of a kernel is wrong. A launch whose results are outside of what is legal is made again on the target and
 * on the interpreter, with PTX that logs what chosen blocks do (ptx/instrument); each logged instruction is judged on its own
 * operands, what comes from memory by what the interpreter read there.
 *
 * - narrow.c: which launches; narrow_search.c: which blocks, which parts of the log; narrow_row.c: the rows of the result
 * - narrow_launch.c: in the process that replays: the log is filled and kept
 * - narrow_log.c: reads logs
 * - narrow_batch.c, narrow_judge.c, narrow_fused.c, narrow_spare.c, narrow_execute.c: instructions on their operands, on the interpreter
 * - narrow_stores.c, narrow_atomics.c, narrow_barriers.c: what the target's log says of memory by itself; narrow_memory.c: beside the
 *   interpreter's, values that came from memory, the first place at which anything is another
 * - narrow_places.c: special registers, without a log
 * - narrow_text.c: operands and results as text
 */
#ifndef CUTRACE_REPLAY_NARROW_H
#define CUTRACE_REPLAY_NARROW_H

#include "ptx/instrument/instrument.h"
#include "replay/extension_client.h"
#include "replay/session.h"

/* ---- one run, narrow_launch.c ------------------------------------------------------------ */

/* Shared with the process that replays. */
struct narrow_said {
	bool logged, watched;
	struct extension_hit hit;
	char why[160];       /* not logged */
	uint32_t fault_line; /* of the text with the log, at which the launch faulted; 0: not known */
};

struct narrow_task {
	uint64_t call;
	/* a log: of these blocks; log.buffer is chosen there */
	uint64_t image; /* buffer of the trace for which `text` is loaded; 0: nothing is logged */
	const char *text;
	size_t bytes;
	struct ptx_log_control log;
	uint64_t threads;     /* of a block */
	const char *log_path; /* a struct ptx_log_control, then the buffer */
	uint64_t
		variable; /* where the log's variable can be, out of the way of recorded addresses; 0: anywhere */
	/* who stores there; 0: nothing is watched */
	uint64_t address; /* recorded */
	unsigned watch_bytes;
	struct narrow_said *said;
	uint8_t *host; /* the log's memory there; NULL: the device's own */
};

void narrow_use_text(struct engine *e);
void narrow_before(struct engine *e, struct call *c);
void narrow_after(struct engine *e, struct call *c);

/* ---- logs, narrow_log.c ------------------------------------------------------------------- */

struct narrow_log {
	uint8_t *map;
	size_t bytes;
	struct ptx_log_control control;
	uint64_t nthreads; /* of all its blocks */
	const struct ptx_instrumented *code;
};

/* A record of a thread: at this byte of its area. */
struct narrow_record {
	uint64_t thread, at;
	const struct ptx_site *site;
	const uint32_t *words;
};

bool narrow_log_open(struct narrow_log *l, const char *path, const struct ptx_instrumented *code,
		     uint64_t threads);
void narrow_log_close(struct narrow_log *l);
/* How much the thread would have logged behind the beginning of its area; may be negative. */
int64_t narrow_log_used(const struct narrow_log *l, uint64_t thread);
/* Whether it logged more than that. */
bool narrow_log_is_cut(const struct narrow_log *l, uint64_t thread);
/* r->thread is set, r->at where to look; false: the end. Then r->at is the record's, and narrow_next goes on behind it. */
bool narrow_first(const struct narrow_log *l, uint64_t thread, struct narrow_record *r);
bool narrow_next(const struct narrow_log *l, struct narrow_record *r);

uint64_t narrow_register(const struct narrow_record *r, const struct ptx_site_register *s);
const struct ptx_inst *narrow_inst(const struct ptx_site *s);
bool narrow_guard_holds(const struct narrow_record *r);
bool narrow_same_results(const struct narrow_record *a, const struct narrow_record *b);
bool narrow_same_operands(const struct narrow_record *a, const struct narrow_record *b);
/* Of ld, st, atom, red. False: not known. Addresses of different spaces never meet here. */
bool narrow_address(const struct narrow_record *r, uint8_t *space, uint64_t *address);
unsigned narrow_access_bytes(const struct ptx_site *s);

/* ---- what is wrong ----------------------------------------------------------------------------- */

enum narrow_how { NARROW_NOTHING, NARROW_INSTRUCTION, NARROW_VALUES, NARROW_STORE };

struct narrow_finding {
	enum narrow_how how;
	const struct ptx_site *site;
	uint64_t thread, at; /* in the log */
	unsigned rank;       /* smaller: better */
	/* the register whose value is wrong; NULL: none is, or it is no matter of a value */
	const struct ptx_site_register *result;
	uint32_t got[256], want[256]; /* records */
	bool has_got, has_want;
	const char *note;
};

/* The storing thread's findings are best, its warp's next, then the earliest. */
bool narrow_is_better(const struct narrow_finding *f, const struct narrow_finding *than);
/* Keeps the better one. */
void narrow_offer(struct narrow_finding *best, const struct narrow_finding *f);

struct narrow_place {
	uint64_t thread;  /* in the log, of the one that stored the element; UINT64_MAX: not known */
	uint64_t threads; /* of a block */
	bool whole;       /* the log has all blocks of the grid */
	bool exact;       /* only arithmetic whose results the ISA defines to the bit is judged */
};
unsigned narrow_rank(const struct narrow_place *p, uint64_t thread);

/* Which instructions gave what their operands don't. 0, or an error: nothing could be judged. */
int narrow_judge(struct session *s, const struct ptx_module *m, const struct narrow_log *log,
		 const struct narrow_place *p, struct narrow_finding *best, struct diag *d);
/* Stores of shared and local memory that left something else. */
void narrow_stored(const struct narrow_log *log, const struct narrow_place *p, struct narrow_finding *best);
/* Whether a statement stored as it should in more than three of four cases: then others may have stored there meanwhile. */
bool narrow_stored_rarely(const struct narrow_log *log, const struct ptx_site *s);
/* Atomics of shared memory that did something else. */
void narrow_atomics(const struct narrow_log *log, const struct narrow_place *p, struct narrow_finding *best);
/* A barrier of a block that did not hold for its shared memory. */
bool narrow_barriers(const struct narrow_log *log, const struct narrow_place *p, struct narrow_finding *best);
/* Beside the interpreter's log. */
void narrow_memory(const struct narrow_log *here, const struct narrow_log *interp,
		   const struct narrow_place *p, struct narrow_finding *best);

/* The first special register that tells threads of the target another place than the interpreter's. NULL: none, or it can't
 * be told. */
const struct ptx_site *narrow_places(struct session *s, const struct ptx_module *m,
				     const struct ptx_instrumented *code, const uint32_t grid[3],
				     const uint32_t block[3], char *note, size_t size);

/* Leaves the site's part in sums of products out of its record, so that these can be fused as without a log. Whether it is a sum. */
bool narrow_spare(struct ptx_site *s);

void narrow_operands_text(const struct narrow_record *r, char *out, size_t size);
void narrow_result_text(const struct ptx_site *s, const struct ptx_site_register *r, const uint32_t *words,
			char *out, size_t size);

#endif
