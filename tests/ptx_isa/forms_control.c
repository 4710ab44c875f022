/* SPDX-License-Identifier: Apache-2.0
 *
 * Control flow (9.7.12), calls (7), barriers (9.7.13.1) and special registers (10).
 */
#include "form.h"

#include <string.h>

#define LANE(name) static void name(const struct form *f, const uint64_t *in, struct want *out)

LANE(ref_guard)
{
	(void)f;
	out->bits = in[0] ? in[1] : in[2];
}

/* Collatz steps: every lane leaves the loop at another time. */
static uint32_t collatz(uint32_t n)
{
	uint32_t steps = 0;

	for (n = n % 1000 + 1; n != 1; steps++)
		n = n & 1 ? 3 * n + 1 : n / 2;
	return steps;
}

LANE(ref_collatz)
{
	(void)f;
	out->bits = collatz((uint32_t)in[0]);
}

/* Branch in a loop in a branch, with a continue and a break. */
LANE(ref_nested)
{
	uint32_t x = (uint32_t)in[0], sum = 0;

	(void)f;
	if (x & 1) {
		for (uint32_t i = 0; i < (x >> 1 & 15); i++) {
			if (i % 3 == 1)
				continue;
			if (sum > 40)
				break;
			sum += i * (x >> 8 & 7);
		}
	} else {
		sum = ~x;
	}
	out->bits = sum;
}

LANE(ref_brx)
{
	static const uint32_t values[] = {100, 200, 300, 400};

	(void)f;
	out->bits = values[in[0] & 3] + 7;
}

LANE(ref_brx_guarded)
{
	(void)f;
	out->bits = in[1] ? ((in[0] & 1) ? 2 : 1) : 3;
}

static void add_branches(struct suite *s)
{
	struct form *f;

	form_add(s, "w=pww", ref_guard, "mov.b32 %0, %3; @%1 mov.b32 %0, %2;", "@p mov");
	form_add(s, "w=pww", ref_guard, "mov.b32 %0, %2; @!%1 mov.b32 %0, %3;", "@!p mov");
	form_add(s, "w=pww", ref_guard,
		 "st.global.b32 [outp], %3; @%1 st.global.b32 [outp], %2; ld.global.b32 %0, [outp];",
		 "@p st");
	form_add(s, "w=pww", ref_guard, "mov.b32 %0, %3; @%1 ld.global.b32 %0, [inp+8];", "@p ld");
	form_add(s, "w=pww", ref_guard, "mov.b32 %0, %2; @%1 bra DONE; mov.b32 %0, %3; DONE:", "@p bra");
	form_add(s, "w=pww", ref_guard,
		 "@%1 bra YES; mov.b32 %0, %3; bra.uni DONE; YES: mov.b32 %0, %2; DONE:", "if and else");
	form_add(s, "w=pww", ref_guard, "st.global.b32 [outp], %2; @%1 exit; mov.b32 %0, %3;", "@p exit");
	form_add(s, "w=pww", ref_guard, "st.global.b32 [outp], %2; @%1 ret; mov.b32 %0, %3;",
		 "@p ret of an entry");
	form_add(s, "w=w", ref_collatz,
		 "{ .reg .pred p; .reg .b32 n, t; rem.u32 n, %1, 1000; add.u32 n, n, 1; mov.u32 %0, 0;\n"
		 "TOP: setp.eq.u32 p, n, 1; @p bra OUT; and.b32 t, n, 1; setp.eq.u32 p, t, 0; @p bra EVEN;\n"
		 "\tmad.lo.u32 n, n, 3, 1; bra NEXT; EVEN: shr.u32 n, n, 1; NEXT: add.u32 %0, %0, 1; bra "
		 "TOP; OUT: }",
		 "loop that lanes leave at different times");
	form_add(s, "w=w", ref_nested,
		 "{ .reg .pred p; .reg .b32 i, n, t, m; and.b32 t, %1, 1; setp.eq.u32 p, t, 0; @p bra ELSE;\n"
		 "\tmov.u32 %0, 0; mov.u32 i, 0; shr.u32 n, %1, 1; and.b32 n, n, 15; shr.u32 m, %1, 8; "
		 "and.b32 m, m, 7;\n"
		 "TOP: setp.ge.u32 p, i, n; @p bra OUT; rem.u32 t, i, 3; setp.eq.u32 p, t, 1; @p bra CONT;\n"
		 "\tsetp.gt.u32 p, %0, 40; @p bra OUT; mad.lo.u32 %0, i, m, %0;\n"
		 "CONT: add.u32 i, i, 1; bra TOP; ELSE: not.b32 %0, %1; OUT: }",
		 "branch, loop, continue, break");
	form_add(s, "w=w", ref_brx,
		 "{ .reg .b32 i; and.b32 i, %1, 3; tab: .branchtargets L0, L1, L2, L3; brx.idx i, tab;\n"
		 "L0: mov.u32 %0, 100; bra JOIN; L1: mov.u32 %0, 200; bra JOIN; L2: mov.u32 %0, 300; bra "
		 "JOIN;\n"
		 "L3: mov.u32 %0, 400; JOIN: add.u32 %0, %0, 7; }",
		 "brx.idx");
	f = form_add(s, "w=wp", ref_brx_guarded,
		     "{ .reg .b32 i; and.b32 i, %1, 1; tab: .branchtargets A, B; @%2 brx.idx i, tab; mov.u32 "
		     "%0, 3; bra E;\n"
		     "A: mov.u32 %0, 1; bra E; B: mov.u32 %0, 2; E: }",
		     "@p brx.idx");
	(void)f;
}

LANE(ref_call_scale)
{
	(void)f;
	out->bits = (uint32_t)(in[0] * 3 + in[1]);
}

static uint32_t fibonacci(uint32_t n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

LANE(ref_fib)
{
	(void)f;
	out->bits = fibonacci(in[0] % 11);
}

LANE(ref_struct)
{
	(void)f;
	out[0].bits = (uint32_t)in[1];
	out[1].bits = low_bits(in[0] + 1, 8);
	out[2].bits = in[2];
}

LANE(ref_indirect)
{
	(void)f;
	out->bits = (uint32_t)(in[0] & 1 ? in[1] * 3 + in[2] : in[1] ^ in[2]);
}

LANE(ref_divergent_call)
{
	(void)f;
	out->bits = in[0] ? (uint32_t)(in[1] * 3 + in[2]) : (uint32_t)in[1];
}

LANE(ref_early_ret)
{
	(void)f;
	out->bits = in[0] < 100 ? 1 : in[0] & 1 ? 2 : 3;
}

static const char functions[] =
	".func (.param .b32 r) scale(.param .b32 a, .param .b32 b)\n{\n\t.reg .b32 x, y;\n\tld.param.b32 x, "
	"[a]; ld.param.b32 y, [b];\n"
	"\tmad.lo.u32 x, x, 3, y; st.param.b32 [r], x; ret;\n}\n"
	".func (.param .b32 r) mix(.param .b32 a, .param .b32 b)\n{\n\t.reg .b32 x, y;\n\tld.param.b32 x, "
	"[a]; ld.param.b32 y, [b];\n"
	"\txor.b32 x, x, y; st.param.b32 [r], x; ret;\n}\n"
	".func (.reg .b32 r) scale_reg(.reg .b32 a, .reg .b32 b)\n{\n\tmad.lo.u32 r, a, 3, b; ret;\n}\n"
	".func (.param .b32 r) fib(.param .b32 n)\n{\n\t.reg .b32 x, y, z; .reg .pred p;\n"
	"\tld.param.b32 x, [n]; setp.lt.u32 p, x, 2; @p bra SMALL; sub.u32 y, x, 1;\n"
	"\t{ .param .b32 q; .param .b32 t; st.param.b32 [q], y; call (t), fib, (q); ld.param.b32 z, [t]; "
	"}\n\tsub.u32 y, x, 2;\n"
	"\t{ .param .b32 q; .param .b32 t; st.param.b32 [q], y; call (t), fib, (q); ld.param.b32 y, [t]; }\n"
	"\tadd.u32 x, y, z;\nSMALL: st.param.b32 [r], x; ret;\n}\n"
	/* struct { u8 a; u32 b; u64 c; } by value, one field changed */
	".func (.param .align 8 .b8 r[16]) touch(.param .align 8 .b8 s[16])\n{\n\t.reg .b32 x, y; .reg .b64 "
	"z;\n"
	"\tld.param.u8 x, [s]; ld.param.b32 y, [s+4]; ld.param.b64 z, [s+8]; add.u32 x, x, 1;\n"
	"\tst.param.b8 [r], x; st.param.b32 [r+4], y; st.param.b64 [r+8], z; ret;\n}\n"
	".func (.reg .b32 r) classify(.reg .b32 a)\n{\n\t.reg .pred p; .reg .b32 t;\n\tmov.u32 r, 1; "
	"setp.lt.u32 p, a, 100; @p ret;\n"
	"\tmov.u32 r, 2; and.b32 t, a, 1; setp.ne.u32 p, t, 0; @p ret; mov.u32 r, 3; ret;\n}\n";

static void add_calls(struct suite *s)
{
	form_add(
		s, "w=ww", ref_call_scale,
		"{ .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], %1; st.param.b32 [b], %2;\n"
		"\tcall.uni (r), scale, (a, b); ld.param.b32 %0, [r]; }",
		"call with .param")
		->decl = functions;
	form_add(s, "w=ww", ref_call_scale, "call (%0), scale_reg, (%1, %2);", "call with registers");
	form_add(s, "w=w", ref_fib,
		 "{ .reg .b32 n; .param .b32 a; .param .b32 r; rem.u32 n, %1, 11; st.param.b32 [a], n;\n"
		 "\tcall (r), fib, (a); ld.param.b32 %0, [r]; }",
		 "recursive call, divergent depth");
	form_add(s, "wwd=wwd", ref_struct,
		 "{ .param .align 8 .b8 a[16]; .param .align 8 .b8 r[16]; st.param.b8 [a], %3; st.param.b32 "
		 "[a+4], %4;\n"
		 "\tst.param.b64 [a+8], %5; call (r), touch, (a); ld.param.b32 %0, [r+4]; ld.param.u8 %1, "
		 "[r]; ld.param.b64 %2, [r+8]; }",
		 "call with a structure by value");
	form_add(s, "w=www", ref_indirect,
		 "{ .reg .b64 g, h; .reg .b32 t; .reg .pred p; .param .b32 a; .param .b32 b; .param .b32 r;\n"
		 "\tproto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n"
		 "\tand.b32 t, %1, 1; setp.ne.u32 p, t, 0; mov.u64 g, scale; mov.u64 h, mix; selp.b64 g, g, "
		 "h, p;\n"
		 "\tst.param.b32 [a], %2; st.param.b32 [b], %3; call (r), g, (a, b), proto; ld.param.b32 %0, "
		 "[r]; }",
		 "indirect call, divergent target");
	form_add(s, "w=pww", ref_divergent_call,
		 "mov.b32 %0, %2; @!%1 bra SKIP; call (%0), scale_reg, (%2, %3); SKIP:", "call in a branch");
	form_add(s, "w=w", ref_early_ret, "call (%0), classify, (%1);", "divergent ret of a function");
}

/* Whole block: k[0] operation: 0 popc, 1 and, 2 or; k[1]: negated predicate */
static void ref_bar_red(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned count = 0, n = f->block;

	for (unsigned i = 0; i < n; i++)
		count += (in[i] != 0) != (f->k[1] != 0);
	for (unsigned i = 0; i < n; i++)
		out[i].bits = f->k[0] == 0 ? count : f->k[0] == 1 ? count == n : count > 0;
}

static void fill_votes(const struct form *f, unsigned t, uint64_t *in)
{
	unsigned block = t / f->block, i = t % f->block;

	switch (block) {
	case 0: in[0] = 0; break;
	case 1: in[0] = 1; break;
	case 2: in[0] = i == f->block - 1; break;
	case 3: in[0] = i != 33; break;
	case 4: in[0] = i < 32; break;
	default: in[0] = (i * 2654435761u >> block) & 1;
	}
}

static void ref_exchange(const struct form *f, const uint64_t *in, struct want *out)
{
	for (unsigned i = 0; i < f->block; i++)
		out[i].bits = in[f->block - 1 - i];
}

/* First 64 threads meet at barrier 5, the last 32 don't: both see what their own did. */
static void ref_partial(const struct form *f, const uint64_t *in, struct want *out)
{
	for (unsigned i = 0; i < f->block; i++)
		out[i].bits = i < 64 ? in[63 - i] : in[i];
}

static void add_barriers(struct suite *s)
{
	static const char *const ops[] = {"popc.u32", "and.pred", "or.pred"};
	static const char *const spell[] = {"bar.red", "barrier.cta.red", "bar.red"};
	struct form *f;

	for (unsigned op = 0; op < 3; op++)
		for (unsigned neg = 0; neg < 2; neg++)
			for (unsigned v = 0; v < 3; v++) {
				f = form_add(s, op ? "p=p" : "w=p", NULL,
					     text_of("%s.%s %%0, %u%s, %s%%1;", spell[v], ops[op], v * 3,
						     v == 2 ? ", 96" : "", neg ? "!" : ""),
					     "%s.%s%s%s", spell[v], ops[op], neg ? " !c" : "",
					     v == 2 ? " of 96" : "");
				f->gref = ref_bar_red;
				f->block = 96;
				f->k[0] = op;
				f->k[1] = neg;
				f->fill = fill_votes;
				f->ntuples = 9 * 96;
			}
	f = form_add(s, "w=w", NULL,
		     "{ .reg .b64 a, b; .reg .b32 t, u; mov.u32 t, %tid.x; mov.u64 a, xchg; mul.wide.u32 b, "
		     "t, 4; add.u64 b, a, b;\n"
		     "\tst.shared.b32 [b], %1; bar.sync 0; sub.u32 u, 95, t; mul.wide.u32 b, u, 4; add.u64 "
		     "b, a, b;\n"
		     "\tld.shared.b32 %0, [b]; }",
		     "bar.sync orders shared memory");
	f->decl = ".shared .align 4 .b8 xchg[512];";
	f->gref = ref_exchange;
	f->block = 96;
	f = form_add(s, "w=w", NULL,
		     "{ .reg .b64 a, b; .reg .b32 t, u; .reg .pred p; mov.u32 t, %tid.x; mov.u32 %0, %1; "
		     "setp.ge.u32 p, t, 64; @p bra OUT;\n"
		     "\tmov.u64 a, xchg; mul.wide.u32 b, t, 4; add.u64 b, a, b; st.shared.b32 [b], %1;\n"
		     "\tbar.sync 5, 64; sub.u32 u, 63, t; mul.wide.u32 b, u, 4; add.u64 b, a, b; "
		     "ld.shared.b32 %0, [b]; OUT: }",
		     "bar.sync of a part of the block");
	f->gref = ref_partial;
	f->block = 96;
}

/* Special registers of a launch with dims; thread order is x fastest, block order too. */
static void ref_indices(const struct form *f, const uint64_t *in, struct want *out)
{
	const unsigned *b = f->dims, *g = f->dims + 3;
	unsigned threads = b[0] * b[1] * b[2], blocks = g[0] * g[1] * g[2];

	(void)in;
	for (unsigned block = 0; block < blocks; block++)
		for (unsigned t = 0; t < threads; t++) {
			out[0].bits = t % b[0] | t / b[0] % b[1] << 8 | t / b[0] / b[1] << 16;
			out[1].bits = block % g[0] | block / g[0] % g[1] << 8 | block / g[0] / g[1] << 16;
			out[2].bits = b[0] | b[1] << 8 | b[2] << 16;
			out[3].bits = g[0] | g[1] << 8 | g[2] << 16;
			out += 4;
		}
}

static void ref_lane(const struct form *f, const uint64_t *in, struct want *out)
{
	const unsigned *b = f->dims;
	unsigned threads = b[0] * b[1] * b[2], blocks = f->dims[3] * f->dims[4] * f->dims[5];

	(void)in;
	for (unsigned i = 0; i < threads * blocks; i++) {
		unsigned lane = i % threads % 32;
		uint32_t eq = 1u << lane, lt = eq - 1;

		out[0].bits = lane;
		out[1].bits = eq;
		out[2].bits = lt;
		out[3].bits = lt | eq;
		out[4].bits = ~(lt | eq);
		out[5].bits = (uint32_t)~lt;
		out[6].bits = 32;
		out += 7;
	}
}

#define XYZ(reg, d)                                                      \
	"mov.u32 x, %" reg ".x; mov.u32 y, %" reg ".y; mov.u32 z, %" reg \
	".z; shl.b32 y, y, 8; shl.b32 z, z, 16; or.b32 x, x, y; "        \
	"or.b32 " d ", x, z;\n\t"

static void add_sregs(struct suite *s)
{
	static const unsigned shapes[][6] = {
		{32, 1, 1, 3, 1, 1}, {5, 3, 4, 2, 3, 2}, {1, 1, 64, 1, 2, 1}, {7, 9, 1, 1, 1, 3}};

	for (unsigned i = 0; i < 4; i++) {
		struct form *f = form_add(s, "wwww=w", NULL,
					  "{ .reg .b32 x, y, z; " XYZ("tid", "%0") XYZ("ctaid", "%1")
						  XYZ("ntid", "%2") XYZ("nctaid", "%3") "}",
					  "%%tid %%ctaid %%ntid %%nctaid of %ux%ux%u threads", shapes[i][0],
					  shapes[i][1], shapes[i][2]);

		f->gref = ref_indices;
		memcpy(f->dims, shapes[i], sizeof(f->dims));
		f = form_add(s, "wwwwwww=w", NULL,
			     "mov.u32 %0, %laneid; mov.u32 %1, %lanemask_eq; mov.u32 %2, %lanemask_lt; "
			     "mov.u32 %3, %lanemask_le;\n"
			     "\tmov.u32 %4, %lanemask_gt; mov.u32 %5, %lanemask_ge; mov.u32 %6, WARP_SZ;",
			     "%%laneid %%lanemask_* WARP_SZ of %ux%ux%u threads", shapes[i][0], shapes[i][1],
			     shapes[i][2]);
		f->gref = ref_lane;
		memcpy(f->dims, shapes[i], sizeof(f->dims));
	}
}

void forms_control(struct suite *s)
{
	add_branches(s);
	add_calls(s);
	add_barriers(s);
	add_sregs(s);
}
