/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a record as a person reads them.
 */
#include <stdio.h>
#include <string.h>

#include "replay/narrow.h"

/* The type that the operation gives a value of that many bits. */
static enum ptx_type type_of(const struct ptx_inst *i, unsigned bits, bool is_result)
{
	const enum ptx_type order[] = {(enum ptx_type)(is_result ? i->type : i->type2),
				       (enum ptx_type)i->type, (enum ptx_type)i->type3,
				       (enum ptx_type)i->type4};

	for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++)
		if (order[k] != PTX_TYPE_NONE && order[k] != PTX_PRED && ptx_type_bits(order[k]) == bits)
			return order[k];
	if (bits == 64 && (i->flags & PTX_F_WIDE))
		return ptx_type_is_signed((enum ptx_type)i->type) ? PTX_S64 : PTX_U64;
	if (bits == 32 && (i->flags & PTX_F_WIDE))
		return ptx_type_is_signed((enum ptx_type)i->type) ? PTX_S32 : PTX_U32;
	switch (bits) {
	case 8: return PTX_B8;
	case 16: return PTX_B16;
	case 64: return PTX_B64;
	default: return PTX_B32;
	}
}

static void value_text(enum ptx_type type, unsigned bits, const uint32_t *words, char *out, size_t size)
{
	const struct elem_type *t = elem_type_find(ptx_type_name(type));
	unsigned n = bits / 8 / t->bytes;
	size_t used = 0;

	if (bits == 1) {
		snprintf(out, size, "%s", words[0] & 1 ? "true" : "false");
		return;
	}
	out[0] = '\0';
	for (unsigned k = 0; k < n; k++) {
		uint64_t v = 0;
		char text[48];

		memcpy(&v, (const char *)words + (size_t)k * t->bytes, t->bytes);
		elem_format(t, v, text, sizeof(text));
		used += (size_t)snprintf(out + used, used < size ? size - used : 0, "%s%s%s",
					 n > 1 && !k ? "{" : "", k ? ", " : "", text);
	}
	if (n > 1 && used + 1 < size)
		strcpy(out + used, "}");
}

void narrow_result_text(const struct ptx_site *s, const struct ptx_site_register *r, const uint32_t *words,
			char *out, size_t size)
{
	value_text(type_of(narrow_inst(s), r->bits, true), r->bits, words + r->at, out, size);
}

static const struct ptx_site_register *register_of(const struct ptx_site *s, uint32_t slot)
{
	for (unsigned r = 0; r < s->nregisters; r++)
		if (!s->registers[r].is_result && s->registers[r].slot == slot)
			return &s->registers[r];
	return NULL;
}

static void operand_text(const struct narrow_record *r, const struct ptx_operand *o, char *out, size_t size)
{
	const struct ptx_inst *i = narrow_inst(r->site);
	const struct ptx_site_register *s;
	unsigned bits = ptx_type_bits((enum ptx_type)(i->type2 != PTX_TYPE_NONE ? i->type2 : i->type));
	uint32_t words[2] = {(uint32_t)o->imm, (uint32_t)(o->imm >> 32)};

	out[0] = '\0';
	if (o->kind == PTX_OPND_IMM) {
		value_text(type_of(i, bits, false), bits, words, out, size);
		return;
	}
	s = o->kind == PTX_OPND_VALUE    ? register_of(r->site, r->site->f->values[o->index].slot)
	    : o->kind == PTX_OPND_SYMBOL ? register_of(r->site, PTX_NONE)
					 : NULL;
	if (s)
		value_text(s->slot == PTX_NONE ? PTX_B64 : type_of(i, s->bits, false), s->bits,
			   r->words + s->at, out, size);
}

void narrow_operands_text(const struct narrow_record *r, char *out, size_t size)
{
	const struct ptx_inst *i = narrow_inst(r->site);
	size_t used = 0;

	out[0] = '\0';
	for (unsigned k = 0; k < i->nsrc && used < size; k++) {
		char text[200];

		operand_text(r, &i->src[k], text, sizeof(text));
		if (text[0])
			used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", text);
	}
}
