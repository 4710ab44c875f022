/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects and launches. The kernarg segment goes as one buffer; HIP puts the hidden arguments behind it, by the code
 * object's metadata, where a kernel of ours has one argument: the bytes.
 */
#include "zluda_core/device_hip/hip_backend.h"

#include <stdlib.h>
#include <string.h>

struct amd_function {
	struct amd_function *next;
	hip_handle handle;
};

struct amd_code {
	hip_handle module;
	pthread_mutex_t lock;
	struct amd_function *functions;
};

int hip_code_load(struct amd_backend *b, const void *code_object, size_t bytes, struct amd_code **out,
		  struct diag *d)
{
	struct amd_code *code;
	int rc = hip_enter(b, d);

	(void)bytes; /* HIP reads the ELF header */
	if (rc)
		return rc;
	code = calloc(1, sizeof(*code));
	if (!code)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory for a code object");
	rc = hip_check(b, b->lib->fn.hipModuleLoadData(&code->module, code_object), "hipModuleLoadData", d);
	if (rc) {
		free(code);
		return rc;
	}
	pthread_mutex_init(&code->lock, NULL);
	*out = code;
	return 0;
}

void hip_code_unload(struct amd_backend *b, struct amd_code *code)
{
	if (!hip_enter(b, NULL))
		b->lib->fn.hipModuleUnload(code->module);
	while (code->functions) {
		struct amd_function *f = code->functions;

		code->functions = f->next;
		free(f);
	}
	pthread_mutex_destroy(&code->lock);
	free(code);
}

int hip_code_function(struct amd_backend *b, struct amd_code *code, const char *name,
		      struct amd_function **out, struct diag *d)
{
	struct amd_function *f;
	int rc = hip_enter(b, d);

	if (rc)
		return rc;
	f = calloc(1, sizeof(*f));
	if (!f)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory for a kernel");
	rc = hip_check(b, b->lib->fn.hipModuleGetFunction(&f->handle, code->module, name),
		       "hipModuleGetFunction", d);
	if (rc) {
		free(f);
		return rc;
	}
	pthread_mutex_lock(&code->lock);
	f->next = code->functions;
	code->functions = f;
	pthread_mutex_unlock(&code->lock);
	*out = f;
	return 0;
}

static int enqueue(struct amd_backend *b, const struct amd_launch *l, hip_handle stream, struct diag *d)
{
	const struct hip_entries *fn = &b->lib->fn;
	char nothing[8] = {0}; /* a kernel without parameters has one byte of them all the same */
	size_t bytes = l->kernarg_bytes ? l->kernarg_bytes : 1;
	void *kernarg = l->kernarg_bytes ? (void *)l->kernarg : nothing;
	void *extra[] = {HIP_PARAM_BUFFER, kernarg, HIP_PARAM_SIZE, &bytes, HIP_PARAM_END};
	const uint32_t *g = l->grid, *n = l->block;

	if (!l->cooperative)
		return hip_check(b,
				 fn->hipModuleLaunchKernel(l->function->handle, g[0], g[1], g[2], n[0], n[1],
							   n[2], l->dynamic_lds, stream, NULL, extra),
				 "hipModuleLaunchKernel", d);
	if (!fn->hipModuleLaunchCooperativeKernel)
		return diag_set(d, CUTRACE_ENOTSUP, "",
				"HIP %u.%u has no hipModuleLaunchCooperativeKernel (since 5.5)",
				b->lib->major, b->lib->minor);
	return hip_check(b,
			 fn->hipModuleLaunchCooperativeKernel(l->function->handle, g[0], g[1], g[2], n[0],
							      n[1], n[2], l->dynamic_lds, stream, &kernarg),
			 "hipModuleLaunchCooperativeKernel", d);
}

int hip_launch(struct amd_backend *b, const struct amd_launch *l, struct amd_backend_fault *fault)
{
	struct diag d = DIAG_INIT;
	struct hip_stream *s;
	int rc, error = 0;

	memset(fault, 0, sizeof(*fault));
	rc = hip_stream_take(b, &s, &d);
	if (!rc) {
		rc = enqueue(b, l, hip_stream_handle(s), &d);
		if (!rc)
			error = hip_stream_finish(b, s);
		hip_stream_give(b, s);
	}
	if (!rc && error == HIP_NOT_READY) {
		atomic_store(&b->dead, error);
		rc = diag_set(&d, CUTRACE_EINVAL, "", "the kernel still runs after %u ms",
			      atomic_load(&b->watchdog_ms));
	} else if (!rc) {
		rc = hip_check(b, error, "hipStreamSynchronize", &d);
	}
	if (!rc)
		return 0;
	fault->kind = hip_fault_kind(atomic_load(&b->dead));
	snprintf(fault->message, sizeof(fault->message), "%s", d.what);
	return CUTRACE_EINVAL;
}
