/* SPDX-License-Identifier: Apache-2.0
 * The layout is documented in docs/format.md, "Code images". */
#include "ptx/fatbin.h"

#include <inttypes.h>
#include <lz4.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/image.h"

#define CONTAINER_HEADER 16u
#define ENTRY_HEADER     64u
/* A decompressed entry is not larger: nothing real comes near, and a hostile size must not be allocated. */
#define MAX_PLAIN_BYTES ((uint64_t)1 << 30)

/* Entry header, at these offsets (little-endian). */
enum {
	E_KIND = 0x00,
	E_HEADER = 0x04,
	E_PAYLOAD = 0x08,
	E_COMPRESSED = 0x10,
	E_OPTIONS = 0x14,
	E_MINOR = 0x18,
	E_MAJOR = 0x1a,
	E_ARCH = 0x1c,
	E_NAME = 0x20,
	E_NAME_BYTES = 0x24,
	E_FLAGS = 0x28,
	E_PLAIN = 0x38,
};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static int bad(struct diag *d, size_t at, const char *why)
{
	return diag_set(d, CUTRACE_EFORMAT, "fatbin", "at byte %zu: %s", at, why);
}

/* A string in the header's trailer; out of bounds means absent. */
static const char *trailer(const uint8_t *e, uint32_t header, uint32_t offset, uint32_t bytes, size_t *out)
{
	*out = 0;
	if (offset < ENTRY_HEADER || offset > header || bytes > header - offset)
		return NULL;
	*out = bytes;
	return (const char *)e + offset;
}

static void read_options(const uint8_t *e, uint32_t header, struct fatbin_entry *out)
{
	uint32_t at = get32(e + E_OPTIONS);

	if (at >= ENTRY_HEADER && at <= header && header - at >= 8)
		out->options = trailer(e, header, get32(e + at), get32(e + at + 4), &out->options_bytes);
}

/* Reads one entry at e, of which `left` bytes exist. Returns its whole size, 0 when it is broken. */
static size_t read_entry(const uint8_t *e, size_t left, struct fatbin_entry *out, const char **why)
{
	uint32_t header, compressed;
	uint64_t payload, plain;

	*why = "entry header is cut off";
	if (left < ENTRY_HEADER)
		return 0;
	header = get32(e + E_HEADER);
	payload = get64(e + E_PAYLOAD);
	if (header < ENTRY_HEADER || header > left || payload > left - header)
		return 0;
	memset(out, 0, sizeof(*out));
	out->kind = get16(e + E_KIND);
	out->minor = get16(e + E_MINOR);
	out->major = get16(e + E_MAJOR);
	out->arch = get32(e + E_ARCH);
	out->flags = get64(e + E_FLAGS);
	out->suffix = out->flags & FATBIN_ARCH_SPECIFIC ? 'a' : out->flags & FATBIN_FAMILY_SPECIFIC ? 'f' : 0;
	out->name = trailer(e, header, get32(e + E_NAME), get32(e + E_NAME_BYTES), &out->name_bytes);
	read_options(e, header, out);
	out->payload = e + header;
	compressed = get32(e + E_COMPRESSED);
	plain = get64(e + E_PLAIN);
	out->codec = out->flags & FATBIN_ZSTD  ? FATBIN_CODEC_ZSTD
		     : out->flags & FATBIN_LZ4 ? FATBIN_CODEC_LZ4
					       : FATBIN_STORED;
	out->stored_bytes = out->codec && compressed ? compressed : payload;
	out->plain_bytes = out->codec ? plain : payload;
	*why = "an entry's sizes contradict each other";
	if (out->stored_bytes > payload || out->plain_bytes > MAX_PLAIN_BYTES)
		return 0;
	return header + payload;
}

static int add_entry(struct fatbin *fb, unsigned *capacity, const struct fatbin_entry *e)
{
	unsigned more = *capacity ? *capacity * 2 : 8;
	struct fatbin_entry *p;

	if (fb->nentries == *capacity) {
		p = reallocarray(fb->entries, more, sizeof(*p));
		if (!p)
			return CUTRACE_ENOMEM;
		fb->entries = p;
		*capacity = more;
	}
	fb->entries[fb->nentries++] = *e;
	return 0;
}

static int read_container(struct fatbin *fb, unsigned *capacity, const uint8_t *base, size_t at, size_t end,
			  struct diag *d)
{
	while (at < end) {
		struct fatbin_entry e;
		const char *why;
		size_t n = read_entry(base + at, end - at, &e, &why);

		if (!n)
			return bad(d, at, why);
		e.container = fb->ncontainers;
		if (add_entry(fb, capacity, &e))
			return diag_set(d, CUTRACE_ENOMEM, "fatbin", "out of memory");
		at += n;
	}
	return 0;
}

int fatbin_open(struct fatbin *fb, const void *image, size_t bytes, struct diag *d)
{
	const uint8_t *p = image;
	unsigned capacity = 0;
	size_t at = 0;
	int rc;

	memset(fb, 0, sizeof(*fb));
	for (;;) {
		uint64_t header, payload;

		while (fb->ncontainers && at < bytes && !p[at])
			at++;
		if (fb->ncontainers && at >= bytes)
			return 0;
		if (bytes - at < CONTAINER_HEADER || get32(p + at) != IMAGE_FATBIN_MAGIC)
			return bad(d, at,
				   fb->ncontainers ? "bytes after the container are not another one"
						   : "this is no fatbin container");
		header = get16(p + at + 6);
		payload = get64(p + at + 8);
		if (header < CONTAINER_HEADER || header > bytes - at || payload > bytes - at - header)
			return bad(d, at, "the container is cut off");
		at += header;
		rc = read_container(fb, &capacity, p, at, at + payload, d);
		if (rc)
			return rc;
		at += payload;
		fb->ncontainers++;
	}
}

void fatbin_close(struct fatbin *fb)
{
	free(fb->entries);
	memset(fb, 0, sizeof(*fb));
}

static int unpack_zstd(const struct fatbin_entry *e, char *out, struct diag *d)
{
	size_t n = ZSTD_decompress(out, e->plain_bytes, e->payload, e->stored_bytes);

	if (ZSTD_isError(n))
		return diag_set(d, CUTRACE_EFORMAT, "fatbin", "zstd: %s", ZSTD_getErrorName(n));
	if (n != e->plain_bytes)
		return diag_set(d, CUTRACE_EFORMAT, "fatbin", "entry gave %zu bytes, its header says %zu", n,
				e->plain_bytes);
	return 0;
}

static int unpack_lz4(const struct fatbin_entry *e, char *out, struct diag *d)
{
	int n;

	if (e->stored_bytes > INT32_MAX)
		return diag_set(d, CUTRACE_EFORMAT, "fatbin", "LZ4 entry of %zu bytes", e->stored_bytes);
	n = LZ4_decompress_safe(e->payload, out, (int)e->stored_bytes, (int)e->plain_bytes);
	if (n < 0 || (size_t)n != e->plain_bytes)
		return diag_set(d, CUTRACE_EFORMAT, "fatbin", "LZ4 block is damaged");
	return 0;
}

int fatbin_entry_load(const struct fatbin_entry *e, void **out, size_t *bytes, struct diag *d)
{
	char *p = malloc(e->plain_bytes + 1);
	int rc = 0;

	*out = NULL;
	*bytes = 0;
	if (!p)
		return diag_set(d, CUTRACE_ENOMEM, "fatbin", "out of memory for %zu bytes", e->plain_bytes);
	switch (e->codec) {
	case FATBIN_STORED: memcpy(p, e->payload, e->plain_bytes); break;
	case FATBIN_CODEC_ZSTD: rc = unpack_zstd(e, p, d); break;
	case FATBIN_CODEC_LZ4: rc = unpack_lz4(e, p, d); break;
	}
	if (rc) {
		free(p);
		return rc;
	}
	*bytes = e->plain_bytes;
	while (e->kind == FATBIN_PTX && *bytes && !p[*bytes - 1])
		--*bytes;
	p[*bytes] = '\0';
	*out = p;
	return 0;
}

/* PTX ISA, ".target": sm_90a code runs on 9.0 only; sm_100f code within its family; others on all later ones.
 */
static bool runs_on(const struct fatbin_entry *e, unsigned cc)
{
	if (e->suffix == 'a')
		return e->arch == cc;
	if (e->suffix == 'f' && e->arch / 10 != cc / 10)
		return false;
	return e->arch <= cc;
}

/* Does a come before b for a device on which neither, or both, run? */
static bool better(const struct fatbin_entry *a, const struct fatbin_entry *b, unsigned cc)
{
	bool ra = runs_on(a, cc), rb = runs_on(b, cc);

	if (ra != rb)
		return ra;
	if (ra)
		return a->arch != b->arch ? a->arch > b->arch : a->suffix > b->suffix;
	if ((a->arch > cc) != (b->arch > cc))
		return a->arch > cc;
	if (a->arch != b->arch)
		return a->arch > cc ? a->arch < b->arch : a->arch > b->arch;
	return a->suffix < b->suffix;
}

static int choose(const struct fatbin *fb, unsigned container, unsigned cc, unsigned *index)
{
	const struct fatbin_entry *best = NULL;
	unsigned i;

	for (i = 0; i < fb->nentries; i++) {
		const struct fatbin_entry *e = &fb->entries[i];

		if (e->kind != FATBIN_PTX || (container != UINT32_MAX && e->container != container))
			continue;
		if (!best || better(e, best, cc))
			best = e;
	}
	if (!best)
		return CUTRACE_ENOENT;
	*index = (unsigned)(best - fb->entries);
	return !runs_on(best, cc);
}

int fatbin_choose_ptx(const struct fatbin *fb, unsigned cc, unsigned *index)
{
	return choose(fb, UINT32_MAX, cc, index);
}

int fatbin_choose_ptx_in(const struct fatbin *fb, unsigned container, unsigned cc, unsigned *index)
{
	return choose(fb, container, cc, index);
}

/* Those that run on cc; or, when `only` is given, those that are for that architecture. */
static unsigned link_set(const struct fatbin *fb, unsigned cc, const struct fatbin_entry *only,
			 unsigned *indexes, unsigned *left_out)
{
	unsigned n = 0, index;

	*left_out = 0;
	for (unsigned c = 0; c < fb->ncontainers; c++) {
		int newer = choose(fb, c, cc, &index);

		if (newer < 0)
			continue;
		if (only ? fb->entries[index].arch == only->arch : !newer)
			indexes[n++] = index;
		else
			++*left_out;
	}
	return n;
}

unsigned fatbin_link_set(const struct fatbin *fb, unsigned cc, unsigned *indexes, unsigned *left_out)
{
	unsigned n = link_set(fb, cc, NULL, indexes, left_out), nearest;

	if (!n && choose(fb, UINT32_MAX, cc, &nearest) >= 0)
		n = link_set(fb, cc, &fb->entries[nearest], indexes, left_out);
	return n;
}

const char *fatbin_kind_name(unsigned kind)
{
	switch (kind) {
	case FATBIN_PTX: return "ptx";
	case FATBIN_ELF: return "elf";
	case FATBIN_LTO: return "lto";
	default: return "other";
	}
}

void fatbin_describe(const struct fatbin *fb, char *buf, size_t bytes)
{
	size_t at = 0;
	unsigned i;
	int n;

	if (bytes)
		buf[0] = '\0';
	for (i = 0; i < fb->nentries && at < bytes; i++) {
		const struct fatbin_entry *e = &fb->entries[i];
		char suffix[2] = {e->suffix, '\0'};

		n = snprintf(buf + at, bytes - at, "%s%s:%u%s", i ? " " : "", fatbin_kind_name(e->kind),
			     e->arch, suffix);
		at += n > 0 ? (size_t)n : 0;
	}
}
