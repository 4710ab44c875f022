/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/types: names and widths of the PTX types (ISA chapter 5.2). */
#include <string.h>

#include "ptx/op_table.h"

static const struct {
	const char *name;
	uint8_t bits;
	bool is_float, is_signed;
} types[PTX_NTYPES] = {
	[PTX_TYPE_NONE] = {"none", 0, false, false},
	[PTX_PRED] = {"pred", 1, false, false},
	[PTX_B8] = {"b8", 8, false, false},
	[PTX_B16] = {"b16", 16, false, false},
	[PTX_B32] = {"b32", 32, false, false},
	[PTX_B64] = {"b64", 64, false, false},
	[PTX_B128] = {"b128", 128, false, false},
	[PTX_U8] = {"u8", 8, false, false},
	[PTX_U16] = {"u16", 16, false, false},
	[PTX_U32] = {"u32", 32, false, false},
	[PTX_U64] = {"u64", 64, false, false},
	[PTX_S8] = {"s8", 8, false, true},
	[PTX_S16] = {"s16", 16, false, true},
	[PTX_S32] = {"s32", 32, false, true},
	[PTX_S64] = {"s64", 64, false, true},
	[PTX_F16] = {"f16", 16, true, true},
	[PTX_F16X2] = {"f16x2", 32, true, true},
	[PTX_BF16] = {"bf16", 16, true, true},
	[PTX_BF16X2] = {"bf16x2", 32, true, true},
	[PTX_TF32] = {"tf32", 32, true, true},
	[PTX_F32] = {"f32", 32, true, true},
	[PTX_F32X2] = {"f32x2", 64, true, true},
	[PTX_F64] = {"f64", 64, true, true},
	[PTX_U16X2] = {"u16x2", 32, false, false},
	[PTX_S16X2] = {"s16x2", 32, false, true},
	[PTX_U8X4] = {"u8x4", 32, false, false},
	[PTX_S8X4] = {"s8x4", 32, false, true},
	[PTX_E4M3] = {"e4m3", 8, true, true},
	[PTX_E5M2] = {"e5m2", 8, true, true},
	[PTX_E4M3X2] = {"e4m3x2", 16, true, true},
	[PTX_E5M2X2] = {"e5m2x2", 16, true, true},
	[PTX_E2M1X2] = {"e2m1x2", 8, true, true},
	[PTX_E2M3X2] = {"e2m3x2", 16, true, true},
	[PTX_E3M2X2] = {"e3m2x2", 16, true, true},
	[PTX_UE8M0X2] = {"ue8m0x2", 16, true, false},
	[PTX_E2M1] = {"e2m1", 4, true, true},
	[PTX_E2M3] = {"e2m3", 6, true, true},
	[PTX_E3M2] = {"e3m2", 6, true, true},
	[PTX_UE8M0] = {"ue8m0", 8, true, false},
	[PTX_E4M3X4] = {"e4m3x4", 32, true, true},
	[PTX_E5M2X4] = {"e5m2x4", 32, true, true},
	[PTX_E2M1X4] = {"e2m1x4", 16, true, true},
	[PTX_E2M3X4] = {"e2m3x4", 32, true, true},
	[PTX_E3M2X4] = {"e3m2x4", 32, true, true},
	[PTX_U4] = {"u4", 4, false, false},
	[PTX_S4] = {"s4", 4, false, true},
	[PTX_B1] = {"b1", 1, false, false},
	[PTX_U2] = {"u2", 2, false, false},
	[PTX_S2] = {"s2", 2, false, true},
	[PTX_B4] = {"b4", 4, false, false},
	[PTX_B6] = {"b6", 6, false, false},
	[PTX_B4X16] = {"b4x16_p64", 128, false, false}, /* 16 elements of 4 bits and 64 bits of padding */
	[PTX_B6X16] = {"b6x16_p32", 128, false, false},
	[PTX_B8X16] = {"b8x16", 128, false, false},
	[PTX_TEXREF] = {"texref", 64, false, false},
	[PTX_SAMPLERREF] = {"samplerref", 64, false, false},
	[PTX_UE4M3] = {"ue4m3", 8, true, false},
	[PTX_SURFREF] = {"surfref", 64, false, false},
};

unsigned ptx_type_bits(enum ptx_type t)
{
	return (unsigned)t < PTX_NTYPES ? types[t].bits : 0;
}

const char *ptx_type_name(enum ptx_type t)
{
	return (unsigned)t < PTX_NTYPES ? types[t].name : "?";
}

bool ptx_type_is_float(enum ptx_type t)
{
	return (unsigned)t < PTX_NTYPES && types[t].is_float;
}

bool ptx_type_is_signed(enum ptx_type t)
{
	return (unsigned)t < PTX_NTYPES && types[t].is_signed;
}

enum ptx_type ptx_type_parse(const char *s, size_t n)
{
	if (n < 2 || n > 10)
		return PTX_TYPE_NONE;
	for (unsigned t = PTX_TYPE_NONE + 1; t < PTX_NTYPES; t++)
		if (types[t].name[0] == s[0] && !strncmp(types[t].name, s, n) && !types[t].name[n])
			return t;
	return PTX_TYPE_NONE;
}
