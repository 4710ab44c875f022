/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be seeded: `faults list SEED FOLDER` makes a list of all faults that the programs of FOLDER/PROGRAM/... .ptx
 * leave room for, one a line: rule, level, program, target, kind, separated by tabs. Their order is chance of that seed,
 * but kinds take turns. `faults lines RULE FILE...` tells the lines that a rule of PTX changes: "LINE FUNCTION TEXT";
 * `faults edit RULE FILE` shows what becomes of a text.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "ptx_edit.h"

static char *read_file(const char *path, size_t *bytes)
{
	FILE *in = fopen(path, "rb"), *out;
	char *text = NULL, piece[1 << 16];
	size_t n;

	if (!in) {
		perror(path);
		exit(1);
	}
	out = open_memstream(&text, bytes);
	while ((n = fread(piece, 1, sizeof(piece), in)))
		fwrite(piece, 1, n, out);
	fclose(in);
	fclose(out);
	return text;
}

/* ---- what a rule could change --------------------------------------------------------------------- */

enum { MAX_FAULTS = 1 << 16, MAX_PROGRAMS = 256 };

struct fault {
	const struct fault_rule *rule;
	const char *program, *target;
	uint64_t chance;
	unsigned turn; /* of its kind */
};

static struct fault faults[MAX_FAULTS];
static unsigned nfaults;
static uint64_t seed;

/* SplitMix64. */
static uint64_t chance(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void add(const struct fault_rule *rule, const char *program, const char *target)
{
	if (nfaults < MAX_FAULTS)
		faults[nfaults++] = (struct fault){rule, program, target, chance(), 0};
}

/* Whether each rule has something to change in a program. */
struct room {
	bool rules[1024];
};

static void note_room(void *ctx, const char *function, unsigned line, const char *text)
{
	struct room *r = ctx;
	struct piece pieces[PATTERN_PIECES];

	(void)function;
	(void)line;
	for (unsigned k = 0; k < fault_nrules; k++) {
		const struct fault_rule *rule = &fault_rules[k];
		const char *pattern = rule->level == FAULT_PTX ? rule->from : rule->ops;
		const char *plain = text;

		if (*text == '@' && *pattern != '@')
			plain = strchr(text, ' ') ? strchr(text, ' ') + 1 : text;
		if (!r->rules[k])
			r->rules[k] = !*pattern || pattern_match(pattern, plain, strlen(plain), pieces) >= 0;
	}
}

static void add_program(const char *program, const struct room *room)
{
	static const char *const targets[] = {"amdemu:gfx1100", "amdemu:gfx90a", "amdemu:gfx1030",
					      "amdemu:gfx1201", "amdemu:gfx942"};

	for (unsigned k = 0; k < fault_nrules; k++) {
		const char *target = targets[chance() % (sizeof(targets) / sizeof(targets[0]))];

		if (!room->rules[k])
			continue;
		if (fault_rules[k].level == FAULT_PTX)
			add(&fault_rules[k], program, "interp");
		add(&fault_rules[k], program, target);
	}
}

static int is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void look_into(const char *folder, const char *program)
{
	struct room room = {{false}};
	struct dirent **files;
	char path[4096];
	int n;

	snprintf(path, sizeof(path), "%s/%s", folder, program);
	n = scandir(path, &files, is_visible, alphasort);
	for (int k = 0; k < n; k++) {
		size_t bytes;
		char *text;

		snprintf(path, sizeof(path), "%s/%s/%s", folder, program, files[k]->d_name);
		if (strstr(path, ".ptx")) {
			text = read_file(path, &bytes);
			free(ptx_edit(text, bytes, NULL, note_room, &room).text);
			free(text);
		}
	}
	add_program(program, &room);
}

/* ---- their order ------------------------------------------------------------------------------------- */

static int by_chance(const void *a, const void *b)
{
	const struct fault *x = a, *y = b;

	return x->chance < y->chance ? -1 : x->chance > y->chance;
}

static int by_turn(const void *a, const void *b)
{
	const struct fault *x = a, *y = b;

	return x->turn != y->turn ? (x->turn < y->turn ? -1 : 1) : by_chance(a, b);
}

/* Of each kind the first, then of each the second ... */
static void take_turns(void)
{
	qsort(faults, nfaults, sizeof(faults[0]), by_chance);
	for (unsigned k = 0; k < nfaults; k++)
		for (unsigned i = 0; i < k; i++)
			faults[k].turn += !strcmp(faults[i].rule->kind, faults[k].rule->kind);
	qsort(faults, nfaults, sizeof(faults[0]), by_turn);
}

static int list(const char *folder)
{
	struct dirent **programs;
	int n = scandir(folder, &programs, is_visible, alphasort);

	if (n < 0) {
		perror(folder);
		return 1;
	}
	for (int k = 0; k < n; k++)
		look_into(folder, programs[k]->d_name);
	take_turns();
	for (unsigned k = 0; k < nfaults; k++)
		printf("%s\t%s\t%s\t%s\t%s\n", faults[k].rule->name,
		       faults[k].rule->level == FAULT_PTX ? "ptx" : "llvm", faults[k].program,
		       faults[k].target, faults[k].rule->kind);
	return 0;
}

static void print_line(void *ctx, const char *function, unsigned line, const char *text)
{
	(void)ctx;
	printf("%u %s %s\n", line, *function ? function : "-", text);
}

static int edit(const char *name, char **files, bool show)
{
	const struct fault_rule *rule = fault_rule_find(name);

	if (!rule || rule->level != FAULT_PTX) {
		fprintf(stderr, "faults: there is no rule %s of PTX\n", name);
		return 2;
	}
	for (; *files; files++) {
		size_t bytes;
		char *text = read_file(*files, &bytes);
		struct ptx_edited e = ptx_edit(text, bytes, rule, show ? NULL : print_line, NULL);

		if (show)
			fputs(e.text, stdout);
		free(e.text);
		free(text);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "list")) {
		seed = strtoull(argv[2], NULL, 0);
		return list(argv[3]);
	}
	if (argc >= 4 && !strcmp(argv[1], "lines"))
		return edit(argv[2], argv + 3, false);
	if (argc == 4 && !strcmp(argv[1], "edit"))
		return edit(argv[2], argv + 3, true);
	fputs("usage: faults list SEED FOLDER | lines RULE FILE... | edit RULE FILE\n", stderr);
	return 2;
}
