/* SPDX-License-Identifier: Apache-2.0
 *
 * written: which bytes a launch may write, from the kernel's PTX (ptx/written.h).
 */
#include <stdlib.h>
#include <string.h>

#include "interpose/collector/internal.h"
#include "ptx/written.h"

static struct ptx_written *prepared(struct kernel *k)
{
	struct ptx_module *m;
	struct ptx_func *f;

	if (!k->written_tried) {
		k->written_tried = true;
		f = kernel_ptx(k, &m);
		if (f && ptx_written_open(&k->written, m, f))
			k->written = NULL;
	}
	return k->written;
}

static bool add(struct ring_written *out, const struct trace_kernel_param *p,
		const struct ptx_written_range *r)
{
	__typeof__(&out->p[0]) to = &out->p[out->n];

	if (!r->is_written || (r->is_bounded && r->first == r->end))
		return true;
	if (out->n == sizeof(out->p) / sizeof(out->p[0]))
		return false;
	out->n++;
	to->offset = p->offset;
	to->bytes = p->bytes;
	to->type = (uint8_t)sketch_type_find(p->elem_type);
	to->is_bounded = r->is_bounded;
	to->first = r->first;
	to->end = r->end;
	return true;
}

void kernel_written(struct kernel *k, const struct ring_ask_written *a, struct ring_written *out)
{
	struct ptx_written *w = prepared(k);
	struct ptx_written_range *ranges = w ? calloc(k->row.nparams + 1, sizeof(*ranges)) : NULL;
	struct ptx_launch l = {.params = a->params, .bytes = (uint32_t)a->param_bytes};

	if (!ranges || ptx_written_elsewhere(w)) {
		free(ranges);
		return;
	}
	memcpy(l.grid, a->grid, sizeof(l.grid));
	memcpy(l.block, a->block, sizeof(l.block));
	ptx_written_find(w, &l, ranges);
	out->known = 1;
	for (unsigned i = 0; i < k->row.nparams; i++)
		if (!add(out, &k->row.params[i], &ranges[i]))
			out->known = 0;
	free(ranges);
}
