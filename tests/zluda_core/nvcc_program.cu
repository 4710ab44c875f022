/* SPDX-License-Identifier: Apache-2.0
 *
 * A runtime-API program that checks itself: variables, streams, events, pitched copies, managed memory, occupancy, device printf.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                                                   \
	do {                                                                                                          \
		cudaError_t e_ = (call);                                                                              \
		if (e_ != cudaSuccess) {                                                                              \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(e_));                   \
			exit(1);                                                                                      \
		}                                                                                                     \
	} while (0)
#define EXPECT(cond)                                                                                                  \
	do {                                                                                                          \
		if (!(cond)) {                                                                                        \
			printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);                                   \
			exit(1);                                                                                      \
		}                                                                                                     \
	} while (0)

__constant__ int factor;
__device__ int counter = 3;

__global__ void scale(int *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] *= factor;
	if (i == 0)
		counter += 4;
}

__global__ void say(int n)
{
	printf("say %d\n", n);
}

static void variables()
{
	int host[1000], f = 6, c;
	int *dev;

	for (int i = 0; i < 1000; i++)
		host[i] = i;
	CHECK(cudaMalloc(&dev, sizeof(host)));
	CHECK(cudaMemcpyToSymbol(factor, &f, sizeof(f)));
	CHECK(cudaMemcpy(dev, host, sizeof(host), cudaMemcpyHostToDevice));
	scale<<<4, 256>>>(dev, 1000);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(host, dev, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 1000; i++)
		EXPECT(host[i] == i * 6);
	CHECK(cudaMemcpyFromSymbol(&c, counter, sizeof(c)));
	EXPECT(c == 7);
	CHECK(cudaFree(dev));
}

static void streams()
{
	cudaStream_t a, b;
	cudaEvent_t start, stop;
	float ms = -1;
	int *pinned, *dev;

	CHECK(cudaStreamCreate(&a));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&start));
	CHECK(cudaEventCreate(&stop));
	CHECK(cudaMallocHost(&pinned, 400));
	CHECK(cudaMallocAsync(&dev, 400, a));
	for (int i = 0; i < 100; i++)
		pinned[i] = i;
	CHECK(cudaEventRecord(start, a));
	CHECK(cudaMemcpyAsync(dev, pinned, 400, cudaMemcpyHostToDevice, a));
	scale<<<1, 128, 0, a>>>(dev, 100);
	CHECK(cudaEventRecord(stop, a));
	CHECK(cudaStreamWaitEvent(b, stop, 0));
	CHECK(cudaMemcpyAsync(pinned, dev, 400, cudaMemcpyDeviceToHost, b));
	CHECK(cudaStreamSynchronize(b));
	for (int i = 0; i < 100; i++)
		EXPECT(pinned[i] == i * 6);
	CHECK(cudaEventElapsedTime(&ms, start, stop));
	EXPECT(ms >= 0);
	CHECK(cudaFreeAsync(dev, a));
	CHECK(cudaStreamSynchronize(a));
	CHECK(cudaFreeHost(pinned));
	CHECK(cudaStreamDestroy(a));
	CHECK(cudaStreamDestroy(b));
}

static void memory()
{
	char in[6][10], out[6][10];
	size_t pitch;
	int *managed;
	char *dev;

	for (int y = 0; y < 6; y++)
		for (int x = 0; x < 10; x++)
			in[y][x] = (char) (y * 16 + x);
	CHECK(cudaMallocPitch(&dev, &pitch, 10, 6));
	CHECK(cudaMemcpy2D(dev, pitch, in, 10, 10, 6, cudaMemcpyHostToDevice));
	CHECK(cudaMemset2D(dev + pitch, pitch, 0, 3, 2));
	CHECK(cudaMemcpy2D(out, 10, dev, pitch, 10, 6, cudaMemcpyDeviceToHost));
	memset(in[1], 0, 3);
	memset(in[2], 0, 3);
	EXPECT(!memcmp(in, out, sizeof(in)));
	CHECK(cudaFree(dev));
	CHECK(cudaMallocManaged(&managed, 40));
	for (int i = 0; i < 10; i++)
		managed[i] = i + 1;
	scale<<<1, 32>>>(managed, 10);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 10; i++)
		EXPECT(managed[i] == (i + 1) * 6);
	CHECK(cudaFree(managed));
}

static void questions()
{
	cudaDeviceProp prop;
	cudaFuncAttributes attributes;
	cudaPointerAttributes pointer;
	int blocks, grid, block, *dev;

	CHECK(cudaGetDeviceProperties(&prop, 0));
	EXPECT(prop.warpSize == 32 && prop.major == 9 && prop.sharedMemPerBlock == 49152);
	CHECK(cudaFuncGetAttributes(&attributes, scale));
	EXPECT(attributes.maxThreadsPerBlock > 0);
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
	EXPECT(blocks >= 1 && blocks <= 8);
	CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 0));
	EXPECT(block >= 32);
	CHECK(cudaMalloc(&dev, 16));
	CHECK(cudaPointerGetAttributes(&pointer, dev));
	EXPECT(pointer.type == cudaMemoryTypeDevice && pointer.device == 0);
	CHECK(cudaPointerGetAttributes(&pointer, &prop));
	EXPECT(pointer.type == cudaMemoryTypeUnregistered);
	CHECK(cudaFree(dev));
}

__managed__ int shared_count = 5;

typedef int (*binary)(int, int);
__device__ int plus(int a, int b)
{
	return a + b;
}
__device__ int times(int a, int b)
{
	return a * b;
}
__device__ binary operations[2] = {plus, times};

__global__ void call_table(int *out, int which)
{
	*out = operations[which](6, 7);
}

__global__ void count()
{
	atomicAdd(&shared_count, 1);
}

struct node {
	int value;
	node *next;
};

__global__ void build_list(node **head, int n)
{
	for (int i = 0; i < n; i++) {
		node *fresh = (node *)malloc(sizeof(node));

		fresh->value = i;
		fresh->next = *head;
		*head = fresh;
	}
}

__global__ void sum_list(node **head, int *sum)
{
	*sum = 0;
	while (node *first = *head) {
		*sum += first->value;
		*head = first->next;
		free(first);
	}
}

static void code_and_heap()
{
	node **head;
	int *out, value;

	count<<<2, 8>>>();
	CHECK(cudaDeviceSynchronize());
	EXPECT(shared_count == 5 + 16);
	shared_count = 1;
	count<<<1, 3>>>();
	CHECK(cudaDeviceSynchronize());
	EXPECT(shared_count == 4);
	CHECK(cudaMalloc(&out, sizeof(int)));
	for (int i = 0; i < 2; i++) {
		call_table<<<1, 1>>>(out, i);
		CHECK(cudaMemcpy(&value, out, sizeof(int), cudaMemcpyDeviceToHost));
		EXPECT(value == (i ? 42 : 13));
	}
	CHECK(cudaMalloc(&head, sizeof(node *)));
	CHECK(cudaMemset(head, 0, sizeof(node *)));
	build_list<<<1, 1>>>(head, 100);
	sum_list<<<1, 1>>>(head, out);
	CHECK(cudaMemcpy(&value, out, sizeof(int), cudaMemcpyDeviceToHost));
	EXPECT(value == 4950);
	CHECK(cudaFree(head));
	CHECK(cudaFree(out));
}

__global__ void fill_dynamic(int *out)
{
	extern __shared__ int room[];

	room[threadIdx.x * 64] = threadIdx.x;
	__syncthreads();
	out[threadIdx.x] = room[(blockDim.x - 1 - threadIdx.x) * 64];
}

static void host_step(void *arg)
{
	++*(int *)arg;
}

static void more_calls()
{
	cudaMemcpy3DParms box = {};
	cudaExtent extent = make_cudaExtent(8, 3, 2);
	cudaPitchedPtr volume;
	unsigned char in[2][3][8], back[2][3][8];
	static int registered[256];
	int *dev, *alias, steps = 0, result[256];
	cudaStream_t s;

	for (int i = 0; i < 48; i++)
		((unsigned char *)in)[i] = (unsigned char)(i * 5);
	CHECK(cudaMalloc3D(&volume, extent));
	box.srcPtr = make_cudaPitchedPtr(in, 8, 8, 3);
	box.dstPtr = volume;
	box.extent = extent;
	box.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&box));
	box.srcPtr = volume;
	box.dstPtr = make_cudaPitchedPtr(back, 8, 8, 3);
	box.kind = cudaMemcpyDeviceToHost;
	CHECK(cudaMemcpy3D(&box));
	EXPECT(!memcmp(in, back, sizeof(in)));
	CHECK(cudaFree(volume.ptr));

	CHECK(cudaHostRegister(registered, sizeof(registered), cudaHostRegisterMapped));
	CHECK(cudaHostGetDevicePointer(&alias, registered, 0));
	CHECK(cudaFuncSetAttribute(fill_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
	fill_dynamic<<<1, 256, 65536>>>(alias);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 256; i++)
		EXPECT(registered[i] == 255 - i);
	CHECK(cudaHostUnregister(registered));

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaMalloc(&dev, 1024));
	CHECK(cudaLaunchHostFunc(s, host_step, &steps));
	CHECK(cudaMemsetAsync(dev, 1, 1024, s));
	void *args[] = {&dev};
	CHECK(cudaLaunchCooperativeKernel((void *)fill_dynamic, dim3(1), dim3(256), args, 65536, s));
	CHECK(cudaMemcpyAsync(result, dev, 1024, cudaMemcpyDefault, s));
	CHECK(cudaStreamSynchronize(s));
	EXPECT(steps == 1 && result[10] == 245);
	EXPECT(cudaStreamQuery(s) == cudaSuccess);
	CHECK(cudaFree(dev));
	CHECK(cudaStreamDestroy(s));
}

static void errors()
{
	void *p;

	EXPECT(cudaMalloc(&p, (size_t) 1 << 50) == cudaErrorMemoryAllocation);
	EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
	scale<<<1, 4096>>>(nullptr, 0);
	EXPECT(cudaGetLastError() != cudaSuccess);
	CHECK(cudaDeviceSynchronize());
}

int main()
{
	variables();
	streams();
	memory();
	questions();
	code_and_heap();
	more_calls();
	errors();
	say<<<1, 1>>>(5);
	CHECK(cudaDeviceSynchronize());
	printf("all right\n");
	CHECK(cudaDeviceReset());
	return 0;
}
