/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A struct of more than 16 bytes passed by value lies on the stack in the argument area, as the words of
 * further arguments would: so one prototype places any number of stack words. */
struct stack_words {
	uint64_t w[DRIVER_MAX_STACK_WORDS];
};
typedef uint64_t any_fn(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double, double, double,
			double, double, double, double, double, struct stack_words);

struct placement {
	uint64_t ints[6];
	double floats[8];
	struct stack_words stack;
	unsigned nints, nfloats, nstack;
};

static unsigned param_words(const struct api_param *p)
{
	return (api_types[p->type].size + 7u) / 8u;
}

static void place(struct placement *pl, const struct api_param *p, uint64_t word)
{
	if (p->abi == API_ABI_MEMORY) {
		unsigned size = api_types[p->type].size;

		memcpy(&pl->stack.w[pl->nstack], (const void *)(uintptr_t)word, size);
		pl->nstack += param_words(p);
	} else if (p->abi == API_ABI_FLOAT && pl->nfloats < 8) {
		memcpy(&pl->floats[pl->nfloats++], &word, sizeof(word));
	} else if (p->abi == API_ABI_INT && pl->nints < 6) {
		pl->ints[pl->nints++] = word;
	} else {
		pl->stack.w[pl->nstack++] = word;
	}
}

bool driver_call_fits(const struct api_func *f)
{
	unsigned words = 0;

	for (unsigned i = 0; i < f->nparams; i++)
		words += f->params[i].abi == API_ABI_MEMORY ? param_words(&f->params[i]) : 1;
	return words <= DRIVER_MAX_STACK_WORDS;
}

uint64_t driver_call(void *fn, const struct api_func *f, const uint64_t *args)
{
	struct placement pl = {0};
	const uint64_t *r = pl.ints;
	const double *x = pl.floats;
	any_fn *call;

	for (unsigned i = 0; i < f->nparams; i++)
		place(&pl, &f->params[i], args[i]);
	memcpy(&call, &fn, sizeof(call));
	return call(r[0], r[1], r[2], r[3], r[4], r[5], x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7],
		    pl.stack);
}

void *driver_symbol(struct driver *drv, const char *name)
{
	return dlsym(drv->lib, name);
}

int64_t driver_plain(struct driver *drv, const char *name, unsigned n, ...)
{
	int (*fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
	void *sym = driver_symbol(drv, name);
	uint64_t a[6] = {0};
	va_list ap;

	if (!sym)
		return 500;
	va_start(ap, n);
	for (unsigned i = 0; i < n && i < 6; i++)
		a[i] = va_arg(ap, uint64_t);
	va_end(ap);
	memcpy(&fn, &sym, sizeof(fn));
	return fn(a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* A per-thread-stream form that the target lacks is served by the plain form: the replayer gives an
 * explicit stream wherever it matters (contexts.c). */
static void *plain_form(struct driver *drv, const char *name)
{
	char plain[256];
	size_t n = strlen(name);

	if (n < 6 || n >= sizeof(plain) || (strcmp(name + n - 5, "_ptsz") && strcmp(name + n - 5, "_ptds")))
		return NULL;
	memcpy(plain, name, n - 5);
	plain[n - 5] = '\0';
	return dlsym(drv->lib, plain);
}

void *driver_function(struct driver *drv, const struct api_func *f)
{
	unsigned id = api_func_id(f);

	if (!drv->looked_up[id]) {
		drv->looked_up[id] = 1;
		drv->fn[id] = dlsym(drv->lib, f->name);
		if (!drv->fn[id])
			drv->fn[id] = plain_form(drv, f->name);
	}
	return drv->fn[id];
}

int driver_open(struct driver *drv, const char *path, struct diag *d)
{
	int (*get_version)(int *);
	void *sym;

	memset(drv, 0, sizeof(*drv));
	snprintf(drv->path, sizeof(drv->path), "%s", path);
	drv->fn = calloc(api_nfuncs, sizeof(*drv->fn));
	drv->looked_up = calloc(api_nfuncs, 1);
	if (!drv->fn || !drv->looked_up)
		return diag_set(d, CUTRACE_ENOMEM, path, "out of memory");
	drv->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!drv->lib)
		return diag_set(d, CUTRACE_EIO, path, "cannot load the driver: %s", dlerror());
	sym = driver_symbol(drv, "cuDriverGetVersion");
	if (!sym)
		return diag_set(d, CUTRACE_EFORMAT, path,
				"is no CUDA driver: it exports no cuDriverGetVersion");
	memcpy(&get_version, &sym, sizeof(sym));
	if (get_version(&drv->version))
		drv->version = 0;
	return 0;
}

void driver_close(struct driver *drv)
{
	/* The library stays loaded: drivers have threads and exit handlers of their own. */
	free(drv->fn);
	free(drv->looked_up);
	memset(drv, 0, sizeof(*drv));
}

const char *driver_error_name(int64_t result)
{
	static const struct api_enum *results;
	static char number[32];
	const char *name;

	if (!results)
		results = api_enum_find("CUresult");
	name = results ? api_enum_name(results, result) : NULL;
	if (name)
		return name;
	snprintf(number, sizeof(number), "error %lld", (long long)result);
	return number;
}

/* CUDA driver API, CUresult: the errors whose description says that the process must be ended or the context
 * destroyed: illegal address, launch timeout, assert, hardware stack, illegal instruction, misaligned
 * address, invalid address space, invalid pc, launch failed, tensor memory leak. */
bool driver_error_is_fault(int64_t result)
{
	static const int16_t faults[] = {700, 702, 710, 714, 715, 716, 717, 718, 719, 721};

	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (faults[i] == result)
			return true;
	return false;
}
