/* SPDX-License-Identifier: Apache-2.0
 *
 * Control "watch": which store hit a range of memory last. Compared at every
 * store of a launch that starts while a watch is set.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/interp.h"

int watch_set(struct interp_device *dev, const char *value, struct diag *d)
{
	unsigned long long addr = 0, bytes = 0;
	char *end = NULL;

	if (value && *value) {
		errno = 0;
		addr = strtoull(value, &end, 0);
		if (errno || *end != ':' || !(bytes = strtoull(end + 1, &end, 0)) || errno || *end)
			return diag_set(d, CUTRACE_EINVAL, "", "watch=%s: expected ADDRESS:BYTES", value);
	}
	pthread_mutex_lock(&dev->watch.lock);
	dev->watch.addr = addr;
	dev->watch.bytes = bytes;
	dev->watch.active = bytes != 0;
	dev->watch.hit = false;
	pthread_mutex_unlock(&dev->watch.lock);
	return 0;
}

static void remember(struct warp *w, const struct xinst *i, unsigned lane, struct dev_watch_hit *h)
{
	const struct grid *g = w->block->grid;
	const struct ptx_inst *in = xinst_ptx(w, i);
	struct dev_module *m = g->program->module;

	memset(h, 0, sizeof(*h));
	h->launch_id = g->launch->launch_id;
	snprintf(h->kernel, sizeof(h->kernel), "%s", g->program->kernel->name);
	memcpy(h->block, w->block->index, sizeof(h->block));
	for (unsigned k = 0; k < 3; k++)
		h->thread[k] = w->tids[k][lane];
	if (!in)
		return;
	h->line = in->line;
	pthread_mutex_lock(&m->dev->code_lock);
	ptx_line_text(m->ptx, in->line, h->ptx, sizeof(h->ptx));
	if (!ptx_inst_source(m->ptx, in, h->source, sizeof(h->source)))
		h->source[0] = 0;
	pthread_mutex_unlock(&m->dev->code_lock);
}

void watch_store(struct warp *w, const struct xinst *i, unsigned lane, uint64_t addr, uint32_t bytes)
{
	struct watch_state *s = &w->block->grid->dev->watch;

	if (addr >= s->addr + s->bytes || addr + bytes <= s->addr)
		return;
	pthread_mutex_lock(&s->lock);
	s->hit = true;
	remember(w, i, lane, &s->last);
	pthread_mutex_unlock(&s->lock);
}

bool watch_last(struct interp_device *dev, struct dev_watch_hit *out)
{
	pthread_mutex_lock(&dev->watch.lock);
	bool hit = dev->watch.hit;

	if (hit)
		*out = dev->watch.last;
	pthread_mutex_unlock(&dev->watch.lock);
	return hit;
}
