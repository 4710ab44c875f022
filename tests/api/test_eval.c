/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions, lengths, polymorphic types, over sample.api.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "api/gen/cuda_abi.h"

static const struct api_func *func(const char *name)
{
	const struct api_func *f = api_func_find(name);
	if (!f)
		fail_msg("no %s", name);
	return f;
}

static uint64_t len(const char *f, unsigned p, const uint64_t *args)
{
	return api_param_len(func(f), p, args, &api_live_memory);
}

static void sums(void **state)
{
	(void)state;
	char byte = 0;
	assert_int_equal(len("f_add", 2, (uint64_t[]){3, 4, (uintptr_t)&byte}), 7);
	/* an int argument's word may have anything in its upper half */
	assert_int_equal(len("f_add", 2, (uint64_t[]){0xdeadbeef00000003, 4, (uintptr_t)&byte}), 7);
	/* a negative length is none */
	assert_int_equal(len("f_add", 2, (uint64_t[]){(uint64_t)-9, 4, (uintptr_t)&byte}), 0);
}

static void operators(void **state)
{
	(void)state;
	static const struct {
		uint64_t a, b, expect[8]; /* sub mul div min max cond or size */
	} rows[] = {
		{12, 5, {7, 60, 2, 5, 12, 2, 0, 18}},
		{5, 5, {0, 25, 1, 5, 5, 1, 0, 18}},
		{7, 0, {7, 0, 0, 0, 7, 3, 1, 18}}, /* division by zero is 0 */
		{0, 7, {0, 0, 0, 0, 7, 3, 1, 18}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t args[10] = {rows[i].a, rows[i].b};
		for (unsigned p = 2; p < 10; p++)
			if (len("f_ops", p, args) != rows[i].expect[p - 2])
				fail_msg("row %zu, parameter %u: %llu", i, p,
					 (unsigned long long)len("f_ops", p, args));
	}
}

static void string_lengths(void **state)
{
	(void)state;
	assert_int_equal(len("f_text", 1, (uint64_t[]){(uintptr_t) "four", 1}), 5);
	assert_int_equal(len("f_text", 1, (uint64_t[]){(uintptr_t) "", 1}), 1);
	assert_int_equal(len("f_text", 1, (uint64_t[]){0, 1}), 0);
}

static void member_of_a_struct(void **state)
{
	(void)state;
	name_list list = {.count = 11};
	assert_int_equal(len("f_member", 1, (uint64_t[]){(uintptr_t)&list, 1}), 11);
	assert_int_equal(len("f_member", 1, (uint64_t[]){0, 1}), 0);
}

static void dereference(void **state)
{
	(void)state;
	unsigned n = 6;
	assert_int_equal(len("f_fill", 0, (uint64_t[]){1, (uintptr_t)&n}), 6);
	assert_int_equal(len("f_fill", 0, (uint64_t[]){1, 0}), 0);
}

static const void *no_memory(void *ctx, uint64_t addr, size_t bytes)
{
	(void)ctx;
	(void)addr;
	(void)bytes;
	return NULL;
}

static void unavailable_memory_is_zero(void **state)
{
	(void)state;
	struct api_memory none = {no_memory, NULL};
	unsigned n = 6;
	uint64_t args[] = {1, (uintptr_t)&n};
	assert_int_equal(api_param_len(func("f_fill"), 0, args, &none), 0);
	args[0] = (uintptr_t) "text";
	assert_int_equal(api_param_len(func("f_text"), 1, args, &none), 0);
	assert_int_equal(api_param_len(func("f_member"), 1, args, &none), 0);
}

static void no_length_is_one(void **state)
{
	(void)state;
	assert_int_equal(len("f_outs", 0, (uint64_t[5]){0}), 1);
}

static void fields(void **state)
{
	(void)state;
	const struct api_struct *s = api_struct_find("name_list");
	name_list list = {.count = 3};
	assert_non_null(s);
	assert_int_equal(s->nfields, 4);
	assert_string_equal(s->fields[1].name, "points");
	assert_int_equal(api_eval(s->fields[1].len, NULL, NULL, &list, s, &api_live_memory), 3);
	assert_int_equal(api_eval(s->fields[1].len, NULL, NULL, NULL, s, &api_live_memory), 0);
	assert_int_equal(api_eval(-1, NULL, NULL, &list, s, &api_live_memory), 0);
}

static void union_members(void **state)
{
	(void)state;
	const struct api_struct *v = api_struct_find("variant"), *u = api_struct_find("variant.value");
	variant x = {.what = KIND_ARRAY};
	const bool expect[] = {false, false, true, false};
	assert_non_null(v);
	assert_non_null(u);
	assert_true(u->is_union);
	for (unsigned i = 0; i < u->nfields; i++) {
		bool active = u->fields[i].active >= 0 &&
			      api_eval(u->fields[i].active, NULL, NULL, &x, v, &api_live_memory);
		assert_int_equal(active, expect[i]);
	}
	x.what = KIND_NEG; /* the second case of `number`, a negative one */
	assert_true(api_eval(u->fields[1].active, NULL, NULL, &x, v, &api_live_memory));
}

static void polymorphic(void **state)
{
	(void)state;
	const struct api_func *f = func("f_get"), *sized = func("f_get_sized");
	uint64_t args[] = {KIND_ARRAY, 1, 17};
	assert_string_equal(api_pointee(f, 1, args)->name, "point");
	assert_int_equal(api_param_len(f, 1, args, &api_live_memory), 1);
	assert_int_equal(api_param_len(sized, 1, args, &api_live_memory), 2); /* 17 bytes hold two points */
	args[0] = KIND_STRING;
	assert_int_equal(api_param_len(sized, 1, args, &api_live_memory), 17);
	args[0] = 77; /* unknown to the table */
	assert_int_equal(api_pointee(f, 1, args)->kind, API_KIND_BYTES);
	assert_int_equal(api_param_len(f, 1, args, &api_live_memory), 0);
	assert_int_equal(api_param_len(sized, 1, args, &api_live_memory), 17);
}

static void sizes_by_version(void **state)
{
	(void)state;
	const struct api_struct *s = api_struct_find("grown");
	static const struct api_struct_size expect[] = {{0, 8}, {11000, 8}, {12040, 16}};
	assert_non_null(s);
	assert_int_equal(s->size, sizeof(grown));
	assert_int_equal(s->nsizes, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(s->sizes[i].since, expect[i].since);
		assert_int_equal(s->sizes[i].size, expect[i].size);
	}
	assert_int_equal(s->fields[2].since, 12040);
	assert_int_equal(api_struct_find("point")->nsizes, 0);
}

static void out_slots(void **state)
{
	(void)state;
	static const int expect[] = {0, -1, 1, 2, 3};
	for (unsigned p = 0; p < 5; p++)
		assert_int_equal(api_out_slot(func("f_outs"), p), expect[p]);
}

static void versions(void **state)
{
	(void)state;
	assert_string_equal(api_proc_find("f", 3010, true)->name, "f_old");
	assert_string_equal(api_proc_find("f", 3020, true)->name, "f_old_v2");
	assert_string_equal(api_proc_find("f", 7000, true)->name, "f_old_v2_ptsz");
	assert_string_equal(api_proc_find("f", 7000, false)->name, "f_old_v2");
	assert_null(api_proc_find("f", 1999, false));
	assert_null(api_proc_find("f_hidden", 13000, false));
	assert_ptr_equal(func("f_old_v2")->params, func("f_old_v2_ptsz")->params);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(operators),
		cmocka_unit_test(string_lengths),
		cmocka_unit_test(member_of_a_struct),
		cmocka_unit_test(dereference),
		cmocka_unit_test(unavailable_memory_is_zero),
		cmocka_unit_test(no_length_is_one),
		cmocka_unit_test(fields),
		cmocka_unit_test(union_members),
		cmocka_unit_test(polymorphic),
		cmocka_unit_test(sizes_by_version),
		cmocka_unit_test(out_slots),
		cmocka_unit_test(versions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
