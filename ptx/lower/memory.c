/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads and stores, PTX ISA 9.7.9.8 on. For memory ordering the ISA takes a vector for accesses of its elements in any
 * order (8.2.2), but on every GPU an aligned vector of up to 16 bytes is one access, and programs count on it: a value
 * and its status, published together. So it is here: up to 64 bits are one atomic access, more are one volatile
 * access, which AMD's hardware makes by 16 bytes, between fences.
 */
#include "ptx/lower/writer.h"

#include <stdlib.h>
#include <string.h>

enum how { PLAIN, VOLATILE, ATOMIC };

struct access {
	enum how how;
	unsigned bits, n, total; /* of an element, elements, bits of all */
	bool as_words;           /* one access of 32-bit words */
	const char *order, *fence;
};

const char *ir_scope(enum ptx_scope s)
{
	switch (s) {
	case PTX_SCOPE_CTA: return "syncscope(\"workgroup\") ";
	case PTX_SCOPE_SYS: return "";
	default: return "syncscope(\"agent\") ";
	}
}

/* Operators that go past the L1 cache, which isn't coherent: as good as an ordering. */
static bool goes_past_l1(const struct ptx_inst *i)
{
	return strstr(i->mods, ".cg") || strstr(i->mods, ".cv") || strstr(i->mods, ".wt");
}

static bool describe(struct lower *l, struct access *a, unsigned n)
{
	const struct ptx_inst *i = l->i;
	static const char *const orders[] = {[PTX_RELAXED] = "monotonic",
					     [PTX_ACQUIRE] = "acquire",
					     [PTX_RELEASE] = "release",
					     [PTX_SC] = "seq_cst"};

	*a = (struct access){.bits = ptx_type_bits(i->type), .n = n};
	a->total = a->bits * n;
	if (a->bits < 8 || n > 8)
		return lower_refuse(l, "memory of %u x .%s", n, ptx_type_name(i->type));
	if (i->sem == PTX_ACQ_REL)
		return lower_refuse(l, "this ordering");
	bool plain = i->sem == PTX_SEM_NONE || i->sem == PTX_WEAK;
	if (i->sem == PTX_VOLATILE || i->sem == PTX_MMIO || (a->total > 64 && goes_past_l1(i)) ||
	    (plain && is_marked(l, l->facts[l->f->index].anew)))
		a->how = VOLATILE;
	else if (!plain)
		a->how = ATOMIC;
	if (a->how == ATOMIC && a->total > 64) {
		a->how = VOLATILE;
		a->fence = i->sem == PTX_ACQUIRE || i->sem == PTX_RELEASE ? orders[i->sem] : NULL;
	}
	a->order = orders[a->how == ATOMIC ? i->sem : PTX_SEM_NONE];
	a->as_words = a->how == VOLATILE && a->total > 64;
	return true;
}

/* The type that is accessed. */
static struct ir memory_type(const struct access *a)
{
	if (a->as_words)
		return ir_text("<%u x i32>", a->total / 32);
	if (a->how == ATOMIC || a->n == 1)
		return ir_text("i%u", a->total);
	return ir_text("<%u x i%u>", a->n, a->bits);
}

static struct ir element_type(const struct access *a)
{
	return a->n == 1 ? ir_text("i%u", a->bits) : ir_text("<%u x i%u>", a->n, a->bits);
}

static struct ir recast(struct lower *l, struct ir v, struct ir from, struct ir to)
{
	return strcmp(from.s, to.s) ? ir_op(l, "bitcast %s %s to %s", from.s, v.s, to.s) : v;
}

static struct ir attributes(struct lower *l, const struct access *a)
{
	if (a->how != ATOMIC)
		return ir_text(", align %u", a->total / 8);
	return ir_text(" %s%s, align %u", ir_scope(l->i->scope), a->order, a->total / 8);
}

static const char *head(const struct access *a)
{
	return a->how == ATOMIC ? "atomic " : a->how == VOLATILE ? "volatile " : "";
}

/* The kernel's parameter of one element that begins at this place, or NULL. */
static const struct ptx_param *kernel_param(const struct lower *l, const struct ptx_operand *o)
{
	const struct ptx_func *f = l->f;

	if (!f->is_entry || o->kind != PTX_OPND_PARAM || o->index)
		return NULL;
	for (uint32_t k = 0; k < f->nparams; k++)
		if (f->params[k].offset == o->imm)
			return f->params[k].count == 1 ? &f->params[k] : NULL;
	return NULL;
}

/* Parameters are read where the kernel begins, each once, so that LLVM reads neighbours together and early. */
static bool load_param(struct lower *l, const struct access *a)
{
	const struct ptx_inst *i = l->i;
	const struct ptx_param *p = kernel_param(l, &i->src[0]);

	if (!p || a->how != PLAIN || a->n != 1 || a->bits != p->size * 8 || a->bits > 64)
		return false;
	uint32_t index = (uint32_t)(p - l->f->params);
	if (!l->params_read || !(l->params_read[index / 8] >> index % 8 & 1)) {
		if (!l->params_read && !(l->params_read = calloc(l->f->nparams / 8 + 1, 1)))
			return lower_no_memory(l);
		l->params_read[index / 8] |= (uint8_t)(1u << index % 8);
		fprintf(l->head,
			"  %%param%u.at = getelementptr i8, ptr addrspace(4) %%kernarg, i64 %u\n  %%param%u "
			"= load i%u, ptr "
			"addrspace(4) %%param%u.at, align %u, !invariant.load !0\n",
			index, p->offset, index, a->bits, index, a->bits / 8);
	}
	write_bits(l, &i->dst[0], ir_text("%%param%u", index), a->bits, ptx_type_is_signed(i->type));
	return true;
}

static bool lower_load(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned n = i->ndst, as;
	struct access a;
	struct ir v;

	if (!describe(l, &a, n))
		return false;
	if (load_param(l, &a))
		return true;
	struct ir p = read_pointer(l, &i->src[0], i->space, 0, &as);
	v = ir_op(l, "load %s%s, %s%s", head(&a), memory_type(&a).s, p.s, attributes(l, &a).s);
	if (a.fence)
		ir_line(l, "fence %s%s", ir_scope(i->scope), a.fence);
	v = recast(l, v, memory_type(&a), element_type(&a));
	for (unsigned k = 0; k < n; k++) {
		struct ir e =
			n == 1 ? v : ir_op(l, "extractelement %s %s, i32 %u", element_type(&a).s, v.s, k);
		write_bits(l, &i->dst[k], e, a.bits, ptx_type_is_signed(i->type));
	}
	return true;
}

static struct ir stored_value(struct lower *l, const struct access *a)
{
	const struct ptx_inst *i = l->i;
	struct ir v = ir_text("poison");

	if (a->n == 1)
		return read_bits(l, &i->src[1], a->bits);
	for (unsigned k = 0; k < a->n; k++)
		v = ir_op(l, "insertelement %s %s, i%u %s, i32 %u", element_type(a).s, v.s, a->bits,
			  read_bits(l, &i->src[1 + k], a->bits).s, k);
	return v;
}

static bool lower_store(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct access a;
	unsigned as;

	if (!describe(l, &a, i->vec ? i->vec : 1))
		return false;
	if (i->space == PTX_SPACE_CONST ||
	    (i->space == PTX_SPACE_PARAM && l->f->is_entry && i->src[0].kind != PTX_OPND_SYMBOL))
		return lower_refuse(l, "a store to memory that can't be written");
	struct ir v = recast(l, stored_value(l, &a), element_type(&a), memory_type(&a));
	struct ir p = read_pointer(l, &i->src[0], i->space, 0, &as);
	if (a.fence)
		ir_line(l, "fence %s%s", ir_scope(i->scope), a.fence);
	ir_line(l, "store %s%s %s, %s%s", head(&a), memory_type(&a).s, v.s, p.s, attributes(l, &a).s);
	return true;
}

/* st.async: a store, made at once; its bytes are complete at the mbarrier. */
static bool lower_async_store(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ptx_inst plain = *i;
	unsigned n = i->vec ? i->vec : 1;

	if (!strstr(i->mods, ".mbarrier::complete_tx::bytes") || i->nsrc != n + 2u)
		return lower_refuse(l, "forms without .mbarrier::complete_tx::bytes need target sm_100");
	plain.nsrc--;
	plain.sem = PTX_RELAXED;
	l->i = &plain;
	bool done = lower_store(l);
	l->i = i;
	return done && lower_complete_tx(l, &i->src[n + 1], n * ptx_type_bits(i->type) / 8);
}

/* createpolicy: a policy is opaque, and nobody looks at it. */
static bool make_policy(struct lower *l)
{
	write_bits(l, &l->i->dst[0], ir_text("0"), 64, false);
	return true;
}

bool lower_memory(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU: return lower_load(l);
	case PTX_OP_ST: return lower_store(l);
	case PTX_OP_ST_ASYNC: return lower_async_store(l);
	case PTX_OP_CREATEPOLICY_FRACTIONAL:
	case PTX_OP_CREATEPOLICY_RANGE:
	case PTX_OP_CREATEPOLICY_CVT: return make_policy(l);
	case PTX_OP_DISCARD: /* what is discarded may keep its value */
	case PTX_OP_PREFETCH:
	case PTX_OP_PREFETCHU:
	case PTX_OP_APPLYPRIORITY: return true;
	default: return false;
	}
}
