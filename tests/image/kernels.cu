// SPDX-License-Identifier: Apache-2.0
// Parameters of known layout: see test_image_nvcc.c.
struct Mixed {
	double d;
	float f[5];
};
struct Large {
	char c[5000];
};
__device__ int counters[7];
__constant__ float coefficients[3];

extern "C" __global__ void mixed(float *out, int n, Mixed m, char c, Large *p)
{
	if (n)
		out[0] = m.f[1] + c + p->c[n] + coefficients[n] + counters[n];
}

extern "C" __global__ void large(int q, Large b, short t, float f)
{
	if (q)
		counters[q] = b.c[q] + t + (int)f;
}

extern "C" __global__ void none(void)
{
	counters[0] = 1;
}
