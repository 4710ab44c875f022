/* SPDX-License-Identifier: Apache-2.0
 *
 * A sum of a product, both without rounding modifier, may be that of a fused multiply-add (ISA 9.7.3.6): sums that are not what
 * their operands give are judged once more as such.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx/analysis.h"
#include "replay/narrow_judge.h"

static uint32_t site_of_inst(const struct narrow_log *l, const struct ptx_func *f, uint32_t inst)
{
	for (uint32_t k = 0; k < l->code->nsites; k++)
		if (l->code->sites[k].f == f && l->code->sites[k].n == 1 && l->code->sites[k].first == inst)
			return k;
	return PTX_NONE;
}

/* The last execution before byte `before`. */
static bool find_before(const struct narrow_log *l, uint64_t thread, uint64_t before, uint32_t site,
			struct narrow_record *out)
{
	struct narrow_record r;
	bool found = false;

	for (bool more = narrow_first(l, thread, &r); more && r.at < before; more = narrow_next(l, &r))
		if (r.site == &l->code->sites[site]) {
			*out = r;
			found = true;
		}
	return found;
}

/* A judge for each product that the sum may be fused with, with the rows in question. */
static bool add_fused(struct judging *fused, const struct judging *j, const struct batch *b,
		      const struct ptx_contraction *c)
{
	const struct ptx_site *s = &j->log->code->sites[b->judge.site];
	uint32_t mul = site_of_inst(j->log, s->f, c->mul);
	struct batch *to;

	if (mul == PTX_NONE || !j->log->code->sites[mul].words)
		return true;
	to = batch_new(fused, b->judge.site, mul);
	if (!to)
		return false;
	to->judge.operand = c->operand;
	to->judge.negate_product = c->negate_product;
	to->judge.negate_addend = c->negate_addend;
	for (size_t row = 0; row < b->n; row++) {
		struct narrow_record product;
		uint32_t *words;

		if (b->of[row].thread == UINT64_MAX || !judging_wrong(j, b, row) ||
		    !find_before(j->log, b->of[row].thread, b->of[row].at, mul, &product))
			continue;
		words = batch_add(to, b->of[row].thread, b->of[row].at);
		if (!words)
			return false;
		memcpy(words, b->rows + row * b->in_words, 4u * s->words);
		memcpy(words + s->words, product.words, 4u * product.site->words);
	}
	return true;
}

static bool batch_has_wrong(const struct judging *j, const struct batch *b)
{
	for (size_t row = 0; row < b->n; row++)
		if (b->of[row].thread != UINT64_MAX && judging_wrong(j, b, row))
			return true;
	return false;
}

bool fused_collect(struct judging *fused, const struct judging *j)
{
	for (uint32_t k = 0; k < j->n; k++) {
		const struct batch *b = &j->batches[k];
		const struct ptx_site *s = &j->log->code->sites[b->judge.site];
		const struct ptx_inst *i = narrow_inst(s);
		struct ptx_contractions c;
		bool ok = true;

		if ((i->op != PTX_OP_ADD && i->op != PTX_OP_SUB) || !b->done[0] ||
		    i->type2 != PTX_TYPE_NONE || i->type == PTX_F32X2 ||
		    /* has no neg */ !ptx_type_is_float((enum ptx_type)i->type) || !batch_has_wrong(j, b) ||
		    ptx_contractions_find(s->f, &c))
			continue;
		for (uint32_t p = 0; p < c.n && ok; p++)
			if (c.at[p].add == s->first)
				ok = add_fused(fused, j, b, &c.at[p]);
		ptx_contractions_free(&c);
		if (!ok)
			return false;
	}
	return true;
}

bool fused_gives(const struct judging *fused, const struct place_of_row *of, uint32_t site)
{
	for (uint32_t k = 0; k < fused->n; k++)
		for (size_t row = 0; row < fused->batches[k].n; row++) {
			const struct batch *b = &fused->batches[k];

			if (b->judge.site == site && b->done[0] && b->of[row].thread == of->thread &&
			    b->of[row].at == of->at && !judging_wrong(fused, b, row))
				return true;
		}
	return false;
}
