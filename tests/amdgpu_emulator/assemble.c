/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/amdgpu_emulator/assemble.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct asm_target targets[] = {
	{"gfx90a", E90A, 64, ".amdhsa_accum_offset 32\n"},
	{"gfx942", E942, 64, ".amdhsa_accum_offset 32\n"},
	{"gfx1030", G10, 32, ""},
	{"gfx1100", E1100, 32, ""},
	{"gfx1151", E1151, 32, ""},
	{"gfx1201", G12, 32, ""},
};

const struct asm_target *asm_target_find(const char *name)
{
	for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++)
		if (!strcmp(name, targets[i].name))
			return &targets[i];
	return NULL;
}

int asm_begin(struct assembly *a, const struct asm_target *t)
{
	char path[128];

	a->target = t;
	snprintf(a->folder, sizeof a->folder, "/tmp/amdgpu_assembly.XXXXXX");
	if (!mkdtemp(a->folder))
		return -1;
	snprintf(path, sizeof path, "%s/t.s", a->folder);
	a->text = fopen(path, "w");
	if (!a->text)
		return -1;
	fprintf(a->text, ".amdgcn_target \"amdgcn-amd-amdhsa--%s\"\n.amdhsa_code_object_version 5\n.text\n",
		t->name);
	return 0;
}

void asm_kernel_begin(struct assembly *a, const char *name)
{
	fprintf(a->text, ".globl %s\n.p2align 8\n.type %s,@function\n%s:\n", name, name, name);
}

void asm_body(struct assembly *a, const char *text)
{
	for (unsigned at = 0; *text; text++, at++) {
		fputc(*text, a->text);
		if (a->target->wave == 32 && at >= 2 && !strncmp(text - 2, "vcc", 3) && text[1] != '_')
			fputs("_lo", a->text);
	}
	fputc('\n', a->text);
}

void asm_kernel_end(struct assembly *a, const char *name)
{
	fprintf(a->text, " s_endpgm\n.size %s, .-%s\n.rodata\n.p2align 6\n.amdhsa_kernel %s\n", name, name,
		name);
	fprintf(a->text,
		".amdhsa_next_free_vgpr 32\n.amdhsa_next_free_sgpr 40\n"
		".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_group_segment_fixed_size 2048\n"
		".amdhsa_private_segment_fixed_size 64\n.amdhsa_kernarg_size 16\n"
		".amdhsa_float_denorm_mode_32 3\n%s.end_amdhsa_kernel\n.text\n",
		a->target->directives);
}

static void tidy(const char *folder)
{
	static const char *const names[] = {"t.s", "t.o", "t.co"};
	char path[128];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

struct amdgpu_object *asm_load(struct assembly *a, const char *mc, const char *mc_options, const char *lld,
			       struct device_memory *m)
{
	struct amdgpu_object *o = NULL;
	char command[1200];

	fclose(a->text);
	snprintf(command, sizeof command,
		 "'%s' -triple=amdgcn-amd-amdhsa -mcpu=%s %s -filetype=obj %s/t.s -o %s/t.o && '%s' -shared "
		 "%s/t.o -o %s/t.co",
		 mc, a->target->name, mc_options, a->folder, a->folder, lld, a->folder, a->folder);
	if (!system(command)) {
		snprintf(command, sizeof command, "%s/t.co", a->folder);
		o = device_load_file(m, command);
	}
	tidy(a->folder);
	return o;
}
