/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "ptx/parse.h"

static int grow(struct opcode_cache *c)
{
	struct opcode_cache bigger = {.capacity = c->capacity ? c->capacity * 2 : 128, .used = c->used};
	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return CUTRACE_ENOMEM;
	for (uint32_t k = 0; k < c->capacity; k++) {
		if (!c->slots[k].fields)
			continue;
		uint32_t i = c->slots[k].hash;
		while (bigger.slots[i & (bigger.capacity - 1)].fields)
			i++;
		bigger.slots[i & (bigger.capacity - 1)] = c->slots[k];
	}
	free(c->slots);
	*c = bigger;
	return 0;
}

static const struct ptx_inst *decode_new(struct parser *p, const char *text, uint32_t n, uint32_t hash)
{
	struct opcode_cache *c = &p->ms->opcodes;
	struct ptx_inst fields, *kept;
	char detail[256];
	const char *at;
	if (!ptx_opcode_decode(text, n, &fields, detail, sizeof(detail), &at)) {
		/* What nobody here knows may be of a later ISA; what is known and put together wrongly is broken. */
		parser_fail(p, strncmp(detail, "unknown", 7) ? CUTRACE_EFORMAT : CUTRACE_ENOTSUP, at, "%s",
			    detail);
		return NULL;
	}
	fields.mods = arena_strndup(&p->m->arena, text, n);
	if (fields.mods && p->m->target &&
	    !ptx_target_fits(&fields, p->m->target, p->m->target_suffix, detail, sizeof(detail))) {
		parser_fail(p, CUTRACE_EFORMAT, at, "%s", detail);
		return NULL;
	}
	ptx_legacy_defaults(&fields, p->m->version, p->m->target);
	kept = arena_zalloc(&p->m->arena, sizeof(*kept));
	if (!fields.mods || !kept || (c->used * 2 >= c->capacity && grow(c))) {
		parser_out_of_memory(p);
		return NULL;
	}
	*kept = fields;
	uint32_t i = hash;
	while (c->slots[i & (c->capacity - 1)].fields)
		i++;
	c->slots[i & (c->capacity - 1)] = (struct opcode_entry){kept->mods, n, hash, kept};
	c->used++;
	return kept;
}

const struct ptx_inst *opcode_lookup(struct parser *p, const char *text, uint32_t n, uint32_t hash)
{
	struct opcode_cache *c = &p->ms->opcodes;
	for (uint32_t i = hash; c->capacity; i++) {
		struct opcode_entry *e = &c->slots[i & (c->capacity - 1)];
		if (!e->fields)
			break;
		if (e->hash == hash && e->n == n && !memcmp(e->text, text, n))
			return e->fields;
	}
	return decode_new(p, text, n, hash);
}

void opcode_cache_free(struct opcode_cache *c)
{
	free(c->slots);
	*c = (struct opcode_cache){0};
}
