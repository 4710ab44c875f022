/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and descriptions of results, and what a function does that is not there yet.
 */
#include "core.h"

#include <string.h>

#include "api/api.h"

int core_unsupported(const char *name); /* called by the generated stubs */

static const struct {
	CUresult result;
	const char *text;
} descriptions[] = {
	{CUDA_SUCCESS, "no error"},
	{CUDA_ERROR_INVALID_VALUE, "invalid argument"},
	{CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
	{CUDA_ERROR_NOT_INITIALIZED, "initialization error"},
	{CUDA_ERROR_DEINITIALIZED, "driver shutting down"},
	{CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is visible"},
	{CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"},
	{CUDA_ERROR_INVALID_IMAGE, "not a kernel image"},
	{CUDA_ERROR_INVALID_CONTEXT, "invalid device context"},
	{CUDA_ERROR_MAP_FAILED, "mapping failed"},
	{CUDA_ERROR_ALREADY_MAPPED, "already mapped"},
	{CUDA_ERROR_NO_BINARY_FOR_GPU, "no code in the image that this device can run"},
	{CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this device"},
	{CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these devices"},
	{CUDA_ERROR_INVALID_PTX, "the PTX could not be translated"},
	{CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "execution affinity is not supported"},
	{CUDA_ERROR_INVALID_SOURCE, "invalid device kernel source"},
	{CUDA_ERROR_FILE_NOT_FOUND, "file not found"},
	{CUDA_ERROR_OPERATING_SYSTEM, "an operating system call failed"},
	{CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"},
	{CUDA_ERROR_NOT_FOUND, "named symbol not found"},
	{CUDA_ERROR_NOT_READY, "not ready"},
	{CUDA_ERROR_ILLEGAL_ADDRESS, "a kernel accessed memory at an illegal address"},
	{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "the launch needs more resources than there are"},
	{CUDA_ERROR_LAUNCH_TIMEOUT, "the kernel ran for too long and was ended"},
	{CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"},
	{CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context is destroyed"},
	{CUDA_ERROR_ASSERT, "an assertion in a kernel failed"},
	{CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the host memory is already registered"},
	{CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "the host memory is not registered"},
	{CUDA_ERROR_HARDWARE_STACK_ERROR, "a kernel's call stack is damaged or too small"},
	{CUDA_ERROR_ILLEGAL_INSTRUCTION, "a kernel reached an illegal instruction"},
	{CUDA_ERROR_MISALIGNED_ADDRESS, "a kernel accessed memory at a misaligned address"},
	{CUDA_ERROR_INVALID_ADDRESS_SPACE, "an operation does not work on this address space"},
	{CUDA_ERROR_INVALID_PC, "a kernel's program counter is invalid"},
	{CUDA_ERROR_LAUNCH_FAILED, "a kernel failed while it ran"},
	{CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks for a cooperative launch"},
	{CUDA_ERROR_NOT_PERMITTED, "the operation is not permitted here"},
	{CUDA_ERROR_NOT_SUPPORTED, "the operation is not supported"},
	{CUDA_ERROR_INVALID_CLUSTER_SIZE, "invalid cluster size"},
	{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the operation is not possible while a stream is capturing"},
	{CUDA_ERROR_UNKNOWN, "unknown error"},
};

static const char *name_of(CUresult result)
{
	static const struct api_enum *e;

	if (!e)
		e = api_enum_find("CUresult");
	return e ? api_enum_name(e, (int64_t)result) : NULL;
}

CUresult cuGetErrorName(CUresult error, const char **out)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = name_of(error);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **out)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = name_of(error); /* better than nothing for results that nothing here returns */
	for (size_t i = 0; i < ARRAY_SIZE(descriptions); i++)
		if (descriptions[i].result == error)
			*out = descriptions[i].text;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* One line the first time each function is called. */
int core_unsupported(const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const char *said[1024];
	static unsigned n;
	bool first = true;

	if (core.forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n && first; i++)
		first = strcmp(said[i], name) != 0;
	if (first && n < ARRAY_SIZE(said))
		said[n++] = name;
	pthread_mutex_unlock(&lock);
	if (first)
		say("%s is not supported", name);
	return CUDA_ERROR_NOT_SUPPORTED;
}
