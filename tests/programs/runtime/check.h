/* SPDX-License-Identifier: Apache-2.0
 *
 * check.h: what every runtime-API test program shares. Like the driver-API ones they say on stdout which
 * launches their trace must show, and end with "ok"; the text is the same in every run.
 */
#ifndef PROGRAMS_CHECK_H
#define PROGRAMS_CHECK_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CU(call) check_call((call), #call, __FILE__, __LINE__)

static inline void check_call(cudaError_t got, const char *call, const char *file, int line)
{
	if (got != cudaSuccess) {
		fprintf(stderr, "%s:%d: %s: error %d (%s)\n", file, line, call, (int)got,
			cudaGetErrorName(got));
		exit(1);
	}
}

/* Says that a kernel is launched; `name` is the mangled name, which is what the driver is told. */
static inline void say_launch(const char *name, dim3 grid, dim3 block)
{
	printf("launch %s grid %u %u %u block %u %u %u\n", name, grid.x, grid.y, grid.z, block.x, block.y,
	       block.z);
}

#define LAUNCH(kernel, grid, block, shared, stream, ...)                      \
	do {                                                                  \
		say_launch(#kernel, (grid), (block));                         \
		kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__); \
		CU(cudaGetLastError());                                       \
	} while (0)

template <typename T> static void compare(const char *what, const T *got, const T *expected, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (memcmp(&got[i], &expected[i], sizeof(T)) != 0) {
			fprintf(stderr, "%s[%zu] is %.17g, expected %.17g\n", what, i, (double)got[i],
				(double)expected[i]);
			exit(1);
		}
	}
}

/* xorshift32 (Marsaglia 2003). */
static inline uint32_t next_random(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

static inline float next_float(uint32_t *state)
{
	return (next_random(state) >> 8) / 16777216.0f;
}

static inline int finish()
{
	puts("ok");
	return fflush(stdout) == 0 ? 0 : 1;
}

#endif
