/* SPDX-License-Identifier: Apache-2.0
 *
 * A disassembler's line becomes a struct insn. The text is LLVM's assembler syntax: "AMDGPU operand syntax" and
 * "AMDGPU instruction modifiers" of LLVM's documentation.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/lanes.h"
#include "zluda_core/amdgpu_emulator/mnemonic.h"
#include "zluda_core/amdgpu_emulator/valu.h"
#include "zluda_core/amdgpu_emulator/wave.h"

#define OPERANDS_MAX 8

/* What a line holds before it is bound to an op. */
struct line {
	unsigned gfx;
	struct operand operands[OPERANDS_MAX];
	unsigned count;
	bool bad; /* something was not understood */
	bool returns, has_op_sel_hi;
	uint8_t op_sel_count;
	uint8_t src_sel[2];
	uint16_t index_mode;
};

/* ---- operands */

static bool number_range(const char **s, unsigned *first, unsigned *last)
{
	char *end;

	if (**s == '[') {
		*first = (unsigned)strtoul(*s + 1, &end, 10);
		*last = *first;
		if (*end == ':')
			*last = (unsigned)strtoul(end + 1, &end, 10);
		if (*end != ']')
			return false;
		*s = end + 1;
		return *last >= *first;
	}
	if (!isdigit((unsigned char)**s))
		return false;
	*first = *last = (unsigned)strtoul(*s, &end, 10);
	*s = end;
	return true;
}

struct named {
	const char *name;
	uint8_t kind;
	uint16_t reg;
	uint8_t words;
	uint64_t imm;
};

static const struct named named_operands[] = {
	{"vcc", OPD_SGPR, SREG_VCC, 2, 0},
	{"vcc_lo", OPD_SGPR, SREG_VCC, 1, 0},
	{"vcc_hi", OPD_SGPR, SREG_VCC + 1, 1, 0},
	{"exec", OPD_SGPR, SREG_EXEC, 2, 0},
	{"exec_lo", OPD_SGPR, SREG_EXEC, 1, 0},
	{"exec_hi", OPD_SGPR, SREG_EXEC + 1, 1, 0},
	{"m0", OPD_SGPR, SREG_M0, 1, 0},
	{"flat_scratch", OPD_SGPR, SREG_FLAT_SCRATCH, 2, 0},
	{"flat_scratch_lo", OPD_SGPR, SREG_FLAT_SCRATCH, 1, 0},
	{"flat_scratch_hi", OPD_SGPR, SREG_FLAT_SCRATCH + 1, 1, 0},
	{"null", OPD_NULL, 0, 1, 0},
	{"off", OPD_NULL, 0, 1, 0},
	{"src_scc", OPD_SCC, 0, 1, 0},
	{"scc", OPD_SCC, 0, 1, 0},
	{"src_vccz", OPD_VCCZ, 0, 1, 0},
	{"src_execz", OPD_EXECZ, 0, 1, 0},
	{"src_shared_base", OPD_IMM, 0, 2, APERTURE_SHARED},
	{"src_shared_limit", OPD_IMM, 0, 2, APERTURE_SHARED | 0xffffffff},
	{"src_private_base", OPD_IMM, 0, 2, APERTURE_PRIVATE},
	{"src_private_limit", OPD_IMM, 0, 2, APERTURE_PRIVATE | 0xffffffff},
};

static bool parse_named(struct operand *o, const char *s)
{
	for (size_t i = 0; i < sizeof named_operands / sizeof *named_operands; i++) {
		const struct named *n = &named_operands[i];
		if (strcmp(s, n->name))
			continue;
		o->kind = n->kind;
		o->reg = n->reg;
		o->words = n->words;
		o->imm = n->imm;
		return true;
	}
	return false;
}

/* v0, v[0:1], a0, s[4:5], ttmp9; v0.l and v0.h name halves. */
static bool parse_register(struct operand *o, const char *s)
{
	unsigned first, last, base = 0, limit = VGPRS / 2;
	bool vector = *s == 'v' || *s == 'a';

	if (!strncmp(s, "ttmp", 4)) {
		s += 4;
		base = SREG_TTMP;
		limit = SREG_M0 - SREG_TTMP;
	} else if (vector || *s == 's') {
		base = *s == 'a' ? VGPRS / 2 : 0;
		if (!vector)
			limit = SREG_VCC;
		s++;
	} else {
		return false;
	}
	if (!number_range(&s, &first, &last) || last >= limit || last - first > 31)
		return false;
	o->kind = vector ? OPD_VGPR : OPD_SGPR;
	o->reg = (uint16_t)(base + first);
	o->words = (uint8_t)(last - first + 1);
	if (vector && !strcmp(s, ".h"))
		o->high = true;
	return !*s || (vector && (!strcmp(s, ".l") || !strcmp(s, ".h")));
}

/* hwreg(NAME[, offset, size]): number, offset, size - 1, packed as the instruction has them. */
static bool parse_hwreg(struct operand *o, const char *s)
{
	static const struct {
		const char *name;
		unsigned id;
	} names[] = {
		{"HW_REG_MODE", 1},
		{"HW_REG_WAVE_MODE", 1},
		{"HW_REG_XCC_ID", 20},
		{"HW_REG_FLAT_SCR_LO", 20},
		{"HW_REG_WAVE_SCRATCH_BASE_LO", 20},
		{"HW_REG_FLAT_SCR_HI", 21},
		{"HW_REG_WAVE_SCRATCH_BASE_HI", 21},
		{"HW_REG_SHADER_CYCLES", 29},
		{"HW_REG_SHADER_CYCLES_LO", 29},
	};
	char name[40];
	unsigned offset = 0, size = 32, id = 63;

	if (sscanf(s, "hwreg(%39[A-Za-z0-9_], %u, %u)", name, &offset, &size) < 1 || offset > 31 || !size ||
	    size > 32)
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i].name))
			id = names[i].id;
	if (isdigit((unsigned char)*name))
		id = (unsigned)strtoul(name, NULL, 0) & 63;
	o->kind = OPD_IMM;
	o->words = 1;
	o->imm = id | offset << 6 | (size - 1) << 11;
	return true;
}

static bool parse_number(struct operand *o, const char *s)
{
	char *end;

	if (strncmp(s, "0x", 2) && strncmp(s, "-0x", 3) && strpbrk(s, ".")) {
		o->number = strtod(s, &end);
		o->is_float = true;
	} else {
		o->imm = *s == '-' ? (uint64_t)strtoll(s, &end, 0) : strtoull(s, &end, 0);
		o->is_hex = strchr(s, 'x') != NULL;
	}
	o->kind = OPD_IMM;
	o->words = 1;
	return end != s && !*end;
}

/* Strips -x, |x|, neg(x), abs(x), sext(x). */
static char *take_modifiers(struct operand *o, char *s)
{
	static const char *const wrappers[] = {"neg(", "abs(", "sext("};
	size_t n;

	if (*s == '-' && !isdigit((unsigned char)s[1])) {
		o->neg = true;
		s++;
	}
	for (unsigned i = 0; i < 3; i++) {
		size_t k = strlen(wrappers[i]);
		n = strlen(s);
		if (strncmp(s, wrappers[i], k) || s[n - 1] != ')')
			continue;
		s[n - 1] = 0;
		s += k;
		*(i == 0 ? &o->neg : i == 1 ? &o->abs : &o->sext) = true;
	}
	n = strlen(s);
	if (n > 2 && *s == '|' && s[n - 1] == '|') {
		s[n - 1] = 0;
		s++;
		o->abs = true;
	}
	return s;
}

static bool parse_operand(struct operand *o, char *s)
{
	memset(o, 0, sizeof *o);
	o->sel = SEL_DWORD;
	s = take_modifiers(o, s);
	if (parse_named(o, s) || parse_register(o, s))
		return true;
	if (!strncmp(s, "hwreg(", 6))
		return parse_hwreg(o, s);
	if (!strncmp(s, "sendmsg(", 8)) {
		o->kind = OPD_TEXT;
		return true;
	}
	if (isdigit((unsigned char)*s) || *s == '-')
		return parse_number(o, s);
	return false;
}

/* ---- modifiers */

static unsigned parse_bits(const char *s)
{
	unsigned bits = 0, at = 0;

	for (; *s && *s != ']'; s++)
		if (*s == '0' || *s == '1')
			bits |= (unsigned)(*s == '1') << at++;
	return bits;
}

static unsigned count_bits(const char *s)
{
	unsigned n = 0;

	for (; *s && *s != ']'; s++)
		n += *s == '0' || *s == '1';
	return n;
}

static unsigned parse_sel(const char *s)
{
	static const char *const names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1"};

	for (unsigned i = 0; i < 6; i++)
		if (!strcmp(s, names[i]))
			return i;
	return SEL_DWORD;
}

static unsigned parse_index_mode(const char *s)
{
	return (strstr(s, "SRC0") ? 1u : 0) | (strstr(s, "SRC1") ? 2u : 0) | (strstr(s, "SRC2") ? 4u : 0) |
	       (strstr(s, "DST") ? 8u : 0);
}

/* DPP controls with a number: the ISA's DPP_CTRL values. */
static bool parse_dpp(struct insn *in, const char *t)
{
	static const struct {
		const char *name;
		uint16_t base;
		bool numbered;
	} controls[] = {
		{"row_shl:", 0x100, true},         {"row_shr:", 0x110, true},
		{"row_ror:", 0x120, true},         {"wave_shl:1", 0x130, false},
		{"wave_rol:1", 0x134, false},      {"wave_shr:1", 0x138, false},
		{"wave_ror:1", 0x13c, false},      {"row_mirror", 0x140, false},
		{"row_half_mirror", 0x141, false}, {"row_bcast:15", 0x142, false},
		{"row_bcast:31", 0x143, false},    {"row_newbcast:", 0x150, true},
		{"row_share:", 0x150, true},       {"row_xmask:", 0x160, true},
	};
	unsigned q[8];

	for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
		size_t n = strlen(controls[i].name);
		if (strncmp(t, controls[i].name, n) || (!controls[i].numbered && t[n]))
			continue;
		in->dpp = DPP_16;
		in->dpp_ctrl = controls[i].base;
		if (controls[i].numbered)
			in->dpp_ctrl = (uint16_t)(in->dpp_ctrl | (strtoul(t + n, NULL, 10) & 15));
		return true;
	}
	if (sscanf(t, "quad_perm:[%u,%u,%u,%u]", &q[0], &q[1], &q[2], &q[3]) == 4) {
		in->dpp = DPP_16;
		in->dpp_ctrl = (uint16_t)((q[0] & 3) | (q[1] & 3) << 2 | (q[2] & 3) << 4 | (q[3] & 3) << 6);
		return true;
	}
	if (sscanf(t, "dpp8:[%u,%u,%u,%u,%u,%u,%u,%u]", &q[0], &q[1], &q[2], &q[3], &q[4], &q[5], &q[6],
		   &q[7]) != 8)
		return false;
	in->dpp = DPP_8;
	for (unsigned i = 0; i < 8; i++)
		in->dpp8[i] = q[i] & 7;
	return true;
}

/* "swizzle(BITMASK_PERM,"01pip")" and its kin: LLVM's names for DS_SWIZZLE_B32's offset, the reverse of what the ISA
 * document packs there. */
static bool parse_swizzle(struct insn *in, const char *s)
{
	unsigned a, b, c, d, and = 31, or = 0, xor = 0;
	char mask[6];

	if (sscanf(s, "swizzle(QUAD_PERM,%u,%u,%u,%u)", &a, &b, &c, &d) == 4) {
		in->offset = (int32_t)(0x8000 | (a & 3) | (b & 3) << 2 | (c & 3) << 4 | (d & 3) << 6);
		return true;
	}
	if (sscanf(s, "swizzle(FFT,%u)", &a) == 1) {
		in->offset = (int32_t)(0xe000 | (a & 31));
		return true;
	}
	if (sscanf(s, "swizzle(ROTATE,%u,%u)", &a, &b) == 2) {
		in->offset = (int32_t)(0xc000 | (a & 1) << 10 | (b & 31) << 5);
		return true;
	}
	if (sscanf(s, "swizzle(SWAP,%u)", &a) == 1) {
		xor = a & 31;
	} else if (sscanf(s, "swizzle(REVERSE,%u)", &a) == 1) {
		xor = (a - 1) & 31;
	} else if (sscanf(s, "swizzle(BROADCAST,%u,%u)", &a, &b) == 2) {
		and = 31 & ~(a - 1);
		or = b & 31;
	} else if (sscanf(s, "swizzle(BITMASK_PERM,\"%5[01pi]\")", mask) == 1 && strlen(mask) == 5) {
		and = 0;
		for (unsigned i = 0; i < 5; i++) {
			and |= (unsigned)(mask[i] == 'p' || mask[i] == 'i') << (4 - i);
			or |= (unsigned)(mask[i] == '1') << (4 - i);
			xor |= (unsigned)(mask[i] == 'i') << (4 - i);
		}
	} else {
		return false;
	}
	in->offset = (int32_t)(and | or << 5 | xor << 10);
	return true;
}

/* Modifiers NAME:VALUE. */
static bool parse_valued(struct insn *in, struct line *line, const char *t, const char *v)
{
	size_t n = (size_t)(v - t);
	long value = strtol(v, NULL, 0);

#define IS(word) (n == sizeof(word ":") - 1 && !memcmp(t, word ":", n))
	if (IS("offset") && *v == 's')
		return parse_swizzle(in, v);
	if (IS("offset") || IS("offset0"))
		in->offset = (int32_t)value;
	else if (IS("offset1"))
		in->offset1 = (int32_t)value;
	else if (IS("mul"))
		in->omod = value == 2 ? 1 : 2;
	else if (IS("div"))
		in->omod = 3;
	else if (IS("row_mask"))
		in->row_mask = (uint8_t)(value & 15);
	else if (IS("bank_mask"))
		in->bank_mask = (uint8_t)(value & 15);
	else if (IS("bound_ctrl"))
		in->bound_ctrl = true;
	else if (IS("fi"))
		in->fetch_inactive = value == 1;
	else if (IS("neg_lo"))
		in->neg_lo = (uint8_t)parse_bits(v);
	else if (IS("neg_hi"))
		in->neg_hi = (uint8_t)parse_bits(v);
	else if (IS("op_sel")) {
		in->op_sel = (uint8_t)parse_bits(v);
		line->op_sel_count = (uint8_t)count_bits(v);
	} else if (IS("op_sel_hi")) {
		in->op_sel_hi = (uint8_t)parse_bits(v);
		line->has_op_sel_hi = true;
	} else if (IS("dst_sel"))
		in->dst_sel = (uint8_t)parse_sel(v);
	else if (IS("dst_unused"))
		in->dst_unused = !strcmp(v, "UNUSED_PRESERVE") ? UNUSED_PRESERVE
				 : !strcmp(v, "UNUSED_SEXT")   ? UNUSED_SEXT
							       : UNUSED_PAD;
	else if (IS("src0_sel"))
		line->src_sel[0] = (uint8_t)parse_sel(v);
	else if (IS("src1_sel"))
		line->src_sel[1] = (uint8_t)parse_sel(v);
	else if (IS("th"))
		line->returns |= strstr(v, "_RETURN") != NULL;
	else
		return IS("scope");
#undef IS
	return true;
}

static bool parse_modifier(struct insn *in, struct line *line, const char *t)
{
	static const char *const ignored[] = {"slc", "dlc", "sc1", "nt", "nv"};
	const char *colon = strchr(t, ':');

	if (parse_dpp(in, t))
		return true;
	if (!strncmp(t, "gpr_idx(", 8)) {
		line->index_mode = (uint16_t)parse_index_mode(t);
		return true;
	}
	if (colon && isalpha((unsigned char)*t) && colon[-1] != '[' && !strchr("vsa", t[1] == '[' ? *t : 'x'))
		return parse_valued(in, line, t, colon + 1);
	if (!strcmp(t, "clamp"))
		return in->clamp = true;
	if (!strcmp(t, "offen"))
		return in->offen = true;
	if (!strcmp(t, "idxen"))
		return in->idxen = true;
	if (!strcmp(t, "glc") || !strcmp(t, "sc0"))
		return line->returns = true;
	for (unsigned i = 0; i < sizeof ignored / sizeof *ignored; i++)
		if (!strcmp(t, ignored[i]))
			return true;
	return false;
}

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
		if (line->count == OPERANDS_MAX || !parse_operand(&line->operands[line->count++], t)) {
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

static bool parse_into(struct insn *in, unsigned gfx, char *text)
{
	struct line line = {.gfx = gfx, .src_sel = {SEL_DWORD, SEL_DWORD}};
	struct mnemonic m;
	char *name = next_token(&text);

	in->row_mask = in->bank_mask = 15;
	in->dst_sel = SEL_DWORD;
	in->exec = exec_unknown;
	if (!name)
		return false;
	mnemonic_read(&m, name, strlen(name));
	parse_tokens(in, &line, text);
	return bind(in, &line, &m);
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
