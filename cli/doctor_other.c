/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's driver, variables of the environment, and what all of it means for programs.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/device_option.h"
#include "cli/doctor.h"
#include "interpose/target.h"
#include "zluda_core/device_hip/hip_library.h"

/* ---- NVIDIA ---- */

struct cuda_answer {
	char path[512];
	int init, version, devices;
};

static void ask_cuda(void *out)
{
	struct cuda_answer *a = out;
	int (*init)(unsigned), (*version)(int *), (*count)(int *);
	struct link_map *map = NULL;
	void *handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) || !map)
		return;
	snprintf(a->path, sizeof(a->path), "%s", map->l_name);
	*(void **)&init = dlsym(handle, "cuInit");
	*(void **)&version = dlsym(handle, "cuDriverGetVersion");
	*(void **)&count = dlsym(handle, "cuDeviceGetCount");
	a->init = -1;
	if (version)
		version(&a->version);
	if (init && count && !(a->init = init(0)))
		count(&a->devices);
}

void doctor_nvidia(struct doctor *doc)
{
	static const char section[] = "NVIDIA's driver";
	struct cuda_answer a = {.path = ""};
	char path[600], kernel[200];
	int end = doctor_in_child(ask_cuda, &a, sizeof(a));

	doctor_read(doctor_path(path, sizeof(path), "/proc/driver/nvidia/version"), kernel, sizeof(kernel));
	if (end || (a.path[0] && a.init))
		doctor_say(doc, section, kernel[0] ? DOCTOR_WRONG : DOCTOR_NOTE,
			   kernel[0] ? "nvidia-smi should fail as well" : NULL,
			   "%s: CUDA can't be initialised (%s %d)", a.path[0] ? a.path : "libcuda.so.1",
			   end ? "signal" : "error", end ? end : a.init);
	else if (a.path[0])
		doctor_say(doc, section, DOCTOR_OK, NULL,
			   "%s: CUDA %d.%d, %d device%s; programs are recorded and replayed on it with "
			   "--driver, or "
			   "without --device",
			   a.path, a.version / 1000, a.version / 10 % 100, a.devices,
			   a.devices == 1 ? "" : "s");
	else
		doctor_say(doc, section, DOCTOR_NOTE, NULL,
			   "there is none (libcuda.so.1): programs use cutrace's own");
}

/* ---- variables ---- */

static const struct {
	const char *name, *meaning;
} variables[] = {
	{"HIP_VISIBLE_DEVICES", "hides GPUs from HIP"},
	{"ROCR_VISIBLE_DEVICES", "hides GPUs from ROCm"},
	{"GPU_DEVICE_ORDINAL", "hides GPUs from HIP"},
	{"CUDA_VISIBLE_DEVICES", "hides GPUs, from HIP as well"},
	{"HSA_OVERRIDE_GFX_VERSION", "makes ROCm take the GPU for another one"},
	{"ROCM_PATH", "is where HIP is looked for first"},
	{"HIP_PATH", "is where HIP is looked for"},
	{"LD_PRELOAD", "loads libraries into every program"},
	{"LD_AUDIT", "watches the loading of every program; cutrace adds itself"},
	{"CUTRACE_HIP_LIBRARY", "is the HIP runtime to use"},
	{"CUTRACE_COMPILER", "is the compiler for AMD GPUs"},
	{"CUTRACE_CACHE", "is where compiled code is kept"},
	{"CUTRACE_CC", "is the compute capability that programs see"},
};

static const char section_environment[] = "Environment";

/* CUTRACE_DEVICE as the commands would take it. */
static void check_device(struct doctor *doc, const char *device)
{
	struct diag d = DIAG_INIT;
	const char *folder = target_libdir(&d);
	char driver[4200];

	doc->device = device;
	if (!folder) {
		doctor_say(doc, section_environment, DOCTOR_WRONG, d.hint, "%s", d.what);
		return;
	}
	snprintf(driver, sizeof(driver), "%s/zluda/libcuda.so.1", folder);
	if (device_option_check(device, driver, &d))
		doctor_say(doc, section_environment, DOCTOR_WRONG, d.hint, "CUTRACE_DEVICE=%s: %s", device,
			   d.what);
	else
		doctor_say(doc, section_environment, DOCTOR_NOTE, NULL,
			   "CUTRACE_DEVICE=%s: programs run on it", device);
}

void doctor_environment(struct doctor *doc)
{
	const char *device = getenv("CUTRACE_DEVICE");

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i].name);

		if (value && *value)
			doctor_say(doc, section_environment, DOCTOR_NOTE, NULL, "%s=%.300s %s",
				   variables[i].name, value, variables[i].meaning);
	}
	if (device && *device)
		check_device(doc, device);
	else
		doc->device = doc->ngpus && hip_driver_there() ? "hip" : "interp";
	doctor_say(doc, "AMD GPUs and cutrace", DOCTOR_NOTE, NULL,
		   "emulated, not yet run on hardware: tests/amd/run.sh is ready for a machine that has one");
}
