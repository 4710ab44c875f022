/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that the device provides to kernels: vprintf, __assertfail,
 * malloc, free (CUDA programming guide, "Formatted Output", "Assertion",
 * "Dynamic Global Memory Allocation"). Each runs lane by lane, in order.
 */
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/exec_mem.h"

#define TEXT_MAX 65536

struct text {
	char *s;
	size_t n, cap;
};

static uint64_t argument(struct warp *w, const struct xcall *call, uint32_t k, unsigned lane)
{
	const struct xarg *a = &call->args[k];
	uint64_t v = 0;
	const uint8_t *p = a->cell != OPERAND_NONE
				   ? (const uint8_t *)cell(w, a->cell) + (size_t)lane * a->bytes
				   : w->local + (size_t)lane * w->local_stride + w->local_base + a->offset;

	memcpy(&v, p, a->bytes < 8 ? a->bytes : 8);
	return v;
}

static void give_back(struct warp *w, const struct xcall *call, unsigned lane, uint64_t v)
{
	if (!call->nrets)
		return;
	const struct xarg *a = &call->rets[0];
	uint8_t *p = a->cell != OPERAND_NONE
			     ? (uint8_t *)cell(w, a->cell) + (size_t)lane * a->bytes
			     : w->local + (size_t)lane * w->local_stride + w->local_base + a->offset;

	memcpy(p, &v, a->bytes < 8 ? a->bytes : 8);
}

static void append(struct text *t, const char *s, size_t n)
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

/* A guest string; false when it can't be read (a fault was recorded). */
static bool guest_string(struct warp *w, const struct xinst *i, uint64_t addr, unsigned lane,
			 struct text *out)
{
	for (uint32_t n = 0; n < TEXT_MAX; n++) {
		const uint8_t *p = mem_resolve_lane(w, i, PTX_SPACE_GENERIC, addr + n, 1, 1, 0, lane);

		if (!p)
			return false;
		if (!*p)
			break;
		append(out, (const char *)p, 1);
	}
	append(out, "", 0);
	return true;
}

/* The argument buffer of vprintf: naturally aligned values, one after the other. */
struct args {
	struct warp *w;
	const struct xinst *i;
	uint64_t at;
	unsigned lane;
	bool bad;
};

static uint64_t next_arg(struct args *a, uint32_t bytes)
{
	uint64_t v = 0;

	a->at = (a->at + bytes - 1) & ~(uint64_t)(bytes - 1);
	const uint8_t *p =
		a->bad ? NULL
		       : mem_resolve_lane(a->w, a->i, PTX_SPACE_GENERIC, a->at, bytes, bytes, 0, a->lane);

	if (p)
		memcpy(&v, p, bytes);
	else
		a->bad = true;
	a->at += bytes;
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

static void print_integer(struct text *out, struct conversion *c, struct args *a)
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
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	append(out, buf, (size_t)snprintf(buf, sizeof(buf), c->spec, (unsigned long long)v) % sizeof(buf));
#pragma GCC diagnostic pop
}

static void print_other(struct text *out, struct conversion *c, struct args *a)
{
	char buf[1024];
	size_t n = 0;

	c->spec[c->n] = c->letter;
	c->spec[c->n + 1] = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
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
#pragma GCC diagnostic pop
	append(out, buf, n < sizeof(buf) ? n : sizeof(buf) - 1);
}

static void print_string(struct text *out, struct conversion *c, struct args *a)
{
	struct text s = {0};
	uint64_t addr = next_arg(a, 8);

	if (!addr)
		append(&s, "(null)", 6);
	else if (a->bad || !guest_string(a->w, a->i, addr, a->lane, &s))
		a->bad = true;
	if (!a->bad && s.s) {
		size_t n = s.n + 600;
		char *buf = malloc(n);

		c->spec[c->n] = 's';
		c->spec[c->n + 1] = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		if (buf) {
			int len = snprintf(buf, n, c->spec, s.s);

			append(out, buf, len < 0 ? 0 : (size_t)len < n ? (size_t)len : n - 1);
		}
#pragma GCC diagnostic pop
		free(buf);
	}
	free(s.s);
}

/* Number of arguments printed. */
static uint32_t format(struct text *out, const char *f, struct args *a)
{
	uint32_t count = 0;

	while (*f && !a->bad) {
		size_t plain = strcspn(f, "%");
		struct conversion c;

		append(out, f, plain);
		f += plain;
		if (!*f)
			break;
		if (f[1] == '%') {
			append(out, "%", 1);
			f += 2;
			continue;
		}
		f = read_conversion(f + 1, &c, a);
		if (c.letter && strchr("diouxX", c.letter))
			print_integer(out, &c, a);
		else if (c.letter && strchr("cpeEfFgGaA", c.letter))
			print_other(out, &c, a);
		else if (c.letter == 's')
			print_string(out, &c, a);
		else
			continue;
		count++;
	}
	return count;
}

/* The host may take its time, and may change the memory map. */
static void host_print(struct warp *w, const struct text *t)
{
	const struct dev_host *h = &w->block->grid->dev->host;

	if (!h->print || !t->n)
		return;
	worker_pause(w->worker);
	h->print(h->ctx, t->s, t->n);
	worker_refresh(w->worker);
}

static const struct xinst *builtin_vprintf(struct warp *w, const struct xinst *i)
{
	const struct xcall *call = (const void *)(uintptr_t)i->imm;

	FOR_LANES(l, w->mask)
	{
		struct text fmt = {0}, out = {0};
		struct args a = {w, i, argument(w, call, 1, l), l, false};
		bool ok = guest_string(w, i, argument(w, call, 0, l), l, &fmt);

		if (ok && fmt.s) {
			give_back(w, call, l, format(&out, fmt.s, &a));
			if (!a.bad)
				host_print(w, &out);
		}
		free(fmt.s);
		free(out.s);
		if (!ok || a.bad)
			return NULL;
	}
	return i + 1;
}

/* (message, file, line, function, size of a char) */
static const struct xinst *builtin_assertfail(struct warp *w, const struct xinst *i)
{
	const struct xcall *call = (const void *)(uintptr_t)i->imm;
	unsigned l = first_lane(w->mask);
	struct text s[3] = {0};
	static const uint8_t which[3] = {0, 1, 3};
	bool ok = true;

	for (unsigned k = 0; k < 3; k++) {
		uint64_t addr = argument(w, call, which[k], l);

		if (!addr)
			append(&s[k], "?", 1);
		else
			ok = ok && guest_string(w, i, addr, l, &s[k]);
	}
	if (ok)
		fault_lane(w, i, DEV_FAULT_ASSERT, l,
			   "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.", s[1].s,
			   (unsigned)argument(w, call, 2, l), s[2].s, w->block->index[0], w->block->index[1],
			   w->block->index[2], w->tids[0][l], w->tids[1][l], w->tids[2][l], s[0].s);
	for (unsigned k = 0; k < 3; k++)
		free(s[k].s);
	return NULL;
}

static const struct xinst *builtin_malloc(struct warp *w, const struct xinst *i)
{
	const struct xcall *call = (const void *)(uintptr_t)i->imm;
	const struct dev_host *h = &w->block->grid->dev->host;

	worker_pause(w->worker);
	FOR_LANES(l, w->mask)
	{
		uint64_t n = argument(w, call, 0, l);

		give_back(w, call, l, h->heap_alloc && n ? h->heap_alloc(h->ctx, n) : 0);
	}
	worker_refresh(w->worker);
	return i + 1;
}

static const struct xinst *builtin_free(struct warp *w, const struct xinst *i)
{
	const struct xcall *call = (const void *)(uintptr_t)i->imm;
	const struct dev_host *h = &w->block->grid->dev->host;
	uint64_t wrong = 0;
	unsigned lane = 0;

	worker_pause(w->worker);
	FOR_LANES(l, w->mask)
	{
		uint64_t p = argument(w, call, 0, l);

		if (p && !wrong && (!h->heap_free || h->heap_free(h->ctx, p))) {
			wrong = p;
			lane = l;
		}
	}
	worker_refresh(w->worker);
	if (wrong)
		return fault_lane(w, i, DEV_FAULT_ILLEGAL_ADDRESS, lane,
				  "free of 0x%llx, which is not on the device's heap",
				  (unsigned long long)wrong);
	return i + 1;
}

/* Sizes in bytes, one digit each. */
static bool sizes_are(const struct ptx_param *p, uint32_t n, const char *sizes)
{
	bool ok = n == strlen(sizes);

	for (uint32_t k = 0; ok && k < n; k++)
		ok = p[k].type != PTX_PRED && p[k].size == (uint32_t)(sizes[k] - '0');
	return ok;
}

exec_fn builtin_find(const struct ptx_func *declared)
{
	static const struct {
		const char *name;
		exec_fn fn;
		const char *params, *rets;
	} table[] = {
		{"vprintf", builtin_vprintf, "88", "4"},
		{"__assertfail", builtin_assertfail, "88488", ""},
		{"malloc", builtin_malloc, "8", "8"},
		{"free", builtin_free, "8", ""},
	};

	for (unsigned k = 0; k < sizeof(table) / sizeof(table[0]); k++)
		if (!strcmp(table[k].name, declared->name))
			return sizes_are(declared->params, declared->nparams, table[k].params) &&
					       sizes_are(declared->rets, declared->nrets, table[k].rets)
				       ? table[k].fn
				       : NULL;
	return NULL;
}
