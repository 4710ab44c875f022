/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"

uint16_t handle_kind_find(const char *name)
{
	for (unsigned i = 0; i < api_nhandles; i++)
		if (!strcmp(api_handles[i].name, name))
			return (uint16_t)i;
	return API_NONE;
}

int handles_init(struct handles *h)
{
	h->kinds = calloc(api_nhandles ? api_nhandles : 1, sizeof(*h->kinds));
	h->device_kind = handle_kind_find("CUdevice");
	h->context_kind = handle_kind_find("CUcontext");
	h->stream_kind = handle_kind_find("CUstream");
	h->function_kind = handle_kind_find("CUfunction");
	h->module_kind = handle_kind_find("CUmodule");
	h->library_kind = handle_kind_find("CUlibrary");
	return h->kinds ? 0 : CUTRACE_ENOMEM;
}

void handles_free(struct handles *h)
{
	for (unsigned i = 0; h->kinds && i < api_nhandles; i++)
		map_free(&h->kinds[i]);
	free(h->kinds);
	memset(h, 0, sizeof(*h));
}

static bool is_special(uint16_t kind, uint64_t value)
{
	const struct api_handle *k = &api_handles[kind];

	for (unsigned i = 0; i < k->nspecial; i++)
		if ((uint64_t)k->special[i].value == value)
			return true;
	return value == 0;
}

/* A kind, then the kind whose values it accepts too (a CUkernel passed as a CUfunction), then the
 * kinds that accept this one's: a recorder may see a handle created under either name. */
static bool lookup(const struct handles *h, uint16_t kind, uint64_t recorded, uint64_t *live)
{
	uint16_t other = api_handles[kind].alias_of;

	if (map_get(&h->kinds[kind], recorded, live))
		return true;
	if (other != API_NONE && map_get(&h->kinds[other], recorded, live))
		return true;
	for (unsigned i = 0; i < api_nhandles; i++)
		if (api_handles[i].alias_of == kind && map_get(&h->kinds[i], recorded, live))
			return true;
	return false;
}

bool handles_get(const struct handles *h, uint16_t kind, uint64_t recorded, uint64_t *live)
{
	if (kind == h->device_kind || is_special(kind, recorded)) {
		*live = recorded;
		return true;
	}
	return lookup(h, kind, recorded, live);
}

int handles_set(struct handles *h, uint16_t kind, uint64_t recorded, uint64_t live)
{
	if (kind == h->device_kind || is_special(kind, recorded))
		return 0;
	return map_set(&h->kinds[kind], recorded, live);
}

void handles_remove(struct handles *h, uint16_t kind, uint64_t recorded)
{
	uint16_t other = api_handles[kind].alias_of;

	map_remove(&h->kinds[kind], recorded);
	if (other != API_NONE)
		map_remove(&h->kinds[other], recorded);
}
