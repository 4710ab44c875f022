/* SPDX-License-Identifier: Apache-2.0
 *
 * extract: one launch as a program. An excerpt of one launch (replay/excerpt.h) is read into this description (read.c),
 * which is written as C tables, files of data and a program that is always the same (write.c, run.c).
 */
#ifndef CUTRACE_EXTRACT_H
#define CUTRACE_EXTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "trace/trace.h"

struct extract_module {
	uint64_t handle, buffer; /* buffer: of the trace */
	bool is_ptx;
	const char *kind; /* of an image that is no PTX: "cubin", "fatbin" */
};
struct extract_memory {
	uint64_t address, bytes, buffer; /* buffer 0: nothing was copied there */
	int module;                      /* -1: no variable */
	const char *variable;
};
struct extract_pointer {
	uint32_t at, memory;
	uint64_t offset;
	bool is_word; /* only its value tells that it is one */
};
struct extract_result {
	uint32_t memory;
	uint64_t offset, bytes, buffer;
	const char *type;
};

enum { EXTRACT_MAX = 4096 /* of anything */ };

struct extract {
	struct arena arena;
	struct trace *trace;
	struct extract_module *modules;
	struct extract_memory *memories; /* by address */
	struct extract_pointer *pointers;
	struct extract_result *results;
	unsigned nmodules, nmemories, npointers, nresults;
	struct trace_launch launch;
	const struct trace_kernel *kernel;
	uint32_t cluster[3];
	uint8_t *params;
	size_t param_bytes;
	int kernel_module;
};

/* 0; CUTRACE_ENOTSUP: the trace is no excerpt of one launch that a program can make. */
int extract_read(struct extract *x, const char *trace, struct diag *d);
void extract_free(struct extract *x);

/* What README says of where it comes from. */
struct extract_source {
	const char *trace, *uuid;
	uint64_t call;
};
/* Into the folder, which is there. */
int extract_write(struct extract *x, const char *folder, const struct extract_source *s, struct diag *d);

#endif
