/* SPDX-License-Identifier: Apache-2.0
 *
 * wire: what the service and its workers say to each other over a socket: messages {magic, kind, bytes} whose payload is
 * numbers (32 or 64 bits) and strings of bytes with their length. Neither side trusts the other's sizes.
 *
 * A request is answered by ACCEPTED as soon as it was read, so that a worker that ends before is known to have done
 * nothing; NEED_TEXT asks for the module's text; COMPILED or LINES ends the request. FATAL is a worker's last message.
 *
 * Depends on base/.
 */
#ifndef CUTRACE_COMPILER_WIRE_H
#define CUTRACE_COMPILER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum wire_kind {
	WIRE_COMPILE = 1, /* hash, module name, build, kernel, target, options, want */
	WIRE_AHEAD,       /* hash, module name, build, target, options, cache, share, of how many */
	WIRE_DECODE,      /* target, code */
	WIRE_TEXT,        /* the module's text */
	WIRE_ACCEPTED,
	WIRE_NEED_TEXT,
	WIRE_COMPILED, /* diag, line, op, reason, microseconds, code object, ir, optimized, assembly, passes */
	WIRE_LINES,    /* diag, lines: {size of the instruction: 1 byte, text, NUL} */
	WIRE_FATAL,    /* why the worker ends */
};

enum { WIRE_FD = 3 /* a worker's socket */ };

struct wire_message {
	uint32_t kind;
	uint8_t *data;          /* malloc'ed */
	size_t bytes, room, at; /* at: of the reader */
	bool failed;            /* no memory while writing; a field outside while reading */
};

void wire_begin(struct wire_message *m, enum wire_kind kind);
void wire_put_u32(struct wire_message *m, uint32_t v);
void wire_put_bytes(struct wire_message *m, const void *p, size_t bytes);
void wire_put_string(struct wire_message *m, const char *s); /* NULL as "" */
void wire_put_diag(struct wire_message *m, int rc, const struct diag *d);
uint32_t wire_get_u32(struct wire_message *m);
/* Points into the message. */
const uint8_t *wire_get_bytes(struct wire_message *m, size_t *bytes);
/* Ends with NUL; "" when it doesn't. */
const char *wire_get_string(struct wire_message *m);
int wire_get_diag(struct wire_message *m, struct diag *d);
void wire_free(struct wire_message *m);

/* Milliseconds of a clock that only goes forward. */
int64_t wire_now_ms(void);
/* 0; CUTRACE_ENOENT: the other side is gone; CUTRACE_EIO with errno; ETIMEDOUT at the deadline (0: none). Neither raises
 * SIGPIPE. */
int wire_send(int fd, const struct wire_message *m, int64_t deadline_ms);
int wire_receive(int fd, struct wire_message *m, int64_t deadline_ms);

#endif
