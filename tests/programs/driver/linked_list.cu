/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

struct node {
	struct node *next;
	u64 value;
};

/* Links node i behind node order[i - 1]: device addresses are stored into device memory. */
__global__ void list_link(struct node *nodes, const u32 *order, u32 n)
{
	u32 i = global_x();

	if (i >= n)
		return;
	struct node *me = &nodes[order[i]];

	me->next = i + 1 < n ? &nodes[order[i + 1]] : 0;
	me->value = (u64)order[i] * order[i];
}

/* Walks several lists, one per thread, from the heads that the host put into `heads`. out gets a
 * number that depends on the order of the nodes, and the length. */
__global__ void list_walk(struct node *const *heads, u64 *out)
{
	u32 i = global_x();
	u64 mix = 0, length = 0;

	for (const struct node *p = heads[i]; p; p = p->next) {
		mix = mix * 31 + p->value;
		length++;
	}
	out[2 * i] = mix;
	out[2 * i + 1] = length;
}
