/* SPDX-License-Identifier: Apache-2.0
 *
 * Every form of isa_forms.txt is lowered to IR that LLVM's verifier accepts and its code generator compiles, or refused
 * with a line, an operation and a reason. Prints how many of each operation are lowered.
 */
#include "tests/ptx/fixture.h"
#include "tests/ptx/isa_forms.h"

#include "zluda_core/compiler/compiler.h"

static struct isa_table table;
static const char *const targets[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1201"};
enum { NTARGETS = sizeof(targets) / sizeof(targets[0]) };

static struct {
	unsigned lowered, refused;
	char reason[160];
} by_op[PTX_NOPS];

/* The operation that the form is about: of those in its kernel the one with the longest name that the text has. */
static unsigned op_of(const struct ptx_func *f, const char *form)
{
	unsigned op = PTX_OP_RET;

	for (uint32_t k = 0; k < f->ninsts; k++) {
		const char *name = ptx_op_name(f->insts[k].op);
		if (strstr(form, name) && (op == PTX_OP_RET || strlen(name) >= strlen(ptx_op_name(op))))
			op = f->insts[k].op;
	}
	return op;
}

static unsigned check_lowered(const struct lowered *l, const char *name, const struct lower_target *t,
			      const char *form)
{
	struct diag d = DIAG_INIT;
	struct compiled c;
	int rc = compiler_run(l, name, t, 0, &c, &d);

	if (rc)
		print_error("%s (%s): %s\n", form, t->name, d.what);
	compiled_free(&c);
	return rc != 0;
}

static unsigned check_form(struct ptx_module *m, const struct isa_target *t, unsigned k, unsigned n)
{
	const struct lower_target *target = lower_target_find(targets[n % NTARGETS]);
	struct diag d = DIAG_INIT;
	struct lowered l;
	char name[32];
	unsigned failures = 0;

	snprintf(name, sizeof(name), "k%u", k);
	struct ptx_func *f = ptx_func_find(m, name);
	int rc = lower_kernel(m, f, target, &l, &d);
	unsigned op = op_of(f, t->forms[k]);
	if (!rc) {
		failures = check_lowered(&l, name, target, t->forms[k]);
		by_op[op].lowered++;
	} else if (rc == CUTRACE_ENOTSUP && l.reason[0] && d.what[0]) {
		by_op[op].refused++;
		snprintf(by_op[op].reason, sizeof(by_op[op].reason), "%s", l.reason);
	} else {
		print_error("%s: %d %s\n", t->forms[k], rc, d.what);
		failures = 1;
	}
	lowered_free(&l);
	return failures;
}

static void print_table(void)
{
	unsigned lowered = 0, refused = 0;

	for (unsigned op = 0; op < PTX_NOPS; op++) {
		if (by_op[op].lowered + by_op[op].refused)
			print_message("%-36s %4u lowered %4u refused %s\n", ptx_op_name(op),
				      by_op[op].lowered, by_op[op].refused, by_op[op].reason);
		lowered += by_op[op].lowered;
		refused += by_op[op].refused;
	}
	print_message("%u of %u forms lowered, %u refused\n", lowered, table.nforms, refused);
	assert_int_equal(lowered + refused, table.nforms);
}

static void all_forms(void **state)
{
	unsigned failures = 0, n = 0;

	(void)state;
	for (unsigned k = 0; k < table.ntargets; k++) {
		struct ptx_module *m = parse_text(table.targets[k].text);
		for (unsigned form = 0; form < table.targets[k].nforms; form++)
			failures += check_form(m, &table.targets[k], form, n++);
		ptx_module_free(m);
	}
	print_table();
	assert_int_equal(failures, 0);
}

/* What an operation of the common ones must not fall back to. */
static void common_operations_are_lowered(void **state)
{
	static const enum ptx_op ops[] = {
		PTX_OP_ADD,  PTX_OP_MAD,  PTX_OP_ADDC, PTX_OP_BFE,  PTX_OP_BFI,  PTX_OP_PRMT, PTX_OP_LOP3,
		PTX_OP_SHF,  PTX_OP_FMA,  PTX_OP_SETP, PTX_OP_SELP, PTX_OP_CVT,  PTX_OP_LD,   PTX_OP_ST,
		PTX_OP_CVTA, PTX_OP_ATOM, PTX_OP_RED,  PTX_OP_BAR,  PTX_OP_SHFL, PTX_OP_VOTE, PTX_OP_BRX_IDX,
		PTX_OP_CALL, PTX_OP_RCP,  PTX_OP_SQRT, PTX_OP_MATCH};

	(void)state;
	for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
		if (!by_op[ops[k]].lowered)
			fail_msg("no form of %s is lowered", ptx_op_name(ops[k]));
}

/* Generic addresses have 64 bits on every target. */
static void narrow_addresses_are_refused(void **state)
{
	struct ptx_module *m = parse_text(
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\t.reg .b32 a;\n"
		"\tmov.b32 a, 0;\n\tcvta.shared.u32 a, a;\n\tret;\n}\n");
	struct diag d = DIAG_INIT;
	struct lowered l;

	(void)state;
	for (unsigned k = 0; k < NTARGETS; k++) {
		int rc = lower_kernel(m, ptx_func_find(m, "k"), lower_target_find(targets[k]), &l, &d);

		assert_int_equal(rc, CUTRACE_ENOTSUP);
		assert_int_equal(l.line, 8);
		assert_string_equal(l.reason, "addresses of 32 bits");
		lowered_free(&l);
	}
	ptx_module_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_forms),
					   cmocka_unit_test(common_operations_are_lowered),
					   cmocka_unit_test(narrow_addresses_are_refused)};

	compiler_init();
	if (isa_table_read(&table, PTX_TEST_DIR "/isa_forms.txt")) {
		fprintf(stderr, "%s\n", table.error);
		return 1;
	}
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	isa_table_free(&table);
	return rc;
}
