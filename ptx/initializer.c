/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/initializer: the values of variables: numbers, strings, addresses with
 * generic() and the byte masks of ISA 5.4.4, in nested braces. */
#include <stdlib.h>
#include <string.h>

#include "ptx/parse.h"

struct initializer {
	struct parser *p;
	struct declaration *d;
	uint64_t element_bytes;
	uint64_t next; /* element to be written */
	uint8_t *bytes;
	size_t nbytes, capacity;
	struct ptx_reloc *relocs;
	uint32_t nrelocs, relocs_capacity;
};

/* Zeros that a text asks for with few characters. */
static uint64_t memory_budget(const struct parser *p)
{
	return (UINT64_C(256) << 20) + 16 * p->m->text_bytes;
}

static int over_budget(struct initializer *in)
{
	return parser_fail(in->p, CUTRACE_ENOTSUP, in->d->at,
			   "initialised variables take more memory than supported");
}

static int reserve(struct initializer *in, size_t bytes)
{
	if (bytes > memory_budget(in->p))
		return over_budget(in);
	if (bytes > in->capacity) {
		size_t capacity = in->capacity * 2 > bytes ? in->capacity * 2 : bytes + 64;
		uint8_t *grown = realloc(in->bytes, capacity);
		if (!grown)
			return parser_out_of_memory(in->p);
		in->bytes = grown;
		in->capacity = capacity;
	}
	if (bytes > in->nbytes) {
		memset(in->bytes + in->nbytes, 0, bytes - in->nbytes);
		in->nbytes = bytes;
	}
	return 0;
}

static int too_many(struct initializer *in, const char *at)
{
	return parser_fail(in->p, CUTRACE_EFORMAT, at, "'%.*s' has more values than elements",
			   (int)in->d->name.n, in->d->name.s);
}

static int put(struct initializer *in, const char *at, uint64_t bits)
{
	if (!in->d->unsized && in->next >= in->d->count)
		return too_many(in, at);
	size_t offset;
	if (__builtin_mul_overflow(in->next, in->element_bytes, &offset) || offset > PTX_MAX_VARIABLE_BYTES)
		return over_budget(in);
	int rc = reserve(in, offset + in->element_bytes);
	if (rc)
		return rc;
	memcpy(in->bytes + offset, &bits, in->element_bytes < 8 ? in->element_bytes : 8);
	in->next++;
	return 0;
}

static int add_reloc(struct initializer *in, const struct ptx_reloc *r)
{
	if (in->nrelocs == in->relocs_capacity) {
		uint32_t capacity = in->nrelocs ? in->nrelocs * 2 : 8;
		struct ptx_reloc *grown = realloc(in->relocs, capacity * sizeof(*grown));
		if (!grown)
			return parser_out_of_memory(in->p);
		in->relocs = grown;
		in->relocs_capacity = capacity;
	}
	in->relocs[in->nrelocs++] = *r;
	return 0;
}

/* name, generic(name), either with + constant. */
static int parse_address(struct initializer *in, struct ptx_reloc *r)
{
	struct parser *p = in->p;
	struct lex_name name;
	struct literal l;
	const char *why;
	lex_peek(&p->lx);
	const char *at = p->lx.p;
	if (!lex_name(&p->lx, &name))
		return parser_fail(p, CUTRACE_EFORMAT, at, "expected a value");
	if (!r->generic && lex_is(&name, "generic") && lex_accept(&p->lx, '(')) {
		r->generic = true;
		int rc = parse_address(in, r);
		if (rc || (rc = parser_expect(p, ')')))
			return rc;
	} else {
		const struct name_slot *slot = name_table_find(&p->ms->names, &name);
		if (!slot)
			return parser_fail(p, CUTRACE_EFORMAT, at, "unknown name '%.*s'", (int)name.n,
					   name.s);
		r->is_func = slot->kind == NAME_FUNC;
		r->symbol = slot->index;
	}
	if (lex_peek(&p->lx) != '+' && lex_peek(&p->lx) != '-')
		return 0;
	if (*p->lx.p == '+')
		p->lx.p++;
	if (!lex_constant(&p->lx, &l, &why) || l.kind != LITERAL_INT)
		return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected an integer offset");
	r->addend += (int64_t)l.bits;
	return 0;
}

static int put_address(struct initializer *in, const char *at, struct ptx_reloc *r)
{
	r->offset = (uint32_t)(in->next * in->element_bytes);
	if (in->next * in->element_bytes > UINT32_MAX)
		return parser_fail(in->p, CUTRACE_ENOTSUP, at,
				   "an address that far inside a variable is not supported");
	int rc = add_reloc(in, r);
	return rc ? rc : put(in, at, 0);
}

/* 0xFF00(name): one byte of an address, named by its mask. */
static int parse_mask(struct initializer *in, const char *at, uint64_t mask)
{
	struct ptx_reloc r = {.bytes = 1};
	while (r.shift < 64 && mask != UINT64_C(0xff) << r.shift)
		r.shift += 8;
	if (r.shift >= 64)
		return parser_fail(in->p, CUTRACE_EFORMAT, at,
				   "an address mask selects one byte: 0xFF, 0xFF00, ...");
	int rc = parser_expect(in->p, '(');
	if (rc || (rc = parse_address(in, &r)) || (rc = parser_expect(in->p, ')')))
		return rc;
	return put_address(in, at, &r);
}

static int parse_string(struct initializer *in, const char *at)
{
	const char *s;
	size_t n;
	if (in->element_bytes != 1 || !lex_string(&in->p->lx, &s, &n))
		return parser_fail(in->p, CUTRACE_EFORMAT, at, "a string initialises an array of bytes only");
	for (size_t i = 0; i < n; i++) {
		int rc = put(in, at, (uint8_t)s[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static int parse_scalar(struct initializer *in)
{
	struct parser *p = in->p;
	struct literal l;
	const char *why;
	int c = lex_peek(&p->lx);
	const char *at = p->lx.p;
	if (c == '"')
		return parse_string(in, at);
	if (lex_class[c] & LEX_START && strncmp(at, "WARP_SZ", 7) != 0) {
		struct ptx_reloc r = {.bytes = (uint8_t)(in->element_bytes < 8 ? in->element_bytes : 8)};
		int rc = parse_address(in, &r);
		return rc ? rc : put_address(in, at, &r);
	}
	if (!lex_constant(&p->lx, &l, &why))
		return parser_fail(p, CUTRACE_EFORMAT, at, "%s", why);
	if (lex_peek(&p->lx) == '(' && l.kind == LITERAL_INT)
		return parse_mask(in, at, l.bits);
	uint64_t bits;
	why = literal_to_bits(&l, in->d->type, &bits);
	if (why && l.kind == LITERAL_INT) { /* variables, unlike operands, take "1" for 1.0 */
		double value = l.is_unsigned ? (double)l.bits : (double)(int64_t)l.bits;
		l.kind = LITERAL_F64;
		memcpy(&l.bits, &value, sizeof(value));
		why = literal_to_bits(&l, in->d->type, &bits);
	}
	return why ? parser_fail(p, CUTRACE_EFORMAT, at, "%s", why) : put(in, at, bits);
}

/* Elements that one brace of nesting level `level` spans. */
static uint64_t span(const struct declaration *d, uint32_t level)
{
	uint64_t n = d->vector;
	for (uint32_t i = level; i < d->ndims; i++)
		n *= d->dims[i];
	return n;
}

static int parse_braces(struct initializer *in, uint32_t level)
{
	struct parser *p = in->p;
	uint64_t start = in->next;
	if (level > in->d->ndims)
		return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "too many braces for '%.*s'",
				   (int)in->d->name.n, in->d->name.s);
	int rc = parser_expect(p, '{');
	while (!rc && lex_peek(&p->lx) != '}') {
		rc = *p->lx.p == '{' ? parse_braces(in, level + 1) : parse_scalar(in);
		if (rc || !lex_accept(&p->lx, ','))
			break;
	}
	if (rc || (rc = parser_expect(p, '}')))
		return rc;
	if (level > 0 || !in->d->unsized) {
		uint64_t end = start + span(in->d, level);
		if (in->next > end)
			return too_many(in, p->lx.p - 1);
		in->next = end; /* missing values are zeros */
	}
	return 0;
}

/* Sizes the first dimension of `x[] = {...}`. */
static void close_unsized(struct initializer *in)
{
	struct declaration *d = in->d;
	uint64_t row = span(d, 1);
	uint64_t rows = row ? (in->next + row - 1) / row : 0;
	d->dims[0] = rows;
	d->count = rows * row;
	d->bytes = d->count * in->element_bytes;
	d->unsized = false;
}

static int keep(struct initializer *in, struct ptx_symbol *s)
{
	struct parser *p = in->p;
	if (in->d->bytes > memory_budget(p) || p->ms->init_bytes + in->d->bytes > memory_budget(p))
		return over_budget(in);
	p->ms->init_bytes += in->d->bytes;
	uint8_t *bytes = arena_alloc(&p->m->arena, in->d->bytes ? in->d->bytes : 1, 16);
	struct ptx_reloc *relocs = arena_array(&p->m->arena, in->nrelocs, sizeof(*relocs));
	if (!bytes || (in->nrelocs && !relocs))
		return parser_out_of_memory(p);
	memset(bytes, 0, in->d->bytes);
	memcpy(bytes, in->bytes ? in->bytes : (uint8_t *)"",
	       in->nbytes < in->d->bytes ? in->nbytes : in->d->bytes);
	if (in->nrelocs)
		memcpy(relocs, in->relocs, in->nrelocs * sizeof(*relocs));
	s->init = bytes;
	s->relocs = relocs;
	s->nrelocs = in->nrelocs;
	return 0;
}

int parse_initializer(struct parser *p, struct declaration *d, struct ptx_symbol *s)
{
	struct initializer in = {.p = p, .d = d, .element_bytes = ptx_type_bits(d->type) / 8};
	int rc = lex_peek(&p->lx) == '{' ? parse_braces(&in, 0) : parse_scalar(&in);
	if (!rc && d->unsized)
		close_unsized(&in);
	if (!rc)
		rc = keep(&in, s);
	free(in.bytes);
	free(in.relocs);
	return rc;
}
