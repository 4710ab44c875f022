/* SPDX-License-Identifier: Apache-2.0 */
#include "recorded.h"

#include <stdio.h>
#include <sys/wait.h>

struct outcome o;
char trace[512];

struct trace *recorded(const char *scenario, const char *option)
{
	snprintf(trace, sizeof(trace), HERE "/%s%s.cutrace", scenario, option ? option : "");
	record(&o, trace, option, APP, scenario, NULL);
	return open_trace(trace);
}

void assert_exit(int code)
{
	assert_true(WIFEXITED(o.status));
	assert_int_equal(WEXITSTATUS(o.status), code);
}

int64_t calls_of(struct trace *t, const char *name)
{
	return query(t, "SELECT count(*) FROM call JOIN function f ON f.id = func WHERE f.name = '%s'", name);
}
