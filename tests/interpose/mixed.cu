/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel whose parameters have gaps between them: naturally aligned they lie at 0, 8, 16, 24 and 32, and the last one
 * has 12 bytes. Built into machine code without PTX.
 */
struct pair {
	int a;
	char b[5];
};

extern "C" __global__ void ask_mixed(char c, double d, short s, double *p, pair t)
{
	p[threadIdx.x] = d + c + s + t.a + t.b[threadIdx.x % 5];
}
