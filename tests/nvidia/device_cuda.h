/* SPDX-License-Identifier: Apache-2.0
 *
 * device_cuda: a device (zluda_core/device.h) over any CUDA driver, so that the tests of instructions run on the hardware
 * that PTX is made for. It does what these tests ask for and no more: entries that they don't use are NULL.
 *
 * Options: driver=PATH (default: libcuda.so.1), target=sm_NN and version=N.N to write into each kernel's text instead of its
 * own, for GPUs and drivers that are older than the text. What the driver doesn't compile is refused, with its reason.
 */
#ifndef TESTS_NVIDIA_DEVICE_CUDA_H
#define TESTS_NVIDIA_DEVICE_CUDA_H

#include "zluda_core/device.h"

extern const struct device_ops device_cuda;

#endif
