/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands: registers, constants, names.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/parse.h"
#include "zluda_core/amdgpu_emulator/wave.h"

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
		{"HW_REG_SHADER_CYCLES_HI", 30},
		{"HW_REG_HW_ID", 4},
		{"HW_REG_HW_ID1", 23},
		{"HW_REG_HW_ID2", 24},
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
	if (id == 63)
		return false;
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

bool amdgpu_parse_operand(struct operand *o, char *s)
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
