/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen.h"

#include <errno.h>
#include <string.h>

static const struct output {
	const char *option, *file;
	void (*emit)(struct apigen *g, FILE *out);
} outputs[] = {
	{"abi", "cuda_abi.h", emit_abi},        {"tables", "api_tables.c", emit_tables},
	{"stubs", "core_stubs.c", emit_stubs},  {"entries", "entry_points.c", emit_entries},
	{"ids", "api_ids.h", emit_ids},         {"sql", "sql_views.c", emit_sql},
	{"check", "abi_check.inc", emit_check},
};
#define NOUTPUTS (sizeof(outputs) / sizeof(outputs[0]))

static int usage(FILE *out)
{
	fputs("usage: apigen -o DIR FILE.api ...      write all outputs into DIR\n"
	      "       apigen -p OUTPUT FILE.api ...   print one: ",
	      out);
	for (size_t i = 0; i < NOUTPUTS; i++)
		fprintf(out, "%s%s", i ? ", " : "", outputs[i].option);
	fputs("\n       apigen -c FILE.api ...          check only\n"
	      "Types must be described before they are used: the order of the files matters.\n",
	      out);
	return out == stderr ? 2 : 0;
}

static bool read_all(struct apigen *g, char **paths)
{
	define_builtins(g);
	for (; *paths; paths++) {
		struct source *src = source_load(g, *paths);
		if (src)
			parse_file(g, src);
	}
	finish_funcs(g);
	if (g->types.n > INT16_MAX || g->exprs.n > INT16_MAX) {
		fputs("apigen: error: more types or expressions than the tables' 16-bit indices hold\n",
		      g->err);
		g->errors++;
	}
	if (g->errors)
		fprintf(g->err, "apigen: %u error%s\n", g->errors, g->errors == 1 ? "" : "s");
	return !g->errors;
}

static int write_one(struct apigen *g, const char *dir, const struct output *o)
{
	const char *path = arena_printf(&g->arena, "%s/%s", dir, o->file);
	FILE *out = fopen(path, "w");
	if (!out) {
		fprintf(stderr, "apigen: error: cannot write %s: %s\n", path, strerror(errno));
		return 2;
	}
	o->emit(g, out);
	bool bad = ferror(out);
	if (fclose(out) || bad) {
		fprintf(stderr, "apigen: error: cannot write %s\n", path);
		return 2;
	}
	return 0;
}

static int write_outputs(struct apigen *g, const char *dir)
{
	for (size_t i = 0; i < NOUTPUTS; i++)
		if (write_one(g, dir, &outputs[i]))
			return 2;
	return 0;
}

static int print_output(struct apigen *g, const char *option)
{
	/* Tables number enums, handles and structs, to which other outputs may refer. */
	for (size_t i = 0; i < NOUTPUTS; i++)
		if (!strcmp(outputs[i].option, option)) {
			outputs[i].emit(g, stdout);
			return ferror(stdout) || fflush(stdout) ? 2 : 0;
		}
	return usage(stderr);
}

int main(int argc, char **argv)
{
	static struct apigen g;
	g.err = stderr;
	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return usage(stdout);
	if (argc >= 3 && !strcmp(argv[1], "-c"))
		return read_all(&g, argv + 2) ? 0 : 1;
	if (argc >= 4 && !strcmp(argv[1], "-o"))
		return read_all(&g, argv + 3) ? write_outputs(&g, argv[2]) : 1;
	if (argc >= 4 && !strcmp(argv[1], "-p"))
		return read_all(&g, argv + 3) ? print_output(&g, argv[2]) : 1;
	return usage(stderr);
}
