/* SPDX-License-Identifier: Apache-2.0
 *
 * Code object files: LLVM's AMDGPUUsage, "ELF Code Object". Every offset and size of the file is checked
 * against it before use.
 */
#include <stdlib.h>
#include <string.h>

#include "base/elf_amdgpu.h"
#include "base/range.h"
#include "zluda_core/amdgpu_emulator/object.h"

#define ELFOSABI_HSA  64
#define MACH_MASK     0xffu
#define NOTE_METADATA 32 /* NT_AMDGPU_METADATA */
#define IMAGE_MAX     (1ull << 28)

/* ELF Code Object, "Relocation Records". */
enum { R_ABS32_LO = 1, R_ABS32_HI, R_ABS64, R_REL32, R_REL64, R_ABS32, R_RELATIVE64 = 13 };

static int bad(struct diag *d, const char *what)
{
	return diag_set(d, CUTRACE_EFORMAT, "", "not a usable AMD code object: %s", what);
}

static int check_header(struct amdgpu_object *o, struct diag *d)
{
	const Elf64_Ehdr *h = (const void *)o->file;

	if (o->file_bytes < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG))
		return bad(d, "no ELF file");
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
		return bad(d, "not 64-bit little-endian");
	if (h->e_machine != EM_AMDGPU_MACHINE || h->e_ident[EI_OSABI] != ELFOSABI_HSA)
		return bad(d, "not for AMD GPUs under HSA");
	if (h->e_type != ET_DYN) {
		diag_set(d, CUTRACE_EFORMAT, "", "the code object is not linked (e_type %u)", h->e_type);
		diag_hint(d, "link it with ld.lld -shared");
		return CUTRACE_EFORMAT;
	}
	if (h->e_ident[EI_ABIVERSION] < 2 || h->e_ident[EI_ABIVERSION] > 4)
		return diag_set(d, CUTRACE_ENOTSUP, "", "code object version %u: 4, 5 and 6 are supported",
				h->e_ident[EI_ABIVERSION] + 2u);
	o->target = amdgpu_target_find(h->e_flags & MACH_MASK);
	if (!o->target)
		return diag_set(d, CUTRACE_ENOTSUP, "", "the emulator does not execute machine 0x%x",
				h->e_flags & MACH_MASK);
	if (h->e_phentsize != sizeof(Elf64_Phdr) ||
	    !range_inside(h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr), o->file_bytes) ||
	    h->e_phoff % 8)
		return bad(d, "program headers outside of the file");
	return 0;
}

static int map_segments(struct amdgpu_object *o, struct diag *d)
{
	const Elf64_Ehdr *h = (const void *)o->file;
	const Elf64_Phdr *p = (const void *)(o->file + h->e_phoff);

	for (unsigned i = 0; i < h->e_phnum; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		if (p[i].p_filesz > p[i].p_memsz ||
		    !range_inside(p[i].p_offset, p[i].p_filesz, o->file_bytes) ||
		    !range_inside(p[i].p_vaddr, p[i].p_memsz, IMAGE_MAX))
			return bad(d, "a segment outside of the file");
		if (p[i].p_vaddr + p[i].p_memsz > o->image_bytes)
			o->image_bytes = p[i].p_vaddr + p[i].p_memsz;
	}
	if (!o->image_bytes)
		return bad(d, "no segments");
	o->image_bytes = (o->image_bytes + 4095) & ~4095ull;
	o->image = calloc(1, o->image_bytes);
	if (!o->image)
		return diag_set(d, CUTRACE_ENOMEM, "", "no memory for the code object");
	for (unsigned i = 0; i < h->e_phnum; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		memcpy(o->image + p[i].p_vaddr, o->file + p[i].p_offset, p[i].p_filesz);
		if ((p[i].p_flags & PF_X) && o->ncode < 8)
			o->code[o->ncode++] =
				(struct amdgpu_code){o->image + p[i].p_vaddr, p[i].p_vaddr, p[i].p_filesz};
	}
	return 0;
}

/* What the dynamic section names, as addresses in the image. */
struct dynamic {
	uint64_t symtab, strtab, strsz, rela, relasz, hash;
};

static void note_entry(struct dynamic *t, const Elf64_Dyn *e)
{
	switch (e->d_tag) {
	case DT_SYMTAB: t->symtab = e->d_un.d_ptr; break;
	case DT_STRTAB: t->strtab = e->d_un.d_ptr; break;
	case DT_STRSZ: t->strsz = e->d_un.d_val; break;
	case DT_RELA: t->rela = e->d_un.d_ptr; break;
	case DT_RELASZ: t->relasz = e->d_un.d_val; break;
	case DT_HASH: t->hash = e->d_un.d_ptr; break;
	}
}

/* The number of symbols is the chain count of DT_HASH (System V gABI, "Hash Table"). */
static int read_dynamic(struct amdgpu_object *o, const Elf64_Phdr *p, struct diag *d)
{
	struct dynamic t = {0};
	uint32_t chains;

	if (!range_inside(p->p_vaddr, p->p_memsz, o->image_bytes) || p->p_vaddr % 8)
		return bad(d, "the dynamic section lies outside");
	for (uint64_t i = 0; i < p->p_memsz / sizeof(Elf64_Dyn); i++)
		note_entry(&t, (const Elf64_Dyn *)(o->image + p->p_vaddr) + i);
	if (!range_inside(t.hash, 8, o->image_bytes) || t.hash % 4)
		return bad(d, "no symbol hash table");
	memcpy(&chains, o->image + t.hash + 4, 4);
	if (!range_inside(t.symtab, (uint64_t)chains * sizeof(Elf64_Sym), o->image_bytes) || t.symtab % 8 ||
	    !range_inside(t.strtab, t.strsz, o->image_bytes) || !t.strsz ||
	    o->image[t.strtab + t.strsz - 1] || !range_inside(t.rela, t.relasz, o->image_bytes) || t.rela % 8)
		return bad(d, "dynamic tables outside of the image");
	/* Tables are read from a copy of their own: the image belongs to the program that runs. */
	uint8_t *copy = malloc(o->image_bytes);
	if (!copy)
		return diag_set(d, CUTRACE_ENOMEM, "", "no memory for the code object");
	memcpy(copy, o->image, o->image_bytes);
	o->tables = copy;
	o->symbols = (const void *)(copy + t.symtab);
	o->nsymbols = chains;
	o->strings = (const char *)copy + t.strtab;
	o->string_bytes = t.strsz;
	o->relocs = (const void *)(copy + t.rela);
	o->nrelocs = t.relasz / sizeof(Elf64_Rela);
	return 0;
}

static const char *symbol_name(const struct amdgpu_object *o, const Elf64_Sym *s)
{
	return s->st_name < o->string_bytes ? o->strings + s->st_name : "";
}

static void read_descriptor(struct amdgpu_kernel *k, const uint8_t *kd, uint64_t at)
{
	const struct amdgpu_target *t = k->object->target;
	int64_t entry;

	memcpy(&k->group_bytes, kd, 4);
	memcpy(&k->private_bytes, kd + 4, 4);
	memcpy(&k->kernarg_bytes, kd + 8, 4);
	memcpy(&entry, kd + 16, 8);
	memcpy(&k->rsrc3, kd + 44, 4);
	memcpy(&k->rsrc1, kd + 48, 4);
	memcpy(&k->rsrc2, kd + 52, 4);
	memcpy(&k->properties, kd + 56, 2);
	memcpy(&k->preload, kd + 58, 2);
	k->entry = at + (uint64_t)entry;
	k->wave_size = t->gfx >= 10 && (k->properties >> 10 & 1) ? 32 : 64;
	k->vgprs = ((k->rsrc1 & 63) + 1) * t->vgpr_granule[k->wave_size == 64];
	if (k->vgprs > 512)
		k->vgprs = 512;
}

static int find_kernels(struct amdgpu_object *o, struct diag *d)
{
	size_t n = 0;

	for (size_t i = 0; i < o->nsymbols; i++) {
		const char *name = symbol_name(o, &o->symbols[i]);
		size_t len = strlen(name);
		n += len > 3 && !strcmp(name + len - 3, ".kd");
	}
	o->kernels = calloc(n + 1, sizeof *o->kernels);
	if (!o->kernels)
		return diag_set(d, CUTRACE_ENOMEM, "", "no memory for the code object");
	for (size_t i = 0; i < o->nsymbols; i++) {
		const Elf64_Sym *s = &o->symbols[i];
		const char *name = symbol_name(o, s);
		size_t len = strlen(name);
		struct amdgpu_kernel *k = &o->kernels[o->nkernels];

		if (len <= 3 || strcmp(name + len - 3, ".kd") || s->st_shndx == SHN_UNDEF)
			continue;
		if (s->st_size != 64 || !range_inside(s->st_value, 64, o->image_bytes))
			return bad(d, "a kernel descriptor outside of the image");
		k->object = o;
		k->name = strndup(name, len - 3);
		if (!k->name)
			return diag_set(d, CUTRACE_ENOMEM, "", "no memory for the code object");
		o->nkernels++;
		read_descriptor(k, o->image + s->st_value, s->st_value);
	}
	return 0;
}

struct amdgpu_kernel *object_kernel_of(struct amdgpu_object *o, const char *symbol, size_t bytes)
{
	if (bytes <= 3 || memcmp(symbol + bytes - 3, ".kd", 3))
		return NULL;
	for (unsigned i = 0; i < o->nkernels; i++)
		if (strlen(o->kernels[i].name) == bytes - 3 && !memcmp(o->kernels[i].name, symbol, bytes - 3))
			return &o->kernels[i];
	return NULL;
}

/* Notes are 4-byte aligned records {name bytes, data bytes, type, name, data}. */
static int read_notes(struct amdgpu_object *o, const uint8_t *p, size_t bytes, struct diag *d)
{
	while (bytes >= 12) {
		uint32_t head[3];
		memcpy(head, p, 12);
		uint64_t name = ((uint64_t)head[0] + 3) & ~3ull, data = ((uint64_t)head[1] + 3) & ~3ull;

		if (!range_inside(12 + name, head[1], bytes))
			return bad(d, "a note outside of its segment");
		if (head[0] == 7 && !memcmp(p + 12, "AMDGPU", 7) && head[2] == NOTE_METADATA)
			return metadata_read(o, p + 12 + name, head[1], d);
		if (12 + name + data > bytes)
			break;
		p += 12 + name + data;
		bytes -= 12 + name + data;
	}
	return 0;
}

static int read_segments(struct amdgpu_object *o, bool notes, struct diag *d)
{
	const Elf64_Ehdr *h = (const void *)o->file;
	const Elf64_Phdr *p = (const void *)(o->file + h->e_phoff);

	for (unsigned i = 0; i < h->e_phnum; i++) {
		if (notes && p[i].p_type == PT_NOTE &&
		    range_inside(p[i].p_vaddr, p[i].p_memsz, o->image_bytes)) {
			int rc = read_notes(o, o->image + p[i].p_vaddr, p[i].p_memsz, d);
			if (rc)
				return rc;
		}
		if (!notes && p[i].p_type == PT_DYNAMIC)
			return read_dynamic(o, &p[i], d);
	}
	return notes ? 0 : bad(d, "no dynamic section");
}

static int open_object(struct amdgpu_object *o, const void *bytes, size_t size, struct diag *d)
{
	int rc;

	o->file = malloc(size ? size : 1);
	if (!o->file)
		return diag_set(d, CUTRACE_ENOMEM, "", "no memory for the code object");
	memcpy(o->file, bytes, size);
	o->file_bytes = size;
	rc = check_header(o, d);
	if (!rc)
		rc = map_segments(o, d);
	if (!rc)
		rc = read_segments(o, false, d);
	if (!rc)
		rc = find_kernels(o, d);
	if (!rc)
		rc = read_segments(o, true, d);
	if (!rc)
		rc = line_table_read(&o->lines, o->file, o->file_bytes, d);
	free(o->file);
	o->file = NULL;
	return rc;
}

/* Instructions lie below this offset. */
static uint64_t code_end(const struct amdgpu_object *o)
{
	uint64_t end = 0;

	for (unsigned i = 0; i < o->ncode; i++)
		if (o->code[i].offset + o->code[i].size > end)
			end = o->code[i].offset + o->code[i].size;
	return end;
}

int amdgpu_object_open(struct amdgpu_object **out, const void *bytes, size_t size, struct diag *d)
{
	struct amdgpu_object *o = calloc(1, sizeof *o);
	int rc;

	*out = NULL;
	if (!o)
		return diag_set(d, CUTRACE_ENOMEM, "", "no memory for the code object");
	rc = open_object(o, bytes, size, d);
	if (!rc) {
		o->nslots = code_end(o) / 4;
		o->insns = calloc(o->nslots + 1, sizeof(struct insn *));
		if (!o->insns)
			rc = diag_set(d, CUTRACE_ENOMEM, "", "no memory for the code object");
	}
	if (rc)
		amdgpu_object_close(o);
	else
		*out = o;
	return rc;
}

void amdgpu_object_close(struct amdgpu_object *o)
{
	if (!o)
		return;
	amdgpu_program_free(o);
	for (unsigned i = 0; i < o->nkernels; i++) {
		free(o->kernels[i].name);
		free(o->kernels[i].args);
	}
	free(o->kernels);
	free(o->image);
	free(o->tables);
	free(o->file);
	line_table_free(&o->lines);
	free(o);
}

bool amdgpu_object_source(const struct amdgpu_object *o, uint64_t offset, const char **file, unsigned *line)
{
	return line_table_find(&o->lines, offset, file, line);
}

const char *amdgpu_object_target(const struct amdgpu_object *o)
{
	return o->target->name;
}

const struct amdgpu_kernel *amdgpu_object_kernels(const struct amdgpu_object *o, unsigned *count)
{
	*count = o->nkernels;
	return o->kernels;
}

const struct amdgpu_kernel *amdgpu_object_kernel(const struct amdgpu_object *o, const char *name)
{
	for (unsigned i = 0; i < o->nkernels; i++)
		if (!strcmp(o->kernels[i].name, name))
			return &o->kernels[i];
	return NULL;
}

void *amdgpu_object_image(const struct amdgpu_object *o, uint64_t *bytes)
{
	*bytes = o->image_bytes;
	return o->image;
}

unsigned amdgpu_object_code(const struct amdgpu_object *o, struct amdgpu_code *out, unsigned max)
{
	for (unsigned i = 0; i < o->ncode && i < max; i++)
		out[i] = o->code[i];
	return o->ncode;
}

bool amdgpu_object_symbol(const struct amdgpu_object *o, const char *name, uint64_t *address, uint64_t *bytes)
{
	for (size_t i = 0; i < o->nsymbols; i++) {
		const Elf64_Sym *s = &o->symbols[i];
		if (s->st_shndx == SHN_UNDEF || strcmp(symbol_name(o, s), name))
			continue;
		*address = o->address + s->st_value;
		*bytes = s->st_size;
		return true;
	}
	return false;
}

static int relocate(struct amdgpu_object *o, const Elf64_Rela *r, struct diag *d)
{
	uint32_t type = ELF64_R_TYPE(r->r_info), sym = ELF64_R_SYM(r->r_info);
	uint64_t value = (uint64_t)r->r_addend + o->address, place = o->address + r->r_offset;
	unsigned width = type == R_ABS64 || type == R_REL64 || type == R_RELATIVE64 ? 8 : 4;

	if (sym >= o->nsymbols && sym)
		return bad(d, "a relocation of a symbol that does not exist");
	if (type != R_RELATIVE64 && sym) {
		const Elf64_Sym *s = &o->symbols[sym];
		if (s->st_shndx == SHN_UNDEF)
			return diag_set(d, CUTRACE_ENOENT, "", "the code object needs symbol '%s'",
					symbol_name(o, s));
		value += s->st_value;
	}
	if (!range_inside(r->r_offset, width, o->image_bytes))
		return bad(d, "a relocation outside of the image");
	switch (type) {
	case R_ABS64:
	case R_RELATIVE64:
	case R_ABS32:
	case R_ABS32_LO: break;
	case R_ABS32_HI: value >>= 32; break;
	case R_REL32:
	case R_REL64: value -= place; break;
	default: return diag_set(d, CUTRACE_ENOTSUP, "", "relocation type %u is not supported", type);
	}
	memcpy(o->image + r->r_offset, &value, width);
	return 0;
}

int amdgpu_object_place(struct amdgpu_object *o, uint64_t address, struct diag *d)
{
	if (address % 4096)
		return diag_set(d, CUTRACE_EINVAL, "", "a code object needs an address aligned to 4096");
	o->address = address;
	for (size_t i = 0; i < o->nrelocs; i++) {
		int rc = relocate(o, &o->relocs[i], d);
		if (rc)
			return rc;
	}
	return 0;
}
