/* SPDX-License-Identifier: Apache-2.0
 *
 * A libcuda.so.1 that is our driver with a fault: it edits each PTX text that is loaded by the rule FAULT_RULE, and
 * defines nothing else; every other function is found in our driver, on which it depends.
 *
 * A replay gets it by --driver; CUTRACE_DEVICE says what is below. What judges the replay loads our driver itself.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/image.h"
#include "ptx/fatbin.h"
#include "ptx/link.h"
#include "ptx_edit.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuModuleLoadData(void **module, const void *image);
EXPORT int cuModuleLoadFatBinary(void **module, const void *image);
EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned n, void *options, void *values);
EXPORT int cuLibraryLoadData(void **library, const void *image, void *options, void *values, unsigned n,
			     void *library_options, void *library_values, unsigned library_n);
EXPORT int cuLinkAddData_v2(void *state, int kind, void *data, size_t bytes, const char *name, unsigned n,
			    void *options, void *values);

enum { INVALID_IMAGE = 200, DEVICE_CC = 90, CODE_PTX = 1 };

static void *real(const char *name)
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

static const struct fault_rule *rule(void)
{
	const char *name = getenv("FAULT_RULE");
	const struct fault_rule *r = name ? fault_rule_find(name) : NULL;

	if (name && *name && !r) {
		fprintf(stderr, "stand-in: there is no rule %s\n", name);
		abort();
	}
	return r && r->level == FAULT_PTX ? r : NULL;
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

static char *link_edited(struct ptx_edited *pieces, unsigned n)
{
	struct ptx_link_input *in = calloc(n + 1, sizeof(*in));
	struct ptx_linked out;

	for (unsigned k = 0; k < n; k++)
		in[k] = (struct ptx_link_input){"piece.ptx", pieces[k].text, pieces[k].bytes};
	if (ptx_link(in, n, &out)) {
		for (unsigned k = 0; k < out.nerrors; k++)
			diag_print(&out.errors[k], stderr);
		out.text = NULL;
	}
	free(in);
	return out.text;
}

/* What the device would take of a fatbin, as one text. */
static char *edit_fatbin(const void *data, size_t bytes, const struct fault_rule *r)
{
	struct diag d = DIAG_INIT;
	struct fatbin fb = {0};
	unsigned *indexes, n = 0, left_out, done = 0;
	struct ptx_edited *pieces;
	char *text = NULL;

	if (fatbin_open(&fb, data, bytes, &d)) {
		diag_print(&d, stderr);
		return NULL;
	}
	indexes = calloc(fb.ncontainers + 1, sizeof(*indexes));
	pieces = calloc(fb.ncontainers + 1, sizeof(*pieces));
	n = fatbin_link_set(&fb, DEVICE_CC, indexes, &left_out);
	for (; done < n; done++) {
		void *plain;
		size_t plain_bytes;

		if (fatbin_entry_load(&fb.entries[indexes[done]], &plain, &plain_bytes, &d))
			break;
		pieces[done] = ptx_edit(plain, plain_bytes, r, NULL, NULL);
		free(plain);
	}
	if (done && done == n)
		text = n == 1 ? strdup(pieces[0].text) : link_edited(pieces, n);
	for (unsigned k = 0; k < done; k++)
		free(pieces[k].text);
	free(pieces);
	free(indexes);
	fatbin_close(&fb);
	return text;
}

/* malloc'ed; NULL: nothing to edit. */
static char *edit_image(const void *image)
{
	const struct fault_rule *r = rule();
	enum image_kind kind = image_probe(image, SIZE_MAX);
	size_t bytes;
	char *all, *text;

	if (!r)
		return NULL;
	if (kind == IMAGE_PTX)
		return ptx_is_linked(image, strlen(image)) && !strstr(image, "cutrace_log_control")
			       ? NULL
			       : ptx_edit(image, strlen(image), r, NULL, NULL).text;
	if (kind != IMAGE_FATBIN && kind != IMAGE_FATBIN_WRAPPER)
		return NULL;
	all = flatten(image, &bytes);
	text = edit_fatbin(all, bytes, r);
	free(all);
	return text;
}

/* ---- the driver's functions ---------------------------------------------------------------------- */

typedef int load_fn(void **, const void *);
typedef int load_ex_fn(void **, const void *, unsigned, void *, void *);
typedef int load_library_fn(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
typedef int link_data_fn(void *, int, void *, size_t, const char *, unsigned, void *, void *);

int cuModuleLoadData(void **module, const void *image)
{
	load_fn *f = (load_fn *)(uintptr_t)real("cuModuleLoadData");
	char *text = image ? edit_image(image) : NULL;
	int r = f(module, text ? text : image);

	free(text);
	return r;
}

int cuModuleLoadFatBinary(void **module, const void *image)
{
	return cuModuleLoadData(module, image);
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned n, void *options, void *values)
{
	load_ex_fn *f = (load_ex_fn *)(uintptr_t)real("cuModuleLoadDataEx");
	char *text = image ? edit_image(image) : NULL;
	int r = f(module, text ? text : image, n, options, values);

	free(text);
	return r;
}

int cuLibraryLoadData(void **library, const void *image, void *options, void *values, unsigned n,
		      void *library_options, void *library_values, unsigned library_n)
{
	load_library_fn *f = (load_library_fn *)(uintptr_t)real("cuLibraryLoadData");
	char *text = image ? edit_image(image) : NULL;
	int r = f(library, text ? text : image, options, values, n, library_options, library_values,
		  library_n);

	free(text);
	return r;
}

/* Pieces are edited when they are handed over: what is linked of them is edited then. */
int cuLinkAddData_v2(void *state, int kind, void *data, size_t bytes, const char *name, unsigned n,
		     void *options, void *values)
{
	link_data_fn *f = (link_data_fn *)(uintptr_t)real("cuLinkAddData_v2");
	const struct fault_rule *r = rule();
	struct ptx_edited e = {0};
	int result;

	if (r && kind == CODE_PTX)
		e = ptx_edit(data, strnlen(data, bytes), r, NULL, NULL);
	result = e.text ? f(state, kind, e.text, e.bytes + 1, name, n, options, values)
			: f(state, kind, data, bytes, name, n, options, values);
	free(e.text);
	return result;
}
