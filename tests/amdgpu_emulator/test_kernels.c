/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels compiled by clang-19 for one target: every result against the same computation in C on the host.
 * usage: test_kernels CODE_OBJECT
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "tests/amdgpu_emulator/device_memory.h"
#include "tests/amdgpu_emulator/sha256_constants.h"

static struct device_memory memory;
static struct amdgpu_object *object;
static uint32_t state = 1;

static uint32_t rnd(void)
{
	state = state * 1664525 + 1013904223;
	return state ^ state >> 15;
}

static void launch(const char *kernel, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by,
		   struct kernel_args *a)
{
	struct device_launch l = {object, kernel, {gx, gy}, {bx, by}, 0, 4096, 2, 0};
	struct amdgpu_fault f;

	if (device_run(&memory, &l, a, &f, NULL))
		fail_msg("%s", f.message);
	a->used = 0;
}

static void buffer(struct kernel_args *a, const void *from, size_t bytes, void *host)
{
	ARGS_VALUE(a, uint64_t, device_buffer(&memory, from, bytes, host));
}

#define INT(a, v)   ARGS_VALUE(a, int32_t, v)
#define FLOAT(a, v) ARGS_VALUE(a, float, v)

/* ---- single precision, LDS, barriers */

static void test_vadd(void **unused)
{
	enum { N = 1000 };
	float a[N], b[N], *c;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++) {
		a[i] = (float)i * 0.37f;
		b[i] = (float)(int)rnd();
	}
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, b, sizeof b, NULL);
	buffer(&k, NULL, sizeof a, &c);
	INT(&k, N);
	launch("vadd", 4, 1, 256, 1, &k);
	for (int i = 0; i < N; i++)
		assert_true(c[i] == a[i] + b[i]);
}

static void test_saxpy4(void **unused)
{
	enum { N = 300 };
	float a[4 * N], y[4 * N], *d;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < 4 * N; i++) {
		a[i] = (float)rnd() / 7;
		y[i] = (float)i;
	}
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, y, sizeof y, &d);
	FLOAT(&k, 1.1f);
	INT(&k, N);
	launch("saxpy4", 3, 1, 128, 1, &k);
	for (int i = 0; i < 4 * N; i++)
		assert_true(d[i] == fmaf(1.1f, a[i], y[i]));
}

static void test_sgemm(void **unused)
{
	enum { N = 48 };
	static float a[N * N], b[N * N];
	float *c;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N * N; i++) {
		a[i] = (float)(int)rnd() * 0x1p-20f;
		b[i] = (float)(int)rnd() * 0x1p-25f;
	}
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, b, sizeof b, NULL);
	buffer(&k, NULL, sizeof a, &c);
	INT(&k, N);
	launch("sgemm", N / 16, N / 16, 16, 16, &k);
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < N; j++) {
			float s = 0;
			for (int t = 0; t < N; t++)
				s = fmaf(a[i * N + t], b[t * N + j], s);
			assert_true(c[i * N + j] == s);
		}
	}
}

static void test_dgemm(void **unused)
{
	enum { N = 32 };
	static double a[N * N], b[N * N];
	double *c;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N * N; i++) {
		a[i] = (double)(int)rnd() / 3;
		b[i] = (double)(int)rnd() / 7;
	}
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, b, sizeof b, NULL);
	buffer(&k, NULL, sizeof a, &c);
	INT(&k, N);
	launch("dgemm", N / 16, N / 16, 16, 16, &k);
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < N; j++) {
			double s = 0;
			for (int t = 0; t < N; t++)
				s = fma(a[i * N + t], b[t * N + j], s);
			assert_true(c[i * N + j] == s);
		}
	}
}

static void test_reduce(void **unused)
{
	enum { N = 5000 };
	float a[N], *o, sum = 0, got = 0;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++)
		sum += a[i] = (float)(rnd() & 15);
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, NULL, 4 * sizeof *o, &o);
	INT(&k, N);
	INT(&k, 1024);
	launch("reduce", 4, 1, 256, 1, &k);
	for (int i = 0; i < 4; i++)
		got += o[i];
	assert_true(got == sum);
}

static void test_scan(void **unused)
{
	enum { N = 512 };
	int a[N], *o, s = 0;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++)
		a[i] = (int)(rnd() & 0xffff);
	buffer(&k, a, sizeof a, &o);
	launch("scan", 2, 1, 256, 1, &k);
	for (int i = 0; i < N; i++) {
		s = i % 256 ? s + a[i] : a[i];
		assert_int_equal(o[i], s);
	}
}

static void test_histogram(void **unused)
{
	enum { N = 3000 };
	uint8_t d[N];
	uint32_t expected[256] = {0}, *h;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++)
		expected[d[i] = (uint8_t)(rnd() % 97)]++;
	buffer(&k, d, sizeof d, NULL);
	buffer(&k, NULL, sizeof expected, &h);
	INT(&k, N);
	INT(&k, 1024);
	launch("histogram", 4, 1, 256, 1, &k);
	assert_memory_equal(h, expected, sizeof expected);
}

static void test_transpose(void **unused)
{
	enum { N = 64 };
	static float a[N * N];
	float *b;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N * N; i++)
		a[i] = (float)i;
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, NULL, sizeof a, &b);
	INT(&k, N);
	launch("transpose", N / 32, N / 32, 32, 8, &k);
	for (int i = 0; i < N * N; i++)
		assert_true(b[i] == a[i % N * N + i / N]);
}

static void test_mandelbrot(void **unused)
{
	enum { N = 64, LIMIT = 50 };
	int *o;
	struct kernel_args k = {0};

	(void)unused;
	buffer(&k, NULL, N * N * sizeof *o, &o);
	INT(&k, N);
	INT(&k, N);
	INT(&k, LIMIT);
	launch("mandelbrot", N / 16, N / 16, 16, 16, &k);
	for (int y = 0; y < N; y++) {
		for (int x = 0; x < N; x++) {
			float cr = fmaf((float)x, 0.046875f, -2), ci = fmaf((float)y, 0.03125f, -1), zr = 0,
			      zi = 0;
			int i = 0;
			while (i < LIMIT && fmaf(zr, zr, zi * zi) < 4) {
				float t = fmaf(zr, zr, fmaf(-zi, zi, cr));
				zi = fmaf(2 * zr, zi, ci);
				zr = t;
				i++;
			}
			assert_int_equal(o[y * N + x], i);
		}
	}
}

static void test_bitonic(void **unused)
{
	enum { N = 256 };
	uint32_t a[N], *d;
	uint64_t address;

	(void)unused;
	for (int i = 0; i < N; i++)
		a[i] = rnd();
	address = device_buffer(&memory, a, sizeof a, &d);
	for (int n = 2; n <= N; n *= 2) {
		for (int j = n / 2; j; j /= 2) {
			struct kernel_args k = {0};
			ARGS_VALUE(&k, uint64_t, address);
			INT(&k, j);
			INT(&k, n);
			launch("bitonic", 1, 1, N, 1, &k);
		}
	}
	for (int i = 1; i < N; i++)
		assert_true(d[i - 1] <= d[i]);
}

/* FIPS 180-4, the example "abc": the digest is known. */
static void test_sha256(void **unused)
{
	static const uint32_t digest[8] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
					   0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};
	uint32_t in[64 * 16] = {0}, *out;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < 64; i++) {
		in[16 * i] = 0x61626380;
		in[16 * i + 15] = 24;
	}
	buffer(&k, in, sizeof in, NULL);
	buffer(&k, NULL, 64 * 32, &out);
	buffer(&k, sha256_constants, sizeof sha256_constants, NULL);
	launch("sha256", 1, 1, 64, 1, &k);
	for (int i = 0; i < 64; i++)
		assert_memory_equal(out + 8 * i, digest, 32);
}

/* ---- 16 bits */

static float f16(_Float16 h)
{
	return (float)h;
}

static bool same(float a, float b)
{
	return a == b || (a != a && b != b);
}

static void test_half(void **unused)
{
	enum { N = 256 };
	_Float16 a[2 * N], b[2 * N], *o, *h;
	float *f;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < 2 * N; i++) {
		a[i] = (_Float16)((float)(int)rnd() * 0x1p-24f);
		b[i] = (_Float16)((float)(int)rnd() * (i & 3 ? 0x1p-27f : 0x1p-40f));
	}
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, b, sizeof b, NULL);
	buffer(&k, NULL, 3 * sizeof a, &o);
	buffer(&k, NULL, sizeof a, &h);
	buffer(&k, NULL, N * sizeof *f, &f);
	launch("half_math", 1, 1, N, 1, &k);
	for (int i = 0; i < 2 * N; i++) {
		float x = f16(a[i]), y = f16(b[i]), m = fmaxf(x, y);
		int base = i / 2 * 6 + i % 2;
		assert_true(same(f16(o[base]), f16((_Float16)(x + y))));
		assert_true(same(f16(o[base + 2]), f16((_Float16)((double)x * (double)y + (double)m))));
		assert_true(same(f16(o[base + 4]), f16((_Float16)(f16((_Float16)(x * y)) - m))));
		if (i % 2 == 0) {
			float q = f16((_Float16)((double)x / (double)y)), d = fabsf(f16(h[i]) - q);
			/* OpenCL lets half divisions be 1 ULP off where the compiler uses v_rcp_f16 */
			assert_true(same(f16(h[i]), q) || d <= fabsf(q) * 0x1p-10f + 0x1p-24f);
			assert_true(same(f[i / 2], x * f16(b[i + 1]) + m));
		} else {
			assert_true(same(f16(h[i]), f16((_Float16)(x + 1))));
		}
	}
}

static void test_narrow(void **unused)
{
	enum { N = 256 };
	int8_t c[N];
	uint16_t s[N];
	int16_t t[N], *p;
	uint8_t *o;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++) {
		c[i] = (int8_t)rnd();
		s[i] = (uint16_t)rnd();
		t[i] = (int16_t)rnd();
	}
	buffer(&k, c, sizeof c, NULL);
	buffer(&k, s, sizeof s, NULL);
	buffer(&k, t, sizeof t, NULL);
	buffer(&k, NULL, N, &o);
	buffer(&k, NULL, 2 * N, &p);
	launch("narrow", 1, 1, N, 1, &k);
	for (int i = 0; i < N; i++) {
		assert_int_equal(o[i], (uint8_t)(c[i] * 3 + s[i]));
		assert_int_equal(p[i], (int16_t)((uint32_t)s[i] * (uint32_t)t[i] - (uint32_t)c[i]));
	}
}

/* ---- calls, control flow, private memory */

static int fibonacci(int n, const int *a)
{
	return n < 2 ? a[n] : (int)((uint32_t)fibonacci(n - 1, a) + (uint32_t)fibonacci(n - 2, a));
}

static float helper(float x, int k)
{
	return k & 1 ? x * 3 : x - 1.5f;
}

static void test_calls(void **unused)
{
	enum { N = 128 };
	int a[N], *o;
	float f[N], *r;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++) {
		a[i] = (int)rnd();
		f[i] = (float)i * 0.3f;
	}
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, NULL, sizeof a, &o);
	buffer(&k, f, sizeof f, &r);
	launch("calls", 2, 1, N / 2, 1, &k);
	for (int i = 0; i < N; i++) {
		assert_int_equal(o[i], fibonacci(a[i] & 7, a));
		assert_true(r[i] == helper(helper(f[i], i), i >> 1));
	}
}

static float choose(int a, float v)
{
	switch (a) {
	case 0: return v + 1;
	case 1: return v * 2;
	case 2: return floorf(v) + ceilf(v) * 3;
	case 3: return truncf(v);
	case 4: return rintf(v);
	case 5: return -v;
	case 6: return fabsf(v) - 1;
	case 7: return fminf(v, 2.5f);
	case 8: return fmaxf(v, -2.5f);
	case 9: return v > 0 ? 5 : 6;
	default: return (float)a * 0.5f;
	}
}

static void test_switch(void **unused)
{
	enum { N = 192 };
	int a[N];
	float v[N], *o;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++) {
		a[i] = (int)(rnd() % 13);
		v[i] = (float)(int)rnd() * 0x1p-28f;
	}
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, v, sizeof v, &o);
	launch("choose", 2, 1, N / 2, 1, &k);
	for (int i = 0; i < N; i++)
		assert_true(o[i] == choose(a[i], v[i]));
}

static void test_private(void **unused)
{
	enum { N = 100, THREADS = 128 };
	int a[N], *o;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++)
		a[i] = (int)(rnd() & 0xffff);
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, NULL, THREADS * sizeof *o, &o);
	INT(&k, N);
	launch("private_array", 1, 1, THREADS, 1, &k);
	for (int g = 0; g < THREADS; g++) {
		int b[64];
		uint32_t s = 0;
		for (int i = 0; i < 64; i++)
			b[i] = a[(g + i) % N];
		for (int i = 0; i < 64; i++) {
			int j = b[i] & 63, t = b[j];
			b[j] = b[i] + 1;
			b[i] = t;
		}
		for (int i = 0; i < N; i++)
			s = s * 31 + (uint32_t)b[a[i] & 63];
		assert_int_equal(o[g], (int)s);
	}
}

static void test_divergent(void **unused)
{
	enum { N = 256 };
	int a[N], *o;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++)
		a[i] = (int)(rnd() & 0x3ff);
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, NULL, sizeof a, &o);
	launch("divergent", 2, 1, N / 2, 1, &k);
	for (int g = 0; g < N; g++) {
		int v = a[g], s = 0;
		for (int i = 0; i < (v & 15); i++) {
			if (i & 1)
				s += v;
			else if ((v >> i) & 1)
				s ^= i;
			else
				continue;
			if (s > 1000)
				break;
		}
		assert_int_equal(o[g], s);
	}
}

static void test_generic(void **unused)
{
	(void)unused;
	for (int which = 0; which < 3; which++) {
		int g[192], *o;
		struct kernel_args k = {0};

		for (int i = 0; i < 192; i++)
			g[i] = i * 7;
		buffer(&k, g, sizeof g, &o);
		INT(&k, which);
		launch("generic_pointer", 1, 1, 64, 1, &k);
		for (int i = 0; i < 64; i++) {
			int value = which == 0 ? i * 100 : which == 1 ? i * ((i & 3) + 1) : (64 + i) * 7;
			assert_int_equal(o[i], value);
			assert_int_equal(o[64 + i], (64 + i) * 7 + (which == 2));
			assert_int_equal(o[128 + i], i * 100 + i * 10 + (which != 2));
		}
	}
}

static void test_dynamic_lds(void **unused)
{
	struct device_launch l = {object, "dynamic_lds", {2, 1}, {128, 1}, 128 * 4, 0, 0, 0};
	struct amdgpu_fault f;
	struct kernel_args k = {0};
	int *o;

	(void)unused;
	buffer(&k, NULL, 256 * sizeof *o, &o);
	INT(&k, 0); /* a pointer to LDS is an offset in it */
	if (device_run(&memory, &l, &k, &f, NULL))
		fail_msg("%s", f.message);
	for (int i = 0; i < 256; i++)
		assert_int_equal(o[i], (127 - i % 128) * (127 - i % 128));
}

/* ---- arithmetic with special values */

static float special32(uint32_t i)
{
	static const uint32_t s[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x7f7fffff,
				     0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000, 0x3f800001, 0xbf7fffff,
				     0x00000123, 0x7e800000, 0x7f000001, 0x0c000000, 0x40490fdb};
	return f32_from(i < sizeof s / sizeof *s ? s[i] : rnd());
}

static double special64(uint32_t i)
{
	static const uint64_t s[] = {0,
				     1,
				     0x000fffffffffffff,
				     0x0010000000000000,
				     0x7fefffffffffffff,
				     0x7ff0000000000000,
				     0xfff0000000000000,
				     0x7ff8000000000000,
				     0x3ff0000000000000,
				     0x7fe0000000000001,
				     0x3ff0000000000001,
				     0x0340000000000000,
				     0x8000000000000000};
	return f64_from(i < sizeof s / sizeof *s ? s[i] : (uint64_t)rnd() << 32 | rnd());
}

static void test_divide(void **unused)
{
	enum { N = 1024 };
	static float a[N], b[N];
	static double c[N], d[N];
	float *q, *s;
	double *r, *t;
	struct kernel_args k = {0};

	(void)unused;
	for (uint32_t i = 0; i < N; i++) {
		a[i] = special32(i % 32);
		b[i] = special32(i / 32);
		c[i] = special64(i % 32);
		d[i] = special64(i / 32);
	}
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, b, sizeof b, NULL);
	buffer(&k, NULL, sizeof a, &q);
	buffer(&k, NULL, sizeof a, &s);
	buffer(&k, c, sizeof c, NULL);
	buffer(&k, d, sizeof d, NULL);
	buffer(&k, NULL, sizeof c, &r);
	buffer(&k, NULL, sizeof c, &t);
	launch("divide", 8, 1, N / 8, 1, &k);
	for (int i = 0; i < N; i++) {
		float wq = a[i] / b[i], ws = sqrtf(a[i]);
		double wr = c[i] / d[i], wt = sqrt(c[i]);
		if (!(wq == q[i] || (wq != wq && q[i] != q[i])))
			fail_msg("%a / %a = %a, expected %a", (double)a[i], (double)b[i], (double)q[i],
				 (double)wq);
		if (!(ws == s[i] || (ws != ws && s[i] != s[i])))
			fail_msg("sqrt(%a) = %a, expected %a", (double)a[i], (double)s[i], (double)ws);
		if (!(wr == r[i] || (wr != wr && r[i] != r[i])))
			fail_msg("%a / %a = %a, expected %a", c[i], d[i], r[i], wr);
		if (!(wt == t[i] || (wt != wt && t[i] != t[i])))
			fail_msg("sqrt(%a) = %a, expected %a", c[i], t[i], wt);
	}
}

static void check_integers(const int32_t *o, const int64_t *p, int x, int y, int64_t u, int64_t v)
{
	assert_int_equal(o[0], x / y);
	assert_int_equal(o[1], x % y);
	assert_int_equal((uint32_t)o[2], (uint32_t)x / (uint32_t)y);
	assert_int_equal((uint32_t)o[3], (uint32_t)x % (uint32_t)y);
	assert_int_equal((uint32_t)o[4], (uint32_t)x * (uint32_t)y + (uint32_t)(x < y ? x : y));
	assert_int_equal(o[5], ((int64_t)x * y) >> 32);
	assert_true(p[0] == u / v);
	assert_true(p[1] == (int64_t)((uint64_t)u % (uint64_t)v));
	assert_true(p[2] == (int64_t)((uint64_t)u * (uint64_t)v));
	assert_true(p[3] == (int64_t)((uint64_t)u << (v & 63)));
	assert_true(p[4] == u >> (v & 63));
	assert_true(p[5] == (int64_t)((uint64_t)u >> (v & 63)));
}

static void test_integers(void **unused)
{
	enum { N = 256 };
	int32_t a[N], b[N], *o;
	int64_t c[N], d[N], *p;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++) {
		a[i] = (int32_t)rnd();
		b[i] = (int32_t)(rnd() >> (i & 31));
		c[i] = (int64_t)((uint64_t)rnd() << 32 | rnd());
		d[i] = (int64_t)(((uint64_t)rnd() << 32 | rnd()) >> (i & 63));
	}
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, b, sizeof b, NULL);
	buffer(&k, NULL, 6 * sizeof a, &o);
	buffer(&k, c, sizeof c, NULL);
	buffer(&k, d, sizeof d, NULL);
	buffer(&k, NULL, 6 * sizeof c, &p);
	launch("integers", 2, 1, N / 2, 1, &k);
	for (int i = 0; i < N; i++)
		check_integers(o + 6 * i, p + 6 * i, a[i], b[i] | 1, c[i], d[i] | 1);
}

static void test_convert(void **unused)
{
	enum { N = 128 };
	float a[N], *back;
	_Float16 *h;
	uint8_t *u;
	int16_t *s;
	double *d;
	int64_t *l;
	int32_t *i32;
	uint32_t *u32;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++)
		a[i] = (float)(int)(rnd() & 0xffff) * 0.77f - 20000.0f;
	for (int i = 0; i < 32; i++)
		a[i] = (float)i * 0x1p-26f;
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, NULL, 2 * N, &h);
	buffer(&k, NULL, N, &u);
	buffer(&k, NULL, 2 * N, &s);
	buffer(&k, NULL, 8 * N, &d);
	buffer(&k, NULL, 8 * N, &l);
	buffer(&k, NULL, 4 * N, &i32);
	buffer(&k, NULL, 4 * N, &u32);
	buffer(&k, NULL, 4 * N, &back);
	launch("convert", 1, 1, N, 1, &k);
	for (int i = 0; i < N; i++) {
		float x = a[i];
		assert_true(f16(h[i]) == f16((_Float16)x));
		assert_int_equal(u[i], (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x));
		if (fabsf(x) < 32767)
			assert_int_equal(s[i], (int16_t)x);
		assert_true(d[i] == (double)x && l[i] == (int64_t)x && i32[i] == (int32_t)x);
		assert_int_equal(u32[i], (uint32_t)fabsf(x));
		assert_true(back[i] == (float)l[i] + (float)u[i] + (float)s[i] + (float)(double)h[i]);
	}
}

static uint32_t reverse(uint32_t v)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i++)
		r |= (v >> i & 1) << (31 - i);
	return r;
}

static void test_bits(void **unused)
{
	enum { N = 128 };
	uint32_t a[N], *o;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++)
		a[i] = i == 7 ? 0 : rnd() >> (i & 31);
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, NULL, 8 * sizeof a, &o);
	launch("bits", 2, 1, N / 2, 1, &k);
	for (int i = 0; i < N; i++) {
		uint32_t x = a[i];
		assert_int_equal(o[8 * i], __builtin_popcount(x));
		assert_int_equal(o[8 * i + 1], x ? __builtin_clz(x) : 77);
		assert_int_equal(o[8 * i + 2], reverse(x));
		assert_int_equal(o[8 * i + 3], __builtin_bswap32(x));
		assert_int_equal(o[8 * i + 4], __builtin_ctz(x | 1u << 31));
		assert_int_equal(o[8 * i + 5], (x >> 5 & 31) + (uint32_t)((int32_t)(x << 9) >> 22));
		assert_int_equal(o[8 * i + 6], x << 13 | x >> 19);
		assert_int_equal(o[8 * i + 7], (uint32_t)__builtin_popcountl((uint64_t)x << 17 ^ x) +
						       ((uint8_t)x > (uint8_t)(x >> 8)));
	}
}

static uint32_t next_up(uint32_t f, bool away)
{
	return away ? f + 1 : f;
}

/* The correctly rounded results in the other modes, from the error of the nearest one in binary64. */
static float rounded(double exact, int mode)
{
	float f = (float)exact;
	double d = (double)f;
	bool up = mode == 1 || (mode == 3 && exact < 0), nearest_is_above = d > exact;

	if (d == exact || nearest_is_above == up)
		return f;
	/* the neighbour on the other side */
	return f32_from((d > 0) == up ? next_up(f32_bits(f), true) : f32_bits(f) - 1);
}

static void test_rounding(void **unused)
{
	enum { N = 64 };
	float a[N], b[N], *o;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++) {
		a[i] = (float)(1 + (int)(rnd() & 0xffffff)) * (i & 1 ? -0x1p-20f : 0x1p-20f);
		b[i] = (float)(1 + (int)(rnd() & 0xffffff)) * 0x1p-22f;
	}
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, b, sizeof b, NULL);
	buffer(&k, NULL, 4 * sizeof a, &o);
	launch("rounding", 1, 1, N, 1, &k);
	for (int i = 0; i < N; i++) {
		double x = (double)a[i], y = (double)b[i];
		assert_true(o[4 * i] == (float)(x + y));
		assert_true(o[4 * i + 1] == rounded(x + y, 1));
		assert_true(o[4 * i + 2] == rounded(x * y, 2));
		assert_true(o[4 * i + 3] == rounded(x * y + y, 3));
	}
}

/* ---- atomics and lanes */

static void test_atomics(void **unused)
{
	enum { N = 256 };
	int m[8] = {0, -5, 5, 0, -1, 0, 1000, 0}, *o, x = 0;
	uint64_t u[3] = {0}, *p;
	float *f;
	float *word;
	struct kernel_args k = {0};

	(void)unused;
	buffer(&k, m, sizeof m, &o);
	buffer(&k, u, sizeof u, &p);
	buffer(&k, NULL, N * sizeof *f, &f);
	buffer(&k, NULL, 4, &word);
	buffer(&k, NULL, 8, NULL);
	launch("atomics", 4, 1, N / 4, 1, &k);
	for (int i = 0; i < N; i++) {
		x ^= i;
		assert_true(f[i] == 1);
	}
	assert_int_equal(o[0], N * (N - 1) / 2);
	assert_int_equal(o[1], N - 1);
	assert_int_equal(o[2], -(N - 1));
	assert_int_equal(o[3], -1);
	assert_int_equal(o[4], (int)0xffff0000);
	assert_int_equal(o[5], x);
	assert_int_equal(o[6], 1000 - 2 * N);
	assert_int_equal(o[7], N);
	assert_true(p[0] == (uint64_t)(N * (N - 1) / 2) << 20 && p[1] == (uint64_t)(N - 1) << 33 &&
		    p[2] == 99);
	assert_true(*word == (float)N);
}

static void test_spin_lock(void **unused)
{
	int *count;
	struct kernel_args k = {0};

	(void)unused;
	buffer(&k, NULL, 4, NULL);
	buffer(&k, NULL, 4, &count);
	launch("spin_lock", 8, 1, 256, 1, &k);
	assert_int_equal(*count, 32);
}

static void test_lanes(void **unused)
{
	enum { N = 128 };
	int a[N], *o;
	int wave = (int)amdgpu_object_kernel(object, "lanes")->wave_size;
	struct kernel_args k = {0};

	(void)unused;
	for (int i = 0; i < N; i++)
		a[i] = (int)rnd();
	buffer(&k, a, sizeof a, NULL);
	buffer(&k, NULL, 8 * sizeof a, &o);
	launch("lanes", 1, 1, N, 1, &k);
	for (int i = 0; i < N; i++) {
		int base = i / wave * wave, l = i - base, row = l & ~15, r = l & 15;
		assert_int_equal(o[8 * i], (int)((uint32_t)a[base] + (uint32_t)a[base + 3]));
		assert_int_equal(o[8 * i + 1], r ? a[i - 1] : 7);
		assert_int_equal(o[8 * i + 2], a[i ^ 1]);
		assert_int_equal(o[8 * i + 3], a[i ^ 1]);
		assert_int_equal(o[8 * i + 4], a[base + row + 15 - r]);
		/* ds_permute reaches the first 32 lanes only: the others get no data */
		if (wave == 32)
			assert_int_equal(o[8 * i + 5], a[base + (l + 27) % 32]);
		else
			assert_int_equal(o[8 * i + 5], l < 32 ? a[base + 32 + (l + 27) % 32] : 0);
		assert_int_equal(o[8 * i + 6], row / 16 % 2 ? 9 : r < 15 ? a[i + 1] : 0);
		assert_int_equal(o[8 * i + 7], r / 4 < 2 ? a[base + row + ((r + 11) & 15)] : 1);
	}
}

/* ---- faults: each names what went wrong and where */

static void expect_fault(const char *kernel, struct kernel_args *k, enum amdgpu_fault_kind kind,
			 const char *text, struct amdgpu_fault *f)
{
	struct device_launch l = {object, kernel, {2, 1}, {64, 1}, 0, 0, 0, 100000};

	assert_int_not_equal(device_run(&memory, &l, k, f, NULL), 0);
	assert_int_equal(f->kind, kind);
	assert_non_null(strstr(f->message, kernel));
	assert_non_null(strstr(f->message, text));
	assert_true(f->instruction[0] != 0);
}

static void test_faults(void **unused)
{
	struct kernel_args k = {0};
	struct amdgpu_fault f;
	uint64_t address = device_buffer(&memory, NULL, 128 * 4, NULL);
	int one[2] = {1, 0};

	(void)unused;
	ARGS_VALUE(&k, uint64_t, address);
	INT(&k, 3);
	expect_fault("out_of_bounds", &k, AMDGPU_FAULT_ADDRESS, "in no allocation", &f);
	/* work-item 125 writes element 128, the first one beyond: block 1, item 61 */
	assert_true(f.address == address + 512);
	assert_int_equal(f.block[0], 1);
	assert_int_equal(f.wave * amdgpu_object_kernel(object, "out_of_bounds")->wave_size + f.lane, 61);
	k.used = 0;
	ARGS_VALUE(&k, uint64_t, address);
	expect_fault("endless", &k, AMDGPU_FAULT_BUDGET, "endless", &f);
	k.used = 0;
	ARGS_VALUE(&k, uint64_t, device_buffer(&memory, one, sizeof one, NULL));
	expect_fault("trap_", &k, AMDGPU_FAULT_TRAP, "trap 2", &f);
}

static void test_all_known(void **unused)
{
	const char *texts[8];
	size_t n = amdgpu_object_unknown(object, texts, 8);

	(void)unused;
	for (size_t i = 0; i < n && i < 8; i++)
		print_error("not understood: %s\n", texts[i]);
	assert_int_equal(n, 0);
}

static int release(void **unused)
{
	(void)unused;
	device_release(&memory);
	return 0;
}

#define CASE(name) cmocka_unit_test_teardown(test_##name, release)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CASE(all_known),
		CASE(vadd),
		CASE(saxpy4),
		CASE(sgemm),
		CASE(dgemm),
		CASE(reduce),
		CASE(scan),
		CASE(histogram),
		CASE(transpose),
		CASE(mandelbrot),
		CASE(bitonic),
		CASE(sha256),
		CASE(half),
		CASE(narrow),
		CASE(calls),
		CASE(switch),
		CASE(private),
		CASE(divergent),
		CASE(generic),
		CASE(dynamic_lds),
		CASE(divide),
		CASE(integers),
		CASE(convert),
		CASE(bits),
		CASE(rounding),
		CASE(atomics),
		CASE(spin_lock),
		CASE(lanes),
		CASE(faults),
	};
	int failed;

	object = argc == 2 ? device_load_file(&memory, argv[1]) : NULL;
	if (!object)
		return 1;
	failed = cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
	amdgpu_object_close(object);
	return failed != 0;
}
