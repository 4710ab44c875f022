/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies from global to shared memory, PTX ISA 9.7.9.25 (cp.async), and what only concerns caches: prefetch, discard,
 * policies.
 */
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/device_interp/lane.h"

/* cp.async: done at once, which its completion rules allow. o = destination, source, size to read (or none);
 * u = bytes | spaces. */
static const struct xinst *cp_async(struct warp *w, const struct xinst *i)
{
	const uint64_t *da = cell(w, i->o[0]), *sa = cell(w, i->o[1]);
	const uint32_t *size = i->o[2] == OPERAND_NONE ? NULL : cell(w, i->o[2]);
	const uint32_t *ignore = i->o[3] == OPERAND_NONE ? NULL : cell(w, i->o[3]);
	const uint32_t bytes = i->u;

	FOR_LANES(l, w->exec)
	{
		uint32_t n = size && size[l] < bytes ? size[l] : bytes;
		uint8_t *q = mem_resolve_lane(w, i, PTX_SPACE_SHARED, da[l] + (uint64_t)i->imm, bytes, bytes,
					      MEM_STORE, l);
		const uint8_t *s = NULL;

		if (ignore && LANE_ON(*ignore, l))
			n = 0;
		if (!q)
			return NULL;
		if (n && !(s = mem_resolve_lane(w, i, PTX_SPACE_GENERIC, sa[l], n, bytes, 0, l)))
			return NULL;
		if (n)
			memcpy(q, s, n);
		memset(q + n, 0, bytes - n);
	}
	return i + 1;
}

static int emit_cp_async(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	enum ptx_space to = PTX_SPACE_SHARED, from = PTX_SPACE_GLOBAL;
	uint32_t d, s, s2, n = OPERAND_NONE, ignore = OPERAND_NONE;
	int64_t dimm, simm;
	int rc = address(c, &in->src[0], (int64_t)in->src[0].imm, &to, &d, &dimm);

	if (!rc)
		rc = address(c, &in->src[1], (int64_t)in->src[1].imm, &from, &s, &simm);
	if (!rc)
		rc = add_offset(c, s, simm, &s2);
	unsigned extra = in->nsrc - (in->flags & PTX_F_CACHE_HINT ? 1 : 0);
	if (!rc && extra > 3 && operand_bits(c, &in->src[3]) == 1)
		rc = source(c, &in->src[3], 1, false, &ignore);
	else if (!rc && extra > 3)
		rc = source(c, &in->src[3], 32, false, &n);
	if (rc)
		return rc;
	if (in->src[2].kind != PTX_OPND_IMM ||
	    (in->src[2].imm != 4 && in->src[2].imm != 8 && in->src[2].imm != 16))
		return refuse(c, "cp.async copies 4, 8 or 16 bytes");
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d;
	x->o[1] = s2;
	x->o[2] = n;
	x->o[3] = ignore;
	x->u = (uint32_t)in->src[2].imm;
	x->imm = dimm;
	return 0;
}

static int emit_nothing(struct decode *c, const struct exec_row *row)
{
	(void)c;
	(void)row;
	return 0;
}

/* createpolicy: caches are not modelled, and a policy is opaque. */
static const struct xinst *make_policy(struct warp *w, const struct xinst *i)
{
	uint64_t *d = cell(w, i->o[0]);

	LANES_STORE(uint64_t, (void)0, 0);
	return i + 1;
}

static int emit_policy(struct decode *c, const struct exec_row *row)
{
	struct dest d;
	int rc = dest(c, &c->in->dst[0], 64, false, &d);

	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	return dest_done(c, &d);
}

#define HINT(OP)                                                                                      \
	{                                                                                             \
		.op = PTX_OP_##OP, .ok = UINT32_MAX, .any_rnd = true, .sig = "", .emit = emit_nothing \
	}
#define POLICY(OP)                                                                                  \
	{                                                                                           \
		.op = PTX_OP_##OP, .ok = UINT32_MAX, .any_rnd = true, .sig = "", .fn = make_policy, \
		.emit = emit_policy                                                                 \
	}
static const struct exec_row rows[] = {
	{.op = PTX_OP_CP_ASYNC,
	 .ok = PTX_F_NC | PTX_F_CACHE_HINT | PTX_F_NOINC,
	 .sig = "",
	 .fn = cp_async,
	 .emit = emit_cp_async},
	HINT(CP_ASYNC_COMMIT_GROUP),
	HINT(CP_ASYNC_WAIT_GROUP),
	HINT(CP_ASYNC_WAIT_ALL),
	HINT(PREFETCH),
	HINT(PREFETCHU),
	HINT(APPLYPRIORITY),
	HINT(DISCARD), /* what is discarded may keep its value */
	HINT(CP_ASYNC_BULK_PREFETCH),
	/* Groups of bulk copies are empty: the copies themselves are refused. */
	HINT(CP_ASYNC_BULK_COMMIT_GROUP),
	HINT(CP_ASYNC_BULK_WAIT_GROUP),
	POLICY(CREATEPOLICY_FRACTIONAL),
	POLICY(CREATEPOLICY_RANGE),
	POLICY(CREATEPOLICY_CVT),
};

const struct exec_family exec_copy = {rows, sizeof(rows) / sizeof(rows[0])};
