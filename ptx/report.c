/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/report: error messages with place and caret. */
#include <string.h>

#include "ptx/parse.h"

/* As much of the line as fits twice (text and caret) into a hint. */
enum { CARET_WIDTH = 100 };

static uint32_t line_of(const struct ptx_module *m, const struct ptx_func *f, const char *at)
{
	const char *p = m->text;
	uint32_t line = 1;
	if (f && f->body_end && at >= m->text + f->body_begin) {
		p = m->text + f->body_begin;
		line = f->body_line;
	}
	for (; (p = memchr(p, '\n', (size_t)(at - p))); p++)
		line++;
	return line;
}

static void set_caret(const struct ptx_module *m, struct diag *d, const char *at)
{
	const char *text_end = m->text + m->text_bytes, *start = at, *end = at;
	while (start > m->text && start[-1] != '\n' && at - start < CARET_WIDTH - 20)
		start--;
	while (end < text_end && *end != '\n' && *end != '\r' && end - start < CARET_WIDTH)
		end++;
	char *out = d->hint;
	for (const char *p = start; p < end; p++)
		*out++ = *p ? *p : '?';
	*out++ = '\n';
	for (const char *p = start; p < at; p++)
		*out++ = *p == '\t' ? '\t' : ' ';
	*out++ = '^';
	*out = 0;
}

static int vreport(const struct ptx_module *m, const struct ptx_func *f, struct diag *d, int code,
		   const char *at, const char *fmt, va_list ap)
{
	if (!d)
		return code;
	if (!at || at < m->text || at > m->text + m->text_bytes)
		at = m->text;
	const char *start = at;
	while (start > m->text && start[-1] != '\n')
		start--;
	char where[sizeof(d->where)];
	snprintf(where, sizeof(where), "%.200s:%u:%u", m->name, line_of(m, f, at),
		 (unsigned)(at - start) + 1);
	diag_vset(d, code, where, fmt, ap);
	set_caret(m, d, at);
	return code;
}

int ptx_report(const struct ptx_module *m, const struct ptx_func *f, struct diag *d, int code, const char *at,
	       const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vreport(m, f, d, code, at, fmt, ap);
	va_end(ap);
	return code;
}

int parser_fail(struct parser *p, int code, const char *at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vreport(p->m, p->f, p->error, code, at, fmt, ap);
	va_end(ap);
	return code;
}

int parser_expect(struct parser *p, char c)
{
	if (lex_accept(&p->lx, c))
		return 0;
	lex_peek(&p->lx);
	return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected '%c'", c);
}

int parser_out_of_memory(struct parser *p)
{
	return diag_set(p->error, CUTRACE_ENOMEM, p->m->name, "out of memory");
}
