/* SPDX-License-Identifier: Apache-2.0
 *
 * Where PTX instructions begin in decoded code, and what the debugger is told there. */
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/debug.h"
#include "zluda_core/device_interp/decode.h"

int debug_attach(struct device *device, const struct debugger *debugger, struct diag *d)
{
	struct interp_device *dev = interp_own(device);

	if (debugger && debugger->version != DEBUGGER_VERSION)
		return diag_set(d, CUTRACE_ENOTSUP, "", "a debugger of version %u, this is version %u",
				debugger->version, DEBUGGER_VERSION);
	dev->debugger = debugger;
	return 0;
}

/* Join points and kept stack pointers come before the instruction that they are decoded with, or behind it. */
static bool is_aside(const struct xinst *x)
{
	return x->fn == exec_join || x->fn == exec_stack_keep;
}

/* A PTX instruction becomes adjacent ones of its index. */
static bool mark_begins(struct xcode *code)
{
	uint32_t before = UINT32_MAX;

	if (code->begins)
		return true;
	code->begins = calloc(code->ninsts + 1, 1);
	code->stops = calloc(code->func->ninsts + 1, 1);
	for (uint32_t k = 0; code->begins && code->stops && k < code->ninsts; k++) {
		const struct xinst *x = &code->insts[k];

		if (is_aside(x) || x->index == before || x->fn == exec_fall_off)
			continue;
		before = x->index;
		code->begins[k] = 1;
		if (x->index < code->func->ninsts)
			code->stops[x->index] = 1;
	}
	return code->begins && code->stops;
}

static bool mark_program(const struct program *p)
{
	bool ok = true;

	for (uint32_t k = 0; ok && k < p->module->ptx->nfuncs; k++)
		if (p->codes[k])
			ok = mark_begins(p->codes[k]);
	return ok;
}

static void describe_launch(const struct grid *g, struct debug_launch *l)
{
	const struct program *p = g->program;
	const struct ptx_module *m = p->module->ptx;

	*l = (struct debug_launch){
		.launch_id = g->launch->launch_id,
		.kernel = p->kernel->name,
		.module = m->name,
		.text = m->text,
		.text_bytes = m->text_bytes,
		.static_shared = p->static_shared,
		.dynamic_shared = g->launch->shared_bytes,
		.cooperative = g->launch->cooperative,
		.params = g->params,
		.param_bytes = g->launch->param_bytes,
		.symbol_address = p->module->symbol_addr,
		.nsymbols = p->module->nsymbols,
	};
	memcpy(l->grid, g->launch->grid, sizeof(l->grid));
	memcpy(l->block, g->launch->block, sizeof(l->block));
}

bool debug_grid_begin(struct grid *g)
{
	struct interp_device *dev = g->dev;
	struct debug_grid *dg;
	struct debug_launch l;
	struct debug_view v;

	if (!dev->debugger)
		return true;
	dg = calloc(1, sizeof(*dg));
	if (!dg || !mark_program(g->program)) {
		free(dg);
		return false;
	}
	*dg = (struct debug_grid){.debugger = dev->debugger, .grid = g};
	dev->debugger = NULL;
	g->debug = dg;
	g->deadline_ns = 0; /* whoever looks takes his time */
	describe_launch(g, &l);
	debug_view_fill(&v, dg);
	dg->debugger->begin(dg->debugger->ctx, &l, &v);
	return true;
}

void debug_grid_end(struct grid *g)
{
	struct debug_grid *dg = g->debug;

	if (!dg)
		return;
	dg->running = NULL;
	dg->debugger->end(dg->debugger->ctx, g->has_fault ? g->fault : NULL);
	g->debug = NULL;
	free(dg);
}

void debug_block_ended(struct grid *g)
{
	g->debug->running = NULL;
}

static void tell(struct warp *w, const struct xinst *pc)
{
	struct debug_grid *dg = w->block->grid->debug;
	struct debug_at at = {
		.block = w->block->linear,
		.warp = w->number,
		.mask = w->mask,
		.func = w->frame->code->func_index,
		.inst = pc->index,
		.depth = w->frame->depth,
	};

	w->cur->pc = pc;
	dg->running = w->block;
	dg->debugger->instruction(dg->debugger->ctx, &at);
	w->steps++;
}

const struct xinst *debug_execute(struct warp *w, const struct xinst *pc)
{
	const struct xcode *code = w->frame->code;
	const struct xinst *next;

	if (code->begins[pc - code->insts])
		tell(w, pc);
	next = pc->fn(w, pc);
	if (!next && w->stop == STOP_FAULT) {
		struct debug_grid *dg = w->block->grid->debug;

		dg->debugger->fault(dg->debugger->ctx, w->block->grid->fault);
	}
	return next;
}

void debug_print(struct grid *g, const char *text, size_t bytes)
{
	g->debug->debugger->print(g->debug->debugger->ctx, text, bytes);
}
