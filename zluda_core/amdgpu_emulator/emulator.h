/* SPDX-License-Identifier: Apache-2.0
 *
 * amdgpu_emulator: executes AMD GPU code objects on the CPU, as the hardware
 * would: registers, lanes, masks, LDS, scratch and float modes of AMD's ISA
 * documents ("RDNA 2/3/3.5/4", "CDNA 2/3" instruction set architecture), the
 * loader's and the dispatch's conventions of LLVM's AMDGPUUsage document.
 *
 * It owns a code object's image and, while a launch runs, its waves. It links
 * no LLVM: instructions arrive as the text of a disassembler (amdgpu_object_line;
 * amdgpu_decode.h makes such lines with LLVM 19). Global memory is the caller's:
 * every access asks struct amdgpu_memory and must lie in one of its windows.
 *
 * Functions return 0 or a CUTRACE_E* code with *diag filled. Objects may be used
 * by several launches at once; opening, placing and adding lines may not overlap them.
 */
#ifndef CUTRACE_AMDGPU_EMULATOR_H
#define CUTRACE_AMDGPU_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct amdgpu_object;

/* One argument of a kernel: .args of the code object's metadata. */
enum amdgpu_arg_kind {
	AMDGPU_ARG_VALUE, /* by value, or a pointer that the caller gives */
	AMDGPU_ARG_BLOCK_COUNT,
	AMDGPU_ARG_GROUP_SIZE = AMDGPU_ARG_BLOCK_COUNT + 3,
	AMDGPU_ARG_REMAINDER = AMDGPU_ARG_GROUP_SIZE + 3,
	AMDGPU_ARG_GLOBAL_OFFSET = AMDGPU_ARG_REMAINDER + 3,
	AMDGPU_ARG_GRID_DIMS = AMDGPU_ARG_GLOBAL_OFFSET + 3,
	AMDGPU_ARG_PRIVATE_BASE,
	AMDGPU_ARG_SHARED_BASE,
	AMDGPU_ARG_DYNAMIC_LDS,
	AMDGPU_ARG_UNUSED, /* hidden, and zero here: printf and hostcall buffers, heaps, queues */
};

struct amdgpu_arg {
	uint32_t offset, size;
	enum amdgpu_arg_kind kind;
};

/* A kernel's descriptor (64 bytes, AMDGPUUsage "Kernel Descriptor") and what the metadata note says of it. */
struct amdgpu_kernel {
	char *name;
	const struct amdgpu_object *object;
	uint64_t entry; /* offset in the image */
	uint32_t group_bytes, private_bytes, kernarg_bytes;
	uint32_t rsrc1, rsrc2, rsrc3;
	uint16_t properties, preload;
	unsigned wave_size; /* 32 or 64 */
	unsigned vgprs;     /* allocated by the descriptor, accumulation registers included */
	struct amdgpu_arg *args;
	unsigned nargs;
};

/* Checks the file (ELF64, EM_AMDGPU, code object 4 to 6) and keeps a copy of its segments. */
int amdgpu_object_open(struct amdgpu_object **out, const void *bytes, size_t size, struct diag *d);
void amdgpu_object_close(struct amdgpu_object *o);
const char *amdgpu_object_target(const struct amdgpu_object *o); /* "gfx1100" */
const struct amdgpu_kernel *amdgpu_object_kernel(const struct amdgpu_object *o, const char *name);
const struct amdgpu_kernel *amdgpu_object_kernels(const struct amdgpu_object *o, unsigned *count);
/* The image: host memory that the caller maps at the address given to amdgpu_object_place, which also applies
 * the dynamic relocations for it. */
void *amdgpu_object_image(const struct amdgpu_object *o, uint64_t *bytes);
int amdgpu_object_place(struct amdgpu_object *o, uint64_t address, struct diag *d);
/* Device address of a symbol of the dynamic symbol table; false when there is none. */
bool amdgpu_object_symbol(const struct amdgpu_object *o, const char *name, uint64_t *address,
			  uint64_t *bytes);

/* Executable segments, to be disassembled: offsets in the image. */
struct amdgpu_code {
	const uint8_t *bytes;
	uint64_t offset, size;
};
unsigned amdgpu_object_code(const struct amdgpu_object *o, struct amdgpu_code *out, unsigned max);
/* One instruction: where, how long, its text. Text that is not understood is kept; executing it is a fault. */
int amdgpu_object_line(struct amdgpu_object *o, uint64_t offset, unsigned size, const char *text,
		       struct diag *d);
/* Source of the instruction at an offset, by .debug_line: false when there is none. *file lives as long as the object. */
bool amdgpu_object_source(const struct amdgpu_object *o, uint64_t offset, const char **file, unsigned *line);
/* Texts of the instructions that could not be executed: fills up to max, returns how many there are. */
size_t amdgpu_object_unknown(const struct amdgpu_object *o, const char **texts, size_t max);

/* Global memory. find() gives the window (one mapping, exact bounds) that holds addr; windows stay valid while
 * the launch runs. May be called from several threads. */
struct amdgpu_window {
	uint64_t address, bytes;
	uint8_t *host;
	bool writable;
};
struct amdgpu_memory {
	void *ctx;
	bool (*find)(void *ctx, uint64_t addr, struct amdgpu_window *out);
};

struct amdgpu_launch {
	const struct amdgpu_kernel *kernel;
	uint32_t grid[3], block[3]; /* workgroups; work-items of one */
	uint32_t dynamic_lds;
	const void *args; /* the explicit part of the kernarg segment */
	size_t args_bytes;
	struct amdgpu_memory memory;
	/* Scratch of a work-item beyond what the descriptor says: compilers do not count recursion. 0: 16 KiB where
	 * the descriptor asks for a dynamic stack. */
	uint32_t stack_bytes;
	/* Host threads, workgroups in parallel; 0 = one a processor. With one the launch is deterministic: workgroups
	 * in the order of their number, turns and clocks by instructions. */
	unsigned threads;
	/* All workgroups are resident from the start and take short turns (barriers of the whole grid), or the launch
	 * is refused. Others are resident when those before them have ended, or have run for long or only polled: a
	 * workgroup may wait for one of a lower number, and for any of the first 1,024 while there is memory. */
	bool cooperative;
	/* A register that is read or overwritten while an instruction that has not been waited for may still write it
	 * is a fault. */
	bool check_waits;
	/* A seed: what hardware only estimates is moved within its stated error; 0: it is not. */
	uint32_t perturb;
	uint64_t budget;        /* wave-instructions until the launch counts as hanging; 0 = 2^40 */
	uint32_t watchdog_ms;   /* the same by the wall clock; 0 = no limit */
	uint32_t register_fill; /* what registers hold before they are written */
	/* Not zero: the launch ends soon, without a fault. Read between turns; NULL: none. */
	const uint32_t *stop_word;
};

enum amdgpu_fault_kind {
	AMDGPU_FAULT_NONE,
	AMDGPU_FAULT_LAUNCH,      /* the launch itself is impossible */
	AMDGPU_FAULT_ADDRESS,     /* outside of every window, or read-only */
	AMDGPU_FAULT_ALIGNMENT,   /* atomics */
	AMDGPU_FAULT_INSTRUCTION, /* unknown, or not where an instruction begins */
	AMDGPU_FAULT_TRAP,
	AMDGPU_FAULT_BUDGET,
	AMDGPU_FAULT_DEADLOCK,
	AMDGPU_FAULT_MEMORY, /* the host has none left */
	AMDGPU_FAULT_WAIT,   /* check_waits */
	AMDGPU_FAULT_TIMEOUT,
};

struct amdgpu_fault {
	enum amdgpu_fault_kind kind;
	uint64_t pc, address; /* device addresses; an offset in LDS and scratch */
	/* Of ADDRESS and ALIGNMENT. */
	uint32_t access_bytes;
	bool is_store, is_atomic;
	char space[16]; /* "global", "shared", "local" */
	uint32_t block[3], thread[3];
	unsigned wave, lane;
	const char *
		file; /* source of the instruction by the code object's line table, or NULL: lives as long as it */
	unsigned line;
	char instruction[128];
	char what[256];    /* the message without where */
	char message[768]; /* complete */
};

struct amdgpu_stats {
	uint64_t instructions; /* wave-instructions executed */
};

/* Runs a launch to its end or its first fault. stats may be NULL. */
int amdgpu_launch_run(const struct amdgpu_launch *l, struct amdgpu_fault *fault, struct amdgpu_stats *stats);

/* Rows of the op tables: mnemonics that can be executed. */
unsigned amdgpu_op_count(void);

#endif
