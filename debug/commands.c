/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands, in gdb's words, and the loop that does them while the launch stands. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/session.h"

const struct command commands[] = {
	{"break", "b", do_break, "PLACE [if EXPR]",
	 "stop before a place is executed: a line of the PTX (212), of a source (saxpy.cu:17), a function, or `entry`",
	 false},
	{"tbreak", "tb", do_tbreak, "PLACE [if EXPR]", "the same, once", false},
	{"watch", "wa", do_watch, "EXPR [if EXPR]", "stop when memory, a variable or a register has changed",
	 false},
	{"rwatch", "rw", do_rwatch, "EXPR [if EXPR]", "stop before memory is read", false},
	{"awatch", "aw", do_awatch, "EXPR [if EXPR]", "stop before memory is read or written", false},
	{"delete", "d", do_delete, "[N...]", "delete breakpoints; without numbers all", false},
	{"enable", "en", do_enable, "[N...]", "breakpoints that were disabled", false},
	{"disable", "dis", do_disable, "[N...]", "breakpoints stay, and do nothing", false},
	{"condition", "cond", do_condition, "N [EXPR]", "breakpoint N stops only where EXPR is true", false},
	{"ignore", "ig", do_ignore, "N COUNT", "breakpoint N is passed COUNT times", false},
	{"continue", "c", do_continue, "[N]", "go on until something stops it; N: the N-th time", true},
	{"step", "s", do_step, "[N]",
	 "this thread to its next source line; to its next instruction where there are none", true},
	{"stepi", "si", do_stepi, "[N]", "this thread N PTX instructions on", true},
	{"next", "n", do_next, "[N]", "step, and over calls", true},
	{"nexti", "ni", do_nexti, "[N]", "stepi, and over calls", true},
	{"stepwarp", "sw", do_stepwarp, "[N]",
	 "this warp N PTX instructions on, whichever lanes execute them", true},
	{"finish", "fin", do_finish, "", "until this thread's function returns", true},
	{"until", "u", do_until, "PLACE", "until this place is reached", false},
	{"advance", "adv", do_until, "PLACE", "until this place is reached", false},
	{"reverse-continue", "rc", do_reverse_continue, "[N]",
	 "back to where something would have stopped it", true},
	{"reverse-step", "rs", do_reverse_step, "[N]", "step, backwards", true},
	{"reverse-stepi", "rsi", do_reverse_stepi, "[N]", "stepi, backwards", true},
	{"reverse-next", "rn", do_reverse_next, "[N]", "next, backwards", true},
	{"reverse-nexti", "rni", do_reverse_nexti, "[N]", "nexti, backwards", true},
	{"reverse-stepwarp", "rsw", do_reverse_stepwarp, "[N]", "stepwarp, backwards", true},
	{"reverse-finish", "rfin", do_reverse_finish, "", "back to the call of this thread's function", true},
	{"goto", "go", do_goto, "N|begin|end",
	 "to a time: PTX instructions that warps have begun since the launch", false},
	{"run", "r", do_run, "", "to the begin of the launch", false},
	{"print", "p", do_print, "[/FMT] EXPR", "a value, of this thread", false},
	{"lanes", "la", do_lanes, "[/FMT] EXPR", "a value, of all lanes of this warp", false},
	{"x", NULL, do_x, "[/NFU] ADDRESS", "memory: N values of format F and size U; /8f, /4xg, /2f16",
	 true},
	{"display", "disp", do_display, "[/FMT] [EXPR]", "print at each stop; without EXPR: now", false},
	{"undisplay", "und", do_undisplay, "[N...]", "no more", false},
	{"backtrace", "bt", do_where, "", "the calls around this thread", false},
	{"where", "wh", do_where, "", "the calls around this thread", false},
	{"frame", "f", do_frame, "[N]", "look at call N of the backtrace", false},
	{"up", NULL, do_up, "", "look at the caller", true},
	{"down", NULL, do_down, "", "look at what it called", true},
	{"thread", "t", do_thread, "[(X,Y,Z)]", "look at this thread of the block", false},
	{"block", "bl", do_block, "[(X,Y,Z)]", "look at this block", false},
	{"warp", "w", do_warp, "[N]", "look at this warp of the block", false},
	{"lane", "ln", do_lane, "[N]", "look at this lane of the warp", false},
	{"list", "l", do_list, "[PLACE]", "the PTX around a place, or on from what was shown last", true},
	{"info", "i", do_info, "WHAT", "`info` alone says what there is", false},
	{"set", NULL, do_set, "",
	 "nothing can be changed: a changed state would not be found again on the way back", false},
	{"source", "so", do_source, "FILE", "do the commands of a file", false},
	{"echo", NULL, do_echo, "TEXT", "print a line of text", false},
	{"help", "h", do_help, "[COMMAND]", "this list, or more about a command", false},
	{"quit", "q", do_quit, "", "end the session", false},
	{NULL, NULL, NULL, NULL, NULL, false},
};

/* ---- finding ---------------------------------------------------------------------------- */

static bool is_word(const char *name, const char *word, size_t n)
{
	return name && strlen(name) == n && !strncmp(name, word, n);
}

static const struct command *ambiguous(const char *word, size_t n, const struct command *first,
				       struct diag *d)
{
	char names[200] = "";

	for (const struct command *c = first; c->name; c++)
		if (!strncmp(c->name, word, n) && strlen(names) < 150)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				 *names ? ", " : "", c->name);
	diag_set(d, CUTRACE_EINVAL, "", "'%.*s' may be %s", (int)n, word, names);
	return NULL;
}

const struct command *command_find(const char *word, size_t n, struct diag *d)
{
	const struct command *found = NULL;

	for (const struct command *c = commands; c->name; c++)
		if (is_word(c->name, word, n) || is_word(c->short_name, word, n))
			return c;
	for (const struct command *c = commands; c->name; c++) {
		if (strncmp(c->name, word, n))
			continue;
		if (found)
			return ambiguous(word, n, found, d);
		found = c;
	}
	if (!found) {
		diag_set(d, CUTRACE_EINVAL, "", "there is no command '%.*s'", n < 60 ? (int)n : 60, word);
		diag_hint(d, "`help` lists them");
	}
	return found;
}

int command_run(struct session *s, const char *line, struct diag *d)
{
	const struct command *c;
	char copy[MAX_LINE];
	size_t n, end;

	while (isspace((unsigned char)*line))
		line++;
	if (!*line || *line == '#')
		return 0;
	snprintf(copy, sizeof(copy), "%s", line);
	for (end = strlen(copy); end && isspace((unsigned char)copy[end - 1]); end--)
		copy[end - 1] = '\0';
	for (n = 0; isalpha((unsigned char)copy[n]) || copy[n] == '-' || copy[n] == '_'; n++)
		;
	c = command_find(copy, n ? n : strcspn(copy, " "), d);
	if (!c)
		return CUTRACE_EINVAL;
	for (end = n; isspace((unsigned char)copy[end]); end++)
		;
	return c->run(s, copy + end, d);
}

int takes_nothing(const char *arg, const char *command, struct diag *d)
{
	return *arg ? diag_set(d, CUTRACE_EINVAL, "", "%s takes no argument", command) : 0;
}

/* ---- the loop ------------------------------------------------------------------------------- */

static void print_diag(const struct diag *d, bool scripted)
{
	fprintf(scripted ? stderr : stdout, "%s%s%s\n", d->where, d->where[0] ? ": " : "", d->what);
	if (d->hint[0])
		fprintf(scripted ? stderr : stdout, "  %s\n", d->hint);
}

static void show_stop(struct session *s, const struct stop *why)
{
	switch (why->reason) {
	case STOP_BEGIN: printf("The launch of %s begins.\n", s->kernel); break;
	case STOP_BREAK: printf("Breakpoint %u\n", why->number); break;
	case STOP_WATCH: {
		const struct breakpoint *b = break_find(s, why->number);

		printf("%s %u: %s\n%s\n",
		       b && b->kind == BREAK_READ     ? "Read watchpoint"
		       : b && b->kind == BREAK_ACCESS ? "Access watchpoint"
						      : "Watchpoint",
		       why->number, b ? b->text : "", why->text);
		break;
	}
	case STOP_EXITED: puts("The thread has exited."); break;
	case STOP_SIGNAL: puts("Interrupted."); break;
	case STOP_BOUND: puts("Nothing is before this: the launch begins here."); break;
	case STOP_FAULTED: printf("The kernel faults: %s\n", s->fault); break;
	case STOP_END:
		printf("The launch has ended%s%s.\n", s->fault[0] ? " with a fault: " : "", s->fault);
		break;
	default: break;
	}
}

static bool same_thread(const struct focus *a, const struct focus *b)
{
	return a->block == b->block && a->warp == b->warp && a->lane == b->lane;
}

static void say_thread(struct session *s)
{
	uint32_t b[3], t[3];

	block_index(s, s->sh->focus.block, b);
	thread_index(s, s->sh->focus.warp, s->sh->focus.lane, t);
	printf("[block (%u,%u,%u), thread (%u,%u,%u), warp %u, lane %u]\n", b[0], b[1], b[2], t[0], t[1],
	       t[2], s->sh->focus.warp, s->sh->focus.lane);
}

static void show_arrival(struct session *s, const struct stop *why)
{
	struct focus before = s->sh->focus;

	s->sh->focus = why->focus;
	s->sh->focus.level = 0;
	s->sh->list_line = 0;
	s->sh->list_source = false;
	show_stop(s, why);
	if (why->reason != STOP_END) {
		if (why->reason == STOP_BEGIN || !same_thread(&before, &s->sh->focus))
			say_thread(s);
		show_where(s);
	}
	show_displays(s);
}

static void read_and_do(struct session *s)
{
	struct diag d = DIAG_INIT;
	char line[MAX_LINE];
	bool scripted;

	if (!input_line(s, line, sizeof(line), &scripted)) {
		if (!scripted)
			putchar('\n');
		timeline_leave(s);
	}
	if (s->sh->echo && scripted && *line)
		printf("(cutrace) %s\n", line);
	if (!command_run(s, line, &d))
		return;
	fflush(stdout);
	print_diag(&d, scripted);
	if (scripted) { /* what comes next was written for what did not happen */
		s->sh->status = 1;
		timeline_leave(s);
	}
}

void talk(struct session *s, const struct stop *why)
{
	show_arrival(s, why);
	s->resume = false;
	while (!s->resume)
		read_and_do(s);
	fflush(stdout);
}

/* ---- commands about commands ---------------------------------------------------------------------- */

static void help_line(const struct command *c)
{
	char left[64];

	snprintf(left, sizeof(left), "%s%s%s %s", c->name, c->short_name ? ", " : "",
		 c->short_name ? c->short_name : "", c->arguments);
	printf("  %-38s %s\n", left, c->help);
}

int do_help(struct session *s, const char *arg, struct diag *d)
{
	static const char more[] =
		"\nEXPR is C over registers (%r5, %p1), special registers (tid.x, threadIdx.x, laneid), variables and\n"
		"parameters by name, memory ({f32}ADDRESS, *(u32 *)ADDRESS, smem[3], shared:16), $time, $steps, $line.\n"
		"FMT is a letter of xduotcf or a PTX type: print/x %r5, print/f16 %r7. Words may be shortened.\n";
	const struct command *c;

	(void)s;
	if (*arg) {
		c = command_find(arg, strcspn(arg, " "), d);
		if (!c)
			return CUTRACE_EINVAL;
		printf("%s %s: %s\n", c->name, c->arguments, c->help);
		return 0;
	}
	for (c = commands; c->name; c++)
		help_line(c);
	fputs(more, stdout);
	return 0;
}

int do_quit(struct session *s, const char *arg, struct diag *d)
{
	if (takes_nothing(arg, "quit", d))
		return CUTRACE_EINVAL;
	timeline_leave(s);
}

int do_source(struct session *s, const char *arg, struct diag *d)
{
	if (!*arg)
		return diag_set(d, CUTRACE_EINVAL, "", "source what? Name a file of commands");
	return input_file(s->sh, arg, d);
}

int do_set(struct session *s, const char *arg, struct diag *d)
{
	(void)s;
	(void)arg;
	diag_set(d, CUTRACE_EINVAL, "", "nothing can be changed");
	diag_hint(d, "a changed state would not be found again on the way back");
	return CUTRACE_EINVAL;
}

int do_echo(struct session *s, const char *arg, struct diag *d)
{
	(void)s;
	(void)d;
	puts(arg);
	return 0;
}
