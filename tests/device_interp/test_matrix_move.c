/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices between memory and fragments. wmma (ISA 9.7.14.4): matrices in memory, by rows and by columns, with and
 * without a stride, are loaded, multiplied and stored; the expected result is the product in C, whatever the
 * fragments are. ldmatrix, stmatrix, movmatrix: ISA 9.7.14.5.15 to 17.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

struct kind {
	unsigned m, n, k;
	const char *a, *c, *d; /* types; a is that of B too */
	unsigned bits, na, nb, nc, nd;
	const char *op, *types, *after; /* of wmma.mma */
};

static const struct kind kinds[] = {
	{16, 16, 16, "f16", "f32", "f32", 16, 8, 8, 8, 8, "mma", "f32.f32", ""},
	{16, 16, 16, "f16", "f16", "f32", 16, 8, 8, 4, 8, "mma", "f32.f16", ""},
	{16, 16, 16, "f16", "f32", "f16", 16, 8, 8, 8, 4, "mma", "f16.f32", ""},
	{8, 32, 16, "f16", "f16", "f16", 16, 8, 8, 4, 4, "mma", "f16.f16", ""},
	{32, 8, 16, "f16", "f32", "f32", 16, 8, 8, 8, 8, "mma", "f32.f32", ""},
	{16, 16, 16, "bf16", "f32", "f32", 16, 4, 4, 8, 8, "mma", "f32.bf16.bf16.f32", ""},
	{8, 32, 16, "bf16", "f32", "f32", 16, 2, 8, 8, 8, "mma", "f32.bf16.bf16.f32", ""},
	{32, 8, 16, "bf16", "f32", "f32", 16, 8, 2, 8, 8, "mma", "f32.bf16.bf16.f32", ""},
	{16, 16, 8, "tf32", "f32", "f32", 32, 4, 4, 8, 8, "mma", "f32.tf32.tf32.f32", ""},
	{8, 8, 4, "f64", "f64", "f64", 64, 1, 1, 2, 2, "mma", "f64.f64.f64.f64", ""},
	{16, 16, 16, "s8", "s32", "s32", 8, 2, 2, 8, 8, "mma", "s32.s8.s8.s32", ""},
	{8, 32, 16, "u8", "s32", "s32", 8, 1, 4, 8, 8, "mma", "s32.u8.u8.s32", ".satfinite"},
	{32, 8, 16, "s8", "s32", "s32", 8, 4, 1, 8, 8, "mma", "s32.s8.s8.s32", ""},
	{8, 8, 32, "s4", "s32", "s32", 4, 1, 1, 2, 2, "mma", "s32.s4.s4.s32", ""},
	{8, 8, 32, "u4", "s32", "s32", 4, 1, 1, 2, 2, "mma", "s32.u4.u4.s32", ""},
	{8, 8, 128, "b1", "s32", "s32", 1, 1, 1, 2, 2, "mma.xor.popc", "s32.b1.b1.s32", ""},
	{8, 8, 128, "b1", "s32", "s32", 1, 1, 1, 2, 2, "mma.and.popc", "s32.b1.b1.s32", ""},
};

static unsigned type_bits(const char *type)
{
	return !strcmp(type, "f64") ? 64
	       : strstr(type, "32") ? 32
	       : strstr(type, "16") ? 16
	       : strstr(type, "8")  ? 8
	       : type[1] == '4'     ? 4
				    : 1;
}

static uint64_t encode(const char *type, int v)
{
	float f = (float)v;
	double d = v;
	_Float16 h = (_Float16)v;
	uint32_t u;
	uint64_t w;
	uint16_t s;

	memcpy(&u, &f, 4);
	memcpy(&w, &d, 8);
	memcpy(&s, &h, 2);
	if (!strcmp(type, "f16"))
		return s;
	if (!strcmp(type, "bf16"))
		return u >> 16;
	if (!strcmp(type, "tf32") || !strcmp(type, "f32"))
		return u;
	return !strcmp(type, "f64") ? w : (uint64_t)(uint32_t)v;
}

static int a[32][128], b[128][32], c[32][32];
static uint8_t memory_a[8192], memory_b[8192], memory_c[8192], memory_d[8192];

static int small(const char *type)
{
	return !strcmp(type, "b1") ? (int)(op_random() & 1)
				   : (int)(op_random() % (type[0] == 'u' ? 4 : 7)) - (type[0] == 'u' ? 0 : 3);
}

/* One element of a matrix in memory: lines are rows or columns, `stride` elements apart. */
static void put(uint8_t *memory, const char *type, unsigned row, unsigned col, bool by_col, unsigned stride,
		int v)
{
	const unsigned bits = type_bits(type), at = (by_col ? col * stride + row : row * stride + col) * bits;
	const uint64_t e = encode(type, v);

	if (bits < 8)
		memory[at / 8] |= (uint8_t)((e & ((1u << bits) - 1)) << (at % 8));
	else
		memcpy(memory + at / 8, &e, bits / 8);
}

static uint64_t get(const char *type, unsigned row, unsigned col, bool by_col, unsigned stride)
{
	uint64_t v = 0;

	memcpy(&v, memory_d + (by_col ? col * stride + row : row * stride + col) * (type_bits(type) / 8),
	       type_bits(type) / 8);
	return v;
}

struct layout {
	bool a_col, b_col, c_col, d_col;
	unsigned extra; /* elements between the lines; 0: no stride is given */
};

static unsigned stride_of(unsigned rows, unsigned cols, bool by_col, unsigned extra)
{
	return (by_col ? rows : cols) + extra;
}

static void fill(const struct kind *q, const struct layout *y)
{
	memset(memory_a, 0, sizeof(memory_a));
	memset(memory_b, 0, sizeof(memory_b));
	memset(memory_c, 0, sizeof(memory_c));
	for (unsigned i = 0; i < q->m; i++)
		for (unsigned k = 0; k < q->k; k++)
			put(memory_a, q->a, i, k, y->a_col, stride_of(q->m, q->k, y->a_col, y->extra),
			    a[i][k] = small(q->a));
	for (unsigned k = 0; k < q->k; k++)
		for (unsigned j = 0; j < q->n; j++)
			put(memory_b, q->a, k, j, y->b_col, stride_of(q->k, q->n, y->b_col, y->extra),
			    b[k][j] = small(q->a));
	for (unsigned i = 0; i < q->m; i++)
		for (unsigned j = 0; j < q->n; j++)
			put(memory_c, q->c, i, j, y->c_col, stride_of(q->m, q->n, y->c_col, y->extra),
			    c[i][j] = (int)(op_random() % 61) - 30);
}

static void list(FILE *f, char letter, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		fprintf(f, "%s%c%u", k ? ", " : "{", letter, k);
	fputs("}", f);
}

static void access(FILE *f, const char *op, char which, bool col, const struct kind *q, const char *type,
		   const char *pointer, unsigned regs, unsigned stride, bool store)
{
	fprintf(f, "wmma.%s.%c.sync.aligned.%s.m%un%uk%u.global.%s ", op, which, col ? "col" : "row", q->m,
		q->n, q->k, type);
	if (store)
		fprintf(f, "[%s], ", pointer);
	list(f, which, regs);
	if (!store)
		fprintf(f, ", [%s]", pointer);
	if (stride)
		fprintf(f, ", %u", stride);
	fputs(";\n", f);
}

static char *kernel(const struct kind *q, const struct layout *y)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	const unsigned word = q->bits == 64 ? 64 : 32;

	assert_non_null(f);
	fprintf(f,
		".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pa, .param "
		".u64 pb, "
		".param .u64 pc, .param .u64 pd)\n{\n.reg .b%u a<8>, b<8>, c<8>, d<8>; .reg .b64 ma, mb, mc, "
		"md;\n"
		"ld.param.u64 ma, [pa]; ld.param.u64 mb, [pb]; ld.param.u64 mc, [pc]; ld.param.u64 md, "
		"[pd];\n",
		word);
	const unsigned x = y->extra;

	access(f, "load", 'a', y->a_col, q, q->a, "ma", q->na, x ? stride_of(q->m, q->k, y->a_col, x) : 0,
	       false);
	access(f, "load", 'b', y->b_col, q, q->a, "mb", q->nb, x ? stride_of(q->k, q->n, y->b_col, x) : 0,
	       false);
	access(f, "load", 'c', y->c_col, q, q->c, "mc", q->nc, x ? stride_of(q->m, q->n, y->c_col, x) : 0,
	       false);
	fprintf(f, "wmma.%s.sync.aligned.%s.%s.m%un%uk%u.%s%s ", q->op, y->a_col ? "col" : "row",
		y->b_col ? "col" : "row", q->m, q->n, q->k, q->types, q->after);
	list(f, 'd', q->nd);
	fputs(", ", f);
	list(f, 'a', q->na);
	fputs(", ", f);
	list(f, 'b', q->nb);
	fputs(", ", f);
	list(f, 'c', q->nc);
	fputs(";\n", f);
	access(f, "store", 'd', y->d_col, q, q->d, "md", q->nd, x ? stride_of(q->m, q->n, y->d_col, x) : 0,
	       true);
	fputs("ret;\n}\n", f);
	fclose(f);
	return text;
}

static int expected(const struct kind *q, unsigned i, unsigned j)
{
	int sum = c[i][j];

	for (unsigned k = 0; k < q->k; k++)
		sum += strcmp(q->a, "b1")     ? a[i][k] * b[k][j]
		       : strstr(q->op, "xor") ? a[i][k] ^ b[k][j]
					      : a[i][k] & b[k][j];
	return sum;
}

static void check_kind(struct test_device *t, const struct kind *q, const struct layout *y)
{
	struct test_module m;
	char *text;

	fill(q, y);
	text = kernel(q, y);
	test_load(&m, t, text, "wmma.ptx");
	memset(memory_d, 0, sizeof(memory_d));
	uint64_t params[4] = {
		test_alloc(t, sizeof(memory_a), memory_a), test_alloc(t, sizeof(memory_b), memory_b),
		test_alloc(t, sizeof(memory_c), memory_c), test_alloc(t, sizeof(memory_d), memory_d)};

	test_run_ok(&m, "k", LAUNCH1(1, 32), params, 4);
	test_read(t, memory_d, params[3], sizeof(memory_d));
	for (unsigned i = 0; i < q->m; i++)
		for (unsigned j = 0; j < q->n; j++) {
			const uint64_t got =
				get(q->d, i, j, y->d_col, stride_of(q->m, q->n, y->d_col, y->extra));

			if (got != encode(q->d, expected(q, i, j)))
				fail_msg("wmma m%un%uk%u %s row %u column %u: %llx, expected %d", q->m, q->n,
					 q->k, q->types, i, j, (unsigned long long)got, expected(q, i, j));
		}
	for (unsigned k = 0; k < 4; k++)
		test_release(t, params[k]);
	test_unload(&m);
	free(text);
}

static void wmma_on(const char *options)
{
	struct test_device t;

	test_open(&t, options);
	for (unsigned n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++)
		for (unsigned v = 0; v < 32; v++) {
			struct layout y = {v & 1, v & 2, v & 4, v & 8, v & 16 ? 32 : 0};

			if (kinds[n].bits < 8) { /* .row times .col only */
				y.a_col = false;
				y.b_col = true;
			}
			check_kind(&t, &kinds[n], &y);
		}
	test_close(&t);
}

static void wmma(void **state)
{
	(void)state;
	wmma_on("workers=1");
	wmma_on("workers=1,check=all,check_error=1"); /* all that is read was written */
}

/* The checked mode knows which bytes a matrix in memory has. */
static void unwritten_matrix(void **state)
{
	const struct kind *q = &kinds[0];
	const struct layout y = {.extra = 32};
	struct test_device t;
	struct test_module m;
	struct dev_fault fault;
	char *text = kernel(q, &y);

	(void)state;
	test_open(&t, "workers=1,check=uninit,check_error=1");
	test_load(&m, &t, text, "wmma.ptx");
	uint64_t params[4] = {test_alloc(&t, sizeof(memory_a), memory_a),
			      test_alloc(&t, sizeof(memory_b), memory_b),
			      test_alloc(&t, sizeof(memory_c), NULL), test_alloc(&t, sizeof(memory_d), NULL)};

	assert_int_not_equal(test_run(&m, "k", LAUNCH1(1, 32), params, 4, &fault), 0);
	assert_non_null(strstr(fault.message, "uninitialised"));
	assert_non_null(strstr(fault.message, "wmma.load.c"));
	test_unload(&m);
	test_close(&t);
	free(text);
}

#define HEAD                                                                                              \
	".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p_in, .param .u64 " \
	"p_out)\n{\n.shared .align 16 .b8 box[512]; .reg .b32 t, s, r<8>; .reg .b64 i, o, f, x, y;\n"     \
	"mov.u32 t, %tid.x; ld.param.u64 i, [p_in]; ld.param.u64 o, [p_out]; mov.u32 s, box; "            \
	"mad.lo.u32 s, t, 16, s; mul.wide.u32 f, t, 16; add.u64 i, i, f;\n"

static void run(const char *ptx, const void *in, size_t in_bytes, void *out, size_t out_bytes)
{
	struct test_device t;
	struct test_module m;

	test_open(&t, "workers=1");
	test_load(&m, &t, ptx, "matrix.ptx");
	uint64_t params[2] = {test_alloc(&t, in_bytes, in), test_alloc(&t, out_bytes, NULL)};

	test_run_ok(&m, "k", LAUNCH1(1, 32), params, 2);
	test_read(&t, out, params[1], out_bytes);
	test_unload(&m);
	test_close(&t);
}

/* Element of matrix, row, column. */
static uint16_t value(unsigned matrix, unsigned row, unsigned col)
{
	return (uint16_t)(matrix * 100 + row * 10 + col);
}

/* Four 8 x 8 matrices of halves, rows of 16 bytes. */
static void load_matrix(void **state)
{
	static const char ptx[] =
		HEAD "ld.global.v2.b64 {x, y}, [i]; st.shared.v2.b64 [s], {x, y}; bar.sync 0;\n"
		     "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r0, r1, r2, r3}, [s];\n"
		     "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {r4, r5, r6, r7}, [s];\n"
		     "mul.wide.u32 f, t, 32; add.u64 o, o, f; st.global.v4.b32 [o], {r0, r1, r2, r3}; "
		     "st.global.v4.b32 [o+16], {r4, r5, r6, r7};\nret;\n}\n";
	uint16_t in[4][8][8], out[32][2][4][2];

	(void)state;
	for (unsigned n = 0; n < 256; n++)
		in[n / 64][n / 8 % 8][n % 8] = value(n / 64, n / 8 % 8, n % 8);
	run(ptx, in, sizeof(in), out, sizeof(out));
	for (unsigned n = 0; n < 256; n++) {
		unsigned l = n / 8, matrix = n / 2 % 4, e = n % 2, row = l / 4, col = 2 * (l % 4) + e;

		assert_int_equal(out[l][0][matrix][e], value(matrix, row, col));
		assert_int_equal(out[l][1][matrix][e], value(matrix, col, row));
	}
}

/* The reverse: fragments in, rows out. x1 and x2 store the first matrices only. */
static void check_store(const char *num, const char *trans, unsigned count, const char *regs)
{
	char ptx[3000];
	uint16_t in[32][4][2], out[4][8][8];

	snprintf(ptx, sizeof(ptx),
		 "%sst.shared.v4.b32 [s], {r4, r4, r4, r4}; bar.sync 0; ld.global.v4.b32 {r0, r1, r2, r3}, "
		 "[i];\n"
		 "stmatrix.sync.aligned.m8n8.%s%s.shared.b16 [s], %s;\nbar.sync 0;\n"
		 "ld.shared.v2.b64 {x, y}, [s]; add.u64 o, o, f; st.global.v2.b64 [o], {x, y};\nret;\n}\n",
		 HEAD, num, trans, regs);
	for (unsigned n = 0; n < 256; n++) {
		unsigned l = n / 8, matrix = n / 2 % 4, e = n % 2, row = l / 4, col = 2 * (l % 4) + e;

		in[l][matrix][e] = *trans ? value(matrix, col, row) : value(matrix, row, col);
	}
	run(ptx, in, sizeof(in), out, sizeof(out));
	for (unsigned n = 0; n < 256; n++)
		assert_int_equal(out[n / 64][n / 8 % 8][n % 8],
				 n / 64 < count ? value(n / 64, n / 8 % 8, n % 8) : 0);
}

static void store_matrix(void **state)
{
	(void)state;
	check_store("x1", "", 1, "{r0}");
	check_store("x2", "", 2, "{r0, r1}");
	check_store("x4", "", 4, "{r0, r1, r2, r3}");
	check_store("x1", ".trans", 1, "{r0}");
	check_store("x2", ".trans", 2, "{r0, r1}");
	check_store("x4", ".trans", 4, "{r0, r1, r2, r3}");
}

static void move_matrix(void **state)
{
	static const char ptx[] =
		HEAD "ld.global.b32 r0, [i];\nmovmatrix.sync.aligned.m8n8.trans.b16 r1, r0;\n"
		     "add.u64 o, o, f; st.global.b32 [o], r1;\nret;\n}\n";
	uint16_t in[32][8] = {{0}}, out[32][8];

	(void)state;
	for (unsigned n = 0; n < 64; n++)
		in[n / 2][n % 2] = value(0, n / 8, n % 8);
	run(ptx, in, sizeof(in), out, sizeof(out));
	for (unsigned n = 0; n < 64; n++)
		assert_int_equal(out[n / 2][n % 2], value(0, n % 8, n / 8));
}

/* What a later target has is refused by its line and name. */
static void refusals(void **state)
{
	static const struct {
		const char *target, *text, *why;
	} cases[] = {
		{"sm_100a", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {r0, r1}, [s];", "sm_100a"},
		{"sm_100a", "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {r0}, [s];", "sm_100a"},
		{"sm_100a", "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [s], {r0};", "sm_100a"},
		{"sm_120a",
		 "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32 {r0, r1, r2, r3}, "
		 "{r0, r1, r2, r3}, {r0, r1}, {r0, r1, r2, r3};",
		 "sm_120a"},
		{"sm_90",
		 "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {r0, r1, r2, r3}, {r0, r1, r2, r3}, "
		 "{r0, r1, r2, r3}, {r0, r1, r2, r3}, r4, 2;",
		 "selector"},
		{"sm_90",
		 "mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32 {r0, r1, r2, r3}, {r0, r1}, {r0}, "
		 "{r0, r1, r2, r3};",
		 ".row by a .col"},
	};
	struct test_device t;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct test_module m;
		struct dev_kernel *k;
		struct diag d = DIAG_INIT;
		char ptx[2000];

		snprintf(ptx, sizeof(ptx), ".version 9.0\n.target %s\n%s%s\nret;\n}\n", cases[n].target,
			 strstr(HEAD, ".address_size"), cases[n].text);
		test_load(&m, &t, ptx, "refused.ptx");
		assert_int_equal(test_kernel(&m, "k", &k, &d), CUTRACE_ENOTSUP);
		assert_string_equal(d.where, "refused.ptx:8:1");
		if (!strstr(d.what, cases[n].why))
			fail_msg("%s: %s", cases[n].text, d.what);
		test_unload(&m);
	}
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wmma),        cmocka_unit_test(unwritten_matrix),
		cmocka_unit_test(load_matrix), cmocka_unit_test(store_matrix),
		cmocka_unit_test(move_matrix), cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
