/* SPDX-License-Identifier: Apache-2.0
 *
 * mma.sync, mma.sp, wmma and the moves of matrices. Fragments of mma are filled here by the tables of PTX ISA
 * 9.7.14.5 and 9.7.14.6 with small integers, whose products and sums are exact in every type; the result is the
 * matrix product in C. wmma's fragments are opaque: matrices are loaded, multiplied and stored.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

struct kind {
	const char *shape, *d, *a, *b, *c, *more;
	unsigned m, k, bits; /* of an element of A and B */
	bool sparse;
};

static const struct kind kinds[] = {
	{"m16n8k16", "f32", "f16", "f16", "f32", "", 16, 16, 16, false},
	{"m16n8k8", "f32", "f16", "f16", "f32", "", 16, 8, 16, false},
	{"m16n8k8", "f16", "f16", "f16", "f16", "", 16, 8, 16, false},
	{"m16n8k16", "f16", "f16", "f16", "f16", "", 16, 16, 16, false},
	{"m16n8k16", "f32", "bf16", "bf16", "f32", "", 16, 16, 16, false},
	{"m16n8k8", "f32", "bf16", "bf16", "f32", "", 16, 8, 16, false},
	{"m16n8k8", "f32", "tf32", "tf32", "f32", "", 16, 8, 32, false},
	{"m16n8k4", "f32", "tf32", "tf32", "f32", "", 16, 4, 32, false},
	{"m8n8k16", "s32", "s8", "s8", "s32", "", 8, 16, 8, false},
	{"m8n8k16", "s32", "u8", "s8", "s32", ".satfinite", 8, 16, 8, false},
	{"m16n8k32", "s32", "s8", "s8", "s32", "", 16, 32, 8, false},
	{"m16n8k32", "s32", "u8", "u8", "s32", "", 16, 32, 8, false},
	{"m16n8k16", "s32", "u8", "s8", "s32", "", 16, 16, 8, false},
	{"m16n8k32", "s32", "s8", "u8", "s32", ".satfinite", 16, 32, 8, false},
	{"m8n8k32", "s32", "s4", "u4", "s32", "", 8, 32, 4, false},
	{"m16n8k32", "s32", "s4", "s4", "s32", "", 16, 32, 4, false},
	{"m16n8k64", "s32", "u4", "s4", "s32", "", 16, 64, 4, false},
	{"m16n8k64", "s32", "s4", "s4", "s32", ".satfinite", 16, 64, 4, false},
	{"m16n8k32", "f32", "e4m3", "e4m3", "f32", "", 16, 32, 8, false},
	{"m16n8k32", "f32", "e4m3", "e5m2", "f32", "", 16, 32, 8, false},
	{"m16n8k32", "f16", "e5m2", "e5m2", "f16", "", 16, 32, 8, false},
	{"m16n8k16", "f32", "e5m2", "e4m3", "f32", "", 16, 16, 8, false},
	{"m16n8k16", "f16", "e4m3", "e4m3", "f16", "", 16, 16, 8, false},
	{"m8n8k4", "f64", "f64", "f64", "f64", "", 8, 4, 64, false},
	{"m16n8k4", "f64", "f64", "f64", "f64", "", 16, 4, 64, false},
	{"m16n8k8", "f64", "f64", "f64", "f64", "", 16, 8, 64, false},
	{"m16n8k16", "f64", "f64", "f64", "f64", "", 16, 16, 64, false},
	{"m8n8k128", "s32", "b1", "b1", "s32", ".xor.popc", 8, 128, 1, false},
	{"m8n8k128", "s32", "b1", "b1", "s32", ".and.popc", 8, 128, 1, false},
	{"m16n8k128", "s32", "b1", "b1", "s32", ".xor.popc", 16, 128, 1, false},
	{"m16n8k256", "s32", "b1", "b1", "s32", ".and.popc", 16, 256, 1, false},
	{"m16n8k256", "s32", "b1", "b1", "s32", ".xor.popc", 16, 256, 1, false},
	{"m16n8k16", "f32", "f16", "f16", "f32", "", 16, 16, 16, true},
	{"m16n8k16", "f16", "f16", "f16", "f16", "", 16, 16, 16, true},
	{"m16n8k32", "f32", "f16", "f16", "f32", "", 16, 32, 16, true},
	{"m16n8k32", "f16", "f16", "f16", "f16", "", 16, 32, 16, true},
	{"m16n8k16", "f32", "bf16", "bf16", "f32", "", 16, 16, 16, true},
	{"m16n8k32", "f32", "bf16", "bf16", "f32", "", 16, 32, 16, true},
	{"m16n8k8", "f32", "tf32", "tf32", "f32", "", 16, 8, 32, true},
	{"m16n8k16", "f32", "tf32", "tf32", "f32", "", 16, 16, 32, true},
	{"m16n8k32", "s32", "s8", "u8", "s32", "", 16, 32, 8, true},
	{"m16n8k64", "s32", "u8", "s8", "s32", ".satfinite", 16, 64, 8, true},
	{"m16n8k64", "s32", "s4", "s4", "s32", "", 16, 64, 4, true},
	{"m16n8k128", "s32", "u4", "s4", "s32", "", 16, 128, 4, true},
	{"m16n8k64", "f32", "e4m3", "e5m2", "f32", "", 16, 64, 8, true},
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
	if (!strcmp(type, "e5m2")) {
		static const uint8_t table[4] = {0x00, 0x3c, 0x40, 0x42};

		return table[abs(v) & 3] | (v < 0 ? 0x80 : 0);
	}
	return (uint32_t)v;
}

static int a[16][256], b[256][32], c[32][32];
static uint8_t places[16][128]; /* sparse: column of each stored element of a row of A */
static uint32_t metadata[32];

static int small(const char *type)
{
	const bool positive = type[0] == 'u';

	return type[0] == 'b' && type[1] == '1'
		       ? (int)(op_random() & 1)
		       : (int)(op_random() % (positive ? 4 : 7)) - (positive ? 0 : 3);
}

static void make_matrices(const struct kind *q)
{
	for (unsigned i = 0; i < 16; i++)
		for (unsigned k = 0; k < 256; k++)
			a[i][k] = small(q->a);
	for (unsigned k = 0; k < 256; k++)
		for (unsigned j = 0; j < 8; j++)
			b[k][j] = small(q->b);
	for (unsigned i = 0; i < 16; i++)
		for (unsigned j = 0; j < 8; j++)
			c[i][j] = (int)(op_random() % 101) - 50;
}

/* Where the metadata of chunk `chunk` (four bits) of a row lies: figures 119 to 147, as lane and lowest bit. */
static void put_metadata(const struct kind *q, unsigned selector, unsigned row, unsigned chunk,
			 uint32_t nibble)
{
	const unsigned chunks = q->bits == 32 ? q->k / 2 : q->bits == 4 ? q->k / 8 : q->k / 4;
	const unsigned g = row % 8 * 4, upper = row / 8;
	unsigned lane, bit;

	if (chunks == 4) { /* 16 bits: one thread, rows g and g + 8 in its halves */
		lane = g + selector;
		bit = 16 * upper + 4 * chunk;
	} else if (chunks == 8 && q->bits >= 16) { /* a pair: columns 0-15 and 16-31 */
		lane = g + 2 * selector + chunk / 4;
		bit = 16 * upper + 4 * (chunk % 4);
	} else if (chunks == 8) { /* a pair: row g, row g + 8 */
		lane = g + 2 * selector + upper;
		bit = 4 * chunk;
	} else { /* all four: first half of the columns, then the second */
		lane = g + upper + 2 * (chunk / 8);
		bit = 4 * (chunk % 8);
	}
	metadata[lane] |= nibble << bit;
}

/* Chooses which elements of A are not zero: 2 of 4, 1 of 2 (tf32), 2 pairs of 4 (4 bits). */
static void make_sparse(const struct kind *q, unsigned selector)
{
	static const uint8_t pairs[6] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};

	for (unsigned l = 0; l < 32; l++)
		metadata[l] =
			(uint32_t)op_random(); /* bits of threads that have no part in it don't matter */
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned row = 0; row < 16; row++) {
			const unsigned width = q->bits == 32 ? 2 : q->bits == 4 ? 8 : 4;

			for (unsigned chunk = 0; chunk < q->k / width; chunk++) {
				if (!pass) { /* clear the bits that count */
					uint32_t before[32];

					memcpy(before, metadata, sizeof(before));
					memset(metadata, 0, sizeof(metadata));
					put_metadata(q, selector, row, chunk, 0xf);
					for (unsigned l = 0; l < 32; l++)
						metadata[l] = before[l] & ~metadata[l];
					continue;
				}
				uint32_t n = pairs[op_random() % 6];

				if (width == 2)
					n = op_random() & 1 ? 0xe : 0x4;
				put_metadata(q, selector, row, chunk, n);
				for (unsigned e = 0; e < width / 2; e++)
					places[row][chunk * width / 2 + e] =
						(uint8_t)(width == 2 ? 2 * chunk + (n == 0xe)
							  : width == 4
								  ? 4 * chunk + (n >> (2 * e) & 3)
								  : 8 * chunk + 2 * (n >> (2 * (e / 2)) & 3) +
									    e % 2);
			}
		}
}

static unsigned registers(unsigned rows, unsigned cols, unsigned bits)
{
	return rows * cols * bits / (bits == 64 ? 2048 : 1024);
}

static unsigned registers_c(const struct kind *q)
{
	return q->m * 8 / 32 / (strcmp(q->c, "f16") ? 1 : 2);
}

/* Registers of A then B then C of one lane, then metadata. */
static void fill_lane(const struct kind *q, unsigned lane, uint64_t *reg)
{
	const unsigned bits = q->bits, per = bits < 32 ? 32 / bits : 1, g = lane / 4, t = lane % 4;
	const unsigned stored = q->sparse ? q->k / 2 : q->k, na = registers(q->m, stored, bits),
		       nb = registers(q->k, 8, bits);
	const uint64_t mask = bits >= 32 ? ~0ull : (1ull << bits) - 1;

	for (unsigned r = 0; r < na; r++)
		for (unsigned e = 0; e < per; e++) {
			const unsigned row = q->m == 8 ? g : g + 8 * (r % 2),
				       col = (q->m == 8 ? r : r / 2) * 4 * per + t * per + e;

			reg[r] |= (encode(q->a, a[row][col]) & mask) << (e * bits % 64);
		}
	for (unsigned r = 0; r < nb; r++)
		for (unsigned e = 0; e < per; e++)
			reg[na + r] |= (encode(q->b, b[r * 4 * per + t * per + e][g]) & mask)
				       << (e * bits % 64);
	for (unsigned i = 0; i < q->m * 8 / 32; i++) {
		uint64_t v = encode(q->c, c[g + 8 * (i / 2)][2 * t + i % 2]);

		if (!strcmp(q->c, "f16"))
			reg[na + nb + i / 2] |= v << (16 * (i % 2));
		else
			reg[na + nb + i] = v;
	}
	reg[na + nb + registers_c(q)] = metadata[lane];
}

static int expected(const struct kind *q, unsigned row, unsigned col)
{
	int sum = c[row][col];

	for (unsigned k = 0; k < (q->sparse ? q->k / 2 : q->k); k++) {
		const int x = a[row][k], y = b[q->sparse ? places[row][k] : k][col];

		sum += q->bits != 1 ? x * y : strstr(q->more, "and") ? x & y : x ^ y;
	}
	return sum;
}

static int list(char *out, size_t n, const char *letter, unsigned first, unsigned count)
{
	int len = snprintf(out, n, "{");

	for (unsigned k = 0; k < count; k++)
		len += snprintf(out + len, n - (size_t)len, "%s%s%u", k ? ", " : "", letter, first + k);
	return len + snprintf(out + len, n - (size_t)len, "}");
}

static void write_kernel(const struct kind *q, const char *op, unsigned selector, char *ptx, size_t n)
{
	const unsigned na = registers(q->m, q->sparse ? q->k / 2 : q->k, q->bits),
		       nb = registers(q->k, 8, q->bits);
	const unsigned nc = registers_c(q), word = q->bits == 64 ? 64 : 32;
	const bool popc = q->bits == 1;
	int len =
		snprintf(ptx, n,
			 ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 "
			 "p_in, .param .u64 p_out)\n{\n"
			 ".reg .b%u x<24>, y<4>; .reg .b32 t, meta; .reg .b64 i, o, f;\nmov.u32 t, %%tid.x; "
			 "ld.param.u64 i, [p_in]; ld.param.u64 o, [p_out]; mul.wide.u32 f, t, 192; "
			 "add.u64 i, i, f; mul.wide.u32 f, t, 32; add.u64 o, o, f;\n",
			 word);

	for (unsigned k = 0; k < na + nb + nc; k++)
		len += snprintf(ptx + len, n - (size_t)len, "ld.global.b%u x%u, [i+%u];\n", word, k, 8 * k);
	len += snprintf(ptx + len, n - (size_t)len,
			"ld.global.b32 meta, [i+%u];\n%s.sync.aligned.%s.row.col%s", 8 * (na + nb + nc), op,
			q->shape, popc ? "" : q->more);
	len += snprintf(ptx + len, n - (size_t)len, ".%s.%s.%s.%s%s ", q->d, q->a, q->b, q->c,
			popc ? q->more : "");
	len += list(ptx + len, n - (size_t)len, "y", 0, nc);
	len += snprintf(ptx + len, n - (size_t)len, ", ");
	len += list(ptx + len, n - (size_t)len, "x", 0, na);
	len += snprintf(ptx + len, n - (size_t)len, ", ");
	len += list(ptx + len, n - (size_t)len, "x", na, nb);
	len += snprintf(ptx + len, n - (size_t)len, ", ");
	len += list(ptx + len, n - (size_t)len, "x", na + nb, nc);
	if (q->sparse)
		len += snprintf(ptx + len, n - (size_t)len, ", meta, %u", selector);
	len += snprintf(ptx + len, n - (size_t)len, ";\n");
	for (unsigned k = 0; k < nc; k++)
		len += snprintf(ptx + len, n - (size_t)len, "st.global.b%u [o+%u], y%u;\n", word, 8 * k, k);
	snprintf(ptx + len, n - (size_t)len, "ret;\n}\n");
}

static void check_kind(struct test_device *t, const struct kind *q, const char *op, unsigned selector)
{
	uint64_t in[32][24] = {{0}}, out[32][4];
	char ptx[6000];
	struct test_module m;

	make_matrices(q);
	if (q->sparse)
		make_sparse(q, selector);
	for (unsigned l = 0; l < 32; l++)
		fill_lane(q, l, in[l]);
	write_kernel(q, op, selector, ptx, sizeof(ptx));
	test_load(&m, t, ptx, "mma.ptx");
	memset(out, 0, sizeof(out));
	uint64_t params[2] = {test_alloc(t, sizeof(in), in), test_alloc(t, sizeof(out), out)};

	test_run_ok(&m, "k", LAUNCH1(1, 32), params, 2);
	test_read(t, out, params[1], sizeof(out));
	for (unsigned l = 0; l < 32; l++)
		for (unsigned i = 0; i < q->m * 8 / 32; i++) {
			unsigned row = l / 4 + 8 * (i / 2), col = 2 * (l % 4) + i % 2;
			uint64_t want = encode(q->d, expected(q, row, col));
			uint64_t got =
				!strcmp(q->d, "f16") ? out[l][i / 2] >> (16 * (i % 2)) & 0xffff : out[l][i];

			if (got != want)
				fail_msg("%s.%s.%s.%s selector %u row %u column %u: %llx, expected %llx", op,
					 q->shape, q->d, q->a, selector, row, col, (unsigned long long)got,
					 (unsigned long long)want);
		}
	test_release(t, params[0]);
	test_release(t, params[1]);
	test_unload(&m);
}

static unsigned selectors(const struct kind *q)
{
	const unsigned bits = q->bits == 32 ? 2 * q->k : q->bits == 4 ? q->k / 2 : q->k;

	return 64 / bits;
}

static void check_all(const char *options)
{
	struct test_device t;

	test_open(&t, options);
	for (unsigned n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++) {
		const struct kind *q = &kinds[n];

		if (!q->sparse) {
			check_kind(&t, q, "mma", 0);
			continue;
		}
		for (unsigned s = 0; s < selectors(q); s++) {
			check_kind(&t, q, "mma.sp", s);
			check_kind(&t, q, "mma.sp::ordered_metadata", s);
		}
	}
	test_close(&t);
}

static void products(void **state)
{
	(void)state;
	check_all("workers=1");
	check_all("workers=1,simd=0");
}

/* However sums are made, those of integers are exact. */
static void products_by_seed(void **state)
{
	char options[60];

	(void)state;
	for (unsigned seed = 0; seed < 24; seed++) {
		snprintf(options, sizeof(options), "workers=1,tensor=seed:%u", seed);
		check_all(options);
	}
}

/* mma.m8n8k4: ISA 9.7.14.5.1, product q by lanes 4q.. and 16 + 4q... */
static void check_quads(struct test_device *t, bool a_col, bool b_row, const char *d, const char *cc)
{
	const bool half_c = !strcmp(cc, "f16"), half_d = !strcmp(d, "f16");
	uint64_t in[32][12] = {{0}}, out[32][8] = {{0}};
	int qa[4][8][4], qb[4][4][8], qc[4][8][8];
	char ptx[4000];
	struct test_module m;

	for (unsigned n = 0; n < 4 * 32; n++) {
		qa[n / 32][n % 32 / 4][n % 4] = small("f16");
		qb[n / 32][n % 32 / 8][n % 8] = small("f16");
		qc[n / 32][n % 32 / 4][n % 4] = small("f16") * 7;
		qc[n / 32][n % 32 / 4][4 + n % 4] = small("f16") * 5;
	}
	for (unsigned l = 0; l < 32; l++) {
		const unsigned q = l % 16 / 4, high = l < 16 ? 0 : 4, x = l % 4;

		for (unsigned i = 0; i < 4; i++) {
			const int va = a_col ? qa[q][i + high][x] : qa[q][x + high][i];
			const int vb = b_row ? qb[q][x][i + high] : qb[q][i][x + high];

			in[l][i / 2] |= encode("f16", va) << (16 * (i % 2));
			in[l][2 + i / 2] |= encode("f16", vb) << (16 * (i % 2));
		}
		for (unsigned i = 0; i < 8; i++) {
			const int row = (int)((l & 1) + (i & 2) + high),
				  col = (int)((i & 4) + (l & 2) + (i & 1));

			if (half_c)
				in[l][4 + i / 2] |= encode("f16", qc[q][x + high][i]) << (16 * (i % 2));
			else
				in[l][4 + i] = encode("f32", qc[q][row][col]);
		}
	}
	int len =
		snprintf(ptx, sizeof(ptx),
			 ".version 9.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 "
			 "p_in, .param .u64 p_out)\n{\n.reg .b32 x<12>, y<8>, t; .reg .b64 i, o, f;\n"
			 "mov.u32 t, %%tid.x; ld.param.u64 i, [p_in]; ld.param.u64 o, [p_out]; "
			 "mul.wide.u32 f, t, 96; add.u64 i, i, f; mul.wide.u32 f, t, 64; add.u64 o, o, f;\n");
	for (unsigned k = 0; k < 12; k++)
		len += snprintf(ptx + len, sizeof(ptx) - (size_t)len, "ld.global.b32 x%u, [i+%u];\n", k,
				8 * k);
	len += snprintf(ptx + len, sizeof(ptx) - (size_t)len, "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s ",
			a_col ? "col" : "row", b_row ? "row" : "col", d, cc);
	len += list(ptx + len, sizeof(ptx) - (size_t)len, "y", 0, half_d ? 4 : 8);
	len += snprintf(ptx + len, sizeof(ptx) - (size_t)len, ", {x0, x1}, {x2, x3}, ");
	len += list(ptx + len, sizeof(ptx) - (size_t)len, "x", 4, half_c ? 4 : 8);
	len += snprintf(ptx + len, sizeof(ptx) - (size_t)len, ";\n");
	for (unsigned k = 0; k < (half_d ? 4 : 8); k++)
		len += snprintf(ptx + len, sizeof(ptx) - (size_t)len, "st.global.b32 [o+%u], y%u;\n", 8 * k,
				k);
	snprintf(ptx + len, sizeof(ptx) - (size_t)len, "ret;\n}\n");
	test_load(&m, t, ptx, "volta.ptx");
	uint64_t params[2] = {test_alloc(t, sizeof(in), in), test_alloc(t, sizeof(out), out)};

	test_run_ok(&m, "k", LAUNCH1(1, 32), params, 2);
	test_read(t, out, params[1], sizeof(out));
	for (unsigned l = 0; l < 32; l++)
		for (unsigned i = 0; i < 8; i++) {
			const unsigned q = l % 16 / 4, high = l < 16 ? 0 : 4;
			const unsigned row = half_d ? l % 4 + high : (l & 1) + (i & 2) + high;
			const unsigned col = half_d ? i : (i & 4) + (l & 2) + (i & 1);
			int sum = qc[q][row][col];

			for (unsigned k = 0; k < 4; k++)
				sum += qa[q][row][k] * qb[q][k][col];
			assert_int_equal(half_d ? out[l][i / 2] >> (16 * (i % 2)) & 0xffff : out[l][i],
					 encode(d, sum));
		}
	test_unload(&m);
}

static void products_of_quads(void **state)
{
	struct test_device t;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned layout = 0; layout < 4; layout++) {
		check_quads(&t, layout & 1, layout & 2, "f16", "f16");
		check_quads(&t, layout & 1, layout & 2, "f32", "f16");
		check_quads(&t, layout & 1, layout & 2, "f32", "f32");
	}
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(products_by_seed),
		cmocka_unit_test(products_of_quads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
