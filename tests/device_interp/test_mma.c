/* SPDX-License-Identifier: Apache-2.0
 *
 * mma.sync and ldmatrix. The fragments are filled here by the tables of PTX ISA
 * 9.7.14.5 (mma) and 9.7.14.5.15 (ldmatrix), with small integers, whose products
 * and sums are exact in every type; the result is the matrix product in C.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

static const struct {
	const char *shape, *d, *a, *b, *c, *more;
	unsigned m, k, bits; /* of an element of A and B */
} kinds[] = {
	{"m16n8k16", "f32", "f16", "f16", "f32", "", 16, 16, 16},
	{"m16n8k8", "f32", "f16", "f16", "f32", "", 16, 8, 16},
	{"m16n8k16", "f16", "f16", "f16", "f16", "", 16, 16, 16},
	{"m16n8k16", "f32", "bf16", "bf16", "f32", "", 16, 16, 16},
	{"m16n8k8", "f32", "tf32", "tf32", "f32", "", 16, 8, 32},
	{"m16n8k4", "f32", "tf32", "tf32", "f32", "", 16, 4, 32},
	{"m16n8k32", "s32", "s8", "s8", "s32", "", 16, 32, 8},
	{"m16n8k16", "s32", "u8", "s8", "s32", "", 16, 16, 8},
	{"m16n8k32", "s32", "s4", "s4", "s32", "", 16, 32, 4},
	{"m16n8k32", "f32", "e4m3", "e4m3", "f32", "", 16, 32, 8},
	{"m16n8k32", "s32", "s8", "u8", "s32", ".satfinite", 16, 32, 8},
	{"m8n8k4", "f64", "f64", "f64", "f64", "", 8, 4, 64},
};

/* Bits of a small integer in a type. */
static uint64_t encode(const char *type, int v)
{
	float f = (float)v;
	double d = v;
	uint32_t u;
	uint64_t w;
	_Float16 h = (_Float16)v;
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
	if (!strcmp(type, "f64"))
		return w;
	if (!strcmp(type, "e4m3")) { /* 0, and +-1, 2, 3 */
		static const uint8_t table[4] = {0x00, 0x38, 0x40, 0x44};

		return table[abs(v) & 3] | (v < 0 ? 0x80 : 0);
	}
	return (uint32_t)v;
}

static int a[16][64], b[64][8], c[16][8];

static void make_matrices(unsigned n)
{
	const bool ua = kinds[n].a[0] == 'u', ub = kinds[n].b[0] == 'u';

	for (unsigned i = 0; i < 16; i++)
		for (unsigned k = 0; k < 64; k++)
			a[i][k] = (int)(op_random() % (ua ? 4 : 7)) - (ua ? 0 : 3);
	for (unsigned k = 0; k < 64; k++)
		for (unsigned j = 0; j < 8; j++)
			b[k][j] = (int)(op_random() % (ub ? 4 : 7)) - (ub ? 0 : 3);
	for (unsigned i = 0; i < 16; i++)
		for (unsigned j = 0; j < 8; j++)
			c[i][j] = (int)(op_random() % 101) - 50;
}

/* Registers of A then B then C of one lane, 8 bytes each. */
static unsigned fill_lane(unsigned n, unsigned lane, uint64_t *reg)
{
	const unsigned bits = kinds[n].bits, per = bits < 32 ? 32 / bits : 1, g = lane / 4, t = lane % 4,
		       m8 = kinds[n].m == 8;
	const unsigned na = m8 ? 1 : kinds[n].k * bits / 64, nb = m8 ? 1 : na / 2,
		       mask = bits >= 32 ? ~0u : (1u << bits) - 1;
	unsigned at = 0;

	for (unsigned r = 0; r < na; r++, at++)
		for (unsigned e = 0; e < per; e++) {
			uint64_t v = encode(kinds[n].a, a[g + 8 * (r % 2)][r / 2 * 4 * per + t * per + e]);

			reg[at] |= bits == 64 ? v : (v & mask) << (e * bits);
		}
	for (unsigned r = 0; r < nb; r++, at++)
		for (unsigned e = 0; e < per; e++) {
			uint64_t v = encode(kinds[n].b, b[r * 4 * per + t * per + e][g]);

			reg[at] |= bits == 64 ? v : (v & mask) << (e * bits);
		}
	for (unsigned i = 0; i < (m8 ? 2 : 4); i++) {
		uint64_t v = encode(kinds[n].c, c[g + 8 * (i / 2)][2 * t + i % 2]);

		if (!strcmp(kinds[n].c, "f16"))
			reg[at + i / 2] |= v << (16 * (i % 2));
		else
			reg[at + i] = v;
	}
	return at;
}

static void register_list(char *out, size_t n, const char *letter, unsigned first, unsigned count)
{
	size_t len = (size_t)snprintf(out, n, "{");

	for (unsigned k = 0; k < count; k++)
		len += (size_t)snprintf(out + len, n - len, "%s%s%u", k ? ", " : "", letter, first + k);
	snprintf(out + len, n - len, "}");
}

static void check_kind(struct test_device *t, unsigned n)
{
	const unsigned m8 = kinds[n].m == 8, na = m8 ? 1 : kinds[n].k * kinds[n].bits / 64,
		       nb = m8 ? 1 : na / 2;
	const unsigned nc = m8 || !strcmp(kinds[n].c, "f16") ? 2 : 4, word = m8 ? 64 : 32;
	uint64_t in[32][16] = {{0}}, out[32][4];
	char ptx[4000], la[80], lb[80], lc[80], ld[80];
	struct test_module m;

	make_matrices(n);
	for (unsigned l = 0; l < 32; l++)
		fill_lane(n, l, in[l]);
	register_list(la, sizeof(la), "x", 0, na);
	register_list(lb, sizeof(lb), "x", na, nb);
	register_list(lc, sizeof(lc), "x", na + nb, nc);
	register_list(ld, sizeof(ld), "y", 0, nc);
	int len = snprintf(ptx, sizeof(ptx),
			   ".version 9.0\n.target sm_100\n.address_size 64\n.visible .entry k(.param .u64 "
			   "p_in, .param .u64 p_out)\n{\n"
			   ".reg .b%u x<16>, y<4>; .reg .b32 t; .reg .b64 i, o, f;\nmov.u32 t, %%tid.x; "
			   "ld.param.u64 i, [p_in];"
			   " ld.param.u64 o, [p_out]; mul.wide.u32 f, t, 128; add.u64 i, i, f; mul.wide.u32 "
			   "f, t, 32; add.u64 o, o, f;\n",
			   word);
	for (unsigned k = 0; k < na + nb + nc; k++)
		len += snprintf(ptx + len, sizeof(ptx) - (size_t)len, "ld.global.b%u x%u, [i+%u];\n", word, k,
				8 * k);
	len += snprintf(ptx + len, sizeof(ptx) - (size_t)len,
			"mma.sync.aligned.%s.row.col%s.%s.%s.%s.%s %s, %s, %s, %s;\n", kinds[n].shape,
			kinds[n].more, kinds[n].d, kinds[n].a, kinds[n].b, kinds[n].c, ld, la, lb, lc);
	for (unsigned k = 0; k < nc; k++)
		len += snprintf(ptx + len, sizeof(ptx) - (size_t)len, "st.global.b%u [o+%u], y%u;\n", word,
				8 * k, k);
	snprintf(ptx + len, sizeof(ptx) - (size_t)len, "ret;\n}\n");
	test_load(&m, t, ptx, "mma.ptx");
	memset(out, 0, sizeof(out));
	uint64_t params[2] = {test_alloc(t, sizeof(in), in), test_alloc(t, sizeof(out), out)};

	test_run_ok(&m, "k", LAUNCH1(1, 32), params, 2);
	test_read(t, out, params[1], sizeof(out));
	for (unsigned l = 0; l < 32; l++)
		for (unsigned i = 0; i < (m8 ? 2 : 4); i++) {
			unsigned row = l / 4 + 8 * (i / 2), col = 2 * (l % 4) + i % 2;
			int sum = c[row][col];

			for (unsigned k = 0; k < kinds[n].k; k++)
				sum += a[row][k] * b[k][col];
			uint64_t want = encode(kinds[n].d, sum);
			uint64_t got = !strcmp(kinds[n].d, "f16") ? out[l][i / 2] >> (16 * (i % 2)) & 0xffff
								  : out[l][i];

			if (got != want)
				fail_msg("%s.%s.%s row %u column %u: %llx, expected %llx", kinds[n].shape,
					 kinds[n].d, kinds[n].a, row, col, (unsigned long long)got,
					 (unsigned long long)want);
		}
	test_unload(&m);
}

static void products(void **state)
{
	struct test_device t;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++)
		check_kind(&t, n);
	test_close(&t);
}

/* Four 8 x 8 matrices of halves, rows 16 bytes, element = 100 * matrix + 10 * row + column. */
static void load_matrix(void **state)
{
	static const char *const ptx =
		".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p_in, .param "
		".u64 p_out)\n{\n"
		".shared .align 16 .b8 box[512]; .reg .b32 t, s, r<8>; .reg .b64 i, o, f, x, y;\n"
		"mov.u32 t, %tid.x; ld.param.u64 i, [p_in]; ld.param.u64 o, [p_out]; mul.wide.u32 f, t, 16; "
		"add.u64 i, i, f;\n"
		"mov.u32 s, box; mad.lo.u32 s, t, 16, s; ld.global.v2.b64 {x, y}, [i]; st.shared.v2.b64 [s], "
		"{x, y}; bar.sync 0;\n"
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r0, r1, r2, r3}, [s];\n"
		"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {r4, r5, r6, r7}, [s];\n"
		"mul.wide.u32 f, t, 32; add.u64 o, o, f; st.global.v4.b32 [o], {r0, r1, r2, r3}; "
		"st.global.v4.b32 [o+16], {r4, r5, r6, r7};\n"
		"ret;\n}\n";
	uint16_t in[4][8][8], out[32][2][4][2];
	struct test_device t;
	struct test_module m;

	(void)state;
	for (unsigned n = 0; n < 256; n++)
		in[n / 64][n / 8 % 8][n % 8] = (uint16_t)(n / 64 * 100 + n / 8 % 8 * 10 + n % 8);
	test_open(&t, "workers=1");
	test_load(&m, &t, ptx, "ldmatrix.ptx");
	uint64_t params[2] = {test_alloc(&t, sizeof(in), in), test_alloc(&t, sizeof(out), NULL)};

	test_run_ok(&m, "k", LAUNCH1(1, 32), params, 2);
	test_read(&t, out, params[1], sizeof(out));
	for (unsigned n = 0; n < 256; n++) {
		unsigned l = n / 8, matrix = n / 2 % 4, e = n % 2, row = l / 4, col = 2 * (l % 4) + e;

		assert_int_equal(out[l][0][matrix][e], matrix * 100 + row * 10 + col);
		assert_int_equal(out[l][1][matrix][e], matrix * 100 + col * 10 + row);
	}
	test_unload(&m);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(load_matrix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
