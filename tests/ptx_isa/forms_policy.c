/* SPDX-License-Identifier: Apache-2.0
 *
 * What has no result of its own: fences, cache control, policies, dependent launches, waiting, traps (PTX ISA
 * 9.7.9.15 to 9.7.9.18, 9.7.13.3, 9.7.13.4, 9.7.13.13, 9.7.19); barriers in every spelling (9.7.13.1); addresses in a
 * cluster of one block (9.7.9.23); the stack (9.7.17).
 */
#include "form.h"

#include <string.h>

static void ref_same(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out->bits = in[0];
}

/* A value survives the instruction in memory and in a register. */
static void ref_twice(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out[0].bits = out[1].bits = in[0];
}

static void quiet(struct suite *s, const char *text, const char *name)
{
	struct form *f = form_add(s, "dd=d", ref_twice,
				  text_of("{ .reg .b64 a, pol; .reg .pred p; st.global.b64 [outp], %%2; %s\n"
					  "\tld.global.b64 %%0, [outp]; mov.b64 %%1, %%2; }",
					  text),
				  "%s", name);

	f->most = 128;
}

static void quiet_op(struct suite *s, const char *op)
{
	quiet(s, text_of("%s;", op), op);
}

static const char *const scopes[] = {"cta", "cluster", "gpu", "sys"};

static void add_fences(struct suite *s)
{
	static const char *const sems[] = {"", ".sc", ".acq_rel", ".acquire", ".release"},
				 *const proxies[] = {".alias", ".async", ".async.global",
						     ".async.shared::cta", ".async.shared::cluster"};

	for (unsigned i = 0; i < 5; i++)
		for (unsigned k = 0; k < 4; k++)
			quiet_op(s, text_of("fence%s.%s", sems[i], scopes[k]));
	for (unsigned i = 0; i < 5; i++)
		quiet_op(s, text_of("fence.proxy%s", proxies[i]));
	quiet_op(s, "membar.proxy.alias");
	quiet_op(s, "membar.cta");
	quiet_op(s, "membar.gl");
	quiet_op(s, "membar.sys");
	quiet_op(s, "fence.mbarrier_init.release.cluster");
	quiet_op(s, "fence.acquire.sync_restrict::shared::cluster.cluster");
	quiet_op(s, "fence.release.sync_restrict::shared::cta.cluster");
	quiet_op(s, "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster");
	quiet_op(s, "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster");
	for (unsigned k = 0; k < 4; k++) {
		quiet_op(s, text_of("fence.proxy.tensormap::generic.release.%s", scopes[k]));
		quiet(s, text_of("fence.proxy.tensormap::generic.acquire.%s [outp], 128;", scopes[k]),
		      text_of("fence.proxy.tensormap::generic.acquire.%s", scopes[k]));
	}
}

static void add_cache_control(struct suite *s)
{
	static const char *const first[] = {".L2::evict_last", ".L2::evict_normal", ".L2::evict_first",
					    ".L2::evict_unchanged"},
				 *const second[] = {"", ".L2::evict_first", ".L2::evict_unchanged"};

	for (unsigned l = 1; l <= 2; l++) {
		quiet(s, text_of("prefetch.global.L%u [outp];", l), text_of("prefetch.global.L%u", l));
		quiet(s, text_of("prefetch.L%u [outp];", l), text_of("prefetch.L%u", l));
		quiet(s, text_of(".local .align 8 .b8 pl[8]; prefetch.local.L%u [pl];", l),
		      text_of("prefetch.local.L%u", l));
	}
	quiet(s, "prefetch.global.L2::evict_last [outp];", "prefetch.global.L2::evict_last");
	quiet(s, "prefetch.global.L2::evict_normal [outp];", "prefetch.global.L2::evict_normal");
	quiet(s, "prefetchu.L1 [outp];", "prefetchu.L1");
	quiet(s, "mov.u64 a, polline; applypriority.global.L2::evict_normal [a], 128;",
	      "applypriority.global.L2::evict_normal");
	quiet(s, "mov.u64 a, polline; cvta.global.u64 a, a; applypriority.L2::evict_normal [a], 128;",
	      "applypriority.L2::evict_normal");
	quiet(s, "mov.u64 a, polline; discard.global.L2 [a], 128;", "discard.global.L2");
	quiet(s, "mov.u64 a, polline; cvta.global.u64 a, a; discard.L2 [a], 128;", "discard.L2");
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 3; k++) {
			char *p = text_of("%s%s.b64", first[i], second[k]);

			quiet(s,
			      text_of("createpolicy.fractional%s pol, 0.5; ld.global.L2::cache_hint.b64 a, "
				      "[outp], pol;",
				      p),
			      text_of("createpolicy.fractional%s", p));
			quiet(s,
			      text_of("createpolicy.range%s pol, [outp], 1024, 4096; "
				      "ld.global.L2::cache_hint.b64 a, [outp], "
				      "pol;",
				      p),
			      text_of("createpolicy.range%s", p));
			quiet(s,
			      text_of("createpolicy.range.global%s pol, [outp], 1024, 4096; "
				      "ld.global.L2::cache_hint.b64 a, "
				      "[outp], pol;",
				      p),
			      text_of("createpolicy.range.global%s", p));
		}
	quiet(s, "mov.u64 a, 0x12f0000000000000; createpolicy.cvt.L2.b64 pol, a;", "createpolicy.cvt.L2.b64");
}

static void add_quiet(struct suite *s)
{
	quiet_op(s, "griddepcontrol.launch_dependents");
	quiet_op(s, "griddepcontrol.wait");
	quiet(s, "nanosleep.u32 20;", "nanosleep.u32");
	quiet(s, "pmevent 7;", "pmevent");
	quiet(s, "pmevent.mask 5;", "pmevent.mask");
	for (unsigned aligned = 0; aligned < 2; aligned++) {
		const char *al = aligned ? ".aligned" : "";

		quiet(s, text_of("barrier.cluster.arrive%s; barrier.cluster.wait%s;", al, al),
		      text_of("barrier.cluster.arrive%s, wait", al));
		quiet(s, text_of("barrier.cluster.arrive.release%s; barrier.cluster.wait.acquire%s;", al, al),
		      text_of("barrier.cluster.arrive.release%s, wait.acquire", al));
		quiet(s, text_of("barrier.cluster.arrive.relaxed%s; barrier.cluster.wait%s;", al, al),
		      text_of("barrier.cluster.arrive.relaxed%s", al));
	}
}

/* Two warps; each thread reads what the other warp's thread has stored before the barrier. */
static void ref_other_warp(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	for (unsigned i = 0; i < 64; i++)
		out[i].bits = in[i ^ 32];
}

static void ref_upper_only(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	for (unsigned i = 0; i < 64; i++)
		out[i].bits = i < 32 ? in[i] : in[i ^ 32];
}

/* k[0]: 0 population, 1 and, 2 or, of the lowest bits; k[1]: of the complements */
static void ref_reduced(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 64; i++)
		n += (in[i] & 1) != (uint64_t)f->k[1];
	for (unsigned i = 0; i < 64; i++)
		out[i].bits = f->k[0] == 0 ? n : f->k[0] == 1 ? n == 64 : n > 0;
}

static void fill_votes(const struct form *f, unsigned t, uint64_t *in)
{
	unsigned block = t / 64;

	(void)f;
	in[0] = block == 0 ? 0 : block == 1 ? 1 : block == 2 ? t % 64 == 40 : t * 2654435761u >> 7;
}

#define CELLS                                                                                       \
	"{ .reg .b64 a, b, w; .reg .b32 t; .reg .pred p; mov.u32 t, %%tid.x; mov.u64 a, polcells; " \
	"mul.wide.u32 w, t, 4; "                                                                    \
	"add.u64 b, a, w; xor.b32 t, t, 32; mul.wide.u32 w, t, 4; add.u64 a, a, w;\n\t"

static void group(struct form *f, group_ref ref)
{
	f->block = 64;
	f->gref = ref;
}

static void add_barrier(struct suite *s, const char *op, const char *al)
{
	static const char *const reds[] = {"popc%s.u32", "and%s.pred", "or%s.pred"};

	group(form_add(
		      s, "w=w", NULL,
		      text_of(CELLS "st.shared.u32 [b], %%1; %s.sync%s 3; ld.shared.u32 %%0, [a]; }", op, al),
		      "%s.sync%s", op, al),
	      ref_other_warp);
	group(form_add(s, "w=w", NULL,
		       text_of(CELLS "st.shared.u32 [b], %%1; %s.sync%s 5, 64; ld.shared.u32 %%0, [a]; }", op,
			       al),
		       "%s.sync%s with a count", op, al),
	      ref_other_warp);
	group(form_add(s, "w=w", NULL,
		       text_of(CELLS "st.shared.u32 [b], %%1; mov.u32 %%0, %%1; setp.ge.u32 p, t, 32; @p bra "
				     "LOWER;\n"
				     "\t%s.sync%s 4, 64; ld.shared.u32 %%0, [a]; bra JOINED;\n"
				     "LOWER: %s.arrive%s 4, 64;\nJOINED: }",
			       op, al, op, al),
		       "%s.arrive%s", op, al),
	      ref_upper_only);
	for (unsigned i = 0; i < 6; i++) {
		char *red = text_of(reds[i / 2], al);
		struct form *f = form_add(s, i < 2 ? "w=w" : "p=w", NULL,
					  text_of("{ .reg .pred p; .reg .b32 t; and.b32 t, %%1, 1; "
						  "setp.ne.u32 p, t, 0; %s.red.%s %%0, 6, "
						  "%sp; }",
						  op, red, i & 1 ? "!" : ""),
					  "%s.red.%s %s", op, red, i & 1 ? "!p" : "p");

		group(f, ref_reduced);
		f->fill = fill_votes;
		f->ntuples = 64 * 6;
		f->k[0] = i / 2;
		f->k[1] = i & 1;
	}
}

static void ref_zero(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)in;
	for (unsigned i = 0; f->outs[i]; i++)
		out[i].bits = (uint64_t)f->k[i];
}

static void constants(struct suite *s, const char *sig, const char *text, const char *name, long a, long b)
{
	struct form *f = form_add(s, sig, ref_zero, text, "%s", name);

	f->k[0] = a;
	f->k[1] = b;
	f->most = 32;
}

/* A cluster of one block: the block is its own peer of rank 0. */
static void add_cluster(struct suite *s)
{
	form_add(s, "w=w", ref_same,
		 "{ .reg .b64 a, b, w; .reg .b32 t; mov.u32 t, %tid.x; mov.u64 a, polcells; mul.wide.u32 w, "
		 "t, 4; add.u64 "
		 "a, a, w;\n\tst.shared.u32 [a], %1; mapa.shared::cluster.u64 b, a, 0; "
		 "ld.shared::cluster.u32 %0, [b]; }",
		 "mapa.shared::cluster.u64");
	form_add(s, "w=w", ref_same,
		 "{ .reg .b64 a, b, w; .reg .b32 t; mov.u32 t, %tid.x; mov.u64 a, polcells; mul.wide.u32 w, "
		 "t, 4; add.u64 "
		 "a, a, w;\n\tst.shared.u32 [a], %1; cvta.shared.u64 a, a; mapa.u64 b, a, 0; ld.u32 %0, [b]; "
		 "}",
		 "mapa.u64");
	form_add(s, "w=w", ref_same,
		 "{ .reg .b32 a, b, t; mov.u32 t, %tid.x; mov.u32 a, polcells; mad.lo.u32 a, t, 4, a;\n"
		 "\tst.shared.u32 [a], %1; mapa.shared::cluster.u32 b, a, 0; ld.shared::cluster.u32 %0, [b]; "
		 "}",
		 "mapa.shared::cluster.u32");
	constants(s, "w=w", "{ .reg .b64 a; mov.u64 a, polcells; getctarank.shared::cluster.u64 %0, a; }",
		  "getctarank.shared::cluster.u64", 0, 0);
	constants(s, "w=w", "{ .reg .b32 a; mov.u32 a, polcells; getctarank.shared::cluster.u32 %0, a; }",
		  "getctarank.shared::cluster.u32", 0, 0);
	constants(s, "w=w",
		  "{ .reg .b64 a; mov.u64 a, polcells; cvta.shared.u64 a, a; getctarank.u64 %0, a; }",
		  "getctarank.u64", 0, 0);
	constants(s, "ww=w",
		  "{ .reg .b64 a; .reg .pred p, q; mov.u64 a, polcells; cvta.shared::cluster.u64 a, a; "
		  "isspacep.shared::cluster p, a;\n\tselp.u32 %0, 1, 0, p; isspacep.shared::cluster q, inp; "
		  "selp.u32 %1, 1, 0, "
		  "q; }",
		  "isspacep.shared::cluster", 1, 0);
	constants(s, "pp=w",
		  "{ .reg .b64 a, b, c; mov.u64 a, polcells; cvta.shared::cluster.u64 b, a; "
		  "cvta.to.shared::cluster.u64 c, b; "
		  "setp.eq.u64 %0, a, c;\n\tcvta.to.shared.u64 c, b; setp.eq.u64 %1, a, c; }",
		  "cvta.shared::cluster.u64 and back", 1, 1);
}

/* Memory of a loop's turns: 32 bytes, aligned, written, read, given back; then as much again as was given back. */
static void ref_stack(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out[0].bits = in[0];
	out[1].bits = ~in[0];
	out[2].bits = 0;
	out[3].bits = 1;
}

static void add_stack(struct suite *s)
{
	struct form *f = form_add(
		s, "ddwp=d", ref_stack,
		"{ .reg .b64 sp, p, q, x, y; .reg .b32 w; stacksave.u64 sp; alloca.u64 p, 32, 64; "
		"alloca.u64 q, 8;\n\tnot.b64 x, %4; st.local.b64 [p], %4; st.local.b64 [p+24], x; "
		"st.local.b64 [q], 5;\n\tld.local.b64 %0, [p]; ld.local.b64 %1, [p+24]; cvt.u32.u64 w, p; "
		"and.b32 %2, w, 63;\n\tstackrestore.u64 sp; stacksave.u64 y; setp.eq.u64 %3, sp, y; }",
		"alloca.u64, stacksave.u64, stackrestore.u64");

	f->most = 64;
	f = form_add(
		s, "d=d", ref_same,
		"{ .reg .b64 sp, p, x; .reg .b32 n; .reg .pred q; mov.u32 n, 0; mov.b64 x, %1;\n"
		"TURN: stacksave.u64 sp; alloca.u64 p, 4096; st.local.b64 [p], x; st.local.b64 [p+4088], x; "
		"ld.local.b64 x, [p];\n\tstackrestore.u64 sp; add.u32 n, n, 1; setp.lt.u32 q, n, 1000; @q "
		"bra TURN; "
		"mov.b64 %0, x; }",
		"alloca.u64 of four megabytes in turn");
	f->most = 32;
}

/* mov and the ends of functions and branches in the spellings that nothing else needs. */
static void add_spellings(struct suite *s)
{
	static const struct {
		const char *type, *sig;
	} moves[] = {{"b16", "h=h"}, {"u16", "h=h"}, {"s16", "h=h"}, {"b32", "w=w"},
		     {"u32", "w=w"}, {"s32", "w=w"}, {"f32", "w=w"}, {"b64", "d=d"},
		     {"u64", "d=d"}, {"s64", "d=d"}, {"f64", "d=d"}, {"pred", "p=p"}};
	struct form *f;

	for (unsigned i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		form_add(s, moves[i].sig, ref_same, text_of("mov.%s %%0, %%1;", moves[i].type), "mov.%s",
			 moves[i].type);
	f = form_add(s, "w=w", ref_same, "call.uni (%0), poluni, (%1);", "ret.uni");
	f->decl = ".func (.reg .b32 r) poluni(.reg .b32 x)\n{\n\tmov.b32 r, x; ret.uni;\n\tmov.b32 r, 0; "
		  "ret;\n}";
	form_add(s, "w=w", ref_same,
		 "{ .reg .b32 i; and.b32 i, %1, 0; add.u32 i, i, 1; mov.u32 %0, 0;\n\tTWO: .branchtargets "
		 "FIRST, SECOND;\n"
		 "\tbrx.idx.uni i, TWO;\nFIRST: mov.u32 %0, 7; bra.uni DONE;\nSECOND: mov.b32 %0, %1;\nDONE: "
		 "}",
		 "brx.idx.uni");
	constants(s, "ww=d",
		  "{ .reg .b64 g; .reg .pred p; cvta.param.u64 g, pin; isspacep.param p, g; selp.u32 %0, 1, "
		  "0, p; "
		  "isspacep.param p, inp; selp.u32 %1, 1, 0, p; }",
		  "isspacep.param", 1, 0);
	constants(s, "p=d",
		  "{ .reg .b64 a, g, h; mov.u64 a, polconst; cvta.const.u64 g, a; cvta.to.const.u64 h, g; "
		  "setp.eq.u64 %0, a, h; "
		  "}",
		  "cvta.to.const.u64", 1, 0);
	constants(s, "w=d",
		  "{ .reg .b64 g, h; cvta.param.u64 g, pin; cvta.to.param.u64 h, g; ld.param.u32 %0, [h]; }",
		  "cvta.to.param.u64", 0, 0);
}

static void add_faults(struct suite *s)
{
	static const char *const ops[] = {"trap", "brkpt"};

	for (unsigned i = 0; i < 2; i++) {
		struct form *f =
			form_add(s, "w=w", ref_same, text_of("mov.u32 %%0, %%1; %s;", ops[i]), "%s", ops[i]);

		f->faults = true;
		f->most = 32;
	}
}

void forms_policy(struct suite *s)
{
	static const char *const barriers[] = {"bar", "bar.cta", "barrier", "barrier.cta"};

	add_fences(s);
	s->forms[0].decl = ".global .align 128 .b8 polline[128];\n.shared .align 16 .b8 polcells[1024];\n"
			   ".const .align 8 .u32 polconst[2] = {1, 2};";
	add_cache_control(s);
	add_quiet(s);
	for (unsigned i = 0; i < 4; i++)
		add_barrier(s, barriers[i], "");
	add_barrier(s, "barrier", ".aligned");
	add_barrier(s, "barrier.cta", ".aligned");
	add_cluster(s);
	add_stack(s);
	add_spellings(s);
	add_faults(s);
}

/* sm_90a: registers change hands between the warps of a group of four. */
void forms_setmaxnreg(struct suite *s)
{
	for (unsigned i = 0; i < 2; i++) {
		struct form *f = form_add(s, "d=d", ref_same,
					  text_of("setmaxnreg.%s.sync.aligned.u32 %u; mov.b64 %%0, %%1;",
						  i ? "inc" : "dec", i ? 232 : 40),
					  "setmaxnreg.%s.sync.aligned.u32", i ? "inc" : "dec");

		f->block = 128;
	}
}
