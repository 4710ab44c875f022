/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's table of mappings against a plain array of cells: what is mapped where, what is refused, while
 * kernels run or not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/driver.h"

#define CELLS 512
#define CELL  64u
#define BASE  0x551000000000ull

static const struct device_ops *const ops = &device_interp;

struct model {
	struct test_device t;
	struct dev_mem *mem;
	uint8_t *host;
	/* By cell: the first cell of the mapping that it lies in, -1 = none; the cell of the memory that backs it. */
	int start[CELLS], backing[CELLS];
};

static uint64_t seed;

static unsigned draw(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static void open_model(struct model *m)
{
	struct diag d = DIAG_INIT;

	test_open(&m->t, "");
	m->host = malloc(CELLS * CELL);
	assert_non_null(m->host);
	for (unsigned i = 0; i < CELLS; i++) {
		m->start[i] = -1;
		memset(m->host + i * CELL, (int)i, CELL);
	}
	assert_int_equal(ops->mem_import_host(m->t.dev, m->host, CELLS * CELL, &m->mem, &d), 0);
}

static bool is_clear(const struct model *m, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++)
		if (m->start[i] >= 0)
			return false;
	return true;
}

/* Some mapping in it, and none that is cut. */
static bool is_whole(const struct model *m, unsigned first, unsigned n)
{
	unsigned end = first + n;

	if (m->start[first] >= 0 && m->start[first] != (int)first)
		return false;
	if (end < CELLS && m->start[end] >= 0 && m->start[end] != (int)end)
		return false;
	return !is_clear(m, first, n);
}

static void step(struct model *m)
{
	unsigned first = draw(CELLS), n = 1 + draw(8), at;

	if (first + n > CELLS)
		n = CELLS - first;
	if (draw(3)) {
		bool ok = is_clear(m, first, n);

		at = draw(CELLS - n + 1);
		assert_int_equal(ok, !ops->map(m->t.dev, BASE + first * CELL, n * CELL, m->mem, at * CELL,
					       false, NULL));
		for (unsigned i = 0; ok && i < n; i++) {
			m->start[first + i] = (int)first;
			m->backing[first + i] = (int)(at + i);
		}
	} else {
		bool ok;

		n = first + n * 4 > CELLS ? n : n * 4;
		ok = is_whole(m, first, n);
		assert_int_equal(ok, !ops->unmap(m->t.dev, BASE + first * CELL, n * CELL, NULL));
		for (unsigned i = 0; ok && i < n; i++)
			m->start[first + i] = -1;
	}
}

static void check_all(struct model *m)
{
	for (unsigned i = 0; i < CELLS; i++) {
		uint8_t *p = ops->host_view(m->t.dev, BASE + i * CELL, CELL);

		if (m->start[i] < 0)
			assert_null(p);
		else
			assert_ptr_equal(p, m->host + (unsigned)m->backing[i] * CELL);
	}
}

static void random_changes(void **state)
{
	struct model m;

	(void)state;
	seed = 20240501;
	open_model(&m);
	for (int i = 0; i < 20000; i++) {
		step(&m);
		if (i % 200 == 0)
			check_all(&m);
	}
	check_all(&m);
	ops->unmap(m.t.dev, BASE, CELLS * CELL, NULL); /* all at once */
	for (unsigned i = 0; i < CELLS; i++)
		assert_null(ops->host_view(m.t.dev, BASE + i * CELL, 1));
	ops->mem_destroy(m.t.dev, m.mem);
	free(m.host);
	test_close(&m.t);
}

static void refused(void **state)
{
	struct diag d = DIAG_INIT;
	struct model m;

	(void)state;
	open_model(&m);
	assert_int_not_equal(ops->map(m.t.dev, BASE, 0, m.mem, 0, false, &d), 0);
	assert_int_not_equal(ops->map(m.t.dev, UINT64_MAX - 10, 64, m.mem, 0, false, &d), 0);
	assert_int_not_equal(ops->unmap(m.t.dev, BASE, CELL, &d), 0);
	assert_int_equal(ops->map(m.t.dev, BASE + CELL, 2 * CELL, m.mem, 0, false, &d), 0);
	assert_int_not_equal(ops->unmap(m.t.dev, BASE + CELL, 0, &d), 0);
	assert_int_not_equal(ops->unmap(m.t.dev, BASE + CELL, CELL, &d), 0);
	assert_int_not_equal(ops->unmap(m.t.dev, BASE + 2 * CELL, CELL, &d), 0);
	assert_int_not_equal(ops->unmap(m.t.dev, BASE + CELL, UINT64_MAX - BASE, &d), 0);
	assert_int_equal(ops->unmap(m.t.dev, BASE, 4 * CELL, &d), 0); /* gaps around are no matter */
	ops->mem_destroy(m.t.dev, m.mem);
	free(m.host);
	test_close(&m.t);
}

struct busy {
	struct test_module *m;
	uint64_t buffer;
};

static void *run_kernels(void *arg)
{
	struct busy *b = arg;
	struct test_launch l = {.grid = {64, 1, 1}, .block = {64, 1, 1}};

	for (int i = 0; i < 20; i++)
		test_run_ok(b->m, "count", &l, &b->buffer, 1);
	return NULL;
}

/* Kernels that look up their own mapping go on while others come and go around it. */
static void changes_while_kernels_run(void **state)
{
	static const char ptx[] =
		".version 7.0\n.target sm_80\n.address_size 64\n"
		".visible .entry count(.param .u64 p)\n{\n	.reg .b64 %rd<3>; .reg .b32 %r<4>;\n"
		"	ld.param.u64 %rd1, [p];\n	mov.u32 %r1, 0;\n"
		"	atom.global.add.u32 %r2, [%rd1], 1;\n	ret;\n}\n";
	struct test_module module;
	struct model m;
	pthread_t thread;
	uint32_t zero = 0, total;
	struct busy b = {&module, 0};

	(void)state;
	seed = 7;
	open_model(&m);
	b.buffer = test_alloc(&m.t, 4, &zero);
	assert_true(b.buffer < BASE || b.buffer >= BASE + CELLS * CELL);
	test_load(&module, &m.t, ptx, "count.ptx");
	assert_int_equal(pthread_create(&thread, NULL, run_kernels, &b), 0);
	for (int i = 0; i < 2000; i++)
		step(&m);
	pthread_join(thread, NULL);
	check_all(&m);
	test_read(&m.t, &total, b.buffer, 4);
	assert_int_equal(total, 20 * 64 * 64);
	test_unload(&module);
	ops->unmap(m.t.dev, BASE, CELLS * CELL, NULL);
	ops->mem_destroy(m.t.dev, m.mem);
	free(m.host);
	test_close(&m.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes),
		cmocka_unit_test(refused),
		cmocka_unit_test(changes_while_kernels_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
