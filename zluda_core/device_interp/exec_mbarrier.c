/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier, PTX ISA 9.7.13.15, and what completes on one: cp.async.mbarrier.arrive,
 * st.async and red.async, which finish at once here. Barriers of clusters of one
 * block, and addresses in them.
 *
 * The object is opaque; ours is: bits 0 to 19 pending arrivals, 20 to 39 expected
 * arrivals, 40 to 60 tx-count (two's complement), 61 to 63 number of the phase.
 * A state is the object as it was before the arrival. One thread runs all of a
 * block, so plain loads and stores are atomic.
 *
 * A thread that waits is not suspended: test_wait counts as a spin, try_wait gives
 * up its turn, so the threads that it waits for go on.
 */
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/device_interp/lane.h"

#define COUNT_MAX ((1u << 20) - 1)

struct mbarrier {
	uint32_t pending, expected, phase;
	int32_t tx;
};

static struct mbarrier unpack(uint64_t v)
{
	return (struct mbarrier){.pending = v & COUNT_MAX,
				 .expected = v >> 20 & COUNT_MAX,
				 .tx = (int32_t)((int64_t)(v << 3) >> 43),
				 .phase = v >> 61};
}

static uint64_t pack(const struct mbarrier *b)
{
	return (uint64_t)b->pending | (uint64_t)b->expected << 20 | ((uint64_t)b->tx & 0x1fffff) << 40 |
	       (uint64_t)(b->phase & 7) << 61;
}

enum action {
	INIT,
	INVAL,
	EXPECT_TX,
	COMPLETE_TX,
	ARRIVE,
	ARRIVE_DROP,
	ARRIVE_EXPECT, /* the operand is a tx-count, one thread arrives */
	DROP_EXPECT,
	ASYNC_ARRIVE,
	ASYNC_ARRIVE_NOINC,
	TEST_WAIT,
	TRY_WAIT,
};

/* Objects lie in the block's shared memory. */
static uint64_t *object(struct warp *w, const struct xinst *i, enum ptx_space space, uint64_t a,
			unsigned lane)
{
	uint64_t in_space = a;

	if (space == PTX_SPACE_GENERIC && generic_space(&in_space) != PTX_SPACE_SHARED) {
		fault_lane(w, i, DEV_FAULT_ILLEGAL_ADDRESS, lane,
			   "0x%llx is not in shared memory, where mbarrier objects are",
			   (unsigned long long)a);
		return NULL;
	}
	return (uint64_t *)(void *)mem_resolve_lane(w, i, space, a, 8, 8, MEM_ATOMIC, lane);
}

static bool bad_count(struct warp *w, const struct xinst *i, unsigned lane, const char *what, long long count)
{
	fault_lane(w, i, DEV_FAULT_ILLEGAL_INSTRUCTION, lane, "mbarrier: %s %lld", what, count);
	return false;
}

static bool add_tx(struct warp *w, const struct xinst *i, unsigned lane, struct mbarrier *b, int64_t count)
{
	const int64_t tx = b->tx + count;

	if (tx > COUNT_MAX || tx < -(int64_t)COUNT_MAX)
		return bad_count(w, i, lane, "the tx-count has 20 bits, it would be", tx);
	b->tx = (int32_t)tx;
	return true;
}

static bool take_arrivals(struct warp *w, const struct xinst *i, unsigned lane, struct mbarrier *b,
			  uint32_t count)
{
	if (!count || count > COUNT_MAX)
		return bad_count(w, i, lane, "the count of arrivals is", count);
	if (count > b->pending)
		return bad_count(w, i, lane,
				 b->expected ? "more threads arrive than are pending, which are"
					     : "the object is not initialised; pending arrivals are",
				 b->pending);
	b->pending -= count;
	return true;
}

static void maybe_complete(struct mbarrier *b)
{
	if (b->pending || b->tx)
		return;
	b->phase++;
	b->pending = b->expected;
}

static bool apply(struct warp *w, const struct xinst *i, unsigned lane, enum action action, uint32_t n,
		  uint64_t *object)
{
	struct mbarrier b = unpack(*object);
	bool ok = true;

	switch (action) {
	case INIT:
		if (!n || n > COUNT_MAX)
			return bad_count(w, i, lane, "the count must be 1 to 1048575, it is", n);
		b = (struct mbarrier){.pending = n, .expected = n};
		*object = pack(&b);
		return true;
	case INVAL: *object = 0; return true;
	case EXPECT_TX: ok = add_tx(w, i, lane, &b, n); break;
	case COMPLETE_TX: ok = add_tx(w, i, lane, &b, -(int64_t)n); break;
	case ARRIVE_EXPECT:
	case DROP_EXPECT:
		ok = add_tx(w, i, lane, &b, n);
		n = 1;
		break;
	case ASYNC_ARRIVE: /* one more is pending, and arrives */ return true;
	default: break;
	}
	if (action == ARRIVE_DROP || action == DROP_EXPECT)
		b.expected -= n < b.expected ? n : b.expected;
	if (ok && action >= ARRIVE && action != ASYNC_ARRIVE)
		ok = take_arrivals(w, i, lane, &b, n);
	if (!ok)
		return false;
	maybe_complete(&b);
	*object = pack(&b);
	return true;
}

#define U_ACTION(u) ((enum action)((u)&0xff))
#define U_SPACE(u)  ((enum ptx_space)((u) >> 8 & 0xff))
#define U_PARITY(u) ((u) >> 16 & 1)

/* o = state (or none), address, count (or none: 1). */
static const struct xinst *change(struct warp *w, const struct xinst *i)
{
	const uint64_t *a = cell(w, i->o[1]);
	const uint32_t *count = i->o[2] == OPERAND_NONE ? NULL : cell(w, i->o[2]);

	FOR_LANES(l, w->exec)
	{
		uint64_t *p = object(w, i, U_SPACE(i->u), a[l], l);

		if (!p)
			return NULL;
		const uint64_t before = *p;

		if (!apply(w, i, l, U_ACTION(i->u), count ? count[l] : 1, p))
			return NULL;
		if (i->o[0] != OPERAND_NONE)
			((uint64_t *)cell(w, i->o[0]))[l] = before;
	}
	return i + 1;
}

/* o = predicate, address, state or parity. The phase asked for is the current one, which is not complete, or the
 * one before it, which is. */
static const struct xinst *wait_phase(struct warp *w, const struct xinst *i)
{
	const uint64_t *a = cell(w, i->o[1]);
	uint32_t done = 0;

	FOR_LANES(l, w->exec)
	{
		const uint64_t *p = object(w, i, U_SPACE(i->u), a[l], l);

		if (!p)
			return NULL;
		const uint32_t now = unpack(*p).phase;
		const bool same = U_PARITY(i->u)
					  ? ((const uint32_t *)cell(w, i->o[2]))[l] == (now & 1)
					  : unpack(((const uint64_t *)cell(w, i->o[2]))[l]).phase == now;

		done |= (uint32_t)!same << l;
	}
	pred_store(w, i->o[0], done);
	if (done == w->exec)
		return i + 1;
	if (U_ACTION(i->u) == TRY_WAIT && w->left > 1) {
		w->spin_units += w->left - 1;
		w->left = 1;
	} else {
		spin(w);
	}
	return i + 1;
}

bool exec_mbarrier_waits(const struct xinst *i)
{
	return i->fn == wait_phase;
}

static const struct xinst *pending_count(struct warp *w, const struct xinst *i)
{
	const uint64_t *state = cell(w, i->o[1]);
	uint32_t *d = cell(w, i->o[0]);

	LANES_STORE(uint32_t, uint64_t x = state[l], x & COUNT_MAX);
	return i + 1;
}

static int object_address(struct decode *c, const struct ptx_operand *o, uint32_t *pos, enum ptx_space *space)
{
	uint32_t base;
	int64_t imm;
	int rc = address(c, o, (int64_t)o->imm, space, &base, &imm);

	return rc ? rc : add_offset(c, base, imm, pos);
}

static enum action arrive_action(const struct ptx_inst *in)
{
	const bool drop = in->op == PTX_OP_MBARRIER_ARRIVE_DROP;

	if (strstr(in->mods, ".expect_tx"))
		return drop ? DROP_EXPECT : ARRIVE_EXPECT;
	return drop ? ARRIVE_DROP : ARRIVE;
}

static enum action action_of(const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_MBARRIER_INIT: return INIT;
	case PTX_OP_MBARRIER_INVAL: return INVAL;
	case PTX_OP_MBARRIER_EXPECT_TX: return EXPECT_TX;
	case PTX_OP_MBARRIER_COMPLETE_TX: return COMPLETE_TX;
	case PTX_OP_MBARRIER_TEST_WAIT: return TEST_WAIT;
	case PTX_OP_MBARRIER_TRY_WAIT: return TRY_WAIT;
	case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
		return in->flags & PTX_F_NOINC ? ASYNC_ARRIVE_NOINC : ASYNC_ARRIVE;
	default: return arrive_action(in);
	}
}

static int emit_mbarrier(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	const enum action action = action_of(in);
	const bool waits = action >= TEST_WAIT, parity = waits && strstr(in->mods, ".parity");
	enum ptx_space space = (enum ptx_space)in->space;
	struct dest d = {.pos = OPERAND_NONE, .reg = OPERAND_NONE};
	uint32_t pos = 0, operand = OPERAND_NONE;
	int rc = object_address(c, &in->src[0], &pos, &space);

	if (!rc && in->nsrc > 1)
		rc = source(c, &in->src[1], waits && !parity ? 64 : 32, false, &operand);
	if (!rc && in->ndst && in->dst[0].kind != PTX_OPND_SINK)
		rc = dest(c, &in->dst[0], waits ? 1 : 64, false, &d);
	if (!rc && waits && d.pos == OPERAND_NONE)
		return 0; /* the answer is thrown away */
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->o[1] = pos;
	x->o[2] = operand;
	x->u = (uint32_t)action | (uint32_t)space << 8 | (parity ? 1u << 16 : 0);
	return d.pos == OPERAND_NONE ? 0 : dest_done(c, &d);
}

/* st.async, red.async: after the store or the addition, which the instructions before this one made, its bytes are
 * complete at the mbarrier. o = address; u = bytes | space << 8. */
static const struct xinst *complete_bytes(struct warp *w, const struct xinst *i)
{
	const uint64_t *a = cell(w, i->o[0]);

	FOR_LANES(l, w->exec)
	{
		uint64_t *p = object(w, i, U_SPACE(i->u), a[l], l);

		if (!p || !apply(w, i, l, COMPLETE_TX, i->u & 0xff, p))
			return NULL;
	}
	return i + 1;
}

/* The same instruction without its mbarrier, as an st or red of shared memory. */
static int emit_async(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	const bool red = in->op == PTX_OP_RED_ASYNC;
	const unsigned vec = red ? 1 : in->vec;
	struct ptx_inst plain = *in;
	enum ptx_space space = (enum ptx_space)in->space;
	uint32_t pos = 0;

	(void)row;
	if (!strstr(in->mods, ".mbarrier::complete_tx::bytes"))
		return refuse(c, "forms without .mbarrier::complete_tx::bytes need target sm_100 or later, "
				 "which is not executed");
	if (in->nsrc != vec + 2)
		return refuse(c, "it needs %u values and an mbarrier", vec);
	plain.op = red ? PTX_OP_RED : PTX_OP_ST;
	plain.nsrc--;
	const struct exec_row *as = exec_find(c->exec, &plain);

	if (!as)
		return refuse(c, "it has no form for this type");
	c->in = &plain;
	int rc = as->emit(c, as);
	c->in = in;
	if (!rc)
		rc = object_address(c, &in->src[in->nsrc - 1], &pos, &space);
	if (rc)
		return rc;
	struct xinst *x = emit(c, complete_bytes);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = pos;
	x->u = vec * ptx_type_bits(in->type) / 8 | (uint32_t)space << 8;
	return 0;
}

/* mapa: a cluster of one block has rank 0 only. o = destination, address, rank. */
static const struct xinst *map_address(struct warp *w, const struct xinst *i)
{
	const uint64_t *a = cell(w, i->o[1]);
	const uint32_t *rank = cell(w, i->o[2]);
	uint64_t *d = cell(w, i->o[0]);

	FOR_LANES(l, w->exec)
	if (rank[l])
		return fault_lane(w, i, DEV_FAULT_ILLEGAL_INSTRUCTION, l,
				  "the cluster has one block, there is none of rank %u", rank[l]);
	LANES_STORE(uint64_t, uint64_t x = a[l], x);
	return i + 1;
}

static const struct xinst *cluster_arrive(struct warp *w, const struct xinst *i)
{
	return barrier_arrive(w, i, BARRIER_CLUSTER, 0, 0);
}

static const struct xinst *cluster_wait(struct warp *w, const struct xinst *i)
{
	return barrier_wait(w, i, BARRIER_CLUSTER);
}

#define CHANGE(OP)                                                                                  \
	{                                                                                           \
		.op = PTX_OP_##OP, .ok = UINT32_MAX, .sig = "", .fn = change, .emit = emit_mbarrier \
	}
#define WAIT(OP)                                                                                        \
	{                                                                                               \
		.op = PTX_OP_##OP, .ok = UINT32_MAX, .sig = "", .fn = wait_phase, .emit = emit_mbarrier \
	}
static const struct exec_row rows[] = {
	CHANGE(MBARRIER_INIT),
	CHANGE(MBARRIER_INVAL),
	CHANGE(MBARRIER_EXPECT_TX),
	CHANGE(MBARRIER_COMPLETE_TX),
	CHANGE(MBARRIER_ARRIVE),
	CHANGE(MBARRIER_ARRIVE_DROP),
	CHANGE(CP_ASYNC_MBARRIER_ARRIVE),
	WAIT(MBARRIER_TEST_WAIT),
	WAIT(MBARRIER_TRY_WAIT),
	{.op = PTX_OP_MBARRIER_PENDING_COUNT, .sig = "w:d", .fn = pending_count},
	{.op = PTX_OP_ST_ASYNC, .ok = UINT32_MAX, .sig = "", .emit = emit_async},
	{.op = PTX_OP_RED_ASYNC, .ok = UINT32_MAX, .sig = "", .emit = emit_async},
	{.op = PTX_OP_MAPA, .ok = UINT32_MAX, .sig = "d:dw", .fn = map_address},
	{.op = PTX_OP_BARRIER_CLUSTER_ARRIVE,
	 .ok = UINT32_MAX,
	 .sig = "",
	 .fn = cluster_arrive,
	 .emit = emit_plain,
	 .splits = true,
	 .u = PTX_SUB_ARRIVE},
	{.op = PTX_OP_BARRIER_CLUSTER_WAIT,
	 .ok = UINT32_MAX,
	 .sig = "",
	 .fn = cluster_wait,
	 .emit = emit_plain,
	 .splits = true},
};

const struct exec_family exec_mbarrier = {rows, sizeof(rows) / sizeof(rows[0])};
