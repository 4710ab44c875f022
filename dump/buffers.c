/* SPDX-License-Identifier: Apache-2.0
 * Buffers as numbers or in hexadecimal. Read in pieces: a buffer may be larger than memory. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "dump/content.h"
#include "dump/row.h"

#define PIECE_BYTES ((size_t)64 << 10)
#define PER_LINE    8u
#define HEX_LINE    16u

enum element {
	ELEMENT_HEX,
	ELEMENT_UNSIGNED,
	ELEMENT_SIGNED,
	ELEMENT_F16,
	ELEMENT_BF16,
	ELEMENT_F32,
	ELEMENT_F64
};

static const struct element_type {
	const char *name;
	enum element kind;
	unsigned bytes;
} types[] = {
	{"u8", ELEMENT_UNSIGNED, 1},  {"u16", ELEMENT_UNSIGNED, 2}, {"u32", ELEMENT_UNSIGNED, 4},
	{"u64", ELEMENT_UNSIGNED, 8}, {"s8", ELEMENT_SIGNED, 1},    {"s16", ELEMENT_SIGNED, 2},
	{"s32", ELEMENT_SIGNED, 4},   {"s64", ELEMENT_SIGNED, 8},   {"f16", ELEMENT_F16, 2},
	{"bf16", ELEMENT_BF16, 2},    {"f32", ELEMENT_F32, 4},      {"f64", ELEMENT_F64, 8},
};
static const struct element_type hex_type = {"hex", ELEMENT_HEX, 1};

static const struct element_type *find_type(const char *name)
{
	size_t i;

	if (!name)
		return &hex_type;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	return NULL;
}

static double float_of(const struct element_type *t, uint64_t u)
{
	switch (t->kind) {
	case ELEMENT_F64: return f64_from(u);
	case ELEMENT_F16: return (double)f16_to_f32((uint16_t)u);
	case ELEMENT_BF16: return (double)bf16_to_f32((uint16_t)u);
	default: return (double)f32_from((uint32_t)u);
	}
}

static int64_t signed_of(const struct element_type *t, uint64_t u)
{
	unsigned shift = 64 - t->bytes * 8;

	return (int64_t)(u << shift) >> shift;
}

static void print_element(const struct element_type *t, uint64_t u)
{
	char buf[40];

	switch (t->kind) {
	case ELEMENT_HEX: printf("%02" PRIx64, u); return;
	case ELEMENT_UNSIGNED: printf("%" PRIu64, u); return;
	case ELEMENT_SIGNED: printf("%" PRId64, signed_of(t, u)); return;
	case ELEMENT_F64: format_f64(float_of(t, u), buf, sizeof(buf)); break;
	default: format_f32((float)float_of(t, u), buf, sizeof(buf)); break;
	}
	fputs(buf, stdout);
}

static void json_element(struct json *j, const struct element_type *t, uint64_t u)
{
	switch (t->kind) {
	case ELEMENT_HEX:
	case ELEMENT_UNSIGNED: json_uint(j, u); break;
	case ELEMENT_SIGNED: json_int(j, signed_of(t, u)); break;
	case ELEMENT_F64: json_double(j, float_of(t, u), 17); break;
	default: json_double(j, float_of(t, u), 9); break;
	}
}

static uint64_t element_at(const uint8_t *p, unsigned bytes)
{
	uint64_t u = 0;

	memcpy(&u, p, bytes);
	return u;
}

static void print_hex_line(const uint8_t *p, size_t n, uint64_t offset)
{
	size_t i;

	printf("%8" PRIx64 "  ", offset);
	for (i = 0; i < HEX_LINE; i++)
		if (i < n)
			printf("%02x%s", p[i], i == 7 ? "  " : " ");
		else
			printf("   %s", i == 7 ? " " : "");
	fputs(" |", stdout);
	for (i = 0; i < n; i++)
		putchar(isprint(p[i]) ? p[i] : '.');
	puts("|");
}

static void print_piece(const struct element_type *t, const uint8_t *p, size_t n, uint64_t index)
{
	size_t i, count = n / t->bytes;

	for (i = 0; t->kind == ELEMENT_HEX && i < n; i += HEX_LINE)
		print_hex_line(p + i, n - i < HEX_LINE ? n - i : HEX_LINE, index + i);
	for (i = 0; t->kind != ELEMENT_HEX && i < count; i++) {
		if (i % PER_LINE == 0)
			printf("%8" PRIu64 "  ", index + i);
		print_element(t, element_at(p + i * t->bytes, t->bytes));
		putchar(i % PER_LINE == PER_LINE - 1 || i == count - 1 ? '\n' : ' ');
	}
}

static void json_piece(struct json *j, const struct element_type *t, const uint8_t *p, size_t n,
		       uint64_t index)
{
	size_t i, k, count = n / t->bytes;

	for (i = 0; i < count; i += k) {
		json_begin(j, '{');
		json_key_uint(j, "index", index + i);
		json_key(j, "values");
		json_begin(j, '[');
		for (k = 0; k < 64 && i + k < count; k++)
			json_element(j, t, element_at(p + (i + k) * t->bytes, t->bytes));
		json_end(j, ']');
		json_end(j, '}');
		json_line(j);
	}
}

static int print_elements(struct trace *t, uint64_t buffer, const struct element_type *type, uint64_t first,
			  uint64_t count, bool as_json, struct diag *d)
{
	uint8_t *piece = malloc(PIECE_BYTES);
	struct json j = {.out = stdout};
	int rc = 0;

	if (!piece)
		return diag_set(d, CUTRACE_ENOMEM, "cutrace dump", "out of memory");
	while (count && !rc && !ferror(stdout)) {
		uint64_t n = count * type->bytes < PIECE_BYTES ? count : PIECE_BYTES / type->bytes;

		rc = trace_buffer_read(t, buffer, first * type->bytes, piece, n * type->bytes, d);
		if (rc)
			break;
		if (as_json)
			json_piece(&j, type, piece, n * type->bytes, first);
		else
			print_piece(type, piece, n * type->bytes, first);
		first += n;
		count -= n;
	}
	free(piece);
	return rc;
}

int dump_buffer(struct trace *t, uint64_t buffer, const struct dump_options *o, struct diag *d)
{
	const struct element_type *type = find_type(o->type);
	int64_t bytes = trace_buffer_bytes(t, buffer);
	uint64_t elements, count;

	if (!type) {
		diag_set(d, CUTRACE_EINVAL, "--type", "'%s' is no element type", o->type);
		diag_hint(d, "u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64");
		return CUTRACE_EINVAL;
	}
	if (bytes < 0)
		return diag_set(d, CUTRACE_ENOENT, o->file, "there is no buffer %" PRIu64, buffer);
	elements = (uint64_t)bytes / type->bytes;
	if (o->offset > elements)
		return diag_set(d, CUTRACE_EINVAL, "--offset", "buffer %" PRIu64 " has %" PRIu64 " elements",
				buffer, elements);
	count = o->count < elements - o->offset ? o->count : elements - o->offset;
	return print_elements(t, buffer, type, o->offset, count, o->json, d);
}

static void payload_heading(const struct trace_payload *p, int64_t bytes, bool as_json)
{
	struct json j = {.out = stdout};

	if (!as_json) {
		printf("%s, parameter %d", p->kind, p->param);
		if (p->buffer)
			printf(", buffer %" PRIu64 ", %" PRId64 " bytes", p->buffer, bytes);
		if (p->device_address)
			printf(", device 0x%" PRIx64, p->device_address);
		printf("%s%s\n", p->note ? ": " : "", p->note ? p->note : "");
		return;
	}
	json_begin(&j, '{');
	json_key_text(&j, "kind", p->kind);
	json_key_int(&j, "param", p->param);
	if (p->buffer) {
		json_key_uint(&j, "buffer", p->buffer);
		json_key_int(&j, "bytes", bytes);
	}
	if (p->note)
		json_key_text(&j, "note", p->note);
	json_end(&j, '}');
	json_line(&j);
}

int dump_payload(struct trace *t, const struct dump_options *o, struct diag *d)
{
	unsigned n, i;
	const struct trace_payload *p = trace_payloads(t, o->payload, &n);
	struct trace_call c;
	int rc = 0;

	if (!n && trace_call_get(t, o->payload, &c))
		return diag_set(d, CUTRACE_ENOENT, o->file, "there is no call %" PRIu64, o->payload);
	if (!n)
		fprintf(stderr, "call %" PRIu64 " has no buffers\n", o->payload);
	for (i = 0; i < n && !rc; i++) {
		payload_heading(&p[i], trace_buffer_bytes(t, p[i].buffer), o->json);
		if (p[i].buffer)
			rc = dump_buffer(t, p[i].buffer, o, d);
	}
	return rc;
}
