/* SPDX-License-Identifier: Apache-2.0
 *
 * Which records are judged together: those of one statement; of lanes that do one thing together, 32 rows for a warp's turn.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/narrow_judge.h"

/* ---- rows ------------------------------------------------------------------------------- */

static bool is_approximate(const struct ptx_inst *i)
{
	switch (i->op) {
	case PTX_OP_SIN:
	case PTX_OP_COS:
	case PTX_OP_LG2:
	case PTX_OP_EX2:
	case PTX_OP_TANH:
	case PTX_OP_RSQRT:
	case PTX_OP_WMMA_MMA:
	case PTX_OP_MMA:
	case PTX_OP_MMA_SP:
	case PTX_OP_MMA_SP_ORDERED_METADATA: return true;
	default: return i->flags & (PTX_F_APPROX | PTX_F_FULL);
	}
}

struct batch *batch_new(struct judging *j, uint32_t site, uint32_t fused)
{
	const struct ptx_site *s = &j->log->code->sites[site];
	struct batch *grown = realloc(j->batches, (j->n + 1) * sizeof(*grown)), *b;

	if (!grown)
		return NULL;
	j->batches = grown;
	b = &grown[j->n++];
	*b = (struct batch){.judge = {.site = site, .fused = fused},
			    .in_words = s->words,
			    .out_words = s->words,
			    .approximate = is_approximate(narrow_inst(s))};
	if (fused != PTX_NONE)
		b->in_words += j->log->code->sites[fused].words;
	return b;
}

/* A row of zeros is nobody's. */
uint32_t *batch_add(struct batch *b, uint64_t thread, uint64_t at)
{
	size_t words = b->in_words;

	if (b->n == b->capacity) {
		size_t more = b->n ? 2 * b->n : 2 * LANES;
		uint32_t *rows = realloc(b->rows, more * words * 4);
		struct place_of_row *of = rows ? realloc(b->of, more * sizeof(*of)) : NULL;

		b->rows = rows ? rows : b->rows;
		if (!of)
			return NULL;
		b->of = of;
		b->capacity = more;
	}
	memset(b->rows + b->n * words, 0, words * 4);
	b->of[b->n] = (struct place_of_row){thread, at};
	return b->rows + b->n++ * words;
}

static struct batch *batch_of(struct judging *j, uint32_t site)
{
	struct batch *b;

	if (j->by_site[site])
		return &j->batches[j->by_site[site] - 1];
	b = batch_new(j, site, PTX_NONE);
	if (b)
		j->by_site[site] = j->n;
	return b;
}

static uint32_t site_number(const struct judging *j, const struct ptx_site *s)
{
	return (uint32_t)(s - j->log->code->sites);
}

/* For rows more, and their results. */
static bool has_room(struct judging *j, const struct batch *b, unsigned rows)
{
	j->bytes += 4ull * rows * (b->in_words + b->out_words * (b->approximate ? RUNS : 1u));
	return j->bytes <= MAX_BYTES;
}

static bool add_record(struct judging *j, const struct narrow_record *r)
{
	struct batch *b = batch_of(j, site_number(j, r->site));
	uint32_t *row;

	if (b && !has_room(j, b, 1))
		return true;
	row = b ? batch_add(b, r->thread, r->at) : NULL;
	if (row)
		memcpy(row, r->words, 4u * r->site->words);
	return row != NULL;
}

/* ---- lanes that do one thing together ----------------------------------------------------------- */

/* The lanes that take part, as the statement names them; all where it doesn't. */
static uint32_t members(const struct narrow_record *r)
{
	const struct ptx_inst *i = narrow_inst(r->site);
	const struct ptx_operand *o = i->nsrc ? &i->src[i->nsrc - 1] : NULL;
	bool named = i->op == PTX_OP_SHFL || i->op == PTX_OP_VOTE || i->op == PTX_OP_MATCH ||
		     i->op == PTX_OP_REDUX;

	if (!named || !o)
		return UINT32_MAX;
	if (o->kind == PTX_OPND_IMM)
		return (uint32_t)o->imm;
	for (unsigned k = 0; o->kind == PTX_OPND_VALUE && k < r->site->nregisters; k++)
		if (!r->site->registers[k].is_result &&
		    r->site->registers[k].slot == r->site->f->values[o->index].slot)
			return (uint32_t)narrow_register(r, &r->site->registers[k]);
	return 0;
}

/* A lane's executions of one statement, in order. */
struct turns {
	struct narrow_record *at;
	size_t n, capacity, next;
};

static bool turns_add(struct turns *t, const struct narrow_record *r)
{
	if (t->n == t->capacity) {
		size_t more = t->n ? 2 * t->n : 16;
		struct narrow_record *grown = realloc(t->at, more * sizeof(*grown));

		if (!grown)
			return false;
		t->at = grown;
		t->capacity = more;
	}
	t->at[t->n++] = *r;
	return true;
}

/* The lanes that lane k's next turn is with; 0: they can't be told. */
static uint32_t partners(const struct turns *lanes, unsigned k)
{
	uint32_t mask = members(&lanes[k].at[lanes[k].next]), there = 0;

	for (unsigned l = 0; l < LANES; l++) {
		const struct turns *t = &lanes[l];

		if (!(mask >> l & 1) || !t->n)
			continue;
		if (t->next >= t->n || members(&t->at[t->next]) != mask)
			return 0;
		there |= 1u << l;
	}
	return there >> k & 1 ? there : 0;
}

static bool add_together(struct judging *j, struct turns *lanes, uint32_t who, uint32_t site)
{
	struct batch *b = batch_of(j, site);
	bool room = b && has_room(j, b, LANES);

	for (unsigned l = 0; b && l < LANES; l++) {
		bool takes_part = who >> l & 1;
		const struct narrow_record *r = takes_part ? &lanes[l].at[lanes[l].next++] : NULL;
		uint32_t *row = room ? batch_add(b, r ? r->thread : UINT64_MAX, r ? r->at : 0) : NULL;

		if (room && !row)
			return false;
		if (row && r)
			memcpy(row, r->words, 4u * r->site->words);
	}
	return b != NULL;
}

static bool match_turns(struct judging *j, struct turns *lanes, uint32_t site)
{
	for (unsigned k = 0; k < LANES; k++)
		while (lanes[k].next < lanes[k].n) {
			uint32_t who = partners(lanes, k);

			if (!who) /* not judged */
				lanes[k].next++;
			else if (!add_together(j, lanes, who, site))
				return false;
		}
	return true;
}

static bool add_warp_site(struct judging *j, uint64_t first_thread, uint64_t n, uint32_t site)
{
	struct turns lanes[LANES] = {{0}};
	struct narrow_record r;
	bool ok = true;

	for (uint64_t k = 0; k < n && ok; k++)
		for (bool more = narrow_first(j->log, first_thread + k, &r); more && ok;
		     more = narrow_next(j->log, &r))
			if (site_number(j, r.site) == site && narrow_guard_holds(&r))
				ok = turns_add(&lanes[k], &r);
	ok = ok && match_turns(j, lanes, site);
	for (unsigned k = 0; k < LANES; k++)
		free(lanes[k].at);
	return ok;
}

static bool add_collective(struct judging *j, uint64_t threads)
{
	for (uint32_t s = 0; s < j->log->code->nsites; s++) {
		const struct ptx_site *site = &j->log->code->sites[s];

		if (!site->words || !site->collective || !ptx_can_judge(site))
			continue;
		for (uint64_t block = 0; block < j->log->nthreads; block += threads)
			for (uint64_t t = 0; t < threads; t += LANES)
				if (!add_warp_site(j, block + t, threads - t < LANES ? threads - t : LANES,
						   s))
					return false;
	}
	return true;
}

static bool add_single(struct judging *j)
{
	struct narrow_record r;

	for (uint64_t t = 0; t < j->log->nthreads; t++)
		for (bool more = narrow_first(j->log, t, &r); more; more = narrow_next(j->log, &r))
			if (r.site->kind == PTX_SITE_PURE && !r.site->collective && ptx_can_judge(r.site) &&
			    narrow_guard_holds(&r) && !add_record(j, &r))
				return false;
	return true;
}

bool batches_collect(struct judging *j, uint64_t threads)
{
	j->by_site = calloc(j->log->code->nsites + 1, sizeof(*j->by_site));
	return j->by_site && add_single(j) && add_collective(j, threads);
}
