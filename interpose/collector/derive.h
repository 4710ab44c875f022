/* SPDX-License-Identifier: Apache-2.0
 *
 * derive: what a row of the table of calls looks like, and the verbs that live in another file than the table
 * (derive.c). A verb is run for a call that succeeded, in the order in which things happened.
 */
#ifndef CUTRACE_INTERPOSE_COLLECTOR_DERIVE_H
#define CUTRACE_INTERPOSE_COLLECTOR_DERIVE_H

#include "interpose/collector/internal.h"

struct rule {
	uint16_t id;
	void (*run)(struct collector *c, struct event *e);
	bool at_enter; /* the effect may be visible to others as soon as the call began: destruction */
	int8_t handle; /* out slot of what is made, or parameter of what is destroyed */
	int8_t a, b;   /* further parameters or slots, by verb */
	const char *kind;
	int8_t text; /* string parameter to keep, or -1 */
};

/* ---- derive.c */
void derive_allocation(struct collector *c, struct event *e, uint64_t base, uint64_t bytes, uint64_t host);

/* ---- derive_modules.c */
void derive_load_module(struct collector *c, struct event *e);
void derive_library_module(struct collector *c, struct event *e);
void derive_unload(struct collector *c, struct event *e);
void derive_find_global(struct collector *c, struct event *e);
void derive_get_kernel(struct collector *c, struct event *e);
void derive_kernel_function(struct collector *c, struct event *e);
void derive_end_module(struct collector *c, struct event *e, struct version *v);

#endif
