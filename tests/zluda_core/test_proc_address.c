/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress: name, version and default-stream flavour select a form. The versions are those in which
 * the CUDA headers' release notes have each form appear.
 */
#define CUDA_ABI_NO_MAPPING
#include "core_test.h"

#define FORM(f) ((void *)(f))

static void *get(const char *name, int version, cuuint64_t flags, int *status)
{
	CUdriverProcAddressQueryResult s = (CUdriverProcAddressQueryResult)99;
	void *p = (void *)1;

	OK(cuGetProcAddress_v2(name, &p, version, flags, &s));
	*status = (int)s;
	return p;
}

static void forms(void **state)
{
	static const struct {
		const char *name;
		int version;
		cuuint64_t flags;
		void *expected;
	} rows[] = {
		{"cuMemAlloc", 2000, 0, FORM(cuMemAlloc)},
		{"cuMemAlloc", 3020, 0, FORM(cuMemAlloc_v2)},
		{"cuMemAlloc", 13000, 0, FORM(cuMemAlloc_v2)},
		{"cuCtxDestroy", 4000, 0, FORM(cuCtxDestroy_v2)},
		{"cuStreamSynchronize", 12000, 0, FORM(cuStreamSynchronize)},
		{"cuStreamSynchronize", 12000, 1, FORM(cuStreamSynchronize)},
		{"cuStreamSynchronize", 12000, 2, FORM(cuStreamSynchronize_ptsz)},
		{"cuMemcpyHtoD", 12000, 0, FORM(cuMemcpyHtoD_v2)},
		{"cuMemcpyHtoD", 12000, 2, FORM(cuMemcpyHtoD_v2_ptds)},
		{"cuMemcpyHtoDAsync", 12000, 2, FORM(cuMemcpyHtoDAsync_v2_ptsz)},
		{"cuLaunchKernel", 4000, 0, FORM(cuLaunchKernel)},
		{"cuLaunchKernel", 7000, 2, FORM(cuLaunchKernel_ptsz)},
		{"cuInit", 12000, 2, FORM(cuInit)}, /* one form only */
		{"cuGetProcAddress", 11030, 0, FORM(cuGetProcAddress)},
		{"cuGetProcAddress", 12000, 0, FORM(cuGetProcAddress_v2)},
	};
	int status;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *p = get(rows[i].name, rows[i].version, rows[i].flags, &status);

		if (p != rows[i].expected)
			print_error("%s %d %d\n", rows[i].name, rows[i].version, (int)rows[i].flags);
		assert_ptr_equal(p, rows[i].expected);
		assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
	}
}

static void misses(void **state)
{
	int status;
	void *p;

	(void)state;
	assert_null(get("cuNoSuchFunction", 13000, 0, &status));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	assert_null(get("cuLibraryLoadData", 11000, 0, &status)); /* of CUDA 12.0 */
	assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	assert_null(get("", 13000, 0, &status));
	FAILS(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNoSuchFunction", &p, 13000, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2(NULL, &p, 13000, 0, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", NULL, 13000, 0, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", &p, 13000, 64, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(forms), cmocka_unit_test(misses)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
