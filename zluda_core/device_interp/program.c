/* SPDX-License-Identifier: Apache-2.0
 *
 * A program: a kernel and every function it may call, decoded together, so that
 * addresses of shared variables are constants. Functions whose address is taken
 * are part of it; one of those that can't be executed becomes a fault when it is
 * called, whereas a directly called one refuses the kernel.
 */
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/check.h"

#define MAX_STACK (1u << 28) /* bytes of a lane; offsets have 32 bits. Devices have 512 KiB. */
#define MAX_CHAIN 1000       /* calls in each other that are added up exactly */

struct reach {
	struct dev_module *module;
	uint8_t *state; /* per function: 0 no, 1 by address only, 2 called */
	uint32_t *list;
	uint32_t n;
};

bool program_pool_reserve(struct program *p, uint32_t bytes)
{
	if (p->nentries == p->cap_entries) {
		uint32_t cap = p->cap_entries ? p->cap_entries * 2 : 64;
		struct pool_entry *e = realloc(p->entries, cap * sizeof(*e));

		if (!e)
			return false;
		p->entries = e;
		p->cap_entries = cap;
	}
	if (p->pool_bytes + bytes <= p->pool_cap)
		return true;
	if (p->pool_cap > MAX_STACK)
		return false;
	uint32_t cap = p->pool_cap ? p->pool_cap * 2 : 8192;
	uint8_t *n = aligned_alloc(64, cap);

	if (!n)
		return false;
	if (p->pool_bytes)
		memcpy(n, p->pool, p->pool_bytes);
	free(p->pool);
	p->pool = n;
	p->pool_cap = cap;
	return program_pool_reserve(p, bytes);
}

uint64_t code_address(const struct dev_module *m, uint32_t func)
{
	return WINDOW_CODE + ((uint64_t)m->number << 24) + ((uint64_t)func << 4);
}

static void reach_add(struct reach *r, uint32_t func, uint8_t state)
{
	if (r->module->ptx->funcs[func]->is_decl)
		return;
	if (!r->state[func])
		r->list[r->n++] = func;
	if (r->state[func] < state)
		r->state[func] = state;
}

static void reach_from(struct reach *r, const struct ptx_func *f)
{
	for (uint32_t k = 0; k < f->ninsts; k++) {
		const struct ptx_inst *in = &f->insts[k];

		if (in->op == PTX_OP_CALL && in->target != PTX_NONE)
			reach_add(r, in->target, 2);
		for (uint32_t s = 0; s < in->nsrc; s++)
			if (in->src[s].kind == PTX_OPND_FUNC)
				reach_add(r, in->src[s].index, 1);
	}
	if (!f->calls_indirect)
		return;
	const struct ptx_module *m = r->module->ptx;

	for (uint32_t s = 0; s < m->nsymbols; s++)
		for (uint32_t k = 0; k < m->symbols[s]->nrelocs; k++)
			if (m->symbols[s]->relocs[k].is_func)
				reach_add(r, m->symbols[s]->relocs[k].symbol, 1);
}

static int reach_all(struct reach *r, uint32_t entry, struct diag *d)
{
	struct ptx_module *m = r->module->ptx;

	reach_add(r, entry, 2);
	for (uint32_t k = 0; k < r->n; k++) {
		struct ptx_func *f = m->funcs[r->list[k]];
		int rc = ptx_func_build(m, f);

		if (rc && r->state[r->list[k]] == 2) {
			if (d)
				*d = f->error;
			return rc;
		}
		if (!rc)
			reach_from(r, f);
	}
	return 0;
}

static uint32_t round16(uint64_t v)
{
	return (uint32_t)((v + 15) & ~15ull);
}

/* Cells of the registers; predicates are packed first. */
static bool layout_cells(struct program *p, struct xcode *code)
{
	const struct ptx_func *f = code->func;
	uint32_t at = 0;

	if (f->nslots > MAX_STACK / cell_bytes(128))
		return false;
	code->slot_offset = arena_array(&p->arena, f->nslots + 1, sizeof(uint32_t));
	if (!code->slot_offset)
		return false;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t s = 0; s < f->nslots; s++) {
			unsigned bits = f->slots[s].bits ? f->slots[s].bits : 64;

			if ((bits == 1) != (pass == 0))
				continue;
			code->slot_offset[s] = at;
			at += cell_bytes(bits);
		}
		at = (at + 63) & ~63u;
	}
	code->frame_bytes = at;
	return true;
}

uint32_t param_room(const struct ptx_func *f)
{
	return f->param_bytes + (ptx_has_open_param(f->params, f->nparams) ? PTX_OPEN_PARAM_BYTES : 0);
}

/* The activation's part of a lane's stack: variables, variables of calls, parameters, results. False when it
 * is larger than any device's. */
static bool layout_stack(struct xcode *code)
{
	const struct ptx_func *f = code->func;

	if (f->local_bytes > MAX_STACK / 4 || f->call_param_bytes > MAX_STACK / 4)
		return false;
	code->call_offset = round16(f->local_bytes);
	code->param_offset = code->call_offset + round16(f->call_param_bytes);
	code->ret_offset = code->param_offset + (f->is_entry ? 0 : round16(param_room(f)));
	code->local_bytes = code->ret_offset + (f->is_entry ? 0 : round16(f->ret_bytes) + 16);
	return true;
}

static int refuse_size(const struct program *p, const struct ptx_func *f, const char *what, uint32_t limit,
		       struct diag *d)
{
	char where[256];

	snprintf(where, sizeof(where), "%.200s:%u:1", p->module->ptx->name, f->line);
	return diag_set(d, CUTRACE_ENOTSUP, where, "%s needs more than %u bytes of %s", f->name, limit, what);
}

static int code_new(struct program *p, uint32_t index, struct diag *d)
{
	struct xcode *code = arena_zalloc(&p->arena, sizeof(*code));

	if (!code)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	code->program = p;
	code->func_index = index;
	code->func = p->module->ptx->funcs[index];
	p->codes[index] = code;
	if (code->func->state != PTX_BUILT)
		return 0;
	if (!layout_stack(code))
		return refuse_size(p, code->func, "local variables", MAX_STACK / 4, d);
	return layout_cells(p, code) ? 0 : diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
}

static int symbol_offsets(struct decode *c)
{
	const struct ptx_module *m = c->module->ptx;

	for (uint32_t s = 0; s < m->nsymbols; s++) {
		const struct ptx_symbol *sym = m->symbols[s];

		c->symbol_offset[s] =
			(uint32_t)sym->offset + (sym->space == PTX_SPACE_PARAM ? c->code->call_offset : 0);
		c->shared_offset[s] = PTX_NONE;
	}
	for (uint32_t k = 0; k < c->program->kernel->nshared; k++)
		c->shared_offset[c->program->kernel->shared[k].symbol] =
			(uint32_t)c->program->kernel->shared[k].offset;
	return 0;
}

static int refuse_address_taken(struct decode *c)
{
	c->code->ninsts = 0;
	c->code->frame_bytes += 64;
	return emit(c, exec_refused) ? 0 : CUTRACE_ENOMEM;
}

static int decode_all(struct program *p, const struct reach *r, const struct program_variant *variant,
		      struct diag *d)
{
	struct decode *c = calloc(1, sizeof(*c));
	const uint32_t n = p->module->ptx->nsymbols + 1;
	int rc = 0;

	if (!c)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	*c = (struct decode){
		.program = p, .module = p->module, .exec = exec_choose(p->module->dev->simd), .diag = d};
	c->check = p->module->dev->checker ? p->module->dev->checker->what : 0;
	c->symbol_offset = calloc(n, sizeof(uint32_t));
	c->shared_offset = calloc(n, sizeof(uint32_t));
	c->contraction = variant->contraction;
	if (variant->inject) {
		struct inject_spec *copy = arena_alloc(&p->arena, sizeof(*copy), 16);

		if (copy)
			*copy = *variant->inject;
		c->inject = copy;
	}
	if (!c->exec || !c->symbol_offset || !c->shared_offset)
		rc = diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	for (uint32_t k = 0; k < r->n && !rc; k++) {
		c->code = p->codes[r->list[k]];
		c->func = c->code->func;
		c->in = NULL;
		if (c->func->state == PTX_BUILT) {
			c->slot_offset = c->code->slot_offset;
			c->temps_base = c->code->frame_bytes;
			c->temps_max = 0;
			symbol_offsets(c);
			rc = decode_function(c);
		} else {
			rc = CUTRACE_ENOTSUP;
		}
		if (rc && r->state[r->list[k]] == 1)
			rc = refuse_address_taken(c);
	}
	free(c->symbol_offset);
	free(c->shared_offset);
	free(c);
	return rc;
}

/* Longest chain of calls, or recursion: 1 on a cycle or when it is too long to be followed. */
static int stack_depth(const struct program *p, uint32_t func, unsigned level, uint8_t *mark,
		       uint64_t *deepest)
{
	const struct xcode *code = p->codes[func];
	uint64_t below = 0;

	if (!code || code->func->state != PTX_BUILT)
		return 0;
	if (mark[func] == 1 || level > MAX_CHAIN)
		return 1;
	if (code->chain) {
		*deepest = code->chain;
		return 0;
	}
	mark[func] = 1;
	for (uint32_t k = 0; k < code->func->ninsts; k++) {
		const struct ptx_inst *in = &code->func->insts[k];
		uint64_t one = 0;

		if (in->op != PTX_OP_CALL || in->target == PTX_NONE)
			continue;
		if (stack_depth(p, in->target, level + 1, mark, &one))
			return 1;
		below = one > below ? one : below;
	}
	mark[func] = 0;
	p->codes[func]->chain = *deepest = below + code->local_bytes;
	return 0;
}

static int size_stack(struct program *p, const struct reach *r, struct diag *d)
{
	uint8_t *mark = calloc(p->module->ptx->nfuncs + 1, 1);
	uint64_t deepest = 0;
	bool open = !mark;

	for (uint32_t k = 0; k < r->n; k++) {
		const struct ptx_func *f = p->module->ptx->funcs[r->list[k]];

		open |= f->calls_indirect;
		for (uint32_t n = 0; n < f->ninsts; n++)
			open |= f->insts[n].op == PTX_OP_ALLOCA;
	}
	if (!open)
		open = stack_depth(p, p->entry->func_index, 0, mark, &deepest);
	free(mark);
	if (open)
		deepest = p->entry->local_bytes + (uint64_t)p->module->dev->stack_limit;
	if (deepest > MAX_STACK)
		return refuse_size(p, p->kernel, "stack", MAX_STACK, d);
	p->stack_bytes = round16(deepest);
	return 0;
}

void program_free(struct program *p)
{
	if (!p)
		return;
	for (uint32_t k = 0; p->codes && k < p->module->ptx->nfuncs; k++)
		if (p->codes[k]) {
			free(p->codes[k]->insts);
			free(p->codes[k]->sites);
			free(p->codes[k]->begins);
			free(p->codes[k]->stops);
		}
	free(p->pool);
	free(p->entries);
	arena_free(&p->arena);
	free(p);
}

static int build(struct program *p, struct reach *r, uint32_t entry, const struct program_variant *variant,
		 struct diag *d)
{
	int rc = reach_all(r, entry, d);

	if (rc)
		return rc;
	p->kernel = p->module->ptx->funcs[entry];
	if (p->kernel->shared_bytes > device_shared_bytes(p->module->dev))
		return refuse_size(p, p->kernel, "shared memory", device_shared_bytes(p->module->dev), d);
	p->static_shared = round16(p->kernel->shared_bytes);
	p->codes = arena_array(&p->arena, p->module->ptx->nfuncs + 1, sizeof(*p->codes));
	for (uint32_t k = 0; p->codes && k < r->n && !rc; k++)
		rc = code_new(p, r->list[k], d);
	if (rc)
		return rc;
	if (!p->codes)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	p->entry = p->codes[entry];
	rc = decode_all(p, r, variant, d);
	return rc ? rc : size_stack(p, r, d);
}

struct program *program_build(struct dev_kernel *k, const struct program_variant *variant, struct diag *d)
{
	struct ptx_module *m = k->module->ptx;
	struct program *p = calloc(1, sizeof(*p));
	struct reach r = {.module = k->module};
	uint32_t entry = 0;
	int rc = CUTRACE_ENOMEM;

	while (entry < m->nfuncs && m->funcs[entry] != k->func)
		entry++;
	r.state = calloc(m->nfuncs + 1, 1);
	r.list = calloc(m->nfuncs + 1, sizeof(*r.list));
	if (p && r.state && r.list) {
		p->module = k->module;
		rc = build(p, &r, entry, variant, d);
	} else {
		diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	}
	free(r.state);
	free(r.list);
	if (rc) {
		program_free(p);
		return NULL;
	}
	return p;
}
