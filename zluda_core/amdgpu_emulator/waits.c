/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters of outstanding instructions: RDNA 3 ISA, 5.6 and CDNA 3 ISA, 4.4 (S_WAITCNT), RDNA 4 ISA, 5.7 (S_WAIT_*CNT). Which
 * instructions complete in their order: there, and AMDGPUUsage, "Memory Model GFX6-GFX9" and later ("completion is
 * reported to a wavefront in execution order"; flat instructions of gfx9 apart, which may go to LDS or to memory; scalar
 * loads in no order).
 *
 * An instruction is complete for certain when more of those that complete in order with it were issued from it on than
 * may still be outstanding after a wait.
 */
#include "zluda_core/amdgpu_emulator/waits.h"

#include <stdio.h>
#include <string.h>

/* Instructions of one counter and order complete one after another; ORDER_NONE in any order. Stores of gfx10 and later have
 * a counter of their own (VS_CNT, STORECNT), which no register waits for. Exports are not executed here. */
enum { ORDER_MEMORY, ORDER_LDS, ORDER_FLAT, ORDER_MESSAGE, ORDER_NONE };

void waits_reset(struct waits *t)
{
	memset(t->count, 0, sizeof t->count);
}

/* ---- what an instruction adds */

struct result {
	const struct operand *reg; /* NULL: counts only */
	bool vector;
};

static void add(struct wave *w, const struct insn *in, unsigned counter, unsigned order, struct result r)
{
	struct waits *t = w->waits;
	struct pending *p = t->pending[counter];

	/* The counter is full: the hardware would not have issued this one before the oldest was complete. */
	if (t->count[counter] == PENDING_MAX) {
		memmove(p, p + 1, (PENDING_MAX - 1) * sizeof *p);
		t->count[counter]--;
	}
	p[t->count[counter]++] = (struct pending){.in = in,
						  .lanes = r.vector ? wave_exec(w) : 1,
						  .offset = w->pc - in->size,
						  .reg = r.reg ? r.reg->reg : 0,
						  .words = r.reg ? r.reg->words : 0,
						  .order = (uint8_t)order,
						  .vector = r.vector};
}

static void add_vector_memory(struct wave *w, const struct insn *in)
{
	const struct memory_op *m = &in->mem;
	bool returns = m->action == ACTION_LOAD || (m->action == ACTION_ATOMIC && m->returns);
	struct result r = {returns ? m->space == SPACE_BUFFER ? &in->src[1] : &in->dst : NULL, true};
	bool flat9 = m->space == SPACE_FLAT && w->gfx == 9;

	if (m->space == SPACE_LDS) {
		add(w, in, WAIT_LDS, ORDER_LDS, r);
		return;
	}
	if (returns || w->gfx == 9)
		add(w, in, WAIT_LOAD, flat9 ? ORDER_FLAT : ORDER_MEMORY, r);
	if (m->space == SPACE_FLAT)
		add(w, in, WAIT_LDS, flat9 ? ORDER_FLAT : ORDER_LDS, r);
}

static unsigned scalar_counter(const struct wave *w)
{
	return w->gfx >= 12 ? WAIT_SCALAR : WAIT_LDS; /* KMCNT, or LGKM_CNT */
}

static void note(struct wave *w, const struct insn *in)
{
	if (in->exec == exec_memory)
		add_vector_memory(w, in);
	else if (in->exec == exec_scalar_load)
		add(w, in, scalar_counter(w), ORDER_NONE, (struct result){&in->dst, false});
	else if (in->issue == ISSUE_LDS)
		add(w, in, WAIT_LDS, ORDER_LDS, (struct result){&in->dst, true});
	else if (in->issue == ISSUE_MESSAGE)
		add(w, in, scalar_counter(w), ORDER_MESSAGE, (struct result){&in->dst, false});
	else if (in->issue == ISSUE_SCALAR)
		add(w, in, scalar_counter(w), ORDER_NONE, (struct result){&in->dst, false});
	else if (in->issue == ISSUE_WRITE_BACK && w->gfx == 9)
		add(w, in, WAIT_LOAD, ORDER_MEMORY, (struct result){NULL, true});
}

/* ---- what a wait completes */

static void wait_for(struct waits *t, unsigned counter, unsigned most)
{
	struct pending *p = t->pending[counter];
	unsigned later[ORDER_NONE] = {0}, kept = t->count[counter];

	/* from the youngest to the oldest: how many of each order were issued from it on */
	for (unsigned i = t->count[counter]; i--;) {
		unsigned from = p[i].order == ORDER_NONE ? 1 : ++later[p[i].order];
		if (from > most)
			p[i].in = NULL;
	}
	kept = 0;
	for (unsigned i = 0; i < t->count[counter]; i++)
		if (p[i].in)
			p[kept++] = p[i];
	t->count[counter] = kept;
}

/* ---- what an instruction touches */

static bool names(const struct operand *o, bool vector)
{
	return vector ? o->kind == OPD_VGPR : o->kind == OPD_SGPR;
}

/* The register of a pending result that the operand names, or -1. */
static int common(const struct pending *p, const struct operand *o)
{
	unsigned first = o->reg > p->reg ? o->reg : p->reg;

	if (!p->words || !names(o, p->vector))
		return -1;
	return first < o->reg + o->words && first < (unsigned)p->reg + p->words ? (int)first : -1;
}

static bool complain(struct wave *w, const struct pending *p, int reg, uint64_t lanes, const char *verb)
{
	const char *file;
	unsigned line;
	char from[160] = "";

	if (amdgpu_object_source(w->group->object, p->offset, &file, &line))
		snprintf(from, sizeof from, " (%.100s:%u)", file, line);
	wave_fault(w, AMDGPU_FAULT_WAIT, lanes ? (unsigned)__builtin_ctzll(lanes) : 0, 0,
		   "%c%d is %s before `%.80s`%s has been waited for", p->vector ? 'v' : 's',
		   p->vector && reg >= VGPRS / 2 ? reg - VGPRS / 2 : reg, verb, p->in->text, from);
	return false;
}

static bool check_operand(struct wave *w, const struct insn *in, const struct operand *o, bool write)
{
	const struct waits *t = w->waits;
	uint64_t exec = in->dpp || in->crosses ? ~0ull : wave_exec(w);

	if (o->kind != OPD_VGPR && o->kind != OPD_SGPR)
		return true;
	for (unsigned c = 0; c < WAIT_COUNTERS; c++) {
		for (unsigned i = 0; i < t->count[c]; i++) {
			const struct pending *p = &t->pending[c][i];
			int reg = common(p, o);
			uint64_t lanes = p->vector ? p->lanes & exec : 1;
			if (reg < 0 || !lanes ||
			    (write && p->order != ORDER_NONE && in->issue == p->in->issue))
				continue;
			return complain(w, p, reg, lanes, write ? "overwritten" : "read");
		}
	}
	return true;
}

static bool check_insn(struct wave *w, const struct insn *in)
{
	static const struct operand vcc = {.kind = OPD_SGPR, .reg = SREG_VCC, .words = 2};
	bool buffer = in->exec == exec_memory && in->mem.space == SPACE_BUFFER;

	for (unsigned k = 0; k < 4; k++) {
		/* the data of a buffer's load is its result */
		bool write = buffer && k == 1 && in->mem.action == ACTION_LOAD;
		if (!check_operand(w, in, &in->src[k], write))
			return false;
	}
	if (!check_operand(w, in, &in->mask_in, false) || !check_operand(w, in, &in->mask_out, true) ||
	    !check_operand(w, in, &in->dst, true))
		return false;
	return !in->reads_vcc || check_operand(w, in, &vcc, false);
}

bool waits_check(struct wave *w, const struct insn *in)
{
	for (unsigned c = 0; c < WAIT_COUNTERS; c++)
		if (in->wait[c])
			wait_for(w->waits, c, in->wait[c] - 1u);
	if (!check_insn(w, in) || (in->dual && !check_insn(w, in->dual)))
		return false;
	note(w, in);
	return true;
}
