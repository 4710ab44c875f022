/* SPDX-License-Identifier: Apache-2.0
 *
 * What a launch brings: the parameter block (PTX ISA 5.1.6: natural or stated alignment, as C lays out a
 * structure), dynamic shared memory, blocks that don't see each other's shared memory, local memory of each
 * thread and each call.
 */
#include "form.h"

#include <string.h>

/* The same fields in C's layout; the first two are the harness's own. */
static const struct {
	uint8_t a;
	uint16_t b;
	int8_t c;
	double d;
	float e;
	struct {
		_Alignas(16) uint8_t bytes[20];
	} s;
	uint8_t f;
	struct {
		_Alignas(8) uint32_t w[3];
	} t;
	int16_t g[3];
	uint64_t h;
} block = {
	.a = 0x9a,
	.b = 0x8123,
	.c = -5,
	.d = 1.5,
	.e = -0.25f,
	.s = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0xf0}},
	.f = 77,
	.t = {{0x11111111, 0x22222222, 0x33333333}},
	.g = {-1, 2, -3},
	.h = 0x0123456789abcdef,
};

static const char params[] = ", .param .u8 pa, .param .u16 pb, .param .s8 pc, .param .f64 pd, .param .f32 "
			     "pe, .param .align 16 .b8 ps[32], "
			     ".param .u8 pf, .param .align 8 .b8 pt[16], .param .s16 pg[3], .param .u64 ph";

static void ref_params(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	(void)in;
	out[0].bits = 0x9a;
	out[1].bits = 0x8123;
	out[2].bits = (uint32_t)-5;
	out[3].bits = 0x3ff8000000000000;
	out[4].bits = 0xbe800000;
	out[5].bits = 0xf0131211;
	out[6].bits = 77;
	out[7].bits = 0x33333333;
	out[8].bits = (uint32_t)-3;
	out[9].bits = 0x0123456789abcdef;
}

static void add_params(struct suite *s)
{
	struct form *f = form_add(
		s, "wwwdwwwwwd=w", ref_params,
		"ld.param.u8 %0, [pa]; ld.param.u16 %1, [pb]; ld.param.s8 %2, [pc]; ld.param.f64 %3, [pd];\n"
		"\tld.param.f32 %4, [pe]; ld.param.u32 %5, [ps+16]; ld.param.u8 %6, [pf]; ld.param.u32 %7, "
		"[pt+8];\n"
		"\tld.param.s16 %8, [pg+4]; ld.param.u64 %9, [ph];",
		"parameters of all sizes, arrays, aligned structures");

	f->params = params;
	f->param_data = &block;
	f->param_bytes = sizeof(block);
	f = form_add(s, "wwwdwwwwwd=w", ref_params,
		     "{ .reg .b64 q; mov.u64 q, ps; ld.param.u8 %0, [pa]; ld.param.u16 %1, [pb]; ld.param.s8 "
		     "%2, [pc]; ld.param.f64 %3, [pd];\n"
		     "\tld.param.f32 %4, [pe]; ld.param.u32 %5, [q+16]; ld.param.u8 %6, [pf]; "
		     "ld.param.v2.u32 {%8, %7}, [pt+4+4-8];\n"
		     "\tld.param.u32 %7, [pt+8]; ld.param.s16 %8, [pg+4]; ld.param.b64 %9, [ph+0]; }",
		     "parameters by address in a register");
	f->params = params;
	f->param_data = &block;
	f->param_bytes = sizeof(block);
}

static void ref_copy(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out->bits = in[0];
}

/* Blocks of 64: thread t reads what thread 63 - t put there. */
static void ref_mirror(const struct form *f, const uint64_t *in, struct want *out)
{
	for (unsigned i = 0; i < f->block; i++)
		out[i].bits = in[f->block - 1 - i];
}

static void ref_size(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)in;
	out->bits = f->shared_bytes;
}

/* 1 + 2 + ... + n, each call with a local array of its own that later calls mustn't change */
static void ref_triangle(const struct form *f, const uint64_t *in, struct want *out)
{
	uint32_t n = in[0] % 9;

	(void)f;
	out->bits = n * (n + 1) / 2;
}

static void ref_even_left(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out->bits = in[0] & 1 ? 0xa5a5a5a5 : (uint32_t)(in[0] + 1);
}

static const char decls[] =
	".extern .shared .align 16 .b8 dyn[];\n.shared .align 4 .b32 one[64];\n.shared .align 4 .b32 "
	"two[64];\n"
	".func (.reg .b32 r) triangle(.reg .b32 n)\n{\n\t.local .align 4 .b32 keep[2]; .reg .b64 p; .reg "
	".b32 m, t; .reg .pred z;\n"
	"\tmov.u32 r, 0; setp.eq.u32 z, n, 0; @z bra OUT; mov.u64 p, keep; st.local.u32 [p], n; st.local.u32 "
	"[p+4], 999;\n"
	"\tsub.u32 m, n, 1; call (t), triangle, (m); ld.local.u32 r, [p]; add.u32 r, r, t; OUT: ret;\n}\n"
	".func leave_if_odd(.reg .b32 n)\n{\n\t.reg .pred p; .reg .b32 t; and.b32 t, n, 1; setp.ne.u32 p, t, "
	"0; @p exit; ret;\n}\n";

static void add_memory(struct suite *s)
{
	struct form *f;

	f = form_add(s, "w=w", NULL,
		     "{ .reg .b64 a, w; .reg .b32 t; mov.u32 t, %tid.x; mov.u64 a, dyn; mul.wide.u32 w, t, "
		     "4; add.u64 w, a, w;\n"
		     "\tst.shared.b32 [w], %1; bar.sync 0; sub.u32 t, 63, t; mul.wide.u32 w, t, 4; add.u64 "
		     "w, a, w; ld.shared.b32 %0, [w]; }",
		     "dynamic shared memory");
	f->decl = decls;
	f->gref = ref_mirror;
	f->block = 64;
	f->shared_bytes = 256;
	f = form_add(s, "w=w", NULL,
		     "{ .reg .b64 a, b, c, w; .reg .b32 t, u; mov.u32 t, %tid.x; mov.u64 a, dyn; mov.u64 b, "
		     "one; mov.u64 c, two;\n"
		     "\tmul.wide.u32 w, t, 4; add.u64 a, a, w; add.u64 b, b, w; add.u64 c, c, w; "
		     "st.shared.b32 [b], %1; st.shared.b32 [a], -1;\n"
		     "\tst.shared.b32 [c], -2; bar.sync 0; sub.u32 t, 63, t; mov.u64 b, one; mul.wide.u32 w, "
		     "t, 4; add.u64 b, b, w;\n"
		     "\tld.shared.b32 %0, [b]; }",
		     "static and dynamic shared variables don't overlap");
	f->gref = ref_mirror;
	f->block = 64;
	f->shared_bytes = 256;
	f = form_add(s, "w=w", ref_size, "mov.u32 %0, %dynamic_smem_size;", "%%dynamic_smem_size");
	f->shared_bytes = 272;
	form_add(s, "w=w", ref_copy,
		 "{ .reg .b64 b, w; .reg .b32 t; mov.u32 t, %tid.x; mov.u64 b, one; mul.wide.u32 w, t, 4; "
		 "add.u64 b, b, w;\n"
		 "\tst.shared.b32 [b], %1; bar.sync 0; ld.shared.b32 %0, [b]; }",
		 "blocks have shared memory of their own");
	form_add(s, "w=w", ref_triangle, "{ .reg .b32 n; rem.u32 n, %1, 9; call (%0), triangle, (n); }",
		 "local variables of each call");
	form_add(s, "w=w", ref_even_left, "call leave_if_odd, (%1); add.u32 %0, %1, 1;",
		 "exit in a function");
}

void forms_launch(struct suite *s)
{
	add_memory(s);
	add_params(s);
}
