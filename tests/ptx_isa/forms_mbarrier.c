/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier: PTX ISA 9.7.13.15. Every spelling, on a barrier that each lane has for itself, so that its counts and phases
 * are certain; and barriers that a block shares, with the data that they guard.
 */
#include "form.h"

#include <string.h>

/* k[0..5]: what the outputs are. */
static void ref_constants(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)in;
	for (unsigned i = 0; f->outs[i]; i++)
		out[i].bits = (uint64_t)f->k[i];
}

#define TEMPS                                                                                              \
	"{ .reg .b64 m, g, st, su; .reg .b32 lane, w; .reg .pred p, q; mov.u32 lane, %%tid.x; mov.u64 m, " \
	"mbown; "                                                                                          \
	"mul.wide.u32 st, lane, 8; add.u64 m, m, st; cvta.shared.u64 g, m;\n\t"

/* The address that a space's spelling takes. */
static const char *at(const char *space)
{
	return *space ? "m" : "g";
}

static struct form *add(struct suite *s, const char *outs, const char *text, const char *name, long a, long b,
			long c, long d)
{
	struct form *f =
		form_add(s, text_of("%s=w", outs), ref_constants, text_of(TEMPS "%s }", text), "%s", name);

	f->k[0] = a;
	f->k[1] = b;
	f->k[2] = c;
	f->k[3] = d;
	f->most = 32;
	return f;
}

static const char *const spaces[] = {"", ".shared", ".shared::cta"};
static const char *const arrive_orders[] = {"", ".release.cta", ".release.cluster", ".relaxed.cta",
					    ".relaxed.cluster"};
static const char *const wait_orders[] = {"", ".acquire.cta", ".acquire.cluster", ".relaxed.cta",
					  ".relaxed.cluster"};

/* Two arrivals of two expected: the phase ends with the second; the state of the first names that phase. */
static void add_arrive(struct suite *s, const char *order, const char *space)
{
	const char *a = at(space);

	add(s, "pppp",
	    text_of("mbarrier.init.shared.b64 [m], 2; mbarrier.arrive%s%s.b64 st, [%s]; "
		    "mbarrier.test_wait.shared.b64 %%0, [m], st;\n\tmbarrier.arrive%s%s.b64 su, [%s]; "
		    "mbarrier.test_wait.shared.b64 %%1, [m], st; mbarrier.test_wait.shared.b64 %%2, [m], "
		    "su;\n"
		    "\tmbarrier.arrive%s%s.b64 su, [%s]; mbarrier.test_wait.shared.b64 %%3, [m], su;",
		    order, space, a, order, space, a, order, space, a),
	    text_of("mbarrier.arrive%s%s.b64", order, space), 0, 1, 1, 0);
	add(s, "ppp",
	    text_of("mbarrier.init.shared.b64 [m], 7; mbarrier.arrive%s%s.b64 st, [%s], 4; "
		    "mbarrier.test_wait.shared.b64 %%0, [m], st;\n\tmbarrier.arrive%s%s.b64 su, [%s], 3; "
		    "mbarrier.test_wait.shared.b64 %%1, [m], st;\n\tmbarrier.arrive.shared.b64 su, [m], 6; "
		    "mbarrier.test_wait.shared.b64 %%2, [m], su;",
		    order, space, a, order, space, a),
	    text_of("mbarrier.arrive%s%s.b64 with a count", order, space), 0, 1, 0, 0);
	/* the phase waits for the bytes too, and the next one begins with no bytes expected */
	add(s, "pppp",
	    text_of("mbarrier.init.shared.b64 [m], 1; mbarrier.arrive.expect_tx%s%s.b64 st, [%s], 48; "
		    "mbarrier.test_wait.shared.b64 %%0, [m], st;\n"
		    "\tmbarrier.complete_tx.shared.b64 [m], 32; mbarrier.test_wait.shared.b64 %%1, [m], st;\n"
		    "\tmbarrier.complete_tx.shared.b64 [m], 16; mbarrier.test_wait.shared.b64 %%2, [m], st;\n"
		    "\tmbarrier.arrive.shared.b64 st, [m]; mbarrier.test_wait.shared.b64 %%3, [m], st;",
		    order, space, a),
	    text_of("mbarrier.arrive.expect_tx%s%s.b64", order, space), 0, 0, 1, 1);
	/* one that drops: the next phase expects one fewer */
	add(s, "pppp",
	    text_of("mbarrier.init.shared.b64 [m], 2; mbarrier.arrive_drop%s%s.b64 st, [%s]; "
		    "mbarrier.test_wait.shared.b64 %%0, [m], st;\n"
		    "\tmbarrier.arrive.shared.b64 su, [m]; mbarrier.test_wait.shared.b64 %%1, [m], st;\n"
		    "\tmbarrier.arrive.shared.b64 su, [m]; mbarrier.test_wait.shared.b64 %%2, [m], su;\n"
		    "\tmbarrier.test_wait.parity.shared.b64 %%3, [m], 0;",
		    order, space, a),
	    text_of("mbarrier.arrive_drop%s%s.b64", order, space), 0, 1, 1, 0);
	add(s, "ppp",
	    text_of("mbarrier.init.shared.b64 [m], 1; mbarrier.arrive_drop.expect_tx%s%s.b64 st, [%s], 16; "
		    "mbarrier.test_wait.shared.b64 %%0, [m], st;\n"
		    "\tmbarrier.complete_tx.shared.b64 [m], 8; mbarrier.test_wait.shared.b64 %%1, [m], st;\n"
		    "\tmbarrier.complete_tx.shared.b64 [m], 8; mbarrier.test_wait.shared.b64 %%2, [m], st;",
		    order, space, a),
	    text_of("mbarrier.arrive_drop.expect_tx%s%s.b64", order, space), 0, 0, 1, 0);
}

/* In the cluster's window no state is returned. */
static void add_cluster(struct suite *s, const char *order)
{
	static const char *const ops[] = {"arrive", "arrive_drop"};

	for (unsigned i = 0; i < 2; i++) {
		add(s, "ppp",
		    text_of("mbarrier.init.shared.b64 [m], 2; mbarrier.%s%s.shared::cluster.b64 _, [m]; "
			    "mbarrier.test_wait.parity.shared.b64 %%0, [m], 0;\n"
			    "\tmbarrier.arrive%s.shared::cluster.b64 _, [m], 1; "
			    "mbarrier.test_wait.parity.shared.b64 %%1, [m], 0; "
			    "mbarrier.test_wait.parity.shared.b64 %%2, [m], 1;",
			    ops[i], order, order),
		    text_of("mbarrier.%s%s.shared::cluster.b64", ops[i], order), 0, 1, 0, 0);
		add(s, "ppp",
		    text_of("mbarrier.init.shared.b64 [m], 1; mbarrier.%s.expect_tx%s.shared::cluster.b64 _, "
			    "[m], 16; "
			    "mbarrier.test_wait.parity.shared.b64 %%0, [m], 0;\n"
			    "\tmbarrier.complete_tx.shared.b64 [m], 16; "
			    "mbarrier.test_wait.parity.shared.b64 %%1, [m], 0; "
			    "mbarrier.test_wait.parity.shared.b64 %%2, [m], 1;",
			    ops[i], order),
		    text_of("mbarrier.%s.expect_tx%s.shared::cluster.b64", ops[i], order), 0, 1, 0, 0);
	}
}

static void add_no_complete(struct suite *s, const char *order, const char *space)
{
	add(s, "wpwp",
	    text_of("mbarrier.init.shared.b64 [m], 9; mbarrier.arrive.noComplete%s%s.b64 st, [%s], 5; "
		    "mbarrier.pending_count.b64 %%0, st; mbarrier.test_wait.shared.b64 %%1, [m], st;\n"
		    "\tmbarrier.arrive.noComplete%s%s.b64 su, [%s], 3; mbarrier.pending_count.b64 %%2, su;\n"
		    "\tmbarrier.arrive.shared.b64 su, [m]; mbarrier.test_wait.shared.b64 %%3, [m], st;",
		    order, space, at(space), order, space, at(space)),
	    text_of("mbarrier.arrive.noComplete%s%s.b64", order, space), 9, 0, 4, 1);
	add(s, "wpp",
	    text_of("mbarrier.init.shared.b64 [m], 3; mbarrier.arrive_drop.noComplete%s%s.b64 st, [%s], 2; "
		    "mbarrier.pending_count.b64 %%0, st; mbarrier.arrive.shared.b64 su, [m]; "
		    "mbarrier.test_wait.shared.b64 %%1, [m], st;\n"
		    "\tmbarrier.arrive.shared.b64 su, [m]; mbarrier.test_wait.shared.b64 %%2, [m], su;",
		    order, space, at(space)),
	    text_of("mbarrier.arrive_drop.noComplete%s%s.b64", order, space), 3, 1, 1, 0);
}

/* test_wait and try_wait: of a phase that is not over, one that just ended, and by parity. */
static void add_waits(struct suite *s, const char *order, const char *space)
{
	static const char *const ops[] = {"test_wait", "try_wait"};

	for (unsigned i = 0; i < 2; i++) {
		const char *op = ops[i], *a = at(space);

		add(s, "ppp",
		    text_of("mbarrier.init.shared.b64 [m], 2; mbarrier.arrive.shared.b64 st, [m]; "
			    "mbarrier.%s%s%s.b64 %%0, [%s], st%s;\n"
			    "\tmbarrier.arrive.shared.b64 su, [m]; mbarrier.%s%s%s.b64 %%1, [%s], st;\n"
			    "\tmbarrier.arrive.shared.b64 su, [m]; mbarrier.%s%s%s.b64 %%2, [%s], su;",
			    op, order, space, a, i ? ", 100" : "", op, order, space, a, op, order, space, a),
		    text_of("mbarrier.%s%s%s.b64", op, order, space), 0, 1, 0, 0);
		add(s, "pppp",
		    text_of("mbarrier.init.shared.b64 [m], 1; mbarrier.%s.parity%s%s.b64 %%0, [%s], 0%s; "
			    "mbarrier.%s.parity%s%s.b64 %%1, [%s], 1;\n"
			    "\tmbarrier.arrive.shared.b64 st, [m]; mbarrier.%s.parity%s%s.b64 %%2, [%s], 0; "
			    "mbarrier.%s.parity%s%s.b64 %%3, [%s], 1;",
			    op, order, space, a, i ? ", 100" : "", op, order, space, a, op, order, space, a,
			    op, order, space, a),
		    text_of("mbarrier.%s.parity%s%s.b64", op, order, space), 0, 1, 1, 0);
	}
}

static void add_bytes(struct suite *s, const char *order, const char *space)
{
	const char *a = at(space);

	add(s, "ppp",
	    text_of("mbarrier.init.shared.b64 [m], 1; mbarrier.expect_tx%s%s.b64 [%s], 64; "
		    "mbarrier.expect_tx%s%s.b64 [%s], 32; mbarrier.arrive.shared.b64 st, [m];\n"
		    "\tmbarrier.test_wait.shared.b64 %%0, [m], st; mbarrier.complete_tx%s%s.b64 [%s], 95; "
		    "mbarrier.test_wait.shared.b64 %%1, [m], st;\n"
		    "\tmbarrier.complete_tx%s%s.b64 [%s], 1; mbarrier.test_wait.shared.b64 %%2, [m], st;",
		    order, space, a, order, space, a, order, space, a, order, space, a),
	    text_of("mbarrier.expect_tx and complete_tx%s%s.b64", order, space), 0, 0, 1, 0);
}

static void add_lifetime(struct suite *s, const char *space)
{
	const char *a = at(space);

	add(s, "ppw",
	    text_of("mbarrier.init%s.b64 [%s], 1; mbarrier.arrive.shared.b64 st, [m]; "
		    "mbarrier.test_wait.shared.b64 %%0, [m], st; mbarrier.inval%s.b64 [%s];\n"
		    "\tst.shared.b64 [m], 77; ld.shared.b32 %%2, [m]; mbarrier.init%s.b64 [%s], 3; "
		    "mbarrier.arrive.shared.b64 st, [m]; mbarrier.test_wait.shared.b64 %%1, [m], st;",
		    space, a, space, a, space, a),
	    text_of("mbarrier.init%s.b64, inval%s.b64", space, space), 1, 0, 77, 0);
}

/* All of a block's threads write, arrive, wait and read what the thread half a block on has written; three phases. */
static void ref_exchange(const struct form *f, const uint64_t *in, struct want *out)
{
	for (unsigned i = 0; i < f->block; i++)
		out[i].bits = (uint32_t)(3 * in[(i + f->block / 2) % f->block] + 3); /* +0 +1 +2 */
}

static void add_exchange(struct suite *s, const char *wait, const char *name)
{
	struct form *f = form_add(
		s, "w=w", NULL,
		text_of("{ .reg .b64 m, a, b, st; .reg .b32 t, v, n, par; .reg .pred p;\n"
			"\tmov.u64 m, mbblock; mov.u32 t, %%tid.x; setp.eq.u32 p, t, 0; "
			"@p mbarrier.init.shared.b64 [m], 96; bar.sync 0;\n"
			"\tmov.u64 a, mbdata; mul.wide.u32 b, t, 4; add.u64 a, a, b;\n"
			"\tadd.u32 t, t, 48; rem.u32 t, t, 96; mul.wide.u32 b, t, 4; mov.u64 st, mbdata; "
			"add.u64 b, b, "
			"st;\n"
			"\tmov.u32 %%0, 0; mov.u32 n, 0;\n"
			"MORE: add.u32 v, %%1, n; st.shared.u32 [a], v; mbarrier.arrive.shared.b64 st, [m]; "
			"and.b32 par, n, 1;\n"
			"WAIT: %s @!p bra WAIT; ld.shared.u32 v, [b]; add.u32 %%0, %%0, v;\n"
			"\tbar.sync 0; add.u32 n, n, 1; setp.lt.u32 p, n, 3; @p bra MORE; }",
			wait),
		"%s", name);

	f->block = 96;
	f->gref = ref_exchange;
	f->ntuples = 0;
}

static void ref_copied(const struct form *f, const uint64_t *in, struct want *out)
{
	for (unsigned i = 0; i < f->block; i++)
		out[i].bits = in[(i + 32) % f->block];
}

/* Asynchronous copies arrive at the barrier when they are done: without .noinc they pay for themselves. */
static void add_async(struct suite *s, bool noinc, const char *space)
{
	struct form *f = form_add(
		s, "d=d", NULL,
		text_of("{ .reg .b64 m, g, a, b, st; .reg .b32 t; .reg .pred p;\n"
			"\tmov.u64 m, mbblock; cvta.shared.u64 g, m; mov.u32 t, %%tid.x; setp.eq.u32 p, t, "
			"0; "
			"@p mbarrier.init.shared.b64 [m], 64; bar.sync 0;\n"
			"\tmov.u64 a, mbdata; mul.wide.u32 b, t, 8; add.u64 a, a, b; "
			"cp.async.ca.shared.global [a], [inp], 8;\n"
			"\tcp.async.mbarrier.arrive%s%s.b64 [%s]; %s\n"
			"\txor.b32 t, t, 32; mov.u64 a, mbdata; mul.wide.u32 b, t, 8; add.u64 a, a, b;\n"
			"WAIT: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra WAIT; ld.shared.b64 "
			"%%0, [a]; }",
			noinc ? ".noinc" : "", space, at(space),
			noinc ? "" : "mbarrier.arrive.shared.b64 st, [m];"),
		"cp.async.mbarrier.arrive%s%s.b64", noinc ? ".noinc" : "", space);

	f->block = 64;
	f->gref = ref_copied;
}

void forms_mbarrier(struct suite *s)
{
	static const char *const no_complete[] = {"", ".release.cta"}, *const bytes[] = {"", ".relaxed.cta",
											 ".relaxed.cluster"};

	for (unsigned sp = 0; sp < 3; sp++) {
		for (unsigned o = 0; o < 5; o++) {
			add_arrive(s, arrive_orders[o], spaces[sp]);
			add_waits(s, wait_orders[o], spaces[sp]);
		}
		for (unsigned o = 0; o < 2; o++)
			add_no_complete(s, no_complete[o], spaces[sp]);
		for (unsigned o = 0; o < 3; o++)
			add_bytes(s, bytes[o], spaces[sp]);
		add_lifetime(s, spaces[sp]);
		add_async(s, false, spaces[sp]);
		add_async(s, true, spaces[sp]);
	}
	s->forms[0].decl = ".shared .align 8 .b64 mbown[32];\n.shared .align 8 .b64 mbblock;\n"
			   ".shared .align 16 .b8 mbdata[1024];";
	for (unsigned o = 0; o < 5; o++)
		add_cluster(s, arrive_orders[o]);
	for (unsigned o = 0; o < 3; o++)
		add_bytes(s, bytes[o], ".shared::cluster");
	add_exchange(s, "mbarrier.test_wait.shared.b64 p, [m], st;", "mbarrier of a block, by state");
	add_exchange(s, "mbarrier.try_wait.parity.shared.b64 p, [m], par;", "mbarrier of a block, by parity");
}
