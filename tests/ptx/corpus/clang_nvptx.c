/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for clang's NVPTX back end without any CUDA header. */
#define KERNEL __attribute__((nvptx_kernel))
#define SHARED __attribute__((address_space(3)))
typedef float vec4 __attribute__((ext_vector_type(4)));

void barrier(void) __asm__("llvm.nvvm.barrier0");

static int global_id(void)
{
	return __nvvm_read_ptx_sreg_tid_x() + __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}

SHARED float tile[256];
__attribute__((address_space(4))) const int lookup[4] = {1, 2, 3, 4};
int variable = 5;
int *pointer = &variable;
struct record {
	int a;
	double b;
	char c[7];
};

__attribute__((noinline)) int gather(int *p, int n)
{
	int a[16], s = 0;
	for (int i = 0; i < 16; i++)
		a[i] = p[i];
	for (int i = 0; i < n; i++)
		s += a[(i * 5) & 15];
	return s;
}

__attribute__((noinline)) struct record change(struct record x)
{
	x.a++;
	x.b *= 2;
	return x;
}

KERNEL void structs(vec4 *a, float *b, int n, struct record v)
{
	int i = global_id();
	if (i < n) {
		tile[i & 255] = b[i];
		barrier();
		a[i] = a[i] * tile[(i + 1) & 255] + lookup[i & 3];
	}
	struct record r = change(v);
	b[0] = r.b + r.a + r.c[3] + gather((int *)b, n) + *pointer;
}

KERNEL void choices(long *p, int c)
{
	switch (c) {
	case 0: p[0] = 1; break;
	case 1: p[1] += 2; break;
	case 2: p[2] *= p[3]; break;
	case 3: p[3] /= p[4]; break;
	case 4: p[5] ^= 1; break;
	case 5: p[6] = p[7] % p[8]; break;
	case 6: p[1] = 9;
	}
	__atomic_fetch_add((int *)p, 1, __ATOMIC_RELAXED);
	__atomic_store_n(p + 3, 5, __ATOMIC_RELAXED);
	double *d = (double *)p;
	d[0] = d[1] / d[2];
	_Float16 *h = (_Float16 *)p;
	h[0] = h[1] * h[2] + h[3];
	__int128 *q = (__int128 *)p;
	q[0] = q[1] * q[2];
}

KERNEL void loops(int *p, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = i; j < n; j++) {
			if (p[j] < p[i]) {
				int t = p[i];
				p[i] = p[j];
				p[j] = t;
			}
			if (p[i] == 77)
				goto out;
		}
out:
	p[0] = 3;
}

int recursive(int n)
{
	return n < 2 ? n : recursive(n - 1) + recursive(n - 2);
}
typedef int (*function)(int);
int twice(int x)
{
	return 2 * x;
}
function table[2] = {recursive, twice};
KERNEL void indirect(int *p)
{
	p[0] = table[p[1] & 1](p[2]);
}
