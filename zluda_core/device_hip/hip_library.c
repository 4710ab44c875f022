/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/device_hip/hip_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Newest first; the unversioned name of a development package last. */
static const char *const sonames[] = {"libamdhip64.so.10", "libamdhip64.so.8", "libamdhip64.so.7",
				      "libamdhip64.so.6",  "libamdhip64.so.5", "libamdhip64.so"};
#define SONAMES (sizeof(sonames) / sizeof(sonames[0]))

struct search {
	void *handle;
	char broken[400]; /* what the loader said of a file that exists */
};

static bool try_path(struct search *s, const char *path, int flags)
{
	const char *error;

	s->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
	if (s->handle)
		return true;
	error = dlerror();
	/* "NAME: cannot open shared object file": it isn't there. A dependency's absence is told likewise, with that
	 * one's name. */
	if (!flags && error && (strncmp(error, path, strlen(path)) || !strstr(error, "No such file")) &&
	    !s->broken[0])
		snprintf(s->broken, sizeof(s->broken), "%s: %s", path, error);
	return false;
}

static bool try_folder(struct search *s, const char *folder)
{
	char path[PATH_MAX];

	for (size_t i = 0; folder && *folder && i < SONAMES; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, sonames[i]);
		if (try_path(s, path, 0))
			return true;
	}
	return false;
}

static bool try_variable(struct search *s, const char *name)
{
	const char *root = getenv(name);
	char folder[PATH_MAX];

	if (!root || !*root)
		return false;
	snprintf(folder, sizeof(folder), "%s/lib", root);
	return try_folder(s, folder);
}

/* /opt/rocm-6.4.1/lib and the like, the last of them first. */
static bool try_installations(struct search *s)
{
	bool found = try_folder(s, "/opt/rocm/lib");
	glob_t g;

	if (found || glob("/opt/rocm-*/lib", 0, NULL, &g))
		return found;
	for (size_t i = g.gl_pathc; i-- > 0 && !found;)
		found = try_folder(s, g.gl_pathv[i]);
	globfree(&g);
	return found;
}

static int find(struct search *s, struct diag *d)
{
	const char *wanted = getenv("CUTRACE_HIP_LIBRARY");
	bool found = false;

	if (wanted && *wanted) {
		if (try_path(s, wanted, 0))
			return 0;
		diag_set(d, CUTRACE_ENOENT, "CUTRACE_HIP_LIBRARY", "can't be loaded: %s",
			 s->broken[0] ? s->broken : wanted);
		diag_hint(d, "it names the file of a libamdhip64.so");
		return CUTRACE_ENOENT;
	}
	for (size_t i = 0; i < SONAMES && !found; i++)
		found = try_path(s, sonames[i], RTLD_NOLOAD);
	found = found || try_variable(s, "ROCM_PATH") || try_variable(s, "HIP_PATH");
	for (size_t i = 0; i < SONAMES && !found; i++)
		found = try_path(s, sonames[i], 0);
	if (found || try_installations(s))
		return 0;
	if (s->broken[0]) {
		diag_set(d, CUTRACE_EIO, "libamdhip64.so", "can't be loaded: %s", s->broken);
		diag_hint(d, "the ROCm installation is incomplete");
		return CUTRACE_EIO;
	}
	diag_set(d, CUTRACE_ENOENT, "libamdhip64.so",
		 "the HIP runtime of ROCm is not installed (looked for libamdhip64.so.5 to .10 in "
		 "$ROCM_PATH/lib, "
		 "where the loader looks, and in /opt/rocm*/lib)");
	diag_hint(d, "install ROCm's HIP runtime, or set CUTRACE_HIP_LIBRARY to the file");
	return CUTRACE_ENOENT;
}

static void add_name(char *list, size_t bytes, const char *name, const char *since)
{
	size_t used = strlen(list);

	if (used + strlen(name) + 24 < bytes)
		snprintf(list + used, bytes - used, "%s%s (since %s)", used ? ", " : "", name, since);
	else if (list[used - 1] != '.')
		snprintf(list + used, bytes - used, ", ...");
}

/* Fills the table; names of required ones that are missing go to `absent`. */
static void resolve(struct hip_library *l, char *absent, size_t bytes)
{
#define RESOLVE(name, since, arguments)                  \
	*(void **)&l->fn.name = dlsym(l->handle, #name); \
	if (!l->fn.name)                                 \
		add_name(absent, bytes, #name, since);
	HIP_REQUIRED(RESOLVE)
#undef RESOLVE
#define RESOLVE(name, since, arguments)                  \
	*(void **)&l->fn.name = dlsym(l->handle, #name); \
	if (!l->fn.name)                                 \
		add_name(l->missing, sizeof(l->missing), #name, since);
	HIP_OPTIONAL(RESOLVE)
#undef RESOLVE
}

static int check_version(struct hip_library *l, struct diag *d)
{
	int version = 0, error;

	*(void **)&l->fn.hipRuntimeGetVersion = dlsym(l->handle, "hipRuntimeGetVersion");
	if (!l->fn.hipRuntimeGetVersion)
		return diag_set(d, CUTRACE_ENOTSUP, l->path,
				"this is no HIP runtime: it has no hipRuntimeGetVersion");
	error = l->fn.hipRuntimeGetVersion(&version);
	if (error || version <= 0)
		return hip_failed(error ? error : HIP_INVALID_VALUE, "hipRuntimeGetVersion", d);
	/* HIP_VERSION: major * 10000000 + minor * 100000 + patch. */
	l->major = (unsigned)version / 10000000;
	l->minor = (unsigned)version / 100000 % 100;
	l->patch = (unsigned)version % 100000;
	l->abi = hip_abi_find(l->major);
	if (l->abi)
		return 0;
	diag_set(d, CUTRACE_ENOTSUP, l->path,
		 "HIP %u.%u is not known to this version of cutrace, which knows %s", l->major, l->minor,
		 hip_abi_known());
	diag_hint(d,
		  "set CUTRACE_HIP_LIBRARY to a libamdhip64.so of a known version, or use a newer cutrace");
	return CUTRACE_ENOTSUP;
}

int hip_library_open(struct hip_library *l, struct diag *d)
{
	struct search s = {0};
	struct link_map *map = NULL;
	char absent[300] = "";
	int rc;

	memset(l, 0, sizeof(*l));
	rc = find(&s, d);
	if (rc)
		return rc;
	l->handle = s.handle;
	if (!dlinfo(l->handle, RTLD_DI_LINKMAP, &map) && map)
		snprintf(l->path, sizeof(l->path), "%s", map->l_name);
	rc = check_version(l, d);
	if (rc)
		return rc;
	resolve(l, absent, sizeof(absent));
	*(void **)&l->fn.get_properties = dlsym(l->handle, l->abi->properties);
	if (!l->fn.get_properties)
		add_name(absent, sizeof(absent), l->abi->properties, "6.0");
	if (absent[0])
		return diag_set(d, CUTRACE_ENOTSUP, l->path, "HIP %u.%u lacks %s", l->major, l->minor,
				absent);
	return 0;
}

/* Other processes' HIP may hang or crash in here; doctor asks in a process of its own. */
static int start(struct hip_library *l, int *devices, struct diag *d)
{
	int error = l->fn.hipInit(0);

	*devices = 0;
	if (!error)
		error = l->fn.hipGetDeviceCount(devices);
	if (error && error != HIP_NO_DEVICE && error != HIP_INVALID_DEVICE)
		return hip_failed(error, "hipInit", d);
	if (!error && *devices > 0)
		return 0;
	*devices = 0;
	diag_set(d, CUTRACE_ENOENT, l->path, "HIP %u.%u sees no AMD GPU (%s)", l->major, l->minor,
		 error ? hip_error_name(error) : "hipGetDeviceCount says 0");
	diag_hint(d, "`cutrace doctor` tells what is missing");
	return CUTRACE_ENOENT;
}

const struct hip_library *hip_library_get(int *devices, struct diag *d)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct hip_library library;
	static struct diag why;
	static int state, count; /* state: 0 never tried, 1 there, 2 not */

	pthread_mutex_lock(&lock);
	if (!state) {
		int rc = hip_library_open(&library, &why);

		if (!rc)
			rc = start(&library, &count, &why);
		state = rc ? 2 : 1;
	}
	pthread_mutex_unlock(&lock);
	if (devices)
		*devices = count;
	if (state == 1)
		return &library;
	if (d)
		*d = why;
	return NULL;
}

int hip_library_target(const struct hip_library *l, int device, char target[24], struct diag *d)
{
	char properties[8192] = {0}; /* room for what a newer structure may have at its end */
	const char *name = properties + l->abi->target_offset;
	int error = l->fn.get_properties(properties, device);
	size_t n = strcspn(name, ":");

	if (error)
		return hip_failed(error, l->abi->properties, d);
	if (strncmp(name, "gfx", 3) || n >= 24)
		return diag_set(d, CUTRACE_ENOTSUP, l->path, "GPU %d: %s gives no name such as gfx1100",
				device, l->abi->properties);
	memcpy(target, name, n);
	target[n] = '\0';
	return 0;
}

/* CUTRACE_TEST_ROOT: where tests have their /dev. */
bool hip_driver_there(void)
{
	const char *root = getenv("CUTRACE_TEST_ROOT");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/dev/kfd", root ? root : "");
	return access(path, F_OK) == 0;
}
