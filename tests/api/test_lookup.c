/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking up functions, forms by version, enum names. Expected values are CUDA's documented ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"

static void functions_are_sorted_and_found(void **state)
{
	(void)state;
	assert_true(api_nfuncs >= 637); /* symbols of the 13.0 stub library */
	for (unsigned i = 0; i < api_nfuncs; i++) {
		assert_ptr_equal(api_func_find(api_funcs[i].name), &api_funcs[i]);
		assert_int_equal(api_func_id(&api_funcs[i]), i);
		if (i)
			assert_true(strcmp(api_funcs[i - 1].name, api_funcs[i].name) < 0);
	}
	assert_null(api_func_find("cuMemAlloc_v"));
	assert_null(api_func_find(""));
	assert_null(api_func_find("zzz"));
	assert_null(api_func_find("cuMemAlloc_v2x"));
}

static const struct {
	const char *name;
	unsigned version;
	bool per_thread;
	const char *symbol;
} procs[] = {
	/* What cuda.h maps the name to, at the version of cudaTypedefs.h */
	{"cuMemAlloc", 13000, false, "cuMemAlloc_v2"},
	{"cuMemAlloc", 3020, false, "cuMemAlloc_v2"},
	{"cuMemAlloc", 3010, false, "cuMemAlloc"},
	{"cuMemAlloc", 13000, true, "cuMemAlloc_v2"},
	{"cuMemcpyHtoD", 13000, false, "cuMemcpyHtoD_v2"},
	{"cuMemcpyHtoD", 13000, true, "cuMemcpyHtoD_v2_ptds"},
	{"cuMemcpyHtoD", 7000, true, "cuMemcpyHtoD_v2_ptds"},
	{"cuMemcpyHtoD", 6050, true, "cuMemcpyHtoD_v2"},
	{"cuStreamSynchronize", 12000, true, "cuStreamSynchronize_ptsz"},
	{"cuLaunchKernel", 4000, false, "cuLaunchKernel"},
	{"cuLaunchKernel", 3020, false, NULL},
	{"cuLaunchKernel", 7000, true, "cuLaunchKernel_ptsz"},
	{"cuGetProcAddress", 11030, false, "cuGetProcAddress"},
	{"cuGetProcAddress", 12000, false, "cuGetProcAddress_v2"},
	{"cuCtxCreate", 11040, false, "cuCtxCreate_v3"},
	{"cuCtxCreate", 13000, false, "cuCtxCreate_v4"},
	{"cuCtxSynchronize", 12090, false, "cuCtxSynchronize"},
	{"cuCtxSynchronize", 13000, false, "cuCtxSynchronize_v2"},
	{"cuStreamBeginCapture", 10000, true, "cuStreamBeginCapture_ptsz"},
	{"cuStreamBeginCapture", 10010, true, "cuStreamBeginCapture_v2_ptsz"},
	{"cuMemPrefetchAsync", 12010, false, "cuMemPrefetchAsync"},
	{"cuMemPrefetchAsync", 12020, false, "cuMemPrefetchAsync_v2"},
	{"cuMemPrefetchAsync", 12020, true, "cuMemPrefetchAsync_v2_ptsz"},
	{"cuGraphInstantiateWithFlags", 11040, false, "cuGraphInstantiateWithFlags"},
	{"cuEventElapsedTime", 12080, false, "cuEventElapsedTime_v2"},
	{"cuMemAlloc_v2", 13000, false, NULL}, /* names are asked for without suffix */
	{"cuNoSuchThing", 13000, false, NULL},
	{"", 13000, false, NULL},
};

static void forms_by_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		const struct api_func *f =
			api_proc_find(procs[i].name, procs[i].version, procs[i].per_thread);
		if (!procs[i].symbol && f)
			fail_msg("%s@%u gives %s", procs[i].name, procs[i].version, f->name);
		if (procs[i].symbol && (!f || strcmp(f->name, procs[i].symbol)))
			fail_msg("%s@%u gives %s, not %s", procs[i].name, procs[i].version,
				 f ? f->name : "nothing", procs[i].symbol);
	}
}

static void procs_are_sorted(void **state)
{
	(void)state;
	for (unsigned i = 1; i < api_nprocs; i++) {
		int c = strcmp(api_procs[i - 1].name, api_procs[i].name);
		assert_true(c < 0 || (c == 0 && api_procs[i - 1].since < api_procs[i].since));
	}
}

/* Every exported function can be reached by name and its own version. */
static void procs_reach_everything(void **state)
{
	(void)state;
	for (unsigned i = 0; i < api_nfuncs; i++) {
		const struct api_func *f = &api_funcs[i];
		if (!(f->flags & API_FUNC_PRIVATE))
			assert_ptr_equal(api_proc_find(f->base, f->since, f->flags & API_FUNC_PTSZ), f);
	}
}

static void enum_names(void **state)
{
	(void)state;
	const struct api_enum *result = api_enum_find("CUresult"), *flags = api_enum_find("CUctx_flags");
	const struct api_enum *attr = api_enum_find("CUdevice_attribute");
	assert_non_null(result);
	assert_non_null(flags);
	assert_non_null(attr);
	assert_string_equal(api_enum_name(result, 0), "CUDA_SUCCESS");
	assert_string_equal(api_enum_name(result, 700), "CUDA_ERROR_ILLEGAL_ADDRESS");
	assert_string_equal(api_enum_name(result, 801), "CUDA_ERROR_NOT_SUPPORTED");
	assert_string_equal(api_enum_name(result, 999), "CUDA_ERROR_UNKNOWN");
	assert_null(api_enum_name(result, 998));
	assert_null(api_enum_name(result, -1));
	assert_false(result->mask);
	assert_true(flags->mask);
	/* 4 has two names; the newer one is described first, as in the reference */
	assert_string_equal(api_enum_name(flags, 4), "CU_CTX_SCHED_BLOCKING_SYNC");
	assert_string_equal(api_enum_name(attr, 16), "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT");
	assert_string_equal(api_enum_name(attr, 75), "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR");
	assert_null(api_enum_find("CUnothing"));
}

static void enums_are_sorted(void **state)
{
	(void)state;
	for (unsigned i = 0; i < api_nenums; i++)
		for (unsigned j = 1; j < api_enums[i].nvalues; j++)
			assert_true(api_enums[i].values[j - 1].value <= api_enums[i].values[j].value);
}

static const struct api_param *param(const char *func, const char *name)
{
	const struct api_func *f = api_func_find(func);
	for (unsigned i = 0; f && i < f->nparams; i++)
		if (!strcmp(f->params[i].name, name))
			return &f->params[i];
	fail_msg("%s has no parameter %s", func, name);
	return NULL;
}

static void parameters_say_what_they_are(void **state)
{
	(void)state;
	const struct api_func *launch = api_func_find("cuLaunchKernel");
	assert_int_equal(param("cuLaunchKernel", "kernelParams")->payload, API_PAYLOAD_PARAMS);
	assert_int_equal(param("cuLaunchKernel", "extra")->payload, API_PAYLOAD_EXTRA);
	assert_int_equal(param("cuLaunchKernel", "hStream")->flags & API_PARAM_STREAM, API_PARAM_STREAM);
	assert_int_equal(param("cuMemcpyHtoD_v2", "srcHost")->payload, API_PAYLOAD_H2D);
	assert_int_equal(param("cuMemcpyDtoHAsync_v2_ptsz", "dstHost")->payload, API_PAYLOAD_D2H);
	assert_int_equal(param("cuModuleLoadData", "image")->payload, API_PAYLOAD_IMAGE);
	assert_int_equal(param("cuStreamCreate", "phStream")->flags & API_PARAM_CREATES, API_PARAM_CREATES);
	assert_int_equal(param("cuStreamDestroy_v2", "hStream")->flags & API_PARAM_DESTROYS,
			 API_PARAM_DESTROYS);
	assert_int_equal(param("cuMemHostRegister_v2", "p")->flags & API_PARAM_HOSTADDR, API_PARAM_HOSTADDR);
	assert_int_equal(param("cuParamSetf", "value")->abi, API_ABI_FLOAT);
	assert_int_equal(param("cuIpcOpenMemHandle_v2", "handle")->abi, API_ABI_MEMORY);
	assert_int_equal(param("cuMemAdvise_v2", "location")->abi, API_ABI_INT);
	assert_int_equal(api_types[param("cuCtxCreate_v4", "flags")->type].kind, API_KIND_MASK);
	assert_int_equal(api_types[param("cuMemAlloc_v2", "bytesize")->type].kind, API_KIND_UINT);
	assert_true(launch->flags & API_FUNC_LAUNCH);
	assert_true(launch->flags & API_FUNC_ASYNC);
	assert_int_equal(api_func_find("cuDeviceGetAttribute")->replay, API_REPLAY_SKIP);
	assert_int_equal(api_func_find("cuStreamSynchronize")->replay, API_REPLAY_WAIT);
	assert_int_equal(api_func_find("cuEventQuery")->replay, API_REPLAY_POLL);
	assert_int_equal(api_func_find("cuMemAlloc_v2")->replay, API_REPLAY_DO);
}

static void out_slots(void **state)
{
	(void)state;
	const struct api_func *info = api_func_find("cuMemGetInfo_v2"),
			      *pitch = api_func_find("cuMemAllocPitch_v2");
	const struct api_func *global = api_func_find("cuModuleGetGlobal_v2"),
			      *name = api_func_find("cuDeviceGetName");
	assert_int_equal(api_out_slot(info, 0), 0);
	assert_int_equal(api_out_slot(info, 1), 1);
	assert_int_equal(api_out_slot(pitch, 1), 1);
	assert_int_equal(api_out_slot(pitch, 2), -1); /* WidthInBytes is a value */
	assert_int_equal(api_out_slot(global, 3), -1);
	assert_int_equal(api_out_slot(name, 0), -1); /* an array */
	assert_int_equal(api_out_slot(info, 2), -1); /* no such parameter */
}

static void kernels_are_functions_too(void **state)
{
	(void)state;
	for (unsigned i = 0; i < api_nhandles; i++)
		if (!strcmp(api_handles[i].name, "CUfunction")) {
			assert_string_equal(api_handles[api_handles[i].alias_of].name, "CUkernel");
			return;
		}
	fail_msg("no CUfunction");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_sorted_and_found),
		cmocka_unit_test(forms_by_version),
		cmocka_unit_test(procs_are_sorted),
		cmocka_unit_test(procs_reach_everything),
		cmocka_unit_test(enum_names),
		cmocka_unit_test(enums_are_sorted),
		cmocka_unit_test(parameters_say_what_they_are),
		cmocka_unit_test(out_slots),
		cmocka_unit_test(kernels_are_functions_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
