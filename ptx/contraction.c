/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/contraction: products and sums that the ISA allows to be fused. The sections on add, sub and mul in 9.7.3
 * (f32, f64, f32x2), 9.7.4 (f16, bf16 and pairs) and 9.7.5 (sums of f32 with f16 or bf16) say so of sequences
 * "with no rounding modifiers"; an explicit one is "treated conservatively". */
#include <stdlib.h>

#include "ptx/analysis.h"

static bool may_contract_type(uint8_t t)
{
	return t == PTX_F32 || t == PTX_F64 || t == PTX_F32X2 || t == PTX_F16 || t == PTX_F16X2 ||
	       t == PTX_BF16 || t == PTX_BF16X2;
}

/* The type that operand k of an add or sub is read as; 9.7.5: the first one may be narrower. */
static uint8_t operand_type(const struct ptx_inst *i, unsigned k)
{
	return k == 0 && i->type2 != PTX_TYPE_NONE ? i->type2 : i->type;
}

static bool is_product(const struct ptx_func *f, const struct ptx_inst *sum, unsigned k, uint32_t *mul)
{
	const struct ptx_operand *o = &sum->src[k];
	if (o->kind != PTX_OPND_VALUE || !o->index || f->values[o->index].def == PTX_NONE)
		return false;
	*mul = f->values[o->index].def;
	const struct ptx_inst *m = &f->insts[*mul];
	if (m->op != PTX_OP_MUL || m->rnd != PTX_RND_NONE || m->guarded || m->flags & PTX_F_SAT)
		return false;
	/* A narrow addend beside an f32 product has no fused form: fma's narrow operands are the factors. */
	bool narrow_addend = k == 1 && sum->type2 != PTX_TYPE_NONE;
	return m->type == operand_type(sum, k) && !narrow_addend &&
	       (m->flags & PTX_F_FTZ) == (sum->flags & PTX_F_FTZ);
}

static bool is_sum(const struct ptx_inst *i)
{
	return (i->op == PTX_OP_ADD || i->op == PTX_OP_SUB) && may_contract_type(i->type) &&
	       i->rnd == PTX_RND_NONE && i->nsrc == 2;
}

static struct ptx_contraction pair(const struct ptx_func *f, const struct ptx_uses *u, uint32_t mul,
				   uint32_t add, unsigned k)
{
	uint32_t v = f->insts[add].src[k].index;
	bool sub = f->insts[add].op == PTX_OP_SUB;
	return (struct ptx_contraction){.mul = mul,
					.add = add,
					.operand = (uint8_t)k,
					.negate_product = sub && k == 1,
					.negate_addend = sub && k == 0,
					.only_use = u->first[v + 1] - u->first[v] == 1,
					.same_block = u->block_of[mul] == u->block_of[add]};
}

int ptx_contractions_find(const struct ptx_func *f, struct ptx_contractions *c)
{
	struct ptx_uses u;
	uint32_t n = 0, mul;
	*c = (struct ptx_contractions){0};
	for (uint32_t k = 0; k < f->ninsts; k++)
		n += is_sum(&f->insts[k]) ? 2 : 0;
	c->at = malloc(((size_t)n + 1) * sizeof(*c->at));
	int rc = ptx_uses_find(f, &u);
	if (rc || !c->at) {
		ptx_uses_free(&u);
		ptx_contractions_free(c);
		return CUTRACE_ENOMEM;
	}
	for (uint32_t k = 0; k < f->ninsts; k++)
		for (unsigned o = 0; is_sum(&f->insts[k]) && o < 2; o++)
			if (is_product(f, &f->insts[k], o, &mul))
				c->at[c->n++] = pair(f, &u, mul, k, o);
	ptx_uses_free(&u);
	return 0;
}

void ptx_contractions_free(struct ptx_contractions *c)
{
	free(c->at);
	*c = (struct ptx_contractions){0};
}
