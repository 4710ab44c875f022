/* SPDX-License-Identifier: Apache-2.0
 *
 * doctor: what of this machine cutrace can use, what is wrong with it, what to do. Each file looks at one part and adds
 * checks; cmd_doctor.c prints them. Foreign libraries are loaded in processes of their own: they may crash or hang.
 */
#ifndef CUTRACE_CLI_DOCTOR_H
#define CUTRACE_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum doctor_status {
	DOCTOR_OK,
	DOCTOR_NOTE,  /* not there, not needed, or worth knowing */
	DOCTOR_WRONG, /* something that is there does not work */
};

enum { DOCTOR_GPUS = 16 }; /* of more, the first ones */

struct doctor_check {
	const char *section;
	enum doctor_status status;
	char what[600], hint[300]; /* hint: what to do; may be empty */
};

struct doctor_gpu {
	char name[96], target[24];
	uint64_t bytes;
	uint32_t compute_units;
	bool has_vmm;      /* HIP maps memory at addresses that are asked for */
	bool is_supported; /* our compiler has the target */
};

struct doctor {
	struct doctor_check *checks;
	unsigned nchecks;
	/* What later parts need of earlier ones. */
	unsigned pci_gpus;                    /* AMD GPUs on the bus */
	unsigned driver_gpus;                 /* that the kernel driver has */
	char driver_targets[DOCTOR_GPUS][24]; /* theirs */
	unsigned ngpus;                       /* that HIP gives us */
	struct doctor_gpu gpus[DOCTOR_GPUS];
	char hip_path[512], hip_version[32]; /* empty: none that works */
	const char *device;                  /* what programs run on, when nothing else is said */
};

void doctor_say(struct doctor *doc, const char *section, enum doctor_status status, const char *hint,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));
bool doctor_expects_gpu(const struct doctor *doc); /* there is one: not to be able to use it is wrong */

/* The path with CUTRACE_TEST_ROOT before it: tests have their own /dev, /sys and /proc. */
const char *doctor_path(char *out, size_t bytes, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The first line of a file, without its end; "" when it can't be read. */
void doctor_read(const char *path, char *out, size_t bytes);

/* Runs fn in a child, without output; it fills `bytes` at out. 0; a signal that ended it; -1: it did not end. */
int doctor_in_child(void (*fn)(void *out), void *out, size_t bytes);

/* In the order in which they are asked. */
void doctor_driver(struct doctor *doc);   /* kernel driver, device files, permissions */
void doctor_rocm(struct doctor *doc);     /* HIP and comgr */
void doctor_compiler(struct doctor *doc); /* code for AMD GPUs */
void doctor_nvidia(struct doctor *doc);
void doctor_environment(struct doctor *doc); /* variables; decides doc->device */

int cmd_doctor(int argc, char **argv);

#endif
