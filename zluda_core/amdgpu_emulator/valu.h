/* SPDX-License-Identifier: Apache-2.0
 *
 * valu: the op rows of valu.def, per instruction set of the host, and their drivers.
 */
#ifndef CUTRACE_AMDGPU_VALU_H
#define CUTRACE_AMDGPU_VALU_H

#include "zluda_core/amdgpu_emulator/insn.h"

exec_fn exec_valu, exec_compare, exec_dual, exec_packed;

extern const struct op valu_ops_base[], valu_ops_v3[]; /* end with a NULL name */

#endif
