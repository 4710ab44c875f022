/* SPDX-License-Identifier: Apache-2.0
 *
 * From what a program hands over (PTX text, fatbin, the wrapper around one, machine code) to a parsed PTX
 * module.
 */
#include "core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/image.h"
#include "ptx/cubin.h"
#include "ptx/fatbin.h"

size_t image_bytes(const void *image)
{
	return image_size(image);
}

CUresult file_read(const char *path, void **data, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	CUresult r = CUDA_SUCCESS;
	struct stat st;
	char *p = NULL;

	if (!f)
		return CUDA_ERROR_FILE_NOT_FOUND;
	if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode))
		r = CUDA_ERROR_FILE_NOT_FOUND;
	else if (!(p = malloc((size_t)st.st_size + 1)))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	else if (fread(p, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		r = CUDA_ERROR_OPERATING_SYSTEM;
	fclose(f);
	if (r) {
		free(p);
		return r;
	}
	p[st.st_size] = 0; /* text ends */
	*data = p;
	*bytes = (size_t)st.st_size;
	return CUDA_SUCCESS;
}

/* Newer than the device: run all the same, since nothing older is there. */
static void say_newer(const struct ptx_module *m, const struct gpu *gpu)
{
	static atomic_uint said; /* bit a target's remainder: a few lines at most */
	unsigned cc = gpu->props.cc_major * 10 + gpu->props.cc_minor;
	unsigned bit = 1u << m->target % 32;

	if (m->target <= cc || atomic_fetch_or(&said, bit) & bit)
		return;
	say("%s: PTX for sm_%u is run on a device of compute capability %u.%u: there is none for older "
	    "devices",
	    m->name, m->target, cc / 10, cc % 10);
}

static CUresult parse_text(const char *text, size_t bytes, const char *name, struct gpu *gpu, struct jit *jit,
			   struct ptx_module **out)
{
	struct diag d = DIAG_INIT;
	char full[128];
	struct ptx_module *m;

	snprintf(full, sizeof(full), "%s%s", name, strchr(name, '.') ? "" : ".ptx");
	m = ptx_module_parse(text, bytes, full, &d);
	if (!m) {
		jit_diag(jit, &d);
		return d.code == CUTRACE_ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
	}
	if (m->nerrors) {
		for (uint32_t i = 0; i < m->nerrors; i++)
			jit_diag(jit, &m->errors[i]);
		ptx_module_free(m);
		return CUDA_ERROR_INVALID_PTX;
	}
	say_newer(m, gpu);
	*out = m;
	return CUDA_SUCCESS;
}

static CUresult no_ptx(const char *name, const char *what, struct jit *jit)
{
	say("%s has no PTX, only %s: it can't run on this device. Build it with -gencode "
	    "arch=compute_XX,code=compute_XX",
	    name, what);
	jit_log(jit, true, "error: %s has no PTX, only %s\n", name, what);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* More than one container with code is relocatable device code, to be linked. One that can only serve newer
 * devices (the device runtime that nvcc adds is for the newest) is not needed as long as nothing refers to
 * it. */
static CUresult check_single(const struct fatbin *fb, unsigned chosen, unsigned cc, const char *name,
			     struct jit *jit)
{
	unsigned with_ptx = 0, last = UINT32_MAX;

	for (unsigned i = 0; i < fb->nentries; i++) {
		const struct fatbin_entry *e = &fb->entries[i];

		if (e->kind != FATBIN_PTX || e->container == last ||
		    (e->arch > cc && e->container != fb->entries[chosen].container))
			continue;
		last = e->container;
		with_ptx++;
	}
	if (with_ptx <= 1)
		return CUDA_SUCCESS;
	say("%s is made of %u pieces of relocatable device code: linking PTX is not supported", name,
	    with_ptx);
	jit_log(jit, true, "error: %s: linking relocatable PTX is not supported\n", name);
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult parse_entry(const struct fatbin_entry *e, const char *name, struct gpu *gpu, struct jit *jit,
			    struct ptx_module **out)
{
	struct diag d = DIAG_INIT;
	char entry_name[128];
	size_t bytes;
	void *text;
	CUresult r;

	if (fatbin_entry_load(e, &text, &bytes, &d)) {
		jit_diag(jit, &d);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	if (e->name_bytes)
		snprintf(entry_name, sizeof(entry_name), "%.*s.ptx", (int)strnlen(e->name, e->name_bytes),
			 e->name);
	else
		snprintf(entry_name, sizeof(entry_name), "%s", name);
	r = parse_text(text, bytes, entry_name, gpu, jit, out);
	free(text);
	return r;
}

static CUresult parse_fatbin(const void *data, size_t bytes, const char *name, struct gpu *gpu,
			     struct jit *jit, struct ptx_module **out)
{
	unsigned cc = gpu->props.cc_major * 10 + gpu->props.cc_minor, index;
	struct diag d = DIAG_INIT;
	struct fatbin fb = {0};
	char list[400];
	CUresult r;

	if (fatbin_open(&fb, data, bytes, &d)) {
		jit_diag(jit, &d);
		r = CUDA_ERROR_INVALID_IMAGE;
	} else if (fatbin_choose_ptx(&fb, cc, &index) < 0) {
		fatbin_describe(&fb, list, sizeof(list));
		r = no_ptx(name, list[0] ? list : "nothing at all", jit);
	} else {
		r = check_single(&fb, index, cc, name, jit);
		if (!r)
			r = parse_entry(&fb.entries[index], name, gpu, jit, out);
	}
	fatbin_close(&fb);
	return r;
}

/* The pieces of a wrapper in memory, one after the other. */
static CUresult parse_parts(const void *image, const char *name, struct gpu *gpu, struct jit *jit,
			    struct ptx_module **out)
{
	size_t n = image_parts(image, NULL, 0);
	struct image_part *parts = calloc(n + 1, sizeof(*parts));
	size_t bytes = 0, at = 0;
	CUresult r = CUDA_ERROR_INVALID_IMAGE;
	char *all;

	if (!parts)
		return CUDA_ERROR_OUT_OF_MEMORY;
	image_parts(image, parts, n);
	for (size_t i = 0; i < n; i++)
		bytes += parts[i].bytes;
	if (n == 1) {
		r = parse_fatbin(parts[0].data, parts[0].bytes, name, gpu, jit, out);
	} else if (n > 1 && (all = malloc(bytes))) {
		for (size_t i = 0; i < n; i++) {
			memcpy(all + at, parts[i].data, parts[i].bytes);
			at += parts[i].bytes;
		}
		r = parse_fatbin(all, bytes, name, gpu, jit, out);
		free(all);
	}
	free(parts);
	return r;
}

/* A cubin: which architecture it is for is all that is read of it. */
static CUresult refuse_cubin(const void *image, size_t bytes, const char *name, struct jit *jit)
{
	struct diag d = DIAG_INIT;
	struct cubin c = {0};
	char what[64];

	if (cubin_open(&c, image, bytes ? bytes : image_size(image), &d)) {
		snprintf(d.where, sizeof(d.where), "%s", name);
		jit_diag(jit, &d);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	snprintf(what, sizeof(what), "machine code for sm_%u (a cubin)", c.arch);
	cubin_close(&c);
	return no_ptx(name, what, jit);
}

/* bytes = 0: as long as the image says itself. */
CUresult image_parse(const void *image, size_t bytes, const char *name, struct gpu *gpu, struct jit *jit,
		     struct ptx_module **out)
{
	size_t max = bytes ? bytes : SIZE_MAX;

	switch (image_probe(image, max)) {
	case IMAGE_PTX:
		return parse_text(image, bytes ? strnlen(image, bytes) : strlen(image), name, gpu, jit, out);
	case IMAGE_FATBIN:
		if (bytes)
			return parse_fatbin(image, bytes, name, gpu, jit, out);
		return parse_parts(image, name, gpu, jit, out);
	case IMAGE_FATBIN_WRAPPER: return parse_parts(image, name, gpu, jit, out);
	case IMAGE_CUBIN: return refuse_cubin(image, bytes, name, jit);
	case IMAGE_LTO: return no_ptx(name, "LTO-IR", jit);
	case IMAGE_UNKNOWN: break;
	}
	jit_log(jit, true, "error: %s is neither PTX nor a fatbin nor a cubin\n", name);
	return CUDA_ERROR_INVALID_IMAGE;
}
