/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUTRACE_TESTS_REPLAY_CALLEE_H
#define CUTRACE_TESTS_REPLAY_CALLEE_H

#define CALLEE_EXPORT __attribute__((visibility("default")))

/* As large as CUipcMemHandle, which the driver API passes by value. */
struct callee_big {
	unsigned char b[64];
};
CALLEE_EXPORT int callee_ints(int a, unsigned b, const void *c, unsigned long d, short e, unsigned char f,
			      int g, unsigned long h, long i);
CALLEE_EXPORT int callee_floats(float a, double b, int c, float d, double e, double f, double g, double h,
				double i, float j, double k, unsigned l);
CALLEE_EXPORT int callee_struct(int a, struct callee_big b, int c, float d);
CALLEE_EXPORT int callee_mixed(int a, int b, int c, int d, int e, int f, int g, struct callee_big h, double i,
			       int j, struct callee_big k, float l, unsigned long m);
CALLEE_EXPORT int callee_none(void);

#endif
