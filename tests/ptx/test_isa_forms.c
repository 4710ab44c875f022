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

/* Types, spaces and layouts mean something by their order among themselves; everything else may stand anywhere. */
static bool is_positional(const char *modifier, size_t n)
{
	static const char *const words[] = {
		"row",   "col",   "global", "shared",       "shared::cta", "shared::cluster",
		"local", "const", "param",  "param::entry", "param::func"};
	for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
		if (strlen(words[k]) == n && !memcmp(words[k], modifier, n))
			return true;
	return ptx_type_parse(modifier, n) != PTX_TYPE_NONE;
}

enum { MAX_MODIFIERS = 32 };
struct opcode_text {
	const char *parts[MAX_MODIFIERS];
	size_t lengths[MAX_MODIFIERS], n;
};

/* Appends the parts that are positional, or those that aren't, the latter from the last one to the first. */
static void append(char *out, const struct opcode_text *t, bool positional)
{
	for (size_t k = 0; k < t->n; k++) {
		size_t i = positional ? k : t->n - 1 - k;
		if (is_positional(t->parts[i], t->lengths[i]) == positional)
			sprintf(out + strlen(out), ".%.*s", (int)t->lengths[i], t->parts[i]);
	}
}

static void split_opcode(const char *text, size_t n, size_t name, struct opcode_text *t)
{
	t->n = 0;
	for (const char *p = text + name; p < text + n && t->n < MAX_MODIFIERS; t->n++) {
		t->parts[t->n] = p + 1;
		t->lengths[t->n] = strcspn(p + 1, ". ;");
		p += 1 + t->lengths[t->n];
	}
}

static unsigned check_order(const char *form)
{
	char detail[200], other[512];
	const char *at, *text = form[0] == '@' ? strchr(form, ' ') + 1 : form;
	size_t n = strcspn(text, " ;");
	struct ptx_inst want, got;
	struct opcode_text t;
	unsigned failures = 0;
	if (!ptx_opcode_decode(text, n, &want, detail, sizeof(detail), &at))
		return 0; /* a directive or a label stands first */
	size_t name = strlen(ptx_op_name(want.op));
	split_opcode(text, n, name, &t);
	for (unsigned types_first = 0; types_first < 2; types_first++) {
		sprintf(other, "%.*s", (int)name, text);
		append(other, &t, types_first);
		append(other, &t, !types_first);
		bool ok = ptx_opcode_decode(other, strlen(other), &got, detail, sizeof(detail), &at);
		if (ok && !memcmp(&want, &got, sizeof(want)))
			continue;
		print_error("%.*s and %s: %s\n", (int)n, text, other, ok ? "not the same" : detail);
		failures++;
	}
	return failures;
}

static void any_order(void **state)
{
	(void)state;
	unsigned failures = 0;
	for (unsigned n = 0; n < table.ntargets; n++)
		for (unsigned k = 0; k < table.targets[n].nforms; k++)
			failures += check_order(table.targets[n].forms[k]);
	assert_int_equal(failures, 0);
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
		cmocka_unit_test(any_order),
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
