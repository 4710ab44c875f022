/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDeviceGetAttribute: one row an attribute. Values are a constant, a field of the device's properties, a
 * field of the compute capability's limits, or computed. Texture and surface limits: CUDA C++ Programming
 * Guide, "Technical Specifications per Compute Capability" (the same from 7.0 to 12.x).
 */
#include "core.h"

enum source { CONSTANT, PROPERTY, CAPABILITY, COMPUTED };

struct attribute {
	int id;
	enum source source;
	int64_t value; /* constant, or offset of an uint32_t */
	int (*compute)(const struct gpu *gpu);
};

static int pci_bus(const struct gpu *gpu)
{
	return (int)gpu->physical + 1;
}

static int unified(const struct gpu *gpu)
{
	return gpu->props.unified_addressing;
}

static int cooperative(const struct gpu *gpu)
{
	return gpu->props.cooperative;
}

/* Hardware sees registered memory at an address of its own (cuMemHostGetDevicePointer). */
static int same_host_address(const struct gpu *gpu)
{
	return !gpu->ops->mem_address;
}

static int pci_device(const struct gpu *gpu)
{
	(void)gpu;
	return 0; /* the PCI slot; agrees with cuDeviceGetPCIBusId */
}

#define A(name) CU_DEVICE_ATTRIBUTE_##name
#define CONST(name, v)                       \
	{                                    \
		A(name), CONSTANT, (v), NULL \
	}
#define PROP(name, field)                                                  \
	{                                                                  \
		A(name), PROPERTY, offsetof(struct dev_props, field), NULL \
	}
#define LIMIT(name, field)                                                   \
	{                                                                    \
		A(name), CAPABILITY, offsetof(struct cc_limits, field), NULL \
	}
#define CALC(name, fn)                   \
	{                                \
		A(name), COMPUTED, 0, fn \
	}
#define NUMBER(id, v)                     \
	{                                 \
		(id), CONSTANT, (v), NULL \
	}

static const struct attribute attributes[] = {
	PROP(MAX_THREADS_PER_BLOCK, max_threads_per_block),
	PROP(MAX_BLOCK_DIM_X, max_block[0]),
	PROP(MAX_BLOCK_DIM_Y, max_block[1]),
	PROP(MAX_BLOCK_DIM_Z, max_block[2]),
	PROP(MAX_GRID_DIM_X, max_grid[0]),
	PROP(MAX_GRID_DIM_Y, max_grid[1]),
	PROP(MAX_GRID_DIM_Z, max_grid[2]),
	PROP(MAX_SHARED_MEMORY_PER_BLOCK, shared_per_block),
	PROP(TOTAL_CONSTANT_MEMORY, const_bytes),
	PROP(WARP_SIZE, warp_size),
	CONST(MAX_PITCH, 0x7fffffff),
	PROP(MAX_REGISTERS_PER_BLOCK, regs_per_block),
	PROP(CLOCK_RATE, clock_khz),
	CONST(TEXTURE_ALIGNMENT, 512),
	CONST(GPU_OVERLAP, 1),
	PROP(MULTIPROCESSOR_COUNT, sm_count),
	CONST(KERNEL_EXEC_TIMEOUT, 0),
	CONST(INTEGRATED, 0),
	CONST(CAN_MAP_HOST_MEMORY, 1),
	CONST(COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT),
	CONST(MAXIMUM_TEXTURE1D_WIDTH, 131072),
	CONST(MAXIMUM_TEXTURE2D_WIDTH, 131072),
	CONST(MAXIMUM_TEXTURE2D_HEIGHT, 65536),
	CONST(MAXIMUM_TEXTURE3D_WIDTH, 16384),
	CONST(MAXIMUM_TEXTURE3D_HEIGHT, 16384),
	CONST(MAXIMUM_TEXTURE3D_DEPTH, 16384),
	CONST(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768),
	CONST(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32768),
	CONST(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048),
	CONST(SURFACE_ALIGNMENT, 512),
	CONST(CONCURRENT_KERNELS, 1),
	CONST(ECC_ENABLED, 0),
	CALC(PCI_BUS_ID, pci_bus),
	CALC(PCI_DEVICE_ID, pci_device),
	CONST(TCC_DRIVER, 0),
	PROP(MEMORY_CLOCK_RATE, mem_clock_khz),
	PROP(GLOBAL_MEMORY_BUS_WIDTH, bus_width_bits),
	PROP(L2_CACHE_SIZE, l2_bytes),
	PROP(MAX_THREADS_PER_MULTIPROCESSOR, max_threads_per_sm),
	CONST(ASYNC_ENGINE_COUNT, 3),
	CALC(UNIFIED_ADDRESSING, unified),
	CONST(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32768),
	CONST(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048),
	CONST(CAN_TEX2D_GATHER, 1),
	CONST(MAXIMUM_TEXTURE2D_GATHER_WIDTH, 32768),
	CONST(MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 32768),
	CONST(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, 8192),
	CONST(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, 8192),
	CONST(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, 32768),
	CONST(PCI_DOMAIN_ID, 0),
	CONST(TEXTURE_PITCH_ALIGNMENT, 32),
	CONST(MAXIMUM_TEXTURECUBEMAP_WIDTH, 32768),
	CONST(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 32768),
	CONST(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, 2046),
	CONST(MAXIMUM_SURFACE1D_WIDTH, 32768),
	CONST(MAXIMUM_SURFACE2D_WIDTH, 131072),
	CONST(MAXIMUM_SURFACE2D_HEIGHT, 65536),
	CONST(MAXIMUM_SURFACE3D_WIDTH, 16384),
	CONST(MAXIMUM_SURFACE3D_HEIGHT, 16384),
	CONST(MAXIMUM_SURFACE3D_DEPTH, 16384),
	CONST(MAXIMUM_SURFACE1D_LAYERED_WIDTH, 32768),
	CONST(MAXIMUM_SURFACE1D_LAYERED_LAYERS, 2048),
	CONST(MAXIMUM_SURFACE2D_LAYERED_WIDTH, 32768),
	CONST(MAXIMUM_SURFACE2D_LAYERED_HEIGHT, 32768),
	CONST(MAXIMUM_SURFACE2D_LAYERED_LAYERS, 2048),
	CONST(MAXIMUM_SURFACECUBEMAP_WIDTH, 32768),
	CONST(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, 32768),
	CONST(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, 2046),
	CONST(MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 268435456),
	CONST(MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072),
	CONST(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000),
	CONST(MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120),
	CONST(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, 32768),
	CONST(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, 32768),
	PROP(COMPUTE_CAPABILITY_MAJOR, cc_major),
	PROP(COMPUTE_CAPABILITY_MINOR, cc_minor),
	CONST(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, 32768),
	CONST(STREAM_PRIORITIES_SUPPORTED, 1),
	LIMIT(GLOBAL_L1_CACHE_SUPPORTED, l1_global),
	CONST(LOCAL_L1_CACHE_SUPPORTED, 1),
	PROP(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, shared_per_sm),
	PROP(MAX_REGISTERS_PER_MULTIPROCESSOR, regs_per_sm),
	CONST(MANAGED_MEMORY, 1),
	CONST(MULTI_GPU_BOARD, 0),
	CONST(MULTI_GPU_BOARD_GROUP_ID, 0),
	CONST(HOST_NATIVE_ATOMIC_SUPPORTED, 0),
	LIMIT(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, fp64_ratio),
	/* every access is checked against allocations: what malloc gave is none */
	CONST(PAGEABLE_MEMORY_ACCESS, 0),
	CONST(CONCURRENT_MANAGED_ACCESS, 1),
	CONST(COMPUTE_PREEMPTION_SUPPORTED, 1),
	CALC(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, same_host_address),
	NUMBER(92, 1), /* stream memory operations, version 1: supported, 64-bit too, NOR too */
	NUMBER(93, 1),
	NUMBER(94, 1),
	CALC(COOPERATIVE_LAUNCH, cooperative),
	NUMBER(96, 0), /* cooperative launch over several devices */
	PROP(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared_per_block_optin),
	CONST(CAN_FLUSH_REMOTE_WRITES, 0),
	CONST(HOST_REGISTER_SUPPORTED, 1),
	CONST(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0),
	CONST(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 1),
	CONST(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1),
	CONST(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0),
	CONST(HANDLE_TYPE_WIN32_HANDLE_SUPPORTED, 0),
	CONST(HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED, 0),
	PROP(MAX_BLOCKS_PER_MULTIPROCESSOR, max_blocks_per_sm),
	CONST(GENERIC_COMPRESSION_SUPPORTED, 0),
	CONST(MAX_PERSISTING_L2_CACHE_SIZE, 0),
	CONST(MAX_ACCESS_POLICY_WINDOW_SIZE, 0),
	CONST(GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0),
	LIMIT(RESERVED_SHARED_MEMORY_PER_BLOCK, reserved_shared),
	CONST(SPARSE_CUDA_ARRAY_SUPPORTED, 0),
	CONST(READ_ONLY_HOST_REGISTER_SUPPORTED, 1),
	CONST(TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, 0),
	CONST(MEMORY_POOLS_SUPPORTED, 1),
	CONST(GPU_DIRECT_RDMA_SUPPORTED, 0),
	CONST(GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 0),
	CONST(GPU_DIRECT_RDMA_WRITES_ORDERING, 0),
	CONST(MEMPOOL_SUPPORTED_HANDLE_TYPES, 0),
	CONST(CLUSTER_LAUNCH, 0),
	CONST(DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, 0),
	CONST(CAN_USE_64_BIT_STREAM_MEM_OPS, 1),
	CONST(CAN_USE_STREAM_WAIT_VALUE_NOR, 1),
	CONST(DMA_BUF_SUPPORTED, 0),
	CONST(IPC_EVENT_SUPPORTED, 0),
	CONST(MEM_SYNC_DOMAIN_COUNT, 1),
	CONST(TENSOR_MAP_ACCESS_SUPPORTED, 0),
	NUMBER(128, 0), /* fabric handles */
	CONST(UNIFIED_FUNCTION_POINTERS, 0),
	CONST(NUMA_CONFIG, 0),
	CONST(NUMA_ID, -1),
	CONST(MULTICAST_SUPPORTED, 0),
	CONST(MPS_ENABLED, 0),
	CONST(HOST_NUMA_ID, 0),
	NUMBER(135, 0), /* graphics interop of Direct3D 12 and (138) Vulkan */
	NUMBER(136, 0), /* hardware decompression: algorithms and (137) longest input */
	NUMBER(137, 0),
	NUMBER(138, 0),
	NUMBER(139, 0), /* combined PCI device and vendor id, and (140) of the subsystem */
	NUMBER(140, 0),
	NUMBER(141, 0), /* memory of a host NUMA node: VMM, pools, multi-node IPC; then host memory */
	NUMBER(142, 0),
	NUMBER(143, 0),
	NUMBER(144, 0),
	NUMBER(145, 0),
	NUMBER(146, 0),
	NUMBER(147, 0), /* only some atomics work on host memory: no, none natively */
};

static int attribute_value(const struct attribute *a, const struct gpu *gpu)
{
	switch (a->source) {
	case CONSTANT: return (int)a->value;
	case PROPERTY: return (int)*(const uint32_t *)((const char *)&gpu->props + a->value);
	case CAPABILITY: return (int)*(const uint32_t *)((const char *)gpu->cc + a->value);
	case COMPUTED: break;
	}
	return a->compute(gpu);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice dev)
{
	CUresult r = core_check();
	struct gpu *gpu;

	if (r)
		return r;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	gpu = gpu_get(dev);
	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		if (attributes[i].id == (int)attribute) {
			*value = attribute_value(&attributes[i], gpu);
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}
