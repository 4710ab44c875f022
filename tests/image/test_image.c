/* SPDX-License-Identifier: Apache-2.0
 * Images laid out by hand here, field by field, from the documented layout; then damaged at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <lz4.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/image.h"
#include "ptx/cubin.h"
#include "ptx/fatbin.h"

struct bytes {
	uint8_t p[8192];
	size_t n;
};

static void put(struct bytes *b, const void *p, size_t n)
{
	assert_true(b->n + n <= sizeof(b->p));
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void set(struct bytes *b, size_t at, uint64_t v, size_t n)
{
	memcpy(b->p + at, &v, n); /* little-endian machine */
}

static void container_begin(struct bytes *b)
{
	static const uint8_t header[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};

	put(b, header, 16);
}

static void container_end(struct bytes *b, size_t start)
{
	while (b->n % 8)
		put(b, "", 1);
	set(b, start + 8, b->n - start - 16, 8);
}

struct entry {
	unsigned kind, arch;
	uint64_t flags;
	const char *text, *options;
};

static const char ptx_text[] = "\n\n.version 9.0\n.target sm_80\n.address_size 64\n"
			       "// padding padding padding padding padding padding padding padding\n";

static void entry(struct bytes *b, const struct entry *e)
{
	uint8_t stored[1024], header[64 + 8 + 64] = {0};
	size_t plain = strlen(e->text) + 1, n = plain, head = 64, at = b->n;
	size_t options = e->options ? strlen(e->options) : 0;

	memcpy(stored, e->text, plain);
	if (e->flags & 0x8000)
		n = ZSTD_compress(stored, sizeof(stored), e->text, plain, 3);
	else if (e->flags & 0x2000)
		n = (size_t)LZ4_compress_default(e->text, (char *)stored, (int)plain, sizeof(stored));
	if (e->options)
		head = 64 + 8 + ((options + 7) & ~(size_t)7);
	put(b, header, head);
	set(b, at, e->kind, 2);
	set(b, at + 2, 0x0101, 2);
	set(b, at + 4, head, 4);
	set(b, at + 8, (n + 7) & ~(size_t)7, 8);
	set(b, at + 0x1a, 9, 2);
	set(b, at + 0x1c, e->arch, 4);
	set(b, at + 0x28, e->flags, 8);
	if (e->flags & 0xa000) {
		set(b, at + 0x10, n, 4);
		set(b, at + 0x38, plain, 8);
	}
	if (e->options) {
		set(b, at + 0x14, 64, 4);
		set(b, at + 64, 72, 4);
		set(b, at + 68, options, 4);
		memcpy(b->p + at + 72, e->options, options);
	}
	put(b, stored, n);
	while ((b->n - at - head) % 8)
		put(b, "", 1);
}

static void test_probe(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum image_kind kind;
	} cases[] = {
		{".version 8.0", 12, IMAGE_PTX},
		{"// a comment\n/* and\n another */\t.version 8.0", 44, IMAGE_PTX},
		{"\xef\xbb\xbf.version 8.0", 15, IMAGE_PTX},
		{".vers", 5, IMAGE_UNKNOWN},
		{"/* never closed .version 8.0", 28, IMAGE_UNKNOWN},
		{"    ", 4, IMAGE_UNKNOWN},
		{"#version", 8, IMAGE_UNKNOWN},
		{"\x7f"
		 "ELF",
		 4, IMAGE_CUBIN},
		{"\x50\xed\x55\xba", 4, IMAGE_FATBIN},
		{"\x50\xed\x55\xbb", 4, IMAGE_UNKNOWN},
		{"\xb1\x43\x62\x46", 4, IMAGE_FATBIN_WRAPPER},
		{"\xed\x43\x4e\x7f", 4, IMAGE_LTO},
		{"", 0, IMAGE_UNKNOWN},
		{"\0\0\0\0", 4, IMAGE_UNKNOWN},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		void *exact = malloc(cases[i].n ? cases[i].n : 1); /* so that ASan sees a byte too far */

		assert_non_null(exact);
		memcpy(exact, cases[i].bytes, cases[i].n);
		if (image_probe(exact, cases[i].n) != cases[i].kind)
			fail_msg("case %zu: %s", i, image_kind_name(image_probe(exact, cases[i].n)));
		free(exact);
	}
	assert_int_equal(image_probe(NULL, SIZE_MAX), IMAGE_UNKNOWN);
}

/* A short text at the very end of its page: nothing past the NUL is touched. */
static void test_page_end(void **state)
{
	static const char *const texts[] = {"",   ".",  "/",    " ",    ".version 8.0",
					    "//", "/*", "\x7f", "\xb1", "x"};
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + page, (size_t)page, PROT_NONE), 0);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t n = strlen(texts[i]) + 1;
		char *at = p + page - n;

		if (texts[i][0] == '\x7f' || texts[i][0] == '\xb1')
			continue; /* a first byte that promises a binary header */
		memcpy(at, texts[i], n);
		assert_int_equal(image_size(at), n == 13 ? 13 : 0);
	}
	munmap(p, (size_t)page * 2);
}

static void containers_in_a_row(const struct bytes *a, const struct bytes *b, const struct bytes *c)
{
	struct bytes all = {.n = 0};
	struct fatbin fb;

	put(&all, a->p, a->n);
	put(&all, b->p, b->n);
	put(&all, c->p, c->n);
	assert_int_equal(fatbin_open(&fb, all.p, all.n, NULL), 0);
	assert_int_equal(fb.ncontainers, 3);
	assert_int_equal(fb.nentries, 3);
	assert_int_equal(fb.entries[2].container, 2);
	fatbin_close(&fb);
}

/* A list has no largest length: one container for each translation unit of the program. */
static void test_long_list(void **state)
{
	enum { COUNT = 5000 };
	static const void *list[COUNT + 1];
	static struct image_part parts[COUNT + 1];
	struct bytes c = {.n = 0};
	struct {
		uint32_t magic, version;
		const void *data, *list;
	} w = {0x466243b1, 2, c.p, list};

	(void)state;
	container_begin(&c);
	container_end(&c, 0);
	for (size_t i = 0; i < COUNT; i++)
		list[i] = c.p;
	assert_int_equal(image_parts(&w, parts, COUNT + 1), COUNT + 1);
	assert_int_equal(image_size(&w), (COUNT + 1) * c.n);
	assert_ptr_equal(parts[COUNT].data, c.p);
}

static void test_wrapper(void **state)
{
	struct bytes a = {.n = 0}, b = {.n = 0}, c = {.n = 0};
	struct entry e = {1, 80, 0x11, ptx_text, NULL};
	const void *list[3] = {b.p, c.p, NULL};
	struct {
		uint32_t magic, version;
		const void *data, *list;
	} w = {0x466243b1, 1, a.p, NULL};
	struct image_part parts[8];

	(void)state;
	container_begin(&a); /* the empty container of a link stub */
	container_begin(&b);
	entry(&b, &e);
	container_end(&b, 0);
	container_begin(&c);
	entry(&c, &e);
	entry(&c, &e);
	container_end(&c, 0);
	assert_int_equal(image_size(&w), 16);
	w.version = 2;
	w.list = list;
	assert_int_equal(image_size(&w), 16 + b.n + c.n);
	assert_int_equal(image_parts(&w, parts, 8), 3);
	assert_ptr_equal(parts[2].data, c.p);
	memset(parts, 0, sizeof(parts));
	assert_int_equal(image_parts(&w, parts, 2), 3); /* as many as there are; two are told */
	assert_null(parts[2].data);
	containers_in_a_row(&a, &b, &c);
}

static void test_entries(void **state)
{
	static const struct entry entries[] = {
		{1, 80, 0x11, ptx_text, "-O1 "},           {1, 90, 0x100011, ptx_text, NULL},
		{1, 100, 0x208011, ptx_text, "--foo bar"}, {1, 120, 0x2011, ptx_text, NULL},
		{2, 80, 0x11, "machine code", NULL},       {8, 80, 0x18011, "lto", NULL},
	};
	struct bytes b = {.n = 0};
	struct fatbin fb;
	char list[128];
	unsigned i;

	(void)state;
	container_begin(&b);
	for (i = 0; i < 6; i++)
		entry(&b, &entries[i]);
	container_end(&b, 0);
	assert_int_equal(fatbin_open(&fb, b.p, b.n, NULL), 0);
	assert_int_equal(fb.nentries, 6);
	for (i = 0; i < 4; i++) {
		void *text;
		size_t n;

		assert_int_equal(fatbin_entry_load(&fb.entries[i], &text, &n, NULL), 0);
		assert_string_equal(text, ptx_text);
		assert_int_equal(n, strlen(ptx_text));
		free(text);
	}
	assert_int_equal(fb.entries[0].options_bytes, 4);
	assert_memory_equal(fb.entries[0].options, "-O1 ", 4);
	assert_int_equal(fb.entries[0].major, 9);
	fatbin_describe(&fb, list, sizeof(list));
	assert_string_equal(list, "ptx:80 ptx:90a ptx:100f ptx:120 elf:80 lto:80");
	fatbin_close(&fb);
}

/* PTX ISA, ".target": which of these a device of compute capability cc can take. */
static void test_choice(void **state)
{
	static const struct {
		const char *archs;
		unsigned cc;
		int rc;
		unsigned index;
	} cases[] = {
		{"80 90", 90, 0, 1},   {"80 90", 89, 0, 0},    {"90 80", 100, 0, 0},   {"80 90a", 90, 0, 1},
		{"80 90a", 100, 0, 0}, {"80 90a", 89, 0, 0},   {"90 90a", 90, 0, 1},   {"90a 90", 90, 0, 0},
		{"120 100", 90, 1, 1}, {"100f 80", 103, 0, 0}, {"100f 80", 120, 0, 1}, {"120 90a", 100, 1, 0},
		{"90a", 100, 1, 0},    {"75 52 61", 90, 0, 0}, {"100a 100", 90, 1, 1},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes b = {.n = 0};
		struct fatbin fb;
		const char *s = cases[i].archs;
		unsigned index = 99;

		container_begin(&b);
		while (*s) {
			char *end;
			struct entry e = {1, (unsigned)strtoul(s, &end, 10), 0x11, ptx_text, NULL};

			e.flags |= *end == 'a' ? 0x100000 : *end == 'f' ? 0x200000 : 0;
			entry(&b, &e);
			for (s = end; *s == 'a' || *s == 'f' || *s == ' '; s++)
				;
		}
		container_end(&b, 0);
		assert_int_equal(fatbin_open(&fb, b.p, b.n, NULL), 0);
		if (fatbin_choose_ptx(&fb, cases[i].cc, &index) != cases[i].rc || index != cases[i].index)
			fail_msg("%s for %u: took %u", cases[i].archs, cases[i].cc, index);
		fatbin_close(&fb);
	}
}

static void test_no_ptx(void **state)
{
	struct bytes b = {.n = 0};
	struct entry e = {2, 80, 0x11, "machine code", NULL};
	struct fatbin fb;
	unsigned index;

	(void)state;
	container_begin(&b);
	entry(&b, &e);
	container_end(&b, 0);
	assert_int_equal(fatbin_open(&fb, b.p, b.n, NULL), 0);
	assert_int_equal(fatbin_choose_ptx(&fb, 90, &index), CUTRACE_ENOENT);
	fatbin_close(&fb);
}

/* Whatever the bytes: no crash (ASan watches), no endless loop, sizes within bounds. */
static void survive(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	struct diag d = DIAG_INIT;
	struct fatbin fb;
	struct cubin c;
	unsigned i;

	assert_non_null(copy);
	memcpy(copy, p, n);
	image_probe(copy, n);
	assert_true(image_elf_size(copy, n) <= n);
	if (fatbin_open(&fb, copy, n, &d) == 0)
		for (i = 0; i < fb.nentries; i++) {
			void *out;
			size_t bytes;

			if (fb.entries[i].plain_bytes < 1 << 20 &&
			    fatbin_entry_load(&fb.entries[i], &out, &bytes, &d) == 0)
				free(out);
		}
	else
		assert_int_equal(d.code, CUTRACE_EFORMAT);
	fatbin_close(&fb);
	cubin_open(&c, copy, n, &d);
	cubin_close(&c);
	free(copy);
}

static void build_elf(struct bytes *b)
{
	static const char strings[] = "\0k\0.strtab\0.symtab\0.nv.info.k\0.text.k";
	static const uint8_t info[] = {4, 0x17, 12, 0,    0,    0, 0, 0,    0, 0,
				       0, 0,    0,  0xf0, 0x21, 0, 3, 0x19, 8, 0};
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8},
			.e_machine = 190,
			.e_flags = 0x6005004,
			.e_ehsize = 64,
			.e_shentsize = 64,
			.e_shnum = 5,
			.e_shstrndx = 1};
	Elf64_Sym sym[2] = {{0},
			    {.st_name = 1,
			     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			     .st_other = 0x10,
			     .st_shndx = 4,
			     .st_size = 16}};
	Elf64_Shdr s[5] = {{0},
			   {.sh_name = 3, .sh_type = SHT_STRTAB},
			   {.sh_name = 11, .sh_type = SHT_SYMTAB},
			   {.sh_name = 19, .sh_type = SHT_LOPROC},
			   {.sh_name = 30, .sh_type = SHT_PROGBITS}};

	put(b, &h, sizeof(h));
	s[1].sh_offset = b->n;
	s[1].sh_size = sizeof(strings);
	put(b, strings, sizeof(strings));
	s[2].sh_offset = b->n;
	s[2].sh_size = sizeof(sym);
	s[2].sh_entsize = sizeof(sym[0]);
	s[2].sh_link = 1;
	put(b, sym, sizeof(sym));
	s[3].sh_offset = b->n;
	s[3].sh_size = sizeof(info);
	put(b, info, sizeof(info));
	s[4].sh_offset = b->n;
	s[4].sh_size = 16;
	put(b, "0123456789abcdef", 16);
	set(b, offsetof(Elf64_Ehdr, e_shoff), b->n, 8);
	put(b, s, sizeof(s));
}

static void test_elf(void **state)
{
	struct bytes b = {.n = 0};
	struct cubin c;
	const struct cubin_kernel *k;

	(void)state;
	build_elf(&b);
	assert_int_equal(image_size(b.p), b.n);
	assert_int_equal(image_elf_size(b.p, b.n - 1), 0);
	assert_int_equal(cubin_open(&c, b.p, b.n, NULL), 0);
	assert_int_equal(c.arch, 80);
	assert_int_equal(c.nkernels, 1);
	k = cubin_kernel_find(&c, "k");
	assert_non_null(k);
	assert_int_equal(k->nparams, 1);
	assert_int_equal(k->params[0].bytes, 8);
	assert_int_equal(k->param_bytes, 8);
	cubin_close(&c);
	set(&b, offsetof(Elf64_Ehdr, e_machine), 62, 2);
	assert_int_equal(cubin_open(&c, b.p, b.n, NULL), CUTRACE_EFORMAT);
	cubin_close(&c);
}

static void test_hostile(void **state)
{
	static const uint8_t nasty[] = {0, 1, 0x7f, 0x80, 0xff, 8, 64};
	struct bytes good[2] = {{.n = 0}, {.n = 0}};
	struct entry e = {1, 80, 0x8011, ptx_text, "-O1 "}, l = {1, 90, 0x2011, ptx_text, NULL};
	unsigned kind, i;

	(void)state;
	container_begin(&good[0]);
	entry(&good[0], &e);
	entry(&good[0], &l);
	container_end(&good[0], 0);
	build_elf(&good[1]);
	srand(1);
	for (kind = 0; kind < 2; kind++) {
		size_t n;

		for (n = 0; n < good[kind].n; n++)
			survive(good[kind].p, n); /* cut anywhere */
		for (i = 0; i < 20000; i++) {
			struct bytes b = good[kind];
			unsigned k, hits = 1 + (unsigned)rand() % 4;

			for (k = 0; k < hits; k++)
				b.p[(unsigned)rand() % b.n] = i % 2 ? nasty[rand() % 7] : (uint8_t)rand();
			survive(b.p, b.n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probe),   cmocka_unit_test(test_page_end),
		cmocka_unit_test(test_wrapper), cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_entries), cmocka_unit_test(test_choice),
		cmocka_unit_test(test_no_ptx),  cmocka_unit_test(test_elf),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
