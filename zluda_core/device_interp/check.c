/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/device_interp/check.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_CELLS (1ull << 30) /* bytes of marks that are kept from one launch to the next */

static int parse_what(const char *value, uint8_t *what, struct diag *d)
{
	static const struct {
		const char *name;
		uint8_t bits;
	} names[] = {{"uninit", CHECK_UNINIT},
		     {"races", CHECK_RACES},
		     {"barriers", CHECK_BARRIERS},
		     {"all", CHECK_ALL},
		     {"none", 0},
		     {"0", 0}};
	size_t n;

	for (const char *p = value; *p; p += n + (p[n] == '+')) {
		unsigned k = 0;

		n = strcspn(p, "+");
		while (k < sizeof(names) / sizeof(names[0]) &&
		       (strlen(names[k].name) != n || strncmp(names[k].name, p, n)))
			k++;
		if (k == sizeof(names) / sizeof(names[0]))
			return diag_set(d, CUTRACE_EINVAL, "",
					"check=%s: expected uninit, races, barriers, joined by +, or all",
					value);
		*what |= names[k].bits;
	}
	return 0;
}

int check_set(struct interp_device *dev, const char *value, struct diag *d)
{
	uint8_t what = 0;
	int rc = parse_what(value, &what, d);

	if (rc)
		return rc;
	check_close(dev);
	if (!what)
		return 0;
	struct checker *c = calloc(1, sizeof(*c));

	if (!c)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	c->dev = dev;
	c->what = what;
	pthread_mutex_init(&c->lock, NULL);
	dev->checker = c;
	return 0;
}

void check_close(struct interp_device *dev)
{
	struct checker *c = dev->checker;

	if (!c)
		return;
	while (c->nranges)
		check_memory_gone(c, (const uint8_t *)(uintptr_t)c->ranges[0].begin,
				  c->ranges[0].end - c->ranges[0].begin);
	check_memory_gone(c, NULL, UINT64_MAX); /* pages of imported memory */
	while (c->kernels) {
		struct check_kernel *k = c->kernels;

		c->kernels = k->next;
		free(k);
	}
	free(c->buckets);
	free(c->ranges);
	pthread_mutex_destroy(&c->lock);
	free(c);
	dev->checker = NULL;
}

static struct check_kernel *kernel_of(struct checker *c, const struct program *p)
{
	const char *name = p->kernel->name, *module = p->module->ptx->name;

	for (struct check_kernel *k = c->kernels; k; k = k->next)
		if (!strncmp(k->name, name, sizeof(k->name) - 1) &&
		    !strncmp(k->module, module, sizeof(k->module) - 1))
			return k;
	struct check_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	snprintf(k->name, sizeof(k->name), "%s", name);
	snprintf(k->module, sizeof(k->module), "%s", module);
	k->next = c->kernels;
	c->kernels = k;
	return k;
}

void check_grid_begin(struct grid *g)
{
	struct checker *c = g->dev->checker;

	if (!c)
		return;
	struct check_grid *cg = calloc(1, sizeof(*cg));

	if (!cg)
		return;
	pthread_mutex_lock(&c->lock);
	if (c->grids++ == 0 && c->cell_bytes > KEEP_CELLS)
		shadow_drop_cells(c);
	cg->kernel = kernel_of(c, g->program);
	cg->launch = ++c->launch;
	pthread_mutex_unlock(&c->lock);
	g->check = cg;
}

bool check_grid_end(struct grid *g)
{
	struct checker *c = g->dev->checker;
	struct check_grid *cg = g->check;
	bool fails = false;

	if (!cg)
		return false;
	pthread_mutex_lock(&c->lock);
	c->grids--;
	if (cg->said)
		check_summary(g);
	if (g->dev->check_error && cg->count && !g->has_fault) {
		memset(g->fault, 0, sizeof(*g->fault));
		g->fault->kind = DEV_FAULT_CHECK;
		snprintf(g->fault->kernel, sizeof(g->fault->kernel), "%s", g->program->kernel->name);
		snprintf(g->fault->module, sizeof(g->fault->module), "%s", g->program->module->ptx->name);
		snprintf(g->fault->message, sizeof(g->fault->message), "%s", cg->first);
		fails = true;
	}
	pthread_mutex_unlock(&c->lock);
	free(cg);
	g->check = NULL;
	return fails;
}

bool check_block_create(struct block *b)
{
	struct checker *c = b->grid->dev->checker;
	size_t words = b->shared_bytes / 4 + 1;

	if (!b->grid->check)
		return true;
	struct check_block *cb = calloc(1, sizeof(*cb));

	b->check = cb;
	if (!cb)
		return false;
	cb->nwarps = b->nwarps;
	if (c->what & CHECK_UNINIT)
		cb->shared_written = calloc(1, (size_t)b->shared_bytes / 8 + 1);
	if (c->what & CHECK_RACES)
		cb->shared_cells = calloc(words, sizeof(*cb->shared_cells));
	for (uint32_t k = 0; c->what & CHECK_UNINIT && k < b->nwarps && b->grid->program->stack_bytes; k++)
		if (!(cb->local_written[k] = calloc(1, (size_t)b->grid->program->stack_bytes * LANES / 8)))
			return false;
	return (cb->shared_written || !(c->what & CHECK_UNINIT)) &&
	       (cb->shared_cells || !(c->what & CHECK_RACES));
}

/* Marks of shared memory are of the block that made them: those of the storage's last block count for nothing. */
void check_block_start(struct block *b)
{
	struct check_block *cb = b->check;

	if (!cb)
		return;
	if (cb->shared_written)
		memset(cb->shared_written, 0, b->shared_bytes / 8 + 1);
	memset(cb->clock, 0, sizeof(cb->clock));
	memset(cb->barrier, 0, sizeof(cb->barrier));
	for (uint32_t k = 0; k < CHECK_WARPS; k++) {
		cb->clock[k][k] = 1;
		cb->acquired[k] = cb->fenced[k] = 0;
	}
}

void check_block_destroy(struct block *b)
{
	struct check_block *cb = b->check;

	if (!cb)
		return;
	for (uint32_t k = 0; k < CHECK_WARPS; k++)
		free(cb->local_written[k]);
	free(cb->shared_written);
	free(cb->shared_cells);
	free(cb);
	b->check = NULL;
}
