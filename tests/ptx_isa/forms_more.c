/* SPDX-License-Identifier: Apache-2.0
 *
 * Spellings that are easily accepted and wrongly done: sinks, sub-qualifiers of spaces, parameters'
 * addresses, cp.async with fewer source bytes, warp operations under divergence, barriers that mix arrive and
 * sync.
 */
#include "form.h"
#include "reference.h"
#include "values.h"

#include <string.h>

#define LANE(name) static void name(const struct form *f, const uint64_t *in, struct want *out)

LANE(ref_less)
{
	(void)f;
	out->bits = (int32_t)(uint32_t)in[0] < (int32_t)(uint32_t)in[1];
}

LANE(ref_not_less)
{
	(void)f;
	out->bits = !((int32_t)(uint32_t)in[0] < (int32_t)(uint32_t)in[1]);
}

LANE(ref_lop3_any)
{
	(void)f;
	out->bits = (in[0] & in[1] & in[2]) != 0 || in[3];
}

static void ref_match_all(const struct form *f, const uint64_t *in, struct want *out)
{
	bool same = true;

	(void)f;
	for (unsigned i = 1; i < 32; i++)
		same &= in[i] == in[0];
	for (unsigned i = 0; i < 32; i++)
		out[i].bits = same;
}

static void fill_match(const struct form *f, unsigned t, uint64_t *in)
{
	(void)f;
	in[0] = t / 32 % 2 ? 7 : t % 32 == 5;
}

static void add_sinks(struct suite *s)
{
	struct form *f;

	form_add(s, "p=ww", ref_less, "setp.lt.s32 %0|_, %1, %2;", "setp p|_");
	form_add(s, "p=ww", ref_not_less, "setp.lt.s32 _|%0, %1, %2;", "setp _|q");
	form_add(s, "p=wwwp", ref_lop3_any, "lop3.or.b32 _|%0, %1, %2, %3, 0x80, %4;", "lop3 _|p");
	f = form_add(s, "p=w", NULL, "match.all.sync.b32 _|%0, %1, 0xffffffff;", "match.all _|p");
	f->gref = ref_match_all;
	f->fill = fill_match;
	f->ntuples = 64;
}

LANE(ref_copy)
{
	for (unsigned i = 0; f->outs[i]; i++)
		out[i].bits = in[i];
}

LANE(ref_in_base)
{
	(void)in;
	out->bits = (uint64_t)f->k[0];
}

LANE(ref_sum)
{
	(void)f;
	out[0].bits = in[0];
	out[1].bits = (uint32_t)(in[0] + in[1]);
}

static void add_spaces(struct suite *s)
{
	form_add(s, "d=d", ref_in_base, "ld.param::entry.u64 %0, [pin];", "ld.param::entry")->k[0] =
		0x550000000000;
	form_add(s, "d=d", ref_in_base, "{ .reg .b64 a; cvta.param.u64 a, pout; ld.u64 %0, [a]; }",
		 "cvta.param and a generic load")
		->k[0] = 0x550010000000;
	form_add(s, "w=w", ref_copy,
		 "{ .reg .b64 a, w; mov.u64 a, cells; mul.wide.u32 w, idx, 4; and.b64 w, w, 127; add.u64 a, "
		 "a, w;\n"
		 "\tst.shared::cta.b32 [a], %1; ld.shared::cta.b32 %0, [a]; }",
		 "ld.shared::cta and st.shared::cta");
	form_add(s, "ww=ww", ref_sum,
		 "{ .reg .b64 a, w; mov.u64 a, cells; mul.wide.u32 w, idx, 4; and.b64 w, w, 127; add.u64 a, "
		 "a, w;\n"
		 "\tst.shared.b32 [a], %2; atom.shared::cta.add.u32 %0, [a], %3; ld.shared.b32 %1, [a]; }",
		 "atom.shared::cta");
	form_add(s, "d=d", ref_copy,
		 "{ .reg .b128 q; st.global.b64 [outp], %1; mov.b128 q, {%1, %1}; mov.b128 {%0, _}, q; }",
		 "mov.b128 with a sink");
	form_add(s, "dd=dd", ref_copy, "{ .reg .b128 q; ld.global.b128 q, [inp]; mov.b128 {%0, %1}, q; }",
		 "ld.global.b128");
	form_add(s, "dd=dd", ref_copy,
		 "{ .reg .b128 q; mov.b128 q, {%2, %3}; st.global.b128 [outp], q; ld.global.b64 %0, [outp]; "
		 "ld.global.b64 %1, [outp+8]; }",
		 "st.global.b128");
}

/* k[0]: bytes copied, k[1]: bytes taken from the source, the rest are zeros; one 16-byte cell a thread, ones
 * before. */
LANE(ref_cp_async)
{
	for (unsigned i = 0; i < 2; i++)
		for (unsigned b = 0; b < 8; b++) {
			unsigned at = 8 * i + b;
			uint64_t byte = at >= (unsigned)f->k[0]  ? 0xff
					: at < (unsigned)f->k[1] ? in[i] >> (8 * b) & 0xff
								 : 0;

			out[i].bits |= byte << (8 * b);
		}
}

static void add_cp_async(struct suite *s)
{
	static const struct {
		const char *cop;
		unsigned bytes, from;
	} rows[] = {{"ca", 4, 4}, {"ca", 8, 8}, {"ca", 16, 16}, {"cg", 16, 16},
		    {"ca", 4, 0}, {"ca", 8, 3}, {"cg", 16, 9}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned group = 0; group < 2; group++) {
			bool partial = rows[i].from != rows[i].bytes;
			struct form *f =
				form_add(s, "dd=dd", ref_cp_async,
					 text_of("{ .reg .b64 a, w; .reg .b32 t; mov.u32 t, %%tid.x; mov.u64 "
						 "a, cells; mul.wide.u32 w, t, 16; add.u64 a, a, w;\n"
						 "\tst.shared.v2.b64 [a], {-1, -1}; "
						 "cp.async.%s.shared.global [a], [inp], %u%s%s;\n"
						 "\t%s ld.shared.v2.b64 {%%0, %%1}, [a]; }",
						 rows[i].cop, rows[i].bytes, partial ? ", " : "",
						 partial ? text_of("%u", rows[i].from) : "",
						 group ? "cp.async.commit_group; cp.async.wait_group 0;"
						       : "cp.async.wait_all;"),
					 "cp.async.%s %u bytes of %u%s", rows[i].cop, rows[i].bytes,
					 rows[i].from, group ? ", group" : "");

			f->k[0] = rows[i].bytes;
			f->k[1] = rows[i].from;
		}
}

/* Hints change nothing. */
static void add_cp_async_hints(struct suite *s)
{
	static const char *const sizes[] = {"", ".L2::64B", ".L2::128B", ".L2::256B"};

	for (unsigned i = 0; i < 16; i++) {
		const char *policy = i & 2 ? ".L2::cache_hint" : "", *cop = i & 1 ? "cg" : "ca";
		struct form *f = form_add(
			s, "dd=dd", ref_cp_async,
			text_of("{ .reg .b64 a, w, pol; .reg .b32 t; mov.u32 t, %%tid.x; mov.u64 a, cells; "
				"mul.wide.u32 w, "
				"t, 16; add.u64 a, a, w;\n"
				"\tst.shared.v2.b64 [a], {-1, -1}; "
				"createpolicy.fractional.L2::evict_last.b64 pol, 1.0;\n"
				"\tcp.async.%s.shared.global%s%s [a], [inp], 16%s; cp.async.wait_all; "
				"ld.shared.v2.b64 {%%0, %%1}, [a]; }",
				cop, policy, sizes[i / 4], *policy ? ", pol" : ""),
			"cp.async.%s.shared.global%s%s", cop, policy, sizes[i / 4]);

		f->k[0] = f->k[1] = 16;
		f->most = 64;
	}
}

/* Lanes with p vote among themselves, the others too, each with the mask of their own. */
static void ref_split_vote(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t taken = 0, odd = 0;

	(void)f;
	for (unsigned i = 0; i < 32; i++) {
		taken |= (uint32_t)(in[2 * i] != 0) << i;
		odd |= (uint32_t)(in[2 * i + 1] & 1) << i;
	}
	for (unsigned i = 0; i < 32; i++)
		out[i].bits = odd & (taken >> i & 1 ? taken : ~taken);
}

static void ref_split_shfl(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	for (unsigned i = 0; i < 32; i++)
		out[i].bits = i < 16 ? in[i ^ 1] : in[16 + (i + 3) % 16];
}

/* Sum over the warp by butterflies, in a loop. */
static void ref_warp_sum(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t sum = 0;

	(void)f;
	for (unsigned i = 0; i < 32; i++)
		sum += (uint32_t)in[i];
	for (unsigned i = 0; i < 32; i++)
		out[i].bits = sum;
}

/* Inclusive prefix sum: shfl.up with its predicate as guard. */
static void ref_scan(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t sum = 0;

	(void)f;
	for (unsigned i = 0; i < 32; i++) {
		sum += (uint32_t)in[i];
		out[i].bits = sum;
	}
}

/* Lane i reads what lane 31 - i stored before bar.warp.sync. */
static void ref_mirror(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	for (unsigned i = 0; i < 32; i++)
		out[i].bits = in[31 - i];
}

/* The second warp produces, arrives and goes on; the first waits and reads. */
static void ref_produced(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	for (unsigned i = 0; i < 64; i++)
		out[i].bits = i < 32 ? in[63 - i] : in[i];
}

/* Lanes take a lock one after the other: needs independent progress of a warp's threads. */
static void ref_lock(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t sum = 0;

	(void)f;
	for (unsigned i = 0; i < 32; i++)
		sum += (uint32_t)in[i];
	for (unsigned i = 0; i < 32; i++)
		out[i].bits = sum;
}

static void add_divergent(struct suite *s)
{
	struct form *f;

	f = form_add(s, "w=pw", NULL,
		     "{ .reg .pred o; .reg .b32 t, m, n; and.b32 t, %2, 1; setp.ne.u32 o, t, 0; "
		     "vote.sync.ballot.b32 m, %1, 0xffffffff;\n"
		     "\tnot.b32 n, m; @%1 bra YES; vote.sync.ballot.b32 %0, o, n; bra JOIN; YES: "
		     "vote.sync.ballot.b32 %0, o, m; JOIN: }",
		     "vote.sync on both sides of a branch");
	f->gref = ref_split_vote;
	f = form_add(s, "w=w", NULL,
		     "{ .reg .pred p; .reg .b32 t, u; mov.u32 t, %laneid; setp.lt.u32 p, t, 16; @p bra LOW;\n"
		     "\tadd.u32 u, t, 3; and.b32 u, u, 15; or.b32 u, u, 16; shfl.sync.idx.b32 %0, %1, u, 31, "
		     "0xffff0000; bra JOIN;\n"
		     "LOW: shfl.sync.bfly.b32 %0, %1, 1, 31, 0x0000ffff; JOIN: }",
		     "shfl.sync on both sides of a branch");
	f->gref = ref_split_shfl;
	f = form_add(s, "w=w", NULL,
		     "{ .reg .pred p; .reg .b32 d, t; mov.u32 %0, %1; mov.u32 d, 16;\n"
		     "TOP: shfl.sync.bfly.b32 t, %0, d, 31, -1; add.u32 %0, %0, t; shr.u32 d, d, 1; "
		     "setp.ne.u32 p, d, 0; @p bra TOP; }",
		     "sum of a warp by shfl.sync.bfly");
	f->gref = ref_warp_sum;
	f = form_add(s, "w=w", NULL,
		     "{ .reg .pred p, q; .reg .b32 d, t; mov.u32 %0, %1; mov.u32 d, 1;\n"
		     "TOP: shfl.sync.up.b32 t|q, %0, d, 0, -1; @q add.u32 %0, %0, t; shl.b32 d, d, 1; "
		     "setp.lt.u32 p, d, 32; @p bra TOP; }",
		     "prefix sum of a warp by shfl.sync.up");
	f->gref = ref_scan;
	f = form_add(s, "w=w", NULL,
		     "{ .reg .b64 a, w; .reg .b32 t, u; mov.u32 t, %tid.x; mov.u64 a, cells; mul.wide.u32 w, "
		     "t, 4; add.u64 w, a, w;\n"
		     "\tst.shared.b32 [w], %1; bar.warp.sync 0xffffffff; sub.u32 u, 31, t; mul.wide.u32 w, "
		     "u, 4; add.u64 w, a, w;\n"
		     "\tld.shared.b32 %0, [w]; }",
		     "bar.warp.sync orders shared memory");
	f->gref = ref_mirror;
	f = form_add(s, "w=w", NULL,
		     "{ .reg .b64 a, w; .reg .b32 t, u; .reg .pred p; mov.u32 t, %tid.x; mov.u64 a, cells; "
		     "mov.u32 %0, %1;\n"
		     "\tsetp.lt.u32 p, t, 32; @p bra CONSUME; mul.wide.u32 w, t, 4; add.u64 w, a, w; "
		     "st.shared.b32 [w], %1;\n"
		     "\tbarrier.cta.arrive 3, 64; bra DONE; CONSUME: barrier.cta.sync 3, 64; sub.u32 u, 63, "
		     "t; mul.wide.u32 w, u, 4;\n"
		     "\tadd.u64 w, a, w; ld.shared.b32 %0, [w]; DONE: }",
		     "barrier.arrive by one warp, barrier.sync by the other");
	f->gref = ref_produced;
	f->block = 64;
	f = form_add(
		s, "w=w", NULL,
		"{ .reg .b64 a; .reg .b32 t, o, v; .reg .pred p; mov.u64 a, cells; mov.u32 t, %tid.x; "
		"setp.eq.u32 p, t, 0;\n"
		"\t@p st.shared.v2.u32 [a], {0, 0}; bar.warp.sync -1;\n"
		"SPIN: atom.shared.cas.b32 o, [a], 0, 1; setp.ne.u32 p, o, 0; @p bra SPIN;\n"
		"\tld.volatile.shared.u32 v, [a+4]; add.u32 v, v, %1; st.volatile.shared.u32 [a+4], v; "
		"membar.cta;\n"
		"\tatom.shared.exch.b32 o, [a], 0; bar.warp.sync -1; ld.volatile.shared.u32 %0, [a+4]; }",
		"spin lock between the lanes of a warp");
	f->gref = ref_lock;
}

/* Operands that are sign-extended, divided as unsigned: a compiler that counts their bits must not take them for signed. */
static void ref_div_extended(const struct form *f, const uint64_t *in, struct want *out)
{
	uint64_t a, b;

	if (f->k[0] == 64) {
		a = (uint64_t)(int64_t)(int32_t)in[0];
		b = (uint64_t)(int64_t)(int32_t)in[1] | 1;
	} else {
		a = (uint32_t)(int32_t)(int16_t)in[0];
		b = (uint32_t)(int32_t)(int16_t)in[1] | 1;
	}
	out[0].bits = a / b;
	out[1].bits = a % b;
}

static void add_divisions(struct suite *s)
{
	struct form *f;

	f = form_add(
		s, "dd=ww", ref_div_extended,
		"{ .reg .b64 a, b; cvt.s64.s32 a, %2; cvt.s64.s32 b, %3; or.b64 b, b, 1; div.u64 %0, a, b; "
		"rem.u64 %1, a, b; }",
		"div.u64, rem.u64 of what was extended from s32");
	f->k[0] = 64;
	f = form_add(
		s, "ww=hh", ref_div_extended,
		"{ .reg .b32 a, b; cvt.s32.s16 a, %2; cvt.s32.s16 b, %3; or.b32 b, b, 1; div.u32 %0, a, b; "
		"rem.u32 %1, a, b; }",
		"div.u32, rem.u32 of what was extended from s16");
	f->k[0] = 32;
}

void forms_more(struct suite *s)
{
	add_sinks(s);
	s->forms[0].decl = ".shared .align 16 .b8 cells[1024];";
	add_spaces(s);
	add_cp_async(s);
	add_cp_async_hints(s);
	add_divergent(s);
	add_divisions(s);
}
