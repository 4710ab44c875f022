/* SPDX-License-Identifier: Apache-2.0
 *
 * Warp-wide instructions: shfl.sync (9.7.9.6), vote.sync, match.sync, activemask, redux.sync, elect.sync
 * (9.7.13.9 to 9.7.13.14). The references see a whole warp's inputs.
 */
#include "form.h"
#include "reference.h"

#include <string.h>

#define WARP 32u

static uint64_t rng(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

enum shfl { UP, DOWN, BFLY, IDX };

/* in: a, b, c of each lane; out: d, p. k[0] mode. */
static void ref_shfl(const struct form *f, const uint64_t *in, struct want *out)
{
	for (unsigned lane = 0; lane < WARP; lane++) {
		unsigned bval = in[lane * 3 + 1] & 31, cval = in[lane * 3 + 2] & 31,
			 seg = in[lane * 3 + 2] >> 8 & 31;
		unsigned max_lane = (lane & seg) | (cval & ~seg), min_lane = lane & seg;
		int j = 0;
		bool p = false;

		switch ((enum shfl)f->k[0]) {
		case UP:
			j = (int)lane - (int)bval;
			p = j >= (int)max_lane;
			break;
		case DOWN:
			j = (int)(lane + bval);
			p = j <= (int)max_lane;
			break;
		case BFLY:
			j = (int)(lane ^ bval);
			p = j <= (int)max_lane;
			break;
		case IDX:
			j = (int)(min_lane | (bval & ~seg));
			p = j <= (int)max_lane;
			break;
		}
		if (!p)
			j = (int)lane;
		out[lane * 2].bits = in[(unsigned)j * 3];
		out[lane * 2 + 1].bits = p;
	}
}

/* Every width (power of two) and clamp that compilers emit, and arbitrary ones, also differing between lanes.
 */
static void fill_shfl(const struct form *f, unsigned t, uint64_t *in)
{
	unsigned warp = t / WARP, lane = t % WARP;
	uint64_t seed = 0x1234567 + warp * 7919ull, r;

	for (int i = 0; i < 4; i++)
		r = rng(&seed);
	in[0] = (uint32_t)(lane * 0x01010101u + warp);
	if (warp < 192) { /* uniform b; width 32, 16, ..., 1 */
		unsigned width = 32u >> (warp / 32);

		in[1] = warp % 32;
		in[2] = (32 - width) << 8 | (f->k[0] == UP ? 0 : 31);
	} else if (warp < 256) { /* uniform random c with stray bits, b beyond 31 */
		in[1] = warp % 64;
		in[2] = (uint32_t)r;
	} else {
		seed = r + lane * 0x9e3779b97f4a7c15ull;
		for (int i = 0; i < 3; i++)
			r = rng(&seed);
		in[1] = (uint32_t)r;
		in[2] = (uint32_t)(r >> 32);
	}
}

static void add_shfl(struct suite *s)
{
	static const char *const modes[] = {"up", "down", "bfly", "idx"};

	for (unsigned i = 0; i < 4; i++) {
		struct form *f =
			form_add(s, "wp=www", NULL,
				 text_of("shfl.sync.%s.b32 %%0|%%1, %%2, %%3, %%4, 0xffffffff;", modes[i]),
				 "shfl.sync.%s.b32 d|p", modes[i]);

		f->gref = ref_shfl;
		f->k[0] = i;
		f->fill = fill_shfl;
		f->ntuples = 320 * WARP;
	}
}

/* Warps: predicate patterns none, all, one, random. */
static bool pattern(unsigned warp, unsigned lane)
{
	uint64_t seed = 99 + warp;

	switch (warp) {
	case 0: return false;
	case 1: return true;
	case 2: return lane == 0;
	case 3: return lane != 31;
	case 4: return lane & 1;
	case 5: return lane >= 16;
	default:
		rng(&seed);
		rng(&seed);
		return rng(&seed) >> lane & 1;
	}
}

static void fill_pred(const struct form *f, unsigned t, uint64_t *in)
{
	(void)f;
	in[0] = pattern(t / WARP, t % WARP);
}

/* k[0]: mask of participating lanes, k[1]: mode, k[2]: negated predicate */
enum vote { ALL, ANY, UNI, BALLOT };
static void ref_vote(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t mask = (uint32_t)f->k[0], ballot = 0;
	uint64_t d = 0;

	for (unsigned lane = 0; lane < WARP; lane++)
		ballot |= (uint32_t)((in[lane] != 0) != (f->k[2] != 0)) << lane;
	ballot &= mask;
	switch ((enum vote)f->k[1]) {
	case ALL: d = ballot == mask; break;
	case ANY: d = ballot != 0; break;
	case UNI: d = ballot == 0 || ballot == mask; break;
	case BALLOT: d = ballot; break;
	}
	for (unsigned lane = 0; lane < WARP; lane++) {
		out[lane].bits = mask >> lane & 1 ? d : 0; /* others keep the 0 that was moved before */
	}
}

static void add_votes(struct suite *s)
{
	static const char *const modes[] = {"all", "any", "uni", "ballot"};
	static const uint32_t masks[] = {0xffffffff, 0x0000ffff, 0x5555aaaa, 0x80000000};

	for (unsigned m = 0; m < 4; m++)
		for (unsigned k = 0; k < 4; k++)
			for (unsigned neg = 0; neg < 2; neg++) {
				bool b = m == BALLOT;
				const char *type = b ? "b32" : "pred";
				struct form *f =
					form_add(s, b ? "w=p" : "p=p", NULL,
						 text_of("{ .reg .pred in, z; .reg .b32 m, e; mov.u32 e, "
							 "%%lanemask_eq; and.b32 m, e, %#x;\n"
							 "\tsetp.ne.u32 in, m, 0; setp.ne.u32 z, 0, 0; %s\n"
							 "\t@in vote.sync.%s.%s %%0, %s%%1, %#x; }",
							 masks[k], b ? "mov.b32 %0, 0;" : "mov.pred %0, z;",
							 modes[m], type, neg ? "!" : "", masks[k]),
						 "vote.sync.%s.%s%s of lanes %#x", modes[m], type,
						 neg ? " !a" : "", masks[k]);

				f->gref = ref_vote;
				f->k[0] = masks[k];
				f->k[1] = m;
				f->k[2] = neg;
				f->fill = fill_pred;
				f->ntuples = 16 * WARP;
			}
}

/* Bits of what ISA 9.7.6's operators on floats are true of: less, equal, greater, NaN. */
static const struct float_compare {
	const char *name;
	unsigned truth;
} float_compares[] = {{"eq", 2},   {"ne", 5},  {"lt", 1},   {"le", 3},   {"gt", 4},   {"ge", 6},  {"equ", 10},
		      {"neu", 13}, {"ltu", 9}, {"leu", 11}, {"gtu", 12}, {"geu", 14}, {"num", 7}, {"nan", 8}};

static void ref_float_ballot(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t ballot = 0;

	for (unsigned lane = 0; lane < WARP; lane++) {
		double a = to_double(FORMAT_F32, in[2 * lane]), b = to_double(FORMAT_F32, in[2 * lane + 1]);
		unsigned is = a < b ? 1 : a == b ? 2 : a > b ? 4 : 8;

		ballot |= (uint32_t)((f->k[0] & is) != 0) << lane;
	}
	for (unsigned lane = 0; lane < WARP; lane++)
		out[lane].bits = ballot;
}

/* A comparison and its vote may become one instruction. */
static void add_float_ballots(struct suite *s)
{
	for (size_t i = 0; i < sizeof(float_compares) / sizeof(float_compares[0]); i++) {
		struct form *f = form_add(s, "w=ff", NULL,
					  text_of("{ .reg .pred p; setp.%s.f32 p, %%1, %%2; "
						  "vote.sync.ballot.b32 %%0, p, 0xffffffff; }",
						  float_compares[i].name),
					  "vote.sync.ballot.b32 of setp.%s.f32", float_compares[i].name);

		f->gref = ref_float_ballot;
		f->k[0] = (long)float_compares[i].truth;
	}
}

static void fill_match(const struct form *f, unsigned t, uint64_t *in)
{
	unsigned warp = t / WARP, lane = t % WARP;
	uint64_t v[] = {7, lane, lane / 4, lane % 2, lane == 31, (uint64_t)(lane % 3) << 40 | 5, lane & 0x10};

	(void)f;
	in[0] = v[warp % 7];
}

/* k[0]: mask, k[1]: all, k[2]: bits of the operand */
static void ref_match(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t mask = (uint32_t)f->k[0];
	unsigned nout = f->k[1] ? 2 : 1;

	for (unsigned lane = 0; lane < WARP; lane++) {
		uint32_t same = 0;

		for (unsigned i = 0; i < WARP; i++)
			if (mask >> i & 1 &&
			    low_bits(in[i], (unsigned)f->k[2]) == low_bits(in[lane], (unsigned)f->k[2]))
				same |= 1u << i;
		if (!(mask >> lane & 1))
			continue;
		out[lane * nout].bits = !f->k[1] || same == mask ? same : 0;
		if (f->k[1])
			out[lane * nout + 1].bits = same == mask;
	}
}

static void add_matches(struct suite *s)
{
	static const uint32_t masks[] = {0xffffffff, 0x7fffffff, 0x0f0f00f1};

	for (unsigned all = 0; all < 2; all++)
		for (unsigned wide = 0; wide < 2; wide++)
			for (unsigned k = 0; k < 3; k++) {
				const char *sig = all ? (wide ? "wp=d" : "wp=w") : (wide ? "w=d" : "w=w");
				const char *type = wide ? "b64" : "b32";
				struct form *f = form_add(
					s, sig, NULL,
					text_of("{ .reg .pred in; .reg .b32 m, e; mov.u32 e, %%lanemask_eq; "
						"and.b32 m, e, %#x;\n"
						"\tsetp.ne.u32 in, m, 0; mov.b32 %%0, 0; %s\n"
						"\t@in match.%s.sync.%s %s, %s, %#x; }",
						masks[k], all ? "setp.ne.u32 %1, 0, 0;" : "",
						all ? "all" : "any", type, all ? "%0|%1" : "%0",
						all ? "%2" : "%1", masks[k]),
					"match.%s.sync.%s of lanes %#x", all ? "all" : "any", type, masks[k]);

				f->gref = ref_match;
				f->k[0] = masks[k];
				f->k[1] = all;
				f->k[2] = wide ? 64 : 32;
				f->fill = fill_match;
				f->ntuples = 7 * WARP;
			}
}

enum redux { R_ADD, R_MIN, R_MAX, R_AND, R_OR, R_XOR };
static uint64_t reduce(enum redux op, bool is_signed, uint64_t a, uint64_t b)
{
	bool less = is_signed ? (int32_t)(uint32_t)a < (int32_t)(uint32_t)b : a < b;

	switch (op) {
	case R_ADD: return (uint32_t)(a + b);
	case R_MIN: return less ? a : b;
	case R_MAX: return less ? b : a;
	case R_AND: return a & b;
	case R_OR: return a | b;
	default: return a ^ b;
	}
}

/* k[0]: mask, k[1]: operation, k[2]: signed */
static void ref_redux(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t mask = (uint32_t)f->k[0];
	bool first = true;
	uint64_t d = 0;

	for (unsigned lane = 0; lane < WARP; lane++) {
		if (!(mask >> lane & 1))
			continue;
		d = first ? in[lane] : reduce((enum redux)f->k[1], f->k[2], d, in[lane]);
		first = false;
	}
	for (unsigned lane = 0; lane < WARP; lane++)
		out[lane].bits = mask >> lane & 1 ? d : 0;
}

static void add_redux(struct suite *s)
{
	static const char *const names[] = {"add", "min", "max", "and", "or", "xor"};
	static const uint32_t masks[] = {0xffffffff, 0xfffffffe, 0x00f00a01};

	for (unsigned op = 0; op < 6; op++)
		for (unsigned sg = 0; sg < (op <= R_MAX ? 2u : 1u); sg++)
			for (unsigned k = 0; k < 3; k++) {
				const char *type = op > R_MAX ? "b32" : sg ? "s32" : "u32";
				struct form *f =
					form_add(s, "w=w", NULL,
						 text_of("{ .reg .pred in; .reg .b32 m, e; mov.u32 e, "
							 "%%lanemask_eq; and.b32 m, e, %#x;\n"
							 "\tsetp.ne.u32 in, m, 0; mov.b32 %%0, 0; @in "
							 "redux.sync.%s.%s %%0, %%1, %#x; }",
							 masks[k], names[op], type, masks[k]),
						 "redux.sync.%s.%s of lanes %#x", names[op], type, masks[k]);

				f->gref = ref_redux;
				f->k[0] = masks[k];
				f->k[1] = op;
				f->k[2] = sg;
			}
}

/* The leader is one of the set, the same for the same set; d is its lane in every lane, p true in it only. */
static void ref_elect(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	(void)in;
	for (unsigned lane = 0; lane < WARP; lane++) {
		out[lane * 4].bits = 1;     /* how many lanes saw p */
		out[lane * 4 + 1].bits = 1; /* d is the lane that saw p */
		out[lane * 4 + 2].bits = 1; /* all lanes have the same d */
		out[lane * 4 + 3].bits = 1; /* again: the same leader */
	}
}

/* Lanes outside a branch, predicated off or exited don't count. */
static void ref_activemask(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t ballot = 0;

	(void)f;
	for (unsigned lane = 0; lane < WARP; lane++)
		ballot |= (uint32_t)(in[lane] != 0) << lane;
	for (unsigned lane = 0; lane < WARP; lane++)
		out[lane].bits = ballot >> lane & 1 ? ballot : 0;
}

/* Exited lanes don't take part: their results stay as they were, the others see only themselves. */
static void ref_after_exit(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t ballot = 0;

	(void)f;
	for (unsigned lane = 0; lane < WARP; lane++)
		ballot |= (uint32_t)(in[lane] != 0) << lane;
	for (unsigned lane = 0; lane < WARP; lane++) {
		out[lane].bits = ballot;
		if (!(ballot >> lane & 1)) {
			out[lane].bits = 0xa5a5a5a5;
		}
	}
}

static void add_others(struct suite *s)
{
	struct form *f;

	f = form_add(s, "wwww=w", NULL,
		     "{ .reg .pred p, q, r; .reg .b32 d, b, l, e;\n"
		     "\telect.sync d|p, 0xffffffff; vote.sync.ballot.b32 b, p, 0xffffffff; popc.b32 %0, b;\n"
		     "\tmov.u32 l, 1; shl.b32 l, l, d; setp.eq.u32 q, l, b; selp.u32 %1, 1, 0, q;\n"
		     "\tmatch.all.sync.b32 l|r, d, 0xffffffff; selp.u32 %2, 1, 0, r;\n"
		     "\telect.sync e|p, 0xffffffff; setp.eq.u32 q, d, e; selp.u32 %3, 1, 0, q; }",
		     "elect.sync");
	f->gref = ref_elect;
	f = form_add(s, "w=p", NULL,
		     "mov.u32 %0, 0; @!%1 bra SKIP; activemask.b32 %0; SKIP:", "activemask.b32 in a branch");
	f->gref = ref_activemask;
	f->fill = fill_pred;
	f->ntuples = 16 * WARP;
	f = form_add(s, "w=p", NULL, "mov.u32 %0, 0; @%1 activemask.b32 %0;", "activemask.b32 predicated");
	f->gref = ref_activemask;
	f->fill = fill_pred;
	f->ntuples = 16 * WARP;
	f = form_add(s, "w=p", NULL, "@!%1 exit; activemask.b32 %0;", "activemask.b32 after exit");
	f->gref = ref_after_exit;
	f->fill = fill_pred;
	f->ntuples = 16 * WARP;
	f = form_add(s, "w=p", NULL, "@!%1 exit; vote.sync.ballot.b32 %0, %1, 0xffffffff;",
		     "vote.sync.ballot.b32 after exit");
	f->gref = ref_after_exit;
	f->fill = fill_pred;
	f->ntuples = 16 * WARP;
}

void forms_warp(struct suite *s)
{
	add_shfl(s);
	add_votes(s);
	add_float_ballots(s);
	add_matches(s);
	add_redux(s);
	add_others(s);
}
