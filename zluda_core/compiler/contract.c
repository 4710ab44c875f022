/* SPDX-License-Identifier: Apache-2.0
 *
 * The section: a struct head, offsets of the variables' names, then strings. All numbers are little-endian, as AMD's
 * code objects are.
 */
#include "zluda_core/compiler/contract.h"

#include <stdlib.h>
#include <string.h>

#include "base/elf_amdgpu.h"
#include "base/range.h"

enum { MAGIC = 0x434f5443 /* "CTOC" */, VERSION = 1, MAX_VARIABLES = 1 << 16 };

struct head {
	uint32_t magic, version, bytes;
	uint32_t kernel, target, build; /* offsets of strings */
	uint8_t text_hash[16];
	uint32_t param_bytes, variables_offset, nvariables, runtime_offset, kernarg_bytes, segment_bytes;
	uint32_t wave, max_threads, shared_bytes, scratch_bytes;
	uint32_t vgprs, agprs, sgprs, spilled_vgprs, spilled_sgprs, code_bytes, uses;
};

/* ---- reading ------------------------------------------------------------------------------------ */

static int bad(struct diag *d, const char *what)
{
	return diag_set(d, CUTRACE_EFORMAT, "", "not a usable code object: %s", what);
}

static int check_elf(const uint8_t *p, size_t bytes, Elf64_Ehdr *h, struct diag *d)
{
	if (bytes < sizeof(*h))
		return bad(d, "no ELF file");
	memcpy(h, p, sizeof(*h));
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != EM_AMDGPU_MACHINE || h->e_type != ET_DYN)
		return bad(d, "no linked ELF file for AMD GPUs");
	if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shstrndx >= h->e_shnum ||
	    !range_inside(h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr), bytes))
		return bad(d, "its section headers lie outside of the file");
	return 0;
}

static Elf64_Shdr section_at(const uint8_t *p, const Elf64_Ehdr *h, unsigned k)
{
	Elf64_Shdr s;

	memcpy(&s, p + h->e_shoff + k * sizeof(s), sizeof(s));
	return s;
}

static bool has_name(const uint8_t *p, const Elf64_Shdr *names, const Elf64_Shdr *s, const char *name)
{
	size_t n = strlen(name) + 1;

	return range_inside(s->sh_name, n, names->sh_size) &&
	       !memcmp(p + names->sh_offset + s->sh_name, name, n);
}

static int find_section(const uint8_t *p, size_t bytes, const uint8_t **blob, size_t *blob_bytes,
			struct diag *d)
{
	Elf64_Ehdr h;
	int rc = check_elf(p, bytes, &h, d);

	if (rc)
		return rc;
	Elf64_Shdr names = section_at(p, &h, h.e_shstrndx);
	if (names.sh_type == SHT_NOBITS || !range_inside(names.sh_offset, names.sh_size, bytes))
		return bad(d, "its section names lie outside of the file");
	for (unsigned k = 1; k < h.e_shnum; k++) {
		Elf64_Shdr s = section_at(p, &h, k);

		if (!has_name(p, &names, &s, CONTRACT_SECTION))
			continue;
		if (s.sh_type != SHT_PROGBITS || !range_inside(s.sh_offset, s.sh_size, bytes))
			return bad(d, "the section " CONTRACT_SECTION " lies outside of the file");
		*blob = p + s.sh_offset;
		*blob_bytes = s.sh_size;
		return 0;
	}
	return diag_set(d, CUTRACE_ENOENT, "", "the code object has no section " CONTRACT_SECTION);
}

/* A string that ends within the section, or NULL. */
static const char *string_at(const uint8_t *blob, size_t bytes, uint32_t offset)
{
	if (offset < sizeof(struct head) || offset >= bytes || !memchr(blob + offset, 0, bytes - offset))
		return NULL;
	return (const char *)blob + offset;
}

static bool sane(const struct head *h)
{
	uint64_t end = (uint64_t)h->variables_offset + 8ull * h->nvariables;

	return h->nvariables <= MAX_VARIABLES && h->param_bytes <= h->variables_offset &&
	       h->variables_offset <= h->kernarg_bytes && end <= h->kernarg_bytes &&
	       h->kernarg_bytes <= h->segment_bytes && h->kernarg_bytes < 1u << 24 &&
	       (!h->runtime_offset ||
		(h->runtime_offset >= end && h->runtime_offset + 8ull <= h->kernarg_bytes)) &&
	       !(h->uses & CONTRACT_RUNTIME) == !h->runtime_offset && (h->wave == 32 || h->wave == 64) &&
	       h->max_threads && h->max_threads <= 1024 && !(h->uses & ~(uint32_t)CONTRACT_ALL_USES);
}

static void take(struct contract *out, const struct head *h)
{
	memcpy(out->text_hash, h->text_hash, sizeof(out->text_hash));
	out->param_bytes = h->param_bytes;
	out->variables_offset = h->variables_offset;
	out->nvariables = h->nvariables;
	out->runtime_offset = h->runtime_offset;
	out->kernarg_bytes = h->kernarg_bytes;
	out->segment_bytes = h->segment_bytes;
	out->wave = h->wave;
	out->max_threads = h->max_threads;
	out->shared_bytes = h->shared_bytes;
	out->scratch_bytes = h->scratch_bytes;
	out->vgprs = h->vgprs;
	out->agprs = h->agprs;
	out->sgprs = h->sgprs;
	out->spilled_vgprs = h->spilled_vgprs;
	out->spilled_sgprs = h->spilled_sgprs;
	out->code_bytes = h->code_bytes;
	out->uses = h->uses;
}

static uint32_t name_offset(const uint8_t *blob, uint32_t k)
{
	uint32_t offset;

	memcpy(&offset, blob + sizeof(struct head) + 4ull * k, 4);
	return offset;
}

int contract_read(const void *code_object, size_t bytes, struct contract *out, struct diag *d)
{
	const uint8_t *blob = NULL;
	size_t blob_bytes = 0;
	struct head h;
	int rc = find_section(code_object, bytes, &blob, &blob_bytes, d);

	memset(out, 0, sizeof(*out));
	if (rc)
		return rc;
	if (blob_bytes < sizeof(h))
		return bad(d, "its contract is cut");
	memcpy(&h, blob, sizeof(h));
	if (h.magic != MAGIC || h.version != VERSION || h.bytes != blob_bytes)
		return bad(d, "its contract is of another version");
	if (!sane(&h) || !range_inside(sizeof(h), 4ull * h.nvariables, blob_bytes))
		return bad(d, "its contract contradicts itself");
	take(out, &h);
	out->kernel = string_at(blob, blob_bytes, h.kernel);
	out->target = string_at(blob, blob_bytes, h.target);
	out->build = string_at(blob, blob_bytes, h.build);
	for (uint32_t k = 0; k < h.nvariables; k++)
		if (!string_at(blob, blob_bytes, name_offset(blob, k)))
			return bad(d, "its contract has a name that does not end");
	if (!out->kernel || !out->target || !out->build)
		return bad(d, "its contract has a name that does not end");
	out->blob = blob;
	return 0;
}

const char *contract_variable(const struct contract *c, uint32_t k)
{
	return (const char *)c->blob + name_offset(c->blob, k);
}

/* ---- writing ------------------------------------------------------------------------------------ */

struct writer {
	uint8_t *p;
	size_t at;
};

static uint32_t put_string(struct writer *w, const char *s)
{
	size_t n = strlen(s) + 1, at = w->at;

	if (w->p)
		memcpy(w->p + at, s, n);
	w->at += n;
	return (uint32_t)at;
}

static void put_names(struct writer *w, const char *const *names, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t offset = put_string(w, names[k]);

		if (w->p)
			memcpy(w->p + sizeof(struct head) + 4ull * k, &offset, 4);
	}
}

static struct head head_of(const struct contract *c)
{
	struct head h = {.magic = MAGIC,
			 .version = VERSION,
			 .param_bytes = c->param_bytes,
			 .variables_offset = c->variables_offset,
			 .nvariables = c->nvariables,
			 .runtime_offset = c->runtime_offset,
			 .kernarg_bytes = c->kernarg_bytes,
			 .segment_bytes = c->segment_bytes,
			 .wave = c->wave,
			 .max_threads = c->max_threads,
			 .shared_bytes = c->shared_bytes,
			 .scratch_bytes = c->scratch_bytes,
			 .vgprs = c->vgprs,
			 .agprs = c->agprs,
			 .sgprs = c->sgprs,
			 .spilled_vgprs = c->spilled_vgprs,
			 .spilled_sgprs = c->spilled_sgprs,
			 .code_bytes = c->code_bytes,
			 .uses = c->uses};

	memcpy(h.text_hash, c->text_hash, sizeof(h.text_hash));
	return h;
}

/* With p == NULL only counts. */
static size_t write_blob(uint8_t *p, const struct contract *c, const char *const *names)
{
	struct writer w = {p, sizeof(struct head) + 4ull * c->nvariables};
	struct head h = head_of(c);

	h.kernel = put_string(&w, c->kernel);
	h.target = put_string(&w, c->target);
	h.build = put_string(&w, c->build);
	put_names(&w, names, c->nvariables);
	h.bytes = (uint32_t)w.at;
	if (p)
		memcpy(p, &h, sizeof(h));
	return w.at;
}

static uint64_t align8(uint64_t v)
{
	return (v + 7) & ~7ull;
}

/* Behind the old file: the section, section names with one more, section headers with one more. */
struct layout {
	Elf64_Ehdr h;
	Elf64_Shdr names;
	uint64_t blob, strings, headers, end;
	size_t blob_bytes;
};

static int plan(const uint8_t *old, size_t bytes, const struct contract *c, const char *const *names,
		struct layout *l, struct diag *d)
{
	int rc = check_elf(old, bytes, &l->h, d);

	if (rc)
		return rc;
	l->names = section_at(old, &l->h, l->h.e_shstrndx);
	if (!range_inside(l->names.sh_offset, l->names.sh_size, bytes) || l->h.e_shnum >= SHN_LORESERVE - 1)
		return bad(d, "its section names lie outside of the file");
	l->blob_bytes = write_blob(NULL, c, names);
	l->blob = align8(bytes);
	l->strings = l->blob + l->blob_bytes;
	l->headers = align8(l->strings + l->names.sh_size + sizeof(CONTRACT_SECTION));
	l->end = l->headers + (l->h.e_shnum + 1ull) * sizeof(Elf64_Shdr);
	return 0;
}

static void write_file(uint8_t *p, const uint8_t *old, size_t bytes, const struct layout *l)
{
	Elf64_Shdr s = {.sh_name = (Elf64_Word)l->names.sh_size,
			.sh_type = SHT_PROGBITS,
			.sh_offset = l->blob,
			.sh_size = l->blob_bytes,
			.sh_addralign = 8};
	Elf64_Shdr names = l->names;
	Elf64_Ehdr h = l->h;

	memcpy(p, old, bytes);
	memcpy(p + l->strings, old + names.sh_offset, names.sh_size);
	memcpy(p + l->strings + names.sh_size, CONTRACT_SECTION, sizeof(CONTRACT_SECTION));
	names.sh_offset = l->strings;
	names.sh_size += sizeof(CONTRACT_SECTION);
	memcpy(p + l->headers, old + h.e_shoff, h.e_shnum * sizeof(Elf64_Shdr));
	memcpy(p + l->headers + h.e_shstrndx * sizeof(names), &names, sizeof(names));
	memcpy(p + l->headers + h.e_shnum * sizeof(s), &s, sizeof(s));
	h.e_shoff = l->headers;
	h.e_shnum++;
	memcpy(p, &h, sizeof(h));
}

int contract_attach(const void *code_object, size_t bytes, const struct contract *c, const char *const *names,
		    void **out, size_t *out_bytes, struct diag *d)
{
	struct layout l;
	int rc = plan(code_object, bytes, c, names, &l, d);

	if (rc)
		return rc;
	uint8_t *p = calloc(1, l.end);
	if (!p)
		return diag_set(d, CUTRACE_ENOMEM, c->kernel, "out of memory");
	write_file(p, code_object, bytes, &l);
	write_blob(p + l.blob, c, names);
	*out = p;
	*out_bytes = l.end;
	return 0;
}
