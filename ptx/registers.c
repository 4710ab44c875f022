/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/registers: .reg declarations and the storage slots of the registers that
 * are used. */
#include <stdlib.h>
#include <string.h>

#include "ptx/body.h"

bool grow(void *array, uint32_t *capacity, uint32_t n, size_t size)
{
	void **a = array;
	if (n < *capacity)
		return true;
	if (n > UINT32_MAX / 4)
		return false;
	uint32_t bigger = *capacity ? *capacity * 2 : 32;
	while (bigger <= n)
		bigger *= 2;
	void *grown = realloc(*a, bigger * size);
	if (!grown)
		return false;
	*a = grown;
	*capacity = bigger;
	return true;
}

int new_slot(struct body *b, const struct lex_name *name, enum ptx_type type, uint32_t *slot)
{
	char *copy = arena_strndup(&b->p.m->arena, name->s, name->n);
	if (!copy || !grow(&b->slots, &b->slots_capacity, b->nslots, sizeof(*b->slots)))
		return parser_out_of_memory(&b->p);
	*slot = b->nslots;
	b->slots[b->nslots++] = (struct ptx_slot){copy, type, (uint8_t)ptx_type_bits(type)};
	return 0;
}

int carry_slot(struct body *b, uint32_t *slot)
{
	static const struct lex_name name = {"%cc", 3, 0};
	int rc = b->cc_slot ? 0 : new_slot(b, &name, PTX_PRED, &b->cc_slot);
	*slot = b->cc_slot;
	return rc;
}

int register_slot(struct body *b, uint32_t index, uint32_t *slot)
{
	struct body_register *r = &b->registers[index];
	int rc = r->slot ? 0 : new_slot(b, &r->name, r->type, &r->slot);
	*slot = r->slot;
	return rc;
}

static int range_slot(struct body *b, struct body_range *r, const char *s, uint32_t n, uint32_t number,
		      uint32_t *slot)
{
	if (number >= r->capacity) {
		uint32_t old = r->capacity;
		if (!grow(&r->slots, &r->capacity, number, sizeof(*r->slots)))
			return parser_out_of_memory(&b->p);
		memset(r->slots + old, 0, (r->capacity - old) * sizeof(*r->slots));
	}
	struct lex_name name = {s, n, 0};
	int rc = r->slots[number] ? 0 : new_slot(b, &name, r->type, &r->slots[number]);
	*slot = r->slots[number];
	return rc;
}

/* Splits "%r12": prefix length, number; false when it doesn't end in a number of the range's kind. */
static bool split(const char *s, uint32_t n, uint32_t *prefix, uint32_t *number)
{
	uint32_t k = n;
	uint64_t v = 0, scale = 1;
	while (k > 1 && lex_class[(uint8_t)s[k - 1]] & LEX_DIGIT) {
		v += scale * (uint64_t)(s[--k] - '0');
		scale *= 10;
		if (v > PTX_MAX_REGISTERS)
			return false;
	}
	if (k == n || (s[k] == '0' && k + 1 < n))
		return false;
	*prefix = k;
	*number = (uint32_t)v;
	return true;
}

static const struct scope_entry *find_range(struct body *b, const char *s, uint32_t n, uint32_t *number)
{
	uint32_t prefix;
	/* "%a1<4>" is a range with a digit in its prefix: try every split, the shortest number last. */
	if (!split(s, n, &prefix, number))
		return NULL;
	for (; prefix < n; prefix++) {
		const struct scope_entry *e = scope_find(&b->names, s, prefix, lex_hash(s, prefix) ^ 1);
		uint32_t at;
		if (e && e->kind == NAME_RANGE && split(s + prefix - 1, n - prefix + 1, &at, number) &&
		    at == 1 && *number < b->ranges[e->index].count)
			return e;
		if (!b->numbered_registers)
			return NULL;
	}
	return NULL;
}

int find_register(struct body *b, const char *s, uint32_t n, uint32_t hash, uint32_t *slot)
{
	uint32_t number = 0;
	const struct scope_entry *range = find_range(b, s, n, &number);
	if (range && !b->numbered_registers) {
		int rc = range_slot(b, &b->ranges[range->index], s, n, number, slot);
		return rc ? rc : 1;
	}
	const struct scope_entry *e = scope_find(&b->names, s, n, hash);
	if (range && (!e || e->depth < range->depth)) {
		int rc = range_slot(b, &b->ranges[range->index], s, n, number, slot);
		return rc ? rc : 1;
	}
	if (!e || e->kind != NAME_REG)
		return 0;
	int rc = register_slot(b, e->index, slot);
	return rc ? rc : 1;
}

static bool ends_in_digit(const struct lex_name *n)
{
	return lex_class[(uint8_t)n->s[n->n - 1]] & LEX_DIGIT;
}

static int declared_twice(struct body *b, int rc, const struct lex_name *name)
{
	return rc == CUTRACE_ENOMEM
		       ? parser_out_of_memory(&b->p)
		       : body_fail(b, name->s, "'%.*s' is declared already", (int)name->n, name->s);
}

static int declare_range(struct body *b, const struct lex_name *prefix, enum ptx_type type)
{
	uint64_t count;
	lex_peek(&b->p.lx);
	const char *at = b->p.lx.p;
	if (!lex_uint(&b->p.lx, &count) || count > PTX_MAX_REGISTERS)
		return body_fail(b, at, "expected the number of registers, at most %d", PTX_MAX_REGISTERS);
	int rc = parser_expect(&b->p, '>');
	if (rc)
		return rc;
	if (!grow(&b->ranges, &b->ranges_capacity, b->nranges, sizeof(*b->ranges)))
		return parser_out_of_memory(&b->p);
	/* A prefix and a register may have the same spelling: their hashes differ, and so their entries. */
	struct lex_name key = {prefix->s, prefix->n, prefix->hash ^ 1};
	rc = scope_add(&b->names, &key, NAME_RANGE, b->nranges, (uint16_t)b->depth);
	if (rc)
		return declared_twice(b, rc, prefix);
	b->numbered_registers |= ends_in_digit(prefix);
	b->ranges[b->nranges++] = (struct body_range){*prefix, (uint32_t)count, NULL, 0, (uint8_t)type};
	return 0;
}

static int declare_one(struct body *b, const struct lex_name *name, enum ptx_type type)
{
	if (!grow(&b->registers, &b->registers_capacity, b->nregisters, sizeof(*b->registers)))
		return parser_out_of_memory(&b->p);
	int rc = scope_add(&b->names, name, NAME_REG, b->nregisters, (uint16_t)b->depth);
	if (rc)
		return declared_twice(b, rc, name);
	b->numbered_registers |= ends_in_digit(name);
	b->registers[b->nregisters++] = (struct body_register){*name, 0, (uint8_t)type, 1};
	return 0;
}

/* .reg .v2 .f32 v; its elements are registers v.x and v.y. */
static int declare_vector(struct body *b, const struct lex_name *name, enum ptx_type type, uint8_t lanes)
{
	int rc = scope_add(&b->names, name, NAME_VECTOR, b->nregisters, (uint16_t)b->depth);
	if (rc)
		return declared_twice(b, rc, name);
	for (unsigned lane = 0; lane < lanes; lane++) {
		const char *s = arena_printf(&b->p.m->arena, "%.*s.%c", (int)name->n, name->s, "xyzw"[lane]);
		if (!s || !grow(&b->registers, &b->registers_capacity, b->nregisters, sizeof(*b->registers)))
			return parser_out_of_memory(&b->p);
		struct lex_name element = {s, name->n + 2, 0};
		b->registers[b->nregisters++] = (struct body_register){element, 0, (uint8_t)type, lanes};
	}
	return 0;
}

static int declare_name(struct body *b, enum ptx_type type, uint8_t lanes)
{
	struct lex_name name;
	lex_peek(&b->p.lx);
	const char *at = b->p.lx.p;
	if (!lex_name(&b->p.lx, &name))
		return body_fail(b, at, "expected the name of a register");
	if (lanes > 1)
		return declare_vector(b, &name, type, lanes);
	return lex_accept(&b->p.lx, '<') ? declare_range(b, &name, type) : declare_one(b, &name, type);
}

/* Behind ".reg": ".b32 %r<100>, a, b;" */
int declare_registers(struct body *b)
{
	struct lex_name word;
	lex_peek(&b->p.lx);
	const char *at = b->p.lx.p;
	enum ptx_type type = PTX_TYPE_NONE;
	uint8_t lanes = 1;
	while (lex_directive(&b->p.lx, &word)) {
		if (lex_is(&word, "v2") || lex_is(&word, "v4")) {
			lanes = (uint8_t)(word.s[1] - '0');
			continue;
		}
		type = ptx_type_parse(word.s, word.n);
		if (type == PTX_TYPE_NONE)
			return body_fail(b, word.s - 1, "unknown type '.%.*s'", (int)word.n, word.s);
	}
	if (type == PTX_TYPE_NONE)
		return body_fail(b, at, "a register needs a type");
	do {
		int rc = declare_name(b, type, lanes);
		if (rc)
			return rc;
	} while (lex_accept(&b->p.lx, ','));
	return parser_expect(&b->p, ';');
}
