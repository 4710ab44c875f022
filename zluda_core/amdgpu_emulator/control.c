/* SPDX-License-Identifier: Apache-2.0
 *
 * Program control, the mode register, barriers, messages: RDNA 3 ISA, chapter 4 and 16.5; CDNA 3 ISA, chapter 4;
 * RDNA 4 ISA, 4.3 (split barriers).
 */
#include "zluda_core/amdgpu_emulator/control.h"

#include "zluda_core/amdgpu_emulator/wave.h"

void exec_unknown(struct wave *w, const struct insn *in)
{
	(void)in;
	wave_fault(w, AMDGPU_FAULT_INSTRUCTION, 0, 0, "the emulator does not know this instruction");
}

void exec_nop(struct wave *w, const struct insn *in)
{
	(void)w, (void)in;
}

/* Gives the wave's turn away: who sleeps waits for another wave, or another workgroup. */
static void exec_sleep(struct wave *w, const struct insn *in)
{
	(void)in;
	w->status = WAVE_POLLS;
}

/* ---- branches and calls */

static void jump(struct wave *w, uint64_t target)
{
	if (target % 4 || target >= w->group->object->image_bytes)
		wave_fault(w, AMDGPU_FAULT_INSTRUCTION, 0, target,
			   "jump to 0x%llx, outside of the code object",
			   (unsigned long long)(target + w->group->object->address));
	else
		w->pc = target;
}

static void branch_if(struct wave *w, const struct operand *distance, bool taken)
{
	if (taken)
		jump(w, w->pc + (uint64_t)((int64_t)(int16_t)distance->imm * 4));
}

#define BRANCH(name, condition)                                        \
	static void exec_##name(struct wave *w, const struct insn *in) \
	{                                                              \
		branch_if(w, &in->src[0], condition);                  \
	}
BRANCH(branch, true)
BRANCH(scc0, !w->scc)
BRANCH(scc1, w->scc)
BRANCH(vccz, !wave_mask(w, SREG_VCC))
BRANCH(vccnz, wave_mask(w, SREG_VCC) != 0)
BRANCH(execz, !wave_exec(w))
BRANCH(execnz, wave_exec(w) != 0)

static uint64_t address_of(const struct wave *w, uint64_t pc)
{
	return pc + w->group->object->address;
}

static void exec_getpc(struct wave *w, const struct insn *in)
{
	scalar_write64(w, &in->dst, address_of(w, w->pc));
}

static void exec_setpc(struct wave *w, const struct insn *in)
{
	jump(w, scalar_read64(w, &in->src[0]) - w->group->object->address);
}

static void exec_swappc(struct wave *w, const struct insn *in)
{
	uint64_t target = scalar_read64(w, &in->src[0]);

	scalar_write64(w, &in->dst, address_of(w, w->pc));
	jump(w, target - w->group->object->address);
}

static void exec_call(struct wave *w, const struct insn *in)
{
	scalar_write64(w, &in->dst, address_of(w, w->pc));
	branch_if(w, &in->src[0], true);
}

static void exec_endpgm(struct wave *w, const struct insn *in)
{
	(void)in;
	w->status = WAVE_ENDED;
	w->group->alive--;
	barrier_check(w->group);
}

static void exec_trap(struct wave *w, const struct insn *in)
{
	/* Without a debugger, trap 3 (a breakpoint) goes on: AMDGPUUsage, "Trap Handler ABI". */
	if ((in->src[0].imm & 0xff) != 3)
		wave_fault(w, AMDGPU_FAULT_TRAP, 0, 0, "the kernel executed trap %u",
			   (unsigned)in->src[0].imm & 0xff);
}

static void exec_sethalt(struct wave *w, const struct insn *in)
{
	if (in->src[0].imm & 1)
		wave_fault(w, AMDGPU_FAULT_TRAP, 0, 0, "the kernel halted its wave");
}

/* ---- barriers: complete when every wave that has not ended has signalled */

void barrier_check(struct group *g)
{
	if (!g->alive || g->signalled < g->alive)
		return;
	g->signalled = 0;
	g->phase++;
}

void barrier_signal(struct wave *w)
{
	struct group *g = w->group;

	w->signalled_first = g->signalled == 0;
	w->waits_for = g->phase;
	g->signalled++;
	barrier_check(g);
}

static void barrier_wait(struct wave *w)
{
	if (w->group->phase == w->waits_for)
		w->status = WAVE_WAITS;
}

static void exec_barrier(struct wave *w, const struct insn *in)
{
	(void)in;
	barrier_signal(w);
	barrier_wait(w);
}

/* Only the workgroup's barrier, -1: named barriers are not in these targets. */
static void exec_barrier_signal(struct wave *w, const struct insn *in)
{
	if ((int32_t)scalar_read32(w, &in->src[0]) == -1)
		barrier_signal(w);
	else
		wave_fault(w, AMDGPU_FAULT_INSTRUCTION, 0, 0, "only barrier -1 is supported");
}

static void exec_barrier_signal_isfirst(struct wave *w, const struct insn *in)
{
	exec_barrier_signal(w, in);
	w->scc = w->signalled_first;
}

static void exec_barrier_wait(struct wave *w, const struct insn *in)
{
	(void)in;
	barrier_wait(w);
}

/* ---- hardware registers */

enum {
	HWREG_MODE = 1,
	HWREG_HW_ID = 4,
	HWREG_FLAT_SCR_LO = 20,
	HWREG_FLAT_SCR_HI = 21,
	HWREG_HW_ID1 = 23,
	HWREG_HW_ID2 = 24,
	HWREG_CYCLES = 29,
	HWREG_CYCLES_HI = 30
};

void wave_set_mode(struct wave *w, uint32_t mode)
{
	w->mode = mode;
	w->float_default = (mode & 0xff) == 0xf0;
}

/* Number, offset and size of a field: parse.c packs them as the instruction does. */
static void exec_setreg(struct wave *w, const struct insn *in)
{
	uint32_t field = (uint32_t)in->src[0].imm, offset = field >> 6 & 31, size = (field >> 11 & 31) + 1;
	uint32_t mask = (size == 32 ? ~0u : (1u << size) - 1) << offset;
	uint32_t value = scalar_read32(w, &in->src[1]) << offset & mask;

	switch (field & 63) {
	case HWREG_MODE: wave_set_mode(w, (w->mode & ~mask) | value); break;
	case HWREG_FLAT_SCR_LO:
	case HWREG_FLAT_SCR_HI: break; /* scratch is where it is, whatever the kernel makes of its base */
	default:
		wave_fault(w, AMDGPU_FAULT_INSTRUCTION, 0, 0, "hardware register %u is not supported",
			   field & 63);
	}
}

static void exec_getreg(struct wave *w, const struct insn *in)
{
	uint32_t field = (uint32_t)in->src[0].imm, offset = field >> 6 & 31, size = (field >> 11 & 31) + 1,
		 v = 0;

	switch (field & 63) {
	case HWREG_MODE: v = w->mode; break;
	case HWREG_FLAT_SCR_LO: v = w->gfx == 9 ? 0 : (uint32_t)SCRATCH_BACKING; break; /* gfx942: XCC_ID */
	case HWREG_FLAT_SCR_HI: v = (uint32_t)(SCRATCH_BACKING >> 32); break;
	case HWREG_CYCLES: v = (uint32_t)w->executed; break;
	case HWREG_CYCLES_HI: v = (uint32_t)(w->executed >> 32); break;
	case HWREG_HW_ID: /* where in the GPU a wave runs: nowhere */
	case HWREG_HW_ID1:
	case HWREG_HW_ID2: break;
	default:
		wave_fault(w, AMDGPU_FAULT_INSTRUCTION, 0, 0, "hardware register %u is not supported",
			   field & 63);
	}
	v >>= offset;
	scalar_write32(w, &in->dst, size == 32 ? v : v & ((1u << size) - 1));
}

static void exec_round_mode(struct wave *w, const struct insn *in)
{
	wave_set_mode(w, (w->mode & ~15u) | ((uint32_t)in->src[0].imm & 15));
}

static void exec_denorm_mode(struct wave *w, const struct insn *in)
{
	wave_set_mode(w, (w->mode & ~0xf0u) | ((uint32_t)in->src[0].imm & 15) << 4);
}

/* Clocks count the wave's instructions: the emulator has no time. */
static void exec_time(struct wave *w, const struct insn *in)
{
	scalar_write64(w, &in->dst, w->executed);
}

/* What the doorbell of the queue is: there is none. */
static void exec_rtn32(struct wave *w, const struct insn *in)
{
	scalar_write32(w, &in->dst, 0);
}

/* ---- register indexing */

static void exec_gpr_idx_on(struct wave *w, const struct insn *in)
{
	w->s[SREG_M0] = (w->s[SREG_M0] & ~0xf0ffu) | (scalar_read32(w, &in->src[0]) & 0xff) |
			((uint32_t)in->src[1].imm & 15) << 12;
	w->indexed = true;
	w->index_what = in->src[1].imm & 15;
}

static void exec_gpr_idx_off(struct wave *w, const struct insn *in)
{
	(void)in;
	w->indexed = false;
}

static void exec_gpr_idx_idx(struct wave *w, const struct insn *in)
{
	w->s[SREG_M0] = (w->s[SREG_M0] & ~0xffu) | (scalar_read32(w, &in->src[0]) & 0xff);
}

static bool scalar_at(struct wave *w, unsigned reg, unsigned words)
{
	uint64_t at = (uint64_t)reg + w->s[SREG_M0];

	if (at + words <= SREG_VCC)
		return true;
	wave_fault(w, AMDGPU_FAULT_INSTRUCTION, 0, at, "index of SGPRs out of range");
	return false;
}

static void exec_s_movrels32(struct wave *w, const struct insn *in)
{
	if (scalar_at(w, in->src[0].reg, 1))
		scalar_write32(w, &in->dst, w->s[in->src[0].reg + w->s[SREG_M0]]);
}

static void exec_s_movrels64(struct wave *w, const struct insn *in)
{
	unsigned r = in->src[0].reg + w->s[SREG_M0];

	if (scalar_at(w, in->src[0].reg, 2))
		scalar_write64(w, &in->dst, w->s[r] | (uint64_t)w->s[r + 1] << 32);
}

static void exec_s_movreld32(struct wave *w, const struct insn *in)
{
	if (scalar_at(w, in->dst.reg, 1))
		w->s[in->dst.reg + w->s[SREG_M0]] = scalar_read32(w, &in->src[0]);
}

static void exec_s_movreld64(struct wave *w, const struct insn *in)
{
	uint64_t v = scalar_read64(w, &in->src[0]);
	unsigned r = in->dst.reg + w->s[SREG_M0];

	if (!scalar_at(w, in->dst.reg, 2))
		return;
	w->s[r] = (uint32_t)v;
	w->s[r + 1] = (uint32_t)(v >> 32);
}

#define ROW(name, result, type, fn)                           \
	{                                                     \
		name, result, {type, type, type}, 0, fn, NULL \
	}
const struct op control_ops[] = {
	ROW("s_branch", T_NO, T_U32, exec_branch),
	ROW("s_cbranch_scc0", T_NO, T_U32, exec_scc0),
	ROW("s_cbranch_scc1", T_NO, T_U32, exec_scc1),
	ROW("s_cbranch_vccz", T_NO, T_U32, exec_vccz),
	ROW("s_cbranch_vccnz", T_NO, T_U32, exec_vccnz),
	ROW("s_cbranch_execz", T_NO, T_U32, exec_execz),
	ROW("s_cbranch_execnz", T_NO, T_U32, exec_execnz),
	ROW("s_getpc_b64", T_U64, T_NO, exec_getpc),
	ROW("s_setpc_b64", T_NO, T_U64, exec_setpc),
	ROW("s_swappc_b64", T_U64, T_U64, exec_swappc),
	ROW("s_call_b64", T_U64, T_U32, exec_call),
	ROW("s_endpgm", T_NO, T_NO, exec_endpgm),
	ROW("s_trap", T_NO, T_U32, exec_trap),
	ROW("s_sethalt", T_NO, T_U32, exec_sethalt),
	ROW("s_barrier", T_NO, T_NO, exec_barrier),
	ROW("s_barrier_signal", T_NO, T_U32, exec_barrier_signal),
	ROW("s_barrier_signal_isfirst", T_NO, T_U32, exec_barrier_signal_isfirst),
	ROW("s_barrier_wait", T_NO, T_U32, exec_barrier_wait),
	ROW("s_sleep", T_NO, T_U32, exec_sleep),
	ROW("s_sleep_var", T_NO, T_U32, exec_sleep),
	ROW("s_setreg_b32", T_NO, T_U32, exec_setreg),
	ROW("s_setreg_imm32_b32", T_NO, T_U32, exec_setreg),
	ROW("s_getreg_b32", T_U32, T_U32, exec_getreg),
	ROW("s_round_mode", T_NO, T_U32, exec_round_mode),
	ROW("s_denorm_mode", T_NO, T_U32, exec_denorm_mode),
	ROW("s_memtime", T_U64, T_NO, exec_time),
	ROW("s_memrealtime", T_U64, T_NO, exec_time),
	ROW("s_sendmsg_rtn_b64", T_U64, T_U32, exec_time),
	ROW("s_sendmsg_rtn_b32", T_U32, T_U32, exec_rtn32),
	ROW("s_set_gpr_idx_on", T_NO, T_U32, exec_gpr_idx_on),
	ROW("s_set_gpr_idx_off", T_NO, T_NO, exec_gpr_idx_off),
	ROW("s_set_gpr_idx_idx", T_NO, T_U32, exec_gpr_idx_idx),
	ROW("s_movrels_b32", T_U32, T_U32, exec_s_movrels32),
	ROW("s_movrels_b64", T_U64, T_U64, exec_s_movrels64),
	ROW("s_movreld_b32", T_U32, T_U32, exec_s_movreld32),
	ROW("s_movreld_b64", T_U64, T_U64, exec_s_movreld64),
	ROW("v_readfirstlane_b32", T_U32, T_U32, exec_readfirstlane),
	ROW("v_readlane_b32", T_U32, T_U32, exec_readlane),
	ROW("v_writelane_b32", T_U32, T_U32, exec_writelane),
	ROW("v_permlane16_b32", T_U32, T_U32, exec_permlane16),
	ROW("v_permlanex16_b32", T_U32, T_U32, exec_permlanex16),
	ROW("v_permlane16_var_b32", T_U32, T_U32, exec_permlane16_var),
	ROW("v_permlanex16_var_b32", T_U32, T_U32, exec_permlanex16_var),
	ROW("v_permlane64_b32", T_U32, T_U32, exec_permlane64),
	ROW("v_swap_b32", T_U32, T_U32, exec_swap),
	ROW("v_movrels_b32", T_U32, T_U32, exec_movrels),
	ROW("v_movreld_b32", T_U32, T_U32, exec_movreld),
	ROW("v_movrelsd_b32", T_U32, T_U32, exec_movrelsd),
	ROW("v_movrelsd_2_b32", T_U32, T_U32, exec_movrelsd_2),
	ROW("v_pk_mov_b32", T_U32, T_U32, exec_pk_mov),
	ROW("v_fma_mix_f32", T_F32, T_F32, exec_fma_mix),
	ROW("v_fma_mixlo_f16", T_F32, T_F32, exec_fma_mixlo),
	ROW("v_fma_mixhi_f16", T_F32, T_F32, exec_fma_mixhi),
	ROW("ds_swizzle_b32", T_U32, T_U32, exec_ds_swizzle),
	ROW("ds_permute_b32", T_U32, T_U32, exec_ds_permute),
	ROW("ds_bpermute_b32", T_U32, T_U32, exec_ds_bpermute),
	{NULL, 0, {0}, 0, NULL, NULL},
};
