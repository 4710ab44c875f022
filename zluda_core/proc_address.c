/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress: which exported function a program built for a CUDA version means by a name. The table is
 * generated (api_procs); addresses come from this library's own symbol table.
 */
#include "core.h"

#include <dlfcn.h>
#include <string.h>

#include "api/api.h"

static void *self;
static pthread_once_t self_once = PTHREAD_ONCE_INIT;

/* The library under the name the loader knows it by: a program may have several libcuda.so.1. */
static void find_self(void)
{
	Dl_info info;
	char path[4096 + 2] = "/."; /* a recorder around us may have our path as a name of its own */

	if (!dladdr((void *)find_self, &info) || !info.dli_fname ||
	    strlen(info.dli_fname) >= sizeof(path) - 2)
		return;
	if (*info.dli_fname == '/')
		strcpy(path + 2, info.dli_fname);
	else
		strcpy(path, info.dli_fname);
	self = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
}

void *proc_find(const char *exported_name)
{
	pthread_once(&self_once, find_self);
	return self ? dlsym(self, exported_name) : NULL;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SUCCESS;
	const struct api_func *f;

	if (!symbol || !pfn || flags & ~3ull || flags == 3)
		return CUDA_ERROR_INVALID_VALUE;
	*pfn = NULL;
	f = version > 0 ? api_proc_find(symbol, (unsigned)version, per_thread) : NULL;
	if (f)
		*pfn = proc_find(f->name);
	if (!*pfn)
		answer = api_proc_find(symbol, 99990, per_thread) ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
								  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	if (status)
		*status = answer;
	return answer && !status && *symbol ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	return cuGetProcAddress_v2(symbol, pfn, version, flags, NULL);
}
