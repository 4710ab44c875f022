/* SPDX-License-Identifier: Apache-2.0
 *
 * A disassembler's line becomes a struct insn: split into tokens, bound to its op.
 */
#include "zluda_core/amdgpu_emulator/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/lanes.h"
#include "zluda_core/amdgpu_emulator/mnemonic.h"
#include "zluda_core/amdgpu_emulator/valu.h"
#include "zluda_core/amdgpu_emulator/wave.h"

/* ---- tokens: separated by commas and blanks outside of brackets */

static char *next_token(char **s)
{
	char *p = *s, *start;
	int depth = 0;

	while (*p == ' ' || *p == '\t' || *p == ',')
		p++;
	start = p;
	for (; *p; p++) {
		depth += *p == '(' || *p == '[';
		depth -= *p == ')' || *p == ']';
		if (depth <= 0 && (*p == ',' || *p == ' ' || *p == '\t'))
			break;
	}
	if (p == start)
		return NULL;
	*s = *p ? p + 1 : p;
	*p = 0;
	return start;
}

static void parse_tokens(struct insn *in, struct line *line, char *s)
{
	for (char *t; (t = next_token(&s));) {
		if (parse_modifier(in, line, t))
			continue;
		if (line->count == OPERANDS_MAX || !amdgpu_parse_operand(&line->operands[line->count++], t)) {
			line->bad = true;
			return;
		}
	}
}

/* ---- binding to an op */

/* The bits that an operand of a type reads from an immediate (RDNA 3 ISA, 5.5.1 and 6.2.4: inline constants have the
 * operand's width, literals are the upper half of a binary64, and are extended to 64-bit integers). */
static void bind_immediate(struct operand *o, unsigned type)
{
	if (o->kind != OPD_IMM || o->words != 1)
		return;
	if (o->is_float) {
		if (type_is_64(type))
			o->imm = f64_bits(o->number);
		else if (type_is_16(type))
			o->imm = f16_of(o->number);
		else
			o->imm = f32_bits((float)o->number);
		return;
	}
	if (type == T_F64 && o->is_hex)
		o->imm = o->imm << 32;
	else if (type == T_U64 && o->is_hex)
		o->imm &= o->imm >> 63 ? ~0ull : 0xffffffff;
	else if (type == T_I64 && o->is_hex)
		o->imm = (uint64_t)(int64_t)(int32_t)o->imm;
}

static void bind_source(struct insn *in, struct line *line, unsigned k, const struct operand *o)
{
	unsigned type = in->op->type[k];

	in->src[k] = *o;
	bind_immediate(&in->src[k], type);
	if (in->op->flags & OPF_SIMM)
		in->src[k].imm = (uint64_t)(int64_t)(int16_t)in->src[k].imm;
	if (in->op->flags & OPF_UIMM && o->kind == OPD_IMM)
		in->src[k].imm = (uint16_t)in->src[k].imm;
	if (in->sdwa && k < 2)
		in->src[k].sel = line->src_sel[k];
	if (!in->packed && line->op_sel_count && (in->op_sel >> k & 1) && type_is_16(type))
		in->src[k].high = true;
}

static bool is_vector_op(const struct op *op)
{
	return op->exec == exec_valu || op->exec == exec_compare;
}

static unsigned source_count(const struct op *op)
{
	unsigned n = 0;

	while (n < 3 && op->type[n] != T_NO)
		n++;
	return n;
}

static bool bind_vector(struct insn *in, struct line *line)
{
	const struct op *op = in->op;
	unsigned at = 0, n = source_count(op), given = n - ((op->flags & OPF_ACC) != 0);
	static const struct operand vcc = {.kind = OPD_SGPR, .reg = SREG_VCC, .words = 2, .sel = SEL_DWORD};

	if (op->flags & OPF_COMPARE) {
		if (line->count == given + 1)
			in->mask_out = line->operands[at++];
	} else {
		if (!line->count)
			return false;
		in->dst = line->operands[at++];
		if (op->flags & OPF_COUT)
			in->mask_out = line->operands[at++];
	}
	if (line->count < at + given)
		return false;
	in->nsrc = (uint8_t)n;
	for (unsigned k = 0; k < given; k++)
		bind_source(in, line, k, &line->operands[at++]);
	if (op->flags & OPF_ACC)
		in->src[n - 1] = in->dst;
	if (op->flags & OPF_CIN)
		in->mask_in = line->count > at ? line->operands[at++] : vcc;
	if (!in->packed && line->op_sel_count > given && (in->op_sel >> given & 1) && type_is_16(op->result))
		in->dst_high = true;
	if (in->dst.high)
		in->dst_high = true;
	if ((op->flags & OPF_ACC) && type_is_16(op->result))
		in->src[n - 1].high = in->dst_high;
	in->dst_keep = line->gfx >= 10 || (op->flags & OPF_KEEP16);
	for (unsigned k = 0; k < n; k++) {
		struct operand *o = &in->src[k];
		o->adjust = o->neg || o->abs || o->sext || o->high || o->sel != SEL_DWORD;
		if (o->kind == OPD_TEXT || o->kind == OPD_NONE)
			return false;
	}
	return at == line->count && (op->flags & OPF_COMPARE || in->dst.kind == OPD_VGPR ||
				     (in->dst.kind == OPD_SGPR && !type_is_64(op->result) && !in->packed));
}

/* Others take operands as they come: the destination, when there is one, first. */
static bool bind_plain(struct insn *in, struct line *line)
{
	unsigned at = 0;

	if (in->op->result != T_NO) {
		if (!line->count)
			return false;
		in->dst = line->operands[at++];
		if (in->op->name[0] != 's' && in->dst.kind != OPD_VGPR && in->dst.kind != OPD_SGPR)
			return false;
	}
	for (unsigned k = 0; at < line->count; k++) {
		if (k == 4)
			return false;
		struct operand o = line->operands[at++];
		if (k < 3)
			bind_source(in, line, k, &o);
		else
			in->src[k] = o;
		in->nsrc = (uint8_t)(k + 1);
	}
	if (line->index_mode)
		in->src[1] = (struct operand){.kind = OPD_IMM, .words = 1, .imm = line->index_mode};
	return in->nsrc >= source_count(in->op) || in->op->type[0] == in->op->type[2];
}

/* Which operands stand where, per kind of access: letters name the slots. d: destination, v: address, x: data,
 * y: second data, s: scalar base or resource, o: scalar offset. */
static const char *memory_shape(const struct memory_op *m, unsigned count)
{
	switch (m->space) {
	case SPACE_LDS:
		if (m->action == ACTION_LOAD)
			return "dv";
		if (m->action == ACTION_STORE)
			return m->pair ? "vxy" : "vx";
		return m->returns ? (count == 4 ? "dvxy" : "dvx") : count == 3 ? "vxy" : "vx";
	case SPACE_BUFFER: return "xvso";
	case SPACE_FLAT:
		if (m->action == ACTION_LOAD)
			return "dv";
		return m->action == ACTION_ATOMIC && count == 3 ? "dvx" : "vx";
	case SPACE_GLOBAL:
	case SPACE_SCRATCH:
		if (m->action == ACTION_LOAD)
			return "dvs";
		return m->action == ACTION_ATOMIC && count == 4 ? "dvxs" : "vxs";
	}
	return "dvx";
}

static bool bind_memory(struct insn *in, struct line *line)
{
	struct memory_op *m = &in->mem;
	const char *shape = memory_shape(m, line->count);

	if (line->count != strlen(shape))
		return false;
	for (unsigned i = 0; shape[i]; i++) {
		const struct operand *o = &line->operands[i];
		switch (shape[i]) {
		case 'd': in->dst = *o; break;
		case 'v': in->src[0] = *o; break;
		case 'x': in->src[1] = *o; break;
		case 's': in->src[2] = *o; break;
		default: in->src[3] = *o; break;
		}
	}
	if (m->space == SPACE_SCALAR || m->space == SPACE_SCALAR_BUFFER) {
		in->exec = exec_scalar_load;
		return in->dst.kind == OPD_SGPR && in->src[0].kind == OPD_SGPR &&
		       (in->src[1].kind == OPD_SGPR || in->src[1].kind == OPD_IMM ||
			in->src[1].kind == OPD_NULL);
	}
	if (m->action == ACTION_ATOMIC && m->space != SPACE_LDS)
		m->returns = m->space == SPACE_BUFFER ? line->returns : shape[0] == 'd';
	in->exec = exec_memory;
	if (strchr(shape, 'd') && in->dst.kind != OPD_VGPR)
		return false;
	if (strchr(shape, 'x') && in->src[1].kind != OPD_VGPR)
		return false;
	if (m->space == SPACE_BUFFER)
		return in->src[2].kind == OPD_SGPR &&
		       (in->src[0].kind == OPD_VGPR || (!in->offen && !in->idxen));
	return in->src[0].kind == OPD_VGPR || m->space == SPACE_SCRATCH;
}

/* v_pk_add_f16 is v_add_f16 on both halves. */
static const struct op *packed_op(const char *name, struct insn *in)
{
	char base[64];
	const struct op *op;

	if (strncmp(name, "v_pk_", 5))
		return NULL;
	snprintf(base, sizeof base, "v_%.60s", name + 5);
	op = op_find(base);
	if (!op || op->exec != exec_valu || type_is_64(op->result))
		return NULL;
	in->packed = type_is_16(op->result) ? 16 : 32;
	return op;
}

static bool bind(struct insn *in, struct line *line, const struct mnemonic *m)
{
	in->exec_too = m->exec_too;
	in->sdwa = m->sdwa;
	if (mnemonic_is_nop(m->name)) {
		in->exec = exec_nop;
		return true;
	}
	in->op = op_find(m->name);
	if (!in->op && mnemonic_memory(m->name, &in->mem))
		return !line->bad && bind_memory(in, line);
	if (!in->op)
		in->op = packed_op(m->name, in);
	if (!in->op || line->bad || (m->dpp && !in->dpp) || (m->exec_too && in->op->exec != exec_compare))
		return false;
	if (in->packed && !line->has_op_sel_hi)
		in->op_sel_hi = 7;
	if (!strcmp(m->name, "v_pk_mov_b32") && !line->has_op_sel_hi)
		in->op_sel_hi = 3;
	in->exec = in->packed ? exec_packed : in->op->exec;
	return is_vector_op(in->op) ? bind_vector(in, line) : bind_plain(in, line);
}

/* ---- what waits.c asks */

static void wait_up_to(struct insn *in, unsigned counter, unsigned most)
{
	in->wait[counter] = (uint8_t)(most < 254 ? most + 1 : 0);
}

/* "s_waitcnt vmcnt(3) lgkmcnt(0)" */
static void classic_waits(struct insn *in, const char *text)
{
	const char *vm = strstr(text, "vmcnt("), *lgkm = strstr(text, "lgkmcnt(");

	if (vm)
		wait_up_to(in, WAIT_LOAD, (unsigned)strtoul(vm + 6, NULL, 0));
	if (lgkm)
		wait_up_to(in, WAIT_LDS, (unsigned)strtoul(lgkm + 8, NULL, 0));
}

/* The operand of the instructions with a counter in their name: RDNA 4 ISA, 16.5 has the fields of those with two. */
static void parse_waits(struct insn *in, const char *name, const char *text)
{
	const char *comma = strrchr(text, ','), *blank = strrchr(text, ' ');
	unsigned n = (unsigned)strtoul(comma ? comma + 1 : blank ? blank : "", NULL, 0);

	if (!strcmp(name, "s_waitcnt"))
		classic_waits(in, text);
	else if (!strcmp(name, "s_waitcnt_vmcnt") || !strcmp(name, "s_wait_loadcnt"))
		wait_up_to(in, WAIT_LOAD, n);
	else if (!strcmp(name, "s_waitcnt_lgkmcnt") || !strcmp(name, "s_wait_dscnt"))
		wait_up_to(in, WAIT_LDS, n);
	else if (!strcmp(name, "s_wait_kmcnt"))
		wait_up_to(in, WAIT_SCALAR, n);
	else if (!strcmp(name, "s_wait_loadcnt_dscnt"))
		wait_up_to(in, WAIT_LOAD, n >> 8 & 63);
	else if (!strcmp(name, "s_wait_idle"))
		for (unsigned c = 0; c < WAIT_COUNTERS; c++)
			wait_up_to(in, c, 0);
	if (!strcmp(name, "s_wait_loadcnt_dscnt") || !strcmp(name, "s_wait_storecnt_dscnt"))
		wait_up_to(in, WAIT_LDS, n & 63);
}

static void classify(struct insn *in, const char *name, const char *text)
{
	if (!strncmp(name, "s_wait", 6))
		parse_waits(in, name, text);
	if (in->exec == exec_memory)
		in->issue = in->mem.space == SPACE_LDS    ? ISSUE_LDS
			    : in->mem.space == SPACE_FLAT ? ISSUE_FLAT
							  : ISSUE_MEMORY;
	else if (!strncmp(name, "ds_", 3) && in->op)
		in->issue = ISSUE_LDS;
	else if (in->exec == exec_scalar_load)
		in->issue = ISSUE_SCALAR;
	else if (!strcmp(name, "buffer_wbl2"))
		in->issue = ISSUE_WRITE_BACK;
	else if (!strcmp(name, "s_memtime") || !strcmp(name, "s_memrealtime"))
		in->issue = ISSUE_SCALAR;
	else if (!strncmp(name, "s_sendmsg_rtn_", 14))
		in->issue = ISSUE_MESSAGE;
	in->crosses = in->dpp || !strcmp(name, "v_readlane_b32") || !strncmp(name, "v_permlane", 10) ||
		      (in->issue == ISSUE_LDS && in->op);
	in->reads_vcc = !strncmp(name, "s_cbranch_vcc", 13);
}

static bool parse_into(struct insn *in, unsigned gfx, char *text)
{
	struct line line = {.gfx = gfx, .src_sel = {SEL_DWORD, SEL_DWORD}};
	struct mnemonic m;
	char *name = next_token(&text);
	bool ok;

	in->row_mask = in->bank_mask = 15;
	in->dst_sel = SEL_DWORD;
	in->exec = exec_unknown;
	if (!name)
		return false;
	mnemonic_read(&m, name, strlen(name));
	parse_tokens(in, &line, text);
	ok = bind(in, &line, &m);
	classify(in, m.name, in->text ? in->text : "");
	return ok;
}

struct insn *insn_parse(unsigned gfx, const char *text, unsigned size)
{
	struct insn *in = calloc(1, sizeof *in);
	char *copy = strdup(text), *second = NULL;
	bool ok;

	if (!in || !copy) {
		free(in);
		free(copy);
		return NULL;
	}
	in->text = strdup(text);
	in->size = (uint8_t)size;
	second = strstr(copy, " :: ");
	if (second)
		*second = 0;
	ok = parse_into(in, gfx, copy);
	if (ok && second) {
		in->dual = calloc(1, sizeof *in);
		ok = in->dual && in->exec == exec_valu && parse_into(in->dual, gfx, second + 4) &&
		     in->dual->exec == exec_valu;
		in->exec = exec_dual;
	}
	if (!ok)
		in->exec = exec_unknown;
	free(copy);
	if (!in->text) {
		insn_free(in);
		return NULL;
	}
	return in;
}

void insn_free(struct insn *in)
{
	if (!in)
		return;
	insn_free(in->dual);
	free(in->text);
	free(in);
}
