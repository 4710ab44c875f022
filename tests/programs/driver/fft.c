/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch of transforms against the defining sum in double precision, and there and back again. The bound on the error
 * is that of Higham, "Accuracy and Stability of Numerical Algorithms", theorem 24.2: ||error|| <= log2(n) * eta *
 * ||result|| in the 2-norm, with eta = mu + gamma4 * (sqrt(2) + mu) for twiddle factors correct to mu. */
#include <math.h>

#include "host.h"

#define N     256
#define LOG2N 8
#define BATCH 6

struct complex {
	float re, im;
};

static double bound(void)
{
	double u = ldexp(1, -24), mu = 2 * u, gamma4 = 4 * u / (1 - 4 * u);

	return LOG2N * (mu + gamma4 * (sqrt(2) + mu)) * 1.01;
}

/* ||got - (re, im)|| <= limit * ||(re, im)|| */
static void expect_close(const char *what, const struct complex *got, const double *re, const double *im,
			 double limit)
{
	double error = 0, norm = 0;

	for (int i = 0; i < N; i++) {
		error +=
			(got[i].re - re[i]) * (got[i].re - re[i]) + (got[i].im - im[i]) * (got[i].im - im[i]);
		norm += re[i] * re[i] + im[i] * im[i];
	}
	if (!(sqrt(error) <= limit * sqrt(norm)))
		host_wrong("%s: error %g of the norm, allowed %g", what, sqrt(error / norm), limit);
}

static void check_forward(const struct complex *in, const struct complex *out)
{
	double re[N], im[N];

	for (int k = 0; k < N; k++) {
		re[k] = im[k] = 0;
		for (int i = 0; i < N; i++) {
			double angle = -2 * M_PI * (i * k % N) / N, c = cos(angle), s = sin(angle);

			re[k] += in[i].re * c - in[i].im * s;
			im[k] += in[i].re * s + in[i].im * c;
		}
	}
	expect_close("fft", out, re, im, bound());
}

static void check_round_trip(const struct complex *in, const struct complex *out)
{
	double re[N], im[N];

	for (int i = 0; i < N; i++) {
		re[i] = in[i].re;
		im[i] = in[i].im;
	}
	expect_close("inverse of fft", out, re, im, 2.1 * bound());
}

int main(void)
{
	static struct complex in[BATCH * N], out[BATCH * N], back[BATCH * N], twiddle[N / 2];
	uint32_t seed = 22, forward = 0, inverse = 1;
	struct dim grid = {BATCH, 1, 1}, block = {N / 2, 1, 1};

	for (int i = 0; i < BATCH * N; i++)
		in[i] = (struct complex){host_random_float(&seed) - 0.5f, host_random_float(&seed) - 0.5f};
	for (int k = 0; k < N / 2; k++)
		twiddle[k] = (struct complex){(float)cos(2 * M_PI * k / N), (float)-sin(2 * M_PI * k / N)};
	host_start();
	CUfunction fft = host_kernel("fft");
	CUdeviceptr din = host_buffer(in, sizeof(in)), dout = host_buffer(NULL, sizeof(out));
	CUdeviceptr dtwiddle = host_buffer(twiddle, sizeof(twiddle));

	host_launch(fft, "fft", grid, block, 2 * N * sizeof(*in), NULL,
		    (void *[]){&din, &dout, &dtwiddle, &forward});
	host_read(out, dout, sizeof(out));
	host_launch(fft, "fft", grid, block, 2 * N * sizeof(*in), NULL,
		    (void *[]){&dout, &din, &dtwiddle, &inverse});
	host_read(back, din, sizeof(back));
	for (int i = 0; i < BATCH; i++) {
		check_forward(in + i * N, out + i * N);
		check_round_trip(in + i * N, back + i * N);
	}
	CU(cuMemFree_v2(din));
	CU(cuMemFree_v2(dout));
	CU(cuMemFree_v2(dtwiddle));
	return host_finish();
}
