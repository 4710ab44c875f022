/* SPDX-License-Identifier: Apache-2.0
 *
 * Which memory a call touches, over sample.api: each test lists the expected pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "api/api.h"
#include "api/gen/cuda_abi.h"

#define MAX_PIECES 16

struct piece {
	unsigned param;
	const void *addr;
	size_t bytes;
};

struct pieces {
	unsigned n;
	struct piece v[MAX_PIECES];
};

static void collect(void *ctx, unsigned param, uint64_t addr, size_t bytes)
{
	struct pieces *p = ctx;
	if (p->n < MAX_PIECES)
		p->v[p->n] = (struct piece){param, (const void *)(uintptr_t)addr, bytes};
	p->n++;
}

static void walk(const char *name, const uint64_t *args, enum api_phase phase, const struct api_memory *mem,
		 const struct piece *expect, unsigned n)
{
	struct pieces got = {0};
	const struct api_func *f = api_func_find(name);
	assert_non_null(f);
	api_walk(f, args, phase, mem, collect, &got);
	assert_int_equal(got.n, n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(got.v[i].param, expect[i].param);
		assert_ptr_equal(got.v[i].addr, expect[i].addr);
		assert_int_equal(got.v[i].bytes, expect[i].bytes);
	}
}

#define ARGS(...) ((uint64_t[]){__VA_ARGS__})
#define P(x)      ((uint64_t)(uintptr_t)(x))
#define EXPECT(f, args, phase, ...)                                           \
	walk(f, args, phase, &api_live_memory, (struct piece[]){__VA_ARGS__}, \
	     sizeof((struct piece[]){__VA_ARGS__}) / sizeof(struct piece))
#define EXPECT_NOTHING(f, args, phase) walk(f, args, phase, &api_live_memory, NULL, 0)
#define ENTER                          API_PHASE_ENTER
#define EXIT                           API_PHASE_EXIT

static void strings_and_bytes(void **state)
{
	(void)state;
	const char *s = "abc";
	EXPECT("f_text", ARGS(P(s), P(s)), ENTER, {0, s, 4}, {1, s, 4});
	EXPECT_NOTHING("f_text", ARGS(P(s), P(s)), EXIT);
	EXPECT_NOTHING("f_text", ARGS(0, 0), ENTER);
}

static void pointers_in_structs(void **state)
{
	(void)state;
	point points[3];
	name_list list = {.count = 3, .points = points, .title = "hi"};
	char byte[3];
	EXPECT("f_member", ARGS(P(&list), P(byte)), ENTER, {0, &list, sizeof(list)},
	       {0, points, sizeof(points)}, {0, list.title, 3}, {1, byte, 3});
	list = (name_list){.count = 3}; /* null pointers inside */
	EXPECT("f_member", ARGS(P(&list), 0), ENTER, {0, &list, sizeof(list)});
	list = (name_list){.points = points};
	EXPECT("f_member", ARGS(P(&list), 0), ENTER, {0, &list, sizeof(list)});
}

static void live_member_of_a_union_only(void **state)
{
	(void)state;
	double items[4];
	variant v = {.what = KIND_ARRAY, .value.array = {2, items}};
	EXPECT("f_variant", ARGS(P(&v)), ENTER, {0, &v, sizeof(v)}, {0, items, 2 * 2 * sizeof(double)});
	v = (variant){.what = KIND_STRING, .value.text = "t"};
	EXPECT("f_variant", ARGS(P(&v)), ENTER, {0, &v, sizeof(v)}, {0, v.value.text, 2});
	v = (variant){.what = KIND_INT, .value.pad = {1, 2, 3}}; /* no pointer, whatever it looks like */
	EXPECT("f_variant", ARGS(P(&v)), ENTER, {0, &v, sizeof(v)});
	v.what = (kind)99;
	EXPECT("f_variant", ARGS(P(&v)), ENTER, {0, &v, sizeof(v)});
}

static void union_that_tags_itself(void **state)
{
	(void)state;
	self v[2] = {{.with_text = {KIND_STRING, "x"}}, {.op = KIND_INT}};
	EXPECT("f_self", ARGS(P(v)), ENTER, {0, v, sizeof(v)}, {0, v[0].with_text.text, 2});
}

static void count_then_fill(void **state)
{
	(void)state;
	point points[8];
	unsigned n = 8;
	EXPECT("f_fill", ARGS(P(points), P(&n)), ENTER, {1, &n, 4});
	n = 5; /* what the call has written */
	EXPECT("f_fill", ARGS(P(points), P(&n)), EXIT, {0, points, 5 * sizeof(point)}, {1, &n, 4});
	EXPECT("f_fill", ARGS(0, P(&n)), EXIT, {1, &n, 4});
	EXPECT_NOTHING("f_fill_before", ARGS(P(points), 0), EXIT);
	EXPECT("f_fill_before", ARGS(P(points), 2), EXIT, {0, points, 8});
	EXPECT_NOTHING("f_fill_before", ARGS(P(points), (uint64_t)-2), EXIT);
}

static void polymorphic(void **state)
{
	(void)state;
	char value[64];
	EXPECT("f_get", ARGS(KIND_INT, P(value)), EXIT, {1, value, 4});
	EXPECT("f_get", ARGS(KIND_ARRAY, P(value)), EXIT, {1, value, 8});
	EXPECT_NOTHING("f_get", ARGS(42, P(value)), EXIT);
	EXPECT_NOTHING("f_get", ARGS(KIND_INT, P(value)), ENTER);
	EXPECT("f_get_sized", ARGS(KIND_STRING, P(value), 9), EXIT, {1, value, 9});
}

static void polymorphic_arrays(void **state)
{
	(void)state;
	int i;
	point p;
	kind whats[3] = {KIND_ARRAY, KIND_INT, (kind)42};
	void *values[3] = {&p, &i, &i};
	uint64_t args[] = {3, P(whats), P(values)};
	EXPECT("f_get_each", args, ENTER, {1, whats, sizeof(whats)}, {2, values, sizeof(values)});
	EXPECT("f_get_each", args, EXIT, {2, &p, sizeof(p)}, {2, &i, sizeof(i)});
}

static void structs_by_value(void **state)
{
	(void)state;
	big_value big;
	const struct api_func *f = api_func_find("f_values");
	EXPECT("f_values", ARGS(P(&big), 0, 0, 0, 0, 0, 0), ENTER, {0, &big, 24});
	assert_int_equal(f->params[0].abi, API_ABI_MEMORY);
	assert_int_equal(f->params[1].abi, API_ABI_INT);
	assert_int_equal(f->params[2].abi, API_ABI_FLOAT);
	assert_int_equal(api_types[f->params[5].type].kind, API_KIND_CALLBACK);
	assert_int_equal(api_types[f->params[6].type].kind, API_KIND_OPAQUE);
}

static void payload_is_left_alone(void **state)
{
	(void)state;
	EXPECT_NOTHING("f_payload", ARGS(16, 100, 32, 48, 64), ENTER); /* none of these addresses is mapped */
	EXPECT_NOTHING("f_payload", ARGS(16, 100, 32, 48, 64), EXIT);
}

static void absurd_lengths_are_refused(void **state)
{
	(void)state;
	point points[1];
	/* 2^61 * 8 bytes overflow; so does an address near the end of memory */
	struct api_func f = *api_func_find("f_fill");
	unsigned n = 0xffffffff;
	struct pieces got = {0};
	api_walk(&f, ARGS((uint64_t)-64, P(&n)), EXIT, &api_live_memory, collect, &got);
	assert_int_equal(got.n, 1); /* only the count */
	(void)points;
}

static const void *no_memory(void *ctx, uint64_t addr, size_t bytes)
{
	(void)ctx;
	(void)addr;
	(void)bytes;
	return NULL;
}

static void unreadable_structs_are_not_followed(void **state)
{
	(void)state;
	struct api_memory none = {no_memory, NULL};
	name_list list = {.count = 3};
	struct piece expect[] = {{0, &list, sizeof(list)}};
	walk("f_member", ARGS(P(&list), 0), ENTER, &none, expect, 1);
	walk("f_text", ARGS(P("abc"), 0), ENTER, &none, NULL, 0);
}

/* The last bytes before an unmapped page: one byte too many would crash. */
static void nothing_beyond_is_touched(void **state)
{
	(void)state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *m = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(m, MAP_FAILED);
	assert_int_equal(mprotect(m + page, page, PROT_NONE), 0);
	char *text = m + page - 3;
	memcpy(text, "ab", 3);
	EXPECT("f_text", ARGS(P(text), 0), ENTER, {0, text, 3});
	name_list *list = (name_list *)(void *)(m + page - sizeof(name_list));
	*list = (name_list){.title = "abc"};
	EXPECT("f_member", ARGS(P(list), 0), ENTER, {0, list, sizeof(*list)}, {0, list->title, 4});
	munmap(m, 2 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_and_bytes),
		cmocka_unit_test(pointers_in_structs),
		cmocka_unit_test(live_member_of_a_union_only),
		cmocka_unit_test(union_that_tags_itself),
		cmocka_unit_test(count_then_fill),
		cmocka_unit_test(polymorphic),
		cmocka_unit_test(polymorphic_arrays),
		cmocka_unit_test(structs_by_value),
		cmocka_unit_test(payload_is_left_alone),
		cmocka_unit_test(absurd_lengths_are_refused),
		cmocka_unit_test(unreadable_structs_are_not_followed),
		cmocka_unit_test(nothing_beyond_is_touched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
