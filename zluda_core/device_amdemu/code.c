/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects on the emulator. Instructions come from the compile service's disassembler.
 */
#include "zluda_core/device_amdemu/amdemu.h"

#include <stdlib.h>
#include <string.h>

#include "zluda_core/compiler/service.h"

struct amd_code {
	struct amdgpu_object *object;
	uint64_t address;
};

static int add_line(void *ctx, uint64_t offset, unsigned size, const char *text, struct diag *d)
{
	return amdgpu_object_line(ctx, offset, size, text, d);
}

static int decode(struct amd_backend *b, struct amdgpu_object *o, struct diag *d)
{
	struct amdgpu_code code[16];
	unsigned n = amdgpu_object_code(o, code, 16);
	int rc = 0;

	for (unsigned k = 0; k < n && k < 16 && !rc; k++)
		rc = service_decode(b->service, b->model->target, code[k].bytes, code[k].size, code[k].offset,
				    add_line, o, d);
	return rc;
}

static int load(struct amd_backend *b, struct amd_code *c, const void *bytes, size_t size, struct diag *d)
{
	uint64_t image_bytes;
	void *image;
	int rc = amdgpu_object_open(&c->object, bytes, size, d);

	if (rc)
		return rc;
	if (strcmp(amdgpu_object_target(c->object), b->model->target))
		return diag_set(d, CUTRACE_EINVAL, "", "the code object is for %s, the device is %s",
				amdgpu_object_target(c->object), b->model->target);
	image = amdgpu_object_image(c->object, &image_bytes);
	rc = emu_map_own(&b->memory, image, image_bytes, false, &c->address, d);
	if (rc) {
		c->address = 0;
		return rc;
	}
	rc = amdgpu_object_place(c->object, c->address, d);
	return rc ? rc : decode(b, c->object, d);
}

int emu_code_load(struct amd_backend *b, const void *code_object, size_t bytes, struct amd_code **out,
		  struct diag *d)
{
	struct amd_code *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	rc = load(b, c, code_object, bytes, d);
	if (rc)
		emu_code_unload(b, c);
	else
		*out = c;
	return rc;
}

void emu_code_unload(struct amd_backend *b, struct amd_code *c)
{
	uint64_t bytes;

	if (c->address) {
		amdgpu_object_image(c->object, &bytes);
		emu_unmap(&b->memory, c->address, bytes, NULL);
	}
	if (c->object)
		amdgpu_object_close(c->object);
	free(c);
}

int emu_code_function(struct amd_backend *b, struct amd_code *code, const char *name,
		      struct amd_function **out, struct diag *d)
{
	const struct amdgpu_kernel *k = amdgpu_object_kernel(code->object, name);

	(void)b;
	if (!k)
		return diag_set(d, CUTRACE_EFORMAT, "", "the code object has no kernel %s", name);
	*out = (struct amd_function *)(uintptr_t)k;
	return 0;
}
