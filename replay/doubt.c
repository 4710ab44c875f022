/* SPDX-License-Identifier: Apache-2.0
 *
 * What depends on launches that are left out. A launch that faults here, and did not when recorded, ends its
 * context; so the process is replayed again without it (retry.c), and what it would have written is in
 * doubt. Doubt is followed by allocation: a kernel that may read what is in doubt puts into doubt what it may
 * write, a copy carries it along, an allocation that is overwritten whole is rid of it. A result in doubt that
 * differs proves nothing; every other is compared as ever. Errs on the side of doubt.
 */
#include <string.h>

#include "replay/engine.h"

#define FAULTS_OF_A_KERNEL 3 /* then none of its further launches is tried */

int doubt_load(struct engine *e, const struct left_out *v, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		unsigned faults = 0;

		if (v[i].process != e->process)
			continue;
		for (size_t k = 0; k <= i; k++)
			faults += v[k].process == e->process && v[k].kernel == v[i].kernel;
		rc = map_set(&e->left_out, v[i].launch, 1);
		if (!rc && v[i].kernel && faults == FAULTS_OF_A_KERNEL)
			rc = map_set(&e->left_out_kernels, v[i].kernel, v[i].launch);
	}
	return rc;
}

void doubt_free(struct engine *e)
{
	map_free(&e->left_out);
	map_free(&e->left_out_kernels);
}

bool doubt_leaves_out(struct engine *e, uint64_t call, uint64_t kernel)
{
	uint64_t from;

	if (map_get(&e->left_out, call, NULL))
		return true;
	return kernel && map_get(&e->left_out_kernels, kernel, &from) && call > from;
}

uint64_t doubt_of(const struct engine *e, const struct address_range *r)
{
	if (!r)
		return e->any_doubt;
	return r->doubt || !r->owner ? r->doubt : e->variables_doubt;
}

const char *doubt_note(struct engine *e, uint64_t launch)
{
	static char text[320];
	struct trace_launch l;
	const struct trace_kernel *k =
		!trace_launch_get(e->trace, launch, &l) && l.kernel ? trace_kernel(e->trace, l.kernel) : NULL;

	snprintf(text, sizeof(text),
		 "may depend on the launch of call %llu (%s), which is left out because of a fault",
		 (unsigned long long)launch, k ? k->name : "a kernel");
	return text;
}

void doubt_write(struct engine *e, uint64_t address, uint64_t bytes, uint64_t doubt)
{
	struct address_range *r = e->any_doubt ? addresses_find(&e->addresses, address) : NULL;

	if (!r)
		return;
	if (doubt && !r->doubt)
		r->doubt = doubt;
	else if (!doubt && address == r->base && bytes >= r->bytes && !r->owner)
		r->doubt = 0;
}

void doubt_carry(struct address_range *r, uint64_t address, uint64_t bytes, uint64_t wrong)
{
	if (wrong && !r->wrong)
		r->wrong = wrong;
	else if (!wrong && address == r->base && bytes >= r->bytes)
		r->wrong = 0;
}

uint64_t doubt_inherited(struct engine *e, struct address_range *r, uint64_t launch, bool differs)
{
	uint64_t from = e->inherits;

	if (e->opt->isolated || e->probe_calls || !r)
		return 0;
	if (!differs) {
		r->wrong = 0;
		return 0;
	}
	if (!from && r->wrong != launch)
		from = r->wrong; /* it may have written a part, and left the rest as wrong as it was */
	r->wrong = from ? from : launch;
	e->any_wrong = r->wrong;
	return from;
}

void doubt_unknown(struct engine *e, const struct call *c)
{
	if (e->any_doubt && !e->tainted)
		engine_taint(e, c->rec->id, "what %s moved is not followed, and it %s", c->name,
			     doubt_note(e, e->any_doubt));
}

/* ---- launches ----------------------------------------------------------- */

struct effects {
	bool reads_unknown, writes_unknown, reads_variables, writes_variables;
};

static struct effects effects_of(struct engine *e, const struct trace_kernel *k)
{
	struct effects all = {true, true, true, true};
	struct ptx_module *m;
	struct ptx_func *f = k ? recorded_ptx_func(e, k, &m) : NULL;

	if (!f || ptx_func_analyse(m, f))
		return all;
	return (struct effects){f->reads_unknown, f->writes_unknown, f->reads_module_vars,
				f->writes_module_vars};
}

/* The launch left out that this one may read something of; 0: none. */
static uint64_t read_doubt(struct engine *e, const struct trace_kernel *k, const struct effects *fx,
			   const uint8_t *params, size_t bytes)
{
	for (unsigned i = 0; k && i < k->nparams; i++) {
		struct address_range *r =
			k->params[i].is_read ? addresses_pointee(&e->addresses, &k->params[i], params, bytes)
					     : NULL;

		if (r && doubt_of(e, r))
			return doubt_of(e, r);
	}
	if (fx->reads_variables && e->variables_doubt)
		return e->variables_doubt;
	return fx->reads_unknown ? e->any_doubt : 0;
}

/* Variables of the module, or memory that its parameters don't name. */
static uint64_t wrong_elsewhere(struct engine *e, const struct effects *fx)
{
	for (size_t i = 0; fx->reads_variables && i < e->addresses.n; i++)
		if (e->addresses.by_base[i]->owner && e->addresses.by_base[i]->wrong)
			return e->addresses.by_base[i]->wrong;
	return fx->reads_unknown ? e->any_wrong : 0;
}

static void inherit(struct engine *e, const struct trace_kernel *k, const uint8_t *params, size_t bytes)
{
	struct effects fx;

	e->inherits = 0;
	if (!e->any_wrong)
		return;
	for (unsigned i = 0; k && i < k->nparams && !e->inherits; i++) {
		struct address_range *r =
			k->params[i].is_read ? addresses_pointee(&e->addresses, &k->params[i], params, bytes)
					     : NULL;

		e->inherits = r ? r->wrong : 0;
	}
	fx = effects_of(e, k);
	if (!e->inherits)
		e->inherits = wrong_elsewhere(e, &fx);
	for (unsigned i = 0; k && i < k->nparams && e->inherits; i++) {
		struct address_range *r =
			k->params[i].is_written
				? addresses_pointee(&e->addresses, &k->params[i], params, bytes)
				: NULL;

		if (r && !r->wrong)
			r->wrong = e->inherits;
	}
}

void doubt_launch(struct engine *e, const struct call *c, const struct trace_launch *l,
		  const struct trace_kernel *k, const uint8_t *params, size_t bytes)
{
	struct effects fx;
	uint64_t doubt;

	inherit(e, k, params, bytes);
	if (!e->left_out.used)
		return;
	fx = effects_of(e, k);
	doubt = doubt_leaves_out(e, c->rec->id, l->kernel) ? c->rec->id
							   : read_doubt(e, k, &fx, params, bytes);
	if (!doubt)
		return;
	e->any_doubt = doubt;
	for (unsigned i = 0; k && i < k->nparams; i++) {
		struct address_range *r =
			k->params[i].is_written
				? addresses_pointee(&e->addresses, &k->params[i], params, bytes)
				: NULL;

		if (r && !r->doubt)
			r->doubt = doubt;
	}
	if (fx.writes_variables)
		e->variables_doubt = doubt;
	if (fx.writes_unknown && !e->tainted)
		engine_taint(e, c->rec->id, "what %s writes is not known, and it %s", k ? k->name : c->name,
			     doubt_note(e, doubt));
}
