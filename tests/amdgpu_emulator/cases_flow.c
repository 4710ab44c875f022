/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls, control flow, private and generic memory, atomics, cross-lane moves.
 */
#include "tests/amdgpu_emulator/kernel_cases.h"

static int fibonacci(int n, const int *a)
{
	return n < 2 ? a[n] : (int)((uint32_t)fibonacci(n - 1, a) + (uint32_t)fibonacci(n - 2, a));
}

static float helper(float x, int k)
{
	return k & 1 ? x * 3 : x - 1.5f;
}

void test_calls(void **unused)
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

void test_switch(void **unused)
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

void test_private(void **unused)
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

void test_divergent(void **unused)
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

void test_generic(void **unused)
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

void test_dynamic_lds(void **unused)
{
	struct device_launch l = {
		.object = object, .kernel = "dynamic_lds", .grid = {2, 1}, .block = {128, 1}, .lds = 128 * 4};
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

void test_atomics(void **unused)
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

void test_spin_lock(void **unused)
{
	int *count;
	struct kernel_args k = {0};

	(void)unused;
	buffer(&k, NULL, 4, NULL);
	buffer(&k, NULL, 4, &count);
	launch("spin_lock", 8, 1, 256, 1, &k);
	assert_int_equal(*count, 32);
}

void test_lanes(void **unused)
{
	enum { N = 128 };
	int a[N], *o;
	int wave = (int)amdgpu_object_kernel(object, "lanes")->wave_size;
	bool halves = !strncmp(amdgpu_object_target(object), "gfx10", 5) ||
		      !strncmp(amdgpu_object_target(object), "gfx11", 5);
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
		/* waves of 64: each half for itself on gfx10 and gfx11; later lanes win elsewhere, and the upper half gets no data */
		if (wave == 32 || halves)
			assert_int_equal(o[8 * i + 5], a[base + (l & 32) + (l + 27) % 32]);
		else
			assert_int_equal(o[8 * i + 5], l < 32 ? a[base + 32 + (l + 27) % 32] : 0);
		assert_int_equal(o[8 * i + 6], row / 16 % 2 ? 9 : r < 15 ? a[i + 1] : 0);
		assert_int_equal(o[8 * i + 7], r / 4 < 2 ? a[base + row + ((r + 11) & 15)] : 1);
	}
}
