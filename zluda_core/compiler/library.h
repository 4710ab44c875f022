/* SPDX-License-Identifier: Apache-2.0
 *
 * The device library (device_library/), which this program carries as bitcode, linked into a kernel's module.
 */
#ifndef CUTRACE_COMPILER_LIBRARY_H
#define CUTRACE_COMPILER_LIBRARY_H

#include <llvm-c/Core.h>

#include "base/diag.h"

/* Defines the functions of the library that the module calls. They become internal ones with the kernel's modes. */
int library_link(LLVMModuleRef module, const char *name, struct diag *d);

#endif
