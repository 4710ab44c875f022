/* SPDX-License-Identifier: Apache-2.0
 *
 * names: what handles and addresses mean at a point of a trace. Handles get numbers in order of appearance; a
 * handle that a call creates gets a new number even if its value was used before. Kernel handles have names.
 * Addresses are looked up among the allocations that live at a call. Calls must be asked about in ascending
 * order; memory grows with what lives at a time, not with the trace.
 */
#ifndef CUTRACE_DUMP_NAMES_H
#define CUTRACE_DUMP_NAMES_H

#include "api/api.h"
#include "trace/trace.h"

/* ---- handles -------------------------------------------------------------- */

struct handle_names;
struct handle_names *handle_names_new(struct trace *t);
void handle_names_free(struct handle_names *h);
/* Number of a handle of kind `def` (index into api_handles), from 1. *kind is the kind it is known as: a
 * CUfunction may be a CUkernel. */
uint32_t handle_number(struct handle_names *h, unsigned def, uint32_t process, uint64_t value, bool created,
		       const char **kind);
/* The call destroyed it: the same value may come again as another handle. */
void handle_destroyed(struct handle_names *h, unsigned def, uint32_t process, uint64_t value);
/* Name of the kernel that the handle means at this call; NULL when unknown. */
const char *handle_kernel(struct handle_names *h, uint32_t process, uint64_t value, uint64_t call);

/* ---- allocations ------------------------------------------------------------ */

struct live_allocations;
struct live_allocations *live_allocations_new(struct trace *t);
void live_allocations_free(struct live_allocations *a);
/* The allocation of `process` that holds the device address (or, with host, the host address) while `call`
 * runs. Returns its id and the offset in it, or 0. */
uint64_t live_allocation_at(struct live_allocations *a, uint32_t process, uint64_t address, bool host,
			    uint64_t call, uint64_t *offset, const char **variable);

#endif
