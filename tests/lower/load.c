/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include "tests/ptx/fixture.h"

#include <unistd.h>

#include "zluda_core/compiler/compiler.h"

static void write_object(const struct compiled *c, char *path)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_true(write(fd, c->object, c->object_bytes) == (ssize_t)c->object_bytes);
	close(fd);
}

struct amdgpu_object *lower_and_load(struct device_memory *memory, struct ptx_module *m, const char *kernel,
				     const char *target, struct lowered *l)
{
	char object[] = "/tmp/cutrace-lower-XXXXXX", code[sizeof(object) + 4];
	const struct lower_target *t = lower_target_find(target);
	struct ptx_func *f = ptx_func_find(m, kernel);
	struct diag d = DIAG_INIT;
	struct compiled c;

	assert_non_null(f);
	if (lower_kernel(m, f, t, l, &d) || compiler_run(l, kernel, t, 0, &c, &d))
		fail_msg("%s: %s", d.where, d.what);
	write_object(&c, object);
	snprintf(code, sizeof(code), "%s.co", object);
	assert_int_equal(compiler_link(object, code, &d), 0);
	struct amdgpu_object *o = device_load_file(memory, code);
	assert_non_null(o);
	unlink(object);
	unlink(code);
	compiled_free(&c);
	return o;
}
