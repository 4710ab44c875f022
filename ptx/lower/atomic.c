/* SPDX-License-Identifier: Apache-2.0
 *
 * atom and red, PTX ISA 9.7.13.5 and .7. Three ways:
 *
 * - one instruction of LLVM, where AMD's hardware does it on all memory: integers of 32 and 64 bits, exchanges,
 *   compare-and-swap, f64 and f32 addition in LDS. f64 in other memory is one instruction of gfx942 only: LLVM makes
 *   a loop of it elsewhere, as gfx90a's loses additions to fine-grained memory, which managed and pinned memory is.
 * - a loop around compare-and-swap: f32 elsewhere (global memory flushes subnormals, shared memory keeps them,
 *   whatever mode the kernel has), floats of 16 bits, and at system scope everything but addition, exchange and
 *   compare-and-swap: PCI Express has no other atomics. A float of 16 bits is changed in the word that it lies in.
 * - 128 bits, which no GPU of AMD swaps at once: under one of the locks of the run-time block.
 *
 * Elements of a vector are atomic one by one, as the ISA says.
 */
#include "ptx/lower/writer.h"

#include <stddef.h>

enum { MAX_ELEMENTS = 8 };

static const char *ordering(enum ptx_sem s)
{
	switch (s) {
	case PTX_ACQUIRE: return "acquire";
	case PTX_RELEASE: return "release";
	case PTX_ACQ_REL: return "acq_rel";
	default: return "monotonic";
	}
}

static const char *failure_ordering(enum ptx_sem s)
{
	return s == PTX_ACQUIRE || s == PTX_ACQ_REL ? "acquire" : "monotonic";
}

/* Arithmetic that is one atomicrmw, and what it makes of old value $o and operand $y in a loop. inc, dec: ISA's
 * wrapping ones are LLVM's. */
static const struct integer_row {
	uint8_t sub;
	bool is_signed, works_over_pcie;
	const char *name, *condition, *otherwise;
} integer_rows[] = {
	{PTX_SUB_AND, false, false, "and", NULL, "and"},
	{PTX_SUB_AND, true, false, "and", NULL, "and"},
	{PTX_SUB_OR, false, false, "or", NULL, "or"},
	{PTX_SUB_XOR, false, false, "xor", NULL, "xor"},
	{PTX_SUB_EXCH, false, true, "xchg", NULL, NULL},
	{PTX_SUB_EXCH, true, true, "xchg", NULL, NULL},
	{PTX_SUB_ADD, false, true, "add", NULL, NULL},
	{PTX_SUB_ADD, true, true, "add", NULL, NULL},
	{PTX_SUB_INC, false, false, "uinc_wrap", "uge", "add"},
	{PTX_SUB_DEC, false, false, "udec_wrap", "ugt", "sub"},
	{PTX_SUB_MIN, false, false, "umin", "ult", NULL},
	{PTX_SUB_MIN, true, false, "min", "slt", NULL},
	{PTX_SUB_MAX, false, false, "umax", "ugt", NULL},
	{PTX_SUB_MAX, true, false, "max", "sgt", NULL},
};

static const struct integer_row *integer_row_of(const struct ptx_inst *i)
{
	for (size_t k = 0; k < sizeof(integer_rows) / sizeof(integer_rows[0]); k++)
		if (integer_rows[k].sub == i->sub && integer_rows[k].is_signed == ptx_type_is_signed(i->type))
			return &integer_rows[k];
	return NULL;
}

/* Floats, by functions of the device library that take and give words: of f32, or of two 16-bit floats. */
static const struct float_row {
	uint8_t sub, type;
	const char *function;
} float_rows[] = {
	{PTX_SUB_ADD, PTX_F16X2, "ct_atomic_add_f16x2"},   {PTX_SUB_MIN, PTX_F16X2, "ct_atomic_min_f16x2"},
	{PTX_SUB_MAX, PTX_F16X2, "ct_atomic_max_f16x2"},   {PTX_SUB_ADD, PTX_BF16X2, "ct_atomic_add_bf16x2"},
	{PTX_SUB_MIN, PTX_BF16X2, "ct_atomic_min_bf16x2"}, {PTX_SUB_MAX, PTX_BF16X2, "ct_atomic_max_bf16x2"},
};

static enum ptx_type pair_of(enum ptx_type t)
{
	return t == PTX_F16 ? PTX_F16X2 : t == PTX_BF16 ? PTX_BF16X2 : t;
}

static const char *float_function(const struct ptx_inst *i)
{
	for (size_t k = 0; k < sizeof(float_rows) / sizeof(float_rows[0]); k++)
		if (float_rows[k].sub == i->sub && float_rows[k].type == pair_of(i->type))
			return float_rows[k].function;
	return NULL;
}

/* One element. */
struct atomic {
	struct ir p;                   /* with its type */
	unsigned as, bits;             /* of the memory word */
	struct ir y;                   /* operand, in its place in the word */
	struct ir mask, shift;         /* of a half that is part of a word; mask is empty without one */
	const struct integer_row *row; /* or */
	const char *function;          /* of the device library */
};

static struct ir make_integer(struct lower *l, const struct atomic *a, struct ir old)
{
	const struct integer_row *r = a->row;
	struct ir t = ir_text("%s", old.s), one = ir_text("1");

	if (!r->condition)
		return ir_op(l, "%s i%u %s, %s", r->otherwise, a->bits, old.s, a->y.s);
	struct ir c = ir_op(l, "icmp %s i%u %s, %s", r->condition, a->bits, old.s, a->y.s);

	if (!r->otherwise) /* min, max */
		return ir_op(l, "select i1 %s, i%u %s, i%u %s", c.s, a->bits, old.s, a->bits, a->y.s);
	t = ir_op(l, "%s i%u %s, %s", r->otherwise, a->bits, t.s, one.s);
	if (r->sub == PTX_SUB_INC) /* old >= y: 0 */
		return ir_op(l, "select i1 %s, i%u 0, i%u %s", c.s, a->bits, a->bits, t.s);
	struct ir zero = ir_op(l, "icmp eq i%u %s, 0", a->bits, old.s); /* dec: old == 0 or > y: y */
	c = ir_op(l, "or i1 %s, %s", c.s, zero.s);
	return ir_op(l, "select i1 %s, i%u %s, i%u %s", c.s, a->bits, a->y.s, a->bits, t.s);
}

/* Whether additions to this memory flush subnormals: global memory's do (9.7.13.5, .f32). */
static struct ir flushes_there(struct lower *l, const struct atomic *a)
{
	if (a->as)
		return ir_text(a->as == AS_LDS ? "0" : "1");
	struct ir shared = ir_op(l, "call i1 @llvm.amdgcn.is.shared(%s)", a->p.s);
	return ir_op(l, "select i1 %s, i32 0, i32 1", shared.s);
}

static struct ir make_float(struct lower *l, const struct atomic *a, struct ir old, struct ir flush)
{
	struct ir v;

	if (l->i->type == PTX_F32)
		return ir_op(l, "call i32 @ct_atomic_sum_f32(i32 %s, i32 %s, i32 %s)", old.s, a->y.s,
			     flush.s);
	v = ir_op(l, "call i32 @%s(i32 %s, i32 %s)", a->function, old.s, a->y.s);
	if (!a->mask.s[0])
		return v;
	v = ir_op(l, "xor i32 %s, %s", v.s, old.s);
	v = ir_op(l, "and i32 %s, %s", v.s, a->mask.s);
	return ir_op(l, "xor i32 %s, %s", v.s, old.s);
}

/* The value before. */
static struct ir loop(struct lower *l, const struct atomic *a)
{
	const struct ptx_inst *i = l->i;
	unsigned slot = l->next++, again = l->next++, end = l->next++;
	struct ir flush = i->type == PTX_F32 ? flushes_there(l, a) : ir_text("0");
	struct ir old = ir_op(l, "load atomic i%u, %s %smonotonic, align %u", a->bits, a->p.s,
			      ir_scope(i->scope), a->bits / 8);

	fprintf(l->head, "  %%seen%u = alloca i%u, addrspace(5)\n", slot, a->bits);
	ir_line(l, "store i%u %s, ptr addrspace(5) %%seen%u", a->bits, old.s, slot);
	ir_line(l, "br label %%l%u", again);
	ir_label(l, again);
	old = ir_op(l, "load i%u, ptr addrspace(5) %%seen%u", a->bits, slot);
	struct ir new = a->row ? make_integer(l, a, old) : make_float(l, a, old, flush);
	struct ir r =
		ir_op(l, "cmpxchg %s, i%u %s, i%u %s %s%s %s, align %u", a->p.s, a->bits, old.s, a->bits,
		      new.s, ir_scope(i->scope), ordering(i->sem), failure_ordering(i->sem), a->bits / 8);
	struct ir seen = ir_op(l, "extractvalue { i%u, i1 } %s, 0", a->bits, r.s);
	struct ir done = ir_op(l, "extractvalue { i%u, i1 } %s, 1", a->bits, r.s);
	ir_line(l, "store i%u %s, ptr addrspace(5) %%seen%u", a->bits, seen.s, slot);
	ir_line(l, "br i1 %s, label %%l%u, label %%l%u", done.s, end, again);
	ir_label(l, end);
	return seen;
}

/* A half in the word around it. */
static struct ir change_half(struct lower *l, struct atomic *a)
{
	struct ir at = ir_op(l, "ptrtoint %s to i64", a->p.s);
	unsigned narrow = a->as == AS_LDS ? 32 : 64;

	at = ir_op(l, "and i64 %s, 2", at.s);
	a->shift = ir_op(l, "shl i32 %s, 3", ir_op(l, "trunc i64 %s to i32", at.s).s);
	a->mask = ir_op(l, "shl i32 65535, %s", a->shift.s);
	a->y = ir_op(l, "shl i32 %s, %s", ir_resize(l, a->y, 16, 32, false).s, a->shift.s);
	a->p = ir_op(l, "call ptr addrspace(%u) @llvm.ptrmask.p%u.i%u(%s, i%u -4)", a->as, a->as, narrow,
		     a->p.s, narrow);
	a->p = ir_text("ptr addrspace(%u) %.40s", a->as, a->p.s);
	a->bits = 32;
	struct ir v = loop(l, a);
	return ir_resize(l, ir_op(l, "lshr i32 %s, %s", v.s, a->shift.s), 32, 16, false);
}

static struct ir compare_and_swap(struct lower *l, const struct atomic *a)
{
	const struct ptx_inst *i = l->i;
	struct ir new = read_bits(l, &i->src[2], a->bits);
	struct ir r =
		ir_op(l, "cmpxchg %s, i%u %s, i%u %s %s%s %s, align %u", a->p.s, a->bits, a->y.s, a->bits,
		      new.s, ir_scope(i->scope), ordering(i->sem), failure_ordering(i->sem), a->bits / 8);

	return ir_op(l, "extractvalue { i%u, i1 } %s, 0", a->bits, r.s);
}

static struct ir lock_words(struct lower *l)
{
	return ir_op(l, "inttoptr i64 %s to ptr addrspace(1)",
		     runtime_word(l, offsetof(struct lower_runtime, locks), 64).s);
}

/* The library's locks order accesses of the device; the fences do what this instruction asks for. */
static struct ir change_128(struct lower *l, const struct atomic *a)
{
	const struct ptx_inst *i = l->i;
	struct ir p = ir_op(l, a->as == AS_FLAT ? "getelementptr i8, %s, i64 0" : "addrspacecast %s to ptr",
			    a->p.s);
	struct ir locks = lock_words(l), v;

	if (i->sem == PTX_RELEASE || i->sem == PTX_ACQ_REL)
		ir_line(l, "fence %srelease", ir_scope(i->scope));
	if (i->sub == PTX_SUB_CAS)
		v = ir_op(l, "call i128 @ct_atomic_cas_128(ptr %s, i128 %s, i128 %s, ptr addrspace(1) %s)",
			  p.s, a->y.s, read_bits(l, &i->src[2], 128).s, locks.s);
	else
		v = ir_op(l, "call i128 @ct_atomic_exch_128(ptr %s, i128 %s, ptr addrspace(1) %s)", p.s,
			  a->y.s, locks.s);
	if (i->sem == PTX_ACQUIRE || i->sem == PTX_ACQ_REL)
		ir_line(l, "fence %sacquire", ir_scope(i->scope));
	return v;
}

static struct ir one_instruction(struct lower *l, const struct atomic *a, const char *op)
{
	const struct ptx_inst *i = l->i;
	struct ir y = a->y, v;
	const char *type = i->type == PTX_F64 ? "double" : i->type == PTX_F32 ? "float" : NULL;

	if (!type || op[0] != 'f')
		return ir_op(l, "atomicrmw %s %s, i%u %s %s%s, align %u", op, a->p.s, a->bits, y.s,
			     ir_scope(i->scope), ordering(i->sem), a->bits / 8);
	y = ir_op(l, "bitcast i%u %s to %s", a->bits, y.s, type);
	v = ir_op(l, "atomicrmw fadd %s, %s %s %s%s, align %u", a->p.s, type, y.s, ir_scope(i->scope),
		  ordering(i->sem), a->bits / 8);
	return ir_op(l, "bitcast %s %s to i%u", type, v.s, a->bits);
}

static struct ir change_float(struct lower *l, struct atomic *a)
{
	const struct ptx_inst *i = l->i;

	if (i->type == PTX_F64 || (i->type == PTX_F32 && a->as == AS_LDS && !l->flushes))
		return one_instruction(l, a, "fadd");
	a->function = float_function(i);
	if (i->type == PTX_F16 || i->type == PTX_BF16)
		return change_half(l, a);
	return loop(l, a);
}

/* The old value of element k. */
static struct ir change_element(struct lower *l, unsigned k)
{
	const struct ptx_inst *i = l->i;
	struct atomic a = {.bits = ptx_type_bits(i->type)};

	a.p = read_pointer(l, &i->src[0], i->space, (int64_t)k * a.bits / 8, &a.as);
	a.y = read_bits(l, &i->src[1 + k], a.bits);
	if (a.bits == 128)
		return change_128(l, &a);
	if (i->sub == PTX_SUB_CAS)
		return compare_and_swap(l, &a);
	if (ptx_type_is_float(i->type) && i->sub != PTX_SUB_EXCH)
		return change_float(l, &a);
	a.row = integer_row_of(i);
	if (i->scope == PTX_SCOPE_SYS && a.as != AS_LDS && !a.row->works_over_pcie)
		return loop(l, &a);
	return one_instruction(l, &a, a.row->name);
}

static bool is_lowered(const struct ptx_inst *i)
{
	bool is_float = ptx_type_is_float(i->type) || i->type == PTX_BF16X2 || i->type == PTX_F16X2;

	switch (ptx_type_bits(i->type)) {
	case 128: return i->sub == PTX_SUB_CAS || i->sub == PTX_SUB_EXCH;
	case 16:
		if (i->sub == PTX_SUB_CAS)
			return true;
		break;
	case 32:
	case 64: break;
	default: return false;
	}
	if (i->sub == PTX_SUB_CAS || i->sub == PTX_SUB_EXCH)
		return true;
	if (i->type == PTX_F32 || i->type == PTX_F64)
		return i->sub == PTX_SUB_ADD;
	return is_float ? float_function(i) != NULL
			: ptx_type_bits(i->type) >= 32 && integer_row_of(i) != NULL;
}

/* All elements are changed before a result is written: the address may be in one. */
static bool lower_plain(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned n = i->vec ? i->vec : 1;
	struct ir old[MAX_ELEMENTS];

	if (!is_lowered(i) || n > MAX_ELEMENTS || i->nsrc < 1 + n)
		return lower_refuse(l, "this arithmetic on .%s%s", ptx_type_name(i->type),
				    n > 1 ? " vectors" : "");
	for (unsigned k = 0; k < n; k++)
		old[k] = change_element(l, k);
	for (unsigned k = 0; k < n && k < i->ndst; k++)
		write_bits(l, &i->dst[k], old[k], ptx_type_bits(i->type), ptx_type_is_signed(i->type));
	return true;
}

/* red.async: the same, at once, and its bytes are complete at the mbarrier. */
static bool lower_red_async(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ptx_inst plain = *i;

	if (!ir_has_word(i, "mbarrier::complete_tx::bytes") || i->nsrc != 3)
		return lower_refuse(l, "forms without .mbarrier::complete_tx::bytes need target sm_100");
	plain.nsrc--;
	plain.sem = PTX_RELAXED;
	l->i = &plain;
	bool done = lower_plain(l);
	l->i = i;
	return done && lower_complete_tx(l, &i->src[2], ptx_type_bits(i->type) / 8);
}

bool lower_atomic(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_ATOM:
	case PTX_OP_RED: return lower_plain(l);
	case PTX_OP_RED_ASYNC: return lower_red_async(l);
	default: return false;
	}
}
