/* SPDX-License-Identifier: Apache-2.0
 * ELF-64 as in the gABI. The CUDA parts (e_flags, the entry bit of st_other, .nv.info attributes) are those
 * that `readelf -hsx` shows for cubins of sm_75 ... sm_120 built by nvcc 13.0; LLVM's BinaryFormat/ELF.h
 * names the flags. */
#include "ptx/cubin.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/range.h"

#define EM_CUDA_ID        190
#define STO_CUDA_ENTRY    0x10
#define SHT_CUDA_INFO     SHT_LOPROC
#define INFO_PREFIX       ".nv.info."
#define MAX_PARAMS        4096u
#define ABI_ARCH_AT_BIT_8 8 /* from this ABI version on, the architecture is in bits 8..15 of e_flags */

/* .nv.info: records {u8 format, u8 attribute, u16 value or size}, format 4 is followed by `size` bytes. */
enum { INFO_SIZED = 4 };
enum {
	ATTR_PARAM_CBANK = 0x0a,      /* u32 symbol, u16 offset, u16 bytes of the parameter block */
	ATTR_KPARAM_INFO = 0x17,      /* u32 index, u16 ordinal, u16 offset, u32: bytes << 18 | ... */
	ATTR_CBANK_PARAM_SIZE = 0x19, /* value: bytes of the parameter block */
	ATTR_KPARAM_INFO_V2 = 0x45, /* u32 index, u16 ordinal, u16 offset, u32 bytes; for large parameters */
};
#define KPARAM_SIZE_SHIFT     18
#define KPARAM_SPACE(v)       ((v) >> 8 & 0xf)
#define KPARAM_GLOBAL_POINTER 5

struct elf {
	const uint8_t *p;
	size_t bytes;
	Elf64_Ehdr h;
	unsigned nsections;
	const char *names; /* of sections */
	size_t names_bytes;
};

static int bad(struct diag *d, const char *why)
{
	return diag_set(d, CUTRACE_EFORMAT, "cubin", "%s", why);
}

static bool section(const struct elf *e, unsigned i, Elf64_Shdr *s)
{
	if (i >= e->nsections)
		return false;
	memcpy(s, e->p + e->h.e_shoff + (uint64_t)i * sizeof(*s), sizeof(*s));
	return s->sh_type == SHT_NOBITS || range_inside(s->sh_offset, s->sh_size, e->bytes);
}

/* A NUL-terminated string of a string table, or NULL. */
static const char *string_at(const char *table, size_t bytes, uint64_t offset)
{
	if (!table || offset >= bytes || !memchr(table + offset, '\0', bytes - offset))
		return NULL;
	return table + offset;
}

static const char *section_name(const struct elf *e, const Elf64_Shdr *s)
{
	const char *name = string_at(e->names, e->names_bytes, s->sh_name);

	return name ? name : "";
}

static int open_elf(struct elf *e, const void *p, size_t bytes, struct diag *d)
{
	Elf64_Shdr s;

	memset(e, 0, sizeof(*e));
	e->p = p;
	e->bytes = bytes;
	if (bytes < sizeof(e->h) || memcmp(p, ELFMAG, SELFMAG) != 0)
		return bad(d, "this is no ELF file");
	memcpy(&e->h, p, sizeof(e->h));
	if (e->h.e_ident[EI_CLASS] != ELFCLASS64 || e->h.e_ident[EI_DATA] != ELFDATA2LSB)
		return bad(d, "only 64-bit little-endian ELF is read");
	if (e->h.e_machine != EM_CUDA_ID)
		return bad(d, "this ELF file is not for a CUDA device");
	if (!e->h.e_shoff)
		return 0;
	if (e->h.e_shentsize != sizeof(s) || !range_inside(e->h.e_shoff, sizeof(s), e->bytes))
		return bad(d, "the section table is out of bounds");
	memcpy(&s, e->p + e->h.e_shoff, sizeof(s));
	if (!e->h.e_shnum && s.sh_size > UINT32_MAX)
		return bad(d, "the section table is out of bounds");
	e->nsections = e->h.e_shnum ? e->h.e_shnum : (unsigned)s.sh_size;
	if (!range_inside(e->h.e_shoff, (uint64_t)e->nsections * sizeof(s), e->bytes))
		return bad(d, "the section table is out of bounds");
	if (section(e, e->h.e_shstrndx == SHN_XINDEX ? s.sh_link : e->h.e_shstrndx, &s) &&
	    s.sh_type == SHT_STRTAB) {
		e->names = (const char *)e->p + s.sh_offset;
		e->names_bytes = s.sh_size;
	}
	return 0;
}

/* The symbol table: calls fn for each symbol that has a name. */
typedef int symbol_fn(struct cubin *c, const struct elf *e, const Elf64_Sym *sym, const char *name);

static int each_symbol(struct cubin *c, const struct elf *e, symbol_fn *fn)
{
	Elf64_Shdr s, strings;
	unsigned i;
	int rc = 0;

	for (i = 0; i < e->nsections; i++) {
		uint64_t k;

		if (!section(e, i, &s) || s.sh_type != SHT_SYMTAB || s.sh_entsize != sizeof(Elf64_Sym) ||
		    !section(e, s.sh_link, &strings) || strings.sh_type != SHT_STRTAB)
			continue;
		for (k = 0; k < s.sh_size / sizeof(Elf64_Sym) && !rc; k++) {
			const char *name;
			Elf64_Sym sym;

			memcpy(&sym, e->p + s.sh_offset + k * sizeof(sym), sizeof(sym));
			name = string_at((const char *)e->p + strings.sh_offset, strings.sh_size,
					 sym.st_name);
			if (name && *name)
				rc = fn(c, e, &sym, name);
		}
		break; /* gABI: there is at most one */
	}
	return rc;
}

static bool is_kernel(const Elf64_Sym *s)
{
	return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_other & STO_CUDA_ENTRY &&
	       s->st_shndx != SHN_UNDEF;
}

/* Device variables live in .nv.global*, user constants in bank 3. */
static bool is_variable(const struct elf *e, const Elf64_Sym *sym, enum cubin_space *space)
{
	Elf64_Shdr s;
	const char *name;

	if (ELF64_ST_TYPE(sym->st_info) != STT_OBJECT || !section(e, sym->st_shndx, &s))
		return false;
	name = section_name(e, &s);
	*space = strcmp(name, ".nv.constant3") == 0 ? CUBIN_CONSTANT : CUBIN_GLOBAL;
	return *space == CUBIN_CONSTANT || strncmp(name, ".nv.global", 10) == 0;
}

static int count_symbol(struct cubin *c, const struct elf *e, const Elf64_Sym *s, const char *name)
{
	enum cubin_space space;

	(void)name;
	c->nkernels += is_kernel(s);
	c->nvariables += is_variable(e, s, &space);
	return 0;
}

static int add_symbol(struct cubin *c, const struct elf *e, const Elf64_Sym *s, const char *name)
{
	enum cubin_space space;

	if (is_kernel(s)) {
		c->kernels[c->nkernels++].name = name;
	} else if (is_variable(e, s, &space)) {
		struct cubin_variable *v = &c->variables[c->nvariables++];

		v->name = name;
		v->bytes = s->st_size;
		v->space = space;
		v->visible = ELF64_ST_BIND(s->st_info) != STB_LOCAL;
	}
	return 0;
}

/* One attribute record; returns its size, 0 at the end or when it is cut off. */
struct attribute {
	uint8_t format, id;
	uint16_t value;
	const uint8_t *data; /* `value` bytes when format is INFO_SIZED */
};

static size_t next_attribute(const uint8_t *p, size_t left, struct attribute *a)
{
	if (left < 4)
		return 0;
	a->format = p[0];
	a->id = p[1];
	memcpy(&a->value, p + 2, 2);
	a->data = p + 4;
	if (a->format != INFO_SIZED)
		return 4;
	return a->value <= left - 4 ? 4u + a->value : 0;
}

static bool is_param_attribute(const struct attribute *a)
{
	return a->format == INFO_SIZED && a->value >= 12 &&
	       (a->id == ATTR_KPARAM_INFO || a->id == ATTR_KPARAM_INFO_V2);
}

static void read_param(const struct attribute *a, struct cubin_param *out)
{
	uint16_t ordinal, offset;
	uint32_t word;

	memcpy(&ordinal, a->data + 4, 2);
	memcpy(&offset, a->data + 6, 2);
	memcpy(&word, a->data + 8, 4);
	out->ordinal = ordinal;
	out->offset = offset;
	out->bytes = a->id == ATTR_KPARAM_INFO ? word >> KPARAM_SIZE_SHIFT : word;
	out->maybe_pointer = a->id == ATTR_KPARAM_INFO && KPARAM_SPACE(word) == KPARAM_GLOBAL_POINTER;
}

static void read_block_size(const struct attribute *a, struct cubin_kernel *k)
{
	uint16_t bytes;

	if (a->id == ATTR_CBANK_PARAM_SIZE && a->format != INFO_SIZED) {
		k->param_bytes = a->value;
	} else if (a->id == ATTR_PARAM_CBANK && a->format == INFO_SIZED && a->value >= 8) {
		memcpy(&bytes, a->data + 6, 2);
		k->param_bytes = bytes;
	}
}

static int by_ordinal(const void *a, const void *b)
{
	const struct cubin_param *x = a, *y = b;

	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

static int read_info(struct cubin *c, struct cubin_kernel *k, const uint8_t *p, size_t bytes)
{
	struct attribute a;
	unsigned n = 0;
	size_t at, step;

	for (at = 0; (step = next_attribute(p + at, bytes - at, &a)); at += step)
		n += is_param_attribute(&a);
	n = n < MAX_PARAMS ? n : MAX_PARAMS;
	k->params = arena_array(&c->arena, n ? n : 1, sizeof(*k->params));
	if (!k->params)
		return CUTRACE_ENOMEM;
	k->nparams = 0;
	for (at = 0; (step = next_attribute(p + at, bytes - at, &a)); at += step) {
		if (is_param_attribute(&a) && k->nparams < n)
			read_param(&a, &k->params[k->nparams++]);
		else
			read_block_size(&a, k);
	}
	qsort(k->params, k->nparams, sizeof(*k->params), by_ordinal);
	k->params_known = k->nparams || !k->param_bytes;
	return 0;
}

static int read_infos(struct cubin *c, const struct elf *e)
{
	Elf64_Shdr s;
	unsigned i;

	for (i = 0; i < e->nsections; i++) {
		const char *name;
		struct cubin_kernel *k;

		if (!section(e, i, &s) || s.sh_type != SHT_CUDA_INFO)
			continue;
		name = section_name(e, &s);
		if (strncmp(name, INFO_PREFIX, sizeof(INFO_PREFIX) - 1) != 0)
			continue;
		k = (struct cubin_kernel *)cubin_kernel_find(c, name + sizeof(INFO_PREFIX) - 1);
		if (k && !k->params && read_info(c, k, e->p + s.sh_offset, s.sh_size))
			return CUTRACE_ENOMEM;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct cubin_kernel *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int cubin_open(struct cubin *c, const void *p, size_t bytes, struct diag *d)
{
	struct elf e;
	int rc;

	memset(c, 0, sizeof(*c));
	rc = open_elf(&e, p, bytes, d);
	if (rc)
		return rc;
	c->abi = e.h.e_ident[EI_ABIVERSION];
	c->arch = c->abi >= ABI_ARCH_AT_BIT_8 ? e.h.e_flags >> 8 & 0xff : e.h.e_flags & 0xff;
	each_symbol(c, &e, count_symbol);
	c->kernels = arena_array(&c->arena, c->nkernels + 1, sizeof(*c->kernels));
	c->variables = arena_array(&c->arena, c->nvariables + 1, sizeof(*c->variables));
	if (!c->kernels || !c->variables)
		return diag_set(d, CUTRACE_ENOMEM, "cubin", "out of memory");
	c->nkernels = c->nvariables = 0;
	each_symbol(c, &e, add_symbol);
	qsort(c->kernels, c->nkernels, sizeof(*c->kernels), by_name);
	if (read_infos(c, &e))
		return diag_set(d, CUTRACE_ENOMEM, "cubin", "out of memory");
	return 0;
}

void cubin_close(struct cubin *c)
{
	arena_free(&c->arena);
	memset(c, 0, sizeof(*c));
}

const struct cubin_kernel *cubin_kernel_find(const struct cubin *c, const char *name)
{
	struct cubin_kernel key = {.name = name};

	return bsearch(&key, c->kernels, c->nkernels, sizeof(key), by_name);
}
