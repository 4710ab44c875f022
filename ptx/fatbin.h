/* SPDX-License-Identifier: Apache-2.0
 *
 * fatbin: reads fatbin containers: which entries there are, for which architecture, and their plain
 * bytes (zstd, LZ4 or stored). Every offset and size is checked: input may be hostile. Names and payloads
 * point into the caller's bytes, which must outlive the struct. Machine code is handed out as bytes and never
 * looked into.
 */
#ifndef CUTRACE_PTX_FATBIN_H
#define CUTRACE_PTX_FATBIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum fatbin_kind { FATBIN_PTX = 1, FATBIN_ELF = 2, FATBIN_LTO = 8 };

enum fatbin_flag {
	FATBIN_64BIT = 0x1,
	FATBIN_DEBUG = 0x2,
	FATBIN_LINUX = 0x10,
	FATBIN_LZ4 = 0x2000,
	FATBIN_ZSTD = 0x8000,
	FATBIN_ARCH_SPECIFIC = 0x100000,   /* sm_90a */
	FATBIN_FAMILY_SPECIFIC = 0x200000, /* sm_100f */
};

enum fatbin_codec { FATBIN_STORED, FATBIN_CODEC_LZ4, FATBIN_CODEC_ZSTD };

struct fatbin_entry {
	uint16_t kind;         /* enum fatbin_kind, or another number */
	uint16_t major, minor; /* of the code: PTX ISA version */
	uint32_t arch;         /* 90 = sm_90 */
	char suffix;           /* 'a', 'f', or 0 */
	uint64_t flags;
	const char *name; /* source file; not NUL-terminated */
	size_t name_bytes;
	const char *options; /* for the JIT compiler; not NUL-terminated, binary for some ELF entries */
	size_t options_bytes;
	enum fatbin_codec codec;
	const void *payload; /* as stored */
	size_t stored_bytes; /* exact compressed bytes, or plain bytes with padding */
	size_t plain_bytes;  /* after decompression */
	unsigned container;  /* which of several containers */
};

struct fatbin {
	unsigned ncontainers, nentries;
	struct fatbin_entry *entries;
};

/* Reads the headers of the containers at p, one or several one after the other (zero padding between them is
 * skipped). 0, or CUTRACE_EFORMAT with offset and reason; fatbin_close in both cases is allowed. */
int fatbin_open(struct fatbin *fb, const void *p, size_t bytes, struct diag *d);
void fatbin_close(struct fatbin *fb);

/* An entry's plain bytes, malloc'ed, with a NUL after the end that is not counted. For PTX the padding NULs
 * at the end are not counted either. */
int fatbin_entry_load(const struct fatbin_entry *e, void **out, size_t *bytes, struct diag *d);

/* The PTX that a device of compute capability cc (90 = 9.0) takes: the highest one whose target is ≤ cc (an
 * arch-specific one only if equal, a family-specific one only within the same major version). Returns 0.
 * Without one, the lowest that is higher, else any: returns 1, so that callers can say it. CUTRACE_ENOENT: no
 * PTX. */
int fatbin_choose_ptx(const struct fatbin *fb, unsigned cc, unsigned *index);
/* Likewise, among one container's entries. */
int fatbin_choose_ptx_in(const struct fatbin *fb, unsigned container, unsigned cc, unsigned *index);

/* The entries that make up one module on a device of compute capability cc: one, or with relocatable device code one
 * of each container, which are to be linked. A container whose PTX is for newer devices only (the device
 * runtime that nvcc adds is for the newest) is left out when others serve this one, or come nearer: *left_out counts them. Writes
 * at most one index for each container; returns how many, 0 without PTX. */
unsigned fatbin_link_set(const struct fatbin *fb, unsigned cc, unsigned *indexes, unsigned *left_out);

/* "ptx", "elf", "lto", "kind-N" into buf; for "ptx:80 elf:90a" lists */
const char *fatbin_kind_name(unsigned kind);
/* "ptx:80 elf:80 elf:90a": what is in it. Cut at bytes - 1. */
void fatbin_describe(const struct fatbin *fb, char *buf, size_t bytes);

#endif
