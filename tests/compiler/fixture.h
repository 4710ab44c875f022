/* SPDX-License-Identifier: Apache-2.0
 *
 * A module, a folder for a cache, a service.
 */
#ifndef CUTRACE_TESTS_COMPILER_FIXTURE_H
#define CUTRACE_TESTS_COMPILER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "zluda_core/compiler/service.h"

/* Three kernels, one of which names two variables, and one that can't be compiled. */
extern const char fixture_ptx[];

struct fixture {
	char folder[64];    /* of the cache */
	char compiler[128]; /* a link in it, by which its workers can be told */
	struct service *service;
	struct service_module module;
};
/* config->cache is replaced, config->compiler what the link leads to; NULL: CUTRACE_COMPILER. */
void fixture_open(struct fixture *f, const struct service_config *config);
void fixture_use_compiler(struct fixture *f, const char *path);
void fixture_close(struct fixture *f); /* and removes the folder */
/* The cache's file. */
const char *fixture_cache_file(const struct fixture *f);
/* The answer's rc; it's freed. */
int fixture_compile(struct fixture *f, const char *kernel, const char *target, bool *cached);
/* The fixture's workers. */
unsigned fixture_workers(const struct fixture *f, int *pids, unsigned max);

#endif
