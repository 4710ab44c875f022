/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/build: ptx_func_build: one body through all passes, and for an entry all
 * that it may call. */
#include <stdlib.h>
#include <string.h>

#include "ptx/body.h"

static int declare_param(struct body *b, struct ptx_param *param, enum name_kind kind, uint32_t index)
{
	struct lex_name name = {param->name, (uint32_t)strlen(param->name), 0};
	name.hash = lex_hash(name.s, name.n);
	int rc;
	if (param->slot == PTX_NONE) {
		rc = scope_add(&b->names, &name, kind, index, 0);
	} else {
		if (!grow(&b->registers, &b->registers_capacity, b->nregisters, sizeof(*b->registers)))
			return parser_out_of_memory(&b->p);
		if ((rc = new_slot(b, &name, param->type, &param->slot)))
			return rc;
		rc = scope_add(&b->names, &name, NAME_REG, b->nregisters, 0);
		b->numbered_registers = true; /* its name may look like one of a range */
		b->registers[b->nregisters++] = (struct body_register){name, param->slot, param->type, 1};
	}
	if (rc == CUTRACE_EINVAL && !strcmp(param->name, "_"))
		return 0;
	return rc == CUTRACE_EINVAL ? body_fail(b, b->p.lx.p, "parameter '%s' is declared twice", param->name)
	       : rc                 ? parser_out_of_memory(&b->p)
				    : 0;
}

static int declare_params(struct body *b)
{
	static const struct lex_name undefined = {"%undefined", 10, 0};
	struct ptx_func *f = b->p.f;
	uint32_t zero;
	int rc = new_slot(b, &undefined, PTX_B128, &zero);
	for (uint32_t k = 0; k < f->nparams && !rc; k++)
		rc = declare_param(b, &f->params[k], NAME_PARAM, k);
	for (uint32_t k = 0; k < f->nrets && !rc; k++)
		rc = declare_param(b, &f->rets[k], NAME_RET, k);
	return rc;
}

static int begin(struct body *b)
{
	struct ptx_module *m = b->p.m;
	struct ptx_func *f = b->p.f;
	lex_init(&b->p.lx, m->text + f->body_begin, m->text + f->body_end, f->body_line);
	while (b->p.lx.line_start > m->text && b->p.lx.line_start[-1] != '\n')
		b->p.lx.line_start--;
	b->operands = malloc(PTX_MAX_OPERANDS * sizeof(*b->operands));
	if (!b->operands ||
	    !grow(&b->scope_parents, &b->scope_parents_capacity, 0, sizeof(*b->scope_parents)))
		return parser_out_of_memory(&b->p);
	b->scope_parents[0] = 0;
	b->nscopes = 1;
	b->loc = PTX_NONE;
	return declare_params(b);
}

static void free_body(struct body *b)
{
	scope_free(&b->names);
	label_free(&b->labels);
	for (uint32_t k = 0; k < b->nranges; k++)
		free(b->ranges[k].slots);
	for (uint32_t k = 0; k < b->nlists; k++)
		free(b->lists[k].items);
	void *memory[] = {b->scope_parents, b->open,  b->registers,     b->ranges,   b->slots, b->insts,
			  b->references,    b->lists, b->list_noreturn, b->operands, b->errors};
	for (size_t k = 0; k < sizeof(memory) / sizeof(memory[0]); k++)
		free(memory[k]);
}

/* All that was wrong, the first also as f->error. */
static void keep_errors(struct body *b)
{
	struct ptx_func *f = b->p.f;
	uint32_t n = b->nerrors ? b->nerrors : 1;
	if (b->nerrors)
		f->error = b->errors[0];
	f->errors = arena_array(&b->p.m->arena, n, sizeof(*f->errors));
	if (!f->errors)
		return;
	memcpy(f->errors, b->nerrors ? b->errors : &f->error, n * sizeof(*f->errors));
	f->nerrors = n;
}

static int build_body(struct ptx_module *m, struct ptx_func *f)
{
	struct body b = {.p = {.ms = module_state(m), .m = m, .f = f, .error = &f->error},
			 .func_index = f->index};
	uint32_t nsymbols = m->nsymbols;
	int rc = begin(&b);
	if (!rc)
		rc = parse_body(&b);
	if (!rc)
		rc = build_blocks(&b);
	if (!rc)
		rc = build_dominance(&b);
	if (!rc)
		rc = build_ssa(&b);
#ifndef NDEBUG
	if (!rc)
		rc = ptx_func_verify(m, f, &f->error);
#endif
	if (rc && b.nerrors)
		rc = b.errors[0].code;
	else if (rc && f->error.code)
		rc = f->error.code;
	f->first_symbol = nsymbols;
	f->nsymbols = rc ? 0 : m->nsymbols - nsymbols;
	f->shared_bytes = b.shared_bytes;
	f->local_bytes = b.local_bytes;
	f->call_param_bytes = b.call_param_max;
	if (rc)
		m->nsymbols = nsymbols; /* its variables would only be in the way */
	f->state = rc ? PTX_FAILED : PTX_BUILT;
	if (rc)
		keep_errors(&b);
	free_body(&b);
	return rc;
}

uint32_t ptx_module_check(struct ptx_module *m)
{
	struct module_state *ms = module_state(m);
	for (uint32_t k = 0; k < m->nfuncs && m->nerrors < PTX_MAX_ERRORS; k++) {
		struct ptx_func *f = m->funcs[k];
		if (f->is_decl || ms->checked)
			continue;
		if (f->state == PTX_UNBUILT)
			build_body(m, f);
		for (uint32_t e = 0; e < f->nerrors && m->nerrors < PTX_MAX_ERRORS; e++)
			if (!module_add_error(m, &f->errors[e]))
				return m->nerrors;
	}
	ms->checked = true;
	return m->nerrors;
}

/* What a function refers to outside itself. */
struct reach {
	struct ptx_module *m;
	struct ptx_func *entry;
	bool *seen_funcs;
	uint32_t *queue, nqueue;
	struct ptx_shared_place *places;
	uint32_t nplaces, capacity;
	uint64_t bytes;
	bool indirect;
};

static int add_func(struct reach *r, uint32_t index)
{
	if (r->seen_funcs[index])
		return 0;
	r->seen_funcs[index] = true;
	struct ptx_func *f = r->m->funcs[index];
	if (!f->is_decl)
		r->queue[r->nqueue++] = index;
	return 0;
}

static int add_place(struct reach *r, uint32_t index, uint64_t offset)
{
	if (!grow(&r->places, &r->capacity, r->nplaces, sizeof(*r->places)))
		return CUTRACE_ENOMEM;
	r->places[r->nplaces++] = (struct ptx_shared_place){index, offset};
	return 0;
}

static int add_shared(struct reach *r, uint32_t index)
{
	const struct ptx_symbol *s = r->m->symbols[index];
	if (s->space != PTX_SPACE_SHARED)
		return 0;
	if (s->dynamic) {
		r->entry->uses_dynamic_shared = true;
		return 0;
	}
	for (uint32_t k = 0; k < r->nplaces; k++)
		if (r->places[k].symbol == index)
			return 0;
	uint64_t offset = align_up(r->bytes, s->align);
	r->bytes = offset + s->size;
	return add_place(r, index, offset);
}

static int scan(struct reach *r, const struct ptx_func *f)
{
	int rc = 0;
	for (uint32_t n = 0; n < f->ninsts && !rc; n++) {
		const struct ptx_inst *i = &f->insts[n];
		if (i->op == PTX_OP_CALL && i->target != PTX_NONE)
			rc = add_func(r, i->target);
		r->indirect |= i->op == PTX_OP_CALL && i->target == PTX_NONE;
		for (uint32_t k = 0; k < (uint32_t)i->ndst + i->nsrc && !rc; k++) {
			if (i->dst[k].kind == PTX_OPND_FUNC)
				rc = add_func(r, i->dst[k].index);
			else if (i->dst[k].kind == PTX_OPND_SYMBOL)
				rc = add_shared(r, i->dst[k].index);
		}
	}
	return rc;
}

/* An indirect call may reach whatever a variable's initialiser names. */
static int add_tables(struct reach *r)
{
	int rc = 0;
	for (uint32_t k = 0; k < r->m->nsymbols && !rc; k++)
		for (uint32_t n = 0; n < r->m->symbols[k]->nrelocs && !rc; n++)
			if (r->m->symbols[k]->relocs[n].is_func)
				rc = add_func(r, r->m->symbols[k]->relocs[n].symbol);
	return rc;
}

static int build_callee(struct reach *r, struct ptx_func *callee)
{
	if (callee->state == PTX_BUILT || (callee->state == PTX_UNBUILT && !build_body(r->m, callee)))
		return 0;
	struct diag *d = &r->entry->error;
	*d = callee->error;
	snprintf(d->what, sizeof(d->what), "'%.100s' calls '%.100s': %.250s", r->entry->name, callee->name,
		 callee->error.what);
	return d->code ? d->code : CUTRACE_ENOTSUP;
}

static int own_places(struct reach *r)
{
	const struct ptx_func *f = r->entry;
	for (uint32_t k = f->first_symbol; k < f->first_symbol + f->nsymbols; k++) {
		const struct ptx_symbol *s = r->m->symbols[k];
		if (s->space == PTX_SPACE_SHARED && !s->dynamic && add_place(r, k, s->offset))
			return CUTRACE_ENOMEM;
	}
	return 0;
}

static int follow(struct reach *r)
{
	bool tables = false;
	int rc = own_places(r);
	if (!rc)
		rc = scan(r, r->entry);
	for (uint32_t next = 0; !rc && r->entry->is_entry; next++) {
		if (r->indirect && !tables) {
			tables = true;
			rc = add_tables(r);
		}
		if (next >= r->nqueue || rc)
			break;
		struct ptx_func *callee = r->m->funcs[r->queue[next]];
		if (callee != r->entry && !(rc = build_callee(r, callee)))
			rc = scan(r, callee);
	}
	return rc;
}

static int link_callees(struct ptx_module *m, struct ptx_func *f)
{
	struct reach r = {.m = m, .entry = f, .bytes = f->shared_bytes};
	r.seen_funcs = calloc(m->nfuncs, sizeof(*r.seen_funcs));
	r.queue = calloc(m->nfuncs, sizeof(*r.queue));
	int rc = r.seen_funcs && r.queue ? follow(&r) : CUTRACE_ENOMEM;
	if (!rc) {
		f->shared = arena_array(&m->arena, r.nplaces, sizeof(*f->shared));
		f->nshared = r.nplaces;
		f->shared_bytes = r.bytes;
		f->calls_indirect = r.indirect;
		if (r.nplaces && !f->shared)
			rc = CUTRACE_ENOMEM;
		else if (r.nplaces)
			memcpy(f->shared, r.places, r.nplaces * sizeof(*f->shared));
	}
	if (rc == CUTRACE_ENOMEM)
		diag_set(&f->error, rc, m->name, "out of memory");
	free(r.seen_funcs);
	free(r.queue);
	free(r.places);
	return rc;
}

int ptx_func_build(struct ptx_module *m, struct ptx_func *f)
{
	if (f->is_decl)
		return diag_set(&f->error, CUTRACE_ENOENT, m->name, "'%s' is declared, but has no body",
				f->name);
	if (f->state == PTX_FAILED)
		return f->error.code ? f->error.code : CUTRACE_ENOTSUP;
	if (f->state == PTX_BUILT && f->linked)
		return 0;
	int rc = f->state == PTX_BUILT ? 0 : build_body(m, f);
	if (!rc)
		rc = link_callees(m, f);
	f->linked = !rc;
	if (rc)
		f->state = PTX_FAILED;
	return rc;
}
