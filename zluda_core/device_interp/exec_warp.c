/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of a warp's lanes with each other: shfl, vote, match, redux, elect,
 * bar.warp.sync (PTX ISA 9.7.9, 9.7.13). With a member mask an operation waits
 * until all members that have not exited are at such an operation, at the same
 * instruction or another one (compilers duplicate code). So: gather operands of
 * all participants, compute, give the results back.
 *
 * o = d, p, a, b, c, member mask; any may be OPERAND_NONE. u = enum kind.
 */
#include "zluda_core/device_interp/check.h"
#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/lane.h"

enum kind {
	SHFL_UP,
	SHFL_DOWN,
	SHFL_BFLY,
	SHFL_IDX,
	VOTE_ALL,
	VOTE_ANY,
	VOTE_UNI,
	VOTE_BALLOT,
	MATCH_ANY_32,
	MATCH_ANY_64,
	MATCH_ALL_32,
	MATCH_ALL_64,
	REDUX_ADD,
	REDUX_AND,
	REDUX_OR,
	REDUX_XOR,
	REDUX_MIN_U,
	REDUX_MAX_U,
	REDUX_MIN_S,
	REDUX_MAX_S,
	REDUX_MIN_F,
	REDUX_MAX_F,
	REDUX_MIN_FN,
	REDUX_MAX_FN,
	REDUX_MIN_FA,
	REDUX_MAX_FA,
	REDUX_MIN_FAN,
	REDUX_MAX_FAN,
	ELECT,
	WARP_SYNC,
	KINDS
};

struct pool_ref {
	uint8_t *regs, *pool;
};

static void *at(const struct pool_ref *r, uint32_t o)
{
	return (o & OPERAND_POOL ? r->pool : r->regs) + (o & ~OPERAND_POOL);
}

static bool wide(enum kind k)
{
	return k == MATCH_ANY_64 || k == MATCH_ALL_64;
}

static bool votes(enum kind k)
{
	return k >= VOTE_ALL && k <= VOTE_BALLOT;
}

static void gather(const struct pool_ref *r, const struct xinst *i, uint32_t mask, struct collective *c)
{
	if (i->o[2] != OPERAND_NONE) {
		const void *a = at(r, i->o[2]);

		if (votes((enum kind)i->u))
			c->p |= *(const uint32_t *)a & mask;
		else if (wide((enum kind)i->u))
			FOR_LANES(l, mask) c->a64[l] = ((const uint64_t *)a)[l];
		else
			FOR_LANES(l, mask) c->a[l] = ((const uint32_t *)a)[l];
	}
	for (unsigned k = 3; k < 5; k++)
		if (i->o[k] != OPERAND_NONE)
			FOR_LANES(l, mask)(k == 3 ? c->b : c->c)[l] = ((const uint32_t *)at(r, i->o[k]))[l];
}

static void scatter(const struct pool_ref *r, const struct xinst *i, uint32_t mask,
		    const struct collective *c)
{
	enum kind k = (enum kind)i->u;

	if (i->o[0] != OPERAND_NONE) {
		uint32_t *d = at(r, i->o[0]);

		if (votes(k) && k != VOTE_BALLOT)
			*d = (*d & ~mask) | (c->d[0] & mask);
		else
			FOR_LANES(l, mask) d[l] = c->d[l];
	}
	if (i->o[1] != OPERAND_NONE) {
		uint32_t *p = at(r, i->o[1]);

		*p = (*p & ~mask) | (c->p & mask);
	}
}

/* ISA 9.7.9, shfl.sync: source lane and whether it is in range. */
static void shuffle(enum kind k, uint32_t mask, struct collective *c)
{
	uint32_t p = 0;

	FOR_LANES(l, mask)
	{
		uint32_t b = c->b[l] & 31, clamp = c->c[l] & 31, seg = c->c[l] >> 8 & 31;
		int32_t max = (int32_t)((l & seg) | (clamp & ~seg & 31)), j;
		bool in;

		switch (k) {
		case SHFL_UP:
			j = (int32_t)l - (int32_t)b;
			in = j >= max;
			break;
		case SHFL_DOWN:
			j = (int32_t)(l + b);
			in = j <= max;
			break;
		case SHFL_BFLY:
			j = (int32_t)(l ^ b);
			in = j <= max;
			break;
		default:
			j = (int32_t)((l & seg) | (b & ~seg & 31));
			in = j <= max;
			break;
		}
		p |= (uint32_t)in << l;
		/* a source lane that takes no part: undefined; here, always the lane's own value */
		c->d[l] = c->a[in && mask >> (j & 31) & 1 ? (uint32_t)j & 31 : l];
	}
	c->p = p;
}

static void vote(enum kind k, uint32_t mask, struct collective *c)
{
	uint32_t yes = c->p & mask;

	switch (k) {
	case VOTE_BALLOT: FOR_LANES(l, mask) c->d[l] = yes; break;
	case VOTE_ALL: c->d[0] = yes == mask ? FULL_MASK : 0; break;
	case VOTE_ANY: c->d[0] = yes ? FULL_MASK : 0; break;
	default: c->d[0] = !yes || yes == mask ? FULL_MASK : 0; break;
	}
}

static uint64_t match_value(enum kind k, const struct collective *c, uint32_t l)
{
	return wide(k) ? c->a64[l] : c->a[l];
}

static void match(enum kind k, uint32_t mask, struct collective *c)
{
	uint32_t same[LANES] = {0};

	FOR_LANES(l, mask)
	{
		FOR_LANES(j, mask) same[l] |= (uint32_t)(match_value(k, c, j) == match_value(k, c, l)) << j;
	}
	if (k == MATCH_ANY_32 || k == MATCH_ANY_64) {
		FOR_LANES(l, mask) c->d[l] = same[l];
		return;
	}
	bool all = same[first_lane(mask)] == mask;

	FOR_LANES(l, mask) c->d[l] = all ? mask : 0;
	c->p = all ? FULL_MASK : 0;
}

static uint32_t pick_float(uint32_t x, uint32_t y,
			   unsigned how) /* bit 0 max, bit 1 NaN wins, bit 2 magnitudes */
{
	if (how & 4) {
		x &= 0x7fffffff;
		y &= 0x7fffffff;
	}
	float fx = f32_from(x), fy = f32_from(y);

	if (fx != fx || fy != fy)
		return (how & 2) || (fx != fx && fy != fy) ? 0x7fffffff : fx != fx ? y : x;
	bool less = fx < fy || (fx == fy && (x >> 31) > (y >> 31));

	return less != (how & 1) ? x : y;
}

static uint32_t reduce(enum kind k, uint32_t x, uint32_t y)
{
	switch (k) {
	case REDUX_ADD: return x + y;
	case REDUX_AND: return x & y;
	case REDUX_OR: return x | y;
	case REDUX_XOR: return x ^ y;
	case REDUX_MIN_U: return x < y ? x : y;
	case REDUX_MAX_U: return x > y ? x : y;
	case REDUX_MIN_S: return (int32_t)x < (int32_t)y ? x : y;
	case REDUX_MAX_S: return (int32_t)x > (int32_t)y ? x : y;
	default: return pick_float(x, y, k - REDUX_MIN_F);
	}
}

static void compute(enum kind k, uint32_t mask, struct collective *c)
{
	uint32_t first = first_lane(mask);

	if (k <= SHFL_IDX) {
		shuffle(k, mask, c);
	} else if (k <= VOTE_BALLOT) {
		vote(k, mask, c);
	} else if (k <= MATCH_ALL_64) {
		match(k, mask, c);
	} else if (k <= REDUX_MAX_FAN) {
		uint32_t r = k >= REDUX_MIN_F ? pick_float(c->a[first], c->a[first], k - REDUX_MIN_F)
					      : c->a[first];

		FOR_LANES(l, mask & (mask - 1)) r = reduce(k, r, c->a[l]);
		FOR_LANES(l, mask) c->d[l] = r;
	} else if (k == ELECT) {
		FOR_LANES(l, mask) c->d[l] = first;
		c->p = 1u << first;
	}
}

/* Waiting fragments of the same kind and members; with the current lanes, are all members there? */
static uint32_t gathered(struct warp *w, const struct xinst *i, uint32_t members, uint32_t *others)
{
	uint32_t got = w->mask;

	*others = 0;
	for (uint32_t k = 0; k < LANES; k++) {
		struct fragment *f = &w->frags[k];

		if (f != w->cur && f->state == FRAG_COLLECTIVE && f->pc->u == i->u && f->members == members) {
			got |= f->mask;
			*others |= 1u << k;
		}
	}
	return got;
}

static const uint32_t *members_of(struct warp *w, const struct xinst *i)
{
	return cell(w, i->o[5]);
}

static uint32_t same_members(struct warp *w, const struct xinst *i, uint32_t lanes)
{
	const uint32_t *m = members_of(w, i);
	uint32_t same = 0;

	FOR_LANES(l, lanes) same |= (uint32_t)(m[l] == m[first_lane(lanes)]) << l;
	return same;
}

static void run_here(struct warp *w, const struct xinst *i, uint32_t lanes)
{
	struct pool_ref here = {w->base[0], w->base[1]};
	struct collective c;

	if ((enum kind)i->u == WARP_SYNC)
		return;
	c.p = 0;
	gather(&here, i, lanes, &c);
	compute((enum kind)i->u, lanes, &c);
	scatter(&here, i, lanes, &c);
}

static void keep_lanes(struct warp *w, uint32_t lanes)
{
	w->cur->mask = w->mask = w->exec = lanes;
}

/* Lanes at the same instruction that name different members (the groups of a partition) are as many
 * operations. Those whose members are all here are done at once. Returns true when that was all; otherwise
 * the fragment is left with one group that lacks members, and the other lanes are fragments of their own. */
static bool groups_done(struct warp *w, const struct xinst *i)
{
	uint32_t lacking = 0, first = 0;

	for (uint32_t todo = w->mask, group; todo; todo &= ~group) {
		group = same_members(w, i, todo);
		if (members_of(w, i)[first_lane(group)] & ~w->exited & ~group) {
			first = first ? first : group;
			lacking |= group;
		} else {
			run_here(w, i, group);
		}
	}
	if (!lacking)
		return true;
	uint32_t done = w->mask & ~lacking;

	keep_lanes(w, first);
	if (done)
		warp_split(w, i + 1, done, w->frame);
	for (uint32_t todo = lacking & ~first, group; todo; todo &= ~group) {
		group = same_members(w, i, todo);
		warp_split(w, i, group, w->frame);
	}
	return false;
}

static void run_with_others(struct warp *w, const struct xinst *i, uint32_t mask, uint32_t others)
{
	struct pool_ref here = {w->base[0], w->base[1]};
	struct collective c;

	c.p = 0;
	if ((enum kind)i->u != WARP_SYNC) {
		gather(&here, i, w->mask, &c);
		FOR_LANES(k, others)
		gather(&(struct pool_ref){w->frags[k].frame->regs, w->base[1]}, w->frags[k].pc,
		       w->frags[k].mask, &c);
		compute((enum kind)i->u, mask, &c);
		scatter(&here, i, w->mask, &c);
	}
	FOR_LANES(k, others)
	{
		struct fragment *f = &w->frags[k];

		if ((enum kind)i->u != WARP_SYNC)
			scatter(&(struct pool_ref){f->frame->regs, w->base[1]}, f->pc, f->mask, &c);
		f->state = FRAG_RUN;
		if (f->pc == i && f->frame == w->frame)
			warp_absorb(w, f);
		else
			f->pc++;
	}
}

static const struct xinst *collective(struct warp *w, const struct xinst *i)
{
	uint32_t members, others, mask;

	if (i->o[5] == OPERAND_NONE) {
		run_here(w, i, w->mask);
		return i + 1;
	}
	if (same_members(w, i, w->mask) != w->mask && groups_done(w, i))
		return i + 1;
	members = members_of(w, i)[first_lane(w->mask)];
	if (!(members & ~w->exited & ~w->mask)) {
		run_here(w, i, w->mask);
		return i + 1;
	}
	mask = gathered(w, i, members, &others);
	if (members & ~w->exited & ~mask) {
		w->cur->state = FRAG_COLLECTIVE;
		w->cur->members = members;
		w->cur->pc = i;
		w->stop = STOP_SWITCH;
		return NULL;
	}
	run_with_others(w, i, mask, others);
	return i + 1;
}

static const struct xinst *activemask(struct warp *w, const struct xinst *i)
{
	uint32_t *d = cell(w, i->o[0]);

	FOR_LANES(l, w->exec)
	d[l] = w->exec; /* lanes that the guard turns off count as inactive */
	return i + 1;
}

/* Which operands of the instruction are d, p, a, b, c, mask: letters in that order ('-' = none); the mask is
 * a source. */
struct layout {
	int8_t d, p, a, b, c;
	char a_width;
	bool d_pred;
};

static struct layout layout_of(const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_SHFL: return (struct layout){0, 1, 0, 1, 2, 'w', false};
	case PTX_OP_VOTE: return (struct layout){0, -1, 0, -1, -1, 'p', in->sub != PTX_SUB_BALLOT};
	case PTX_OP_MATCH: return (struct layout){0, 1, 0, -1, -1, in->type == PTX_B64 ? 'd' : 'w', false};
	case PTX_OP_REDUX: return (struct layout){0, -1, 0, -1, -1, 'w', false};
	case PTX_OP_ELECT: return (struct layout){0, 1, -1, -1, -1, 'w', false};
	default: return (struct layout){-1, -1, -1, -1, -1, 'w', false};
	}
}

static int optional_source(struct decode *c, int k, unsigned bits, uint32_t *pos)
{
	*pos = OPERAND_NONE;
	return k < 0 ? 0 : source(c, &c->in->src[k], bits, false, pos);
}

static int optional_dest(struct decode *c, int k, unsigned bits, struct dest *d)
{
	d->pos = OPERAND_NONE;
	if (k < 0 || k >= c->in->ndst || c->in->dst[k].kind == PTX_OPND_SINK)
		return 0;
	return dest(c, &c->in->dst[k], bits, false, d);
}

/* Checked mode: o[0] = the members that each lane names. */
static const struct xinst *check_members(struct warp *w, const struct xinst *i)
{
	const uint32_t *members = cell(w, i->o[0]);

	FOR_LANES(l, w->exec)
	if (!(members[l] >> l & 1)) {
		check_members_lack(w, i, l, members[l]);
		break;
	}
	return i + 1;
}

static bool emit_check_members(struct decode *c, uint32_t members)
{
	struct xinst *x = emit(c, check_members);

	if (x)
		x->o[0] = members;
	return x;
}

static int emit_collective(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	struct layout lay = layout_of(in);
	int members = in->op == PTX_OP_BAR_WARP_SYNC || in->op == PTX_OP_ELECT || (in->flags & PTX_F_SYNC)
			      ? in->nsrc - 1
			      : -1;
	uint32_t a, b, cc, m;
	struct dest d, p;
	int rc = optional_source(c, lay.a, sig_bits(lay.a_width), &a);

	if (!rc)
		rc = optional_source(c, lay.b, 32, &b);
	if (!rc)
		rc = optional_source(c, lay.c, 32, &cc);
	if (!rc)
		rc = optional_source(c, members, 32, &m);
	if (!rc)
		rc = optional_dest(c, lay.d, lay.d_pred ? 1 : 32, &d);
	if (!rc)
		rc = optional_dest(c, lay.p, 1, &p);
	if (rc)
		return rc;
	if (m != OPERAND_NONE && c->check & CHECK_BARRIERS && !emit_check_members(c, m))
		return refuse(c, "out of memory");
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->o[1] = p.pos;
	x->o[2] = a;
	x->o[3] = b;
	x->o[4] = cc;
	x->o[5] = m;
	x->u = row->u;
	if (d.pos != OPERAND_NONE)
		rc = dest_done(c, &d);
	if (!rc && p.pos != OPERAND_NONE)
		rc = dest_done(c, &p);
	return rc;
}

#define C(OP, MATCH, T, SUB, NEEDS, U)                                                                   \
	{                                                                                                \
		.op = PTX_OP_##OP, .match = MATCH, .type = PTX_##T, .sub = PTX_SUB_##SUB, .need = NEEDS, \
		.ok = PTX_F_SYNC, .sig = "", .fn = collective, .emit = emit_collective, .u = U,          \
		.splits = true                                                                           \
	}
#define T_S                    (MATCH_TYPE | MATCH_SUB)
#define REDUX_F(SUB, NEEDS, U) C(REDUX, T_S, F32, SUB, NEEDS, U)

static const struct exec_row rows[] = {
	C(SHFL, MATCH_SUB, B32, UP, 0, SHFL_UP),
	C(SHFL, MATCH_SUB, B32, DOWN, 0, SHFL_DOWN),
	C(SHFL, MATCH_SUB, B32, BFLY, 0, SHFL_BFLY),
	C(SHFL, MATCH_SUB, B32, IDX, 0, SHFL_IDX),
	C(VOTE, MATCH_SUB, PRED, ALL, 0, VOTE_ALL),
	C(VOTE, MATCH_SUB, PRED, ANY, 0, VOTE_ANY),
	C(VOTE, MATCH_SUB, PRED, UNI, 0, VOTE_UNI),
	C(VOTE, MATCH_SUB, B32, BALLOT, 0, VOTE_BALLOT),
	C(MATCH, T_S, B32, ANY, 0, MATCH_ANY_32),
	C(MATCH, T_S, B64, ANY, 0, MATCH_ANY_64),
	C(MATCH, T_S, B32, ALL, 0, MATCH_ALL_32),
	C(MATCH, T_S, B64, ALL, 0, MATCH_ALL_64),
	C(REDUX, T_S, U32, ADD, 0, REDUX_ADD),
	C(REDUX, T_S, S32, ADD, 0, REDUX_ADD),
	C(REDUX, T_S, B32, AND, 0, REDUX_AND),
	C(REDUX, T_S, B32, OR, 0, REDUX_OR),
	C(REDUX, T_S, B32, XOR, 0, REDUX_XOR),
	C(REDUX, T_S, U32, MIN, 0, REDUX_MIN_U),
	C(REDUX, T_S, U32, MAX, 0, REDUX_MAX_U),
	C(REDUX, T_S, S32, MIN, 0, REDUX_MIN_S),
	C(REDUX, T_S, S32, MAX, 0, REDUX_MAX_S),
	REDUX_F(MIN, 0, REDUX_MIN_F),
	REDUX_F(MAX, 0, REDUX_MAX_F),
	REDUX_F(MIN, PTX_F_NAN, REDUX_MIN_FN),
	REDUX_F(MAX, PTX_F_NAN, REDUX_MAX_FN),
	REDUX_F(MIN, PTX_F_ABS, REDUX_MIN_FA),
	REDUX_F(MAX, PTX_F_ABS, REDUX_MAX_FA),
	REDUX_F(MIN, PTX_F_ABS | PTX_F_NAN, REDUX_MIN_FAN),
	REDUX_F(MAX, PTX_F_ABS | PTX_F_NAN, REDUX_MAX_FAN),
	C(ELECT, 0, B32, NONE, 0, ELECT),
	C(BAR_WARP_SYNC, 0, B32, NONE, 0, WARP_SYNC),
	{.op = PTX_OP_ACTIVEMASK, .sig = "w:", .fn = activemask},
};

const struct exec_family exec_warp = {rows, sizeof(rows) / sizeof(rows[0])};
