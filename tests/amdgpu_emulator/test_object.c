/* SPDX-License-Identifier: Apache-2.0
 *
 * The loader: what it reads from a good code object, and that no damaged one crashes it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>

#include "tests/amdgpu_emulator/device_memory.h"
#include "zluda_core/amdgpu_emulator/line_table.h"

static uint8_t *file;
static size_t file_bytes;

static int read_file(void **unused)
{
	FILE *f = fopen(CODE_OBJECT, "rb");

	(void)unused;
	if (!f)
		return -1;
	file = malloc(4 << 20);
	file_bytes = file ? fread(file, 1, 4 << 20, f) : 0;
	fclose(f);
	return file_bytes ? 0 : -1;
}

static int free_file(void **unused)
{
	(void)unused;
	free(file);
	return 0;
}

static void test_reads(void **unused)
{
	struct amdgpu_object *o;
	struct diag d = DIAG_INIT;
	const struct amdgpu_kernel *k;
	uint64_t address, bytes;

	(void)unused;
	assert_int_equal(amdgpu_object_open(&o, file, file_bytes, &d), 0);
	assert_string_equal(amdgpu_object_target(o), "gfx1100");
	k = amdgpu_object_kernel(o, "sgemm");
	assert_non_null(k);
	/* two tiles of 16 x 17 floats */
	assert_int_equal(k->group_bytes, 2 * 16 * 17 * 4);
	assert_int_equal(k->wave_size, 32);
	/* a, b, c, n, and behind them the hidden arguments */
	k = amdgpu_object_kernel(o, "vadd");
	assert_non_null(k);
	assert_true(k->nargs > 4);
	assert_int_equal(k->args[0].offset, 0);
	assert_int_equal(k->args[3].offset, 24);
	assert_int_equal(k->args[3].size, 4);
	assert_int_equal(k->args[3].kind, AMDGPU_ARG_VALUE);
	assert_int_equal(k->args[4].kind, AMDGPU_ARG_BLOCK_COUNT);
	assert_int_equal(k->args[4].offset, 32);
	assert_int_equal(amdgpu_object_place(o, 0x20000, &d), 0);
	assert_true(amdgpu_object_symbol(o, "sgemm.kd", &address, &bytes));
	assert_true(address > 0x20000 && bytes == 64);
	assert_false(amdgpu_object_symbol(o, "absent", &address, &bytes));
	assert_int_not_equal(amdgpu_object_place(o, 0x20001, &d), 0);
	amdgpu_object_close(o);
}

static void refuse(size_t at, const void *bytes, size_t n, const char *text)
{
	uint8_t old[8];
	struct amdgpu_object *o;
	struct diag d = DIAG_INIT;

	memcpy(old, file + at, n);
	memcpy(file + at, bytes, n);
	assert_int_not_equal(amdgpu_object_open(&o, file, file_bytes, &d), 0);
	assert_null(o);
	assert_non_null(strstr(d.what, text));
	memcpy(file + at, old, n);
}

static void test_refuses(void **unused)
{
	(void)unused;
	refuse(0, "MZ", 2, "no ELF");
	refuse(4, "\1", 1, "64-bit");
	refuse(8, "\1", 1, "version 3");
	refuse(16, "\1", 1, "not linked");
	refuse(18, "\x3e", 1, "AMD GPUs");
	refuse(48, "\x2c", 1, "0x2c"); /* gfx900 */
	refuse(32, "\xff\xff\xff\xff", 4, "program headers");
}

/* Every cut and many single changes: opened or refused, then decoded and released; never a crash. */
static void try_open(const uint8_t *bytes, size_t n)
{
	struct amdgpu_object *o;
	struct diag d = DIAG_INIT;

	if (!amdgpu_object_open(&o, bytes, n, &d)) {
		amdgpu_object_place(o, 0x10000, &d);
		amdgpu_object_close(o);
	} else {
		assert_true(d.what[0] != 0);
	}
}

static void test_damage(void **unused)
{
	uint32_t state = 7;

	(void)unused;
	for (size_t n = 0; n < file_bytes; n += 1 + n / 16) {
		uint8_t *cut = malloc(n + 1);
		assert_non_null(cut);
		memcpy(cut, file, n);
		try_open(cut, n);
		free(cut);
	}
	for (int i = 0; i < 400; i++) {
		state = state * 1664525 + 1013904223;
		size_t at = i < 200 ? (state >> 8) % 0x2400 : (state >> 4) % file_bytes;
		uint8_t old = file[at];
		file[at] = (uint8_t)(state >> 24);
		try_open(file, file_bytes);
		file[at] = old;
	}
}

/* Text that no disassembler prints: kept as unknown, never a crash. */
static void test_text(void **unused)
{
	static const char *const lines[] = {
		"",
		" ",
		"v_mov_b32",
		"v_mov_b32_e32 v0",
		"v_mov_b32_e32 v999, v0",
		"v_mov_b32_e32 v[3:1], v0",
		"v_add_f32_e32 v0, v1, v2, v3",
		"v_add_f32 v0, hwreg(HW_REG_MODE, 99, 0), v1",
		"global_load_dword v0",
		"global_load_dwordx16 v[0:15], v0, s[0:1]",
		"ds_read2_b128 v[0:7], v0 offset0:1",
		"s_load_dword v0, s[0:1], 0x0",
		"v_pk_add_f16 s0, v1, v2",
		"v_add_f32 v0, v1, v2 :: v_dual_mov_b32 v1, s0",
		"v_dual_mov_b32 v0, v1 :: bad",
		"buffer_load_dword v0, v1, s[0:3], 0 offen lds",
		"v_mov_b32_dpp v0, v1 row_shl:99 strange:1",
		"v_cndmask_b32_e64 v0, v1, v2, v3, v4, v5, v6, v7, v8, v9",
		"s_mov_b32 s106, 1",
		"s_mov_b32 s0, neg(",
		"v_mov_b32 v0, |",
		"v_mov_b32 v0, -",
		"((((",
		"v_mov_b32 v0, [[[",
		"ds_swizzle_b32 v0, v1 offset:swizzle(",
	};
	struct amdgpu_object *o;
	struct diag d = DIAG_INIT;
	const char *texts[1];

	(void)unused;
	assert_int_equal(amdgpu_object_open(&o, file, file_bytes, &d), 0);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		assert_int_equal(amdgpu_object_line(o, 4 * i, 4, lines[i], &d), 0);
	assert_true(amdgpu_object_unknown(o, texts, 1) >= sizeof lines / sizeof *lines - 2);
	assert_int_not_equal(amdgpu_object_line(o, 2, 4, "s_nop 0", &d), 0);
	assert_int_not_equal(amdgpu_object_line(o, 1ull << 40, 4, "s_nop 0", &d), 0);
	assert_int_not_equal(amdgpu_object_line(o, 0, 0, "s_nop 0", &d), 0);
	amdgpu_object_close(o);
}

static bool nowhere(void *ctx, uint64_t addr, struct amdgpu_window *out)
{
	(void)ctx, (void)addr, (void)out;
	return false;
}

static const char *const mixed_mnemonics[] = {
	"v_mov_b32_e32",
	"v_mov_b64",
	"v_add_f64",
	"v_fma_f64",
	"v_pk_add_f16",
	"v_pk_fma_f32",
	"v_pk_mov_b32",
	"v_fma_mixhi_f16",
	"v_add_co_u32",
	"v_addc_co_u32",
	"v_cndmask_b32",
	"v_cmp_lt_u64",
	"v_cmpx_eq_u32",
	"v_mad_u64_u32",
	"v_readlane_b32",
	"v_writelane_b32",
	"v_swap_b32",
	"v_permlanex16_b32",
	"v_movrels_b32",
	"v_movreld_b32",
	"v_movrelsd_2_b32",
	"v_div_scale_f64",
	"v_add_f16_sdwa",
	"v_mov_b32_dpp",
	"v_fmac_f16",
	"s_mov_b64",
	"s_bfe_u64",
	"s_setpc_b64",
	"s_swappc_b64",
	"s_call_b64",
	"s_branch",
	"s_setreg_b32",
	"s_getreg_b32",
	"s_movrels_b64",
	"s_movreld_b64",
	"s_load_b512",
	"s_buffer_load_b512",
	"s_load_u8",
	"s_and_saveexec_b64",
	"s_barrier",
	"s_barrier_wait",
	"s_set_gpr_idx_on",
	"s_cmp_eq_u64",
	"s_trap",
	"global_load_b128",
	"global_store_b96",
	"global_atomic_add_u64",
	"global_atomic_cmpswap_b64",
	"flat_load_b64",
	"flat_atomic_add_f32",
	"scratch_load_b128",
	"scratch_store_b8",
	"buffer_load_b128",
	"buffer_store_b96",
	"buffer_atomic_cmpswap_b64",
	"ds_load_b128",
	"ds_store_2addr_stride64_b64",
	"ds_load_2addr_b64",
	"ds_cmpst_rtn_b64",
	"ds_add_rtn_u64",
	"ds_bpermute_b32",
	"ds_swizzle_b32",
	"ds_load_b512",
};

static const char *const mixed_operands[] = {
	"",
	"v0",
	"v255",
	"a255",
	"s0",
	"s105",
	"exec",
	"m0",
	"1.5",
	"0xffffffff",
	"off",
	"vcc, v1, v2",
	"v[254:255], v[254:255]",
	"a[254:255], a[252:255], a[252:255]",
	"v255, v255, v255",
	"v[0:1], v[2:3], v[4:5]",
	"v[252:255], v255, s[104:105]",
	"v[252:255], v[254:255], off offset:-4096",
	"v255, v[252:255], off",
	"v[252:255], v255, s[102:105], s0 offen idxen offset:4095",
	"v[254:255], vcc, v255, v255, v[254:255]",
	"s[96:103], s[104:105], 0x7fffffff",
	"s[90:105], s[102:105], s0",
	"s105, s105, s105",
	"s[104:105], s[104:105]",
	"exec, exec, exec",
	"0xffff",
	"hwreg(HW_REG_MODE, 0, 32), s0",
	"s0, hwreg(HW_REG_MODE, 31, 32)",
	"v255, v255, s105, s105",
	"v255, v255 row_bcast:31 row_mask:0xf bank_mask:0xf",
	"null, null, null",
	"v255, v255, v255 dst_sel:BYTE_3 dst_unused:UNUSED_SEXT src0_sel:WORD_1 src1_sel:BYTE_3",
	"v[252:255], v255 offset0:255 offset1:255",
	"v255, v[252:255], v[252:255] offset:65535",
	"v255, v255, v255, v255",
	"v[254:255], v255, v[254:255], v[254:255] offset:65528",
	"v255, off, s105 offset:-4",
	"off, v255, off",
	"v255, v255, v255 op_sel:[1,1,1] op_sel_hi:[0,0,0] neg_lo:[1,1,1] clamp",
	"s0, gpr_idx(SRC0,SRC1,SRC2,DST)",
};

/* Every mnemonic with every list of operands, executed as a kernel's first instruction: a result or a fault, and no access
 * outside of the emulator's own state, which the sanitizers watch. */
static void test_mixed(void **unused)
{
	struct amdgpu_object *o;
	struct diag d = DIAG_INIT;
	const struct amdgpu_kernel *k;
	unsigned clean = 0;

	(void)unused;
	assert_int_equal(amdgpu_object_open(&o, file, file_bytes, &d), 0);
	k = amdgpu_object_kernel(o, "vadd");
	for (size_t i = 0; i < sizeof mixed_mnemonics / sizeof *mixed_mnemonics; i++) {
		for (size_t j = 0; j < sizeof mixed_operands / sizeof *mixed_operands; j++) {
			struct amdgpu_launch l = {
				.kernel = k, .grid = {1, 1, 1}, .block = {64, 1, 1}, .threads = 1};
			struct amdgpu_fault f;
			char line[192];

			snprintf(line, sizeof line, "%s %s", mixed_mnemonics[i], mixed_operands[j]);
			assert_int_equal(amdgpu_object_line(o, k->entry, 4, line, &d), 0);
			assert_int_equal(amdgpu_object_line(o, k->entry + 4, 4, "s_endpgm", &d), 0);
			l.memory.find = nowhere;
			l.register_fill = 0xfffffff0u + (uint32_t)(j % 16);
			l.budget = 1000;
			if (!amdgpu_launch_run(&l, &f, NULL))
				clean++;
			else
				assert_true(f.kind != AMDGPU_FAULT_NONE && f.message[0]);
		}
	}
	/* v_mov_b32 and s_mov_b64 alone make sense with several of these */
	assert_true(clean > 20);
	amdgpu_object_close(o);
}

/* ---- the line table */

static const Elf64_Shdr *section(const char *name)
{
	const Elf64_Ehdr *h = (const void *)file;
	const Elf64_Shdr *s = (const void *)(file + h->e_shoff);

	for (unsigned i = 0; i < h->e_shnum; i++)
		if (!strcmp((const char *)file + s[h->e_shstrndx].sh_offset + s[i].sh_name, name))
			return &s[i];
	return NULL;
}

static void test_source_lines(void **unused)
{
	struct amdgpu_object *o;
	struct diag d = DIAG_INIT;
	const struct amdgpu_kernel *first, *later;
	const char *name, *other;
	unsigned line, after;

	(void)unused;
	assert_int_equal(amdgpu_object_open(&o, file, file_bytes, &d), 0);
	first = amdgpu_object_kernel(o, "vadd");
	later = amdgpu_object_kernel(o, "endless");
	assert_true(amdgpu_object_source(o, first->entry, &name, &line));
	assert_non_null(strstr(name, "kernels.cl"));
	assert_true(amdgpu_object_source(o, later->entry, &other, &after));
	assert_true(line > 10 && after > line + 100);
	assert_false(amdgpu_object_source(o, 0, &name, &line));
	amdgpu_object_close(o);
}

/* Each damage gives a table, or an error; neither reads beyond the file (a copy of exact size, for sanitizers). */
static void test_damaged_lines(void **unused)
{
	static const char *const names[] = {".debug_line", ".debug_line_str"};
	uint32_t state = 7, rejected = 0, accepted = 0;
	uint8_t *copy = malloc(file_bytes);

	(void)unused;
	for (unsigned round = 0; round < 6000; round++) {
		const Elf64_Shdr *s = section(names[round % 8 == 0]);
		struct line_table t;
		struct diag d = DIAG_INIT;
		const char *name;
		unsigned line;

		assert_non_null(s);
		memcpy(copy, file, file_bytes);
		for (unsigned n = 0; n <= round % 4; n++) {
			state = state * 1664525 + 1013904223;
			uint64_t within = round % 2 && s->sh_size > 160 ? 160 : s->sh_size;
			copy[s->sh_offset + (state >> 8) % within] = (uint8_t)(state >> 3);
		}
		if (line_table_read(&t, copy, file_bytes, &d))
			rejected++;
		else
			accepted++;
		line_table_find(&t, state, &name, &line);
		line_table_free(&t);
	}
	assert_true(rejected > 100 && accepted > 100);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_source_lines), cmocka_unit_test(test_damaged_lines),
		cmocka_unit_test(test_reads),        cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_damage),       cmocka_unit_test(test_text),
		cmocka_unit_test(test_mixed),
	};

	return cmocka_run_group_tests(tests, read_file, free_file);
}
