/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes logged instructions again, each on its own operands, on the interpreter: kernels of one statement (judge.c of
 * ptx/instrument), a block for 32 records. What the PTX ISA defines must be the same bits. Approximations and products of
 * matrices are made with several seeds; what is there may lie as far outside of what these give as they spread. REPL
 * product, both without rounding modifier, may be that of a fused multiply-add.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "replay/narrow_judge.h"

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

const struct ptx_site_register *judging_wrong(const struct judging *j, const struct batch *b, size_t row)
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

/* Of floating-point numbers, by one thread, with a rounding that the ISA defines, and not part of what may be fused in ways that
 * narrow_fused.c doesn't know. */
static bool is_exact(const struct batch *b, const struct ptx_site *s)
{
	const struct ptx_inst *i = narrow_inst(s);
	bool sum = i->op == PTX_OP_ADD || i->op == PTX_OP_SUB;

	if (b->approximate || s->collective || !ptx_type_is_float((enum ptx_type)i->type))
		return false;
	return !sum || i->rnd != PTX_RND_NONE || (i->type2 == PTX_TYPE_NONE && i->type != PTX_F32X2);
}

static void offer_wrong(const struct judging *j, const struct judging *fused, const struct batch *b,
			const struct narrow_place *p, struct narrow_finding *best)
{
	const struct ptx_site *s = &j->log->code->sites[b->judge.site];

	if (p->exact && !is_exact(b, s))
		return;
	for (size_t row = 0; b->done && b->done[0] && row < b->n; row++) {
		struct narrow_finding f = {
			.how = NARROW_INSTRUCTION,
			.site = s,
			.thread = b->of[row].thread,
			.at = b->of[row].at,
			.has_got = true,
			.has_want = true,
			.note = b->judge.joint
					? "a product that goes into it was not rounded, as where both are done as one"
					: NULL};

		if (f.thread == UINT64_MAX || s->words > sizeof(f.got) / 4)
			continue;
		f.result = judging_wrong(j, b, row);
		if (!f.result)
			continue;
		f.rank = narrow_rank(p, f.thread);
		if (best->how == NARROW_INSTRUCTION &&
		    (best->rank < f.rank || (best->rank == f.rank && best->at <= f.at)))
			continue;
		if (fused_gives(fused, &b->of[row], b->judge.site))
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

	if (!batches_collect(&j, p->threads) || !spare_collect(&j))
		rc = diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	if (!rc)
		rc = judging_execute(&j, d);
	if (!rc && !fused_collect(&fused, &j))
		rc = diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	if (!rc && fused.n)
		rc = judging_execute(&fused, d);
	for (uint32_t k = 0; !rc && k < j.n; k++)
		offer_wrong(&j, &fused, &j.batches[k], p, best);
	judging_free(&j);
	judging_free(&fused);
	return rc;
}
