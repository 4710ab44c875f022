/* SPDX-License-Identifier: Apache-2.0
 *
 * Control "contract": products and sums without rounding modifier may be fused (PTX ISA 9.7.3 to 9.7.5; which pairs:
 * ptx/contraction.c), and compilers for GPUs do so. `all` fuses what they would, `seed:N` some of it: the spread of a
 * program's results over seeds is what it may not rely on.
 *
 * A multiplication that some sum is fused with keeps its factors in cells of their own, since their registers may have
 * other values by then; the product is made as ever, for whoever else reads it.
 */
#include <stdlib.h>

#include "ptx/analysis.h"
#include "zluda_core/device_interp/decode.h"

/* A pair that is fused: of a sum. */
struct fused {
	struct ptx_contraction pair;
	const struct exec_row *row; /* of the fma */
};

struct contractions {
	struct fused *pairs;
	uint32_t *of_sum; /* by instruction: index in pairs + 1 */
	uint32_t (
		*cells)[2]; /* by instruction: the factors of a multiplication, OPERAND_NONE when not kept */
};

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static struct ptx_inst fma_of(const struct decode *c, const struct ptx_contraction *p)
{
	struct ptx_inst fma = c->func->insts[p->add];

	fma.op = PTX_OP_FMA;
	fma.rnd = PTX_RN;
	fma.nsrc = 3;
	fma.ndst = 1;
	return fma;
}

static bool is_wanted(const struct decode *c, const struct ptx_contraction *p)
{
	const struct contraction_mode *m = &c->contraction;

	return m->which == CONTRACT_ALL ||
	       mix(mix(m->seed) ^ ((uint64_t)c->func->index << 32 | p->add) ^ (uint64_t)p->operand << 63) & 1;
}

/* Of two products in a sum that one is fused which nothing else reads, else the first: LLVM's choice. */
static void choose(struct decode *c, struct contractions *all, const struct ptx_contraction *p, uint32_t *n)
{
	const struct ptx_inst fma = fma_of(c, p);
	const struct exec_row *row = exec_find(c->exec, &fma);
	uint32_t *place = &all->of_sum[p->add];

	if (!row || row->emit || !is_wanted(c, p))
		return;
	if (*place && (all->pairs[*place - 1].pair.only_use || !p->only_use))
		return;
	if (!*place)
		*place = ++*n;
	all->pairs[*place - 1] = (struct fused){*p, row};
}

/* Width of the factors, and of the sum's other operand. */
static unsigned factor_bits(const struct fused *f)
{
	return sig_bits(f->row->sig[2]);
}

static unsigned addend_bits(const struct fused *f)
{
	return sig_bits(f->row->sig[4]);
}

static void place_cells(struct decode *c, struct contractions *all, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		for (unsigned s = 0; s < 2; s++) {
			uint32_t *at = &all->cells[all->pairs[k].pair.mul][s];

			if (*at != OPERAND_NONE)
				continue;
			*at = c->temps_base;
			c->temps_base += (cell_bytes(factor_bits(&all->pairs[k])) + 63) & ~63u;
		}
}

int contract_begin(struct decode *c)
{
	struct ptx_contractions found = {0};
	uint32_t n = 0;

	c->fused = NULL;
	if (c->contraction.which == CONTRACT_NONE)
		return 0;
	struct contractions *all = calloc(1, sizeof(*all));
	c->fused = all;
	if (!all || ptx_contractions_find(c->func, &found))
		return refuse(c, "out of memory");
	all->pairs = calloc(found.n + 1, sizeof(*all->pairs));
	all->of_sum = calloc(c->func->ninsts + 1, sizeof(*all->of_sum));
	all->cells = malloc((c->func->ninsts + 1) * sizeof(*all->cells));
	if (!all->pairs || !all->of_sum || !all->cells) {
		ptx_contractions_free(&found);
		return refuse(c, "out of memory");
	}
	for (uint32_t k = 0; k < c->func->ninsts; k++)
		all->cells[k][0] = all->cells[k][1] = OPERAND_NONE;
	for (uint32_t k = 0; k < found.n; k++)
		choose(c, all, &found.at[k], &n);
	place_cells(c, all, n);
	ptx_contractions_free(&found);
	return 0;
}

void contract_end(struct decode *c)
{
	if (!c->fused)
		return;
	free(c->fused->pairs);
	free(c->fused->of_sum);
	free(c->fused->cells);
	free(c->fused);
	c->fused = NULL;
}

/* The multiplication that is being decoded: its factors, before its result may replace one of them. */
int contract_keep(struct decode *c)
{
	if (!c->fused || c->fused->cells[c->index][0] == OPERAND_NONE)
		return 0;
	for (unsigned s = 0; s < 2; s++) {
		const unsigned bits = ptx_type_bits(c->in->type);
		uint32_t from;
		int rc = source(c, &c->in->src[s], bits, false, &from);
		struct xinst *x = rc ? NULL : emit(c, c->exec->resize(bits, bits, false));

		if (!x)
			return rc ? rc : refuse(c, "out of memory");
		x->o[0] = c->fused->cells[c->index][s];
		x->o[1] = from;
	}
	return 0;
}

/* -x as its sign bits turned: of two halves in pairs. */
static int negate(struct decode *c, uint32_t *pos, unsigned bits)
{
	static const uint64_t signs[PTX_NTYPES] = {
		[PTX_F16] = 0x8000,
		[PTX_BF16] = 0x8000,
		[PTX_F16X2] = 0x80008000,
		[PTX_BF16X2] = 0x80008000,
		[PTX_F32] = 0x80000000,
		[PTX_F32X2] = 0x8000000080000000,
		[PTX_F64] = 0x8000000000000000,
	};
	const uint8_t type = bits == 16 && c->in->type == PTX_F32 ? c->in->type2 : c->in->type;
	const struct ptx_inst how = {.op = PTX_OP_XOR,
				     .type = bits == 16   ? PTX_B16
					     : bits == 32 ? PTX_B32
							  : PTX_B64,
				     .ndst = 1,
				     .nsrc = 2};
	const struct exec_row *row = exec_find(c->exec, &how);
	const uint32_t sign = constant(c, signs[type], 0, bits), to = temp(c, bits);
	struct xinst *x = row && sign != OPERAND_NONE ? emit(c, row->fn) : NULL;

	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = to;
	x->o[1] = *pos;
	x->o[2] = sign;
	x->u = row->u;
	*pos = to;
	return 0;
}

bool contract_is_fused(const struct decode *c)
{
	return c->fused && c->fused->of_sum[c->index];
}

/* The sum that is being decoded, with its product, as one fma. */
int contract_sum(struct decode *c)
{
	const struct fused *f = &c->fused->pairs[c->fused->of_sum[c->index] - 1];
	uint32_t factor = c->fused->cells[f->pair.mul][0], addend;
	struct dest d;
	int rc = source(c, &c->in->src[1 - f->pair.operand], addend_bits(f), false, &addend);

	if (!rc && f->pair.negate_product)
		rc = negate(c, &factor, factor_bits(f));
	if (!rc && f->pair.negate_addend)
		rc = negate(c, &addend, addend_bits(f));
	if (!rc)
		rc = dest(c, &c->in->dst[0], sig_bits(f->row->sig[0]), false, &d);
	if (rc)
		return rc;
	struct xinst *x = emit(c, f->row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->o[1] = factor;
	x->o[2] = c->fused->cells[f->pair.mul][1];
	x->o[3] = addend;
	x->u = f->row->u;
	return dest_done(c, &d);
}
