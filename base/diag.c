/* SPDX-License-Identifier: Apache-2.0 */
#include "base/diag.h"

#include <string.h>

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

void diag_print(const struct diag *d, FILE *out)
{
	fprintf(out, "%s%serror: %s\n", d->where, d->where[0] ? ": " : "", d->what);
	if (!d->hint[0])
		return;
	fputs("  hint: ", out);
	for (const char *c = d->hint; *c; c++) { /* a caret below a line stays below its character */
		fputc(*c, out);
		if (*c == '\n')
			fputs("        ", out);
	}
	fputc('\n', out);
}
