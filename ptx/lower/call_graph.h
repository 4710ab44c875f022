/* SPDX-License-Identifier: Apache-2.0
 *
 * call_graph: the functions that make up a kernel, and what is known of each: struct function_facts of writer.h, by
 * index in the module, and struct lower's `order`, the kernel first.
 */
#ifndef CUTRACE_PTX_LOWER_CALL_GRAPH_H
#define CUTRACE_PTX_LOWER_CALL_GRAPH_H

#include "ptx/lower/writer.h"

/* Fills l->facts and l->order; false: refused. To be freed in any case. */
bool call_graph_find(struct lower *l);
void call_graph_free(struct lower *l);
/* Whether the call, an instruction of f, may be one of function `func`. */
bool call_may_reach(const struct lower *l, const struct ptx_func *f, const struct ptx_inst *i, uint32_t func);
/* call.c: of the function's parameters, with the largest array that is passed where one has no size. */
uint32_t call_param_bytes(const struct lower *l, const struct ptx_func *f);

#endif
