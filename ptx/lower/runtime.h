/* SPDX-License-Identifier: Apache-2.0
 *
 * runtime: the run-time block, through which a kernel on an AMD GPU and the host talk: faults, printf, the heap of
 * malloc, textures, the words of a grid's barrier. One per launch in flight, in device memory. Kernels that need it get
 * its address in their kernarg segment, at `lowered.runtime_offset`.
 *
 * Plain C for three sides: the text that ptx/lower writes, the device library (zluda_core/compiler/device_library)
 * and the host (zluda_core/device_amd). Addresses are device addresses; 0 is "there is none". The host writes all of
 * it before a launch and reads faults and prints after. Heap and locks are elsewhere, and live as long as the device.
 *
 * Depends on nothing.
 */
#ifndef CUTRACE_PTX_LOWER_RUNTIME_H
#define CUTRACE_PTX_LOWER_RUNTIME_H

#include <stdint.h>

/* What a kernel reports. The host adds kernel, PTX text and source line. */
enum lower_fault_kind {
	LOWER_FAULT_NONE,
	LOWER_FAULT_TRAP,   /* trap */
	LOWER_FAULT_BRKPT,  /* brkpt */
	LOWER_FAULT_ASSERT, /* text: message, file, function; number: line of the source */
	LOWER_FAULT_FREE,   /* free() of what isn't on the heap; address */
	LOWER_FAULT_ADDRESS,
	LOWER_FAULT_MISALIGNED,
	LOWER_FAULT_SPACE,
	LOWER_FAULT_STACK,       /* calls too deep, alloca too large */
	LOWER_FAULT_CALL,        /* an indirect call of what is no function; address: the pointer */
	LOWER_FAULT_INSTRUCTION, /* reached what can't be executed; text[0] may say why */
	LOWER_FAULT_TEXTURE,     /* address: the handle; text[0] says what is wrong with it */
	LOWER_FAULT_KINDS
};

/* `state`. The first lane that claims it fills it in; the others' faults are dropped. */
enum { LOWER_FAULT_FREE_TO_CLAIM, LOWER_FAULT_CLAIMED, LOWER_FAULT_COMPLETE };

enum { LOWER_FAULT_TEXTS = 3, LOWER_FAULT_TEXT_BYTES = 256 };

struct lower_fault {
	uint32_t state;
	uint32_t kind;
	uint32_t line; /* of the PTX text; 0: not known */
	uint32_t number;
	uint32_t stop; /* set with the fault, last: who waits for other lanes gives up */
	uint32_t reserved;
	uint64_t address;
	uint32_t block[3], thread[3];
	char text[LOWER_FAULT_TEXTS][LOWER_FAULT_TEXT_BYTES]; /* NUL-terminated, cut */
};

/* Output of vprintf: records one after another in a buffer of `bytes`, of which `used` are taken. Calls that found no
 * room are counted. */
struct lower_print {
	uint64_t address, bytes, used;
	uint32_t lost, reserved;
};

/* A record: this, the format with its NUL, the arguments as vprintf's caller laid them out (naturally aligned values, as
 * far as the format takes them), then the strings of its %s, each with its NUL, in order. A null pointer has no string.
 * All parts are padded to 8 bytes. */
struct lower_print_record {
	uint32_t bytes; /* of the record, this included */
	uint32_t format_bytes, argument_bytes, string_bytes;
};

/* The heap of malloc: blocks with a header each, one after another, in an arena; free ones also in lists by size. All
 * zero but for the arena, it is an empty heap; who first takes the lock prepares it. Sizes and places are in
 * units of 16 bytes. device_library/heap.c says how it works. */
enum { LOWER_HEAP_UNIT = 16, LOWER_HEAP_LEVELS = 32, LOWER_HEAP_PARTS = 4 };

struct lower_heap {
	uint64_t address, bytes;
	uint32_t lock, ready;
	uint32_t levels;                                     /* bit k: some list of level k has blocks */
	uint32_t parts[LOWER_HEAP_LEVELS];                   /* bit k: list k of the level has blocks */
	uint32_t first[LOWER_HEAP_LEVELS][LOWER_HEAP_PARTS]; /* place of a list's first block; 0: empty */
};

enum { LOWER_LOCKS = 64 };

struct lower_runtime {
	struct lower_fault fault;
	struct lower_print print;
	uint64_t heap;           /* struct lower_heap */
	uint64_t textures;       /* struct dev_texture[DEV_TEXTURES], zluda_core/device_texture.h */
	uint64_t grid_workspace; /* %envreg1, %envreg2: 64 zero bytes of a cooperative launch */
	uint64_t launch_id;      /* %gridid */
	uint32_t dynamic_shared_bytes;
	uint32_t compute_units; /* %nsmid */
	uint64_t
		timer_scale; /* nanoseconds of a tick of the constant-rate counter, times 2^32: %globaltimer */
	uint64_t locks;      /* uint32_t[LOWER_LOCKS]: of 128-bit atomics, by address; 0: free */
};

/* The value of a pointer to function `index` of the module: what mov writes, what variables are initialised with and an
 * indirect call compares. */
#define LOWER_FUNCTION_ADDRESS(index) (0x10000ull + 16ull * (index))

#endif
