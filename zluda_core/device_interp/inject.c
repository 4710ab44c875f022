/* SPDX-License-Identifier: Apache-2.0
 *
 * Control "inject": flips one bit of one instruction's result, to test whoever
 * must find wrong results. KERNEL:PTXLINE:BIT[:BLOCK[:THREAD]]; block and thread
 * are linear numbers, or * for all; without them block 0, thread 0. A store
 * stores a damaged value.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/lane.h"

/* A number or '*' (UINT64_MAX); false when it is neither. */
static bool parse_number(const char **p, uint64_t *out)
{
	char *end;

	if (**p == '*') {
		*out = UINT64_MAX;
		++*p;
		return true;
	}
	errno = 0;
	*out = strtoull(*p, &end, 0);
	if (errno || end == *p)
		return false;
	*p = end;
	return true;
}

int inject_set(struct interp_device *dev, const char *value, struct diag *d)
{
	struct inject_spec s = {0};
	uint64_t n[4] = {0};
	unsigned k = 0;

	if (value && *value) {
		const char *p = strchr(value, ':');

		if (p && (size_t)(p - value) < sizeof(s.kernel))
			memcpy(s.kernel, value, (size_t)(p - value));
		while (p && *p == ':' && k < 4) {
			p++;
			if (!parse_number(&p, &n[k++]))
				break;
		}
		if (!p || *p || k < 2 || !s.kernel[0] || n[0] > UINT32_MAX || n[1] > 127)
			return diag_set(d, CUTRACE_EINVAL, "",
					"inject=%s: expected KERNEL:PTXLINE:BIT[:BLOCK[:THREAD]]", value);
		s.line = (uint32_t)n[0];
		s.bit = (uint32_t)n[1];
		s.block = n[2];
		s.thread = n[3] > UINT32_MAX ? UINT32_MAX : (uint32_t)n[3];
		s.active = true;
	}
	kernel_variants_changed(dev, &s, NULL);
	return 0;
}

/* o[0] = cell, u = its bits, imm = the description. */
const struct xinst *exec_inject(struct warp *w, const struct xinst *i)
{
	const struct inject_spec *s = (const void *)(uintptr_t)i->imm;
	uint32_t lanes = w->exec;
	uint8_t *p = cell(w, i->o[0]);
	const uint32_t bit = s->bit % i->u;

	if (s->block != UINT64_MAX && s->block != w->block->linear)
		return i + 1;
	if (s->thread != UINT32_MAX)
		lanes &= s->thread / LANES == w->number ? 1u << s->thread % LANES : 0;
	if (lanes)
		atomic_fetch_add(&w->block->grid->dev->inject_hits, (uint64_t)__builtin_popcount(lanes));
	if (i->u == 1) {
		*(uint32_t *)(void *)p ^= lanes;
		return i + 1;
	}
	FOR_LANES(l, lanes)
	p[l * (i->u / 8) + bit / 8] ^= (uint8_t)(1u << bit % 8);
	return i + 1;
}
