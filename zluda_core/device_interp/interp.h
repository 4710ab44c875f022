/* SPDX-License-Identifier: Apache-2.0
 *
 * device_interp: the reference executor. It decodes a kernel once into an array
 * of `struct xinst` (a handler, operand positions, immediates) and runs blocks
 * of 32-lane warps over it, every access checked.
 *
 * This header is the inside of the device: state of devices, modules, programs,
 * grids, blocks, warps. Nothing outside this folder includes it; the outside
 * sees `device_interp` of zluda_core/device.h only.
 *
 * Layout of a register: one cell per IR slot, structure of arrays: 32 lanes of
 * the slot's width one after another. A predicate is one 32-bit word, a bit a
 * lane. A frame of cells belongs to one activation of a function.
 *
 * Divergence: a warp is a set of fragments (pc, mask, frame). There is no
 * reconvergence stack. One fragment runs; at a join point (post-dominator of a
 * branch) it parks while others can still run, and fragments that meet at one pc
 * and frame merge. A fragment that has used its slice lets the others go on,
 * parked ones too, so a lane that spins can't starve the one it waits for.
 */
#ifndef CUTRACE_DEVICE_INTERP_H
#define CUTRACE_DEVICE_INTERP_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "zluda_core/device.h"

#define LANES       32u
#define FULL_MASK   0xffffffffu
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Generic address windows. Bit 47 is set and bits above are clear: no x86-64 user pointer and no address of
 * the device window looks like that, and they fit programs that pack pointers into 48 bits. */
#define WINDOW_BYTES      (1ull << 32)
#define WINDOW_SHARED     0x800100000000ull
#define WINDOW_LOCAL      0x800200000000ull
#define WINDOW_PARAM      0x800300000000ull
#define WINDOW_CODE       0x801000000000ull /* function addresses: module number << 24 | function index << 4 */
#define WINDOW_CODE_BYTES (1ull << 36)

struct warp;
struct block;
struct xinst;
struct interp_device;
struct debugger;
struct debug_grid;

/* Executes one instruction for the lanes of w->exec. Returns the next instruction, or NULL when the fragment
 * can't go on (w->stop says why). */
typedef const struct xinst *(*exec_fn)(struct warp *w, const struct xinst *i);

/* Operand positions (o[]): byte offset of a cell in the frame, or with OPERAND_POOL set in the program's
 * constants. */
#define OPERAND_POOL 0x80000000u
#define OPERAND_NONE UINT32_MAX

#define XINST_OPERANDS 10
struct xinst {
	exec_fn fn;
	uint32_t o[XINST_OPERANDS]; /* destinations, then sources */
	uint32_t u;                 /* small immediate of the handler */
	uint32_t index;             /* instruction of the function: line, text */
	int64_t imm;                /* address offset, immediate or pointer to a side structure */
};

/* One function as decoded for one kernel. */
struct xcode {
	struct program *program;
	const struct ptx_func *func;
	uint32_t func_index;
	struct xinst *insts;
	uint32_t ninsts, cap;
	uint32_t frame_bytes; /* of registers */
	uint32_t local_bytes; /* of a lane's stack: variables, parameters of calls, own parameters, results */
	uint32_t call_offset, param_offset, ret_offset; /* in that */
	uint32_t *slot_offset;                          /* cell of each IR slot */
	struct check_site **sites; /* checked mode: by instruction, NULL where nothing is accessed */
	uint32_t nsites;
	uint8_t *begins; /* under a debugger: whether a PTX instruction begins there */
	uint8_t *stops;  /* by PTX instruction: whether it begins somewhere */
	uint64_t chain;  /* stack bytes of it and its deepest callee, once known */
};

/* A value passed to or from a call: from a cell or from the lane's stack, to a cell or to the stack. */
struct xarg {
	uint32_t cell;        /* position in the caller, OPERAND_NONE = in memory */
	uint32_t offset;      /* caller's stack offset */
	uint32_t callee_cell; /* cell in the callee's frame, OPERAND_NONE = in memory */
	uint32_t callee_offset;
	uint32_t bytes;
};

struct xcall {
	struct xcode *target; /* NULL: indirect */
	uint32_t address;     /* cell of the address when indirect */
	uint32_t nargs, nrets;
	struct xarg *args, *rets;
	const char *name;
};

struct xtable { /* brx.idx */
	uint32_t n;
	uint32_t *pcs;
};

struct pool_entry {
	uint64_t lo, hi;
	uint32_t offset;
	uint8_t bits;
	uint32_t next; /* in its hash bucket, from 1 */
};

/* A kernel with all it calls, decoded. Immutable once made. */
struct program {
	struct arena arena;
	struct dev_module *module;
	const struct ptx_func *kernel;
	struct xcode *entry;
	struct xcode **codes; /* by function index, NULL = not part of it */
	uint8_t *pool;        /* constants, one cell each */
	uint32_t pool_bytes, pool_cap;
	struct pool_entry *entries;
	uint32_t nentries, cap_entries;
	uint32_t static_shared; /* bytes; dynamic shared memory starts here */
	uint32_t stack_bytes;   /* per lane */
	uint64_t generation;    /* of the controls that it was decoded with */
	struct program *next;   /* older variants of the kernel */
};

struct dev_module {
	struct interp_device *dev;
	struct ptx_module *ptx;
	uint64_t *symbol_addr;
	uint32_t nsymbols, number;
	struct dev_kernel *kernels;
};

struct dev_kernel {
	struct dev_kernel *next;
	struct dev_module *module;
	struct ptx_func *func;
	struct program *program;
	struct program *
		variants; /* decoded with a fault to inject, or with fused products and sums; the newest first */
	struct diag error;
	int status;
};

/* memory_map.c
 * ------------------------------------------------------------------------------------------------ */
struct dev_mem {
	uint8_t *host;
	uint64_t bytes;
	bool imported;
};

struct mapping {
	uint64_t base, end;
	uint8_t *host;
	bool adjacent;
};

/* All mappings of a moment: the root of a tree whose nodes don't change. NULL = none. */
struct map_node {
	struct mapping m;
	uint64_t priority;
	struct map_node *left, *right;
	struct map_node *next_made, *next_replaced; /* of the change that is being made */
};

/* Where an executing thread is, for unmap to wait for: it holds nodes of roots since epoch. */
struct map_reader {
	struct map_reader *next;
	atomic_uint_fast64_t epoch; /* UINT64_MAX = holds nothing */
};

struct memory_map {
	pthread_mutex_t lock;       /* writers, and the list of readers */
	pthread_rwlock_t host_lock; /* host-side reads and writes against unmap */
	_Atomic(struct map_node *) current;
	atomic_uint_fast64_t generation;
	struct map_reader *readers;
};

#define TLB_ENTRIES 64
struct tlb {
	uint64_t base, end;
	uint8_t *host;
};

int memory_map_init(struct memory_map *map, struct diag *d);
void memory_map_destroy(struct memory_map *map);
int memory_map_add(struct memory_map *map, uint64_t addr, uint64_t bytes, uint8_t *host, bool adjacent,
		   struct diag *d);
int memory_map_remove(struct memory_map *map, uint64_t addr, uint64_t bytes, struct diag *d);
const struct mapping *map_find(const struct map_node *root, uint64_t addr);
const struct mapping *map_nearest(const struct map_node *root, uint64_t addr);
void map_reader_add(struct memory_map *map, struct map_reader *r);
void map_reader_remove(struct memory_map *map, struct map_reader *r);
/* Host pointer of a range for host-side copies: piecewise over adjacent mappings. fn returns 0 to go on. */
int memory_map_walk(struct memory_map *map, uint64_t addr, uint64_t bytes,
		    int (*fn)(void *ctx, uint8_t *host, uint64_t n), void *ctx, struct diag *d);

/* A thread that runs blocks. */
struct worker {
	struct interp_device *dev;
	struct map_reader reader;
	uint64_t generation; /* of the mappings the tlb was filled from */
	struct map_node *mappings;
	struct tlb tlb[TLB_ENTRIES];
};
void worker_refresh(struct worker *k); /* takes the newest mappings; called between slices */
void worker_pause(struct worker *k);   /* holds nothing until the next refresh */

/* Warps
 * ------------------------------------------------------------------------------------------------------- */
struct frame {
	uint8_t *regs;
	struct frame *parent;
	const struct xcode *code;
	const struct xinst *call; /* the call in the parent; the next one is the return address */
	uint32_t live;            /* lanes in it */
	uint32_t local_base;      /* in each lane's stack */
	uint32_t depth;
	uint32_t cap; /* bytes of regs */
	struct frame *next_free;
};

enum frag_state { FRAG_FREE, FRAG_RUN, FRAG_PARKED, FRAG_COLLECTIVE, FRAG_BARRIER };

struct fragment {
	const struct xinst *pc;
	struct frame *frame;
	uint32_t mask;
	uint8_t state;
	bool boosted;     /* let go on by fairness: passes join points */
	uint8_t barrier;  /* FRAG_BARRIER: number */
	uint32_t members; /* FRAG_COLLECTIVE: member mask */
	bool retry;       /* FRAG_BARRIER: arrived while its last arrival still counts; tries again */
	uint64_t last_run;
};

enum warp_stop { STOP_NONE, STOP_SWITCH, STOP_FAULT };

/* Operands of a collective operation, gathered from its participants. */
struct collective {
	union {
		uint32_t a[LANES];
		uint64_t a64[LANES];
	};
	uint32_t b[LANES], c[LANES];
	union {
		uint32_t d[LANES];
		uint64_t d64[LANES];
	};
	uint32_t p; /* predicate in / out */
};

struct __attribute__((aligned(64))) warp {
	/* hot */
	uint8_t *base[2]; /* frame cells, pool */
	uint32_t mask, exec;
	int64_t slice_length;
	int64_t left; /* instructions (and spin costs) until the fragment's slice ends */
	struct worker *worker;
	struct block *block;
	struct fragment *cur;
	struct frame *frame;
	uint8_t *local; /* lanes' stacks: lane * local_stride */
	uint32_t local_stride, local_base;
	bool watch; /* stores must be compared with the watched range */
	/* warm */
	enum warp_stop stop;
	uint32_t nfrags;
	uint32_t number; /* in the block */
	uint32_t exited; /* lanes that are gone or never were */
	int64_t slice_used;
	int64_t spin_units; /* of `left` that were not instructions */
	uint64_t steps;     /* under a debugger: PTX instructions begun */
	uint64_t clock;
	struct fragment frags[LANES];
	struct frame *free_frames;
	uint32_t tids[3][LANES];
	uint32_t dynamic[LANES]; /* where what alloca gave begins in each stack; it grows downwards */
	uint32_t dynamic_floor;  /* lowest of them: frames end below */
};

#define NAMED_BARRIERS  16
#define BARRIER_CLUSTER 16 /* of the cluster, which has one block */
#define BARRIERS        17
struct barrier {
	uint32_t *arrived;      /* lanes, per warp */
	uint32_t expected;      /* threads; 0 = all of the block */
	uint32_t trues, falses; /* of bar.red: threads by predicate */
	bool in_use;
};

struct block {
	struct grid *grid;
	struct block *next;
	uint32_t index[3];
	uint64_t linear;
	uint8_t *shared;
	uint32_t shared_bytes;
	uint32_t nwarps, nthreads, warps_left;
	struct warp *warps;
	uint32_t *arrived_store;
	struct barrier barriers[BARRIERS];
	struct worker *worker; /* that runs it now */
	uint32_t next_warp;
	struct check_block *check; /* check.h; NULL when off */
};

/* One launch. */
struct grid {
	struct interp_device *dev;
	uint64_t chance;         /* order=seed:N: state of the generator; 0: blocks and warps in order */
	uint64_t stride, offset; /* of the blocks' order then */
	struct grid *next;
	const struct program *program;
	const struct dev_launch *launch;
	uint8_t *params; /* padded copy */
	uint64_t total_blocks;
	uint32_t nthreads;
	uint64_t workspace; /* cooperative: guest address of the grid's barrier words */
	pthread_mutex_t lock;
	pthread_cond_t idle;
	uint64_t next_block;
	uint32_t resident, resident_max, users;
	uint32_t turns_in_vain; /* of blocks that were suspended, since one ended */
	struct block *suspended, **suspended_tail;
	struct block *spare; /* finished blocks' storage, to be used again */
	uint64_t finished;
	uint32_t running;    /* blocks being run now */
	bool offered;        /* to the pool */
	atomic_bool stopped; /* fault or time-out */
	struct dev_fault *fault;
	bool has_fault;
	uint64_t deadline_ns;
	atomic_uint_fast64_t instructions;
	bool watch;
	struct check_grid *check; /* check.h; NULL when off */
	struct debug_grid *debug; /* debug.h; NULL when off */
};

/* Device
 * ------------------------------------------------------------------------------------------------------- */
struct inject_spec {
	char kernel[4096]; /* mangled names are long */
	uint32_t line, bit;
	uint64_t block;
	uint32_t thread;
	bool active;
};

/* Which of the products and sums that may be fused are. */
struct contraction_mode {
	enum { CONTRACT_NONE, CONTRACT_ALL, CONTRACT_SEEDED } which;
	uint64_t seed;
};

/* What a kernel is decoded with. */
struct program_variant {
	const struct inject_spec *inject; /* NULL: none */
	struct contraction_mode contraction;
};

struct watch_state {
	pthread_mutex_t lock;
	uint64_t addr, bytes;
	bool active, hit;
	struct dev_watch_hit last;
};

struct interp_device {
	struct dev_host host;
	unsigned ordinal;
	uint32_t cc_major, cc_minor, sm_count;
	uint32_t nworkers;
	bool deterministic, simd;
	bool approx_seeded; /* spread.h */
	uint64_t approx_seed;
	bool order_seeded; /* blocks and warps take turns by chance */
	uint64_t order_seed;
	bool tensor_seeded; /* sums of matrix products as matrix_sum.c makes them */
	uint64_t tensor_seed;
	uint32_t watchdog_ms;
	uint32_t stack_limit;
	uint64_t total_bytes;
	struct memory_map map;
	pthread_mutex_t code_lock;
	uint32_t next_module;
	struct inject_spec inject;
	struct contraction_mode contraction;
	uint64_t variant_generation; /* counts changes of these two */
	atomic_uint_fast64_t inject_hits;
	struct watch_state watch;
	_Atomic(struct dev_texture *) textures; /* DEV_TEXTURES of them once one was set */
	struct checker *checker;                /* check.h; NULL when off */
	bool check_error;
	const struct debugger *debugger; /* that waits for the next launch; NULL */
	/* pool of threads (grid.c) */
	pthread_mutex_t pool_lock;
	pthread_cond_t pool_wake;
	struct grid *grids;
	pthread_t *threads;
	uint32_t nthreads;
	bool closing;
	atomic_uint_fast64_t next_workspace;
	atomic_uint_fast64_t instructions; /* of all launches, for benchmarks */
};

/* struct device is opaque outside; here it is ours. */
static inline struct interp_device *interp_own(struct device *d)
{
	return (struct interp_device *)(void *)d;
}

/* device_interp.c: shared memory a block can have, static and dynamic */
uint32_t device_shared_bytes(const struct interp_device *dev);

/* settings.c */
int interp_settings(struct interp_device *dev, const char *options, struct diag *d); /* at open */
int interp_control(struct device *device, const char *key, const char *value, struct diag *d);

/* transfer.c: operations of device.h */
int interp_mem_create(struct device *device, uint64_t bytes, struct dev_mem **out, struct diag *d);
int interp_mem_import(struct device *device, void *host, uint64_t bytes, struct dev_mem **out,
		      struct diag *d);
void interp_mem_destroy(struct device *device, struct dev_mem *m);
int interp_map(struct device *device, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
	       bool adjacent, struct diag *d);
int interp_unmap(struct device *device, uint64_t addr, uint64_t bytes, struct diag *d);
void *interp_host_view(struct device *device, uint64_t addr, uint64_t bytes);
int interp_read(struct device *device, void *dst, uint64_t src, uint64_t bytes, struct diag *d);
int interp_write(struct device *device, uint64_t dst, const void *src, uint64_t bytes, struct diag *d);
int interp_copy(struct device *device, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d);
int interp_fill(struct device *device, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
		struct diag *d);

/* kernel.c: operations of device.h */
int interp_module_load(struct device *device, struct ptx_module *ptx, const struct dev_module_env *env,
		       struct dev_module **out, struct diag *d);
void interp_module_unload(struct device *device, struct dev_module *m);
int interp_kernel_get(struct device *device, struct dev_module *m, const char *name, struct dev_kernel **out,
		      struct diag *d);
void interp_kernel_info(struct device *device, struct dev_kernel *k, struct dev_kernel_info *out);
uint64_t interp_func_address(struct device *device, struct dev_module *m, uint32_t func);
int interp_launch(struct device *device, const struct dev_launch *l, struct dev_fault *fault);
/* A control that changes code was set (NULL: as it was); kernels are decoded again when they are launched next. */
void kernel_variants_changed(struct interp_device *dev, const struct inject_spec *inject,
			     const struct contraction_mode *contraction);

/* program.c: a kernel with all it calls; NULL: error in *d. */
struct program *program_build(struct dev_kernel *k, const struct program_variant *variant, struct diag *d);
void program_free(struct program *p);

/* grid.c */
int grid_run(struct interp_device *dev, const struct program *p, const struct dev_launch *l,
	     struct dev_fault *fault);
void pool_stop(struct interp_device *dev);

/* block.c */
enum block_result { BLOCK_DONE, BLOCK_SUSPENDED, BLOCK_FAULT };
struct block *block_create(struct grid *g);
int block_start(struct block *b, uint64_t linear);
void block_destroy(struct block *b);
enum block_result block_run(struct block *b, struct worker *k, int64_t budget);
/* order=seed:N: a number below n, by chance; one thread runs the whole grid then. */
uint64_t grid_chance(struct grid *g, uint64_t n);

/* warp_sched.c */
int warp_init(struct warp *w, struct block *b, uint32_t number);
int warp_start(struct warp *w);
void warp_reset(struct warp *w);
void warp_destroy(struct warp *w);
/* Runs until the budget is used, all fragments wait, the warp has ended or a fault. */
enum warp_result { WARP_MORE, WARP_BLOCKED, WARP_ENDED, WARP_FAULT };
enum warp_result warp_run(struct warp *w, int64_t budget);
void warp_split(struct warp *w, const struct xinst *pc, uint32_t mask, struct frame *frame);
const struct xinst *warp_join(struct warp *w, const struct xinst *pc);
void warp_absorb(struct warp *w, struct fragment *f); /* f joins the running fragment */
bool warp_others_run(const struct warp *w);
const struct xinst *warp_exit_lanes(struct warp *w, uint32_t mask);
struct frame *frame_push(struct warp *w, const struct xcode *code, const struct xinst *call);
void frame_pop_lanes(struct warp *w, struct frame *f, uint32_t mask);
void warp_enter_frame(struct warp *w, struct frame *f);

/* barrier.c */
/* The current fragment is at a barrier; the next instruction, or NULL when it waits. */
const struct xinst *barrier_arrive(struct warp *w, const struct xinst *i, uint32_t number, uint32_t count,
				   uint32_t pred);
/* Waits until the round in which the lanes arrived is over; at once when they have not arrived. */
const struct xinst *barrier_wait(struct warp *w, const struct xinst *i, uint32_t number);
void barrier_check_exits(struct block *b);

/* exec_mbarrier.c: is it a wait for a phase? */
bool exec_mbarrier_waits(const struct xinst *i);

/* fault.c: records the launch's first fault and returns NULL, for handlers. */
const struct xinst *fault_lane(struct warp *w, const struct xinst *i, enum dev_fault_kind kind, unsigned lane,
			       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
struct access {
	uint64_t addr;
	uint32_t bytes;
	bool store, atomic;
	const char *space;
};
const struct xinst *fault_access(struct warp *w, const struct xinst *i, unsigned lane,
				 enum dev_fault_kind kind, const struct access *a);
/* "kernel K, m.ptx:12 `text` (file.cu:3), block (0,0,0), thread (1,0,0)" */
void fault_where(struct warp *w, const struct xinst *i, unsigned lane, char *buf, size_t n);
/* ", 4 bytes behind the end of the nearest allocation ...", or nothing. */
void fault_nearest(struct warp *w, uint64_t addr, char *buf, size_t n);
void fault_internal(struct grid *g, const char *why);
void fault_timeout(struct grid *g, struct block *b, const char *why);
const struct ptx_inst *xinst_ptx(const struct warp *w, const struct xinst *i);

/* watch.c */
int watch_set(struct interp_device *dev, const char *value, struct diag *d);
void watch_store(struct warp *w, const struct xinst *i, unsigned lane, uint64_t addr, uint32_t bytes);
bool watch_last(struct interp_device *dev, struct dev_watch_hit *out);
/* inject.c */
int inject_set(struct interp_device *dev, const char *value, struct diag *d);
const struct xinst *exec_inject(struct warp *w, const struct xinst *i);

/* program.c */
uint64_t code_address(const struct dev_module *m, uint32_t func);
uint32_t param_room(const struct ptx_func *f); /* bytes of a function's parameters in its frame */
bool program_pool_reserve(struct program *p, uint32_t bytes);

/* call.c */
void xarg_match(struct xarg *a, const struct xcode *callee, const struct ptx_param *p, bool result);
const struct xinst *exec_ret(struct warp *w, const struct xinst *i);

/* printf.c: builtins called by name. NULL when it is none, or declared with other parameters than it has. */
exec_fn builtin_find(const struct ptx_func *declared);

static inline void *cell(struct warp *w, uint32_t o)
{
	return w->base[o >> 31] + (o & ~OPERAND_POOL);
}

static inline uint32_t first_lane(uint32_t mask)
{
	return (uint32_t)__builtin_ctz(mask);
}

#define FOR_LANES(l, m) \
	for (uint32_t l##_m = (m), l; l##_m && ((l = (uint32_t)__builtin_ctz(l##_m)), 1); l##_m &= l##_m - 1)

#endif
