/* SPDX-License-Identifier: Apache-2.0
 *
 * Breakpoints and watchpoints. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/session.h"

/* "PLACE if EXPR" */
static int split_condition(const char *arg, struct breakpoint *b, char *place, size_t size, struct diag *d)
{
	const char *at = NULL;
	size_t n;

	for (const char *p = arg; (p = strstr(p, "if")) && !at; p += 2)
		if ((p == arg || isspace((unsigned char)p[-1])) &&
		    (isspace((unsigned char)p[2]) || p[2] == '('))
			at = p;
	n = at ? (size_t)(at - arg) : strlen(arg);
	while (n && isspace((unsigned char)arg[n - 1]))
		n--;
	if (n >= size)
		return diag_set(d, CUTRACE_EINVAL, "", "this is too long");
	memcpy(place, arg, n);
	place[n] = '\0';
	b->condition[0] = '\0';
	if (at && strlen(at + 2) >= sizeof(b->condition))
		return diag_set(d, CUTRACE_EINVAL, "", "the condition is too long");
	if (at)
		snprintf(b->condition, sizeof(b->condition), "%s", at + 2 + strspn(at + 2, " \t"));
	return at && !b->condition[0] ? diag_set(d, CUTRACE_EINVAL, "", "if what?") : 0;
}

static int check_condition(const struct session *s, const struct breakpoint *b, struct diag *d)
{
	struct expression *e;
	int rc;

	if (!b->condition[0])
		return 0;
	rc = expression_parse(s, b->kind == BREAK_CODE ? b->places[0].func : s->entry->index, b->condition,
			      &e, d);
	if (!rc)
		expression_free(e);
	return rc;
}

static void say_breakpoint(const struct session *s, const struct breakpoint *b)
{
	char where[300];

	if (b->kind != BREAK_CODE) {
		printf("%s %u: %s\n",
		       b->kind == BREAK_WRITE  ? "Watchpoint"
		       : b->kind == BREAK_READ ? "Read watchpoint"
					       : "Access watchpoint",
		       b->number, b->text);
		return;
	}
	code_describe(s, b->places[0].func, b->places[0].inst, where, sizeof(where));
	printf("%s %u at %s", b->temporary ? "Temporary breakpoint" : "Breakpoint", b->number, where);
	if (b->nplaces > 1)
		printf(" and %u more places", b->nplaces - 1);
	putchar('\n');
}

static int set_break(struct session *s, const char *arg, bool temporary, struct diag *d)
{
	struct breakpoint *b = break_new(s, d);
	char place[256], here[32];
	int rc;

	if (!b)
		return CUTRACE_EINVAL;
	rc = split_condition(arg, b, place, sizeof(place), d);
	if (!rc && !place[0]) { /* where it stands */
		const struct ptx_inst *i = code_inst(s, s->at.func, s->at.inst);

		snprintf(here, sizeof(here), "%u", i ? i->line : 0);
		snprintf(place, sizeof(place), "%s", here);
	}
	if (!rc)
		rc = code_resolve(s, place, b, d);
	if (rc)
		return rc;
	b->kind = BREAK_CODE;
	b->temporary = temporary;
	snprintf(b->text, sizeof(b->text), "%.120s", place);
	rc = check_condition(s, b, d);
	if (rc) {
		b->kind = BREAK_FREE;
		return rc;
	}
	s->sh->next_number++;
	say_breakpoint(s, b);
	return 0;
}

int do_break(struct session *s, const char *arg, struct diag *d)
{
	return set_break(s, arg, false, d);
}

int do_tbreak(struct session *s, const char *arg, struct diag *d)
{
	return set_break(s, arg, true, d);
}

/* ---- watchpoints ------------------------------------------------------------------------------- */

static int watch_register(struct session *s, const char *name, struct breakpoint *b, struct diag *d)
{
	struct debug_frame frame;
	const struct ptx_func *f;
	int rc = need_thread(s, &frame, d);

	if (rc)
		return rc;
	f = code_func(s, frame.func);
	b->where = (struct code_place){frame.func, f ? code_register(f, name) : PTX_NONE};
	if (b->where.inst == PTX_NONE)
		return diag_set(d, CUTRACE_EINVAL, "", "%s has no register %.60s", f ? f->name : "the kernel",
				name);
	if (b->kind != BREAK_WRITE)
		return diag_set(d, CUTRACE_EINVAL, "",
				"of a register only changes can be watched: watch %.60s", name);
	b->is_register = true;
	b->type = (uint8_t)code_register_type(f, b->where.inst);
	b->bytes = type_bytes((enum ptx_type)b->type);
	b->at = (struct debug_place){
		.block = s->sh->focus.block, .warp = s->sh->focus.warp, .lane = s->sh->focus.lane};
	return 0;
}

static int watch_memory(struct session *s, const char *text, struct breakpoint *b, struct diag *d)
{
	struct value v;
	int rc = evaluate(s, text, &v, d);

	if (rc)
		return rc;
	if (!v.stored || !v.count) {
		diag_set(d, CUTRACE_EINVAL, "", "'%.100s' is no place in memory", text);
		diag_hint(d, "watch {f32}ADDRESS, *(u32 *)ADDRESS, a variable, or a register");
		return CUTRACE_EINVAL;
	}
	b->type = v.type;
	b->bytes = type_bytes((enum ptx_type)v.type);
	b->at = (struct debug_place){.space = (enum debug_space)v.space,
				     .address = v.address,
				     .block = s->sh->focus.block,
				     .warp = s->sh->focus.warp,
				     .lane = s->sh->focus.lane};
	return 0;
}

static bool is_register(const char *text)
{
	return *text == '%' && !text[strcspn(text, " +-*/[](){}&|<>=!")] && !strchr(text, '.');
}

static int set_watch(struct session *s, const char *arg, uint8_t kind, struct diag *d)
{
	struct breakpoint *b = break_new(s, d);
	char text[256];
	int rc;

	if (!b)
		return CUTRACE_EINVAL;
	rc = split_condition(arg, b, text, sizeof(text), d);
	if (!rc && !text[0])
		rc = diag_set(d, CUTRACE_EINVAL, "", "watch what? {f32}ADDRESS, a variable or a register");
	b->kind = kind;
	if (!rc)
		rc = is_register(text) ? watch_register(s, text, b, d) : watch_memory(s, text, b, d);
	if (!rc)
		rc = check_condition(s, b, d);
	if (rc) {
		b->kind = BREAK_FREE;
		return rc;
	}
	snprintf(b->text, sizeof(b->text), "%.120s", text);
	s->sh->next_number++;
	say_breakpoint(s, b);
	return 0;
}

int do_watch(struct session *s, const char *arg, struct diag *d)
{
	return set_watch(s, arg, BREAK_WRITE, d);
}

int do_rwatch(struct session *s, const char *arg, struct diag *d)
{
	return set_watch(s, arg, BREAK_READ, d);
}

int do_awatch(struct session *s, const char *arg, struct diag *d)
{
	return set_watch(s, arg, BREAK_ACCESS, d);
}

/* ---- changing them ---------------------------------------------------------------------------------- */

static void erase(struct breakpoint *b)
{
	b->kind = BREAK_FREE;
}

static void turn_on(struct breakpoint *b)
{
	b->enabled = true;
}

static void turn_off(struct breakpoint *b)
{
	b->enabled = false;
}

static struct breakpoint *numbered(struct session *s, const char *text, char **end, struct diag *d)
{
	unsigned long n = isdigit((unsigned char)*text) ? strtoul(text, end, 10) : 0;
	struct breakpoint *b = n && n <= UINT32_MAX && (!**end || isspace((unsigned char)**end))
				       ? break_find(s, (uint32_t)n)
				       : NULL;

	if (!b) {
		diag_set(d, CUTRACE_EINVAL, "", "there is no breakpoint %.*s",
			 (int)strcspn(text, " ") > 40 ? 40 : (int)strcspn(text, " "), text);
		diag_hint(d, "`info breakpoints` lists them");
	}
	return b;
}

static int for_each(struct session *s, const char *arg, void (*fn)(struct breakpoint *b), struct diag *d)
{
	for (unsigned k = 0; !*arg && k < MAX_BREAKS; k++)
		if (s->sh->breaks[k].kind != BREAK_FREE)
			fn(&s->sh->breaks[k]);
	while (*arg) {
		char *end = NULL;
		struct breakpoint *b = numbered(s, arg, &end, d);

		if (!b)
			return CUTRACE_EINVAL;
		fn(b);
		for (arg = end; isspace((unsigned char)*arg); arg++)
			;
	}
	return 0;
}

int do_delete(struct session *s, const char *arg, struct diag *d)
{
	return for_each(s, arg, erase, d);
}

int do_enable(struct session *s, const char *arg, struct diag *d)
{
	return for_each(s, arg, turn_on, d);
}

int do_disable(struct session *s, const char *arg, struct diag *d)
{
	return for_each(s, arg, turn_off, d);
}

int do_condition(struct session *s, const char *arg, struct diag *d)
{
	char *end = NULL;
	struct breakpoint *b = numbered(s, arg, &end, d), changed;
	int rc;

	if (!b)
		return CUTRACE_EINVAL;
	changed = *b;
	while (isspace((unsigned char)*end))
		end++;
	if (strlen(end) >= sizeof(b->condition))
		return diag_set(d, CUTRACE_EINVAL, "", "the condition is too long");
	snprintf(changed.condition, sizeof(changed.condition), "%s", end);
	rc = check_condition(s, &changed, d);
	if (!rc)
		*b = changed;
	return rc;
}

int do_ignore(struct session *s, const char *arg, struct diag *d)
{
	char *end = NULL, *last;
	struct breakpoint *b = numbered(s, arg, &end, d);
	unsigned long long n;

	if (!b)
		return CUTRACE_EINVAL;
	while (isspace((unsigned char)*end))
		end++;
	n = isdigit((unsigned char)*end) ? strtoull(end, &last, 10) : 0;
	if (!isdigit((unsigned char)*end) || *last)
		return diag_set(d, CUTRACE_EINVAL, "", "ignore %u how often?", b->number);
	b->ignore = n;
	return 0;
}

static void show_one(const struct session *s, const struct breakpoint *b)
{
	char where[300];

	printf("%-4u %-18s %-4s ", b->number, break_kind_name(b->kind), b->enabled ? "on" : "off");
	if (b->kind != BREAK_CODE)
		puts(b->text);
	for (uint32_t k = 0; b->kind == BREAK_CODE && k < b->nplaces; k++) {
		code_describe(s, b->places[k].func, b->places[k].inst, where, sizeof(where));
		printf("%s%s\n", k ? "                             " : "", where);
	}
	if (b->condition[0])
		printf("     only if %s\n", b->condition);
	if (b->temporary)
		puts("     once");
	if (b->hits)
		printf("     reached %llu time%s\n", (unsigned long long)b->hits, b->hits == 1 ? "" : "s");
	if (b->ignore)
		printf("     passes %llu more\n", (unsigned long long)b->ignore);
}

int info_breakpoints(struct session *s, const char *arg, struct diag *d)
{
	bool any = false;

	if (takes_nothing(arg, "info breakpoints", d))
		return CUTRACE_EINVAL;
	for (uint32_t n = 1; n < s->sh->next_number; n++) {
		const struct breakpoint *b = break_find(s, n);

		if (b)
			show_one(s, b);
		any |= b != NULL;
	}
	if (!any)
		puts("No breakpoints or watchpoints.");
	return 0;
}
