/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ptx_report.h"

#include <stdlib.h>
#include <string.h>

#include "zluda_core/device.h"

static int count_values(struct ptx_module *m, struct ptx_func *f, struct kernel_report *r)
{
	struct ptx_uniformity u;
	int rc = ptx_uniformity_find(f, m, &u);
	if (rc)
		return rc;
	for (uint32_t v = 1; v < f->nvalues; v++) {
		if (f->values[v].def == PTX_NONE && f->values[v].phi_block == PTX_NONE)
			continue;
		r->values++;
		r->level[u.values[v].level]++;
		r->affine += u.values[v].level == PTX_LEVEL_THREAD && u.values[v].affine;
	}
	for (uint32_t b = 0; b < f->nblocks; b++) {
		bool branches = f->blocks[b].nsuccs > 1 && (b == 0 || f->blocks[b].npreds);
		r->branches += branches;
		r->divergent_branches += branches && u.divergent[b] > PTX_LEVEL_WARP;
	}
	rc = ptx_barriers_find(f, &u, &r->barriers);
	ptx_uniformity_free(&u);
	return rc;
}

static int count_live(const struct ptx_func *f, struct kernel_report *r)
{
	struct ptx_liveness l;
	struct ptx_live_walk w;
	int rc = ptx_liveness_find(f, &l);
	if (rc)
		return rc == CUTRACE_ENOTSUP ? 0 : rc;
	rc = ptx_live_walk_open(&w, f);
	for (uint32_t b = 0; b < f->nblocks && !rc; b++) {
		if (b && !f->blocks[b].npreds)
			continue;
		ptx_live_walk_begin(&w, &l, b);
		do
			r->most_live = w.n > r->most_live ? w.n : r->most_live;
		while (ptx_live_walk_back(&w));
	}
	ptx_live_walk_close(&w);
	ptx_liveness_free(&l);
	return rc;
}

static int count_contractions(const struct ptx_func *f, struct kernel_report *r)
{
	struct ptx_contractions c;
	int rc = ptx_contractions_find(f, &c);
	for (uint32_t k = 0; !rc && k < c.n; k++)
		r->contractions_only_use += c.at[k].only_use;
	r->contractions = c.n;
	ptx_contractions_free(&c);
	return rc;
}

int kernel_report_make(struct ptx_module *m, struct ptx_func *f, struct kernel_report *r)
{
	*r = (struct kernel_report){.func = f};
	if (ptx_func_build(m, f))
		return f->error.code == CUTRACE_ENOMEM ? CUTRACE_ENOMEM : 0;
	r->built = true;
	int rc = ptx_func_analyse(m, f);
	if (!rc)
		rc = ptx_touch_find(m, f, &r->touch);
	if (!rc)
		rc = count_values(m, f, r);
	if (!rc)
		rc = count_contractions(f, r);
	return rc ? rc : count_live(f, r);
}

void kernel_report_free(struct kernel_report *r)
{
	ptx_touch_free(&r->touch);
	ptx_barriers_free(&r->barriers);
}

/* The code is made, not run: any address does for a variable. */
static int load(struct device *dev, struct ptx_module *m, struct dev_module **out, struct diag *d)
{
	uint64_t *addr = calloc((size_t)m->nsymbols + 1, sizeof(*addr)), next = UINT64_C(1) << 40;
	struct dev_module_env env = {.symbol_addr = addr, .nsymbols = m->nsymbols};
	if (!addr)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	for (uint32_t s = 0; s < m->nsymbols; s++) {
		const struct ptx_symbol *x = m->symbols[s];
		if (x->space != PTX_SPACE_GLOBAL && x->space != PTX_SPACE_CONST)
			continue;
		addr[s] = next;
		next += (x->size + 4095) / 4096 * 4096 + 4096;
	}
	int rc = device_interp.module_load(dev, m, &env, out, d);
	free(addr);
	return rc;
}

int report_executed(struct ptx_module *m, struct kernel_report *reports, uint32_t n, struct diag *d)
{
	const struct dev_host host = {0};
	struct device *dev;
	struct dev_module *module;
	struct dev_kernel *k;
	int rc = device_interp.open(&dev, 0, "workers=1", &host, d);
	if (rc)
		return rc;
	rc = load(dev, m, &module, d);
	for (uint32_t i = 0; i < n && !rc; i++)
		reports[i].executed = !device_interp.kernel_get(dev, module, reports[i].func->name, &k,
								&reports[i].refused);
	if (!rc)
		device_interp.module_unload(dev, module);
	device_interp.close(dev);
	return rc;
}
