/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/expand: statements that are several instructions: array elements with a
 * register as the index (ISA 6.4.2), and moves of whole vectors (ISA 9.7.9.3). */
#include <string.h>

#include "ptx/body.h"

static int new_temporary(struct body *b, enum ptx_type type, struct ptx_operand *o)
{
	static const struct lex_name name = {"%element", 8, 0};
	*o = (struct ptx_operand){.kind = PTX_OPND_VALUE};
	return new_slot(b, &name, type, &o->index);
}

/* An instruction in the place of the statement that is being read. `fields` is what its opcode means. */
static int emit(struct body *b, const struct ptx_inst *fields, const struct ptx_operand *operands, unsigned n)
{
	if (!grow(&b->insts, &b->insts_capacity, b->ninsts, sizeof(*b->insts)))
		return parser_out_of_memory(&b->p);
	struct ptx_inst i = *fields;
	i.target = i.table = i.guard = PTX_NONE;
	i.line = b->line;
	i.col = b->col;
	i.loc = b->loc;
	i.ndst = 1;
	i.nsrc = (uint8_t)(n - 1);
	i.dst = arena_array(&b->p.m->arena, n, sizeof(*i.dst));
	if (!i.dst)
		return parser_out_of_memory(&b->p);
	memcpy(i.dst, operands, n * sizeof(*operands));
	i.src = i.dst + 1;
	b->insts[b->ninsts++] = i;
	return 0;
}

static int emit_named(struct body *b, const char *opcode, const struct ptx_operand *operands, unsigned n)
{
	uint32_t length = (uint32_t)strlen(opcode);
	const struct ptx_inst *fields = opcode_lookup(&b->p, opcode, length, lex_hash(opcode, length));
	return fields ? emit(b, fields, operands, n) : b->p.error->code;
}

int index_by_register(struct body *b, struct operand_text *t, const struct operand_text *index, uint64_t size)
{
	struct ptx_operand base, sum, constant = {.kind = PTX_OPND_IMM, .imm = size}, by = index->o;
	by.imm = 0;
	int rc = new_temporary(b, PTX_B64, &base);
	if (rc || (rc = new_temporary(b, PTX_B64, &sum)) ||
	    (rc = emit_named(b, "mov.u64", (struct ptx_operand[]){base, t->o}, 2)) ||
	    (rc = emit_named(b, index->bits == 64 ? "mad.lo.s64" : "mad.wide.s32",
			     (struct ptx_operand[]){sum, by, constant, base}, 4)))
		return rc;
	t->o = sum;
	t->bits = 64;
	return 0;
}

/* Whether element k is read after it is written. */
static bool overlaps(const struct body *b, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		for (unsigned later = k + 1; later < n; later++) {
			const struct ptx_operand *d = &b->operands[k].o, *s = &b->operands[n + later].o;
			if (d->kind == PTX_OPND_VALUE && s->kind == PTX_OPND_VALUE && d->index == s->index)
				return true;
		}
	return false;
}

/* Element by element; by way of temporaries where the vectors overlap. `i` is decoded and matched, its operands are in
 * b->operands. */
int expand_vector_move(struct body *b, const struct ptx_inst *i)
{
	unsigned n = i->vec;
	struct ptx_inst one = *i;
	struct ptx_operand through[8];
	bool copy = overlaps(b, n);
	int rc = 0;
	one.vec = 1;
	one.guarded = false;
	for (unsigned k = 0; k < n && copy && !rc; k++)
		if (!(rc = new_temporary(b, i->type, &through[k])))
			rc = emit(b, &one, (struct ptx_operand[]){through[k], b->operands[n + k].o}, 2);
	for (unsigned k = 0; k < n && !rc; k++) {
		struct ptx_operand from = copy ? through[k] : b->operands[n + k].o;
		if (b->operands[k].o.kind == PTX_OPND_SINK)
			continue;
		rc = emit(b, &one, (struct ptx_operand[]){b->operands[k].o, from}, 2);
		if (!rc) { /* the copies needn't be guarded, the results must */
			b->insts[b->ninsts - 1].guarded = i->guarded;
			b->insts[b->ninsts - 1].guard = i->guard;
		}
	}
	return rc;
}
