/* SPDX-License-Identifier: Apache-2.0 */
/* The few types that the CUDA headers take from this one. */
#ifndef SHIM_GL_GL_H
#define SHIM_GL_GL_H
typedef unsigned int GLuint;
typedef unsigned int GLenum;
#endif
