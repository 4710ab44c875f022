/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of our own for the emulator's tests, without a device library: clang-19 -x cl -target amdgcn-amd-amdhsa.
 * kernel_cases.c runs them and has the same computations for the host.
 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef float float4 __attribute__((ext_vector_type(4)));
typedef half half2 __attribute__((ext_vector_type(2)));
typedef int int2 __attribute__((ext_vector_type(2)));

#define LID ((int)__builtin_amdgcn_workitem_id_x())
#define LIDY ((int)__builtin_amdgcn_workitem_id_y())
#define WG ((int)__builtin_amdgcn_workgroup_id_x())
#define WGY ((int)__builtin_amdgcn_workgroup_id_y())
#define SIZE ((int)__builtin_amdgcn_workgroup_size_x())
#define GID (WG * SIZE + LID)

static void barrier(void)
{
	__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}

kernel void vadd(global const float *a, global const float *b, global float *c, int n)
{
	int i = GID;
	if (i < n)
		c[i] = a[i] + b[i];
}

kernel void saxpy4(global const float4 *a, global float4 *y, float s, int n)
{
	int i = GID;
	if (i < n)
		for (int k = 0; k < 4; k++)
			y[i][k] = __builtin_fmaf(s, a[i][k], y[i][k]);
}

kernel void sgemm(global const float *A, global const float *B, global float *C, int n)
{
	local float As[16][17], Bs[16][17];
	int tx = LID, ty = LIDY, r = WGY * 16 + ty, c = WG * 16 + tx;
	float s = 0;
	for (int t = 0; t < n; t += 16) {
		As[ty][tx] = A[r * n + t + tx];
		Bs[ty][tx] = B[(t + ty) * n + c];
		barrier();
		for (int k = 0; k < 16; k++)
			s = __builtin_fmaf(As[ty][k], Bs[k][tx], s);
		barrier();
	}
	C[r * n + c] = s;
}

kernel void dgemm(global const double *A, global const double *B, global double *C, int n)
{
	int r = WGY * 16 + LIDY, c = WG * 16 + LID;
	double s = 0;
	for (int k = 0; k < n; k++)
		s = __builtin_fma(A[r * n + k], B[k * n + c], s);
	C[r * n + c] = s;
}

static float bpermute(int lane, float v)
{
	return __builtin_astype(__builtin_amdgcn_ds_bpermute(lane << 2, __builtin_astype(v, int)), float);
}

static float reduce32(float v)
{
	for (int o = 16; o; o >>= 1)
		v += bpermute((LID ^ o) & 63, v);
	return v;
}

kernel void reduce(global const float *a, global float *o, int n, int total)
{
	local float s[32];
	float v = 0;
	for (int i = GID; i < n; i += total)
		v += a[i];
	v = reduce32(v);
	if ((LID & 31) == 0)
		s[LID >> 5] = v;
	barrier();
	if (LID < 32) {
		v = LID < SIZE >> 5 ? s[LID] : 0;
		v = reduce32(v);
		if (LID == 0)
			o[WG] = v;
	}
}

kernel void scan(global int *a)
{
	local int s[2][256];
	int p = 0, l = LID;
	s[0][l] = a[GID];
	barrier();
	for (int d = 1; d < 256; d *= 2) {
		int q = 1 - p;
		s[q][l] = l >= d ? s[p][l] + s[p][l - d] : s[p][l];
		p = q;
		barrier();
	}
	a[GID] = s[p][l];
}

#define ADD(p, v) __opencl_atomic_fetch_add(p, v, __ATOMIC_RELAXED, 2)

kernel void histogram(global const uchar *d, global atomic_uint *h, int n, int total)
{
	local atomic_uint s[256];
	__opencl_atomic_store(&s[LID], 0, __ATOMIC_RELAXED, 1);
	barrier();
	for (int i = GID; i < n; i += total)
		__opencl_atomic_fetch_add(&s[d[i]], 1, __ATOMIC_RELAXED, 1);
	barrier();
	ADD(&h[LID], __opencl_atomic_load(&s[LID], __ATOMIC_RELAXED, 1));
}

kernel void transpose(global const float *a, global float *b, int n)
{
	local float t[32][33];
	int x = WG * 32 + LID, y = WGY * 32 + LIDY;
	for (int j = 0; j < 32; j += 8)
		t[LIDY + j][LID] = a[(y + j) * n + x];
	barrier();
	x = WGY * 32 + LID;
	y = WG * 32 + LIDY;
	for (int j = 0; j < 32; j += 8)
		b[(y + j) * n + x] = t[LID][LIDY + j];
}

kernel void mandelbrot(global int *o, int w, int h, int m)
{
	int x = WG * 16 + LID, y = WGY * 16 + LIDY, i = 0;
	float cr = __builtin_fmaf((float)x, 0.046875f, -2.0f), ci = __builtin_fmaf((float)y, 0.03125f, -1.0f), zr = 0,
	      zi = 0;
	while (i < m && __builtin_fmaf(zr, zr, zi * zi) < 4) {
		float t = __builtin_fmaf(zr, zr, __builtin_fmaf(-zi, zi, cr));
		zi = __builtin_fmaf(2 * zr, zi, ci);
		zr = t;
		i++;
	}
	o[y * w + x] = i;
}

kernel void bitonic(global uint *d, int j, int k)
{
	uint i = GID, l = i ^ j;
	if (l > i) {
		uint a = d[i], b = d[l];
		bool up = (i & k) == 0;
		if ((a > b) == up) {
			d[i] = b;
			d[l] = a;
		}
	}
}

static uint rotr(uint x, uint n)
{
	return x >> n | x << (32 - n);
}

kernel void sha256(global const uint *in, global uint *out, constant uint *K)
{
	uint w[16], s[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	uint t[8];
	for (int i = 0; i < 16; i++)
		w[i] = in[GID * 16 + i];
	for (int i = 0; i < 8; i++)
		t[i] = s[i];
	for (int i = 0; i < 64; i++) {
		if (i >= 16) {
			uint a = w[(i + 1) & 15], b = w[(i + 14) & 15];
			w[i & 15] += w[(i + 9) & 15] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) +
				     (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
		}
		uint e = t[4], a = t[0];
		uint x = t[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & t[5]) ^ (~e & t[6])) + K[i] + w[i & 15];
		uint y = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & t[1]) ^ (a & t[2]) ^ (t[1] & t[2]));
		for (int q = 7; q; q--)
			t[q] = t[q - 1];
		t[4] += x;
		t[0] = x + y;
	}
	for (int i = 0; i < 8; i++)
		out[GID * 8 + i] = s[i] + t[i];
}

kernel void half_math(global const half2 *a, global const half2 *b, global half2 *o, global half *h, global float *f)
{
	int i = GID;
	half2 x = a[i], y = b[i];
	half2 m = __builtin_elementwise_max(x, y), p = x * y;
	o[3 * i] = x + y;
	o[3 * i + 1] = __builtin_elementwise_fma(x, y, m);
	o[3 * i + 2] = p - m;
	h[2 * i] = x.x / y.x;
	h[2 * i + 1] = (half)(float)(x.y + (half)1);
	f[i] = (float)x.x * (float)y.y + (float)m.x;
}

__attribute__((noinline)) static int fibonacci(int n, global const int *a)
{
	return n < 2 ? a[n] : fibonacci(n - 1, a) + fibonacci(n - 2, a);
}

__attribute__((noinline)) static float helper(float x, int k)
{
	return k & 1 ? x * 3.0f : x - 1.5f;
}

kernel void calls(global const int *a, global int *o, global float *f)
{
	o[GID] = fibonacci(a[GID] & 7, a);
	f[GID] = helper(helper(f[GID], GID), GID >> 1);
}

kernel void divide(global const float *a, global const float *b, global float *q, global float *s,
		   global const double *c, global const double *d, global double *r, global double *t)
{
	int i = GID;
	q[i] = a[i] / b[i];
	s[i] = __builtin_sqrtf(a[i]);
	r[i] = c[i] / d[i];
	t[i] = __builtin_sqrt(c[i]);
}

kernel void integers(global const int *a, global const int *b, global int *o, global const long *c,
		     global const long *d, global long *p)
{
	int i = GID, x = a[i], y = b[i] | 1;
	long u = c[i], v = d[i] | 1;
	o[6 * i] = x / y;
	o[6 * i + 1] = x % y;
	o[6 * i + 2] = (uint)x / (uint)y;
	o[6 * i + 3] = (uint)x % (uint)y;
	o[6 * i + 4] = x * y + (x < y ? x : y);
	o[6 * i + 5] = ((long)x * y) >> 32;
	p[6 * i] = u / v;
	p[6 * i + 1] = (ulong)u % (ulong)v;
	p[6 * i + 2] = u * v;
	p[6 * i + 3] = u << (v & 63);
	p[6 * i + 4] = u >> (v & 63);
	p[6 * i + 5] = (ulong)u >> (v & 63);
}

kernel void choose(global const int *a, global float *o)
{
	float v = o[GID];
	switch (a[GID]) {
	case 0: v = v + 1; break;
	case 1: v = v * 2; break;
	case 2: v = __builtin_floorf(v) + __builtin_ceilf(v) * 3; break;
	case 3: v = __builtin_truncf(v); break;
	case 4: v = __builtin_rintf(v); break;
	case 5: v = -v; break;
	case 6: v = __builtin_fabsf(v) - 1; break;
	case 7: v = __builtin_fminf(v, 2.5f); break;
	case 8: v = __builtin_fmaxf(v, -2.5f); break;
	case 9: v = v > 0 ? 5 : 6; break;
	default: v = a[GID] * 0.5f;
	}
	o[GID] = v;
}

kernel void private_array(global const int *a, global int *o, int n)
{
	int b[64];
	for (int i = 0; i < 64; i++)
		b[i] = a[(GID + i) % n];
	for (int i = 0; i < 64; i++) {
		int j = b[i] & 63, t = b[j];
		b[j] = b[i] + 1;
		b[i] = t;
	}
	int s = 0;
	for (int i = 0; i < n; i++)
		s = s * 31 + b[a[i] & 63];
	o[GID] = s;
}

kernel void convert(global const float *a, global half *h, global uchar *u, global short *s, global double *d,
		    global long *l, global int *i32, global uint *u32, global float *back)
{
	int i = GID;
	float x = a[i];
	h[i] = (half)x;
	u[i] = (uchar)(x < 0 ? 0 : x > 255 ? 255 : x);
	s[i] = (short)x;
	d[i] = x;
	l[i] = (long)x;
	i32[i] = (int)x;
	u32[i] = (uint)(x < 0 ? -x : x);
	back[i] = (float)l[i] + (float)u[i] + (float)s[i] + (float)(double)h[i];
}

kernel void bits(global const uint *a, global uint *o)
{
	uint x = a[GID];
	o[8 * GID] = __builtin_popcount(x);
	o[8 * GID + 1] = x ? __builtin_clz(x) : 77;
	o[8 * GID + 2] = __builtin_bitreverse32(x);
	o[8 * GID + 3] = __builtin_bswap32(x);
	o[8 * GID + 4] = __builtin_ctz(x | 1u << 31);
	o[8 * GID + 5] = (x >> 5 & 31) + ((int)(x << 9) >> 22);
	o[8 * GID + 6] = x << 13 | x >> 19;
	o[8 * GID + 7] = __builtin_popcountl((ulong)x << 17 ^ x) + ((uchar)x > (uchar)(x >> 8));
}

kernel void atomics(global atomic_int *m, global atomic_ulong *u, global float *f, global atomic_uint *word, global double *sum)
{
	int i = GID;
	__opencl_atomic_fetch_add(m, i, __ATOMIC_SEQ_CST, 2);
	__opencl_atomic_fetch_max(m + 1, i, __ATOMIC_RELAXED, 2);
	__opencl_atomic_fetch_min(m + 2, -i, __ATOMIC_RELAXED, 2);
	__opencl_atomic_fetch_or(m + 3, 1 << (i & 31), __ATOMIC_RELAXED, 2);
	__opencl_atomic_fetch_and(m + 4, ~(1 << (i & 15)), __ATOMIC_RELAXED, 2);
	__opencl_atomic_fetch_xor(m + 5, i, __ATOMIC_RELAXED, 2);
	__opencl_atomic_fetch_sub(m + 6, 2, __ATOMIC_RELAXED, 2);
	__opencl_atomic_fetch_add(u, (ulong)i << 20, __ATOMIC_RELAXED, 2);
	__opencl_atomic_fetch_max(u + 1, (ulong)i << 33, __ATOMIC_RELAXED, 2);
	ulong expected = 0;
	__opencl_atomic_compare_exchange_strong(u + 2, &expected, 99ul, __ATOMIC_RELAXED, __ATOMIC_RELAXED, 2);
	uint old = __opencl_atomic_load(word, __ATOMIC_RELAXED, 2), next;
	do
		next = __builtin_astype(__builtin_astype(old, float) + 1.0f, uint);
	while (!__opencl_atomic_compare_exchange_weak(word, &old, next, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, 2));
	/* who came first is not known, that everybody has a place of his own is */
	f[__opencl_atomic_fetch_add(m + 7, 1, __ATOMIC_RELAXED, 2)] = 1.0f;
}

kernel void spin_lock(global atomic_int *lock, global int *count)
{
	if (LID % 64 == 0) {
		int expected = 0;
		while (!__opencl_atomic_compare_exchange_strong(lock, &expected, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, 2))
			expected = 0;
		*(volatile global int *)count += 1;
		__opencl_atomic_store(lock, 0, __ATOMIC_RELEASE, 2);
	}
}

kernel void lanes(global const int *a, global int *o)
{
	int v = a[GID];
	int f = __builtin_amdgcn_readfirstlane(v);
	int g = __builtin_amdgcn_readlane(v, 3);
	o[8 * GID] = f + g;
	o[8 * GID + 1] = __builtin_amdgcn_update_dpp(7, v, 0x111, 0xf, 0xf, false); /* row_shr:1 */
	o[8 * GID + 2] = __builtin_amdgcn_mov_dpp(v, 0xb1, 0xf, 0xf, true);          /* quad_perm:[1,0,3,2] */
	o[8 * GID + 3] = __builtin_amdgcn_ds_swizzle(v, 0x041f);                     /* lane ^ 1 */
	o[8 * GID + 4] = __builtin_amdgcn_update_dpp(0, v, 0x140, 0xf, 0xf, true);   /* row_mirror */
	o[8 * GID + 5] = __builtin_amdgcn_ds_permute(((LID + 5) & 31) << 2, v);
	o[8 * GID + 6] = __builtin_amdgcn_update_dpp(9, v, 0x101, 0x5, 0xf, true);   /* row_shl:1, rows 0 and 2 */
	o[8 * GID + 7] = __builtin_amdgcn_update_dpp(1, v, 0x125, 0xf, 0x3, false);  /* row_ror:5, banks 0 and 1 */
}

kernel void divergent(global const int *a, global int *o)
{
	int v = a[GID], s = 0;
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
	o[GID] = s;
}

kernel void rounding(global const float *a, global const float *b, global float *o)
{
	int i = GID;
	float x = a[i], y = b[i];
	o[4 * i] = x + y;
	/* MODE[1:0]: up, down, toward zero; in one piece each, or the compiler would move them */
	__asm__ volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\n\tv_add_f32 %0, %1, %2\n\t"
			 "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0" : "=&v"(o[4 * i + 1]) : "v"(x), "v"(y));
	__asm__ volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 2\n\tv_mul_f32 %0, %1, %2\n\t"
			 "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0" : "=&v"(o[4 * i + 2]) : "v"(x), "v"(y));
	__asm__ volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\n\tv_fma_f32 %0, %1, %2, %2\n\t"
			 "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0" : "=&v"(o[4 * i + 3]) : "v"(x), "v"(y));
}

kernel void narrow(global const char *c, global const ushort *s, global const short *t, global uchar *o, global short *p)
{
	int i = GID;
	o[i] = (uchar)(c[i] * 3 + s[i]);
	p[i] = (short)(s[i] * t[i] - c[i]);
}

kernel void generic_pointer(global int *g, int which)
{
	local int l[64];
	int q[4] = { LID, LID * 2, LID * 3, LID * 4 };
	l[LID] = LID * 100;
	barrier();
	int *p = which == 0 ? (int *)&l[LID] : which == 1 ? (int *)&q[LID & 3] : (int *)&g[64 + LID];
	g[LID] = *p;
	*p = *p + 1;
	g[128 + LID] = l[LID] + q[0] + q[1] + q[2] + q[3];
}

kernel void dynamic_lds(global int *o, local int *s)
{
	s[LID] = LID * LID;
	barrier();
	o[GID] = s[SIZE - 1 - LID];
}

kernel void out_of_bounds(global int *o, int n)
{
	o[GID + n] = 1;
}

kernel void endless(global int *o)
{
	while (*(volatile global int *)o == 0)
		;
}

kernel void trap_(global int *o)
{
	if (o[0])
		__builtin_trap();
	o[1] = 1;
}

/* All workgroups meet, three times: each reads what its neighbour wrote before. `sleep`: whether who waits says so. */
kernel void grid_barrier(global atomic_int *count, global int *data, global int *o, int groups, int sleep)
{
	for (int round = 1; round <= 3; round++) {
		if (LID == 0)
			((volatile global int *)data)[WG] = WG * round;
		barrier();
		if (LID == 0) {
			__opencl_atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL, 2);
			while (__opencl_atomic_load(count, __ATOMIC_ACQUIRE, 2) < groups * round)
				if (sleep)
					__builtin_amdgcn_s_sleep(1);
		}
		barrier();
		o[round * groups + WG] = ((volatile global int *)data)[(WG + 1) % groups];
		barrier();
		if (LID == 0) {
			__opencl_atomic_fetch_add(count + 1, 1, __ATOMIC_ACQ_REL, 2);
			while (__opencl_atomic_load(count + 1, __ATOMIC_ACQUIRE, 2) < groups * round)
				if (sleep)
					__builtin_amdgcn_s_sleep(1);
		}
		barrier();
	}
}

/* Waves that wait for each other in LDS. */
kernel void lds_polling(global int *o)
{
	local atomic_int turn;
	if (LID == 0)
		__opencl_atomic_store(&turn, 0, __ATOMIC_RELAXED, 1);
	barrier();
	if (LID % 64 == 0) {
		int mine = SIZE / 64 - 1 - LID / 64;
		while (__opencl_atomic_load(&turn, __ATOMIC_ACQUIRE, 1) != mine)
			;
		o[mine] = LID;
		__opencl_atomic_store(&turn, mine + 1, __ATOMIC_RELEASE, 1);
	}
}

kernel void lds_out_of_bounds(global int *o, int n)
{
	local volatile int l[64];
	l[LID] = LID;
	l[LID + n] = 1;
	o[GID] = l[LID];
}

kernel void scratch_out_of_bounds(global int *o, int n)
{
	volatile int q[8];
	for (int i = 0; i < 8; i++)
		q[i] = i;
	q[n] = 1;
	o[GID] = q[n & 7];
}

kernel void misaligned(global char *o)
{
	__opencl_atomic_fetch_add((global atomic_int *)(o + 2), 1, __ATOMIC_RELAXED, 2);
}
