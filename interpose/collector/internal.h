/* SPDX-License-Identifier: Apache-2.0
 *
 * What the collector's files share.
 *   collector.c  the loop       clients.c  sockets and processes   session.c  shared page, time
 *   drain.c      ring -> calls  payloads.c pieces -> buffers       events.c   things to derive, in order
 *   derive.c     tables of what calls mean (derive_modules.c: of those about modules and kernels)
 *   objects.c    handles over time           images.c   code -> kernels
 *   written.c    what launches may write
 */
#ifndef CUTRACE_COLLECTOR_INTERNAL_H
#define CUTRACE_COLLECTOR_INTERNAL_H

#include <sys/types.h>

#include "api/api.h"
#include "interpose/collector/collector.h"
#include "interpose/ring.h"
#include "trace/trace.h"

struct collector;
struct process;
struct image;
struct kernel;
struct ptx_func;
struct ptx_module;
struct ptx_written;

/* ---- session.c ----------------------------------------------------------- */

struct clock_map {
	bool is_tsc;     /* else stamps are nanoseconds */
	uint64_t tsc_hz; /* 0: not known yet */
	uint64_t tsc_origin;
	int64_t ns_origin;
};
int session_make(struct collector *c, struct diag *d);
int64_t session_time(struct collector *c, uint64_t stamp); /* ns since the recording began */
int64_t session_now(const struct collector *c);
/* Before a second ring is taken: from now on calls are numbered with locked instructions (ring.h). */
void session_share_numbers(struct collector *c);

/* ---- a call between enter and exit ----------------------------------------- */

struct bytes {
	uint8_t *p;
	size_t n, capacity;
};
bool bytes_append(struct bytes *b, const void *p, size_t n);

struct open_call {
	struct trace_call row;
	uint32_t func; /* id in the recorder */
	struct bytes memory[2];
	struct image *image; /* held */
	uint64_t context;    /* of the stream that the call makes */
	bool told;           /* the writer knows it is in flight */
};

struct thread {
	uint32_t id;
	int64_t tid, start;
	char name[16];
	unsigned depth, capacity;
	struct open_call *calls;
};

struct ring {
	struct ring *next;
	struct process *process;
	struct ring_header *header;
	const uint8_t *data;
	uint64_t mask, tail;
	struct thread thread;
	bool has_thread, broken;
};

/* ---- objects.c: handles over time -------------------------------------------- */

enum object_kind { OBJECT_MODULE = 1, OBJECT_KERNEL, OBJECT_ALLOCATION, OBJECT_CONTEXT, OBJECT_STREAM };

struct version {
	struct version *older;
	uint64_t created, destroyed; /* keys of events; destroyed: UINT64_MAX while it lives */
	uint64_t row, bytes;
	uint64_t context; /* that it ends with; 0: none, or unknown */
	void *object;
};
struct object_map {
	struct object_slot *slots;
	size_t count, capacity;
	uint64_t newest; /* key of the youngest version */
};
/* What `handle` meant at `key`; NULL when nothing. */
struct version *object_at(const struct object_map *m, enum object_kind kind, uint64_t handle, uint64_t key);
struct version *object_add(struct object_map *m, enum object_kind kind, uint64_t handle, uint64_t key);
/* Every live version of a kind with low <= handle < high. */
void object_each(struct object_map *m, enum object_kind kind, uint64_t low, uint64_t high, uint64_t key,
		 void (*fn)(void *ctx, uint64_t handle, struct version *v), void *ctx);
/* Ends all versions of a kind, dead ones too, whose object matches; they forget it. */
void object_clear(struct object_map *m, enum object_kind kind, uint64_t key,
		  bool (*match)(void *ctx, void *object), void *ctx);
void object_map_free(struct object_map *m);

/* ---- events.c: what is derived, in the order in which it happened --------------- */

/* Rings are read one after the other, so a launch may be read before the call that made its kernel. Derived
 * rows therefore wait in a queue until everything that can have caused them has been read. */
struct event {
	uint64_t key;   /* 2 * seq at an enter, 2 * seq_seen + 1 at an exit */
	uint64_t order; /* ties: in order of reading */
	uint64_t seq;
	struct process *process;
	void (*run)(struct collector *c, struct event *e);
	const void *rule;
	uint64_t args[16], outs[TRACE_MAX_OUTS];
	uint32_t outs_valid;
	char *text;
	struct image *image; /* held */
	uint64_t context;
	struct trace_launch launch;
};
bool event_add(struct collector *c, const struct event *e);
void events_entered(struct collector *c, uint64_t seq);
/* At the end of a round. */
void events_round(struct collector *c);
/* All up to key, whether or not something is missing. */
void events_run(struct collector *c, uint64_t key);

/* ---- clients.c -------------------------------------------------------------------- */

#define MAX_DEVICES 64

struct function_name {
	uint32_t id, row;
	char *name;
};

struct process {
	struct process *next;
	struct trace_process row;
	pid_t pid;
	uint32_t token;
	int pidfd;
	struct source *connections;
	bool ended, gone; /* gone: ended and its rings are read */
	int status;       /* from the parent, -1 unknown */
	struct object_map objects;
	struct function_name *functions;
	unsigned nfunctions;
	struct payload *payloads;
	struct announced **announced; /* payloads.c */
	struct {
		uint64_t handle;
		unsigned references;
	} primary[MAX_DEVICES];
	unsigned nevents; /* waiting */
	bool forgotten;   /* derive_forget was here */
	bool is_ours;     /* its driver is cutrace's */
	unsigned cc;      /* compute capability of its device, 10 * major + minor; 0 unknown */
	uint64_t calls, ring_bytes, payload_bytes, payload_count, waits, waited_ns;
};

struct source { /* of epoll */
	enum { SOURCE_LISTEN, SOURCE_CONTROL, SOURCE_CONNECTION, SOURCE_PIDFD } kind;
	int fd;
	struct process *process;
	struct source *next_of_process; /* connections */
	struct source *next;            /* all */
};

void clients_poll(struct collector *c);
bool clients_alive(const struct collector *c);
void clients_free(struct collector *c);
void clients_hang_up(struct collector *c);
void clients_close(struct collector *c);
int clients_watch(struct collector *c, int fd, int kind, struct process *p);

/* ---- drain.c ------------------------------------------------------------------------ */

/* Reads what is published in all rings; returns bytes. */
uint64_t drain_all(struct collector *c);
void drain_process_end(struct collector *c,
		       struct process *p); /* the process is dead: last records, calls in flight */
void drain_tell_flights(struct collector *c);
struct ring *ring_map(int memfd, struct process *p);
void ring_free(struct ring *r);
/* The thread's call of that number, when it is between enter and exit. */
struct open_call *drain_find_call(struct ring *r, uint64_t seq);
/* A string or struct that the call's recorded memory has at this address; NULL when not (whole). */
const void *memory_find(const struct bytes *m, uint64_t address, size_t bytes);
const char *memory_string(const struct bytes *m, uint64_t address);

/* ---- payloads.c ------------------------------------------------------------------------ */

void payload_piece(struct collector *c, struct ring *r, const struct ring_payload *p);
bool payload_copy(struct collector *c, struct ring *r, const struct ring_copy *p);
/* At the end of a process: what never arrived is unavailable. */
void payloads_abort(struct collector *c, struct process *p);

/* ---- derive.c --------------------------------------------------------------------------- */

void derive_exit(struct collector *c, struct ring *r, struct open_call *o);
void derive_launch(struct collector *c, struct ring *r, struct open_call *o, const struct ring_launch *l);
void derive_name(struct collector *c, struct process *p, uint32_t func, const char *name);
void derive_kernel_name(struct collector *c, struct process *p, uint64_t seq, const struct ring_kernel *k,
			const char *name);
void derive_init(void);
/* Frees what is known of a process that has ended, once nothing more is to be derived for it. */
void derive_forget(struct collector *c, struct process *p);
/* The kernel behind a handle at a key, or NULL. */
struct kernel *derive_kernel(struct process *p, uint64_t handle, uint64_t key);

/* ---- images.c ------------------------------------------------------------------------------ */

struct module {
	uint64_t row;
	bool is_library;
	struct module *parent;
	struct image *image; /* held */
	struct kernel *kernels;
};

struct kernel {
	struct kernel *next;
	const struct module *owner;
	struct trace_kernel row;
	bool known, writes_unknown;  /* known: the parameters are */
	struct ptx_written *written; /* written.c */
	bool written_tried;
	char *name;
};

/* Takes over `data`. The same buffer gives the same image. Held once. */
struct image *image_add(struct collector *c, uint64_t buffer, struct bytes *data);
/* An image that nobody holds is kept for a while: the next load of the same code needs no parsing. NULL is
 * allowed. */
struct image *image_hold(struct image *i);
void image_drop(struct collector *c, struct image *i);
void module_free(struct collector *c, struct module *m); /* with its kernels */
/* Writes the image's row once its process's compute capability is known (at a load). */
void image_choose(struct collector *c, struct image *i, unsigned cc);
uint64_t image_buffer(const struct image *i);
const char *image_archs(const struct image *i); /* "ptx:80 elf:80"; "": no fatbin */
bool image_is_text(const struct image *i);
/* image_run.c: a row about which code of it the process's driver takes. */
void image_ran(struct collector *c, const struct image *i, const struct process *p);
/* The module's kernel of that name with its row, made when asked for first. NULL only without memory. */
struct kernel *module_kernel(struct collector *c, struct module *m, const char *name);
void images_free(struct collector *c);
/* Bytes of a variable of the module, 0 when nothing says it. */
uint64_t module_variable_bytes(const struct module *m, const char *name);
void kernel_answer(const struct kernel *k, struct ring_params *out);
/* Its PTX, NULL when there is none. */
struct ptx_func *kernel_ptx(const struct kernel *k, struct ptx_module **m);
/* written.c: which bytes a launch of it may write. */
void kernel_written(struct kernel *k, const struct ring_ask_written *a, struct ring_written *out);
/* Machine code is all there is of it. */
bool kernel_is_opaque(const struct kernel *k);

/* ---- collector.c ------------------------------------------------------------------------------ */

struct collector {
	const struct collector_options *o;
	struct trace_writer *w; /* NULL: nothing is written */
	struct ring_session *session;
	int session_fd, epoll_fd;
	int spare_fd; /* given up to refuse a connection when there are no descriptors left */
	uint32_t refused;
	struct clock_map clock;
	int64_t start_ns; /* CLOCK_MONOTONIC */
	struct source *sources;
	struct process *processes, **last_process;
	unsigned nprocesses;
	struct ring *rings;
	uint32_t nthreads;
	uint32_t *function_rows; /* by api id */
	struct image *images;    /* used last first */
	/* events.c */
	struct event **heap;
	size_t nheap, heap_capacity;
	uint64_t norder;
	uint64_t *seen; /* bit map of sequence numbers from seen_base on */
	uint64_t seen_base, seen_words, settled;
	/* The number that session_share_numbers left free, until the ring that was alone has gone on. */
	uint64_t unused_number;
	const struct ring *counted_alone;
	int64_t stuck_since;
	uint64_t stuck_at, stuck_newest;

	int64_t alone_since;
	bool finishing, quitting;
	bool nobody_left; /* who could yet connect */
	bool driver_version_known;
	uint64_t calls, payload_bytes;
};
void collector_diag(struct collector *c, struct process *p, uint64_t call, const char *severity,
		    const char *source, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

#endif
