/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads and stores, PTX ISA 9.7.9.8 on. Elements of a vector with memory ordering are accessed one by one, each
 * atomically, as the ISA has it (8.2.2); others together.
 */
#include "ptx/lower/writer.h"

struct access {
	unsigned bits, bytes; /* of an element */
	const char *head;     /* "atomic ", "volatile " */
	const char *order;    /* "syncscope(\"agent\") monotonic, " */
	char order_text[64];
};

const char *ir_scope(enum ptx_scope s)
{
	switch (s) {
	case PTX_SCOPE_CTA: return "syncscope(\"workgroup\") ";
	case PTX_SCOPE_SYS: return "";
	default: return "syncscope(\"agent\") ";
	}
}

/* .weak or nothing; .volatile and .mmio; or an ordering. */
static bool describe(struct lower *l, struct access *a)
{
	const struct ptx_inst *i = l->i;
	static const char *const orders[] = {[PTX_RELAXED] = "monotonic",
					     [PTX_ACQUIRE] = "acquire",
					     [PTX_RELEASE] = "release",
					     [PTX_SC] = "seq_cst"};

	a->bits = ptx_type_bits(i->type);
	a->bytes = a->bits / 8;
	a->head = "";
	a->order = ", ";
	if (a->bits < 8)
		return lower_refuse(l, "memory of type .%s", ptx_type_name(i->type));
	switch (i->sem) {
	case PTX_SEM_NONE:
	case PTX_WEAK: return true;
	case PTX_VOLATILE:
	case PTX_MMIO: a->head = "volatile "; return true;
	case PTX_ACQ_REL: return lower_refuse(l, "this ordering");
	default: break;
	}
	if (a->bits == 128)
		return lower_refuse(l, "an atomic access of 128 bits");
	a->head = "atomic ";
	snprintf(a->order_text, sizeof(a->order_text), " %s%s, ", ir_scope(i->scope), orders[i->sem]);
	a->order = a->order_text;
	return true;
}

static bool together(const struct lower *l, const struct access *a)
{
	return a->head[0] != 'a' && l->i->vec > 1 && a->bits < 128;
}

static bool load_vector(struct lower *l, const struct access *a, unsigned n)
{
	const struct ptx_inst *i = l->i;
	unsigned as;
	struct ir p = read_pointer(l, &i->src[0], i->space, 0, &as);
	struct ir v = ir_op(l, "load %s<%u x i%u>, %s, align %u", a->head, n, a->bits, p.s, n * a->bytes);

	for (unsigned k = 0; k < n; k++)
		write_bits(l, &i->dst[k],
			   ir_op(l, "extractelement <%u x i%u> %s, i32 %u", n, a->bits, v.s, k), a->bits,
			   ptx_type_is_signed(i->type));
	return true;
}

/* All elements are read before the first is written: the address may be in a destination. */
static bool load_elements(struct lower *l, const struct access *a, unsigned n)
{
	const struct ptx_inst *i = l->i;
	struct ir v[8];
	unsigned as;

	for (unsigned k = 0; k < n; k++) {
		struct ir p = read_pointer(l, &i->src[0], i->space, (int64_t)k * a->bytes, &as);
		v[k] = ir_op(l, "load %si%u, %s%salign %u", a->head, a->bits, p.s, a->order, a->bytes);
	}
	for (unsigned k = 0; k < n; k++)
		write_bits(l, &i->dst[k], v[k], a->bits, ptx_type_is_signed(i->type));
	return true;
}

static bool lower_load(struct lower *l)
{
	struct access a;
	unsigned n = l->i->ndst;

	if (!describe(l, &a))
		return false;
	if (n > 8)
		return lower_refuse(l, "a vector of %u elements", n);
	return together(l, &a) ? load_vector(l, &a, n) : load_elements(l, &a, n);
}

static bool store_vector(struct lower *l, const struct access *a, unsigned n)
{
	const struct ptx_inst *i = l->i;
	struct ir v = ir_text("poison");
	unsigned as;

	for (unsigned k = 0; k < n; k++)
		v = ir_op(l, "insertelement <%u x i%u> %s, i%u %s, i32 %u", n, a->bits, v.s, a->bits,
			  read_bits(l, &i->src[1 + k], a->bits).s, k);
	struct ir p = read_pointer(l, &i->src[0], i->space, 0, &as);
	ir_line(l, "store %s<%u x i%u> %s, %s, align %u", a->head, n, a->bits, v.s, p.s, n * a->bytes);
	return true;
}

static bool store_elements(struct lower *l, const struct access *a, unsigned n)
{
	const struct ptx_inst *i = l->i;
	unsigned as;

	for (unsigned k = 0; k < n; k++) {
		struct ir v = read_bits(l, &i->src[1 + k], a->bits);
		struct ir p = read_pointer(l, &i->src[0], i->space, (int64_t)k * a->bytes, &as);
		ir_line(l, "store %si%u %s, %s%salign %u", a->head, a->bits, v.s, p.s, a->order, a->bytes);
	}
	return true;
}

static bool lower_store(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned n = i->vec ? i->vec : 1;
	struct access a;

	if (!describe(l, &a))
		return false;
	if (i->space == PTX_SPACE_CONST ||
	    (i->space == PTX_SPACE_PARAM && l->f->is_entry && i->src[0].kind != PTX_OPND_SYMBOL))
		return lower_refuse(l, "a store to memory that can't be written");
	return together(l, &a) ? store_vector(l, &a, n) : store_elements(l, &a, n);
}

bool lower_memory(struct lower *l)
{
	const struct ptx_inst *i = l->i;

	switch (i->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU:
	case PTX_OP_ST: break;
	case PTX_OP_PREFETCH:
	case PTX_OP_PREFETCHU:
	case PTX_OP_APPLYPRIORITY: return true; /* hints */
	default: return false;
	}
	if (i->space == PTX_SPACE_SHARED_CLUSTER)
		return lower_refuse(l, "shared memory of a cluster");
	return i->op == PTX_OP_ST ? lower_store(l) : lower_load(l);
}
