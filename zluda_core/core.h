/* SPDX-License-Identifier: Apache-2.0
 *
 * core: CUDA's driver semantics over a `struct device` (device.h). This header
 * is the module's inside: the objects behind the handles and the functions by which
 * the files of this folder use each other. Programs see only the cu* functions
 * (api/gen/cuda_abi.h) and, if they ask, extension.h.
 *
 * Locks, outermost first. Nothing is called on the device, and no user code runs,
 * while one of them is held:
 *   core.lock    lists and tables: contexts, modules, libraries, functions
 *   as.lock      the table of address ranges (address_space.c)
 *   queue lock   all software queues (queue.c)
 *   handle lock  the set of live handles (handles.c)
 */
#ifndef CUTRACE_CORE_H
#define CUTRACE_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "ptx/ir.h"
#include "ptx/link.h"
#include "zluda_core/device.h"

/* The library is built with hidden visibility; what the ABI header declares is what it exports. */
#pragma GCC visibility push(default)
#define CUDA_ABI_NO_MAPPING
#include "api/gen/cuda_abi.h"
#pragma GCC visibility pop

#define CORE_MAX_DEVICES 16
#define CORE_MAX_STACK   128
#define ARRAY_SIZE(a)    (sizeof(a) / sizeof((a)[0]))

struct context;
struct module;
struct library;
struct function;
struct stream;
struct event;
struct queue;
struct mem_pool;
struct local_value;

/* ---- options.c: the environment, read once ------------------------------ */

struct options {
	char device[32];          /* "interp"; "auto" until devices_choose() */
	char device_options[256]; /* what follows the colon */
	unsigned device_count;
	unsigned cc; /* 10 * major + minor; 0 = the device's own */
	int driver_version;
	const char *inject, *deterministic, *watchdog_ms; /* NULL = unset */
	const char *visible_devices;
	uint64_t va_base, va_bytes; /* the window of device addresses */
	bool va_of_device;          /* the device gave it: nothing can be mapped elsewhere */
	bool count_given;           /* device_count is the user's */
	bool refuse_addresses, verbose, launch_blocking, eager_loading;
};
extern struct options options;
void options_read(void);
/* One line on stderr, "cutrace: ..." */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_diag(const struct diag *d);
void say_diag_of(const char *subject, const struct diag *d); /* "subject: where: what", one message */
void say_also_to(void (*fn)(uint64_t call, const char *line), uint64_t (*source)(void)); /* besides stderr */
/* What work that is queued now has to name as its origin in say_about, later and on another thread. */
uint64_t say_origin(void);
void say_about(uint64_t origin, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* With CUTRACE_VERBOSE=1 only. */
void say_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- init.c, devices.c, device.c ----------------------------------------- */

/* Limits by compute capability: CUDA C++ Programming Guide, "Technical Specifications per Compute
 * Capability". */
struct cc_limits {
	unsigned cc; /* 10 * major + minor */
	uint32_t max_threads_per_sm, max_blocks_per_sm;
	uint32_t shared_per_sm, shared_per_block_optin, reserved_shared;
	uint32_t regs_per_sm, regs_per_thread, reg_alloc_unit, warp_alloc_unit;
	uint32_t shared_alloc_unit;
	uint32_t fp64_ratio, l1_global;
	bool clusters;
};

/* One device as programs see it; its CUdevice is the index in core.gpus. */
struct gpu {
	CUdevice ordinal;
	unsigned physical; /* what CUDA_VISIBLE_DEVICES selected */
	const struct device_ops *ops;
	struct device *dev;
	struct dev_props props; /* with the reported compute capability's limits */
	const struct cc_limits *cc;
	struct dev_host host;
	struct context *primary; /* made at first retain, never freed */
	unsigned primary_refs, primary_flags;
	_Atomic uint64_t used_bytes;
	struct mem_pool *default_pool, *current_pool;
	_Atomic uint64_t heap_used, heap_limit;
};

struct core {
	pthread_mutex_t lock;
	atomic_bool initialised, forked, exiting;
	unsigned ngpus;
	struct gpu gpus[CORE_MAX_DEVICES];
	struct context *contexts;
	_Atomic uint64_t next_id; /* contexts, streams, buffers */
	_Atomic uint64_t launches;
};
extern struct core core;

CUresult core_start(void); /* cuInit's work, once */
CUresult core_check(void); /* initialised, not a forked child */
uint64_t core_next_id(void);
struct gpu *gpu_get(CUdevice dev); /* NULL when there is none */
const struct cc_limits *cc_limits_find(unsigned cc);
void gpu_apply_cc(struct gpu *gpu, unsigned cc);
void devices_choose(void); /* what "auto" is, and how many devices there are */
CUresult gpu_open(struct gpu *gpu, unsigned physical);
bool gpu_uuid_name(unsigned physical, char *buf, size_t bytes); /* "GPU-..." as nvidia-smi writes it */
CUresult result_of(int cutrace_error);
CUresult result_of_fault(enum dev_fault_kind kind);

/* ---- handles.c: which pointers are live handles, and of what ------------- */

enum handle_kind {
	HANDLE_CONTEXT = 1,
	HANDLE_MODULE,
	HANDLE_LIBRARY,
	HANDLE_KERNEL,
	HANDLE_FUNCTION,
	HANDLE_STREAM,
	HANDLE_EVENT,
	HANDLE_POOL,
	HANDLE_MEM, /* cuMemCreate */
	HANDLE_LINK,
	HANDLE_ARRAY,
	HANDLE_MIPMAP,
	HANDLE_TEXREF,
	HANDLE_SURFREF,
};
bool handle_add(const void *p, enum handle_kind kind);
void handle_remove(const void *p);
bool handle_is(const void *p, enum handle_kind kind);
/* How a call that is given a handle begins: initialised, and the handle is one; or its kind's error. */
CUresult handle_enter(const void *p, enum handle_kind kind);
/* How a question goes on: r is whether it may be asked; then there has to be somewhere to put the answer. */
static inline CUresult answerable(CUresult r, const void *answer)
{
	return !r && !answer ? CUDA_ERROR_INVALID_VALUE : r;
}

/* ---- context.c ----------------------------------------------------------- */

struct context {
	struct context *next;
	struct gpu *gpu;
	bool primary;
	atomic_bool active;
	unsigned flags, refs, api_version;
	uint64_t id;
	size_t limits[CU_LIMIT_MAX];
	CUfunc_cache cache_config;
	CUsharedconfig shared_config;
	_Atomic int error;       /* sticky CUresult */
	struct dev_fault *fault; /* that caused it, or NULL */
	struct queue *null_queue;
	struct queue *queues; /* queue.c: all that belong to the context, the null queue too */
	struct module *modules;
	struct stream *streams;
	struct event *events;
	struct local_value *locals; /* export_table.c: the runtime's context-local storage */
};

/* Where the next allocation of a thread has to be (extension.h). */
struct placement {
	bool next_set;
	uint64_t next;
	unsigned nglobals;
	char **global_names;
	uint64_t *global_addrs;
};

struct thread_queue {
	struct thread_queue *next;
	struct context *ctx;
	uint64_t ctx_id;
	struct queue *queue;
};

struct thread_state {
	struct context *stack[CORE_MAX_STACK];
	unsigned depth;
	bool in_callback;
	int capture_mode;
	struct placement place;
	struct thread_queue *queues; /* CU_STREAM_PER_THREAD, by context */
};
struct thread_state *thread_state(void);

/* The calling thread's context, usable: initialised, current, not destroyed, without sticky error. */
CUresult context_enter(struct context **ctx);
CUresult context_current(struct context **ctx); /* the same, sticky error or not */
/* A handle given by the program; NULL means the current one. */
CUresult context_resolve(CUcontext handle, struct context **ctx);
CUresult context_wait(struct context *ctx); /* for all its work; then the sticky error */
void context_set_error(struct context *ctx, CUresult r, const struct dev_fault *fault);
bool context_last_fault(struct context *ctx, struct dev_fault *out);
CUresult context_primary(struct gpu *gpu, struct context **ctx); /* without a reference */
void gpu_wait(struct gpu *gpu); /* for the work of all contexts of the device */
void local_values_clear(struct context *ctx);

/* ---- address_space.c: who owns which device address ----------------------- */

enum range_kind {
	RANGE_DEVICE = 1,
	RANGE_POOL,       /* stream-ordered */
	RANGE_GLOBAL,     /* a module's variable */
	RANGE_HEAP,       /* malloc in a kernel */
	RANGE_HOST,       /* cuMemHostAlloc */
	RANGE_REGISTERED, /* cuMemHostRegister */
	RANGE_MANAGED,
	RANGE_RESERVED, /* cuMemAddressReserve */
	RANGE_ARRAY,    /* of a CUDA array: no pointer of the program's */
};

struct vmm_map {
	struct vmm_map *next;
	uint64_t addr, bytes, offset;
	struct gpu *gpu;
	struct vmm_handle *handle;
	int access;  /* CUmemAccess_flags of the device */
	bool mapped; /* on the device */
};

struct range {
	uint64_t addr, bytes; /* exact */
	uint64_t span;        /* bytes taken in the address space, >= bytes */
	enum range_kind kind;
	struct gpu *gpu;
	struct context *ctx;
	struct dev_mem *mem;
	void *host;          /* where the host sees it, or NULL */
	bool host_reserved;  /* the host pages lie in the reserved window */
	bool host_of_device; /* the device made the host memory, and frees it */
	struct range *alias; /* where the device sees registered memory, when that isn't its address */
	size_t host_bytes;
	unsigned flags;
	uint64_t id;
	int sync_memops;
	struct mem_pool *pool;
	bool freeing;         /* cuMemFreeAsync is enqueued */
	struct vmm_map *maps; /* RANGE_RESERVED, ascending */
	struct {
		struct range *left, *right;
		uint64_t priority;
		uint64_t begin, end, widest; /* of the subtree: first and last address, widest gap between */
		size_t count;
	} tree; /* range_tree.c */
};

struct range_request {
	uint64_t bytes, align;
	uint64_t hint;  /* wanted address, 0 = any */
	bool exact;     /* hint must be honoured */
	bool placeable; /* the thread's placement applies */
	enum range_kind kind;
	struct gpu *gpu;
	struct context *ctx;
};

/* Takes addresses; nothing is mapped. */
CUresult range_alloc(const struct range_request *req, struct range **out);
void range_free(struct range *r);
/* The range that contains addr, or NULL. The pointer stays valid until the program frees the range. */
struct range *range_find(uint64_t addr);
bool range_contains(const struct range *r, uint64_t addr, uint64_t bytes);
bool range_is_free(uint64_t addr, uint64_t bytes);
/* The same, ranges that `spare` says yes to aside. */
bool range_is_free_but(uint64_t addr, uint64_t bytes, bool (*spare)(const struct range *r));
/* Frees r but for what lies before begin and behind end: two ranges, each NULL when there is nothing. */
CUresult range_cut(struct range *r, uint64_t begin, uint64_t end, struct range *pieces[2]);
/* Calls fn for each range of ctx (any when NULL); fn may free the range. */
void range_each(struct context *ctx, void (*fn)(struct range *r, void *arg), void *arg);
/* Host pages at exactly addr where that can be had, else anywhere (anywhere_ok), for memory that both sides
 * see. */
void *host_pages_map(uint64_t addr, size_t bytes, bool anywhere_ok, bool *reserved);
void host_pages_unmap(void *p, size_t bytes, bool reserved);

/* ---- memory.c, vmm.c ------------------------------------------------------- */

struct vmm_handle {
	unsigned refs;
	uint64_t bytes;
	struct gpu *gpu;
	struct dev_mem *mem;
	void *host; /* host-located memory */
	CUmemAllocationProp prop;
};

bool gpu_take(struct gpu *gpu, uint64_t bytes); /* of its memory; false when it hasn't got that much left */
/* Allocates, backs and maps device memory. */
CUresult memory_alloc(const struct range_request *req, struct range **out);
void memory_free(struct range *r);
CUresult memory_back(struct range *r); /* creates r->mem */
void memory_unback(struct range *r);
CUresult memory_map(struct range *r);
void memory_unmap(struct range *r);
/* Memory both sides see at one address. */
CUresult memory_alloc_host(const struct range_request *req, struct range **out);
CUresult memory_write(struct gpu *gpu, uint64_t dst, const void *src, uint64_t bytes);
CUresult memory_read(struct gpu *gpu, void *dst, uint64_t src, uint64_t bytes);
void placement_clear_globals(struct placement *p); /* extension.c */
extern const struct cutrace_extension extension_table;
void vmm_unmap_all(struct range *r);
/* Reservations are mapped and unmapped in parts by several threads: a copy, whose handle may be gone. */
bool vmm_map_at(const struct range *r, uint64_t addr, struct vmm_map *out);
bool vmm_covered(const struct range *r, uint64_t addr, uint64_t bytes); /* accessible without a gap */

/* A pointer of either side, looked up. */
struct place {
	bool is_host, pinned, managed;
	void *host;    /* is_host */
	uint64_t addr; /* device address otherwise */
	struct gpu *gpu;
	struct range *range; /* NULL: pageable */
};
enum place_want { PLACE_HOST, PLACE_DEVICE, PLACE_ANY, PLACE_ARRAY /* memcpy.c's own */ };
CUresult place_find(uint64_t ptr, uint64_t bytes, enum place_want want, struct place *out);

void pool_forget(struct range *r);
/* Free, or held by pools for blocks that were freed: a placed allocation of a pool may have it. */
bool pool_is_placeable(uint64_t addr, uint64_t bytes);
void pools_reap(struct context *ctx, struct queue *q); /* after a wait: q, or all queues of ctx */

/* ---- queue.c: software queues ------------------------------------------------ */

struct op_dep {
	struct queue *queue;
	uint64_t seq;
};

/* Work in a queue. Embedded at the start of what a family needs; made by op_new. */
struct op {
	struct op *next;
	struct queue *queue;
	uint64_t seq;
	bool by_caller;  /* the thread that enqueued it runs it: no hand-over for synchronous calls */
	bool own_thread; /* never run by a thread that waits: code of the program */
	bool always;     /* runs in a failed context too */
	bool running;
	unsigned ndeps, deps_size;
	struct op_dep *deps;
	CUresult (*run)(struct op *op);
	void (*release)(struct op *op); /* frees what the op owns, not the op; may be NULL */
};

void *op_new(size_t bytes, CUresult (*run)(struct op *op));
CUresult op_nothing(struct op *op); /* for an op that is only a point in a queue */
bool op_depend(struct op *op, struct queue *q, uint64_t seq);
void op_drop(struct op *op); /* one that is not submitted after all */

enum queue_kind { QUEUE_LEGACY, QUEUE_BLOCKING, QUEUE_NON_BLOCKING };
struct queue *queue_new(struct context *ctx, enum queue_kind kind, int priority);
struct queue *queue_ref(struct queue *q);
void queue_unref(struct queue *q);
uint64_t queue_id(const struct queue *q);
uint64_t queue_submit(struct queue *q, struct op *op); /* returns its sequence number; owns op */
CUresult queue_run(struct queue *q, struct op *op);    /* enqueues and runs in this thread */
void queue_wait(struct queue *q, uint64_t seq);
bool queue_done(struct queue *q, uint64_t seq);
uint64_t queue_last(struct queue *q);
CUresult queue_drain(struct queue *q); /* waits for all work, and what the legacy queue waits for */
bool queue_idle(struct queue *q);      /* the same, as a question */
void context_queues_wait(struct context *ctx);
struct context *queue_context(struct queue *q);

/* ---- stream.c, event.c ---------------------------------------------------------- */

struct stream {
	struct stream *next;
	struct context *ctx;
	struct queue *queue;
	unsigned flags;
	int priority;
	CUstreamAttrValue attrs[8]; /* by CUstreamAttrID, those that are stored */
};

/* NULL and CU_STREAM_LEGACY: the current context's. Checks the context's sticky error. */
CUresult stream_resolve(CUstream s, struct context **ctx, struct queue **q);
static inline CUstream stream_per_thread(CUstream s)
{
	return s ? s : CU_STREAM_PER_THREAD;
}
void streams_destroy(struct context *ctx);
void thread_queues_drop(struct context *ctx);
void events_destroy(struct context *ctx);
CUresult event_record(CUevent e, CUstream s);
uint64_t now_ns(void);

/* ---- module.c, library.c, function.c ----------------------------------------------- */

struct global {
	uint32_t symbol; /* index in ptx->symbols */
	struct range *range;
	bool shared; /* managed: the library's */
};

struct module {
	struct module *next; /* in its context */
	struct context *ctx;
	struct library *library; /* or NULL */
	struct ptx_module *ptx;
	struct dev_module *dev;
	uint64_t *symbol_addr;
	unsigned nglobals;
	struct global *globals;
	struct function *functions;
};

struct function {
	struct function *next;
	struct module *module;
	struct ptx_func *ptx;
	struct dev_kernel *dev; /* NULL until compiled */
	struct dev_kernel_info info;
	bool kernel_seen; /* its CUkernel's attributes were taken over */
	CUresult failed;  /* why compiling failed; said once */
	bool compiling, compiled;
	int max_dynamic_shared, carveout, cluster[3], non_portable_cluster, cluster_policy;
	CUfunc_cache cache_config;
	/* cuFuncSetBlockShape, cuParamSet*: the launch of CUDA 3 */
	unsigned old_block[3], old_shared, old_bytes;
	uint8_t *old_params;
};

struct kernel {
	struct kernel *next;
	struct library *library;
	const char *name;
	const struct ptx_func *ptx;
	int attr_set[16]; /* cuKernelSetAttribute, for functions not made yet */
	int attr_value[16];
};

/* Just-in-time options of one call, decoded. */
struct jit {
	char *info, *error;
	size_t info_size, error_size, info_used, error_used;
	void **info_size_out, **error_size_out, **wall_time_out, **threads_out;
	unsigned threads, target; /* target: 10 * major + minor, 0 = the device's */
	bool verbose;
	uint64_t started_ns;
};
CUresult jit_parse(struct jit *jit, unsigned n, const CUjit_option *options_in, void **values);
void jit_log(struct jit *jit, bool error, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void jit_diag(struct jit *jit, const struct diag *d);
/* What can be said of a module that was loaded or linked: CU_JIT_LOG_VERBOSE, CU_JIT_TARGET. */
CUresult jit_check_module(struct jit *jit, const struct ptx_module *m);
void jit_finish(struct jit *jit);

/* image.c: from what a program hands over to parsed PTX. */
CUresult image_parse(const void *image, size_t bytes, const char *name, struct gpu *gpu, struct jit *jit,
		     struct ptx_module **out);
/* The PTX that an image brings for a device: what is to be linked. */
struct image_text {
	struct ptx_link_input in;
	char *name;  /* in.name */
	char *owned; /* in.text, or NULL: it is the program's */
};
struct image_texts {
	unsigned n, left_out; /* pieces that only newer devices could take */
	struct image_text *texts;
};
CUresult image_collect(struct image_texts *t, const void *image, size_t bytes, const char *name,
		       struct gpu *gpu, struct jit *jit);
CUresult image_texts_keep(struct image_texts *t); /* beyond the call */
/* Whether it is a module; errors go to the log. */
CUresult image_check(const struct image_text *t, struct gpu *gpu, struct jit *jit);
void image_texts_free(struct image_texts *t);
/* Errors go to the log. */
CUresult image_link(const struct image_texts *t, struct jit *jit, struct ptx_linked *out);
/* Bytes of an image, 0 = not recognised. */
size_t image_bytes(const void *image);
CUresult file_read(const char *path, void **data, size_t *bytes);

CUresult module_create(struct context *ctx, struct ptx_module *ptx, struct jit *jit, struct library *lib,
		       struct module **out); /* owns ptx, also on failure */
void module_destroy(struct module *m);
CUresult module_global(struct module *m, const char *name, CUdeviceptr *addr, size_t *bytes);
CUresult module_function(struct module *m, const char *name, struct function **out);
/* Address space for a variable of a module; not initialised. */
CUresult global_alloc(const struct ptx_symbol *s, struct gpu *gpu, struct range **out);
/* A managed variable of a library: there is one, whatever the number of contexts. */
CUresult library_managed(struct library *lib, const struct ptx_symbol *s, struct gpu *gpu,
			 struct range **out);
CUresult library_module(struct library *lib, struct context *ctx, struct module **out);
void libraries_forget(struct context *ctx);
CUresult kernel_function(struct kernel *k, struct context *ctx, struct function **out);

/* CUfunction or CUkernel; compiled. `ctx` is used for kernels. */
CUresult function_resolve(CUfunction f, struct context *ctx, struct function **out);
CUresult function_compile(struct function *f);
CUresult function_get_attribute(struct function *f, CUfunction_attribute a, int *value);
CUresult function_set_attribute(struct function *f, CUfunction_attribute a, int value);
CUresult param_info(const struct ptx_func *f, size_t index, size_t *offset, size_t *size);
unsigned function_max_threads(const struct function *f);

/* ---- occupancy.c ---------------------------------------------------------------------- */
int occupancy_blocks(const struct function *f, unsigned block, size_t dynamic_shared);

/* ---- print_fifo.c: output of vprintf --------------------------------------------------- */
void print_append(void *ctx, const char *text, size_t bytes);
void print_flush(void);
void print_flush_try(void);
void print_to(void (*fn)(const char *text, size_t bytes));

/* ---- proc_address.c, export_table.c, integrity.c, md2.c ------------------------------------ */
void *proc_find(const char *exported_name);
void integrity_answer(uint32_t version, uint64_t unix_seconds, const void *cudart_table,
		      const void *integrity_table, const void *check_function, uint64_t out[2]);
void md2(const void *data, size_t bytes, uint8_t out[16]);
void hmac_md2(const void *key, size_t key_bytes, const void *data, size_t bytes, uint8_t out[16]);

#endif
