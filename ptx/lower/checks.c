/* SPDX-License-Identifier: Apache-2.0
 *
 * What has to hold for the kernel as a whole.
 */
#include "ptx/lower/barrier.h"

bool check_kernel(struct lower *l)
{
	const struct ptx_func *f = l->kernel;

	l->i = NULL;
	if (l->m->address_size != 64)
		return lower_refuse(l, "addresses of 32 bits");
	if (f->cluster[0] > 1 || f->cluster[1] > 1 || f->cluster[2] > 1)
		return lower_refuse(l, "clusters of several blocks");
	if (barrier_shared_bytes(l) > l->target->shared_bytes)
		return lower_refuse(l, "%llu bytes of shared memory; a block of %s has %u",
				    (unsigned long long)barrier_shared_bytes(l), l->target->name,
				    l->target->shared_bytes);
	return true;
}
