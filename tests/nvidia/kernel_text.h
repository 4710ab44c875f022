/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_text: the PTX of one kernel alone: its module's directives, and of functions and variables those that it names,
 * directly or by others. A driver compiles, or refuses, what it is given as a whole.
 */
#ifndef TESTS_NVIDIA_KERNEL_TEXT_H
#define TESTS_NVIDIA_KERNEL_TEXT_H

#include <stddef.h>

struct kernel_texts;

/* The text must end with a NUL, and live as long. NULL: out of memory. */
struct kernel_texts *kernel_texts_open(const char *text, size_t bytes);
void kernel_texts_close(struct kernel_texts *t);

/* version, target: instead of the module's; NULL: as it is. malloc'ed; NULL: out of memory, or there is no such kernel. */
char *kernel_text(const struct kernel_texts *t, const char *kernel, const char *version, const char *target);

#endif
