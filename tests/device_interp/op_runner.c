/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/device_interp/op_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operand_names[] = "dabce";

unsigned op_width(char shape, unsigned bits)
{
	switch (shape) {
	case 't': return bits;
	case '2': return bits * 2;
	case 'h': return bits / 2;
	case '8': return 8;
	case 'w': return 16;
	case 'd': return 64;
	default: return 32;
	}
}

/* Registers have 16 bits at least; 8-bit operands are in those. */
static unsigned reg_bits(char shape, unsigned bits)
{
	unsigned w = op_width(shape, bits);

	return w < 16 ? 16 : w;
}

static void write_kernel(FILE *f, const char *text, const char *shape, unsigned bits)
{
	fprintf(f,
		".version 9.0\n.target sm_100\n.address_size 64\n.visible .entry op(.param .u64 p_d, .param "
		".u64 p_a,"
		" .param .u64 p_b, .param .u64 p_c, .param .u64 p_e, .param .u32 p_n)\n{\n"
		".reg .pred done, dp, ap, bp, cp, ep;\n.reg .b32 tid, cta, nt, n, word;\n.reg .b64 at, off;\n"
		"mov.u32 tid, %%tid.x;\nmov.u32 cta, %%ctaid.x;\nmov.u32 nt, %%ntid.x;\nmad.lo.u32 tid, cta, "
		"nt, tid;\n"
		"ld.param.u32 n, [p_n];\nsetp.ge.u32 done, tid, n;\n@done exit;\nmul.wide.u32 off, tid, "
		"8;\n");
	for (unsigned k = 0, o = 0; shape[k]; k++) {
		if (shape[k] == ':')
			continue;
		char r = operand_names[o++];

		if (shape[k] != 'p')
			fprintf(f, ".reg .b%u %c;\n", reg_bits(shape[k], bits), r);
		if (k == 0)
			continue;
		fprintf(f, "ld.param.u64 at, [p_%c];\nadd.u64 at, at, off;\n", r);
		if (shape[k] == 'p')
			fprintf(f, "ld.global.u32 word, [at];\nsetp.ne.u32 %cp, word, 0;\n", r);
		else
			fprintf(f, "ld.global.b%u %c, [at];\n", reg_bits(shape[k], bits), r);
	}
	fprintf(f, "%s\nld.param.u64 at, [p_d];\nadd.u64 at, at, off;\n", text);
	if (shape[0] == 'p')
		fprintf(f, "selp.u32 word, 1, 0, dp;\nst.global.u32 [at], word;\n");
	else
		fprintf(f, "st.global.b%u [at], d;\n", reg_bits(shape[0], bits));
	fprintf(f, "ret;\n}\n");
}

static uint64_t upload(struct test_device *t, const uint64_t *src, uint32_t n)
{
	return src ? test_alloc(t, n * 8ull, src) : 0;
}

int op_try(struct test_device *t, const char *text, const char *shape, unsigned bits,
	   const uint64_t *const src[OP_SOURCES], uint64_t *dst, uint32_t n, struct diag *d)
{
	char *ptx = NULL;
	size_t size;
	FILE *f = open_memstream(&ptx, &size);
	struct test_module m;
	struct dev_kernel *k;
	uint64_t params[6] = {0};

	assert_non_null(f);
	write_kernel(f, text, shape, bits);
	fclose(f);
	test_load(&m, t, ptx, text);
	int rc = test_kernel(&m, "op", &k, d);

	if (!rc) {
		memset(dst, 0, n * 8ull);
		params[0] = test_alloc(t, n * 8ull, dst);
		for (unsigned s = 0; s < OP_SOURCES; s++)
			params[1 + s] = upload(t, src ? src[s] : NULL, n);
		params[5] = n;
		test_run_ok(&m, "op", LAUNCH1((n + 127) / 128, 128), params, 6);
		test_read(t, dst, params[0], n * 8ull);
		for (unsigned s = 0; s < 5; s++)
			if (params[s])
				test_release(t, params[s]);
	}
	test_unload(&m);
	free(ptx);
	return rc;
}

void op_run(struct test_device *t, const char *text, const char *shape, unsigned bits,
	    const uint64_t *const src[OP_SOURCES], uint64_t *dst, uint32_t n)
{
	struct diag d = DIAG_INIT;

	if (op_try(t, text, shape, bits, src, dst, n, &d))
		fail_msg("%s: refused: %s: %s", text, d.where, d.what);
}

uint64_t op_random(void)
{
	static uint64_t s = 0x9e3779b97f4a7c15ull; /* xorshift64*: the same numbers in every run */

	s ^= s >> 12;
	s ^= s << 25;
	s ^= s >> 27;
	return s * 0x2545f4914f6cdd1dull;
}

uint64_t op_integer(unsigned bits, uint32_t n)
{
	const uint64_t top = 1ull << (bits - 1);
	const uint64_t edges[OP_EDGES] = {0,
					  1,
					  2,
					  3,
					  4,
					  7,
					  8,
					  15,
					  16,
					  31,
					  32,
					  33,
					  63,
					  64,
					  127,
					  128,
					  255,
					  top,
					  top - 1,
					  top + 1,
					  ~0ull,
					  ~0ull - 1,
					  0x5555555555555555ull,
					  0x123456789abcdef0ull};

	return op_mask(n < OP_EDGES ? edges[n] : op_random(), bits);
}
