/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/amdgpu_emulator/device_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/amdgpu_emulator/decode/amdgpu_decode.h"

#define FIRST_ADDRESS 0x1000000000ull
#define SPACING       0x10000000ull

static bool find(void *ctx, uint64_t addr, struct amdgpu_window *out)
{
	const struct device_memory *m = ctx;

	for (unsigned i = 0; i < m->count; i++) {
		if (addr - m->windows[i].address >= m->windows[i].bytes)
			continue;
		*out = m->windows[i];
		return true;
	}
	return false;
}

static uint64_t add_window(struct device_memory *m, void *host, uint64_t bytes, bool writable)
{
	uint64_t address = FIRST_ADDRESS + SPACING * m->count;

	m->windows[m->count++] = (struct amdgpu_window){address, bytes, host, writable};
	return address;
}

struct amdgpu_object *device_load(struct device_memory *m, const void *bytes, size_t size)
{
	struct amdgpu_object *o;
	struct diag d = DIAG_INIT;
	uint64_t image_bytes;
	void *image;

	memset(m, 0, sizeof *m);
	if (amdgpu_object_open(&o, bytes, size, &d)) {
		diag_print(&d, stderr);
		return NULL;
	}
	image = amdgpu_object_image(o, &image_bytes);
	if (amdgpu_object_place(o, add_window(m, image, image_bytes, true), &d) || amdgpu_decode(o, &d)) {
		diag_print(&d, stderr);
		amdgpu_object_close(o);
		return NULL;
	}
	return o;
}

struct amdgpu_object *device_load_file(struct device_memory *m, const char *path)
{
	FILE *f = fopen(path, "rb");
	struct amdgpu_object *o = NULL;
	size_t n = 0;
	char *bytes = malloc(4 << 20);

	if (f && bytes)
		n = fread(bytes, 1, 4 << 20, f);
	if (n)
		o = device_load(m, bytes, n);
	else
		fprintf(stderr, "cannot read %s\n", path);
	if (f)
		fclose(f);
	free(bytes);
	return o;
}

uint64_t device_buffer(struct device_memory *m, const void *from, size_t bytes, void *host)
{
	void *p = aligned_alloc(64, (bytes + 63) & ~63ul);

	if (!p || m->count == DEVICE_BUFFERS)
		abort();
	if (from)
		memcpy(p, from, bytes);
	else
		memset(p, 0, bytes);
	if (host)
		*(void **)host = p;
	return add_window(m, p, bytes, true);
}

void device_release(struct device_memory *m)
{
	while (m->count > 1)
		free(m->windows[--m->count].host);
}

void args_add(struct kernel_args *a, const void *value, size_t bytes)
{
	a->used = (a->used + bytes - 1) & ~(bytes - 1);
	memcpy(a->bytes + a->used, value, bytes);
	a->used += bytes;
}

int device_run(struct device_memory *m, const struct device_launch *l, const struct kernel_args *a,
	       struct amdgpu_fault *fault, struct amdgpu_stats *stats)
{
	struct amdgpu_launch launch = {.kernel = amdgpu_object_kernel(l->object, l->kernel),
				       .grid = {l->grid[0], l->grid[1], 1},
				       .block = {l->block[0], l->block[1], 1},
				       .dynamic_lds = l->lds,
				       .args = a->bytes,
				       .args_bytes = a->used,
				       .memory = {m, find},
				       .stack_bytes = l->stack,
				       .threads = l->threads,
				       .budget = l->budget,
				       .register_fill = 0x5eed5eed,
				       .perturb = l->perturb,
				       .cooperative = l->cooperative,
				       .check_waits = l->check_waits,
				       .watchdog_ms = l->watchdog_ms,
				       .stop_word = l->stop_word};

	if (!launch.kernel) {
		snprintf(fault->message, sizeof fault->message, "no kernel %s", l->kernel);
		return CUTRACE_ENOENT;
	}
	return amdgpu_launch_run(&launch, fault, stats);
}
