/* SPDX-License-Identifier: Apache-2.0
 *
 * Products that go into sums. A compiler that fuses what it may not fuse does so where nothing else wants the product: a log of
 * it hides the fault. So, where a kernel gives another result with its log, products are left out of that, and
 * sums are judged with them: from the factors, by two roundings.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/narrow_judge.h"

#define MAX_PRODUCTS 2

/* The product that operand k of a sum is; NULL: none that may be left out. */
static const struct ptx_inst *product_of(const struct ptx_func *f, const struct ptx_inst *sum, unsigned k)
{
	const struct ptx_operand *o = &sum->src[k];
	const struct ptx_inst *mul;

	if ((sum->op != PTX_OP_ADD && sum->op != PTX_OP_SUB) || sum->nsrc != 2 ||
	    sum->type2 != PTX_TYPE_NONE || (sum->type != PTX_F32 && sum->type != PTX_F64) ||
	    o->kind != PTX_OPND_VALUE || !o->index || f->values[o->index].def == PTX_NONE)
		return NULL;
	mul = &f->insts[f->values[o->index].def];
	return mul->op == PTX_OP_MUL && mul->type == sum->type && mul->nsrc == 2 && !mul->guarded ? mul
												  : NULL;
}

/* A sum that the ISA allows to be fused (ISA 9.7.3: neither has a rounding modifier) is judged by narrow_fused.c. */
static bool is_spared(const struct ptx_func *f, const struct ptx_inst *sum)
{
	bool any = false;

	for (unsigned k = 0; k < MAX_PRODUCTS && k < sum->nsrc; k++) {
		const struct ptx_inst *mul = product_of(f, sum, k);

		any |= mul != NULL;
		if (mul && mul->rnd == PTX_RND_NONE && sum->rnd == PTX_RND_NONE)
			return false;
	}
	return any;
}

static bool feeds_sum(const struct ptx_func *f, const struct ptx_inst *mul)
{
	if (mul->op != PTX_OP_MUL)
		return false;
	for (uint32_t i = 0; i < f->ninsts; i++)
		for (unsigned k = 0; k < MAX_PRODUCTS && k < f->insts[i].nsrc; k++)
			if (product_of(f, &f->insts[i], k) == mul && is_spared(f, &f->insts[i]))
				return true;
	return false;
}

static void drop_register(struct ptx_site *s, unsigned at)
{
	memmove(&s->registers[at], &s->registers[at + 1],
		(s->nregisters - at - 1u) * sizeof(s->registers[0]));
	s->nregisters--;
	s->is_partial = true;
}

bool narrow_spare(struct ptx_site *s)
{
	const struct ptx_inst *i = narrow_inst(s);
	bool sum = s->n == 1 && is_spared(s->f, i), product = s->n == 1 && feeds_sum(s->f, i);

	for (unsigned at = s->nregisters; at-- > 0;) {
		const struct ptx_site_register *r = &s->registers[at];
		bool drop = product && r->is_result;

		for (unsigned k = 0; sum && k < MAX_PRODUCTS; k++)
			drop |= product_of(s->f, i, k) && !r->is_result && !r->is_guard &&
				s->f->values[i->src[k].index].slot == r->slot;
		if (drop)
			drop_register(s, at);
	}
	return sum;
}

/* ---- judging ------------------------------------------------------------------------------------ */

static uint32_t site_of(const struct narrow_log *l, const struct ptx_func *f, const struct ptx_inst *i)
{
	for (uint32_t k = 0; k < l->code->nsites; k++)
		if (l->code->sites[k].f == f && l->code->sites[k].n == 1 &&
		    narrow_inst(&l->code->sites[k]) == i)
			return k;
	return PTX_NONE;
}

/* NULL: it can't be judged, or there is no memory. */
static struct batch *batch_for(struct judging *j, uint32_t site)
{
	const struct ptx_site *s = &j->log->code->sites[site];
	uint32_t products[MAX_PRODUCTS];
	struct batch *b;

	for (unsigned k = 0; k < MAX_PRODUCTS; k++) {
		const struct ptx_inst *mul = product_of(s->f, narrow_inst(s), k);

		products[k] = mul ? site_of(j->log, s->f, mul) : PTX_NONE;
		if (mul && (products[k] == PTX_NONE || !j->log->code->sites[products[k]].words))
			return NULL;
	}
	b = batch_new(j, site, PTX_NONE);
	if (!b)
		return NULL;
	b->judge.joint = true;
	memcpy(b->judge.products, products, sizeof(products));
	for (unsigned k = 0; k < MAX_PRODUCTS; k++)
		if (products[k] != PTX_NONE)
			b->in_words += j->log->code->sites[products[k]].words;
	return b;
}

/* The sum's record, behind it those of its products. */
static bool add_row(const struct judging *j, struct batch *b, const struct narrow_record *sum,
		    const struct narrow_record *last)
{
	uint32_t *row, at = sum->site->words;

	for (unsigned k = 0; k < MAX_PRODUCTS; k++)
		if (b->judge.products[k] != PTX_NONE && !last[b->judge.products[k]].site)
			return true;
	row = batch_add(b, sum->thread, sum->at);
	if (!row)
		return false;
	memcpy(row, sum->words, 4u * sum->site->words);
	for (unsigned k = 0; k < MAX_PRODUCTS; k++) {
		const uint32_t product = b->judge.products[k];

		if (product == PTX_NONE)
			continue;
		memcpy(row + at, last[product].words, 4u * j->log->code->sites[product].words);
		at += j->log->code->sites[product].words;
	}
	return true;
}

/* last: of each site, the thread's last record. */
static bool add_thread(struct judging *j, const uint32_t *batches, uint64_t thread,
		       struct narrow_record *last)
{
	const struct ptx_site *sites = j->log->code->sites;
	struct narrow_record r;
	bool ok = true;

	memset(last, 0, j->log->code->nsites * sizeof(*last));
	for (bool more = narrow_first(j->log, thread, &r); more && ok; more = narrow_next(j->log, &r)) {
		const uint32_t site = (uint32_t)(r.site - sites);

		if (batches[site] && narrow_guard_holds(&r))
			ok = add_row(j, &j->batches[batches[site] - 1], &r, last);
		last[site] = r;
	}
	return ok;
}

bool spare_collect(struct judging *j)
{
	const uint32_t n = j->log->code->nsites;
	uint32_t *batches = calloc(n + 1, sizeof(*batches)); /* by site: batch + 1 */
	struct narrow_record *last = calloc(n + 1, sizeof(*last));
	bool ok = batches && last, any = false;

	for (uint32_t k = 0; ok && k < n; k++) {
		const struct ptx_site *s = &j->log->code->sites[k];

		if (!s->is_partial || !is_spared(s->f, narrow_inst(s)))
			continue;
		batches[k] = batch_for(j, k) ? j->n : 0;
		any |= batches[k] != 0;
	}
	for (uint64_t t = 0; ok && any && t < j->log->nthreads; t++)
		ok = add_thread(j, batches, t, last);
	free(batches);
	free(last);
	return ok;
}
