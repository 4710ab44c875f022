/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the driver programs, from clang's PTX, compiled and executed on the emulator; the host computes the same.
 * Arguments: a target, the folder of the programs' PTX.
 */
#include "load.h"

#include "tests/ptx/fixture.h"

#include <math.h>

#include "zluda_core/compiler/compiler.h"

static const char *target_name, *folder;

struct kernel {
	struct device_memory memory;
	struct ptx_module *m;
	struct amdgpu_object *object;
	struct kernel_args args;
	const char *name;
	struct lowered l;
};

static char *read_text(const char *program)
{
	char path[4096], *text = calloc(1, 1 << 20);

	snprintf(path, sizeof(path), "%s/%s.ptx", folder, program);
	FILE *in = fopen(path, "rb");
	if (!in)
		fail_msg("can't read %s", path);
	assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
	fclose(in);
	return text;
}

static void open_kernel(struct kernel *k, const char *program, const char *name)
{
	char *text = read_text(program);

	memset(k, 0, sizeof(*k));
	k->name = name;
	k->m = parse_text(text);
	free(text);
	k->object = lower_and_load(&k->memory, k->m, name, target_name, &k->l);
}

static void *buffer(struct kernel *k, const void *from, size_t bytes)
{
	void *host;
	uint64_t address = device_buffer(&k->memory, from, bytes, &host);

	args_add(&k->args, &address, sizeof(address));
	return host;
}

static void run(struct kernel *k, unsigned gx, unsigned gy, unsigned bx, unsigned by, unsigned lds)
{
	struct amdgpu_fault fault = {0};
	const struct device_launch launch = {.object = k->object,
					     .kernel = k->name,
					     .grid = {gx, gy},
					     .block = {bx, by},
					     .lds = lds,
					     .threads = 1};

	if (device_run(&k->memory, &launch, &k->args, &fault, NULL))
		fail_msg("%s on %s: %s", k->name, target_name, fault.message);
}

static void close_kernel(struct kernel *k)
{
	device_release(&k->memory);
	amdgpu_object_close(k->object);
	lowered_free(&k->l);
	ptx_module_free(k->m);
}

static uint32_t state = 99;
static uint32_t next(void)
{
	state = state * 1664525 + 1013904223;
	return state >> 4 ^ state << 13;
}

static float next_float(void)
{
	return (float)(next() % 20001) / 1000.0f - 10.0f;
}

static void matmul(void **unused)
{
	enum { N = 48 };
	static float a[N * N], b[N * N];
	struct kernel k;

	(void)unused;
	for (unsigned i = 0; i < N * N; i++)
		a[i] = next_float(), b[i] = next_float();
	open_kernel(&k, "matmul", "matmul");
	ARGS_VALUE(&k.args, uint32_t, N);
	buffer(&k, a, sizeof(a));
	buffer(&k, b, sizeof(b));
	float *c = buffer(&k, NULL, sizeof(a));
	run(&k, N / 16, N / 16, 16, 16, 0);
	for (unsigned i = 0; i < N * N; i++) {
		float sum = 0;
		for (unsigned n = 0; n < N; n++)
			sum = fmaf(a[i / N * N + n], b[n * N + i % N], sum);
		assert_memory_equal(&c[i], &sum, 4);
	}
	close_kernel(&k);
}

static void reduce_sum(void **unused)
{
	enum { N = 5000 };
	static uint32_t in[N];
	uint32_t want = 0;
	struct kernel k;

	(void)unused;
	for (unsigned i = 0; i < N; i++)
		want += in[i] = next();
	open_kernel(&k, "reduction", "reduce_sum");
	ARGS_VALUE(&k.args, uint32_t, N);
	buffer(&k, in, sizeof(in));
	uint32_t *total = buffer(&k, NULL, 4);
	run(&k, 3, 1, 256, 1, 0);
	assert_int_equal(*total, want);
	close_kernel(&k);
}

static void reduce_tree(void **unused)
{
	enum { BLOCK = 128, BLOCKS = 3 };
	static float in[BLOCKS * BLOCK], tree[BLOCKS * BLOCK];
	struct kernel k;

	(void)unused;
	for (unsigned i = 0; i < BLOCKS * BLOCK; i++)
		tree[i] = in[i] = next_float();
	for (unsigned b = 0; b < BLOCKS; b++)
		for (unsigned half = BLOCK / 2; half; half /= 2)
			for (unsigned t = 0; t < half; t++)
				tree[b * BLOCK + t] += tree[b * BLOCK + t + half];
	open_kernel(&k, "reduction", "reduce_tree");
	buffer(&k, in, sizeof(in));
	float *sums = buffer(&k, NULL, sizeof(float) * BLOCKS);
	run(&k, BLOCKS, 1, BLOCK, 1, BLOCK * 4);
	for (unsigned b = 0; b < BLOCKS; b++)
		assert_memory_equal(&sums[b], &tree[b * BLOCK], 4);
	close_kernel(&k);
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* One tile: the lowest bit of its place above the tile is clear, so it ascends. */
static void bitonic_sort(void **unused)
{
	enum { TILE = 512 };
	static uint32_t v[TILE];
	struct kernel k;

	(void)unused;
	for (unsigned i = 0; i < TILE; i++)
		v[i] = next();
	open_kernel(&k, "bitonic_sort", "bitonic_sort_tiles");
	uint32_t *sorted = buffer(&k, v, sizeof(v));
	run(&k, 1, 1, TILE / 2, 1, 0);
	qsort(v, TILE, sizeof(v[0]), ascending);
	assert_memory_equal(sorted, v, sizeof(v));
	close_kernel(&k);
}

static void radix_count(void **unused)
{
	enum { BLOCK = 256, BLOCKS = 3 };
	static uint32_t keys[BLOCK * BLOCKS];
	uint32_t want[16 * BLOCKS] = {0};
	struct kernel k;

	(void)unused;
	for (unsigned i = 0; i < BLOCK * BLOCKS; i++) {
		keys[i] = next();
		want[(keys[i] >> 8 & 15) * BLOCKS + i / BLOCK]++;
	}
	open_kernel(&k, "radix_sort", "radix_count");
	buffer(&k, keys, sizeof(keys));
	ARGS_VALUE(&k.args, uint32_t, 8);
	uint32_t *counts = buffer(&k, NULL, sizeof(want));
	run(&k, BLOCKS, 1, BLOCK, 1, 0);
	assert_memory_equal(counts, want, sizeof(want));
	close_kernel(&k);
}

static void nbody(void **unused)
{
	enum { N = 128 };
	static float bodies[N][4];
	const float softening = 0.01f;
	struct kernel k;

	(void)unused;
	for (unsigned i = 0; i < N * 4; i++)
		bodies[i / 4][i % 4] = next_float();
	open_kernel(&k, "nbody", "nbody_accelerate");
	ARGS_VALUE(&k.args, uint32_t, N);
	buffer(&k, bodies, sizeof(bodies));
	float *accel = buffer(&k, NULL, N * 12);
	ARGS_VALUE(&k.args, float, softening);
	run(&k, N / 64, 1, 64, 1, 0);
	for (unsigned i = 0; i < N; i++) {
		float sum[3] = {0};
		for (unsigned j = 0; j < N; j++) {
			float d[3];
			for (unsigned c = 0; c < 3; c++)
				d[c] = bodies[j][c] - bodies[i][c];
			float r2 = fmaf(d[0], d[0], fmaf(d[1], d[1], fmaf(d[2], d[2], softening)));
			float scale = bodies[j][3] / (r2 * sqrtf(r2));
			for (unsigned c = 0; c < 3; c++)
				sum[c] = fmaf(d[c], scale, sum[c]);
		}
		assert_memory_equal(&accel[3 * i], sum, sizeof(sum));
	}
	close_kernel(&k);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(matmul),      cmocka_unit_test(reduce_sum),
					   cmocka_unit_test(reduce_tree), cmocka_unit_test(bitonic_sort),
					   cmocka_unit_test(radix_count), cmocka_unit_test(nbody)};

	if (argc != 3)
		return 2;
	target_name = argv[1];
	folder = argv[2];
	compiler_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
