/* SPDX-License-Identifier: Apache-2.0 */
#include "base/diag.h"

#include <string.h>

#include "base/utf8.h"

int diag_vset(struct diag *d, int code, const char *where, const char *fmt, va_list ap)
{
	size_t n;

	if (!d)
		return code;
	d->code = code;
	d->hint[0] = '\0';
	where = where ? where : "";
	n = strlen(where);
	if (n < sizeof(d->where))
		memcpy(d->where, where, n + 1);
	else /* the end of a long path says more */
		snprintf(d->where, sizeof(d->where), "...%s", where + n - (sizeof(d->where) - 4));
	vsnprintf(d->what, sizeof(d->what), fmt, ap);
	return code;
}

int diag_set(struct diag *d, int code, const char *where, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_vset(d, code, where, fmt, ap);
	va_end(ap);
	return code;
}

void diag_hint(struct diag *d, const char *fmt, ...)
{
	va_list ap;

	if (!d)
		return;
	va_start(ap, fmt);
	vsnprintf(d->hint, sizeof(d->hint), fmt, ap);
	va_end(ap);
}

/* Names and lines out of files may hold any bytes: none reaches a terminal that is no text. Each is one character wide, so
 * that a caret below a line stays below its character; the lines of a hint are indented. */
static void print_text(const char *text, FILE *out)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t left = strlen(text), n;

	for (; left; s += n, left -= n) {
		n = utf8_char_bytes(s, left);
		if (*s == '\n')
			fputs("\n        ", out);
		else if (!n || (*s < 0x20 && *s != '\t') || *s == 0x7f ||
			 (n == 2 && *s == 0xc2 && s[1] < 0xa0))
			fputc('?', out);
		else
			fwrite(s, 1, n, out);
		n = n ? n : 1;
	}
}

void diag_print(const struct diag *d, FILE *out)
{
	print_text(d->where, out);
	fputs(d->where[0] ? ": error: " : "error: ", out);
	print_text(d->what, out);
	if (d->hint[0])
		fputs("\n  hint: ", out);
	print_text(d->hint, out);
	fputc('\n', out);
}
