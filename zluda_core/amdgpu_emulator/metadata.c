/* SPDX-License-Identifier: Apache-2.0
 *
 * The metadata note: msgpack maps, "Code Object V5 Metadata" of AMDGPUUsage. Only kernels' arguments are taken
 * from it; sizes that the kernel descriptor has too are the descriptor's.
 */
#include <stdlib.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/object.h"

enum item_kind { ITEM_BAD, ITEM_UINT, ITEM_STRING, ITEM_ARRAY, ITEM_MAP, ITEM_OTHER };

struct item {
	enum item_kind kind;
	uint64_t value; /* a number, or how many elements, or bytes */
	const char *text;
};

struct reader {
	const uint8_t *p, *end;
	struct amdgpu_object *object;
};

static uint64_t big_endian(struct reader *r, unsigned bytes)
{
	uint64_t v = 0;

	if ((size_t)(r->end - r->p) < bytes) {
		r->p = r->end;
		return 0;
	}
	while (bytes--)
		v = v << 8 | *r->p++;
	return v;
}

static struct item take_bytes(struct reader *r, enum item_kind kind, uint64_t bytes)
{
	struct item it = {kind, bytes, (const char *)r->p};

	if ((uint64_t)(r->end - r->p) < bytes)
		return (struct item){ITEM_BAD, 0, NULL};
	r->p += bytes;
	return it;
}

static struct item counted(enum item_kind kind, uint64_t n)
{
	return (struct item){kind, n, NULL};
}

/* The msgpack specification, "Formats". */
static struct item next_long(struct reader *r, uint8_t c)
{
	switch (c) {
	case 0xc0:
	case 0xc2:
	case 0xc3: return counted(ITEM_UINT, c == 0xc3);
	case 0xc4:
	case 0xc5:
	case 0xc6: return take_bytes(r, ITEM_OTHER, big_endian(r, 1u << (c - 0xc4)));
	case 0xca: return take_bytes(r, ITEM_OTHER, 4);
	case 0xcb: return take_bytes(r, ITEM_OTHER, 8);
	case 0xcc:
	case 0xcd:
	case 0xce:
	case 0xcf: return counted(ITEM_UINT, big_endian(r, 1u << (c - 0xcc)));
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3: return counted(ITEM_UINT, big_endian(r, 1u << (c - 0xd0)));
	case 0xd9:
	case 0xda:
	case 0xdb: return take_bytes(r, ITEM_STRING, big_endian(r, 1u << (c - 0xd9)));
	case 0xdc:
	case 0xdd: return counted(ITEM_ARRAY, big_endian(r, 2u << (c - 0xdc)));
	case 0xde:
	case 0xdf: return counted(ITEM_MAP, big_endian(r, 2u << (c - 0xde)));
	}
	return counted(ITEM_BAD, 0);
}

static struct item next(struct reader *r)
{
	if (r->p >= r->end)
		return counted(ITEM_BAD, 0);
	uint8_t c = *r->p++;

	if (c < 0x80)
		return counted(ITEM_UINT, c);
	if (c < 0x90)
		return counted(ITEM_MAP, c & 15);
	if (c < 0xa0)
		return counted(ITEM_ARRAY, c & 15);
	if (c < 0xc0)
		return take_bytes(r, ITEM_STRING, c & 31);
	if (c >= 0xe0)
		return counted(ITEM_UINT, (uint64_t)(int64_t)(int8_t)c);
	return next_long(r, c);
}

static bool skip(struct reader *r, unsigned depth)
{
	struct item it = next(r);
	uint64_t n = it.kind == ITEM_MAP ? 2 * it.value : it.kind == ITEM_ARRAY ? it.value : 0;

	if (it.kind == ITEM_BAD || depth > 16)
		return false;
	while (n--)
		if (!skip(r, depth + 1))
			return false;
	return true;
}

static bool is(const struct item *it, const char *text)
{
	return it->kind == ITEM_STRING && it->value == strlen(text) && !memcmp(it->text, text, it->value);
}

static enum amdgpu_arg_kind arg_kind(const struct item *it)
{
	static const struct {
		const char *name;
		enum amdgpu_arg_kind kind;
	} kinds[] = {
		{"hidden_block_count_x", AMDGPU_ARG_BLOCK_COUNT},
		{"hidden_block_count_y", AMDGPU_ARG_BLOCK_COUNT + 1},
		{"hidden_block_count_z", AMDGPU_ARG_BLOCK_COUNT + 2},
		{"hidden_group_size_x", AMDGPU_ARG_GROUP_SIZE},
		{"hidden_group_size_y", AMDGPU_ARG_GROUP_SIZE + 1},
		{"hidden_group_size_z", AMDGPU_ARG_GROUP_SIZE + 2},
		{"hidden_remainder_x", AMDGPU_ARG_REMAINDER},
		{"hidden_remainder_y", AMDGPU_ARG_REMAINDER + 1},
		{"hidden_remainder_z", AMDGPU_ARG_REMAINDER + 2},
		{"hidden_global_offset_x", AMDGPU_ARG_GLOBAL_OFFSET},
		{"hidden_global_offset_y", AMDGPU_ARG_GLOBAL_OFFSET + 1},
		{"hidden_global_offset_z", AMDGPU_ARG_GLOBAL_OFFSET + 2},
		{"hidden_grid_dims", AMDGPU_ARG_GRID_DIMS},
		{"hidden_private_base", AMDGPU_ARG_PRIVATE_BASE},
		{"hidden_shared_base", AMDGPU_ARG_SHARED_BASE},
		{"hidden_dynamic_lds_size", AMDGPU_ARG_DYNAMIC_LDS},
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (is(it, kinds[i].name))
			return kinds[i].kind;
	return it->kind == ITEM_STRING && it->value > 7 && !memcmp(it->text, "hidden_", 7) ? AMDGPU_ARG_UNUSED
											   : AMDGPU_ARG_VALUE;
}

static bool read_arg(struct reader *r, struct amdgpu_arg *a)
{
	struct item map = next(r);

	for (uint64_t n = map.kind == ITEM_MAP ? map.value : 0; n--;) {
		struct item key = next(r);
		bool wanted = is(&key, ".offset") || is(&key, ".size") || is(&key, ".value_kind");
		if (!wanted) {
			if (!skip(r, 0))
				return false;
			continue;
		}
		struct item v = next(r);
		if (v.kind == ITEM_BAD || (v.kind == ITEM_UINT && v.value > UINT32_MAX))
			return false;
		if (is(&key, ".offset"))
			a->offset = (uint32_t)v.value;
		else if (is(&key, ".size"))
			a->size = (uint32_t)v.value;
		else
			a->kind = arg_kind(&v);
	}
	return map.kind == ITEM_MAP;
}

static bool read_args(struct reader *r, struct amdgpu_arg **out, unsigned *count)
{
	struct item list = next(r);

	/* An argument takes bytes of the note: this bounds the allocation. */
	if (list.kind != ITEM_ARRAY || list.value > (uint64_t)(r->end - r->p) || *out)
		return false;
	*out = calloc(list.value + 1, sizeof **out);
	if (!*out)
		return false;
	*count = (unsigned)list.value;
	for (unsigned i = 0; i < *count; i++)
		if (!read_arg(r, &(*out)[i]))
			return false;
	return true;
}

static bool read_kernel(struct reader *r)
{
	struct item map = next(r), symbol = {0};
	struct amdgpu_arg *args = NULL;
	unsigned nargs = 0;
	bool ok = map.kind == ITEM_MAP;

	for (uint64_t n = ok ? map.value : 0; ok && n--;) {
		struct item key = next(r);
		if (is(&key, ".args")) {
			ok = read_args(r, &args, &nargs);
		} else if (is(&key, ".symbol")) {
			symbol = next(r);
			ok = symbol.kind == ITEM_STRING;
		} else {
			ok = key.kind != ITEM_BAD && skip(r, 0);
		}
	}
	struct amdgpu_kernel *k =
		ok && symbol.text ? object_kernel_of(r->object, symbol.text, symbol.value) : NULL;
	if (!k || k->args) {
		free(args);
		return ok;
	}
	for (unsigned i = 0; i < nargs; i++)
		if (args[i].offset > k->kernarg_bytes || args[i].size > k->kernarg_bytes - args[i].offset)
			ok = false;
	k->args = args;
	k->nargs = nargs;
	return ok;
}

static bool read_top(struct reader *r)
{
	struct item map = next(r);

	for (uint64_t n = map.kind == ITEM_MAP ? map.value : 0; n--;) {
		struct item key = next(r);
		if (!is(&key, "amdhsa.kernels")) {
			if (key.kind == ITEM_BAD || !skip(r, 0))
				return false;
			continue;
		}
		struct item list = next(r);
		if (list.kind != ITEM_ARRAY)
			return false;
		for (uint64_t i = 0; i < list.value; i++)
			if (!read_kernel(r))
				return false;
	}
	return map.kind == ITEM_MAP;
}

int metadata_read(struct amdgpu_object *o, const uint8_t *note, size_t bytes, struct diag *d)
{
	struct reader r = {note, note + bytes, o};

	if (!read_top(&r))
		return diag_set(d, CUTRACE_EFORMAT, "", "the code object's metadata note is damaged");
	return 0;
}
