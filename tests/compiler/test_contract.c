/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading what a code object says of itself: as it was written, and after damage.
 */
#include "fixture.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* The least file that a section can be attached to: a header, section names, their section. */
struct least {
	Elf64_Ehdr h;
	char names[16];
	Elf64_Shdr sections[2];
};

static struct least least_file(void)
{
	struct least f = {.h = {.e_type = ET_DYN,
				.e_machine = 224,
				.e_shoff = offsetof(struct least, sections),
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = 2,
				.e_shstrndx = 1},
			  .names = "\0.shstrtab"};

	memcpy(f.h.e_ident, ELFMAG, SELFMAG);
	f.h.e_ident[EI_CLASS] = ELFCLASS64;
	f.h.e_ident[EI_DATA] = ELFDATA2LSB;
	f.sections[1] = (Elf64_Shdr){.sh_name = 1,
				     .sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(struct least, names),
				     .sh_size = 11,
				     .sh_addralign = 1};
	return f;
}

static const struct contract good = {.kernel = "kernel_with_a_name",
				     .target = "gfx1100",
				     .build = "0123-4-5",
				     .text_hash = {1, 2, 3},
				     .param_bytes = 20,
				     .variables_offset = 24,
				     .nvariables = 3,
				     .runtime_offset = 48,
				     .kernarg_bytes = 56,
				     .segment_bytes = 312,
				     .wave = 32,
				     .max_threads = 1024,
				     .shared_bytes = 4096,
				     .scratch_bytes = 16,
				     .vgprs = 24,
				     .agprs = 4,
				     .sgprs = 18,
				     .spilled_vgprs = 1,
				     .spilled_sgprs = 2,
				     .code_bytes = 1000,
				     .uses = CONTRACT_RUNTIME | CONTRACT_DYNAMIC_SHARED};
static const char *const names[] = {"a", "b$1", "a_longer_name"};

static void *attached(const struct contract *c, size_t *bytes)
{
	struct least f = least_file();
	struct diag d = DIAG_INIT;
	void *out;

	if (contract_attach(&f, sizeof(f), c, names, &out, bytes, &d))
		fail_msg("%s", d.what);
	return out;
}

static void is_read_as_written(void **state)
{
	struct contract c;
	size_t bytes;
	void *file = attached(&good, &bytes);

	(void)state;
	assert_int_equal(contract_read(file, bytes, &c, NULL), 0);
	assert_string_equal(c.kernel, good.kernel);
	assert_string_equal(c.target, good.target);
	assert_string_equal(c.build, good.build);
	for (unsigned k = 0; k < 3; k++)
		assert_string_equal(contract_variable(&c, k), names[k]);
	/* All numbers: the structs are equal but for pointers. */
	c.kernel = good.kernel;
	c.target = good.target;
	c.build = good.build;
	c.blob = NULL;
	assert_memory_equal(&c, &good, sizeof(c));
	free(file);
}

/* Each contradicts itself in one way, and is refused when it is read. */
static void contradictions_are_refused(void **state)
{
	struct contract bad[] = {good, good, good, good, good, good, good, good, good};
	struct contract c;
	size_t bytes;

	(void)state;
	bad[0].param_bytes = 25;    /* into the variables */
	bad[1].kernarg_bytes = 47;  /* less than the variables */
	bad[2].segment_bytes = 55;  /* less than the explicit part */
	bad[3].runtime_offset = 40; /* on a variable */
	bad[4].runtime_offset = 52; /* beyond the end */
	bad[5].uses = 0;            /* a run-time block that isn't used */
	bad[6].wave = 16;           /* no such waves */
	bad[7].max_threads = 0;     /* no block at all */
	bad[8].uses |= 1u << 31;    /* of another version */
	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		struct diag d = DIAG_INIT;
		void *file = attached(&bad[k], &bytes);

		if (contract_read(file, bytes, &c, &d) != CUTRACE_EFORMAT)
			fail_msg("case %zu is accepted", k);
		assert_true(d.what[0]);
		free(file);
	}
}

static void a_file_without_it_is_told_apart(void **state)
{
	struct least f = least_file();
	struct contract c;

	(void)state;
	assert_int_equal(contract_read(&f, sizeof(f), &c, NULL), CUTRACE_ENOENT);
	assert_int_equal(contract_read("", 0, &c, NULL), CUTRACE_EFORMAT);
	f.h.e_machine = EM_X86_64;
	assert_int_equal(contract_read(&f, sizeof(f), &c, NULL), CUTRACE_EFORMAT);
}

static void check_readable(const struct contract *c)
{
	size_t n = strlen(c->kernel) + strlen(c->target) + strlen(c->build);

	for (uint32_t k = 0; k < c->nvariables; k++)
		n += strlen(contract_variable(c, k));
	assert_true(n < 1u << 30);
	assert_true(c->kernarg_bytes <= c->segment_bytes && c->param_bytes <= c->kernarg_bytes);
}

/* The copy ends where the memory ends: a read beyond it is found by the sanitizers. */
static void damage_is_survived(void **state)
{
	size_t bytes, n;
	uint8_t *file = attached(&good, &bytes);
	uint32_t seed = 99;
	struct contract c;

	(void)state;
	for (unsigned k = 0; k < 200000; k++) {
		seed = seed * 1664525 + 1013904223;
		n = k % 16 ? bytes : (seed >> 9) % (bytes + 1);
		uint8_t *copy = malloc(n ? n : 1);
		memcpy(copy, file, n);
		for (unsigned j = 0; n && j <= k % 3; j++) {
			seed = seed * 1664525 + 1013904223;
			copy[(seed >> 8) % n] = (uint8_t)(seed >> 2);
		}
		if (!contract_read(copy, n, &c, NULL))
			check_readable(&c);
		free(copy);
	}
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_read_as_written),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(a_file_without_it_is_told_apart),
		cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
