/* SPDX-License-Identifier: Apache-2.0 */
/* The few types that the CUDA headers take from this one. */
#ifndef SHIM_EGL_EGL_H
#define SHIM_EGL_EGL_H
typedef int EGLint;
#endif
