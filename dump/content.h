/* SPDX-License-Identifier: Apache-2.0
 *
 * content: buffers' elements and code images out of a trace.
 */
#ifndef CUTRACE_DUMP_CONTENT_H
#define CUTRACE_DUMP_CONTENT_H

#include "dump/json.h"
#include "dump/options.h"
#include "trace/trace.h"

/* 0, or CUTRACE_E* with *d. */
int dump_buffer(struct trace *t, uint64_t buffer, const struct dump_options *o, struct diag *d);
int dump_payload(struct trace *t, const struct dump_options *o, struct diag *d);
int dump_modules(struct trace *t, const struct dump_options *o, struct diag *d);

#endif
