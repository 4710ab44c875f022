/* SPDX-License-Identifier: Apache-2.0
 *
 * device_option: whether a --device option names a device of ours, before anything is started on it. The
 * option's own options are the device's: our driver is asked, in a process of its own.
 */
#ifndef CUTRACE_DEVICE_OPTION_H
#define CUTRACE_DEVICE_OPTION_H

#include "base/diag.h"

/* option: NAME or NAME:OPTIONS; driver: path of our libcuda.so.1. CUTRACE_EINVAL with *d filled when the
 * option is wrong, CUTRACE_ENOENT when the device needs what isn't installed. */
int device_option_check(const char *option, const char *driver, struct diag *d);

/* Where no --device is given: CUTRACE_DEVICE, else "auto", an AMD GPU if there is one, else the interpreter. */
const char *device_option_default(void);

#endif
