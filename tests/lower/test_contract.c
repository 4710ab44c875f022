/* SPDX-License-Identifier: Apache-2.0
 *
 * Products and sums become one instruction where PTX allows it and the options ask for it, and nowhere else.
 */
#include "tests/ptx/fixture.h"
#include "zluda_core/compiler/compiler.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *text;
	bool may_fuse;
} rows[] = {
	{"mul.f32 x, a, b; add.f32 x, x, c;", true},         {"mul.f32 x, a, b; sub.f32 x, c, x;", true},
	{"mul.ftz.f32 x, a, b; add.ftz.f32 x, x, c;", true}, {"mul.rn.f32 x, a, b; add.f32 x, x, c;", false},
	{"mul.f32 x, a, b; add.rn.f32 x, x, c;", false},     {"mul.sat.f32 x, a, b; add.f32 x, x, c;", false},
};

static char *assembly(const char *statements, const char *target, bool contract)
{
	const struct lower_options options = {.contract = contract};
	const struct lower_target *t = lower_target_find(target);
	struct diag d = DIAG_INIT;
	struct lowered l;
	struct compiled c;
	char text[1024];

	snprintf(text, sizeof(text),
		 ".version 9.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) { .reg .f32 a, b, "
		 "c, x; .reg .u64 "
		 "q; ld.param.u64 q, [p]; ld.global.f32 a, [q]; ld.global.f32 b, [q+4]; ld.global.f32 c, "
		 "[q+8];\n%s\n"
		 "st.global.f32 [q], x; ret; }\n",
		 statements);
	struct ptx_module *m = parse_text(text);
	if (lower_kernel_as(m, ptx_func_find(m, "k"), t, &options, &l, &d) ||
	    compiler_run(&l, "k", t, COMPILE_ASSEMBLY, &c, &d))
		fail_msg("%s: %s", d.where, d.what);
	char *out = strdup(c.assembly);
	compiled_free(&c);
	lowered_free(&l);
	ptx_module_free(m);
	return out;
}

static bool is_fused(const char *assembly)
{
	return strstr(assembly, "v_fma") || strstr(assembly, "v_mad");
}

static void where_allowed(void **state)
{
	static const char *const targets[] = {"gfx90a", "gfx1100"};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
		for (size_t t = 0; t < 2; t++) {
			char *with = assembly(rows[k].text, targets[t], true),
			     *without = assembly(rows[k].text, targets[t], false);

			if (is_fused(with) != rows[k].may_fuse || is_fused(without))
				fail_msg("%s on %s: fused %d and %d", rows[k].text, targets[t],
					 is_fused(with), is_fused(without));
			free(with);
			free(without);
		}
}

static void options(void **state)
{
	static const struct {
		const char *text;
		bool contract;
	} texts[] = {{NULL, false},
		     {"", false},
		     {"contract=all", true},
		     {"opt=0,contract=all", true},
		     {"contract=all,opt=0", true},
		     {"contract=none", false},
		     {"contract=allow", false},
		     {"nocontract=all", false}};
	struct lower_options o;

	(void)state;
	for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
		lower_options_read(texts[k].text, &o);
		assert_int_equal(o.contract, texts[k].contract);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_allowed),
		cmocka_unit_test(options),
	};

	compiler_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
