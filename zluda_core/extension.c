/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of extension.h.
 */
#include "texture.h"

#include <stdlib.h>
#include <string.h>

#include "api/extension.h"

static struct gpu *current_gpu(void)
{
	struct context *ctx;

	return context_current(&ctx) ? &core.gpus[0] : ctx->gpu;
}

static int place_next(uint64_t addr)
{
	struct placement *p = &thread_state()->place;
	CUresult r = core_check();

	if (r)
		return r;
	if (options.refuse_addresses)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!addr)
		return CUDA_ERROR_INVALID_VALUE;
	if (!pool_is_placeable(addr, 1))
		return CUDA_ERROR_ALREADY_MAPPED;
	p->next = addr;
	p->next_set = true;
	return CUDA_SUCCESS;
}

void placement_clear_globals(struct placement *p)
{
	for (unsigned i = 0; i < p->nglobals; i++)
		free(p->global_names[i]);
	free(p->global_names);
	free(p->global_addrs);
	p->global_names = NULL;
	p->global_addrs = NULL;
	p->nglobals = 0;
}

static int place_module_globals(unsigned n, const char *const *names, const uint64_t *addrs)
{
	struct placement *p = &thread_state()->place;
	CUresult r = core_check();

	if (r)
		return r;
	if (options.refuse_addresses)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (n && (!names || !addrs))
		return CUDA_ERROR_INVALID_VALUE;
	placement_clear_globals(p);
	p->global_names = calloc(n + 1, sizeof(*p->global_names));
	p->global_addrs = calloc(n + 1, sizeof(*p->global_addrs));
	for (unsigned i = 0; p->global_names && p->global_addrs && i < n; i++) {
		p->global_names[i] = strdup(names[i]);
		p->global_addrs[i] = addrs[i];
		if (!p->global_names[i])
			break;
		p->nglobals++;
	}
	return p->nglobals == n ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static int last_fault(struct dev_fault *out)
{
	struct context *ctx;
	CUresult r = context_current(&ctx);

	if (r)
		return r;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return context_last_fault(ctx, out) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static int set_control(const char *key, const char *value)
{
	struct diag d = DIAG_INIT;
	struct gpu *gpu;
	CUresult r = core_check();
	int e;

	if (r)
		return r;
	if (!key)
		return CUDA_ERROR_INVALID_VALUE;
	gpu = current_gpu();
	if (!gpu->ops->control)
		return CUDA_ERROR_NOT_SUPPORTED;
	e = gpu->ops->control(gpu->dev, key, value, &d);
	if (e && d.what[0])
		say_diag(&d);
	return result_of(e);
}

static int watch_result(struct dev_watch_hit *out)
{
	struct gpu *gpu;
	CUresult r = core_check();

	if (r)
		return r;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	gpu = current_gpu();
	return gpu->ops->watch_result && gpu->ops->watch_result(gpu->dev, out) ? CUDA_SUCCESS
									       : CUDA_ERROR_NOT_FOUND;
}

static int attach_debugger(const struct debugger *debugger)
{
	struct diag d = DIAG_INIT;
	struct gpu *gpu;
	CUresult r = core_check();
	int e;

	if (r)
		return r;
	gpu = current_gpu();
	if (!gpu->ops->attach_debugger)
		return CUDA_ERROR_NOT_SUPPORTED;
	e = gpu->ops->attach_debugger(gpu->dev, debugger, &d);
	if (e)
		say_diag(&d);
	return result_of(e);
}

static uint64_t launch_count(void)
{
	return atomic_load(&core.launches);
}

static const char *device_name(void)
{
	return core.initialised && core.ngpus ? core.gpus[0].ops->name : "";
}

const struct cutrace_extension extension_table = {
	.size = sizeof(struct cutrace_extension),
	.place_next = place_next,
	.place_module_globals = place_module_globals,
	.last_fault = last_fault,
	.set_control = set_control,
	.watch_result = watch_result,
	.launch_count = launch_count,
	.device_name = device_name,
	.address_is_free = range_is_free,
	.set_message_sink = say_also_to,
	.set_print_sink = print_to,
	.place_next_texture = texture_place_next,
	.attach_debugger = attach_debugger,
};
