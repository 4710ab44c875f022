/* SPDX-License-Identifier: Apache-2.0
 * RFC 8259. */
#include "dump/json.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

#define MAX_EXACT ((int64_t)1 << 53)

static void before_value(struct json *j)
{
	if (j->after_key)
		j->after_key = false;
	else if (j->more[j->depth])
		fputc(',', j->out);
	j->more[j->depth] = true;
}

void json_begin(struct json *j, char bracket)
{
	before_value(j);
	fputc(bracket, j->out);
	if (j->depth < JSON_MAX_DEPTH)
		j->depth++;
	j->more[j->depth] = false;
}

void json_end(struct json *j, char bracket)
{
	fputc(bracket, j->out);
	if (j->depth)
		j->depth--;
}

void json_key(struct json *j, const char *key)
{
	json_text(j, key);
	fputc(':', j->out);
	j->after_key = true;
}

void json_string(struct json *j, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t i, k;

	before_value(j);
	fputc('"', j->out);
	for (i = 0; i < n; i += k) {
		k = utf8_char_bytes(s + i, n - i);
		if (s[i] == '"' || s[i] == '\\')
			fprintf(j->out, "\\%c", s[i]);
		else if (s[i] < 0x20 || s[i] == 0x7f || !k)
			fprintf(j->out, "\\u%04x", s[i]);
		else
			fwrite(s + i, 1, k, j->out);
		k = k ? k : 1;
	}
	fputc('"', j->out);
}

void json_text(struct json *j, const char *s)
{
	if (s)
		json_string(j, s, strlen(s));
	else
		json_null(j);
}

void json_int(struct json *j, int64_t v)
{
	before_value(j);
	fprintf(j->out, v > MAX_EXACT || v < -MAX_EXACT ? "\"%lld\"" : "%lld", (long long)v);
}

void json_uint(struct json *j, uint64_t v)
{
	before_value(j);
	fprintf(j->out, v > (uint64_t)MAX_EXACT ? "\"%llu\"" : "%llu", (unsigned long long)v);
}

void json_hex(struct json *j, uint64_t v)
{
	before_value(j);
	fprintf(j->out, "\"0x%llx\"", (unsigned long long)v);
}

void json_double(struct json *j, double v, int digits)
{
	before_value(j);
	if (isfinite(v))
		fprintf(j->out, "%.*g", digits, v);
	else
		fprintf(j->out, "\"%s\"", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

void json_bool(struct json *j, bool v)
{
	before_value(j);
	fputs(v ? "true" : "false", j->out);
}

void json_null(struct json *j)
{
	before_value(j);
	fputs("null", j->out);
}

void json_line(struct json *j)
{
	fputc('\n', j->out);
	j->more[0] = false;
}

void json_key_text(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_text(j, s);
}

void json_key_int(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_int(j, v);
}

void json_key_uint(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_uint(j, v);
}
