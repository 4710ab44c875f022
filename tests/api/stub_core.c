/* SPDX-License-Identifier: Apache-2.0
 *
 * A "core" that implements two functions; the stubs beside it do the rest.
 */
#define CUDA_ABI_NO_MAPPING
#include "api/gen/cuda_abi.h"

int core_unsupported(const char *name);
extern const char *stub_core_asked;

__attribute__((visibility("default"))) const char *stub_core_asked;

int core_unsupported(const char *name)
{
	stub_core_asked = name;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuInit(unsigned int Flags)
{
	return Flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *driverVersion)
{
	*driverVersion = CUDA_VERSION;
	return CUDA_SUCCESS;
}
