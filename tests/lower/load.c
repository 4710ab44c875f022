/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include "tests/ptx/fixture.h"

#include <stdlib.h>

#include "zluda_core/compiler/compiler.h"

struct amdgpu_object *lower_and_load(struct device_memory *memory, struct ptx_module *m, const char *kernel,
				     const char *target, struct lowered *l)
{
	const struct lower_target *t = lower_target_find(target);
	struct ptx_func *f = ptx_func_find(m, kernel);
	struct diag d = DIAG_INIT;
	struct compiled c;
	size_t bytes;
	void *code;

	assert_non_null(f);
	if (lower_kernel(m, f, t, l, &d) || compiler_run(l, kernel, t, 0, &c, &d))
		fail_msg("%s: %s", d.where, d.what);
	if (compiler_link_object(c.object, c.object_bytes, &code, &bytes, &d))
		fail_msg("%s: %s", d.where, d.what);
	struct amdgpu_object *o = device_load(memory, code, bytes);
	assert_non_null(o);
	free(code);
	compiled_free(&c);
	return o;
}
