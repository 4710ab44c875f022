/* SPDX-License-Identifier: Apache-2.0
 *
 * json: writes JSON as a stream. Commas and nesting are its business; the caller says what comes next.
 * Strings that are no UTF-8 keep their valid parts, other bytes become \u00XX. Numbers that a double can't
 * hold become strings.
 */
#ifndef CUTRACE_DUMP_JSON_H
#define CUTRACE_DUMP_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_DEPTH 64

struct json {
	FILE *out;
	unsigned depth;
	bool more[JSON_MAX_DEPTH + 1]; /* something was written at this depth already */
	bool after_key;
};

void json_begin(struct json *j, char bracket); /* '{' or '[' */
void json_end(struct json *j, char bracket);   /* '}' or ']' */
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *s, size_t n);
void json_text(struct json *j, const char *s); /* NULL becomes null */
void json_int(struct json *j, int64_t v);
void json_uint(struct json *j, uint64_t v);
void json_hex(struct json *j, uint64_t v); /* "0x..." */
void json_double(struct json *j, double v, int digits);
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
void json_line(struct json *j); /* ends a line of JSON lines */

/* key and value in one */
void json_key_text(struct json *j, const char *key, const char *s);
void json_key_int(struct json *j, const char *key, int64_t v);
void json_key_uint(struct json *j, const char *key, uint64_t v);

#endif
