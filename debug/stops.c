/* SPDX-License-Identifier: Apache-2.0
 *
 * Where execution stops: breakpoints, watchpoints, steps. Everything is looked at before an instruction is executed; what a
 * watchpoint compares is then what the previous one left. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/session.h"

struct breakpoint *break_find(struct session *s, uint32_t number)
{
	for (unsigned k = 0; k < MAX_BREAKS; k++)
		if (s->sh->breaks[k].kind != BREAK_FREE && s->sh->breaks[k].number == number)
			return &s->sh->breaks[k];
	return NULL;
}

struct breakpoint *break_new(struct session *s, struct diag *d)
{
	for (unsigned k = 0; k < MAX_BREAKS; k++) {
		struct breakpoint *b = &s->sh->breaks[k];

		if (b->kind != BREAK_FREE)
			continue;
		*b = (struct breakpoint){.enabled = true, .number = s->sh->next_number};
		return b; /* counted when its kind is set */
	}
	diag_set(d, CUTRACE_EINVAL, "", "there are %u breakpoints already; delete some", MAX_BREAKS);
	return NULL;
}

const char *break_kind_name(uint8_t kind)
{
	static const char *const names[] = {"", "breakpoint", "watchpoint", "read watchpoint",
					    "access watchpoint"};

	return names[kind];
}

/* ---- before execution goes on ---------------------------------------------------------- */

static bool read_watched(const struct session *s, const struct breakpoint *b, uint8_t *out)
{
	uint8_t all[DEBUG_LANES * 16];
	struct debug_frame f;
	bool pred = b->type == PTX_PRED;

	memset(out, 0, 16);
	if (!b->is_register)
		return s->view.read(s->view.state, &b->at, out, b->bytes);
	if (!s->view.frame(s->view.state, b->at.block, b->at.warp, b->at.lane, 0, &f) ||
	    f.func != b->where.func ||
	    !s->view.reg(s->view.state, b->at.block, b->at.warp, b->at.lane, 0, b->where.inst, all,
			 pred ? 4 : DEBUG_LANES * b->bytes))
		return false;
	if (pred)
		out[0] = all[b->at.lane / 8] >> b->at.lane % 8 & 1;
	else
		memcpy(out, all + (size_t)b->at.lane * b->bytes, b->bytes);
	return true;
}

static void prepare_one(struct session *s, unsigned k)
{
	const struct breakpoint *b = &s->sh->breaks[k];
	struct diag d = DIAG_INIT;

	expression_free(s->conditions[k]);
	s->conditions[k] = NULL;
	if (b->kind == BREAK_FREE || !b->enabled)
		return;
	if (b->condition[0])
		expression_parse(s, b->kind == BREAK_CODE ? b->places[0].func : s->entry->index, b->condition,
				 &s->conditions[k], &d);
	if (b->kind != BREAK_CODE) {
		s->has_watches = true;
		s->watched[k].known = read_watched(s, b, s->watched[k].bytes);
		return;
	}
	for (uint32_t p = 0; p < b->nplaces; p++)
		s->flags[b->places[p].func][b->places[p].inst] = 1;
}

void stops_prepare(struct session *s)
{
	const struct motion *m = &s->sh->motion;

	for (uint32_t f = 0; f < s->module->nfuncs; f++)
		if (s->flags[f])
			memset(s->flags[f], 0, s->module->funcs[f]->ninsts + 1);
	s->has_watches = false;
	for (unsigned k = 0; k < MAX_BREAKS; k++)
		prepare_one(s, k);
	s->attentive = m->goal != GOAL_TIME && (s->has_watches || m->step != STEP_NONE);
}

/* ---- one instruction ---------------------------------------------------------------------- */

static uint32_t first_of(uint32_t mask)
{
	return (uint32_t)__builtin_ctz(mask);
}

/* The thread that a stop shows: the one that was looked at, when it is among them. */
static struct focus choose(const struct session *s, const struct debug_at *at, uint32_t lanes)
{
	const struct focus *f = &s->sh->focus;
	bool same = f->block == at->block && f->warp == at->warp && lanes >> f->lane & 1;

	return (struct focus){.block = at->block, .warp = at->warp, .lane = same ? f->lane : first_of(lanes)};
}

static uint32_t lanes_where_true(struct session *s, unsigned k, const struct debug_at *at)
{
	struct focus f = {.block = at->block, .warp = at->warp};
	struct diag d = DIAG_INIT;
	uint32_t yes = 0;
	struct value v;

	if (!s->sh->breaks[k].condition[0])
		return at->mask;
	for (f.lane = 0; s->conditions[k] && f.lane < DEBUG_LANES; f.lane++)
		if (at->mask >> f.lane & 1 && !expression_eval(s, s->conditions[k], &f, &v, &d) &&
		    value_true(&v))
			yes |= 1u << f.lane;
	return yes;
}

static bool is_at(const struct breakpoint *b, const struct debug_at *at)
{
	for (uint32_t k = 0; k < b->nplaces; k++)
		if (b->places[k].func == at->func && b->places[k].inst == at->inst)
			return true;
	return false;
}

static bool check_breakpoints(struct session *s, const struct debug_at *at, struct stop *out)
{
	for (unsigned k = 0; k < MAX_BREAKS; k++) {
		const struct breakpoint *b = &s->sh->breaks[k];
		uint32_t lanes;

		if (b->kind != BREAK_CODE || !b->enabled || !is_at(b, at) ||
		    !(lanes = lanes_where_true(s, k, at)))
			continue;
		*out = (struct stop){
			.reason = STOP_BREAK, .number = b->number, .focus = choose(s, at, lanes)};
		return true;
	}
	return false;
}

static void describe_value(const struct breakpoint *b, const struct watch_value *v, char *out, size_t size)
{
	const struct format f = {0};

	if (v->known)
		typed_format(v->bytes, b->bytes, (enum ptx_type)b->type, &f, out, size);
	else
		snprintf(out, size, "(not there)");
}

static bool check_change(struct session *s, unsigned k, const struct debug_at *at, struct stop *out)
{
	const struct breakpoint *b = &s->sh->breaks[k];
	struct watch_value old = s->watched[k], *v = &s->watched[k];
	char was[128], is[128], place[300];
	uint32_t lanes;
	bool reads, writes;

	v->known = read_watched(s, b, v->bytes);
	if (!old.known || !v->known || !memcmp(old.bytes, v->bytes, b->bytes) || !s->has_before)
		return false;
	lanes = b->is_register ? 1u << b->at.lane : place_accessed(s, &s->before, b, &reads, &writes);
	*out = (struct stop){.reason = STOP_WATCH, .number = b->number, .focus = choose(s, at, at->mask)};
	describe_value(b, &old, was, sizeof(was));
	describe_value(b, v, is, sizeof(is));
	if (!lanes)
		lanes = s->before.mask;
	out->focus = choose(s, &s->before, lanes);
	code_describe(s, s->before.func, s->before.inst, place, sizeof(place));
	snprintf(out->text, sizeof(out->text), "Old value = %s\nNew value = %s, by %s", was, is, place);
	return true;
}

static bool check_access(struct session *s, unsigned k, const struct debug_at *at, struct stop *out)
{
	const struct breakpoint *b = &s->sh->breaks[k];
	bool reads = false, writes = false;
	uint32_t lanes = b->is_register ? 0 : place_accessed(s, at, b, &reads, &writes);
	char value[128];
	struct watch_value v = {0};

	if (!lanes || !(reads || (b->kind == BREAK_ACCESS && writes)))
		return false;
	*out = (struct stop){.reason = STOP_WATCH, .number = b->number, .focus = choose(s, at, lanes)};
	v.known = read_watched(s, b, v.bytes);
	describe_value(b, &v, value, sizeof(value));
	snprintf(out->text, sizeof(out->text), "Value = %s, about to be %s", value,
		 reads && writes ? "read and written"
		 : reads         ? "read"
				 : "written");
	return true;
}

static bool watch_condition(struct session *s, unsigned k, const struct stop *stop)
{
	struct diag d = DIAG_INIT;
	struct value v;

	return !s->sh->breaks[k].condition[0] ||
	       (s->conditions[k] && !expression_eval(s, s->conditions[k], &stop->focus, &v, &d) &&
		value_true(&v));
}

static bool check_watches(struct session *s, const struct debug_at *at, struct stop *out)
{
	bool hit = false;

	for (unsigned k = 0; s->has_watches && k < MAX_BREAKS; k++) {
		const struct breakpoint *b = &s->sh->breaks[k];
		struct stop stop;
		bool yes;

		if (b->kind < BREAK_WRITE || !b->enabled)
			continue;
		yes = b->kind == BREAK_WRITE ? check_change(s, k, at, &stop) : check_access(s, k, at, &stop);
		if (yes && !hit && watch_condition(s, k, &stop)) {
			*out = stop;
			hit = true;
		}
	}
	return hit;
}

/* ---- steps --------------------------------------------------------------------------------- */

static bool has_exited(const struct session *s, const struct focus *f)
{
	struct debug_warp w;

	return !s->view.warp(s->view.state, f->block, f->warp, &w) || !(w.lanes >> f->lane & 1);
}

/* A source line begins here for the thread: it was at another one before. Instructions of no line don't count. */
static bool line_begins(struct session *s, const struct debug_at *at)
{
	uint32_t file, line;
	bool begins = true;

	if (!code_source(s, at->func, at->inst, &file, &line))
		return false;
	if (s->seen.known)
		begins = file != s->seen.file || line != s->seen.line || at->depth != s->seen.depth;
	else if (s->definite)
		s->definite = s->now + 1; /* what was before it is not known */
	s->seen.known = true;
	s->seen.file = file;
	s->seen.line = line;
	s->seen.depth = at->depth;
	return begins;
}

static bool other_line(const struct session *s, const struct debug_at *at)
{
	const struct motion *m = &s->sh->motion;
	uint32_t file, line;

	return code_source(s, at->func, at->inst, &file, &line) &&
	       (file != m->file || line != m->line || at->depth != m->depth);
}

static bool step_is_done(struct session *s, const struct debug_at *at)
{
	const struct motion *m = &s->sh->motion;
	bool shallow = at->depth <= m->depth, back = m->goal == GOAL_SCAN;

	switch (m->step) {
	case STEP_INST: return true;
	case STEP_INST_OVER: return shallow;
	case STEP_OUT: return at->depth < m->depth;
	case STEP_LINE: return back ? line_begins(s, at) : other_line(s, at);
	case STEP_LINE_OVER: return shallow && (back ? line_begins(s, at) : other_line(s, at));
	default: return false;
	}
}

/* Another warp's turn begins: only then the thread can have left meanwhile. */
static bool turn_changes(const struct session *s, const struct debug_at *at)
{
	return !s->has_before || s->before.block != at->block || s->before.warp != at->warp;
}

static bool thread_is_gone(struct session *s, const struct debug_at *at, struct stop *out)
{
	const struct motion *m = &s->sh->motion;

	if (m->goal == GOAL_SCAN || !has_exited(s, &m->from))
		return false;
	*out = (struct stop){.reason = STOP_EXITED, .focus = choose(s, at, at->mask)};
	return true;
}

static bool check_step(struct session *s, const struct debug_at *at, struct stop *out)
{
	struct motion *m = &s->sh->motion;
	bool same = at->block == m->from.block && at->warp == m->from.warp;

	if (m->step == STEP_NONE)
		return false;
	*out = (struct stop){.reason = STOP_STEP, .focus = m->from};
	if (same && m->step == STEP_WARP)
		out->focus = choose(s, at, at->mask);
	else if (!same || !(at->mask >> m->from.lane & 1) || !step_is_done(s, at))
		return same ? thread_is_gone(s, at, out) : turn_changes(s, at) && thread_is_gone(s, at, out);
	if (m->goal == GOAL_SCAN || m->count <= 1)
		return true;
	m->count--;
	if (m->step == STEP_LINE || m->step == STEP_LINE_OVER) {
		code_source(s, at->func, at->inst, &m->file, &m->line);
		m->depth = at->depth;
	}
	return false;
}

/* Counts the stop; false: it is to be passed. */
static bool counts(struct session *s, const struct stop *stop)
{
	struct breakpoint *b;

	if (s->sh->motion.goal != GOAL_RUN || (stop->reason != STOP_BREAK && stop->reason != STOP_WATCH))
		return true;
	b = break_find(s, stop->number);
	if (!b)
		return true;
	b->hits++;
	if (b->ignore) {
		b->ignore--;
		return false;
	}
	if (b->temporary)
		b->kind = BREAK_FREE;
	return true;
}

bool stops_check(struct session *s, const struct debug_at *at, struct stop *out)
{
	bool step, watch, hit = false;
	struct stop stepped, watched;

	watch = check_watches(s, at,
			      &watched); /* always, so that old values are those of the last instruction */
	step = check_step(s, at, &stepped);
	if (s->flags[at->func][at->inst])
		hit = check_breakpoints(s, at, out) && counts(s, out);
	if (!hit && watch) {
		*out = watched;
		hit = counts(s, out);
	}
	if (!hit && step) {
		*out = stepped;
		hit = true;
	}
	return hit;
}
