/* SPDX-License-Identifier: Apache-2.0
 *
 * row: a call, decoded. Values form a tree: what was passed, what pointers pointed to, what came back.
 * Everything of one call lives in one arena. The printers (print_text.c, print_json.c) need nothing but this
 * header.
 */
#ifndef CUTRACE_DUMP_ROW_H
#define CUTRACE_DUMP_ROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dump/json.h"
#include "trace/trace.h"

enum value_kind {
	VALUE_UNKNOWN, /* not recorded */
	VALUE_NULL,
	VALUE_INT,     /* i */
	VALUE_UINT,    /* u */
	VALUE_RAW,     /* u: bits of unknown meaning */
	VALUE_F32,     /* f */
	VALUE_F64,     /* f */
	VALUE_STRING,  /* text, n */
	VALUE_SYMBOL,  /* text: an enumerator, or A|B */
	VALUE_HANDLE,  /* u, type; number when stable; text: what it is, if known (a kernel's name) */
	VALUE_DEVICE,  /* u; range */
	VALUE_HOST,    /* u; range; an address of the program */
	VALUE_BYTES,   /* text, n */
	VALUE_LIST,    /* children, more */
	VALUE_STRUCT,  /* named children */
	VALUE_REF,     /* one child: a pointer to it */
	VALUE_CHANGE,  /* two children: a pointer to a value before and after the call */
	VALUE_PAYLOAD, /* u: buffer, n: bytes; range of the device side in child, if known */
};

struct value {
	enum value_kind kind;
	const char *name; /* parameter or field */
	const char *type; /* handles: "CUstream"; kernel arguments: "f32" */
	union {
		uint64_t u;
		int64_t i;
		double f;
	};
	const char *text;
	uint64_t n;
	uint64_t more;        /* elements or bytes that are not shown */
	uint64_t allocation;  /* that the address lies in, 0 = none */
	uint64_t offset;      /* in it */
	const char *variable; /* of a module, that the allocation is; or NULL */
	bool measured;        /* a time: differs from run to run */
	uint32_t number;      /* stable number of a handle */
	struct value *child, *next;
};

struct row_payload {
	const char *kind, *note;
	int param;
	uint64_t buffer, bytes, width, height, depth;
	struct value *device; /* NULL when not known */
	bool shown;           /* as an argument: a line of its own says nothing new */
};

struct row_diagnostic {
	const char *severity, *source, *message;
};

struct row {
	struct trace_call call;
	const char *function;
	uint32_t process;
	unsigned depth; /* calls around it */
	struct value *args;
	struct value *result;
	struct trace_launch launch; /* call != 0: there is one */
	const char *kernel;         /* name, or NULL */
	bool kernel_has_ptx;
	struct value *kernel_args;
	bool kernel_args_known;
	unsigned npayloads, ndiagnostics;
	struct row_payload *payloads;
	struct row_diagnostic *diagnostics;
};

struct print_options {
	FILE *out;
	bool stable;       /* nothing that differs from run to run */
	bool many_process; /* the trace has several: name them */
};

/* A damaged trace may hold any times. */
static inline int64_t row_duration_ns(const struct row *r)
{
	return (int64_t)((uint64_t)r->call.t_exit - (uint64_t)r->call.t_enter);
}

/* Text of several lines: those after the first begin at the column. */
void print_continued(FILE *out, const char *text, int column);
void print_text(const struct print_options *o, const struct row *r);
void print_json(const struct print_options *o, struct json *j, const struct row *r);
/* Shortest decimal that reads back as the same value. */
void format_f32(float f, char *buf, size_t bytes);
void format_f64(double f, char *buf, size_t bytes);
/* A quoted C string. */
void print_quoted(FILE *out, const char *s, size_t n);

#endif
