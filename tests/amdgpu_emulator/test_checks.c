/* SPDX-License-Identifier: Apache-2.0
 *
 * What the emulator finds: checks.def's kernels, with line tables of DWARF 4 and 5. usage: test_checks LLVM-MC LD.LLD TARGET
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/amdgpu_emulator/assemble.h"

static const struct check {
	uint8_t targets;
	enum amdgpu_fault_kind kind;
	unsigned line;
	const char *assembly, *text;
} checks[] = {
#define C(targets, kind, line, assembly, text) {targets, AMDGPU_FAULT_##kind, line, assembly, text},
#include "tests/amdgpu_emulator/checks.def"
#undef C
};
enum { COUNT = sizeof checks / sizeof *checks };

static const struct asm_target *target;
static struct device_memory memory;
static struct amdgpu_object *object;

static struct amdgpu_object *assemble(const char *mc, const char *options, const char *lld)
{
	struct assembly a;
	char name[16];

	if (asm_begin(&a, target))
		return NULL;
	fputs(".file 1 \"check.ptx\"\n", a.text);
	for (unsigned i = 0; i < COUNT; i++) {
		if (!(checks[i].targets & target->bit))
			continue;
		snprintf(name, sizeof name, "c%u", i);
		asm_kernel_begin(&a, name);
		fputs(target->bit == G12 ? " s_load_b64 s[4:5], s[0:1], 0x0\n s_wait_kmcnt 0x0\n"
					 : " s_load_dwordx2 s[4:5], s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n",
		      a.text);
		fputs(" v_lshlrev_b32 v1, 2, v0\n ", a.text);
		asm_body(&a, checks[i].assembly);
		asm_kernel_end(&a, name);
	}
	return asm_load(&a, mc, options, lld, &memory);
}

static void run(const struct check *c, bool check_waits)
{
	struct device_launch l = {.object = object,
				  .grid = {1, 1},
				  .block = {64, 1},
				  .threads = 1,
				  .budget = 1000,
				  .check_waits = check_waits};
	bool fails = c->kind != AMDGPU_FAULT_NONE && (c->kind != AMDGPU_FAULT_WAIT || check_waits);
	struct kernel_args k = {0};
	struct amdgpu_fault f;
	char name[16];

	snprintf(name, sizeof name, "c%d", (int)(c - checks));
	l.kernel = name;
	ARGS_VALUE(&k, uint64_t, device_buffer(&memory, NULL, 1024, NULL));
	if ((device_run(&memory, &l, &k, &f, NULL) != 0) != fails)
		fail_msg("`%s`: %s", c->assembly, fails ? "no fault" : f.message);
	if (fails && (f.kind != c->kind || !strstr(f.message, c->text)))
		fail_msg("`%s`: fault %d, %s", c->assembly, f.kind, f.message);
	if (fails && c->line && (!f.file || strcmp(f.file, "check.ptx") || f.line != c->line))
		fail_msg("`%s`: line %u, %s", c->assembly, f.line, f.message);
	device_release(&memory);
}

static void test_check(void **arg)
{
	run(*arg, false);
	run(*arg, true);
}

static int run_all(const char *name)
{
	static struct CMUnitTest tests[COUNT];
	static char names[COUNT][16];
	unsigned n = 0;

	for (unsigned i = 0; i < COUNT; i++)
		if (checks[i].targets & target->bit) {
			snprintf(names[i], sizeof names[i], "c%u", i);
			tests[n++] = (struct CMUnitTest){names[i], test_check, NULL, NULL,
							 (void *)(uintptr_t)&checks[i]};
		}
	return _cmocka_run_group_tests(name, tests, n, NULL, NULL);
}

int main(int argc, char **argv)
{
	static const char *const dwarf[] = {"-dwarf-version=4", "-dwarf-version=5"};
	int rc = 0;

	target = argc == 4 ? asm_target_find(argv[3]) : NULL;
	if (!target)
		return 1;
	for (unsigned i = 0; i < 2; i++) {
		object = assemble(argv[1], dwarf[i], argv[2]);
		if (!object)
			return 1;
		rc |= run_all(dwarf[i]);
		amdgpu_object_close(object);
	}
	return rc != 0;
}
