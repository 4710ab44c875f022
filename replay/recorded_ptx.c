/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX that the trace carries, parsed on demand: for stores that a kernel's parameters don't show
 * (variables of the module), for the lines that may have stored an element, and for what the ISA leaves open.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx/analysis.h"
#include "replay/engine.h"

#define MAX_PARSED 64 /* modules; a program that compiles as it runs may have any number */

static const struct trace_image *image_of(struct engine *e, const struct trace_module *m)
{
	while (m && !m->image && m->parent && m->parent != m->id)
		m = plan_module(e, m->parent);
	return m ? trace_image(e->trace, m->image) : NULL;
}

static struct ptx_module *parse(struct engine *e, const struct trace_image *image)
{
	struct diag d = DIAG_INIT;
	size_t bytes = 0;
	char *text = trace_buffer_load(e->trace, image->ptx, &bytes, &d);
	struct ptx_module *m = text ? ptx_module_parse(text, bytes, "recorded.ptx", &d) : NULL;

	free(text);
	return m;
}

/* Kept: one image usually serves many launches. A failure is kept too. */
static void free_parsed(struct engine *e)
{
	for (size_t i = 0; i < e->ptx_modules.size; i++)
		if (e->ptx_modules.slots[i].used && e->ptx_modules.slots[i].value)
			ptx_module_free((struct ptx_module *)(uintptr_t)e->ptx_modules.slots[i].value);
	map_free(&e->ptx_modules);
}

static struct ptx_module *module_of(struct engine *e, const struct trace_module *row)
{
	const struct trace_image *image = image_of(e, row);
	struct ptx_module *m;
	uint64_t kept;

	if (!image || !image->ptx)
		return NULL;
	if (map_get(&e->ptx_modules, image->ptx, &kept))
		return (struct ptx_module *)(uintptr_t)kept;
	if (e->ptx_modules.used >= MAX_PARSED) /* nobody keeps one beyond a call */
		free_parsed(e);
	m = parse(e, image);
	map_set(&e->ptx_modules, image->ptx, word(m));
	return m;
}

struct ptx_func *recorded_ptx_func(struct engine *e, const struct trace_kernel *k, struct ptx_module **m)
{
	struct ptx_func *f;

	*m = module_of(e, plan_module(e, k->module));
	f = *m ? ptx_func_find(*m, k->name) : NULL;
	return f && !ptx_func_build(*m, f) ? f : NULL;
}

static bool reads_textures(const struct ptx_func *f)
{
	for (uint32_t i = 0; f->state == PTX_BUILT && i < f->ninsts; i++)
		switch (f->insts[i].op) {
		case PTX_OP_TEX:
		case PTX_OP_TLD4:
		case PTX_OP_TXQ:
		case PTX_OP_SULD:
		case PTX_OP_SUST:
		case PTX_OP_SURED:
		case PTX_OP_SUQ: return true;
		default: break;
		}
	return false;
}

/* What it may call is built with it. */
bool recorded_ptx_uses_textures(struct engine *e, const struct trace_kernel *k)
{
	struct ptx_module *m;
	struct ptx_func *f = recorded_ptx_func(e, k, &m);
	bool yes = f && reads_textures(f);

	for (uint32_t i = 0; f && !yes && i < m->nfuncs; i++)
		yes = !m->funcs[i]->is_entry && reads_textures(m->funcs[i]);
	return yes;
}

void recorded_ptx_free(struct engine *e)
{
	free_parsed(e);
	map_free(&e->variable_writers);
	map_free(&e->writes_variables);
	map_free(&e->reads_variables);
	map_free(&e->exact_kernels);
}

/* ---- variables of modules ------------------------------------------------ */

bool recorded_ptx_writes_variables(struct engine *e, const struct trace_kernel *k)
{
	struct ptx_module *m;
	struct ptx_func *f;
	uint64_t known;

	if (map_get(&e->writes_variables, k->id, &known))
		return known != 0;
	f = recorded_ptx_func(e, k, &m);
	known = f && !ptx_func_analyse(m, f) && f->writes_module_vars;
	map_set(&e->writes_variables, k->id, known);
	return known != 0;
}

static bool some_kernel_writes_variables(struct ptx_module *m)
{
	for (uint32_t i = 0; i < m->nfuncs; i++)
		if (m->funcs[i]->is_entry && !ptx_func_analyse(m, m->funcs[i]) &&
		    m->funcs[i]->writes_module_vars)
			return true;
	return false;
}

bool recorded_ptx_reads_written_variables(struct engine *e, const struct trace_kernel *k)
{
	struct ptx_module *m;
	struct ptx_func *f;
	uint64_t known;

	if (map_get(&e->reads_variables, k->id, &known))
		return known != 0;
	f = recorded_ptx_func(e, k, &m);
	known = f && !ptx_func_analyse(m, f) && f->reads_module_vars && some_kernel_writes_variables(m);
	map_set(&e->reads_variables, k->id, known);
	return known != 0;
}

static uint64_t root_of(struct engine *e, uint64_t id)
{
	const struct trace_module *m = plan_module(e, id);

	while (m && m->parent && m->parent != m->id && plan_module(e, m->parent))
		m = plan_module(e, m->parent);
	return m ? m->id : 0;
}

void recorded_ptx_note_launch(struct engine *e, uint64_t call, const struct trace_kernel *k)
{
	/* Where nobody asked for a variable's address, no copy shows one. */
	if (e->nglobals && k && recorded_ptx_writes_variables(e, k))
		map_set(&e->variable_writers, root_of(e, k->module), call);
}

static const struct trace_module *owner_row(struct engine *e, const struct address_range *r)
{
	for (size_t i = e->nmodule_rows; i-- > 0;)
		if (e->module_rows[i].handle == r->owner && e->module_rows[i].created <= r->created)
			return &e->module_rows[i];
	return NULL;
}

/* The last launch that may have written the variable, and the variable's type where it says more than
 * "bytes". */
void recorded_ptx_describe_variable(struct engine *e, struct address_range *r)
{
	const struct trace_module *row = owner_row(e, r);
	const char *name = plan_global_name(e, r->base);
	struct ptx_module *m;
	struct ptx_symbol *s;
	uint64_t call;
	struct trace_launch l;

	if (!row)
		return;
	if (map_get(&e->variable_writers, root_of(e, row->id), &call) && call > r->writer_call &&
	    !trace_launch_get(e->trace, call, &l)) {
		r->writer_call = call;
		r->writer_kernel = l.kernel;
	}
	m = r->elem_type[0] || !name ? NULL : module_of(e, row);
	s = m ? ptx_symbol_find(m, name) : NULL;
	if (s && ptx_type_bits(s->type) > 8)
		snprintf(r->elem_type, sizeof(r->elem_type), "%s", ptx_type_name(s->type));
}

/* ---- what the PTX ISA leaves open ------------------------------------------ */

static bool is_approximate(const struct ptx_inst *i)
{
	switch (i->op) {
	case PTX_OP_SIN:
	case PTX_OP_COS:
	case PTX_OP_LG2:
	case PTX_OP_EX2:
	case PTX_OP_TANH:
	case PTX_OP_RSQRT: return true;
	default: return i->flags & (PTX_F_APPROX | PTX_F_FULL);
	}
}

static bool has_approximations(const struct ptx_func *f)
{
	for (uint32_t k = 0; k < f->ninsts; k++)
		if (is_approximate(&f->insts[k]))
			return true;
	return false;
}

static bool may_fuse(const struct ptx_func *f)
{
	struct ptx_contractions c;
	bool yes = true;

	if (!ptx_contractions_find(f, &c)) {
		yes = c.n > 0;
		ptx_contractions_free(&c);
	}
	return yes;
}

/* Order shows in atomics, and in what blocks tell each other; grouping in products of matrices; textures are filtered to a
 * precision of the hardware's. What other functions do is not looked at. */
static bool depends_on_others(struct ptx_module *m, struct ptx_func *f)
{
	struct ptx_touch t;
	bool yes = true;

	if (!ptx_touch_find(m, f, &t)) {
		yes = t.matrix_ops || t.textures || t.clocks || t.grid_sync || t.fences || t.uses_malloc ||
		      t.nfuncs > 1 || t.calls_unknown || t.calls_indirect;
		for (size_t k = 0; k < sizeof(t.space); k++)
			yes |= t.space[k] & PTX_TOUCH_ATOMIC;
		ptx_touch_free(&t);
	}
	return yes;
}

bool recorded_ptx_is_exact(struct engine *e, uint64_t kernel)
{
	const struct trace_kernel *k = kernel ? trace_kernel(e->trace, kernel) : NULL;
	struct ptx_module *m = NULL;
	struct ptx_func *f;
	uint64_t known;

	if (map_get(&e->exact_kernels, kernel, &known))
		return known != 0;
	f = k ? recorded_ptx_func(e, k, &m) : NULL;
	known = f && !has_approximations(f) && !may_fuse(f) && !depends_on_others(m, f);
	map_set(&e->exact_kernels, kernel, known);
	return known != 0;
}
