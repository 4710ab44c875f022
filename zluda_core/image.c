/* SPDX-License-Identifier: Apache-2.0
 *
 * From what a program hands over (PTX text, fatbin, the wrapper around one, machine code) to a parsed PTX
 * module: one text, or several of relocatable device code, linked.
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

/* True when one of them makes the text invalid; what is only not supported waits until its kernel is asked for. */
static bool report_errors(const struct ptx_module *m, struct jit *jit)
{
	bool invalid = false;

	for (uint32_t i = 0; i < m->nerrors; i++) {
		jit_diag(jit, &m->errors[i]);
		invalid |= m->errors[i].code != CUTRACE_ENOTSUP || i < m->nown_errors;
	}
	if (m->nerrors == PTX_MAX_ERRORS)
		jit_log(jit, true, "%s: there may be more errors: only %u are reported\n", m->name,
			m->nerrors);
	return invalid;
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
	/* Bodies are read when their kernels are asked for; a program that gives a log wants to know now. */
	if (jit->error && jit->error_size)
		ptx_module_check(m);
	if (m->nerrors && report_errors(m, jit)) {
		ptx_module_free(m);
		return CUDA_ERROR_INVALID_PTX;
	}
	if (jit_check_module(jit, m)) {
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

/* ---- the PTX texts of an image ------------------------------------------------------ */

static CUresult add_text(struct image_texts *t, const char *text, size_t bytes, char *owned, const char *name)
{
	struct image_text *grown = realloc(t->texts, (t->n + 1) * sizeof(*grown));
	char *copy = strdup(name);

	if (grown)
		t->texts = grown;
	if (!grown || !copy) {
		free(copy);
		free(owned);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	t->texts[t->n++] = (struct image_text){{copy, text, bytes}, copy, owned};
	return CUDA_SUCCESS;
}

void image_texts_free(struct image_texts *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		free(t->texts[i].name);
		free(t->texts[i].owned);
	}
	free(t->texts);
	*t = (struct image_texts){0};
}

CUresult image_texts_keep(struct image_texts *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct image_text *x = &t->texts[i];

		if (x->owned)
			continue;
		x->owned = malloc(x->in.bytes + 1);
		if (!x->owned)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(x->owned, x->in.text, x->in.bytes);
		x->owned[x->in.bytes] = 0;
		x->in.text = x->owned;
	}
	return CUDA_SUCCESS;
}

/* "a.cu.ptx" as the compiler noted it, else "module3.ptx", or of several pieces "module3.2.ptx". */
static CUresult add_entry(struct image_texts *t, const struct fatbin_entry *e, const char *name, bool single,
			  struct jit *jit)
{
	struct diag d = DIAG_INIT;
	char full[128];
	size_t bytes;
	void *text;

	if (fatbin_entry_load(e, &text, &bytes, &d)) {
		jit_diag(jit, &d);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	if (e->name_bytes)
		snprintf(full, sizeof(full), "%.*s.ptx", (int)strnlen(e->name, e->name_bytes), e->name);
	else if (single)
		snprintf(full, sizeof(full), "%s", name);
	else
		snprintf(full, sizeof(full), "%s.%u", name, e->container);
	return add_text(t, text, bytes, text, full);
}

static CUresult add_entries(struct image_texts *t, const struct fatbin *fb, unsigned cc, const char *name,
			    struct jit *jit)
{
	unsigned *indexes = calloc(fb->ncontainers + 1, sizeof(*indexes)), n, left_out;
	CUresult r = indexes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	n = indexes ? fatbin_link_set(fb, cc, indexes, &left_out) : 0;
	for (unsigned i = 0; i < n && !r; i++)
		r = add_entry(t, &fb->entries[indexes[i]], name, n == 1, jit);
	if (n)
		t->left_out += left_out;
	free(indexes);
	return r;
}

static CUresult collect_fatbin(struct image_texts *t, const void *data, size_t bytes, const char *name,
			       struct gpu *gpu, struct jit *jit)
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
		r = add_entries(t, &fb, cc, name, jit);
	}
	fatbin_close(&fb);
	return r;
}

/* The pieces of a wrapper in memory, one after the other. */
static CUresult collect_parts(struct image_texts *t, const void *image, const char *name, struct gpu *gpu,
			      struct jit *jit)
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
		r = collect_fatbin(t, parts[0].data, parts[0].bytes, name, gpu, jit);
	} else if (n > 1 && (all = malloc(bytes))) {
		for (size_t i = 0; i < n; i++) {
			memcpy(all + at, parts[i].data, parts[i].bytes);
			at += parts[i].bytes;
		}
		r = collect_fatbin(t, all, bytes, name, gpu, jit);
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

CUresult image_collect(struct image_texts *t, const void *image, size_t bytes, const char *name,
		       struct gpu *gpu, struct jit *jit)
{
	size_t max = bytes ? bytes : SIZE_MAX;

	switch (image_probe(image, max)) {
	case IMAGE_PTX: return add_text(t, image, bytes ? strnlen(image, bytes) : strlen(image), NULL, name);
	case IMAGE_FATBIN:
		if (bytes)
			return collect_fatbin(t, image, bytes, name, gpu, jit);
		return collect_parts(t, image, name, gpu, jit);
	case IMAGE_FATBIN_WRAPPER: return collect_parts(t, image, name, gpu, jit);
	case IMAGE_CUBIN: return refuse_cubin(image, bytes, name, jit);
	case IMAGE_LTO: return no_ptx(name, "LTO-IR", jit);
	case IMAGE_UNKNOWN: break;
	}
	jit_log(jit, true, "error: %s is neither PTX nor a fatbin nor a cubin\n", name);
	return CUDA_ERROR_INVALID_IMAGE;
}

CUresult image_check(const struct image_text *t, struct gpu *gpu, struct jit *jit)
{
	struct ptx_module *m;
	CUresult r = parse_text(t->in.text, t->in.bytes, t->name, gpu, jit, &m);

	if (!r)
		ptx_module_free(m);
	return r;
}

CUresult image_link(const struct image_texts *t, struct jit *jit, struct ptx_linked *out)
{
	struct ptx_link_input *inputs = calloc(t->n + 1, sizeof(*inputs));
	int e;

	*out = (struct ptx_linked){0};
	if (!inputs)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < t->n; i++)
		inputs[i] = t->texts[i].in;
	e = ptx_link(inputs, t->n, out);
	free(inputs);
	for (unsigned i = 0; e && i < out->nerrors; i++)
		jit_diag(jit, &out->errors[i]);
	if (e && t->left_out)
		jit_log(jit, true,
			"note: %u pieces were left out, since their PTX is for newer devices only\n",
			t->left_out);
	if (e)
		ptx_linked_free(out);
	return !e ? CUDA_SUCCESS : e == CUTRACE_ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
}

/* One text of several pieces only has to be complete: it keeps its lines. */
static CUresult parse_linked(const struct image_texts *t, const char *name, struct gpu *gpu, struct jit *jit,
			     struct ptx_module **out)
{
	const struct image_text *only = t->n == 1 ? &t->texts[0] : NULL;
	struct ptx_linked linked;
	CUresult r = image_link(t, jit, &linked);

	if (r)
		return r;
	if (only)
		r = parse_text(only->in.text, only->in.bytes, only->name, gpu, jit, out);
	else
		r = parse_text(linked.text, linked.bytes, name, gpu, jit, out);
	ptx_linked_free(&linked);
	return r;
}

/* bytes = 0: as long as the image says itself. */
CUresult image_parse(const void *image, size_t bytes, const char *name, struct gpu *gpu, struct jit *jit,
		     struct ptx_module **out)
{
	struct image_texts t = {0};
	CUresult r = image_collect(&t, image, bytes, name, gpu, jit);

	if (!r && t.n == 1 && !t.left_out)
		r = parse_text(t.texts[0].in.text, t.texts[0].in.bytes, t.texts[0].name, gpu, jit, out);
	else if (!r)
		r = parse_linked(&t, name, gpu, jit, out);
	image_texts_free(&t);
	return r;
}
