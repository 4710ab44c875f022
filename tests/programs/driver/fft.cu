/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

struct complex {
	float re, im;
};

/* One transform of 2 * block_width() points per block, in shared memory: Stockham's self-sorting radix-2 scheme.
 * twiddle[k] = exp(-2 pi i k / n), for k < n / 2. The inverse conjugates them and divides by n. */
DEVICE_INLINE void butterflies(complex *from, complex *to, const complex *twiddle, u32 half, u32 span,
			       float sign)
{
	u32 j = thread_x(), k = j & (span - 1), step = half / span;
	complex a = from[j], b = from[j + half], w = twiddle[k * step];
	float wi = sign * w.im;
	complex t = {b.re * w.re - b.im * wi, b.re * wi + b.im * w.re};
	u32 place = 2 * (j - k) + k;

	to[place].re = a.re + t.re;
	to[place].im = a.im + t.im;
	to[place + span].re = a.re - t.re;
	to[place + span].im = a.im - t.im;
}

extern __shared__ complex points[];

__global__ void fft(const complex *in, complex *out, const complex *twiddle, u32 inverse)
{
	u32 half = block_width(), n = 2 * half, t = thread_x();
	complex *from = points, *to = points + n;
	float sign = inverse ? -1.0f : 1.0f, scale = inverse ? 1.0f / (float)n : 1.0f;

	in += (u64)block_x() * n;
	out += (u64)block_x() * n;
	from[t] = in[t];
	from[t + half] = in[t + half];
	barrier();
	for (u32 span = 1; span < n; span *= 2) {
		complex *swap = from;

		butterflies(from, to, twiddle, half, span, sign);
		barrier();
		from = to;
		to = swap;
	}
	for (u32 i = t; i < n; i += half) {
		out[i].re = from[i].re * scale;
		out[i].im = from[i].im * scale;
	}
}
