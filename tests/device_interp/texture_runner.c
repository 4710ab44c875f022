/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/device_interp/texture_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned texel_bytes(enum dev_texel texel)
{
	static const uint8_t bytes[] = {1, 2, 4, 1, 2, 4, 2, 4, 1, 2, 1, 2};

	return bytes[texel];
}

void texture_set(struct texture_test *x, const struct dev_texture *t)
{
	struct diag d = DIAG_INIT;

	assert_int_equal(device_interp.texture_set(x->dev.dev, t, &d), 0);
}

struct texture_test *texture_open(enum dev_texel texel, unsigned channels, const uint32_t size[3], unsigned dims,
				  uint32_t layers, const void *data)
{
	struct texture_test *x = calloc(1, sizeof(*x));
	struct dev_texture_level *l = &x->t.level[0];
	uint64_t bytes;

	assert_non_null(x);
	test_open(&x->dev, "workers=1");
	x->t = (struct dev_texture){.handle = 1,
				    .kind = DEV_TEXTURE,
				    .state = DEV_TEXTURE_LIVE,
				    .dims = (uint8_t)dims,
				    .texel = (uint8_t)texel,
				    .channels = (uint8_t)channels,
				    .texel_bytes = (uint8_t)(texel_bytes(texel) * channels),
				    .address = {DEV_ADDRESS_CLAMP, DEV_ADDRESS_CLAMP, DEV_ADDRESS_CLAMP},
				    .layers = layers,
				    .max_level = 100,
				    .nlevels = 1};
	l->width = size[0];
	l->height = size[1];
	l->depth = size[2];
	l->row = (uint64_t)size[0] * x->t.texel_bytes;
	l->slice = l->row * size[1];
	bytes = l->slice * (layers ? layers : size[2]);
	x->memory = l->base = test_alloc(&x->dev, bytes, data);
	x->s = (struct dev_texture){.handle = 2, .kind = DEV_SAMPLER, .state = DEV_TEXTURE_LIVE};
	return x;
}

void texture_close(struct texture_test *x)
{
	test_close(&x->dev);
	free(x);
}

static void write_kernel(char *out, size_t bytes, const char *instruction)
{
	char loads[1024] = "", stores[1024] = "";
	bool halves = strstr(instruction, "%h"), wide = strstr(instruction, "%e");
	size_t n = 0, m = 0;

	for (unsigned k = 0; k < TEX_IN; k++)
		n += (size_t)snprintf(loads + n, sizeof(loads) - n,
				      "ld.global.u32 %%i%u, [%%in+%u]; mov.b32 %%f%u, %%i%u;\n", k, 4 * k, k, k);
	for (unsigned k = 0; k < TEX_IN / 2; k++)
		n += (size_t)snprintf(loads + n, sizeof(loads) - n, "ld.global.u64 %%d%u, [%%in+%u];\n", k, 8 * k);
	for (unsigned k = 0; k < 4 && halves; k++)
		m += (size_t)snprintf(stores + m, sizeof(stores) - m, "cvt.u32.u16 %%o%u, %%h%u;\n", k, k);
	for (unsigned k = 0; k < 7 && !wide; k++)
		m += (size_t)snprintf(stores + m, sizeof(stores) - m, "st.global.u32 [%%out+%u], %%o%u;\n", 4 * k, k);
	for (unsigned k = 0; k < 4 && wide; k++)
		m += (size_t)snprintf(stores + m, sizeof(stores) - m, "st.global.u64 [%%out+%u], %%e%u;\n", 8 * k, k);
	if (!wide)
		snprintf(stores + m, sizeof(stores) - m, "selp.u32 %%o7, 1, 0, %%p; st.global.u32 [%%out+28], %%o7;\n");
	snprintf(out, bytes,
		 ".version 9.0\n.target sm_90\n.address_size 64\n"
		 ".visible .entry k(.param .u64 p_in, .param .u64 p_out, .param .u64 p_t, .param .u64 p_s)\n{\n"
		 ".reg .b64 %%in, %%out, %%t, %%s, %%d<6>, %%e<4>; .reg .b32 %%me, %%i<12>, %%o<8>; .reg .f32 %%f<12>;\n"
		 ".reg .b16 %%h<4>; .reg .pred %%p;\n"
		 "mov.u32 %%me, %%tid.x; ld.param.u64 %%in, [p_in]; ld.param.u64 %%out, [p_out];\n"
		 "ld.param.u64 %%t, [p_t]; ld.param.u64 %%s, [p_s];\n"
		 "mad.wide.u32 %%in, %%me, %u, %%in; mad.wide.u32 %%out, %%me, %u, %%out;\n%s%s\n%sret;\n}\n",
		 4 * TEX_IN, 4 * TEX_OUT, loads, instruction, stores);
}

static int run(struct texture_test *x, const char *instruction, struct dev_fault *fault)
{
	struct test_module m;
	uint64_t in, out;
	char ptx[4096];
	int rc;

	texture_set(x, &x->t);
	texture_set(x, &x->s);
	write_kernel(ptx, sizeof(ptx), instruction);
	test_load(&m, &x->dev, ptx, "texture.ptx");
	in = test_alloc(&x->dev, sizeof(x->in), x->in);
	out = test_alloc(&x->dev, sizeof(x->out), x->out);
	rc = test_run(&m, "k", LAUNCH1(1, x->n), (const uint64_t[]){in, out, x->t.handle, x->s.handle}, 4, fault);
	test_read(&x->dev, x->out, out, sizeof(x->out));
	test_release(&x->dev, in);
	test_release(&x->dev, out);
	test_unload(&m);
	return rc;
}

void texture_run(struct texture_test *x, const char *instruction)
{
	struct dev_fault fault;

	if (run(x, instruction, &fault))
		fail_msg("%s: %s", instruction, fault.message);
}

void texture_faults(struct texture_test *x, const char *instruction, const char *what)
{
	struct dev_fault fault = {0};

	assert_int_not_equal(run(x, instruction, &fault), 0);
	if (!strstr(fault.message, what))
		fail_msg("expected '%s' in: %s", what, fault.message);
	assert_true(fault.line > 0);
}

void texture_refused(struct texture_test *x, const char *instruction, const char *what)
{
	struct diag d = DIAG_INIT;
	struct test_module m;
	struct dev_kernel *k;
	char ptx[4096];

	write_kernel(ptx, sizeof(ptx), instruction);
	test_load(&m, &x->dev, ptx, "texture.ptx");
	assert_int_not_equal(test_kernel(&m, "k", &k, &d), 0);
	if (!strstr(d.what, what))
		fail_msg("expected '%s' in: %s", what, d.what);
	assert_non_null(strstr(d.where, "texture.ptx:"));
	test_unload(&m);
}
