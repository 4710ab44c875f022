/* SPDX-License-Identifier: Apache-2.0 */
/* The few types that the CUDA headers take from this one. */
#ifndef SHIM_VDPAU_VDPAU_H
#define SHIM_VDPAU_VDPAU_H
#include <stdint.h>
typedef uint32_t VdpDevice;
typedef uint32_t VdpVideoSurface;
typedef uint32_t VdpOutputSurface;
typedef uint32_t VdpFuncId;
typedef int VdpStatus;
typedef VdpStatus VdpGetProcAddress(VdpDevice device, VdpFuncId function_id, void **function_pointer);
#endif
