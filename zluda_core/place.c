/* SPDX-License-Identifier: Apache-2.0
 *
 * Which side a pointer belongs to. With unified addressing a pointer says so itself; the kind that a function
 * asks for decides in one case only: an address outside our window that a replayer has placed device memory
 * at may be the program's own on the host side.
 */
#include "core.h"

static bool in_window(uint64_t addr)
{
	return addr >= options.va_base && addr - options.va_base < options.va_bytes;
}

CUresult place_find(uint64_t ptr, uint64_t bytes, enum place_want want, struct place *out)
{
	struct range *r = range_find(ptr);
	struct vmm_map map;

	if (r && r->kind == RANGE_ARRAY)
		r = NULL;
	*out = (struct place){.addr = ptr, .range = r};
	if (want == PLACE_HOST &&
	    (!r || (!r->host && !in_window(ptr)) || (r->host && !range_contains(r, ptr, bytes)))) {
		out->range =
			NULL; /* pageable, or pinned in part: the host decides whether it may be touched */
		r = NULL;
	}
	if (!r) {
		if (want == PLACE_DEVICE || !ptr)
			return CUDA_ERROR_INVALID_VALUE;
		out->is_host = true;
		out->host = (void *)ptr;
		return CUDA_SUCCESS;
	}
	if (!range_contains(r, ptr, bytes) || r->freeing ||
	    (r->kind == RANGE_RESERVED && !vmm_covered(r, ptr, bytes)))
		return CUDA_ERROR_INVALID_VALUE;
	out->gpu = r->gpu;
	if (r->kind == RANGE_RESERVED && vmm_map_at(r, ptr, &map))
		out->gpu = map.gpu;
	if (r->host) {
		out->is_host = true;
		out->pinned = true;
		out->managed = r->kind == RANGE_MANAGED;
		out->host = (char *)r->host + (ptr - r->addr);
	}
	return CUDA_SUCCESS;
}
