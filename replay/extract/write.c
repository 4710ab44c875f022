/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/extract/extract.h"

__asm__(".section .rodata\nextract_program:\n.incbin \"" EXTRACT_PROGRAM
	"\"\nextract_program_end:\n.byte 0\n.text\n");
extern const char extract_program[] __attribute__((visibility("hidden"))),
	extract_program_end[] __attribute__((visibility("hidden")));

enum { PIECE = 1 << 20, LISTED = 64 /* pointers in memory, in the comment */ };

struct writer {
	struct extract *x;
	const char *folder;
	struct diag *d;
	uint8_t *piece;
	uint64_t *written; /* buffers, of files data/N.bin */
	unsigned nwritten;
};

static int fail(struct writer *w, const char *name)
{
	return diag_set(w->d, CUTRACE_EIO, w->folder, "%s can't be written: %s", name, strerror(errno));
}

static FILE *create(struct writer *w, const char *name)
{
	char path[4400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", w->folder, name);
	f = fopen(path, "wb");
	if (!f)
		fail(w, name);
	return f;
}

static int finish(struct writer *w, FILE *f, const char *name)
{
	bool bad = ferror(f) != 0;

	if (fclose(f) || bad)
		return fail(w, name);
	return w->d->code;
}

static int write_bytes(struct writer *w, const char *name, const void *data, size_t bytes)
{
	FILE *f = create(w, name);

	if (!f)
		return w->d->code;
	fwrite(data, 1, bytes, f);
	return finish(w, f, name);
}

static int write_buffer(struct writer *w, const char *name, uint64_t buffer)
{
	int64_t bytes = trace_buffer_bytes(w->x->trace, buffer);
	FILE *f = create(w, name);
	int rc = f ? 0 : w->d->code;

	for (int64_t at = 0; !rc && at < bytes; at += PIECE) {
		size_t n = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;

		rc = trace_buffer_read(w->x->trace, buffer, (uint64_t)at, w->piece, n, w->d);
		if (!rc && fwrite(w->piece, 1, n, f) != n)
			rc = fail(w, name);
	}
	return f ? finish(w, f, name) : rc;
}

/* ---- data ----------------------------------------------------------------------------------------- */

/* Equal contents are one file. */
static int data_number(const struct writer *w, uint64_t buffer)
{
	for (unsigned k = 0; k < w->nwritten; k++)
		if (w->written[k] == buffer)
			return (int)k;
	return -1;
}

static int write_data(struct writer *w, uint64_t buffer)
{
	char name[64];

	if (!buffer || data_number(w, buffer) >= 0)
		return 0;
	snprintf(name, sizeof(name), "data/%u.bin", w->nwritten);
	w->written[w->nwritten++] = buffer;
	return write_buffer(w, name, buffer);
}

static void module_name(const struct extract *x, unsigned k, char *name, size_t room)
{
	const struct extract_module *m = &x->modules[k];
	const char *ending = m->is_ptx ? "ptx" : !strcmp(m->kind, "cubin") ? "cubin" : "fatbin";

	if (k)
		snprintf(name, room, "kernel-%u.%s", k, ending);
	else
		snprintf(name, room, "kernel.%s", ending);
}

static int write_all_data(struct writer *w)
{
	struct extract *x = w->x;
	char name[64];
	int rc = 0;

	for (unsigned k = 0; !rc && k < x->nmodules; k++) {
		module_name(x, k, name, sizeof(name));
		rc = write_buffer(w, name, x->modules[k].buffer);
	}
	for (unsigned k = 0; !rc && k < x->nmemories; k++)
		rc = write_data(w, x->memories[k].buffer);
	for (unsigned k = 0; !rc && k < x->nresults; k++)
		rc = write_data(w, x->results[k].buffer);
	return rc ? rc : write_bytes(w, "data/parameters.bin", x->params, x->param_bytes);
}

/* ---- launch.h --------------------------------------------------------------------------------------- */

/* Names come from the trace: whatever they are, this is one string of C. */
static void put_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++)
		if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
		    strchr("_.$@-+", *s))
			fputc(*s, f);
		else
			fprintf(f, "\\%03o", (unsigned char)*s);
	fputc('"', f);
}

static void put_file(const struct writer *w, FILE *f, uint64_t buffer)
{
	if (buffer)
		fprintf(f, "\"data/%d.bin\"", data_number(w, buffer));
	else
		fputs("NULL", f);
}

static void put_modules(const struct writer *w, FILE *f)
{
	char name[64];

	fputs("static const char *const modules[] = {", f);
	for (unsigned k = 0; k < w->x->nmodules; k++) {
		module_name(w->x, k, name, sizeof(name));
		fprintf(f, "%s\"%s\"", k ? ", " : "", name);
	}
	fputs("};\n\n", f);
}

static void put_memories(const struct writer *w, FILE *f)
{
	fputs("/* address, bytes, contents, module and name of a variable */\n"
	      "static const struct memory memories[] = {\n",
	      f);
	for (unsigned k = 0; k < w->x->nmemories; k++) {
		const struct extract_memory *m = &w->x->memories[k];

		fprintf(f, "\t/* %u */ {0x%" PRIx64 ", %" PRIu64 ", ", k, m->address, m->bytes);
		put_file(w, f, m->buffer);
		fprintf(f, ", %d, ", m->module);
		if (m->variable)
			put_string(f, m->variable);
		else
			fputs("NULL", f);
		fputs("},\n", f);
	}
	fputs("\t{0, 0, NULL, -1, NULL}};\n\n", f);
}

static void put_pointers(const struct writer *w, FILE *f)
{
	fputs("/* Places of the parameters that hold addresses: place, memory, offset, how that is known */\n"
	      "static const struct pointer pointers[] = {\n",
	      f);
	for (unsigned k = 0; k < w->x->npointers; k++) {
		const struct extract_pointer *p = &w->x->pointers[k];

		fprintf(f, "\t{%u, %u, %" PRIu64 ", \"%s\"},\n", p->at, p->memory, p->offset,
			p->is_word ? "word" : "parameter");
	}
	fputs("\t{0, 0, 0, NULL}};\n\n/* place, bytes, name */\nstatic const struct parameter parameters[] = {\n",
	      f);
	for (unsigned k = 0; k < w->x->kernel->nparams; k++) {
		const struct trace_kernel_param *q = &w->x->kernel->params[k];

		fprintf(f, "\t{%u, %u, ", q->offset, q->bytes);
		put_string(f, q->name ? q->name : "");
		fputs("},\n", f);
	}
	fputs("\t{0, 0, NULL}};\n\n", f);
}

static bool is_in_memory(const struct extract *x, uint64_t word)
{
	for (unsigned k = 0; k < x->nmemories; k++)
		if (word - x->memories[k].address < x->memories[k].bytes)
			return true;
	return false;
}

/* Words of the memory at hand that are addresses: the first ones are told. */
static void put_words_of(struct writer *w, FILE *f, unsigned k, uint64_t *n)
{
	const struct extract_memory *m = &w->x->memories[k];

	for (uint64_t at = 0; m->buffer && at < m->bytes; at += PIECE) {
		size_t bytes = m->bytes - at < PIECE ? (size_t)(m->bytes - at) : PIECE;

		if (trace_buffer_read(w->x->trace, m->buffer, at, w->piece, bytes, w->d))
			return;
		for (size_t i = 0; i + 8 <= bytes; i += 8) {
			uint64_t word;

			memcpy(&word, w->piece + i, 8);
			if (is_in_memory(w->x, word) && (*n)++ < LISTED)
				fprintf(f, "\n * memory %u + %" PRIu64 ": 0x%" PRIx64, k, at + i, word);
		}
	}
}

static void put_words(struct writer *w, FILE *f)
{
	uint64_t n = 0;

	fputs("/* Words of the memory that are recorded addresses. Where memory is elsewhere, they are rewritten, too:",
	      f);
	for (unsigned k = 0; k < w->x->nmemories && !w->d->code; k++)
		put_words_of(w, f, k, &n);
	if (n > LISTED)
		fprintf(f, "\n * and %" PRIu64 " more (`./run --translate --pointers` lists them)",
			n - LISTED);
	fputs(n ? "\n */\n\n" : " none. */\n\n", f);
}

static void put_results(const struct writer *w, FILE *f)
{
	fputs("/* memory, offset, bytes, contents after the launch, type */\n"
	      "static const struct result results[] = {\n",
	      f);
	for (unsigned k = 0; k < w->x->nresults; k++) {
		const struct extract_result *r = &w->x->results[k];

		fprintf(f, "\t{%u, %" PRIu64 ", %" PRIu64 ", ", r->memory, r->offset, r->bytes);
		put_file(w, f, r->buffer);
		fprintf(f, ", \"%s\"},\n", r->type);
	}
	fputs("\t{0, 0, 0, NULL, NULL}};\n\n", f);
}

static void put_launch(const struct writer *w, FILE *f)
{
	const struct extract *x = w->x;
	const struct trace_launch *l = &x->launch;

	fprintf(f, "static const struct launch launch = {\n\t.module = %d,\n\t.kernel = ", x->kernel_module);
	put_string(f, x->kernel->name);
	fprintf(f,
		",\n\t.parameters = \"data/parameters.bin\",\n\t.parameter_bytes = %zu,\n"
		"\t.grid = {%u, %u, %u},\n\t.block = {%u, %u, %u},\n\t.shared_bytes = %u,\n"
		"\t.cooperative = %u,\n\t.cluster = {%u, %u, %u},\n};\n",
		x->param_bytes, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
		l->shared_bytes, l->cooperative, x->cluster[0], x->cluster[1], x->cluster[2]);
}

static int write_launch(struct writer *w)
{
	FILE *f = create(w, "launch.h");

	if (!f)
		return w->d->code;
	fputs("/* The launch; run.c says what the fields mean. Made by cutrace extract. */\n\n", f);
	put_modules(w, f);
	put_memories(w, f);
	put_words(w, f);
	put_pointers(w, f);
	put_results(w, f);
	put_launch(w, f);
	return finish(w, f, "launch.h");
}

/* ---- what a reader needs -------------------------------------------------------------------------------- */

static const char makefile[] =
	"CFLAGS ?= -O2 -Wall -Wextra\n\nrun: run.c launch.h\n"
	"\t$(CC) $(CFLAGS) -o $@ run.c -ldl -lm\n\ncheck: run\n\t./run\n\nclean:\n\trm -f "
	"run\n\n.PHONY: check clean\n";

/* Only what is printable: names come from the trace. */
static void put_plain(FILE *f, const char *s)
{
	for (; *s; s++)
		fputc(*s >= ' ' && *s < 127 ? *s : '?', f);
}

static int write_readme(struct writer *w, const struct extract_source *s)
{
	const struct extract *x = w->x;
	const struct trace_launch *l = &x->launch;
	FILE *f = create(w, "README");
	char name[64];

	if (!f)
		return w->d->code;
	module_name(x, (unsigned)x->kernel_module, name, sizeof(name));
	fputs("One launch of ", f);
	put_plain(f, x->kernel->name);
	fprintf(f, ", %ux%ux%u blocks of %ux%ux%u,\ntaken by cutrace extract from ", l->grid[0], l->grid[1],
		l->grid[2], l->block[0], l->block[1], l->block[2]);
	put_plain(f, s->trace);
	fprintf(f, " (%s), call %" PRIu64 ".\n\n", s->uuid, s->call);
	fputs("    make && ./run\n\n"
	      "runs it on whichever libcuda.so.1 the dynamic loader finds, or --driver names, and compares what it\n"
	      "wrote with what was recorded, byte by byte; --ulp N, --rtol X and --atol X allow differences. Nothing\n"
	      "but a C compiler is needed. Exit status: 0 equal, 1 differs or faults, 2 wrong usage, 125 it can't be\n"
	      "run.\n\n",
	      f);
	fprintf(f,
		"run.c          the program\nlaunch.h       the launch: memory, pointers, parameters, results\n"
		"%-14s its code%s\n"
		"data/          contents of memory before and after it\n"
		"launch.trace   the same as a trace: cutrace replay --isolated launch.trace\n",
		name, x->modules[x->kernel_module].is_ptx ? "" : ", for the GPU that it was recorded on");
	fputs("\nMemory is asked for at its recorded addresses, by virtual memory management. Where those can't be had,\n"
	      "and for variables, pointers are rewritten: parameters that are declared as pointers or are as wide as one,\n"
	      "and words of structs and of the memory that equal a recorded address. launch.h lists them; a kernel that\n"
	      "computes addresses otherwise needs the recorded ones.\n",
	      f);
	return finish(w, f, "README");
}

int extract_write(struct extract *x, const char *folder, const struct extract_source *s, struct diag *d)
{
	struct writer w = {.x = x, .folder = folder, .d = d, .piece = malloc(PIECE)};
	char path[4400];
	int rc = 0;

	w.written = calloc(x->nmemories + x->nresults + 1, sizeof(*w.written));
	snprintf(path, sizeof(path), "%s/data", folder);
	if (!w.piece || !w.written)
		rc = diag_set(d, CUTRACE_ENOMEM, folder, "out of memory");
	else if (mkdir(path, 0777))
		rc = fail(&w, "data");
	if (!rc)
		rc = write_all_data(&w);
	if (!rc)
		rc = write_launch(&w);
	if (!rc)
		rc = write_bytes(&w, "run.c", extract_program,
				 (size_t)(extract_program_end - extract_program));
	if (!rc)
		rc = write_bytes(&w, "Makefile", makefile, strlen(makefile));
	if (!rc)
		rc = write_readme(&w, s);
	free(w.piece);
	free(w.written);
	return rc;
}
