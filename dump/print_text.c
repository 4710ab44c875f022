/* SPDX-License-Identifier: Apache-2.0
 * One line a call, in the manner of strace; launches, payloads and diagnostics follow indented. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dump/row.h"

#define MAX_HEX_BYTES 32u

void format_f32(float f, char *buf, size_t bytes)
{
	int digits;

	snprintf(buf, bytes, "nan"); /* whatever its sign */
	for (digits = 6; f == f && digits <= 9; digits++) {
		snprintf(buf, bytes, "%.*g", digits, (double)f);
		if (strtof(buf, NULL) == f)
			return;
	}
}

void format_f64(double f, char *buf, size_t bytes)
{
	int digits;

	snprintf(buf, bytes, "nan");
	for (digits = 15; f == f && digits <= 17; digits++) {
		snprintf(buf, bytes, "%.*g", digits, f);
		if (strtod(buf, NULL) == f)
			return;
	}
}

void print_quoted(FILE *out, const char *s, size_t n)
{
	size_t i;

	fputc('"', out);
	for (i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", out);
		else if (c == '\t')
			fputs("\\t", out);
		else if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void print_value(const struct print_options *o, const struct value *v);

static void print_children(const struct print_options *o, const struct value *v, const char *brackets)
{
	const struct value *c;

	fputc(brackets[0], o->out);
	for (c = v->child; c; c = c->next) {
		if (v->kind == VALUE_STRUCT)
			fprintf(o->out, "%s=", c->name);
		print_value(o, c);
		if (c->next)
			fputs(", ", o->out);
	}
	if (v->more)
		fprintf(o->out, "%s... %" PRIu64 " more", v->child ? ", " : "", v->more);
	fputc(brackets[1], o->out);
}

static void print_bytes(FILE *out, const struct value *v)
{
	uint64_t i, n = v->n < MAX_HEX_BYTES ? v->n : MAX_HEX_BYTES, more = v->more + v->n - n;

	fputs("hex:", out);
	for (i = 0; i < n; i++)
		fprintf(out, "%02x", (unsigned char)v->text[i]);
	if (more)
		fprintf(out, "... %" PRIu64 " more", more);
}

/* alloc#3+0x40; in full form after the address */
static void print_range(const struct print_options *o, const struct value *v)
{
	fprintf(o->out, "alloc#%" PRIu64, v->allocation);
	if (v->variable)
		fprintf(o->out, "(%s)", v->variable);
	if (v->offset)
		fprintf(o->out, "+0x%" PRIx64, v->offset);
}

static void print_address(const struct print_options *o, const struct value *v, const char *unknown)
{
	if (o->stable && !v->allocation) {
		fputs(unknown, o->out);
	} else if (o->stable) {
		print_range(o, v);
	} else {
		fprintf(o->out, "0x%" PRIx64, v->u);
		if (v->allocation) {
			fputc('<', o->out);
			print_range(o, v);
			fputc('>', o->out);
		}
	}
}

static void print_handle(const struct print_options *o, const struct value *v)
{
	if (o->stable)
		fprintf(o->out, "%s#%u", v->type, v->number);
	else
		fprintf(o->out, "0x%" PRIx64, v->u);
	if (v->text)
		fprintf(o->out, "<%s>", v->text);
}

static void print_float(FILE *out, const struct value *v)
{
	char buf[40];

	if (v->kind == VALUE_F32)
		format_f32((float)v->f, buf, sizeof(buf));
	else
		format_f64(v->f, buf, sizeof(buf));
	fputs(buf, out);
}

static void print_payload(const struct print_options *o, const struct value *v)
{
	if (o->stable)
		fprintf(o->out, "<%" PRIu64 " bytes>", v->n);
	else
		fprintf(o->out, "<%" PRIu64 " bytes, buffer %" PRIu64 ">", v->n, v->u);
}

static void print_value(const struct print_options *o, const struct value *v)
{
	if (o->stable && v->measured) {
		fputc('?', o->out);
		return;
	}
	switch (v->kind) {
	case VALUE_UNKNOWN: fputc('?', o->out); break;
	case VALUE_NULL: fputs("NULL", o->out); break;
	case VALUE_INT: fprintf(o->out, "%" PRId64, v->i); break;
	case VALUE_UINT: fprintf(o->out, "%" PRIu64, v->u); break;
	case VALUE_RAW:
		if (o->stable)
			fputc('?', o->out);
		else
			fprintf(o->out, "0x%" PRIx64, v->u);
		break;
	case VALUE_F32:
	case VALUE_F64: print_float(o->out, v); break;
	case VALUE_STRING: print_quoted(o->out, v->text, v->n); break;
	case VALUE_SYMBOL: fputs(v->text, o->out); break;
	case VALUE_HANDLE: print_handle(o, v); break;
	case VALUE_DEVICE: print_address(o, v, "device"); break;
	case VALUE_HOST: print_address(o, v, "host"); break;
	case VALUE_BYTES: print_bytes(o->out, v); break;
	case VALUE_LIST: print_children(o, v, "[]"); break;
	case VALUE_STRUCT: print_children(o, v, "{}"); break;
	case VALUE_REF:
		fputc('&', o->out);
		print_value(o, v->child);
		break;
	case VALUE_CHANGE:
		fputc('&', o->out);
		print_value(o, v->child);
		fputs(" -> ", o->out);
		print_value(o, v->child->next);
		break;
	case VALUE_PAYLOAD: print_payload(o, v); break;
	}
}

static void print_lead(const struct print_options *o, const struct row *r)
{
	unsigned i;

	fprintf(o->out, "%6" PRIu64 "  ", r->call.id);
	if (o->many_process)
		fprintf(o->out, "p%u ", r->process);
	fprintf(o->out, "t%u  ", r->call.thread);
	if (!o->stable)
		fprintf(o->out, "%10.3f ms  ", (double)r->call.t_enter / 1e6);
	for (i = 0; i < r->depth; i++)
		fputs("  ", o->out);
}

void print_continued(FILE *out, const char *text, int column)
{
	for (; *text; text++) {
		fputc(*text, out);
		if (*text == '\n' && text[1])
			fprintf(out, "%*s", column, "");
	}
}

/* Under the call, so that the eye finds the next call by its number. */
static void print_indent(const struct print_options *o, const struct row *r)
{
	fprintf(o->out, "%*s", 12 + (o->many_process ? 3 : 0) + (int)r->depth * 2, "");
}

static void print_launch(const struct print_options *o, const struct row *r)
{
	const struct trace_launch *l = &r->launch;
	const struct value *v;

	print_indent(o, r);
	fprintf(o->out, "kernel %s<<<%ux%ux%u, %ux%ux%u", r->kernel ? r->kernel : "?", l->grid[0], l->grid[1],
		l->grid[2], l->block[0], l->block[1], l->block[2]);
	if (l->shared_bytes)
		fprintf(o->out, ", shared %u", l->shared_bytes);
	fprintf(o->out, "%s>>>(", l->cooperative ? ", cooperative" : "");
	for (v = r->kernel_args; v; v = v->next) {
		if (v->type)
			fprintf(o->out, "%s ", v->type);
		if (v->name)
			fprintf(o->out, "%s=", v->name);
		print_value(o, v);
		if (v->next)
			fputs(", ", o->out);
	}
	if (!r->kernel_args_known)
		fputs("? not recorded", o->out);
	fprintf(o->out, ")%s\n", r->kernel && !r->kernel_has_ptx ? " [no PTX]" : "");
}

static void print_payload_line(const struct print_options *o, const struct row *r,
			       const struct row_payload *p)
{
	print_indent(o, r);
	fprintf(o->out, "%s", p->kind);
	if (p->buffer) {
		fprintf(o->out, " %" PRIu64 " bytes", p->bytes);
		if (!o->stable)
			fprintf(o->out, ", buffer %" PRIu64, p->buffer);
	}
	if (p->height > 1 || p->depth > 1)
		fprintf(o->out, ", %" PRIu64 " x %" PRIu64 " x %" PRIu64, p->width, p->height, p->depth);
	if (p->device) {
		fputs(", device ", o->out);
		print_value(o, p->device);
	}
	fprintf(o->out, "%s%s\n", p->note ? ": " : "", p->note ? p->note : "");
}

static void print_args(const struct print_options *o, const struct value *v)
{
	for (; v; v = v->next) {
		if (v->name)
			fprintf(o->out, "%s=", v->name);
		print_value(o, v);
		if (v->next)
			fputs(", ", o->out);
	}
}

void print_text(const struct print_options *o, const struct row *r)
{
	unsigned i;

	print_lead(o, r);
	fprintf(o->out, "%s(", r->function);
	if (o->stable && r->args && !r->args->name)
		fputs("...", o->out);
	else
		print_args(o, r->args);
	fputs(") = ", o->out);
	if (r->call.done)
		print_value(o, r->result);
	else
		fputs("? in flight", o->out);
	if (r->call.done && !o->stable)
		fprintf(o->out, "  <%.1f us>", (double)row_duration_ns(r) / 1e3);
	fputc('\n', o->out);
	if (r->launch.call)
		print_launch(o, r);
	for (i = 0; i < r->npayloads; i++)
		if (!r->payloads[i].shown || r->payloads[i].height > 1 || r->payloads[i].depth > 1)
			print_payload_line(o, r, &r->payloads[i]);
	for (i = 0; i < r->ndiagnostics; i++) {
		print_indent(o, r);
		fprintf(o->out, "! %s from the %s: ", r->diagnostics[i].severity, r->diagnostics[i].source);
		print_continued(o->out, r->diagnostics[i].message, 14);
		fputc('\n', o->out);
	}
}
