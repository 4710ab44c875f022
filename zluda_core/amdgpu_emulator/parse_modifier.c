/* SPDX-License-Identifier: Apache-2.0
 *
 * Modifiers behind the operands: offsets, DPP and SDWA controls, selections of halves, cache policies.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/parse.h"

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

bool parse_modifier(struct insn *in, struct line *line, const char *t)
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
