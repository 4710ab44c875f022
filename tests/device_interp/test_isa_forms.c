/* SPDX-License-Identifier: Apache-2.0
 *
 * Every form of every instruction (tests/ptx/isa_forms.txt) is either executed by the interpreter or refused, and
 * refused only where `refused` says so. `test_interp_isa_forms --list` prints for each operation how many forms are
 * executed, how many are not, and why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/driver.h"
#include "tests/ptx/isa_forms.h"

static struct isa_table table;

struct tally {
	unsigned executed, refused;
	char why[200];
};
static struct tally tallies[PTX_NOPS];
static bool listing;

/* Operations that a target up to sm_90 has and that are not executed, by the words of the refusal. */
static const char *const refused[] = {
	": bulk copies by the asynchronous proxy",
	": copies through tensor maps",
	": matrix operations of a warpgroup",
	": operations on multicast objects",
	": comparisons of depths",
	": multi-sample textures",
};

static bool may_be_refused(const struct isa_target *t, const char *why)
{
	const unsigned target = (unsigned)strtoul(t->name + 3, NULL, 10);

	for (unsigned k = 0; k < sizeof(refused) / sizeof(refused[0]); k++)
		if (strstr(why, refused[k]))
			return true;
	return target > 90;
}

/* The operation that a form is about: of the last statement before the label. */
static unsigned operation_of(const struct ptx_module *m, const char *kernel)
{
	const struct ptx_func *f = ptx_func_find((struct ptx_module *)(uintptr_t)m, kernel);
	unsigned op = PTX_NOPS - 1;

	for (uint32_t i = 0; f && i < f->ninsts; i++)
		if (f->insts[i].op != PTX_OP_RET || !i)
			op = f->insts[i].op;
	return op;
}

static unsigned check_form(struct test_module *m, const struct isa_target *t, unsigned n)
{
	struct dev_kernel *k;
	struct diag d = DIAG_INIT;
	char name[32];

	snprintf(name, sizeof(name), "k%u", n);
	const int rc = test_kernel(m, name, &k, &d);
	struct tally *y = &tallies[operation_of(m->ptx, name)];

	y->executed += !rc;
	y->refused += rc != 0;
	if (rc)
		snprintf(y->why, sizeof(y->why), "%.199s", d.what);
	if (!rc || may_be_refused(t, d.what))
		return 0;
	print_error("isa_forms.txt:%u: %s\n  %s: %s\n", t->lines[n], t->forms[n], t->name, d.what);
	return 1;
}

static void forms(void **state)
{
	struct test_device t;
	struct test_module m;
	unsigned failures = 0;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned n = 0; n < table.ntargets; n++) {
		test_load(&m, &t, table.targets[n].text, table.targets[n].name);
		for (unsigned k = 0; k < table.targets[n].nforms; k++)
			failures += check_form(&m, &table.targets[n], k);
		test_unload(&m);
	}
	test_close(&t);
	for (unsigned op = 0; listing && op < PTX_NOPS; op++)
		printf("%-36s %5u executed %5u refused%s%s\n", ptx_op_name(op), tallies[op].executed,
		       tallies[op].refused, tallies[op].refused ? "  " : "", tallies[op].why);
	assert_int_equal(failures, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(forms)};

	listing = argc == 2 && !strcmp(argv[1], "--list");
	if (isa_table_read(&table, ISA_FORMS)) {
		print_error("isa_forms.txt: %s\n", table.error);
		return 2;
	}
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	isa_table_free(&table);
	return rc;
}
