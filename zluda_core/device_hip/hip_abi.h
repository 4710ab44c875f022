/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_abi: what has to be known of libamdhip64's interface to call it without its headers: functions, numbers, layouts,
 * and what of it changed between its major versions. Facts of the public headers hip_runtime_api.h (HIP 5.2.3 as Debian
 * packages it; github.com/ROCm/HIP at rocm-5.3 to rocm-6.2; github.com/ROCm/rocm-systems for 7 and later) and of
 * hip_hcc.map.in, which says since when a symbol exists. Nothing here is loaded or called.
 */
#ifndef CUTRACE_HIP_ABI_H
#define CUTRACE_HIP_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef void *hip_handle; /* hipModule_t, hipFunction_t, hipStream_t, hipMemGenericAllocationHandle_t */
typedef void *hip_address;

/* X(name, since, arguments): all return hipError_t. `since`: the symbol's version in the library. */
#define HIP_REQUIRED(X)                                                                                     \
	X(hipInit, "4.2", (unsigned flags))                                                                 \
	X(hipRuntimeGetVersion, "4.2", (int *version))                                                      \
	X(hipGetDeviceCount, "4.2", (int *count))                                                           \
	X(hipSetDevice, "4.2", (int device))                                                                \
	X(hipDeviceGetAttribute, "4.2", (int *value, int attribute, int device))                            \
	X(hipDeviceGetName, "4.2", (char *name, int bytes, int device))                                     \
	X(hipDeviceTotalMem, "4.2", (size_t * bytes, int device))                                           \
	X(hipMalloc, "4.2", (void **address, size_t bytes))                                                 \
	X(hipFree, "4.2", (void *address))                                                                  \
	X(hipHostMalloc, "4.2", (void **address, size_t bytes, unsigned flags))                             \
	X(hipHostFree, "4.2", (void *address))                                                              \
	X(hipHostRegister, "4.2", (void *address, size_t bytes, unsigned flags))                            \
	X(hipHostUnregister, "4.2", (void *address))                                                        \
	X(hipHostGetDevicePointer, "4.2", (void **device, void *host, unsigned flags))                      \
	X(hipMemcpyHtoDAsync, "4.2", (hip_address dst, const void *src, size_t bytes, hip_handle stream))   \
	X(hipMemcpyDtoHAsync, "4.2", (void *dst, hip_address src, size_t bytes, hip_handle stream))         \
	X(hipMemcpyDtoDAsync, "4.2", (hip_address dst, hip_address src, size_t bytes, hip_handle stream))   \
	X(hipMemsetD8Async, "4.2", (hip_address dst, unsigned char value, size_t count, hip_handle stream)) \
	X(hipMemsetD16Async, "4.2",                                                                         \
	  (hip_address dst, unsigned short value, size_t count, hip_handle stream))                         \
	X(hipMemsetD32Async, "4.2", (hip_address dst, int value, size_t count, hip_handle stream))          \
	X(hipModuleLoadData, "4.2", (hip_handle * module, const void *image))                               \
	X(hipModuleUnload, "4.2", (hip_handle module))                                                      \
	X(hipModuleGetFunction, "4.2", (hip_handle * function, hip_handle module, const char *name))        \
	X(hipModuleLaunchKernel, "4.2",                                                                     \
	  (hip_handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,            \
	   unsigned bz, unsigned shared, hip_handle stream, void **params, void **extra))                   \
	X(hipStreamCreateWithFlags, "4.2", (hip_handle * stream, unsigned flags))                           \
	X(hipStreamDestroy, "4.2", (hip_handle stream))                                                     \
	X(hipStreamSynchronize, "4.2", (hip_handle stream))

#define HIP_OPTIONAL(X)                                                                               \
	X(hipStreamQuery, "4.2", (hip_handle stream))                                                 \
	X(hipMallocManaged, "4.2", (void **address, size_t bytes, unsigned flags))                    \
	X(hipDeviceGetPCIBusId, "4.2", (char *id, int bytes, int device))                             \
	X(hipDeviceGetUuid, "5.1", (void *uuid, int device))                                          \
	X(hipModuleLaunchCooperativeKernel, "5.5",                                                    \
	  (hip_handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,      \
	   unsigned bz, unsigned shared, hip_handle stream, void **params))                           \
	X(hipMemGetAllocationGranularity, "5.1", (size_t * bytes, const void *properties, int which)) \
	X(hipMemAddressReserve, "5.1",                                                                \
	  (void **address, size_t bytes, size_t alignment, void *wanted, unsigned long long flags))   \
	X(hipMemAddressFree, "5.1", (void *address, size_t bytes))                                    \
	X(hipMemCreate, "5.1",                                                                        \
	  (hip_handle * memory, size_t bytes, const void *properties, unsigned long long flags))      \
	X(hipMemRelease, "5.1", (hip_handle memory))                                                  \
	X(hipMemMap, "5.1",                                                                           \
	  (void *address, size_t bytes, size_t offset, hip_handle memory, unsigned long long flags))  \
	X(hipMemUnmap, "5.1", (void *address, size_t bytes))                                          \
	X(hipMemSetAccess, "5.1", (void *address, size_t bytes, const void *access, size_t count))

struct hip_entries {
#define HIP_ENTRY(name, since, arguments) int(*name) arguments;
	HIP_REQUIRED(HIP_ENTRY)
	HIP_OPTIONAL(HIP_ENTRY)
#undef HIP_ENTRY
	int (*get_properties)(void *properties, int device); /* by the name that struct hip_abi says */
};

/* hipError_t: those that are handled apart. hip_error.c has the names of all. */
enum {
	HIP_SUCCESS = 0,
	HIP_INVALID_VALUE = 1,
	HIP_OUT_OF_MEMORY = 2,
	HIP_INVALID_CONFIGURATION = 9,
	HIP_NO_DEVICE = 100,
	HIP_INVALID_DEVICE = 101, /* hipInit says this where hipGetDeviceCount says the other */
	HIP_NOT_READY = 600,
	HIP_ILLEGAL_ADDRESS = 700,
	HIP_ALREADY_REGISTERED = 712,
	HIP_LAUNCH_FAILURE = 719,
	HIP_NOT_SUPPORTED = 801,
};

/* hipDeviceAttribute_t: the numbers that never moved (names in the middle of the list became UnusedN in 6.0). */
enum hip_attribute {
	HIP_CLOCK_RATE = 5,
	HIP_COOPERATIVE_LAUNCH = 10,
	HIP_L2_CACHE_BYTES = 19,
	HIP_MANAGED_MEMORY = 24,
	HIP_MAX_THREADS_PER_BLOCK = 56,
	HIP_MAX_THREADS_PER_CU = 57,
	HIP_MEMORY_BUS_WIDTH = 59,
	HIP_MEMORY_CLOCK_RATE = 60,
	HIP_COMPUTE_UNITS = 63,
	HIP_PCI_BUS = 67,
	HIP_PCI_DEVICE = 68,
	HIP_PCI_DOMAIN = 69,
	HIP_SHARED_PER_BLOCK = 74,
	HIP_WARP_SIZE = 87,
	HIP_VMM_SUPPORTED = 89, /* since 5.3 */
	HIP_WALL_CLOCK_RATE = 10017,
};

enum {
	HIP_HOST_PORTABLE = 1, /* hipHostMallocPortable, hipHostRegisterPortable */
	HIP_HOST_MAPPED = 2,
	HIP_HOST_COHERENT = 0x40000000,
	HIP_STREAM_NON_BLOCKING = 1,
	HIP_ATTACH_GLOBAL = 1,
	HIP_ALLOCATION_PINNED = 1,
	HIP_LOCATION_DEVICE = 1,
	HIP_ACCESS_READ_WRITE = 3,
	HIP_GRANULARITY_MINIMUM = 0,
};

/* HIP_LAUNCH_PARAM_*: keys in the `extra` list of a launch. */
#define HIP_PARAM_BUFFER ((void *)1)
#define HIP_PARAM_SIZE   ((void *)2)
#define HIP_PARAM_END    ((void *)3)

/* hipMemAllocationProp, 32 bytes in all versions: where in it is what. */
struct hip_allocation_layout {
	uint8_t type, handle_type, location_type, location_id; /* offsets of ints */
};

struct hip_access { /* hipMemAccessDesc */
	int location_type, location_id;
	int flags;
};

/* What changed with a major version. */
struct hip_abi {
	unsigned major;
	const char *
		properties; /* the function whose structure this is; the old name gives the old one for ever */
	unsigned properties_bytes, target_offset; /* of hipDeviceProp_t and of gcnArchName in it */
	unsigned vmm_minor; /* the first minor version whose allocations have vmm_layout */
	struct hip_allocation_layout vmm_layout;
	const char *error_note; /* what an error of a kernel does to the process */
};

/* NULL: a major version that nobody has looked at. */
const struct hip_abi *hip_abi_find(unsigned major);
/* "5, 6, 7, ..." */
const char *hip_abi_known(void);

#endif
