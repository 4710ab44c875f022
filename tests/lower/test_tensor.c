/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of matrices, atomics that many threads contend for, and textures, compiled and executed on the emulator, beside
 * what C computes from the ISA's tables: fragments are laid out here by 9.7.14.5's own formulas. Argument: a target.
 */
#include "tests/ptx/fixture.h"

#include <math.h>

#include "load.h"
#include "ptx/lower/runtime.h"
#include "zluda_core/compiler/compiler.h"
#include "zluda_core/device_texture.h"

static const char *target_name;

/* ---- running a kernel ---------------------------------------------------------------------------- */

struct run {
	struct device_memory memory;
	struct ptx_module *m;
	struct amdgpu_object *object;
	struct kernel_args args;
	struct lowered l;
	struct lower_runtime *runtime;
	uint64_t runtime_address;
};

static void open_run(struct run *r, const char *text)
{
	void *locks;

	memset(r, 0, sizeof(*r));
	r->m = parse_text(text);
	for (unsigned k = 0; k < r->m->nerrors; k++)
		print_error("%s %s\n", r->m->errors[k].where, r->m->errors[k].what);
	assert_int_equal(r->m->nerrors, 0);
	r->object = lower_and_load(&r->memory, r->m, "k", target_name, &r->l);
	r->runtime_address = device_buffer(&r->memory, NULL, sizeof(*r->runtime), &r->runtime);
	r->runtime->locks = device_buffer(&r->memory, NULL, LOWER_LOCKS * sizeof(uint32_t), &locks);
}

static void *buffer(struct run *r, const void *from, size_t bytes)
{
	void *host;
	uint64_t address = device_buffer(&r->memory, from, bytes, &host);

	args_add(&r->args, &address, sizeof(address));
	return host;
}

static void run_kernel(struct run *r, unsigned blocks, unsigned threads)
{
	struct amdgpu_fault fault = {0};
	const struct device_launch launch = {
		.object = r->object, .kernel = "k", .grid = {blocks, 1}, .block = {threads, 1}, .threads = 2};

	assert_int_equal(r->l.nvariables, 0);
	if (r->l.runtime_offset)
		ARGS_VALUE(&r->args, uint64_t, r->runtime_address);
	if (device_run(&r->memory, &launch, &r->args, &fault, NULL))
		fail_msg("%s: %s", target_name, fault.message);
}

static void close_run(struct run *r)
{
	device_release(&r->memory);
	amdgpu_object_close(r->object);
	lowered_free(&r->l);
	ptx_module_free(r->m);
}

/* ---- matrices --------------------------------------------------------------------------------------- */

static uint32_t state;

static uint32_t random_bits(void)
{
	state = state * 1664525 + 1013904223;
	return state >> 8 ^ state << 13;
}

static double half_value(uint16_t h)
{
	double m = h & 0x3ff, s = h >> 15 ? -1 : 1;
	int e = h >> 10 & 31;

	return s * (e ? ldexp(m + 1024, e - 25) : ldexp(m, -24));
}

/* Finite, of moderate size, subnormals among them. */
static uint16_t random_half(void)
{
	uint32_t v = random_bits();

	return (uint16_t)((v & 0x83ff) | (v >> 16) % 20 << 10);
}

static uint32_t f32_bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static const char head[] =
	".version 8.5\n.target sm_90\n.address_size 64\n"
	".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 i, o, e; .reg .b32 t, a<8>, b<8>, "
	"c<8>, d<8>, m; .reg .f32 f<8>; .reg .pred p;\nmov.u32 t, %tid.x; ld.param.u64 i, [in]; "
	"ld.param.u64 o, [out];\n";

/* mma.m16n8k16 of f16 in eight warps of two blocks: registers of a thread are 4 of A, 2 of B, 4 of C. */
struct f16_inputs {
	uint16_t a[16][16], b[16][8];
	float c[16][8];
};

enum { WARPS = 8 };

static void fill_f16(struct f16_inputs *x)
{
	for (unsigned r = 0; r < 16; r++)
		for (unsigned k = 0; k < 16; k++) {
			x->a[r][k] = random_half();
			x->b[k][r % 8] = random_half();
			x->c[r][k % 8] = (float)(int32_t)random_bits() * 0x1p-20f;
		}
	for (unsigned k = 0; k < 16; k++) { /* a row whose results are subnormals of f32 */
		x->a[3][k] = 0;
		x->c[3][k % 8] = (float)(random_bits() % 1000) * 0x1p-149f;
	}
}

/* Figures of 9.7.14.5.8, as words of two halves. */
static void fragments_f16(const struct f16_inputs *x, unsigned lane, uint32_t *to)
{
	unsigned g = lane / 4, t = lane % 4;

	for (unsigned i = 0; i < 8; i++) {
		unsigned row = (i & 2) ? g + 8 : g, col = 2 * t + (i & 1) + (i >= 4 ? 8 : 0);
		to[i / 2] = i & 1 ? to[i / 2] | (uint32_t)x->a[row][col] << 16 : x->a[row][col];
	}
	for (unsigned i = 0; i < 4; i++) {
		unsigned row = 2 * t + (i & 1) + (i >= 2 ? 8 : 0);
		to[4 + i / 2] = i & 1 ? to[4 + i / 2] | (uint32_t)x->b[row][g] << 16 : x->b[row][g];
	}
	for (unsigned i = 0; i < 4; i++)
		to[6 + i] = f32_bits_of(x->c[i < 2 ? g : g + 8][2 * t + (i & 1)]);
}

/* docs/tensor.md: exact products, added to C in binary64 in ascending k, rounded once. */
static uint32_t expected_f16(const struct f16_inputs *x, unsigned row, unsigned col)
{
	double sum = (double)x->c[row][col];

	for (unsigned k = 0; k < 16; k++)
		sum += half_value(x->a[row][k]) * half_value(x->b[k][col]);
	return f32_bits_of((float)sum);
}

/* `more`: a statement that makes the kernel's mode flush. */
static void multiply_halves(const char *more)
{
	static const char body[] = "mov.u32 m, %ctaid.x; shl.b32 m, m, 7; add.u32 t, t, m; mul.wide.u32 e, "
				   "t, 40; add.u64 i, i, e; "
				   "mul.wide.u32 e, t, 16; add.u64 o, o, e;\n"
				   "ld.global.v2.u32 {a0, a1}, [i]; ld.global.v2.u32 {a2, a3}, [i+8]; "
				   "ld.global.v2.u32 {b0, b1}, [i+16];\n"
				   "ld.global.v2.f32 {f0, f1}, [i+24]; ld.global.v2.f32 {f2, f3}, [i+32];\n"
				   "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {a0, "
				   "a1, a2, a3}, {b0, b1}, {f0, f1, f2, "
				   "f3};\n"
				   "st.global.v4.f32 [o], {f0, f1, f2, f3}; ret; }\n";
	static struct f16_inputs x[WARPS];
	static uint32_t in[WARPS * 32][10], zeros[WARPS * 32][4];
	char text[sizeof(head) + sizeof(body) + 100];
	struct run r;

	state = 5;
	for (unsigned w = 0; w < WARPS; w++) {
		fill_f16(&x[w]);
		for (unsigned lane = 0; lane < 32; lane++)
			fragments_f16(&x[w], lane, in[32 * w + lane]);
	}
	snprintf(text, sizeof(text), "%s%s%s", head, more, body);
	open_run(&r, text);
	buffer(&r, in, sizeof(in));
	const uint32_t(*out)[4] = buffer(&r, zeros, sizeof(zeros));
	run_kernel(&r, 2, 32 * WARPS / 2);
	for (unsigned t = 0; t < 32 * WARPS; t++)
		for (unsigned k = 0; k < 4; k++) {
			unsigned row = t % 32 / 4 + (k < 2 ? 0 : 8), col = t % 4 * 2 + (k & 1);
			uint32_t want = expected_f16(&x[t / 32], row, col);
			if (out[t][k] != want)
				fail_msg("%s: warp %u, D[%u][%u] is %08x, not %08x", target_name, t / 32, row,
					 col, out[t][k], want);
		}
	close_run(&r);
}

static void product_of_halves(void **unused)
{
	(void)unused;
	multiply_halves("");
	multiply_halves("add.ftz.f32 f7, f7, 0f00000001; \n");
}

/* wmma.load, mma and store of s8: only the product counts, whatever the fragments. */
static void product_by_wmma(void **unused)
{
	static const char body[] =
		"add.u64 e, i, 256; wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {a0, a1}, [i], 16;\n"
		"wmma.load.b.sync.aligned.col.m16n16k16.global.s8 {b0, b1}, [e], 16;\n"
		"add.u64 e, i, 512; wmma.load.c.sync.aligned.col.m16n16k16.global.s32 {c0, c1, c2, c3, c4, "
		"c5, c6, c7}, [e], "
		"16;\n"
		"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32.satfinite {d0, d1, d2, d3, d4, d5, "
		"d6, d7}, {a0, a1}, "
		"{b0, b1}, {c0, c1, c2, c3, c4, c5, c6, c7};\n"
		"wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [o], {d0, d1, d2, d3, d4, d5, d6, d7}, "
		"16; ret; }\n";
	static struct {
		int8_t a[16][16], b[16][16]; /* b: column after column */
		int32_t c[16][16];           /* likewise */
	} x;
	static int32_t zeros[256];
	char text[sizeof(head) + sizeof(body)];
	struct run r;

	(void)unused;
	for (unsigned k = 0; k < 256; k++) {
		x.a[k / 16][k % 16] = (int8_t)random_bits();
		x.b[k / 16][k % 16] = (int8_t)random_bits();
		x.c[k / 16][k % 16] = k % 5 ? (int32_t)random_bits() : INT32_MAX - 100;
	}
	snprintf(text, sizeof(text), "%s%s", head, body);
	open_run(&r, text);
	buffer(&r, &x, sizeof(x));
	const int32_t *out = buffer(&r, zeros, sizeof(zeros));
	run_kernel(&r, 1, 32);
	for (unsigned row = 0; row < 16; row++)
		for (unsigned col = 0; col < 16; col++) {
			int64_t want = x.c[col][row];
			for (unsigned k = 0; k < 16; k++)
				want += x.a[row][k] * x.b[col][k];
			want = want > INT32_MAX ? INT32_MAX : want < INT32_MIN ? INT32_MIN : want;
			assert_int_equal(out[16 * row + col], want);
		}
	close_run(&r);
}

/* Sparse A, 9.7.14.6.1: pairs of stored elements, each with two bits of place among four. */
static void sparse_product(void **unused)
{
	static const char body[] =
		"mul.wide.u32 e, t, 36; add.u64 i, i, e; mul.wide.u32 e, t, 16; add.u64 o, o, e;\n"
		"ld.global.u32 a0, [i]; ld.global.u32 a1, [i+4]; ld.global.u32 b0, [i+8]; ld.global.u32 b1, "
		"[i+12]; "
		"ld.global.f32 f0, [i+16]; ld.global.f32 f1, [i+20]; ld.global.f32 f2, [i+24]; ld.global.f32 "
		"f3, [i+28]; "
		"ld.global.u32 m, [i+32];\n"
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {a0, a1}, {b0, b1}, "
		"{f0, f1, f2, f3}, m, "
		"0x1;\n"
		"st.global.v4.f32 [o], {f0, f1, f2, f3}; ret; }\n";
	static const uint8_t pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}; /* 0 and 1, 0 and 2, ... */
	struct f16_inputs x;
	uint32_t in[32][9], zeros[32][4] = {{0}};
	uint16_t metadata[16];
	char text[sizeof(head) + sizeof(body)];
	struct run r;

	(void)unused;
	fill_f16(&x);
	for (unsigned row = 0; row < 16; row++) {
		metadata[row] = 0;
		for (unsigned k = 0; k < 4; k++)
			metadata[row] |= (uint16_t)(pairs[random_bits() % 6] << 4 * k);
	}
	for (unsigned lane = 0; lane < 32; lane++) {
		uint32_t f[10];
		fragments_f16(&x, lane, f);
		in[lane][0] = f[0];
		in[lane][1] = f[1];
		memcpy(&in[lane][2], &f[4], 24);
		/* selector 1: the second thread of a group has it, rows g and g + 8 */
		in[lane][8] = lane % 4 == 1 ? metadata[lane / 4] | (uint32_t)metadata[lane / 4 + 8] << 16
					    : 0xdeadbeef;
	}
	snprintf(text, sizeof(text), "%s%s", head, body);
	open_run(&r, text);
	buffer(&r, in, sizeof(in));
	const uint32_t(*out)[4] = buffer(&r, zeros, sizeof(zeros));
	run_kernel(&r, 1, 32);
	for (unsigned row = 0; row < 16; row++)
		for (unsigned col = 0; col < 8; col++) {
			double sum = (double)x.c[row][col];
			for (unsigned j = 0; j < 8; j++)
				sum += half_value(x.a[row][j]) *
				       half_value(x.b[j / 2 * 4 + (metadata[row] >> 2 * j & 3)][col]);
			assert_int_equal(out[row % 8 * 4 + col / 2][(row / 8) * 2 + col % 2],
					 f32_bits_of((float)sum));
		}
	close_run(&r);
}

/* Lanes that took a lock one after another are together at the matrix; m[r][c] = 8r + c. */
static void transposed_behind_a_lock(void **unused)
{
	static const char body[] =
		"ld.param.u64 i, [in]; TRY: atom.global.cas.b32 m, [i], 0, 1; setp.ne.u32 p, m, 0; @p bra "
		"TRY;\n"
		"ld.volatile.global.u32 m, [i+4]; add.u32 m, m, 1; st.volatile.global.u32 [i+4], m; "
		"membar.gl; "
		"atom.global.exch.b32 m, [i], 0;\n"
		"shl.b32 a0, t, 1; add.u32 a1, a0, 1; shl.b32 a1, a1, 16; or.b32 a0, a0, a1;\n"
		"movmatrix.sync.aligned.m8n8.trans.b16 d0, a0; mul.wide.u32 e, t, 4; add.u64 o, o, e; "
		"st.global.u32 [o], d0; "
		"ret; }\n";
	static uint32_t zeros[32];
	char text[sizeof(head) + sizeof(body)];
	struct run r;

	(void)unused;
	snprintf(text, sizeof(text), "%s%s", head, body);
	open_run(&r, text);
	const uint32_t *lock = buffer(&r, zeros, 8);
	const uint32_t *out = buffer(&r, zeros, sizeof(zeros));
	run_kernel(&r, 1, 32);
	assert_int_equal(lock[1], 32);
	for (unsigned lane = 0; lane < 32; lane++) {
		uint32_t row = lane / 4, first = 16 * (lane % 4) + row;
		assert_int_equal(out[lane], first | (first + 8) << 16);
	}
	close_run(&r);
}

/* ---- atomics -------------------------------------------------------------------------------------------- */

/* 384 threads: a pair of halves, a bf16 in the upper half of a word, f32 that would be lost if flushed in shared memory, a
 * counter of 128 bits by compare-and-swap. */
static void contended_atomics(void **unused)
{
	static const char text[] =
		".version 8.5\n.target sm_90\n.address_size 64\n.shared .align 16 .b32 sum[4];\n"
		".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 o, x, y, z, w; .reg .b32 "
		"t, r; .reg .b16 h; "
		".reg .f32 f; .reg .b128 old, new, seen; .reg .pred p, q;\n"
		"mov.u32 t, %tid.x; ld.param.u64 o, [out];\n"
		"setp.eq.u32 p, t, 0; @p st.shared.u32 [sum], 0; bar.sync 0;\n"
		"mov.b32 r, 0x40003c00; red.global.add.noftz.f16x2 [o], r;\n"
		"mov.b16 h, 0x3f80; red.global.add.noftz.bf16 [o+6], h;\n"
		"mov.b32 f, 0x00000001; red.shared.add.f32 [sum], f; red.global.add.f32 [o+8], f;\n"
		"red.global.sys.max.u32 [o+12], t;\n"
		"ld.global.v2.u64 {x, y}, [o+16]; mov.b128 old, {x, y};\n"
		"AGAIN: mov.b128 {x, y}, old; add.u64 z, x, 1; add.u64 w, y, 3; mov.b128 new, {z, w};\n"
		"atom.global.cas.b128 seen, [o+16], old, new; mov.b128 {z, w}, seen; setp.ne.u64 p, z, x; "
		"setp.ne.u64 q, w, y; "
		"or.pred p, p, q; mov.b128 old, seen; @p bra AGAIN;\n"
		"bar.sync 0; setp.eq.u32 p, t, 0; @p ld.shared.u32 r, [sum]; @p red.global.add.u32 [o+4], "
		"r;\nret;\n}\n";
	static uint32_t zeros[8];
	struct run r;

	(void)unused;
	open_run(&r, text);
	buffer(&r, zeros, sizeof(zeros));
	const uint32_t *out = buffer(&r, zeros, sizeof(zeros));
	run_kernel(&r, 2, 192);
	assert_int_equal(out[0], 0x62005e00);   /* 768.0 and 384.0 */
	assert_int_equal(out[1] >> 16, 0x4380); /* 256.0: adding 1 to it is a tie, to even */
	assert_int_equal(out[1] & 0xffff, 384); /* subnormals of two blocks */
	assert_int_equal(out[2], 0);            /* flushed in global memory */
	assert_int_equal(out[3], 191);
	assert_int_equal(out[4], 384);
	assert_int_equal(out[6], 3 * 384);
	close_run(&r);
}

/* ---- textures --------------------------------------------------------------------------------------------- */

/* A linear filter in two dimensions, clamped: weights of 8 bits, sum in f64. */
static float bilinear(const float (*texels)[8], float u, float v)
{
	double x = (double)u - 0.5, y = (double)v - 0.5, sum = 0;
	double a = floor((x - floor(x)) * 256 + 0.5), b = floor((y - floor(y)) * 256 + 0.5);

	for (int j = 0; j < 2; j++)
		for (int i = 0; i < 2; i++) {
			int at = (int)floor(x) + i, row = (int)floor(y) + j;
			at = at < 0 ? 0 : at > 7 ? 7 : at;
			row = row < 0 ? 0 : row > 3 ? 3 : row;
			sum += (i ? a : 256 - a) * (j ? b : 256 - b) / 65536 * (double)texels[row][at];
		}
	return (float)sum;
}

static void texture_and_surface(void **unused)
{
	static const char text[] =
		".version 8.5\n.target sm_80\n.address_size 64\n"
		".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 tex, .param .u64 surf)\n{\n"
		".reg .b64 i, o, e, h; .reg .b32 t, x, w; .reg .f32 u, v, r, g, b, a;\n"
		"mov.u32 t, %tid.x; ld.param.u64 i, [in]; ld.param.u64 o, [out]; mul.wide.u32 e, t, 8; "
		"add.u64 i, i, e; "
		"mul.wide.u32 e, t, 8; add.u64 o, o, e;\n"
		"ld.global.v2.f32 {u, v}, [i]; ld.param.u64 h, [tex];\n"
		"tex.2d.v4.f32.f32 {r, g, b, a}, [h, {u, v}]; st.global.f32 [o], r;\n"
		"txq.width.b32 w, [h]; st.global.u32 [o+4], w;\n"
		"ld.param.u64 h, [surf]; shl.b32 x, t, 2; suld.b.1d.b32.zero w, [h, {x}]; add.u32 w, w, 1;\n"
		"sust.b.1d.b32.zero [h, {x}], w; sured.b.add.1d.u32.zero [h, {x}], t;\nret;\n}\n";
	static struct dev_texture table[4];
	static float texels[4][8], places[64][2];
	static uint32_t zeros[64][2], cells[40];
	struct run r;
	void *host;

	(void)unused;
	for (unsigned k = 0; k < 32; k++)
		texels[k / 8][k % 8] = (float)(int32_t)random_bits() * 0x1p-16f;
	for (unsigned k = 0; k < 128; k++)
		places[k / 2][k % 2] = (float)(random_bits() % 12000) * 0x1p-10f - 1;
	for (unsigned k = 0; k < 40; k++)
		cells[k] = 1000 * k;
	open_run(&r, text);
	buffer(&r, places, sizeof(places));
	const uint32_t(*out)[2] = buffer(&r, zeros, sizeof(zeros));
	table[1] = (struct dev_texture){.handle = 1,
					.kind = DEV_TEXTURE,
					.state = DEV_TEXTURE_LIVE,
					.dims = 2,
					.texel = DEV_TEXEL_F32,
					.channels = 1,
					.texel_bytes = 4,
					.address = {DEV_ADDRESS_CLAMP, DEV_ADDRESS_CLAMP},
					.filter = true,
					.nlevels = 1};
	table[1].level[0] = (struct dev_texture_level){
		device_buffer(&r.memory, texels, sizeof(texels), &host), 32, 128, 8, 4, 1};
	table[2] = table[1];
	table[2].handle = 2;
	table[2].kind = DEV_SURFACE;
	table[2].dims = 1;
	table[2].texel = DEV_TEXEL_U32;
	uint32_t *surface;
	uint64_t at = device_buffer(&r.memory, cells, sizeof(cells), &surface);
	table[2].level[0] = (struct dev_texture_level){at, sizeof(cells), sizeof(cells), 40, 1, 1};
	r.runtime->textures = device_buffer(&r.memory, table, sizeof(table), &host);
	ARGS_VALUE(&r.args, uint64_t, 1);
	ARGS_VALUE(&r.args, uint64_t, 2);
	run_kernel(&r, 1, 64);
	assert_int_equal(r.runtime->fault.state, LOWER_FAULT_FREE_TO_CLAIM);
	for (unsigned k = 0; k < 64; k++) {
		assert_int_equal(out[k][0], f32_bits_of(bilinear((const float(*)[8])texels, places[k][0],
								 places[k][1])));
		assert_int_equal(out[k][1], 8);
	}
	for (unsigned k = 0; k < 40; k++)
		assert_int_equal(surface[k], 1000 * k + 1 + k);
	close_run(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(product_of_halves), cmocka_unit_test(product_by_wmma),
		cmocka_unit_test(sparse_product),    cmocka_unit_test(transposed_behind_a_lock),
		cmocka_unit_test(contended_atomics), cmocka_unit_test(texture_and_surface),
	};

	if (argc < 2)
		return 2;
	target_name = argv[1];
	compiler_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
