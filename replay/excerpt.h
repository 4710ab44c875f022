/* SPDX-License-Identifier: Apache-2.0
 *
 * excerpt: a trace of a few launches and nothing else. It is written anew, call by call, in one plain form: a context,
 * allocations, modules, copies to the device, launches with what they wrote. Whatever else the program did, said or was
 * called is not in it, because nobody put it there. This is the writer, for the replayer (excerpt_take.c), which knows
 * what memory a launch begins with, and for who makes smaller traces of such a trace (reduce/).
 *
 * Handles, host addresses and times are made up; device addresses are those of the recording.
 */
#ifndef CUTRACE_REPLAY_EXCERPT_H
#define CUTRACE_REPLAY_EXCERPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "trace/trace.h"

/* Where a launch in clusters has its attribute, in the call's memory: {u32 number, u32 unused, u32 cluster[3], ...}. */
#define EXCERPT_CLUSTER UINT64_C(0x7ffe00001100)

struct excerpt;

/* What the launch's call says and the launch's row does not. */
struct excerpt_launch {
	struct trace_launch row; /* .call and .kernel are filled in */
	uint32_t cluster[3];     /* 0: none asked for */
	const void *params;
	size_t param_bytes;
};

/* Replaces the file. The device, NULL: not known, is what the program was told it runs on.  scratch:
 * the file will not be kept. */
int excerpt_open(struct excerpt **out, const char *path, const struct trace_device *device, bool scratch,
		 struct diag *d);
/* After any of the calls below: all of them do nothing once one has failed. */
int excerpt_error(const struct excerpt *x, struct diag *d);
void excerpt_meta(struct excerpt *x, const char *key, const char *value);
/* Finishes the file; frees x. Where that fails the file is removed. */
int excerpt_close(struct excerpt *x, struct diag *d);
void excerpt_abandon(struct excerpt *x); /* removes the file, frees x */

void excerpt_allocate(struct excerpt *x, uint64_t base, uint64_t bytes);
void excerpt_free(struct excerpt *x, uint64_t base);
/* A module, by number from 0: its image, and its PTX where it has some (NULL: none, or the image is PTX). */
unsigned excerpt_module(struct excerpt *x, const void *image, size_t bytes, const char *kind,
			const char *archs, const void *ptx, size_t ptx_bytes);
void excerpt_variable(struct excerpt *x, unsigned module, const char *name, uint64_t base, uint64_t bytes);
/* A kernel, by number from 0; k->module is filled in. */
unsigned excerpt_kernel(struct excerpt *x, unsigned module, const struct trace_kernel *k);
/* A copy to the device in pieces: begin, as many pieces as there are, end. */
void excerpt_copy_begin(struct excerpt *x);
void excerpt_piece(struct excerpt *x, const void *data, size_t bytes);
/* known: what is there already; equal contents are not copied again. NULL: nothing is. */
struct trace_hash excerpt_copy_end(struct excerpt *x, uint64_t address, uint64_t bytes,
				   const struct trace_hash *known);
/* Then what it wrote, range by range: copy_begin, pieces, written_end. */
void excerpt_launch(struct excerpt *x, unsigned kernel, const struct excerpt_launch *l);
struct trace_hash excerpt_written_end(struct excerpt *x, uint64_t address, uint64_t bytes);

/* ---- excerpt_make.c: an excerpt of a trace, by replaying it in a child ---- */

struct workroom;

struct excerpt_request {
	const char *trace, *out;
	uint64_t first, last;  /* calls */
	const uint64_t *calls; /* NULL: all of these; else those of them that are here, in order */
	size_t ncalls;
	const char *device;                           /* NULL: the interpreter */
	bool remake, ptx_only, all_memory, scratch;   /* as of struct replay_options */
	char *(*edit)(const char *ptx, size_t bytes); /* likewise */
	double limit_s;
};
/* 0 and the file; or the reason, and none. */
int excerpt_make(const struct workroom *w, const struct excerpt_request *q, struct diag *d);
/* The launches of a result database with kernel and grades, one a line, in order; malloc'ed, NULL: it can't be read. Two
 * replays of the same launches have the same verdict if these are equal. */
char *excerpt_grades(const char *result_path);

#endif
