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
	errors();
	say<<<1, 1>>>(5);
	CHECK(cudaDeviceSynchronize());
	printf("all right\n");
	CHECK(cudaDeviceReset());
	return 0;
}
