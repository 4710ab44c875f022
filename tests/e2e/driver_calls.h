/* SPDX-License-Identifier: Apache-2.0
 *
 * For test programs that load their driver themselves.
 */
#ifndef E2E_DRIVER_CALLS_H
#define E2E_DRIVER_CALLS_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *driver;

/* Calls a function of the driver; all arguments are words, the first one by its cast. */
#define CU(name, first, ...)                                                                            \
	call(#name, ((int (*)(void *, ...))(uintptr_t)dlsym(driver, #name))((void *)(uintptr_t)(first), \
									    ##__VA_ARGS__))

static void call(const char *name, int result)
{
	if (!result)
		return;
	fprintf(stderr, "%s: %d\n", name, result);
	exit(1);
}

#endif
