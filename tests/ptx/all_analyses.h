/* SPDX-License-Identifier: Apache-2.0
 *
 * Every analysis of a built function, for tests that feed them odd functions. Returns the number of facts found, so
 * that nothing is optimised away; -1 when one failed for another reason than its size. */
#ifndef CUTRACE_TEST_ALL_ANALYSES_H
#define CUTRACE_TEST_ALL_ANALYSES_H

#include "ptx/analysis.h"

static inline long all_analyses(struct ptx_module *m, struct ptx_func *f)
{
	struct ptx_liveness l;
	struct ptx_uniformity u;
	struct ptx_barriers b;
	struct ptx_contractions c;
	struct ptx_touch t;
	long n = 0;
	int rc = ptx_liveness_find(f, &l);
	if (rc && rc != CUTRACE_ENOTSUP)
		return -1;
	n += rc ? 0 : (long)l.first_out[f->nblocks];
	if (!rc)
		ptx_liveness_free(&l);
	if (ptx_uniformity_find(f, m, &u))
		return -1;
	if (ptx_barriers_find(f, &u, &b) || ptx_contractions_find(f, &c) || ptx_touch_find(m, f, &t))
		return -1;
	for (uint32_t v = 0; v < f->nvalues; v++)
		n += u.values[v].level;
	n += (long)b.n + (long)c.n + (long)t.nsymbols;
	ptx_uniformity_free(&u);
	ptx_barriers_free(&b);
	ptx_contractions_free(&c);
	ptx_touch_free(&t);
	return n;
}

#endif
