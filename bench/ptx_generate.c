/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ptx_generate.h"

#include <stdio.h>
#include <stdlib.h>

static void head(FILE *out, unsigned kernel, unsigned loops)
{
	fprintf(out,
		"\n\t// .globl\tkernel_%u\n.visible .entry kernel_%u(\n\t.param .u64 kernel_%u_param_0,\n"
		"\t.param .u32 kernel_%u_param_1\n)\n.maxntid 256, 1, 1\n{\n",
		kernel, kernel, kernel, kernel);
	fprintf(out,
		"\t.reg .pred \t%%p<%u>;\n\t.reg .f32 \t%%f<%u>;\n\t.reg .b32 \t%%r<%u>;\n\t.reg .b64 "
		"\t%%rd<%u>;\n\n\n",
		loops + 2, 4 * loops + 4, 4 * loops + 8, 2 * loops + 4);
	fprintf(out,
		"\tld.param.u64 \t%%rd1, [kernel_%u_param_0];\n\tld.param.u32 \t%%r1, [kernel_%u_param_1];\n"
		"\tcvta.to.global.u64 \t%%rd2, %%rd1;\n\tmov.u32 \t%%r2, %%ctaid.x;\n\tmov.u32 \t%%r3, "
		"%%ntid.x;\n"
		"\tmov.u32 \t%%r4, %%tid.x;\n\tmad.lo.s32 \t%%r5, %%r2, %%r3, %%r4;\n"
		"\tsetp.ge.s32 \t%%p1, %%r5, %%r1;\n\t@%%p1 bra \t$L__BB%u_END;\n\n\tmov.f32 \t%%f1, "
		"0f3F800000;\n",
		kernel, kernel, kernel);
}

static void loop(FILE *out, unsigned kernel, unsigned n)
{
	unsigned r = 4 * n + 6, f = 4 * n + 2, d = 2 * n + 3, p = n + 2;
	fprintf(out,
		"\tmov.u32 \t%%r%u, 0;\n$L__BB%u_%u:\n\tadd.s32 \t%%r%u, %%r5, %%r%u;\n"
		"\tmul.wide.s32 \t%%rd%u, %%r%u, 4;\n\tadd.s64 \t%%rd%u, %%rd2, %%rd%u;\n"
		"\tld.global.f32 \t%%f%u, [%%rd%u+%u];\n",
		r, kernel, n, r + 1, r, d, r + 1, d + 1, d, f, d + 1, 4 * n);
	fprintf(out,
		"\tfma.rn.f32 \t%%f%u, %%f%u, 0f%08X, %%f1;\n\tst.global.f32 \t[%%rd%u+%u], %%f%u;\n"
		"\tadd.s32 \t%%r%u, %%r%u, 1;\n\tsetp.lt.s32 \t%%p%u, %%r%u, %u;\n\t@%%p%u bra "
		"\t$L__BB%u_%u;\n\n",
		f + 1, f, 0x3f000000 + n, d + 1, 4 * n, f + 1, r, r, p, r, 16 + n, p, kernel, n);
}

char *ptx_generate(size_t bytes, unsigned kernels, size_t *size)
{
	enum { HEAD_BYTES = 700, LOOP_BYTES = 303 }; /* about */
	char *text = NULL;
	size_t share = bytes / kernels;
	unsigned loops = share > HEAD_BYTES + LOOP_BYTES ? (unsigned)((share - HEAD_BYTES) / LOOP_BYTES) : 1;
	FILE *out = open_memstream(&text, size);
	if (!out)
		return NULL;
	fprintf(out,
		"//\n// Generated for a benchmark\n//\n\n.version 8.0\n.target sm_80\n.address_size 64\n");
	for (unsigned k = 0; k < kernels; k++) {
		head(out, k, loops);
		for (unsigned n = 0; n < loops; n++)
			loop(out, k, n);
		fprintf(out, "$L__BB%u_END:\n\tret;\n\n}\n", k);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
