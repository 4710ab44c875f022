/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations between lanes: shfl, vote, match, redux, elect against the ISA's
 * definitions (9.7.9.6, 9.7.13), converged, in two diverged halves with member
 * masks of their own, and with members that arrive at different instructions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

static uint64_t a[32], b[32], c[32], got[32];
static const uint64_t *const src[OP_SOURCES] = {a, b, c, NULL};

static uint32_t predicate_bits(const uint64_t *v)
{
	uint32_t r = 0;

	for (unsigned l = 0; l < 32; l++)
		r |= (uint32_t)(v[l] & 1) << l;
	return r;
}

/* Source lane of lane l, -1 when out of range. */
static int shuffle_source(const char *mode, int l, unsigned bval, unsigned cval)
{
	int lane = (int)(bval & 31), clamp = (int)(cval & 31), seg = (int)(cval >> 8 & 31);
	int max = (l & seg) | (clamp & ~seg), min = l & seg, j;

	if (!strcmp(mode, "up"))
		return l - lane >= max ? l - lane : -1;
	j = !strcmp(mode, "down") ? l + lane : !strcmp(mode, "bfly") ? l ^ lane : min | (lane & ~seg);
	return j <= max ? j : -1;
}

static void shuffles(void **state)
{
	static const char *const modes[] = {"up", "down", "bfly", "idx"};
	static const unsigned clamps[] = {0x1f, 0x00, 0x181f, 0x1c1f, 0x1800, 0x101f, 0x0f};
	struct test_device t;
	char text[300];

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned k = 0; k < 4 * 7 * 20; k++) {
		const char *mode = modes[k % 4];
		unsigned clamp = clamps[k / 4 % 7];

		for (unsigned l = 0; l < 32; l++) {
			a[l] = op_random() & 0xffffffff;
			b[l] = k / 28 < 10 ? k / 28 : op_random() % 40;
			c[l] = clamp;
		}
		/* the predicate says whether the source was in range */
		snprintf(text, sizeof(text),
			 "{ .reg .pred q; shfl.sync.%s.b32 d|q, a, b, c, 0xffffffff; @!q not.b32 d, d; }",
			 mode);
		op_run(&t, text, "4:444", 32, src, got, 32);
		for (int l = 0; l < 32; l++) {
			int j = shuffle_source(mode, l, (unsigned)b[l], clamp);
			uint64_t want = j < 0 ? op_mask(~a[l], 32) : a[j];

			if (got[l] != want)
				fail_msg("shfl.%s lane %d b=%u c=%x: %llx, expected %llx", mode, l,
					 (unsigned)b[l], clamp, (unsigned long long)got[l],
					 (unsigned long long)want);
		}
	}
	test_close(&t);
}

static void expect(const char *text, unsigned l, uint64_t want)
{
	if (got[l] != want)
		fail_msg("%s lane %u: %llx, expected %llx", text, l, (unsigned long long)got[l],
			 (unsigned long long)want);
}

static void votes(void **state)
{
	struct test_device t;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned k = 0; k < 20; k++) {
		for (unsigned l = 0; l < 32; l++)
			a[l] = k == 0 ? 0 : k == 1 ? 1 : op_random() & 1;
		uint32_t bits = predicate_bits(a);

		op_run(&t, "vote.sync.ballot.b32 d, ap, 0xffffffff;", "4:p", 32, src, got, 32);
		for (unsigned l = 0; l < 32; l++)
			expect("vote.ballot", l, bits);
		op_run(&t, "vote.sync.any.pred dp, ap, 0xffffffff;", "p:p", 32, src, got, 32);
		for (unsigned l = 0; l < 32; l++)
			expect("vote.any", l, bits != 0);
		op_run(&t, "vote.sync.all.pred dp, ap, 0xffffffff;", "p:p", 32, src, got, 32);
		for (unsigned l = 0; l < 32; l++)
			expect("vote.all", l, bits == ~0u);
		op_run(&t, "vote.sync.uni.pred dp, ap, 0xffffffff;", "p:p", 32, src, got, 32);
		for (unsigned l = 0; l < 32; l++)
			expect("vote.uni", l, bits == 0 || bits == ~0u);
	}
	test_close(&t);
}

static void matches(void **state)
{
	struct test_device t;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned k = 0; k < 12; k++) {
		for (unsigned l = 0; l < 32; l++)
			a[l] = (k == 0 ? 5 : op_random() % 4) << (k & 1 ? 33 : 0);
		op_run(&t,
		       k & 1 ? "match.any.sync.b64 d, a, 0xffffffff;"
			     : "match.any.sync.b32 d, a, 0xffffffff;",
		       k & 1 ? "4:d" : "4:4", 32, src, got, 32);
		for (unsigned l = 0; l < 32; l++) {
			uint32_t want = 0;

			for (unsigned j = 0; j < 32; j++)
				want |= (uint32_t)(a[j] == a[l]) << j;
			expect("match.any", l, want);
		}
		op_run(&t,
		       "{ .reg .pred q; match.all.sync.b64 d|q, a, 0xffffffff; @!q xor.b32 d, d, 0x80000001; "
		       "}",
		       "4:d", 32, src, got, 32);
		for (unsigned l = 0; l < 32; l++)
			expect("match.all", l, k == 0 ? 0xffffffff : 0x80000001);
	}
	test_close(&t);
}

static uint64_t reduced(const char *op, uint32_t mask)
{
	uint32_t add = 0, all = ~0u, any = 0, odd = 0, minu = ~0u, maxu = 0;
	int32_t mins = INT32_MAX, maxs = INT32_MIN;

	for (unsigned l = 0; l < 32; l++) {
		uint32_t v = (uint32_t)a[l];

		if (!(mask >> l & 1))
			continue;
		add += v;
		all &= v;
		any |= v;
		odd ^= v;
		minu = v < minu ? v : minu;
		maxu = v > maxu ? v : maxu;
		mins = (int32_t)v < mins ? (int32_t)v : mins;
		maxs = (int32_t)v > maxs ? (int32_t)v : maxs;
	}
	return !strcmp(op, "add.u32") || !strcmp(op, "add.s32") ? add
	       : !strcmp(op, "and.b32")                         ? all
	       : !strcmp(op, "or.b32")                          ? any
	       : !strcmp(op, "xor.b32")                         ? odd
	       : !strcmp(op, "min.u32")                         ? minu
	       : !strcmp(op, "max.u32")                         ? maxu
	       : !strcmp(op, "min.s32")                         ? (uint32_t)mins
								: (uint32_t)maxs;
}

static void reductions(void **state)
{
	static const char *const ops[] = {"add.u32", "add.s32", "and.b32", "or.b32", "xor.b32",
					  "min.u32", "max.u32", "min.s32", "max.s32"};
	struct test_device t;
	char text[400];

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned k = 0; k < 9 * 4; k++) {
		for (unsigned l = 0; l < 32; l++) {
			a[l] = op_random() & (k < 9 ? 0xff : 0xffffffff);
			b[l] = l;
		}
		snprintf(text, sizeof(text), "redux.sync.%s d, a, 0xffffffff;", ops[k % 9]);
		op_run(&t, text, "4:44", 32, src, got, 32);
		for (unsigned l = 0; l < 32; l++)
			expect(text, l, reduced(ops[k % 9], ~0u));
		/* two halves with masks of their own, diverged */
		snprintf(text, sizeof(text),
			 "{ .reg .pred q; setp.lt.u32 q, b, 13; @q bra LOW; redux.sync.%s d, a, 0xffffe000; "
			 "bra OVER;"
			 " LOW: redux.sync.%s d, a, 0x1fff; OVER: }",
			 ops[k % 9], ops[k % 9]);
		op_run(&t, text, "4:44", 32, src, got, 32);
		for (unsigned l = 0; l < 32; l++)
			expect(text, l, reduced(ops[k % 9], l < 13 ? 0x1fff : 0xffffe000));
	}
	test_close(&t);
}

/* Members of one mask come from both sides of a branch, at different instructions. */
static void members_meet(void **state)
{
	struct test_device t;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned l = 0; l < 32; l++) {
		a[l] = 1000 + l;
		b[l] = l % 3;
		c[l] = (l + 7) % 32;
	}
	op_run(&t,
	       "{ .reg .pred q; setp.eq.u32 q, b, 1; @q bra ONE;"
	       " add.u32 a, a, 1; shfl.sync.idx.b32 d, a, c, 31, 0xffffffff; bra OVER;"
	       " ONE: shfl.sync.idx.b32 d, a, c, 31, 0xffffffff; OVER: }",
	       "4:444", 32, src, got, 32);
	for (unsigned l = 0; l < 32; l++) {
		unsigned j = (l + 7) % 32;

		expect("shfl at two places", l, 1000 + j + (j % 3 != 1));
	}
	/* a lane that has left counts no longer */
	op_run(&t,
	       "{ .reg .pred q; setp.eq.u32 q, b, 1; @q bra GONE;"
	       " vote.sync.ballot.b32 d, 1, 0xffffffff; bra OVER; GONE: exit; OVER: }",
	       "4:444", 32, src, got, 32);
	uint32_t left = 0;

	for (unsigned l = 0; l < 32; l++)
		left |= (uint32_t)(b[l] != 1) << l;
	for (unsigned l = 0; l < 32; l++)
		expect("ballot after exits", l, b[l] == 1 ? 0 : left);
	test_close(&t);
}

/* Lanes name different members at one instruction, as the groups of a partition do: each group is an
 * operation of its own, whether its members are together or come from both sides of a branch. */
static void partitions(void **state)
{
	static const char *const forms[] = {
		"%s d, a, b;",
		"{ .reg .pred q; setp.lt.u32 q, c, 13; @q bra LOW; %s d, a, b; bra OVER; LOW: %s d, a, b; "
		"OVER: }",
		/* nothing but this after the branch: the sides meet at the operation itself */
		"{ .reg .pred q; setp.ge.u32 q, c, 21; @q bra OVER; add.u32 a, a, 0; OVER: %s d, a, b; }",
	};
	struct test_device t;
	char text[400];

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned k = 0; k < 3 * 4 * 3; k++) {
		unsigned groups = k % 4 + 2, form = k / 4 % 3, op = k / 12;
		static const char *const ops[] = {"redux.sync.max.s32", "redux.sync.add.u32",
						  "match.any.sync.b32"};
		uint32_t mask[32] = {0};

		for (unsigned l = 0; l < 32; l++) {
			a[l] = op == 2 ? op_random() % 3 : op_random() & 0xffffffff;
			c[l] = l;
			for (unsigned j = 0; j < 32; j++)
				mask[l] |= (uint32_t)(j % groups == l % groups) << j;
			b[l] = mask[l];
		}
		snprintf(text, sizeof(text), forms[form], ops[op], ops[op]);
		op_run(&t, text, "4:444", 32, src, got, 32);
		for (unsigned l = 0; l < 32; l++) {
			uint32_t same = 0;

			for (unsigned j = 0; j < 32; j++)
				same |= (mask[l] >> j & 1 & (a[j] == a[l])) << j;
			expect(text, l, op == 2 ? same : reduced(ops[op] + strlen("redux.sync."), mask[l]));
		}
		/* each lane's value from the first of its group, and who is in it */
		op_run(&t,
		       "{ .reg .b32 x, y; brev.b32 x, b; bfind.u32 y, x; sub.u32 y, 31, y;"
		       " shfl.sync.idx.b32 d, a, y, 31, b; vote.sync.ballot.b32 x, 1, b; xor.b32 d, d, x; }",
		       "4:444", 32, src, got, 32);
		for (unsigned l = 0; l < 32; l++)
			expect("shfl from the first of the group", l, (uint32_t)a[l % groups] ^ mask[l]);
	}
	test_close(&t);
}

static void elections(void **state)
{
	struct test_device t;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned l = 0; l < 32; l++)
		a[l] = l;
	op_run(&t, "{ .reg .pred q; elect.sync d|q, 0xffffffff; @q add.u32 d, d, 100; }", "4:4", 32, src, got,
	       32);
	for (unsigned l = 0; l < 32; l++)
		expect("elect", l, l == 0 ? 100 : 0);
	op_run(&t,
	       "{ .reg .pred q; setp.lt.u32 q, a, 9; mov.u32 d, 0; @q bra OVER; activemask.b32 d; OVER: }",
	       "4:4", 32, src, got, 32);
	for (unsigned l = 0; l < 32; l++)
		expect("activemask", l, l < 9 ? 0 : 0xfffffe00);
	op_run(&t,
	       "mov.u32 d, %laneid; { .reg .b32 x; mov.u32 x, %lanemask_lt; popc.b32 x, x; sub.u32 d, d, x; "
	       "}",
	       "4:4", 32, src, got, 32);
	for (unsigned l = 0; l < 32; l++)
		expect("laneid - popc(lanemask_lt)", l, 0);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shuffles),   cmocka_unit_test(votes),        cmocka_unit_test(matches),
		cmocka_unit_test(reductions), cmocka_unit_test(members_meet), cmocka_unit_test(elections),
		cmocka_unit_test(partitions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
