/* SPDX-License-Identifier: Apache-2.0
 *
 * recorder: the inside of the recording libcuda.so.1. It lives in the traced program, so: libc only, no exit,
 * no print, no malloc, no lock held across a call into the real driver, errno preserved. entry.h is the
 * hot path; the files here do what is not hot or not the same for every function:
 *   process.c             connection to the collector, session page, fork
 *   environment.c         what `cutrace record` told it
 *   thread.c              rings
 *   driver.c              the real driver and rec_real[]
 *   memory.c              host memory of a call
 *   records.c             payload pieces, diagnostics
 *   hooks.c               functions with a meaning of their own
 *   copies.c, staging.c   host/device copies
 *   images.c              code images (steer.c: without machine code)
 *   launch.c, layouts.c   kernel parameters
 *   check.c, ranges.c, check_device.c    what launches wrote
 *   graphs.c              those of graphs
 *   allocations.c         the program's device memory
 *   range.c               launches and copies that are left out
 *   streams.c, contexts.c, devices.c    what no call says about them
 *   procs.c, thunk.c, thunk_entry.S, export_tables.c    functions that no description knows
 */
#ifndef CUTRACE_INTERPOSE_RECORDER_H
#define CUTRACE_INTERPOSE_RECORDER_H

#include <pthread.h>
#include <stddef.h>

#include "api/api.h"
#define CUDA_ABI_NO_MAPPING
#include "api/gen/api_ids.h"
#include "api/gen/cuda_abi.h"
#include "base/sketch.h"
#include "interpose/entry.h"

#pragma GCC visibility push(hidden)

/* ---- environment.c ------------------------------------------------------- */

/* A variable's value, also after clearenv(). False: there is none, or it is too long. */
bool rec_environment(const char *name, char *out, size_t size);

/* ---- process.c ----------------------------------------------------------- */

/* The session page, or NULL when this process isn't recorded (no collector, or it is gone). Connects at first
 * use. */
struct ring_session *rec_session(void);
bool rec_collector_lives(void);
extern bool rec_off;
/* Recording is over for this process: all calls pass through from now on. */
void rec_stop(void);
/* Gives the collector a ring; false when it can't take it. The descriptor stays the caller's. */
bool rec_announce_ring(int memfd);
/* A diagnostic, where there is no ring to put one in. */
void rec_say(const char *text);
/* Asks for a kernel's parameters. False when there is no answer. Everything this thread did is published. */
bool rec_ask_params(uint64_t function, uint64_t seq, struct ring_params *answer);
/* Asks which bytes a launch may write. */
bool rec_ask_written(struct ring_ask_written *ask, struct ring_written *answer);
/* A counter that is unique in this process: payload ids. */
uint64_t rec_unique(void);
extern bool rec_checking; /* --check */
extern bool rec_looking;  /* that, or at kernels without PTX: launches may be looked at */
extern bool rec_no_data;  /* --payloads=none */

/* Around what a signal handler that calls the driver must not interrupt: locks, calls of the recorder's own. */
void rec_signals_block(void);
void rec_signals_restore(void);

/* Locks of tables. None is held across a call into the driver. A forked child finds them free, whoever held
 * them in its parent. */
enum rec_lock {
	REC_LOCK_RINGS,
	REC_LOCK_LAYOUTS,
	REC_LOCK_STAGES,
	REC_LOCK_ALLOCATIONS,
	REC_LOCK_RANGES,
	REC_LOCK_TABLES,
	REC_LOCK_GRAPHS,
	REC_LOCK_THUNKS,
	REC_LOCKS
};
extern pthread_mutex_t rec_locks[REC_LOCKS];
static inline void rec_lock(enum rec_lock which)
{
	rec_signals_block();
	pthread_mutex_lock(&rec_locks[which]);
}
static inline void rec_unlock(enum rec_lock which)
{
	pthread_mutex_unlock(&rec_locks[which]);
	rec_signals_restore();
}

/* ---- thread.c ------------------------------------------------------------- */

struct rec_thread *rec_thread_get(void);
static inline struct rec_thread *rec_thread_now(void)
{
	return REC_LIKELY(rec_self != NULL) ? rec_self : rec_thread_get();
}
void rec_threads_forget(void); /* in a forked child */

/* Around calls that the recorder itself makes into the driver: what those call is not recorded. */
extern __thread unsigned rec_own_depth __attribute__((tls_model("initial-exec")));
/* The ring that is set aside meanwhile. */
extern __thread struct rec_thread *rec_aside __attribute__((tls_model("initial-exec")));
static inline struct rec_thread *rec_own_begin(void)
{
	struct rec_thread *t;

	rec_signals_block();
	t = rec_self;
	if (rec_own_depth++ == 0)
		rec_aside = t;
	rec_self = NULL;
	return t;
}
static inline void rec_own_end(struct rec_thread *t)
{
	rec_own_depth--;
	rec_self = t;
	rec_signals_restore();
}
static inline bool rec_own(void)
{
	return rec_own_depth != 0;
}
/* A line that the driver wrote to stderr, in the trace. */
void rec_driver_says(uint64_t call, const char *line);

/* ---- driver.c ------------------------------------------------------------- */

/* Loads the real driver and fills rec_real[]; idempotent. */
void rec_driver_load(void);
/* The real driver's function; when it has none, one that answers CUDA_ERROR_NOT_SUPPORTED. */
extern void *rec_true_or_absent[];
static inline void *rec_true(unsigned id)
{
	return rec_true_or_absent[id];
}
bool rec_driver_has(unsigned id);
extern bool rec_driver_is_ours; /* cutrace's own */
/* Which known function the driver's address `p` is: prefers one whose base name is `name`. API_NONE when
 * none. */
unsigned rec_driver_find(const void *p, const char *name);
/* The driver has this function too, though it exports it nowhere. */
void rec_driver_adopt(unsigned id, void *p);
/* rec_true as the type of the function itself. */
#define REAL(function) ((__typeof__(&function))rec_true(API_ID_##function))

/* ---- records.c ------------------------------------------------------------- */

void rec_diag(int severity, uint64_t seq, const char *text);
void rec_diag2(int severity, uint64_t seq, const char *text, const char *name);

struct rec_payload {
	uint64_t seq;
	enum ring_payload_kind kind;
	int param;
	uint64_t address, device_address;
	uint64_t width, height, depth;
	/* layout of the source: bytes from row to row and from slice to slice; 0 = packed */
	uint64_t pitch, slice;
	uint64_t offset; /* what rec_payload_piece is given begins here in the whole */
};
/* Bytes in one row, at `host`. */
void rec_payload_linear(uint64_t seq, enum ring_payload_kind kind, int param, const void *host,
			uint64_t device, size_t bytes);
/* Puts width x height x depth bytes at `data` into the ring. */
void rec_payload(const struct rec_payload *p, const void *data);
/* In pieces of the caller's choosing: `total` bytes in all. */
void rec_payload_piece(const struct rec_payload *p, uint64_t id, uint64_t total, unsigned flags,
		       const void *data, size_t bytes);
void rec_unavailable(const struct rec_payload *p, const char *why);
/* Bytes that will come later, from another thread (staging.c): says so before they can come. Returns their
 * id.
 */
uint64_t rec_announce(const struct rec_payload *p);
void rec_announced_unavailable(const struct rec_payload *p, uint64_t id, const char *why);
void rec_stream_record(uint64_t seq, uint64_t stream, uint64_t context);
void rec_kernel_record(uint64_t function, uint64_t module, const char *name);
void rec_hash_record(uint64_t seq, uint64_t base, uint64_t bytes, const uint8_t hash[16]);
/* hash: of the chunks' hashes, or NULL. */
void rec_sketch_record(uint64_t seq, uint64_t base, const struct sketch *s, const uint8_t *hash);
void rec_function_record(uint32_t id, const char *name);
void rec_device_record(const struct ring_device *d);

/* ---- hooks.c ---------------------------------------------------------------- */

struct rec_hook {
	uint16_t id;
	void *hook;
};
/* Puts the hooks into rec_real[] in place of the functions that the driver has. */
void rec_hooks_install(void);
void rec_option_hooks_install(void); /* those that only options need */
extern const struct rec_hook rec_copy_hooks[], rec_image_hooks[], rec_launch_hooks[], rec_allocation_hooks[],
	rec_as_hooks[], rec_proc_hooks[], rec_stream_hooks[], rec_context_hooks[], rec_device_hooks[],
	rec_graph_hooks[];
extern const unsigned rec_ngraph_hooks, rec_nas_hooks, rec_ncopy_hooks, rec_nimage_hooks, rec_nlaunch_hooks,
	rec_nallocation_hooks, rec_nproc_hooks, rec_nstream_hooks, rec_ncontext_hooks, rec_ndevice_hooks;
/* Number of the call that the hook is part of; 0 when it passes through unrecorded. */
static inline uint64_t rec_current(void)
{
	return rec_self ? rec_self->seq : 0;
}

/* ---- staging.c -------------------------------------------------------------- */

/* Has the device range copied out on `stream` behind what is enqueued there, and published as payload of
 * p->seq. */
void rec_stage_linear(const struct rec_payload *p, CUdeviceptr device, size_t bytes, CUstream stream,
		      bool per_thread);
/* The same for any source that a 3D copy can have; the destination is filled in here. */
void rec_stage_3d(const struct rec_payload *p, const CUDA_MEMCPY3D *copy, CUstream stream, bool per_thread);
bool rec_capturing(CUstream stream, bool per_thread);
/* The context is about to end: its page-locked memory is not used again. */
void rec_stages_drop(CUcontext context);

/* ---- contexts.c ------------------------------------------------------------- */

/* After a call that made something in the current context; hands the result through. */
CUresult rec_context_record(uint64_t seq, CUresult r);
/* Hooks that allocations.c adds to. */
CUresult rec_hook_cuMemAlloc_v2(CUdeviceptr *p, size_t n);
CUresult rec_hook_cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t width, size_t height,
				     unsigned element);
CUresult rec_hook_cuMemAllocManaged(CUdeviceptr *p, size_t n, unsigned flags);
CUresult rec_hook_cuMemAllocHost_v2(void **p, size_t n);
CUresult rec_hook_cuMemHostAlloc(void **p, size_t n, unsigned flags);
CUresult rec_hook_cuMemHostRegister_v2(void *p, size_t n, unsigned flags);

/* ---- layouts.c --------------------------------------------------------------- */

#define REC_MAX_PARAMS 256
/* PTX ISA, "Parameter State Space": kernel parameters end at 32764 bytes. */
#define REC_PARAM_BYTES_MAX 32764u
struct rec_layout {
	uint64_t function;
	uint32_t nparams, total;
	bool known, writes_known, writes_unknown;
	uint8_t checked; /* enum ring_checked */
	bool gaps;       /* bytes of the block that belong to no parameter */
	struct {
		uint16_t offset, bytes; /* parameter blocks end at 32764 bytes */
		bool is_pointer, is_written;
	} p[];
};
/* Never NULL unless memory ran out. Valid until rec_layouts_flush of an unload. */
const struct rec_layout *rec_layout(uint64_t function, uint64_t seq);
void rec_layouts_flush(void);
/* Another one after each flush: what is known by function handles is void. */
uint64_t rec_layouts_generation(void);

/* ---- allocations.c -------------------------------------------------------------- */

struct rec_allocation {
	uint64_t base, bytes;
	CUcontext context; /* that it ends with, or NULL */
	const void *host;  /* page-locked memory; NULL: a device's */
};
/* A device's, that holds the address. */
bool rec_allocation_find(uint64_t address, struct rec_allocation *out);
/* The i-th in order of addresses; the table may change between two calls. */
bool rec_allocation_at(size_t i, struct rec_allocation *out);
/* A device's, the first one that ends behind the address. */
bool rec_allocation_from(uint64_t address, struct rec_allocation *out);
void rec_allocations_end(CUcontext context);

/* ---- ranges.c --------------------------------------------------------------------- */

/* A launch that is looked at. */
struct rec_checked {
	uint64_t seq, function;
	const struct rec_layout *layout;
	const uint8_t *params; /* NULL: not known */
	uint32_t bytes;
	uint32_t grid[3], block[3]; /* grid[0] = 0: not known */
	CUstream stream;
	bool per_thread;
};
struct rec_range {
	uint64_t base, bytes;
	uint8_t type; /* enum sketch_type, of what is stored there */
};
#define REC_MAX_RANGES 512
/* What it may write, in order, without overlaps. False: there are more than that many, or nothing is known: any
 * allocation. */
bool rec_ranges(const struct rec_checked *c, struct rec_range *r, unsigned *n);
/* Adds to such a list; false: there are too many. */
bool rec_ranges_join(struct rec_range *to, unsigned *n, const struct rec_range *more, unsigned m);
/* All allocations; false when there are more. */
bool rec_ranges_of_all(struct rec_range *r, unsigned *n);

/* ---- check.c ------------------------------------------------------------------------ */

/* From before a launch that is looked at until behind it. */
struct rec_look;
struct rec_look *rec_look_new(void); /* NULL without memory */
/* Room for its parameters, packed. */
uint8_t *rec_look_params(struct rec_look *l);
void rec_look_begin(struct rec_look *l, const struct rec_checked *c);
/* The same in parts, for several kernels at once: `c` says which call, and on which stream. */
void rec_look_start(struct rec_look *l, const struct rec_checked *c, bool contents);
void rec_look_add(struct rec_look *l, const struct rec_checked *kernel);
void rec_look_add_allocation(struct rec_look *l, uint64_t address); /* that holds the address */
void rec_look_add_all(struct rec_look *l);
void rec_look_go(struct rec_look *l);
/* Waits for the launch and records what it wrote; the look is gone. */
void rec_look_end(struct rec_look *l, bool launched);

/* ---- launch.c ------------------------------------------------------------------------- */

/* A parameter block as a launch would have it, into REC_PARAM_BYTES_MAX + 8 bytes; false: not known. */
bool rec_params_pack(uint8_t *to, const struct rec_layout *layout, void **params, void **extra,
		     uint32_t *bytes);
/* One more launch, before it: takes a keyframe if one is due. Whether it is to be looked at; checked: enum ring_checked. */
bool rec_launch_is_chosen(unsigned checked, uint64_t seq, CUstream stream, bool per_thread);

/* ---- keyframe.c ----------------------------------------------------------------------- */

extern uint64_t rec_keyframe_every;
extern bool rec_keyframes; /* --keyframe */
/* Once for each launch. */
bool rec_keyframe_is_due(void);
/* All memory as it is now; before the launch that is call `seq`. */
void rec_keyframe(uint64_t seq, CUstream stream, bool per_thread);

/* ---- range.c ------------------------------------------------------------------------- */

extern bool rec_ranged; /* --launches */
void rec_range_start(void);
void rec_range_forget(void); /* in a forked child */
/* Once for each call: whether it passes through unrecorded. */
bool rec_range_omits(unsigned func);
bool rec_range_outside(void);
/* Once for each range of the process. */
bool rec_range_begins(void);

/* ---- check_device.c ------------------------------------------------------------------- */

extern bool rec_check_on_device;
struct rec_device;
/* The recorder's kernels in the current context, for this thread alone until closed, with room for results of that many
 * chunks; NULL: they can't be had. */
struct rec_device *rec_device_open(uint64_t seq, uint64_t chunks, CUstream stream, bool per_thread);
void rec_device_close(struct rec_device *d);
/* Has a range hashed, its numbers too, on that stream; results from chunk `first` on. */
bool rec_device_enqueue(struct rec_device *d, const struct rec_range *r, uint64_t first, bool numbers,
			CUstream stream, bool per_thread);
bool rec_device_results(struct rec_device *d, uint64_t first, uint64_t n, struct sketch_chunk *to);
void rec_device_context_ended(CUcontext context);

/* ---- thunk.c -------------------------------------------------------------------- */

/* What is known about a function behind a thunk. */
struct rec_thunk_traits {
	int image_param; /* index of the integer argument that points to a code image, or -1 */
	int out_param;   /* integer argument through which a handle is returned, or -1 */
	bool is_void;    /* what is in rax afterwards is nothing */
};
/* An address that records calls of `real` under `name` with their registers. The same pair gives the same
 * address. Returns real itself when no thunk can be made. */
void *rec_thunk(const char *name, void *real, const struct rec_thunk_traits *traits);
/* At the end of a thread. */
void rec_returns_free(void);

/* ---- images.c ------------------------------------------------------------------- */

void rec_image(uint64_t seq, int param, const void *image);

/* ---- steer.c ----------------------------------------------------------------------- */

extern unsigned rec_as_cc;     /* --as; 0: programs are told the truth */
extern bool rec_reference_ptx; /* --reference ptx */
struct rec_steered {
	void *pages;
	size_t bytes;
};
/* What the driver is given in place of a code image: the same, or one without machine code, until rec_steer_done. */
const void *rec_steer_image(uint64_t seq, const void *image, struct rec_steered *s);
/* The same for what lies in a file, or is handed to the linker, of `bytes` bytes; NULL: it stays as it is. */
const void *rec_steer_bytes(uint64_t seq, const void *data, size_t bytes, struct rec_steered *s);
const void *rec_steer_link(uint64_t seq, CUjitInputType type, const void *data, size_t bytes,
			   struct rec_steered *s);
void rec_steer_done(struct rec_steered *s);

/* ---- export_tables.c -------------------------------------------------------------- */

void rec_export_table(const CUuuid *uuid, const void *table);

/* ---- memory for the recorder's own tables ------------------------------------------ */

/* Zeroed pages from the system, never from the program's malloc. NULL when there are none. */
void *rec_pages(size_t bytes);
void rec_pages_free(void *p, size_t bytes);

#pragma GCC visibility pop
#endif
