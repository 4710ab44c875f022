/* SPDX-License-Identifier: Apache-2.0
 *
 * Text: the PTX, and the source where its file is there. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug/session.h"

enum { LINES = 10 };

static bool has_breakpoint(const struct session *s, uint32_t line)
{
	for (unsigned k = 0; k < MAX_BREAKS; k++) {
		const struct breakpoint *b = &s->sh->breaks[k];

		for (uint32_t p = 0; b->kind == BREAK_CODE && p < b->nplaces; p++) {
			const struct ptx_inst *i = code_inst(s, b->places[p].func, b->places[p].inst);

			if (i && i->line == line)
				return true;
		}
	}
	return false;
}

static const struct ptx_inst *here(const struct session *s, struct debug_frame *frame)
{
	return focus_is_there(s, &s->sh->focus, frame) ? code_inst(s, frame->func, frame->inst) : NULL;
}

/* A whole line of the text, tabs as they are. */
static const char *find_line(const struct session *s, uint32_t line, int *length)
{
	const char *p = s->module->text;

	for (uint32_t k = 1; k < line && p; k++) {
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	*length = p ? (int)strcspn(p, "\r\n") : 0;
	return p;
}

static void list_ptx(struct session *s, uint32_t first)
{
	struct debug_frame frame;
	const struct ptx_inst *at = here(s, &frame);
	uint32_t last = code_nlines(s);
	int n;

	for (uint32_t line = first; line < first + LINES && line <= last; line++) {
		const char *text = find_line(s, line, &n);

		if (text)
			printf("%s%s %-5u %.*s\n", at && at->line == line ? "=>" : "  ",
			       has_breakpoint(s, line) ? "b" : " ", line, n < 200 ? n : 200, text);
	}
	s->sh->list_line = first + LINES;
}

/* The trace names it: what is no file, but a device or a pipe, might never end. */
static FILE *open_source(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	FILE *f = NULL;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
		f = fdopen(fd, "r");
	if (fd >= 0 && !f)
		close(fd);
	return f;
}

/* False: the file is not there, or not so long. */
static bool list_source(const struct session *s, uint32_t file, uint32_t first, uint32_t mark)
{
	FILE *f = open_source(code_file_name(s, file));
	char line[300];
	bool any = false;

	for (uint32_t k = 1; f && k < first + LINES && fgets(line, sizeof(line), f);
	     k += strchr(line, '\n') != NULL) {
		if (k < first || !strchr(line, '\n'))
			continue;
		printf("%s  %-5u %s", k == mark ? "=>" : "  ", k, line);
		any = true;
	}
	if (f)
		fclose(f);
	return any;
}

static uint32_t around(uint32_t line)
{
	return line > LINES / 2 ? line - LINES / 2 : 1;
}

static int list_place(struct session *s, const char *arg, struct diag *d)
{
	struct breakpoint b = {0};
	const struct ptx_inst *i;
	uint32_t file, line;
	unsigned ptx;
	char rest;
	int rc;

	if (sscanf(arg, "%u%c", &ptx, &rest) == 1) {
		if (!ptx || ptx > code_nlines(s))
			return diag_set(d, CUTRACE_EINVAL, "", "the PTX has %u lines", code_nlines(s));
		list_ptx(s, around(ptx));
		return 0;
	}
	rc = code_resolve(s, arg, &b, d);
	if (rc)
		return rc;
	i = code_inst(s, b.places[0].func, b.places[0].inst);
	if (strchr(arg, ':') && code_source(s, b.places[0].func, b.places[0].inst, &file, &line) &&
	    list_source(s, file, around(line), line))
		return 0;
	list_ptx(s, around(i->line));
	return 0;
}

int do_list(struct session *s, const char *arg, struct diag *d)
{
	struct debug_frame frame;
	const struct ptx_inst *i;

	if (*arg)
		return list_place(s, arg, d);
	i = here(s, &frame);
	if (s->sh->list_line > code_nlines(s))
		return diag_set(d, CUTRACE_EINVAL, "", "the PTX has %u lines", code_nlines(s));
	list_ptx(s, s->sh->list_line ? (uint32_t)s->sh->list_line : around(i ? i->line : s->entry->line));
	return 0;
}

int info_line(struct session *s, const char *arg, struct diag *d)
{
	struct breakpoint b = {0};
	struct debug_frame frame;
	char where[300], text[300];
	int rc = 0;

	if (*arg) {
		rc = code_resolve(s, arg, &b, d);
	} else {
		rc = need_thread(s, &frame, d);
		b.nplaces = 1;
		b.places[0] = (struct code_place){frame.func, frame.inst};
	}
	for (uint32_t k = 0; !rc && k < b.nplaces; k++) {
		const struct ptx_inst *i = code_inst(s, b.places[k].func, b.places[k].inst);

		code_describe(s, b.places[k].func, b.places[k].inst, where, sizeof(where));
		code_line_text(s, i ? i->line : 0, text, sizeof(text));
		printf("%s: %s\n", where, text);
	}
	return rc;
}
