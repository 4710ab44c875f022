/* SPDX-License-Identifier: Apache-2.0
 *
 * cuLink*: the just-in-time linker. Inputs are PTX and fatbins with PTX; what comes out is one PTX text, an
 * image that every function takes which takes modules. One text alone is checked and comes out as it went in.
 */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link {
	struct jit jit; /* the program's log buffers: valid until cuLinkDestroy */
	struct gpu *gpu;
	struct image_texts texts;
	struct ptx_linked linked; /* the result: the program's until cuLinkDestroy */
};

static CUresult link_enter(CUlinkState handle, struct link **l)
{
	*l = (struct link *)handle;
	return handle_enter(handle, HANDLE_LINK);
}

CUresult cuLinkCreate_v2(unsigned int n, CUjit_option *options_in, void **values, CUlinkState *out)
{
	struct context *ctx;
	struct link *l;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	l = calloc(1, sizeof(*l));
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->gpu = ctx->gpu;
	r = jit_parse(&l->jit, n, options_in, values);
	if (!r && !handle_add(l, HANDLE_LINK))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r) {
		free(l);
		return r;
	}
	*out = (CUlinkState)l;
	return CUDA_SUCCESS;
}

CUresult cuLinkCreate(unsigned int n, CUjit_option *options_in, void **values, CUlinkState *out)
{
	return cuLinkCreate_v2(n, options_in, values, out);
}

static bool is_supported(CUjitInputType type, const char *name)
{
	static const char *const kinds[] = {
		[CU_JIT_INPUT_OBJECT] = "a host object",
		[CU_JIT_INPUT_LIBRARY] = "a library of host objects",
		[CU_JIT_INPUT_NVVM] = "NVVM IR",
	};

	if (type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY || type == CU_JIT_INPUT_CUBIN)
		return true;
	say("cuLinkAdd: %s is %s: only PTX and fatbins with PTX can be linked", name,
	    (unsigned)type < ARRAY_SIZE(kinds) && kinds[type] ? kinds[type] : "of an unknown kind");
	return false;
}

/* Errors of the text come now, those that several inputs make together when they are linked. */
static CUresult add(struct link *l, CUjitInputType type, const void *data, size_t bytes, const char *name)
{
	struct image_texts added = {0};
	struct image_text *grown;
	CUresult r;

	if (!is_supported(type, name))
		return CUDA_ERROR_NOT_SUPPORTED;
	r = image_collect(&added, data, bytes, name, l->gpu, &l->jit);
	for (unsigned i = 0; i < added.n && !r; i++)
		r = image_check(&added.texts[i], l->gpu, &l->jit);
	if (!r)
		r = image_texts_keep(&added);
	grown = r ? NULL : realloc(l->texts.texts, (l->texts.n + added.n) * sizeof(*grown));
	if (!r && !grown && added.n)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r) {
		image_texts_free(&added);
		return r;
	}
	l->texts.texts = grown;
	memcpy(grown + l->texts.n, added.texts, added.n * sizeof(*grown));
	l->texts.n += added.n;
	l->texts.left_out += added.left_out;
	free(added.texts);
	return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void *data, size_t bytes, const char *name,
			  unsigned int n, CUjit_option *options_in, void **values)
{
	struct link *l;
	struct jit per_input;
	CUresult r = link_enter(handle, &l);

	if (!r)
		r = jit_parse(&per_input, n, options_in, values);
	if (!r && (!data || !bytes))
		r = CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	r = add(l, type, data, bytes, name && *name ? name : "input");
	jit_finish(&l->jit);
	return r;
}

CUresult cuLinkAddData(CUlinkState handle, CUjitInputType type, void *data, size_t bytes, const char *name,
		       unsigned int n, CUjit_option *options_in, void **values)
{
	return cuLinkAddData_v2(handle, type, data, bytes, name, n, options_in, values);
}

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char *path, unsigned int n,
			  CUjit_option *options_in, void **values)
{
	struct link *l;
	size_t bytes;
	void *data;
	CUresult r = link_enter(handle, &l);

	if (!r && !path)
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		r = file_read(path, &data, &bytes);
	if (r)
		return r;
	r = cuLinkAddData_v2(handle, type, data, bytes, path, n, options_in, values);
	free(data);
	return r;
}

CUresult cuLinkAddFile(CUlinkState handle, CUjitInputType type, const char *path, unsigned int n,
		       CUjit_option *options_in, void **values)
{
	return cuLinkAddFile_v2(handle, type, path, n, options_in, values);
}

/* Undefined and contradicting names are errors with one text, too. */
static CUresult complete(struct link *l)
{
	const struct image_text *first = &l->texts.texts[0];
	struct ptx_linked linked;
	char *text;
	CUresult r = image_link(&l->texts, &l->jit, &linked);

	if (!r && l->texts.n == 1) {
		text = malloc(first->in.bytes + 1);
		if (text) {
			memcpy(text, first->in.text, first->in.bytes);
			text[first->in.bytes] = 0;
		}
		free(linked.text);
		linked.text = text;
		linked.bytes = first->in.bytes;
		r = text ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (r) {
		ptx_linked_free(&linked);
		return r;
	}
	ptx_linked_free(&l->linked);
	l->linked = linked;
	return CUDA_SUCCESS;
}

CUresult cuLinkComplete(CUlinkState handle, void **image, size_t *bytes)
{
	struct link *l;
	CUresult r = link_enter(handle, &l);

	if (r)
		return r;
	if (!image || !l->texts.n)
		return CUDA_ERROR_INVALID_VALUE;
	r = complete(l);
	jit_finish(&l->jit);
	if (r)
		return r;
	*image = l->linked.text;
	if (bytes)
		*bytes = l->linked.bytes + 1; /* with its NUL: that many bytes are a module */
	return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState handle)
{
	struct link *l;
	CUresult r = link_enter(handle, &l);

	if (r)
		return r;
	handle_remove(l);
	image_texts_free(&l->texts);
	ptx_linked_free(&l->linked);
	free(l);
	return CUDA_SUCCESS;
}
