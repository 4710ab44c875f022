/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX that logs: each statement stays as it was written, on a line of its own that the site names; what comes out is PTX, to
 * our parser here and with --emit DIR, which writes a part of it, to the toolkit's assembler; records have their registers
 * where the layout says; judges exist for what follows from operands alone. */
#include "fixture.h"
#include "ptx/instrument/instrument.h"

static const char *emit_dir;
static unsigned emitted;

/* One of six: the assembler takes its time. */
static void emit(const char *text)
{
	char path[4096];
	FILE *out;

	if (emitted++ % 6 || !emit_dir)
		return;
	snprintf(path, sizeof(path), "%s/instrumented_%u.ptx", emit_dir, emitted);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void must_build(const char *text, const char *what)
{
	struct ptx_module *m = parse_text(text);

	emit(text);
	for (uint32_t k = 0; k < m->nfuncs; k++)
		if (!m->funcs[k]->is_decl && ptx_func_build(m, m->funcs[k])) {
			print_error("%s: %s: %s\n", what, m->funcs[k]->error.where, m->funcs[k]->error.what);
			fail();
		}
	assert_int_equal(m->nerrors, 0);
	ptx_module_free(m);
}

/* The text of line `line` begins with `statement`, blanks aside. */
static void has_line(const char *text, uint32_t line, const char *statement, size_t n)
{
	while (--line)
		text = strchr(text, '\n') + 1;
	assert_memory_equal(text + strspn(text, " \t"), statement, n);
}

static void check_sites(const struct ptx_module *m, const struct ptx_instrumented *i)
{
	for (uint32_t k = 0; k < i->nsites; k++) {
		const struct ptx_site *s = &i->sites[k];
		size_t n = strcspn(m->text + s->opcode, " ;\n");
		unsigned end = 1;

		has_line(i->text, s->new_line, m->text + (s->opcode == s->begin ? s->opcode : s->begin),
			 s->opcode == s->begin ? n : 1);
		for (unsigned r = 0; r < s->nregisters && s->words; r++) {
			unsigned words = s->registers[r].bits > 64 ? 4 : s->registers[r].bits > 32 ? 2 : 1;

			assert_true(s->registers[r].at >= end);
			assert_true(words == 1 || s->registers[r].at % 2 == 0);
			end = s->registers[r].at + words;
		}
		assert_true(!s->words || (end <= s->words && s->words % 2 == 0 && s->words <= i->max_words));
	}
}

static unsigned judge_all(const struct ptx_module *m, const struct ptx_instrumented *i, const char *what)
{
	struct ptx_judge *j = calloc(i->nsites + 1, sizeof(*j));
	struct diag d = DIAG_INIT;
	unsigned n = 0;
	size_t bytes;
	char *text;

	for (uint32_t k = 0; k < i->nsites; k++)
		if (ptx_can_judge(&i->sites[k]))
			j[n++] = (struct ptx_judge){.site = k, .fused = PTX_NONE};
	assert_int_equal(ptx_judge_text(m, i, j, n, &text, &bytes, &d), 0);
	assert_int_equal(bytes, strlen(text));
	must_build(text, what);
	free(text);
	free(j);
	return n;
}

static struct ptx_instrumented instrument(struct ptx_module *m, const char *what)
{
	struct ptx_instrumented i;
	struct diag d = DIAG_INIT;

	if (ptx_instrument(m, ptx_func_find(m, "k"), NULL, NULL, &i, &d)) {
		print_error("%s: %s\n", what, d.what);
		fail();
	}
	must_build(i.text, what);
	check_sites(m, &i);
	return i;
}

/* Registers that were never written have no name in the IR. */
static char *with_registers(const char *statement)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	for (unsigned k = 0; k < 8; k++)
		fprintf(out,
			"setp.eq.u32 p%u, 1, 1; mov.b16 h%u, 1; mov.b32 r%u, 1; mov.b64 d%u, 1; mov.f32 f%u, "
			"0f3F800000; mov.f64 g%u, 0d3FF0000000000000; ",
			k, k, k, k, k, k);
	for (unsigned k = 0; k < 4; k++)
		fprintf(out, "mov.b128 q%u, {d0, d1}; ", k);
	fputs(statement, out);
	fclose(out);
	return text;
}

/* Of all that ptxas takes in a kernel. */
static void test_every_statement(void **state)
{
	char line[512];
	unsigned n = 0, judged = 0;
	FILE *in = fopen(PTX_TEST_DIR "/accept.txt", "r");

	(void)state;
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		struct ptx_module *m;
		struct ptx_instrumented i;
		char *statements;

		line[strcspn(line, "\n")] = 0;
		if (line[0] == '#' || !line[0])
			continue;
		statements = with_registers(line);
		m = parse_statements(statements);
		i = instrument(m, line);
		judged += judge_all(m, &i, line) > 6 * 8 + 4;
		ptx_instrumented_free(&i);
		ptx_module_free(m);
		free(statements);
		n++;
	}
	fclose(in);
	assert_true(n > 200);
	assert_true(judged > 100);
}

static const struct ptx_site *site_at(const struct ptx_instrumented *i, uint32_t line)
{
	for (uint32_t k = 0; k < i->nsites; k++)
		if (i->sites[k].line == line)
			return &i->sites[k];
	return NULL;
}

/* Statement, kind of its site, words of its record (guard, operands, what is accessed, results; one word is the site's),
 * whether it can be judged. */
static void test_sites(void **state)
{
	static const struct {
		const char *statement;
		uint8_t kind;
		unsigned words;
		bool judged, collective;
	} rows[] = {
		{"mov.u32 r1, 7; mov.u32 r2, 7;\nadd.s32 r0, r1, r2;", PTX_SITE_PURE, 4, true, false},
		{"mov.u32 r1, 7;\nmul.wide.u32 d0, r1, 4;", PTX_SITE_PURE, 4, true, false},
		{"setp.eq.u32 p0, 1, 2; mov.f32 f1, 0f00000000;\n@!p0 fma.rn.f32 f0, f1, f1, f1;",
		 PTX_SITE_PURE, 4, true, false},
		{"\nmov.u32 r0, %tid.x;", PTX_SITE_PLACE, 2, false, false},
		{"\nmov.u32 r0, %clock;", PTX_SITE_OTHER, 2, false, false},
		{"\nmov.u64 d0, glob;", PTX_SITE_OTHER, 4, false, false},
		{"mov.u64 d1, glob;\nld.global.v2.f32 {f0, f1}, [d1+8];", PTX_SITE_LOAD, 6, false, false},
		{"\nst.shared.u32 [shm+4], 5;", PTX_SITE_STORE, 6, false, false},
		{"\nbar.sync 0;", PTX_SITE_BARRIER, 2, false, false},
		{"mov.u32 r1, 7;\nshfl.sync.bfly.b32 r0|p0, r1, 1, 31, -1;", PTX_SITE_PURE, 4, true, true},
		{"setp.eq.u32 p0, 1, 2;\n@p0 bra LAB;", PTX_SITE_BRANCH, 2, false, false},
		{"\nbra LAB;", PTX_SITE_NONE, 0, false, false},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct ptx_module *m = parse_statements(rows[k].statement);
		struct ptx_instrumented i = instrument(m, rows[k].statement);
		const struct ptx_site *s = site_at(&i, FIXTURE_LINE + 1);

		assert_non_null(s);
		assert_int_equal(s->kind, rows[k].kind);
		assert_int_equal(s->words, rows[k].words);
		assert_int_equal(ptx_can_judge(s), rows[k].judged);
		assert_int_equal(s->collective, rows[k].collective);
		ptx_instrumented_free(&i);
		ptx_module_free(m);
	}
}

/* What it may call logs, too; a product and a sum are judged as one. */
static void test_functions_and_pairs(void **state)
{
	static const char statements[] =
		"mov.f32 f1, 0f3F800000;\n{ .param .b32 a; call (r0), callee2, (r1, d0); }\nmul.f32 f2, f1, f1;\n"
		"sub.f32 f3, f1, f2;";
	struct ptx_module *m = parse_statements(statements);
	struct ptx_instrumented i = instrument(m, statements);
	struct ptx_judge j = {.operand = 1, .negate_product = true};
	struct diag d = DIAG_INIT;
	bool in_callee = false;
	size_t bytes;
	char *text;

	(void)state;
	for (uint32_t k = 0; k < i.nsites; k++) {
		in_callee |= !strcmp(i.sites[k].f->name, "callee2") && i.sites[k].words;
		if (i.sites[k].line == FIXTURE_LINE + 2)
			j.fused = k;
		if (i.sites[k].line == FIXTURE_LINE + 3)
			j.site = k;
	}
	assert_true(in_callee);
	assert_int_equal(ptx_judge_text(m, &i, &j, 1, &text, &bytes, &d), 0);
	must_build(text, "fused");
	assert_non_null(strstr(text, "fma.rn.f32"));
	assert_int_equal(j.words, i.sites[j.site].words + i.sites[j.fused].words);
	free(text);
	ptx_instrumented_free(&i);
	ptx_module_free(m);
}

/* Products without their result, sums without what was multiplied. */
static bool leave_out(void *ctx, struct ptx_site *s)
{
	const uint16_t op = s->f->insts[s->first + s->n - 1].op;

	(void)ctx;
	if (op == PTX_OP_MUL)
		s->nregisters--;
	if (op == PTX_OP_SUB) {
		s->registers[0] = s->registers[s->nregisters - 1];
		s->nregisters = 1;
	}
	s->is_partial = op == PTX_OP_MUL || op == PTX_OP_SUB;
	return true;
}

/* What is left out of a record isn't logged; a sum is judged with its products, each rounded as it says. */
static void test_products_left_out(void **state)
{
	static const char statements[] =
		"mov.f32 f1, 0f3F800000;\nmul.rn.f32 f2, f1, f1;\nmul.rz.f32 f3, f1, f1;\n"
		"sub.rp.f32 f4, f2, f3;";
	struct ptx_module *m = parse_statements(statements);
	struct ptx_instrumented i;
	struct ptx_judge j = {.fused = PTX_NONE, .joint = true};
	struct diag d = DIAG_INIT;
	size_t bytes;
	char *text;

	(void)state;
	assert_int_equal(ptx_instrument(m, ptx_func_find(m, "k"), leave_out, NULL, &i, &d), 0);
	must_build(i.text, "left out");
	for (uint32_t k = 0; k < i.nsites; k++) {
		const uint32_t line = i.sites[k].line - FIXTURE_LINE;

		if (line == 1 || line == 2)
			j.products[line - 1] = k;
		if (line == 3)
			j.site = k;
	}
	assert_int_equal(i.sites[j.site].words, 2);
	assert_int_equal(i.sites[j.products[0]].words, 2);
	assert_false(ptx_can_judge(&i.sites[j.site]));
	assert_int_equal(ptx_judge_text(m, &i, &j, 1, &text, &bytes, &d), 0);
	must_build(text, "joint");
	assert_non_null(strstr(text, "mul.rn.f32 %cutrace_p0"));
	assert_non_null(strstr(text, "mul.rz.f32 %cutrace_p1"));
	assert_non_null(strstr(text, "sub.rp.f32 %cutrace_d, %cutrace_p0, %cutrace_p1"));
	assert_int_equal(j.words, 6);
	free(text);
	ptx_instrumented_free(&i);
	ptx_module_free(m);
}

/* Without an entry, all of them. */
static void test_all_kernels(void **state)
{
	struct ptx_module *m = parse_text(".version 7.0\n.target sm_80\n.address_size 64\n"
					  ".visible .entry a() { .reg .b32 r; mov.u32 r, %tid.x; ret; }\n"
					  ".visible .entry b() { .reg .b32 r; mov.u32 r, %tid.y; ret; }\n");
	struct ptx_instrumented one, all;
	struct diag d = DIAG_INIT;

	(void)state;
	assert_int_equal(ptx_instrument(m, ptx_func_find(m, "a"), NULL, NULL, &one, &d), 0);
	assert_int_equal(ptx_instrument(m, NULL, NULL, NULL, &all, &d), 0);
	assert_int_equal(all.nsites, 2 * one.nsites);
	must_build(all.text, "all kernels");
	ptx_instrumented_free(&one);
	ptx_instrumented_free(&all);
	ptx_module_free(m);
}

static void test_refused(void **state)
{
	static const char *const texts[] = {
		".version 7.0\n.target sm_80\n.address_size 32\n.visible .entry k() { ret; }\n",
		".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { .reg .b32 %cutrace_w; ret; }\n",
	};

	(void)state;
	for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
		struct ptx_module *m = parse_text(texts[k]);
		struct ptx_instrumented i;
		struct diag d = DIAG_INIT;

		assert_int_equal(ptx_instrument(m, ptx_func_find(m, "k"), NULL, NULL, &i, &d),
				 CUTRACE_ENOTSUP);
		assert_true(d.what[0]);
		ptx_module_free(m);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_statement),     cmocka_unit_test(test_sites),
		cmocka_unit_test(test_functions_and_pairs), cmocka_unit_test(test_products_left_out),
		cmocka_unit_test(test_all_kernels),         cmocka_unit_test(test_refused),
	};

	if (argc == 3 && !strcmp(argv[1], "--emit"))
		emit_dir = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
