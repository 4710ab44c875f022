/* SPDX-License-Identifier: Apache-2.0
 *
 * Where nvcc puts device code in a host file: section .nv_fatbin has one container for each source file, a module of its
 * own; __nv_relfatbin those of relocatable code, which are linked.
 */
#include "cli/compile.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/image.h"
#include "base/range.h"
#include "ptx/fatbin.h"
#include "ptx/link.h"

struct reading {
	const char *path;
	unsigned cc;
	uint8_t *data;
	size_t bytes;
	struct device_code *out;
	struct diag *d;
};

static int out_of_memory(struct reading *r)
{
	return diag_set(r->d, CUTRACE_ENOMEM, r->path, "out of memory");
}

/* Takes the text. */
static int add(struct reading *r, char *text, size_t bytes, const char *name)
{
	struct code_module *grown =
		realloc(r->out->modules, (r->out->nmodules + 1) * sizeof(*r->out->modules));
	char *copy = strdup(name);

	if (grown)
		r->out->modules = grown;
	if (!grown || !copy || !text) {
		free(copy);
		free(text);
		return out_of_memory(r);
	}
	grown[r->out->nmodules++] = (struct code_module){copy, text, bytes};
	return 0;
}

/* "a.cu.ptx" as the compiler noted it, else the file's name. */
static void name_of(const struct reading *r, const struct fatbin_entry *e, char *name, size_t room)
{
	const char *slash = strrchr(r->path, '/');

	if (e->name_bytes)
		snprintf(name, room, "%.*s.ptx", (int)strnlen(e->name, e->name_bytes), e->name);
	else
		snprintf(name, room, "%s", slash ? slash + 1 : r->path);
}

static int link_entries(struct reading *r, const struct fatbin *fb, const unsigned *indexes, unsigned n)
{
	struct ptx_link_input *inputs = calloc(n, sizeof(*inputs));
	struct ptx_linked linked = {0};
	void **texts = calloc(n, sizeof(*texts));
	char(*names)[128] = calloc(n, sizeof(*names));
	int rc = inputs && texts && names ? 0 : out_of_memory(r);

	for (unsigned k = 0; k < n && !rc; k++) {
		rc = fatbin_entry_load(&fb->entries[indexes[k]], &texts[k], &inputs[k].bytes, r->d);
		name_of(r, &fb->entries[indexes[k]], names[k], sizeof(names[k]));
		inputs[k].name = names[k];
		inputs[k].text = texts[k];
	}
	if (!rc && (rc = ptx_link(inputs, n, &linked)) && linked.nerrors)
		*r->d = linked.errors[0];
	if (!rc) {
		rc = add(r, linked.text, linked.bytes, r->path);
		linked.text = NULL;
	}
	ptx_linked_free(&linked);
	for (unsigned k = 0; k < n && texts; k++)
		free(texts[k]);
	free(texts);
	free(inputs);
	free(names);
	return rc;
}

/* What one load of these containers would give: one text, or several that are linked. */
static int add_containers(struct reading *r, const void *data, size_t bytes)
{
	struct fatbin fb = {0};
	unsigned *indexes = NULL, n = 0, left_out;
	char name[128];
	size_t text_bytes;
	void *text;
	int rc = fatbin_open(&fb, data, bytes, r->d);

	if (!rc) {
		indexes = calloc(fb.ncontainers + 1, sizeof(*indexes));
		rc = indexes ? 0 : out_of_memory(r);
	}
	if (!rc)
		n = fatbin_link_set(&fb, r->cc, indexes, &left_out);
	if (!rc && n == 1) {
		rc = fatbin_entry_load(&fb.entries[indexes[0]], &text, &text_bytes, r->d);
		name_of(r, &fb.entries[indexes[0]], name, sizeof(name));
		if (!rc)
			rc = add(r, text, text_bytes, name);
	} else if (!rc && n > 1) {
		rc = link_entries(r, &fb, indexes, n);
	} else if (!rc && fb.nentries) {
		r->out->without_ptx++;
	}
	fatbin_close(&fb);
	free(indexes);
	return rc;
}

/* Each container of the section is a module. */
static int add_each_container(struct reading *r, const uint8_t *p, size_t bytes)
{
	int rc = 0;

	while (bytes >= 16 && !rc) {
		size_t n = image_container_size(p, bytes);

		if (!n) { /* padding */
			p += 8;
			bytes -= 8;
			continue;
		}
		rc = add_containers(r, p, n);
		p += n;
		bytes -= n;
	}
	return rc;
}

static bool section_at(const struct reading *r, const Elf64_Ehdr *h, unsigned k, Elf64_Shdr *s)
{
	if (!range_inside(h->e_shoff, (k + 1ull) * sizeof(*s), r->bytes))
		return false;
	memcpy(s, r->data + h->e_shoff + k * sizeof(*s), sizeof(*s));
	return s->sh_type == SHT_NOBITS || range_inside(s->sh_offset, s->sh_size, r->bytes);
}

static int read_section(struct reading *r, const Elf64_Shdr *s, const Elf64_Shdr *names)
{
	const char *name;

	if (s->sh_type != SHT_PROGBITS || s->sh_name >= names->sh_size)
		return 0;
	name = (const char *)r->data + names->sh_offset + s->sh_name;
	if (!memchr(name, 0, names->sh_size - s->sh_name))
		return 0;
	if (!strcmp(name, ".nv_fatbin"))
		return add_each_container(r, r->data + s->sh_offset, s->sh_size);
	if (!strcmp(name, "__nv_relfatbin"))
		return add_containers(r, r->data + s->sh_offset, s->sh_size);
	return 0;
}

static int read_host_file(struct reading *r)
{
	Elf64_Shdr names, s;
	Elf64_Ehdr h;
	int rc = 0;

	memcpy(&h, r->data, sizeof(h));
	if (!section_at(r, &h, h.e_shstrndx, &names) || names.sh_type != SHT_STRTAB)
		return diag_set(r->d, CUTRACE_EFORMAT, r->path, "the ELF file has no section names");
	for (unsigned k = 1; k < h.e_shnum && !rc; k++)
		if (section_at(r, &h, k, &s))
			rc = read_section(r, &s, &names);
	return rc;
}

static int no_ptx(const struct reading *r)
{
	if (r->out->without_ptx)
		diag_set(r->d, CUTRACE_ENOENT, r->path,
			 "its device code is machine code only: there is no PTX");
	else
		diag_set(r->d, CUTRACE_ENOENT, r->path, "there is no device code in it");
	diag_hint(r->d, "nvcc embeds PTX with -gencode arch=compute_XX,code=compute_XX");
	return CUTRACE_ENOENT;
}

static bool is_host_file(const struct reading *r)
{
	Elf64_Ehdr h;

	if (r->bytes < sizeof(h))
		return false;
	memcpy(&h, r->data, sizeof(h));
	return !memcmp(h.e_ident, ELFMAG, SELFMAG) && h.e_ident[EI_CLASS] == ELFCLASS64 &&
	       h.e_machine != EM_CUDA;
}

static int read_any(struct reading *r)
{
	const char *slash = strrchr(r->path, '/');

	if (is_host_file(r))
		return read_host_file(r);
	switch (image_probe(r->data, r->bytes)) {
	case IMAGE_PTX: {
		size_t n = strnlen((const char *)r->data, r->bytes);
		return add(r, strndup((const char *)r->data, n), n, slash ? slash + 1 : r->path);
	}
	case IMAGE_FATBIN: return add_containers(r, r->data, r->bytes);
	case IMAGE_CUBIN: r->out->without_ptx++; return 0;
	default: break;
	}
	diag_set(r->d, CUTRACE_EFORMAT, r->path,
		 "is neither PTX, a fatbin, an object, a program nor a library");
	return CUTRACE_EFORMAT;
}

static int load_file(struct reading *r)
{
	FILE *in = fopen(r->path, "rb");
	struct stat st;
	int rc = 0;

	if (!in)
		return diag_set(r->d, CUTRACE_EIO, r->path, "can't read: %s", strerror(errno));
	if (fstat(fileno(in), &st) || !S_ISREG(st.st_mode))
		rc = diag_set(r->d, CUTRACE_EIO, r->path, "is no file");
	else if (!(r->data = malloc((size_t)st.st_size + 1)))
		rc = out_of_memory(r);
	else if ((r->bytes = fread(r->data, 1, (size_t)st.st_size, in)) != (size_t)st.st_size)
		rc = diag_set(r->d, CUTRACE_EIO, r->path, "can't read: %s", strerror(errno));
	else
		r->data[r->bytes] = '\0';
	fclose(in);
	return rc;
}

int device_code_read(const char *path, unsigned cc, struct device_code *out, struct diag *d)
{
	struct reading r = {.path = path, .cc = cc, .out = out, .d = d};
	int rc;

	memset(out, 0, sizeof(*out));
	rc = load_file(&r);
	if (!rc)
		rc = read_any(&r);
	if (!rc && !out->nmodules)
		rc = no_ptx(&r);
	free(r.data);
	if (rc)
		device_code_free(out);
	return rc;
}

void device_code_free(struct device_code *c)
{
	for (unsigned k = 0; k < c->nmodules; k++) {
		free(c->modules[k].name);
		free(c->modules[k].text);
	}
	free(c->modules);
	memset(c, 0, sizeof(*c));
}
