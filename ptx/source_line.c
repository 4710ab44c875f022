/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/source_line: where an instruction comes from, for reports. */
#include <string.h>

#include "ptx/parse.h"

bool ptx_inst_source(const struct ptx_module *m, const struct ptx_inst *i, char *buf, size_t bytes)
{
	if (i->loc >= m->nlocs)
		return false;
	const struct ptx_loc *l = &m->locs[i->loc];
	if (!l->line || l->file >= m->nfiles || !m->files[l->file])
		return false;
	const char *name = m->files[l->file], *slash = strrchr(name, '/');
	snprintf(buf, bytes, "%s:%u", slash ? slash + 1 : name, l->line);
	return true;
}

bool ptx_line_text(const struct ptx_module *m, uint32_t line, char *buf, size_t bytes)
{
	const char *p = m->text, *end = m->text + m->text_bytes;
	for (uint32_t k = 1; k < line && p; k++) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : NULL;
	}
	if (!line || !p || p >= end || !bytes)
		return false;
	const char *stop = memchr(p, '\n', (size_t)(end - p));
	stop = stop ? stop : end;
	while (p < stop && lex_class[(uint8_t)*p] & LEX_BLANK && *p != '/' && *p != '#')
		p++;
	while (stop > p && lex_class[(uint8_t)stop[-1]] & LEX_BLANK && stop[-1] != '/' && stop[-1] != '#')
		stop--;
	size_t n = (size_t)(stop - p) < bytes - 1 ? (size_t)(stop - p) : bytes - 1;
	memcpy(buf, p, n);
	buf[n] = 0;
	return true;
}
