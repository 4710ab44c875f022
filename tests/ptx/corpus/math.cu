// SPDX-License-Identifier: Apache-2.0
// The math library, in both precisions, and integer intrinsics.
#include <cmath>
template <class T> __device__ T everything(T x, T y)
{
	int e;
	T s, c, i;
	sincos(x, &s, &c);
	return sin(x) + cos(y) + tan(x) + asin(x) + acos(x) + atan2(x, y) + exp(x) + exp2(x) + exp10(x) + expm1(x) + log(x) + log2(x) +
	       log10(x) + log1p(x) + pow(x, y) + sqrt(x) + rsqrt(x) + cbrt(x) + hypot(x, y) + erf(x) + erfc(x) + tgamma(x) +
	       lgamma(x) + sinh(x) + cosh(x) + tanh(x) + asinh(x) + acosh(x) + atanh(x) + floor(x) + ceil(x) + trunc(x) +
	       round(x) + rint(x) + fmod(x, y) + remainder(x, y) + fma(x, y, x) + fmin(x, y) + fmax(x, y) + fdim(x, y) +
	       copysign(x, y) + nextafter(x, y) + frexp(x, &e) + ldexp(x, e) + modf(x, &i) + i + s + c + j0(x) + y1(x) +
	       normcdf(x) + isnan(x) + isinf(y) + signbit(x) + x / y + (x < y) + (T)(int)x + (T)(long long)y + (T)(unsigned)x;
}
extern "C" __global__ void f32(float *p) { p[0] = everything(p[1], p[2]); }
extern "C" __global__ void f64(double *p) { p[0] = everything(p[1], p[2]); }
extern "C" __global__ void rounded(float *f, double *d, int *i, long long *l)
{
	f[0] = __fadd_rn(f[1], f[2]) + __fadd_rz(f[1], f[2]) + __fmul_ru(f[1], f[2]) + __fmaf_rd(f[1], f[2], f[3]) + __fdiv_rz(f[1], f[2]) +
	       __fsqrt_rd(f[1]) + __frcp_rn(f[2]) + __frsqrt_rn(f[1]) + __expf(f[1]) + __sinf(f[1]) + __logf(f[2]) + __powf(f[1], f[2]) +
	       __fdividef(f[1], f[2]) + __saturatef(f[3]) + __tanf(f[4]);
	d[0] = __dadd_rz(d[1], d[2]) + __dmul_rd(d[1], d[2]) + __fma_ru(d[1], d[2], d[3]) + __ddiv_rn(d[1], d[2]) + __dsqrt_rz(d[1]) +
	       __drcp_ru(d[2]) + __int2double_rn(i[1]) + __ll2double_rz(l[1]) + __hiloint2double(i[1], i[2]) + __longlong_as_double(l[2]);
	i[0] = __float2int_rd(f[1]) + __float2uint_ru(f[1]) + __double2int_rn(d[1]) + __float_as_int(f[2]) + __double2hiint(d[2]) +
	       __mulhi(i[1], i[2]) + __umul24(i[1], i[2]) + __sad(i[1], i[2], 3u) + __byte_perm(i[1], i[2], 0x3120) + __hadd(i[1], i[2]) +
	       __funnelshift_l(i[1], i[2], i[3]) + __funnelshift_rc(i[1], i[2], i[3]) + __dp4a(i[1], i[2], i[3]) + abs(i[1]) + min(i[1], i[2]) +
	       __vadd4(i[1], i[2]) + __vabsdiffs2(i[1], i[2]) + __vcmpgtu4(i[1], i[2]) + (i[4] << (i[5] & 31)) + (i[4] >> 3) + i[6] % i[7] + i[8] / i[9];
	l[0] = __double2ll_rd(d[1]) + __float2ull_rz(f[1]) + __brevll(l[1]) + __popcll(l[2]) + __clzll(l[3]) + __ffsll(l[4]) +
	       l[5] / l[6] + l[7] % l[8] + (unsigned long long)l[9] / 7u + clock64() + clock() + (long long)__umul64hi(l[1], l[2]);
}
extern "C" __global__ void wide(__int128 *p, unsigned __int128 *q) { p[0] = p[1] * p[2] + p[3] - p[4]; q[0] = q[1] / q[2]; }
