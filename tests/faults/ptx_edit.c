/* SPDX-License-Identifier: Apache-2.0
 *
 * No parser of PTX, only of where its instructions begin and end: a program's text has been through our parser before.
 */
#include "ptx_edit.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"

enum { MAX_INSTRUCTION = 4096 };

struct editor {
	const char *at, *end;
	unsigned line;
	FILE *out;
	const struct fault_rule *rule;
	ptx_edit_note *note;
	void *ctx;
	char function[512];
	unsigned edits;
};

static bool starts(const struct editor *e, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(e->end - e->at) >= n && !memcmp(e->at, word, n);
}

/* Up to `to`, as it is. */
static void copy(struct editor *e, const char *to)
{
	for (; e->at < to; e->at++) {
		fputc(*e->at, e->out);
		e->line += *e->at == '\n';
	}
}

static const char *find(const char *at, const char *end, char c)
{
	const char *p = at < end ? memchr(at, c, (size_t)(end - at)) : NULL;

	return p ? p : end;
}

/* Behind a comment at p, or p. */
static const char *behind_comment(const char *p, const char *end)
{
	if (end - p < 2 || *p != '/')
		return p;
	if (p[1] == '/')
		return find(p, end, '\n');
	if (p[1] != '*')
		return p;
	for (p += 2; end - p >= 2 && (p[0] != '*' || p[1] != '/'); p++)
		;
	return end - p >= 2 ? p + 2 : end;
}

static const char *behind_blanks(const char *p, const char *end)
{
	while (p < end) {
		const char *next = behind_comment(p, end);

		if (next == p && !isspace((unsigned char)*p))
			break;
		p = next == p ? p + 1 : next;
	}
	return p;
}

/* ".visible .entry name(": the name, of which the kernel's instructions are then. */
static void note_function(struct editor *e, const char *end)
{
	char text[1024], *p;

	snprintf(text, sizeof(text), "%.*s", (int)(end - e->at), e->at);
	p = strstr(text, ".entry");
	if (!p)
		p = strstr(text, ".func");
	if (!p)
		return;
	p += strcspn(p, " \t\n");
	p += strspn(p, " \t\n");
	if (*p == '(') { /* what the function returns */
		p += strcspn(p, ")");
		p += *p == ')';
		p += strspn(p, " \t\n");
	}
	snprintf(e->function, sizeof(e->function), "%.*s", (int)strcspn(p, " \t\n(;{"), p);
}

/* Directives end at the end of the line, at a semicolon, or where a function's body begins. */
static void pass_directive(struct editor *e)
{
	static const char *const lines[] = {".version", ".target", ".address_size", ".loc", ".file"};
	const char *p = e->at;
	bool initialised = false;

	for (unsigned k = 0; k < sizeof(lines) / sizeof(lines[0]); k++)
		if (starts(e, lines[k])) {
			copy(e, find(p, e->end, '\n'));
			return;
		}
	if (starts(e, ".section")) {
		copy(e, find(p, e->end, '}'));
		return;
	}
	for (; p < e->end && *p != ';' && (*p != '{' || initialised); p++)
		initialised |= *p == '=';
	note_function(e, p);
	copy(e, p < e->end && *p == ';' ? p + 1 : p);
}

/* Without comments, with single blanks, none before commas and after them one. */
static void normalise(const char *p, const char *end, char *out)
{
	size_t n = 0;

	while (p < end && n < MAX_INSTRUCTION - 3) {
		const char *next = behind_blanks(p, end);

		if (next > p) {
			p = next;
			if (n && p < end && *p != ',' && out[n - 1] != ' ' && out[n - 1] != '[' &&
			    out[n - 1] != '{' && *p != ']' && *p != '}')
				out[n++] = ' ';
			continue;
		}
		out[n++] = *p++;
		if (out[n - 1] == ',')
			out[n++] = ' ';
	}
	while (n && out[n - 1] == ' ')
		n--;
	out[n] = 0;
}

/* Each instruction of what was made gets the guard. */
static void write_made(struct editor *e, const char *guard, const char *made)
{
	while (*made) {
		size_t n = strcspn(made, ";");

		made += strspn(made, " ");
		if (*made == '{' || *made == '}') {
			fprintf(e->out, "%c ", *made++);
			continue;
		}
		n = strcspn(made, ";");
		if (n && *made != '.')
			fputs(guard, e->out);
		fprintf(e->out, "%.*s%s", (int)n, made, n ? "; " : "");
		made += n + (made[n] == ';');
	}
}

static void replace(struct editor *e, const char *guard, int which, const struct piece *pieces,
		    const char *end)
{
	char *made = NULL;
	size_t bytes;
	FILE *f = open_memstream(&made, &bytes);

	if (!f)
		return;
	pattern_make(f, e->rule->to, which, pieces, e->edits++);
	fclose(f);
	write_made(e, guard, made);
	free(made);
	for (; e->at < end; e->at++)
		if (*e->at == '\n') {
			fputc('\n', e->out);
			e->line++;
		}
}

/* A rule that begins with a guard changes that, too. */
static void edit_instruction(struct editor *e)
{
	const char *start = e->at, *end = find(start, e->end, ';'), *p = start;
	bool with_guard = e->rule && e->rule->from[0] == '@';
	struct piece pieces[PATTERN_PIECES];
	char text[MAX_INSTRUCTION], guard[64] = "";
	int which = 0;

	if (*p == '@') {
		while (p < end && !isspace((unsigned char)*p))
			p++;
		snprintf(guard, sizeof(guard), "%.*s ", (int)(p - start), start);
		p = behind_blanks(p, end);
	}
	normalise(with_guard || !e->rule ? start : p, end, text);
	end = end < e->end ? end + 1 : end;
	if (e->rule)
		which = pattern_match(e->rule->from, text, strlen(text), pieces);
	if (e->rule && getenv("FAULT_SPARE_LOG") && fault_is_of_log(text))
		which = -1;
	if (which >= 0 && e->note)
		e->note(e->ctx, e->function, e->line, text);
	if (which >= 0 && e->rule)
		replace(e, with_guard ? "" : guard, which, pieces, end);
	else
		copy(e, end);
}

/* "$L__BB0_2:" */
static bool pass_label(struct editor *e)
{
	const char *p = e->at;

	while (p < e->end && (isalnum((unsigned char)*p) || *p == '_' || *p == '$' || *p == '%'))
		p++;
	if (p == e->at || p == e->end || *p != ':')
		return false;
	copy(e, p + 1);
	return true;
}

static void step(struct editor *e)
{
	const char *next = behind_blanks(e->at, e->end);

	if (next > e->at)
		copy(e, next);
	else if (*e->at == '{' || *e->at == '}' || *e->at == ';')
		copy(e, e->at + 1);
	else if (*e->at == '.')
		pass_directive(e);
	else if (!pass_label(e))
		edit_instruction(e);
}

struct ptx_edited ptx_edit(const char *text, size_t bytes, const struct fault_rule *rule, ptx_edit_note *note,
			   void *ctx)
{
	struct ptx_edited r = {0};
	struct editor e = {
		.at = text, .end = text + bytes, .line = 1, .rule = rule, .note = note, .ctx = ctx};

	e.out = open_memstream(&r.text, &r.bytes);
	if (!e.out)
		return r;
	while (e.at < e.end)
		step(&e);
	fclose(e.out);
	r.edits = e.edits;
	return r;
}
