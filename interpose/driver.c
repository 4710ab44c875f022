/* SPDX-License-Identifier: Apache-2.0
 *
 * driver: the real libcuda.so.1 behind the recorder, and the table of what the entry points call.
 */
#include "interpose/recorder.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "api/extension.h"

static void *real_of[API_ID_COUNT]; /* NULL: the driver has none */
void *rec_true_or_absent[API_ID_COUNT];
bool rec_driver_is_ours;

struct address {
	const void *p;
	unsigned id;
};
static struct address by_address[API_ID_COUNT]; /* sorted */
static unsigned naddresses;

/* For functions that this driver does not have. A recorder can't hide its own symbols, so a program that asks
 * dlsym gets an address where it would have got NULL; cuGetProcAddress is answered truthfully (procs.c). */
static CUresult absent(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* What the toolkit's stub library answers to everything: there is no driver. */
static CUresult no_driver(void)
{
	return CUDA_ERROR_STUB_LIBRARY;
}

static int compare(const void *a, const void *b)
{
	const struct address *x = a, *y = b;

	return x->p < y->p ? -1 : x->p > y->p;
}

/* qsort may allocate for large arrays; this is a few hundred once. */
static void sort_addresses(void)
{
	for (unsigned gap = naddresses / 2; gap; gap /= 2)
		for (unsigned i = gap; i < naddresses; i++) {
			struct address a = by_address[i];
			unsigned j = i;

			for (; j >= gap && compare(&a, &by_address[j - gap]) < 0; j -= gap)
				by_address[j] = by_address[j - gap];
			by_address[j] = a;
		}
}

static void resolve(void *handle)
{
	for (unsigned i = 0; i < API_ID_COUNT; i++) {
		void *p = rec_entries[i] ? dlsym(handle, api_funcs[i].name) : NULL;

		/* CUTRACE_DRIVER must not name the recorder itself. */
		if (!p || p == rec_entries[i])
			continue;
		real_of[i] = p;
		by_address[naddresses++] = (struct address){p, i};
	}
	sort_addresses();
}

/* Our own driver tells what it writes to stderr; others don't know the table (api/extension.h). */
static void listen_to_driver(void)
{
	static const CUuuid uuid = CUTRACE_EXTENSION_UUID;
	const struct cutrace_extension *x = NULL;

	if (!rec_driver_has(API_ID_cuGetExportTable) ||
	    REAL(cuGetExportTable)((const void **)&x, &uuid) != CUDA_SUCCESS || !x)
		return;
	rec_driver_is_ours = true;
	if (x->size >= offsetof(struct cutrace_extension, set_message_sink) + sizeof(x->set_message_sink))
		x->set_message_sink(rec_driver_says, rec_current);
}

void rec_driver_load(void)
{
	char path[4096 + 2] =
		"/."; /* else the program's own request for that very path would be found: the recorder */
	void *handle = NULL;

	if (rec_environment(RING_ENV_DRIVER, path + 2, sizeof(path) - 2) && path[2] == '/')
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle)
		resolve(handle);
	for (unsigned i = 0; i < API_ID_COUNT; i++)
		rec_true_or_absent[i] = real_of[i] ? real_of[i] : (void *)absent;
	for (unsigned i = 0; i < API_ID_COUNT; i++)
		rec_real[i] = real_of[i] ? real_of[i] : naddresses ? (void *)absent : (void *)no_driver;
	rec_hooks_install();
	listen_to_driver();
}

bool rec_driver_has(unsigned id)
{
	return real_of[id] != NULL;
}

void rec_driver_adopt(unsigned id, void *p)
{
	if (real_of[id])
		return;
	real_of[id] = p;
	rec_true_or_absent[id] = p;
	rec_real[id] = p;
	rec_hooks_install();
	rec_option_hooks_install();
}

unsigned rec_driver_find(const void *p, const char *name)
{
	unsigned low = 0, high = naddresses, any = API_NONE;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (by_address[middle].p < p)
			low = middle + 1;
		else
			high = middle;
	}
	/* Several names may stand for one address. */
	for (; low < naddresses && by_address[low].p == p; low++) {
		if (!strcmp(api_funcs[by_address[low].id].base, name))
			return by_address[low].id;
		any = by_address[low].id;
	}
	return any;
}
