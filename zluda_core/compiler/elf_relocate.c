/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "zluda_core/compiler/elf_link.h"

/* AMDGPUUsage, "Relocation Records". */
enum {
	R_NONE,
	R_ABS32_LO,
	R_ABS32_HI,
	R_ABS64,
	R_REL32,
	R_REL64,
	R_ABS32,
	R_REL32_LO = 10,
	R_REL32_HI,
	R_RELATIVE64 = 13,
	R_REL16,
};

int elf_damaged(struct elf_linking *l, const char *what)
{
	return diag_set(l->d, CUTRACE_EFORMAT, "link", "LLVM's object is damaged: %s", what);
}

int elf_unsupported(struct elf_linking *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_vset(l->d, CUTRACE_ENOTSUP, "link", fmt, ap);
	va_end(ap);
	return CUTRACE_ENOTSUP;
}

/* ---- symbols ---------------------------------------------------------------------------------------- */

Elf64_Sym elf_symbol(const struct elf_linking *l, uint64_t k)
{
	Elf64_Sym s = {0};

	if (l->symtab && k < l->nsymbols)
		memcpy(&s, l->in + l->sections[l->symtab].h.sh_offset + k * sizeof(s), sizeof(s));
	return s;
}

const char *elf_symbol_name(const struct elf_linking *l, const Elf64_Sym *s)
{
	const Elf64_Shdr *strings = &l->sections[l->sections[l->symtab].h.sh_link].h;
	const char *p = (const char *)l->in + strings->sh_offset + s->st_name;

	if (s->st_name >= strings->sh_size || !memchr(p, 0, strings->sh_size - s->st_name))
		return "";
	return p;
}

int elf_symbol_address(struct elf_linking *l, const Elf64_Sym *s, uint64_t *address)
{
	*address = 0;
	if (s->st_shndx == SHN_ABS) {
		*address = s->st_value;
		return 0;
	}
	if (s->st_shndx == SHN_UNDEF) {
		if (ELF64_ST_BIND(s->st_info) == STB_WEAK)
			return 0;
		return diag_set(l->d, CUTRACE_ENOENT, "link", "symbol %s is defined nowhere",
				elf_symbol_name(l, s));
	}
	if (s->st_shndx >= l->nsections)
		return elf_unsupported(l, "symbol %s of section 0x%x", elf_symbol_name(l, s), s->st_shndx);
	if (!l->sections[s->st_shndx].kept)
		return elf_unsupported(l, "symbol %s of section %s", elf_symbol_name(l, s),
				       l->sections[s->st_shndx].name);
	*address = l->sections[s->st_shndx].address + s->st_value;
	return 0;
}

bool elf_symbol_exported(const Elf64_Sym *s)
{
	unsigned bind = ELF64_ST_BIND(s->st_info), visible = ELF64_ST_VISIBILITY(s->st_other);

	return (bind == STB_GLOBAL || bind == STB_WEAK) && s->st_shndx != SHN_UNDEF &&
	       (visible == STV_DEFAULT || visible == STV_PROTECTED);
}

/* ---- relocations ------------------------------------------------------------------------------------ */

static unsigned width_of(uint32_t type)
{
	return type == R_ABS64 || type == R_REL64 ? 8 : type == R_REL16 ? 2 : 4;
}

static bool is_absolute(uint32_t type)
{
	return type == R_ABS32 || type == R_ABS32_LO || type == R_ABS32_HI || type == R_ABS64;
}

static bool is_known(uint32_t type)
{
	return (type <= R_ABS32 && type) || type == R_REL32_LO || type == R_REL32_HI || type == R_REL16;
}

static uint64_t value_of(uint32_t type, uint64_t s_plus_a, uint64_t place)
{
	switch (type) {
	case R_ABS32_HI: return s_plus_a >> 32;
	case R_REL32:
	case R_REL64:
	case R_REL32_LO: return s_plus_a - place;
	case R_REL32_HI: return (s_plus_a - place) >> 32;
	case R_REL16: return (uint64_t)((int64_t)(s_plus_a - place - 4) / 4);
	default: return s_plus_a;
	}
}

/* What doesn't fit would be cut. */
static bool fits(uint32_t type, uint64_t v)
{
	if (type == R_REL32)
		return (int64_t)v == (int32_t)v;
	if (type == R_ABS32)
		return v <= UINT32_MAX;
	return type != R_REL16 || (int64_t)v == (int16_t)v;
}

static void leave_to_loader(struct elf_linking *l, uint64_t place, uint64_t value)
{
	Elf64_Rela r = {place, ELF64_R_INFO(0, R_RELATIVE64), (Elf64_Sxword)value};

	memcpy(l->out + l->dynamic_relocs + l->next_dynamic++ * sizeof(r), &r, sizeof(r));
}

static int apply_one(struct elf_linking *l, const struct elf_section *target, const Elf64_Rela *r)
{
	uint32_t type = ELF64_R_TYPE(r->r_info);
	Elf64_Sym s = elf_symbol(l, ELF64_R_SYM(r->r_info));
	uint64_t address, place = target->address + r->r_offset, v;
	bool loaded = target->h.sh_flags & SHF_ALLOC, constant = s.st_shndx == SHN_ABS;
	int rc = elf_symbol_address(l, &s, &address);

	if (rc)
		return rc;
	v = value_of(type, address + (uint64_t)r->r_addend, place);
	if (!fits(type, v))
		return elf_unsupported(l, "a relocation of type %u does not reach", type);
	if (loaded && type == R_ABS64 && !constant)
		leave_to_loader(l, place, v);
	memcpy(l->out + target->offset + r->r_offset, &v, width_of(type));
	return 0;
}

static int check_one(struct elf_linking *l, const struct elf_section *target, const Elf64_Rela *r)
{
	uint32_t type = ELF64_R_TYPE(r->r_info);
	uint64_t k = ELF64_R_SYM(r->r_info);
	Elf64_Sym s = elf_symbol(l, k);
	bool loaded = target->h.sh_flags & SHF_ALLOC, constant = s.st_shndx == SHN_ABS;

	if (!is_known(type))
		return elf_unsupported(l, "relocation type %u", type);
	if (!k || k >= l->nsymbols || target->h.sh_type == SHT_NOBITS || r->r_offset > target->h.sh_size ||
	    width_of(type) > target->h.sh_size - r->r_offset)
		return elf_damaged(l, "a relocation outside of its section");
	if (!loaded || !is_absolute(type) || constant)
		return 0;
	if (type != R_ABS64 || !(target->h.sh_flags & SHF_WRITE))
		return elf_unsupported(l, "an address in %s, which can't be changed when it is loaded",
				       target->name);
	l->ndynamic++;
	return 0;
}

typedef int (*relocation_visit)(struct elf_linking *l, const struct elf_section *target, const Elf64_Rela *r);

static int visit_section(struct elf_linking *l, const Elf64_Shdr *h, relocation_visit visit)
{
	const struct elf_section *target = &l->sections[h->sh_info];
	Elf64_Rela r;

	for (uint64_t k = 0; k < h->sh_size / sizeof(r); k++) {
		memcpy(&r, l->in + h->sh_offset + k * sizeof(r), sizeof(r));
		int rc = visit(l, target, &r);
		if (rc)
			return rc;
	}
	return 0;
}

static int visit_all(struct elf_linking *l, relocation_visit visit)
{
	for (unsigned k = 1; k < l->nsections; k++) {
		const Elf64_Shdr *h = &l->sections[k].h;

		if (h->sh_type == SHT_REL)
			return elf_unsupported(l, "relocations without addends");
		if (h->sh_type != SHT_RELA)
			continue;
		if (h->sh_info >= l->nsections || h->sh_link != l->symtab ||
		    h->sh_entsize != sizeof(Elf64_Rela))
			return elf_damaged(l, "relocations of no section");
		int rc = l->sections[h->sh_info].kept ? visit_section(l, h, visit) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

int elf_relocations_count(struct elf_linking *l)
{
	return visit_all(l, check_one);
}

int elf_relocations_apply(struct elf_linking *l)
{
	return visit_all(l, apply_one);
}
