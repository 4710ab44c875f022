/* SPDX-License-Identifier: Apache-2.0
 *
 * debug: a launch under a debugger (api/debugger.h). Without one nothing of it is executed: a warp looks once a slice
 * whether there is one, and takes another loop then.
 */
#ifndef CUTRACE_INTERP_DEBUG_H
#define CUTRACE_INTERP_DEBUG_H

#include "api/debugger.h"
#include "zluda_core/device_interp/interp.h"

/* Of a launch. */
struct debug_grid {
	const struct debugger *debugger;
	struct grid *grid;
	struct block *running; /* it is in no list of the grid */
};

int debug_attach(struct device *device, const struct debugger *debugger, struct diag *d);

/* The debugger that waits for this launch takes it: g->debug. False: out of memory. */
bool debug_grid_begin(struct grid *g);
void debug_grid_end(struct grid *g);
void debug_block_ended(struct grid *g);

/* The handler of pc, after the debugger was told if a PTX instruction begins there. */
const struct xinst *debug_execute(struct warp *w, const struct xinst *pc);
void debug_print(struct grid *g, const char *text, size_t bytes);

/* debug_view.c */
void debug_view_fill(struct debug_view *v, struct debug_grid *dg);

#endif
