/* SPDX-License-Identifier: Apache-2.0
 *
 * All rows of the op tables in one sorted index; VALU rows are those for the host's instruction set.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/control.h"
#include "zluda_core/amdgpu_emulator/emulator.h"
#include "zluda_core/amdgpu_emulator/scalar.h"
#include "zluda_core/amdgpu_emulator/valu.h"

#define ROWS_MAX 1024

static const struct op *rows[ROWS_MAX];
static unsigned nrows;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void add(const struct op *table)
{
	for (; table->name && nrows < ROWS_MAX; table++)
		rows[nrows++] = table;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct op *const *)a)->name, (*(const struct op *const *)b)->name);
}

static void build(void)
{
	bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		  __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");

	add(v3 ? valu_ops_v3 : valu_ops_base);
	add(scalar_ops);
	add(control_ops);
	qsort(rows, nrows, sizeof *rows, by_name);
}

const struct op *op_find(const char *name)
{
	struct op key = {.name = name};
	const struct op *p = &key, **found;

	pthread_once(&once, build);
	found = bsearch(&p, rows, nrows, sizeof *rows, by_name);
	return found ? *found : NULL;
}

unsigned amdgpu_op_count(void)
{
	pthread_once(&once, build);
	return nrows;
}
