/* SPDX-License-Identifier: Apache-2.0
 *
 * check: the checked mode, option check=uninit+races+barriers or all. It costs nothing when it is off: what it
 * looks at is decided when code is decoded, where the handler of each access is replaced by one that checks and then
 * calls it. (Out of bounds, misaligned and freed memory is always checked, by mem_resolve.c.)
 *
 * uninit    A load, atomic operation or asynchronous copy that reads bytes nobody has written: of memory from
 *           cuMemAlloc, cuMemCreate or device-side malloc, of shared memory, of a thread's own variables. A bit a byte;
 *           copies between device memories carry the bits along. Host and managed memory counts as written.
 * races     Two accesses to the same bytes of global or shared memory by different warps, one of them a write, at
 *           least one neither atomic nor strong (volatile, relaxed, acquire, release), with nothing between them that
 *           orders them. And two lanes of one store that write different values to one place.  A store of the value
 *           that is there already conflicts with stores of other values only.
 *           What orders: barriers of the block (vector clocks of its warps); and a strong write or atomic operation
 *           after a fence, or with .release, followed by a strong read or atomic operation of the same word: there a
 *           single counter of the device stands for all clocks (Lamport's), which never takes an ordered pair for a
 *           race, but may take an unordered one for ordered in kernels that synchronise in this way. Lanes of one warp
 *           are not told apart, scopes (.cta, .gpu) neither; kernels of different launches are not compared.
 * barriers  An operation of a warp (shfl.sync, vote.sync, bar.warp.sync...) whose mask doesn't name a thread that
 *           executes it. A barrier that some threads of a warp pass at another instruction than others, or that completes
 *           while threads of a participating warp have neither come nor exited.
 *
 * A finding names kernel, PTX line, source line, block, thread, address and nearest allocation, and the other thread and
 * line of a race. Each pair of lines is reported once a kernel, at most CHECK_FINDINGS of them; a summary counts all.
 * The launch goes on, unless check_error=1: then the first finding is its fault.
 */
#ifndef CUTRACE_INTERP_CHECK_H
#define CUTRACE_INTERP_CHECK_H

#include "zluda_core/device_interp/decode.h"

enum { CHECK_UNINIT = 1, CHECK_RACES = 2, CHECK_BARRIERS = 4, CHECK_ALL = 7 };
enum { CHECK_FINDINGS = 16, CHECK_WARPS = 32, CHECK_PAGE = 4096 };

/* One access of an instruction, for each lane that is on. */
struct check_access {
	uint32_t address; /* cell of 64-bit addresses */
	int64_t offset;
	uint8_t space;
	bool read, write;
	uint32_t bytes;
	uint32_t length; /* cell of 32-bit lengths, at most `bytes`; OPERAND_NONE */
	/* matrices: lane l reads or writes row l at its address (rows lanes count), or, with a stride, `rows` rows lie
	 * behind the first lane's address */
	uint32_t rows, stride_bytes;
	uint32_t stride; /* cell of strides in units of stride_bytes; OPERAND_NONE: stride_bytes itself */
};

struct check_site {
	exec_fn fn; /* the handler */
	uint32_t naccesses;
	struct check_access a[2];
	bool strong; /* atomic, or volatile, relaxed, acquire, release */
	bool acquires, publishes, releases, fence;
	bool afterwards;  /* collective: the handler may be tried several times */
	uint32_t data[8]; /* cells that a plain store writes, for silent stores */
	uint8_t ndata, data_bytes;
};

/* Who read or wrote a word last. */
struct check_mark {
	uint32_t block; /* linear + 1; 0 = nobody */
	uint32_t clock; /* of its warp */
	uint32_t stamp; /* the device's counter at that time */
	uint32_t line;
	uint16_t thread;
	uint8_t bytes; /* of the word, a bit each */
	bool strong;
	bool silent;    /* a store of the value that was there */
	uint16_t value; /* hash of what is stored, 0 = unknown: memory changes only after the mark */
};
struct check_cell { /* of a 32-bit word */
	struct check_mark writer, readers[2];
	uint32_t launch;    /* that the marks are of */
	uint32_t published; /* stamp that a reader of this word acquires */
};

struct check_page { /* of host memory */
	struct check_page *next;
	uint64_t number;
	uint64_t written[CHECK_PAGE / 64];
	struct check_cell *cells; /* CHECK_PAGE / 4, or NULL */
};

struct check_range { /* memory whose bytes are unwritten at first */
	uint64_t begin, end;
};

struct check_finding {
	uint8_t kind;
	uint32_t line, other;
};

/* Findings of a kernel, over all its launches. */
struct check_kernel {
	struct check_kernel *next;
	char name[128], module[128];
	struct check_finding found[CHECK_FINDINGS];
	uint32_t nfound;
	bool more;      /* other lines than those that found[] has room for */
	uint64_t total; /* accesses, barriers */
};

struct checker {
	struct interp_device *dev;
	pthread_mutex_t lock; /* of everything here */
	uint8_t what;
	struct check_page **buckets;
	struct check_range *ranges; /* ascending */
	uint32_t nranges, ranges_capacity;
	uint64_t cell_bytes;
	bool cells_refused;
	uint32_t stamp, launch, grids;
	struct check_kernel *kernels;
};

/* Of a launch. */
struct check_grid {
	struct check_kernel *kernel;
	uint32_t launch;
	uint64_t count; /* findings of this launch */
	bool said;      /* one of them was new */
	char first[512];
};

/* Of a block. */
struct check_block {
	uint8_t *shared_written; /* a bit a byte */
	struct check_cell *shared_cells;
	uint32_t nwarps;
	uint32_t clock[CHECK_WARPS][CHECK_WARPS]; /* [w][v]: the newest clock of v that w knows of */
	uint32_t acquired[CHECK_WARPS], fenced[CHECK_WARPS];
	struct {
		uint32_t clock[CHECK_WARPS], acquired, fenced;
	} barrier[BARRIERS];
	uint8_t *local_written[CHECK_WARPS]; /* a bit a byte of the lanes' stacks */
};

/* check.c: options and the hooks of device, launch and block. */
int check_set(struct interp_device *dev, const char *value, struct diag *d);
void check_close(struct interp_device *dev);
void check_grid_begin(struct grid *g);
bool check_grid_end(struct grid *g); /* the launch fails: g->fault is filled */
bool check_block_create(struct block *b);
void check_block_start(struct block *b);
void check_block_destroy(struct block *b);

/* check_shadow.c: which bytes are written, marks of words; with the lock held but for the first four. */
void check_memory_created(struct checker *c, const uint8_t *host, uint64_t bytes);
void check_memory_gone(struct checker *c, const uint8_t *host, uint64_t bytes);
void check_written(struct checker *c, const uint8_t *host, uint64_t bytes);
void check_copied(struct checker *c, const uint8_t *to, const uint8_t *from, uint64_t bytes);
bool shadow_is_written(struct checker *c, const uint8_t *host, uint32_t bytes);
void shadow_set_written(struct checker *c, const uint8_t *host, uint64_t bytes);
struct check_cell *shadow_cell(struct checker *c, const uint8_t *host);
void shadow_drop_cells(struct checker *c);
bool bits_all_set(const uint8_t *bits, uint64_t first, uint64_t n);
void bits_set(uint8_t *bits, uint64_t first, uint64_t n, bool value);

/* check_sites.c */
int check_function_entry(struct decode *c);
/* Around the emission of an instruction: what it accesses, then its handler is replaced. */
int check_site_begin(struct decode *c, struct check_site **site);
int check_site_end(struct decode *c, struct check_site *site, uint32_t first);

/* check_exec.c */
const struct xinst *exec_checked(struct warp *w, const struct xinst *i);
const struct xinst *exec_check_entry(struct warp *w, const struct xinst *i);

/* check_race.c */
struct check_place { /* an access of one lane */
	const uint8_t *host;
	uint64_t address; /* as the program sees it */
	uint32_t offset;  /* in shared memory */
	uint32_t bytes;
	bool is_shared;
	unsigned lane;
};
void race_read(struct warp *w, const struct xinst *i, const struct check_site *s,
	       const struct check_place *p);
/* silent: of the value that is there. */
void race_write(struct warp *w, const struct xinst *i, const struct check_site *s,
		const struct check_place *p, bool silent);
void race_publish(struct warp *w, const struct check_site *s, const struct check_place *p);
void race_acquire(struct warp *w, const struct check_place *p);
void race_fence(struct warp *w);
/* barrier.c */
void check_barrier_arrive(struct warp *w, uint32_t number);
void check_barrier_release(struct block *b, uint32_t number);

/* check_report.c: lane takes part in an operation among `members`, which it is none of. */
void check_members_lack(struct warp *w, const struct xinst *i, unsigned lane, uint32_t members);

/* With the checker's lock held. */
enum check_kind { FINDING_UNINIT, FINDING_RACE, FINDING_BARRIER, FINDING_MEMBERS };
void check_report(struct warp *w, const struct xinst *i, unsigned lane, enum check_kind kind,
		  uint32_t other_line, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* "global address 0x..., 16 bytes into the nearest allocation ..." */
void check_describe_place(struct warp *w, const struct check_place *p, char *buf, size_t n);
/* "m.ptx:12 `st.global...`" */
void check_describe_line(struct warp *w, uint32_t line, char *buf, size_t n);
void check_summary(struct grid *g);

#endif
