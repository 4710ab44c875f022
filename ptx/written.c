/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/written.h"

#include <stdlib.h>

#include "ptx/bounds.h"
#include "ptx/provenance.h"

struct ptx_written {
	struct bounds_plan plan;
	struct interval *values;
	uint8_t *growths;
};

/* The register that holds the address; 0: there is none, and the store isn't bounded. */
static uint32_t address_of(const struct ptx_func *f, const struct ptx_store *s)
{
	const struct ptx_inst *i = &f->insts[s->inst];
	bool plain = i->op == PTX_OP_ST || i->op == PTX_OP_ATOM || i->op == PTX_OP_RED;
	return plain && i->nsrc && i->src[0].kind == PTX_OPND_VALUE ? i->src[0].index : 0;
}

static int open_plan(struct ptx_written *w, struct ptx_module *m, struct ptx_func *f)
{
	uint32_t *roots = calloc((size_t)f->nstores + 1, sizeof(*roots));
	if (!roots)
		return CUTRACE_ENOMEM;
	for (uint32_t k = 0; k < f->nstores; k++)
		roots[k] = address_of(f, &f->stores[k]);
	int rc = bounds_plan_open(&w->plan, m, f, roots, f->nstores);
	free(roots);
	return rc;
}

int ptx_written_open(struct ptx_written **out, struct ptx_module *m, struct ptx_func *f)
{
	struct ptx_written *w;
	*out = NULL;
	int rc = ptx_func_analyse(m, f);
	if (rc)
		return rc;
	w = calloc(1, sizeof(*w));
	if (!w)
		return CUTRACE_ENOMEM;
	w->values = calloc((size_t)f->nvalues + 1, sizeof(*w->values));
	w->growths = calloc((size_t)f->nvalues + 1, 1);
	rc = w->values && w->growths ? open_plan(w, m, f) : CUTRACE_ENOMEM;
	if (rc)
		ptx_written_close(w);
	else
		*out = w;
	return rc;
}

void ptx_written_close(struct ptx_written *w)
{
	if (!w)
		return;
	bounds_plan_close(&w->plan);
	free(w->values);
	free(w->growths);
	free(w);
}

bool ptx_written_elsewhere(const struct ptx_written *w)
{
	return w->plan.f->writes_unknown || w->plan.f->writes_module_vars;
}

/* ---- one launch --------------------------------------------------------------- */

static unsigned stored_bytes(const struct ptx_inst *i)
{
	return ptx_type_bits(i->type) / 8 * (i->vec ? i->vec : 1);
}

/* Addresses of one store's bytes. */
static struct interval store_range(struct bounds *b, const struct ptx_store *s)
{
	const struct ptx_inst *i = &b->p->f->insts[s->inst];
	uint32_t address = address_of(b->p->f, s);
	if (!bounds_reaches(b, s->block))
		return INTERVAL_NONE;
	if (!address || b->p->f->values[address].bits != 64 || !stored_bytes(i))
		return INTERVAL_ALL;
	struct interval at = bounds_at(b, address, s->block);
	if (interval_is_none(at) || interval_is_all(at))
		return at;
	at = interval_add(at, interval_one(i->offset));
	return interval_is_all(at) ? at : interval_add(at, (struct interval){0, (int64_t)stored_bytes(i)});
}

/* Among the threads of a block an affine address differs by strides times positions, however many terms it is made of:
 * found from the address at the block's first thread. */
static struct interval affine_range(struct bounds *origin, const struct ptx_store *s)
{
	const struct bounds_plan *p = origin->p;
	uint32_t address = address_of(p->f, s);
	const struct ptx_uniform *u = address ? &p->uniformity.values[address] : NULL;
	const uint32_t *n = origin->launch->block;
	if (!u || !u->affine || u->base > PTX_LEVEL_BLOCK)
		return INTERVAL_ALL;
	struct interval r = store_range(origin, s);
	for (unsigned k = 0; k < PTX_AXES; k++) {
		int64_t last = k == PTX_AXIS_LANE ? 31
			       : n[k]             ? (int64_t)n[k] - 1
						  : 0,
			far = last * u->stride[k];
		r = interval_is_all(r)
			    ? r
			    : interval_add(r, (struct interval){far < 0 ? far : 0, far > 0 ? far : 0});
	}
	return r;
}

static void add_range(struct ptx_written_range *r, struct interval x)
{
	if (interval_is_none(x))
		return;
	if (interval_is_all(x) || x.low < 0) {
		r->is_bounded = false;
	} else if (r->first == r->end) {
		r->first = (uint64_t)x.low;
		r->end = (uint64_t)x.high;
	} else {
		r->first = (uint64_t)x.low < r->first ? (uint64_t)x.low : r->first;
		r->end = (uint64_t)x.high > r->end ? (uint64_t)x.high : r->end;
	}
}

static void find_stores(struct bounds *b, struct bounds *origin, bool known, bool affine,
			struct ptx_written_range *ranges)
{
	const struct ptx_func *f = b->p->f;
	for (uint32_t k = 0; k < f->nstores; k++) {
		const struct ptx_store *s = &f->stores[k];
		struct interval x = known ? store_range(b, s) : INTERVAL_ALL;
		if (affine && !interval_is_none(x))
			x = interval_meet(x, affine_range(origin, s));
		for (uint32_t n = 0; n < f->nparams; n++)
			if (s->params & ORIGIN_PARAM(n))
				add_range(&ranges[n], x);
	}
}

void ptx_written_find(struct ptx_written *w, const struct ptx_launch *l, struct ptx_written_range *ranges)
{
	const struct ptx_func *f = w->plan.f;
	struct bounds b = {.p = &w->plan, .launch = l, .values = w->values, .growths = w->growths},
		      origin = b;
	for (uint32_t n = 0; n < f->nparams; n++)
		ranges[n] = (struct ptx_written_range){f->access[n].is_written, true, 0, 0};
	bool known = bounds_find(&b), affine = false;
	/* Strides are those of sums that don't wrap around, and nothing here did. */
	origin.at_origin = true;
	origin.values = known && !b.lost ? calloc((size_t)f->nvalues + 1, sizeof(*origin.values)) : NULL;
	if (origin.values)
		affine = bounds_find(&origin);
	find_stores(&b, &origin, known, affine, ranges);
	free(origin.values);
}
