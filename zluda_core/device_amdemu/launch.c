/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches on the emulator, and its faults in the words of backend.h.
 */
#include "zluda_core/device_amdemu/amdemu.h"

#include <stddef.h>
#include <string.h>

#include "ptx/lower/runtime.h"

static enum dev_fault_kind kind_of(enum amdgpu_fault_kind k)
{
	switch (k) {
	case AMDGPU_FAULT_ADDRESS: return DEV_FAULT_ILLEGAL_ADDRESS;
	case AMDGPU_FAULT_ALIGNMENT: return DEV_FAULT_MISALIGNED;
	case AMDGPU_FAULT_INSTRUCTION: return DEV_FAULT_ILLEGAL_INSTRUCTION;
	case AMDGPU_FAULT_TRAP: return DEV_FAULT_TRAP;
	case AMDGPU_FAULT_TIMEOUT:
	case AMDGPU_FAULT_BUDGET:
	case AMDGPU_FAULT_DEADLOCK: return DEV_FAULT_TIMEOUT;
	default: return DEV_FAULT_INTERNAL;
	}
}

/* A kernel whose stack the compiler could not bound (AMDGPUUsage, USES_DYNAMIC_STACK), and an access behind it. */
static bool is_stack_overflow(const struct amdgpu_kernel *k, const struct amdgpu_fault *f)
{
	return f->kind == AMDGPU_FAULT_ADDRESS && !strcmp(f->space, "local") && k->properties >> 11 & 1;
}

static void describe_overflow(struct amd_backend_fault *out)
{
	out->kind = DEV_FAULT_STACK;
	out->has_address = false;
	snprintf(out->message, sizeof(out->message), "the calls are too deep for the thread's stack");
}

static void describe(const struct amdgpu_kernel *k, const struct amdgpu_fault *f,
		     struct amd_backend_fault *out)
{
	const bool somewhere = f->kind != AMDGPU_FAULT_LAUNCH && f->kind != AMDGPU_FAULT_MEMORY;

	*out = (struct amd_backend_fault){
		.kind = kind_of(f->kind),
		.has_place = somewhere,
		.has_address = f->kind == AMDGPU_FAULT_ADDRESS || f->kind == AMDGPU_FAULT_ALIGNMENT,
		.line = somewhere ? f->line : 0,
		.address = f->address,
		.access_bytes = f->access_bytes,
		.is_store = f->is_store,
		.is_atomic = f->is_atomic,
	};
	memcpy(out->block, f->block, sizeof(out->block));
	memcpy(out->thread, f->thread, sizeof(out->thread));
	memcpy(out->space, f->space, sizeof(out->space));
	if (somewhere && f->instruction[0])
		snprintf(out->message, sizeof(out->message), "%.250s (`%.100s`)", f->what, f->instruction);
	else
		snprintf(out->message, sizeof(out->message), "%.500s", somewhere ? f->what : f->message);
	if (is_stack_overflow(k, f))
		describe_overflow(out);
}

/* What a kernel sets with the fault that it reports: its other waves may wait for ever for the one that ended. */
static const uint32_t *stop_word(struct amd_backend *b, const struct amd_launch *l)
{
	const uint64_t at = l->run_block + offsetof(struct lower_runtime, fault.stop);

	return l->run_block ? (const uint32_t *)(const void *)emu_host(&b->memory, at, 4) : NULL;
}

int emu_launch(struct amd_backend *b, const struct amd_launch *l, struct amd_backend_fault *fault)
{
	struct amdgpu_launch launch = {.kernel = (const struct amdgpu_kernel *)(const void *)l->function,
				       .dynamic_lds = l->dynamic_lds,
				       .args = l->kernarg,
				       .args_bytes = l->kernarg_bytes,
				       .memory = {&b->memory, emu_find},
				       .threads = b->deterministic ? 1 : b->workers,
				       .cooperative = l->cooperative,
				       .check_waits = b->check_waits,
				       .perturb = b->perturb,
				       .watchdog_ms = b->watchdog_ms,
				       .stop_word = stop_word(b, l)};
	struct amdgpu_fault bad = {0};
	struct emu_running running;
	int rc;

	memcpy(launch.grid, l->grid, sizeof(launch.grid));
	memcpy(launch.block, l->block, sizeof(launch.block));
	emu_launch_begin(&b->memory, &running);
	rc = amdgpu_launch_run(&launch, &bad, NULL);
	emu_launch_end(&b->memory, &running);
	if (rc)
		describe(launch.kernel, &bad, fault);
	return rc ? CUTRACE_EINVAL : 0;
}
