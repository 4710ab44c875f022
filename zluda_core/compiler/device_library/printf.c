/* SPDX-License-Identifier: Apache-2.0
 *
 * vprintf (CUDA C++ Programming Guide, "Formatted Output"): the format, the arguments that it takes and the strings
 * that these point to are copied to the print buffer, since the host may not reach where they are, or too late. The
 * host makes the text (zluda_core/print_format.h).
 */
#include "zluda_core/compiler/device_library/runtime.h"

enum { STRING_MAX = 65536 };

/* What one conversion takes. */
struct conversion {
	uint32_t stars; /* arguments of 4 bytes before its own */
	uint32_t bytes; /* of its own: 0, 4 or 8 */
	uint32_t at;    /* where its own begins, aligned to its size */
	bool is_string;
};

static bool is_one_of(char c, const char *set)
{
	while (*set && *set != c)
		set++;
	return *set && c;
}

static const char *skip_number(const char *f, struct conversion *c)
{
	if (*f == '*') {
		c->stars++;
		return f + 1;
	}
	while (*f >= '0' && *f <= '9')
		f++;
	return f;
}

/* f is behind the percent sign; the result behind the conversion. */
static const char *read_conversion(const char *f, struct conversion *c)
{
	bool wide = false;

	c->stars = c->bytes = 0;
	c->is_string = false;
	while (is_one_of(*f, "-+ #0"))
		f++;
	f = skip_number(f, c);
	if (*f == '.')
		f = skip_number(f + 1, c);
	for (; is_one_of(*f, "hlLqjzt"); f++)
		wide |= *f != 'h' && *f != 'L';
	if (is_one_of(*f, "diouxX"))
		c->bytes = wide ? 8 : 4;
	else if (*f == 'c')
		c->bytes = 4;
	else if (is_one_of(*f, "speEfFgGaA"))
		c->bytes = 8;
	c->is_string = *f == 's';
	return *f ? f + 1 : f;
}

static uint32_t string_bytes(const char *s)
{
	uint32_t n = 0;

	while (n < STRING_MAX && s[n])
		n++;
	return n + 1;
}

static const char *string_at(const char *arguments, uint32_t offset)
{
	return *(const char *const *)(const void *)(arguments + offset);
}

static uint32_t padded(uint32_t n)
{
	return (n + 7) & ~7u;
}

/* The next conversion that takes an argument; *at is the offset behind the arguments so far. False at the end, to which
 * *format then points. */
static bool next_conversion(const char **format, uint32_t *at, struct conversion *c)
{
	const char *f = *format;

	c->bytes = 0;
	while (*f && !c->bytes) {
		if (*f++ != '%')
			continue;
		if (*f == '%') {
			f++;
			continue;
		}
		f = read_conversion(f, c);
		*at = ((*at + 3) & ~3u) + 4 * c->stars;
	}
	*format = f;
	if (!c->bytes)
		return false;
	c->at = (*at + c->bytes - 1) & ~(c->bytes - 1);
	*at = c->at + c->bytes;
	return true;
}

/* Sizes of a record, and how many conversions there are. */
static int measure(const char *format, const char *arguments, struct lower_print_record *r)
{
	uint32_t at = 0, strings = 0;
	const char *f = format;
	struct conversion c;
	int count = 0;

	for (; next_conversion(&f, &at, &c); count++)
		if (c.is_string && string_at(arguments, c.at))
			strings += string_bytes(string_at(arguments, c.at));
	r->format_bytes = padded((uint32_t)(f - format) + 1);
	r->argument_bytes = padded(at);
	r->string_bytes = padded(strings);
	r->bytes = (uint32_t)sizeof(*r) + r->format_bytes + r->argument_bytes + r->string_bytes;
	return count;
}

/* Room for a record, or NULL. */
static ct_global char *reserve(ct_global struct lower_print *p, uint32_t bytes)
{
	uint64_t used = __atomic_load_n(&p->used, __ATOMIC_RELAXED);

	do {
		if (used > p->bytes || bytes > p->bytes - used) {
			__atomic_fetch_add(&p->lost, 1, __ATOMIC_RELAXED);
			return 0;
		}
	} while (!__atomic_compare_exchange_n(&p->used, &used, used + bytes, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return CT_AT(char, p->address + used);
}

static ct_global char *copy(ct_global char *to, const char *from, uint32_t bytes, uint32_t room)
{
	for (uint32_t k = 0; k < bytes; k++)
		to[k] = from[k];
	return to + room;
}

static void copy_strings(ct_global char *to, const char *f, const char *arguments)
{
	struct conversion c;
	uint32_t at = 0;

	while (next_conversion(&f, &at, &c)) {
		const char *string = c.is_string ? string_at(arguments, c.at) : 0;
		uint32_t n = string ? string_bytes(string) : 0;

		if (!string)
			continue;
		to = copy(to, string, n - 1, n - 1);
		*to++ = 0;
	}
}

uint32_t ct_vprintf(ct_global struct lower_runtime *r, const char *format, const char *arguments)
{
	struct lower_print_record record;
	ct_global char *to;
	int count;

	if (!format)
		return ~0u;
	count = measure(format, arguments, &record);
	to = reserve(&r->print, record.bytes);
	if (!to)
		return (uint32_t)count;
	*(ct_global struct lower_print_record *)(ct_global void *)to = record;
	to += sizeof(record);
	to = copy(to, format, string_bytes(format), record.format_bytes);
	to = copy(to, arguments, record.argument_bytes, record.argument_bytes);
	copy_strings(to, format, arguments);
	return (uint32_t)count;
}
