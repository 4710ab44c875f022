/* SPDX-License-Identifier: Apache-2.0
 *
 * Every special register: PTX ISA chapter 10. Those that a launch determines are compared; of the others (clocks,
 * multiprocessors, counters) a kernel checks what their sections promise, and answers with a predicate.
 */
#include "form.h"

#include <string.h>

/* One launch of blocks x grid; a register of thread (tid, ctaid). */
struct position {
	unsigned tid[3], cta[3], flat;
};

static struct position position_of(const struct form *f, unsigned i)
{
	struct position p;
	const unsigned *b = f->dims, *g = f->dims + 3;
	unsigned threads = b[0] * b[1] * b[2];

	p.flat = i % threads;
	for (unsigned a = 0, t = p.flat, c = i / threads; a < 3; t /= b[a], c /= g[a], a++) {
		p.tid[a] = t % b[a];
		p.cta[a] = c % g[a];
	}
	return p;
}

enum which { TID, NTID, CTAID, NCTAID, LANEID, LE, LT, GE, GT, EQ, ZERO, ONE };

static uint64_t value(const struct form *f, const struct position *p, enum which w, unsigned axis)
{
	unsigned lane = p->flat % 32;

	switch (w) {
	case TID: return p->tid[axis];
	case NTID: return f->dims[axis];
	case CTAID: return p->cta[axis];
	case NCTAID: return f->dims[3 + axis];
	case LANEID: return lane;
	case EQ: return 1u << lane;
	case LE: return (2ull << lane) - 1;
	case LT: return (1ull << lane) - 1;
	case GE: return 0xffffffffu - ((1ull << lane) - 1);
	case GT: return 0xffffffffu - ((2ull << lane) - 1);
	case ONE: return 1;
	default: return 0;
	}
}

/* k[0] which, k[1] axis */
static void ref_register(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = f->dims[0] * f->dims[1] * f->dims[2] * f->dims[3] * f->dims[4] * f->dims[5];

	(void)in;
	for (unsigned i = 0; i < n; i++) {
		struct position p = position_of(f, i);

		out[i].bits = value(f, &p, (enum which)f->k[0], (unsigned)f->k[1]);
	}
}

static const unsigned launch[6] = {5, 3, 4, 2, 3, 2};

static void add(struct suite *s, const char *reg, const char *type, enum which w, unsigned axis)
{
	bool wide = !strcmp(type, "u64");
	struct form *f = form_add(s,
				  wide                    ? "d=w"
				  : !strcmp(type, "pred") ? "p=w"
							  : "w=w",
				  NULL, text_of("mov.%s %%0, %%%s;", type, reg), "%%%s as %s", reg, type);

	f->gref = ref_register;
	memcpy(f->dims, launch, sizeof(launch));
	f->k[0] = w;
	f->k[1] = axis;
}

static void add_positions(struct suite *s)
{
	static const struct {
		const char *name;
		enum which w;
	} vectors[] = {{"tid", TID},
		       {"ntid", NTID},
		       {"ctaid", CTAID},
		       {"nctaid", NCTAID},
		       {"clusterid", CTAID},
		       {"nclusterid", NCTAID},
		       {"cluster_ctaid", ZERO},
		       {"cluster_nctaid", ONE}};

	for (unsigned i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		for (unsigned a = 0; a < 3; a++)
			add(s, text_of("%s.%c", vectors[i].name, "xyz"[a]), "u32", vectors[i].w, a);
	add(s, "laneid", "u32", LANEID, 0);
	add(s, "lanemask_eq", "u32", EQ, 0);
	add(s, "lanemask_le", "u32", LE, 0);
	add(s, "lanemask_lt", "u32", LT, 0);
	add(s, "lanemask_ge", "u32", GE, 0);
	add(s, "lanemask_gt", "u32", GT, 0);
	/* without an explicit cluster a block is one by itself (2.2.2) */
	add(s, "is_explicit_cluster", "pred", ZERO, 0);
	add(s, "cluster_ctarank", "u32", ZERO, 0);
	add(s, "cluster_nctarank", "u32", ONE, 0);
	add(s, "current_graph_exec", "u64", ZERO, 0);
}

static void ref_true(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	(void)in;
	out->bits = 1;
}

/* The text leaves its answer in %0, a predicate. */
static struct form *check(struct suite *s, const char *text, const char *name)
{
	struct form *f = form_add(
		s, "p=w", ref_true,
		text_of("{ .reg .b32 a, b, c, t; .reg .b64 x, y, z; .reg .pred p; %s }", text), "%s", name);

	f->block = 96;
	f->most = 192;
	return f;
}

static void add_checks(struct suite *s)
{
	struct form *f;

	check(s,
	      "mov.u32 a, %warpid; shfl.sync.idx.b32 b, a, 0, 31, 0xffffffff; setp.eq.u32 %0, a, b; mov.u32 "
	      "c, %nwarpid; "
	      "setp.lt.and.u32 %0, a, c, %0;",
	      "%warpid is the same in a warp and below %nwarpid");
	check(s, "mov.u32 a, %nwarpid; setp.ge.u32 %0, a, 3;", "%nwarpid is at least the warps of the block");
	check(s, "mov.u32 a, %smid; mov.u32 b, %nsmid; setp.lt.u32 %0, a, b;", "%smid is below %nsmid");
	check(s,
	      "mov.u64 x, %gridid; mov.u32 a, %gridid; cvt.u32.u64 b, x; setp.eq.u32 %0, a, b; "
	      "shfl.sync.idx.b32 c, a, 0, 31, 0xffffffff; setp.eq.and.u32 %0, a, c, %0;",
	      "%gridid in 64 and 32 bits");
	check(s, "mov.u64 x, %clock64; mov.u64 y, %clock64; setp.ge.u64 %0, y, x;", "%clock64 goes on");
	check(s, "mov.u32 a, %clock; mov.u32 b, %clock; sub.u32 c, b, a; setp.lt.u32 %0, c, 0x40000000;",
	      "%clock goes on");
	check(s,
	      "mov.u64 x, %clock64; mov.u32 a, %clock_hi; mov.u64 y, %clock64; shr.u64 x, x, 32; shr.u64 y, "
	      "y, 32; "
	      "cvt.u32.u64 b, x; cvt.u32.u64 c, y; setp.ge.u32 %0, a, b; setp.le.and.u32 %0, a, c, %0;",
	      "%clock_hi is the upper half of %clock64");
	check(s, "mov.u64 x, %globaltimer; mov.u64 y, %globaltimer; setp.ge.u64 %0, y, x;",
	      "%globaltimer goes on");
	check(s,
	      "mov.u64 x, %globaltimer; mov.u32 a, %globaltimer_hi; mov.u64 y, %globaltimer; shr.u64 x, x, "
	      "32; "
	      "shr.u64 y, y, 32; cvt.u32.u64 b, x; cvt.u32.u64 c, y; setp.ge.u32 %0, a, b; setp.le.and.u32 "
	      "%0, a, c, %0;",
	      "%globaltimer_hi is the upper half of %globaltimer");
	check(s,
	      "mov.u64 x, %globaltimer; mov.u32 a, %globaltimer_lo; mov.u64 y, %globaltimer; sub.u64 z, y, "
	      "x; "
	      "cvt.u32.u64 b, x; sub.u32 b, a, b; cvt.u64.u32 y, b; setp.le.u64 %0, y, z;",
	      "%globaltimer_lo is the lower half of %globaltimer");
	for (unsigned i = 0; i < 8; i++) {
		check(s, text_of("mov.u32 a, %%pm%u; mov.u32 b, a; setp.eq.u32 %%0, a, b;", i),
		      text_of("%%pm%u", i));
		check(s, text_of("mov.u64 x, %%pm%u_64; mov.u64 y, x; setp.eq.u64 %%0, x, y;", i),
		      text_of("%%pm%u_64", i));
	}
	for (unsigned i = 0; i < 32; i++)
		check(s,
		      text_of("mov.b32 a, %%envreg%u; mov.b32 b, %%envreg%u; setp.eq.u32 %%0, a, b;", i, i),
		      text_of("%%envreg%u", i));
	check(s,
	      "mov.b32 a, %reserved_smem_offset_begin; mov.b32 b, %reserved_smem_offset_end; "
	      "mov.b32 c, %reserved_smem_offset_cap; setp.le.u32 %0, a, b; sub.u32 t, b, a; setp.le.and.u32 "
	      "%0, t, c, %0;",
	      "%reserved_smem_offset_begin, _end, _cap");
	check(s,
	      "mov.b32 a, %reserved_smem_offset_0; mov.b32 b, %reserved_smem_offset_1; mov.b32 c, "
	      "%reserved_smem_offset_begin; setp.ge.u32 %0, a, c; setp.ge.and.u32 %0, b, c, %0;",
	      "%reserved_smem_offset_0, _1");
	/* at least what the kernel has, in units of 128 bytes; the other is larger by what the system reserves */
	f = check(
		s,
		".shared .b32 own; st.shared.u32 [own], 1; mov.u32 a, %total_smem_size; and.b32 b, a, 127; "
		"setp.eq.u32 %0, b, 0; setp.ge.and.u32 %0, a, 1004, %0; setp.le.and.u32 %0, a, 4096, %0;\n"
		"\tmov.u32 c, %aggr_smem_size; setp.ge.and.u32 %0, c, a, %0; mov.u32 c, %dynamic_smem_size; "
		"setp.eq.and.u32 %0, c, 1000, %0;",
		"%total_smem_size, %aggr_smem_size, %dynamic_smem_size");
	f->shared_bytes = 1000;
}

void forms_special(struct suite *s)
{
	add_positions(s);
	add_checks(s);
}
