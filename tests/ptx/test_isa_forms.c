/* SPDX-License-Identifier: Apache-2.0
 *
 * Every form of isa_forms.txt and every module of modules/ parses, builds and
 * verifies, and every operation of ops.def occurs in a form. `test_ptx_isa_forms --emit DIR` writes the modules
 * for another assembler to judge (ptxas.sh). */
#include "fixture.h"
#include "isa_forms.h"

#include <glob.h>

#include "ptx/op_table.h"

static struct isa_table table;
static bool seen[PTX_NOPS];

static unsigned check_form(struct ptx_module *m, const struct isa_target *t, unsigned k)
{
	char name[32];
	struct diag d = DIAG_INIT;
	snprintf(name, sizeof(name), "k%u", k);
	struct ptx_func *f = ptx_func_find(m, name);
	assert_non_null(f);
	if (ptx_func_build(m, f) || ptx_func_verify(m, f, &d)) {
		print_error("isa_forms.txt:%u: %s\n  %s\n", t->lines[k], t->forms[k],
			    f->error.code ? f->error.what : d.what);
		return 1;
	}
	for (uint32_t i = 0; i < f->ninsts; i++)
		seen[f->insts[i].op] = true;
	return 0;
}

static void all_forms(void **state)
{
	(void)state;
	unsigned failures = 0;
	for (unsigned n = 0; n < table.ntargets; n++) {
		struct isa_target *t = &table.targets[n];
		struct ptx_module *m = parse_text(t->text);
		assert_int_equal(m->nerrors, 0);
		for (unsigned k = 0; k < t->nforms; k++)
			failures += check_form(m, t, k);
		ptx_module_free(m);
	}
	print_message("%u lines, %u forms, %u targets\n", table.nlines, table.nforms, table.ntargets);
	assert_int_equal(failures, 0);
}

static void all_operations(void **state)
{
	(void)state;
	unsigned missing = 0;
	for (unsigned op = 0; op < PTX_NOPS; op++)
		if (!seen[op]) {
			print_error("'%s' is in no form\n", ptx_op_name(op));
			missing++;
		}
	assert_int_equal(missing, 0);
}

/* Directives and old dialects: whole modules in modules/. */
static void all_modules(void **state)
{
	(void)state;
	glob_t found;
	unsigned failures = 0;
	assert_int_equal(glob(PTX_TEST_DIR "/modules/*.ptx", 0, NULL, &found), 0);
	for (size_t k = 0; k < found.gl_pathc; k++) {
		size_t bytes = 0;
		struct diag d = DIAG_INIT;
		char *text = read_whole(found.gl_pathv[k], &bytes);
		assert_non_null(text);
		struct ptx_module *m = ptx_module_parse(text, bytes, strrchr(found.gl_pathv[k], '/') + 1, &d);
		free(text);
		assert_non_null(m);
		ptx_module_check(m);
		for (uint32_t e = 0; e < m->nerrors; e++)
			print_error("%s: %s\n%s\n", m->errors[e].where, m->errors[e].what, m->errors[e].hint);
		failures += m->nerrors;
		for (uint32_t f = 0; f < m->nfuncs && !m->nerrors; f++)
			failures += !m->funcs[f]->is_decl && ptx_func_verify(m, m->funcs[f], &d);
		assert_true(m->nfuncs > 0);
		ptx_module_free(m);
	}
	assert_true(found.gl_pathc > 10);
	globfree(&found);
	assert_int_equal(failures, 0);
}

/* The file name of a target: "sm_75, texmode_independent" has no place there. */
static int emit(const char *folder)
{
	for (unsigned n = 0; n < table.ntargets; n++) {
		char path[4096];
		size_t length = strcspn(table.targets[n].name, ", ");
		snprintf(path, sizeof(path), "%s/%u.%.*s.ptx", folder, n, (int)length, table.targets[n].name);
		FILE *out = fopen(path, "w");
		if (!out)
			return 2;
		fwrite(table.targets[n].text, 1, table.targets[n].bytes, out);
		if (fclose(out))
			return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_forms),
		cmocka_unit_test(all_operations),
		cmocka_unit_test(all_modules),
	};
	if (isa_table_read(&table, PTX_TEST_DIR "/isa_forms.txt")) {
		print_error("isa_forms.txt: %s\n", table.error);
		return 2;
	}
	int rc = argc == 3 && !strcmp(argv[1], "--emit")
			 ? emit(argv[2])
			 : cmocka_run_group_tests_name("ptx isa forms", tests, NULL, NULL);
	isa_table_free(&table);
	return rc;
}
