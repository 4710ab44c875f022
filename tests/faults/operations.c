/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches the kernels of operations.ptx: operations in forms that the programs of tests/programs lack, on values that
 * tell those forms apart. What is right is what the recording device makes of them.
 */
#include "../programs/driver/host.h"

#define THREADS 64

static uint32_t words[4 * THREADS];

/* Zeros, subnormals, powers of two, infinities, NaN; then numbers of all sizes. */
static void make_floats(uint32_t *seed)
{
	static const uint32_t special[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff,
					   0x00800000, 0x3f800000, 0xbf800000, 0x3f000000,
					   0x7f7fffff, 0xff800000, 0x7f800000, 0x7fc00000,
					   0x40490fdb, 0x00400000, 0x80200000, 0x3effffff};

	for (unsigned k = 0; k < COUNT(words); k++) {
		words[k] = (host_random(seed) & 0x807fffff) | (112 + host_random(seed) % 30) << 23;
		if (host_random(seed) % 3 == 0)
			words[k] = special[host_random(seed) % COUNT(special)];
	}
}

/* Of the second row many are amounts of shifts, the fourth divides. */
static void make_integers(uint32_t *seed)
{
	for (unsigned k = 0; k < COUNT(words); k++) {
		words[k] = host_random(seed) >> (host_random(seed) % 5 * 6);
		if (k / THREADS == 1 && k % 4)
			words[k] = host_random(seed) % 72;
		if (k / THREADS == 3)
			words[k] = (host_random(seed) % 2000 + 1) * (k % 2 ? 1 : ~0u);
	}
}

/* Floats of the size of integers, then integers. */
static void make_both(uint32_t *seed)
{
	make_integers(seed);
	for (unsigned k = 0; k < THREADS; k++)
		words[k] = (host_random(seed) & 0x807fffff) | (120 + host_random(seed) % 24) << 23;
	words[5] = 0x00000101;
}

static void run(const char *name, unsigned results)
{
	static uint32_t got[THREADS * 64];
	CUdeviceptr in = host_buffer(words, sizeof(words)), out = host_buffer(NULL, THREADS * results * 4);

	host_launch(host_kernel(name), name, (struct dim){1, 1, 1}, (struct dim){THREADS, 1, 1}, 0, NULL,
		    (void *[]){&in, &out});
	host_read(got, out, THREADS * results * 4);
	CU(cuMemFree_v2(in));
	CU(cuMemFree_v2(out));
}

int main(void)
{
	uint32_t seed = 9;

	host_start();
	make_floats(&seed);
	run("float_forms", 33);
	make_integers(&seed);
	run("integer_forms", 55);
	make_both(&seed);
	run("conversions", 32);
	make_integers(&seed);
	run("warp_forms", 24);
	run("memory_forms", 24);
	return host_finish();
}
