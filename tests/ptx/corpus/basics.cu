// SPDX-License-Identifier: Apache-2.0
// Everyday kernels: the shapes of code that nvcc emits most.
#include <cstdint>
#include <cstdio>
#include <cassert>

__constant__ float weights[16] = {1, 2, 3, 4};
__device__ int counter;
__device__ float table[4][3] = {{1, 2, 3}, {4}};
__device__ int *pointer_to_counter = &counter;
__managed__ int managed_value = 7;

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = a[i] + b[i];
}

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n)
{
	__shared__ float ta[16][16], tb[16][16];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	float sum = 0;
	for (int t = 0; t < n / 16; t++) {
		ta[threadIdx.y][threadIdx.x] = a[y * n + t * 16 + threadIdx.x];
		tb[threadIdx.y][threadIdx.x] = b[(t * 16 + threadIdx.y) * n + x];
		__syncthreads();
		for (int k = 0; k < 16; k++)
			sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
		__syncthreads();
	}
	c[y * n + x] = sum;
}

extern "C" __global__ void reduce(const int *in, int *out, int n)
{
	extern __shared__ int dynamic[];
	int v = 0;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		v += in[i];
	for (int d = 16; d; d >>= 1)
		v += __shfl_down_sync(~0u, v, d);
	if (threadIdx.x % 32 == 0)
		dynamic[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (unsigned w = 1; w < blockDim.x / 32; w++)
			v += dynamic[w];
		atomicAdd(out, v);
	}
}

extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *ull, float *f, double *d)
{
	atomicMin(i, 3); atomicMax(i, 4); atomicExch(i, 5); atomicCAS(i, 5, 6); atomicSub(i, 1);
	atomicAnd(u, 3); atomicOr(u, 4); atomicXor(u, 5); atomicInc(u, 7); atomicDec(u, 7);
	atomicAdd(ull, 1ull); atomicCAS(ull, 1ull, 2ull); atomicMax(ull, 9ull); atomicExch(ull, 1ull);
	atomicAdd(f, 1.0f); atomicAdd(d, 1.0); atomicExch(f, 2.0f);
	atomicAdd_block(i, 1); atomicAdd_system(i, 1);
}

extern "C" __global__ void votes(int *out, int v)
{
	unsigned b = __ballot_sync(~0u, v > 3), m = __activemask();
	out[0] = b + __all_sync(m, v) + __any_sync(m, v) + __popc(b) + __clz(b) + __ffs(b) + __brev(b);
	out[1] = __shfl_sync(m, v, 3) + __shfl_up_sync(m, v, 1) + __shfl_xor_sync(m, v, 1);
#if __CUDA_ARCH__ >= 700
	int all;
	out[2] = __match_any_sync(m, v) + __match_all_sync(m, v, &all) + all;
#endif
#if __CUDA_ARCH__ >= 800
	out[3] = __reduce_add_sync(m, v) + __reduce_max_sync(m, v) + __reduce_xor_sync(m, (unsigned)v);
#endif
	__syncwarp();
	out[4] = __syncthreads_count(v) + __syncthreads_and(v) + __syncthreads_or(v);
	__threadfence(); __threadfence_block(); __threadfence_system();
}

extern "C" __global__ void printing(int n, double d, const char *s)
{
	printf("n = %d d = %f s = %s\n", n, d, s);
	assert(n > 3);
	if (n == 77)
		__trap();
	printf("done\n");
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
struct pair { int a; double b; char c[5]; };
__device__ __noinline__ pair swap_pair(pair p, float f) { pair q; q.a = (int)p.b; q.b = p.a + f; q.c[0] = p.c[4]; return q; }

extern "C" __global__ void calls(int *out, pair p)
{
	pair q = swap_pair(p, 1.5f);
	out[0] = fibonacci(q.a) + (int)q.b + q.c[0];
}

typedef int (*callback)(int);
__device__ int add1(int x) { return x + 1; }
__device__ int add2(int x) { return x + 2; }
__device__ callback callbacks[2] = {add1, add2};
extern "C" __global__ void indirect(int *out, int which) { out[0] = callbacks[which](3); }

extern "C" __global__ void switching(int *out, int v)
{
	int r = 0;
	switch (v) {
	case 0: r = out[1]; break;
	case 1: r = out[2] * 3; break;
	case 2: r = __clz(out[3]); break;
	case 3: r = out[4] ^ out[5]; break;
	case 4: r = out[6] / (out[7] + 1); break;
	case 5: r = atomicAdd(out, 3); break;
	case 6: r = out[8] % 7; break;
	case 7: out[9] = 0;
	default: r = -1;
	}
	out[0] = r;
}

extern "C" __global__ void local_array(int *out, int n)
{
	int stack[64];
	for (int i = 0; i < n; i++)
		stack[(i * 7) % 64] = out[i];
	out[0] = stack[n & 63] + stack[(n + 3) & 63];
}

extern "C" __global__ void constants(float *out) { out[threadIdx.x] = weights[threadIdx.x] * table[threadIdx.x & 3][1] + *pointer_to_counter + managed_value; }

extern "C" __global__ void types(int8_t *a, uint16_t *b, int64_t *c, double2 *d, float4 *e, uchar4 *f, bool *g)
{
	int i = threadIdx.x;
	a[i] = (int8_t)(b[i] + a[i + 1]);
	c[i] = c[i] * b[i] / (a[i] | 1) + __mul64hi(c[i + 1], c[i + 2]);
	d[i] = make_double2(d[i].y, d[i].x * 2);
	e[i] = make_float4(e[i].w, e[i].z, e[i].y, f[i].x);
	f[i] = make_uchar4(f[i].y, 1, 2, f[i].z);
	g[i] = !g[i] && a[i] > 3;
}

struct list { list *next; int value; };
extern "C" __global__ void walk(list *head, int *out) { int s = 0; for (; head; head = head->next) { s += head->value; head->value = 0; } *out = s; }

extern "C" __global__ void spin(int *lock, int *data)
{
	for (bool done = false; !done;) {
		if (atomicCAS(lock, 0, 1) == 0) {
			data[0]++;
			__threadfence();
			atomicExch(lock, 0);
			done = true;
		}
	}
}
extern "C" __global__ void heap(int **out) { int *p = (int *)malloc(16); p[3] = 3; *out = p; free(out[1]); }
__global__ void forever(volatile int *p) { for (;;) p[0]++; }
template <class T> __global__ void templated(T *p, T v) { p[threadIdx.x] += v; }
template __global__ void templated<double>(double *, double);
template __global__ void templated<unsigned char>(unsigned char *, unsigned char);
template __global__ void templated<long long>(long long *, long long);
