/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/legacy: what opcodes of early PTX mean that leave out what is required
 * today: the "PTX ISA Notes" and "Subnormal numbers" of ISA 9.7.3 and 9.7.6. */
#include "ptx/op_table.h"

/* Before ISA 1.4 these could stand without .approx or a rounding mode. */
static const struct {
	uint16_t op;
	uint8_t type;
	uint32_t flags;
	uint8_t rnd;
} defaults[] = {
	{PTX_OP_DIV, PTX_F32, PTX_F_APPROX | PTX_F_FTZ, PTX_RND_NONE},
	{PTX_OP_RCP, PTX_F32, PTX_F_APPROX | PTX_F_FTZ, PTX_RND_NONE},
	{PTX_OP_SQRT, PTX_F32, PTX_F_APPROX | PTX_F_FTZ, PTX_RND_NONE},
	{PTX_OP_RSQRT, PTX_F32, PTX_F_APPROX | PTX_F_FTZ, PTX_RND_NONE},
	{PTX_OP_SIN, PTX_F32, PTX_F_APPROX | PTX_F_FTZ, PTX_RND_NONE},
	{PTX_OP_COS, PTX_F32, PTX_F_APPROX | PTX_F_FTZ, PTX_RND_NONE},
	{PTX_OP_LG2, PTX_F32, PTX_F_APPROX | PTX_F_FTZ, PTX_RND_NONE},
	{PTX_OP_EX2, PTX_F32, PTX_F_APPROX | PTX_F_FTZ, PTX_RND_NONE},
	{PTX_OP_DIV, PTX_F64, 0, PTX_RN},
	{PTX_OP_RCP, PTX_F64, 0, PTX_RN},
	{PTX_OP_SQRT, PTX_F64, 0, PTX_RN},
	{PTX_OP_RSQRT, PTX_F64, PTX_F_APPROX, PTX_RND_NONE},
	{PTX_OP_MAD, PTX_F64, 0, PTX_RN},
};

static void complete(struct ptx_inst *i)
{
	if (i->rnd || i->flags & (PTX_F_APPROX | PTX_F_FULL))
		return;
	for (size_t k = 0; k < sizeof(defaults) / sizeof(defaults[0]); k++)
		if (defaults[k].op == i->op && defaults[k].type == i->type) {
			i->flags |= defaults[k].flags;
			i->rnd = defaults[k].rnd;
		}
}

/* sm_1x has no subnormal numbers in single precision. cvt of ISA 1.4 and earlier flushed only where neither side is
 * of 64 bits. */
static void flush(struct ptx_inst *i, unsigned version)
{
	bool takes_ftz = ptx_op_rows[i->op].modifiers >> PTX_CLASS_FLUSH & 1;
	if (!takes_ftz || (i->type != PTX_F32 && i->type2 != PTX_F32))
		return;
	if (i->op == PTX_OP_CVT && version <= 14 &&
	    (ptx_type_bits(i->type) == 64 || ptx_type_bits(i->type2) == 64))
		return;
	i->flags |= PTX_F_FTZ;
}

void ptx_legacy_defaults(struct ptx_inst *i, unsigned version, unsigned sm)
{
	if (version < 14)
		complete(i);
	if (sm && sm < 20) {
		flush(i, version);
		if (i->op == PTX_OP_MAD && i->type == PTX_F32 && !i->rnd)
			i->rnd =
				PTX_RN; /* what ISA 9.7.3.7 says of code for sm_1x on later devices: as fma */
	}
}
