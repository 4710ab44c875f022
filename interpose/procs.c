/* SPDX-License-Identifier: Apache-2.0
 *
 * procs: cuGetProcAddress and cuGetExportTable. The real driver is asked; what it answers is replaced by an
 * address of ours: the entry point of the same form, or a generic thunk when no description knows the
 * function.
 */
#include "interpose/recorder.h"

static void *entry_of(unsigned id)
{
	return id < API_ID_COUNT ? rec_entries[id] : NULL;
}

/* The name, version and flavour say which form was asked for; the address says which one came. When they
 * agree, or the address is exported under the name, that settles it. A driver may also answer with an address
 * that it exports nowhere: then the description decides. */
static void *replacement(void *p, const char *name, int version, cuuint64_t flags)
{
	const struct api_func *f = api_proc_find(
		name, (unsigned)version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
	unsigned asked = f ? api_func_id(f) : API_NONE, came;

	if (f && rec_true(asked) == p && entry_of(asked))
		return entry_of(asked);
	came = rec_driver_find(p, name);
	if (came != API_NONE)
		return entry_of(came);
	if (f && entry_of(asked)) {
		rec_driver_adopt(asked, p);
		return entry_of(asked);
	}
	return rec_thunk(name, p, NULL);
}

static void replace(CUresult r, const char *name, void **p, int version, cuuint64_t flags)
{
	if (r == CUDA_SUCCESS && name && p && *p && !rec_own())
		*p = replacement(*p, name, version, flags);
}

static CUresult hook_cuGetProcAddress(const char *name, void **p, int version, cuuint64_t flags)
{
	CUresult r = REAL(cuGetProcAddress)(name, p, version, flags);

	replace(r, name, p, version, flags);
	return r;
}

static CUresult hook_cuGetProcAddress_v2(const char *name, void **p, int version, cuuint64_t flags,
					 CUdriverProcAddressQueryResult *status)
{
	CUresult r = REAL(cuGetProcAddress_v2)(name, p, version, flags, status);

	replace(r, name, p, version, flags);
	return r;
}

static CUresult hook_cuGetExportTable(const void **table, const CUuuid *uuid)
{
	CUresult r = REAL(cuGetExportTable)(table, uuid);

	if (r == CUDA_SUCCESS && table && *table && uuid && !rec_own())
		rec_export_table(uuid, *table);
	return r;
}

#define HOOK(fn)                               \
	{                                      \
		API_ID_##fn, (void *)hook_##fn \
	}
const struct rec_hook rec_proc_hooks[] = {
	HOOK(cuGetProcAddress),
	HOOK(cuGetProcAddress_v2),
	HOOK(cuGetExportTable),
};
const unsigned rec_nproc_hooks = sizeof(rec_proc_hooks) / sizeof(rec_proc_hooks[0]);
