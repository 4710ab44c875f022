/* SPDX-License-Identifier: Apache-2.0
 *
 * coverage: see coverage.h. Opcodes are compared in a canonical spelling, because real code writes modifiers in any
 * order: the name, then modifiers sorted, then types and layouts in their order.
 */
#include "coverage.h"
#include "isa_table.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPCODE  256
#define MAX_PARTS   24
#define TABLE_SLOTS (1u << 17)

struct isa_form {
	char *canonical, *text;
	unsigned row;
	bool covered, executed;
};

struct coverage {
	struct isa_form *forms;
	unsigned n, cap;
	uint32_t *slots; /* index + 1 by hash of the canonical spelling; 0 is empty */
};

static bool is_word_of(const char *word, size_t n, const char *list)
{
	for (const char *p = list; (p = strstr(p, word)); p++)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

/* Parts whose order carries meaning. */
static bool is_positional(const char *part)
{
	static const char list[] = "pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 f32 "
				   "f32x2 f64 bf16 bf16x2 tf32 "
				   "e4m3 e5m2 e2m3 e3m2 e2m1 e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2 e4m3x4 "
				   "e5m2x4 e2m3x4 e3m2x4 e2m1x4 ue8m0 "
				   "ue4m3 ue8m0x2 u4 s4 u2 s2 b1 u16x2 s16x2 row col";

	return is_word_of(part, strlen(part), list);
}

/* One word for spellings of one meaning; NULL drops the part. */
static const char *same_meaning(const char *part)
{
	if (!strcmp(part, "shared::cta"))
		return "shared";
	if (!strcmp(part, "param::entry"))
		return "param";
	if (!strcmp(part, "async") || strcmp(part, "weak"))
		return part;
	return NULL;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Room for MAX_OPCODE at `out`; false: not an opcode. */
static bool canonical_of(const char *opcode, char *out)
{
	char copy[MAX_OPCODE], *save = NULL;
	const char *sorted[MAX_PARTS], *types[MAX_PARTS];
	unsigned ns = 0, nt = 0;
	size_t at;

	if (strlen(opcode) >= sizeof(copy))
		return false;
	strcpy(copy, opcode);
	char *name = strtok_r(copy, ".", &save);

	if (!name)
		return false;
	for (char *p; (p = strtok_r(NULL, ".", &save)) && ns < MAX_PARTS && nt < MAX_PARTS;) {
		const char *part = same_meaning(p);

		if (part && is_positional(part))
			types[nt++] = part;
		else if (part)
			sorted[ns++] = part;
	}
	qsort(sorted, ns, sizeof(sorted[0]), by_text);
	at = (size_t)snprintf(out, MAX_OPCODE, "%s", name);
	for (unsigned i = 0; i < ns + nt && at < MAX_OPCODE; i++)
		at += (size_t)snprintf(out + at, MAX_OPCODE - at, ".%s", i < ns ? sorted[i] : types[i - ns]);
	return at < MAX_OPCODE;
}

static uint32_t hash_of(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return h ^ h >> 15;
}

static struct isa_form *find(struct coverage *c, const char *canonical, uint32_t **slot)
{
	for (uint32_t h = hash_of(canonical);; h++) {
		uint32_t *s = &c->slots[h % TABLE_SLOTS];

		if (slot)
			*slot = s;
		if (!*s)
			return NULL;
		if (!strcmp(c->forms[*s - 1].canonical, canonical))
			return &c->forms[*s - 1];
	}
}

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

static void add_form(struct coverage *c, unsigned row, const char *text)
{
	char canonical[MAX_OPCODE];
	uint32_t *slot;

	if (!canonical_of(text, canonical) || find(c, canonical, &slot))
		return;
	if (c->n == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 1024;
		c->forms = need(realloc(c->forms, c->cap * sizeof(*c->forms)));
	}
	if (2 * c->n >= TABLE_SLOTS)
		abort();
	c->forms[c->n++] = (struct isa_form){
		.canonical = need(strdup(canonical)), .text = need(strdup(text)), .row = row};
	*slot = c->n;
}

static const char *set_text(const char *name, size_t n)
{
	for (const struct isa_set *s = isa_sets; s->name; s++)
		if (strlen(s->name) == n && !memcmp(s->name, name, n))
			return s->text;
	fprintf(stderr, "isa_table: no set $%.*s\n", (int)n, name);
	abort();
}

/* The brace that closes the one at `open`. */
static const char *closing(const char *open)
{
	int depth = 0;

	for (const char *p = open; *p; p++) {
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
		if (!depth)
			return p;
	}
	fprintf(stderr, "isa_table: { without }: %s\n", open);
	abort();
}

static void expand(struct coverage *c, unsigned row, const char *done, const char *rest);

static void expand_choice(struct coverage *c, unsigned row, const char *done, const char *open)
{
	const char *close = closing(open), *from = open + 1;
	char *text = need(malloc(strlen(open) + 1));
	int depth = 0;

	for (const char *p = open + 1; p <= close; p++) {
		if ((*p == '|' && !depth) || p == close) {
			sprintf(text, "%.*s%s", (int)(p - from), from, close + 1);
			expand(c, row, done, text);
			from = p + 1;
		}
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
	}
	free(text);
}

/* `done` is plain text that precedes `rest`. A set's name ends before the first character that no set could have. */
static void expand(struct coverage *c, unsigned row, const char *done, const char *rest)
{
	size_t plain = strcspn(rest, "{$"), nd = strlen(done);
	char *head = need(malloc(nd + plain + 1));

	sprintf(head, "%s%.*s", done, (int)plain, rest);
	rest += plain;
	if (!*rest) {
		add_form(c, row, head);
	} else if (*rest == '{') {
		expand_choice(c, row, head, rest);
	} else {
		size_t n = 0;

		while (isalnum((unsigned char)rest[1 + n]))
			n++;
		const char *set = set_text(rest + 1, n);
		char *text = need(malloc(strlen(set) + strlen(rest) + 1));

		sprintf(text, "%s%s", set, rest + 1 + n);
		expand(c, row, head, text);
		free(text);
	}
	free(head);
}

struct coverage *coverage_new(void)
{
	struct coverage *c = need(calloc(1, sizeof(*c)));

	c->slots = need(calloc(TABLE_SLOTS, sizeof(*c->slots)));
	for (unsigned i = 0; isa_rows[i].section; i++)
		expand(c, i, "", isa_rows[i].pattern);
	return c;
}

void coverage_free(struct coverage *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		free(c->forms[i].canonical);
		free(c->forms[i].text);
	}
	free(c->forms);
	free(c->slots);
	free(c);
}

static struct isa_form *find_opcode(struct coverage *c, const char *opcode)
{
	char canonical[MAX_OPCODE];

	return canonical_of(opcode, canonical) ? find(c, canonical, NULL) : NULL;
}

static void note_opcode(struct coverage *c, const char *opcode, bool executed)
{
	struct isa_form *f = find_opcode(c, opcode);

	if (!f)
		return;
	f->covered = true;
	f->executed |= executed;
}

static const char *skip_guard(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	if (*p != '@')
		return p;
	while (*p && !isspace((unsigned char)*p))
		p++;
	return skip_guard(p);
}

/* Statements begin after ; { } and a label's colon; an opcode is what stands there and is no directive. */
void coverage_note(struct coverage *c, const char *text, bool executed)
{
	char opcode[MAX_OPCODE];

	for (const char *p = text; *p;) {
		p = skip_guard(p);
		size_t n = 0;

		while (islower((unsigned char)p[n]) || isdigit((unsigned char)p[n]) || p[n] == '.' ||
		       p[n] == '_' || p[n] == ':' || isupper((unsigned char)p[n]))
			n++;
		if (n && p[n - 1] == ':') { /* a label */
			p += n;
			continue;
		}
		if (n && n < sizeof(opcode) && islower((unsigned char)*p)) {
			snprintf(opcode, sizeof(opcode), "%.*s", (int)n, p);
			note_opcode(c, opcode, executed);
		}
		p += n;
		while (*p && !strchr(";{}:", *p))
			p++;
		if (*p)
			p++;
	}
}

struct count {
	unsigned forms, covered, executed;
};

static void count_form(struct count *n, const struct isa_form *f)
{
	n->forms++;
	n->covered += f->covered;
	n->executed += f->executed;
}

static double percent(double part, double whole)
{
	return whole ? 100 * part / whole : 0;
}

static void print_row(const char *section, const struct count *n, const char *pattern)
{
	printf("  %-13s %6u %6u %6u  %s\n", section, n->forms, n->covered, n->executed, pattern);
}

static void print_rows(const struct coverage *c, bool all)
{
	printf("rows of the ISA with forms that no test executes:\n  section        forms  tests executed\n");
	for (unsigned i = 0; isa_rows[i].section; i++) {
		struct count n = {0};

		for (unsigned k = 0; k < c->n; k++)
			if (c->forms[k].row == i)
				count_form(&n, &c->forms[k]);
		if (n.executed < n.forms)
			print_row(isa_rows[i].section, &n, isa_rows[i].pattern);
		for (unsigned k = 0; all && k < c->n; k++)
			if (c->forms[k].row == i && !c->forms[k].executed)
				printf("    %s %s\n", c->forms[k].covered ? "refused" : "missing",
				       c->forms[k].text);
	}
}

/* Old or loose spellings that assemblers take and the syntax paragraphs don't list. */
static bool is_other_spelling(const char *opcode)
{
	static const char *const known[] = {"setp.hs", NULL};

	for (unsigned i = 0; known[i]; i++)
		if (!strncmp(opcode, known[i], strlen(known[i])))
			return true;
	return false;
}

static unsigned print_weighted(struct coverage *c)
{
	double total = 0, covered = 0, executed = 0;
	unsigned unknown = 0, n = 0, nexec = 0;

	printf("instructions of programs that no test executes (times in 940 modules):\n");
	for (const struct opcode_count *o = opcode_counts; o->opcode; o++) {
		const struct isa_form *f = find_opcode(c, o->opcode);

		n++;
		total += o->count;
		covered += f && f->covered ? o->count : 0;
		executed += f && f->executed ? o->count : 0;
		nexec += f && f->executed;
		unknown += !f && !is_other_spelling(o->opcode);
		if (!f || !f->executed)
			printf("  %8u  %-8s %s\n", o->count,
			       !f           ? "unknown"
			       : f->covered ? "refused"
					    : "missing",
			       o->opcode);
	}
	printf("weighted by use: %.3f %% of instructions have a test, %.3f %% are executed (%u of %u "
	       "opcodes)\n",
	       percent(covered, total), percent(executed, total), nexec, n);
	return unknown;
}

unsigned coverage_print(struct coverage *c, bool all)
{
	struct count n = {0};
	unsigned unknown;

	for (unsigned i = 0; i < c->n; i++)
		count_form(&n, &c->forms[i]);
	print_rows(c, all);
	unknown = print_weighted(c);
	printf("forms in the ISA: %u; with a test: %u (%.1f %%); executed: %u (%.1f %%)\n", n.forms,
	       n.covered, percent(n.covered, n.forms), n.executed, percent(n.executed, n.forms));
	return unknown;
}
