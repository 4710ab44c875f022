/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace compile. LLVM is in the workers of the compile service only.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/compile.h"
#include "zluda_core/compiler/compile_options.h"

enum { EXIT_ALL = 0, EXIT_SOME_REFUSED = 1, EXIT_USAGE = 2, EXIT_COULD_NOT = 125, MAX_TARGETS = 64 };

struct options {
	const char *file, *folder, *kernel, *options;
	const struct lower_target *targets[MAX_TARGETS];
	unsigned ntargets, jobs, cc;
	bool json, fresh;
};

static void print_help(FILE *out)
{
	fputs("usage: cutrace compile FILE [--arch gfxNNNN,...] [-o DIR] [options]\n\n"
	      "Compiles the kernels of a PTX file, a fatbin, an object file, an executable or a library to code objects of\n"
	      "AMD GPUs, and says what each needs. They go into the cache that programs use (`cutrace cache`). A kernel\n"
	      "with an instruction that can't be translated is refused, with its line and the reason.\n\n"
	      "  --arch LIST    targets, separated by commas, or `all` (gfx1100)\n"
	      "  -o DIR         writes KERNEL.TARGET.co (code object), .ll (LLVM IR), .opt.ll (IR after -O3) and .s\n"
	      "                 (assembly with the lines of the PTX) to DIR\n"
	      "  --kernel NAME  only this kernel\n"
	      "  --cc M.N       of several PTX texts the one for this compute capability (9.0)\n"
	      "  --options O    as a device with these options does: opt=0 to opt=3 (3); contract=all, products and\n"
	      "                 sums are fused where PTX allows it; opt-bisect=N, only the first N of LLVM's passes that\n"
	      "                 may be left out, with -o the list of them, too (.passes)\n"
	      "  --fresh        compiles what the cache has, too\n"
	      "  -j N           so many at a time (one a processor)\n"
	      "  --json         one JSON object a line instead of the table\n\n"
	      "VGPRs are those of a lane, with accumulation registers; LDS of a block, scratch of a lane and code in bytes;\n"
	      "waves: how many a SIMD holds at once, as far as registers allow.\n\nTargets:",
	      out);
	for (unsigned k = 0; lower_target_at(k); k++)
		fprintf(out, "%s%s", k % 8 ? " " : "\n  ", lower_target_at(k)->name);
	fputs("\n\nExit status: 0 all compiled, 1 some refused, 2 wrong usage, 125 could not.\n", out);
}

static bool add_targets(struct options *o, char *list)
{
	o->ntargets = 0;
	for (unsigned k = 0; !strcmp(list, "all") && lower_target_at(k) && k < MAX_TARGETS; k++)
		o->targets[o->ntargets++] = lower_target_at(k);
	if (o->ntargets)
		return true;
	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		const struct lower_target *t = lower_target_find(name);

		if (!t || o->ntargets == MAX_TARGETS) {
			fprintf(stderr, "cutrace compile: error: no target '%s'\n  hint: --help lists them\n",
				name);
			return false;
		}
		o->targets[o->ntargets++] = t;
	}
	if (!o->ntargets)
		fputs("cutrace compile: error: --arch names no target\n", stderr);
	return o->ntargets > 0;
}

static bool read_number(const char *text, unsigned least, unsigned most, unsigned *out)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	*out = (unsigned)v;
	return end != text && !*end && v >= least && v <= most;
}

static bool read_capability(const char *text, unsigned *out)
{
	unsigned major, minor;
	char rest;

	if (sscanf(text, "%u.%u%c", &major, &minor, &rest) != 2 || major > 99 || minor > 9)
		return false;
	*out = major * 10 + minor;
	return true;
}

enum { OPT_KERNEL = 256, OPT_CC, OPT_FRESH, OPT_JSON, OPT_OPTIONS };

static bool wrong_value(const char *option, const char *expected)
{
	fprintf(stderr, "cutrace compile: error: %s: '%s' is not %s\n", option, optarg, expected);
	return false;
}

static bool are_options(const char *text)
{
	struct diag d = DIAG_INIT;

	if (!compile_options_check(text, &d))
		return true;
	fprintf(stderr, "cutrace compile: --options: ");
	diag_print(&d, stderr);
	return false;
}

/* False: wrong usage, which is said. */
static bool read_option(struct options *o, int c)
{
	switch (c) {
	case 'a': return add_targets(o, optarg);
	case 'o': o->folder = optarg; return true;
	case 'j': return read_number(optarg, 1, 256, &o->jobs) || wrong_value("-j", "a number from 1 to 256");
	case OPT_KERNEL: o->kernel = optarg; return true;
	case OPT_CC:
		return read_capability(optarg, &o->cc) ||
		       wrong_value("--cc", "a compute capability, such as 9.0");
	case OPT_OPTIONS: o->options = optarg; return are_options(optarg);
	case OPT_FRESH: o->fresh = true; return true;
	case OPT_JSON: o->json = true; return true;
	}
	return false;
}

static bool read_options(int argc, char **argv, struct options *o)
{
	static const struct option names[] = {{"arch", required_argument, NULL, 'a'},
					      {"output", required_argument, NULL, 'o'},
					      {"jobs", required_argument, NULL, 'j'},
					      {"kernel", required_argument, NULL, OPT_KERNEL},
					      {"cc", required_argument, NULL, OPT_CC},
					      {"fresh", no_argument, NULL, OPT_FRESH},
					      {"options", required_argument, NULL, OPT_OPTIONS},
					      {"json", no_argument, NULL, OPT_JSON},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	int c;

	o->targets[o->ntargets++] = lower_target_find("gfx1100");
	while ((c = getopt_long(argc, argv, "o:j:h", names, NULL)) >= 0) {
		if (c == 'h') {
			print_help(stdout);
			exit(fflush(stdout) ? EXIT_COULD_NOT : EXIT_ALL);
		}
		if (!read_option(o, c))
			return false;
	}
	o->file = argv[optind];
	if (o->file && optind + 1 == argc)
		return true;
	fputs("cutrace compile: error: name one file\n", stderr);
	return false;
}

static int could_not(const struct diag *d)
{
	diag_print(d, stderr);
	return EXIT_COULD_NOT;
}

static int run(const struct options *o, struct compile_run *r, struct diag *d)
{
	struct compile_output out = {.run = r, .file = o->file, .folder = o->folder, .json = o->json};
	int rc = device_code_read(o->file, o->cc, &r->code, d);

	if (!rc)
		rc = compile_tasks_list(r, o->targets, o->ntargets, o->kernel, d);
	if (rc)
		return could_not(d);
	r->finished = compile_output_task;
	r->ctx = &out;
	compile_output_head(&out);
	compile_tasks_run(r);
	compile_output_foot(&out);
	if (out.failed)
		return EXIT_COULD_NOT;
	return out.refused ? EXIT_SOME_REFUSED : EXIT_ALL;
}

int cmd_compile(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct options o = {.cc = 90, .jobs = processors > 0 ? (unsigned)processors : 1};
	struct service_config config = {0};
	struct compile_run r = {0};
	struct diag d = DIAG_INIT;
	int status;

	if (!read_options(argc, argv, &o)) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (o.folder && mkdir(o.folder, 0777) && errno != EEXIST) {
		diag_set(&d, CUTRACE_EIO, o.folder, "can't make the folder: %s", strerror(errno));
		return could_not(&d);
	}
	r.want = (o.folder ? SERVICE_IR | SERVICE_OPTIMIZED | SERVICE_ASSEMBLY : 0u) |
		 (o.fresh ? SERVICE_FRESH : 0u);
	r.progress = isatty(STDERR_FILENO) && !o.json;
	r.options = o.options ? o.options : "";
	config.workers = r.jobs = o.jobs;
	if (service_open(&r.service, &config, &d) || !service_compiler(r.service, &d))
		status = could_not(&d);
	else
		status = run(&o, &r, &d);
	compile_tasks_free(&r);
	return status;
}
