/* SPDX-License-Identifier: Apache-2.0
 * Layouts: ELF-64 (gABI); fatbin container and wrapper as documented in docs/format.md, "Code images". */
#include "base/image.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#define CONTAINER_HEADER_BYTES 16u
#define LTO_MAGIC              0x7f4e43edu
/* No code image is larger; a header that says so is not followed. */
#define IMAGE_MAX_BYTES ((uint64_t)1 << 32)

struct wrapper {
	uint32_t magic, version;
	const void *data;
	const void *list; /* version 2: array of containers, NULL at its end */
};

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Skips blanks and comments. SIZE_MAX when the text ends inside one, or is no text. */
static size_t ptx_skip(const uint8_t *p, size_t n)
{
	size_t i = 0;

	while (i < n && p[i]) {
		if (is_blank(p[i])) {
			i++;
		} else if (p[i] == '/' && i + 1 < n && p[i + 1] == '/') {
			while (i < n && p[i] && p[i] != '\n')
				i++;
		} else if (p[i] == '/' && i + 1 < n && p[i + 1] == '*') {
			i += 2;
			while (i + 1 < n && p[i] && !(p[i] == '*' && p[i + 1] == '/'))
				i++;
			if (i + 1 >= n || !p[i])
				return SIZE_MAX;
			i += 2;
		} else {
			return i;
		}
	}
	return SIZE_MAX;
}

/* PTX ISA, "PTX Module Directives": a module begins with .version, after comments. A leading byte-order mark
 * is let pass. */
static bool is_ptx(const uint8_t *p, size_t n)
{
	static const char word[] = ".version";
	size_t at, i;

	if (n >= 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf) {
		p += 3;
		n -= 3;
	}
	at = ptx_skip(p, n);
	if (at == SIZE_MAX)
		return false;
	/* byte by byte: a shorter string may end at the end of its page */
	for (i = 0; i < sizeof(word) - 1; i++)
		if (at + i >= n || p[at + i] != (uint8_t)word[i])
			return false;
	return true;
}

enum image_kind image_probe(const void *image, size_t n)
{
	const uint8_t *p = image;
	uint32_t magic;

	if (!p || n < 4)
		return IMAGE_UNKNOWN;
	/* Text ends at its NUL: look at single bytes until it can't be text. */
	if (is_blank(p[0]) || p[0] == '/' || p[0] == '.' || p[0] == 0xef)
		return is_ptx(p, n) ? IMAGE_PTX : IMAGE_UNKNOWN;
	if (p[0] == 0x7f)
		return memcmp(p, ELFMAG, SELFMAG) == 0 ? IMAGE_CUBIN : IMAGE_UNKNOWN;
	if (p[0] != (IMAGE_FATBIN_MAGIC & 0xff) && p[0] != (IMAGE_WRAPPER_MAGIC & 0xff) &&
	    p[0] != (LTO_MAGIC & 0xff))
		return IMAGE_UNKNOWN;
	magic = get32(p);
	if (magic == IMAGE_FATBIN_MAGIC)
		return IMAGE_FATBIN;
	if (magic == IMAGE_WRAPPER_MAGIC)
		return IMAGE_FATBIN_WRAPPER;
	return magic == LTO_MAGIC ? IMAGE_LTO : IMAGE_UNKNOWN;
}

const char *image_kind_name(enum image_kind kind)
{
	static const char *const names[] = {
		[IMAGE_UNKNOWN] = "unknown", [IMAGE_PTX] = "ptx", [IMAGE_CUBIN] = "cubin",
		[IMAGE_FATBIN] = "fatbin",   [IMAGE_LTO] = "lto", [IMAGE_FATBIN_WRAPPER] = "fatbin wrapper",
	};

	return (unsigned)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

/* Raises *end to offset + bytes; false when that is no sane file. */
static bool extend(uint64_t *end, uint64_t offset, uint64_t bytes, uint64_t max)
{
	uint64_t e;

	if (__builtin_add_overflow(offset, bytes, &e) || e > max)
		return false;
	if (e > *end)
		*end = e;
	return true;
}

static bool elf_sections(const uint8_t *p, uint64_t max, uint64_t *end)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;
	uint64_t i, n;

	memcpy(&h, p, sizeof(h));
	if (!h.e_shoff)
		return true;
	if (h.e_shentsize != sizeof(s) || !extend(end, h.e_shoff, sizeof(s), max))
		return false;
	memcpy(&s, p + h.e_shoff, sizeof(s));
	n = h.e_shnum ? h.e_shnum : s.sh_size; /* gABI: extended section numbering */
	if (n > max / sizeof(s) || !extend(end, h.e_shoff, n * sizeof(s), max))
		return false;
	for (i = 1; i < n; i++) {
		memcpy(&s, p + h.e_shoff + i * sizeof(s), sizeof(s));
		if (s.sh_type != SHT_NULL && s.sh_type != SHT_NOBITS &&
		    !extend(end, s.sh_offset, s.sh_size, max))
			return false;
	}
	return true;
}

static bool elf_segments(const uint8_t *p, uint64_t max, uint64_t *end)
{
	Elf64_Ehdr h;
	Elf64_Phdr s;
	uint64_t i;

	memcpy(&h, p, sizeof(h));
	if (!h.e_phnum)
		return true;
	if (h.e_phentsize != sizeof(s) || !extend(end, h.e_phoff, (uint64_t)h.e_phnum * sizeof(s), max))
		return false;
	for (i = 0; i < h.e_phnum; i++) {
		memcpy(&s, p + h.e_phoff + i * sizeof(s), sizeof(s));
		if (!extend(end, s.p_offset, s.p_filesz, max))
			return false;
	}
	return true;
}

size_t image_elf_size(const void *image, size_t max_bytes)
{
	uint64_t max = max_bytes < IMAGE_MAX_BYTES ? max_bytes : IMAGE_MAX_BYTES;
	uint64_t end = sizeof(Elf64_Ehdr);
	const uint8_t *p = image;

	if (max < sizeof(Elf64_Ehdr) || memcmp(p, ELFMAG, SELFMAG) != 0 || p[EI_CLASS] != ELFCLASS64 ||
	    p[EI_DATA] != ELFDATA2LSB)
		return 0;
	return elf_sections(p, max, &end) && elf_segments(p, max, &end) ? (size_t)end : 0;
}

size_t image_container_size(const void *image, size_t max_bytes)
{
	const uint8_t *p = image;
	uint64_t header, payload;

	if (!p || max_bytes < CONTAINER_HEADER_BYTES || get32(p) != IMAGE_FATBIN_MAGIC)
		return 0;
	header = get16(p + 6);
	payload = get64(p + 8);
	if (header < CONTAINER_HEADER_BYTES || payload > IMAGE_MAX_BYTES || header + payload > max_bytes)
		return 0;
	return (size_t)(header + payload);
}

struct part_list {
	struct image_part *parts;
	size_t n, max; /* n counts those beyond max too */
	size_t total;
};

static void add_part(struct part_list *l, const void *data, size_t bytes)
{
	if (!bytes)
		return;
	l->total += bytes;
	if (l->n < l->max)
		l->parts[l->n] = (struct image_part){data, bytes};
	l->n++;
}

static void add_wrapper(struct part_list *l, const void *p)
{
	struct wrapper w;
	const void *c;
	size_t i;

	memcpy(&w, p, sizeof(w));
	add_part(l, w.data, image_container_size(w.data, SIZE_MAX));
	if (w.version != 2 || !w.list)
		return;
	for (i = 0;; i++) {
		memcpy(&c, (const char *)w.list + i * sizeof(c), sizeof(c));
		if (!c)
			return;
		add_part(l, c, image_container_size(c, SIZE_MAX));
	}
}

static void list_parts(struct part_list *l, const void *p)
{
	switch (image_probe(p, SIZE_MAX)) {
	case IMAGE_PTX: add_part(l, p, strlen(p) + 1); break;
	case IMAGE_CUBIN: add_part(l, p, image_elf_size(p, SIZE_MAX)); break;
	case IMAGE_FATBIN: add_part(l, p, image_container_size(p, SIZE_MAX)); break;
	case IMAGE_FATBIN_WRAPPER: add_wrapper(l, p); break;
	case IMAGE_LTO: /* its header does not say how long it is */
	case IMAGE_UNKNOWN: break;
	}
}

size_t image_parts(const void *p, struct image_part *parts, size_t max)
{
	struct part_list l = {.parts = parts, .max = max};

	list_parts(&l, p);
	return l.n;
}

size_t image_size(const void *p)
{
	struct part_list l = {0};

	list_parts(&l, p);
	return l.total;
}
