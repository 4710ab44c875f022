/* SPDX-License-Identifier: Apache-2.0
 *
 * cuLink*: the just-in-time linker, for one input. What comes out is what went in, PTX or a fatbin: an image
 * that cuModuleLoadData takes, checked. Programs use the linker mostly to get logs and options for one piece
 * of PTX. Several inputs would have to be linked, which is refused by name.
 */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link {
	struct jit jit; /* the program's log buffers: valid until cuLinkDestroy */
	struct gpu *gpu;
	unsigned ninputs;
	void *data; /* of the first */
	size_t bytes;
	char name[128];
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

static CUresult add(struct link *l, CUjitInputType type, const void *data, size_t bytes, const char *name)
{
	if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY && type != CU_JIT_INPUT_CUBIN) {
		say("cuLinkAdd: %s is neither PTX nor a fatbin: linking it is not supported", name);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	if (l->ninputs++)
		return CUDA_SUCCESS; /* cuLinkComplete refuses */
	l->data = malloc(bytes + 1);
	if (!l->data)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(l->data, data, bytes);
	((char *)l->data)[bytes] = 0;
	l->bytes = bytes;
	snprintf(l->name, sizeof(l->name), "%s", name);
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
	if (r)
		return r;
	return data && bytes ? add(l, type, data, bytes, name && *name ? name : "input")
			     : CUDA_ERROR_INVALID_VALUE;
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

CUresult cuLinkComplete(CUlinkState handle, void **image, size_t *bytes)
{
	struct ptx_module *ptx;
	struct link *l;
	CUresult r = link_enter(handle, &l);

	if (r)
		return r;
	if (!image || !l->ninputs)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->ninputs > 1) {
		say("linking %u inputs (%s, ...) is not supported", l->ninputs, l->name);
		jit_log(&l->jit, true, "error: linking %u inputs is not supported\n", l->ninputs);
		r = CUDA_ERROR_NOT_SUPPORTED;
	} else {
		r = image_parse(l->data, l->bytes + 1, l->name, l->gpu, &l->jit, &ptx);
		if (!r)
			ptx_module_free(ptx);
	}
	jit_finish(&l->jit);
	if (r)
		return r;
	*image = l->data;
	if (bytes)
		*bytes = l->bytes;
	return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState handle)
{
	struct link *l;
	CUresult r = link_enter(handle, &l);

	if (r)
		return r;
	handle_remove(l);
	free(l->data);
	free(l);
	return CUDA_SUCCESS;
}
