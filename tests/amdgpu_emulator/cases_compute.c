/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels as programs have them: matrices, reductions, sorting, hashing.
 */
#include "tests/amdgpu_emulator/kernel_cases.h"
#include "tests/amdgpu_emulator/sha256_constants.h"

void test_vadd(void **unused)
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

void test_saxpy4(void **unused)
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

void test_sgemm(void **unused)
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

void test_dgemm(void **unused)
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

void test_reduce(void **unused)
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

void test_scan(void **unused)
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

void test_histogram(void **unused)
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

void test_transpose(void **unused)
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

void test_mandelbrot(void **unused)
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

void test_bitonic(void **unused)
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
void test_sha256(void **unused)
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
