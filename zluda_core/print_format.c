/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/print_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void print_text_append(struct print_text *t, const char *s, size_t n)
{
	if (t->n + n + 1 > t->cap) {
		size_t cap = (t->n + n + 1) * 2;
		char *p = realloc(t->s, cap);

		if (!p)
			return;
		t->s = p;
		t->cap = cap;
	}
	memcpy(t->s + t->n, s, n);
	t->n += n;
	t->s[t->n] = 0;
}

/* The arguments, one after the other. */
struct args {
	const struct print_source *source;
	bool bad;
};

static uint64_t next_arg(struct args *a, unsigned bytes)
{
	uint64_t v = 0;

	if (!a->bad && !a->source->argument(a->source->ctx, bytes, &v))
		a->bad = true;
	return v;
}

/* One conversion of printf, as read. */
struct conversion {
	char spec[48]; /* host format, without length and letter */
	size_t n;
	bool wide, shorts, chars;
	char letter;
};

static const char *read_number(const char *f, struct conversion *c, struct args *a)
{
	if (*f == '*') {
		c->n += (size_t)snprintf(c->spec + c->n, sizeof(c->spec) - c->n, "%d", (int)next_arg(a, 4));
		return f + 1;
	}
	while (*f >= '0' && *f <= '9' && c->n < 30)
		c->spec[c->n++] = *f++;
	return f;
}

static const char *read_conversion(const char *f, struct conversion *c, struct args *a)
{
	*c = (struct conversion){.spec = "%", .n = 1};
	while (*f && strchr("-+ #0", *f) && c->n < 8)
		c->spec[c->n++] = *f++;
	f = read_number(f, c, a);
	if (*f == '.') {
		c->spec[c->n++] = *f++;
		f = read_number(f, c, a);
	}
	for (; *f && strchr("hlLqjzt", *f); f++) {
		c->wide |= *f != 'h' && *f != 'L';
		c->chars = *f == 'h' && c->shorts;
		c->shorts |= *f == 'h';
	}
	c->letter = *f;
	return *f ? f + 1 : f;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void print_integer(struct print_text *out, struct conversion *c, struct args *a)
{
	uint64_t v = next_arg(a, c->wide ? 8 : 4);
	bool sign = c->letter == 'd' || c->letter == 'i';
	char buf[512];

	if (c->chars)
		v = sign ? (uint64_t)(int8_t)v : (uint8_t)v;
	else if (c->shorts)
		v = sign ? (uint64_t)(int16_t)v : (uint16_t)v;
	else if (!c->wide && sign)
		v = (uint64_t)(int32_t)v;
	snprintf(c->spec + c->n, sizeof(c->spec) - c->n, "ll%c", c->letter);
	print_text_append(out, buf,
			  (size_t)snprintf(buf, sizeof(buf), c->spec, (unsigned long long)v) % sizeof(buf));
}

static void print_other(struct print_text *out, struct conversion *c, struct args *a)
{
	char buf[1024];
	size_t n = 0;

	c->spec[c->n] = c->letter;
	c->spec[c->n + 1] = 0;
	if (c->letter == 'c') {
		n = (size_t)snprintf(buf, sizeof(buf), c->spec, (int)next_arg(a, 4));
	} else if (c->letter == 'p') {
		void *p = (void *)(uintptr_t)next_arg(a, 8);

		n = p ? (size_t)snprintf(buf, sizeof(buf), c->spec, p)
		      : (size_t)snprintf(buf, sizeof(buf), "(nil)");
	} else {
		uint64_t v = next_arg(a, 8);
		double d;

		memcpy(&d, &v, 8);
		n = (size_t)snprintf(buf, sizeof(buf), c->spec, d);
	}
	print_text_append(out, buf, n < sizeof(buf) ? n : sizeof(buf) - 1);
}

static void print_string(struct print_text *out, struct conversion *c, struct args *a)
{
	struct print_text s = {0};
	uint64_t address = next_arg(a, 8);

	print_text_append(&s, "", 0);
	if (!a->bad && !address)
		print_text_append(&s, "(null)", 6);
	else if (!a->bad && !a->source->string(a->source->ctx, address, &s))
		a->bad = true;
	if (!a->bad && s.s) {
		size_t n = s.n + 600;
		char *buf = malloc(n);

		c->spec[c->n] = 's';
		c->spec[c->n + 1] = 0;
		if (buf) {
			int len = snprintf(buf, n, c->spec, s.s);

			print_text_append(out, buf, len < 0 ? 0 : (size_t)len < n ? (size_t)len : n - 1);
		}
		free(buf);
	}
	free(s.s);
}

#pragma GCC diagnostic pop

int print_format(struct print_text *out, const char *f, const struct print_source *source)
{
	struct args a = {source, false};
	int count = 0;

	while (*f && !a.bad) {
		size_t plain = strcspn(f, "%");
		struct conversion c;

		print_text_append(out, f, plain);
		f += plain;
		if (!*f)
			break;
		if (f[1] == '%') {
			print_text_append(out, "%", 1);
			f += 2;
			continue;
		}
		f = read_conversion(f + 1, &c, &a);
		if (c.letter && strchr("diouxX", c.letter))
			print_integer(out, &c, &a);
		else if (c.letter && strchr("cpeEfFgGaA", c.letter))
			print_other(out, &c, &a);
		else if (c.letter == 's')
			print_string(out, &c, &a);
		else
			continue;
		count++;
	}
	return a.bad ? -1 : count;
}
