/* SPDX-License-Identifier: Apache-2.0 */
#include "stand_in.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/image.h"
#include "ptx/fatbin.h"
#include "ptx/link.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuModuleLoadData(void **module, const void *image);
EXPORT int cuModuleLoadFatBinary(void **module, const void *image);
EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned n, void *options, void *values);
EXPORT int cuLibraryLoadData(void **library, const void *image, void *options, void *values, unsigned n,
			     void *library_options, void *library_values, unsigned library_n);
EXPORT int cuLinkAddData_v2(void *state, int kind, void *data, size_t bytes, const char *name, unsigned n,
			    void *options, void *values);

enum { DEVICE_CC = 90, CODE_PTX = 1 };

void *stand_in_real(const char *name)
{
	static void *lib;
	void *f;

	if (!lib)
		lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	f = lib ? dlsym(lib, name) : NULL;
	if (!f) {
		fprintf(stderr, "stand-in: our driver lacks %s: %s\n", name, dlerror());
		abort();
	}
	return f;
}

/* ---- the text of an image ------------------------------------------------------------------- */

/* The pieces of an image in memory, one after the other, malloc'ed. */
static char *flatten(const void *image, size_t *bytes)
{
	size_t n = image_parts(image, NULL, 0), at = 0;
	struct image_part *parts = calloc(n + 1, sizeof(*parts));
	char *all;

	image_parts(image, parts, n);
	*bytes = image_size(image);
	all = malloc(*bytes + 1);
	for (size_t k = 0; k < n; at += parts[k++].bytes)
		memcpy(all + at, parts[k].data, parts[k].bytes);
	free(parts);
	return all;
}

static char *link_texts(char **texts, unsigned n)
{
	struct ptx_link_input *in = calloc(n + 1, sizeof(*in));
	struct ptx_linked out;

	for (unsigned k = 0; k < n; k++)
		in[k] = (struct ptx_link_input){"piece.ptx", texts[k], strlen(texts[k])};
	if (ptx_link(in, n, &out)) {
		for (unsigned k = 0; k < out.nerrors; k++)
			diag_print(&out.errors[k], stderr);
		out.text = NULL;
	}
	free(in);
	return out.text;
}

static char *piece_of(const struct fatbin_entry *entry, bool *any)
{
	struct diag d = DIAG_INIT;
	char *text = NULL, *changed = NULL;
	void *plain;
	size_t bytes;

	if (fatbin_entry_load(entry, &plain, &bytes, &d))
		return NULL;
	text = strndup(plain, bytes);
	free(plain);
	if (text && stand_in_changes_pieces)
		changed = stand_in_change(text, strlen(text));
	if (!changed)
		return text;
	free(text);
	*any = true;
	return changed;
}

static char *change_whole(char *text, bool *any)
{
	char *changed = text && !stand_in_changes_pieces ? stand_in_change(text, strlen(text)) : NULL;

	if (!changed)
		return text;
	*any = true;
	free(text);
	return changed;
}

/* What the device would take of a fatbin, as one text; NULL: nothing of it changes. */
static char *change_fatbin(const void *data, size_t bytes)
{
	struct diag d = DIAG_INIT;
	struct fatbin fb = {0};
	unsigned *indexes, n = 0, left_out, done = 0;
	char **pieces, *text = NULL;
	bool any = false;

	if (fatbin_open(&fb, data, bytes, &d)) {
		diag_print(&d, stderr);
		return NULL;
	}
	indexes = calloc(fb.ncontainers + 1, sizeof(*indexes));
	pieces = calloc(fb.ncontainers + 1, sizeof(*pieces));
	n = fatbin_link_set(&fb, DEVICE_CC, indexes, &left_out);
	while (done < n && (pieces[done] = piece_of(&fb.entries[indexes[done]], &any)))
		done++;
	if (done && done == n)
		text = change_whole(n == 1 ? strdup(pieces[0]) : link_texts(pieces, n), &any);
	for (unsigned k = 0; k < done; k++)
		free(pieces[k]);
	free(pieces);
	free(indexes);
	fatbin_close(&fb);
	if (any)
		return text;
	free(text);
	return NULL;
}

/* malloc'ed; NULL: nothing to change. */
static char *change_image(const void *image)
{
	enum image_kind kind = image ? image_probe(image, SIZE_MAX) : IMAGE_UNKNOWN;
	size_t bytes;
	char *all, *text;

	if (kind == IMAGE_PTX)
		return stand_in_change(image, strlen(image));
	if (kind != IMAGE_FATBIN && kind != IMAGE_FATBIN_WRAPPER)
		return NULL;
	all = flatten(image, &bytes);
	text = change_fatbin(all, bytes);
	free(all);
	return text;
}

/* ---- the driver's functions ---------------------------------------------------------------------- */

typedef int load_fn(void **, const void *);
typedef int load_ex_fn(void **, const void *, unsigned, void *, void *);
typedef int load_library_fn(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
typedef int link_data_fn(void *, int, void *, size_t, const char *, unsigned, void *, void *);

static char *begin(const void *image)
{
	char *text = change_image(image);

	if (text)
		stand_in_before_load();
	return text;
}

static int end(char *text, int r, void **handle, bool is_library)
{
	if (text)
		stand_in_after_load(r ? NULL : *handle, is_library);
	free(text);
	return r;
}

int cuModuleLoadData(void **module, const void *image)
{
	load_fn *f = (load_fn *)(uintptr_t)stand_in_real("cuModuleLoadData");
	char *text = begin(image);

	return end(text, f(module, text ? text : image), module, false);
}

int cuModuleLoadFatBinary(void **module, const void *image)
{
	return cuModuleLoadData(module, image);
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned n, void *options, void *values)
{
	load_ex_fn *f = (load_ex_fn *)(uintptr_t)stand_in_real("cuModuleLoadDataEx");
	char *text = begin(image);

	return end(text, f(module, text ? text : image, n, options, values), module, false);
}

int cuLibraryLoadData(void **library, const void *image, void *options, void *values, unsigned n,
		      void *library_options, void *library_values, unsigned library_n)
{
	load_library_fn *f = (load_library_fn *)(uintptr_t)stand_in_real("cuLibraryLoadData");
	char *text = begin(image);

	return end(text,
		   f(library, text ? text : image, options, values, n, library_options, library_values,
		     library_n),
		   library, true);
}

/* Pieces are changed when they are handed over: what is linked of them is changed then. */
int cuLinkAddData_v2(void *state, int kind, void *data, size_t bytes, const char *name, unsigned n,
		     void *options, void *values)
{
	link_data_fn *f = (link_data_fn *)(uintptr_t)stand_in_real("cuLinkAddData_v2");
	char *text = stand_in_changes_pieces && kind == CODE_PTX ? stand_in_change(data, strnlen(data, bytes))
								 : NULL;
	int r = text ? f(state, kind, text, strlen(text) + 1, name, n, options, values)
		     : f(state, kind, data, bytes, name, n, options, values);

	free(text);
	return r;
}
