/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8: which bytes are text. Paths and arguments are bytes of any kind; JSON is UTF-8.
 */
#ifndef CUTRACE_BASE_UTF8_H
#define CUTRACE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character at s, which has n > 0 bytes; 0 when it is none (RFC 3629: no overlong forms,
 * no surrogates). */
size_t utf8_char_bytes(const unsigned char *s, size_t n);

#endif
