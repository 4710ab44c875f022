/* SPDX-License-Identifier: Apache-2.0
 * Images that nvcc made from kernels.cu. Expected layouts follow from the C++ declarations and the ABI's
 * alignments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/cubin.h"
#include "ptx/fatbin.h"
#include "base/image.h"

static void *load(const char *name, size_t *bytes)
{
	char path[512];
	FILE *f;
	void *p;

	snprintf(path, sizeof(path), MADE "/%s", name);
	f = fopen(path, "rb");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*bytes = (size_t)ftell(f);
	rewind(f);
	p = malloc(*bytes);
	assert_non_null(p);
	assert_int_equal(fread(p, 1, *bytes, f), *bytes);
	fclose(f);
	return p;
}

struct layout {
	const char *kernel;
	unsigned nparams, block;
	struct {
		unsigned offset, bytes;
	} p[5];
};

static const struct layout layouts[] = {
	{"mixed", 5, 64, {{0, 8}, {8, 4}, {16, 32}, {48, 1}, {56, 8}}},
	{"large", 4, 5012, {{0, 4}, {4, 5000}, {5004, 2}, {5008, 4}}},
	{"none", 0, 0, {{0, 0}}},
};

static void check_kernels(const struct cubin *c)
{
	unsigned i, k;

	assert_int_equal(c->nkernels, 3);
	for (i = 0; i < 3; i++) {
		const struct layout *l = &layouts[i];
		const struct cubin_kernel *f = cubin_kernel_find(c, l->kernel);

		assert_non_null(f);
		assert_true(f->params_known);
		assert_int_equal(f->nparams, l->nparams);
		assert_int_equal(f->param_bytes, l->block);
		for (k = 0; k < l->nparams; k++) {
			assert_int_equal(f->params[k].ordinal, k);
			assert_int_equal(f->params[k].offset, l->p[k].offset);
			assert_int_equal(f->params[k].bytes, l->p[k].bytes);
		}
	}
	assert_null(cubin_kernel_find(c, "mixe"));
}

static void check_cubin(const void *p, size_t n, unsigned arch)
{
	struct diag d = DIAG_INIT;
	struct cubin c;
	unsigned i, seen = 0;

	assert_int_equal(image_probe(p, n), IMAGE_CUBIN);
	assert_int_equal(image_elf_size(p, n), n);
	assert_int_equal(image_size(p), n);
	assert_int_equal(cubin_open(&c, p, n, &d), 0);
	assert_int_equal(c.arch, arch);
	check_kernels(&c);
	for (i = 0; i < c.nvariables; i++) {
		seen += !strcmp(c.variables[i].name, "counters") && c.variables[i].bytes == 28 &&
			c.variables[i].space == CUBIN_GLOBAL;
		seen += !strcmp(c.variables[i].name, "coefficients") && c.variables[i].bytes == 12 &&
			c.variables[i].space == CUBIN_CONSTANT;
	}
	assert_int_equal(seen, 2);
	cubin_close(&c);
}

static void test_cubin(void **state)
{
	static const struct {
		const char *name;
		unsigned arch;
	} files[] = {{"sm80.cubin", 80}, {"sm100.cubin", 100}};
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		size_t n;
		void *p = load(files[i].name, &n);

		check_cubin(p, n, files[i].arch);
		free(p);
	}
}

static void check_ptx(const struct fatbin_entry *e, const char *target)
{
	struct diag d = DIAG_INIT;
	void *text;
	size_t n;

	assert_int_equal(e->kind, FATBIN_PTX);
	assert_int_equal(fatbin_entry_load(e, &text, &n, &d), 0);
	assert_int_equal(strlen(text), n);
	assert_int_equal(image_probe(text, n), IMAGE_PTX);
	assert_non_null(strstr(text, target));
	assert_non_null(strstr(text, ".entry mixed"));
	free(text);
}

static void test_fatbin(void **state)
{
	static const struct {
		const char *name;
		enum fatbin_codec codec;
	} files[] = {{"zstd.fatbin", FATBIN_CODEC_ZSTD},
		     {"lz4.fatbin", FATBIN_CODEC_LZ4},
		     {"plain.fatbin", FATBIN_STORED}};
	unsigned i, k, ptx = 0;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct diag d = DIAG_INIT;
		struct fatbin fb;
		char list[100];
		size_t n;
		void *p = load(files[i].name, &n);

		assert_int_equal(image_probe(p, n), IMAGE_FATBIN);
		assert_int_equal(image_size(p), n);
		assert_int_equal(fatbin_open(&fb, p, n, &d), 0);
		assert_int_equal(fb.nentries, 3);
		fatbin_describe(&fb, list, sizeof(list));
		assert_non_null(strstr(list, "elf:80"));
		assert_non_null(strstr(list, "ptx:80"));
		assert_non_null(strstr(list, "ptx:90a"));
		for (k = 0; k < 3; k++) {
			const struct fatbin_entry *e = &fb.entries[k];

			if (e->kind == FATBIN_PTX)
				assert_int_equal(e->codec, files[i].codec);
			if (e->kind == FATBIN_ELF) {
				void *elf;
				size_t bytes;

				assert_int_equal(fatbin_entry_load(e, &elf, &bytes, &d), 0);
				check_cubin(elf, image_elf_size(elf, bytes), 80);
				free(elf);
			}
		}
		assert_int_equal(fatbin_choose_ptx(&fb, 90, &ptx), 0);
		check_ptx(&fb.entries[ptx], ".target sm_90a");
		assert_int_equal(fatbin_choose_ptx(&fb, 100, &ptx), 0);
		check_ptx(&fb.entries[ptx], ".target sm_80");
		assert_int_equal(fatbin_choose_ptx(&fb, 75, &ptx), 1);
		check_ptx(&fb.entries[ptx], ".target sm_80");
		fatbin_close(&fb);
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cubin),
		cmocka_unit_test(test_fatbin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
