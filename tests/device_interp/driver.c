/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/device_interp/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_mem {
	struct test_mem *next;
	uint64_t addr, bytes;
	struct dev_mem *mem;
};

static const struct device_ops *ops = &device_interp;

static void print(void *ctx, const char *text, size_t bytes)
{
	struct test_device *t = ctx;

	if (t->nprinted + bytes < sizeof(t->printed)) {
		memcpy(t->printed + t->nprinted, text, bytes);
		t->nprinted += bytes;
		t->printed[t->nprinted] = 0;
	}
}

static void report(void *ctx, uint64_t launch_id, const char *text)
{
	struct test_device *t = ctx;

	(void)launch_id;
	pthread_mutex_lock(&t->lock);
	if (t->nreported + strlen(text) + 2 < sizeof(t->reported))
		t->nreported += (size_t)sprintf(t->reported + t->nreported, "%s\n", text);
	pthread_mutex_unlock(&t->lock);
}

static uint64_t heap_alloc(void *ctx, uint64_t bytes)
{
	return test_alloc(ctx, bytes, NULL);
}

static int heap_free(void *ctx, uint64_t addr)
{
	struct test_device *t = ctx;

	test_release(t, addr);
	return 0;
}

static void check(int rc, const struct diag *d)
{
	if (rc)
		fail_msg("%s: %s %s", d->where, d->what, d->hint);
}

void test_open(struct test_device *t, const char *options)
{
	struct dev_host host = {t, print, heap_alloc, heap_free, report};
	const char *target = getenv("CUTRACE_TEST_TARGET"); /* of devices that have several */
	struct diag d = DIAG_INIT;
	char all[300];

	memset(t, 0, sizeof(*t));
	snprintf(all, sizeof(all), "%s%s%s", target ? target : "", target && options ? "," : "",
		 options ? options : "");
	check(ops->open(&t->dev, 0, all, &host, &d), &d);
	if (!options || !strstr(options, "watchdog_ms"))
		check(ops->control(t->dev, "watchdog_ms", "120000", &d), &d);
	t->next_addr = 0x550000000000ull;
	pthread_mutex_init(&t->lock, NULL);
}

void test_close(struct test_device *t)
{
	while (t->mems)
		test_release(t, t->mems->addr);
	ops->close(t->dev);
}

uint64_t test_alloc(struct test_device *t, uint64_t bytes, const void *init)
{
	struct dev_mem *mem;
	struct diag d = DIAG_INIT;
	uint64_t addr = __atomic_fetch_add(&t->next_addr, (bytes + 0xfff) / 0x1000 * 0x1000 + 0x1000,
					   __ATOMIC_SEQ_CST);

	check(ops->mem_create(t->dev, bytes, &mem, &d), &d);
	check(ops->map(t->dev, addr, bytes, mem, 0, false, &d), &d);
	struct test_mem *m = malloc(sizeof(*m));

	assert_non_null(m);
	pthread_mutex_lock(&t->lock);
	*m = (struct test_mem){t->mems, addr, bytes, mem};
	t->mems = m;
	pthread_mutex_unlock(&t->lock);
	if (init)
		check(ops->write(t->dev, addr, init, bytes, &d), &d);
	return addr;
}

void test_release(struct test_device *t, uint64_t addr)
{
	struct test_mem **p = &t->mems, *m;
	struct diag d = DIAG_INIT;

	pthread_mutex_lock(&t->lock);
	while (*p && (*p)->addr != addr)
		p = &(*p)->next;
	m = *p;
	if (m)
		*p = m->next;
	pthread_mutex_unlock(&t->lock);
	assert_non_null(m);
	check(ops->unmap(t->dev, m->addr, m->bytes, &d), &d);
	ops->mem_destroy(t->dev, m->mem);
	free(m);
}

void test_write(struct test_device *t, uint64_t dst, const void *src, uint64_t bytes)
{
	struct diag d = DIAG_INIT;

	check(ops->write(t->dev, dst, src, bytes, &d), &d);
}

void test_read(struct test_device *t, void *dst, uint64_t src, uint64_t bytes)
{
	struct diag d = DIAG_INIT;

	check(ops->read(t->dev, dst, src, bytes, &d), &d);
}

static void place_symbols(struct test_module *m)
{
	struct ptx_module *p = m->ptx;

	for (uint32_t s = 0; s < p->nsymbols; s++) {
		const struct ptx_symbol *sym = p->symbols[s];

		if ((sym->space == PTX_SPACE_GLOBAL || sym->space == PTX_SPACE_CONST) && sym->size)
			m->symbols[s] = test_alloc(m->t, sym->size, sym->init);
	}
}

static void relocate(struct test_module *m)
{
	struct ptx_module *p = m->ptx;
	struct diag d = DIAG_INIT;

	for (uint32_t s = 0; s < p->nsymbols; s++) {
		for (uint32_t k = 0; m->symbols[s] && k < p->symbols[s]->nrelocs; k++) {
			const struct ptx_reloc *r = &p->symbols[s]->relocs[k];
			uint64_t v = r->is_func ? ops->func_address(m->t->dev, m->mod, r->symbol)
						: m->symbols[r->symbol];

			v = (v + (uint64_t)r->addend) >> r->shift;
			check(ops->write(m->t->dev, m->symbols[s] + r->offset, &v, r->bytes, &d), &d);
		}
	}
}

void test_load(struct test_module *m, struct test_device *t, const char *ptx, const char *name)
{
	struct diag d = DIAG_INIT;

	memset(m, 0, sizeof(*m));
	m->t = t;
	m->ptx = ptx_module_parse(ptx, strlen(ptx), name, &d);
	if (!m->ptx)
		fail_msg("%s: %s", d.where, d.what);
	if (m->ptx->nerrors)
		fail_msg("%s: %s\n%s", m->ptx->errors[0].where, m->ptx->errors[0].what,
			 m->ptx->errors[0].hint);
	m->symbols = calloc(m->ptx->nsymbols + 1, sizeof(uint64_t));
	place_symbols(m);
	struct dev_module_env env = {m->symbols, m->ptx->nsymbols};

	check(ops->module_load(t->dev, m->ptx, &env, &m->mod, &d), &d);
	relocate(m);
}

void test_unload(struct test_module *m)
{
	ops->module_unload(m->t->dev, m->mod);
	ptx_module_free(m->ptx);
	free(m->symbols);
}

int test_kernel(struct test_module *m, const char *name, struct dev_kernel **k, struct diag *d)
{
	return ops->kernel_get(m->t->dev, m->mod, name, k, d);
}

int test_run(struct test_module *m, const char *kernel, const struct test_launch *l, const uint64_t *params,
	     unsigned n, struct dev_fault *fault)
{
	static uint64_t launch_id;
	struct dev_kernel *k;
	struct diag d = DIAG_INIT;
	struct dev_kernel_info info;
	uint8_t block[512] = {0};

	check(test_kernel(m, kernel, &k, &d), &d);
	ops->kernel_info(m->t->dev, k, &info);
	assert_int_equal(n, info.func->nparams);
	for (unsigned p = 0; p < n; p++)
		memcpy(block + info.func->params[p].offset, &params[p], info.func->params[p].size);
	struct dev_launch launch = {
		.kernel = k,
		.grid = {l->grid[0], l->grid[1], l->grid[2]},
		.block = {l->block[0], l->block[1], l->block[2]},
		.shared_bytes = l->shared_bytes,
		.cooperative = l->cooperative,
		.params = block,
		.param_bytes = info.func->param_bytes,
		.launch_id = ++launch_id,
	};
	memset(fault, 0, sizeof(*fault));
	return ops->launch(m->t->dev, &launch, fault);
}

void test_run_ok(struct test_module *m, const char *kernel, const struct test_launch *l,
		 const uint64_t *params, unsigned n)
{
	struct dev_fault fault;

	if (test_run(m, kernel, l, params, n, &fault))
		fail_msg("%s", fault.message);
}

uint64_t test_symbol(struct test_module *m, const char *name)
{
	for (uint32_t s = 0; s < m->ptx->nsymbols; s++)
		if (!strcmp(m->ptx->symbols[s]->name, name))
			return m->symbols[s];
	fail_msg("no variable %s", name);
	return 0;
}
