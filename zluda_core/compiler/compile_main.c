/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace compile: the kernels of a PTX file as code objects of AMD GPUs. A program of its own, so that LLVM's fatal
 * errors end nothing else; `cutrace compile` starts it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "zluda_core/compiler/compiler.h"

enum { EXIT_ALL = 0, EXIT_SOME_REFUSED = 1, EXIT_USAGE = 2, EXIT_COULD_NOT = 125, MAX_TARGETS = 32 };

struct options {
	const char *file, *dir; /* dir: NULL, nothing is written */
	const struct lower_target *targets[MAX_TARGETS];
	unsigned ntargets;
	bool json;
};

struct run {
	struct options o;
	struct ptx_module *m;
	unsigned compiled, refused, failed;
};

static void print_help(FILE *out)
{
	fputs("usage: cutrace compile FILE.ptx [--arch gfxNNNN,...] [-o DIR] [--json]\n\n"
	      "Compiles every kernel of a PTX file to AMD code objects and says what each needs. A kernel "
	      "with an\n"
	      "instruction that can't be translated yet is refused, with its line and the reason.\n\n"
	      "  --arch LIST  targets, separated by commas (gfx1100)\n"
	      "  -o DIR       writes KERNEL.TARGET.ll (IR), .opt.ll (IR after -O3), .s (assembly with PTX "
	      "lines),\n"
	      "               .o and .co (code object) to DIR\n"
	      "  --json       one JSON object a line instead of the table\n\n"
	      "Targets:",
	      out);
	for (unsigned k = 0; lower_target_at(k); k++)
		fprintf(out, "%s%s", k % 8 ? " " : "\n  ", lower_target_at(k)->name);
	fputs("\n\nExit status: 0 all compiled, 1 some refused, 2 wrong usage, 125 could not.\n", out);
}

static bool add_targets(struct options *o, char *list)
{
	o->ntargets = 0;
	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		const struct lower_target *t = lower_target_find(name);

		if (!t || o->ntargets == MAX_TARGETS) {
			fprintf(stderr, "cutrace compile: error: no target '%s'\n  hint: --help lists them\n",
				name);
			return false;
		}
		o->targets[o->ntargets++] = t;
	}
	return o->ntargets > 0;
}

static bool read_options(int argc, char **argv, struct options *o)
{
	static const struct option names[] = {{"arch", required_argument, NULL, 'a'},
					      {"output", required_argument, NULL, 'o'},
					      {"json", no_argument, NULL, 'j'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	int c;

	o->targets[o->ntargets++] = lower_target_find("gfx1100");
	while ((c = getopt_long(argc, argv, "o:h", names, NULL)) >= 0) {
		if (c == 'h') {
			print_help(stdout);
			exit(EXIT_ALL);
		}
		if (c == '?' || (c == 'a' && !add_targets(o, optarg)))
			return false;
		o->dir = c == 'o' ? optarg : o->dir;
		o->json |= c == 'j';
	}
	o->file = argv[optind];
	return o->file && optind + 1 == argc;
}

static char *read_file(const char *path, size_t *bytes)
{
	FILE *in = fopen(path, "rb"), *out;
	char *text = NULL, part[65536];
	size_t n;
	bool failed = !in;

	if (!in)
		return NULL;
	out = open_memstream(&text, bytes);
	while (out && (n = fread(part, 1, sizeof(part), in)) > 0)
		fwrite(part, 1, n, out);
	failed = !out || ferror(in) || ferror(out);
	if (out)
		failed |= fclose(out) != 0;
	fclose(in);
	if (!failed)
		return text;
	free(text);
	errno = errno ? errno : EIO;
	return NULL;
}

/* DIR/KERNEL.TARGET.EXTENSION; names of mangled kernels are long, paths have room. */
static void file_name(const struct run *r, const struct ptx_func *f, const struct lower_target *t,
		      const char *extension, char *path, size_t room)
{
	snprintf(path, room, "%s/%.200s.%s.%s", r->o.dir, f->name, t->name, extension);
}

static int write_file(const struct run *r, const struct ptx_func *f, const struct lower_target *t,
		      const char *extension, const char *data, size_t bytes, struct diag *d)
{
	char path[4096];
	FILE *out;

	file_name(r, f, t, extension, path, sizeof(path));
	out = fopen(path, "wb");
	bool ok = out && fwrite(data, 1, bytes, out) == bytes;
	if (out)
		ok &= fclose(out) == 0;
	return ok ? 0 : diag_set(d, CUTRACE_EIO, path, "can't write: %s", strerror(errno));
}

static int write_files(const struct run *r, const struct ptx_func *f, const struct lower_target *t,
		       const struct lowered *l, const struct compiled *c, struct diag *d)
{
	const struct {
		const char *extension, *data;
		size_t bytes;
	} files[] = {{"ll", l->text, l->bytes},
		     {"opt.ll", c->optimized, c->optimized_bytes},
		     {"s", c->assembly, c->assembly_bytes},
		     {"o", c->object, c->object_bytes}};
	char object[4096], code_object[4096];

	for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
		int rc = write_file(r, f, t, files[k].extension, files[k].data, files[k].bytes, d);
		if (rc)
			return rc;
	}
	file_name(r, f, t, "o", object, sizeof(object));
	file_name(r, f, t, "co", code_object, sizeof(code_object));
	return compiler_link(object, code_object, d);
}

static void print_json_string(const char *s)
{
	putchar('"');
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 32)
			printf("\\u%04x", (unsigned char)*s);
		else
			putchar(*s);
	putchar('"');
}

static void print_json_head(const struct ptx_func *f, const struct lower_target *t)
{
	printf("{\"kernel\":");
	print_json_string(f->name);
	printf(",\"target\":\"%s\",", t->name);
}

static void print_compiled(const struct run *r, const struct ptx_func *f, const struct lower_target *t,
			   const struct compile_stats *s)
{
	if (!r->o.json) {
		printf("%-28.60s %-9s %6u %6u %8u %8u %8u %9.1f\n", f->name, t->name, s->vgprs, s->sgprs,
		       s->shared_bytes, s->scratch_bytes, s->code_bytes, s->seconds * 1e3);
		return;
	}
	print_json_head(f, t);
	printf("\"vgprs\":%u,\"agprs\":%u,\"sgprs\":%u,\"lds_bytes\":%u,\"scratch_bytes\":%u,\"spilled_"
	       "vgprs\":%u,"
	       "\"spilled_sgprs\":%u,\"kernarg_bytes\":%u,\"code_bytes\":%u,\"compile_ms\":%.2f}\n",
	       s->vgprs, s->agprs, s->sgprs, s->shared_bytes, s->scratch_bytes, s->spilled_vgprs,
	       s->spilled_sgprs, s->kernarg_bytes, s->code_bytes, s->seconds * 1e3);
}

static void print_refused(const struct run *r, const struct ptx_func *f, const struct lower_target *t,
			  const char *op, const char *reason, uint32_t line)
{
	if (!r->o.json) {
		printf("%-28.60s %-9s refused: %s:%u: %s%s%s\n", f->name, t->name, r->o.file, line, op,
		       op[0] ? ": " : "", reason);
		return;
	}
	print_json_head(f, t);
	printf("\"refused\":{\"line\":%u,\"op\":", line);
	print_json_string(op);
	printf(",\"reason\":");
	print_json_string(reason);
	printf("}}\n");
}

static void compile_lowered(struct run *r, struct ptx_func *f, const struct lower_target *t,
			    const struct lowered *l)
{
	struct diag d = DIAG_INIT;
	struct compiled c;
	int rc = compiler_run(l, f->name, t, COMPILE_ASSEMBLY | COMPILE_OPTIMIZED, &c, &d);

	if (!rc && r->o.dir)
		rc = write_files(r, f, t, l, &c, &d);
	if (rc) {
		diag_print(&d, stderr);
		r->failed++;
	} else {
		print_compiled(r, f, t, &c.stats);
		r->compiled++;
	}
	compiled_free(&c);
}

static void compile_kernel(struct run *r, struct ptx_func *f, const struct lower_target *t)
{
	struct diag d = DIAG_INIT;
	struct lowered l;
	int rc = lower_kernel(r->m, f, t, &l, &d);

	if (rc && !l.reason[0]) {
		print_refused(r, f, t, "", d.what, f->line);
		r->refused++;
	} else if (rc) {
		print_refused(r, f, t, l.op, l.reason, l.line);
		r->refused++;
	} else {
		compile_lowered(r, f, t, &l);
	}
	lowered_free(&l);
}

static int compile_all(struct run *r)
{
	if (!r->o.json)
		printf("%-28s %-9s %6s %6s %8s %8s %8s %9s\n", "kernel", "target", "VGPRs", "SGPRs", "LDS",
		       "scratch", "code", "ms");
	for (uint32_t k = 0; k < r->m->nfuncs; k++)
		for (unsigned t = 0; r->m->funcs[k]->is_entry && t < r->o.ntargets; t++)
			compile_kernel(r, r->m->funcs[k], r->o.targets[t]);
	if (!r->o.json)
		printf("%u compiled, %u refused, %u failed\n", r->compiled, r->refused, r->failed);
	if (fflush(stdout) || r->failed)
		return EXIT_COULD_NOT;
	return r->refused ? EXIT_SOME_REFUSED : EXIT_ALL;
}

static int could_not(struct diag *d)
{
	diag_print(d, stderr);
	return EXIT_COULD_NOT;
}

int main(int argc, char **argv)
{
	struct run r = {0};
	struct diag d = DIAG_INIT;
	size_t bytes;

	if (!read_options(argc, argv, &r.o)) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (r.o.dir && mkdir(r.o.dir, 0777) && errno != EEXIST) {
		diag_set(&d, CUTRACE_EIO, r.o.dir, "can't make the folder: %s", strerror(errno));
		return could_not(&d);
	}
	char *text = read_file(r.o.file, &bytes);
	if (!text) {
		diag_set(&d, CUTRACE_EIO, r.o.file, "can't read: %s", strerror(errno));
		return could_not(&d);
	}
	r.m = ptx_module_parse(text, bytes, r.o.file, &d);
	free(text);
	if (r.m && r.m->nown_errors)
		d = r.m->errors[0];
	if (!r.m || r.m->nown_errors) {
		ptx_module_free(r.m);
		return could_not(&d);
	}
	compiler_init();
	int status = compile_all(&r);
	ptx_module_free(r.m);
	return status;
}
