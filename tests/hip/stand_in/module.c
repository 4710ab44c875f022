/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects and launches, on the emulator. A fault ends the process before HIP 7, as ROCm does it; from then on it is
 * an error that stays.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"
#include "zluda_core/amdgpu_emulator/decode/amdgpu_decode.h"

struct module {
	struct amdgpu_object *object;
	uint64_t address, bytes;
};

static size_t elf_bytes(const void *image)
{
	Elf64_Ehdr e;

	memcpy(&e, image, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) || e.e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	return e.e_shoff + (size_t)e.e_shnum * e.e_shentsize;
}

static int place(struct module *m)
{
	uint8_t *host = amdgpu_object_image(m->object, &m->bytes);
	int r;

	m->address = reserve_addresses(0, (m->bytes + 4095) / 4096 * 4096);
	if (!m->address)
		return E_MEMORY;
	if (amdgpu_object_place(m->object, m->address, NULL))
		return E_IMAGE;
	r = add_area(AREA_CODE, m->address, m->bytes, host, ~0u, NULL);
	return r;
}

EXPORT int hipModuleLoadData(struct module **out, const void *image);
int hipModuleLoadData(struct module **out, const void *image)
{
	struct diag d = DIAG_INIT;
	struct module *m;
	int r;

	if (!out || !image)
		return result(E_VALUE);
	m = calloc(1, sizeof(*m));
	if (!m)
		return result(E_MEMORY);
	if (!elf_bytes(image) || amdgpu_object_open(&m->object, image, elf_bytes(image), &d)) {
		free(m);
		return result(E_IMAGE);
	}
	r = strcmp(amdgpu_object_target(m->object), device_target()) ? E_NO_BINARY : place(m);
	if (!r && amdgpu_decode(m->object, &d)) {
		fprintf(stderr, "stand-in: %s\n", d.what);
		r = E_IMAGE;
	}
	if (r) {
		amdgpu_object_close(m->object);
		free(m);
		return result(r);
	}
	*out = m;
	return result(E_OK);
}

EXPORT int hipModuleUnload(struct module *m);
int hipModuleUnload(struct module *m)
{
	struct area a;

	if (!m)
		return result(E_HANDLE);
	remove_area(m->address, AREA_CODE, &a);
	amdgpu_object_close(m->object);
	free(m);
	return result(E_OK);
}

EXPORT int hipModuleGetFunction(const struct amdgpu_kernel **out, struct module *m, const char *name);
int hipModuleGetFunction(const struct amdgpu_kernel **out, struct module *m, const char *name)
{
	if (!out || !m || !name)
		return result(E_VALUE);
	*out = amdgpu_object_kernel(m->object, name);
	return result(*out ? E_OK : E_NOT_FOUND);
}

/* ---- launches ---- */

static bool find(void *ctx, uint64_t address, struct amdgpu_window *out)
{
	struct area a;
	int device = *(int *)ctx;

	if (!find_area(address, &a) || !(a.access >> device & 1))
		return false;
	*out = (struct amdgpu_window){a.address, a.bytes, a.host, a.kind != AREA_CODE};
	return true;
}

static int fault(const struct amdgpu_fault *f)
{
	int error = f->kind == AMDGPU_FAULT_ADDRESS ? E_ILLEGAL_ADDRESS : E_LAUNCH_FAILURE;

	fprintf(stderr, "stand-in: %s\n", f->message);
	if (f->kind == AMDGPU_FAULT_LAUNCH)
		return E_CONFIGURATION;
	if (!IS_STICKY) {
		fprintf(stderr, "Memory access fault by GPU node-1 on address %#llx. Reason: Unknown.\n",
			(unsigned long long)f->address);
		fflush(NULL);
		abort();
	}
	set_sticky(error);
	return E_OK; /* it comes when the stream is waited for */
}

/* Bytes of the arguments that the program gives, by the metadata. */
static size_t explicit_bytes(const struct amdgpu_kernel *k)
{
	size_t end = 0;

	for (unsigned i = 0; i < k->nargs; i++)
		if (k->args[i].kind == AMDGPU_ARG_VALUE && k->args[i].offset + k->args[i].size > end)
			end = k->args[i].offset + k->args[i].size;
	return end;
}

static int launch(const struct amdgpu_kernel *k, const uint32_t grid[3], const uint32_t block[3],
		  unsigned shared, const void *args, size_t bytes, bool cooperative)
{
	struct amdgpu_fault f;
	int device = current_device();
	struct amdgpu_launch l = {.kernel = k,
				  .dynamic_lds = shared,
				  .args = args,
				  .args_bytes = bytes,
				  .memory = {&device, find},
				  .cooperative = cooperative};

	for (int i = 0; i < 3; i++) {
		if (!grid[i] || !block[i] || (uint64_t)grid[i] * block[i] >> 32)
			return IS_STICKY && !grid[i] ? E_VALUE : E_CONFIGURATION;
		l.grid[i] = grid[i];
		l.block[i] = block[i];
	}
	if ((uint64_t)block[0] * block[1] * block[2] > 1024)
		return IS_STICKY ? E_CONFIGURATION : E_VALUE;
	if (bytes < explicit_bytes(k))
		return E_VALUE;
	return amdgpu_launch_run(&l, &f, NULL) ? fault(&f) : E_OK;
}

EXPORT int hipModuleLaunchKernel(const struct amdgpu_kernel *k, unsigned gx, unsigned gy, unsigned gz,
				 unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
				 void **params, void **extra);
int hipModuleLaunchKernel(const struct amdgpu_kernel *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			  unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
			  void **extra)
{
	const uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
	int r = result(E_OK);

	(void)stream;
	if (r)
		return r;
	/* HIP_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END */
	if (!k || params || !extra || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != (void *)3)
		return result(E_VALUE);
	r = launch(k, grid, block, shared, extra[1], *(size_t *)extra[3], false);
	return r ? result(r) : E_OK;
}

#if FLAVOUR >= 6 /* since 5.5 */
EXPORT int hipModuleLaunchCooperativeKernel(const struct amdgpu_kernel *k, unsigned gx, unsigned gy,
					    unsigned gz, unsigned bx, unsigned by, unsigned bz,
					    unsigned shared, void *stream, void **params);
int hipModuleLaunchCooperativeKernel(const struct amdgpu_kernel *k, unsigned gx, unsigned gy, unsigned gz,
				     unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
				     void **params)
{
	const uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
	int r = result(E_OK);

	(void)stream;
	if (r)
		return r;
	if (!k || !params || !params[0])
		return result(E_VALUE);
	r = launch(k, grid, block, shared, params[0], explicit_bytes(k), true);
	return r ? result(r) : E_OK;
}
#endif
