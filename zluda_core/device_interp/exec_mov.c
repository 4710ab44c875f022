/* SPDX-License-Identifier: Apache-2.0
 *
 * mov, PTX ISA 9.7.9: copies, special registers, addresses, and packing of
 * several registers into a wider one and back.
 */
#include "zluda_core/device_interp/lane.h"

typedef unsigned __int128 u128;

DEF1(copy_128, u128, u128, x)

static const struct xinst *copy_pred(struct warp *w, const struct xinst *i)
{
	pred_store(w, i->o[0], pred_load(w, i->o[1]));
	return i + 1;
}

static uint64_t element(const void *p, unsigned bits, uint32_t l)
{
	switch (bits) {
	case 8: return ((const uint8_t *)p)[l];
	case 16: return ((const uint16_t *)p)[l];
	case 32: return ((const uint32_t *)p)[l];
	default: return ((const uint64_t *)p)[l];
	}
}

static void set_element(void *p, unsigned bits, uint32_t l, u128 v)
{
	switch (bits) {
	case 8: ((uint8_t *)p)[l] = (uint8_t)v; break;
	case 16: ((uint16_t *)p)[l] = (uint16_t)v; break;
	case 32: ((uint32_t *)p)[l] = (uint32_t)v; break;
	case 64: ((uint64_t *)p)[l] = (uint64_t)v; break;
	default: ((u128 *)p)[l] = v; break;
	}
}

/* u = element bits | count << 8; pack: o = whole, elements; unpack: o = elements (or none), whole. */
static const struct xinst *pack(struct warp *w, const struct xinst *i)
{
	const unsigned bits = i->u & 0xff, n = i->u >> 8;

	FOR_LANES(l, w->exec)
	{
		u128 v = 0;

		for (unsigned k = 0; k < n; k++)
			v |= (u128)element(cell(w, i->o[1 + k]), bits, l) << (k * bits);
		set_element(cell(w, i->o[0]), bits * n, l, v);
	}
	return i + 1;
}

static const struct xinst *unpack(struct warp *w, const struct xinst *i)
{
	const unsigned bits = i->u & 0xff, n = i->u >> 8;
	const void *s = cell(w, i->o[n]);

	FOR_LANES(l, w->exec)
	{
		u128 v = bits * n == 128 ? ((const u128 *)s)[l] : element(s, bits * n, l);

		for (unsigned k = 0; k < n; k++)
			if (i->o[k] != OPERAND_NONE)
				set_element(cell(w, i->o[k]), bits, l, v >> (k * bits));
	}
	return i + 1;
}

DEF2(pack_2x32, uint64_t, uint32_t, uint32_t, x | (uint64_t)y << 32)
DEF2(pack_2x16, uint32_t, uint16_t, uint16_t, x | (uint32_t)y << 16)

static int emit_pack(struct decode *c, unsigned total)
{
	const struct ptx_inst *in = c->in;
	const unsigned n = in->nsrc, bits = total / n;
	uint32_t pos[8];
	struct dest d;
	int rc = n > 8 || bits * n != total ? refuse(c, "%u elements don't make up %u bits", n, total) : 0;

	for (unsigned k = 0; k < n && !rc; k++)
		rc = source(c, &in->src[k], bits, false, &pos[k]);
	if (!rc)
		rc = dest(c, &in->dst[0], total, false, &d);
	if (rc)
		return rc;
	struct xinst *x = emit(c, n == 2 && bits == 32 ? pack_2x32 : n == 2 && bits == 16 ? pack_2x16 : pack);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	for (unsigned k = 0; k < n; k++)
		x->o[1 + k] = pos[k];
	x->u = bits | n << 8;
	return dest_done(c, &d);
}

static int emit_unpack(struct decode *c, unsigned total)
{
	const struct ptx_inst *in = c->in;
	const unsigned n = in->ndst, bits = total / n;
	uint32_t pos;
	struct dest d[8];
	int rc = n > 8 || bits * n != total ? refuse(c, "%u elements don't make up %u bits", n, total)
					    : source(c, &in->src[0], total, false, &pos);

	for (unsigned k = 0; k < n && !rc; k++) {
		d[k] = (struct dest){.pos = OPERAND_NONE, .reg = OPERAND_NONE};
		if (in->dst[k].kind != PTX_OPND_SINK)
			rc = dest(c, &in->dst[k], bits, false, &d[k]);
	}
	if (rc)
		return rc;
	struct xinst *x = emit(c, unpack);
	if (!x)
		return refuse(c, "out of memory");
	for (unsigned k = 0; k < n; k++)
		x->o[k] = d[k].pos;
	x->o[n] = pos;
	x->u = bits | n << 8;
	for (unsigned k = 0; k < n && !rc; k++)
		rc = dest_done(c, &d[k]);
	return rc;
}

int emit_mov(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	unsigned bits = in->type == PTX_PRED ? 1 : ptx_type_bits(in->type);
	uint32_t pos;
	struct dest d;

	(void)row;
	if (in->nsrc > 1)
		return emit_pack(c, bits);
	if (in->ndst > 1)
		return emit_unpack(c, bits);
	int rc = source(c, &in->src[0], bits, ptx_type_is_signed(in->type), &pos);
	if (!rc)
		rc = dest(c, &in->dst[0], bits, false, &d);
	if (rc)
		return rc;
	struct xinst *x = emit(c, bits == 1     ? copy_pred
				  : bits == 128 ? copy_128
						: c->exec->resize(bits, bits, false));
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->o[1] = pos;
	return dest_done(c, &d);
}
