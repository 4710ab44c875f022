/* SPDX-License-Identifier: Apache-2.0
 *
 * decode: turns recorded calls into rows, by walking the descriptions in api/. Knows no function by name.
 */
#ifndef CUTRACE_DUMP_DECODE_H
#define CUTRACE_DUMP_DECODE_H

#include "api/api.h"
#include "base/arena.h"
#include "dump/names.h"
#include "dump/row.h"

struct decoder;

/* Calls must be decoded in ascending order. max_elements: of arrays; others are counted. */
struct decoder *decoder_new(struct trace *t, unsigned max_elements);
void decoder_free(struct decoder *d);
/* The row is valid until the next call of this function. NULL when memory ran out. */
const struct row *decode_call(struct decoder *d, const struct trace_call *c);

/* ---- shared by decode*.c ------------------------------------------------------ */

struct decoder {
	struct trace *t;
	unsigned max_elements;
	struct arena arena; /* of the current row */
	struct handle_names *handles;
	struct live_allocations *allocations;
	struct trace_memory *memory[2]; /* by phase */
	struct diagnostic_cursor *diagnostics;
	struct row row;

	/* the call at hand */
	const struct api_func *f;
	const struct trace_call *call;
	uint64_t args[TRACE_MAX_ARGS];
	uint32_t process;
	enum api_phase phase;
	unsigned depth; /* of structs and pointers */
	bool creates;   /* handles in this parameter are new */

	struct ancestry {
		uint32_t thread;
		unsigned n, capacity;
		uint64_t *ids; /* calls around the one at hand */
	} * threads;
	unsigned nthreads, threads_capacity;
};

struct value *decode_value(struct decoder *d, enum value_kind kind);
/* A value of the type, whose first `avail` bytes are at p. */
struct value *decode_type(struct decoder *d, const struct api_type *t, const void *p, size_t avail);
/* n elements at a host address; a lone one without a length becomes a reference. */
struct value *decode_elements(struct decoder *d, const struct api_type *t, uint64_t addr, uint64_t n,
			      bool counted);
struct value *decode_handle(struct decoder *d, const struct api_handle *h, uint64_t u);
struct value *decode_device(struct decoder *d, uint64_t address);
struct value *decode_host(struct decoder *d, uint64_t address);
/* Host memory of the call in d->phase. */
const void *decode_read(void *decoder, uint64_t addr, size_t bytes);
struct api_memory decode_memory(struct decoder *d);
/* decode_kernel.c: the packed parameters of a launch. */
void decode_launch(struct decoder *d, struct row *r);

#endif
