/* SPDX-License-Identifier: Apache-2.0
 *
 * Values: print, lanes, x, display, registers and variables. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/session.h"

enum { MAX_SHOWN = 200 }; /* elements of an array, as gdb does */

/* "/FMT rest": what is before the rest is the format. */
static int split_format(const char **arg, struct format *f, struct diag *d)
{
	const char *p = *arg;
	size_t n;

	*f = (struct format){0};
	if (*p != '/')
		return 0;
	n = strcspn(p + 1, " \t");
	*arg = p + 1 + n + strspn(p + 1 + n, " \t");
	return format_parse(p + 1, n, f, d);
}

/* ---- print ---------------------------------------------------------------------------------- */

static void format_pointer(const struct session *s, const struct value *v, char *out, size_t size)
{
	char name[200];

	place_name(s, (enum debug_space)v->space, value_integer(v), name, sizeof(name));
	snprintf(out, size, "(%s *) %s%s0x%llx%s%s", ptx_type_name((enum ptx_type)v->type),
		 v->space > DEBUG_GLOBAL ? space_name((enum debug_space)v->space) : "",
		 v->space > DEBUG_GLOBAL ? ":" : "", (unsigned long long)value_integer(v), *name ? " " : "",
		 name);
}

/* A 64-bit number that lies in memory that is known, is shown as an address. */
static void add_name(const struct session *s, const struct value *v, const struct format *f, char *out,
		     size_t size)
{
	enum ptx_type t = (enum ptx_type)v->type;
	char name[200];

	if (typed_is_float(t) || type_bytes(t) != 8 || (f->letter && f->letter != 'x' && f->letter != 'a') ||
	    f->type)
		return;
	place_name(s, DEBUG_GENERIC, value_integer(v), name, sizeof(name));
	if (*name)
		snprintf(out, size, "0x%llx %s", (unsigned long long)value_integer(v), name);
}

static int print_array(struct session *s, const struct value *v, const struct format *f, struct diag *d)
{
	const unsigned n = type_bytes((enum ptx_type)v->type);
	uint64_t shown = v->count < MAX_SHOWN ? v->count : MAX_SHOWN;
	struct debug_place p = {.space = (enum debug_space)v->space,
				.address = v->address,
				.block = s->sh->focus.block,
				.warp = s->sh->focus.warp,
				.lane = s->sh->focus.lane};

	putchar('{');
	for (uint64_t k = 0; k < shown; k++, p.address += n) {
		uint8_t bytes[16];
		char text[300];

		if (!place_read(s, &p, bytes, n < 16 ? n : 16)) {
			puts("...");
			return diag_set(d, CUTRACE_EINVAL, "", "the rest can't be read");
		}
		typed_format(bytes, n < 16 ? n : 16, (enum ptx_type)v->type, f, text, sizeof(text));
		printf("%s%s", k ? ", " : "", text);
	}
	printf("%s}\n", shown < v->count ? "..." : "");
	return 0;
}

static void format_value(const struct session *s, const struct value *v, const struct format *f, char *out,
			 size_t size)
{
	if (v->pointer && !f->letter && !f->type && !f->bytes) {
		format_pointer(s, v, out, size);
		return;
	}
	typed_format(v->bytes, v->pointer ? 8 : type_bytes((enum ptx_type)v->type),
		     v->pointer ? PTX_U64 : (enum ptx_type)v->type, f, out, size);
	add_name(s, v, f, out, size);
}

static int print_one(struct session *s, const char *text, const struct format *f, struct diag *d)
{
	char out[600];
	struct value v;
	int rc = evaluate(s, text, &v, d);

	if (rc)
		return rc;
	printf("%s = ", text);
	if (v.stored && v.count > 1 && !v.pointer)
		return print_array(s, &v, f, d);
	format_value(s, &v, f, out, sizeof(out));
	puts(out);
	return 0;
}

int do_print(struct session *s, const char *arg, struct diag *d)
{
	struct format f;
	int rc = split_format(&arg, &f, d);

	if (rc)
		return rc;
	if (!*arg)
		return diag_set(d, CUTRACE_EINVAL, "", "print what?");
	return print_one(s, arg, &f, d);
}

/* ---- lanes ------------------------------------------------------------------------------------- */

static int print_lanes(struct session *s, const struct expression *e, const struct format *f)
{
	uint32_t active = focus_mask(s);
	struct focus at = s->sh->focus;
	unsigned width = 1;
	char text[DEBUG_LANES][100];

	for (at.lane = 0; at.lane < DEBUG_LANES; at.lane++) {
		struct diag d = DIAG_INIT;
		struct value v;
		char *out = text[at.lane];

		if (expression_eval(s, e, &at, &v, &d))
			snprintf(out, sizeof(text[0]), "-");
		else
			typed_format(v.bytes, v.pointer ? 8 : type_bytes((enum ptx_type)v.type),
				     v.pointer ? PTX_B64 : (enum ptx_type)v.type, f, out, sizeof(text[0]));
		if (!(active >> at.lane & 1) && strlen(out) + 3 < sizeof(text[0]) && *out != '-') {
			memmove(out + 1, out, strlen(out) + 1);
			*out = '(';
			strcat(out, ")");
		}
		if (strlen(out) > width)
			width = (unsigned)strlen(out);
	}
	for (unsigned l = 0; l < DEBUG_LANES; l++) {
		if (l % 8 == 0)
			printf("lane %2u:", l);
		printf("  %*s%s", (int)width, text[l], l % 8 == 7 ? "\n" : "");
	}
	return 0;
}

int do_lanes(struct session *s, const char *arg, struct diag *d)
{
	struct debug_frame frame;
	struct expression *e;
	struct format f;
	int rc = split_format(&arg, &f, d);

	if (!rc)
		rc = need_thread(s, &frame, d);
	if (!rc && !*arg)
		rc = diag_set(d, CUTRACE_EINVAL, "", "which value? lanes EXPR");
	if (!rc)
		rc = expression_parse(s, frame.func, arg, &e, d);
	if (rc)
		return rc;
	rc = print_lanes(s, e, &f);
	expression_free(e);
	return rc;
}

/* ---- x ---------------------------------------------------------------------------------------------- */

static void row_begins(const struct session *s, const struct debug_place *p)
{
	char name[200];

	place_name(s, p->space, p->address, name, sizeof(name));
	printf("%s%s0x%llx%s%s:", p->space > DEBUG_GLOBAL ? space_name(p->space) : "",
	       p->space > DEBUG_GLOBAL ? ":" : "", (unsigned long long)p->address, *name ? " " : "", name);
}

static int dump(struct session *s, struct debug_place *p, enum ptx_type t, unsigned n, const struct format *f,
		struct diag *d)
{
	uint32_t count = f->count ? f->count : 1, per_row = n == 1 ? 8 : n < 8 ? 4 : 2;
	struct format one = *f;
	uint8_t bytes[16];
	char text[300];

	one.bytes = f->letter ? (uint8_t)n : 0;
	one.count = 0;
	for (uint32_t k = 0; k < count; k++, p->address += n) {
		if (!place_read(s, p, bytes, n)) {
			if (k)
				putchar('\n');
			return diag_set(d, CUTRACE_EINVAL, "", "no %s memory of %u bytes at 0x%llx",
					space_name(p->space), n, (unsigned long long)p->address);
		}
		if (k % per_row == 0)
			row_begins(s, p);
		typed_format(bytes, n, t, &one, text, sizeof(text));
		printf("  %s%s", text, k % per_row == per_row - 1 || k + 1 == count ? "\n" : "");
	}
	return 0;
}

/* Where x begins: a variable at its address, anything else at its value. */
static void place_from(const struct session *s, const struct value *v, struct debug_place *p)
{
	const struct focus *f = &s->sh->focus;
	bool array = v->stored && v->count > 1 && !v->pointer;

	*p = (struct debug_place){
		.space = (enum debug_space)(v->stored && !array && !v->pointer ? DEBUG_GENERIC : v->space),
		.address = array ? v->address : value_integer(v),
		.block = f->block,
		.warp = f->warp,
		.lane = f->lane};
}

int do_x(struct session *s, const char *arg, struct diag *d)
{
	struct debug_place p;
	struct format f;
	struct value v;
	enum ptx_type t = PTX_B32;
	int rc = split_format(&arg, &f, d);

	if (!rc && !*arg)
		rc = diag_set(d, CUTRACE_EINVAL, "", "x at which address?");
	if (!rc)
		rc = evaluate(s, arg, &v, d);
	if (rc)
		return rc;
	place_from(s, &v, &p);
	if (v.pointer || (v.stored && v.count > 1))
		t = (enum ptx_type)v.type;
	if (f.type)
		t = (enum ptx_type)f.type;
	unsigned n = f.bytes ? f.bytes : type_bytes(t);

	if (f.letter == 'f' && !f.bytes && !typed_is_float(t))
		n = 4;
	if (n > 16 || !n)
		n = 16;
	return dump(s, &p, t, n, &f, d);
}

/* ---- display ----------------------------------------------------------------------------------------- */

static void show_display(struct session *s, unsigned k)
{
	struct format f = {0};
	struct diag d = DIAG_INIT;
	const char *format = s->sh->displays[k].format;

	format_parse(format, strlen(format), &f, &d);
	d = (struct diag)DIAG_INIT;
	printf("%u: ", s->sh->displays[k].number);
	if (print_one(s, s->sh->displays[k].text, &f, &d))
		printf("%s: %s\n", s->sh->displays[k].text, d.what);
}

void show_displays(struct session *s)
{
	for (unsigned k = 0; k < MAX_DISPLAYS; k++)
		if (s->sh->displays[k].number)
			show_display(s, k);
}

int do_display(struct session *s, const char *arg, struct diag *d)
{
	struct format f;
	const char *text = arg;
	int rc = split_format(&text, &f, d);
	unsigned k = 0;

	if (rc)
		return rc;
	if (!*text) {
		show_displays(s);
		return 0;
	}
	while (k < MAX_DISPLAYS && s->sh->displays[k].number)
		k++;
	if (k == MAX_DISPLAYS || strlen(text) >= sizeof(s->sh->displays[k].text) || text - arg >= 30)
		return diag_set(d, CUTRACE_EINVAL, "", "no more than %u displays, of 255 characters",
				MAX_DISPLAYS);
	snprintf(s->sh->displays[k].text, sizeof(s->sh->displays[k].text), "%s", text);
	snprintf(s->sh->displays[k].format, sizeof(s->sh->displays[k].format), "%.*s",
		 *arg == '/' ? (int)strcspn(arg + 1, " \t") : 0, arg + (*arg == '/'));
	s->sh->displays[k].number = ++s->sh->next_display;
	show_display(s, k);
	return 0;
}

int do_undisplay(struct session *s, const char *arg, struct diag *d)
{
	unsigned long n = strtoul(arg, NULL, 10);
	bool found = !*arg;

	for (unsigned k = 0; k < MAX_DISPLAYS; k++)
		if (s->sh->displays[k].number && (!*arg || s->sh->displays[k].number == n)) {
			s->sh->displays[k].number = 0;
			found = true;
		}
	return found ? 0 : diag_set(d, CUTRACE_EINVAL, "", "there is no display %.40s", arg);
}

int info_display(struct session *s, const char *arg, struct diag *d)
{
	bool any = false;

	if (takes_nothing(arg, "info display", d))
		return CUTRACE_EINVAL;
	for (unsigned k = 0; k < MAX_DISPLAYS; k++)
		if (s->sh->displays[k].number) {
			printf("%u: %s%s %s\n", s->sh->displays[k].number,
			       *s->sh->displays[k].format ? "/" : "", s->sh->displays[k].format,
			       s->sh->displays[k].text);
			any = true;
		}
	if (!any)
		puts("Nothing is displayed at stops.");
	return 0;
}

/* ---- registers --------------------------------------------------------------------------------------- */

struct register_row {
	enum ptx_type type;
	unsigned bytes;
	uint8_t all[DEBUG_LANES * 16];
};

static bool read_register(const struct session *s, const struct ptx_func *f, uint32_t slot,
			  struct register_row *r)
{
	const struct focus *at = &s->sh->focus;
	unsigned bits = f->slots[slot].bits ? f->slots[slot].bits : 64;
	uint32_t preds;

	r->type = code_register_type(f, slot);
	r->bytes = bits == 1 ? 1 : bits / 8;
	if (bits != 1)
		return s->view.reg(s->view.state, at->block, at->warp, at->lane, at->level, slot, r->all,
				   DEBUG_LANES * r->bytes);
	if (!s->view.reg(s->view.state, at->block, at->warp, at->lane, at->level, slot, &preds, 4))
		return false;
	for (unsigned l = 0; l < DEBUG_LANES; l++)
		r->all[l] = preds >> l & 1;
	return true;
}

static bool is_uniform(const struct register_row *r, uint32_t active)
{
	unsigned first = (unsigned)__builtin_ctz(active);

	for (unsigned l = first; l < DEBUG_LANES; l++)
		if (active >> l & 1 &&
		    memcmp(r->all + (size_t)l * r->bytes, r->all + (size_t)first * r->bytes, r->bytes) != 0)
			return false;
	return true;
}

static void show_register(const struct session *s, const struct ptx_func *f, uint32_t slot, const char *note)
{
	const struct format plain = {0}, hex = {.letter = 'x'};
	uint32_t lane = s->sh->focus.lane, active = focus_mask(s) | 1u << lane;
	struct register_row r;
	struct value v = {0};
	char text[240], bits[100];

	if (!read_register(s, f, slot, &r))
		return;
	typed_format(r.all + (size_t)lane * r.bytes, r.bytes, r.type, &plain, text, sizeof(text));
	v.type = (uint8_t)r.type;
	memcpy(v.bytes, r.all + (size_t)lane * r.bytes, r.bytes);
	add_name(s, &v, &plain, text, sizeof(text));
	typed_format(r.all + (size_t)lane * r.bytes, r.bytes, PTX_TYPE_NONE, &hex, bits, sizeof(bits));
	printf("%-10s %-6s %-20s %-20s %s%s\n", f->slots[slot].name, ptx_type_name(r.type), text, bits,
	       is_uniform(&r, active) ? "same in all active lanes" : "lanes differ", note);
}

static int show_named(struct session *s, const struct ptx_func *f, const char *arg, struct diag *d)
{
	while (*arg) {
		char name[128];
		size_t n = strcspn(arg, " \t,");
		uint32_t slot;

		snprintf(name, sizeof(name), "%s%.*s", *arg == '%' ? "" : "%", (int)(n < 100 ? n : 100), arg);
		slot = code_register(f, name);
		if (slot == PTX_NONE)
			return diag_set(d, CUTRACE_EINVAL, "", "%s has no register %s", f->name, name);
		show_register(s, f, slot, "");
		arg += n + strspn(arg + n, " \t,");
	}
	return 0;
}

int info_registers(struct session *s, const char *arg, struct diag *d)
{
	struct debug_frame frame;
	const struct ptx_func *f;
	bool *live, all = !strcmp(arg, "all"), any = false;
	int rc = need_thread(s, &frame, d);

	if (rc)
		return rc;
	f = code_func(s, frame.func);
	if (!f)
		return diag_set(d, CUTRACE_EINVAL, "", "of this function nothing is known");
	if (*arg && !all)
		return show_named(s, f, arg, d);
	live = calloc(f->nslots + 1, sizeof(*live));
	if (!live)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	if (code_live(f, frame.inst, live))
		all = true; /* nobody knows which are dead */
	for (uint32_t k = 1; k < f->nslots; k++)
		if (live[k] || all) {
			show_register(s, f, k, live[k] ? "" : ", dead");
			any = true;
		}
	if (!any)
		puts("No register is live here; `info registers all` shows them all.");
	free(live);
	return 0;
}

/* ---- variables ----------------------------------------------------------------------------------------- */

struct listing {
	struct session *s;
	bool params, any;
};

static void show_variable(void *ctx, const struct variable *v)
{
	struct listing *l = ctx;
	struct session *s = l->s;
	unsigned n = type_bytes((enum ptx_type)v->type);
	const struct format plain = {0};
	struct debug_place p;
	uint8_t bytes[16];
	struct value value = {.type = v->type};
	char text[400] = "(not here)";
	bool is_param = v->space == DEBUG_PARAM;

	if (l->params != is_param)
		return;
	l->any = true;
	if (place_of(s, v, &s->sh->focus, &p) && place_read(s, &p, bytes, n < 16 ? n : 16)) {
		memcpy(value.bytes, bytes, n < 16 ? n : 16);
		typed_format(bytes, n < 16 ? n : 16, (enum ptx_type)v->type, &plain, text, sizeof(text));
		add_name(s, &value, &plain, text, sizeof(text));
	}
	if (is_param)
		printf("%-28s %-5s %s\n", v->name, ptx_type_name((enum ptx_type)v->type), text);
	else
		printf("%-28s %-5s %-6s 0x%-12llx %llu bytes: %s%s\n", v->name,
		       ptx_type_name((enum ptx_type)v->type), space_name((enum debug_space)v->space),
		       (unsigned long long)v->address, (unsigned long long)v->bytes, text,
		       v->bytes > n ? ", ..." : "");
}

static int list_variables(struct session *s, bool params)
{
	struct listing l = {s, params, false};
	struct debug_frame frame;
	uint32_t func = focus_is_there(s, &s->sh->focus, &frame) && !params ? frame.func : s->entry->index;

	place_each(s, func, show_variable, &l);
	if (!l.any)
		puts(params ? "The kernel has no parameters." : "No variables.");
	return 0;
}

int info_variables(struct session *s, const char *arg, struct diag *d)
{
	return takes_nothing(arg, "info variables", d) ? CUTRACE_EINVAL : list_variables(s, false);
}

int info_params(struct session *s, const char *arg, struct diag *d)
{
	return takes_nothing(arg, "info params", d) ? CUTRACE_EINVAL : list_variables(s, true);
}
