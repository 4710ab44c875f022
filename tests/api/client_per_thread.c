/* SPDX-License-Identifier: Apache-2.0
 *
 * The same names mean the per-thread default stream's functions here.
 */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "api/gen/cuda_abi.h"

typedef CUresult query_fn(CUstream);
typedef CUresult copy_fn(void *, CUdeviceptr, size_t);
extern query_fn *const client_query;
extern copy_fn *const client_copy;

query_fn *const client_query = cuStreamQuery_ptsz;
copy_fn *const client_copy = cuMemcpyDtoH_v2_ptds;

_Static_assert(_Generic(&cuStreamQuery, query_fn * : 1), "cuStreamQuery");
_Static_assert(_Generic(&cuMemcpyDtoH, copy_fn * : 1), "cuMemcpyDtoH");
