/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace-compile with a fault: between ptx/lower and LLVM it edits the IR by the rule that the file `rule` of the cache's
 * folder names (of the environment a compiler has CUTRACE_CACHE, but not what tests would like). The linker leads the call of
 * lower_kernel_as here (--wrap). The file `lines` there gets the PTX lines whose code was changed, each with the module's
 * size, which tells texts apart: "BYTES KERNEL LINE".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "ptx/lower/lower.h"
#include "rules.h"

int __real_lower_kernel_as(struct ptx_module *m, struct ptx_func *kernel, const struct lower_target *target,
			   const struct lower_options *options, struct lowered *out, struct diag *d);
int __wrap_lower_kernel_as(struct ptx_module *m, struct ptx_func *kernel, const struct lower_target *target,
			   const struct lower_options *options, struct lowered *out, struct diag *d);

struct editor {
	struct ptx_module *m;
	const char *kernel;
	const struct fault_rule *rule;
	FILE *out, *log;
	unsigned edits;
	bool spare_log;
};

/* The line's text with single blanks. */
static void ptx_line(struct editor *e, unsigned line, char *out, size_t size)
{
	char text[1024];
	size_t n = 0;

	if (!ptx_line_text(e->m, line, text, sizeof(text)))
		text[0] = '\0';
	for (const char *p = text; *p && n + 1 < size; p++)
		if (*p != '\t' && (*p != ' ' || (n && out[n - 1] != ' ')))
			out[n++] = *p;
		else if (n && out[n - 1] != ' ')
			out[n++] = ' ';
	out[n] = '\0';
}

static bool is_of_operation(struct editor *e, unsigned line)
{
	struct piece pieces[PATTERN_PIECES];
	char text[1024];

	if (!line)
		return !*e->rule->ops;
	ptx_line(e, line, text, sizeof(text));
	if (e->spare_log && fault_is_of_log(text))
		return false;
	return *e->rule->ops && pattern_match(e->rule->ops, text, strlen(text), pieces) >= 0;
}

/* One instruction a line, each with the debug location of what it replaces. */
static void write_made(struct editor *e, const char *made, const char *behind)
{
	for (size_t n; *made; made += n + (made[n] == '\n')) {
		n = strcspn(made, "\n");
		fprintf(e->out, "  %.*s%s\n", (int)n, made, behind);
	}
}

static bool replace(struct editor *e, const char *line, size_t n, const char *behind, unsigned ptx)
{
	struct piece pieces[PATTERN_PIECES];
	int which = pattern_match(e->rule->from, line, n, pieces);
	char *made = NULL;
	size_t bytes;
	FILE *f;

	if (which < 0 || !is_of_operation(e, ptx))
		return false;
	f = open_memstream(&made, &bytes);
	pattern_make(f, e->rule->to, which, pieces, e->edits++);
	fclose(f);
	write_made(e, made, behind);
	free(made);
	if (e->log)
		fprintf(e->log, "%zu %s %u\n", e->m->text_bytes, e->kernel, ptx);
	return true;
}

static void edit_line(struct editor *e, const char *line, size_t n)
{
	static const char mark[] = ", !dbg ", place[] = "DILocation(line: ";
	const char *dbg = memmem(line, n, mark, sizeof(mark) - 1), *at = line;
	const char *number = dbg ? memmem(dbg, n - (size_t)(dbg - line), place, sizeof(place) - 1) : NULL;
	unsigned ptx = number ? (unsigned)strtoul(number + sizeof(place) - 1, NULL, 10) : 0;
	char behind[256] = "";

	if (dbg)
		snprintf(behind, sizeof(behind), "%.*s", (int)(line + n - dbg), dbg);
	while (*at == ' ')
		at++;
	if (!replace(e, at, (size_t)((dbg ? dbg : line + n) - at), behind, ptx)) {
		fwrite(line, 1, n, e->out);
		fputc('\n', e->out);
	}
}

static void edit(struct editor *e, struct lowered *l)
{
	char *text = NULL;
	size_t bytes = 0;

	e->out = open_memstream(&text, &bytes);
	if (!e->out)
		return;
	for (const char *p = l->text, *end = p + l->bytes; p < end;) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));

		stop = stop ? stop : end;
		edit_line(e, p, (size_t)(stop - p));
		p = stop + 1;
	}
	fclose(e->out);
	free(l->text);
	l->text = text;
	l->bytes = bytes;
}

/* NULL: there is none. */
static FILE *open_beside_cache(const char *name, const char *mode)
{
	const char *folder = getenv("CUTRACE_CACHE");
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : "", name);
	return fopen(path, mode);
}

/* "NAME", or "NAME spare-log" */
static const struct fault_rule *rule(bool *spare_log)
{
	FILE *f = open_beside_cache("rule", "r");
	const struct fault_rule *r = NULL;
	char name[128], more[32];
	int n = f ? fscanf(f, "%127s %31s", name, more) : 0;

	if (n >= 1)
		r = fault_rule_find(name);
	*spare_log = n == 2 && !strcmp(more, "spare-log");
	if (f)
		fclose(f);
	return r && r->level == FAULT_LLVM ? r : NULL;
}

int __wrap_lower_kernel_as(struct ptx_module *m, struct ptx_func *kernel, const struct lower_target *target,
			   const struct lower_options *options, struct lowered *out, struct diag *d)
{
	struct editor e = {.m = m, .kernel = kernel->name};
	int rc = __real_lower_kernel_as(m, kernel, target, options, out, d);

	e.rule = rule(&e.spare_log);
	if (rc || !e.rule)
		return rc;
	e.log = open_beside_cache("lines", "a");
	edit(&e, out);
	if (e.log)
		fclose(e.log);
	return 0;
}
