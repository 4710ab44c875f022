/* SPDX-License-Identifier: Apache-2.0 */
/* The few types that the CUDA headers take from this one. */
#ifndef SHIM_EGL_EGLEXT_H
#define SHIM_EGL_EGLEXT_H
typedef void *EGLImageKHR;
typedef void *EGLStreamKHR;
typedef void *EGLSyncKHR;
#endif
