/* SPDX-License-Identifier: Apache-2.0 */
#include "isa_forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FORM = 4096 };

static const char module_head[] =
	".address_size 64\n"
	".visible .global .align 16 .b8 glob[256];\n"
	".visible .global .u32 tbl[16];\n"
	".const .align 4 .b32 cst = 5;\n"
	".shared .align 128 .b8 shm[1024];\n"
	".global .texref tx;\n.global .surfref sf;\n"
	".func plain() { ret; }\n"
	".func callee(.reg .b32 a) { ret; }\n"
	".func (.reg .b32 r) callee2(.reg .b32 a, .reg .b64 b) { mov.u32 r, a; ret; }\n";

static const char kernel_head[] =
	"(.param .u64 param0, .param .align 64 .b8 map[128])\n{\n"
	"\t.reg .pred p<8>;\n\t.reg .b8 b<8>;\n\t.reg .b16 h<16>;\n\t.reg .b32 r<128>;\n\t.reg .b64 d<16>;\n"
	"\t.reg .f32 f<128>;\n\t.reg .f64 g<16>;\n";
static const char newer_registers[] = "\t.reg .b128 q<4>;\n"; /* from sm_70 on */

struct output {
	struct isa_table *table;
	struct isa_target *target;
	FILE *file;
	uint32_t line;
};

static int complain(struct output *o, const char *what)
{
	snprintf(o->table->error, sizeof(o->table->error), "line %u: %s", o->line, what);
	return -1;
}

/* "{r:4}" becomes "{r0,r1,r2,r3}". */
static void write_registers(char *out, size_t room, char letter, unsigned n)
{
	size_t at = 0;
	for (unsigned k = 0; k < n && at < room; k++)
		at += (size_t)snprintf(out + at, room - at, "%s%c%u", k ? "," : "{", letter, k);
	if (at < room)
		snprintf(out + at, room - at, "}");
}

static void expand_registers(const char *in, char *out)
{
	size_t n = 0;
	while (*in && n < MAX_FORM - 1) {
		char letter, close;
		in += in[0] == '\\' && in[1] == '|';
		unsigned count;
		if (sscanf(in, "{%c:%u%c", &letter, &count, &close) == 3 && close == '}') {
			write_registers(out + n, MAX_FORM - n, letter, count);
			n += strlen(out + n);
			in = strchr(in, '}') + 1;
		} else {
			out[n++] = *in++;
		}
	}
	out[n] = 0;
}

static int add_form(struct output *o, const char *statement)
{
	struct isa_target *t = o->target;
	char text[MAX_FORM];
	expand_registers(statement, text);
	if (t->nforms == t->capacity) {
		t->capacity = t->capacity ? t->capacity * 2 : 64;
		t->lines = realloc(t->lines, t->capacity * sizeof(*t->lines));
		t->forms = realloc(t->forms, t->capacity * sizeof(*t->forms));
		if (!t->lines || !t->forms)
			return complain(o, "out of memory");
	}
	t->lines[t->nforms] = o->line;
	t->forms[t->nforms] = strdup(text);
	fprintf(o->file, ".visible .entry k%u%s%s\t%s\nLAB:\n\tret;\n}\n", t->nforms++, kernel_head,
		strncmp(t->name, "sm_60", 5) ? newer_registers : "", text);
	o->table->nforms++;
	return 0;
}

/* The end of the innermost <...> that begins first, or NULL. */
static const char *alternatives_end(const char *open)
{
	unsigned depth = 0;
	for (const char *p = open; *p; p++) {
		depth += *p == '<';
		if (*p == '>' && --depth == 0)
			return p;
	}
	return NULL;
}

/* The first '<' that has a choice; "N<3>" is PTX. */
static const char *find_alternatives(const char *s)
{
	while ((s = strchr(s, '<')) && strcspn(s + 1, "|>") == strcspn(s + 1, ">"))
		s++;
	return s;
}

/* Writes every choice for the first <a|b|c> in turn, and so on for those behind it. */
static int expand(struct output *o, const char *statement)
{
	const char *open = find_alternatives(statement);
	if (!open)
		return add_form(o, statement);
	const char *part = open + 1, *close = alternatives_end(open);
	if (!close)
		return complain(o, "'<' without '>'");
	for (unsigned depth = 0; part <= close; part++) {
		const char *end = part;
		char text[MAX_FORM];
		for (; end < close && (*end != '|' || depth || end[-1] == '\\'); end++)
			depth += (*end == '<') - (*end == '>');
		int n = snprintf(text, sizeof(text), "%.*s%.*s%s", (int)(open - statement), statement,
				 (int)(end - part), part, close + 1);
		if (n < 0 || (size_t)n >= sizeof(text))
			return complain(o, "too long");
		if (expand(o, text))
			return -1;
		part = end;
	}
	return 0;
}

/* "[sm_90a, option 9.7.1 what]": everything before the first part that begins with a digit. */
static int select_target(struct output *o, const char *line)
{
	struct isa_table *t = o->table;
	const char *end = line + 1;
	while (*end && !(end[-1] == ' ' && *end >= '0' && *end <= '9'))
		end++;
	char name[sizeof(t->targets[0].name)];
	snprintf(name, sizeof(name), "%.*s", (int)(end - line - 2), line + 1);
	if (o->file && fclose(o->file))
		return complain(o, "out of memory");
	o->file = NULL;
	for (unsigned k = 0; k < t->ntargets; k++)
		if (!strcmp(t->targets[k].name, name)) {
			o->target = &t->targets[k];
			return 0;
		}
	if (t->ntargets == sizeof(t->targets) / sizeof(t->targets[0]))
		return complain(o, "too many targets");
	o->target = &t->targets[t->ntargets++];
	memcpy(o->target->name, name, sizeof(name));
	return 0;
}

/* Text goes to a stream of its own between two lines with targets, and then behind what the module has. */
static int flush_section(struct output *o, char *section, size_t bytes)
{
	struct isa_target *t = o->target;
	char head[sizeof(module_head) + 192];
	int n = t->text ? 0
			: snprintf(head, sizeof(head), ".version 9.0\n.target %s\n%s%s", t->name, module_head,
				   strstr(t->name, "texmode_independent") ? ".global .samplerref sm;\n" : "");
	char *grown = realloc(t->text, t->bytes + (size_t)n + bytes + 1);
	if (!grown)
		return complain(o, "out of memory");
	memcpy(grown + t->bytes, head, (size_t)n);
	memcpy(grown + t->bytes + n, section, bytes);
	t->text = grown;
	t->bytes += (size_t)n + bytes;
	t->text[t->bytes] = 0;
	return 0;
}

static int read_statement(struct output *o, const char *line)
{
	char *section = NULL;
	size_t bytes = 0;
	if (!o->target)
		return complain(o, "a statement before the first target");
	o->file = open_memstream(&section, &bytes);
	if (!o->file)
		return complain(o, "out of memory");
	int rc = expand(o, line);
	fclose(o->file);
	o->file = NULL;
	if (!rc)
		rc = flush_section(o, section, bytes);
	free(section);
	return rc;
}

int isa_table_read(struct isa_table *t, const char *path)
{
	struct output o = {.table = t};
	char line[MAX_FORM];
	int rc = 0;
	memset(t, 0, sizeof(*t));
	FILE *in = fopen(path, "r");
	if (!in)
		return complain(&o, "can't open the table");
	while (!rc && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = 0;
		o.line++;
		if (line[0] == '#' || !line[0])
			continue;
		rc = line[0] == '[' ? select_target(&o, line) : read_statement(&o, line);
		t->nlines += line[0] != '[';
	}
	fclose(in);
	return rc;
}

void isa_table_free(struct isa_table *t)
{
	for (unsigned k = 0; k < t->ntargets; k++) {
		struct isa_target *target = &t->targets[k];
		for (unsigned i = 0; i < target->nforms; i++)
			free(target->forms[i]);
		free(target->forms);
		free(target->lines);
		free(target->text);
	}
}
