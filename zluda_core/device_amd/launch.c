/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: limits of the GPU, the kernarg segment, what the kernel reported.
 */
#include "zluda_core/device_amd/device_amd.h"

#include <stdlib.h>
#include <string.h>

static int check_launch(const struct amd_device *dev, const struct dev_launch *l, struct dev_fault *f)
{
	const struct contract *c = &l->kernel->contract;
	const uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	const uint64_t shared = (uint64_t)c->shared_bytes + l->shared_bytes;

	if (c->max_threads && threads > c->max_threads)
		return amd_fault_launch(l, f, "a block of %ux%ux%u threads, it was compiled for at most %u",
					l->block[0], l->block[1], l->block[2], c->max_threads);
	if (shared > dev->props.lds_bytes)
		return amd_fault_launch(
			l, f, "%llu bytes of shared memory (%u static, %u dynamic), a block on %s has %u",
			(unsigned long long)shared, c->shared_bytes, l->shared_bytes, dev->props.target,
			dev->props.lds_bytes);
	if (l->param_bytes < c->param_bytes)
		return amd_fault_launch(l, f, "%u bytes of parameters, it takes %u", l->param_bytes,
					c->param_bytes);
	if (l->cooperative && !dev->props.cooperative)
		return amd_fault_launch(l, f, "%s has no cooperative launches", dev->props.name);
	return 0;
}

/* Parameters, addresses of variables, the run-time block's: ptx/lower/lower.h. */
static uint8_t *pack_kernarg(const struct dev_launch *l, uint64_t run_block)
{
	const struct dev_kernel *k = l->kernel;
	const struct contract *c = &k->contract;
	uint8_t *p = calloc(1, c->kernarg_bytes + 8);

	if (!p)
		return NULL;
	if (c->param_bytes)
		memcpy(p, l->params, c->param_bytes);
	if (c->nvariables)
		memcpy(p + c->variables_offset, k->variables, 8ull * c->nvariables);
	if (c->runtime_offset)
		memcpy(p + c->runtime_offset, &run_block, 8);
	return p;
}

static int run(struct amd_device *dev, const struct dev_launch *l, struct amd_run_block *b,
	       struct dev_fault *fault)
{
	struct amd_backend_fault bad = {0};
	struct amd_launch launch = {.function = l->kernel->function,
				    .grid = {l->grid[0], l->grid[1], l->grid[2]},
				    .block = {l->block[0], l->block[1], l->block[2]},
				    .dynamic_lds = l->shared_bytes,
				    .cooperative = l->cooperative,
				    .run_block = b ? b->address : 0,
				    .kernarg_bytes = l->kernel->contract.kernarg_bytes};
	uint8_t *kernarg = pack_kernarg(l, launch.run_block);
	struct diag d = DIAG_INIT;
	int rc, read;

	if (!kernarg)
		return amd_fault_launch(l, fault, "out of memory");
	launch.kernarg = kernarg;
	rc = dev->ops->launch(dev->backend, &launch, &bad);
	free(kernarg);
	read = b ? amd_run_end(dev, b, &d) : 0;
	if (rc)
		return amd_fault_backend(dev, l, &bad, fault);
	if (read)
		return amd_fault_launch(l, fault, "%s", d.what);
	return b && b->r.fault.state == LOWER_FAULT_COMPLETE ? amd_fault_reported(dev, l, &b->r.fault, fault)
							     : 0;
}

int amd_device_launch(struct device *device, const struct dev_launch *l, struct dev_fault *fault)
{
	struct amd_device *dev = amd_own(device);
	struct amd_run_block *b = NULL;
	struct diag d = DIAG_INIT;
	int rc = check_launch(dev, l, fault);

	if (rc)
		return rc;
	if (l->kernel->contract.runtime_offset) {
		b = amd_run_begin(dev, l, &d);
		if (!b)
			return amd_fault_launch(l, fault, "%s", d.what);
	}
	rc = run(dev, l, b, fault);
	if (b)
		amd_run_done(dev, b, rc != 0);
	return rc;
}
