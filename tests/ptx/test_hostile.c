/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that ask for too much or make no sense: the answer is an error (or a
 * module), soon and without a fault. The sanitizers watch. */
#include <time.h>

#include "fixture.h"

#include "all_analyses.h"

#define HEAD ".version 8.3\n.target sm_90\n.address_size 64\n"

enum { TIME_LIMIT_S = 20 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Everything that can be asked of a text. Returns the number of functions that could be built. */
static unsigned exercise(const char *text, size_t bytes)
{
	struct diag d = DIAG_INIT;
	unsigned built = 0;
	struct ptx_module *m = ptx_module_parse(text, bytes, "hostile.ptx", &d);
	if (!m) {
		assert_int_not_equal(d.code, 0);
		return 0;
	}
	for (uint32_t k = 0; k < m->nfuncs; k++) {
		struct ptx_func *f = m->funcs[k];
		if (ptx_func_build(m, f)) {
			assert_int_not_equal(f->error.code, 0);
			assert_true(f->error.what[0]);
			continue;
		}
		built++;
		if (ptx_func_verify(m, f, &d))
			print_error("%s: %s\n", d.where, d.what);
		assert_int_equal(d.code, 0);
		assert_int_equal(ptx_func_analyse(m, f), 0);
		assert_true(all_analyses(m, f) >= 0);
	}
	ptx_module_free(m);
	return built;
}

static void rejected(const char *what, const char *text, size_t bytes)
{
	double start = now();
	if (exercise(text, bytes))
		print_error("%s: was accepted\n", what);
	assert_true(now() - start < TIME_LIMIT_S);
}

static void unreasonable_requests(void **state)
{
	(void)state;
	static const char *const kernels[] = {
		".reg .b32 %r<4000000000>;",
		".reg .b32 %r<99999999999999999999>;",
		".reg .b32 r; mov.u32 r, "
		"((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1;",
		".reg .b32 r; mov.u32 r, "
		"------------------------------------------------------------------------1;",
		".shared .b8 x[1099511627776][1099511627776];",
		".local .b8 x[1099511627776];",
		".local .b8 x[4294967296];",
		".reg .b32 r; mov.u32 r, %r<>;",
		".reg .b32 r; ld.global.u32 r, [",
		".reg .b32 r; mov.b64 r, {{{{{{{{{{{{",
		"T: .branchtargets ; brx.idx r, T;",
		"bra .;",
		"@",

		".loc",
		".loc 1 2",
		"call",
		"call (",
		"call (((((((",
		"\"",
		"/*",
		"//",
		"ld.global.u32.u32.u32.u32.u32.u32.u32 a, [b];",
		"x:x:x:",
		".param .b8 a[999999999]; .param .b8 b[999999999]; .param .b8 c[999999999]; .param .b8 "
		"d[999999999]; "
		".param .b8 e[999999999];",
		".pragma",
		"................;",
		"mov.u32 %tid.x, %tid.x;",
		"ret.............;",
		"exit 0x;",
	};
	for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
		char text[1024];
		int n = snprintf(text, sizeof(text), HEAD ".entry k() { %s }\n", kernels[k]);
		rejected(kernels[k], text, (size_t)n);
	}
	static const char *const modules[] = {
		".entry",
		".entry k",
		".entry k(",
		".entry k(.param",
		".entry k() {",
		".entry k() { { }",
		".func (",
		".global",
		".global .u32 x = {{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{",
		".global .u8 x[] = {",
		".global .u8 x[0x",
		".section",
		".section .a {",
		".file 1",
		".file 4294967295 \"x\"",
		".global .u8 x[1099511627776] = {1};",
		".global .u8 x[][1099511627776] = {{1},{1}};",
		".visible .visible .visible",
		".alias",
		".version",
		".target",
		".global .u8 x[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1];",
		".global .u64 x = generic(generic(generic(generic(",
	};
	for (size_t k = 0; k < sizeof(modules) / sizeof(modules[0]); k++) {
		char text[1024];
		int n = snprintf(text, sizeof(text), HEAD "%s", modules[k]);
		rejected(modules[k], text, (size_t)n);
	}
}

/* The same thing very many times: linear time, bounded depth. */
static void repetitions(void **state)
{
	(void)state;
	static const struct {
		const char *before, *unit, *after;
		unsigned times;
	} rows[] = {
		{HEAD ".entry k() {", "{", "}", 200000},
		{HEAD ".entry k() {", "{", "", 200000},
		{HEAD ".entry k() { .reg .b32 r; mov.u32 r, ", "(", "1; }", 200000},
		{HEAD ".entry k() { .reg .b32 r; mov.u32 r, ", "-", "1; }", 200000},
		{HEAD ".entry k() { .reg .b32 r; mov.u32 r, ", "1+", "1; }", 200000},
		{HEAD ".entry k() { .reg .b32 r; mov.u32 r, ", "1?1:", "1; }", 200000},
		{HEAD ".entry k() { .reg .b32 r; mov.b32 {r", ",r", "}, r; }", 100000},
		{HEAD ".global .u32 x = ", "{", "1;", 200000},
		{HEAD, "}", "", 300000},
		{HEAD, ".x ", "", 100000},
		{HEAD, "\"", "", 100001},
		{HEAD, ".entry k(", "", 50000},
		{HEAD, ".entry k() { ret; }\n", "", 50000},
		{HEAD ".global .u8 x = ", "generic(", "x", 100000},
		{HEAD ".entry k() { ", "ld", ";}", 100000},
		{HEAD ".entry k() { ", "ld.global", " ;}", 100000},
		{"", "\n", "", 500000},
		{"", "/*", "", 300000},
		{HEAD ".entry k() {", " /* */ // \n", "}", 100000},
	};
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		size_t before = strlen(rows[k].before), unit = strlen(rows[k].unit),
		       after = strlen(rows[k].after);
		size_t n = before + unit * rows[k].times + after;
		char *text = malloc(n + 1);
		assert_non_null(text);
		memcpy(text, rows[k].before, before);
		for (size_t i = 0; i < rows[k].times; i++)
			memcpy(text + before + i * unit, rows[k].unit, unit);
		memcpy(text + n - after, rows[k].after, after);
		double start = now();
		exercise(text, n);
		if (now() - start >= TIME_LIMIT_S)
			print_error("'%s' repeated took %.1f s\n", rows[k].unit, now() - start);
		assert_true(now() - start < TIME_LIMIT_S);
		free(text);
	}
}

static void zero_bytes(void **state)
{
	(void)state;
	static char zeros[1 << 20];
	rejected("zeros", zeros, sizeof(zeros));
	char text[] = HEAD ".entry k() { \0 ret; }\n.global \0 .u32 x;\0\0\0";
	exercise(text, sizeof(text) - 1);
	char padded[] = HEAD ".entry k() { ret; }\n\0\0\0\0";
	assert_int_equal(exercise(padded, sizeof(padded) - 1), 1);
}

/* Deep chains: many blocks, long call chains, mutual recursion. */
static void long_chains(void **state)
{
	(void)state;
	size_t size = 8 << 20, at;
	char *text = malloc(size);
	assert_non_null(text);
	at = (size_t)sprintf(text, HEAD ".entry k() { .reg .pred p; .reg .b32 r<40000>;\n");
	for (int k = 0; k < 20000; k++) /* loops inside loops inside loops */
		at += (size_t)sprintf(text + at, "L%d: add.s32 r%d, r%d, 1;\n", k, k, k);
	for (int k = 19999; k >= 0; k--)
		at += (size_t)sprintf(text + at, "@p bra L%d;\n", k);
	at += (size_t)sprintf(text + at, "}\n");
	double start = now();
	exercise(text, at);
	assert_true(now() - start < TIME_LIMIT_S);

	at = (size_t)sprintf(text, HEAD);
	for (int k = 0; k < 20000; k++)
		at += (size_t)sprintf(text + at, ".func f%d();\n", k);
	for (int k = 0; k < 20000; k++)
		at += (size_t)sprintf(text + at, ".func f%d() { call f%d; ret; }\n", k, (k + 1) % 20000);
	at += (size_t)sprintf(text + at, ".entry k() { call f0; ret; }\n");
	struct ptx_module *m = ptx_module_parse(text, at, "chain", NULL);
	assert_non_null(m);
	struct ptx_func *f = ptx_func_find(m, "k");
	start = now();
	assert_int_equal(ptx_func_build(m, f), 0);
	assert_int_equal(ptx_func_analyse(m, f), 0);
	assert_true(f->writes_unknown); /* too deep to tell */
	assert_true(now() - start < TIME_LIMIT_S);
	ptx_module_free(m);
	free(text);
}

static uint32_t random_state = 12345;
static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % n;
}

static void mutate(char *text, size_t *n, size_t capacity)
{
	static const char *const tokens[] = {
		"{",  "}",  "(",           ")",    "[",    "]",      ";",      ",",      ".",
		"%",  "@",  "!",           "|",    "<",    ">",      "\"",     "/*",     "*/",
		"0f", "0x", "-",           "+",    ".reg", ".param", "bra",    "ret;",   "_",
		":",  "\n", "99999999999", ".b32", ".v4",  "call",   "%tid.x", "{r1,r2}"};
	size_t at = *n ? random_below((uint32_t)*n) : 0;
	const char *t = tokens[random_below(sizeof(tokens) / sizeof(tokens[0]))];
	size_t length = strlen(t);
	switch (random_below(5)) {
	case 0: text[at] = (char)random_below(256); break;
	case 1: { /* remove some */
		size_t gone = 1 + random_below(40);
		gone = gone < *n - at ? gone : *n - at;
		memmove(text + at, text + at + gone, *n - at - gone);
		*n -= gone;
		break;
	}
	case 2: /* overwrite with a token */
		if (at + length <= *n)
			memcpy(text + at, t, length);
		break;
	case 3: /* insert a token */
		if (*n + length < capacity) {
			memmove(text + at + length, text + at, *n - at);
			memcpy(text + at, t, length);
			*n += length;
		}
		break;
	default: { /* repeat a piece elsewhere */
		size_t from = random_below((uint32_t)*n + 1), piece = random_below(200);
		piece = piece < *n - from ? piece : *n - from;
		if (*n + piece < capacity && piece) {
			char copy[200];
			memcpy(copy, text + from, piece);
			memmove(text + at + piece, text + at, *n - at);
			memcpy(text + at, copy, piece);
			*n += piece;
		}
	}
	}
}

static void mutations(void **state)
{
	(void)state;
	size_t n = 0;
	char *seed = read_whole(PTX_TEST_DIR "/seed.ptx", &n);
	assert_non_null(seed);
	assert_true(exercise(seed, n) >= 3);
	size_t capacity = n * 2 + 4096;
	char *text = malloc(capacity);
	assert_non_null(text);
	unsigned built = 0;
	for (int round = 0; round < 1500; round++) {
		size_t length = n;
		memcpy(text, seed, n);
		for (uint32_t k = 1 + random_below(6); k-- > 0 && length > 1;)
			mutate(text, &length, capacity);
		built += exercise(text, length);
	}
	assert_true(built > 500); /* most damage is local: the other functions survive */
	free(text);
	free(seed);
}

static void truncations(void **state)
{
	(void)state;
	size_t n = 0;
	char *seed = read_whole(PTX_TEST_DIR "/seed.ptx", &n);
	assert_non_null(seed);
	for (size_t length = 0; length < n; length += 1 + length / 400)
		exercise(seed, length);
	free(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unreasonable_requests),
		cmocka_unit_test(repetitions),
		cmocka_unit_test(zero_bytes),
		cmocka_unit_test(long_chains),
		cmocka_unit_test(mutations),
		cmocka_unit_test(truncations),
	};
	return cmocka_run_group_tests_name("ptx hostile input", tests, NULL, NULL);
}
