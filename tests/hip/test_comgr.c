/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects of ours as AMD's own library reads them: HIP asks comgr for the metadata of what it loads, by which it
 * copies arguments and sets hidden ones. Needs libamd_comgr.so.2 (Debian: libamd-comgr2); nothing of it is needed to build.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/compiler/contract.h"
#include "zluda_core/compiler/service.h"

/* amd_comgr.h: handles are structures of one word, passed by value. */
struct handle {
	uint64_t handle;
};
enum { EXECUTABLE = 8, SYMBOL_NAME = 1, SYMBOL_TYPE = 2, TYPE_KERNEL = 10 };

static struct {
	int (*create_data)(int kind, struct handle *out);
	int (*set_data)(struct handle data, size_t bytes, const char *p);
	int (*get_data_metadata)(struct handle data, struct handle *out);
	int (*metadata_lookup)(struct handle node, const char *key, struct handle *out);
	int (*get_metadata_list_size)(struct handle node, size_t *out);
	int (*index_list_metadata)(struct handle node, size_t index, struct handle *out);
	int (*get_metadata_string)(struct handle node, size_t *bytes, char *out);
	int (*iterate_symbols)(struct handle data, int (*each)(struct handle symbol, void *arg), void *arg);
	int (*symbol_get_info)(struct handle symbol, int what, void *out);
} comgr;

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".global .u32 counter;\n"
	".visible .entry probe(.param .u64 p, .param .u32 n, .param .align 4 .b8 s[20])\n{\n"
	"\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<4>;\n\t.shared .b32 tile[256];\n"
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd2, %rd1;\n"
	"\tld.param.u32 %r1, [s+16];\n\tld.global.u32 %r2, [counter];\n"
	"\tst.shared.u32 [tile], %r1;\n\tbar.sync 0;\n\tld.shared.u32 %r3, [tile];\n"
	"\tadd.u32 %r2, %r2, %r3;\n\tst.global.u32 [%rd2], %r2;\n\tret;\n}\n";

static bool load_comgr(void)
{
	void *lib = dlopen("libamd_comgr.so.2", RTLD_NOW | RTLD_LOCAL);
	bool all = lib;

#define LOAD(name)                                                           \
	*(void **)&comgr.name = lib ? dlsym(lib, "amd_comgr_" #name) : NULL; \
	all = all && comgr.name
	LOAD(create_data);
	LOAD(set_data);
	LOAD(get_data_metadata);
	LOAD(metadata_lookup);
	LOAD(get_metadata_list_size);
	LOAD(index_list_metadata);
	LOAD(get_metadata_string);
	LOAD(iterate_symbols);
	LOAD(symbol_get_info);
	return all;
}

static struct handle member(struct handle node, const char *key)
{
	struct handle out;

	assert_int_equal(comgr.metadata_lookup(node, key, &out), 0);
	return out;
}

static struct handle item(struct handle node, size_t index)
{
	struct handle out;

	assert_int_equal(comgr.index_list_metadata(node, index, &out), 0);
	return out;
}

static const char *text(struct handle node)
{
	static char out[200];
	size_t bytes = 0;

	/* It copies as many bytes as it is told, whatever the string has: its size, NUL included, is asked for first. */
	assert_int_equal(comgr.get_metadata_string(node, &bytes, NULL), 0);
	assert_in_range(bytes, 1, sizeof(out));
	assert_int_equal(comgr.get_metadata_string(node, &bytes, out), 0);
	return out;
}

static unsigned long number(struct handle node)
{
	return strtoul(text(node), NULL, 0);
}

static int is_kernel(struct handle symbol, void *arg)
{
	char name[200] = "";
	int type = 0;

	if (!comgr.symbol_get_info(symbol, SYMBOL_NAME, name) &&
	    !comgr.symbol_get_info(symbol, SYMBOL_TYPE, &type) && !strcmp(name, "probe.kd"))
		*(bool *)arg = true;
	return 0;
}

/* What HIP does with the arguments: one, at 0, as long as what the launch hands over; hidden ones behind. */
static void check_arguments(struct handle kernel, const struct contract *c)
{
	struct handle args = member(kernel, ".args");
	size_t n;

	assert_int_equal(comgr.get_metadata_list_size(args, &n), 0);
	assert_true(n >= 1);
	assert_string_equal(text(member(item(args, 0), ".value_kind")), "by_value");
	assert_int_equal(number(member(item(args, 0), ".offset")), 0);
	assert_int_equal(number(member(item(args, 0), ".size")), c->kernarg_bytes);
	for (size_t i = 1; i < n; i++) {
		assert_memory_equal(text(member(item(args, i), ".value_kind")), "hidden_", 7);
		assert_true(number(member(item(args, i), ".offset")) >= c->kernarg_bytes);
	}
}

static void check(struct service *s, const char *target)
{
	struct service_module m = {.text = ptx, .name = "probe.ptx", .bytes = sizeof(ptx) - 1};
	struct service_answer a = {0};
	struct diag d = DIAG_INIT;
	struct contract c;
	struct handle data, metadata, kernels, kernel;
	size_t n;
	bool found = false;

	service_hash(m.text, m.bytes, m.hash);
	if (service_compile(s, &(struct service_request){&m, "probe", target, "", SERVICE_FRESH}, &a, &d)) {
		diag_print(&d, stderr);
		fail();
	}
	assert_int_equal(contract_read(a.code_object, a.bytes, &c, &d), 0);
	assert_int_equal(comgr.create_data(EXECUTABLE, &data), 0);
	assert_int_equal(comgr.set_data(data, a.bytes, a.code_object), 0);
	assert_int_equal(comgr.get_data_metadata(data, &metadata), 0);
	kernels = member(metadata, "amdhsa.kernels");
	assert_int_equal(comgr.get_metadata_list_size(kernels, &n), 0);
	assert_int_equal(n, 1);
	kernel = item(kernels, 0);
	assert_string_equal(text(member(kernel, ".name")), "probe");
	assert_string_equal(text(member(kernel, ".symbol")), "probe.kd");
	assert_int_equal(number(member(kernel, ".kernarg_segment_size")), c.segment_bytes);
	assert_int_equal(c.shared_bytes, 1024); /* LLVM may need less of it */
	assert_true(number(member(kernel, ".group_segment_fixed_size")) <= c.shared_bytes);
	assert_int_equal(number(member(kernel, ".wavefront_size")), c.wave);
	assert_true(number(member(kernel, ".max_flat_workgroup_size")) >= 1024);
	check_arguments(kernel, &c);
	assert_int_equal(comgr.iterate_symbols(data, is_kernel, &found), 0);
	assert_true(found);
	service_answer_free(&a);
}

/* What comgr 2.4 knows of our targets. (Of code objects of version 5 it reads the metadata, not the name of the target.) */
static void test_metadata(void **state)
{
	static const char *const targets[] = {"gfx900",  "gfx906",  "gfx908", "gfx90a",
					      "gfx1010", "gfx1030", "gfx1036"};
	struct diag d = DIAG_INIT;
	struct service *s;

	(void)state;
	assert_int_equal(service_open(&s, NULL, &d), 0);
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		check(s, targets[i]);
	service_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_metadata)};

	if (!load_comgr()) {
		puts("skipped: libamd_comgr.so.2 is not installed (Debian: libamd-comgr2)");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
