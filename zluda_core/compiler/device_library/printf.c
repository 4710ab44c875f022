/* SPDX-License-Identifier: Apache-2.0
 *
 * vprintf (CUDA C++ Programming Guide, "Formatted Output"): the format, the arguments that it takes and the strings
 * that these point to are copied to the print buffer, since the host may not reach where they are, or too late. The
 * host makes the text (zluda_core/print_format.h).
 */
#include "zluda_core/compiler/device_library/runtime.h"

enum { STRING_MAX = 65536 };

/* All of this becomes part of each kernel that prints, and is compiled with it: sets of characters are bits, a loop takes one
 * character after the other, and goes over the format twice, first to measure, then to copy. */

/* What one conversion takes. */
struct conversion {
	uint32_t bytes; /* of its own argument: 4 or 8 */
	uint32_t at;    /* where that begins, aligned to its size */
	bool is_string;
};

/* Sets of characters of one half of ASCII: up to the digits, or letters. */
#define IN(c)   (1ull << ((c)&63))
#define SIGNS   (IN('-') | IN('+') | IN(' ') | IN('#') | IN('.') | 0x3ffull << '0')
#define LENGTHS (IN('h') | IN('l') | IN('L') | IN('q') | IN('j') | IN('z') | IN('t'))
#define NARROW  (IN('h') | IN('L'))
#define INTEGER (IN('d') | IN('i') | IN('o') | IN('u') | IN('x') | IN('X'))
#define DOUBLES (IN('e') | IN('E') | IN('f') | IN('F') | IN('g') | IN('G') | IN('a') | IN('A'))
#define POINTER (IN('s') | IN('p'))

static bool is_sign(char c, uint64_t set)
{
	return !((uint8_t)c >> 6) && set >> (c & 63) & 1;
}

static bool is_letter(char c, uint64_t set)
{
	return (uint8_t)c >> 6 == 1 && set >> (c & 63) & 1;
}

/* Of the argument that a conversion's last letter takes; 0: none. */
static uint32_t bytes_of(char letter, bool wide)
{
	if (is_letter(letter, DOUBLES | POINTER))
		return 8;
	if (is_letter(letter, INTEGER))
		return wide ? 8 : 4;
	return letter == 'c' ? 4 : 0;
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
	uint32_t stars = 0; /* arguments of 4 bytes before its own */
	bool inside = false, wide = false;

	c->bytes = 0;
	for (; *f && !c->bytes; f++) {
		if (!inside) {
			inside = *f == '%';
			stars = wide = 0;
		} else if (*f == '*') {
			stars++;
		} else if (is_letter(*f, LENGTHS)) {
			wide |= !is_letter(*f, NARROW);
		} else if (!is_sign(*f, SIGNS)) {
			inside = false;
			*at = ((*at + 3) & ~3u) + 4 * stars;
			c->bytes = bytes_of(*f, wide);
			c->is_string = *f == 's';
		}
	}
	*format = f;
	if (!c->bytes)
		return false;
	c->at = (*at + c->bytes - 1) & ~(c->bytes - 1);
	*at = c->at + c->bytes;
	return true;
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

/* One pass over the format: strings are measured, and copied where there is room for them. */
struct pass {
	const char *end; /* of the format */
	uint32_t argument_bytes, string_bytes;
	int count;
};

static void go_over(const char *format, const char *arguments, ct_global char *to, struct pass *p)
{
	struct conversion c;

	*p = (struct pass){.end = format};
	for (; next_conversion(&p->end, &p->argument_bytes, &c); p->count++) {
		const char *string = c.is_string ? string_at(arguments, c.at) : 0;
		const uint32_t n = string ? string_bytes(string) : 0;

		if (to && n) {
			to = copy(to, string, n - 1, n - 1);
			*to++ = 0;
		}
		p->string_bytes += n;
	}
}

/* Without its strings; where those go, or NULL. */
static ct_global char *begin_record(ct_global struct lower_print *p, const char *format,
				    const char *arguments, const struct pass *is)
{
	const uint32_t format_bytes = (uint32_t)(is->end - format) + 1;
	struct lower_print_record r = {.format_bytes = padded(format_bytes),
				       .argument_bytes = padded(is->argument_bytes),
				       .string_bytes = padded(is->string_bytes)};
	ct_global char *to;

	r.bytes = (uint32_t)sizeof(r) + r.format_bytes + r.argument_bytes + r.string_bytes;
	to = reserve(p, r.bytes);
	if (!to)
		return to;
	*(ct_global struct lower_print_record *)(ct_global void *)to = r;
	to = copy(to + sizeof(r), format, format_bytes, r.format_bytes);
	return copy(to, arguments, r.argument_bytes, r.argument_bytes);
}

uint32_t ct_vprintf(ct_global struct lower_runtime *r, const char *format, const char *arguments)
{
	ct_global char *to = 0;
	struct pass pass;

	if (!format)
		return ~0u;
	for (;;) {
		go_over(format, arguments, to, &pass);
		if (to)
			return (uint32_t)pass.count;
		to = begin_record(&r->print, format, arguments, &pass);
		if (!to)
			return (uint32_t)pass.count;
	}
}
