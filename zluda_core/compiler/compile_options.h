/* SPDX-License-Identifier: Apache-2.0
 *
 * compile_options: "key=value,...", what a kernel is compiled with. They are part of the cache's key, so the texts that
 * say the same should be the same. CUTRACE_COMPILE_OPTIONS gives single kernels other ones, which is how `cutrace bisect`
 * finds the pass, or the kernel, that makes a difference.
 *
 * Depends on base/.
 */
#ifndef CUTRACE_COMPILE_OPTIONS_H
#define CUTRACE_COMPILE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

enum { COMPILE_OPTIONS_ROOM = 512 };

/* Whether one word, "opt=2", is an option of the compiler, perhaps with a value that it can't have. */
bool compile_option_is_known(const char *word);
/* 0, or CUTRACE_EINVAL with what is wrong of which word. */
int compile_options_check(const char *options, struct diag *d);
unsigned compile_options_level(const char *options); /* 0 to 3 */
/* opt-bisect=N: how many of LLVM's passes that may be left out are run. */
bool compile_options_bisect(const char *options, unsigned *limit);

/* `options` with what CUTRACE_COMPILE_OPTIONS says of the kernel in their place: "GLOB:OPTIONS;GLOB:OPTIONS;...", of which
 * the first that matches counts. Among its options may be compiler=PATH, another cutrace-compile, which goes into
 * *compiler (else ""). Both have COMPILE_OPTIONS_ROOM bytes. */
int compile_options_of_kernel(const char *kernel, const char *options, char *out, char *compiler,
			      struct diag *d);

#endif
