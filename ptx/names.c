/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/names.h"

#include <stdlib.h>
#include <string.h>

static bool same(const char *a, uint32_t an, const char *b, uint32_t bn)
{
	return an == bn && !memcmp(a, b, an);
}

struct name_slot *name_table_find(const struct name_table *t, const struct lex_name *name)
{
	for (uint32_t i = name->hash; t->capacity; i++) {
		struct name_slot *slot = &t->slots[i & (t->capacity - 1)];
		if (!slot->kind)
			return NULL;
		if (slot->hash == name->hash && same(slot->s, slot->n, name->s, name->n))
			return slot;
	}
	return NULL;
}

static void insert(struct name_table *t, struct name_slot slot)
{
	uint32_t i = slot.hash;
	while (t->slots[i & (t->capacity - 1)].kind)
		i++;
	t->slots[i & (t->capacity - 1)] = slot;
}

static int grow_names(struct name_table *t)
{
	struct name_table bigger = {.capacity = t->capacity ? t->capacity * 2 : 64, .used = t->used};
	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return CUTRACE_ENOMEM;
	for (uint32_t i = 0; i < t->capacity; i++)
		if (t->slots[i].kind)
			insert(&bigger, t->slots[i]);
	free(t->slots);
	*t = bigger;
	return 0;
}

int name_table_put(struct name_table *t, const struct lex_name *name, enum name_kind kind, uint32_t index)
{
	struct name_slot *old = name_table_find(t, name);
	if (old) {
		old->kind = kind;
		old->index = index;
		return 0;
	}
	if (t->used * 2 >= t->capacity && grow_names(t))
		return CUTRACE_ENOMEM;
	insert(t, (struct name_slot){name->s, name->n, name->hash, index, kind});
	t->used++;
	return 0;
}

void name_table_free(struct name_table *t)
{
	free(t->slots);
	*t = (struct name_table){0};
}

const struct scope_entry *scope_find(const struct scope_table *t, const char *s, uint32_t n, uint32_t hash)
{
	if (!t->nbuckets)
		return NULL;
	for (uint32_t i = t->buckets[hash & (t->nbuckets - 1)]; i; i = t->entries[i - 1].next) {
		const struct scope_entry *e = &t->entries[i - 1];
		if (e->hash == hash && same(e->s, e->n, s, n))
			return e;
	}
	return NULL;
}

static void link_entry(struct scope_table *t, uint32_t i)
{
	uint32_t *bucket = &t->buckets[t->entries[i].hash & (t->nbuckets - 1)];
	t->entries[i].next = *bucket;
	*bucket = i + 1;
}

static int grow_buckets(struct scope_table *t)
{
	uint32_t n = t->nbuckets ? t->nbuckets * 4 : 256;
	uint32_t *buckets = calloc(n, sizeof(*buckets));
	if (!buckets)
		return CUTRACE_ENOMEM;
	free(t->buckets);
	t->buckets = buckets;
	t->nbuckets = n;
	for (uint32_t i = 0; i < t->nentries; i++)
		link_entry(t, i);
	return 0;
}

int scope_add(struct scope_table *t, const struct lex_name *name, enum name_kind kind, uint32_t index,
	      uint16_t depth)
{
	const struct scope_entry *old = scope_find(t, name->s, name->n, name->hash);
	if (old && old->depth == depth)
		return CUTRACE_EINVAL;
	if (t->nentries == t->capacity) {
		uint32_t capacity = t->capacity ? t->capacity * 2 : 64;
		struct scope_entry *entries = realloc(t->entries, capacity * sizeof(*entries));
		if (!entries)
			return CUTRACE_ENOMEM;
		t->entries = entries;
		t->capacity = capacity;
	}
	if (t->nentries >= t->nbuckets && grow_buckets(t))
		return CUTRACE_ENOMEM;
	t->entries[t->nentries] = (struct scope_entry){name->s, name->n, name->hash, kind, depth, index, 0};
	link_entry(t, t->nentries++);
	return 0;
}

void scope_close(struct scope_table *t, uint32_t nentries)
{
	while (t->nentries > nentries) {
		struct scope_entry *e = &t->entries[--t->nentries];
		t->buckets[e->hash & (t->nbuckets - 1)] = e->next;
	}
}

void scope_free(struct scope_table *t)
{
	free(t->entries);
	free(t->buckets);
	*t = (struct scope_table){0};
}

static uint32_t label_hash(uint32_t hash, uint32_t scope)
{
	return (hash ^ scope * 0x9e3779b9u) * 0x85ebca6bu;
}

const struct label *label_find(const struct label_table *t, const struct lex_name *name, uint32_t scope)
{
	uint32_t h = label_hash(name->hash, scope);
	for (uint32_t i = h ^ h >> 15; t->nindex; i++) {
		uint32_t k = t->index[i & (t->nindex - 1)];
		if (!k)
			return NULL;
		const struct label *l = &t->labels[k - 1];
		if (l->hash == name->hash && l->scope == scope && same(l->s, l->n, name->s, name->n))
			return l;
	}
	return NULL;
}

static void index_label(struct label_table *t, uint32_t k)
{
	uint32_t h = label_hash(t->labels[k].hash, t->labels[k].scope);
	uint32_t i = h ^ h >> 15;
	while (t->index[i & (t->nindex - 1)])
		i++;
	t->index[i & (t->nindex - 1)] = k + 1;
}

static int grow_labels(struct label_table *t)
{
	uint32_t capacity = t->capacity ? t->capacity * 2 : 32;
	struct label *labels = realloc(t->labels, capacity * sizeof(*labels));
	if (!labels)
		return CUTRACE_ENOMEM;
	t->labels = labels;
	uint32_t *index = calloc(capacity * 2, sizeof(*index));
	if (!index)
		return CUTRACE_ENOMEM;
	free(t->index);
	t->index = index;
	t->nindex = capacity * 2;
	t->capacity = capacity;
	for (uint32_t k = 0; k < t->nlabels; k++)
		index_label(t, k);
	return 0;
}

int label_add(struct label_table *t, const struct lex_name *name, uint32_t scope, uint32_t inst, bool is_list)
{
	if (label_find(t, name, scope))
		return CUTRACE_EINVAL;
	if (t->nlabels == t->capacity && grow_labels(t))
		return CUTRACE_ENOMEM;
	t->labels[t->nlabels] = (struct label){name->s, name->n, name->hash, scope, inst, is_list};
	index_label(t, t->nlabels++);
	return 0;
}

void label_free(struct label_table *t)
{
	free(t->labels);
	free(t->index);
	*t = (struct label_table){0};
}
