/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes logged instructions again, each on its own operands, on the interpreter: kernels of one statement (judge.c of
 * ptx/instrument), a block for 32 records. What the PTX ISA defines must be the same bits. Approximations and products of
 * matrices are made with several seeds; what is there may lie as far outside of what these give as they spread. A sum of a
 * product, both without rounding modifier, may be that of a fused multiply-add.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ptx/analysis.h"
#include "replay/narrow_judge.h"

/* ---- records ------------------------------------------------------------------------------- */

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

static struct batch *batch_new(struct judging *j, uint32_t site, uint32_t fused)
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

/* A row of zeros is nobody's. Returns it to be filled. */
static uint32_t *batch_add(struct batch *b, uint64_t thread, uint64_t at)
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

/* ---- comparing --------------------------------------------------------------------------------- */

static const struct elem_type *result_type(const struct ptx_site *s, const struct ptx_site_register *r)
{
	const struct ptx_inst *i = narrow_inst(s);
	unsigned bits = ptx_type_bits((enum ptx_type)i->type);

	if (ptx_type_is_float((enum ptx_type)i->type) && bits <= r->bits)
		return elem_type_find(ptx_type_name((enum ptx_type)i->type));
	return elem_type_find("b8");
}

static uint64_t element(const uint32_t *words, unsigned byte, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)words + byte, bytes);
	return v;
}

/* Within what the seeds give, and as far outside as they spread. */
static bool is_legal(const struct elem_type *t, const struct batch *b, size_t row, unsigned byte,
		     uint64_t got, bool is_matrix)
{
	double low = INFINITY, high = -INFINITY, v = elem_value(t, got), w;

	for (unsigned run = 0; run < RUNS; run++) {
		uint64_t x = element(b->out[run] + row * b->out_words, byte, t->bytes);

		if (!b->done[run])
			continue;
		if (x == got || (elem_is_nan(t, x) && elem_is_nan(t, got)))
			return true;
		if (elem_is_nan(t, x) || elem_is_nan(t, got))
			continue;
		low = fmin(low, elem_value(t, x));
		high = fmax(high, elem_value(t, x));
	}
	if (!(low <= high) || v != v)
		return false;
	w = high - low;
	/* An approximation of an exact value may be another one yet. */
	if (!is_matrix)
		w = fmax(w, ldexp(fabs(high), -(int)t->mantissa));
	return v >= low - 2 * w && v <= high + 2 * w;
}

static bool same_element(const struct elem_type *t, uint64_t a, uint64_t b)
{
	return a == b || (t->cls == ELEM_FLOAT && elem_is_nan(t, a) && elem_is_nan(t, b));
}

/* The result that is wrong, or NULL. */
static const struct ptx_site_register *wrong_result(const struct judging *j, const struct batch *b,
						    size_t row)
{
	const struct ptx_site *s = &j->log->code->sites[b->judge.site];
	const uint32_t *got = b->rows + row * b->in_words, *want = b->out[0] + row * b->out_words;
	bool is_matrix = s->collective;

	for (unsigned k = 0; k < s->nregisters; k++) {
		const struct ptx_site_register *r = &s->registers[k];
		const struct elem_type *t = r->is_result ? result_type(s, r) : NULL;

		for (unsigned byte = 0; t && byte < (r->bits + 7u) / 8; byte += t->bytes) {
			unsigned at = 4u * r->at + byte;
			uint64_t x = element(got, at, t->bytes), y = element(want, at, t->bytes);

			if (same_element(t, x, y))
				continue;
			if (!b->approximate || t->cls != ELEM_FLOAT || !is_legal(t, b, row, at, x, is_matrix))
				return r;
		}
	}
	return NULL;
}

/* ---- products and sums -------------------------------------------------------------------------- */

struct pairs {
	struct ptx_contractions c;
	const struct ptx_func *f;
};

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

		if (b->of[row].thread == UINT64_MAX || !wrong_result(j, b, row) ||
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
		if (b->of[row].thread != UINT64_MAX && wrong_result(j, b, row))
			return true;
	return false;
}

static bool add_all_fused(struct judging *fused, const struct judging *j)
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

/* Whether one of the fused forms gives it. */
static bool is_fused(const struct judging *fused, const struct place_of_row *of, uint32_t site)
{
	for (uint32_t k = 0; k < fused->n; k++)
		for (size_t row = 0; row < fused->batches[k].n; row++) {
			const struct batch *b = &fused->batches[k];

			if (b->judge.site == site && b->done[0] && b->of[row].thread == of->thread &&
			    b->of[row].at == of->at && !wrong_result(fused, b, row))
				return true;
		}
	return false;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static void judging_free(struct judging *j)
{
	for (uint32_t k = 0; k < j->n; k++) {
		free(j->batches[k].rows);
		free(j->batches[k].of);
	}
	free(j->batches);
	free(j->by_site);
	if (j->shared)
		munmap(j->shared, j->shared_bytes);
}

static void offer_wrong(const struct judging *j, const struct judging *fused, const struct batch *b,
			const struct narrow_place *p, struct narrow_finding *best)
{
	const struct ptx_site *s = &j->log->code->sites[b->judge.site];

	for (size_t row = 0; b->done && b->done[0] && row < b->n; row++) {
		struct narrow_finding f = {.how = NARROW_INSTRUCTION,
					   .site = s,
					   .thread = b->of[row].thread,
					   .at = b->of[row].at,
					   .has_got = true,
					   .has_want = true};

		if (f.thread == UINT64_MAX || s->words > sizeof(f.got) / 4)
			continue;
		f.result = wrong_result(j, b, row);
		if (!f.result)
			continue;
		f.rank = narrow_rank(p, f.thread);
		if (best->how == NARROW_INSTRUCTION &&
		    (best->rank < f.rank || (best->rank == f.rank && best->at <= f.at)))
			continue;
		if (is_fused(fused, &b->of[row], b->judge.site))
			continue;
		memcpy(f.got, b->rows + row * b->in_words, 4u * s->words);
		memcpy(f.want, b->out[0] + row * b->out_words, 4u * s->words);
		narrow_offer(best, &f);
	}
}

int narrow_judge(struct session *s, const struct ptx_module *m, const struct narrow_log *log,
		 const struct narrow_place *p, struct narrow_finding *best, struct diag *d)
{
	struct judging j = {.s = s, .m = m, .log = log}, fused = {.s = s, .m = m, .log = log};
	int rc = 0;

	j.by_site = calloc(log->code->nsites + 1, sizeof(*j.by_site));
	if (!j.by_site || !add_single(&j) || !add_collective(&j, p->threads))
		rc = diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	if (!rc)
		rc = judging_execute(&j, d);
	if (!rc && !add_all_fused(&fused, &j))
		rc = diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	if (!rc && fused.n)
		rc = judging_execute(&fused, d);
	for (uint32_t k = 0; !rc && k < j.n; k++)
		offer_wrong(&j, &fused, &j.batches[k], p, best);
	judging_free(&j);
	judging_free(&fused);
	return rc;
}
