/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* vasprintf */
#include "ptx/lower/writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Every line says which PTX line it is of: debuggers, profilers and the assembly show it. */
static void end_line(struct lower *l)
{
	fprintf(l->body, ", !dbg !DILocation(line: %u, column: %u, scope: !%u)\n",
		l->i ? l->i->line : l->f->line, l->i && l->i->col < 65536 ? l->i->col : 0, l->subprogram);
}

/* The type of each argument of "float %a, i32 3)": what stands before its last blank. */
static void write_argument_types(FILE *out, const char *arguments)
{
	const char *blank = NULL, *start = arguments;
	unsigned depth = 0;

	for (const char *p = arguments; *p; p++) {
		bool ends = !depth && (*p == ',' || *p == ')');

		depth += *p == '(' || *p == '<';
		depth -= !ends && (*p == ')' || *p == '>');
		if (*p == ' ' && !depth)
			blank = p;
		if (!ends)
			continue;
		fprintf(out, "%s%.*s", start == arguments ? "" : ", ", blank ? (int)(blank - start) : 0,
			start);
		if (*p == ')')
			break;
		start = p + 2;
	}
}

/* "call T @ct_name(...)": declares it, the first time. */
static void declare_called(struct lower *l, const char *text)
{
	const char *name = strstr(text, "@ct_"), *call = name ? strstr(text, "call ") : NULL;
	const char *open = name ? strchr(name, '(') : NULL;
	struct ir_declarations *d = &l->declared;
	char known[128];

	if (!call || !open)
		return;
	if (!d->out)
		d->out = open_memstream(&d->text, &d->bytes);
	if (!d->out || fflush(d->out)) {
		lower_no_memory(l);
		return;
	}
	snprintf(known, sizeof(known), "%.*s(", (int)(open - name), name);
	if (strstr(d->text, known))
		return;
	fprintf(d->out, "declare %.*s", (int)(open + 1 - (call + 5)), call + 5);
	write_argument_types(d->out, open + 1);
	fputs(")\n", d->out);
}

static void write_line(struct lower *l, const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0) {
		lower_no_memory(l);
		return;
	}
	fputs(text, l->body);
	declare_called(l, text);
	free(text);
	end_line(l);
}

void ir_line(struct lower *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("  ", l->body);
	write_line(l, fmt, ap);
	va_end(ap);
}

struct ir ir_op(struct lower *l, const char *fmt, ...)
{
	va_list ap;
	unsigned n = l->next++;

	va_start(ap, fmt);
	fprintf(l->body, "  %%t%u = ", n);
	write_line(l, fmt, ap);
	va_end(ap);
	return ir_text("%%t%u", n);
}

struct ir ir_text(const char *fmt, ...)
{
	struct ir v;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v.s, sizeof(v.s), fmt, ap);
	va_end(ap);
	return v;
}

struct ir ir_int(uint64_t v, unsigned bits)
{
	if (bits < 64)
		v &= (1ull << bits) - 1;
	return ir_text("%" PRIu64, v);
}

void ir_label(struct lower *l, unsigned label)
{
	fprintf(l->body, "l%u:\n", label);
}

struct ir ir_resize(struct lower *l, struct ir v, unsigned from, unsigned to, bool is_signed)
{
	if (from == to)
		return v;
	return ir_op(l, "%s i%u %s to i%u", from > to ? "trunc" : is_signed ? "sext" : "zext", from, v.s, to);
}

/* The first reason is kept. */
bool lower_refuse(struct lower *l, const char *fmt, ...)
{
	va_list ap;

	if (l->refused)
		return false;
	l->refused = true;
	l->out->line = l->i ? l->i->line : 0;
	snprintf(l->out->op, sizeof(l->out->op), "%s", l->i ? ptx_op_name(l->i->op) : "");
	va_start(ap, fmt);
	vsnprintf(l->out->reason, sizeof(l->out->reason), fmt, ap);
	va_end(ap);
	return false;
}

bool lower_no_memory(struct lower *l)
{
	l->no_memory |= !l->refused;
	return lower_refuse(l, "out of memory");
}
