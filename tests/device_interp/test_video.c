/* SPDX-License-Identifier: Apache-2.0
 *
 * Video instructions by the pseudocode of PTX ISA 9.7.18, on edge values and random ones; alloca and its relatives
 * (9.7.17).
 */
#include <stdio.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

typedef __int128 i128;
enum { N = 400 };
static uint64_t va[N], vb[N], vc[N], got[N];

static void fill(void)
{
	static const uint32_t edges[] = {0,      1,      0x7f,       0x80,       0xff,      0x7fff,
					 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};

	for (unsigned n = 0; n < N; n++) {
		va[n] = n < 121 ? edges[n % 11] : (uint32_t)op_random();
		vb[n] = n < 121 ? edges[n / 11] : n % 3 ? (uint32_t)op_random() : (uint32_t)op_random() % 40;
		vc[n] = (uint32_t)op_random();
	}
}

/* Sign or zero extension of `bits` bits from bit `at`. */
static i128 pick(uint64_t v, unsigned at, unsigned bits, bool is_signed)
{
	i128 x = (i128)(v >> at & ((bits == 64 ? 0 : 1ull << bits) - 1));

	return is_signed && x >> (bits - 1) ? x - ((i128)1 << bits) : x;
}

struct part {
	const char *text;
	unsigned at, bits;
};
static const struct part parts[] = {{"", 0, 32},    {".b0", 0, 8},  {".b1", 8, 8},  {".b2", 16, 8},
				    {".b3", 24, 8}, {".h0", 0, 16}, {".h1", 16, 16}};

static i128 clamp(i128 v, unsigned bits, bool is_signed)
{
	const i128 max = is_signed ? ((i128)1 << (bits - 1)) - 1 : ((i128)1 << bits) - 1;
	const i128 min = is_signed ? -((i128)1 << (bits - 1)) : 0;

	return v > max ? max : v < min ? min : v;
}

enum {
	ADD,
	SUB,
	ABSDIFF,
	MIN,
	MAX,
	SHL_CLAMP,
	SHL_WRAP,
	SHR_CLAMP,
	SHR_WRAP,
	SET_EQ,
	SET_NE,
	SET_LT,
	SET_LE,
	SET_GT,
	SET_GE,
	AVRG
};
static const struct {
	const char *name, *after;
} ops[] = {{"vadd", ""},      {"vsub", ""},       {"vabsdiff", ""},  {"vmin", ""},
	   {"vmax", ""},      {"vshl", ".clamp"}, {"vshl", ".wrap"}, {"vshr", ".clamp"},
	   {"vshr", ".wrap"}, {"vset", ".eq"},    {"vset", ".ne"},   {"vset", ".lt"},
	   {"vset", ".le"},   {"vset", ".gt"},    {"vset", ".ge"},   {"vavrg", ""}};

static i128 primary(unsigned op, i128 a, i128 b)
{
	const unsigned clamped = b > 32 ? 32 : (unsigned)b, wrapped = (unsigned)(b & 31);

	switch (op) {
	case ADD: return a + b;
	case SUB: return a - b;
	case ABSDIFF: return a > b ? a - b : b - a;
	case MIN: return a < b ? a : b;
	case MAX: return a > b ? a : b;
	case SHL_CLAMP: return a * ((i128)1 << clamped);
	case SHL_WRAP: return a * ((i128)1 << wrapped);
	case SHR_CLAMP: return a >> clamped;
	case SHR_WRAP: return a >> wrapped;
	case SET_EQ: return a == b;
	case SET_NE: return a != b;
	case SET_LT: return a < b;
	case SET_LE: return a <= b;
	case SET_GT: return a > b;
	case SET_GE: return a >= b;
	default: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
	}
}

static void check(struct test_device *t, const char *text, const uint32_t *want)
{
	const uint64_t *src[OP_SOURCES] = {va, vb, vc, NULL};

	op_run(t, text, "t:ttt", 32, src, got, N);
	for (unsigned n = 0; n < N; n++)
		if ((uint32_t)got[n] != want[n])
			fail_msg("%s of %llx, %llx, %llx: %llx, expected %x", text, (unsigned long long)va[n],
				 (unsigned long long)vb[n], (unsigned long long)vc[n],
				 (unsigned long long)got[n], want[n]);
}

struct scalar {
	unsigned op;
	bool ds, as, bs, sat;
	const struct part *a, *b, *d;
	const char *second;
};

static uint32_t scalar_value(const struct scalar *x, unsigned n)
{
	i128 tmp = primary(x->op, pick(va[n], x->a->at, x->a->bits, x->as),
			   pick(vb[n], x->b->at, x->b->bits, x->bs));
	const i128 c = pick(vc[n], 0, 32, x->ds);

	if (x->sat)
		tmp = clamp(tmp, x->d->bits, x->ds);
	if (!strcmp(x->second, ".add"))
		tmp += c;
	else if (!strcmp(x->second, ".min"))
		tmp = tmp < c ? tmp : c;
	else if (!strcmp(x->second, ".max"))
		tmp = tmp > c ? tmp : c;
	if (x->d->bits == 32)
		return (uint32_t)tmp;
	const uint32_t mask = ((1u << x->d->bits) - 1) << x->d->at;

	return ((uint32_t)tmp << x->d->at & mask) | ((uint32_t)vc[n] & ~mask);
}

static void scalar(void **state)
{
	static const char *const seconds[] = {"", ".add", ".min", ".max"};
	struct test_device t;
	uint32_t want[N];

	(void)state;
	fill();
	test_open(&t, "workers=1");
	for (unsigned r = 0; r < 600; r++) {
		const uint64_t z = op_random();
		struct scalar x = {.op = r % AVRG,
				   .ds = z & 1,
				   .as = z >> 1 & 1,
				   .bs = z >> 2 & 1,
				   .sat = z >> 3 & 1,
				   .a = &parts[z >> 8 & 7 ? (z >> 8 & 7) - 1 : 0],
				   .b = &parts[z >> 16 & 7 ? (z >> 16 & 7) - 1 : 0],
				   .d = &parts[0],
				   .second = ""};
		const bool set = x.op >= SET_EQ, shift = x.op >= SHL_CLAMP && x.op <= SHR_WRAP;
		char text[200];

		if (z >> 30 & 1)
			x.d = &parts[(z >> 24) % 7];
		else
			x.second = seconds[z >> 28 & 3];
		if (set)
			x.ds = x.sat = false;
		if (shift)
			x.bs = false;
		snprintf(text, sizeof(text), "%s%s.%s.%s%s%s%s d%s, a%s, b%s%s;", ops[x.op].name,
			 set    ? ""
			 : x.ds ? ".s32"
				: ".u32",
			 x.as ? "s32" : "u32", x.bs ? "s32" : "u32", x.sat ? ".sat" : "", ops[x.op].after,
			 x.second, x.d->text, x.a->text, x.b->text, x.d->bits < 32 || *x.second ? ", c" : "");
		for (unsigned n = 0; n < N; n++)
			want[n] = scalar_value(&x, n);
		check(&t, text, want);
	}
	test_close(&t);
}

/* Two half-words or four bytes of the eight in b:a. */
static void simd_of(struct test_device *t, unsigned count, unsigned op, uint64_t z)
{
	const bool ds = z & 1, as = z >> 1 & 1, bs = z >> 2 & 1, set = op >= SET_EQ && op <= SET_GE;
	const bool add = z >> 3 & 1, sat = !add && !set && (z >> 4 & 1), named = z >> 5 & 1;
	const unsigned bits = 32 / count,
		       mask = named ? 1 + (unsigned)(z >> 40) % ((1u << count) - 1) : (1u << count) - 1;
	unsigned asel[4], bsel[4], len = 0;
	char text[240], a[8] = "", b[8] = "", d[8] = "";
	uint32_t want[N];

	for (unsigned k = 0; k < count; k++) {
		asel[k] = named ? (unsigned)(z >> (8 + 3 * k)) & (2 * count - 1) : k;
		bsel[k] = named ? (unsigned)(z >> (24 + 3 * k)) & (2 * count - 1) : count + k;
	}
	if (named) {
		const char *letter = count == 4 ? ".b" : ".h";

		len = (unsigned)snprintf(d, sizeof(d), "%s", letter);
		snprintf(a, sizeof(a), "%s", letter);
		snprintf(b, sizeof(b), "%s", letter);
		for (unsigned k = count; k-- > 0;) {
			a[1 + count - k] = (char)('0' + asel[k]);
			b[1 + count - k] = (char)('0' + bsel[k]);
			if (mask >> k & 1)
				d[len++] = (char)('0' + k);
		}
		a[2 + count] = b[2 + count] = d[len] = 0;
	}
	snprintf(text, sizeof(text), "%s%u%s.%s.%s%s%s%s d%s, a%s, b%s, c;", ops[op].name, count,
		 set  ? ""
		 : ds ? ".s32"
		      : ".u32",
		 as ? "s32" : "u32", bs ? "s32" : "u32", sat ? ".sat" : "", ops[op].after, add ? ".add" : "",
		 d, a, b);
	for (unsigned n = 0; n < N; n++) {
		const uint64_t both = va[n] | vb[n] << 32;
		uint32_t sum = (uint32_t)vc[n], merged = 0;

		for (unsigned k = 0; k < count; k++) {
			i128 v = primary(op, pick(both, asel[k] * bits, bits, as),
					 pick(both, bsel[k] * bits, bits, bs));
			const uint32_t part = ((1u << bits) - 1) << (k * bits);

			if (sat)
				v = clamp(v, bits, ds);
			sum += mask >> k & 1 ? (uint32_t)v : 0;
			merged |= (mask >> k & 1 ? (uint32_t)v << (k * bits) : (uint32_t)vc[n]) & part;
		}
		want[n] = add ? sum : merged;
	}
	check(t, text, want);
}

static void simd(void **state)
{
	static const uint8_t which[] = {ADD,    SUB,    ABSDIFF, MIN,    MAX,    AVRG,
					SET_EQ, SET_NE, SET_LT,  SET_LE, SET_GT, SET_GE};
	struct test_device t;

	(void)state;
	fill();
	test_open(&t, "workers=1");
	for (unsigned r = 0; r < 480; r++)
		simd_of(&t, r & 1 ? 4 : 2, which[r / 2 % sizeof(which)], op_random());
	test_close(&t);
}

/* (a * b) + c, -(a * b) + c, (a * b) - c, with one more, scaled, saturated. */
static void vmad(void **state)
{
	static const char *const minus[][3] = {{"", "", ""}, {"-", "", ""}, {"", "-", ""}, {"", "", "-"}};
	static const unsigned shifts[] = {0, 7, 15};
	static const char *const scales[] = {"", ".shr7", ".shr15"};
	struct test_device t;
	uint32_t want[N];

	(void)state;
	fill();
	test_open(&t, "workers=1");
	for (unsigned r = 0; r < 240; r++) {
		const uint64_t z = op_random();
		const unsigned how = r % 5, scale = r / 5 % 3;
		const bool as = z & 1, bs = z >> 1 & 1, sat = z >> 2 & 1, po = how == 4;
		const char *const *sign = minus[po ? 0 : how];
		const bool negative = how == 1 || how == 2, minus_c = how == 3,
			   fs = as || bs || negative || minus_c;
		const struct part *a = &parts[(z >> 8) % 7], *b = &parts[(z >> 16) % 7];
		char text[200];

		snprintf(text, sizeof(text), "vmad.%s.%s.%s%s%s%s d, %sa%s, %sb%s, %sc;", fs ? "s32" : "u32",
			 as ? "s32" : "u32", bs ? "s32" : "u32", po ? ".po" : "", sat ? ".sat" : "",
			 scales[scale], sign[0], a->text, sign[1], b->text, sign[2]);
		for (unsigned n = 0; n < N; n++) {
			i128 v = pick(va[n], a->at, a->bits, as) * pick(vb[n], b->at, b->bits, bs);
			/* ~c + 1 in 32 bits, extended before the 1 is added */
			const i128 c =
				minus_c ? pick(~vc[n] & 0xffffffff, 0, 32, true) + 1 : pick(vc[n], 0, 32, fs);

			v = (negative ? -v : v) + c + po;
			v >>= shifts[scale];
			want[n] = (uint32_t)(sat ? clamp(v, 32, fs) : v);
		}
		check(&t, text, want);
	}
	test_close(&t);
}

/* Memory from alloca is the lane's own, aligned, zero, and given back by stackrestore and by returning. */
static void stack(void **state)
{
	static const char ptx[] =
		".version 9.0\n.target sm_90\n.address_size 64\n"
		".func (.reg .u32 r) deep(.reg .u32 n)\n{\n.reg .pred p; .reg .b64 a, s; .reg .b32 x, y;\n"
		"mul.lo.u32 x, n, 8; add.u32 x, x, 8; cvt.u64.u32 s, x; alloca.u64 a, s, 64; st.local.u32 "
		"[a], n; "
		"ld.local.u32 y, [a+4];\n"
		"setp.eq.u32 p, n, 0; @p bra done; sub.u32 x, n, 1; call (x), deep, (x); add.u32 y, y, x; "
		"done: "
		"ld.local.u32 x, [a]; add.u32 r, x, y;\nret;\n}\n"
		".visible .entry k(.param .u64 p_out)\n{\n.reg .b64 o, f, a, b, s0, s1, n; .reg .b32 t, x, "
		"y; .reg .pred p;\n"
		"ld.param.u64 o, [p_out]; mov.u32 t, %tid.x; mul.wide.u32 f, t, 16; add.u64 o, o, f;\n"
		"stacksave.u64 s0; add.u32 x, t, 1; cvt.u64.u32 n, x; alloca.u64 a, n, 256; and.b64 f, a, "
		"255; "
		"cvt.u32.u64 y, f; st.local.u8 [a], t;\n"
		"call (x), deep, (t); st.global.u32 [o], x; call (x), deep, (t); st.global.u32 [o+4], x;\n"
		"alloca.u64 b, 16; st.local.u32 [b], 77; ld.local.u8 x, [a]; add.u32 x, x, y; st.global.u32 "
		"[o+8], x;\n"
		"stackrestore.u64 s0; stacksave.u64 s1; sub.u64 s1, s0, s1; cvt.u32.u64 x, s1; st.global.u32 "
		"[o+12], x;\n"
		"ret;\n}\n";
	static const char too_much[] =
		".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p_out)\n{\n"
		".reg .b64 a; again: alloca.u64 a, 1000; bra again;\n}\n";
	struct test_device t;
	struct test_module m;
	struct dev_fault fault;
	uint32_t out[32][4];

	(void)state;
	test_open(&t, "workers=1");
	test_load(&m, &t, ptx, "alloca.ptx");
	uint64_t at = test_alloc(&t, sizeof(out), NULL);

	test_run_ok(&m, "k", LAUNCH1(1, 32), &at, 1);
	test_read(&t, out, at, sizeof(out));
	for (unsigned l = 0; l < 32; l++) {
		assert_int_equal(out[l][0], l * (l + 1) / 2);
		assert_int_equal(out[l][1], l * (l + 1) / 2);
		assert_int_equal(out[l][2], l);
		assert_int_equal(out[l][3], 0);
	}
	test_unload(&m);
	test_load(&m, &t, too_much, "alloca.ptx");
	assert_int_not_equal(test_run(&m, "k", LAUNCH1(1, 1), &at, 1, &fault), 0);
	assert_non_null(strstr(fault.message, "alloca of 1000 bytes"));
	test_unload(&m);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scalar),
		cmocka_unit_test(simd),
		cmocka_unit_test(vmad),
		cmocka_unit_test(stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
