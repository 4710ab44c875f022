/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen.h"

#include <string.h>

static unsigned bucket(const char *name)
{
	uint32_t h = 2166136261u; /* FNV-1a */
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h % SYMBOL_BUCKETS;
}

struct symbol *symbol_find(struct apigen *g, const char *name)
{
	for (struct symbol *s = g->symbols[bucket(name)]; s; s = s->next)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

bool symbol_add(struct apigen *g, const char *name, enum symbol_kind kind, struct loc loc, void *what,
		int64_t value)
{
	struct symbol *old = symbol_find(g, name);
	if (old) {
		error_at(g, loc, "'%s' is already described", name);
		note_at(g, old->loc, "here");
		return false;
	}
	struct symbol *s = arena_zalloc(&g->arena, sizeof(*s));
	unsigned b = bucket(name);
	*s = (struct symbol){name, kind, loc, what, value, g->symbols[b]};
	g->symbols[b] = s;
	return true;
}

struct def *def_find(struct apigen *g, const char *name)
{
	struct symbol *s = symbol_find(g, name);
	return s && s->kind == SYM_DEF ? s->what : NULL;
}

struct def *def_new(struct apigen *g, enum def_kind kind, const char *name, struct loc loc)
{
	struct def *d = arena_zalloc(&g->arena, sizeof(*d));
	d->kind = kind;
	d->name = name;
	d->loc = loc;
	return d;
}

static const struct builtin {
	const char *name;
	unsigned char size;
	bool is_signed, is_float;
} builtins[] = {
	{"void", 1, false, false},       {"char", 1, true, false},
	{"signed char", 1, true, false}, {"unsigned char", 1, false, false},
	{"short", 2, true, false},       {"unsigned short", 2, false, false},
	{"int", 4, true, false},         {"unsigned int", 4, false, false},
	{"long", 8, true, false},        {"unsigned long", 8, false, false},
	{"long long", 8, true, false},   {"unsigned long long", 8, false, false},
	{"float", 4, true, true},        {"double", 8, true, true},
	{"size_t", 8, false, false},     {"int8_t", 1, true, false},
	{"uint8_t", 1, false, false},    {"int16_t", 2, true, false},
	{"uint16_t", 2, false, false},   {"int32_t", 4, true, false},
	{"uint32_t", 4, false, false},   {"int64_t", 8, true, false},
	{"uint64_t", 8, false, false},   {"uintptr_t", 8, false, false},
};

void define_builtins(struct apigen *g)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
		const struct builtin *b = &builtins[i];
		struct def *d = def_new(g, DEF_SCALAR, b->name, (struct loc){0});
		d->size = d->align = b->size;
		d->is_signed = b->is_signed;
		d->is_float = b->is_float;
		symbol_add(g, b->name, SYM_DEF, d->loc, d, 0);
	}
	/* Types 0 and 1 are what everything else refers to. */
	type_intern(g, &(struct type){.name = "void", .kind = API_KIND_VOID});
	type_intern(g, &(struct type){.name = "void", .kind = API_KIND_BYTES, .size = 1, .align = 1});
}

/* Edit distance, cut off at 3. */
static unsigned distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	unsigned row[64];
	if (na >= 63 || nb >= 63 || na > nb + 2 || nb > na + 2)
		return 3;
	for (unsigned j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		unsigned diag = row[0];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned up = row[j], d = diag + (a[i - 1] != b[j - 1]);
			diag = up;
			row[j] = up + 1 < d ? up + 1 : d;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
		}
	}
	return row[nb];
}

const char *symbol_suggest(struct apigen *g, const char *name, enum symbol_kind kind)
{
	const char *best = NULL;
	unsigned best_distance = 3;
	for (unsigned i = 0; i < SYMBOL_BUCKETS; i++)
		for (struct symbol *s = g->symbols[i]; s; s = s->next) {
			unsigned d = s->kind == kind ? distance(name, s->name) : 3;
			if (d < best_distance || (d == best_distance && best && strcmp(s->name, best) < 0)) {
				best = s->name;
				best_distance = d;
			}
		}
	return best_distance < 3 ? best : NULL;
}
