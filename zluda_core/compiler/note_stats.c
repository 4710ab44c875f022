/* SPDX-License-Identifier: Apache-2.0
 *
 * What LLVM notes about a kernel in the object's metadata: a msgpack map (AMDGPUUsage, "Code Object V5 Metadata") in a
 * note of type NT_AMDGPU_METADATA. The object is LLVM's own work in this process; sizes are checked all the same.
 */
#include <elf.h>
#include <string.h>

#include "zluda_core/compiler/compiler.h"

enum { NT_METADATA = 32, MAX_DEPTH = 16 };

struct reader {
	const uint8_t *p, *end;
	struct compile_stats *stats;
};

struct item {
	enum { BAD, NUMBER, STRING, ARRAY, MAP, OTHER } kind;
	uint64_t value; /* or elements, or bytes */
	const char *text;
};

static uint64_t big_endian(struct reader *r, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes-- && r->p < r->end)
		v = v << 8 | *r->p++;
	return v;
}

static struct item take(struct reader *r, int kind, uint64_t bytes)
{
	struct item i = {kind, bytes, (const char *)r->p};

	if (bytes > (uint64_t)(r->end - r->p))
		return (struct item){BAD, 0, NULL};
	r->p += bytes;
	return i;
}

/* The msgpack specification, "Formats". */
static struct item next(struct reader *r)
{
	uint8_t c = r->p < r->end ? *r->p++ : 0xc1;

	if (c < 0x80 || c >= 0xe0)
		return (struct item){NUMBER, c, NULL};
	if (c < 0x90)
		return (struct item){MAP, c & 15, NULL};
	if (c < 0xa0)
		return (struct item){ARRAY, c & 15, NULL};
	if (c < 0xc0)
		return take(r, STRING, c & 31);
	if (c == 0xc0 || c == 0xc2 || c == 0xc3)
		return (struct item){NUMBER, c == 0xc3, NULL};
	if (c >= 0xc4 && c <= 0xc6)
		return take(r, OTHER, big_endian(r, 1u << (c - 0xc4)));
	if (c == 0xca || c == 0xcb)
		return take(r, OTHER, c == 0xca ? 4 : 8);
	if (c >= 0xcc && c <= 0xd3)
		return (struct item){NUMBER, big_endian(r, 1u << ((c - 0xcc) & 3)), NULL};
	if (c >= 0xd9 && c <= 0xdb)
		return take(r, STRING, big_endian(r, 1u << (c - 0xd9)));
	if (c == 0xdc || c == 0xdd)
		return (struct item){ARRAY, big_endian(r, 2u << (c - 0xdc)), NULL};
	if (c == 0xde || c == 0xdf)
		return (struct item){MAP, big_endian(r, 2u << (c - 0xde)), NULL};
	return (struct item){BAD, 0, NULL};
}

static const struct field {
	const char *key;
	size_t offset;
} fields[] = {
	{".vgpr_count", offsetof(struct compile_stats, vgprs)},
	{".agpr_count", offsetof(struct compile_stats, agprs)},
	{".sgpr_count", offsetof(struct compile_stats, sgprs)},
	{".vgpr_spill_count", offsetof(struct compile_stats, spilled_vgprs)},
	{".sgpr_spill_count", offsetof(struct compile_stats, spilled_sgprs)},
	{".group_segment_fixed_size", offsetof(struct compile_stats, shared_bytes)},
	{".private_segment_fixed_size", offsetof(struct compile_stats, scratch_bytes)},
	{".kernarg_segment_size", offsetof(struct compile_stats, kernarg_bytes)},
	{".wavefront_size", offsetof(struct compile_stats, wave)},
	{".max_flat_workgroup_size", offsetof(struct compile_stats, max_threads)},
	{".uses_dynamic_stack", offsetof(struct compile_stats, dynamic_stack)},
};

static void note_number(struct compile_stats *s, const struct item *key, uint64_t value)
{
	unsigned v = value > UINT32_MAX ? UINT32_MAX : (unsigned)value;

	for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++)
		if (key->kind == STRING && key->value == strlen(fields[k].key) &&
		    !memcmp(key->text, fields[k].key, key->value))
			memcpy((char *)s + fields[k].offset, &v, sizeof(v));
}

/* Walks everything; numbers with a name that is known are taken. One kernel is in an object. */
static bool walk(struct reader *r, const struct item *key, unsigned depth)
{
	struct item i = next(r);

	if (i.kind == BAD || depth > MAX_DEPTH)
		return false;
	if (i.kind == NUMBER && key)
		note_number(r->stats, key, i.value);
	for (uint64_t k = 0; i.kind == ARRAY && k < i.value; k++)
		if (!walk(r, NULL, depth + 1))
			return false;
	for (uint64_t k = 0; i.kind == MAP && k < i.value; k++) {
		struct item name = next(r);
		if (name.kind == BAD || !walk(r, &name, depth + 1))
			return false;
	}
	return true;
}

static void read_notes(const uint8_t *p, uint64_t bytes, struct compile_stats *s)
{
	for (uint64_t at = 0; at + 12 <= bytes;) {
		uint32_t h[3];

		memcpy(h, p + at, sizeof(h));
		uint64_t data = at + 12 + (((uint64_t)h[0] + 3) & ~3ull);
		if (data > bytes || h[1] > bytes - data)
			return;
		struct reader r = {p + data, p + data + h[1], s};
		if (h[2] == NT_METADATA)
			walk(&r, NULL, 0);
		at = data + (((uint64_t)h[1] + 3) & ~3ull);
	}
}

void note_stats_read(const void *object, size_t bytes, struct compile_stats *s)
{
	const uint8_t *p = object;
	Elf64_Shdr section;
	Elf64_Ehdr file;

	if (bytes < sizeof(file))
		return;
	memcpy(&file, p, sizeof(file));
	for (unsigned k = 0; k < file.e_shnum; k++) {
		uint64_t at = file.e_shoff + k * sizeof(section);

		if (at > bytes || bytes - at < sizeof(section))
			return;
		memcpy(&section, p + at, sizeof(section));
		if (section.sh_offset > bytes || section.sh_size > bytes - section.sh_offset)
			continue;
		if (section.sh_type == SHT_NOTE)
			read_notes(p + section.sh_offset, section.sh_size, s);
		if (section.sh_flags & SHF_EXECINSTR)
			s->code_bytes += (unsigned)section.sh_size;
	}
}
