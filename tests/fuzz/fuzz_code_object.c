/* SPDX-License-Identifier: Apache-2.0
 *
 * An AMD code object is opened, placed, and its line table and symbols asked.
 */
#include "zluda_core/amdgpu_emulator/emulator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct amdgpu_object *o;
	struct diag d = DIAG_INIT;
	const char *file;
	uint64_t address, bytes;
	unsigned line;

	if (amdgpu_object_open(&o, data, size, &d))
		return 0;
	amdgpu_object_place(o, 0x10000, &d);
	for (uint64_t at = 0; at < 0x4000; at += 64)
		amdgpu_object_source(o, at, &file, &line);
	amdgpu_object_symbol(o, "k.kd", &address, &bytes);
	amdgpu_object_close(o);
	return 0;
}
