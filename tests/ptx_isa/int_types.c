/* SPDX-License-Identifier: Apache-2.0
 *
 * int_types: the integer types by name.
 */
#include "form.h"

#include <string.h>

static const struct int_type int_types[] = {
	{"u8", 8, false},   {"u16", 16, false}, {"u32", 32, false}, {"u64", 64, false},
	{"s8", 8, true},    {"s16", 16, true},  {"s32", 32, true},  {"s64", 64, true},
	{"b16", 16, false}, {"b32", 32, false}, {"b64", 64, false},
};

const struct int_type *int_type_find(const char *name)
{
	for (unsigned i = 0; i < sizeof(int_types) / sizeof(int_types[0]); i++)
		if (!strcmp(int_types[i].name, name))
			return &int_types[i];
	return NULL;
}
