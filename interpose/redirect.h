/* SPDX-License-Identifier: Apache-2.0
 *
 * redirect: what the auditor and the recorder agree on.
 */
#ifndef CUTRACE_INTERPOSE_REDIRECT_H
#define CUTRACE_INTERPOSE_REDIRECT_H

#include <stdint.h>

/* The recorder "needs" this; the auditor answers with the real driver. An empty library of this name lies
 * beside the recorder, for use without the auditor. */
#define REDIRECT_DRIVER_NAME "libcutrace-driver.so"

/* Exported by the recorder: an address to call in place of `real`, the driver's function `name`. */
#define REDIRECT_THUNK_SYMBOL "cutrace_thunk_for"
typedef uintptr_t redirect_thunk_fn(const char *name, uintptr_t real);

#endif
