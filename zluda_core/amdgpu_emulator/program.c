/* SPDX-License-Identifier: Apache-2.0
 *
 * The instructions of a code object, by their offset in the image.
 */
#include <stdlib.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/insn.h"
#include "zluda_core/amdgpu_emulator/object.h"

int amdgpu_object_line(struct amdgpu_object *o, uint64_t offset, unsigned size, const char *text,
		       struct diag *d)
{
	while (*text == ' ' || *text == '\t')
		text++;
	if (offset % 4 || size % 4 || !size || size > 32 || offset / 4 >= o->nslots ||
	    size / 4 > o->nslots - offset / 4)
		return diag_set(d, CUTRACE_EINVAL, "", "an instruction of %u bytes at offset 0x%llx", size,
				(unsigned long long)offset);
	struct insn *in = insn_parse(o->target->gfx, text, size);
	if (!in)
		return diag_set(d, CUTRACE_ENOMEM, "", "no memory for instructions");
	insn_free(o->insns[offset / 4]);
	o->insns[offset / 4] = in;
	return 0;
}

size_t amdgpu_object_unknown(const struct amdgpu_object *o, const char **texts, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < o->nslots; i++) {
		if (!o->insns[i] || o->insns[i]->exec != exec_unknown)
			continue;
		if (n < max)
			texts[n] = o->insns[i]->text;
		n++;
	}
	return n;
}

void amdgpu_program_free(struct amdgpu_object *o)
{
	for (size_t i = 0; o->insns && i < o->nslots; i++)
		insn_free(o->insns[i]);
	free(o->insns);
}
