/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/parse_opaque: initialisers of .texref, .samplerref and .surfref variables: "{ member = value, ... }" (ISA
 * chapter 5.3). Members that describe what is bound, not how it is read, come from the API in the end and
 * are accepted without effect. */
#include <string.h>

#include "ptx/parse.h"

static const struct opaque_value {
	const char *name;
	uint8_t value;
} values[] = {
	{"nearest", 0},
	{"linear", 1},
	{"wrap", PTX_ADDR_WRAP},
	{"mirror", PTX_ADDR_MIRROR},
	{"clamp_ogl", PTX_ADDR_CLAMP_OGL},
	{"clamp_to_edge", PTX_ADDR_CLAMP_TO_EDGE},
	{"clamp_to_border", PTX_ADDR_CLAMP_TO_BORDER},
};

static const struct opaque_member {
	const char *name;
	uint8_t offset;
	bool named; /* its value is a word, else a number */
} members[] = {
	{"normalized_coords", offsetof(struct ptx_opaque, normalized_coords), false},
	{"force_unnormalized_coords", offsetof(struct ptx_opaque, force_unnormalized_coords), false},
	{"filter_mode", offsetof(struct ptx_opaque, filter_mode), true},
	{"addr_mode_0", offsetof(struct ptx_opaque, addr_mode[0]), true},
	{"addr_mode_1", offsetof(struct ptx_opaque, addr_mode[1]), true},
	{"addr_mode_2", offsetof(struct ptx_opaque, addr_mode[2]), true},
	{"width", offsetof(struct ptx_opaque, reserved[0]), false},
	{"height", offsetof(struct ptx_opaque, reserved[0]), false},
	{"depth", offsetof(struct ptx_opaque, reserved[0]), false},
	{"channel_data_type", offsetof(struct ptx_opaque, reserved[0]), false},
	{"channel_order", offsetof(struct ptx_opaque, reserved[0]), false},
	{"array_size", offsetof(struct ptx_opaque, reserved[0]), false},
	{"num_mipmap_levels", offsetof(struct ptx_opaque, reserved[0]), false},
	{"num_samples", offsetof(struct ptx_opaque, reserved[0]), false},
	{"memory_layout", offsetof(struct ptx_opaque, reserved[0]), false},
};

static int read_value(struct parser *p, const struct opaque_member *m, uint8_t *out)
{
	struct lex_name word;
	uint64_t n;
	lex_peek(&p->lx);
	const char *at = p->lx.p;
	if (!m->named) {
		if (!lex_uint(&p->lx, &n))
			return parser_fail(p, CUTRACE_EFORMAT, at, "%s needs a number", m->name);
		*out = n != 0;
		return 0;
	}
	if (lex_name(&p->lx, &word)) {
		for (unsigned k = 0; k < sizeof(values) / sizeof(values[0]); k++)
			if (lex_is(&word, values[k].name) && (k < 2) == (m->name[0] == 'f')) {
				*out = values[k].value;
				return 0;
			}
	}
	return parser_fail(p, CUTRACE_EFORMAT, at, "no value that %s can have", m->name);
}

static int read_member(struct parser *p, uint8_t *fields)
{
	struct lex_name word;
	lex_peek(&p->lx);
	const char *at = p->lx.p;
	if (!lex_name(&p->lx, &word))
		return parser_fail(p, CUTRACE_EFORMAT, at, "expected a member of an opaque type");
	for (unsigned k = 0; k < sizeof(members) / sizeof(members[0]); k++)
		if (lex_is(&word, members[k].name)) {
			int rc = parser_expect(p, '=');
			return rc ? rc : read_value(p, &members[k], fields + members[k].offset);
		}
	return parser_fail(p, CUTRACE_EFORMAT, at, "unknown member '%.*s'", (int)word.n, word.s);
}

int parse_opaque_initializer(struct parser *p, struct declaration *d, struct ptx_symbol *s)
{
	struct ptx_opaque *o = arena_alloc(&p->m->arena, sizeof(*o), 8);
	if (!o)
		return parser_out_of_memory(p);
	if (d->bytes != sizeof(*o))
		return parser_fail(p, CUTRACE_ENOTSUP, d->at,
				   "an array of an opaque type can't be initialised");
	memset(o, PTX_OPAQUE_UNSET, sizeof(*o));
	int rc = parser_expect(p, '{');
	while (!rc && lex_peek(&p->lx) != '}') {
		rc = read_member(p, (uint8_t *)o);
		if (rc || !lex_accept(&p->lx, ','))
			break;
	}
	if (!rc)
		rc = parser_expect(p, '}');
	s->init = (const uint8_t *)o;
	return rc;
}
