/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of dispatch.h: states, the choice among them, operations that several places share. What is called d.* are
 * variables of a lane, and the loop's blocks.
 */
#include "ptx/lower/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/lower/barrier.h"
#include "ptx/lower/convergence.h"
#include "ptx/lower/dispatch_parts.h"
#include "ptx/lower/warp.h"

enum { STATE_WAITS = 0x40000000, ENDED = -1 };
enum { MOST_IN_REGISTERS = 192 }; /* bytes of a lane's registers that stay in the GPU's from turn to turn */

unsigned dispatch_state(struct lower *l, struct ir label, bool waits)
{
	struct dispatch *d = l->dispatch;

	if (d->nstates == d->capacity) {
		uint32_t capacity = d->capacity ? 2 * d->capacity : 64;
		struct dispatch_state *grown = realloc(d->states, capacity * sizeof(*grown));
		if (!grown) {
			lower_no_memory(l);
			return 0;
		}
		d->states = grown;
		d->capacity = capacity;
	}
	d->states[d->nstates].label = label;
	d->states[d->nstates].number = d->nstates | (waits ? STATE_WAITS : 0);
	return d->states[d->nstates++].number;
}

void dispatch_variable(struct lower *l, const char *name, const char *type)
{
	fprintf(l->head, "  %%%s = alloca %s, addrspace(5)\n", name, type);
}

static void set(struct lower *l, const char *name, struct ir v)
{
	ir_line(l, "store i32 %s, ptr addrspace(5) %%%s", v.s, name);
}

static struct ir get(struct lower *l, const char *name)
{
	return ir_op(l, "load i32, ptr addrspace(5) %%%s", name);
}

void dispatch_go_to(struct lower *l, struct ir state)
{
	set(l, "d.pc", state);
	ir_line(l, "br label %%d.join");
}

void dispatch_wait_here(struct lower *l, struct ir members, struct ir key)
{
	unsigned label = l->next++;

	set(l, "d.members", members);
	set(l, "d.key", key);
	dispatch_go_to(l, ir_text("%u", dispatch_state(l, ir_text("l%u", label), true)));
	ir_label(l, label);
}

/* Operations of one kind, when there are several. */
static struct dispatch_class *class_of(struct dispatch *d, const struct ptx_inst *i)
{
	for (uint32_t k = 0; k < d->nclasses; k++)
		if (same_operation(d->classes[k].like, i))
			return &d->classes[k];
	return NULL;
}

static bool add_class(struct dispatch *d, const struct ptx_inst *i)
{
	struct dispatch_class *c = class_of(d, i);

	if (c) {
		c->uses++;
		return true;
	}
	struct dispatch_class *grown = realloc(d->classes, (d->nclasses + 1) * sizeof(*grown));
	if (!grown)
		return false;
	d->classes = grown;
	d->classes[d->nclasses++] = (struct dispatch_class){.like = i, .uses = 1};
	return true;
}

static void find_classes(struct lower *l)
{
	for (uint32_t k = 0; k < l->norder; k++) {
		const struct ptx_func *f = l->m->funcs[l->order[k]];
		for (uint32_t n = 0; l->facts[f->index].merged && n < f->ninsts; n++)
			if (waits_for_warp(&f->insts[n]) && !add_class(l->dispatch, &f->insts[n]))
				lower_no_memory(l);
	}
}

static struct ir members_of(struct lower *l)
{
	return read_bits(l, &l->i->src[l->i->nsrc - 1], 32);
}

/* Hands the operands to the state that all operations of this kind share, and takes the results. */
static void share_operation(struct lower *l, struct dispatch_class *c)
{
	const struct ptx_inst *i = l->i;
	unsigned label = l->next++, bits;

	for (unsigned k = 0; k < warp_source_count(i); k++) {
		bits = warp_source_bits(i, k);
		ir_line(l, "store i64 %s, ptr addrspace(5) %%d.a%u",
			ir_resize(l, read_bits(l, &i->src[k], bits), bits, 64, false).s, k);
	}
	set(l, "d.members", members_of(l));
	set(l, "d.key", ir_text("0"));
	set(l, "d.back", ir_text("%u", dispatch_state(l, ir_text("l%u", label), false)));
	if (!c->number) {
		c->label = l->next++;
		c->number = dispatch_state(l, ir_text("l%u", c->label), true);
	}
	dispatch_go_to(l, ir_text("%u", c->number));
	ir_label(l, label);
	for (unsigned k = 0; k < i->ndst; k++) {
		bits = warp_result_bits(i, k);
		struct ir v = get(l, k ? "d.r1" : "d.r0");
		write_bits(l, &i->dst[k], ir_resize(l, v, 32, bits, false), bits, false);
	}
}

static void write_class(struct lower *l, const struct dispatch_class *c)
{
	struct warp_values v = {0};

	l->i = c->like;
	ir_label(l, c->label);
	for (unsigned k = 0; k < warp_source_count(l->i); k++)
		v.src[k] = ir_resize(l, ir_op(l, "load i64, ptr addrspace(5) %%d.a%u", k), 64,
				     warp_source_bits(l->i, k), false);
	v.members = ir_op(l, "and i32 %s, %s", get(l, "d.members").s, warp_ballot(l, ir_text("true")).s);
	if (warp_compute(l, &v) && warp_result_count(l->i)) {
		set(l, "d.r0", ir_resize(l, v.dst[0], warp_result_bits(l->i, 0), 32, false));
		if (v.dst[1].s[0])
			set(l, "d.r1", ir_resize(l, v.dst[1], 1, 32, false));
	}
	dispatch_go_to(l, get(l, "d.back"));
}

/* Of 9.7.14: all are .aligned, which the IR doesn't say of them. */
static bool is_matrix_operation(const struct ptx_inst *i)
{
	return i->op >= PTX_OP_WMMA_LOAD && i->op <= PTX_OP_MOVMATRIX;
}

bool dispatch_warp_operation(struct lower *l)
{
	const struct ptx_inst *i = l->i;

	if (waits_for_warp(i)) {
		struct dispatch_class *c = class_of(l->dispatch, i);
		if (c && c->uses > 1) {
			share_operation(l, c);
			return true;
		}
		dispatch_wait_here(l, members_of(l), ir_text("0"));
	} else if (!waits_for_block(i) && (i->flags & PTX_F_ALIGNED || is_matrix_operation(i))) {
		dispatch_wait_here(l, ir_text("-1"), ir_text("0"));
	}
	return false;
}

static uint32_t slot_bytes(const struct ptx_func *f, uint32_t k)
{
	return f->slots[k].bits > 64 ? 16 : f->slots[k].bits > 32 ? 8 : 4;
}

void dispatch_slot(struct lower *l, uint32_t k)
{
	struct dispatch *d = l->dispatch;
	uint32_t bytes = slot_bytes(l->f, k);

	if (!d->slot_bytes) {
		fprintf(l->head, "  %%%sslot%u = alloca i%u, addrspace(5)\n", l->prefix, k,
			l->f->slots[k].bits);
		return;
	}
	d->slots_used = (d->slots_used + bytes - 1) & ~(bytes - 1);
	fprintf(l->head, "  %%%sslot%u = getelementptr i8, ptr addrspace(5) %%d.slots, i32 %u\n", l->prefix,
		k, d->slots_used);
	d->slots_used += bytes;
}

/* Alignment may cost as much again. */
static void choose_place_of_slots(struct lower *l)
{
	uint32_t bytes = 0;

	for (uint32_t n = 0; n < l->norder; n++) {
		const struct ptx_func *f = l->m->funcs[l->order[n]];
		for (uint32_t k = 1; l->facts[f->index].merged && k < f->nslots; k++)
			bytes += slot_bytes(f, k);
	}
	if (bytes <= MOST_IN_REGISTERS)
		return;
	l->dispatch->slot_bytes = 2 * bytes + 16;
	fprintf(l->head, "  %%d.slots = alloca [%u x i8], align 16, addrspace(5)\n", l->dispatch->slot_bytes);
}

static void write_variables(struct lower *l)
{
	static const char *const words[] = {"d.pc", "d.members", "d.key", "d.back", "d.r0", "d.r1"};

	for (unsigned k = 0; k < sizeof(words) / sizeof(words[0]); k++)
		dispatch_variable(l, words[k], "i32");
	for (unsigned k = 0; k < 3; k++)
		fprintf(l->head, "  %%d.a%u = alloca i64, addrspace(5)\n", k);
	fprintf(l->head, "  %%d.turn = alloca i%u, addrspace(5)\n", l->target->wave);
	ir_line(l, "store i%u 0, ptr addrspace(5) %%d.turn", l->target->wave);
	for (unsigned k = 1; k < sizeof(words) / sizeof(words[0]); k++)
		set(l, words[k], ir_text("0"));
}

static struct ir wave_ballot(struct lower *l, struct ir p)
{
	return ir_op(l, "call i%u @llvm.amdgcn.ballot.i%u(i1 %s)", l->target->wave, l->target->wave, p.s);
}

static struct ir of_lane(struct lower *l, struct ir v, struct ir lane)
{
	return ir_op(l, "call i32 @llvm.amdgcn.readlane.i32(i32 %s, i32 %s)", v.s, lane.s);
}

/* The half of a mask of the wave in which `lane` is. */
static struct ir half_with(struct lower *l, struct ir mask, struct ir lane)
{
	if (l->target->wave == 32)
		return mask;
	struct ir from = ir_resize(l, ir_op(l, "and i32 %s, 32", lane.s), 32, 64, false);
	return ir_op(l, "trunc i64 %s to i32", ir_op(l, "lshr i64 %s, %s", mask.s, from.s).s);
}

/* Lanes in rotation: the lowest of those that the last rounds left over. */
static struct ir choose_lane(struct lower *l, struct ir alive, struct ir *from)
{
	unsigned w = l->target->wave;
	struct ir left = ir_op(l, "load i%u, ptr addrspace(5) %%d.turn", w);

	left = ir_op(l, "and i%u %s, %s", w, left.s, alive.s);
	struct ir over = ir_op(l, "icmp eq i%u %s, 0", w, left.s);
	*from = ir_op(l, "select i1 %s, i%u %s, i%u %s", over.s, w, alive.s, w, left.s);
	return ir_resize(l, ir_op(l, "call i%u @llvm.cttz.i%u(i%u %s, i1 true)", w, w, w, from->s), w, 32,
			 false);
}

/* Of the states that wait, lanes belong together that have the same members and the same key, in the same half. */
static struct ir alike(struct lower *l, struct ir members, struct ir theirs, struct ir lane)
{
	struct ir key = get(l, "d.key");
	struct ir same = ir_op(l, "icmp eq i32 %s, %s", members.s, theirs.s);
	struct ir also = ir_op(l, "icmp eq i32 %s, %s", key.s, of_lane(l, key, lane).s);

	same = ir_op(l, "and i1 %s, %s", same.s, also.s);
	if (l->target->wave == 32)
		return same;
	struct ir apart = ir_op(l, "xor i32 %s, %s", wave_lane(l).s, lane.s);
	also = ir_op(l, "icmp ult i32 %s, 32", apart.s);
	return ir_op(l, "and i1 %s, %s", same.s, also.s);
}

static void write_turn(struct lower *l)
{
	unsigned w = l->target->wave;

	fputs("d.next:\n", l->body);
	struct ir pc = get(l, "d.pc"), live = ir_op(l, "icmp ne i32 %s, %d", pc.s, ENDED), from;
	struct ir alive = wave_ballot(l, live);
	ir_line(l, "br i1 %s, label %%d.end, label %%d.pick", ir_op(l, "icmp eq i%u %s, 0", w, alive.s).s);
	fputs("d.pick:\n", l->body);
	struct ir lane = choose_lane(l, alive, &from), chosen = of_lane(l, pc, lane),
		  members = get(l, "d.members");
	struct ir theirs = of_lane(l, members, lane);
	struct ir at_once = ir_op(l, "icmp slt i32 %s, %d", chosen.s, STATE_WAITS);
	struct ir mine = ir_op(l, "or i1 %s, %s", at_once.s, alike(l, members, theirs, lane).s);
	mine = ir_op(l, "and i1 %s, %s", mine.s, ir_op(l, "icmp eq i32 %s, %s", pc.s, chosen.s).s);
	struct ir group = wave_ballot(l, mine);
	struct ir rest = ir_op(l, "and i%u %s, %s", w, from.s, ir_op(l, "xor i%u %s, -1", w, group.s).s);
	ir_line(l, "store i%u %s, ptr addrspace(5) %%d.turn", w, rest.s);
	struct ir lack = ir_op(l, "xor i32 %s, -1", half_with(l, group, lane).s);
	lack = ir_op(l, "and i32 %s, %s", lack.s, half_with(l, alive, lane).s);
	lack = ir_op(l, "and i32 %s, %s", lack.s, theirs.s);
	struct ir go = ir_op(l, "or i1 %s, %s", at_once.s, ir_op(l, "icmp eq i32 %s, 0", lack.s).s);
	ir_line(l, "br i1 %s, label %%d.run, label %%d.join", ir_op(l, "and i1 %s, %s", mine.s, go.s).s);
	fputs("d.run:\n", l->body);
	fprintf(l->body, "  switch i32 %s, label %%d.join [", chosen.s);
	for (uint32_t k = 0; k < l->dispatch->nstates; k++)
		fprintf(l->body, " i32 %u, label %%%s", l->dispatch->states[k].number,
			l->dispatch->states[k].label.s);
	fputs(" ]\n", l->body);
}

/* Lanes that end; the last ones leave the loop together. */
static void write_ends(struct lower *l)
{
	fputs("d.exit:\n", l->body);
	barrier_lanes_end(l);
	dispatch_go_to(l, ir_text("%d", ENDED));
	fputs("d.join:\n", l->body);
	if (l->dispatch->slot_bytes)
		ir_line(l, "call void asm sideeffect \"\", \"v,~{memory}\"(ptr addrspace(5) %%d.slots)");
	ir_line(l, "br label %%d.next");
	fputs("d.end:\n", l->body);
	ir_line(l, "ret void");
}

static void write_merged(struct lower *l)
{
	for (uint32_t k = 0; k < l->norder && !l->refused; k++) {
		struct ptx_func *f = l->m->funcs[l->order[k]];
		if (!l->facts[f->index].merged)
			continue;
		l->f = f;
		l->i = NULL;
		dispatch_write_function(l);
	}
	l->f = l->kernel;
	l->prefix[0] = 0;
}

void write_dispatched(struct lower *l)
{
	struct dispatch d = {0};

	l->dispatch = &d;
	find_classes(l);
	choose_place_of_slots(l);
	write_variables(l);
	dispatch_frames_begin(l);
	barrier_kernel_begins(l);
	unsigned first = dispatch_state(l, ir_text("f.enter"), false);
	set(l, "d.pc", ir_text("%u", first));
	ir_line(l, "br label %%d.next");
	write_merged(l);
	for (uint32_t k = 0; k < d.nclasses && !l->refused; k++)
		if (d.classes[k].number)
			write_class(l, &d.classes[k]);
	l->i = NULL;
	barrier_write_states(l);
	write_turn(l);
	write_ends(l);
	l->dispatch = NULL;
	free(d.states);
	free(d.classes);
	free(d.cut);
}
