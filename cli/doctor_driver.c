/* SPDX-License-Identifier: Apache-2.0
 *
 * AMD's kernel driver: GPUs on the bus, what amdgpu made of them, and whether this user may open them. Sources: Linux'
 * drivers/gpu/drm/amd/amdkfd (sysfs under /sys/class/kfd), ROCm's installation guide (groups, containers).
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor.h"

#define SECTION "AMD's kernel driver"

/* PCI vendor 0x1002 with a class of display controllers (03) or processing accelerators (12). */
static void count_pci(struct doctor *doc)
{
	char pattern[600], path[700], vendor[16], class[16];
	glob_t g;

	if (glob(doctor_path(pattern, sizeof(pattern), "/sys/bus/pci/devices/*"), 0, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		snprintf(path, sizeof(path), "%s/vendor", g.gl_pathv[i]);
		doctor_read(path, vendor, sizeof(vendor));
		snprintf(path, sizeof(path), "%s/class", g.gl_pathv[i]);
		doctor_read(path, class, sizeof(class));
		doc->pci_gpus += !strcmp(vendor, "0x1002") &&
				 (!strncmp(class, "0x03", 4) || !strncmp(class, "0x12", 4));
	}
	globfree(&g);
}

/* A name and a number on each line. */
static unsigned property(const char *path, const char *name)
{
	FILE *f = fopen(path, "re");
	unsigned long long value;
	char line[256], key[64];
	unsigned found = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %llu", key, &value) == 2 && !strcmp(key, name))
			found = (unsigned)value;
	if (f)
		fclose(f);
	return found;
}

/* May it be opened for reading and writing? Says what is wrong. */
static bool may_open(struct doctor *doc, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), error = errno;
	const struct group *group;
	char hint[300];
	struct stat st;

	if (fd >= 0) {
		close(fd);
		return true;
	}
	if (error == EACCES && !stat(path, &st)) {
		group = getgrgid(st.st_gid);
		if (group)
			snprintf(hint, sizeof(hint),
				 "become a member of its group: sudo usermod -aG %s $USER, then log in again",
				 group->gr_name);
		else
			snprintf(hint, sizeof(hint),
				 "its group %u has no name here: in a container, --group-add %u", st.st_gid,
				 st.st_gid);
		doctor_say(doc, SECTION, DOCTOR_WRONG, hint, "%s: this user may not open it", path);
	} else if (error == ENOENT) {
		doctor_say(doc, SECTION, DOCTOR_WRONG,
			   "in a container, hand it in: --device=/dev/kfd --device=/dev/dri",
			   "%s does not exist, though the driver has the GPU", path);
	} else {
		doctor_say(doc, SECTION, DOCTOR_WRONG, "dmesg | grep amdgpu tells more", "%s: %s", path,
			   strerror(error));
	}
	return false;
}

/* gfx_target_version: major * 10000 + minor * 100 + step, the last two hexadecimal in the name (90010: gfx90a). */
static void add_node(struct doctor *doc, const char *properties)
{
	unsigned version = property(properties, "gfx_target_version");
	unsigned minor = property(properties, "drm_render_minor");
	char *target = doc->driver_targets[doc->driver_gpus], path[600];
	bool ok = true;

	snprintf(target, sizeof(doc->driver_targets[0]), "gfx%u%x%x", version / 10000, version / 100 % 100,
		 version % 100);
	doc->driver_gpus++;
	if (minor)
		ok = may_open(doc, doctor_path(path, sizeof(path), "/dev/dri/renderD%u", minor));
	if (ok)
		doctor_say(doc, SECTION, DOCTOR_OK, NULL, "GPU %u: %s%s%s", doc->driver_gpus - 1, target,
			   minor ? ", " : "", minor ? path : "");
}

/* Nodes of processors have no SIMDs. */
static void read_nodes(struct doctor *doc)
{
	char pattern[600];
	glob_t g;

	if (glob(doctor_path(pattern, sizeof(pattern), "/sys/class/kfd/kfd/topology/nodes/*/properties"), 0,
		 NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc && doc->driver_gpus < DOCTOR_GPUS; i++)
		if (property(g.gl_pathv[i], "simd_count") && property(g.gl_pathv[i], "gfx_target_version"))
			add_node(doc, g.gl_pathv[i]);
	globfree(&g);
}

static void say_no_gpu(struct doctor *doc, bool has_module)
{
	if (!doc->pci_gpus)
		doctor_say(doc, SECTION, DOCTOR_NOTE, NULL, "no AMD GPU on this machine's bus%s",
			   has_module ? " (the driver amdgpu is loaded)" : "");
	else if (!has_module)
		doctor_say(doc, SECTION, DOCTOR_WRONG,
			   "sudo modprobe amdgpu; if that fails, install the driver (package amdgpu-dkms, or "
			   "a newer kernel)",
			   "%u AMD GPU%s on the bus, but the driver amdgpu is not loaded", doc->pci_gpus,
			   doc->pci_gpus == 1 ? " is" : "s are");
	else
		doctor_say(
			doc, SECTION, DOCTOR_WRONG, "dmesg | grep -e amdgpu -e kfd tells why",
			"%u AMD GPU%s on the bus, but the driver offers none for computing (/sys/class/kfd)",
			doc->pci_gpus, doc->pci_gpus == 1 ? " is" : "s are");
}

void doctor_driver(struct doctor *doc)
{
	char path[600], version[64];
	bool has_module;

	count_pci(doc);
	has_module = access(doctor_path(path, sizeof(path), "/sys/module/amdgpu"), F_OK) == 0;
	read_nodes(doc);
	if (!doc->driver_gpus) {
		say_no_gpu(doc, has_module);
		return;
	}
	doctor_read(doctor_path(path, sizeof(path), "/sys/module/amdgpu/version"), version, sizeof(version));
	if (may_open(doc, doctor_path(path, sizeof(path), "/dev/kfd")))
		doctor_say(doc, SECTION, DOCTOR_OK, NULL, "amdgpu %s; /dev/kfd can be opened",
			   version[0] ? version : "of the kernel");
}
