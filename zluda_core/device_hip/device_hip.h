/* SPDX-License-Identifier: Apache-2.0
 *
 * device_hip: AMD GPUs through ROCm's HIP runtime, which is loaded when it is asked for. The device of zluda_core/device.h
 * is device_hip; zluda_core/device_amd/ does all that doesn't depend on how the GPU is reached.
 */
#ifndef CUTRACE_DEVICE_HIP_H
#define CUTRACE_DEVICE_HIP_H

#include "zluda_core/device.h"

/* GPUs that a program would see with these options: 1 where one is named. 0 with *d filled: HIP can't be used. */
unsigned hip_gpu_count(const char *options, struct diag *d);
/* HIP hides GPUs by CUDA_VISIBLE_DEVICES, too, unless it is empty or HIP_VISIBLE_DEVICES is there. */
bool hip_obeys_cuda_visible_devices(void);

#endif
