/* SPDX-License-Identifier: Apache-2.0
 *
 * ring: what the traced process and the collector say to each other. One ring per thread, in
 * a memfd that both map; one producer (the thread), one consumer (the collector), no locks.
 * The ring survives the death of the traced process: whatever was published is read afterwards.
 *
 * Everything is 8-byte aligned and in host byte order; both sides are built together and check RING_VERSION.
 */
#ifndef CUTRACE_RING_H
#define CUTRACE_RING_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/sketch.h"

#define RING_VERSION 8u
#define RING_MAGIC   0x474e495243545543ull /* "CUTCRING" in memory order */

/* How calls get their numbers. Each call's is greater than that of every call that had ended before it began.
 * While there is one ring only, its thread counts in `alone` with a plain instruction: a locked one waits for
 * all stores before it, which is a third of what recording a call costs. The collector ends that before it
 * takes a second ring (clients.c: share_numbers), in two steps:
 *   RING_CHANGING  alone is not counted in any more, but for a thread that looked just before; whoever comes
 *                  first makes the common counter begin at alone + 1, so that the number that such a thread
 *                  still takes is nobody else's
 *   RING_SHARED    after a barrier on all processors: the common counter has begun
 */
enum ring_numbering { RING_ALONE, RING_CHANGING, RING_SHARED };

/* One page, shared by all processes of a recording; made by the collector. */
struct ring_session {
	uint64_t magic;
	uint32_t version;
	uint32_t flags;      /* enum ring_session_flag */
	uint64_t ring_bytes; /* data bytes of each ring, a power of two */
	uint64_t use_tsc; /* records carry __rdtsc, which the collector translates; 0: CLOCK_MONOTONIC ns */
	_Atomic uint32_t numbering;       /* enum ring_numbering */
	_Atomic uint32_t collector_alive; /* 0 once the collector is gone or gave up: record no more */
	uint8_t pad0[24];
	_Atomic uint64_t sequence; /* newest number; one fetch_add a call */
	uint8_t pad1[56];
	_Atomic uint64_t alone; /* the same, of the only thread */
	uint8_t pad2[56];
	/* --check: which launches, by their number from 1 */
	uint64_t check_every, check_first, check_last;
	uint64_t as_cc;            /* the compute capability that programs are told; 0: the device's */
	_Atomic uint64_t launches; /* of the kernels that --check names */
	/* --keyframe */
	uint64_t keyframe_every;           /* launches of a process; 0: only when asked for */
	_Atomic uint64_t keyframes_wanted; /* how often somebody asked */
	/* --launches: recorded are those with these numbers, from 1; range_first 0: while somebody has asked an odd number of
	 * times */
	uint64_t range_first, range_last;
	_Atomic uint64_t range_launches;
};
enum ring_session_flag {
	RING_SESSION_CHECK = 1 << 0,     /* hash what each launch may have written */
	RING_SESSION_CONTENTS = 1 << 1,  /* and keep it */
	RING_SESSION_NO_DATA = 1 << 2,   /* copies are recorded without their bytes */
	RING_SESSION_OPAQUE = 1 << 3,    /* what kernels without PTX wrote is kept */
	RING_SESSION_PTX = 1 << 4,       /* the driver gets PTX wherever there is any */
	RING_SESSION_ON_DEVICE = 1 << 5, /* what launches wrote is hashed on the device, whatever it is; */
	RING_SESSION_KEYFRAMES = 1 << 7, /* launches are looked at for keyframes */
	RING_SESSION_ON_HOST = 1 << 6,   /* on the host */
	RING_SESSION_RANGE = 1 << 8,     /* launches and copies outside of the range are left out */
};

/* Newest number taken. */
static inline uint64_t ring_newest(struct ring_session *s)
{
	uint64_t n;

	if (atomic_load_explicit(&s->numbering, memory_order_relaxed) == RING_ALONE)
		return atomic_load_explicit(&s->alone, memory_order_relaxed);
	n = atomic_load_explicit(&s->sequence, memory_order_relaxed);
	return n ? n : atomic_load_explicit(&s->alone, memory_order_relaxed);
}

/* At the start of each ring's memfd; data follows at RING_DATA_OFFSET, `bytes` of it (a power of two). */
#define RING_DATA_OFFSET 4096u
struct ring_header {
	uint64_t magic;
	uint32_t version, pid;
	uint32_t tid, pad;
	uint64_t bytes;
	char name[16];
	uint8_t pad0[64 - 48];
	_Atomic uint64_t head; /* producer: bytes ever published */
	uint8_t pad1[56];
	_Atomic uint64_t tail; /* consumer: bytes ever consumed */
	uint8_t pad2[56];
	_Atomic uint32_t producer_waits; /* futex word: set while the producer sleeps for room */
	_Atomic uint32_t closed;         /* no thread uses the ring at present; everything is published */
	uint64_t waits, waited_ns;       /* producer: how often and how long the ring was full */
	uint64_t lost; /* producer: calls of signal handlers for which there was no room and never would be */
};

enum ring_kind {
	RING_ENTER = 1,
	RING_EXIT,
	RING_MEMORY,   /* host memory pieces of a call, phase in `flags` */
	RING_PAYLOAD,  /* one piece of a payload */
	RING_COPY,     /* a whole one, of one row: most are small, and then the fewer lines, the faster */
	RING_FUNCTION, /* names a function id that is not in the table: unknown functions, export-table slots
			*/
	RING_LAUNCH,   /* packed parameters of a launch */
	RING_HASH,     /* --check: a range's hash after a launch */
	RING_SKETCH,   /* --check: its numbers */
	RING_DIAG,     /* text of a diagnostic */
	RING_KERNEL,   /* what the driver says a function handle is, when it is launched for the first time */
	RING_THREAD, /* the records behind this are those of thread `tid`: rings outlive threads and are used
			again */
	RING_THREAD_END,
	RING_DEVICE,    /* a device that the driver offers */
	RING_STREAM,    /* the context of what the call around made */
	RING_ABANDONED, /* was being written when a signal handler left by siglongjmp; flags: its kind */
};

/* A signal handler's records lie behind the one that it interrupted, and are published with it. Until then the
 * producer tells by these bits of `kind` which of them are whole: what was interrupted may never be continued.
 */
#define RING_NESTED_OPEN 0x8000u
#define RING_NESTED      0x4000u
#define RING_KIND_MASK   0x3fffu

/* Every record begins so. `bytes` includes this header and is a multiple of 8. */
struct ring_record {
	uint32_t bytes;
	uint16_t kind; /* enum ring_kind, RING_NESTED */
	uint16_t flags;
};

/* The two that every call writes are packed tightly: the fewer cache lines, the faster the call. */
struct ring_enter {
	struct ring_record r; /* flags: function: index into api_funcs, or >= RING_UNKNOWN */
	uint64_t seq;         /* call id */
	uint64_t tsc;
	uint64_t args[]; /* to the record's end. An unknown function: 6 integer registers, 8 xmm low halves,
			    stack words */
};
#define RING_UNKNOWN 0x8000u /* function ids from here on are named by RING_FUNCTION, per process */

struct ring_exit {
	struct ring_record r; /* flags: bit i: outs[i] holds a value */
	uint64_t seq_seen;
	uint64_t tsc;
	int32_t result;
	uint32_t seq;    /* of the matching enter, low half */
	uint64_t outs[]; /* to the record's end; see trace/schema.sql: o0.. */
};

/* Blocks {u64 address, u32 bytes, u32 param, bytes, padding to 8}: as call_memory.data. May come in several
 * records. */
struct ring_memory {
	struct ring_record r; /* flags: phase 0 or 1 */
	uint64_t seq;
	uint8_t blocks[];
};

/* RING_WRITTEN: what a launch left at device_address. RING_KEYFRAME: what an allocation there held before a launch.
 * RING_ANNOUNCED: the bytes are to come from a thread of the driver's, under the same id and with
 * RING_PAYLOAD_STAGED. The stream may fault first, or the process end: without them the payload is
 * unavailable.
 */
enum ring_payload_kind {
	RING_H2D,
	RING_D2H,
	RING_IMAGE,
	RING_UNAVAILABLE,
	RING_ANNOUNCED,
	RING_WRITTEN,
	RING_KEYFRAME
};
enum ring_payload_flag { RING_PAYLOAD_FIRST = 1, RING_PAYLOAD_LAST = 2, RING_PAYLOAD_STAGED = 4 };
struct ring_payload {
	struct ring_record r; /* flags: enum ring_payload_flag */
	uint64_t seq;         /* call it belongs to; may be another thread's (asynchronous copies) */
	uint32_t kind;        /* enum ring_payload_kind */
	int32_t param;
	uint64_t id;    /* joins the pieces: unique per process */
	uint64_t total; /* bytes of the whole payload */
	uint64_t address, device_address;
	uint64_t width, height, depth;
	uint64_t offset;     /* of this piece in the whole: pieces from several threads come in any order */
	uint64_t data_bytes; /* in this piece */
	uint8_t data[];      /* RING_UNAVAILABLE: the reason as text */
};

struct ring_copy {
	struct ring_record r; /* flags: enum ring_payload_kind | param << 8 */
	uint64_t seq, address, device_address, data_bytes;
	uint8_t data[];
};

struct ring_function {
	struct ring_record r;
	uint32_t func, pad;
	char name[]; /* NUL-terminated */
};

struct ring_launch {
	struct ring_record
		r; /* flags: 1 = size is known from the driver or the collector; 0 = unknown, no bytes */
	uint64_t seq;
	uint64_t function; /* handle */
	uint32_t nparams, param_bytes;
	uint8_t params[]; /* packed at the driver's offsets */
};

struct ring_kernel {
	struct ring_record r;
	uint64_t function, module; /* handles; module may be a library's */
	char name[];
};

struct ring_device {
	struct ring_record r;
	uint32_t ordinal, driver_version, cc_major, cc_minor, sm_count;
	uint32_t is_ours; /* the driver is cutrace's, which executes PTX alone */
	uint64_t bytes;
	uint8_t uuid[16];
	char name[104]; /* NUL-terminated */
};

struct ring_stream {
	struct ring_record r;
	uint64_t seq, stream, context;
};

struct ring_hash {
	struct ring_record r;
	uint64_t seq, base, bytes;
	uint8_t hash[16];
};

/* --check: numbers of a range after a launch. */
struct ring_sketch {
	struct ring_record r; /* flags: 1 = hash holds the hash of the chunks' hashes */
	uint64_t seq, base;
	uint8_t hash[16];
	struct sketch sketch;
};

struct ring_thread {
	struct ring_record r;
	uint64_t tid;
	char name[16];
};

#define RING_DIAG_DRIVER 0x100u
struct ring_diag {
	struct ring_record r; /* flags: 0 info, 1 warning, 2 error; | RING_DIAG_DRIVER: the driver said it */
	uint64_t seq;
	char text[];
};

/* ---- the socket ---------------------------------------------------------
 * SOCK_SEQPACKET, Unix. A process connects once (again after fork), says HELLO, and is answered with the
 * session page's descriptor. Each thread's ring is announced with its memfd. Questions are answered in order.
 */
enum ring_message_kind {
	RING_MSG_HELLO = 1, /* struct ring_hello; answer: RING_MSG_WELCOME with the session memfd */
	RING_MSG_WELCOME,
	RING_MSG_RING,       /* memfd attached; answer: RING_MSG_TAKEN or RING_MSG_REFUSED */
	RING_MSG_ASK_PARAMS, /* struct ring_ask: layout of a kernel's parameters; answer: RING_MSG_PARAMS */
	RING_MSG_PARAMS,
	RING_MSG_BYE, /* orderly end: all rings are final; answered with BYE when drained */
	RING_MSG_TAKEN,
	RING_MSG_REFUSED,     /* the thread is to have no ring */
	RING_MSG_ASK_WRITTEN, /* struct ring_ask_written; answer: RING_MSG_WRITTEN */
	RING_MSG_WRITTEN,
	RING_MSG_SAY, /* struct ring_say: a diagnostic of a process that has no ring to put it in; no answer
		       */
};
struct ring_message {
	uint32_t kind, bytes;
};
struct ring_hello {
	struct ring_message m;
	uint32_t version, pid, ppid;
	uint32_t token;  /* of this process image; the same again when the program closed our socket and we
			    come back */
	char text[4000]; /* exe \0 cwd \0 argv... \0 \0, cut if longer */
};
struct ring_say {
	struct ring_message m;
	char text[248]; /* NUL-terminated */
};
struct ring_ask {
	struct ring_message m;
	uint64_t function; /* handle as the program sees it */
	uint64_t seq;      /* all records of this thread up to here are published */
	char name[1024];   /* kernel's name when the recorder knows it */
};
enum ring_checked {
	RING_CHECKED = 1,          /* of those that --check chooses */
	RING_CHECKED_CONTENTS = 2, /* what was written is kept, not its hash alone */
	RING_CHECKED_ALWAYS = 4,   /* each of them: nothing else tells what it does */
};
struct ring_params {
	struct ring_message m;
	uint32_t known, nparams, total_bytes, writes_unknown;
	uint32_t checked, pad; /* enum ring_checked: what is looked at of its launches */
	struct {
		uint32_t offset, bytes;
		uint8_t is_pointer, is_written, pad[6];
	} p[256];
};

/* Which bytes a launch may write. */
#define RING_ASK_PARAMS 4096u
struct ring_ask_written {
	struct ring_message m; /* bytes: of what is sent, that is without the rest of params */
	uint64_t function, seq;
	uint32_t grid[3], block[3];
	uint64_t param_bytes;
	uint8_t params[RING_ASK_PARAMS];
};
struct ring_written {
	struct ring_message m;
	uint32_t known; /* 0: it may write anywhere */
	uint32_t n;
	struct {
		uint32_t offset, bytes; /* the parameter's place */
		uint32_t is_bounded;    /* 0: anywhere in the allocation that it points to */
		uint8_t type, pad[3];   /* enum sketch_type of what is stored */
		uint64_t first, end;
	} p[64];
};

/* Environment of a traced process. */
#define RING_ENV_SOCKET   "CUTRACE_SOCKET"   /* path, or @abstract */
#define RING_ENV_REDIRECT "CUTRACE_REDIRECT" /* what the redirector loads in place of libcuda.so.1 */
#define RING_ENV_DRIVER   "CUTRACE_DRIVER"   /* the real driver, absolute path */

#endif
