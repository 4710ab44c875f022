/* SPDX-License-Identifier: Apache-2.0
 *
 * Each allocation of the lowering fails once: the kernel then is out of memory, and not one that can't be translated.
 */
#include "tests/ptx/fixture.h"
#include "zluda_core/compiler/compiler.h"

#include <stdlib.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);

static unsigned countdown; /* to the one that fails; 0: none does */

static bool fails(void)
{
	return countdown && !--countdown;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t m)
{
	return fails() ? NULL : __real_calloc(n, m);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

/* A lock that lanes of a warp take in turn, a function that is called, products that may be fused, local and global
 * variables: what the parts of the lowering allocate for. */
static const char text[] =
	".version 9.0\n.target sm_80\n.address_size 64\n"
	".global .u32 lock, total;\n"
	".func (.reg .f32 r) twice(.reg .f32 x) { mul.f32 r, x, 0f40000000; add.f32 r, r, x; ret; }\n"
	".visible .entry plain(.param .u64 p) {\n"
	"\t.reg .u64 q; .reg .f32 a; .reg .u32 t; .local .align 4 .b8 mine[16];\n"
	"\tld.param.u64 q, [p]; ld.global.f32 a, [q]; st.local.f32 [mine+4], a;\n"
	"\tcall (a), twice, (a); ld.local.f32 a, [mine+4]; st.global.f32 [q], a;\n"
	"\tatom.global.add.u32 t, [total], 1; ret;\n}\n"
	".visible .entry spins(.param .u64 p) {\n"
	"\t.reg .u64 q; .reg .pred l; .reg .u32 t, n;\n"
	"\tld.param.u64 q, [p];\n"
	"again:\tatom.global.cas.b32 t, [lock], 0, 1; setp.ne.u32 l, t, 0; @l bra again;\n"
	"\tld.global.u32 n, [q]; add.u32 n, n, 1; st.global.u32 [q], n; membar.gl;\n"
	"\tatom.global.exch.b32 t, [lock], 0; bar.warp.sync -1; ret;\n}\n";

/* Whether all went well. */
static bool lowers(struct ptx_module *m, const char *kernel, unsigned fails_at)
{
	const struct lower_options options = {.contract = true};
	struct diag d = DIAG_INIT;
	struct lowered l;

	countdown = fails_at;
	int rc = lower_kernel_as(m, ptx_func_find(m, kernel), lower_target_find("gfx90a"), &options, &l, &d);
	bool reached = !countdown;
	countdown = 0;
	if (rc)
		assert_string_equal(l.reason, "");
	lowered_free(&l);
	if (!rc)
		return !reached || !fails_at;
	if (rc != CUTRACE_ENOMEM || !fails_at)
		fail_msg("%s, allocation %u: error %d, %s", kernel, fails_at, rc, d.what);
	return false;
}

static void each_allocation(void **state)
{
	static const char *const kernels[] = {"plain", "spins"};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct ptx_module *m = parse_text(text);
		unsigned n = 1;

		assert_true(lowers(m, kernels[k], 0));
		while (!lowers(m, kernels[k], n))
			n++;
		assert_true(n > 10);
		ptx_module_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
