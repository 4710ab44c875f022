/* SPDX-License-Identifier: Apache-2.0
 *
 * The print buffer after a launch: records (ptx/lower/runtime.h) become texts. The kernel wrote them, so nothing in them is trusted.
 */
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_amd/device_amd.h"
#include "zluda_core/print_format.h"

/* What a record holds besides its format. */
struct cursor {
	const uint8_t *arguments, *strings;
	uint64_t argument_bytes, string_bytes, at, string_at;
};

static bool next_argument(void *ctx, unsigned bytes, uint64_t *value)
{
	struct cursor *c = ctx;

	c->at = (c->at + bytes - 1) & ~(uint64_t)(bytes - 1);
	if (c->at > c->argument_bytes || bytes > c->argument_bytes - c->at)
		return false;
	memcpy(value, c->arguments + c->at, bytes);
	c->at += bytes;
	return true;
}

/* Strings stand in the order of their conversions. */
static bool next_string(void *ctx, uint64_t address, struct print_text *out)
{
	struct cursor *c = ctx;
	const uint8_t *s = c->strings + c->string_at;
	const uint64_t room = c->string_bytes - c->string_at;
	const uint8_t *end = room ? memchr(s, 0, room) : NULL;

	(void)address;
	if (!end)
		return false;
	print_text_append(out, (const char *)s, (size_t)(end - s));
	c->string_at += (uint64_t)(end - s) + 1;
	return true;
}

static bool record_is_sound(const struct lower_print_record *r, uint64_t room)
{
	uint64_t parts = sizeof(*r) + (uint64_t)r->format_bytes + r->argument_bytes + r->string_bytes;

	return r->bytes >= sizeof(*r) && r->bytes % 8 == 0 && r->bytes <= room && parts <= r->bytes &&
	       r->format_bytes % 8 == 0 && r->argument_bytes % 8 == 0 && r->format_bytes;
}

static void print_record(struct amd_device *dev, const uint8_t *p, const struct lower_print_record *r)
{
	const char *format = (const char *)p + sizeof(*r);
	struct cursor c = {.arguments = p + sizeof(*r) + r->format_bytes,
			   .strings = p + sizeof(*r) + r->format_bytes + r->argument_bytes,
			   .argument_bytes = r->argument_bytes,
			   .string_bytes = r->string_bytes};
	const struct print_source source = {&c, next_argument, next_string};
	struct print_text text = {0};

	if (!memchr(format, 0, r->format_bytes))
		return;
	print_format(&text, format, &source);
	if (text.n && dev->host.print)
		dev->host.print(dev->host.ctx, text.s, text.n);
	free(text.s);
}

void amd_print_records(struct amd_device *dev, const uint8_t *records, uint64_t bytes)
{
	struct lower_print_record r;

	for (uint64_t at = 0; bytes - at >= sizeof(r); at += r.bytes) {
		memcpy(&r, records + at, sizeof(r));
		if (!record_is_sound(&r, bytes - at))
			return;
		print_record(dev, records + at, &r);
	}
}
