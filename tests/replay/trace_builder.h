/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_builder: traces made by hand, call by call, as a recorder would have written them.
 */
#ifndef CUTRACE_TESTS_REPLAY_TRACE_BUILDER_H
#define CUTRACE_TESTS_REPLAY_TRACE_BUILDER_H

#include <stdint.h>

#include "trace/trace.h"

struct builder {
	struct trace_writer *w;
	uint64_t next;     /* id of the next call */
	uint32_t thread;   /* of the next call; 1 at first */
	int64_t result;    /* of the next call; back to 0 after it */
	uint64_t parent;   /* likewise */
	uint64_t seq_seen; /* likewise; 0: the call's own id */
	bool in_flight;    /* likewise */
	uint64_t image;    /* of the next module: its row in the image table */
	uint64_t outs[TRACE_MAX_OUTS];
	uint32_t outs_valid; /* likewise */
};

void builder_open(struct builder *b, const char *path);
void builder_close(struct builder *b);
/* Appends a call of a known function; returns its id. */
uint64_t builder_call(struct builder *b, const char *name, unsigned nargs, const uint64_t *args);
#define CALL(b, name, ...) \
	builder_call(b, name, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (const uint64_t[]){__VA_ARGS__})
void builder_out(struct builder *b, unsigned slot, uint64_t value); /* of the next call */
void builder_memory(struct builder *b, uint64_t call, unsigned param, uint64_t address, const void *data,
		    size_t bytes);
void builder_payload(struct builder *b, uint64_t call, int param, const char *kind, uint64_t address,
		     uint64_t device, const void *data, size_t bytes);
void builder_payload_2d(struct builder *b, uint64_t call, int param, const char *kind, uint64_t address,
			uint64_t device, const void *data, size_t width, size_t height);
void builder_allocation(struct builder *b, uint64_t call, uint64_t base, uint64_t bytes);
/* A module of one kernel whose parameters are described; returns the kernel's row. */
uint64_t builder_kernel(struct builder *b, uint64_t load_call, uint64_t module, const char *name,
			unsigned nparams, struct trace_kernel_param *params);
void builder_launch(struct builder *b, uint64_t call, uint64_t kernel, const void *params, size_t bytes);

#endif
