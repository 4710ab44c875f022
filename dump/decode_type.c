/* SPDX-License-Identifier: Apache-2.0
 * Bytes of a described type to values. */
#include <string.h>

#include "dump/decode.h"

#define MAX_DEPTH      8u
#define MAX_STRING     4096u
#define LOWEST_ADDRESS 65536u /* vm.mmap_min_addr */

struct value *decode_value(struct decoder *d, enum value_kind kind)
{
	static struct value exhausted; /* out of memory: prints as unknown */
	struct value *v = arena_zalloc(&d->arena, sizeof(*v));

	if (!v)
		return memset(&exhausted, 0, sizeof(exhausted));
	v->kind = kind;
	return v;
}

static struct value *decode_uint(struct decoder *d, enum value_kind kind, uint64_t u)
{
	struct value *v = decode_value(d, kind);

	v->u = u;
	return v;
}

static struct value *decode_symbol(struct decoder *d, const char *text)
{
	struct value *v = decode_value(d, VALUE_SYMBOL);

	v->text = text;
	return v;
}

static uint64_t load(const void *p, size_t bytes)
{
	uint64_t u = 0;

	memcpy(&u, p, bytes < sizeof(u) ? bytes : sizeof(u));
	return u;
}

static int64_t sign_extend(uint64_t u, size_t bytes)
{
	unsigned shift = bytes < 8 ? (unsigned)(64 - bytes * 8) : 0;

	return (int64_t)(u << shift) >> shift;
}

static struct value *decode_float(struct decoder *d, uint64_t u, size_t bytes)
{
	struct value *v = decode_value(d, bytes == 4 ? VALUE_F32 : VALUE_F64);
	float f;

	if (bytes == 4) {
		memcpy(&f, &u, sizeof(f));
		v->f = (double)f;
	} else {
		memcpy(&v->f, &u, sizeof(v->f));
	}
	return v;
}

static struct value *decode_enum(struct decoder *d, const struct api_enum *e, int64_t i, bool is_signed)
{
	const char *name = api_enum_name(e, i);

	if (!name && is_signed) /* described as unsigned, used as signed, or the other way round */
		name = api_enum_name(e, i & 0xffffffff);
	return name ? decode_symbol(d, name) : decode_uint(d, VALUE_INT, (uint64_t)i);
}

/* A|B|0x40: names of single bits, then what is left. A name of several bits comes first. */
static struct value *decode_mask(struct decoder *d, const struct api_enum *e, uint64_t u)
{
	const char *whole = api_enum_name(e, (int64_t)u);
	const char *text = NULL;
	unsigned i;

	if (whole)
		return decode_symbol(d, whole);
	if (!u)
		return decode_uint(d, VALUE_UINT, 0);
	for (i = e->nvalues; i-- > 0;) {
		uint64_t bits = (uint64_t)e->values[i].value;

		if (!bits || (u & bits) != bits)
			continue;
		text = text ? arena_printf(&d->arena, "%s|%s", e->values[i].name, text) : e->values[i].name;
		u &= ~bits;
	}
	if (u || !text)
		text = arena_printf(&d->arena, "%s%s0x%llx", text ? text : "", text ? "|" : "",
				    (unsigned long long)u);
	return decode_symbol(d, text ? text : "?");
}

struct value *decode_handle(struct decoder *d, const struct api_handle *h, uint64_t u)
{
	struct value *v;
	unsigned i;

	for (i = 0; i < h->nspecial; i++)
		if ((uint64_t)h->special[i].value == u)
			return decode_symbol(d, h->special[i].name);
	if (!u)
		return decode_value(d, VALUE_NULL);
	v = decode_uint(d, VALUE_HANDLE, u);
	v->number =
		handle_number(d->handles, (unsigned)(h - api_handles), d->process, u, d->creates, &v->type);
	if (strcmp(h->name, "CUfunction") == 0 || strcmp(h->name, "CUkernel") == 0)
		v->text = handle_kernel(d->handles, d->process, u, d->call->id);
	return v;
}

struct value *decode_device(struct decoder *d, uint64_t address)
{
	struct value *v;

	if (!address)
		return decode_value(d, VALUE_NULL);
	v = decode_uint(d, VALUE_DEVICE, address);
	v->allocation = live_allocation_at(d->allocations, d->process, address, false, d->call->id,
					   &v->offset, &v->variable);
	return v;
}

struct value *decode_host(struct decoder *d, uint64_t address)
{
	struct value *v;

	if (!address)
		return decode_value(d, VALUE_NULL);
	if (address < LOWEST_ADDRESS) /* a number passed as a pointer, such as the value of a JIT option */
		return decode_uint(d, VALUE_UINT, address);
	v = decode_uint(d, VALUE_HOST, address);
	v->allocation = live_allocation_at(d->allocations, d->process, address, true, d->call->id, &v->offset,
					   &v->variable);
	return v;
}

static struct value *decode_text(struct decoder *d, const char *p, size_t n, uint64_t more)
{
	struct value *v = decode_value(d, VALUE_STRING);

	v->text = arena_strndup(&d->arena, p, n);
	v->n = v->text ? n : 0;
	v->more = more;
	return v;
}

/* A NUL-terminated string; the recorded block ends with it. */
static struct value *decode_string(struct decoder *d, uint64_t addr)
{
	uint64_t n = 0;
	const char *c;

	if (!addr)
		return decode_value(d, VALUE_NULL);
	while (n < MAX_STRING && (c = decode_read(d, addr + n, 1)) && *c)
		n++;
	c = n ? decode_read(d, addr, n) : decode_read(d, addr, 1);
	if (!c)
		return decode_host(d, addr);
	return decode_text(d, c, n, 0);
}

/* An array of char: text up to its NUL if it is printable, else bytes. */
static struct value *decode_chars(struct decoder *d, const char *p, size_t n)
{
	size_t length = strnlen(p, n), i;
	struct value *v;

	/* char is signed: bytes from 0x80 on are below 0x20 too */
	for (i = 0; i < length; i++)
		if ((p[i] < 0x20 && !strchr("\n\t\r", p[i])) || p[i] == 0x7f)
			break;
	if (i == length && length < n)
		return decode_text(d, p, length, 0);
	v = decode_value(d, VALUE_BYTES);
	v->text = arena_strndup(&d->arena, p, n);
	v->n = v->text ? n : 0;
	return v;
}

static struct value *decode_bytes(struct decoder *d, const char *p, uint64_t n)
{
	struct value *v = decode_value(d, VALUE_BYTES);
	uint64_t keep = n < MAX_STRING ? n : MAX_STRING;

	v->text = arena_strndup(&d->arena, p, keep);
	v->n = v->text ? keep : 0;
	v->more = n - v->n;
	return v;
}

/* ---- structs ------------------------------------------------------------------- */

static struct value *decode_pointer_field(struct decoder *d, const struct api_struct *s, const char *base,
					  const struct api_field *f)
{
	const struct api_type *t = &api_types[f->type];
	struct api_memory mem = decode_memory(d);
	uint64_t addr = load(base + f->offset, 8), n = 1;

	if (t->kind == API_KIND_STRING)
		return decode_string(d, addr);
	if (f->payload || !addr)
		return decode_host(d, addr);
	if (f->len >= 0) {
		int64_t len = api_eval(f->len, d->f, d->args, base, s, &mem);

		n = len < 0 ? 0 : (uint64_t)len;
	}
	return decode_elements(d, &api_types[t->elem], addr, n, f->len >= 0);
}

static bool all_zero(const char *p, size_t n)
{
	while (n && !*p) {
		p++;
		n--;
	}
	return !n;
}

/* Padding that says nothing. */
static bool is_filler(const struct api_field *f, const char *base)
{
	static const char *const words[] = {"reserved", "pad", "unused"};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncasecmp(f->name, words[i], strlen(words[i])) == 0)
			return all_zero(base + f->offset, api_types[f->type].size);
	return false;
}

struct outer {
	const struct api_struct *s;
	const char *base;
};

static struct value *decode_struct(struct decoder *d, const struct api_type *t, const char *base,
				   size_t avail, const struct outer *outer);

static struct value *decode_field(struct decoder *d, const struct api_struct *s, const char *base,
				  const struct api_field *f, size_t avail)
{
	const struct api_type *t = &api_types[f->type];
	struct outer here = {s, base};

	if (t->kind == API_KIND_POINTER || t->kind == API_KIND_STRING)
		return decode_pointer_field(d, s, base, f);
	if (t->kind == API_KIND_STRUCT || t->kind == API_KIND_UNION)
		return decode_struct(d, t, base + f->offset, avail - f->offset, &here);
	return decode_type(d, t, base + f->offset, avail - f->offset);
}

/* A union's members are chosen by the struct around it, or by itself. Those that nothing chooses are shown
 * only when alone. */
static bool is_active(struct decoder *d, const struct api_struct *s, const char *base,
		      const struct api_field *f, const struct outer *outer)
{
	struct api_memory mem = decode_memory(d);
	const struct api_struct *tags = s->self_tagged || !s->is_union ? s : outer ? outer->s : NULL;
	const char *tag_base = s->self_tagged || !s->is_union ? base : outer ? outer->base : NULL;

	if (f->active < 0)
		return !s->is_union || s->nfields == 1;
	return tag_base && api_eval(f->active, d->f, d->args, tag_base, tags, &mem);
}

static struct value *decode_struct(struct decoder *d, const struct api_type *t, const char *base,
				   size_t avail, const struct outer *outer)
{
	const struct api_struct *s = &api_structs[t->def];
	struct value *v = decode_value(d, VALUE_STRUCT), **at = &v->child;
	unsigned i;

	if (d->depth >= MAX_DEPTH)
		return decode_value(d, VALUE_UNKNOWN);
	d->depth++;
	for (i = 0; i < s->nfields; i++) {
		const struct api_field *f = &s->fields[i];
		size_t size = api_types[f->type].size;

		/* an older caller's struct is shorter */
		if (f->offset + size > avail || !is_active(d, s, base, f, outer) || is_filler(f, base))
			continue;
		*at = decode_field(d, s, base, f, avail);
		(*at)->name = f->name;
		at = &(*at)->next;
	}
	d->depth--;
	/* a union that nothing tags */
	if (!v->child && s->is_union && !all_zero(base, t->size < avail ? t->size : avail))
		return decode_bytes(d, base, t->size < avail ? t->size : avail);
	return v;
}

/* ---- any type -------------------------------------------------------------------- */

static struct value *decode_array(struct decoder *d, const struct api_type *t, const char *p, uint64_t n)
{
	struct value *v, **at;
	uint64_t i;

	if (t->kind == API_KIND_CHAR)
		return decode_chars(d, p, n);
	if (t->kind == API_KIND_BYTES || t->kind == API_KIND_VOID)
		return decode_bytes(d, p, n);
	v = decode_value(d, VALUE_LIST);
	at = &v->child;
	for (i = 0; i < n && i < d->max_elements; i++) {
		*at = decode_type(d, t, p + i * t->size, t->size);
		at = &(*at)->next;
	}
	v->more = n - i;
	return v;
}

struct value *decode_type(struct decoder *d, const struct api_type *t, const void *p, size_t avail)
{
	uint64_t u;

	if (t->kind != API_KIND_STRUCT && t->kind != API_KIND_UNION && t->size > avail)
		return decode_value(d, VALUE_UNKNOWN);
	u = t->size <= 8 && t->size <= avail ? load(p, t->size) : 0;
	switch ((enum api_kind)t->kind) {
	case API_KIND_VOID: return decode_value(d, VALUE_UNKNOWN);
	case API_KIND_INT: return decode_uint(d, VALUE_INT, (uint64_t)sign_extend(u, t->size));
	case API_KIND_UINT: return decode_uint(d, VALUE_UINT, u);
	case API_KIND_FLOAT: return decode_float(d, u, t->size);
	case API_KIND_CHAR: return decode_uint(d, VALUE_INT, (uint64_t)sign_extend(u, 1));
	case API_KIND_ENUM: return decode_enum(d, &api_enums[t->def], sign_extend(u, t->size), t->size == 4);
	case API_KIND_MASK: return decode_mask(d, &api_enums[t->def], u);
	case API_KIND_HANDLE:
		if (t->size < 8) /* a device's ordinal */
			return decode_uint(d, VALUE_INT, (uint64_t)sign_extend(u, t->size));
		return decode_handle(d, &api_handles[t->def], u);
	case API_KIND_DEVPTR: return decode_device(d, u);
	case API_KIND_STRING: return decode_string(d, u);
	case API_KIND_ARRAY: return decode_array(d, &api_types[t->elem], p, t->count);
	case API_KIND_STRUCT:
	case API_KIND_UNION: return decode_struct(d, t, p, avail, NULL);
	case API_KIND_POINTER:
	case API_KIND_CALLBACK:
	case API_KIND_OPAQUE: return decode_host(d, u);
	case API_KIND_BYTES: return decode_bytes(d, p, t->size);
	}
	return decode_value(d, VALUE_UNKNOWN);
}

struct value *decode_elements(struct decoder *d, const struct api_type *t, uint64_t addr, uint64_t n,
			      bool counted)
{
	uint64_t bytes, size = t->size ? t->size : 1;
	const char *p = NULL;
	struct value *v;

	if (!addr)
		return decode_value(d, VALUE_NULL);
	if (!n && counted)
		return decode_value(d, VALUE_LIST);
	if (!__builtin_mul_overflow(n, size, &bytes))
		p = decode_read(d, addr, bytes);
	if (!p)
		return decode_host(d, addr);
	if (counted)
		return decode_array(d, t, p, n);
	if (t->kind == API_KIND_VOID || t->kind == API_KIND_BYTES)
		return decode_bytes(d, p, n);
	v = decode_value(d, VALUE_REF);
	v->child = decode_type(d, t, p, size);
	return v;
}
