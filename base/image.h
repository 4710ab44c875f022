/* SPDX-License-Identifier: Apache-2.0
 *
 * image: recognises and measures code images as programs hand them to the driver: PTX text, cubins
 * (ELF), fatbin containers and the wrappers around them. Libc only, allocates nothing and keeps no state:
 * the in-process recorder links it. Contents are read by ptx/fatbin.h and ptx/cubin.h.
 */
#ifndef CUTRACE_BASE_IMAGE_H
#define CUTRACE_BASE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

enum image_kind {
	IMAGE_UNKNOWN,
	IMAGE_PTX,
	IMAGE_CUBIN,
	IMAGE_FATBIN,         /* container, magic 0xba55ed50; several may follow each other */
	IMAGE_FATBIN_WRAPPER, /* struct with a pointer to a container, magic 0x466243b1: in memory only */
	IMAGE_LTO,            /* LTO-IR on its own */
};

#define IMAGE_FATBIN_MAGIC  0xba55ed50u
#define IMAGE_WRAPPER_MAGIC 0x466243b1u

/* What the bytes at p are. Reads max_bytes at most; pass SIZE_MAX for an image in memory whose size is
 * not known (as the driver gets it): then no more is read than needed to tell. */
enum image_kind image_probe(const void *p, size_t max_bytes);

/* "ptx", "cubin", "fatbin", "fatbin wrapper", "lto", "unknown" */
const char *image_kind_name(enum image_kind kind);

/* One contiguous piece of an image in memory. */
struct image_part {
	const void *data;
	size_t bytes;
};

/* The pieces an image in this process's memory consists of, in order: one for PTX (with its NUL), ELF and
 * containers; for a wrapper the container it points to and, in version 2, the prelinked containers of its
 * list. Laid one after the other they are what a trace stores, and fatbin_open reads that. Returns how many
 * there are, also when that is more than max_parts, of which `parts` has the first; 0 when unknown. */
size_t image_parts(const void *p, struct image_part *parts, size_t max_parts);

/* Bytes of all parts together; 0 when the kind is unknown. Trusts p as the driver does. */
size_t image_size(const void *p);

/* Bytes of the fatbin container at p according to its header, 0 when there is none. max_bytes as above. */
size_t image_container_size(const void *p, size_t max_bytes);

/* Bytes of an ELF file according to its headers, 0 when they contradict themselves. max_bytes as above. */
size_t image_elf_size(const void *p, size_t max_bytes);

#endif
