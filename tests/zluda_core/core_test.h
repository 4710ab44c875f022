/* SPDX-License-Identifier: Apache-2.0
 *
 * core_test: what the tests of libcuda.so.1 share. They are driver-API programs linked directly against the
 * library.
 */
#ifndef CORE_TEST_H
#define CORE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/gen/cuda_abi.h"

#define OK(call)          assert_int_equal((call), CUDA_SUCCESS)
#define FAILS(code, call) assert_int_equal((call), (code))

/* Fresh context, made current, for each test. */
static CUcontext test_ctx;

static inline int make_context(void **state)
{
	(void)state;
	if (cuInit(0))
		return -1;
	return cuCtxCreate_v2(&test_ctx, 0, 0) ? -1 : 0;
}

static inline int drop_context(void **state)
{
	(void)state;
	return cuCtxDestroy(test_ctx) ? -1 : 0;
}

#define WITH_CONTEXT(fn) cmocka_unit_test_setup_teardown(fn, make_context, drop_context)

#define PTX_HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"

/* fill(p, v, n): p[i] = v + i for i < n, one thread an element. */
#define PTX_FILL                                                                    \
	".visible .entry fill(.param .u64 p, .param .u32 v, .param .u32 n)\n{\n"    \
	"	.reg .b32 %r<8>;\n	.reg .b64 %rd<4>;\n	.reg .pred %p1;\n"                 \
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n"  \
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n"                                         \
	"	ld.param.u32 %r5, [n];\n	setp.ge.u32 %p1, %r4, %r5;\n	@%p1 bra DONE;\n"   \
	"	ld.param.u64 %rd1, [p];\n	cvta.to.global.u64 %rd1, %rd1;\n"               \
	"	mul.wide.u32 %rd2, %r4, 4;\n	add.s64 %rd1, %rd1, %rd2;\n"                 \
	"	ld.param.u32 %r6, [v];\n	add.u32 %r6, %r6, %r4;\n	st.global.u32 [%rd1], " \
	"%r6;\n"                                                                    \
	"DONE:\n	ret;\n}\n"

/* stray(p): stores one word at p, whatever it is. */
#define PTX_STRAY                                                                          \
	".visible .entry stray(.param .u64 p)\n{\n	.reg .b64 %rd<2>;\n	.reg .b32 %r<2>;\n" \
	"	ld.param.u64 %rd1, [p];\n	mov.u32 %r1, 1;\n	st.global.u32 [%rd1], %r1;\n	"       \
	"ret;\n}\n"

static inline CUfunction load_function(CUmodule *m, const char *ptx, const char *name)
{
	CUfunction f = NULL;

	OK(cuModuleLoadData(m, ptx));
	OK(cuModuleGetFunction(&f, *m, name));
	return f;
}

#endif
