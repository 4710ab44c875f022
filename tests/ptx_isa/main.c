/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ptx_isa [options] [FILTER]: runs every form, one line each, and counts; then says how much of the ISA that is
 * (coverage.h). Options:
 *   --missing          name each form that no test executes
 *   --device NAME      on another device than the interpreter: amdemu:gfx1100[,options], hip,
 *                      cuda[:options] (tests/nvidia/device_cuda.h)
 *   --results FILE     write a line for each form (form.h); table.sh makes a table of such files
 *   --stride N[,PHASE] only one form in N
 *   --emit DIR         write the modules as PTX instead, so that another assembler can judge their syntax
 */
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mpfr.h>

#include "coverage.h"
#include "form.h"

static const struct part {
	const char *name, *target;
	void (*forms)(struct suite *s);
	const char *version;
} parts[] = {
	{"integer", "sm_90", forms_integer, NULL},
	{"bits", "sm_90", forms_bits, NULL},
	{"carry", "sm_90", forms_carry, NULL},
	{"compare", "sm_90", forms_compare, NULL},
	{"float", "sm_90", forms_float, NULL},
	{"half", "sm_90", forms_half, NULL},
	{"convert", "sm_90", forms_convert, NULL},
	{"narrow", "sm_90", forms_narrow, NULL},
	{"approx", "sm_90", forms_approx, NULL},
	{"warp", "sm_90", forms_warp, NULL},
	{"atomic", "sm_90", forms_atomic, NULL},
	{"memory", "sm_90", forms_memory, NULL},
	{"control", "sm_90", forms_control, NULL},
	{"operands", "sm_90", forms_operands, NULL},
	{"vector_atomic", "sm_90", forms_vector_atomic, NULL},
	{"access", "sm_90", forms_access, NULL},
	{"mma", "sm_90", forms_mma, NULL},
	{"mma_sparse", "sm_90", forms_mma_sparse, NULL},
	{"mma_narrow", "sm_120a", forms_mma_narrow, NULL},
	{"wmma", "sm_90", forms_wmma, NULL},
	{"video", "sm_90", forms_video, NULL},
	{"matrix_move", "sm_90", forms_matrix_move, NULL},
	{"mbarrier", "sm_90", forms_mbarrier, NULL},
	{"policy", "sm_90", forms_policy, NULL},
	{"setmaxnreg", "sm_90a", forms_setmaxnreg, NULL},
	{"texture_sampling", "sm_90", forms_texture_sampling, NULL},
	{"texture_types", "sm_90", forms_texture_types, NULL},
	{"texture_texels", "sm_90", forms_texture_texels, NULL},
	{"texture_queries", "sm_90", forms_texture_queries, NULL},
	{"surface", "sm_90", forms_surface, NULL},
	{"special", "sm_90", forms_special, NULL},
	{"old", "sm_20", forms_old, "2.3"},
	{"unsynchronised", "sm_60", forms_unsynchronised, "6.0"},
	{"more", "sm_90", forms_more, NULL},
	{"launch", "sm_90", forms_launch, NULL},
	{"tiny", "sm_100a", forms_tiny, NULL},
	{"blackwell", "sm_100a", forms_blackwell, NULL},
	{"wide_access", "sm_100a", forms_wide_access, NULL},
};
#define NPARTS (sizeof(parts) / sizeof(parts[0]))

static const char *filter;
static struct tally total;
static struct coverage *coverage;

static void note_coverage(const struct suite *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct form *f = &s->forms[i];

		if (f->result == FORM_NOT_RUN)
			continue;
		coverage_note(coverage, f->text, f->result == FORM_PASSED);
		if (f->decl)
			coverage_note(coverage, f->decl, f->result == FORM_PASSED);
		/* what the harness puts around every form */
		coverage_note(coverage, "ld.param.u64; ret;", f->result == FORM_PASSED);
	}
}

static void part_test(void **state)
{
	const struct part *p = *state;
	struct suite s = {.name = p->name, .target = p->target, .version = p->version};
	struct tally t = {0};

	p->forms(&s);
	suite_run(&s, filter, &t);
	printf("%s: %u forms passed, %u failed, %u refused\n", p->name, t.passed, t.failed, t.refused);
	total.bound += t.bound;
	total.passed += t.passed;
	total.failed += t.failed;
	total.refused += t.refused;
	total.neither += t.neither;
	note_coverage(&s);
	suite_free(&s);
	assert_int_equal(t.failed, 0);
}

static int emit_all(const char *dir)
{
	char path[512];

	for (size_t i = 0; i < NPARTS; i++) {
		struct suite s = {
			.name = parts[i].name, .target = parts[i].target, .version = parts[i].version};

		parts[i].forms(&s);
		snprintf(path, sizeof(path), "%s/%s.ptx", dir, s.name);
		if (suite_emit(&s, path)) {
			perror(path);
			return 2;
		}
		suite_free(&s);
	}
	return 0;
}

static bool parse_stride(const char *text)
{
	char *end;

	runner.stride = (unsigned)strtoul(text, &end, 0);
	runner.phase = *end == ',' ? (unsigned)strtoul(end + 1, &end, 0) : 0;
	return runner.stride && runner.phase < runner.stride && !*end;
}

static struct {
	const char *emit;
	bool all;
} options;

static int parse_options(int argc, char **argv)
{
	static const struct option names[] = {{"missing", 0, NULL, 'm'}, {"device", 1, NULL, 'd'},
					      {"results", 1, NULL, 'r'}, {"stride", 1, NULL, 's'},
					      {"emit", 1, NULL, 'e'},    {0}};
	int c;
	bool good = true;

	while (good && (c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (c) {
		case 'm': options.all = true; break;
		case 'e': options.emit = optarg; break;
		case 'd': good = runner_choose(optarg); break;
		case 's': good = parse_stride(optarg); break;
		case 'r': good = (runner.results = fopen(optarg, "w")) != NULL; break;
		default: return 2;
		}
		if (!good)
			fprintf(stderr, "test_ptx_isa: can't use %s\n", optarg);
	}
	filter = argv[optind];
	return good ? 0 : 2;
}

static bool everything(void)
{
	return !filter && runner.stride == 1;
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[NPARTS];
	unsigned unknown = 0;
	int rc = parse_options(argc, argv);

	if (rc)
		return rc;
	if (options.emit)
		return emit_all(options.emit);
	coverage = coverage_new();
	for (size_t i = 0; i < NPARTS; i++)
		tests[i] = (struct CMUnitTest){parts[i].name, part_test, NULL, NULL, (void *)&parts[i]};
	setvbuf(stdout, NULL, _IOLBF, 0);
	rc = cmocka_run_group_tests_name("ptx_isa", tests, NULL, NULL);
	if (everything())
		unknown = coverage_print(coverage, options.all);
	coverage_free(coverage);
	if (unknown)
		printf("%u opcodes of programs are not in the table of the ISA (isa_table.c)\n", unknown);
	printf("%u forms passed, %u failed, %u refused", total.passed, total.failed, total.refused);
	if (total.neither)
		printf(" (%u of these by the interpreter, too)", total.neither);
	if (total.bound)
		printf("; %u that passed are within the document's bounds, with other bits than the "
		       "interpreter",
		       total.bound);
	putchar('\n');
	if (runner.results)
		fclose(runner.results);
	mpfr_free_cache();
	mpfr_mp_memory_cleanup();
	return rc || unknown;
}
