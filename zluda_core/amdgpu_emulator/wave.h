/* SPDX-License-Identifier: Apache-2.0
 *
 * wave: the state of a wave and of its workgroup while a launch runs. Owned by
 * dispatch.c; the exec_* functions change it.
 */
#ifndef CUTRACE_AMDGPU_WAVE_H
#define CUTRACE_AMDGPU_WAVE_H

#include <stdatomic.h>

#include "zluda_core/amdgpu_emulator/insn.h"
#include "zluda_core/amdgpu_emulator/object.h"

#define LANES_MAX 64
#define VGPRS     512

/* Where flat addresses mean LDS and scratch: outside of the 48 bits of global memory (AMDGPUUsage, "Address Spaces").
 * Where scratch lies behind buffer resources: these have 48 bits, so a launch's memory must not be here. */
#define APERTURE_SHARED  0x0001000000000000ull
#define APERTURE_PRIVATE 0x0002000000000000ull
#define SCRATCH_BACKING  0x0000600000000000ull
#define DISPATCH_ADDRESS 0x0004000000000000ull /* kernarg segment and dispatch packet */

/* MODE (RDNA 3 ISA, 3.4.2; CDNA 3 ISA, 3.5). */
enum { MODE_DX10_CLAMP = 1 << 8, MODE_IEEE = 1 << 9 };

/* WAVE_POLLS: has slept, and gives its turn away. */
enum wave_status { WAVE_RUNS, WAVE_POLLS, WAVE_WAITS, WAVE_ENDED };

struct group {
	const struct amdgpu_launch *launch;
	const struct amdgpu_object *object;
	uint8_t *lds;
	uint32_t lds_bytes, id[3];
	unsigned nwaves, alive, signalled, phase;
	uint8_t *dispatch; /* kernarg segment, then the packet */
	uint32_t dispatch_bytes;
	struct amdgpu_fault *fault;
};

struct wave {
	uint32_t v[VGPRS + 16][LANES_MAX] __attribute__((aligned(64))); /* tuples may begin at the last one */
	uint32_t s[SREG_COUNT + 4];
	unsigned size, number, gfx;
	uint64_t pc;       /* offset in the image; of the next instruction while one executes */
	uint64_t executed; /* instructions */
	const struct insn *current;
	bool scc, faulted, signalled_first;
	enum wave_status status;
	unsigned waits_for; /* barrier phase */
	uint32_t mode;
	bool indexed; /* S_SET_GPR_IDX_ON */
	uint8_t index_what;
	bool float_default; /* MODE rounds to nearest and keeps denormals */
	struct group *group;
	struct waits *waits;         /* NULL: waits are not checked */
	uint32_t *scratch;           /* swizzled as the hardware does: dword i of lane l at [i * size + l] */
	uint32_t scratch_dwords;     /* of one lane */
	struct amdgpu_window window; /* of the last access */
};

static inline uint64_t wave_mask(const struct wave *w, unsigned reg)
{
	return w->size == 64 ? w->s[reg] | (uint64_t)w->s[reg + 1] << 32 : w->s[reg];
}

static inline void wave_set_mask(struct wave *w, unsigned reg, uint64_t m)
{
	w->s[reg] = (uint32_t)m;
	if (w->size == 64)
		w->s[reg + 1] = (uint32_t)(m >> 32);
}

static inline uint64_t wave_exec(const struct wave *w)
{
	return wave_mask(w, SREG_EXEC);
}

static inline uint64_t wave_all(const struct wave *w)
{
	return w->size == 64 ? ~0ull : 0xffffffffull;
}

/* Scalar operands, as bits. */
uint32_t scalar_read32(const struct wave *w, const struct operand *o);
uint64_t scalar_read64(const struct wave *w, const struct operand *o);
uint64_t mask_read(const struct wave *w, const struct operand *o);
void mask_write(struct wave *w, const struct operand *o, uint64_t m);
void scalar_write32(struct wave *w, const struct operand *o, uint32_t v);
void scalar_write64(struct wave *w, const struct operand *o, uint64_t v);
void wave_set_mode(struct wave *w, uint32_t mode);

/* Ends the wave with a fault; the first one of a launch is reported: true if this is it. */
bool wave_fault(struct wave *w, enum amdgpu_fault_kind kind, unsigned lane, uint64_t address, const char *fmt,
		...) __attribute__((format(printf, 5, 6)));

/* Host pointer for `bytes` at a global address, or NULL after a fault. */
uint8_t *global_pointer(struct wave *w, uint64_t addr, unsigned bytes, bool write, unsigned lane);

/* Barriers (control.c), also when a wave ends. */
void barrier_signal(struct wave *w);
void barrier_check(struct group *g);

#endif
