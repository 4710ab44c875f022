/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers, PTX ISA 9.7.13.1 and .3. A barrier instruction first waits for the warp's lanes that have not ended, then
 * marks the warp's arrival; with a thread count a warp is 32 threads, whatever has ended. device_library/barrier.c has
 * the word in which arrivals are counted.
 */
#include "ptx/lower/barrier.h"

#include "ptx/lower/call_graph.h"
#include "ptx/lower/convergence.h"
#include "ptx/lower/dispatch_parts.h"
#include "ptx/lower/warp.h"

enum { NUMBERED = 16, CLUSTER = 16, ENDED_AT = 8 * (NUMBERED + 1), AREA_BYTES = ENDED_AT + 8 };
enum { ALL_NUMBERED = 0xffff, ALL = 0x1ffff };

static bool is_cluster(const struct ptx_inst *i)
{
	return i->op == PTX_OP_BARRIER_CLUSTER_ARRIVE || i->op == PTX_OP_BARRIER_CLUSTER_WAIT;
}

static uint32_t bits_to_count(const struct ptx_inst *i)
{
	if (is_cluster(i))
		return 1u << CLUSTER;
	if (i->src[0].kind != PTX_OPND_IMM)
		return ALL_NUMBERED;
	return i->sub == PTX_SUB_SYNC && !is_counted_barrier(i) ? 0 : 1u << (i->src[0].imm & 15);
}

void barrier_find_counted(struct lower *l, bool apart)
{
	for (uint32_t k = 0; k < l->norder; k++) {
		const struct ptx_func *f = l->m->funcs[l->order[k]];
		for (uint32_t n = 0; n < f->ninsts; n++)
			if (waits_for_block(&f->insts[n]))
				l->counted |= apart ? ALL : bits_to_count(&f->insts[n]);
	}
	l->uses_static_shared |= l->counted != 0;
}

static uint32_t area_offset(const struct lower *l)
{
	return (uint32_t)(l->kernel->shared_bytes + 7) & ~7u;
}

uint64_t barrier_shared_bytes(const struct lower *l)
{
	return l->counted ? area_offset(l) + AREA_BYTES : l->kernel->shared_bytes;
}

static struct ir in_area(struct lower *l, uint32_t offset)
{
	return ir_op(l, "getelementptr i8, ptr addrspace(3) @shared.static, i32 %u", area_offset(l) + offset);
}

static struct ir word_of(struct lower *l, struct ir number)
{
	return ir_op(l, "getelementptr i64, ptr addrspace(3) %s, i32 %s", in_area(l, 0).s, number.s);
}

static void fence(struct lower *l, const char *order)
{
	ir_line(l, "fence syncscope(\"workgroup\") %s", order);
}

static void whole_barrier(struct lower *l)
{
	fence(l, "release");
	ir_line(l, "call void @llvm.amdgcn.s.barrier()");
	fence(l, "acquire");
}

/* A branch around what only one lane of each warp does: writes its beginning, and returns the label that ends it. */
static unsigned begin_leader(struct lower *l, struct ir lanes)
{
	struct ir first = ir_op(l, "call i32 @llvm.cttz.i32(i32 %s, i1 false)", lanes.s);
	unsigned then = l->next++, end = l->next++;

	ir_line(l, "br i1 %s, label %%l%u, label %%l%u",
		ir_op(l, "icmp eq i32 %s, %s", first.s, warp_lane(l).s).s, then, end);
	ir_label(l, then);
	return end;
}

static void end_leader(struct lower *l, unsigned end)
{
	ir_line(l, "br label %%l%u", end);
	ir_label(l, end);
}

static struct ir count_bits(struct lower *l, struct ir mask)
{
	return ir_op(l, "call i32 @llvm.ctpop.i32(i32 %s)", mask.s);
}

void barrier_kernel_begins(struct lower *l)
{
	unsigned then = l->next++, end = l->next++;

	if (!l->counted)
		return;
	fputs("  %bar.generation = alloca i32, addrspace(5)\n  %cluster.generation = alloca i32, "
	      "addrspace(5)\n",
	      l->head);
	struct ir any = read_sreg(l, PTX_SREG_TID_X, 32);
	any = ir_op(l, "or i32 %s, %s", any.s, read_sreg(l, PTX_SREG_TID_Y, 32).s);
	any = ir_op(l, "or i32 %s, %s", any.s, read_sreg(l, PTX_SREG_TID_Z, 32).s);
	ir_line(l, "br i1 %s, label %%l%u, label %%l%u", ir_op(l, "icmp eq i32 %s, 0", any.s).s, then, end);
	ir_label(l, then);
	ir_line(l, "call void @llvm.memset.p3.i32(ptr addrspace(3) align 8 %s, i8 0, i32 %u, i1 false)",
		in_area(l, 0).s, AREA_BYTES);
	ir_line(l, "br label %%l%u", end);
	ir_label(l, end);
	whole_barrier(l);
}

void barrier_lanes_end(struct lower *l)
{
	if (!l->counted)
		return;
	struct ir lanes = warp_ballot(l, ir_text("true")), n = count_bits(l, lanes);
	unsigned end = begin_leader(l, lanes);
	ir_op(l, "atomicrmw add ptr addrspace(3) %s, i32 %s syncscope(\"workgroup\") release, align 4",
	      in_area(l, ENDED_AT).s, n.s);
	end_leader(l, end);
}

struct arrival {
	struct ir number, expected,
		hit; /* expected: threads, 0 = the whole block; hit: lanes that the reduction counts */
};

static struct ir block_threads(struct lower *l)
{
	struct ir n = read_sreg(l, PTX_SREG_NTID_X, 32);

	n = ir_op(l, "mul i32 %s, %s", n.s, read_sreg(l, PTX_SREG_NTID_Y, 32).s);
	return ir_op(l, "mul i32 %s, %s", n.s, read_sreg(l, PTX_SREG_NTID_Z, 32).s);
}

/* The warp's lanes that are here arrive, one of them for all; the number of the barrier's round. */
static struct ir arrive(struct lower *l, const struct arrival *a)
{
	fence(l, "release");
	struct ir lanes = warp_ballot(l, ir_text("true")),
		  whole = ir_op(l, "icmp eq i32 %s, 0", a->expected.s);
	struct ir add = ir_op(l, "select i1 %s, i32 %s, i32 32", whole.s, count_bits(l, lanes).s);
	struct ir hits = count_bits(l, warp_ballot(l, a->hit)), threads = block_threads(l);
	unsigned end = begin_leader(l, lanes);
	struct ir round = ir_op(
		l,
		"call i32 @ct_barrier_arrive(ptr addrspace(3) %s, ptr addrspace(3) %s, i32 %s, i32 %s, "
		"i32 %s, i32 %s)",
		word_of(l, a->number).s, in_area(l, ENDED_AT).s, add.s, hits.s, a->expected.s, threads.s);
	ir_line(l, "store i32 %s, ptr addrspace(5) %%bar.generation", round.s);
	end_leader(l, end);
	round = ir_op(l, "load i32, ptr addrspace(5) %%bar.generation");
	return warp_value_of_lane(l, round, ir_op(l, "call i32 @llvm.cttz.i32(i32 %s, i1 true)", lanes.s));
}

static struct ir poll(struct lower *l, const struct arrival *a, struct ir round)
{
	struct ir done = ir_op(
		l,
		"call i32 @ct_barrier_poll(ptr addrspace(3) %s, ptr addrspace(3) %s, i32 %s, i32 %s, i32 %s)",
		word_of(l, a->number).s, in_area(l, ENDED_AT).s, round.s, a->expected.s, block_threads(l).s);

	return ir_op(l, "icmp ne i32 %s, 0", done.s);
}

static struct ir hits_of(struct lower *l, const struct arrival *a, struct ir round)
{
	return ir_op(l, "call i32 @ct_barrier_hits(ptr addrspace(3) %s, i32 %s)", word_of(l, a->number).s,
		     round.s);
}

/* With control flow as it is: the wave polls as one. */
static void wait_here(struct lower *l, const struct arrival *a, struct ir round)
{
	unsigned again = l->next++, sleep = l->next++, end = l->next++;

	ir_line(l, "br label %%l%u", again);
	ir_label(l, again);
	ir_line(l, "br i1 %s, label %%l%u, label %%l%u", poll(l, a, round).s, end, sleep);
	ir_label(l, sleep);
	ir_line(l, "call void @llvm.amdgcn.s.sleep(i32 1)");
	ir_line(l, "br label %%l%u", again);
	ir_label(l, end);
	fence(l, "acquire");
}

static void store_word(struct lower *l, const char *name, const char *type, struct ir v)
{
	ir_line(l, "store %s %s, ptr addrspace(5) %%%s", type, v.s, name);
}

static struct ir load_word(struct lower *l, const char *name)
{
	return ir_op(l, "load i32, ptr addrspace(5) %%%s", name);
}

/* The states that all barriers of a dispatched kernel share. */
static void use_states(struct lower *l)
{
	struct dispatch *d = l->dispatch;

	if (d->barrier_arrive)
		return;
	d->arrive_label = l->next++;
	d->poll_label = l->next++;
	d->barrier_arrive = dispatch_state(l, ir_text("l%u", d->arrive_label), true);
	d->barrier_poll = dispatch_state(l, ir_text("l%u", d->poll_label), false);
}

static struct arrival handed_over(struct lower *l)
{
	struct arrival a = {
		.number = load_word(l, "d.key"),
		.expected = ir_resize(l, ir_op(l, "load i64, ptr addrspace(5) %%d.a0"), 64, 32, false)};

	a.hit = ir_resize(l, ir_op(l, "load i64, ptr addrspace(5) %%d.a1"), 64, 1, false);
	return a;
}

void barrier_write_states(struct lower *l)
{
	struct dispatch *d = l->dispatch;

	if (!d->barrier_arrive)
		return;
	ir_label(l, d->arrive_label);
	struct arrival a = handed_over(l);
	store_word(l, "d.r1", "i32", arrive(l, &a));
	struct ir waits = ir_resize(l, ir_op(l, "load i64, ptr addrspace(5) %%d.a2"), 64, 1, false);
	struct ir back = load_word(l, "d.back");
	dispatch_go_to(l, ir_op(l, "select i1 %s, i32 %u, i32 %s", waits.s, d->barrier_poll, back.s));
	ir_label(l, d->poll_label);
	a = handed_over(l);
	struct ir round = load_word(l, "d.r1"), done = poll(l, &a, round);
	store_word(l, "d.r0", "i32", hits_of(l, &a, round));
	ir_line(l, "call void @llvm.amdgcn.s.sleep(i32 1)");
	fence(l, "acquire");
	back = load_word(l, "d.back");
	dispatch_go_to(l, ir_op(l, "select i1 %s, i32 %s, i32 %u", done.s, back.s, d->barrier_poll));
}

/* Sets where the lane goes on behind the barrier; the label is to be written then. */
static unsigned come_back_here(struct lower *l)
{
	unsigned label = l->next++;

	store_word(l, "d.back", "i32", ir_text("%u", dispatch_state(l, ir_text("l%u", label), false)));
	return label;
}

static void barrier_by_states(struct lower *l, const struct arrival *a, bool waits, struct ir *hits)
{
	use_states(l);
	store_word(l, "d.members", "i32", ir_text("-1"));
	store_word(l, "d.key", "i32", a->number);
	store_word(l, "d.a0", "i64", ir_resize(l, a->expected, 32, 64, false));
	store_word(l, "d.a1", "i64", ir_resize(l, a->hit, 1, 64, false));
	store_word(l, "d.a2", "i64", ir_text("%d", waits));
	unsigned label = come_back_here(l);
	dispatch_go_to(l, ir_text("%u", l->dispatch->barrier_arrive));
	ir_label(l, label);
	*hits = load_word(l, "d.r0");
}

static void barrier_by_count(struct lower *l, const struct arrival *a, bool waits, struct ir *hits)
{
	struct ir round = arrive(l, a);

	if (!waits)
		return;
	wait_here(l, a, round);
	*hits = hits_of(l, a, round);
}

static void write_result(struct lower *l, struct ir hits)
{
	const struct ptx_inst *i = l->i;

	if (!i->ndst)
		return;
	if (!i->boolop) {
		write_bits(l, &i->dst[0], hits, 32, false);
		return;
	}
	const char *test = i->boolop == PTX_BOOL_AND ? "eq" : "ne";
	write_bits(l, &i->dst[0], ir_op(l, "icmp %s i32 %s, 0", test, hits.s), 1, false);
}

static struct arrival arrival_of(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct arrival a = {.expected = ir_text("0"), .hit = ir_text("false")};

	a.number = ir_op(l, "and i32 %s, 15", read_bits(l, &i->src[0], 32).s);
	if (is_counted_barrier(i))
		a.expected = read_bits(l, &i->src[1], 32);
	if (i->sub == PTX_SUB_RED)
		a.hit = read_bits(l, &i->src[i->nsrc - 1], 1);
	if (i->sub == PTX_SUB_RED && i->boolop == PTX_BOOL_AND)
		a.hit = ir_op(l, "xor i1 %s, true", a.hit.s);
	return a;
}

static bool lower_numbered(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	bool waits = i->sub != PTX_SUB_ARRIVE;

	if (!l->counted || (i->src[0].kind == PTX_OPND_IMM && !(l->counted >> (i->src[0].imm & 15) & 1))) {
		whole_barrier(l);
		return true;
	}
	struct arrival a = arrival_of(l);
	struct ir hits = ir_text("0");
	if (l->dispatch)
		barrier_by_states(l, &a, waits, &hits);
	else
		barrier_by_count(l, &a, waits, &hits);
	write_result(l, hits);
	return true;
}

/* Threads, not warps, arrive at a cluster's barrier (9.7.13.3); a cluster has one block. */
static bool lower_cluster_barrier(struct lower *l)
{
	const struct arrival a = {
		.number = ir_text("%d", CLUSTER), .expected = ir_text("0"), .hit = ir_text("false")};

	if (l->i->op == PTX_OP_BARRIER_CLUSTER_ARRIVE) {
		store_word(l, "cluster.generation", "i32", arrive(l, &a));
		return true;
	}
	struct ir round = load_word(l, "cluster.generation");
	if (!l->dispatch) {
		wait_here(l, &a, round);
		return true;
	}
	use_states(l);
	store_word(l, "d.key", "i32", a.number);
	store_word(l, "d.a0", "i64", ir_text("0"));
	store_word(l, "d.r1", "i32", round);
	unsigned label = come_back_here(l);
	dispatch_go_to(l, ir_text("%u", l->dispatch->barrier_poll));
	ir_label(l, label);
	return true;
}

bool lower_barrier(struct lower *l)
{
	if (!waits_for_block(l->i))
		return false;
	return is_cluster(l->i) ? lower_cluster_barrier(l) : lower_numbered(l);
}
