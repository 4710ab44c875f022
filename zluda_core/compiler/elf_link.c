/* SPDX-License-Identifier: Apache-2.0
 *
 * The file: ELF header, program headers; read-only sections (notes, dynamic symbols, hash tables, constants); code on
 * pages of its own; what is written (the dynamic section, data, .bss); then what isn't loaded (debug information,
 * symbols, names). As ld.lld does it, address and offset agree modulo the page.
 */
#include "zluda_core/compiler/elf_link.h"

#include <stdlib.h>
#include <string.h>

#include "base/elf_amdgpu.h"
#include "base/range.h"

enum { PAGE = 4096, NPHDR = 7, MAX_SECTIONS = 4096, MAX_SYMBOLS = 1 << 20 };

enum region { READ_ONLY, CODE, WRITTEN, NOT_LOADED };

/* Sections that the linker makes. */
enum made { DYNSYM, GNU_HASH, HASH, DYNSTR, RELA_DYN, DYNAMIC, SYMTAB, SHSTRTAB, STRTAB, NMADE };

static const struct {
	const char *name;
	enum region region;
	Elf64_Shdr h;
} made[NMADE] = {
	[DYNSYM] = {".dynsym",
		    READ_ONLY,
		    {.sh_type = SHT_DYNSYM,
		     .sh_flags = SHF_ALLOC,
		     .sh_addralign = 8,
		     .sh_entsize = sizeof(Elf64_Sym)}},
	[GNU_HASH] = {".gnu.hash",
		      READ_ONLY,
		      {.sh_type = SHT_GNU_HASH, .sh_flags = SHF_ALLOC, .sh_addralign = 8}},
	[HASH] = {".hash",
		  READ_ONLY,
		  {.sh_type = SHT_HASH, .sh_flags = SHF_ALLOC, .sh_addralign = 4, .sh_entsize = 4}},
	[DYNSTR] = {".dynstr", READ_ONLY, {.sh_type = SHT_STRTAB, .sh_flags = SHF_ALLOC, .sh_addralign = 1}},
	[RELA_DYN] = {".rela.dyn",
		      READ_ONLY,
		      {.sh_type = SHT_RELA,
		       .sh_flags = SHF_ALLOC,
		       .sh_addralign = 8,
		       .sh_entsize = sizeof(Elf64_Rela)}},
	[DYNAMIC] = {".dynamic",
		     WRITTEN,
		     {.sh_type = SHT_DYNAMIC,
		      .sh_flags = SHF_ALLOC | SHF_WRITE,
		      .sh_addralign = 8,
		      .sh_entsize = sizeof(Elf64_Dyn)}},
	[SYMTAB] = {".symtab",
		    NOT_LOADED,
		    {.sh_type = SHT_SYMTAB, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym)}},
	[SHSTRTAB] = {".shstrtab", NOT_LOADED, {.sh_type = SHT_STRTAB, .sh_addralign = 1}},
	[STRTAB] = {".strtab", NOT_LOADED, {.sh_type = SHT_STRTAB, .sh_addralign = 1}},
};

struct span {
	uint64_t offset, address, file_end, memory_end;
};

struct output {
	struct elf_linking l;
	struct elf_section made[NMADE];
	unsigned nsections;
	uint64_t nexported, nsymbols; /* with the null symbol */
	struct span spans[NOT_LOADED];
	uint64_t offset, address, headers, end;
};

/* ---- reading the object ------------------------------------------------------------------------------- */

static int read_header(struct elf_linking *l)
{
	if (l->in_bytes < sizeof(l->h))
		return elf_damaged(l, "no ELF file");
	memcpy(&l->h, l->in, sizeof(l->h));
	if (memcmp(l->h.e_ident, ELFMAG, SELFMAG) || l->h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    l->h.e_ident[EI_DATA] != ELFDATA2LSB || l->h.e_machine != EM_AMDGPU_MACHINE ||
	    l->h.e_type != ET_REL)
		return elf_damaged(l, "no relocatable ELF file for AMD GPUs");
	if (l->h.e_shentsize != sizeof(Elf64_Shdr) || !l->h.e_shnum || l->h.e_shstrndx >= l->h.e_shnum ||
	    !range_inside(l->h.e_shoff, (uint64_t)l->h.e_shnum * sizeof(Elf64_Shdr), l->in_bytes))
		return elf_damaged(l, "section headers outside of the file");
	if (l->h.e_shnum > MAX_SECTIONS)
		return elf_unsupported(l, "%u sections", l->h.e_shnum);
	l->nsections = l->h.e_shnum;
	return 0;
}

static bool is_kept(const struct elf_section *s)
{
	switch (s->h.sh_type) {
	case SHT_NULL:
	case SHT_RELA:
	case SHT_REL:
	case SHT_SYMTAB:
	case SHT_STRTAB:
	case SHT_SYMTAB_SHNDX:
	case SHT_GROUP:
	case 0x6fff4c03: /* SHT_LLVM_ADDRSIG: for linkers */ return false;
	}
	return strcmp(s->name, ".note.GNU-stack") != 0 && !(s->h.sh_flags & SHF_EXCLUDE);
}

static int read_section(struct elf_linking *l, unsigned k, const Elf64_Shdr *names)
{
	struct elf_section *s = &l->sections[k];
	const char *name;

	if (s->h.sh_type != SHT_NOBITS && !range_inside(s->h.sh_offset, s->h.sh_size, l->in_bytes))
		return elf_damaged(l, "a section outside of the file");
	if (s->h.sh_name >= names->sh_size)
		return elf_damaged(l, "a section without a name");
	name = (const char *)l->in + names->sh_offset + s->h.sh_name;
	if (!memchr(name, 0, names->sh_size - s->h.sh_name))
		return elf_damaged(l, "a section without a name");
	if (s->h.sh_addralign > PAGE || s->h.sh_addralign & (s->h.sh_addralign - 1) ||
	    s->h.sh_size > 1u << 30)
		return elf_unsupported(l, "section %s of %llu bytes, aligned to %llu", name,
				       (unsigned long long)s->h.sh_size,
				       (unsigned long long)s->h.sh_addralign);
	s->name = name;
	s->kept = k && is_kept(s);
	if (s->h.sh_type == SHT_SYMTAB)
		l->symtab = k;
	if (s->kept &&
	    (s->h.sh_flags & SHF_TLS || (s->h.sh_type == SHT_NOBITS && !(s->h.sh_flags & SHF_WRITE))))
		return elf_unsupported(l, "section %s", name);
	return 0;
}

static int read_sections(struct elf_linking *l)
{
	const Elf64_Shdr *names;
	int rc = 0;

	l->sections = calloc(l->nsections, sizeof(*l->sections));
	if (!l->sections)
		return diag_set(l->d, CUTRACE_ENOMEM, "link", "out of memory");
	for (unsigned k = 0; k < l->nsections; k++)
		memcpy(&l->sections[k].h, l->in + l->h.e_shoff + k * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
	names = &l->sections[l->h.e_shstrndx].h;
	if (!range_inside(names->sh_offset, names->sh_size, l->in_bytes))
		return elf_damaged(l, "section names outside of the file");
	for (unsigned k = 0; k < l->nsections && !rc; k++)
		rc = read_section(l, k, names);
	if (rc)
		return rc;
	const Elf64_Shdr *symbols = &l->sections[l->symtab].h;
	if (!l->symtab || symbols->sh_entsize != sizeof(Elf64_Sym) || symbols->sh_link >= l->nsections ||
	    l->sections[symbols->sh_link].h.sh_type != SHT_STRTAB)
		return elf_damaged(l, "no symbols");
	l->nsymbols = symbols->sh_size / sizeof(Elf64_Sym);
	return l->nsymbols > MAX_SYMBOLS ? elf_unsupported(l, "more than %u symbols", MAX_SYMBOLS) : 0;
}

/* ---- layout ------------------------------------------------------------------------------------------- */

static uint64_t align(uint64_t v, uint64_t to)
{
	return to > 1 ? (v + to - 1) & ~(to - 1) : v;
}

static enum region region_of(const Elf64_Shdr *h)
{
	if (!(h->sh_flags & SHF_ALLOC))
		return NOT_LOADED;
	return h->sh_flags & SHF_EXECINSTR ? CODE : h->sh_flags & SHF_WRITE ? WRITTEN : READ_ONLY;
}

static void place(struct output *o, struct elf_section *s)
{
	enum region region = region_of(&s->h);
	bool in_file = s->h.sh_type != SHT_NOBITS;
	struct span *span = &o->spans[region];

	s->index = o->nsections++;
	o->offset = align(o->offset, s->h.sh_addralign);
	s->offset = o->offset;
	if (region == NOT_LOADED) {
		o->offset += in_file ? s->h.sh_size : 0;
		return;
	}
	if (!span->file_end && region != READ_ONLY) { /* the first: on another page */
		o->address = align(o->address, PAGE) + o->offset % PAGE;
		*span = (struct span){o->offset, o->address, o->offset, o->address};
	}
	o->address = align(o->address, s->h.sh_addralign);
	s->address = o->address;
	o->address += s->h.sh_size;
	o->offset += in_file ? s->h.sh_size : 0;
	span->file_end = o->offset;
	span->memory_end = o->address;
}

static void place_made(struct output *o, enum made m, uint64_t bytes)
{
	struct elf_section *s = &o->made[m];

	s->h = made[m].h;
	s->h.sh_size = bytes;
	s->name = made[m].name;
	s->kept = true;
	place(o, s);
}

static void place_given(struct output *o, enum region region, bool in_file, bool notes)
{
	for (unsigned k = 1; k < o->l.nsections; k++) {
		struct elf_section *s = &o->l.sections[k];
		bool note = s->h.sh_type == SHT_NOTE, bits = s->h.sh_type != SHT_NOBITS;

		if (s->kept && region_of(&s->h) == region && bits == in_file &&
		    (region != READ_ONLY || note == notes))
			place(o, s);
	}
}

static void count_symbols(struct output *o, uint64_t *names_bytes)
{
	o->nexported = o->nsymbols = *names_bytes = 1;
	for (uint64_t k = 1; k < o->l.nsymbols; k++) {
		Elf64_Sym s = elf_symbol(&o->l, k);

		o->nsymbols += ELF64_ST_TYPE(s.st_info) != STT_SECTION;
		if (!elf_symbol_exported(&s))
			continue;
		o->nexported++;
		*names_bytes += strlen(elf_symbol_name(&o->l, &s)) + 1;
	}
}

static uint64_t names_size(const struct output *o)
{
	uint64_t bytes = 1;

	for (unsigned k = 1; k < o->l.nsections; k++)
		if (o->l.sections[k].kept)
			bytes += strlen(o->l.sections[k].name) + 1;
	for (unsigned k = 0; k < NMADE; k++)
		bytes += strlen(made[k].name) + 1;
	return bytes;
}

static void lay_out(struct output *o)
{
	uint64_t names_bytes;

	count_symbols(o, &names_bytes);
	o->offset = o->address = sizeof(Elf64_Ehdr) + NPHDR * sizeof(Elf64_Phdr);
	o->nsections = 1;
	place_given(o, READ_ONLY, true, true);
	place_made(o, DYNSYM, o->nexported * sizeof(Elf64_Sym));
	place_made(o, GNU_HASH, 16 + 8 + 4 + 4 * (o->nexported - 1));
	place_made(o, HASH, 4 * (2 + 2 * o->nexported));
	place_made(o, DYNSTR, names_bytes);
	if (o->l.ndynamic)
		place_made(o, RELA_DYN, o->l.ndynamic * sizeof(Elf64_Rela));
	place_given(o, READ_ONLY, true, false);
	place_given(o, CODE, true, false);
	place_made(o, DYNAMIC, 10 * sizeof(Elf64_Dyn));
	place_given(o, WRITTEN, true, false);
	place_given(o, WRITTEN, false, false);
	place_given(o, NOT_LOADED, true, false);
	place_made(o, SYMTAB, o->nsymbols * sizeof(Elf64_Sym));
	place_made(o, SHSTRTAB, names_size(o));
	place_made(o, STRTAB, o->l.sections[o->l.sections[o->l.symtab].h.sh_link].h.sh_size);
	o->headers = align(o->offset, 8);
	o->end = o->headers + o->nsections * sizeof(Elf64_Shdr);
}

/* ---- writing ------------------------------------------------------------------------------------------ */

static uint32_t sysv_hash(const char *name)
{
	uint32_t h = 0;

	for (; *name; name++) {
		h = (h << 4) + (uint8_t)*name;
		h = (h ^ (h & 0xf0000000) >> 24) & ~(h & 0xf0000000);
	}
	return h;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static void put32(struct output *o, uint64_t at, uint32_t v)
{
	memcpy(o->l.out + at, &v, 4);
}

static uint32_t get32(const struct output *o, uint64_t at)
{
	uint32_t v;

	memcpy(&v, o->l.out + at, 4);
	return v;
}

/* One bucket holds all: a code object exports two symbols. */
static void start_gnu_hash(struct output *o)
{
	uint64_t at = o->made[GNU_HASH].offset;

	put32(o, at, 1);
	put32(o, at + 4, 1);
	put32(o, at + 8, 1);
	put32(o, at + 12, 26);
	put32(o, at + 24, o->nexported > 1);
	put32(o, o->made[HASH].offset, (uint32_t)o->nexported);
	put32(o, o->made[HASH].offset + 4, (uint32_t)o->nexported);
}

static void put_hashes(struct output *o, uint32_t index, const char *name)
{
	uint32_t h = gnu_hash(name), n = (uint32_t)o->nexported;
	uint64_t bloom, at = o->made[GNU_HASH].offset, sysv = o->made[HASH].offset + 8;

	memcpy(&bloom, o->l.out + at + 16, 8);
	bloom |= 1ull << h % 64 | 1ull << (h >> 26) % 64;
	memcpy(o->l.out + at + 16, &bloom, 8);
	put32(o, at + 28 + 4ull * (index - 1), (h & ~1u) | (index == n - 1));
	uint64_t bucket = sysv + 4ull * (sysv_hash(name) % n);
	put32(o, sysv + 4ull * (n + index), get32(o, bucket));
	put32(o, bucket, index);
}

static int translate_symbol(struct output *o, Elf64_Sym *s)
{
	uint64_t address;
	int rc;

	if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS)
		return 0;
	rc = elf_symbol_address(&o->l, s, &address);
	if (rc)
		return rc;
	s->st_value = address;
	s->st_shndx = (uint16_t)o->l.sections[s->st_shndx].index;
	return 0;
}

static int write_dynamic_symbols(struct output *o)
{
	uint64_t at = o->made[DYNSYM].offset + sizeof(Elf64_Sym), name_at = 1;
	uint32_t index = 1;

	start_gnu_hash(o);
	for (uint64_t k = 1; k < o->l.nsymbols; k++) {
		Elf64_Sym s = elf_symbol(&o->l, k);
		const char *name = elf_symbol_name(&o->l, &s);

		if (!elf_symbol_exported(&s))
			continue;
		int rc = translate_symbol(o, &s);
		if (rc)
			return rc;
		s.st_name = (Elf64_Word)name_at;
		memcpy(o->l.out + o->made[DYNSTR].offset + name_at, name, strlen(name) + 1);
		name_at += strlen(name) + 1;
		memcpy(o->l.out + at, &s, sizeof(s));
		at += sizeof(s);
		put_hashes(o, index++, name);
	}
	return 0;
}

static int write_symbols(struct output *o)
{
	uint64_t at = o->made[SYMTAB].offset + sizeof(Elf64_Sym), n = 1;

	o->made[SYMTAB].h.sh_info = 1;
	for (uint64_t k = 1; k < o->l.nsymbols; k++) {
		Elf64_Sym s = elf_symbol(&o->l, k);

		if (ELF64_ST_TYPE(s.st_info) == STT_SECTION)
			continue;
		int rc = translate_symbol(o, &s);
		if (rc)
			return rc;
		memcpy(o->l.out + at, &s, sizeof(s));
		at += sizeof(s);
		n++;
		if (ELF64_ST_BIND(s.st_info) == STB_LOCAL)
			o->made[SYMTAB].h.sh_info = (Elf64_Word)n;
	}
	return 0;
}

static void write_dynamic(struct output *o)
{
	const struct elf_section *m = o->made;
	const Elf64_Dyn entries[] = {
		{DT_SYMTAB, {m[DYNSYM].address}},
		{DT_SYMENT, {sizeof(Elf64_Sym)}},
		{DT_STRTAB, {m[DYNSTR].address}},
		{DT_STRSZ, {m[DYNSTR].h.sh_size}},
		{DT_GNU_HASH, {m[GNU_HASH].address}},
		{DT_HASH, {m[HASH].address}},
		{o->l.ndynamic ? DT_RELA : DT_NULL, {o->l.ndynamic ? m[RELA_DYN].address : 0}},
		{o->l.ndynamic ? DT_RELASZ : DT_NULL, {o->l.ndynamic * sizeof(Elf64_Rela)}},
		{o->l.ndynamic ? DT_RELAENT : DT_NULL, {o->l.ndynamic ? sizeof(Elf64_Rela) : 0}},
		{DT_NULL, {0}},
	};

	memcpy(o->l.out + m[DYNAMIC].offset, entries, sizeof(entries));
}

static void write_header(struct output *o)
{
	Elf64_Ehdr h = o->l.h;

	h.e_type = ET_DYN;
	h.e_phoff = sizeof(h);
	h.e_phentsize = sizeof(Elf64_Phdr);
	h.e_phnum = NPHDR;
	h.e_shoff = o->headers;
	h.e_shnum = (Elf64_Half)o->nsections;
	h.e_shstrndx = (Elf64_Half)o->made[SHSTRTAB].index;
	memcpy(o->l.out, &h, sizeof(h));
}

static Elf64_Phdr load(const struct span *s, uint32_t flags)
{
	return (Elf64_Phdr){.p_type = PT_LOAD,
			    .p_flags = flags,
			    .p_offset = s->offset,
			    .p_vaddr = s->address,
			    .p_paddr = s->address,
			    .p_filesz = s->file_end - s->offset,
			    .p_memsz = s->memory_end - s->address,
			    .p_align = PAGE};
}

static Elf64_Phdr of_section(uint32_t type, uint32_t flags, const struct elf_section *s)
{
	return (Elf64_Phdr){.p_type = type,
			    .p_flags = flags,
			    .p_offset = s->offset,
			    .p_vaddr = s->address,
			    .p_paddr = s->address,
			    .p_filesz = s->h.sh_size,
			    .p_memsz = s->h.sh_size,
			    .p_align = s->h.sh_addralign ? s->h.sh_addralign : 1};
}

static const struct elf_section *first_note(const struct output *o)
{
	for (unsigned k = 1; k < o->l.nsections; k++)
		if (o->l.sections[k].kept && o->l.sections[k].h.sh_type == SHT_NOTE)
			return &o->l.sections[k];
	return NULL;
}

static void write_program_headers(struct output *o)
{
	const struct elf_section *note = first_note(o);
	const struct elf_section table = {.offset = sizeof(Elf64_Ehdr),
					  .address = sizeof(Elf64_Ehdr),
					  .h = {.sh_size = NPHDR * sizeof(Elf64_Phdr), .sh_addralign = 8}};
	Elf64_Phdr p[NPHDR] = {
		of_section(PT_PHDR, PF_R, &table),
		load(&o->spans[READ_ONLY], PF_R),
		load(&o->spans[CODE], PF_R | PF_X),
		load(&o->spans[WRITTEN], PF_R | PF_W),
		of_section(PT_DYNAMIC, PF_R | PF_W, &o->made[DYNAMIC]),
		{.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W},
		{.p_type = PT_NULL},
	};

	if (note)
		p[6] = of_section(PT_NOTE, PF_R, note);
	memcpy(o->l.out + sizeof(Elf64_Ehdr), p, sizeof(p));
}

static void write_section_header(struct output *o, const struct elf_section *s, uint64_t *name_at)
{
	Elf64_Shdr h = s->h;

	h.sh_name = (Elf64_Word)(*name_at - o->made[SHSTRTAB].offset);
	h.sh_addr = s->address;
	h.sh_offset = s->offset;
	memcpy(o->l.out + *name_at, s->name, strlen(s->name) + 1);
	*name_at += strlen(s->name) + 1;
	memcpy(o->l.out + o->headers + s->index * sizeof(h), &h, sizeof(h));
}

static void write_section_headers(struct output *o)
{
	uint64_t name_at = o->made[SHSTRTAB].offset + 1;
	struct elf_section *m = o->made;

	m[DYNSYM].h.sh_link = m[DYNAMIC].h.sh_link = m[DYNSTR].index;
	m[DYNSYM].h.sh_info = 1;
	m[GNU_HASH].h.sh_link = m[HASH].h.sh_link = m[RELA_DYN].h.sh_link = m[DYNSYM].index;
	m[SYMTAB].h.sh_link = m[STRTAB].index;
	for (unsigned k = 1; k < o->l.nsections; k++)
		if (o->l.sections[k].kept)
			write_section_header(o, &o->l.sections[k], &name_at);
	for (unsigned k = 0; k < NMADE; k++)
		if (m[k].kept)
			write_section_header(o, &m[k], &name_at);
}

static void copy_sections(struct output *o)
{
	const Elf64_Shdr *strings = &o->l.sections[o->l.sections[o->l.symtab].h.sh_link].h;

	for (unsigned k = 1; k < o->l.nsections; k++) {
		const struct elf_section *s = &o->l.sections[k];

		if (s->kept && s->h.sh_type != SHT_NOBITS)
			memcpy(o->l.out + s->offset, o->l.in + s->h.sh_offset, s->h.sh_size);
	}
	memcpy(o->l.out + o->made[STRTAB].offset, o->l.in + strings->sh_offset, strings->sh_size);
}

static int write_file(struct output *o)
{
	o->l.out = calloc(1, o->end);
	if (!o->l.out)
		return diag_set(o->l.d, CUTRACE_ENOMEM, "link", "out of memory");
	o->l.dynamic_relocs = o->made[RELA_DYN].offset;
	copy_sections(o);
	int rc = write_dynamic_symbols(o);
	if (!rc)
		rc = write_symbols(o);
	if (!rc)
		rc = elf_relocations_apply(&o->l);
	if (rc)
		return rc;
	write_dynamic(o);
	write_header(o);
	write_program_headers(o);
	write_section_headers(o);
	return 0;
}

static int link_object(struct output *o)
{
	int rc = read_header(&o->l);

	if (!rc)
		rc = read_sections(&o->l);
	if (!rc)
		rc = elf_relocations_count(&o->l);
	if (rc)
		return rc;
	lay_out(o);
	return write_file(o);
}

int elf_link(const void *object, size_t bytes, void **out, size_t *out_bytes, struct diag *d)
{
	struct output o = {.l = {.in = object, .in_bytes = bytes, .d = d}};
	int rc = link_object(&o);

	free(o.l.sections);
	if (rc) {
		free(o.l.out);
		return rc;
	}
	*out = o.l.out;
	*out_bytes = o.end;
	return 0;
}
