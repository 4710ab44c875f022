/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_link beside ld.lld: the same object, linked by both, is executed by the emulator. Argument: a target.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/amdgpu_emulator/device_memory.h"
#include "zluda_core/compiler/compiler.h"
#include "zluda_core/compiler/elf_link.h"

static const char *target_name;

#define LAYOUT                                                                                            \
	"target datalayout = "                                                                            \
	"\"e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-" \
	"p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:"  \
	"1024-"                                                                                           \
	"v2048:2048-n32:64-S32-A5-G1-ni:7:8:9\"\ntarget triple = \"amdgcn-amd-amdhsa\"\n"

/* A call that stays, a table of constants, data that holds an address, zeros: every kind of section and relocation that
 * LLVM writes. */
static const char everything[] =
	LAYOUT "@table = internal addrspace(4) constant [4 x i32] [i32 11, i32 22, i32 33, i32 44]\n"
	       "@value = internal addrspace(1) global i32 77\n"
	       "@pointer = internal addrspace(1) global ptr addrspace(1) @value\n"
	       "@zeros = internal addrspace(1) global [256 x i32] zeroinitializer\n"
	       "define internal i32 @twice(i32 %x) #1 {\n  %r = mul i32 %x, 2\n  ret i32 %r\n}\n"
	       "define protected amdgpu_kernel void @k(ptr addrspace(1) %out) #0 {\n"
	       "  %t = call i32 @llvm.amdgcn.workitem.id.x()\n"
	       "  %i = and i32 %t, 3\n"
	       "  %a = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %i\n"
	       "  %v = load volatile i32, ptr addrspace(4) %a\n"
	       "  %w = call i32 @twice(i32 %v)\n"
	       "  %z = getelementptr [256 x i32], ptr addrspace(1) @zeros, i32 0, i32 %t\n"
	       "  %old = load volatile i32, ptr addrspace(1) %z\n"
	       "  %p = load volatile ptr addrspace(1), ptr addrspace(1) @pointer\n"
	       "  %q = load volatile i32, ptr addrspace(1) %p\n"
	       "  %s = add i32 %w, %old\n  %s2 = add i32 %s, %q\n"
	       "  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t\n"
	       "  store i32 %s2, ptr addrspace(1) %o\n  ret void\n}\n"
	       "declare i32 @llvm.amdgcn.workitem.id.x()\n"
	       "attributes #0 = { nounwind \"amdgpu-flat-work-group-size\"=\"1,64\" }\n"
	       "attributes #1 = { nounwind noinline optnone }\n"
	       "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 500}\n";

static const char undefined[] =
	LAYOUT "declare hidden i32 @nowhere(i32)\n"
	       "define protected amdgpu_kernel void @k(ptr addrspace(1) %out) {\n"
	       "  %r = call i32 @nowhere(i32 1)\n  store i32 %r, ptr addrspace(1) %out\n  ret void\n}\n"
	       "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 500}\n";

static struct compiled compile(const char *ir)
{
	struct lowered l = {.text = (char *)(uintptr_t)ir, .bytes = strlen(ir)};
	struct diag d = DIAG_INIT;
	struct compiled c;

	if (compiler_run(&l, "k", lower_target_find(target_name), 0, &c, &d))
		fail_msg("%s", d.what);
	return c;
}

static void *link_with_lld(const struct compiled *c, size_t *bytes)
{
	char in[] = "/tmp/cutrace-link-XXXXXX", out[64];
	int fd = mkstemp(in);
	void *p = malloc(1 << 20);
	struct diag d = DIAG_INIT;

	snprintf(out, sizeof(out), "%s.co", in);
	assert_int_equal(write(fd, c->object, c->object_bytes), c->object_bytes);
	close(fd);
	assert_int_equal(compiler_link(in, out, &d), 0);
	FILE *f = fopen(out, "rb");
	*bytes = fread(p, 1, 1 << 20, f);
	fclose(f);
	unlink(in);
	unlink(out);
	return p;
}

static void run(const void *code, size_t bytes, uint32_t out[64])
{
	struct device_memory memory;
	struct amdgpu_object *o = device_load(&memory, code, bytes);
	struct kernel_args args = {0};
	struct amdgpu_fault fault = {0};
	uint32_t *host;

	assert_non_null(o);
	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, NULL, 64 * 4, &host));
	const struct device_launch l = {.object = o, .kernel = "k", .grid = {1, 1}, .block = {64, 1}};
	if (device_run(&memory, &l, &args, &fault, NULL))
		fail_msg("%s", fault.message);
	memcpy(out, host, 64 * 4);
	device_release(&memory);
	amdgpu_object_close(o);
}

static void executes_as_from_lld(void **state)
{
	struct compiled c = compile(everything);
	struct diag d = DIAG_INIT;
	uint32_t ours[64], lld[64];
	size_t bytes, lld_bytes;
	void *code, *lld_code = link_with_lld(&c, &lld_bytes);

	(void)state;
	if (elf_link(c.object, c.object_bytes, &code, &bytes, &d))
		fail_msg("%s", d.what);
	run(code, bytes, ours);
	run(lld_code, lld_bytes, lld);
	assert_memory_equal(ours, lld, sizeof(ours));
	for (unsigned t = 0; t < 64; t++)
		assert_int_equal(ours[t], 2 * 11 * (t % 4 + 1) + 77);
	free(code);
	free(lld_code);
	compiled_free(&c);
}

/* The object has what the test is for. */
static void the_object_has_every_relocation(void **state)
{
	enum { ABS64 = 3, REL64 = 5, REL32_LO = 10, REL32_HI = 11 };
	struct compiled c = compile(everything);
	unsigned seen[32] = {0};
	Elf64_Ehdr h;
	Elf64_Shdr s;
	Elf64_Rela r;

	(void)state;
	memcpy(&h, c.object, sizeof(h));
	for (unsigned k = 0; k < h.e_shnum; k++) {
		memcpy(&s, c.object + h.e_shoff + k * sizeof(s), sizeof(s));
		for (uint64_t n = 0; s.sh_type == SHT_RELA && n < s.sh_size / sizeof(r); n++) {
			memcpy(&r, c.object + s.sh_offset + n * sizeof(r), sizeof(r));
			seen[ELF64_R_TYPE(r.r_info) % 32]++;
		}
	}
	assert_true(seen[ABS64] && seen[REL64] && seen[REL32_LO] && seen[REL32_HI]);
	compiled_free(&c);
}

static void an_undefined_symbol_is_named(void **state)
{
	struct compiled c = compile(undefined);
	struct diag d = DIAG_INIT;
	size_t bytes;
	void *code;

	(void)state;
	assert_int_not_equal(elf_link(c.object, c.object_bytes, &code, &bytes, &d), 0);
	assert_non_null(strstr(d.what, "nowhere"));
	compiled_free(&c);
}

/* Damage anywhere, or the end too early: an error or a file, never a crash. */
static void damaged_objects_are_survived(void **state)
{
	struct compiled c = compile(everything);
	uint8_t *copy = malloc(c.object_bytes);
	uint32_t seed = 12345;

	(void)state;
	for (unsigned k = 0; k < 20000; k++) {
		struct diag d = DIAG_INIT;
		size_t n = c.object_bytes, bytes;
		void *code;

		memcpy(copy, c.object, n);
		for (unsigned j = 0; j < 1 + k % 4; j++) {
			seed = seed * 1664525 + 1013904223;
			copy[(seed >> 8) % n] = (uint8_t)(seed >> 3);
		}
		if (k % 8 == 0)
			n = (seed >> 7) % n;
		if (!elf_link(copy, n, &code, &bytes, &d))
			free(code);
		else
			assert_true(d.what[0]);
	}
	free(copy);
	compiled_free(&c);
}

/* A block of more loads and stores than are emitted in this process: out[k] = out[k] + k, 600 times. */
static void a_huge_block_is_emitted(void **state)
{
	enum { N = 600 };
	struct device_memory memory;
	struct kernel_args args = {0};
	struct amdgpu_fault fault = {0};
	struct diag d = DIAG_INIT;
	char *ir = NULL;
	size_t n, bytes;
	uint32_t in[N], *host;
	void *code;
	FILE *out = open_memstream(&ir, &n);

	(void)state;
	fprintf(out, LAYOUT "define protected amdgpu_kernel void @k(ptr addrspace(1) %%out) {\n");
	for (unsigned k = 0; k < N; k++) {
		in[k] = 1000 - k;
		fprintf(out,
			"  %%p%u = getelementptr i32, ptr addrspace(1) %%out, i32 %u\n"
			"  %%v%u = load volatile i32, ptr addrspace(1) %%p%u\n  %%s%u = add i32 %%v%u, %u\n"
			"  store volatile i32 %%s%u, ptr addrspace(1) %%p%u\n",
			k, k, k, k, k, k, k, k, k);
	}
	fprintf(out, "  ret void\n}\n!llvm.module.flags = !{!0}\n"
		     "!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 500}\n");
	fclose(out);
	struct compiled c = compile(ir);
	assert_int_equal(elf_link(c.object, c.object_bytes, &code, &bytes, &d), 0);
	struct amdgpu_object *o = device_load(&memory, code, bytes);
	assert_non_null(o);
	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, in, sizeof(in), &host));
	const struct device_launch l = {.object = o, .kernel = "k", .grid = {1, 1}, .block = {1, 1}};
	if (device_run(&memory, &l, &args, &fault, NULL))
		fail_msg("%s", fault.message);
	for (unsigned k = 0; k < N; k++)
		assert_int_equal(host[k], 1000);
	device_release(&memory);
	amdgpu_object_close(o);
	compiled_free(&c);
	free(code);
	free(ir);
}

enum { LIVE = 64 };

/* So many values of each kind are alive at once, in a kernel with few registers: out[t] is the sum over k of
 * (t + k) * (k + 1) + in[k] * (k + 3). The asm statements do nothing, in order. */
static char *kernel_that_spills(void)
{
	char *ir = NULL;
	size_t n;
	FILE *out = open_memstream(&ir, &n);

	fputs(LAYOUT
	      "declare i32 @llvm.amdgcn.workitem.id.x()\n"
	      "define protected amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(4) %in) #0 {\n"
	      "  %t = call i32 @llvm.amdgcn.workitem.id.x()\n  %s0 = add i32 0, 0\n",
	      out);
	for (unsigned k = 0; k < LIVE; k++)
		fprintf(out,
			"  %%a%u = add i32 %%t, %u\n  %%v%u = call i32 asm sideeffect \"\", \"=v,0\"(i32 "
			"%%a%u)\n"
			"  %%p%u = getelementptr i32, ptr addrspace(4) %%in, i32 %u\n"
			"  %%l%u = load i32, ptr addrspace(4) %%p%u\n"
			"  %%u%u = call i32 asm sideeffect \"\", \"=s,0\"(i32 %%l%u)\n",
			k, k, k, k, k, k, k, k, k, k);
	for (unsigned k = 0; k < LIVE; k++)
		fprintf(out,
			"  %%w%u = call i32 asm sideeffect \"\", \"=v,0\"(i32 %%v%u)\n"
			"  %%x%u = call i32 asm sideeffect \"\", \"=s,0\"(i32 %%u%u)\n"
			"  %%m%u = mul i32 %%w%u, %u\n  %%n%u = mul i32 %%x%u, %u\n"
			"  %%o%u = add i32 %%m%u, %%n%u\n  %%s%u = add i32 %%s%u, %%o%u\n",
			k, k, k, k, k, k, k + 1, k, k, k + 3, k, k, k, k + 1, k, k);
	fprintf(out,
		"  %%q = getelementptr i32, ptr addrspace(1) %%out, i32 %%t\n"
		"  store i32 %%s%u, ptr addrspace(1) %%q\n  ret void\n}\n"
		"attributes #0 = { nounwind \"amdgpu-flat-work-group-size\"=\"64,64\" "
		"\"amdgpu-num-vgpr\"=\"24\" \"amdgpu-num-sgpr\"=\"48\" }\n"
		"!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 500}\n",
		LIVE);
	fclose(out);
	return ir;
}

/* A lane that is written only carries a scalar to memory: the next instruction stores it. */
static bool lanes_go_to_memory(const char *assembly)
{
	const char *at = strstr(assembly, "v_writelane");
	bool any = at != NULL;

	for (; at; at = strstr(at + 1, "v_writelane")) {
		const char *next = strchr(at, '\n'), *end = next ? strchr(next + 1, '\n') : NULL;

		if (!end || !memmem(next, (size_t)(end - next), "_store_", 7))
			return false;
	}
	return any;
}

/* No scalar registers in lanes of a vector register that is spilled itself. */
static void spills_of_both_kinds_are_apart(void **state)
{
	char *ir = kernel_that_spills();
	struct lowered l = {.text = ir, .bytes = strlen(ir)};
	struct device_memory memory;
	struct kernel_args args = {0};
	struct amdgpu_fault fault = {0};
	struct diag d = DIAG_INIT;
	struct compiled c;
	uint32_t in[LIVE], *host;
	size_t bytes;
	void *code;

	(void)state;
	if (compiler_run(&l, "k", lower_target_find(target_name), COMPILE_ASSEMBLY, &c, &d))
		fail_msg("%s", d.what);
	assert_true(c.stats.spilled_sgprs > 0 && c.stats.spilled_vgprs > 0);
	assert_true(lanes_go_to_memory(c.assembly));
	if (elf_link(c.object, c.object_bytes, &code, &bytes, &d))
		fail_msg("%s", d.what);
	for (unsigned k = 0; k < LIVE; k++)
		in[k] = k * k + 7;
	struct amdgpu_object *o = device_load(&memory, code, bytes);
	assert_non_null(o);
	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, NULL, 64 * 4, &host));
	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, in, sizeof(in), NULL));
	const struct device_launch launch = {.object = o, .kernel = "k", .grid = {1, 1}, .block = {64, 1}};
	if (device_run(&memory, &launch, &args, &fault, NULL))
		fail_msg("%s", fault.message);
	for (uint32_t t = 0; t < 64; t++) {
		uint32_t sum = 0;

		for (uint32_t k = 0; k < LIVE; k++)
			sum += (t + k) * (k + 1) + in[k] * (k + 3);
		assert_int_equal(host[t], sum);
	}
	device_release(&memory);
	amdgpu_object_close(o);
	compiled_free(&c);
	free(code);
	free(ir);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(executes_as_from_lld),
		cmocka_unit_test(the_object_has_every_relocation),
		cmocka_unit_test(an_undefined_symbol_is_named),
		cmocka_unit_test(damaged_objects_are_survived),
		cmocka_unit_test(a_huge_block_is_emitted),
		cmocka_unit_test(spills_of_both_kinds_are_apart),
	};

	if (argc < 2)
		return 2;
	target_name = argv[1];
	compiler_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
