/* SPDX-License-Identifier: Apache-2.0
 *
 * load: a kernel of a PTX module compiled, linked and loaded into the emulator, for the tests that execute it.
 */
#ifndef CUTRACE_TEST_LOWER_LOAD_H
#define CUTRACE_TEST_LOWER_LOAD_H

#include "ptx/lower/lower.h"
#include "tests/amdgpu_emulator/device_memory.h"

/* Fails the test when it can't. *l is to be freed with lowered_free. */
struct amdgpu_object *lower_and_load(struct device_memory *memory, struct ptx_module *m, const char *kernel,
				     const char *target, struct lowered *l);

#endif
