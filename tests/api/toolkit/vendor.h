/* SPDX-License-Identifier: Apache-2.0 */
#define __CUDA_API_VERSION_INTERNAL
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cudaProfiler.h>

#include <cudaGL.h>

#include <cudaEGL.h>

#include <vdpau/vdpau.h>

#include <cudaVDPAU.h>
