/* SPDX-License-Identifier: Apache-2.0
 *
 * Every instruction that LLVM makes of what ptx/lower makes of PTX is known to the emulator: the forms of isa_forms.txt
 * and the kernels of PTX files are compiled, disassembled and parsed; instructions without an op are listed.
 *
 * usage: test_coverage [-a] [PTX...]. Each form is compiled for one of the targets in turn, and of the forms one in
 * STRIDE; with -a all of them for all targets, which takes minutes.
 */
#include "tests/ptx/fixture.h"
#include "tests/ptx/isa_forms.h"

#include <elf.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include "zluda_core/amdgpu_emulator/insn.h"
#include "zluda_core/compiler/compiler.h"

enum { NTARGETS = 6, STRIDE = 8, NAMES_MAX = 256 };
static const struct {
	const char *name;
	unsigned gfx;
} targets[NTARGETS] = {{"gfx90a", 9},   {"gfx942", 9},   {"gfx1030", 10},
		       {"gfx1100", 11}, {"gfx1151", 11}, {"gfx1201", 12}};

static struct isa_table table;
static bool all;
static char **files;
static unsigned compiled, refused, instructions;
static LLVMDisasmContextRef disassemblers[NTARGETS];

/* What is missing: one text for each mnemonic and target. */
static struct {
	char mnemonic[64], text[160], where[96];
	unsigned target;
} missing[NAMES_MAX];
static unsigned nmissing;

static void note_missing(const char *text, unsigned target, const char *where)
{
	char mnemonic[64];

	snprintf(mnemonic, sizeof mnemonic, "%.*s", (int)strcspn(text, " "), text);
	for (unsigned i = 0; i < nmissing; i++)
		if (missing[i].target == target && !strcmp(missing[i].mnemonic, mnemonic))
			return;
	if (nmissing == NAMES_MAX)
		return;
	snprintf(missing[nmissing].mnemonic, sizeof missing->mnemonic, "%s", mnemonic);
	snprintf(missing[nmissing].text, sizeof missing->text, "%s", text);
	snprintf(missing[nmissing].where, sizeof missing->where, "%s", where);
	missing[nmissing++].target = target;
}

static void check_text(unsigned target, uint8_t *p, uint64_t bytes, const char *where)
{
	char text[512];

	for (uint64_t at = 0; at + 4 <= bytes;) {
		size_t n = LLVMDisasmInstruction(disassemblers[target], p + at, bytes - at, at, text,
						 sizeof text);
		const char *begin = text + strspn(text, " \t");
		if (!n) {
			note_missing(".long", target, where);
			n = 4;
		} else {
			struct insn *in = insn_parse(targets[target].gfx, begin, (unsigned)n);
			assert_non_null(in);
			if (in->exec == exec_unknown)
				note_missing(begin, target, where);
			insn_free(in);
			instructions++;
		}
		at += n;
	}
}

/* Executable sections of a relocatable file that LLVM has just made. */
static void check_object(unsigned target, char *object, const char *where)
{
	const Elf64_Ehdr *h = (const void *)object;
	const Elf64_Shdr *s = (const void *)(object + h->e_shoff);

	for (unsigned i = 0; i < h->e_shnum; i++)
		if (s[i].sh_type == SHT_PROGBITS && s[i].sh_flags & SHF_EXECINSTR)
			check_text(target, (uint8_t *)object + s[i].sh_offset, s[i].sh_size, where);
}

static void check_kernel(struct ptx_module *m, struct ptx_func *f, unsigned target, const char *where)
{
	const struct lower_target *t = lower_target_find(targets[target].name);
	struct diag d = DIAG_INIT;
	struct lowered l;
	struct compiled c;

	if (lower_kernel(m, f, t, &l, &d)) {
		refused++;
	} else if (compiler_run(&l, f->name, t, 0, &c, &d)) {
		fail_msg("%s (%s): %s", where, t->name, d.what);
	} else {
		check_object(target, c.object, where);
		compiled_free(&c);
		compiled++;
	}
	lowered_free(&l);
}

static void report(void)
{
	print_message("%u kernels compiled, %u refused, %u instructions, %u not known\n", compiled, refused,
		      instructions, nmissing);
	for (unsigned i = 0; i < nmissing; i++)
		print_error("not known: %-8s %s (%s)\n", targets[missing[i].target].name, missing[i].text,
			    missing[i].where);
	assert_true(instructions > 0);
	assert_int_equal(nmissing, 0);
}

static void forms(void **unused)
{
	unsigned n = 0;

	(void)unused;
	for (unsigned k = 0; k < table.ntargets; k++) {
		struct ptx_module *m = parse_text(table.targets[k].text);
		for (unsigned i = 0; i < table.targets[k].nforms; i++, n++) {
			char name[32];
			snprintf(name, sizeof name, "k%u", i);
			for (unsigned t = 0; t < NTARGETS; t++)
				if (all || (n % STRIDE == 0 && t == n / STRIDE % NTARGETS))
					check_kernel(m, ptx_func_find(m, name), t, table.targets[k].forms[i]);
		}
		ptx_module_free(m);
	}
	report();
}

static void check_file(const char *path)
{
	size_t bytes;
	char *text = read_whole(path, &bytes);
	struct diag d = DIAG_INIT;
	struct ptx_module *m = text ? ptx_module_parse(text, bytes, path, &d) : NULL;

	if (!m)
		fail_msg("%s: %s", path, d.what);
	for (uint32_t i = 0; i < m->nfuncs; i++)
		for (unsigned t = 0; m->funcs[i]->is_entry && !m->funcs[i]->is_decl && t < NTARGETS; t++)
			check_kernel(m, m->funcs[i], t, path);
	ptx_module_free(m);
	free(text);
}

static void programs(void **unused)
{
	(void)unused;
	for (char **path = files; *path; path++)
		check_file(*path);
	report();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(forms), cmocka_unit_test(programs)};

	(void)argc;
	all = argv[1] && !strcmp(argv[1], "-a");
	files = argv + 1 + all;
	compiler_init();
	LLVMInitializeAMDGPUDisassembler();
	for (unsigned t = 0; t < NTARGETS; t++)
		disassemblers[t] =
			LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", targets[t].name, NULL, 0, NULL, NULL);
	if (isa_table_read(&table, PTX_TEST_DIR "/isa_forms.txt")) {
		fprintf(stderr, "%s\n", table.error);
		return 1;
	}
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	isa_table_free(&table);
	return rc;
}
