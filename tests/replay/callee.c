/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions whose calls test_driver.c makes by table. This compiler places and fetches the arguments: it is
 * the independent source of the ABI. Each returns how many arguments arrived wrong.
 */
#include "callee.h"

static struct callee_big big(unsigned seed)
{
	struct callee_big b;

	for (unsigned i = 0; i < sizeof(b.b); i++)
		b.b[i] = (unsigned char)(seed + i);
	return b;
}

static int same(const struct callee_big *a, unsigned seed)
{
	const struct callee_big b = big(seed);

	return !__builtin_memcmp(a, &b, sizeof(b));
}

CALLEE_EXPORT int callee_ints(int a, unsigned b, const void *c, unsigned long d, short e, unsigned char f,
			      int g, unsigned long h, long i)
{
	return (a != -1) + (b != 2) + (c != (void *)3) + (d != 4) + (e != -5) + (f != 6) + (g != -7) +
	       (h != 8) + (i != -9);
}

CALLEE_EXPORT int callee_floats(float a, double b, int c, float d, double e, double f, double g, double h,
				double i, float j, double k, unsigned l)
{
	return (a != 1.5f) + (b != -2.25) + (c != 3) + (d != 4.5f) + (e != 5) + (f != 6) + (g != 7) +
	       (h != 8) + (i != 9) + (j != 10.5f) + (k != 11) + (l != 12);
}

CALLEE_EXPORT int callee_struct(int a, struct callee_big b, int c, float d)
{
	return (a != 1) + !same(&b, 10) + (c != 3) + (d != 4.5f);
}

CALLEE_EXPORT int callee_mixed(int a, int b, int c, int d, int e, int f, int g, struct callee_big h, double i,
			       int j, struct callee_big k, float l, unsigned long m)
{
	return (a != 1) + (b != 2) + (c != 3) + (d != 4) + (e != 5) + (f != 6) + (g != 7) + !same(&h, 20) +
	       (i != 9.5) + (j != 10) + !same(&k, 30) + (l != 12.5f) + (m != 13);
}

CALLEE_EXPORT int callee_none(void)
{
	return 77;
}
