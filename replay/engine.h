/* SPDX-License-Identifier: Apache-2.0
 *
 * engine: the replayer's inside. One `struct engine` replays one recorded process, in one process of its own,
 * on one target driver. Nothing in here prints. The files by what they own:
 *
 * - cmd_replay.c: options; session.c: one child per recorded process; retry.c: again after a fault; injection.c:
 *   --inject; report.c: what the user reads
 * - dispatch.c: order of calls and what is done with each; contexts.c: whose context and stream a call means
 * - args.c: a call's arguments, rebuilt from recorded memory; outs.c: what came back
 * - handles.c: recorded handle -> live handle; addresses.c: recorded address -> live address
 * - reserve.c: keeps recorded device addresses free until the driver is asked for them
 * - allocs.c: calls that make or free memory; vmm.c: recorded addresses on drivers that only take hints
 * - modules.c, launches.c, transfers.c: calls with payload; captures.c: copies that belong to graphs
 * - recorded_ptx.c: what the recorded PTX tells; doubt.c: what depends on launches that are left out
 * - repeat.c: how long launches take
 * - excerpt_take.c, excerpt.c: a few launches as a trace of their own
 * - written.c: what launches wrote; shard.c: which launches are this replay's; ledger.c: what its processes know of each
 *   other; progress.c: how far it is, and signals; resume.c: going on with one that was interrupted
 * - check.c: recorded results against live ones; result.c: the result database
 * - probe.c: what differs is judged by what is legal; narrow*.c: the first wrong line; pool.c: several processes at a time
 * - blame.c: which PTX line stored it
 */
#ifndef CUTRACE_REPLAY_ENGINE_H
#define CUTRACE_REPLAY_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "api/api.h"
#include "base/arena.h"
#include "base/diag.h"
#include "ptx/ir.h"
#include "replay/driver.h"
#include "replay/ledger.h"
#include "replay/map.h"
#include "replay/replay.h"
#include "trace/trace.h"

struct engine;
struct extension_fault;
struct result_db;
struct pending;
struct narrow_task;

/* ---- handles.c ---------------------------------------------------------- */

struct handles {
	struct map *kinds; /* per api_handles index: recorded -> live */
	uint16_t device_kind, context_kind, stream_kind, function_kind, module_kind, library_kind;
};
int handles_init(struct handles *h);
void handles_free(struct handles *h);
/* Special values and 0 stand for themselves, device ordinals too. False: no such handle lives. */
bool handles_get(const struct handles *h, uint16_t kind, uint64_t recorded, uint64_t *live);
int handles_set(struct handles *h, uint16_t kind, uint64_t recorded, uint64_t live);
void handles_remove(struct handles *h, uint16_t kind, uint64_t recorded);
uint16_t handle_kind_find(const char *name); /* API_NONE */

/* ---- addresses.c -------------------------------------------------------- */

/* How an allocation got its live address; in the report. */
enum address_policy {
	ADDRESS_PLACED,     /* our device was told the recorded address */
	ADDRESS_SAME,       /* the driver gave the recorded address by itself */
	ADDRESS_VMM,        /* put there through virtual memory management */
	ADDRESS_TRANSLATED, /* lives elsewhere; pointers are rewritten */
	ADDRESS_NPOLICIES
};
extern const char *const address_policy_names[ADDRESS_NPOLICIES];

struct address_range {
	uint64_t base, bytes; /* recorded */
	uint64_t live;
	uint64_t id;      /* allocation row of the trace, 0 = none */
	uint64_t created; /* call */
	const char *kind; /* "device", "host", "registered", "managed", "vmm", "global", "pool" */
	enum address_policy policy;
	uint64_t owner;     /* "global": recorded module or library handle */
	bool host_visible;  /* live memory is readable by the host at `live` */
	void *host_mapping; /* "registered": what was mapped for it */
	size_t host_bytes;
	/* what is known of its contents */
	char elem_type[12];     /* of the last kernel that wrote it (else read it); "" unknown */
	uint64_t writer_call;   /* last call that wrote it */
	uint64_t writer_kernel; /* kernel row when that was a launch */
	char param[48];         /* its parameter through which it was reached */
	uint64_t wrong;         /* launch since which they are other than recorded, in a stream; 0: not known to be */
	uint64_t doubt;         /* launch that was left out and that its contents depend on; 0: none */
};

struct addresses {
	struct address_range **by_base; /* ascending recorded base */
	struct address_range **by_live;
	size_t n, cap;
	size_t nmoved;   /* live ranges whose live address is another one */
	uint64_t lo, hi; /* hull of all recorded ranges; a quick no */
	uint64_t live_lo, live_hi;
	uint64_t rewritten_params, rewritten_words; /* statistics */
};
int addresses_add(struct addresses *a, const struct address_range *r); /* copies; 0 or CUTRACE_ENOMEM */
void addresses_remove(struct addresses *a, uint64_t base);
void addresses_free(struct addresses *a);
/* The range that contains a recorded address (one past the end counts when nothing else is there), or NULL.
 */
struct address_range *addresses_find(const struct addresses *a, uint64_t recorded);
struct address_range *addresses_find_live(const struct addresses *a, uint64_t live);
/* What a parameter points to, of the launch with these; NULL: nothing that is known. */
struct address_range *addresses_pointee(const struct addresses *a, const struct trace_kernel_param *p,
					const uint8_t *params, size_t bytes);
/* Unknown addresses stay as they are. */
uint64_t addresses_to_live(const struct addresses *a, uint64_t recorded);
uint64_t addresses_to_recorded(const struct addresses *a, uint64_t live);
/* Rewrites each aligned 8-byte word that lies in a moved range; returns how many. */
size_t addresses_rewrite(const struct addresses *a, void *words, size_t bytes);
size_t addresses_rewrite_back(const struct addresses *a, void *words, size_t bytes);

/* ---- one call ----------------------------------------------------------- */

enum binding_kind { BIND_H2D, BIND_D2H };
/* A host buffer of ours that stands for one of the program's. */
struct binding {
	enum binding_kind kind;
	int param;
	uint64_t address;        /* recorded host address */
	uint64_t device_address; /* recorded, 0 = unknown */
	uint64_t width, height, depth;
	uint64_t pitch, slice; /* of the device side, for addresses of elements; 0 = packed */
	uint64_t buffer;       /* trace buffer, 0 = none */
	uint8_t *data;
	size_t bytes;
	/* of the allocation at device_address when the call was issued */
	uint64_t allocation, base, writer_call, writer_kernel, doubt, wrong;
	char elem_type[12];
};

#define CALL_MAX_BINDINGS 64
struct call {
	const struct trace_call *rec;
	const struct api_func *f;
	const char *name;
	uint32_t thread;
	uint64_t args[TRACE_MAX_ARGS]; /* live */
	struct arena arena;            /* rebuilt memory; dies after the call */
	struct binding bindings[CALL_MAX_BINDINGS];
	unsigned nbindings;
	struct trace_payload image; /* .buffer == 0: none */
	bool unavailable;           /* a host-to-device source was not recorded */
	const char *why_unavailable;
	bool memory_missing; /* a described input was not recorded */
	bool left_out;       /* a launch that faults here */
	bool stood_in;       /* a launch that was not made: its recorded results are there */
	const char *refused; /* why the call can't be issued, in arena or static */
	int64_t result;      /* live */
};

static inline uint64_t word(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}
/* dispatch.c: issues the rebuilt call in its context; c->result is set. */
void call_issue(struct engine *e, struct call *c);
/* args.c: false with c->refused set. */
bool call_rebuild(struct engine *e, struct call *c);
/* outs.c: learns handles; recorded value of scalar out-parameter p. */
void call_learn(struct engine *e, struct call *c);
bool call_recorded_out(struct engine *e, const struct call *c, unsigned p, uint64_t *value);
/* True when a query returned a handle or address that later calls may use and that is not known yet. */
bool call_returns_unknown_handle(struct engine *e, const struct call *c);
void call_forget_destroyed(struct engine *e, const struct call *c);
const struct api_memory *engine_memory(struct engine *e, int phase);
const char *call_why_not_replayed(const struct api_func *f); /* dispatch.c: never, on no target; NULL */
bool call_takes_image(const struct api_func *f);
bool call_takes_payload(const struct api_func *f);
int call_param_index(const struct api_func *f, const char *name); /* -1 */

/* ---- contexts.c --------------------------------------------------------- */

struct contexts {
	struct map threads; /* recorded thread -> index into stacks */
	struct context_stack *stacks;
	size_t nstacks;
	uint64_t current;     /* live context of the dispatcher; UINT64_MAX: unknown */
	struct map primaries; /* live device ordinal -> live primary context retained by us */
};
void contexts_free(struct contexts *c);
/* The recorded context that is current in the thread, 0 = none. */
uint64_t contexts_recorded(struct contexts *c, uint32_t thread);
/* Makes the live counterpart current. False: there is none. */
bool contexts_enter(struct engine *e, uint32_t thread);
/* Follows the recorded stack of contexts after a call that succeeded when recorded. */
void contexts_follow(struct engine *e, const struct call *c);
/* True for calls that do nothing but move contexts on and off a thread's stack: followed, never issued. */
bool contexts_is_stack_call(const struct api_func *f);
/* The stream that stands for a recorded thread's default stream in per-thread mode; 0 on failure. */
uint64_t contexts_thread_stream(struct engine *e, uint32_t thread);
uint64_t contexts_live(struct engine *e, uint64_t recorded);

/* ---- allocs.c, vmm.c ---------------------------------------------------- */

/* True when the call makes or frees memory: then it has been done, c->result is set. */
bool alloc_replay(struct engine *e, struct call *c);
/* A query that returns an address which later calls use. */
bool alloc_is_query(const struct api_func *f);
void allocs_forget_globals(struct engine *e, uint64_t owner);
bool vmm_place(struct engine *e, uint64_t base, uint64_t bytes);
void vmm_release(struct engine *e, uint64_t base, uint64_t bytes);

/* ---- modules.c, launches.c, transfers.c --------------------------------- */

bool module_is_load(const struct call *c);
void module_replay(struct engine *e, struct call *c);
void module_unloaded(struct engine *e,
		     uint64_t handle); /* recorded; its image goes when nobody has it loaded */
void module_free_images(struct engine *e);
/* From now on these bytes, which are copied, stand for a recorded image. */
void module_use_image(struct engine *e, uint64_t buffer, const void *data, size_t bytes);
/* links.c. True when it is a call of the linker: then it has been done, or refused. */
bool link_replay(struct engine *e, struct call *c);
/* Why kernels of the module or library of this row of the trace can't run, or NULL. */
const char *module_missing(struct engine *e, uint64_t id);

/* What it wrote when recorded is taken, as it is another's to make. False: the trace doesn't have it, or it is this one's. */
#define PROBE_OF_KERNEL 4 /* launches of each kernel are judged by an envelope, however many differ before */
#define PROBE_EXACT 16 /* of kernels in which nothing is open: for who looks into them */
bool launch_stands_in(struct engine *e, struct call *c);
void launch_replay(struct engine *e, struct call *c);

/* doubt.c. A launch that faults here and did not when recorded is left out of a replay from the start: what it
 * would have written is in doubt, and what was made of that. The rest is compared as ever. */
struct left_out {
	uint32_t process;
	uint64_t launch, kernel;
};
int doubt_load(struct engine *e, const struct left_out *v, size_t n);
bool doubt_leaves_out(struct engine *e, uint64_t call, uint64_t kernel);
void doubt_free(struct engine *e);
/* In a stream, what one launch makes wrong the next ones read. What differs in a range after a launch (0: after a copy)
 * is of its own making, or inherited: the launch it is inherited from, or 0. */
uint64_t doubt_inherited(struct engine *e, struct address_range *r, uint64_t launch, bool differs);
void doubt_carry(struct address_range *r, uint64_t address, uint64_t bytes, uint64_t wrong);
/* Follows the contents of memory: a launch with its recorded parameters, */
void doubt_launch(struct engine *e, const struct call *c, const struct trace_launch *l,
		  const struct trace_kernel *k, const uint8_t *params, size_t bytes);
/* a write to `bytes` at a recorded address of what depends on launch `doubt` (0: on none), */
void doubt_write(struct engine *e, uint64_t address, uint64_t bytes, uint64_t doubt);
/* a call that moves contents in a way that is not followed. */
void doubt_unknown(struct engine *e, const struct call *c);
/* What the contents of a range (NULL: of some memory) depend on; 0: nothing in doubt. */
uint64_t doubt_of(const struct engine *e, const struct address_range *r);
const char *doubt_note(struct engine *e, uint64_t launch); /* as a verdict's note; until the next call */

int transfers_bind(struct engine *e, struct call *c, struct diag *d);
uint64_t transfers_substitute(const struct call *c, uint64_t recorded, bool *found);
void transfers_patch(struct engine *e, struct call *c);
/* After the call: results that are there are checked, others kept until their stream is known to be done. */
void transfers_finish(struct engine *e, struct call *c);
void transfers_completed(struct engine *e, struct call *c); /* a wait ended: check what it waited for */
void transfers_drain(struct engine *e);
void transfers_abandon(struct engine *e);
void pending_free(struct pending *p);
void transfers_note_writes(struct engine *e, const struct call *c);
void transfers_host_writes(struct engine *e, const struct call *c);

/* captures.c: copies that were captured into graphs */
void captures_keep(struct engine *e, struct pending *p);      /* takes p */
void captures_follow(struct engine *e, const struct call *c); /* before e->capturing changes */
void captures_free(struct engine *e);

struct pending {
	struct pending *next;
	uint64_t call, live_stream, live_context;
	const char *func;
	struct binding *bindings;
	unsigned n;
	const char *not_made; /* why nothing filled its buffers, or NULL */
};

/* ---- check.c ------------------------------------------------------------ */

/* not_made: why the copy was not made, so that there is nothing to compare; NULL */
void check_copy(struct engine *e, uint64_t call, const char *func, struct binding *b, const char *not_made);
const char *check_kernel_name(struct engine *e, const struct call *c);
void check_launch_hashes(struct engine *e, struct call *c);

/* ---- sketches.c ---- */
struct sketch_range {
	uint64_t base, bytes;
};
/* Whether what a launch left in a range, `data`, is what the trace has a hash of: this one, or NULL: the one of its
 * chunks. text: how they differ, as far as the launch's sketch tells, or "". */
bool sketches_differ(struct engine *e, uint64_t launch, const struct sketch_range *r, const struct trace_hash *hash,
		     const uint8_t *data, char *text, size_t n);
const char *check_grade(struct engine *e, const struct compare_result *r, uint64_t doubt);
/* What may differ in a buffer that the kernel wrote, and, where that is a user's rule, its line; 0. */
const struct compare_limits *check_limits(struct engine *e, const char *kernel, const struct address_range *r,
					  unsigned *line);
const char *check_tolerance_note(unsigned line); /* until the next call */
const char *check_why_unverified(struct engine *e, uint64_t doubt);
void check_result(struct engine *e, struct call *c); /* live result against recorded */
/* A wait of the replayer's own: a fault is reported. True when result is an error. */
bool engine_sync_failed(struct engine *e, uint64_t call, int64_t result);
void engine_taint(struct engine *e, uint64_t call, const char *fmt, ...) DIAG_PRINTF(3, 4);
void engine_say(struct engine *e, uint64_t call, const char *severity, const char *fmt, ...)
	DIAG_PRINTF(4, 5);
bool call_has_effect(const struct call *c);
/* rebase.c: the same replay at two bases; a result that differs by the distance is a missed pointer. */
void rebase_result(struct engine *e, uint64_t call, const struct binding *b);
bool engine_read_device(struct engine *e, uint64_t live, void *dst, size_t bytes);

/* ---- written.c ---------------------------------------------------------- */

struct written {
	uint64_t base, bytes, buffer; /* recorded address; buffer of the trace */
};
/* Of a launch that was recorded; malloc'ed. */
/* What self-replays wrote, where it was something else (`enrich --self-replays`); as written_of. */
unsigned reruns_of(struct engine *e, uint64_t call, struct written **out);
unsigned written_of(struct engine *e, uint64_t call, struct written **out);
/* After a launch. True when the trace has what it wrote: then that was compared, or stands in for the launch. */
bool written_check(struct engine *e, struct call *c);
/* The recorded contents, in place of the launch. False: the trace does not have them. */
bool written_stand_in(struct engine *e, struct call *c);
/* Puts what stands in where it belongs, before call c looks at memory. */
void written_flush(struct engine *e, struct call *c);
/* It is said of the launch that nobody computed it. */
void written_injected(struct engine *e, struct call *c, const char *why, uint64_t kernel);
FILE *probe_file(const struct engine *e, uint64_t call); /* probe.c: to keep what it wrote; NULL with errno */

/* ---- excerpt_take.c ------------------------------------------------------ */

bool excerpt_wants(const struct engine *e, uint64_t call);
/* Around a launch that is wanted. */
void excerpt_before(struct engine *e, struct call *c, const struct trace_launch *l);
void excerpt_after(struct engine *e, struct call *c);
/* whole: the replay came to its end. Else, and where a launch could not be taken, no file is left. */
int excerpt_take_end(struct engine *e, bool whole, struct diag *d);

/* ---- shard.c ------------------------------------------------------------ */

/* The calls that are this replay's to judge, of an isolated one that is a shard, or a search for one line. */
int shard_plan(struct engine *e, struct diag *d);
bool shard_has(const struct engine *e, uint64_t call);
/* 0: none. */
uint64_t shard_keyframe_behind(struct engine *e, uint64_t call);
/* Before each call, and with the oldest one that still waits for its turn: what is behind is noted as done. True: no
 * launch from here on is this process's. */
bool shard_reaches(const struct engine *e, uint64_t call);
bool shard_enter(struct engine *e, uint64_t call, uint64_t waiting);
/* At the end, and early: all before this call is done. */
void shard_settle(struct engine *e, uint64_t before);

/* ---- result.c: the result database -------------------------------------- */

struct verdict {
	uint64_t call, launch, kernel, allocation;
	const char *kind; /* 'copy', 'hash', 'result', 'fault' */
	const char *func, *grade, *elem_type, *note, *kernel_name;
	uint64_t base, offset,
		bytes;          /* recorded device range, offset of the first element in the allocation */
	uint64_t address, live; /* of the first element: recorded, here */
	uint64_t inherited;     /* launch that made wrong what this one read; 0: not known */
	struct compare_result r;
	char want[48], got[48];
	const struct extension_fault *fault; /* NULL: none, or where it was is not known */
};
/* 0 when a result may be written there: nothing, an empty file, or an earlier result. The file named is never
 * the trace, nor anything else that the user would miss. */
int result_check_target(const char *path, struct diag *d);
int result_open(struct result_db **out, const char *path, bool create, struct diag *d);
void result_close(struct result_db *db);
void result_scope(struct result_db *db, uint32_t process, unsigned pass);
void result_mute(struct result_db *db); /* from now on only result_store writes */
/* Only what is of the calls that the engine's shard has is written. */
void result_of_shard(struct result_db *db, const struct engine *e);
void result_done(struct result_db *db, uint64_t first, uint64_t end); /* calls that are judged */
void result_watch(struct result_db *db, struct ledger_board *board);  /* differences are counted there */
/* Adds the rows of another result, of another shard of the same replay. */
int result_merge(struct result_db *db, const char *path, struct diag *d);
void result_meta(struct result_db *db, const char *key, const char *value);
/* "" where there is none. */
void result_meta_text(struct result_db *db, const char *key, char *out, size_t size);
/* session_result.c. What decides of a verdict: results of which one of these differs are not of one replay. The last has no
 * key. */
struct result_key {
	const char *key, *what; /* of meta; in a user's words */
};
extern const struct result_key result_keys[];
void result_count(struct result_db *db, const char *what, uint64_t n); /* replaces */
void result_verdict(struct result_db *db, const struct verdict *v);
void result_diagnostic(struct result_db *db, uint64_t call, const char *severity, const char *message);
void result_allocation(struct result_db *db, const struct address_range *r);
struct store_row {
	uint64_t verdict, launch;
	const char *how, *kernel_name, *text, *source, *note;
	uint32_t line, block[3], thread[3];
	bool has_place;
};
void result_store(struct result_db *db, const struct store_row *s);
/* Times of a launch that was repeated, in nanoseconds. */
struct timing_row {
	const struct trace_launch *launch;
	const char *kernel_name;
	unsigned n;
	uint64_t least, median, sum, most;
	bool restored, by_events;
};
void result_timing(struct result_db *db, const struct timing_row *t);
void result_flush(struct result_db *db);
struct sqlite3 *result_sqlite(struct result_db *db);

/* ---- the engine --------------------------------------------------------- */

struct counts {
	uint64_t calls, issued, skipped, nested, in_flight, foreign;
	uint64_t launches, launches_refused, launches_left_out, launches_injected, written, refused, captured,
		captured_alive, hashes, copies, faults, failed_skipped, result_differs;
};

/* The second replay, for the line that stored one element. */
struct blame_request {
	uint64_t verdict, live;   /* row; address of the element here */
	unsigned bytes;           /* of the element */
	uint64_t stop_at;         /* last call to issue */
	bool by_hash;             /* launch is the first after which a hash differed */
	uint64_t launch, address; /* as the trace names them, for the analysis */
};

struct repetition; /* repeat.h */

struct engine {
	const struct replay_options *opt;
	struct trace *trace;
	struct repetition *repetition; /* NULL: none yet */
	struct arena arena; /* lives as long as the engine */
	uint32_t process;
	unsigned pass; /* 1; 2 at the second base */
	struct driver drv;
	struct handles handles;
	struct addresses addresses;
	struct contexts contexts;
	struct result_db *out;
	struct counts counts;
	struct trace_memory *memory[2];
	struct api_memory memory_view[2];
	uint64_t memory_call[2];
	struct sqlite3_stmt *allocation_row; /* plan.c's query */
	uint64_t nallocations;               /* id of the last one */
	struct trace_module *module_rows;
	size_t nmodule_rows;
	struct map modules_by_id, modules_by_call; /* -> index into module_rows */
	struct plan_global *globals;               /* cuModuleGetGlobal and cuLibraryGetGlobal, recorded */
	size_t nglobals;
	struct map globals_by_address; /* -> index of the last one there */
	struct map missing_modules;    /* creating call -> index into reasons */
	char **reasons;
	size_t nreasons;
	struct map functions;        /* function row -> index into api_funcs, UINT64_MAX: none */
	struct map ptx_modules;      /* PTX buffer -> parsed module, 0 = it can't be */
	struct map writes_variables; /* kernel -> whether it may store to variables of its module */
	struct map reads_variables;  /* kernel -> whether it may read such as kernels of its module store to */
	struct map exact_kernels;    /* kernel -> whether the ISA leaves nothing open in it */
	struct map variable_writers; /* module -> last launch that may have written its variables */
	struct map images; /* trace buffer -> struct image_copy: drivers may go on reading what they loaded */
	struct map loaded; /* recorded module or library -> its image's buffer */
	struct pending *pending;
	size_t pending_bytes, npending;
	struct pending *captured; /* into a graph that has no handle yet */
	struct capture *captures;
	struct map graph_execs; /* recorded CUgraphExec -> struct capture */
	bool captures_overlap, captures_shared;
	unsigned capturing; /* streams in capture: nothing may be freed or checked */
	bool tainted;       /* something could not be replayed: differences prove nothing any more */
	char taint[256];
	bool dead; /* the context is gone after a fault */
	bool stop_at_fault,
		faulted; /* a new fault ends this run: the session begins another without its launch */
	bool one_by_one; /* the driver was told to wait for each launch */
	struct map left_out, left_out_kernels; /* launch; kernel -> launch from whose call on */
	uint64_t any_wrong, inherits; /* the last launch that something is wrong since; of what the one at hand reads */
	uint64_t any_doubt, variables_doubt;   /* a launch that something, a module's variable depends on */
	int64_t no_device;                     /* cuInit's error here: nothing can be replayed */
	int64_t met_early; /* recorded fault that a launch showed before the call that it was recorded at; 0: none */
	int64_t sticky; /* recorded error that stays until the context is gone */
	bool has_host_writes;
	uint64_t last_launch, last_kernel, launches_issued;
	struct call *scratch;                  /* the call at hand */
	uint64_t watched_launch, watched_call; /* of the last launch that stored the watched element */
	FILE *results;                         /* pass 1 writes, pass 2 reads along */
	struct vmm_granules *granules;
	unsigned vmm_failed;
	struct map reserved; /* granules mapped without access; reserve.c */
	uint64_t reserve_clashes;
	bool spaced; /* pass 2: an allocation of ours came first */
	const struct blame_request *blame;
	bool watching;
	struct written *written; /* stands in for launches, and is not yet in memory */
	size_t nwritten, written_capacity;
	bool unjudged;                   /* a launch of an isolated replay has no recorded results */
	uint64_t shard_first, shard_end; /* calls from first to before end */
	uint64_t keyframe; /* call that memory is known before, at or before the first launch that is wanted; 0: none */
	uint64_t next_keyframe, keyframe_at; /* to be put in place at that call, 0: none; that was put last */
	bool keyframe_has_variables; /* of modules */
	struct ledger_board *board;      /* NULL: nobody watches */
	const struct ledger *ledger;     /* of whom the chunks are; NULL: all are this replay's */
	unsigned worker;
	const struct ledger_range *chunk; /* the one that calls are in */
	struct ledger_range *unsettled;   /* chunks that were this process's, and are not yet noted as done */
	size_t nunsettled;
	bool interrupted;
	const struct map *probe_calls; /* only these launches are made, on the interpreter, and kept; NULL */
	struct taking *taking;         /* the excerpt that is being made; NULL */
	const struct visit *visit;     /* who looks at a launch; NULL */
	const char *probe_folder;      /* where what launches wrote is kept; NULL: nowhere */
	unsigned probe_run;
	unsigned nkept, nkept_exact; /* launches whose results were kept */
	struct map kept_of;          /* kernel -> how many of them */
	struct narrow_task *narrow; /* a launch that is logged or watched; NULL */
};

#define ENGINE_RESTART 1 /* engine_init: session.restart's reason */
int engine_init(struct engine *e, const char *driver_path, struct diag *d);
int engine_run(struct engine *e, struct diag *d);
void engine_free(struct engine *e);
void engine_write_counts(struct engine *e);

/* plan.c */
int plan_make(struct engine *e, struct diag *d);
void plan_free(struct engine *e);
const struct trace_module *plan_module_created(struct engine *e, uint64_t call);
const struct trace_module *plan_module(struct engine *e, uint64_t id);
/* Names and recorded addresses of the variables that the program asked for of the module that call loaded;
 * both arrays are malloc'ed, the names live as long as the engine. */
unsigned plan_globals_of(struct engine *e, uint64_t load_call, const char ***names, uint64_t **addresses);
const char *plan_global_name(struct engine *e, uint64_t address); /* NULL */
bool plan_context_device(struct engine *e, uint64_t recorded, uint64_t *device);
/* Row and kind of the allocation that the call made at that address; false: the trace has none. */
bool plan_allocation(struct engine *e, uint64_t call, uint64_t base, uint64_t *id, const char **kind);

/* session.c */
struct progress {
	enum { PROGRESS_NONE, PROGRESS_TERMINAL, PROGRESS_LINES } how;
	struct timespec start, last;
	const char *phase; /* "": launches are made; NULL: nothing is shown */
};
struct session {
	const struct replay_options *opt;
	char driver_path[4096];
	char result_path[4096];
	char own_driver_path[4096]; /* of our interpreter, whatever the target is */
	char probe_folder[4200];    /* "": results are not kept */
	char base_path[4200];       /* what an interrupted replay has judged; "": this one begins */
	bool result_is_temporary;
	bool in_front; /* this process shows progress, and ends the replay on a signal */
	struct progress progress;
	struct ledger *ledger; /* from the first process on */
	unsigned worker;       /* this process's number in the ledger */
	uint64_t last_call;
	int interrupted; /* by this signal */
	uint64_t launches, launches_done, launches_before; /* before: judged before it was interrupted */
	bool restart;              /* recorded addresses are taken; without randomisation they may be free */
	unsigned ndevices;         /* that the program used */
	struct left_out *left_out; /* launches that faulted in this replay */
	size_t nleft_out;
	struct diag error;
	int status; /* enum replay_exit */
};
int session_run(struct session *s);

/* injection.c: before and after */
int injection_check(struct session *s);
void injection_note(struct session *s);

/* report*.c: from the result database, to stdout. Returns an enum replay_exit. */
int report_status(struct sqlite3 *db);
int64_t report_tolerated(struct sqlite3 *db); /* results that differ within the limits */
void report_text(struct sqlite3 *db, FILE *out, bool verbose);
void report_json(struct sqlite3 *db, FILE *out);
void report_reasons(struct sqlite3 *db, FILE *out); /* why nothing can be said */

/* reserve.c */
int reserve_plan(struct engine *e);
void reserve_release(struct engine *e, uint64_t base, uint64_t bytes);
void reserve_drop(struct engine *e); /* all that is left: the driver takes no wishes */

/* recorded_ptx.c */
struct ptx_func *recorded_ptx_func(struct engine *e, const struct trace_kernel *k, struct ptx_module **m);
void recorded_ptx_note_launch(struct engine *e, uint64_t call, const struct trace_kernel *k);
void recorded_ptx_describe_variable(struct engine *e, struct address_range *r);
/* It, or a function of its module, reads textures or surfaces. */
bool recorded_ptx_uses_textures(struct engine *e, const struct trace_kernel *k);
/* The kernel's results are the same bits wherever it runs right. False: not known. */
bool recorded_ptx_writes_variables(struct engine *e, const struct trace_kernel *k);
bool recorded_ptx_reads_written_variables(struct engine *e, const struct trace_kernel *k);
bool recorded_ptx_is_exact(struct engine *e, uint64_t kernel);
void recorded_ptx_free(struct engine *e);

/* blame.c: after a run that stopped at the element's last launch or copy. */
void blame_arm(struct engine *e);
void blame_note_launch(struct engine *e, uint64_t call); /* which has ended */
void blame_collect(struct engine *e);

#endif
