/* SPDX-License-Identifier: Apache-2.0
 *
 * image_run: which code of an image a driver takes. Ours takes PTX. NVIDIA's takes machine code that fits the device: of
 * the same major number, and of no greater minor one ("Binary compatibility", CUDA C++ Programming Guide), the nearest;
 * else PTX.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/collector/internal.h"

/* "ptx:80", "elf:90a": the target, and whether it is for that one alone. */
static bool entry_of(const char *word, size_t n, const char *kind, unsigned *arch, bool *alone)
{
	char *end;

	if (n < 5 || strncmp(word, kind, 4))
		return false;
	*arch = (unsigned)strtoul(word + 4, &end, 10);
	*alone = *end == 'a';
	return end > word + 4;
}

static bool fits(bool machine_code, unsigned arch, bool alone, unsigned cc)
{
	if (alone)
		return arch == cc;
	return arch <= cc && (!machine_code || arch / 10 == cc / 10);
}

/* The entry of a kind that fits best: the greatest. */
static bool best_of(const char *archs, const char *kind, unsigned cc, char *out, size_t max)
{
	unsigned best = 0;

	for (const char *p = archs; *p;) {
		size_t n = strcspn(p, " ");
		unsigned arch;
		bool alone;

		if (entry_of(p, n, kind, &arch, &alone) && fits(kind[0] == 'e', arch, alone, cc) &&
		    arch >= best) {
			best = arch;
			snprintf(out, max, "%.*s", (int)n, p);
		}
		p += n;
		p += *p == ' ';
	}
	return best != 0;
}

void image_ran(struct collector *c, const struct image *i, const struct process *p)
{
	char what[24] = "";
	const char *archs = image_archs(i);
	unsigned cc = p->cc ? p->cc : 90;

	if (!c->w || !image_buffer(i))
		return;
	if (!archs[0])
		snprintf(what, sizeof(what), "%s", image_is_text(i) ? "ptx" : "elf");
	else if (p->is_ours || !best_of(archs, "elf:", cc, what, sizeof(what)))
		best_of(archs, "ptx:", p->is_ours ? UINT32_MAX : cc, what, sizeof(what));
	if (what[0])
		trace_writer_image_run(c->w, image_buffer(i), p->row.id, what);
}
