/* SPDX-License-Identifier: Apache-2.0
 *
 * ROCm: HIP, which is needed for AMD GPUs, and comgr, which isn't.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"
#include "zluda_core/device_hip/hip_library.h"

#define SECTION "ROCm"

struct hip_answer {
	int opened, started; /* 0, or CUTRACE_E*; 1: not got that far */
	struct diag d;
	unsigned major, minor, patch;
	char path[512], missing[256], error_note[100];
	int ngpus;
	struct doctor_gpu gpus[DOCTOR_GPUS];
};

static void ask_gpu(const struct hip_library *lib, int device, struct doctor_gpu *g)
{
	size_t bytes = 0;
	int value = 0;

	if (hip_library_target(lib, device, g->target, NULL))
		strcpy(g->target, "?");
	lib->fn.hipDeviceGetName(g->name, sizeof(g->name) - 1, device);
	if (!lib->fn.hipDeviceTotalMem(&bytes, device))
		g->bytes = bytes;
	if (!lib->fn.hipDeviceGetAttribute(&value, HIP_COMPUTE_UNITS, device))
		g->compute_units = (uint32_t)value;
	value = 0;
	g->has_vmm = lib->minor >= lib->abi->vmm_minor && lib->fn.hipMemAddressReserve &&
		     !lib->fn.hipDeviceGetAttribute(&value, HIP_VMM_SUPPORTED, device) && value;
}

static void ask_hip(void *out)
{
	struct hip_answer *a = out;
	static struct hip_library opened;
	const struct hip_library *lib;

	a->opened = hip_library_open(&opened, &a->d);
	a->major = opened.major;
	a->minor = opened.minor;
	a->patch = opened.patch;
	snprintf(a->path, sizeof(a->path), "%.511s", opened.path);
	snprintf(a->missing, sizeof(a->missing), "%s", opened.missing);
	if (a->opened)
		return;
	snprintf(a->error_note, sizeof(a->error_note), "%s", opened.abi->error_note);
	lib = hip_library_get(&a->ngpus, &a->d);
	for (int i = 0; lib && i < a->ngpus && i < DOCTOR_GPUS; i++)
		ask_gpu(lib, i, &a->gpus[i]);
	a->started = lib ? 0 : a->d.code;
}

static void say_gpus(struct doctor *doc, const struct hip_answer *a)
{
	doc->ngpus = a->ngpus < DOCTOR_GPUS ? (unsigned)a->ngpus : DOCTOR_GPUS;
	memcpy(doc->gpus, a->gpus, sizeof(doc->gpus));
	snprintf(doc->hip_path, sizeof(doc->hip_path), "%s", a->path);
	snprintf(doc->hip_version, sizeof(doc->hip_version), "%u.%u.%u", a->major, a->minor, a->patch);
	doctor_say(doc, SECTION, DOCTOR_OK, NULL, "HIP %s (%s); %s", doc->hip_version, a->path,
		   a->error_note);
	for (unsigned i = 0; i < doc->ngpus; i++) {
		const struct doctor_gpu *g = &doc->gpus[i];

		doctor_say(doc, SECTION, DOCTOR_OK, NULL, "hip:%u is %s (%s), %llu MiB, %u compute units%s",
			   i, g->name, g->target, (unsigned long long)(g->bytes >> 20), g->compute_units,
			   g->has_vmm ? ""
				      : "; no virtual memory management: allocations can't have the "
					"addresses of a recording");
	}
}

static void say_hip(struct doctor *doc, const struct hip_answer *a)
{
	bool wanted = getenv("CUTRACE_HIP_LIBRARY"), expected = doctor_expects_gpu(doc) || wanted;

	if (a->opened) {
		/* none at all is nothing wrong where there is no GPU; a broken one is */
		bool is_note = a->opened == CUTRACE_ENOENT && !expected;

		doctor_say(doc, SECTION, is_note ? DOCTOR_NOTE : DOCTOR_WRONG, is_note ? NULL : a->d.hint,
			   "%s%s%s", a->d.where, a->d.where[0] ? ": " : "", a->d.what);
	} else if (a->started == CUTRACE_ENOENT) {
		doctor_say(doc, SECTION, doctor_expects_gpu(doc) ? DOCTOR_WRONG : DOCTOR_NOTE,
			   doctor_expects_gpu(doc)
				   ? "look at the kernel driver's section above, and at rocminfo"
				   : NULL,
			   "%s: %s", a->path, a->d.what);
	} else if (a->started) {
		doctor_say(doc, SECTION, DOCTOR_WRONG, a->d.hint, "%s: %s", a->path, a->d.what);
	} else {
		say_gpus(doc, a);
		if (a->missing[0])
			doctor_say(doc, SECTION, DOCTOR_NOTE, NULL,
				   "HIP %u.%u lacks %s: what needs it is refused", a->major, a->minor,
				   a->missing);
	}
}

/* ---- what else is installed ---- */

enum { HIP_NAMES = 5 };

struct libraries_answer {
	char hip[HIP_NAMES][512]; /* paths of HIP runtimes that the loader finds */
	unsigned nhip;
	char comgr[512];
	size_t comgr_major, comgr_minor;
};

static bool path_of(const char *soname, char *out, size_t bytes, void **handle)
{
	struct link_map *map = NULL;

	*handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
	if (!*handle || dlinfo(*handle, RTLD_DI_LINKMAP, &map) || !map)
		return false;
	snprintf(out, bytes, "%s", map->l_name);
	return true;
}

static void ask_libraries(void *out)
{
	static const char *const hip[HIP_NAMES] = {"libamdhip64.so.10", "libamdhip64.so.8",
						   "libamdhip64.so.7", "libamdhip64.so.6",
						   "libamdhip64.so.5"};
	static const char *const comgr[] = {"libamd_comgr.so.3", "libamd_comgr.so.2"};
	struct libraries_answer *a = out;
	void (*version)(size_t * major, size_t * minor);
	void *handle;

	for (size_t i = 0; i < HIP_NAMES; i++)
		a->nhip += path_of(hip[i], a->hip[a->nhip], sizeof(a->hip[0]), &handle);
	for (size_t i = 0; i < 2 && !a->comgr[0]; i++) {
		if (!path_of(comgr[i], a->comgr, sizeof(a->comgr), &handle))
			continue;
		*(void **)&version = dlsym(handle, "amd_comgr_get_version");
		if (version)
			version(&a->comgr_major, &a->comgr_minor);
	}
}

static void say_libraries(struct doctor *doc)
{
	struct libraries_answer a = {.nhip = 0};
	char list[HIP_NAMES * 514] = "";

	if (doctor_in_child(ask_libraries, &a, sizeof(a)))
		return;
	for (unsigned i = 0; i < a.nhip; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "", a.hip[i]);
	if (a.nhip > 1)
		doctor_say(doc, SECTION, DOCTOR_NOTE, "CUTRACE_HIP_LIBRARY chooses one",
			   "several HIP runtimes are installed: %.500s", list);
	if (a.comgr[0])
		doctor_say(doc, SECTION, DOCTOR_NOTE, NULL,
			   "comgr %zu.%zu (%s): not used, code is linked by cutrace-compile", a.comgr_major,
			   a.comgr_minor, a.comgr);
}

void doctor_rocm(struct doctor *doc)
{
	static struct hip_answer a;
	int end;

	a.opened = a.started = 1;
	end = doctor_in_child(ask_hip, &a, sizeof(a));
	if (end < 0)
		doctor_say(doc, SECTION, DOCTOR_WRONG,
			   "another process may hold the GPU; rocminfo should hang as well",
			   "%s: HIP does not come back from its initialisation",
			   a.path[0] ? a.path : "libamdhip64.so");
	else if (end)
		doctor_say(doc, SECTION, DOCTOR_WRONG,
			   "rocminfo should crash as well: the installation is damaged",
			   "%s: HIP ends the process when it is initialised (signal %d)",
			   a.path[0] ? a.path : "libamdhip64.so", end);
	else
		say_hip(doc, &a);
	say_libraries(doc);
}
