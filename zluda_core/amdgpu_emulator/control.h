/* SPDX-License-Identifier: Apache-2.0
 *
 * control: instructions that are functions of their own rather than rows of a
 * table: control.c has the scalar ones, cross_lane.c those that move data between lanes.
 */
#ifndef CUTRACE_AMDGPU_CONTROL_H
#define CUTRACE_AMDGPU_CONTROL_H

#include "zluda_core/amdgpu_emulator/insn.h"

extern const struct op control_ops[]; /* ends with a NULL name */

exec_fn exec_readfirstlane, exec_readlane, exec_writelane, exec_permlane16, exec_permlanex16,
	exec_permlane16_var, exec_permlanex16_var, exec_permlane64, exec_swap, exec_movrels, exec_movreld,
	exec_movrelsd, exec_movrelsd_2, exec_pk_mov, exec_fma_mix, exec_fma_mixlo, exec_fma_mixhi,
	exec_ds_swizzle, exec_ds_permute, exec_ds_bpermute;

#endif
