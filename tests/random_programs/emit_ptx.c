/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <string.h>

/* Prefix of a class's registers, type of a memory cell, type of a move. */
static const struct {
	const char *prefix, *memory, *move, *reg;
} classes[NCLASSES] = {
	[PRED] = {"%p", "u32", "pred", "pred"}, [H16] = {"%h", "b16", "b16", "b16"},
	[R16] = {"%rs", "u16", "u16", "b16"},   [R32] = {"%r", "u32", "u32", "b32"},
	[R64] = {"%rd", "u64", "u64", "b64"},   [F32] = {"%f", "f32", "f32", "f32"},
	[F64] = {"%fd", "f64", "f64", "f64"},
};

struct emitter {
	const struct program *program;
	FILE *out;
	uint32_t loop; /* the innermost, or NO_STATEMENT */
};

static void write_operand_ptx(FILE *out, enum reg_class class, struct operand operand)
{
	if (!operand.constant)
		fprintf(out, "%s%u", classes[class].prefix, operand.reg);
	else if (class == F32)
		fprintf(out, "0f%08x", (uint32_t)operand.bits);
	else if (class == F64)
		fprintf(out, "0d%016llx", (unsigned long long)operand.bits);
	else
		fprintf(out, "0x%llx", (unsigned long long)operand.bits);
}

static void emit_operation(struct emitter *e, const struct statement *s)
{
	bool braces = s->op->ptx[0] == '{';

	if (s->guarded && braces)
		fprintf(e->out, "\t@%s%%p%u bra L%u_end;\n", s->negated ? "" : "!", s->guard, s->id);
	fputc('\t', e->out);
	if (s->guarded && !braces)
		fprintf(e->out, "@%s%%p%u ", s->negated ? "!" : "", s->guard);
	program_expand(e->out, s->op->ptx, s->op, s, write_operand_ptx);
	fputc('\n', e->out);
	if (s->guarded && braces)
		fprintf(e->out, "L%u_end:\n", s->id);
}

static void emit_sequence(struct emitter *e, uint32_t first);

static void emit_if(struct emitter *e, const struct statement *s)
{
	fprintf(e->out, "\t@%s%%p%u bra L%u_else;\n", s->negated ? "" : "!", s->args[0].reg, s->id);
	emit_sequence(e, s->branch[0]);
	fprintf(e->out, "\tbra L%u_end;\nL%u_else:\n", s->id, s->id);
	emit_sequence(e, s->branch[1]);
	fprintf(e->out, "L%u_end:\n", s->id);
}

/* Rounds: k + 1, or the low bits of a register + 1. */
static void emit_loop_start(struct emitter *e, const struct statement *s)
{
	fprintf(e->out, "\tmov.u32 count%u, 0;\n", s->id);
	if (s->mode)
		fprintf(e->out, "\tand.b32 limit%u, %%r%u, 3;\n", s->id, s->args[0].reg);
	else
		fprintf(e->out, "\tmov.u32 limit%u, %u;\n", s->id, s->k);
}

static void emit_loop_end(struct emitter *e, const struct statement *s)
{
	fprintf(e->out,
		"\tsetp.lt.u32 again, count%u, limit%u;\n\tadd.u32 count%u, count%u, 1;\n\t@again bra "
		"L%u_top;\nL%u_end:\n",
		s->id, s->id, s->id, s->id, s->id, s->id);
}

static void emit_loop(struct emitter *e, const struct statement *s)
{
	uint32_t outer = e->loop;

	emit_loop_start(e, s);
	fprintf(e->out, "L%u_top:\n", s->id);
	e->loop = s->id;
	emit_sequence(e, s->branch[0]);
	e->loop = outer;
	emit_loop_end(e, s);
}

static void emit_two_entry(struct emitter *e, const struct statement *s)
{
	emit_loop_start(e, s);
	fprintf(e->out, "\t@%s%%p%u bra L%u_middle;\nL%u_top:\n", s->negated ? "!" : "", s->args[0].reg,
		s->id, s->id);
	emit_sequence(e, s->branch[0]);
	fprintf(e->out, "L%u_middle:\n", s->id);
	emit_sequence(e, s->branch[1]);
	emit_loop_end(e, s);
}

static void emit_switch(struct emitter *e, const struct statement *s)
{
	fprintf(e->out,
		"\tand.b32 index, %%r%u, 3;\nL%u_targets: .branchtargets L%u_0, L%u_1, L%u_2, "
		"L%u_3;\n\tbrx.idx index, L%u_targets;\n",
		s->args[0].reg, s->id, s->id, s->id, s->id, s->id, s->id);
	for (unsigned i = 0; i < 4; i++) {
		fprintf(e->out, "L%u_%u:\n", s->id, i);
		emit_sequence(e, s->branch[i]);
		fprintf(e->out, "\tbra L%u_end;\n", s->id);
	}
	fprintf(e->out, "L%u_end:\n", s->id);
}

/* Indirectly: one function or the next, as a predicate of the thread says. */
static void emit_call(struct emitter *e, const struct statement *s)
{
	fprintf(e->out,
		"\t{\n\t.param .b32 a, result; .param .b64 b; .param .b32 c;\n"
		"\tst.param.b32 [a], %%r%u;\n\tst.param.b64 [b], %%rd%u;\n\tst.param.f32 [c], %%f%u;\n",
		s->args[0].reg, s->args[1].reg, s->args[2].reg);
	if (s->mode == 0)
		fprintf(e->out, "\tcall (result), function_%u, (a, b, c);\n", s->callee);
	else
		fprintf(e->out,
			"\t.reg .b64 one, other;\n\tmov.u64 one, function_%u;\n\tmov.u64 other, "
			"function_%u;\n"
			"\tselp.b64 one, one, other, %%p%u;\n"
			"L%u_prototype: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _, "
			".param .b32 _);\n"
			"\tcall (result), one, (a, b, c), L%u_prototype;\n",
			s->callee, (s->callee + 1) % e->program->nfunctions, s->args[0].reg, s->id, s->id);
	fprintf(e->out, "\tld.param.b32 %%r%u, [result];\n\t}\n", s->dst);
}

static void emit_shuffle(struct emitter *e, const struct statement *s)
{
	static const char *modes[] = {"up", "down", "bfly", "idx"};

	fprintf(e->out, "\tshfl.sync.%s.b32 %%r%u|%%p%u, %%r%u, ", modes[s->mode & 3], s->dst, s->dst,
		s->args[0].reg);
	if (s->mode & 4)
		fprintf(e->out, "%%r%u", s->args[1].reg);
	else
		fprintf(e->out, "%u", s->k >> 5 & 31);
	fprintf(e->out, ", %u, -1;\n", s->k & 0x1f1f);
}

static void emit_vote(struct emitter *e, const struct statement *s)
{
	static const char *modes[] = {"all", "any", "uni"};

	if ((s->mode & 3) == 3)
		fprintf(e->out, "\tvote.sync.ballot.b32 %%r%u, %%p%u, -1;\n", s->dst, s->args[0].reg);
	else
		fprintf(e->out, "\tvote.sync.%s.pred %%p%u, %%p%u, -1;\n", modes[s->mode & 3], s->dst,
			s->args[0].reg);
}

static void emit_match(struct emitter *e, const struct statement *s)
{
	fprintf(e->out, "\tand.b32 index, %%r%u, %u;\n", s->args[0].reg, s->k & 3);
	if (s->mode & 1)
		fprintf(e->out, "\tmatch.any.sync.b32 %%r%u, index, -1;\n", s->dst);
	else
		fprintf(e->out, "\tmatch.all.sync.b32 %%r%u|%%p%u, index, -1;\n", s->dst, s->dst);
}

static const char *const reductions[8] = {"add.u32", "min.u32", "max.s32", "and.b32",
					  "or.b32",  "xor.b32", "min.s32", "max.u32"};

static void emit_redux(struct emitter *e, const struct statement *s)
{
	const char *type = strchr(reductions[s->mode], '.');

	fprintf(e->out, "\tredux.sync.%.*s%s %%r%u, %%r%u, -1;\n", (int)(type - reductions[s->mode]),
		reductions[s->mode], type, s->dst, s->args[0].reg);
}

static void emit_exchange(struct emitter *e, const struct statement *s)
{
	fprintf(e->out,
		"\tbar.sync 0;\n\tst.shared.u32 [own_cell], %%r%u;\n\tbar.sync 0;\n"
		"\tmad.lo.u32 index, tid, %u, %u;\n\tand.b32 index, index, %u;\n\tmul.lo.u32 index, index, "
		"4;\n"
		"\tcvt.u64.u32 address, index;\n\tadd.u64 address, address, cells_at;\n\tld.shared.u32 "
		"%%r%u, [address];\n",
		s->args[0].reg, 2 * s->mode + 1, s->k, THREADS - 1, s->dst);
}

static void emit_barrier_red(struct emitter *e, const struct statement *s)
{
	if (s->mode % 3 == 0)
		fprintf(e->out, "\tbar.red.popc.u32 %%r%u, 0, %%p%u;\n", s->dst, s->args[0].reg);
	else
		fprintf(e->out, "\tbar.red.%s.pred %%p%u, 0, %%p%u;\n", s->mode % 3 == 1 ? "and" : "or",
			s->dst, s->args[0].reg);
}

/* Atomics that come to the same in any order. */
static void emit_shared_atomic(struct emitter *e, const struct statement *s)
{
	fprintf(e->out,
		"\tbar.sync 0;\n\tmov.u32 index, %u;\n\tst.shared.u32 [own_cell], index;\n\tbar.sync 0;\n"
		"\tred.shared.%s [cells], %%r%u;\n\tbar.sync 0;\n\tld.shared.u32 %%r%u, [cells];\n",
		s->k, reductions[s->mode], s->args[0].reg, s->dst);
}

static void emit_statement(struct emitter *e, const struct statement *s)
{
	switch (s->kind) {
	case OPERATION: emit_operation(e, s); break;
	case IF: emit_if(e, s); break;
	case LOOP: emit_loop(e, s); break;
	case BREAK:
		fprintf(e->out, "\t@%s%%p%u bra L%u_end;\n", s->negated ? "!" : "", s->args[0].reg, e->loop);
		break;
	case TWO_ENTRY: emit_two_entry(e, s); break;
	case SWITCH: emit_switch(e, s); break;
	case CALL: emit_call(e, s); break;
	case SHUFFLE: emit_shuffle(e, s); break;
	case VOTE: emit_vote(e, s); break;
	case MATCH: emit_match(e, s); break;
	case REDUX: emit_redux(e, s); break;
	case EXCHANGE: emit_exchange(e, s); break;
	case BARRIER_RED: emit_barrier_red(e, s); break;
	case SHARED_ATOMIC: emit_shared_atomic(e, s); break;
	}
}

static void emit_sequence(struct emitter *e, uint32_t first)
{
	for (uint32_t i = first; i != NO_STATEMENT; i = e->program->statements[i].next)
		if (!e->program->statements[i].removed)
			emit_statement(e, &e->program->statements[i]);
}

static void emit_registers(FILE *out)
{
	for (unsigned c = 0; c < NCLASSES; c++)
		fprintf(out, "\t.reg .%s %s<%u>;\n", classes[c].reg, classes[c].prefix, REGISTERS);
	fprintf(out,
		"\t.reg .pred again;\n\t.reg .b32 index, tid, count<%u>, limit<%u>;\n\t.reg .b64 scratch, "
		"generic, address, own_cell, cells_at;\n"
		"\t.local .align 16 .b8 own[%u];\n\tmov.u64 scratch, own;\n\tcvta.local.u64 generic, "
		"scratch;\n",
		MAX_STATEMENTS, MAX_STATEMENTS, SCRATCH);
	for (unsigned i = 0; i < SCRATCH; i += 8)
		fprintf(out, "\tst.local.u64 [own+%u], 0;\n", i);
}

static void emit_function(struct emitter *e, unsigned f)
{
	fprintf(e->out,
		".func (.param .b32 result) function_%u (.param .b32 a, .param .b64 b, .param .b32 c)\n{\n",
		f);
	emit_registers(e->out);
	for (unsigned i = 0; i < REGISTERS; i++)
		fprintf(e->out,
			"\tsetp.ne.u32 %%p%u, 0, 0;\n\tmov.b16 %%h%u, 0;\n\tmov.u16 %%rs%u, "
			"0;\n\tld.param.u32 %%r%u, [a];\n"
			"\tld.param.u64 %%rd%u, [b];\n\tld.param.f32 %%f%u, [c];\n\tmov.f64 %%fd%u, "
			"0d0000000000000000;\n",
			i, i, i, i, i, i, i);
	emit_sequence(e, e->program->functions[f]);
	fprintf(e->out, "\tcvt.u32.u64 index, %%rd1;\n\txor.b32 index, index, %%r1;\n\tst.param.b32 "
			"[result], index;\n\tret;\n}\n");
}

static void emit_cell_load(FILE *out, enum reg_class class, unsigned i)
{
	unsigned offset = 8 * (class * REGISTERS + i);

	if (class == PRED)
		fprintf(out, "\tld.global.u32 index, [address+%u];\n\tsetp.ne.u32 %%p%u, index, 0;\n", offset,
			i);
	else
		fprintf(out, "\tld.global.%s %s%u, [address+%u];\n", classes[class].memory,
			classes[class].prefix, i, offset);
}

static void emit_cell_store(FILE *out, enum reg_class class, unsigned i)
{
	unsigned offset = 8 * (class * REGISTERS + i);
	const char *prefix = classes[class].prefix;

	if (class == PRED) {
		fprintf(out, "\tselp.u32 index, 1, 0, %%p%u;\n\tst.global.u32 [address+%u], index;\n", i,
			offset);
		return;
	}
	if (class == F32)
		fprintf(out,
			"\tsetp.nan.f32 again, %%f%u, %%f%u;\n\tselp.f32 %%f%u, 0f7fffffff, %%f%u, again;\n",
			i, i, i, i);
	if (class == F64)
		fprintf(out,
			"\tsetp.nan.f64 again, %%fd%u, %%fd%u;\n\tselp.f64 %%fd%u, 0d7fffffffffffffff, "
			"%%fd%u, again;\n",
			i, i, i, i);
	if (class == H16)
		fprintf(out, "\tsetp.nan.f16 again, %%h%u, %%h%u;\n\tselp.b16 %%h%u, 0x7fff, %%h%u, again;\n",
			i, i, i, i);
	fprintf(out, "\tst.global.%s [address+%u], %s%u;\n", classes[class].memory, offset, prefix, i);
}

/* Address of the thread's first cell behind the pointer in a parameter. */
static void emit_cells_address(FILE *out, const char *parameter)
{
	fprintf(out,
		"\tld.param.u64 address, [%s];\n\tmov.u32 index, %%ctaid.x;\n\tmad.lo.u32 index, index, %u, "
		"tid;\n"
		"\tmad.wide.u32 address, index, %u, address;\n",
		parameter, THREADS, 8 * CELLS);
}

static void emit_tables(const struct program *p, FILE *out)
{
	static const char *spaces[] = {"const", "global"};

	for (unsigned t = 0; t < 2; t++) {
		fprintf(out, ".%s .align 4 .u32 %s_table[16] = {", spaces[t], spaces[t]);
		for (unsigned i = 0; i < 16; i++)
			fprintf(out, "%s0x%x", i ? ", " : "", p->table[i]);
		fprintf(out, "};\n");
	}
}

void program_emit_ptx(const struct program *p, FILE *out)
{
	struct emitter e = {p, out, NO_STATEMENT};

	fprintf(out, "// random program of seed %llu\n.version 8.5\n.target sm_90\n.address_size 64\n",
		(unsigned long long)p->seed);
	emit_tables(p, out);
	for (unsigned f = 0; f < p->nfunctions; f++)
		emit_function(&e, f);
	fprintf(out,
		".visible .entry program(.param .u64 in, .param .u64 out)\n{\n\t.shared .align 4 .b8 "
		"cells[%u];\n",
		4 * THREADS);
	emit_registers(out);
	fprintf(out, "\tmov.u32 tid, %%tid.x;\n\tmov.u64 cells_at, cells;\n\tmad.wide.u32 own_cell, tid, 4, "
		     "cells_at;\n");
	emit_cells_address(out, "in");
	for (unsigned c = 0; c < CELLS; c++)
		emit_cell_load(out, c / REGISTERS, c % REGISTERS);
	emit_sequence(&e, p->body);
	emit_cells_address(out, "out");
	for (unsigned c = 0; c < CELLS; c++)
		emit_cell_store(out, c / REGISTERS, c % REGISTERS);
	fprintf(out, "\tret;\n}\n");
}
