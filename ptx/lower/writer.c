/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/lower/writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* Every line says which PTX line it is of: debuggers, profilers and the assembly show it. */
static void end_line(struct lower *l)
{
	fprintf(l->body, ", !dbg !DILocation(line: %u, column: %u, scope: !%u)\n",
		l->i ? l->i->line : l->f->line, l->i && l->i->col < 65536 ? l->i->col : 0, l->subprogram);
}

void ir_line(struct lower *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("  ", l->body);
	vfprintf(l->body, fmt, ap);
	va_end(ap);
	end_line(l);
}

struct ir ir_op(struct lower *l, const char *fmt, ...)
{
	va_list ap;
	unsigned n = l->next++;

	va_start(ap, fmt);
	fprintf(l->body, "  %%t%u = ", n);
	vfprintf(l->body, fmt, ap);
	va_end(ap);
	end_line(l);
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
