/* SPDX-License-Identifier: Apache-2.0
 *
 * scalar: the op rows of scalar.def.
 */
#ifndef CUTRACE_AMDGPU_SCALAR_H
#define CUTRACE_AMDGPU_SCALAR_H

#include "zluda_core/amdgpu_emulator/insn.h"

extern const struct op scalar_ops[]; /* ends with a NULL name */

#endif
