/* SPDX-License-Identifier: Apache-2.0
 *
 * Where threads are: the one that is looked at, its calls, warps, blocks; and what is known of the launch. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/session.h"

/* ---- threads --------------------------------------------------------------------------- */

static uint32_t threads_of(const struct session *s)
{
	return s->launch.block[0] * s->launch.block[1] * s->launch.block[2];
}

static uint64_t blocks_of(const struct session *s)
{
	return (uint64_t)s->launch.grid[0] * s->launch.grid[1] * s->launch.grid[2];
}

void thread_index(const struct session *s, uint32_t warp, uint32_t lane, uint32_t xyz[3])
{
	uint32_t t = warp * DEBUG_LANES + lane;
	const uint32_t *n = s->launch.block;

	xyz[0] = t % n[0];
	xyz[1] = t / n[0] % n[1];
	xyz[2] = t / n[0] / n[1];
}

void block_index(const struct session *s, uint64_t linear, uint32_t xyz[3])
{
	const uint32_t *n = s->launch.grid;

	xyz[0] = (uint32_t)(linear % n[0]);
	xyz[1] = (uint32_t)(linear / n[0] % n[1]);
	xyz[2] = (uint32_t)(linear / n[0] / n[1]);
}

bool focus_is_there(const struct session *s, const struct focus *f, struct debug_frame *frame)
{
	return s->state != STATE_ENDED &&
	       s->view.frame(s->view.state, f->block, f->warp, f->lane, f->level, frame);
}

int need_thread(const struct session *s, struct debug_frame *frame, struct diag *d)
{
	if (focus_is_there(s, &s->sh->focus, frame))
		return 0;
	diag_set(d, CUTRACE_EINVAL, "",
		 s->state == STATE_ENDED ? "the launch is over: no thread is left"
					 : "this thread is not there: it has exited, or not begun");
	diag_hint(d, s->state == STATE_ENDED ? "go back: reverse-continue, goto N"
					     : "`info blocks` and `info warps` show who is there");
	return CUTRACE_EINVAL;
}

uint32_t focus_mask(const struct session *s)
{
	const struct focus *f = &s->sh->focus;
	struct debug_warp w;

	if (s->view.warp(s->view.state, f->block, f->warp, &w))
		for (uint32_t k = 0; k < w.nfragments; k++)
			if (w.fragments[k].mask >> f->lane & 1)
				return w.fragments[k].mask;
	return 0;
}

/* The instruction at which the thread is, with its line. */
void show_where(struct session *s)
{
	struct debug_frame frame;
	const struct ptx_inst *i;
	char text[300];
	uint32_t file, line;

	if (!focus_is_there(s, &s->sh->focus, &frame)) {
		puts("(the thread is not there)");
		return;
	}
	i = code_inst(s, frame.func, frame.inst);
	if (!i) {
		puts("(in a function of which nothing is known)");
		return;
	}
	code_line_text(s, i->line, text, sizeof(text));
	printf("%-6u %s", i->line, text);
	if (code_source(s, frame.func, frame.inst, &file, &line))
		printf("    (%s:%u)", code_file_name(s, file), line);
	putchar('\n');
}

static void show_frame(const struct session *s, uint32_t level, const struct debug_frame *frame)
{
	const struct ptx_func *f = code_func(s, frame->func);
	char where[300];

	code_describe(s, frame->func, frame->inst, where, sizeof(where));
	printf("%s#%-2u %s at %s\n", level == s->sh->focus.level ? "=> " : "   ", level, f ? f->name : "?",
	       where);
}

static void say_focus(const struct session *s)
{
	const struct focus *f = &s->sh->focus;
	uint32_t b[3], t[3];

	block_index(s, f->block, b);
	thread_index(s, f->warp, f->lane, t);
	printf("block (%u,%u,%u), thread (%u,%u,%u), warp %u, lane %u; active lanes 0x%08x; time %llu\n",
	       b[0], b[1], b[2], t[0], t[1], t[2], f->warp, f->lane, focus_mask(s),
	       (unsigned long long)s->now);
}

int do_where(struct session *s, const char *arg, struct diag *d)
{
	struct focus f = s->sh->focus;
	struct debug_frame frame;
	int rc = takes_nothing(arg, "where", d);

	if (!rc)
		rc = need_thread(s, &frame, d);
	if (rc)
		return rc;
	for (f.level = 0; f.level < 200 && focus_is_there(s, &f, &frame); f.level++)
		show_frame(s, f.level, &frame);
	if (f.level == 200)
		puts("   ...");
	say_focus(s);
	return 0;
}

static int go_to_level(struct session *s, uint32_t level, struct diag *d)
{
	struct focus f = s->sh->focus;
	struct debug_frame frame;

	f.level = level;
	if (!focus_is_there(s, &f, &frame))
		return diag_set(d, CUTRACE_EINVAL, "", "there is no call %u around this thread", level);
	s->sh->focus.level = level;
	show_frame(s, level, &frame);
	show_where(s);
	return 0;
}

static int parse_u32(const char *arg, uint32_t *n, struct diag *d)
{
	char *end;
	unsigned long v = isdigit((unsigned char)*arg) ? strtoul(arg, &end, 0) : 0;

	if (!isdigit((unsigned char)*arg) || *end || v > UINT32_MAX)
		return diag_set(d, CUTRACE_EINVAL, "", "'%.40s' is no number", arg);
	*n = (uint32_t)v;
	return 0;
}

int do_frame(struct session *s, const char *arg, struct diag *d)
{
	uint32_t level = s->sh->focus.level;

	if (*arg && parse_u32(arg, &level, d))
		return CUTRACE_EINVAL;
	return go_to_level(s, level, d);
}

int do_up(struct session *s, const char *arg, struct diag *d)
{
	return takes_nothing(arg, "up", d) ? CUTRACE_EINVAL : go_to_level(s, s->sh->focus.level + 1, d);
}

int do_down(struct session *s, const char *arg, struct diag *d)
{
	if (takes_nothing(arg, "down", d))
		return CUTRACE_EINVAL;
	if (!s->sh->focus.level)
		return diag_set(d, CUTRACE_EINVAL, "", "this is where the thread executes");
	return go_to_level(s, s->sh->focus.level - 1, d);
}

/* ---- choosing a thread -------------------------------------------------------------------- */

/* "(3,0,0)", "3,0", "3": missing ones are 0. */
static int parse_triple(const char *arg, const uint32_t *size, const char *what, uint32_t xyz[3],
			struct diag *d)
{
	const char *p = arg;
	unsigned n = 0;

	xyz[0] = xyz[1] = xyz[2] = 0;
	p += *p == '(';
	for (; n < 3; n++) {
		char *end;
		unsigned long v;

		while (isspace((unsigned char)*p))
			p++;
		v = isdigit((unsigned char)*p) ? strtoul(p, &end, 10) : UINT32_MAX;
		if (v >= size[n])
			return diag_set(d, CUTRACE_EINVAL, "", "'%.60s' is no %s: there are (%u,%u,%u)", arg,
					what, size[0], size[1], size[2]);
		xyz[n] = (uint32_t)v;
		p = end;
		if (*p != ',')
			break;
		p++;
	}
	while (*p == ')' || isspace((unsigned char)*p))
		p++;
	return *p ? diag_set(d, CUTRACE_EINVAL, "", "'%.60s' is no %s: write (x,y,z)", arg, what) : 0;
}

/* Only who has begun and not exited can be looked at. */
static int look_at(struct session *s, struct focus *f, struct diag *d)
{
	uint64_t begun = s->view.blocks_begun(s->view.state);
	struct debug_frame frame;
	struct debug_warp w;
	bool there = s->state != STATE_ENDED && s->view.warp(s->view.state, f->block, f->warp, &w);

	f->level = 0;
	if (!there) {
		diag_set(d, CUTRACE_EINVAL, "",
			 f->block >= begun ? "this block has not begun" : "this block has ended");
		diag_hint(
			d,
			"blocks are executed one after the other: break at a place with `if ctaid.x == N`, then continue or reverse-continue");
		return CUTRACE_EINVAL;
	}
	if (!focus_is_there(s, f, &frame)) {
		if (w.lanes && f->lane == UINT32_MAX)
			f->lane = (uint32_t)__builtin_ctz(w.lanes);
		if (!focus_is_there(s, f, &frame))
			return diag_set(d, CUTRACE_EINVAL, "",
					w.lanes ? "this thread has exited" : "this warp has exited");
	}
	s->sh->focus = *f;
	s->sh->list_line = 0;
	say_focus(s);
	show_where(s);
	return 0;
}

int do_thread(struct session *s, const char *arg, struct diag *d)
{
	struct focus f = s->sh->focus;
	uint32_t xyz[3], t;

	if (*arg) {
		if (parse_triple(arg, s->launch.block, "thread of this block", xyz, d))
			return CUTRACE_EINVAL;
		t = (xyz[2] * s->launch.block[1] + xyz[1]) * s->launch.block[0] + xyz[0];
		f.warp = t / DEBUG_LANES;
		f.lane = t % DEBUG_LANES;
	}
	return look_at(s, &f, d);
}

/* A warp's first lane that is there, of a block whose thread of the same number may have exited. */
static int look_at_first(struct session *s, struct focus *f, struct diag *d)
{
	uint32_t nwarps = (threads_of(s) + DEBUG_LANES - 1) / DEBUG_LANES;
	struct debug_warp w;

	for (uint32_t k = f->warp; k < nwarps; k++)
		if (s->state != STATE_ENDED && s->view.warp(s->view.state, f->block, k, &w) && w.lanes) {
			f->warp = k;
			f->lane = UINT32_MAX;
			break;
		}
	return look_at(s, f, d);
}

int do_block(struct session *s, const char *arg, struct diag *d)
{
	struct focus f = s->sh->focus;
	uint32_t xyz[3];

	if (!*arg)
		return look_at(s, &f, d);
	if (parse_triple(arg, s->launch.grid, "block of this grid", xyz, d))
		return CUTRACE_EINVAL;
	f.block = ((uint64_t)xyz[2] * s->launch.grid[1] + xyz[1]) * s->launch.grid[0] + xyz[0];
	f.warp = 0;
	return look_at_first(s, &f, d);
}

int do_warp(struct session *s, const char *arg, struct diag *d)
{
	struct focus f = s->sh->focus;
	uint32_t nwarps = (threads_of(s) + DEBUG_LANES - 1) / DEBUG_LANES;

	if (!*arg)
		return look_at(s, &f, d);
	if (parse_u32(arg, &f.warp, d))
		return CUTRACE_EINVAL;
	if (f.warp >= nwarps)
		return diag_set(d, CUTRACE_EINVAL, "", "a block has %u warp%s, from 0", nwarps,
				nwarps == 1 ? "" : "s");
	f.lane = UINT32_MAX;
	return look_at(s, &f, d);
}

int do_lane(struct session *s, const char *arg, struct diag *d)
{
	struct focus f = s->sh->focus;

	if (*arg && parse_u32(arg, &f.lane, d))
		return CUTRACE_EINVAL;
	if (f.lane >= DEBUG_LANES)
		return diag_set(d, CUTRACE_EINVAL, "", "lanes are 0 to %u", DEBUG_LANES - 1);
	return look_at(s, &f, d);
}

/* ---- info ------------------------------------------------------------------------------------- */

static const char *state_text(const struct debug_fragment *f, char *buf, size_t size)
{
	switch (f->state) {
	case DEBUG_PARKED: return "waits where lanes meet";
	case DEBUG_GATHERS: snprintf(buf, size, "waits for lanes 0x%08x", f->members); return buf;
	case DEBUG_BARRIER: snprintf(buf, size, "waits at barrier %u", f->barrier); return buf;
	default: return "ready";
	}
}

static void show_fragment(const struct session *s, uint32_t warp, const struct debug_warp *w, uint32_t k)
{
	const struct debug_fragment *f = &w->fragments[k];
	const struct focus *at = &s->sh->focus;
	const struct ptx_inst *i = code_inst(s, f->func, f->inst);
	char buf[64], text[200] = "", where[300];

	if (i)
		code_line_text(s, i->line, text, sizeof(text));
	code_describe(s, f->func, f->inst, where, sizeof(where));
	printf("%s warp %-3u lanes 0x%08x  %-22s %llu instructions, at %s: %s\n",
	       at->warp == warp && f->mask >> at->lane & 1 ? "*" : " ", warp, f->mask,
	       state_text(f, buf, sizeof(buf)), (unsigned long long)w->steps, where, text);
}

static int info_warps(struct session *s, const char *arg, struct diag *d)
{
	uint32_t nwarps = (threads_of(s) + DEBUG_LANES - 1) / DEBUG_LANES, b[3];
	struct debug_warp w;

	if (takes_nothing(arg, "info warps", d))
		return CUTRACE_EINVAL;
	block_index(s, s->sh->focus.block, b);
	printf("block (%u,%u,%u), %u warps:\n", b[0], b[1], b[2], nwarps);
	for (uint32_t k = 0; k < nwarps; k++) {
		if (s->state == STATE_ENDED || !s->view.warp(s->view.state, s->sh->focus.block, k, &w))
			return diag_set(d, CUTRACE_EINVAL, "", "the block is not there");
		for (uint32_t n = 0; n < w.nfragments; n++)
			show_fragment(s, k, &w, n);
		if (!w.nfragments)
			printf("  warp %-3u has exited, after %llu instructions\n", k,
			       (unsigned long long)w.steps);
	}
	return 0;
}

static int info_lanes(struct session *s, const char *arg, struct diag *d)
{
	struct focus f = s->sh->focus;
	struct debug_frame frame;

	if (takes_nothing(arg, "info lanes", d))
		return CUTRACE_EINVAL;
	f.level = 0;
	for (f.lane = 0; f.lane < DEBUG_LANES; f.lane++) {
		uint32_t t[3];
		char where[300] = "exited";

		if (f.warp * DEBUG_LANES + f.lane >= threads_of(s))
			break;
		thread_index(s, f.warp, f.lane, t);
		if (focus_is_there(s, &f, &frame))
			code_describe(s, frame.func, frame.inst, where, sizeof(where));
		printf("%s lane %2u thread (%u,%u,%u) %s\n", f.lane == s->sh->focus.lane ? "*" : " ", f.lane,
		       t[0], t[1], t[2], where);
	}
	return 0;
}

static int info_blocks(struct session *s, const char *arg, struct diag *d)
{
	uint64_t list[256], begun = s->view.blocks_begun(s->view.state);
	uint32_t n = s->state == STATE_ENDED ? 0 : s->view.blocks(s->view.state, list, 256), b[3];

	if (takes_nothing(arg, "info blocks", d))
		return CUTRACE_EINVAL;
	for (uint32_t k = 0; k < n; k++) {
		block_index(s, list[k], b);
		printf("%s block (%u,%u,%u)\n", list[k] == s->sh->focus.block ? "*" : " ", b[0], b[1], b[2]);
	}
	printf("%llu of %llu blocks have begun, %llu have ended\n", (unsigned long long)begun,
	       (unsigned long long)blocks_of(s), (unsigned long long)(begun - n));
	return 0;
}

static int info_launch(struct session *s, const char *arg, struct diag *d)
{
	const struct debug_launch *l = &s->launch;

	if (takes_nothing(arg, "info launch", d))
		return CUTRACE_EINVAL;
	printf("call %llu: %s<<<%ux%ux%u, %ux%ux%u>>>, %u + %u bytes of shared memory%s\n",
	       (unsigned long long)s->visit->call, s->kernel, l->grid[0], l->grid[1], l->grid[2], l->block[0],
	       l->block[1], l->block[2], l->static_shared, l->dynamic_shared,
	       l->cooperative ? ", cooperative" : "");
	printf("module %s, line %u; %llu instructions begun\n", s->module->name, s->entry->line,
	       (unsigned long long)s->now);
	return 0;
}

static int info_time(struct session *s, const char *arg, struct diag *d)
{
	struct debug_warp w = {0};
	const struct focus *f = &s->sh->focus;

	if (takes_nothing(arg, "info time", d))
		return CUTRACE_EINVAL;
	printf("time %llu", (unsigned long long)s->now);
	if (s->state != STATE_ENDED && s->view.warp(s->view.state, f->block, f->warp, &w))
		printf(", %llu of them by this warp", (unsigned long long)w.steps);
	putchar('\n');
	return 0;
}

static int info_allocations(struct session *s, const char *arg, struct diag *d)
{
	if (takes_nothing(arg, "info allocations", d))
		return CUTRACE_EINVAL;
	for (size_t k = 0; k < s->nmemory; k++) {
		const struct visit_memory *m = &s->memory[k];

		printf("%-3zu 0x%llx  %llu bytes, %s%s%s%s%s\n", k + 1, (unsigned long long)m->base,
		       (unsigned long long)m->bytes, m->kind, m->name ? " " : "", m->name ? m->name : "",
		       m->elem_type && *m->elem_type ? ", stored as " : "", m->elem_type ? m->elem_type : "");
	}
	if (!s->nmemory)
		puts("No memory is allocated.");
	return 0;
}

static const struct command infos[] = {
	{"breakpoints", "b", info_breakpoints, "", "breakpoints and watchpoints", false},
	{"watchpoints", NULL, info_breakpoints, "", "the same", false},
	{"registers", "r", info_registers, "[all|NAMES]", "registers that are live here; all; some", false},
	{"variables", "v", info_variables, "", "variables of this function and of the module", false},
	{"locals", NULL, info_variables, "", "the same", false},
	{"params", "p", info_params, "", "parameters of the kernel", false},
	{"args", NULL, info_params, "", "the same", false},
	{"warps", "w", info_warps, "", "the warps of this block: lanes, where they are, what they wait for",
	 false},
	{"lanes", NULL, info_lanes, "", "the threads of this warp", false},
	{"threads", NULL, info_lanes, "", "the same", false},
	{"blocks", NULL, info_blocks, "", "blocks that are being executed", false},
	{"launch", NULL, info_launch, "", "kernel, grid, shared memory", false},
	{"time", NULL, info_time, "", "instructions that warps have begun", false},
	{"state", NULL, info_state, "", "all registers and memory as one number, to compare states by",
	 false},
	{"allocations", "a", info_allocations, "", "memory that was there when the launch began", false},
	{"line", NULL, info_line, "[PLACE]", "instructions of a line, and its source", false},
	{"display", NULL, info_display, "", "what is printed at stops", false},
	{NULL, NULL, NULL, NULL, NULL, false},
};

static const struct command *find_info(const char *word, size_t n)
{
	const struct command *found = NULL;

	for (const struct command *c = infos; c->name; c++) {
		if ((strlen(c->name) == n && !strncmp(c->name, word, n)) ||
		    (c->short_name && strlen(c->short_name) == n && !strncmp(c->short_name, word, n)))
			return c;
		if (!found && !strncmp(c->name, word, n))
			found = c;
	}
	return found;
}

int do_info(struct session *s, const char *arg, struct diag *d)
{
	size_t n = strcspn(arg, " \t");
	const struct command *c = n ? find_info(arg, n) : NULL;

	if (c)
		return c->run(s, arg + n + strspn(arg + n, " \t"), d);
	if (n) {
		diag_set(d, CUTRACE_EINVAL, "", "there is no `info %.60s`", arg);
		diag_hint(d, "`info` alone says what there is");
		return CUTRACE_EINVAL;
	}
	for (c = infos; c->name; c++)
		printf("  info %-12s %-12s %s\n", c->name, c->arguments, c->help);
	return 0;
}
