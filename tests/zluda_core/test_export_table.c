/* SPDX-License-Identifier: Apache-2.0
 *
 * The private tables, used the way the CUDA runtime uses them.
 */
#include "core_test.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

void md2(const void *data, size_t bytes, uint8_t out[16]); /* proved in test_md2.c */

static const CUuuid cudart_id = {"\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9"};
static const CUuuid tls_id = {"\x42\xd8\x5a\x81\x23\xf6\xcb\x47\x82\x98\xf6\xe7\x8a\x3a\xec\xdc"};
static const CUuuid local_id = {"\xc6\x93\x33\x6e\x11\x21\xdf\x11\xa8\xc3\x68\xf3\x55\xd8\x95\x93"};
static const CUuuid integrity_id = {"\xd4\x08\x20\x55\xbd\xe6\x70\x4b\x8d\x34\xba\x12\x3c\x66\xe1\xf2"};
static const CUuuid unknown_id = {"\xf8\xcf\xf9\x51\x21\x46\x8b\x4e\xb9\xe2\xfb\x46\x9e\x7c\x0d\xd9"};

static void *const *table(const CUuuid *id)
{
	const void *t = NULL;

	OK(cuGetExportTable(&t, id));
	assert_non_null(t);
	return t;
}

static void sizes(void **state)
{
	const void *t = &t;

	(void)state;
	assert_int_equal((size_t)table(&cudart_id)[0], 13 * 8);
	assert_int_equal((size_t)table(&tls_id)[0], 4 * 8);
	assert_int_equal((size_t)table(&integrity_id)[0], 3 * 8);
	FAILS(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&t, &unknown_id));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGetExportTable(NULL, &tls_id));
}

static int destroyed;

static void destroy(CUcontext ctx, void *key, void *value)
{
	(void)ctx;
	(void)key;
	destroyed += *(int *)value;
}

static void context_local_storage(void **state)
{
	void *const *t = table(&local_id);
	CUresult (*put)(CUcontext, void *, void *, void (*)(CUcontext, void *, void *)) =
		(CUresult(*)(CUcontext, void *, void *, void (*)(CUcontext, void *, void *)))t[0];
	CUresult (*del)(CUcontext, void *) = (CUresult(*)(CUcontext, void *))t[1];
	CUresult (*get)(void **, CUcontext, void *) = (CUresult(*)(void **, CUcontext, void *))t[2];
	int key_a, key_b, one = 1, ten = 10;
	CUcontext ctx;
	void *value;

	(void)state;
	OK(cuCtxCreate_v2(&ctx, 0, 0));
	FAILS(CUDA_ERROR_INVALID_HANDLE, get(&value, ctx, &key_a));
	OK(put(ctx, &key_a, &one, destroy));
	OK(put(NULL, &key_b, &ten, destroy)); /* NULL: the current context */
	OK(get(&value, NULL, &key_a));
	assert_ptr_equal(value, &one);
	OK(get(&value, ctx, &key_b));
	assert_ptr_equal(value, &ten);
	OK(del(ctx, &key_b));
	FAILS(CUDA_ERROR_INVALID_HANDLE, get(&value, ctx, &key_b));
	assert_int_equal(destroyed, 0);
	OK(cuCtxDestroy(ctx));
	assert_int_equal(destroyed, 1);
}

/* HMAC, written out again here: key block 0x36, then 0x5c. */
static void hmac(const uint8_t key[16], const void *text, size_t n, uint8_t out[16])
{
	uint8_t inner[16 + 256], outer[32];

	assert_true(n <= 256);
	for (int i = 0; i < 16; i++) {
		inner[i] = key[i] ^ 0x36;
		outer[i] = key[i] ^ 0x5c;
	}
	memcpy(inner + 16, text, n);
	md2(inner, 16 + n, outer + 16);
	md2(outer, 32, out);
}

static void integrity(void **state)
{
	static const uint8_t key[16] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
					0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};
	void *const *t = table(&integrity_id);
	CUresult (*check)(uint32_t, uint64_t, uint64_t[2]) =
		(CUresult(*)(uint32_t, uint64_t, uint64_t[2]))t[1];
	struct {
		uint32_t driver, version, pid, thread;
		uint64_t cudart, integrity, function, seconds;
		uint8_t uuid[16];
		int32_t domain, bus, device;
	} text = {.driver = 13000,
		  .version = 13002,
		  .pid = (uint32_t)getpid(),
		  .thread = (uint32_t)pthread_self(),
		  .seconds = 1700000000};
	uint64_t out[2], expected[2];
	CUuuid uuid;

	(void)state;
	OK(check(13000, 1700000000, out));
	assert_int_equal(out[0], 0x3341181C03CB675Cull);
	assert_int_equal(out[1], 0x8ED383AA1F4CD1E8ull);
	OK(check(13001, 1700000000, out));
	assert_int_equal(out[0], 0x1841181C03CB675Cull);
	text.cudart = (uint64_t)table(&cudart_id);
	text.integrity = (uint64_t)t;
	text.function = (uint64_t)t[1];
	OK(cuDeviceGetUuid(&uuid, 0));
	memcpy(text.uuid, &uuid, 16);
	OK(cuDeviceGetAttribute(&text.domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0));
	OK(cuDeviceGetAttribute(&text.bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0));
	OK(cuDeviceGetAttribute(&text.device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0));
	hmac(key, &text, (size_t)((char *)(&text.device + 1) - (char *)&text), (uint8_t *)expected);
	OK(check(13002, 1700000000, out));
	assert_memory_equal(out, expected, 16);
}

static int init(void **state)
{
	(void)state;
	return (int)cuInit(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(context_local_storage),
					   cmocka_unit_test(integrity)};

	return cmocka_run_group_tests(tests, init, NULL);
}
